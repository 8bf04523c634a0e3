#!/usr/bin/env python3
"""Verify the exported record of one debate: `verify.py EXPORT [--trust FILE] [--json]`.

This is a second implementation of schemas/FORMAT.md, independent of the package: one
file, the standard library of Python 3.11, nothing to install. EXPORT, a zip or a
folder, is read and never unpacked, executed or repaired, in these steps:

 1 container   the zip is stored, not compressed, and rebuilding it gives the same bytes
 2 manifest    SHA256SUMS lists every file, and every file is what its line says
 3 signature   the manifest and the policy are signed by keys of the trust file
 4 canonical   every line is spelled in the one canonical way
 5 chain       every line carries the hash of the line before
 6 time        times never go back
 7 schema      every line is an event of a known type and form
 8 blobs       every text is there, salted, and what its name says
 9 schedule    every line was due when it was written
10 templates   templates, reply schema and policy are as the opening names them
11 prompts     every prompt's digest follows from the transcript
12 replies     every vote and every rejection follows from the reply's own text
13 citations   nothing to do in this version's only format
14 counts      every count follows from the votes
15 limits      every cost follows from tokens and prices
16 outcome     decision and close follow from the counts

Exit code 0: the level asked for is reached; 1: it is not; 2: wrong use, or EXPORT
cannot be opened at all. A `§` below is a section of schemas/FORMAT.md.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import re
import stat
import struct
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, cast

NAMES = (
    "container", "manifest", "signature", "canonical", "chain", "time", "schema", "blobs",
    "schedule", "templates", "prompts", "replies", "citations", "counts", "limits", "outcome",
)  # fmt: skip
WALKED = range(9, 17)  # those that the walk over the record carries (§11)
LARGEST = 2**53 - 1  # the largest integer of a line or a reply (§1, §5)
DEEPEST = 32  # nested containers (§1, §5)
LONGEST_LINE = 1_048_576  # bytes (§1)
MOST_REJECTED = 1_000  # lines that fail 4 or 7 and are listed; the others count all the same
ROLES = ("protocol", "block", "debater")  # the templates of the format, in the order of §7
PHASES = ("proposal", "critique", "revision", "consensus")  # §8
Json = Any  # a JSON value, of which a form has been or is to be checked
Texts = Mapping[str, bytes]  # files by name


class Finding(NamedTuple):
    """One defect: its code, the line's place, and what was expected and found (§10)."""

    code: str
    seq: int
    message: str
    expected: Json = None
    found: Json = None

    @property
    def check(self) -> int:
        """The number of the check that the code belongs to."""
        return int(self.code.partition(".")[0])


class CannotOpen(Exception):
    """The command was used wrongly, or its input cannot be opened at all: exit code 2."""


class Refused(Exception):
    """The container is refused, and nothing in it is read (§13)."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.finding = Finding(code, 0, message)


def sha256(data: bytes) -> str:
    """Return the SHA-256 of `data` in lower-case hex."""
    return hashlib.sha256(data).hexdigest()


# ---------------------------------------------------------------- 1 container (§13)

FOLDERS = ("blobs", "policies", "templates")
NAME = re.compile(
    r"SHA256SUMS|VERIFY\.md|checkpoint|events\.jsonl|register\.jsonl|report\.html"
    rf"|(?:{'|'.join(FOLDERS)})/[0-9a-f]{{64}}"
)
LARGEST_ZIP = 2**30  # bytes
LOCAL = struct.Struct("<4s5H3L2H")
CENTRAL = struct.Struct("<4s6H3L5H2L")
END = struct.Struct("<4s4H2LH")


class Entry(NamedTuple):
    """What the central directory of a zip says about one file."""

    name: str
    method: int
    stored: int
    size: int
    offset: int


def require(holds: bool, code: str, message: str) -> None:
    """Refuse the container where something does not hold."""
    if not holds:
        raise Refused(code, message)


def open_export(path: Path) -> dict[str, bytes]:
    """Return the files of the zip or folder `path`, or refuse it."""
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            files = dict(read_folder(path, ""))
        elif stat.S_ISREG(status.st_mode):
            require(status.st_size <= LARGEST_ZIP, "1.size", "the file is larger than 2^30 bytes")
            files = read_zip(path.read_bytes())
        else:
            raise CannotOpen(f"{path} is neither a file nor a folder")
    except (OSError, ValueError) as error:
        raise CannotOpen(f"{path} cannot be opened: {error}") from None
    require("events.jsonl" in files, "1.events", "there is no events.jsonl")
    ended = files["events.jsonl"][-1:] in {b"", b"\n"}
    require(ended, "1.events", "the last line of events.jsonl is not ended by LF")
    return files


def read_folder(folder: Path, prefix: str) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a folder; links and special files are never followed or opened."""
    with os.scandir(folder) as entries:
        for entry in entries:
            name = prefix + entry.name
            if entry.is_dir(follow_symlinks=False) and name in FOLDERS:
                yield from read_folder(Path(entry.path), f"{name}/")
            else:
                regular = entry.is_file(follow_symlinks=False)
                good = regular and NAME.fullmatch(name) is not None
                require(good, "1.name", f"{name} is no regular file that belongs in an export")
                yield name, Path(entry.path).read_bytes()


def read_zip(data: bytes) -> dict[str, bytes]:
    """Return the files of a zip; nothing is decompressed, and every byte is accounted for."""
    entries = read_directory(data)
    once = len({entry.name for entry in entries}) == len(entries)
    require(once, "1.entries", "a name stands twice")
    for entry in entries:
        known = NAME.fullmatch(entry.name) is not None
        require(known, "1.name", f"{entry.name} does not belong in an export")
    for entry in entries:
        require(entry.method == 0, "1.container", f"{entry.name} is compressed")
    fitting = sum(max(entry.stored, entry.size) for entry in entries) <= len(data)
    require(fitting, "1.size", "the sizes of the entries add up to more than the file")
    files = {entry.name: read_entry(data, entry) for entry in entries}
    position = 0
    for chunk in zip_chunks(files):
        same = data.startswith(chunk, position)
        require(same, "1.container", f"not the zip that its files give, near byte {position}")
        position += len(chunk)
    require(position == len(data), "1.container", "something follows the zip that its files give")
    return files


def read_directory(data: bytes) -> list[Entry]:
    """Return the entries of the central directory, which the end record points to."""
    end = data.rfind(END_SIGN, max(0, len(data) - END.size - 0xFFFF))
    require(0 <= end <= len(data) - END.size, "1.unreadable", "not a zip: it has no end record")
    *_, count, length, position, comment = END.unpack_from(data, end)
    stop, entries = position + length, []
    whole = end + END.size + comment == len(data) and stop <= end
    while whole and position + CENTRAL.size <= stop:
        sign, _, _, _, method, _, _, _, stored, size, *rest = CENTRAL.unpack_from(data, position)
        name, extra, note, _, _, _, offset = rest
        position += CENTRAL.size
        text = data[position : position + name].decode("utf-8", "surrogateescape")
        entries.append(Entry(text, method, stored, size, offset))
        position += name + extra + note
        whole = sign == CENTRAL_SIGN
    whole = whole and position == stop and len(entries) == count
    require(whole, "1.unreadable", "a broken zip: its directory does not hold together")
    return entries


LOCAL_SIGN, CENTRAL_SIGN, END_SIGN = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"


def read_entry(data: bytes, entry: Entry) -> bytes:
    """Return the bytes of one stored entry."""
    start = stop = len(data) + 1
    if entry.offset + LOCAL.size <= len(data) and data.startswith(LOCAL_SIGN, entry.offset):
        *_, name, extra = LOCAL.unpack_from(data, entry.offset)
        start = entry.offset + LOCAL.size + name + extra
        stop = start + entry.stored
    require(stop <= len(data), "1.unreadable", f"a broken zip: {entry.name} is not in its place")
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


def check_manifest(files: Texts, note: Note | None) -> tuple[list[Finding], set[str]]:
    """Compare files and manifest; return the findings and the names that were withheld."""
    if "SHA256SUMS" not in files:
        return [Finding("2.missing", 0, "there is no SHA256SUMS")], set()
    manifest = read_manifest(note.text) if note else None
    if manifest is None:
        return [Finding("2.malformed", 0, "SHA256SUMS is not written as it must be")], set()
    sums, withheld = manifest
    covered = files.keys() - {"SHA256SUMS", "report.html"}
    findings = [
        Finding("2.withheld", 0, "a file is said to be withheld and is there", None, name)
        for name in sorted(withheld & files.keys())
    ]
    for name in sorted(sums.keys() | covered):
        if name not in sums:
            findings.append(Finding("2.unlisted", 0, "a file without a line", None, name))
        elif name not in covered:
            findings.append(Finding("2.absent", 0, "a line without a file", name))
        elif sha256(files[name]) != sums[name]:
            found = sha256(files[name])
            findings.append(Finding("2.hash", 0, f"{name} has changed", sums[name], found))
    return findings, withheld


def read_manifest(text: bytes) -> tuple[dict[str, str], set[str]] | None:
    """Return the sums by name and the withheld names, or nothing where it is malformed."""
    sums: dict[str, str] = {}
    withheld: dict[str, str] = {}
    for line in text.split(b"\n")[:-1]:
        if found := re.fullmatch(rb"([0-9a-f]{64})  ([A-Za-z0-9./]+)", line):
            sums[found[2].decode()] = found[1].decode()
        elif found := re.fullmatch(rb"# withheld ([A-Za-z0-9./]+) ([a-z0-9_]{1,64})", line):
            withheld[found[1].decode()] = found[2].decode()
    again = [f"{sums[name]}  {name}\n" for name in sorted(sums)]
    again += [f"# withheld {name} {withheld[name]}\n" for name in sorted(withheld)]
    if "".join(again).encode() != text or sums.keys() & {"SHA256SUMS", "report.html"}:
        return None
    return sums, set(withheld)


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


MOST_SIGNATURES = 16
LONGEST_NOTE = 1 << 26


def strict_base64(text: str) -> bytes:
    """Decode standard base64 that encodes to itself again; nothing where it does not."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        return b""
    return data if base64.b64encode(data).decode() == text else b""


def read_note(data: bytes) -> Note | None:
    """Read a signed note: text, an empty line, and at least one signature line."""
    divide = data.rfind(b"\n\n") if len(data) <= LONGEST_NOTE else -1
    *lines, rest = data[divide + 2 :].decode("utf-8", "replace").split("\n")
    found = [SIGNATURE.fullmatch(line) for line in lines]
    signatures = [(each[1], strict_base64(each[2])) for each in found if each]
    right = len(lines) <= MOST_SIGNATURES and all(len(decoded) == 68 for _, decoded in signatures)
    if divide < 0 or rest or not lines or len(signatures) != len(lines) or not right:
        return None
    divided = ((name, decoded[:4], decoded[4:]) for name, decoded in signatures)
    return Note(data[: divide + 1], tuple(divided))


def read_trust(path: Path) -> list[TrustedKey]:
    """Read a trust file; one that is not as §14 says cannot be used at all."""
    try:
        document = strict_json(path.read_bytes().decode("utf-8"))
    except (OSError, ValueError) as error:
        raise CannotOpen(f"the trust file {path} cannot be read: {error}") from None
    keys: list[TrustedKey] = []
    if not fits(document, {"v": "=1", "keys": ["object"]}):
        raise CannotOpen(f"the trust file {path} is not written as it must be")
    for entry in ({"from": None, "until": None} | item for item in document["keys"]):
        found = VERIFIER_KEY.fullmatch(entry["key"]) if fits(entry, TRUSTED) else None
        name, key_id, public = found.groups() if found else ("", "", "")
        decoded = strict_base64(public)
        right = hashlib.sha256(name.encode() + b"\n" + decoded).digest()[:4]
        point = int.from_bytes(decoded[1:], "little") & ((1 << 255) - 1)
        weak = point >= P or point in SMALL_ORDER
        twin = any(
            (key.name, key.key_id) == (name, right) and key.public != decoded[1:] for key in keys
        )
        if len(decoded) != 33 or decoded[0] != 1 or right.hex() != key_id or weak or twin:
            raise CannotOpen(f"the trust file {path} holds a key that cannot be used")
        role, start, until = entry["role"], entry["from"], entry["until"]
        keys.append(TrustedKey(role, name, right, decoded[1:], start, until))
    return keys


def judge_note(
    note: Note, trust: Iterable[TrustedKey], role: str, at: str | None
) -> tuple[str | None, str | None]:
    """Return the trusted key that signed, and the one whose signature does not verify."""
    signed_by = None
    for name, key_id, signature in dict.fromkeys(note.signatures):
        for key in trust:
            if (key.name, key.key_id) != (name, key_id):
                continue
            if not ed25519_verify(key.public, note.text, signature):
                return None, name
            started = at is not None and (key.start is None or key.start <= at)
            if key.role == role and started and (key.until is None or cast(str, at) < key.until):
                signed_by = name
    return signed_by, None


def check_signatures(
    notes: Iterable[tuple[str, str, Note | None]], trust: list[TrustedKey], at: str | None
) -> tuple[list[Finding], bool, str]:
    """Judge manifest and policy; return findings, whether trusted keys signed, the evidence."""
    findings, evidence, signed = [], [], True
    for what, role, note in notes:
        by, broken = judge_note(note, trust, role, at) if note else (None, None)
        signed = signed and by is not None
        if broken is not None:
            code = "3.signature" if what == "manifest" else "3.policy"
            message = f"the signature of the {what} does not verify"
            findings.append(Finding(code, 0, message, broken))
        elif note is None:
            evidence.append(f"the {what} cannot be read")
        elif by is None:
            names = ", ".join(dict.fromkeys(name for name, _, _ in note.signatures))
            evidence.append(f"the {what} is signed by {names}: no key that is trusted for it")
        else:
            evidence.append(f"the {what} is signed by {by}, which is trusted for it")
    return findings, signed, "; ".join(evidence)


# ---------------------------------------------------------------- 4 canonical (§1)

KEY = re.compile(r"[a-z][a-z0-9_]*")
ID = re.compile(r"[A-Za-z0-9._:/@+=-]{1,256}")
DEFECTS = {
    "4.size": "the line is longer than 1,048,576 bytes",
    "4.json": "the line is not JSON in UTF-8",
    "4.profile": "the line holds what is outside the profile",
    "4.bytes": "the line is not spelled canonically",
    "7.schema": "the line is no event of a known type and form",
}
BRACKETS = re.compile(rb"[][{}]")
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


def read_line(raw: bytes) -> tuple[str | None, Json]:
    """Read one line; return the defect of check 4, if any, and the value."""
    if len(raw) > LONGEST_LINE:
        return "4.size", None
    depth = 0
    for bracket in BRACKETS.findall(raw):  # before parsing, and wherever they stand (§10)
        depth += 1 if bracket in b"[{" else -1
        if depth > DEEPEST:
            return "4.profile", None
    try:
        value = LINE_DECODER.decode(raw.decode("utf-8"))
    except ValueError:
        return "4.json", None
    if not in_profile(value):
        return "4.profile", None
    return (None, value) if canonical(value) == raw else ("4.bytes", None)


# ---------------------------------------------------------------- 5 chain, 6 time (§1)


def check_chain(total: int, events: list[Json], hashes: list[str]) -> Iterator[Finding]:
    """Compare each line's place, debate and time, and its `prev`, with the lines before."""
    if not total:
        yield Finding("5.empty", 0, "there are no lines")
    before, latest = "0" * 64, ""
    for place, event in enumerate(events, 1):
        prev, seq, debate, at = event["prev"], event["seq"], event["debate"], event["at"]
        if prev != before:
            message = "the next line names another hash as the one before it"
            yield Finding("5.prev", place - 1, message, before, prev)
        if seq != place:
            yield Finding("5.seq", place, "the line's number is not its place", place, seq)
        if debate != events[0]["debate"]:
            message = "the line is of another debate"
            yield Finding("5.debate", place, message, events[0]["debate"], debate)
        if at < latest:
            yield Finding("6.order", place, "earlier than a line before it", latest, at)
        before, latest = hashes[place - 1], max(latest, at)


# ---------------------------------------------------------------- 7 schema (§3)

# A form is an object's fields, a list of one form, or words of which one must fit: a word
# of WORDS, or the value itself.
Form = dict[str, Any] | list[Any] | str


def matching(pattern: str) -> Callable[[Json], bool]:
    """Return the test whether a value is a string of `pattern`."""
    expression = re.compile(pattern)
    return lambda value: isinstance(value, str) and expression.fullmatch(value) is not None


def integer(lowest: int, highest: int = LARGEST) -> Callable[[Json], bool]:
    """Return the test whether a value is an integer between two bounds."""
    return lambda value: type(value) is int and lowest <= value <= highest


WORDS: dict[str, Callable[[Json], bool]] = {
    "any": lambda _: True,
    "null": lambda value: value is None,
    "bool": lambda value: isinstance(value, bool),
    "text": lambda value: isinstance(value, str),
    "object": lambda value: isinstance(value, dict),
    "blob": lambda value: fits(value, {"sha256": "hash"}),
    "=1": integer(1, 1),
    "count": integer(0),
    "positive": integer(1),
    "hundred": integer(1, 100),
    "thousand": integer(1, 1000),
    "documents": integer(0, 1000),
    "id": matching(ID.pattern),
    "name": matching(r"[A-Za-z0-9._:/@+=-]{1,64}"),
    "hash": matching(r"[0-9a-f]{64}"),
    "uuid": matching(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"),
    "time": matching(
        r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
        r"T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{6}Z"
    ),
    "decimal": matching(r"[0-9]{1,9}(\.[0-9]{1,9})?"),
    "seed": matching(r"0|[1-9][0-9]{0,76}"),
}


def form(text: str, **more: Form) -> dict[str, Form]:
    """Return the form of an object, written as `field:words` one after another."""
    return dict(item.split(":", 1) for item in text.split()) | more


PHASE = "|".join(PHASES)
HASHES: Form = [form("role:name sha256:hash")]
PRICES: Form = [
    form("model:id input_micro_usd:count cached_micro_usd:count output_micro_usd:count")
]
TERMS = form(
    "format:consensus max_rounds:thousand rule:threshold|majority|unanimity threshold:positive",
    options=["name"],
)
PARAMETERS = form(
    "temperature:decimal|null top_p:decimal|null seed:count|null max_tokens:positive|null "
    "reasoning_effort:name|null"
)
TURN = form(f"step:id round:positive phase:{PHASE} speaker:name")
TRUSTED = form("role:log|export|approval|reviewer key:text from:time|null until:time|null")
LINE = form("at:time data:any debate:uuid prev:hash seq:positive type:text v:=1")
TYPES: dict[str, Form] = {
    "debate.opened": form(
        "engine:id rules:=1 question:blob review:blob seats:hundred documents:documents "
        "attempts:hundred timeout_ms:positive seed:seed layout:shared-prefix policy:hash|null "
        "scripted:bool",
        templates=HASHES, schemas=HASHES, prices=PRICES, terms=TERMS,
    ),
    "debate.resumed": form("engine:id"),
    "debater.registered": form(
        "id:name role:debater position:positive model:id persona:blob|null", parameters=PARAMETERS
    ),
    "evidence.admitted": form("document:name text:blob from_round:positive"),
    "call.started": form(
        "call:id step:id attempt:positive role:debater model:id template:hash schema:hash "
        "prompt:hash reserved_tokens_in:count reserved_tokens_out:count "
        "reserved_cost_micro_usd:count|null",
        parameters=PARAMETERS,
    ),
    "call.refused": form("step:id role:name found:hash approved:hash|null"),
    "call.answered": form(
        "call:id reply:blob model:id|blob response_id:id|blob|null request_id:id|blob|null "
        "fingerprint:id|blob|null finish:stop|length|refusal|content_filter|other "
        "tokens_in:count|null tokens_cached:count|null tokens_out:count|null "
        "cost_micro_usd:count|null latency_ms:count sent_as_rendered:bool|null sent:blob|null"
    ),
    "call.failed": form(
        "call:id detail:id|null again:bool cost_micro_usd:count|null latency_ms:count|null "
        "error:rate_limited|timeout|server_error|client_error|unreachable|crashed|no_reply|abandoned"
    ),
    "turn.recorded": TURN | form("call:id vote:name"),
    "turn.rejected": form(
        "step:id call:id again:bool "
        "code:unreadable|schema|unknown_option|cut_off|refused|filtered|not_finished"
    ),
    "turn.forfeited": TURN | form("reason:no_reply|invalid_reply"),
    "votes.counted": form(
        f"round:positive phase:{PHASE} abstentions:count threshold:positive reached:bool",
        tally=[form("option:name votes:count")],
    ),
    "decision.reached": form(
        "decision:name rule:threshold_vote|majority_vote|unanimous_vote|max_rounds_exhausted "
        "votes:count threshold:positive rounds_run:positive review:blob|null"
    ),
    "debate.closed": form(
        "outcome:complete|failed reason:votes_reached|max_rounds_exhausted|prompt_refused"
    ),
}  # fmt: skip


def fits(value: Json, form: Form) -> bool:
    """Whether a value has a form: exactly these fields, a list of it, or one of these words."""
    if isinstance(form, dict):
        fields = isinstance(value, dict) and value.keys() == form.keys()
        return fields and all(fits(value[key], item) for key, item in form.items())
    if isinstance(form, list):
        return isinstance(value, list) and all(fits(item, form[0]) for item in value)
    return any(WORDS[word](value) if word in WORDS else value == word for word in form.split("|"))


@dataclass
class Lines:
    """The lines of a record: those before the first rejected one, as events, with their hashes."""

    total: int = 0
    events: list[Json] = field(default_factory=list)
    hashes: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def read_lines(data: bytes) -> Lines:
    """Split, parse and check every line (checks 4 and 7)."""
    lines, start = Lines(), 0
    while start < len(data):
        stop = data.index(b"\n", start)
        raw = data[start:stop]
        start, lines.total = stop + 1, lines.total + 1
        defect, value = read_line(raw)
        if defect is None and not is_event(value):
            defect = "7.schema"
        if defect is None and not lines.findings:
            lines.events.append(value)
            lines.hashes.append(sha256(raw))
        elif defect is not None and len(lines.findings) < MOST_REJECTED:
            lines.findings.append(Finding(defect, lines.total, DEFECTS[defect]))
    return lines


def is_event(value: Json) -> bool:
    """Whether a value is an event of a known type and form."""
    return (
        fits(value, LINE) and value["type"] in TYPES and fits(value["data"], TYPES[value["type"]])
    )


# ---------------------------------------------------------------- 8 blobs (§2)

HEADER = re.compile(rb"hansard-blob/v1 ([0-9a-f]{64})\n")


def named_blobs(value: Json) -> Iterator[str]:
    """Yield the names of the texts that a line's data names."""
    if isinstance(value, dict) and value.keys() == {"sha256"}:
        yield value["sha256"]
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from named_blobs(item)


def check_blobs(
    lines: Lines, blobs: Texts, withheld: Collection[str]
) -> tuple[list[Finding], dict[str, str], int]:
    """Compare texts and names; return the findings, the texts at hand, and how many are named."""
    findings: list[Finding] = []
    texts: dict[str, str] = {}
    salts: set[bytes] = set()
    places: dict[str, int] = {}  # of the first line that names it
    for place, event in enumerate(lines.events, 1):
        for name in named_blobs(event["data"]):
            places.setdefault(name, place)
    for name, place in places.items():
        if name not in blobs:
            if name not in withheld:
                findings.append(Finding("8.missing", place, "a text is missing", name))
            continue
        defect, salt, text = read_blob(name, blobs[name])
        if defect is None and salt in salts:
            defect = ("8.salt", "the salt of a text is used twice")
        if defect:
            findings.append(Finding(defect[0], place, defect[1], name))
        elif name not in withheld:
            texts[name] = text
        salts.add(salt)
    unnamed = [] if lines.findings else sorted(blobs.keys() - places.keys())
    findings += [Finding("8.unnamed", 0, "no line names a text", None, name) for name in unnamed]
    return findings, texts, len(places)


def read_blob(name: str, data: bytes) -> tuple[tuple[str, str] | None, bytes, str]:
    """Read one blob; return its defect if any, its salt and its text."""
    header = HEADER.match(data)
    if sha256(data) != name:
        return ("8.hash", "a text is not what its name says"), b"", ""
    if header is None:
        return ("8.header", "a text does not begin with the header of a blob"), b"", ""
    try:
        return None, header[1], data[header.end() :].decode("utf-8")
    except UnicodeDecodeError:
        return ("8.text", "a text is not UTF-8"), header[1], ""


# ---------------------------------------------------------------- 10 templates (§10, §15)


def check_templates(opening: Json, templates: Texts, policies: Texts) -> Iterator[Finding]:
    """Compare templates, schemas and policy with the names in the opening."""
    named = dict.fromkeys(item["sha256"] for item in opening["templates"] + opening["schemas"])
    for name in named:
        if name not in templates:
            yield Finding("10.missing", 1, "a template or schema is missing", name)
        elif (found := sha256(templates[name])) != name:
            message = "a template or schema is not what its name says"
            yield Finding("10.hash", 1, message, name, found)
    policy = opening["policy"]
    for name in sorted([*(templates.keys() - named.keys()), *(policies.keys() - {policy})]):
        yield Finding("10.unnamed", 0, "the opening names no such file", None, name)
    if policy is not None and read_policy(policy, policies) is None:
        message = "the policy is missing, not what its name says, or unreadable"
        yield Finding("10.policy", 1, message, policy)


def read_policy(name: str, policies: Texts) -> tuple[Note, dict[str, str]] | None:
    """Read the policy `name`: the note, and the approved template of each `<format>.<role>`."""
    data = policies.get(name, b"")
    note = read_note(data)
    if sha256(data) != name or note is None:
        return None
    first, *lines = note.text.split(b"\n")[:-1]
    pattern = rb"([a-z][a-z0-9_]*\.[a-z][a-z0-9_]*) ([0-9a-f]{64})"
    found = [re.fullmatch(pattern, line) for line in lines]
    approved = {each[1].decode(): each[2].decode() for each in found if each}
    sound = first == b"hansard-policy/v1" and lines == sorted(lines)
    return (note, approved) if sound and len(approved) == len(lines) else None


# ---------------------------------------------------------------- 11 prompts (§4, §7)


def fold(digest: bytes, *parts: Json) -> bytes:
    """Fold the parts of a recipe into its digest."""
    for part in parts:
        digest = hashlib.sha256(digest + hashlib.sha256(canonical(part)).digest()).digest()
    return digest


class Transcript:
    """The digest of what all seats share, as it grows by evidence and turns."""

    def __init__(self, opening: Json, documents: list[Json]) -> None:
        self.templates = {item["role"]: item["sha256"] for item in opening["templates"]}
        self.later = documents  # those not there yet, in the order admitted
        self.values = {
            "options": ", ".join(opening["terms"]["options"]),
            "max_rounds": str(opening["terms"]["max_rounds"]),
        }
        options = {"options": self.values["options"]}
        system = {"template": self.templates["protocol"], "values": options}
        self.shared = fold(bytes(32), {"role": "system"}, system, {"role": "user"})
        self.shared = fold(self.shared, *self.block("question", opening["question"]))
        self.reach(1)

    def block(self, label: str, blob: Json) -> list[Json]:
        """Return the two parts of a quoted text under its label."""
        title = {"template": self.templates["block"], "values": {"label": label}}
        return [title, {"blob": blob["sha256"], "struck": [], "view": "quoted"}]

    def evidence(self, number: int) -> Iterator[Json]:
        """Yield the parts of the documents that become visible up to round `number`."""
        for item in self.later:
            if item["from_round"] <= number:
                yield from self.block(f"evidence {item['document']}", item["text"])

    def reach(self, number: int) -> None:
        """Add the documents that are visible from round `number`."""
        self.shared = fold(self.shared, *self.evidence(number))
        self.later = [item for item in self.later if item["from_round"] > number]

    def add_turn(self, step: Step, reply: Json) -> None:
        """Add a recorded turn."""
        self.reach(step.round)
        label = f"{step.seat['id']}, round {step.round}, {step.phase}"
        self.shared = fold(self.shared, *self.block(label, reply))

    def prompt(self, step: Step) -> str:
        """Return the digest of the prompt of a call for `step`."""
        parts, seat = list(self.evidence(step.round)), step.seat
        if seat["persona"] is not None:
            parts += self.block(f"persona of {seat['id']}", seat["persona"])
        turn = {"phase": step.phase, "round": str(step.round), "speaker": seat["id"]}
        parts.append({"template": self.templates["debater"], "values": self.values | turn})
        return fold(self.shared, *parts).hex()


# ---------------------------------------------------------------- 12 replies (§5, §6)

WHITE = "\t\n\v\f\r "
UNFINISHED = {
    "length": "cut_off", "refusal": "refused", "content_filter": "filtered",
    "other": "not_finished",
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


def read_reply(text: str, options: Collection[str]) -> tuple[str | None, str | None]:
    """Read a reply of the role `debater`; return the code of its rejection, or its vote."""
    text = text.strip(WHITE)
    first, _, rest = text.partition("\n")
    body, _, last = rest.rpartition("\n")
    if re.fullmatch(r"```[a-z]*", first) and last == "```":  # one fence around it is dropped
        text = body.strip(WHITE)
    try:
        value = strict_json(text)
    except ValueError:
        return "unreadable", None
    if not fits(value, {"stance": "text", "rationale": "text", "vote": "text"}):
        return "schema", None
    if not value["stance"] or not value["rationale"]:
        return "schema", None
    return (None, value["vote"]) if value["vote"] in options else ("unknown_option", None)


def reply_schema(options: list[str]) -> bytes:
    """Write the reply schema of the role `debater` (§6)."""
    text = {"minLength": 1, "type": "string"}
    vote = {"enum": options, "type": "string"}
    members = {"rationale": text, "stance": text, "vote": vote}
    required = ["stance", "rationale", "vote"]
    schema = {"additionalProperties": False, "properties": members, "required": required}
    return canonical(schema | {"type": "object"})


# ---------------------------------------------------------------- 9 to 16: the walk (§11)


class NotDue(Exception):
    """A line is not due, for this reason."""


def need(holds: object, reason: str) -> None:
    """Refuse the line where something that makes it due does not hold."""
    if not holds:
        raise NotDue(reason)


@dataclass
class Step:
    """One turn to be taken, and what was tried for it."""

    name: str
    round: int
    phase: str
    seat: Json  # the data of the debater's registration
    attempts: int = 0
    ended: int = 0  # attempts that ended in failure or rejection, abandoned ones not counted
    last_rejected: bool = False
    exhausted: bool = False
    open: bool = False
    call: str = ""  # the one whose reply counts, if any
    reply: Json = None  # the blob of that reply
    vote: str | None = None  # as read from it; nothing where it is gone

    def fields(self) -> dict[str, Json]:
        """Return the fields that every turn has."""
        speaker = self.seat["id"]
        return {"step": self.name, "round": self.round, "phase": self.phase, "speaker": speaker}

    def wants_call(self) -> bool:
        """Whether a call for it is due."""
        return not (self.call or self.exhausted or self.open)


class Call(NamedTuple):
    """One call of a model for a step."""

    name: str
    step: Step
    reserved: int | None


class Walk:
    """The state that the lines so far give, and the findings about them."""

    def __init__(self, texts: Mapping[str, str], approved: Mapping[str, str] | None) -> None:
        self.texts = texts  # those at hand
        self.approved = approved  # by the policy; nothing where it cannot be read
        self.findings: list[Finding] = []
        self.place = 0
        self.seen: Counter[str] = Counter()  # the lines taken, by type
        self.opening: Json = None
        self.templates: list[tuple[str, str, str | None]] = []  # role, template, approved one
        self.seats: dict[str, Json] = {}
        self.order: list[str] = []  # of the seats
        self.documents: dict[str, Json] = {}
        self.transcript: Transcript | None = None  # there once all of these are
        self.steps: dict[str, Step] = {}  # those that are due and not over
        self.waiting = 0  # how many of them have neither a reply that counts nor are exhausted
        self.calls: dict[str, Call] = {}  # those that are open, in the order started
        self.abandoned: list[Call] = []
        self.answer: tuple[Call, str | None, bool] | None = None  # code, and whether it is gone
        self.turns = self.counts = self.gone_replies = self.gone_votes = 0
        self.votes: dict[str, str] = {}  # the current vote of each debater that has one
        self.count: Json = None  # the last one
        self.decision: Json = None
        self.refused = self.closed = self.ended = False

    def take(self, place: int, kind: str, data: Json) -> None:
        """Take one line: derive its derived fields, or say that it is not due."""
        self.place = place
        if self.transcript is None:
            self.take_opening(kind, data)
        elif kind == "turn.rejected" or (self.answer and self.answer[1]):
            self.take_rejected(kind, data)
        else:
            self.answer = None
            need(not self.closed, "the debate is closed")
            need(not self.abandoned or kind in ABANDONING, "abandoned calls come first")
            due = self.due()
            need(kind in ENDING or kind in due, f"due is {' or '.join(due) or 'the end of a call'}")
            TAKERS[kind](self, data)
        self.seen[kind] += 1

    def due(self) -> tuple[str, ...]:
        """Return the types that are due now, but for the ends of calls and for resuming (§8)."""
        seats, rounds = len(self.order), self.opening["terms"]["max_rounds"]
        if self.refused or self.decision:
            return () if self.calls else ("debate.closed",)
        if self.turns % seats == 0 and seats * self.counts < self.turns:
            return ("votes.counted",)
        if self.counts and (self.count["reached"] or self.counts == len(PHASES) * rounds):
            return ("decision.reached",)
        if self.waiting:
            return ("call.started", "call.refused")
        return ("turn.recorded",) if self.next_step().call else ("turn.forfeited",)

    def compare(self, check: int, data: Json, **derived: Json) -> None:
        """Report each derived field that the line states otherwise."""
        for name, value in derived.items():
            if data[name] != value:
                message = f"`{name}` is not what follows from the lines before"
                self.report(f"{check}.{name}", message, value, data[name])

    def report(self, code: str, message: str, expected: Json = None, found: Json = None) -> None:
        """Report a finding at the present line."""
        self.findings.append(Finding(code, self.place, message, expected, found))

    # -- opening, debaters, evidence (§11.1)

    def take_opening(self, kind: str, data: Json) -> None:
        """Take the opening, then the debaters, then the evidence."""
        if self.opening is None:
            need(kind == "debate.opened", "debate.opened is due")
            self.take_opened(data)
        elif len(self.order) < self.opening["seats"]:
            need(kind == "debater.registered", "debater.registered is due")
            self.take_registered(data)
        else:
            need(kind == "evidence.admitted", "evidence.admitted is due")
            need(data["document"] not in self.documents, "this document was admitted before")
            self.documents[data["document"]] = data
        lacking = len(self.order) - self.opening["seats"]
        if not lacking and len(self.documents) == self.opening["documents"]:
            self.transcript = Transcript(self.opening, list(self.documents.values()))
            self.begin_steps()

    def take_opened(self, data: Json) -> None:
        """Derive threshold and reply schemas (§6, §9)."""
        roles = tuple(item["role"] for item in data["templates"])
        need(roles == ROLES, "the opening does not name the templates of its format")
        terms, seats = data["terms"], data["seats"]
        options = terms["options"]
        distinct = len(set(options)) == len(options) and "abstain" not in options
        need(distinct and 1 <= len(options) <= 100, "the options are not 1 to 100 different names")
        fixed = {"majority": seats // 2 + 1, "unanimity": seats}
        terms = terms | {"threshold": fixed.get(terms["rule"], terms["threshold"])}
        schemas = [{"role": "debater", "sha256": sha256(reply_schema(terms["options"]))}]
        self.compare(14, data, terms=terms)
        self.compare(10, data, schemas=schemas)
        self.opening = data | {"terms": terms, "schemas": schemas}
        for item in data["templates"]:
            approved = (self.approved or {}).get(f"consensus.{item['role']}")
            self.templates.append((item["role"], item["sha256"], approved))

    def take_registered(self, data: Json) -> None:
        """Give the next debater its seat."""
        need(data["id"] not in self.seats, "this debater was registered before")
        position = len(self.order) + 1
        if position == self.opening["seats"]:
            models = (seat["model"] for seat in (*self.seats.values(), data))
            scripted = any(model.startswith(("scripted:", "recorded:")) for model in models)
            need(scripted == self.opening["scripted"], "`scripted` is not as the models say")
        self.compare(9, data, role="debater", position=position)
        self.seats[data["id"]] = data
        self.order.append(data["id"])

    def next_name(self) -> tuple[str, int, str, str]:
        """Return name, round, phase and speaker of the first step that is due."""
        phases, number = divmod(self.turns, len(self.order))
        rounds, phase = divmod(phases, len(PHASES))
        name = f"r{rounds + 1}.{PHASES[phase]}.{self.order[number]}"
        return name, rounds + 1, PHASES[phase], self.order[number]

    def next_step(self) -> Step:
        """Return the first step that is due."""
        return self.steps[self.next_name()[0]]

    def begin_steps(self) -> None:
        """Set the steps that are due (§8): at first those of all seats, later one by one."""
        if 0 < self.turns < len(self.order):
            return
        _, number, phase, speaker = self.next_name()
        for each in [speaker] if self.turns else self.order:
            name = f"r{number}.{phase}.{each}"
            self.steps[name] = Step(name, number, phase, self.seats[each])
        self.waiting = len(self.steps)

    # -- calls (§11.3 to §11.5, §15)

    def take_started(self, data: Json) -> None:
        """Start a call for a step that is due."""
        step = self.steps.get(data["step"])
        if step is None or not step.wants_call():
            raise NotDue("no call is due for this step")
        step.attempts += 1
        call = Call(f"{step.name}:{step.attempts}", step, data["reserved_cost_micro_usd"])
        model, parameters = step.seat["model"], step.seat["parameters"]
        self.compare(9, data, call=call.name, attempt=step.attempts, role="debater")
        self.compare(9, data, model=model, parameters=parameters)
        transcript = cast(Transcript, self.transcript)
        schema = self.opening["schemas"][0]["sha256"]
        self.compare(10, data, template=transcript.templates["debater"], schema=schema)
        self.compare(11, data, prompt=transcript.prompt(step))
        if wrong := self.unapproved():
            message = f"a call was started, but the template `{wrong[0]}` is not approved"
            self.report("10.not_approved", message, wrong[2], wrong[1])
        step.open = True
        self.calls[call.name] = call

    def unapproved(self) -> tuple[str, str, str | None] | None:
        """Return role, hash and approved hash of the first template that is not approved."""
        if self.approved is None:
            return None
        return next((item for item in self.templates if item[1] != item[2]), None)

    def take_refused(self, data: Json) -> None:
        """Refuse a call, since a template is not the approved one."""
        step = next((step for step in self.steps.values() if step.wants_call()), None)
        if step is None or self.opening["policy"] is None:
            raise NotDue("no call is due, or the opening names no policy")
        if wrong := self.unapproved():
            role, found, approved = wrong
            self.compare(10, data, step=step.name, role=role, found=found, approved=approved)
        elif self.approved is not None:
            hashes = {role: template for role, template, _ in self.templates}
            other = hashes.get(data["role"], data["found"]) != data["found"]
            need(other, "the template that was found is the approved one")
            self.compare(10, data, step=step.name, approved=hashes[data["role"]])
        else:
            self.compare(10, data, step=step.name)
        self.refused = True

    def take_answered(self, data: Json) -> None:
        """End a call with its reply, and read it (§5)."""
        call = self.end_call(data["call"])
        self.compare(15, data, cost_micro_usd=self.cost(call, data))
        step, text = call.step, self.texts.get(data["reply"]["sha256"])
        code, vote = UNFINISHED.get(data["finish"]), None
        gone = text is None and code is None  # then either is accepted
        self.gone_replies += gone
        if text is not None and code is None:
            code, vote = read_reply(text, self.opening["terms"]["options"])
        self.answer = (call, code, gone)
        if code is None:
            step.call, step.reply, step.vote = call.name, data["reply"], vote
            self.waiting -= 1

    def cost(self, call: Call, data: Json) -> int | None:
        """Return the cost of an answered call in micro-US-dollars, rounded up (§3)."""
        model, prices = call.step.seat["model"], self.opening["prices"]
        price = next((item for item in prices if item["model"] == model), None)
        if price is None or data["tokens_in"] is None or data["tokens_out"] is None:
            return None
        cached = min(data["tokens_cached"] or 0, data["tokens_in"])
        total = (data["tokens_in"] - cached) * price["input_micro_usd"]
        total += cached * price["cached_micro_usd"] + data["tokens_out"] * price["output_micro_usd"]
        return int(-(-total // 1_000_000))

    def end_call(self, name: str) -> Call:
        """End an open call, however it ended."""
        need(name in self.calls, "no such call is open")
        call = self.calls.pop(name)
        call.step.open = False
        return call

    def in_vain(self, step: Step, *, rejected: bool, final: bool = False) -> bool:
        """End an attempt without a reply that counts; return whether there is another one."""
        step.ended += 1
        step.last_rejected = rejected
        step.exhausted = final or step.ended >= self.opening["attempts"]
        self.waiting -= step.exhausted
        return not step.exhausted

    def take_failed(self, data: Json) -> None:
        """End a call without a reply."""
        if self.abandoned:
            call = self.end_call(self.abandoned.pop(0).name)
            self.compare(9, data, call=call.name, error="abandoned", detail=None)
            self.compare(9, data, latency_ms=None, again=True)
            self.compare(15, data, cost_micro_usd=call.reserved)
            return
        need(data["error"] != "abandoned", "only calls given up at a resume are abandoned")
        final = data["error"] in {"client_error", "no_reply"}
        again = self.in_vain(self.end_call(data["call"]).step, rejected=False, final=final)
        self.compare(9, data, again=again)
        self.compare(15, data, cost_micro_usd=None)

    def take_resumed(self, _: Json) -> None:
        """Give up every call that is open."""
        self.abandoned = list(self.calls.values())

    # -- turns (§11.2, §11.6)

    def take_rejected(self, kind: str, data: Json) -> None:
        """Reject the reply that has just come back."""
        need(kind == "turn.rejected", "turn.rejected is due")
        if self.answer is None or not (self.answer[1] or self.answer[2]):
            raise NotDue("no reply is to be rejected")
        (call, code, gone), self.answer = self.answer, None
        if gone:  # then it was taken to count
            call.step.call, call.step.reply = "", None
            self.waiting += 1
        again = self.in_vain(call.step, rejected=True)
        self.compare(9, data, step=call.step.name, call=call.name, again=again)
        self.compare(12, data, code=code or data["code"])

    def take_turn(self, data: Json) -> None:
        """Record the turn of the first step that is due."""
        step = self.next_step()
        vote = data["vote"] if step.vote is None else step.vote
        need(vote in self.opening["terms"]["options"], "a vote for an option is due")
        self.gone_votes += step.vote is None
        self.compare(9, data, **step.fields(), call=step.call)
        self.compare(12, data, vote=vote)
        self.votes[step.seat["id"]] = vote
        cast(Transcript, self.transcript).add_turn(step, step.reply)
        self.end_turn(step)

    def take_forfeit(self, data: Json) -> None:
        """Forfeit the turn of the first step that is due."""
        step = self.next_step()
        reason = "invalid_reply" if step.last_rejected else "no_reply"
        self.compare(9, data, **step.fields(), reason=reason)
        self.votes.pop(step.seat["id"], None)
        self.end_turn(step)

    def end_turn(self, step: Step) -> None:
        """Go on to the next turn."""
        del self.steps[step.name]
        self.turns += 1
        self.begin_steps()

    # -- counts, decision, close (§9)

    def take_count(self, data: Json) -> None:
        """Count the current votes."""
        rounds, phase = divmod(self.turns // len(self.order) - 1, len(PHASES))
        terms, votes = self.opening["terms"], Counter(self.votes.values())
        tally = [{"option": option, "votes": votes[option]} for option in terms["options"]]
        enough = [item["option"] for item in tally if item["votes"] >= terms["threshold"]]
        self.count = {
            "round": rounds + 1, "phase": PHASES[phase], "tally": tally,
            "abstentions": len(self.order) - len(self.votes),
            "threshold": terms["threshold"], "reached": enough[0] if len(enough) == 1 else None,
        }  # fmt: skip
        self.compare(14, data, **self.count | {"reached": len(enough) == 1})
        self.counts += 1

    def take_decision(self, data: Json) -> None:
        """Decide as the last count says."""
        terms, decision = self.opening["terms"], self.count["reached"] or "escalate"
        rules = {
            "threshold": "threshold_vote", "majority": "majority_vote",
            "unanimity": "unanimous_vote",
        }  # fmt: skip
        votes = {item["option"]: item["votes"] for item in self.count["tally"]}
        self.decision = {
            "decision": decision, "votes": votes.get(decision, 0),
            "rule": rules[terms["rule"]] if self.count["reached"] else "max_rounds_exhausted",
            "threshold": terms["threshold"],
            "rounds_run": (self.turns - 1) // len(self.order) // len(PHASES) + 1,
            "review": self.opening["review"] if decision == "escalate" else None,
        }  # fmt: skip
        self.compare(16, data, **self.decision)

    def take_close(self, data: Json) -> None:
        """Close the debate."""
        outcome, reason = ("failed", "prompt_refused") if self.refused else ("complete", "")
        if self.decision:
            spent = self.decision["rule"] == "max_rounds_exhausted"
            reason = "max_rounds_exhausted" if spent else "votes_reached"
        self.compare(16, data, outcome=outcome, reason=reason)
        self.closed = True

    def walk(self, events: list[Json]) -> None:
        """Take the lines one after another, up to the first that is not due."""
        for place, event in enumerate(events, 1):
            try:
                self.take(place, event["type"], event["data"])
            except NotDue as reason:
                self.report("9.not_due", f"the line is not due: {reason}", None, event["type"])
                return
        self.ended = True


ENDING = ("call.answered", "call.failed", "debate.resumed")  # not due by the schedule alone
ABANDONING = ("call.failed", "debate.resumed")
TAKERS: dict[str, Callable[[Walk, Json], None]] = {
    "debate.resumed": Walk.take_resumed,
    "call.started": Walk.take_started,
    "call.refused": Walk.take_refused,
    "call.answered": Walk.take_answered,
    "call.failed": Walk.take_failed,
    "turn.recorded": Walk.take_turn,
    "turn.forfeited": Walk.take_forfeit,
    "votes.counted": Walk.take_count,
    "decision.reached": Walk.take_decision,
    "debate.closed": Walk.take_close,
}


# ---------------------------------------------------------------- the result (§10, §16)


def verify(files: Texts, trust: list[TrustedKey]) -> dict[str, Json]:
    """Do checks 2 to 16 on the files of an export."""
    note = read_note(files["SHA256SUMS"]) if "SHA256SUMS" in files else None
    findings, withheld = check_manifest(files, note)
    lines = read_lines(files["events.jsonl"])
    opening = lines.events[0] if lines.events else {"type": None, "at": None, "debate": None}
    opened = opening["data"] if opening["type"] == "debate.opened" else None
    policies, policy = folder(files, "policies"), None
    notes = [("manifest", "export", note)]
    if opened and opened["policy"] is not None:
        policy = read_policy(opened["policy"], policies)
        notes.append(("policy", "approval", policy[0] if policy else None))
    at = opening["at"] if opened else None
    broken, signed, signers = check_signatures(notes, trust, at)
    findings += broken + lines.findings
    findings += check_chain(lines.total, lines.events, lines.hashes)
    kept_back = {name.removeprefix("blobs/") for name in withheld if name.startswith("blobs/")}
    blobs, texts, named = check_blobs(lines, folder(files, "blobs"), kept_back)
    findings += blobs
    walk = Walk(texts, policy[1] if policy else None)
    if not lines.findings and lines.events:
        walk.walk(lines.events)
        findings += walk.findings
        findings += check_templates(opened, folder(files, "templates"), policies) if opened else ()
    findings.sort(key=lambda finding: (finding.seq, finding.check, finding.code))
    evidence = {
        1: f"{len(files)} files, all of which belong there", 2: f"{len(files)} files as listed",
        3: signers, 8: f"{len(texts)} of {named} texts at hand, each as recorded",
    }  # fmt: skip
    evidence |= evidence_of(lines) | evidence_of_walk(walk, lines)
    unchecked = set() if signed else {3}
    unchecked |= {12, 14, 16} if walk.gone_replies else set()
    unchecked |= set() if walk.ended else set(WALKED)
    gone = f"{walk.gone_votes} of {walk.turns} votes unchecked"
    return {
        "debate": opening["debate"], "entries": lines.total, "open": not walk.closed,
        "level": None if findings else int(signed), "verdict": verdict(findings, signed),
        "unchecked": gone if walk.gone_votes else "",
        "checks": judge(findings, evidence, unchecked),
        "findings": [finding._asdict() for finding in findings],
    }  # fmt: skip


def refused(finding: Finding) -> dict[str, Json]:
    """Return the result of a container that was refused: nothing else is looked at."""
    evidence = dict.fromkeys(range(1, len(NAMES) + 1), "not reached")
    return {
        "debate": None, "entries": 0, "open": True, "level": None, "verdict": "ALTERED",
        "unchecked": "", "checks": judge([finding], evidence, set(range(2, len(NAMES) + 1))),
        "findings": [finding._asdict()],
    }  # fmt: skip


def folder(files: Texts, name: str) -> dict[str, bytes]:
    """Return the files of one folder of the export, by their hashes."""
    prefix = f"{name}/"
    return {path.removeprefix(prefix): files[path] for path in files if path.startswith(prefix)}


def verdict(findings: list[Finding], signed: bool) -> str:
    """Return the words of the level that is reached."""
    if findings:
        return "ALTERED"
    return "INTACT" if signed else "SELF-CONSISTENT, SIGNER UNKNOWN"


def evidence_of(lines: Lines) -> dict[int, str]:
    """Say what checks 4 to 7 rest on."""
    total, linked = lines.total, len(lines.events)
    times = [event["at"] for event in (*lines.events[:1], *lines.events[-1:])]
    return {
        4: f"{total} lines spelled canonically",
        5: f"{linked} of {total} lines linked in order",
        6: f"times never go back, {' to '.join(times)}",
        7: f"{total} lines, each an event of a known type",
    }


def evidence_of_walk(walk: Walk, lines: Lines) -> dict[int, str]:
    """Say what checks 9 to 16 rest on, or why they were not reached."""
    if not walk.ended:
        reason = "a line was rejected" if lines.findings else "a line was not due"
        return dict.fromkeys(WALKED, f"not reached: {reason if lines.total else 'no lines'}")
    replies, started = walk.seen["call.answered"], walk.seen["call.started"]
    outcome = "refused" if walk.refused else "no decision yet"
    if walk.decision:
        outcome = f"{walk.decision['decision']} by {walk.decision['rule']}, derived again"
    return {
        9: f"{walk.turns} turns and {started} calls, each due when it was written",
        10: "templates, reply schema and policy as the opening names them",
        11: f"{started} prompts derived again",
        12: f"{replies - walk.gone_replies} of {replies} replies read again",
        13: "the replies of this format quote no documents",
        14: f"{walk.counts} counts derived again",
        15: f"costs of {replies + walk.seen['call.failed']} calls derived again",
        16: outcome,
    }


def judge(
    findings: list[Finding], evidence: Mapping[int, str], unchecked: Collection[int]
) -> list[dict[str, Json]]:
    """Give each check its status: what has findings fails, whatever else it is."""
    checks = []
    for number, name in enumerate(NAMES, 1):
        told = [finding.message for finding in findings if finding.check == number]
        more = f" ({len(told)} findings)" if len(told) > 1 else ""
        status = "fail" if told else "unchecked" if number in unchecked else "pass"
        text = f"{told[0]}{more}" if told else evidence[number]
        checks.append({"number": number, "name": name, "status": status, "evidence": text})
    return checks


# ---------------------------------------------------------------- the command line

ACTING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def inert(text: str) -> str:
    """Write every character that could act on a terminal as `<U+XXXX>`."""
    return ACTING.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)


def as_text(result: dict[str, Json], asked: int) -> str:
    """Write the result for a reader: a line a check, the findings, the verdict last."""
    lines = []
    for check in result["checks"]:
        status = "FAIL" if check["status"] == "fail" else check["status"]
        lines.append(f"{check['number']:2}  {check['name']:<9}  {status:<11}  {check['evidence']}")
    for finding in result["findings"]:
        where = f"line {finding['seq']}" if finding["seq"] else "the record"
        lines.append(f"{finding['code']} at {where}: {finding['message']}")
        for label in ("expected", "found"):
            if finding[label] is not None:
                value = json.dumps(finding[label], ensure_ascii=False)
                lines.append(f"    {label:<8}  {value}")
    reached = "none" if result["level"] is None else result["level"]
    gone = f", {result['unchecked']}" if result["unchecked"] else ""
    lines.append(f"{result['verdict']}{gone} (level asked for: {asked}; level reached: {reached})")
    return "\n".join(map(inert, lines))


def default_trust() -> Path | None:
    """Return the trust file of `HANSARD_HOME`, where there is one."""
    try:
        home = os.environ.get("HANSARD_HOME")
        path = (Path(home) if home else Path.home() / ".config" / "hansard") / "trust.json"
        return path if path.exists() else None
    except (OSError, RuntimeError, ValueError):
        return None


def arguments(words: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="verify.py",
        description="Verify the exported record of one debate.",
        epilog="Exit codes: 0 the level asked for is reached, 1 it is not, 2 wrong use.",
    )
    parser.add_argument("export", metavar="EXPORT", help="a zip or a folder")
    parser.add_argument("--trust", metavar="FILE", help="the keys that you trust")
    parser.add_argument("--since", metavar="CHECKPOINT", help="not supported yet")
    parser.add_argument("--require-level", type=int, choices=(0, 1, 2), default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser.parse_args(words)


def run(options: argparse.Namespace) -> dict[str, Json]:
    """Verify what the command line asks for."""
    if options.since is not None:
        raise CannotOpen("--since needs a register, and this version reads none")
    path = Path(options.trust) if options.trust is not None else default_trust()
    trust = read_trust(path) if path is not None else []
    try:
        return verify(open_export(Path(options.export)), trust)
    except Refused as reason:
        return refused(reason.finding)


def main(words: list[str] | None = None) -> int:
    """Verify one export; return the exit code."""
    options = arguments(words)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        result = run(options)
    except CannotOpen as reason:
        print(inert(f"verify.py: {reason}"), file=sys.stderr)
        return 2
    asked = options.require_level
    try:
        print(json.dumps(result, indent=2) if options.json else as_text(result, asked), flush=True)
    except BrokenPipeError:  # nobody reads on, but the exit code still counts
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0 if result["level"] is not None and result["level"] >= asked else 1


if __name__ == "__main__":
    sys.exit(main())
