"""A debate in AutoGen's RoundRobinGroupChat, and what it sends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import ChatAgent, Team
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core.models import ChatCompletionClient, CreateResult, LLMMessage, RequestUsage

from bench_kit.measure import expect


class Client(ChatCompletionClient):
    """A model client that says what it is given to say."""

    component_type = "model"
    model_info = {  # noqa: RUF012 - the base class has a property
        "vision": False,
        "function_calling": False,
        "json_output": False,
        "structured_output": False,
        "family": "unknown",
    }
    capabilities = model_info

    def __init__(self, say: Callable[[], Awaitable[str]]) -> None:
        self._say = say

    async def create(self, messages: Sequence[LLMMessage], **_: Any) -> CreateResult:  # noqa: ARG002 - of the base class
        """Answer without a look at the messages."""
        usage = self.actual_usage()
        text = await self._say()
        return CreateResult(content=text, finish_reason="stop", usage=usage, cached=False)

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


class Counting(Client):
    """The same, and it counts the characters that it is sent."""

    def __init__(self, say: Callable[[], Awaitable[str]]) -> None:
        super().__init__(say)
        self.characters = self.calls = 0

    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
        """Count, and answer."""
        self.calls += 1
        for message in messages:  # a speaker's name is sent beside what was said
            self.characters += len(str(message.content)) + len(getattr(message, "source", ""))
        return await super().create(messages, **options)


def team(told: Mapping[str, str], client: Client, turns: int) -> RoundRobinGroupChat:
    """Return a team in which one speaks after the other, each told what stands beside its name."""
    agents: list[ChatAgent | Team] = [
        AssistantAgent(name, model_client=client, system_message=told[name]) for name in told
    ]
    return RoundRobinGroupChat(agents, max_turns=turns)


def characters(told: Mapping[str, str], question: str, replies: Sequence[str]) -> int:
    """Return the characters that the team sends while it says `replies` on `question`."""
    coming = iter(replies)

    async def say() -> str:
        return next(coming)

    client = Counting(say)
    asyncio.run(team(told, client, len(replies)).run(task=question))
    expect(client.calls == len(replies), "every agent speaks in its turn")
    return client.characters
