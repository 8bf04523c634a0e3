"""Debates of every format, played through the engine by Python functions.

play("moderated", max_rounds=2)                        # everybody says the least that counts
play("judged", script({"verdict": {"winner": None}}))  # or this in some phases, roles, seats
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import hansard
from formats import PLAYED
from hansard.record.bundle import Bundle
from hansard.rules import formats
from hansard.rules.formats import SPECS, AnySpec
from hansard.runtime import seats, session
from hansard.runtime.models.base import Completion, Request
from hansard.runtime.models.callables import CallableModel
from hansard.store.application import Store
from support import argued, example

MODEL = "python:bot"
BASE = {name: row.least for name, row in PLAYED.items()}
PANEL = {  # as a spec that is given to the library: four calls
    "format": "panel",
    "question": "Why?",
    "agents": 2,
    "rounds": 1,
    "convergence_check": False,
    "resolution": "similar",
    "model": "python:ask",
}
POSITIONS = [{"id": f"p{n}", "label": label, "stance": f"We {label}."} for n, label in enumerate(
    ("build", "buy", "wait"), 1
)]  # fmt: skip


def spec_of(format_: str, **changes: Any) -> AnySpec:
    """The format's smallest spec, changed."""
    fields = {"question": "Shall we?", "model": MODEL, "attempts": 2, **BASE[format_], **changes}
    return SPECS[format_].model_validate(fields)


def answer(request: Request) -> Any:
    """Say the least that counts: in words who speaks and when, else the schema's first choices."""
    if request.in_words:
        return f"{request.speaker} says this in {request.phase} of round {request.round}."
    return example({"required": [], **request.reply_schema})


def script(ends: Mapping[str, Any]) -> Callable[[Request], Any]:
    """Answer as `ends` say for a call, a step, a phase, a role or a seat, in this order.

    A mapping changes members of what would be said; a function is called; an
    exception is raised; everything else is the reply.
    """

    def reply(request: Request) -> Any:
        step, _, attempt = request.call.rpartition(":")
        base = request.phase.partition("-")[0]
        keys = (request.call, step, f"{base}:{attempt}", request.phase, base)
        for key in (*keys, request.role, request.speaker):
            if key in ends:
                end = ends[key]
                if isinstance(end, BaseException):
                    raise end
                if isinstance(end, Mapping) and not request.in_words:
                    return {**answer(request), **end}
                return end(request) if callable(end) else end
        return answer(request)

    return reply


def weak(rating: int) -> dict[str, Any]:
    """A critique that rates itself so."""
    return {"counter_arguments": [argued(("memo", "thirty days"))], "challenge_strength": rating}


def play(
    format_: str,
    model: Callable[[Request], Any] = answer,
    *,
    asked: str = MODEL,
    use: Any = None,
    **changes: Any,
) -> Bundle:
    """Play a debate in memory whose seats ask this model, `use` its tools; return its record."""
    spec = spec_of(format_, model=asked, **changes)
    with Store.open("sqlite:///:memory:") as store, served(model):
        running = session.run(spec, store, Path.cwd(), models={"bot": model}, tools=use)
        return store.bundle(asyncio.run(running).state.debate)


def run(store: Store, **more: Any) -> str:
    """Run a judged debate into a store through the library, as a user does; return its id."""
    spec = {"format": "judged", "question": "Shall we?", "model": MODEL, **BASE["judged"]}
    return hansard.run_sync(spec, models={"bot": answer}, store=store, **more).debate


class Served(CallableModel):
    """A function in the place of a provider: its replies came over a wire, as it or as we say."""

    async def complete(self, request: Request) -> Completion:
        done = await super().complete(request)
        return replace(done, status=200, sent_as_rendered=True) if done.status is None else done


@contextmanager
def served(model: Callable[[Request], Any]) -> Iterator[None]:
    """Let a function answer in the place of every provider."""
    with patch.object(seats, "open_model", lambda *_: Served(model)):
        yield


def data(bundle: Bundle, *kinds: str) -> list[dict[str, Any]]:
    """The data of every event of some types."""
    events = map(json.loads, bundle.lines)
    return [event["data"] for event in events if event["type"] in kinds]


def request(**changes: Any) -> Request:
    """A request to debater a in its first proposal, changed."""
    fields: dict[str, Any] = {
        "call": "r1.proposal.a:1",
        "round": 1,
        "phase": "proposal",
        "speaker": "a",
        "role": "debater",
        "agent_type": "sub",
        "collection_id": None,
        "model": MODEL,
        "parameters": {},
        "reply_schema": {},
        "schemas": (),
        "tools": (),
        "render": list,
        "seen": None,
    }
    return Request(**fields | changes)


def most_turns(table: Any) -> int:
    """Return how many turns a debate that was played can have."""
    (opened,) = table.data("debate.opened")
    roles = [row["role"] for row in table.data("debater.registered")]
    return formats.most_turns(opened["terms"], roles)
