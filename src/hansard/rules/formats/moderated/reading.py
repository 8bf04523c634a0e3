"""What the replies of a `moderated` debate must be, and what is read from them (D 23, D 26)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from hansard.rules import citations
from hansard.rules.fields import Case, Citation
from hansard.rules.formats.base import NotCounted, TextGone
from hansard.rules.formats.common import verdict
from hansard.rules.formats.moderated.places import evidence_in, terms_of
from hansard.rules.formats.moderated.spec import SIDES
from hansard.rules.prompts import TextOf
from hansard.rules.replies import JSON, Schema, many, members, one_of, whole, words
from hansard.rules.state import DebateState, Step
from hansard.rules.terms import ModeratedTerms, Role

ARGUMENTS = {
    "proposer": "supporting_arguments",
    "critic": "counter_arguments",
    "rebuttal": "rebuttals",
}
MOST = 100  # arguments, points or documents in one list of a reply
MOST_CITED = 10  # citations of one argument
# Citations of one reply, divided by the number of proposers: each is looked for in all of a
# document, so a debate of three rounds has 6,000 such searches at most (FORMAT.md §10.2).
MOST_LOOKED_UP = 500


def schemas(terms: ModeratedTerms) -> dict[Role, Schema]:
    """Return what each role's reply must be; the moderator's depends on the positions."""
    return _schemas(tuple(terms["positions"]), critique=terms["critique"])


@lru_cache(maxsize=64)
def _schemas(positions: tuple[str, ...], *, critique: bool) -> dict[Role, Schema]:
    points = many(words(), MOST)
    cited = many(members(document=words(), quote=words()), MOST_CITED)
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


def read(
    state: DebateState, step: Step, value: JSON, text_of: TextOf
) -> dict[str, Any] | NotCounted:
    """Return what code can see of an argued turn, or what the moderator found.

    Raises TextGone where a critique must cite a document and one is gone.
    """
    role = state.seats[step.speaker]["role"]
    if role == "moderator":
        return _moderation(state, value)
    if role == "framer":
        return {"vote": None, "case": None}
    arguments = value[ARGUMENTS[role]]
    cited = sum(len(row["citations"]) for row in arguments)
    if cited > MOST_LOOKED_UP // len(state.of_role("proposer")):
        return NotCounted("schema", "citations", "minItems")
    critique = _critique(state, step) if role == "rebuttal" else None
    if critique and not _answered(value) <= set(range(1, critique["arguments"] + 1)):
        return NotCounted("unknown_option")
    rating = value["challenge_strength"] if role == "critic" else None
    rows = _check_citations(state, step, arguments, text_of)
    back = _sent_back(state, step, rating, rows)
    if back:
        return back
    struck = citations.struck(rows) if rows is not None else []
    case = {
        "arguments": len(arguments),
        "rating": rating,
        "unanswered": _unanswered(critique, _answered(value, struck)) if critique else [],
        "citations": rows,
        "struck": struck,
    }
    return {"vote": None, "case": case}


def _sent_back(
    state: DebateState, step: Step, rating: int | None, rows: Sequence[Citation] | None
) -> NotCounted | None:
    """Return what a critique is sent back for, if it is; `rows` are None where a text is gone."""
    weak = NotCounted("weak_critique", rating=rating)
    uncited = NotCounted("uncited_critique", rating=rating)
    if may_send_back(state, step, weak):
        return weak
    if not may_send_back(state, step, uncited):
        return None
    if rows is None:
        raise TextGone
    return None if citations.hold(rows) else uncited


def may_send_back(state: DebateState, step: Step, why: NotCounted) -> bool:
    """A critique is sent back once: where it rates itself too weak, or else for its citations."""
    terms = terms_of(state)
    if state.seats[step.speaker]["role"] != "critic" or state.steps[step.id].sent_back:
        return False
    if not why.rating:
        return False
    weak = why.rating < terms["require_critic_retry_below"]
    if why.code == "weak_critique":
        return weak
    return terms["require_cited_critique"] and not weak and evidence_in(state, step.round)


def _check_citations(
    state: DebateState, step: Step, arguments: Iterable[Any], text_of: TextOf
) -> list[Citation] | None:
    """Check citations against the documents seen in this round; None where one is gone."""
    texts, later = {}, []
    read: dict[str, str | None] = {}  # by its name: documents may share a text
    for document in state.evidence:
        if document["from_round"] > step.round:
            later.append(document["document"])
            continue
        name = document["text"]["sha256"]
        if name not in read:
            read[name] = text_of(name)
        if (text := read[name]) is None:
            return None
        texts[document["document"]] = text
    return citations.check(arguments, texts, later)


def _critique(state: DebateState, step: Step) -> Case:
    """Return what was read from the critique that a rebuttal answers."""
    phase = step.phase.replace("rebuttal", "critique")
    found = next(row for row in state.of_round(step.round) if row.data["phase"] == phase)
    return cast(Case, found.case)


def _unanswered(critique: Case, answered: set[int]) -> list[int]:
    """Return the objections that want an answer, as struck ones do not, and have none."""
    objections = range(1, critique["arguments"] + 1)
    return [n for n in objections if n not in critique["struck"] and n not in answered]


def _answered(value: Any, struck: Sequence[int] = ()) -> set[int]:
    """Return the objections that a rebuttal answers or concedes; a struck answer is none."""
    answers = {row["objection"] for n, row in enumerate(value["rebuttals"], 1) if n not in struck}
    return answers | {row["objection"] for row in value["concessions"]}


def _moderation(state: DebateState, value: JSON) -> dict[str, Any] | NotCounted:
    positions = terms_of(state)["positions"]
    ranking = value["ranking"] if positions else []
    if len(set(ranking)) != len(ranking):
        return NotCounted("unknown_option")
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


def admits(state: DebateState, step: Step, data: Mapping[str, Any]) -> bool:
    """What later turns and the decision rest on has the form that a reply gives."""
    role = state.seats[step.speaker]["role"]
    if role == "framer":
        return data["vote"] is None and data["case"] is None
    if role != "moderator":
        case: Case | None = data["case"]
        if data["vote"] is not None or case is None or not citations.in_order(case):
            return False
        return (role != "rebuttal") <= case["arguments"] <= MOST
    if (data["winner"], data["undeclared"], data["choice"]) != (None, False, None):
        return False
    proposers = sorted(seat["id"] for seat in state.of_role("proposer"))
    ranked = sorted(data["ranking"]) == (proposers if terms_of(state)["positions"] else [])
    upholds = (data["upholds"] is None) == bool(terms_of(state)["positions"])
    return ranked and upholds and None not in (data["confidence"], data["another_round"])
