"""What a debate would take, before anything is spent: its calls, tokens and cost.

It is rehearsed (`rehearsal`). Once nobody ever agrees, which gives the most calls
there can be; once everybody does at once, which gives the fewest; and once everybody
does when half of the most calls are made, so that half of the rounds are used,
which is what to expect. Retries and rounds of tools come on top of all three. No
model is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Literal

from pydantic import Field

from hansard.closed import Closed
from hansard.errors import UsageError
from hansard.rules import spending
from hansard.rules.fields import Ceiling, Estimated, Layout, Price
from hansard.rules.formats import AnySpec, most_turns
from hansard.rules.spending import BYTES_A_TOKEN, Tokens
from hansard.rules.state import DebateState
from hansard.rules.terms import Role
from hansard.runtime.files import Files
from hansard.runtime.inputs import read_templates, read_texts
from hansard.runtime.opening import Opening, schemas_of
from hansard.runtime.rehearsal import BYTES, CACHED_FROM, REPLY, Rehearsal, Sized, rehearsals
from hansard.runtime.seats import Models, given_to, require_fit, unasked
from hansard.runtime.tools import Tools, find_tools
from hansard.runtime.warned import Warned, warned
from hansard.verify.checks import MAX_REPLY

# A debate beyond one of these is not rehearsed: some seconds, before a debate that takes hours.
MOST_REHEARSED = 10_000  # turns
MOST_PARTS = 1_000_000  # parts of prompts that are put together anew for every turn
MOST_SAID = 1 << 28  # bytes of replies


class Use(Closed):
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


class Stop(Closed):
    """The ceiling that would end the debate, and about how many calls would come before it."""

    ceiling: Ceiling
    limit: int = Field(description="In calls, tokens or micro-US-dollars")
    calls: int


class Course(Use):
    """One way that the debate can go, as a whole and by seat, no ceiling regarded."""

    stop: Stop | None
    seats: tuple[SeatUse, ...]


class Estimate(Closed):
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
    silent = unasked({row.id: row.model for row in table}, files, models)
    schemas = schemas_of(spec, table, files)
    given = find_tools([name for name in spec.tools if name in (tools or {})], tools)
    return Opening(spec, read_templates(spec, files), schemas, given, silent)


def estimate(
    spec: AnySpec, files: Files, models: Models | None = None, tools: Tools | None = None
) -> Estimate:
    """Return what the debate that `spec` describes would take.

    `files` are those that the spec may name, `models` the callables that it would
    be run with, where these state prices, and `tools` the functions, whose
    definitions are sent with every call; one that is not given is named in the
    estimate. Needs neither keys nor the packages of providers. Raises UsageError
    `spec.*` or `tool.unfit` where `run` would, and `estimate.too_long` for a debate
    that is too long to be rehearsed.
    """
    opening = rehearsed(spec, files, models, tools)
    if _is_long(opening):
        raise UsageError(
            "estimate.too_long",
            f"nothing was estimated: this debate can have {_turns(opening):,} turns, which with "
            "their prompts and replies are too many to rehearse; it can be run, but set ceilings "
            "under `limits` first, or choose fewer rounds or a smaller `max_tokens`",
        )
    spec, table = opening.spec, opening.table
    found = rehearsals(Sized, opening)
    most, expected, fewest = courses = [_course(row) for row in found]
    opened = found[0].state.spec
    priced = {row["model"] for row in opened["prices"]}
    return Estimate(
        format=spec.format,
        layout=opened["layout"],
        scripted=opened["scripted"],
        most=most,
        expected=expected,
        fewest=fewest,
        prices=tuple(opened["prices"]),
        unpriced=tuple(sorted({row.model for row in table} - priced)),
        retry_calls=most.calls * (spec.attempts - 1),
        tool_calls=most.calls * spec.tool_rounds if spec.tools else 0,
        missing_tools=tuple(name for name in spec.tools if name not in opening.tools),
        seconds=spec.limits.seconds,
        warnings=warned(opening, _recorded(courses)),
    )


def expectation(opening: Opening) -> Estimated | None:
    """Return what to record of the estimate; None of a debate too long to be rehearsed first.

    Costs are those without the cache, in micro-US-dollars.
    """
    if _is_long(opening):
        return None
    if opening.is_priced:
        return _recorded([_course(row) for row in rehearsals(Sized, opening)])
    return _recorded(rehearsals(Rehearsal, opening))


def _is_long(opening: Opening) -> bool:
    """Say whether a debate is too long to be rehearsed first."""
    spec, turns = opening.spec, _turns(opening)
    anew = spec.layout == "role-first"  # where no prompt goes on from the one before
    parts = turns * (turns + len(spec.evidence)) if anew else 0
    reply = max(row.settings.max_tokens or REPLY for row in opening.table)
    said = turns * min(reply * BYTES, MAX_REPLY)
    return turns > MOST_REHEARSED or parts > MOST_PARTS or said > MOST_SAID


def _turns(opening: Opening) -> int:
    """Return how many turns a debate can have."""
    return most_turns(opening.spec.terms(), [row.role for row in opening.table])


def _recorded(courses: Sequence[Course] | Sequence[Rehearsal]) -> Estimated:
    """Return what is recorded of the courses that a debate can take."""
    calls = [row.calls for row in courses]
    costs = [row.cost_micro_usd for row in courses]
    # Courses of as many calls differ by a few bytes of filler: the order is made sure of.
    known = sorted(cost for cost in costs if cost is not None) or costs
    return {
        "calls_least": min(calls),
        "calls_most": max(calls),
        "cost_least_micro_usd": known[0],
        "cost_expected_micro_usd": known[1],
        "cost_most_micro_usd": known[2],
    }


def _course(rehearsal: Sized) -> Course:
    """Return what a rehearsed debate took."""
    state, replies = rehearsal.state, rehearsal.replies
    seats = tuple(_use_of(state, seat, replies[seat]) for seat in state.seats)
    stop = None
    if rehearsal.stop:
        cut, calls = rehearsal.stop
        stop = Stop(ceiling=cut["ceiling"], limit=cut["limit"], calls=calls)
    return Course(**_total(seats), stop=stop, seats=seats)


def _use_of(state: DebateState, seat: str, reply: int) -> SeatUse:
    """Return what a seat used; `reply` is the tokens of each of its replies."""
    row, spent, prices = state.seats[seat], state.spend[seat], state.prices
    used = Tokens(spent.tokens_in, spent.tokens_cached, spent.tokens_cache_write, spent.tokens_out)
    uncached = used._replace(cached=0, cache_write=0)
    return SeatUse(
        id=seat,
        role=row["role"],
        model=row["model"],
        reply_tokens=reply,
        calls=spent.calls,
        tokens_in=spent.tokens_in,
        tokens_cached=spent.tokens_cached,
        tokens_out=spent.tokens_out,
        cost_micro_usd=spending.cost(prices, row["model"], uncached),
        cost_cached_micro_usd=spending.cost(prices, row["model"], used),
    )


def _total(seats: Sequence[SeatUse]) -> dict[str, int | None]:
    """Return the sums over all seats; null where one is unknown."""
    found: dict[str, int | None] = {}
    for name in Use.model_fields:
        values = [getattr(seat, name) for seat in seats]
        found[name] = None if None in values else sum(values)
    return found
