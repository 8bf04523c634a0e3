"""The kit is fresh and complete, and both verifiers say of every case what they must."""

import importlib.util
import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from hansard.cli.main import cli

ROOT = Path(__file__).resolve().parents[2]
KIT = Path(__file__).resolve().parent
FORMAT = (ROOT / "schemas" / "FORMAT.md").read_text(encoding="utf-8")


def load(name):
    """Import a tool by its file: tools are no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


verifier = load("verify")
conformance = load("conformance")
load("conformance_records")
CASES = conformance.read_cases(KIT)
every_case = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


@pytest.fixture(scope="module")
def made():
    return load("conformance_cases").build()


def test_kit_is_fresh(made):
    assert conformance.stale(KIT, made) == []


def test_kit_is_made_alike_again(made):
    load("conformance_records")
    assert load("conformance_cases").build() == made


@every_case
def test_package(case):
    words = ["verify", str(case.export), "--trust", str(case.trust), "--json"]
    result = CliRunner().invoke(cli, words, prog_name="hansard")
    answer = conformance.read_answer(result.stdout, result.exit_code)
    assert list(conformance.disagreements(case.expected, answer)) == []


@every_case
def test_standalone(case, capsys):
    code = verifier.main([str(case.export), "--trust", str(case.trust), "--json"])
    answer = conformance.read_answer(capsys.readouterr().out, code)
    assert list(conformance.disagreements(case.expected, answer)) == []


def test_enough_cases_and_names_that_say_what_they_are():
    accepted = [case for case in CASES if case.expected.exit == 0]
    assert len(accepted) >= 15
    assert len(CASES) - len(accepted) >= 60
    for case in CASES:
        assert case.name.endswith("_fail") == (case.expected.exit != 0), case.name
        assert (KIT / "cases" / case.name / "README.md").read_text().count("\n") >= 3


# Every code of the tables occurs ---------------------------------------------------------


def section(number):
    return FORMAT.partition(f"\n## {number}. ")[2].partition("\n## ")[0]


def rows(number):
    """The rows of a section's tables, cell by cell."""
    lines = [line for line in section(number).splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def words(text):
    return re.findall(r"`([^`]+)`", text)


def test_every_code_occurs():
    codes = set(re.findall(r"`(\d+\.[a-z_]+)`", section(10) + section(13) + section(14)))
    codes |= set(re.findall(r"`(\d+\.[a-z_]+)`", section(15)))
    of_a_store = {"5.length", "5.head"}  # what is kept beside the lines is not exported
    assert len(codes) > 45
    assert of_a_store <= codes
    assert codes - of_a_store <= {case.expected.code for case in CASES}


def derived_fields():
    """Yield type and code for each derived field that can have another value."""
    explicit = set(re.findall(r"`\d+\.([a-z_]+)`", section(10)))
    table = {row[0].strip("`"): row[2] for row in rows(3) if len(row) == 3}
    for check, found in re.findall(r"`(\d+)\.<field>` of ((?:`[a-z.*]+`(?:, )?)+)", section(10)):
        for pattern in words(found):
            for kind in (row for row in table if re.fullmatch(pattern.replace("*", "[a-z]+"), row)):
                for field in free_fields(kind).intersection(words(table[kind])):
                    chooses = (kind, field) in {("call.started", "step"), ("call.failed", "error")}
                    other = check == "9" and field in explicit
                    if not (chooses or other):
                        yield kind, f"{check}.{field}"


def free_fields(kind):
    """The fields of a type that have more than one value."""
    schema = json.loads((ROOT / "schemas" / f"event.{kind}.schema.json").read_text())
    data = schema["properties"]["data"]
    data = schema["$defs"][data["$ref"].rpartition("/")[2]] if "$ref" in data else data
    return {name for name, rule in data["properties"].items() if "const" not in rule}


def test_every_derived_field_occurs():
    found = set()
    for case in CASES:
        if case.expected.seq and case.export.is_dir():
            line = (case.export / "events.jsonl").read_bytes().split(b"\n")[case.expected.seq - 1]
            kind = re.search(rb'"type":"([a-z.]+)"', line)
            found.add((kind and kind[1].decode(), case.expected.code))
    wanted = set(derived_fields())
    wanted |= {("call.failed", f"9.{field}") for field in ("call", "detail", "latency_ms")}
    assert len(wanted) > 35
    assert wanted <= found


# The command line ------------------------------------------------------------------------


@pytest.fixture
def kit(tmp_path):
    """A kit of a good case, a bad one, and a zip."""
    for name in ("decided-in-the-proposals", "vote-altered_fail", "zip-checksum_fail"):
        shutil.copytree(KIT / "cases" / name, tmp_path / "cases" / name)
    shutil.copy(KIT / "trust.json", tmp_path)
    return tmp_path


def run(kit, *words):
    return conformance.main(["run", "--kit", str(kit), *words])


def python(text):
    """A verifier that always prints one text."""
    return ["--", sys.executable, "-c", f"print({text!r})"]


STANDALONE = ["--", sys.executable, str(ROOT / "tools" / "verify.py")]


def test_run_agrees(kit, capsys):
    assert run(kit, *STANDALONE) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "3 ok, 0 wrong, 0 left out"


def test_run_disagrees(kit, capsys):
    expected = kit / "cases" / "vote-altered_fail" / "expected.json"
    expected.write_text(expected.read_text().replace('"seq": 8', '"seq": 9'))
    assert run(kit, *STANDALONE) == 1
    out = capsys.readouterr().out
    assert "WRONG     vote-altered_fail: seq is 8, expected 9\n" in out
    assert out.endswith("2 ok, 1 wrong, 0 left out\n")


def test_run_leaves_out_what_is_not_supported(kit, capsys):
    assert run(kit, "--without", "1,12", *STANDALONE) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[1] == "left out  vote-altered_fail: needs check 12"
    assert out[2] == "left out  zip-checksum_fail: needs check 1"


def test_run_without_signatures_compares_findings_alone(kit):
    shutil.rmtree(kit / "cases" / "vote-altered_fail")
    shutil.rmtree(kit / "cases" / "zip-checksum_fail")
    silent = python('{"verdict": "no idea", "findings": []}')
    assert run(kit, "--without", "3", *silent) == 0
    assert run(kit, *silent) == 1


@pytest.mark.parametrize("text", ["", "1", "{}", '{"verdict":"INTACT","findings":[{}]}'])
def test_run_of_what_is_no_verifier(kit, capsys, text):
    assert run(kit, *python(text)) == 1
    assert "0 ok, 3 wrong" in capsys.readouterr().out


def test_run_of_a_command_that_is_not_there(kit, capsys):
    assert run(kit, "--", str(kit / "nobody")) == 1
    assert "0 ok, 3 wrong" in capsys.readouterr().out


def test_findings_must_be_ordered():
    expected = conformance.Expected("ALTERED", None, "12.vote", 8, 1)
    answer = conformance.Answer("ALTERED", None, [("12.vote", 8), ("9.call", 8)], 1)
    found = list(conformance.disagreements(expected, answer))
    assert found == ["findings are not ordered by place, check and code"]


def test_unknown_checks_are_refused(kit):
    with pytest.raises(SystemExit):
        run(kit, "--without", "17", *STANDALONE)


def test_make_mends_what_is_stale(tmp_path, made, monkeypatch, capsys):
    few = {name: made[name] for name in made if "zip-c" in name or name == "trust.json"}
    monkeypatch.setattr(conformance, "made", lambda: few)
    conformance.write(tmp_path, few)
    assert conformance.make(tmp_path, check=True) == 0
    first, second = sorted(few)[:2]
    (tmp_path / first).write_bytes(b"other")
    (tmp_path / second).unlink()
    (tmp_path / "cases" / "more").mkdir()
    (tmp_path / "cases" / "more" / "file").touch()
    (tmp_path / "README.md").touch()
    assert conformance.make(tmp_path, check=True) == 1
    assert capsys.readouterr().out.count("stale: ") == 3
    assert conformance.make(tmp_path, check=False) == 0
    assert conformance.stale(tmp_path, few) == []
    assert not (tmp_path / "cases" / "more").exists()
    assert (tmp_path / "README.md").exists()
