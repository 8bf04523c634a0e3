"""A spec that a stranger wrote reads its own folder, and what the caller allows."""

import json
import shutil
from pathlib import Path

import pytest

from cli_support import files, leave_open, only_debate, process, reply, write_debate, write_format
from formats import NAMES
from hansard.errors import DataError
from hansard.store.application import Store

SCRIPT = {seat: {"*": {"*": reply("release")}} for seat in (*NAMES, "synthesizer")}
VOTES = dict(zip(NAMES, ("release", "revise", "revise"), strict=True))
SECRET = "hunter2-the-secret"


@pytest.fixture
def beside(tmp_path, monkeypatch):
    """A folder with a secret beside the one in which the spec is."""
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "secret.md").write_text(SECRET)
    (tmp_path / "beside" / "replies.yaml").write_text(f"{SECRET}: {SECRET}\n")
    (tmp_path / "beside" / "schema.json").write_text(f'{{"{SECRET}" 1}}')
    (tmp_path / "spec").mkdir()
    monkeypatch.chdir(tmp_path / "spec")
    return tmp_path / "beside"


def named(kind, name):
    """Return the fields of a spec that names a file as its evidence, script, template or schema."""
    return {
        "evidence": {"evidence": [{"id": "memo", "file": name}]},
        "script": {"debaters": [{"id": seat, "model": f"scripted:{name}"} for seat in NAMES]},
        "template": {"prompts": {"protocol": name}},
        "schema": {"synthesizer": {"model": "scripted:replies.yaml"}, "output_schema": name},
        "record": {"debaters": [{"id": seat, "model": f"recorded:{name}"} for seat in NAMES]},
    }[kind]


FILES = {
    "evidence": "secret.md",
    "script": "replies.yaml",
    "template": "secret.md",
    "schema": "schema.json",
    "record": "record.zip",
}
COMMANDS = [
    ["run"],
    ["estimate"],
    ["policy", "show", "--spec"],
    ["policy", "approve", "-o", "p", "--spec"],
]
# `estimate` opens no record, and `policy` reads the templates alone.
READS = [(kind, *COMMANDS[:2]) for kind in ("evidence", "script", "schema")]
CASES = [
    *((kind, command) for kind, *commands in READS for command in commands),
    *(("template", command) for command in COMMANDS),
    ("record", COMMANDS[0]),
]


@pytest.mark.parametrize(("kind", "command"), CASES)
@pytest.mark.parametrize("way", ["up", "absolute", "link"])
def test_a_file_outside_is_refused_by_name(hansard, home, beside, kind, command, way):
    (beside / "record.zip").write_bytes(SECRET.encode())
    name = {
        "up": f"../beside/{FILES[kind]}",
        "absolute": str(beside / FILES[kind]),
        "link": FILES[kind],
    }[way]
    if way == "link":
        Path("linked").symlink_to(beside)
        name = f"linked/{FILES[kind]}"
    write_debate(VOTES, script=SCRIPT, **named(kind, name))
    before = files()
    done = hansard(*command, "debate.yaml")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {name} is hidden or outside the spec's folder")
    assert "--allow DIR" in done.err
    assert done.err.endswith("[spec.file_outside]\n")
    assert SECRET not in done.err
    assert files() == before


@pytest.mark.parametrize("kind", ["script", "schema"])
def test_no_error_quotes_a_file_that_is_not_what_the_spec_says(hansard, beside, kind):
    write_debate(VOTES, script=SCRIPT, **named(kind, f"../beside/{FILES[kind]}"))
    done = hansard("run", "debate.yaml", "--allow", "../beside")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: ../beside/{FILES[kind]}")
    assert SECRET not in done.err


def test_allowed_folders_are_read(hansard, beside):
    write_debate(VOTES, **named("evidence", "../beside/secret.md"))
    assert hansard("estimate", "debate.yaml", "--allow", "elsewhere").code == 2
    assert (
        hansard("estimate", "debate.yaml", "--allow", "elsewhere", "--allow", str(beside)).code == 0
    )
    done = hansard("run", "debate.yaml", "--allow", "../beside")
    assert done.code == 0
    shown = hansard("show", only_debate(), "--prompt", "r1.proposal.planner:1")
    assert SECRET in shown.out


@pytest.mark.parametrize("command", ["run", "estimate", "gate"])
def test_a_folder_without_a_name_is_not_the_working_directory(hansard, beside, command):
    """As `--allow "$UNSET"` gives one."""
    done = hansard(command, "debate.yaml", "--allow", "")
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith("[spec.allow]\n")


def test_keys_are_not_evidence_whatever_is_allowed(hansard, beside, home):
    assert hansard("keys", "make", "export").code == 0
    write_debate(VOTES, **named("evidence", str(home / "keys" / "export.pem")))
    done = hansard("run", "debate.yaml", "--allow", "/")
    assert done.code == 2
    assert done.err.endswith("[spec.file_keys]\n")


def test_a_resumed_debate_reads_what_is_allowed_again(hansard, beside):
    write_debate(VOTES)
    Path("replies.yaml").rename(beside / "replies.yaml")
    Path("replies.yaml").symlink_to(beside / "replies.yaml")
    done = hansard("run", "debate.yaml")
    assert done.err.endswith("[spec.file_outside]\n")
    Path("replies.yaml").unlink()
    (beside / "replies.yaml").rename("replies.yaml")
    debate = leave_open()
    Path("replies.yaml").rename(beside / "replies.yaml")
    Path("replies.yaml").symlink_to(beside / "replies.yaml")
    assert hansard("resume", debate).err.endswith("[spec.file_outside]\n")
    assert hansard("resume", debate, "--allow", str(beside)).code == 0


def test_the_folder_that_a_store_names_is_not_taken_on_trust(hansard, tmp_path, monkeypatch):
    for name in ("spec", "store", "else"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "spec")
    write_debate(VOTES)
    debate = leave_open()
    Path("hansard.db").rename("../store/hansard.db")
    monkeypatch.chdir(tmp_path / "else")
    again = ("resume", debate, "--store", "sqlite:///../store/hansard.db")
    done = hansard(*again)
    assert (done.code, done.out) == (2, "")
    assert "below neither the store nor the working directory" in done.err
    assert done.err.endswith("[spec.file_outside]\n")
    monkeypatch.chdir(tmp_path)  # the spec's folder is below it
    assert hansard("resume", debate[:8], "--store", "sqlite:///store/nowhere.db").code == 2
    assert hansard("resume", debate, "--store", "sqlite:///store/hansard.db").code == 0


def test_the_folder_that_a_store_names_can_be_allowed(hansard, tmp_path, monkeypatch):
    for name in ("spec", "store"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "spec")
    write_debate(VOTES)
    debate = leave_open()
    Path("hansard.db").rename("../store/hansard.db")
    monkeypatch.chdir(tmp_path / "store")
    assert hansard("resume", debate).code == 2
    assert hansard("resume", debate, "--allow", "../spec").code == 0


def test_the_start_of_an_id_is_no_way_to_another_debate(hansard):
    write_debate(VOTES)
    assert hansard("run", "debate.yaml").code == 0
    debate = only_debate()
    for name, code in ((debate[:1], 2), (debate[:8], 2), (debate[:-1], 2), (debate, 0)):
        write_debate(VOTES, name="again.yaml", **named("record", name))
        done = hansard("run", "again.yaml", "--store", "sqlite:///hansard.db")
        assert done.code == code
        assert code == 0 or done.err.endswith("[model.recorded]\n")


@pytest.mark.parametrize("length", [8, 36])
def test_no_file_takes_the_place_of_a_debate(hansard, debate, zipped, length):
    """A stranger who can write here cannot have another record answer for the one that is asked."""
    name = debate[:length]
    shutil.copyfile(zipped, name)
    for command in ("verify", "status", "show", "replay", "report"):
        done = hansard(command, name)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"error: {name} names a debate of the store, and a file")
        assert done.err.endswith("[input.both]\n")
        assert hansard(command, f"./{name}").code == 0
    elsewhere = hansard("verify", name, "--store", "sqlite:///elsewhere.db")
    assert (elsewhere.code, "INTACT" in elsewhere.out) == (0, True)
    Path(name).unlink()
    assert hansard("status", name).code == 0


def test_nor_while_the_store_does_not_answer(hansard, debate, zipped, monkeypatch):
    shutil.copyfile(zipped, debate[:8])

    def away(*_):
        raise DataError("store.unreachable", "the server does not answer")

    monkeypatch.setattr(Store, "find", away)
    done = hansard("verify", debate[:8])
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith("[store.unreachable]\n")


def test_a_spec_from_a_pipe_has_no_folder(tmp_path):
    write_format("panel", evidence=["memo.md"])
    Path("memo.md").write_text("A memo.")
    spec = Path("debate.yaml").read_text()
    done = process("estimate", "/dev/stdin", stdin=spec)
    assert done.returncode == 2
    assert "memo.md, but the spec itself is not a file" in done.stderr
    absolute = spec.replace("memo.md", f"{tmp_path}/memo.md").replace(
        "scripted:replies", f"scripted:{tmp_path}/replies"
    )
    done = process("estimate", "/dev/stdin", "--json", "--allow", str(tmp_path), stdin=absolute)
    assert json.loads(done.stdout)["format"] == "panel"


ATTACK = "\x1b]0;owned\x07\x1b[2J %s {0} {question} [red]x"
SPELLED = "<U+001B>]0;owned<U+0007><U+001B>[2J %s {0} {question} [red]x"
PLACES = {
    "a field": {ATTACK: 1},
    "a document": {"evidence": [{"id": "memo", "file": ATTACK}]},
    "a document's id": {"evidence": [ATTACK]},
    "a template": {"prompts": {"protocol": ATTACK}},
    "a template's role": {"prompts": {ATTACK: "x"}},
    "a price": {"prices": {ATTACK: {"input": "1", "output": "1"}}},
    "an alias": {"models": {ATTACK: "python:x"}},
    "a ceiling": {"limits": {ATTACK: 1}},
    "a type": {"agent_types": {ATTACK: "x"}},
}


@pytest.mark.parametrize("place", PLACES)
def test_what_a_spec_says_is_only_text_in_an_error(hansard, place):
    write_debate(VOTES, **PLACES[place])
    done = hansard("run", "debate.yaml")
    assert (done.code, done.out) == (2, "")
    assert SPELLED in done.err
    assert "\x1b" not in done.err


@pytest.mark.parametrize(
    "text", ["%s %(x)s", "{0} {question}", "{{options}}", "$HOME `id`", "[b]x[/b]"]
)
def test_what_a_spec_says_is_never_a_pattern_to_be_filled_in(hansard, text):
    write_debate(VOTES, question=text, review=text, context=text)
    assert hansard("run", "debate.yaml").code == 0
    prompt = hansard("show", only_debate(), "--prompt", "r1.proposal.planner:1").out
    assert prompt.count(text) == 2
    assert hansard("list", "--json").out.count(json.dumps(text)) == 1


@pytest.mark.parametrize(
    "model", ["python:os.system", "custom:os:system", "python:hansard.cli.main:run"]
)
def test_a_spec_imports_nothing(hansard, model):
    write_debate(VOTES, model=model, debaters=[{"id": seat} for seat in NAMES])
    done = hansard("run", "debate.yaml")
    assert done.code == 2
    assert done.err.endswith("[model.not_given]\n")
