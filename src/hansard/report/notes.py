"""Notes: what a reader must know of a debate, in words and with stable codes.

- A note holds ids, numbers and enums only, never a text that somebody wrote. What rests on a text
  is read from the clear fields that were derived from it.
- Its sentence and how severe it is stand in the vocabulary, under its code.
- Each type of event that may be worth a note has one function in `_OF_EVENT`, and the texts that a
  report shows of it one in `_TEXTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from hansard import vocabulary
from hansard.report.words import (
    ALIKE,
    FINDINGS,
    REASONS,
    amount,
    failure,
    listed,
    many,
    percent,
    place,
    rejection,
    seconds,
)
from hansard.rules import similarity
from hansard.rules.data import (
    CallFailedData,
    CallRefusedData,
    ClosedData,
    DecisionData,
    EvidenceData,
    OpenedData,
    RegisteredData,
    SimilarityData,
    ToolCalledData,
    ToolReturnedData,
    TurnForfeitedData,
    TurnRecordedData,
    TurnRejectedData,
    VerdictData,
    VotesCountedData,
)
from hansard.rules.events import Event
from hansard.rules.fields import Blob, Case
from hansard.rules.formats import format_of
from hansard.rules.prompts import TextOf
from hansard.rules.state import DebateState
from hansard.vocabulary import Severity, fill

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

PROMPT_REVIEW_BELOW = 5  # of 10 (RULES.md D 23)


class Note(BaseModel):
    """One thing a reader must know."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    code: NoteCode
    severity: Severity
    message: str
    seq: int | None = Field(description="The entry it is about; null: the debate as a whole")


def note(code: NoteCode, variant: str = "text", **values: object) -> Note:
    """Return a note on the debate as a whole, its sentence filled with these values."""
    message = vocabulary.note(code, variant, **values)
    return Note(code=code, severity=vocabulary.severity(code), message=message, seq=None)


def of_event(state: DebateState, event: Event, text_of: TextOf) -> Iterator[Note]:
    """Yield what must be known of one event; `state` is the state after it."""
    for found in _notes(state, event, text_of):
        yield found.model_copy(update={"seq": event["seq"]})


def _notes(state: DebateState, event: Event, text_of: TextOf) -> Iterator[Note]:
    of_type, texts = _OF_EVENT.get(event["type"]), _TEXTS.get(event["type"])
    if of_type:
        yield from of_type(state, event["data"])
    for what, blob in texts(state, event["data"]) if texts else ():
        if blob and text_of(blob["sha256"]) is None:
            yield note("text_gone", what=what)


# What is worth a note in one event


def _recorded(state: DebateState, data: TurnRecordedData) -> Iterator[Note]:
    if data["case"]:
        yield from _case(state, place(data["step"]), data["case"])


def _case(state: DebateState, who: str, case: Case) -> Iterator[Note]:
    """What code can see of a proposition, a critique or a rebuttal."""
    terms, rating = cast(Any, state.spec["terms"]), case["rating"]
    if rating and rating < terms["min_challenge_strength"]:
        yield note("weak_critique", who=who, rating=rating, least=terms["min_challenge_strength"])
    yield from _review(who, rating)
    citation = vocabulary.word("citation")
    wrong = [
        fill(citation, **{**row, "finding": FINDINGS[row["finding"]]})
        for row in case["citations"]
        if row["finding"] != "verified"
    ]
    if wrong:
        struck = listed(case["struck"])
        yield note("fabricated_citation", who=who, citations="; ".join(wrong), struck=struck)
    citing = {row["argument"] for row in case["citations"]}
    uncited = [number for number in range(1, case["arguments"] + 1) if number not in citing]
    if uncited:
        yield note("uncited", who=who, arguments=listed(uncited))
    if case["unanswered"]:
        yield note("unanswered", who=who, objections=listed(case["unanswered"]))


def _review(who: str, rating: int | None) -> Iterator[Note]:
    if rating and rating < PROMPT_REVIEW_BELOW:
        yield note("prompt_review", who=who, rating=rating, limit=PROMPT_REVIEW_BELOW)


def _rejected(_: DebateState, data: TurnRejectedData) -> Iterator[Note]:
    who, rating = place(data["step"]), data["rating"]
    why = rejection(data["code"], data["member"], data["keyword"], rating)
    yield note("rejected", "again" if data["again"] else "final", who=who, why=why)
    yield from _review(who, rating)


def _forfeited(state: DebateState, data: TurnForfeitedData) -> Iterator[Note]:
    said = {"who": place(data["step"]), "why": REASONS[data["reason"]]}
    if state.seats[data["speaker"]]["role"] == "synthesizer":
        yield note("synthesis_missing", **said)
    else:
        yield note("forfeited", "abstained" if data["speaker"] in state.votes else "text", **said)


def _refused(_: DebateState, data: CallRefusedData) -> Iterator[Note]:
    yield note("refused", "entry", role=data["role"])


def _failed(_: DebateState, data: CallFailedData) -> Iterator[Note]:
    call, wait = data["call"], data["wait_ms"]
    if data["error"] == "abandoned":
        yield note("abandoned", call=call)
        return
    why = failure(data["error"], data["status"], data["detail"], data["request_id"])
    then = ("later" if wait else "again") if data["again"] else "final"
    yield note("failed", then, call=call, why=why, wait=seconds(wait or 0))


def _resumed(_: DebateState, __: object) -> Iterator[Note]:
    yield note("resumed")


def _tie(state: DebateState, count: VotesCountedData) -> Iterator[Note]:
    # Of a count that is made once no two answers reach the threshold: there the leaders tie.
    once = format_of(state.spec["terms"]).counts_once
    least = max((row["votes"] for row in count["tally"]), default=0) if once else count["threshold"]
    tied = [row["option"] for row in count["tally"] if row["votes"] >= least]
    if len(tied) > 1:
        where = {"round": count["round"], "phase": count["phase"], "options": listed(tied)}
        yield note("tie", "votes" if once else "threshold", votes=least, **where)


def _similar(_: DebateState, data: SimilarityData) -> Iterator[Note]:
    if data["converged"]:
        least = percent(min((row["ppm"] for row in data["pairs"]), default=0))
        said = {"round": data["round"], "heard": data["heard"], "least": least, "alike": ALIKE}
        yield note(
            "similar_wording", "options" if data["measure"] == "options" else "words", **said
        )


def _verdict(state: DebateState, data: VerdictData) -> Iterator[Note]:
    if data["undeclared"]:
        yield note("undeclared_winner", judge=data["speaker"])
    if data["phase"] == "neutrality" and state.verdict:
        first = (state.verdict["upholds"], state.verdict["ranking"])
        same = first == (data["upholds"], data["ranking"])
        yield note("neutrality_unchanged" if same else "neutrality_changed")
    last = data["round"] == state.spec["terms"]["max_rounds"]
    if data["phase"] == "moderation" and last and data["another_round"]:
        yield note("still_open", points=data["unresolved"])


def _equals(state: DebateState, data: DecisionData) -> Iterator[Note]:
    """Drafts that are equally like the others are told apart by their registration."""
    if data["rule"] == "most_similar":
        scores = similarity.scores(state.similarities[-1]["pairs"])
        best = [name for name, score in scores.items() if score == max(scores.values())]
        if len(best) > 1:
            yield note("tie", "similarity", debaters=listed(best))


def _closed(state: DebateState, data: ClosedData) -> Iterator[Note]:
    if data["reason"] in ("judge_failed", "moderator_failed"):
        yield note(data["reason"])
    cut = state.truncated
    if cut:
        numbers = {name: amount(cut["ceiling"], cut[name]) for name in _AMOUNTS}
        yield note("truncated", step=cut["step"], paid=_paid(state), **numbers)


def _paid(state: DebateState) -> str:
    """Say what a debate has cost, as far as that is known."""
    total = state.total()
    known, unknown = amount("cost", total.cost_micro_usd), vocabulary.word("no_price")
    return fill(
        vocabulary.word("paid"),
        calls=amount("calls", total.calls),
        tokens=many(total.tokens_in + total.tokens_out, "token"),
        cost=known if state.spec["prices"] else unknown,
    )


_AMOUNTS: tuple[Literal["limit", "spent", "reserved"], ...] = ("limit", "spent", "reserved")
_OF_EVENT: Mapping[str, Callable[[DebateState, Any], Iterator[Note]]] = {
    "turn.recorded": _recorded,
    "turn.forfeited": _forfeited,
    "turn.rejected": _rejected,
    "call.refused": _refused,
    "call.failed": _failed,
    "debate.resumed": _resumed,
    "votes.counted": _tie,
    "similarity.measured": _similar,
    "verdict.recorded": _verdict,
    "decision.reached": _equals,
    "debate.closed": _closed,
}

# The texts that a report shows of an event, by what they are


Texts = Iterator[tuple[str, Blob | None]]


def _what(name: str, **values: object) -> str:
    return fill(vocabulary.words("texts")[name], **values)


def _seat(_: DebateState, seat: RegisteredData) -> Texts:
    stance = seat["stance"]
    yield _what("persona", id=seat["id"]), seat["persona"]
    if stance:
        yield _what("stance", label=stance["label"]), stance["text"]


def _turn(state: DebateState, data: TurnRecordedData) -> Texts:
    yield _what("turn", who=place(data["step"])), state.turns[-1].reply


def _question(_: DebateState, data: OpenedData) -> Texts:
    yield _what("question"), data["question"]


def _evidence(_: DebateState, data: EvidenceData) -> Texts:
    yield _what("evidence", document=data["document"]), data["text"]


def _arguments(_: DebateState, data: ToolCalledData) -> Texts:
    yield _what("arguments", call=data["call"]), data["arguments"]


def _result(_: DebateState, data: ToolReturnedData) -> Texts:
    yield _what("result", call=data["call"]), data["result"]


def _reviewer(_: DebateState, data: DecisionData) -> Texts:
    yield _what("review"), data["review"]


_TEXTS: Mapping[str, Callable[[DebateState, Any], Texts]] = {
    "debate.opened": _question,
    "debater.registered": _seat,
    "evidence.admitted": _evidence,
    "tool.called": _arguments,
    "tool.returned": _result,
    "turn.recorded": _turn,
    "verdict.recorded": _turn,
    "synthesis.recorded": _turn,
    "decision.reached": _reviewer,
}
