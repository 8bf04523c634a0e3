"""Results of debates that Python functions played.

ran("judged", {"verdict": {"winner": "wait"}}, max_rounds=1)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hansard.record import blob
from hansard.record.bundle import Bundle
from hansard.report.formats import DebateResult
from hansard.report.notes import Note
from hansard.report.view import build
from hansard.rules.events import parse
from playing import play, script
from support import Debate


def shown(bundle: Bundle, text_of: Callable[[str], str | None] | None = None) -> DebateResult:
    """The result of a record, with its own texts or with others."""
    texts = {name: blob.unpack(file) for name, file in bundle.blobs.items()}
    return build(map(parse, bundle.lines), text_of or texts.get)


def of(debate: Debate, text_of: Callable[[str], str | None] | None = None) -> DebateResult:
    """The result of a debate that was played without an engine."""
    return build(debate.record.events, text_of or debate.record.texts.get)


def ran(format_: str, ends: Mapping[str, Any] | None = None, **changes: Any) -> DebateResult:
    """Play a debate and return its result; see `playing.script` for `ends`."""
    return shown(play(format_, script(ends or {}), **changes))


def noted(result: DebateResult, code: str) -> list[tuple[int | None, str]]:
    """The entry and the words of each note with this code."""
    return [(note.seq, note.message) for note in result.notes if note.code == code]


def note_of(result: DebateResult, code: str) -> Note:
    """The only note with this code."""
    (found,) = (note for note in result.notes if note.code == code)
    return found
