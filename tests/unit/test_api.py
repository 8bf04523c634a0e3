import ast
import asyncio
import inspect
import pydoc
import re
import subprocess
import sys
from pathlib import Path
from typing import Union, get_origin

import pytest

import hansard
from hansard import (
    Advocate,
    BaselineResult,
    BaselineSpec,
    Ceilings,
    Completion,
    ConsensusResult,
    ConsensusSpec,
    DataError,
    Debater,
    Evidence,
    JudgedResult,
    JudgedSpec,
    ModelError,
    ModeratedResult,
    ModeratedSpec,
    PanelResult,
    PanelSpec,
    Seat,
    SeatError,
    Settings,
    Store,
    ToolCall,
    UsageError,
    open_store,
    result,
    resume,
    resume_sync,
    run,
    run_sync,
    verify,
)
from playing import answer

SEATS = ("planner", "critic", "operator")


def spec_of(**changes):
    fields = {
        "question": "Do we release the migration?",
        "debaters": [{"id": seat, "model": "python:seat"} for seat in SEATS],
        "options": ["release", "revise", "escalate"],
        "threshold": 2,
        "max_rounds": 2,
    }
    return fields | changes


def answering(label="", **by_speaker):
    """A model that speaks as the pattern's worked examples do."""

    def seat(request):
        return {
            "stance": f"{request.speaker} {label}position during {request.phase}",
            "rationale": f"{request.speaker} {label}rationale during {request.phase}",
            "vote": by_speaker[request.speaker],
        }

    return {"seat": seat}


AGREEING = answering(planner="release", critic="revise", operator="revise")


def test_the_first_worked_example_comes_out_character_for_character():
    result = run_sync(spec_of(), models=AGREEING)
    assert result.decision == "revise"
    assert result.vote_tally == {"release": 1, "revise": 2}
    assert result.decision_rule == "threshold_vote"
    assert result.rounds_run == 1
    assert tuple(turn.speaker_id for turn in result.transcript) == result.speaker_schedule
    assert (
        result.to_report()
        == """debater_ids: [planner, critic, operator]
rounds_run: 1
max_rounds: 2
phase_sequence: [proposal]
consensus_threshold: 2
vote_tally: {release: 1, revise: 2}
decision: revise
decision_rule: threshold_vote
speaker_schedule: [planner, critic, operator]"""
    )
    assert result.transcript[0].stance == "planner position during proposal"
    assert result.transcript[2].rationale == "operator rationale during proposal"


def test_the_building_blocks_come_with_the_package():
    code = "import hansard; hansard.blocks.judge; hansard.adapters.__doc__"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_second_worked_example_comes_out():
    models = answering("split ", planner="release", critic="revise", operator="escalate")
    split_result = run_sync(spec_of(), models=models)
    assert split_result.decision_rule == "max_rounds_exhausted"
    assert split_result.decision == "escalate"
    assert split_result.rounds_run == split_result.max_rounds
    assert split_result.vote_tally == {"release": 1, "revise": 1, "escalate": 1}
    phases = ", ".join(("proposal", "critique", "revision", "consensus") * 2)
    assert split_result.to_report() == (
        "debater_ids: [planner, critic, operator]\n"
        "rounds_run: 2\n"
        "max_rounds: 2\n"
        f"phase_sequence: [{phases}]\n"
        "consensus_threshold: 2\n"
        "vote_tally: {release: 1, revise: 1, escalate: 1}\n"
        "decision: escalate\n"
        "decision_rule: max_rounds_exhausted\n"
        f"speaker_schedule: [{', '.join(SEATS * 8)}]"
    )
    assert split_result.transcript[-1].stance == "operator split position during consensus"


def test_a_debate_can_be_awaited_inside_other_work():
    async def work():
        return await asyncio.gather(
            run(spec_of(), models=AGREEING), run(ConsensusSpec(**spec_of()), models=AGREEING)
        )

    first, second = asyncio.run(work())
    assert first.decision == second.decision == "revise"
    assert first.debate != second.debate


def test_the_sync_forms_refuse_to_run_inside_a_loop():
    async def work(call):
        call()

    with open_store("sqlite:///:memory:") as store:
        for name, call in (
            ("run", lambda: run_sync(spec_of(), models=AGREEING)),
            ("resume", lambda: resume_sync("a", store=store)),
        ):
            with pytest.raises(UsageError, match=f"await {name}") as caught:
                asyncio.run(work(call))
            assert caught.value.code == "api.running_loop"


def test_a_store_that_is_passed_stays_open_and_can_be_verified():
    seen = []
    with open_store("sqlite:///:memory:") as store:
        made = run_sync(spec_of(), models=AGREEING, store=store, observe=seen.append)
        assert len(seen) == made.entries
        assert verify(store, made.debate[:8]).ok
        assert result(store, made.debate[:8]) == made


def test_a_store_named_by_its_url_is_made_and_closed(tmp_path):
    url = f"sqlite:///{tmp_path / 'debates.db'}"
    made = run_sync(spec_of(), models=AGREEING, store=url)
    with open_store(url, create=False) as store:
        assert isinstance(store, Store)
        assert result(store, made.debate) == made


def test_a_spec_file_names_files_beside_itself_or_in_another_folder(tmp_path):
    (tmp_path / "there").mkdir()
    for folder, text in ((tmp_path, "short"), (tmp_path / "there", "much longer")):
        (folder / "facts.md").write_text(text)
    path = tmp_path / "debate.yaml"
    path.write_text(
        "question: q\noptions: [release, revise]\nthreshold: 2\nmax_rounds: 1\n"
        "evidence: [facts.md]\n"
        "debaters:\n"
        "  - {id: planner, model: 'python:seat'}\n"
        "  - {id: operator, model: 'python:seat'}\n"
    )
    models = answering(planner="release", operator="release")
    beside = run_sync(path, models=models)
    assert beside.evidence[0].characters == len("short")
    assert run_sync(str(path), models=models).evidence[0].characters == len("short")
    there = run_sync(path, models=models, folder=str(tmp_path / "there"))
    assert there.evidence[0].characters == len("much longer")


def test_a_spec_that_cannot_be_used_is_refused_by_its_field():
    with pytest.raises(UsageError, match="spec: `threshold` is 4, but there are only 3 debaters"):
        run_sync(spec_of(threshold=4))
    with pytest.raises(UsageError) as caught:
        run_sync(spec_of())
    assert caught.value.code == "model.not_given"


STANCES = [Advocate(stance="Ship now"), Advocate(stance="Wait", id="bob")]
SPECS = {
    ConsensusResult: ConsensusSpec(
        question="Q?",
        model="python:m",
        debaters=[Debater(id="a", settings=Settings(temperature=0.7)), Debater(id="b")],
        options=["so", "not"],
        threshold=2,
        max_rounds=1,
    ),
    JudgedResult: JudgedSpec(question="Q?", model="python:m", debaters=STANCES, judge=Seat()),
    ModeratedResult: ModeratedSpec(
        question="Q?", model="python:m", evidence=[Evidence(id="memo", text="Thirty days.")]
    ),
    BaselineResult: BaselineSpec(question="Q?", model="python:m", draws=2),
    PanelResult: PanelSpec(question="Q?", model="python:m", limits=Ceilings(calls=99)),
}


@pytest.mark.parametrize("kind", SPECS)
def test_each_format_has_a_spec_and_a_typed_result(kind):
    made = run_sync(SPECS[kind], models={"m": answer})
    assert type(made) is kind
    assert (made.status, made.format) == ("complete", SPECS[kind].format)
    written = SPECS[kind].model_dump(mode="json")
    assert type(run_sync(written, models={"m": answer})) is kind


def test_a_mapping_names_its_format():
    with pytest.raises(UsageError, match="unknown format 'other'"):
        run_sync({"format": "other"})
    made = run_sync(
        {"format": "panel", "question": "Q?", "model": "python:m"}, models={"m": answer}
    )
    assert made.final == made.last_drafts[made.winner_label]


def test_tools_are_functions_by_name():
    asked = []

    def seat(request):
        asked.append([tool.name for tool in request.tools])
        if len(asked) > 1:
            return answer(request)
        return Completion("", finish="tool_calls", tool_calls=(ToolCall("add", '{"a": 1}'),))

    def add(a: int) -> str:
        """Add one."""
        return str(a + 1)

    spec = {"format": "judged", "question": "Q?", "model": "python:m", "tools": ["add"]}
    spec |= {"debaters": [{"stance": "a"}, {"stance": "b"}], "max_rounds": 1}
    made = run_sync(spec, models={"m": seat}, tools={"add": add})
    assert [(row.tool, row.result, row.ok) for row in made.tools] == [("add", "2", True)]
    assert asked[0] == ["add"]
    with pytest.raises(UsageError) as caught:
        run_sync(spec, models={"m": seat})
    assert caught.value.code == "tool.not_given"


def test_a_debate_with_tools_is_resumed_with_them():
    def add(a: int) -> str:
        """Add one."""
        return str(a + 1)

    def stop(event):
        if event["type"] == "turn.recorded":
            raise KeyError("the process dies")

    spec = {"format": "judged", "question": "Q?", "model": "python:m", "tools": ["add"]}
    spec |= {"debaters": [{"stance": "a"}, {"stance": "b"}]}
    with open_store("sqlite:///:memory:") as store:
        given = {"models": {"m": answer}, "tools": {"add": add}}
        with pytest.raises(SeatError):
            run_sync(spec, **given, store=store, observe=stop)
        (debate,) = store.debates()
        with pytest.raises(UsageError) as caught:
            resume_sync(debate, store=store, models=given["models"])
        assert caught.value.code == "tool.not_given"
        assert resume_sync(debate, store=store, **given).status == "complete"


def test_an_interrupted_debate_is_resumed_to_its_end():
    async def seat(request):
        return Completion('{"stance": "s", "rationale": "r", "vote": "revise"}', tokens_in=1)

    async def stop_and_resume(store):
        def stop(event):
            if event["type"] == "call.answered":
                raise KeyError("the process dies")

        with pytest.raises(SeatError):
            await run(spec_of(), models={"seat": seat}, store=store, observe=stop)
        debate = store.debates()[0]
        assert result(store, debate).status == "open"
        return await resume(debate[:6], store=store, models={"seat": seat})

    with open_store("sqlite:///:memory:") as store:
        made = asyncio.run(stop_and_resume(store))
        assert (made.decision, made.resumes) == ("revise", 1)
        assert verify(store, made.debate).ok
        with pytest.raises(UsageError) as caught:
            resume_sync(made.debate, store=store, models={"seat": seat})
        assert caught.value.code == "debate.closed"


def test_a_model_that_fails_is_an_abstention():
    def seat(request):
        if request.speaker == "planner":
            raise ModelError("client_error")
        return AGREEING["seat"](request)

    made = run_sync(spec_of(), models={"seat": seat})
    assert made.vote_tally == {"revise": 2, "abstain": 1}


def test_a_misuse_is_a_value_error_and_bad_data_is_none():
    with pytest.raises(ValueError, match="there are only 3 debaters") as caught:
        run_sync(spec_of(threshold=4))
    assert isinstance(caught.value, UsageError)
    assert caught.value.code == "spec.threshold"
    assert not issubclass(DataError, ValueError)
    assert not issubclass(UsageError, DataError)


def test_unknown_debates_and_stores_are_refused(tmp_path):
    with open_store("sqlite:///:memory:") as store:
        for call in (result, verify):
            with pytest.raises(UsageError) as caught:
                call(store, "ab")
            assert caught.value.code == "store.unknown"
    with pytest.raises(UsageError) as caught:
        open_store(f"sqlite:///{tmp_path / 'none.db'}", create=False)
    assert caught.value.code == "store.missing"
    (tmp_path / "other").write_text("no database at all")
    with pytest.raises(DataError):
        open_store(f"sqlite:///{tmp_path / 'other'}")


def test_every_public_name_is_there_and_documented():
    assert sorted(hansard.__all__) == hansard.__all__
    for name in hansard.__all__:
        found = getattr(hansard, name)
        assert found.__doc__ or get_origin(found) is Union, name  # a union has no docstring
    assert hansard.verify is verify


def test_dir_and_help_show_every_public_name():
    assert set(hansard.__all__) <= set(dir(hansard))
    shown = pydoc.plain(pydoc.render_doc(hansard))
    names = {*hansard.__all__} - {"__version__"} | {hansard.__version__}
    assert [name for name in names if not re.search(rf"\b{re.escape(name)}\b", shown)] == []


def test_type_checkers_are_told_of_the_names_that_are_imported_later():
    tree = ast.parse(Path(hansard.__file__).read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    assert len(imports) == len(block.body)
    told = {(node.module, row.name) for node in imports for row in node.names}
    later = {(f"hansard.{home}", name) for home, names in hansard._LATER.items() for name in names}
    assert told == later | {("hansard", name) for name in hansard._MODULES}


def test_every_public_function_says_what_it_raises():
    for name in hansard.__all__:
        found = getattr(hansard, name)
        if inspect.isfunction(found) and name not in ("formats", "standalone_verifier"):
            assert "aise" in found.__doc__, name


def test_the_import_brings_no_command_line_along():
    check = "import sys, hansard; assert not {'click', 'rich'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_the_version_is_that_of_the_package():
    project = Path(__file__).parents[2] / "pyproject.toml"
    assert f'\nversion = "{hansard.__version__}"\n' in project.read_text()


def test_the_package_is_imported_when_it_is_used():
    code = "import sys; from hansard import run, verify; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    heavy = {
        "pydantic",
        "eventsourcing",
        "cryptography",
        "rich",
        "asyncio",
        "hansard.rules.formats",
    }
    assert heavy.isdisjoint(loaded.stdout.split())
    assert "hansard.api.running" in loaded.stdout.split()


FIRST_USED = """
import hansard.cli.running
from hansard.closed import Closed

kinds = Closed.__subclasses__()
for kind in kinds:  # it grows: those below stand behind it
    kinds += kind.__subclasses__()
print(len(kinds), *sorted(kind.__name__ for kind in kinds if kind.__pydantic_complete__))
"""


def test_what_checks_a_class_is_made_when_it_is_first_used():
    found = subprocess.check_output([sys.executable, "-c", FIRST_USED], text=True).split()
    assert int(found[0]) > 50
    assert found[1:] == ["Ceilings", "Seat", "Settings"]  # one of each is the default of a field


def test_a_public_name_stays_what_it_is_whatever_is_imported_later():
    code = "import hansard, hansard.verify.verifier; assert callable(hansard.verify)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_name_that_is_not_public_is_not_there():
    with pytest.raises(AttributeError, match="nothing_of_ours"):
        hansard.nothing_of_ours  # noqa: B018


@pytest.mark.parametrize("as_model", [True, False])
def test_what_is_said_of_a_debate_at_its_run_stands_in_place_of_its_spec(tmp_path, as_model):
    fields = {
        "format": "panel",
        "question": "Why?",
        "agents": 2,
        "rounds": 1,
        "model": "python:mine",
        "limits": {"cost_usd": None},
        "labels": ["old"],
        "retention": "7y",
    }
    spec = PanelSpec.model_validate(fields) if as_model else fields
    said = {"requester": {"name": "Ann", "key": "acme/reviewer"}, "labels": ("new",), "owner": "Bo"}
    with open_store(f"sqlite:///{tmp_path}/a.db") as store:
        done = run_sync(spec, models={"mine": lambda request: "so"}, store=store, **said)
        opened = hansard.read_record(store, done.debate).events[0]["data"]
        assert verify(store, done.debate).ok
    assert (opened["requester"]["key"], opened["owner"]["key"]) == ("acme/reviewer", None)
    assert (opened["labels"], opened["retention"]) == (["new"], "7y")
    with pytest.raises(UsageError, match=r"^labels\.0: use letters"):
        run_sync(spec, models={"mine": lambda request: "so"}, labels=["a b"])
