"""Notes: what a reader must know of a debate, in words and with stable codes.

- A note holds ids, numbers and enums only, never a text that somebody wrote. What rests on a text
  is read from the clear fields that were derived from it.
- Its sentence and how severe it is stand in the vocabulary, under its code.
- Each type of event that may be worth a note has one function in `_OF_EVENT`. What only one format
  notes stands where that format is shown; what texts an event has, in the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, cast

from pydantic import Field

from hansard import vocabulary
from hansard.closed import Closed
from hansard.report.causes import causes, failed
from hansard.report.texts import texts_in_words
from hansard.report.words import (
    REASONS,
    amount,
    failure,
    place,
    rejection,
    seconds,
)
from hansard.rules.data import (
    CallFailedData,
    CallRefusedData,
    ClosedData,
    TurnForfeitedData,
    TurnRejectedData,
)
from hansard.rules.events import Event
from hansard.rules.prompts import TextOf
from hansard.rules.state import DebateState
from hansard.vocabulary import Severity, fill, many

NoteCode = Literal[
    "scripted",
    "recorded",
    "low_threshold",
    "many_rounds",
    "theatre",
    "single_model",
    "self_bias",
    "against_gate",
    "custom_seats",
    "no_ceiling",
    "nothing_to_cite",
    "cost_incomplete",
    "charged",
    "sent_otherwise",
    "served_otherwise",
    "dominance",
    "drift",
    "capitulation",
    "first_answer",
    "self_rated",
    "forfeited",
    "rejected",
    "failed",
    "abandoned",
    "raised",
    "refused",
    "policy",
    "resumed",
    "tie",
    "similar_wording",
    "weak_critique",
    "uncited_critique",
    "soft_critique",
    "prompt_review",
    "fabricated_citation",
    "uncited",
    "unanswered",
    "undeclared_winner",
    "neutrality_changed",
    "neutrality_unchanged",
    "still_open",
    "no_uncertainty",
    "hollow_consensus",
    "nobody_heard",
    "seats_lost",
    "judge_failed",
    "moderator_failed",
    "synthesis_missing",
    "truncated",
    "over_ceiling",
    "text_gone",
]


class Note(Closed):
    """One thing a reader must know."""

    code: NoteCode
    severity: Severity
    message: str
    seq: int | None = Field(description="The entry it is about; null: the debate as a whole")


_LONGEST = 1 << 16  # characters of a note: where a reply is withheld, its turn may list anything


def note(code: NoteCode, variant: str = "text", **values: object) -> Note:
    """Return a note on the debate as a whole, its sentence filled with these values."""
    severity, message = vocabulary.note(code, variant, **values)
    if len(message) > _LONGEST:
        message = f"{message[:_LONGEST]} …"
    return Note(code=code, severity=severity, message=message, seq=None)


# Of the state after an event and its data; a format also reads texts.
Noting = Callable[[DebateState, Any], Iterator[Note]]
Reading = Callable[[DebateState, Any, TextOf], Iterator[Note]]
# What a reader must know at once of a critique that stands, whatever its critic says of it.
DOUBTFUL = ("weak_critique", "uncited_critique", "soft_critique")


def of_event(
    state: DebateState, event: Event, text_of: TextOf, own: Mapping[str, Reading]
) -> Iterator[Note]:
    """Yield what must be known of one event; `state` is the state after it.

    `own` are the notes of the debate's format, by type of event.
    """
    kind, data = event["type"], event["data"]
    noting, reading = _OF_EVENT.get(kind), own.get(kind)
    rows = [
        *(noting(state, data) if noting else ()),
        *(reading(state, data, text_of) if reading else ()),
    ]
    for found in rows:
        yield found.model_copy(update={"seq": event["seq"]})
    reply = {"reply": state.turns[-1].reply} if "speaker" in data else {}
    for what, name in texts_in_words("texts", kind, {**data, **reply}):
        if text_of(name) is None:
            yield note("text_gone", what=what).model_copy(update={"seq": event["seq"]})


# What is worth a note in one event


def _rejected(_: DebateState, data: TurnRejectedData) -> Iterator[Note]:
    why = rejection(data["code"], data["member"], data["keyword"], data["rating"])
    yield note("rejected", "again" if data["again"] else "final", who=place(data["step"]), why=why)


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
    why = failure(data["error"], data["status"], data["detail"], data["request_id"])
    if data["error"] == "abandoned" or data["error"] == "raised":
        yield note(data["error"], call=call, why=why)
        return
    then = ("later" if wait else "again") if data["again"] else "final"
    yield note("failed", then, call=call, why=why, wait=seconds(wait or 0))


def _resumed(state: DebateState, _: object) -> Iterator[Note]:
    begun = state.resumes == 1 and not state.total().calls
    yield note("resumed", "begun" if begun else "interrupted")


def _closed(state: DebateState, data: ClosedData) -> Iterator[Note]:
    reason = data["reason"]
    if failed(reason):
        last, code, why = state.turns[-1].data, cast(NoteCode, reason), causes(state, reason)
        phase = last["phase"].partition("-")[0]  # `draw-3` is one of several
        yield note(code, round=last["round"], phase=phase, causes=why)
    cut = state.truncated
    if cut:
        ceiling, numbers = cut["ceiling"], {}
        if ceiling != "operator":
            numbers = {name: amount(ceiling, cut[name] or 0) for name in _AMOUNTS}
        variant = "text" if numbers else "stopped"
        yield note("truncated", variant, step=cut["step"], paid=_paid(state), **numbers)


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
_OF_EVENT: Mapping[str, Noting] = {
    "turn.forfeited": _forfeited,
    "turn.rejected": _rejected,
    "call.refused": _refused,
    "call.failed": _failed,
    "debate.resumed": _resumed,
    "debate.closed": _closed,
}
