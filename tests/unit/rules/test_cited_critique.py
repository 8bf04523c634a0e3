"""Where a critique must cite: what is sent back, and what may be where a text is gone (D 23)."""

import pytest

from hansard.rules.replay import NotDue, Replay
from support import (
    DEFAULTS,
    MEMO,
    Debate,
    Fail,
    Reply,
    Setup,
    argued,
    moderation,
    prompts,
    say,
    script,
    walk,
)

FAIL = Fail("client_error")
GONE = {}.get
POSITIONS = DEFAULTS["judged"]["debaters"]
EVIDENCE = (("memo", MEMO, 1), ("late", "It was the cable.", 2))
RANKED = say(ranking=["wait", "ship", "drop"])
MORE = moderation(recommend_another_round=True)
VERIFIED, INVENTED = argued(("memo", "failed twice")), argued(("memo", "failed thrice"))


def moderated(ends=None, **fields):
    return Debate(Setup("moderated", **({"evidence": EVIDENCE[:1]} | fields)), script(ends)).run()


def turn(debate, step):
    return next(row.data for row in debate.state.turns if row.data["step"] == step)


def codes(debate):
    return [row["code"] for row in debate.record.all("turn.rejected")]


WEAK = say(challenge_strength=4)
CITED = {"require_cited_critique": True}
HOLDS, FAILS = say(counter_arguments=[VERIFIED]), say(counter_arguments=[INVENTED])
SOME = say(counter_arguments=[argued(), INVENTED, VERIFIED])


def test_a_critique_that_cites_nothing_is_sent_back_once_and_told_why():
    debate = moderated({"critique:2": HOLDS}, **CITED)
    assert debate.record.all("turn.rejected") == [
        {
            "step": "r1.critique.critic",
            "call": "r1.critique.critic:1",
            "code": "uncited_critique",
            "member": None,
            "keyword": None,
            "rating": 10,
            "again": True,
        }
    ]
    first, again = (prompts(debate)[f"r1.critique.critic:{n}"]["user"] for n in (1, 2))
    end = again.removeprefix(first)
    assert end.startswith("[your critique that was sent back]\n| {")
    assert end.endswith("\n<critic_again code=uncited_critique rating=10>\n")
    assert turn(debate, "r1.critique.critic")["call"] == "r1.critique.critic:2"


@pytest.mark.parametrize(("end", "uncited"), [(FAILS, 1), (HOLDS, 0), (SOME, 0)])
def test_one_citation_that_holds_is_enough(end, uncited):
    debate = moderated({"critique": end}, **CITED)
    assert codes(debate) == ["uncited_critique"] * uncited
    assert codes(moderated({"critique": end})) == []


def test_a_second_critique_without_a_citation_counts():
    debate = moderated({"critique:2": FAILS}, **CITED)
    assert codes(debate) == ["uncited_critique"]
    found = turn(debate, "r1.critique.critic")
    assert (found["call"], found["case"]["struck"]) == ("r1.critique.critic:2", [1])


@pytest.mark.parametrize("attempts", [1, 2])
@pytest.mark.parametrize("end", [FAIL, Fail("timeout"), Reply("?"), Reply("{}", finish="refusal")])
def test_an_uncited_critique_counts_where_no_better_one_ever_comes(end, attempts):
    debate = moderated({"critique:2": end, "critique:3": end}, attempts=attempts, **CITED)
    assert turn(debate, "r1.critique.critic")["call"] == "r1.critique.critic:1"
    assert codes(debate)[0] == "uncited_critique"
    assert walk(debate.record.events, debate.record.texts.get) == []


@pytest.mark.parametrize("ratings", [(4, 8), (4, 4), (8, 4)])
def test_a_critique_is_sent_back_once_whatever_else_is_missing_then(ratings):
    first, second = (say(challenge_strength=rating) for rating in ratings)
    debate = moderated({"critique:1": first, "critique": second}, **CITED)
    assert codes(debate) == ["weak_critique" if ratings[0] < 6 else "uncited_critique"]
    assert turn(debate, "r1.critique.critic")["case"]["rating"] == ratings[1]


def test_a_citation_is_wanted_from_the_round_on_in_which_a_document_is_visible():
    debate = moderated(
        {"r1.moderation.moderator": MORE}, max_rounds=2, evidence=EVIDENCE[1:], **CITED
    )
    assert [row["step"] for row in debate.record.all("turn.rejected")] == ["r2.critique.critic"]
    assert codes(moderated(evidence=(), **CITED)) == []


def test_only_a_critique_is_sent_back_for_want_of_a_citation():
    debate = moderated({"critique": HOLDS, "moderation": RANKED}, positions=POSITIONS, **CITED)
    assert codes(debate) == []


def wrong_rejection(debate, seq, **data):
    """The entries up to one, which is a rejection of the reply before it."""
    rows = debate.record.events[:seq]
    asked = rows[-2]["data"]["call"]
    named = {"step": asked.rpartition(":")[0], "call": asked, "member": None, "keyword": None}
    return [*rows[:-1], {**rows[-1], "type": "turn.rejected", "data": {**named, **data}}]


def back(rating, code="uncited_critique"):
    return {"code": code, "rating": rating, "again": True}


def place_of(debate, kind, **fields):
    return next(
        row["seq"]
        for row in debate.record.events
        if row["type"] == kind and fields.items() <= row["data"].items()
    )


def without(debate, **document):
    """The texts of a debate but for one document."""
    rows = debate.record.all("evidence.admitted")
    gone = next(row["text"]["sha256"] for row in rows if document.items() <= row.items())
    return lambda name: None if name == gone else debate.record.texts.get(name)


def test_a_critique_that_cites_is_not_sent_back_and_one_that_does_not_is():
    debate = moderated({"critique:1": HOLDS}, **CITED)
    seq = place_of(debate, "turn.recorded", step="r1.critique.critic")
    with pytest.raises(NotDue):
        walk(wrong_rejection(debate, seq, **back(8)), debate.record.texts.get)
    debate = moderated(**CITED)
    seq = place_of(debate, "turn.rejected")
    with pytest.raises(NotDue) as caught:
        walk(
            [*debate.record.events[: seq - 1], *moderated().record.events[seq - 1 : seq]],
            debate.record.texts.get,
        )
    assert caught.value.due == "turn.rejected"


@pytest.mark.parametrize(
    "fields", [{}, CITED, {**CITED, "evidence": EVIDENCE[1:], "max_rounds": 2}]
)
def test_an_uncited_critique_that_is_gone_was_sent_back_only_as_one_can_be(fields):
    debate = moderated({"critique": HOLDS, "proposition:1": Reply("?")}, **fields)
    for step in ("critique", "proposition"):
        seq = place_of(debate, "call.answered", call=f"r1.{step}.{ROLE[step]}:1") + 1
        for rating in (None, 1, 5, 6, 10):
            events = wrong_rejection(debate, seq, **back(rating))
            if step == "critique" and fields == CITED and rating and rating >= 6:
                assert walk(events, GONE) == []
                continue
            with pytest.raises(NotDue) as caught:
                walk(events, GONE)
            assert caught.value.due == "turn.rejected with what can be said of its reply"


ROLE = {"critique": "critic", "proposition": "proposer"}


@pytest.mark.parametrize("end", [HOLDS, say()])
def test_a_critique_counts_as_gone_where_a_document_that_it_must_cite_is_gone(end):
    """Whether it cites is taken as recorded, and so is what its turn says."""
    debate = moderated(
        {"critique": end, "critique:2": FAIL}, evidence=EVIDENCE, max_rounds=2, **CITED
    )
    events, texts = debate.record.events, without(debate, document="memo")
    replay = Replay(texts)
    assert [row for event in events for row in replay.step(event)] == []
    assert replay.gone == ["r1.critique.critic:1"]
    assert replay.unread == ["r1.critique.critic"]
    assert replay.uncited == ["r1.proposition.proposer", "r1.rebuttal.rebuttal"]
    assert walk(events, without(debate, document="late")) == []
    other = moderated({"critique": HOLDS}, evidence=EVIDENCE, max_rounds=2, **CITED)
    seq = place_of(other, "turn.recorded", step="r1.critique.critic")
    assert walk(wrong_rejection(other, seq, **back(9)), without(other, document="memo")) == []


def test_a_weak_critique_is_weak_whatever_document_is_gone():
    debate = moderated({"critique:1": WEAK, "critique": HOLDS}, **CITED)
    replay = Replay(without(debate))
    assert [row for event in debate.record.events for row in replay.step(event)] == []
    assert (replay.gone, replay.unread) == ([], [])
