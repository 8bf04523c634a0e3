"""Instructions from a function: asked once a seat and round, before anything is recorded."""

from __future__ import annotations

import pytest

import hansard
import playing
from formats import FORMATS
from hansard.errors import UsageError
from hansard.runtime.instructing import Instructed, instructed
from playing import answer

SHIP = {"id": "ann", "label": "ship", "stance": "Ship it now."}
WAIT = {"id": "bob", "label": "wait", "stance": "Wait a week.", "model": "custom:own"}


def by_round(given, _context):
    return f"{given['seat']}, round {given['round']}: be brief."


def made(function, format_="judged", **fields):
    return instructed(playing.spec_of(format_, instructions=function, **fields))


def test_it_is_called_once_for_each_built_in_seat_and_round_with_what_is_known_of_them():
    asked = []

    def keep(given, context):
        asked.append((given, {**context}))
        context["budget"] = "spent"  # its own copy
        return "Be brief."

    told = made(keep, debaters=[SHIP, WAIT], judge={}, max_rounds=2, context={"budget": 7})
    assert told == Instructed("Be brief.", {})
    common = {"question": "Shall we?"}
    ann = {**common, "seat": "ann", "role": "debater", "stance": "Ship it now."}
    judge = {**common, "seat": "judge", "role": "judge", "stance": None}
    rows = [{**seat, "round": number} for seat in (ann, judge) for number in (1, 2)]
    assert asked == [(row, {"budget": 7}) for row in rows]


def test_a_panel_begins_with_round_0():
    rounds = []
    made(lambda given, _: rounds.append(given["round"]) or "so", "panel", rounds=2, judge=None)
    assert sorted(set(rounds)) == [0, 1, 2]


def test_rows_are_what_changes_and_an_empty_text_is_none():
    said = {("ann", 2): "a", ("ann", 3): "a", ("ann", 5): "b", ("judge", 1): "c"}
    told = made(
        lambda given, _: said.get((given["seat"], given["round"]), ""),
        debaters=[SHIP, {**WAIT, "model": "python:model"}],
        max_rounds=5,
    )
    assert told.everybody is None
    assert told.own == {
        "ann": [(2, "a"), (4, ""), (5, "b")],
        "bob": [],
        "judge": [(1, "c"), (2, "")],
    }
    assert told.longest == "a"


def raising(given, _context):
    if given["round"] == 2:
        raise KeyError("a secret")
    return "Be brief."


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (raising, "raising, which raised KeyError for ann in round 2; mend it"),
        (lambda *_: None, "returned a NoneType for ann in round 1; return words"),
        (
            lambda given, _: 7 if given["seat"] == "judge" else "x",
            "returned a int for judge in round 1;",
        ),
        (lambda *_: "", "returned an empty text; return words"),
        (lambda *_: "x" * 4_000_001, "returned more than 4,000,000 characters; return fewer"),
    ],
    ids=["raises", "none", "a number", "empty", "long"],
)
def test_one_that_gives_no_text_is_refused_in_one_sentence_and_nothing_is_recorded(
    table, function, why
):
    asked = []
    with pytest.raises(UsageError, match="`instructions` is the function") as caught:
        table.play("judged", asked.append, debaters=[SHIP, WAIT | {"model": None}],
                   instructions=function, max_rounds=2)  # fmt: skip
    assert caught.value.code == "spec.instructions"
    assert why in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert (asked, table.store.debates()) == ([], [])


@pytest.mark.parametrize("layout", ["shared-prefix", "role-first"])
@pytest.mark.parametrize("format_", FORMATS)
def test_each_seat_is_told_its_own_in_each_round(table, format_, layout):
    asked = []

    def model(request):
        asked.append(request)
        return answer(request)

    calls = []

    def count(given, context):
        calls.append((given["seat"], given["round"]))
        return by_round(given, context)

    table.play(format_, model, instructions=count, layout=layout, synthesizer=True)
    assert len(calls) == len(set(calls))
    assert {row.role for row in asked} >= {"synthesizer"}
    for row in asked:
        own = f"{row.speaker}, round {row.round}: be brief."
        assert row.prompt.count(": be brief.\n") == 1
        assert f"\n{own}\n" in row.prompt
        assert row.instructions == own
    (opened,) = table.data("debate.opened")
    assert opened["instructions"] is None
    assert table.verified().findings == []


def test_an_estimate_counts_what_each_seat_is_told_in_each_round():
    def estimated(function):
        fields = {"max_rounds": 2, "debaters": [SHIP, {**WAIT, "model": None}]}
        spec = playing.spec_of("judged", instructions=function, **fields)
        return hansard.estimate(spec, models={"bot": answer}).most

    def late(given, _context):
        return "x" * 4000 if (given["seat"], given["round"]) == ("ann", 2) else "x"

    short, long = estimated(lambda *_: "x"), estimated(late)
    told = [row.tokens_in for row in long.seats]
    assert told[0] > short.seats[0].tokens_in + 900
    assert told[1:] == [row.tokens_in for row in short.seats[1:]]


def test_a_custom_seat_is_told_none_and_one_warning_says_so(table):
    seen = {}

    def keep(request):
        seen[request.speaker, request.round] = request
        return answer(request)

    with pytest.warns(hansard.SpecWarning, match="Custom functions fill bob"):
        table.play("judged", keep, models={"own": keep}, debaters=[SHIP, WAIT], max_rounds=2,
                   instructions=by_round)  # fmt: skip
    assert seen["ann", 2].instructions == "ann, round 2: be brief."
    assert seen["bob", 2].instructions is None
    assert "be brief" not in seen["bob", 2].prompt
    rows = {row["id"]: row["instructions"] for row in table.data("debater.registered")}
    assert [row["round"] for row in rows["ann"]] == [1, 2]
    assert rows["bob"] is None
    assert table.verified().findings == []
