"""An AutoGen agent in a seat.

from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient

models = {
    "mine": agent_seat(
        lambda: OpenAIChatCompletionClient(model="gpt-4o", max_retries=0),
        lambda client: AssistantAgent("debater", client),
    )
}
result = await hansard.run(spec, models=models)  # the seat's model is python:mine
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from autogen_agentchat.base import ChatAgent
from autogen_agentchat.messages import BaseChatMessage
from autogen_core.models import ChatCompletionClient

from hansard import Completion, Request


def agent_seat(
    connect: Callable[[], ChatCompletionClient], make: Callable[[ChatCompletionClient], ChatAgent]
) -> Callable[[Request], Awaitable[Completion]]:
    """Return a seat that an agent fills; each call makes a fresh client and a fresh agent.

    An agent of AutoGen keeps what it has heard, and calls may be made at once. A
    debate's memory is its transcript, which every call is given. A client's open
    connections work in one event loop alone, and each `run_sync` has a loop of its own.
    """

    async def complete(request: Request) -> Completion:
        client = connect()
        try:
            result = await make(client).run(task=request.prompt, output_task_messages=False)
        finally:
            await client.close()
        used = [row.models_usage for row in result.messages if row.models_usage]
        reply = result.messages[-1]
        if not isinstance(reply, BaseChatMessage):
            raise TypeError("the agent ended without a message")
        return Completion(
            reply.to_model_text(),
            tokens_in=sum(row.prompt_tokens for row in used) if used else None,
            tokens_out=sum(row.completion_tokens for row in used) if used else None,
        )

    return complete
