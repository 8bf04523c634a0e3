"""The most turns that there can be are those of a debate in which everything happens."""

import pytest

from hansard.rules.formats import most_turns
from support import Debate, Setup, say, script

POSITIONS = [{"label": name, "stance": f"Take {name}."} for name in ("left", "right", "neither")]
ON = script({"moderation": say(recommend_another_round=True)})
LONG = {
    "consensus": (Setup(threshold=3), 24),
    "consensus, one round": (Setup(max_rounds=1, threshold=3), 12),
    "consensus, written up": (Setup(max_rounds=1, threshold=3, synthesizer=True), 13),
    "judged": (Setup("judged", max_rounds=3), 10),
    "judged, written up": (Setup("judged", synthesizer=True), 8),
    "moderated": (Setup("moderated", max_rounds=3), 13),
    "moderated twice": (Setup("moderated", max_rounds=2, neutrality_check=True), 10),
    "positions": (Setup("moderated", max_rounds=2, positions=POSITIONS), 21),
    "positions unattacked": (Setup("moderated", positions=POSITIONS, critique=False), 5),
    "panel": (Setup("panel", rounds=2, convergence_check=False), 9),
    "panel with a judge": (Setup("panel", rounds=1, convergence_check=False, judge={}), 7),
}


def differing(call):
    """Everybody votes for something else, and no two drafts are alike."""
    options = ("release", "revise", "escalate")
    mine = options[("planner", "critic", "operator").index(call.step.speaker)]
    return say(vote=mine)(call)


@pytest.mark.parametrize("name", LONG)
def test_a_debate_in_which_everything_happens_has_the_most_turns(name):
    setup, most = LONG[name]
    told = script(usual=differing) if name.startswith("consensus") else ON
    if setup.spec.table()[-1].role == "synthesizer":
        told = script({"synthesis": say()}, usual=told)
    state = Debate(setup, told).run().state
    assert len(state.turns) == most
    roles = [seat["role"] for seat in state.seats.values()]
    assert most_turns(state.spec["terms"], roles) == most
