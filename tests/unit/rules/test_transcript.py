"""What each speaker may see, and in which order it stands (RULES.md §1, §10, D 5)."""

import re
from hashlib import sha256

import pytest
import rfc8785

from hansard.rules import transcript
from hansard.rules.prompts import template
from hansard.rules.state import DebateState, evolve
from hansard.rules.steps import place_of
from hansard.rules.transcript import Prompter, hash_of, instructions_of
from support import Debate, Fail, Reply, Setup, eventful, prompts, script, titles, vote

EVENTFUL = eventful()
PROMPTS = prompts(EVENTFUL)
FIRST = ["question", "evidence runbook"]


def test_the_protocol_is_the_system_message_and_everything_else_the_users():
    assert {tuple(messages) for messages in PROMPTS.values()} == {("system", "user")}
    assert {messages["system"] for messages in PROMPTS.values()} == {
        "<protocol options=release, revise, escalate>\n"
    }


def test_first_proposals_see_only_question_and_evidence():
    assert PROMPTS["r1.proposal.operator:1"]["user"] == (
        "[question]\n"
        "| Shall we release?\n"
        "[evidence runbook]\n"
        "| Rollback takes an hour.\n"
        "<debater max_rounds=2 options=release, revise, escalate phase=proposal round=1 "
        "speaker=operator>\n"
    )
    calls = [call for call in PROMPTS if call.startswith("r1.proposal.")]
    assert len(calls) == 8
    for call in calls:
        persona = ["persona of critic"] if ".critic:" in call else []
        assert titles(PROMPTS[call]["user"]) == [*FIRST, *persona]


def test_from_then_on_everybody_sees_every_earlier_turn_in_order():
    said = [f"{who}, round 1, proposal" for who in ("planner", "critic", "operator")]
    assert titles(PROMPTS["r1.critique.planner:1"]["user"]) == [*FIRST, *said]
    said += ["operator, round 1, critique"]  # the two forfeited turns say nothing
    said += [f"{who}, round 1, revision" for who in ("planner", "critic")]
    assert titles(PROMPTS["r1.revision.operator:1"]["user"]) == [*FIRST, *said]


def test_what_was_said_is_quoted_word_for_word():
    reply = vote("revise").text
    assert (
        f"[critic, round 1, proposal]\n| {reply}\n[operator,"
        in (PROMPTS["r1.critique.planner:1"]["user"])
    )


def test_evidence_of_a_later_round_comes_after_what_was_said_before_it():
    before = titles(PROMPTS["r1.consensus.operator:1"]["user"])
    after = titles(PROMPTS["r2.proposal.planner:1"]["user"])
    assert "evidence memo" not in before
    assert after == [*before, "operator, round 1, consensus", "evidence memo"]


def test_persona_and_instruction_stand_last():
    assert PROMPTS["r2.consensus.critic:1"]["user"].endswith(
        "[persona of critic]\n"
        "| You run the pager.\n"
        "<debater max_rounds=2 options=release, revise, escalate phase=consensus round=2 "
        "speaker=critic>\n"
    )
    persona = [call for call, prompt in PROMPTS.items() if "You run the pager" in prompt["user"]]
    assert persona == [call for call in PROMPTS if ".critic:" in call]


def test_nothing_that_changes_between_turns_stands_before_the_transcript():
    shared = ""
    for prompt in PROMPTS.values():
        own = r"(\[persona of .*\n\| .*\n)?<debater .+\n(<again .+\n)?\Z"
        text = re.sub(own, "", prompt["user"])
        assert text.startswith(shared)
        shared = text
    assert titles(shared)[-1] == "critic, round 2, consensus"


def parts_of(record, data):
    """The recipe of a call as FORMAT.md spells it, built from the record alone."""
    opened = record.all("debate.opened")[0]
    roles = {row["role"]: row["sha256"] for row in opened["templates"]}
    options = ", ".join(opened["terms"]["options"])

    def block(label, text):
        yield {"template": roles["block"], "values": {"label": label}}
        yield {"blob": text["sha256"], "view": "quoted", "struck": []}

    yield {"role": "system"}
    yield {"template": roles["protocol"], "values": {"options": options}}
    yield {"role": "user"}
    yield from block("question", opened["question"])
    replies = {row["call"]: row["reply"] for row in record.all("call.answered")}
    documents = record.all("evidence.admitted")
    round_, phase, speaker = data["step"][1:].split(".", 2)
    turns = [event["data"] for event in record.events if event["type"] == "turn.recorded"]
    end = next(n for n, event in enumerate(record.events) if event["data"] == data)
    heard = sum(event["type"] == "turn.recorded" for event in record.events[:end])
    for number in range(1, int(round_) + 1):
        for row in documents:
            if row["from_round"] == number:
                yield from block(f"evidence {row['document']}", row["text"])
        for turn in turns[:heard]:
            if turn["round"] == number:
                label = f"{turn['speaker']}, round {number}, {turn['phase']}"
                yield from block(label, replies[turn["call"]])
    for seat in record.all("debater.registered"):
        if seat["id"] == speaker and seat["persona"]:
            yield from block(f"persona of {speaker}", seat["persona"])
    values = {"max_rounds": str(opened["terms"]["max_rounds"]), "options": options}
    values |= {"phase": phase, "round": round_, "speaker": speaker}
    yield {"template": roles["debater"], "values": values}
    rejected = [row["data"] for row in record.events[:end] if row["type"] == "turn.rejected"]
    for row in [row for row in rejected if row["step"] == data["step"]][-1:]:
        nothing = {"keyword": "none", "member": "the reply"}
        why = {key: row[key] or nothing[key] for key in ("code", "keyword", "member")}
        yield {"template": roles["again"], "values": why}


@pytest.mark.parametrize(
    "debate",
    [
        EVENTFUL,
        Debate(
            Setup(
                debaters=("a.b", "c:d"),
                max_rounds=3,
                rule="unanimity",
                evidence=(("late", "x", 3), ("early", "y", 1), ("mid", "z", 2)),
                personas={"a.b": "p", "c:d": "q"},
            ),
            lambda call: (
                Fail("client_error")
                if (call.step.phase, call.step.speaker) == ("critique", "a.b")
                else vote("release" if call.step.speaker == "a.b" else "revise")
            ),
        ).run(),
    ],
    ids=["eventful", "evidence"],
)
def test_the_recorded_digest_is_that_of_the_recipe(debate):
    assert debate.state.rounds_run == debate.setup.spec.max_rounds
    for data in debate.record.all("call.started"):
        folded = bytes(32)
        for part in parts_of(debate.record, data):
            folded = sha256(folded + sha256(rfc8785.dumps(part)).digest()).digest()
        assert data["prompt"] == folded.hex(), data["call"]


def test_the_hash_of_a_template_is_found_by_its_role():
    rows = [{"role": "block", "sha256": "a"}, {"role": "debater", "sha256": "b"}]
    assert hash_of(rows, "debater") == "b"
    with pytest.raises(KeyError, match="judge"):
        hash_of(rows, "judge")


def digest(parts, begin=bytes(32)):
    """As FORMAT.md §4 folds them; a digest that stands in place of a part is bytes."""
    for part in parts:
        each = part if isinstance(part, bytes) else sha256(rfc8785.dumps(part)).digest()
        begin = sha256(begin + each).digest()
    return begin


@pytest.mark.parametrize("format_", ["consensus", "judged"])
def test_role_first_a_transcript_is_one_part_with_a_digest_of_its_own(format_):
    """Of a step that is shown the turns in another order as well, and of one that is retried."""
    ends = {"r1.proposal.planner:1": Reply("no JSON"), "r1.verdict.judge:1": Reply("no JSON")}
    debate = Debate(Setup(format_, layout="role-first", max_rounds=1), script(ends))
    state = DebateState()
    prompter, places = Prompter(state), []
    for event in debate.run().record.events:
        if event["type"] == "call.started":
            prompt = prompter.prompt(place_of(event["data"]["step"]))
            parts = [part.content for part in prompt.parts]
            user, end = parts.index({"role": "user"}), prompt.length
            expected = digest([*parts[:user], digest(parts[user:end]), *parts[end:]])
            assert event["data"]["prompt"] == prompt.digest == expected.hex()
            places.append((user > 2, end < len(parts)))
        evolve(state, event)
    assert {begins for begins, _ in places} == {True}
    assert {retried for _, retried in places} == {False, True}


@pytest.mark.parametrize(
    ("round_", "told"), [(0, None), (1, "one"), (2, "one"), (3, None), (9, None)]
)
def test_a_row_of_instructions_holds_from_its_round_until_the_next(round_, told):
    opened = {"instructions": "of the opening"}
    rows = [{"round": 1, "text": "one"}, {"round": 3, "text": None}]
    assert instructions_of(opened, {"instructions": rows}, round_) == told
    assert instructions_of(opened, {"instructions": None}, round_) == "of the opening"


def test_an_instruction_with_a_value_in_pieces_is_not_kept_for_the_next_record():
    whole, inside = {"citations": "one"}, {"citations": ["o", "ne"]}
    assert transcript._filled("0" * 64, whole) is transcript._filled("0" * 64, whole)
    assert transcript._filled("0" * 64, inside) is not transcript._filled("0" * 64, inside)
    assert transcript._filled("0" * 64, inside).digest == template("0" * 64, **whole).digest
