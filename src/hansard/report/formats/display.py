"""What is known of a format for showing it: one `Display` for each, in a module of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from hansard.report.fold import Folded
from hansard.report.result import Result

R = TypeVar("R", bound=Result)


@dataclass(frozen=True, slots=True)
class Display(Generic[R]):
    """How a format is shown. Its name is that of the result's `format`.

    - `result`: the class of its result, which is the JSON report;
    - `source`: the shape in which `result.source()` gives it, as its source does;
    - `of(folded)`: the result of a folded record;
    - `decision(result)`, `said(result)`: its own sections of the Markdown report, as
      blocks: what was decided, and what was said;
    - `use(result)`: when to use the format, when not, and its cost in calls;
    - `published`: further shapes that its source names, by name, each with a title.
    """

    result: type[R]
    source: type
    of: Callable[[Folded], R]
    decision: Callable[[R], Iterator[str]]
    said: Callable[[R], Iterator[str]]
    use: Callable[[R], str]
    published: Mapping[str, tuple[str, type]] = field(default_factory=dict)
