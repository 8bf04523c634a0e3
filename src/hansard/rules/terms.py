"""The words that formats bring into the record, and the terms that each is debated under.

A format adds its terms here, and what the closed union of events must know of
it: its phases, its roles, how it decides and why it stops (FORMAT.md §3).
Everything else of a format stands in `rules.formats`. Whoever shows a debate
rests on three things: the terms of each format have `max_rounds`; a rule that
counts votes ends in `_vote`; a reason that a judge could not be heard in
`_failed`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import Field, StringConstraints
from typing_extensions import TypedDict  # pydantic reads only this one before Python 3.12

from hansard.rules.fields import Name, Positive, Ppm, Rating, Thousand, closed

# A phase of one position among several, or of one draw, ends in its number: `critique-2`.
PHASES = (
    "proposal",
    "critique",
    "revision",
    "consensus",
    "argument",
    "verdict",
    "framing",
    "proposition",
    "rebuttal",
    "moderation",
    "neutrality",
    "draft",
    "draw",
    "synthesis",
)
Phase = Annotated[str, StringConstraints(pattern=f"^({'|'.join(PHASES)})(-[1-9][0-9]?)?$")]

Role = Literal[
    "debater",
    "judge",
    "framer",
    "proposer",
    "critic",
    "rebuttal",
    "moderator",
    "synthesizer",
]
ARGUING: tuple[Role, ...] = ("debater", "proposer", "critic", "rebuttal")
JUDGING: tuple[Role, ...] = ("judge", "moderator")  # their turns are `verdict.recorded`

DecisionRule = Literal[
    "threshold_vote",
    "majority_vote",
    "unanimous_vote",
    "max_rounds_exhausted",
    "judge_verdict",
    "judge_undeclared",
    "judge_synthesis",
    "judge_pick",
    "moderator_synthesis",
    "moderator_ranking",
    "unchallenged",
    "unsupported",
    "too_few_heard",
    "no_majority",
    "most_similar",
    "plurality_vote",
    "no_plurality",
    "first_draw",
]
CloseReason = Literal[
    "votes_reached",
    "max_rounds_exhausted",
    "rounds_complete",
    "converged",
    "moderator_satisfied",
    "calls_ceiling",
    "tokens_ceiling",
    "cost_ceiling",
    "seconds_ceiling",
    "entries_ceiling",
    "operator",
    "prompt_refused",
    "nobody_heard",
    "seats_lost",
    "judge_failed",
    "moderator_failed",
]

Resolution = Literal["synthesis", "pick", "majority", "similar"]  # of a panel

ESCALATE = "escalate"  # the decision where nothing was agreed on: somebody must look
UNDECLARED = "undeclared"  # the decision where a judge named nothing that was declared
OUTCOMES = frozenset(  # name no seat, no stance
    {ESCALATE, "synthesis", UNDECLARED, "upheld", "not_upheld"}
)
ABSTAIN = "abstain"  # what silence counts as
NO_OPTION = frozenset({ABSTAIN, UNDECLARED})  # name no option


@closed
class ConsensusTerms(TypedDict):
    """What the debaters decide on and how it is counted, in the `consensus` format."""

    format: Literal["consensus"]
    options: list[Name]
    rule: Literal["threshold", "majority", "unanimity"]
    threshold: Positive
    max_rounds: Thousand


@closed
class JudgedTerms(TypedDict):
    """The stances, in the order of their debaters, and what the judge may see of them."""

    format: Literal["judged"]
    stances: list[Name]
    max_rounds: Thousand
    anonymize_transcript: bool
    shuffle_for_judge: bool


@closed
class ModeratedTerms(TypedDict):
    """The positions (none: one proposition), and what makes a critique strong enough."""

    format: Literal["moderated"]
    positions: list[Name]
    critique: bool
    max_rounds: Annotated[int, Field(ge=1, le=3)]
    require_critic_retry_below: Rating
    min_challenge_strength: Rating
    require_cited_critique: bool
    neutrality_check: bool


@closed
class PanelTerms(TypedDict):
    """Who drafts, what they may answer, when they agree, and who or what resolves it."""

    format: Literal["panel"]
    labels: list[Name]
    options: list[Name]
    max_rounds: Thousand
    convergence_ppm: Ppm | None
    resolution: Resolution
    fallback: Literal["escalate", "similar"]


@closed
class BaselineTerms(TypedDict):
    """How often one seat answers, and what it may answer."""

    format: Literal["baseline"]
    options: list[Name]
    draws: Annotated[int, Field(ge=1, le=99)]
    max_rounds: Annotated[int, Field(ge=1, le=1)]


Terms = Annotated[
    BaselineTerms | ConsensusTerms | JudgedTerms | ModeratedTerms | PanelTerms,
    Field(discriminator="format"),
]


def options_of(terms: Terms) -> list[str]:
    """Return what may be voted for; nothing where a format, or its terms, has no options."""
    found: list[str] = cast(dict[str, Any], terms).get("options", [])
    return found


def votes_stand(terms: Terms) -> bool:
    """Whether a debater's vote holds until its next one; a draw is an answer for itself."""
    return bool(options_of(terms)) and "draws" not in terms
