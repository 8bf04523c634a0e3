"""The front door: a debate in one call, functions in its seats, run again and again."""

from __future__ import annotations

import asyncio
import json
import warnings
from contextlib import aclosing
from functools import partial
from pathlib import Path

import pytest
from pydantic import BaseModel, field_validator

import hansard
from hansard import Debate, OutputWarning, UsageError, debate
from instant import GUARD

QUESTION = "Shall we ship?"
STANCES = {"ship": "Ship now.", "wait": "Wait for the load test."}


def argue(request):
    return f"{request.stance.text} ({request.round})"


def decide(request):
    last = request.transcript[-1]
    return {"verdict": last.text, "winner": last.stance, "reasoning": "It came last."}


def draft(request):
    return f"{request.speaker} says so."


def least(request):
    """Say as little as counts."""
    if request.role == "judge":
        return {"answer": "So.", "justification": "All say so."}
    return f"{request.speaker} says so."


class Desk:
    def ask(self, request):
        return "So."


def vote(request):
    return {"stance": "So.", "rationale": "Because.", "vote": request.options[0]}


JUDGED = {"format": "judged", "debaters": STANCES, "shuffle_for_judge": False}


def test_a_judged_debate_in_one_call():
    result = debate(QUESTION, **JUDGED, model=argue, judge=decide)
    assert (result.status, result.decision, result.winner) == (
        "complete",
        "wait",
        STANCES["wait"],
    )
    assert {row.id: row.model for row in result.seats} == {
        "ship": "python:argue",
        "wait": "python:argue",
        "judge": "python:decide",
    }


def test_agents_may_list_what_answers_in_each():
    found = debate(QUESTION, format="panel", agents=[draft, least, Desk().ask], rounds=1)
    assert {row.id: row.model for row in found.seats} == {
        "agent_1": "python:draft",
        "agent_2": "python:least",
        "agent_3": "python:Desk.ask",
    }


def test_agents_may_be_listed_with_their_names():
    found = debate(QUESTION, format="panel", agents=[("ANN", draft), least, ("BOB", draft)])
    assert [row.id for row in found.seats] == ["ANN", "agent_2", "BOB"]
    assert found.rounds[0].drafts["BOB"] == "BOB says so."


def test_one_function_under_agents_answers_for_three_with_personas_of_their_own():
    found = debate(QUESTION, format="panel", agents=draft, rounds=1)
    assert {row.id: row.model for row in found.seats} == {
        f"agent_{number}": "python:draft" for number in (1, 2, 3)
    }
    assert len({row.persona for row in found.seats}) == 3
    with pytest.raises(UsageError, match="remove `model`") as caught:
        debate(QUESTION, format="panel", agents=draft, model=least)
    assert caught.value.code == "spec.agents"


def test_stances_may_be_listed_with_their_labels():
    rows = [*STANCES.items()]
    result = debate(QUESTION, format="judged", debaters=rows, model=argue, judge=decide)
    assert [(row.label, row.text) for row in result.stances] == rows


SHAPES = {
    "functions by name": {"debaters": {"ann": vote, "bob": vote}},
    "functions in a list": {"debaters": [vote, partial(vote)], "models": {}},
    "pairs of name and function": {"debaters": [("ann", vote), ("bob", vote)]},
    "pairs of name and persona": {
        "debaters": [("ann", "You hurry."), ("bob", "You wait.")],
        "model": vote,
    },
    "ids": {"debaters": ["ann", "bob"], "model": vote},
    "personas by name": {"debaters": {"ann": "You hurry.", "bob": "You wait."}, "model": vote},
    "seats by name": {"debaters": {"ann": hansard.Seat(model=vote), "bob": {"model": vote}}},
    "seats in a list": {"debaters": [hansard.Debater(id=row, model=vote) for row in "ab"]},
    "models by name": {
        "debaters": {"ann": "python:mine", "bob": "python:mine"},
        "models": {"mine": vote},
    },
}


@pytest.mark.parametrize("shape", SHAPES)
def test_seats_come_in_every_usual_shape(shape):
    given = {"format": "consensus", "options": ["yes", "no"], "rule": "unanimity", "max_rounds": 1}
    if shape == "functions in a list":
        with pytest.raises(
            UsageError, match=r"2 seats in a list would be called vote, after their function"
        ):
            debate(QUESTION, **given, **SHAPES[shape])
        return
    result = debate(QUESTION, **given, **SHAPES[shape])
    assert (result.decision, len(result.seats)) == ("yes", 2)


@pytest.mark.parametrize("given", ["seat", "seat by name", "debate"])
def test_a_slip_in_a_models_name_is_refused_and_no_persona(given):
    seats = {"ann": "opneai:gpt-5" if given == "seat by name" else vote, "bob": vote}
    if given == "seat":
        seats["ann"] = hansard.Seat(model="opneai:gpt-5")
    model = "opneai:gpt-5" if given == "debate" else None
    with pytest.raises(UsageError, match=r"did you mean openai:gpt-5\?") as caught:
        debate(QUESTION, format="panel", debaters=seats, model=model)
    assert caught.value.code == "spec.unknown_model"


def test_words_in_a_list_are_stances_where_stances_are_argued():
    result = debate(QUESTION, format="judged", debaters=[*STANCES.values()], model=least_judged)
    assert [row.id for row in result.seats] == ["stance_1", "stance_2", "judge"]


def least_judged(request):
    if request.role == "judge":
        return {"verdict": "So.", "winner": request.options[0], "reasoning": "So."}
    return request.question


def test_functions_of_one_name_are_told_apart_by_their_place():
    agents = [lambda request: "one", lambda request: "two"]
    found = debate(QUESTION, format="panel", agents=[*agents, agents[0]], rounds=1)
    first, second, third = (row.model for row in found.seats)
    assert first == third == second.removesuffix("-2")
    assert first.endswith(".lambda")


def test_a_function_and_one_of_the_same_name_under_models_are_refused():
    with pytest.raises(UsageError) as caught:
        debate(QUESTION, format="panel", agents=[draft, draft], models={"draft": least})
    assert caught.value.code == "model.named_twice"


@pytest.mark.parametrize("seat", [lambda: "", lambda a, b: "", lambda *, request: ""])
def test_a_function_with_another_signature_is_refused_when_the_debate_is_made(seat):
    given = {"model": "python:mine", "agents": 2, "models": {"mine": seat, "other": "unused"}}
    for fields in ({"agents": [draft, seat]}, given):
        with pytest.raises(UsageError, match="called with one argument") as caught:
            Debate(format="panel", **fields)
    assert caught.value.code == "model.signature"


@pytest.mark.parametrize("agents", [[draft, 7], [draft, None], [draft]])
def test_what_cannot_sit_in_a_seat_is_refused_when_the_debate_is_made(agents):
    with pytest.raises(UsageError, match=r"spec\.|debaters|panel"):
        Debate(format="panel", agents=agents)


def test_a_debate_is_run_again_with_another_question_and_evidence(tmp_path):
    document = tmp_path / "log.md"
    document.write_text("The disk was full.\n")
    seen = []

    def look(request):
        seen.append((request.question, [row.id for row in request.evidence], request.context))
        return "So."

    panel = Debate(format="panel", agents=[look, look], rounds=1, context="It is Friday.")
    panel.run_sync("What caused the outage?", evidence=[document])
    panel.run_sync("And now?", context="It is Monday.")
    assert set(map(str, seen)) == {
        str(("What caused the outage?", ["log"], "It is Friday.")),
        str(("And now?", [], "It is Monday.")),
    }


def test_a_debate_without_a_question_asks_for_one():
    with pytest.raises(UsageError, match="question: this field is required"):
        Debate(format="panel", agents=[draft, draft]).run_sync()


def test_a_debate_is_made_from_a_spec_too(tmp_path):
    spec = hansard.PanelSpec(question=QUESTION, debaters=[{"id": "a"}, {"id": "b"}], model=draft)
    file = tmp_path / "debate.yaml"
    file.write_text(f"format: panel\nquestion: {QUESTION}\nagents: 2\nmodel: python:draft\n")
    for debate_ in (Debate(spec), Debate(file, models={"draft": draft})):
        assert debate_.run_sync().status == "complete"
        assert debate_.run_sync("Why?").question == "Why?"
    assert debate_.estimate().most.calls == 6


def test_its_repr_says_who_sits_at_the_table():
    assert repr(Debate(format="panel", agents=[draft, draft])) == (
        "Debate(format='panel', seats=['agent_1', 'agent_2'])"
    )


def test_inside_a_running_loop_the_error_says_what_to_await():
    async def inside():
        debate(QUESTION, format="panel", agents=[draft, draft])

    with pytest.raises(UsageError, match=r"await Debate\(…\)\.run") as caught:
        asyncio.run(inside())
    assert caught.value.code == "api.running_loop"


def test_a_stream_yields_typed_steps_and_then_has_the_result():
    async def follow():
        stream = Debate(format="panel", agents=[draft, draft], rounds=1).stream(QUESTION)
        assert stream.result is None
        return [type(step).__name__ async for step in stream], stream.result

    steps, result = asyncio.run(follow())
    assert steps[0] == "DebateOpened"
    assert steps[-1] == "DebateClosed"
    assert result.status == "complete"


def test_who_stops_listening_stops_the_run_and_it_can_be_resumed(tmp_path):
    url = f"sqlite:///{tmp_path / 'store.db'}"

    async def leave():
        stream = Debate(format="panel", agents=[draft, draft], store=url).stream(QUESTION)
        async with aclosing(stream.__aiter__()) as steps:
            await anext(steps)

    asyncio.run(leave())
    with hansard.open_store(url) as store:
        (row,) = hansard.list_debates(store).debates
        assert row.state == "open"
        result = hansard.resume_sync(row.debate, store=store, models={"draft": draft})
    assert result.status == "complete"


def test_what_a_stream_raises_reaches_whoever_listens():
    def broken(request):
        raise KeyError("the bug")

    async def follow():
        return [step async for step in Debate(format="panel", agents=[broken] * 2).stream("Why?")]

    with pytest.raises(hansard.SeatError, match="agent_1 raised KeyError"):
        asyncio.run(follow())


def test_stop_cuts_short_what_is_running():
    def stopping(request):
        panel.stop("enough", by="ann")
        return f"In round {request.round}."

    panel = Debate(format="panel", agents=[stopping] * 2, rounds=9, convergence_check=False)

    result = panel.run_sync(QUESTION)
    assert (result.status, result.truncated.by, result.truncated.reason) == (
        "truncated",
        "ann",
        "enough",
    )
    assert "it was stopped, by ann: enough" in result.sentence
    assert "a person" not in str(result)  # code may have stopped it
    panel.stop()  # nothing is running
    assert panel.run_sync(QUESTION, rounds=1).status == "truncated"


def test_one_debate_may_run_several_times_at_once():
    panel = Debate(format="panel", agents=[draft, draft], rounds=1)

    async def both():
        return await asyncio.gather(*(panel.run(f"Question {n}?") for n in range(3)))

    assert [row.question for row in asyncio.run(both())] == [f"Question {n}?" for n in range(3)]


# Hooks


def test_an_async_hook_is_awaited_in_order_before_the_debate_goes_on():
    told, asked = [], []

    async def observe(event):
        await asyncio.sleep(0)
        told.append(event["seq"])

    def seat(request):
        asked.append(len(told))
        return "So."

    result = debate(QUESTION, format="panel", agents=[seat, seat], rounds=1, observe=observe)
    assert told == [*range(1, result.entries + 1)]
    assert min(asked) >= 4  # opening, seats and the call's own start were heard of


def test_an_async_hook_may_watch_the_progress_and_read_the_texts():
    told = []

    async def progress(step):
        told.append(type(step).__name__)

    async def observe(event, texts):
        told.append(len(texts) > 0)

    debate(QUESTION, format="panel", agents=[draft, draft], progress=progress, observe=observe)
    assert {"DebateOpened", "DebateClosed", True} <= {*told}


def test_what_an_async_hook_raises_stops_the_debate_and_is_raised():
    async def observe(event):
        raise KeyError("the bug")

    with pytest.raises(hansard.SeatError, match="a hook raised KeyError"):
        debate(QUESTION, format="panel", agents=[draft, draft], observe=observe)


def test_an_async_hook_may_stop_the_debate():
    async def progress(step):
        raise hansard.Stop("enough")

    result = debate(QUESTION, format="panel", agents=[draft, draft], progress=progress)
    assert (result.status, result.calls.asked) == ("truncated", 0)


def test_an_async_hook_that_hangs_does_not_outlive_a_cancelled_debate():
    entered = []

    async def cancel():
        entering = asyncio.Event()

        async def observe(event):
            entered.append(event)
            entering.set()
            await asyncio.Event().wait()

        run = asyncio.ensure_future(
            Debate(format="panel", agents=[draft, draft]).run(QUESTION, observe=observe)
        )
        await entering.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(run, GUARD)

    asyncio.run(cancel())
    assert len(entered) == 1


# Typed outputs


class Plan(BaseModel):
    step: str
    days: int = 3


def test_the_output_is_an_instance_of_the_class_that_was_asked_for():
    def write(request):
        return Plan(step=request.decision) if request.role == "synthesizer" else least(request)

    given = {"format": "panel", "agents": [write, write], "rounds": 1, "model": write}
    result = debate(QUESTION, **given, output_schema=Plan)
    assert isinstance(result.output, Plan)
    assert json.loads(result.model_dump_json())["output"] == result.output.model_dump()
    kept = hansard.PanelSpec(question=QUESTION, **{**given, "agents": 2}, output_schema=Plan)
    assert isinstance(Debate(kept).run_sync("Why?").output, Plan)
    assert isinstance(hansard.run_sync(kept).output, Plan)
    assert result.model_dump()["output"] == result.output.model_dump()


def test_without_a_class_the_output_is_json():
    def write(request):
        return {"step": "So."} if request.role == "synthesizer" else least(request)

    schema = {"type": "object", "required": ["step"], "properties": {"step": {"type": "string"}}}
    given = {"format": "panel", "agents": [write, write], "rounds": 1, "model": write}
    assert debate(QUESTION, **given, output_schema=schema).output == {"step": "So."}


class Careful(BaseModel):
    step: str

    @field_validator("step")
    @classmethod
    def _known(cls, step):
        raise {"wrong": ValueError("a secret"), "bug": KeyError("a secret")}[step]


@pytest.mark.parametrize("step", ["wrong", "bug"])
@pytest.mark.parametrize("strict", [False, True])
def test_what_a_validator_refuses_costs_no_result(step, strict):
    def write(request):
        return {"step": step} if request.role == "synthesizer" else least(request)

    given = {"format": "panel", "agents": [write, write], "rounds": 1, "model": write}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("error" if strict else "always", OutputWarning)
        result = debate(QUESTION, **given, output_schema=Careful)
    assert (result.status, result.output) == ("complete", {"step": step})
    said = [str(row.message) for row in told if row.category is OutputWarning]
    assert len(said) == (not strict)
    assert all("Careful refuses" in row and "secret" not in row for row in said)


def test_where_nobody_wrote_the_output_there_is_none():
    def write(request):
        return {"days": "many"} if request.role == "synthesizer" else least(request)

    given = {"format": "panel", "agents": [write, write], "rounds": 1, "model": write}
    assert debate(QUESTION, **given, output_schema=Plan).output is None


def test_tools_are_given_by_name_without_a_list_of_their_names():
    def lookup(what: str) -> str:
        """Look something up."""
        return what

    seen = []

    def look(request):
        seen.append([row.name for row in request.tools])
        return "So."

    debate(QUESTION, format="panel", agents=[look, look], rounds=1, tools={"lookup": lookup})
    assert {*map(tuple, seen)} == {("lookup",)}


def test_functions_state_settings_that_are_recorded():
    def warm(request):
        return f"at {request.parameters['temperature']}"

    warm.settings = hansard.Settings(temperature="0.7", seed=1)  # type: ignore[attr-defined]
    seats = {"a": {"model": warm}, "b": {"model": warm, "settings": {"temperature": "0.2"}}}
    result = debate(QUESTION, format="panel", debaters=seats, rounds=1)
    assert [row.parameters["temperature"] for row in result.seats] == ["0.7", "0.2"]
    assert [row.parameters["seed"] for row in result.seats] == [1, 1]


def test_a_file_beside_the_working_directory_may_be_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("memo.md").write_text("Thirty days.")
    seen = []

    def look(request):
        seen.append(request.evidence[0].text)
        return "So."

    debate(QUESTION, format="panel", agents=[look, look], rounds=1, evidence=[Path("memo.md")])
    assert set(seen) == {"Thirty days."}


def test_a_folder_is_allowed_by_its_name_or_as_a_path(tmp_path):
    folder, own = tmp_path / "theirs", tmp_path / "own"
    folder.mkdir()
    own.mkdir()
    (folder / "memo.md").write_text("Thirty days.")
    spec = {"format": "panel", "agents": [draft, draft], "evidence": ["../theirs/memo.md"]}
    for allow in ([folder], [str(folder)]):
        kept = Debate(**spec, folder=own, allow=allow)
        assert kept.run_sync("Why?").evidence[0].id == kept.run_sync("When?").evidence[0].id
        assert kept.estimate("Why?").most.calls == 6
    with pytest.raises(UsageError, match="--allow"):
        Debate(**spec, folder=own).run_sync("Why?")


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        ({"progress": print}, "spec.unknown_field", "`progress` belongs to a run"),
        ({"tools": [argue]}, "tool.not_given", "tools={NAME: FUNCTION}"),
        ({"tools": object()}, "tool.not_given", "tools={NAME: FUNCTION}"),
        ({"models": object()}, "model.not_given", "models={NAME: FUNCTION}"),
        ({"store": Path("x.db")}, "store.url", "write sqlite:///PATH/FILE.db"),
        ({"policy": "policy.txt"}, "policy.read", "what `read_policy` gives, not a str"),
    ],
)
def test_what_stands_in_a_wrong_place_is_told_the_right_one(given, code, words):
    with pytest.raises(UsageError) as caught:
        Debate(**JUDGED, model=argue, judge=decide, **given).run_sync(QUESTION)
    assert caught.value.code == code
    assert words in str(caught.value)


def test_a_question_is_not_taken_for_the_file_of_a_spec():
    with pytest.raises(UsageError, match="give a question to `run`"):
        Debate(QUESTION, **JUDGED, model=argue, judge=decide)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda _: None, "returned a reply of type NoneType; return words"),
        (lambda _: 1 / 0, "raised ZeroDivisionError in r1.argument.ship; nothing was retried"),
        (lambda _: "x" * (2**20 + 1), "returned a reply of more than 1,048,576 bytes; return a sh"),
        (
            lambda _: "\x01" * 2**20,
            "returned a reply of too many control characters; return one without them",
        ),
        (
            lambda _: "half \ud800",
            "returned a reply that is not Unicode; return text that UTF-8 can",
        ),
    ],
)
def test_a_seat_error_says_what_hansard_knows_of_it(answer, words):
    with pytest.raises(hansard.SeatError) as caught:
        debate(QUESTION, **JUDGED, model=answer, judge=decide)
    assert words in str(caught.value)


def test_a_debate_that_was_kept_in_memory_cannot_be_resumed_and_says_so(tmp_path):
    given = {**JUDGED, "model": lambda _: 1 / 0, "judge": decide}
    with pytest.raises(hansard.SeatError, match="was in memory and is gone: name a `store`"):
        debate(QUESTION, **given)
    with pytest.raises(hansard.SeatError, match="stays open: resume it once that is mended"):
        debate(QUESTION, **given, store=f"sqlite:///{tmp_path}/h.db")


def test_a_file_name_without_a_folder_is_told_of_path():
    with pytest.raises(
        UsageError, match=r"write Path\(NAME\) in Python, or pass the `folder`"
    ) as no:
        debate(QUESTION, **JUDGED, model=argue, judge=decide, evidence=["note.md"])
    assert no.value.code == "spec.file_outside"
