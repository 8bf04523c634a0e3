"""Functions in a spec: what they are called in the record, and which spec they make."""

from functools import partial

import pytest
from pydantic import ValidationError

from hansard.rules.formats import PanelSpec
from hansard.rules.own import is_own, name_of, names_of


def ask(request):
    return "So."


def made():
    def inner(request):
        return "So."

    return inner


class Desk:
    def ask(self, request):
        return "So."

    def __call__(self, request):
        return "So."


class Model:
    price = None

    async def complete(self, request):
        return "So."


DESK = Desk()


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (ask, "ask"),
        (made(), "made.inner"),
        (lambda request: "So.", "lambda"),
        (DESK.ask, "Desk.ask"),
        (DESK, "Desk"),
        (Model(), "Model"),
        (partial(partial(ask)), "ask"),
        (type("Café!", (), {"__call__": ask})(), "Caf__"),
        (type("a" * 300, (), {"__call__": ask})(), "a" * 200),
    ],
)
def test_a_function_is_called_by_its_qualified_name(model, name):
    assert is_own(model)
    assert name_of(model) == name


def test_functions_of_one_name_are_numbered_in_order_and_each_keeps_its_name():
    one, other = made(), made()
    assert names_of([one, "openai:m", other, one, DESK.ask, DESK.ask, Desk().ask]) == [
        "python:made.inner",
        "openai:m",
        "python:made.inner-2",
        "python:made.inner",
        "python:Desk.ask",
        "python:Desk.ask",
        "python:Desk.ask-2",
    ]


@pytest.mark.parametrize("value", [None, 7, "openai:m", {"id": "a"}, []])
def test_what_answers_no_call_is_no_function(value):
    assert not is_own(value)


def spec(**fields):
    seats = [{"id": "a", "model": ask}, {"id": "b"}]
    return PanelSpec(question="Why?", debaters=seats, **{"model": "python:b", **fields})


def test_a_spec_holds_functions_and_names_them():
    found = spec(model=DESK.ask)
    assert [row.model for row in found.table()] == ["python:ask", "python:Desk.ask"]
    assert found.functions() == {"ask": ask, "Desk.ask": DESK.ask}
    assert found.model_dump(mode="json")["model"] == "python:Desk.ask"
    assert spec().functions() == {"ask": ask}


def test_a_function_calls_no_server():
    with pytest.raises(ValidationError, match="python:ask calls no server"):
        spec(settings={"base_url": "http://localhost:1/v1"})
