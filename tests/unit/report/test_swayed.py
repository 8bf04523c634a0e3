"""Votes that changed, votes that were given up, and what hangs on them (RULES.md D 64)."""

import pytest

from formats import EVIDENCE
from hansard.report.view import build
from hansard.runtime.models.base import ModelError
from reporting import note_of, noted, of, ran
from support import Debate, Setup, answered, argued, script, vote

SEATS = ("planner", "critic", "operator")
OPTIONS = {"a": "release", "b": "revise", "c": "escalate"}
CODES = ("drift", "capitulation")
LATE = {"id": "late", "text": "It failed twice.", "from_round": 2}


def voted(**phases):
    """Ends: by phase the votes of planner, critic and operator, a letter each; `-` forfeits."""
    return {
        f"{step.replace('_', '.')}.{seat}": ModelError("client_error")
        if letter == "-"
        else {"vote": OPTIONS[letter]}
        for step, letters in phases.items()
        for seat, letter in zip(SEATS, letters, strict=True)
    }


def swayed(*, rule="unanimity", evidence=(), **phases):
    """The result of a debate with these votes; who is not named goes on as `c`, `a` and `b`."""
    last = {seat: {"vote": OPTIONS[letter]} for seat, letter in zip(SEATS, "cab", strict=True)}
    changes = {"threshold": None} if rule != 2 else {"threshold": 2}
    changes |= {"rule": rule} if rule != 2 else {}
    return ran("consensus", {**last, **voted(**phases)}, evidence=list(evidence), **changes)


def moved(result, code):
    """The turns that have a note with this code."""
    return [words.partition(" changed")[0] for seq, words in noted(result, code) if seq]


def of_turns(result):
    """The code and turn of each note on a change in round 1."""
    rows = [(code, turn) for code in CODES for turn in moved(result, code)]
    return [row for row in rows if "(round 1," in row[1]]


# Drift


def test_each_change_of_a_vote_is_noted_where_it_was_made():
    result = swayed(r1_proposal="abb", r1_critique="bbc", r1_revision="bbc", r1_consensus="bbc")
    first, second = (note for note in result.notes if note.code == "drift" and note.seq < 40)
    turns = {row.seq: (row.speaker_id, row.phase) for row in result.transcript}
    assert turns[first.seq] == ("planner", "critique")
    assert (first.severity, first.message) == (
        "info",
        (
            "planner (round 1, critique) changed its vote from release to revise, "
            "as critic, operator had voted"
        ),
    )
    assert turns[second.seq] == ("operator", "critique")
    assert second.message == (
        "operator (round 1, critique) changed its vote from revise to escalate, which nobody else "
        "held"
    )


def test_of_many_who_held_a_vote_three_are_named():
    """Each of 99 seats may change its vote in each of 33,000 turns."""
    seats = [f"d{n}" for n in range(6)]
    ends = {f"r1.proposal.{seat}": vote("revise") for seat in seats[1:]}
    ends |= {"r1.critique.d0": vote("revise")}
    setup = Setup(debaters=seats, rule="unanimity", max_rounds=1)
    record = Debate(setup, script(ends, vote("release"))).run().record
    result = build(record.events, record.texts.get)
    first = next(note for note in result.notes if note.code == "drift")
    assert first.message.endswith(", as d1, d2, d3 and 2 more had voted")
    assert "held by `d1`, `d2`, `d3` and 2 more." in result.to_markdown()


def test_votes_that_stay_are_no_drift():
    result = swayed(r1_proposal="abb", r1_critique="abb", r1_revision="abb", r1_consensus="abb")
    assert of_turns(result) == []


def test_an_abstention_is_no_drift_but_the_vote_after_it_may_be():
    same = swayed(r1_proposal="abb", r1_critique="a-b", r1_revision="abb", r1_consensus="abb")
    assert of_turns(same) == []
    other = swayed(r1_proposal="abb", r1_critique="a-b", r1_revision="acb", r1_consensus="acb")
    assert of_turns(other) == [("drift", "critic (round 1, revision)")]


# Capitulation


def given_up(result):
    return [who for code, who in of_turns(result) if code == "capitulation"]


def test_a_vote_that_was_kept_against_others_and_then_given_up_for_theirs():
    result = swayed(r1_proposal="abb", r1_critique="abb", r1_revision="abb", r1_consensus="bbc")
    found = note_of(result, "capitulation")
    turns = {row.seq: (row.speaker_id, row.phase) for row in result.transcript}
    assert turns[found.seq] == ("planner", "consensus")
    assert (found.severity, found.message) == (
        "info",
        (
            "planner (round 1, consensus) changed its vote from release to revise with nothing new "
            "to see: critic, operator had voted revise before it last voted, nobody has joined "
            "them since, and no document was added"
        ),
    )
    (row,) = (row for row in result.governance if row.code == "kept_votes")
    assert row.found.endswith(" changed, 1 of them given up without anything new to see")
    assert not row.review


@pytest.mark.parametrize(
    "phases",
    [
        # It first saw their votes when it changed its own: first votes are cast at once.
        ("abb", "bbc", "bbc", "bbc"),
        # It changed in the phase that is there for that.
        ("abb", "abb", "bbc", "bbc"),
        # Somebody had joined them since.
        ("aab", "aab", "acb", "cca"),
        # It changed to what nobody held.
        ("abb", "abb", "abb", "cbb"),
        # It returned to what it had voted for before.
        ("bbc", "abc", "abc", "bbc"),
        # Those who hold it abstained when it last voted.
        ("abc", "a-c", "abc", "bbc"),
    ],
)
def test_a_change_with_something_new_to_see_is_no_capitulation(phases):
    names = ("r1_proposal", "r1_critique", "r1_revision", "r1_consensus")
    result = swayed(**dict(zip(names, phases, strict=True)))
    assert given_up(result) == []
    assert of_turns(result) != []


@pytest.mark.parametrize(("round_", "count"), [(1, 1), (2, 0)])
def test_a_document_that_came_into_view_is_something_new(round_, count):
    late = {**LATE, "from_round": round_}
    same = dict.fromkeys(("r1_proposal", "r1_critique", "r1_revision", "r1_consensus"), "abb")
    result = swayed(evidence=[late], **same, r2_proposal="bbb")
    assert len([note for note in result.notes if note.code == "capitulation" and note.seq]) == count


def test_in_a_panel_all_choose_at_once():
    def ends(*rounds):
        return {
            f"r{n}.draft.{seat}": {"answer": "so", "choice": choice}
            for n, row in enumerate(rounds)
            for seat, choice in zip(("ann", "bob", "cat"), row, strict=True)
        }

    fields = {"options": ["x", "y", "z"], "rounds": 2}
    kept = ran("panel", ends("xyy", "xyy", "yyz"), **fields)
    assert moved(kept, "capitulation") == ["ann (round 2, draft)"]
    assert moved(kept, "drift") == ["cat (round 2, draft)"]
    # In round 1, bob changed to y beside ann: ann saw that only in round 2.
    joined = ran("panel", ends("xzy", "xyy", "yyz"), **fields)
    assert moved(joined, "capitulation") == []
    assert len(moved(joined, "drift")) == 3


# What hangs on it


def test_a_decision_that_hangs_on_a_vote_that_was_given_up():
    result = swayed(r1_proposal="abb", r1_critique="abb", r1_revision="abb", r1_consensus="bbb")
    assert result.decision == "revise"
    whole, of_turn = (note for note in result.notes if note.code == "capitulation")
    assert of_turn.seq
    assert (whole.severity, whole.seq) == ("warning", None)
    assert whole.message == (
        "The decision hangs on debaters who gave up their votes without anything new to see "
        "(planner): without them, revise has 2 votes, and 3 are needed"
    )
    (row,) = (row for row in result.governance if row.code == "kept_votes")
    assert (row.found, row.review) == (
        "1 vote changed, 1 of them given up without anything new to see",
        True,
    )


def test_a_decision_that_has_its_votes_without_them_does_not_hang_on_it():
    fields = {"debaters": [{"id": seat} for seat in (*SEATS, "clerk")], "threshold": 3}
    ends = voted(r1_proposal="abb", r1_critique="abb", r1_revision="abb", r1_consensus="bbb")
    ends |= {"clerk": {"vote": "escalate"}, "r1.consensus.clerk": {"vote": "revise"}}
    hangs = ran("consensus", ends, **fields)
    seats = "(planner): without them, revise has 3 votes, and 3"
    assert hangs.votes_held == 4
    assert all(seats not in words for _, words in noted(hangs, "capitulation"))
    assert [seq for seq, _ in noted(hangs, "capitulation") if seq is None] == []
    four = ran("consensus", ends, **{**fields, "threshold": 4})
    assert "without them, revise has 3 votes, and 4 are needed" in noted(four, "capitulation")[0][1]


def test_a_vote_for_a_person_to_decide_is_no_decision_to_hang():
    result = swayed(r1_proposal="acc", r1_critique="acc", r1_revision="acc", r1_consensus="ccc")
    assert result.decision == "escalate"
    assert [seq for seq, _ in noted(result, "capitulation") if seq is None] == []


# Agreement with the first answer


def test_a_decision_that_all_came_to_and_the_first_had_voted_for():
    result = swayed(r1_proposal="abb", r1_critique="aaa")
    found = note_of(result, "first_answer")
    assert (found.severity, found.seq) == ("info", None)
    assert found.message == (
        "The decision, release, is what planner voted for as the first to speak; everybody holds "
        "it now, although critic, operator first voted otherwise"
    )


@pytest.mark.parametrize(
    ("rule", "first", "then"),
    [
        ("unanimity", "aaa", "aaa"),  # all had voted for it at first
        ("unanimity", "abb", "bbb"),  # the first came to the others
        (2, "abc", "aab"),  # one dissents
        ("unanimity", "caa", "ccc"),  # a person must decide
    ],
)
def test_what_is_no_agreement_with_the_first_answer(rule, first, then):
    assert noted(swayed(rule=rule, r1_proposal=first, r1_critique=then), "first_answer") == []


def test_nobody_is_said_to_agree_before_the_debate_is_closed():
    ends = {f"r1.proposal.{seat}": vote("revise") for seat in SEATS[1:]}
    record = Debate(Setup(rule="unanimity"), script(ends, vote("release"))).run().record
    assert noted(build(record.events, record.texts.get), "first_answer") != []
    assert noted(build(record.events[:-1], record.texts.get), "first_answer") == []


# A rebuttal that gives up


def rebutted(critique, rebuttal):
    ends = {"critique": {"counter_arguments": critique}, "rebuttal": rebuttal}
    return noted(ran("moderated", ends, evidence=[EVIDENCE]), "capitulation")


def conceding(*objections):
    rows = [{"objection": number, "reason": "so"} for number in objections]
    return {"rebuttals": [], "concessions": rows}


STRUCK = argued(("memo", "sixty days"))


def test_a_rebuttal_that_concedes_every_objection():
    ((seq, words),) = rebutted([argued(), argued()], conceding(1, 2))
    assert seq
    assert words == (
        "rebuttal (round 1, rebuttal) conceded every objection that stands, and answered none"
    )
    assert len(rebutted([STRUCK, argued()], conceding(2))) == 1


@pytest.mark.parametrize(
    ("critique", "rebuttal"),
    [
        ([argued(), argued()], conceding(1)),  # one is left unanswered
        ([argued(), argued()], {**conceding(1), "rebuttals": [answered(2)]}),
        ([STRUCK], conceding()),  # none stands
    ],
)
def test_a_rebuttal_that_does_not_give_up(critique, rebuttal):
    assert rebutted(critique, rebuttal) == []


def test_what_is_given_up_is_read_without_a_text():
    ends = {f"r1.proposal.{seat}": vote("revise") for seat in SEATS[1:]}
    debate = Debate(Setup(rule="unanimity"), script(ends, vote("release"))).run()
    with_texts, without = of(debate), of(debate, lambda _: None)
    for code in ("drift", "first_answer"):
        assert noted(with_texts, code) == noted(without, code) != []
