"""Whether a recorded debate was opened as a new one would be, so that none is needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hansard.rules.events import Event, Fact
from hansard.rules.prompts import TextOf
from hansard.runtime.opening import Opening, unsalted

# What of an opening says what is asked; the rest says how it is run and filed.
_OPENED = ("context", "instructions", "terms", "seed")
_SEATED = ("id", "role", "persona", "instructions", "stance")


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


class _Gone:
    """Stands in place of a text that was erased, and is like any."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


def differs(
    opening: Opening, events: Sequence[Event], text_of: TextOf, *, models: bool
) -> str | None:
    """Say in what a debate asks something else than `opening` would, with `models` somebody else.

    Ceilings, prices, retries and prompts do not count, nor do texts that are gone. A document that
    was a file is compared by that file, which another version may read otherwise.
    """
    texts: dict[str, str] = {}
    gone: Any = _Gone()

    def text(name: str) -> Any:
        found = text_of(name)
        return gone if found is None else found

    seated = ("model", *_SEATED) if models else _SEATED
    asked = _parts(opening.facts(unsalted(texts)), texts.get, seated)
    found = _parts((Fact(row["type"], row["data"]) for row in events), text, seated)
    return next((what for what in asked if asked[what] != found[what]), None)


def _parts(facts: Iterable[Fact], text_of: TextOf, seated: Sequence[str]) -> dict[str, Any]:
    """Return what is asked, each part behind words for a debate in which it is another one."""
    question, documents, rest = [], [], []
    for kind, data in facts:
        if kind == "debate.opened":
            question.append(_said(data["question"], text_of))
            rest.append(_said({name: data[name] for name in _OPENED}, text_of))
        elif kind == "debater.registered":
            rest.append(_said({name: data[name] for name in seated}, text_of))
        elif kind == "evidence.admitted":
            text = data["source"]["file"] if data["source"] else data["text"]
            documents.append(_said([data["document"], data["from_round"], text], text_of))
    return {
        "was asked another question": question,
        "is about other documents": documents,
        "has another context, other rules, instructions, seats or stances": rest,
    }


def _said(value: Any, text_of: TextOf) -> Any:
    """Return data of an entry with each text in place of the name of its blob."""
    if isinstance(value, Mapping):
        if value.keys() == {"sha256"}:
            return text_of(value["sha256"])
        return {name: _said(row, text_of) for name, row in value.items()}
    return [_said(row, text_of) for row in value] if isinstance(value, list) else value
