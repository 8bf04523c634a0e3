"""Folders that hold more than files: what the kit, which is made of files, cannot show."""

import shutil

import pytest
from click.testing import CliRunner

import verify
from conformance_kit import runner
from hansard.cli.main import cli
from kit import STORED, case

MORE = {  # what is done to the folder of a sound export, and the finding that follows
    "an empty folder of no such name": (lambda top: (top / "x").mkdir(), "1.name"),
    "a folder in a folder": (lambda top: (top / "blobs/x").mkdir(), "1.name"),
    "a folder with the name of a text": (lambda top: (top / f"blobs/{0:064}").mkdir(), "1.name"),
    "a folder with the name of a file": (lambda top: (top / "report.html").mkdir(), "1.name"),
    "a link to a file": (lambda top: (top / "report.html").symlink_to("VERIFY.md"), "1.name"),
    "a link to a folder": (lambda top: (top / "policies").symlink_to("blobs"), "1.name"),
    "a folder of the export, empty": (lambda top: (top / "policies").mkdir(), None),
}


@pytest.fixture(params=MORE)
def changed(request, tmp_path):
    """A folder, and the code of the one finding on it."""
    change, code = MORE[request.param]
    top = tmp_path / "export"
    shutil.copytree(case("decided-in-the-proposals").export, top)
    change(top)
    return top, code


def said(code, out):
    """The codes found, and whether the exit code fits."""
    answer = runner.read_answer(out, code)
    assert code == (1 if answer.findings else 0)
    return [found for found, _ in answer.findings]


def test_both_verifiers_of_folders(changed, capsys):
    top, code = changed
    words = [str(top), "--trust", str(STORED / "trust.json"), "--json"]
    ended = verify.main(words)
    assert said(ended, capsys.readouterr().out) == [code] * bool(code)
    result = CliRunner().invoke(cli, ["verify", *words], prog_name="hansard")
    assert said(result.exit_code, result.stdout) == [code] * bool(code)


def test_a_link_that_takes_the_place_of_a_file_is_not_followed(tmp_path, monkeypatch, capsys):
    """It is put there once the folder was listed."""
    top = tmp_path / "export"
    shutil.copytree(case("decided-in-the-proposals").export, top)
    lister = verify.list_folder

    def listed(folder, prefix):
        yield from list(lister(folder, prefix))
        if not prefix and not (top / "VERIFY.md").is_symlink():
            (top / "VERIFY.md").unlink()
            (top / "VERIFY.md").symlink_to(__file__)

    monkeypatch.setattr(verify, "list_folder", listed)
    assert verify.main([str(top)]) == 2
    assert "cannot be opened" in capsys.readouterr().err
