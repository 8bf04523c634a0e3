"""What holds in every debate: nobody who fails agrees, and a judge who fails decides nothing.

In `baseline`, one seat answers alone: nobody could agree.
"""

import pytest

from hansard.rules.replay import NotDue
from hansard.rules.terms import options_of
from support import DEFAULTS, Debate, Fail, Reply, Setup, fold, say, script, walk

POSITIONS = DEFAULTS["judged"]["debaters"]
SETUPS = {
    "consensus": Setup(),
    "consensus by majority": Setup(rule="majority"),
    "consensus by unanimity": Setup(rule="unanimity"),
    "judged": Setup("judged"),
    "moderated": Setup("moderated"),
    "positions": Setup("moderated", positions=POSITIONS),
    "positions unchallenged": Setup("moderated", positions=POSITIONS, critique=False),
    "panel": Setup("panel"),
    "panel, whole": Setup("panel", convergence_similarity=1),
    "panel, options": Setup("panel", options=["yes", "no"]),
    "panel, majority": Setup("panel", resolution="majority"),
    "panel, fallback": Setup("panel", resolution="majority", fallback="similar"),
    "panel, judge": Setup("panel", judge={}),
    "panel, judge and options": Setup("panel", judge={}, options=["yes", "no"]),
    "panel, pick": Setup("panel", judge={}, resolution="pick"),
}
EVERY = pytest.mark.parametrize("setup", SETUPS.values(), ids=SETUPS)
# Who argues, and who decides.
ARGUE = ("proposal", "critique", "revision", "consensus", "argument", "proposition", "draft")
DECIDE = ("verdict", "moderation")


def spoil(**changed):
    """A reply that fits but for these members; where words are asked for, none at all."""

    def reply(call):
        if call.schema["type"] == "string":
            return Reply(" \n")
        names = [name for name in changed if name in call.schema["properties"]]
        return say(
            **{name: changed[name] for name in names} or dict.fromkeys(call.schema["properties"])
        )(call)

    return reply


FAILURES = {
    "crash": Fail("crashed"),
    "timeout": Fail("timeout"),
    "no reply": Fail("no_reply"),
    "refusal": Reply("{}", finish="refusal"),
    "filtered": Reply("{}", finish="content_filter"),
    "cut off": Reply("{}", finish="length"),
    "empty": Reply(""),
    "undeclared": spoil(vote="nobody", choice="nobody", winner=7, ranking=["nobody"] * 3),
}
WAYS = pytest.mark.parametrize("end", FAILURES.values(), ids=FAILURES)


def lost(debate):
    return [row["step"] for row in debate.record.all("turn.forfeited")]


@EVERY
@WAYS
def test_when_nobody_is_heard_the_debate_fails_after_its_first_phase(setup, end):
    debate = Debate(setup, script(dict.fromkeys(ARGUE, end))).run()
    assert debate.state.decision is None
    assert debate.state.closed == {"outcome": "failed", "reason": "nobody_heard"}
    arguing = [seat for seat in debate.setup.spec.table() if seat.role in ("debater", "proposer")]
    asked = {row["step"] for row in debate.record.all("call.started")}
    assert {step.split(".")[1] for step in lost(debate)} < {*ARGUE}
    assert len(lost(debate)) == len(arguing)
    assert asked - set(lost(debate)) <= {"r1.framing.framer"}
    assert debate.record.all("votes.counted", "similarity.measured") == []
    assert walk(debate.record.events, debate.record.texts.get) == []


@EVERY
@WAYS
def test_one_survivor_agrees_with_nobody(setup, end):
    """But one position that is proposed, attacked and ranked first stands."""
    sides = [seat.id for seat in setup.spec.table() if seat.role in ("debater", "proposer")]

    def ends(call):
        alone = call.step.speaker == sides[0] or call.step.phase in ("framing", *DECIDE)
        usual = say()(call) if alone else end
        return usual(call) if callable(usual) else usual

    debate = Debate(setup, ends).run()
    decision = debate.state.decision
    agreed = setup.spec.format == "moderated" and not getattr(setup.spec, "critique", True)
    if agreed:
        assert (decision["decision"], decision["rule"]) == ("ship", "moderator_ranking")
    else:
        assert decision["decision"] == "escalate"
        assert decision["rule"] in ("max_rounds_exhausted", "too_few_heard", "unchallenged")


JUDGED = [
    name
    for name, setup in SETUPS.items()
    if any(seat.role in ("judge", "moderator") for seat in setup.spec.table())
]


@pytest.mark.parametrize("setup", [SETUPS[name] for name in JUDGED], ids=JUDGED)
@WAYS
def test_a_judge_who_fails_names_no_winner_and_everything_so_far_is_kept(setup, end):
    debate = Debate(setup, script(dict.fromkeys(DECIDE, end))).run()
    who = "moderator" if setup.spec.format == "moderated" else "judge"
    assert debate.state.closed == {"outcome": "failed", "reason": f"{who}_failed"}
    assert debate.state.verdict is None
    assert debate.state.decision is None
    assert len(lost(debate)) == 1
    assert all(turn.heard for turn in debate.state.turns[:-1])
    assert walk(debate.record.events, debate.record.texts.get) == []
    assert fold(debate.record.events) == debate.state


@EVERY
def test_whoever_is_heard_decides_as_the_rule_says(setup):
    """So that the tests above are not passed by debates that never decide anything."""
    draft = say() if getattr(setup.spec, "options", None) else Reply("same")
    debate = Debate(setup, script({"draft": draft})).run()
    assert debate.state.decision["decision"] != "escalate"
    assert debate.state.closed["outcome"] == "complete"
    assert lost(debate) == []


def test_options_are_those_of_the_terms_if_they_have_any():
    assert options_of(Setup().spec.terms()) == ["release", "revise", "escalate"]
    assert options_of(Setup("panel").spec.terms()) == options_of(Setup("judged").spec.terms()) == []


@EVERY
def test_only_a_critique_is_sent_back_for_its_rating(setup):
    """Also where the reply is gone, and nobody can look at what it says."""
    events = Debate(setup, script({"critique:1": say(challenge_strength=4)})).run().record.events
    for event in (row for row in events if row["type"] == "call.answered"):
        asked = event["data"]["call"].rpartition(":")[0]
        line = {name: event[name] for name in ("at", "debate", "prev", "v")}
        rejected = {
            **line,
            "seq": event["seq"] + 1,
            "type": "turn.rejected",
            "data": {
                "step": asked,
                "call": event["data"]["call"],
                "code": "weak_critique",
                "member": None,
                "keyword": None,
                "rating": 4,
                "again": True,
            },
        }
        critique = setup.spec.format == "moderated" and ".critique" in event["data"]["call"]
        if critique and event["data"]["call"].endswith(":1"):
            assert walk([*events[: event["seq"]], rejected], lambda name: None) == []
            continue
        with pytest.raises(NotDue):
            walk([*events[: event["seq"]], rejected], lambda name: None)
