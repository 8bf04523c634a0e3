"""Many debates at the prompt: a folder of exports is written and verified, whole and in part."""

import json
import os
import re
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from cli_support import files, on_a_terminal, write_debate
from exporting import TOOL_FILE, run_tool
from formats import NAMES
from hansard.api import exporting
from hansard.api.listing import caught_up
from hansard.errors import UsageError
from hansard.schemas import SCHEMAS
from hansard.store import tampering
from hansard.store.application import Store
from hansard.store.register import Register
from instant import GUARD

DB = Path("hansard.db")


@pytest.fixture
def several(hansard, home):
    """Three debates that were run into hansard.db; their ids."""
    write_debate(dict(zip(NAMES, ("release", "revise", "revise"), strict=True)))
    for _ in range(3):
        assert hansard("run", "debate.yaml").code == 0
    with Store.open(f"sqlite:///{DB}") as store:
        return store.debates()


@pytest.fixture
def exports(hansard, several):
    """The folder of their exports."""
    done = hansard("export", "--all", "-o", "all")
    assert (done.code, done.out) == (0, "")
    return Path("all")


def zips(debates):
    return sorted(f"{debate}.zip" for debate in debates)


OF_FOLDER = ["SHA256SUMS", "VERIFY.md", "checkpoint", "checkpoints", "register.jsonl"]


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def alter(debate):
    tampering.alter_line(DB, debate, 9, b'"seq":9', b'"seq":8')


# Exporting


def test_all_debates_become_a_folder_that_anybody_can_check(hansard, exports, several):
    assert sorted(contents(exports)) == sorted([*OF_FOLDER, *zips(several)])
    assert {stat.S_IMODE(path.stat().st_mode) for path in exports.iterdir()} == {0o600}
    assert stat.S_IMODE(exports.stat().st_mode) == 0o700
    words = ["sha256sum", "-c", "--status", "SHA256SUMS"]
    assert subprocess.run(words, cwd=exports, check=False, capture_output=True).returncode == 0
    done = hansard("verify", exports)
    assert done.code == 0
    assert "3 records: 3 INTACT" in done.out
    assert done.out.endswith("\n INTACT \n")
    code, out, _ = run_tool(exports)
    assert (code, out.splitlines()[0]) == (0, "3 records: 3 INTACT")
    assert out.splitlines()[-1] == "INTACT (level asked for: 1; level reached: 1)"


def test_the_folder_says_how_it_is_checked_by_hand(exports):
    """Its own recipe, run as it stands but for the key."""
    about = (exports / "VERIFY.md").read_text()
    assert "{{" not in about
    assert sha256(TOOL_FILE.read_bytes()).hexdigest() in about
    rows = json.loads(Path(os.environ["HANSARD_HOME"], "trust.json").read_text())["keys"]
    (row,) = (row for row in rows if row["role"] == "export")
    recipe = about.partition("## By hand")[2].partition("Each zip has")[0]
    steps = [line.removeprefix("    ") for line in recipe.splitlines() if line.startswith("    ")]
    script = "set -e\n" + "\n".join(steps).replace("printf '%s' KEY", f"printf '%s' '{row['key']}'")
    script = script.replace("find . ", "! find . ")
    done = subprocess.run(
        ["bash", "-c", script], cwd=exports, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Signature Verified Successfully\n")
    assert done.stdout.count(": OK\n") == done.stdout.count("\n") - 1
    for name, said in ((".added", ".added"), ("a\nSHA256SUMS", "a?SHA256SUMS")):
        (exports / name).touch()
        again = subprocess.run(
            ["bash", "-c", script], cwd=exports, check=False, capture_output=True, text=True
        )
        assert again.stdout.endswith(f"\n{said}\n")
        (exports / name).unlink()


def test_a_zip_of_the_folder_is_the_export_alone(hansard, exports, several):
    assert hansard("export", several[0], "-o", "one.zip").code == 0
    assert Path("one.zip").read_bytes() == (exports / f"{several[0]}.zip").read_bytes()


def test_each_proves_its_place_in_the_register(hansard, exports, several):
    *rows, _ = map(json.loads, hansard("verify", exports, "--json").out.splitlines())
    places = [row["result"]["place"] for row in rows]
    assert [place["size"] for place in places] == [6, 6, 6]
    assert {place["opened"] for place in places} == {1, 3, 5}


def test_some_are_chosen_by_id(hansard, several):
    one, two, _ = several
    assert hansard("export", one[:8], two, one, "-o", "some").code == 0
    assert sorted(contents(Path("some"))) == sorted([*OF_FOLDER, *zips([one, two])])
    done = hansard("verify", "some")
    said = "1 of 3 records of the register are not here"
    assert (done.code, done.out.splitlines()[-1]) == (0, f" INTACT   {said}")
    assert f"INTACT, {said} (" in run_tool("some")[1]


@pytest.fixture
def dated(several):
    """The three as if they had been opened on three days, which the rows of `list` say."""
    days = ("2026-10-31", "2026-11-01", "2026-11-30")
    with Store.open(f"sqlite:///{DB}") as store:
        caught_up(store)
    with closing(sqlite3.connect(DB)) as connection, connection:
        for day, debate in zip(days, several, strict=True):
            said = "UPDATE projected SET opened_at = ? WHERE replace(debate, '-', '') = ?"
            assert connection.execute(said, (f"{day}T12", debate.replace("-", ""))).rowcount == 1
    return several


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        (["--since", "2026-11-01"], [1, 2]),
        (["--until", "2026-11-01"], [0, 1]),
        (["--since", "2026-11-01", "--until", "2026-11-30"], [1, 2]),
        (["--since", "2026-11-02", "--until", "2026-11-30"], [2]),
        (["--since", "2026-11"], [1, 2]),
        (["--since", "2026", "--until", "2026-11-01T12"], [0, 1]),
        (["--until", "2026-10"], [0]),
    ],
)
def test_some_are_chosen_by_their_time(hansard, dated, words, chosen):
    assert hansard("export", *words, "-o", "some").code == 0
    assert sorted(path.name for path in Path("some").glob("*.zip")) == zips(
        dated[place] for place in chosen
    )


def test_a_debate_without_a_time_is_not_passed_over(hansard, several):
    tampering.alter_line(DB, several[0], 1, b'{"at":"2', b'{"at":2"')
    done = hansard("export", "--until", "2020-01-01", "-o", "some")
    assert done.code == 1
    assert f"Left out    {several[0]}" in done.err


WRONG = [
    ([], "export.which"),
    (["--all", "ID"], "export.which"),
    (["--since", "2026-11-01", "ID"], "export.which"),
    (["--since", "November"], "list.time"),
    (["--until", "20261130"], "list.time"),
    (["--until", "2020-01-01"], "export.none"),
    (["ffff", "ID"], "store.unknown"),
    (["--all", "--checkpoint", "any"], "export.one"),
    (["--all", "--dry-run"], "export.one"),
    (["ID", "ID", "--withhold", "evidence=privacy"], "export.one"),
]


@pytest.mark.parametrize(("words", "code"), WRONG)
def test_what_cannot_be_meant_writes_nothing(hansard, several, words, code):
    given = [several[0] if word == "ID" else word for word in words]
    before = files()
    done = hansard("export", *given, "-o", "some")
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith(f"[{code}]\n")
    assert files() == before


def test_a_debate_that_does_not_hold_is_left_out_and_named(hansard, several):
    alter(several[1])
    done = hansard("export", "--all", "-o", "all")
    assert done.code == 1
    assert f"Left out    {several[1]}  debate {several[1][:8]} was altered: " in done.err
    assert "1 debate left out; `hansard verify ID` says" in done.err
    assert sorted(path.name for path in Path("all").glob("*.zip")) == zips([several[0], several[2]])
    assert hansard("verify", "all").code == 0


def test_where_all_are_left_out_nothing_is_signed(hansard, several):
    for debate in several:
        alter(debate)
    assert hansard("export", "--all", "-o", "all").code == 1
    assert "SHA256SUMS" not in contents(Path("all"))


def test_what_was_interrupted_is_gone_on_with(hansard, exports, several):
    whole = contents(exports)
    (exports / "SHA256SUMS").unlink()
    (exports / f"{several[2]}.zip").unlink()
    (exports / f".{'0' * 16}.part").write_bytes(b"half")
    done = hansard("export", "--all", "-o", exports)
    assert done.code == 0
    assert "3 exports, 2 of them there already, signed by house/export" in done.err
    assert contents(exports) == whole


def test_what_is_there_keeps_the_checkpoint_that_it_was_proven_under(hansard, exports, several):
    before = contents(exports)
    (exports / "SHA256SUMS").unlink()
    assert hansard("run", "debate.yaml").code == 0
    assert hansard("register", "checkpoint", "-o", "later.txt").code == 0
    assert hansard("export", *several, "-o", exports).code == 0
    assert contents(exports) == before
    (exports / "SHA256SUMS").unlink()
    done = hansard("export", "--all", "-o", exports)
    assert done.code == 1
    assert "went on since this export began; export it again [register.late]" in done.err
    assert contents(exports) == before


@pytest.mark.parametrize("name", ["checkpoint", "register.jsonl", "checkpoints"])
def test_a_register_that_is_not_this_one_is_in_the_way(hansard, exports, several, name):
    (exports / "SHA256SUMS").unlink()
    (exports / name).write_bytes((exports / name).read_bytes() + b"more\n")
    before = contents(exports)
    done = hansard("export", "--all", "-o", exports)
    assert (done.code, done.err[-16:]) == (2, "[output.exists]\n")
    assert contents(exports) == before


def test_a_zip_that_was_proven_under_another_register_is_in_the_way(hansard, exports, several):
    (exports / "SHA256SUMS").unlink()
    here = DB.read_bytes()
    DB.unlink()
    assert hansard("run", "debate.yaml").code == 0
    assert hansard("export", "--all", "-o", "other").code == 0
    DB.write_bytes(here)
    (other,) = Path("other").glob("*.zip")
    (exports / f"{several[0]}.zip").write_bytes(other.read_bytes())
    done = hansard("export", "--all", "-o", exports)
    assert (done.code, done.err[-16:]) == (2, "[output.exists]\n")


def test_what_somebody_adds_to_meanwhile_is_left_out(hansard, several, monkeypatch):
    add_head = Register.add_head

    def moved(self, debate, head):
        if debate == several[1]:
            raise UsageError("register.moved", "somebody added to it")
        add_head(self, debate, head)

    monkeypatch.setattr(Register, "add_head", moved)
    done = hansard("export", "--all", "-o", "all")
    assert done.code == 1
    said = f"debate {several[1][:8]} went on since this export began; export it again"
    assert f"Left out    {several[1]}  {said} [register.moved]" in done.err
    assert sorted(path.name for path in Path("all").glob("*.zip")) == zips([several[0], several[2]])


def test_no_write_leaves_half_a_file(hansard, several, monkeypatch):
    for role in ("export", "log"):
        assert hansard("keys", "make", role).code == 0

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    done = hansard("export", "--all", "-o", "all")
    assert done.code == 2
    assert "No space left on device; what is there is whole" in done.err
    assert contents(Path("all")) == {}


@pytest.mark.parametrize("words", [("export", "--all", "-o"), ("schema", "--all")])
def test_a_link_that_takes_the_place_of_the_folder_gets_nothing(
    hansard, several, monkeypatch, words
):
    """Somebody puts it there while the first file is written."""
    there, own, outside = map(Path, ("all", "own", "outside"))
    outside.mkdir()
    sync = os.fsync

    def swapped(descriptor):
        if there.is_dir() and not there.is_symlink():
            there.rename(own)
            there.symlink_to(outside)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", swapped)
    assert hansard(*words, there).code == 0
    assert contents(outside) == {}
    expected = [*OF_FOLDER, *zips(several)] if words[0] == "export" else SCHEMAS
    assert len(contents(own)) == len(expected)


def test_what_was_left_is_read_in_the_folder_that_is_held(hansard, exports, monkeypatch):
    """Somebody puts a link in the place of the folder once its names are known."""
    own, outside = Path("own"), Path("outside")
    outside.mkdir()
    (exports / "SHA256SUMS").unlink()
    for name in contents(exports):
        (outside / name).write_bytes(b"another")
    before, look = contents(exports), exporting._left_behind

    def swapped(*given):
        found = look(*given)
        exports.rename(own)
        exports.symlink_to(outside)
        return found

    monkeypatch.setattr(exporting, "_left_behind", swapped)
    done = hansard("export", "--all", "-o", exports)
    assert done.code == 0, done.err
    assert contents(own).keys() == {*before, "SHA256SUMS"}


def test_a_finished_export_is_not_touched(hansard, exports):
    before = contents(exports)
    done = hansard("export", "--all", "-o", exports)
    said = f"error: {exports} holds a finished export; name a new folder [output.exists]\n"
    assert done == (2, "", said)
    assert contents(exports) == before


@pytest.mark.parametrize("what", ["another file", "another zip", "a link", "a zip of another"])
def test_what_is_in_the_way_is_not_overwritten(hansard, exports, several, what):
    one, two, _ = zips(several)
    (exports / "SHA256SUMS").unlink()
    outside = Path("outside")
    if what == "another file":
        (exports / "notes.txt").write_text("mine")
    else:
        (exports / one).unlink()
    if what == "another zip":
        (exports / one).write_bytes(b"planted")
    elif what == "a link":
        outside.write_bytes(b"mine")
        (exports / one).symlink_to(outside.absolute())
    elif what == "a zip of another":
        (exports / one).write_bytes((exports / two).read_bytes())
    before = contents(exports)
    done = hansard("export", "--all", "-o", exports)
    assert done.code == 2
    assert "SHA256SUMS" not in contents(exports)
    assert before.items() <= contents(exports).items()


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
@pytest.mark.parametrize("name", ["checkpoint", "VERIFY.md", "a zip"])
def test_what_is_no_file_is_no_part_of_an_interrupted_export(hansard, exports, several, name, kind):
    (exports / "SHA256SUMS").unlink()
    spot = exports / (f"{several[0]}.zip" if name == "a zip" else name)
    spot.rename("mine")
    made = {"link": lambda: spot.symlink_to(Path("mine").absolute())}
    made |= {"pipe": lambda: os.mkfifo(spot), "folder": spot.mkdir}
    made[kind]()
    done = hansard("export", "--all", "-o", exports)
    said = f"{exports} holds {spot.name!r}, which is no part of this export; name a new folder"
    assert done == (2, "", f"error: {said} [output.exists]\n")


def test_a_file_is_no_folder(hansard, several):
    Path("all").write_bytes(b"mine")
    done = hansard("export", "--all", "-o", "all")
    assert done.code == 2
    assert done.err.endswith("[output.failed]\n")
    assert Path("all").read_bytes() == b"mine"


# Verifying


def test_what_is_not_intact_comes_first(hansard, exports, several):
    bad = sorted(zips(several))[1]
    (exports / bad).write_bytes(
        (exports / bad).read_bytes().replace(b'"vote":"re', b'"vote":"RE', 1)
    )
    done = hansard("verify", exports)
    assert done.code == 1
    head, row, *_ = done.out.splitlines()
    assert head.split("  ")[0] == "Record"
    assert row.startswith(f"{bad}  ALTERED  ")
    assert "3 records: 1 ALTERED, 2 INTACT" in done.out
    assert f"2.hash  {bad} was changed" in done.out


def test_a_page_is_no_export_in_a_folder(hansard, exports, several):
    assert hansard("page", several[0], "-o", "page.html").code == 0
    (exports / f"{several[0]}.zip").write_bytes(Path("page.html").read_bytes())
    done = hansard("verify", exports, "--json")
    code, out, _ = run_tool(exports, "--json")
    for ended, said in ((done.code, done.out), (code, out)):
        codes = [row["code"] for row in json.loads(said.splitlines()[-1])["findings"]]
        assert (ended, codes) == (1, ["1.export", "2.hash"])


def test_all_of_a_store_are_verified(hansard, several):
    assert hansard("verify", "--all").code == 0
    assert hansard("verify", "--all", "--require-level", "1").code == 1
    alter(several[1])
    for jobs in ("1", "2"):
        done = hansard("verify", "--all", "--jobs", jobs)
        assert done.code == 1
        assert done.out.splitlines()[1].startswith(f"{several[1]}  ALTERED  5.prev")
        assert "3 records: 1 ALTERED, 2 SELF-CONSISTENT, SIGNER UNKNOWN" in done.out


@pytest.mark.parametrize("command", ["metrics", "retention"])
def test_what_counts_many_says_what_it_left_out(hansard, several, command):
    assert "Not counted" not in hansard(command).out
    assert json.loads(hansard(command, "--json").out)["not_counted"] == 0
    alter(several[1])
    assert hansard("projection", "rebuild").code == 0
    done = hansard(command)
    assert (done.code, "Not counted, for they do not hold: 1 record" in done.out) == (
        0,
        True,
    )
    assert json.loads(hansard(command, "--json").out)["not_counted"] == 1


def test_a_policy_may_be_asked_of_all(hansard, exports):
    done = hansard("verify", exports, "--require-policy")
    assert done.code == 1
    assert done.out.count("required: a policy") == 3
    assert run_tool(exports, "--require-policy")[0] == 1


@pytest.mark.parametrize("words", [[], ["ID", "--all"]])
def test_what_is_to_be_verified_must_be_said(hansard, several, words):
    done = hansard("verify", *words)
    assert (done.code, done.err[-15:]) == (2, "[verify.which]\n")


@pytest.fixture
def kept(hansard, home):
    """A month ago: one debate was held, and somebody kept the checkpoint; the store then."""
    write_debate(dict.fromkeys(NAMES, "release"))
    assert hansard("run", "debate.yaml").code == 0
    assert hansard("register", "checkpoint", "-o", "kept.txt").code == 0
    with Store.open(f"sqlite:///{DB}") as store:
        (debate,) = store.debates()
    return debate, DB.read_bytes()


def both(hansard, folder, since="kept.txt"):
    """What both verifiers find of a folder, which they must say alike; and the exit code."""
    words = [str(folder), "--since", since, "--json"]
    done, (code, out, _) = hansard("verify", *words), run_tool(*words)
    ours, theirs = (json.loads(said.splitlines()[-1]) for said in (done.out, out))
    assert (done.code, ours) == (code, theirs)
    return code, ours["verdict"], [row["code"] for row in ours["findings"]], ours["caveats"]


def test_who_kept_a_checkpoint_sees_that_nothing_was_dropped_or_changed(hansard, kept):
    assert hansard("run", "debate.yaml").code == 0
    assert hansard("export", "--all", "-o", "today").code == 0
    assert both(hansard, "today") == (0, "INTACT, ANCHORED", [], [])
    assert hansard("verify", "today", "--since", "kept.txt").code == 0
    debate, _ = kept
    assert hansard("export", debate, "-o", "one.zip").code == 0
    with Store.open(f"sqlite:///{DB}") as store:
        (other,) = {*store.debates()} - {debate}
    assert hansard("export", other, other, "-o", "some").code == 0
    said = ["1 of 2 records of the register are not here"]
    assert both(hansard, "some") == (0, "INTACT, ANCHORED", [], said)


def test_a_month_that_was_held_anew_shows(hansard, kept):
    DB.unlink()
    assert hansard("run", "debate.yaml").code == 0
    assert hansard("export", "--all", "-o", "anew").code == 0
    assert hansard("verify", "anew").code == 0, "by itself it agrees with itself"
    assert both(hansard, "anew")[1:3] == ("ALTERED", ["17.origin"])


def test_a_fork_is_shown_with_both_checkpoints(hansard, kept):
    _, backup = kept
    assert hansard("run", "debate.yaml").code == 0
    assert hansard("register", "checkpoint", "-o", "later.txt").code == 0
    DB.write_bytes(backup)
    assert hansard("run", "debate.yaml").code == 0
    assert hansard("export", "--all", "-o", "forked").code == 0
    done = hansard("verify", "forked", "--since", "later.txt")
    assert f"--- kept ---\n{Path('later.txt').read_text()}" in done.out
    assert "17.fork  line 4: The register was forked" in done.out


def test_a_folder_without_a_register_is_not_compared_with_a_checkpoint(hansard, kept):
    assert hansard("export", "--all", "-o", "all").code == 0
    folder = Path("all")
    for name in ("checkpoint", "checkpoints", "register.jsonl"):
        (folder / name).unlink()
    found = both(hansard, folder)
    assert (found[0], found[1], set(found[2])) == (1, "ALTERED", {"2.absent"})
    assert found[3] == ["register not checked", "not compared with the checkpoint that you kept"]


def test_a_checkpoint_of_a_store_or_of_another_kind_is_not_asked_for(hansard, exports):
    assert hansard("register", "checkpoint", "-o", "kept.txt").code == 0
    assert hansard("verify", "--all", "--since", "kept.txt").err[-15:] == "[verify.since]\n"
    code, _, err = run_tool(exports, "--checkpoint", "kept.txt")
    assert (code, "holds a checkpoint of its own" in err) == (2, True)
    for name in ("none.txt", "debate.yaml"):
        assert hansard("verify", exports, "--since", name).code == 2
        assert run_tool(exports, "--since", name)[0] == 2


def test_json_is_a_document_a_line(hansard, exports, several):
    lines = {}
    for jobs in ("1", "2"):
        *rows, last = map(
            json.loads, hansard("verify", exports, "--json", "--jobs", jobs).out.splitlines()
        )
        for row in rows:
            Draft202012Validator(SCHEMAS["verified"]()).validate(row)
        Draft202012Validator(SCHEMAS["verifications"]()).validate(last)
        lines[jobs] = (sorted(rows, key=lambda row: row["name"]), last)
    assert lines["1"] == lines["2"]
    assert [row["name"] for row in lines["1"][0]] == zips(several)
    one = json.loads(hansard("verify", exports / zips(several)[0], "--json").out)
    assert lines["1"][0][0]["result"] == one


def test_a_folder_of_exports_is_no_export(hansard, exports):
    for command in ("show", "report", "replay", "status"):
        done = hansard(command, exports)
        assert done.code == 2
        assert "holds many exports; name one of the zips in it [input.many]" in done.err


def test_a_bar_is_shown_on_a_terminal_alone(hansard, exports):
    assert b"Verifying" in on_a_terminal("verify", str(exports))
    assert "Verifying" not in hansard("verify", exports).err


def test_ctrl_c_ends_it_and_its_processes(exports, several):
    first = exports / zips(several)[0]
    for number in range(300):  # more than a pipe takes of what is said of them
        os.link(first, exports / f"{number:08x}-0000-4000-8000-000000000000.zip")
    process = subprocess.Popen(
        [sys.executable, "-m", "hansard", "verify", str(exports), "--jobs", "2", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert json.loads(process.stdout.readline())["name"]
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: its processes hear of it too
    _, err = process.communicate(timeout=GUARD)  # until nobody holds the pipes any more
    assert (process.returncode, re.sub(r"\s+", " ", err)) == (130, "interrupted ")


def test_the_help_says_what_each_of_many_processes_may_take(hansard):
    """A folder of hostile exports takes as many times the bound of FORMAT.md as there are jobs."""
    assert "each takes up to 512 MiB" in " ".join(hansard("verify", "--help").out.split())
