"""A spec that a stranger wrote reads its own folder, and what the caller allows."""

import json
from pathlib import Path

import pytest

from cli_support import (
    NAMES,
    files,
    leave_open,
    only_debate,
    process,
    reply,
    write_debate,
    write_format,
)

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


def test_the_start_of_an_id_is_no_way_to_another_debate(hansard):
    write_debate(VOTES)
    assert hansard("run", "debate.yaml").code == 0
    debate = only_debate()
    for name, code in ((debate[:1], 2), (debate[:8], 2), (debate[:-1], 2), (debate, 0)):
        write_debate(VOTES, name="again.yaml", **named("record", name))
        done = hansard("run", "again.yaml", "--store", "sqlite:///hansard.db")
        assert done.code == code
        assert code == 0 or done.err.endswith("[model.recorded]\n")


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
