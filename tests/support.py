"""Debates without an engine: the rules say what is due, a script answers, nothing else happens.

    Debate(Setup(threshold=2), votes(planner="release", critic="revise", operator="revise")).run()
    Debate(Setup("moderated"), script({"critique:1": say(challenge_strength=4)})).run()

Every event goes through its bytes: written, hashed, linked, and parsed again.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial, reduce
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, Self

from formats import PLAYED
from hansard.record.blob import pack
from hansard.record.bundle import Bundle, Head
from hansard.record.line import GENESIS, encode_line, line_hash
from hansard.rules import spending, steps
from hansard.rules.events import Event, Fact, parse
from hansard.rules.fields import Blob
from hansard.rules.formats import FORMATS, SPECS
from hansard.rules.formats.base import Compare, NotCounted
from hansard.rules.prompts import Part, Prompt, Recipe, Renderer
from hansard.rules.prompts import fold as fold_parts
from hansard.rules.replay import Difference, Replay
from hansard.rules.state import DebateState, Step, evolve
from hansard.rules.transcript import CUSTOM, Prompter
from hansard.runtime import outcomes
from hansard.runtime.documents import Admitted, Taken
from hansard.runtime.models.base import Completion, ModelError, ToolCall, Wire
from hansard.runtime.opening import Opening, schemas_of
from hansard.runtime.output import checker
from hansard.runtime.tools import Tool

DEBATE = "3f2b8c1e-5a7d-4c9e-8b1a-2d4f6a8c0e12"
MODEL = "python:test"
SERVED = "openai:test"  # a provider's: every reply of it came over a wire
PRICE = {
    "model": MODEL,
    "source": "spec",
    "input_micro_usd": 2_500_000,
    "cached_micro_usd": 250_000,
    "cache_write_micro_usd": 3_125_000,
    "output_micro_usd": 10_000_000,
}
PRICES = {MODEL: {"input": "2.50", "cached": "0.25", "cache_write": "3.125", "output": "10"}}


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()


POLICY = digest(b"policy")


def templates(format_: str) -> dict[str, bytes]:
    """Templates that show their name and every value filled in: `<debater round=1 …>`."""
    bodies = {"block": "[{{label}}]"}
    for role, names in FORMATS[format_].templates.items():
        shown = "".join(f" {name}={{{{{name}}}}}" for name in names)
        bodies.setdefault(role, f"<{role}{shown}>")
    return {role: f"{bodies[role]}\n".encode() for role in FORMATS[format_].templates}


def own(format_: str) -> dict[str, str]:
    """The hashes of those templates, by role."""
    return {role: digest(body) for role, body in templates(format_).items()}


OWN = own("consensus")
DEFAULTS = {name: row.setup for name, row in PLAYED.items()}


def admitted(approved: Mapping[str, str | list[str]] | None) -> Mapping[str, list[str]] | None:
    """The approved hashes of each role, where there is one of them, as a policy gives them."""
    if approved is None:
        return None
    return {role: [row] if isinstance(row, str) else row for role, row in approved.items()}


class Setup:
    """What a debate is opened with: the fields of its spec, and the approved template hashes.

    The defaults of `consensus` are those of its source's examples. Debaters may
    be ids alone, `evidence` rows of id, text and round, and of the file it was `Taken` from.
    """

    def __init__(
        self,
        format_: str = "consensus",
        *,
        approved: Mapping[str, str] | None = None,
        personas: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> None:
        self.approved = admitted(approved)
        self.fields = fields = {**DEFAULTS[format_], **fields}
        self.again = {"format_": format_, "approved": approved, "personas": personas, **fields}
        row = {"question": "Shall we release?", "review": "the release board", "model": MODEL}
        row |= {name: value for name, value in fields.items() if name != "personas"}
        if row.get("rule", "threshold") != "threshold":
            row["threshold"] = None
        row["debaters"] = [
            {"id": seat, "persona": (personas or {}).get(seat)} if isinstance(seat, str) else seat
            for seat in row.get("debaters", ())
        ]
        if not row["debaters"]:
            del row["debaters"]
        row["evidence"] = [
            {"id": name, "text": text, "from_round": round_}
            for name, text, round_, *_ in fields.get("evidence", ())
        ]
        row["prices"] = PRICES if fields.get("prices") else {}
        spec = SPECS[format_].model_validate(row)
        taken = {name: more[0] for name, _, _, *more in fields.get("evidence", ()) if more}
        documents = [
            Admitted(**each.model_dump(), taken=taken[each.id]) if each.id in taken else each
            for each in spec.evidence
        ]
        self.spec = spec.model_copy(update={"evidence": documents})
        self.seats = [seat.id for seat in self.spec.table()]
        self.speakers = [seat.id for seat in self.spec.table() if seat.role == "debater"]

    def but(self, **fields: Any) -> Setup:
        """The same with other fields."""
        return Setup(**{**self.again, **fields})

    def opening(self) -> Opening:
        """What the debate is opened with."""
        spec, table = self.spec, self.spec.table()
        return Opening(
            spec,
            templates(spec.format),
            schemas_of(spec, table, Path()),
            {name: Tool(name, _found) for name in spec.tools},
            dict.fromkeys(self.seats, SimpleNamespace(price=None)),
            None if self.approved is None else SimpleNamespace(hash=POLICY),
        )


def _found(what: str = "") -> str:
    return what


def opening(setup: Setup, record: Record) -> Iterable[Fact]:
    """Return the facts that open a debate."""
    return setup.opening().facts(record.blob)


# How a call ends


class Reply(NamedTuple):
    """A reply, or a request for tools: rows of a name and its arguments.

    `tokens` are those in, cached and out; `more` is what else a completion says.
    """

    text: str
    finish: str = "stop"
    tokens: tuple[int | None, int | None, int | None] = (None, None, None)
    tools: Sequence[tuple[str, str]] = ()
    more: Mapping[str, Any] = {}


class Fail(NamedTuple):
    """A call without a reply; `wait_ms` is due before the next one."""

    error: Any
    wait_ms: int | None = None
    wire: Wire = Wire()


class Die(NamedTuple):
    """The process dies while the call is open, and another one takes over."""


class Stop(NamedTuple):
    """The process dies while the call is open, and a person stops the debate."""

    by: str
    reason: str


class Raise(NamedTuple):
    """The function in the seat raises, and the debate is resumed once nothing is in flight."""


class Call(NamedTuple):
    step: Step
    attempt: int
    schema: Mapping[str, Any]  # what the reply must be


End = Reply | Fail | Die | Stop | Raise
Script = Callable[[Call], End]


def vote(option: str, **more: Any) -> Reply:
    return Reply(json.dumps({"stance": "so", "rationale": "because", "vote": option}), **more)


def votes(**by_speaker: str) -> Script:
    """Everybody votes alike in every phase."""
    return lambda call: vote(by_speaker[call.step.speaker])


def example(schema: Mapping[str, Any], text: str = "so") -> Any:
    """The least value that fits a reply schema: first names, highest numbers, shortest lists.

    Every member that is in words says `text`.
    """
    kind = schema["type"]
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "object":
        return {name: example(schema["properties"][name], text) for name in schema["required"]}
    if kind == "array":
        several = schema["items"].get("enum") or [example(schema["items"], text)]
        return several[: schema["minItems"]]
    return {"string": text, "boolean": False}.get(kind, schema.get("maximum"))


def say(text: str | None = None, **members: Any) -> Callable[[Call], Reply]:
    """A reply that counts, with these words, or with other values in some members."""

    def reply(call: Call) -> Reply:
        if call.schema["type"] == "string":
            return Reply(text or f"{call.step.speaker} says {call.step.phase} {call.step.round}.")
        return Reply(json.dumps({**example(call.schema), **members}))

    return reply


def script(ends: Mapping[str, Any] | None = None, usual: Any = None) -> Script:
    """Answer as `ends` say for a call's id, step, `phase:attempt`, phase or speaker, in this order.

    A phase stands for those of all positions as well; an end is one of a
    call, or a function of it. Whatever is not named gets the `usual` end: by
    default a reply that counts.
    """

    def answer(call: Call) -> End:
        step = call.step
        base = step.phase.partition("-")[0]
        keys = (f"{step.id}:{call.attempt}", step.id, f"{step.phase}:{call.attempt}")
        for key in (*keys, f"{base}:{call.attempt}", step.phase, base, step.speaker):
            if key in (ends or {}):
                end = ends[key]
                return end(call) if callable(end) else end
        return usual(call) if callable(usual) else usual or say()(call)

    return answer


def argued(*citations: tuple[str, str], words: str = "so") -> dict[str, Any]:
    """An argument that rests on citations of a document and the words quoted from it."""
    rows = [{"document": document, "quote": quote} for document, quote in citations]
    return {"argument": words, "citations": rows}


def answered(objection: int, *citations: tuple[str, str]) -> dict[str, Any]:
    """A rebuttal's answer to one objection."""
    return {"objection": objection, "answer": "so", "citations": argued(*citations)["citations"]}


class Record:
    """Facts in, chained lines out; the texts stand beside them by their blobs' names.

    Each line is `tick` microseconds after the one before.
    """

    def __init__(self, tick: int = 1) -> None:
        self.lines: list[bytes] = []
        self.events: list[Event] = []
        self.texts: dict[str, str] = {}
        self.blobs: dict[str, bytes] = {}
        self.tick = tick

    def blob(self, text: str) -> Blob:
        name, file = pack(text, len(self.texts).to_bytes(32, "big"))
        self.texts[name], self.blobs[name] = text, file
        return {"sha256": name}

    @property
    def now(self) -> str:
        """The time of the next line."""
        after = timedelta(microseconds=len(self.lines) * self.tick)
        at = datetime(2026, 11, 21, 20, 16, 3, tzinfo=UTC) + after
        return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def add(self, fact: Fact) -> Event:
        line = encode_line(
            {
                "at": self.now,
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

    def all(self, *kinds: str) -> list[Any]:
        """The data of every event of some types."""
        return [event["data"] for event in self.events if event["type"] in kinds]


class Debate:
    """One debate on its way: does what `decide` says, and asks `script` how each call ends.

    `pick` chooses which of the open calls and tools ends next, a tool being
    `call#number`; `found` are the hashes that templates have when a call is made.
    """

    def __init__(
        self,
        setup: Setup,
        script: Script,
        pick: Callable[[list[str]], str] = lambda open_: open_[0],
        tick: int = 1,
    ) -> None:
        self.setup = setup
        self.record = Record(tick)
        self.state = DebateState()
        self.prompter = Prompter(self.state)
        self._script, self._pick = script, pick
        self._opening = setup.opening()
        self._schemas: dict[str, Any] = {}
        self.asked: dict[str, Call] = {}
        self._read: set[str] = set()  # calls whose replies count
        self._stop: Stop | None = None
        self.found = own(setup.spec.format)
        for fact in self._opening.facts(self.record.blob):
            self.add(fact)

    def add(self, fact: Fact) -> None:
        evolve(self.state, self.record.add(fact))

    def run(self) -> Self:
        """Go on until the debate is closed."""
        for _ in range(10_000):
            due = self.due()
            if due is None:
                return self
            self.do(due)
        raise AssertionError("the debate does not close")

    def cut(self, length: int, script: Script) -> Debate:
        """The same debate killed after `length` events and taken over by another process."""
        other = Debate(self.setup, script, self._pick, self.record.tick)
        other.record.texts |= self.record.texts
        other.record.blobs |= self.record.blobs
        for event in self.record.events[len(other.record.events) : length]:
            other.add(Fact(event["type"], event["data"]))
        assert other.record.lines == self.record.lines[:length]
        other.add(Fact("debate.resumed", {"engine": "test/1"}))
        return other

    def bundle(self) -> Bundle:
        """The record's bytes, as a store keeps them."""
        lines = self.record.lines
        head = Head(len(lines), line_hash(lines[-1]))
        return Bundle(lines, self.record.blobs, self._opening.files, head)

    @property
    def open(self) -> list[str]:
        """The calls and the tools that have not come back."""
        rows = [used for row in self.state.steps.values() for used in row.open_tools]
        used = [f"{row['call']}#{row['number']}" for row in rows]
        return [*self.state.calls, *used]

    def due(self) -> steps.Due | None:
        """What is due now."""
        return steps.decide(self.state, self._read)

    def do(self, due: steps.Due) -> None:
        """Do one thing that is due."""
        if isinstance(due, steps.Ask):
            self._ask(due)
        elif isinstance(due, steps.Resume):
            self.add(Fact("debate.resumed", {"engine": "test/1"}))
        elif isinstance(due, steps.Conclude):
            text = self.record.texts[due.answer["reply"]["sha256"]]
            reply = self.read(due.answer, text)
            self.add(steps.record(self.state, due.step, due.answer["call"], reply))
        elif isinstance(due, Compare):
            answers = steps.answers(self.state, due, self.record.texts.get)
            self.add(steps.compare(self.state, due, answers))
        else:
            self.add(due)

    def _ask(self, due: steps.Ask) -> None:
        if self._stop:
            said = map(self.record.blob, self._stop)
            self.add(spending.cut_short(self.state, due.steps[0], spending.stopped(*said)))
            return
        refused = due.steps and self.refusal(due.steps[0])
        if refused:
            self.add(refused)
            return
        for step in due.steps:
            if not self.start(step):
                break
        if self.open:
            self.end(self._pick(self.open))

    def refusal(self, step: Step) -> Fact | None:
        approved = self.setup.approved
        if approved is None:
            return None
        return steps.refusal(self.state, step.id, approved, self.found)

    def start(self, step: Step) -> bool:
        """Start a call, or cut the debate short if that could break a ceiling."""
        data = steps.start(self.state, step, self.prompter.prompt(step).digest)
        prices, reply = self.state.prices, data["parameters"]["max_tokens"]
        data |= spending.reserve(prices, data["model"], 10 * spending.BYTES_A_TOKEN, reply)
        over = spending.exceeded(self.state, data, self.record.now)
        if over:
            if not steps.in_flight(self.state):
                self.add(spending.cut_short(self.state, step, over))
            return False
        schema = steps.schema_of(self.state, data["role"])
        schema = schema or json.loads(self._opening.files[data["schema"]])
        self.asked[data["call"]] = Call(step, data["attempt"], schema)
        self.add(Fact("call.started", data))
        return True

    def read(self, answer: Any, text: str) -> Any:
        """The clear fields of a reply, or why it does not count; the user's own schema included."""
        found = steps.read_reply(self.state, answer, text, self.record.texts.get)
        if not isinstance(found, NotCounted) and "schema" in found:
            fits = checker(self._opening.files[found["schema"]])
            return found if fits(text) else NotCounted("output_schema")
        return found

    def end(self, name: str) -> None:
        """End an open call or tool, the call as the script says."""
        call, is_tool, number = name.partition("#")
        if is_tool:
            back = {"call": call, "number": int(number), "ok": True}
            self.add(Fact("tool.returned", back | {"result": self.record.blob("found")}))
            return
        step = self.asked[call].step.id
        end = self._script(self.asked[call])
        if isinstance(end, Die | Stop):
            self.add(Fact("debate.resumed", {"engine": "test/1"}))
            self._stop = end if isinstance(end, Stop) else None
        elif isinstance(end, Raise):
            left = outcomes.raised(self.state.calls[call], KeyError(), 0)
            self.add(Fact("call.failed", left | steps.raised(self.state, call)))
        elif isinstance(end, Fail):
            error = ModelError(end.error, wire=end.wire)
            failed = outcomes.failed(
                self.state.calls[call], error, end.wait_ms, 1, self.record.blob
            )
            failed["again"] = steps.again_after(self.state, step, failed, self.record.now)
            self.add(Fact("call.failed", failed))
        else:
            self._answered(call, end)

    def _answered(self, call: str, reply: Reply) -> None:
        """Add the reply, and what it makes due at once."""
        self.add(Fact("call.answered", self._answer(call, reply)))
        while isinstance(due := self.due(), steps.Announce | steps.Read):
            if isinstance(due, steps.Announce):
                tool, arguments = reply.tools[due.number - 1]
                row = {"call": call, "number": due.number, "tool": tool}
                self.add(Fact("tool.called", row | {"arguments": self.record.blob(arguments)}))
                continue
            found = self.read(due.answer, reply.text)
            if isinstance(found, NotCounted):
                self.add(steps.reject(self.state, self.asked[call].step.id, call, found))
            else:
                self._read.add(call)

    def _answer(self, call: str, reply: Reply) -> dict[str, Any]:
        tokens = dict(zip(("tokens_in", "tokens_cached", "tokens_out"), reply.tokens, strict=True))
        came = {"status": 200, "sent_as_rendered": True, "finish": reply.finish}
        more = {**came, **tokens, **reply.more}
        started, prices = self.state.calls[call], self.state.prices
        custom = started["model"].startswith(CUSTOM)  # it was offered no tools
        asked = () if custom else tuple(ToolCall(*row) for row in reply.tools)
        completion = Completion(reply.text, tool_calls=asked, **more)
        return outcomes.answered(started, completion, len(asked), prices, 1, self.record.blob)


def fold(events: Iterable[Event]) -> DebateState:
    return reduce(evolve, events, DebateState())


def walk(
    events: Iterable[Event],
    text_of: Callable[[str], str | None],
    approved: Mapping[str, str] | None = None,
) -> list[tuple[int, Difference]]:
    """Replay events and return every difference with the place of its event."""
    replay = Replay(text_of, admitted(approved))
    return [(event["seq"], row) for event in events for row in replay.step(event)]


def prompt_of(shared: Recipe, own: Sequence[Part]) -> Prompt:
    """Return the prompt of a recipe as it stands now, with `own` parts after it."""
    return Prompt(shared, len(shared.parts), own, fold_parts(shared.digest, own).hex())


def prompts(debate: Debate) -> dict[str, dict[str, str]]:
    """Rebuild every prompt from the record: its messages by role, by call."""
    state = DebateState()
    prompter = Prompter(state)
    bodies = debate.setup.opening().files
    renderer = Renderer(bodies, debate.record.texts.__getitem__)
    found = {}
    for event in debate.record.events:
        if event["type"] == "call.started":
            data = event["data"]
            prompt = prompter.prompt(steps.place_of(data["step"]))
            assert prompt.digest == data["prompt"]
            found[data["call"]] = {row.role: row.text for row in renderer.messages(prompt)}
        evolve(state, event)
    return found


def titles(text: str) -> list[str]:
    """The titles of a prompt's blocks."""
    return [line[1:-1] for line in text.splitlines() if line.startswith("[")]


# Debates in which everything happens


def _consensus() -> Debate:
    """Unanimity is not reached, with much going wrong."""
    ends = {
        "r1.proposal.planner:1": Die(),
        "r1.proposal.critic:2": Fail("rate_limited", 1500, Wire(429, "req-7")),
        "r1.proposal.operator:2": Reply("I would rather not say."),
        "r1.critique.planner:1": Fail("client_error"),
        "r1.critique.critic:1": vote("release", finish="length"),
        "r1.critique.critic:2": vote("ship it"),
        "r1.critique.critic:3": Reply("{}"),
        "critic": vote("revise", tokens=(1000, 400, 30), more={"tokens_cache_write": 100}),
    }
    setup = Setup(
        rule="unanimity",
        personas={"critic": "You run the pager."},
        evidence=(("runbook", "Rollback takes an hour.", 1), ("memo", "It failed twice.", 2)),
        prices=(PRICE,),
    )
    return Debate(setup, script(ends, vote("release", tokens=(1000, 400, 30)))).run()


def _judged() -> Debate:
    """Tools are used, a stance is not heard, and the deliverable has a schema of the user's."""
    use = Reply("", tools=[("lookup", '{"what":"x"}'), ("lookup", "{}")])
    ends = {
        "r1.argument.ann:1": use,
        "r2.argument.bob": Fail("client_error", wire=Wire(404, "req-8", False, "{}")),
        "verdict:1": use,
        "verdict": say(winner="wait"),
        "synthesis:1": Reply("{}"),
        "synthesis:2": Reply('{"answer":"wait"}'),
    }
    shape = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
    setup = Setup(
        "judged",
        model=SERVED,
        name="weekly",
        tool_rounds=1,
        tools=["lookup"],
        context="A small team.",
        instructions="Be brief.",
        output_schema=shape,
        judge={"persona": "You are strict."},
        seed=7,
    )
    return Debate(setup, script(ends)).run()


MEMO = "It failed twice,\fand nobody knows why."
PAPER = Taken(
    "application/pdf", digest(b"a paper"), "extractor/1", 2, b64encode(b"a paper").decode()
)


def moderation(**members: Any) -> Callable[[Call], Reply]:
    """A moderator's reply with something in each of its lists."""
    rows = {"resolved_points": ["a"], "unresolved_points": ["b", "c"]}
    return say(**rows, explicit_uncertainties=["d"], **members)


def _moderated() -> Debate:
    """Weak critique, citations of every kind, two rounds, a check of neutrality."""
    claims = [argued(("memo", "failed twice")), argued(("memo", "failed thrice")), argued()]
    attacks = [argued(("later", "x")), argued(("none", "x")), argued(("memo", "nobody knows"))]
    ends = {
        "proposition": say(supporting_arguments=claims, anticipated_objections=["x"]),
        "r1.critique.critic:1": say(challenge_strength=4),
        "critique": say(counter_arguments=[*attacks, argued()], challenge_strength=7),
        "r1.rebuttal.rebuttal:1": say(rebuttals=[answered(5)]),
        "rebuttal": say(rebuttals=[answered(3, ("memo", "failed twice"))]),
        "r1.moderation.moderator": moderation(recommend_another_round=True),
        "moderation": moderation(upholds_proposition=True),
        "neutrality": moderation(upholds_proposition=False),
    }
    setup = Setup(
        "moderated",
        max_rounds=2,
        neutrality_check=True,
        synthesizer=True,
        evidence=(("memo", MEMO, 1, PAPER), ("later", "x", 2)),
    )
    return Debate(setup, script(ends)).run()


def _positions() -> Debate:
    """Several positions are ranked; critiques must cite, and two of three do not."""
    ends = {
        "critique-2": say(counter_arguments=[argued(("memo", "nobody knows")), argued()]),
        "critique": say(counter_arguments=[argued(), argued()]),
        "rebuttal": say(rebuttals=[answered(2)]),
        "moderation": say(ranking=["wait", "ship", "drop"]),
    }
    setup = Setup(
        "moderated",
        positions=DEFAULTS["judged"]["debaters"],
        evidence=(("memo", MEMO, 1),),
        require_cited_critique=True,
    )
    return Debate(setup, script(ends)).run()


def _panel() -> Debate:
    """Drafts that never converge; one is not heard, and a tie falls back to the most similar."""
    ends = {
        "r0.draft.ann": Reply("release it now, slowly"),
        "r0.draft.bob": Reply("never release it now"),
        "r0.draft.cat:1": Fail("unreachable", 300_000),  # as long as a turn is tried again
        "r2.draft.ann": Fail("client_error"),
    }
    setup = Setup("panel", resolution="majority", fallback="similar")
    return Debate(setup, script(ends)).run()


def _choosing() -> Debate:
    """Declared options, a judge, a debate that converges; each prompt begins with the role.

    Each seat is instructed otherwise in each round.
    """

    def instructions(given: Mapping[str, Any], _context: Any) -> str:
        return f"You are {given['seat']}, in round {given['round']}."

    own: dict[str, Any] = {"layout": "role-first", "instructions": instructions}
    setup = Setup("panel", options=["yes", "no"], judge={}, **own)
    return Debate(setup, script({"r0.draft.bob": say(choice="no"), "verdict": say()})).run()


def _baseline() -> Debate:
    """Three choices of five count: one draw is refused, one gives up after two replies, one votes
    otherwise.
    """
    ends = {
        "r1.draw-2.debater": Fail("client_error"),
        "r1.draw-3.debater": say(choice="no"),
        "r1.draw-4.debater": Reply("perhaps"),
    }
    setup = Setup("baseline", draws=5, options=["yes", "no"], attempts=2)
    return Debate(setup, script(ends)).run()


def _truncated() -> Debate:
    """The calls are used up."""
    return Debate(Setup("panel", limits={"calls": 4}), script()).run()


def tried_again(format_: str) -> Debate:
    """No call is answered at its first try."""
    ends = script(usual=lambda call: Fail("timeout") if call.attempt == 1 else say()(call))
    return Debate(Setup(format_), ends).run()


_EVENTFUL = {
    **{name: partial(tried_again, name) for name in FORMATS},  # of one without its own below
    "consensus": _consensus,
    "judged": _judged,
    "moderated": _moderated,
    "positions": _positions,
    "panel": _panel,
    "choosing": _choosing,
    "baseline": _baseline,
    "truncated": _truncated,
}
EVENTFUL = tuple(_EVENTFUL)


def eventful(name: str = "consensus") -> Debate:
    """A debate in which much happens; those of EVENTFUL together have every type of event."""
    return _EVENTFUL[name]()
