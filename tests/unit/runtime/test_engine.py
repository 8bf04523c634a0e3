"""What a model does wrong ends in the record, one attempt at a time, and loses nothing."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest

import instant
from hansard.errors import DataError, SeatError
from hansard.rules.spending import milliseconds
from hansard.runtime import session
from hansard.runtime.clock import Clock
from hansard.runtime.models.base import Completion, ModelError, Unavailable, Wire
from playing import served
from unit.runtime.conftest import SEATS

GOOD = '{"stance": "s", "rationale": "r", "vote": "release"}'


def reply(vote="release"):
    return {"stance": "my position", "rationale": "my reasons", "vote": vote}


def raising(error):
    def model(request):
        raise error

    return model


def araising(error):
    async def model(request):
        raise error

    return model


def giving(make):
    return lambda request: make()


async def hangs_async(request):
    await asyncio.sleep(60)


async def clings(request):
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        return reply()


def hangs_in_a_thread(request):
    instant.hang()


class Unspeakable(Exception):
    """An error that cannot be asked what it is."""

    @property
    def status_code(self):
        raise RuntimeError("secret")


class Status(Exception):
    """An error of some client's, by the status of a response."""

    def __init__(self, status_code):
        super().__init__("secret")
        self.status_code = status_code


class Awaitable:
    def __await__(self):
        raise KeyError("secret")
        yield


class ModelWith:
    """A model in the seam's own shape whose `complete` is `function`."""

    price = None

    def __init__(self, function):
        self.complete = function


class Renamed(str):
    """Text that is encoded as other text than it shows."""

    __slots__ = ()

    def encode(self, *_):
        return json.dumps(reply("revise")).encode()


def completed(text):
    return Completion(Renamed(text))


class Exiting(Completion):
    """A completion that ends the process of whoever reads it, once it is made."""

    def __post_init__(self):
        pass

    @property
    def text(self):
        raise SystemExit

    @text.setter
    def text(self, value):
        pass


class Silent(Unavailable):
    """A failure that does not say what it is: it does not call what it inherits."""

    def __init__(self):
        pass


class Leaving(Exception):
    """An error that ends the process of whoever asks it what it is."""

    @property
    def status_code(self):
        raise SystemExit


def changed(made, **members):
    """Return what was made, changed since."""
    for name, value in members.items():
        object.__setattr__(made, name, value)
    return made


async def not_a_completion(request):
    return "just text"


FAULTS = {
    "says a class": (raising(ModelError("rate_limited", "429")), "rate_limited", "429"),
    "says a class, async": (araising(ModelError("server_error")), "server_error", None),
    "detail is a sentence": (raising(ModelError("timeout", "no no no")), "timeout", None),
    "detail is a number": (raising(ModelError("timeout", 7)), "timeout", None),
    "hangs": (hangs_async, "timeout", None),
    "hangs and clings": (clings, "timeout", None),
    "hangs in a thread": (hangs_in_a_thread, "timeout", None),
    "is unavailable": (raising(Unavailable("sk-secret")), "unreachable", "Unavailable"),
    "times out": (raising(TimeoutError("secret")), "timeout", "TimeoutError"),
    "is refused": (araising(ConnectionRefusedError()), "unreachable", "ConnectionRefusedError"),
    "is cut off": (raising(ConnectionResetError()), "server_error", "ConnectionResetError"),
    "has a status": (raising(Status(503)), "server_error", "http-503"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_recorded_tried_again_and_forfeited(table, fault):
    model, kind, detail = FAULTS[fault]
    state = table.run({"critic": model}, timeout_seconds=9)
    failed = [(row["call"], row["error"], row["detail"]) for row in table.data("call.failed")]
    assert failed == [(f"r1.proposal.critic:{n}", kind, detail) for n in (1, 2)]
    assert [row["again"] for row in table.data("call.failed")] == [True, False]
    (forfeit,) = table.data("turn.forfeited")
    assert (forfeit["speaker"], forfeit["reason"]) == ("critic", "no_reply")
    assert state.votes == {"planner": "release", "critic": None, "operator": "release"}
    assert state.decision["decision"] == "release"
    assert table.verified().ok, table.verified().findings
    assert b"secret" not in b"".join(table.store.lines(table.debate))


BUGS = {
    "raises": (raising(ValueError("sk-secret")), "ValueError"),
    "async raises": (araising(OSError("host")), "OSError"),
    "class is unknown": (giving(lambda: ModelError("odd")), "ValueError"),
    "class is abandoned": (giving(lambda: ModelError("abandoned")), "ValueError"),
    "StopIteration": (raising(StopIteration()), "RuntimeError"),
    "exits": (raising(SystemExit(3)), "RuntimeError"),
    "async exits": (araising(SystemExit(0)), "RuntimeError"),
    "async ends otherwise": (araising(type("Own", (BaseException,), {})()), "RuntimeError"),
    "cancels itself": (araising(asyncio.CancelledError()), "CancelledError"),
    "odd class name": (raising(type("Not An Id", (Exception,), {})()), None),
    "awaitable raises": (giving(Awaitable), "KeyError"),
    "gives None": (giving(lambda: None), "TypeError"),
    "gives a number": (giving(lambda: 7), "TypeError"),
    "gives a list": (giving(lambda: [reply()]), "TypeError"),
    "gives bytes": (giving(GOOD.encode), "TypeError"),
    "gives no JSON": (giving(lambda: {"vote": object()}), "TypeError"),
    "lone surrogate": (giving(lambda: "\ud800"), "UnicodeEncodeError"),
    "surrogate in a mapping": (
        giving(lambda: reply() | {"stance": "\udfff"}),
        "UnicodeEncodeError",
    ),
    "negative tokens": (giving(lambda: Completion(GOOD, tokens_in=-1)), "ValueError"),
    "tokens are true": (giving(lambda: Completion(GOOD, tokens_out=True)), "ValueError"),
    "tokens too many": (giving(lambda: Completion(GOOD, tokens_in=1 << 53)), "ValueError"),
    "finish is no text": (giving(lambda: Completion(GOOD, finish=[])), "ValueError"),
    "odd finish": (giving(lambda: Completion(GOOD, finish="done")), "ValueError"),
    "text is no text": (giving(lambda: Completion(7)), "TypeError"),
    "model is no text": (giving(lambda: Completion(GOOD, model=7)), "TypeError"),
    "id is no text": (giving(lambda: Completion(GOOD, response_id=b"x")), "TypeError"),
    "surrogate in an id": (
        giving(lambda: Completion(GOOD, fingerprint="\ud800")),
        "UnicodeEncodeError",
    ),
    "sent flag is text": (giving(lambda: Completion(GOOD, sent_as_rendered="yes")), "TypeError"),
    "sent without a body": (giving(lambda: Completion(GOOD, sent_as_rendered=False)), "ValueError"),
    "sent flag is a number": (giving(lambda: Completion(GOOD, sent_as_rendered=1)), "TypeError"),
    "model gives text": (ModelWith(not_a_completion), "TypeError"),
    "model raises at once": (ModelWith(raising(ValueError())), "ValueError"),
    "odd status": (raising(Status(7)), "Status"),
    "status is true": (raising(Status(True)), "Status"),
    "status raises": (raising(Unspeakable()), "Unspeakable"),
    "status exits": (raising(Leaving()), "Leaving"),
    "model exits": (ModelWith(araising(SystemExit(1))), "RuntimeError"),
    "what it gives exits": (giving(lambda: Exiting(GOOD)), "RuntimeError"),
    "tokens were changed": (
        giving(lambda: changed(Completion(GOOD), tokens_in=-5)),
        "ValueError",
    ),
    "text was changed": (giving(lambda: changed(Completion(GOOD), text=None)), "TypeError"),
    "failure says nothing": (raising(Silent()), "Silent"),
    "class was changed": (raising(changed(Unavailable(), kind="odd")), "Unavailable"),
    "wire was changed": (raising(changed(Unavailable(), wire=None)), "Unavailable"),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_ends_the_run_reaches_the_caller_and_leaves_the_debate_open(table, bug):
    model, detail = BUGS[bug]
    with pytest.raises(SeatError, match=r"critic (raised|\(python:critic\) returned)") as raised:
        table.run({"critic": model, "operator": slowly(2)}, timeout_seconds=9)
    assert detail in (None, type(raised.value.__cause__).__name__)
    assert "secret" not in str(raised.value)
    found = (raised.value.debate, raised.value.seat, raised.value.step, raised.value.code)
    assert found == (table.debate, "critic", "r1.proposal.critic", "seat.raised")
    (failed,) = table.data("call.failed")
    assert (failed["call"], failed["error"]) == ("r1.proposal.critic:1", "raised")
    assert (failed["detail"], failed["again"], failed["wait_ms"]) == (detail, True, None)
    assert len(table.data("call.answered")) == 2, "what was in flight ended first"
    assert table.types[-1] in ("call.answered", "call.failed")
    assert b"secret" not in b"".join(table.store.lines(table.debate))
    assert table.verified().findings == []
    state = table.resume()
    assert state.decision["votes"] == 2
    assert [row["again"] for row in table.data("call.failed")] == [True]
    assert table.verified().findings == []


@pytest.mark.parametrize("made", [Renamed, completed], ids=["text", "completion"])
def test_a_kind_of_text_is_recorded_as_the_text_that_was_counted(table, made):
    state = table.run({"critic": giving(lambda: made(GOOD))})
    assert state.votes["critic"] == "release"
    assert table.verified().findings == []


def test_what_cannot_be_looked_at_leaves_a_timeout_without_it(table):
    def look():
        raise SystemExit

    def model(request):
        request.watch.look = look
        instant.hang()

    table.run({"critic": model}, timeout_seconds=9, attempts=1)
    (failed,) = table.data("call.failed")
    assert (failed["error"], failed["status"]) == ("timeout", None)
    assert table.verified().findings == []


@pytest.mark.parametrize("kind", ["client_error", "no_reply"])
def test_what_would_only_fail_alike_is_not_tried_again(table, kind):
    table.run({"critic": raising(ModelError(kind))}, attempts=5)
    (failed,) = table.data("call.failed")
    assert (failed["error"], failed["again"]) == (kind, False)
    assert len(table.data("turn.forfeited")) == 1
    assert table.verified().ok


REJECTED = {
    "unreadable": "I vote release!",
    "schema": '{"vote": "release"}',
    "unknown_option": GOOD.replace("release", "Release"),
    "cut_off": Completion(GOOD, finish="length"),
    "refused": Completion(GOOD, finish="refusal"),
    "filtered": Completion(GOOD, finish="content_filter"),
    "not_finished": Completion(GOOD, finish="other"),
}


@pytest.mark.parametrize("code", REJECTED)
def test_a_reply_that_does_not_count_is_kept_rejected_and_forfeited(table, code):
    table.run({"critic": lambda request: REJECTED[code]})
    assert [(row["code"], row["again"]) for row in table.data("turn.rejected")] == [
        (code, True),
        (code, False),
    ]
    assert [row["reason"] for row in table.data("turn.forfeited")] == ["invalid_reply"]
    assert len(table.data("call.answered")) == 4
    assert table.verified().ok


def test_failures_and_rejections_count_towards_one_number_of_attempts(table):
    ends = {"1": raising(Unavailable()), "2": giving(lambda: "no JSON")}
    critic = {"critic": lambda request: ends.get(request.call[-1], giving(lambda: GOOD))(request)}
    table.run(critic, attempts=3)
    assert [row["call"] for row in table.data("turn.recorded")] == [
        "r1.proposal.planner:1",
        "r1.proposal.critic:3",
        "r1.proposal.operator:1",
    ]
    assert not table.data("turn.forfeited")


def test_a_forfeit_turns_an_earlier_vote_into_an_abstention(table):
    def critic(request):
        return reply("revise") if request.phase == "proposal" else "no JSON"

    def planner(request):
        return reply("release" if request.phase == "proposal" else "revise")

    votes = {"planner": planner, "critic": critic, "operator": lambda _: reply("escalate")}
    state = table.run(votes)
    assert [row["abstentions"] for row in state.counts] == [0, 1, 1, 1]
    assert state.decision["rule"] == "max_rounds_exhausted"
    assert table.verified().ok


@pytest.mark.parametrize("kind", ["async", "threads"])
def test_the_first_phase_runs_at_once(table, kind):
    """Three calls wait for each other: asked one by one they would run out of time."""
    together = threading.Barrier(3)
    barriers = []  # an asyncio.Barrier belongs to the loop that it is made in

    async def meets_async(request):
        barriers or barriers.append(asyncio.Barrier(3))
        async with asyncio.timeout(instant.GUARD):
            await barriers[0].wait()
        return reply()

    def meets(request):
        together.wait(instant.GUARD)
        return reply()

    state = table.run(meets_async if kind == "async" else meets, attempts=1)
    assert state.decision["votes"] == 3
    assert not table.data("call.failed")


def test_later_phases_ask_one_speaker_after_the_other(table):
    now, most = [], {}

    async def model(request):
        now.append(request.speaker)
        most[request.phase] = max(most.get(request.phase, 0), len(now))
        await asyncio.sleep(0)
        now.remove(request.speaker)
        return reply({"planner": "release", "critic": "revise"}.get(request.speaker, "escalate"))

    table.run(model)
    assert most == {"proposal": 3, "critique": 1, "revision": 1, "consensus": 1}


def test_replies_are_recorded_as_they_arrive_and_turns_in_schedule_order(table):
    heard = {}

    async def model(request):
        after = {"planner": "critic", "critic": "operator"}.get(request.speaker)
        for seat in ("planner", "critic", "operator"):
            heard.setdefault(seat, asyncio.Event())
        if after:
            await heard[after].wait()
            await asyncio.sleep(0.01)
        heard[request.speaker].set()
        return reply()

    table.run(model)
    assert [row["call"].split(".")[2] for row in table.data("call.answered")] == [
        "operator:1",
        "critic:1",
        "planner:1",
    ]
    turns = [row["speaker"] for row in table.data("turn.recorded")]
    assert turns == ["planner", "critic", "operator"]
    assert table.verified().ok


def test_cancelled_in_mid_call_it_keeps_what_arrived_and_can_be_resumed(table):
    asked = []

    async def cancelled_while_operator_thinks():
        arrived = asyncio.Event()

        async def answers(request):
            asked.append(request.call)
            if request.speaker == "critic":
                await asyncio.sleep(0)
                arrived.set()  # cancelled right now: this reply is there, nobody has looked
            return reply()

        async def thinks(request):
            asked.append(request.call)
            await asyncio.sleep(60)

        models = {"planner": answers, "critic": answers, "operator": thinks}
        task = asyncio.ensure_future(table.running(models))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    instant.run(cancelled_while_operator_thinks())
    assert {row["call"] for row in table.data("call.answered")} == {
        "r1.proposal.planner:1",
        "r1.proposal.critic:1",
    }
    left = table.verified()
    assert left.ok
    assert left.open

    def goes_on(request):
        asked.append(request.call)
        return reply()

    state = table.resume(goes_on)
    assert asked == [f"r1.proposal.{seat}:1" for seat in ("planner", "critic", "operator")] + [
        "r1.proposal.operator:2"
    ]
    (failed,) = table.data("call.failed")
    assert (failed["call"], failed["error"]) == ("r1.proposal.operator:1", "abandoned")
    assert state.decision["votes"] == 3
    assert table.verified().ok


def test_a_reply_after_its_time_is_up_changes_nothing(table):
    ended = threading.Event()

    def late(request):
        instant.hang()
        ended.set()
        return reply("revise")

    def operator(request):
        return reply()

    table.run({"critic": late, "operator": operator}, attempts=1)
    before = table.store.lines(table.debate)
    assert ended.wait(instant.GUARD)
    assert table.store.lines(table.debate) == before
    assert [row["error"] for row in table.data("call.failed")] == ["timeout"]


def test_one_bad_end_among_parallel_ones_leaves_no_gap(table):
    """All three end in one turn of the loop; the record stays gap-free whatever they are."""
    table.run(
        {
            "planner": araising(ModelError("timeout", "not an id")),
            "critic": araising(ModelError("crashed", "nor this")),
        }
    )
    assert table.verified().ok


def test_a_fact_that_no_line_can_hold_leaves_the_record_as_it_was(table):
    """Not reachable through models; still the journal must not number what it refused."""

    class Broken(Clock):
        calls = 0

        def now(self):
            Broken.calls += 1
            return "9999-11-22 10:00:00.000000é" if Broken.calls > 6 else super().now()

        def timeline(self, after=""):
            return self.now

    with pytest.raises(DataError):
        table.run(clock=Broken())
    rows = table.store.events(table.debate)
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))


def test_observers_hear_every_event_once_in_order(table):
    heard = []
    table.run(observe=heard.append)
    assert heard == table.events


def test_what_a_provider_names_stands_in_the_line_where_it_fits_else_as_a_text(table):
    def model(request):
        return Completion(
            GOOD,
            model="served-1",
            response_id="resp_1",
            request_id="not an id",
            fingerprint="",
            status=200,
            sent_as_rendered=False,
            sent="",
        )

    with served(model):
        table.run(debaters=[{"id": seat, "model": "openai:gpt-5"} for seat in SEATS])
    answer = next(row for row in table.data("call.answered") if "critic" in row["call"])
    assert answer["model"] == "served-1"
    assert answer["response_id"] == "resp_1"
    for field in ("request_id", "fingerprint", "sent"):
        assert answer[field]["sha256"] in table.store.bundle(table.debate).blobs
    assert (answer["status"], answer["sent_as_rendered"]) == (200, False)
    assert table.verified().findings == []
    table.run({"critic": model})  # a function has no wire
    answer = next(row for row in table.data("call.answered") if "critic" in row["call"])
    assert [answer[name] for name in ("status", "sent_as_rendered", "sent")] == [None] * 3
    assert answer["model"] == "served-1"
    assert table.verified().findings == []


@pytest.mark.parametrize(
    ("end", "error"),
    [(asyncio.CancelledError, "crashed"), (None, "timeout")],
    ids=["cancelled", "late"],
)
def test_a_call_that_is_given_up_keeps_what_was_seen_on_the_wire(table, end, error):
    async def model(request):
        request.watch.look = lambda: Wire(200, "req-1", sent_as_rendered=True)
        if end:
            raise end
        await asyncio.sleep(3600)

    with served(model):
        seats = [{"id": seat, "model": "openai:gpt-5"} for seat in SEATS]
        table.run(debaters=seats, attempts=1)
    rows = table.data("call.failed")
    known = {(row["error"], row["status"], row["request_id"]) for row in rows}
    assert known == {(error, 200, "req-1")}
    assert table.verified().findings == []


@pytest.mark.parametrize("model", ["openai:gpt-5", "python:critic"])
def test_a_model_that_nobody_named_is_not_said_to_have_served(table, model):
    with served(lambda request: GOOD):
        table.run(debaters=[{"id": seat, "model": model} for seat in SEATS])
    assert {row["model"] for row in table.data("call.answered")} == {None}
    assert table.verified().findings == []


def slowly(seconds):
    """Vote for oneself alone, in so many seconds."""

    async def model(request):
        await asyncio.sleep(seconds)
        options = ("release", "revise", "escalate")
        return reply(options[SEATS.index(request.speaker)])

    return model


def test_a_clock_that_is_set_back_while_a_debate_runs_changes_none_of_its_times(table):
    class Backwards(instant.Clock):
        hour = 23

        def now(self):
            self.hour = max(0, self.hour - 1)
            return f"2026-11-21T{self.hour:02}:00:00.000000Z"

    table.run({"critic": slowly(2)}, clock=Backwards())
    times = [event["at"] for event in table.events]
    assert times == sorted(times)
    assert (times[0], times[-1]) == ("2026-11-21T22:00:00.000000Z", "2026-11-21T22:00:02.000000Z")
    assert table.verified().ok


def test_a_clock_that_is_set_back_stretches_no_ceiling(table):
    class Back(instant.Clock):
        looks = 0

        def now(self):
            self.looks += 1
            return f"2026-11-21T{max(0, 20 - self.looks):02}:00:00.000000Z"

    table.run(slowly(2), clock=Back(), limits={"seconds": 3})
    (cut,) = table.data("debate.truncated")
    assert (cut["ceiling"], cut["spent"]) == ("seconds", 4000)


def test_a_resumed_debate_goes_on_from_its_last_entry_where_the_clock_is_behind_it(table):
    class Stop(BaseException):
        pass

    def stop(event):
        if event["type"] == "turn.recorded":
            raise Stop

    with pytest.raises(Stop):
        table.run(slowly(0), observe=stop)
    last = table.events[-1]["at"]

    class Behind(instant.Clock):
        def now(self):
            return "2020-01-01T00:00:00.000000Z"

    instant.run(
        session.resume(table.debate, table.store, models=table.seated(slowly(1.5)), clock=Behind())
    )
    times = [event["at"] for event in table.events if event["at"] > last]
    assert milliseconds(last, times[-1]) >= 1500
    resumed = next(event for event in table.events if event["type"] == "debate.resumed")
    assert resumed["at"] == last
    assert table.verified().findings == []


def test_messages_reach_the_model_with_evidence_but_no_other_proposal(table):
    seen = {}

    def model(request):
        seen[request.speaker, request.phase] = request.prompt
        return reply({"planner": "release", "critic": "revise"}.get(request.speaker, "escalate"))

    table.run(model, evidence=[{"id": "memo", "text": "a fact"}])
    assert "| a fact\n" in seen["planner", "proposal"]
    assert "my position" not in seen["operator", "proposal"]
    assert seen["operator", "critique"].count("my position") == 5


def test_the_worst_case_is_reserved_and_the_cost_computed_and_rounded_up(table):
    table.run(
        lambda request: Completion(GOOD, tokens_in=1001, tokens_cached=1, tokens_out=3),
        prices={"python:critic": {"input": "0.0015", "output": "2", "cached": "0.001"}},
        debaters=[
            {"id": seat, "model": f"python:{seat}", "settings": {"max_tokens": 10}}
            for seat in ("planner", "critic", "operator")
        ],
    )
    costs = {row["call"]: row["cost_micro_usd"] for row in table.data("call.answered")}
    # 1000 x 1500 + 1 x 1000 + 3 x 2000000 millionths of a micro-dollar = 7.501 micro-dollars
    assert costs["r1.proposal.critic:1"] == 8
    assert costs["r1.proposal.planner:1"] is None
    started = {row["call"]: row for row in table.data("call.started")}
    row = started["r1.proposal.critic:1"]
    assert row["reserved_tokens_out"] == 10
    worst = row["reserved_tokens_in"] * 1500 + 10 * 2_000_000
    assert row["reserved_cost_micro_usd"] == -(-worst // 1_000_000)
    assert started["r1.proposal.planner:1"]["reserved_cost_micro_usd"] is None
    assert table.verified().ok


def test_more_cached_than_read_is_charged_as_all_cached(table):
    table.run(
        lambda request: Completion(GOOD, tokens_in=10, tokens_cached=99, tokens_out=0),
        prices={"python:critic": {"input": "5", "output": "0", "cached": "1"}},
    )
    assert {row["cost_micro_usd"] for row in table.data("call.answered")} == {None, 10}
    assert table.verified().ok
