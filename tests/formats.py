"""How the tests play each format of debate: the one table of them that a new format adds to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hansard.rules import formats

Fields = dict[str, Any]
NAMES = ("planner", "critic", "operator")
VOTES = dict(zip(NAMES, ("release", "revise", "escalate"), strict=True))
EVIDENCE = {"id": "memo", "text": "Payment is due within thirty days."}
STANCES = [
    {"id": "ann", "label": "ship", "stance": "Ship it now."},
    {"id": "bob", "label": "wait", "stance": "Wait a week."},
]
USED = {"tokens": {"in": 1000, "out": 1000}}


class Played(NamedTuple):
    """One format: fields of its specs, what is said in it, and what comes of that."""

    least: Fields  # the smallest spec, for the engine (`playing`)
    setup: Fields  # for the rules alone (`support`)
    rich: Fields  # changes of the smallest spec, with which more happens
    longer: Fields  # changes with which it takes longer
    command: Fields  # for the command line (`cli_support`)
    replies: Callable[[Any], Fields]  # what its seats reply there, by seat and phase
    told: Callable[[Any], Fields]  # fields in which all is one text (`hostile`)
    final: str  # its answer where everybody says the least that counts
    shown: tuple[str, ...]  # what `show` says of the debate of the command line,
    listed: tuple[str, int | None]  # what `list` does, its decision and votes,
    cut: tuple[Fields, str]  # and what `show` says where it is changed so, and cut short


def _consensus() -> Played:
    seats = [{"id": seat} for seat in NAMES]
    common: Fields = {"options": ["release", "revise", "escalate"], "threshold": 2, "max_rounds": 2}

    silent = {"*": {"*": {"error": "client_error"}}}

    def replies(words: Any) -> Fields:
        said = {"stance": words, "rationale": words, "vote": "release"}
        return {seat: {"*": {"reply": said, **USED}} for seat in NAMES}

    return Played(
        least={"debaters": seats, **common},
        setup={"debaters": NAMES, **common},
        rich={"rule": "unanimity", "threshold": None},
        longer={"max_rounds": 2, "threshold": 3},
        command={**common, "debaters": seats, "options": ["release", "revise"], "max_rounds": 1},
        replies=replies,
        told=lambda text: {
            "debaters": _seats(*NAMES, text=text),
            "evidence": [{"id": "memo", "text": text}],
            "rule": "unanimity",
            "threshold": None,
            "max_rounds": 1,
            "synthesizer": True,
        },
        final="release",
        shown=("Decision    release  3 of 3 votes, 2 needed", "Seat         Role"),
        listed=("release", 3),
        cut=(
            {"limits": {"calls": 3}, "max_rounds": 2, "script": dict.fromkeys(NAMES[1:], silent)},
            "Votes now   release 1, abstain 2",
        ),
    )


def _judged() -> Played:
    return Played(
        least={"debaters": STANCES},
        setup={"debaters": (*STANCES, {"id": "cat", "label": "drop", "stance": "Drop it."})},
        rich={"output_schema": {"type": "object"}, "seed": 7},
        longer={"max_rounds": 2},
        command={"debaters": STANCES, "max_rounds": 1},
        replies=lambda words: {
            **{seat["id"]: {"*": {"reply": words, **USED}} for seat in STANCES},
            "judge": {"verdict": {"verdict": words, "winner": "ship", "reasoning": words}},
        },
        told=lambda text: {
            "debaters": stances(text),
            "judge": {"persona": text},
            "max_rounds": 2,
        },
        final="so",
        shown=(
            "Decision    Ship it now. (ship), argued by ann  the judge's verdict, round 1 of at",
            "Verdict     so",
            "Reasoning   so",
        ),
        listed=("ship", None),
        cut=(
            {"limits": {"calls": 3}, "max_rounds": 2},
            "Cost        $0.0300 (price: model)  3 calls",
        ),
    )


def _moderated() -> Played:
    def replies(words: Any) -> Fields:
        cited = {"argument": words, "citations": [{"document": words, "quote": words}]}
        plain = {"argument": words, "citations": []}
        attack = {"thesis": words, "counter_arguments": [plain]}
        framing = {"thesis": words, "scope": words, "criteria": [words], "key_evidence": []}
        weak, strong = ({"reply": {**attack, "challenge_strength": rating}} for rating in (4, 8))
        proposition = {
            "thesis": words,
            "supporting_arguments": [cited, plain],
            "anticipated_objections": [],
        }
        moderation = {
            "scores": {"proposer": 4, "critic": 8, "rebuttal": 5},
            "resolved_points": [],
            "unresolved_points": [words],
            "recommend_another_round": False,
            "synthesis": words,
            "confidence": "MODERATE",
            "explicit_uncertainties": [words, words],
            "upholds_proposition": True,
        }
        return {
            "framer": {"framing": {"reply": framing, **USED}},
            "proposer": {"proposition": proposition},
            "critic": {"critique": [weak, strong]},
            "rebuttal": {"rebuttal": {"thesis": words, "rebuttals": [], "concessions": []}},
            "moderator": {"moderation": moderation},
        }

    return Played(
        least={"evidence": [EVIDENCE]},
        setup={"limits": {"cost_usd": None}},
        rich={"max_rounds": 2, "neutrality_check": True, "limits": {"cost_usd": None}},
        longer={"max_rounds": 2},
        command={"evidence": [EVIDENCE]},
        replies=replies,
        told=lambda text: {
            "critic": {"persona": text},
            "neutrality_check": True,
            "max_rounds": 2,
        },
        final="so",
        shown=(
            "Decision    upheld  the moderator weighed the arguments, round 1 of at most 1",
            "Confidence  MODERATE, in round 1",
            "Scores      proposer 4, critic 8, rebuttal 5: the moderator's own word",
            "Open        so",
            "Uncertain   so\nUncertain   so",
            "gives citations that do not hold (argument 1, citation 1: there is no such document)",
        ),
        listed=("upheld", None),
        cut=({"limits": {"calls": 3}, "max_rounds": 2}, "Moderation  none was heard"),
    )


def _panel() -> Played:
    return Played(
        least={"debaters": [{"id": seat} for seat in ("ann", "bob", "cat")], "rounds": 1},
        setup={"debaters": ("ann", "bob", "cat")},
        rich={"judge": {}, "rounds": 2},
        longer={"rounds": 2, "convergence_check": False},
        command={"debaters": [{"id": "ann"}, {"id": "bob"}], "judge": {}},
        replies=lambda words: {
            **{seat: {"draft": {"reply": words, **USED}} for seat in ("ann", "bob")},
            "judge": {"verdict": {"answer": words, "justification": words}},
        },
        told=lambda text: {
            "debaters": _seats("ann", "bob", "cat", text=text),
            "judge": {"persona": text},
            "rounds": 2,
            "convergence_check": False,
        },
        final="ann says this in draft of round 1.",
        shown=(
            "Decision    synthesis  the judge wrote the answer, round 0 of at most 2",
            "Answer      so",
            "similar wording is neither agreement nor correctness",
        ),
        listed=("synthesis", None),
        cut=({"limits": {"calls": 2}}, "Draft       ann: so\nDraft       bob: so"),
    )


def _baseline() -> Played:
    return Played(
        least={"draws": 3},
        setup={"draws": 3},
        rich={"options": ["yes", "no"], "debater": {"id": "bob"}},
        longer={"draws": 5},
        command={"draws": 2},
        replies=lambda words: {"debater": {"*": {"reply": words, **USED}}},
        told=lambda text: {
            "debater": {"persona": text},
            "draws": 3,
            "evidence": [{"id": "memo", "text": text}],
            "synthesizer": True,
        },
        final="debater says this in draw-1 of round 1.",
        shown=("Decision    debater  the first answer that counts", "Answer      so"),
        listed=("debater", None),
        cut=({"limits": {"calls": 2}, "draws": 3}, "Answers     2 of 3"),
    )


def stances(text: str) -> list[Fields]:
    """Two stances and who holds them, all of it `text`."""
    return [
        {"id": "ann", "label": "ship", "stance": text, "persona": text},
        {"id": "bob", "label": "wait", "stance": f"Not so. {text}"},
    ]


def _seats(*names: str, text: str) -> list[Fields]:
    return [{"id": name, "persona": text} for name in names]


PLAYED: Mapping[str, Played] = {
    "consensus": _consensus(),
    "judged": _judged(),
    "moderated": _moderated(),
    "panel": _panel(),
    "baseline": _baseline(),
}
FORMATS = tuple(formats.FORMATS)  # all of them: one without a row above has no test that passes
