"""The first five minutes: `demo`, and `init` edited into a debate of one's own."""

import errno
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import jsonschema
import pytest
import yaml

import hansard as library
from cli_support import files, only_debate, process, write_debate
from formats import NAMES
from hansard.cli import demo as cli_demo
from hansard.record import blob
from hansard.rules.events import parse
from hansard.rules.formats import SPECS
from hansard.rules.spec_parts import Ceilings, Evidence, Settings
from hansard.schemas import SCHEMAS, render
from hansard.store.application import Store


def test_demo(hansard):
    done = hansard("demo")
    assert done.code == 0
    for part in (
        "scripted replies: no model is asked",
        "decision: revise",
        "SELF-CONSISTENT, SIGNER UNKNOWN",
        "after  … there is an automatic check …",
        "A text of this entry was changed: it no longer has its hash (entry 34",
        '"1":"INTACT","0":"INTACT"',
        "report.html was changed: SHA256SUMS.page lists another hash",
        'after  entry 35, fraud: "vote":"revise"',
        "its hash no longer matches the next entry (entry 35",
        "hansard init my-debate",
    ):
        assert part in done.out
    verdicts = re.findall("(?m)^(?: |verify.py says  )(INTACT|ALTERED)", done.out)
    assert verdicts == [*["INTACT"] * 2, *["ALTERED"] * 5]
    assert "verify.py says  INTACT" in done.out
    assert "verify.py says  ALTERED" in done.out
    assert done.err == ""
    assert files() == []


def test_demo_says_that_there_is_no_room_for_its_files(hansard, monkeypatch):
    def full(**_):
        raise OSError(errno.EFBIG, "File too large")

    monkeypatch.setattr(cli_demo, "TemporaryDirectory", full)
    done = hansard("demo")
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith("[system.temporary]\n")


def test_demo_fails_where_a_forgery_is_not_caught(hansard, monkeypatch):
    read = library.read_record
    seen = []

    def once(store, debate):
        seen.append(read(store, debate))
        return seen[0]

    monkeypatch.setattr(library, "read_record", once)
    monkeypatch.setattr(library, "verify", lambda *_: seen[0].verification)
    assert hansard("demo").code == 1


def test_demo_fails_where_a_page_that_says_intact_of_anything_is_not_caught(hansard, monkeypatch):
    check = library.verify_export

    def blind(export, trust):
        kept = Path(export).name == "page" and Path(export).parent / "record.zip"
        return check(kept or export, trust)

    monkeypatch.setattr(library, "verify_export", blind)
    assert hansard("demo").code == 1


FORMATS = list(SPECS)


@pytest.mark.parametrize("format_", FORMATS)
def test_init_writes_what_editors_and_checkers_understand(hansard, format_):
    done = hansard("init", "mine", "--format", format_)
    assert done.code == 0
    assert "hansard run mine/debate.yaml" in done.out
    assert (
        Path("mine/debate.yaml")
        .read_text()
        .startswith("# yaml-language-server: $schema=debate.schema.json\n")
    )
    assert Path("mine/debate.schema.json").read_text() == render("spec")
    spec = yaml.safe_load(Path("mine/debate.yaml").read_text())
    assert spec["format"] == format_
    jsonschema.validate(spec, yaml.safe_load(render("spec")))
    script = yaml.safe_load(Path("mine/replies.yaml").read_text())
    script["replies"] = {
        seat: {str(round_): phases for round_, phases in rounds.items()}
        for seat, rounds in script["replies"].items()
    }
    jsonschema.validate(script, yaml.safe_load(render("script")))


def test_schema_prints_one_and_writes_all(hansard):
    assert hansard("schema").out.split() == list(SCHEMAS)
    assert hansard("schema", "--all", "new/schemas").code == 0
    written = {path.name: path.read_text() for path in Path("new/schemas").iterdir()}
    assert written == {f"{name}.schema.json": hansard("schema", name).out for name in SCHEMAS}
    assert json.loads(written["spec.schema.json"])["$id"] == "urn:hansard:schema:spec:v1"


def test_init_writes_a_consensus_where_nothing_else_is_said(hansard):
    hansard("init", "mine")
    assert yaml.safe_load(Path("mine/debate.yaml").read_text())["format"] == "consensus"


@pytest.mark.parametrize("format_", FORMATS)
def test_every_field_of_a_spec_is_explained_in_its_example(hansard, format_):
    hansard("init", "mine", "--format", format_)
    text = Path("mine/debate.yaml").read_text()
    fields = [*SPECS[format_].model_fields, *Ceilings.model_fields, *Settings.model_fields]
    for name in [*fields, *Evidence.model_fields]:
        assert f"{name}:" in text, name
    for role, names in SPECS[format_].TEMPLATES.items():
        assert role in text
        for name in names:
            assert f"{{{{{name}}}}}" in text, name


class Example(NamedTuple):
    out: str
    err: str
    events: list
    text: Callable

    def all(self, *kinds):
        return [event["data"] for event in self.events if event["type"] in kinds]

    def said(self, phase):
        """The replies of a phase by round and speaker, those that were sent back left out."""
        calls = {
            row["call"]: self.text(row["reply"]["sha256"]) for row in self.all("call.answered")
        }
        turns = self.all("turn.recorded", "verdict.recorded")
        rows = [row for row in turns if row["phase"] == phase]
        return {(row["round"], row["speaker"]): calls[row["call"]] for row in rows}


@pytest.fixture
def example(hansard, monkeypatch):
    """Write an example, change a few words in its spec, and run it from its own folder."""

    def run(format_, *changes):
        hansard("init", "mine", "--format", format_)
        monkeypatch.chdir("mine")
        spec = Path("debate.yaml")
        for old, new in changes:
            text = spec.read_text()
            assert text.count(old) == 1, old
            spec.write_text(text.replace(old, new))
        done = hansard("run", "debate.yaml")
        assert done.code == 0, done.err
        with Store.open("sqlite:///hansard.db") as store:
            bundle = store.bundle(only_debate())
        texts = {name: blob.unpack(file) for name, file in bundle.blobs.items()}
        return Example(done.out, done.err, [parse(line) for line in bundle.lines], texts.get)

    return run


@pytest.mark.parametrize("format_", FORMATS)
def test_each_example_runs_verifies_and_replays(hansard, example, format_):
    found = example(format_)
    assert "Replies were scripted: no model was asked" in found.out
    assert re.search(r"Cost +\$0\.0[1-9]", found.out)
    assert found.all("turn.forfeited", "call.failed") == []
    assert found.all("debate.opened")[0]["scripted"]
    assert None not in [row["cost_micro_usd"] for row in found.all("call.answered")]
    debate = only_debate()
    done = hansard("verify", debate)
    assert done.code == 0
    assert "SELF-CONSISTENT, SIGNER UNKNOWN" in done.out
    done = hansard("replay", debate)
    assert done.code == 0
    many = len(found.events)
    assert f"{many} of {many} events come out the same" in done.out
    assert hansard("report", debate).code == 0


def test_what_happens_in_the_consensus_example(example):
    found = example("consensus")
    assert [row["code"] for row in found.all("turn.rejected")] == ["unreadable"]
    assert found.all("decision.reached")[0]["decision"] == "revise"
    assert "Decision    revise  2 of 3 votes" in found.out


def test_what_happens_in_the_judged_example(hansard, example):
    found = example("judged")
    terms = found.all("debate.opened")[0]["terms"]
    assert (terms["stances"], terms["max_rounds"]) == (["scale-up", "shard-now", "distributed"], 2)
    assert terms["anonymize_transcript"]
    seats = found.all("debater.registered")
    assert all(row["persona"] for row in seats if row["role"] != "synthesizer")
    assert len(found.said("argument")) == len(set(found.said("argument").values())) == 6
    (verdict,) = found.all("verdict.recorded")
    assert (verdict["winner"], verdict["undeclared"]) == ("operations", False)
    assert found.all("decision.reached")[0]["decision"] == "scale-up"
    (written,) = found.all("synthesis.recorded")
    assert "Contested and open" in found.text(written["text"]["sha256"])
    shown = hansard("show", only_debate(), "--prompt", "r2.verdict.judge:1").out
    titles = re.findall(r"(?m)^\[(.*), round ([12])\]$", shown)
    assert sorted(titles, key=lambda row: row[1])[:3] == titles[:3]
    assert {label for label, _ in titles} == set(terms["stances"])
    orders = [[label for label, round_ in titles if round_ == number] for number in "12"]
    assert terms["stances"] not in orders
    assert orders[0] != orders[1]


def test_the_judged_example_with_an_output_schema(example):
    found = example("judged", ("# output_schema: decision", "output_schema: decision"))
    assert [row["code"] for row in found.all("turn.rejected")] == ["output_schema"]
    text = found.text(found.all("synthesis.recorded")[0]["text"]["sha256"])
    jsonschema.validate(json.loads(text), json.loads(Path("decision.schema.json").read_text()))


def test_what_happens_in_the_moderated_example(example):
    found = example("moderated")
    (back,) = found.all("turn.rejected")
    assert (back["code"], back["rating"], back["again"]) == ("weak_critique", 4, True)
    cases = {row["step"]: row["case"] for row in found.all("turn.recorded") if row["case"]}
    assert cases["r1.critique.critic"]["rating"] == 8
    assert {step: row["struck"] for step, row in cases.items() if row["struck"]} == {
        "r1.proposition.proposer": [3]
    }
    findings = [row["finding"] for case in cases.values() for row in case["citations"]]
    assert findings.count("not_found") == 1
    assert findings.count("verified") == len(findings) - 1 >= 15
    assert {step: row["unanswered"] for step, row in cases.items() if row["unanswered"]} == {
        "r1.rebuttal.rebuttal": [3]
    }
    rebuttals = [json.loads(text) for text in found.said("rebuttal").values()]
    assert [len(row["concessions"]) for row in rebuttals] == [1, 1]
    late = {row["document"]: row["from_round"] for row in found.all("evidence.admitted")}
    assert late == {"agreement": 1, "exposure": 1, "insurer": 2}
    proposed = found.said("proposition")
    assert "I change my thesis" in proposed[2, "proposer"]
    assert "insurer" in proposed[2, "proposer"]
    first, last = found.all("verdict.recorded")
    assert (first["another_round"], last["another_round"]) == (True, False)
    assert (first["confidence"], last["confidence"]) == ("LOW", "MODERATE")
    assert last["uncertainties"] == 3
    assert found.all("decision.reached")[0]["decision"] == "not_upheld"
    assert found.all("debate.closed")[0]["reason"] == "moderator_satisfied"
    assert found.all("debate.opened")[0]["limits"]["cost_micro_usd"] == 500_000
    text = Path("debate.yaml").read_text()
    for tier in ("a frontier model", "an efficient model", "a fast model of a family"):
        assert tier in text


def test_what_happens_in_the_panel_example(example):
    found = example("panel")
    assert found.all("debate.opened")[0]["terms"]["max_rounds"] == 2
    assert [row["persona"] is None for row in found.all("debater.registered")] == [False] * 4
    drafts = found.said("draft")
    assert len(set(drafts.values())) == len(drafts) == 6
    alone, together = found.all("similarity.measured")
    assert max(row["ppm"] for row in alone["pairs"]) < 300_000
    assert min(row["ppm"] for row in together["pairs"]) >= 850_000
    assert [alone["converged"], together["converged"]] == [False, True]
    assert len(found.said("verdict")) == 1
    assert found.all("decision.reached")[0]["rule"] == "judge_synthesis"
    assert found.all("debate.closed")[0]["reason"] == "converged"


@pytest.mark.parametrize(
    ("format_", "old", "new", "reason"),
    [
        ("judged", "max_rounds: 2", "max_rounds: 4", "rounds_complete"),
        ("judged", "max_rounds: 2", "max_rounds: 1", "rounds_complete"),
        ("judged", "shuffle_for_judge: true", "shuffle_for_judge: false", "rounds_complete"),
        ("moderated", "max_rounds: 2", "max_rounds: 3", "moderator_satisfied"),
        ("moderated", "neutrality_check: false", "neutrality_check: true", "moderator_satisfied"),
        ("panel", "convergence_check: true", "convergence_check: false", "rounds_complete"),
        ("panel", "convergence_similarity: 0.85", "convergence_similarity: 1", "rounds_complete"),
    ],
)
def test_an_example_holds_when_it_is_changed(hansard, example, format_, old, new, reason):
    found = example(format_, (old, new))
    assert found.all("turn.forfeited") == []
    assert found.all("debate.closed")[0]["reason"] == reason
    assert hansard("verify", only_debate()).code == 0


def test_the_example_holds_out_to_its_cap(hansard):
    hansard("init", "mine")
    spec = Path("mine/debate.yaml")
    spec.write_text(spec.read_text().replace("\nthreshold: 2", "\nthreshold: 3"))
    done = hansard("run", spec)
    assert "(max_rounds_exhausted)" in done.out
    assert "forfeit" not in done.err


def test_the_example_becomes_ones_own():
    assert process("init", "mine").returncode == 0
    spec = yaml.safe_load(Path("mine/debate.yaml").read_text())
    spec |= {
        "question": "Which of two dates suits the migration?",
        "options": ["june", "september"],
        "rule": "unanimity",
        "evidence": [{"id": "calendar", "text": "June is the end of a quarter."}],
        "debaters": [
            {"id": "finance", "model": "scripted:mine.yaml", "persona": "You close the books."},
            {"id": "platform", "model": "scripted:mine.yaml"},
        ],
    }
    del spec["threshold"]
    Path("mine/debate.yaml").write_text(yaml.safe_dump(spec))
    late = {"stance": "September.", "rationale": "The quarter.", "vote": "september"}
    script = {"replies": {seat: {"*": {"*": late}} for seat in ("finance", "platform")}}
    Path("mine/mine.yaml").write_text(yaml.safe_dump(script))
    done = process("run", "mine/debate.yaml")
    assert done.returncode == 0
    assert "Decision    september  2 of 2 votes, 2 needed" in done.stdout
    assert "(unanimous_vote)" in done.stdout
    assert process("verify", only_debate()[:8]).returncode == 0


def test_the_example_takes_a_python_model(hansard):
    hansard("init", "mine")
    spec = Path("mine/debate.yaml")
    spec.write_text(spec.read_text().replace("scripted:replies.yaml", "python:NAME"))

    def ask(request):
        assert request.prompt
        return '{"stance": "yes", "rationale": "because", "vote": "release"}'

    result = library.run_sync(spec, models={"NAME": ask}, store="sqlite:///hansard.db")
    assert result.decision == "release"
    assert hansard("verify", only_debate()).code == 0


OUTPUTS = [["init"], ["schema", "--all"], ["export", "--all", "-o"]]


@pytest.mark.parametrize("link", ["there", "nowhere"])
@pytest.mark.parametrize("words", OUTPUTS, ids=" ".join)
def test_an_output_follows_no_link_in_its_folders_place(hansard, words, link):
    Path("there").mkdir()
    Path("out").symlink_to(link)
    if words[0] == "export":
        write_debate(dict.fromkeys(NAMES, "release"))
        assert hansard("run", "debate.yaml").code == 0
        assert hansard(*words, "first").code == 0  # makes a key, where there is none yet
    done = hansard(*words, "out")
    said = "out is a link, and Hansard writes through none; name the folder it leads to"
    assert done == (2, "", f"error: {said} [output.exists]\n")
    assert (list(Path("there").iterdir()), Path("nowhere").exists()) == ([], False)
