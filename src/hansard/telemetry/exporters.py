"""An observer whose spans go where the environment says."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points

from hansard.errors import UsageError
from hansard.telemetry.observer import SpanObserver


@contextmanager
def exporting() -> Iterator[SpanObserver]:
    """Give an observer whose spans go where the OTEL_* variables say, sent when the block ends.

    For programs that configure no SDK of their own, such as the command line.
    OTLP over HTTP unless OTEL_TRACES_EXPORTER or OTEL_EXPORTER_OTLP_PROTOCOL names
    another exporter. Raises UsageError `telemetry.missing` where SDK or exporter
    are not installed.
    """
    try:
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - an extra of an extra
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError:
        raise _not_installed("opentelemetry-sdk") from None
    provider = TracerProvider(shutdown_on_exit=False)
    for name in _exporters():
        found = list(entry_points(group="opentelemetry_traces_exporter", name=name))
        if not found:
            raise _not_installed(f"opentelemetry-exporter-{name.replace('_', '-')}")
        try:
            with _unsaid() as said:
                exporter = found[0].load()()
        except Exception as error:  # noqa: BLE001 - its text may quote a header, so a key
            kind = type(error).__name__
            raise UsageError(
                "telemetry.exporter", f"exporter {name} cannot be made: {kind}; check OTEL_*"
            ) from None
        if said:
            raise UsageError(
                "telemetry.exporter",
                f"exporter {name} cannot read its headers: write OTEL_EXPORTER_OTLP_HEADERS as "
                "name=value, with commas between them and each value URL-encoded",
            )
        provider.add_span_processor(BatchSpanProcessor(exporter))
    observer = SpanObserver(provider)
    try:
        yield observer
    finally:
        observer.close()
        provider.shutdown()


@contextmanager
def _unsaid() -> Iterator[list[logging.LogRecord]]:
    """Keep what the library says of headers that it cannot read: it quotes them, so a key."""
    said = list[logging.LogRecord]()

    def keep(record: logging.LogRecord) -> bool:
        said.append(record)
        return False

    logger = logging.getLogger("opentelemetry.util.re")
    logger.addFilter(keep)
    try:
        yield said
    finally:
        logger.removeFilter(keep)


def _exporters() -> list[str]:
    """Return the names of the exporters that the environment asks for."""
    names = os.environ.get("OTEL_TRACES_EXPORTER") or "otlp"
    protocol = (
        os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
        or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
        or "http/protobuf"
    )
    otlp = f"otlp_proto_{protocol.partition('/')[0]}"
    given = [name.strip() for name in names.split(",")]
    return [otlp if name == "otlp" else name for name in given if name != "none"]


def _not_installed(package: str) -> UsageError:
    return UsageError("telemetry.missing", f"spans cannot be sent: install {package}")
