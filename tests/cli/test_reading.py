"""`list`, `show`, `report`, `replay`, `verify`, `schema`: what a record holds."""

import csv
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import click
import jsonschema
import pytest
from rich.cells import cell_len

import hansard as library
from cli_support import leave_open, on_a_terminal, only_debate, write_debate, write_format
from formats import NAMES, PLAYED
from hansard.cli import console
from hansard.cli.console import fields
from hansard.cli.listing import _COLUMNS, _distinct
from hansard.cli.summary import outcome, print_outcome
from hansard.errors import DataError
from hansard.record.line import line_hash
from hansard.report.listing import Entry
from hansard.rules.formats import FORMATS
from hansard.runtime.models.base import ModelError
from hansard.schemas import render
from hansard.store import tampering
from hansard.store.application import Store
from hansard.verify import verifier
from reporting import of, ran
from support import Debate, Fail, Setup, eventful, script, vote

VOTES = dict(zip(NAMES, ("release", "revise", "revise"), strict=True))
DB = Path("hansard.db")


@pytest.fixture
def example(hansard):
    """The packaged example, run; its id."""
    assert hansard("init", "mine").code == 0
    assert hansard("run", "mine/debate.yaml").code == 0
    return only_debate()


def alter(debate, old, new, kind="turn.recorded"):
    """Change one entry of the store; return its place."""
    with Store.open("sqlite:///hansard.db") as store:
        lines = store.lines(debate)
    seq = next(
        seq for seq, line in enumerate(lines, 1) if old in line and f'"{kind}"'.encode() in line
    )
    tampering.alter_line(DB, debate, seq, old, new)
    return seq


def test_list(hansard, example):
    done = hansard("list")
    head, row, many = done.out.splitlines()
    assert done.code == 0
    assert re.split("  +", head) == [column.title for column in _COLUMNS]
    assert row.split()[0] == example[:8]
    assert row.endswith("from 1 April?  revise    2/3    $0.0232  look  closed, scripted")
    assert many == "1 debate, $0.0232"


def on_80_columns(*args):
    seen = on_a_terminal(*args, COLUMNS="80").decode()
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen).splitlines()


def test_list_fits_a_terminal_of_80_columns(hansard):
    long = (
        "Whether 長い質問 is to be asked at all, and if so of whom, and when, and why it is? " * 2
    )
    hansard("run", write_format("judged", question=long, limits={"calls": 1}))
    write_debate(VOTES, question="Shall we?", review="a" * 60, rule="unanimity", threshold=None)
    hansard("run", "debate.yaml")
    head, *rows, totals = on_80_columns("list")
    assert max(map(cell_len, (head, *rows, totals))) <= 80
    titles = [column.title for column in _COLUMNS]
    assert re.split("  +", head) == [title for title in titles if title != "Question"]
    assert len(rows) == 4
    for row, asked in zip(rows[::2], rows[1::2], strict=True):
        assert hansard("show", row.split()[0]).code == 0
        assert asked.startswith(" " * 10)
    assert rows[1].endswith("…")
    assert rows[3].strip() == "Shall we?"
    assert "escalate" in rows[2]
    assert "closed, scripted" in rows[2]
    assert rows[0].endswith("truncated, scripted")
    assert totals == "2 debates, $0.0100, 1 of unknown cost, 2 need a look"


def test_list_shows_as_much_of_a_long_text_as_can_be_read(hansard):
    text = "Whether it is to be asked? " * 1_000
    write_debate(VOTES, question=text, review=text, rule="unanimity", threshold=None)
    hansard("run", "debate.yaml")
    for args in (["list"], ["list", "--questions"]):
        assert max(map(len, hansard(*args).out.splitlines())) < 1_200
    (row,) = json.loads(hansard("list", "--json").out)["debates"]
    assert (row["question"], row["review"]) == (text, text)


def test_show_says_as_much_of_a_long_text_as_can_be_read(hansard):
    text = "Whether it is to be asked? " * 1_000
    write_debate(VOTES, question=text, review=text, rule="unanimity", threshold=None)
    ran = hansard("run", "debate.yaml")
    debate = json.loads(hansard("list", "--json").out)["debates"][0]["debate"]
    for done in (ran, hansard("show", debate)):
        assert 10_000 < max(map(len, (done.out + done.err).splitlines())) < 10_100
    assert text.strip() in hansard("report", debate, "--as", "dossier").out


def test_list_gives_as_much_of_an_id_as_names_one_debate():
    ids = [f"{'0' * 20}{end}{'0' * 15}" for end in "12"]
    assert [_distinct(ids), _distinct(ids[:1]), _distinct(["12345678-1", "2"]), _distinct([])] == [
        *(21, 8, 8, 8)
    ]


@pytest.mark.parametrize(
    ("changes", "look"),
    [
        ({}, False),
        ({"state": "open"}, False),
        ({"reviewed": "approved"}, False),
        ({"reviewed": "waiting"}, True),
        ({"reviewed": "overdue"}, True),
        ({"review": "the board"}, True),
        ({"review": "the board", "released": True}, False),
        ({"output_missing": True}, True),
        *(({"state": state}, True) for state in ("failed", "truncated", "altered", "unreadable")),
    ],
)
def test_what_needs_a_look(changes, look):
    entry = Entry(debate="3f2b", state="closed", reviewed="not required")
    assert entry.model_copy(update=changes).needs_a_look is look


def test_list_as_json_fits_its_schema(hansard, example):
    listing = json.loads(hansard("list", "--json").out)
    jsonschema.validate(listing, json.loads(render("list")))
    (row,) = listing["debates"]
    assert (row["debate"], row["decision"], row["state"]) == (example, "revise", "closed")


def test_list_as_csv_runs_nothing(hansard, example):
    write_debate(VOTES, question='=HYPERLINK("http://x")\x1b[2K, or not?')
    hansard("run", "debate.yaml")
    head, *rows = csv.reader(hansard("list", "--csv").out.splitlines())
    assert head == list(Entry.model_fields)
    assert rows[0][0] == example
    assert rows[1][head.index("question")] == '\'=HYPERLINK("http://x")<U+001B>[2K, or not?'
    assert rows[0][head.index("cost_micro_usd")].isdigit()


def test_list_finds_what_is_asked_for_and_counts_all_of_it(hansard, example):
    for question in ("Is clause 11 fair?", "Is clause 12 fair?"):
        write_debate(VOTES, question=question, task_type="contract")
        hansard("run", "debate.yaml")
    rows = hansard("list", "--search", "clause fair", "--limit", "1").out.splitlines()
    assert "clause 12" in rows[1]
    assert rows[-1].startswith("1 of 2 debates, ")
    assert len(hansard("list", "--task-type", "contract").out.splitlines()) == 4
    assert hansard("list", "--search", "nothing").out == "0 debates\n"
    assert len(hansard("list", "--limit", "0").out.splitlines()) == 5
    assert hansard("projection", "rebuild").out == "3 debates can be found again.\n"
    done = hansard("list", "--since", "last week")
    assert (done.code, done.out) == (2, "")
    assert "since is 'last week': write a time as 2026-11-24" in done.err


def test_metrics_say_what_many_debates_say(hansard, example, monkeypatch):
    done = hansard("metrics")
    assert done.code == 0
    assert done.out.startswith("0 closed debates from ")
    assert "; 1 scripted one left out\n" in done.out
    found = json.loads(hansard("metrics", "--json").out)
    jsonschema.validate(found, json.loads(render("metrics")))
    head, *rows = csv.reader(hansard("metrics", "--csv").out.splitlines())
    assert (head[0], len(rows)) == ("name", len(found["rows"]))
    row = {"what": "cut short", "share": True, "n": 20, "value": 0.5, "against": "before"}
    row |= {"name": "truncated", "task_type": "x\x1b", "baseline": 0.1, "alert": True, "why": "w"}
    alerted = library.Metrics.model_validate({**found, "rows": [row]})
    monkeypatch.setattr(library, "metrics", lambda *_, **__: alerted)
    done = hansard("metrics")
    assert done.code == 1
    assert "ALERT: cut short, x<U+001B>\n" in done.out
    assert f"  {'█' * 10}{'░' * 10} 50% of 20 debates; before 10%\n" in done.out
    row |= {"task_type": "=1+1", "value": 1e12}
    alerted = library.Metrics.model_validate({**found, "rows": [row]})
    assert "\ntruncated,cut short,'=1+1,True," in hansard("metrics", "--csv").out
    assert f"  {'█' * 20} 1" in hansard("metrics").out
    monkeypatch.undo()
    assert hansard("metrics", "--since", "x").code == 2


def test_list_says_how_often_a_question_was_debated_and_what_never_finished(hansard, debate):
    assert hansard("run", "debate.yaml").code == 0
    left = leave_open()
    assert hansard("run", "debate.yaml", "--question", "Another?").code == 0
    done = hansard("list", "--questions")
    assert done.out.splitlines() == [
        "3 debates   Shall we release?",
        "            decided: 2 revise",
        f"            never finished: {left[:8]}",
        "1 debate    Another?",
        "            decided: 1 revise",
    ]
    found = json.loads(hansard("list", "--questions", "--json", "--limit", 1).out)
    jsonschema.validate(found, json.loads(render("questions")))
    first, other = found["asked"]
    assert (len(first["debates"]), first["debates"][0], first["unfinished"]) == (3, debate, [left])
    assert (other["question"], other["unfinished"]) == ("Another?", [])
    assert hansard("list", "--questions", "--csv").code == 2


def test_list_of_an_empty_store(hansard):
    DB.touch()
    assert hansard("list").out == "0 debates\n"


def test_list_names_records_that_do_not_hold(hansard, debate):
    alter(debate, b'"vote":"release"', b'"vote":"revise"')
    done = hansard("list")
    assert done.code == 0
    assert "ALTERED" in done.out
    assert "1 debate, 1 needs a look, 1 altered or unreadable" in done.out
    alter(debate, b'"debate":', b'"DEBATE":', kind="votes.counted")
    assert "ALTERED" in hansard("list").out


def test_show(hansard, example):
    done = hansard("show", example[:6])
    assert done.code == 0
    assert done.out.startswith(
        "revise: 2 of 3 votes, fraud dissented; the debaters are scripts\n"
        "Look before you act on this: its replies came from a script or a record, so no model was "
        "asked\n"
        "Question    Should glass claims of up to 900 EUR be paid automatically, "
    )
    for part in (
        "Decision    revise  2 of 3 votes, 2 needed, round 1 of at most 2 (threshold_vote)",
        "Dissent     fraud: escalate",
        "Evidence    pilot, fraud-review",
        "release → release → revise",
        "A reply of operations (round 1, critique) does not count",
    ):
        assert part in done.out


def test_show_names_the_last_hash_and_commands_that_its_reader_can_type(hansard, example):
    hansard("export", example, "-o", "my record.zip")
    of_store, of_export = hansard("show", example), hansard("show", "my record.zip")
    with Store.open("sqlite:///hansard.db") as store:
        head = line_hash(store.lines(example)[-1])
    assert f"Head        {head}\n" in of_store.out
    assert of_export.out == of_store.out
    assert f"hansard verify {example[:8]}\n" in of_store.err
    assert "hansard verify 'my record.zip'\n" in of_export.err
    assert example[:8] not in of_export.err


def test_show_the_prompt_of_a_call(hansard, example):
    done = hansard("show", example, "--prompt", "r1.critique.operations:2")
    assert done.code == 0
    assert done.out.startswith("--- system ---\nThis is a structured debate")
    assert "[fraud, round 1, proposal]\n| {" in done.out
    assert 'You are the debater "operations"' in done.out
    assert "The digest of this prompt is the one recorded in entry 20" in done.err


def test_report(hansard, debate):
    text = hansard("report", debate)
    assert text.out == hansard("report", debate, "--as", "text").out
    assert text.out.count("\n") == 9
    assert "Replies were scripted" in text.err
    result = json.loads(hansard("report", debate, "--as", "json").out)
    jsonschema.validate(result, json.loads(render("report")))
    assert result["vote_tally"] == {"release": 1, "revise": 2}
    assert hansard("report", debate, "--as", "markdown").out.startswith("# Shall we release?\n")


@pytest.mark.parametrize("format_", FORMATS)
def test_show_of_every_format(hansard, format_):
    assert hansard("run", write_format(format_)).code == 0
    done = hansard("show", only_debate())
    assert done.code == 0
    for part in PLAYED[format_].shown:
        assert part in done.out
    assert json.loads(done.out.partition("\nOutput\n")[2].partition("\n  }")[0] + "}") == {
        "synthesis": "so"
    }


def echoed(monkeypatch):
    """What is printed at once: it is copied several times on its way."""
    pieces = []

    def echo(message="", **more):
        pieces.append(message)
        real(message, **more)

    real = click.echo
    monkeypatch.setattr(click, "echo", echo)
    return pieces


def test_what_is_long_is_printed_in_pieces(monkeypatch, capsys):
    pieces = echoed(monkeypatch)
    lines = "".join(f"| {number}\n" for number in range(50_000))
    console.say(lines)
    assert capsys.readouterr().out == f"{lines}\n"
    console.say_text("user", [lines[:100_001], lines[100_001:], "", "end"])
    assert capsys.readouterr().out == f"--- user ---\n{lines}end\n"
    assert max(map(len, pieces)) < len(lines) / 4


def test_a_dossier_is_printed_in_pieces(hansard, debate, monkeypatch):
    with library.open_store("sqlite:///hansard.db") as store:
        whole = library.read_record(store, debate).dossier()
    pieces = echoed(monkeypatch)
    printed = hansard("report", debate, "--as", "dossier").out
    assert printed == whole
    assert max(map(len, pieces)) < len(whole) / 4


def test_a_deliverable_is_printed_in_pieces(monkeypatch, capsys):
    rows = {"rows": list(range(50_000))}
    result = ran("panel").model_copy(update={"output": rows})
    pieces = echoed(monkeypatch)
    print_outcome(console.console(), result, [])
    head, _, printed = capsys.readouterr().out.partition("\nOutput\n")
    assert (head != "", json.loads(printed)) == (True, rows)
    assert max(map(len, pieces)) < len(printed) / 4


@pytest.mark.slow
@pytest.mark.parametrize("format_", FORMATS)
def test_reports_of_every_format(hansard, format_):
    hansard("run", write_format(format_))
    debate = only_debate()
    text = hansard("report", debate)
    assert text.code == 0
    assert text.out.startswith("debater_ids: [")
    assert "Replies were scripted" in text.err
    result = json.loads(hansard("report", debate, "--as", "json").out)
    jsonschema.validate(result, json.loads(render("report")))
    assert result["format"] == format_
    source = json.loads(hansard("report", debate, "--as", "source").out)
    jsonschema.validate(source, json.loads(render(f"source.{format_}")))
    markdown = hansard("report", debate, "--as", "markdown").out
    assert markdown.startswith("# Shall we release?\n\n**Scripted replies**\n\n**")
    assert f"Use `{format_}` " in markdown


def test_a_report_in_the_shape_of_its_source_is_inert(hansard):
    write_format("panel", words="\x1b[2K\u202eso")
    assert hansard("run", "debate.yaml").code == 0
    done = hansard("report", only_debate(), "--as", "source")
    assert json.loads(done.out)["final"] == "\x1b[2K\u202eso"
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out


def test_list_of_every_format(hansard):
    for format_ in FORMATS:
        hansard("run", write_format(format_))
    hansard("run", write_format("panel", limits={"calls": 1}))
    rows = json.loads(hansard("list", "--json").out)["debates"]
    listed = [(format_, *PLAYED[format_].listed) for format_ in FORMATS]
    found = [(row["format"], row["decision"], row["votes"]) for row in rows]
    assert found == [*listed, ("panel", None, None)]
    assert [row["state"] for row in rows] == ["closed"] * len(FORMATS) + ["truncated"]
    assert [row["draws"] for row in rows if row["format"] == "baseline"] == [2]
    assert rows[1]["rule"] == "judge_verdict"
    table = hansard("list").out
    for part in (" Ship it now. (ship) ", " upheld ", " synthesis ", "truncated, scripted"):
        assert part in table


@pytest.mark.parametrize("format_", FORMATS)
def test_a_debate_cut_short_is_said_plainly_with_its_best_standing(hansard, format_):
    changes, words = PLAYED[format_].cut
    assert hansard("run", write_format(format_, **changes)).code == 0
    if format_ != "consensus":
        text = hansard("report", only_debate()).out
        assert text.endswith("status: truncated\nstopped: calls_ceiling\n")
    done = hansard("show", only_debate())
    assert (
        "Decision    none: cut short, the next call could have exceeded the ceiling on calls"
        in (done.out)
    )
    assert words in done.out
    assert "cut short before r" in done.out
    assert "**None: the debate was cut short**" in (
        hansard("report", only_debate(), "--as", "markdown").out
    )


ROWS = [
    (
        "positions",
        [
            "Decision    Wait a week. (wait), argued by bob  the moderator ranked it first, ",
            "Ranking     Wait a week. (wait) → Ship it now. (ship) → Drop it. (drop)",
            "Confidence  HIGH, in round 1",
        ],
    ),
    ("moderated", ["Neutrality  another outcome with the sides in the other order"]),
    ("panel", ["Votes       bob 1, cat 1, abstain 1; 2 of 3 needed", "Answer      bob: "]),
    ("choosing", ["Decision    yes  the judge wrote the answer", "Answer      so"]),
    ("consensus", ["Must look   the release board", "no option reached 3 votes"]),
]


@pytest.mark.parametrize(("name", "parts"), ROWS)
def test_the_rows_of_an_eventful_debate(name, parts):
    said = fields(outcome(of(eventful(name)))).plain
    for part in parts:
        assert part in said


SEATED = (("ann", "ship"), ("bob", "wait"), ("cat", "drop"))


def test_who_argued_what_was_decided_is_said_once():
    won = fields(outcome(ran("judged", {"verdict": {"winner": "wait"}}))).plain
    assert "Decision    Wait a week. (wait), argued by bob  the judge's verdict" in won
    assert won.count("argued by") == 1
    assert "Winner" not in won


def test_the_rows_of_what_a_judge_or_a_moderator_leaves_open():
    named = {"verdict": {"verdict": "so", "winner": "both", "reasoning": "so"}}
    said = fields(outcome(ran("judged", named, judge={"model": "custom:bot"}))).plain
    assert "Winner      none: the judge named “" in said
    none = ran("judged", {"verdict": {"winner": None}})
    assert "Winner      none\n" in fields(outcome(none)).plain
    unheard = {"verdict": {"winner": "wait"}, "bob": ModelError("client_error")}
    seats = [{"id": seat, "label": label, "stance": label} for seat, label in SEATED]
    escalated = fields(outcome(ran("judged", unheard, debaters=seats))).plain
    assert "Decision    escalate  too few debaters gave a valid reply" in escalated
    assert "Winner      wait, argued by bob\n" in escalated
    wanting = ran("moderated", {"moderation": {"recommend_another_round": True}})
    assert "Rounds      the moderator wanted one more than there could be" in (
        fields(outcome(wanting)).plain
    )


def test_the_rows_of_an_open_debate():
    debate = eventful("judged")
    debate.record.events = debate.record.events[:20]
    said = fields(outcome(of(debate))).plain
    assert "Decision    none yet: still open, round 1 of at most 2" in said


def test_a_failed_debate_ends_in_1_and_says_why(hansard):
    lost = {"judge": {"*": {"verdict": {"error": "client_error"}}}}
    run = hansard("run", write_format("judged", script=lost))
    assert run.code == 1
    text = hansard("report", only_debate()).out
    assert text.endswith("status: failed\nstopped: judge_failed\n")
    told = " ".join(run.out.split())
    assert (
        "Decision none: failed (judge_failed), round 1 of at most 1. The judge gave no valid "
        "reply, so there is no verdict. judge (scripted:replies.yaml): the server rejected the "
        "request"
    ) in told
    assert "check the seat's model and settings" in told
    assert told.rpartition("Decision")[2].count("The judge gave no valid reply") == 1


def test_a_resumed_debate_that_fails_ends_in_1(hansard):
    write_format("judged", script={"judge": {"*": {"verdict": {"error": "client_error"}}}})
    assert hansard("resume", leave_open(turns=1)).code == 1


STOOD = {
    "consensus": ["Votes       planner: release", "Decided     release (threshold_vote)"],
    "judged": [
        "Found       judge: ann\nDecided     Ship it now. (ship), argued by ann (judge_verdict)"
    ],
    "moderated": ["Found       scores proposer 4, critic 8, rebuttal 5; ", "proposition upheld"],
    "panel": [
        "Compared    round 0: similar wording 1.00, all pairs; the rounds end",
        "Found       judge: several combined",
    ],
}


@pytest.mark.parametrize("format_", STOOD)
def test_replay_until_any_entry_of_every_format(hansard, format_):
    hansard("run", write_format(format_))
    debate = only_debate()
    with Store.open("sqlite:///hansard.db") as store:
        many = len(store.lines(debate))
    for until in range(1, many + 1):
        done = hansard("replay", debate, "--until", until)
        assert done.code == 0
        assert "Due next    " in done.out
    for part in STOOD[format_]:
        assert part in done.out


def test_replay_until_a_comparison_is_due(hansard):
    hansard("run", write_format("panel"))
    done = hansard("replay", only_debate(), "--until", 11)
    assert "Due next    the comparison of the answers of round 0" in done.out


def test_replay_of_a_debate_cut_short(hansard):
    hansard("run", write_format("judged", limits={"calls": 1}))
    debate = only_debate()
    with Store.open("sqlite:///hansard.db") as store:
        many = len(store.lines(debate))
    done = hansard("replay", debate, "--until", many)
    assert "Cut short   before r1.argument.bob, ceiling on calls" in done.out


def test_replay(hansard, example):
    done = hansard("replay", example)
    assert (done.code, done.out) == (0, "41 of 41 events come out the same\n")


@pytest.mark.parametrize(
    ("until", "parts"),
    [
        (1, ["the seats and documents of the opening", "nobody is seated yet"]),
        (6, ["r1.proposal.operations, r1.proposal.fraud, r1.proposal.conduct"]),
        (9, ["the end of a call in flight", "Counted     nothing yet"]),
        (12, ["the turn r1.proposal.operations, from the reply that came"]),
        (16, ["a call for r1.critique.operations", "release 1, revise 1, escalate 1"]),
        (39, ["decision.reached", "threshold 2 reached", "10 calls, $0.0232"]),
        (41, ["a review, an outcome, a hold or a redaction, and nothing else"]),
    ],
)
def test_replay_until(hansard, example, until, parts):
    done = hansard("replay", example, "--until", until)
    assert done.code == 0
    assert done.out.endswith(f"{until} of {until} events come out the same\n")
    for part in parts:
        assert part in done.out


def test_replay_of_an_altered_record(hansard, debate):
    seq = alter(debate, b'"vote":"release"', b'"vote":"revise"')
    done = hansard("replay", debate)
    assert (done.code, done.out) == (1, "")
    assert "shows every finding [record.altered]" in done.err
    done = hansard("replay", debate, "--unverified")
    assert done.code == 1
    first, *rest, last = done.out.splitlines()
    assert first.startswith("ALTERED: this is not what was recorded. First finding: ")
    assert first.endswith(f"(entry {seq}; 1 more)")
    assert f"#{seq} turn.recorded differs in vote: derived release, recorded revise" in rest
    assert last == "ALTERED: this is not what was recorded."
    alter(debate, b'"votes.counted"', b'"debate.closed"', kind="votes.counted")
    assert hansard("replay", debate, "--unverified").code == 2


def test_an_altered_record_that_replays_alike_is_altered_all_the_same(hansard, debate):
    """A text that was exchanged changes no step: the exit code still says so."""
    with Store.open("sqlite:///hansard.db") as store:
        head = store.bundle(debate).head
    with closing(sqlite3.connect(DB)) as connection, connection:
        connection.execute("UPDATE heads SET head = ?", (head.hash[::-1],))
    assert hansard("replay", debate).out == ""
    done = hansard("replay", debate, "--unverified")
    assert done.code == 1
    assert "\n16 of 16 events come out the same\nALTERED" in done.out


def test_an_unverified_replay_of_a_sound_record_warns_of_nothing(hansard, debate):
    assert hansard("replay", debate, "--unverified") == hansard("replay", debate)


def test_replay_stops_at_an_event_that_was_not_due(hansard, debate):
    with Store.open("sqlite:///hansard.db") as store:
        lines = store.lines(debate)
    # The second seat is replaced by the first one.
    tampering.alter_line(DB, debate, 3, lines[2], lines[1])
    done = hansard("replay", debate, "--unverified")
    assert done.code == 1
    assert "#3 debater.registered was not due, but debater.registered at position 2" in done.out
    assert f"\n2 of {len(lines)} events come out the same\n" in done.out


def test_verify(hansard, debate):
    done = hansard("verify", debate)
    assert done.code == 0
    assert " 5  chain       pass " in done.out
    assert "SELF-CONSISTENT, SIGNER UNKNOWN" in done.out
    assert "Not proven: who wrote this." in done.out
    found = json.loads(hansard("verify", debate, "--json").out)
    jsonschema.validate(found, json.loads(render("findings")))
    assert found["level"] == 0


def test_verify_an_altered_record(hansard, debate):
    seq = alter(debate, b'"vote":"release"', b'"vote":"revise"')
    done = hansard("verify", debate)
    assert done.code == 1
    assert f"entry {seq}  12.vote  " in done.out
    assert "expected  release\n  found     revise\n" in done.out
    assert "ALTERED   do not rely on this record" in done.out
    done = hansard("verify", debate, "--json")
    assert done.code == 1
    assert json.loads(done.out)["verdict"] == "ALTERED"


@pytest.mark.parametrize("command", ["show", "report", "resume", "replay"])
def test_nothing_is_drawn_from_an_altered_record(hansard, debate, command):
    alter(debate, b'"vote":"release"', b'"vote":"revise"')
    done = hansard(command, debate)
    assert (done.code, done.out) == (1, "")
    assert f"`hansard verify {debate[:8]}` shows every finding [record.altered]" in done.err


def test_verify_says_what_could_not_be_checked(hansard, debate, monkeypatch):
    verify = verifier.verify

    def partly(*given):
        return verify(*given).model_copy(update={"caveats": ["open: so", "2 of 3 unchecked"]})

    monkeypatch.setattr(verifier, "verify", partly)
    last = hansard("verify", debate).out.rstrip().splitlines()[-1]
    assert last.strip() == "SELF-CONSISTENT, SIGNER UNKNOWN   open: so; 2 of 3 unchecked"


def test_schema(hansard):
    names = hansard("schema").out.split()
    assert {"spec", "event", "findings", "report", "list"} <= set(names)
    assert hansard("schema", "spec").out == render("spec")


def test_an_unreadable_record_does_not_hide_the_others(hansard, debate, monkeypatch):
    write_debate(VOTES)
    hansard("run", "debate.yaml")
    other = json.loads(hansard("list", "--json").out)["debates"][1]["debate"]
    bundle = Store.bundle

    def corrupt(self, name):
        if name == other:
            raise DataError("store.corrupt", "a stored line is not bytes")
        return bundle(self, name)

    monkeypatch.setattr(Store, "bundle", corrupt)
    done = hansard("list")
    assert "UNREADABLE" in done.out
    assert "closed, scripted" in done.out


def test_help_of_every_command_gives_its_exit_codes(hansard):
    help_text = hansard("--help").out
    assert "Completion for bash" in help_text
    for name in (
        *("demo", "init", "list", "replay", "report", "resume"),
        *("run", "schema", "show", "verify"),
    ):
        assert f"\n  {name} " in help_text
        assert "Exit codes: 0" in hansard(name, "--help").out.replace("\n  ", " ")
    assert hansard("--version").out.startswith("hansard ")


def test_a_debate_left_open_can_be_replayed(hansard):
    write_debate(dict(zip(NAMES, ("release", "revise", "escalate"), strict=True)))
    assert "come out the same" in hansard("replay", leave_open(turns=4)).out


def used(tokens_in, cached, out, written=0):
    """A vote, and what it used; None is unknown."""
    found = vote("release", tokens=(tokens_in, cached, out), more={"tokens_cache_write": written})
    return lambda _: found


def rows_of_use(ends, **setup):
    found = outcome(of(Debate(Setup(**setup), script(ends)).run()))
    return {name: str(row) for name, row in found if name in ("Cost", "Cache", "Ceiling")}


def test_what_was_used_and_what_the_cache_saved():
    ends = {"critic": used(1000, 400, 10, 300), "r1.proposal.planner:1": Fail("timeout")}
    ends |= {"planner": used(1000, 600, 10), "operator": used(1000, 0, 10)}
    assert rows_of_use(ends, prices=True) == {
        "Cost": "$0.0057 (price: spec)  4 calls, 1 of them failed, tokens 3,000 in, 30 out",
        "Cache": "1,000 tokens in (33.3%), 300 written, saved $0.0021",
    }
    unpriced = rows_of_use(ends)
    assert unpriced["Cost"].startswith("–  4 calls")
    assert unpriced["Cache"].endswith("saved –")
    dearer = {seat: used(1000, 0, 10, 1000) for seat in NAMES}
    assert rows_of_use(dearer, prices=True)["Cache"].endswith("saved -$0.0019")


def test_where_the_ceiling_counts_more_than_the_cost_both_are_said():
    ends = {seat: used(1000, None, 10) for seat in NAMES}
    limits = {"cost_usd": "1"}
    assert "Ceiling" not in rows_of_use(ends, prices=True, limits=limits)
    ends["critic"] = used(None, None, None)
    found = rows_of_use(ends, prices=True, limits=limits)
    assert found["Cost"].startswith("$0.0052 ")
    assert found["Ceiling"].startswith("$0.0462 of $1.00: ")
    assert "Ceiling" not in rows_of_use(ends, prices=True)


def test_a_model_without_a_price_is_named(hansard):
    write_debate(VOTES)
    hansard("run", "debate.yaml")
    assert "No price    scripted:replies.yaml\n" in hansard("show", only_debate()).out
    assert "Spent       3 calls, –\n" in hansard("replay", only_debate(), "--until", "13").out


@pytest.mark.parametrize(
    "args", [["list"], ["show", "ID"], ["status", "ID"], ["run", "debate.yaml"]]
)
def test_a_store_that_others_can_read_is_told(hansard, debate, home, args):
    words = [debate if arg == "ID" else arg for arg in args]
    assert "others can" not in hansard(*words).err
    Path("hansard.db").chmod(0o644)
    done = hansard(*words)
    assert "Note: others can read " in done.err
    assert "chmod 600" in done.err
    assert done.code == 0
