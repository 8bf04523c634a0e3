"""What Python gives in place of a seat's fields: a function, a model's name, a few words.

- A seat is its fields, or what answers in it: a function, an object that answers calls, or the
  name of a model.
- Seats in a list may also be words: where stances are argued a stance, else the id of the seat.
- Seats may be given by name, too, as a mapping or as a list of pairs: the names are labels of
  stances, else ids. Words that name a model are one, also by a slip, which is then
  refused; other words are a stance, or else a persona.
- `agents` may list what answers in each, and those without a name are `agent_1`, `agent_2`, …;
  or it is one function that answers for all of them.

A function in a list is called by its own name. What `hansard.blocks` returns says itself which
stance it argues, under which persona, or into which schema it writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeGuard, get_args

from hansard.errors import UsageError
from hansard.rules.formats import DEFAULT, SPECS
from hansard.rules.model_names import PROVIDERS, is_slip, provider_of
from hansard.rules.own import Own, is_own, name_of, piece_of
from hansard.rules.spec_parts import Advocate, Seat


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
    elif is_own(agents):
        del found["agents"]
        if found.setdefault("model", agents) is not agents:
            raise UsageError(
                "spec.agents",
                "one function under `agents` answers in every seat that names no other, and so "
                "does `model`; remove `model`, or list what answers in each",
            )
    piece = piece_of(found.get("synthesizer"))
    if piece:
        found = {**piece.debate, **found}
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


def _seat(value: object, *, argued: bool = False) -> object:
    """Return the fields of a seat; whatever is no short form of one stays as it is."""
    if isinstance(value, str):
        return {"model": value}
    return _own_seat(value, argued=argued) if is_own(value) else value


def _own_seat(value: Own, *, argued: bool) -> dict[str, object]:
    """Return the fields of a seat that a function fills; a stance only where one is argued."""
    piece = piece_of(value)
    known = {} if piece is None else piece.seat
    return {"model": value, **{name: known[name] for name in known if argued or name != "stance"}}


def _seats(value: object, *, argued: bool) -> object:
    if not isinstance(value, Mapping | list | tuple):
        return value
    rows: list[object] = [*(value.items() if isinstance(value, Mapping) else value)]
    _check_names(row for row in rows if not (argued and piece_of(row)))
    return [
        _named(*row, argued=argued) if _is_pair(row) else _listed(row, argued=argued)
        for row in rows
    ]


def _is_pair(value: object) -> TypeGuard[tuple[str, object]]:
    """Say whether a value is a name and what has it."""
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)


def _check_names(rows: Iterable[object]) -> None:
    """Refuse functions of one name that are to call their seats after themselves."""
    names = Counter(_called(row) for row in rows if is_own(row))
    for name, times in names.items():
        if times > 1:
            raise UsageError(
                "spec.duplicate",
                f"{times} seats in a list would be called {name}, after their function; name "
                f'them: {{"NAME": {name}, …}}',
            )


def _called(own: Own) -> str:
    return name_of(own).rpartition(".")[2]


def _named(name: str, value: object, *, argued: bool) -> object:
    """Return the fields of a seat that is given with its name."""
    row = _seat(value, argued=argued)
    if isinstance(value, str) and provider_of(value) not in PROVIDERS and not is_slip(value):
        row = {"stance" if argued else "persona": value}
    return _with(name, "label" if argued else "id", row)


def _listed(value: object, *, argued: bool) -> object:
    if isinstance(value, str):
        return {"stance" if argued else "id": value}
    if is_own(value):
        name = {} if argued and piece_of(value) else {"id": _called(value)}
        return {**_own_seat(value, argued=argued), **name}
    return value


def _with(name: object, key: str, row: object) -> object:
    """Return the fields of a seat with its name; what has another form is refused when read."""
    if isinstance(row, Seat):
        row = {field: getattr(row, field) for field in row.model_fields_set}
    return {key: name, **row} if isinstance(row, Mapping) else row
