"""A debate from its opening, or from where it stopped, to its end."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

from hansard.debate.events import Fact, blob_names, parse
from hansard.debate.formats import FORMATS
from hansard.debate.replay import OFFLINE, NotDue, Replay, approved_by
from hansard.debate.spec import AnySpec
from hansard.debate.spec_base import AGENT_TYPES
from hansard.debate.spec_parts import PriceSpec, Seated
from hansard.debate.state import DebateState, evolve
from hansard.debate.transcript import CUSTOM
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
from hansard.runtime.output import checker, schema_bytes
from hansard.runtime.tools import Tool, ToolFunction, find_tools
from hansard.store.application import Store

Models = Mapping[str, Model | ModelFunction]
Tools = Mapping[str, ToolFunction]
Approved = Mapping[str, str] | None

COST_CEILING = 500_000  # micro-US-dollars, of a moderated debate whose prices are known (D 21)
REPLY_CAP = 4096  # tokens, where a ceiling needs to know how long a reply can be


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
        if provider in ("python", "custom"):
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
    spec: AnySpec,
    store: Store,
    folder: Path,
    *,
    models: Models | None = None,
    tools: Tools | None = None,
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
    table = spec.table()
    _warn_of_ignored(spec, table)
    seats = find_models({row.id: row.model for row in table}, folder, store, models)
    opening = Opening(
        spec,
        read_templates(spec, folder),
        schemas_of(spec, table, folder),
        find_tools(spec.tools, tools),
        seats,
        policy,
    )
    debate = clock.debate_id()
    journal = Journal(store, debate, clock)
    state = DebateState()
    kept = opening.files if policy is None else {**opening.files, policy.hash: policy.data}
    approved = policy.approved(spec.format) if policy else None
    with store.runner(debate):
        for fact in opening.facts(journal):
            event = journal.add(fact)
            evolve(state, event)
            if observe:
                observe(event)
        journal.flush(tuple(kept.items()), str(folder.absolute()))
        engine = Engine(
            state, journal, seats, opening.files, clock, approved, observe, opening.tools
        )
        return await _play(engine, seats, models)


async def resume(
    debate: str,
    store: Store,
    *,
    models: Models | None = None,
    tools: Tools | None = None,
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
        _check_deliverable(state, bundle)
        found = _same_tools(state, tools)
        names = {seat["id"]: seat["model"] for seat in state.seats.values()}
        seats = find_models(names, store.folder(debate), store, models)
        last = bundle.lines[-1]
        journal = Journal(store, debate, clock, seq=state.seq, prev=line_hash(last), at=state.at)
        journal.texts.update(texts)
        engine = Engine(state, journal, seats, bundle.templates, clock, approved, observe, found)
        engine.resumed()
        return await _play(engine, seats, models)


def _warn_of_ignored(spec: AnySpec, table: list[Seated]) -> None:
    """Say once that a seat which a function fills is told nothing of its own (D 16)."""
    custom = [row for row in table if row.model.startswith(CUSTOM)]
    told = spec.tools or spec.context or spec.instructions or any(row.persona for row in custom)
    if custom and told:
        names = ", ".join(row.id for row in custom)
        warnings.warn(
            f"persona, instructions, context and tools are not passed on to {names}: custom seats",
            stacklevel=3,
        )


def _check_deliverable(state: DebateState, bundle: Bundle) -> None:
    """Refuse a debate whose deliverable could not be checked here, before it goes on."""
    for row in state.spec["schemas"]:
        if row["role"] == "synthesizer":
            checker(bundle.templates[row["sha256"]])


def _same_tools(state: DebateState, given: Tools | None) -> dict[str, Tool]:
    """Return the tools of a debate; UsageError `tool.changed` for one that is described anew."""
    rows = state.spec["tools"]
    found = find_tools([row["tool"] for row in rows], given)
    for row in rows:
        if sha256(found[row["tool"]].document).hexdigest() != row["sha256"]:
            raise UsageError("tool.changed", f"tool {row['tool']} is not the one that was")
    return found


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
    hashes = [row["sha256"] for row in (*data["templates"], *data["schemas"], *data["tools"])]
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


def schemas_of(spec: AnySpec, table: list[Seated], folder: Path) -> dict[str, bytes]:
    """Return the bytes of the reply schema of each role, the synthesizer's last."""
    rules = FORMATS[spec.format].schemas(spec.terms())
    found = {role: dump(schema) for role, schema in rules.items()}
    if table[-1].role == "synthesizer":
        found["synthesizer"] = schema_bytes(spec, folder)
        checker(found["synthesizer"])
    return found


@dataclass(frozen=True)
class Opening:
    """Everything that a debate is opened with: the spec, and the bytes of what it names."""

    spec: AnySpec
    templates: Mapping[str, bytes]
    schemas: Mapping[str, bytes]
    tools: Mapping[str, Tool]
    models: Mapping[str, Model]
    policy: Policy | None = None

    @property
    def files(self) -> dict[str, bytes]:
        """The templates, schemas and tool definitions, by their hashes."""
        bodies = [*self.templates.values(), *self.schemas.values()]
        bodies += [tool.document for tool in self.tools.values()]
        return {sha256(body).hexdigest(): body for body in bodies}

    def facts(self, journal: Journal) -> list[Fact]:
        """Return the facts that open it: the frozen spec, its seats, its documents."""
        table = self.spec.table()
        limits = self._limits(table)
        opened = Fact("debate.opened", self._opened(journal, table, limits))
        capped = bool(limits["tokens"] or limits["cost_micro_usd"])
        seats = [
            Fact("debater.registered", self._seat(journal, row, position, capped=capped))
            for position, row in enumerate(table, 1)
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
            for row in self.spec.evidence
        ]
        return [opened, *seats, *documents]

    def _opened(
        self, journal: Journal, table: list[Seated], limits: dict[str, int | None]
    ) -> dict[str, Any]:
        spec = self.spec
        return {
            "engine": ENGINE,
            "rules": 1,
            "name": spec.name,
            "collection_id": spec.collection_id or spec.name,
            "terms": spec.terms(),
            "question": journal.blob(spec.question),
            "context": journal.blob(spec.context) if spec.context else None,
            "instructions": journal.blob(spec.instructions) if spec.instructions else None,
            "review": journal.blob(spec.review),
            "seats": len(table),
            "documents": len(spec.evidence),
            "attempts": spec.attempts,
            "timeout_ms": max(1, round(spec.timeout_seconds * 1000)),
            "seed": str(spec.seed),
            "layout": "shared-prefix",
            "policy": self.policy.hash if self.policy else None,
            "templates": _hashes("role", self.templates),
            "schemas": _hashes("role", self.schemas),
            "tools": _hashes("tool", {name: row.document for name, row in self.tools.items()}),
            "tool_rounds": spec.tool_rounds if self.tools else 0,
            "prices": [_price(model, price) for model, price in self._prices(table).items()],
            "limits": limits,
            "scripted": any(row.model.startswith(OFFLINE) for row in table),
        }

    def _seat(
        self, journal: Journal, row: Seated, position: int, *, capped: bool
    ) -> dict[str, Any]:
        settings = row.settings.model_dump()
        if capped and settings["max_tokens"] is None:
            settings["max_tokens"] = REPLY_CAP
        stance = row.stance
        return {
            "id": row.id,
            "role": row.role,
            "position": position,
            "model": row.model,
            "parameters": settings,
            "persona": journal.blob(row.persona) if row.persona else None,
            "stance": {"label": stance.label, "text": journal.blob(stance.stance)}
            if stance
            else None,
            "agent_type": self.spec.agent_types.get(row.role, AGENT_TYPES[row.role]),
        }

    def _prices(self, table: list[Seated]) -> dict[str, PriceSpec]:
        stated = {row.model: self.models[row.id].price for row in table} | self.spec.prices
        return {model: price for model, price in sorted(stated.items()) if price}

    def _limits(self, table: list[Seated]) -> dict[str, int | None]:
        """Return the ceilings; one on cost needs every price, and is a default of `moderated`."""
        limits = self.spec.limits
        prices = self._prices(table)
        unpriced = sorted({row.model for row in table} - prices.keys())
        cost = _micro(limits.cost_usd) if limits.cost_usd is not None else None
        if cost is not None and unpriced:
            raise UsageError(
                "spec.price_unknown",
                f"a cost ceiling needs the price of {unpriced[0]}: say it under `prices`",
            )
        chosen = "cost_usd" in limits.model_fields_set
        if self.spec.format == "moderated" and not chosen and not unpriced:
            cost = COST_CEILING
        return {
            "calls": limits.calls,
            "tokens": limits.tokens,
            "cost_micro_usd": None if cost is None else max(1, cost),
            "elapsed_ms": max(1, round(limits.seconds * 1000)) if limits.seconds else None,
        }


def _hashes(key: str, files: Mapping[str, bytes]) -> list[dict[str, str]]:
    return [{key: name, "sha256": sha256(body).hexdigest()} for name, body in files.items()]


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
