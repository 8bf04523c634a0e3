"""What a golden set says: who is right, and whether that is more than chance."""

import pytest

from hansard.report.evaluation import Held, Question, against, evaluation, held, total
from hansard.report.view import build
from support import Debate, Setup, script, vote, votes

SAID = {
    "name": "set-2026-Q4", "format": "judged", "task_type": "contract", "reused": 0, "capped": 0,
    "due": "2027-04-01",
}  # fmt: skip


def one(right, *, cost=100, tokens=10, elapsed=5, **fields):
    return Held(
        **{
            "debate": "d", "status": "complete", "decision": "sign" if right else "wait",
            "right": right, "calls": 3, "tokens": tokens, "cost_micro_usd": cost,
            "elapsed_ms": elapsed, "scripted": False, **fields,
        }
    )  # fmt: skip


def question(debate, single, several=None):
    rows = [row if isinstance(row, Held) else one(row) for row in (debate, single)]
    several = rows[1] if several is None else one(several)
    return Question(id="q", label="sign", debate=rows[0], single=rows[1], self_consistency=several)


def asked(won=0, lost=0, both=0, neither=0):
    return [
        *[question(True, False)] * won,
        *[question(False, True)] * lost,
        *[question(True, True)] * both,
        *[question(False, False)] * neither,
    ]


@pytest.mark.parametrize(
    ("counts", "result"),
    [
        ((4, 0, 16, 0), "better"),  # p = 0.0625
        ((3, 0, 17, 0), "too few to tell"),  # 0.125
        ((7, 2, 11, 0), "better"),  # 0.0898
        ((6, 2, 12, 0), "too few to tell"),
        ((0, 4, 16, 0), "worse"),
        ((2, 7, 11, 0), "worse"),
        ((0, 0, 20, 0), "too few to tell"),
        ((19, 0, 0, 0), "too few to tell"),  # 19 questions are not 20
        ((0, 19, 0, 0), "too few to tell"),
    ],
)
def test_better_and_worse_need_twenty_questions_and_a_sign_test(counts, result):
    row = against("single", asked(*counts))
    assert (row.result, row.n) == (result, sum(counts))
    assert (row.won, row.lost) == counts[:2]
    assert row.difference == pytest.approx((counts[0] - counts[1]) / row.n)
    assert row.low <= row.difference <= row.high
    assert (row.more_needed is not None) == (
        result == "too few to tell" and counts != (0, 0, 20, 0)
    )


def test_one_question_too_few_is_one_more_that_is_needed():
    assert against("single", asked(19)).more_needed == 1


def test_the_result_is_that_against_the_single_agent_whatever_the_other_rival_does():
    rows = [question(True, False, True)] * 10 + [question(True, True, True)] * 10
    found = evaluation(rows, **SAID)
    assert found.result == "better"
    assert [row.result for row in found.against] == ["better", "too few to tell"]
    assert [row.right for row in found.totals] == [20, 10, 20]
    assert found.totals[1].accuracy == 0.5
    assert found.totals[1].low < 0.5 < found.totals[1].high


def test_what_failed_or_was_cut_short_is_not_right_and_is_counted():
    failed = one(False, status="failed", decision=None)
    short = one(False, status="truncated", decision=None)
    left = one(False, decision="escalate")
    rows = [question(row, True) for row in (failed, short, left, one(True))]
    found = total("debate", rows)
    assert (found.right, found.failed, found.truncated, found.undecided) == (1, 1, 1, 1)
    assert found.accuracy == 0.25


def test_costs_are_by_right_answer_and_multiples_by_the_same_questions():
    rows = [
        question(one(True, cost=500, tokens=60, elapsed=30), one(True)),
        question(one(False, cost=300, tokens=40, elapsed=None), one(False, elapsed=1)),
    ]
    found = total("debate", rows)
    assert (found.cost_micro_usd, found.cost_per_right_micro_usd, found.tokens) == (800, 800, 100)
    beside = against("single", rows)
    assert (beside.cost, beside.tokens, beside.latency) == (4.0, 5.0, 6.0)  # of one that was timed
    unpriced = [question(one(True, cost=None), one(True))]
    assert total("debate", unpriced).cost_per_right_micro_usd is None
    assert against("single", unpriced).cost is None
    assert total("debate", [question(False, True)]).cost_per_right_micro_usd is None
    assert against("single", [question(True, one(True, cost=0, elapsed=None))]).cost is None
    assert against("single", [question(True, one(True, elapsed=None))]).latency is None


def test_one_scripted_reply_makes_the_evaluation_scripted():
    assert not evaluation(asked(both=20), **SAID).scripted
    rows = [question(True, one(True, scripted=True)), *asked(both=19)]
    assert evaluation(rows, **SAID).scripted


def result(setup, replies):
    record = Debate(setup, replies).run().record
    return build(record.events, record.texts.get)


def test_an_answer_is_right_if_a_complete_debate_decided_for_the_label():
    decided = result(Setup(), script(usual=vote("release")))
    found = held(decided, "release")
    assert (found.right, found.status, found.decision) == (True, "complete", "release")
    assert (found.calls, found.debate) == (decided.totals.calls, decided.debate)
    assert found.tokens == decided.totals.tokens_in + decided.totals.tokens_out
    assert found.elapsed_ms is not None
    assert not held(decided, "revise").right
    split = votes(planner="release", critic="revise", operator="escalate")
    left = result(Setup(max_rounds=1), split)
    assert (held(left, "escalate").right, held(left, "release").right) == (True, False)
    short = result(Setup(limits={"calls": 4}), split)
    assert (held(short, "release").right, held(short, "release").status) == (False, "truncated")
    resumed = decided.model_copy(update={"resumes": 1})
    assert held(resumed, "release").elapsed_ms is None
