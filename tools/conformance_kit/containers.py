"""Checks 1 and 2: the container and its manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from conformance_kit.case import Case, bad, group, no_export
from conformance_kit.debates import decided
from conformance_kit.exports import (
    ABOUT,
    SUMS,
    entries_of,
    export,
    files_of,
    manifest,
    retold,
    rezipped,
    seal,
    with_entry,
    zipped,
)


def one_more(data: bytes, place: int) -> bytes:
    """Return a zip in which one byte is higher by one."""
    return data[:place] + bytes([data[place] + 1]) + data[place + 1 :]


def container(name: str, why: str, made: bytes) -> Case:
    """Return a case of a zip that is not built in the one way."""
    return bad(f"zip-{name}", "1.container", 0, why, made)


@group
def container_cases() -> Iterator[Case]:
    """Check 1: entries that are not written in the one way, and bytes between them."""
    entries = entries_of(decided())
    first, second = entries[0], entries[1]
    yield container(
        "compressed-entry", "An entry says that it is deflated.", rezipped("VERIFY.md", method=8)
    )
    yield container(
        "extra-field",
        "An entry has an extra field, in which anything could hide.",
        rezipped("VERIFY.md", extra=b"\x99\x99\x04\0note"),
    )
    yield container(
        "entry-comment", "An entry has a comment.", rezipped("VERIFY.md", comment=b"note")
    )
    yield container("comment", "The zip has a comment.", zipped(entries, comment=b"note"))
    yield container(
        "other-date", "An entry is dated 1980-01-02.", rezipped("VERIFY.md", date=0x0022)
    )
    yield container("other-mode", "An entry may be executed.", rezipped("VERIFY.md", mode=0o100755))
    yield container(
        "link", "An entry is marked as a symbolic link.", rezipped("VERIFY.md", mode=0o120777)
    )
    yield container(
        "unsorted", "Two entries are not in byte order.", zipped([second, first, *entries[2:]])
    )
    yield container(
        "checksum",
        "The CRC-32 of an entry is not that of its bytes.",
        rezipped("VERIFY.md", checksum=0),
    )
    yield container(
        "other-local-name",
        "An entry has another name in its local header than in the directory.",
        rezipped("VERIFY.md", local_name="verify.md"),
    )
    yield container(
        "hidden-bytes",
        "There are bytes between the last entry and the directory.",
        zipped(entries, hidden=b"note"),
    )
    yield container(
        "prefix",
        "There are bytes before the first entry, and all offsets count them in.",
        zipped(entries, prefix=b"#!/bin/sh\n"),
    )


@group
def directory_cases() -> Iterator[Case]:
    """Check 1: a directory, or an end record, that says something else."""
    entries = entries_of(decided())
    first, data = entries[0], zipped(entries)
    for key, why, place in (
        ("internal-attributes", "An entry is marked as a text.", data.index(b"PK\1\2") + 36),
        ("entry-disk", "An entry is said to be on a second disk.", data.index(b"PK\1\2") + 34),
        ("disk", "The end record is said to be on a second disk.", len(data) - 18),
        ("directory-disk", "The directory is said to be on a second disk.", len(data) - 16),
        (
            "files-on-this-disk",
            "The end record counts a file more on its disk than in all, and the latter is right.",
            len(data) - 14,
        ),
    ):
        yield container(key, why, one_more(data, place))
    yield bad(
        "zip-files-in-all",
        "1.unreadable",
        0,
        "The end record counts a file more in all than on its disk, and than there are.",
        one_more(data, len(data) - 12),
    )
    yield bad(
        "zip-prefix-not-counted",
        "1.unreadable",
        0,
        "There are bytes before the first entry, and the offsets do not count them in.",
        b"#!/bin/sh\n" + data,
    )
    yield bad(
        "zip-trailing-bytes",
        "1.unreadable",
        0,
        "There are bytes after the end record, which must be the last thing in the file.",
        data + b"\n",
    )
    yield bad(
        "zip-sizes",
        "1.size",
        0,
        "An entry claims more bytes than the whole file has.",
        rezipped("VERIFY.md", size=1 << 31),
    )
    yield bad(
        "zip-name-twice",
        "1.entries",
        0,
        "One name stands twice: readers differ on which of the two they read.",
        zipped([first, replace(first, body=b"other\n"), *entries[1:]]),
    )


@group
def name_cases() -> Iterator[Case]:
    """Check 1: names that no export has, and a record without its entries."""
    entries = entries_of(decided())
    for name, path in {
        "parent-path": "../VERIFY.md",
        "absolute-path": "/VERIFY.md",
        "folder-entry": "blobs/",
        "deeper-path": "blobs/../VERIFY.md",
        "backslash": "blobs\\VERIFY.md",
    }.items():
        why = f"An entry is called `{path}`, which is no name that an export has."
        yield bad(f"zip-{name}", "1.name", 0, why, with_entry(path))
    yield bad(
        "zip-without-events",
        "1.events",
        0,
        "There is no events.jsonl.",
        zipped([entry for entry in entries if entry.name != "events.jsonl"]),
    )


@group
def file_cases() -> Iterator[Case]:
    """Check 1: the same in a folder."""
    base = decided()
    files = files_of(base)
    yield bad(
        "other-file",
        "1.name",
        0,
        "The folder holds a file that does not belong there, though the manifest lists it.",
        seal({**files, "notes.txt": ABOUT}),
    )
    name = base.file_of(6, "reply")
    yield bad(
        "name-in-upper-case",
        "1.name",
        0,
        "A text's hash is written with upper-case letters.",
        seal(
            {path: body for path, body in files.items() if path != name}
            | {f"blobs/{name[6:].upper()}": files[name]}
        ),
    )
    yield bad(
        "no-events",
        "1.events",
        0,
        "There is no events.jsonl.",
        seal({name: body for name, body in files.items() if name != "events.jsonl"}),
    )
    yield bad(
        "no-final-line-feed",
        "1.events",
        0,
        "The last line is not ended by LF: something may be missing.",
        seal({**files, "events.jsonl": files["events.jsonl"][:-1]}),
    )


@group
def no_export_cases() -> Iterator[Case]:
    """What is no export at all; and what is one because a single file of one is in it."""
    base = decided()
    entries, files = entries_of(base), files_of(base)
    data = zipped(entries)
    notes = replace(entries[0], name="notes.txt", body=ABOUT)
    text = next(name for name in files if name.startswith("blobs/"))

    yield no_export("zip-empty", "A file without any bytes holds nothing of an export.", b"")
    yield no_export("zip-of-something-else", "The file is a text, though one about exports.", ABOUT)
    yield no_export(
        "zip-of-other-files",
        "A zip whose only file has no name that an export has.",
        zipped([notes]),
    )
    yield no_export(
        "zip-of-longer-names",
        "A zip whose files have names that only begin like those of an export.",
        zipped([replace(notes, name=name) for name in ("VERIFY.mdx", "events.jsonl.gz")]),
    )
    yield no_export(
        "folder-of-something-else",
        "A folder whose only file has no name that an export has.",
        {"notes.txt": ABOUT},
    )
    yield no_export(
        "folder-around-an-export",
        "A folder that holds an export in a folder, and is none itself.",
        {f"record/{name}": body for name, body in seal(files).items()},
    )
    yield bad(
        "zip-of-one-export-file",
        "1.name",
        0,
        "A zip of something else, but for one file with a name that an export has.",
        zipped([replace(notes, name="VERIFY.md"), notes]),
    )
    yield no_export("zip-truncated", "The last byte is gone, so the zip has no end.", data[:-1])
    yield no_export(
        "zip-first-header-alone",
        "Nothing is left of the zip but the header of its first file.",
        data[: 30 + len(entries[0].name)],
    )
    yield no_export(
        "zip-end-out-of-sight",
        "After the zip come 65,536 bytes, more than a comment can have, so its end is not found.",
        data + b"\n" * (0xFFFF + 1),
    )
    yield bad(
        "zip-end-just-in-sight",
        "1.unreadable",
        0,
        "After the zip come 65,535 bytes: its end is found, and does not reach the last byte.",
        data + b"\n" * 0xFFFF,
    )
    yield bad(
        "zip-directory-alone",
        "1.unreadable",
        0,
        "Nothing is left of the zip but its directory.",
        data[data.index(b"PK\1\2") :],
    )
    header = data[data.index(b"PK\1\2") :][: 46 + len(entries[0].name)]
    yield no_export(
        "zip-header-in-something-else",
        "A text, somewhere in which stands a header with a name that an export has.",
        ABOUT + header + ABOUT,
    )
    yield bad(
        "zip-in-something-else",
        "1.unreadable",
        0,
        "A text, in which stand such a header and an end record.",
        ABOUT + header + ABOUT + data[-22:] + ABOUT,
    )
    yield no_export(
        "zip-cut-off-in-its-page",
        "A download that broke off within the page of an export, whose record had begun.",
        data[: data.index(b"PK\1\2")] + b'<script type="application/octet-stream">H4sI',
    )
    yield bad(
        "folder-of-one-text",
        "1.events",
        0,
        "Nothing is left of the export but one text.",
        {text: files[text]},
    )


@group
def manifest_cases() -> Iterator[Case]:
    """Check 2: what the manifest says of the files, and how it is spelled."""
    base = decided()
    files, complete = files_of(base), export(base)
    name = base.file_of(6, "reply")
    yield bad(
        "manifest-missing", "2.missing", 0, "There is no SHA256SUMS, so nobody signed this.", files
    )
    yield bad(
        "file-altered",
        "2.hash",
        0,
        "One word of VERIFY.md is another than the one that was signed.",
        {**complete, "VERIFY.md": ABOUT.replace(b"one debate", b"two debates")},
    )
    yield bad(
        "last-line-dropped",
        "2.hash",
        0,
        "The record ends a line earlier than the one that was signed.",
        {**complete, "events.jsonl": b"".join(line + b"\n" for line in base.lines[:-1])},
    )
    yield bad(
        "manifest-omits-a-file",
        "2.unlisted",
        0,
        "VERIFY.md has no line in the manifest, so nobody signed it.",
        retold(lambda text: "".join(row for row in text.splitlines(True) if "VERIFY" not in row)),
    )
    yield bad(
        "manifest-invents-a-file",
        "2.absent",
        0,
        "The manifest has a line for a proof of the register, and there is none.",
        seal(files, text=manifest({**files, "register/head.proof": b""})),
    )
    yield bad(
        "withheld-and-there",
        "2.withheld",
        0,
        "A reply is listed as withheld, and it is there.",
        seal(files, text=manifest(files, {name: "personal_data"})),
    )
    withheld = f"# withheld blobs/{'0' * 64} personal_data\n"
    texts: dict[str, tuple[str, Callable[[str], str]]] = {
        "crlf": (
            "Its lines end with CR LF.",
            lambda text: text.replace("\n", "\r\n"),
        ),
        "unsorted": (
            "Its first two lines are swapped.",
            lambda text: "".join([*text.splitlines(True)[1::-1], *text.splitlines(True)[2:]]),
        ),
        "one-space": (
            "One space stands between hash and name.",
            lambda text: text.replace("  ", " ", 1),
        ),
        "binary-mark": (
            "A star stands before a name, as sha256sum writes for binary files.",
            lambda text: text.replace("  ", " *", 1),
        ),
        "line-twice": (
            "One of its lines stands twice.",
            lambda text: text.splitlines(True)[0] + text,
        ),
        "name-twice": (
            "One of its files has a second line, with another hash.",
            lambda text: "0" * 64 + text.splitlines(True)[0][64:] + text,
        ),
        "name-twice-the-other-way": (
            "One of its files has a second line, with another hash; the first one is right.",
            lambda text: text.splitlines(True)[0] + "f" * 64 + text[64:],
        ),
        "withheld-twice": (
            "Its last two lines withhold one file that is nowhere else, for one reason.",
            lambda text: text + withheld * 2,
        ),
        "withheld-for-two-reasons": (
            "Its last two lines withhold one file that is nowhere else, for two reasons.",
            lambda text: text + withheld.replace("personal", "other") + withheld,
        ),
        "upper-case": (
            "A hash is written with upper-case letters.",
            lambda text: text[:64].upper() + text[64:],
        ),
        "of-itself": (
            "It has a line for SHA256SUMS, which cannot be in it.",
            lambda text: f"{'0' * 64}  {SUMS}\n{text}",
        ),
        "of-the-page": (
            "It has a line for the page, which a note of its own covers.",
            lambda text: "".join(
                sorted(
                    [*text.splitlines(True), f"{'0' * 64}  report.html\n"],
                    key=lambda row: row[66:],
                )
            ),
        ),
        "of-the-page-note": (
            "It has a line for SHA256SUMS.page, which cannot be in it.",
            lambda text: f"{'0' * 64}  {SUMS}.page\n{text}",
        ),
        "empty-line": ("It ends with an empty line.", lambda text: text + "\n"),
        "empty-line-within": (
            "An empty line stands within it; the last one divides text and signature.",
            lambda text: text.replace("\n", "\n\n", 1),
        ),
        "comment": ("It holds a comment of another kind.", lambda text: text + "# checked\n"),
        "reason": (
            "The reason for withholding a file is not of the admitted form.",
            lambda text: text + f"# withheld blobs/{'0' * 64} Personal data\n",
        ),
    }
    for key, (why, change) in texts.items():
        yield bad(f"manifest-{key}", "2.malformed", 0, why, retold(change))
