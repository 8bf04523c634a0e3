"""Whatever a text says, wherever it stands: it stays in its fence."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from formats import FORMATS, PLAYED
from hansard.rules.prompts import as_points, quote, spell_out
from hostile import ALL_MARKS, HOSTILE, filled
from support import Debate, Reply, Setup, example, prompts, script

PIECES = [
    *ALL_MARKS,
    *[row for row in HOSTILE.values() if len(row) < 1000],
    *("\n", "| ", "|", "[planner, round 1, proposal]", "[evidence memo]", "{{speaker}}", "<", "["),
    *("\r", "\u2028", "\x85", "\u202e", "\u200b", "\x1b[2J", "{", "}", '"', "```"),
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=20), max_size=8).map("".join)
JSON = st.recursive(
    TEXTS | st.integers(0, 9) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
SPELLED = re.compile("<U\\+([0-9A-F]{4,6})>")


@given(TEXTS)
def test_a_quoted_text_is_fenced_inert_and_complete(text):
    quoted = quote(text)
    assert all(line.startswith("| ") for line in quoted.splitlines())
    lines = re.split("[\n\f]", text)  # a page break becomes a line end
    assert len(quoted.splitlines()) == len(lines)
    assert spell_out(quoted) == quoted
    assert not [mark for mark in ALL_MARKS if mark in quoted]
    if not SPELLED.search(text):
        said = SPELLED.sub(lambda found: chr(int(found[1], 16)), quoted)
        assert said == "".join(f"| {line}\n" for line in lines)


@given(st.dictionaries(TEXTS, JSON, max_size=4))
def test_points_of_any_reply_are_fenced_and_inert(value):
    quoted = quote(as_points(json.dumps(value), [1], {"type": "object"}))
    assert all(line.startswith("| ") for line in quoted.splitlines())
    assert spell_out(quoted) == quoted
    assert not [mark for mark in ALL_MARKS if mark in quoted]


def seated(format_, text):
    """What a format's seats are given, all of it `text`."""
    told = {key: row for key, row in PLAYED[format_].told(text).items() if key != "evidence"}
    return told | {"synthesizer": True}


def skeletons(format_, layout, text):
    """The lines of every prompt that are no quoted matter, in a debate full of `text`."""
    text = f"so {text}"  # a reply says something

    def reply(call):
        if call.attempt == 1:
            asked = json.dumps({"what": text})
            return Reply(text, tools=[("lookup", asked), ("lookup", text)])
        if call.schema["type"] == "string":
            return Reply(text)
        return Reply(json.dumps(filled(example(call.schema), text)))

    setup = Setup(
        format_,
        question=text,
        context=text,
        evidence=(("memo", text, 1),),
        layout=layout,
        tools=["lookup"],
        tool_rounds=1,
        **seated(format_, text),
    )
    found = prompts(Debate(setup, script(usual=reply)).run())
    return {
        call: [
            line
            for message in rows.values()
            for line in message.splitlines()
            if not line.startswith("| ")
        ]
        for call, rows in found.items()
    }


@pytest.mark.parametrize("layout", ["shared-prefix", "role-first"])
@pytest.mark.parametrize("format_", FORMATS)
def test_no_text_adds_a_line_to_any_prompt_or_a_call_to_any_debate(format_, layout):
    usual = skeletons(format_, layout, "")

    @settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(TEXTS)
    def check(text):
        assert skeletons(format_, layout, text) == usual

    check()
