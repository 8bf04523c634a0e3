"""Whatever a model or a user wrote is inert on a terminal and in a pipe."""

import csv
import io
import json
import re
import shutil
from contextlib import redirect_stderr
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.text import Text

from cli_support import (
    leave_open,
    on_a_terminal,
    only_debate,
    process,
    reply,
    write_debate,
    write_format,
)
from exporting import tool
from hansard.cli.console import _Console, _hung, document, fields, table_of
from hansard.cli.summary import _whole
from measuring import traced

ATTACK = "\x1b]0;owned\x07\x1b[2J\x9b31m[red]loud[/red] :smile: \u202egnp.exe\r[link=x]\u2066"
SPELLED = "<U+001B>]0;owned<U+0007><U+001B>[2J<U+009B>31m[red]loud[/red] :smile: <U+202E>gnp"
OURS = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")  # colours, cursor movements and nothing else

COMMANDS = [
    ["list"],
    ["list", "--json"],
    ["show", "ID"],
    ["show", "ID", "--prompt", "r1.critique.planner:1"],
    ["report", "ID"],
    ["report", "ID", "--as", "markdown"],
    ["report", "ID", "--as", "json"],
    ["replay", "ID"],
    ["replay", "ID", "--until", "9"],
    ["verify", "ID"],
    ["verify", "ID", "--json"],
    ["run", "debate.yaml"],
    ["run", "debate.yaml", "--json"],
]


@pytest.fixture
def hostile():
    """A spec whose every text attacks."""
    seats = ("planner", "critic")
    script = {
        "planner": {"*": {"*": [ATTACK, reply("release", ATTACK, ATTACK)]}},
        "critic": {"*": {"*": reply("revise", ATTACK, ATTACK)}},
    }
    write_debate(
        dict.fromkeys(seats, ""),
        script=script,
        question=ATTACK,
        review=ATTACK,
        evidence=[{"id": "paper", "text": ATTACK}],
        debaters=[
            {"id": seat, "model": "scripted:replies.yaml", "persona": ATTACK} for seat in seats
        ],
    )


def assert_inert(text):
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
def test_in_a_pipe(hansard, hostile, args):
    assert hansard("run", "debate.yaml").code == 0
    done = hansard(*[only_debate() if arg == "ID" else arg for arg in args])
    assert done.code == 0
    assert_inert(done.out)
    assert_inert(done.err)


def test_each_line_is_drawn_by_itself():
    """Of many in one piece each was split from a copy of the rest: 500,000 took minutes."""
    written = io.StringIO()
    out = _Console(file=written, width=80)
    drawn = out.render(_hung(Text("one\n  two\n\nthree"), 80))
    assert [row.text for row in drawn if row.text.strip("\n")] == ["one", "  two", "three"]
    out.print(Text("one\n  two\n\nthree"))
    assert written.getvalue() == "one\n  two\n\nthree\n"


@pytest.mark.parametrize("char", ["\x9b", "漢", "\U0001f600"])
def test_json_takes_little_memory_beside_itself(char):
    """A string was made of each character that is not ASCII: 150 bytes for each."""
    many = 400_000
    text, most = traced(lambda: "".join(document({"text": char * many})))
    assert json.loads(text) == {"text": char * many}
    assert_inert(text)
    assert most < 30 * many


@pytest.mark.parametrize("command", ["run", "estimate"])
def test_what_another_library_warns_of(hostile, command):
    Path("seats.py").write_text(f"import warnings\nwarnings.warn({ATTACK!r})\n")
    done = process(command, "debate.yaml", "--models", "seats.py")
    assert f"seats.py:2: UserWarning: {SPELLED}" in done.stderr
    assert_inert(done.stderr)


def test_markup_and_emoji_codes_stay_as_they_were_written(hansard, hostile):
    err = hansard("run", "debate.yaml").err
    assert "<U+001B>[2J<U+009B>31m[red]loud[/red] :smile: <U+202E>gnp.exe" in err
    out = hansard("show", only_debate()).out
    assert "[red]loud[/red] :smile: <U+202E>gnp.exe<U+000D>[link=x]<U+2066>" in out


@pytest.mark.slow
@pytest.mark.parametrize(
    "args",
    [["list"], ["show", "ID"], ["report", "ID", "--as", "json"], ["run", "debate.yaml"]],
    ids=" ".join,
)
def test_on_a_terminal(hansard, hostile, args):
    if args[0] != "run":
        hansard("run", "debate.yaml")
    seen = on_a_terminal(*[only_debate() if arg == "ID" else arg for arg in args])
    assert_inert(OURS.sub(b"", seen).replace(b"\r", b"").decode())


def test_no_color_is_honoured(hansard, hostile):
    seen = on_a_terminal("run", "debate.yaml", NO_COLOR="1")
    assert not re.search(rb"\x1b\[[0-9;]*3[0-9]m", seen)
    assert b"Votes that count" in seen


def test_a_dumb_terminal_gets_plain_lines(hostile):
    seen = on_a_terminal("run", "debate.yaml", TERM="dumb")
    assert b"\x1b" not in seen
    assert b"round 1 proposal critic -> revise" in seen


def test_a_resumed_debate_on_a_terminal(hansard):
    write_debate({"planner": "release", "critic": "release", "operator": "revise"}, threshold=3)
    seen = on_a_terminal("resume", leave_open(turns=4))
    assert b"turn 24 of at most 24" in seen
    assert b"max_rounds_exhausted" in seen


def test_a_narrow_terminal_shortens_the_question_and_nothing_else(hansard, debate):
    write_debate({"planner": "release", "critic": "release"}, question="Shall we " * 30)
    hansard("run", "debate.yaml")
    seen = on_a_terminal("list", COLUMNS="80").decode()
    assert debate[:8] in seen
    assert "…" in seen
    assert "closed, scripted" in seen


FORMATS = ["judged", "moderated", "panel"]
TEXTS = {
    "context": ATTACK,
    "instructions": ATTACK,
    "question": ATTACK,
    "review": ATTACK,
}


def write_hostile(format_):
    """A spec of a format whose every text attacks, the synthesis and the tool's name included."""
    more = {
        "judged": {
            "debaters": [
                {"id": "ann", "label": "ship", "stance": ATTACK, "persona": ATTACK},
                {"id": "bob", "label": "wait", "stance": f"Not {ATTACK}"},
            ],
        },
        "moderated": {"evidence": [{"id": "memo", "text": ATTACK}], "critic": {"persona": ATTACK}},
        "panel": {"evidence": [{"id": "memo", "text": ATTACK}], "judge": {"persona": ATTACK}},
    }
    write_format(format_, ATTACK, **TEXTS, **more[format_])


@pytest.mark.parametrize(
    "args", [args for args in COMMANDS if "--prompt" not in args], ids=" ".join
)
@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_in_a_pipe(hansard, format_, args):
    write_hostile(format_)
    first = hansard("run", "debate.yaml")
    assert first.code == 0
    assert_inert(first.out + first.err)
    assert f": {SPELLED}" in first.err
    if args[0] != "run":
        done = hansard(*[only_debate() if arg == "ID" else arg for arg in args])
        assert done.code == 0
        assert_inert(done.out + done.err)


@pytest.mark.slow
@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_on_a_terminal(format_):
    write_hostile(format_)
    seen = on_a_terminal("run", "debate.yaml")
    assert_inert(OURS.sub(b"", seen).replace(b"\r", b"").decode())


@pytest.mark.parametrize("format_", FORMATS)
def test_what_a_model_says_stays_on_its_line(hansard, format_):
    words = "# Heading\n\n| a | b |\n|---|---|\n#99 decision: release\u2028#98 control: closed"
    write_format(format_, words)
    err = hansard("run", "debate.yaml").err
    assert not re.search("(?m)^#9[89] ", err)
    assert "# Heading | a | b | |---|---| #99 decision: release<U+2028>#98" in err


NAME = "\x1b]0;owned\x07\x1b[2J\u202egnp"
NAMED = [
    ["init", f"new{NAME}"],
    ["keys"],
    ["trust", "list"],
    ["keys", "make", "log"],
    ["export", "ID", "-o", f"x{NAME}.zip"],
    ["page", "ID", "-o", f"x{NAME}.html"],
    ["verify", f"record{NAME}.zip", "--trust", f"none{NAME}"],
    ["verify", f"record{NAME}.zip"],
    ["show", f"record{NAME}.zip"],
    ["replay", f"record{NAME}.zip"],
    ["policy", "init", "-o", f"policy{NAME}"],
    ["show", "ID", "--store", f"sqlite:///store{NAME}.db"],
    ["list", "--store", f"sqlite:///none{NAME}.db"],
]


@pytest.mark.parametrize("args", NAMED, ids=lambda args: " ".join(args[:2]).replace(NAME, ""))
def test_the_name_of_a_file_is_inert(hansard, debate, folder, monkeypatch, args):
    monkeypatch.setenv("HANSARD_HOME", str(folder / f"home{NAME}"))
    hansard("export", debate, "-o", f"record{NAME}.zip")
    Path("hansard.db").chmod(0o644)
    shutil.copy("hansard.db", f"store{NAME}.db")
    if args[0] in ("verify", "show", "replay"):
        Path(f"home{NAME}", "trust.json").unlink()
    done = hansard(*[debate if arg == "ID" else arg for arg in args])
    assert_inert(done.out)
    assert_inert(done.err)
    assert done.out + done.err


CELLS = {
    "=1": "'=1", "+1": "'+1", "-1": "'-1", "@x": "'@x", "＝1": "'＝1", "＋1": "'＋1",
    "－1": "'－1", "＠x": "'＠x", "\t=1": "'\t'=1", "\n=1": "'\n'=1", "\n1": "'\n1",
    'a;"=1;': "a;'\"=1;", 'a\n"=1;': "a\n'\"=1;", 'a;""@x': "a;'\"\"@x", 'a;"b': 'a;"b',
    "a;=1": "a;'=1", "a\t＝1": "a\t'＝1", "a\n=1": "a\n'=1", "a;b": "a;b", "a-1": "a-1", "": "",
}  # fmt: skip


@pytest.mark.parametrize("said", CELLS, ids=ascii)
def test_no_cell_is_a_formula_for_a_spreadsheet(said):
    """Some take full-width signs for the plain ones; some end a cell at `;`, a tab or a line."""
    text = table_of(["said"], [[said]])
    assert list(csv.reader(io.StringIO(text))) == [["said"], [CELLS[said]]]


def on_columns(width, text):
    """The lines that a console of this width prints."""
    printed = io.StringIO()
    _Console(file=printed, width=width, color_system=None).print(text, style="bold")
    return printed.getvalue().split("\n")[:-1]


LIKE_OURS = "Decision    approve  3 of 3 votes"


@pytest.mark.parametrize("gap", [" " * 9, "\t" * 9, "word " * 9, "w" * 68 + " "])
@pytest.mark.parametrize("row", [("Question", 11), ("A", 1)])
def test_what_has_no_room_on_a_line_does_not_begin_the_next_as_a_line_of_ours(row, gap):
    """Whatever the width: somebody may have counted the columns."""
    label, place = row
    for width in (20, 40, 80, 81, 132):
        lines = on_columns(width, fields([(label, f"{gap}{LIKE_OURS}" * 4), ("Cost", "$1")], place))
        assert [line[:1] == " " for line in lines] == [False, *[True] * (len(lines) - 2), False]
        assert all(len(line.rstrip()) <= width for line in lines)
        assert "".join("".join(lines).split()).count("".join(LIKE_OURS.split())) == 4


def test_what_has_room_is_printed_as_it_is():
    assert on_columns(40, Text("Cost  $1\n\n    so")) == ["Cost  $1", "", "    so"]


@pytest.mark.parametrize("gap", ["", " " * 9, "word " * 9, "w" * 68, "字" * 50, "e\u0301" * 90])
def test_what_a_terminal_would_wrap_goes_on_further_in(gap):
    """Of errors, prompts and reports, which are printed as they are in a pipe."""
    for columns in (20, 40, 80, 81):
        for line in (f"error: {gap}{LIKE_OURS}" * 4, f"  {gap}{LIKE_OURS}" * 4, "字"):
            for first, *rest in (
                on_columns(columns, Text(line)),
                tool.wrapped(line, columns).split("\n"),
            ):
                assert line.startswith(first)
                assert all(row.startswith(" ") for row in rest)
                assert cell_len(first) <= columns
                assert "".join([first, *rest]).replace(" ", "") == line.replace(" ", "")


def test_a_prompt_is_indented_where_somebody_looks(hansard):
    """No text of a stranger's record draws a line as one of ours is."""
    words = f"x{' ' * 99}{LIKE_OURS}\n{LIKE_OURS}"
    write_debate({"planner": "release", "critic": "release"}, instructions=words)
    hansard("run", "debate.yaml")
    args = ["show", only_debate(), "--prompt", "r1.proposal.planner:1"]
    assert f"\n{words}\n" in hansard(*args).out
    seen = on_a_terminal(*args).decode()
    assert LIKE_OURS in seen
    assert not re.search(f"(?m)^ ?{LIKE_OURS}", seen)


def test_a_word_too_many_is_inert(hansard):
    """`hansard show *` hands over the names of a stranger's files."""
    name = f"{ATTACK}\n{LIKE_OURS}"
    done = hansard("show", "record.zip", name)
    assert done.code == 2
    assert SPELLED in done.err
    assert f"\n{LIKE_OURS}" not in done.err
    assert_inert(done.err)
    with pytest.raises(SystemExit), redirect_stderr(io.StringIO()) as said:
        tool.main(["record.zip", name])
    assert_inert(said.getvalue().rstrip())
    assert f"\n{LIKE_OURS}" not in said.getvalue()


def test_no_line_of_a_deliverable_begins_as_a_line_of_ours():
    for output in (f"Pay.\n\n{LIKE_OURS}\n INTACT", {"Decision": f"so\n{LIKE_OURS}"}):
        lines = _whole(output).split("\n")
        assert all(re.match("  |$", line) for line in lines)
