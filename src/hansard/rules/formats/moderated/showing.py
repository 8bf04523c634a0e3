"""What the speakers of a `moderated` debate are shown (D 25, D 43)."""

from __future__ import annotations

from hansard.rules.formats.moderated.places import target_of, terms_of
from hansard.rules.formats.moderated.spec import SIDES, TEMPLATES
from hansard.rules.state import DebateState, Step, Turn


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
        "citations": _told(state, step.round) if "citations" in TEMPLATES[role] else "",
        "position": position,
        "positions": ", ".join(terms_of(state)["positions"]),
        "round": str(step.round),
    }
    return {name: known[name] for name in TEMPLATES[role]}


def _told(state: DebateState, round_: int) -> str:
    """Say what came of the round's citations, argument by argument."""
    told = (_told_of(state, turn) for turn in state.of_round(round_))  # a turn may have very many
    return "; ".join(filter(None, told)) or "there are none"


def _told_of(state: DebateState, turn: Turn) -> str:
    title = label(state, turn)[0]
    return "; ".join(
        f"{title}, argument {row['argument']}, citation {row['citation']}: {row['finding']}"
        for row in (turn.case["citations"] if turn.case else ())
    )


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
