"""A small server on loopback whose answers a test writes, in any dialect.

    with Server(lambda body: completion("hello")) as server:
        ...POST server.url + "/chat/completions"...
        server.bodies      # what was asked, as it came over the wire

An answer is the JSON body of a reply, or a Raw: any status, any bytes, or a
connection that ends without a word.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from instant import GUARD


@dataclass(frozen=True)
class Raw:
    """An answer that is no completion.

    None as `body` hangs up at once; `cut` announces more; `held` does too, and hangs up once
    it is set.
    """

    status: int = 200
    body: bytes | None = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int = 0
    held: threading.Event | None = None


KEY = "sk-planted-4f9a17"
SEATS = ("planner", "critic", "operator")

Answer = Mapping[str, Any] | Raw
Script = Callable[[dict[str, Any]], Answer]


def hanging(arrived: threading.Event, release: threading.Event) -> Script:
    """Say that a request has arrived, and answer it once it is released."""

    def script(_: object) -> Answer:
        arrived.set()
        release.wait(GUARD)
        return Raw(500)

    return script


def completion(
    text: str | None, *, finish: Any = "stop", refusal: str | None = None, **more: Any
) -> dict[str, Any]:
    """The body of a completion; `more` replaces or adds top-level fields."""
    message = {"role": "assistant", "content": text, "refusal": refusal}
    if "tool_calls" in more:
        message["tool_calls"] = more.pop("tool_calls")
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": "served-2026-11-01",
        "system_fingerprint": "fp_1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        **more,
    }


def asking(*calls: tuple[Any, Any], finish: Any = "tool_calls") -> dict[str, Any]:
    """The body of a completion that asks for tools, by name and arguments."""
    rows = [
        {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for n, (name, arguments) in enumerate(calls)
    ]
    return completion(None, finish=finish, tool_calls=rows)


def usage(tokens_in: int, tokens_out: int, cached: int = 0, written: int = 0) -> dict[str, Any]:
    return {
        "prompt_tokens": tokens_in,
        "completion_tokens": tokens_out,
        "total_tokens": tokens_in + tokens_out,
        "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
    }


class Server:
    """Serves POST of any path on a free port of loopback until the block ends."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.paths: list[str] = []
        self.raw: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._http.daemon_threads = True
        self._http.scripted = self  # type: ignore[attr-defined]
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def url(self) -> str:
        return f"{self.root}/v1"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(body) for body in self.raw]

    def answer(self, path: str, body: bytes, headers: dict[str, str]) -> Answer:
        with self._lock:
            self.paths.append(path)
            self.raw.append(body)
            self.headers.append(headers)
        return self.script(json.loads(body))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    number = 0

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        server: Server = self.server.scripted  # type: ignore[attr-defined]
        path = self.path.partition("?")[0]
        headers = {key.lower(): value for key, value in self.headers.items()}
        answer = server.answer(path, body, headers)
        if not isinstance(answer, Raw):
            answer = Raw(
                200,
                json.dumps(answer).encode(),
                {"content-type": "application/json", "x-request-id": "req_1"},
            )
        return self._send(answer)

    def _send(self, answer: Raw) -> None:
        self.close_connection = answer.body is None or answer.cut > 0 or answer.held is not None
        if answer.body is None:
            return
        try:
            self.send_response(answer.status)
            headers = {"content-type": "application/json", **answer.headers}
            headers["content-length"] = str(
                len(answer.body) + answer.cut + (answer.held is not None)
            )
            for key, value in headers.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(answer.body)
            if answer.held:
                self.wfile.flush()
                answer.held.wait(GUARD)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client gave up first

    def log_message(self, *_: object) -> None:
        """Say nothing: what was asked stands in `server.raw`."""
