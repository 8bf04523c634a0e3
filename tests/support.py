"""Debates without an engine: the rules say what is due, a script answers, nothing else happens.

    Debate(Setup(threshold=2), votes(planner="release", critic="revise", operator="revise")).run()

Every event goes through its bytes: written, hashed, linked, and parsed again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from hashlib import sha256
from typing import Any, NamedTuple, Self

import rfc8785

from hansard.debate import steps
from hansard.debate.events import Blob, Event, Fact, parse
from hansard.debate.formats.consensus import reply_schema
from hansard.debate.replay import Difference, Replay
from hansard.debate.state import DebateState, Step, evolve
from hansard.debate.transcript import Transcript
from hansard.record.blob import pack
from hansard.record.line import GENESIS, encode_line, line_hash

DEBATE = "3f2b8c1e-5a7d-4c9e-8b1a-2d4f6a8c0e12"
TEMPLATES = {
    "protocol": "Vote for one of {{options}}.\n",
    "block": "[{{label}}]\n",
    "debater": "{{speaker}}, {{phase}} of round {{round}} of {{max_rounds}}: {{options}}?\n",
}
NO_PARAMETERS = dict.fromkeys(("temperature", "top_p", "seed", "max_tokens", "reasoning_effort"))


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()


OWN = {role: digest(text.encode()) for role, text in TEMPLATES.items()}
POLICY = digest(b"policy")


class Reply(NamedTuple):
    text: str
    finish: str = "stop"
    tokens: tuple[int | None, int | None, int | None] = (None, None, None)


class Fail(NamedTuple):
    error: str


class Die(NamedTuple):
    """The process dies while the call is open, and another one takes over."""


class Call(NamedTuple):
    step: Step
    attempt: int


Script = Callable[[Call], Reply | Fail | Die]


def vote(option: str, **more: Any) -> Reply:
    return Reply(json.dumps({"stance": "so", "rationale": "because", "vote": option}), **more)


def votes(**by_speaker: str) -> Script:
    """Everybody votes alike in every phase."""
    return lambda call: vote(by_speaker[call.step.speaker])


@dataclass(frozen=True)
class Setup:
    """The frozen spec of a debate; the defaults are those of the seed's examples."""

    debaters: Sequence[str] = ("planner", "critic", "operator")
    options: Sequence[str] = ("release", "revise", "escalate")
    rule: str = "threshold"
    threshold: int = 2
    max_rounds: int = 2
    attempts: int = 3
    model: str = "python:test"
    evidence: Sequence[tuple[str, str, int]] = ()  # id, text, from which round
    personas: Mapping[str, str] = field(default_factory=dict)
    prices: Sequence[Mapping[str, Any]] = ()
    approved: Mapping[str, str] | None = None  # template hashes by role; None: no policy


class Record:
    """Facts in, chained lines out; the texts stand beside them by their blobs' names."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.events: list[Event] = []
        self.texts: dict[str, str] = {}

    def blob(self, text: str) -> Blob:
        name, _ = pack(text, len(self.texts).to_bytes(32, "big"))
        self.texts[name] = text
        return {"sha256": name}

    def add(self, fact: Fact) -> Event:
        line = encode_line(
            {
                "at": f"2026-11-21T20:16:03.{len(self.lines):06}Z",
                "data": fact.data,
                "debate": DEBATE,
                "prev": line_hash(self.lines[-1]) if self.lines else GENESIS,
                "seq": len(self.lines) + 1,
                "type": fact.type,
                "v": 1,
            }
        )
        self.lines.append(line)
        self.events.append(parse(line))
        return self.events[-1]

    def all(self, kind: str) -> list[Any]:
        """The data of every event of one type."""
        return [event["data"] for event in self.events if event["type"] == kind]


def opening(setup: Setup, record: Record) -> Iterable[Fact]:
    """Yield the facts that open a debate."""
    yield Fact(
        "debate.opened",
        {
            "engine": "test/1",
            "rules": 1,
            "terms": {
                "format": "consensus",
                "options": list(setup.options),
                "rule": setup.rule,
                "threshold": setup.threshold,
                "max_rounds": setup.max_rounds,
            },
            "question": record.blob("Shall we release?"),
            "review": record.blob("the release board"),
            "seats": len(setup.debaters),
            "documents": len(setup.evidence),
            "attempts": setup.attempts,
            "timeout_ms": 1000,
            "seed": "0",
            "layout": "shared-prefix",
            "policy": None if setup.approved is None else POLICY,
            "templates": [{"role": role, "sha256": found} for role, found in OWN.items()],
            "schemas": [
                {"role": "debater", "sha256": digest(rfc8785.dumps(reply_schema(setup.options)))}
            ],
            "prices": list(setup.prices),
            "scripted": setup.model.startswith("scripted:"),
        },
    )
    for position, speaker in enumerate(setup.debaters, 1):
        persona = setup.personas.get(speaker)
        yield Fact(
            "debater.registered",
            {
                "id": speaker,
                "role": "debater",
                "position": position,
                "model": setup.model,
                "parameters": NO_PARAMETERS,
                "persona": record.blob(persona) if persona else None,
            },
        )
    for document, text, from_round in setup.evidence:
        data = {"document": document, "text": record.blob(text), "from_round": from_round}
        yield Fact("evidence.admitted", data)


class Debate:
    """One debate on its way: does what `decide` says, and asks `script` how each call ends.

    `pick` chooses which of the open calls ends next; `found` are the hashes that
    templates have when a call is made.
    """

    def __init__(
        self,
        setup: Setup,
        script: Script,
        pick: Callable[[list[str]], str] = lambda calls: calls[0],
    ) -> None:
        self.setup = setup
        self.record = Record()
        self.state = DebateState()
        self.transcript = Transcript(self.state)
        self._script, self._pick = script, pick
        self.asked: dict[str, Call] = {}
        self.found = dict(OWN)
        for fact in opening(setup, self.record):
            self.add(fact)

    def add(self, fact: Fact) -> None:
        evolve(self.state, self.record.add(fact))

    def run(self) -> Self:
        """Go on until the debate is closed."""
        for _ in range(10_000):
            due = steps.decide(self.state)
            if due is None:
                return self
            self.do(due)
        raise AssertionError("the debate does not close")

    def cut(self, length: int, script: Script) -> Debate:
        """The same debate killed after `length` events and taken over by another process."""
        other = Debate(self.setup, script, self._pick)
        other.record.texts |= self.record.texts
        for event in self.record.events[len(other.record.events) : length]:
            other.add(Fact(event["type"], event["data"]))
        assert other.record.lines == self.record.lines[:length]
        other.add(Fact("debate.resumed", {"engine": "test/1"}))
        return other

    def do(self, due: steps.Due) -> None:
        """Do one thing that is due."""
        if isinstance(due, steps.Ask):
            refused = due.steps and self.refusal(due.steps[0])
            if refused:
                self.add(refused)
                return
            for step in due.steps:
                self.start(step)
            self.end(self._pick(list(self.state.calls)))
        elif isinstance(due, steps.Read):
            text = self.record.texts[due.answer["reply"]["sha256"]]
            reply = steps.read_reply(self.state, due.answer, text)
            self.add(steps.record(due.step, due.answer["call"], reply))
        else:
            self.add(due)

    def refusal(self, step: Step) -> Fact | None:
        approved = self.setup.approved
        return (
            None if approved is None else (steps.refusal(self.state, step.id, approved, self.found))
        )

    def start(self, step: Step) -> None:
        data = steps.start(self.state, step, self.transcript.prompt(step))
        self.asked[data["call"]] = Call(step, data["attempt"])
        reserved = {
            "reserved_tokens_in": 10,
            "reserved_tokens_out": 0,
            "reserved_cost_micro_usd": 7 if self.setup.prices else None,
        }
        self.add(Fact("call.started", data | reserved))

    def end(self, call: str) -> None:
        """End an open call as the script says."""
        step = self.asked[call].step.id
        end = self._script(self.asked[call])
        if isinstance(end, Die):
            self.add(Fact("debate.resumed", {"engine": "test/1"}))
        elif isinstance(end, Fail):
            failed = {"call": call, "error": end.error, "detail": None, "latency_ms": 5}
            failed |= {"again": steps.again(self.state, step, end.error), "cost_micro_usd": None}
            self.add(Fact("call.failed", failed))
        else:
            self.add(Fact("call.answered", self._answer(call, end)))
            found = steps.read_reply(self.state, self.state.last_answer, end.text)
            if isinstance(found, str):
                self.add(steps.reject(self.state, step, call, found))

    def _answer(self, call: str, reply: Reply) -> dict[str, Any]:
        unknown = ("response_id", "request_id", "fingerprint", "sent_as_rendered", "sent")
        return dict.fromkeys(unknown) | {
            "call": call,
            "reply": self.record.blob(reply.text),
            "model": self.setup.model,
            "finish": reply.finish,
            "tokens_in": reply.tokens[0],
            "tokens_cached": reply.tokens[1],
            "tokens_out": reply.tokens[2],
            "cost_micro_usd": steps.cost(self.setup.prices, self.setup.model, reply.tokens),
            "latency_ms": 5,
        }


def fold(events: Iterable[Event]) -> DebateState:
    return reduce(evolve, events, DebateState())


def walk(
    events: Iterable[Event],
    text_of: Callable[[str], str | None],
    approved: Mapping[str, str] | None = None,
) -> list[tuple[int, Difference]]:
    """Replay events and return every difference with the place of its event."""
    replay = Replay(text_of, approved)
    return [(event["seq"], row) for event in events for row in replay.step(event)]


PRICE = {
    "model": "python:test",
    "input_micro_usd": 2_500_000,
    "cached_micro_usd": 250_000,
    "output_micro_usd": 10_000_000,
}


def eventful() -> Debate:
    """A debate in which every type of event happens; unanimity is not reached."""
    ends = {
        "r1.proposal.planner:1": Die(),
        "r1.proposal.critic:2": Fail("rate_limited"),
        "r1.proposal.operator:2": Reply("I would rather not say."),
        "r1.critique.planner:1": Fail("client_error"),
        "r1.critique.critic:1": vote("release", finish="length"),
        "r1.critique.critic:2": vote("ship it"),
        "r1.critique.critic:3": Reply("{}"),
    }

    def script(call: Call) -> Reply | Fail | Die:
        options = {"planner": "release", "critic": "revise"}
        usual = vote(options.get(call.step.speaker, "release"), tokens=(1000, 400, 30))
        return ends.get(f"{call.step.id}:{call.attempt}", usual)

    setup = Setup(
        rule="unanimity",
        threshold=3,
        max_rounds=2,
        personas={"critic": "You run the pager."},
        evidence=(("runbook", "Rollback takes an hour.", 1), ("memo", "It failed twice.", 2)),
        prices=(PRICE,),
    )
    return Debate(setup, script).run()
