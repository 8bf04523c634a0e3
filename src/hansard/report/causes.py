"""Why a debate failed, seat by seat, and what whoever runs it again has to mend.

Seats with one model that failed alike are named together: how the last call of
each failed, and what to look at. Which variable holds the key of a provider
stands in the vocabulary.
"""

from __future__ import annotations

from hansard import vocabulary
from hansard.report.words import REASONS, failure, listed
from hansard.rules.data import CallFailedData, RegisteredData
from hansard.rules.model_names import key_variable, provider_of
from hansard.rules.state import DebateState, speaker_of, step_of
from hansard.rules.terms import ARGUING, JUDGING, CloseReason
from hansard.vocabulary import fill

_FAILED = ("nobody_heard", "seats_lost", "judge_failed", "moderator_failed")


def failed(reason: CloseReason) -> bool:
    """Whether a debate closed for this reason since seats could not be heard."""
    return reason in _FAILED


def causes(state: DebateState, reason: CloseReason) -> str:
    """Return the seats that were not heard at last, why, and what to mend."""
    last = {row.data["speaker"]: row for row in state.turns}
    calls = {speaker_of(step_of(row["call"])): row for row in state.failures}
    found: dict[str, list[str]] = {}
    for seat in state.of_role(*(JUDGING if reason.endswith("_failed") else ARGUING)):
        turn = last.get(seat["id"])
        if turn is None or turn.heard:
            continue
        silence = turn.data["reason"]  # type: ignore[typeddict-item]
        found.setdefault(_cause(seat, silence, calls.get(seat["id"])), []).append(seat["id"])
    return ". ".join(fill(text, seats=listed(seats)) for text, seats in found.items())


def _cause(seat: RegisteredData, silence: str, call: CallFailedData | None) -> str:
    """Return what is said of a seat; its name is still to be filled in."""
    if silence == "invalid_reply" or call is None:
        why, kind = REASONS["invalid_reply"], "invalid_reply"
    else:
        why = failure(call["error"], call["status"], call["detail"], None)
        kind = str(call["status"]) if str(call["status"]) in _MENDS else call["error"]
    values = {"model": seat["model"], "why": why, "mend": fill(_MENDS[kind], key=_key(seat))}
    return fill(vocabulary.word("cause"), seats="{seats}", **values)


_MENDS = vocabulary.words("mends")


def _key(seat: RegisteredData) -> str:
    """Return the variable that holds the key of a seat's server."""
    url, keys = seat["parameters"]["base_url"], vocabulary.words("keys")
    return key_variable(url) if url else keys.get(provider_of(seat["model"]), keys["other"])
