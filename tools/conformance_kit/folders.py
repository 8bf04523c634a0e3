"""Folders of exports: each zip in them, and the signed list over all of them (FORMAT.md §20).

They are a table of their own, `folders.tsv`, since a verifier may read one export alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from conformance_kit.case import Case, bad, good, unknown
from conformance_kit.debates import decided, escalated
from conformance_kit.exports import (
    SUMS,
    export,
    files_of,
    manifest,
    seal,
    signature_line,
    withholding,
    zip_of,
)
from conformance_kit.records import EXPORT, STRANGER, Files, Record, signer, time_of, trust
from hansard.record.note import Signer

ABOUT = b"The records of many debates. schemas/FORMAT.md says how to check them.\n"


def zip_name(record: Record) -> str:
    """Return the name that a record's export has in a folder."""
    return f"{record.event(1)['debate']}.zip"


ONE, TWO = zip_name(decided()), zip_name(escalated())


def of(*records: Record, by: Signer = EXPORT) -> Files:
    """Return the files of a folder but for its list."""
    return {"VERIFY.md": ABOUT} | {zip_name(row): zip_of(export(row, by)) for row in records}


def both() -> Files:
    """Return the files of a folder of two debates, without the list."""
    return of(decided(), escalated())


def listed(change: Callable[[str], str]) -> Files:
    """Return a sound folder whose list has another text, signed anew."""
    files = both()
    return seal(files, text=change(manifest(files).decode()).encode())


def folder_cases() -> Iterator[Case]:
    """Yield the cases."""
    files = both()
    sound = seal(files)
    yield good("folder-of-two", "Two exports that hold, and a list that is signed.", sound)
    yield good("folder-of-one", "A folder may hold a single export.", seal(of(decided())))
    text = withholding(decided(), f"blobs/{decided().event(1)['data']['question']['sha256']}")
    yield good(
        "folder-withheld",
        "An export of which a text is withheld holds, and what it says beside its verdict is "
        "counted.",
        seal({**files, ONE: zip_of(text)}),
    )
    yield good(
        "folder-register",
        "What no verifier reads may lie in the folder; the list covers it.",
        seal({**files, "checkpoint": b"any\n", "register.jsonl": b""}),
    )
    yield from container_cases(files, sound)
    yield from list_cases(files, sound)
    yield from signature_cases(files, sound)


def container_cases(files: Files, sound: Files) -> Iterator[Case]:
    """Check 1: what lies in the folder, and whether each export holds."""
    altered = zip_of(export(escalated().data(1, rules=2)))
    yield bad(
        "folder-altered", "1.record", 0,
        "An export does not hold, and the list is signed over it as it is.",
        seal({**files, TWO: altered}),
    )  # fmt: skip
    yield bad(
        "folder-zip-broken", "1.export", 0,
        "A zip without its end is no export, and the list is signed over it as it is.",
        seal({**files, TWO: files[TWO][:-1]}),
    )  # fmt: skip
    yield bad(
        "folder-no-export", "1.export", 0,
        "A file with the name of an export is none, and the list is signed over it as it is.",
        seal({**files, TWO: b"a text\n"}),
    )  # fmt: skip
    yield bad(
        "folder-page", "1.export", 0,
        "A page is no export in a folder, whatever it is called.",
        seal({**files, TWO: b'<p>\n<script type="application/octet-stream">AAAA</script>\n'}),
    )  # fmt: skip
    yield bad(
        "folder-renamed", "1.debate", 0,
        "An export stands under the id of another debate, so that there seem to be two.",
        seal({**files, TWO: files[ONE]}),
    )  # fmt: skip
    for name, what in (("notes.txt", "other"), (f"{ONE}.part", "part"), (ONE.upper(), "upper")):
        yield bad(
            f"folder-name-{what}", "1.name", 0,
            f"{name} is no name that a folder of exports may hold.",
            {**sound, name: b""},
        )  # fmt: skip
    yield bad(
        "folder-in-folder", "1.name", 0,
        "A folder of exports holds no folders.",
        {**sound, f"blobs/{ONE}": b""},
    )  # fmt: skip


def list_cases(files: Files, sound: Files) -> Iterator[Case]:
    """Check 2: the list, and what it says of each file."""
    yield bad("folder-unsigned", "2.missing", 0, "There is no list.", files)
    for name, why, found in (
        ("note", "The list is no signed note.", {**sound, SUMS: manifest(files)}),
        ("order", "The list is in another order.",
         listed(lambda text: "".join(sorted(text.splitlines(keepends=True), reverse=True)))),
        ("twice", "A file stands twice in the list.",
         listed(lambda text: text + text.splitlines(keepends=True)[-1])),
        ("withheld", "Nothing is withheld from a folder.",
         listed(lambda text: f"{text}# withheld {ONE} privacy\n")),
        ("strange", "A name is listed that no folder may hold.",
         listed(lambda text: f"{text}{'0' * 64}  notes.txt\n")),
    ):  # fmt: skip
        yield bad(f"folder-list-{name}", "2.malformed", 0, why, found)
    less = {name: body for name, body in sound.items() if name != TWO}
    yield bad("folder-less", "2.absent", 0, "An export was taken out of the folder.", less)
    none = {SUMS: sound[SUMS], "VERIFY.md": ABOUT}
    yield bad("folder-emptied", "2.absent", 0, "All exports were taken out.", none)
    more = {**seal(of(decided())), TWO: files[TWO]}
    yield bad("folder-more", "2.unlisted", 0, "An export that holds was added.", more)
    other = zip_of(seal({**files_of(escalated()), "VERIFY.md": b"otherwise\n"}))
    yield bad(
        "folder-exchanged", "2.hash", 0,
        "An export was exchanged for another that holds, of the same debate.",
        {**sound, TWO: other},
    )  # fmt: skip
    yield bad(
        "folder-about", "2.hash", 0,
        "What VERIFY.md says was changed.",
        {**sound, "VERIFY.md": b"Trust us.\n"},
    )  # fmt: skip


def signature_cases(files: Files, sound: Files) -> Iterator[Case]:
    """Check 3: who signed the list, and when that was at the earliest."""
    yield bad(
        "folder-forged", "3.signature", 0,
        "The signature of the list is over another text.",
        {**files, SUMS: manifest(files) + b"\n" + signature_line(EXPORT, b"another text\n")},
    )  # fmt: skip
    yield unknown(
        "folder-another-key", "The list is signed by a key of a known name that nobody knows.",
        seal(files, signer(EXPORT.name, "another")),
    )  # fmt: skip
    yield unknown("folder-stranger", "A stranger signed the list.", seal(files, STRANGER))
    yield unknown(
        "folder-stranger-inside", "A stranger signed one of the exports.",
        seal({**files, **of(escalated(), by=STRANGER)}),
    )  # fmt: skip
    last = max(len(decided().lines), len(escalated().lines))
    yield unknown(
        "folder-revoked",
        "The key was revoked when the last entry of the longest record was made.",
        sound, trust(export=(None, None, time_of(last))),
    )  # fmt: skip
