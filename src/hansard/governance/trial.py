"""Whether a critic's prompt may be approved: what it did in a recorded trial (RULES.md D 39).

What a critic says of itself is not enough: one that always rates itself 9 has a fine mean. So
more than half of its critiques must also be *backed*, by a citation that code found in the
evidence, or by an objection that the rebuttal conceded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hansard.errors import UsageError, together
from hansard.record import note
from hansard.record.note import Note, Signer
from hansard.record.policy import Line, Policy, write
from hansard.report.formats import ModeratedResult
from hansard.report.formats.moderated.parts import Exchange
from hansard.rules.seating import OFFLINE
from hansard.vocabulary import many

FORMAT, CRITICS = "moderated", ("critic", "critic_again")
LEAST_CASES, RATED_ABOVE = 20, 7
_HEAD = "hansard-trial/v1\npolicy "


class Critique(NamedTuple):
    """A critique that counted: what it says of itself, and whether anything bears it out."""

    rating: int
    backed: bool


@dataclass(frozen=True, slots=True)
class Case:
    """A debate of the trial: its record's head, what it was about, and what its critics did."""

    debate: str
    head: str
    about: str  # the same of two debates on one question and one evidence
    templates: Mapping[str, str]
    critiques: tuple[Critique, ...]


@dataclass(frozen=True, slots=True)
class Tried:
    """What a trial says of one template of a critic."""

    role: str
    template: str
    cases: int  # each question with its evidence counts once
    critiques: int
    rated: int  # the sum of the ratings
    backed: int

    @property
    def passed(self) -> bool:
        """Whether there were enough cases, rated high enough, more than half of them backed."""
        rated = self.rated > RATED_ABOVE * self.critiques
        return self.cases >= LEAST_CASES and rated and 2 * self.backed > self.critiques

    def __str__(self) -> str:
        mean = f"{self.rated / self.critiques:.2f}" if self.critiques else "none"
        return (
            f"{FORMAT}.{self.role} {self.template}: {many(self.cases, 'case')}, "
            f"{many(self.critiques, 'critique')}, mean rating {mean}, {self.backed} backed"
        )


def case_of(result: ModeratedResult, head: str, about: str) -> Case:
    """Return a debate as a case of a trial.

    Raises UsageError `trial.open` for one that has not ended, and `trial.scripted` where its
    critic's replies were written beforehand.
    """
    if result.closed_at is None:
        raise UsageError("trial.open", f"debate {result.debate[:8]} has not ended")
    if any(seat.role == "critic" and seat.model.startswith(OFFLINE) for seat in result.seats):
        raise UsageError(
            "trial.scripted",
            f"the critic of debate {result.debate[:8]} followed a script: it tries no prompt",
        )
    exchanges = [row for each in result.rounds for row in each.exchanges]
    templates = {row["role"]: row["sha256"] for row in result.templates}
    found = [_critique(row) for row in exchanges]
    return Case(result.debate, head, about, templates, tuple(row for row in found if row))


def _critique(exchange: Exchange) -> Critique | None:
    """Return the critique of an exchange; None where none was heard."""
    critique, rebuttal = exchange.critique, exchange.rebuttal
    if critique is None or critique.challenge_strength is None:
        return None
    rows = critique.counter_arguments
    cited = any(cite.finding == "verified" for row in rows for cite in row.citations)
    sound = {row.number for row in rows if not row.struck}
    conceded = {row.objection for row in rebuttal.concessions} if rebuttal else set()
    return Critique(critique.challenge_strength, cited or bool(sound & conceded))


def tried(lines: Iterable[Line], cases: Iterable[Case]) -> list[Tried]:
    """Return what a trial says of each template of a critic that a policy of these lines lists."""
    rows, known = tuple(lines), list({case.debate: case for case in cases}.values())
    approved = Policy(b"", Note(write(rows), ()), rows).approved(FORMAT, CRITICS)
    return [
        _measured(role, template, [case for case in known if case.templates.get(role) == template])
        for role, templates in approved.items()
        for template in templates
    ]


def _measured(role: str, template: str, cases: Sequence[Case]) -> Tried:
    critiques = [row for case in cases for row in case.critiques]
    return Tried(
        role,
        template,
        len({case.about for case in cases if case.critiques}),
        len(critiques),
        sum(row.rating for row in critiques),
        sum(row.backed for row in critiques),
    )


def require(found: Sequence[Tried], override: str | None) -> None:
    """Raise UsageError `policy.untried`, for each template that did not pass, with its figures.

    With a reason to approve it all the same, `override`, nothing is raised.
    """
    failed = [row for row in found if not row.passed]
    if override is not None or not failed:
        return
    wanted = (
        f"wanted are {LEAST_CASES} cases, a mean above {RATED_ABOVE}, and more than half backed by "
        "a verified citation or an objection that the rebuttal conceded; name the debates of a "
        "trial (--trial), or a reason (--override)"
    )
    raise together(UsageError("policy.untried", f"{row}; {wanted}") for row in failed)


def protocol(
    policy: str, found: Sequence[Tried], cases: Iterable[Case], override: str | None, by: Signer
) -> bytes:
    """Return what was shown for the policy with this hash, to be kept beside it; signed."""
    debates = {case.debate: case.head for case in cases}
    rows = [
        f"{_HEAD}{policy}",
        *(f"{'passed' if row.passed else 'not passed'} {row}" for row in found),
        *(f"debate {debate} {head}" for debate, head in sorted(debates.items())),
        *([f"override {json.dumps(override)}"] if override is not None else []),
    ]
    return note.sign("".join(f"{row}\n" for row in rows).encode(), by)


def policy_of(kept: Note) -> str | None:
    """Return the hash of the policy that a protocol is of; None for any other note."""
    head, found, rest = kept.text.decode(errors="replace").partition(_HEAD)
    return rest.partition("\n")[0] if found and not head else None
