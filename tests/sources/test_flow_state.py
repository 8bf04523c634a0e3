"""The promises of flow-state-dev's `debate` pattern, checked against `judged`."""

import asyncio
import json
import random
import warnings

import pytest
from jsonschema import Draft202012Validator

import hansard
from hansard import SpecWarning, UsageError, blocks
from hansard.blocks import format_transcript_for_judge as show
from hansard.examples.sources import flow_state
from hansard.rules.formats import judged
from hansard.schemas import SCHEMAS
from hansard.sources import flow_state as flow_steps
from hansard.sources.flow_state import debate
from sources.played import QUESTION

DEBATERS = [
    {"id": "ann", "label": "for", "stance": "Ship it now."},
    {"id": "bob", "label": "against", "stance": "Do not ship it now."},
]
THIRD = {"id": "cat", "label": "later", "stance": "Ship it after the sale."}
DECISION = {
    "type": "object",
    "properties": {"decision": {"type": "string"}, "rationale": {"type": "string"}},
    "required": ["decision", "rationale"],
}
DELIVERABLE = {"decision": "wait", "rationale": "the index is missing"}


def verdict_for(winner):
    return {"verdict": "v", "winner": winner, "reasoning": "r"}


@pytest.fixture
def argue(play):
    """Run a debate of two stances over two rounds, unless told otherwise."""

    def run(replies=None, **changes):
        return play(replies, format="judged", **{"debaters": DEBATERS, **changes})

    return run


# How it works


def test_assigned_stances_argue_a_fixed_number_of_rounds_then_one_judge_reads_it_all(argue):
    debate = argue()
    assert debate.steps == [
        "r1.argument.ann",
        "r1.argument.bob",
        "r2.argument.ann",
        "r2.argument.bob",
        "r2.verdict.judge",
    ]
    for row in debate.all("turn.recorded"):
        words = f"{row['speaker']} says this in round {row['round']}."
        assert words in debate.prompt("r2.verdict.judge")
    assert len(debate.all("verdict.recorded")) == 1
    assert debate.ending == ("complete", "rounds_complete")


def test_the_judge_ends_nothing_and_comes_once_after_the_cap(argue):
    """A verdict in an argument is an argument: only the number of rounds ends the loop."""
    claim = json.dumps({"verdict": "for", "winner": "for", "reasoning": "It is over."})
    debate = argue({"ann": claim}, max_rounds=3)
    assert [row["round"] for row in debate.all("turn.recorded")] == [1, 1, 2, 2, 3, 3]
    assert sum(request.role == "judge" for request in debate.asked) == 1


def test_each_turn_is_shown_all_before_it_this_round_included(argue):
    debate = argue()
    said = ["ann says this in round 1.", "bob says this in round 1.", "ann says this in round 2."]
    for number, step in enumerate(debate.steps[:4]):
        shown = [words in debate.prompt(step) for words in said]
        assert shown == [True] * min(number, 3) + [False] * (3 - number)


def test_every_turn_sends_the_transcript_again_so_cost_grows_with_agents_and_rounds(argue):
    debate = argue(debaters=[*DEBATERS, THIRD], max_rounds=3)
    assert len(debate.asked) == 3 * 3 + 1
    sizes = [len(request.prompt) for request in debate.asked[:9]]
    assert sizes == sorted(sizes)
    assert sizes[-1] > sizes[0] + 8 * len("ann says this in round 1.")


def test_a_debate_begins_with_an_empty_transcript_and_its_question_on_record(argue):
    argue()
    debate = argue(question="What next?")
    assert debate.text(debate.opened["question"]) == debate.result.question == "What next?"
    assert "What next?" in debate.prompt("r1.argument.ann")
    assert "says this in round" not in debate.prompt("r1.argument.ann")


@pytest.mark.parametrize(
    ("winner", "seat", "decision"), [("against", "bob", "against"), (None, None, "synthesis")]
)
def test_a_verdict_picks_the_strongest_stance_or_combines_several(argue, winner, seat, decision):
    words = {"verdict": "Wait a week.", "winner": winner, "reasoning": "The index decides."}
    debate = argue({"verdict": words})
    assert debate.one("verdict.recorded")["winner"] == seat
    assert debate.decision == (decision, "judge_verdict")
    assert debate.result.verdict.verdict == "Wait a week."
    assert debate.result.verdict.reasoning == "The index decides."


def test_the_judge_may_be_another_and_smaller_model(argue):
    debate = argue(judge={"model": "python:small"}, models={"small": lambda r: verdict_for("for")})
    models = {row["id"]: row["model"] for row in debate.all("debater.registered")}
    assert models == {"ann": "python:seat", "bob": "python:seat", "judge": "python:small"}


def test_the_raw_result_has_the_shape_that_the_pattern_returns(argue):
    debate = argue({"verdict": {"verdict": "v", "winner": "for", "reasoning": "r"}})
    raw = debate.result.source()
    assert raw == {
        "rounds": 2,
        "question": QUESTION,
        "transcript": [
            {
                "round": round_,
                "agentName": name,
                "stance": stance,
                "text": f"{name} says this in round {round_}.",
            }
            for round_ in (1, 2)
            for name, stance in (("ann", "Ship it now."), ("bob", "Do not ship it now."))
        ],
        "verdict": {"verdict": "v", "winner": "Ship it now.", "reasoning": "r"},
    }


def test_there_is_one_audit_entry_for_each_round_and_debater(argue):
    debate = argue(name="feature-debate")
    entries = [(row["round"], row["speaker"]) for row in debate.all("turn.recorded")]
    assert entries == [(1, "ann"), (1, "bob"), (2, "ann"), (2, "bob")]
    assert {request.collection_id for request in debate.asked} == {"feature-debate"}
    assert argue(name="a", collection_id="b").opened["collection_id"] == "b"


def test_a_debate_is_a_step_in_somebody_elses_flow():
    """What the pattern chains with `.then`: question in, verdict out, then the next step."""

    async def draft(topic):
        return {"question": f"Should we ship {topic} this week?"}

    async def announce(raw):
        return f"{raw['question']} {raw['verdict']['verdict']}"

    async def model(request):
        return "An argument." if request.in_words else verdict_for(None) | {"verdict": "Not yet."}

    rows = [{"name": row["id"], "stance": row["stance"]} for row in DEBATERS]
    argued = debate({"name": "ship", "debaters": rows, "model": model})

    async def flow(topic):
        return await announce(await argued(await draft(topic)))

    assert asyncio.run(flow("search")) == "Should we ship search this week? Not yet."


# Stances, and what is seen of them


def test_stances_are_required_input_and_nobody_derives_them(argue):
    with pytest.raises(UsageError, match="stance") as caught:
        argue(debaters=[{"id": "ann"}, DEBATERS[1]])
    assert caught.value.code == "spec.missing_field"


def test_three_debaters_argue_more_than_two_sides(argue):
    debate = argue({"verdict": {"winner": "later"}}, debaters=[*DEBATERS, THIRD])
    assert debate.opened["terms"]["stances"] == ["for", "against", "later"]
    assert debate.decision == ("later", "judge_verdict")


def test_a_debater_is_told_its_stance_and_not_to_concede_it(argue):
    prompt = argue().prompt("r2.argument.bob")
    instruction = prompt[prompt.index("You argue the stance") :]
    assert 'the stance "against"' in instruction
    assert "do not concede it" in instruction
    assert "| Do not ship it now." in prompt


def test_debaters_see_stances_and_never_names(argue):
    debate = argue({"argument": lambda request: "An argument."})
    for request in debate.asked[:4]:
        assert "ann" not in request.prompt
        assert "bob" not in request.prompt
    assert "[for, round 1]\n| An argument." in debate.prompt("r1.argument.bob")
    assert "[against, round 1]\n| An argument." in debate.prompt("r2.argument.ann")


def test_the_judge_sees_no_names_unless_they_are_asked_for(argue):
    say = {"argument": lambda request: "An argument."}
    hidden, shown = argue(say), argue(say, anonymize_transcript=False)
    assert hidden.opened["terms"]["anonymize_transcript"] is True
    judge = "r2.verdict.judge"
    assert "ann" not in hidden.prompt(judge)
    assert "bob" not in hidden.prompt(judge)
    assert "[for, round 1, ann]" in shown.prompt(judge)
    assert "[against, round 2, bob]" in shown.prompt(judge)


def order_of(debate):
    """The titles of the arguments in the order in which the judge saw them."""
    lines = debate.prompt("r2.verdict.judge").splitlines()
    return [line for line in lines if line.startswith("[") and "round" in line]


def test_the_judge_sees_each_round_in_an_order_of_its_own_unless_told_otherwise(argue):
    plain = ["[for, round 1]", "[against, round 1]", "[for, round 2]", "[against, round 2]"]
    assert order_of(argue(shuffle_for_judge=False)) == plain
    seen = {tuple(order_of(argue(seed=seed))) for seed in range(12)}
    swaps = {(plain[a], plain[1 - a], plain[2 + b], plain[3 - b]) for a in (0, 1) for b in (0, 1)}
    assert seen == swaps
    assert argue().opened["terms"]["shuffle_for_judge"] is True


def test_the_exported_formatter_takes_a_random_source_for_deterministic_tests(argue):
    debate = argue({"argument": lambda request: "An argument."}, seed=3)
    entries = [row.model_dump() for row in debate.result.transcript]
    once, again = (show(entries, rng=random.Random(3)) for _ in range(2))
    assert once == again
    assert "ann" not in show(entries)
    assert "ann" in show(entries, anonymize=False)
    assert len({show(entries, rng=random.Random(seed)) for seed in range(12)}) == 4
    assert show(entries, seed=3) in debate.prompt("r2.verdict.judge")


def test_a_custom_judge_is_deterministic_and_mixes_with_built_in_debaters(argue):
    asked = []

    def judge(request):
        asked.append(request)
        return verdict_for("against")

    debate = argue(judge={"model": "custom:judge"}, models={"judge": judge})
    assert debate.decision == ("against", "judge_verdict")
    assert QUESTION in asked[0].prompt
    assert "[for, round 1]" in asked[0].prompt


# Customizing


def test_name_and_stance_are_all_that_most_debaters_need(argue):
    rows = [{"id": row["id"], "stance": row["stance"]} for row in DEBATERS]
    debate = argue(debaters=rows)
    assert debate.opened["terms"]["stances"] == ["stance_1", "stance_2"]
    assert debate.ending == ("complete", "rounds_complete")


def test_a_role_is_a_persona_that_only_its_seat_is_told(argue):
    debate = argue(debaters=[{**DEBATERS[0], "persona": "You run the pager."}, DEBATERS[1]])
    assert "You run the pager." in debate.prompt("r1.argument.ann")
    assert "You run the pager." not in debate.prompt("r1.argument.bob")


@pytest.mark.parametrize("reply", ["My own words.", {"text": "My own words."}])
def test_one_debater_may_be_a_function_beside_built_in_ones(argue, reply):
    rows = [{**DEBATERS[0], "model": "custom:mine"}, DEBATERS[1]]
    debate = argue(debaters=rows, models={"mine": lambda request: reply})
    assert "| My own words." in debate.prompt("r1.argument.bob")
    assert debate.result.source()["transcript"][0]["text"] == "My own words."


def test_another_shape_is_made_text_with_one_warning(argue):
    rows = [{**DEBATERS[0], "model": "custom:mine"}, DEBATERS[1]]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", SpecWarning)
        debate = argue(debaters=rows, models={"mine": lambda request: 42})
    assert len(caught) == 1
    assert "neither text nor {text}" in str(caught[0].message)
    assert [row["text"] for row in debate.result.source()["transcript"][::2]] == ["42", "42"]


def test_what_is_meant_for_built_in_roles_does_not_reach_a_function_and_one_note_says_so(argue):
    seen = []

    def mine(request):
        seen.append(request)
        return "My own words."

    rows = [{**DEBATERS[0], "model": "custom:mine", "persona": "A pilot."}, DEBATERS[1]]
    with pytest.warns(SpecWarning) as warned:
        debate = argue(
            debaters=rows,
            models={"mine": mine},
            instructions="Be terse.",
            context="We fly.",
            tools=["lookup"],
            functions={"lookup": lookup},
        )
    assert [row.message.code for row in warned].count("custom_seats") == 1
    for words in ("A pilot.", "Be terse.", "We fly."):
        assert words not in seen[0].prompt
    assert seen[0].tools == ()
    assert "Be terse." in debate.prompt("r1.argument.bob")
    assert [note.code for note in debate.result.notes].count("custom_seats") == 1


def lookup(what: str) -> str:
    """Look something up."""
    return f"{what}: 14,000 writes a second"


def test_a_custom_debater_may_concede(argue):
    rows = [{**DEBATERS[0], "model": "custom:mine"}, DEBATERS[1]]
    debate = argue(debaters=rows, models={"mine": lambda request: "They are right: wait."})
    assert "| They are right: wait." in debate.prompt("r2.verdict.judge")


def test_the_winner_is_one_of_the_stances_by_the_reply_schema(argue):
    (judge,) = [row for row in argue().asked if row.role == "judge"]
    assert judge.reply_schema["properties"]["winner"]["enum"] == ["for", "against", None]
    assert judge.reply_schema["required"] == ["verdict", "winner", "reasoning"]


def test_a_custom_judge_may_name_what_nobody_argued_and_no_stance_wins(argue):
    free = {"verdict": "Neither.", "winner": "a staged rollout", "reasoning": "r"}
    debate = argue(judge={"model": "custom:judge"}, models={"judge": lambda request: free})
    row = debate.one("verdict.recorded")
    assert (row["winner"], row["undeclared"]) == (None, True)
    assert "undeclared_winner" in debate.notes
    (reply,) = [row for row in debate.all("call.answered") if "verdict" in row["call"]]
    assert json.loads(debate.text(reply["reply"])) == free


def test_a_built_in_judge_that_names_no_stance_is_asked_again_first(argue):
    debate = argue({"verdict:1": verdict_for("a staged rollout"), "verdict": verdict_for("for")})
    assert debate.one("turn.rejected")["code"] == "unknown_option"
    assert debate.decision == ("for", "judge_verdict")


# The deliverable


def test_the_synthesizer_projects_the_debate_into_the_output_schema(argue):
    debate = argue({"synthesis": DELIVERABLE}, output_schema=DECISION)
    assert debate.result.output == DELIVERABLE
    prompt = debate.prompt("r2.synthesis.synthesizer")
    assert "bob says this in round 2." in prompt
    assert '"rationale"' in prompt
    assert debate.steps[-1] == "r2.synthesis.synthesizer"


def test_without_a_schema_or_with_false_the_raw_shape_is_the_output(argue):
    assert argue().all("synthesis.recorded") == []
    debate = argue(synthesizer=False)
    assert debate.steps[-1] == "r2.verdict.judge"
    assert debate.result.output is None


def test_the_synthesizer_may_be_on_without_a_schema_or_be_a_function(argue):
    assert argue({"synthesis": {"synthesis": "s"}}, synthesizer=True).result.output == {
        "synthesis": "s"
    }
    debate = argue(
        output_schema=DECISION,
        synthesizer={"model": "custom:mine"},
        models={"mine": lambda request: DELIVERABLE},
    )
    assert debate.result.output == DELIVERABLE


def test_an_output_that_does_not_fit_is_sent_back(argue):
    debate = argue(
        {"synthesis:1": {"decision": 7}, "synthesis": DELIVERABLE}, output_schema=DECISION
    )
    assert debate.one("turn.rejected")["code"] == "output_schema"
    assert debate.result.output == DELIVERABLE


def built_in(request):
    """One model in all built-in seats."""
    if request.role == "synthesizer":
        return DELIVERABLE
    return "An argument." if request.in_words else verdict_for("stance_1")


SHIP = {"question": "Should we ship feature X this week?"}


def test_basic_usage_reads_like_the_patterns_own():
    pro_con = flow_state.feature_debate(built_in)
    assert asyncio.run(pro_con(SHIP)) == flow_state.Feature(**DELIVERABLE)
    result = asyncio.run(pro_con.run(SHIP["question"]))
    assert (result.name, result.collection_id) == ("feature-debate", "feature-debate")
    assert [row.id for row in result.seats] == ["advocate", "skeptic", "judge", "synthesizer"]
    assert result.source()["verdict"]["winner"] == "ship now"


def test_a_block_beside_a_built_in_debater_reads_like_the_patterns_own():
    raw = asyncio.run(flow_state.reviewed_debate(built_in)(SHIP))
    assert set(raw) == {"rounds", "question", "transcript", "verdict"}
    assert [(row["agentName"], row["stance"], row["text"]) for row in raw["transcript"][:2]] == [
        ("a", "for", "..."),
        ("b", "against", "An argument."),
    ]


def test_every_key_of_the_configuration_means_what_it_does_there():
    asked = []

    def judge(request):
        asked.append(request)
        return verdict_for("a staged rollout")

    def model(request):
        asked.append(request)
        return DELIVERABLE if request.role == "synthesizer" else "An argument."

    step = debate(
        {
            "name": "a",
            "collectionId": "b",
            "debaters": [
                {"name": "ann", "stance": "Ship.", "role": "You run the pager."},
                {"name": "bob", "stance": "Wait.", "role": None, "block": lambda request: 42},
            ],
            "maxRounds": 1,
            "judge": judge,
            "synthesizer": model,
            "outputSchema": DECISION,
            "instructions": lambda given, context: f"By {context}: be terse.",
            "model": model,
            "tools": [lookup],
            "context": "Friday",
            "anonymizeTranscript": False,
            "shuffleForJudge": False,
            "judgeAgentType": "j",
            "synthesizerAgentType": "s",
            "debaterAgentType": "d",
        }
    )
    with pytest.warns(UserWarning, match="neither text nor"):
        result = asyncio.run(step.run("Do we ship?"))
    first, judged, last = asked
    assert (first.collection_id, first.persona, first.round) == ("b", "You run the pager.", 1)
    assert "By Friday: be terse." in first.prompt
    assert [tool.name for tool in first.tools] == ["lookup"]
    assert (judged.tools, last.tools, judged.context) == ((), (), None)
    assert [row.speaker for row in judged.transcript] == ["ann", "bob"]
    assert [row.agent_type for row in asked] == ["d", "j", "s"]
    assert [row.model.partition(":")[0] for row in result.seats] == ["python"] + ["custom"] * 3
    assert (result.verdict.winner, result.verdict.named) == (None, "a staged rollout")
    assert result.output == DELIVERABLE


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"maxRound": 2}, "spec.unknown_field", "did you mean maxRounds?"),
        ({"uses": []}, "spec.unknown_field", "uses is no key"),
        ({"debaters": [{"name": "a", "stance": "x", "id": "b"}]}, "spec.unknown_field", "block"),
        ({"judge": False}, "spec.judge", "needs its judge"),
        ({"outputSchema": DECISION, "synthesizer": False}, "spec.synthesizer", "remove one"),
        ({"judge": lambda question, answer: None}, "model.signature", "called with one argument"),
    ],
)
def test_a_configuration_that_cannot_be_kept_is_refused_before_anything_runs(changes, code, words):
    rows = [{"name": row["id"], "stance": row["stance"]} for row in DEBATERS]
    with pytest.raises(UsageError, match=words) as caught:
        debate({"name": "a", "debaters": rows, "model": built_in, **changes})
    assert caught.value.code == code


@pytest.mark.parametrize("given", [{}, "A question?"])
def test_a_step_without_a_question_is_refused(given):
    with pytest.raises(UsageError, match='"question"') as caught:
        asyncio.run(flow_state.feature_debate(built_in)(given))
    assert caught.value.code == "spec.missing_field"


def test_a_configuration_is_one_mapping_and_no_arguments():
    with pytest.raises(UsageError, match=r'debate\({"name": …') as caught:
        debate(name="a", debaters=[])
    assert caught.value.code == "spec.missing_field"


def test_an_output_that_nobody_wrote_is_none_and_a_warning():
    rows = [{"name": row["id"], "stance": row["stance"]} for row in DEBATERS]

    def model(request):
        return "no JSON" if request.role == "synthesizer" else built_in(request)

    step = debate({"name": "a", "debaters": rows, "model": model, "outputSchema": DECISION})
    with pytest.warns(UserWarning, match="None is returned, as nothing was written"):
        assert asyncio.run(step({"question": "Do we ship?"})) is None


# The configuration


def test_two_rounds_are_the_default_and_the_cap(argue):
    assert argue().opened["terms"]["max_rounds"] == 2
    assert max(row["round"] for row in argue(max_rounds=1).turns) == 1


@pytest.mark.parametrize(("rounds", "warned"), [(4, False), (5, True)])
def test_more_than_four_rounds_draw_a_warning(argue, rounds, warned):
    assert ("many_rounds" in argue(max_rounds=rounds).notes) is warned


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"debaters": DEBATERS[:1]}, "spec.too_few"),
        ({"debaters": [DEBATERS[0], {**DEBATERS[1], "id": "ann"}]}, "spec.duplicate"),
        ({"debaters": [DEBATERS[0], {**DEBATERS[1], "label": "for"}]}, "spec.duplicate"),
        ({"max_rounds": 0}, "spec.out_of_range"),
        ({"judge": False}, "spec.judge"),
        ({"model": None}, "spec.model"),
        ({"output_schema": DECISION, "synthesizer": False}, "spec.synthesizer"),
    ],
)
def test_a_configuration_that_makes_no_debate_is_refused(argue, changes, code):
    with pytest.raises(UsageError) as caught:
        argue(**changes)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "instructions",
    ["Answer from the runbook.", lambda given, context: f"Answer {given['question']} {context}"],
)
def test_instructions_are_a_text_or_a_function_and_reach_every_built_in_role(argue, instructions):
    debate = argue(
        {"synthesis": DELIVERABLE},
        instructions=instructions,
        context="by Friday",
        output_schema=DECISION,
    )
    text = instructions if isinstance(instructions, str) else f"Answer {QUESTION} by Friday"
    assert len(debate.asked) == 6
    assert all(f"\n{text}\n" in request.prompt for request in debate.asked)


def test_one_model_serves_all_built_in_roles_that_name_none(argue):
    debate = argue({"synthesis": DELIVERABLE}, output_schema=DECISION)
    assert {row["model"] for row in debate.all("debater.registered")} == {"python:seat"}


def test_tools_and_context_reach_every_built_in_role(argue):
    use = hansard.Completion(
        "", tool_calls=(hansard.ToolCall("lookup", '{"what": "peak"}'),), finish="tool_calls"
    )
    debate = argue(
        {"r1.argument.ann:1": use, "synthesis": DELIVERABLE},
        tools=["lookup"],
        functions={"lookup": lookup},
        context="We sell in four countries.",
        output_schema=DECISION,
    )
    assert {request.role for request in debate.asked} == {"debater", "judge", "synthesizer"}
    for request in debate.asked:
        assert [tool.name for tool in request.tools] == ["lookup"]
        assert "| We sell in four countries." in request.prompt
    assert "| peak: 14,000 writes a second" in debate.prompt("r1.argument.ann:2")
    assert debate.one("tool.returned")["ok"] is True


def test_agent_types_are_sub_for_debaters_and_primary_for_judge_and_synthesizer(argue):
    def types(debate):
        return {request.role: request.agent_type for request in debate.asked}

    said = {"synthesis": DELIVERABLE}
    assert types(argue(said, output_schema=DECISION)) == {
        "debater": "sub",
        "judge": "primary",
        "synthesizer": "primary",
    }
    other = {"debater": "a", "judge": "b", "synthesizer": "c"}
    debate = argue(said, output_schema=DECISION, agent_types=other)
    assert types(debate) == other
    assert {row["role"]: row["agent_type"] for row in debate.all("debater.registered")} == other


def test_the_judge_on_a_debaters_model_is_pointed_out(argue):
    assert "self_bias" in argue().notes
    other = argue(judge={"model": "python:other"}, models={"other": lambda r: verdict_for("for")})
    assert "self_bias" not in other.notes


# What is exported


def test_the_building_blocks_make_a_debate_without_the_engine():
    """Transcript, debater, judge and synthesizer over somebody's own `complete(prompt)`."""

    def complete(prompt):
        if "You are the judge" in prompt:
            return json.dumps(verdict_for("stance_2"))
        return json.dumps(DELIVERABLE) if "deliverable" in prompt else "The rollback is untested."

    stances = ["Ship", "Do not ship"]
    seats = [blocks.debater(complete, stance, stances=stances) for stance in stances]
    said = blocks.Transcript()

    async def debate():
        said.clear()
        for number in (1, 2):
            for stance, seat in zip(stances, seats, strict=True):
                text = await seat(QUESTION, said, round=number)
                said.record(number, agent_name=f"seat-{len(said)}", stance=stance, text=text)
        verdict = await blocks.judge(complete, stances)(QUESTION, said)
        return verdict, await blocks.synthesizer(complete, DECISION)(QUESTION, said, verdict)

    verdict, deliverable = asyncio.run(debate())
    assert (verdict["winner"], deliverable) == ("Do not ship", DELIVERABLE)
    assert [(row["round"], row["stance"]) for row in said] == [
        (1, "Ship"),
        (1, "Do not ship"),
        (2, "Ship"),
        (2, "Do not ship"),
    ]


def test_the_exported_pieces_make_a_debate_under_their_own_names():
    def complete(prompt):
        return json.dumps(verdict_for("stance_2")) if "You are the judge" in prompt else "It fails."

    stances = ["Ship", "Do not ship"]
    said = flow_steps.create_debate_transcript()
    said.record(1, agent_name="old", stance="Ship", text="Of the debate before.")
    flow_steps.create_debate_init_transcript({"transcript": said})()

    async def run():
        for name, stance in zip("ab", stances, strict=True):
            given = {"model": complete, "stance": stance, "stances": stances, "role": "A pilot."}
            text = await flow_steps.create_debater(given)(QUESTION, said, round=1)
            row = {"transcript": said, "name": name, "stance": stance}
            flow_steps.create_debate_record_argument(row)(1, text)
        verdict = await flow_steps.create_judge({"model": complete, "stances": stances})(
            QUESTION, said
        )
        give = {"model": lambda prompt: json.dumps(DELIVERABLE), "outputSchema": DECISION}
        return verdict, await flow_steps.create_debate_synthesize(give)(QUESTION, said, verdict)

    verdict, deliverable = asyncio.run(run())
    assert (verdict["winner"], deliverable) == ("Do not ship", DELIVERABLE)
    assert [(row["agent_name"], row["stance"]) for row in said] == [
        *zip("ab", stances, strict=True)
    ]


def test_the_formatter_takes_the_entries_of_a_raw_result(argue):
    entries = argue({"argument": lambda request: "An argument."}).result.source()["transcript"]
    shown = flow_steps.format_debate_transcript_for_judge
    once, again = (shown(entries, {"rng": random.Random(3)}) for _ in range(2))
    assert once == again
    assert "ann" not in once
    plain = shown(entries, {"anonymizeTranscript": False, "shuffleForJudge": False})
    assert [line for line in plain.splitlines() if line.startswith("[")][:2] == [
        "[stance_1, round 1, ann]",
        "[stance_2, round 1, bob]",
    ]


def test_clearing_and_recording_are_facts_of_the_record(argue):
    """What the source does in two taps of its own: the opening, and one event for each turn."""
    debate = argue()
    assert debate.events[0]["type"] == "debate.opened"
    recorded = [
        event["data"]["step"] for event in debate.events if event["type"] == "turn.recorded"
    ]
    assert recorded == debate.steps[:4]


@pytest.mark.parametrize("part", ["input", "state", "entry", "verdict", "transcript"])
def test_the_five_schemas_are_published_and_fit_a_debate(argue, part):
    source = argue().result.source()
    shown = {
        "input": {"question": source["question"]},
        "state": {"question": source["question"], "round": source["rounds"]},
        "entry": source["transcript"][0],
        "verdict": source["verdict"],
        "transcript": {"entries": source["transcript"]},
    }
    validator = Draft202012Validator(SCHEMAS[f"judged.{part}"]())
    validator.validate(shown[part])
    assert not validator.is_valid({**shown[part], "more": 1})
    assert not validator.is_valid({})


def test_the_format_says_when_to_use_it_and_when_not():
    use, _, rest = " ".join(judged.__doc__.split()).partition("When not: ")
    avoid, _, cost = rest.partition("Cost: ")
    for case in ("real tradeoff", "gains from being pressed", "a verdict with its reasons"):
        assert case in use.partition("When to use it: ")[2]
    for case in ("looked up", "nobody would contest", "one model call is the budget"):
        assert case in avoid
    assert cost.startswith("debaters x rounds calls, and one")
