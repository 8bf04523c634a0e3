"""What each check looked at, in one line: said of a check that passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hansard.record.bundle import Bundle
from hansard.rules.events import Event
from hansard.rules.fields import Ceiling
from hansard.rules.spending import limits_of
from hansard.rules.state import DebateState

_UNITS: dict[Ceiling, str] = {
    "calls": "calls",
    "tokens": "tokens",
    "cost": "micro-US-dollars",
    "seconds": "milliseconds",
}
_TURNS = ("turn.recorded", "verdict.recorded", "synthesis.recorded", "turn.forfeited")


def of_bytes(bundle: Bundle, events: Sequence[Event]) -> dict[int, str]:
    """Say what checks 4 to 8 looked at."""
    lines = len(bundle.lines)
    begin, end = (events[0]["at"], events[-1]["at"]) if events else ("", "")
    head = ", up to the head that the store keeps" if bundle.head else ""
    return {
        4: f"{lines} of {lines} entries are spelled canonically",
        5: f"{lines} entries linked in order{head}",
        6: f"times never go back, {begin} to {end}",
        7: f"{lines} entries of {len({event['type'] for event in events})} known types",
        8: f"{len(bundle.blobs)} of {len(bundle.blobs)} texts present, each as recorded",
    }


def of_rules(events: Sequence[Event], state: DebateState) -> dict[int, str]:
    """Say what checks 9 to 16 looked at in a record that was followed to its end."""
    kinds: Counter[str] = Counter([event["type"] for event in events])
    turns = sum(kinds[kind] for kind in _TURNS)
    calls, answers = kinds["call.started"], kinds["call.answered"]
    files = [f"{len(state.spec['templates'])} templates", f"{len(state.spec['schemas'])} schemas"]
    files += [f"{len(state.spec['tools'])} tools"] if state.spec["tools"] else []
    return {
        9: f"{turns} turns, each the one that was due",
        10: f"{', '.join(files)}: as recorded",
        11: f"{calls} of {calls} prompts derived again",
        12: _replies(events, kinds),
        13: _citations(state),
        14: _counts(kinds),
        15: f"costs of {answers} replies recomputed; {_ceilings(state)}",
        16: _outcome(state),
    }


def _replies(events: Sequence[Event], kinds: Counter[str]) -> str:
    asking = len({event["data"]["call"] for event in events if event["type"] == "tool.called"})
    read, rejected = kinds["call.answered"] - asking, kinds["turn.rejected"]
    text = f"{read} replies read again: {read - rejected} count, {rejected} rejected"
    text += f"; {asking} more only ask for tools" if asking else ""
    fits = "; whether the deliverable fits its schema is not looked at here"
    return text + (fits if kinds["synthesis.recorded"] else "")


def _citations(state: DebateState) -> str:
    cases = [turn.case for turn in state.turns if turn.case]
    if not cases:
        return "no reply that counts was asked for citations"
    rows = [row["finding"] for case in cases for row in case["citations"]]
    found, struck = rows.count("verified"), sum(len(case["struck"]) for case in cases)
    return f"{len(rows)} citations looked up: {found} found; {struck} arguments struck"


def _counts(kinds: Counter[str]) -> str:
    counts, compared = kinds["votes.counted"], kinds["similarity.measured"]
    rows = [f"{counts} of {counts} counts"] if counts else []
    rows += [f"{compared} of {compared} comparisons"] if compared else []
    return " and ".join(rows) + " recomputed" if rows else "no votes counted, no answers compared"


def _ceilings(state: DebateState) -> str:
    """Say which ceilings were set, and that no call was made which could break one."""
    limits = [f"{limit} {_UNITS[name]}" for name, limit in limits_of(state).items()]
    if not limits:
        return "no ceilings were set"
    text = f"no call could break the ceilings ({', '.join(limits)})"
    return f"{text}, and the next one could" if state.truncated else text


def _outcome(state: DebateState) -> str:
    rows = []
    if state.decision:
        rows.append(f"{state.decision['decision']} by {state.decision['rule']}")
    if state.closed and (state.closed["outcome"] != "complete"):
        rows.append(f"{state.closed['outcome']}: {state.closed['reason']}")
    if not rows:
        return "the debate is still open: there is no decision to check"
    return f"{'; '.join(rows)}, recomputed"
