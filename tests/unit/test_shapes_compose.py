"""Whatever can answer sits in every seat of every format, and what makes no sense is refused."""

from __future__ import annotations

import asyncio
import json
import warnings
from dataclasses import make_dataclass
from types import SimpleNamespace as Shape
from typing import Any

import pytest
from pydantic import create_model

import hansard
from hansard import blocks
from hansard.adapters import anthropic_complete, openai_complete
from hansard.errors import SeatError, UsageError
from hansard.rules.replies import members, words
from support import example

DEBATERS = [{"id": "a"}, {"id": "b"}]
STANCES = [{"label": "ship", "stance": "Ship now."}, {"label": "wait", "stance": "Wait."}]
PLAIN = members(synthesis=words())
OUTPUT = {"output_schema": PLAIN}
SPECS = {
    "consensus": {"debaters": DEBATERS, "options": ["x", "y"], "threshold": 2, "max_rounds": 1},
    "judged": {"debaters": STANCES, "max_rounds": 1, "judge": {}},
    "moderated": {"max_rounds": 1},
    "panel": {"debaters": DEBATERS, "rounds": 1, "judge": {}},
}
SEATS = {
    "consensus": ("debaters", "synthesizer"),
    "judged": ("debaters", "judge", "synthesizer"),
    "moderated": ("framer", "proposer", "critic", "rebuttal", "moderator", "synthesizer"),
    "panel": ("debaters", "judge", "synthesizer"),
}
ROLES = [(format_, seat) for format_, seats in SEATS.items() for seat in seats]


def replies(request):
    """A reply that counts, as text."""
    if request.in_words:
        return "Because."
    return json.dumps(example(request.reply_schema))


def usual(request):
    return replies(request)


class Said:
    """What the seat of a test is to say: known from a debate in which everybody is `usual`."""

    def __init__(self, format_, seat):
        self.texts, role = [], {"debaters": "debater"}.get(seat, seat)

        def heard(request):
            text = replies(request)
            if request.role == role:
                self.texts.append(text)
            return text

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            hansard.debate("Ship?", format=format_, model=heard, **spec_of(format_, seat))


def spec_of(format_, seat, answers=None):
    spec = {**SPECS[format_], **(OUTPUT if seat == "synthesizer" else {})}
    if answers is None:
        return spec
    if seat == "debaters":
        return {**spec, seat: [{**row, "model": answers} for row in spec["debaters"]]}
    return {**spec, seat: {**spec.get(seat, {}), "model": answers}}


def chat(text):
    def create(**asked):
        message = Shape(content=text)
        return Shape(model="m", choices=[Shape(message=message, finish_reason="stop")])

    return Shape(chat=Shape(completions=Shape(create=create)))


def messages(text):
    async def create(**asked):
        block = Shape(type="text", text=text)
        return Shape(model="m", content=[block], stop_reason="end_turn")

    return Shape(messages=Shape(create=create))


def of_prompt(text):
    def ask(prompt: str) -> str:
        assert isinstance(prompt, str)
        return text

    return ask


def of_request(text):
    def ask(request: hansard.Request) -> str:
        assert request.question == "Ship?"
        return text

    return ask


def awaited(text):
    async def ask(request):
        return text

    return ask


class Object:
    def __init__(self, text):
        self.text = text

    def complete(self, request):
        return self.text


class AsyncObject(Object):
    async def complete(self, prompt: str):
        assert isinstance(prompt, str)
        return self.text


class Called(Object):
    def __call__(self, request):
        return self.text

    complete = None


def model_of(text):
    """A reply as a pydantic model, where it is an object."""
    value = json.loads(text) if text.startswith("{") else {"text": text}
    fields: Any = {key: (type(row), ...) for key, row in value.items()}
    return create_model("Reply", **fields)(**value)


def data_of(text):
    value = json.loads(text) if text.startswith("{") else {"text": text}
    return make_dataclass("Reply", list(value))(**value)


SHAPES = {
    "function of a str": of_prompt,
    "function of a Request": of_request,
    "async function": awaited,
    "openai": lambda text: openai_complete(chat(text), model="m"),
    "anthropic": lambda text: anthropic_complete(messages(text), model="m"),
    "object with complete": Object,
    "object with async complete": AsyncObject,
    "object that is called": Called,
    "mapping": lambda text: lambda request: json.loads(text) if text[0] == "{" else {"text": text},
    "dataclass": lambda text: lambda request: data_of(text),
    "pydantic model": lambda text: lambda request: model_of(text),
    "completion": lambda text: lambda request: hansard.Completion(text, tokens_in=1),
}


def ran(format_, seat, answers, **more):
    with warnings.catch_warnings(), hansard.open_store("sqlite:///:memory:") as store:
        warnings.simplefilter("ignore")
        spec = {**spec_of(format_, seat, answers), "model": usual, **more}
        result = hansard.debate("Ship?", format=format_, store=store, **spec)
        record = hansard.read_record(store, result.debate)
        assert record.verification.ok or record.verification.verdict.startswith("SELF")
    kinds = [row["type"] for row in record.events]
    assert "call.failed" not in kinds
    assert "turn.rejected" not in kinds
    assert result.status == "complete"
    return result


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("format_", "seat"), ROLES, ids=map("-".join, ROLES))
def test_whatever_answers_sits_in_any_seat(shape, format_, seat):
    text = Said(format_, seat).texts[0]
    ran(format_, seat, SHAPES[shape](text))


@pytest.mark.parametrize(("format_", "seat"), ROLES, ids=map("-".join, ROLES))
def test_a_custom_function_sits_in_any_seat(format_, seat):
    text = Said(format_, seat).texts[0]
    ran(format_, seat, "custom:own", models={"own": of_request(text)})


PIECES = {
    "debater": lambda ask: blocks.debater(ask, "Ship now.", stances=["Ship now.", "Wait."]),
    "judge": lambda ask: blocks.judge(ask, ["Ship now.", "Wait."]),
    "synthesizer": lambda ask: blocks.synthesizer(ask, PLAIN),
}
FITTING = {("judged", "judge"): "judge"} | {
    (format_, "synthesizer"): "synthesizer" for format_ in SEATS
}


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize(("format_", "seat"), ROLES, ids=map("-".join, ROLES))
def test_a_block_sits_in_the_seat_that_it_is_made_for_and_in_no_other(piece, format_, seat):
    text = Said(format_, seat).texts[0]
    made = PIECES[piece](of_prompt(text))
    if FITTING.get((format_, seat)) == piece:
        ran(format_, seat, made)
        return
    with pytest.raises(UsageError) as caught:
        ran(format_, seat, made)
    assert caught.value.code == "model.piece"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("adapter", [openai_complete, anthropic_complete])
def test_blocks_over_adapters_make_a_whole_debate(adapter):
    client = chat("Because.") if adapter is openai_complete else messages("Because.")
    ruling = json.dumps({"verdict": "V.", "winner": "stance_1", "reasoning": "R."})
    ask = adapter(client, model="m")
    judging = adapter(chat(ruling) if adapter is openai_complete else messages(ruling), model="j")
    stances = ["Ship now.", "Wait."]
    result = hansard.debate(
        "Ship?",
        format="judged",
        debaters=[blocks.debater(ask, row, "Terse.") for row in stances],
        judge=blocks.judge(judging, stances),
        max_rounds=1,
    )
    assert (result.decision, result.winner) == ("stance_1", "Ship now.")
    assert [row.persona for row in result.seats] == ["Terse.", "Terse.", None]
    assert asyncio.run(blocks.judge(judging, stances)("Ship?", ENTRIES))["winner"] == "Ship now."


ENTRIES = [{"round": 1, "agent_name": "a", "stance": "Ship now.", "text": "So."}]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"debaters": [{"label": "a", "stance": "Else.", "model": "D"}, STANCES[1]]}, "stance"),
        ({"debaters": [{**STANCES[0], "model": "P"}, STANCES[1]]}, "persona"),
        ({"judge": {"model": "J"}, "shuffle_for_judge": False}, "shuffle_for_judge"),
        ({"judge": {"model": "J"}, "debaters": [STANCES[0], {"stance": "Never."}]}, "stances"),
        ({"synthesizer": {"model": "S"}, "output_schema": {"type": "object"}}, "output_schema"),
    ],
)
def test_a_block_that_was_made_otherwise_than_its_seat_is_refused(spec, field):
    ask = of_prompt("Because.")
    made = {
        "D": PIECES["debater"](ask),
        "P": blocks.debater(ask, "Ship now.", "Terse."),
        "J": PIECES["judge"](ask),
        "S": PIECES["synthesizer"](ask),
    }

    def filled(row):
        return {**row, "model": made[row["model"]]} if "model" in row else row

    rows = {
        key: [*map(filled, row)] if isinstance(row, list) else filled(row)
        for key, row in spec.items()
        if isinstance(row, dict | list) and key != "output_schema"
    }
    with pytest.raises(UsageError, match=f"its `{field}` is another") as caught:
        hansard.debate("Ship?", format="judged", model=usual, **{**SPECS["judged"], **spec, **rows})
    assert caught.value.code == "model.piece"


@pytest.mark.parametrize("kind", ["NoneType", "int", "list", "bytes", "ValueError", "object"])
@pytest.mark.parametrize(("format_", "seat"), ROLES, ids=map("-".join, ROLES))
def test_a_reply_of_an_impossible_type_is_named_with_its_type_and_its_seat(kind, format_, seat):
    replies = {"NoneType": None, "int": 7, "list": ["so"], "bytes": b"so"}
    reply = {**replies, "ValueError": ValueError("so"), "object": object()}[kind]

    def odd(request):
        return reply

    with pytest.raises(SeatError) as caught:
        ran(format_, seat, odd)
    said, error = str(caught.value), caught.value
    assert said.startswith(f"{error.seat} (python:")
    assert f"odd) returned a reply of type {kind}; return " in said
    assert error.step in said
    assert "\n" not in said
    assert isinstance(error.__cause__, TypeError)


def test_two_functions_of_one_name_are_told_apart_and_one_that_sits_twice_is_one():
    def named():
        def ask(request):
            return "Because."

        return ask

    one, other = named(), named()
    result = hansard.debate("Why?", format="panel", agents=[one, other, one], rounds=1)
    first, second, third = (row.model for row in result.seats)
    assert second == f"{first}-2"
    assert third == first
    models = {first.partition(":")[2]: other}
    with pytest.raises(UsageError) as caught:
        hansard.debate("Why?", format="panel", agents=[one, one], rounds=1, models=models)
    assert caught.value.code == "model.named_twice"


@pytest.mark.parametrize("seat", SEATS["moderated"])
@pytest.mark.parametrize(
    "function", [lambda: "x", lambda one, two: "x", lambda *, request: "x"], ids=["0", "2", "key"]
)
def test_a_function_of_another_signature_is_refused_wherever_it_sits(function, seat):
    with pytest.raises(UsageError, match="cannot sit in a seat") as caught:
        ran("moderated", seat, function)
    assert caught.value.code == "model.signature"
    assert "\n" not in str(caught.value)
