"""What happens in a debate, one line each, while it happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hansard.cli.console import money
from hansard.debate import replies
from hansard.debate.events import (
    CallAnsweredData,
    DecisionData,
    Event,
    TurnRecordedData,
    VotesCountedData,
)
from hansard.debate.state import DebateState, evolve, speaker_of
from hansard.report import notes
from hansard.report.safe import one_line

TextOf = Callable[[str, str], str]  # the text of a debate's blob, from the store


@dataclass(frozen=True, slots=True)
class Happening:
    """One line: the entry it stands for, who acted, and in a turn its vote, cost and time."""

    seq: int
    who: str
    text: str
    place: str = ""
    vote: str = ""
    cost: str = ""
    time: str = ""


class Follower:
    """Folds a debate's events and says of each what there is to show."""

    def __init__(self, text_of: TextOf) -> None:
        self.state = DebateState()
        self._text_of = text_of
        self._answers: dict[str, CallAnsweredData] = {}  # whose turn is not recorded yet

    def fold(self, event: Event) -> None:
        """Take an event in without a word."""
        evolve(self.state, event)
        if event["type"] == "call.answered":
            self._answers[event["data"]["call"]] = event["data"]
        elif event["type"] == "turn.rejected":
            del self._answers[event["data"]["call"]]

    def follow(self, event: Event) -> Iterator[Happening]:
        """Take an event in and yield what it means."""
        self.fold(event)
        seq = event["seq"]
        if event["type"] == "debate.opened":
            yield Happening(seq, "control", f"debate {event['debate']} is open")
        elif event["type"] == "turn.recorded":
            yield self._turn(seq, event["data"])
        elif event["type"] == "call.failed" and event["data"]["error"] != "abandoned":
            data = event["data"]
            speaker = speaker_of(data["call"].rpartition(":")[0])
            detail = f" ({data['detail']})" if data["detail"] else ""
            then = "asked again" if data["again"] else "not asked again"
            yield Happening(
                seq, "control", f"No reply from {speaker}: {data['error']}{detail}; {then}"
            )
        elif event["type"] == "votes.counted":
            yield Happening(seq, "count", counted(event["data"]))
        elif event["type"] == "decision.reached":
            yield Happening(seq, "decision", decided(event["data"]))
        # Notes that rest on a text would be about one that is gone: none is, while it runs.
        for note in notes.of_event(self.state, event, lambda _: ""):
            yield Happening(seq, "control", note.message)

    def _turn(self, seq: int, turn: TurnRecordedData) -> Happening:
        answer = self._answers.pop(turn["call"])
        reply = replies.read(self._text_of(self.state.debate, answer["reply"]["sha256"]))
        return Happening(
            seq,
            turn["speaker"],
            one_line(reply["stance"]),
            place=f"round {turn['round']} {turn['phase']}",
            vote=turn["vote"],
            cost=money(answer["cost_micro_usd"]),
            time=f"{answer['latency_ms'] / 1000:.0f}s",
        )


def counted(count: VotesCountedData) -> str:
    """Say what was counted after a phase."""
    votes = [f"{row['option']} {row['votes']}" for row in count["tally"] if row["votes"]]
    votes += [f"abstain {count['abstentions']}"] if count["abstentions"] else []
    reached = "reached" if count["reached"] else "not reached"
    where = f"round {count['round']} {count['phase']}"
    return f"{where}: {', '.join(votes)}; threshold {count['threshold']} {reached}"


def decided(decision: DecisionData) -> str:
    """Say what was decided and under which rule."""
    return f"{decision['decision']} ({decision['rule']})"
