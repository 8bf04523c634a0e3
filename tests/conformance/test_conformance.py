"""The kit is pinned and complete, and both verifiers say of every case what they must."""

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

import pytest
from click.testing import CliRunner

import conformance
import verify
from conformance_kit import build, runner
from exporting import summary
from hansard.cli.main import cli
from hansard.record.policy import TERMS
from hansard.rules.demands import TEXTS
from hansard.rules.formats import FORMATS
from hansard.schemas import SCHEMAS
from kit import ROWS, STORED, case, export_files, folder
from tables import CODES, section

ROOT = Path(__file__).resolve().parents[2]
# What the verifiers do is measured by tests of their own: cases by the thousand cost twice as
# much while coverage is measured.
pytestmark = pytest.mark.no_cover


# The table pins the kit ------------------------------------------------------------------


def test_what_is_stored_is_what_is_made():
    for name in (runner.TABLE, runner.FOLDERS_TABLE, runner.TRUST):
        assert (folder() / name).read_bytes() == (STORED / name).read_bytes(), name


@pytest.mark.slow
def test_what_is_made_in_this_process_is_what_another_one_made(capsys):
    """The pages of the cases to read as well, to the last word."""
    assert conformance.table(STORED, check=True) == 0, capsys.readouterr().out


def digest(kit, name):
    """As README.md says it: what `sha256sum` prints for the files in order, hashed."""
    top = kit / "cases" / name
    paths = {path.relative_to(top).as_posix(): path for path in top.rglob("*") if path.is_file()}
    lines = [
        f"{sha256(paths[path].read_bytes()).hexdigest()}  {path}\n"
        for path in sorted(paths)
        if path not in ("README.md", "expected.json")
    ]
    return sha256("".join(lines).encode()).hexdigest()


def test_the_table_says_what_the_cases_are():
    assert {path.name for path in (folder() / "cases").iterdir()} == ROWS.keys()
    for name, row in ROWS.items():
        files = folder() / "cases" / name
        assert digest(folder(), name) == row.sha256, name
        assert runner.Expected(**json.loads((files / "expected.json").read_bytes())) == row.expected
        assert (files / "README.md").read_text(encoding="utf-8").startswith(f"# {name}\n\n")
        assert name.endswith("_fail") == (row.expected.exit != 0), name


# Version 1 is frozen: what its cases are, and what every verifier says of them, never changes.
FROZEN = "7279b02f68fb9bac548e5c691debef2fbe54271463322d628141c5802b94edc1"
LATER = frozenset(  # cases that were added since
    {"moderated-positions-numbered", "withheld-document-not-cited-last"}
)


def test_version_1_is_frozen():
    """A case may be added, and then stands in LATER; its sentence may be said better."""
    rows = []
    for table in ("cases.tsv", "folders.tsv"):
        head, *lines = (line.split("\t") for line in (STORED / table).read_text().splitlines())
        shown = [head.index(name) for name in head if name not in ("theme", "why")]
        rows += ["\t".join(line[at] for at in shown) for line in lines if line[0] not in LATER]
    assert sha256("\n".join(sorted(rows)).encode()).hexdigest() == FROZEN


def test_the_cases_to_read_are_of_every_format_and_verdict():
    rows = [ROWS[path.stem] for path in (STORED / "cases").iterdir()]
    assert {row.name for row in rows} == build.to_read()
    assert {row.format for row in rows} == set(FORMATS)
    verdicts = {row.expected.verdict for row in ROWS.values()} - {None}  # of what is no export
    assert {row.expected.verdict for row in rows} == verdicts


OWN_TRUST = {"nobody-trusted_fail", "register-cosigned-by-enough"}


@pytest.mark.parametrize("name", sorted(build.to_read()))
def test_a_page_shows_the_whole_case(name):
    page = (STORED / "cases" / f"{name}.md").read_text(encoding="utf-8")
    entries = re.findall(r"````json\n(.*?)\n````", page, re.DOTALL)
    shown = dict(re.findall(r"### ([^\n]+)\n\n````\n(.*?)\n````", page, re.DOTALL))
    files = dict(export_files(name))  # a copy: all tests share it
    lines = files.pop("events.jsonl").splitlines()
    assert list(map(json.loads, entries)) == list(map(json.loads, lines))
    own = {"trust.json": case(name).trust.read_bytes()} if name in OWN_TRUST else {}
    assert shown == {path: body.decode().removesuffix("\n") for path, body in (files | own).items()}


# Nothing is lost -------------------------------------------------------------------------

# How many cases version 1 has of each format, by the check of the first finding. A case that is
# published stays, so these are floors; whoever adds a case need not touch them. Checks 1 to 6
# and 8 know no format; the rules behind the others are of all formats or of those that have cases.
CASES_OF_VERSION_1 = """
check     consensus  judged  moderated  panel  none
accepted  60         49      41         36     0
1         25         0       0          0      4
2         27         0       0          0      0
3         5          0       0          0      0
4         26         0       0          0      0
5         5          0       0          0      1
6         1          0       0          0      0
7         27         1       1          1      0
8         10         0       0          0      0
9         121        64      59         49     1
10        28         7       3          6      0
11        11         13      3          0      0
12        20         25      75         10     0
13        0          0       12         0      0
14        11         0       0          35     0
15        6          21      0          2      0
16        12         11      14         21     0
"""


def test_no_case_of_version_1_is_lost():
    columns, *lines = [line.split() for line in CASES_OF_VERSION_1.strip().splitlines()]
    counted = Counter((str(row.check or "accepted"), row.format or "none") for row in ROWS.values())
    floors = {
        (check, format_): int(number)
        for check, *numbers in lines
        for format_, number in zip(columns[1:], numbers, strict=True)
    }
    assert {key for key, floor in floors.items() if counted[key] < floor} == set()
    assert sum(floors.values()) == 960  # and one whose opening names no format there is


# Both verifiers --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ROWS)
def test_both_verifiers(name, capsys):
    """Not the first finding alone: all of them, each check, each count, each word beside them."""
    row = case(name)
    words = [str(row.export), "--trust", str(row.trust), "--json"]
    code = verify.main(words)
    out = capsys.readouterr().out
    package = CliRunner().invoke(cli, ["verify", *words], prog_name="hansard")
    for said, ended in ((out, code), (package.stdout, package.exit_code)):
        answer = runner.read_answer(said, ended)
        assert list(runner.disagreements(ROWS[name].expected, answer)) == []
    if code == runner.NO_EXPORT:
        assert out == package.stdout == ""
    else:
        assert summary(json.loads(out)) == summary(json.loads(package.stdout))


# Every code of the tables occurs ---------------------------------------------------------


def named_codes():
    """The codes that FORMAT.md spells out."""
    text = "".join(map(section, (10, 13, 14, 15)))
    return set(re.findall(r"`(\d+\.[a-z_]+)`", text))


OF_A_STORE = {"5.length", "5.head"}  # what is kept beside the entries is not exported
OF_A_READER = {"17.fork"}  # a checkpoint that they kept: tests/conformance/test_since.py
# A folder compared with a report: tests/unit/api/test_periodic.py
OF_A_REPORT = set(re.findall(r"`(21\.[a-z_]+)`", section(21)))


def test_every_code_occurs_and_no_other():
    used = {row.expected.code for row in ROWS.values()} - {None}
    assert named_codes() - used == OF_A_STORE | OF_A_READER | OF_A_REPORT
    assert used - named_codes() - set(CODES.values()) <= BOUNDED | abandoned() | policed()
    assert policed() <= used


def policed():
    """The codes of the terms of a policy that are no texts, each of them in the table of §15."""
    assert set(TERMS) == set(
        re.findall("`([a-z_]+)`", " ".join(re.findall(r"(?m)^\| (`.+?) \|", section(15))))
    )
    later = {"review", "reviewers", "review_days", "metric"}  # no entry can break them
    return {f"18.{term}" for term in TERMS.keys() - set(TEXTS) - later}


BOUNDED = {"10.found"}  # an input, but not every value is possible (§15)


def abandoned():
    """The codes of the fields of a `call.failed` that are derived where it was abandoned."""
    schema = SCHEMAS["event.call.failed"]()
    fields = schema["$defs"][schema["properties"]["data"]["$ref"].rpartition("/")[2]]["properties"]
    return {f"9.{field}" for field in fields} - {"9.cost_micro_usd"}


def entry(name, seq):
    """The bytes of one entry of a case's record."""
    export = case(name).export
    if export.is_dir():
        body = (export / "events.jsonl").read_bytes()
    else:
        with ZipFile(export) as container:
            body = container.read("events.jsonl")
    return body.split(b"\n")[seq - 1]


def test_every_derived_field_occurs():
    found = set()
    for name, row in ROWS.items():
        if row.expected.seq:
            kind = re.search(rb'"type":"([a-z.]+)"', entry(name, row.expected.seq))
            found.add((kind and kind[1].decode(), row.expected.code))
    wanted = {(kind, code) for (kind, _), code in CODES.items()}
    wanted |= {("call.failed", code) for code in abandoned()}
    assert wanted - found == set()


# The command line ------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path):
    """Make a small kit of the cases of these names."""

    def make(*names):
        kit = tmp_path / "small"
        for name in names:
            shutil.copytree(folder() / "cases" / name, kit / "cases" / name)
        shutil.copy(STORED / "trust.json", kit)
        lines = (STORED / "cases.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
        rows = [line for line in lines if line.partition("\t")[0] in ("name", *names)]
        (kit / "cases.tsv").write_text("".join(rows), encoding="utf-8")
        return kit

    return make


@pytest.fixture
def kit(small):
    """A kit of a good case, a bad one, and a zip."""
    return small("decided-in-the-proposals", "vote-altered_fail", "zip-checksum_fail")


def run(kit, *words):
    return conformance.main(["run", "--kit", str(kit), *words])


def python(text):
    """A verifier that always prints one text."""
    return ["--", sys.executable, "-c", f"print({text!r})"]


STANDALONE = ["--", sys.executable, str(ROOT / "tools" / "verify.py")]


def test_run_agrees(kit, capsys):
    assert run(kit, *STANDALONE) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "3 ok, 0 wrong, 0 left out"


def test_run_makes_a_kit_where_none_is_given(kit, monkeypatch, capsys):
    monkeypatch.setattr(build, "kit", lambda: runner.files_below(kit))
    assert conformance.main(["run", *STANDALONE]) == 0
    assert capsys.readouterr().out.endswith("3 ok, 0 wrong, 0 left out\n")


def test_run_disagrees(kit, capsys):
    table = kit / "cases.tsv"
    table.write_text(table.read_text().replace("\t12.vote\t8\t", "\t12.vote\t9\t"))
    assert run(kit, *STANDALONE) == 1
    out = capsys.readouterr().out
    assert "WRONG     vote-altered_fail: seq is 8, expected 9\n" in out
    assert out.endswith("2 ok, 1 wrong, 0 left out\n")


def test_run_of_a_damaged_case_blames_no_verifier(kit, capsys):
    (kit / "cases" / "vote-altered_fail" / "bundle" / "VERIFY.md").write_bytes(b"other")
    assert run(kit, *STANDALONE) == 1
    assert (
        "WRONG     vote-altered_fail: the case itself is damaged: "
        "its digest is not the one in cases.tsv\n"
    ) in capsys.readouterr().out


def test_run_leaves_out_what_is_not_supported(kit, capsys):
    assert run(kit, "--without", "1,12", *STANDALONE) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[1] == "left out  vote-altered_fail: needs check 12"
    assert out[2] == "left out  zip-checksum_fail: needs check 1"


def test_run_without_signatures_compares_findings_alone(small, capsys):
    kit = small("decided-in-the-proposals", "signature-forged_fail")
    silent = python('{"verdict": "no idea", "findings": []}')
    assert run(kit, "--without", "3", *silent) == 0
    assert run(kit, *silent) == 1
    assert "\n0 ok, 2 wrong, 0 left out\n" in capsys.readouterr().out


def test_run_extracts_zips_for_a_verifier_that_reads_none(small, capsys):
    kit = small("judged-shuffled-and-anonymised", "zip-checksum_fail")
    verifier_of_folders = (
        "import json, pathlib, sys\n"
        "found = (pathlib.Path(sys.argv[1]) / 'events.jsonl').is_file()\n"
        "print(json.dumps({'verdict': 'INTACT' if found else 'ALTERED', 'findings': []}))\n"
        "sys.exit(not found)\n"
    )
    words = ["--", sys.executable, "-c", verifier_of_folders]
    assert run(kit, "--without", "1", *words) == 0
    assert run(kit, *words) == 1
    assert "\n0 ok, 2 wrong, 0 left out\n" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "1", "{}", '{"verdict":"INTACT","findings":[{}]}'])
def test_run_of_what_is_no_verifier(kit, capsys, text):
    assert run(kit, *python(text)) == 1
    assert "0 ok, 3 wrong" in capsys.readouterr().out


def test_run_of_a_command_that_is_not_there(kit, capsys):
    assert run(kit, "--", str(kit / "nobody")) == 1
    assert "0 ok, 3 wrong" in capsys.readouterr().out


def test_findings_must_be_ordered():
    expected = runner.Expected("ALTERED", None, "12.vote", 8, 1)
    answer = runner.Answer("ALTERED", None, [("12.vote", 8), ("9.call", 8)], 1)
    found = list(runner.disagreements(expected, answer))
    assert found == ["findings are not ordered by place, check and code"]


def test_unknown_checks_are_refused(kit, capsys):
    assert run(kit, "--without", "12,99", *STANDALONE) == 2
    assert capsys.readouterr().err == "--without: no case of this kit is about check 99\n"
    with pytest.raises(SystemExit):
        run(kit, "--without", "all", *STANDALONE)


def test_make_writes_into_a_new_folder_alone(kit, capsys):
    assert conformance.main(["make", str(kit)]) == 1
    assert "small is not empty; name a new folder" in capsys.readouterr().err


def test_table_mends_what_is_out_of_date(tmp_path, monkeypatch, capsys):
    few = {"cases.tsv": b"table", "trust.json": b"trust", "cases/a/bundle/x": b"1", "cases/b": b"2"}
    monkeypatch.setattr(build, "stored", lambda: few)
    conformance.write(tmp_path, few | {"README.md": b"by hand"})
    assert conformance.table(tmp_path, check=True) == 0
    (tmp_path / "cases.tsv").write_bytes(b"other")
    (tmp_path / "cases" / "b").unlink()
    (tmp_path / "cases" / "more").mkdir()
    (tmp_path / "cases" / "more" / "file").touch()
    assert conformance.table(tmp_path, check=True) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{name} is out of date; run tools/conformance.py table"
        for name in ("cases.tsv", "cases/b", "cases/more/file")
    ]
    assert conformance.table(tmp_path, check=False) == 0
    assert runner.files_below(tmp_path) == few | {"README.md": b"by hand"}


# The archive -----------------------------------------------------------------------------


def test_the_archive_is_the_same_every_time_and_runs_alone(kit, tmp_path):
    files = runner.files_below(kit)
    files |= {name: (ROOT / path).read_bytes() for name, path in build.PACKED.items()}
    data = build.archive(files)
    assert data == build.archive(dict(reversed(files.items())))
    packed = tmp_path / "kit.tar.bz2"
    packed.write_bytes(data)
    assert run(packed, *STANDALONE) == 0
    subprocess.run([sys.executable, "-m", "tarfile", "-e", packed, tmp_path / "out"], check=True)
    words = [sys.executable, "-I", tmp_path / "out" / build.TOP / "run.py", *STANDALONE]
    done = subprocess.run(words, check=False, capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("3 ok, 0 wrong, 0 left out\n")


@pytest.mark.slow
def test_pack_writes_the_whole_kit(tmp_path, monkeypatch):
    """As another process made it: that this one would make the same is asked above."""
    made = runner.files_below(folder())
    monkeypatch.setattr(build, "kit", lambda: made)
    assert conformance.main(["pack", str(tmp_path / "kit.tar.bz2")]) == 0
    with runner.opened(tmp_path / "kit.tar.bz2") as top:
        files = runner.files_below(top)
    names = build.PACKED.keys()
    assert {name: files.pop(name) for name in names} == {
        name: (ROOT / path).read_bytes() for name, path in build.PACKED.items()
    }
    assert files == made
