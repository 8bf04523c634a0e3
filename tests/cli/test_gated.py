"""`gate --record`: the record of a gate, and what every other command says of it."""

import json

import jsonschema
import pytest

import hansard as library
from cli_support import write_debate
from formats import NAMES
from hansard.schemas import render

AGREED = dict.fromkeys(NAMES, "release")
REFUSED = "[record.gate]"


@pytest.fixture
def asked(hansard):
    """The id of a record in which only the gate was asked."""
    spec = write_debate(AGREED, requester="Ann Lee", labels=["b", "a"], task_type="security")
    done = hansard("gate", spec, "--record")
    assert done.code == 3
    (row,) = listed(hansard)
    assert row["debate"] in done.err
    assert f"hansard outcome {row['debate'][:8]} --label LABEL" in done.err
    return row["debate"]


def listed(hansard):
    return json.loads(hansard("list", "--json").out)["debates"]


def test_nothing_is_recorded_unless_it_is_asked_for(hansard):
    assert hansard("gate", write_debate(AGREED)).code == 3
    assert hansard("list").code == 2  # there is no store


def test_what_cannot_be_asked_is_not_recorded(hansard):
    spec = write_debate(AGREED)
    assert hansard("gate", spec, "--record", "--confidence", "2").code == 2
    assert hansard("list").code in (0, 2)
    assert "gate" not in hansard("list").out


def test_it_is_recorded_where_the_store_is(hansard, tmp_path):
    url = f"sqlite:///{tmp_path / 'other.db'}"
    spec = write_debate(AGREED, gate={"downside": 9, "threshold": 0})
    done = hansard("gate", spec, "--record", "--json", "--store", url)
    found = json.loads(done.out)
    assert (done.code, found["advised"], found["entries"]) == (0, True, 1)
    jsonschema.validate(found, json.loads(render("gate-record")))
    row = json.loads(hansard("list", "--json", "--store", url).out)["debates"][0]
    assert (row["debate"], row["state"], row["advised"]) == (found["debate"], "gate", True)
    assert "A debate is advised" in hansard("list", "--store", url).out


def test_show_says_what_was_answered_and_that_nothing_was_decided(hansard, asked):
    done = hansard("show", asked[:8])
    assert done.code == 0
    for words in (
        "Shall we release?",
        "a debate is not advised: the downside is not large enough, or not known",
        "met: the task type is security",
        "Ann Lee",
        "nobody answers for this result",
        "a, b",
        "1 entry, as recorded",
        "only the gate was asked: no debate was held, and nothing was decided",
    ):
        assert words in done.out
    assert "No debate is advised" in hansard("list").out


def test_outcomes_and_holds_are_recorded_on_it(hansard, asked):
    assert hansard("outcome", asked, "--label", "wrong", "--note", "It cost us.").code == 0
    assert hansard("outcome", asked, "--label", "late", "--sign").code == 0
    assert hansard("hold", asked, "--reason", "An audit.").code == 0
    assert hansard("hold", asked).code == 2
    shown = hansard("show", asked).out
    assert "wrong: It cost us. (unsigned)" in shown
    assert "late (signed by the key" in shown
    assert "a hold stands" in shown
    found = json.loads(hansard("report", asked, "--as", "json").out)
    assert [row["label"] for row in found["reviewed"]["outcomes"]] == ["wrong", "late"]
    jsonschema.validate(found, json.loads(render("gate-record")))


def test_a_review_is_shown_what_it_signs_and_releases_nothing(hansard, asked):
    done = hansard("review", asked, "--outcome", "approved", "--reviewer", "Bo", "--yes")
    assert done.code == 0
    assert "only the gate was asked" in done.err
    assert "review: approved: Bo" in done.err
    words = ("--outcome", "conditions", "--condition", "Ask again.", "--reviewer", "Bo", "--yes")
    assert hansard("review", asked, *words).code == 0
    assert "Ask again." in hansard("show", asked).out
    done = hansard("status", asked)
    assert done.code == 3
    assert "NO: there is nothing to act on" in done.out
    done = hansard("status", asked, "--json")
    assert (done.code, json.loads(done.out)["released"]) == (3, False)


def test_a_review_is_signed_away_from_the_store_and_taken_in(hansard, asked):
    assert hansard("export", asked, "-o", "it.zip").code == 0
    words = ("--outcome", "remanded", "--comment", "Ask again.", "--reviewer", "Bo", "--yes")
    done = hansard("review", "it.zip", *words, "-o", "review.json")
    assert done.code == 0
    assert "only the gate was asked" in done.err
    done = hansard("review", asked, "--import", "review.json")
    assert done.code == 0
    assert "review: sent back" in done.err
    assert "--remand" not in done.err  # there is no debate to be held again
    done = hansard("status", asked)
    assert (done.code, "--remand" in done.out) == (3, False)
    assert hansard("verify", asked).code == 0
    done = hansard("review", asked, "--import", "review.json")
    assert (done.code, "[review.recorded]" in done.err) == (2, True)


def test_a_gate_whose_label_is_the_id_of_a_debate_does_not_go_back_to_it(hansard):
    debate = json.loads(hansard("run", write_debate(AGREED), "--json").out)["debate"]
    assert hansard("gate", write_debate(AGREED, labels=[debate]), "--record").code == 3
    assert hansard("status", debate).code == 0
    with library.open_store("sqlite:///hansard.db") as store:
        assert library.remands_of(store, debate) == ()


@pytest.mark.parametrize(
    "words",
    [
        ("report",),
        ("report", "--as", "markdown"),
        ("report", "--as", "source"),
        ("replay",),
        ("replay", "--unverified"),
        ("resume",),
        ("stop",),
        ("show", "--prompt", "r1.proposal.planner:1"),
        ("run", "debate.yaml", "--follow-up"),
        ("run", "debate.yaml", "--remand"),
    ],
)
def test_what_needs_a_debate_is_refused_in_one_sentence(hansard, asked, words):
    done = hansard(*words, asked)
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        (
            f"error: record {asked[:8]} is that of a gate: no debate was held; `hansard show "
            f"{asked[:8]}` says what was answered {REFUSED}"
        )
    ]
    assert listed(hansard)[0]["state"] == "gate"


def test_its_replies_cannot_be_given_again(hansard, asked):
    write_debate(AGREED, debaters=[{"id": n, "model": f"recorded:{asked}"} for n in NAMES])
    done = hansard("run", "debate.yaml")
    assert done.code == 2
    assert REFUSED in done.err


def test_it_is_verified_exported_and_shown_as_a_page(hansard, asked):
    assert hansard("outcome", asked, "--label", "wrong").code == 0
    assert hansard("verify", asked).code == 0
    for command, file in (("export", "it.zip"), ("page", "it.html")):
        assert hansard(command, asked, "-o", file).code == 0
        done = hansard("verify", file)
        assert (done.code, "INTACT" in done.out) == (0, True)
        assert "only the gate was asked: there is no decision to check" in done.out
        assert "wrong (unsigned)" in hansard("show", file).out
        assert hansard("status", file).code == 3
    assert hansard("verify", asked, "--require-policy").code == 1


def test_in_the_library_the_answer_names_its_record(asked):
    spec = write_debate(AGREED, task_type="security")
    url = "sqlite:///hansard.db"
    found = library.ask_gate(spec, store=url)
    assert isinstance(found, library.GateRecord)
    plain = library.ask_gate(spec)
    assert not isinstance(plain, library.GateRecord)
    assert {**found.model_dump(), **plain.model_dump()} == found.model_dump()
    noted = library.note_outcome(found.debate, "right", store=url, note="It held.")
    assert isinstance(noted, library.GateRecord)
    assert [row.note for row in noted.reviewed.outcomes] == ["It held."]
    with library.open_store(url) as store:
        assert [row.state for row in library.list_debates(store).debates] == ["gate", "gate"]
        record = library.read_record(store, found.debate)
        assert record.gate() == record.standing() == noted
        for refused in (record.result, record.replay, lambda: record.prompt("r1.x.y:1")):
            with pytest.raises(library.UsageError) as caught:
                refused()
            assert caught.value.code == "record.gate"
