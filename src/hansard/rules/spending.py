"""What calls use and cost, and the ceilings on it (FORMAT.md §3, §9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from hansard.rules.data import CallStartedData, CutData
from hansard.rules.events import Fact
from hansard.rules.fields import Blob, Ceiling, Price
from hansard.rules.state import LAST_START, DebateState, Step

Prices = Mapping[str, Price]  # by model, those of a debate's state
BYTES_A_TOKEN = 3  # as reserved: prose in Latin script has about four, CJK script three
_ALWAYS: dict[Ceiling, int] = {"entries": LAST_START}  # the ceilings that no spec sets
DEAREST = ":dearest-tier"  # after a price's source: the dearest of several tiers (FORMAT.md §3)


class Tokens(NamedTuple):
    """What a call used; None is unknown. `in_` includes what was cached and written to a cache."""

    in_: int | None
    cached: int | None
    cache_write: int | None
    out: int | None

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Tokens:
        """Return those of an answered call."""
        names = ("tokens_in", "tokens_cached", "tokens_cache_write", "tokens_out")
        return cls(*(answer[name] for name in names))


def cost(prices: Prices, model: str, tokens: Tokens) -> int | None:
    """Return what a call cost in micro-US-dollars, rounded up; None where it is unknown."""
    price = prices.get(model)
    if price is None or tokens.in_ is None or tokens.out is None:
        return None
    cached = min(tokens.cached or 0, tokens.in_)
    written = min(tokens.cache_write or 0, tokens.in_ - cached)
    total = (
        (tokens.in_ - cached - written) * price["input_micro_usd"]
        + cached * price["cached_micro_usd"]
        + written * price["cache_write_micro_usd"]
        + tokens.out * price["output_micro_usd"]
    )
    return -(-total // 1_000_000)


def dearest(prices: Prices, model: str, tokens_in: int, tokens_out: int) -> int | None:
    """Return the most that a call can cost: its input may be read from a cache, or written."""
    used = Tokens(tokens_in, 0, 0, tokens_out)
    ways = (used, used._replace(cached=tokens_in), used._replace(cache_write=tokens_in))
    costs = [cost(prices, model, way) for way in ways]
    return max((found for found in costs if found is not None), default=None)


def reserve(prices: Prices, model: str, sent: int, reply: int | None) -> dict[str, int | None]:
    """Return the `reserved_…` fields of a call: what it sends, in bytes, and its longest reply."""
    tokens_in, tokens_out = -(-sent // BYTES_A_TOKEN), reply or 0
    return {
        "reserved_tokens_in": tokens_in,
        "reserved_tokens_out": tokens_out,
        "reserved_cost_micro_usd": dearest(prices, model, tokens_in, tokens_out),
    }


def saved(prices: Prices, model: str, tokens: Tokens) -> int:
    """Return what the cache saved in micro-US-dollars; below 0 where writing to it cost more."""
    without = cost(prices, model, tokens._replace(cached=0, cache_write=0))
    with_ = cost(prices, model, tokens)
    return 0 if without is None or with_ is None else without - with_


def exceeded(state: DebateState, reserved: CallStartedData, at: str) -> CutData | None:
    """Return the first ceiling that a call could break; None where there is none.

    `reserved` is the data of the call that would be made, `at` the time.
    """
    tokens = reserved["reserved_tokens_in"] + reserved["reserved_tokens_out"]
    wanted = {"tokens": tokens, "cost": reserved["reserved_cost_micro_usd"] or 0}
    for ceiling in (*limits_of(state), *_ALWAYS):
        cut = cut_by(state, ceiling, wanted.get(ceiling, 0), at)
        if cut:
            return cut
    return None


def cut_by(state: DebateState, ceiling: Ceiling, reserved: int, at: str) -> CutData | None:
    """Return what is said of this ceiling where a call could break it; None where it cannot.

    No call is made once the time is up; the others may reach their limit. A call
    is one of the calls, begins with one entry and takes no time, whatever is said
    to be `reserved`.
    """
    limit = (limits_of(state) | _ALWAYS).get(ceiling)
    if limit is None:
        return None
    spent = spent_by(state, at)[ceiling]
    reserved = {"calls": 1, "seconds": 0, "entries": 1}.get(ceiling, reserved)
    if spent + reserved < limit + (ceiling != "seconds"):
        return None
    return CutData(
        ceiling=ceiling, limit=limit, spent=spent, reserved=reserved, by=None, reason=None
    )


def stopped(by: Blob | None, reason: Blob | None) -> CutData:
    """Return what is said of a person who stops a debate."""
    return CutData(ceiling="operator", limit=None, spent=None, reserved=None, by=by, reason=reason)


def cut_short(state: DebateState, step: Step, cut: CutData) -> Fact:
    """Return what stands in place of the call of `step`.

    The end of the debate; once there is a decision, only the deliverable is missing.
    """
    if state.decision is None:
        return Fact("debate.truncated", {"step": step.id, **cut})
    place = {"step": step.id, "round": step.round, "phase": step.phase, "speaker": step.speaker}
    reason = "operator" if cut["ceiling"] == "operator" else "ceiling"
    return Fact("turn.forfeited", {**place, "reason": reason, "cut": cut})


def limits_of(state: DebateState) -> dict[Ceiling, int]:
    """Return the ceilings that are set, in the order in which they are tested."""
    limits = state.spec["limits"]
    named: dict[Ceiling, int | None] = {
        "calls": limits["calls"],
        "tokens": limits["tokens"],
        "cost": limits["cost_micro_usd"],
        "seconds": limits["elapsed_ms"],
    }
    return {name: limit for name, limit in named.items() if limit is not None}


def spent_by(state: DebateState, at: str) -> dict[Ceiling, int]:
    """Return what is used up at a time: what was spent, and what open calls have reserved."""
    open_ = state.calls.values()
    tokens = sum(row["reserved_tokens_in"] + row["reserved_tokens_out"] for row in open_)
    return {
        "calls": sum(row.calls for row in state.spend.values()),
        "tokens": state.used_tokens + tokens,
        "cost": state.used_micro_usd + sum(row["reserved_cost_micro_usd"] or 0 for row in open_),
        "seconds": milliseconds(state.opened_at, at),
        "entries": state.entries,
    }


def milliseconds(begin: str, end: str) -> int:
    """Return the whole milliseconds between two times of a record; 0 where none have passed.

    >>> milliseconds("2026-12-31T23:59:59.999000Z", "2027-01-01T00:00:01.000500Z")
    1001
    """
    return max(0, (_microseconds(end) - _microseconds(begin)) // 1000)


def _microseconds(at: str) -> int:
    """Count microseconds from an epoch by the proleptic Gregorian calendar (days from civil)."""
    year, month, day = int(at[:4]), int(at[5:7]), int(at[8:10])
    year -= month <= 2
    days = 365 * year + year // 4 - year // 100 + year // 400
    days += (153 * ((month + 9) % 12) + 2) // 5 + day
    seconds = int(at[11:13]) * 3600 + int(at[14:16]) * 60 + int(at[17:19])
    return (days * 86_400 + seconds) * 1_000_000 + int(at[20:26])
