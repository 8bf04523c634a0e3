"""The parts that results are made of: closed, frozen, and described field by field."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hansard.closed import Closed
from hansard.report.notes import Note
from hansard.report.words import stopper, taken_from
from hansard.rules.fields import (
    Ceiling,
    Cut,
    Parameters,
    Review,
    Silence,
)
from hansard.rules.review import ReviewState, Standings
from hansard.rules.terms import Phase, Role


class Spoken(Closed):
    """A turn of the schedule. Its words are null where they are gone or never came."""

    status: Literal["counted", "forfeited"]
    reason: Silence | None = Field(description="Why it was forfeited")
    seq: int = Field(description="The entry of the record that holds the turn")


class Usage(Closed):
    """What was used: tokens as far as models stated them, money where a price is known."""

    calls: int
    failed: int = Field(description="Of these brought no reply, abandoned ones aside")
    tokens_in: int = Field(description="Cached ones included")
    tokens_cached: int = Field(description="Of these, read from the provider's cache")
    tokens_cache_write: int = Field(description="Of these, written to the provider's cache")
    tokens_out: int
    cached_ppm: int | None = Field(
        description="The share of tokens_in that was read from the cache; null where no reply "
        "says what was"
    )
    cost_micro_usd: int | None = Field(
        description="Millionths of a US dollar; null: no price known"
    )
    saved_micro_usd: int | None = Field(
        description="By the cache; below 0 where writing to it cost more; null: no price known"
    )


class Stance(Closed):
    """A position that is argued: its label, and its words where they are not gone."""

    label: str
    text: str | None

    @property
    def spoken(self) -> str:
        """Its words, or its label where they are gone."""
        return self.text or self.label


class Named(Closed):
    """A person, as the opening names them."""

    name: str | None = Field(description="Null where the text is gone")
    key: str | None = Field(description="The name of the key that they sign with")


class Asked(Closed):
    """One call: which model was asked and which one served it, and what its prompt was made of.

    Hashes are SHA-256 in hex; `prompt` is the digest of the recipe (FORMAT.md §4).
    """

    seq: int = Field(description="The entry that holds the call")
    call: str
    seat: str
    model: str
    served: str | None = Field(description="As the provider named it; null where it did not")
    fingerprint: str | None
    template: str
    schema_hash: str = Field(description="Of the reply schema")
    prompt: str
    reply: str | None = Field(description="The text's blob; null where no reply came")


class TextUse(Closed):
    """A text of the opening that prompts are made of, by the name of its blob."""

    what: str
    sha256: str


class Participant(Usage):
    """One seat at the table: who fills it, its vote after each of its turns, what it used."""

    id: str
    role: Role
    model: str
    parameters: Parameters
    agent_type: str
    persona: str | None
    stance: Stance | None
    votes: tuple[str | None, ...] = Field(
        description="After each of its turns; null: it abstained; none where nobody votes"
    )


class SourceFile(Closed):
    """The file that a document's text was taken from."""

    media_type: str
    sha256: str | None = Field(description="The file's SHA-256; null where that is gone")
    extractor: str = Field(description="The program that took the text from it, and its version")
    pages: int | None = Field(description="Null where the file has no pages of its own")
    original: str | None = Field(
        description="The name of the blob that holds the file in base64; null: it was not kept"
    )

    def __str__(self) -> str:
        """Return what the file was, and how its text was taken, in one line."""
        kept = self.original is not None
        return taken_from(self.media_type, self.pages, self.extractor, kept=kept)


class Document(Closed):
    """One piece of evidence."""

    id: str
    from_round: int = Field(description="The first round in which it was seen")
    characters: int | None = Field(description="Null where the text is gone")
    sha256: str = Field(description="The name of its blob")
    source: SourceFile | None = Field(description="Null of what was a text from the first")


class Calls(Closed):
    """How the calls ended; what is asked and not yet ended is in no other number."""

    asked: int
    answered: int
    failed: int = Field(description="Abandoned ones aside")
    rejected: int = Field(description="Answered, but the reply does not count")
    abandoned: int = Field(
        description="Ended by the death of a process, or an exception of its own code; retried"
    )
    compared: int = Field(
        description="Of these it is known whether they were sent exactly as rendered"
    )


class Limits(Closed):
    """The most that may be used; null is no ceiling."""

    calls: int | None
    tokens: int | None
    cost_micro_usd: int | None
    elapsed_ms: int | None


class Charged(Closed):
    """What counts as used against the ceilings.

    A call that does not say what it used counts as what was reserved for it.
    """

    tokens: int = Field(description="In and out together")
    cost_micro_usd: int | None = Field(description="Null: no price known")


class CeilingUse(Closed):
    """A ceiling that was set, in calls, tokens, micro-US-dollars or milliseconds."""

    name: Ceiling
    limit: int
    spent: int = Field(description="What counts against it, with what open calls have reserved")


class Truncation(Closed):
    """Which ceiling cut the debate short, or who: `operator` is a person.

    In calls, tokens, micro-US-dollars, milliseconds or entries, as the ceiling is; null
    for a person.
    """

    step: str = Field(description="The step that was not taken")
    ceiling: Cut
    limit: int | None
    spent: int | None = Field(
        description="Where a call does not say what it used, what it reserved"
    )
    reserved: int | None
    by: str | None = Field(description="Who stopped the debate, where that was said")
    reason: str | None = Field(description="Why it was stopped, where that was said")

    @property
    def stopper(self) -> str | None:
        """Who stopped the debate and why, in words; None where a ceiling did."""
        return stopper(self.by, self.reason) if self.ceiling == "operator" else None


class ToolUse(Closed):
    """A tool that a model asked for, and what it gave."""

    call: str
    tool: str | None = Field(description="As the model named it; null where that is gone")
    arguments: str | None
    result: str | None = Field(description="Null where it is gone or has not come back")
    ok: bool | None = Field(description="Null where it has not come back")
    seq: int


class Drift(Closed):
    """A change between two turns of one speaker: of its vote, its answer or its thesis."""

    what: Literal["vote", "answer", "thesis"]
    speaker: str
    round_index: int = Field(description="The round of the later turn")
    phase: Phase
    before: str | None = Field(description="Vote or thesis; null: an abstention, or an answer")
    after: str | None
    towards: tuple[str, ...] = Field(
        description="Who held that vote already, or whose earlier answer it has come closest to"
    )
    before_ppm: int | None = Field(description="How like to that answer it was")
    after_ppm: int | None = Field(description="How like to it it is now")


class Share(Closed):
    """How much of what was argued one seat said."""

    seat: str
    characters: int | None = Field(description="Null where a reply of it is gone")
    share_ppm: int | None = Field(description="Of all seats that argue; null where one is unknown")


class GovernanceRow(Closed):
    """What a compliance officer asks of a debate, and what its record answers.

    It does not say that the rule holds: `verify` does, by the checks named.
    """

    code: str
    name: str
    rule: str
    found: str = Field(description="What the record shows; empty: only that there are notes")
    review: bool = Field(description="Whether somebody must look")
    checks: tuple[int, ...] = Field(description="The checks of `verify` that it rests on")
    notes: tuple[Note, ...] = Field(description="Those above information that belong to it")


class Condition(Closed):
    """What a review asks for before it counts as an approval."""

    text: str | None
    met: bool = Field(description="Whether somebody who may review noted it as met")


class SignedReview(Closed):
    """What a person found of the closed debate, signed."""

    seq: int
    at: str
    reviewer: str | None = Field(description="As the reviewer states it; the key says who signed")
    key: str = Field(description="The name of the key")
    outcome: Review
    comment: str | None
    conditions: tuple[Condition, ...]
    standing: Standings = Field(description="`trusted`, or why it does not count")
    counts: bool


class NotedOutcome(Closed):
    """What came of the decision later, as somebody noted it."""

    seq: int
    at: str
    label: str
    note: str | None
    key: str | None = Field(description="The name of the key that signed it; null: nobody did")


class LiftedHold(Closed):
    """The end of a hold: from then on texts could be erased."""

    seq: int
    at: str
    key: str | None = Field(description="The name of the key that signed it; null: nobody did")
    standing: Standings | None = Field(description="`trusted`, or why it does not count")


class ErasedText(Closed):
    """A text that was erased from the record after its close, and who says so."""

    seq: int = Field(description="The entry that says so")
    at: str
    entry: int = Field(description="The entry that the text belongs to")
    field: str = Field(description="Where that entry names it, as in stance.text")
    reason: str | None
    basis: str | None = Field(description="On what legal basis")
    asked_by: str | None = Field(description="Who asked for it")
    keys: tuple[str, ...] = Field(description="The names of the keys that signed it")
    standings: tuple[Standings, ...] = Field(description="How each of them stands")
    counts: bool = Field(description="Whether enough keys signed it that the reader trusts")


class Reviewed(Closed):
    """Whether people have approved the decision, as far as the reader's trust file can tell."""

    state: ReviewState
    wanted: int = Field(description="How many approvals are required; 0: none")
    exceptions: tuple[str, ...] = Field(description="Why a review is asked for by default")
    days: int | None = Field(description="How many days there are for it from the close")
    reviews: tuple[SignedReview, ...]
    outcomes: tuple[NotedOutcome, ...]
    held: bool = Field(description="Whether a hold stands: nothing may be deleted")
    lifted: tuple[LiftedHold, ...] = Field(description="The ends of holds, in order")
    erased: tuple[ErasedText, ...] = Field(description="Which texts were erased, in order")


class Theatre(Closed):
    """Seats of one role with one prompt, and one model or only one family of models."""

    seats: tuple[str, ...]
    model: str | None
    family: str | None
    persona: bool = Field(description="Whether they share a persona; else none has any")
