"""The two worked examples of the Debate card: `run_debate` is that of `hansard.sources`.

No model is asked: the two functions say everything.
`python -m hansard.examples.sources.orchestration`
"""

from __future__ import annotations

from hansard import ConsensusResult
from hansard.sources.orchestration import Phase, TurnContent, Vote, run_debate


def collect_turn(round_index: int, speaker_id: str, phase: Phase) -> TurnContent:  # noqa: ARG001
    """Two of three hold that the migration must be revised."""
    vote_by_speaker: dict[str, Vote] = {
        "planner": "release",
        "critic": "revise",
        "operator": "revise",
    }
    return TurnContent(
        stance=f"{speaker_id} position during {phase}",
        rationale=f"{speaker_id} rationale during {phase}",
        vote=vote_by_speaker[speaker_id],
    )


def split_vote_turn(round_index: int, speaker_id: str, phase: Phase) -> TurnContent:  # noqa: ARG001
    """All three disagree to the end."""
    vote_by_speaker: dict[str, Vote] = {
        "planner": "release",
        "critic": "revise",
        "operator": "escalate",
    }
    return TurnContent(
        stance=f"{speaker_id} split position during {phase}",
        rationale=f"{speaker_id} split rationale during {phase}",
        vote=vote_by_speaker[speaker_id],
    )


def main() -> tuple[ConsensusResult, ConsensusResult]:
    """Run both, and print their nine lines."""
    result = run_debate(
        debater_ids=("planner", "critic", "operator"),
        max_rounds=2,
        consensus_threshold=2,
        collect_turn=collect_turn,
    )
    split_result = run_debate(
        debater_ids=("planner", "critic", "operator"),
        max_rounds=2,
        consensus_threshold=2,
        collect_turn=split_vote_turn,
    )
    print(result.to_report())
    print()
    print(split_result.to_report())
    return result, split_result


if __name__ == "__main__":
    main()
