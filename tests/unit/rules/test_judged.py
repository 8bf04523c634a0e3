"""The `judged` format, driven by its rules alone (RULES.md §3; D 12 to D 14)."""

from hashlib import sha256
from itertools import product
from typing import cast

import pytest

from hansard.rules.formats.judged import JudgedSpec, named_in_words, shuffle_key
from hansard.rules.replay import NotDue, Replay
from hansard.rules.spec_parts import Advocate
from hansard.rules.state import DebateState
from support import Debate, Fail, Reply, Setup, prompts, say, script, titles, walk

FAIL = Fail("client_error")
UNREAD = Fail("no_reply")
SEATS = ("ann", "bob", "cat")
STANCES = {"ann": "ship", "bob": "wait", "cat": "drop"}
FREE = {"winner": "the one who waits", "verdict": "so", "reasoning": "so"}


def judged(ends=None, **fields):
    return Debate(Setup("judged", **fields), script(ends)).run()


def decision(debate):
    found = debate.state.decision
    return found and (found["decision"], found["rule"])


def asked(debate):
    return [row["step"] for row in debate.record.all("call.started")]


def test_all_argue_in_declared_order_for_the_rounds_and_then_one_judge_speaks():
    debate = judged(max_rounds=3)
    arguments = [f"r{round_}.argument.{who}" for round_, who in product((1, 2, 3), SEATS)]
    assert asked(debate) == [*arguments, "r3.verdict.judge"]
    kinds = [event["type"] for event in debate.record.events if event["seq"] > 5]
    turn = ["call.started", "call.answered", "turn.recorded"]
    assert kinds[:27] == turn * 9  # never two at once
    assert kinds[-3:] == ["verdict.recorded", "decision.reached", "debate.closed"]
    assert debate.state.closed == {"outcome": "complete", "reason": "rounds_complete"}


def test_a_debate_has_two_rounds_by_default():
    assert judged().state.rounds_run == 2


SAID = [f"{label}, round 1" for label in STANCES.values()]
OPENING = ["question", *(f"stance {label}" for label in STANCES.values())]


def test_everybody_sees_all_arguments_before_its_own_by_stance_and_round():
    found = prompts(judged(evidence=(("late", "x", 2),)))
    shown = {call: titles(row["user"]) for call, row in found.items()}
    assert shown["r1.argument.ann:1"] == OPENING
    assert shown["r1.argument.cat:1"] == [*OPENING, *SAID[:2]]
    assert shown["r2.argument.bob:1"] == [*OPENING, *SAID, "evidence late", "ship, round 2"]


def test_a_debater_is_told_its_own_stance_and_where_the_debate_stands():
    found = prompts(judged())["r2.argument.bob:1"]
    assert found["user"].endswith("<debater max_rounds=2 round=2 stance=wait>\n")
    assert found["system"] == "<protocol stances=ship, wait, drop>\n"


def names_in(debate, phase):
    """The seats whose names stand anywhere in the prompts of a phase."""
    texts = [
        text for call, row in prompts(debate).items() for text in row.values() if phase in call
    ]
    return {name for name in SEATS for text in texts if name in text}


def silent(call):
    """Say nothing that holds a name."""
    return Reply(f"I hold to it, {call.step.round}.") if call.step.phase == "argument" else None


@pytest.mark.parametrize("shuffled", [True, False])
def test_no_name_is_shown_to_anybody_while_the_transcript_is_anonymous(shuffled):
    debate = judged({"argument": silent}, shuffle_for_judge=shuffled)
    assert names_in(debate, "argument") == names_in(debate, "verdict") == set()
    named = judged({"argument": silent}, anonymize_transcript=False, shuffle_for_judge=shuffled)
    assert names_in(named, "argument") == set()
    assert names_in(named, "verdict") == set(SEATS)


def test_the_judge_sees_every_argument_and_is_told_rounds_and_stances():
    found = prompts(judged(shuffle_for_judge=False))["r2.verdict.judge:1"]["user"]
    assert titles(found) == [*OPENING, *SAID, *(f"{label}, round 2" for label in STANCES.values())]
    assert found.endswith("<judge rounds=2 stances=ship, wait, drop>\n")


def test_without_anonymity_titles_name_who_argued():
    debate = judged(anonymize_transcript=False, shuffle_for_judge=False)
    found = prompts(debate)["r2.verdict.judge:1"]["user"]
    assert titles(found)[4:] == [
        f"{STANCES[who]}, round {n}, {who}" for n, who in product((1, 2), SEATS)
    ]


def drawn(debate):
    """The order of stances that the judge was shown, round by round."""
    shown = [row for call, row in prompts(debate).items() if "verdict" in call][-1]
    rows = [title.split(", round ") for title in titles(shown["user"]) if ", round " in title]
    assert [int(number) for _, number in rows] == sorted(int(number) for _, number in rows)
    return [
        [label for label, number in rows if number == str(round_)]
        for round_ in range(1, debate.state.rounds_run + 1)
    ]


def test_each_round_is_shown_to_the_judge_in_an_order_drawn_for_it_and_rederivable():
    debate = judged(max_rounds=6, seed=41)
    orders = drawn(debate)
    for round_, order in enumerate(orders, 1):
        # FORMAT.md §7: sort ids by SHA-256("hansard-shuffle/v1\n" seed "\n" step "\n" round ...)
        keys = {
            who: sha256(
                f"hansard-shuffle/v1\n41\nr6.verdict.judge\n{round_}\n{who}".encode()
            ).hexdigest()
            for who in SEATS
        }
        assert order == [STANCES[who] for who in sorted(SEATS, key=keys.__getitem__)]
        assert sorted(order) == sorted(STANCES.values())
    assert len({tuple(order) for order in orders}) > 1
    assert drawn(judged(max_rounds=6, seed=42)) != orders


def test_the_worked_example_of_a_draw():
    keys = {who: shuffle_key("7", "r2.verdict.judge", 1, who) for who in SEATS}
    assert {who: (round_, digest.hex()[:16]) for who, (round_, digest) in keys.items()} == {
        "ann": (1, "89eb2c773e6fda7a"),
        "bob": (1, "e909453a628123ac"),
        "cat": (1, "87ebb4c1208e5ba5"),
    }


def test_debaters_see_the_rounds_in_their_own_order_whatever_the_judge_sees():
    for seed in range(5):
        assert titles(prompts(judged(seed=seed))["r2.argument.ann:1"]["user"]) == [*OPENING, *SAID]


@pytest.mark.parametrize(("winner", "seat"), [*((row, who) for who, row in STANCES.items())])
def test_the_winner_is_a_stance_and_the_verdict_names_its_seat(winner, seat):
    debate = judged({"verdict": say(winner=winner)})
    assert debate.state.verdict["winner"] == seat
    assert decision(debate) == (winner, "judge_verdict")
    assert debate.state.decision["votes"] is None


def test_no_winner_is_a_synthesis():
    debate = judged({"verdict": say(winner=None)})
    assert debate.state.verdict["winner"] is None
    assert decision(debate) == ("synthesis", "judge_verdict")


@pytest.mark.parametrize(
    "name", ["ann", "Ship", "ship ", "not ship", "ship|wait", "D10", "", "ship, round 1"]
)
def test_a_built_in_judge_that_names_no_stance_is_asked_again(name):
    debate = judged({"verdict:1": say(winner=name), "verdict": say(winner="wait")})
    assert [row["code"] for row in debate.record.all("turn.rejected")] == ["unknown_option"]
    assert decision(debate) == ("wait", "judge_verdict")


def test_ten_stances_are_told_apart_to_the_letter():
    rows = [{"stance": f"The {n}th.", "label": f"D{n}"} for n in range(1, 11)]
    debate = judged({"verdict": say(winner="D10")}, debaters=rows, max_rounds=1)
    assert decision(debate) == ("D10", "judge_verdict")


def test_what_a_built_in_judge_insists_on_has_no_winner():
    debate = judged({"verdict": say(**FREE)}, attempts=2)
    assert [row["code"] for row in debate.record.all("turn.rejected")] == ["unknown_option"]
    assert (debate.state.verdict["winner"], debate.state.verdict["undeclared"]) == (None, True)
    assert decision(debate) == ("undeclared", "judge_undeclared")
    assert debate.state.decision["review"] == debate.state.spec["review"]


@pytest.mark.parametrize(
    ("winner", "found"),
    [
        ("wait", "wait"),
        ("Wait a week.", "wait"),
        (" Wait\ta  week.\n", "wait"),
        ("wait a week.", None),
        ("Wait a week", None),
        ("", None),
        ("Twice.", None),
        ("Drop it.", "drop"),
    ],
)
def test_a_custom_judge_may_name_a_stance_by_its_words(winner, found):
    rows = [*Setup("judged").fields["debaters"]]
    rows += [{"id": f"x{n}", "label": f"x{n}", "stance": f"Twice {n}."} for n in (1, 2)]
    setup = Setup("judged", judge={"model": "custom:board"}, debaters=rows)
    same = [Advocate(id=f"x{n}", label=f"x{n}", stance="Twice.") for n in (1, 2)]
    seated = [*cast(JudgedSpec, setup.spec).debaters[:-2], *same]  # in a record, if in no spec
    setup.spec = setup.spec.model_copy(update={"debaters": seated})
    debate = Debate(setup, script({"verdict": say(winner=winner)})).run()
    rule = "judge_verdict" if found else "judge_undeclared"
    assert decision(debate) == (found or "undeclared", rule)
    assert debate.state.verdict["undeclared"] is (found is None)
    assert walk(debate.record.events, debate.record.texts.get) == []


def test_a_model_that_names_a_stance_by_its_words_is_asked_again():
    debate = judged({"verdict:1": say(winner="Wait a week."), "verdict": say(winner="wait")})
    assert [row["code"] for row in debate.record.all("turn.rejected")] == ["unknown_option"]


def test_what_a_judge_named_in_words_is_as_recorded_where_the_words_are_gone():
    judge = {"model": "custom:board"}
    debate = judged({"verdict": say(winner="Wait a week.")}, judge=judge)
    stance = debate.state.seats["ann"]["stance"]["text"]["sha256"]
    texts = {name: text for name, text in debate.record.texts.items() if name != stance}
    replay = Replay(texts.get)
    for event in debate.record.events:
        if event["type"] in ("verdict.recorded", "decision.reached"):
            other = {"winner": "ann"} if "winner" in event["data"] else {"decision": "ship"}
            assert replay.step({**event, "data": {**event["data"], **other}}) == []
        else:
            assert replay.step(event) == []
    assert (replay.gone, replay.unread) == (["r2.verdict.judge:1"], ["r2.verdict.judge"])


def test_a_custom_judge_may_name_something_undeclared_and_its_words_are_kept():
    debate = judged({"verdict": say(**FREE)}, judge={"model": "custom:board"})
    assert debate.record.all("turn.rejected") == []
    assert (debate.state.verdict["winner"], debate.state.verdict["undeclared"]) == (None, True)
    reply = debate.state.turns[-1].reply["sha256"]
    assert FREE["winner"] in debate.record.texts[reply]


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"winner": 7}, "schema"),
        ({"verdict": ""}, "schema"),
        ({"reasoning": 7}, "unknown_option"),
        ({"reasoning": ""}, "unknown_option"),
    ],
)
def test_nothing_but_the_winner_may_be_undeclared(wrong, code):
    debate = judged({"verdict": say(**(FREE | wrong))}, judge={"model": "custom:board"})
    assert {row["code"] for row in debate.record.all("turn.rejected")} == {code}
    assert debate.state.closed == {"outcome": "failed", "reason": "judge_failed"}


def test_a_verdict_on_fewer_than_two_who_were_heard_is_never_asked_for():
    debate = judged({who: UNREAD for who in SEATS if who != "ann"})
    assert decision(debate) == ("escalate", "too_few_heard")
    assert debate.state.decision["review"] == debate.state.spec["review"]
    assert not any("verdict" in step for step in asked(debate))


@pytest.mark.parametrize("silent", [1, 2])
def test_a_round_in_which_nobody_is_heard_is_the_last(silent):
    debate = judged({f"r{silent}.argument.{who}": UNREAD for who in SEATS})
    assert debate.state.closed == {"outcome": "failed", "reason": "nobody_heard"}
    assert (debate.state.decision, debate.state.rounds_run) == (None, silent)
    assert walk(debate.record.events, debate.record.texts.get) == []


def test_to_have_been_heard_once_is_enough():
    debate = judged({"r1.argument.ann": FAIL, "r2.argument.bob": FAIL, "cat": FAIL})
    assert decision(debate) == ("ship", "judge_verdict")


def test_a_stance_that_was_never_heard_cannot_win():
    debate = judged({"cat": FAIL, "verdict": say(winner="drop")})
    assert debate.state.verdict["winner"] == "cat"
    assert decision(debate) == ("escalate", "too_few_heard")


# What a record may hold


def not_due(debate, change, kind, text_of=None):
    """What was due instead of the last event of a kind, with fields changed."""
    place = max(n for n, row in enumerate(debate.record.events) if row["type"] == kind)
    event = debate.record.events[place]
    events = [*debate.record.events[:place], {**event, "data": {**event["data"], **change}}]
    try:
        return walk(events, text_of or debate.record.texts.get)
    except NotDue as error:
        return error.due


GONE = {}.get


@pytest.mark.parametrize(
    "change",
    [
        {"winner": "judge"},
        {"winner": "ship"},
        {"winner": "ann", "undeclared": True},
        {"upholds": True},
        {"ranking": ["ann"]},
        {"another_round": False},
    ],
)
def test_a_verdict_whose_reply_is_gone_is_one_that_a_reply_can_give(change):
    debate = judged()
    assert not_due(debate, change, "verdict.recorded", GONE) == (
        "the turn r2.verdict.judge with what a reply can say"
    )
    for other in ({"winner": "bob"}, {"winner": None}, {"winner": None, "undeclared": True}):
        assert not_due(debate, other, "verdict.recorded", GONE) == []


def test_an_argument_whose_reply_is_gone_has_nothing_that_is_counted():
    due = not_due(judged(), {"vote": "ship"}, "turn.recorded", GONE)
    assert due == "the turn r2.argument.cat with what a reply can say"


SEATS_OF_TERMS = "debater.registered for two or more debaters, a stance each, and a judge"


def seated(change=lambda rows: None, **terms):
    """What was due when a judged debate is opened with other terms or seats."""
    events = [dict(row) for row in judged().record.events[:5]]
    opened = events[0]["data"]
    events[0]["data"] = opened | {"terms": opened["terms"] | terms}
    for row in events[1:]:
        row["data"] = dict(row["data"])
    change([row["data"] for row in events[1:]])
    replay = Replay(lambda name: None)
    try:
        for event in events:
            replay.step(event)
    except NotDue as error:
        return error.due
    return None


def renamed(rows):
    rows[0]["id"] = "synthesis"


def unjudged(rows):
    rows[-1]["role"] = "debater"


def swapped(rows):
    rows[0]["stance"], rows[1]["stance"] = rows[1]["stance"], rows[0]["stance"]


def partial_judge(rows):
    rows[-1]["stance"] = rows[0]["stance"]


@pytest.mark.parametrize("change", [renamed, unjudged, swapped, partial_judge])
def test_the_seats_are_those_of_the_terms(change):
    assert seated() is None
    assert seated(change) == SEATS_OF_TERMS


def test_stances_are_two_or_more_and_can_be_told_apart():
    def twinned(rows):
        rows[1]["stance"] = rows[0]["stance"]

    assert seated(twinned, stances=["ship", "ship", "drop"]) == SEATS_OF_TERMS
    alone = [row for n, row in enumerate(judged().record.events[:5]) if n not in (2, 3)]
    opened = alone[0]["data"]
    opened = opened | {"seats": 2, "terms": opened["terms"] | {"stances": ["ship"]}}
    alone[0] = {**alone[0], "data": opened}
    with pytest.raises(NotDue) as caught:
        walk(alone, GONE)
    assert caught.value.due == SEATS_OF_TERMS


def test_a_text_that_two_stances_share_is_read_once_and_names_neither():
    """No spec admits one; a record may have it."""
    texts, asked = {"one": "Ship it.", "two": "Wait."}, []
    seats = {
        key: {"id": key, "role": "debater", "stance": {"label": key, "text": {"sha256": name}}}
        for key, name in (("ann", "one"), ("bob", "one"), ("cat", "two"))
    }

    def text_of(name):
        asked.append(name)
        return texts[name]

    state = DebateState(seats=seats)
    assert named_in_words(state, "ship it.", text_of)["undeclared"] is True
    assert named_in_words(state, "Ship it.", text_of)["undeclared"] is True
    assert named_in_words(state, "Wait.", text_of)["winner"] == "cat"
    assert asked == ["one", "two"] * 3
