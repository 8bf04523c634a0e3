"""A debate from its opening, or from where it stopped, to its end."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

from hansard.debate.events import Fact, blob_names, parse
from hansard.debate.formats import FORMATS
from hansard.debate.replay import OFFLINE, NotDue, Replay, approved_by
from hansard.debate.spec import DebateSpec, PriceSpec
from hansard.debate.state import DebateState, evolve
from hansard.errors import DataError, UsageError
from hansard.record import blob
from hansard.record.bundle import Bundle, Head, of_files, unpack
from hansard.record.canonical import dump
from hansard.record.line import GENESIS, line_hash
from hansard.record.policy import Policy
from hansard.runtime.clock import Clock
from hansard.runtime.engine import ENGINE, Engine
from hansard.runtime.inputs import load_yaml, read_evidence, read_templates, validate
from hansard.runtime.journal import Journal, Observer
from hansard.runtime.models.base import Closing, Model
from hansard.runtime.models.callables import ModelFunction, as_model
from hansard.runtime.models.recorded import RecordedModel
from hansard.runtime.models.scripted import Script, ScriptedModel
from hansard.store.application import Store

Models = Mapping[str, Model | ModelFunction]
Approved = Mapping[str, str] | None


def find_models(
    names: Mapping[str, str], folder: Path, store: Store, given: Models | None
) -> dict[str, Model]:
    """Return the model of each seat, from the `provider:name` strings of `names`.

    `given` maps the names of `python:` models to callables. Raises UsageError
    `model.*` or `spec.*` for one that is not there.
    """
    found: dict[str, Model] = {}
    silent: list[tuple[str, str]] = []
    for name in dict.fromkeys(names.values()):
        provider, _, rest = name.partition(":")
        if provider == "python":
            if not given or rest not in given:
                raise UsageError(
                    "model.not_given",
                    f"model {name} is a Python callable: pass models={{{rest!r}: …}} from Python",
                )
            found[name] = as_model(given[rest])
        elif provider == "scripted":
            script = validate(Script, load_yaml(folder / rest), rest)
            found[name] = ScriptedModel(script)
            seats = [seat for seat, model in names.items() if model == name]
            silent += [(rest, seat) for seat in seats if seat not in script.replies]
        elif provider == "openai":
            found[name] = _open_model(rest)
        else:
            found[name] = RecordedModel(_recorded(folder / rest, rest, store))
    for script_file, seat in silent:
        raise UsageError("spec.script", f"{script_file} has no replies for {seat}")
    return {seat: found[name] for seat, name in names.items()}


def _open_model(name: str) -> Model:
    """Open a model behind HTTP; its packages are an extra, and take a second to import."""
    from hansard.runtime.models.pydantic_ai import open_model  # noqa: PLC0415

    return open_model(name)


async def _play(engine: Engine, seats: Mapping[str, Model], given: Models | None) -> DebateState:
    """Run the engine to the end, and close the models that were opened for it, not the given."""
    try:
        return await engine.run()
    finally:
        kept = {id(model) for model in (given or {}).values()}
        for model in {id(model): model for model in seats.values()}.values():
            if isinstance(model, Closing) and id(model) not in kept:
                await model.aclose()


def _recorded(path: Path, name: str, store: Store) -> Bundle:
    """Return the record that a `recorded:` model answers from: an export's, or the store's."""
    if path.is_file():
        return of_files(unpack(path.read_bytes()))
    return store.bundle(store.find(name))


async def run(
    spec: DebateSpec,
    store: Store,
    folder: Path,
    *,
    models: Models | None = None,
    policy: Policy | None = None,
    clock: Clock | None = None,
    observe: Observer | None = None,
) -> DebateState:
    """Open the debate that `spec` describes, run it to its end and return its state.

    Relative file names begin in `folder`. Everything the spec names is read
    and checked before the first event is written. Under a `policy` (whose
    signature the caller has checked) no model is called with a template that
    it does not approve.
    """
    clock = clock or Clock()
    spec = read_evidence(spec, folder)
    templates = read_templates(spec, folder)
    seats = find_models({row.id: row.model for row in spec.debaters}, folder, store, models)
    debate = clock.debate_id()
    journal = Journal(store, debate, clock)
    state = DebateState()
    rules = FORMATS[spec.format]
    schema = dump(rules.reply_schema(spec.options))
    files = {sha256(body).hexdigest(): body for body in (*templates.values(), schema)}
    kept = files if policy is None else {**files, policy.hash: policy.data}
    approved = policy.approved(spec.format) if policy else None
    with store.runner(debate):
        for fact in opening(spec, templates, schema, seats, journal, policy):
            event = journal.add(fact)
            evolve(state, event)
            if observe:
                observe(event)
        journal.flush(tuple(kept.items()), str(folder.absolute()))
        engine = Engine(state, journal, seats, files, clock, approved, observe)
        return await _play(engine, seats, models)


async def resume(
    debate: str,
    store: Store,
    *,
    models: Models | None = None,
    clock: Clock | None = None,
    observe: Observer | None = None,
) -> DebateState:
    """Go on with a debate that a process left open, and return its state at its end.

    No reply that is in the record is asked for again. Raises UsageError
    `debate.closed`, `store.running`, or DataError for a damaged record.
    """
    clock = clock or Clock()
    with store.runner(debate):
        bundle = store.bundle(debate)
        if not bundle.lines:
            raise UsageError("store.unknown", f"there is no debate {debate} in {store.url}")
        state, texts, approved = _reload(debate, bundle)
        if state.closed:
            raise UsageError("debate.closed", f"debate {debate} is closed; there is nothing to do")
        names = {seat["id"]: seat["model"] for seat in state.seats.values()}
        seats = find_models(names, store.folder(debate), store, models)
        last = bundle.lines[-1]
        journal = Journal(store, debate, clock, seq=state.seq, prev=line_hash(last), at=state.at)
        journal.texts.update(texts)
        engine = Engine(state, journal, seats, bundle.templates, clock, approved, observe)
        engine.resumed()
        return await _play(engine, seats, models)


def _reload(debate: str, bundle: Bundle) -> tuple[DebateState, dict[str, str], Approved]:
    """Return a record's state, its texts and what its policy approves, having followed it all.

    Nothing is added to a record that is not whole: raises DataError `debate.damaged`.
    """
    damaged = DataError(
        "debate.damaged", f"debate {debate} is damaged; `hansard verify {debate[:8]}` says where"
    )
    if bundle.head != Head(len(bundle.lines), line_hash(bundle.lines[-1])):
        raise damaged
    events = [parse(line) for line in bundle.lines]
    opened = events[0]
    if opened["type"] != "debate.opened":
        raise damaged
    data = opened["data"]
    files = {**bundle.templates, **bundle.policies}
    hashes = [row["sha256"] for row in (*data["templates"], *data["schemas"])]
    hashes += [data["policy"]] if data["policy"] else []
    if any(sha256(files.get(name, b"")).hexdigest() != name for name in hashes):
        raise damaged
    approved = approved_by(data, bundle.policies)
    texts = {name: blob.unpack(file) for name, file in bundle.blobs.items()}
    replay = Replay(texts.get, approved)
    prev = GENESIS
    try:
        for line, event in zip(bundle.lines, events, strict=True):
            whole = event["prev"] == prev and all(name in texts for name in blob_names(event))
            if not whole or replay.step(event):
                raise damaged
            prev = line_hash(line)
    except NotDue:
        raise damaged from None
    return replay.state, texts, approved


def opening(
    spec: DebateSpec,
    templates: Mapping[str, bytes],
    schema: bytes,
    models: Mapping[str, Model],
    journal: Journal,
    policy: Policy | None = None,
) -> list[Fact]:
    """Return the facts that open a debate: the frozen spec, its seats, its documents."""
    prices = {row.model: models[row.id].price for row in spec.debaters} | spec.prices
    opened = {
        "engine": ENGINE,
        "rules": 1,
        "terms": {
            "format": spec.format,
            "options": list(spec.options),
            "rule": spec.rule,
            "threshold": spec.needed,
            "max_rounds": spec.max_rounds,
        },
        "question": journal.blob(spec.question),
        "review": journal.blob(spec.review),
        "seats": len(spec.debaters),
        "documents": len(spec.evidence),
        "attempts": spec.attempts,
        "timeout_ms": max(1, round(spec.timeout_seconds * 1000)),
        "seed": str(spec.seed),
        "layout": "shared-prefix",
        "policy": policy.hash if policy else None,
        "templates": [
            {"role": role, "sha256": sha256(body).hexdigest()} for role, body in templates.items()
        ],
        "schemas": [{"role": "debater", "sha256": sha256(schema).hexdigest()}],
        "prices": [_price(model, price) for model, price in sorted(prices.items()) if price],
        "scripted": any(row.model.startswith(OFFLINE) for row in spec.debaters),
    }
    seats = [
        Fact(
            "debater.registered",
            {
                "id": row.id,
                "role": "debater",
                "position": position,
                "model": row.model,
                "parameters": row.settings.model_dump(),
                "persona": journal.blob(row.persona) if row.persona else None,
            },
        )
        for position, row in enumerate(spec.debaters, 1)
    ]
    documents = [
        Fact(
            "evidence.admitted",
            {
                "document": row.id,
                "text": journal.blob(row.text or ""),
                "from_round": row.from_round,
            },
        )
        for row in spec.evidence
    ]
    return [Fact("debate.opened", opened), *seats, *documents]


def _price(model: str, price: PriceSpec) -> dict[str, Any]:
    """Return a price in whole micro-US-dollars per million tokens."""
    return {
        "model": model,
        "input_micro_usd": _micro(price.input),
        "cached_micro_usd": _micro(price.cached or price.input),
        "output_micro_usd": _micro(price.output),
    }


def _micro(dollars: str) -> int:
    return int(Decimal(dollars) * 1_000_000)
