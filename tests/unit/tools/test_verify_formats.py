"""The second verifier on debates of every format: it must say what the package says."""

import json
import random
import re
from itertools import chain
from pathlib import Path

import pytest

import altering
from exporting import both, exported, first, signed, tool
from hansard.report.safe import shown
from hansard.rules.replies import mismatch, words
from hansard.runtime.models.base import Completion, ModelError, ToolCall, Wire
from playing import MODEL, POSITIONS, answer, play, script, weak
from support import answered, argued

FORMAT = Path(__file__).resolve().parents[3] / "schemas" / "FORMAT.md"
EVIDENCE = [
    {"id": "memo", "text": "Payment is due within thirty days."},
    {"id": "plan", "text": "An hour.", "from_round": 2},
]
ARGUED = {
    "proposition": {
        "supporting_arguments": [argued(("memo", " thirty \n days ")), argued(("plan", "hour"))]
    },
    "critique:1": weak(4),
    "critique": {
        "counter_arguments": [argued(("memo", "due")), argued(("none", "x")), argued()],
        "challenge_strength": 7,
    },
    "rebuttal": {"rebuttals": [answered(1), answered(3, ("none", "x"))], "concessions": []},
    "moderation": {"upholds_proposition": True, "recommend_another_round": True},
}
CITED = {"require_cited_critique": True}
CITING = {
    "r1.critique": weak(7),
    "r2.critique:1": weak(4),
    "r2.critique": {"counter_arguments": [argued(("plan", "hour"))], "challenge_strength": 7},
    "moderation": {"recommend_another_round": True},
}
PRICES = {MODEL: {"input": "2", "cached": "1", "cache_write": "3", "output": "8"}}
SILENT = ModelError("no_reply")
TOLD = {"context": "As of May.", "instructions": "Be brief.", "evidence": EVIDENCE}


def troubled(request):
    """Use tools, fail, stammer, be cut off, and state what it used."""
    attempt = int(request.call.rpartition(":")[2])
    if request.round == 2 and request.speaker == "ann":
        raise ModelError("timeout")
    if attempt <= 1 + (request.speaker == "cat"):  # once, or once more than it may
        return Completion("", tool_calls=(ToolCall("look", "{}"), ToolCall("no name!", "?")))
    if attempt == 2 and request.speaker == "bob":
        return Completion("cut", finish="length", tokens_in=9, tokens_cached=4, tokens_out=1)
    reply = answer(request)
    text = reply if isinstance(reply, str) else f"```json\n{json.dumps(reply)}\n```"
    return Completion(text, tokens_in=300, tokens_out=90)


def vain(request):
    """Fail at first, in a way that may have been paid for; then state what it used."""
    if request.call.endswith(":1"):
        raise ModelError("server_error" if request.speaker == "ann" else "crashed")
    return Completion(answer(request), tokens_in=9, tokens_out=1)


def stubborn(request):
    """Fail, miss the schema, miss it otherwise, and count at last."""
    attempt = int(request.call.rpartition(":")[2])
    if attempt == 1:
        wire = Wire(503, "req 1", False, "{}")
        raise ModelError("timeout", "x", wire=wire)
    reply = answer(request)
    if attempt < 4 and not isinstance(reply, str):
        reply |= {min(reply): [1], "more": 1} if attempt == 2 else {min(reply): [1]}
    text = reply if isinstance(reply, str) else json.dumps(reply)
    text = " " if attempt == 2 and isinstance(reply, str) else text
    used = {"tokens_in": 9, "tokens_cached": 4, "tokens_cache_write": 8, "tokens_out": 1}
    return Completion(text, status=200, **used)


FIRST = TOLD | {"layout": "role-first", "attempts": 5, "prices": PRICES}
PLAYED = {
    "consensus": ("consensus", answer, TOLD | {"synthesizer": True}),
    "judged": ("judged", answer, TOLD | {"synthesizer": True, "anonymize_transcript": False}),
    "judged, shuffled": ("judged", answer, {"shuffle_for_judge": True, "max_rounds": 3}),
    "judged, undeclared": ("judged", script({"judge": {"winner": "a tie"}}), {}),
    "judged, custom": (
        "judged",
        script({"judge": {"winner": "a tie"}}),
        {"judge": {"model": "custom:bot"}, "context": "As of May."},
    ),
    "judged, unreadable": ("judged", script({"judge": {"winner": "a tie", "reasoning": ""}}), {}),
    "moderated": (
        "moderated",
        script(ARGUED),
        {"evidence": EVIDENCE, "neutrality_check": True, "max_rounds": 2},
    ),
    "moderated, unsupported": (
        "moderated",
        script(
            {
                "proposition": {"supporting_arguments": [argued(("none", "x"))]},
                "moderation": {"upholds_proposition": True},
            }
        ),
        {},
    ),
    "moderated, cited": (
        "moderated",
        script(CITING),
        {"evidence": EVIDENCE, "max_rounds": 2, "require_cited_critique": True},
    ),
    "moderated, cited too late": (
        "moderated",
        script(CITING),
        {"evidence": EVIDENCE[1:], "max_rounds": 2, "require_cited_critique": True},
    ),
    "moderated, a list": (
        "moderated",
        script({"synthesis": "[null]"}),
        {"output_schema": {"type": "array"}, "evidence": EVIDENCE[:1], **CITED},
    ),
    "moderated, nothing": (
        "moderated",
        script({"synthesis": "null"}),
        {"output_schema": {"type": ["null", "object"]}},
    ),
    "moderated, unseen": ("moderated", script({"critique:1": {"thesis": "\u200b\xa0"}}), {}),
    "moderated, positions": ("moderated", answer, {"positions": POSITIONS}),
    "moderated, unopposed": ("moderated", answer, {"positions": POSITIONS, "critique": False}),
    "panel": ("panel", answer, TOLD | {"rounds": 2}),
    "panel, a judge": ("panel", answer, {"judge": {}, "convergence_similarity": 1}),
    "panel, whole": ("panel", answer, {"convergence_similarity": 1}),
    "panel, a minority": (
        "panel",
        script({"ann": "So.", "bob": "So.", "cat": SILENT, "dan": SILENT}),
        {"debaters": [{"id": name} for name in ("ann", "bob", "cat", "dan")]},
    ),
    "panel, a minority of options": (
        "panel",
        script({"cat": SILENT, "dan": SILENT}),
        {
            "debaters": [{"id": name} for name in ("ann", "bob", "cat", "dan")],
            "options": ["yes", "no"],
        },
    ),
    "panel, negated": (
        "panel",
        script(
            {"ann": "We should do it.", "bob": "We should do it.", "cat": "We should not do it."}
        ),
        {"convergence_similarity": 0.5},
    ),
    "panel, picked": ("panel", answer, {"judge": {}, "resolution": "pick"}),
    "panel, options": ("panel", script({"cat": {"choice": "no"}}), {"options": ["yes", "no"]}),
    "panel, of texts": (
        "panel",
        script({"cat": "No, it isn't!", "bob": " no it isn’t!"}),
        {"resolution": "majority", "convergence_check": False},
    ),
    "baseline": ("baseline", answer, {}),
    "baseline, options": (
        "baseline",
        script({"draw-2": {"choice": "no"}, "draw-4": SILENT}),
        {"draws": 4, "options": ["yes", "no"], "synthesizer": True},
    ),
    "troubled": (
        "panel",
        troubled,
        {"tools": ["look"], "tool_rounds": 1, "attempts": 3, "rounds": 2, "prices": PRICES},
    ),
    "role first": ("consensus", stubborn, FIRST | {"synthesizer": True}),
    "role first, judged": (
        "judged",
        stubborn,
        FIRST | {"synthesizer": True, "judge": {"model": "custom:bot", "persona": "No."}},
    ),
    "role first, moderated": (
        "moderated",
        script(ARGUED),
        FIRST | {"neutrality_check": True, "max_rounds": 2},
    ),
    "role first, tools": (
        "panel",
        troubled,
        FIRST | {"tools": ["look"], "tool_rounds": 1, "attempts": 3, "rounds": 2},
    ),
    "paid in vain": ("judged", vain, {"limits": {"tokens": 20_000}}),
    "calls": ("panel", answer, {"limits": {"calls": 4}}),
    "seconds": ("judged", answer, {"limits": {"seconds": 1e-6}}),
    "failed": ("moderated", script({"moderator": ModelError("no_reply")}), {}),
}


@pytest.fixture(scope="module")
def records():
    """The records, each made when it is first asked for."""
    made = {}

    def record(name):
        if name not in made:
            format_, model, changes = PLAYED[name]
            tools = {"look": lambda: "it"} if "tools" in changes else None
            made[name] = play(format_, model, use=tools, **changes)
        return made[name]

    return record


def replies(bundle):
    """The names of the blobs of all replies, in order."""
    return [row["data"]["reply"]["sha256"] for row in rows(bundle, "call.answered")]


def rows(bundle, kind):
    return [event for event in altering.events_of(bundle) if event["type"] == kind]


def without(bundle, blobs):
    """The export of a record from which these texts are withheld."""
    names = {f"blobs/{name}": "private" for name in blobs}
    files = exported(bundle)
    return signed({name: files[name] for name in files.keys() - names}, withheld=names)


def changed(bundle, kind, path, value, which=0):
    """The record with one field of the n-th event of a type changed, and its place."""
    event = rows(bundle, kind)[which]
    target, (*above, last) = event["data"], path.split(".")
    for name in above:
        target = target[name]
    assert target[last] != value, "a change changes"
    target[last] = value
    return altering.chained_anew(bundle, event["seq"], event), event["seq"]


@pytest.mark.parametrize("name", PLAYED)
def test_a_genuine_record_is_intact(records, name):
    found = both(exported(records(name)))
    assert found.verdict == "INTACT"
    assert {row.status for row in found.checks} == {"pass"}


@pytest.mark.parametrize("name", PLAYED)
def test_altered_records_are_read_alike(records, name):
    """Any field of any line: a sample, the same each time."""
    bundle, chance = records(name), random.Random(name)
    places = range(1, len(bundle.lines) + 1)
    for seq in chance.sample(places, min(16, len(places))):
        change = chance.choice([*altering.changes(bundle, seq)])
        both(exported(altering.chained_anew(bundle, seq, change.event)))


@pytest.mark.parametrize("name", PLAYED)
def test_records_with_lines_too_many_or_too_few_are_read_alike(records, name):
    bundle, chance = records(name), random.Random(name)
    for _ in range(4):
        lines = list(bundle.lines)
        at = chance.randrange(1, len(lines))
        for altered in (
            [*lines[:at], *lines[at + 1 :]],
            [*lines[:at], lines[at], *lines[at:]],
            [*lines[: at - 1], lines[at], lines[at - 1], *lines[at + 1 :]],
        ):
            both(exported(altering.numbered_anew(bundle, altered)))


@pytest.mark.parametrize("name", PLAYED)
def test_withheld_replies_are_said_and_nothing_rests_on_them_unseen(records, name):
    bundle = records(name)
    found = both(without(bundle, replies(bundle)))
    assert found.verdict == "INTACT"
    turns = len(rows(bundle, "turn.recorded") + rows(bundle, "verdict.recorded"))
    unread = [row for row in found.caveats if re.search(r" turns? unchecked$", row)]
    assert [row.partition(" of ")[0] for row in unread] == [str(turns)] * bool(turns)
    for blob in replies(bundle)[::3]:
        assert both(without(bundle, [blob])).verdict == "INTACT"


def test_a_withheld_document_leaves_citations_unchecked(records):
    bundle = records("moderated")
    memo = rows(bundle, "evidence.admitted")[0]["data"]["text"]["sha256"]
    found = both(without(bundle, [memo]))
    assert found.verdict == "INTACT"
    assert {row.number for row in found.checks if row.status == "unchecked"} == {12, 13, 16}


UNSAYABLE = [
    ("consensus", "turn.recorded", "vote", "abstain", 0),
    ("judged", "verdict.recorded", "winner", "judge", 0),
    ("judged", "verdict.recorded", "undeclared", True, 0),
    ("moderated", "turn.recorded", "case", {"arguments": 1}, 0),
    ("moderated", "turn.recorded", "case", None, 1),
    ("moderated", "turn.recorded", "case.arguments", 2**53 - 1, 2),
    ("moderated", "turn.recorded", "case.arguments", 101, 1),
    ("moderated", "turn.recorded", "case.arguments", 0, 1),
    ("moderated", "turn.recorded", "case.struck", [1, 1], 2),
    ("moderated", "turn.recorded", "case.struck", [2**53 - 1], 2),
    ("moderated", "turn.rejected", "rating", None, 0),
    ("moderated", "turn.rejected", "rating", 6, 0),
    ("moderated", "verdict.recorded", "winner", "proposer", 0),
    ("moderated", "verdict.recorded", "upholds", None, 0),
    ("moderated", "verdict.recorded", "another_round", None, 0),
    ("moderated, positions", "verdict.recorded", "ranking", ["p1", "p1", "p2"], 0),
    ("panel, picked", "verdict.recorded", "winner", None, 0),
    ("panel, options", "turn.recorded", "vote", None, 0),
    ("panel", "similarity.measured", "pairs", [], 0),
    ("panel, of texts", "votes.counted", "tally", [{"option": "dan", "votes": 3}], 0),
    ("baseline", "turn.recorded", "vote", "yes", 0),
    ("baseline, options", "turn.recorded", "vote", None, 0),
]


@pytest.mark.parametrize("change", UNSAYABLE, ids=[" ".join(map(str, row)) for row in UNSAYABLE])
def test_what_no_reply_could_say_is_not_due_though_it_is_gone(records, change):
    name, *what = change
    bundle, seq = changed(records(name), *what)
    found = both(without(bundle, replies(bundle)))
    assert first(found) in {("9.not_due", seq), ("7.schema", seq)}


SAYABLE = [
    ("consensus", "turn.recorded", "vote", "revise", 0),
    ("judged", "verdict.recorded", "winner", "bob", 0),
    ("moderated", "turn.recorded", "case.struck", [1], 2),
    ("moderated", "verdict.recorded", "upholds", False, 1),
    ("panel, picked", "verdict.recorded", "winner", "bob", 0),
    ("baseline, options", "turn.recorded", "vote", "no", 0),
]


@pytest.mark.parametrize("change", SAYABLE, ids=[" ".join(map(str, row)) for row in SAYABLE])
def test_what_another_reply_could_say_is_taken_as_recorded(records, change):
    name, kind, path, value, which = change
    bundle, seq = changed(records(name), kind, path, value, which)
    found = both(without(bundle, replies(bundle)))
    assert not [row for row in found.findings if row.seq <= seq]
    assert found.caveats[-1].endswith("turns unchecked")


@pytest.mark.parametrize(
    ("name", "winner"), [("judged", "bob"), ("panel, picked", "bob"), ("panel, picked", "ann")]
)
def test_a_winner_who_never_spoke_is_no_decision(name, winner):
    format_, _, changes = PLAYED[name]
    named = "wait" if format_ == "judged" else winner
    silent = {winner: ModelError("client_error"), "judge": {"winner": named}}
    seats = [
        {"id": "ann", "label": "ship", "stance": "Now."},
        {"id": "bob", "label": "wait", "stance": "Later."},
        {"id": "cat", "label": "stop", "stance": "Never."},
    ]
    more = {"debaters": seats} if format_ == "judged" else {}
    bundle = play(format_, script(silent), **changes | more)
    assert both(exported(bundle)).verdict == "INTACT"
    decision = rows(bundle, "decision.reached")[0]["data"]
    assert (decision["decision"], decision["rule"]) == ("escalate", "too_few_heard")


def test_the_first_price_of_a_model_counts(records):
    bundle = records("troubled")
    event = rows(bundle, "debate.opened")[0]
    [price] = event["data"]["prices"]
    for prices, good in (([price, other := price | {"output_micro_usd": 1}], True),
                         ([other, price], False)):  # fmt: skip
        event["data"]["prices"] = prices
        found = both(exported(altering.chained_anew(bundle, 1, event)))
        assert (not found.findings) is good


def test_a_step_waits_for_its_tools(records):
    bundle = records("troubled")
    for event in rows(bundle, "tool.returned"):
        lines = [*bundle.lines[: event["seq"] - 1], *bundle.lines[event["seq"] :]]
        found = both(exported(altering.numbered_anew(bundle, lines)))
        assert "9.not_due" in {row.code for row in found.findings}


def test_days_that_no_month_has_are_still_times(records):
    """The form of `at` admits them; what is spent at them must be a number."""
    bundle = records("seconds")
    for at in ("0000-02-31T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z"):
        event = rows(bundle, "debate.truncated")[0]
        event["at"] = at
        both(exported(altering.chained_anew(bundle, event["seq"], event)))


# -- its own pieces


SCHEMA = tool.record(
    {
        "why": tool.TEXT,
        "vote": tool.one_of(["a", "b"]),
        "rank": tool.several(1, 2, tool.whole(1, 3)),
        "who": {"enum": ["x", None], "type": ["string", "null"]},
        "more": tool.TRUTH,
        "rows": tool.several(0, 9, tool.record({"a": tool.TRUTH})),
    }
)
GOOD = {"why": "w", "vote": "a", "rank": [1], "who": None, "more": False, "rows": []}


@pytest.mark.parametrize(
    ("value", "missed"),
    [
        (GOOD, None),
        ([], (None, "type")),
        ({"vote": "c"}, ("why", "required")),
        (GOOD | {"z": 1, "why": 1}, (None, "additionalProperties")),
        (GOOD | {"why": "", "vote": "c"}, ("why", "minLength")),
        (GOOD | {"why": "\u2003\ufeff", "vote": "c"}, ("why", "minLength")),
        (GOOD | {"why": "\u2004."}, None),
        (GOOD | {"vote": "c", "rank": []}, ("vote", "enum")),
        (GOOD | {"rank": []}, ("rank", "minItems")),
        (GOOD | {"rank": [1, 1, "x"]}, ("rank", "minItems")),
        (GOOD | {"rank": [0]}, ("0", "minimum")),
        (GOOD | {"rank": [3, 4]}, ("1", "minimum")),
        (GOOD | {"rank": [1.0]}, ("0", "type")),
        (GOOD | {"rank": [True]}, ("0", "type")),
        (GOOD | {"who": "y"}, ("who", "enum")),
        (GOOD | {"who": 1}, ("who", "type")),
        (GOOD | {"more": 0}, ("more", "type")),
        (GOOD | {"more": None, "who": "y"}, ("who", "enum")),
        (GOOD | {"rows": [{"a": True}, {}]}, ("a", "required")),
        (GOOD | {"rows": [{"a": True, "b": 1}]}, (None, "additionalProperties")),
        (GOOD | {"rows": [{"a": True}, {"a": 0}]}, ("a", "type")),
        (GOOD | {"rows": [{"a": True}, 7]}, ("1", "type")),
    ],
)
def test_the_first_member_and_keyword_that_fail_decide(value, missed):
    assert tool.misfit(value, SCHEMA) == missed
    assert mismatch(value, SCHEMA) == (missed and (missed[0] or "", missed[1]))


@pytest.mark.parametrize(
    ("text", "schema", "read"),
    [
        (" \n words ```\x0b", tool.TEXT, (None, "words ```")),
        ("```\nx\n```", tool.TEXT, (None, "```\nx\n```")),
        (" \t", tool.TEXT, (("schema", None, "minLength"), "")),
        ("\xa0\u200b", tool.TEXT, (("schema", None, "minLength"), "\xa0\u200b")),
        ("```json\n[1]\n```", {}, (None, [1])),
        ("```JSON\n[1]\n```", {}, (("unreadable", None, None), None)),
        ("null", {}, (None, None)),
    ],
)
def test_a_reply_is_read_as_its_role_asks(text, schema, read):
    assert tool.read_reply(text, schema, "openai:m") == read


def test_every_character_is_seen_and_shown_as_the_package_does():
    """Every one of the planes that have signs of their own, and a sample of the others."""
    planes = (
        range(plane << 16, (plane + 1) << 16, 1 if plane in (0, 1, 14) else 257)
        for plane in range(17)
    )
    for char in map(chr, chain(*planes)):
        seen = mismatch(char, words()) is None
        assert bool(tool.VISIBLE.search(char)) is seen, ascii(char)
        if char in "\t\n" or "\ud800" <= char <= "\udfff":  # the package shows them by other means
            assert tool.ACTING.search(char)
        else:
            for text in (char, f"a{char}"):
                assert tool.inert(text) == shown(text), ascii(text)


@pytest.mark.parametrize("option", ["synthesis", "ann", "bob"])
def test_no_option_of_a_panel_names_another_outcome(option):
    terms = {"format": "panel", "labels": ["ann", "bob"], "options": ["yes", "no"]}
    panel = tool.FORMATS["panel"]
    assert panel(terms).sound()
    assert not panel(terms | {"options": ["yes", option]}).sound()


def test_words_are_split_and_folded_as_the_format_says():
    spoken = "Don’t DO\u00a0it—“don't”, İstanbul_2 É!"
    words = tool.WORD.findall(spoken.translate(tool.PLAIN))
    assert words == ["dont", "do", "it", "dont", "İstanbul", "2", "É"]
    assert sum(word in tool.NEGATIONS for word in words) == 2
    stated = re.search(r"counted with repeats: ([a-z, ]+)\.", FORMAT.read_text("utf-8"))
    assert set(stated[1].split(", ")) == tool.NEGATIONS
    assert tool.folded("\u3000a \u2028\tb\x1cc\x85\r") == "a b\x1cc\x85"


@pytest.mark.parametrize(
    ("one", "other", "seconds"),
    [
        ("2024-02-28T23:59:59.000000Z", "2024-03-01T00:00:00.000000Z", 86_401),
        ("1999-12-31T23:59:59.500000Z", "2000-01-01T00:00:00.000000Z", 0.5),
        ("1600-01-01T00:00:00.000000Z", "2000-01-01T00:00:00.000000Z", 146_097 * 86_400),
        ("2023-02-31T00:00:00.000000Z", "2023-03-03T00:00:00.000000Z", 0),
        ("0000-12-31T00:00:00.000000Z", "0001-01-01T00:00:00.000000Z", 86_400),
    ],
)
def test_times_differ_as_in_the_gregorian_calendar(one, other, seconds):
    assert tool.instant(other) - tool.instant(one) == seconds * 1_000_000
