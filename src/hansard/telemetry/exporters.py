"""An observer whose spans and metrics go where the environment says."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import entry_points
from typing import Any, Literal, TypeVar

from hansard.errors import UsageError
from hansard.telemetry import sending
from hansard.telemetry.observer import SpanObserver

_HEADERS = "opentelemetry.util.re"  # what reads them
_GO_ON = ("opentelemetry.sdk.resources", "opentelemetry.sdk.trace.export")
_LOG = logging.getLogger("hansard.telemetry")
Signal = Literal["traces", "metrics"]
Sender = TypeVar("Sender")


@contextmanager
def exporting() -> Iterator[SpanObserver]:
    """Give an observer whose spans and metrics go where the OTEL_* variables say.

    For programs that configure no SDK of their own, such as the command line.
    What is left to be sent is sent when the block ends. OTLP over HTTP unless
    OTEL_TRACES_EXPORTER, OTEL_METRICS_EXPORTER or OTEL_EXPORTER_OTLP_PROTOCOL name
    another exporter. Raises UsageError `telemetry.missing` where SDK or exporter
    are not installed, `telemetry.exporter` where they cannot be made as it says.
    """
    try:
        from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415 - an extra of an extra
        from opentelemetry.sdk.metrics.export import (  # noqa: PLC0415
            MetricReader,
            PeriodicExportingMetricReader,
        )
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError:
        raise _not_installed("telemetry", "opentelemetry-sdk") from None
    except Exception as error:  # noqa: BLE001 - it reads the environment already here
        raise _unmade("the SDK", error) from None

    def reader(made: Any) -> MetricReader:  # what is read by others, as Prometheus, is one itself
        return made if isinstance(made, MetricReader) else PeriodicExportingMetricReader(made)

    with ExitStack() as stack:
        stack.enter_context(sending.wordless())
        with _told("a tracer"):
            tracers = TracerProvider(shutdown_on_exit=False)
        stack.callback(_safely, tracers.shutdown)
        for sender in _senders("traces", BatchSpanProcessor):
            tracers.add_span_processor(sender)
        readers = _senders("metrics", reader)
        with _told("a meter"):
            meters = MeterProvider(readers, shutdown_on_exit=False)
        stack.callback(_safely, meters.shutdown)
        observer = SpanObserver(tracers, meters)
        stack.callback(observer.close)
        yield observer


def _safely(shut_down: Callable[[], object]) -> None:
    """Send what is left; the debate has ended, and what cannot be sent changes nothing of it."""
    try:
        shut_down()
    except Exception as error:  # noqa: BLE001 - its text may quote a header, so a key
        _LOG.warning("telemetry is not whole: %s at the end", type(error).__name__)


def _senders(signal: Signal, sender: Callable[[Any], Sender]) -> list[Sender]:
    """Make what sends a signal, to each exporter that the environment asks for."""
    made = []
    for name in _exporters(signal.upper()):
        found = list(entry_points(group=f"opentelemetry_{signal}_exporter", name=name))
        if not found:
            package = f"opentelemetry-exporter-{name.replace('_', '-')}"
            raise _not_installed(signal, package)
        with _unsaid(_HEADERS) as said, _told(f"exporter {name}"):
            exporter = found[0].load()
            made.append(sender(exporter(**sending.options(exporter))))
        if said:
            raise UsageError(
                "telemetry.exporter",
                f"exporter {name} cannot read its headers: write OTEL_EXPORTER_OTLP_HEADERS as "
                "name=value, with commas between them and each value URL-encoded",
            )
    return made


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Say in a UsageError that a part of the library cannot be set up as the environment has it.

    Some of the library logs such an error with its traceback, and goes on without.
    """
    try:
        with _unsaid(*_GO_ON, errors=True) as said:
            yield
    except Exception as error:  # noqa: BLE001 - whatever the environment has it try
        raise _unmade(what, error) from None
    for record in said:
        passed = record.exc_info[1] if record.exc_info else None
        if isinstance(passed, Exception):
            raise _unmade(what, passed, *map(str, record.args or ()))


def _unmade(what: str, error: Exception, *words: str) -> UsageError:
    """Return what is said of it: the error's class, since its text may quote a header, so a key.

    Of the `words` of a log the name of a variable is shown, and no other.
    """
    kind = type(error).__name__
    variable = next((word for word in words if word.startswith("OTEL_")), "OTEL_*")
    return UsageError("telemetry.exporter", f"{what} cannot be set up: {kind}; check {variable}")


@contextmanager
def _unsaid(*loggers: str, errors: bool = False) -> Iterator[list[logging.LogRecord]]:
    """Keep what parts of the library log, or only what they log with an exception.

    Of headers that it cannot read it quotes the words, so a key.
    """
    said = list[logging.LogRecord]()

    def keep(record: logging.LogRecord) -> bool:
        kept = bool(record.exc_info) or not errors
        said.extend([record] if kept else [])
        return not kept

    found = [logging.getLogger(name) for name in loggers]
    for logger in found:
        logger.addFilter(keep)
    try:
        yield said
    finally:
        for logger in found:
            logger.removeFilter(keep)


def _exporters(signal: str) -> list[str]:
    """Return the names of the exporters that the environment asks for."""
    names = os.environ.get(f"OTEL_{signal}_EXPORTER") or "otlp"
    protocol = (
        os.environ.get(f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL")
        or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
        or "http/protobuf"
    )
    otlp = f"otlp_proto_{protocol.partition('/')[0]}"
    given = [name.strip() for name in names.split(",")]
    return [otlp if name == "otlp" else name for name in given if name != "none"]


def _not_installed(what: str, package: str) -> UsageError:
    sent = {"traces": "spans"}.get(what, what)
    return UsageError("telemetry.missing", f"{sent} cannot be sent: install {package}")
