"""Tools: Python functions that a model may ask for in the middle of its turn.

What is sent to models is the function's name, its docstring, and the JSON
Schema of its arguments; what comes back is text. A tool that fails says so in
the record and to the model; it never ends the debate.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from hansard.errors import UsageError
from hansard.runtime.models.base import MAX_TEXT, ToolDefinition
from hansard.runtime.models.callables import outcome
from hansard.runtime.output import as_json

ToolFunction = Callable[..., Any]
Tools = Mapping[str, ToolFunction]


class Tool:
    """A function that models may call under a name."""

    def __init__(self, name: str, function: ToolFunction) -> None:
        self.name = name
        self._function = function
        self._adapter = TypeAdapter(cast(Any, function))

    @cached_property
    def definition(self) -> ToolDefinition:
        """What a model is told of it."""
        words = inspect.getdoc(self._function) or self.name
        return ToolDefinition(self.name, words, self._adapter.json_schema())

    @cached_property
    def document(self) -> bytes:
        """The definition as JSON: what is hashed, and kept with the record."""
        return as_json(vars(self.definition))

    async def call(self, arguments: str) -> tuple[str, bool]:
        """Return what the function gives for these arguments, as text, and whether it gave it."""
        try:
            value = await outcome(self._adapter.validate_json, arguments)
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            text.encode()
        except ValidationError as error:
            return f"the arguments do not fit: {error.error_count()} errors", False
        except Exception as error:  # noqa: BLE001 - its text may quote a secret: its kind will do
            return f"the tool failed: {type(error).__name__}", False
        return (text, True) if len(text) <= MAX_TEXT else ("the result is too long", False)


async def use(tool: Tool | None, arguments: str) -> tuple[str, bool]:
    """Return what a tool gives for the arguments that a model wrote, and whether it worked."""
    return await tool.call(arguments) if tool else ("there is no such tool", False)


def find_tools(names: Sequence[str], given: Mapping[str, ToolFunction] | None) -> dict[str, Tool]:
    """Return the tools of a spec by name; raises UsageError `tool.*` for one that is not there."""
    found = {}
    for name in names:
        if not given or name not in given:
            raise UsageError(
                "tool.not_given",
                f"tool {name} is a Python function: pass tools={{{name!r}: …}} from Python",
            )
        try:
            found[name] = Tool(name, given[name])
            fit = found[name].document and found[name].definition.parameters["type"] == "object"
        except Exception:  # noqa: BLE001 - whatever pydantic says of a strange signature
            fit = False
        if not fit:
            raise UsageError(
                "tool.unfit",
                f"tool {name} must be a function whose arguments have names and JSON types",
            )
    return found
