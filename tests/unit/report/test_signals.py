"""What code can see: who changed and towards whom, who spoke most, who is too much alike."""

import pytest

import support
from hansard.report.view import build
from hansard.rules.demands import family
from hansard.runtime.models.base import ModelError
from playing import POSITIONS
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


# Who wrote most (RULES.md D 66)


def argued_by(*lengths, **changes):
    """The notes on a debate whose stances write so many characters."""
    ends = {f"r1.argument.s{n}": "x" * length for n, length in enumerate(lengths)}
    seats = [{"id": f"s{n}", "label": f"l{n}", "stance": f"So {n}."} for n in range(len(lengths))]
    result = ran("judged", ends, debaters=seats, max_rounds=1, **changes)
    return [words for _, words in noted(result, "dominance")]


@pytest.mark.parametrize(
    ("lengths", "share"),
    [
        ((31, 10), "75.6%"),
        ((10, 10, 31), "60.7%"),
        ((10, 50, 120, 60), None),
        ((10, 50, 121, 60), "50.2%"),
        ((30, 10), None),
        ((10, 10, 30), None),
        ((10, 10, 10), None),
    ],
)
def test_whoever_wrote_more_than_three_times_the_others_on_average(lengths, share):
    said = f"wrote {share} of all that was argued, more than 3 times what each of the others wrote"
    found = argued_by(*lengths)
    assert len(found) == (share is not None)
    assert all(f"s{lengths.index(max(lengths))} {said} on average" == words for words in found)


def test_dominance_informs_and_is_said_of_a_closed_debate_only():
    ends = {"ann": support.say("x" * 400), "bob": support.say("y"), "cat": support.say("z")}
    record = Debate(Setup("judged"), support.script(ends)).run().record
    closed, still_open = (build(rows, record.texts.get) for rows in
                          (record.events, record.events[:-1]))  # fmt: skip
    assert note_of(closed, "dominance").severity == "info"
    assert noted(still_open, "dominance") == []
    gone = build(record.events, lambda _: None)
    assert noted(gone, "dominance") == []


def test_a_seat_that_was_never_heard_makes_nobody_dominant():
    ends = {"argument": ModelError("client_error"), "r1.argument.ann": "x" * 400}
    assert noted(ran("judged", ends, max_rounds=1), "dominance") == []


@pytest.mark.parametrize(("words", "count"), [(1, 0), (300, 1)])
def test_of_several_proposers_only_they_are_compared(words, count):
    critique = {"thesis": "x" * 3000}
    ends = {"critique": critique, "r1.proposition.p1": {"thesis": "x" * words}}
    found = noted(ran("moderated", ends, positions=POSITIONS), "dominance")
    assert [said.partition(" ")[0] for _, said in found] == ["p1"] * count
