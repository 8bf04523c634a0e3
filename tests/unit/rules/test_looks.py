"""Numbers, and true and false, are what they look like: in every spec and every public function."""

from typing import get_args

import pytest
from pydantic import BaseModel, ValidationError

import hansard
from hansard import adapters, blocks
from hansard.rules.formats import SPECS
from hansard.rules.looks import unlike
from hansard.rules.spec_gate import GateSpec
from hansard.rules.spec_parts import Ceilings, Evidence, Settings
from hansard.runtime.inputs import parse_spec

WRONG = {int: ["2", 2.0, True, "two"], float: ["0.5", True, "1e3"], bool: ["yes", "true", 1, 0.0]}
MODELS: tuple[type[BaseModel], ...] = (*SPECS.values(), Ceilings, Evidence, GateSpec, Settings)
FIELDS = [
    (spec, name, kind)
    for spec in MODELS
    for name, field in spec.model_fields.items()
    for kind in {int, float, bool} & {field.annotation, *get_args(field.annotation)}
]


@pytest.mark.parametrize(
    ("spec", "name", "kind"), FIELDS, ids=[f"{spec.__name__}.{name}" for spec, name, _ in FIELDS]
)
def test_a_field_takes_nothing_that_only_could_be_read_so(spec, name, kind):
    for value in WRONG[kind]:
        with pytest.raises(ValidationError) as caught:
            spec.model_validate({name: value})
        (found,) = [row for row in caught.value.errors() if row["loc"] == (name,)]
        assert found["type"] == "spec.invalid_value"
        assert found["msg"].startswith("this must be ")


def test_a_whole_number_is_a_number():
    assert unlike(2, [float]) is None
    assert Ceilings(seconds=2).seconds == 2


@pytest.mark.parametrize("rounds", ["2", 2.0, True])
def test_one_sentence_names_the_field(rounds):
    with pytest.raises(hansard.UsageError) as caught:
        hansard.Debate(format="panel", agents=[lambda _: "a"] * 2, rounds=rounds)
    assert caught.value.code == "spec.invalid_value"
    assert caught.value.sentence.startswith("spec: rounds: this must be a ")
    assert caught.value.others == ()


def test_a_file_is_held_to_the_same():
    fields = {"format": "panel", "question": "Why?", "model": "python:ask", "rounds": "2"}
    with pytest.raises(hansard.UsageError, match=r"rounds: .*2, without quotation marks"):
        parse_spec(fields, "debate.yaml")


@pytest.fixture
def debate():
    """A debate in a store, and the store."""
    with hansard.open_store("sqlite:///:memory:") as store:
        result = hansard.debate(
            "Why?", format="panel", agents=[lambda _: "a"] * 2, review="Ann", store=store
        )
        yield result.debate, store


CALLS = {
    "until": lambda id_, store: hansard.read_record(store, id_).replay(until="2"),
    "unverified": lambda id_, store: hansard.read_record(store, id_).replay(unverified="no"),
    "prompts": lambda id_, store: hansard.read_record(store, id_).pdf(prompts="no"),
    "create": lambda *_: hansard.open_store("sqlite:///:memory:", create="no"),
    "condition": lambda id_, store: hansard.note_outcome(id_, "held", store=store, condition=True),
    "lift": lambda id_, store: hansard.hold(id_, store=store, lift="no"),
    "shuffle": lambda *_: blocks.judge(str, ["a", "b"], shuffle="no"),
    "seed": lambda *_: blocks.judge(str, ["a", "b"], seed="1"),
    "anonymize": lambda *_: blocks.format_transcript_for_judge([], anonymize=0),
    "temperature": lambda *_: adapters.openai_complete(None, model="m", temperature="0.5"),
    "max_tokens": lambda *_: adapters.anthropic_complete(None, model="m", max_tokens="9"),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_argument_of_a_function_is_what_it_looks_like(name, debate):
    with pytest.raises(hansard.UsageError) as caught:
        CALLS[name](*debate)
    assert caught.value.code == "api.value"
    assert str(caught.value).startswith(f"`{name}`: this must be ")
