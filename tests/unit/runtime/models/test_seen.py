"""What a function in a seat may see by name is what its prompt shows, no more and no less."""

import pytest

import hansard
from support import example

EVIDENCE = [
    {"id": "memo", "text": "Payment is due within thirty days."},
    {"id": "later", "text": "The load test failed twice.", "from_round": 2},
]
SPECS = {
    "consensus": {
        "debaters": [{"id": "ann"}, {"id": "bob", "persona": "You guard the budget."}],
        "options": ["ship", "wait"],
        "threshold": 2,
        "max_rounds": 2,
    },
    "judged": {
        "debaters": [
            {"id": "ann", "label": "ship", "stance": "Ship it now."},
            {"id": "bob", "label": "wait", "stance": "Wait for the load test."},
        ],
    },
    "panel": {"debaters": [{"id": "ann"}, {"id": "bob"}], "judge": {"id": "chair"}},
    "moderated": {"max_rounds": 2, "neutrality_check": True},
}


def leaves(value):
    """Every text of a reply that says where it was said."""
    if isinstance(value, str):
        yield from [value] if " in round " in value else []
    elif isinstance(value, dict | list):
        for row in value.values() if isinstance(value, dict) else value:
            yield from leaves(row)


def requests(name, **changes):
    """Every request of a debate of this format, with the debate's result."""
    asked = []

    def seat(request):
        asked.append((request, request.transcript, request.evidence, request.prompt))
        where = f"{request.speaker} in round {request.round}, {request.phase}"
        return example({"required": ["synthesis"], **request.reply_schema}, where)

    spec = {"format": name, "question": "Do we ship?", "context": "It is Friday.", **SPECS[name]}
    spec |= {"model": "python:seat", "evidence": EVIDENCE, "synthesizer": True, **changes}
    result = hansard.run_sync(spec, models={"seat": seat})
    return asked, result


@pytest.mark.parametrize("name", SPECS)
def test_every_turn_that_the_prompt_shows_is_in_the_transcript_in_its_order(name):
    asked, result = requests(name)
    assert result.status == "complete"
    for _, transcript, _, prompt in asked:
        shown = [prompt.find(row.title) for row in transcript]
        assert -1 not in shown
        assert shown == sorted(shown)
        assert prompt.count(" in round ") >= len(transcript)
        for row in transcript:
            assert row.speaker is None or row.speaker in row.title
            assert row.stance is None or row.stance in row.title


@pytest.mark.parametrize("name", SPECS)
def test_nothing_is_in_the_transcript_that_the_prompt_does_not_show(name):
    for _, transcript, _, prompt in requests(name)[0]:
        for row in transcript:
            said = [*leaves(row.value)]
            assert said
            assert all(text in prompt for text in said)


@pytest.mark.parametrize("name", SPECS)
def test_evidence_is_there_from_its_round_on(name):
    for request, _, evidence, prompt in requests(name)[0]:
        known = {row.id: row.text for row in evidence}
        assert ("later" in known) == (request.round >= 2) == (EVIDENCE[1]["text"] in prompt)
        assert known["memo"] == EVIDENCE[0]["text"]


def test_what_a_seat_was_given_is_there_by_name():
    asked = {row.speaker: row for row, *_ in requests("consensus")[0]}
    bob = asked["bob"]
    assert bob.question == "Do we ship?"
    assert (bob.persona, asked["ann"].persona) == ("You guard the budget.", None)
    assert bob.context == "It is Friday."
    assert bob.options == ("ship", "wait")
    assert (bob.stance, bob.stances, bob.decision) == (None, (), None)
    assert asked["synthesizer"].decision == "ship"


def test_a_debater_is_told_its_stance_in_words_and_a_judge_all_of_them():
    asked = {row.speaker: row for row, *_ in requests("judged")[0]}
    assert (asked["ann"].stance.label, asked["ann"].stance.text) == ("ship", "Ship it now.")
    judge = asked["judge"]
    assert judge.stance is None
    assert [row.text for row in judge.stances] == ["Ship it now.", "Wait for the load test."]
    assert judge.options == ("ship", "wait")


@pytest.mark.parametrize("anonymous", [True, False])
def test_a_judge_is_told_names_only_where_its_prompt_names_them(anonymous):
    asked = requests("judged", anonymize_transcript=anonymous)[0]
    judged = next(transcript for row, transcript, *_ in asked if row.role == "judge")
    assert {row.speaker for row in judged} == ({None} if anonymous else {"ann", "bob"})
    assert {row.stance for row in judged} == {"ship", "wait"}


def test_a_moderator_is_told_no_context_and_a_custom_seat_neither_context_nor_persona():
    asked = {row.speaker: row for row, *_ in requests("moderated")[0]}
    assert asked["moderator"].context is None
    assert asked["critic"].context == "It is Friday."
    seats = [{"id": "ann", "persona": "You hurry."}, {"id": "bob"}]
    with pytest.warns(hansard.SpecWarning, match="ann"):
        asked = requests("consensus", debaters=seats, model="custom:seat")[0]
    assert all((row.persona, row.context) == (None, None) for row, *_ in asked)


def test_seats_that_speak_at_once_do_not_see_each_other():
    drafts = [row for row in requests("panel")[0] if row[0].round == 1 and row[0].role == "debater"]
    assert len(drafts) == 2
    for _, transcript, *_ in drafts:
        assert {row.round for row in transcript} == {0}


@pytest.mark.parametrize("name", SPECS)
def test_a_request_that_is_kept_shows_the_same_when_it_is_read_after_the_end(name):
    kept = []

    def seat(request):
        kept.append(request)
        where = f"{request.speaker} in round {request.round}, {request.phase}"
        return example({"required": ["synthesis"], **request.reply_schema}, where)

    spec = {"format": name, "question": "Do we ship?", "context": "It is Friday.", **SPECS[name]}
    spec |= {"evidence": EVIDENCE, "synthesizer": True, "model": "python:seat", "seed": 1}
    hansard.run_sync(spec, models={"seat": seat})
    at_once = requests(name, seed=1)[0]
    late = [(row, row.transcript, row.evidence, row.prompt) for row in kept]
    assert late
    for (_, *then), (_, *now) in zip(at_once, late, strict=True):
        assert now == then
