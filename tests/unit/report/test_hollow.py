"""What is called a hollow consensus, and what is not (RULES.md D 63)."""

import pytest

from formats import EVIDENCE
from hansard.cli.summary import say_ended
from hansard.report.view import build
from hansard.runtime.models.base import ModelError
from playing import POSITIONS
from reporting import note_of, noted, of, ran
from support import Debate, Setup, argued, script, vote

CODE = "hollow_consensus"
GONE = ModelError("client_error")
LATE = {"id": "late", "text": "It failed twice.", "from_round": 2}
FOUND = argued(("memo", "thirty days"))
NOT_FOUND = argued(("memo", "sixty days"))
MORE = {"recommend_another_round": True}
SPLIT = {f"r1.proposal.{who}": {"vote": option} for who, option in
         (("planner", "release"), ("critic", "revise"), ("operator", "escalate"))}  # fmt: skip
ALIKE = {"draft": "Pay it."}


# A vote that was over before anybody argued


@pytest.mark.parametrize(
    ("ends", "threshold", "votes"),
    [
        ({}, 2, "3 votes"),
        ({}, 3, "3 votes"),
        ({"operator": {"vote": "revise"}}, 2, "2 votes"),
        ({"operator": GONE}, 2, "2 votes"),
        ({"critic": GONE, "operator": GONE}, 1, "1 vote"),
    ],
)
def test_votes_that_decided_before_anybody_saw_an_argument(ends, threshold, votes):
    found = note_of(ran("consensus", ends, threshold=threshold), CODE)
    assert (found.severity, found.seq) == ("info", None)
    assert found.message == (
        f"The decision rests on {votes} cast before anybody saw another's argument"
    )


@pytest.mark.parametrize(
    "ends",
    [
        SPLIT,  # decided by the count of the next phase
        {"proposal": {"vote": "escalate"}},  # an agreement to ask a person
        {**SPLIT, "critic": {"vote": "revise"}, "operator": {"vote": "escalate"}},  # none at all
        {"proposal": GONE},  # nobody was heard
    ],
)
def test_votes_that_are_no_hollow_consensus(ends):
    assert noted(ran("consensus", ends), CODE) == []


def test_nothing_is_hollow_before_the_debate_is_closed():
    record = Debate(Setup(), script(usual=vote("release"))).run().record
    *others, closed = record.events
    assert closed["type"] == "debate.closed"
    assert noted(build(record.events, record.texts.get), CODE) != []
    assert noted(build(others, record.texts.get), CODE) == []


def test_a_debate_that_is_cut_short_is_not_hollow():
    debate = Debate(Setup(limits={"calls": 2}), script(usual=vote("release"))).run()
    assert of(debate).status == "truncated"
    assert noted(of(debate), CODE) == []


# A panel whose first drafts were its last


@pytest.mark.parametrize(
    ("ends", "changes", "drafts"),
    [
        (ALIKE, {}, "3 drafts"),
        ({**ALIKE, "r0.draft.cat": GONE}, {}, "2 drafts"),
        (ALIKE, {"judge": {}}, "3 drafts"),
    ],
)
def test_drafts_that_nobody_could_answer(ends, changes, drafts):
    result = ran("panel", ends, **changes)
    found = note_of(result, CODE)
    assert (result.rounds_run, found.severity, found.seq) == (0, "info", None)
    assert found.message == (
        f"The decision rests on {drafts} written before anybody saw another's draft"
    )


@pytest.mark.parametrize(
    ("ends", "changes"),
    [
        ({}, {}),  # a round was run
        ({"r1.draft": "Pay it."}, {}),  # they were alike after one
        ({**ALIKE, "verdict": GONE}, {"judge": {}}),  # no judge was heard, so no decision
    ],
)
def test_drafts_that_are_no_hollow_consensus(ends, changes):
    assert noted(ran("panel", ends, **changes), CODE) == []


def test_a_judge_of_a_single_round_heard_debaters_who_heard_each_other():
    assert noted(ran("judged", max_rounds=1), CODE) == []


# A moderation that rests on nothing that was found


@pytest.mark.parametrize(
    ("ends", "changes", "said"),
    [
        ({}, {}, "(0 given), although there was evidence (1 document)"),
        (
            {},
            {"evidence": [EVIDENCE, LATE], "max_rounds": 2},
            "(0 given), although there was evidence (1 d",
        ),
        (
            {"r1.moderation.moderator": MORE},
            {"evidence": [EVIDENCE, LATE], "max_rounds": 2},
            "(2 documents)",
        ),
        ({"r1.moderation.moderator": MORE}, {"evidence": [LATE], "max_rounds": 2}, "(1 document)"),
        ({"moderation": {"upholds_proposition": False}}, {}, "(1 document)"),
        ({}, {"positions": POSITIONS}, "(1 document)"),
        (
            {"proposition": {"supporting_arguments": [NOT_FOUND, argued()]}},
            {},
            "(1 given)",
        ),
    ],
)
def test_a_moderation_without_one_verified_citation(ends, changes, said):
    result = ran("moderated", ends, **changes)
    found = note_of(result, CODE)
    assert (result.status, found.severity, found.seq) == ("complete", "warning", None)
    assert found.message.startswith("The debate was decided without one verified citation")
    assert said in found.message


@pytest.mark.parametrize(
    ("ends", "changes"),
    [
        ({"proposition": {"supporting_arguments": [argued(), FOUND]}}, {}),
        ({"critique": {"counter_arguments": [FOUND]}}, {}),
        (  # one of an earlier round is enough
            {
                "r1.proposition.proposer": {"supporting_arguments": [FOUND]},
                "r1.moderation.moderator": MORE,
            },
            {"max_rounds": 2},
        ),
        ({}, {"evidence": []}),
        ({}, {"evidence": [LATE], "max_rounds": 2}),  # nobody saw it
        (  # upheld without support: escalated
            {
                "proposition": {"supporting_arguments": [NOT_FOUND]},
                "moderation": {"upholds_proposition": True},
            },
            {},
        ),
        ({"moderation": GONE}, {}),  # no decision
    ],
)
def test_a_moderation_that_is_no_hollow_consensus(ends, changes):
    assert noted(ran("moderated", ends, **changes), CODE) == []


# Where it is shown


def test_it_stands_among_the_checks_only_where_it_is_a_warning(capsys):
    rows = {row.code: row for row in ran("moderated").governance}
    assert CODE in {note.code for note in rows["citations"].notes}
    agreed = ran("consensus")
    assert all(note.code != CODE for row in agreed.governance for note in row.notes)
    say_ended(agreed, aside=False)
    assert "3 votes cast before anybody saw" in " ".join(capsys.readouterr().out.split())
