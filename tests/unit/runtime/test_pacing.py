"""How long a failed call waits, how many are in flight at once, and which one goes first."""

from __future__ import annotations

import asyncio

import pytest

import instant
from hansard.errors import UsageError
from hansard.runtime import pacing, session
from hansard.runtime.engine import Engine
from hansard.runtime.models.base import Completion, ModelError, Wire
from hansard.runtime.pacing import Pace, Server, Slots, limits, server_of, wait_ms
from playing import answer, served, spec_of
from unit.runtime.conftest import reply

# How long to wait

WAITS = [
    # error, tries before, chance, wait
    (ModelError("rate_limited"), 0, 0.0, 250),
    (ModelError("rate_limited"), 0, 1.0, 500),
    (ModelError("server_error"), 3, 1.0, 4_000),
    (ModelError("unreachable"), 99, 1.0, 60_000),
    (ModelError("rate_limited", retry_after=7.5), 0, 0.5, 7_500),
    (ModelError("rate_limited", retry_after=0.1), 0, 1.0, 500),
    (ModelError("rate_limited", retry_after=0), 2, 1.0, 2_000),
    (ModelError("timeout"), 5, 1.0, 0),
    (ModelError("crashed"), 5, 1.0, 0),
    (ModelError("client_error", retry_after=3), 0, 1.0, None),
    (ModelError("no_reply"), 0, 1.0, None),
]


@pytest.mark.parametrize(("error", "tries", "chance", "wait"), WAITS)
def test_a_wait_doubles_is_spread_and_is_at_least_what_the_server_asks(error, tries, chance, wait):
    assert wait_ms("openai:m", error, tries, chance) == wait


def test_replies_that_nobody_is_asked_for_are_not_waited_for():
    error = ModelError("rate_limited", retry_after=60)
    assert wait_ms("scripted:replies.yaml", error, 5, 1.0) == 0
    assert wait_ms("recorded:abc", ModelError("client_error"), 5, 1.0) is None


def failing(error, times):
    """Fail the first attempts of every step, then answer."""

    def model(request):
        if int(request.call.rpartition(":")[2]) <= times:
            raise error()
        return answer(request)

    return model


def gaps(table):
    """The milliseconds from each failure to the next attempt of its step."""
    ends, found = {}, []
    for event in table.events:
        data = event["data"]
        if event["type"] == "call.failed":
            ends[data["call"].rpartition(":")[0]] = event["at"]
        elif event["type"] == "call.started" and data["step"] in ends:
            found.append(session_ms(ends.pop(data["step"]), event["at"]))
    return found


def session_ms(begin, end):
    from hansard.rules.spending import milliseconds

    return milliseconds(begin, end)


def test_the_engine_keeps_the_wait_and_records_it(table):
    model = failing(lambda: ModelError("rate_limited", "http-429", retry_after=0.4), 1)
    table.play("judged", model, max_rounds=1, attempts=2)
    failed = table.data("call.failed")
    assert [row["wait_ms"] for row in failed] == [400, 400, 400]
    assert [row["again"] for row in failed] == [True] * 3
    assert gaps(table) == [400] * 3
    assert table.verified().findings == []


def test_while_one_waits_the_others_of_its_phase_go_on(table):
    def model(request):
        if request.speaker == "ann" and request.call.endswith(":1"):
            raise ModelError("server_error", retry_after=0.3)
        return answer(request)

    table.play("panel", model, rounds=1, convergence_check=False)
    types = [(e["type"], e["data"].get("call")) for e in table.events]
    again = types.index(("call.started", "r0.draft.ann:2"))
    assert types.index(("call.answered", "r0.draft.cat:1")) < again
    assert sum(gaps(table)) == 600  # two rounds, one wait each
    assert table.verified().findings == []


def test_a_wait_beyond_the_bound_is_not_waited(table):
    model = failing(lambda: ModelError("rate_limited", retry_after=3600), 9)
    state = table.play("judged", model, max_rounds=1, attempts=9, retry_seconds=60)
    assert table.seconds == 0
    assert [row["again"] for row in table.data("call.failed")] == [False, False]
    assert state.closed == {"outcome": "failed", "reason": "nobody_heard"}
    assert table.verified().findings == []


def test_what_is_known_of_a_failed_attempt_is_recorded(table):
    wire = Wire(status=429, request_id="req-1 odd", sent_as_rendered=False, sent='{"model":"x"}')

    def model(request):
        raise ModelError("rate_limited", "http-429", retry_after=0, wire=wire)

    with served(model):
        table.play("judged", "openai:gpt-5", max_rounds=1, attempts=1)
    row = table.data("call.failed")[0]
    assert (row["status"], row["sent_as_rendered"]) == (429, False)
    assert table.text(row["request_id"]) == "req-1 odd"
    assert table.text(row["sent"]) == '{"model":"x"}'
    assert table.verified().findings == []
    table.play("judged", model, max_rounds=1, attempts=1)  # a function has no wire
    row = table.data("call.failed")[0]
    assert (row["status"], row["sent_as_rendered"], row["sent"]) == (429, None, None)
    assert table.verified().findings == []


def test_a_debate_that_waits_can_be_stopped_and_waits_on_when_it_is_resumed(table):
    model = failing(lambda: ModelError("rate_limited", retry_after=2), 1)

    async def stopped():
        task = asyncio.ensure_future(table.debating("judged", model, max_rounds=1))
        await asyncio.sleep(0.5)  # in the midst of its wait
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    instant.run(stopped())
    assert table.types[-1] == "call.failed"
    table.go_on(answer)
    assert gaps(table)[0] == 2000
    assert table.verified().findings == []


def test_no_wait_outlasts_the_ceiling_on_time(table):
    model = failing(lambda: ModelError("rate_limited", retry_after=30), 9)
    state = table.play("panel", model, attempts=9, limits={"seconds": 0.5}, retry_seconds=600)
    assert table.seconds == 0.5
    assert state.closed == {"outcome": "truncated", "reason": "seconds_ceiling"}
    assert table.verified().findings == []


@pytest.mark.parametrize("first_waits", [True, False])
def test_a_debate_is_cut_short_at_the_first_step_that_is_due(table, first_waits):
    def model(request):
        first = request.speaker == "ann"
        raise ModelError("rate_limited", retry_after=0.6 if first == first_waits else 0.1)

    table.play("panel", model, attempts=3, limits={"calls": 3})
    (cut,) = table.data("debate.truncated")
    assert cut["step"] == "r0.draft.ann"
    assert table.verified().findings == []


def test_a_call_that_will_not_end_gives_its_place_back_and_says_nothing(table, monkeypatch, caplog):
    monkeypatch.setenv(pacing.VARIABLE, "1")

    async def clings(request):
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(0.5)
            raise RuntimeError("Bearer sk-planted") from None

    table.play("judged", clings, max_rounds=1, timeout_seconds=0.05, attempts=1)
    assert table.seconds == 0.1  # two turns
    assert "sk-planted" not in caplog.text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1, "5", 1e300])
def test_a_wait_that_is_none_spoils_nothing(value):
    error = ModelError("rate_limited", retry_after=value)
    assert error.retry_after in (None, 0, 3600)
    with pytest.raises((TypeError, ValueError)):
        Wire(status=-1)
    with pytest.raises(TypeError):
        Wire(sent_as_rendered="yes")


# How many at once


def test_places_are_given_in_turn():
    async def play():
        slots = Slots(1)
        first, second, third = slots.take(), slots.take(), slots.take()
        assert [row.done() for row in (first, second, third)] == [True, False, False]
        slots.give_back(second)  # no longer wanted
        slots.give_back(first)
        assert third.done()
        slots.give_back(third)
        assert slots.take().done()
        assert not slots.take().done()

    asyncio.run(play())


def test_who_wants_much_is_not_overtaken():
    async def play():
        room = Slots(10)
        most, much, little = room.take(9), room.take(7), room.take(1)
        assert [row.done() for row in (most, much, little)] == [True, False, False]
        room.give_back(most)
        room.give_back(most)  # a second time changes nothing
        assert much.done()
        assert little.done()
        assert not room.take(3).done()

    asyncio.run(play())


def test_who_waits_behind_one_that_gives_up_is_served():
    async def play():
        room = Slots(10)
        room.take(6)
        much, little = room.take(6), room.take(4)
        assert not little.done()
        room.give_back(much)
        assert little.done()

    asyncio.run(play())


def test_a_pace_keeps_the_place_it_waits_for_until_it_is_closed(monkeypatch):
    monkeypatch.setenv(pacing.VARIABLE, "python=1")

    async def play():
        one, other = Pace(leading_call=False), Pace(leading_call=False)
        assert one.has_place("python:a")
        release = one.take("python:a", 5)
        assert not other.has_place("python:b")
        assert not other.has_place("python:b")
        assert len(other.waited_for) == 1
        assert other.has_place("anthropic:c")  # another provider's
        assert other.has_place("scripted:d")
        other.close()
        release()
        release()
        assert one.has_place("python:a")
        assert not other.has_place("python:a")

    asyncio.run(play())


def test_a_call_has_its_place_until_there_is_room_for_what_it_sends(monkeypatch):
    monkeypatch.setenv(pacing.VARIABLE, "python=2,1")
    monkeypatch.setattr(pacing, "MOST_SENT", 100)

    async def play():
        one, other = Pace(leading_call=False), Pace(leading_call=False)
        assert one.has_place("python:a")
        assert one.has_room("python:a", 99)
        release = one.take("python:a", 99)
        assert one.has_room("scripted:b", 10**9)  # nobody is sent anything
        for _ in range(2):
            assert other.has_place("openai:c")
            assert not other.has_room("openai:c", 2)
            other.settle()
            assert len(other.waited_for) == 1
        assert not one.has_place("openai:c")
        release()
        assert other.has_room("openai:c", 2)
        over = other.take("openai:c", 2)
        assert one.waited_for
        over()
        assert not one.waited_for
        assert one.has_room("openai:c", 10**9)  # more than there is: alone

    asyncio.run(play())


def test_what_no_call_asks_for_any_more_is_given_back(monkeypatch):
    """Such as when a server asks to be left alone, or a ceiling is met."""
    monkeypatch.setenv(pacing.VARIABLE, "1")
    monkeypatch.setattr(pacing, "MOST_SENT", 100)

    async def play():
        one, other = Pace(leading_call=False), Pace(leading_call=False)
        assert one.has_place("python:a")
        assert one.has_room("python:a", 60)
        one.settle()  # it was not taken
        assert other.has_place("python:a")
        assert other.has_room("python:a", 50)
        release = other.take("python:a", 50)
        assert not one.has_place("python:a")
        assert not one.has_room("python:a", 51)
        one.settle()
        assert len(one.waited_for) == 2
        one.settle()
        assert one.waited_for == []
        release()
        assert other.has_room("python:a", 100)

    asyncio.run(play())


def test_a_place_is_kept_for_room_and_for_no_other_place(monkeypatch):
    """What a ceiling keeps back does not use its own: two debates could wait for each other's."""
    monkeypatch.setenv(pacing.VARIABLE, "1")

    async def play():
        one, other, third = (Pace(leading_call=False) for _ in range(3))
        assert third.has_place("openai:a")
        assert not one.has_place("openai:a")
        assert one.has_place("google:b")
        one.settle()
        assert len(one.waited_for) == 1
        assert other.has_place("google:b")

    asyncio.run(play())


def test_a_place_that_comes_while_other_calls_begin_is_used_at_once(table, monkeypatch):
    """Such as while an observer hears of them, or the store is locked."""
    monkeypatch.setenv(pacing.VARIABLE, "1")
    begun = {}

    async def model(request):
        begun.setdefault(request.call, asyncio.get_running_loop().time())
        await asyncio.sleep(50)
        return answer(request)

    async def observe(event):
        if event["type"] == "call.started":
            await asyncio.sleep(2)

    async def play():
        slots = pacing.slots_of("openai:a")
        taken = slots.take()
        asyncio.get_running_loop().call_later(1, slots.give_back, taken)
        debaters = [{"id": "ann", "model": "openai:a"}, {"id": "bob", "model": "google:b"}]
        await table.debating("panel", debaters=debaters, timeout_seconds=60, observe=observe)

    with served(model):
        instant.run(play())
    assert begun["r0.draft.bob:1"] < begun["r0.draft.ann:1"] < 50


LIMITS = [
    ("", {"": 100}),
    ("20", {"": 20}),
    ("openai=20, ollama=2", {"": 100, "openai": 20, "ollama": 2}),
    ("openai-responses=3,7", {"": 7, "openai-responses": 3}),
]


@pytest.mark.parametrize(("text", "found"), LIMITS)
def test_the_limits_are_read(text, found):
    assert limits(text) == found


@pytest.mark.parametrize("text", ["0", "-1", "many", "openai=", "openai=1.5", "=3", "1e3"])
def test_limits_that_are_none_are_refused(text):
    with pytest.raises(UsageError) as caught:
        limits(text)
    assert caught.value.code == "env.concurrency"


class Counting:
    """Counts how many of its calls are in flight."""

    def __init__(self):
        self.now = self.most = 0

    async def __call__(self, request):
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.002)
        self.now -= 1
        return answer(request)


@pytest.mark.parametrize(("limit", "most"), [("2", 2), ("python=3,1", 3), ("1000", 24)])
def test_the_limit_holds_over_all_debates_of_a_loop(table, monkeypatch, limit, most):
    monkeypatch.setenv(pacing.VARIABLE, limit)
    model = Counting()

    async def play():
        return await asyncio.gather(
            *(table.debating("panel", model, convergence_check=False) for _ in range(8))
        )

    played = instant.run(play())
    assert model.most == most
    assert all(found.state.closed["outcome"] == "complete" for found in played)


@pytest.mark.parametrize("room", [1, 4_000])
def test_what_is_in_flight_has_one_room_over_all_debates_of_a_loop(table, monkeypatch, room):
    monkeypatch.setattr(pacing, "MOST_SENT", room)
    sent = []

    async def model(request):
        sent.append(len(request.prompt.encode()))
        assert len(sent) == 1 or sum(sent) <= room
        await asyncio.sleep(0.002)
        sent.remove(len(request.prompt.encode()))
        return answer(request)

    async def play():
        return await asyncio.gather(
            *(table.debating("panel", model, convergence_check=False) for _ in range(4))
        )

    played = instant.run(play())
    assert all(found.state.closed["outcome"] == "complete" for found in played)


def test_a_debate_that_fails_gives_its_places_back(table, monkeypatch):
    monkeypatch.setenv(pacing.VARIABLE, "1")

    async def hangs(request):
        await asyncio.sleep(60)

    async def play():
        first = asyncio.ensure_future(table.debating("panel", hangs))
        second = asyncio.ensure_future(table.debating("panel", answer))
        await asyncio.sleep(1)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        return await second

    assert instant.run(play()).state.closed["outcome"] == "complete"


def test_a_debate_that_pauses_keeps_no_place_from_others(table, monkeypatch):
    monkeypatch.setenv(pacing.VARIABLE, "1")
    ends = {}

    async def play(name, model):
        await table.debating("panel", model)
        ends[name] = asyncio.get_running_loop().time()

    async def both():
        busy = failing(lambda: ModelError("rate_limited", retry_after=40), times=1)
        await asyncio.gather(play("busy", busy), play("other", answer))

    instant.run(both())
    assert ends["other"] < 40 <= ends["busy"]


def test_a_debate_that_breaks_as_it_chooses_gives_its_places_back(table, monkeypatch):
    monkeypatch.setenv(pacing.VARIABLE, "2")
    start, started = Engine._start, []

    def breaks(self, step, **more):
        started.append(step)
        if len(started) == 2:
            raise MemoryError
        return start(self, step, **more)

    async def play():
        with monkeypatch.context() as patch:
            patch.setattr(Engine, "_start", breaks)
            with pytest.raises(MemoryError):
                await table.debating("panel", answer)
        most = Counting()
        await table.debating("panel", most)
        return most.most

    assert instant.run(play()) == 2


def test_a_call_that_times_out_frees_its_place(table, monkeypatch):
    monkeypatch.setenv(pacing.VARIABLE, "1")

    async def hangs(request):
        await asyncio.sleep(60)

    table.play("judged", hangs, max_rounds=1, timeout_seconds=0.05, attempts=1)
    assert [row["error"] for row in table.data("call.failed")] == ["timeout"] * 2


# Which one goes first


def order(table, phase):
    """Starts and ends of the calls of a phase, in order."""
    return [
        (event["type"].removeprefix("call."), event["data"]["call"].split(".")[2][:3])
        for event in table.events
        if event["type"] in ("call.started", "call.answered", "call.failed")
        and event["data"]["call"].startswith(phase)
    ]


def test_one_call_leads_each_parallel_phase_and_the_others_follow_together(table):
    table.play("panel", leading_call=True, convergence_check=False)
    assert table.data("debate.opened")[0]["leading_call"] is True
    for phase in ("r0.draft", "r1.draft"):
        rows = order(table, phase)
        assert rows[:2] == [("started", "ann"), ("answered", "ann")]
        assert rows[2:4] == [("started", "bob"), ("started", "cat")]
    assert table.verified().findings == []


def test_without_it_all_are_asked_at_once(table):
    table.play("panel", convergence_check=False)
    assert [row[0] for row in order(table, "r0.draft")][:3] == ["started"] * 3


def test_each_model_has_its_own_leading_call(table):
    debaters = [{"id": name, "model": f"python:{bot}"} for name, bot in (
        ("ann", "bot"), ("bob", "bot"), ("cat", "two"), ("dan", "two")
    )]  # fmt: skip
    table.play("panel", models={"two": answer}, leading_call=True, debaters=debaters)
    assert order(table, "r0.draft")[:2] == [("started", "ann"), ("started", "cat")]


def test_the_others_do_not_wait_for_a_leader_that_failed(table):
    def model(request):
        if request.speaker == "ann" and request.round == 0:
            raise ModelError("timeout")  # which no server is spared for
        return answer(request)

    table.play("panel", model, leading_call=True, attempts=1)
    rows = order(table, "r0.draft")
    assert rows[:4] == [
        ("started", "ann"), ("failed", "ann"), ("started", "bob"), ("started", "cat")
    ]  # fmt: skip


# What a model is told of the others' replies


def test_a_request_names_the_schemas_that_its_model_fills(table):
    seen = {}

    def model(request):
        seen[request.role] = (request.reply_schema, request.schemas)
        return answer(request)

    table.play("moderated", model, synthesizer=True)
    schemas = {role: own for role, (own, _) in seen.items()}
    assert len(schemas) == 6
    for _, named in seen.values():
        assert sorted(map(str, named)) == sorted(map(str, schemas.values()))


def test_the_cost_of_writing_to_a_cache_is_counted(table):
    async def model(request):
        text = str(reply()).replace("'", '"')
        return Completion(
            text, tokens_in=1000, tokens_cached=600, tokens_cache_write=300, tokens_out=10
        )

    price = {"input": "2", "cached": "0.2", "cache_write": "2.5", "output": "10"}
    prices = {f"python:{seat}": price for seat in ("planner", "critic", "operator")}
    table.run(model, prices=prices)
    rows = table.data("call.answered")
    assert {row["cost_micro_usd"] for row in rows} == {200 + 120 + 750 + 100}
    assert {row["tokens_cache_write"] for row in rows} == {300}
    started = table.data("call.started")[0]
    reserved = started["reserved_tokens_in"] * 2.5
    assert reserved <= started["reserved_cost_micro_usd"] <= reserved + 1
    assert table.verified().findings == []


def test_an_unknown_limit_is_found_before_anything_is_asked(table, monkeypatch):
    monkeypatch.setenv(pacing.VARIABLE, "lots")
    with pytest.raises(UsageError) as caught:
        asyncio.run(
            session.run(spec_of("judged"), table.store, table.folder, models={"bot": answer})
        )
    assert caught.value.code == "env.concurrency"
    assert table.store.debates() == []


# How long a server is left alone: by every step, seat and debate


def fail(server, kind="rate_limited", *, began, now, tries=0, chance=0.0, **more):
    error = ModelError(kind, **more)
    return server.failed("openai:m", error, tries, began=began, now=now, chance=chance)


def test_waits_grow_with_each_wave_and_not_with_each_call_of_a_wave():
    server = Server()
    assert fail(server, began=0, now=1) == 250
    assert fail(server, began=0.5, now=1.1) == 250  # made before the first failure was known
    assert fail(server, began=2, now=2) == 500
    assert fail(server, began=3, now=3) == 1000
    server.answered(2.5)  # made before the last failure was known: it says nothing of the load
    assert fail(server, began=5, now=5) == 2000
    server.answered(6)
    assert fail(server, began=8, now=8) == 250


def test_what_a_server_asks_for_holds_for_those_who_were_not_told():
    server = Server()
    assert fail(server, retry_after=30, began=0, now=1) == 30_000
    assert server.left_ms(11) == 20_000
    assert fail(server, began=0.5, now=11) == 20_000
    assert fail(server, "timeout", began=0.5, now=11) == 20_000
    assert fail(server, "client_error", began=0.5, now=11) is None
    assert (server.left_ms(30.9999), server.left_ms(31)) == (1, 0)


def test_a_server_that_cannot_be_reached_is_waited_for_as_its_step_tries():
    server = Server()
    assert [fail(server, "unreachable", began=n, now=n) for n in (1, 2, 3)] == [250] * 3
    assert fail(server, "unreachable", tries=2, began=4, now=4) == 1000


def test_a_wait_of_ones_own_is_spread_and_the_servers_is_not():
    server = Server()
    assert fail(server, began=0, now=0, chance=1.0) == 500
    assert server.left_ms(0) == 250


def test_nobody_waits_for_a_script():
    server = Server()
    error = ModelError("rate_limited", retry_after=9)
    assert server.failed("scripted:a", error, 3, began=0, now=0, chance=0.5) == 0
    assert server.left_ms(0) == 0


def test_a_server_is_known_by_its_address_and_a_function_by_its_name(monkeypatch):
    clock = instant.Clock()
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    one = server_of(clock, "openai:a", None)
    assert server_of(clock, "openai:b", None) is one
    assert server_of(clock, "openai-responses:a", None) is one  # of the same house
    assert server_of(clock, "openai:a", "https://llm.example/v1") is not one
    assert server_of(clock, "ollama:a", None) is not one
    assert server_of(instant.Clock(), "openai:a", None) is not one
    assert server_of(clock, "python:a", None) is not server_of(clock, "python:b", None)
    assert server_of(clock, "bedrock:a", None) is server_of(clock, "bedrock:b", None)


def first_fails(**error):
    """Fail the very first call of all, then answer."""
    asked = []

    def model(request):
        asked.append(request.call)
        if len(asked) == 1:
            raise ModelError("rate_limited", **error)
        return answer(request)

    return model, asked


def starts(table):
    """When each call was started, in seconds after the opening."""
    opened = table.events[0]["at"]
    rows = [event for event in table.events if event["type"] == "call.started"]
    return {row["data"]["call"]: session_ms(opened, row["at"]) / 1000 for row in rows}


def test_another_step_waits_for_what_the_server_asked_of_the_first(table):
    model, _ = first_fails(retry_after=7)
    table.play("judged", model, max_rounds=1, attempts=1)
    assert starts(table) == {"r1.argument.ann:1": 0, "r1.argument.bob:1": 7}
    assert table.verified().findings == []


def test_another_debate_of_the_process_waits_as_well(table):
    model, _ = first_fails(retry_after=7)
    clock = instant.Clock()

    async def both():
        first = table.debating("judged", model, max_rounds=1, clock=clock)
        second = table.debating("judged", model, max_rounds=1, clock=clock)
        one, other = asyncio.create_task(first), asyncio.create_task(second)
        await asyncio.gather(one, other)

    instant.run(both())
    begun = {}
    for debate in table.store.debates():
        for event in table.store.events(debate):
            if event["type"] == "call.started" and ":2" not in event["data"]["call"]:
                begun.setdefault(event["data"]["call"], []).append(event["at"][17:19])
    assert begun["r1.argument.ann:1"] == ["00", "00"]  # both before it was known
    assert begun["r1.argument.bob:1"] == ["07", "07"]


def test_a_server_that_asks_for_more_than_a_step_may_wait_is_asked_no_more(table):
    model, asked = first_fails(retry_after=3600)
    state = table.play("judged", model, max_rounds=1, attempts=9, retry_seconds=60)
    assert (asked, table.seconds) == (["r1.argument.ann:1"], 0)
    told, spared = table.data("call.failed")
    assert (told["detail"], told["wait_ms"], told["again"]) == (None, 3_600_000, False)
    assert (spared["error"], spared["detail"]) == ("rate_limited", "not-asked")
    assert (spared["wait_ms"], spared["again"], spared["status"]) == (3_600_000, False, None)
    assert state.closed == {"outcome": "failed", "reason": "nobody_heard"}
    assert table.verified().findings == []


def test_a_wait_that_others_made_longer_counts_against_the_time_to_retry_in(table):
    """Ann may wait 40 seconds for her second attempt; while she does, Bob is told to wait 60."""
    asked = []

    async def model(request):
        asked.append(request.call)
        if request.speaker == "ann":
            raise ModelError("unreachable", retry_after=40)
        await asyncio.sleep(10)
        raise ModelError("rate_limited", retry_after=60)

    table.play("panel", model, debaters=[{"id": "ann"}, {"id": "bob"}], rounds=1, retry_seconds=50)
    assert asked == ["r0.draft.ann:1", "r0.draft.bob:1"]
    rows = [(row["call"], row["detail"], row["again"]) for row in table.data("call.failed")]
    assert rows[:3] == [
        ("r0.draft.ann:1", None, True),
        ("r0.draft.bob:1", None, False),
        ("r0.draft.ann:2", "not-asked", False),
    ]
    assert table.verified().findings == []
