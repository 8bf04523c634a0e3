"""The `panel` format, driven by its rules alone (RULES.md §5; D 30 to D 37)."""

import json

import pytest

from hansard.rules import steps
from hansard.rules.replay import NotDue
from support import Debate, Fail, Reply, Setup, prompts, say, script, titles, walk

FAIL = Fail("no_reply")
SEATS = ("ann", "bob", "cat")
GONE = {}.get


def panel(ends=None, usual=None, **fields):
    return Debate(Setup("panel", **fields), script(ends, usual)).run()


def drafted(*texts, **fields):
    """A panel in which the debaters give these answers in every round, in order."""
    rows = [text if isinstance(text, Fail) else Reply(text) for text in texts]
    fields.setdefault("debaters", SEATS[: len(texts)])
    return panel(dict(zip(SEATS, rows, strict=False)), **fields)


def choosing(*choices, **fields):
    """The same with choices among options."""
    rows = [FAIL if choice is None else say(choice=choice) for choice in choices]
    fields = {"options": ["yes", "no", "later"], "debaters": SEATS[: len(choices)]} | fields
    return panel(dict(zip(SEATS, rows, strict=False)), **fields)


def decision(debate):
    found = debate.state.decision
    return found and (found["decision"], found["rule"])


def reason(debate):
    return debate.state.closed["reason"]


def asked(debate):
    return [row["step"] for row in debate.record.all("call.started")]


def measured(debate):
    rows = debate.record.all("similarity.measured")
    return [(row["round"], row["measure"], row["converged"]) for row in rows]


# Schedule and views


@pytest.mark.parametrize("rounds", [1, 2, 4])
@pytest.mark.parametrize("many", [2, 3, 5])
@pytest.mark.parametrize("judge", [None, {}])
def test_it_costs_a_call_for_each_debater_and_round_and_one_for_a_judge(many, rounds, judge):
    debate = panel(debaters=[f"d{n}" for n in range(many)], rounds=rounds, judge=judge)
    assert len(asked(debate)) == many * (rounds + 1) + (judge is not None)
    assert debate.state.rounds_run == rounds


def test_all_draft_at_once_in_every_round_and_turns_stand_in_declared_order():
    debate = Debate(Setup("panel"), script(), pick=lambda open_: open_[-1])
    at_once = []
    while (due := debate.due()) is not None:
        if isinstance(due, steps.Ask) and due.steps:
            at_once.append([step.id for step in due.steps])
        debate.do(due)
    assert at_once == [[f"r{n}.draft.{who}" for who in SEATS] for n in (0, 1, 2)]
    assert [row["speaker"] for row in debate.record.all("turn.recorded")] == [*SEATS] * 3
    answered = [row["call"] for row in debate.record.all("call.answered")]
    assert answered[:3] == [f"r0.draft.{who}:1" for who in reversed(SEATS)]


def test_round_0_is_independent_and_later_ones_see_all_earlier_rounds():
    found = prompts(panel(evidence=(("memo", "x", 1), ("late", "y", 2))))
    shown = {call: titles(row["user"]) for call, row in found.items()}
    for who in SEATS:
        assert shown[f"r0.draft.{who}:1"] == ["question", "evidence memo"]
        first = ["question", "evidence memo", *(f"{name}, round 0" for name in SEATS)]
        assert shown[f"r1.draft.{who}:1"] == first
        second = [*first, *(f"{name}, round 1" for name in SEATS), "evidence late"]
        assert shown[f"r2.draft.{who}:1"] == second
        own = f"<debater last_round=2 round=1 speaker={who}>\n"
        assert found[f"r1.draft.{who}:1"]["user"].endswith(own)


@pytest.mark.parametrize(
    ("fields", "own"),
    [
        ({}, "<judge>\n"),
        ({"options": ["yes", "no"]}, "<judge_choosing options=yes, no>\n"),
        ({"resolution": "pick"}, "<judge_picking labels=ann, bob, cat>\n"),
        (
            {"resolution": "pick", "options": ["yes", "no"]},
            "<judge_picking labels=ann, bob, cat>\n",
        ),
    ],
)
def test_a_judge_sees_the_whole_transcript(fields, own):
    found = prompts(panel(judge={}, convergence_check=False, **fields))["r2.verdict.judge:1"][
        "user"
    ]
    assert titles(found) == ["question", *(f"{who}, round {n}" for n in (0, 1, 2) for who in SEATS)]
    assert found.endswith(own)


def test_with_options_a_debater_is_told_them():
    found = prompts(choosing("yes", "no"))["r0.draft.bob:1"]["user"]
    assert found.endswith("<chooser last_round=2 options=yes, no, later round=0 speaker=bob>\n")


# Convergence


SHOULD = (
    "the team should release the payment service on friday evening after the last check "
    "because risk is small and gains are clear"
)
SHOULD_NOT = SHOULD.replace("should", "should not")


@pytest.mark.parametrize(
    ("one", "other", "fields"),
    [
        ("should release", "should not release", {"convergence_similarity": "0.5"}),
        (SHOULD, SHOULD_NOT, {}),
        ("disagree", "agree", {"convergence_similarity": "0.01"}),
        ("I do agree", "I do not agree", {"convergence_similarity": "0"}),
        ("no risk but all gain", "all risk but no gain", {"convergence_similarity": 1}),
        ("Release.", "release", {"convergence_similarity": 1}),
    ],
)
def test_opposite_answers_never_converge(one, other, fields):
    debate = drafted(one, other, **fields)
    assert debate.state.rounds_run == 2
    assert not any(converged for _, _, converged in measured(debate))
    assert reason(debate) == "rounds_complete"


def test_a_pair_that_differs_by_one_not_is_95_percent_alike_and_yet_never_converges():
    assert len(SHOULD_NOT.split()) == 23
    pair = drafted(SHOULD, SHOULD_NOT).record.all("similarity.measured")[0]["pairs"]
    assert pair == [{"one": "ann", "other": "bob", "ppm": 952_380, "negation_differs": True}]


@pytest.mark.parametrize("answer", ["Ship it.", "SHIP   it", "ship it, it: ship!"])
def test_alike_answers_end_the_rounds_and_the_most_similar_stands(answer):
    debate = drafted("ship it", answer, "Ship it!")
    assert measured(debate) == [(0, "words", True)]
    assert decision(debate) == ("ann", "most_similar")
    assert debate.state.decision["score_ppm"] == 2_000_000
    assert (reason(debate), debate.state.rounds_run) == ("converged", 0)


def test_it_is_tested_after_every_round_and_a_later_one_may_converge():
    ends = {"r0.draft.ann": Reply("one"), "r0.draft.bob": Reply("two")}
    debate = panel(ends, Reply("three"), rounds=4)
    assert measured(debate) == [(0, "words", False), (1, "words", True)]
    assert reason(debate) == "converged"


def test_the_share_is_a_floor_that_all_pairs_must_reach():
    texts = ("a b c d", "a b c d", "a b c e")  # 3 of 5 words: 600,000
    assert measured(drafted(*texts, convergence_similarity="0.6")) == [(0, "words", True)]
    assert len(measured(drafted(*texts, convergence_similarity="0.600001"))) == 3


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("resolution", ["similar", "majority"])
def test_at_1_answers_are_compared_whole_and_the_rounds_end_there_too(resolution, rounds):
    fields = {"convergence_similarity": 1, "resolution": resolution, "rounds": rounds}
    debate = drafted("Ship  it", "Ship it\n", "Ship it", **fields)
    final = (0, "words", False)  # the scores of the answer: no convergence is tested by it
    assert measured(debate) == [(0, "whole", True), final]
    assert decision(debate) == ("ann", "most_similar")
    assert (reason(debate), len(asked(debate))) == ("converged", 3)


def test_it_can_be_switched_off():
    debate = drafted("same", "same", convergence_check=False, resolution="majority", rounds=1)
    assert measured(debate) == []
    assert (decision(debate), reason(debate)) == (("ann", "majority_vote"), "rounds_complete")


def test_declared_options_are_compared_and_never_the_texts():
    debate = choosing("yes", "no", rounds=1)
    replies = [debate.record.texts[turn.reply["sha256"]] for turn in debate.state.turns]
    assert {json.loads(reply)["answer"] for reply in replies} == {"so"}
    assert measured(debate) == [(0, "options", False), (1, "options", False)]
    agreed = choosing("yes", "yes", "yes")
    assert measured(agreed) == [(0, "options", True)]
    assert decision(agreed) == ("yes", "majority_vote")
    assert agreed.record.all("similarity.measured")[0]["pairs"] == []


def test_options_that_converged_and_the_most_similar_draft_end_there_too():
    debate = choosing("yes", "yes", "yes", resolution="similar")
    assert measured(debate) == [(0, "options", True), (0, "words", False)]
    assert (decision(debate), len(asked(debate))) == (("ann", "most_similar"), 3)


@pytest.mark.parametrize(
    "fields", [{}, {"convergence_similarity": 1}, {"options": ["yes", "no"]}, {"judge": {}}]
)
def test_one_survivor_is_no_convergence_and_no_answer(fields):
    debate = panel({"bob": FAIL, "cat": FAIL}, **fields)
    assert [converged for _, _, converged in measured(debate)] == [False] * 3
    assert decision(debate) == ("escalate", "too_few_heard")
    assert debate.state.decision["review"] == debate.state.spec["review"]
    assert not any("verdict" in step for step in asked(debate))


@pytest.mark.parametrize("fields", [{}, {"judge": {}}, {"convergence_similarity": 1}])
def test_when_every_debater_crashes_in_a_round_the_debate_fails(fields):
    debate = panel({f"r1.draft.{who}": Fail("crashed") for who in SEATS}, **fields)
    assert debate.state.closed == {"outcome": "failed", "reason": "nobody_heard"}
    assert debate.state.decision is None
    assert [row["heard"] for row in debate.record.all("similarity.measured")] == [3]


def test_two_of_three_who_are_heard_may_converge():
    assert measured(panel({"cat": FAIL}, Reply("same"))) == [(0, "words", True)]


FIVE = ("ann", "bob", "cat", "dan", "eve")
MEASURES = [
    ({}, Reply("same")),
    ({"convergence_similarity": 1}, Reply("same")),
    ({"options": ["yes", "no"]}, say(choice="yes")),
]


@pytest.mark.parametrize(("fields", "usual"), MEASURES)
@pytest.mark.parametrize("registered", [2, 3, 4, 5])
@pytest.mark.parametrize("heard", [2, 3])
def test_no_minority_of_the_registered_converges(registered, heard, fields, usual):
    if heard > registered:
        return
    silent = dict.fromkeys(FIVE[heard:registered], FAIL)
    debate = panel(silent, usual, debaters=FIVE[:registered], resolution="similar", **fields)
    found = [row for row in measured(debate) if row[1] == "options" or not fields.get("options")]
    assert any(converged for _, _, converged in found) is (2 * heard > registered)
    assert walk(debate.record.events, debate.record.texts.get) == []


@pytest.mark.parametrize(("fields", "usual"), MEASURES)
def test_a_minority_whose_answers_are_gone_has_not_converged_either(fields, usual):
    silent = dict.fromkeys(FIVE[2:], FAIL)
    events = list(panel(silent, usual, debaters=FIVE, **fields).record.events)
    place = next(n for n, row in enumerate(events) if row["type"] == "similarity.measured")
    agreed = {**events[place], "data": {**events[place]["data"], "converged": True}}
    found = walk([*events[:place], agreed], GONE)
    assert [row.field for _, row in found] == ["converged"]


def test_a_round_counts_by_who_is_heard_in_it():
    debate = panel({"r2.draft.ann": FAIL, "r2.draft.bob": FAIL})
    assert decision(debate) == ("escalate", "too_few_heard")


# Resolution


@pytest.mark.parametrize(
    ("choices", "found"),
    [
        (("yes", "yes", "no"), ("yes", "majority_vote")),
        (("no", "yes", "no"), ("no", "majority_vote")),
        (("yes", "no", "later"), ("escalate", "no_majority")),
        (("yes", "no", None), ("escalate", "no_majority")),
        (("yes", "yes", None), ("yes", "majority_vote")),
        (("yes", "no"), ("escalate", "no_majority")),  # a tie
    ],
)
def test_a_majority_is_more_than_half_of_the_registered(choices, found):
    debate = choosing(*choices)
    assert decision(debate) == found
    count = debate.state.counts[-1]
    assert count["threshold"] == len(choices) // 2 + 1
    assert count["abstentions"] == choices.count(None)
    held = {row["option"]: row["votes"] for row in count["tally"]}
    assert held == {option: choices.count(option) for option in ("yes", "no", "later")}
    assert debate.state.decision["votes"] == held.get(found[0], 0)
    assert (debate.state.decision["review"] is None) == (found[0] != "escalate")


def test_a_vote_of_an_earlier_round_does_not_outlive_a_silence():
    ends = {"r2.draft.ann": FAIL, "ann": say(choice="yes"), "bob": say(choice="yes")}
    debate = panel(ends, say(choice="no"), options=["yes", "no"])
    assert decision(debate) == ("escalate", "no_majority")


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (("Ship it", "ship  IT", "wait"), ("ann", "majority_vote")),
        (("wait", "Ship it", "ship it\n"), ("bob", "majority_vote")),
        (("Ship it.", "Ship it", "ship  it"), ("bob", "majority_vote")),
        (("should release", "should not release", "no"), ("escalate", "no_majority")),
        (("agree", "disagree", "agreed"), ("escalate", "no_majority")),
        (("don't", "dont", "do not"), ("ann", "majority_vote")),
    ],
)
def test_without_options_a_majority_compares_normalised_answers(texts, found):
    debate = drafted(*texts, resolution="majority", convergence_check=False, rounds=1)
    assert decision(debate) == found
    tally = debate.state.counts[-1]["tally"]
    assert sum(row["votes"] for row in tally) == len(texts)
    assert {row["option"] for row in tally} <= set(SEATS)


def test_a_tie_falls_to_the_declared_fallback():
    texts = ("release it now slowly", "release it now", "wait for the audit")
    debate = drafted(*texts, resolution="majority", fallback="similar")
    assert debate.state.counts[-1]["reached"] is False
    assert decision(debate) == ("ann", "most_similar")
    chosen = choosing("yes", "no", fallback="similar")
    assert decision(chosen) == ("ann", "most_similar")
    assert [row["measure"] for row in chosen.record.all("similarity.measured")][-1] == "words"


def test_the_most_similar_draft_is_the_first_registered_of_equals():
    assert decision(drafted("a b", "c d", "e f")) == ("ann", "most_similar")
    assert decision(drafted("a b", "b c", "c a")) == ("ann", "most_similar")
    debate = drafted("a b c", "x a b c d", "a b d")
    assert decision(debate) == ("bob", "most_similar")
    assert debate.state.decision["score_ppm"] == 600_000 + 600_000
    assert decision(drafted(FAIL, "c d", "e f")) == ("bob", "most_similar")


@pytest.mark.parametrize("converging", [True, False])
def test_a_judge_speaks_even_when_round_0_agrees(converging):
    ends = {"verdict": say()}
    debate = panel(ends, Reply("same"), judge={}, convergence_check=converging)
    assert asked(debate)[-1] == ("r0.verdict.judge" if converging else "r2.verdict.judge")
    assert decision(debate) == ("synthesis", "judge_synthesis")


def test_a_judges_choice_is_a_declared_option():
    fields = {"judge": {}, "options": ["yes", "no"]}
    assert decision(panel({"verdict": say(choice="no")}, **fields)) == ("no", "judge_synthesis")
    ends = {"verdict:1": say(choice="not no"), "verdict": say(choice="no")}
    assert decision(panel(ends, **fields)) == ("no", "judge_synthesis")


@pytest.mark.parametrize("fields", [{}, {"options": ["yes", "no"]}])
def test_a_pick_is_one_of_the_debaters(fields):
    fields |= {"judge": {}, "resolution": "pick"}
    for winner in SEATS:
        assert decision(panel({"verdict": say(winner=winner)}, **fields)) == (winner, "judge_pick")
    debate = panel({"verdict": say(winner="dan")}, **fields)
    assert [row["code"] for row in debate.record.all("turn.rejected")] == ["unknown_option"] * 3
    assert debate.state.closed == {"outcome": "failed", "reason": "judge_failed"}


def test_a_debater_who_was_never_heard_cannot_be_picked():
    fields = {"judge": {}, "resolution": "pick"}
    debate = panel({"cat": FAIL, "verdict": say(winner="cat")}, **fields)
    assert decision(debate) == ("escalate", "too_few_heard")
    once = {"r1.draft.cat": FAIL, "r2.draft.cat": FAIL, "verdict": say(winner="cat")}
    assert decision(panel(once, **fields)) == ("cat", "judge_pick")


# What a record may hold


def not_due(debate, change, kind):
    """What was due instead of the last event of a kind, with fields changed and texts gone."""
    place = max(n for n, row in enumerate(debate.record.events) if row["type"] == kind)
    event = debate.record.events[place]
    events = [*debate.record.events[:place], {**event, "data": {**event["data"], **change}}]
    try:
        return walk(events, GONE)
    except NotDue as error:
        return error.due


@pytest.mark.parametrize(
    ("fields", "good", "bad"),
    [
        ({}, [], [{"winner": "ann"}, {"choice": "yes"}, {"undeclared": True}]),
        ({"options": ["yes", "no"]}, [{"choice": "no"}], [{"choice": None}, {"choice": "on"}]),
        ({"resolution": "pick"}, [{"winner": "cat"}], [{"winner": None}, {"winner": "judge"}]),
    ],
)
def test_a_verdict_whose_reply_is_gone_is_one_that_a_reply_can_give(fields, good, bad):
    debate = panel(judge={}, convergence_check=False, **fields)
    for change in good:
        assert not_due(debate, change, "verdict.recorded") == []
    for change in bad:
        due = not_due(debate, change, "verdict.recorded")
        assert due == "the turn r2.verdict.judge with what a reply can say"


@pytest.mark.parametrize(
    ("fields", "bad"), [({}, {"vote": "yes"}), ({"options": ["yes", "no"]}, {"vote": None})]
)
def test_a_draft_whose_reply_is_gone_holds_a_declared_option_or_none(fields, bad):
    due = not_due(panel(convergence_check=False, **fields), bad, "turn.recorded")
    assert due == "the turn r2.draft.cat with what a reply can say"


@pytest.mark.parametrize(
    ("number", "change"),
    [
        (1, {"id": "ANN"}),
        (2, {"role": "judge"}),
        (2, {"stance": {"label": "x", "text": {"sha256": "0" * 64}}}),
        (3, {"id": "upheld"}),
        (4, {"role": "debater"}),
    ],
)
def test_the_seats_are_those_of_the_terms(number, change):
    events = list(panel(judge={}).record.events[:5])
    assert walk(events, GONE) == []
    events[number] = {**events[number], "data": {**events[number]["data"], **change}}
    with pytest.raises(NotDue) as caught:
        walk(events, GONE)
    assert caught.value.due == "debater.registered for the debaters of the terms"


@pytest.mark.parametrize("option", ["synthesis", "ann", "cat"])
def test_no_option_of_the_terms_names_another_outcome(option):
    opened, *seats = panel(options=["yes", "no"]).record.events[:4]
    terms = {**opened["data"]["terms"], "options": ["yes", option]}
    opened = {**opened, "data": {**opened["data"], "terms": terms}}
    assert [row.field for _, row in walk([opened, *seats[:-1]], GONE)] == ["schemas"]
    with pytest.raises(NotDue) as caught:
        walk([opened, *seats], GONE)
    assert caught.value.due == "debater.registered for the debaters of the terms"


@pytest.mark.parametrize("names", [("bob", "ann"), ("ann", "dan")])
def test_a_comparison_whose_answers_are_gone_names_who_was_heard(names):
    debate = drafted("a b", "b c", rounds=1)
    pair = debate.record.all("similarity.measured")[-1]["pairs"][0]
    wrong = {**pair, "one": names[0], "other": names[1]}
    for pairs in ([wrong], []):
        due = not_due(debate, {"pairs": pairs}, "similarity.measured")
        assert due == "the comparison of the answers of round 1 with what answers can give"
    assert not_due(debate, {"pairs": [{**pair, "ppm": 1}]}, "similarity.measured") == []


@pytest.mark.parametrize("options", [["ann", "ann"], ["dan"], ["cat"]])
def test_a_count_whose_answers_are_gone_is_of_those_who_were_heard(options):
    fields = {"resolution": "majority", "convergence_check": False, "rounds": 1}
    debate = panel({"cat": FAIL}, **fields)
    tally = [{"option": option, "votes": 1} for option in options]
    due = not_due(debate, {"tally": tally}, "votes.counted")
    assert due == "the comparison of the answers of round 1 with what answers can give"
    tally = [{"option": "ann", "votes": 2}]
    agreed = {"tally": tally, "reached": True}
    assert not_due(debate, agreed, "votes.counted") == []


def test_answers_that_are_gone_leave_a_comparison_as_recorded():
    debate = drafted("a b", "b c", "a", rounds=1)
    events = list(debate.record.events)
    place = max(n for n, row in enumerate(events) if row["type"] == "similarity.measured")
    wrong = {**events[place]["data"], "converged": True, "threshold_ppm": 1}
    found = walk([*events[:place], {**events[place], "data": wrong}], GONE)
    assert [row.field for _, row in found] == ["threshold_ppm"]
    reply = debate.record.all("call.answered")[-1]["reply"]["sha256"]
    texts = {name: text for name, text in debate.record.texts.items() if name != reply}
    assert walk(events, texts.get) == []
