"""Who speaks in a `moderated` debate, and how it is decided (D 27, D 28, D 50)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from hansard.rules.data import RegisteredData, VerdictData
from hansard.rules.events import Fact
from hansard.rules.fields import Case
from hansard.rules.formats.common import decided, silent
from hansard.rules.formats.moderated.places import target_of, terms_of
from hansard.rules.formats.moderated.spec import SIDES
from hansard.rules.state import DebateState, Step, Turn
from hansard.rules.terms import ESCALATE, OUTCOMES, CloseReason, ModeratedTerms


def wrong_seats(terms: ModeratedTerms, seats: Sequence[RegisteredData]) -> str | None:
    """A framer, a proposer for each position, critic and rebuttal unless off, a moderator."""
    positions, nobody = terms["positions"], cast("list[str | None]", [None])
    challengers = ["critic", "rebuttal"] if terms["critique"] else []
    roles = ["framer", *["proposer"] * max(1, len(positions)), *challengers]
    labels = [seat["stance"]["label"] if seat["stance"] else None for seat in seats]
    stances = [*nobody, *(positions or nobody), *nobody * (len(challengers) + 1)]
    sound = len(set(positions)) == len(positions) != 1 and not set(positions) & {*SIDES}
    sound = sound and (terms["critique"] or bool(positions))
    named = OUTCOMES.isdisjoint([*positions, *(seat["id"] for seat in seats)])
    fit = [seat["role"] for seat in seats] == [*roles, "moderator"] and labels == stances
    return None if fit and sound and named else "the seats of the terms, from framer to moderator"


def due(state: DebateState) -> Fact | tuple[Step, ...] | CloseReason:  # noqa: PLR0911 - the schedule reads from top to bottom
    """Return who speaks: framing, then round after round as far as the moderator wants."""
    done = {(row.data["step"]): row for row in state.turns}
    framing = Step.of(1, "framing", state.of_role("framer")[0]["id"])
    if framing.id not in done:
        return (framing,)
    moderator = state.of_role("moderator")[0]["id"]
    for round_ in range(1, terms_of(state)["max_rounds"] + 1):
        steps = _round(state, round_, done)
        if steps:
            return steps
        if silent([row for row in state.of_round(round_) if row.role == "proposer"]):
            return "nobody_heard"
        moderation = Step.of(round_, "moderation", moderator)
        if moderation.id not in done:
            return (moderation,)
        if not done[moderation.id].heard:
            return "moderator_failed"
        last = cast(VerdictData, done[moderation.id].data)
        if not last["another_round"]:
            break
    neutrality = Step.of(state.rounds_run, "neutrality", moderator)
    if terms_of(state)["neutrality_check"] and neutrality.id not in done:
        return (neutrality,)
    return _decide(state, last)


def _round(state: DebateState, round_: int, done: dict[str, Turn]) -> tuple[Step, ...]:
    """Return who speaks in a round before its moderator; nobody once all have."""
    proposers = [seat["id"] for seat in state.of_role("proposer")]
    steps = (Step.of(round_, "proposition", proposer) for proposer in proposers)
    open_ = [step for step in steps if step.id not in done]
    if open_ or not terms_of(state)["critique"]:
        return tuple(open_)  # positions are proposed without a look at each other's
    critic, rebuttal = (seat["id"] for seat in state.of_role("critic", "rebuttal"))
    for number, proposer in enumerate(proposers, 1):
        if not done[Step.of(round_, "proposition", proposer).id].heard:
            continue
        place = f"-{number}" if len(proposers) > 1 else ""
        attack = Step.of(round_, f"critique{place}", critic)
        answer = Step.of(round_, f"rebuttal{place}", rebuttal)
        if attack.id not in done:
            return (attack,)
        if done[attack.id].heard and answer.id not in done:
            return (answer,)
    return ()


def _decide(state: DebateState, found: VerdictData) -> Fact:
    """Take the moderator's word on a case that was challenged and stands, else escalate."""
    terms = terms_of(state)
    proposers = [seat["id"] for seat in state.of_role("proposer")]
    first = found["ranking"][0] if terms["positions"] else proposers[0]
    cases = [row for row in state.turns if row.data["speaker"] == first and row.heard]
    if not cases:
        return decided(state, ESCALATE, "too_few_heard")
    challenged = {
        target_of(state, row.data["phase"])
        for row in state.turns
        if row.role == "critic" and row.heard and not _all_struck(row)
    }
    if terms["critique"] and first not in challenged:
        return decided(state, ESCALATE, "unchallenged")
    if (terms["positions"] or found["upholds"]) and all(map(_all_struck, cases)):
        return decided(state, ESCALATE, "unsupported")
    stance = state.seats[first]["stance"]
    if stance:
        return decided(state, stance["label"], "moderator_ranking")
    upheld = "upheld" if found["upholds"] else "not_upheld"
    return decided(state, upheld, "moderator_synthesis")


def _all_struck(turn: Turn) -> bool:
    case = cast(Case, turn.case)
    return set(case["struck"]).issuperset(range(1, case["arguments"] + 1))


def reason(state: DebateState) -> CloseReason:
    """Return why it stopped: a moderator that always wants more meets the round cap."""
    found = state.verdict
    return (
        "max_rounds_exhausted"
        if found is None or found["another_round"]
        else ("moderator_satisfied")
    )


def most_turns(terms: ModeratedTerms, _debaters: int) -> int:
    """The framing, then per round each position, attacked and defended, and the moderator."""
    speakers = max(1, len(terms["positions"])) * (3 if terms["critique"] else 1) + 1
    return 1 + terms["max_rounds"] * speakers + terms["neutrality_check"]
