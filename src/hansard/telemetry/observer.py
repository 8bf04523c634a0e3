"""Follows the events of debates, and makes spans of them that disturb no debate."""

from __future__ import annotations

import logging
from collections.abc import Callable

from opentelemetry import trace
from opentelemetry.trace import TracerProvider

from hansard.rules.events import Event
from hansard.telemetry.spans import DebateSpans
from hansard.version import __version__

_LOG = logging.getLogger("hansard.telemetry")


class SpanObserver:
    """Follows the events of debates, any number at once, and makes spans of them.

    Pass it as `observe`, or call it with the events of a store. `provider` is a
    tracer provider of the SDK; without one the global provider is used. The span
    of a debate is a child of whatever span is current when the debate is opened.
    """

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._tracer = trace.get_tracer("hansard", __version__, provider)
        self._debates: dict[str, DebateSpans] = {}
        self._told = False

    def __call__(self, event: Event) -> None:
        """Make, change or end the spans that an event is about; never raises."""
        self._safely(lambda: self._follow(event))

    def fold(self, event: Event) -> None:
        """Take in an event that an earlier process recorded: what it says, without a span."""
        self._of(event).learn(event)

    def close(self, debate: str | None = None) -> None:
        """End what is open of one debate or of all, because no more events will come.

        Of a debate that was cancelled this happens by itself, once the asyncio task that
        runs it is over.
        """
        for name in [debate] if debate else list(self._debates):
            found = self._debates.pop(name, None)
            if found:
                found.forget()
                self._safely(found.interrupt)

    def _of(self, event: Event) -> DebateSpans:
        if event["debate"] not in self._debates:
            self._debates[event["debate"]] = DebateSpans(self._tracer)
        return self._debates[event["debate"]]

    def _follow(self, event: Event) -> None:
        debate = event["debate"]
        found = self._of(event)
        found.learn(event)
        if event["type"] in ("debate.opened", "debate.resumed"):
            found.watch(lambda _: self.close(debate))
        try:
            found.follow(event)
        finally:
            if event["type"] == "debate.closed":
                self.close(debate)

    def _safely(self, work: Callable[[], None]) -> None:
        """Do it; say once, by the error's class alone, that telemetry is not whole."""
        try:
            work()
        except Exception as error:  # noqa: BLE001 - a tracer's failure is not the debate's
            if not self._told:
                self._told = True
                _LOG.warning("telemetry is not whole: %s in the tracer", type(error).__name__)
