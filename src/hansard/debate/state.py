"""The state of a debate: a fold of its events' clear fields, and of nothing else.

`evolve` applies one event to the state it is given and touches nothing
outside it: the same events give the same state, with every text erased too.
It assumes events that were due (`steps.decide` says which); the verifier
makes sure of that before it folds one in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from hansard.debate.events import (
    Blob,
    CallAnsweredData,
    CallFailedData,
    CallRefusedData,
    CallStartedData,
    ClosedData,
    DecisionData,
    Event,
    EvidenceData,
    OpenedData,
    Phase,
    RegisteredData,
    TurnForfeitedData,
    TurnRecordedData,
    VotesCountedData,
)


class Step(NamedTuple):
    """One speaker's turn in the schedule, and its name in the record."""

    round: int
    phase: Phase
    speaker: str
    id: str

    @staticmethod
    def of(round_: int, phase: Phase, speaker: str) -> Step:
        """Return the step with its name."""
        return Step(round_, phase, speaker, f"r{round_}.{phase}.{speaker}")


@dataclass(slots=True)
class Progress:
    """How far a step that is due has come."""

    number: int = 0  # of the last attempt
    tries: int = 0  # attempts that ended without a reply that counts, abandoned ones aside
    call: str | None = None  # the call being waited for
    answer: CallAnsweredData | None = None  # the reply in hand
    exhausted: bool = False
    rejected: bool = False  # the last attempt brought a reply, and it did not count


class Turn(NamedTuple):
    """A turn of the schedule that is over: what was recorded, and the reply it was read from."""

    data: TurnRecordedData | TurnForfeitedData
    reply: Blob | None

    @property
    def vote(self) -> str | None:
        """The option voted for; None is an abstention."""
        return self.data.get("vote")  # type: ignore[return-value]


@dataclass(slots=True)
class Spend:
    """What was used: calls asked, tokens where stated, micro-US-dollars where priced."""

    calls: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    cost_micro_usd: int = 0

    def add(self, data: CallAnsweredData) -> None:
        """Add what one reply used."""
        self.tokens_in += data["tokens_in"] or 0
        self.tokens_cached += data["tokens_cached"] or 0
        self.tokens_out += data["tokens_out"] or 0
        self.cost_micro_usd += data["cost_micro_usd"] or 0


@dataclass(slots=True)
class DebateState:
    """Everything the rules look at, and everything a report is made from."""

    debate: str = ""
    seq: int = 0
    opened_at: str = ""
    at: str = ""
    opened: OpenedData | None = None
    spec: OpenedData = field(init=False)  # the same, once the debate is opened
    seated: bool = False  # every seat and document that the opening announces is there
    seats: dict[str, RegisteredData] = field(default_factory=dict)
    evidence: list[EvidenceData] = field(default_factory=list)
    steps: dict[str, Progress] = field(default_factory=dict)  # of turns not yet over
    calls: dict[str, CallStartedData] = field(default_factory=dict)  # the open ones
    abandoned: list[str] = field(default_factory=list)  # open when a process died, to be ended
    last_answer: CallAnsweredData | None = None  # only the event right after may reject it
    turns: list[Turn] = field(default_factory=list)
    votes: dict[str, str | None] = field(default_factory=dict)
    counts: list[VotesCountedData] = field(default_factory=list)
    refused: CallRefusedData | None = None
    decision: DecisionData | None = None
    closed: ClosedData | None = None
    spend: dict[str, Spend] = field(default_factory=dict)  # by seat
    failures: list[CallFailedData] = field(default_factory=list)
    rejections: int = 0
    resumes: int = 0

    @property
    def rounds_run(self) -> int:
        """The round of the last turn that is over; 0 before the first."""
        return self.turns[-1].data["round"] if self.turns else 0

    def total(self) -> Spend:
        """What all seats used together."""
        total = Spend()
        for row in self.spend.values():
            total.calls += row.calls
            total.tokens_in += row.tokens_in
            total.tokens_cached += row.tokens_cached
            total.tokens_out += row.tokens_out
            total.cost_micro_usd += row.cost_micro_usd
        return total


def speaker_of(step: str) -> str:
    """Return the speaker of a step `r<round>.<phase>.<speaker>` (a speaker may hold dots)."""
    return step.split(".", 2)[2]


def evolve(state: DebateState, event: Event) -> DebateState:
    """Fold one event into `state` and return it."""
    state.seq = event["seq"]
    state.at = event["at"]
    state.last_answer = None
    if event["type"] == "call.started":
        _started(state, event["data"])
    elif event["type"] == "call.answered":
        _answered(state, event["data"])
    elif event["type"] == "call.failed":
        _failed(state, event["data"])
    elif event["type"] == "turn.recorded" or event["type"] == "turn.forfeited":
        _turn(state, event["data"])
    elif event["type"] == "turn.rejected":
        progress = state.steps[event["data"]["step"]]
        progress.answer = None
        progress.rejected = True
        progress.tries += 1
        progress.exhausted = not event["data"]["again"]
        state.rejections += 1
    elif event["type"] == "votes.counted":
        state.counts.append(event["data"])
    elif event["type"] == "debater.registered":
        seat = event["data"]
        state.seats[seat["id"]] = seat
        state.votes[seat["id"]] = None
        state.spend[seat["id"]] = Spend()
        state.seated = _is_seated(state)
    elif event["type"] == "evidence.admitted":
        state.evidence.append(event["data"])
        state.seated = _is_seated(state)
    elif event["type"] == "decision.reached":
        state.decision = event["data"]
    elif event["type"] == "call.refused":
        state.refused = event["data"]
    elif event["type"] == "debate.closed":
        state.closed = event["data"]
    elif event["type"] == "debate.resumed":
        state.resumes += 1
        state.abandoned = list(state.calls)
    else:
        state.debate = event["debate"]
        state.opened_at = event["at"]
        state.opened = state.spec = event["data"]
    return state


def _is_seated(state: DebateState) -> bool:
    spec = state.spec
    return len(state.seats) == spec["seats"] and len(state.evidence) == spec["documents"]


def _started(state: DebateState, data: CallStartedData) -> None:
    state.calls[data["call"]] = data
    progress = state.steps.setdefault(data["step"], Progress())
    progress.number = data["attempt"]
    progress.call = data["call"]
    progress.rejected = False
    state.spend[speaker_of(data["step"])].calls += 1


def _answered(state: DebateState, data: CallAnsweredData) -> None:
    step = state.calls.pop(data["call"])["step"]
    progress = state.steps[step]
    progress.call = None
    progress.answer = state.last_answer = data
    state.spend[speaker_of(step)].add(data)


def _failed(state: DebateState, data: CallFailedData) -> None:
    step = state.calls.pop(data["call"])["step"]
    progress = state.steps[step]
    progress.call = None
    progress.exhausted = not data["again"]
    if data["error"] == "abandoned":
        state.abandoned.remove(data["call"])
    else:
        progress.tries += 1
    state.failures.append(data)
    state.spend[speaker_of(step)].cost_micro_usd += data["cost_micro_usd"] or 0


def _turn(state: DebateState, data: TurnRecordedData | TurnForfeitedData) -> None:
    answer = state.steps.pop(data["step"]).answer
    turn = Turn(data, answer["reply"] if answer else None)
    state.turns.append(turn)
    state.votes[data["speaker"]] = turn.vote
