"""The same debate in AutoGen's RoundRobinGroupChat, to count what it sends."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import ChatAgent, Team
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core.models import ChatCompletionClient, CreateResult, LLMMessage, RequestUsage

from bench_kit.measure import expect


class Counting(ChatCompletionClient):
    """A model client that counts the characters it is sent and gives the replies in turn."""

    component_type = "model"
    model_info = {  # noqa: RUF012 - the base class has a property
        "vision": False,
        "function_calling": False,
        "json_output": False,
        "structured_output": False,
        "family": "unknown",
    }
    capabilities = model_info

    def __init__(self, replies: Iterator[str]) -> None:
        self.characters = self.calls = 0
        self._replies = replies

    async def create(self, messages: Sequence[LLMMessage], **_: Any) -> CreateResult:
        """Count, and answer."""
        self.calls += 1
        for message in messages:  # a speaker's name is sent beside what was said
            self.characters += len(str(message.content)) + len(getattr(message, "source", ""))
        return CreateResult(
            content=next(self._replies),
            finish_reason="stop",
            usage=self.actual_usage(),
            cached=False,
        )

    def create_stream(self, *_: Any, **__: Any) -> Any:
        """Not used."""
        raise NotImplementedError

    async def close(self) -> None:
        """Nothing is open."""

    def actual_usage(self) -> RequestUsage:
        """Tokens are not counted."""
        return RequestUsage(prompt_tokens=0, completion_tokens=0)

    total_usage = actual_usage

    def count_tokens(self, *_: Any, **__: Any) -> int:
        """Tokens are not counted."""
        return 0

    remaining_tokens = count_tokens


def characters(told: Mapping[str, str], question: str, replies: Sequence[str]) -> int:
    """Return the characters that the team sends while it says `replies` on `question`."""
    client = Counting(iter(replies))
    agents: list[ChatAgent | Team] = [
        AssistantAgent(name, model_client=client, system_message=told[name]) for name in told
    ]
    team = RoundRobinGroupChat(agents, max_turns=len(replies))
    asyncio.run(team.run(task=question))
    expect(client.calls == len(replies), "every agent speaks in its turn")
    return client.characters
