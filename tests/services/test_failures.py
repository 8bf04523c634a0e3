"""What goes wrong on the wire, alike in every dialect: one matrix of shapes and faults."""

from __future__ import annotations

import asyncio
import gc
import gzip
import http.cookiejar
import json
import threading
import time
import zlib
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from httpx2 import Response

from hansard.errors import SeatError
from hansard.runtime import session
from hansard.runtime.models import bodies, client, wire
from hansard.runtime.models.base import LONGEST_WAIT, Completion, ModelError, Wire
from hansard.runtime.models.providers import open_model
from hansard.runtime.models.reading import wait_of
from hansard.runtime.models.wire import Exchange, WireModel
from instant import GUARD
from services.asking import ask, asked, give_up
from services.block_dialects import SHAPES
from services.server import SEATS, Raw, completion, hanging

TOLD = b'{"error": {"message": "secret", "type": "error", "code": "error"}}'


def status(number, **headers):
    return lambda shape: Raw(
        number, TOLD, {key.replace("_", "-"): row for key, row in headers.items()}
    )


def elsewhere(shape):
    return Raw(307, b"", {"location": f"http://127.0.0.1:9{shape.path}"})


def too_long(shape):
    """As a whole reply, it would be read."""
    return Raw(body=json.dumps(shape.said('{"vote": "yes"}' + " " * 5_000)).encode())


def packed(way, name):
    """As any client would unpack it, it would be read."""

    def answer(shape):
        body = json.dumps(shape.said('{"vote": "yes"}')).encode()
        return Raw(body=way(body), headers={"content-encoding": name})

    return answer


# What comes back: class of error, its detail, status, and the wait that is asked for.
FAULTS = {
    "rate limit": (status(429, retry_after="7"), "rate_limited", "http-429", 429, 7.0),
    "rate limit, to the millisecond": (
        status(429, retry_after_ms="1500", retry_after="7"), "rate_limited", "http-429", 429, 1.5
    ),
    "rate limit, no wait": (status(429), "rate_limited", "http-429", 429, None),
    "server error": (status(500), "server_error", "http-500", 500, None),
    "bad gateway": (status(502), "server_error", "http-502", 502, None),
    "overloaded": (status(529, retry_after="2.5"), "server_error", "http-529", 529, 2.5),
    "wrong key": (status(401), "client_error", "http-401", 401, None),
    "no credit": (status(402), "client_error", "http-402", 402, None),
    "request timeout": (status(408), "timeout", "http-408", 408, None),
    "redirect": (elsewhere, "client_error", "http-307", 307, None),
    "hang-up": (lambda shape: Raw(body=None), "server_error", "RemoteProtocolError", None, None),
    "cut off": (
        lambda shape: Raw(body=b'{"id"', cut=99), "server_error", "RemoteProtocolError", 200, None
    ),
    "malformed": (lambda shape: Raw(body=b"{oops"), "server_error", "malformed", 200, None),
    "not what was packed": (
        lambda shape: Raw(body=b"{}", headers={"content-encoding": "gzip"}),
        "server_error", "malformed", 200, None,
    ),
    "nothing, packed": (
        lambda shape: Raw(
            status=429, body=b"", headers={"content-encoding": "gzip", "retry-after": "7"}
        ),
        "rate_limited", "http-429", 429, 7.0,
    ),
    "packed twice": (
        packed(lambda body: gzip.compress(gzip.compress(body)), "gzip, gzip"),
        "server_error", "malformed", 200, None,
    ),
    "packed in a way that nobody asked for": (
        packed(bytes, "br"), "server_error", "malformed", 200, None
    ),
    "more behind what was packed": (
        packed(lambda body: gzip.compress(body) + b"0", "gzip"),
        "server_error", "malformed", 200, None,
    ),
    "too much behind what was packed": (
        packed(lambda body: gzip.compress(body) + b"0" * 4_000, "gzip"),
        "server_error", "too-large", 200, None,
    ),
    "not all that was packed": (
        packed(lambda body: gzip.compress(body)[:-1], "gzip"),
        "server_error", "malformed", 200, None,
    ),
    "too long, packed": (
        packed(lambda body: gzip.compress(body + b" " * 9_000), "gzip"),
        "server_error", "too-large", 200, None,
    ),
    "no object": (lambda shape: Raw(body=b"[]"), "server_error", "malformed", 200, None),
    "no reply": (lambda shape: shape.nothing, "server_error", "malformed", 200, None),
    "too long": (too_long, "server_error", "too-large", 200, None),
    "too many values": (
        lambda shape: Raw(body=b'{"choices":[' + b"{}," * 300 + b"{}]}"),
        "server_error", "too-large", 200, None,
    ),
    "in the charset of its header": (  # of which `+AHs-` is `{`
        lambda shape: Raw(
            body=b"+AHs-}", headers={"content-type": "application/json; charset=utf-7"}
        ),
        "server_error", "malformed", 200, None,
    ),
    "a refusal that takes hours to decode": (
        lambda shape: Raw(
            400, b"{}-" + b"a" * 3_000, {"content-type": "application/json; charset=punycode"}
        ),
        "client_error", "http-400", 400, None,
    ),
    "in UTF-16": (
        lambda shape: Raw(body='{"choices":[]}'.encode("utf-16")),
        "server_error", "malformed", 200, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", SHAPES)
def test_a_fault_has_a_class_and_is_one_request(serve, monkeypatch, name, fault):
    shape = SHAPES[name]
    answer, kind, detail, code, wait = FAULTS[fault]
    monkeypatch.setattr(bodies, "MAX_BODY", 4_000)
    monkeypatch.setattr(client, "MAX_VALUES", 300)
    begun, begin = [], Exchange.begin

    def counted(self, body):
        begun.append(body)
        begin(self, body)

    monkeypatch.setattr(Exchange, "begin", counted)

    def script(body):
        answered = answer(shape)
        if isinstance(answered, Raw):
            return Raw(
                answered.status,
                answered.body,
                {**answered.headers, shape.request_id: "req_1"},
                answered.cut,
            )
        return answered

    server = serve(script, shape)
    with pytest.raises(ModelError) as caught:
        ask(asked(max_tokens=90), model=shape.model)
    error = caught.value
    expected = shape.details.get(fault, detail)
    assert (error.kind, error.detail, error.retry_after) == (kind, expected, wait)
    assert (error.wire.status, error.wire.sent_as_rendered, error.wire.sent) == (code, True, None)
    assert error.wire.request_id == (None if code is None else "req_1")
    assert server.paths == [shape.path]
    assert len(begun) == 1  # nor did the library try for another
    assert "secret" not in str(error)


def test_a_name_that_no_view_could_repeat_is_no_reply(serve):
    """Ten replies by a model whose name has 14 MB would make a record that nobody could read."""
    shape = SHAPES["chat"]
    serve(lambda body: shape.said('{"vote": "yes"}') | {"model": "m" * 1_001}, shape)
    with pytest.raises(ModelError, match="malformed"):
        ask(asked(max_tokens=90), model=shape.model)


def test_an_id_of_a_request_that_no_view_could_repeat_is_none(serve):
    shape = SHAPES["chat"]
    body = json.dumps(shape.said('{"vote": "yes"}')).encode()
    serve(lambda _: Raw(body=body, headers={shape.request_id: "r" * 1_001}), shape)
    (done,) = ask(asked(max_tokens=90), model=shape.model)
    assert done.request_id is None


@pytest.mark.parametrize("name", SHAPES)
def test_a_server_is_told_what_may_be_unpacked(serve, name):
    shape = SHAPES[name]
    server = serve(lambda body: shape.said('{"vote": "yes"}'), shape)
    ask(asked(max_tokens=90), model=shape.model)
    (headers,) = server.headers
    assert headers["accept-encoding"] == "gzip, deflate"


@pytest.mark.parametrize("name", SHAPES)
def test_no_cookie_of_a_server_is_read_kept_or_sent_back(serve, monkeypatch, name):
    """A server set thousands with each reply: 220 calls took half a gigabyte, and ever longer."""
    shape, made = SHAPES[name], []
    monkeypatch.setattr(http.cookiejar, "Cookie", lambda *row, **_: made.append(row))
    body = json.dumps(shape.said('{"vote": "yes"}')).encode()
    server = serve(lambda _: Raw(body=body, headers={"set-cookie": "a=b; path=/"}), shape)
    ask(asked(max_tokens=90), asked(max_tokens=90), model=shape.model)
    assert made == []
    assert [row.get("cookie") for row in server.headers] == [None, None]


def without_a_frame(body):
    """As some servers read `deflate`."""
    packing = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packing.compress(body) + packing.flush()


@pytest.mark.parametrize(
    ("packing", "way"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", without_a_frame),
        ("identity", bytes),
        ("", bytes),
    ],
)
def test_a_reply_is_unpacked(serve, packing, way):
    shape = next(iter(SHAPES.values()))
    serve(lambda body: packed(way, packing)(shape), shape)
    (done,) = ask(asked(max_tokens=90), model=shape.model)
    assert done.text == '{"vote": "yes"}'


@pytest.mark.parametrize("name", SHAPES)
def test_long_responses_have_one_room_for_all_calls(serve, monkeypatch, name):
    """A short one is always read, and the room is there again once a call is over."""
    shape, spaces = SHAPES[name], [0, 5_000, 9_000, 5_000]
    monkeypatch.setattr(bodies, "SHORT", 4_000)
    monkeypatch.setattr(bodies, "ROOM", 8_000)
    serve(lambda body: shape.said('{"vote": "yes"}' + " " * spaces.pop(0)), shape)
    request = asked(max_tokens=90)
    assert len(ask(request, request, model=shape.model)) == 2
    with pytest.raises(ModelError, match="too-large"):
        ask(request, model=shape.model)
    assert ask(request, model=shape.model)


def test_what_calls_hold_counts_together(monkeypatch):
    monkeypatch.setattr(bodies, "SHORT", 10)
    monkeypatch.setattr(bodies, "ROOM", 100)
    room = bodies.Room()
    one, other, short = (bodies.Held(room) for _ in range(3))
    one.hold(50)
    one.hold(60)
    other.hold(40)
    short.hold(10)
    with pytest.raises(bodies.TooLarge):
        other.hold(41)
    one.release()
    other.hold(100)
    with pytest.raises(bodies.TooLarge):  # such as what a thread still reads of a call given up
        one.hold(1)


def test_others_have_their_turn_while_a_response_of_many_pieces_is_read():
    """All of it has come, so reading it waits for nothing; deadlines are looked at all the same."""
    turns, seen = [0], []

    async def pieces():
        for _ in range(1_000):
            seen.append(turns[0])
            yield b" "

    async def go():
        async def others():
            while True:
                turns[0] += 1
                await asyncio.sleep(0)

        beside = asyncio.ensure_future(others())
        body = await client._bounded(Response(200, content=pieces()), bodies.Held())
        beside.cancel()
        return body

    assert asyncio.run(go()) == b" " * 1_000
    assert max(Counter(seen).values()) <= 100


def held(size):
    """The kinds of object that hold so long a text of one letter, or would until they are freed."""
    found = ((row, part) for row in gc.get_objects() for part in gc.get_referents(row))
    long = ((row, part) for row, part in found if type(part) in (str, bytes, bytearray))
    return [
        type(row).__name__
        for row, part in long
        if len(part) >= size and part.count("z" if isinstance(part, str) else b"z") >= size
    ]


async def still_held(opened, server, size):
    """What holds such a text once the model's calls are over."""
    server.raw.clear()
    until = time.monotonic() + GUARD
    # A thread ends a little later, and nobody tells of it.
    while (found := held(size)) and time.monotonic() < until:  # noqa: ASYNC110
        await asyncio.sleep(0.1)
    await opened.aclose()
    return found


def uncollected(work):
    """Run a coroutine while no garbage is collected."""
    gc.collect()
    gc.disable()
    try:
        return asyncio.run(work)
    finally:
        gc.enable()


@pytest.mark.parametrize("name", SHAPES)
def test_nothing_that_was_sent_stays_in_memory(serve, name):
    """Not even until garbage is collected: a hundred long prompts would come before that."""
    shape, size = SHAPES[name], 5_000
    faults = ["", "server error", "hang-up", "no object"]
    told = [FAULTS[fault][0](shape) if fault else shape.said('{"vote": "yes"}') for fault in faults]
    server = serve(lambda _body: told.pop(0), shape)
    watches = []

    async def go():
        opened: Any = open_model(shape.model)
        for _ in faults:
            request = asked([("user", "z" * (size + 3))], max_tokens=90)
            watches.append(request.watch)
            with suppress(ModelError):
                await opened.complete(request)
        del request
        return await still_held(opened, server, size)

    assert uncollected(go()) == []
    assert [row.look().status for row in watches] == [200, 500, None, 200]


@pytest.mark.parametrize("name", ["chat", "anthropic", "google"])
def test_nothing_of_a_call_that_is_given_up_stays_in_memory(serve, name):
    shape, size = SHAPES[name], 5_000
    arrived, release = threading.Event(), threading.Event()
    server = serve(hanging(arrived, release), shape)

    async def go():
        opened: Any = open_model(shape.model)
        call = asyncio.ensure_future(
            opened.complete(asked([("user", "z" * (size + 3))], max_tokens=90))
        )
        await asyncio.to_thread(arrived.wait, GUARD)
        call.cancel()
        with suppress(asyncio.CancelledError):
            await call
        del call
        release.set()
        return await still_held(opened, server, size)

    assert uncollected(go()) == []


def test_a_prompt_longer_than_any_model_reads_is_not_sent(serve, monkeypatch):
    shape = SHAPES["chat"]
    monkeypatch.setattr(wire, "MAX_PROMPT", 100)
    server = serve(lambda body: shape.said('{"vote": "yes"}'), shape)
    assert ask(asked([("user", "x" * 98), ("user", "é")], max_tokens=90), model=shape.model)
    with pytest.raises(ModelError, match=r"client_error \(prompt-too-long\)") as caught:
        ask(asked([("user", "x" * 99), ("user", "é")], max_tokens=90), model=shape.model)
    assert (len(server.bodies), caught.value.wire) == (1, Wire())


@pytest.mark.parametrize("name", SHAPES)
def test_no_warning_repeats_what_a_server_says(serve, recwarn, name):
    """A vendor's library tells of ends and counts that it does not know, in the server's words."""
    shape, odd = SHAPES[name], "\x1b[2J"

    def strange(value, key=""):
        if "finish" in key.lower() or "stop" in key.lower() or "token" in key.lower():
            return odd
        if isinstance(value, dict):
            return {key: strange(row, key) for key, row in value.items()}
        return [strange(row) for row in value] if isinstance(value, list) else value

    counts = {"input_tokens": 1, "promptTokenCount": 1, "inputTokens": 1, "prompt_tokens": 1}
    said = {**shape.said('{"vote": "yes"}'), "usage": counts, "usageMetadata": counts}
    serve(lambda body: strange(said), shape)
    (done,) = ask(asked(max_tokens=90), model=shape.model)
    assert (done.text, done.tokens_in) == ('{"vote": "yes"}', None)
    assert [str(row.message) for row in recwarn] == []


ENDS = [(name, end) for name, shape in SHAPES.items() for end in shape.ends]


@pytest.mark.parametrize(("name", "finish"), ENDS)
def test_a_reply_says_how_it_ended(serve, name, finish):
    shape = SHAPES[name]
    server = serve(lambda body: shape.said('{"vote": "y', finish), shape)
    (done,) = ask(asked(max_tokens=90), model=shape.model)
    assert (done.finish, done.text) == (finish, '{"vote": "y')
    assert (done.status, done.request_id, done.sent_as_rendered) == (200, "req_1", True)
    assert server.paths == [shape.path]


@pytest.mark.parametrize("name", SHAPES)
def test_a_call_that_is_given_up_was_one_request(serve, name):
    shape, release, arrived = SHAPES[name], threading.Event(), threading.Event()
    server = serve(hanging(arrived, release), shape)

    async def go():
        model: Any = open_model(shape.model)
        try:
            await give_up(model, arrived)
        finally:
            await model.aclose()

    asyncio.run(go())
    release.set()
    assert server.paths == [shape.path]


@pytest.mark.parametrize("name", SHAPES)
def test_a_call_that_hangs_is_asked_again(table, serve, name):
    shape, release, first = SHAPES[name], threading.Event(), threading.Lock()

    def script(body):
        if first.acquire(blocking=False):
            release.wait(GUARD)
        return shape.said('{"stance": "s", "rationale": "r", "vote": "release"}')

    server = serve(script, shape)
    seats = [{"id": seat, "model": shape.model} for seat in ("planner", "critic")]
    table.run_late(1, debaters=seats)
    release.set()
    (failed,) = table.data("call.failed")
    assert (failed["error"], failed["detail"], failed["again"]) == ("timeout", None, True)
    assert (failed["status"], failed["sent_as_rendered"], failed["sent"]) == (None, True, None)
    assert table.data("decision.reached")[0]["decision"] == "release"
    assert len(server.raw) == len(table.data("call.started")) == 3
    assert table.verified().ok


@pytest.mark.parametrize("name", SHAPES)
def test_a_call_that_times_out_keeps_what_was_seen_of_it(table, serve, monkeypatch, name):
    """The status came, and an id; the body never ends."""
    shape, release, begun = SHAPES[name], threading.Event(), threading.Event()
    first, bounded = threading.Lock(), client._bounded

    async def seen(*given):
        begun.set()
        return await bounded(*given)

    monkeypatch.setattr(client, "_bounded", seen)

    def script(body):
        if first.acquire(blocking=False):
            return Raw(200, b"{", {shape.request_id: "req_7"}, held=release)
        begun.wait(GUARD)
        return shape.said('{"stance": "s", "rationale": "r", "vote": "release"}')

    serve(script, shape)
    seats = [{"id": seat, "model": shape.model} for seat in ("planner", "critic")]
    table.run_late(1, debaters=seats)
    release.set()
    (failed,) = table.data("call.failed")
    assert (failed["error"], failed["status"], failed["request_id"]) == ("timeout", 200, "req_7")
    assert (failed["sent_as_rendered"], failed["sent"]) == (True, None)
    assert table.verified().findings == []


@pytest.mark.parametrize("name", SHAPES)
def test_a_failing_server_gets_one_request_a_recorded_attempt(table, serve, name):
    shape = SHAPES[name]
    server = serve(lambda body: Raw(503, TOLD, {"retry-after": "0", shape.request_id: "r"}), shape)
    seats = [{"id": seat, "model": shape.model} for seat in ("planner", "critic")]
    table.run(debaters=seats, max_rounds=1, attempts=2)
    started, failed = table.data("call.started"), table.data("call.failed")
    assert len(server.raw) == len(started) == len(failed) == 4
    assert {(row["error"], row["detail"]) for row in failed} == {("server_error", "http-503")}
    assert {(row["status"], row["request_id"]) for row in failed} == {(503, "r")}
    assert {(row["sent_as_rendered"], row["sent"]) for row in failed} == {(True, None)}
    assert table.data("debate.closed")[0]["reason"] == "nobody_heard"
    assert table.verified().ok


@pytest.mark.parametrize(
    ("headers", "low", "high"),
    [
        ({"retry-after": "0"}, 0, 0),
        ({"retry-after": "-3"}, 0, 0),
        ({"retry-after": "1e9"}, LONGEST_WAIT, LONGEST_WAIT),
        ({"retry-after": "inf"}, LONGEST_WAIT, LONGEST_WAIT),
        ({"retry-after-ms": "250"}, 0.25, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "4"}, 4, 4),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0, 0),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, LONGEST_WAIT, LONGEST_WAIT),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:00"}, 0, LONGEST_WAIT),
    ],
)
def test_a_wait_is_never_negative_and_has_a_bound(headers, low, high):
    assert low <= wait_of(headers) <= high


def test_a_date_is_waited_for():
    then = datetime.now(UTC) + timedelta(seconds=900)
    assert 600 <= wait_of({"retry-after": format_datetime(then, usegmt=True)}) <= 900


@pytest.mark.parametrize("text", ["", "soon", "nan", "Fri, 99 Dec 2026 00:00:00 GMT", "1 second"])
def test_a_wait_that_cannot_be_read_is_none(text):
    assert wait_of({"retry-after": text}) is None
    assert wait_of({}) is None


# Connections end with the run that opened them, however it ends

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
