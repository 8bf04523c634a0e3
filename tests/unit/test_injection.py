"""Hostile texts stay in their fence, and move nobody: not the prompts, the counts or the reports.

Every text that users, models and tools write is hostile here at once, and the
debate is compared with the same debate in which all of them are harmless.
"""

from __future__ import annotations

import asyncio
import io
import json
import re
from functools import cache, lru_cache
from itertools import pairwise

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

import hansard
from hansard.cli.console import document
from hansard.cli.live import View
from hansard.report.safe import shown
from hansard.rules.prompts import quote
from hostile import ALL_MARKS, CASES, HARMLESS, HOSTILE, ORDINARY, fields, replied
from playing import spec_of

UNORDERED = ("call.", "tool.", "turn.rejected")
LAYOUTS = ("shared-prefix", "role-first")
HASH = re.compile(r"[0-9a-f]{64}").fullmatch
ID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{8}")


class Played:
    """One debate with `text` everywhere: what was asked, recorded, reported and shown."""

    def __init__(self, case, layout, text):
        self.prompts = {}
        self.text = text
        self.shown = io.StringIO()
        format_ = CASES[case]
        spec = spec_of(format_, layout=layout, tools=["look"], **fields(case, text))
        with hansard.open_store("sqlite:///:memory:") as store:
            console = Console(file=self.shown, width=10**6, markup=False, emoji=False)
            with View(console) as view:
                running = hansard.run(
                    spec,
                    models={"bot": self._reply},
                    tools={"look": self._look},
                    store=store,
                    observe=view.observe,
                )
                self.result = asyncio.run(running)
            self.events = store.events(self.result.debate)
            self.verified = hansard.verify(store, self.result.debate)

    def _look(self, what: str) -> str:
        """Look something up."""
        return self.text

    def _reply(self, request):
        self.prompts[request.call] = request.messages
        return replied(request, self.text)

    @property
    def clear(self):
        """The clear fields of every event that do not count bytes or time.

        What threads give back comes in any order: it is sorted, behind what does not.
        """
        rows = [(event["type"], _clear(event["data"])) for event in self.events]
        ordered = [row for row in rows if not row[0].startswith(UNORDERED)]
        return [*ordered, *sorted((row for row in rows if row[0].startswith(UNORDERED)), key=str)]


def _clear(value):
    if isinstance(value, dict):
        if list(value) == ["sha256"]:
            return None
        kept = {k: v for k, v in value.items() if not k.startswith(("reserved_", "latency_"))}
        return {key: _clear(row) for key, row in kept.items()}
    if isinstance(value, list):
        return [_clear(row) for row in value]
    return None if isinstance(value, str) and HASH(value) else value


def outside(messages):
    """The lines that instruct a model, wherever it sees a line begin."""
    lines = [line for row in messages for line in row.text.splitlines()]
    return [line for line in lines if not line.startswith("| ")]


@cache
def harmless(case, layout):
    """The debate that all others of its kind are like."""
    return Played(case, layout, HARMLESS)


@lru_cache(maxsize=2 * len(CASES))  # as many as are played of one text
def hostile(case, layout, text):
    return Played(case, layout, text)


def inert(text):
    return shown(text) == text


@pytest.fixture(scope="module", params=HOSTILE)
def text(request):
    return HOSTILE[request.param]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", CASES)
def test_a_debate_is_unmoved_by_what_its_texts_say(case, layout, text):
    calm, debate = harmless(case, layout), hostile(case, layout, text)
    assert debate.verified.findings == []

    assert debate.prompts.keys() == calm.prompts.keys()
    for call, messages in debate.prompts.items():
        assert outside(messages) == outside(calm.prompts[call]), call
        whole = "".join(row.text for row in messages)
        assert quote(text) in whole
        assert inert(whole)
        assert not [mark for mark in ALL_MARKS if mark in whole]

    assert debate.clear == calm.clear
    assert debate.result.decision == calm.result.decision


@pytest.mark.parametrize("case", CASES)
def test_reports_and_the_terminal_show_it_as_words(case, text):
    calm, debate = harmless(case, LAYOUTS[0]), hostile(case, LAYOUTS[0], text)

    report = debate.result.to_report()
    assert inert(report)
    assert keys(report) == keys(calm.result.to_report())

    page, usual = debate.result.to_markdown(), calm.result.to_markdown()
    assert inert(page)
    assert not {"link_open", "image", "html_inline", "html_block"} & {r.type for r in tokens(page)}
    assert [*map(place, headings(page)[1:])] == [*map(place, headings(usual)[1:])]

    lines = [row.shown.getvalue().splitlines() for row in (debate, calm)]
    assert inert(debate.shown.getvalue())
    assert sorted(map(begin, lines[0])) == sorted(map(begin, lines[1]))  # threads came as they did

    held = json.loads("".join(document(debate.result)))
    assert held["question"] == text


def keys(report):
    return [line.partition(":")[0] for line in report.splitlines()]


def tokens(page):
    for token in MarkdownIt("commonmark").enable("table").parse(page):
        yield token
        yield from token.children or ()


def headings(page):
    """What stands in the headings of a page, its debate's id aside."""
    read = list(tokens(page))
    texts = [inner.content for outer, inner in pairwise(read) if outer.type == "heading_open"]
    return [ID.sub("ID", text) for text in texts]


def place(heading):
    """A heading without the stance in the user's words; the first one is the question."""
    return re.sub(r"^(Round \d+), .* (\([^()]*\): `[^`]*`)$", r"\1 \2", heading, flags=re.DOTALL)


def begin(line):
    return re.sub(r"\d+", "#", line.partition(":")[0]) if line.startswith("#") else line


@pytest.mark.parametrize("name", HOSTILE)
def test_json_output_is_inert_and_says_the_same(name):
    written = "".join(document({"text": HOSTILE[name]}))
    assert inert(written)
    assert json.loads(written) == {"text": HOSTILE[name]}


@pytest.mark.parametrize("mark", ALL_MARKS)
def test_a_chat_templates_marks_are_spelled_out(mark):
    for around in ("{}", "so{}so", "{0}{0}", "\n{}\n"):
        shown_ = quote(around.format(mark))
        assert mark not in shown_
        assert re.sub("<U\\+00(3C|5B)>", lambda row: chr(int(row[1], 16)), shown_) == "".join(
            f"| {line}\n" for line in around.format(mark).split("\n")
        )


@pytest.mark.parametrize("hidden", ["\u200b", "\u2060", "\x00", "\u202e", "\ufeff"])
def test_a_mark_with_something_unseen_in_it_is_none_once_that_is_spelled_out(hidden):
    for mark in ("<|im_start|>", "[INST]", "</s>"):
        for at in range(1, len(mark)):
            quoted = quote(mark[:at] + hidden + mark[at:])
            assert hidden not in quoted
            assert mark not in quoted


@pytest.mark.parametrize("prose", ORDINARY)
def test_ordinary_prose_and_code_are_quoted_as_they_are(prose):
    assert quote(prose) == f"| {prose}\n"
