"""What every result can do by itself: a class above `Result` that knows its format's `Display`."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, ClassVar

from hansard.report import outcome
from hansard.report.acting import acting, is_left
from hansard.report.display import Display
from hansard.report.markdown import markdown
from hansard.report.parts import Spoken
from hansard.report.result import Result


class Shown(Result):
    """A result that shows itself; each format sets `display`, and is one of these."""

    display: ClassVar[Display[Any]]

    @property
    def sentence(self) -> str:
        """What became of the debate, in one sentence that code makes: `revise: 2 of 3 votes`.

        A debate that is open, failed or was cut short is said to be that. What models wrote
        stands in it in quotation marks, cut, with control and bidi characters spelled out.
        """
        return outcome.lead(self, self.display).sentence

    @property
    def acting(self) -> str:
        """Whether you may act on it, and who must do what first: `Do not act on this yet: …`.

        It says why in one sentence. `released` says the same as a yes or no, for a program.
        """
        return acting(self).sentence

    @property
    def final(self) -> Any:
        """What a caller wants as the answer; None where nothing was decided.

        It is the output where one was asked for and written: JSON, or an instance of
        the class that was given as `output_schema`. Else it is the answer in words: the
        judge's verdict (`judged`), the moderator's synthesis (`moderated`), the answer or
        draft that won (`panel`). Else it is the decision (`consensus`, and where the words
        are gone). A debate that is open, failed, was cut short before its decision, or left
        the decision to a person has none.
        """
        if self.decision is None or is_left(self):
            return None
        if self.output is not None:
            return self.output
        words = self.display.words(self)
        return self.decision if words is None else words

    @property
    def cost(self) -> Decimal | None:
        """What the calls cost in US dollars; None where nobody knows, were it of one reply.

        What is known of it stands in `totals`.
        """
        micro = outcome.cost_of(self)
        return None if micro is None else Decimal(micro).scaleb(-6)

    @property
    def turns(self) -> Sequence[Spoken]:
        """The turns of the debate in order, those that were not heard among them.

        Each is typed as its format has it. A judge's verdict is no turn of the debate:
        see `verdict` or `judgment`.
        """
        return self.display.turns(self)

    def to_markdown(self) -> str:
        """Return the whole report as Markdown: what `hansard report --as markdown` prints."""
        return markdown(self, self.display)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON has it: what `hansard report --as json` prints."""
        return self.model_dump(mode="json")

    def __str__(self) -> str:
        """Return the outcome and what to look at, in a few lines of at most 80 columns."""
        return outcome.as_text(self, self.display)

    def __repr__(self) -> str:
        """Return the outcome in one line."""
        return f"<{type(self).__name__} {self.debate[:8]}: {outcome.in_short(self)}>"

    def _repr_html_(self) -> str:
        """Return the outcome for a notebook; hostile texts are inert in it."""
        return outcome.as_html(self, self.display)
