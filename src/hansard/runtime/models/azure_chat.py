"""Azure OpenAI: `azure:DEPLOYMENT`, by the v1 API, whose chat completions want no api-version."""

from __future__ import annotations

from hansard.runtime.models.openai_chat import ChatModel
from hansard.runtime.models.providers import Server


class AzureModel(ChatModel):
    """A deployment behind /openai/v1/chat/completions, also behind a gateway of one's own."""

    cap = "max_completion_tokens"

    def headers(self, key: str) -> dict[str, str]:
        """Return the key as Azure wants it."""
        return {"api-key": key}


def open_model(name: str, server: Server) -> AzureModel:
    """Return the deployment `name` of `server`."""
    return AzureModel(name, server)
