"""What code can see: who changed and towards whom, who spoke most, who is too much alike."""

import pytest

import support
from hansard.rules.demands import family
from hansard.runtime.models.base import ModelError
from reporting import note_of, noted, of, ran
from support import Debate, Setup

NEW = "Wait for the audit, then pay it."


def vote(option):
    return {"stance": "so", "rationale": "because", "vote": option}


def test_a_changed_vote_names_who_held_the_new_one_already():
    ends = {"planner": vote("release"), "critic": vote("revise"), "operator": vote("escalate")}
    ends["r1.critique.operator"] = vote("revise")
    result = ran("consensus", ends)
    (moved,) = result.drift
    assert (moved.what, moved.speaker, moved.round_index) == ("vote", "operator", 1)
    assert (moved.phase, moved.before, moved.after) == ("critique", "escalate", "revise")
    assert moved.towards == ("critic",)
    assert (moved.before_ppm, moved.after_ppm) == (None, None)


def test_an_abstention_is_a_change_towards_nobody():
    ends = {"planner": vote("release"), "critic": vote("revise"), "operator": vote("escalate")}
    ends |= dict.fromkeys(
        ("r1.critique.critic", "r1.critique.operator"), ModelError("client_error")
    )
    first, second = ran("consensus", ends, max_rounds=1).drift[:2]
    assert (first.before, first.after, first.towards) == ("revise", None, ())
    assert (second.speaker, second.after, second.towards) == ("operator", None, ())


def test_in_parallel_a_choice_moves_only_towards_what_was_held_before_the_round():
    ends = {"draft": {"answer": "a", "choice": "no"}}
    ends["r0.draft.cat"] = {"answer": "a", "choice": "yes"}
    ends["r1.draft.ann"] = {"answer": "a", "choice": "yes"}
    ends["r1.draft.bob"] = {"answer": "a", "choice": "yes"}
    result = ran("panel", ends, options=["yes", "no"])
    rows = [(row.speaker, row.before, row.after, row.towards) for row in result.drift]
    assert rows == [
        ("ann", "no", "yes", ("cat",)),
        ("bob", "no", "yes", ("cat",)),
        ("cat", "yes", "no", ("ann", "bob")),
    ]


def test_a_changed_answer_names_the_earlier_one_that_it_came_closest_to():
    ends = {
        "r0.draft.ann": "Pay it now.",
        "r0.draft.bob": NEW,
        "r0.draft.cat": "Never mind all that.",
        "r1.draft.ann": "Wait for the audit, then pay it now.",
        "r1.draft.bob": NEW,
        "r1.draft.cat": "Something else entirely",
    }
    first, second = ran("panel", ends).drift
    assert (first.what, first.speaker, first.towards) == ("answer", "ann", ("bob",))
    assert (first.before_ppm, first.after_ppm) == (250_000, 875_000)
    assert (first.before, first.after) == (None, None)
    assert (second.speaker, second.towards, second.after_ppm) == ("cat", (), None)


def test_white_space_is_no_change_of_an_answer():
    ends = {"r0.draft": "x", "r1.draft": "x"}
    ends |= {f"r0.draft.{seat}": f"One {seat} two" for seat in ("ann", "bob", "cat")}
    ends |= {f"r1.draft.{seat}": f"One  {seat}\ntwo" for seat in ("ann", "bob", "cat")}
    assert ran("panel", ends).drift == ()


def test_shares_are_of_the_characters_that_were_counted():
    ends = {"r1.argument.ann": "x" * 30, "r1.argument.bob": "y" * 10}
    result = ran("judged", ends, max_rounds=1)
    assert [(row.seat, row.characters, row.share_ppm) for row in result.shares] == [
        ("ann", 30, 750_000),
        ("bob", 10, 250_000),
    ]
    silent = ran("judged", {"argument": ModelError("client_error")})
    assert [(row.characters, row.share_ppm) for row in silent.shares] == [(0, None), (0, None)]


@pytest.mark.parametrize(
    ("model", "kin"),
    [
        ("openai:gpt-4o", "gpt"),
        ("openai:gpt4", "gpt"),
        ("openai:o3-mini", "o"),
        ("openai:llama:8b", "llama"),
        ("openai:qwen.large", "qwen"),
        ("openai:4o", "openai:4o"),
        ("vllm:meta-llama/Llama-3.1-8B", "llama"),
        ("bedrock:us.anthropic.claude-3-5-haiku-v1:0", "claude"),
        ("bedrock:meta.llama3-70b-instruct-v1:0", "llama"),
        ("python:gpt-4o", "python:gpt-4o"),
        ("custom:mine-2", "custom:mine-2"),
        ("scripted:replies.yaml", None),
        ("recorded:abc", None),
    ],
)
def test_the_family_of_a_model_is_its_name_up_to_its_version(model, kin):
    assert family(model) == kin


def at_table(*models, **fields):
    """A moderated debate whose framer, proposer, critic, rebuttal and moderator are these."""
    roles = ("framer", "proposer", "critic", "rebuttal", "moderator")
    table = {role: {"model": model} for role, model in zip(roles, models, strict=True)}
    return of(Debate(Setup("moderated", **table, **fields), support.script()).run())


@pytest.mark.parametrize(
    ("proposer", "critic", "shared"),
    [
        ("openai:gpt-4o", "openai:gpt-4o", "the same model (openai:gpt-4o)"),
        ("openai:gpt-4o", "openai:gpt-5", "models of the same family (gpt)"),
        ("openai:gpt-4o", "openai:llama3", None),
        ("python:a-1", "python:a-2", None),
        ("scripted:a.yaml", "scripted:a.yaml", None),
    ],
)
def test_a_proposer_and_its_critic_that_are_kin_are_noted(proposer, critic, shared):
    result = at_table("python:f", proposer, critic, "python:r", "python:m")
    said = f"proposer and its critic critic use {shared}, so they share blind spots"
    assert noted(result, "single_model") == ([(None, said)] if shared else [])


def test_a_moderator_on_a_debaters_model_may_favour_its_kin():
    result = at_table("python:f", "openai:x1", "openai:x1", "openai:x2", "openai:x2")
    assert [words for _, words in noted(result, "self_bias")] == [
        (
            "moderator and those it judges (proposer, critic) use models of the same family (x), "
            "so it may favour them"
        ),
        (
            "moderator and those it judges (rebuttal) use the same model (openai:x2), "
            "so it may favour them"
        ),
    ]
    framed = at_table("python:m", "python:a", "python:b", "python:r", "python:m")
    assert noted(framed, "self_bias") == []
    assert note_of(ran("judged"), "self_bias").severity == "warning"


def test_roles_that_differ_are_no_theatre():
    assert at_table(*["python:a"] * 5).theatre == ()
    assert ran("judged").theatre == ()
    assert ran("panel", agents=3, debaters=[]).theatre == ()


def test_one_prompt_with_one_model_or_one_family_is_theatre():
    models = ("openai:gpt-4o", "openai:gpt-5", "openai:gpt-5", "openai:llama3", "scripted:a.yaml")
    rows = [{"id": f"d{n}", "model": model} for n, model in enumerate(models)]
    debate = Debate(Setup(debaters=rows), support.script()).run()
    model, kin = of(debate).theatre
    assert (model.seats, model.model, model.family) == (("d1", "d2"), "openai:gpt-5", "gpt")
    assert (kin.seats, kin.model, kin.family) == (("d0", "d1", "d2"), None, "gpt")
    assert not kin.persona
    assert [words for _, words in noted(of(debate), "theatre")] == [
        (
            "d1, d2 use the same model (openai:gpt-5) without personas, so their agreement means "
            "little"
        ),
        (
            "d0, d1, d2 use models of the same family (gpt) without personas, so their agreement "
            "means little"
        ),
    ]
    for row in rows:
        row["persona"] = row["id"]
    assert of(Debate(Setup(debaters=rows), support.script()).run()).theatre == ()


def test_what_does_not_reach_a_function_is_said_in_one_note():
    models = ("python:f", "custom:a", "python:b", "custom:r", "python:m")
    said = note_of(at_table(*models, context="background"), "custom_seats").message
    assert said.startswith("Custom functions fill proposer, rebuttal; persona, instructions,")
    assert noted(at_table(*models), "custom_seats") == []
