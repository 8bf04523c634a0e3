"""The `baseline` format, driven by its rules alone (RULES.md §16)."""

import pytest
from pydantic import ValidationError

from hansard.rules import steps
from hansard.rules.formats import FORMATS, BaselineSpec, most_turns
from hansard.runtime.models.base import Wire
from support import Debate, Die, Fail, Reply, Setup, Stop, prompts, say, script, titles

SILENT = Fail("no_reply")
REFUSED = Fail("client_error", wire=Wire(401))
OPTIONS = ["yes", "no", "later"]


def drawn(*answers, **fields):
    """A baseline whose draws say this in order; None is not heard. With options they choose."""
    choose = "options" in fields
    ends = {
        f"draw-{number}": SILENT if said is None else say(choice=said) if choose else Reply(said)
        for number, said in enumerate(answers, 1)
    }
    return Debate(Setup("baseline", draws=len(answers), **fields), script(ends)).run()


def decision(debate):
    found = debate.state.decision
    return found and (found["decision"], found["rule"], found["votes"], found["threshold"])


def firsts(debate):
    """The prompts of the first attempts of all draws."""
    rows = debate.record.all("call.started")
    return [row["prompt"] for row in rows if row["attempt"] == 1 and row["role"] == "debater"]


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        (["yes"], ("yes", "plurality_vote", 1, 1)),
        (["no", "yes", "yes"], ("yes", "plurality_vote", 2, 2)),
        (["later", "yes", None, "no", "yes"], ("yes", "plurality_vote", 2, 2)),
        (["yes", None, None], ("yes", "plurality_vote", 1, 1)),
        (["no", "no", "no"], ("no", "plurality_vote", 3, 1)),
        (["yes", "no"], ("escalate", "no_plurality", 0, 2)),
        (["yes", "no", "no", "yes", "later"], ("escalate", "no_plurality", 0, 3)),
    ],
)
def test_the_most_frequent_answer_is_taken_and_a_tie_is_nobodys(choices, expected):
    debate = drawn(*choices, options=OPTIONS)
    assert decision(debate) == expected
    (count,) = debate.record.all("votes.counted")
    assert [row["option"] for row in count["tally"]] == OPTIONS
    assert [row["votes"] for row in count["tally"]] == [choices.count(each) for each in OPTIONS]
    assert (count["abstentions"], count["phase"]) == (choices.count(None), "draw")
    assert count["reached"] is (expected[1] == "plurality_vote")
    assert debate.state.closed == {"outcome": "complete", "reason": "rounds_complete"}


def test_without_options_nothing_is_counted_and_the_seat_is_named():
    debate = drawn(None, "Forty-one.", "Forty-two.")
    assert decision(debate) == ("debater", "first_draw", None, None)
    assert debate.record.all("votes.counted") == []


@pytest.mark.parametrize("options", [{}, {"options": OPTIONS}])
def test_nobody_heard_decides_nothing(options):
    debate = drawn(None, None, **options)
    assert debate.state.closed == {"outcome": "failed", "reason": "nobody_heard"}
    assert decision(debate) is None


@pytest.mark.parametrize("layout", ["shared-prefix", "role-first"])
@pytest.mark.parametrize("more", [{}, {"options": OPTIONS}])
def test_every_draw_has_the_same_prompt_and_sees_no_other_answer(layout, more):
    debate = Debate(Setup("baseline", draws=99, layout=layout, **more), script()).run()
    assert len(firsts(debate)) == 99
    assert len(set(firsts(debate))) == 1


def test_a_draw_that_is_asked_again_after_a_death_still_sees_no_other_answer():
    whole = drawn("one", "two", "three")
    for length in range(4, len(whole.record.events) - 3):
        debate = whole.cut(length, script({})).run()
        assert len(set(firsts(debate))) == 1
        again = {row["prompt"] for row in debate.record.all("call.started")}
        assert again == set(firsts(debate))


def test_only_a_synthesizer_sees_the_draws():
    debate = drawn("one", None, "three", synthesizer=True)
    shown = titles(prompts(debate)["r1.synthesis.synthesizer:1"]["user"])
    assert [row for row in shown if row.startswith("draw")] == ["draw 1", "draw 3"]


@pytest.mark.parametrize("end", [REFUSED, Fail("client_error"), Fail("unreachable")])
def test_a_seat_that_fails_in_one_draw_is_asked_for_the_others(end):
    ends = {"draw-1": end, "draw-2": end}
    setup = Setup("baseline", draws=4, leading_call=True, attempts=1, options=OPTIONS)
    debate = Debate(setup, script(ends)).run()
    assert [row["reason"] for row in debate.record.all("turn.forfeited")] == ["no_reply"] * 2
    assert decision(debate)[:3] == ("yes", "plurality_vote", 2)


def test_a_ceiling_before_the_last_draw_takes_nothing():
    setup = Setup("baseline", draws=3, limits={"calls": 2}, options=OPTIONS)
    debate = Debate(setup, script()).run()
    assert debate.state.closed == {"outcome": "truncated", "reason": "calls_ceiling"}
    assert (decision(debate), len(debate.record.all("turn.recorded"))) == (None, 2)


def test_a_person_can_stop_it():
    debate = Debate(Setup("baseline"), script({"draw-2:1": Stop("Ann Lee", "enough")})).run()
    assert debate.state.closed["reason"] == "operator"
    assert decision(debate) is None


def test_what_dies_is_asked_again():
    debate = Debate(Setup("baseline"), script({"r1.draw-2.debater:1": Die()})).run()
    assert decision(debate)[1] == "first_draw"


def test_it_costs_a_call_for_each_draw():
    debate = drawn(*"abcde", synthesizer=True)
    assert len(debate.record.all("call.started")) == 6
    assert most_turns(debate.state.spec["terms"], ["debater", "synthesizer"]) == 6


def test_a_reply_that_is_gone_could_say_an_option():
    debate = drawn("yes", "no", "no", options=OPTIONS)
    rules, step = FORMATS["baseline"], steps.place_of("r1.draw-1.debater")
    said = [rules.admits(debate.state, step, {"vote": vote, "case": None}) for vote in OPTIONS]
    assert said == [True] * 3
    for wrong in (
        {"vote": None, "case": None},
        {"vote": "so", "case": None},
        {"vote": "yes", "case": {}},
    ):
        assert not rules.admits(debate.state, step, wrong)
    free = drawn("So.")
    assert rules.admits(free.state, step, {"vote": None, "case": None})
    assert not rules.admits(free.state, step, {"vote": "yes", "case": None})


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"draws": 0}, "greater_than_equal"),
        ({"draws": 100}, "less_than_equal"),
        ({"options": ["yes"]}, "spec.too_few"),
        ({"options": ["yes", "yes"]}, "spec.duplicate"),
        ({"options": ["yes", "abstain"]}, "spec.option"),
        ({"debater": {"id": "escalate"}}, "spec.reserved"),
        ({"evidence": [{"id": "late", "text": "So.", "from_round": 2}]}, "spec.evidence_round"),
        ({"rounds": 2}, "extra_forbidden"),
    ],
)
def test_what_contradicts_itself_is_refused(fields, code):
    with pytest.raises(ValidationError) as caught:
        BaselineSpec.model_validate({"question": "Q?", "model": "python:m", **fields})
    assert code in [row["type"] for row in caught.value.errors()]


@pytest.mark.parametrize(
    "seats",
    [
        [],
        [{"id": "a", "role": "judge", "stance": None}],
        [{"id": "a", "role": "debater", "stance": {"label": "x"}}],
        [{"id": "upheld", "role": "debater", "stance": None}],
        [{"id": name, "role": "debater", "stance": None} for name in "ab"],
    ],
)
def test_there_is_one_debater(seats):
    assert FORMATS["baseline"].wrong_seats({}, seats) == "one debater"


def test_the_options_of_an_opening_are_sound():
    terms = {"format": "baseline", "draws": 1, "max_rounds": 1, "options": ["yes", "no"]}
    settled = FORMATS["baseline"].settled
    assert settled(terms, 1) == terms
    assert "each once" in settled(terms | {"options": ["yes", "yes"]}, 1)
