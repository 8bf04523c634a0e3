"""No call is made that could break a ceiling, and what stands is kept (RULES.md §13)."""

import pytest

from hansard.rules import spending
from hansard.rules.replay import Difference, NotDue, Replay
from hansard.rules.state import LAST_START
from support import (
    DEFAULTS,
    PRICE,
    Debate,
    Die,
    Fail,
    Raise,
    Reply,
    Setup,
    fold,
    say,
    script,
    walk,
)

TOKENS = (8, 0, 90)  # of a reply: 98 tokens, 920 micro-US-dollars
RESERVED = (110, 1032)  # of a call: 10 tokens in and 100 out, and what they would cost at most
SEAT = {"settings": {"max_tokens": 100}}
ROLES = ("framer", "proposer", "critic", "rebuttal", "moderator")
SEATS = {
    "consensus": {"debaters": [{"id": name, **SEAT} for name in ("ann", "bob", "cat")]},
    "judged": {
        "debaters": [row | SEAT for row in DEFAULTS["judged"]["debaters"]],
        "judge": SEAT,
    },
    "moderated": dict.fromkeys(ROLES, SEAT),
    "panel": {"debaters": [{"id": name, **SEAT} for name in ("ann", "bob", "cat")]},
}


def setup(format_="panel", **limits):
    """A debate with a price, reply caps and ceilings."""
    limits = {"cost_usd": None} | limits
    return Setup(format_, prices=(PRICE,), limits=limits, **SEATS[format_])


def usual(call):
    """A reply that counts, that used less than was reserved, and agrees with nobody."""
    options = dict(zip(("ann", "bob", "cat"), DEFAULTS["consensus"]["options"], strict=True))
    votes = (
        {"vote": options[call.step.speaker]} if "vote" in call.schema.get("properties", ()) else {}
    )
    return say(**votes)(call)._replace(tokens=TOKENS)


def run(setup_, ends=None, **more):
    return Debate(setup_, script(ends, usual), **more).run()


def cut(debate):
    found = debate.state.truncated
    return found and (found["ceiling"], found["limit"], found["spent"], found["reserved"])


def started(debate):
    return [row["step"] for row in debate.record.all("call.started")]


def kinds(debate):
    return [event["type"] for event in debate.record.events]


def after(debate):
    """What follows once a debate was cut short."""
    found = kinds(debate)
    return found[found.index("debate.truncated") + 1 :]


LIMITS = [
    ({"calls": 4}, ("calls", 4, 4, 1)),
    ({"tokens": 450}, ("tokens", 450, 4 * 98, RESERVED[0])),
    ({"cost_usd": "0.004"}, ("cost", 4000, 4 * 920, RESERVED[1])),
]


@pytest.mark.parametrize("format_", SEATS)
@pytest.mark.parametrize(("limits", "row"), LIMITS)
def test_what_one_more_call_could_break_ends_the_debate(format_, limits, row):
    """Three at once and then one more, or four in a row: the fifth is not made."""
    debate = run(setup(format_, **limits))
    assert (len(started(debate)), cut(debate)) == (4, row)
    assert debate.state.closed == {"outcome": "truncated", "reason": f"{row[0]}_ceiling"}
    assert debate.state.decision is None
    *turns, closed = after(debate)
    assert (set(turns) <= {"turn.recorded"}, closed) == (True, "debate.closed")
    assert walk(debate.record.events, debate.record.texts.get) == []
    assert fold(debate.record.events) == debate.state


@pytest.mark.parametrize("format_", SEATS)
@pytest.mark.parametrize(
    ("limits", "used"),
    [
        ({"calls": 4}, 4),
        ({"tokens": 3 * 98 + 110}, 3 * 98 + 110),
        ({"cost_usd": "0.003792"}, 3792),
    ],
)
def test_a_ceiling_may_be_reached_and_not_passed(format_, limits, used):
    assert len(started(run(setup(format_, **limits)))) == 4
    name = next(iter(limits))
    less = f"0.{used - 1:06}" if name == "cost_usd" else used - 1
    assert len(started(run(setup(format_, **{name: less})))) == 3


@pytest.mark.parametrize("format_", SEATS)
def test_a_debate_that_fits_is_not_cut_short(format_):
    debate = run(setup(format_))
    many, total = len(started(debate)), debate.state.total()
    used = total.tokens_in + total.tokens_out + 4 * RESERVED[0]
    roomy = {"calls": many, "tokens": used, "cost_usd": "1", "seconds": 1}
    fits = run(setup(format_, **roomy))
    assert started(fits) == started(debate)
    assert fits.state.closed == debate.state.closed


def test_the_first_of_several_ceilings_is_named():
    limits = {"calls": 4, "tokens": 450, "cost_usd": "0.004", "seconds": 0.018}
    for ceiling, name in zip(("calls", "tokens", "cost", "seconds"), [*limits], strict=True):
        debate = run(setup("judged", **limits), tick=1100)
        assert cut(debate)[0] == ceiling
        del limits[name]


@pytest.mark.parametrize("format_", SEATS)
def test_no_call_is_made_once_the_time_is_up(format_):
    debate = run(setup(format_, seconds=0.013), tick=1000)  # a millisecond a line
    events = debate.record.events
    begun = [event["seq"] - 1 for event in events if event["type"] == "call.started"]
    assert len(begun) == 3
    assert max(begun) < 13
    ended = next(event["seq"] - 1 for event in events if event["type"] == "debate.truncated")
    assert cut(debate) == ("seconds", 13, ended, 0)
    assert ended >= 13
    assert walk(events, debate.record.texts.get) == []


# What is in flight


def test_a_debate_is_cut_short_only_once_nothing_is_in_flight():
    debate = run(setup(calls=2))
    assert kinds(debate)[4:] == [
        *["call.started"] * 2,
        *["call.answered"] * 2,
        "debate.truncated",
        *["turn.recorded"] * 2,
        "debate.closed",
    ]
    assert debate.state.truncated["step"] == "r0.draft.cat"


def test_replies_in_hand_become_turns_and_nobody_else_is_counted_as_silent():
    debate = run(setup(calls=5), {"r1.draft.bob": Fail("client_error")})
    assert after(debate) == ["turn.recorded", "debate.closed"]
    assert [turn.data["step"] for turn in debate.state.turns[3:]] == ["r1.draft.ann"]
    weak = say(challenge_strength=4)
    debate = run(setup("moderated", calls=3), {"critique": weak})
    assert debate.state.turns[-1].case["rating"] == 4
    assert walk(debate.record.events, debate.record.texts.get) == []


def test_what_comes_back_may_have_used_less_than_was_reserved():
    debate = run(setup(tokens=320))  # two at once, and a third once one has come back
    begun = [*["call.started"] * 2, "call.answered", "call.started", "call.answered"]
    assert kinds(debate)[4:9] == begun
    assert (len(started(debate)), cut(debate)[2]) == (3, 3 * 98)


def test_calls_in_flight_end_as_they_do_and_none_is_tried_again():
    for end in (Fail("timeout"), Reply("?", finish="length"), Fail("client_error")):
        debate = run(setup(calls=2), {"ann": end})
        assert started(debate) == ["r0.draft.ann", "r0.draft.bob"]
        assert debate.state.closed["outcome"] == "truncated"


def test_a_call_that_died_with_its_process_is_charged():
    debate = run(setup(cost_usd="0.003095"), {"ann": Die()})
    abandoned = [row for row in debate.record.all("call.failed") if row["error"] == "abandoned"]
    assert [row["cost_micro_usd"] for row in abandoned] == [1032, 1032]
    assert cut(debate) == ("cost", 3095, 2 * 1032, 1032)
    assert walk(debate.record.events, debate.record.texts.get) == []


def test_a_tool_in_flight_is_waited_for():
    fields = {"tools": ["lookup"], "limits": {"calls": 2}, "debaters": ("ann", "bob")}
    use = Reply("", tools=[("lookup", "{}")])
    debate = Debate(Setup("panel", **fields), script({"ann": use})).run()
    assert kinds(debate)[-4:-2] == ["tool.returned", "debate.truncated"]
    assert after(debate) == ["turn.recorded", "debate.closed"]  # bob's
    assert debate.state.truncated["step"] == "r0.draft.ann"


@pytest.mark.parametrize(
    ("end", "calls", "replies", "reserved"),
    [
        (usual, 0, 0, 0),
        (say(), 0, -1, 1),  # it does not state what it used
        *((Fail(error), 1, 0, 1) for error in ("timeout", "server_error", "crashed")),
        *((end, 1, 0, 1) for end in (Die(), Raise())),
        *((Fail(error), 1, 0, 0) for error in ("rate_limited", "unreachable")),
        *((Fail(error), 0, -1, 0) for error in ("client_error", "no_reply")),
    ],
)
def test_what_nobody_knows_counts_as_it_was_reserved(end, calls, replies, reserved):
    debate = run(setup("judged"), {"r1.argument.ann:1": end})
    spent = spending.spent_by(debate.state, debate.state.at)
    replies += 7  # three stances, two rounds, a judge
    assert spent["calls"] == 7 + calls
    assert spent["tokens"] == replies * 98 + reserved * RESERVED[0]
    assert spent["cost"] == replies * 920 + reserved * RESERVED[1]


@pytest.mark.parametrize("format_", SEATS)
def test_the_best_standing_so_far_is_there_when_a_debate_is_cut_short(format_):
    full = run(setup(format_))
    for calls in range(1, len(started(full))):
        debate = run(setup(format_, calls=calls))
        assert len(debate.record.all("call.answered")) == calls
        assert debate.state.turns == full.state.turns[: len(debate.state.turns)]
        assert debate.state.counts == full.state.counts[: len(debate.state.counts)]


# What a record may hold


def walked(debate, limits=None, /, **change):
    """Replay with other limits in the opening and other fields in the truncation."""
    events = []
    for event in debate.record.events:
        data = event["data"]
        if event["type"] == "debate.opened" and limits:
            data = {**data, "limits": data["limits"] | limits}
        if event["type"] == "debate.truncated":
            data = {**data, **change}
        events.append({**event, "data": data})
    return walk(events, debate.record.texts.get)


@pytest.mark.parametrize("format_", SEATS)
@pytest.mark.parametrize(
    ("limits", "row"),
    [
        ({"calls": 2}, 2),
        ({"tokens": 150}, 98),
        ({"cost_micro_usd": 1500}, 920),
        ({"elapsed_ms": 8}, 8),
    ],
)
def test_a_call_made_over_a_ceiling_is_a_difference_and_the_walk_goes_on(format_, limits, row):
    debate = run(setup(format_), tick=1000)
    found = walked(debate, limits)
    starts = [event["seq"] for event in debate.record.events if event["type"] == "call.started"]
    assert found
    assert {place for place, _ in found} == set(starts[-len(found) :])
    assert {(row.field, row.expected) for _, row in found} == {("ceiling", *limits.values())}
    assert all(difference.found >= row for _, difference in found)


def test_the_first_ceiling_that_a_call_could_have_broken_is_named_with_what_was_spent():
    debate = run(setup("moderated"))
    found = walked(debate, {"calls": 3, "tokens": 400, "cost_micro_usd": 1})
    assert [row for _, row in found] == [
        *[Difference("ceiling", 1, n * 920) for n in (0, 1, 2)],
        *[Difference("ceiling", 3, n) for n in (3, 4)],
    ]


CUT = run(setup(tokens=450))


@pytest.mark.parametrize(
    ("field", "value"), [("step", "r1.draft.cat"), ("limit", 451), ("spent", 391)]
)
def test_a_truncation_is_derived(field, value):
    was = CUT.state.truncated[field]
    assert [row for _, row in walked(CUT, **{field: value})] == [Difference(field, was, value)]


def test_what_the_call_that_was_not_made_reserved_is_an_input_as_far_as_it_breaks_the_ceiling():
    assert walked(CUT, reserved=59) == []
    with pytest.raises(NotDue) as caught:
        walked(CUT, reserved=58)
    assert caught.value.due == "call.started for r1.draft.bob or r1.draft.cat"


@pytest.mark.parametrize(("limits", "reserved"), [({"calls": 4}, 1), ({"seconds": 0.01}, 0)])
def test_of_calls_and_seconds_nothing_is_taken_as_reserved(limits, reserved):
    debate = run(setup(**limits), tick=1000)
    found = walked(debate, reserved=7)
    assert [row for _, row in found] == [Difference("reserved", reserved, 7)]


@pytest.mark.parametrize("ceiling", ["calls", "cost", "seconds"])
def test_a_ceiling_that_is_not_set_cuts_nothing_short(ceiling):
    with pytest.raises(NotDue):
        walked(CUT, ceiling=ceiling)


def test_another_ceiling_is_named_only_where_it_could_be_broken_too():
    both = run(setup(calls=4, tokens=2000))
    with pytest.raises(NotDue):
        walked(both, ceiling="tokens")


def truncated(debate):
    """What was due instead of a truncation now."""
    data = {"step": "x", "ceiling": "calls", "limit": 1, "spent": 9, "reserved": 1}
    event = {**debate.record.events[-1], "type": "debate.truncated", "data": data}
    with pytest.raises(NotDue) as caught:
        walk([*debate.record.events, event], debate.record.texts.get)
    return caught.value.due


def test_a_truncation_stands_in_place_of_a_call_and_never_while_one_is_open():
    debate = Debate(setup(calls=2), script(None, usual))
    assert truncated(debate) == "call.started for r0.draft.ann or r0.draft.bob or r0.draft.cat"
    first = debate.due().steps[0]
    debate.start(first)
    assert truncated(debate) == "call.started for r0.draft.bob or r0.draft.cat"
    debate.run()
    assert truncated(debate) == "a review, an outcome, a hold or a redaction, and nothing else"


def test_nothing_follows_a_truncation_but_the_close():
    events = list(CUT.record.events)
    for kind in ("call.started", "votes.counted", "decision.reached", "turn.recorded"):
        with pytest.raises(NotDue) as caught:
            walk([*events[:-1], {**events[-1], "type": kind}], CUT.record.texts.get)
        assert caught.value.due == "debate.closed"


# Room in the record, on which nobody sets a ceiling


def crowded(setup_, ends=None, left=0):
    """A debate that was resumed so often that only `left` more entries may begin calls."""
    debate = Debate(setup_, script(ends, usual))
    debate.state.seq = LAST_START - left
    return debate


def crowded_walk(debate, left=0):
    """Replay it, as if the entries of which it has only the number had been there."""
    replay, found = Replay(debate.record.texts.get), []
    opened = 1 + len(debate.record.all("debater.registered"))
    for event in debate.record.events:
        if replay.state.seq == opened:
            replay.state.seq = LAST_START - left
        found += replay.step(event)
    return found


def test_no_call_is_made_once_the_record_is_nearly_full():
    debate = crowded(setup(), left=2).run()
    assert started(debate) == ["r0.draft.ann", "r0.draft.bob"]
    assert cut(debate) == ("entries", 99_000, 99_002, 1)
    assert after(debate) == ["turn.recorded", "turn.recorded", "debate.closed"]
    assert debate.state.closed == {"outcome": "truncated", "reason": "entries_ceiling"}
    assert crowded_walk(debate, left=2) == []


def test_a_call_in_a_record_that_is_nearly_full_is_a_difference_and_the_walk_goes_on():
    debate = crowded(setup(), left=1)
    debate.start(debate.due().steps[0])
    assert crowded_walk(debate) == [Difference("ceiling", 99_000, 99_000)]
    assert crowded_walk(debate, left=1) == []


def test_a_debate_is_not_cut_short_while_there_is_room():
    debate = crowded(setup()).run()
    assert crowded_walk(debate) == []
    with pytest.raises(NotDue, match=r"call\.started"):
        crowded_walk(debate, left=1)


@pytest.mark.parametrize(("left", "rejected"), [(9, []), (8, ["r0.draft.bob:1"])])
def test_tools_that_have_no_room_to_come_back_are_not_called(left, rejected):
    """Three calls, ann's reply and tool: bob's reply is the sixth entry, and her tool is out."""
    asks = Reply("", tools=[("lookup", "{}")])
    ends = {"r0.draft.ann:1": asks, "r0.draft.bob:1": asks}
    debate = crowded(setup().but(tools=["lookup"]), ends, left).run()
    assert [row["call"] for row in debate.record.all("turn.rejected")] == rejected
    assert len(debate.record.all("tool.returned")) == 2 - len(rejected)
    assert crowded_walk(debate, left) == []


def test_an_entry_counts_whatever_number_it_says_it_has():
    debate = Debate(setup(), script(None, usual))
    debate.start(debate.due().steps[0])
    events = [{**event, "seq": 99_999} for event in debate.record.events]
    assert walk(events, debate.record.texts.get) == []


# Time


@pytest.mark.parametrize(
    ("begin", "end", "passed"),
    [
        ("2026-11-21T20:16:03.000000Z", "2026-11-21T20:16:03.000999Z", 0),
        ("2026-11-21T20:16:03.000000Z", "2026-11-21T20:16:03.001000Z", 1),
        ("2026-02-28T23:59:59.500000Z", "2026-03-01T00:00:00.500000Z", 1000),
        ("2028-02-28T00:00:00.000000Z", "2028-03-01T00:00:00.000000Z", 2 * 86_400_000),
        ("2100-02-28T00:00:00.000000Z", "2100-03-01T00:00:00.000000Z", 86_400_000),
        ("2026-11-21T20:16:04.000000Z", "2026-11-21T20:16:03.000000Z", 0),  # a clock set back
    ],
)
def test_time_is_counted_in_whole_milliseconds(begin, end, passed):
    assert spending.milliseconds(begin, end) == passed
