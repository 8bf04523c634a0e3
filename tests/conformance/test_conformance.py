"""The kit is fresh and complete, and both verifiers say of every case what they must."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

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
CASES = conformance.read_cases(KIT)
every_case = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


@pytest.fixture(scope="module")
def made():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "tools")
        return conformance.made()


def test_kit_is_fresh(made):
    assert conformance.stale(KIT, made) == []


def test_kit_is_made_alike_in_another_process():
    words = [sys.executable, str(ROOT / "tools" / "conformance.py"), "make", "--check"]
    done = subprocess.run(words, check=False, capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


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


CHOSEN = {  # what the table names beside the derived fields, or what has a code of its own
    ("call.started", "step"),
    ("call.started", "prompt"),
    ("call.answered", "finish"),
    ("call.failed", "error"),
}


def clauses():
    """Yield what section 10 says of codes: their check and field, and the types they are of."""
    for row in rows(10):
        for clause in re.split(" · |; ", row[-1]):
            codes, _, types = clause.rpartition("`, but for those of 9, of ")
            if not codes:
                codes, _, types = clause.rpartition(" of `")
            found = re.findall(r"`(\d+)\.([a-z_]+|<field>)", codes)
            kinds = re.findall(r"[a-z]+\.[a-z*]+", types.partition("(")[0])
            yield [(int(check), field) for check, field in found], kinds


def derived_fields():
    """Yield type and code for each derived field that can have another value."""
    table = {row[0].strip("`"): words(row[2]) for row in rows(3) if len(row) == 3}
    named, others = {}, {}
    for codes, patterns in clauses():
        for pattern in patterns:
            for kind in (row for row in table if re.fullmatch(pattern.replace("*", "[a-z]+"), row)):
                for check, field in codes:
                    if field == "<field>":
                        others[kind] = check
                    else:
                        named.setdefault(kind, {})[field] = check
    for kind, fields in named.items():
        yield from ((kind, f"{check}.{field}") for field, check in fields.items())
    for kind, check in others.items():
        for field in free_fields(kind).intersection(table[kind]) - named.get(kind, {}).keys():
            if (kind, field) not in CHOSEN:
                yield kind, f"{check}.{field}"


def free_fields(kind):
    """The fields of a type that have more than one value."""
    schema = json.loads((ROOT / "schemas" / f"event.{kind}.schema.json").read_text())
    data = schema["properties"]["data"]
    data = schema["$defs"][data["$ref"].rpartition("/")[2]] if "$ref" in data else data
    return {name for name, rule in data["properties"].items() if "const" not in rule}


def line(case, seq):
    """One line of a case's record."""
    if case.export.is_dir():
        body = (case.export / "events.jsonl").read_bytes()
    else:
        with ZipFile(case.export) as container:
            body = container.read("events.jsonl")
    return body.split(b"\n")[seq - 1]


def test_every_derived_field_occurs():
    found = set()
    for case in CASES:
        if case.expected.seq:
            kind = re.search(rb'"type":"([a-z.]+)"', line(case, case.expected.seq))
            found.add((kind and kind[1].decode(), case.expected.code))
    wanted = set(derived_fields())
    derived = {"again", "cost_micro_usd", "error"}  # the others are, where it is abandoned
    wanted |= {("call.failed", f"9.{field}") for field in free_fields("call.failed") - derived}
    assert len(wanted) > 90
    assert wanted - found == set()


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


def test_run_takes_zips_out_for_who_reads_none(kit):
    shutil.rmtree(kit / "cases")
    name = "judged-shuffled-and-anonymised"
    shutil.copytree(KIT / "cases" / name, kit / "cases" / name)
    verifier_of_folders = (
        "import json, pathlib, sys\n"
        "found = (pathlib.Path(sys.argv[1]) / 'events.jsonl').is_file()\n"
        "print(json.dumps({'verdict': 'INTACT' if found else 'ALTERED', 'findings': []}))\n"
        "sys.exit(not found)\n"
    )
    words = ["--", sys.executable, "-c", verifier_of_folders]
    assert run(kit, "--without", "1", *words) == 0
    assert run(kit, *words) == 1


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
