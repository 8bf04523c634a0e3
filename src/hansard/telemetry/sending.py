"""What is taken of a collector's answer: its status, and how long it asks to wait; no word is told.

OpenTelemetry's exporters over HTTP read an answer to its end, however long it is, and those
before 1.45 follow a redirect with all headers, the keys among them. What goes wrong they log with
a header or a URL, in which a key may stand, and with words of the collector.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import responses
from typing import Any

from typing_extensions import override

_LOG = logging.getLogger("hansard.telemetry")
_HTTP = "opentelemetry.exporter.otlp.proto.http."
_SESSIONS = "OTEL_PYTHON_EXPORTER_OTLP_HTTP_"  # begins the names of variables that name one
_PROVIDER = "CREDENTIAL_PROVIDER"


def options(exporter: Any) -> Mapping[str, Any]:
    """Return what an exporter is made with: over HTTP a session, unless the environment has one."""
    named = any(
        name.startswith(_SESSIONS) and name.endswith(_PROVIDER)
        for name, value in os.environ.items()
        if value
    )
    if named or not getattr(exporter, "__module__", "").startswith(_HTTP):
        return {}
    return {"session": _session()}


def _session() -> Any:
    """Return a session for one exporter, which puts its own headers into it."""
    import requests  # noqa: PLC0415 - comes with the exporter

    class Session(requests.Session):
        @override
        def get_redirect_target(self, resp: requests.Response) -> None:
            return None

        @override
        def send(self, request: requests.PreparedRequest, **how: Any) -> requests.Response:
            with super().send(request, **how | {"stream": True}) as found:
                if found.is_redirect:  # to an exporter it is as good as an answer
                    raise requests.TooManyRedirects
                said = requests.Response()
                said.status_code = found.status_code
                said.reason = responses.get(found.status_code, "")
                if wait := found.headers.get("retry-after"):
                    said.headers["retry-after"] = wait
                return said

    return Session()


class _Wordless(logging.Handler):
    """Says of what OpenTelemetry logs the class of the error or the status, once each."""

    def __init__(self) -> None:
        super().__init__()
        self._said = set[tuple[str, str]]()

    @override
    def emit(self, record: logging.LogRecord) -> None:
        words = record.args if isinstance(record.args, tuple) else ()
        raised = record.exc_info[1] if record.exc_info else None
        found = [
            str(each) if type(each) is int else type(each).__name__
            for each in (raised, *words)
            if type(each) is int or isinstance(each, BaseException)
        ]
        said = found[0] if found else record.levelname, record.name.rpartition(".")[2]
        if said not in self._said:
            self._said.add(said)
            _LOG.warning("telemetry may not be whole: %s in the %s", *said)


@contextmanager
def wordless() -> Iterator[None]:
    """Let nothing that OpenTelemetry logs be seen in its own words."""
    log, handler = logging.getLogger("opentelemetry"), _Wordless()
    before = log.handlers, log.propagate
    log.handlers, log.propagate = [handler], False
    try:
        yield
    finally:
        log.handlers, log.propagate = before
