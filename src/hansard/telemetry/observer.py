"""Follows the events of debates, and makes spans and metrics of them that disturb no debate."""

from __future__ import annotations

import logging
from collections.abc import Callable

from opentelemetry import metrics, trace
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import TracerProvider

from hansard.rules.events import Event
from hansard.telemetry.metrics import DebateMetrics, Instruments
from hansard.telemetry.spans import DebateSpans
from hansard.version import __version__

_LOG = logging.getLogger("hansard.telemetry")


class SpanObserver:
    """Follows the events of debates, any number at once, and makes spans and metrics of them.

    Pass it as `observe`, or call it with the events of a store. `provider` is a
    tracer provider of the SDK, `meter_provider` a meter provider; in place of one that
    is not given the global one is used. The span of a debate is a child of whatever
    span is current when the debate is opened. Each event that it is called with
    is counted: call it once with each.
    """

    def __init__(
        self, provider: TracerProvider | None = None, meter_provider: MeterProvider | None = None
    ) -> None:
        self._tracer = trace.get_tracer("hansard", __version__, provider)
        self._instruments = Instruments(metrics.get_meter("hansard", __version__, meter_provider))
        self._debates: dict[str, tuple[DebateSpans, DebateMetrics]] = {}
        self._told = False

    def __call__(self, event: Event) -> None:
        """Make, change or end the spans that an event is about, and count it; never raises."""
        self._safely("meter", lambda: self._count(event))
        self._safely("tracer", lambda: self._follow(event))

    def fold(self, event: Event) -> None:
        """Take in an event that an earlier process recorded: what it says, uncounted, no span."""
        for one in self._of(event):
            one.learn(event)

    def close(self, debate: str | None = None) -> None:
        """End what is open of one debate or of all, because no more events will come.

        Of a debate that was cancelled this happens by itself, once the asyncio task that
        runs it is over.
        """
        for name in [debate] if debate else list(self._debates):
            if name in self._debates:
                spans, _ = self._debates.pop(name)
                spans.forget()
                self._safely("tracer", spans.interrupt)

    def _of(self, event: Event) -> tuple[DebateSpans, DebateMetrics]:
        debate = event["debate"]
        if debate not in self._debates:
            self._debates[debate] = DebateSpans(self._tracer), DebateMetrics(self._instruments)
        return self._debates[debate]

    def _count(self, event: Event) -> None:
        _, counted = self._of(event)
        counted.learn(event)
        counted.follow(event)

    def _follow(self, event: Event) -> None:
        debate = event["debate"]
        found, _ = self._of(event)
        found.learn(event)
        if event["type"] in ("debate.opened", "debate.resumed"):
            found.watch(lambda _: self.close(debate))
        try:
            found.follow(event)
        finally:
            if event["type"] == "debate.closed":
                self.close(debate)

    def _safely(self, part: str, work: Callable[[], None]) -> None:
        """Do it; say once, by the error's class alone, that telemetry is not whole."""
        try:
            work()
        except Exception as error:  # noqa: BLE001 - a tracer's failure is not the debate's
            if not self._told:
                self._told = True
                _LOG.warning("telemetry is not whole: %s in the %s", type(error).__name__, part)
