"""What the speakers of a `moderated` debate are shown (D 25, D 43)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hansard.rules.fields import Citation
from hansard.rules.formats.moderated.places import target_of, terms_of
from hansard.rules.formats.moderated.spec import SIDES, TEMPLATES
from hansard.rules.prompts import Value
from hansard.rules.state import DebateState, Step, Turn


def template(state: DebateState, step: Step) -> str:
    """Return the template's role."""
    role = state.seats[step.speaker]["role"]
    ranks = role == "moderator" and terms_of(state)["positions"]
    return "moderator_ranking" if ranks else role


@dataclass(frozen=True)
class _Told:
    """What came of a round's citations, argument by argument: a piece for each turn.

    Any number may be listed by a turn whose reply is withheld.
    """

    cited: Sequence[tuple[str, Iterable[Citation]]]  # under the titles of their turns

    def __iter__(self) -> Iterator[str]:
        before = ""
        for title, citations in self.cited:
            told = "; ".join(
                f"{title}, argument {row['argument']}, citation {row['citation']}: {row['finding']}"
                for row in citations
            )
            if told:
                yield before + told
                before = "; "
        if not before:
            yield "there are none"


def values(state: DebateState, step: Step | None) -> dict[str, Value]:
    """Return what is filled into the speaker's instruction; nothing into the protocol."""
    if step is None:
        return {}
    role = template(state, step)
    position = "the proposition"
    if terms_of(state)["positions"] and role in SIDES:
        seat = step.speaker if role == "proposer" else target_of(state, step.phase)
        stance = state.seats[seat]["stance"]
        position = stance["label"] if stance else position
    known: dict[str, Value] = {
        "position": position,
        "positions": ", ".join(terms_of(state)["positions"]),
        "round": str(step.round),
    }
    if "citations" in TEMPLATES[role]:
        turns = state.of_round(step.round)
        cited = [(label(state, row)[0], row.case["citations"]) for row in turns if row.case]
        known["citations"] = _Told(cited)
    return {name: known[name] for name in TEMPLATES[role]}


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
