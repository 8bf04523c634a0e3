"""Gemini on Vertex AI: `vertex:MODEL`, in a project of Google Cloud's or by an express-mode key.

The body is that of the Gemini API. The access token is fetched before the request, from where
the application default credentials say, and goes to no server that only a spec names.
"""

from __future__ import annotations

import asyncio
import os
from threading import Lock
from typing import Any

import google.auth
from google.auth.credentials import Credentials
from google.auth.exceptions import GoogleAuthError, TransportError
from google.auth.transport.requests import Request as Transport
from google.genai import Client

from hansard.rules.fields import CallError
from hansard.runtime.models.base import Completion, ModelError, Request
from hansard.runtime.models.client import RecordingClient
from hansard.runtime.models.google_cloud import project_of
from hansard.runtime.models.google_gemini import NO_KEY, GeminiModel, through
from hansard.runtime.models.providers import Server

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


class _Token(Credentials):
    """The default credentials, looked for when the first token is wanted: in a file, or asked for.

    The vendor's own way would look for them, and ask, while the model is opened. Calls that go
    out at once want a token in as many threads: one of them takes it, and the others wait.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._found: Any = None
        self._lock = Lock()

    def refresh(self, request: Any) -> None:
        """Take a new token, where it has none that is good; raises GoogleAuthError."""
        with self._lock:
            if self.valid:
                return
            if self._found is None:
                self._found, _ = google.auth.default(scopes=[_SCOPE])
            self._found.refresh(request)
            self.token, self.expiry = self._found.token, self._found.expiry
            self._quota_project_id = self._found.quota_project_id


class VertexModel(GeminiModel):
    """A model behind generateContent of Vertex AI."""

    def connect(self, server: Server, client: RecordingClient) -> Client:
        """Return the vendor's client; without a project it is told a key."""
        options = through(client, server)
        place = None if server.plain else project_of(os.environ)
        self._token = _Token() if place else None
        if place is None:
            return Client(vertexai=True, api_key=server.key or NO_KEY, http_options=options)
        project, location = place
        return Client(
            vertexai=True,
            credentials=self._token,
            project=project,
            location=location,
            http_options=options,
        )

    async def complete(self, request: Request) -> Completion:
        """Ask once, with a token that is still good."""
        token = self._token
        if token and not token.valid:
            try:
                await asyncio.to_thread(token.refresh, Transport())
            except GoogleAuthError as error:
                is_away = isinstance(error, TransportError) or error.retryable
                kind: CallError = "unreachable" if is_away else "client_error"
                raise ModelError(kind, type(error).__name__) from None
        return await super().complete(request)


def open_model(name: str, server: Server) -> VertexModel:
    """Return the model `name` at `server`."""
    return VertexModel(name, server)
