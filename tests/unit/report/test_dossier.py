"""The dossier: a summary in the order of those who answer for a decision, then every text."""

import re
from collections import Counter

import pytest

import hansard
from formats import EVIDENCE, FORMATS
from hansard import DataError
from hansard.record import blob
from hansard.report.dossier import blocks
from hansard.report.safe import shown
from hansard.report.signs import inline
from hansard.rules.events import parse
from hansard.rules.redactions import texts_of
from hansard.store.tampering import alter_line
from hansard.verify.verifier import verify
from playing import answer, play, script
from reporting import shown as result_of

HOSTILE = "# Not a heading\n| a | b |\n<script>alert(1)</script>\n\x1b[2J\u202e"
SUMMARY = (
    "Decision", "What needs a look", "People", "What the record does not say", "Evidence",
    "Participants", "Cost",
)  # fmt: skip
WRITTEN = {
    "context": "A context of its own.",
    "instructions": "Be brief.",
    "evidence": [EVIDENCE],
    "requester": "Head of Claims",
}


def written(*given):
    return "\n\n".join(blocks(*given)) + "\n"


def of(bundle):
    def text_of(name):
        file = bundle.blobs.get(name)
        return None if file is None else blob.unpack(file)

    events = [parse(line) for line in bundle.lines]
    return written(result_of(bundle, text_of), events, text_of, verify(bundle))


def headings(text):
    return re.findall(r"(?m)^##? (.+)$", text)


@pytest.mark.parametrize("format_", FORMATS)
def test_the_summary_comes_first_and_in_this_order(format_):
    found = headings(of(play(format_, **WRITTEN)))
    summary = found[: found.index("Annexes")]
    assert [row for row in summary if row in SUMMARY] == list(SUMMARY)
    if "Open points" in summary:
        assert summary.index("What needs a look") < summary.index("Open points")
        assert summary.index("Open points") < summary.index("People")


def texts_in(bundle):
    """Every text of a record, by its place; the hash of a file and what it holds aside."""
    for line in bundle.lines:
        event = parse(line)
        for name, blob_name in texts_of(event["data"]):
            if not name.startswith(("source.", "original")):
                yield event["seq"], name, blob.unpack(bundle.blobs[blob_name])


@pytest.mark.parametrize("format_", FORMATS)
def test_every_text_of_the_record_is_in_it(format_):
    stammered = []

    def stammer(request):
        if not request.call.endswith(":1"):
            return answer(request)
        stammered.append(request.call)
        return "no JSON"

    seats = ("planner", "judge", "moderator")
    bundle = play(format_, script(dict.fromkeys(seats, stammer)), **WRITTEN)
    found = re.sub(r"\s+", " ", of(bundle).replace("\n>\n> ", " ").replace("> ", ""))
    rejected = sum(parse(line)["type"] == "turn.rejected" for line in bundle.lines)
    assert rejected == len(stammered)
    for seq, name, text in texts_in(bundle):
        if name == "reply" and text.startswith("{"):  # its parts stand in the transcript
            continue
        assert " ".join(inline(line) for line in text.split("\n")) in found, (seq, name)


def test_what_is_not_recorded_is_said():
    bare = of(play("panel"))
    for said in (
        "- No requester was recorded.",
        "- No owner was recorded: nobody answers for the result.",
        "- No type of task was recorded.",
        "- No class of retention was recorded.",
        "- No policy was named: nobody approved the prompts.",
        "- The gate was not asked whether a debate was worth it.",
        "- No evidence was admitted.",
        "- The price of `python:bot` is not known.",
        "- Nobody reviewed the debate.",
        "- Nobody noted what came of it.",
    ):
        assert f"\n{said}\n" in bare, said
    stated = of(
        play(
            "panel",
            evidence=[EVIDENCE],
            requester="Ann",
            owner="Bob",
            task_type="contract",
            retention="years-7",
            gate={},
        )
    )
    missing = stated.partition("## What the record does not say\n\n")[2].partition("\n\n")[0]
    assert "requester" not in missing
    for said in ("owner", "type of task", "retention", "gate", "evidence"):
        assert said not in missing


def test_it_says_what_verifying_found_just_now():
    found = of(play("panel"))
    assert "**SELF-CONSISTENT, SIGNER UNKNOWN**: " in found
    assert "| 16 | outcome | pass | " in found


def test_hostile_texts_stand_in_quotes_alone():
    tame, hostile = (
        of(play("panel", context=text, evidence=[{"id": "memo", "text": text}]))
        for text in ("so", HOSTILE)
    )
    assert headings(hostile) == headings(tame)
    assert "<script" not in hostile
    assert shown(hostile) == hostile


def test_texts_that_are_gone_are_said_to_be_gone():
    bundle = play("panel", **WRITTEN)
    events = [parse(line) for line in bundle.lines]
    found = written(result_of(bundle, lambda _: None), events, lambda _: None, verify(bundle))
    assert "Document `memo` (entry 5):\n\n> \\[text not available\\]" in found


def test_an_altered_record_has_none(tmp_path):
    with hansard.open_store(f"sqlite:///{tmp_path}/d.db") as store:
        debate = hansard.debate("Why?", format="panel", agents=lambda _: "So.", store=store).debate
        assert hansard.read_record(store, debate).dossier().startswith("# Why?\n")
        alter_line(tmp_path / "d.db", debate, 3, b'"seq":3', b'"seq":4')
        with pytest.raises(DataError) as caught:
            hansard.read_record(store, debate).dossier()
    assert caught.value.code == "record.altered"


def test_a_text_that_is_named_often_is_read_once():
    """Each reading unpacks it: else a small export takes as much memory as it likes."""
    bundle, read = play("consensus", context="A context of its own."), Counter()

    def text_of(name):
        read[name] += 1
        return blob.unpack(bundle.blobs[name])

    opened, *others = map(parse, bundle.lines)
    seat = next(event for event in others if event["type"] == "debater.registered")
    rows = [{"round": number, "text": opened["data"]["context"]} for number in range(1, 99)]
    told = {**seat, "data": {**seat["data"], "instructions": rows}}
    found = written(result_of(bundle), [opened, told, told], text_of, verify(bundle))
    assert found.count("> A context of its own.") == 2 * 98 + 1
    assert set(read.values()) == {1}
