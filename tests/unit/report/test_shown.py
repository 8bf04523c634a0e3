"""How results and steps show themselves: at the prompt, in `print`, in a notebook."""

import json
from dataclasses import replace
from decimal import Decimal
from html.parser import HTMLParser

import pytest

import hansard
from formats import FORMATS, PLAYED
from hansard.cli.console import document
from hansard.report.formats import DISPLAYS
from hansard.report.notes import note
from hansard.report.progress import Truncated
from hansard.report.view import build
from hansard.runtime.models.base import ModelError
from reporting import of, ran
from support import EVENTFUL, Debate, Fail, Reply, Setup, eventful, say, script
from unit.report.test_progress import follow

HOSTILE = "<script>alert(1)</script> <img src=x onerror=go()> &amp; $x$ \x1b[2K\u202eesaeler"
DOWN = ModelError("client_error")


class _Elements(HTMLParser):
    """The elements of a piece of HTML, and what a reader sees of it."""

    def __init__(self, html):
        super().__init__()
        self.seen, self.words = set(), ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        assert {name for name, _ in attrs} <= {"class", "style"}

    def handle_data(self, data):
        self.words += data


def short(result):
    return repr(result).partition(": ")[2]


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_says_what_its_answer_is(format_):
    result = ran(format_)
    assert result.final == PLAYED[format_].final
    assert result.to_dict() == json.loads("".join(document(result)))
    assert result.to_markdown().startswith("# Shall we?")
    assert [turn.seq for turn in result.turns] == sorted(turn.seq for turn in result.turns)
    assert len(result.turns) == result.totals.calls - (format_ == "judged")
    kind = type(result).__name__
    assert repr(result) == (
        f"<{kind} {result.debate[:8]}: {result.decision}, by {result.decision_rule}>"
    )


@pytest.mark.parametrize("format_", FORMATS)
def test_an_output_is_what_a_caller_wants(format_):
    result = ran(format_, {"synthesis": '{"n": 1}'}, synthesizer={}, output_schema={})
    assert result.decision is not None
    assert result.final == result.output is not None
    assert result.to_dict()["output"] == result.output


def test_the_answer_of_a_panel_stays_in_its_report():
    result = ran("panel", {"synthesis": '{"n": 1}'}, synthesizer={}, output_schema={})
    assert result.to_dict()["final"] == result.answer == PLAYED["panel"].final
    assert hansard.PanelResult.model_validate(result.to_dict()) == result


def test_every_format_knows_how_it_is_shown():
    assert [row.result.display for row in DISPLAYS.values()] == [*DISPLAYS.values()]


@pytest.mark.parametrize("name", EVENTFUL)
def test_every_result_is_shown_within_a_terminal_and_inert(name):
    for text_of in (None, lambda _: None):
        result = of(eventful(name), text_of)
        assert max(map(len, str(result).splitlines())) <= 80
        assert len(repr(result)) <= 100
        html = _Elements(result._repr_html_())
        assert html.seen <= {"div", "p", "b", "table", "tr", "th", "td"}
        assert "None" not in html.words
        assert f"Debate: {result.debate}" in str(result)


@pytest.mark.parametrize("format_", FORMATS)
def test_an_open_debate_has_decided_nothing(format_):
    debate = Debate(Setup(format_), script())
    whole = debate.run().record
    texts, events = whole.texts, whole.events
    result = build(events[: len(events) // 2], texts.get)
    assert (result.status, result.final, short(result)) == ("open", None, "open>")
    assert "Decision: none yet: still open" in str(result)
    assert "none yet: still open" in result._repr_html_()


@pytest.mark.parametrize(
    ("format_", "ends", "reason"),
    [
        ("consensus", dict.fromkeys(("planner", "critic", "operator"), DOWN), "nobody_heard"),
        ("judged", {"verdict": DOWN}, "judge_failed"),
        ("moderated", {"moderation": DOWN}, "moderator_failed"),
        ("panel", {"draft": DOWN}, "nobody_heard"),
    ],
)
def test_a_failure_is_never_shown_as_a_decision(format_, ends, reason):
    result = ran(format_, ends)
    assert result.status == "failed"
    assert (result.final, result.reason) == (None, reason)
    assert short(result) == f"failed, {reason}>"
    line = f"none: failed ({reason})"
    assert f"Decision: {line}" in str(result)
    assert line in result._repr_html_()
    assert result.to_dict()["decision"] is None


def test_a_debate_cut_short_shows_its_standing():
    result = of(eventful("truncated"))
    assert (result.final, short(result)) == (None, "cut short, calls_ceiling>")
    assert "Decision: none: cut short, the next call" in str(result)
    assert "Draft: ann: ann says draft 1." in str(result)


def test_an_escalation_names_who_must_look_and_has_no_answer():
    ends = {"r1.proposal.planner": say(vote="release"), "planner": say(vote="release")}
    ends |= {"critic": say(vote="revise"), "operator": say(vote="escalate")}
    result = of(Debate(Setup(max_rounds=1), script(ends)).run())
    assert (result.decision, result.final) == ("escalate", None)
    assert short(result) == "escalate, by max_rounds_exhausted, a person must decide>"
    assert "Must look: the release board" in str(result)
    combined = ran("judged", {"verdict": {"winner": "for nobody"}})
    assert (combined.decision, combined.final) == ("undeclared", None)


def test_scripted_replies_are_labelled():
    result = of(eventful("truncated")).model_copy(update={"scripted": True})
    assert str(result).startswith("Scripted replies\n")
    assert "<b>Scripted replies</b>" in result._repr_html_()
    assert short(result) == "cut short, calls_ceiling, scripted>"


def test_a_cost_is_in_dollars():
    result = ran("judged")
    assert result.cost is None
    total = result.totals.model_copy(update={"cost_micro_usd": 1_250_000})
    priced = result.model_copy(update={"totals": total})
    assert priced.cost == Decimal("1.25")
    assert isinstance(priced.cost, Decimal)
    assert "cost 1.250000 US dollars" in str(priced)
    partly = priced.model_copy(update={"notes": (note("cost_incomplete", replies="1 reply"),)})
    assert partly.cost is None
    assert "cost unknown" in str(partly)


def test_hostile_texts_are_inert_in_a_notebook():
    result = ran("judged", {"verdict": {"verdict": HOSTILE, "reasoning": HOSTILE}})
    result = result.model_copy(update={"question": HOSTILE})
    for html in (result._repr_html_(), *(row._repr_html_() for row in _hostile_steps())):
        found = _Elements(html)
        assert found.seen <= {"div", "p", "b", "table", "tr", "th", "td"}
        assert "<script>alert(1)</script>" in found.words
        assert not {"\x1b", "\u202e"} & {*html}
        assert 'class="hansard tex2jax_ignore mathjax_ignore"' in html
    assert not {"\x1b", "\u202e"} & {*str(result), *repr(result)}


def _hostile_steps():
    rows = follow(Debate(Setup("panel"), script({"draft": Reply(HOSTILE)})).run())
    return [row for row in rows if type(row).__name__ == "Response"]


def test_wide_signs_take_two_columns():
    result = ran("panel").model_copy(update={"question": "議" * 100})
    lines = str(result).splitlines()
    assert all(len(line) <= 40 for line in lines if "議" in line)


@pytest.mark.parametrize("name", EVENTFUL)
def test_every_step_is_one_short_line(name):
    for step in follow(eventful(name)):
        line = str(step)
        assert line.startswith(f"#{step.seq} ")
        assert len(line) <= 80
        assert "\n" not in line
        assert repr(step).startswith(f"<{type(step).__name__} #{step.seq} ")
        assert len(repr(step)) <= 80
        assert repr(step).endswith(">")
        assert "None" not in line
        assert _Elements(step._repr_html_()).words == line


def test_steps_say_what_happened():
    ends = {
        "r1.proposal.critic:1": Fail("timeout", wait_ms=1500),
        "r1.proposal.operator": Reply("no"),
    }
    rows = [str(row).partition(" ")[2] for row in follow(Debate(Setup(), script(ends)).run())]
    assert rows[0].startswith("debate 3f2b8c1e-")
    assert rows[0].endswith(" is open: consensus")
    assert "round 1 proposal planner -> release: so" in rows
    assert any(row.startswith("round 1 proposal critic: ") and "asked again" in row for row in rows)
    assert any("operator is not heard: " in row for row in rows)
    assert any(row.startswith("decided: release (") for row in rows)
    assert rows[-1] == "complete: enough debaters hold one option"


def test_a_stop_names_who_stopped_it():
    step = Truncated(
        seq=4, ceiling="operator", limit=None, spent=None, reserved=None, by="Ann", why="enough"
    )
    assert str(step) == "#4 cut short by Ann: enough"
    assert "the ceiling on calls" in str(replace(step, ceiling="calls"))
