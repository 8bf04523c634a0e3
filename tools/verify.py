#!/usr/bin/env python3
"""Verify the exported record of a debate, or many: `verify.py EXPORT [--trust FILE] [--json]`.

This implements schemas/FORMAT.md apart from the package: one file, the standard library of
Python 3.11, nothing to install. EXPORT, a zip or a folder, is read and never unpacked,
executed or repaired. It may be a folder of many exports, each of which is verified, in one
process. A `§` below is a section of FORMAT.md; an entry is one line of the record.

Contents, in the order of the checks. To go to one, search for `- 9 schedule`:

 1 container   the zip is stored, not compressed, and its files give it again  open_export
 2 manifest    each file has its hash in SHA256SUMS, the page in its own note  check_manifest
 3 signature   trusted keys signed the manifest, page, policy and checkpoint   check_signatures
 4 canonical   every entry is spelled in the one canonical way                 read_line
 5 chain       every entry carries the hash of the entry before                check_chain
 6 time        times are in order                                              check_chain
 7 schema      every entry has a known type and its form                       TYPES, is_event
 8 blobs       every text is present, salted, and what its name says           check_blobs
   walk        what checks 9 to 16 share: steps, turns, what is due            Walk
 9 schedule    every entry was due when it was written                         take_scheduled
10 templates   templates, reply schemas, tools and policy are as opened        check_templates
11 prompts     every prompt's digest follows from the transcript               Transcript
12 replies     every turn, verdict and rejection follows from its reply        take_recorded
13 citations   every citation's finding follows from the document it names     case_of
14 counts      every count and comparison follows from votes and answers       count_votes, measure
15 limits      costs follow from tokens and prices; no ceiling was ignored     cost_of, breaks
16 outcome     decision and close follow from all of that                      course_of
17 register    the first and the latest entry are lines of a register         Register
18 policy      opening, seats and served models are what the policy allows     check_policy
19 review      reviews are of this record, by the keys that they name          take_after, review
20 notes       outcomes, holds and redactions are, too                         take_after
21 report      a periodic report counts what lies in a folder                  Report
   formats     what each format says: a class and a row of FORMATS each        Format
   result      what all checks found, and what they rest on                    verify
   many        a folder of exports, and the signed list of them                verify_many
   command     the command line, what is printed, and the exit code              main

Exit code 0: what is asked for is reached; 1: it is not; 2: wrong use, or EXPORT
cannot be opened at all or is no export.
"""

import sys

# Python looks for modules in the folder of this file first. Whoever sent the record may have put
# some there, such as `__future__.py`: so this file does without that one, and some of its classes
# are named in quotes.
if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]

import os
import signal

# Ctrl-C is one word, also while the rest is imported.
if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, lambda *_: (os.write(2, b"interrupted\n"), os._exit(130)))

import argparse
import base64
import codecs
import hashlib
import json
import re
import stat
import struct
import tempfile
import weakref
import zlib
from abc import ABC, abstractmethod
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from itertools import combinations, islice, pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn, TextIO, cast
from unicodedata import east_asian_width

NAMES = (
    "container", "manifest", "signature", "canonical", "chain", "time", "schema", "blobs",
    "schedule", "templates", "prompts", "replies", "citations", "counts", "limits", "outcome",
)  # fmt: skip
MORE = {  # that only some records have, or a folder with a report of it
    17: "register", 18: "policy", 19: "review", 20: "notes", 21: "report",
}  # fmt: skip
REGISTER, POLICY, REVIEW, NOTES, REPORT = MORE
TEMPLATES = 10  # and the texts that a policy is about
POLICED = "a policy, and that the record was compared with all of it (checks 10 and 18)"
WALKED = (*range(9, 17), 19, 20)  # those that the walk over the record carries (§11)
LARGEST = 2**53 - 1  # the largest integer of a line or a reply (§1, §5)
DEEPEST = 32  # nested containers (§1, §5)
LONGEST_LINE = 1_048_576  # bytes (§1)
MOST_LISTED = 1_000  # findings of a check; the others count all the same
MOST_EVIDENCE = 1 << 20  # bytes of it in JSON, past which no more findings are listed
MOST_SAID = 1 << 23  # characters of kept checkpoints that are listed together (§19)
MOST_ENTRIES = 100_000
LARGEST_DOCUMENT, LARGEST_DOCUMENTS = 2 * 2**20, 20 * 2**20  # bytes: of one, and of all (§10.2)
LARGEST_ORIGINAL, LARGEST_ORIGINALS = 11_184_812, 89_478_488  # bytes of base64: the same
LARGEST_WORDS = 16_000_000  # bytes of a stance or a gate's answer
LARGEST_REPLY = 2**20  # bytes
LAST_ROUND = 1000  # of a debate of any format (§8)
MOST_LABELS = 20  # of a debate (§3)
MOST_CONDITIONS = 20  # of a review
MOST_AFTER = 1_000  # entries after the close (§18)
MOST_SIGNERS = 3  # of a redaction
LONGEST_NAME = 256  # characters of a served model's name that is a text (§15)
LONGEST_COMPARED = 65_536  # characters of an answer, the words of which are compared (§9)
COMPARED_AT_ONCE = 2**21  # characters, of answers whose words are held at once
SENTENCES = {  # what a finding says; `*` is any field that is not what it should be
    "1.size": "The export is too large, or its files claim more bytes than it has",
    "1.unreadable": "The file is not a zip that can be read",
    "1.entries": "Two files in the export have the same name",
    "1.name": "A file is there that does not belong in an export",
    "1.container": "The zip is not built in the one way that an export is built",
    "1.events": "events.jsonl is missing, or its last entry is cut off",
    "1.record": "{name} does not hold: a check of it failed",
    "1.export": "{name} is no export that can be read",
    "1.debate": "{name} is named after another debate than its own",
    "2.missing": "The export has no SHA256SUMS, so nobody signed it",
    "2.malformed": "SHA256SUMS is not a signed list of files",
    "2.hash": "{name} was changed: SHA256SUMS lists another hash",
    "2.unlisted": "{name} is not listed in SHA256SUMS",
    "2.absent": "{name} is listed in SHA256SUMS, but missing",
    "2.withheld": "{name} is listed as withheld, but present",
    "2.page_missing": "{name} is missing: the page and its signed note come together",
    "2.page_malformed": "SHA256SUMS.page is not a signed note for the page",
    "2.page_hash": "{name} was changed: SHA256SUMS.page lists another hash",
    "3.signature": "The signature of {name} does not match SHA256SUMS",
    "3.page": "The signature of {name} does not match SHA256SUMS.page",
    "3.checkpoint": "The signature of {name} does not match the checkpoint",
    "3.policy": "The signature of {name} does not match the policy",
    "4.entries": "The record has more than 100,000 entries: none of them is read",
    "4.size": "This entry has more than 1,048,576 bytes",
    "4.json": "This entry is not JSON in UTF-8",
    "4.profile": "This entry holds a value that no entry may hold",
    "4.bytes": "This entry is not spelled canonically",
    "5.prev": "This entry was changed: its hash no longer matches the next entry",
    "5.first": "The first entry is linked to an entry before it",
    "5.seq": "This entry is not in its place: entries are missing, repeated or out of order",
    "5.debate": "This entry belongs to another debate",
    "5.empty": "The record has no entries",
    "6.order": "This entry is dated earlier than one before it",
    "7.schema": "This entry is not of a known type and form",
    "8.missing": "A text of this entry is missing",
    "8.unexplained": "A text of this entry is missing: an entry says that it was erased, but not "
    "enough keys that you trust signed that",
    "8.erased": "A text of this entry is present, although an entry says that it was erased",
    "8.hash": "A text of this entry was changed: it no longer has its hash",
    "8.header": "A text of this entry has no header and salt",
    "8.text": "A text of this entry is not UTF-8",
    "8.salt": "A text of this entry has the salt of another text",
    "8.reused": "An earlier entry names the very text of this reply",
    "8.size": "A document of this entry, its original, a stance or an answer is larger than a "
    "record may hold, or all up to it are",
    "8.pages": "The document has another number of pages than this entry says",
    "8.file": "The hash of the file is not that of the original, or no hash",
    "8.original": "The original of this document is not spelled in base64",
    "8.unnamed": "No entry names this text",
    "9.not_due": "This entry was not due: from here on the record does not follow the debate rules",
    "9.*": "`{field}` is not what the debate rules give",
    "10.missing": "The template, schema or tool {name} is missing",
    "10.hash": "The template, schema or tool {name} was changed: it no longer has its hash",
    "10.unnamed": "The opening does not name this template or policy",
    "10.policy": "The policy is missing, changed or unreadable",
    "10.not_approved": "This call used a template that the policy does not approve",
    "10.*": "`{field}` is not what opening and policy give",
    "11.*": "`{field}` is not the digest of the prompt that was due",
    "12.wire": "What this entry says of the wire cannot be, with this model in the seat",
    "12.size": "This reply has more than 1,048,576 bytes",
    "12.*": "`{field}` is not what the reply says",
    "13.*": "`{field}` is not what the documents show",
    "14.*": "`{field}` is not what the votes and answers give",
    "15.ceiling": "This call could have exceeded a ceiling",
    "15.*": "`{field}` is not what tokens, prices and ceilings give",
    "16.*": "`{field}` is not what the debate rules give",
    "17.missing": "{name} is missing: the two proofs of the register come together",
    "17.malformed": "{name} is not a proof of a line in a register",
    "17.proof": "{name} does not lead to the root of its checkpoint",
    "17.checkpoint": "The two proofs are of different checkpoints",
    "17.kind": "{name} is a proof of a line of another kind",
    "17.order": "The line of the latest version stands before that of the opening",
    "17.tag": "{name} is a proof of a line about something else",
    "17.opened": "The first line of the register about this record names another opening",
    "17.head": "The latest line of the register names an earlier entry: it was not told of the "
    "last ones",
    "17.superseded": "The latest line of the register names an entry that is not in this record: "
    "another version is the latest",
    "17.file": "{name} is missing: a register comes with its checkpoint and those before it",
    "17.another": "{name} is proven under another checkpoint than the one of this folder",
    "17.unregistered": "{name} is the export of a record of which the register knows nothing",
    "17.begins": "{name} does not begin as the register says of its record",
    "17.ends": "{name} is not the latest version of its record: the latest line names another "
    "entry",
    "17.replaced": "{name} was recorded otherwise before: a line about its record names none of "
    "its entries",
    "17.fork": "The register was forked: its first lines are not those of the checkpoint that you "
    "kept; they were changed, left out or replaced, as by going on from a backup",
    "17.line": "This line of the register cannot be read, or is not in its place",
    "17.signature": "The checkpoint of the register cannot be read",
    "17.size": "The checkpoint covers another number of lines than the register has",
    "17.root": "The lines of the register do not give the root of its checkpoint",
    "17.kept": "A checkpoint that the store kept does not fit the register",
    "17.rewound": "The register was set back: the checkpoint that you kept covers more lines",
    "17.origin": "The checkpoint that you kept is of another register",
    "18.*": "`{field}` is not what the policy allows",
    "19.head": "This review was signed over something else than what came before it",
    "19.conditions": "A review names conditions exactly where that is its outcome",
    "19.signature": "The signature of this review is not by the key {name}",
    "20.head": "This entry speaks of something else than what came before it",
    "20.condition": "No review before this entry has this condition",
    "20.blob": "The entry that this redaction speaks of has no such text there, or it was erased "
    "before",
    "20.signatures": "The signatures of this redaction are not in order, or one key signed twice",
    "20.signature": "The signature of this entry is not by the key {name}",
    "21.malformed": "The report is not a signed list of numbers and debates",
    "21.signature": "The signature of {name} does not match the report",
    "21.missing": "The report counts a debate of which the folder holds no sound export of that "
    "time: {name}",
    "21.unlisted": "The folder holds a debate of that time which the report does not count: {name}",
    "21.superseded": "The report counts another version of this debate than the folder holds: "
    "{name}",
    "21.number": "The report gives another number than the folder: {name}",
}
UNSIGNED = (
    "Not proven: who wrote this. Anybody who could write to it can have replaced it by "
    "another record that agrees with itself."
)
UNPROVEN = (
    "Not proven: that no reply was invented before it was recorded, and that times and served "
    "models are true. Whoever holds the keys can shorten the record, backdate it, replace its "
    "last reply, name another model as the one that served a reply, or record the debate "
    "anew with other replies, more or fewer, and sign that; and the same question may have "
    "been put elsewhere first."
)
Json = Any  # a JSON value, of which a form has been or is to be checked
Texts = Mapping[str, bytes]  # files by name


class Finding(NamedTuple):
    """One defect: its code, the entry's place, and what was expected and found (§10)."""

    code: str
    seq: int
    message: str
    expected: Json = None
    found: Json = None

    @property
    def check(self) -> int:
        """The number of the check that the code belongs to."""
        return int(self.code.partition(".")[0])


def finding(
    code: str, seq: int, expected: Json = None, found: Json = None, name: str = "", said: str = ""
) -> Finding:
    """Return a finding; `said` is the code of its sentence, if that is not its own."""
    check, _, field_ = code.partition(".")
    sentence = SENTENCES.get(said or code) or SENTENCES[f"{check}.*"]
    return Finding(code, seq, sentence.format(field=field_, name=name), expected, found)


class CannotOpen(Exception):
    """The command was used wrongly, or its input cannot be opened at all: exit code 2."""


class Refused(Exception):
    """The container is refused, and nothing in it is read (§13)."""

    def __init__(self, code: str, found: Json = None) -> None:
        super().__init__(code)
        self.finding = finding(code, 0, None, found)


def sha256(data: bytes) -> str:
    """Return the SHA-256 of `data` in lower-case hex."""
    return hashlib.sha256(data).hexdigest()


# ---------------------------------------------------------------- 1 container (§13)

FOLDERS = ("blobs", "policies", "register", "templates")
NAME = re.compile(
    r"SHA256SUMS(?:\.page)?|VERIFY\.md|events\.jsonl|register/(?:head|opened)\.proof|report\.html"
    r"|(?:blobs|policies|templates)/[0-9a-f]{64}"
)
RAW_NAME = re.compile(NAME.pattern.encode())
NAMED = re.compile(  # the header of such a file in a zip, from its first two bytes
    rb"PK(?=(?:\x03\x04.{22}(?P<local>..)..|\x01\x02.{24}(?P<central>..).{16})(?P<name>"
    + RAW_NAME.pattern + rb"))", re.DOTALL,
)  # fmt: skip
PAGE_MARK = b'<script type="application/octet-stream">'  # before the record in a page
LARGEST_EXPORT = 2**27  # bytes, of a zip or of all files of a folder
MOST_FILES = 65_535  # of an export
LOCAL = struct.Struct("<4s5H3L2H")
CENTRAL = struct.Struct("<4s6H3L5H2L")
END = struct.Struct("<4s4H2LH")


class Entry(NamedTuple):
    """What the central directory of a zip says about one file."""

    name: bytes  # it need not be UTF-8
    method: int
    stored: int
    size: int
    offset: int


def require(holds: bool, code: str, found: Json = None) -> None:
    """Refuse the container where something does not hold."""
    if not holds:
        raise Refused(code, found)


def spelled(name: str) -> str:
    """Return a file's name, which need not be UTF-8, as text."""
    return name.encode("utf-8", "backslashreplace").decode()


def open_export(path: Path) -> dict[str, bytes]:
    """Return the files of the zip or folder `path`, or refuse it."""
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            names = (name for name, _, _ in list_folder(path, ""))
            require_export(path, any(map(NAME.fullmatch, names)))
            files = read_folder(path)
        elif stat.S_ISREG(status.st_mode):
            files = files_of(path, read_file(path, LARGEST_EXPORT))
        else:
            raise CannotOpen(f"{path} is neither a file nor a folder")
    except (OSError, ValueError) as error:
        raise CannotOpen(f"{path} cannot be opened: {error}") from None
    require_entries(files)
    return files


def files_of(path: Path, data: bytes) -> dict[str, bytes]:
    """Return the files of the zip `path`, whose bytes are given, or refuse it."""
    if data[:100].lstrip().startswith(b"<") and PAGE_MARK in data:
        raise CannotOpen(f"{path} is a page: take the record out of it first (§13)")
    require_export(path, holds_file(data))
    require(len(data) <= LARGEST_EXPORT, "1.size")
    if find_end(data) < 0:
        raise CannotOpen(
            f"{path} is not a Hansard export: it holds part of one, but the end of the "
            "zip is missing; get it again"
        )
    return read_zip(data)


def require_entries(files: Texts) -> None:
    """Refuse an export whose entries are missing or cut off."""
    require("events.jsonl" in files, "1.events")
    require(files["events.jsonl"][-1:] in {b"", b"\n"}, "1.events")


def require_export(path: Path, holds: bool) -> None:
    """Refuse, without any verdict, what holds nothing of an export."""
    if not holds:
        raise CannotOpen(
            f"{path} is not a Hansard export: it contains none of the files that an export has"
        )


def holds_file(data: bytes) -> bool:
    """Whether a header of a zip with a name that an export has stands anywhere in `data`."""
    for found in NAMED.finditer(data):
        length = int.from_bytes(found["local"] or found["central"], "little")
        start = found.start("name")
        if RAW_NAME.fullmatch(data, start, start + length):
            return True
    return False


def read_file(path: Path, most: int, *, follow: bool = True) -> bytes:
    """Return at most one byte more than `most`: enough to see that it is too much.

    Whatever else took the file's place may hold up its reader for ever, and is not read, nor is a
    link where `follow` is not set.
    """
    with opened(path, follow=follow) as file:
        return file.read(most + 1)


@contextmanager
def opened(path: Path, *, follow: bool = True) -> Iterator[BinaryIO]:
    """Give a regular file to be read."""
    with open(path, "rb", opener=at_once if follow else itself) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise CannotOpen(f"{path} is not a regular file")
        yield file


def at_once(path: str, flags: int) -> int:
    """Open a file without waiting for anybody to write to it."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def itself(path: str, flags: int) -> int:
    """Open a file, and not what a link in its place leads to."""
    return at_once(path, flags | getattr(os, "O_NOFOLLOW", 0))


def read_folder(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder, of which no more is read than shows that it is too much."""
    found = sorted(islice(list_folder(folder, ""), MOST_FILES + 1))
    require(len(found) <= MOST_FILES, "1.size")
    for name, regular, _ in found:
        require(regular and NAME.fullmatch(name) is not None, "1.name", spelled(name))
    files, left = dict[str, bytes](), LARGEST_EXPORT
    for name, _, path in found:
        files[name] = read_file(path, left, follow=False)
        left -= len(files[name])
        require(left >= 0, "1.size")
    return files


def list_folder(folder: Path, prefix: str) -> Iterator[tuple[str, bool, Path]]:
    """Yield each file of a folder by name, and whether it is regular; no link is followed."""
    with os.scandir(folder) as entries:
        for entry in entries:
            name = prefix + entry.name
            if entry.is_dir(follow_symlinks=False) and name in FOLDERS:
                yield from list_folder(Path(entry.path), f"{name}/")
            else:
                yield name, entry.is_file(follow_symlinks=False), Path(entry.path)


def read_zip(data: bytes) -> dict[str, bytes]:
    """Return the files of a zip; nothing is decompressed, and every byte is accounted for."""
    entries = read_directory(data)
    require(len({entry.name for entry in entries}) == len(entries), "1.entries")
    for entry in entries:
        if RAW_NAME.fullmatch(entry.name) is None:
            raise Refused("1.name", spelled(entry.name.decode("utf-8", "surrogateescape")))
    for entry in entries:
        require(entry.method == 0, "1.container")
    fitting = sum(max(entry.stored, entry.size) for entry in entries) <= len(data)
    require(fitting, "1.size")
    files = {entry.name.decode(): read_entry(data, entry) for entry in entries}
    position = 0
    for chunk in zip_chunks(files):
        require(data.startswith(chunk, position), "1.container")
        position += len(chunk)
    require(position == len(data), "1.container")
    return files


def find_end(data: bytes) -> int:
    """Return the place of the last end record near the end; below 0 where no whole one is."""
    end = data.rfind(END_SIGN, max(0, len(data) - END.size - 0xFFFF))
    return end if end <= len(data) - END.size else -1


def read_directory(data: bytes) -> list[Entry]:
    """Return the entries of the central directory, which the end record points to."""
    end = find_end(data)
    *_, count, length, position, comment = END.unpack_from(data, end)
    stop, entries = position + length, list[Entry]()
    whole = end + END.size + comment == len(data) and stop <= end
    while whole and position + CENTRAL.size <= stop and len(entries) < count:
        sign, _, _, _, method, _, _, _, stored, size, *rest = CENTRAL.unpack_from(data, position)
        name, extra, note, _, _, _, offset = rest
        position += CENTRAL.size
        raw = data[position : position + name]
        entries.append(Entry(raw, method, stored, size, offset))
        position += name + extra + note
        whole = sign == CENTRAL_SIGN
    whole = whole and position == stop and len(entries) == count
    require(whole, "1.unreadable")
    return entries


LOCAL_SIGN, CENTRAL_SIGN, END_SIGN = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"


def read_entry(data: bytes, entry: Entry) -> bytes:
    """Return the bytes of one stored entry."""
    start = stop = len(data) + 1
    if entry.offset + LOCAL.size <= len(data) and data.startswith(LOCAL_SIGN, entry.offset):
        *_, name, extra = LOCAL.unpack_from(data, entry.offset)
        start = entry.offset + LOCAL.size + name + extra
        stop = start + entry.stored
    require(stop <= len(data), "1.unreadable")
    return data[start:stop]


def zip_chunks(files: Texts) -> Iterator[bytes]:
    """Yield, piece by piece, the one zip that `files` give."""
    offset, directory = 0, []
    for name in sorted(files):
        content, raw = files[name], name.encode("ascii")
        common = (20, 0, 0, 0, 0x0021, zlib.crc32(content), len(content), len(content), len(raw), 0)
        yield LOCAL.pack(LOCAL_SIGN, *common) + raw
        yield content
        rest = (0, 0, 0, 0o100644 << 16, offset)
        directory.append(CENTRAL.pack(CENTRAL_SIGN, 3 << 8 | 20, *common, *rest) + raw)
        offset += LOCAL.size + len(raw) + len(content)
    tail = b"".join(directory)
    yield tail
    yield END.pack(END_SIGN, 0, 0, len(files), len(files), len(tail), offset, 0)


# ---------------------------------------------------------------- 2 manifest (§13)

PAGE, PAGE_NOTE = "report.html", "SHA256SUMS.page"
UNLISTED = {"SHA256SUMS", PAGE, PAGE_NOTE}


def check_manifest(files: Texts, note: "Note | None") -> tuple[list[Finding], int, set[str]]:
    """Compare files and manifest; return findings, how many are listed, and names withheld."""
    if "SHA256SUMS" not in files:
        return [finding("2.missing", 0)], 0, set()
    manifest = read_manifest(note.text) if note else None
    if manifest is None:
        return [finding("2.malformed", 0)], 0, set()
    sums, withheld = manifest
    covered = files.keys() - UNLISTED
    findings = [
        finding("2.withheld", 0, None, name, name) for name in sorted(withheld & files.keys())
    ]
    for name in sorted(sums.keys() | covered):
        if name not in sums:
            findings.append(finding("2.unlisted", 0, None, name, name))
        elif name not in covered:
            findings.append(finding("2.absent", 0, name, None, name))
        elif sha256(files[name]) != sums[name]:
            found = sha256(files[name])
            findings.append(finding("2.hash", 0, sums[name], found, name))
    return findings, len(sums), withheld


def read_manifest(text: bytes) -> tuple[dict[str, str], set[str]] | None:
    """Return the sums by name and the withheld names, or nothing where it is malformed."""
    sums: dict[str, str] = {}
    withheld: dict[str, str] = {}
    for row in re.finditer(rb"(.*)\n", text):  # one by one: there may be millions
        if found := re.fullmatch(rb"([0-9a-f]{64})  ([A-Za-z0-9./]+)", row[1]):
            sums[found[2].decode()] = found[1].decode()
        elif found := re.fullmatch(rb"# withheld ([A-Za-z0-9./]+) ([a-z0-9_]{1,64})", row[1]):
            withheld[found[1].decode()] = found[2].decode()
        else:
            return None
    again = [f"{sums[name]}  {name}\n" for name in sorted(sums)]
    again += [f"# withheld {name} {withheld[name]}\n" for name in sorted(withheld)]
    if "".join(again).encode() != text or sums.keys() & UNLISTED:
        return None
    return sums, set(withheld)


def check_page(files: Texts, note: "Note | None") -> Iterator[Finding]:
    """Compare the page with its note; each is there only with the other."""
    for name, other in ((PAGE, PAGE_NOTE), (PAGE_NOTE, PAGE)):
        if name in files and other not in files:
            yield finding("2.page_missing", 0, other, None, other)
    if PAGE_NOTE not in files:
        return
    pattern = rb"([0-9a-f]{64})  SHA256SUMS\n([0-9a-f]{64})  report\.html\n"
    found = re.fullmatch(pattern, note.text) if note else None
    if found is None:
        yield finding("2.page_malformed", 0)
        return
    for name, listed in zip(("SHA256SUMS", PAGE), found.groups(), strict=True):
        if name in files and sha256(files[name]) != listed.decode():
            yield finding("2.page_hash", 0, listed.decode(), sha256(files[name]), name)


# ---------------------------------------------------------------- 3 signature (§14)

P = 2**255 - 19  # the field of edwards25519 (RFC 8032, 5.1)
ORDER_8 = int("05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826", 16)
SMALL_ORDER = {0, 1, P - 1, ORDER_8, P - ORDER_8}  # y of the eight points that sign anything
L = 2**252 + 27742317777372353535851937790883648493  # the order of its base point
D = -121665 * pow(121666, -1, P) % P
ROOT = pow(2, (P - 1) // 4, P)  # a square root of -1
Point = tuple[int, int, int, int]  # X, Y, Z, T with x = X/Z, y = Y/Z, xy = T/Z


def decode_point(data: bytes) -> Point | None:
    """Decode a point (RFC 8032, 5.1.3); refuse every spelling but the canonical one."""
    number = int.from_bytes(data, "little")
    y, sign = number & (2**255 - 1), number >> 255
    u, v = (y * y - 1) % P, (D * y * y + 1) % P
    x = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    if v * x * x % P == -u % P:
        x = x * ROOT % P
    if len(data) != 32 or y >= P or v * x * x % P != u or (x == 0 and sign):
        return None
    x = x if x & 1 == sign else P - x
    return (x, y, 1, x * y % P)


def add(p: Point, q: Point) -> Point:
    """Add two points, or double one (RFC 8032, 5.1.4; the formulas are complete)."""
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


BASE = cast(Point, decode_point((4 * pow(5, -1, P) % P).to_bytes(32, "little")))


def ed25519_verify(public: bytes, message: bytes, signature: bytes) -> bool:
    """Verify an Ed25519 signature (RFC 8032, 5.1.7), without multiplying by the cofactor."""
    key, s = decode_point(public), int.from_bytes(signature[32:], "little")
    if key is None or len(signature) != 64 or s >= L:
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % L
    neutral, minus_key = (0, 1, 1, 0), (P - key[0], key[1], 1, P - key[3])
    terms = (neutral, BASE, minus_key, add(BASE, minus_key))
    total = neutral  # becomes s·B - k·A, which must be the point R of the signature
    for bit in range(252, -1, -1):
        total = add(total, total)
        total = add(total, terms[s >> bit & 1 | (k >> bit & 1) << 1])
    inverse = pow(total[2], -1, P)
    x, y = total[0] * inverse % P, total[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little") == signature[:32]


KEY_NAME = r"[A-Za-z0-9._:/@=-]{1,128}"
SIGNATURE = re.compile(rf"— ({KEY_NAME}) ([A-Za-z0-9+/]+={{0,2}})")
VERIFIER_KEY = re.compile(rf"({KEY_NAME})\+([0-9a-f]{{8}})\+([A-Za-z0-9+/]+={{0,2}})")


class Note(NamedTuple):
    """A signed note: its text, and per signature line key name, key id and signature."""

    text: bytes
    signatures: tuple[tuple[str, bytes, bytes], ...]


class TrustedKey(NamedTuple):
    """A key that the reader trusts in one role, from and until a time."""

    role: str
    name: str
    key_id: bytes
    public: bytes
    start: str | None
    until: str | None
    revoked: str | None


MOST_SIGNATURES = 16
LONGEST_NOTE = 1 << 24
LARGEST_TRUST = 4_000_000  # bytes


def strict_base64(text: str) -> bytes:
    """Decode standard base64 that encodes to itself again; nothing where it does not."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        return b""
    return data if base64.b64encode(data).decode() == text else b""


def read_note(data: bytes, *, cosigned: bool = False) -> Note | None:
    """Read a signed note: text, an empty line, and at least one signature line.

    A checkpoint may be cosigned, with signatures of any length.
    """
    divide = data.rfind(b"\n\n") if len(data) <= LONGEST_NOTE else -1
    tail = data[divide + 2 :]
    if divide < 0 or tail.count(b"\n") > MOST_SIGNATURES:  # before it is split
        return None
    *lines, rest = tail.decode("utf-8", "replace").split("\n")
    found = [SIGNATURE.fullmatch(line) for line in lines]
    signatures = [(each[1], strict_base64(each[2])) for each in found if each]
    right = all(len(decoded) == 68 or (cosigned and len(decoded) > 4) for _, decoded in signatures)
    if rest or not lines or len(signatures) != len(lines) or not right:
        return None
    divided = ((name, decoded[:4], decoded[4:]) for name, decoded in signatures)
    return Note(data[: divide + 1], tuple(divided))


Revoked = Mapping[str, str]  # from when on a policy counts no more, by a hash of it


def read_trust(path: Path) -> tuple[list[TrustedKey], Revoked, int]:
    """Read a trust file; one that is not as §14 says cannot be used at all.

    Return the keys, the revoked policies, and how many witnesses must have cosigned.
    """
    try:
        data = read_file(path, LARGEST_TRUST)
        if len(data) > LARGEST_TRUST:
            raise CannotOpen(f"the trust file {path} has more than {LARGEST_TRUST} bytes")
        document = strict_json(data.decode("utf-8"))
    except (OSError, ValueError) as error:
        raise CannotOpen(f"the trust file {path} cannot be read: {error}") from None
    keys: list[TrustedKey] = []
    whose: dict[tuple[str, bytes], bytes] = {}
    if isinstance(document, dict):
        document = {"witnesses": 0, "policies": []} | document
    policies = [{"sha256": "hash", "revoked": "time"}]
    written = {"v": "=1", "keys": ["object"], "policies": policies, "witnesses": "count"}
    if not fits(document, written) or any(
        one["sha256"] >= two["sha256"] for one, two in pairwise(document["policies"])
    ):
        raise CannotOpen(f"the trust file {path} is not written as it must be")
    for entry in (
        {"from": None, "until": None, "revoked": None} | item for item in document["keys"]
    ):
        found = VERIFIER_KEY.fullmatch(entry["key"]) if fits(entry, TRUSTED) else None
        name, key_id, public = found.groups() if found else ("", "", "")
        decoded = strict_base64(public)
        right = hashlib.sha256(name.encode() + b"\n" + decoded).digest()[:4]
        point = int.from_bytes(decoded[1:], "little") & ((1 << 255) - 1)
        weak = point >= P or point in SMALL_ORDER
        twin = whose.setdefault((name, right), decoded) != decoded
        algorithm = 4 if entry.get("role") == "witness" else 1
        sound = len(decoded) == 33 and decoded[0] == algorithm and right.hex() == key_id
        if not sound or weak or twin:
            raise CannotOpen(f"the trust file {path} holds a key that cannot be used")
        role, times = entry["role"], (entry["from"], entry["until"], entry["revoked"])
        keys.append(TrustedKey(role, name, right, decoded[1:], *times))
    revoked = {row["sha256"]: row["revoked"] for row in document["policies"]}
    return keys, revoked, document["witnesses"]


Signed = tuple[str, str, Note | None, str | None]  # what, whose role, and a checkpoint's origin


class Signing(NamedTuple):
    """Who signed a note: whether a trusted key did, in words, and whose signature is forged."""

    trusted: bool
    words: str
    broken: str | None = None


def verifies(key: TrustedKey, text: bytes, signature: bytes) -> bool:
    """Whether a signature, of a witness a cosignature, is a key's over a text."""
    if key.role == "witness":
        seconds = int.from_bytes(signature[:8], "big")
        if len(signature) != 72 or seconds >= 2**63:
            return False
        text, signature = b"cosignature/v1\ntime %d\n" % seconds + text, signature[8:]
    return ed25519_verify(key.public, text, signature)


def is_origin_of(name: str, origin: str) -> bool:
    """Whether a log key of this name signs for the register of this origin."""
    return origin == name or origin.startswith(f"{name}/")


def judge_note(
    note: Note,
    trust: Iterable[TrustedKey],
    role: str,
    at: str | None,
    dated: str | None,
    origin: str | None = None,
) -> Signing:
    """Look at every signature line of a note; a known key's that does not verify spoils it.

    A key counts for a checkpoint only where its name is that of the `origin`.
    """
    rows: dict[tuple[str, bytes], list[TrustedKey]] = {}
    for key in trust:
        rows.setdefault((key.name, key.key_id), []).append(key)
    for name, key_id, signature in dict.fromkeys(note.signatures):
        for key in rows.get((name, key_id), [])[:1]:
            if not verifies(key, note.text, signature):
                return Signing(False, "", name)
    trusted, words = False, []
    for (name, key_id), number in Counter(line[:2] for line in note.signatures).items():
        known = rows.get((name, key_id), [])
        counts, said = standing(known, role, at, dated)
        if counts and origin is not None and not is_origin_of(name, origin):
            counts, said = False, f"does not sign for the register {origin}"
        which = f", which {said}"
        if origin is not None and known and known[0].role == "witness":
            which = ", a witness"  # whether it counts is not asked here
        trusted = trusted or counts
        shown = name if known else f"{name} (key {key_id.hex()})"
        words.append(f"{shown}{which}" + f" ({number} lines)" * (number > 1))
    return Signing(trusted, f"signed by {', and by '.join(words)}")


def standing(
    rows: list[TrustedKey], role: str, at: str | None, dated: str | None
) -> tuple[bool, str]:
    """Say whether what the trust file says of one key lets it sign in `role`, and why."""
    own = [key for key in rows if key.role == role]
    if not rows:
        return False, "you do not know"
    if not own:
        return False, f"you trust as {rows[0].role} key, not as {role} key"
    if at is None or dated is None:
        return False, "counts for no record without a date"
    counting = [
        key
        for key in own
        if (key.start is None or key.start <= at) and (key.until is None or at < key.until)
    ]
    if not counting:
        return False, f"was not in force at {at}"
    if all(key.revoked is not None and key.revoked <= dated for key in counting):
        return False, f"was already revoked at {dated}"
    return True, "you trust"


def check_signatures(
    notes: Iterable[Signed],
    trust: list[TrustedKey],
    at: str | None,
    last: str | None,
    ended: bool,
) -> tuple[list[Finding], bool, str]:
    """Judge each note; return findings, whether trusted keys signed all, the evidence.

    `at` is when the debate was opened, which dates a policy; the last entry dates the others.
    `ended` says that the policy was revoked by then. The last of a note is a checkpoint's origin.
    """
    findings, signed = [], True
    evidence: dict[str, list[str]] = {}  # the notes of which the same is to be said
    for what, role, note, origin in notes:
        found = Signing(False, "cannot be read")
        if note:
            found = judge_note(note, trust, role, at, at if what == "policy" else last, origin)
        if ended and what == "policy" and found.broken is None:
            found = Signing(False, f"{found.words}; the policy was revoked already at {at}")
        signed = signed and found.trusted
        evidence.setdefault(found.words, []).append(what)
        if found.broken is not None:
            code = "3.signature" if what == "manifest" else f"3.{what}"
            findings.append(finding(code, 0, None, found.broken, found.broken))
    rows = [f"{' and '.join(whats)} {words}" for words, whats in evidence.items()]
    return findings, signed, "; ".join(rows)


# ---------------------------------------------------------------- 4 canonical (§1)

KEY = re.compile(r"[a-z][a-z0-9_]*")
ID = re.compile(r"[A-Za-z0-9._:/@+=-]{1,256}")
MARKS = re.compile(rb'(?s)\\.|["\[\]{}]')  # an escape is one of its own
OUTSIDE = 0.5  # stands for every number that is outside the profile


def canonical(value: Json) -> bytes:
    """Write a value canonically; its keys are ASCII, and its strings need no escape."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8")


def line_number(digits: str) -> float:
    """Read a number with fraction or exponent: `7.0` is 7, spelled wrongly."""
    number = float(digits)
    return int(number) if number.is_integer() and abs(number) <= LARGEST else OUTSIDE


def no_constant(name: str) -> NoReturn:
    """Refuse `NaN` and the infinities, which Python would read."""
    raise ValueError(f"{name} is not JSON")


LINE_DECODER = json.JSONDecoder(
    parse_int=lambda digits: int(digits) if len(digits) < 20 else OUTSIDE,
    parse_float=line_number,
    parse_constant=no_constant,
)


def in_profile(value: Json, depth: int = 1) -> bool:
    """Whether a value is in the profile of a line."""
    if isinstance(value, dict | list) and depth > DEEPEST:
        return False
    if isinstance(value, dict):
        return all(map(KEY.fullmatch, value)) and in_profile(list(value.values()), depth)
    if isinstance(value, list):
        return all(in_profile(item, depth + 1) for item in value)
    if isinstance(value, str):
        return ID.fullmatch(value) is not None
    return value is None or (isinstance(value, int) and abs(value) <= LARGEST)


def deepest(raw: bytes) -> int:
    """Return how many containers are open at most, where brackets in strings are none (§10)."""
    if raw.count(b"[") + raw.count(b"{") <= DEEPEST:
        return 0
    depth, most, quoted = 0, 0, False
    for mark in MARKS.findall(raw):
        if mark == b'"':
            quoted = not quoted
        elif not quoted and len(mark) == 1:
            depth += 1 if mark in b"[{" else -1
            most = max(most, depth)
    return most


def read_line(raw: bytes) -> tuple[str | None, Json]:
    """Read one line; return the defect of check 4, if any, and the value."""
    if len(raw) > LONGEST_LINE:
        return "4.size", None
    if deepest(raw) > DEEPEST:  # before parsing, which could not go down so far
        return "4.profile", None
    try:
        value = LINE_DECODER.decode(raw.decode("utf-8"))
    except ValueError:
        return "4.json", None
    if not in_profile(value):
        return "4.profile", None
    return (None, value) if canonical(value) == raw else ("4.bytes", None)


# ---------------------------------------------------------------- 5 chain, 6 time (§1, §10)

FIRST = "0" * 64  # what the first entry is linked to


def check_chain(lines: "Lines") -> Iterator[Finding]:
    """Compare each entry's place, debate and time, and its `prev`, with the entries before.

    A broken link is reported at the entry before, which no longer has the hash that was recorded.
    """
    if not lines.total:
        yield finding("5.empty", 0)
    before, latest, first = FIRST, "", None
    for place, (raw, event) in enumerate(zip(lines.raw(), lines.events(), strict=False), 1):
        prev, seq, debate, at = event["prev"], event["seq"], event["debate"], event["at"]
        first = first or debate
        if prev != before and place == 1:
            yield finding("5.prev", 0, FIRST, prev, said="5.first")
        elif prev != before:
            yield finding("5.prev", place - 1, prev, before)
        if seq != place:
            yield finding("5.seq", place, place, seq)
        if debate != first:
            yield finding("5.debate", place, first, debate)
        if at < latest:
            yield finding("6.order", place, latest, at)
        before, latest = sha256(raw), max(latest, at)


# ---------------------------------------------------------------- 7 schema (§3)

# A form is an object's fields, a list of one form, or words of which one must fit: a word
# of WORDS, or the value itself.
Form = dict[str, Any] | list[Any] | str


def form(text: str, **more: Form) -> dict[str, Form]:
    """Return the form of an object, written as `field:words` one after another."""
    return dict(item.split(":", 1) for item in text.split()) | more


def fits(value: Json, form: Form) -> bool:
    """Whether a value has a form: exactly these fields, a list of it, or one of these words."""
    if isinstance(form, dict):
        fields = isinstance(value, dict) and value.keys() == form.keys()
        return fields and all(fits(value[key], item) for key, item in form.items())
    if isinstance(form, list):
        return isinstance(value, list) and all(fits(item, form[0]) for item in value)
    return any(WORDS[word](value) if word in WORDS else value == word for word in form.split("|"))


def matching(pattern: str) -> Callable[[Json], bool]:
    """Return the test whether a value is a string of `pattern`."""
    expression = re.compile(pattern)
    return lambda value: isinstance(value, str) and expression.fullmatch(value) is not None


def integer(lowest: int, highest: int = LARGEST) -> Callable[[Json], bool]:
    """Return the test whether a value is an integer between two bounds."""
    return lambda value: type(value) is int and lowest <= value <= highest


FINDINGS = ("verified", "no_such_document", "not_yet_visible", "not_found")  # of citations
CASE = form(
    "arguments:count rating:ten|null",
    unanswered=["positive"],
    citations=[form(f"argument:positive citation:positive finding:{'|'.join(FINDINGS)}")],
    struck=["positive"],
)
CUT = form(
    "ceiling:calls|tokens|cost|seconds|entries|operator limit:positive|null "
    "spent:count|null reserved:count|null by:blob|null reason:blob|null"
)
COSTS = ("cost_least_micro_usd", "cost_expected_micro_usd", "cost_most_micro_usd")
ESTIMATE = form(
    "calls_least:positive calls_most:positive", **dict.fromkeys(COSTS, cast(Form, "count|null"))
)
SOURCE = form("media_type:media_type file:blob extractor:id pages:positive|null")
ORIGIN = form(
    "kind:remand|repeat|branch|follow_up|evaluation debate:uuid|null head:hash|null "
    "seq:positive|null"
)
GATE = form(
    "advised:bool rule:gate_rule contested:bool confidence_ppm:ppm|null "
    "downside_micro_usd:count|null threshold_micro_usd:count|null factor:positive "
    "task_type:name|null answer:blob|null",
    conditions=[form("name:downside|uncertain|high_risk met:bool")],
)
INSTRUCTIONS = form("round:count text:blob|null")
COMMON = {  # the words of all formats; each format adds its own
    "roles": "synthesizer",
    "phases": "synthesis",
    "rules": "",
    "reasons": "calls_ceiling tokens_ceiling cost_ceiling seconds_ceiling entries_ceiling "
    "operator prompt_refused nobody_heard seats_lost",
}


@cache
def known(kind: str) -> tuple[str, ...]:
    """Return the words of a kind: those of all formats, and what each format adds."""
    added = (getattr(each, kind) for each in FORMATS.values())
    return tuple(" ".join((COMMON[kind], *added)).split())


@cache
def phase() -> re.Pattern[str]:
    """Return the pattern of a phase, which may be numbered."""
    return re.compile(rf"({'|'.join(known('phases'))})(-[1-9][0-9]?)?")


WORDS: dict[str, Callable[[Json], bool]] = {
    "any": lambda _: True,
    "null": lambda value: value is None,
    "bool": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "object": lambda value: isinstance(value, dict),
    "blob": lambda value: fits(value, {"sha256": "hash"}),
    "stance": lambda value: fits(value, {"label": "name", "text": "blob"}),
    "case": lambda value: fits(value, CASE),
    "cut": lambda value: fits(value, CUT),
    "person": lambda value: fits(value, {"name": "blob", "key": "key|null"}),
    "source": lambda value: fits(value, SOURCE),
    "instructions": lambda value: fits(value, [INSTRUCTIONS]) and len(value) > 0,
    "labels": lambda value: fits(value, ["name"]) and len(value) <= MOST_LABELS,
    "estimate": lambda value: fits(value, ESTIMATE),
    "origin": lambda value: fits(value, ORIGIN),
    "gate": lambda value: fits(value, GATE),
    "gate_rule": matching("downside|any|all"),  # `any` is a word of its own here
    "blobs": lambda value: fits(value, ["blob"]) and len(value) <= MOST_CONDITIONS,
    "signature": lambda value: fits(value, SIGNED),
    "signatures": lambda value: fits(value, [SIGNED]) and 1 <= len(value) <= MOST_SIGNERS,
    "verifier": matching(rf"{KEY_NAME}\+[0-9a-f]{{8}}\+[A-Za-z0-9+/]{{44}}"),
    "base64": matching(r"[A-Za-z0-9+/]{86}=="),
    "terms": lambda value: any(fits(value, each.form) for each in FORMATS.values()),
    "=1": integer(1, 1),
    "count": integer(0),
    "positive": integer(1),
    "three": integer(1, 3),
    "ten": integer(1, 10),
    "ninety_nine": integer(1, 99),
    "hundred": integer(1, 100),
    "thousand": integer(1, 1000),
    "documents": integer(0, 1000),
    "ppm": integer(0, 1_000_000),
    "score": integer(0, 100_000_000),
    "id": matching(ID.pattern),
    "name": matching(r"[A-Za-z0-9._:/@+=-]{1,64}"),
    "key": matching(r"[A-Za-z0-9._:/@=-]{1,128}"),
    "hash": matching(r"[0-9a-f]{64}"),
    "uuid": matching(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"),
    "time": matching(
        r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
        r"T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{6}Z"
    ),
    "media_type": matching(r"[a-z0-9][a-z0-9.+-]{0,126}/[a-z0-9][a-z0-9.+-]{0,126}"),
    "decimal": matching(r"[0-9]{1,9}(\.[0-9]{1,9})?"),
    "url": matching(r"https?://[A-Za-z0-9._:-]+(/[A-Za-z0-9._/+=-]*)?"),
    "seed": matching(r"0|[1-9][0-9]{0,76}"),
    "role": lambda value: value in known("roles"),
    "phase": lambda value: isinstance(value, str) and phase().fullmatch(value) is not None,
    "rule": lambda value: value in known("rules"),
    "reason": lambda value: value in known("reasons"),
}
HASHES: Form = [form("role:name sha256:hash")]
TOOLS: Form = [form("tool:name sha256:hash")]
PRICES: Form = [
    form(
        "model:id source:name input_micro_usd:count cached_micro_usd:count "
        "cache_write_micro_usd:count output_micro_usd:count"
    )
]
PARAMETERS = form(
    "temperature:decimal|null top_p:decimal|null seed:count|null max_tokens:positive|null "
    "reasoning_effort:name|null structured:native|tool|text|null base_url:url|null"
)
CEILINGS = form(
    "calls:positive|null tokens:positive|null cost_micro_usd:positive|null elapsed_ms:positive|null"
)
TURN = form("step:id round:count phase:phase speaker:name")
TRUSTED = form(
    "role:log|export|approval|reviewer|witness key:string from:time|null until:time|null "
    "revoked:time|null"
)
SIGNED: Form = form("key:verifier value:base64")
HOLD = form("head:hash reason:blob|null signature:signature|null")
LINE = form("at:time data:any debate:uuid prev:hash seq:positive type:string v:=1")
TYPES: dict[str, Form] = {
    "debate.opened": form(
        "engine:id rules:=1 name:name|null collection_id:name|null task_type:name|null "
        "requester:person|null owner:person|null labels:labels retention:name|null "
        "origin:origin|null gate:gate|null estimate:estimate|null terms:terms question:blob "
        "context:blob|null instructions:blob|null review:blob seats:hundred documents:documents "
        "attempts:hundred timeout_ms:positive retry_ms:positive seed:seed "
        "layout:shared-prefix|role-first leading_call:bool policy:hash|null tool_rounds:count "
        "scripted:bool",
        templates=HASHES, schemas=HASHES, tools=TOOLS, prices=PRICES, limits=CEILINGS,
    ),
    "gate.answered": form(
        "engine:id rules:=1 question:blob requester:person|null owner:person|null labels:labels "
        "retention:name|null gate:gate"
    ),
    "debate.resumed": form("engine:id"),
    "debater.registered": form(
        "id:name role:role position:positive model:id persona:blob|null "
        "instructions:instructions|null stance:stance|null agent_type:name",
        parameters=PARAMETERS,
    ),
    "evidence.admitted": form(
        "document:name text:blob from_round:positive source:source|null original:blob|null"
    ),
    "call.started": form(
        "call:id step:id attempt:positive role:role model:id template:hash schema:hash "
        "prompt:hash reserved_tokens_in:count reserved_tokens_out:count "
        "reserved_cost_micro_usd:count|null",
        parameters=PARAMETERS,
    ),
    "call.refused": form("step:id role:name found:hash", approved=["hash"]),
    "call.answered": form(
        "call:id reply:blob model:id|blob|null response_id:id|blob|null request_id:id|blob|null "
        "status:count|null fingerprint:id|blob|null "
        "finish:stop|length|refusal|content_filter|tool_calls|other tools:count "
        "tokens_in:count|null tokens_cached:count|null tokens_cache_write:count|null "
        "tokens_out:count|null cost_micro_usd:count|null latency_ms:count "
        "sent_as_rendered:bool|null sent:blob|null"
    ),
    "call.failed": form(
        "call:id detail:id|null status:count|null request_id:id|blob|null wait_ms:count|null "
        "again:bool cost_micro_usd:count|null latency_ms:count|null sent_as_rendered:bool|null "
        "sent:blob|null "
        "error:rate_limited|timeout|server_error|client_error|unreachable|crashed|no_reply|abandoned|raised"
    ),
    "tool.called": form("call:id number:positive tool:name|blob arguments:blob"),
    "tool.returned": form("call:id number:positive result:blob ok:bool"),
    "turn.recorded": TURN | form("call:id vote:name|null case:case|null"),
    "turn.rejected": form(
        "step:id call:id again:bool member:name|null keyword:name|null rating:ten|null "
        "code:unreadable|schema|unknown_option|output_schema|weak_critique|uncited_critique|"
        "cut_off|refused|filtered|not_finished"
    ),
    "turn.forfeited": TURN | form(
        "reason:no_reply|invalid_reply|seat_out|ceiling|operator cut:cut|null"
    ),
    "votes.counted": form(
        "round:count phase:phase abstentions:count threshold:positive reached:bool",
        tally=[form("option:name votes:count")],
    ),
    "similarity.measured": form(
        "round:count measure:options|words|whole heard:count threshold_ppm:ppm converged:bool",
        pairs=[form("one:name other:name ppm:ppm negation_differs:bool")],
    ),
    "verdict.recorded": TURN | form(
        "call:id winner:name|null undeclared:bool choice:name|null upholds:bool|null "
        "resolved:count unresolved:count uncertainties:count confidence:HIGH|MODERATE|LOW|null "
        "another_round:bool|null",
        ranking=["name"], scores=[form("side:name score:ten")],
    ),
    "debate.truncated": form("step:id") | CUT,
    "decision.reached": form(
        "decision:name votes:count|null threshold:positive|null score_ppm:score|null "
        "rounds_run:count review:blob|null rule:rule"
    ),
    "synthesis.recorded": TURN | form("call:id text:blob schema:hash"),
    "debate.closed": form("outcome:complete|truncated|failed reason:reason"),
    "review.signed": form(
        "reviewer:blob head:hash outcome:approved|conditions|rejected|remanded comment:blob|null "
        "conditions:blobs signature:signature"
    ),
    "outcome.noted": form(
        "head:hash label:name note:blob|null condition:hash|null signature:signature|null"
    ),
    "hold.placed": HOLD,
    "hold.lifted": HOLD,
    "text.redacted": form(
        "head:hash seq:positive field:id blob:hash reason:blob basis:blob asked_by:blob "
        "signatures:signatures"
    ),
}  # fmt: skip


@dataclass
class Lines:
    """The lines of a record, and how many there are before the first rejected one.

    An event takes many times the bytes of its line. So none is kept: each is parsed again
    whenever it is asked for.
    """

    data: bytes
    total: int = 0
    read: int = 0
    whole: bool = True  # no line was rejected
    last: Json = None  # the last event that was read

    def raw(self) -> Iterator[bytes]:
        """Yield every line without its LF."""
        start = 0
        while start < len(self.data):
            stop = self.data.index(b"\n", start)
            yield self.data[start:stop]
            start = stop + 1

    def events(self) -> Iterator[Json]:
        """Yield the events before the first rejected line."""
        return map(json.loads, islice(self.raw(), self.read))


def read_lines(lines: Lines) -> Iterator[Finding]:
    """Parse and check every line (checks 4 and 7)."""
    lines.total = lines.data.count(b"\n")
    if lines.total > MOST_ENTRIES:
        lines.whole = False
        yield finding("4.entries", 0, MOST_ENTRIES, lines.total)
        return
    for place, raw in enumerate(lines.raw(), 1):
        defect, value = read_line(raw)
        if defect is None and not is_event(value):
            defect = "7.schema"
        if defect is not None:
            lines.whole = False
            yield finding(defect, place)
        elif lines.whole:
            lines.read, lines.last = place, value


def is_event(value: Json) -> bool:
    """Whether a value is an event of a known type and form."""
    return (
        fits(value, LINE) and value["type"] in TYPES and fits(value["data"], TYPES[value["type"]])
    )


# ---------------------------------------------------------------- 8 blobs (§2)

HEADER = re.compile(rb"hansard-blob/v1 ([0-9a-f]{64})\n")
HEADER_SIZE = 81
PIECE = 2**20  # bytes that are decoded at once


def named_blobs(value: Json) -> Iterator[str]:
    """Yield the names of the texts that a line's data names."""
    if isinstance(value, dict) and value.keys() == {"sha256"}:
        yield value["sha256"]
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from named_blobs(item)


class Held:
    """The texts at hand, each decoded when it is asked for, and how many there are."""

    def __init__(self, blobs: Texts) -> None:
        self.blobs = blobs
        self.names: set[str] = set()
        self.counted: Counter[str] = Counter()

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> str:
        return self.blobs[name][HEADER_SIZE:].decode("utf-8")

    def size(self, name: str) -> int:
        """Return the bytes of a text, which is not decoded for that."""
        return len(self.blobs[name]) - HEADER_SIZE

    def hash(self, name: str) -> str:
        """Return the SHA-256 of a text without its header, in hex."""
        return hashlib.sha256(memoryview(self.blobs[name])[HEADER_SIZE:]).hexdigest()

    def name(self, name: str) -> str:
        """Return a text that is a name of somebody's; of a longer one the beginning and `…`."""
        begins = self.blobs[name][HEADER_SIZE : HEADER_SIZE + 4 * (LONGEST_NAME + 1)]
        text = begins.decode("utf-8", "ignore")  # its last character may be cut in two
        return text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME]}…"


@dataclass
class Places:
    """The first line that names each text: as anything, and as what is bounded in size."""

    all: dict[str, int] = field(default_factory=dict)
    documents: dict[str, int] = field(default_factory=dict)
    originals: dict[str, int] = field(default_factory=dict)
    words: dict[str, int] = field(default_factory=dict)  # stances, and the answer of a gate
    replies: dict[str, int] = field(default_factory=dict)
    reused: dict[str, int] = field(default_factory=dict)  # who replies with a text named before


def read_places(events: Iterable[Json]) -> Places:
    """Go through all events and see which texts they name."""
    places = Places()
    for place, event in enumerate(events, 1):
        data = event["data"]
        for name in named_blobs(data):
            places.all.setdefault(name, place)
        said = (data.get("stance") or {}).get("text") or (data.get("gate") or {}).get("answer")
        if said:
            places.words.setdefault(said["sha256"], place)
        if event["type"] == "evidence.admitted":
            places.documents.setdefault(data["text"]["sha256"], place)
            if data["original"]:
                places.originals.setdefault(data["original"]["sha256"], place)
        elif event["type"] == "call.answered":
            reply = data["reply"]["sha256"]
            places.replies.setdefault(reply, place)
            if places.all[reply] != place:
                places.reused.setdefault(reply, place)
    return places


def check_blobs(
    lines: Lines, held: Held, withheld: set[str], redactions: "list[Redaction]", signed: bool
) -> Iterator[Finding]:
    """Compare texts and names; the texts that are sound are at hand from then on.

    `signed` says that trusted keys signed the record: others then explain nothing.
    """
    erased = {each.blob for each in redactions if each.sound}
    explained = {each.blob for each in redactions if each.explains(signed)}
    blobs, salts, places = held.blobs, set[bytes](), read_places(lines.events())
    documents, originals = 0, 0  # the bytes of all of them so far
    for name, place in places.all.items():
        yield from reused_reply(places, name)
        if name not in blobs:
            if name not in withheld | explained:
                said = "8.unexplained" if name in erased else ""
                yield finding("8.missing", place, name, said=said)
            continue
        defect, salt = read_blob(name, blobs[name])
        defect = defect or ("8.salt" if salt in salts else None)
        defect = defect or ("8.erased" if name in erased else None)
        salts.add(salt)
        if defect == "8.hash":
            yield finding(defect, place, name, sha256(blobs[name]))
        elif defect:
            yield finding(defect, place, None, name)
        elif name not in withheld:
            size = len(blobs[name]) - HEADER_SIZE
            documents += size * (name in places.documents)
            originals += size * (name in places.originals)
            over = [*oversize(places, name, size, documents, originals)]
            yield from over
            if not over and name not in places.reused:
                held.names.add(name)
    for name in sorted(blobs.keys() - places.all.keys()) if lines.whole else ():
        yield finding("8.unnamed", 0, None, name)
    named, kept_back = places.all.keys(), len(places.all.keys() & withheld)
    gone, present = named - blobs.keys() - withheld, len(held.names)
    missing = len(gone - explained)
    held.counted.update(named=len(named), present=present, withheld=kept_back)
    held.counted.update(erased=len(gone) - missing, missing=missing)
    held.counted.update(damaged=len(named) - present - kept_back - len(gone))
    yield from check_sources(lines, held)


def texts_in_words(counted: Mapping[str, int]) -> str:
    """Say how many of the texts that are named there are, and what became of the others."""
    rows = [f"{counted['present']} of {many(counted['named'], 'text')} present"]
    gone = ("withheld", "erased", "missing", "damaged")
    return ", ".join([*rows, *(f"{counted[key]} {key}" for key in gone if counted[key])])


def reused_reply(places: Places, name: str) -> Iterator[Finding]:
    """Yield a finding for a reply whose text an earlier entry names: each is read once."""
    if name in places.reused:
        yield finding("8.reused", places.reused[name], None, name)


def oversize(
    places: Places, name: str, size: int, documents: int, originals: int
) -> Iterator[Finding]:
    """Yield what is too large of a text; the last two are the sizes of all up to it."""
    document, original = places.documents.get(name), places.originals.get(name)
    reply = places.replies.get(name)
    if document and size > LARGEST_DOCUMENT:
        yield finding("8.size", document, LARGEST_DOCUMENT, size)
    elif document and documents > LARGEST_DOCUMENTS:
        yield finding("8.size", document, LARGEST_DOCUMENTS, documents)
    elif original and size > LARGEST_ORIGINAL:
        yield finding("8.size", original, LARGEST_ORIGINAL, size)
    elif original and originals > LARGEST_ORIGINALS:
        yield finding("8.size", original, LARGEST_ORIGINALS, originals)
    elif name in places.words and size > LARGEST_WORDS:
        yield finding("8.size", places.words[name], LARGEST_WORDS, size)
    if reply and size > LARGEST_REPLY:
        yield finding("12.size", reply, LARGEST_REPLY, size)


def check_sources(lines: Lines, held: Held) -> Iterator[Finding]:
    """Compare what a document, its file's hash and its original say of each other (§2)."""
    known: dict[tuple[str, str], Json] = {}  # what was read of a text, each once

    def of(name: str, what: str, read: Callable[[str], Json]) -> Json:
        if (what, name) not in known:
            known[what, name] = read(held[name]) if name in held else None
        return known[what, name]

    for place, event in enumerate(lines.events(), 1):
        data = event["data"]
        if event["type"] != "evidence.admitted":
            continue
        original, source, digest = data["original"], data["source"], None
        if original is not None:
            digest = of(original["sha256"], "original", hash_of_original)
            if digest == "":
                yield finding("8.original", place, None, original["sha256"])
        if source is not None:
            pages = of(data["text"]["sha256"], "pages", lambda text: text.count("\f") + 1)
            if pages not in (None, source["pages"] or 1):
                yield finding("8.pages", place, pages, source["pages"])
            file = source["file"]["sha256"]
            is_long = file in held and held.size(file) > 64  # and is not decoded
            stated = "" if is_long else of(file, "file", as_hash)
            if stated == "" or (stated and digest and stated != digest):
                yield finding("8.file", place, digest or None, stated or None)


def as_hash(text: str) -> str:
    """Return a text that is a hash in hex, and otherwise none."""
    return text if WORDS["hash"](text) else ""


def hash_of_original(text: str) -> str:
    """Return the SHA-256 of a file whose base64 a text is, and no text where it is none."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        return ""
    return sha256(data) if base64.b64encode(data).decode() == text else ""


def read_blob(name: str, data: bytes) -> tuple[str | None, bytes]:
    """Read one blob; return its defect if any, and its salt."""
    header, decoder = HEADER.match(data), codecs.getincrementaldecoder("utf-8")()
    if sha256(data) != name:
        return "8.hash", b""
    if header is None:
        return "8.header", b""
    try:
        for start in range(HEADER_SIZE, len(data), PIECE):
            decoder.decode(data[start : start + PIECE])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return "8.text", header[1]
    return None, header[1]


# ---------------------------------------------------------------- walk: 9 to 16 (§11)
#
# The walk takes the entries in order. It says of each whether it is due, derives its derived
# fields from the entries before it, and goes on with the derived values. What a type of entry
# means for the walk stands in a function `take_…` below, in the section of the check that it
# belongs to most; the table TAKERS names it. The other types follow from the schedule alone.

ARGUING = {  # the roles whose turns have a case, and where in a reply their arguments stand
    "proposer": "supporting_arguments", "critic": "counter_arguments", "rebuttal": "rebuttals",
}  # fmt: skip
TURNS = {  # of the roles whose turn is not `turn.recorded`
    "judge": "verdict.recorded", "moderator": "verdict.recorded",
    "synthesizer": "synthesis.recorded",
}  # fmt: skip
NOTHING: dict[str, Json] = {  # a verdict that says nothing
    "winner": None, "undeclared": False, "choice": None, "upholds": None, "ranking": [],
    "scores": [], "resolved": 0, "unresolved": 0, "uncertainties": 0, "confidence": None,
    "another_round": None,
}  # fmt: skip


class NotDue(Exception):
    """An entry is not due; says what was due instead."""


def need(holds: object, due: str) -> None:
    """Refuse the entry where something that makes it due does not hold; say what was due."""
    if not holds:
        raise NotDue(due)


class Reply(NamedTuple):
    """The reply of a call: its blob, and whether its text is gone. What it says is not kept."""

    call: str
    blob: Json
    gone: bool
    told: Json = None  # of a critique that was sent back, what the next prompt says of it


@dataclass
class Tool:
    """A tool that was asked for at a step, and its result once there is one."""

    step: "Step"
    name: str
    arguments: Json
    result: Json = None


@dataclass
class Step:
    """One turn to be taken, and what was tried for it."""

    name: str
    round: int
    phase: str
    seat: Json  # the data of its registration
    about: Json = None  # the seat of the proposer whose proposition it is about
    against: "Turn | None" = None  # the critique that a rebuttal answers
    digest: bytes = b""  # of its prompt, up to its tools
    task: list[bytes] = field(default_factory=list)  # of the parts of its prompt after its tools
    template: str = ""  # its role's
    tools: list[Tool] = field(default_factory=list)  # those not yet in the digest
    tools_out: int = 0
    tool_rounds: int = 0
    attempts: int = 0
    ended: int = 0  # attempts that count against the step's limit
    began: str = ""  # when its first call since the last resume was started
    last_rejected: bool = False
    rejected: Json = None  # what the part `again` of its prompt says of the last reply rejected
    exhausted: bool = False
    open: bool = False
    out: bool = False  # its seat is not asked any more
    reply: Reply | None = None  # the one that counts
    sent_back: Reply | None = None  # a critique

    def fields(self) -> dict[str, Json]:
        """Return the fields that every turn has."""
        speaker = self.seat["id"]
        return {"step": self.name, "round": self.round, "phase": self.phase, "speaker": speaker}

    @property
    def position(self) -> str:
        """The label of the position that it is about, if there are positions."""
        return self.about["stance"]["label"] if self.about and self.about["stance"] else ""

    @property
    def heard(self) -> Reply | None:
        """The reply that its turn rests on, if there is one."""
        return self.reply or self.sent_back

    def wants_call(self) -> bool:
        """Whether a call for it is due."""
        return not (self.reply or self.exhausted or self.open or self.out or self.tools_out)


class Turn(NamedTuple):
    """A turn that is over: its reply, nothing where it was forfeited, and what it says."""

    step: Step
    reply: Reply | None
    says: Json  # the derived fields of its entry

    @property
    def id(self) -> str:
        """The id of the seat that spoke."""
        return str(self.step.seat["id"])

    @property
    def case(self) -> Json:
        """The case that it makes; nothing where its role makes none, or it was forfeited."""
        return self.says.get("case")

    @property
    def struck(self) -> list[int]:
        """The numbers of its arguments that are given no weight."""
        return self.case["struck"] if self.case else []


def heard(turns: Iterable[Turn]) -> list[Turn]:
    """Return the turns that have a reply."""
    return [turn for turn in turns if turn.reply]


class Call(NamedTuple):
    """One call of a model for a step, and what it reserved."""

    name: str
    step: Step
    tokens: int
    cost: int | None
    began: int  # an instant


class Pending(NamedTuple):
    """A reply that the next entry must reject, for this reason, or may reject if uncertain."""

    step: Step
    reply: Reply
    why: "Rejection | None"
    uncertain: bool


class Due(NamedTuple):
    """An entry that is due and follows from those before: its type, check and derived fields.

    Where it rests on a text that is gone they are a function of what the entry says, which
    returns nothing where no text could have given that.
    """

    kind: str
    check: int
    fields: dict[str, Json] | Callable[[Json], dict[str, Json] | None]


@dataclass
class Walk:
    """The state that the entries so far give, and the findings about them."""

    texts: Held
    policy: "Policy | None"  # nothing where it cannot be read
    findings: list[Finding] = field(default_factory=list)  # about the present entry
    place: int = 0  # of the present entry
    at: str = ""  # its time
    debate: str = ""  # the one it belongs to
    seen: Counter[str] = field(default_factory=Counter)  # the entries taken, by type
    # what was opened
    opening: Json = None
    opened_at: int = 0  # microseconds
    terms: Json = None
    format: "Format" = field(init=False)
    schemas: dict[str, Json] = field(default_factory=dict)  # by role
    hashes: dict[str, str] = field(default_factory=dict)  # theirs
    prices: dict[str, Json] = field(default_factory=dict)  # by model
    templates: list[tuple[str, str, list[str]]] = field(default_factory=list)  # and approved ones
    seats: dict[str, Json] = field(default_factory=dict)  # in order
    documents: dict[str, Json] = field(default_factory=dict)  # in order
    # what is due, from when all of these are there
    transcript: "Transcript" = field(init=False)
    course: "Course | None" = None
    entry: Due | None = None  # the one that is due, if it is not steps
    steps: dict[str, Step] = field(default_factory=dict)  # those due and not over, in order
    over: list[Turn] = field(default_factory=list)  # the turns of those due at once that are over
    waiting: int = 0  # how many steps are still to have a reply that counts, or to be exhausted
    lost: Counter[str] = field(default_factory=Counter)  # steps in a row, by seat (§11)
    # calls and tools that are out, and the reply that has just come back
    calls: dict[str, Call] = field(default_factory=dict)  # in the order started
    abandoned: list[Call] = field(default_factory=list)
    raised: bool = False  # a callable raised, and no process has taken the debate over since
    tools: dict[tuple[str, int], Tool] = field(default_factory=dict)
    asked: tuple[Call, int, int] | None = None  # a reply's tools: how many, and how many called
    answer: Pending | None = None
    spent: Counter[str] = field(default_factory=Counter)  # by ceiling
    # what checks rest on
    levelled: dict[str, str] = field(default_factory=dict)  # documents, as quotes are looked up
    replies: int = 0
    gone_replies: int = 0
    gone_turns: int = 0
    gone_documents: bool = False
    gone_answer: bool = False  # of a gate
    # how it ended
    decision: Json = None
    closed: Json = None  # the data of the close
    shut: bool = False  # closed, or a gate's answer: what people say is due, and nothing else
    after: list[Json] = field(default_factory=list)  # the entries after that, in order
    faulty: set[int] = field(default_factory=set)  # which of them have a finding, from 0
    held: bool = False  # a hold stands
    redactions: "list[Redaction]" = field(default_factory=list)  # in order
    followed: int = 0  # entries that were due
    ended: bool = False  # all of them were

    def walk(self, events: Iterable[Json]) -> Iterator[Finding]:
        """Take the entries one by one, up to the first that is not due; yield what is found."""
        for place, event in enumerate(events, 1):
            try:
                self.take(place, event)
            except NotDue as due:
                self.report("9.not_due", str(due), event["type"])
                yield from self.findings
                return
            yield from self.findings
            self.findings.clear()
            self.followed = place
        self.ended = True

    def take(self, place: int, event: Json) -> None:
        """Take one entry: derive its derived fields, or say that it is not due."""
        kind, data, answer = event["type"], event["data"], self.answer
        self.place, self.at, self.answer = place, event["at"], None
        self.debate = event["debate"]
        if self.shut:
            take_after(self, event)
        elif self.course is None:
            take_opening(self, kind, data)
        elif self.asked:
            need(kind == "tool.called", "tool.called")
            take_called(self, data)
        elif kind == "turn.rejected" or (answer and answer.why):
            need(kind == "turn.rejected", "turn.rejected")
            take_rejected(self, data, answer)
        else:
            if answer:
                answer.step.reply = answer.reply
                self.waiting -= 1
            need(not self.abandoned or kind in ABANDONING, "call.failed of an abandoned call")
            due = self.due()
            need(kind in ENDING or kind in due, " or ".join(due) or "the end of an open call")
            TAKERS.get(kind, take_scheduled)(self, data)
        self.seen[kind] += 1

    def due(self) -> tuple[str, ...]:
        """Return the types that are due now, but for the ends of calls and for resuming."""
        if self.raised:
            return () if self.calls or self.tools else ("debate.resumed", self.cut)
        if self.entry:
            return () if self.calls or self.tools else (self.entry.kind,)
        if self.waiting:
            return ("call.started", "call.refused", self.cut)
        step = next(iter(self.steps.values()))
        recorded = TURNS.get(step.seat["role"], "turn.recorded")
        return (recorded if step.heard else "turn.forfeited",)

    @property
    def cut(self) -> str:
        """Return what may stand in place of a call (§9)."""
        return "turn.forfeited" if self.decision else "debate.truncated"

    def compare(self, check: int, data: Json, **derived: Json) -> None:
        """Report each derived field that the entry states otherwise."""
        for name, value in derived.items():
            if data[name] != value:
                self.report(f"{check}.{name}", value, data[name])

    def report(self, code: str, expected: Json, found: Json) -> None:
        """Report a finding at the present entry."""
        self.findings.append(finding(code, self.place, expected, found))

    @property
    def turns(self) -> list[Turn]:
        """Every turn that is over."""
        return self.transcript.turns if self.course else []

    def seated(self, role: str) -> list[Json]:
        """Return the seats of a role, in order."""
        return [seat for seat in self.seats.values() if seat["role"] == role]

    def step(
        self, number: int, phase: str, seat: Json, about: Json = None, against: Turn | None = None
    ) -> Step:
        """Return a new step, with what is known of its prompt from the start."""
        step = Step(f"r{number}.{phase}.{seat['id']}", number, phase, seat, about, against)
        self.transcript.begin(step, self.decision)
        return step

    def first_step(self) -> Step:
        """Return the first step that a call is due for."""
        step = next((step for step in self.steps.values() if step.wants_call()), None)
        if step is None:
            raise NotDue("no call")
        return step


# ---------------------------------------------------------------- 9 schedule (§8, §11)
#
# The opening, seats and documents; then what the format's schedule says is due, one entry or
# several steps at once; the calls for these steps, their failures, and the tools asked for.

RESERVED = frozenset(  # they are decisions
    {"escalate", "synthesis", "undeclared", "upheld", "not_upheld"}
)

# A schedule yields steps, which are due at once, and is sent their turns; or an entry, and is
# sent its data as derived. It returns a decision, if there is one, and why it ended.
Decision = dict[str, Json]
Schedule = Generator[list[Step] | Due, Json, tuple[Decision | None, str]]
Course = Generator[list[Step] | Due, Json, None]  # all that is due, to the close


def take_opening(walk: Walk, kind: str, data: Json) -> None:
    """Take the opening, then the seats, then the evidence (§11.1)."""
    if walk.opening is None and kind == "gate.answered":
        check_labels(kind, data["labels"])
        check_gate(walk, kind, data["gate"], data["gate"]["task_type"])
        walk.opening, walk.shut = data, True
        return
    if walk.opening is None:
        need(kind == "debate.opened", "debate.opened or gate.answered")
        take_opened(walk, data)
    elif len(walk.seats) < walk.opening["seats"]:
        need(kind == "debater.registered", "debater.registered")
        need(data["id"] not in walk.seats, "debater.registered with another id")
        rounds = [row["round"] for row in data["instructions"] or []]
        in_order = all(one < other for one, other in pairwise(rounds))
        need(in_order, "debater.registered with instructions in order of rounds")
        walk.seats[data["id"]] = data | {"instructions": of_rounds(data["instructions"])}
        if len(walk.seats) == walk.opening["seats"]:
            check_seats(walk)
        walk.compare(9, data, position=len(walk.seats))
    else:
        need(kind == "evidence.admitted", "evidence.admitted")
        need(data["document"] not in walk.documents, "evidence.admitted with another id")
        need(data["source"] or not data["original"], "evidence.admitted without an original")
        walk.documents[data["document"]] = data
    lacking = len(walk.seats) - walk.opening["seats"]
    if not lacking and len(walk.documents) == walk.opening["documents"]:
        seats, documents = list(walk.seats.values()), list(walk.documents.values())
        walk.transcript = Transcript(walk.opening, walk.format, seats, documents)
        walk.course = course_of(walk)
        go_on(walk)


def of_rounds(instructions: Json) -> Json:
    """Return a seat's instructions but for those for rounds that no debate has."""
    if instructions is None:
        return None
    return [row for row in instructions if row["round"] <= LAST_ROUND]


def take_opened(walk: Walk, data: Json) -> None:
    """Derive threshold and reply schemas (§6, §9)."""
    terms, schemas = data["terms"], data["schemas"]
    kind = FORMATS[terms["format"]]
    roles = [item["role"] for item in data["templates"]]
    need(roles == list(kind.templates), "debate.opened with other templates")
    options, fewest = terms.get("options", []), kind.fewest_options
    right = distinct(options) and not {"abstain", "undeclared"} & set(options)
    right = right and fewest <= len(options) <= 100
    need(right, "debate.opened with other options")
    check_own_words(data, walk.debate)
    if data["gate"] is not None:
        check_gate(walk, "debate.opened", data["gate"], data["task_type"])
    synthesizer = [item for item in schemas[-1:] if item["role"] == "synthesizer"]
    terms = terms | kind(terms).derived(data["seats"] - len(synthesizer))
    walk.format = kind(terms)
    walk.schemas = walk.format.schemas()
    derived = [
        {"role": role, "sha256": sha256(canonical(schema))} for role, schema in walk.schemas.items()
    ]
    walk.compare(14, data, terms=terms)
    walk.compare(10, data, schemas=derived + synthesizer)
    walk.schemas["synthesizer"] = {}  # the user's own, which is not known here
    walk.opening = data | {"terms": terms, "schemas": derived + synthesizer}
    walk.terms, walk.opened_at = terms, instant(walk.at)
    walk.hashes = {item["role"]: item["sha256"] for item in walk.opening["schemas"]}
    for item in reversed(data["prices"]):  # the first of a model counts
        walk.prices[item["model"]] = item
    for item in data["templates"]:
        approved = walk.policy and walk.policy.values("template", terms["format"], item["role"])
        walk.templates.append((item["role"], item["sha256"], approved or []))


def check_labels(entry: str, labels: list[str]) -> None:
    """Labels stand in order, each once."""
    need(labels == sorted(set(labels)), f"{entry} with its labels in order, each once")


def check_own_words(data: Json, debate: str) -> None:
    """What a debate says of itself agrees with itself (§11.1)."""
    estimate, origin = data["estimate"], data["origin"]
    check_labels("debate.opened", data["labels"])
    if estimate is not None:
        costs = [estimate[name] for name in COSTS]
        rising = None not in costs and costs == sorted(costs)
        rising = rising or costs == [None] * 3
        right = rising and estimate["calls_least"] <= estimate["calls_most"]
        need(right, "debate.opened with an estimate in order")
    if origin is not None:
        kind, named = origin["kind"], [origin["debate"] is not None, origin["head"] is not None]
        right = named == [True, True] or (kind == "evaluation" and named == [False, False])
        right = right and (origin["seq"] is not None) == (kind == "branch")
        right = right and origin["debate"] != debate
        need(right, "debate.opened with an origin of its kind")


HIGH_RISK = ("contract", "security", "architecture", "investment", "compliance")
LOW_CONFIDENCE = 700_000
HEDGES = re.findall(
    r"\w[\w ]*",
    "not sure, not certain, not clear, unsure, uncertain, unclear, hard to say, difficult to say, "
    "it depends, i think, i believe, i guess, it seems, might be, may be, could be, perhaps, "
    "possibly, probably",
)


def hedges(text: str) -> bool:
    """Whether an answer hedges: it has a phrase of HEDGES without a negation right before it."""
    words = WORD.findall(text[:LONGEST_COMPARED].translate(PLAIN))
    for phrase in HEDGES:
        parts = phrase.split()
        for place in range(len(words) - len(parts) + 1):
            negated = place > 0 and words[place - 1] in NEGATIONS
            if words[place : place + len(parts)] == parts and not negated:
                return True
    return False


def check_gate(walk: Walk, entry: str, gate: Json, task_type: str | None) -> None:
    """The gate of an entry follows from what it was asked (§3)."""
    downside, threshold = gate["downside_micro_usd"], gate["threshold_micro_usd"]
    confidence, answer = gate["confidence_ppm"], gate["answer"]
    uncertain = confidence is not None and confidence < LOW_CONFIDENCE
    if answer is not None and not uncertain:
        walk.gone_answer = answer["sha256"] not in walk.texts
        if walk.gone_answer:
            uncertain = {"name": "uncertain", "met": True} in gate["conditions"]
        else:
            uncertain = hedges(walk.texts[answer["sha256"]])
    known = downside is not None and threshold is not None
    conditions = [
        {"name": "downside", "met": known and downside > threshold * gate["factor"]},
        {"name": "uncertain", "met": uncertain},
        {"name": "high_risk", "met": task_type in HIGH_RISK},
    ]
    met = [row["met"] for row in conditions]
    enough = {"downside": met[0], "any": any(met), "all": all(met)}
    right = gate["task_type"] == task_type and gate["conditions"] == conditions
    right = right and gate["advised"] == (gate["contested"] and enough[gate["rule"]])
    need(right, f"{entry} with a gate that follows from what it was asked")


def check_seats(walk: Walk) -> None:
    """Compare all seats with what the format asks for."""
    seats = list(walk.seats.values())
    scripted = any(seat["model"].startswith(("scripted:", "recorded:")) for seat in seats)
    need(scripted == walk.opening["scripted"], "debate.opened with another `scripted`")
    estimate, unpriced = (
        walk.opening["estimate"],
        {seat["model"] for seat in seats} - walk.prices.keys(),
    )
    known = estimate is None or (estimate[COSTS[0]] is None) == bool(unpriced)
    need(known, "debate.opened with an estimated cost exactly where all prices are known")
    more = [Seat("synthesizer")] * ("synthesizer" in walk.hashes)
    expected = walk.format.seats(len(seats) - len(more)) + more
    found = [(seat["role"], seat["stance"] and seat["stance"]["label"]) for seat in seats]
    right = walk.format.sound() and found == [(each.role, each.stance) for each in expected]
    taken = {seat["id"] for seat in seats if seat["role"] != "synthesizer"}
    taken |= {label for _, label in found if label}
    named = all(each.id in {None, seat["id"]} for each, seat in zip(expected, seats, strict=False))
    free = not taken & walk.format.reserved
    need(right and named and free, "debater.registered for a seat of its format")


def distinct(names: list[str]) -> bool:
    """Whether no name stands twice."""
    return len(set(names)) == len(names)


def go_on(walk: Walk, sent: Json = None) -> None:
    """Set what is due next."""
    due = cast(Course, walk.course).send(sent)
    walk.entry = due if isinstance(due, Due) else None
    walk.steps = {} if isinstance(due, Due) else {step.name: step for step in due}
    walk.over = []
    walk.waiting = sum(not (step.heard or step.out) for step in walk.steps.values())


def take_scheduled(walk: Walk, data: Json) -> None:
    """Take an entry that follows from those before; what is not derived of it is as it says."""
    kind, check, fields = cast(Due, walk.entry)
    derived = fields if isinstance(fields, dict) else fields(data)
    if derived is None:
        raise NotDue(f"{kind} with what answers can give")
    walk.compare(check, data, **derived)
    if kind == "debate.closed":
        walk.closed, walk.shut = data | derived, True
    else:
        go_on(walk, data | derived)


# -- calls (§11.3 to §11.5)


def take_started(walk: Walk, data: Json) -> None:
    """Start a call for a step that is due."""
    step = walk.steps.get(data["step"])
    if step is None or not step.wants_call():
        raise NotDue("call.started for another step")
    step.attempts, step.open = step.attempts + 1, True
    step.began = step.began or walk.at
    seat, role = step.seat, step.seat["role"]
    read, out = data["reserved_tokens_in"], seat["parameters"]["max_tokens"] or 0
    cost = dearest(walk, seat["model"], read, out)
    call = Call(f"{step.name}:{step.attempts}", step, read + out, cost, instant(walk.at))
    walk.compare(9, data, call=call.name, attempt=step.attempts, role=role)
    walk.compare(9, data, model=seat["model"], parameters=seat["parameters"])
    walk.compare(10, data, template=step.template, schema=walk.hashes[role])
    walk.compare(11, data, prompt=walk.transcript.prompt(step))
    walk.compare(15, data, reserved_tokens_out=out, reserved_cost_micro_usd=cost)
    check_approval(walk)
    reserve(walk, call)
    walk.calls[call.name] = call


def close_call(walk: Walk, name: str) -> Call:
    """End an open call, however it ended; its reservation is free again."""
    need(name in walk.calls, "the end of an open call")
    call = walk.calls.pop(name)
    call.step.open = False
    walk.spent.subtract({"tokens": call.tokens, "cost": call.cost or 0})
    return call


def in_vain(walk: Walk, step: Step, *, rejected: bool, final: bool = False) -> bool:
    """End an attempt without a reply that counts; return whether there is another one."""
    step.ended += 1
    step.last_rejected = rejected
    step.exhausted = final or step.ended >= walk.opening["attempts"]
    walk.waiting -= step.exhausted
    return not step.exhausted


MOST_LOST = 2  # steps in a row, after which a seat is out


def lose(walk: Walk, step: Step, data: Json) -> None:
    """Count a step that was lost since its seat's model could not be asked (§11)."""
    seat, error = step.seat["id"], data["error"]
    if error not in {"client_error", "unreachable"}:
        walk.lost.pop(seat, None)
    elif error == "client_error" and data["status"] in range(401, 405):
        walk.lost[seat] = MOST_LOST
    else:
        walk.lost[seat] += 1


UNKNOWN = dict.fromkeys(  # of an abandoned call
    ("detail", "status", "request_id", "wait_ms", "latency_ms", "sent_as_rendered", "sent")
)


def take_failed(walk: Walk, data: Json) -> None:
    """End a call without a reply."""
    if walk.abandoned:
        call = close_call(walk, walk.abandoned.pop(0).name)
        spend(walk, call)
        walk.compare(9, data, call=call.name, error="abandoned", again=True, **UNKNOWN)
        walk.compare(15, data, cost_micro_usd=call.cost)
        return
    need(data["error"] != "abandoned", "debate.resumed")
    call, raised = close_call(walk, data["call"]), data["error"] == "raised"
    own = call.step.seat["model"].startswith(CALLABLE)
    need(own or not raised, "call.failed with another error")
    check_wire(walk, call, data)
    check_latency(walk, call, data)
    if raised:  # it is asked anew once the debate is resumed
        walk.raised = True
        spend(walk, call)
        walk.compare(9, data, again=True, wait_ms=None)
        walk.compare(15, data, cost_micro_usd=call.cost)
        return
    if data["error"] in {"timeout", "server_error", "crashed"}:  # it may have been paid for
        spend(walk, call)
    final = data["error"] in {"client_error", "no_reply"}  # it would only fail alike
    if final:
        walk.compare(9, data, wait_ms=None)
    passed = since(walk, instant(call.step.began))
    late = passed + (data["wait_ms"] or 0) > walk.opening["retry_ms"]
    again = in_vain(walk, call.step, rejected=False, final=final or late)
    if not again:
        lose(walk, call.step, data)
    walk.compare(9, data, again=again)
    walk.compare(15, data, cost_micro_usd=None)


CALLABLE = ("python:", "custom:")  # models that are functions of the user's
UNWIRED = ("scripted:", "recorded:", *CALLABLE)  # models that no wire leads to


def check_wire(walk: Walk, call: Call, data: Json) -> None:
    """Compare what a call that ended says of the wire with its seat's model (§3)."""
    model, status, compared = call.step.seat["model"], data["status"], data["sent_as_rendered"]
    brought_reply = "reply" in data
    if model.startswith(UNWIRED):
        fits = compared is None and not (brought_reply and status is not None)
    elif brought_reply:
        fits = compared is not None and status in range(200, 300)
    else:  # a status answers a body that was sent
        fits = status is None or (compared is not None and data["error"] != "unreachable")
    if not fits or (data["sent"] is None) == (compared is False):
        walk.report("12.wire", None, model)


def check_latency(walk: Walk, call: Call, data: Json) -> None:
    """Compare how long a call took with the time that passed, but for one of rounding (§3)."""
    most = since(walk, call.began) + 1
    if (data["latency_ms"] or 0) > most:
        walk.report("9.latency_ms", most, data["latency_ms"])


def take_resumed(walk: Walk, _: Json) -> None:
    """Give up every call that is open; who was out is in, and sees what was said meanwhile."""
    walk.abandoned = list(walk.calls.values())
    walk.lost.clear()
    walk.raised = False
    for step in walk.steps.values():
        step.began = ""
        if step.out:
            walk.waiting += 1
            walk.transcript.begin(step, walk.decision)
        step.out = False
    if walk.entry is SEATS_LOST:
        go_on(walk)


# -- tools (§11.2)


def take_called(walk: Walk, data: Json) -> None:
    """Call the next tool that a reply asks for."""
    call, tools, number = cast("tuple[Call, int, int]", walk.asked)
    walk.asked = (call, tools, number + 1) if number + 1 < tools else None
    walk.compare(9, data, call=call.name, number=number + 1)
    name = data["tool"] if isinstance(data["tool"], str) else "of no known name"
    tool = Tool(call.step, name, data["arguments"])
    walk.tools[call.name, number + 1] = tool
    call.step.tools.append(tool)
    call.step.tools_out += 1


def take_returned(walk: Walk, data: Json) -> None:
    """Take the result of a tool."""
    tool = walk.tools.pop((data["call"], data["number"]), None)
    if tool is None:
        raise NotDue("tool.returned for another tool")
    tool.result = data["result"]
    tool.step.tools_out -= 1


# -- turns (§11.6)


def take_forfeit(walk: Walk, data: Json) -> None:
    """Forfeit the turn of the first step that is due."""
    if walk.waiting:
        need(data["cut"], "call.started")
        step, cut = cut_of(walk, data["cut"])
        reason = "operator" if cut["ceiling"] == "operator" else "ceiling"
    else:
        step, cut = next(iter(walk.steps.values())), None
        tried = "invalid_reply" if step.last_rejected else "no_reply"
        reason = "seat_out" if step.out else tried
    walk.compare(9, data, **step.fields(), reason=reason)
    walk.compare(15, data, cut=cut)
    end_turn(walk, step, None, {})


class Citations:
    """Citations in order, each in the 17 bytes of its two numbers and its finding."""

    def __init__(self, rows: list[Json]) -> None:
        self.arguments = array("q", (row["argument"] for row in rows))
        self.places = array("q", (row["citation"] for row in rows))
        self.findings = bytes(FINDINGS.index(row["finding"]) for row in rows)

    def __iter__(self) -> Iterator[Json]:
        rows = zip(self.arguments, self.places, self.findings, strict=True)
        for argument, place, finding in rows:
            yield {"argument": argument, "citation": place, "finding": FINDINGS[finding]}


def end_turn(walk: Walk, step: Step, reply: Reply | None, says: Json) -> None:
    """Go on to the next turn; nothing rests on what a rebuttal says nothing about."""
    if case := says.get("case"):  # of either there may be many
        says["case"] = case | {"unanswered": [], "citations": Citations(case["citations"])}
    turn = Turn(step, reply, says)
    if step.reply:
        walk.lost.pop(turn.id, None)
    walk.transcript.add(turn)
    walk.over.append(turn)
    del walk.steps[step.name]
    if not walk.steps:
        go_on(walk, walk.over)


# ---------------------------------------------------------------- 10 templates (§10, §15)


NO_TEMPLATES: Json = {"templates": [], "schemas": [], "tools": [], "policy": None}  # of a gate


def check_templates(opening: Json, templates: Texts, policies: Texts) -> Iterator[Finding]:
    """Compare templates, schemas, tools and policy with the names in the opening."""
    rows = [(item["sha256"], item["role"]) for item in opening["templates"] + opening["schemas"]]
    rows += [(item["sha256"], item["tool"]) for item in opening["tools"]]
    named = dict(reversed(rows))  # under the first name that each hash has
    for digest in dict(rows):
        if digest not in templates:
            yield finding("10.missing", 1, digest, None, named[digest])
        elif (found := sha256(templates[digest])) != digest:
            yield finding("10.hash", 1, digest, found, named[digest])
    policy = opening["policy"]
    for digest in sorted([*(templates.keys() - named.keys()), *(policies.keys() - {policy})]):
        yield finding("10.unnamed", 0, None, digest)
    if policy is not None and read_policy(policy, policies) is None:
        yield finding("10.policy", 1, policy)


class Policy(NamedTuple):
    """A policy that can be read: its note, how many lines it has, and values by scope and term."""

    note: Note
    names: set[str]  # the hashes that revoke it: its own, and two of each signature (§14)
    lines: int
    rules: Mapping[tuple[str, str], list[str]]

    def values(self, term: str, format_: str, role: str = "") -> list[str] | None:
        """Return what the most specific scope that has a term says; nothing where none has it."""
        for scope in (f"{format_}.{role}", format_, "*"):
            if (scope, term) in self.rules:
                return self.rules[scope, term]
        return None


def read_policy(name: str, policies: Texts) -> Policy | None:
    """Read the policy `name`: sorted lines of scope, term and value under a fixed head."""
    data = policies.get(name, b"")
    note = read_note(data)
    if sha256(data) != name or note is None:
        return None
    if note.text.count(b"\n") > 1 + MOST_POLICY_LINES:  # before it is split
        return None
    first, *lines = note.text.split(b"\n")[:-1]
    if first != b"hansard-policy/v1" or any(one >= two for one, two in pairwise(lines)):
        return None
    rules: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        found = re.fullmatch(
            rb"(\*|[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)?) ([a-z_]+) ([!-~]+)", line
        )
        scope, term, value = (each.decode() for each in found.groups()) if found else ("", "", "")
        pattern, once = POLICY_TERMS.get(term, ("[^\0-~]", True))
        values = rules.setdefault((scope, term), [])
        again = values and term == "metric" and values[-1].split(":")[0] == value.split(":")[0]
        if not re.fullmatch(pattern, value) or (once and values) or again:
            return None
        values.append(value)
    head = len(note.text) + 1
    signed = [*data[head:].splitlines(keepends=True), *(row[2] for row in note.signatures)]
    names = {name, *(sha256(data[:head] + each) for each in signed)}
    return Policy(note, names, len(lines), rules)


# -- the policy during the walk (§15)


def unapproved(walk: Walk) -> tuple[str, str, list[str]] | None:
    """Return role, hash and approved hashes of the first template that is not approved."""
    if walk.policy is None:
        return None
    return next((item for item in walk.templates if item[1] not in item[2]), None)


def check_approval(walk: Walk) -> None:
    """Report a call that was started though a template is not approved."""
    if wrong := unapproved(walk):
        walk.report("10.not_approved", wrong[2], wrong[1])


def take_refused(walk: Walk, data: Json) -> None:
    """Refuse a call, since a template is not the approved one."""
    step = walk.first_step()
    need(walk.opening["policy"] is not None, "call.started")
    derived: dict[str, Json] = {"step": step.name}
    if wrong := unapproved(walk):
        derived |= {"role": wrong[0], "found": wrong[1], "approved": wrong[2]}
    elif walk.policy is not None:
        approved = {role: hashes for role, _, hashes in walk.templates}
        need(data["found"] not in approved.get(data["role"], [data["found"]]), "call.started")
        derived["approved"] = approved[data["role"]]
    walk.compare(10, data, **derived)
    walk.course = cut_short("failed", "prompt_refused")
    go_on(walk)


# ---------------------------------------------------------------- 11 prompts (§4, §7)


def filled(protocol: str, roles: str) -> dict[str, str]:
    """Return the values that each template of a format is filled with, by role in order."""
    every = "block:label again:code,keyword,member"
    text = f"protocol:{protocol} {every} {roles} synthesizer:decision,rule"
    return dict(item.split(":") for item in text.split())


class Told:
    """What a moderator is told of citations, a piece for each turn: there may be very many."""

    def __init__(self, cited: list[tuple[str, Citations]]) -> None:
        self.cited = cited  # under the titles of their turns

    def __iter__(self) -> Iterator[str]:
        before = ""
        for title, rows in self.cited:
            told = "; ".join(
                f"{title}, argument {row['argument']}, citation {row['citation']}: {row['finding']}"
                for row in rows
            )
            if told:
                yield before + told
                before = "; "
        if not before:
            yield "there are none"


def hashed(parts: Iterable[Json]) -> list[bytes]:
    """Return the hashes of the parts of a recipe."""
    return [hash_of(part) for part in parts]


def hash_of(part: Json) -> bytes:
    """Return the hash of a part; what is told of citations is written piece by piece."""
    told = part.get("values", {}).get("citations")
    if told is None:
        return hashlib.sha256(canonical(part)).digest()
    values = part["values"] | {"citations": ""}
    before, _, after = canonical(part | {"values": values}).partition(b'""')  # the first value
    whole = hashlib.sha256(before + b'"')
    for piece in told:
        whole.update(piece.encode())
    whole.update(b'"' + after)
    return whole.digest()


def fold(digest: bytes, hashes: Iterable[bytes]) -> bytes:
    """Fold the hashes of parts into the digest of a recipe."""
    for each in hashes:
        digest = hashlib.sha256(digest + each).digest()
    return digest


class Transcript:
    """What all seats share, as it grows by evidence and turns."""

    def __init__(
        self, opening: Json, format_: "Format", seats: list[Json], documents: list[Json]
    ) -> None:
        self.opening = opening
        self.format = format_
        self.templates = {item["role"]: item["sha256"] for item in opening["templates"]}
        self.schemas = {item["role"]: item["sha256"] for item in opening["schemas"]}
        self.documents = documents  # in the order admitted
        self.turns: list[Turn] = []
        terms, rounds = opening["terms"], str(opening["terms"]["max_rounds"])
        self.values = {name: ", ".join(terms[name]) for name in terms if type(terms[name]) is list}
        self.values |= dict.fromkeys(("max_rounds", "rounds", "last_round"), rounds)
        system = hashed([{"role": "system"}, self.template("protocol")])
        self.system, user = fold(bytes(32), system), hashed([{"role": "user"}])
        start = user + hashed(self.block("question", opening["question"]))
        for stance in filter(None, (seat["stance"] for seat in seats)):
            start += hashed(self.block(f"stance {stance['label']}", stance["text"]))
        self.role_first = opening["layout"] == "role-first"
        self.start_digest = fold(bytes(32) if self.role_first else self.system, start)
        self.digest = self.start_digest  # of what is shared by now
        self.reached = 0
        self.reach(1)

    def grow(self, parts: Iterable[Json]) -> None:
        """Add parts to what is shared."""
        self.digest = fold(self.digest, hashed(parts))

    def template(self, role: str, **values: str) -> Json:
        """Return the part of a template, filled with the values that it asks for."""
        known = self.values | values
        names = filter(None, self.format.templates[role].split(","))
        return {"template": self.templates[role], "values": {name: known[name] for name in names}}

    def block(self, label: str, blob: Json, **view: Json) -> list[Json]:
        """Return the two parts of a text under its label, quoted if no other view is named."""
        title = {"template": self.templates["block"], "values": {"label": label}}
        return [title, {"blob": blob["sha256"], "struck": [], "view": "quoted"} | view]

    def titled(self, turn: Turn, more: str = "") -> list[Json]:
        """Return the two parts of a turn under its title."""
        blob, view = cast(Reply, turn.reply).blob, self.format.view(turn)
        if view:  # a view of what the schema of the reply names
            view["schema"] = self.schemas[turn.step.seat["role"]]
        return self.block(self.format.title(turn) + more, blob, **view)

    def evidence(self, after: int, number: int) -> Iterator[Json]:
        """Yield the parts of the documents visible in round `number`, not yet in `after`."""
        for item in self.documents if number > after else ():
            if after < item["from_round"] <= number:
                yield from self.block(f"evidence {item['document']}", item["text"])

    def reach(self, number: int) -> None:
        """Add the documents that are visible from round `number`."""
        if number > self.reached:
            self.grow(self.evidence(self.reached, number))
            self.reached = number

    def add(self, turn: Turn) -> None:
        """Add a turn."""
        self.turns.append(turn)
        self.reach(turn.step.round)
        if turn.reply and turn.step.phase != "synthesis":  # the last turn: no prompt shows it
            self.grow(self.titled(turn))

    def begin(self, step: Step, decision: Json) -> None:
        """Set what is known of the prompt of `step` from the start, in the order of the layout."""
        task = self.task(step, decision)
        step.template = task["template"]
        parts = [*self.told(step.seat, step.round), task]
        if step.seat["role"] == "synthesizer":
            parts.append({"template": self.opening["schemas"][-1]["sha256"], "values": {}})
        step.task = hashed(parts)
        own = self.format.own_order(self, step)
        after = 0 if own is not None else self.reached
        more = hashed([*self.evidence(after, step.round), *(own or ())])
        step.digest = fold(self.digest if own is None else self.start_digest, more)
        if self.role_first:  # the transcript is one part of it
            step.digest = fold(fold(self.system, step.task), [step.digest])
            step.task = []

    def told(self, seat: Json, number: int) -> list[Json]:
        """Return the parts that a seat alone is told: context, persona and instructions."""
        parts, opening = [], self.opening
        if not seat["model"].startswith("custom:"):
            if opening["context"] is not None and seat["role"] != "moderator":
                parts += self.block("context", opening["context"])
            if seat["persona"] is not None:
                parts += self.block(f"persona of {seat['id']}", seat["persona"])
            if (text := self.instructions(seat, number)) is not None:
                parts += self.block("", text, view="plain")[1:]
        return parts

    def instructions(self, seat: Json, number: int) -> Json:
        """Return the instructions of a seat in a round: its own, if it has a list, or those of all.

        A row holds until the next one, and nothing does before the first.
        """
        if seat["instructions"] is None:
            return self.opening["instructions"]
        rows = [{"text": None}, *seat["instructions"]]
        return rows[bisect_right(seat["instructions"], number, key=lambda row: row["round"])][
            "text"
        ]

    def task(self, step: Step, decision: Json) -> Json:
        """Return the part of a prompt that is the template of the step's role."""
        seat, stance = step.seat, step.seat["stance"]
        values = {
            "round": str(step.round), "phase": step.phase, "speaker": seat["id"],
            "stance": stance["label"] if stance else "",
            "position": step.position or "the proposition",
        }  # fmt: skip
        if seat["role"] == "moderator":
            values["citations"] = self.citations(step.round)
        if seat["role"] == "synthesizer":
            values |= {"decision": decision["decision"], "rule": decision["rule"]}
        return self.template(self.format.template(seat["role"]), **values)

    def citations(self, number: int) -> Told:
        """Return what the moderator is told of the citations of a round."""
        turns = [turn for turn in self.turns if turn.step.round == number and turn.case]
        return Told([(self.format.title(turn), turn.case["citations"]) for turn in turns])

    def prompt(self, step: Step) -> str:
        """Return the digest of the prompt of a call for `step`, whose tools have come back."""
        for tool in step.tools:
            asked = self.block(f"tool {tool.name}, arguments", tool.arguments)
            result = self.block(f"tool {tool.name}, result", tool.result)
            step.digest = fold(step.digest, hashed(asked + result))
        step.tools.clear()
        parts: list[Json] = []
        if step.sent_back:
            parts += self.block("your critique that was sent back", step.sent_back.blob)
            parts.append(self.template("critic_again", **step.sent_back.told))
        if step.rejected:
            parts.append(self.template("again", **step.rejected))
        return fold(step.digest, step.task + hashed(parts)).hex()


# ---------------------------------------------------------------- 12 replies (§5, §6)

WHITE = "\t\n\v\f\r "
LOCATED = {"schema", "unknown_option"}  # the codes that say where a reply misses its schema
SENT_BACK = {"weak_critique", "uncited_critique"}  # those for which a critique is sent back
UNFINISHED = {
    "length": "cut_off", "refusal": "refused", "content_filter": "filtered",
    "tool_calls": "not_finished", "other": "not_finished",
}  # fmt: skip


def strict_json(text: str) -> Json:
    """Parse strict RFC 8259; a `ValueError` says what is refused (§5)."""
    try:
        value = json.loads(
            text, parse_int=reply_integer, parse_constant=no_constant, object_pairs_hook=no_twins
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None
    check_reply_value(value, 1)
    return value


def reply_integer(digits: str) -> int:
    """Read an integer within bounds."""
    if len(digits) > 17 or abs(int(digits)) > LARGEST:
        raise ValueError("an integer out of bounds")
    return int(digits)


def no_twins(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """Refuse a key that stands twice in one object."""
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key stands twice")
    return value


def check_reply_value(value: Json, depth: int) -> None:
    """Refuse lone surrogates, which UTF-8 cannot hold, and deep nesting."""
    if isinstance(value, str):
        value.encode("utf-8")
    elif isinstance(value, dict | list):
        if depth > DEEPEST:
            raise ValueError("nested too deeply")
        for item in (*value, *value.values()) if isinstance(value, dict) else value:
            check_reply_value(item, depth + 1)


class Rejection(NamedTuple):
    """Why a reply does not count: the code, and where it misses its schema (§6)."""

    code: str
    member: str | None = None
    keyword: str | None = None


def read_reply(text: str, schema: Json, model: str) -> tuple[Rejection | None, Json]:
    """Read a reply; return why it does not count, if it does not, and its value."""
    value: Json = text.strip(WHITE)
    if schema.get("type") != "string":
        first, _, rest = value.partition("\n")
        body, _, last = rest.rpartition("\n")
        if re.fullmatch(r"```[a-z]*", first) and last == "```":  # one fence around it is dropped
            value = body.strip(WHITE)
        try:
            value = strict_json(value)
        except ValueError:
            return Rejection("unreadable"), None
    if model.startswith(CALLABLE):
        value = named(value, schema)
    failing = misfit(value, schema)
    if failing is None:
        return None, value
    return Rejection("unknown_option" if failing[1] == "enum" else "schema", *failing), value


def named(value: Json, schema: Json) -> Json:
    """Return a value without the members that its schema does not name, at any depth (§5)."""
    if isinstance(value, dict) and "properties" in schema:
        kept = [name for name in value if name in schema["properties"]]
        return {name: named(value[name], schema["properties"][name]) for name in kept}
    if isinstance(value, list) and "items" in schema:
        return [named(item, schema["items"]) for item in value]
    return value


KINDS: dict[str, Callable[[Json], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: type(value) is int,
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}


Misfit = tuple[str | None, str]  # member and keyword


def misfit(value: Json, schema: Json, member: str | None = None) -> Misfit | None:  # noqa: PLR0911 - what comes first decides
    """Return the first member and keyword of a schema that a value does not fit (§6)."""
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(KINDS[kind](value) for kind in kinds):
        return member, "type"
    if value not in schema.get("enum", [value]):
        return member, "enum"
    if isinstance(value, str) and "minLength" in schema and not VISIBLE.search(value):
        return member, "minLength"
    size = len(value) if isinstance(value, list) else value
    for least, most in (("minimum", "maximum"), ("minItems", "maxItems")):
        if least in schema and not schema[least] <= size <= schema[most]:
            return member, least
    rest: Iterable[tuple[Json, Json, str]] = ()
    if isinstance(value, dict) and "properties" in schema:
        missing = [name for name in schema["required"] if name not in value]
        if missing:
            return missing[0], "required"
        if len(value) > len(schema["required"]):
            return None, "additionalProperties"
        rest = ((value[name], schema["properties"][name], name) for name in schema["required"])
    elif isinstance(value, list) and "items" in schema:
        rest = ((item, schema["items"], str(index)) for index, item in enumerate(value))
    return next((failing for each in rest if (failing := misfit(*each))), None)


VISIBLE = re.compile(  # whatever is no white space, and is seen
    "[^\t-\r \xa0\xad\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]"
)
TEXT = {"minLength": 1, "type": "string"}
TRUTH = {"type": "boolean"}


def record(members: dict[str, Json]) -> Json:
    """Return the schema of an object with these members, asked for in this order."""
    schema = {"additionalProperties": False, "properties": members, "required": list(members)}
    return schema | {"type": "object"}


def whole(lowest: int, highest: int) -> Json:
    """Return the schema of an integer between two bounds."""
    return {"maximum": highest, "minimum": lowest, "type": "integer"}


def several(lowest: int, highest: int, items: Json) -> Json:
    """Return the schema of a list."""
    return {"items": items, "maxItems": highest, "minItems": lowest, "type": "array"}


def one_of(names: Iterable[str]) -> Json:
    """Return the schema of one of these names."""
    return {"enum": list(names), "type": "string"}


TEXTS = several(0, 100, TEXT)


# -- replies that come back, and those that do not count (§5, §11.2)


def take_answered(walk: Walk, data: Json) -> None:
    """End a call with its reply, and read it (§5)."""
    call, finish = close_call(walk, data["call"]), data["finish"]
    step, cost = call.step, cost_of(walk, call, data)
    custom = step.seat["model"].startswith("custom:")  # nothing offers it tools
    tools = data["tools"] if finish == "tool_calls" and not custom else 0
    walk.compare(9, data, tools=tools)
    walk.compare(15, data, cost_micro_usd=cost)
    check_wire(walk, call, data)
    check_latency(walk, call, data)
    spend(walk, call, data, cost)
    room = not breaks(walk, "entries", 1 + 2 * tools)
    if tools and room and step.tool_rounds < walk.opening["tool_rounds"]:
        step.tool_rounds += 1
        walk.asked = (call, tools, 0)
        return
    code = UNFINISHED.get(finish)
    reply = Reply(call.name, data["reply"], data["reply"]["sha256"] not in walk.texts)
    why = Rejection(code) if code else None
    walk.replies += why is None
    walk.gone_replies += why is None and reply.gone
    if not reply.gone and why is None:
        why, value = said(walk, step, reply)
        why = walk.format.read(walk, step, why, value)
        if why is None and rests_on_gone(walk, step, value):
            reply = reply._replace(gone=True)
            walk.gone_replies += 1
    uncertain = reply.gone or step.seat["role"] == "synthesizer"
    walk.answer = Pending(step, reply, why, uncertain and why is None)


def said(walk: Walk, step: Step, reply: Reply) -> tuple[Rejection | None, Json]:
    """Read the text of a reply that is at hand, as often as it is needed."""
    seat = step.seat
    return read_reply(walk.texts[reply.blob["sha256"]], walk.schemas[seat["role"]], seat["model"])


def take_rejected(walk: Walk, data: Json, answer: Pending | None) -> None:
    """Reject the reply that has just come back."""
    if answer is None or not (answer.why or answer.uncertain):
        raise NotDue("no rejection")
    step, reply, why, _ = answer
    if why is None:
        located = (data["member"], data["keyword"]) if data["code"] in LOCATED else ()
        why = Rejection(data["code"], *located) if reply.gone else Rejection("output_schema")
    rating = None
    if why.code in SENT_BACK:
        rating = data["rating"] if reply.gone else said(walk, step, reply)[1]["challenge_strength"]
        need(wanting(walk, step, rating) == why.code, "turn.rejected with another reason")
        step.sent_back = reply._replace(told={"code": why.code, "rating": str(rating)})
        again = True
    else:
        again = in_vain(walk, step, rejected=True)
        if not again:
            walk.lost.pop(step.seat["id"], None)
        step.rejected = {
            "code": why.code, "keyword": why.keyword or "none",
            "member": why.member or "the reply",
        }  # fmt: skip
    walk.compare(9, data, step=step.name, call=reply.call, again=again)
    walk.compare(12, data, **why._asdict(), rating=rating)


def wanting(walk: Walk, step: Step, rating: int | None) -> str | None:
    """Return what a reply can be sent back for, if anything, whatever it cites (§8.3)."""
    if step.seat["role"] != "critic" or step.sent_back or not rating:
        return None
    if rating < walk.terms["require_critic_retry_below"]:
        return "weak_critique"
    cites = walk.terms["require_cited_critique"] and visible(walk, step)
    return "uncited_critique" if cites else None


def rests_on_gone(walk: Walk, step: Step, value: Json) -> bool:
    """Whether what a reply says, or whether it counts, rests on another text that is gone."""
    if step.seat["role"] == "judge":
        return in_words(walk, step, value) is None
    rating = value.get("challenge_strength") if step.seat["role"] == "critic" else None
    cites = wanting(walk, step, rating) == "uncited_critique"
    return cites and not all_there(walk, visible(walk, step))


# -- turns: what a reply says (§8, §11.6)


def take_recorded(walk: Walk, data: Json) -> None:
    """Record the turn of the first step that is due."""
    step = next(iter(walk.steps.values()))
    reply = cast(Reply, step.heard)
    role = step.seat["role"]
    if role == "synthesizer":
        says: dict[str, Json] = {"text": reply.blob, "schema": walk.hashes[role]}
    elif reply.gone:
        says = {name: data[name] for name in (NOTHING if role in TURNS else ("vote", "case"))}
        need(could_say(walk, role, says), "a turn that says what a reply can")
        walk.gone_turns += 1
    elif role in TURNS:
        says = verdict_of(walk, step, said(walk, step, reply)[1])
    else:
        value = said(walk, step, reply)[1]
        value = value if isinstance(value, dict) else {}
        says = {"vote": value.get("vote", value.get("choice")), "case": None}
        if role in ARGUING:
            says["case"] = case_of(walk, step, value, data["case"])
    walk.compare(9, data, **step.fields(), call=reply.call)
    walk.compare(12, data, **{name: says[name] for name in says if name != "case"})
    if "case" in says:
        compare_case(walk, data, says["case"])
    end_turn(walk, step, reply, says)


def could_say(walk: Walk, role: str, says: Json) -> bool:
    """Whether a reply that is gone could have given what a turn says (§10)."""
    if role in TURNS:
        return walk.format.could_rule(walk, says)
    if role in ARGUING:
        number = says["case"]["arguments"] if says["case"] else -1
        allowed = says["vote"] is None and (role != "rebuttal") <= number <= 100
        return allowed and in_order(says["case"])
    votes = (walk.terms.get("options") or [None]) if role == "debater" else [None]
    return says["vote"] in votes and says["case"] is None


def nothing_but(says: Json, *free: str) -> bool:
    """Whether a verdict says nothing in all fields but these."""
    return all(says[name] == NOTHING[name] for name in NOTHING if name not in free)


def in_words(walk: Walk, step: Step, value: Json) -> list[str] | None:
    """Return the seats that a judge who is a function names by the words of their stances.

    Nothing where it names a label or nobody, and None where the words of a stance are gone.
    """
    winner = value.get("winner") if step.seat["model"].startswith("custom:") else None
    stances = {
        id_: seat["stance"]["text"]["sha256"] for id_, seat in walk.seats.items() if seat["stance"]
    }
    if winner is None or not stances or winner in walk.terms["stances"]:
        return []
    if any(name not in walk.texts for name in stances.values()):
        return None
    named = folded(winner)
    same = {name: folded(walk.texts[name]) == named for name in {*stances.values()}}
    return [id_ for id_, name in stances.items() if same[name]]


def verdict_of(walk: Walk, step: Step, value: Json) -> dict[str, Json]:
    """Return what the reply of a judge or a moderator says."""
    role = step.seat["role"]
    ids = {seat["stance"]["label"]: seat["id"] for seat in walk.seats.values() if seat["stance"]}
    ids = ids or {label: label for label in walk.terms.get("labels", ())}
    named = in_words(walk, step, value) if role == "judge" else []
    if named and len(named) == 1:
        ids = ids | {value["winner"]: named[0]}
    sides = walk.schemas[role]["properties"].get("scores", {"required": []})["required"]
    winner = value.get("winner")
    return {
        "winner": ids.get(winner), "undeclared": winner is not None and winner not in ids,
        "choice": value.get("choice"), "upholds": value.get("upholds_proposition"),
        "ranking": [ids[label] for label in value.get("ranking", ())],
        "scores": [{"side": side, "score": value["scores"][side]} for side in sides],
        "resolved": len(value.get("resolved_points", ())),
        "unresolved": len(value.get("unresolved_points", ())),
        "uncertainties": len(value.get("explicit_uncertainties", ())),
        "confidence": value.get("confidence"),
        "another_round": value.get("recommend_another_round"),
    }  # fmt: skip


# ---------------------------------------------------------------- 13 citations (§9)

BLANKS = re.compile("[\t-\r \xa0\u2000-\u200a\u2028\u2029\u202f\u3000]+")


def folded(text: str) -> str:
    """Return a text with each run of blanks as one space, and none around it."""
    return BLANKS.sub(" ", text).strip(" ")


TYPESET = {ord(kind): "'" for kind in "\u2018\u2019\u201a\u201b"}
TYPESET |= {ord(kind): '"' for kind in "\u201c\u201d\u201e\u201f"}
TYPESET |= {ord(kind): "-" for kind in "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"}


def levelled(text: str) -> str:
    """Return a text as quotes are looked up in it: folded, with one kind of each mark."""
    return folded(text).translate(TYPESET)


def case_of(walk: Walk, step: Step, value: Json, recorded: Json) -> Json:
    """Return the case that a reply makes: its arguments, and what their citations are worth."""
    rows = value[ARGUING[step.seat["role"]]]
    case = {"arguments": len(rows), "rating": value.get("challenge_strength")}
    if not all_there(walk, visible(walk, step)):
        walk.gone_documents = True
        unknown: dict[str, Json] = {"unanswered": [], "citations": [], "struck": []}
        stated: Json = (recorded or unknown) | case
        need(in_order(stated), "a turn that says what a reply can")
        return stated
    citations: list[Json] = [
        {"argument": number, "citation": index, "finding": find(walk, citation, step.round)}
        for number, row in enumerate(rows, 1)
        for index, citation in enumerate(row["citations"], 1)
    ]
    struck = {item["argument"] for item in citations if item["finding"] != "verified"}
    unanswered: set[int] = set()  # objections neither struck nor answered nor conceded
    if step.against:
        standing = [row for number, row in enumerate(rows, 1) if number not in struck]
        answered = {row["objection"] for row in (*standing, *value["concessions"])}
        unanswered = set(range(1, step.against.case["arguments"] + 1))
        unanswered -= answered | set(step.against.struck)
    found = {"unanswered": sorted(unanswered), "citations": citations, "struck": sorted(struck)}
    return case | found


def in_order(case: Json) -> bool:
    """Whether the numbers of a case ascend, and those that are struck are of its arguments."""
    ascending = all(case[name] == sorted(set(case[name])) for name in ("struck", "unanswered"))
    return ascending and max(case["struck"], default=0) <= case["arguments"]


def visible(walk: Walk, step: Step) -> list[Json]:
    """Return the documents that can be cited at a step."""
    return [each for each in walk.documents.values() if each["from_round"] <= step.round]


def all_there(walk: Walk, documents: list[Json]) -> bool:
    """Whether the texts of documents are all at hand."""
    return all(each["text"]["sha256"] in walk.texts for each in documents)


def find(walk: Walk, citation: Json, number: int) -> str:
    """Return the finding on one citation of a turn of round `number`."""
    document = walk.documents.get(citation["document"])
    if document is None:
        return "no_such_document"
    if document["from_round"] > number:
        return "not_yet_visible"
    name, quote = document["text"]["sha256"], levelled(citation["quote"])
    if name not in walk.levelled:
        walk.levelled[name] = levelled(walk.texts[name])
    return "verified" if quote and quote in walk.levelled[name] else "not_found"


def compare_case(walk: Walk, data: Json, case: Json) -> None:
    """Compare the case of a turn, field by field where there is one on both sides."""
    if case is None or data["case"] is None:
        walk.compare(12, data, case=case)
        return
    for name in case:
        check = 13 if name in {"citations", "struck"} else 12
        walk.compare(check, data["case"], **{name: case[name]})


# ---------------------------------------------------------------- 14 counts (§9)

WORD = re.compile("[^\x00-/:-@\\[-`{-\xbf\u2000-\u206f\u3000-\u303f]+")
LOWERED = {ord(each): each.lower() for each in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
PLAIN = LOWERED | {ord("'"): None, ord("’"): None}
NEGATIONS = frozenset(
    re.findall(
        r"\w+",
        "no not never none nor neither nobody nothing cannot without dont doesnt didnt isnt arent "
        "wasnt werent wont wouldnt shouldnt cant couldnt hasnt havent hadnt mustnt",
    )
)


class Answer(NamedTuple):
    """What is compared of an answer: the words of its text, and hashes of the whole of it."""

    id: str
    whole: str
    lowered: str
    text: str
    negations: int


def answer_of(walk: Walk, turn: Turn) -> Answer:
    """Prepare the answer of a draft to be compared: hundreds of them must find room."""
    _, value = said(walk, turn.step, cast(Reply, turn.reply))
    text = value["answer"] if isinstance(value, dict) else value
    plain = text[:LONGEST_COMPARED].translate(PLAIN)
    negations = sum(word in NEGATIONS for word in WORD.findall(plain))
    whole = folded(text)
    lowered = sha256(whole.translate(PLAIN).encode())
    return Answer(turn.id, sha256(whole.encode()), lowered, plain, negations)


def compare_answers(answers: list[Answer], measure: str) -> list[dict[str, Json]]:
    """Compare each answer with every later one, by their words, or as a whole."""
    pairs = list(combinations(answers, 2))
    if measure == "whole":
        alike = [1_000_000 * (one.whole == other.whole) for one, other in pairs]
    else:
        alike = likeness([answer.text for answer in answers])
    return [
        {
            "one": one.id, "other": other.id, "ppm": ppm,
            "negation_differs": one.negations != other.negations,
        }
        for (one, other), ppm in zip(pairs, alike, strict=True)
    ]  # fmt: skip


def likeness(texts: list[str]) -> list[int]:
    """Return what share of all words of two texts both have, in millionths, for each pair.

    Sets of all words of a hundred long answers take 500 MB, so a part of the words comes after
    the other, and those of a text are the bits of a number.
    """
    sizes, pairs = [0] * len(texts), list(combinations(range(len(texts)), 2))
    common, parts = [0] * len(pairs), 1 + sum(map(len, texts)) // COMPARED_AT_ONCE
    for part in range(parts):
        places = dict[str, int]()
        rows = list[int]()
        for number, text in enumerate(texts):
            words = {word for word in WORD.findall(text) if hash(word) % parts == part}
            bits = [places.setdefault(word, len(places)) for word in words]
            row = bytearray(len(places) // 8 + 1)
            for bit in bits:
                row[bit >> 3] |= 1 << (bit & 7)
            rows.append(int.from_bytes(row, "little"))
            sizes[number] += len(words)
        for number, (one, other) in enumerate(pairs):
            common[number] += (rows[one] & rows[other]).bit_count()
    return [
        1_000_000 * both // (sizes[one] + sizes[other] - both or 1)
        for both, (one, other) in zip(common, pairs, strict=True)
    ]


def counted(turns: list[Turn], tally: Mapping[str, int], threshold: int) -> Due:
    """Return the count of a phase or a round that is over."""
    enough = [option for option in tally if tally[option] >= threshold]
    step = turns[0].step
    return Due("votes.counted", 14, {
        "round": step.round, "phase": step.phase,
        "tally": [{"option": option, "votes": tally[option]} for option in tally],
        "abstentions": len(turns) - len(heard(turns)), "threshold": threshold,
        "reached": len(enough) == 1,
    })  # fmt: skip


def count_votes(options: list[str], turns: list[Turn], threshold: int) -> Due:
    """Count the current votes, which are those of the last turns, one of each debater."""
    votes = Counter(turn.says["vote"] for turn in heard(turns))
    return counted(turns, {option: votes[option] for option in options}, threshold)


def count_answers(walk: Walk, turns: list[Turn], threshold: int) -> Due:
    """Count the different answers, each under the first who gave it."""
    drafts, alike = heard(turns), dict[str, list[str]]()

    def stated(data: Json) -> dict[str, Json] | None:
        tally = {row["option"]: row["votes"] for row in data["tally"]}
        known = len(tally) == len(data["tally"]) and tally.keys() <= {turn.id for turn in drafts}
        return cast(dict[str, Json], counted(turns, tally, threshold).fields) if known else None

    if any(cast(Reply, turn.reply).gone for turn in drafts):
        return Due("votes.counted", 14, stated)
    for turn in drafts:
        alike.setdefault(answer_of(walk, turn).lowered, []).append(turn.id)
    return counted(turns, {ids[0]: len(ids) for ids in alike.values()}, threshold)


def measure(walk: Walk, number: int, drafts: list[Turn], last: bool = False) -> Due:
    """Compare the answers of a round; the last time, it is their words alone that count."""
    terms = walk.terms
    threshold, options = terms["convergence_ppm"] or 0, terms["options"] and not last
    kind = "whole" if threshold == 1_000_000 and not last else "words"
    fields: dict[str, Json] = {
        "round": number, "measure": "options" if options else kind, "heard": len(drafts),
        "threshold_ppm": threshold,
    }  # fmt: skip

    def stated(data: Json) -> dict[str, Json] | None:
        named = [(row["one"], row["other"]) for row in data["pairs"]]
        known = named == list(combinations([turn.id for turn in drafts], 2))
        return fields | ({"converged": False} if last or not enough else {}) if known else None

    enough = len(drafts) >= 2 and 2 * len(drafts) > len(terms["labels"])
    if options:
        agreed = enough and len({turn.says["vote"] for turn in drafts}) == 1
        return Due("similarity.measured", 14, fields | {"pairs": [], "converged": agreed})
    if any(cast(Reply, turn.reply).gone for turn in drafts):
        return Due("similarity.measured", 14, stated)
    answers = [answer_of(walk, turn) for turn in drafts]
    pairs = compare_answers(answers, kind)
    alike = all(row["ppm"] >= threshold and not row["negation_differs"] for row in pairs)
    converged = enough and alike and not last
    return Due("similarity.measured", 14, fields | {"pairs": pairs, "converged": converged})


# ---------------------------------------------------------------- 15 limits (§3, §9)

LIMITS = {  # by ceiling, in the order tried
    "calls": "calls", "tokens": "tokens", "cost": "cost_micro_usd", "seconds": "elapsed_ms",
    "entries": "",  # no opening sets it
}  # fmt: skip


def instant(at: str) -> int:
    """Return a time in microseconds since some day; a month may have 31 days, a year be 0."""
    year, days = int(at[:4]), int(at[8:10])
    days += year // 400 * 146_097 + date(400 + year % 400, int(at[5:7]), 1).toordinal()
    minutes = (days * 24 + int(at[11:13])) * 60 + int(at[14:16])
    return (minutes * 60 + int(at[17:19])) * 1_000_000 + int(at[20:26])


def since(walk: Walk, then: int) -> int:
    """Return the whole milliseconds from an instant to now."""
    return max(0, (instant(walk.at) - then) // 1000)


def cost_of(walk: Walk, call: Call, data: Json) -> int | None:
    """Return the cost of an answered call in micro-US-dollars, rounded up (§3)."""
    price = walk.prices.get(call.step.seat["model"])
    if price is None or data["tokens_in"] is None or data["tokens_out"] is None:
        return None
    cached = min(data["tokens_cached"] or 0, data["tokens_in"])
    written = min(data["tokens_cache_write"] or 0, data["tokens_in"] - cached)
    total = (data["tokens_in"] - cached - written) * price["input_micro_usd"]
    total += cached * price["cached_micro_usd"] + written * price["cache_write_micro_usd"]
    total += data["tokens_out"] * price["output_micro_usd"]
    return int(-(-total // 1_000_000))


def dearest(walk: Walk, model: str, read: int, out: int) -> int | None:
    """Return the most that a call can cost: what it sends may come from a cache, or go there."""
    price = walk.prices.get(model)
    if price is None:
        return None
    names = ("input_micro_usd", "cached_micro_usd", "cache_write_micro_usd")
    total = read * max(price[name] for name in names) + out * price["output_micro_usd"]
    return int(-(-total // 1_000_000))


def spend(walk: Walk, call: Call, data: Json = None, cost: int | None = None) -> None:
    """Count a call that is over; what it does not state counts as it was reserved (§9)."""
    stated = data and None not in (data["tokens_in"], data["tokens_out"])
    used = data["tokens_in"] + data["tokens_out"] if stated else call.tokens
    walk.spent.update(tokens=used, cost=(call.cost or 0) if cost is None else cost)


def reserve(walk: Walk, call: Call) -> None:
    """Count a call that is started with what it reserves; report a ceiling that it could break."""
    reserved = {
        "calls": 1,
        "tokens": call.tokens,
        "cost": call.cost or 0,
        "seconds": 0,
        "entries": 1,
    }
    broken = next((name for name in LIMITS if breaks(walk, name, reserved[name])), None)
    if broken:
        walk.report("15.ceiling", limit(walk, broken), spent_of(walk, broken))
    walk.spent.update(reserved)


def breaks(walk: Walk, ceiling: str, reserved: int) -> bool:
    """Whether a call that reserves so much could break a ceiling."""
    most, more = limit(walk, ceiling), 1 if ceiling == "seconds" else reserved
    return most is not None and spent_of(walk, ceiling) + more > most


def limit(walk: Walk, ceiling: str) -> int | None:
    """Return the limit of a ceiling, if it is set."""
    if ceiling == "entries":
        return MOST_ENTRIES - 1000
    return cast("int | None", walk.opening["limits"][LIMITS[ceiling]])


def spent_of(walk: Walk, ceiling: str) -> int:
    """Return what is spent by now: what is open counts with what it reserved."""
    if ceiling == "entries":
        return walk.place - 1 + len(walk.tools)
    return since(walk, walk.opened_at) if ceiling == "seconds" else walk.spent[ceiling]


def cut_of(walk: Walk, data: Json) -> tuple[Step, Json]:
    """Return the step whose call is not made, and what is said of the ceiling or of a person."""
    step, ceiling = walk.first_step(), data["ceiling"]
    need(not walk.calls and not walk.tools, "the end of an open call")
    cut = dict.fromkeys(CUT) | {"ceiling": ceiling}
    if ceiling == "operator":
        cut |= {"by": data["by"], "reason": data["reason"]}
    else:
        need(not walk.raised, "debate.resumed")
        reserved = {"calls": 1, "seconds": 0, "entries": 1}.get(ceiling, data["reserved"] or 0)
        need(breaks(walk, ceiling, reserved), "call.started")
        spent = spent_of(walk, ceiling)
        cut |= {"limit": limit(walk, ceiling), "spent": spent, "reserved": reserved}
    walk.raised = False
    return step, cut


def take_truncated(walk: Walk, data: Json) -> None:
    """End the debate in place of a call: it could break a ceiling, or a person stops it."""
    step, cut = cut_of(walk, data)
    walk.compare(15, data, step=step.name, **cut)
    ceiling = data["ceiling"]
    reason = ceiling if ceiling == "operator" else f"{ceiling}_ceiling"
    held = [step for step in walk.steps.values() if step.heard]
    walk.course = cut_short("truncated", reason, held)
    go_on(walk)


# ---------------------------------------------------------------- 16 outcome (§9)


def course_of(walk: Walk) -> Course:
    """Yield what is due: what the format says, then decision, synthesis and close."""
    decision, reason = yield from attended(walk)
    if decision:
        number = walk.turns[-1].step.round
        open_ = decision["decision"] in {"escalate", "undeclared"}
        review = walk.opening["review"] if open_ else None
        more = {"rounds_run": number, "review": review}
        walk.decision = yield Due("decision.reached", 16, decision | more)
        for seat in walk.seated("synthesizer"):
            yield [walk.step(number, "synthesis", seat)]
    yield closing("complete" if decision else "failed", reason)


def attended(walk: Walk) -> Schedule:
    """Yield what the format says is due, as long as enough seats are in (§8)."""
    schedule, sent = walk.format.schedule(walk), None
    while True:
        try:
            due = schedule.send(sent)
        except StopIteration as end:
            decision, reason = cast("tuple[Decision | None, str]", end.value)
            if decision:
                yield from closing_while_lost(walk)
            return decision, reason
        steps = [] if isinstance(due, Due) else due
        if not steps or any(not is_out(walk, step) for step in steps):
            yield from closing_while_lost(walk)
        for step in steps:
            step.out = is_out(walk, step)
        sent = yield due


def closing_while_lost(walk: Walk) -> Course:
    """Yield the close while so many seats are out that only `escalate` is left (§8).

    It is withdrawn by a resumption, after which all of them are in.
    """
    while any(steps >= MOST_LOST for steps in walk.lost.values()) and walk.format.lost(walk):
        yield SEATS_LOST


def is_out(walk: Walk, step: Step) -> bool:
    """Whether the seat of a step is not asked any more (§11)."""
    return walk.lost[step.seat["id"]] >= MOST_LOST


def still_in(walk: Walk) -> set[str]:
    """Return the debaters who can still be asked."""
    return {seat["id"] for seat in walk.seated("debater") if walk.lost[seat["id"]] < MOST_LOST}


def cut_short(outcome: str, reason: str, held: Collection[Step] = ()) -> Course:
    """Yield what ends a debate before its time: the turns of replies in hand, and the close."""
    if held:
        yield [*held]
    yield closing(outcome, reason)


def closing(outcome: str, reason: str) -> Due:
    """Return the close."""
    return Due("debate.closed", 16, {"outcome": outcome, "reason": reason})


SEATS_LOST = closing("failed", "seats_lost")


def decided(decision: str, rule: str, **more: int | None) -> Decision:
    """Return the fields of a decision that a format gives."""
    numbers = {"votes": None, "threshold": None, "score_ppm": None}
    return {"decision": decision, "rule": rule} | numbers | more


def too_few() -> Decision:
    """Return the decision where too few were heard."""
    return decided("escalate", "too_few_heard")


def by_count(count: Json, rule: str) -> Decision:
    """Decide for the option that the count reached, or escalate."""
    votes, threshold = {row["option"]: row["votes"] for row in count["tally"]}, count["threshold"]
    decision = "escalate"
    if count["reached"]:
        decision = next(option for option in votes if votes[option] >= threshold)
    return decided(decision, rule, votes=votes.get(decision, 0), threshold=threshold)


# -- the types of entry that do not follow from the schedule alone, and what takes them

TAKERS: dict[str, Callable[[Walk, Json], None]] = {
    "debate.resumed": take_resumed,
    "call.started": take_started,
    "call.refused": take_refused,
    "call.answered": take_answered,
    "call.failed": take_failed,
    "tool.returned": take_returned,
    "turn.recorded": take_recorded,
    "verdict.recorded": take_recorded,
    "synthesis.recorded": take_recorded,
    "turn.forfeited": take_forfeit,
    "debate.truncated": take_truncated,
}
ENDING = {"call.answered", "call.failed", "tool.returned", "debate.resumed"}  # at any time
ABANDONING = {"call.failed", "debate.resumed"}  # while abandoned calls are outstanding


# ---------------------------------------------------------------- 17 register (§19)

PROOFS = ("head", "opened")
OPENINGS = ("opened", "gate")  # the kinds of a record's first line
LINE_KINDS = "opened|head|policy_approved|policy_revoked|key_approved|key_revoked|gate"
HASH_ROW = r"[A-Za-z0-9+/]{43}="
NUMBER = "0|[1-9][0-9]{0,15}"
REGISTER_LINE = re.compile(
    rf'\{{"head":"([0-9a-f]{{64}})","index":({NUMBER}),"kind":"({LINE_KINDS})","tag":"([0-9a-f]{{64}})"\}}'
)
CHECKPOINT = re.compile(rf"({KEY_NAME})\n({NUMBER})\n({HASH_ROW})\n")
PROOF = re.compile(
    rf"c2sp\.org/tlog-proof@v1\nextra ([A-Za-z0-9+/]+={{0,2}})\nindex ({NUMBER})\n"
    rf"((?:{HASH_ROW}\n){{0,64}})\n"
)
LONGEST_CHECKPOINT, LONGEST_PROOF = 65_536, 65_536 + 8_192  # bytes
LAST_SECOND = 253_402_300_799  # of the year 9999
EPOCH = date(1970, 1, 1).toordinal()


class RegisterLine(NamedTuple):
    """One line of a register, and its bytes."""

    raw: bytes
    head: str
    place: int  # the first is 0
    kind: str
    tag: str


class Checkpoint(NamedTuple):
    """A checkpoint: its bytes, its note, and the three lines of its text."""

    data: bytes
    note: Note
    origin: str
    size: int
    root: bytes


class Proof(NamedTuple):
    """A line, the hashes that lead from it to a root, and the checkpoint that states the root."""

    line: RegisterLine
    hashes: list[bytes]
    checkpoint: Checkpoint


def tag_of(subject: str) -> str:
    """Return the tag of a debate's id, or of the hash of a policy or a key."""
    return sha256(b"hansard-register/v1\n" + subject.encode())


def read_register_line(raw: bytes) -> RegisterLine | None:
    """Read a line of a register; nothing for any other spelling."""
    found = REGISTER_LINE.fullmatch(raw.decode("ascii", "replace")) if len(raw) <= 256 else None
    if not found:
        return None
    line = RegisterLine(raw, found[1], int(found[2]), found[3], found[4])
    own = line.kind in {"opened", "head", "gate"} or line.tag == tag_of(line.head)
    return line if own and line.place < LARGEST else None


def read_checkpoint(data: bytes) -> Checkpoint | None:
    """Read a checkpoint; nothing where it is none."""
    note = read_note(data, cosigned=True) if len(data) <= LONGEST_CHECKPOINT else None
    found = CHECKPOINT.fullmatch(note.text.decode("ascii", "replace")) if note else None
    if not note or not found:
        return None
    size, root = int(found[2]), strict_base64(found[3])
    sound = len(root) == 32 and size <= LARGEST and (size > 0 or root == hashlib.sha256().digest())
    return Checkpoint(data, note, found[1], size, root) if sound else None


def read_proof(data: bytes) -> Proof | None:
    """Read a proof; nothing where it is none."""
    found = None
    if len(data) <= LONGEST_PROOF:
        found = PROOF.match(data.decode("latin-1"))
    if not found:
        return None
    line = read_register_line(strict_base64(found[1]))
    hashes = [strict_base64(row) for row in found[3].split("\n")[:-1]]
    checkpoint = read_checkpoint(data[found.end() :])
    if line and checkpoint and line.place == int(found[2]) and all(hashes):
        return Proof(line, hashes, checkpoint)
    return None


def node(left: bytes, right: bytes) -> bytes:
    """Return the hash of a node of the tree (RFC 6962, 2.1)."""
    return hashlib.sha256(b"\1" + left + right).digest()


def includes(proof: Proof) -> bool:
    """Whether a proof leads to the root of its checkpoint (RFC 9162, 2.1.3.2)."""
    at, last = proof.line.place, proof.checkpoint.size - 1
    found, inside = hashlib.sha256(b"\0" + proof.line.raw).digest(), at <= last
    for step in proof.hashes:
        inside = inside and last > 0
        if at & 1 or at == last:
            found = node(step, found)
            while at and not at & 1:
                at, last = at >> 1, last >> 1
        else:
            found = node(found, step)
        at, last = at >> 1, last >> 1
    return inside and last == 0 and found == proof.checkpoint.root


def compare(kept: Checkpoint, own: Checkpoint) -> str:
    """Say how a checkpoint stands to one that was kept, as far as the two alone show it."""
    if kept.origin != own.origin:
        return "origin"
    if kept.size != own.size:
        return "size"
    return "same" if kept.root == own.root else "fork"


def time_of(seconds: int) -> str | None:
    """Return a POSIX time as entries have it; nothing for one after the year 9999."""
    if seconds > LAST_SECOND:
        return None
    days, second = divmod(seconds, 86_400)
    minute, hour = second // 60 % 60, second // 3_600
    return f"{date.fromordinal(EPOCH + days)}T{hour:02}:{minute:02}:{second % 60:02}.000000Z"


def cosigned(checkpoint: Checkpoint, trust: list[TrustedKey]) -> list[dict[str, str]]:
    """Return which trusted witnesses cosigned, once a public key, each in force at its time."""
    found: dict[bytes, dict[str, str]] = {}
    for name, key_id, signature in checkpoint.note.signatures:
        rows = [key for key in trust if (key.name, key.key_id) == (name, key_id)]
        at = time_of(int.from_bytes(signature[:8], "big"))
        if not rows or at is None or rows[0].public in found:
            continue
        counts, _ = standing(rows, "witness", at, at)
        if counts and verifies(rows[0], checkpoint.note.text, signature):
            found[rows[0].public] = {"name": name, "at": at}
    return list(found.values())


def cosigners(rows: list[dict[str, str]]) -> str:
    """Say which trusted witnesses cosigned."""
    names = [f"{row['name']} at {row['at']}" for row in rows]
    return f"cosigned by {', '.join(names)}" if names else ALONE


class Register:
    """What the two proofs of a record say of it, and what a checkpoint that was kept says."""

    def __init__(self, files: Texts, since: Checkpoint | None) -> None:
        self.given = {name: files[name] for name in files if name.startswith("register/")}
        self.since = since
        self.proofs: dict[str, Proof] = {}
        self.kept = ""  # how its checkpoint stands to the one that was kept
        self.placed = False  # the lines were compared with the record

    def check(self, lines: Lines, opening: Json | None) -> Iterator[Finding]:
        """Check each proof by itself, the two together, and both with a record that begins."""
        for name in PROOFS if self.given else ():
            yield from self.read(name, f"register/{name}.proof")
        if len(self.proofs) < len(PROOFS):
            return
        own, other = (self.proofs[name].checkpoint for name in PROOFS)
        head, opened = (self.proofs[name].line for name in PROOFS)
        if own.data != other.data:
            yield finding("17.checkpoint", 0, other.data.decode(), own.data.decode())
        if head.place < opened.place:
            yield finding("17.order", 0, opened.place + 1, head.place + 1)
        self.placed = lines.whole and opening is not None
        if self.placed:
            yield from self.check_lines(head, opened, lines, opening)
        if self.since:
            self.kept = compare(self.since, own)
        if self.since and self.kept == "fork":
            yield finding("17.fork", 0, self.since.data.decode(), own.data.decode())

    def read(self, name: str, file: str) -> Iterator[Finding]:
        """Read one proof."""
        proof = read_proof(self.given[file]) if file in self.given else None
        if file not in self.given:
            yield finding("17.missing", 0, file, None, file)
        elif not proof:
            yield finding("17.malformed", 0, None, file, file)
        else:
            self.proofs[name] = proof
            if not includes(proof):
                yield finding("17.proof", 0, None, file, file)

    def check_lines(
        self, head: RegisterLine, opened: RegisterLine, lines: Lines, opening: Json
    ) -> Iterator[Finding]:
        """Compare the lines of the proofs with a record that could be read to its end."""
        first = "opened" if opening["type"] == "debate.opened" else "gate"
        kinds = {"opened": first, "head": first if head.place == opened.place else "head"}
        tag = tag_of(opening["debate"])
        for name in PROOFS:
            line, file = self.proofs[name].line, f"register/{name}.proof"
            if line.kind != kinds[name]:
                yield finding("17.kind", 0, kinds[name], line.kind, file)
            if line.tag != tag:
                yield finding("17.tag", 0, tag, line.tag, file)
        begin, last = sha256(next(lines.raw())), b""
        for raw in lines.raw():
            last = raw
        if opened.head != begin:
            yield finding("17.opened", 0, begin, opened.head)
        if head.head != sha256(last):
            known = head.head in map(sha256, lines.raw())
            code = "17.head" if known else "17.superseded"
            yield finding(code, 0, sha256(last), head.head)

    def notes(self) -> list[Signed]:
        """Return the checkpoint for check 3, of the latest line where that can be read."""
        own = next((self.proofs[name].checkpoint for name in PROOFS if name in self.proofs), None)
        note, origin = (own.note, own.origin) if own else (None, None)
        return [("checkpoint", "log", note, origin)] if self.given else []

    def place(self, trust: list[TrustedKey]) -> dict[str, Json] | None:
        """Return where the record stands in the register; nothing without both proofs."""
        if len(self.proofs) < len(PROOFS):
            return None
        own = self.proofs["head"].checkpoint
        return {
            "origin": own.origin, "size": own.size,
            "opened": self.proofs["opened"].line.place + 1,
            "head": self.proofs["head"].line.place + 1,
            "checkpoint": own.data.decode(), "cosigned": cosigned(own, trust),
            "kept": self.kept or None,
        }  # fmt: skip

    def caveats(self, place: Json) -> Iterator[str]:
        """Yield what a reader of the verdict would miss."""
        if place:
            yield f"register: line {place['head']} of {place['size']}, other lines not checked"
        else:
            yield "register not checked"
        if self.since and self.kept != "same":
            yield "not compared with the checkpoint that you kept"

    def judge(self, found: "Findings", place: Json) -> list[dict[str, Json]]:
        """Return check 17, which only a record with such proofs has."""
        row = ("unchecked", "the record cannot be read to its end")
        if self.placed:
            said = cosigners(place["cosigned"])
            text = f"opened in line {place['opened']}, latest version in line {place['head']} of "
            row = ("pass", f"{text}{place['size']} of {place['origin']}, {said}")
        return [judge_more(found, REGISTER, row)] if self.given else []


def is_anchored(place: Json, witnesses: int) -> bool:
    """Whether somebody outside saw the checkpoint."""
    if not place:
        return False
    return place["kept"] == "same" or 0 < witnesses <= len(place["cosigned"])


class Kept:
    """The checkpoints that wait until a register has as many lines as they cover (§19)."""

    def __init__(self, kept: Iterable[bytes], since: Checkpoint | None, own: Checkpoint) -> None:
        self.kept, self.since, self.origin = iter(kept), since, own.origin
        self.notes = {own.size: own.data}
        self.broken, self.compared, self.listed, self.said = 0, 0, 0, 0
        self.next = self.read()

    def read(self) -> Checkpoint | None:
        """Return the next that the store kept; those that are none are counted."""
        for data in self.kept:
            checkpoint = read_checkpoint(data)
            if checkpoint:
                return checkpoint
            self.broken += 1
        return None

    def compare(self, edge: "Edge") -> Iterator[Finding]:
        """Compare those that cover as many lines as there are by now."""
        while self.next is not None and self.next.size <= edge.size:
            self.compared += 1
            if self.since and self.next.size == self.since.size:
                self.notes[self.next.size] = self.next.data
            fits = self.next.size == edge.size and self.next.root == edge.root()
            if not fits or self.next.origin != self.origin:
                yield from self.unfit(self.next, edge)
            self.next = self.read()
        if self.since and self.since.size == edge.size:
            if self.since.origin != self.origin:
                yield finding("17.origin", 0, self.since.origin, self.origin)
            elif self.since.root != edge.root():
                root = base64.b64encode(edge.root()).decode()
                note = self.notes.get(edge.size, f"{self.origin}\n{edge.size}\n{root}\n".encode())
                yield finding("17.fork", edge.size, self.since.data.decode(), note.decode())
            self.since = None

    def beyond(self, edge: "Edge") -> Iterator[Finding]:
        """Yield what those show that cover more lines than there are."""
        while self.next is not None:
            yield from self.unfit(self.next, edge)
            self.next = self.read()
        if self.since:
            if self.since.origin != self.origin:
                yield finding("17.origin", 0, self.since.origin, self.origin)
            else:
                yield finding("17.rewound", 0, self.since.size, edge.size)

    def unfit(self, kept: Checkpoint, edge: "Edge") -> Iterator[Finding]:
        """Yield that a checkpoint does not fit; there may be a million."""
        said = kept.data.decode()
        self.listed, self.said = self.listed + 1, self.said + len(said)
        if self.listed <= MOST_LISTED and self.said <= MOST_SAID:
            found = edge.root().hex() if kept.size == edge.size else None
            yield finding("17.kept", kept.size, said, found)


class Edge:
    """The roots of the complete subtrees of a tree that grows, the largest first."""

    def __init__(self) -> None:
        self.size = 0
        self.hashes: list[bytes] = []

    def add(self, leaf: bytes) -> None:
        """Add the hash of a leaf."""
        size = self.size
        while size & 1:
            leaf = node(self.hashes.pop(), leaf)
            size >>= 1
        self.hashes.append(leaf)
        self.size += 1

    def root(self) -> bytes:
        """Return the root over all leaves so far."""
        if not self.hashes:
            return hashlib.sha256().digest()
        *others, found = self.hashes
        for left in reversed(others):
            found = node(left, found)
        return found


IN_MEMORY = 1 << 24  # bytes of heads, until they are on disk


@contextmanager
def temporary() -> Iterator[None]:
    """Say that there is no disk for what is kept on it for a while."""
    try:
        yield
    except OSError as error:
        raise CannotOpen(
            f"no temporary file can be written ({error.strerror}): set TMPDIR to a folder that "
            "has room"
        ) from None


def close_temporary(file: tempfile.SpooledTemporaryFile[bytes]) -> None:
    """Close a temporary file, also one whose rest has no room."""
    with suppress(OSError):
        file.close()


class Heads:
    """What the lines about each record that is asked about name (§20).

    There may be any number about each. So all stand in one file, one after the other, each with
    the place of the one before it about its record. The first head of a record is empty where its
    first line is not that of an opening.
    """

    SIZE = 32 + 1 + 8  # of a head, whether there is one, and a place

    def __init__(self, about: Collection[str] = ()) -> None:
        self.about, self.end = about, 0
        self.places: dict[str, tuple[int, int]] = {}  # of the first head and of the last, by tag
        self.file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - as long as this
        weakref.finalize(self, close_temporary, self.file)

    def add(self, line: RegisterLine) -> None:
        """Add the head of a line."""
        if line.tag in self.about and line.kind in {*OPENINGS, "head"}:
            opened = line.tag in self.places or line.kind in OPENINGS
            for head in (line.head,) if opened else ("", line.head):
                first, last = self.places.get(line.tag, (self.end, 0))
                spelled = bytes([bool(head)]) + bytes.fromhex(head or "00" * 32)
                with temporary():
                    self.file.write(spelled + last.to_bytes(8, "big"))
                self.places[line.tag] = first, self.end
                self.end += self.SIZE

    def read(self, place: int) -> tuple[str, int]:
        """Return the head at a place, and the place of the one before it."""
        with temporary():
            self.file.seek(place)
            row = self.file.read(self.SIZE)
        return row[1:33].hex() if row[0] else "", int.from_bytes(row[33:], "big")

    def ends(self, tag: str) -> list[str]:
        """Return the first head of a record and the last; nothing for one that is not there."""
        return [self.read(place)[0] for place in self.places.get(tag, ())]

    def first_beside(self, tag: str, known: Collection[str]) -> str | None:
        """Return the first head of a record that is not known."""
        found, (first, place) = None, self.places[tag]
        while place > first:
            head, place = self.read(place)
            found = found if head in known else head
        return found


@dataclass
class WholeRegister:
    """What is found of a whole register (§19)."""

    own: Checkpoint | None = None
    size: int = 0  # lines that can be read
    whole: bool = True  # all of them can be
    opened: int = 0  # records
    compared: int = 0  # checkpoints that the store kept
    signed: bool = False
    anchored: bool = False  # somebody outside saw it, or a checkpoint that it extends
    findings: list[Finding] = field(default_factory=list)
    heads: Heads = field(default_factory=Heads)

    @property
    def level(self) -> int | None:
        """The level that it reaches."""
        return None if self.findings else self.signed + (self.signed and self.anchored)

    def compare(self, name: str, lines: list[bytes], result: Json) -> Iterator[Finding]:
        """Compare an export that holds with the lines about its record (§20)."""
        given = result["place"] and read_checkpoint(result["place"]["checkpoint"].encode())
        if given and self.own and compare(given, self.own) != "same":
            yield finding("17.checkpoint", 0, None, name, name, "17.another")
        tag = tag_of(result["debate"])
        ends = self.heads.ends(tag)
        if not ends:
            yield finding("17.unregistered", 0, None, name, name)
            return
        entries = [sha256(line) for line in lines]
        if entries[0] != ends[0]:
            yield finding("17.opened", 0, entries[0], ends[0], name, "17.begins")
        if entries[-1] != ends[1]:
            yield finding("17.superseded", 0, entries[-1], ends[1], name, "17.ends")
        if other := self.heads.first_beside(tag, {*entries, *ends}):
            yield finding("17.replaced", 0, None, other, name)


def verify_register(
    read: Callable[[int], bytes],
    data: bytes,
    trust: list[TrustedKey],
    witnesses: int = 0,
    kept: Iterable[bytes] = (),
    since: Checkpoint | None = None,
    about: Collection[str] = (),
) -> WholeRegister:
    """Check a register, line by line, against a checkpoint over all of it.

    `read` returns the next line with its LF, of at most so many bytes. `kept` are the
    checkpoints that the store kept, in the order of their sizes; `about` are the tags of
    records of which the heads are wanted.
    """
    own = read_checkpoint(data)
    if own is None:
        return WholeRegister(whole=False, findings=[finding("17.signature", 0)])
    waiting, edge = Kept(kept, since, own), Edge()
    found = WholeRegister(own, heads=Heads(about))
    found.findings += waiting.compare(edge)
    while raw := read(258):
        line = read_register_line(raw[:-1])
        if line is None or line.place != edge.size or raw[-1:] != b"\n":
            found.findings.append(finding("17.line", edge.size + 1))
            found.whole = False
            break
        edge.add(hashlib.sha256(b"\0" + line.raw).digest())
        found.opened += line.kind in OPENINGS
        found.heads.add(line)
        found.findings += waiting.compare(edge)
    if found.whole:
        found.findings += waiting.beyond(edge)
    if found.whole and own.size != edge.size:
        found.findings.append(finding("17.size", 0, own.size, edge.size))
    elif found.whole and own.root != edge.root():
        found.findings.append(finding("17.root", 0, own.root.hex(), edge.root().hex()))
    if waiting.broken:
        found.findings.append(finding("17.kept", 0, None, waiting.broken))
    found.size, found.compared = edge.size, waiting.compared
    found.signed = is_signed_by_log(own, trust)
    seen = 0 < witnesses <= len(cosigned(own, trust))
    found.anchored = seen or since is not None  # what it does not extend is a finding
    return found


def split_checkpoints(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Yield the checkpoints that stand one after the other in a file (§20).

    A signature line, after which comes a line that is none, is the last of its checkpoint. Of
    what is too long to be one, no more is kept than shows it.
    """
    parts, size, after, fresh = list[bytes](), 0, False, True
    while raw := read(LONGEST_CHECKPOINT):
        if fresh:
            signature = raw.startswith("\u2014 ".encode())
            if after and not signature:
                yield b"".join(parts)
                parts, size = [], 0
            after = signature
        if size <= LONGEST_CHECKPOINT:
            parts.append(raw)
            size += len(raw)
        fresh = raw.endswith(b"\n")
    if parts:
        yield b"".join(parts)


def is_signed_by_log(checkpoint: Checkpoint, trust: list[TrustedKey]) -> bool:
    """Whether a log key that the reader trusts, at whatever time, signed a checkpoint."""
    for key in trust:
        if key.role == "log" and is_origin_of(key.name, checkpoint.origin):
            for name, key_id, signature in checkpoint.note.signatures:
                known = (name, key_id) == (key.name, key.key_id)
                if known and verifies(key, checkpoint.note.text, signature):
                    return True
    return False


def read_since(path: Path, trust: list[TrustedKey]) -> Checkpoint:
    """Read the checkpoint that the reader kept, which a log key must have signed that they trust.

    It has no date of its own, so no time of the key is looked at.
    """
    try:
        checkpoint = read_checkpoint(read_file(path, LONGEST_CHECKPOINT))
    except OSError as error:
        raise CannotOpen(f"the checkpoint {path} cannot be read: {error}") from None
    if checkpoint is None:
        raise CannotOpen(f"{path} is not a checkpoint of a register")
    if is_signed_by_log(checkpoint, trust):
        return checkpoint
    raise CannotOpen(f"the checkpoint {path} is not signed by a log key that you trust")


# ---------------------------------------------------------------- 18 policy (§15)

_HASH, _MODEL = "[0-9a-f]{64}", "[A-Za-z0-9._:/@+=-]"
_ANY_TEXT, _MODELS = f"{_HASH}|none|any", rf"{_MODEL}{{1,256}}|{_MODEL}{{0,255}}\*"
_COUNT = "[1-9][0-9]{0,15}"
POLICY_TERMS = {  # what a value matches, and whether a term stands once a scope
    "template": (_HASH, False), "schema": (_ANY_TEXT, False), "tool": (_ANY_TEXT, False),
    "persona": (_ANY_TEXT, False), "instructions": (_ANY_TEXT, False),
    "context": (_ANY_TEXT, False), "provider": ("[a-z][a-z0-9_-]{0,63}", False),
    "model": (_MODELS, False), "served": (_MODELS, False),
    "base_url": (f"{_MODEL}{{1,256}}", False),
    "callable": ("any|none", True), "independent": ("family|model", True),
    "max_rounds": (_COUNT, True), "max_calls": (_COUNT, True), "max_tokens": (_COUNT, True),
    "max_cost_micro_usd": (_COUNT, True), "max_seconds": (_COUNT, True),
    "min_challenge_strength": ("[1-9]|10", True), "cited_critique": ("required", True),
    "evidence": ("required", True), "gate_factor": (_COUNT, True),
    "gate_rule": ("downside|any|all", True),
    "require": ("requester|owner|task_type|retention|gate", False),
    "task_type": (f"{_MODEL}{{1,64}}", False),
    "retention": ("[A-Za-z0-9._/@+=-]{1,64}:[1-9][0-9]{0,5}", False),
    "review": ("never|exceptions|always", True), "reviewers": ("[1-9]", True),
    "reviewer_may_be": ("requester|nobody_involved", True), "review_days": (_COUNT, True),
    "redactors": ("[1-3]", True), "signed": ("outcome|hold", False),
    "metric": (r"[A-Za-z0-9._/@+=-]{1,64}:(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{0,5}[1-9])?", False),
}  # fmt: skip
MOST_POLICY_LINES, MOST_NAMED = 1_000, 10  # and the values that a finding says would have done
TEXTS_OF_POLICY = {"template", "schema", "tool", "persona", "instructions", "context"}


@dataclass
class Policing:
    """The comparison of a record with its policy: what it found, and what is gone for it."""

    policy: Policy
    opening: Json
    held: Held
    findings: list[Finding] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)  # the terms whose text is gone
    hashes: dict[str, str | None] = field(default_factory=dict)  # of texts by name

    def values(self, term: str, role: str = "") -> list[str] | None:
        """Return the values of a term for a role of this debate's format."""
        return self.policy.values(term, self.opening["terms"]["format"], role)

    def report(self, place: int, term: str, expected: list[str], found: Json = None) -> None:
        """Note a demand that is not met."""
        check = 10 if term in TEXTS_OF_POLICY else 18
        self.findings.append(finding(f"{check}.{term}", place, expected[:MOST_NAMED], found))

    def among(self, place: int, term: str, role: str, found: str | None) -> None:
        """Compare with the values of a term, of which one may stand for all that begin so."""
        values = self.values(term, role)
        if values is None or (term in TEXTS_OF_POLICY and "any" in values):
            return
        if found is None or not any(
            found == value or (value.endswith("*") and found.startswith(value[:-1]))
            for value in values
        ):
            self.report(place, term, values, found)

    def hash_of(self, name: str) -> str | None:
        """Return the plain SHA-256 of a text; nothing where it is gone."""
        if name not in self.hashes:
            self.hashes[name] = self.held.hash(name) if name in self.held else None
        return self.hashes[name]

    def check_opening(self) -> None:
        """Compare what the opening says by itself."""
        opening = self.opening
        for item in opening["schemas"]:
            self.among(1, "schema", item["role"], item["sha256"])
        for item in opening["tools"]:
            self.among(1, "tool", "", item["sha256"])
        self.among(1, "task_type", "", opening["task_type"])
        classes, kept = self.values("retention"), opening["retention"]
        if classes and kept not in [value.split(":")[0] for value in classes]:
            self.report(1, "retention", classes, kept)
        asked = [
            self.policy.rules.get((scope, "require"), [])
            for scope in ("*", opening["terms"]["format"])
        ]
        for name in sorted(set(asked[0] + asked[1])):
            if opening[name] is None:
                self.report(1, "require", [name])
        if self.values("evidence") and opening["documents"] == 0:
            self.report(1, "evidence", ["required"], 0)
        people = [opening["requester"], opening["owner"]]
        if self.nobody_involved and any(one is None or one["key"] is None for one in people):
            self.report(1, "reviewer_may_be", ["nobody_involved"])

    @property
    def nobody_involved(self) -> bool:
        """Whether neither requester nor owner may review."""
        return self.values("reviewer_may_be") == ["nobody_involved"]

    def check_signature(self, place: int, kind: str, data: Json) -> None:
        """Compare who signed an entry after the close with who may or must."""
        if kind == REDACTED:
            wanted, number = self.values("redactors"), len(data["signatures"])
            if wanted and number < int(wanted[0]):
                self.report(place, "redactors", wanted, number)
            return
        signature = data["signature"]
        if signature is None:
            what = "outcome" if kind == "outcome.noted" else "hold"
            if what in (self.values("signed") or []):
                self.report(place, "signed", [what])
        elif PEOPLE[kind] == REVIEW and self.nobody_involved:
            name = signature["key"].split("+")[0]
            if name in involved(self.opening, "requester", "owner"):
                self.report(place, "reviewer_may_be", ["nobody_involved"], name)

    def check_gate(self) -> None:
        """Compare what a gate was asked, where there is one."""
        gate = self.opening["gate"] or {}
        for name in gate.keys() & {"factor", "rule"}:
            values = self.values(f"gate_{name}")
            if values and values[0] != str(gate[name]):
                self.report(1, f"gate_{name}", values, gate[name])

    def check_limits(self) -> None:
        """Compare the numbers of the opening with those that they must not pass."""
        terms, limits = self.opening["terms"], self.opening["limits"]
        milliseconds = limits["elapsed_ms"]
        for name, number in (
            ("max_rounds", terms.get("max_rounds", 1)),
            ("max_calls", limits["calls"]),
            ("max_tokens", limits["tokens"]),
            ("max_cost_micro_usd", limits["cost_micro_usd"]),
            ("max_seconds", milliseconds and (milliseconds + 999) // 1000),
        ):
            values = self.values(name)
            if values and (number is None or number > int(values[0])):
                self.report(1, name, values, number)
        values, strength = (
            self.values("min_challenge_strength"),
            terms.get("min_challenge_strength"),
        )
        if values and strength is not None and strength < int(values[0]):
            self.report(1, "min_challenge_strength", values, strength)
        if self.values("cited_critique") and terms.get("require_cited_critique") is False:
            self.report(1, "cited_critique", ["required"])

    def check_seat(self, place: int, seat: Json) -> None:
        """Compare what a seat is told, and which model sits in it."""
        role, opening = seat["role"], self.opening
        judging = role in ("judge", "moderator")
        told = [("persona", [seat["persona"]]), ("instructions", self.instructions(seat))]
        told += [] if role == "moderator" else [("context", [opening["context"]])]
        for term, blobs in told:
            values = self.values(term, role) or (["none"] if judging else ["any"])
            hashes = {self.hash_of(blob["sha256"]) if blob else "none" for blob in blobs}
            found = hashes.difference(values)
            if "any" in values or not found:
                continue
            if found == {None} and set(values) != {"none"}:
                self.gone.add(term)
            else:
                self.report(place, term, values)
        provider, _, model = seat["model"].partition(":")
        self.among(place, "provider", role, provider)
        self.among(place, "model", role, model)
        self.among(place, "base_url", role, seat["parameters"]["base_url"] or "default")
        if self.values("callable", role) == ["none"] and seat["model"].startswith(CALLABLE):
            self.report(place, "callable", ["none"], seat["model"])

    def instructions(self, seat: Json) -> list[Json]:
        """Return what a seat can be instructed; nothing among it where a round can be without."""
        rows = seat["instructions"]
        if rows is None:
            return [self.opening["instructions"]]
        late = rows[0]["round"] > FORMATS[self.opening["terms"]["format"]].first_round
        return [*([None] if late else []), *(row["text"] for row in rows)]

    def check_served(self, place: int, role: str, model: Json) -> None:
        """Compare the model that a reply says served it; its name may be a text."""
        named = isinstance(model, dict)
        if named and model["sha256"] not in self.held:
            self.gone |= {"served"} if self.values("served", role) else set()
        else:
            self.among(place, "served", role, self.held.name(model["sha256"]) if named else model)

    def check_independence(self, seats: list[tuple[int, Json]]) -> None:
        """Compare who judges, or is a critic, with those whom they judge."""
        judged: dict[str, dict[str | None, str]] = {"all": {}, "proposers": {}}
        for _, seat in seats:
            groups = ["all"] * (seat["role"] not in ("judge", "moderator", "synthesizer"))
            for group in groups + ["proposers"] * (seat["role"] == "proposer"):
                for shared in (f"model {seat['model']}", f"family {family(seat['model'])}"):
                    judged[group].setdefault(shared, seat["model"])
        groups_of = {"judge": "all", "moderator": "all", "critic": "proposers"}
        for place, seat in seats:
            values, model = self.values("independent", seat["role"]), seat["model"]
            kin: str | None = model if values == ["model"] else family(model)
            if values and kin is not None and seat["role"] in groups_of:
                same = judged[groups_of[seat["role"]]].get(f"{values[0]} {kin}")
                if same is not None:
                    self.report(place, "independent", values, same)


def family(model: str) -> str | None:
    """Return the family of a model, nothing for replies of a script."""
    if model.startswith(CALLABLE):
        return model
    if model.startswith(UNWIRED):
        return None
    provider, _, path = model.partition(":")
    name = path.split("/")[-1].lower()
    if provider == "bedrock":
        name = re.sub(r"^(?:[a-z-]+\.)+", "", name)
    found = re.match(r"[^-0-9.:]+", name)
    return found[0] if found else model


def check_policy(
    policy: Policy, opening: Json, events: Iterable[Json], held: Held
) -> tuple[list[Finding], set[str]]:
    """Compare a record with a policy that can be read; also return the terms that are gone."""
    policing, seats, by_name = Policing(policy, opening, held), list[tuple[int, Json]](), {}
    policing.check_opening()
    policing.check_limits()
    policing.check_gate()
    for place, event in enumerate(events, 1):
        data = event["data"]
        if event["type"] == "debater.registered":
            policing.check_seat(place, data)
            data["instructions"] = None  # no more is said of them, and there may be many
            seats.append((place, data))
            by_name[data["id"]] = data
        elif event["type"] == "call.answered":
            seat = by_name.get(data["call"].rpartition(":")[0].split(".", 2)[-1])
            if seat:
                policing.check_served(place, seat["role"], data["model"])
        elif event["type"] in PEOPLE:
            policing.check_signature(place, event["type"], data)
    policing.check_independence(seats)
    return policing.findings, policing.gone


# ---------------------------------------------------------------- 19 review, 20 notes (§18)

PEOPLE = {  # the entries that may follow a close, and their check
    "review.signed": REVIEW, "outcome.noted": NOTES, "hold.placed": NOTES, "hold.lifted": NOTES,
    "text.redacted": NOTES,
}  # fmt: skip
REDACTED = "text.redacted"
AFTERWARDS = "a review, an outcome, a hold or a redaction, and nothing else"


def take_after(walk: Walk, event: Json) -> None:
    """Take what people say of a closed debate."""
    kind, data = event["type"], event["data"]
    need(kind in PEOPLE and len(walk.after) < MOST_AFTER, AFTERWARDS)
    if kind in ("hold.placed", "hold.lifted"):
        need(walk.held == (kind == "hold.lifted"), AFTERWARDS)
        walk.held = not walk.held
    need(kind != REDACTED or not walk.held, AFTERWARDS)
    check, reported = PEOPLE[kind], len(walk.findings)
    if not head_stands(walk.after, event):
        walk.report(f"{check}.head", event["prev"], data["head"])
    if kind == "review.signed" and bool(data["conditions"]) != (data["outcome"] == "conditions"):
        walk.report("19.conditions", None, data["outcome"])
    if kind == "outcome.noted" and data["condition"] is not None:
        reviews = [each["data"] for each in walk.after if each["type"] == "review.signed"]
        stated = [blob["sha256"] for each in reviews for blob in each["conditions"]]
        if data["condition"] not in stated:
            walk.report("20.condition", None, data["condition"])
    if kind == REDACTED:
        check_redaction(walk, data)
    if (name := forged(event)) is not None:
        code = f"{check}.signature"
        walk.findings.append(finding(code, walk.place, None, name, name))
    if len(walk.findings) > reported:
        walk.faulty.add(len(walk.after))
    walk.after.append(event)


def check_redaction(walk: Walk, data: Json) -> None:
    """Report what else contradicts a redaction: its text, or the order of its signatures."""
    redaction = next(each for each in walk.redactions if each.place == walk.place)
    if redaction.named is not None:
        walk.report("20.blob", redaction.named[0], data["blob"])
    if not sorted_once(data["signatures"]):
        names = ",".join(row["key"].split("+")[0] for row in data["signatures"])
        walk.report("20.signatures", None, names)


def head_stands(before: list[Json], event: Json) -> bool:
    """Whether an entry was signed over the last one, or one after all that its signer has seen.

    That is what its own key signed before, and what was erased before.
    """
    keys, unseen = public_keys(event), [event["prev"]]
    for earlier in reversed(before):
        if earlier["type"] == REDACTED or keys & public_keys(earlier):
            break
        unseen.append(earlier["prev"])
    return event["data"]["head"] in unseen


def signatures_of(event: Json) -> list[Json]:
    """Return the signatures of an entry after the close; a redaction has up to three."""
    data = event["data"]
    if event["type"] == REDACTED:
        return list(data["signatures"])
    return [data["signature"]] if data["signature"] else []


def public_keys(event: Json) -> set[str]:
    """Return the keys that signed an entry, without their names and key ids."""
    return {row["key"].split("+", 2)[2] for row in signatures_of(event)}


def sorted_once(signatures: list[Json]) -> bool:
    """Whether signatures are sorted by key, and no public key signs twice."""
    keys = [row["key"] for row in signatures]
    return keys == sorted(keys) and len({key.split("+", 2)[2] for key in keys}) == len(keys)


def forged(event: Json) -> str | None:
    """Return the name of the first key of an entry whose signature is not over it (§14, §18)."""
    data = {key: row for key, row in event["data"].items() if key[:9] != "signature"}
    message = f"hansard-{event['type']}/v1\n".encode()
    message += canonical(data | {"debate": event["debate"]})
    for row in signatures_of(event):
        if not is_signed(row["key"], row["value"], message):
            return cast(str, row["key"].split("+")[0])
    return None


@cache  # a redaction is asked about before its texts are looked for, and again by the walk
def is_signed(verifier: str, signed: str, message: bytes) -> bool:
    """Whether a signature is over a message, by the key that it names."""
    name, key_id, public = verifier.split("+", 2)
    key, value = strict_base64(public), strict_base64(signed)
    right = hashlib.sha256(name.encode() + b"\n" + key).hexdigest()[:8] == key_id
    y = int.from_bytes(key[1:], "little") & ((1 << 255) - 1)
    if not right or key[0] != 1 or y >= P or y in SMALL_ORDER:
        return False
    return ed25519_verify(key[1:], message, value)


class Redaction(NamedTuple):
    """An entry that says that a text was erased, and what it explains (§18)."""

    place: int
    blob: str
    named: tuple[str | None] | None  # what stands where it says, if that is not the text
    sound: bool  # nothing contradicts it
    counts: bool  # and enough keys that the reader trusts signed it

    def explains(self, signed: bool) -> bool:
        """Whether it is why a text is not there, in a record that trusted keys signed or not."""
        return self.counts or (self.sound and not signed)


def read_redactions(
    lines: Lines, opening: Json, policy: Policy | None, trust: list[TrustedKey]
) -> list[Redaction]:
    """Find which texts the record says were erased."""
    numbered = ((place, event) for place, event in enumerate(lines.events(), 1))
    people = [*islice((row for row in numbered if row[1]["type"] in PEOPLE), MOST_AFTER)]
    wanted: dict[int, set[str]] = {}  # the fields of each entry of which a redaction speaks
    for _, event in people:
        if event["type"] == REDACTED:
            wanted.setdefault(event["data"]["seq"], set()).add(event["data"]["field"])
    there = {
        (place, name): text_at(event["data"], name)
        for place, event in enumerate(lines.events(), 1)
        for name in wanted.get(place, ())
    }
    found: list[Redaction] = []
    erased: set[str] = set()
    for number, (place, event) in enumerate(people):
        data = event["data"]
        if event["type"] != REDACTED:
            continue
        text = there.get((data["seq"], data["field"])) if data["seq"] < place else None
        text = None if text in erased else text
        named = None if text == data["blob"] else (text,)
        sound = head_stands([row[1] for row in people[:number]], event)
        sound = (
            sound and sorted_once(data["signatures"]) and named is None and forged(event) is None
        )
        counts = sound and has_enough(event, opening, policy, trust)
        found.append(Redaction(place, data["blob"], named, sound, counts))
        erased.add(data["blob"])
    return found


def text_at(data: Json, path: str) -> str | None:
    """Return the text that stands at a place in an entry's data, such as `conditions.0`."""
    value = data
    for part in path.split("."):
        if isinstance(value, list) and re.fullmatch("0|[1-9][0-9]{0,5}", part):
            value = value[int(part)] if int(part) < len(value) else None
        else:
            value = value.get(part) if isinstance(value, dict) else None
    named = isinstance(value, dict) and value.keys() == {"sha256"}
    return cast(str, value["sha256"]) if named else None


def has_enough(event: Json, opening: Json, policy: Policy | None, trust: list[TrustedKey]) -> bool:
    """Whether as many trusted keys signed a redaction as the policy asks for, one without it."""
    kind = opening["terms"]["format"] if policy else ""
    wanted = (policy.values("redactors", kind) if policy else None) or ["1"]
    barred, counting = barred_by(policy, opening, kind), 0
    for row in event["data"]["signatures"]:
        name, _, public = row["key"].split("+", 2)
        key = strict_base64(public)[1:]
        names = {name, *(each.name for each in trust if each.public == key)}
        rows = [each for each in trust if (each.name, each.public) == (name, key)]
        stands = any(standing(rows, role, event["at"], event["at"])[0] for role in ERASING)
        counting += stands and not names & barred
    return counting >= int(wanted[0])


ERASING = ("reviewer", "approval")  # the roles that may sign a redaction


def barred_by(policy: Policy | None, opening: Json, kind: str) -> set[str]:
    """Return the names of the keys that may not review, nor sign a redaction."""
    may_be = policy.values("reviewer_may_be", kind) if policy else None
    barred = [] if may_be == ["requester"] else involved(opening, "requester")
    barred += involved(opening, "owner") if may_be == ["nobody_involved"] else []
    return set(barred)


def involved(opening: Json, *roles: str) -> list[str]:
    """Return the names of the keys of these people."""
    return [opening[role]["key"] for role in roles if opening[role]]


def review(walk: Walk, trust: list[TrustedKey]) -> tuple[str, int]:
    """Return the state of the review of a closed debate, and how many reviews count."""
    kind = walk.terms and walk.terms["format"]
    rules = walk.policy.values if walk.policy else lambda *_: None
    barred = barred_by(walk.policy, walk.opening, kind)
    last: dict[str, tuple[int, Json]] = {}  # of each public key, the last review that counts
    noted: dict[str, int] = {}  # conditions that were met, and where last
    counting = 0
    for place, event in enumerate(walk.after):
        data = event["data"]
        if place in walk.faulty or event["type"] == REDACTED or not data["signature"]:
            continue
        name, _, public = data["signature"]["key"].split("+", 2)
        key = strict_base64(public)[1:]
        names = {name, *(row.name for row in trust if row.public == key)}
        rows = [row for row in trust if (row.name, row.public) == (name, key)]
        if names & barred or not standing(rows, "reviewer", event["at"], event["at"])[0]:
            continue
        if event["type"] == "review.signed":
            counting += 1
            last[public] = (place, data)
        elif event["type"] == "outcome.noted":
            noted[data["condition"]] = place
    found = []
    for place, data in last.values():
        met = all(noted.get(blob["sha256"], -1) > place for blob in data["conditions"])
        approves = data["outcome"] == "approved" or (data["outcome"] == "conditions" and met)
        found.append("approved" if approves else data["outcome"])
    when = (rules("review", kind) or ["exceptions"])[0]
    wanted = 0
    held = walk.closed is not None and walk.closed["outcome"] != "failed"
    if held and (when == "always" or (when == "exceptions" and exceptions(walk))):
        wanted = int((rules("reviewers", kind) or ["1"])[0])
    return state_of(found, wanted), counting


def exceptions(walk: Walk) -> list[str]:
    """Return why a debate asks for a review by itself."""
    turns = [turn for turn in walk.turns if turn.step.phase != "neutrality"]
    verdicts = [turn.says for turn in turns if "undeclared" in turn.says]
    last = verdicts[-1] if verdicts else NOTHING
    cited = [row["finding"] for turn in walk.turns if turn.case for row in turn.case["citations"]]
    gate = walk.opening["gate"]
    found = {
        "escalated": walk.decision and walk.decision["decision"] == "escalate",
        "undeclared": last["undeclared"],
        "low_confidence": last["confidence"] == "LOW",
        "truncated": walk.closed["outcome"] == "truncated",
        "against_gate": gate and not gate["advised"],
        "citations": any(each != "verified" for each in cited),
    }
    return [name for name, applies in found.items() if applies]


def state_of(found: list[str], wanted: int) -> str:
    """Return the first state that applies; a verifier reads no clock, so none is overdue."""
    approvals = found.count("approved")
    states = (
        ("disagreement", approvals and "rejected" in found),
        ("remanded", "remanded" in found),
        ("rejected", "rejected" in found),
        ("approved", approvals and approvals >= wanted),
        ("partly", found),
        ("not required", not wanted),
    )
    return next((state for state, applies in states if applies), "waiting")


# ---------------------------------------------------------------- 21 report (§21)

REPORT_HEAD = re.compile(
    r"hansard-report/v1\nsince (?P<since>\S+)\nuntil (?P<until>\S+)\nat (?P<at>\S+)\n"
)
REPORT_LINE = re.compile(  # the numbers stand first
    r"(?:number ([a-z0-9_.]{1,128}) ([1-9][0-9]{0,39})"
    r"|debate ([0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}) ([0-9a-f]{64})"
    r")\n"
)
DAY_MS = 86_400_000


class Report:
    """A signed report, and the exports of a folder counted again."""

    def __init__(self, data: bytes) -> None:
        self.note = read_note(data)
        start = self.note.text[:200].decode("ascii", "replace") if self.note else ""
        head = REPORT_HEAD.match(start)
        self.times = head.groupdict() if head else {}
        self.begins = head.end() if head else 0
        self.sound = head is not None and all(fits(time, "time") for time in self.times.values())
        self.numbers: dict[str, int] = {}
        self.heads: dict[str, str] = {}
        self.counted: Counter[str] = Counter()
        self.found: dict[str, str] = {}  # the heads of the debates that were counted

    def read(self) -> None:
        """Read the rest: once the exports are read, since it may be as large as one of them."""
        if not self.sound or self.note is None:
            return
        text, place, last = self.note.text.decode("ascii", "replace"), self.begins, (0, "")
        for row in REPORT_LINE.finditer(text):
            here = (1, row[1]) if row[1] else (2, row[3])
            if row.start() != place or here <= last:
                break
            if row[1]:
                self.numbers[row[1]] = int(row[2])
            else:
                self.heads[row[3]] = row[4]
            place, last = row.end(), here
        self.sound = place == len(text)

    def add(self, lines: Lines, walk: Walk, stands: str) -> None:
        """Count a record that holds, where it is of the time of the report."""
        opening = next(lines.events())
        debate, at = opening["debate"], opening["at"]
        if not self.sound or debate in self.found:
            return
        if not self.times["since"] <= at < self.times["until"]:
            return
        *_, last = lines.raw()
        self.found[debate] = sha256(last)
        for event in lines.events():
            self.count(event["type"], event["data"])
        if walk.held:
            self.counted["held"] += 1
        if opening["type"] == "gate.answered":
            self.counted["gates"] += 1
        elif walk.closed is None:
            self.counted["open"] += 1
        else:
            self.counted.update(f"exception.{name}" for name in exceptions(walk))
            late = stands == "waiting" and self.is_late(lines, walk)
            self.counted["review." + ("overdue" if late else stands.replace(" ", "_"))] += 1

    def count(self, kind: str, data: Json) -> None:
        """Count what one entry adds."""
        names = {
            "call.started": ["calls"],
            "call.failed": ["calls.failed"],
            "turn.rejected": ["turns.rejected"],
            "turn.forfeited": ["turns.forfeited"],
            "text.redacted": ["redactions"],
        }.get(kind, [])
        if kind == "debate.opened":
            names = ["debates", f"format.{data['terms']['format']}"]
            names += [f"policy.{data['policy'] or 'none'}", *["scripted"] * data["scripted"]]
        elif kind == "decision.reached":
            names = [f"rule.{data['rule']}"]
        elif kind == "debate.closed":
            names = [f"closed.{data['outcome']}"]
        elif kind == "call.answered":
            names = ["calls.unpriced"] * (data["cost_micro_usd"] is None)
            self.counted["tokens.in"] += data["tokens_in"] or 0
            self.counted["tokens.out"] += data["tokens_out"] or 0
        self.counted.update(names)
        if kind in ("call.answered", "call.failed"):
            self.counted["cost_micro_usd"] += data["cost_micro_usd"] or 0

    def is_late(self, lines: Lines, walk: Walk) -> bool:
        """Whether the time for a review that waits was over when the report was made."""
        rules = walk.policy.values if walk.policy else lambda *_: None
        days = rules("review_days", walk.terms["format"])
        closes = (event["at"] for event in lines.events() if event["type"] == "debate.closed")
        past = max(0, (instant(self.times["at"]) - instant(next(closes))) // 1000)
        return days is not None and past > int(days[0]) * DAY_MS

    def compare(self, broken: str | None) -> Iterator[Finding]:
        """Yield what differs from the report."""
        if not self.sound:
            yield finding("21.malformed", 0)
            return
        if broken is not None:
            yield finding("21.signature", 0, None, broken, broken)
        for debate in sorted(self.heads.keys() | self.found.keys()):
            listed, there = self.heads.get(debate), self.found.get(debate)
            if listed != there:
                defect = "superseded" if listed and there else "missing" if listed else "unlisted"
                yield finding(f"21.{defect}", 0, there, listed, debate)
        for name in sorted(self.numbers.keys() | (+self.counted).keys()):
            given, counted = self.numbers.get(name, 0), self.counted[name]
            if given != counted:
                yield finding("21.number", 0, counted, given, name)

    def signing(self, trust: list[TrustedKey], last: str) -> Signing:
        """Say who signed the report; it is dated by itself and by the last entry it covers."""
        if not self.sound or self.note is None:
            return Signing(False, "cannot be read")
        at = self.times["at"]
        return judge_note(self.note, trust, "export", at, max(at, last))

    def evidence(self, signing: Signing) -> str:
        """Say what was counted again."""
        numbers = many(len(+self.counted), "number")
        records = many(len(self.found), "record")
        return f"{numbers} recounted from {records} of the report, {signing.words}"


# ---------------------------------------------------------------- formats (§6 to §9)
#
# Each format is one class below and one row of FORMATS. It states the form of its terms, its
# words and templates, and answers the same questions; Format answers those that most formats
# answer alike.


class Seat(NamedTuple):
    """A seat that a format asks for: its role, its stance and its id, where they are fixed."""

    role: str
    stance: str | None = None
    id: str | None = None


class Format(ABC):
    """What a format says of itself, given a debate's terms."""

    form: Form  # of its terms (check 7)
    roles: str  # the words that it adds to those of all formats (check 7)
    phases: str
    rules: str  # of its decisions
    reasons: str  # of its close
    templates: Mapping[str, str]  # the values that each is filled with, by role in order (§7)
    fewest_options = 0
    first_round = 1
    reserved = RESERVED  # what no seat and no stance is called

    def __init__(self, terms: Json) -> None:
        self.terms = terms

    @abstractmethod
    def seats(self, number: int) -> list[Seat]:
        """Return each seat but a synthesizer's, in order, where there are `number` of them."""

    @abstractmethod
    def schemas(self) -> dict[str, Json]:
        """Return the reply schema of each role, in order (§6)."""

    @abstractmethod
    def schedule(self, walk: Walk) -> Schedule:
        """Yield what is due, up to the decision (§8)."""

    @abstractmethod
    def title(self, turn: Turn) -> str:
        """Return the title under which the transcript shows a turn (§7)."""

    def sound(self) -> bool:
        """Whether the terms' own conditions hold, but for those on options alone."""
        return True

    def derived(self, _number: int) -> dict[str, Json]:
        """Return the terms that follow from the others and the number of seats (§9)."""
        return {}

    def template(self, role: str) -> str:
        """Return the template that a role is asked with."""
        return role

    def view(self, _turn: Turn) -> dict[str, Json]:
        """Return how the transcript shows the reply of a turn, where it is not just quoted."""
        return {}

    def own_order(self, _transcript: Transcript, _step: Step) -> list[Json] | None:
        """Return the parts of the turns for a step that is shown them in an order of its own."""
        return None

    def lost(self, _walk: Walk) -> bool:
        """Whether so many seats are out that only `escalate` is left (§8)."""
        return False

    def read(self, _walk: Walk, _step: Step, why: Rejection | None, _: Json) -> Rejection | None:
        """Return why a reply does not count, given what is wrong with it as any reply."""
        return why

    def could_rule(self, _walk: Walk, _says: Json) -> bool:
        """Whether a verdict whose reply is gone could say this (§10)."""
        return False


# -- consensus (§8.1)


class Consensus(Format):
    """Rounds of four phases, each with a count, until enough votes agree."""

    form = form(
        "format:consensus max_rounds:thousand rule:threshold|majority|unanimity threshold:positive",
        options=["name"],
    )
    roles = "debater"
    phases = "proposal critique revision consensus"
    rules = "threshold_vote majority_vote unanimous_vote max_rounds_exhausted"
    reasons = "votes_reached max_rounds_exhausted"
    templates = filled("options", "debater:max_rounds,options,phase,round,speaker")
    fewest_options = 1
    reserved = frozenset[str]()

    def seats(self, number: int) -> list[Seat]:
        """Return debaters alone."""
        return [Seat("debater")] * max(number, 1)

    def derived(self, number: int) -> dict[str, Json]:
        """Return the threshold of the rules that fix it."""
        fixed = {"majority": number // 2 + 1, "unanimity": number}
        return {"threshold": fixed.get(self.terms["rule"], self.terms["threshold"])}

    def schemas(self) -> dict[str, Json]:
        """Return the schema of a debater: with a vote."""
        vote = one_of(self.terms["options"])
        return {"debater": record({"stance": TEXT, "rationale": TEXT, "vote": vote})}

    def title(self, turn: Turn) -> str:
        """Name the speaker, round and phase."""
        return f"{turn.id}, round {turn.step.round}, {turn.step.phase}"

    def lost(self, walk: Walk) -> bool:
        """Whether fewer are left than must hold one option."""
        return len(still_in(walk)) < int(self.terms["threshold"])

    def schedule(self, walk: Walk) -> Schedule:
        """Let all propose at once, then all speak in turn, with a count after each phase."""
        terms, debaters = self.terms, walk.seated("debater")
        count: Json = None
        for number in range(1, terms["max_rounds"] + 1):
            for phase in ("proposal", "critique", "revision", "consensus"):
                if number == 1 and phase == "proposal":
                    turns = yield [walk.step(number, phase, seat) for seat in debaters]
                else:
                    turns = []
                    for seat in debaters:
                        turns += yield [walk.step(number, phase, seat)]
                if not heard(turns):
                    return None, "nobody_heard"
                count = yield count_votes(terms["options"], turns, terms["threshold"])
                if count["reached"]:
                    rules = {"threshold": "threshold_vote", "majority": "majority_vote"}
                    rule = rules.get(terms["rule"], "unanimous_vote")
                    return by_count(count, rule), "votes_reached"
        return by_count(count, "max_rounds_exhausted"), "max_rounds_exhausted"


# -- judged (§8.2)


class Judged(Format):
    """Rounds in which each side argues, then a judge."""

    form = form(
        "format:judged max_rounds:thousand anonymize_transcript:bool shuffle_for_judge:bool",
        stances=["name"],
    )
    roles = "debater judge"
    phases = "argument verdict"
    rules = "too_few_heard judge_verdict judge_undeclared"
    reasons = "rounds_complete judge_failed"
    templates = filled("stances", "debater:max_rounds,round,stance judge:rounds,stances")

    def __init__(self, terms: Json) -> None:
        super().__init__(terms)
        self.spoken = set[str]()  # the debaters heard so far

    def sound(self) -> bool:
        """Whether there are two stances or more, and none twice."""
        return distinct(self.terms["stances"]) and len(self.terms["stances"]) >= 2

    def seats(self, _number: int) -> list[Seat]:
        """Return a debater for each stance, and the judge."""
        return [*(Seat("debater", stance) for stance in self.terms["stances"]), Seat("judge")]

    def schemas(self) -> dict[str, Json]:
        """Return the schemas: the debaters' replies are free text."""
        winner = {"enum": [*self.terms["stances"], None], "type": ["string", "null"]}
        judge = record({"verdict": TEXT, "winner": winner, "reasoning": TEXT})
        return {"debater": TEXT, "judge": judge}

    def title(self, turn: Turn) -> str:
        """Name the stance and round: the judge does not see who spoke for it."""
        if turn.step.seat["role"] == "judge":
            return "verdict of the judge"
        return f"{turn.step.seat['stance']['label']}, round {turn.step.round}"

    def own_order(self, transcript: Transcript, step: Step) -> list[Json] | None:
        """Show the judge the turns shuffled, or with the speakers' names (§7)."""
        seed, shuffled = transcript.opening["seed"], self.terms["shuffle_for_judge"]
        named = not self.terms["anonymize_transcript"]
        if step.seat["role"] != "judge" or not (shuffled or named):
            return None

        def place(turn: Turn) -> tuple[int, str]:
            number = turn.step.round
            text = f"hansard-shuffle/v1\n{seed}\n{step.name}\n{number}\n{turn.id}"
            return number, sha256(text.encode()) if shuffled else ""

        turns = sorted(heard(transcript.turns), key=place)
        return [part for turn in turns for part in transcript.titled(turn, f", {turn.id}" * named)]

    def read(self, walk: Walk, step: Step, why: Rejection | None, value: Json) -> Rejection | None:
        """Let a winner who is no stance count, the last time or of a judge who cannot be asked."""
        if why is None or why.code != "unknown_option":
            return why
        last = step.ended + 1 >= walk.opening["attempts"]
        tolerated = last or step.seat["model"].startswith("custom:")
        schema = walk.schemas[step.seat["role"]]
        alone = misfit(value | {"winner": None}, schema) is None  # the only defect
        return None if tolerated and alone else why

    def could_rule(self, walk: Walk, says: Json) -> bool:
        """Whether the winner is a debater, or none and declared or not."""
        if says["winner"] is None:
            return nothing_but(says, "undeclared")
        names = [seat["id"] for seat in walk.seated("debater")]
        return says["winner"] in names and nothing_but(says, "winner")

    def lost(self, walk: Walk) -> bool:
        """Whether fewer than two stances have been heard, or still can be."""
        return len(still_in(walk) | self.spoken) < 2

    def schedule(self, walk: Walk) -> Schedule:
        """Let each side argue in each round, and the judge decide."""
        number, spoken = self.terms["max_rounds"], self.spoken
        for each in range(1, number + 1):
            turns = []
            for seat in walk.seated("debater"):
                turns += yield [walk.step(each, "argument", seat)]
                spoken |= {turn.id for turn in heard(turns[-1:])}
            if not heard(turns):
                return None, "nobody_heard"
        if len(spoken) < 2:
            return too_few(), "rounds_complete"
        [verdict] = yield [walk.step(number, "verdict", walk.seated("judge")[0])]
        if not verdict.reply:
            return None, "judge_failed"
        winner = verdict.says["winner"]
        if winner and winner not in spoken:
            return too_few(), "rounds_complete"
        if verdict.says["undeclared"]:
            return decided("undeclared", "judge_undeclared"), "rounds_complete"
        decision = walk.seats[winner]["stance"]["label"] if winner else "synthesis"
        return decided(decision, "judge_verdict"), "rounds_complete"


# -- moderated (§8.3)

CITATIONS = several(0, 10, record({"document": TEXT, "quote": TEXT}))
ARGUMENTS = several(1, 100, record({"argument": TEXT, "citations": CITATIONS}))
NUMBER = whole(1, 100)
MOST_LOOKED_UP = 500  # citations of a reply, divided by the number of proposers (§8.3)
REBUTTAL = record({"objection": NUMBER, "answer": TEXT, "citations": CITATIONS})
CONCESSION = record({"objection": NUMBER, "reason": TEXT})
FIXED = {  # the replies that the terms do not change
    "framer": record({
        "thesis": TEXT, "scope": TEXT, "criteria": several(1, 100, TEXT), "key_evidence": TEXTS,
    }),
    "proposer": record({
        "thesis": TEXT, "supporting_arguments": ARGUMENTS, "anticipated_objections": TEXTS,
    }),
    "critic": record({
        "thesis": TEXT, "counter_arguments": ARGUMENTS, "challenge_strength": whole(1, 10),
    }),
    "rebuttal": record({
        "thesis": TEXT, "rebuttals": several(0, 100, REBUTTAL),
        "concessions": several(0, 100, CONCESSION),
    }),
}  # fmt: skip


class Moderated(Format):
    """A framing, then rounds of propositions, each attacked and defended."""

    form = form(
        "format:moderated max_rounds:three critique:bool neutrality_check:bool "
        "require_critic_retry_below:ten min_challenge_strength:ten require_cited_critique:bool",
        positions=["name"],
    )
    roles = "framer proposer critic rebuttal moderator"
    phases = "framing proposition critique rebuttal moderation neutrality"
    rules = "too_few_heard unchallenged unsupported moderator_synthesis moderator_ranking"
    reasons = "moderator_satisfied max_rounds_exhausted moderator_failed"
    templates = filled(
        "",
        "framer: proposer:position,round critic:position,round critic_again:code,rating "
        "rebuttal:position,round moderator:citations,round "
        "moderator_ranking:citations,positions,round",
    )

    def sound(self) -> bool:
        """Whether the positions are none or several names, and whether somebody may object."""
        names = self.terms["positions"]
        apart = distinct(names) and not set(names) & {"proposer", "critic", "rebuttal"}
        return apart and len(names) != 1 and bool(names or self.terms["critique"])

    def seats(self, _number: int) -> list[Seat]:
        """Return the framer, a proposer for each position, who attacks, and the moderator."""
        attack = [Seat("critic"), Seat("rebuttal")] if self.terms["critique"] else []
        proposers = [Seat("proposer", position) for position in self.terms["positions"] or [None]]
        return [Seat("framer"), *proposers, *attack, Seat("moderator")]

    def schemas(self) -> dict[str, Json]:
        """Return the schemas: the moderator's depends on the positions."""
        positions = self.terms["positions"]
        attacked = ["critic", "rebuttal"] if self.terms["critique"] or not positions else []
        sides = [*(positions or ["proposer"]), *attacked]
        members = {
            "scores": record(dict.fromkeys(sides, whole(1, 10))), "resolved_points": TEXTS,
            "unresolved_points": TEXTS, "recommend_another_round": TRUTH, "synthesis": TEXT,
            "confidence": one_of(["HIGH", "MODERATE", "LOW"]), "explicit_uncertainties": TEXTS,
        }  # fmt: skip
        number = len(positions)
        members |= (
            {"ranking": several(number, number, one_of(positions))}
            if positions
            else {"upholds_proposition": TRUTH}
        )
        return FIXED | {"moderator": record(members)}

    def template(self, role: str) -> str:
        """Return another template for a moderator who ranks positions."""
        return "moderator_ranking" if role == "moderator" and self.terms["positions"] else role

    def title(self, turn: Turn) -> str:
        """Name the phase, the position and the round."""
        phase, position = turn.step.phase.partition("-")[0], turn.step.position
        return f"{f'{phase} {position}' if position else phase}, round {turn.step.round}"

    def view(self, turn: Turn) -> dict[str, Json]:
        """Show the points of a reply, with those that are struck."""
        return {"struck": turn.struck, "view": "points"}

    def own_order(self, transcript: Transcript, step: Step) -> list[Json] | None:
        """Show the neutrality check the turns of each round in reverse (§7)."""
        if step.phase != "neutrality":
            return None
        rank = {"framer": 0, "moderator": 2}
        turns = sorted(  # all but the last moderation, which is the last turn
            heard(transcript.turns)[-2::-1],
            key=lambda turn: (turn.step.round, rank.get(turn.step.seat["role"], 1)),
        )
        return [part for turn in turns for part in transcript.titled(turn)]

    def read(self, walk: Walk, step: Step, why: Rejection | None, value: Json) -> Rejection | None:
        """Reject too many citations, unmade objections, a position twice, what is sent back."""
        role = step.seat["role"]
        if why or role == "synthesizer":  # what it writes need not be an object
            return why
        cited = sum(len(row["citations"]) for row in value.get(ARGUING.get(role), ()))
        if cited > MOST_LOOKED_UP // len(walk.seated("proposer")):
            return Rejection("schema", "citations", "minItems")
        if step.against:
            objections = [row["objection"] for row in value["rebuttals"] + value["concessions"]]
            if max(objections, default=0) > step.against.case["arguments"]:
                return Rejection("unknown_option")
        if role == "moderator" and not distinct(value.get("ranking", [])):
            return Rejection("unknown_option")
        wanted = wanting(walk, step, value.get("challenge_strength"))
        if wanted == "uncited_critique":
            quotes = [each for row in value["counter_arguments"] for each in row["citations"]]
            gone = not all_there(walk, visible(walk, step))
            if gone or any(find(walk, each, step.round) == "verified" for each in quotes):
                return None
        return Rejection(wanted) if wanted else None

    def could_rule(self, walk: Walk, says: Json) -> bool:
        """Whether a ranking is one of the proposers, or there is none and it upholds or not."""
        ranked = bool(self.terms["positions"])
        places = [seat["id"] for seat in walk.seated("proposer")] if ranked else []
        right = sorted(says["ranking"]) == sorted(places) and (says["upholds"] is None) == ranked
        right = right and says["confidence"] is not None and says["another_round"] is not None
        return right and nothing_but(says, *(NOTHING.keys() - {"winner", "undeclared", "choice"}))

    def schedule(self, walk: Walk) -> Schedule:
        """Frame, propose, attack, defend and moderate, while the moderator wants another round."""
        terms, moderator = self.terms, walk.seated("moderator")[0]
        proposers, critics = walk.seated("proposer"), walk.seated("critic")
        moderation: Json = None
        yield [walk.step(1, "framing", walk.seated("framer")[0])]
        for number in range(1, terms["max_rounds"] + 1):
            turns = yield [walk.step(number, "proposition", seat, seat) for seat in proposers]
            if not heard(turns):
                return None, "nobody_heard"
            for turn in heard(turns) if critics else ():
                seat = turn.step.seat
                suffix = f"-{proposers.index(seat) + 1}" if len(proposers) > 1 else ""
                [critique] = yield [walk.step(number, f"critique{suffix}", critics[0], seat)]
                if critique.reply:
                    rebuttal = walk.seated("rebuttal")[0]
                    yield [walk.step(number, f"rebuttal{suffix}", rebuttal, seat, critique)]
            [moderation] = yield [walk.step(number, "moderation", moderator)]
            if not moderation.reply:
                return None, "moderator_failed"
            if not moderation.says["another_round"]:
                break
        if terms["neutrality_check"]:
            yield [walk.step(number, "neutrality", moderator)]
        satisfied = not moderation.says["another_round"]
        reason = "moderator_satisfied" if satisfied else "max_rounds_exhausted"
        return moderator_decision(walk, moderation), reason


def moderator_decision(walk: Walk, moderation: Turn) -> Decision:
    """Decide as the last moderation says, where its position was heard and challenged (§9)."""
    ranking, upholds = moderation.says["ranking"], moderation.says["upholds"]
    first = ranking[0] if ranking else walk.seated("proposer")[0]["id"]
    turns = [turn for turn in heard(walk.turns) if turn.step.about]
    turns = [turn for turn in turns if turn.step.about["id"] == first]
    if not any(turn.step.seat["role"] == "proposer" for turn in turns):
        return too_few()
    critiques = [turn for turn in turns if turn.step.seat["role"] == "critic"]
    if walk.terms["critique"] and not any(map(stands, critiques)):
        return decided("escalate", "unchallenged")
    cases = [turn for turn in turns if turn.step.seat["role"] == "proposer"]
    if (ranking or upholds) and not any(map(stands, cases)):
        return decided("escalate", "unsupported")
    if ranking:
        return decided(walk.seats[first]["stance"]["label"], "moderator_ranking")
    return decided("upheld" if upholds else "not_upheld", "moderator_synthesis")


def stands(turn: Turn) -> bool:
    """Whether an argument of a proposition or a critique is not struck."""
    return not set(turn.struck).issuperset(range(1, turn.case["arguments"] + 1))


# -- panel (§8.4)


class Panel(Format):
    """Rounds in which all draft at once, until they converge; then one way to resolve."""

    form = form(
        "format:panel max_rounds:thousand convergence_ppm:ppm|null "
        "resolution:synthesis|pick|majority|similar fallback:escalate|similar",
        labels=["name"], options=["name"],
    )  # fmt: skip
    roles = "debater judge"
    phases = "draft verdict"
    rules = "too_few_heard judge_pick judge_synthesis majority_vote no_majority most_similar"
    reasons = "converged rounds_complete judge_failed"
    first_round = 0
    templates = filled(
        "",
        "debater:last_round,round,speaker chooser:last_round,options,round,speaker judge: "
        "judge_choosing:options judge_picking:labels",
    )

    def sound(self) -> bool:
        """Whether there are two labels or more, none twice, and none of them an option."""
        names = self.terms["labels"]
        apart = not set(self.terms["options"]) & {"synthesis", *names}
        return distinct(names) and len(names) >= 2 and apart

    def seats(self, _number: int) -> list[Seat]:
        """Return the debaters that the labels name, and a judge where one resolves."""
        judge = [Seat("judge")] if self.terms["resolution"] in {"synthesis", "pick"} else []
        return [Seat("debater", id=label) for label in self.terms["labels"]] + judge

    def schemas(self) -> dict[str, Json]:
        """Return the schemas: of free texts, of choices, or of a pick."""
        answer = {"answer": TEXT}
        if self.terms["options"]:
            answer["choice"] = one_of(self.terms["options"])
        debater = record(answer) if self.terms["options"] else TEXT
        picks = self.terms["resolution"] == "pick"
        judge = record(
            ({"winner": one_of(self.terms["labels"])} if picks else answer)
            | {"justification": TEXT}
        )
        return {"debater": debater, "judge": judge}

    def template(self, role: str) -> str:
        """Return other templates for who chooses, and for a judge who picks."""
        if role == "judge" and self.terms["resolution"] == "pick":
            return "judge_picking"
        choosing = (
            {"debater": "chooser", "judge": "judge_choosing"} if self.terms["options"] else {}
        )
        return choosing.get(role, role)

    def title(self, turn: Turn) -> str:
        """Name the speaker and round."""
        judge = turn.step.seat["role"] == "judge"
        return "verdict of the judge" if judge else f"{turn.id}, round {turn.step.round}"

    def could_rule(self, _walk: Walk, says: Json) -> bool:
        """Whether the winner is a label, or the choice an option where there are options."""
        if self.terms["resolution"] == "pick":
            return says["winner"] in self.terms["labels"] and nothing_but(says, "winner")
        choices = self.terms["options"] or [None]
        return says["choice"] in choices and nothing_but(says, "choice")

    def lost(self, walk: Walk) -> bool:
        """Whether too few are left for two drafts, or for the majority that all depends on."""
        counted = (self.terms["resolution"], self.terms["fallback"]) == ("majority", "escalate")
        return len(still_in(walk)) < (len(self.terms["labels"]) // 2 + 1 if counted else 2)

    def schedule(self, walk: Walk) -> Schedule:  # noqa: C901 - what comes first decides
        """Let all draft until they converge or the rounds are over, and resolve."""
        terms, debaters = self.terms, walk.seated("debater")
        similarity: Json = None
        for number in range(terms["max_rounds"] + 1):
            turns = yield [walk.step(number, "draft", seat) for seat in debaters]
            drafts = heard(turns)
            if not drafts:
                return None, "nobody_heard"
            if terms["convergence_ppm"] is not None:
                similarity = yield measure(walk, number, drafts)
                if similarity["converged"]:
                    break
        converged = similarity is not None and similarity["converged"]
        reason = "converged" if converged else "rounds_complete"
        if len(drafts) < 2:
            return too_few(), reason
        for judge in walk.seated("judge"):
            [verdict] = yield [walk.step(number, "verdict", judge)]
            return judge_decision(walk, verdict), reason if verdict.reply else "judge_failed"
        if terms["resolution"] == "majority" and (terms["options"] or not converged):
            threshold = len(debaters) // 2 + 1
            by_options = count_votes(terms["options"], turns, threshold)
            count = yield by_options if terms["options"] else count_answers(walk, turns, threshold)
            if count["reached"]:
                return by_count(count, "majority_vote"), reason
            if terms["fallback"] == "escalate":
                return decided("escalate", "no_majority", votes=0, threshold=threshold), reason
        if similarity is None or similarity["measure"] != "words":
            similarity = yield measure(walk, number, drafts, last=True)
        scores = {turn.id: 0 for turn in drafts}
        for row in similarity["pairs"]:
            scores[row["one"]] += row["ppm"]
            scores[row["other"]] += row["ppm"]
        best = max(scores, key=scores.__getitem__)  # the first of those with the highest score
        return decided(best, "most_similar", score_ppm=scores[best]), reason


def judge_decision(walk: Walk, verdict: Turn) -> Decision | None:
    """Decide as the judge of a panel says; nothing where the judge said nothing."""
    says, picks = verdict.says, walk.terms["resolution"] == "pick"
    if not verdict.reply:
        return None
    if picks and says["winner"] not in {turn.id for turn in heard(walk.turns)}:
        return too_few()
    decision = says["winner"] or says["choice"] or "synthesis"
    return decided(decision, "judge_pick" if picks else "judge_synthesis")


# -- baseline (§8.5)


class Baseline(Format):
    """Answers of one seat to one prompt, all at once."""

    form = form("format:baseline draws:ninety_nine max_rounds:=1", options=["name"])
    roles = "debater"
    phases = "draw"
    rules = "plurality_vote no_plurality first_draw"
    reasons = "rounds_complete"
    templates = filled("", "debater: chooser:options")

    def seats(self, _number: int) -> list[Seat]:
        """Return the one debater."""
        return [Seat("debater")]

    def schemas(self) -> dict[str, Json]:
        """Return the schema of a free text, or of a choice."""
        options = self.terms["options"]
        return {"debater": record({"answer": TEXT, "choice": one_of(options)}) if options else TEXT}

    def template(self, role: str) -> str:
        """Return another template for who chooses."""
        return "chooser" if role == "debater" and self.terms["options"] else role

    def title(self, turn: Turn) -> str:
        """Name the draw."""
        return f"draw {turn.step.phase.partition('-')[2]}"

    def schedule(self, walk: Walk) -> Schedule:
        """Ask for all draws, and take the most frequent answer or the first."""
        [seat] = walk.seated("debater")
        numbers, options = range(1, self.terms["draws"] + 1), self.terms["options"]
        turns = yield [walk.step(1, f"draw-{number}", seat) for number in numbers]
        if not heard(turns):
            return None, "nobody_heard"
        if not options:
            return decided(seat["id"], "first_draw"), "rounds_complete"
        votes = Counter(turn.says["vote"] for turn in heard(turns))
        second = sorted((votes[option] for option in options), reverse=True)[1:2]
        kind, check, fields = count_votes(options, turns, sum(second) + 1)
        count = yield Due(kind, check, cast(dict[str, Json], fields) | {"phase": "draw"})
        if count["reached"]:
            return by_count(count, "plurality_vote"), "rounds_complete"
        none = decided("escalate", "no_plurality", votes=0, threshold=count["threshold"])
        return none, "rounds_complete"


FORMATS: dict[str, type[Format]] = {
    "baseline": Baseline,
    "consensus": Consensus,
    "judged": Judged,
    "moderated": Moderated,
    "panel": Panel,
}


# ---------------------------------------------------------------- result (§10, §16)

ALONE = "not cosigned by a witness that you trust"
RESTING = {  # the checks that rest on texts of a kind, and are unchecked where one is gone
    "replies": {12, 13, 14, 16}, "documents": {12, 13, 16}, "answer": {9},
}  # fmt: skip
Unchecked = dict[int, str]  # why, by check
VERDICTS = {  # by the level that is reached
    None: "ALTERED", 0: "SELF-CONSISTENT, SIGNER UNKNOWN", 1: "INTACT", 2: "INTACT, ANCHORED",
}  # fmt: skip


def verify(
    files: Texts,
    trust: list[TrustedKey],
    revoked: Revoked | None = None,
    witnesses: int = 0,
    since: Checkpoint | None = None,
    report: Report | None = None,
) -> dict[str, Json]:
    """Do every check but that of the container on the files of an export.

    What holds is counted for a `report`.
    """
    note, page_note = (read_note(files.get(name, b"")) for name in ("SHA256SUMS", PAGE_NOTE))
    found, register = Findings(), Register(files, since)
    manifest, listed, withheld = check_manifest(files, note)
    found.add([*manifest, *check_page(files, page_note)])
    lines, held = Lines(files["events.jsonl"]), Held(folder(files, "blobs"))
    found.add(read_lines(lines))
    opening = next(lines.events(), {"type": None, "at": None, "debate": None})
    opened = opening["data"] if opening["type"] == "debate.opened" else None
    begins = opened or opening["type"] == "gate.answered"
    policies, policy = folder(files, "policies"), None
    notes: list[Signed] = [("manifest", "export", note, None)]
    notes += [("page", "export", page_note, None)] if files.keys() & {PAGE, PAGE_NOTE} else []
    if opened and opened["policy"] is not None:
        policy = read_policy(opened["policy"], policies)
        notes.append(("policy", "approval", policy.note if policy else None, None))
    found.add(register.check(lines, opening if begins else None))
    notes += register.notes()
    at, last = (opening["at"], lines.last["at"]) if begins else (None, None)
    times = [(revoked or {}).get(name) for name in policy.names] if policy else []
    ended = any(time is not None and at is not None and time <= at for time in times)
    broken, signed, signers = check_signatures(notes, trust, at, last, ended)
    found.add(broken)
    found.add(check_chain(lines))
    kept_back = {name.removeprefix("blobs/") for name in withheld if name.startswith("blobs/")}
    erased = read_redactions(lines, opening["data"], policy, trust) if begins else []
    walk = Walk(held, policy, redactions=erased)
    found.add(check_blobs(lines, held, kept_back, erased, signed))
    if lines.whole and lines.read:
        found.add(walk.walk(lines.events()))
        naming = opened or (NO_TEMPLATES if begins else None)
        found.add(check_templates(naming, folder(files, "templates"), policies) if naming else ())
    gone: set[str] = set()
    if policy and lines.whole:
        breaches, gone = check_policy(policy, opened, lines.events(), held)
        found.add(breaches)
    findings, counted = found.listed, held.counted
    findings.sort(key=lambda finding: (finding.seq, finding.check, finding.code))
    evidence = evidence_of_files(files, listed, len(withheld), counted) | {3: signers}
    unchecked: Unchecked = {} if signed else {3: signers}
    evidence |= evidence_of(lines, opening["at"]) | (evidence_of_walk(walk) if walk.ended else {})
    if gone:
        unchecked[10] = f"gone, so not compared with the policy: {', '.join(sorted(gone))}"
    stands, counting = review(walk, trust) if walk.ended and walk.shut else ("", 0)
    place = register.place(trust)
    caveats = caveats_of(walk, counted, None if findings else register.caveats(place), stands)
    level = None if findings else signed + (signed and is_anchored(place, witnesses))
    if report and level is not None:
        report.add(lines, walk, stands)
    return {
        "debate": opening["debate"], "entries": lines.total, "open": not walk.shut,
        "level": level, "verdict": VERDICTS[level],
        "caveats": [*caveats], "texts": counted,
        "checks": judge(found, evidence, unchecked_of_walk(walk, lines) | unchecked)
        + register.judge(found, place)
        + judge_policy(found, opened, policy if lines.whole else None)
        + judge_people(found, walk, lines, stands, counting),
        "findings": [finding._asdict() for finding in findings], "place": place,
    }  # fmt: skip


def refused(finding: Finding) -> dict[str, Json]:
    """Return the result of a container that was refused: nothing else is looked at."""
    why = dict.fromkeys(range(2, len(NAMES) + 1), "not reached: the container was refused")
    found = Findings()
    found.add([finding])
    return {
        "debate": None, "entries": 0, "open": True, "level": None, "verdict": VERDICTS[None],
        "caveats": [],
        "texts": dict.fromkeys(
            ("named", "present", "withheld", "erased", "missing", "damaged"), 0
        ),
        "checks": judge(found, {}, why), "findings": [finding._asdict()],
        "place": None,
    }  # fmt: skip


def folder(files: Texts, name: str) -> dict[str, bytes]:
    """Return the files of one folder of the export, by their hashes."""
    prefix = f"{name}/"
    return {path.removeprefix(prefix): files[path] for path in files if path.startswith(prefix)}


def many(number: int, noun: str) -> str:
    """Return a number of things."""
    plural = {"entry": "entries", "reply": "replies"}.get(noun, f"{noun}s")
    return f"{number} {noun if number == 1 else plural}"


def evidence_of_files(
    files: Texts, listed: int, withheld: int, counted: Mapping[str, int]
) -> dict[int, str]:
    """Say what checks 1, 2 and 8 looked at."""
    more = f", {withheld} withheld" if withheld else ""
    partly = counted["present"] < counted["named"]
    recorded = "; those present are as recorded" if partly else ", each as recorded"
    bare = "; no page" * (not files.keys() & {PAGE, PAGE_NOTE})
    return {
        1: f"{many(len(files), 'file')}, all of which belong in an export{bare}",
        2: f"{many(listed, 'file')} as listed{more}",
        8: texts_in_words(counted) + recorded,
    }


def caveats_of(
    walk: Walk, counted: Mapping[str, int], registered: Iterable[str] | None, stands: str
) -> Iterator[str]:
    """Yield what a reader of the verdict would miss.

    `registered` is what the register adds, or None where a check failed.
    """
    if registered is not None and not walk.shut:
        yield "open: a longer version may exist"
    if counted["present"] < counted["named"]:
        yield texts_in_words(counted)
    if walk.gone_turns:
        yield f"{walk.gone_turns} of {many(len(walk.turns), 'turn')} unchecked"
    if registered is not None:
        yield from registered
        if stands not in ("", "approved", "not required"):
            yield f"review: {stands}"


def evidence_of(lines: Lines, first: str | None) -> dict[int, str]:
    """Say what checks 4 to 7 looked at; `first` is when the record begins."""
    read = f"{lines.read} of {many(lines.total, 'entry')} read"
    times = "there are no times to compare"
    if lines.last:
        times = f"times are in order, {first} to {lines.last['at']}"
    return {
        4: f"{read}, each spelled canonically",
        5: f"{read}, each linked to the one before it",
        6: times,
        7: f"{read}, each of a known type and form",
    }


def evidence_of_walk(walk: Walk) -> dict[int, str]:
    """Say what checks 9 to 16 looked at in a record that was followed to its end."""
    seen, started = walk.seen, walk.seen["call.started"]
    ended = seen["call.answered"] + seen["call.failed"]
    unfit = "; whether the synthesis fits its schema is not checked"
    cited = [row["finding"] for turn in walk.turns if turn.case for row in turn.case["citations"]]
    compared = many(seen["similarity.measured"], "comparison")
    return {
        9: f"{many(len(walk.turns), 'turn')} and {many(started, 'call')}, "
        "each due when it was recorded",
        10: "templates, schemas, tools and policy are as the opening names them",
        11: f"{many(started, 'prompt')} recomputed",
        12: f"{many(seen['call.answered'], 'reply')} looked at again, "
        f"{seen['turn.rejected']} rejected" + unfit * bool(seen["synthesis.recorded"]),
        13: f"{many(len(cited), 'citation')} looked up again, {cited.count('verified')} found",
        14: f"{many(seen['votes.counted'], 'count')} and {compared} recomputed",
        15: f"costs of {many(ended, 'call')} recomputed; no call could exceed a ceiling",
        16: evidence_of_outcome(walk),
    }


def evidence_of_outcome(walk: Walk) -> str:
    """Say how the debate ended."""
    if walk.shut and not walk.closed:
        return "only the gate was asked: there is no decision to check"
    rows = []
    if walk.decision:
        rows.append(f"{walk.decision['decision']} by {walk.decision['rule']}")
    if walk.closed and walk.closed["outcome"] != "complete":
        rows.append(f"{walk.closed['outcome']}: {walk.closed['reason']}")
    if not rows:
        return "the debate is still open: there is no decision to check"
    return f"{'; '.join(rows)}, recomputed"


def unreached(walk: Walk, lines: Lines) -> str:
    """Say how far the walk came."""
    entries = many(lines.total, "entry")
    return f"not reached: only {walk.followed} of {entries} could be followed"


def unchecked_of_walk(walk: Walk, lines: Lines) -> Unchecked:
    """Return which checks rest on what is gone or was not reached, and why."""
    if not walk.ended:
        return dict.fromkeys(WALKED, unreached(walk, lines))
    rest = "gone: what rests on"
    found: Unchecked = {}
    if walk.gone_answer:
        why = "the answer that the gate rests on is gone: what it says is taken as recorded"
        found |= dict.fromkeys(RESTING["answer"], why)
    if walk.gone_documents:
        why = f"a document is {rest} it is taken as recorded"
        found |= dict.fromkeys(RESTING["documents"], why)
    if walk.gone_replies:
        why = f"{many(walk.gone_replies, 'reply')} {rest} them is taken as recorded"
        found |= dict.fromkeys(RESTING["replies"], why)
    return found


class Findings:
    """The findings, of each check as many as are listed, and how many there are."""

    def __init__(self) -> None:
        self.listed: list[Finding] = []
        self.counts: Counter[int] = Counter()
        self.said: Counter[int] = Counter()  # bytes of the evidence that is listed of each check

    def add(self, findings: Iterable[Finding]) -> None:
        """Add findings as they are found."""
        for each in findings:
            check = each.check
            self.counts[check] += 1
            if self.counts[check] <= MOST_LISTED and self.said[check] <= MOST_EVIDENCE:
                self.listed.append(each)
                evidence = [each.expected, each.found]
                said = json.dumps(evidence, ensure_ascii=False, separators=(",", ":"))
                self.said[check] += len(said.encode(errors="surrogatepass"))


def judge(
    found: Findings, evidence: Mapping[int, str], unchecked: Unchecked
) -> list[dict[str, Json]]:
    """Give each check its status: what has findings fails, whatever else it is."""
    checks = []
    for number, name in enumerate(NAMES, 1):
        told = next((finding for finding in found.listed if finding.check == number), None)
        status = "fail" if told else "unchecked" if number in unchecked else "pass"
        text = (
            where(told, found.counts[number]) if told else unchecked.get(number) or evidence[number]
        )
        checks.append({"number": number, "name": name, "status": status, "evidence": text})
    return checks


def judge_policy(found: Findings, opened: Json, policy: Policy | None) -> list[dict[str, Json]]:
    """Return check 18, which only a record that names a policy has."""
    if not opened or opened["policy"] is None:
        return []
    row = ("unchecked", "the policy or the record cannot be read")
    if policy:
        lines = many(policy.lines, "line")
        row = ("pass", f"opening, seats and served models are what the policy allows in {lines}")
    return [judge_more(found, POLICY, row)]


def judge_more(
    found: Findings, number: int, row: tuple[str, str], place: str = "entry"
) -> dict[str, Json]:
    """Return a check that only some records have: as `row` says, unless it fails."""
    told = next((finding for finding in found.listed if finding.check == number), None)
    status, text = ("fail", where(told, found.counts[number], place)) if told else row
    return {"number": number, "name": MORE[number], "status": status, "evidence": text}


def judge_people(
    found: Findings, walk: Walk, lines: Lines, stands: str, counting: int
) -> list[dict[str, Json]]:
    """Return checks 19 and 20, each of a record that has what it looks at."""
    said = [(event["type"], bool(signatures_of(event))) for event in walk.after]
    if not walk.ended:  # there may be more of them than the walk came to
        events = (event for event in lines.events() if event["type"] in PEOPLE)
        said = [(event["type"], bool(signatures_of(event))) for event in events]
    reviews = [signed for kind, signed in said if PEOPLE[kind] == REVIEW]
    notes = [signed for kind, signed in said if PEOPLE[kind] == NOTES]
    erasing = len([kind for kind, _ in said if kind == REDACTED])
    erased = sum(each.counts for each in walk.redactions)
    rows = []
    for number, entries in ((REVIEW, reviews), (NOTES, notes)):
        status = "pass"
        text = f"{many(len(notes), 'note')} after the end, "
        text += f"{sum(notes)} of them signed"
        if erasing:
            text += f"; {many(erasing, 'redaction')}, {erased} by keys that you trust and that "
            text += "are enough"
            status = "pass" if erased == erasing else "unchecked"
        if number == REVIEW:
            status = "pass" if counting == len(reviews) else "unchecked"
            text = f"{many(len(reviews), 'review')}, {counting} by a trusted reviewer "
            text += f"who is not involved: {stands}"
        if not walk.ended:
            status, text = "unchecked", unreached(walk, lines)
        if entries:
            rows.append(judge_more(found, number, (status, text)))
    return rows


def where(first: Finding, count: int, place: str = "entry") -> str:
    """Return what a check found first, where, and how many more findings it has."""
    places = [f"{place} {first.seq}"] if first.seq else []
    places += [f"{count - 1} more"] if count > 1 else []
    return f"{first.message} ({'; '.join(places)})" if places else first.message


# ---------------------------------------------------------------- many (§20)

MOST_IN_FOLDER = 100_000  # files of a folder of exports
LARGEST_BESIDE = 2**33  # bytes of one that is no export
EXPORT_NAME = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.zip"
)
OF_REGISTER = ("checkpoint", "checkpoints", "register.jsonl")  # all three, or none
IN_LIST = re.compile(rf"{EXPORT_NAME.pattern}|VERIFY\.md|{'|'.join(map(re.escape, OF_REGISTER))}")


def names_in(folder: Path) -> dict[str, bool]:
    """Return the names in a folder, and whether each is a regular file; no more than tell."""
    try:
        with os.scandir(folder) as entries:
            found = islice(entries, MOST_IN_FOLDER + 2)
            return {entry.name: entry.is_file(follow_symlinks=False) for entry in found}
    except OSError as error:
        raise CannotOpen(f"{folder} cannot be opened: {error}") from None


def read_own(path: Path, most: int = LARGEST_EXPORT) -> bytes:
    """Return at most one byte more than `most` of a file that is no link."""
    try:
        return read_file(path, most, follow=False)
    except OSError as error:
        raise CannotOpen(f"{path} cannot be opened: {error}") from None


def holds_exports(path: Path) -> bool:
    """Whether a path leads to a folder of exports, and not to one export."""
    try:
        if not path.is_dir():
            return False
    except (OSError, ValueError):
        return False
    names = names_in(path)
    sums = read_own(path / "SHA256SUMS", LONGEST_NOTE) if names.get("SHA256SUMS") else b""
    return "events.jsonl" not in names and (
        any(map(EXPORT_NAME.fullmatch, names)) or b".zip\n" in sums
    )


def read_list(text: bytes) -> dict[str, str] | None:
    """Return the sums of a folder's list by name, or nothing where it is malformed."""
    sums: dict[str, str] = {}
    for line in text.decode("ascii", "replace").split("\n")[:-1]:
        digest, name = line[:64], line[66:]
        fits_ = re.fullmatch("[0-9a-f]{64}", digest) and line[64:66] == "  "
        if not fits_ or not IN_LIST.fullmatch(name):
            return None
        sums[name] = digest
    again = "".join(f"{sums[name]}  {name}\n" for name in sorted(sums))
    return sums if again.encode() == text else None


class Hashed:
    """A file that is read once, in parts, and hashed meanwhile."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.hash = file, hashlib.sha256()

    def readline(self, most: int) -> bytes:
        """Return the next line, or as much of it."""
        return self.fed(self.file.readline(most))

    def read(self, most: int) -> bytes:
        """Return at most so many bytes."""
        return self.fed(self.file.read(most))

    def fed(self, data: bytes) -> bytes:
        """Hash what was read."""
        self.hash.update(data)
        return data

    def digest(self) -> str:
        """Read what is left, and return the SHA-256 of all."""
        while self.read(65_536):
            pass
        return self.hash.hexdigest()


class Many:
    """What is found of the exports of a folder, of which only names are kept."""

    def __init__(
        self,
        folder: Path,
        trust: tuple[list[TrustedKey], Revoked, int],
        since: Checkpoint | None,
        report: Report | None = None,
    ) -> None:
        self.folder, self.trust, self.since = folder, trust, since
        self.report = report
        self.found = Findings()
        self.counts: Counter[str] = Counter()
        self.levels: set[int] = set()
        self.times = ("", "")  # the latest opening, and the latest last entry
        self.with_caveats = self.registered = 0
        names = names_in(folder)
        if len(names) > MOST_IN_FOLDER + 1:
            raise CannotOpen(f"{folder} holds more than {MOST_IN_FOLDER} files")
        listed = sorted(name for name in names if names[name] and IN_LIST.fullmatch(name))
        self.exports = list(filter(EXPORT_NAME.fullmatch, listed))
        others = [name for name in listed if not EXPORT_NAME.fullmatch(name)]
        regular = names.get("SHA256SUMS", False)
        sums = read_own(folder / "SHA256SUMS", LONGEST_NOTE) if regular else None
        strange = names.keys() - set(listed) - ({"SHA256SUMS"} if regular else set())
        self.found.add(finding("1.name", 0, None, spelled(name)) for name in sorted(strange))
        self.note = read_note(sums) if sums is not None else None
        self.listed = read_list(self.note.text) if self.note else None
        self.register: WholeRegister | None = None
        hashes = self.read_others(others)
        self.found.add(self.compare(sums is not None, set(listed), hashes))
        for name in OF_REGISTER if set(others) & set(OF_REGISTER) else ():
            if name not in others:
                self.found.add([finding("17.missing", 0, name, None, name, "17.file")])
        self.found.add(self.register.findings if self.register else ())

    def read_others(self, names: list[str]) -> dict[str, str]:
        """Hash what is no export; check the register meanwhile, where all of it is there."""
        with ExitStack() as stack:
            try:
                files = {
                    name: Hashed(stack.enter_context(opened(self.folder / name, follow=False)))
                    for name in names
                }
                for name, each in files.items():
                    if os.fstat(each.file.fileno()).st_size > LARGEST_BESIDE:
                        raise CannotOpen(
                            f"{self.folder / name} is larger than {LARGEST_BESIDE} bytes"
                        )
                if set(OF_REGISTER) <= set(names):
                    checkpoint, checkpoints, lines = (files[name] for name in OF_REGISTER)
                    self.register = verify_register(
                        lines.readline,
                        checkpoint.read(LONGEST_CHECKPOINT + 1),
                        self.trust[0],
                        self.trust[2],
                        split_checkpoints(checkpoints.readline),
                        self.since,
                        {tag_of(name.removesuffix(".zip")) for name in self.exports},
                    )
                return {name: file.digest() for name, file in files.items()}
            except OSError as error:
                raise CannotOpen(f"{self.folder} cannot be read: {error}") from None

    def compare(self, there: bool, names: set[str], hashes: dict[str, str]) -> Iterator[Finding]:
        """Compare the list with what lies in the folder; the exports are hashed later."""
        if self.listed is None:
            yield finding("2.malformed" if there else "2.missing", 0)
            return
        for name in sorted(self.listed.keys() - names):
            yield finding("2.absent", 0, name, None, name)
        for name in sorted(names - self.listed.keys()):
            yield finding("2.unlisted", 0, None, name, name)
        for name, digest in hashes.items():
            yield from self.compare_hash(name, digest)

    def compare_hash(self, name: str, digest: str) -> Iterator[Finding]:
        """Compare a file's hash with its line, if it has one."""
        expected = (self.listed or {}).get(name)
        if expected is not None and digest != expected:
            yield finding("2.hash", 0, expected, digest, name)

    def verify(self, name: str) -> dict[str, Json]:
        """Verify one export, and return its row."""
        path = self.folder / name
        try:
            data = read_own(path)
            self.found.add(self.compare_hash(name, sha256(data)))
            try:
                files = files_of(path, data)
                del data  # nobody needs the zip beside its files
                require_entries(files)
                result = verify(files, *self.trust, report=self.report)
            except Refused as reason:
                files, result = {}, refused(reason.finding)
        except CannotOpen as error:
            self.counts["ALTERED"] += 1
            self.found.add([finding("1.export", 0, None, name, name)])
            return {"name": name, "error": str(error), "level": None, "result": None}
        level = result["level"]
        self.with_caveats += not all(row.startswith("register") for row in result["caveats"])
        if level is None:
            self.found.add([finding("1.record", 0, None, name, name)])
        else:
            lines = files["events.jsonl"].removesuffix(b"\n").split(b"\n")
            level = self.at_register(name, lines, result)
            self.levels.add(level)
            times = (json.loads(line)["at"] for line in (lines[0], lines[-1]))
            self.times = cast(tuple[str, str], tuple(map(max, self.times, times)))
            if name != f"{result['debate']}.zip":
                self.found.add([finding("1.debate", 0, f"{result['debate']}.zip", name, name)])
        self.counts[VERDICTS[level]] += 1
        return {"name": name, "error": None, "level": level, "result": result}

    def at_register(self, name: str, lines: list[bytes], result: Json) -> int:
        """Compare an export that holds with the register; return the level that it reaches so.

        Only the one that bears its debate's name: of others a folder may hold any number.
        """
        level, register = int(result["level"]), self.register
        if not register or not register.whole or name != f"{result['debate']}.zip":
            return level
        found = list(register.compare(name, lines, result))
        self.found.add(found)
        self.registered += bool(register.heads.ends(tag_of(result["debate"])))
        return 2 if level == 1 and register.level == 2 and not found else level

    def result(self) -> dict[str, Json]:
        """Return what is found of all of them."""
        notes: list[Signed] = [("manifest", "export", self.note, None)]
        if self.register:
            own = self.register.own
            note, origin = (own.note, own.origin) if own else (None, None)
            notes.append(("checkpoint", "log", note, origin))
        first, last = (time or None for time in self.times)
        broken, signed, signers = check_signatures(notes, self.trust[0], first, last, ended=False)
        self.found.add(broken)
        if self.report:
            self.report.read()
        reported = (
            self.report.signing(self.trust[0], self.times[1]) if self.report else Signing(True, "")
        )
        if self.report:
            self.found.add(self.report.compare(reported.broken))
        findings = sorted(
            self.found.listed, key=lambda row: (row.seq, row.check, row.code, row.message)
        )
        self.found.listed = findings
        records = many(self.counts.total(), "record")
        evidence = {
            1: f"{records}, each of which holds",
            2: f"{many(len(self.listed or ()), 'file')} as listed",
            3: signers,
        }
        rest = dict.fromkeys(range(4, len(NAMES) + 1), "")
        unchecked = {} if signed else {3: signers}
        trusted = signed and reported.trusted
        level = None if findings else min(self.levels, default=0) if trusted else 0
        checks = judge(self.found, evidence | rest, unchecked)[:3]
        if self.register or self.found.counts[REGISTER]:
            checks.append(judge_more(self.found, REGISTER, ("pass", self.of_register()), "line"))
        if self.report:
            status = "pass" if reported.trusted else "unchecked"
            row = (status, self.report.evidence(reported))
            checks.append(judge_more(self.found, REPORT, row))
        return {
            "records": self.counts.total(), "counts": dict(self.counts),
            "level": level, "verdict": VERDICTS[level],
            "caveats": list(self.caveats(records)), "checks": checks,
            "findings": [finding._asdict() for finding in findings],
        }  # fmt: skip

    def of_register(self) -> str:
        """Say with what the register agrees."""
        if not self.register or not self.register.own:
            return ""
        own = self.register.own
        said = f"{many(self.register.size, 'line')} of {own.origin}, "
        said += f"{cosigners(cosigned(own, self.trust[0]))}; {many(self.registered, 'record')} and "
        said += f"{many(self.register.compared, 'earlier checkpoint')} agree with them"
        if self.since:
            lines = many(self.since.size, "line")
            said += f"; it extends the checkpoint of {lines} that you kept"
        return said

    def caveats(self, records: str) -> Iterator[str]:
        """Yield what a reader of the verdict would miss."""
        if self.with_caveats:
            yield f"{self.with_caveats} of {records} with caveats"
        if not self.counts["ALTERED"]:
            if not self.register or not self.register.whole:
                yield "register not checked"
            elif (absent := self.register.opened - self.registered) > 0:
                opened = many(self.register.opened, "record")
                yield f"{absent} of {opened} of the register are not here"
        if self.since and not self.register:
            yield "not compared with the checkpoint that you kept"


MOST_SHOWN = 100  # rows of what is not intact


def verify_many(folder: Path, options: argparse.Namespace) -> int:
    """Verify a folder of exports, print what is found, and return the exit code."""
    if options.checkpoint is not None:
        raise CannotOpen(f"{folder} holds a checkpoint of its own; leave out --checkpoint")
    trust, asked = trust_of(options), level_of(options)
    since = read_since(Path(options.since), trust[0]) if options.since is not None else None
    report = None
    if options.report is not None:
        try:
            report = Report(read_file(Path(options.report), LONGEST_NOTE))
        except (OSError, ValueError) as error:
            raise CannotOpen(f"{options.report} cannot be read: {error}") from None
    found, missed, rows = Many(folder, trust, since, report), 0, list[str]()
    for name in found.exports:
        row = found.verify(name)
        result = row["result"]
        short = row["level"] is None or row["level"] < min(asked, 1)  # 2 is that of all together
        short = short or (options.require_policy and not is_policed(result))
        missed += short
        if options.json:
            write(json.dumps(row), sys.stdout)
        elif short and len(rows) < MOST_SHOWN:
            rows.append(inert(f"{name}  {row_in_words(row)}"))
    result = found.result()
    if options.json:
        write(json.dumps(result), sys.stdout)
    else:
        more = [f"and {missed - len(rows)} more"] * (missed > len(rows))
        counts = ", ".join(f"{number} {words}" for words, number in result["counts"].items())
        say("\n".join([*rows, *more, f"{many(result['records'], 'record')}: {counts}"]))
        say(as_text(result, asked))
    reached = result["level"] is not None and result["level"] >= asked
    return 0 if reached and not missed else 1


def row_in_words(row: dict[str, Json]) -> str:
    """Say of one export what is not as it is asked for."""
    result = row["result"]
    if result is None:
        return f"ALTERED  {row['error']}"
    told = [f"{each['code']}: {each['message']}" for each in result["findings"][:1]]
    return "  ".join([result["verdict"], *told, *result["caveats"]])


def is_policed(result: dict[str, Json]) -> bool:
    """Whether a record names a policy, and was compared with all of it."""
    passed = {check["number"] for check in result["checks"] if check["status"] == "pass"}
    return {TEMPLATES, POLICY} <= passed


# ---------------------------------------------------------------- command (§16)

ACTING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f\u115f\u1160\u17b4\u17b5\u206a-\u206f\u2800\u3164"
    "\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0080-\U000e00ff"
    "\U000e01f0-\U000e0fff]"
    # What joins or varies the sign before it, in a place where there is none.
    "|(?<![^\t\n \xa0\u1680\u2000-\u200a\u202f\u205f\u3000])"
    "[\xad\u034f\u180b-\u180d\u180f\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef]+"
)


def inert(text: str) -> str:
    """Write every character that could act on a terminal, or is drawn as nothing, as `<U+XXXX>`."""
    return ACTING.sub(lambda found: "".join(f"<U+{ord(char):04X}>" for char in found[0]), text)


def say(text: str, stream: TextIO | None = None) -> None:
    """Print lines; on a terminal what has no room goes on further in, and begins no line."""
    stream = stream or sys.stdout
    if stream.isatty():
        columns = os.get_terminal_size(stream.fileno()).columns or 80
        text = "\n".join(wrapped(line, max(columns, 10)) for line in text.split("\n"))
    write(text, stream)


def write(text: str, stream: TextIO) -> None:
    """Print lines; raises CannotOpen where they have no room, BrokenPipeError as it comes."""
    try:
        print(text, file=stream, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        discard(stream)
        raise CannotOpen(f"the output cannot be written: {error.strerror}") from None


def tell(text: str) -> None:
    """Say on standard error; what cannot be written there changes no exit code."""
    try:
        say(inert(f"verify.py: {text}"), sys.stderr)
    except (BrokenPipeError, CannotOpen):
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Send the rest nowhere: Python would complain once more while it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def prepare() -> None:
    """Let a stream that is closed lead nowhere; what one cannot encode is escaped."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # it was closed before this process began
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
        if hasattr(stream := getattr(sys, name), "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def wrapped(line: str, columns: int) -> str:
    """Cut a line into pieces that have room, all but the first indented."""
    rows, at, taken = [], 0, 0
    for place, char in enumerate(line):
        cells = 1 + (east_asian_width(char) in "WF")
        if taken + cells > columns:
            rows.append(line[at:place])
            at, taken = place, 4
        taken += cells
    return "\n    ".join([*rows, line[at:]])


def as_text(result: dict[str, Json], asked: int) -> str:
    """Write the result for a reader: a line a check, the findings, the verdict last."""
    lines = []
    for check in result["checks"]:
        status = "FAIL" if check["status"] == "fail" else check["status"]
        lines.append(f"{check['number']:2}  {check['name']:<9}  {status:<11}  {check['evidence']}")
    each, whole = ("line", "the register") if "compared" in result else ("entry", "the record")
    each, whole = ("line", "the folder") if "records" in result else (each, whole)
    for finding in result["findings"]:
        place = f"{each} {finding['seq']}" if finding["seq"] else whole
        lines.append(f"{finding['code']} at {place}: {finding['message']}")
        for label in ("expected", "found"):
            if finding[label] is not None:
                value = json.dumps(finding[label], ensure_ascii=False)
                lines.append(f"    {label:<8}  {value}")
    if result["level"] is not None:
        lines += [UNPROVEN] if result["level"] else [UNSIGNED, UNPROVEN]
    reached = "none" if result["level"] is None else result["level"]
    verdict = ", ".join(filter(None, (result["verdict"], "; ".join(result["caveats"]))))
    lines.append(f"{verdict} (level asked for: {asked}; level reached: {reached})")
    return "\n".join(map(inert, lines))


def default_trust() -> Path | None:
    """Return the trust file of `HANSARD_HOME`, where there is one."""
    try:
        home = os.environ.get("HANSARD_HOME")
        path = (Path(home) if home else Path.home() / ".config" / "hansard") / "trust.json"
        return path if path.exists() else None
    except (OSError, RuntimeError, ValueError):
        return None


def others_can_change(path: Path) -> bool:
    """Whether anybody but the reader and root can change a file, where a mode tells.

    Who can change its folder can put another file in its place, unless the folder is sticky.
    """
    if os.name != "posix":
        return False
    try:
        file, folder = path.stat(), path.resolve().parent.stat()
    except OSError:
        return False
    shared = 0 if folder.st_mode & stat.S_ISVTX else folder.st_mode
    known = {file.st_uid, folder.st_uid} <= {0, os.geteuid()}
    return not known or bool((file.st_mode | shared) & 0o022)


class Words(argparse.ArgumentParser):
    """The words of the command line, one of which may be the name of a stranger's file."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with them."""
        super().error(inert(message))


def arguments(words: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = Words(
        prog="verify.py",
        description="Verify the exported record of a debate, or a folder of many.",
        epilog="Exit codes: 0 what is asked for is reached, 1 it is not, 2 wrong use, no export.",
    )
    parser.add_argument("export", metavar="EXPORT", help="a zip or a folder, also one of many zips")
    parser.add_argument("--trust", metavar="FILE", help="the keys that you trust")
    kept = "a checkpoint that you kept: level 2 is then required"
    parser.add_argument("--since", metavar="CHECKPOINT", help=kept)
    whole = "EXPORT is the file of a register, and this is the checkpoint over all of it"
    parser.add_argument("--checkpoint", metavar="FILE", help=whole)
    parser.add_argument("--require-level", type=int, choices=(0, 1, 2))
    counted = "EXPORT is a folder of many, and this is a signed report that counts them"
    parser.add_argument("--report", metavar="FILE", help=counted)
    policed = "fail a record that names no policy, or was not compared with all of it"
    parser.add_argument("--require-policy", action="store_true", help=policed)
    parser.add_argument(
        "--json", action="store_true", help="print JSON: one document, of many exports one a line"
    )
    return parser.parse_args(words)


def level_of(options: argparse.Namespace) -> int:
    """Return the level that is asked for."""
    if options.require_level is not None:
        return int(options.require_level)
    return 1 if options.since is None else 2


def run(options: argparse.Namespace) -> dict[str, Json]:
    """Verify the one export, or the register, that the command line asks for."""
    if options.report is not None:
        raise CannotOpen(f"{options.export} is not a folder of exports, which --report counts")
    trust = trust_of(options)
    since = read_since(Path(options.since), trust[0]) if options.since is not None else None
    if options.checkpoint is not None:
        return run_register(Path(options.export), Path(options.checkpoint), trust, since)
    try:
        return verify(open_export(Path(options.export)), *trust, since)
    except Refused as reason:
        return refused(reason.finding)


def run_register(
    path: Path,
    checkpoint: Path,
    trust: tuple[list[TrustedKey], Revoked, int],
    since: Checkpoint | None,
) -> dict[str, Json]:
    """Verify the file of a register."""
    try:
        data = read_file(checkpoint, LONGEST_CHECKPOINT)
        with opened(path) as file:
            found = verify_register(file.readline, data, trust[0], trust[2], (), since)
    except (OSError, ValueError) as error:
        raise CannotOpen(f"{path} or {checkpoint} cannot be read: {error}") from None
    words = f"{many(found.size, 'line')}, which give the root of the checkpoint"
    for row in found.findings[:1]:
        words = row.message
    status = "pass" if found.level is not None else "fail"
    check = {"number": REGISTER, "name": MORE[REGISTER], "status": status, "evidence": words}
    return {
        "level": found.level, "verdict": VERDICTS[found.level], "size": found.size,
        "compared": found.compared, "checks": [check], "caveats": [],
        "findings": [row._asdict() for row in found.findings],
    }  # fmt: skip


def trust_of(options: argparse.Namespace) -> tuple[list[TrustedKey], Revoked, int]:
    """Return whom the reader trusts, and how many witnesses must have cosigned."""
    path = Path(options.trust) if options.trust is not None else default_trust()
    if path is None:
        return [], {}, 0
    trust = read_trust(path)
    if others_can_change(path):
        tell(
            f"note: others can change {path} or its folder; make both your own, and run "
            "chmod go-w on them"
        )
    return trust


def show(result: dict[str, Json], asked: int, options: argparse.Namespace) -> None:
    """Print the result."""
    try:
        if options.json:
            write(json.dumps(result, indent=2), sys.stdout)
        else:
            say(as_text(result, asked))
    except BrokenPipeError:  # nobody reads on, but the exit code still counts
        discard(sys.stdout)


def main(words: list[str] | None = None) -> int:
    """Verify one export, or a folder of them; return the exit code."""
    prepare()
    options = arguments(words)
    try:
        if holds_exports(Path(options.export)):
            return verify_many(Path(options.export), options)
        result, asked = run(options), level_of(options)
        show(result, asked, options)
    except BrokenPipeError:  # nobody reads on
        discard(sys.stdout)
        return 1
    except CannotOpen as reason:
        tell(str(reason))
        return 2
    unruled = options.require_policy and not is_policed(result)
    if unruled and result["level"] is not None:
        tell(f"required: {POLICED}")
    return 0 if result["level"] is not None and result["level"] >= asked and not unruled else 1


if __name__ == "__main__":
    sys.exit(main())
