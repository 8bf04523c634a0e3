import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from hansard.report.markdown import TITLE, dollars, inline, markdown, quoted
from hansard.report.safe import one_line
from hansard.report.view import build
from support import Debate, Reply, Setup, eventful, votes

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
    return markdown(build(debate.record.events, text_of or debate.record.texts.get))


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
    assert "Dissent: `planner` voted `release`." in report
    assert "| 1 | proposal | `release` | `revise` | `revise` |" in report
    assert "```text\ndebater_ids: [planner, critic, operator]\nrounds_run: 1\n" in report
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
    assert "- The debate stopped here and was resumed by another process (entry " in report
    assert " abandoned." in report


def test_an_open_debate_says_so():
    report = report_of(Debate(Setup(), votes(planner="a", critic="b", operator="c")))
    assert "None yet: the debate is still open after 0 of at most 2 rounds." in report
    assert ", still open." in report


def test_texts_that_are_gone_are_said_to_be_gone():
    report = report_of(eventful(), lambda _: None)
    gone = "\\[text erased or missing\\]"
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


def test_every_line_of_a_quoted_text_is_a_paragraph():
    assert quoted("a\n\n  b\n") == "> a\n>\n> b"
    assert quoted("\n") == ">"


def test_dollars_keep_every_digit():
    assert dollars(1_234_567) == "1.234567"
    assert dollars(12) == "0.000012"
    assert dollars(None) == "unknown"
