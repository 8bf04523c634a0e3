"""Whether the reader may act on a debate, and who must do what first: one sentence.

It goes by what `released` goes by (FORMAT.md §18), and looks at what else a reader must
know before acting. Its sentences stand in the vocabulary under one of four answers: `yes`,
`look`, `yet` (not yet) and `no`. The page says the same (`page/acting.js`), and there alone
an altered record and a key that did not sign it are told.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from hansard import vocabulary
from hansard.report import reviews
from hansard.report.lead import in_marks
from hansard.report.result import Result
from hansard.report.safe import one_line
from hansard.report.words import GONE, TITLE, few
from hansard.rules.terms import ESCALATE, UNDECLARED
from hansard.vocabulary import fill, many

Answer = Literal["yes", "look", "yet", "no"]
ANSWERS: tuple[Answer, ...] = ("yes", "look", "yet", "no")
_WORDS = vocabulary.table("words")["acting"]
# Whose names are told of a review that stands so; None: of all that count.
_TOLD = {
    "rejected": ("rejected",),
    "remanded": ("remanded",),
    "approved": ("approved", "conditions"),
}


class Acting(NamedTuple):
    """The answer, and why, with what must be done and by whom."""

    answer: Answer
    why: str

    @property
    def sentence(self) -> str:
        """The whole sentence, on one line."""
        return f"{_WORDS[self.answer]['head']}: {self.why}"


def is_left(result: Result) -> bool:
    """Whether the decision is that a person must decide."""
    return result.decision in (ESCALATE, UNDECLARED)


def acting(result: Result) -> Acting:
    """Return whether a reader may act on a debate: the first of its sentences that applies."""
    case, found = _case(result), result.reviewed
    answer = next(row for row in ANSWERS if case in _WORDS[row])
    asked = result.review or (result.owner and result.owner.name) or ""
    why = fill(
        _WORDS[answer][case],
        asked=_name(asked) if one_line(asked, TITLE) else _WORDS["asked"],
        reviewer=_WORDS["reviewer"],
        who=_reviewers(result, case),
        why=reviews.asked_since(found),
        wanted=many(found.wanted or 1, "approval"),
        conditions=many(reviews.unmet(found), "condition"),
    )
    return Acting(answer, why)


def _case(result: Result) -> str:
    state = result.reviewed.state
    if result.status != "complete":
        return result.status
    if is_left(result):
        return "left"
    if state == "partly" and reviews.unmet(result.reviewed):
        return "conditions"
    if state not in ("approved", "not required"):
        return state
    doubts = {
        "unconfirmed": not result.released,
        "doubted": bool(reviews.against(result)),
        "scripted": result.scripted,
        "measured": result.drawn is not None and state != "approved",
        "output": result.output_missing is not None,
    }
    settled = "approved" if state == "approved" else "free"
    return next((case for case, applies in doubts.items() if applies), settled)


def _name(text: str) -> str:
    """Return what somebody wrote as a name: in a sentence of ours it makes none of its own."""
    return in_marks(one_line(text, TITLE))


def _reviewers(result: Result, case: str) -> str:
    """Return the names of those who reviewed, as far as this sentence tells them."""
    rows = reviews.against(result) if case == "doubted" else reviews.standing(result.reviewed)
    told = [row.reviewer for row in rows if row.outcome in _TOLD.get(case, (row.outcome,))]
    names = [GONE if name is None else _name(name) for name in dict.fromkeys(told)]
    return few([*dict.fromkeys(names)])
