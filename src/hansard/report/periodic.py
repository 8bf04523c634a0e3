"""The report on all debates of a time: how many, what needs a look, what they cost, metrics.

It holds numbers, ids and hashes, and no text that anybody wrote. What is signed of it is the
numbers and the head of each debate that they count (FORMAT.md §21), so that whoever holds the
exports of these debates can count again; models and metrics are not among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from hansard import vocabulary
from hansard.closed import Closed
from hansard.record import note, periodic
from hansard.record.note import Signer
from hansard.report.metrics import Metric, Metrics
from hansard.report.signs import inline, table
from hansard.report.words import dollars
from hansard.rules.review import ReviewState
from hansard.vocabulary import many

OVERRIDDEN: tuple[ReviewState, ...] = ("rejected", "remanded", "disagreement")
UNREVIEWED: tuple[ReviewState, ...] = ("waiting", "overdue", "partly")
_MOST = 20  # debates that a section of the Markdown names
_PREFIXES = {"rule": "Decided by", "format": "Format", "review": "Review"}


class CountedDebate(Closed):
    """One record that is counted: a debate, or an answer of the gate alone."""

    debate: str
    head: str = Field(description="The hash of its last entry")
    opened_at: str
    state: Literal["open", "closed", "truncated", "failed", "gate"]
    decision: str | None
    exceptions: tuple[str, ...] = Field(description="Why a review is asked for by default")
    review: ReviewState | None = Field(
        description="By the keys that the reader trusts; null while it is open, and of a gate"
    )
    calls: int
    cost_micro_usd: int


class ModelUse(Closed):
    """A model that was asked or served in closed debates of the time."""

    model: str
    debates: int
    low_confidence: int = Field(description="Of these: the moderator's own confidence was LOW")
    escalated: int = Field(description="Of these: the decision was left to a person")


class PeriodicReport(Closed):
    """What the debates that were opened in a time come to, as it stood at one moment."""

    report: Literal["hansard-period/v1"] = Field(
        default="hansard-period/v1", description="The form of this document"
    )
    since: str = Field(description="The debates were opened from then on, UTC")
    until: str = Field(description="And before then")
    at: str = Field(description="When they were counted")
    numbers: dict[str, int] = Field(description="By name (FORMAT.md §21); one of 0 is left out")
    debates: tuple[CountedDebate, ...] = Field(description="In the order they were opened")
    not_counted: tuple[str, ...] = Field(
        description="Debates of the store, of whatever time, whose records do not hold"
    )
    models: tuple[ModelUse, ...] = Field(
        description="By name, asked or served: the 1,000 of most debates"
    )
    metrics: Metrics = Field(description="Beside as long a time before")

    def text(self) -> bytes:
        """Return the numbers and heads as the text that is signed."""
        heads = {row.debate: row.head for row in self.debates}
        found = periodic.Counted(self.since, self.until, self.at, self.numbers, heads)
        return periodic.write(found)

    def signed(self, signer: Signer) -> bytes:
        """Return that text as a note signed by `signer`, the export key.

        Whoever holds the exports counts again: `hansard verify FOLDER --report FILE`.
        """
        return note.sign(self.text(), signer)

    def to_markdown(self) -> str:
        """Return the report as Markdown."""
        parts = (
            _head(self),
            _numbers(self),
            _look(self),
            _policies(self),
            _cost(self),
            _models(self),
            _metrics(self.metrics),
            _about(),
        )
        return "\n\n".join(block for part in parts for block in part) + "\n"


def _head(found: PeriodicReport) -> Iterator[str]:
    yield f"# Debates opened from {_day(found.since)} to before {_day(found.until)}"
    yield f"As they stood at {found.at}. All times are UTC."
    if found.at < found.until:
        yield "This time is not over yet."
    if not found.debates:
        yield "**No debate was opened in this time.**"


def _day(at: str) -> str:
    return at.removesuffix("T00:00:00.000000Z")


def _numbers(found: PeriodicReport) -> Iterator[str]:
    """How many there were, and how they ended."""
    yield "## Numbers"
    said = found.numbers.get
    rows: list[tuple[str, int]] = [
        ("Debates", said("debates", 0)),
        ("Complete", said("closed.complete", 0)),
        ("Cut short", said("closed.truncated", 0)),
        ("Failed", said("closed.failed", 0)),
        ("Still open", said("open", 0)),
        ("Replies from a script or a record", said("scripted", 0)),
        ("Gate asked, and no debate held", said("gates", 0)),
        ("On hold", said("held", 0)),
        ("Texts erased", said("redactions", 0)),
    ]
    for prefix, label in _PREFIXES.items():
        rows += [(f"{label} `{name}`", number) for name, number in _under(found, prefix)]
    yield table(["", "number"], ((label, f"{number:,}") for label, number in rows))


def _look(found: PeriodicReport) -> Iterator[str]:
    """What somebody must look at."""
    yield "## What needs a look"
    words = vocabulary.words("exceptions")
    rows = [
        (label, f"{found.numbers[f'exception.{name}']:,}")
        for name, label in words.items()
        if f"exception.{name}" in found.numbers
    ]
    yield table(["why a review is asked for", "debates"], rows) if rows else "No exceptions."
    closed = [row for row in found.debates if row.review]
    yield from _named(
        "Overridden: people rejected the decision, sent it back, or disagree",
        [row for row in closed if row.review in OVERRIDDEN],
    )
    yield from _named(
        "Not reviewed, or not by as many as must",
        [row for row in closed if row.review in UNREVIEWED],
    )
    yield from _named("Still open", [row for row in found.debates if row.state == "open"])
    if found.not_counted:
        names = ", ".join(f"`{name}`" for name in found.not_counted[:_MOST])
        yield (
            f"**Not counted**: {many(len(found.not_counted), 'record')} of the store, of whatever "
            f"time, that do not hold: {names}{_rest(len(found.not_counted))}."
        )


def _named(title: str, rows: list[CountedDebate]) -> Iterator[str]:
    yield f"### {title}"
    if not rows:
        yield "None."
        return
    yield table(
        ["debate", "opened", "decision", "review", "because"],
        (
            [
                f"`{row.debate}`",
                row.opened_at[:16].replace("T", " "),
                f"`{row.decision}`" if row.decision else "none",
                row.review or "none: it is open",
                ", ".join(row.exceptions) or "the policy asks for one" if row.review else "",
            ]
            for row in rows[:_MOST]
        ),
    )
    if len(rows) > _MOST:
        yield f"The first {_MOST} of {len(rows):,}; `--as csv` lists all."


def _rest(number: int) -> str:
    return f" and {number - _MOST:,} more" if number > _MOST else ""


def _policies(found: PeriodicReport) -> Iterator[str]:
    """Under which policies debates were opened."""
    yield "## Policies in force"
    rows = [
        (f"`{name}`" if name != "none" else "none: prompts were not approved", f"{number:,}")
        for name, number in _under(found, "policy")
    ]
    yield table(["policy", "debates"], rows) if rows else "None: no debate was opened."


def _under(found: PeriodicReport, prefix: str) -> Iterator[tuple[str, int]]:
    """Yield the numbers whose names begin with a word, by the rest of their names, in order."""
    for name, number in sorted(found.numbers.items()):
        first, _, rest = name.partition(".")
        if first == prefix:
            yield rest, number


def _cost(found: PeriodicReport) -> Iterator[str]:
    """What was used."""
    yield "## Cost"
    said = found.numbers.get
    rows = {
        "Calls": said("calls", 0),
        "Failed calls": said("calls.failed", 0),
        "Replies that did not count": said("turns.rejected", 0),
        "Turns not heard": said("turns.forfeited", 0),
        "Tokens in": said("tokens.in", 0),
        "Tokens out": said("tokens.out", 0),
        "Replies without a known cost": said("calls.unpriced", 0),
    }
    told = [(label, f"{number:,}") for label, number in rows.items()]
    yield table(["", "number"], [*told, ("US dollars", dollars(said("cost_micro_usd", 0)))])


def _models(found: PeriodicReport) -> Iterator[str]:
    """Which models took part in closed debates, and how these ended."""
    yield "## Models"
    if not found.models:
        yield "None: no debate was closed."
        return
    yield table(
        ["model", "closed debates", "moderator's confidence LOW", "left to a person"],
        (
            [inline(row.model), f"{row.debates:,}", f"{row.low_confidence:,}", f"{row.escalated:,}"]
            for row in sorted(found.models, key=lambda row: (-row.low_confidence, row.model))
        ),
    )


def _metrics(found: Metrics) -> Iterator[str]:
    """What the debates say together, beside the time before."""
    yield "## Metrics"
    left = f" Left out: {many(found.scripted, 'scripted debate')}." if found.scripted else ""
    yield f"Over {many(found.debates, 'closed debate')}.{left}"
    alerts = [row for row in found.rows if row.alert]
    yield f"**{many(len(alerts), 'alert')}.**" if alerts else "No alert."
    rows = [row for row in found.rows if row.value is not None]
    if rows:
        yield table(
            ["metric", "of type", "debates", "value", "compared with", "alert"], map(_metric, rows)
        )


def _metric(row: Metric) -> list[str]:
    beside = "nothing" if row.baseline is None else f"{row.against} {row.spelled(row.baseline)}"
    task = inline(row.task_type) if row.task_type else "all"
    alert = "**ALERT**" if row.alert else ""
    return [row.what, task, f"{row.n:,}", row.spelled(row.value or 0), beside, alert]


def _about() -> Iterator[str]:
    """How to count again."""
    yield "## How to check this"
    yield (
        "The numbers follow from the records; models and metrics are not in what is signed. "
        "Whoever holds the exports of these debates and the signed report counts again:"
    )
    yield (
        "```sh\nhansard export --since DAY --until DAY -o FOLDER\n"
        "hansard verify FOLDER --report FILE\n```"
    )
    yield (
        "Not shown: debates that were held in another store. Whether one was dropped from this "
        "store is for its register to show: `hansard register verify`."
    )
