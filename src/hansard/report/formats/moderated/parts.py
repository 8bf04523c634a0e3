"""The parts of a `moderated` result: case, attack, answer and moderation, round by round."""

from __future__ import annotations

from pydantic import Field

from hansard.closed import Closed
from hansard.report.parts import Spoken
from hansard.rules.fields import CitationFinding, Confidence


class Cited(Closed):
    """A quote, and whether it stands in the document; null where the words are gone.

    `page` is the one on which it begins; null where the document has none, or has not the quote.
    """

    document: str | None
    quote: str | None
    finding: CitationFinding
    page: int | None


class NumberedArgument(Closed):
    """A numbered argument. One that is struck rests on a citation that does not hold."""

    number: int
    text: str | None
    citations: tuple[Cited, ...]
    struck: bool
    uncited: bool


class Answer(NumberedArgument):
    """A numbered answer to an objection."""

    objection: int | None = Field(description="Which objection; null where that is gone")


class Concession(Closed):
    """An objection that the rebuttal grants."""

    objection: int | None
    reason: str | None


class Framing(Spoken):
    """What the question was turned into."""

    speaker: str
    thesis: str | None
    scope: str | None
    criteria: tuple[str, ...]
    key_evidence: tuple[str, ...]


class Proposition(Spoken):
    """The case for a position."""

    speaker: str
    thesis: str | None
    supporting_arguments: tuple[NumberedArgument, ...]
    anticipated_objections: tuple[str, ...]


class Critique(Spoken):
    """The case against it. Its strength is what the critic says of itself."""

    speaker: str
    thesis: str | None
    counter_arguments: tuple[NumberedArgument, ...]
    challenge_strength: int | None
    first_rating: int | None = Field(
        description="Of the critique that was sent back; null where none was"
    )
    weak: bool = Field(description="Whether it counts although it is below the minimum")
    prompt_review: bool = Field(description="Whether it, or the one sent back, is below 5")


class Rebuttal(Spoken):
    """The answer to the critique."""

    speaker: str
    thesis: str | None
    rebuttals: tuple[Answer, ...]
    concessions: tuple[Concession, ...]
    unanswered: tuple[int, ...] = Field(description="Objections that it says nothing about")


class Exchange(Closed):
    """Case, attack and answer on one position; null is what was not reached."""

    position: str | None = Field(description="Its label; null: the one proposition")
    proposition: Proposition
    critique: Critique | None
    rebuttal: Rebuttal | None


class Moderation(Spoken):
    """What the moderator found. Counts stand where the words are gone."""

    speaker: str
    round_index: int
    scores: dict[str, int] = Field(description="The quality of each side's arguments, 1 to 10")
    resolved_points: tuple[str, ...]
    unresolved_points: tuple[str, ...]
    unresolved: int
    recommend_another_round: bool | None
    synthesis: str | None
    confidence: Confidence | None
    explicit_uncertainties: tuple[str, ...]
    upholds: bool | None = Field(description="Whether the proposition is upheld, where it is one")
    ranking: tuple[str, ...] = Field(description="The labels of several positions, best first")


class Round(Closed):
    """One round, up to where it came."""

    round_index: int
    new_documents: tuple[str, ...] = Field(description="Evidence first seen in this round")
    exchanges: tuple[Exchange, ...]
    moderation: Moderation | None
    token_cost: dict[str, int] = Field(description="Tokens in and out by role")


class Neutrality(Closed):
    """The last moderation, asked for once more with the sides in the other order."""

    moderation: Moderation
    changed: bool | None = Field(description="Whether the outcome did; null: not heard")
