"""Markdown's signs: what users and models wrote, made inert, and the little that we write.

What somebody wrote is hostile: it may try to be a heading, a link, an image,
HTML, or a row of one of our tables. So it stands in a block quote, every line
a paragraph of its own, every sign that means something escaped, and every word
that some renderer would turn into a link as code. Ids hold no sign that could
end a code span or a table cell, and always stand as code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import cast

from hansard.report.parts import Spoken
from hansard.report.result import Output, Result
from hansard.report.safe import shown, substituted
from hansard.report.words import GONE, HEAD, REASONS, STOPPED, stance
from hansard.rules.terms import CloseReason

_SIGNS = re.compile(r"[\\`*_\[\]#|~!>$]")
_OPENER = re.compile(r"^(?:[-+=]|[0-9]+(?=[.)]))")
_LINK = re.compile(r"@|://|www\.|\w\.[a-z]{2}", re.IGNORECASE)
_ENDS = re.compile("([|~])")
_TICKS = re.compile("`+")


def inline(text: str) -> str:
    """Return `text` as one line of Markdown that reads as plain words."""
    words = " ".join(_word(word) for word in shown(text).split())
    return _OPENER.sub(lambda found: _escape_opener(found[0]), words)


def named(label: str, text: str | None, limit: int = HEAD) -> str:
    """Return a stance as a line shows it, in words or by its label alone."""
    line = stance(label, text, limit)
    return f"`{label}`" if line == label else inline(line)


def quoted(text: str | None, *, struck: bool = False) -> str:
    """Return `text` as a block quote, struck through if need be; says so where it is gone."""
    if text is None:
        return f"> {inline(GONE)}"
    lines = [inline(line) for line in text.split("\n") if line.strip()]
    around = "~~" if struck else ""
    return "\n>\n".join(f"> {around}{line}{around}" for line in lines) or ">"


def listed(texts: Iterable[str], *, gone: bool = False) -> str:
    """Return texts as a list, a line each; says so where they are gone."""
    if gone:
        return quoted(None)
    return "\n".join(f"- {inline(text)}" for text in texts) or "None."


def _word(word: str) -> str:
    if _LINK.search(word):  # what ends a cell, or a struck text, may do so within code as well
        parts = _ENDS.split(word)
        return "".join(f"\\{part}" if _ENDS.match(part) else _code(part) for part in parts if part)
    word = word.replace("&", "&amp;").replace("<", "&lt;")
    return substituted(_SIGNS, lambda found: f"\\{found[0]}", word)


def _escape_opener(opener: str) -> str:
    return f"\\{opener}" if len(opener) == 1 and not opener.isdigit() else f"{opener}\\"


def _code(text: str) -> str:
    """Return a code span that `text` cannot end."""
    fence = "`" * (1 + max((len(run) for run in _TICKS.findall(text)), default=0))
    return f"{fence} {text} {fence}" if len(fence) > 1 else f"`{text}`"


def ids(names: Iterable[str]) -> str:
    """Return ids as code."""
    return ", ".join(f"`{name}`" for name in names)


def voted(vote: str | None) -> str:
    """Return a vote; none is an abstention."""
    return f"`{vote}`" if vote else "abstained"


def or_gone(value: object) -> str:
    """Return a number or an id that may be gone."""
    return inline(GONE) if value is None else str(value)


def table(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table; its cells are numbers, ids as code, or inline text."""
    head = list(header)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def fenced(text: str, language: str) -> str:
    """Return lines as code. None of them may begin with a fence: ours begin with a key."""
    return f"```{language}\n{text}\n```"


def as_json(value: Output) -> str:
    """Return JSON as code: no line of it can begin with a fence."""
    return fenced(shown(json.dumps(value, indent=2, ensure_ascii=False)), "json")


def not_heard(turn: Spoken) -> str:
    """Say why nobody was heard in a turn; of one that was heard nothing."""
    return f"Not heard: {REASONS[turn.reason]}" if turn.reason else ""


def failure_of(result: Result) -> str:
    """Say why a debate failed, and what to mend: the last note on it says both."""
    reason = cast(CloseReason, result.reason)
    notes: dict[str, str] = {note.code: note.message for note in result.notes}
    return f"{notes['refused' if reason == 'prompt_refused' else reason]}."


def undecided(result: Result) -> Iterator[str]:
    """Say why there is no decision."""
    rounds = f"after {result.rounds_run} of at most {result.max_rounds} rounds"
    if result.reason is None:
        yield f"None yet: the debate is still open {rounds}."
        return
    why = f"{STOPPED[result.reason]} (`{result.reason}`)"
    if result.truncated is None:
        failed = f"**None: the debate failed** (`{result.reason}`)"
        yield f"{failed} {rounds}: {inline(failure_of(result))}"
        return
    whose = result.truncated.stopper
    why += f", {inline(whose)}" if whose else ""
    yield f"**None: the debate was cut short** {rounds}: {why}. What follows is the best standing."
