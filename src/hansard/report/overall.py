"""Notes on a debate as a whole: its terms, who sits at the table, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hansard.report import alike
from hansard.report.notes import Note, NoteCode, note
from hansard.report.words import amount
from hansard.rules import spending
from hansard.rules.fields import Ceiling, Role
from hansard.rules.prompts import TextOf
from hansard.rules.state import DebateState
from hansard.rules.transcript import CUSTOM

_OFFLINE: dict[NoteCode, str] = {"scripted": "scripted", "recorded": "taken from a record"}
_JUDGES: tuple[Role, ...] = ("judge", "moderator")
ARGUING: tuple[Role, ...] = ("debater", "proposer", "critic", "rebuttal")
_NAMED = 3  # calls, before they are only counted
MANY_ROUNDS = 4  # of a judged debate; above, models give in to each other


def notes(
    state: DebateState, unpriced: int, sent_otherwise: list[str], text_of: TextOf
) -> Iterator[Note]:
    """Yield what must be known of the debate as a whole.

    `unpriced` is the number of replies whose cost is not known, `sent_otherwise`
    are the calls that did not send what was rendered.
    """
    yield from _of_terms(state)
    yield from _of_seats(state, text_of)
    failed = sum(row["error"] != "abandoned" for row in state.failures)
    if failed:
        asked = state.total().calls
        yield note("failed", f"{failed} of {asked} calls failed; the entries below say how")
    yield from _over_ceiling(state)
    if state.refused:
        role = state.refused["role"]
        yield note(
            "refused", f"The prompt of the role {role} was not approved: no model was called"
        )
    if state.spec["policy"]:
        yield note("policy", f"Prompts were held to the signed policy {state.spec['policy'][:16]}…")
    if unpriced and state.spec["prices"]:
        yield note(
            "cost_incomplete", f"The cost of {unpriced} replies is not known; the sums leave it out"
        )
    yield from _charged(state)
    if sent_otherwise:
        more = len(sent_otherwise) - _NAMED
        calls = ", ".join(sent_otherwise[:_NAMED]) + (f" and {more} more" if more > 0 else "")
        yield note(
            "sent_otherwise",
            f"What was sent is not what was rendered, and is kept as it was sent: {calls}",
        )
    if any(row.case and row.case["rating"] for row in state.turns):
        yield note(
            "self_rated", "Each critic rates its own critique: that is its word, not a measure"
        )


def _charged(state: DebateState) -> Iterator[Note]:
    """Say what counts against the ceilings, where that is more than what is known to be used."""
    total, limits = state.total(), spending.limits_of(state)
    known: dict[Ceiling, tuple[int, int]] = {
        "tokens": (state.used_tokens, total.tokens_in + total.tokens_out),
        "cost": (state.used_micro_usd, total.cost_micro_usd),
    }
    for ceiling, (charged, used) in known.items():
        if ceiling in limits and charged != used:
            yield note(
                "charged",
                f"{amount(ceiling, charged)} count against the ceiling and {amount(ceiling, used)} "
                "are known to be used: a call that does not say what it used counts as what was "
                "reserved for it",
            )


def _over_ceiling(state: DebateState) -> Iterator[Note]:
    """Say which ceiling was passed all the same, by calls that used more than was reserved."""
    if state.closed is None:
        return
    spent = spending.spent_by(state, state.at)
    met = state.truncated["ceiling"] if state.truncated else None  # which is said already
    for ceiling, limit in spending.limits_of(state).items():
        if spent[ceiling] > limit and ceiling != met:
            used = f"{amount(ceiling, spent[ceiling])} of {amount(ceiling, limit)}"
            yield note("over_ceiling", f"The last calls went over a ceiling: {used}")


def _of_terms(state: DebateState) -> Iterator[Note]:
    terms: Any = state.spec["terms"]
    threshold, seated = terms.get("threshold"), len(state.votes)
    if threshold and threshold * 2 <= seated:
        yield note(
            "low_threshold",
            f"The threshold {threshold} is no more than half of {seated} debaters",
        )
    if terms["format"] == "judged" and terms["max_rounds"] > MANY_ROUNDS:
        yield note(
            "many_rounds",
            f"{terms['max_rounds']} rounds: above {MANY_ROUNDS}, debaters tend to give in to each "
            "other",
        )
    priced = {row["model"] for row in state.spec["prices"]}
    unpriced = {seat["model"] for seat in state.seats.values()} - priced
    if terms["format"] == "moderated" and unpriced:  # it is refused with a ceiling on cost
        yield note(
            "no_ceiling",
            f"There was no ceiling on cost: the price of {', '.join(sorted(unpriced))} is "
            "not known",
        )


def _of_seats(state: DebateState, text_of: TextOf) -> Iterator[Note]:
    for code, words in _OFFLINE.items():
        seats = [key for key, seat in state.seats.items() if seat["model"].startswith(f"{code}:")]
        if seats:
            whose = "" if len(seats) == len(state.seats) else f" of {', '.join(seats)}"
            yield note(code, f"Replies{whose} were {words}: no model was asked")
    for row in alike.theatre(state, text_of):
        what = f"the model {row.model}" if row.model else f"the model family {row.family}"
        persona = "one persona" if row.persona else "no persona"
        yield note("theatre", f"{', '.join(row.seats)} share {what} and {persona}: theatre")
    for critic in state.of_role("critic"):
        for proposer in state.of_role("proposer"):
            shared = alike.shared(critic, proposer)
            if shared:
                yield note(
                    "single_model",
                    f"{proposer['id']} and its critic {critic['id']} share {shared}, and its blind "
                    "spots",
                )
    for judge in state.of_role(*_JUDGES):
        kin = {seat["id"]: alike.shared(judge, seat) for seat in state.of_role(*ARGUING)}
        for shared in dict.fromkeys(filter(None, kin.values())):
            judged = ", ".join(seat for seat, found in kin.items() if found == shared)
            yield note(
                "self_bias", f"{judge['id']} shares {shared} with {judged}: it may favour its kin"
            )
    custom = [key for key, seat in state.seats.items() if seat["model"].startswith(CUSTOM)]
    spec = state.spec
    meant = spec["context"] or spec["instructions"] or spec["tools"]
    if custom and (meant or any(state.seats[key]["persona"] for key in custom)):
        yield note(
            "custom_seats",
            f"Persona, instructions, context and tools do not reach {', '.join(custom)}: a "
            "function fills that seat",
        )
