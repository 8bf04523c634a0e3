"""The promises of loomflow's `MultiAgentDebate`, checked against `panel`."""

import asyncio
import json
import threading

import pytest

import hansard
from hansard import UsageError
from hansard.examples.sources import loomflow
from hansard.rules.formats import panel
from hansard.sources.loomflow import Agent, MultiAgentDebate, Team
from instant import GUARD
from services.block_dialects import ANTHROPIC, anthropic
from services.dialects import CHAT
from services.server import Server, completion
from sources.played import QUESTION

SEATS = ("optimist", "skeptic", "analyst")
DEBATERS = [{"id": seat} for seat in SEATS]
JUDGED = {"answer": "Adopt it for one team.", "justification": "Two of three gave figures."}
ALIKE = "Adopt the harness for the first support team in March, and measure it."


@pytest.fixture
def convene(play):
    """Run the three debaters of the source's example; their answers differ unless told."""

    def run(replies=None, **changes):
        return play(replies, format="panel", **{"debaters": DEBATERS, **changes})

    return run


def drafts(debate):
    """Who drafted, round by round."""
    rows = debate.all("turn.recorded")
    rounds = sorted({row["round"] for row in rows})
    return {n: [row["speaker"] for row in rows if row["round"] == n] for n in rounds}


# Rounds


def test_round_zero_is_independent_and_the_rounds_after_it_revise(convene):
    debate = convene()
    assert drafts(debate) == {0: [*SEATS], 1: [*SEATS], 2: [*SEATS]}
    assert debate.ending == ("complete", "rounds_complete")
    for seat in SEATS:
        assert "says this in round" not in debate.prompt(f"r0.draft.{seat}")
        later = debate.prompt(f"r2.draft.{seat}")
        for other in SEATS:
            assert all(f"{other} says this in round {n}." in later for n in (0, 1))
        assert "says this in round 2." not in later
        assert QUESTION in later


def test_all_debaters_of_a_round_are_asked_at_once():
    """Each waits for the others to have been asked: one after the other they would never end."""
    together = threading.Barrier(len(SEATS))

    def seat(request):
        together.wait(timeout=GUARD)
        return f"{request.speaker} in round {request.round}"

    spec = {"format": "panel", "question": QUESTION, "model": "python:seat", "debaters": DEBATERS}
    result = hansard.run_sync(spec, models={"seat": seat})
    assert (result.status, result.calls.failed) == ("complete", 0)


@pytest.mark.parametrize(("changes", "last"), [({}, 2), ({"rounds": 1}, 1), ({"rounds": 3}, 3)])
def test_rounds_count_after_the_independent_one_and_are_two_by_default(convene, changes, last):
    assert max(drafts(convene(**changes))) == last


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"debaters": DEBATERS[:1]}, "spec.too_few"),
        ({"rounds": 0}, "spec.out_of_range"),
        ({"convergence_similarity": 1.01}, "spec.out_of_range"),
        ({"convergence_similarity": "-0.1"}, "spec.invalid_value"),
    ],
)
def test_what_the_source_refuses_with_a_value_error_is_refused(convene, changes, code):
    with pytest.raises(UsageError) as caught:
        convene(**changes)
    assert caught.value.code == code


# Convergence


def test_a_round_in_which_all_answers_are_alike_ends_the_rounds(convene):
    debate = convene({f"r1.draft.{seat}": ALIKE for seat in SEATS})
    assert max(drafts(debate)) == 1
    assert debate.ending == ("complete", "converged")
    rows = debate.all("similarity.measured")
    assert [row["converged"] for row in rows] == [False, True]
    assert rows[0]["threshold_ppm"] == 850_000


def test_convergence_is_tested_after_every_round_the_independent_one_included(convene):
    assert drafts(convene({"draft": ALIKE})) == {0: [*SEATS]}


def test_every_pair_must_be_alike(convene):
    debate = convene({"optimist": ALIKE, "skeptic": ALIKE})
    first = debate.all("similarity.measured")[0]
    assert [(row["one"], row["other"]) for row in first["pairs"]] == [
        ("optimist", "skeptic"), ("optimist", "analyst"), ("skeptic", "analyst"),
    ]  # fmt: skip
    assert first["pairs"][0]["ppm"] == 1_000_000
    assert max(drafts(debate)) == 2


def test_without_the_check_full_rounds_are_argued_even_when_all_agree(convene):
    debate = convene({"draft": ALIKE}, convergence_check=False)
    assert max(drafts(debate)) == 2


@pytest.mark.parametrize(("limit", "rounds"), [("0.5", 0), ("0.51", 2), ("0", 0), ("1", 2)])
def test_the_similarity_is_a_jaccard_index_of_words_that_must_be_reached(convene, limit, rounds):
    """Two shared words of four are one half."""
    answers = {"optimist": "adopt it now", "skeptic": "adopt it slowly"}
    debate = convene(answers, debaters=DEBATERS[:2], convergence_similarity=limit)
    assert max(drafts(debate)) == rounds


@pytest.mark.parametrize(
    ("answers", "converge"),
    [
        (("no risk but all gain", "all risk but no gain"), False),
        (("adopt  it\nnow", "adopt it now"), True),
        (("Adopt it now", "adopt it now"), False),
    ],
)
def test_at_one_answers_must_be_equal_white_space_aside(convene, answers, converge):
    pair = dict(zip(SEATS[:2], answers, strict=True))
    debate = convene(pair, debaters=DEBATERS[:2], convergence_similarity=1.0)
    assert (max(drafts(debate)) == 0) is converge


def test_similar_wording_that_negates_is_no_agreement(convene):
    words = " ".join(f"reason{n}" for n in range(30))
    pair = {"optimist": f"we should release {words}", "skeptic": f"we should not release {words}"}
    debate = convene(pair, debaters=DEBATERS[:2])
    first = debate.all("similarity.measured")[0]["pairs"][0]
    assert first["ppm"] > 850_000
    assert first["negation_differs"]
    assert max(drafts(debate)) == 2


def test_one_survivor_is_no_convergence(convene):
    gone = hansard.ModelError("no_reply")
    debate = convene({"optimist": ALIKE, "skeptic": gone, "analyst": gone})
    assert not any(row["converged"] for row in debate.all("similarity.measured"))
    assert debate.decision == ("escalate", "too_few_heard")


def test_convergence_is_called_similar_wording_and_never_correctness(convene):
    debate = convene({"draft": ALIKE})
    (note,) = [note for note in debate.result.notes if note.code == "similar_wording"]
    assert "neither agreement nor correctness" in note.message


# Who decides


def test_a_judge_reads_the_whole_transcript_and_writes_the_answer(convene):
    debate = convene({"verdict": JUDGED}, judge={})
    prompt = debate.prompt("r2.verdict.judge")
    for seat in SEATS:
        assert all(f"{seat} says this in round {n}." in prompt for n in range(3))
    assert debate.decision == ("synthesis", "judge_synthesis")
    assert debate.result.final == JUDGED["answer"]
    assert debate.result.winner_label is None


def test_without_a_judge_the_majority_of_the_final_answers_decides(convene):
    def voting(**choices):
        return {seat: {"answer": f"{seat} says so", "choice": c} for seat, c in choices.items()}

    final = {f"r2.draft.{seat}": {"answer": "so", "choice": "adopt"} for seat in SEATS[:2]}
    first = voting(optimist="wait", skeptic="wait", analyst="adopt")
    debate = convene(
        {**final, **first, "r2.draft.analyst": {"choice": "wait"}},
        options=["adopt", "wait"],
        convergence_check=False,
    )
    assert debate.decision == ("adopt", "majority_vote")
    tie = convene(
        voting(optimist="adopt", skeptic="wait", analyst="defer"),
        options=["adopt", "wait", "defer"],
    )
    assert tie.decision == ("escalate", "no_majority")


def test_free_answers_are_counted_as_they_are_where_a_majority_is_asked_for(convene):
    replies = {"optimist": "Adopt it.", "skeptic": "adopt  it.", "analyst": "Wait a year."}
    debate = convene(replies, resolution="majority")
    assert debate.decision == ("optimist", "majority_vote")


def test_after_convergence_the_most_similar_draft_is_the_answer(convene):
    """Drafts that are 85 % alike have no exact majority."""
    replies = {seat: f"{ALIKE} {seat}" for seat in SEATS}
    debate = convene(replies, resolution="majority")
    assert debate.ending == ("complete", "converged")
    assert debate.decision == ("optimist", "most_similar")


# Prompts


def test_the_built_in_prompts_say_alone_then_defend_or_update_and_a_brief_justification(convene):
    debate = convene({"verdict": JUDGED}, judge={})
    assert "In round 0, answer alone" in debate.prompt("r0.draft.optimist")
    assert "defend your answer or update it" in debate.prompt("r1.draft.optimist")
    assert '"justification": "why, briefly"' in debate.prompt("r2.verdict.judge")


def test_instructions_of_debaters_and_judge_replace_the_built_in_ones(convene):
    plain = convene({"verdict": JUDGED}, judge={})
    debate = convene(
        {"verdict": JUDGED},
        judge={},
        debater_instructions="Argue like an engineer.",
        judge_instructions="You are the CIO. Pick the best decision.",
    )
    told, judge = debate.prompt("r1.draft.skeptic"), debate.prompt("r2.verdict.judge")
    assert "Argue like an engineer." in told
    assert "defend your answer" not in told
    assert "You are the CIO." in judge
    assert "settle where the debaters differ" not in judge

    def hashes(played):
        return {row["role"]: row["sha256"] for row in played.opened["templates"]}

    changed = {role for role, digest in hashes(debate).items() if hashes(plain)[role] != digest}
    assert {"debater", "judge"} <= changed


# The team


OPUS, GPT = "anthropic:claude-opus-4-7", "openai:gpt-4o"


def test_the_sources_example_team_runs_as_it_stands(monkeypatch):
    """Personas, two vendors over their own wires, a CIO as the judge, a model for the team."""

    def opus(body):
        is_judge = "You are the CIO." in json.dumps(body)
        return anthropic(json.dumps(JUDGED) if is_judge else "Opus thinks so.")

    wires = Server(opus), Server(lambda body: completion("The figures say so."))
    with wires[0] as first, wires[1] as second:
        for row, server in ((ANTHROPIC, first), (CHAT, second)):
            for name, value in row.variables(server).items():
                monkeypatch.setenv(name, value)
        result = asyncio.run(loomflow.main())
    assert (result.name, result.final, result.status) == ("debate", JUDGED["answer"], "complete")
    assert result.rounds[0].drafts == {
        "debater_0": "Opus thinks so.",
        "debater_1": "Opus thinks so.",
        "debater_2": "The figures say so.",
    }
    assert {row["model"] for row in first.bodies} == {"claude-opus-4-7"}
    assert {row["model"] for row in second.bodies} == {"gpt-4o"}
    assert [row.persona for row in result.seats][2] == "Argue from the data."
    assert [row.model for row in result.seats] == [OPUS, OPUS, GPT, OPUS]


def test_the_workers_of_a_team_are_its_agents_by_their_seats():
    team = loomflow.team()
    assert [*team.declared_workers()] == ["debater_0", "debater_1", "debater_2", "judge"]
    assert team.declared_workers()["debater_2"] == Agent("Argue from the data.", model="gpt-4o")


def test_a_team_runs_again_with_a_callable_as_its_model_and_as_one_of_its_debaters():
    def model(request):
        return f"{request.persona} {request.question}"

    team = Team.debate(debaters=[Agent("For."), Agent("Against."), model], model=model, rounds=1)
    first, second = (asyncio.run(team.run(row)) for row in ("Adopt?", "Wait?"))
    assert first.rounds[0].drafts["debater_1"] == "Against. Adopt?"
    assert second.rounds[1].drafts["debater_0"] == "For. Wait?"


@pytest.mark.parametrize(
    ("answers", "decision"),
    [
        (("Adopt it.", "Adopt it.", "Wait."), ("debater_0", "majority_vote")),
        (("Adopt it now.", "Wait for the audit.", "Adopt it."), ("debater_0", "most_similar")),
    ],
)
def test_a_team_without_a_judge_takes_the_answer_of_most_or_the_one_most_like_the_others(
    answers, decision
):
    debaters = [lambda request, text=text: text for text in answers]
    result = asyncio.run(Team.debate(debaters=debaters, convergence_check=False).run("Adopt?"))
    assert (result.decision, result.decision_rule) == decision
    assert result.final == answers[0]


@pytest.mark.parametrize(
    "changes",
    [{"debaters": [Agent("Alone.")]}, {"rounds": 0}, {"convergence_similarity": 1.5}],
)
def test_a_team_refuses_with_a_value_error_what_the_source_does(changes):
    agents = [Agent("For."), Agent("Against.")]
    with pytest.raises(ValueError, match=r"at least|must lie"):
        MultiAgentDebate(**{"debaters": agents, "model": "gpt-4o", **changes})


def test_declared_workers_name_the_judge_only_where_there_is_one():
    spec = hansard.PanelSpec(question=QUESTION, model="python:m", debaters=DEBATERS)
    assert list(spec.declared_workers()) == ["debater_0", "debater_1", "debater_2"]


def test_rounds_responses_and_convergence_are_told_in_order_while_it_runs():
    seen = []

    def seat(request):
        return ALIKE if request.round else f"{request.speaker} alone"

    spec = {"format": "panel", "question": QUESTION, "model": "python:seat", "debaters": DEBATERS}
    hansard.run_sync(spec, models={"seat": seat}, progress=seen.append)
    told = [
        (type(row).__name__, getattr(row, "speaker", None), row.round)
        for row in seen
        if type(row).__name__ in ("RoundStarted", "Response", "Converged")
    ]
    assert told == [
        ("RoundStarted", None, 0),
        *(("Response", seat, 0) for seat in SEATS),
        ("RoundStarted", None, 1),
        *(("Response", seat, 1) for seat in SEATS),
        ("Converged", None, 1),
    ]


def test_the_format_says_when_it_pays_off_and_when_not():
    use, _, rest = " ".join(panel.__doc__.split()).partition("When not: ")
    avoid, _, cost = rest.partition("Cost: ")
    for case in ("high-stakes", "specialists may well differ", "blind spots"):
        assert case in use.partition("When to use it: ")[2]
    for case in ("can be computed", "somebody is waiting", "very many"):
        assert case in avoid
    assert cost == "debaters x (rounds + 1) calls, and one with a judge."
