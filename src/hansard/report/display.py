"""The questions that whoever shows a debate asks of its format: a `Display` for each format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from hansard.report.fold import Folded
from hansard.report.governance import Watch
from hansard.report.lead import Lead
from hansard.report.parts import Spoken
from hansard.report.result import Result
from hansard.report.words import HOW
from hansard.rules.terms import DecisionRule

R = TypeVar("R", bound=Result)

LENGTH = 400  # characters of what somebody wrote, in one line of a summary


class Row(NamedTuple):
    """One line of a summary: what it says, and of what."""

    name: str
    text: str


class Cited(NamedTuple):
    """Who cited which document, and of each time whether the quote stands in it."""

    who: str
    document: str
    held: tuple[bool, ...]


def by_rule(result: Result) -> str:
    """Say how a decision came about, in the words of its rule."""
    return HOW[result.decision_rule] if result.decision_rule else "nothing was decided"


def nothing(_: Result) -> Iterator[Any]:
    """Yield nothing: the format has none of it."""
    yield from ()


def wordless(_: Result) -> str | None:
    """Return no words: the decision says all."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Display(Generic[R]):
    """How a format is shown; `R` is its result.

    The result, which is the JSON report:

    - `result`: its class, with `to_report()` and `source()`, and where there are options
      with `choices` and `votes_held`;
    - `of(folded)`: the result of a folded record;
    - `source`: the shape that `result.source()` has, which is that of the format's source;
    - `published`: further shapes that the source names: by name, each with a title.

    What must be known of it:

    - `watch`: what the format adds to the notes and the governance rows.

    What a reader sees first, and a summary of a few lines:

    - `lead(result, rule)`: what was decided by this rule and how, as a sentence in parts;
    - `standing(result)`: where a debate stood that was cut short, in a few words;
    - `how(result)`: how the decision came about;
    - `rows(result)`: what was found beside the decision, or the best standing without one.

    What two debates are compared by, beside what every result has:

    - `by_round(result)`: what was voted, chosen or scored, a row for each round;
    - `points(result)`: what the debate itself left open, in its words.

    What a report says of the evidence:

    - `cited(result)`: who cited which document, where arguments cite.

    What a caller asks of a result:

    - `words(result)`: the answer of a debate that has decided, in words; None where there are none;
    - `turns(result)`: its turns in order.

    The format's own sections of the Markdown report, block by block:

    - `decision(result)`, `said(result)`: what was decided, and what was said;
    - `use(result)`: when to use the format, when not, and its cost in calls.
    """

    result: type[R]
    of: Callable[[Folded], R]
    source: type
    published: Mapping[str, tuple[str, type]] = field(default_factory=dict)
    lead: Callable[[R, DecisionRule], Lead]
    standing: Callable[[R], str]
    how: Callable[[R], str] = by_rule
    rows: Callable[[R], Iterator[Row]]
    by_round: Callable[[R], Iterator[Row]] = nothing
    points: Callable[[R], Iterator[str]] = nothing
    cited: Callable[[R], Iterator[Cited]] = nothing
    words: Callable[[R], str | None] = wordless
    turns: Callable[[R], Sequence[Spoken]]
    decision: Callable[[R], Iterator[str]]
    said: Callable[[R], Iterator[str]]
    use: Callable[[R], str]
    watch: Watch
