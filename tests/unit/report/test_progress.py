"""The events of a debate as typed facts (D 34)."""

import dataclasses

import pytest

import hansard
from hansard.report import progress
from hansard.report.following import Follower
from hansard.runtime.models.base import Wire
from support import Debate, Fail, Reply, Setup, answered, argued, say, script, vote, votes

DOCUMENT = ("paper", "Payment is due within thirty days.", 1)


def follow(debate, start=0):
    """Everything that happened, the first `start` events taken in without a word."""
    record = debate.record
    follower = Follower()
    for event in record.events[:start]:
        follower.fold(event)
    return [row for event in record.events[start:] for row in follower.follow(event, record.texts)]


def play(setup, ends=None, usual=None):
    return follow(Debate(setup, script(ends, usual)).run())


def of(rows, kind):
    return [row for row in rows if isinstance(row, kind)]


def names(rows):
    return [type(row).__name__ for row in rows]


def test_a_panel_that_converges():
    same = Reply("Thirty days, and not a day more.")
    rows = play(Setup("panel", judge={}), {"draft": same})
    assert names(rows) == [
        "DebateOpened",
        "RoundStarted",
        *["Response"] * 3,
        "SimilarityMeasured",
        "Converged",
        "VerdictGiven",
        "Decided",
        "DebateClosed",
    ]
    assert (rows[0].format, rows[1].round) == ("panel", 0)
    assert [(row.speaker, row.role, row.text) for row in of(rows, progress.Response)] == [
        (name, "debater", same.text) for name in ("ann", "bob", "cat")
    ]
    (measured,) = of(rows, progress.SimilarityMeasured)
    assert (measured.least_ppm, measured.heard, measured.measure) == (1_000_000, 3, "words")
    assert of(rows, progress.Converged)[0].round == 0
    assert (rows[-2].decision, rows[-2].rule) == ("synthesis", "judge_synthesis")
    assert (rows[-1].outcome, rows[-1].reason) == ("complete", "converged")


def test_a_panel_that_does_not_converge():
    rows = play(Setup("panel"), {name: say(f"Word{name}.") for name in ("ann", "bob", "cat")})
    assert of(rows, progress.Converged) == []
    assert [row.round for row in of(rows, progress.RoundStarted)] == [0, 1, 2]
    assert {row.least_ppm for row in of(rows, progress.SimilarityMeasured)} == {0}


def test_answers_that_are_chosen_are_no_pairs():
    rows = play(Setup("panel", options=["yes", "no"]))
    assert of(rows, progress.SimilarityMeasured)[0].least_ppm is None
    assert [row.vote for row in of(rows, progress.Response)] == ["yes"] * 3
    assert of(rows, progress.VotesCounted)[0].votes == {"yes": 3, "no": 0}


def test_a_consensus():
    told = votes(planner="release", critic="revise", operator="revise")
    rows = follow(Debate(Setup(), told).run())
    first = of(rows, progress.Response)[0]
    assert (first.text, first.vote, first.phase, first.round) == ("so", "release", "proposal", 1)
    assert first.reply == vote("release").text
    (count,) = of(rows, progress.VotesCounted)
    assert count.votes == {"release": 1, "revise": 2, "escalate": 0}
    assert (count.abstentions, count.threshold, count.reached) == (0, 2, True)


def test_a_judged_debate_with_a_deliverable():
    verdict = say(verdict="The week is worth it.", winner="wait", reasoning="Bob was not answered.")
    rows = play(
        Setup("judged", synthesizer=True),
        {"verdict": verdict, "synthesis": say(synthesis="We wait a week.")},
    )
    (found,) = of(rows, progress.VerdictGiven)
    assert (found.speaker, found.role, found.winner) == ("judge", "judge", "bob")
    assert found.text == "The week is worth it."
    assert "Bob was not answered." in found.reply
    assert (found.upholds, found.ranking, found.confidence) == (None, (), None)
    (written,) = of(rows, progress.SynthesisWritten)
    assert (written.text, written.role) == ("We wait a week.", "synthesizer")
    assert names(rows)[-3:] == ["Decided", "SynthesisWritten", "DebateClosed"]


def test_a_deliverable_without_a_main_part_is_told_whole():
    schema = {"type": "object", "properties": {"count": {"type": "integer"}}}
    rows = play(Setup("judged", output_schema=schema), {"synthesis": Reply('{"count": 7}')})
    assert of(rows, progress.SynthesisWritten)[0].text == '{"count": 7}'


def test_words_that_look_like_json_are_words():
    looks = Reply('{"stance": "none of your business"}')
    rows = play(Setup("judged", max_rounds=1), {"argument": looks})
    assert {row.text for row in of(rows, progress.Response)} == {looks.text}


def test_a_moderated_debate():
    rows = play(
        Setup("moderated", evidence=[DOCUMENT]),
        {
            "proposition": say(
                thesis="Sign.",
                supporting_arguments=[
                    argued(("paper", "within thirty days")),
                    argued(("paper", "within a year")),
                ],
            ),
            "critique:1": say(challenge_strength=4),
            "critique": say(
                thesis="Never.", challenge_strength=8, counter_arguments=[argued(), argued()]
            ),
            "rebuttal": say(rebuttals=[answered(1)]),
            "moderation": say(
                scores={"proposer": 3, "critic": 9, "rebuttal": 5},
                synthesis="Do not sign.",
                confidence="LOW",
                unresolved_points=["one", "two"],
                upholds_proposition=False,
            ),
        },
    )
    proposed, attacked, answered_ = of(rows, progress.Response)[1:]
    assert (proposed.text, proposed.struck, proposed.role) == ("Sign.", (2,), "proposer")
    assert (attacked.text, attacked.rating, attacked.struck) == ("Never.", 8, ())
    assert answered_.unanswered == (2,)
    (back,) = of(rows, progress.SentBack)
    assert (back.speaker, back.phase, back.round) == ("critic", "critique", 1)
    assert (back.code, back.rating, back.again) == ("weak_critique", 4, True)
    (found,) = of(rows, progress.VerdictGiven)
    assert found.text == "Do not sign."
    assert found.scores == {"proposer": 3, "critic": 9, "rebuttal": 5}
    assert (found.unresolved, found.confidence, found.upholds) == (2, "LOW", False)


def test_a_weak_critique_that_counts_for_want_of_a_better_one():
    ends = {"critique:1": say(challenge_strength=3, thesis="Hm."), "critique": Reply("no JSON")}
    rows = play(Setup("moderated"), ends)
    weak = next(row for row in of(rows, progress.Response) if row.role == "critic")
    assert (weak.text, weak.rating) == ("Hm.", 3)
    assert [row.code for row in of(rows, progress.SentBack)][:2] == ["weak_critique", "unreadable"]


def test_positions_are_ranked():
    positions = [{"label": name, "stance": f"Take {name}."} for name in ("left", "right")]
    rows = play(
        Setup("moderated", positions=positions),
        {"moderation": say(ranking=["right", "left"])},
    )
    assert of(rows, progress.VerdictGiven)[0].ranking == ("right", "left")


def test_calls_that_fail_and_speakers_who_are_not_heard():
    ends = {"r1.argument.ann": Fail("timeout"), "r1.argument.bob:1": Fail("rate_limited")}
    rows = play(Setup("judged", attempts=2, max_rounds=1), ends)
    failed = of(rows, progress.CallFailed)
    assert [(row.speaker, row.error, row.again) for row in failed] == [
        ("ann", "timeout", True),
        ("ann", "timeout", False),
        ("bob", "rate_limited", True),
    ]
    (lost,) = of(rows, progress.Forfeited)
    assert (lost.speaker, lost.role, lost.phase, lost.reason) == (
        "ann",
        "debater",
        "argument",
        "no_reply",
    )


def test_what_a_wait_is_for_and_where_a_reply_misses_its_schema():
    busy = Fail("rate_limited", wait_ms=1500, wire=Wire(status=429))
    ends = {"r1.argument.ann:1": busy, "verdict:1": Reply('{"verdict": "so", "winner": "x"}')}
    rows = play(Setup("judged", max_rounds=1), ends)
    (failed,) = of(rows, progress.CallFailed)
    assert (failed.status, failed.wait_ms, failed.again) == (429, 1500, True)
    (back,) = of(rows, progress.SentBack)
    assert (back.code, back.member, back.keyword) == ("schema", "reasoning", "required")


def test_a_tool_that_is_used_and_one_that_has_no_name():
    asks = Reply("", tools=[("lookup", '{"what": "x"}')])
    rows = play(Setup("panel", tools=["lookup"], rounds=1), {"r0.draft.ann:1": asks})
    (used,) = of(rows, progress.ToolUsed)
    assert (used.speaker, used.tool, used.ok) == ("ann", "lookup", True)
    debate = Debate(Setup("panel", tools=["lookup"], rounds=1), script({"r0.draft.ann:1": asks}))
    debate.run()
    for event in debate.record.events:
        if event["type"] == "tool.called":
            event["data"]["tool"] = debate.record.blob("a name\nof two lines")
    assert of(follow(debate), progress.ToolUsed)[0].tool is None


def test_a_debate_that_is_cut_short():
    rows = play(Setup("panel", limits={"calls": 4}))
    (cut,) = of(rows, progress.Truncated)
    assert (cut.ceiling, cut.limit, cut.spent, cut.reserved) == ("calls", 4, 4, 1)
    assert (rows[-1].outcome, rows[-1].reason) == ("truncated", "calls_ceiling")


def test_what_a_turn_cost():
    told = script(usual=lambda call: vote("release", tokens=(1_000_000, 0, 100_000)))
    rows = follow(Debate(Setup(prices=True), told).run())
    assert of(rows, progress.Response)[0].cost_micro_usd == 3_500_000
    assert of(rows, progress.Response)[0].latency_ms == 1


def test_what_was_taken_in_without_a_word_is_known():
    debate = Debate(Setup("panel"), script({name: say(name) for name in ("ann", "bob", "cat")}))
    debate.run()
    begun = next(n for n, row in enumerate(debate.record.events) if row["type"] == "call.answered")
    rows = follow(debate, begun + 1)
    assert rows == follow(debate)[-len(rows) :]
    assert [row.round for row in of(rows, progress.RoundStarted)] == [1, 2]
    assert [row.text for row in of(rows, progress.Response)][:3] == ["ann", "bob", "cat"]


def test_every_event_is_named_once_and_nothing_can_be_changed():
    rows = play(Setup("moderated"))
    assert [row.seq for row in rows] == sorted(row.seq for row in rows)
    with pytest.raises(dataclasses.FrozenInstanceError):
        rows[0].seq = 0


# Through the API


SPEC = {
    "format": "panel",
    "question": "When is payment due?",
    "model": "python:clerk",
    "debaters": [{"id": "ann"}, {"id": "bob"}],
}


class Enough(BaseException):
    pass


def test_progress_is_called_as_it_happens():
    rows, said = [], []

    def clerk(request):
        said.append(names(rows)[-1])
        return f"Within thirty days, says {request.speaker}."

    result = hansard.run_sync(SPEC, models={"clerk": clerk}, progress=rows.append)
    assert set(said[:2]) == {"RoundStarted"}
    assert of(rows, progress.Response)[0].text == "Within thirty days, says ann."
    assert rows[0].debate == result.debate
    assert names(rows)[-1] == "DebateClosed"


def test_observe_and_progress_are_both_told():
    seen, rows = [], []
    hansard.run_sync(
        SPEC,
        models={"clerk": lambda _: "Within thirty days."},
        observe=seen.append,
        progress=rows.append,
    )
    assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))
    assert rows[-1].seq == len(seen)


def test_a_resumed_debate_goes_on_being_told():
    def stop(row):
        if isinstance(row, progress.SimilarityMeasured):
            raise Enough

    def clerk(request):
        return f"{request.speaker} thinks of {'nothing' if request.round else 'all'} else."

    rows = []
    with hansard.open_store("sqlite:///:memory:") as store:
        with pytest.raises(Enough):
            hansard.run_sync(SPEC, models={"clerk": clerk}, store=store, progress=stop)
        (debate,) = store.debates()
        result = hansard.resume_sync(
            debate, models={"clerk": clerk}, store=store, progress=rows.append
        )
    assert result.debate == debate
    # The first call of round 1 was stored together with the event at which `stop` broke.
    assert [row.round for row in of(rows, progress.RoundStarted)] == [2]
    assert of(rows, progress.Response)[0].text == "ann thinks of nothing else."
