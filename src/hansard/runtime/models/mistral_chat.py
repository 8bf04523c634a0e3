"""Mistral: `mistral:MODEL`, by its chat completions, which are nearly OpenAI's."""

from __future__ import annotations

from typing import Any

from hansard.rules.fields import Parameters
from hansard.runtime.models.openai_chat import ChatModel
from hansard.runtime.models.providers import Server
from hansard.runtime.models.reading import CHAT
from hansard.runtime.models.wire import given


class MistralModel(ChatModel):
    """A model behind /chat/completions that has its own word for the seed, and thinks in parts."""

    finishes = CHAT | {"model_length": "length"}
    seeded = False

    def more(self, asked: Parameters) -> dict[str, Any]:
        """Return the seed in Mistral's words; it refuses what it does not know."""
        return given(random_seed=asked["seed"])

    def said(self, content: Any) -> Any:
        """Return the text of a reply, without what a reasoning model thought before it."""
        if not isinstance(content, list):
            return super().said(content)
        return "".join(row["text"] for row in content if row["type"] == "text")


def open_model(name: str, server: Server) -> MistralModel:
    """Return the model `name` of `server`."""
    return MistralModel(name, server)
