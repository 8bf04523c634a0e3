"""`eval`: a golden set is put to debates and their rivals, recorded, counted and not paid twice."""

import csv
import json
from pathlib import Path

import jsonschema
import pytest

import hansard as library
from hansard.schemas import render

SPEC = """
format: panel
model: python:ask
agents: 2
rounds: 1
options: ["yes", "no"]
task_type: arithmetic
question: Is it so?
context: Think of whole numbers.
"""
# Debaters are right, who answers alone says yes; asked.txt has a line for each call.
MODELS = """
from pathlib import Path

def ask(request):
    with Path("asked.txt").open("a") as asked:
        asked.write(f"{request.question} {request.speaker} {request.phase}\\n")
    if Path("broken.txt").exists() and request.question == "Is 3 even?":
        raise RuntimeError("mend me")
    number = int(request.question.split()[1])
    right = "no" if number % 2 else "yes"
    return {"answer": "so", "choice": "yes" if request.speaker == "single" else right}
"""
RUN = ("eval", "golden.jsonl", "--spec", "debate.yaml", "--models", "models.py")


@pytest.fixture
def golden(folder, home):
    Path("debate.yaml").write_text(SPEC)
    Path("models.py").write_text(MODELS)
    write(20)


def write(n):
    rows = [
        {
            "id": f"n{number}",
            "question": f"Is {number} even?",
            "label": "no" if number % 2 else "yes",
        }
        for number in range(n)
    ]
    Path("golden.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def asked():
    return Path("asked.txt").read_text().splitlines() if Path("asked.txt").exists() else []


def records():
    with library.open_store("sqlite:///hansard.db") as store:
        return [library.read_record(store, name) for name in store.debates()]


def test_debates_that_are_better_exit_with_0_and_all_is_recorded(hansard, golden):
    done = hansard(*RUN, "--json", "--name", "first")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    jsonschema.validate(found, json.loads(render("evaluation")))
    assert (found["result"], found["n"], found["scripted"]) == ("better", 20, False)
    assert [(row["way"], row["right"]) for row in found["totals"]] == [
        ("debate", 20), ("single", 10), ("self_consistency", 10),
    ]  # fmt: skip
    assert [row["calls"] for row in found["totals"]] == [40, 20, 40]  # at equal calls
    kept = {record.debate: record for record in records()}
    assert len(kept) == 60
    for row in found["questions"]:
        debate = kept[row["debate"]["debate"]]
        opened = debate.events[0]["data"]
        assert (opened["collection_id"], opened["name"]) == ("first", row["id"])
        assert opened["origin"] == {"kind": "evaluation", "debate": None, "head": None, "seq": None}
        for way, draws in (("single", 1), ("self_consistency", 2)):
            rival = kept[row[way]["debate"]]
            data = rival.events[0]["data"]
            assert data["terms"]["draws"] == draws
            assert data["origin"] == {
                "kind": "evaluation", "debate": debate.debate, "head": debate.head, "seq": None,
            }  # fmt: skip
            assert (rival.result().question, data["task_type"]) == (
                debate.result().question, "arithmetic",
            )  # fmt: skip
            assert rival.text(data["context"]["sha256"]) == "Think of whole numbers."
    assert hansard("verify", "--all").code == 0


def test_what_is_recorded_is_not_asked_again_unless_it_is_another_evaluation(hansard, golden):
    write(3)
    assert hansard(*RUN).code == 1
    before = asked()
    done = hansard(*RUN, "--json")
    assert (json.loads(done.out)["reused"], asked()) == (9, before)
    write(4)  # one more question
    assert json.loads(hansard(*RUN, "--json").out)["reused"] == 9
    assert len(asked()) > len(before)
    before = asked()
    assert json.loads(hansard(*RUN, "--json", "--name", "again").out)["reused"] == 0
    assert len(asked()) == 2 * len(before)
    Path("debate.yaml").write_text(SPEC.replace("whole", "natural"))  # another spec
    assert json.loads(hansard(*RUN, "--json").out)["reused"] == 0


def test_an_evaluation_that_broke_off_goes_on(hansard, golden):
    write(5)
    Path("broken.txt").write_text("")
    done = hansard(*RUN)
    assert (done.code, "[seat.raised]" in done.err) == (2, True)
    assert "raise RuntimeError" in done.err
    Path("broken.txt").unlink()
    done = hansard(*RUN, "--json", "--jobs", "3")
    found = json.loads(done.out)
    assert [row["right"] for row in found["totals"]] == [5, 3, 3]
    # Each call once, but for those that were broken off; `draw-1` is one of both rivals.
    twice = [row for row in set(asked()) if asked().count(row) > 1 + row.endswith("draw-1")]
    assert twice
    assert all(row.startswith("Is 3 even?") for row in twice)
    assert len(records()) == 15


def test_offline_nobody_is_asked_and_what_is_missing_is_listed(hansard, golden):
    write(3)
    done = hansard(*RUN, "--offline")
    assert (done.code, asked()) == (2, [])
    lines = [row for row in done.err.splitlines() if "[eval.offline]" in row]
    assert [row.partition(" (")[0] for row in lines] == [f"error: line {n}" for n in (1, 2, 3)]
    hansard(*RUN)
    before = asked()
    done = hansard(*RUN, "--offline", "--json")
    assert (done.code, json.loads(done.out)["reused"], asked()) == (1, 9, before)
    write(4)
    assert "line 4 (n3): a debate is not recorded" in hansard(*RUN, "--offline").err


def test_all_mistakes_of_a_set_are_told_and_nothing_is_run(hansard, golden):
    with Path("golden.jsonl").open("a") as file:
        file.write('{"question": "Is 1 even?", "label": "perhaps"}\nnothing\n')
        file.write('{"question": "Is 9 odd?", "label": "yes", "evidence": [{"file": "no.md"}]}\n')
        file.write('{"question": "Is 2 even?", "label": "yes"}\n')
    done = hansard(*RUN)
    assert (done.code, asked()) == (2, [])
    codes = [row.rpartition("[")[2] for row in done.err.splitlines() if row.startswith("error:")]
    assert codes == [
        "golden.label]",
        "golden.malformed]",
        "spec.evidence_missing]",
        "golden.duplicate]",
    ]
    assert "golden.jsonl, line 24: line 3 has the same question" in done.err
    Path("debate.yaml").write_text("format: panel\nmodel: python:ask\n")
    assert "give it `options`" in hansard(*RUN).err
    assert hansard("eval", "none.jsonl", "--spec", "debate.yaml").code == 2


def test_a_table_for_a_spreadsheet_has_every_answer(hansard, golden):
    write(2)
    done = hansard(*RUN, "--csv")
    rows = list(csv.DictReader(done.out.splitlines()))
    assert [(row["id"], row["way"]) for row in rows][:4] == [
        ("n0", "debate"), ("n0", "single"), ("n0", "self_consistency"), ("n1", "debate"),
    ]  # fmt: skip
    assert rows[4]["decision"] == "yes"
    assert (rows[4]["right"], rows[4]["calls"]) == ("False", "1")


def test_the_packaged_set_is_scripted_and_says_so(hansard, home):
    hansard("init", "mine", "--example", "golden-set")
    done = hansard("eval", "mine/golden.jsonl", "--spec", "mine/debate.yaml")
    assert done.code == 0
    assert done.out.startswith("SCRIPTED: ")
    assert "BETTER than a single agent" in done.out
    assert "TOO FEW TO TELL: self-consistency" in done.out
    assert "penalty-late: failed, not sign" in done.out
    again = json.loads(
        hansard(
            "eval", "mine/golden.jsonl", "--spec", "mine/debate.yaml", "--json", "--offline"
        ).out
    )
    assert (again["scripted"], again["n"], again["reused"]) == (True, 20, 60)
    (failed,) = [row["debate"] for row in again["questions"] if row["debate"]["status"] == "failed"]
    assert (failed["decision"], failed["right"]) == (None, False)
    assert (again["totals"][0]["right"], again["totals"][0]["failed"]) == (18, 1)
    assert [row["result"] for row in again["against"]] == ["better", "too few to tell"]
    assert all(record.result().scripted for record in records()[:3])
