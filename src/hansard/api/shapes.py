"""What Python gives in place of a seat's fields: a function, a model's name, a few words.

- A seat is its fields, or what answers in it: a function, an object that answers calls, or the
  name of a model.
- Seats in a list may also be words: where stances are argued a stance, else the id of the seat.
- Seats may be given by name, too, as a mapping: its keys are labels of stances, else ids. Words
  in it that name a model are one; other words are a stance, or else a persona.
- `agents` may list what answers in each, and then they are `agent_1`, `agent_2`, ….

A function in a list is called by its own name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from hansard.rules.formats import DEFAULT, SPECS
from hansard.rules.own import is_own, name_of
from hansard.rules.spec_parts import PROVIDERS, Advocate, Seat, provider_of


def shaped(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a spec with each seat as its own fields.

    >>> shaped({"format": "judged", "debaters": {"ship": "Ship now."}, "judge": "openai:m"})
    {'format': 'judged', 'debaters': [{'label': 'ship', 'stance': 'Ship now.'}], 'judge': \
{'model': 'openai:m'}}
    """
    spec = SPECS.get(str(fields.get("format", DEFAULT)))
    found = dict(fields)
    agents = found.get("agents")
    if isinstance(agents, list | tuple):
        del found["agents"]
        found["debaters"] = [
            _with(f"agent_{number}", "id", _seat(row)) for number, row in enumerate(agents, 1)
        ]
    for name, field in spec.model_fields.items() if spec else ():
        kinds = {kind for kind in _within(field.annotation) if issubclass(kind, Seat)}
        if name not in found or not kinds:
            continue
        is_many = any(get_args(kind) == (*kinds,) for kind in _lists(field.annotation))
        found[name] = (
            _seats(found[name], argued=Advocate in kinds) if is_many else _seat(found[name])
        )
    return found


def _lists(annotation: Any) -> Iterator[Any]:
    """Yield the lists in an annotation."""
    if getattr(annotation, "__origin__", None) is list:
        yield annotation
    for inner in get_args(annotation):
        yield from _lists(inner)


def _within(annotation: Any) -> Iterator[type]:
    """Yield the classes that an annotation is made of."""
    if isinstance(annotation, type):
        yield annotation
    for inner in get_args(annotation):
        yield from _within(inner)


def _seat(value: object) -> object:
    """Return the fields of a seat; whatever is no short form of one stays as it is."""
    return {"model": value} if isinstance(value, str) or is_own(value) else value


def _seats(value: object, *, argued: bool) -> object:
    if isinstance(value, Mapping):
        key = "label" if argued else "id"
        return [_with(name, key, _named(row, argued=argued)) for name, row in value.items()]
    if isinstance(value, list | tuple):
        return [_listed(row, argued=argued) for row in value]
    return value


def _named(value: object, *, argued: bool) -> object:
    """Return the fields of a seat that has its name already."""
    if isinstance(value, str) and provider_of(value) not in PROVIDERS:
        return {"stance" if argued else "persona": value}
    return _seat(value)


def _listed(value: object, *, argued: bool) -> object:
    if isinstance(value, str):
        return {"stance" if argued else "id": value}
    if is_own(value):
        return {"id": name_of(value).rpartition(".")[2], "model": value}
    return value


def _with(name: object, key: str, row: object) -> object:
    """Return the fields of a seat with its name; what has another form is refused when read."""
    if isinstance(row, Seat):
        row = {field: getattr(row, field) for field in row.model_fields_set}
    return {key: name, **row} if isinstance(row, Mapping) else row
