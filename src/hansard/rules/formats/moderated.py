"""The `moderated` format: a framed proposition is proposed, attacked, defended and moderated.

A framer turns the question into a proposition. In each round a proposer makes
its case, a critic attacks it (a weak critique is sent back once), a rebuttal
answers every objection, and a moderator weighs arguments, never positions, and
says whether another round would help. With several positions each has a
proposer, critic and rebuttal take them one by one, and the moderator ranks
them. Citations are checked by code; an argument that rests on one that does
not hold is struck (RULES.md §4; D 21 to D 28; FORMAT.md §8.3).

When to use it: a wrong answer costs far more than a debate, and one model's
answer would be too sure of itself: contracts, security, architecture,
investment, compliance. When not: as the default, or for a fact that can be
looked up. Cost: 1 + rounds x (positions x 3 + 1) calls, and one more for each
critique that is sent back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, cast

from hansard.rules import citations
from hansard.rules.events import Fact, RegisteredData
from hansard.rules.fields import Case, CloseReason, ModeratedTerms, Rejection, Role
from hansard.rules.formats.common import ESCALATE, RESERVED, decided, verdict
from hansard.rules.prompts import TextOf
from hansard.rules.replies import Schema, many, members, one_of, whole, words
from hansard.rules.state import DebateState, Step, Turn

TEMPLATES: dict[str, tuple[str, ...]] = {
    "protocol": (),
    "block": ("label",),
    "again": ("code", "keyword", "member"),
    "framer": (),
    "proposer": ("position", "round"),
    "critic": ("position", "round"),
    "critic_again": ("rating",),
    "rebuttal": ("position", "round"),
    "moderator": ("citations", "round"),
    "moderator_ranking": ("citations", "positions", "round"),
    "synthesizer": ("decision", "rule"),
}
SIDES: tuple[Role, ...] = ("proposer", "critic", "rebuttal")
ARGUMENTS = {
    "proposer": "supporting_arguments",
    "critic": "counter_arguments",
    "rebuttal": "rebuttals",
}
MOST = 100  # arguments, points or documents in one list of a reply


def terms_of(state: DebateState) -> ModeratedTerms:
    """Return the opening's terms."""
    return cast(ModeratedTerms, state.spec["terms"])


def schemas(terms: ModeratedTerms) -> dict[Role, Schema]:
    """Return what each role's reply must be; the moderator's depends on the positions."""
    return _schemas(tuple(terms["positions"]), critique=terms["critique"])


@lru_cache(maxsize=64)
def _schemas(positions: tuple[str, ...], *, critique: bool) -> dict[Role, Schema]:
    points = many(words(), MOST)
    cited = many(members(document=words(), quote=words()), MOST)
    argued = many(members(argument=words(), citations=cited), MOST, 1)
    answered = members(objection=whole(1, MOST), answer=words(), citations=cited)
    conceded = members(objection=whole(1, MOST), reason=words())
    sides = (*positions, *SIDES[1:]) if positions else SIDES
    scored = sides if critique or not positions else positions
    upheld: dict[str, Schema] = {"upholds_proposition": {"type": "boolean"}}
    ranked = {"ranking": many(one_of(positions), len(positions), len(positions))}
    return {
        "framer": members(
            thesis=words(), scope=words(), criteria=many(words(), MOST, 1), key_evidence=points
        ),
        "proposer": members(
            thesis=words(), supporting_arguments=argued, anticipated_objections=points
        ),
        "critic": members(
            thesis=words(), counter_arguments=argued, challenge_strength=whole(1, 10)
        ),
        "rebuttal": members(
            thesis=words(), rebuttals=many(answered, MOST), concessions=many(conceded, MOST)
        ),
        "moderator": members(
            scores=members(**{side: whole(1, 10) for side in scored}),
            resolved_points=points,
            unresolved_points=points,
            recommend_another_round={"type": "boolean"},
            synthesis=words(),
            confidence=one_of(("HIGH", "MODERATE", "LOW")),
            explicit_uncertainties=points,
            **(ranked if positions else upheld),
        ),
    }


def misfit(terms: ModeratedTerms, seats: Sequence[RegisteredData]) -> str | None:
    """A framer, a proposer for each position, critic and rebuttal unless off, a moderator."""
    positions, nobody = terms["positions"], cast("list[str | None]", [None])
    challengers = ["critic", "rebuttal"] if terms["critique"] else []
    roles = ["framer", *["proposer"] * max(1, len(positions)), *challengers]
    labels = [seat["stance"]["label"] if seat["stance"] else None for seat in seats]
    stances = [*nobody, *(positions or nobody), *nobody * (len(challengers) + 1)]
    sound = len(set(positions)) == len(positions) != 1 and not set(positions) & {*SIDES}
    sound = sound and (terms["critique"] or bool(positions))
    named = RESERVED.isdisjoint([*positions, *(seat["id"] for seat in seats)])
    fit = [seat["role"] for seat in seats] == [*roles, "moderator"] and labels == stances
    return None if fit and sound and named else "the seats of the terms, from framer to moderator"


def due(state: DebateState) -> Fact | tuple[Step, ...] | CloseReason:
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
        if not any(row.role == "proposer" and row.heard for row in _of_round(state, round_)):
            return decided(state, ESCALATE, "too_few_heard")
        moderation = Step.of(round_, "moderation", moderator)
        if moderation.id not in done:
            return (moderation,)
        if not done[moderation.id].heard:
            return "moderator_failed"
        if not cast(Any, done[moderation.id].data)["another_round"]:
            break
    neutrality = Step.of(state.rounds_run, "neutrality", moderator)
    if terms_of(state)["neutrality_check"] and neutrality.id not in done:
        return (neutrality,)
    return _decide(state)


def _of_round(state: DebateState, round_: int) -> Iterator[Turn]:
    return (row for row in state.turns if row.data["round"] == round_)


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


def target_of(state: DebateState, phase: str) -> str:
    """Return the proposer that a critique or a rebuttal is about."""
    number = phase.partition("-")[2]
    return state.of_role("proposer")[int(number) - 1 if number else 0]["id"]


def _decide(state: DebateState) -> Fact:
    """Take the moderator's word on a case that was challenged and stands, else escalate."""
    terms, found = terms_of(state), state.verdict
    assert found, "decided after a moderation"
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


def most_turns(terms: ModeratedTerms, debaters: int) -> int:
    """The framing, then per round each position, attacked and defended, and the moderator."""
    speakers = max(1, len(terms["positions"])) * (3 if terms["critique"] else 1) + 1
    return 1 + terms["max_rounds"] * speakers + terms["neutrality_check"]


def read(state: DebateState, step: Step, value: Any, text_of: TextOf) -> dict[str, Any] | Rejection:
    """Return what code can see of an argued turn, or what the moderator found."""
    role = state.seats[step.speaker]["role"]
    if role == "moderator":
        return _moderation(state, value)
    if role == "framer":
        return {"vote": None, "case": None}
    critique = _critique(state, step) if role == "rebuttal" else None
    if critique and not _answered(value) <= set(range(1, critique["arguments"] + 1)):
        return "unknown_option"
    rating = value["challenge_strength"] if role == "critic" else None
    progress = state.steps[step.id]
    if rating and rating < terms_of(state)["require_critic_retry_below"] and not progress.weak:
        return "weak_critique"
    arguments = value[ARGUMENTS[role]]
    rows = _check_citations(state, step, arguments, text_of)
    struck = citations.struck(rows) if rows is not None else []
    case = {
        "arguments": len(arguments),
        "rating": rating,
        "unanswered": _unanswered(critique, _answered(value, struck)) if critique else [],
        "citations": rows,
        "struck": struck,
    }
    return {"vote": None, "case": case}


def _check_citations(
    state: DebateState, step: Step, arguments: Iterable[Any], text_of: TextOf
) -> Any:
    """Check citations against the documents seen in this round; None where one is gone."""
    texts, later = {}, []
    for document in state.evidence:
        if document["from_round"] > step.round:
            later.append(document["document"])
            continue
        text = text_of(document["text"]["sha256"])
        if text is None:
            return None
        texts[document["document"]] = text
    return citations.check(arguments, texts, later)


def _critique(state: DebateState, step: Step) -> Case:
    """Return what was read from the critique that a rebuttal answers."""
    phase = step.phase.replace("rebuttal", "critique")
    found = next(row for row in _of_round(state, step.round) if row.data["phase"] == phase)
    return cast(Case, found.case)


def _unanswered(critique: Case, answered: set[int]) -> list[int]:
    """Return the objections that want an answer, as struck ones do not, and have none."""
    objections = range(1, critique["arguments"] + 1)
    return [n for n in objections if n not in critique["struck"] and n not in answered]


def _answered(value: Any, struck: Sequence[int] = ()) -> set[int]:
    """Return the objections that a rebuttal answers or concedes; a struck answer is none."""
    answers = {row["objection"] for n, row in enumerate(value["rebuttals"], 1) if n not in struck}
    return answers | {row["objection"] for row in value["concessions"]}


def _moderation(state: DebateState, value: Any) -> dict[str, Any] | Rejection:
    positions = terms_of(state)["positions"]
    ranking = value["ranking"] if positions else []
    if len(set(ranking)) != len(ranking):
        return "unknown_option"
    by_label = {
        seat["stance"]["label"]: seat["id"] for seat in state.seats.values() if seat["stance"]
    }
    sides = list(schemas(terms_of(state))["moderator"]["properties"]["scores"]["properties"])
    return verdict(
        upholds=None if positions else value["upholds_proposition"],
        ranking=[by_label[label] for label in ranking],
        scores=[{"side": side, "score": value["scores"][side]} for side in sides],
        resolved=len(value["resolved_points"]),
        unresolved=len(value["unresolved_points"]),
        uncertainties=len(value["explicit_uncertainties"]),
        confidence=value["confidence"],
        another_round=value["recommend_another_round"],
    )


def admits(state: DebateState, step: Step, data: dict[str, Any]) -> bool:
    """What later turns and the decision rest on has the form that a reply gives."""
    role = state.seats[step.speaker]["role"]
    if role == "framer":
        return data["vote"] is None and data["case"] is None
    if role != "moderator":
        number = data["case"]["arguments"] if data["case"] else -1
        return data["vote"] is None and (role != "rebuttal") <= number <= MOST
    if (data["winner"], data["undeclared"], data["choice"]) != (None, False, None):
        return False
    proposers = sorted(seat["id"] for seat in state.of_role("proposer"))
    ranked = sorted(data["ranking"]) == (proposers if terms_of(state)["positions"] else [])
    upholds = (data["upholds"] is None) == bool(terms_of(state)["positions"])
    return ranked and upholds and None not in (data["confidence"], data["another_round"])


def template(state: DebateState, step: Step) -> str:
    """Return the template's role."""
    role = state.seats[step.speaker]["role"]
    ranks = role == "moderator" and terms_of(state)["positions"]
    return "moderator_ranking" if ranks else role


def values(state: DebateState, step: Step | None) -> dict[str, str]:
    """Return what is filled into the speaker's instruction; nothing into the protocol."""
    if step is None:
        return {}
    role = template(state, step)
    position = "the proposition"
    if terms_of(state)["positions"] and role in SIDES:
        seat = step.speaker if role == "proposer" else target_of(state, step.phase)
        stance = state.seats[seat]["stance"]
        position = stance["label"] if stance else position
    known = {
        "citations": _told(state, step.round),
        "position": position,
        "positions": ", ".join(terms_of(state)["positions"]),
        "round": str(step.round),
    }
    return {name: known[name] for name in TEMPLATES[role]}


def _told(state: DebateState, round_: int) -> str:
    """Say what came of the round's citations, argument by argument."""
    rows = []
    for turn in _of_round(state, round_):
        case = turn.case
        for row in case["citations"] if case else ():
            place = f"{label(state, turn)[0]}, argument {row['argument']}"
            rows.append(f"{place}, citation {row['citation']}: {row['finding']}")
    return "; ".join(rows) or "there are none"


def label(state: DebateState, turn: Turn) -> tuple[str, bool]:
    """A turn is titled with its phase and round, and shown point by point."""
    data = turn.data
    base = data["phase"].partition("-")[0]
    seat = data["speaker"] if base == "proposition" else None
    if base in ("critique", "rebuttal"):
        seat = target_of(state, data["phase"])
    stance = state.seats[seat]["stance"] if seat else None
    about = f" {stance['label']}" if stance else ""
    return f"{base}{about}, round {data['round']}", True


def retold(state: DebateState, step: Step) -> list[tuple[str, Turn]] | None:
    """Show the sides of each round in the other order for the neutrality check (D 43)."""
    if step.phase != "neutrality":
        return None
    turns = [row for row in state.turns if row.heard]
    rounds = sorted({row.data["round"] for row in turns})
    shown = []
    for round_ in rounds:
        of_round = [row for row in turns if row.data["round"] == round_]
        sides = [row for row in of_round if row.role in SIDES]
        rest = [row for row in of_round if row.role not in SIDES and not _is_last(state, row)]
        shown += [row for row in rest if row.role == "framer"] + sides[::-1]
        shown += [row for row in rest if row.role != "framer"]
    return [(label(state, row)[0], row) for row in shown]


def _is_last(state: DebateState, turn: Turn) -> bool:
    """Whether it is the moderation that is asked for once more."""
    return turn.data is state.verdict
