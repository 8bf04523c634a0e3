"""The page's figures are those of the JSON report, at the end of a record and on the way there."""

import asyncio
import importlib.util
import json
import re
from collections import defaultdict
from pathlib import Path
from random import Random
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings

from costly import says_of_its_turns
from hansard import vocabulary
from hansard.api.specs import read_spec
from hansard.cli.starting import write_example
from hansard.record import blob, bundle
from hansard.report import gating
from hansard.report.acting import ANSWERS
from hansard.report.notes import NoteCode
from hansard.report.view import build
from hansard.rules.events import parse
from hansard.rules.fields import SENT_BACK
from hansard.rules.formats import FORMATS
from hansard.rules.prompts import spell_out
from hansard.rules.review import ReviewState
from hansard.runtime import session
from hansard.runtime.models.base import Wire
from hansard.store.application import Store
from kit import ROWS, export_files
from page.harness import ROOT, ask
from playing import spec_of
from support import (
    EVENTFUL,
    SERVED,
    Debate,
    Fail,
    Reply,
    Setup,
    argued,
    eventful,
    say,
    script,
    vote,
    votes,
)

pytestmark = pytest.mark.slow
LEFT_OUT = {"report", "speaker_selected_by", "judge_view"}  # the page shows none of them
LEFT_OUT |= {"reviewed", "released"}  # they rest on the reader's trust file (people.js)
SAID = {
    "transcript",
    "framing",
    "exchanges",
}  # what turns say: the page draws it from their replies
RANDOM = 15  # debates
LONG = 10_000  # events
BLANKS = 300_000  # in one text
TURNS = {
    "turn.recorded": lambda _: "counted",
    "verdict.recorded": lambda _: "counted",
    "synthesis.recorded": lambda _: "counted",
    "turn.forfeited": lambda _: "forfeited",
    "turn.rejected": lambda data: "sent_back" if data["code"] in SENT_BACK else "rejected",
}


def module(name):
    """Import another folder's test module, for its debates."""
    path = ROOT / "tests" / name
    spec = importlib.util.spec_from_file_location(path.stem, path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


# Records: events, and texts by name


def of_bundle(record):
    texts = {name: blob.unpack(file) for name, file in record.blobs.items()}
    return [parse(line) for line in record.lines], texts


def of_store(run):
    """The record of a debate that `run` plays in a store."""
    with Store.open("sqlite:///:memory:") as store:
        asyncio.run(run(store))
        return of_bundle(store.bundle(store.debates()[0]))


def golden():
    found = module("golden/test_golden.py")
    for name, (format_, replies, changes) in found.DEBATES.items():

        async def model(request, replies=replies):
            return replies(request)

        spec, models = spec_of(format_, **changes), {"bot": model}
        yield name, of_store(lambda store: session.run(spec, store, Path.cwd(), models=models))  # noqa: B023


def examples(folder):
    for format_ in FORMATS:
        write_example(folder / format_, format_)
        spec = read_spec(folder / format_ / "debate.yaml")
        yield format_, of_store(lambda store: session.run(spec, store, folder / format_))  # noqa: B023


def kit():
    for name, row in ROWS.items():
        if row.expected.level is not None:
            events, texts = of_bundle(bundle.of_files(export_files(name)))
            if events[0]["type"] == "debate.opened":  # the record of a gate has no figures
                yield name, (events, texts)


def played():
    for name in EVENTFUL:
        record = eventful(name).record
        yield name, (record.events, record.texts)


# Models of one family in different places, and ids that a JavaScript object would put first or
# take for its own.
MODELS = (
    "openai:gpt-4o",
    "vllm:openai/gpt-5",
    "bedrock:us.anthropic.claude-3",
    "lmstudio:Claude-4",
)
NAMES = (*MODELS, "openai:4o", "openai:4o", "openai:llama:8b", "vllm:meta-llama/Llama-3.1-8B")
NAMES += (
    "openai:qwen.large",
    "python:gpt-4o",
    "custom:mine-2",
    "recorded:abc",
    "bedrock:meta.llama3",
)
IDS = ("2", "__proto__", "1", "constructor")
ADVOCATES = [
    {"id": name, "label": f"{name}0", "stance": f"So {name}.", "model": model}
    for name, model in zip(IDS, MODELS, strict=True)
]
ROLES = ("proposer", "critic", "rebuttal", "moderator")
# Words of any script and length, and what must not be taken for more than words.
WORDS = (
    "\u202eנחכה\u2066 <b>\x1b[2K</b> `**`\n\tعندما\u3000" + "待つ𝒜\u0301" * 90,
    "今すぐ公開する。",
    "𝒜" * 201,
    "}{ $& {decision} " + "so " * 100,
)
ODD = {
    "consensus": {"debaters": IDS, "options": IDS, "threshold": 2},
    "families": {
        "format_": "consensus",
        "debaters": [{"id": f"d{n}", "model": model} for n, model in enumerate(NAMES)],
        "context": "A small team.",
    },
    "one persona": {
        "format_": "consensus",
        "debaters": [
            {"id": "a", "persona": "You run the pager.", "model": "scripted:replies.yaml"},
            {"id": "b", "persona": "You run the pager.", "model": "openai:gpt-4o"},
            {"id": "c", "persona": "You run the pager.", "model": "openai:gpt-4o"},
        ],
    },
    "replayed": {
        "format_": "consensus",
        "debaters": [{"id": name, "model": "recorded:abc"} for name in IDS[:3]],
    },
    "judged": {"debaters": ADVOCATES, "judge": {"model": "lmstudio:gpt-4o"}, "max_rounds": 5},
    "moderated": {name: {"model": model} for name, model in zip(ROLES, MODELS, strict=True)},
    "positions": {"format_": "moderated", "positions": ADVOCATES, "neutrality_check": True},
    "stances in words": {"format_": "judged", "debaters": [{"stance": row} for row in WORDS]},
    "positions in words": {
        "format_": "moderated",
        "positions": [{"stance": row, "label": f"own-{n}"} for n, row in enumerate(WORDS)],
    },
    "nothing to cite": {"format_": "moderated", "require_cited_critique": True},
    "nothing cited": {
        "format_": "moderated",
        "evidence": (("memo", "It failed.", 1), ("late", "It failed twice.", 2)),
        "max_rounds": 2,
    },
    "advised": {
        "format_": "judged",
        "task_type": "contract",
        "gate": {"downside": "250000", "threshold": "0.043284", "confidence": "0.699999"}
        | {"answer": "It may be so.", "rule": "all"},
    },
    "against the gate": {"format_": "judged", "gate": {}},
    "against one": {"format_": "panel", "gate": {"rule": "any", "answer": "So it is."}},
    "against all": {"format_": "consensus", "gate": {"rule": "all", "downside": 5}},
    "lookup": {"format_": "consensus", "gate": {"contested": False, "threshold": "999999999"}},
    "one of any": {"format_": "consensus", "gate": {"rule": "any", "confidence": "0.000001"}},
    "panel": {"debaters": IDS, "judge": None, "resolution": "majority"},
    "words": {"format_": "consensus", "options": ("go_or_not_upheld", "stop")},
}


def odd():
    for name, fields in ODD.items():
        setup = Setup(**{"format_": name, **fields})
        record = Debate(setup, script()).run().record
        yield name, (record.events, record.texts)
    blanks = " " * BLANKS
    record = (
        Debate(Setup("judged"), script(usual=say(f"{blanks}so{blanks}so{blanks}"))).run().record
    )
    yield "blanks", (record.events, record.texts)
    thesis = "It isn't generally reasonable, but LARGELY  sound."
    record = Debate(Setup("moderated"), script({"critique": say(thesis=thesis)})).run().record
    yield "soft", (record.events, record.texts)
    sent = {"sent_as_rendered": False, "sent": "the body"}
    record = Debate(Setup(model=SERVED), script(usual=vote("release", more=sent))).run().record
    yield "sent otherwise", (record.events, record.texts)
    usual = vote("release")
    record = Debate(Setup(model=SERVED), script(usual=usual)).run().record
    yield "all compared", (record.events, record.texts)
    seats = [{"id": "planner"}, {"id": "critic", "model": SERVED}, {"id": "operator"}]
    record = Debate(Setup(debaters=seats), script(usual=usual)).run().record
    yield "some compared", (record.events, record.texts)
    yield from swayed()
    for served in ("test-2025-08-07", "test-mini", "so it is"):
        usual = vote("release", more={"model": served})
        record = Debate(Setup(model=SERVED), script(usual=usual)).run().record
        yield f"served {served}", (record.events, record.texts)
    setup = Setup(
        limits={"seconds": 0.01}, output_schema={"type": "object", "properties": {}}
    )  # the vote takes longer than that
    record = Debate(setup, script(usual=vote("release")), tick=1000).run().record
    assert record.all("turn.forfeited")[0]["cut"]["ceiling"] == "seconds"
    yield "late for its synthesis", (record.events, record.texts)
    listing = says_of_its_turns({"unanswered": [*range(1, 20_000)]}, positions=2)
    yield "much unanswered", of_bundle(bundle.of_files(bundle.unpack(listing)))
    for usual in (Fail("client_error", wire=Wire(401)), vote("release")):
        record = Debate(Setup(model="openai:m"), script(usual=usual)).run().record
        events = json.loads(json.dumps(record.events).replace("openai:m", "constructor:m"))
        yield f"a provider that nobody knows, {len(events)}", (events, record.texts)
    yield from led()
    fail = Fail("rate_limited", wait_ms=12_345)
    setup = Setup(limits={"seconds": 60, "calls": 40}, attempts=2)
    record = Debate(setup, script({"planner": fail}, vote("release")), tick=1000).run().record
    first, *others = record.events
    at = first["at"].replace(".000000Z", ".000007Z")  # no whole milliseconds before the end
    yield "times", ([{**first, "at": at}, *others], record.texts)


def led():
    """Debates that were cut short with something in hand, and deliverables of several shapes."""
    split = votes(planner="release", critic="revise", operator="escalate")
    record = Debate(Setup(limits={"calls": 4}), split).run().record
    yield "votes in hand", (record.events, record.texts)
    ends = script({"moderation": say(recommend_another_round=True, synthesis="So far “so”.")})
    limits = {"calls": 7, "cost_usd": None}
    record = Debate(Setup("moderated", max_rounds=2, limits=limits), ends).run().record
    assert record.all("debate.truncated")
    yield "a moderation in hand", (record.events, record.texts)
    shape = {"type": "object", "properties": {}}
    for number, said in enumerate(
        (
            '{"answer":["no"],"summary":" ","title":"Pay up to 600 EUR, and no more. Then look."}',
            '{"__proto__":{"decision":"no"},"toString":"no"}',
            '{"decision":"Pay \u202e“600” EUR\\n<b>today</b>!"}',
            f'{{"decision":"{"𝒜" * 200}. So."}}',
        )
    ):
        ends = script({"synthesis": Reply(said)}, vote("release"))
        record = Debate(Setup(synthesizer=True, output_schema=shape), ends).run().record
        yield f"deliverable {number}", (record.events, record.texts)


def swayed():
    """Votes that are given up, an outcome that hangs on them, and one who writes most."""
    late = {"evidence": (("memo", "It failed.", 1), ("late", "It failed twice.", 2))}
    for step in ("r1.critique", "r1.revision", "r1.consensus", "r2.proposal"):
        ends, held = {}, False
        for phase in ("r1.proposal", "r1.critique", "r1.revision", "r1.consensus", "r2.proposal"):
            held |= phase == step
            ends[f"{phase}.critic"] = vote("revise" if held else "release")
        for more in ({}, late):
            setup = Setup(rule="unanimity", **more)
            record = Debate(setup, script(ends, vote("revise"))).run().record
            yield f"swayed in {step}, {len(more)}", (record.events, record.texts)
    ends = {f"r0.draft.{seat}": say(choice="no") for seat in ("ann", "bob")}
    ends |= {"r1.draft.ann": say(choice="no"), "r1.draft.bob": say(choice="no")}
    ends |= {"r2.draft.cat": say(choice="no")}
    setup = Setup("panel", options=["yes", "no"], judge=None, resolution="majority")
    record = Debate(setup, script(ends, say(choice="yes"))).run().record
    yield "swayed in a panel", (record.events, record.texts)
    seats = [f"d{n}" for n in range(6)]
    ends = {f"r1.critique.{seat}": vote("release") for seat in seats}
    setup = Setup(debaters=seats, rule="unanimity", options=("release", "revise"), max_rounds=1)
    ends |= {"r1.proposal.d0": vote("release"), "r1.revision.d5": vote("revise")}
    record = Debate(setup, script(ends, vote("revise"))).run().record
    yield "swayed by more than are named", (record.events, record.texts)
    claims = [argued(("memo", "sixty days")), argued()]
    gives_up = say(concessions=[{"objection": 2, "reason": "so"}])
    ends = {"critique": say(counter_arguments=claims), "rebuttal": gives_up}
    record = Debate(Setup("moderated", max_rounds=2, **late), script(ends)).run().record
    yield "conceded", (record.events, record.texts)
    for name, seat in (("judged", "ann"), ("moderated", "2")):
        more = {"positions": ADVOCATES} if name == "moderated" else {}
        words = say("x" * 400, thesis="𝒜" * 4000)
        record = Debate(Setup(name, **more), script({seat: words})).run().record
        yield f"wordy {name}", (record.events, record.texts)


def random():
    found = []

    @settings(max_examples=RANDOM, suppress_health_check=list(HealthCheck))
    @given(module("property/test_debates.py").debates())
    def draw(debate):
        found.append((debate.record.events, debate.record.texts))

    draw()
    return ((str(number), row) for number, row in enumerate(found))


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    rows = {
        "golden": golden(),
        "example": examples(folder),
        "kit": kit(),
        "eventful": played(),
        "odd": odd(),
        "random": random(),
    }
    return {f"{kind} {name}": row for kind, found in rows.items() for name, row in found}


# Figures


def figured(node, questions):
    """The figures of records, each at some lengths, and how long they took."""
    rows = (
        {"events": events, "texts": list(texts.items()), "at": list(at)}
        for events, texts, at in questions
    )
    return ask(node, rows, "figures.js")


def lengths(events):
    """The end of a record, and prefixes that end in every part of it."""
    return sorted({1, *range(len(events), 1, -max(1, len(events) // 8))})


@pytest.fixture(scope="module")
def figures(node, records):
    asked = [(events, texts, lengths(events)) for events, texts in records.values()]
    answers = figured(node, asked)
    return {
        (name, at): found
        for (name, (events, _)), answer in zip(records.items(), answers, strict=True)
        for at, found in zip(lengths(events), answer["found"], strict=True)
    }


@pytest.fixture(scope="module")
def results(records, figures):
    """What the report says of each."""
    return {(name, at): build(records[name][0][:at], records[name][1].get) for name, at in figures}


def differences(expected, found, where=""):
    """Yield where figures are not those of the report: they may have more members."""
    if isinstance(found, dict) and found.keys() == {"map"}:
        if found["map"] != [list(row) for row in expected.items()]:
            yield where, expected, found
    elif isinstance(expected, dict) and isinstance(found, dict):
        for key, value in expected.items():
            yield from differences(value, found.get(key, "(absent)"), f"{where}.{key}")
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for number, (one, other) in enumerate(zip(expected, found, strict=True)):
            yield from differences(one, other, f"{where}[{number}]")
    elif expected != found or (isinstance(expected, bool) != isinstance(found, bool)):
        yield where, expected, found


def numbers_of(report):
    """A report without what the page does not show, and without what its turns say."""
    if isinstance(report, list):
        return [numbers_of(row) for row in report]
    if not isinstance(report, dict):
        return report
    return {key: numbers_of(row) for key, row in report.items() if key not in LEFT_OUT | SAID}


def test_as_in_the_json_report(records, figures, results):
    for (name, at), found in figures.items():
        report = results[name, at].model_dump(mode="json")
        other = list(differences(numbers_of(report), found))
        events, texts = records[name]
        assert not other, f"{name}, {at} entries: {other}, in\n{events}\n{texts}"


def test_the_sentence_that_leads_is_the_same(figures, results):
    """Each of its sentences is said somewhere."""
    said = set()
    for (name, at), found in figures.items():
        sentence = results[name, at].sentence
        assert found["sentence"] == sentence, name
        assert "\n" not in sentence
        assert spell_out(sentence) == sentence
        said.add(sentence)
    assert unsaid(vocabulary.words("lead") | vocabulary.words("sitting"), said) == set()


# The page alone tells these, and a review that somebody signed (`test_kit.py`) draws those.
TOLD_ELSEWHERE = {"altered", "foreign", "conditions", "disagreement", "doubted"}


def test_whether_to_act_is_said_in_the_same_words(figures, results):
    """In every state of a review, by a signer who is known or not; each is said somewhere."""
    said, states = set(), get_args(ReviewState)
    for (name, at), found in figures.items():
        result = results[name, at]
        for known, sentences in zip((True, False), found["acting"], strict=True):
            for state, sentence in zip(states, sentences, strict=True):
                stated = {"state": state, "reviews": (), "exceptions": ("escalated",), "wanted": 2}
                reviewed = result.reviewed.model_copy(update=stated)
                update = {"reviewed": reviewed, "released": known}
                assert result.model_copy(update=update).acting == sentence, name
                assert spell_out(sentence) == sentence
                said.add(sentence)
    answers = [vocabulary.table("words")["acting"][answer] for answer in ANSWERS]
    words = {key: row for rows in answers for key, row in rows.items()}
    assert unsaid(words, said) == TOLD_ELSEWHERE


def unsaid(words, said):
    """The names of sentences that none of those that were said can be."""
    return {
        key
        for key, words in words.items()
        if not any(pattern(words).search(sentence) for sentence in said)
    }


def test_a_gate_is_told_in_the_same_words(figures):
    told = set()
    for row in figures.values():
        if row["gate"]:
            words = dict(gating.rows(gating.GateAnswer.model_validate(row["gate"])))
            labels = vocabulary.words("said")
            assert {labels[name]: said for name, said in row["gate_rows"].items()} == words
            told |= set(words.values())
    assert len(told) > 20


def pattern(sentence):
    """What a sentence of the vocabulary can read, its places filled."""
    words = map(re.escape, re.split(r"\{[a-z_]+\}", sentence))
    return re.compile(".+".join(words), re.DOTALL)


def variants(sentences):
    """The variants of what may be said, by name."""
    return [("text", sentences)] if isinstance(sentences, str) else sentences.items()


def test_every_sentence_of_every_note_is_said(figures):
    said = defaultdict(set)
    for row in figures.values():
        for note in row["notes"]:
            said[note["code"]].add(note["message"])
    unsaid = [
        (code, variant)
        for code, row in vocabulary.table("notes").items()
        for sentences in row.values()
        for variant, sentence in variants(sentences)
        if not any(map(pattern(sentence).fullmatch, said[code]))
    ]
    assert unsaid == []


def test_every_format_and_outcome_is_there(figures):
    ends = {(row["format"], row["status"]) for row in figures.values()}
    assert {status for _, status in ends} == {"open", "complete", "truncated", "failed"}
    assert {format_ for format_, status in ends if status == "complete"} == set(FORMATS)


def test_turns_are_all_replies_in_their_order(records, figures):
    for (name, at), found in figures.items():
        events, texts = records[name]
        rows = [row for row in events[:at] if row["type"] in TURNS]
        assert [row["seq"] for row in found["turns"]] == [row["seq"] for row in rows]
        replies = {
            row["data"]["call"]: row["data"] for row in events if row["type"] == "call.answered"
        }
        for turn, row in zip(found["turns"], rows, strict=True):
            assert TURNS[row["type"]](row["data"]) == turn["status"]
            answer = replies.get(turn["call"]) if turn["status"] != "forfeited" else None
            text = texts.get(answer["reply"]["sha256"]) if answer else None
            assert turn["text"] in (text, text and text.strip())
            for key in ("latency_ms", "cost_micro_usd", "tokens_in", "tokens_out"):
                assert turn[key] == (answer[key] if answer else None)
            assert turn["vote"] == row["data"].get("vote")
            assert turn["case"] == row["data"].get("case")
            assert row["data"]["step"] == f"r{turn['round']}.{turn['phase']}.{turn['seat']}"
            tried = [e for e in events[: row["seq"]] if e["type"] == "call.started"]
            tried = [e["data"]["call"] for e in tried if e["data"]["step"] == row["data"]["step"]]
            assert turn["attempts"] == len(tried)
            assert turn["call"] in (tried or [None])  # a seat that is out was not asked
            if turn["value"] is not None:
                assert isinstance(turn["value"], dict)


def test_every_warning_stands_in_one_row_of_the_checks(figures):
    seen = set()
    for found in figures.values():
        warnings = [row for row in found["notes"] if row["severity"] != "info"]
        listed = [row for check in found["governance"] for row in check["notes"]]
        key = json.dumps
        assert sorted(map(key, warnings)) == sorted(map(key, listed))
        seen |= {row["code"] for row in warnings}
    notes = vocabulary.table("notes")
    assert seen == {code for code in get_args(NoteCode) if notes[code].keys() - {"info"}}


def test_rows_of_the_checks(figures):
    for found in figures.values():
        for row in found["governance"]:
            assert row["rule"].endswith(".")
            assert row["found"] or row["notes"] or row["code"] == "critic_rating"
            assert set(row["checks"]) <= vocabulary.checks().keys() - {1}
            assert row["review"] or not row["notes"]


def test_every_sentence_of_every_row_is_said(figures):
    said = defaultdict(set)
    for found in figures.values():
        for row in found["governance"]:
            said[row["code"]].add(row["found"])
    parts = {"ceiling", "rated", "sent_back", "good", "struck"}
    unsaid = [
        (code, variant)
        for code, row in vocabulary.governance().items()
        for variant, sentence in variants(row["found"])
        if variant not in parts and not any(map(pattern(sentence).fullmatch, said[code]))
    ]
    assert unsaid == []


def found_of(figures, code):
    """What a row says is found; None without the row."""
    return next((row["found"] for row in figures["governance"] if row["code"] == code), None)


def test_prompts_are_approved_only_where_a_policy_approves_them(figures):
    seen = set()
    for found in figures.values():
        codes = {row["code"] for row in found["notes"]}
        kind = "refused" if "refused" in codes else "policy" if "policy" in codes else "none"
        names = ["approved_prompts", "fixed_prompts"]
        (row,) = [row for row in found["governance"] if row["code"] in names]
        assert row["code"] == names["policy" not in codes]
        if kind == "refused":
            assert row["review"]
            assert re.fullmatch(r"the prompt for the role \w+ was not approved", row["found"])
        elif kind == "none":
            assert (row["checks"], row["found"]) == ([10], "no policy was named")
        else:
            assert row["checks"] == [3, 10]  # who approved them is as sure as the policy's signer
            assert (row["found"] == "no prompt yet") == (not found["calls"]["asked"])
        seen.add(kind)
    assert seen == {"refused", "policy", "none"}


def test_prompts_are_said_to_be_sent_only_where_it_is_known(records, figures):
    seen = set()
    for (name, at), found in figures.items():
        rows = [row["data"] for row in records[name][0][:at]]
        known = [row["sent_as_rendered"] for row in rows if "sent_as_rendered" in row]
        same, other = known.count(True), known.count(False)
        said = found_of(found, "sent_prompts")
        if other:
            assert said == "some calls sent something else"
        elif same:
            calls = found["calls"]["asked"]
            assert said.startswith(f"{same} of {calls} call")
            seen.add(same == calls)
        else:
            assert said is None
            seen.add(None)
    assert seen == {True, False, None}


def test_votes_are_counted_only_where_they_decided(figures):
    seen = set()
    for found in figures.values():
        if found["decision"]:
            said = found_of(found, "decision")
            assert (" needed)" in said) == found["decision_rule"].endswith("_vote")
            seen.add(found["decision_rule"])
    assert seen >= {"threshold_vote", "max_rounds_exhausted", "no_majority", "judge_verdict"}


def test_words_of_the_checks(records, figures):
    at_end = {name: figures[name, len(events)] for name, (events, _) in records.items()}
    found = at_end["eventful moderated"]
    assert found_of(found, "critic_rating") == (
        "in its own word, which is no measure: 7, 7 of 10; one rated 4 was sent back"
    )
    assert found_of(found, "citations") == (
        "7 of 12 citations found; arguments that rest on the others are struck"
    )
    assert found_of(at_end["eventful positions"], "citations") == (
        "1 of 1 citation found; critiques sent back because no quote of theirs was found: 2"
    )
    assert (
        found_of(found, "open_points")
        == "2 open points, 1 uncertainty, the moderator's own confidence high"
    )
    ended = [found_of(row, "outcome") for row in at_end.values()]
    assert {"not upheld", "go_or_not_upheld"} <= {*ended}


# Records that no debate gives


def huge(value):
    """A value with every count in it as high as a line admits."""
    if isinstance(value, dict):
        return {key: huge(item) for key, item in value.items()}
    if isinstance(value, list):
        return [huge(item) for item in value]
    return 2**53 - 1 if type(value) is int else value


def test_whatever_is_altered_there_are_figures(node, records):
    """Entries left out, doubled, moved, given another entry's values, or numbers past all sense."""
    asked = []
    draw = Random(1)
    for events, texts in records.values():
        rows = [*events]
        for _ in range(4):
            one, other = draw.randrange(len(rows)), draw.randrange(len(rows))
            common = sorted(rows[one]["data"].keys() & rows[other]["data"].keys())
            field = draw.choice(["move", "double", "leave", "huge", *common])
            if field == "move":
                rows[one], rows[other] = rows[other], rows[one]
            elif field == "double":
                rows[one] = rows[other]
            elif field == "leave" and len(rows) > 1:
                del rows[one]
            elif field == "huge":
                rows[one] = {**rows[one], "data": huge(rows[one]["data"])}
            elif field in common:
                value = rows[other]["data"][field]
                of_a_seat = {"model": str, "instructions": list}.get(field, object)
                if not isinstance(value, of_a_seat):
                    continue
                rows[one] = {**rows[one], "data": {**rows[one]["data"], field: value}}
        asked.append((rows, texts, [len(rows)]))
    for (rows, _, _), answer in zip(asked, figured(node, asked), strict=True):
        opened = any(row["type"] == "debate.opened" for row in rows)
        assert (answer["found"][0] is not None) == opened


def test_nothing_opened_has_no_figures(node):
    events, texts = eventful().record.events, eventful().record.texts
    answers = figured(node, [([], {}, [0]), (events[1:], texts, [len(events) - 1])])
    assert [row["found"] for row in answers] == [[None], [None]]


@pytest.mark.slow
def test_the_time_of_figures_grows_with_the_record(node):
    """Three debaters who never agree. Were it to grow with the square, it would be 100 times."""
    ends = votes(planner="release", critic="revise", operator="escalate")
    record = Debate(Setup(max_rounds=250), ends).run().record
    size = len(record.events)
    assert size > LONG
    (answer,) = figured(node, [(record.events, record.texts, [size // 10, size] * 10)])
    assert len(answer["found"][-1]["turns"]) == 3000
    short, long = min(answer["ms"][::2]), min(answer["ms"][1::2])
    print(f"\nfigures of {size:,} entries: {long:.0f} ms, {long / short:.1f} times a tenth of them")
    assert long < 40 * short
