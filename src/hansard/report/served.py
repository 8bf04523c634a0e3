"""Which model answered: the one that was asked for, or another (RULES.md D 65)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hansard import vocabulary
from hansard.report.fold import Folded
from hansard.rules.seating import LOCAL

_MOST = 512  # characters that are compared, from the end: an id has 256, and a version follows
_LATEST = re.compile(r"[-:]latest$")
_VERSION = re.compile(
    r"(?::latest|[-@](?:[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{8}|[0-9]{2}-[0-9]{4}|[0-9]{3,4}))?"
).fullmatch


def is_asked(asked: str, served: str) -> bool:
    """Whether a provider's name of the model served is that of the model asked for.

    >>> is_asked("openai:gpt-5", "gpt-5-2025-08-07"), is_asked("openai:gpt-5", "gpt-5-mini")
    (True, False)
    """
    wanted, name = (_name(text) for text in (asked.partition(":")[2], served))
    if name == wanted:
        return True
    base = _LATEST.sub("", wanted)
    return name.startswith(base) and bool(_VERSION(name[len(base) :]))


def _name(model: str) -> str:
    return model[-_MOST:].rpartition("/")[2].lower()


def otherwise(found: Folded) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the model asked for, the other one that answered, and in which calls.

    A provider that names none, or by a text that is gone, says nothing.
    """
    calls: dict[tuple[str, str], list[str]] = {}
    for _, started in found.started:
        asked, call = started["model"], started["call"]
        model = found.answers[call]["model"] if call in found.answers else None
        served = model if model is None or isinstance(model, str) else found.text(model)
        if served is None or asked.startswith(LOCAL) or is_asked(asked, served):
            continue
        name = served if isinstance(model, str) else vocabulary.word("no_id")
        calls.setdefault((asked, name), []).append(call)
    for (asked, name), named in calls.items():
        yield asked, name, named
