"""A golden set is read whole: all that is wrong with it is told at once, with its lines."""

import json

import pytest

from hansard.api.specs import located
from hansard.errors import UsageError
from hansard.runtime.golden import MOST, choices, read

SPEC = {"format": "panel", "model": "python:ask", "options": ["sign", "wait"]}
SIDES = [{"label": "sign", "stance": "Sign it."}, {"label": "wait", "stance": "Wait a week."}]


def row(question="Do we sign?", label="sign", **fields):
    return json.dumps({"question": question, "label": label, **fields}).encode()


def cases(*lines, spec=None):
    return read(
        b"\n".join(lines), "set.jsonl", lambda given: located(spec or SPEC, None, given)[0], "all"
    )


def refused(*lines, spec=None):
    """The codes, each with the number of its line."""
    with pytest.raises(UsageError) as caught:
        cases(*lines, spec=spec)
    told = (caught.value, *caught.value.others)
    return [(each.code, each.sentence.partition(", line ")[2].partition(":")[0]) for each in told]


def test_each_line_is_a_question_of_its_own():
    found = cases(
        row(id="one", evidence=[{"id": "memo", "text": "It is late."}], context={"days": 2}),
        b"",
        row("Do we wait?", "yes", options=["yes", "no"]),
    )
    assert [(case.id, case.line, case.label) for case in found] == [
        ("one", 1, "sign"), ("line-3", 3, "yes"),
    ]  # fmt: skip
    first, second = (case.spec for case in found)
    assert (first.question, first.context, first.evidence[0].text) == (
        "Do we sign?", {"days": 2}, "It is late.",
    )  # fmt: skip
    assert (first.name, first.collection_id, first.gate) == ("one", "all", None)
    assert (second.question, second.options, second.evidence) == ("Do we wait?", ["yes", "no"], [])


def test_everything_that_is_wrong_is_told_at_once():
    found = refused(
        b"\xef\xbb\xbf" + row(),
        b'{"question": "Why?"',
        b"[1]",
        b"\xff",
        json.dumps({"question": "Unlabelled?"}).encode(),
        row("Empty?", ""),
        row("Unknown?", "perhaps"),
        row("Do we sign?"),
        row("Another?", id="line-1"),
        row("Who?", model="openai:x"),
        row("Count?", 3),
        b'{"question": "a", "question": "b", "label": "sign"}',
        row("One option?", options=["sign"]),
    )
    assert found == [
        ("golden.bom", "1"),
        *(("golden.malformed", number) for number in "234"),
        ("golden.unlabelled", "5"),
        ("golden.unlabelled", "6"),
        ("golden.label", "7"),
        ("golden.duplicate", "8"),
        ("golden.duplicate", "9"),
        *(("golden.malformed", number) for number in ("10", "11", "12")),
        ("spec.too_few", "13"),
    ]


def test_the_same_question_on_other_documents_is_another():
    first, second = ({"evidence": [{"id": "memo", "text": text}]} for text in ("a", "b"))
    assert len(cases(row(**first), row(**second))) == 2
    assert refused(row(**first), row(**first)) == [("golden.duplicate", "2")]
    assert len(cases(row(context="a"), row(context="b"))) == 2


def test_an_empty_set_and_one_that_is_too_large():
    assert refused(b"", b"\n") == [("golden.empty", "")]
    lines = [row(f"Question {number}?") for number in range(MOST + 1)]
    assert refused(*lines) == [("golden.too_many", "")]


@pytest.mark.parametrize(
    ("spec", "known"),
    [
        (SPEC, ["sign", "wait"]),
        ({"format": "judged", "model": "python:ask", "debaters": SIDES}, ["sign", "wait"]),
        ({"format": "moderated", "model": "python:ask", "positions": SIDES}, ["sign", "wait"]),
        ({"format": "moderated", "model": "python:ask"}, ["upheld", "not_upheld"]),
        ({"format": "panel", "model": "python:ask"}, []),
    ],
)
def test_a_label_is_what_the_debate_can_decide(spec, known):
    assert list(choices(located(spec, None, {"question": "Why?"})[0])) == known
    for label in known:
        assert cases(row(label=label), spec=spec)[0].label == label
    assert refused(row(label="synthesis"), spec=spec) == [("golden.label", "1")]


def test_a_stance_may_be_labelled_by_its_words():
    spec = {"format": "judged", "model": "python:ask", "debaters": SIDES}
    assert cases(row(label="Wait a week."), spec=spec)[0].label == "wait"
    assert refused(row(label="wait a week"), spec=spec) == [("golden.label", "1")]
