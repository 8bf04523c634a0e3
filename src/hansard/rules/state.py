"""The state of a debate: a fold of its events' clear fields, and of nothing else.

`evolve` applies one event to the state it is given and touches nothing
outside it: the same events give the same state, with every text erased too.
It assumes events that were due (`steps.decide` says which); the verifier
makes sure of that before it folds one in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hansard.record.line import MAX_ENTRIES
from hansard.rules.data import (
    AFTER,
    CallAnsweredData,
    CallFailedData,
    CallRefusedData,
    CallStartedData,
    ClosedData,
    CutData,
    DecisionData,
    EvidenceData,
    GateAnsweredData,
    OpenedData,
    RegisteredData,
    ResumedData,
    SimilarityData,
    SynthesisData,
    ToolCalledData,
    ToolReturnedData,
    TruncatedData,
    TurnForfeitedData,
    TurnRecordedData,
    TurnRejectedData,
    VerdictData,
    VotesCountedData,
)
from hansard.rules.events import Event
from hansard.rules.fields import SENT_BACK, UNTRIED, Blob, Case, Price
from hansard.rules.terms import Role

# After so many entries no call starts and no tool is asked for: the rest is enough for whatever
# is in flight to end, for its turns, and for the close (FORMAT.md §9).
LAST_START = MAX_ENTRIES - 1000

TurnData = TurnRecordedData | VerdictData | SynthesisData | TurnForfeitedData


class Step(NamedTuple):
    """One speaker's turn in the schedule, and its name in the record."""

    round: int
    phase: str
    speaker: str
    id: str

    @staticmethod
    def of(round_: int, phase: str, speaker: str) -> Step:
        """Return the step with its name."""
        return Step(round_, phase, speaker, f"r{round_}.{phase}.{speaker}")


class SentBack(NamedTuple):
    """A critique that was sent back, and why."""

    answer: CallAnsweredData
    why: TurnRejectedData


@dataclass(slots=True)
class Pending:
    """How far a step that is due has come."""

    number: int = 0  # of the last attempt
    tries: int = 0  # attempts that ended without a reply that counts, UNTRIED ones aside
    began: str | None = None  # when the step was first tried, by the process that tries it now
    failed_at: str | None = None  # when the last call failed, and how long to wait after that
    wait_ms: int = 0
    call: str | None = None  # the call being waited for
    answer: CallAnsweredData | None = None  # the reply in hand
    exhausted: bool = False
    rejected: bool = False  # the last attempt brought a reply, and it did not count
    rejection: TurnRejectedData | None = None  # of the last reply, but for one sent back
    sent_back: SentBack | None = None
    tool_rounds: int = 0
    announced: int = 0  # tools that the last reply asked for
    # What was asked for, in order, and what came back, by call and number.
    tools: list[ToolCalledData] = field(default_factory=list)
    asked: dict[tuple[str, int], ToolCalledData] = field(default_factory=dict)
    returned: dict[tuple[str, int], ToolReturnedData] = field(default_factory=dict)

    @property
    def heard(self) -> CallAnsweredData | None:
        """The reply that its turn rests on; a critique that was sent back where no better came."""
        return self.answer or (self.sent_back.answer if self.sent_back else None)

    @property
    def using_tools(self) -> bool:
        """Whether a tool that was asked for has not come back."""
        return self.announced > 0 or self.tools_out > 0

    @property
    def tools_out(self) -> int:
        """How many tools were called and have not come back."""
        return len(self.tools) - len(self.returned)

    @property
    def open_tools(self) -> list[ToolCalledData]:
        """The tools that have not come back."""
        return [row for row in self.tools if self.is_out(row["call"], row["number"])]

    def is_out(self, call: str, number: int) -> bool:
        """Whether a tool was asked for and has not come back."""
        return (call, number) in self.asked and (call, number) not in self.returned


class Turn(NamedTuple):
    """A turn of the schedule that is over: what was recorded, and the reply it was read from."""

    data: TurnData
    reply: Blob | None
    role: Role

    @property
    def heard(self) -> bool:
        """Whether there is a reply that counts."""
        return self.reply is not None

    @property
    def vote(self) -> str | None:
        """The option voted for; None is an abstention."""
        return self.data.get("vote")  # type: ignore[return-value]

    @property
    def case(self) -> Case | None:
        """What code read from an argued turn."""
        return self.data.get("case")  # type: ignore[return-value]


@dataclass(slots=True)
class Spend:
    """What was used: calls asked, tokens where stated, micro-US-dollars where priced."""

    calls: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_cache_write: int = 0
    tokens_out: int = 0
    cost_micro_usd: int = 0

    def add(self, data: CallAnsweredData) -> None:
        """Add what one reply used."""
        self.tokens_in += data["tokens_in"] or 0
        self.tokens_cached += data["tokens_cached"] or 0
        self.tokens_cache_write += data["tokens_cache_write"] or 0
        self.tokens_out += data["tokens_out"] or 0
        self.cost_micro_usd += data["cost_micro_usd"] or 0


_REFUSING = range(401, 405)  # statuses that a server answers to whatever the seat asks
_LOST = 2  # steps in a row after which nobody is asked there any more
# Nobody knows what these calls used before they ended; they may have been paid for.
_UNKNOWN_USE = UNTRIED | {"timeout", "server_error", "crashed"}


@dataclass(slots=True)
class DebateState:
    """Everything the rules look at, and everything a report is made from."""

    debate: str = ""
    seq: int = 0  # of the last entry: counted, whatever it says itself
    opened_at: str = ""
    at: str = ""
    opened: OpenedData | None = None
    spec: OpenedData = field(init=False)  # the same, once the debate is opened
    prices: dict[str, Price] = field(default_factory=dict)  # by model; an opening lists thousands
    gated: GateAnsweredData | None = None  # the gate answered, and no debate was opened
    seated: bool = False  # every seat and document that the opening announces is there
    seats: dict[str, RegisteredData] = field(default_factory=dict)
    evidence: list[EvidenceData] = field(default_factory=list)
    steps: dict[str, Pending] = field(default_factory=dict)  # of turns not yet over
    calls: dict[str, CallStartedData] = field(default_factory=dict)  # the open ones
    abandoned: list[str] = field(default_factory=list)  # open when a process died, to be ended
    raised: bool = False  # a callable raised: the debate stands still until it is resumed
    last_answer: CallAnsweredData | None = None  # only the event right after may reject it
    announcing: CallAnsweredData | None = None  # the tools that it asked for come next
    turns: list[Turn] = field(default_factory=list)
    scheduled: Any = field(default=None, compare=False)  # what comes next (`steps`), once asked
    spoken: set[str] = field(default_factory=set)  # debaters who were heard
    votes: dict[str, str | None] = field(default_factory=dict)  # the current ones, of debaters
    lost: dict[str, int] = field(default_factory=dict)  # by seat: steps in a row (`_lose`)
    counts: list[VotesCountedData] = field(default_factory=list)
    similarities: list[SimilarityData] = field(default_factory=list)
    verdict: VerdictData | None = None  # the last one that a judge or a moderator gave
    refused: CallRefusedData | None = None
    truncated: TruncatedData | None = None
    cut: CutData | None = None  # what kept the debate, or its deliverable, from going on
    decision: DecisionData | None = None
    synthesis: SynthesisData | None = None
    closed: ClosedData | None = None
    after: list[Event] = field(default_factory=list)  # what people say of it once it has ended
    spend: dict[str, Spend] = field(default_factory=dict)  # by seat
    used_tokens: int = 0  # against a ceiling: what is not stated counts as it was reserved
    used_micro_usd: int = 0
    failures: list[CallFailedData] = field(default_factory=list)
    rejections: int = 0
    resumes: int = 0

    @property
    def said(self) -> OpenedData | GateAnsweredData | None:
        """What the record begins with."""
        return self.opened or self.gated

    @property
    def ended(self) -> bool:
        """Whether only what people say of it may follow: it is closed, or was never a debate."""
        return self.closed is not None or self.gated is not None

    def of_role(self, *roles: Role) -> list[RegisteredData]:
        """Return the seats of these roles, in the order registered."""
        return [seat for seat in self.seats.values() if seat["role"] in roles]

    def of_round(self, number: int) -> list[Turn]:
        """Return the turns of a round that are over, in order; no other round is looked through."""
        begin = len(self.turns)
        while begin and self.turns[begin - 1].data["round"] >= number:
            begin -= 1
        return [row for row in self.turns[begin:] if row.data["round"] == number]

    @property
    def tools_out(self) -> int:
        """How many tools were called and have not come back."""
        return sum(row.tools_out for row in self.steps.values())

    @property
    def entries(self) -> int:
        """How many entries there are, with those that the tools in flight will end in."""
        return self.seq + self.tools_out

    def is_out(self, seat: str) -> bool:
        """Whether a seat is not asked any more: its server refuses it, or cannot be reached."""
        return self.lost.get(seat, 0) >= _LOST

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
            total.tokens_cache_write += row.tokens_cache_write
            total.tokens_out += row.tokens_out
            total.cost_micro_usd += row.cost_micro_usd
        return total


def speaker_of(step: str) -> str:
    """Return the speaker of a step `r<round>.<phase>.<speaker>` (a speaker may hold dots)."""
    return step.split(".", 2)[2]


def step_of(call: str) -> str:
    """Return the step of a call `<step>:<attempt>`."""
    return call.rpartition(":")[0]


def evolve(state: DebateState, event: Event) -> DebateState:
    """Fold one event into `state` and return it; the time stays that of the close."""
    state.debate = state.debate or event["debate"]
    state.seq += 1
    if event["type"] in AFTER:
        state.after.append(event)
        return state
    state.at = event["at"]
    state.last_answer = None
    _FOLDS[event["type"]](state, event["data"])
    return state


def _opened(state: DebateState, data: OpenedData) -> None:
    state.opened_at = state.at
    state.opened = state.spec = data
    state.prices = {row["model"]: row for row in reversed(data["prices"])}  # the first counts


def _gated(state: DebateState, data: GateAnsweredData) -> None:
    state.opened_at = state.at
    state.gated = data


def _resumed(state: DebateState, _: ResumedData) -> None:
    state.resumes += 1
    state.abandoned = list(state.calls)
    state.raised = False
    state.lost.clear()  # somebody may have mended it
    for pending in state.steps.values():
        pending.began = None


def _registered(state: DebateState, seat: RegisteredData) -> None:
    state.seats[seat["id"]] = seat
    if seat["role"] == "debater":
        state.votes[seat["id"]] = None
    state.spend[seat["id"]] = Spend()
    state.seated = _is_seated(state)


def _admitted(state: DebateState, data: EvidenceData) -> None:
    state.evidence.append(data)
    state.seated = _is_seated(state)


def _is_seated(state: DebateState) -> bool:
    spec = state.spec
    return len(state.seats) == spec["seats"] and len(state.evidence) == spec["documents"]


def _started(state: DebateState, data: CallStartedData) -> None:
    state.calls[data["call"]] = data
    pending = state.steps.setdefault(data["step"], Pending())
    pending.began = pending.began or state.at
    pending.number = data["attempt"]
    pending.call = data["call"]
    pending.rejected = False
    state.spend[speaker_of(data["step"])].calls += 1


def _answered(state: DebateState, data: CallAnsweredData) -> None:
    started = state.calls.pop(data["call"])
    step = started["step"]
    pending = state.steps[step]
    pending.call = None
    state.last_answer = data
    stated = None not in (data["tokens_in"], data["tokens_out"])
    _use(state, started, data if stated else None)
    room = state.entries + 2 * data["tools"] <= LAST_START
    if data["tools"] and room and pending.tool_rounds < state.spec["tool_rounds"]:
        pending.tool_rounds += 1
        pending.announced = data["tools"]
        state.announcing = data
    else:
        pending.answer = data
    state.spend[speaker_of(step)].add(data)


def _use(state: DebateState, started: CallStartedData, data: CallAnsweredData | None) -> None:
    """Count a call against the ceilings: as it says, or where it does not as was reserved."""
    reserved = started["reserved_cost_micro_usd"] or 0
    if data is None:
        state.used_tokens += started["reserved_tokens_in"] + started["reserved_tokens_out"]
        state.used_micro_usd += reserved
    else:
        state.used_tokens += (data["tokens_in"] or 0) + (data["tokens_out"] or 0)
        cost = data["cost_micro_usd"]
        state.used_micro_usd += reserved if cost is None else cost


def _called(state: DebateState, data: ToolCalledData) -> None:
    pending = state.steps[step_of(data["call"])]
    pending.announced -= 1
    pending.tools.append(data)
    pending.asked[data["call"], data["number"]] = data
    state.announcing = state.announcing if pending.announced else None


def _returned(state: DebateState, data: ToolReturnedData) -> None:
    state.steps[step_of(data["call"])].returned[data["call"], data["number"]] = data


def _failed(state: DebateState, data: CallFailedData) -> None:
    started = state.calls.pop(data["call"])
    step = started["step"]
    pending = state.steps[step]
    pending.call = None
    pending.exhausted = not data["again"]
    pending.failed_at, pending.wait_ms = state.at, data["wait_ms"] or 0
    if data["error"] in _UNKNOWN_USE:
        _use(state, started, None)
    if data["error"] == "abandoned":
        state.abandoned.remove(data["call"])
    state.raised |= data["error"] == "raised"
    pending.tries += data["error"] not in UNTRIED
    if pending.exhausted:
        _lose(state, speaker_of(step), data)
    state.failures.append(data)
    state.spend[speaker_of(step)].cost_micro_usd += data["cost_micro_usd"] or 0


def _lose(state: DebateState, seat: str, failed: CallFailedData) -> None:
    """Count how many steps in a row a seat has lost, since its model could not be asked."""
    if failed["error"] not in ("client_error", "unreachable"):
        state.lost.pop(seat, None)
    elif failed["error"] == "client_error" and failed["status"] in _REFUSING:
        state.lost[seat] = _LOST
    else:
        state.lost[seat] = state.lost.get(seat, 0) + 1


def _rejected(state: DebateState, data: TurnRejectedData) -> None:
    pending = state.steps[data["step"]]
    if data["code"] in SENT_BACK and pending.answer:
        pending.sent_back = SentBack(pending.answer, data)
    else:
        pending.tries += 1
        pending.exhausted = not data["again"]
        pending.rejection = data
        if pending.exhausted:
            state.lost.pop(speaker_of(data["step"]), None)
    pending.answer = None
    pending.rejected = True
    state.rejections += 1


def _turn(state: DebateState, data: TurnData) -> None:
    pending = state.steps.pop(data["step"], None) or Pending()  # a seat that is out is not asked
    answer = pending.heard if "call" in data else None
    seat = state.seats[data["speaker"]]
    if pending.answer:
        state.lost.pop(seat["id"], None)
    turn = Turn(data, answer["reply"] if answer else None, seat["role"])
    state.turns.append(turn)
    state.scheduled = None
    if seat["role"] == "debater" and turn.heard:
        state.spoken.add(seat["id"])
    if data["speaker"] in state.votes:
        state.votes[data["speaker"]] = turn.vote


def _forfeited(state: DebateState, data: TurnForfeitedData) -> None:
    _turn(state, data)
    if data["cut"]:
        _cut(state, data["cut"])


def _ruled(state: DebateState, data: VerdictData) -> None:
    _turn(state, data)
    if data["phase"] != "neutrality":
        state.verdict = data


def _synthesized(state: DebateState, data: SynthesisData) -> None:
    _turn(state, data)
    state.synthesis = data


def _counted(state: DebateState, data: VotesCountedData) -> None:
    state.counts.append(data)
    state.scheduled = None


def _measured(state: DebateState, data: SimilarityData) -> None:
    state.similarities.append(data)
    state.scheduled = None


def _refused(state: DebateState, data: CallRefusedData) -> None:
    state.refused = data


def _truncated(state: DebateState, data: TruncatedData) -> None:
    state.truncated = data
    _cut(state, data)


def _cut(state: DebateState, cut: CutData) -> None:
    state.cut = cut
    state.raised = False


def _decided(state: DebateState, data: DecisionData) -> None:
    state.decision = data
    state.scheduled = None


def _closed(state: DebateState, data: ClosedData) -> None:
    state.closed = data


# How each type of event changes the state: every type of FORMAT.md §3 stands here.
_FOLDS: Mapping[str, Callable[[DebateState, Any], None]] = {
    "debate.opened": _opened,
    "gate.answered": _gated,
    "debate.resumed": _resumed,
    "debater.registered": _registered,
    "evidence.admitted": _admitted,
    "call.started": _started,
    "call.refused": _refused,
    "call.answered": _answered,
    "call.failed": _failed,
    "tool.called": _called,
    "tool.returned": _returned,
    "turn.recorded": _turn,
    "turn.rejected": _rejected,
    "turn.forfeited": _forfeited,
    "verdict.recorded": _ruled,
    "synthesis.recorded": _synthesized,
    "votes.counted": _counted,
    "similarity.measured": _measured,
    "debate.truncated": _truncated,
    "decision.reached": _decided,
    "debate.closed": _closed,
}
