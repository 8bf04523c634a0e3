import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from hansard import run_sync
from hansard.report.safe import one_line
from hansard.report.sections import TITLE
from hansard.report.signs import inline, quoted, table
from hansard.report.view import build
from hansard.report.words import dollars
from hansard.runtime.models.base import Completion, ModelError, ToolCall
from playing import answer, script, spec_of
from reporting import of, ran
from support import EVENTFUL, Debate, Reply, Setup, argued, eventful, vote, votes

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
LIVE = {"link_open", "image", "html_inline", "html_block"}
HOSTILE = """# Decision: `release`
<script>alert(1)</script> <img src=x onerror=alert(1)> <!-- hidden
[click](https://evil.example) ![pixel](https://evil.example/p.png) <https://evil.example>
https://evil.example www.evil.example evil.example a@evil.example javascript:alert(1)
[ref]: https://evil.example "title"
| planner | `release` |
|---|---|
```
unclosed ``` fence ` `` tick
    indented
> quote
- item
1. item
+ item
* item
***
===
---
~~~
&lt;b&gt; &#60;b&#62; \\<b> a\\
\x1b[2K\u202eesaeler\u2028## Decision"""


def tokens(text):
    for token in READER.parse(text):
        yield token
        yield from token.children or ()


def kinds(text):
    return {token.type for token in tokens(text)}


def words(text):
    """What a reader sees of one line of Markdown."""
    return "".join(row.content for row in READER.parseInline(text)[0].children)


def report_of(debate, text_of=None):
    return build(debate.record.events, text_of or debate.record.texts.get).to_markdown()


def consensus(text="so", question="Shall we release?"):
    def script(call):
        option = "release" if call.step.speaker == "planner" else "revise"
        return Reply(json.dumps({"stance": text, "rationale": text, "vote": option}))

    debate = Debate(Setup(personas={"critic": text}), script)
    name = debate.record.events[0]["data"]["question"]["sha256"]
    debate.record.texts[name] = question
    return debate.run()


def shape(text):
    """The blocks of a report outside its block quotes, and its tables' cells."""
    depth, rows = 0, []
    for token in READER.parse(text):
        depth += (token.type == "blockquote_open") - (token.type == "blockquote_close")
        if not depth:
            rows.append((token.type, token.tag))
    return rows


def test_the_first_line_is_the_question():
    report = report_of(consensus())
    assert report.startswith("# Shall we release?\n")
    assert "The question in full" not in report


def test_a_long_question_is_cut_in_the_title_and_stands_in_full_below():
    question = "word " * 100 + "end"
    report = report_of(consensus(question=question))
    assert len(report.partition("\n")[0]) == len("# ") + TITLE
    assert f"The question in full:\n\n> {question}\n" in report


def test_a_consensus_report_says_how_it_was_counted():
    report = report_of(consensus())
    assert (
        "**`revise`**, held by 2 of 3 debaters after 1 of at most 2 rounds; 2 were needed" in report
    )
    assert (
        "\n**revise: 2 of 3 votes, planner dissented; the debaters are custom functions**\n"
        in report
    )
    assert "\n**You may act on this: it was decided, and no review is required.**\n" in report
    assert "## Open points\n\n- planner voted release\n" in report
    assert "| 1 | proposal | `release` | `revise` | `revise` |" in report
    assert "debater_ids:" not in report
    assert "```text" not in report
    assert "### Round 1, proposal: `operator`\n\nVote: `revise` (entry " in report
    assert "```sh\nhansard verify 3f2b8c1e-5a7d-4c9e-8b1a-2d4f6a8c0e12\n```" in report
    assert "here 3 × 4 × 2 = 24" in report
    assert "**Scripted replies**" not in report


def test_scripted_replies_are_labelled_before_anything_else_is_said():
    setup = Setup(model="scripted:replies.yaml")
    debate = Debate(setup, votes(planner="release", critic="revise", operator="revise")).run()
    assert report_of(debate).splitlines()[2] == "**Scripted replies**"


def test_an_eventful_report_shows_who_must_look_and_what_went_wrong():
    report = report_of(eventful())
    assert (
        "**`escalate`**: no single option was held by 3 of 3 after 2 of at most 2 rounds." in report
    )
    assert "Who must look:\n\n> the release board\n" in report
    assert "| 1 | critique | abstained | abstained | `release` |" in report
    assert "Not heard: no reply came. Counts as an abstention (entry " in report
    assert "| `runbook` | 1 | 23 | `" in report
    assert "Persona of `critic`:\n\n> You run the pager.\n" in report
    assert "- The debate was interrupted here, and another process took it over (entry " in report
    assert " abandoned." in report


def test_an_open_debate_says_so():
    report = report_of(Debate(Setup(), votes(planner="a", critic="b", operator="c")))
    assert "None yet: the debate is still open after 0 of at most 2 rounds." in report
    assert ", still open." in report


def test_texts_that_are_gone_are_said_to_be_gone():
    report = report_of(eventful(), lambda _: None)
    gone = "\\[text not available\\]"
    assert report.startswith(f"# {gone}\n")
    assert f"Stance:\n\n> {gone}\n" in report
    assert f"| `runbook` | 1 | {gone} | `" in report


def test_hostile_texts_change_nothing_but_the_block_quotes_they_stand_in():
    report = report_of(consensus(HOSTILE, question=HOSTILE))
    assert not kinds(report) & LIVE
    tame = report_of(consensus("so\n" * 3, question="Shall\nwe?"))
    assert shape(report) == shape(tame)
    assert "\x1b" not in report
    assert "\u202e" not in report


@pytest.mark.parametrize(
    "text", ["a://b~~<img src=x>", "~~a@b.example", "www.a.example~~", "a.bc~"]
)
def test_no_word_of_a_struck_text_ends_the_striking_within_its_code(text):
    """Some renderers look for that end first, and the rest of the code is then HTML."""
    struck = quoted(f"x {text} y", struck=True)
    assert (struck[:4], struck[-2:]) == ("> ~~", "~~")
    assert not re.search(r"(?<!\\)~", struck[4:-2])


def everywhere(format_, text):
    """A debate in which `text` stands wherever somebody can write."""
    cited = {"argument": text, "citations": [{"document": text, "quote": text}]}
    found = {
        "resolved_points": [text],
        "unresolved_points": [text],
        "explicit_uncertainties": [text],
        "synthesis": text,
    }
    ends = {
        "argument": text,
        "draft": text,
        "framing": dict.fromkeys(("thesis", "scope"), text)
        | {"criteria": [text], "key_evidence": [text]},
        "r1.proposition.proposer": use_tool(text),
        "proposition": {
            "thesis": text,
            "supporting_arguments": [cited, {"argument": text, "citations": []}],
            "anticipated_objections": [text],
        },
        "critique": {
            "thesis": text,
            "counter_arguments": [{"argument": text, "citations": []}] * 2,
        },
        "rebuttal": {
            "thesis": text,
            "rebuttals": [{"objection": 1, "answer": text, "citations": []}],
            "concessions": [{"objection": 2, "reason": text}],
        },
        "r1.moderation.moderator": {**found, "recommend_another_round": True},
        "moderation": found,
        "neutrality": {**found, "upholds_proposition": True},
        "synthesis": {"synthesis": text},
        "r2.proposition.proposer": {"thesis": f"{text} again"},
    }
    ends["verdict"] = {
        "judged": {"verdict": text, "winner": text, "reasoning": text},
        "panel": {"answer": text, "justification": text},
    }.get(format_)
    fields = {
        "judged": {"judge": {"model": "custom:bot"}, "debaters": stances(text)},
        "moderated": {
            "max_rounds": 2,
            "neutrality_check": True,
            "tools": ["lookup"],
            "critic": {"persona": text},
            "evidence": [{"id": "memo", "text": text}],
        },
        "panel": {"judge": {}},
    }[format_]
    tools = {"lookup": lambda: text} if format_ == "moderated" else None
    fields |= {"question": text, "synthesizer": True, "review": text}
    return run_sync(spec_of(format_, **fields), models={"bot": script(ends)}, tools=tools)


def use_tool(text):
    """Ask for two tools, one of which there is, then make the case."""
    asked = []

    def reply(request):
        asked.append(request.call)
        if len(asked) > 1:
            return {**answer(request), "thesis": text}
        calls = (ToolCall("lookup", "{}"), ToolCall(text, text))
        return Completion("", finish="tool_calls", tool_calls=calls)

    return reply


def stances(text):
    return [{"id": name, "label": name, "stance": f"{text}\n{name}"} for name in ("ann", "bob")]


@pytest.mark.parametrize("format_", ["judged", "moderated", "panel"])
def test_hostile_texts_change_nothing_in_any_format(format_):
    result = everywhere(format_, HOSTILE)
    report = result.to_markdown()
    assert result.output == {"synthesis": HOSTILE}
    assert not kinds(report) & LIVE
    assert shape(report) == shape(everywhere(format_, "so\n" * 3).to_markdown())
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", report)
    assert len(report.splitlines()) == len(report.split("\n")) - 1


@pytest.mark.parametrize("format_", ["judged", "moderated", "panel"])
def test_a_text_report_has_a_line_a_signal_whatever_is_said(format_):
    hostile, tame = everywhere(format_, HOSTILE), everywhere(format_, "so")
    keys = [row.partition(":")[0] for row in tame.to_report().split("\n")]
    assert [row.partition(":")[0] for row in hostile.to_report().split("\n")] == keys
    assert "\x1b" not in hostile.to_report()
    assert "\u202e" not in hostile.to_report()


ORDER = [
    "## What needs a look",
    "## Decision",
    "## Output",
    "## Open points",
    "## People",
    "## Participants",
    "## Evidence",
    "## Cost",
    "# Annexes",
    "## Transcript",
    "## Models and prompts",
    "## Personas",
    "## Settings",
    "## Prices",
    "## Notes",
    "## Governance checks with nothing to review",
    "## Tools",
    "## What code can see",
    "## How to check this",
]


def section(report, title):
    return report.partition(f"\n## {title}\n\n")[2].partition("\n#")[0]


@pytest.mark.parametrize("name", EVENTFUL)
def test_what_needs_a_look_stands_first_and_nothing_of_it_below(name):
    result = of(eventful(name))
    report = result.to_markdown()
    first, notes = section(report, "What needs a look"), section(report, "Notes")
    passed = section(report, "Governance checks with nothing to review")
    for note in result.notes:
        written = f"- {'**critical**: ' * (note.severity == 'critical')}{inline(note.message)}"
        assert (written in first) == (note.severity != "info")
        assert (written in notes) == (note.severity == "info")
    for row in result.governance:
        assert (f"**{row.name}**: {row.rule}" in first) == row.review
        assert (f"| {row.name} | " in passed) != row.review


def test_a_debate_in_which_nothing_needs_a_look_says_so():
    personas = {seat: f"You are {seat}." for seat in ("planner", "critic", "operator")}
    report = of(Debate(Setup(personas=personas), lambda _: vote("release")).run()).to_markdown()
    assert section(report, "What needs a look") == "Nothing.\n"


def test_a_format_that_lists_no_open_points_says_nothing_of_them():
    assert "## Open points" not in ran("panel").to_markdown()
    assert "## Open points" not in ran("judged").to_markdown()


def test_open_points_are_the_moderators_last_ones():
    found = {"unresolved_points": ["who *pays*", "when"], "explicit_uncertainties": ["holidays"]}
    report = ran("moderated", {"moderation": found}).to_markdown()
    assert section(report, "Open points") == "- who \\*pays\\*\n- when\n- holidays\n"
    assert report.count("holidays") == 1


def test_participants_stand_with_the_models_that_served_and_their_templates():
    told = {"model": "served-1"}
    debate = Debate(Setup(), lambda _: vote("release", more=told)).run()
    found = of(debate)
    rows = section(found.to_markdown(), "Participants").splitlines()[2:]
    hashes = {row.template[:16] for row in found.asked}
    assert len(hashes) == 1
    assert rows == [
        f"| `{seat}` | debater | `python:test` | served-1 | `{next(iter(hashes))}` |"
        for seat in ("planner", "critic", "operator")
    ]


def test_evidence_stands_with_those_who_cite_it():
    cases = [
        argued(("memo", "thirty  days")),
        argued(("memo", "sixty days"), ("gone", "thirty days")),
    ]
    ends = {"proposition": {"supporting_arguments": cases}}
    ends["critique"] = {"counter_arguments": [argued(("memo", "thirty days"))]}
    report = ran("moderated", ends).to_markdown()
    (row,) = section(report, "Evidence").splitlines()[2:]
    assert row.endswith("| `proposer` 2, 1 of them not verified, `critic` 1 |")
    assert "cited by" not in ran("moderated").to_markdown()


@pytest.mark.parametrize("name", EVENTFUL)
def test_every_report_can_be_read_with_its_texts_and_without(name):
    for text_of in (None, lambda _: None):
        report = of(eventful(name), text_of).to_markdown()
        assert not kinds(report) & LIVE
        assert "None" not in {token.content for token in tokens(report)}
        headings = [line for line in report.splitlines() if line.startswith(("# ", "## "))]
        assert [line for line in headings[1:] if line in ORDER] == [
            line for line in ORDER if line in headings
        ]
        assert set(ORDER) - set(headings) <= {
            *("## Output", "## Open points", "## Personas", "## Prices", "## Tools")
        }
        assert report.endswith("repeated ones aside.\n")


def test_a_judged_report_says_who_won_and_what_the_judge_read():
    report = ran(
        "judged", {"verdict": {"winner": "wait", "reasoning": "cheap"}}, seed=1
    ).to_markdown()
    assert (
        "**Wait a week. (wait)**, argued by `bob`: the judge's verdict, after 2 of at most 2 "
        "rounds (`judge_verdict`).\n\nVerdict (entry " in report
    )
    assert "Winner:" not in report
    assert "Reasoning:\n\n> cheap\n" in report
    assert "`wait`, argued by `bob`:\n\n> Wait a week.\n" in report
    assert "The judge read it without names, in an order drawn from the seed:\n\n- round 1: `" in (
        report
    )
    assert "### Round 2, Ship it now. (ship): `ann`" in report
    assert "debaters × rounds + 1 calls, here 2 × 2 + 1 = 5" in report


def test_a_winner_that_nobody_heard_is_named_beside_the_escalation():
    seats = [
        {"id": seat, "label": f"for-{seat}", "stance": seat.title()}
        for seat in ("ann", "bob", "cat")
    ]
    ends = {"verdict": {"winner": "for-bob"}, "bob": ModelError("client_error")}
    report = ran("judged", ends, debaters=seats).to_markdown()
    assert (
        "**`escalate`**: too few debaters gave a valid reply, after 2 of at most 2 rounds" in report
    )
    assert "Winner: Bob (for-bob), argued by `bob`.\n\nVerdict (entry " in report


def test_an_undeclared_winner_is_quoted_and_has_not_won():
    report = everywhere("judged", "both").to_markdown()
    assert "the judge named what is no declared stance:\n\n> both\n" in report
    assert "Winner:" not in report


def test_a_moderated_report_strikes_what_rests_on_nothing():
    report = of(eventful("moderated")).to_markdown()
    assert "Objection 2. **Struck**: it rests on a citation that does not hold.\n\n> ~~so~~" in (
        report
    )
    assert "- none, there is no such document: x" in report
    assert "- later, the document was not visible yet: x" in report
    assert "7 of 10, 4 before it was sent back. **The critic's prompt wants a review**." in report
    assert "Says nothing about objection 4." in report
    assert "The outcome is another one." in report
    assert "New evidence in round 2: `later`." in report
    assert "- **critical**: critic (round 1, critique) gives citations that do not hold" in report
    assert "1 + rounds × (positions × 3 + 1) calls, here 1 + 2 × (1 × 3 + 1) = 9" in report


def test_points_that_are_gone_are_not_none():
    report = of(eventful("moderated"), lambda _: None).to_markdown()
    gone = "\\[text not available\\]"
    for title in ("Resolved:", "Criteria of a good answer:"):
        assert f"{title}\n\n> {gone}\n" in report
    assert section(report, "Open points") == f"- 2 points: {gone}\n"


def test_a_struck_argument_reads_as_written_and_struck():
    (token,) = READER.parseInline(quoted("a* ~b~ `c`", struck=True).removeprefix("> "))
    kinds_ = [row.type for row in token.children]
    assert (kinds_[0], kinds_[-1]) == ("s_open", "s_close")
    assert "".join(row.content for row in token.children) == "a* ~b~ `c`"


def test_positions_are_told_apart():
    report = of(eventful("positions")).to_markdown()
    assert "### Round 1, critique on Wait a week. (wait): `critic`" in report
    assert (
        "**Wait a week. (wait)**, argued by `bob`: the moderator ranked it first, after 1 of "
        in report
    )
    ranking = "1. Wait a week. (wait)\n2. Ship it now. (ship)\n3. Drop it. (drop)\n"
    assert f"Ranking, best first:\n\n{ranking}" in report
    assert "Position `ship`:\n\n> Ship it now.\n" in report
    assert "here 1 + 1 × (3 × 3 + 1) = 11" in report


def test_a_panel_report_calls_similar_wording_by_its_name():
    report = of(eventful("panel")).to_markdown()
    assert "similar wording is neither agreement nor correctness" in report
    assert "The final answer, from the last draft of `" in report
    assert "| 0 | `ann` | `bob` | " in report
    assert " | differs |" in report
    assert "### Round 2, draft: `ann`\n\nNot heard: no reply came (entry " in report
    assert "here 3 × (2 + 1) + 0 = 9" in report
    chosen = of(eventful("choosing")).to_markdown()
    assert "It chooses `no`." in chosen
    assert "Options: `yes`, `no`." in chosen


def test_a_debate_cut_short_says_so_and_shows_what_there_is():
    report = of(eventful("truncated")).to_markdown()
    assert (
        "**None: the debate was cut short** after 1 of at most 2 rounds: the next call could "
        in (report)
    )
    assert "(`calls_ceiling`). What follows is the best standing." in report
    assert "### Round 1, draft: `ann`" in report
    assert "### Round 1, draft: `bob`" not in report
    assert "The last draft of `cat`:\n\n> " in report


def test_a_failed_debate_says_why():
    report = ran("judged", {"verdict": ModelError("client_error")}).to_markdown()
    begin = "**None: the debate failed** (`judge_failed`) after 2 of at most 2 rounds: The judge "
    assert begin in report
    assert "judge (python:bot): the server rejected the request; check the seat's model" in report


def test_changes_are_told():
    vote = {"stance": "s", "rationale": "r"}
    ends = {"planner": {**vote, "vote": "release"}, "critic": {**vote, "vote": "revise"}}
    ends |= {"operator": {**vote, "vote": "escalate"}}
    ends["r1.critique.operator"] = {**vote, "vote": "revise"}
    assert (
        "`operator` changed its vote in round 1, critique: `escalate`, then `revise`, as held by "
        "`critic`."
    ) in ran("consensus", ends).to_markdown()
    drafts = {"r0.draft.ann": "One two.", "r0.draft.bob": "Three four.", "r1.draft.bob": "One two!"}
    assert (
        "`bob` changed its answer in round 1, draft: towards `ann`, 0.0% alike before and 100.0% "
        "after."
    ) in ran("panel", drafts).to_markdown()
    moved = everywhere("moderated", "so").to_markdown()
    told = "`proposer` changed its thesis in round 2, proposition, from:"
    assert f"{told}\n\n> so\n\nto:\n\n> so again\n" in moved


@pytest.mark.parametrize("line", HOSTILE.split("\n"))
def test_a_hostile_line_is_one_plain_paragraph_that_reads_as_written(line):
    found = [token.type for token in READER.parse(inline(line))]
    assert found == ["paragraph_open", "inline", "paragraph_close"]
    assert words(inline(line)) == one_line(line)


@given(st.text(st.sampled_from("ab1 \\`*_[]()#|~!<>&;@:/.$-+='\"^{}wW\t") | st.characters()))
def test_any_line_reads_as_written(text):
    line = inline(text.encode(errors="replace").decode())
    assert kinds(line) <= {"paragraph_open", "inline", "paragraph_close", "text", "code_inline"}
    assert words(line) == one_line(text.encode(errors="replace").decode())


@given(st.text("ab \\`|@.:/", max_size=12))
@example("a@b|c")
@example("x.com\\\\|`|`y")
def test_a_cell_of_a_table_is_ended_by_nothing_in_it(text):
    """Some readers take a backslash and what follows it for one sign, within code as well."""
    rows = table(["said", "who"], [[inline(text), "`ann`"]])
    assert len(re.sub(r"\\.", "", rows.split("\n")[2]).split("|")) == 4
    found = [token.content for token in READER.parse(rows) if token.type == "inline"]
    assert found[-1] == "`ann`"
    assert len(found) == 4


def test_every_line_of_a_quoted_text_is_a_paragraph():
    assert quoted("a\n\n  b\n") == "> a\n>\n> b"
    assert quoted("\n") == ">"


def test_dollars_keep_every_digit():
    assert dollars(1_234_567) == "1.234567"
    assert dollars(12) == "0.000012"
    assert dollars(None) == "unknown"
