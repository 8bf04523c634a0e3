"""`redact`: texts that are erased, and what still holds."""

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import hansard as library
from cli_support import leave_open, only_debate, write_debate
from exporting import both
from hansard.store.beside import Unscrubbed
from hansard.store.sqlite import Recorder
from hansard.store.sqlite_tables import DERIVED

SECRET = "Jane Roe of 12 Elm Street owes the bank 4,000 pounds since last March, says the ledger."
QUOTE = {
    "stance": "Release.",
    "rationale": 'The ledger is plain: "Jane Roe of 12 Elm Street owes the bank 4,000 pounds".',
    "vote": "release",
}
PLAIN = {"stance": "Release.", "rationale": "It is time.", "vote": "release"}
SAID = ("--reason", "She asked.", "--basis", "GDPR, Article 17", "--asked-by", "Ann Lee")
EVIDENCE, REPLY = "5.text", "9.reply"


@pytest.fixture
def hansard(ending):
    return ending


def write(**fields):
    script = {seat: {"*": {"*": PLAIN}} for seat in ("critic", "operator")}
    votes = dict.fromkeys(("planner", "critic", "operator"), "release")
    script["planner"] = {"*": {"*": QUOTE}}
    evidence = [{"id": "ledger", "text": SECRET}]
    return write_debate(votes, script=script, evidence=evidence, **fields)


@pytest.fixture
def ended(hansard):
    """The id of a debate whose first reply quotes its evidence; `5.text` and `9.reply`."""
    hansard("run", write())
    Path("replies.yaml").unlink()
    Path("debate.yaml").unlink()
    return only_debate()


def record():
    with library.open_store() as store:
        return library.read_record(store, only_debate(), library.open_keyring().trust())


def holding(*words):
    """The files here that hold one of these words."""
    files = [path for path in Path().iterdir() if path.is_file()]
    return {path.name for path in files if any(word in path.read_bytes() for word in words)}


def salted(text):
    """The bytes of a text in the store, and its salt."""
    name = dict(library_texts())[text]
    file = record().bundle.blobs[name]
    return [file, file.split(b"\n")[0].rpartition(b" ")[2]]


def library_texts():
    from hansard.rules.redactions import texts_of

    for seq, event in enumerate(record().events, 1):
        yield from ((f"{seq}.{field}", name) for field, name in texts_of(event["data"]))


def test_who_may_not_delete_texts_is_told_before_anything_is_shown_or_made(
    hansard, ended, monkeypatch
):
    def refuse(_):
        raise library.DataError("store.role", "the role may not do this")

    monkeypatch.setattr(library.Store, "require_erasing", refuse)
    before = sorted(Path().rglob("*"))
    done = hansard("redact", ended, "1.question", *SAID, "--yes", code=2)
    assert (done.code, done.out) == (2, "")
    assert done.err == "error: the role may not do this [store.role]\n"
    assert sorted(Path().rglob("*")) == before
    assert "Erase " in hansard("redact", ended, "1.question", "--dry-run").err


def test_a_text_that_is_erased_is_in_no_file_of_the_store(hansard, ended):
    words = [b"Elm Street", *salted(EVIDENCE), *salted(REPLY)]
    assert holding(*words)
    done = hansard("redact", ended, EVIDENCE, REPLY, *SAID)
    assert "2 texts" in done.err
    assert holding(*words) == set()
    assert record().verification.ok


def test_nor_in_what_finds_debates(hansard):
    hansard("run", write(question="Shall Wilhelmina Quackenbush get credit?"))
    debate = only_debate()
    Path("debate.yaml").unlink()
    assert "Quackenbush" in hansard("list", "--search", "quackenbush").out
    hansard("redact", debate, "1.question", *SAID)
    assert holding(b"Quackenbush", b"quackenbush") == set()
    assert "1 debate" not in hansard("list", "--search", "quackenbush").out
    assert "1 erased" in hansard("list").out
    assert holding(b"Quackenbush", b"quackenbush") == set()


# Each with whether a search and whether a plain list meet it.
DAMAGE = {
    "no index": ("DROP TABLE projected_texts", True, False),
    "an empty index": ("DELETE FROM projected_texts_data", True, False),
    "pages that are none": ("UPDATE projected_texts_data SET block = x'00'", False, True),
    "another version": ("UPDATE projected_texts_config SET v = 99", True, False),
    "no config": ("DROP TABLE projected_texts_config", True, False),
    "no data": ("DROP TABLE projected_texts_data", True, False),
    "no idx": ("DROP TABLE projected_texts_idx", True, True),
    "no content": ("DROP TABLE projected_texts_content", False, False),
    "no docsize": ("DROP TABLE projected_texts_docsize", False, True),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("mended", ["redact", "rebuild"])
def test_what_finds_words_may_be_damaged(hansard, damage, mended):
    hansard("run", write(question="Shall Wilhelmina Quackenbush get credit?", labels=["zanzibar"]))
    debate = only_debate()
    Path("debate.yaml").unlink()
    hansard("list", "--search", "quackenbush")
    with closing(sqlite3.connect("hansard.db")) as connection, connection:
        connection.execute(DAMAGE[damage][0])
    if mended == "rebuild":
        hansard("projection", "rebuild")
        assert "Quackenbush" in hansard("list", "--search", "quackenbush").out
    hansard("redact", debate, "1.question", *SAID)
    assert holding(b"Quackenbush", b"quackenbush") == set()
    assert "1 debate" in hansard("list", "--search", "zanzibar").out


def listed(**terms):
    """List debates; return what stands in the way."""
    with library.open_store() as store:
        try:
            library.list_debates(store, **terms)
        except library.DataError as error:
            return str(error)
    return None


@pytest.mark.parametrize(("damage", "searching", "listing"), DAMAGE.values(), ids=DAMAGE)
def test_who_meets_such_damage_is_told_of_the_cure(hansard, damage, searching, listing):
    hansard("run", write())
    hansard("list")
    with closing(sqlite3.connect("hansard.db")) as connection, connection:
        connection.execute(damage)
    for terms, met in (({"search": "credit"}, searching), ({}, listing)):
        said = listed(**terms)
        assert ("run `hansard projection rebuild`" in said) if met else said is None
        hansard("run", "debate.yaml")
    hansard("projection", "rebuild")
    hansard("list", "--search", "credit")


TABLES = [name for name in DERIVED if name != "projected_texts"]
READERS = {
    "projected": ("list", "metrics", "redact"),
    "projected_names": ("list", "redact"),
    "projected_reviews": ("list", "redact"),
    "projected_figures": ("metrics", "redact"),
    "projected_counts": ("period", "redact"),
    "projected_until": ("list", "metrics"),
}


@pytest.mark.parametrize("lacking", TABLES)
def test_a_table_that_is_derived_and_missing_is_made_anew(hansard, lacking):
    hansard("run", write(question="Shall Wilhelmina Quackenbush get credit?", labels=["zanzibar"]))
    debate = only_debate()
    hansard("list")
    commands = {
        "list": ["list", "--label", "zanzibar"],
        "metrics": ["metrics"],
        "period": ["report", "--period", "2020"],
        "redact": ["redact", debate, "1.question", *SAID],
    }
    with closing(sqlite3.connect("hansard.db")) as connection, connection:
        connection.execute(f"DROP TABLE {lacking}")
    for name in READERS[lacking]:
        assert "run `hansard projection rebuild`" in hansard(*commands[name], code=2).err, name
    hansard("run", "debate.yaml")
    hansard("projection", "rebuild")
    assert "2 debates" in hansard("list", "--search", "quackenbush").out
    for words in commands.values():
        hansard(*words)


def test_no_word_stays_in_an_index_whose_rows_somebody_deleted(hansard):
    hansard("run", write(question="Shall Wilhelmina Quackenbush get credit?"))
    Path("debate.yaml").unlink()
    hansard("list")
    with closing(sqlite3.connect("hansard.db")) as connection, connection:
        connection.execute("DELETE FROM projected_texts_content")
    hansard("redact", only_debate(), "1.question", *SAID)
    assert holding(b"Quackenbush", b"quackenbush") == set()


def test_nor_while_the_store_is_open_elsewhere(hansard, ended):
    words = [b"Elm Street", *salted(EVIDENCE)]
    with library.open_store() as store:
        assert store.debates() == [ended]
        hansard("redact", ended, EVIDENCE, REPLY, *SAID)
        assert holding(*words) == set()


def test_a_reader_that_keeps_an_older_state_is_told_of(hansard, ended, monkeypatch):
    monkeypatch.setattr("hansard.store.sqlite.LOCK_SECONDS", 0)
    with closing(sqlite3.connect("hansard.db", isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM blobs").fetchone()
        done = hansard("redact", ended, EVIDENCE, REPLY, *SAID, code=2)
        assert "[store.busy]" in done.err
        assert holding(b"Elm Street") == {"hansard.db"}, "the older state that is still read"
    hansard("list")
    assert holding(b"Elm Street") == set()
    assert [row.field for row in record().result().reviewed.erased] == ["text", "reply"]


KILLED = """
import os, signal, sys
from hansard_entry import run
from hansard.store.sqlite import Recorder
setattr(Recorder, sys.argv.pop(1), lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
run()
"""


def test_a_disk_that_is_full_by_then_is_told_of_as_what_it_leaves(hansard, ended, monkeypatch):
    def full(*_):
        raise library.DataError("store.full", "there is no room left on the disk")

    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "scrub", full)
        said = hansard("redact", ended, EVIDENCE, REPLY, *SAID, code=2).err
    assert "is out of the record, but the store's files still have it: there is no room" in said
    assert said.endswith("[store.full]\n")
    assert Path("hansard.db-erased").exists()
    assert "2 erased" in hansard("list").out
    assert holding(b"Elm Street") == set()


@pytest.mark.parametrize(("step", "erased"), [("drop_words", []), ("scrub", ["text", "reply"])])
def test_what_a_killed_process_left_goes_when_the_store_is_opened_next(
    hansard, ended, step, erased
):
    hansard("list")  # makes the words that go with the text
    command = (sys.executable, "-c", KILLED, step, "redact", ended, EVIDENCE, REPLY, *SAID, "--yes")
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert holding(b"Elm Street")
    assert Path("hansard.db-erased").exists()
    hansard("list")
    assert not Path("hansard.db-erased").exists()
    assert bool(holding(b"Elm Street")) is not bool(erased)
    assert [row.field for row in record().result().reviewed.erased] == erased


def test_a_store_in_use_is_opened_all_the_same_and_scrubbed_later(hansard, ended, monkeypatch):
    monkeypatch.setattr("hansard.store.sqlite.LOCK_SECONDS", 0)
    Path("hansard.db-erased").touch()
    with closing(sqlite3.connect("hansard.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert record().verification.ok
    assert Path("hansard.db-erased").exists()
    hansard("list")
    assert not Path("hansard.db-erased").exists()


def test_who_opens_the_store_before_a_text_goes_has_scrubbed_nothing_of_it(
    hansard, ended, monkeypatch
):
    write = Recorder.write

    def late(self, work):
        assert record().verification.ok
        write(self, work)

    monkeypatch.setattr(Recorder, "write", late)
    monkeypatch.setattr("hansard.store.application.Store.scrub", lambda _: None)  # as if killed
    hansard("redact", ended, EVIDENCE, REPLY, *SAID)
    assert Path("hansard.db-erased").exists()
    hansard("list")
    assert not Path("hansard.db-erased").exists()


def test_who_scrubs_while_a_text_goes_leaves_the_word_of_that(hansard, ended, monkeypatch):
    clear, left = Unscrubbed.clear, []

    def late(self, word):
        if not left:
            self.set()  # another process has erased something since
            left.append(self.read())
        clear(self, word)

    monkeypatch.setattr(Unscrubbed, "clear", late)
    hansard("redact", ended, EVIDENCE, REPLY, *SAID)
    assert Path("hansard.db-erased").read_bytes() == left[0]
    hansard("list")
    assert not Path("hansard.db-erased").exists()


def test_what_was_signed_before_still_holds(hansard, ended):
    review = ("--outcome", "approved", "--reviewer", "Ann Lee")
    hansard("review", ended, *review)
    hansard("export", ended, "-o", "before.zip")
    before = Path("before.zip").read_bytes()
    hansard("redact", ended, EVIDENCE, REPLY, *SAID)
    hansard("export", ended, "-o", "after.zip")
    trust = library.open_keyring().trust_file.read_bytes()
    old, new = (both(Path(name).read_bytes(), trust) for name in ("before.zip", "after.zip"))
    assert (old.verdict, new.verdict) == ("INTACT", "INTACT")
    assert new.caveats[:-1] == ["11 of 13 texts present, 2 erased", "1 of 3 turns unchecked"]
    lines = library.read_export("after.zip").bundle.lines
    assert lines[: old.entries] == library.read_export("before.zip").bundle.lines
    assert record().result().reviewed.state == "approved"
    assert Path("before.zip").read_bytes() == before
    assert "2 erased" in hansard("verify", "after.zip").out


def test_what_quotes_it_must_be_decided(hansard, ended):
    done = hansard("redact", ended, EVIDENCE, *SAID, code=2)
    assert "[redact.undecided]" in done.err
    assert REPLY in done.err
    assert holding(b"Elm Street")
    hansard("redact", ended, EVIDENCE, "--keep", REPLY, *SAID)
    texts = dict(library_texts())
    blobs = record().bundle.blobs
    assert (texts[EVIDENCE] in blobs, texts[REPLY] in blobs) == (False, True)


def test_a_dry_run_writes_nothing_and_says_what_would_be_unchecked(hansard, ended):
    before = len(record().bundle.lines)
    done = hansard("redact", ended, REPLY, "--dry-run")
    said = " ".join(done.err.split())
    assert f"Erase {REPLY}" in said
    assert f"Undecided {EVIDENCE}" in said
    assert "Unchecked replies: 1 reply gone" in said
    assert "1 of 3 turns unchecked" in said
    assert len(record().bundle.lines) == before


def test_the_same_words_in_other_debates_are_told_of(hansard, ended):
    hansard("run", write(name="second.yaml"))
    with library.open_store() as store:
        (other,) = set(store.debates()) - {ended}
    done = hansard("redact", ended, EVIDENCE, REPLY, *SAID)
    assert f"debate {other[:8]} has the same words in 2 texts" in " ".join(done.err.split())
    with library.open_store() as store:
        assert library.read_record(store, other).result().evidence[0].characters == len(SECRET)


def test_a_follow_up_that_has_the_words_in_its_own_lines_is_told_of(hansard):
    said = "Jane Roe of 12 Elm Street\nowes the bank\n\n4,000 pounds.\n"
    spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    with library.open_store(create=True) as store:
        given = {"models": {"ask": lambda _: said}, "store": store}
        first = library.run_sync(spec, **given).debate
        given["models"] = {"ask": lambda _: "It is so."}
        other = library.run_sync(spec, follow_up=first, **given).debate
    done = hansard("redact", first, "6.reply", "--dry-run")
    assert f"debate {other[:8]} has the same words in 1 text" in " ".join(done.err.split())


def test_a_result_shows_what_is_gone_by_whom_when_and_why(hansard, ended):
    hansard("redact", ended, EVIDENCE, REPLY, *SAID)
    words = ("text of entry 5", "Ann Lee", "She asked.", "GDPR, Article 17", "house/reviewer")
    for command in (("show", ended), ("report", ended, "--as", "markdown")):
        out = " ".join(hansard(*command).out.split())
        assert all(word in out for word in words), command
    assert "2 erased" in hansard("list").out
    (row, _) = record().result().reviewed.erased
    assert (row.seq, row.entry, row.field, row.counts) == (
        len(record().events) - 1,
        5,
        "text",
        True,
    )
    assert row.keys == ("house/reviewer",)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("5.source", "redact.text"),
        ("0.question", "redact.text"),
        ("99.question", "redact.text"),
        ("question", "redact.text"),
        ("1.templates.0", "redact.text"),
        ("²5.text", "redact.text"),
    ],
)
def test_what_is_no_text_is_refused(hansard, ended, text, code):
    assert f"[{code}]" in hansard("redact", ended, text, *SAID, code=2).err


def test_a_text_goes_once(hansard, ended):
    hansard("redact", ended, EVIDENCE, REPLY, *SAID)
    assert "[redact.gone]" in hansard("redact", ended, EVIDENCE, *SAID, code=2).err


def test_a_text_is_not_both_erased_and_kept(hansard, ended):
    done = hansard("redact", ended, EVIDENCE, "--keep", EVIDENCE, *SAID, code=2)
    assert "[redact.text]" in done.err


def test_nothing_is_erased_under_a_hold(hansard, ended):
    hansard("hold", ended)
    assert "[redact.held]" in hansard("redact", ended, EVIDENCE, REPLY, *SAID, code=2).err
    hansard("hold", ended, "--lift")
    hansard("redact", ended, EVIDENCE, REPLY, *SAID)


def test_nothing_is_erased_before_the_close(hansard):
    debate = leave_open(write(), turns=1)
    assert "[review.open]" in hansard("redact", debate, EVIDENCE, *SAID, code=2).err


def test_reason_basis_and_who_asked_are_wanted_and_do_not_say_the_text_again(hansard, ended):
    done = hansard("redact", ended, EVIDENCE, REPLY, "--reason", "x", code=2)
    assert "[redact.words]" in done.err
    assert "--basis and --asked-by" in done.err
    again = ("--reason", f"It says: {SECRET}", *SAID[2:])
    assert "[redact.words]" in hansard("redact", ended, EVIDENCE, REPLY, *again, code=2).err
    assert holding(b"Elm Street")


def test_a_key_that_would_not_count_erases_nothing(hansard, ended):
    hansard("redact", ended, "--dry-run", EVIDENCE)
    ring = library.open_keyring()
    ring.signer("reviewer")
    ring.revoke("reviewer")
    words = {"reason": "x", "basis": "y", "asked_by": "z"}
    given = {"store": "sqlite:///hansard.db", "keep": [REPLY], **words}
    for signers, trust, code in (
        ([ring.signer("export")], ring.trust(), "redact.untrusted"),
        ([], ring.trust(), "redact.signers"),
        ([ring.signer("approval")] * 2, ring.trust(), "redact.signers"),
        ([ring.signer("approval")], library.Trust(), "redact.untrusted"),
    ):
        with pytest.raises(library.UsageError) as caught:
            library.redact(ended, [EVIDENCE], signers=signers, trust=trust, **given)
        assert caught.value.code == code
    library.redact(
        ended, [EVIDENCE], signers=[ring.signer("approval")], trust=ring.trust(), **given
    )


def test_two_keys_where_the_policy_asks_for_four_eyes(hansard):
    write()
    hansard("policy", "init", "--format", "consensus", "-o", "policy.yaml")
    text = Path("policy.yaml").read_text()
    rows = text[text.index("consensus.") :]
    Path("policy.yaml").write_text(f'"*":\n  redactors: 2\n{rows}')
    hansard("policy", "approve", "policy.yaml", "-o", "policy.note")
    hansard("run", "debate.yaml", "--policy", "policy.note")
    debate = only_debate()
    done = hansard("redact", debate, EVIDENCE, REPLY, *SAID, code=2)
    assert "[redact.signers]" in done.err
    hansard("redact", debate, EVIDENCE, REPLY, *SAID, "--approve")
    (row, _) = record().result().reviewed.erased
    assert row.keys == ("house/approval", "house/reviewer")
    assert row.counts


def test_a_stranger_s_redaction_is_told_as_one(hansard, ended):
    hansard("redact", ended, EVIDENCE, REPLY, *SAID)
    with library.open_store() as store:
        seen = library.read_record(store, ended)
    assert seen.verification.ok, "the record agrees with itself"
    (row, _) = seen.result().reviewed.erased
    assert (row.counts, row.standings) == (False, ("unknown",))
    assert "you have not said that you trust the key house/reviewer" in seen.result().to_markdown()


def test_more_texts_than_fit_are_told_of_before_anything_is_signed(hansard, ended, monkeypatch):
    monkeypatch.setattr("hansard.rules.after.MOST_AFTER", 2)
    before = len(record().events)
    done = hansard("redact", ended, "--all", *SAID, code=2)
    assert "has room for 2 more" in " ".join(done.err.split())
    assert "[review.full]" in done.err
    assert len(record().events) == before
    hansard("redact", ended, EVIDENCE, REPLY, *SAID)


def test_without_a_text_all_are_listed(hansard, ended):
    out = hansard("redact", ended).out
    assert {EVIDENCE, REPLY, "1.question"} <= set(out.split())
    hansard("redact", ended, EVIDENCE, REPLY, *SAID)
    assert not {EVIDENCE, REPLY} & set(hansard("redact", ended).out.split())


def test_all_texts_of_a_debate_may_go(hansard, ended):
    assert hansard("redact", ended, REPLY, "--all", code=2).err.endswith(" [redact.all]\n")
    before = len(list(library_texts()))
    words = [b"Elm Street", *salted(EVIDENCE), *salted(REPLY)]
    done = hansard("redact", ended, "--all", *SAID)
    assert (done.code, f"erased: {before} texts" in done.err) == (0, True)
    assert holding(*words) == set()
    found = record().verification
    assert (found.ok, found.texts.erased) == (True, before)
    assert hansard("redact", ended, "--all", *SAID, code=2).err.endswith(" [redact.gone]\n")
    assert hansard("redact", ended).out.strip() == ""


def test_a_hold_that_was_lifted_is_told_before_anything_is_erased(hansard, ended):
    """Anybody who writes the record can lift it; whoever erases must see that."""
    hansard("hold", ended, "--reason", "A court asks.")
    refused = hansard("redact", ended, REPLY, "--dry-run", code=2)
    assert "redact.held" in refused.err
    hansard("hold", ended, "--lift")

    def told(done):
        words = " ".join(done.err.split())
        return "and nobody signed that" in words, "before you erase, ask the person" in words

    assert told(hansard("redact", ended, REPLY, "--dry-run")) == (True, True)
    assert "hold lifted (untrusted)" in " ".join(hansard("list").out.split())
    assert '"lifted": 1' in hansard("list", "--json").out
    hansard("hold", ended, "--reason", "Again.", "--sign")
    hansard("hold", ended, "--lift", "--sign")
    hansard("hold", ended, "--reason", "And again.")
    hansard("hold", ended, "--lift", "--sign")
    done = hansard("redact", ended, REPLY, "--keep", EVIDENCE, *SAID, "--yes")
    assert told(done) == (True, True), "the doubtful one stays told"
    assert done.err.count("with the key") == 2


def test_a_hold_that_a_trusted_key_lifted_draws_no_doubt(hansard, ended):
    hansard("hold", ended, "--reason", "A court asks.")
    hansard("hold", ended, "--lift", "--sign")
    done = hansard("redact", ended, REPLY, "--dry-run")
    assert "a hold was lifted" in done.err
    assert "before you erase" not in done.err
    assert "hold lifted" not in hansard("list").out
