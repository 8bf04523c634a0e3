"""What a debate is opened with: its spec, frozen, as the first facts of the record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from hashlib import sha256
from typing import Any

from hansard.errors import UsageError
from hansard.record.canonical import dump
from hansard.record.policy import Policy
from hansard.rules.context import as_text
from hansard.rules.events import Fact
from hansard.rules.fields import Blob, Estimated, Gate, Origin
from hansard.rules.formats import AnySpec, format_of, most_turns
from hansard.rules.seating import OFFLINE
from hansard.rules.spec_parts import Evidence, Person, Seated, Settings
from hansard.runtime.documents import Admitted
from hansard.runtime.engine import ENGINE
from hansard.runtime.files import Files
from hansard.runtime.instructing import Instructed, instructed
from hansard.runtime.models.base import Model
from hansard.runtime.models.callables import says
from hansard.runtime.outcomes import Keep
from hansard.runtime.output import checker, schema_bytes
from hansard.runtime.prices import Priced, prices_of
from hansard.runtime.tools import Tool

REPLY_CAP = 4096  # tokens, where a ceiling or a provider needs to know how long a reply can be
WANT_A_CAP = ("anthropic:", "bedrock:")


def unsalted(texts: dict[str, str]) -> Keep:
    """Return what keeps the texts of an opening that is not recorded: in `texts`, by their hash."""

    def keep(text: str) -> Blob:
        name = sha256(text.encode()).hexdigest()
        texts[name] = text
        return {"sha256": name}

    return keep


def schemas_of(spec: AnySpec, table: list[Seated], files: Files) -> dict[str, bytes]:
    """Return the bytes of the reply schema of each role, the synthesizer's last."""
    terms = spec.terms()
    found: dict[str, bytes] = {
        role: dump(schema) for role, schema in format_of(terms).schemas(terms).items()
    }
    if table[-1].role == "synthesizer":
        found["synthesizer"] = schema_bytes(spec, files)
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
    origin: Origin | None = None

    @cached_property
    def table(self) -> list[Seated]:
        """Who sits at the table, in the order of registration."""
        return self.spec.table()

    @property
    def files(self) -> dict[str, bytes]:
        """The templates, schemas and tool definitions, by their hashes."""
        bodies = [*self.templates.values(), *self.schemas.values()]
        bodies += [tool.document for tool in self.tools.values()]
        return {sha256(body).hexdigest(): body for body in bodies}

    @property
    def cost_ceiling(self) -> int | None:
        """The most that the debate may cost, in micro-US-dollars; None: no ceiling."""
        return self._limits(self.table)["cost_micro_usd"]

    @cached_property
    def _instructed(self) -> Instructed:
        return instructed(self.spec)

    @cached_property
    def _prices(self) -> dict[str, Priced]:
        return prices_of(self.table, self.models, self.spec.prices, self._longest)

    @property
    def is_priced(self) -> bool:
        """Whether the prices of all models at the table are known."""
        return all(row.model in self._prices for row in self.table)

    @property
    def _longest(self) -> int | None:
        """The most tokens that a prompt can have, None where tools can make it any longer.

        What is given counts a token for two bytes, each turn the longest reply.
        """
        spec, table = self.spec, self.table
        if spec.tools:
            return None
        context = None if spec.context is None else as_text(spec.context)
        given = [spec.question, context, self._instructed.longest]
        given += [row.text for row in spec.evidence]
        given += [row.persona for row in table]
        given += [row.stance.stance for row in table if row.stance]
        size = sum(len((text or "").encode()) for text in given) + sum(
            map(len, self.files.values())
        )
        reply = max(row.settings.max_tokens or REPLY_CAP for row in table)
        turns = most_turns(spec.terms(), [row.role for row in table])
        return size // 2 + turns * reply

    def facts(self, keep: Keep, estimate: Estimated | None = None) -> list[Fact]:
        """Return the facts that open it: the frozen spec, its seats, its documents.

        `keep` takes each text of the opening, and gives its reference; `estimate` is
        what the debate is expected to take.
        """
        table = self.table
        limits = self._limits(table)
        said = {"estimate": estimate, "gate": self._gate(keep, estimate)}
        opened = Fact("debate.opened", {**self._opened(keep, table, limits), **said})
        capped = bool(limits["tokens"] or limits["cost_micro_usd"])
        seats = [
            Fact("debater.registered", self._seat(keep, row, position, capped=capped))
            for position, row in enumerate(table, 1)
        ]
        documents = [Fact("evidence.admitted", _document(keep, row)) for row in self.spec.evidence]
        return [opened, *seats, *documents]

    def asked(self, keep: Keep, estimate: Estimated | None) -> Fact:
        """Return the fact that begins the record of a spec's gate, where no debate follows."""
        return Fact("gate.answered", {**self._asking(keep), "gate": self._gate(keep, estimate)})

    def _asking(self, keep: Keep) -> dict[str, Any]:
        """Return who asks what, and under what it is filed."""
        spec = self.spec
        return {
            "engine": ENGINE,
            "rules": 1,
            "requester": _person(keep, spec.requester),
            "owner": _person(keep, spec.owner),
            "labels": sorted(spec.labels),
            "retention": spec.retention,
            "question": keep(spec.question),
        }

    def _opened(
        self, keep: Keep, table: list[Seated], limits: dict[str, int | None]
    ) -> dict[str, Any]:
        spec, everybody = self.spec, self._instructed.everybody
        return {
            **self._asking(keep),
            "name": spec.name,
            "collection_id": spec.collection_id or spec.name,
            "task_type": spec.task_type,
            "origin": self.origin,
            "terms": spec.terms(),
            "context": None if spec.context is None else keep(as_text(spec.context)),
            "instructions": keep(everybody) if everybody else None,
            "review": keep(spec.review),
            "seats": len(table),
            "documents": len(spec.evidence),
            "attempts": spec.attempts,
            "timeout_ms": _ms(spec.timeout_seconds),
            "retry_ms": _ms(spec.retry_seconds),
            "seed": str(spec.seed),
            "layout": spec.layout,
            "leading_call": spec.leading_call,
            "policy": self.policy.hash if self.policy else None,
            "templates": _hashes("role", self.templates),
            "schemas": _hashes("role", self.schemas),
            "tools": _hashes("tool", {name: row.document for name, row in self.tools.items()}),
            "tool_rounds": spec.tool_rounds if self.tools else 0,
            "prices": [_price(model, priced) for model, priced in self._prices.items()],
            "limits": limits,
            "scripted": any(row.model.startswith(OFFLINE) for row in table),
        }

    def _gate(self, keep: Keep, estimate: Estimated | None) -> Gate | None:
        """Return what the spec's gate answers, where it has one."""
        gate = self.spec.gate
        if gate is None:
            return None
        text = gate.answer.text if gate.answer else None
        expected = estimate["cost_expected_micro_usd"] if estimate else None
        return gate.asked(self.spec.task_type, None if text is None else keep(text), expected)

    def _seat(self, keep: Keep, row: Seated, position: int, *, capped: bool) -> dict[str, Any]:
        stated = says(self.models[row.id], "settings", Settings, row.model) or Settings()
        settings = stated.but(row.settings).model_dump()
        if settings["max_tokens"] is None and (capped or row.model.startswith(WANT_A_CAP)):
            settings["max_tokens"] = REPLY_CAP
        stance, told = row.stance, self._instructed.own.get(row.id)
        return {
            "id": row.id,
            "role": row.role,
            "position": position,
            "model": row.model,
            "parameters": settings,
            "persona": keep(row.persona) if row.persona else None,
            "instructions": [
                {"round": number, "text": keep(text) if text else None} for number, text in told
            ]
            if told
            else None,
            "stance": {"label": stance.label, "text": keep(stance.stance)} if stance else None,
            "agent_type": self.spec.agent_type(row.role),
        }

    def _limits(self, table: list[Seated]) -> dict[str, int | None]:
        """Return the ceilings; one on cost needs every price, and may be a format's default."""
        limits = self.spec.limits
        prices = self._prices
        unpriced = sorted({row.model for row in table} - prices.keys())
        cost = _micro(limits.cost_usd) if limits.cost_usd is not None else None
        if cost is not None and unpriced:
            raise UsageError(
                "spec.price_unknown",
                f"a cost ceiling needs the price of {unpriced[0]}; state it under `prices`",
            )
        chosen = "cost_usd" in limits.model_fields_set
        if not chosen and not unpriced:
            cost = self.spec.COST_CEILING
        return {
            "calls": limits.calls,
            "tokens": limits.tokens,
            "cost_micro_usd": None if cost is None else max(1, cost),
            "elapsed_ms": _ms(limits.seconds) if limits.seconds else None,
        }


def _document(keep: Keep, row: Evidence) -> dict[str, Any]:
    """Return a document, and the file that its text was taken from, where it was one."""
    taken = row.taken if isinstance(row, Admitted) else None
    source = taken and {
        "media_type": taken.media_type,
        "file": keep(taken.sha256),
        "extractor": taken.extractor,
        "pages": taken.pages,
    }
    return {
        "document": row.id,
        "text": keep(row.text or ""),
        "from_round": row.from_round,
        "source": source,
        "original": keep(taken.original) if taken and taken.original else None,
    }


def _person(keep: Keep, person: Person | None) -> dict[str, Any] | None:
    return {"name": keep(person.name), "key": person.key} if person else None


def _hashes(key: str, files: Mapping[str, bytes]) -> list[dict[str, str]]:
    return [{key: name, "sha256": sha256(body).hexdigest()} for name, body in files.items()]


def _price(model: str, priced: Priced) -> dict[str, Any]:
    """Return a price in whole micro-US-dollars per million tokens."""
    price, source = priced
    return {
        "model": model,
        "source": source,
        "input_micro_usd": _micro(price.input),
        "cached_micro_usd": _micro(price.cached or price.input),
        "cache_write_micro_usd": _micro(price.cache_write or price.input),
        "output_micro_usd": _micro(price.output),
    }


def _ms(seconds: float) -> int:
    """Return whole milliseconds, at least one."""
    return max(1, round(seconds * 1000))


def _micro(dollars: str) -> int:
    return int(Decimal(dollars) * 1_000_000)
