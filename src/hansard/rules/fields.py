"""The forms of an event's fields: scalars, enums and the small objects within (FORMAT.md §3)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints, with_config
from typing_extensions import TypedDict  # pydantic reads only this one before Python 3.12

from hansard.record import canonical

_TIME = (
    r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    r"T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{6}Z$"
)
_UUID4 = r"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"

Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._:/@+=-]{1,256}$")]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._:/@+=-]{1,64}$")]
_VERIFIER_KEY = r"^[A-Za-z0-9._:/@=-]{1,128}\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}$"
KeyName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._:/@=-]{1,128}$")]
Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
_MEDIA = "[a-z0-9][a-z0-9.+-]{0,126}"
MediaType = Annotated[str, StringConstraints(pattern=rf"^{_MEDIA}/{_MEDIA}$")]
Time = Annotated[str, StringConstraints(pattern=_TIME)]
DebateId = Annotated[str, StringConstraints(pattern=_UUID4)]
Decimal = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,9}(\.[0-9]{1,9})?$")]
Url = Annotated[
    str,
    StringConstraints(pattern=r"^https?://[A-Za-z0-9._:-]+(/[A-Za-z0-9._/+=-]*)?$", max_length=256),
]
Seed = Annotated[str, StringConstraints(pattern=r"^(0|[1-9][0-9]{0,76})$")]
Count = Annotated[int, Field(ge=0, le=canonical.MAX_INT)]
Hundred = Annotated[int, Field(ge=1, le=100)]
Thousand = Annotated[int, Field(ge=1, le=1000)]
Documents = Annotated[int, Field(ge=0, le=1000)]
One = Annotated[int, Field(ge=1, le=1)]  # Literal[1] would let 1.0 and true pass for it
Positive = Annotated[int, Field(ge=1, le=canonical.MAX_INT)]

Rating = Annotated[int, Field(ge=1, le=10)]
Ppm = Annotated[int, Field(ge=0, le=1_000_000)]
ScorePpm = Annotated[int, Field(ge=0, le=100_000_000)]  # of a draft, against 99 others at most

Finish = Literal["stop", "length", "refusal", "content_filter", "tool_calls", "other"]
CallError = Literal[
    "rate_limited",
    "timeout",
    "server_error",
    "client_error",
    "unreachable",
    "crashed",
    "no_reply",
    "abandoned",
    "raised",
]
# No end of the model's: these calls use no try, and are charged what was reserved for them.
UNTRIED: frozenset[CallError] = frozenset({"abandoned", "raised"})
Rejection = Literal[
    "unreadable",
    "schema",
    "unknown_option",
    "output_schema",
    "weak_critique",
    "uncited_critique",
    "cut_off",
    "refused",
    "filtered",
    "not_finished",
]
# For these a critique is sent back, once: it uses no try, and counts where no better one comes.
SENT_BACK: frozenset[Rejection] = frozenset({"weak_critique", "uncited_critique"})
Silence = Literal["no_reply", "invalid_reply", "seat_out", "ceiling", "operator"]
CitationFinding = Literal["verified", "no_such_document", "not_yet_visible", "not_found"]
Layout = Literal["shared-prefix", "role-first"]
Structured = Literal["native", "tool", "text"]
Confidence = Literal["HIGH", "MODERATE", "LOW"]
Ceiling = Literal["calls", "tokens", "cost", "seconds", "entries"]
Cut = Ceiling | Literal["operator"]  # what cuts a debate short: a ceiling, or a person
Outcome = Literal["complete", "truncated", "failed"]
Review = Literal["approved", "conditions", "rejected", "remanded"]
OriginKind = Literal["remand", "repeat", "branch", "follow_up", "evaluation"]
GateRule = Literal["downside", "any", "all"]
closed = with_config(ConfigDict(extra="forbid", strict=True))


@closed
class Blob(TypedDict):
    """A text outside the chain, by the name of its blob."""

    sha256: Hash


@closed
class Instructions(TypedDict):
    """What a seat is told from a round on, until its next row; null: nothing more."""

    round: Count
    text: Blob | None


@closed
class Person(TypedDict):
    """A person by name, and the name of their key (FORMAT.md §14) where one was stated."""

    name: Blob
    key: KeyName | None


@closed
class Signature(TypedDict):
    """Who signed an entry: a verifier key (FORMAT.md §14), and the base64 of its signature."""

    key: Annotated[str, StringConstraints(pattern=_VERIFIER_KEY)]
    value: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9+/]{86}==$")]


@closed
class Source(TypedDict):
    """The file that a document's text was taken from.

    The text of `file` is the SHA-256 of the file in hex; `pages` is null where it has none.
    """

    media_type: MediaType
    file: Blob
    extractor: Id
    pages: Positive | None


@closed
class Estimated(TypedDict):
    """What was expected before the first call; the costs are null where a price is unknown."""

    calls_least: Positive
    calls_most: Positive
    cost_least_micro_usd: Count | None
    cost_expected_micro_usd: Count | None
    cost_most_micro_usd: Count | None


@closed
class Origin(TypedDict):
    """The debate that this one goes back to, by its head; `seq` is the entry that a branch left."""

    kind: OriginKind
    debate: DebateId | None
    head: Hash | None
    seq: Positive | None


@closed
class GateCondition(TypedDict):
    """One reason why a question may be worth a debate, and whether it holds."""

    name: Literal["downside", "uncertain", "high_risk"]
    met: bool


@closed
class Gate(TypedDict):
    """Whether a debate was advised (`rules/gate.py`); `answer` is that of a single model."""

    advised: bool
    rule: GateRule
    contested: bool
    conditions: list[GateCondition]
    confidence_ppm: Ppm | None
    downside_micro_usd: Count | None
    threshold_micro_usd: Count | None
    factor: Positive
    task_type: Name | None
    answer: Blob | None


@closed
class Limits(TypedDict):
    """What may be used at the most; null is no ceiling."""

    calls: Positive | None
    tokens: Positive | None
    cost_micro_usd: Positive | None
    elapsed_ms: Positive | None


@closed
class TemplateHash(TypedDict):
    """A prompt template or a reply schema: its role and the plain SHA-256 of its bytes."""

    role: Name
    sha256: Hash


@closed
class ToolHash(TypedDict):
    """A tool that models may use, and the plain SHA-256 of its definition."""

    tool: Name
    sha256: Hash


@closed
class Price(TypedDict):
    """What a model costs, in micro-US-dollars per million tokens, and who says so."""

    model: Id
    source: Name
    input_micro_usd: Count
    cached_micro_usd: Count
    cache_write_micro_usd: Count
    output_micro_usd: Count


@closed
class Parameters(TypedDict):
    """A seat's settings; decimals as the user wrote them, null where none was given."""

    temperature: Decimal | None
    top_p: Decimal | None
    seed: Count | None
    max_tokens: Positive | None
    reasoning_effort: Name | None
    structured: Structured | None
    base_url: Url | None


@closed
class Stance(TypedDict):
    """The position that a seat argues: its label, and its words."""

    label: Name
    text: Blob


@closed
class Citation(TypedDict):
    """One citation of an argument, both numbered from 1 in their order, and whether it holds."""

    argument: Positive
    citation: Positive
    finding: CitationFinding


@closed
class Case(TypedDict):
    """What code read from an argued turn of the `moderated` format.

    `struck` are the arguments that rest on a citation that does not hold,
    `unanswered` the objections that a rebuttal says nothing about.
    """

    arguments: Count
    rating: Rating | None
    unanswered: list[Positive]
    citations: list[Citation]
    struck: list[Positive]


@closed
class Score(TypedDict):
    """The quality that a moderator gave to the arguments of one side."""

    side: Name
    score: Rating


@closed
class OptionVotes(TypedDict):
    """How many registered debaters hold an option now."""

    option: Name
    votes: Count


@closed
class Pair(TypedDict):
    """How alike two answers are, and whether their counts of negation words differ."""

    one: Name
    other: Name
    ppm: Ppm
    negation_differs: bool
