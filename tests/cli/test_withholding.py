"""`export --withhold`: texts that a recipient does not get, and what cannot be checked then."""

from pathlib import Path

import pytest

import hansard as library
from cli_support import only_debate, write_debate
from exporting import both
from hansard.record.bundle import unpack

SECRET = "Jane Roe of 12 Elm Street owes the bank 4,000 pounds since last March, says the ledger."
PLAIN = {"stance": "Release.", "rationale": "It is time.", "vote": "release"}
QUOTE = PLAIN | {"rationale": f"It says: {SECRET}"}


@pytest.fixture
def hansard(ending):
    return ending


@pytest.fixture
def ended(hansard):
    script = {seat: {"*": {"*": PLAIN}} for seat in ("critic", "operator")}
    script["planner"] = {"*": {"*": QUOTE}}
    votes = dict.fromkeys(("planner", "critic", "operator"), "release")
    fields = {"evidence": [{"id": "ledger", "text": SECRET}]}
    write_debate(votes, script=script, **fields)
    text = Path("debate.yaml").read_text()
    Path("debate.yaml").write_text(text.replace("- id: planner", "- id: planner\n  persona: Bold."))
    hansard("run", "debate.yaml")
    return only_debate()


def exported(name="record.zip"):
    data = Path(name).read_bytes()
    trust = library.open_keyring().trust_file.read_bytes()
    return both(data, trust), unpack(data)


def test_a_text_by_its_entry_and_field(hansard, ended):
    done = hansard("export", ended, "-o", "record.zip", "--withhold", "9.reply=personal_data")
    said = " ".join(done.err.split())
    assert "Withheld 9.reply" in said
    assert "Quotes it 5.text" in said
    assert "Unchecked replies: 1 reply gone" in said
    found, files = exported()
    assert found.verdict == "INTACT"
    assert found.own_caveats == ["6 of 7 texts present, 1 withheld", "1 of 3 turns unchecked"]
    assert " personal_data\n" in files["SHA256SUMS"].decode()


@pytest.mark.parametrize(
    ("what", "number", "gone"),
    [
        ("evidence", 1, True),
        ("personas", 1, False),
        ("seat:planner", 2, False),
        ("seat:critic", 1, False),
    ],
)
def test_texts_by_their_kind(hansard, ended, what, number, gone):
    hansard("export", ended, "-o", "record.zip", "--withhold", f"{what}=trade_secret")
    found, files = exported()
    assert found.verdict == "INTACT"
    assert found.texts.withheld == number
    blobs = [body for name, body in files.items() if name.startswith("blobs/")]
    assert any(SECRET.encode() == body[81:] for body in blobs) is not gone


def test_a_dry_run_writes_nothing_and_needs_no_key(hansard, ended):
    keys = library.open_keyring()
    done = hansard(
        "export", ended, "-o", "record.zip", "--withhold", "evidence=secret", "--dry-run"
    )
    assert "1 withheld" in done.err
    assert not Path("record.zip").exists()
    assert keys.public("export") is None


def test_the_page_lacks_it_as_well(hansard, ended):
    reasons = ("--withhold", "evidence=secret", "--withhold", "seat:planner=secret")
    hansard("export", ended, "-o", "record.zip", *reasons)
    _, files = exported()
    Path("page.html").write_bytes(files["report.html"])
    assert "3 withheld" in hansard("verify", "page.html").out


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ("9.reply", "withhold.reason"),
        ("9.reply=Two words", "withhold.reason"),
        ("9.reply=", "withhold.reason"),
        ("9.text=x", "withhold.text"),
        ("originals=x", "withhold.text"),
        ("seat:nobody=x", "withhold.text"),
    ],
)
def test_what_names_nothing_is_refused(hansard, ended, what, code):
    done = hansard("export", ended, "-o", "record.zip", "--withhold", what, code=2)
    assert f"[{code}]" in done.err
    assert not Path("record.zip").exists()


def test_the_library_withholds_as_well(hansard, ended):
    with library.open_store() as store:
        record = library.read_record(store, ended)
    found = record.preview_withholding({"evidence": "secret"})
    assert ([str(row) for row in found.withheld], [str(row) for row in found.quoting]) == (
        ["5.text"],
        ["9.reply"],
    )
    assert found.unchecked == ()
    assert found.verification.texts.withheld == 1
