"""What a debate says of itself is shown in the same words everywhere, and so is what is missing."""

from __future__ import annotations

import pytest

from formats import FORMATS
from hansard.report import said
from hansard.report.view import build
from hansard.report.words import GONE
from hansard.rules.events import parse
from playing import play
from support import Debate, Setup, vote

WHO = {
    "task_type": "contract",
    "requester": {"name": "Zoë <b>Ångström</b>", "key": "acme/reviewer"},
    "owner": "李小龍",
    "labels": ["q4", "Berlin"],
    "retention": "7y",
}
PRICES = {"python:bot": {"input": "2", "output": "10"}}


def result(bundle):
    texts = {name: body[81:].decode() for name, body in bundle.blobs.items()}
    return build(map(parse, bundle.lines), texts.get)


def test_who_asks_and_who_answers_for_it_stand_first():
    found = result(play("judged", prices=PRICES, **WHO))
    rows = dict(said.rows(found))
    assert list(rows.items())[:5] == [
        ("Asked by", "Zoë <b>Ångström</b> (key acme/reviewer)"),
        ("Answerable", "李小龍"),
        ("Task type", "contract"),
        ("Labels", "Berlin, q4"),
        ("Retention", "7y"),
    ]
    cost = f"{found.estimate['cost_expected_micro_usd'] / 10**6:.6f}"
    assert rows["Expected"] == f"{cost} US dollars ({cost} to {cost}), 5 calls"


def test_whoever_is_missing_is_said_to_be_missing():
    found = result(play("panel"))
    assert list(said.rows(found)) == [
        ("Asked by", "nobody is named"),
        ("Answerable", "nobody answers for this result"),
        ("Expected", f"{found.estimate['calls_least']} to {found.estimate['calls_most']} calls"),
    ]


def test_a_name_that_is_gone_says_so():
    bundle = play("panel", **WHO)
    found = build(map(parse, bundle.lines), lambda name: None)
    assert dict(said.rows(found))["Answerable"] == GONE


@pytest.mark.parametrize(
    ("kind", "more", "words"),
    [
        ("follow_up", {}, "a follow-up of 3f2b"),
        ("branch", {"seq": 7}, "a branch of 3f2b, from its entry 7"),
        ("evaluation", {"debate": None}, "an evaluation of no debate"),
    ],
)
def test_where_a_debate_goes_back_to(kind, more, words):
    origin = {"kind": kind, "debate": "3f2b", "head": None, "seq": None} | more
    found = result(play("panel")).model_copy(update={"origin": origin})
    assert dict(said.rows(found))["Origin"] == words


@pytest.mark.parametrize("format_", FORMATS)
def test_markdown_names_engine_models_served_and_every_hash(format_):
    bundle = play(format_, context="We are two.", instructions="Be brief.", **WHO)
    found, text = result(bundle), result(bundle).to_markdown()
    assert "Recorded by `hansard/" in text
    assert "- Asked by: Zoë &lt;b" in text
    assert "- Answerable: 李小龍\n" in text
    assert "Not proven: that no reply was invented" in text
    calls = [parse(line) for line in bundle.lines if b'"call.started"' in line]
    assert [row.call for row in found.asked] == [event["data"]["call"] for event in calls]
    for event, row in zip(calls, found.asked, strict=True):
        data = event["data"]
        assert (row.seq, row.template, row.prompt) == (
            *(event["seq"], data["template"], data["prompt"]),
        )
        assert row.prompt in text
        assert row.reply in text
    opened = parse(bundle.lines[0])["data"]
    for name in ("question", "context", "instructions"):
        assert f"| {name} | `{opened[name]['sha256']}` |" in text
    for template in opened["templates"]:
        assert f"| template `{template['role']}` | `{template['sha256']}` |" in text


def test_the_model_that_served_and_its_fingerprint_are_the_providers_words():
    told = {"model": "served-1", "fingerprint": "no id: a text"}
    debate = Debate(Setup(), lambda _: vote("release", more=told)).run()
    found = build(debate.record.events, debate.record.texts.get)
    assert {(row.served, row.fingerprint) for row in found.asked} == {("served-1", "no id: a text")}
    assert all(row.model == "python:test" for row in found.asked)
