"""The rivals of a debate, and which recorded debate stands for one that would be opened."""

from dataclasses import replace

import pytest

import hansard
from hansard.api.specs import located
from hansard.runtime.estimate import rehearsed
from hansard.runtime.evaluating import MOST_DRAWS, is_alike, rival
from hansard.runtime.files import Files

SIDES = [
    {"label": "sign", "stance": "Sign it.", "model": "openai:a", "settings": {"temperature": 0.4}},
    {"label": "wait", "stance": "Wait a week.", "model": "openai:b"},
]
SPECS = {
    "consensus": {
        "debaters": [{"id": "ann", "model": "openai:a", "persona": "You are Ann."}, {"id": "bob"}],
        "options": ["sign", "wait"], "threshold": 2, "max_rounds": 1,
    },
    "judged": {"debaters": SIDES},
    "moderated": {"proposer": {"model": "openai:a"}},
    "panel": {"options": ["sign", "wait"], "agents": 2, "model": "openai:a"},
}  # fmt: skip


def spec_of(format_, **fields):
    own = SPECS[format_] | {"format": format_, "question": "Do we sign?"}
    return located({"model": "openai:other", **own, **fields}, None)[0]


@pytest.mark.parametrize("format_", SPECS)
def test_the_rival_is_the_first_who_argues_asked_alone(format_):
    found = rival(spec_of(format_), 7)
    (seat,) = found.table()
    assert (found.format, found.draws, found.question) == ("baseline", 7, "Do we sign?")
    assert (seat.id, seat.role, seat.model, seat.persona) == ("single", "debater", "openai:a", None)
    upheld = ["upheld", "not_upheld"] if format_ == "moderated" else ["sign", "wait"]
    assert found.options == upheld


def test_it_keeps_settings_evidence_context_and_what_the_debate_says_of_itself():
    evidence = [{"id": "memo", "text": "It is late.", "from_round": 2}]
    spec = spec_of(
        "judged", evidence=evidence, context={"days": 2}, task_type="contract", seed=7, name="n",
        collection_id="all", prices={"openai:a": {"input": "1", "output": "2"},
                                     "openai:b": {"input": "3", "output": "4"}},
        instructions="Be brief.", limits={"calls": 9},
    )  # fmt: skip
    found = rival(spec, 1)
    assert found.table()[0].settings.temperature == "0.4"
    assert [(row.id, row.from_round) for row in found.evidence] == [("memo", 1)]
    assert (
        found.context == '{"days":2}\n\nWhat the choices mean:\nsign: Sign it.\nwait: Wait a week.'
    )
    assert list(found.prices) == ["openai:a"]
    assert (found.task_type, found.seed, found.name, found.collection_id) == (
        "contract", 7, "n", "all",
    )  # fmt: skip
    assert (found.instructions, found.limits.calls) == ("Be brief.", 9)
    assert rival(spec_of("panel"), 1).context is None  # options say what they mean


def test_it_is_drawn_as_often_as_there_were_calls_within_bounds():
    spec = spec_of("panel")
    assert [rival(spec, calls).draws for calls in (0, 1, 99, 500)] == [1, 1, MOST_DRAWS, MOST_DRAWS]


def ask(request):
    return {"answer": "so", "choice": "sign"}


RUN = {
    "format": "panel", "question": "Do we sign?", "model": "python:ask", "agents": 2, "rounds": 1,
    "options": ["sign", "wait"], "evidence": [{"id": "memo", "text": "It is late."}],
}  # fmt: skip
CHANGES = (
    {"question": "Do we sign now?"},
    {"evidence": [{"id": "memo", "text": "It is early."}]},
    {"evidence": []},
    {"options": ["wait", "sign"]},
    {"rounds": 2},
    {"agents": 3},
    {"personas": ["You are Ann.", "You are Bob."]},
    {"seed": 1},
    {"settings": {"temperature": 0.1}},
    {"debater_instructions": "Be brief."},
    {"context": "It rains."},
)


def opening(**changes):
    spec, _ = located(RUN | changes, None)
    return rehearsed(spec, Files(None), {"ask": ask})


def test_a_debate_stands_for_another_only_if_it_was_opened_alike():
    with hansard.open_store("sqlite:///:memory:") as store:
        made = hansard.run_sync(RUN, models={"ask": ask}, store=store)
        record = hansard.read_record(store, made.debate)
    events, text = record.events, record.text
    assert is_alike(opening(), events, text)
    assert is_alike(opening(prices={"python:ask": {"input": "1", "output": "2"}}), events, text)
    for changes in CHANGES:
        assert not is_alike(opening(**changes), events, text), changes
    origin = {"kind": "evaluation", "debate": None, "head": None, "seq": None}
    assert not is_alike(replace(opening(), origin=origin), events, text)
    assert not is_alike(opening(), events[:3], text)
    assert not is_alike(opening(), events, lambda _: None)  # its texts are gone
    events[0]["data"] |= {"engine": "hansard/9", "estimate": None}
    assert is_alike(opening(), events, text)  # another version says that otherwise
