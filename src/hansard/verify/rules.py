"""Checks 9 to 16: derive again what was due, and every fact that follows from replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hansard.rules.replay import Difference, NotDue, Replay, approved_in
from hansard.rules.state import DebateState
from hansard.verify.findings import NOTES, REVIEW, Finding, finding
from hansard.verify.needed import let_go
from hansard.verify.reading import Reading
from hansard.vocabulary import many

# Which check a difference in a derived field belongs to: by type and field, else by type.
_CHECK_OF_FIELD = {
    ("debate.opened", "terms"): 14,
    ("debate.opened", "schemas"): 10,
    ("call.started", "template"): 10,
    ("call.started", "schema"): 10,
    ("call.started", "not_approved"): 10,
    ("call.started", "prompt"): 11,
    ("call.answered", "cost_micro_usd"): 15,
    ("call.failed", "cost_micro_usd"): 15,
    ("call.answered", "wire"): 12,
    ("call.failed", "wire"): 12,
    ("call.started", "ceiling"): 15,
    ("call.started", "reserved_tokens_out"): 15,
    ("call.started", "reserved_cost_micro_usd"): 15,
    ("turn.recorded", "vote"): 12,
    ("turn.recorded", "case"): 12,
    ("turn.recorded", "arguments"): 12,
    ("turn.recorded", "rating"): 12,
    ("turn.recorded", "unanswered"): 12,
    ("turn.recorded", "citations"): 13,
    ("turn.recorded", "struck"): 13,
    ("turn.forfeited", "cut"): 15,
    ("turn.rejected", "code"): 12,
    ("turn.rejected", "member"): 12,
    ("turn.rejected", "keyword"): 12,
    ("turn.rejected", "rating"): 12,
}
_VERDICTS = ("verdict.recorded", "synthesis.recorded")
_PLACE = ("step", "round", "phase", "speaker", "call")  # of a verdict: check 9
_CHECK_OF_TYPE = {
    "call.refused": 10,
    "votes.counted": 14,
    "similarity.measured": 14,
    "verdict.recorded": 12,
    "synthesis.recorded": 12,
    "debate.truncated": 15,
    "decision.reached": 16,
    "debate.closed": 16,
    "review.signed": REVIEW,
    "outcome.noted": NOTES,
    "hold.placed": NOTES,
    "hold.lifted": NOTES,
    "text.redacted": NOTES,
}
_SCHEDULE = 9
_TURNS = ("turn.recorded", "verdict.recorded", "synthesis.recorded", "turn.forfeited")


def check_rules(reading: Reading) -> Iterator[Finding]:
    """Checks 9 to 16: replay the entries, up to the first that was not due."""
    if not reading.whole or not reading.events:
        return
    opened, policy = reading.opened, reading.policy
    approved = approved_in(opened, policy) if opened and policy else None
    replay = reading.replay = Replay(reading.texts.get, approved)
    for seq, event in enumerate(reading.events, 1):
        try:
            differences = replay.step(event)
        except NotDue as error:
            yield finding("9.not_due", seq, expected=error.due, found=event["type"])
            return
        reading.walked = seq
        for difference in differences:
            yield _differs(event["type"], seq, difference)
        let_go(replay.state, event)
    if replay.state.last_answer:
        replay.due()  # reads it: no entry comes after it that would
    _say(reading, replay.state)


def _differs(kind: str, seq: int, difference: Difference) -> Finding:
    placed = kind in _VERDICTS and difference.field in _PLACE
    check = _CHECK_OF_FIELD.get((kind, difference.field)) or (
        _SCHEDULE if placed else _CHECK_OF_TYPE.get(kind, _SCHEDULE)
    )
    code = f"{check}.{difference.field}"
    return finding(
        code, seq, expected=difference.expected, found=difference.found, name=difference.found
    )


def _say(reading: Reading, state: DebateState) -> None:
    """Say what these checks looked at, in a record that was followed to its end."""
    kinds: Counter[str] = Counter([event["type"] for event in reading.events])
    turns, calls = sum(kinds[kind] for kind in _TURNS), kinds["call.started"]
    ended = kinds["call.answered"] + kinds["call.failed"]
    cited = [row["finding"] for turn in state.turns if turn.case for row in turn.case["citations"]]
    counts = many(kinds["votes.counted"], "count")
    comparisons = many(kinds["similarity.measured"], "comparison")
    reading.say(9, turns=many(turns, "turn"), calls=many(calls, "call"))
    reading.say(11, prompts=many(calls, "prompt"))
    replies = many(kinds["call.answered"], "reply")
    reading.say(12, replies=replies, rejected=kinds["turn.rejected"])
    if kinds["synthesis.recorded"]:
        reading.say(12, "synthesis", text=reading.evidence[12])
    reading.say(13, citations=many(len(cited), "citation"), found=cited.count("verified"))
    reading.say(14, counts=counts, comparisons=comparisons)
    reading.say(15, calls=many(ended, "call"))
    rows = []
    if state.decision:
        rows.append(f"{state.decision['decision']} by {state.decision['rule']}")
    if state.closed and state.closed["outcome"] != "complete":
        rows.append(f"{state.closed['outcome']}: {state.closed['reason']}")
    reading.say(16, _how(state, rows), outcome="; ".join(rows))


def _how(state: DebateState, rows: list[str]) -> str:
    """Return the variant of what check 16 says."""
    if state.gated:
        return "gate"
    return "text" if rows else "open"
