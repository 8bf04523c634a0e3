"""Folders of exports: the kit's cases, and what a kit, which is made of files, cannot show."""

import json
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import conformance
import verify
from conformance_kit import runner
from exporting import summary
from hansard.cli.main import cli
from kit import STORED, folder

ROWS = {row.name: row for row in runner.read_folders(STORED)}
every_case = pytest.mark.parametrize("name", ROWS)


def case(name):
    return runner.case_of(folder(), ROWS[name])


def ask_both(words, capsys):
    """The exit code and the documents, which both verifiers print alike."""
    code = verify.main([*words, "--json"])
    ours = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    package = CliRunner().invoke(cli, ["verify", *words, "--json"], prog_name="hansard")
    theirs = [json.loads(line) for line in package.stdout.splitlines()]
    assert (code, ours[-1]) == (package.exit_code, theirs[-1])
    assert list(map(alike, ours[:-1])) == list(map(alike, theirs[:-1]))
    return code, ours


def alike(row):
    result = row["result"] and summary(row["result"])
    return row["name"], row["error"] is None, row["level"], result


@every_case
def test_both_verifiers(name, capsys):
    row = case(name)
    code, documents = ask_both([str(row.export), "--trust", str(row.trust)], capsys)
    answer = runner.read_answer(json.dumps(documents[-1]), code, row.row.place)
    assert list(runner.disagreements(ROWS[name].expected, answer)) == []


def test_the_kit_has_the_cases_of_the_table():
    assert {path.name for path in (folder() / "folders").iterdir()} == ROWS.keys()
    assert (folder() / "folders.tsv").read_bytes() == (STORED / "folders.tsv").read_bytes()
    for name, row in ROWS.items():
        files = runner.files_below(folder() / "folders" / name)
        assert runner.digest(files) == row.sha256
        assert runner.Expected(**json.loads(files["expected.json"])) == row.expected


def test_every_code_occurs():
    codes = {row.expected.code for row in ROWS.values()} - {None}
    assert codes == {
        "1.name", "1.record", "1.export", "1.debate", "2.missing", "2.malformed", "2.absent",
        "2.unlisted", "2.hash", "3.signature", "3.checkpoint",
        "17.missing", "17.signature", "17.line", "17.size", "17.root", "17.kept",
        "17.unregistered", "17.opened", "17.superseded", "17.replaced", "17.checkpoint",
    }  # fmt: skip


@pytest.mark.parametrize("single", [False, True])
def test_a_verifier_of_single_exports_is_not_asked(tmp_path, capsys, single):
    shutil.copytree(folder() / "folders" / "folder-of-one", tmp_path / "folders" / "folder-of-one")
    shutil.copy(STORED / "trust.json", tmp_path)
    for name in ("cases.tsv", "folders.tsv"):
        lines = (STORED / name).read_text().splitlines(keepends=True)
        rows = [line for line in lines if line.partition("\t")[0] in ("name", "folder-of-one")]
        (tmp_path / name).write_text("".join(rows))
    words = ["run", "--kit", str(tmp_path), *["--single"] * single]
    code = conformance.main([*words, "--", "python3", verify.__file__])
    assert code == int(single)  # nothing was asked
    assert capsys.readouterr().out.endswith(f"{int(not single)} ok, 0 wrong, 0 left out\n")


@pytest.mark.parametrize(("name", "level"), [("register", 2), ("log-stranger_fail", 1)])
def test_a_register_that_no_trusted_key_signed_anchors_nothing(name, level, capsys):
    """It begins as a checkpoint that was kept: whoever has the lines can make one."""
    row, kept = case(f"folder-{name}"), case("folder-register").export / "checkpoint"
    words = [str(row.export), "--trust", str(row.trust), "--since", str(kept)]
    _, (*records, last) = ask_both(words, capsys)
    assert {each["level"] for each in records} == {level}
    assert (last["level"], last["findings"]) == (2 if level == 2 else 0, [])


@pytest.fixture
def sound(tmp_path):
    """A folder that holds, to be changed."""
    return Path(shutil.copytree(case("folder-of-two").export, tmp_path / "sound"))


def swap(top, make):
    """Put something else in the place of an export, whose name is returned."""
    first = min(top.glob("*.zip"))
    first.rename(top.parent / "elsewhere.zip")
    make(first, top.parent / "elsewhere.zip")
    return first.name


IN_ITS_PLACE = {
    "a link to it": lambda path, there: path.symlink_to(there),
    "a link to nothing": lambda path, _: path.symlink_to("nowhere"),
    "a folder": lambda path, _: path.mkdir(),
    "a pipe": lambda path, _: os.mkfifo(path),
}


@pytest.mark.parametrize("what", IN_ITS_PLACE)
def test_what_is_no_regular_file_is_not_opened(sound, capsys, what):
    name = swap(sound, IN_ITS_PLACE[what])
    code, (_, last) = ask_both([str(sound), "--trust", str(STORED / "trust.json")], capsys)
    assert code == 1
    assert [(row["code"], row["found"], row["expected"]) for row in last["findings"]] == [
        ("1.name", name, None),
        ("2.absent", None, name),
    ]


def test_a_link_in_the_place_of_the_list_is_not_followed(sound, capsys):
    (sound / "SHA256SUMS").rename(sound.parent / "list")
    (sound / "SHA256SUMS").symlink_to(sound.parent / "list")
    code, documents = ask_both([str(sound), "--trust", str(STORED / "trust.json")], capsys)
    assert code == 1
    assert [row["code"] for row in documents[-1]["findings"]] == ["1.name", "2.missing"]


def test_a_name_that_is_no_text_is_shown_spelled_out(sound, capsys):
    Path(os.fsdecode(os.fsencode(sound) + b"/\xff\x1b[31m.zip")).touch()
    code, documents = ask_both([str(sound), "--trust", str(STORED / "trust.json")], capsys)
    assert (code, documents[-1]["findings"][0]["found"]) == (1, "\\udcff\x1b[31m.zip")
    for ask in (verify.main, lambda words: CliRunner().invoke(cli, ["verify", *words]).exit_code):
        assert ask([str(sound)]) == 1
        assert "\x1b" not in capsys.readouterr().out


def test_too_many_files_are_not_read(sound, capsys, monkeypatch):
    monkeypatch.setattr(verify, "MOST_IN_FOLDER", 3)
    monkeypatch.setattr("hansard.record.folder.MAX_FILES", 3)
    words = [str(sound), "--trust", str(STORED / "trust.json")]
    assert ask_both(words, capsys)[0] == 0
    (sound / "one more").touch()
    assert verify.main(words) == 2
    result = CliRunner().invoke(cli, ["verify", *words], prog_name="hansard")
    assert result.exit_code == 2
    assert "holds more than 3 files" in result.stderr


@pytest.mark.parametrize("name", ["VERIFY.md", "checkpoint", "checkpoints", "register.jsonl"])
def test_a_file_that_claims_too_much_is_not_read(tmp_path, name):
    """A few kilobytes unpack to a file of 2^63 bytes, nearly all of them holes."""
    top = Path(shutil.copytree(case("folder-register").export, tmp_path / "top"))
    words = [str(top), "--trust", str(STORED / "trust.json")]
    os.truncate(top / name, 2**33 + 1)
    assert verify.main(words) == 2
    result = CliRunner().invoke(cli, ["verify", *words], prog_name="hansard")
    assert result.exit_code == 2
    assert f"{name} is larger than 8,589,934,592 bytes" in result.stderr


def test_the_largest_file_beside_exports_is_read(tmp_path, capsys, monkeypatch):
    top = Path(shutil.copytree(case("folder-register").export, tmp_path / "top"))
    words = [str(top), "--trust", str(STORED / "trust.json")]
    most = max((top / name).stat().st_size for name in verify.OF_REGISTER)
    monkeypatch.setattr(verify, "LARGEST_BESIDE", most)
    monkeypatch.setattr("hansard.record.folder.MAX_FILE", most)
    assert ask_both(words, capsys)[0] == 0


def test_what_has_another_name_is_not_compared_with_the_register(tmp_path, capsys):
    top = Path(shutil.copytree(case("folder-register").export, tmp_path / "top"))
    one, two = sorted(top.glob("*.zip"))
    shutil.copyfile(one, two)  # a copy beside it, and in the place of another
    one.rename(one.with_name(f"{one.stem[:-1]}{one.stem[-1] == '0':d}.zip"))
    words = [str(top), "--trust", str(STORED / "trust.json")]
    _, documents = ask_both(words, capsys)
    assert {row["code"] for row in documents[-1]["findings"]} == {
        "1.debate",
        "2.absent",
        "2.hash",
        "2.unlisted",
    }
    assert documents[-1]["caveats"][-1] == "3 of 3 records of the register are not here"


def test_what_is_found_of_many_is_bounded(sound, capsys):
    for number in range(1_001):
        (sound / f"{number:04}").touch()
    code, documents = ask_both([str(sound), "--trust", str(STORED / "trust.json")], capsys)
    assert (code, len(documents[-1]["findings"])) == (1, 1_000)
    assert documents[-1]["checks"][0]["evidence"].endswith("(1000 more)")
