"""Notes: what a reader must know of a debate, in words and with stable codes.

A note holds ids, numbers and enums only, never a text that somebody wrote.
What rests on a text is read from the clear fields that were derived from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from hansard.report.words import (
    ALIKE,
    ERRORS,
    FINDINGS,
    REASONS,
    STATUSES,
    amount,
    percent,
    rejection,
    seconds,
)
from hansard.rules import similarity
from hansard.rules.events import (
    CallFailedData,
    DecisionData,
    Event,
    SimilarityData,
    TurnForfeitedData,
    TurnRejectedData,
    VerdictData,
    VotesCountedData,
)
from hansard.rules.fields import Blob, Case
from hansard.rules.prompts import TextOf
from hansard.rules.state import DebateState

NoteCode = Literal[
    "scripted",
    "recorded",
    "low_threshold",
    "many_rounds",
    "theatre",
    "single_model",
    "self_bias",
    "custom_seats",
    "no_ceiling",
    "cost_incomplete",
    "charged",
    "sent_otherwise",
    "self_rated",
    "forfeited",
    "rejected",
    "failed",
    "abandoned",
    "refused",
    "policy",
    "resumed",
    "tie",
    "similar_wording",
    "weak_critique",
    "prompt_review",
    "fabricated_citation",
    "uncited",
    "unanswered",
    "undeclared_winner",
    "neutrality_changed",
    "neutrality_unchanged",
    "still_open",
    "judge_failed",
    "moderator_failed",
    "synthesis_missing",
    "truncated",
    "over_ceiling",
    "text_gone",
]
Severity = Literal["info", "warning", "critical"]

_INFO: frozenset[NoteCode] = frozenset(
    {
        "scripted",
        "recorded",
        "custom_seats",
        "charged",
        "self_rated",
        "rejected",
        "policy",
        "resumed",
        "similar_wording",
        "neutrality_unchanged",
    }
)
_CRITICAL: frozenset[NoteCode] = frozenset(
    {"refused", "fabricated_citation", "judge_failed", "moderator_failed", "over_ceiling"}
)
PROMPT_REVIEW_BELOW = 5  # D 23


class Note(BaseModel):
    """One thing a reader must know."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    code: NoteCode
    severity: Severity
    message: str
    seq: int | None = Field(description="The entry it is about; null: the debate as a whole")


def note(code: NoteCode, message: str, seq: int | None = None) -> Note:
    """Return a note; how severe it is goes with its code."""
    severity: Severity = "critical" if code in _CRITICAL else "warning"
    return Note(code=code, severity="info" if code in _INFO else severity, message=message, seq=seq)


def of_event(state: DebateState, event: Event, text_of: TextOf) -> Iterator[Note]:
    """Yield what must be known of one event; `state` is the state after it."""
    seq = event["seq"]
    if event["type"] == "turn.recorded":
        if event["data"]["case"]:
            yield from _case(state, event["data"]["step"], event["data"]["case"], seq)
    elif event["type"] == "turn.forfeited":
        yield _forfeited(state, event["data"], seq)
    elif event["type"] == "turn.rejected":
        yield from _rejected(event["data"], seq)
    elif event["type"] == "call.refused":
        refused = event["data"]
        yield note(
            "refused",
            f"The template of the role {refused['role']} is not the approved one, so no model was "
            "called and the debate ended",
            seq,
        )
    elif event["type"] == "call.failed":
        yield _failed(event["data"], seq)
    elif event["type"] == "debate.resumed":
        yield note("resumed", "The debate stopped here and was resumed by another process", seq)
    elif event["type"] == "votes.counted":
        yield from _tie(state, event["data"], seq)
    elif event["type"] == "similarity.measured":
        yield from _similar(event["data"], seq)
    elif event["type"] == "verdict.recorded":
        yield from _verdict(state, event["data"], seq)
    elif event["type"] == "decision.reached":
        yield from _equals(state, event["data"], seq)
    elif event["type"] == "debate.closed":
        yield from _closed(state, seq)
    for what, blob in _texts(state, event):
        if text_of(blob["sha256"]) is None:
            yield note("text_gone", f"The text of {what} is erased or missing", seq)


def _case(state: DebateState, step: str, case: Case, seq: int) -> Iterator[Note]:
    """What code can see of a proposition, a critique or a rebuttal."""
    terms, who, rating = cast(Any, state.spec["terms"]), _place(step), case["rating"]
    if rating and rating < terms["min_challenge_strength"]:
        wanted = terms["min_challenge_strength"]
        yield note(
            "weak_critique",
            f"The critique of {who} counts, but is weak: it rates itself {rating}, below {wanted}",
            seq,
        )
    if rating:
        yield from _review(who, rating, seq)
    false = [
        f"argument {row['argument']}, citation {row['citation']}: {FINDINGS[row['finding']]}"
        for row in case["citations"]
        if row["finding"] != "verified"
    ]
    if false:
        yield note(
            "fabricated_citation",
            f"{who} cites what does not hold ({'; '.join(false)}); struck: "
            f"{_numbers(case['struck'])}",
            seq,
        )
    citing = {row["argument"] for row in case["citations"]}
    uncited = [number for number in range(1, case["arguments"] + 1) if number not in citing]
    if uncited:
        yield note("uncited", f"{who} cites nothing for argument {_numbers(uncited)}", seq)
    if case["unanswered"]:
        yield note(
            "unanswered", f"{who} leaves objection {_numbers(case['unanswered'])} unanswered", seq
        )


def _review(who: str, rating: int, seq: int) -> Iterator[Note]:
    if rating < PROMPT_REVIEW_BELOW:
        yield note(
            "prompt_review",
            f"A critique of {who} rates itself {rating}, below {PROMPT_REVIEW_BELOW}: the critic's "
            "prompt wants a review",
            seq,
        )


def _rejected(data: TurnRejectedData, seq: int) -> Iterator[Note]:
    who, rating = _place(data["step"]), data["rating"]
    why = rejection(data["code"], data["member"], data["keyword"])
    why += f" ({rating} of 10)" if rating else ""
    then = "it was asked again" if data["again"] else "it was not asked again"
    yield note("rejected", f"A reply of {who} does not count: {why}; {then}", seq)
    if rating:
        yield from _review(who, rating, seq)


def _forfeited(state: DebateState, data: TurnForfeitedData, seq: int) -> Note:
    who, why = _place(data["step"]), REASONS[data["reason"]]
    if state.seats[data["speaker"]]["role"] == "synthesizer":
        return note("synthesis_missing", f"{who} was not heard: {why}; there is no output", seq)
    then = "; this is an abstention" if data["speaker"] in state.votes else ""
    return note("forfeited", f"{who} was not heard: {why}{then}", seq)


def _failed(data: CallFailedData, seq: int) -> Note:
    call = data["call"]
    if data["error"] == "abandoned":
        return note(
            "abandoned",
            f"The call {call} was in the air when its process died; it is charged at what was "
            "reserved and asked again",
            seq,
        )
    request = data["request_id"]
    status = data["status"]
    known = [
        None if status else data["detail"],
        f"HTTP {status}" if status else None,
        STATUSES.get(status or 0),
        f"request {request}" if isinstance(request, str) else None,
    ]
    detail = ", ".join(filter(None, known))
    why = ERRORS[data["error"]] + (f" ({detail})" if detail else "")
    wait = f" after {seconds(data['wait_ms'])}" if data["wait_ms"] else ""
    then = f"it is tried again{wait}" if data["again"] else "it is not tried again"
    return note("failed", f"The call {call} failed: {why}; {then}", seq)


def _tie(state: DebateState, count: VotesCountedData, seq: int) -> Iterator[Note]:
    panel = state.spec["terms"]["format"] == "panel"
    # In a panel no two answers can both be held by more than half: there the leaders tie.
    least = (
        max((row["votes"] for row in count["tally"]), default=0) if panel else count["threshold"]
    )
    tied = [row["option"] for row in count["tally"] if row["votes"] >= least]
    if len(tied) > 1:
        where = f"round {count['round']}, {count['phase']}"
        what = f"hold {least} each" if panel else "reach the threshold"
        yield note("tie", f"A tie in {where}: {', '.join(tied)} all {what}; no consensus", seq)


def _similar(data: SimilarityData, seq: int) -> Iterator[Note]:
    if not data["converged"]:
        return
    if data["measure"] == "options":
        said = f"All {data['heard']} answers of round {data['round']} choose the same option, which"
        yield note("similar_wording", f"{said} ended the rounds: it need not be correct", seq)
        return
    least = min((row["ppm"] for row in data["pairs"]), default=0)
    yield note(
        "similar_wording",
        f"The answers of round {data['round']} are alike by {percent(least)} at least, which ended "
        f"the rounds: {ALIKE}",
        seq,
    )


def _verdict(state: DebateState, data: VerdictData, seq: int) -> Iterator[Note]:
    if data["undeclared"]:
        yield note(
            "undeclared_winner",
            f"{data['speaker']} named a winner that is no declared stance; nobody has won",
            seq,
        )
    if data["phase"] == "neutrality" and state.verdict:
        first = (state.verdict["upholds"], state.verdict["ranking"])
        about = "With the sides in the other order the moderator comes to"
        if first == (data["upholds"], data["ranking"]):
            yield note("neutrality_unchanged", f"{about} the same outcome", seq)
        else:
            yield note("neutrality_changed", f"{about} another outcome", seq)
    last = data["round"] == state.spec["terms"]["max_rounds"]
    if data["phase"] == "moderation" and last and data["another_round"]:
        yield note(
            "still_open",
            "The moderator wanted another round when the last one was over; points that stayed "
            f"open: {data['unresolved']}",
            seq,
        )


def _equals(state: DebateState, data: DecisionData, seq: int) -> Iterator[Note]:
    """Drafts that are equally like the others are told apart by their registration."""
    if data["rule"] != "most_similar":
        return
    scores = similarity.scores(state.similarities[-1]["pairs"])
    best = [name for name, score in scores.items() if score == max(scores.values())]
    if len(best) > 1:
        yield note(
            "tie",
            f"The drafts of {', '.join(best)} are equally like the others; the one registered "
            "first stands",
            seq,
        )


def _closed(state: DebateState, seq: int) -> Iterator[Note]:
    reason = state.closed["reason"] if state.closed else None
    if reason == "judge_failed":
        yield note("judge_failed", "The judge could not be heard: there is no verdict", seq)
    if reason == "moderator_failed":
        yield note(
            "moderator_failed", "The moderator could not be heard: there is no decision", seq
        )
    cut = state.truncated
    if cut is None:
        return
    limit, spent, reserved = (
        amount(cut["ceiling"], number) for number in (cut["limit"], cut["spent"], cut["reserved"])
    )
    yield note(
        "truncated",
        f"The debate was cut short before {cut['step']}: the ceiling is {limit}, counted as "
        f"used {spent}, wanted next {reserved}; paid for: {_paid(state)}",
        seq,
    )


def _paid(state: DebateState) -> str:
    """Say what a debate has cost, as far as that is known."""
    total = state.total()
    cost = amount("cost", total.cost_micro_usd) if state.spec["prices"] else "no known price"
    tokens = f"{total.tokens_in + total.tokens_out} tokens"
    return f"{amount('calls', total.calls)}, {tokens}, {cost}"


def _texts(state: DebateState, event: Event) -> Iterator[tuple[str, Blob]]:
    """Yield the texts that a report shows of an event, by what they are."""
    if event["type"] == "debate.opened":
        yield "the question", event["data"]["question"]
    elif event["type"] == "debater.registered":
        seat = event["data"]
        if seat["persona"]:
            yield f"the persona of {seat['id']}", seat["persona"]
        if seat["stance"]:
            yield f"the stance {seat['stance']['label']}", seat["stance"]["text"]
    elif event["type"] == "evidence.admitted":
        yield f"the evidence {event['data']['document']}", event["data"]["text"]
    elif event["type"] == "tool.called":
        yield f"what {event['data']['call']} asked of a tool", event["data"]["arguments"]
    elif event["type"] == "tool.returned":
        yield f"what a tool gave {event['data']['call']}", event["data"]["result"]
    elif event["type"] in ("turn.recorded", "verdict.recorded", "synthesis.recorded"):
        turn = state.turns[-1]
        if turn.reply:
            yield f"the turn of {_place(turn.data['step'])}", turn.reply
    elif event["type"] == "decision.reached" and event["data"]["review"]:
        yield "who must look", event["data"]["review"]


def _place(step: str) -> str:
    """Return a step in words (a speaker may hold dots)."""
    round_, phase, speaker = step.split(".", 2)
    return f"{speaker} in round {round_[1:]}, {phase},"


def _numbers(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))
