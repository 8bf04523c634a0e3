"""Check 17: proofs that a record's first and latest entry are lines of a register (§19)."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from conformance_kit.asked import asked as gate_alone
from conformance_kit.case import Case, anchored, bad, good, group, unknown
from conformance_kit.debates import decided
from conformance_kit.exports import files_of, malleable, seal
from conformance_kit.records import KEYS, STRANGER, Files, Record, digest, signer, trust
from hansard.record import checkpoint as checkpoints
from hansard.record import note, tree
from hansard.record.checkpoint import Head
from hansard.record.note import Signer, witness_key
from hansard.record.register import Kind, Line, key_hash, tag

LOG = KEYS["log"]
WITNESSES = [signer(f"example.net/witness-{number}") for number in (1, 2, 3)]
AT = 1_767_606_000  # 2026-01-05T09:40:00Z, after the last entry
OTHERS = ["0b4ad1f3-9a64-4d4b-8f43-3d0e0a5b7c21", "7c1d4f0e-5f0b-4c57-9d0e-2f7c0f4f7c11"]


@dataclass(frozen=True)
class Register:
    """A register of some lines, and the one checkpoint of it that proofs are made under."""

    lines: Sequence[Line]
    origin: str = LOG.name
    by: Signer = LOG
    change: Callable[[bytes], bytes] = bytes  # of the checkpoint

    def head(self) -> Head:
        """Return what its checkpoint states."""
        edge = tree.Edge()
        for line in self.lines:
            edge.add(line.leaf)
        return Head(self.origin, edge.size, edge.root())

    def checkpoint(self) -> bytes:
        """Return its checkpoint."""
        return self.change(note.sign(self.head().text(), self.by))

    def proof(self, index: int) -> bytes:
        """Return the proof of a line."""
        stored: list[bytes] = []
        for line in self.lines:
            stored += tree.added(line.index, line.leaf, tree.reader(stored))
        hashes = tree.inclusion(index, len(self.lines), tree.reader(stored))
        return checkpoints.write_proof(self.lines[index], hashes, self.checkpoint())


def last_of(record: Record) -> str:
    """Return the hash of a record's last entry."""
    return digest(record.lines[-1])


def register_of(record: Record, **fields: str) -> Register:
    """Return a register in which a record is among others, its lines perhaps with other fields.

    It was opened in line 2, and its latest version is in line 4, of 5.
    """
    mine, kind = tag(record.event(1)["debate"]), record.event(1)["type"]
    first: Kind = "opened" if kind == "debate.opened" else "gate"
    given = {"opened": digest(record.lines[0]), "head": last_of(record), "tag": mine} | fields
    key = key_hash(str(LOG.key))
    return Register(
        [
            Line(0, "key_approved", tag(key), key),
            Line(1, first, given["tag"], given["opened"]),
            Line(2, "opened", tag(OTHERS[0]), digest(b"another")),
            Line(3, "head", given["tag"], given["head"]),
            Line(4, "opened", tag(OTHERS[1]), digest(b"a third")),
        ]
    )


def proven(record: Record, opened: bytes | None, head: bytes | None) -> Files:
    """Return an export with these proofs, where they are given."""
    proofs = {"register/opened.proof": opened, "register/head.proof": head}
    return seal(
        files_of(record) | {name: body for name, body in proofs.items() if body is not None}
    )


def logged(record: Record, register: Register, opened: int = 1, head: int = 3) -> Files:
    """Return an export with the proofs of these two lines."""
    return proven(record, register.proof(opened), register.proof(head))


def witnessed(*, needed: int, **times: dict[str, str]) -> bytes:
    """Return a trust file with the witnesses, perhaps with times, of whom some are needed."""
    given = json.loads(trust())
    for number, witness in enumerate(WITNESSES, 1):
        row = {"role": "witness", "key": str(witness_key(witness))}
        given["keys"].append(row | times.get(f"w{number}", {}))
    return json.dumps({**given, "witnesses": needed}).encode()


def cosigning(*witnesses: Signer, at: int = AT) -> Callable[[bytes], bytes]:
    """Return what adds a cosignature of each to a checkpoint."""

    def change(data: bytes) -> bytes:
        for witness in witnesses:
            data = checkpoints.cosign(data, witness, at)
        return data

    return change


def line_with(change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Return what changes the last signature line of a checkpoint."""
    return lambda data: data[: -len(last_line(data))] + change(last_line(data))


def last_line(data: bytes) -> bytes:
    """Return the last line of a note."""
    return data.splitlines(keepends=True)[-1]


@group
def places() -> Iterator[Case]:
    """Records that are in a register."""
    record = decided()
    register = register_of(record)
    yield good(
        "register-first-and-latest-line",
        "Two proofs under one checkpoint: the record was opened in line 2 of 5, and its latest "
        "version is in line 4. What the other lines are, nobody can tell from here.",
        logged(record, register),
    )
    asked = gate_alone()
    yield good(
        "register-one-line",
        "The record has one entry, a gate's answer, and the register has one line, which is both "
        "its first and its latest. The proofs are empty.",
        logged(asked, Register([replace(register_of(asked).lines[1], index=0)]), 0, 0),
    )
    yield good(
        "register-origin-of-a-store",
        "The origin is the name of the log key, a slash and more: one key may serve several "
        "stores, each with a register of its own.",
        logged(record, replace(register, origin=f"{LOG.name}/2")),
    )
    yield good(
        "register-gate",
        "The record of a gate: its first line is of the kind gate.",
        logged(asked, register_of(asked)),
    )
    yield bad(
        "register-gate-opened",
        "17.kind",
        0,
        "The record of a gate, whose first line is of the kind opened.",
        logged(asked, replace_line(register_of(asked), 1, kind="opened")),
    )


def replace_line(register: Register, index: int, **fields: str) -> Register:
    """Return a register with another line in one place."""
    lines = list(register.lines)
    lines[index] = replace(lines[index], **fields)  # type: ignore[arg-type]
    return replace(register, lines=lines)


@group
def signers() -> Iterator[Case]:
    """Who signed the checkpoint (§14)."""
    record = decided()
    register = register_of(record)
    yield unknown(
        "register-log-unknown",
        "A stranger's key signed the checkpoint, in the name of the log key.",
        logged(record, replace(register, by=signer(LOG.name, "stranger"))),
    )
    yield unknown(
        "register-signed-by-the-export-key",
        "The export key signed the checkpoint, under an origin of its own name: it is trusted, "
        "but not as log key.",
        logged(record, replace(register, by=KEYS["export"], origin=KEYS["export"].name)),
    )
    for name, origin in (
        ("another", "example.com/log"),
        ("longer", f"{LOG.name}2"),
        ("shorter", "example.org"),
    ):
        yield unknown(
            f"register-origin-{name}",
            "The log key signed the checkpoint of a register whose origin neither is its name nor "
            "begins with it and a slash.",
            logged(record, replace(register, origin=origin)),
        )
    yield unknown(
        "register-log-key-not-yet-in-force",
        "The log key came into force after the opening.",
        logged(record, register),
        trust(log=("2026-01-05T09:00:00.001001Z", None)),
    )
    yield bad(
        "register-checkpoint-not-signed",
        "3.checkpoint",
        0,
        "The checkpoint has a signature line of the log key with another signature.",
        logged(record, replace(register, change=malleable)),
    )


@group
def witnesses() -> Iterator[Case]:
    """Who cosigned the checkpoint (§14, §16)."""
    record, (one, two, _) = decided(), WITNESSES
    register = register_of(record)

    def seen(*by: Signer, at: int = AT) -> Files:
        return logged(record, replace(register, change=cosigning(*by, at=at)))

    yield anchored(
        "register-cosigned-by-enough",
        "Two witnesses cosigned the checkpoint, and two are needed: level 2.",
        seen(one, two),
        witnessed(needed=2),
    )
    yield good(
        "register-cosigned-by-too-few",
        "One witness cosigned the checkpoint, and two are needed: level 1.",
        seen(one),
        witnessed(needed=2),
    )
    yield good(
        "register-cosigned-and-none-needed",
        "A witness cosigned the checkpoint, but the trust file does not say how many are needed.",
        seen(one),
        witnessed(needed=0),
    )
    yield good(
        "register-cosigned-twice-by-one",
        "One witness cosigned the checkpoint twice, and two are needed: it counts once.",
        logged(
            record,
            replace(register, change=lambda data: cosigning(one, at=AT + 1)(cosigning(one)(data))),
        ),
        witnessed(needed=2),
    )
    namesake = Signer("example.net/namesake", one.private)
    given = json.loads(witnessed(needed=2))
    given["keys"].append({"role": "witness", "key": str(witness_key(namesake))})
    yield good(
        "register-cosigned-under-two-names",
        "One public key cosigned under two names, both trusted, and two are needed: it counts "
        "once.",
        seen(one, namesake),
        json.dumps(given).encode(),
    )
    yield good(
        "register-cosigned-by-a-stranger",
        "A witness that the trust file does not name cosigned the checkpoint.",
        seen(signer("stranger.example/witness")),
        witnessed(needed=1),
    )
    moment = "2026-01-05T09:40:00.000000Z"
    yield anchored(
        "register-witness-in-force-from-its-time",
        "The witness came into force at the very time of its cosignature, after the opening.",
        seen(one),
        witnessed(needed=1, w1={"from": moment}),
    )
    for name, times in (
        ("before-its-time", {"from": "2026-01-05T09:40:00.000001Z"}),
        ("after-its-time", {"until": moment}),
        ("revoked", {"revoked": moment}),
    ):
        yield good(
            f"register-witness-{name}",
            "The witness was not in force, or was revoked, at the time of its cosignature.",
            seen(one),
            witnessed(needed=1, w1=times),
        )
    yield anchored(
        "register-witness-revoked-later",
        "The witness was revoked a microsecond after its cosignature.",
        seen(one),
        witnessed(needed=1, w1={"revoked": "2026-01-05T09:40:00.000001Z"}),
    )
    yield anchored(
        "register-cosigned-in-the-last-year",
        "The time of the cosignature is the last second of the year 9999.",
        seen(one, at=253_402_300_799),
        witnessed(needed=1),
    )
    yield good(
        "register-cosigned-after-the-last-year",
        "The cosignature is dated a second later: it counts for nothing.",
        seen(one, at=253_402_300_800),
        witnessed(needed=1),
    )
    yield bad(
        "register-cosigned-at-no-time",
        "3.checkpoint",
        0,
        "The time of a known witness's cosignature is above 2^63 - 1.",
        seen(one, at=1 << 63),
        witnessed(needed=1),
    )
    bare = base64.b64encode(witness_key(one).id + one.sign(register.head().text()))
    plain = f"— {one.name} ".encode() + bare + b"\n"
    yield bad(
        "register-cosigned-without-a-time",
        "3.checkpoint",
        0,
        "A known witness signed the checkpoint's text as a note is signed: that is no cosignature.",
        logged(
            record,
            replace(
                register,
                change=lambda data: data + plain,
            ),
        ),
        witnessed(needed=1),
    )
    yield bad(
        "register-cosignature-of-another-time",
        "3.checkpoint",
        0,
        "The time of a known witness's cosignature was altered.",
        logged(record, replace(register, change=lambda data: redated(cosigning(one)(data)))),
        witnessed(needed=1),
    )
    yield good(
        "register-unknown-signatures",
        "Other lines of the checkpoint are of five bytes and of 4,096: algorithms that are not "
        "known here.",
        logged(
            record,
            replace(
                register,
                change=lambda data: data + b"".join(stranger_line(size) for size in (5, 4096)),
            ),
        ),
    )


def stranger_line(size: int) -> bytes:
    """Return a signature line of an unknown key whose base64 holds as many bytes."""
    return f"— {STRANGER.name} ".encode() + base64.b64encode(bytes(size)) + b"\n"


def redated(data: bytes) -> bytes:
    """Return a checkpoint whose last cosignature states a second later."""
    spelled = last_line(data).split(b" ")[2].rstrip(b"\n")
    body = base64.b64decode(spelled)
    seconds = int.from_bytes(body[4:12], "big") + 1
    return data.replace(
        spelled, base64.b64encode(body[:4] + seconds.to_bytes(8, "big") + body[12:])
    )


@group
def mismatches() -> Iterator[Case]:
    """Proofs that are not of this record, or do not hold."""
    record = decided()
    register = register_of(record)
    opened, head = register.proof(1), register.proof(3)
    yield bad(
        "register-head-proof-missing",
        "17.missing",
        0,
        "The proof of the first line is there without that of the latest.",
        proven(record, opened, None),
    )
    yield bad(
        "register-opened-proof-missing",
        "17.missing",
        0,
        "The proof of the latest line is there without that of the first.",
        proven(record, None, head),
    )
    hashes = head.split(b"\n")[3:6]
    yield bad(
        "register-proof-of-another-tree",
        "17.proof",
        0,
        "The first hash of the proof is another one: it leads to another root.",
        proven(record, opened, head.replace(hashes[0], hashes[1])),
    )
    yield bad(
        "register-proof-too-short",
        "17.proof",
        0,
        "The proof lacks its last hash.",
        proven(record, opened, head.replace(hashes[2] + b"\n", b"")),
    )
    yield bad(
        "register-proof-too-long",
        "17.proof",
        0,
        "The proof has a hash too many.",
        proven(record, opened, head.replace(hashes[2], hashes[2] + b"\n" + hashes[2])),
    )
    yield bad(
        "register-line-beyond-the-size",
        "17.proof",
        0,
        "The line's index is the size of the checkpoint, which is one too many.",
        proven(record, opened, relined(head, replace(register.lines[3], index=5))),
    )
    more = replace(register, lines=[*register.lines, Line(5, "opened", tag("x"), "0" * 64)])
    yield bad(
        "register-two-checkpoints",
        "17.checkpoint",
        0,
        "The two proofs are of different checkpoints of one register, each of which holds.",
        proven(record, opened, more.proof(3)),
    )
    forked = replace_line(register, 4, head=digest(b"a fourth"))
    yield bad(
        "register-two-checkpoints-of-one-size",
        "17.checkpoint",
        0,
        "The two proofs are of checkpoints of one size with different roots: the register was "
        "forked, and both notes prove it.",
        proven(record, opened, forked.proof(3)),
    )
    yield bad(
        "register-opened-is-no-opening",
        "17.kind",
        0,
        "The proof of the first line is of a line of the kind head.",
        logged(record, replace_line(register, 1, kind="head")),
    )
    yield bad(
        "register-head-is-an-opening",
        "17.kind",
        0,
        "The proof of the latest line is of another line of the kind opened.",
        logged(record, replace_line(register, 3, kind="opened")),
    )
    yield bad(
        "register-latest-before-the-first",
        "17.order",
        0,
        "The latest line stands before the first.",
        logged(
            record,
            replace(
                register,
                lines=[
                    register.lines[0],
                    replace(register.lines[3], index=1),
                    register.lines[2],
                    replace(register.lines[1], index=3),
                    register.lines[4],
                ],
            ),
            3,
            1,
        ),
    )
    yield bad(
        "register-line-of-another-debate",
        "17.tag",
        0,
        "Both lines have the tag of another debate.",
        logged(record, register_of(record, tag=tag(OTHERS[0]))),
    )
    yield bad(
        "register-line-of-a-policy",
        "17.kind",
        0,
        "The proof of the latest line is of a line about a policy.",
        logged(
            record,
            replace_line(register, 3, kind="policy_approved", head="0" * 64, tag=tag("0" * 64)),
        ),
    )
    yield bad(
        "register-of-another-opening",
        "17.opened",
        0,
        "The first line names another entry than the record's first: the debate was recorded anew.",
        logged(record, register_of(record, opened=digest(b"another opening"))),
    )
    yield bad(
        "register-of-an-earlier-entry",
        "17.head",
        0,
        "The latest line names an entry before the last: the register was not told of the last.",
        logged(record, register_of(record, head=digest(record.lines[-2]))),
    )
    yield bad(
        "register-superseded",
        "17.superseded",
        0,
        "The last entries were left out, and the manifest signed anew: the latest line names an "
        "entry that is not here.",
        logged(record.without(len(record.lines)), register),
    )
    torn = record.put(len(record.lines), b"{}")
    yield bad(
        "register-of-a-record-that-cannot-be-read",
        "7.schema",
        len(record.lines),
        "An entry is rejected: the lines of the register are not compared with the record.",
        logged(torn, register_of(record)),
    )


def relined(proof: bytes, line: Line) -> bytes:
    """Return a proof with another line, at the index that this says."""
    header, _, _, *rest = proof.split(b"\n")
    return b"\n".join(
        [header, b"extra " + base64.b64encode(line.data), b"index %d" % line.index, *rest]
    )


@group
def spellings() -> Iterator[Case]:
    """What is not a proof, and what just is one."""
    record = decided()
    register = register_of(record)
    head, line = register.proof(3), register.lines[3]
    extra = base64.b64encode(line.data)
    row, checkpoint = head.split(b"\n")[3], register.checkpoint()
    root = base64.b64encode(register.head().root)
    last = checkpoint.splitlines(keepends=True)[-1]

    def signed(text: bytes) -> bytes:
        return head.replace(checkpoint, note.sign(text, LOG))

    name = LOG.name.encode()
    for key, why, body in (
        ("empty", "is empty", b""),
        ("version", "is of another version", head.replace(b"@v1", b"@v2")),
        ("without-its-line", "has no line", head.replace(b"extra " + extra + b"\n", b"")),
        ("line-spelled-otherwise", "has a line with a space in it",
         head.replace(extra, base64.b64encode(line.data.replace(b",", b", ")))),
        ("line-not-json", "has a line that is none", head.replace(extra, base64.b64encode(b"{}"))),
        ("line-of-an-unknown-kind", "has a line of a kind that there is not",
         head.replace(extra, base64.b64encode(line.data.replace(b'"head",', b'"heads",')))),
        ("line-of-a-policy-with-another-tag", "has a line about a policy with another tag",
         head.replace(extra, base64.b64encode(replace(line, kind="policy_revoked").data))),
        ("line-in-loose-base64", "has a line whose base64 does not encode to itself again",
         head.replace(extra, extra + b"=")),
        ("index-of-another-line", "states another index than its line",
         head.replace(b"\nindex 3\n", b"\nindex 2\n")),
        ("index-with-a-zero", "states an index with a leading zero",
         head.replace(b"\nindex 3\n", b"\nindex 03\n")),
        ("hash-in-loose-base64", "has a hash whose base64 does not encode to itself again",
         head.replace(row, row[:-2] + bytes([row[-2] + 1]) + b"=")),
        ("hash-of-another-length", "has a hash of 31 bytes",
         head.replace(row, base64.b64encode(bytes(31)))),
        ("of-65-hashes", "has 65 hashes", head.replace(row, b"\n".join([row] * 63))),
        ("without-an-empty-line", "has no empty line before the checkpoint",
         head.replace(b"\n\n" + name, b"\n" + name)),
        ("without-a-checkpoint", "has no checkpoint", head.replace(checkpoint, b"")),
        ("checkpoint-not-signed", "has a checkpoint without a signature line",
         head.replace(checkpoint, register.head().text() + b"\n")),
        ("checkpoint-with-17-lines", "has a checkpoint with 17 signature lines",
         head.replace(checkpoint, checkpoint + last * 16)),
        ("checkpoint-with-a-short-line", "has a checkpoint with a signature line of four bytes",
         head.replace(checkpoint, checkpoint + stranger_line(4))),
        ("checkpoint-with-more-text", "has a checkpoint with a fourth line",
         signed(register.head().text() + b"more\n")),
        ("checkpoint-size-with-a-zero", "has a checkpoint whose size has a leading zero",
         signed(b"%s\n05\n%s\n" % (name, root))),
        ("checkpoint-too-many-lines", "has a checkpoint of 2^53 lines",
         signed(b"%s\n%d\n%s\n" % (name, 1 << 53, root))),
        ("checkpoint-root-too-short", "has a checkpoint with a root of 31 bytes",
         signed(b"%s\n5\n%s\n" % (name, base64.b64encode(bytes(31))))),
        ("checkpoint-without-an-origin", "has a checkpoint without an origin",
         signed(b"\n5\n%s\n" % root)),
        ("checkpoint-too-large", "has a checkpoint of more than 65,536 bytes",
         head.replace(checkpoint, padded(checkpoint, 65_537))),
    ):  # fmt: skip
        yield bad(
            f"register-proof-{key}",
            "17.malformed",
            0,
            f"The proof of the latest line {why}.",
            proven(record, register.proof(1), body),
        )
    full = replace(register, change=lambda data: padded(data, 65_536))
    yield good(
        "register-proof-checkpoint-just-fits",
        "The checkpoint has 65,536 bytes, most of them in a signature line of an unknown key.",
        logged(record, full),
    )
    sixteen = replace(register, change=lambda data: data + last * 15)
    yield good(
        "register-proof-checkpoint-with-16-lines",
        "The checkpoint has 16 signature lines, all of them the log key's.",
        logged(record, sixteen),
    )


def padded(checkpoint: bytes, size: int) -> bytes:
    """Return a checkpoint of exactly this size: a line of an unknown key fills it."""
    left = size - len(checkpoint) - len("—  \n".encode()) - len(STRANGER.name)
    name = b"x" * (left % 4) + STRANGER.name.encode()
    body = base64.b64encode(bytes(left // 4 * 3))
    return checkpoint + "— ".encode() + name + b" " + body + b"\n"
