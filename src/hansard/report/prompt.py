"""What a model was asked: a prompt rendered again from its recipe (FORMAT.md §4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hansard.errors import DataError, UsageError
from hansard.record.policy import Approved
from hansard.report.size import Room, require_room
from hansard.rules.events import Event
from hansard.rules.prompts import (
    MOST_SHOWN,
    Message,
    Prompt,
    Renderer,
    TextOf,
    filled_size,
    quoted_size,
    values_of,
)
from hansard.rules.replay import Replay
from hansard.rules.state import Step
from hansard.rules.steps import Ask


@dataclass(frozen=True, slots=True)
class Rendered:
    """The prompt of one call: its `messages`, each with a role and a text.

    `digest` is the SHA-256 of its recipe as derived, `recorded` the one in the entry `seq`,
    which was written before the call. In a record that holds they are the same.
    """

    seq: int
    messages: list[Message]
    digest: str
    recorded: str


def render(
    events: Iterable[Event],
    templates: Mapping[str, bytes],
    text_of: TextOf,
    call: str,
    approved: Approved | None = None,
) -> Rendered:
    """Return the prompt of `call` as it was sent.

    The rules are followed up to that call, so the prompt rests on what was
    recorded before it and on nothing else. Raises UsageError `prompt.unknown`
    for a call that was never started, DataError `prompt.gone` where a text that
    it quotes is erased, `report.size` where it quotes long texts again and again, or would
    take too much memory.
    """
    room = _OfPrompt(call)

    def present(name: str) -> str:
        text = text_of(name)
        if text is None:
            raise DataError("prompt.gone", f"the prompt of {call} quotes a text that is gone")
        room.hold(quoted_size(text))  # before the renderer holds it
        return text

    replay = Replay(text_of, approved)
    for event in events:
        if event["type"] == "call.started" and event["data"]["call"] == call:
            prompt = replay.prompter.prompt(_due(replay, event["seq"], event["data"]["step"]))
            for size in _filled(prompt, templates):
                room.hold(size)
            messages = Renderer(templates, present).messages(prompt)
            require_room([message.pieces for message in messages], "prompt")
            return Rendered(event["seq"], messages, prompt.digest, event["data"]["prompt"])
        replay.step(event)
    raise UsageError(
        "prompt.unknown",
        f"there is no call {call}; a call is named r<round>.<phase>.<speaker>:<attempt>",
    )


class _OfPrompt(Room):
    """The room of a prompt, which is in memory as a whole; while one text is made, several times.

    A record from a stranger may hold any text, and templates that name a value any number of times.
    """

    def __init__(self, call: str) -> None:
        super().__init__("prompt")
        self._call = call

    def hold(self, size: int) -> None:
        """Take so many bytes of it for one text; raises DataError `report.size`."""
        if size > MOST_SHOWN:
            raise DataError(
                "report.size",
                f"a text of the prompt of {self._call} takes more than {MOST_SHOWN:,} bytes of "
                "memory as the prompt shows it; read it in the record's export",
            )
        self.take(size)


def _filled(prompt: Prompt, templates: Mapping[str, bytes]) -> Iterator[int]:
    """Yield how much memory each template of a prompt takes once it is filled in."""
    for part in prompt.parts:
        template = templates.get(part.content.get("template", ""))
        if template is not None:
            yield len(template)  # which is looked at first
            yield filled_size(template.decode(), values_of(part.content))


def _due(replay: Replay, seq: int, step: str) -> Step:
    """Return the step that the call of an entry is for."""
    due = replay.due() if replay.state.seated else None
    for row in due.steps if isinstance(due, Ask) else ():
        if row.id == step:
            return row
    raise DataError("report.record", f"entry {seq}: no call for {step} was due; verify the record")
