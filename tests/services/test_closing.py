"""Connections end with the run that opened them, however it ends."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest

from hansard.errors import SeatError
from hansard.runtime import session
from hansard.runtime.models.base import Completion
from hansard.runtime.models.wire import WireModel
from instant import GUARD
from services.server import SEATS, completion

TEXT = json.dumps({"stance": "s", "rationale": "r", "vote": "release"})


@pytest.fixture
def opened(monkeypatch):
    """Every model that is opened while the test runs."""
    models = []
    init = WireModel.__init__

    def keep(self, *given, **named):
        init(self, *given, **named)
        models.append(self)

    monkeypatch.setattr(WireModel, "__init__", keep)
    return models


def test_a_model_is_opened_once_and_closed_at_the_end(table, serve, opened):
    serve(lambda body: completion(TEXT))
    seats = [{"id": seat, "model": "openai:m"} for seat in SEATS]
    table.run(debaters=seats)
    (model,) = opened
    assert model._client.is_closed


def test_a_run_that_is_cancelled_closes_and_can_be_resumed(table, serve, opened):
    asked, release = threading.Event(), threading.Event()

    def script(body):
        if not release.is_set():
            asked.set()
            release.wait(GUARD)
        return completion(TEXT)

    server = serve(script)

    async def interrupted():
        run = asyncio.create_task(session.run(table.spec(), table.store, table.folder))
        await asyncio.to_thread(asked.wait)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(interrupted())
    assert len(opened) == 3
    assert all(model._client.is_closed for model in opened)
    assert "call.answered" not in table.types
    release.set()
    asyncio.run(session.resume(table.debate, table.store))
    assert table.data("decision.reached")[0]["decision"] == "release"
    assert {row["error"] for row in table.data("call.failed")} == {"abandoned"}
    assert len(opened) == 6
    assert all(model._client.is_closed for model in opened)
    assert len(server.raw) <= len(table.data("call.started")) == 6
    assert table.verified().ok


def test_a_run_that_fails_closes_too(table, serve, opened):
    serve(lambda body: completion(TEXT))

    def observe(event):
        if event["type"] == "call.answered":
            raise RuntimeError("full")

    with pytest.raises(SeatError):
        asyncio.run(session.run(table.spec(), table.store, table.folder, observe=observe))
    assert len(opened) == 3
    assert all(model._client.is_closed for model in opened)


def test_a_model_that_was_given_stays_open(table):
    class Mine:
        price = None
        closed = False

        async def complete(self, request):
            return Completion(TEXT)

        async def aclose(self):
            self.closed = True

    mine = Mine()
    seats = [{"id": seat, "model": "python:mine"} for seat in SEATS]
    spec = table.spec(debaters=seats)
    asyncio.run(session.run(spec, table.store, table.folder, models={"mine": mine}))
    assert not mine.closed
