"""The promises of lemmas' `debate`, checked against `panel`."""

import json
from types import SimpleNamespace as Shape

import pytest
from anthropic import Anthropic
from openai import OpenAI

import hansard
from hansard import UsageError
from hansard.adapters import anthropic_complete, openai_complete
from hansard.examples.sources import lemmas
from hansard.sources.lemmas import debate
from services.block_dialects import anthropic
from services.server import KEY, Server, completion

TWO = [{"id": "MATHEMATICIAN"}, {"id": "ENGINEER"}]
PICK = {"winner": "agent_2", "justification": "It alone gives figures."}


def complete(request):
    """One callable for all agents: it drafts, and as a judge it picks."""
    if request.role == "judge":
        return PICK
    return f"{request.speaker} drafts {request.round}"


# Usage


def test_one_callable_spawns_three_agents():
    r = debate(query="Which decisions mattered?", agents=complete, n_agents_if_single=3, rounds=2)
    assert list(r.rounds[0].drafts) == ["agent_1", "agent_2", "agent_3"]
    assert r.winner_label in r.rounds[0].drafts
    assert r.final == r.rounds[-1].drafts[r.winner_label]


def test_three_agents_and_two_rounds_are_the_defaults(play):
    assert len(play(format="panel").asked) == 3 * (2 + 1)


@pytest.mark.parametrize(("judge", "calls"), [(None, 9), (complete, 10)])
def test_three_agents_over_two_rounds_cost_nine_calls_and_ten_with_a_judge(judge, calls):
    called = []

    def counted(request):
        called.append(request.call)
        return complete(request)

    debate(query="…", agents=counted, judge=judge and counted, n_agents_if_single=3, rounds=2)
    assert len(called) == calls


def test_agents_with_labels_may_each_have_a_callable_of_their_own():
    r = debate(
        query="…",
        agents=[("OPENAI", lambda r: f"one {r.round}"), ("CLAUDE", lambda r: f"two {r.round}")],
        rounds=1,
    )
    assert [row.drafts for row in r.rounds] == [
        {"OPENAI": "one 0", "CLAUDE": "two 0"},
        {"OPENAI": "one 1", "CLAUDE": "two 1"},
    ]


def test_drafts_are_independent_and_then_revised_after_seeing_the_others(play):
    played = play(format="panel", debaters=TWO)
    for seat, other in (("MATHEMATICIAN", "ENGINEER"), ("ENGINEER", "MATHEMATICIAN")):
        assert "says this in round" not in played.prompt(f"r0.draft.{seat}")
        assert f"{other} says this in round 0." in played.prompt(f"r1.draft.{seat}")


def test_personas_are_given_one_for_each_agent(play):
    personas = ["You are a pure mathematician.", "You are a practising engineer."]
    played = play(format="panel", debaters=TWO, personas=personas)
    for seat, persona in zip(("MATHEMATICIAN", "ENGINEER"), personas, strict=True):
        shown = [words in played.prompt(f"r0.draft.{seat}") for words in personas]
        assert shown == [words == persona for words in personas]


def test_agents_of_one_model_without_personas_get_different_ones(play):
    played = play(format="panel", agents=8)
    texts = {played.text(row["persona"]) for row in played.all("debater.registered")}
    assert len(texts) == 8


@pytest.mark.parametrize("number", [1, 3])
def test_another_number_of_personas_than_agents_is_refused(play, number):
    with pytest.raises(UsageError) as caught:
        play(format="panel", debaters=TWO, personas=["You are somebody."] * number)
    assert caught.value.code == "spec.personas"


def test_temperature_is_a_setting_of_each_seat(play):
    warm = [{"id": "A", "settings": {"temperature": 0.7}}, {"id": "B"}]
    played = play(
        {"verdict": {"winner": "A", "justification": "so"}},
        format="panel",
        debaters=warm,
        judge={"settings": {"temperature": 0}},
        resolution="pick",
    )
    asked = {row.speaker: row.parameters["temperature"] for row in played.asked}
    assert asked == {"A": "0.7", "B": None, "judge": "0"}


# Adapters


def vendor(replies):
    """The two vendors' clients, as far as they are called: each remembers what it was asked."""
    asked = []

    def chat(**body):
        asked.append(body)
        message = Shape(content=replies["openai"])
        return Shape(model="m", choices=[Shape(message=message, finish_reason="stop")])

    def messages(**body):
        asked.append(body)
        content = [Shape(type="text", text=replies["anthropic"])]
        return Shape(model="m", content=content, stop_reason="end_turn")

    openai = Shape(chat=Shape(completions=Shape(create=chat)))
    return openai, Shape(messages=Shape(create=messages)), asked


def test_adapters_put_two_vendors_clients_into_one_debate():
    judged = '{"winner": "CLAUDE", "justification": "It is the better draft."}'
    openai, anthropic, asked = vendor({"openai": "from one", "anthropic": "from the other"})
    grader, _, graded = vendor({"openai": judged, "anthropic": ""})
    r = debate(
        query="…",
        agents=[
            ("OPENAI", openai_complete(openai, model="gpt-4o-mini", temperature=0.7)),
            ("CLAUDE", anthropic_complete(anthropic, model="claude-haiku-4-5")),
        ],
        rounds=2,
        judge=openai_complete(grader, model="gpt-4o", temperature=0),
    )
    assert (r.winner_label, r.final) == ("CLAUDE", "from the other")
    assert {row["model"] for row in asked} == {"gpt-4o-mini", "claude-haiku-4-5"}
    assert {row["temperature"] for row in asked if row["model"] == "gpt-4o-mini"} == {0.7}
    assert [(row["model"], row["temperature"]) for row in graded] == [("gpt-4o", 0)]


QUERY = "What caused the outage?"


@pytest.fixture
def clients():
    """Both vendors' own clients, and what a scripted server on loopback was asked by them."""

    def openai(body):
        picked = {"winner": "CLAUDE", "justification": "It names a cause."}
        return completion(json.dumps(picked) if body["model"] == "gpt-4o" else "The disk.")

    first, second = Server(openai), Server(lambda body: anthropic("The disk, at 03:12."))
    with first, second:
        yield (
            OpenAI(base_url=first.url, api_key=KEY, max_retries=0),
            Anthropic(base_url=second.root, api_key=KEY, max_retries=0),
            lambda: first.bodies + second.bodies,
        )


def test_the_sources_call_of_one_model_runs_with_the_vendors_client(clients, capsys):
    openai, _, asked = clients
    r = lemmas.same_model(openai)
    assert capsys.readouterr().out == "The disk.\nwinner: agent_1\n"
    assert r.rounds[0].drafts == dict.fromkeys(("agent_1", "agent_2", "agent_3"), "The disk.")
    assert {(row["model"], row["temperature"]) for row in asked()} == {("gpt-4o-mini", 0.7)}
    assert len(asked()) == 3 * (2 + 1)  # though all say the same
    assert len({json.dumps(row["messages"]) for row in asked()[:3]}) == 3


def test_the_sources_call_of_two_vendors_runs_with_their_clients(clients):
    openai, claude, asked = clients
    r = lemmas.cross_model(openai, claude, QUERY)
    assert (r.winner_label, r.final) == ("CLAUDE", "The disk, at 03:12.")
    assert "It names a cause." in r.judgment
    models = [row["model"] for row in asked()]
    assert {name: models.count(name) for name in models} == {
        "gpt-4o-mini": 3,
        "gpt-4o": 1,
        "claude-haiku-4-5": 3,
    }


def test_the_sources_call_with_personas_runs_with_the_vendors_client(clients):
    openai, _, asked = clients
    r = lemmas.custom_personas(openai, QUERY)
    assert [row.id for row in r.seats] == ["MATHEMATICIAN", "ENGINEER"]
    told = sorted(json.dumps(row["messages"]) for row in asked()[:2])
    assert sum("You are a pure mathematician." in row for row in told) == 1
    assert sum("You are a practicing engineer." in row for row in told) == 1


def test_drafts_that_are_alike_end_the_rounds_where_that_is_asked_for():
    r = debate(QUERY, lambda request: "The disk.", convergence_check=True)
    assert (len(r.rounds), r.calls.asked) == (1, 3)


def test_what_lemmas_does_not_know_is_passed_on_and_the_record_is_kept(store):
    r = debate(QUERY, complete, judge=complete, store=store, evidence=[{"id": "d", "text": "t"}])
    assert (r.evidence[0].id, hansard.verify(store, r.debate).ok) == ("d", True)


# Who wins, and the result


def test_with_a_judge_it_picks_the_winning_agent():
    r = debate(query="…", agents=complete, judge=complete)
    assert (r.winner_label, r.final) == ("agent_2", "agent_2 drafts 2")
    assert "It alone gives figures." in r.judgment


def test_without_a_judge_the_draft_most_like_the_others_wins(play):
    words = {"A": "one two three four", "B": "one two three five", "C": "one two six five"}
    played = play(words, format="panel", debaters=[{"id": seat} for seat in words])
    assert played.decision == ("B", "most_similar")
    assert (played.result.winner_label, played.result.final) == ("B", words["B"])


def test_equally_similar_drafts_go_to_the_first_registered_and_a_note_says_so(play):
    played = play(format="panel", debaters=TWO)
    assert played.decision == ("MATHEMATICIAN", "most_similar")
    assert "tie" in played.notes


def test_the_result_has_the_sources_shape():
    r = debate(
        query="…",
        agents=[("A", complete), ("B", complete)],
        rounds=1,
        judge=lambda request: {"winner": "B", "justification": "so"},
    )
    source = r.source()
    judgment = source.pop("judgment")
    assert source == {
        "final": "B drafts 1",
        "winner_label": "B",
        "rounds": [
            {"round_index": n, "drafts": {"A": f"A drafts {n}", "B": f"B drafts {n}"}}
            for n in (0, 1)
        ],
    }
    assert judgment == '{"winner": "B", "justification": "so"}'


def test_without_a_judge_the_judgment_is_a_note_on_convergence(play):
    same = play({"draft": "the very same answer"}, format="panel", debaters=TWO)
    assert "similar wording" in same.result.judgment
    assert same.result.winner_label == "MATHEMATICIAN"
