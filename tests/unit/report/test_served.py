"""Which model answered: the one that was asked for, or another (RULES.md D 65)."""

import pytest

from hansard.report.served import is_asked
from reporting import note_of, noted, of
from support import SERVED, Debate, Setup, script, vote

CODE = "served_otherwise"


@pytest.mark.parametrize(
    ("asked", "served"),
    [
        ("openai:gpt-5", "gpt-5"),
        ("openai:gpt-5", "GPT-5"),
        ("openai:gpt-5", "gpt-5-2025-08-07"),
        ("openai:gpt-4", "gpt-4-0613"),
        ("anthropic:claude-haiku-4-5", "claude-haiku-4-5-20251001"),
        ("anthropic:claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022"),
        ("anthropic:claude-3-5-sonnet", "claude-3-5-sonnet@20241022"),
        ("google:gemini-2.0-flash", "models/gemini-2.0-flash-001"),
        ("openai:command-r", "command-r-08-2024"),
        ("ollama:qwen3", "qwen3:latest"),
        ("ollama:qwen3:latest", "qwen3"),
        ("ollama:qwen3:8b", "qwen3:8b"),
        ("vllm:meta-llama/Llama-3.1-8B", "llama-3.1-8b"),
    ],
)
def test_a_date_or_a_place_makes_no_other_model(asked, served):
    assert is_asked(asked, served)


@pytest.mark.parametrize(
    ("asked", "served"),
    [
        ("openai:gpt-5", "gpt-5-mini"),
        ("openai:gpt-5", "gpt-5-mini-2025-08-07"),
        ("openai:gpt-5", "gpt-5-20"),
        ("openai:gpt-5", "gpt-5-20250"),
        ("openai:gpt-5", "gpt-5.1"),
        ("openai:gpt-5", "gpt-52025-08-07"),
        ("openai:gpt-5-mini", "gpt-5"),
        ("openai:gpt-5-2025-08-07", "gpt-5"),
        ("openai:gpt-5-2025-08-07", "gpt-5-2025-09-01"),
        ("ollama:qwen3:8b", "qwen3:14b"),
        ("ollama:qwen3:8b", "qwen3:latest"),
        ("openai:gpt-5", "gpt-5-٢٠٢٥"),
        ("openai:gpt-5", "gpt-5-0613\n"),
        ("openai:gpt-5", ""),
    ],
)
def test_another_name_is_another_model(asked, served):
    assert not is_asked(asked, served)


def test_of_a_long_name_its_end_alone_is_compared():
    """Thousands of calls may be answered in one name of a hundred megabytes."""
    names = "x" * 200, "x" * 256

    class Long(str):
        __slots__ = ()

        def __getitem__(self, key):
            return str(self)[key]

        rpartition = lower = None

    for name in names:
        assert is_asked(f"openai:{name}", Long(f"{'/y' * 9999}/{name.upper()}"))
        assert is_asked(f"openai:{name}", Long(f"{'/y' * 9999}/{name}@20250807"))
        for other in (f"/y{name}", "y" * 9999 + name, name + "y" * 9999):
            assert not is_asked(f"openai:{name}", Long("/y" * 9999 + other))


def table(served, model=SERVED):
    """A debate whose replies say that this model gave them."""
    usual = vote("release", more={"model": served})
    return Debate(Setup(model=model), script(usual=usual)).run()


def test_another_model_that_answered_is_a_warning_in_the_row_on_models():
    result = of(table("test-mini"))
    found = note_of(result, CODE)
    assert (found.severity, found.seq) == ("warning", None)
    assert found.message == (
        "test-mini answered r1.proposal.planner:1, r1.proposal.critic:1, r1.proposal.operator:1, "
        "although openai:test was asked for"
    )
    (row,) = (row for row in result.governance if row.code == "models")
    assert [note.code for note in row.notes] == [CODE]


@pytest.mark.parametrize("served", [None, "test", "test-2025-08-07"])
def test_the_model_asked_for_or_none_that_is_named_is_no_finding(served):
    assert noted(of(table(served)), CODE) == []


@pytest.mark.parametrize("model", ["python:test", "scripted:a.yaml", "recorded:abc", "custom:x"])
def test_a_function_may_be_filled_by_any_model(model):
    assert noted(of(table("other", model)), CODE) == []


def test_a_name_that_is_a_text_is_not_spelled_out_and_once_gone_says_nothing():
    debate = table("not an id!")
    assert note_of(of(debate), CODE).message.startswith("a model whose name is not an id answered ")
    assert noted(of(debate, lambda _: None), CODE) == []


def test_each_pair_of_models_is_told_once():
    ends = {"critic": vote("release", more={"model": "other"})}
    usual = vote("release", more={"model": "test-mini"})
    result = of(Debate(Setup(model=SERVED), script(ends, usual)).run())
    first, second = (words for _, words in noted(result, CODE))
    assert first.startswith("test-mini answered r1.proposal.planner:1, r1.proposal.operator:1, a")
    assert second.startswith("other answered r1.proposal.critic:1, although")
