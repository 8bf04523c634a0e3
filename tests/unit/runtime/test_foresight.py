"""The estimate foresees the run: the same calls are made, whatever is sent and whatever is capped.

Every debate here is answered with what the estimate assumes, so that the calls
it predicts below a ceiling are exactly those that are made.
"""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

import hansard
from hansard.rules.spending import BYTES_A_TOKEN
from hansard.runtime import seats, session
from hansard.runtime.estimate import estimate
from hansard.runtime.files import Files
from hansard.runtime.models.base import Completion
from hansard.runtime.output import encoded
from hansard.runtime.rehearsal import BYTES, filler
from hansard.store.application import Store
from playing import MODEL, data, play, spec_of

PRICES = {"input": "2", "cached": "0.5", "cache_write": "2.5", "output": "10"}
QUIET = settings(max_examples=60)


def look_up(words: str) -> str:
    raise AssertionError("nobody asks for a tool here")


def described(size):
    """A tool whose definition has about so many bytes."""

    def tool(words: str) -> str:
        raise AssertionError("nobody asks for a tool here")

    tool.__doc__ = "Look it up. " * (size // 12)
    return tool


class Assumed:
    """Says what the estimate assumes of a seat, and states what it was sent."""

    price = None

    def __init__(self, replies, *, yes):
        self.replies, self.yes, self.calls = replies, yes, 0

    async def complete(self, request):
        self.calls += 1
        tokens = self.replies[request.speaker]
        sent = [message.text.encode() for message in request.messages]
        sent += [encoded(request.reply_schema), *(encoded(vars(row)) for row in request.tools)]
        size = sum(map(len, sent))
        text = filler(request.reply_schema, tokens * BYTES, yes=self.yes)
        return Completion(text, tokens_in=-(-size // BYTES), tokens_out=tokens)


def foreseen(format_, tools, **changes):
    """What the estimate says of the shortest course, and how many calls the run really makes."""
    names = {"tools": list(tools)} if tools else {}
    spec = spec_of(format_, **names, **changes)
    found = estimate(spec, Files(None), tools=tools)
    replies = {seat.id: seat.reply_tokens for seat in found.fewest.seats}
    model = Assumed(replies, yes=False)
    bundle = play(format_, model, use=tools, **names, **changes)
    return found.fewest, bundle, model.calls


def test_a_tools_definition_is_sent_with_every_call_and_counts_against_the_ceiling():
    tools = {"look_up": described(4096)}
    limits = {"tokens": 1500}
    small = {"settings": {"max_tokens": 50}, "max_rounds": 1, "limits": limits}
    without, bundle, calls = foreseen("judged", {}, **small)
    assert (without.stop.calls, calls) == (2, 2)
    course, bundle, calls = foreseen("judged", tools, **small)
    assert calls == 0
    assert data(bundle, "debate.truncated")[0]["ceiling"] == "tokens"
    assert (course.stop.ceiling, course.stop.calls) == ("tokens", 0)


def cut_short(**changes):
    """What the run of a small moderated debate says as it is cut short."""
    spec = spec_of("moderated", max_rounds=1, settings={"max_tokens": 100}, **changes)
    with Store.open("sqlite:///:memory:") as store:
        running = session.run(spec, store, None, models={"bot": Assumed({}, yes=False)})
        found = asyncio.run(running)
    return found.state.truncated


def test_the_envelope_of_all_schemas_is_reserved_for_a_providers_server(monkeypatch):
    monkeypatch.setattr(seats, "open_model", lambda *_: Assumed({}, yes=False))
    cut = cut_short(model="openai:m", limits={"tokens": 1})
    for tokens, calls in ((cut["reserved"] - 1, 0), (cut["reserved"], 1)):
        limits = {"limits": {"tokens": tokens}, "settings": {"max_tokens": 100}}
        course = estimate(
            spec_of("moderated", model="openai:m", max_rounds=1, **limits), Files(None)
        )
        assert course.most.stop.calls == calls
    alone = cut_short(limits={"tokens": 1})
    assert cut["reserved"] > alone["reserved"]


def test_what_an_estimate_counts_is_what_is_reserved_at_other_bytes_a_token():
    tools = {"look_up": described(900)}
    course, bundle, _ = foreseen("judged", tools, max_rounds=1)
    started = data(bundle, "call.started")
    reserved = sum(row["reserved_tokens_in"] for row in started)
    assert abs(reserved * BYTES_A_TOKEN - course.tokens_in * BYTES) < 7 * len(started)


SHAPES = {
    "consensus": {"max_rounds": 1, "threshold": 2},
    "judged": {"max_rounds": 2},
    "moderated": {"max_rounds": 1},
    "panel": {"rounds": 2, "convergence_check": False},
}


@QUIET
@given(
    format_=st.sampled_from(sorted(SHAPES)),
    tool=st.sampled_from([0, 300, 5000]),
    reply=st.sampled_from([None, 40, 700]),
    synthesizer=st.booleans(),
    ceiling=st.sampled_from(["calls", "tokens", "cost_usd"]),
    share=st.integers(1, 24),
)
def test_the_calls_foreseen_below_a_ceiling_are_those_that_are_made(
    format_, tool, reply, synthesizer, ceiling, share
):
    changes = SHAPES[format_] | {"synthesizer": synthesizer, "prices": {MODEL: PRICES}}
    if reply:
        changes["settings"] = {"max_tokens": reply}
    tools = {"look_up": described(tool)} if tool else {}
    names = {"tools": list(tools)} if tools else {}
    whole = estimate(spec_of(format_, **changes, **names), Files(None), tools=tools).fewest
    most = {
        "calls": whole.calls,
        "tokens": whole.tokens_in + whole.tokens_out + 4 * 5000,
        "cost_usd": whole.cost_micro_usd + 4 * 5000 * 10,
    }[ceiling]
    limit = max(1, most * share // 20)
    limits = {ceiling: f"{limit / 1_000_000:.6f}" if ceiling == "cost_usd" else limit}
    course, bundle, calls = foreseen(format_, tools, limits=limits, **changes)
    # After the decision, the deliverable alone is cut.
    lost = [row["cut"] for row in data(bundle, "turn.forfeited") if row["cut"]]
    cut = data(bundle, "debate.truncated") + lost
    if course.stop is None:
        assert (calls, cut) == (course.calls, [])
    else:
        assert calls == course.stop.calls == len(data(bundle, "call.started"))
        assert cut[0]["ceiling"] == course.stop.ceiling


def test_a_tool_that_is_not_given_is_named():
    spec = spec_of("panel", tools=["look_up", "book"])
    assert estimate(spec, Files(None)).missing_tools == ("look_up", "book")
    assert estimate(spec, Files(None), tools={"book": look_up}).missing_tools == ("look_up",)
    fields = {"format": "panel", "question": "Shall we?", "model": MODEL, "tools": ["book"]}
    assert hansard.estimate(fields, tools={"book": look_up}).missing_tools == ()
