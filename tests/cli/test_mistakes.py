"""Wrong use: one line that says what to mend, its code, exit 2, and nothing is created."""

import errno
import re
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path
from uuid import UUID

import pytest
import yaml

from cli_support import files, leave_open, only_debate, write_debate, write_format
from formats import NAMES, STANCES
from hansard import ConsensusResult, private
from hansard.rules.formats import FORMATS
from hansard.schemas import render

VOTES = dict(zip(NAMES, ("release", "revise", "revise"), strict=True))
SEAT = {"id": "one", "model": "scripted:replies.yaml"}

SPECS = {
    "unknown field": ({"treshold": 2}, "spec.unknown_field"),
    "missing evidence": ({"evidence": ["nowhere.md"]}, "spec.evidence_missing"),
    "duplicate id": ({"debaters": [SEAT, SEAT]}, "spec.duplicate"),
    "one debater": ({"debaters": [SEAT]}, "spec.too_few"),
    "cap 0": ({"max_rounds": 0}, "spec.out_of_range"),
    "threshold 0": ({"threshold": 0}, "spec.out_of_range"),
    "threshold 4 of 3": ({"threshold": 4}, "spec.threshold"),
    "no threshold": ({"threshold": None}, "spec.threshold"),
    "no cap": ({"max_rounds": None}, "spec.missing_field"),
    "no options": ({"options": []}, "spec.too_few"),
    "no question": ({"question": None}, "spec.missing_field"),
    "unknown format": ({"format": "duel"}, "spec.invalid_value"),
    "unknown model": (
        {"debaters": [SEAT, {"id": "two", "model": "gpt-9"}]},
        "spec.unknown_model",
    ),
    "no script": (
        {"debaters": [SEAT, {"id": "two", "model": "scripted:nowhere.yaml"}]},
        "spec.unreadable",
    ),
    "no callable": ({"debaters": [SEAT, {"id": "two", "model": "python:f"}]}, "model.not_given"),
    "no record": (
        {"debaters": [SEAT, {"id": "two", "model": "recorded:abc"}]},
        "model.recorded",
    ),
    "no prompt": ({"prompts": {"debater": "nowhere.md"}}, "spec.prompt_missing"),
    "hostile field": ({"\x1b[31m[red]": 1}, "spec.unknown_field"),
}


def assert_refused(done, code, exit_code=2):
    assert done.code == exit_code
    assert done.out == ""
    assert done.err.startswith("error: ")
    assert done.err.endswith(f" [{code}]\n")
    assert done.err.count("\n") == 1
    assert "\x1b" not in done.err


NAMED = {
    "gpt-9": "did you mean openai:gpt-9?",
    "maker/m": "did you mean openrouter:maker/m?",
    "azure-openai:mine": "did you mean azure:mine?",
    "strnog": "did you mean strong?",
    "opneai:" + "m" * 200: "m…?",
}


@pytest.mark.parametrize("model", NAMED)
def test_a_wrong_model_is_asked_what_it_meant(hansard, model):
    write_debate(
        VOTES,
        models={"strong": "scripted:replies.yaml"},
        debaters=[SEAT, {"id": "two", "model": model}],
    )
    done = hansard("estimate", "debate.yaml")
    assert_refused(done, "spec.unknown_model")
    assert done.err.endswith(f"{NAMED[model]} [spec.unknown_model]\n")
    assert len(done.err) < 260


@pytest.mark.parametrize("case", SPECS)
def test_a_spec_that_cannot_be_run(hansard, case):
    fields, code = SPECS[case]
    write_debate(VOTES, **fields)
    before = files()
    assert_refused(hansard("run", "debate.yaml"), code)
    assert files() == before


SLIPS = {
    "a judged debate without a judge": (
        "judged",
        {"judge": False},
        "spec.judge",
        "a judged debate needs its judge; remove the line",
    ),
    "a debater without a stance": (
        "judged",
        {"debaters": [STANCES[0], {"id": "bob"}]},
        "spec.missing_field",
        "debaters.1.stance: this field is required",
    ),
    "options in a judged debate": (
        "judged",
        {"options": ["yes", "no"]},
        "spec.unknown_field",
        "options: unknown field",
    ),
    "one position": (
        "moderated",
        {"positions": [STANCES[0]]},
        "spec.positions",
        "`positions` lists only one; list two or more, or none",
    ),
    "four rounds of moderation": (
        "moderated",
        {"max_rounds": 4},
        "spec.max_rounds",
        "`max_rounds` is 4, but a moderated debate has at most 3; lower it",
    ),
    "a ceiling on cost without a price": (
        "moderated",
        {"limits": {"cost_usd": 0.5}},
        "spec.price_unknown",
        "a cost ceiling needs the price of scripted:replies.yaml; state it under `prices`",
    ),
    "personas for others": (
        "panel",
        {"debaters": None, "agents": 3, "personas": ["You count.", "You doubt."]},
        "spec.personas",
        "`personas` lists 2, but there are 3 debaters; list one for each",
    ),
    "max_rounds in a panel": (
        "panel",
        {"max_rounds": 2},
        "spec.unknown_field",
        "max_rounds: unknown field",
    ),
    "a pick without a judge": (
        "panel",
        {"judge": None, "resolution": "pick"},
        "spec.judge",
        "`resolution: pick` needs a `judge`; add one",
    ),
    "a schema that nobody fills in": (
        "panel",
        {"synthesizer": False, "output_schema": {"type": "object"}},
        "spec.synthesizer",
        "`output_schema` needs a synthesizer, but `synthesizer` is false",
    ),
    "a schema that is not there": (
        "judged",
        {"output_schema": "nowhere.json"},
        "spec.unreadable",
        "there is no file nowhere.json",
    ),
    "a schema that is none": (
        "judged",
        {"output_schema": {"type": "thing"}},
        "spec.output_schema",
        "the output_schema is not a valid JSON Schema",
    ),
    "tools": (
        "panel",
        {"tools": ["lookup"]},
        "tool.not_given",
        "tool lookup is a Python function: pass tools={'lookup': …} from Python",
    ),
    "a seat of a function": (
        "judged",
        {"judge": {"model": "custom:mine"}},
        "model.not_given",
        "model custom:mine is a Python callable",
    ),
    "no model": ("panel", {"model": None}, "spec.model", "ann has no model"),
    "a seat without replies": (
        "panel",
        {"judge": {"id": "chair"}},
        "spec.script",
        "replies.yaml has no replies for chair; add them",
    ),
    "a ceiling of nothing": (
        "judged",
        {"limits": {"calls": 0}},
        "spec.out_of_range",
        "limits.calls",
    ),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_in_the_spec_of_each_format(hansard, slip):
    format_, fields, code, words = SLIPS[slip]
    write_format(format_, **fields)
    if code == "spec.price_unknown":
        script = Path("replies.yaml")
        script.write_text(yaml.safe_dump({**yaml.safe_load(script.read_text()), "price": None}))
    before = files()
    done = hansard("run", "debate.yaml")
    assert_refused(done, code)
    assert words in done.err
    assert files() == before


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"question: [", "spec.yaml"),
        (b"a: 1\na: 2", "spec.yaml"),
        (b"", "spec.yaml"),
        (b"- 1", "spec.yaml"),
        (b"question: \x00", "spec.yaml"),
        (b"\xff\xfe\xfa", "spec.unreadable"),
        (b"[" * 5000, "spec.yaml"),
        (b"&a [*a]", "spec.yaml"),
        (b"question: !!python/object/apply:os.system [id]", "spec.yaml"),
    ],
)
def test_a_spec_that_cannot_be_read(hansard, text, code):
    Path("debate.yaml").write_bytes(text)
    assert_refused(hansard("run", "debate.yaml"), code)
    assert files() == ["debate.yaml"]


@pytest.mark.parametrize("name", ["nowhere.yaml", "."])
def test_a_spec_that_is_no_file(hansard, name):
    assert_refused(hansard("run", name), "spec.unreadable")


READING = [
    ["list"],
    ["list", "--json"],
    ["show", "abc"],
    ["report", "abc"],
    ["replay", "abc"],
    ["verify", "abc"],
    ["resume", "abc"],
]


@pytest.mark.parametrize("args", READING)
def test_a_store_that_is_not_there(hansard, args):
    assert_refused(hansard(*args), "store.missing")
    assert files() == []


@pytest.mark.parametrize("args", [*READING, ["run", "debate.yaml"]])
@pytest.mark.parametrize(
    ("content", "code"),
    [(b"no database at all" * 100, "store.corrupt"), (None, "store.foreign")],
)
def test_a_store_that_is_none(hansard, args, content, code):
    write_debate(VOTES)
    path = Path("hansard.db")
    if content:
        path.write_bytes(content)
    else:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE mine (a)")
    before = path.read_bytes()
    assert_refused(hansard(*args), code)
    assert path.read_bytes() == before


@pytest.mark.parametrize("args", [["list"], ["verify", "a"], ["run", "debate.yaml"]])
def test_a_store_whose_pages_are_damaged(hansard, debate, args):
    path = Path("hansard.db")
    whole = path.read_bytes()
    path.write_bytes(whole[:200] + b"\xaa" * (len(whole) - 200))
    done = hansard(*args)
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[-1].endswith(("[store.failed]", "[store.corrupt]"))
    assert "Traceback" not in done.err


@pytest.mark.parametrize("url", ["hansard.db", "sqlite:///", "postgres://x/y", ""])
def test_a_store_that_is_no_url(hansard, url):
    done = hansard("list", "--store", url)
    assert done.code == 2
    assert done.err.startswith("error: ")
    assert files() == []


def test_a_store_in_no_folder(hansard):
    write_debate(VOTES)
    assert_refused(hansard("run", "debate.yaml", "--store", "sqlite:///a/b.db"), "store.missing")


@pytest.mark.parametrize("command", ["show", "report", "replay", "verify", "resume"])
def test_an_id_that_names_no_debate_or_several(hansard, debate, command):
    assert_refused(hansard(command, "zzz"), "store.unknown")
    assert_refused(hansard(command, ""), "store.unknown")
    other = UUID(f"{debate[:3]}{'0' * 5}{debate[8:]}").hex
    with closing(sqlite3.connect("hansard.db")) as connection, connection:
        first = "SELECT ?, 1, topic, state FROM stored_events WHERE originator_version = 1"
        connection.execute(f"INSERT INTO stored_events {first}", (other,))
    assert_refused(hansard(command, debate[:3]), "store.ambiguous")


def test_a_call_or_an_entry_that_is_not_there(hansard, debate):
    assert_refused(hansard("show", debate, "--prompt", "r9.proposal.planner:1"), "prompt.unknown")
    assert_refused(hansard("replay", debate, "--until", "999"), "replay.until")


def test_a_prompt_whose_texts_are_gone(hansard, debate, monkeypatch):
    monkeypatch.setattr("hansard.api.records.Record.text", lambda *_: None)
    done = hansard("show", debate, "--prompt", "r1.proposal.planner:1")
    assert_refused(done, "prompt.gone")


def test_an_unknown_schema(hansard):
    assert_refused(hansard("schema", "nothing"), "schema.unknown")
    assert_refused(hansard("schema", "spec", "--all", "there"), "schema.name_and_all")
    Path("file").touch()
    assert_refused(hansard("schema", "--all", "file"), "schema.failed")


def test_a_folder_that_is_not_empty(hansard):
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("keep me")
    assert_refused(hansard("init", "mine"), "init.not_empty")
    assert [path.name for path in Path("mine").iterdir()] == ["notes.txt"]


def test_a_folder_that_cannot_be_written(hansard):
    Path("file").write_text("")
    assert_refused(hansard("init", "file"), "init.failed")
    assert_refused(hansard("init", "file/below"), "init.failed")


def test_an_example_that_could_not_be_written_whole_is_not_there(hansard, monkeypatch):
    write, room = private.Folder.write, iter(range(4))

    def full(*given):
        if next(room, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(*given)

    Path("mine").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(private.Folder, "write", full)
        assert_refused(hansard("init", "mine"), "init.failed")
    assert [*Path("mine").iterdir()] == []
    assert hansard("init", "mine").code == 0


def test_an_example_is_neither_written_nor_taken_away_elsewhere(hansard, monkeypatch):
    """Not even where somebody puts a link to another example in the place of its folder."""
    assert hansard("init", "other").code == 0
    before = sorted(Path("other").rglob("*"))

    def swapped(name):
        Path("mine").rename("taken")
        Path("mine").symlink_to("other")
        return render(name)

    monkeypatch.setattr("hansard.cli.starting.render", swapped)
    hansard("init", "mine")
    assert sorted(Path("other").rglob("*")) == before
    assert len(list(Path("taken").rglob("*"))) == len(before)


@pytest.mark.parametrize("args", [["nonsense"], ["run"], ["report", "x", "--as", "pdf"]])
def test_a_command_line_that_cannot_be_parsed(hansard, args):
    done = hansard(*args)
    assert done.code == 2
    assert "Usage:" in done.err


def test_a_mistake_of_ours(hansard, debate, monkeypatch):
    def broken(_):
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(ConsensusResult, "to_report", broken)
    done = hansard("report", debate)
    assert_refused(done, "internal", 70)
    assert "bug in Hansard: ZeroDivisionError in cli/reading.py, line" in done.err
    assert "secret" not in done.err
    done = hansard("report", debate, env={"HANSARD_DEBUG": "1"})
    assert done.code == 70
    assert "Traceback" in done.err


READING = [
    ("list",),
    ("show", "ID"),
    *(("report", "ID", "--as", form) for form in ("text", "markdown", "json", "source")),
]
HELPERS: dict[str, list[tuple[str, ...]]] = {
    "hansard.report.notes.of_event": READING,
    "hansard.report.common._seats": READING,
    "hansard.report.replayed.standing": [("replay", "ID", "--until", "9")],
    "hansard.report.prompt.Renderer.messages": [("show", "ID", "--prompt", "r1.proposal.critic:1")],
    "hansard.page.write.shell": [("page", "ID", "-o", "x.html"), ("export", "ID", "-o", "x.zip")],
}


@pytest.mark.parametrize("kind", [KeyError, TypeError])
@pytest.mark.parametrize(
    ("helper", "command"),
    [(helper, command) for helper, commands in HELPERS.items() for command in commands],
    ids=lambda row: row if isinstance(row, str) else " ".join(row),
)
def test_a_bug_of_ours_is_never_called_bad_data(
    hansard, debate, home, monkeypatch, helper, command, kind
):
    def broken(*_, **__):
        raise kind("secret")

    for role in ("log", "export"):
        hansard("keys", "make", role)
    monkeypatch.setattr(helper, broken)
    args = [debate if arg == "ID" else arg for arg in command]
    done = hansard(*args)
    assert_refused(done, "internal", 70)
    assert f"bug in Hansard: {kind.__name__} in " in done.err
    assert "nothing that was recorded is lost or changed" in done.err
    assert "secret" not in done.err
    debugged = hansard(*args, env={"HANSARD_DEBUG": "1"})
    assert debugged.code == 70
    assert f"{kind.__name__}: " in debugged.err
    assert hansard("verify", debate).code == 0


def test_ctrl_c_elsewhere(hansard, debate, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(ConsensusResult, "to_report", interrupted)
    done = hansard("report", debate)
    assert (done.code, done.out, done.err) == (130, "", "interrupted\n")


def test_an_open_debate_is_said_to_be_open(hansard):
    write_debate(VOTES)
    debate = leave_open(turns=1)
    assert "none yet: still open" in hansard("show", debate).out
    assert "open: a longer version may exist" in hansard("verify", debate).out.splitlines()[-1]
    assert "open" in hansard("list").out
    assert "decision: none" in hansard("report", debate).out


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("proposal", "proposals", "there is no phase 'proposals'"),
        ("planner", "planer", "has no replies for planner"),
        ("'*'", "one", "is no round"),
    ],
)
def test_a_slip_in_a_script_is_found_before_the_debate_begins(hansard, old, new, words):
    phases = {"proposal": {"stance": "s", "rationale": "r", "vote": "release"}}
    replies = {name: {"'*'": phases} for name in NAMES}
    write_debate(VOTES)
    text = yaml.safe_dump({"replies": replies}).replace("'''*'''", "'*'").replace(old, new)
    Path("replies.yaml").write_text(text)
    done = hansard("run", "debate.yaml")
    assert_refused(done, "spec.script")
    assert words in done.err


def test_init_of_a_format_that_is_not_there(hansard):
    done = hansard("init", "mine", "--format", "duel")
    assert done.code == 2
    assert f"'duel' is not one of {', '.join(map(repr, FORMATS))}" in done.err
    assert files() == []


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("batch", "."), "spec.unreadable"),
        (("batch", "/"), "spec.unreadable"),
        (("verify", "n/" * 30_000), "input.unreadable"),
    ],
)
def test_a_path_without_a_name_or_end_is_a_mistake_and_no_bug(hansard, args, code):
    done = hansard(*args)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert done.err.endswith(f"[{code}]\n")


def test_a_suggested_command_takes_no_path_for_an_option(hansard, home):
    def type_it(shown):
        step = re.search("hansard ((?:run|verify) [^;\n]+)", shown)
        return hansard(*shlex.split(step[1])).code

    done = hansard("init", "--", "-my debate")
    assert type_it(done.out) == 0
    debate = only_debate()
    for command in ("export", "page"):
        done = hansard(command, debate, "-o", f"-{command}")
        assert type_it(done.err) == 0
    assert " ./-export " in hansard("show", "--", "./-export").err
    done = hansard("batch", "--", "-my debate/debate.yaml")
    assert "hansard batch report my-debate" in done.err


def test_a_working_directory_that_is_gone_is_named(hansard, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    Path.cwd().rmdir()
    done = hansard("list")
    assert (done.code, done.err.split(";")[0]) == (2, "error: the working directory was removed")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["show", "x" * 100_000], "that begins with 'x…' [store.unknown]"),
        (["schema", "x" * 100_000], "there is no schema 'x…'; there are spec, script, "),
        (["list", "--since", "x" * 100_000], "since is 'x…': write a time"),
        (["run", "x" * 100_000], "x… cannot be read: File name too long"),
        (["x" * 100_000], "No such command 'x…'."),
        (
            ["list", "--store", "x y " * 25_000],
            "does not name a store; write sqlite:///PATH/FILE.db",
        ),
    ],
)
def test_what_is_wrong_stands_behind_a_long_name(hansard, words, says):
    write_debate(VOTES)
    hansard("run", "debate.yaml")
    failed = hansard(*words)
    assert failed.code == 2
    assert len(failed.err) < 4_500
    assert says in re.sub("x{199,}…x*", "x…", failed.err.replace("\n", " "))
