"""Scripted replies: a debate without any model, for examples, tests and rehearsals.

The file (YAML or JSON) is keyed by debater, round and phase; `"*"` stands for
any round or phase that is not named:

    price: {input: "2.50", output: "10.00"}      # optional, US dollars per million tokens
    replies:
      planner:
        1:
          proposal: {stance: …, rationale: …, vote: release}
        "*":
          "*": any text at all, sent as it stands

A golden set asks many questions: `questions` has replies for one of them, by its text, which come
before those of `replies`.

A reply is a mapping (sent as JSON), a text, or a mapping with `reply` and
optionally `tokens: {in, cached, cache_write, out}`, `finish`, and `tools: [{tool, arguments}]`
to ask for tools; `{error: timeout}` fails the call. A list gives one entry for
each attempt, the last one repeating.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, NoReturn, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from hansard.closed import Closed
from hansard.rules.fields import UNTRIED, CallError, Finish
from hansard.rules.spec_parts import PriceSpec
from hansard.rules.terms import PHASES
from hansard.runtime.files import slip
from hansard.runtime.models.base import Completion, ModelError, Request, ToolCall


class Tokens(Closed):
    """What a scripted reply says it used."""

    in_: int = Field(alias="in", ge=0)
    cached: int = Field(default=0, ge=0)
    cache_write: int = Field(default=0, ge=0)
    out: int = Field(ge=0)


class Use(Closed):
    """A tool that a scripted reply asks for."""

    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class Entry(Closed):
    """One scripted reply or failure."""

    reply: str | dict[str, Any] | None = None
    tokens: Tokens | None = None
    finish: Finish = "stop"
    error: CallError | None = None
    tools: tuple[Use, ...] = ()

    @model_validator(mode="after")
    def _one_end(self) -> Self:
        if (self.reply is None) == (self.error is None) or self.error in UNTRIED:
            raise PydanticCustomError(
                "spec.invalid_value", "an entry has a reply or an error that a model can report"
            )
        return self


def _entries(value: object) -> object:
    """Admit the short forms: one entry for a list of one, a bare reply for an entry."""
    rows = value if isinstance(value, list) else [value]
    return [
        row if isinstance(row, dict) and ("reply" in row or "error" in row) else {"reply": row}
        for row in rows
    ]


def _or_short(schema: JsonDict) -> None:
    """Say in the published schema that the short forms will do."""
    entry = schema["items"]
    is_entry: JsonDict = {"anyOf": [{"required": ["reply"]}, {"required": ["error"]}]}
    one: JsonDict = {
        "anyOf": [{"type": "string"}, {"type": "object", "not": is_entry}, entry],
    }
    rows = {**schema, "items": one}
    schema.clear()
    schema["anyOf"] = [one, rows]


def _text_keys(value: object) -> object:
    """YAML reads `1:` as a number; rounds are looked up by their text."""
    return {str(key): row for key, row in value.items()} if isinstance(value, dict) else value


_PHASE = re.compile(f"({'|'.join(PHASES)})(-[1-9][0-9]?)?").fullmatch
Entries = Annotated[
    list[Entry], BeforeValidator(_entries), Field(min_length=1, json_schema_extra=_or_short)
]
Rounds = Annotated[dict[str, dict[str, Entries]], BeforeValidator(_text_keys)]


def _known(replies: dict[str, Rounds]) -> dict[str, Rounds]:
    """Refuse a round or phase that never comes: its replies would silently not be used."""
    for speaker, rounds in replies.items():
        for round_, phases in rounds.items():
            if round_ != "*" and not round_.isdecimal():
                _refuse(f"{slip(speaker)}: {slip(round_)!r} is no round; write 0, 1, 2, … or '*'")
            for phase in phases:
                if phase != "*" and not _PHASE(phase):
                    known = ", ".join(PHASES)
                    place = f"{slip(speaker)}, round {slip(round_)}"
                    _refuse(f"{place}: there is no phase {slip(phase)!r} ({known})")
    return replies


Replies = Annotated[dict[str, Rounds], BeforeValidator(_text_keys), AfterValidator(_known)]


class Script(Closed):
    """A file of scripted replies, keyed by debater, round and phase."""

    price: PriceSpec | None = None
    replies: Replies
    questions: dict[str, Replies] = Field(
        default={}, description="Replies for one question, by its text; they come before the others"
    )

    def find(self, speaker: str, round_: int, phase: str, question: str) -> list[Entry]:
        """Return the entries for a turn, the most specific first; empty where there are none."""
        for replies in (self.questions.get(question, {}), self.replies):
            rounds = replies.get(speaker, {})
            for by_phase in (rounds.get(str(round_), {}), rounds.get("*", {})):
                for key in (phase, "*"):
                    if key in by_phase:
                        return by_phase[key]
        return []


def _refuse(sentence: str) -> NoReturn:
    raise PydanticCustomError("spec.script", "{sentence}", {"sentence": sentence})


class ScriptedModel:
    """Answers from a Script."""

    def __init__(self, script: Script) -> None:
        self.price = script.price
        self._script = script

    def knows(self, speaker: str) -> bool:
        """Whether there are replies for a speaker, to any question."""
        script = self._script
        return any(speaker in replies for replies in (script.replies, *script.questions.values()))

    async def complete(self, request: Request) -> Completion:
        """Return the scripted reply; ModelError `no_reply` where the script has none."""
        script = self._script
        question = request.question if script.questions else ""
        entries = script.find(request.speaker, request.round, request.phase, question)
        if not entries:
            raise ModelError("no_reply", "not-in-script")
        attempt = int(request.call.rpartition(":")[2])
        entry = entries[min(attempt, len(entries)) - 1]
        if entry.error:
            raise ModelError(entry.error, "scripted")
        tokens = entry.tokens
        calls = [
            ToolCall(use.tool, json.dumps(use.arguments, ensure_ascii=False)) for use in entry.tools
        ]
        return Completion(
            entry.reply
            if isinstance(entry.reply, str)
            else json.dumps(entry.reply, ensure_ascii=False),
            finish="tool_calls" if calls else entry.finish,
            tool_calls=tuple(calls),
            tokens_in=tokens.in_ if tokens else None,
            tokens_cached=tokens.cached if tokens else None,
            tokens_cache_write=tokens.cache_write if tokens else None,
            tokens_out=tokens.out if tokens else None,
        )
