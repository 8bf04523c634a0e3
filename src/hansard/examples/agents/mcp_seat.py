"""A model that uses the tools of an MCP server, in a seat.

>>> from mcp.server.mcpserver import MCPServer
>>> from hansard import run_sync
>>> server = MCPServer("runbook")
>>> @server.tool()
... def minutes(of: str) -> str:
...     "How long something takes."
...     return "ninety minutes"
>>> async def think(prompt, tools):  # asks a model, offers it the tools, reads what it wants
...     if "ninety" not in prompt:
...         return ToolCall(tools[0].name, '{"of": "a rollback"}')
...     return "A rollback takes ninety minutes."
>>> spec = {
...     "format": "panel",
...     "question": "How long does a rollback take?",
...     "agents": 3,
...     "rounds": 1,
...     "model": "python:mine",
... }
>>> run_sync(spec, models={"mine": tool_seat(think, server)}).decision_rule
'most_similar'

These uses are the function's own. Tools of the spec (`tools=`) are called by the
engine instead, and each use is then an event of the record.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolRequest, CallToolRequestParams, CallToolResult, TextContent, Tool

from hansard import Request, ToolCall, Unavailable
from hansard.rules.prompts import quote

Think = Callable[[str, Sequence[Tool]], Awaitable[str | ToolCall]]
MOST_USES = 10
MOST_BYTES = 1 << 20  # of a response: what a tool gives has to fit into a prompt


def tool_seat(think: Think, server: Any) -> Callable[[Request], Awaitable[str]]:
    """Return a seat that `think` fills: it replies, or asks for a tool of `server` first.

    `server` is what an MCP client connects to: a server in this process, or a URL.
    What a tool gives is quoted like everything in a prompt that is no instruction.
    """

    async def complete(request: Request) -> str:
        prompt = request.prompt
        async with _connected(server) as client:
            tools = (await client.list_tools()).tools
            for _ in range(MOST_USES):
                reply = await think(prompt, tools)
                if isinstance(reply, str):
                    return reply
                found = await _used(client, reply)
                what = "error" if found.is_error else "result"
                prompt += f"\n[tool {reply.name}, {what}]\n{quote(_text(found.content))}"
        raise Unavailable("the model goes on asking for tools")

    return complete


@asynccontextmanager
async def _connected(server: Any) -> AsyncIterator[Client]:
    """Connect to a server; of one on the network, which may be a stranger's, with a bound."""
    if not isinstance(server, str):
        async with Client(server) as client:
            yield client
        return
    async with (
        httpx2.AsyncClient(
            headers={"accept-encoding": "identity"},
            timeout=httpx2.Timeout(30, read=300),  # seconds, as MCP has them
            event_hooks={"response": [_bound]},
        ) as http,
        Client(streamable_http_client(server, http_client=http)) as client,
    ):
        yield client


async def _bound(response: httpx2.Response) -> None:
    """Let a response be read up to a bound, and not at all where it is packed."""
    is_packed = response.headers.get("content-encoding", "identity") != "identity"
    response.stream = _Bounded(response.stream, 0 if is_packed else MOST_BYTES)


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: Any, left: int) -> None:
        self._stream, self._left = stream, left

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._left -= len(piece)
            if self._left < 0:
                raise httpx2.ReadError("the response is packed, or too long")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _used(client: Client, asked: ToolCall) -> CallToolResult:
    """Use a tool, and take what comes as it is.

    `Client.call_tool` checks it against a schema of the server's, whose patterns may take for ever.
    """
    wanted = CallToolRequestParams(name=asked.name, arguments=json.loads(asked.arguments))
    return await client.session.send_request(CallToolRequest(params=wanted), CallToolResult)


def _text(content: Sequence[Any]) -> str:
    return "\n".join(row.text for row in content if isinstance(row, TextContent))
