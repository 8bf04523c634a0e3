"""The model of each seat, found by its `provider:name` before anything is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from hansard.errors import UsageError
from hansard.rules.formats import AnySpec
from hansard.rules.own import Own, piece_of
from hansard.runtime.files import Files
from hansard.runtime.models.base import Model
from hansard.runtime.models.callables import as_model, in_turn, looked_at
from hansard.runtime.models.providers import open_model
from hansard.runtime.models.scripted import Script, ScriptedModel
from hansard.runtime.output import encoded, schema_bytes
from hansard.runtime.pacing import slots_of
from hansard.runtime.replies import Records, Scripts
from hansard.store.application import Store

Models = Mapping[str, Model | Own]


def given_to(spec: AnySpec, models: Models | None) -> Models:
    """Return the callables by name: those that `models` gives, and those in the spec itself.

    Raises UsageError `model.not_given` where `models` are not by name, and
    `model.named_twice` where two of them have one name.
    """
    own, given = spec.functions(), {} if models is None else models
    if not isinstance(given, Mapping):
        said = "`models` are functions by name: write models={NAME: FUNCTION}"
        raise UsageError("model.not_given", said)
    for name, function in own.items():
        if name in given and given[name] is not function:
            raise UsageError(
                "model.named_twice",
                f"the function in a seat is called {name}, and so is another under `models`; "
                "rename one of them",
            )
    return {**own, **given}


def require_fit(spec: AnySpec, files: Files, given: Models) -> None:
    """Refuse a piece of `hansard.blocks` in a seat that it is not made for, or that differs.

    In a seat a piece is asked what its seat is asked, and nothing of its own may be lost.
    Raises UsageError `model.piece`.
    """
    for row in spec.table():
        provider, _, name = row.model.partition(":")
        piece = None
        if provider in ("python", "custom"):
            with looked_at(row.model):
                piece = piece_of(given.get(name))
        if piece is None:
            continue
        said = f"a {piece.role} of hansard.blocks cannot be {row.id}, a {row.role} of {spec.format}"
        if piece.role != row.role or (piece.role != "synthesizer" and spec.format != "judged"):
            meant = "any format" if piece.role == "synthesizer" else "judged"
            raise UsageError("model.piece", f"{said}; it can be a {piece.role} of {meant}")
        known: dict[str, Any] = {"persona": row.persona}
        if row.stance:
            known["stance"] = row.stance.stance
        if "stances" in piece.debate:
            known["stances"] = [seat.stance.stance for seat in spec.table() if seat.stance]
        for field, own in {**piece.seat, **piece.debate}.items():
            value = known[field] if field in known else getattr(spec, field)
            if field == "output_schema":
                own, value = encoded(own), schema_bytes(spec, files)  # noqa: PLW2901
            if own != value:
                raise UsageError("model.piece", f"{said}: its `{field}` is another; give the same")


async def find_models(
    asked: Mapping[str, tuple[str, str | None]], files: Files, store: Store, given: Models | None
) -> dict[str, Model]:
    """Return the model of each seat, from `provider:name` and the server's address, if any.

    `given` maps the names of `python:` models to callables. Raises UsageError
    `model.*` or `spec.*` for one that is not there.
    """
    found: dict[tuple[str, str | None], Model] = {}
    missing: list[tuple[str, str]] = []  # a file of replies, and a seat that it leaves out
    scripts, records = Scripts(files), Records(files, store)
    for one in dict.fromkeys(asked.values()):
        name, base_url = one
        provider, _, rest = name.partition(":")
        if provider in ("python", "custom"):
            found[one] = _called(name, given)
        elif provider == "scripted":
            found[one] = script = scripts.model(rest)
            seats = [seat for seat, model in asked.items() if model == one]
            missing += [(rest, seat) for seat in seats if not script.knows(seat)]
        elif provider == "recorded":
            # In a thread: a large record must not keep a worker from a sign of life.
            found[one] = await in_turn(records.model, rest)
        else:
            found[one] = open_model(name, base_url)
    for script_file, seat in missing:
        raise UsageError("spec.script", f"{script_file} has no replies for {seat}; add them")
    for name, _ in asked.values():
        slots_of(name)  # a limit that cannot be read is found before anything is recorded
    return {seat: found[one] for seat, one in asked.items()}


def _called(name: str, given: Models | None) -> Model:
    """Return the function that a `python:` or `custom:` model names, as a model."""
    function = _function(name, given)
    with looked_at(name):
        return as_model(function)


def _function(model: str, given: Models | None) -> Model | Own:
    """Return the function that a `python:` or `custom:` model names; UsageError if none is given.

    >>> _function("python:aks", {"ask": str, "decide": str})
    Traceback (most recent call last):
    hansard.errors.UsageError: model python:aks names none of the functions that are given \
(ask, decide); did you mean ask?
    """
    name = model.partition(":")[2]
    if not given:
        raise UsageError(
            "model.not_given",
            f"model {model} is a Python callable: name the file of its function with --models "
            f"FILE.py (in Python: models={{{name!r}: …}})",
        )
    if name not in given:
        close = get_close_matches(name, given, 1)
        meant = f"; did you mean {close[0]}?" if close else ""
        raise UsageError(
            "model.not_given",
            f"model {model} names none of the functions that are given ({', '.join(given)}){meant}",
        )
    return given[name]


def unasked(asked: Mapping[str, str], files: Files, given: Models | None) -> dict[str, Model]:
    """Return for each seat a model that nobody will ask, with the price it states, if any."""
    scripts = Scripts(files)

    def silent(model: str) -> Model:
        provider, _, name = model.partition(":")
        if provider == "scripted":
            return scripts.model(name)
        if provider in ("python", "custom") and given:
            return _called(model, given)
        return ScriptedModel(Script(replies={}))

    return {seat: silent(model) for seat, model in asked.items()}
