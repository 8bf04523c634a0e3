"""OpenRouter: `openrouter:AUTHOR/MODEL`, whose chat completions others serve.

- It is told to choose only among those who take all that was asked for: others would leave out
  a seed or a schema without a word.
- Who served a reply is recorded with the model, in front of its name, as in
  `Amazon-Bedrock/anthropic/claude-haiku-4.5`.
- What went wrong after the model began stands in the body, under a status of success.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hansard.rules.fields import Parameters
from hansard.runtime.models.base import Completion, ModelError
from hansard.runtime.models.openai_chat import ChatModel
from hansard.runtime.models.providers import Server
from hansard.runtime.models.reading import status_error, words


class RoutedModel(ChatModel):
    """A model behind /chat/completions that one of several providers serves."""

    def more(self, asked: Parameters) -> dict[str, Any]:  # noqa: ARG002 - the same for all
        """Return what its router is told."""
        return {"provider": {"require_parameters": True}}

    def read(self, body: Mapping[str, Any]) -> Completion:
        """Return what the first choice says; an error in its place, or beside it, is one."""
        _refuse(body.get("error"))
        choice = body["choices"][0]
        _refuse(choice.get("error"))
        if choice.get("finish_reason") == "error":
            raise ModelError("server_error", "error")
        said = super().read(body)
        server = words(body.get("provider"))
        if said.model is None or server is None:
            return said
        return replace(said, model=f"{'-'.join(server.split())}/{said.model}")


def _refuse(error: object) -> None:
    """Raise the error that a body tells of, by its code, which is a status of HTTP's."""
    if error is None:
        return
    code = error.get("code") if isinstance(error, dict) else None
    if type(code) is int and 400 <= code <= 599:
        raise ModelError(status_error(code).kind, f"error-{code}")
    raise ModelError("server_error", "error")


def open_model(name: str, server: Server) -> RoutedModel:
    """Return the model `name` of `server`."""
    return RoutedModel(name, server)
