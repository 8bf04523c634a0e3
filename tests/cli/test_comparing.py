"""`compare`: two debates side by side."""

import json
from pathlib import Path

import jsonschema

from cli_support import write_debate
from formats import NAMES
from hansard.schemas import render
from hansard.store import tampering


def run(hansard, votes, name="debate.yaml", **fields):
    """Run a debate and return its id."""
    write_debate(dict(zip(NAMES, votes, strict=True)), name, **fields)
    before = {row["debate"] for row in listed(hansard)} if Path("hansard.db").exists() else set()
    assert hansard("run", name).code == 0
    (new,) = {row["debate"] for row in listed(hansard)} - before
    return new


def listed(hansard):
    return json.loads(hansard("list", "--json").out)["debates"]


def test_differences_come_first_and_what_is_the_same_is_named(hansard):
    one = run(hansard, ("release", "revise", "revise"))
    other = run(hansard, ("release", "release", "revise"))
    done = hansard("compare", one[:8], other[:8])
    assert done.code == 0
    assert f"A {one}" in done.out
    assert f"B {other}" in done.out
    decision = done.out.index("    A revise\n    B release")
    assert decision < done.out.index("The same in both: Question, Format")


def test_as_json_it_fits_its_schema(hansard):
    one = run(hansard, ("release", "revise", "revise"))
    found = json.loads(hansard("compare", one, one, "--json").out)
    jsonschema.validate(found, json.loads(render("comparison")))
    assert all(row["same"] for row in found["rows"])


def test_one_other_run_of_the_question_is_found(hansard):
    one = run(hansard, ("release", "revise", "revise"))
    assert hansard("compare", one).code == 2
    run(hansard, ("revise", "revise", "revise"), question="Another question?")
    other = run(hansard, ("release", "release", "revise"))
    assert f"B {other}" in hansard("compare", one).out
    third = run(hansard, ("release", "release", "revise"))
    done = hansard("compare", one)
    assert done.code == 0
    for name in (other, third):
        assert f"hansard compare {one} {name[:8]}" in done.out


def test_an_export_is_compared_with_a_debate_and_written_as_html(hansard, tmp_path):
    one = run(hansard, ("release", "revise", "revise"))
    assert hansard("export", one, "-o", "record.zip").code == 0
    done = hansard("compare", "record.zip", one, "-o", "both.html")
    assert done.code == 0
    assert "0 of " in done.out
    assert one in Path("both.html").read_text()
    assert "already exists" in hansard("compare", "record.zip", one, "-o", "both.html").err


def test_an_altered_record_is_not_compared(hansard):
    one = run(hansard, ("release", "revise", "revise"))
    other = run(hansard, ("release", "revise", "revise"))
    tampering.alter_line(Path("hansard.db"), one, 1, b'"max_rounds":2', b'"max_rounds":3')
    done = hansard("compare", one, other)
    assert done.code == 1
    assert done.out == ""


def test_an_export_alone_has_no_store_to_look_in(hansard):
    one = run(hansard, ("release", "revise", "revise"))
    assert hansard("export", one, "-o", "record.zip").code == 0
    done = hansard("compare", "record.zip")
    assert done.code == 2
    assert "name the record to compare it with" in done.err
