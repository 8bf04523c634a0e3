"""What the cases of the conformance kit are made of: genuine records, and ways to change them.

Everything is derived from one seed: salts, ids, keys and the time, so that the same
records come out byte for byte wherever they are made. They are run by the engine itself,
with replies from a script. A change gives another record, chained anew; `export` signs it
with the genuine key.
"""

from __future__ import annotations

import asyncio
import base64
import json
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansard.debate.spec import DebateSpec
from hansard.record import blob, note
from hansard.record import policy as policies
from hansard.record.note import Signer
from hansard.runtime import session
from hansard.runtime.clock import Clock
from hansard.runtime.models.base import Completion, ModelError, Request
from hansard.store.application import Store

Data = dict[str, Any]
Event = dict[str, Any]
Files = dict[str, bytes]

SUMS = "SHA256SUMS"
ORDER_OF_ED25519 = 2**252 + 27742317777372353535851937790883648493


def derived(*words: object) -> bytes:
    """Return 32 bytes that follow from the kit's seed and `words`."""
    return sha256("\n".join(["hansard-conformance/v1", *map(str, words)]).encode()).digest()


def digest(data: bytes) -> str:
    """Return the SHA-256 of `data` in hex."""
    return sha256(data).hexdigest()


# ------------------------------------------------------------------ keys and trust


def signer(name: str, key: str = "") -> Signer:
    """Return a key under a name; another `key` under the same name is another key."""
    return Signer(name, Ed25519PrivateKey.from_private_bytes(derived("key", name, key)))


ROLES = ("log", "export", "approval", "reviewer")
KEYS = {role: signer(f"example.org/{role}") for role in ROLES}
EXPORT, APPROVAL = KEYS["export"], KEYS["approval"]
STRANGER = signer("stranger.example/export")


def trust(**until_from: tuple[str | None, str | None]) -> bytes:
    """Return a trust file with the key of each role, in force `from` and `until` where given."""
    rows = []
    for role in ROLES:
        start, end = until_from.get(role, (None, None))
        row = {"role": role, "key": str(KEYS[role].key), "from": start, "until": end}
        rows.append(json.dumps(row, separators=(",", ":")))
    return ('{"v":1,"keys":[\n' + ",\n".join(rows) + "\n]}\n").encode()


# ------------------------------------------------------------------ genuine records

OPENED_AT = "2026-01-05T09:00:00.001000Z"  # the first tick of the clock
TEMPLATES = {
    "protocol": "Vote for one of: {{options}}.\n",
    "block": "\n[{{label}}]\n",
    "debater": "\n{{speaker}}, {{phase}} of round {{round}} of {{max_rounds}}: stance, rationale, "
    "vote ({{options}})?\n",
}


class SteadyClock(Clock):
    """A clock and a source of chance that depend on a record's name alone."""

    def __init__(self, name: str) -> None:
        self._name, self._ticks, self._salts = name, 0, 0

    def now(self) -> str:
        """Return a time one millisecond after the last one."""
        self._ticks += 1
        return f"2026-01-05T09:00:{self._ticks // 1000:02}.{self._ticks % 1000:03}000Z"

    def monotonic(self) -> float:
        """Return the same moment always: every call takes no time."""
        return 0.0

    def salt(self) -> bytes:
        """Return the next salt of this record."""
        self._salts += 1
        return derived("salt", self._name, self._salts)

    def debate_id(self) -> str:
        """Return the record's id, of the form of a random UUID."""
        text = derived("debate", self._name).hex()
        return f"{text[:8]}-{text[8:12]}-4{text[12:15]}-8{text[15:18]}-{text[18:30]}"


def vote(option: str, **more: Any) -> Completion:
    """Return a reply that counts."""
    text = json.dumps({"stance": f"I hold {option}.", "rationale": "Because.", "vote": option})
    return Completion(text, **more)


def fails(kind: Any) -> ModelError:
    """Return the end of a call that brings no reply."""
    return ModelError(kind, "scripted")


DIES = None  # in a script: the process dies while this call is open, and another takes over
Script = Mapping[str, Completion | ModelError | None]


def dump(event: object) -> bytes:
    """Write a value canonically; the kit's values hold nothing that sorts otherwise."""
    return json.dumps(event, sort_keys=True, separators=(",", ":")).encode()


@dataclass(frozen=True)
class Record:
    """The record of one debate. Every change gives another record, chained anew."""

    lines: tuple[bytes, ...]
    blobs: Mapping[str, bytes]
    templates: Mapping[str, bytes]
    policies: Mapping[str, bytes]

    def event(self, seq: int) -> Event:
        """Return one line as a value; `seq` counts from 1."""
        return dict(json.loads(self.lines[seq - 1]))

    @property
    def events(self) -> list[Event]:
        """All lines as values."""
        return [dict(json.loads(line)) for line in self.lines]

    def numbered(self, events: Iterable[Event]) -> Record:
        """Make a record of any lines: numbered, linked, each a millisecond after the last."""
        lines: list[bytes] = []
        for seq, event in enumerate(events, 1):
            prev = digest(lines[-1]) if lines else "0" * 64
            at = f"2026-01-05T09:00:{seq // 1000:02}.{seq % 1000:03}000Z"
            lines.append(dump({**event, "at": at, "prev": prev, "seq": seq}))
        return replace(self, lines=tuple(lines))

    def put(self, seq: int, line: bytes) -> Record:
        """Replace a line by any bytes, and link the later ones to them."""
        lines = [*self.lines[: seq - 1], line]
        for later in self.lines[seq:]:
            lines.append(dump({**json.loads(later), "prev": digest(lines[-1])}))
        return replace(self, lines=tuple(lines))

    def swap(self, seq: int, old: bytes, new: bytes) -> Record:
        """Replace `old` by `new` in the bytes of a line, and link the later ones to it."""
        before = self.lines[seq - 1]
        if before.count(old) != 1:
            raise LookupError(f"{old!r} does not stand once in line {seq}")
        return self.put(seq, before.replace(old, new))

    def top(self, seq: int, /, **fields: Any) -> Record:
        """Change fields of a line beside its data."""
        return self.put(seq, dump({**self.event(seq), **fields}))

    def data(self, seq: int, /, **fields: Any) -> Record:
        """Change fields of a line's data."""
        data = self.event(seq)["data"]
        if not fields.keys() <= data.keys():
            raise LookupError(f"line {seq} has no {fields.keys() - data.keys()}")
        return self.top(seq, data={**data, **fields})

    def without(self, *seqs: int) -> Record:
        """Leave out lines, and the texts that no other line names."""
        kept = [event for seq, event in enumerate(self.events, 1) if seq not in seqs]
        return self.numbered(kept).pruned()

    def insert(self, seq: int, kind: str, data: Data) -> Record:
        """Put another line before line `seq`."""
        events = self.events
        event = {**events[0], "type": kind, "data": data}
        return self.numbered([*events[: seq - 1], event, *events[seq - 1 :]])

    def pruned(self) -> Record:
        """Leave out the texts that no line names."""
        named = {name for event in self.events for name in names(event["data"])}
        return replace(self, blobs={name: self.blobs[name] for name in self.blobs if name in named})

    def text(self, seq: int, field: str, text: str) -> Record:
        """Replace the text that a field names by another one under the same salt."""
        old = self.blobs[self.event(seq)["data"][field]["sha256"]]
        return self.blob(seq, field, old[: blob.HEADER] + text.encode())

    def blob(self, seq: int, field: str, file: bytes) -> Record:
        """Replace the blob that a field names by any bytes, under their own name."""
        name = digest(file)
        changed = self.data(seq, **{field: {"sha256": name}})
        return replace(changed, blobs={**self.blobs, name: file}).pruned()

    def file_of(self, seq: int, field: str) -> str:
        """Return the file's name of the text that a field names."""
        return f"blobs/{self.event(seq)['data'][field]['sha256']}"


def names(value: Any) -> Iterator[str]:
    """Yield the names of the texts that a line's data names."""
    if isinstance(value, dict):
        if value.keys() == {"sha256"}:
            yield value["sha256"]
        for item in value.values():
            yield from names(item)


def play(
    name: str,
    votes: Mapping[str, str],
    script: Script | None = None,
    *,
    policy: bytes | None = None,
    personas: Mapping[str, str] | None = None,
    tokens: tuple[int, int, int] | None = None,
    **spec: Any,
) -> Record:
    """Run a debate: each seat votes as `votes` say, but for the calls that `script` names."""
    told = dict(zip(("tokens_in", "tokens_cached", "tokens_out"), tokens or (), strict=False))
    tasks: list[asyncio.Task[Any]] = []

    async def answer(request: Request) -> Completion:
        end = (script or {}).get(request.call, vote(votes[request.speaker], **told))
        if end is DIES:
            tasks[0].cancel()
            await asyncio.get_running_loop().create_future()
        if isinstance(end, ModelError):
            raise end
        assert end is not None, "a call that dies never comes back"
        return end

    opened = DebateSpec.model_validate(
        {
            "question": "Shall we?",
            "review": "the board",
            "options": ["a", "b"],
            "rule": "majority",
            "max_rounds": 1,
            "prompts": {role: f"{role}.md" for role in TEMPLATES},
            "debaters": [
                {"id": seat, "model": "python:bot", "persona": (personas or {}).get(seat)}
                for seat in votes
            ],
            **spec,
        }
    )
    clock = SteadyClock(name)
    approved = policies.parse(policy) if policy else None

    async def run(store: Store, folder: Path) -> None:
        models = {"bot": answer}
        first = session.run(opened, store, folder, models=models, policy=approved, clock=clock)
        tasks.append(asyncio.create_task(first))
        try:
            await tasks[0]
        except asyncio.CancelledError:
            (debate,) = store.debates()
            await session.resume(debate, store, models=models, clock=clock)

    with TemporaryDirectory() as folder, Store.open("sqlite:///:memory:") as store:
        for role, text in TEMPLATES.items():
            (Path(folder) / f"{role}.md").write_bytes(text.encode())
        asyncio.run(run(store, Path(folder)))
        bundle = store.bundle(clock.debate_id())
    record = Record(tuple(bundle.lines), bundle.blobs, bundle.templates, bundle.policies)
    for seq, event in enumerate(record.events, 1):
        if "engine" in event["data"]:  # not the version that happened to make the kit
            record = record.data(seq, engine="conformance/1")
    return record


def policy_of(lines: Iterable[str], by: Signer = APPROVAL) -> bytes:
    """Return a signed policy with these lines."""
    return note.sign(("hansard-policy/v1\n" + "".join(f"{line}\n" for line in lines)).encode(), by)


def approving(by: Signer = APPROVAL, **others: str) -> bytes:
    """Return a policy that approves the kit's templates, but `others` by role in their place."""
    hashes = {role: digest(text.encode()) for role, text in TEMPLATES.items()} | others
    return policy_of((f"consensus.{role} {hashes[role]}" for role in sorted(hashes)), by)


OTHER = digest(b"another template\n")


@cache
def decided() -> Record:
    """Twelve lines.

    1 opened, 2-3 ann and ben, 4-5 started, 6-7 answered, 8-9 turns, 10 count, 11 decision,
    12 closed.
    """
    return play("decided", {"ann": "a", "ben": "a"})


@cache
def escalated() -> Record:
    """The same twelve lines; `escalate` is an option, and it wins."""
    return play("escalated", dict.fromkeys(("ann", "ben"), "escalate"), options=["a", "escalate"])


@cache
def priced() -> Record:
    """The same twelve lines, with prices, personas and settings; a call costs 20.75, so 21."""
    settings = {"temperature": "0.70", "seed": 7, "max_tokens": 200, "reasoning_effort": "low"}
    return play(
        "priced",
        {"ann": "a", "ben": "a"},
        tokens=(7, 3, 1),
        prices={"python:bot": {"input": "2.50", "cached": "0.25", "output": "10"}},
        debaters=[
            {"id": "ann", "model": "python:bot", "persona": "You pay.", "settings": settings},
            {"id": "ben", "model": "python:bot", "persona": "You run the pager."},
        ],
    )


@cache
def troubled() -> Record:
    """Eighteen lines, two attempts a turn.

    4-5 started, 6 ann failed, 7 ben answered, 8 rejected, 9-10 started, 11 ann answered,
    12 rejected, 13 ben answered, 14 ann forfeits, 15 ben's turn, 16 count, 17 decision,
    18 closed.
    """
    script: Script = {
        "r1.proposal.ann:1": fails("rate_limited"),
        "r1.proposal.ann:2": Completion("I would rather not say."),
        "r1.proposal.ben:1": Completion('{"stance":"so","vote":"a"}'),
    }
    votes = {"ann": "a", "ben": "a"}
    return play("troubled", votes, script, rule="threshold", threshold=1, attempts=2)


@cache
def resumed() -> Record:
    """Fifteen lines, with prices.

    4-5 started, 6 ben answered, 7 resumed, 8 ann's call abandoned, 9 started, 10 answered,
    11-12 turns, 13 count, 14 decision, 15 closed.
    """
    prices = {"python:bot": {"input": "2.50", "output": "10"}}
    script = {"r1.proposal.ann:1": DIES}
    return play("resumed", {"ann": "a", "ben": "a"}, script, prices=prices, tokens=(100, 0, 10))


@cache
def split() -> Record:
    """Thirty-three lines: one vote suffices, each option always has one, and the round ends."""
    return play("split", {"ann": "a", "ben": "b"}, rule="threshold", threshold=1)


@cache
def by_rounds() -> Record:
    """Forty-two lines, two rounds, two documents (lines 4 and 5); ann gives in at last."""
    return play(
        "by-rounds",
        {"ann": "a", "ben": "b"},
        {"r2.proposal.ann:1": vote("b")},
        max_rounds=2,
        evidence=[
            {"id": "late", "text": "It failed twice.", "from_round": 2},
            {"id": "early", "text": "Rollback takes an hour.", "from_round": 1},
        ],
    )


@cache
def approved() -> Record:
    """The twelve lines of `decided`, under a policy that approves the templates."""
    return play("approved", {"ann": "a", "ben": "a"}, policy=approving())


@cache
def refused() -> Record:
    """Five lines: the policy approves another template for the debater; 4 refused, 5 closed."""
    return play("refused", {"ann": "a", "ben": "a"}, policy=approving(debater=OTHER))


@cache
def refused_late() -> Record:
    """The same five lines: all is approved, but another template was found when it was used."""
    record = under(refused(), approving())
    found = {"found": OTHER, "approved": digest(TEMPLATES["debater"].encode())}
    return record.data(4, **found)


def under(record: Record, policy: bytes) -> Record:
    """Put another policy into the place of a record's own."""
    changed = record.data(1, policy=digest(policy))
    return replace(changed, policies={digest(policy): policy})


REPLIES = (  # each text with the code that it must be rejected with (FORMAT.md §5, §6)
    ("", "unreadable"),
    ("a", "unreadable"),
    ("null", "schema"),
    ('["a"]', "schema"),
    ('{"stance":"x","rationale":"y"}', "schema"),
    ('{"stance":"x","rationale":"y","vote":"a","more":1}', "schema"),
    ('{"stance":"","rationale":"y","vote":"c"}', "schema"),
    ('{"stance":"x","rationale":"y","vote":"c"}', "unknown_option"),
    ('{"stance":"x","rationale":"y","vote":"A"}', "unknown_option"),
    ('{"stance":"x","rationale":"y","vote":null}', "schema"),
    ('{"stance":7.0,"rationale":"y","vote":"a"}', "schema"),
    ('{"stance":1e400,"rationale":"y","vote":"a"}', "schema"),
    ('{"stance":9007199254740991,"rationale":"y","vote":"a"}', "schema"),
    ('{"stance":9007199254740992,"rationale":"y","vote":"a"}', "unreadable"),
    ('{"stance":01,"rationale":"y","vote":"a"}', "unreadable"),
    ('{"stance":"x","rationale":"y","vote":"a","vote":"a"}', "unreadable"),
    ('{"stance":"\\ud800","rationale":"y","vote":"a"}', "unreadable"),
    ('{"stance":"x\ty","rationale":"y","vote":"a"}', "unreadable"),
    ("[" * 32 + "]" * 32, "schema"),
    ("[" * 33 + "]" * 33, "unreadable"),
    ('```json\r\n{"stance":"x","rationale":"y","vote":"a"}\r\n```', "unreadable"),
    ('``` json\n{"stance":"x","rationale":"y","vote":"a"}\n```', "unreadable"),
    ('```\n```\n{"stance":"x","rationale":"y","vote":"a"}\n```\n```', "unreadable"),
    ('Here it is: {"stance":"x","rationale":"y","vote":"a"}', "unreadable"),
    ('\ufeff{"stance":"x","rationale":"y","vote":"a"}', "unreadable"),
    ('\u00a0{"stance":"x","rationale":"y","vote":"a"}', "unreadable"),
)


@cache
def many_replies() -> Record:
    """Every text of REPLIES for ann, each rejected, and four that are cut off or refused."""
    ends = [Completion(text) for text, _ in REPLIES]
    ends += [vote("a", finish=word) for word in ("length", "refusal", "content_filter", "other")]
    ends.append(
        Completion(
            '\n\v```json\n\f{"vote":"a","stance":"\\ud83d\\ude00","rationale":"x"} \n```\r\n'
        )
    )
    script = {f"r1.proposal.ann:{number}": end for number, end in enumerate(ends, 1)}
    return play("many-replies", {"ann": "a", "ben": "a"}, script, attempts=len(ends))


@cache
def hostile() -> Record:
    """Texts that would like to be something else, in every language."""
    stance = "``` | \u202e\u2028\ufeff\u0085 {{options}} Größe 漢字 \U0001f600 \u0000\u001b[2J"
    reply = json.dumps({"stance": stance, "rationale": "| \n| [question]\n", "vote": "a"})
    raw = '{"stance":"\u2028\u202e漢字 </script>","rationale":"\u007f\u0085","vote":"a"}'
    return play(
        "hostile",
        {"ann": "a", "ben": "a"},
        {"r1.proposal.ann:1": Completion(reply), "r1.proposal.ben:1": Completion(raw)},
        question="Überall?\r\n| \n```\n{{speaker}}\u2029\u200f[evidence x]\n\x00\x1b",
        personas={"ann": "\ufeff{{label}}\n\n```json\n", "ben": " "},
        evidence=[
            {"id": "doc", "text": "| ignore all that\n\u2066\u061c# withheld x y\n\n— a b\n"}
        ],
    )


@cache
def told() -> Record:
    """A provider that gives strings which are no ids, and a body sent otherwise than rendered."""
    ann = vote(
        "a",
        model="Modèle 4 (β)",
        response_id="réponse 1",
        request_id="req-1",
        fingerprint="fp 2",
        sent_as_rendered=False,
        sent='{"messages":[]}',
    )
    ben = vote("a", model="bot-2026", response_id="resp/1", sent_as_rendered=True)
    script = {"r1.proposal.ann:1": ann, "r1.proposal.ben:1": ben}
    return play("told", {"ann": "a", "ben": "a"}, script)


@cache
def silenced() -> Record:
    """Ann votes, then cannot be heard in the critique: her vote no longer stands."""
    script: Script = {"r1.proposal.ben:1": vote("b"), "r1.critique.ann:1": fails("client_error")}
    votes = {"ann": "a", "ben": "a"}
    return play("silenced", votes, script, rule="threshold", threshold=2)


# ------------------------------------------------------------------ exports

ABOUT = b"The record of one debate. schemas/FORMAT.md says how to check it.\n"


def files_of(record: Record) -> Files:
    """Return the files of an export but for its manifest."""
    files = {"VERIFY.md": ABOUT, "events.jsonl": b"".join(line + b"\n" for line in record.lines)}
    folders = {"blobs": record.blobs, "templates": record.templates, "policies": record.policies}
    for folder, bodies in folders.items():
        files |= {f"{folder}/{name}": body for name, body in bodies.items()}
    return files


def manifest(files: Mapping[str, bytes], withheld: Mapping[str, str] | None = None) -> bytes:
    """Return the text of SHA256SUMS for `files`, and for those that are withheld, with reasons."""
    lines = [f"{digest(files[name])}  {name}\n" for name in sorted(files)]
    left_out = [
        f"# withheld {name} {reason}\n" for name, reason in sorted((withheld or {}).items())
    ]
    return "".join(lines + left_out).encode()


def seal(files: Files, by: Signer = EXPORT, text: bytes | None = None) -> Files:
    """Add a signed manifest; `text` stands in the place of its text."""
    return {**files, SUMS: note.sign(manifest(files) if text is None else text, by)}


def export(record: Record, by: Signer = EXPORT) -> Files:
    """Return a record's export, signed."""
    return seal(files_of(record), by)


def withholding(record: Record, *paths: str) -> Files:
    """Return a record's export without some of its files, which the manifest says."""
    files = {name: body for name, body in files_of(record).items() if name not in paths}
    return seal(files, text=manifest(files, dict.fromkeys(paths, "personal_data")))


def noted(change: Callable[[bytes], bytes]) -> Files:
    """Return the export of `decided` with its manifest spelled otherwise, not signed anew."""
    files = export(decided())
    return {**files, SUMS: change(files[SUMS])}


def retold(change: Callable[[str], str]) -> Files:
    """Return the export of `decided` with another text of the manifest, signed anew."""
    files = files_of(decided())
    return seal(files, text=change(manifest(files).decode()).encode())


def signature_of(data: bytes) -> bytes:
    """Return the last base64 text of a note."""
    return data.rpartition(b" ")[2].rstrip(b"\n")


def signature_line(by: Signer, message: bytes) -> bytes:
    """Return the line with which `by` signs `message`."""
    return note.sign(message, by).rpartition(b"\n\n")[2]


def malleable(data: bytes) -> bytes:
    """Return a note with the order of the curve's base point added to its signature's S."""
    body = base64.b64decode(signature_of(data))
    s = int.from_bytes(body[36:], "little") + ORDER_OF_ED25519
    return data.replace(signature_of(data), base64.b64encode(body[:36] + s.to_bytes(32, "little")))


def loose_bits(data: bytes) -> bytes:
    """Return a note whose base64 has other bits behind its last byte."""
    spelled = signature_of(data)
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    last = alphabet.index(spelled[-2]) + 1
    return data.replace(spelled, spelled[:-2] + alphabet[last : last + 1] + b"=")


# ------------------------------------------------------------------ zips


@dataclass(frozen=True)
class Entry:
    """One file of a zip, and everything about it that may be wrong."""

    name: str
    body: bytes
    method: int = 0
    date: int = 0x0021
    mode: int = 0o100644
    extra: bytes = b""
    comment: bytes = b""
    checksum: int | None = None
    size: int | None = None
    local_name: str | None = None


def entries_of(record: Record) -> list[Entry]:
    """Return the entries of a record's export, as they must be."""
    files = export(record)
    return [Entry(name, files[name]) for name in sorted(files)]


def zipped(
    entries: Sequence[Entry],
    *,
    prefix: bytes = b"",
    hidden: bytes = b"",
    comment: bytes = b"",
) -> bytes:
    """Write a zip; `hidden` stands between the entries and the directory."""
    body, directory = prefix, b""
    for entry in entries:
        stored = entry.body
        if entry.method == 8:  # one block of deflate that is not compressed
            length = len(entry.body)
            stored = b"\1" + struct.pack("<HH", length, length ^ 0xFFFF) + entry.body
        checksum = crc32(entry.body) if entry.checksum is None else entry.checksum
        size = len(entry.body) if entry.size is None else entry.size
        common = (20, 0, entry.method, 0, entry.date, checksum, len(stored))
        name = entry.name.encode()
        local = (entry.local_name or entry.name).encode()
        offset = len(body)
        body += struct.pack("<4s5H3L2H", b"PK\3\4", *common, size, len(local), len(entry.extra))
        body += local + entry.extra + stored
        row = (size, len(name), len(entry.extra), len(entry.comment), 0, 0, entry.mode << 16)
        directory += struct.pack("<4sH5H3L5H2L", b"PK\1\2", 3 << 8 | 20, *common, *row, offset)
        directory += name + entry.extra + entry.comment
    body += hidden
    end = (0, 0, len(entries), len(entries), len(directory), len(body), len(comment))
    return body + directory + struct.pack("<4s4H2LH", b"PK\5\6", *end) + comment


def rezipped(name: str, **fields: Any) -> bytes:
    """Return the zip of `decided` with one entry written otherwise."""
    entries = entries_of(decided())
    return zipped([replace(row, **fields) if row.name == name else row for row in entries])


def with_entry(name: str, body: bytes = b"") -> bytes:
    """Return the zip of `decided` with one more entry."""
    return zipped([*entries_of(decided()), Entry(name, body)])
