"""A checkpoint that the reader kept, asked of both command-line verifiers (FORMAT.md §16, §19).

The kit's cases are made of an export and a trust file alone.
"""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

import verify as tool
from conformance_kit.debates import decided
from conformance_kit.exports import export, zip_of
from conformance_kit.records import KEYS, STRANGER, digest, signer, trust
from conformance_kit.registers import Register, logged, register_of, replace_line
from exporting import summary
from hansard.cli.main import cli
from hansard.record.register import Line, tag

RECORD = decided()
REGISTER = register_of(RECORD)
EARLIER = replace(REGISTER, lines=REGISTER.lines[:3])
NOT_COMPARED = "not compared with the checkpoint that you kept"


@pytest.fixture
def ask(tmp_path, capsys):
    """What both verifiers say of an export: code, and the document that they agree on."""

    def asked(files, kept, *words, keys=None):
        paths = [tmp_path / name for name in ("export.zip", "kept.txt", "trust.json")]
        for path, data in zip(paths, (zip_of(files), kept, keys or trust()), strict=True):
            path.write_bytes(data)
        options = [str(paths[0]), "--trust", str(paths[2]), "--since", str(paths[1]), *words]
        code = tool.main([*options, "--json"])
        standalone = capsys.readouterr().out
        package = CliRunner().invoke(cli, ["verify", *options, "--json"], prog_name="hansard")
        assert package.exit_code == code
        if code == 2:
            assert standalone == package.stdout == ""
            return code, None
        one, two = json.loads(standalone), json.loads(package.stdout)
        assert summary(one) == summary(two)
        return code, one

    return asked


def test_the_checkpoint_of_the_export_itself(ask):
    code, said = ask(logged(RECORD, REGISTER), REGISTER.checkpoint())
    assert (code, said["verdict"], said["level"]) == (0, "INTACT, ANCHORED", 2)
    assert said["caveats"] == ["register: line 4 of 5, other lines not checked"]
    assert said["place"]["kept"] == "same"


@pytest.mark.parametrize(
    ("kept", "how"),
    [
        (EARLIER, "size"),
        (replace(REGISTER, lines=[*REGISTER.lines, Line(5, "opened", tag("x"), "0" * 64)]), "size"),
        (replace(REGISTER, origin="example.org/log/2"), "origin"),
    ],
)
def test_one_that_an_export_cannot_be_compared_with(ask, kept, how):
    """Level 2 is asked for, so the exit code says that it was not reached."""
    code, said = ask(logged(RECORD, REGISTER), kept.checkpoint())
    assert (code, said["verdict"], said["level"]) == (1, "INTACT", 1)
    assert said["caveats"][1] == NOT_COMPARED
    assert said["place"]["kept"] == how
    assert ask(logged(RECORD, REGISTER), kept.checkpoint(), "--require-level", "1")[0] == 0


def test_an_export_without_proofs(ask):
    code, said = ask(export(RECORD), REGISTER.checkpoint())
    assert (code, said["level"], said["place"]) == (1, 1, None)
    assert said["caveats"] == ["register not checked", NOT_COMPARED]


def test_a_fork(ask):
    """Two checkpoints of one size: both notes are the proof."""
    forked = replace_line(REGISTER, 4, head=digest(b"a fourth"))
    code, said = ask(logged(RECORD, REGISTER), forked.checkpoint())
    assert (code, said["verdict"]) == (1, "ALTERED")
    (found,) = said["findings"]
    assert found["code"] == "17.fork"
    assert found["expected"] == forked.checkpoint().decode()
    assert found["found"] == REGISTER.checkpoint().decode()


def test_level_2_needs_level_1(ask):
    files = logged(RECORD, replace(REGISTER, by=signer(KEYS["log"].name, "stranger")))
    code, said = ask(files, REGISTER.checkpoint())
    assert (code, said["level"], said["place"]["kept"]) == (1, 0, "same")


@pytest.mark.parametrize(
    "kept",
    [
        b"",
        Register(REGISTER.lines, by=STRANGER).checkpoint(),
        Register(REGISTER.lines, origin="example.com/log").checkpoint(),
        b"x" * 70_000,
    ],
)
def test_what_is_no_checkpoint_of_a_trusted_log_is_wrong_use(ask, kept):
    assert ask(logged(RECORD, REGISTER), kept)[0] == 2


def test_the_file_of_a_register(tmp_path, capsys):
    """The standalone verifier reads a whole register against the checkpoint of a reader."""

    def asked(lines, kept):
        files = {
            "register.jsonl": b"".join(line.data + b"\n" for line in lines),
            "checkpoint": REGISTER.checkpoint(),
            "kept": kept,
            "trust.json": trust(),
        }
        for name, data in files.items():
            (tmp_path / name).write_bytes(data)
        named = {"--checkpoint": "checkpoint", "--since": "kept", "--trust": "trust.json"}
        words = [str(tmp_path / "register.jsonl")]
        words += [word for key, name in named.items() for word in (key, str(tmp_path / name))]
        return tool.main(words), capsys.readouterr().out

    code, said = asked(REGISTER.lines, EARLIER.checkpoint())
    assert code == 0
    assert "5 lines, which give the root of the checkpoint" in said
    assert "INTACT, ANCHORED" in said
    code, said = asked(
        REGISTER.lines, replace_line(EARLIER, 0, head="0" * 64, tag=tag("0" * 64)).checkpoint()
    )
    assert code == 1
    assert "17.fork at line 3" in said
    code, said = asked(REGISTER.lines[:4], EARLIER.checkpoint())
    assert code == 1
    assert "17.size at the register" in said
    assert tool.main([str(tmp_path), "--checkpoint", str(tmp_path / "checkpoint")]) == 2
