"""What a debate would take, before anything is spent: its calls, tokens and cost.

The debate is rehearsed. The rules say who is due, prompts are rendered from the
real templates, question and evidence, and filler of an assumed length stands in
place of every reply. Once nobody ever agrees, which gives the most calls there
can be; once everybody does at once, which gives the fewest; and once everybody
does when half of the most calls are made, so that half of the rounds are used,
which is what to expect. Retries and rounds of tools come on top of all three. No
model is asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import partial
from itertools import takewhile
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from hansard.rules import spending, steps
from hansard.rules.calls import Calls
from hansard.rules.events import Event, Fact
from hansard.rules.fields import Blob, Ceiling, Estimated, Layout, Price
from hansard.rules.formats import AnySpec, most_turns
from hansard.rules.formats.base import Compare, NotCounted
from hansard.rules.prompts import Prompt
from hansard.rules.replies import Schema
from hansard.rules.spending import BYTES_A_TOKEN, Tokens
from hansard.rules.state import DebateState, Step, evolve
from hansard.rules.steps import Ask, Conclude
from hansard.rules.terms import Role
from hansard.runtime.files import Files
from hansard.runtime.inputs import read_templates, read_texts
from hansard.runtime.opening import Opening, schemas_of, unsalted
from hansard.runtime.outcomes import Keep
from hansard.runtime.output import PLAIN
from hansard.runtime.seats import Models, given_to, require_fit, silent
from hansard.runtime.tools import Tools, find_tools
from hansard.runtime.warned import Warned, warned
from hansard.verify.checks import MAX_REPLY

REPLY = 400  # tokens, of a seat that sets no max_tokens
BYTES = 4  # in a token, as prose in Latin script has them
MOST_REHEARSED = 10_000  # turns: some seconds, before a debate that takes hours
CACHED_FROM = 1024  # tokens: no provider keeps a shorter beginning
_AT = "2000-01-01T00:00:00.000000Z"  # no time passes in a rehearsal
_FILLER = "~"  # stands in no member's name and in no declared name


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Use(_Part):
    """What is used: calls, tokens (cached ones are part of those that go in), and the cost."""

    calls: int
    tokens_in: int
    tokens_cached: int = Field(description="What can be read from the provider's cache")
    tokens_out: int
    cost_micro_usd: int | None = Field(description="Without the cache; null: a price is unknown")
    cost_cached_micro_usd: int | None = Field(description="Where the cache gives all that it can")


class SeatUse(Use):
    """What one seat uses."""

    id: str
    role: Role
    model: str
    reply_tokens: int = Field(description="Assumed of each reply: max_tokens, where it is set")


class Stop(_Part):
    """The ceiling that would end the debate, and about how many calls would come before it."""

    ceiling: Ceiling
    limit: int = Field(description="In calls, tokens or micro-US-dollars")
    calls: int


class Course(Use):
    """One way that the debate can go, as a whole and by seat, no ceiling regarded."""

    stop: Stop | None
    seats: tuple[SeatUse, ...]


class Estimate(_Part):
    """What a debate would take."""

    estimate: Literal["hansard-estimate/v1"] = Field(
        default="hansard-estimate/v1", description="The form of this estimate"
    )
    format: str = Field(description="The format of the debate")
    layout: Layout = Field(description="What stands first in a prompt")
    scripted: bool = Field(description="Whether any reply would come from a script, not a model")
    most: Course = Field(description="Nobody agrees before the rounds are used up")
    expected: Course = Field(description="Everybody agrees once half of the most calls are made")
    fewest: Course = Field(description="Everybody agrees at once")
    prices: tuple[Price, ...] = Field(description="Per million tokens, each with who says so")
    unpriced: tuple[str, ...] = Field(description="The models whose prices are unknown")
    retry_calls: int = Field(description="What retries may add to the most calls")
    tool_calls: int = Field(description="What rounds of tools may add to the most calls")
    missing_tools: tuple[str, ...] = Field(
        description="The tools that were not given: their definitions are counted nowhere"
    )
    seconds: float | None = Field(description="The ceiling on time; time is not estimated")
    warnings: tuple[Warned, ...] = Field(description="What to know before the first call")

    def __repr__(self) -> str:
        """Return the most that it may take in one line; the fields have the rest."""
        most = self.most
        cost = most.cost_micro_usd
        price = "cost unknown" if cost is None else f"${Decimal(cost) / 10**6:.4f}"
        tokens = f"{most.tokens_in:,} tokens in, {most.tokens_out:,} out"
        return f"<Estimate {self.format}: at most {most.calls} calls, {tokens}, {price}>"

    @property
    def assumed(self) -> str:
        """What the numbers assume."""
        size = f"{BYTES} bytes per token, {BYTES_A_TOKEN} against ceilings"
        kept = f"prompts that begin alike are cached from {CACHED_FROM:,} tokens"
        return f"replies of {REPLY} tokens, or of max_tokens where set; {size}; {kept}"


def rehearsed(
    spec: AnySpec, files: Files, models: Models | None = None, tools: Tools | None = None
) -> Opening:
    """Return the opening of a debate that is not run, as `estimate` needs it, and raise as much."""
    spec = read_texts(spec, files)
    table, models = spec.table(), given_to(spec, models)
    require_fit(spec, files, models)
    unasked = {row.id: silent(row.model, files, models) for row in table}
    schemas = schemas_of(spec, table, files)
    given = find_tools([name for name in spec.tools if name in (tools or {})], tools)
    return Opening(spec, read_templates(spec, files), schemas, given, unasked)


def estimate(
    spec: AnySpec, files: Files, models: Models | None = None, tools: Tools | None = None
) -> Estimate:
    """Return what the debate that `spec` describes would take.

    `files` are those that the spec may name, `models` the callables that it would
    be run with, where these state prices, and `tools` the functions, whose
    definitions are sent with every call; one that is not given is named in the
    estimate. Needs neither keys nor the packages of providers. Raises UsageError
    `spec.*` or `tool.unfit` where `run` would.
    """
    opening = rehearsed(spec, files, models, tools)
    spec, table = opening.spec, opening.spec.table()
    opened, courses = _courses(opening)
    most, expected, fewest = courses
    priced = {row["model"] for row in opened["prices"]}
    return Estimate(
        format=spec.format,
        layout=opened["layout"],
        scripted=opened["scripted"],
        most=most,
        expected=expected,
        fewest=fewest,
        prices=opened["prices"],
        unpriced=tuple(sorted({row.model for row in table} - priced)),
        retry_calls=most.calls * (spec.attempts - 1),
        tool_calls=most.calls * spec.tool_rounds if spec.tools else 0,
        missing_tools=tuple(name for name in spec.tools if name not in opening.tools),
        seconds=spec.limits.seconds,
        warnings=warned(opening, None if _is_long(spec) else _recorded(courses)),
    )


def expectation(opening: Opening) -> Estimated | None:
    """Return what to record of the estimate; None of a debate too long to be rehearsed first.

    Costs are those without the cache, in micro-US-dollars.
    """
    return None if _is_long(opening.spec) else _recorded(_courses(opening)[1])


def _is_long(spec: AnySpec) -> bool:
    """Say whether a debate is too long to be rehearsed first."""
    return most_turns(spec.terms(), [row.role for row in spec.table()]) > MOST_REHEARSED


def _recorded(courses: Sequence[Course]) -> Estimated:
    """Return what is recorded of the courses that a debate can take."""
    costs = [course.cost_micro_usd for course in courses]
    # Courses of as many calls differ by a few bytes of filler: the order is made sure of.
    known = sorted(cost for cost in costs if cost is not None) or costs
    return {
        "calls_least": min(course.calls for course in courses),
        "calls_most": max(course.calls for course in courses),
        "cost_least_micro_usd": known[0],
        "cost_expected_micro_usd": known[1],
        "cost_most_micro_usd": known[2],
    }


def _courses(opening: Opening) -> tuple[Mapping[str, Any], tuple[Course, Course, Course]]:
    """Rehearse a debate; return the data of its opening, and its most, expected, fewest calls."""
    texts: dict[str, str] = {}
    keep = unsalted(texts)
    facts = opening.facts(keep)
    replies = {row.id: row.settings.max_tokens or REPLY for row in opening.spec.table()}
    rehearse = partial(_Rehearsal, facts, opening.files, texts, keep, replies)
    most = rehearse(agree_from=None).course()
    expected = rehearse(agree_from=-(-most.calls // 2)).course()
    return facts[0].data, (most, expected, rehearse(agree_from=0).course())


class _Rehearsal:
    """A debate in which everybody says filler; after some number of calls, or never, all agree."""

    def __init__(
        self,
        facts: Sequence[Fact],
        files: Mapping[str, bytes],
        texts: Mapping[str, str],
        keep: Keep,
        replies: Mapping[str, int],
        *,
        agree_from: int | None,
    ) -> None:
        self._state = DebateState()
        self._texts, self._keep, self._replies = texts, keep, replies
        self._agree_from, self._made = agree_from, 0  # in calls
        self._calls = Calls(self._state, files, texts.__getitem__)
        self._read: dict[str, Mapping[str, Any]] = {}  # replies, by call, until recorded
        self._said: dict[tuple[str, bool], Blob] = {}  # by seat, and whether it agrees
        self._sent: dict[str, Prompt] = {}  # by model: the longest that it has been asked
        self._stop: Stop | None = None
        opening, *rest = facts
        for fact in (_eased(opening), *rest):
            self._fold(fact)

    def course(self) -> Course:
        """Go on until the debate is closed and return what it took."""
        while (due := steps.decide(self._state, self._read)) is not None:
            match due:
                case Ask():
                    self._ask(due.steps)
                case Conclude(step, answer):
                    call = answer["call"]
                    self._fold(steps.record(self._state, step, call, self._read.pop(call)))
                case Compare():
                    self._fold(self._as_assumed(steps.compare(self._state, due, {})))
                case Fact():
                    self._fold(self._as_assumed(due))
                case _:
                    raise AssertionError(f"filler fits its schema and asks for no tools: {due}")
        seats = tuple(map(self._use_of, self._state.seats))
        return Course(**_total(seats), stop=self._stop, seats=seats)

    @property
    def _agree(self) -> bool:
        return self._agree_from is not None and self._made >= self._agree_from

    def _fold(self, fact: Fact) -> None:
        row = {"seq": self._state.seq + 1, "at": _AT, "debate": "rehearsal"}
        evolve(self._state, cast(Event, {**row, "type": fact.type, "data": fact.data}))

    def _as_assumed(self, fact: Fact) -> Fact:
        """Return what was counted or compared as if all agreed, or nobody."""
        assumed = {name: self._agree for name in ("reached", "converged") if name in fact.data}
        return Fact(fact.type, {**fact.data, **assumed})

    def _ask(self, due: Sequence[Step]) -> None:
        """Make the calls that are due: at once, or so that the first leads."""
        asked = []
        for step in due:
            asked.append((self._state.seats[step.speaker]["model"], self._call(step)))
            if self._state.spec["leading_call"]:
                self._remember(*asked[-1])
        for model, prompt in asked:
            self._remember(model, prompt)

    def _remember(self, model: str, prompt: Prompt) -> None:
        if self._sent.setdefault(model, prompt).shared is prompt.shared:
            self._sent[model] = prompt

    def _call(self, step: Step) -> Prompt:
        """Fold in the call of a step and its reply; return what was asked."""
        state, call = self._state, self._calls.next(step)
        prompt, model = call.prompt, call.data["model"]
        over = None if self._stop else spending.exceeded(state, call.data, _AT)
        if over:
            ceiling, limit = over["ceiling"], over["limit"]
            self._stop = Stop(ceiling=ceiling, limit=limit, calls=state.total().calls)
        self._fold(Fact("call.started", call.data))
        self._made += 1
        begins = self._tokens(prompt, prompt.length) if prompt.repeats else 0
        cached = self._tokens(prompt, self._known(model, prompt))
        tokens = Tokens(
            -(-call.size // BYTES), cached, max(0, begins - cached), self._replies[step.speaker]
        )
        plain = tokens._replace(cached=0, cache_write=0)
        answer: Any = {
            "call": call.data["call"],
            "reply": self._reply(step.speaker, call.schema),
            "finish": "stop",
            "tools": 0,
            "tokens_in": tokens.in_,
            "tokens_cached": tokens.cached,
            "tokens_cache_write": tokens.cache_write,
            "tokens_out": tokens.out,
            # Ceilings are looked at as if the cache never answered.
            "cost_micro_usd": spending.cost(state.spec["prices"], model, plain),
        }
        self._fold(Fact("call.answered", answer))
        text = self._texts[answer["reply"]["sha256"]]
        read = steps.read_reply(state, answer, text, self._texts.get)
        if not isinstance(read, NotCounted):
            self._read[call.data["call"]] = read
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

    def _reply(self, speaker: str, schema: Schema) -> Blob:
        """Return what a seat always says."""
        key = speaker, self._agree
        if key not in self._said:
            role = self._state.seats[speaker]["role"]
            schema = PLAIN if role == "synthesizer" else schema  # nobody checks a user's own
            text = filler(schema, self._replies[speaker] * BYTES, yes=not self._agree)
            self._said[key] = self._keep(text)
        return self._said[key]

    def _use_of(self, seat: str) -> SeatUse:
        row, spent, prices = (
            self._state.seats[seat],
            self._state.spend[seat],
            self._state.spec["prices"],
        )
        tokens = Tokens(
            spent.tokens_in, spent.tokens_cached, spent.tokens_cache_write, spent.tokens_out
        )
        return SeatUse(
            id=seat,
            role=row["role"],
            model=row["model"],
            reply_tokens=self._replies[seat],
            calls=spent.calls,
            tokens_in=spent.tokens_in,
            tokens_cached=spent.tokens_cached,
            tokens_out=spent.tokens_out,
            cost_micro_usd=spending.cost(
                prices, row["model"], tokens._replace(cached=0, cache_write=0)
            ),
            cost_cached_micro_usd=spending.cost(prices, row["model"], tokens),
        )


def _eased(opening: Fact) -> Fact:
    """Return the opening without terms that filler cannot meet: it cites nothing."""
    terms = opening.data["terms"]
    eased = dict.fromkeys(terms.keys() & {"require_cited_critique"}, False)
    return Fact(opening.type, {**opening.data, "terms": {**terms, **eased}})


def _total(seats: Sequence[SeatUse]) -> dict[str, int | None]:
    """Return the sums over all seats; null where one is unknown."""
    found: dict[str, int | None] = {}
    for name in Use.model_fields:
        values = [getattr(seat, name) for seat in seats]
        found[name] = None if None in values else sum(values)
    return found


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
