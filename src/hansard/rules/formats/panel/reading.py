"""What the replies of a `panel` debate must be, what is read from them, what speakers are shown."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

from hansard.rules.formats.common import verdict
from hansard.rules.formats.panel.spec import TEMPLATES
from hansard.rules.prompts import TextOf
from hansard.rules.replies import JSON, Schema, members, one_of, words
from hansard.rules.state import DebateState, Step, Turn
from hansard.rules.terms import PanelTerms, Role


def terms_of(state: DebateState) -> PanelTerms:
    """Return the opening's terms."""
    return cast(PanelTerms, state.spec["terms"])


def schemas(terms: PanelTerms) -> dict[Role, Schema]:
    """A draft is words, with a choice among options; a judge writes an answer or picks."""
    return _schemas(tuple(terms["options"]), tuple(terms["labels"]), terms["resolution"])


@lru_cache(maxsize=64)
def _schemas(options: tuple[str, ...], labels: tuple[str, ...], how: str) -> dict[Role, Schema]:
    choice = {"choice": one_of(options)} if options else {}
    if how == "pick":
        judge = members(winner=one_of(labels), justification=words())
    else:
        judge = members(answer=words(), **choice, justification=words())
    return {"debater": members(answer=words(), **choice) if options else words(), "judge": judge}


def read(state: DebateState, step: Step, value: JSON, _text_of: TextOf) -> dict[str, Any]:
    """Return the choice of a draft or a judge, or the draft that a judge picked."""
    options = terms_of(state)["options"]
    if step.phase == "draft":
        return {"vote": value["choice"] if options else None, "case": None}
    if "winner" in value:
        return verdict(winner=value["winner"])
    return verdict(choice=value["choice"] if options else None)


def answer_of(value: JSON) -> str:
    """Return the answer of a draft that counts: all of it, or beside its choice."""
    return cast(str, value if isinstance(value, str) else value["answer"])


def admits(state: DebateState, step: Step, data: Mapping[str, Any]) -> bool:
    """A choice is a declared option, a pick one of the debaters."""
    terms = terms_of(state)
    options: list[str | None] = [*terms["options"]] or [None]
    if step.phase == "draft":
        return data["vote"] in options and data["case"] is None
    picks = terms["resolution"] == "pick"
    named = data["winner"] in terms["labels"] if picks else data["choice"] in options
    free = verdict(winner=data["winner"]) if picks else verdict(choice=data["choice"])
    return named and all(data[name] == value for name, value in free.items())


def template(state: DebateState, step: Step) -> str:
    """Return the template's role: with options one chooses, and a judge may pick."""
    terms = terms_of(state)
    if step.phase == "draft":
        return "chooser" if terms["options"] else "debater"
    if terms["resolution"] == "pick":
        return "judge_picking"
    return "judge_choosing" if terms["options"] else "judge"


def values(state: DebateState, step: Step | None) -> dict[str, str]:
    """Return what is filled into the protocol (no step), or into the speaker's instruction."""
    if step is None:
        return {}
    terms, role = terms_of(state), template(state, step)
    known = {
        "labels": ", ".join(terms["labels"]),
        "last_round": str(terms["max_rounds"]),
        "options": ", ".join(terms["options"]),
        "round": str(step.round),
        "speaker": step.speaker,
    }
    return {name: known[name] for name in TEMPLATES[role]}


def label(_state: DebateState, turn: Turn) -> tuple[str, bool]:
    """A draft is titled with its debater and its round, and quoted as it is."""
    data = turn.data
    title = f"{data['speaker']}, round {data['round']}"
    return title if turn.role == "debater" else "verdict of the judge", False
