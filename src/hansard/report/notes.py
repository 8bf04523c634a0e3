"""Notes: what a reader must know of a debate, in words and with stable codes.

A note holds ids, numbers and enums only, never a text that somebody wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from hansard.debate.events import Blob, Event, Rejection, VotesCountedData
from hansard.debate.state import DebateState

TextOf = Callable[[str], str | None]

NoteCode = Literal[
    "scripted",
    "recorded",
    "low_threshold",
    "theatre",
    "cost_incomplete",
    "forfeited",
    "rejected",
    "failed",
    "abandoned",
    "refused",
    "policy",
    "resumed",
    "tie",
    "text_gone",
]

REASONS = {"no_reply": "no reply came", "invalid_reply": "no reply could be counted"}
_REJECTIONS: dict[Rejection, str] = {
    "unreadable": "it is not the JSON that was asked for",
    "schema": "a part is missing, empty or one too many",
    "unknown_option": "it votes for something that is not an option",
    "cut_off": "it was cut off",
    "refused": "the model refused",
    "filtered": "the provider filtered it",
    "not_finished": "the model did not finish it",
}

_OFFLINE: dict[NoteCode, str] = {"scripted": "scripted", "recorded": "taken from a record"}


class Note(BaseModel):
    """One thing a reader must know."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    code: NoteCode
    message: str
    seq: int | None = Field(description="The entry it is about; null: the debate as a whole")


def of_debate(state: DebateState, unpriced: int, text_of: TextOf) -> Iterator[Note]:
    """Yield what must be known of the debate as a whole.

    `unpriced` is the number of replies whose cost is not known.
    """
    for code, words in _OFFLINE.items():
        seats = [key for key, seat in state.seats.items() if seat["model"].startswith(f"{code}:")]
        if seats:
            whose = "" if len(seats) == len(state.seats) else f" of {', '.join(seats)}"
            yield _note(code, f"Replies{whose} were {words}: no model was asked")
    threshold, seated = state.spec["terms"]["threshold"], len(state.seats)
    if threshold * 2 <= seated:
        yield _note(
            "low_threshold",
            f"The threshold {threshold} is no more than half of {seated} debaters",
        )
    alike: dict[tuple[str, str | None], list[str]] = {}
    for key, seat in state.seats.items():
        blob = seat["persona"]
        # A persona that is gone is compared by its salted name: it is like no other.
        persona = (text_of(blob["sha256"]) or blob["sha256"]) if blob else None
        alike.setdefault((seat["model"], persona), []).append(key)
    for (model, persona), seats in alike.items():
        if len(seats) > 1:
            shared = "one persona" if persona else "no persona"
            yield _note(
                "theatre", f"{', '.join(seats)} share the model {model} and {shared}: theatre"
            )
    failed = sum(row["error"] != "abandoned" for row in state.failures)
    if failed:
        asked = state.total().calls
        yield _note("failed", f"{failed} of {asked} calls failed; the entries below say how")
    if state.refused:
        role = state.refused["role"]
        yield _note(
            "refused", f"The prompt of the role {role} was not approved: no model was called"
        )
    if state.spec["policy"]:
        yield _note(
            "policy", f"Prompts were held to the signed policy {state.spec['policy'][:16]}…"
        )
    if unpriced and state.spec["prices"]:
        yield _note(
            "cost_incomplete", f"The cost of {unpriced} replies is not known; the sums leave it out"
        )


def of_event(state: DebateState, event: Event, text_of: TextOf) -> Iterator[Note]:
    """Yield what must be known of one event; `state` is the state after it."""
    seq = event["seq"]
    if event["type"] == "turn.forfeited":
        who, why = _place(event["data"]["step"]), REASONS[event["data"]["reason"]]
        yield _note("forfeited", f"{who} was not heard: {why}; this is an abstention", seq)
    elif event["type"] == "turn.rejected":
        data = event["data"]
        then = "it was asked again" if data["again"] else "it was not asked again"
        why = _REJECTIONS[data["code"]]
        yield _note(
            "rejected", f"A reply of {_place(data['step'])} does not count: {why}; {then}", seq
        )
    elif event["type"] == "call.refused":
        refused = event["data"]
        yield _note(
            "refused",
            f"The template of the role {refused['role']} is not the approved one, so no model was "
            "called and the debate ended",
            seq,
        )
    elif event["type"] == "call.failed" and event["data"]["error"] != "abandoned":
        failed = event["data"]
        detail = f" ({failed['detail']})" if failed["detail"] else ""
        then = "it was tried again" if failed["again"] else "it was not tried again"
        yield _note(
            "failed", f"The call {failed['call']} failed: {failed['error']}{detail}; {then}", seq
        )
    elif event["type"] == "call.failed":
        call = event["data"]["call"]
        yield _note(
            "abandoned",
            f"The call {call} was in the air when its process died; it is charged at what was "
            "reserved and asked again",
            seq,
        )
    elif event["type"] == "debate.resumed":
        yield _note("resumed", "The debate stopped here and was resumed by another process", seq)
    elif event["type"] == "votes.counted":
        yield from _tie(event["data"], seq)
    for what, blob in _texts(state, event):
        if text_of(blob["sha256"]) is None:
            yield _note("text_gone", f"The text of {what} is erased or missing", seq)


def _tie(count: VotesCountedData, seq: int) -> Iterator[Note]:
    tied = [row["option"] for row in count["tally"] if row["votes"] >= count["threshold"]]
    if len(tied) > 1:
        where = f"round {count['round']}, {count['phase']}"
        yield _note(
            "tie", f"A tie in {where}: {', '.join(tied)} all reach the threshold; no consensus", seq
        )


def _texts(state: DebateState, event: Event) -> Iterator[tuple[str, Blob]]:
    """Yield the texts that a report shows of an event, by what they are."""
    if event["type"] == "debate.opened":
        yield "the question", event["data"]["question"]
    elif event["type"] == "debater.registered":
        if event["data"]["persona"]:
            yield f"the persona of {event['data']['id']}", event["data"]["persona"]
    elif event["type"] == "evidence.admitted":
        yield f"the evidence {event['data']['document']}", event["data"]["text"]
    elif event["type"] == "turn.recorded":
        reply = state.turns[-1].reply
        if reply:
            yield f"the turn of {_place(event['data']['step'])}", reply
    elif event["type"] == "decision.reached" and event["data"]["review"]:
        yield "who must look", event["data"]["review"]


def _place(step: str) -> str:
    """Return a step in words (a speaker may hold dots)."""
    round_, phase, speaker = step.split(".", 2)
    return f"{speaker} in round {round_[1:]}, {phase},"


def _note(code: NoteCode, message: str, seq: int | None = None) -> Note:
    return Note(code=code, message=message, seq=seq)
