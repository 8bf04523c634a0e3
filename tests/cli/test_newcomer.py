"""The first five minutes: `demo`, and `init` edited into a debate of one's own."""

from pathlib import Path

import jsonschema
import yaml

from cli_support import files, only_debate, process
from hansard import api
from hansard.cli import demo as demo_module
from hansard.schemas import render


def test_demo(hansard):
    done = hansard("demo")
    assert done.code == 0
    for part in (
        "scripted replies: no model is asked",
        "decision: revise",
        "SELF-CONSISTENT, SIGNER UNKNOWN",
        "after  … there is an automatic check …",
        "8  blobs       FAIL         entry 34",
        'after  entry 35, fraud: "vote":"revise"',
        "5  chain       FAIL         entry 35",
        "hansard init my-debate",
    ):
        assert part in done.out
    assert done.out.count("ALTERED") == 3
    assert "verify.py says  INTACT" in done.out
    assert "verify.py says  ALTERED" in done.out
    assert done.err == ""
    assert files() == []


def test_demo_fails_where_a_forgery_is_not_caught(hansard, monkeypatch):
    read = demo_module.read_record
    seen = []

    def blind(store, debate):
        record = read(store, debate)
        seen.append(record.verification)
        return record._replace(verification=seen[0])

    monkeypatch.setattr(demo_module, "read_record", blind)
    assert hansard("demo").code == 1


def test_init_runs_as_it_is(hansard):
    done = hansard("init", "mine")
    assert done.code == 0
    assert "hansard run mine/debate.yaml" in done.out
    assert (
        Path("mine/debate.yaml")
        .read_text()
        .startswith("# yaml-language-server: $schema=debate.schema.json\n")
    )
    assert Path("mine/debate.schema.json").read_text() == render("spec")
    spec = yaml.safe_load(Path("mine/debate.yaml").read_text())
    jsonschema.validate(spec, yaml.safe_load(render("spec")))
    script = yaml.safe_load(Path("mine/replies.yaml").read_text())
    jsonschema.validate({**script, "replies": {"operations": {}}}, yaml.safe_load(render("script")))
    assert "decision: revise" in hansard("run", "mine/debate.yaml").out


def test_every_field_of_a_spec_is_explained_in_the_example(hansard):
    hansard("init", "mine")
    text = Path("mine/debate.yaml").read_text()
    for name in yaml.safe_load(render("spec"))["properties"]:
        assert f"{name}:" in text


def test_the_example_holds_out_to_its_cap(hansard):
    hansard("init", "mine")
    spec = Path("mine/debate.yaml")
    spec.write_text(spec.read_text().replace("\nthreshold: 2", "\nthreshold: 3"))
    done = hansard("run", spec)
    assert "decision_rule: max_rounds_exhausted" in done.out
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
    assert "decision: september\ndecision_rule: unanimous_vote\n" in done.stdout
    assert process("verify", only_debate()[:8]).returncode == 0


def test_the_example_takes_a_python_model(hansard):
    hansard("init", "mine")
    spec = Path("mine/debate.yaml")
    spec.write_text(spec.read_text().replace("scripted:replies.yaml", "python:NAME"))

    def ask(request):
        assert request.prompt
        return '{"stance": "yes", "rationale": "because", "vote": "release"}'

    result = api.run_sync(spec, models={"NAME": ask}, store="sqlite:///hansard.db")
    assert result.decision == "release"
    assert hansard("verify", only_debate()).code == 0
