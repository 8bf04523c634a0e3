"""`eval`: a golden set is put to debates and their rivals, recorded, counted and not paid twice."""

import csv
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import jsonschema
import pytest
import yaml

import hansard as library
from hansard.api import evaluating
from hansard.api import records as records_module
from hansard.api.batches import alone
from hansard.api.trust import read_draft, template_lines
from hansard.runtime.clock import Clock
from hansard.runtime.files import Files
from hansard.schemas import render
from hansard.store import projection
from hansard.store.rows import Row

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
    if Path("broken.txt").exists() and request.question == Path("broken.txt").read_text():
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


@pytest.mark.parametrize(
    "change",
    ["UPDATE projected SET state = 'gate'", "UPDATE projected SET question = 'x'",
     "DELETE FROM projected_names"],
)  # fmt: skip
def test_what_was_changed_in_the_rows_of_a_store_asks_nobody_again(hansard, golden, change):
    write(3)
    first = json.loads(hansard(*RUN, "--json").out)
    before = asked()
    assert hansard("list").code == 0
    with closing(sqlite3.connect("hansard.db")) as store, store:
        assert store.execute(change).rowcount
    again = json.loads(hansard(*RUN, "--json").out)
    assert (again["reused"], asked(), again["totals"]) == (9, before, first["totals"])


def test_what_people_say_of_a_debate_asks_no_rival_again(hansard, golden):
    write(2)
    hansard(*RUN)
    before = asked()
    for record in records():
        assert hansard("outcome", record.debate, "--label", "right").code == 0
    assert (json.loads(hansard(*RUN, "--json").out)["reused"], asked()) == (6, before)
    assert hansard(*RUN, "--offline").code == 1  # too few to tell


@pytest.mark.parametrize("way", ["debate", "single"])
@pytest.mark.parametrize("text", ["1.question", "1.context"])
def test_a_debate_whose_question_was_erased_is_not_paid_for_again(hansard, golden, way, text):
    """Nor does the text come back that way; nobody can tell whether the line still asks it."""
    write(3)
    first = json.loads(hansard(*RUN, "--name", "one", "--json").out)
    calls, gone = asked(), first["questions"][1][way]["debate"]
    said = ("--reason", "Asked for.", "--basis", "GDPR, Article 17", "--asked-by", "a person")
    assert hansard("redact", gone, text, *said, "--yes").code == 0
    for more in ((), ("--offline",)):
        done = hansard(*RUN, "--name", "one", *more)
        assert (done.code, done.out) == (2, "")
        said_of_it = f"error: line 2 (n1): what debate {gone[:8]} was asked has been erased, so "
        assert done.err.startswith(said_of_it)
        assert done.err.endswith("by which it is asked anew [eval.erased]\n")
        assert asked() == calls
    golden = Path("golden.jsonl")
    golden.write_text(golden.read_text().replace('"n1"', '"new"'))
    found = json.loads(hansard(*RUN, "--name", "one", "--json").out)
    assert found["reused"] == 6
    assert len(asked()) == len(calls) + len(calls) // 3


def test_a_line_that_asks_something_else_now_is_asked_whatever_was_erased_before(hansard, golden):
    write(1)
    hansard(*RUN)
    (debate,) = (row.debate for row in records() if row.result().format == "panel")
    said = ("--reason", "Asked for.", "--basis", "GDPR, Article 17", "--asked-by", "a person")
    assert hansard("redact", debate, "1.context", *said, "--yes").code == 0
    Path("golden.jsonl").write_text(Path("golden.jsonl").read_text().replace("Is 0", "Is 2"))
    again = hansard(*RUN, "--json")
    assert json.loads(again.out)["reused"] == 0, again.err


def test_a_reply_that_was_erased_asks_nobody_again(hansard, golden):
    write(2)
    first = json.loads(hansard(*RUN, "--name", "one", "--json").out)
    debate, calls = first["questions"][0]["debate"]["debate"], asked()
    lines = hansard("redact", debate).out.splitlines()
    replies = [line.split()[0] for line in lines if ".reply" in line]
    assert replies
    said = ("--reason", "Asked for.", "--basis", "GDPR, Article 17", "--asked-by", "a person")
    assert hansard("redact", debate, *replies, *said, "--yes").code == 0
    again = json.loads(hansard(*RUN, "--name", "one", "--json").out)
    assert (again["reused"], again["totals"]) == (6, first["totals"])
    assert asked() == calls


@pytest.mark.parametrize("way", ["debate", "single"])
@pytest.mark.parametrize("seen", [False, True])
def test_a_record_that_was_altered_is_told_of_and_does_not_count(hansard, golden, way, seen):
    write(2)
    first = json.loads(hansard(*RUN, "--name", "one", "--json").out)
    altered = first["questions"][1][way]["debate"]
    with closing(sqlite3.connect("hansard.db")) as store, store:
        store.execute("DELETE FROM blobs WHERE debate = ?", [altered.replace("-", "")])
    if seen:
        assert hansard("projection", "rebuild").code == 0
    done = hansard(*RUN, "--name", "one", "--json")
    assert done.err.count(f"debate {altered[:8]} of this evaluation was altered") == 1
    assert json.loads(done.out)["questions"][1][way]["debate"] != altered
    assert "of this evaluation was altered" not in hansard(*RUN, "--name", "two").err


def test_an_evaluation_is_run_by_one_process_at_a_time(hansard, golden):
    """Both would ask, and pay for, every question."""
    write(2)
    with library.open_store("sqlite:///hansard.db", create=True) as store:
        with alone(store, "eval", "one"):
            done = hansard(*RUN, "--name", "one")
            assert (done.code, asked()) == (2, [])
            assert "another process runs evaluation one; wait until it ends" in done.err
        assert "[eval.running]" in done.err
    assert hansard(*RUN, "--name", "one").code == 1
    assert asked()


def test_an_evaluation_that_broke_off_goes_on(hansard, golden):
    write(5)
    Path("broken.txt").write_text("Is 3 even?")
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


def test_of_one_question_on_many_documents_each_record_is_read_once(hansard, golden, monkeypatch):
    rows = [
        {"question": "Is 1 even?", "label": "no", "evidence": [{"id": "memo", "text": f"No. {n}"}]}
        for n in range(4)
    ]
    Path("golden.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    hansard(*RUN)
    read = []

    def of_store(store, debate, trust):
        read.append(debate)
        return records_module.of_store(store, debate, trust)

    monkeypatch.setattr(evaluating, "of_store", of_store)
    assert json.loads(hansard(*RUN, "--json").out)["reused"] == 12
    assert len(set(read)) == 12
    assert len(read) < 3 * 12, "and not each of them for each question"


def test_a_document_that_all_questions_are_about_is_read_once(hansard, golden, monkeypatch):
    """To find a wrong label in the last of 1,000 lines took hours."""
    Path("memo.txt").write_text("Numbers are whole.")
    Path("debate.yaml").write_text(SPEC + "evidence: [memo.txt]\n")
    read, files = [], Files.read
    monkeypatch.setattr(Files, "read", lambda *given: (read.append(given[1]), files(*given))[1])
    write(5)
    rows = Path("golden.jsonl").read_text()
    Path("golden.jsonl").write_text(rows + '{"question": "And 6?", "label": "perhaps"}')
    assert hansard(*RUN).code == 2
    assert read == ["memo.txt"]


def test_an_open_debate_with_other_prices_or_ceilings_is_not_gone_on_with(hansard, golden):
    """It would be held to its own: the ceiling of the evaluation would not act."""
    write(1)
    cheap, dear = (
        json.dumps({"python:ask": {"input": price, "output": price}}) for price in ("0.000001", "9")
    )
    Path("broken.txt").write_text("Is 0 even?")

    def run(prices, cost_usd):
        limits = f"limits: {{cost_usd: '{cost_usd}'}}"
        Path("debate.yaml").write_text(f"{SPEC}prices: {prices}\n{limits}\n")
        return hansard(*RUN, "--json")

    for given in ((cheap, "0.0001"), (dear, "900")):
        assert run(*given).code == 2
    Path("broken.txt").unlink()
    before = asked()
    (row,) = json.loads(run(dear, "0.0001").out)["questions"]
    assert (row["debate"]["status"], row["single"]["status"]) == ("truncated", "truncated")
    assert asked() == before
    assert [row.result().status for row in records()].count("open") == 2


@pytest.mark.parametrize(
    ("day", "quarter", "due"),
    [
        ("2026-01-01", "2026-Q1", "2026-07-01"),
        ("2026-06-30", "2026-Q2", "2026-10-01"),
        ("2026-07-01", "2026-Q3", "2027-01-01"),
        ("2026-11-24", "2026-Q4", "2027-04-01"),
    ],
)
def test_it_is_named_by_the_quarter_and_due_in_the_next(golden, monkeypatch, day, quarter, due):
    monkeypatch.setattr(Clock, "now", lambda _: f"{day}T12:00:00.000000Z")
    write(1)
    models = library.read_models("models.py")
    Path("golden.jsonl").rename("my set.jsonl")
    found = library.evaluate_sync("my set.jsonl", "debate.yaml", models=models)
    assert (found.name, found.due) == (f"my-set-{quarter}", due)


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


def test_debates_and_rivals_are_held_to_a_policy_before_anything_is_run(hansard, golden):
    write(1)
    hansard("keys", "make", "approval")
    rows = {}
    for name, format_ in (("some", "panel"), ("all", "baseline")):
        for role, text in library.prompt_templates(format=format_).items():
            rows[f"{format_}.{role}"] = {"template": sha256(text).hexdigest()}
        Path(f"{name}.yaml").write_text(json.dumps(rows))
    for name in ("some", "all"):
        assert hansard("policy", "approve", f"{name}.yaml", "-o", f"{name}.txt").code == 0
    done = hansard(*RUN, "--policy", "some.txt")
    assert (done.code, asked(), "[policy.not_allowed]" in done.err) == (2, [], True)
    for _ in range(2):  # what is recorded under it is not asked again
        assert hansard(*RUN, "--policy", "all.txt").code == 1
    made = records()
    assert [row.result().format for row in made] == ["panel", "baseline", "baseline"]
    assert all(row.events[0]["data"]["policy"] for row in made)


def test_a_policy_that_is_revoked_meanwhile_opens_no_further_debate(tmp_path):
    keys = library.open_keyring(tmp_path / "keys")
    lines = [line for name in ("panel", "baseline") for line in template_lines(format=name)]
    signed = library.approve_policy(keys.signer("approval"), lines)
    policy = library.read_policy(signed, keys.trust())

    def ask(request):
        library.TrustFile(keys.trust_file).revoke_policy(policy, "2020-01-01")
        return {"answer": "It is.", "choice": "yes"}

    spec = {"format": "panel", "options": ["yes", "no"], "model": "python:ask", "rounds": 1}
    given = {"models": {"ask": ask}, "policy": policy, "trust": keys.trust}
    with library.open_store("sqlite:///:memory:") as store:
        with pytest.raises(library.DataError) as caught:
            library.evaluate_sync(
                [{"question": "Is 2 even?", "label": "yes"}], spec, store=store, **given
            )
        assert caught.value.code == "policy.revoked"
        assert len(store.debates()) == 1


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


@pytest.mark.parametrize("begins", [True, False])
def test_a_debate_that_cannot_be_read_is_not_taken_and_hinders_none(hansard, golden, begins):
    write(1)
    assert hansard(*RUN).code == 1
    with closing(sqlite3.connect("hansard.db")) as connection, connection:
        guard = "SELECT sql FROM sqlite_master WHERE name = 'lines_stand'"
        ((trigger,),) = connection.execute(guard).fetchall()
        connection.execute("DROP TRIGGER lines_stand")
        which = "= 1" if begins else "= 2"
        connection.execute(
            f"UPDATE stored_events SET state = x'7b' WHERE originator_version {which}"
        )
        connection.execute(trigger)
    assert hansard("projection", "rebuild").code == 0
    again = json.loads(hansard(*RUN, "--json").out)
    assert (again["n"], again["reused"]) == (1, 0)


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


# `calibrate`: records of both arms and their outcomes, up to a policy that can be signed

GATED = {
    "format": "panel",
    "agents": 2,
    "rounds": 1,
    "question": "Do we sign?",
    "model": "python:ask",
    "task_type": "contract",
    "gate": {"downside": 100, "threshold": 1, "confidence": 0.6},
}
ASK = {"ask": lambda request: "Because."}


@pytest.fixture
def store(home):
    with library.open_store("sqlite:///hansard.db") as opened:
        yield opened


def note(store, labels, *, debated):
    for label in labels:
        if debated:
            made = library.run_sync(GATED, models=ASK, store=store)
        else:
            made = library.ask_gate(GATED, store=store)
        library.note_outcome(made.debate, label, store=store)


def keep(store, n, label, *, debated, policy=None, **changes):
    """Rows as the projection has them of as many records: what is calibrated is read from them."""
    rows = store.projection
    with rows._tables.transaction() as c:
        c.execute("SELECT count(*) FROM projected", ())
        first = 1_000_000 + c.fetchone()[0]
        for place in range(first, first + n):
            projected = Row(
                debate=f"00000000-0000-4000-8000-{place:012}",
                state="closed" if debated else "gate",
                opened_at="2026-07-01T00:00:00.000000Z",
                format="panel" if debated else None,
                task_type="contract",
                scripted=False if debated else None,
                cost=1_000_000 if debated else None,
                policy=policy,
                advised=True,
                confidence=600_000,
                downside=100_000_000,
                threshold=1_000_000,
                outcomes=label,
            )
            projection._replace(rows._tables, c, place, replace(projected, **changes))


def test_records_of_both_arms_count_with_their_outcomes(hansard, store):
    note(store, ["right", "wrong"], debated=True)
    note(store, ["wrong", "met"], debated=False)
    library.run_sync({**GATED, "gate": None}, models=ASK, store=store)
    done = hansard("calibrate", "--json")
    found = json.loads(done.out)
    jsonschema.validate(found, json.loads(render("calibration")))
    assert (done.code, found["result"], found["unnoted"]) == (1, "too few to tell", 1)
    (band,) = [row for row in found["bands"] if row["debated"]["n"]]
    assert (band["confidence"], band["debated"]["right"]) == ("0.5 to 0.7", 1)
    assert (band["undebated"]["n"], band["undebated"]["right"]) == (1, 0)
    done = hansard("calibrate")
    assert "it needs 18 more with a debate and 19 more without a debate" in " ".join(
        done.out.split()
    )
    assert "the default: no policy of this store names one" in done.out
    row = json.loads(hansard("calibrate", "--json", "--right", "met", "--right", "right").out)
    assert row["undebated"] == 2
    rows = list(csv.DictReader(hansard("calibrate", "--csv").out.splitlines()))
    assert len(rows) == 10
    assert rows[2] == {
        "confidence": "0.5 to 0.7", "arm": "debated", "n": "2", "right": "1", "accuracy": "0.5",
        "cost_micro_usd": "",
    }  # fmt: skip


def test_too_little_data_writes_no_policy(hansard, store, folder):
    note(store, ["right"], debated=True)
    done = hansard("calibrate", "-o", "policy.yaml")
    assert done.code == 1
    assert "nothing: too few noted questions" in done.out
    assert not (folder / "policy.yaml").exists()
    assert hansard("calibrate", "--right", "wrong").err.endswith("[calibrate.labels]\n")
    assert hansard("calibrate", "--since", "soon").err.endswith("[list.time]\n")


def test_a_proposed_factor_comes_as_a_policy_that_can_be_signed(hansard, store):
    note(store, ["right"] * 36 + ["wrong"] * 4, debated=True)
    note(store, ["right"] * 28 + ["wrong"] * 12, debated=False)
    done = hansard("calibrate", "-o", "draft.yaml")
    assert done.code == 0
    words = " ".join(done.out.split())
    assert "gate_factor 5 = 1.00 / 0.200" in words
    assert "40 noted debates were right +20.0 points more often than 40 answers" in words
    assert "no lot was drawn" in words
    assert "hansard policy approve draft.yaml" in done.err
    text = Path("draft.yaml").read_text()
    draft = yaml.safe_load(text)
    assert text.startswith("# gate_factor 5 in place of 50: 40 noted debates")
    assert draft["*"]["gate_factor"] == 5
    assert "panel.debater" in draft
    assert hansard("policy", "approve", "draft.yaml", "-o", "policy").code == 0
    again = hansard("calibrate", "-o", "draft.yaml")
    assert (again.code, "exists" in again.err) == (2, True)


def test_a_policy_is_drafted_from_records_whatever_their_rows_say(hansard, store, folder):
    note(store, ["wrong"], debated=True)
    keep(store, 40, "right", debated=True)
    keep(store, 40, "wrong", debated=False)
    assert hansard("calibrate").code == 0
    done = hansard("calibrate", "-o", "draft.yaml")
    assert (done.code, (folder / "draft.yaml").exists()) == (1, False)
    assert "it needs 20 more with a debate and 20 more without a debate" in " ".join(
        done.out.split()
    )


def test_what_is_calibrated_names_records_that_do_not_hold(hansard, store):
    """One was altered after its row was made, which only a policy's draft or a rebuild sees."""
    note(store, ["right"], debated=True)
    note(store, ["wrong"], debated=False)
    assert json.loads(hansard("calibrate", "--json").out)["not_counted"] == 0
    with closing(sqlite3.connect("hansard.db")) as opened, opened:
        opened.execute("UPDATE heads SET head = ?", ("0" * 64,))
    done = hansard("calibrate", "-o", "draft.yaml")
    said = "Not counted, for they do not hold: 2 records; see `hansard list`"
    assert (done.code, done.out.splitlines()[0]) == (1, said)
    found = json.loads(hansard("calibrate", "--json").out)
    jsonschema.validate(found, json.loads(render("calibration")))
    assert (found["not_counted"], found["unnoted"]) == (2, 0)


def test_the_policy_in_force_is_the_base_and_is_due_after_a_quarter(hansard, store, monkeypatch):
    """The draft has all lines of the policy, and the new factor wherever it had one."""
    Path("mine.yaml").write_text(
        '"*": {gate_factor: 40, require: [owner, gate]}\npanel: {gate_factor: 30, max_calls: 9}\n'
    )
    assert hansard("policy", "approve", "mine.yaml", "-o", "policy").code == 0
    policy = library.read_policy("policy", library.open_keyring().trust())
    keep(store, 25, "right", debated=True, policy=policy.hash)
    keep(store, 25, "wrong", debated=False)
    monkeypatch.setattr(type(store), "bundle", lambda self, debate: _Holding(policy))
    now = Clock().now()
    for opened_at, due in ((now, False), ("2026-01-01T00:00:00.000000Z", True)):
        with store.projection._tables.transaction() as c:
            c.execute("UPDATE projected SET opened_at = ?", (opened_at,))
        found = json.loads(hansard("calibrate", "--json").out)
        assert (found["factor"], found["policy"], found["due"]) == (40, policy.hash, due)
        assert found["approved"] == opened_at
    # What these rows stand for is no record, of which they could be made anew.
    monkeypatch.setattr(library, "rebuild_projection", lambda _: None)
    words = " ".join(hansard("calibrate", "-o", "draft.yaml").out.split())
    assert f"gate_factor 40 of policy {policy.hash[:8]}, approved by 2026-01-01; review it" in words
    lines = {str(line) for line in read_draft("draft.yaml")}
    assert lines == {
        "* gate_factor 1", "* require owner", "* require gate", "panel gate_factor 1",
        "panel max_calls 9",
    }  # fmt: skip
    given = hansard("calibrate", "--policy", "policy", "--json")
    assert json.loads(given.out)["factor"] == 40


class _Holding:
    def __init__(self, policy, data=None):
        self.policies = {policy.hash: data or policy.data}


def test_a_policy_that_was_changed_in_the_store_is_not_the_one_in_force(
    hansard, store, monkeypatch
):
    Path("mine.yaml").write_text('"*": {gate_factor: 40}\n')
    assert hansard("policy", "approve", "mine.yaml", "-o", "policy").code == 0
    policy = library.read_policy("policy", library.open_keyring().trust())
    keep(store, 1, "right", debated=True, policy=policy.hash)
    for data, factor in ((policy.data, 40), (policy.data.replace(b"or 40", b"or 41"), 50)):
        monkeypatch.setattr(type(store), "bundle", lambda *_, data=data: _Holding(policy, data))
        assert library.calibrate(store).factor == factor


def test_what_is_scripted_open_altered_or_of_another_time_or_type_does_not_count(hansard, store):
    keep(store, 2, "right", debated=True)
    for changes in (
        {"scripted": True},
        {"state": "open"},
        {"state": "altered"},
        {"advised": None},
        {"opened_at": "2026-01-01T00:00:00.000000Z"},
        {"opened_at": "2026-08-01T00:00:00.000000Z"},
        {"task_type": "security"},
    ):
        keep(store, 1, "wrong", debated=True, **changes)
    wanted = ("--since", "2026-07", "--until", "2026-07", "--task-type", "contract")
    found = json.loads(hansard("calibrate", "--json", *wanted).out)
    assert (found["bands"][1]["debated"]["n"], found["unnoted"]) == (2, 0)


def test_what_was_changed_in_the_projection_is_refused(hansard, store):
    keep(store, 1, "right", debated=True)
    with store.projection._tables.transaction() as c:
        c.execute("UPDATE projected SET cost = 'x'", ())
    done = hansard("calibrate")
    assert (done.code, "[store.corrupt]" in done.err) == (2, True)
