"""What the projection keeps of a debate. It stands apart, so that to name it opens no database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

BadState = Literal["altered", "unreadable"]  # of a record of which nothing else is known
BAD = get_args(BadState)
CHARGED = "charged"  # of the figures: what it counts under a budget, in micro-US-dollars
SORTS = ("opened", "cost", "calls", "tokens", "elapsed")  # by which debates are sorted


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What is kept of one debate; of a record that does not hold, its id and its state alone.

    `question` is the SHA-256 of its question, `deadline` the time from which a review that waits
    is overdue; `spoken` says whether anybody said anything after the close, so that its review
    hangs on the reader's keys, and `look` whether somebody must look however the review stands.
    `held` says whether a hold stands, `texts` whether any of its texts is left. `elapsed` is in
    milliseconds, `cost` in micro-US-dollars. `policy` is the hash of the policy that it was
    opened under. Of what its gate answered, if it had one, `advised` says whether a debate is
    advised, `confidence` is in millionths, `downside` and `threshold` in micro-US-dollars;
    `outcomes` are the labels that were noted, in order, with spaces between. `names` are pairs
    of `label`, `model`, `note` or `exception` and a name, `figures` what the debate counts
    towards metrics, and `CHARGED` where that is not its cost, `words` what can be searched. `head`
    is the hash of its last entry, `numbers` what it counts in a periodic report, by name, as JSON.
    """

    debate: str
    state: str
    opened_at: str | None = None
    closed_at: str | None = None
    format: str | None = None
    task_type: str | None = None
    decision: str | None = None
    question: str | None = None
    reviewed: str | None = None
    deadline: str | None = None
    spoken: bool = False
    look: bool = True
    retention: str | None = None
    held: bool = False
    texts: bool = True
    scripted: bool | None = None
    cost: int | None = None
    calls: int | None = None
    tokens: int | None = None
    elapsed: int | None = None
    head: str | None = None
    numbers: str | None = None
    policy: str | None = None
    advised: bool | None = None
    confidence: int | None = None
    downside: int | None = None
    threshold: int | None = None
    outcomes: str = ""
    names: Sequence[tuple[str, str]] = ()
    figures: Mapping[str, int] = field(default_factory=dict)
    words: str = ""
