"""What the next call of a step sends, and what it reserves of the ceilings (FORMAT.md §9).

A call sends its prompt, the schema of its reply, and the definitions of the
tools that it may ask for; to a provider's server it may send one envelope of the
schemas of all roles that the same model answers. All of that is reserved before
the call is made, with the longest reply that its settings allow: the run, which
must not break a ceiling, and the estimate, which says where it will stop, ask
the same function.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, cast

from hansard.rules import spending
from hansard.rules.data import CallStartedData
from hansard.rules.fields import ToolHash
from hansard.rules.model_names import has_server
from hansard.rules.prompts import Message, Prompt, Renderer
from hansard.rules.replies import Schema
from hansard.rules.state import DebateState, Step
from hansard.rules.steps import schema_of, start
from hansard.rules.transcript import CUSTOM, Prompter


class Call(NamedTuple):
    """A call that may be made: the data of its `call.started`, and what it sends.

    `schema` is what the reply must be, `schemas` those of all roles that the same
    model answers in JSON, `tools` those that may be asked for, `size` the bytes of
    all that is sent.
    """

    data: CallStartedData
    prompt: Prompt
    schema: Schema
    schemas: tuple[Schema, ...]
    tools: list[ToolHash]
    size: int


def offered(state: DebateState, step: Step) -> list[ToolHash]:
    """Return the tools of a call: those of the spec, until the step's rounds are used up.

    A seat that a function of the user's fills is offered none.
    """
    pending = state.steps.get(step.id)
    custom = state.seats[step.speaker]["model"].startswith(CUSTOM)
    if custom or (pending and pending.tool_rounds >= state.spec["tool_rounds"]):
        return []
    return state.spec["tools"]


class Calls:
    """The calls of one debate: follows its state, and gives the next call of a step.

    `files` are the bytes of every template, schema and tool definition that the
    opening names, by hash; `text_of` gives a text by its name.
    """

    def __init__(
        self, state: DebateState, files: Mapping[str, bytes], text_of: Callable[[str], str]
    ) -> None:
        self._state, self._files = state, files
        self._prompter = Prompter(state)
        self._renderer = Renderer(files, text_of)

    def next(self, step: Step) -> Call:
        """Return the next call of a step that is due."""
        prompt = self._prompter.prompt(step)
        data = start(self._state, step, prompt.digest)
        model, tools = data["model"], offered(self._state, step)
        schemas = self._schemas.get(model, ())
        sent = [self._files[data["schema"]], *(self._files[row["sha256"]] for row in tools)]
        size = self._renderer.size(prompt) + sum(map(len, sent)) + self._envelopes.get(model, 0)
        prices, reply = self._state.prices, data["parameters"]["max_tokens"]
        data |= spending.reserve(prices, model, size, reply)
        schema = self._schema_of(step.speaker)
        return Call(cast(CallStartedData, data), prompt, schema, schemas, tools, size)

    def messages(self, prompt: Prompt) -> list[Message]:
        """Return the messages of a prompt."""
        return self._renderer.messages(prompt)

    def size(self, prompt: Prompt) -> int:
        """Return how many UTF-8 bytes a prompt has."""
        return self._renderer.size(prompt)

    def _schema_of(self, seat: str) -> Schema:
        """Return what the replies of a seat must be; a deliverable is described by the user."""
        role = self._state.seats[seat]["role"]
        own: Any = schema_of(self._state, role)
        for row in self._state.spec["schemas"] if own is None else ():
            if row["role"] == role:
                own = json.loads(self._files[row["sha256"]])
        return cast(Schema, own)

    @cached_property
    def _envelopes(self) -> Mapping[str, int]:
        """How many bytes the schemas have that go to a model's server with each call, by model."""
        return {
            model: sum(len(json.dumps(row).encode()) for row in rows)
            for model, rows in self._schemas.items()
            if has_server(model)
        }

    @cached_property
    def _schemas(self) -> Mapping[str, tuple[Schema, ...]]:
        """The schemas of all roles that a model answers in JSON, each once, by model."""
        found: dict[str, tuple[Schema, ...]] = {}
        for seat in self._state.seats.values():
            schema = self._schema_of(seat["id"])
            known = found.get(seat["model"], ())
            if schema.get("type") != "string" and schema not in known:
                found[seat["model"]] = (*known, schema)
        return found
