"""What each text of an entry is, in the words that the vocabulary has for its type and field.

A field is named with those it stands in, as in `stance.text`; of a list, each text has the same
words. There are two groups: `texts` are those that a report shows, and misses if they are gone;
`annexed` are those that a dossier shows in full after its other sections.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal

from hansard import vocabulary
from hansard.report.words import place
from hansard.vocabulary import fill

Group = Literal["texts", "annexed"]


def texts_in_words(group: Group, kind: str, data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what each text is that a group has words for, and the text's name.

    >>> blob = {"sha256": "0" * 64}
    >>> data = {"id": "ann", "persona": None, "stance": {"label": "wait", "text": blob}}
    >>> [what for what, _ in texts_in_words("texts", "debater.registered", data)]
    ['the stance wait']
    """
    values = {**data, "who": place(data["step"])} if "step" in data else data
    for path, words in _rows(group).get(kind, ()):
        for within, name in _names(data, path, values):
            yield fill(words, **within), name


@cache
def _rows(group: Group) -> Mapping[str, list[tuple[str, str]]]:
    """Return the fields of each type of event, with the words for each."""
    rows = defaultdict(list)
    for fields, words in vocabulary.words(group).items():
        for field in fields.split(", "):
            kind, path = field.split(" ")
            rows[kind].append((path, words))
    return rows


def _names(
    value: Any, path: str, values: Mapping[str, Any]
) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield the name of each text at a path, with the values of whatever the text stands in."""
    if isinstance(value, list):
        for item in value:
            yield from _names(item, path, values)
    elif value and path:
        field, _, rest = path.partition(".")
        yield from _names(value[field], rest, {**values, **value})
    elif value:
        yield values, value["sha256"]
