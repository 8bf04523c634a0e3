"""The Debate card's `run_debate`: counted votes over four phases, turns from one function.

>>> def collect_turn(round_index: int, speaker_id: str, phase: Phase) -> TurnContent:
...     vote = {"planner": "release"}.get(speaker_id, "revise")
...     return TurnContent(f"{speaker_id} position", f"{speaker_id} rationale", vote)
>>> result = run_debate(("planner", "critic", "operator"), 2, 2, collect_turn)
>>> result.decision, result.vote_tally, result.decision_rule
('revise', {'release': 1, 'revise': 2}, 'threshold_vote')
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from hansard.api import debating
from hansard.errors import UsageError
from hansard.sources.calling import Seat, check_call, named_after

if TYPE_CHECKING:
    from hansard.report.formats import ConsensusResult
    from hansard.runtime.models.base import Request

Phase = Literal["proposal", "critique", "revision", "consensus"]
DecisionRule = Literal["threshold_vote", "max_rounds_exhausted"]
Vote = Literal["release", "revise", "escalate"]
OPTIONS: tuple[Vote, ...] = ("release", "revise", "escalate")


@dataclass(frozen=True)
class TurnContent:
    """What a turn says, and what it votes for."""

    stance: str
    rationale: str
    vote: Vote


def run_debate(
    debater_ids: Sequence[str],
    max_rounds: int,
    consensus_threshold: int,
    collect_turn: Callable[..., Any],
    *,
    question: str = "Release, revise or escalate?",
    options: Sequence[str] = OPTIONS,
    **given: Any,
) -> ConsensusResult:
    """Run a `consensus` debate and return its result, which has the card's members.

    `collect_turn(round_index=…, speaker_id=…, phase=…)` may be async. `question` and `options`
    are what the card leaves unsaid; `given` is what `hansard.debate` takes besides (`store`,
    `review`, …), and so is what is raised. Raises UsageError `model.signature`, before
    anything runs, for a function that cannot be called so.

    >>> def collect_turn(round_index, speaker_id, phase):
    ...     return TurnContent("as before", "it holds", "release")
    >>> run_debate(("planner", "critic", "operator"), 1, 2, collect_turn).rounds_run
    1
    """
    if isinstance(debater_ids, str):
        said = 'debater_ids are several names, such as ("planner", "critic"), not one text'
        raise UsageError("spec.invalid_value", said)
    result = debating.debate(
        question,
        format="consensus",
        debaters=[{"id": name} for name in debater_ids],
        max_rounds=max_rounds,
        threshold=consensus_threshold,
        options=[*options],
        model=seat(collect_turn),
        **given,
    )
    return cast("ConsensusResult", result)


def seat(collect_turn: Callable[..., Any]) -> Seat:
    """Return a `collect_turn` as a seat takes it: `resume(ID, models={"collect_turn": …})`.

    Raises UsageError `model.signature` for a function that cannot be called so.

    >>> def collect_turn(round_index, speaker_id, phase):
    ...     return TurnContent("as before", "it holds", "release")
    >>> seat(collect_turn).__qualname__
    'collect_turn'
    """
    expected = "collect_turn(round_index=…, speaker_id=…, phase=…)"
    check_call(collect_turn, expected, round_index=1, speaker_id="", phase="proposal")

    def turn(request: Request) -> Any:
        return collect_turn(
            round_index=request.round, speaker_id=request.speaker, phase=request.phase
        )

    return named_after(collect_turn, turn)
