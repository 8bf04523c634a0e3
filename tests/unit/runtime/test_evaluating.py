"""The rivals of a debate, and what a golden set may say."""

import json

import pytest

from hansard.api.specs import located
from hansard.errors import UsageError
from hansard.runtime import golden
from hansard.runtime.evaluating import MOST_DRAWS, rival
from hansard.runtime.files import LIMITS
from hansard.runtime.golden import MOST, MOST_WRONG, choices, lines, read
from measuring import traced

SIDES = [
    {"label": "sign", "stance": "Sign it.", "model": "openai:a", "settings": {"temperature": 0.4}},
    {"label": "wait", "stance": "Wait a week.", "model": "openai:b"},
]
SPECS = {
    "consensus": {
        "debaters": [{"id": "ann", "model": "openai:a", "persona": "You are Ann."}, {"id": "bob"}],
        "options": ["sign", "wait"], "threshold": 2, "max_rounds": 1,
    },
    "judged": {"debaters": SIDES},
    "moderated": {"proposer": {"model": "openai:a"}},
    "panel": {"options": ["sign", "wait"], "agents": 2, "model": "openai:a"},
}  # fmt: skip


def spec_of(format_, **fields):
    own = SPECS[format_] | {"format": format_, "question": "Do we sign?"}
    return located({"model": "openai:other", **own, **fields}, None)[0]


@pytest.mark.parametrize("format_", SPECS)
def test_the_rival_is_the_first_who_argues_asked_alone(format_):
    found = rival(spec_of(format_), 7)
    (seat,) = found.table()
    assert (found.format, found.draws, found.question) == ("baseline", 7, "Do we sign?")
    assert (seat.id, seat.role, seat.model, seat.persona) == ("single", "debater", "openai:a", None)
    upheld = ["upheld", "not_upheld"] if format_ == "moderated" else ["sign", "wait"]
    assert found.options == upheld


def test_it_keeps_settings_evidence_context_and_what_the_debate_says_of_itself():
    evidence = [{"id": "memo", "text": "It is late.", "from_round": 2}]
    spec = spec_of(
        "judged", evidence=evidence, context={"days": 2}, task_type="contract", seed=7, name="n",
        collection_id="all", prices={"openai:a": {"input": "1", "output": "2"},
                                     "openai:b": {"input": "3", "output": "4"}},
        instructions="Be brief.", limits={"calls": 9},
    )  # fmt: skip
    found = rival(spec, 1)
    assert found.table()[0].settings.temperature == "0.4"
    assert [(row.id, row.from_round) for row in found.evidence] == [("memo", 1)]
    assert (
        found.context == '{"days":2}\n\nWhat the choices mean:\nsign: Sign it.\nwait: Wait a week.'
    )
    assert list(found.prices) == ["openai:a"]
    assert (found.task_type, found.seed, found.name, found.collection_id) == (
        "contract", 7, "n", "all",
    )  # fmt: skip
    assert (found.instructions, found.limits.calls) == ("Be brief.", 9)
    assert rival(spec_of("panel"), 1).context is None  # options say what they mean


def test_it_is_drawn_as_often_as_there_were_calls_within_bounds():
    spec = spec_of("panel")
    assert [rival(spec, calls).draws for calls in (0, 1, 99, 500)] == [1, 1, MOST_DRAWS, MOST_DRAWS]


# A golden set is read whole: all that is wrong with it is told at once, with its lines

SPEC = {"format": "panel", "model": "python:ask", "options": ["sign", "wait"]}
STANCES = [{"label": "sign", "stance": "Sign it."}, {"label": "wait", "stance": "Wait a week."}]


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
    questions = [row(f"Question {number}?") for number in range(MOST + 1)]
    assert refused(*questions) == [("golden.too_many", f"{MOST + 1}")]


def test_what_the_questions_state_together_is_bounded():
    questions = [row(f"Question {number}?", context=[0] * 95_000) for number in range(12)]
    assert len(cases(*questions[:10])) == 10
    assert refused(*questions) == [("golden.too_many", "11")]


def test_how_much_memory_the_texts_of_the_questions_take_is_bounded():
    """One emoji makes a text four times as large: a set of 64 MB took 256 MiB beside a debate."""
    long = "x" * 3_000_000 + "\U0001f600"
    questions = [row(f"Question {number}?", context=f"{number}{long}") for number in range(10)]
    assert len(cases(*questions[:5])) == 5
    assert refused(*questions) == [("golden.too_many", "6")]
    named = {f"{number:04}" + "x" * 995 + "\U0001f600": 0 for number in range(3_000)}
    questions = [row(f"Question {number}?", context=named) for number in range(10)]
    assert refused(*questions) == [("golden.too_many", "6")]
    memo = [{"id": "memo", "text": long[:-2_000_000]}]
    shared = [row(f"Question {number}?", evidence=memo) for number in range(30)]
    assert len(cases(*shared)) == 30  # what they have in common counts once


def test_questions_on_the_same_document_share_its_text():
    """What is not in NFC is made anew for each: 45 questions on 4 MB took 829 MiB."""
    memo = [{"id": "memo", "text": "cafe\u0301 " * 100}]
    first, second = cases(row("One?", evidence=memo), row("Two?", evidence=memo))
    assert first.spec.evidence[0].text == "caf\u00e9 " * 100
    assert first.spec.evidence[0].text is second.spec.evidence[0].text


def test_so_many_lines_that_are_wrong_are_told_at_once():
    """What is wrong may be the spec, and may take seconds to find, in each of a thousand lines."""
    wrong = [row(f"Question {number}?", label="no option") for number in range(MOST_WRONG + 9)]
    found = refused(row(), *wrong)
    assert found[:-1] == [("golden.label", f"{number}") for number in range(2, MOST_WRONG + 2)]
    assert found[-1] == ("golden.too_many", f"{MOST_WRONG + 2}")


@pytest.mark.parametrize("line", [b"\xff", b"\xef\xbb\xbf", b"[1]"])
def test_lines_that_are_wrong_are_bounded_too(line):
    found = refused(*[line] * 3 * MOST)
    assert found[-1][0] == "golden.too_many"
    assert len(found) <= MOST_WRONG + 2  # one line may have two mistakes


def test_a_line_has_a_size_and_empty_ones_cost_nothing():
    long = row(evidence=[{"id": "memo", "text": "x" * LIMITS["spec"]}])
    assert refused(b"", long, row()) == [("golden.malformed", "2")]
    blank = b"\n \n" * 1_000_000 + b" {} "
    found, most = traced(lambda: list(lines(blank)))
    assert found == [(2_000_001, b"{}")]
    assert most < 1 << 20


def test_an_emoji_makes_no_set_four_times_as_big():
    wide = "\n".join([f"😀{'x' * 60_000}"] * 100).encode()
    found, most = traced(lambda: sum(1 for _ in golden._lines(wide, "set", [])))
    assert found == 100
    assert most < len(wide)


@pytest.mark.parametrize("wrong", [{"label": "perhaps"}, {"agents": 3}, {"options": ["sign"]}])
def test_of_a_line_that_is_wrong_only_the_mistake_is_kept(wrong):
    rows = [row(f"{n}?", context=["x" * 9] * 5_000, **wrong) for n in range(20)]
    one, many = (traced(lambda n=n: len(refused(*rows[:n])))[1] for n in (1, 20))
    assert many - one < 1.5 * sum(map(len, rows))  # they are the file itself


@pytest.mark.parametrize(
    ("spec", "known"),
    [
        (SPEC, ["sign", "wait"]),
        ({"format": "judged", "model": "python:ask", "debaters": STANCES}, ["sign", "wait"]),
        ({"format": "moderated", "model": "python:ask", "positions": STANCES}, ["sign", "wait"]),
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
    spec = {"format": "judged", "model": "python:ask", "debaters": STANCES}
    assert cases(row(label="Wait a week."), spec=spec)[0].label == "wait"
    assert refused(row(label="wait a week"), spec=spec) == [("golden.label", "1")]
