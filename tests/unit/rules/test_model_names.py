"""What a wrong name of a model may have meant, and the sentence that refuses it."""

from __future__ import annotations

import pytest
from pydantic_core import PydanticCustomError

from hansard.rules.model_names import PROVIDERS, is_slip, known_model, meant, no_model, told

MEANT = {
    # no provider
    "gpt-5-mini": "openai:gpt-5-mini",
    "o3": "openai:o3",
    "claude-haiku-4-5": "anthropic:claude-haiku-4-5",
    "gemini-2.5-flash": "google:gemini-2.5-flash",
    "mistral-small-latest": "mistral:mistral-small-latest",
    "us.anthropic.claude-haiku-4-5-v1:0": "bedrock:us.anthropic.claude-haiku-4-5-v1:0",
    "llama3:8b": "ollama:llama3:8b",
    "gpt-oss:20b": "ollama:gpt-oss:20b",
    "replies.yaml": "scripted:replies.yaml",
    # a maker and a model
    "openai/gpt-5-mini": "openrouter:openai/gpt-5-mini",
    "meta-llama/llama-4:free": "openrouter:meta-llama/llama-4:free",
    "azure/mine": "azure:mine",
    # a slip, or another word
    "opneai:gpt-5": "openai:gpt-5",
    "OpenAI:gpt-5": "openai:gpt-5",
    "openai_responses:gpt-5": "openai-responses:gpt-5",
    "antropic:claude": "anthropic:claude",
    "azure-openai:mine": "azure:mine",
    "vertexai:gemini": "vertex:gemini",
    "vertex_ai:gemini": "vertex:gemini",
    "mistralai:m": "mistral:m",
    "llama.cpp:m": "llamacpp:m",
    "scirpted:replies.yaml": "scripted:replies.yaml",
    "pyhton:ask": "python:ask",
}
GUESSWORK = ["crystal:ball", "x", "openai", "openai:", ":m", "", "a b", "gpt-5\n", "gpt-5\x1b[2J"]


@pytest.mark.parametrize("name", MEANT)
def test_what_was_meant_is_asked_and_not_taken(name):
    assert meant(name) == MEANT[name]
    assert known_model(MEANT[name]) == MEANT[name]
    with pytest.raises(PydanticCustomError) as caught:
        known_model(name)
    assert caught.value.type == "spec.unknown_model"
    assert str(caught.value) == f"there is no model {name}; did you mean {MEANT[name]}?"


@pytest.mark.parametrize("name", GUESSWORK)
def test_what_is_anybodys_guess_is_told_what_there_is(name):
    assert meant(name) is None
    assert no_model(name, ("strong",)).endswith(", llamacpp:…, strong")


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_provider_is_found_again_with_a_letter_too_many(name):
    assert meant(f"{name}x:m") == f"{name}:m"


def test_an_alias_is_meant_before_anything_else():
    assert meant("gtp-5", ("gpt-5", "strong")) == "gpt-5"
    assert meant("Strong", ("strong",)) == "strong"
    assert meant("gpt-5-mini", ("strong",)) == "openai:gpt-5-mini"


HOSTILE = "openai\x1b[2J\u202e:gpt\n" + "m" * 5_000


def test_a_hostile_name_is_cut_and_inert():
    assert told(HOSTILE).startswith("openai??2J?:gpt?mmm")
    assert len(told(HOSTILE)) == 80
    assert len(no_model(HOSTILE, ("a" * 64,) * 1_000)) < 1_200
    assert len(no_model("opneai:" + "m" * 240)) < 220
    for name in ("x" * 256, "openrouter-" * 20, "a/" * 120):
        assert len(no_model(name)) < 400
        assert meant(name) is None or known_model(meant(name))


@pytest.mark.parametrize("words", ["yes/no", "optimist", "Ship: now.", "pro", "x:y", "a b"])
def test_words_are_no_slip(words):
    assert not is_slip(words)


def test_a_slip_is_one():
    assert is_slip("opneai:gpt-5")
    assert is_slip("claude-haiku-4-5")
