"""What the cases of the conformance kit are made of: genuine records, and ways to change them.

Everything is derived from one seed: salts, ids, keys and the time, so that the same
records come out byte for byte wherever they are made. They are run by the engine itself,
with replies from a script. A change gives another record, chained anew; `exports` signs
it with the genuine key.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch
from warnings import catch_warnings, simplefilter

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansard.errors import SeatError
from hansard.record import blob
from hansard.record import policy as policies
from hansard.record.bundle import Bundle, Head
from hansard.record.chain import Chain
from hansard.record.note import COSIGNATURE, Signer, VerifierKey
from hansard.runtime import pacing, seats, session
from hansard.runtime.clock import Clock
from hansard.runtime.inputs import parse_spec
from hansard.runtime.models.base import Completion, ModelError, Request, Wire
from hansard.runtime.models.callables import as_model
from hansard.runtime.tools import ToolFunction
from hansard.store.application import Batch, Store
from hansard.store.database import Extras

Data = dict[str, Any]
Event = dict[str, Any]
Files = dict[str, bytes]


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


def trust(witnesses: int = 0, policies: Any = None, **until_from: tuple[str | None, ...]) -> bytes:
    """Return a trust file with the key of each role, in force `from` and `until` where given.

    A third time is the one from which the key is revoked. With `witnesses` wanted, the
    file names one. `policies` are its revoked policies.
    """
    rows = []
    for role in ROLES:
        times = zip(("from", "until", "revoked"), until_from.get(role, (None, None)), strict=False)
        row = {"role": role, "key": str(KEYS[role].key), **dict(times)}
        rows.append(json.dumps(row, separators=(",", ":")))
    wanted = ""
    if witnesses:
        key = VerifierKey("example.org/witness", STRANGER.key.public, COSIGNATURE)
        rows.append(json.dumps({"role": "witness", "key": str(key)}, separators=(",", ":")))
        wanted = f',"witnesses":{witnesses}'
    if policies is not None:
        wanted += f',"policies":{json.dumps(policies, separators=(",", ":"))}'
    return ('{"v":1,"keys":[\n' + ",\n".join(rows) + f"\n]{wanted}}}\n").encode()


# ------------------------------------------------------------------ the kit's own templates

SHARED = {
    "block": "\n[{{label}}]\n",
    "again": "\nOnce more: {{code}} ({{keyword}} of {{member}}).\n",
    "synthesizer": "\nWrite what {{decision}} ({{rule}}) comes to, as:\n",
}
TEMPLATES: dict[str, dict[str, str]] = {
    "consensus": {
        "protocol": "Vote for one of: {{options}}.\n",
        "debater": "\n{{speaker}}, {{phase}} of round {{round}} of {{max_rounds}}: stance, "
        "rationale, vote ({{options}})?\n",
        **SHARED,
    },
    "judged": {
        "protocol": "Argue for one of: {{stances}}.\n",
        "debater": "\nRound {{round}} of {{max_rounds}}: argue for {{stance}}.\n",
        "judge": "\nAfter {{rounds}} rounds: verdict, winner ({{stances}}), reasoning?\n",
        **SHARED,
    },
    "moderated": {
        "protocol": "Propose, attack, defend.\n",
        "framer": "\nFrame the question.\n",
        "proposer": "\nRound {{round}}: propose {{position}}.\n",
        "critic": "\nRound {{round}}: attack {{position}}.\n",
        "critic_again": "{{code}}, {{rating}} of 10: attack.\n",
        "rebuttal": "\nRound {{round}}: defend {{position}}.\n",
        "moderator": "\nRound {{round}} ({{citations}}): moderate.\n",
        "moderator_ranking": "\nRound {{round}} ({{citations}}): rank {{positions}}.\n",
        **SHARED,
    },
    "panel": {
        "protocol": "Answer, then look at the others' answers.\n",
        "debater": "\n{{speaker}}, round {{round}} of {{last_round}}: your answer?\n",
        "chooser": "\n{{speaker}}, round {{round}} of {{last_round}}: {{options}}?\n",
        "judge": "\nCombine them.\n",
        "judge_choosing": "\nCombine them, and choose: {{options}}.\n",
        "judge_picking": "\nPick one of {{labels}}.\n",
        **SHARED,
    },
}


# ------------------------------------------------------------------ genuine records


def time_of(seq: int) -> str:
    """Return the time of an entry: each is a millisecond after the one before."""
    return f"2026-01-05T09:00:{seq // 1000:02}.{seq % 1000:03}000Z"


def later(time: str) -> str:
    """Return the time a microsecond after that of an entry."""
    return f"{time[:-2]}1Z"


OPENED_AT = time_of(1)
_ADD = Chain.add


class SteadyClock(Clock):
    """A clock and a source of chance that depend on a record's name alone."""

    def __init__(self, name: str) -> None:
        self._name, self._lines, self._salts = name, 0, 0

    def now(self) -> str:
        """Return the time of the next entry, however often it is asked for."""
        return time_of(self._lines + 1)

    def see(self, entries: int) -> None:
        """Say how many entries there are."""
        self._lines = entries

    def timeline(self, after: str = "") -> Callable[[], str]:  # noqa: ARG002 - there is one for all
        """Return what tells the times of the entries."""
        return self.now

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


def fails(kind: Any, wire: Wire | None = None) -> ModelError:
    """Return the end of a call that brings no reply."""
    return ModelError(kind, "scripted", wire=wire)


DIES = None  # in a script: the process dies while this call is open, and another takes over
RAISES = KeyError("a bug")  # in a script: the callable raises, and the debate is resumed
Script = Mapping[str, Completion | Exception | None]
Answer = Callable[[Request], Completion]
Tools = Mapping[str, ToolFunction | None]  # None, as in a script, is one that kills the process


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
        """Return one entry as a value; `seq` counts from 1."""
        return dict(json.loads(self.lines[seq - 1]))

    @property
    def events(self) -> list[Event]:
        """All entries as values."""
        return [dict(json.loads(line)) for line in self.lines]

    def seq(self, kind: str, nth: int = 1, /, **data: Any) -> int:
        """Return the place of the nth entry of a type whose data says this."""
        found = [
            seq
            for seq, event in enumerate(self.events, 1)
            if event["type"] == kind and event["data"].items() >= data.items()
        ]
        return found[nth - 1]

    def numbered(self, events: Iterable[Event]) -> Record:
        """Make a record of any entries: numbered, linked, each a millisecond after the last."""
        lines: list[bytes] = []
        for seq, event in enumerate(events, 1):
            prev = digest(lines[-1]) if lines else "0" * 64
            lines.append(dump({**event, "at": time_of(seq), "prev": prev, "seq": seq}))
        return replace(self, lines=tuple(lines))

    def put(self, seq: int, line: bytes) -> Record:
        """Replace an entry by any bytes, and link the later ones to them."""
        lines = [*self.lines[: seq - 1], line]
        for later in self.lines[seq:]:
            lines.append(dump({**json.loads(later), "prev": digest(lines[-1])}))
        return replace(self, lines=tuple(lines))

    def swap(self, seq: int, old: bytes, new: bytes) -> Record:
        """Replace `old` by `new` in the bytes of an entry, and link the later ones to it."""
        before = self.lines[seq - 1]
        if before.count(old) != 1:
            raise LookupError(f"{old!r} does not stand once in line {seq}")
        return self.put(seq, before.replace(old, new))

    def top(self, seq: int, /, **fields: Any) -> Record:
        """Change fields of an entry beside its data."""
        return self.put(seq, dump({**self.event(seq), **fields}))

    def data(self, seq: int, /, **fields: Any) -> Record:
        """Change fields of an entry's data."""
        data = self.event(seq)["data"]
        if not fields.keys() <= data.keys():
            raise LookupError(f"line {seq} has no {fields.keys() - data.keys()}")
        return self.top(seq, data={**data, **fields})

    def opening(self, **fields: Any) -> Record:
        """Change fields of the opening, and leave out the templates that it then does not name."""
        changed = self.data(1, **fields)
        data = changed.event(1)["data"]
        rows = (*data["templates"], *data["schemas"], *data["tools"])
        named = {row["sha256"] for row in rows}
        kept = {name: body for name, body in self.templates.items() if name in named}
        return replace(changed, templates=kept)

    def with_only(self, files: Mapping[str, bytes]) -> Record:
        """Put these in the place of all templates and schemas."""
        return replace(self, templates=files)

    def with_templates(self, files: Mapping[str, bytes]) -> Record:
        """Add templates or schemas by their hashes."""
        return replace(self, templates={**self.templates, **files})

    def terms(self, **fields: Any) -> Record:
        """Change what the opening's terms say."""
        terms = self.event(1)["data"]["terms"]
        if not fields.keys() <= terms.keys():
            raise LookupError(f"the terms have no {fields.keys() - terms.keys()}")
        return self.data(1, terms={**terms, **fields})

    def retyped(self, seq: int, kind: str, /, **data: Any) -> Record:
        """Make another type of a turn: its place and call are kept, `data` is the rest."""
        old = self.event(seq)["data"]
        place = ("step", "round", "phase", "speaker", "call")
        return self.top(seq, type=kind, data={name: old[name] for name in place} | data)

    def moved(self, seq: int, to: int) -> Record:
        """Put an entry in another place; `to` is its number there."""
        events = self.events
        events.insert(to - 1, events.pop(seq - 1))
        return self.numbered(events)

    def until(self, seq: int) -> Record:
        """Leave out what follows an entry, but for an opening, which stays whole."""
        opened = self.event(1)["data"]
        least = 1 + opened["seats"] + opened["documents"] if self.lines else 0
        return replace(self, lines=self.lines[: max(seq, least)]).pruned()

    def without(self, *seqs: int) -> Record:
        """Leave out entries, and the texts that no other entry names."""
        kept = [event for seq, event in enumerate(self.events, 1) if seq not in seqs]
        return self.numbered(kept).pruned()

    def insert(self, seq: int, kind: str, data: Data) -> Record:
        """Put another entry before entry `seq`."""
        events = self.events
        event = {**events[0], "type": kind, "data": data}
        return self.numbered([*events[: seq - 1], event, *events[seq - 1 :]])

    def pruned(self) -> Record:
        """Leave out the texts that no entry names."""
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

    def by_the_kit(self) -> Record:
        """Take out what depends on the versions that happened to make the kit."""
        record = self
        for seq, event in enumerate(self.events, 1):
            if "engine" in event["data"]:
                record = record.data(seq, engine="conformance/1")
        record = record.data(1, estimate=None)
        names_, files = [], dict(self.templates)
        for row in self.event(1)["data"]["tools"]:
            body = dump({"name": row["tool"]})
            del files[row["sha256"]]
            files[digest(body)] = body
            names_.append({"tool": row["tool"], "sha256": digest(body)})
        return replace(record.data(1, tools=names_), templates=files)


def names(value: Any) -> Iterator[str]:
    """Yield the names of the texts that an entry's data names."""
    if isinstance(value, dict) and value.keys() == {"sha256"}:
        yield value["sha256"]
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from names(item)


async def taken_over(bundle: Bundle, kept: int | None, given: Mapping[str, Any]) -> Bundle:
    """Go on with a record of which so many entries were kept; None are all, and it is over."""
    if kept is None:
        return bundle
    lines = bundle.lines[:kept]
    rows = [json.loads(line) for line in lines]
    head = Head(kept, sha256(lines[-1]).hexdigest())
    named = {name for row in rows for name in names(row)}
    texts = [(name, bundle.blobs[name]) for name in bundle.blobs if name in named]
    extras = Extras(head, texts, [*bundle.templates.items()])
    kinds = [(row["type"], line) for row, line in zip(rows, lines, strict=True)]
    with Store.open("sqlite:///:memory:") as store:
        store.append(Batch(rows[0]["debate"], 1, kinds, extras))
        await session.resume(rows[0]["debate"], store, **given)
        return store.bundle(rows[0]["debate"])


def play(
    name: str,
    spec: Mapping[str, Any],
    answer: Answer,
    script: Script | None = None,
    *,
    policy: bytes | None = None,
    tools: Tools | None = None,
    stop: Mapping[str, str] | None = None,
    kept: int | None = None,
    unchecked: Mapping[str, Any] | None = None,
    templates: Mapping[str, str] | None = None,
) -> Record:
    """Run a debate: models `answer`, but for the calls that `script` names.

    A tool that is DIES takes the process down while it is used. With `stop`, which may
    say `by` whom and for which `reason`, the debate is stopped where it would be resumed.
    Of a process that stored one entry at a time only so many were `kept` when it died.
    The fields `unchecked` are what no spec may say, and a record may. A format that one module
    alone plays has its `templates` there.
    """
    clock = SteadyClock(name)
    tasks: list[asyncio.Task[Any]] = []

    def counted(chain: Chain, *entry: Any) -> tuple[dict[str, Any], bytes]:
        added = _ADD(chain, *entry)
        clock.see(chain.seq)
        return added

    async def die() -> Any:
        tasks[0].cancel()
        await asyncio.get_running_loop().create_future()

    async def model(request: Request) -> Completion:
        if request.call not in (script or {}):
            return answer(request)
        end = (script or {})[request.call]
        if isinstance(end, Exception):
            raise end
        return await die() if end is DIES else end

    async def run(store: Store, folder: Path) -> Bundle:
        bodies = templates or TEMPLATES[spec.get("format", "consensus")]
        for role, text in bodies.items():
            (folder / f"{role}.md").write_bytes(text.encode())
        prompts = {role: f"{role}.md" for role in bodies}
        opened = parse_spec({"question": "Shall we?", "prompts": prompts, **spec}, name)
        opened = opened.model_copy(update=unchecked)
        given: dict[str, Any] = {
            "models": {"bot": model},
            "tools": {name: die if row is DIES else row for name, row in (tools or {}).items()},
            "clock": clock,
        }
        approved = policies.parse(policy) if policy else None
        first = session.run(opened, store, folder, policy=approved, **given)
        tasks.append(asyncio.create_task(first))
        try:
            await tasks[0]
        except (asyncio.CancelledError, SeatError):
            (debate,) = store.debates()
            if stop is None:
                await session.resume(debate, store, **given)
            else:
                await session.stop(debate, store, clock=clock, **stop)
        return await taken_over(store.bundle(clock.debate_id()), kept, given)

    with (
        TemporaryDirectory() as folder,
        Store.open("sqlite:///:memory:") as store,
        catch_warnings(),
        patch.object(Chain, "add", counted),
        patch.object(session, "hold", lambda *_: None),  # an engine that does not look first
        patch.object(pacing, "FIRST_WAIT", 0),  # no clock moves while one waits
        patch.object(seats, "open_model", lambda *_: as_model(model)),  # no provider is asked
    ):
        simplefilter("ignore")  # a function in a seat is told less than others, as some cases want
        bundle = asyncio.run(run(store, Path(folder)))
    record = Record(tuple(bundle.lines), bundle.blobs, bundle.templates, bundle.policies)
    return record.by_the_kit()
