"""Whether a recorded debate was opened just as a new one would be, so that none is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hansard.rules.events import Event
from hansard.rules.prompts import TextOf
from hansard.runtime.opening import Opening, unsalted


def is_alike(opening: Opening, events: Sequence[Event], text_of: TextOf) -> bool:
    """Say whether a debate was opened as `opening` would open one: to the letter of every text.

    Prices count as long as it is open: by them its ceilings are tested, and its cost is counted.
    """
    texts: dict[str, str] = {}
    first: Mapping[str, Any] = events[0]["data"]
    facts = opening.facts(unsalted(texts), first["estimate"])
    ended = any(row["type"] == "debate.closed" for row in events)
    asked = [_said(fact.data, texts.get) for fact in facts]
    found = [_said(row["data"], text_of) for row in events[: len(facts)]]
    for opened in (asked[0], found[0]):  # what another version, or price list, says otherwise
        prices = [] if ended else [{**row, "source": None} for row in opened["prices"]]
        opened |= {"engine": None, "prices": prices}
    return asked == found


def _said(value: Any, text_of: TextOf) -> Any:
    """Return data of an entry with each text in place of the name of its blob."""
    if isinstance(value, Mapping):
        if value.keys() == {"sha256"}:
            return text_of(value["sha256"])
        return {name: _said(row, text_of) for name, row in value.items()}
    return [_said(row, text_of) for row in value] if isinstance(value, list) else value
