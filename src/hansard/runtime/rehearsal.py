"""A debate without models: the rules say who is due, and filler stands in place of every reply.

Everybody agrees from some call on, or nobody ever does. Where no price is known, calls
alone are counted; else prompts are rendered from the real templates, question and evidence
as well, and filler has the length that is assumed of a reply.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple, TypeVar, cast

from hansard.rules import spending, steps
from hansard.rules.calls import Calls
from hansard.rules.data import CutData
from hansard.rules.events import Event, Fact
from hansard.rules.fields import Blob
from hansard.rules.formats.base import Compare, NotCounted
from hansard.rules.prompts import Prompt
from hansard.rules.replies import Schema
from hansard.rules.spending import Tokens
from hansard.rules.state import DebateState, Step, evolve
from hansard.rules.steps import Ask, Conclude
from hansard.runtime.opening import Opening, unsalted
from hansard.runtime.outcomes import Keep
from hansard.runtime.output import PLAIN
from hansard.verify.checks import MAX_REPLY

REPLY = 400  # tokens, of a seat that sets no max_tokens
BYTES = 4  # in a token, as prose in Latin script has them
CACHED_FROM = 1024  # tokens: no provider keeps a shorter beginning
_AT = "2000-01-01T00:00:00.000000Z"  # no time passes in a rehearsal
_NOTHING = spending.reserve({}, "", 0, None)
_UNKNOWN = Tokens(None, None, None, None)
_FILLER = "~"  # stands in no member's name and in no declared name

R = TypeVar("R", bound="Rehearsal")


class Script(NamedTuple):
    """What a debate is rehearsed with: its opening, and the tokens of each seat's replies."""

    facts: Sequence[Fact]
    files: Mapping[str, bytes]
    texts: Mapping[str, str]
    keep: Keep
    replies: Mapping[str, int]


class Rehearsal:
    """A debate that is rehearsed to its end: `calls` are made, whatever its ceilings.

    Everybody agrees once `agree_from` calls are made; None: nobody ever does. What calls cost
    is not known: nothing is sent.
    """

    cost_micro_usd: int | None = None

    def __init__(self, script: Script, agree_from: int | None) -> None:
        self.state = DebateState()
        self.calls = 0
        self._asked: int | None = None  # calls made when it first mattered whether all agree
        self.replies = script.replies
        self._texts, self._keep, self._agree_from = script.texts, script.keep, agree_from
        self._read: dict[str, Mapping[str, Any]] = {}  # replies, by call, until recorded
        self._said: dict[tuple[str, bool], Blob] = {}  # by seat, and whether it agrees
        opening, *rest = script.facts
        for fact in (_eased(opening), *rest):
            self._fold(fact)

    def run(self) -> None:
        """Go on until the debate is closed."""
        while (due := steps.decide(self.state, self._read)) is not None:
            match due:
                case Ask():
                    self._ask(due.steps)
                case Conclude(step, answer):
                    call = answer["call"]
                    self._fold(steps.record(self.state, step, call, self._read.pop(call)))
                case Compare():
                    self._fold(self._as_assumed(steps.compare(self.state, due, {})))
                case Fact():
                    self._fold(self._as_assumed(due))
                case _:
                    raise AssertionError(f"filler fits its schema and asks for no tools: {due}")

    @property
    def is_fixed(self) -> bool:
        """Whether no call comes after it has mattered whether all agree.

        Where nobody did, agreement has no call follow either: it only ends a debate earlier.
        """
        return self._asked in (None, self.calls)

    def _matters(self, made: int) -> None:
        self._asked = made if self._asked is None else self._asked

    @property
    def _agree(self) -> bool:
        return self._agree_from is not None and self.calls >= self._agree_from

    def _fold(self, fact: Fact) -> None:
        row = {"seq": self.state.seq + 1, "at": _AT, "debate": "rehearsal"}
        evolve(self.state, cast(Event, {**row, "type": fact.type, "data": fact.data}))

    def _as_assumed(self, fact: Fact) -> Fact:
        """Return what was counted or compared as if all agreed, or nobody."""
        assumed = {name: self._agree for name in ("reached", "converged") if name in fact.data}
        if assumed:
            self._matters(self.calls)
        return Fact(fact.type, {**fact.data, **assumed})

    def _ask(self, due: Sequence[Step]) -> None:
        """Make the calls that are due."""
        for step in due:
            self._call(step, steps.start(self.state, step, "") | _NOTHING, _UNKNOWN)

    def _call(self, step: Step, started: Mapping[str, Any], tokens: Tokens) -> None:
        """Fold in a call of a step, and the reply that uses these tokens."""
        self._fold(Fact("call.started", started))
        self.calls += 1
        # Ceilings are looked at as if the cache never answered.
        plain = tokens._replace(cached=0, cache_write=0)
        answer: Any = {
            "call": started["call"],
            "reply": self._reply(step.speaker),
            "finish": "stop",
            "tools": 0,
            "tokens_in": tokens.in_,
            "tokens_cached": tokens.cached,
            "tokens_cache_write": tokens.cache_write,
            "tokens_out": tokens.out,
            "cost_micro_usd": spending.cost(self.state.prices, started["model"], plain),
        }
        self._fold(Fact("call.answered", answer))
        text = self._texts[answer["reply"]["sha256"]]
        read = steps.read_reply(self.state, answer, text, self._texts.get)
        if not isinstance(read, NotCounted):
            self._read[started["call"]] = read

    def _reply(self, speaker: str) -> Blob:
        """Return what a seat always says."""
        key = speaker, self._agree
        if key not in self._said:
            role = self.state.seats[speaker]["role"]
            schema = steps.schema_of(self.state, role) or PLAIN  # nobody checks a user's own
            size = self.replies[speaker] * BYTES
            alone, agreed = (filler(schema, size, yes=yes) for yes in (True, False))
            if alone != agreed:
                self._matters(self.calls - 1)
            self._said[key] = self._keep(agreed if self._agree else alone)
        return self._said[key]


class Sized(Rehearsal):
    """One in which prompts are made, so that tokens and costs are known.

    `stop` is the ceiling that would have ended it first, and how many calls come before that.
    """

    def __init__(self, script: Script, agree_from: int | None) -> None:
        super().__init__(script, agree_from)
        self.stop: tuple[CutData, int] | None = None
        self._calls = Calls(self.state, script.files, script.texts.__getitem__)
        self._sent: dict[str, Prompt] = {}  # by model: the longest that it has been asked

    def _ask(self, due: Sequence[Step]) -> None:
        """Make the calls that are due: at once, or so that the first leads."""
        asked = []
        for step in due:
            asked.append((self.state.seats[step.speaker]["model"], self._prompted(step)))
            if self.state.spec["leading_call"]:
                self._remember(*asked[-1])
        for model, prompt in asked:
            self._remember(model, prompt)

    def _remember(self, model: str, prompt: Prompt) -> None:
        if self._sent.setdefault(model, prompt).shared is prompt.shared:
            self._sent[model] = prompt

    def _prompted(self, step: Step) -> Prompt:
        """Make the call of a step; return what was asked."""
        call = self._calls.next(step)
        prompt, model = call.prompt, call.data["model"]
        over = None if self.stop else spending.exceeded(self.state, call.data, _AT)
        if over:
            self.stop = over, self.calls
        begins = self._tokens(prompt, prompt.length) if prompt.repeats else 0
        cached = self._tokens(prompt, self._known(model, prompt))
        written, out = max(0, begins - cached), self.replies[step.speaker]
        self._call(step, call.data, Tokens(-(-call.size // BYTES), cached, written, out))
        return prompt

    def _known(self, model: str, prompt: Prompt) -> int:
        """Return how many parts of `prompt` begin an earlier one that the model was asked."""
        earlier = self._sent.get(model)
        if earlier is None:
            return 0
        if earlier.shared is prompt.shared:
            return min(earlier.length, prompt.length)
        both = zip(earlier.shared.parts[: earlier.length], prompt.shared.parts, strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0].digest == pair[1].digest, both))

    def _tokens(self, prompt: Prompt, parts: int) -> int:
        """Return the tokens of a prompt's first parts, or 0 where no cache keeps so few."""
        tokens = self._calls.size(prompt._replace(length=parts, own=())) // BYTES
        return tokens if tokens >= CACHED_FROM else 0


def rehearsals(kind: type[R], opening: Opening) -> tuple[R, R, R]:
    """Rehearse a debate; return its course of the most calls, the expected, that of the fewest.

    They are one where it does not matter whether anybody agrees.
    """
    texts: dict[str, str] = {}
    keep = unsalted(texts)
    replies = {row.id: row.settings.max_tokens or REPLY for row in opening.table}
    script = Script(opening.facts(keep), opening.files, texts, keep, replies)

    def run(agree_from: int | None) -> R:
        found = kind(script, agree_from)
        found.run()
        return found

    most = run(None)
    if most.is_fixed:
        return most, most, most
    return most, run(-(-most.calls // 2)), run(0)


def _eased(opening: Fact) -> Fact:
    """Return the opening without terms that filler cannot meet: it cites nothing."""
    terms = opening.data["terms"]
    eased = dict.fromkeys(terms.keys() & {"require_cited_critique"}, False)
    return Fact(opening.type, {**opening.data, "terms": {**terms, **eased}})


def filler(schema: Schema, size: int, *, yes: bool) -> str:
    """Return a reply of about `size` bytes that fits a reply schema; `yes` to what is asked."""
    value = _fitting(schema, yes)
    text = value if isinstance(value, str) else json.dumps(value)
    room = min(size, MAX_REPLY) - len(text)
    return text.replace(_FILLER, "x" * max(1, room // text.count(_FILLER) + 1))


def _fitting(schema: Schema, yes: bool) -> Any:
    """Return the plainest value that fits, with filler for every text."""
    kind = schema["type"]
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "object":
        return {name: _fitting(member, yes) for name, member in schema["properties"].items()}
    if kind == "array":
        item, least = schema["items"], schema["minItems"]
        return item["enum"][:least] if "enum" in item else [_fitting(item, yes)] * least
    return {"integer": schema.get("maximum"), "boolean": yes, "string": _FILLER}[kind]
