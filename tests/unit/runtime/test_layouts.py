"""What stands where in a prompt: the two layouts, what repeats, and what a retry is told."""

from __future__ import annotations

import json

import pytest

from formats import EVIDENCE, FORMATS
from hansard.rules.prompts import Message
from hansard.runtime.models.base import ModelError
from playing import POSITIONS, answer, most_turns, weak

CASES = {
    **{name: (name, {}) for name in FORMATS},
    "ranked": ("moderated", {"positions": POSITIONS, "neutrality_check": True}),
    "checked": ("moderated", {"neutrality_check": True, "max_rounds": 2}),
    "shuffled": ("judged", {"max_rounds": 2}),
    "written up": ("panel", {"synthesizer": True, "resolution": "majority"}),
    "late evidence": (
        "consensus",
        {"evidence": [EVIDENCE, {"id": "late", "text": "More.", "from_round": 2}]},
    ),
}
TOLD = {"context": "The context.", "instructions": "Be terse."}


def asked(table, case, **more):
    """Every request of a debate, by call, with its messages."""
    seen = {}

    def model(request):
        seen[request.call] = (request, request.messages)
        return answer(request)

    format_, changes = CASES[case]
    table.play(format_, model, **{**changes, **more})
    assert table.verified().findings == []
    return seen


def titles(message):
    return [line for line in message.text.split("\n") if line.startswith("[")]


@pytest.mark.parametrize("layout", ["shared-prefix", "role-first"])
@pytest.mark.parametrize("case", CASES)
def test_both_layouts_say_the_same_in_another_order(table, case, layout):
    calls = asked(table, case, layout=layout, **TOLD)
    assert table.data("debate.opened")[0]["layout"] == layout
    for request, (system, user) in calls.values():
        own, other = (system, user) if layout == "role-first" else (user, system)
        assert (system.role, user.role) == ("system", "user")
        assert "Be terse." in own.text
        assert "Be terse." not in other.text
        assert ("[context]" in titles(own)) == (request.role != "moderator")
        assert "[question]" in titles(user)
        assert "".join(user.blocks) == user.text
        assert request.prompt == f"{system.text}\n{user.text}"


@pytest.mark.parametrize("case", CASES)
def test_lines_are_the_same_in_both_layouts(table, case):
    lines = {}
    for layout in ("shared-prefix", "role-first"):
        lines[layout] = {
            call: sorted((system.text + user.text).split("\n"))
            for call, (_, (system, user)) in asked(table, case, layout=layout).items()
        }
    assert lines["shared-prefix"] == lines["role-first"]


@pytest.mark.parametrize("case", CASES)
def test_what_is_said_to_repeat_does_repeat(table, case):
    """After a cache point, some other prompt of the debate goes on as this one began."""
    messages = {call: user for call, (_, (_, user)) in asked(table, case).items()}
    if len(messages) > 3:  # not agreed at once
        assert any(max(user.repeats) > 1 for user in messages.values())
    for call, user in messages.items():
        assert len(user.repeats) <= 2
        for end in user.repeats[:1] if most_turns(table) > 1 else ():
            begin = user.blocks[:end]
            others = [row.blocks[:end] for name, row in messages.items() if name != call]
            assert begin in others
        assert all(0 < end < len(user.blocks) for end in user.repeats)


def test_a_role_that_comes_first_has_nothing_that_repeats(table):
    for _, (_, user) in asked(table, "consensus", layout="role-first").values():
        assert user.repeats == ()


def test_a_message_without_titles_is_one_block():
    assert Message("user", ["a", "b"]).blocks == ["ab"]
    assert Message("user", ["t", "x", "u", "y", "own"], 4, (1,)).blocks == ["tx", "uy", "own"]
    assert Message("user", ["t", "x"], 2).blocks == ["tx"]


# What a retry is told

FIRST = {
    "not JSON": ("Let me think.", ("unreadable", "the reply", "none")),
    "a member missing": ({"stance": "s", "vote": "hold"}, ("schema", "rationale", "required")),
    "a number": ({"stance": 7, "rationale": "r", "vote": "hold"}, ("schema", "stance", "type")),
    "nothing seen": (
        {"stance": " ", "rationale": "r", "vote": "hold"},
        ("schema", "stance", "minLength"),
    ),
    "not declared": (
        {"stance": "s", "rationale": "r", "vote": "x"},
        ("unknown_option", "vote", "enum"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("layout", ["shared-prefix", "role-first"])
@pytest.mark.parametrize("first", FIRST)
def test_a_retry_is_told_why_the_reply_did_not_count(table, first, layout):
    text, (code, member, keyword) = FIRST[first]
    prompts = {}

    def model(request):
        prompts[request.call] = request.messages[-1].text
        if request.call == "r1.proposal.critic:1":
            return text if isinstance(text, str) else json.dumps(text)
        if request.call == "r1.proposal.critic:2":
            raise ModelError("server_error", retry_after=0)
        return answer(request)

    table.play("consensus", model, attempts=3, layout=layout)
    sentence = f"did not count: {code} (member: {member}; rule: {keyword})"
    assert sentence not in prompts["r1.proposal.critic:1"]
    for attempt in (2, 3):  # also after another failure
        end = prompts[f"r1.proposal.critic:{attempt}"]
        assert end.count(sentence) == 1
        assert end.rindex("did not count") > end.rindex("[question]")
    others = [text for call, text in prompts.items() if ".critic:" not in call]
    assert not any("did not count" in text for text in others)
    assert table.verified().findings == []


def test_a_weak_critique_that_is_sent_back_is_told_its_rating_and_what_else_was_wrong(table):
    prompts = {}

    def model(request):
        prompts[request.call] = request.messages[-1].text
        if request.phase == "critique":
            attempt = int(request.call[-1])
            return "Hm." if attempt == 2 else {**answer(request), **weak(3 + attempt)}
        return answer(request)

    table.play("moderated", model, attempts=2)
    second, third = (prompts[f"r1.critique.critic:{n}"] for n in (2, 3))
    assert "you rated it 4 of 10" in second
    assert "did not count" not in second
    assert third.startswith(second.rstrip("\n"))
    assert "did not count: unreadable" in third
    assert table.verified().findings == []


def test_a_deliverable_that_does_not_fit_is_told_so(table):
    prompts = []

    def model(request):
        if request.role == "synthesizer":
            prompts.append(request.messages[-1].text)
            return {"sum": "x" if len(prompts) == 1 else 7}
        return answer(request)

    schema = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
    state = table.play("judged", model, output_schema=schema)
    assert state.synthesis
    assert "did not count: output_schema" in prompts[1]
    assert table.verified().findings == []
