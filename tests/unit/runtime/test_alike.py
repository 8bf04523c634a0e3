"""Which recorded debate stands for one that would be opened."""

from dataclasses import replace

import pytest

import hansard
from hansard.api.specs import located
from hansard.errors import SeatError
from hansard.runtime.alike import is_alike
from hansard.runtime.estimate import rehearsed
from hansard.runtime.files import Files


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


PRICES = {"python:ask": {"input": "1", "output": "2"}}


def test_while_a_debate_is_open_its_prices_count_but_not_the_list_that_they_are_from():
    with hansard.open_store("sqlite:///:memory:") as store:
        with pytest.raises(SeatError) as caught:
            hansard.run_sync(RUN | {"prices": PRICES}, models={"ask": lambda _: 1 / 0}, store=store)
        record = hansard.read_record(store, caught.value.debate)
    events, text = record.events, record.text
    assert is_alike(opening(prices=PRICES), events, text)
    assert not is_alike(opening(), events, text)
    cheaper = {"python:ask": {"input": "1", "output": "1.999999"}}
    assert not is_alike(opening(prices=cheaper), events, text)
    events[0]["data"]["prices"][0]["source"] = "genai-prices/9"
    assert is_alike(opening(prices=PRICES), events, text)
