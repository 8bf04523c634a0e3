"""A debate as OpenTelemetry spans and metrics, by the conventions for generative AI.

    from hansard import run, telemetry
    result = await run(spec, observe=telemetry.SpanObserver())

    invoke_workflow {debate}          the debate
      invoke_agent {role}             one step of a speaker: all that was tried for one turn
        chat {model}                  one attempt
        execute_tool {name}           one tool that a reply asked for

It needs the extra `otel`: OpenTelemetry's API, and the SDK and OTLP exporter that
`hansard run --telemetry` sends with. A program of yours configures its own.
Spans are made from the recorded events and carry their times, sequence numbers and
hashes, so whoever sees a span finds its entry in the record. They hold names and
numbers of the record's clear fields and none of its texts. Metrics (`metrics.py`)
count the same events, with attributes that have few values. Telemetry is never
the record: it may be sampled, lost or switched off, and a debate is not
disturbed by a tracer that fails.
"""

from hansard.errors import UsageError
from hansard.installing import install_command

try:
    import opentelemetry.trace  # noqa: F401 - said here, before anything of ours needs it
except ImportError:
    raise UsageError(
        "telemetry.missing",
        f"telemetry needs OpenTelemetry, which is not installed: {install_command('otel')}",
    ) from None

from hansard.telemetry.exporters import exporting
from hansard.telemetry.observer import SpanObserver

__all__ = ["SpanObserver", "exporting"]
