"""Tools: Python functions that a model may ask for in the middle of its turn.

What is sent to models is the function's name, its docstring, and the JSON
Schema of its arguments; what comes back is text. A tool that fails says so in
the record and to the model; it never ends the debate. What it raised is the user's
own, and goes to them as a `ToolWarning`.
"""

from __future__ import annotations

import inspect
import json
import os
import traceback
import warnings
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, cast

import pydantic
from pydantic import TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from hansard.errors import ToolWarning, UsageError
from hansard.report.safe import one_line
from hansard.rules.prompts import quote
from hansard.rules.replies import Schema
from hansard.runtime.models.base import MAX_PROMPT, MAX_TEXT, ToolDefinition, awaited, exact
from hansard.runtime.models.callables import outcome
from hansard.runtime.output import as_json

TOO_LONG = "the result is too long"
_LONGEST = 1000  # characters of what an exception says
_PIECE = 1 << 16  # characters
_PYDANTIC = f"{Path(pydantic.__file__).parent}{os.sep}"
ToolFunction = Callable[..., Any]
Tools = Mapping[str, ToolFunction]


class _UnfitError(Exception):
    """The arguments do not fit: how many mistakes there are."""


class Room:
    """What the tools of one reply may give: together no more than one alone.

    That is a number of characters, and of bytes as prompts show them, where a control character
    has eight: with more than any model reads, the rest of the turn would be lost. As many seats
    as there are may use tools at once, so what it gives is room `within` that of their debate.
    `was_full` says whether something did not fit.
    """

    def __init__(
        self, characters: int = MAX_TEXT, shown: int = MAX_PROMPT, within: Room | None = None
    ) -> None:
        self._characters, self._shown, self._within = characters, shown, within
        self.was_full = False
        self._lock = Lock()  # tools give what they give in threads

    def taken(self, text: str) -> str | None:
        """Take as much room as a text has; return it, or None where that much is not left.

        A text that does not fit is let go at once: nobody waits while another one is measured.
        """
        if not self._take(len(text)):
            return None
        shown = _shown_size(text, self._shown)
        with self._lock:
            fits = shown <= self._shown
            self._shown -= shown if fits else 0
        if not fits:
            self._give_back(len(text))
        return text if fits else None

    def _take(self, characters: int) -> bool:
        """Take so many characters, here and of the debate's; say whether they were left."""
        with self._lock:
            if characters > self._characters:
                self.was_full = True
                return False
            if self._within and not self._within._take(characters):
                return False
            self._characters -= characters
            return True

    def _give_back(self, characters: int) -> None:
        with self._lock:
            self._characters += characters
        if self._within:
            self._within._give_back(characters)


class _EveryChoice(GenerateJsonSchema):
    """A schema in which choices that look alike, as a tuple and a list, are not told as one."""

    def get_flattened_anyof(self, schemas: list[Schema]) -> Schema:
        return {"anyOf": schemas}


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

    @property
    def tried(self) -> Schema:
        """The schema of its arguments with every choice that is tried to read them."""
        return self._adapter.json_schema(schema_generator=_EveryChoice)

    @cached_property
    def document(self) -> bytes:
        """The definition as JSON: what is hashed, and kept with the record."""
        return as_json(vars(self.definition))

    async def call(self, arguments: str, room: Room) -> tuple[str, bool]:
        """Return what the function gives for these arguments, as text, and whether it gave it.

        `room` is what it shares with the other tools of the same reply.
        """
        try:
            text = await outcome(self._given, arguments, room)
        except _UnfitError as error:
            return f"the arguments do not fit: {error} errors", False
        except Exception as error:  # noqa: BLE001 - its text may quote a secret: its kind will do
            _tell(self.name, error)
            return f"the tool failed: {type(error).__name__}", False
        return (TOO_LONG, False) if text is None else (text, True)

    def _given(self, arguments: str, room: Room) -> str | Awaitable[str | None] | None:
        """Return as text what the function gives, in the thread that calls it; None is too long.

        A hundred threads may give at once what is too long: none waits for the loop to see that.
        """

        async def later() -> str | None:
            return room.taken(_text(await value))

        value = self._used(arguments)
        return later() if inspect.isawaitable(value) else room.taken(_text(value))

    def _used(self, arguments: str) -> Any:
        """Call the function with what the model wrote; raises _UnfitError where that does not fit.

        The function may use pydantic as well: what it finds wrong in its own data comes up in a
        frame of the function, and is no mistake of the model's.
        """
        try:
            return self._adapter.validate_json(arguments)
        except ValidationError as error:
            frames = traceback.extract_tb(error.__traceback__)[1:]
            if any(not frame.filename.startswith(_PYDANTIC) for frame in frames):
                raise
            count = error.error_count()
        raise _UnfitError(count)  # apart from what pydantic found, which may take much memory


def _text(value: Any) -> str:
    """Return what a function gave as text; raises for what no text can say."""
    text = exact(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text.encode()
    return cast(str, text)


def _shown_size(text: str, most: int) -> int:
    r"""Return how many bytes a text has as prompts show it, or a few more; beyond `most` any more.

    What is shown is not made as a whole.

    >>> _shown_size("yes", 100), _shown_size("\0" * 1_000_000, 100) > 100
    (6, True)
    """
    size = 0
    for at in range(0, len(text), _PIECE):
        size += len(quote(text[at : at + _PIECE]).encode())
        if size > most:
            break
    return size


def _tell(name: str, error: Exception) -> None:
    """Tell the user, and nobody else, how their function failed and where.

    What it says may quote a model, so it is made safe to show; and it may say anything, so it
    reaches neither record nor model.
    """
    cause = error.__cause__ or error  # what came up in a thread may be wrapped
    frames = traceback.extract_tb(cause.__traceback__) or traceback.extract_tb(error.__traceback__)
    kind = one_line(traceback.format_exception_only(error)[-1], _LONGEST)
    place = f"{frames[-1].filename}, line {frames[-1].lineno}"
    said = ToolWarning(f"tool {name} failed: {kind} ({place}); the model was told that it failed")
    said.__cause__ = error
    with suppress(ToolWarning):  # an error where warnings are: it must not change the record
        warnings.warn(said, stacklevel=2)


async def use(tool: Tool | None, arguments: str, room: Room) -> tuple[str, bool]:
    """Return what a tool gives for the arguments that a model wrote, and whether it worked."""
    return await awaited(tool.call(arguments, room)) if tool else ("there is no such tool", False)


def find_tools(
    names: Sequence[str], given: Mapping[str, ToolFunction] | None, *, anew: bool = True
) -> dict[str, Tool]:
    """Return the tools of a spec by name; raises UsageError `tool.*` for one that is not there.

    `tool.branching` is for a debate that is opened `anew`: one that was begun can be resumed.
    """
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
        if anew and _branches(found[name].tried):
            raise UsageError(
                "tool.branching",
                f"tool {name} takes a union of types that hold the same union again, so a short "
                "reply could take for ever to read; give the union a discriminator, as "
                'Field(discriminator="kind") of pydantic does',
            )
    return found


def _branches(root: Schema) -> bool:
    """Say whether one value may have to be tried in several ways that lead to the same choice.

    Pydantic tries all of them, at every depth, and lets nothing else run meanwhile.
    """
    for node in _within(root, root):
        choices = _choices(node, root)
        for kind in ("object", "array"):
            alike = [
                each
                for each in choices
                if each.get("type") == kind and any(inner is node for inner in _within(each, root))
            ]
            if len(alike) > 1:
                return True
    return False


def _choices(node: Schema, root: Schema) -> list[Schema]:
    """Return what a union may be, those included of the unions that are its own members."""
    found, seen, left = list[Schema](), set[int](), [node]
    while left:
        each = _referred(left.pop(), root)
        if isinstance(inner := each.get("anyOf"), list) and id(each) not in seen:
            seen.add(id(each))
            left += inner
        else:
            found.append(each)
    return found


def _within(schema: Schema, root: Schema) -> Iterator[Schema]:
    """Yield the objects that a schema is made of, those included to which it refers, each once."""
    seen, left = set[int](), [schema]
    while left:
        value: Any = left.pop()
        if isinstance(value, list):
            left += value
        elif isinstance(value, dict) and id(value) not in seen:
            seen.add(id(value))
            yield value
            left += [_referred(value, root), *value.values()]


def _referred(schema: Schema, root: Schema) -> Schema:
    """Return the definition that a schema refers to, or else itself."""
    name = str(schema.get("$ref")).removeprefix("#/$defs/")
    found: Schema = root.get("$defs", {}).get(name, schema)
    return found
