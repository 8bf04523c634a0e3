"""Votes that changed: towards whom, with what behind it, and what hangs on it (RULES.md D 64).

All of it is read from votes, phases and the rounds of documents. Nobody knows from these why a
vote changed: reasons are texts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from hansard.report import hollow, signals
from hansard.report.fold import Folded
from hansard.report.notes import Note, note
from hansard.report.words import few, listed, place
from hansard.rules.data import DecisionData
from hansard.rules.state import DebateState, Turn
from hansard.rules.terms import votes_stand
from hansard.vocabulary import many


class Change(NamedTuple):
    """A vote for another option than the debater's last vote."""

    turn: Turn
    seq: int
    before: str
    after: str
    towards: tuple[str, ...]  # who held it when the debater spoke
    given_up: bool  # for a vote of others that it had withstood, with nothing new to see


class _Cast(NamedTuple):
    """A debater's last vote, the votes that were seen when it was cast, and its round."""

    vote: str
    seen: Mapping[str, str | None]
    round: int


def changes(found: Folded) -> Iterator[Change]:
    """Yield each change of a vote, in the order of turns."""
    held: dict[str, str | None] = {}
    last: dict[str, _Cast] = {}
    own: defaultdict[str, set[str]] = defaultdict(set)
    for rows in signals.groups(found) if votes_stand(found.state.spec["terms"]) else ():
        seen = dict(held)
        for turn, seq in rows:
            seat, vote, round_ = turn.data["speaker"], turn.vote, turn.data["round"]
            held[seat] = vote
            if vote is None:
                continue
            old = last.get(seat)
            if old and old.vote != vote:
                towards = _holders(seen, vote)
                known = {*towards} <= {*_holders(old.seen, vote)}
                still = known and not _admitted(found.state, old.round, round_)
                free = turn.data["phase"] == "revision" or vote in own[seat]
                given_up = bool(towards) and still and not free
                yield Change(turn, seq, old.vote, vote, towards, given_up)
            last[seat] = _Cast(vote, seen, round_)
            own[seat].add(vote)


def _holders(votes: Mapping[str, str | None], option: str) -> tuple[str, ...]:
    return tuple(seat for seat, vote in votes.items() if vote == option)


def _admitted(state: DebateState, before: int, now: int) -> bool:
    """Say whether a document came into view after the one round, up to the other."""
    return any(before < row["from_round"] <= now for row in state.evidence)


def of_turns(rows: Sequence[Change]) -> Iterator[Note]:
    """Yield a note on each change."""
    for row in rows:
        who, towards = place(row.turn.data["step"]), few(row.towards)
        said = {"who": who, "before": row.before, "after": row.after, "towards": towards}
        if row.given_up:
            found = note("capitulation", "text", **said)
        else:
            found = note("drift", "towards" if towards else "alone", **said)
        yield found.model_copy(update={"seq": row.seq})


def of_outcome(state: DebateState, rows: Sequence[Change]) -> Iterator[Note]:
    """Yield what a counted decision owes to votes that were given up, or to who spoke first."""
    decision = hollow.decision_of(state)
    if decision is None or not decision["rule"].endswith("_vote"):
        return
    yield from _carried(state, decision, rows)
    yield from _first(state, decision["decision"])


def _carried(state: DebateState, decision: DecisionData, rows: Sequence[Change]) -> Iterator[Note]:
    option, votes, least = decision["decision"], decision["votes"], decision["threshold"]
    last = {row.turn.data["speaker"]: row for row in rows}
    seats = [seat for seat, row in last.items() if row.given_up and state.votes[seat] == option]
    if votes is None or least is None or not seats:
        return
    left = votes - len(seats)
    if left < least:
        said = {"seats": listed(seats), "option": option, "votes": many(left, "vote")}
        yield note("capitulation", "carried", threshold=least, **said)


def _first(state: DebateState, option: str) -> Iterator[Note]:
    """Yield that all have come to what the first who voted had voted for."""
    firsts: dict[str, str] = {}
    for turn in state.turns:
        if turn.role == "debater" and turn.vote:
            firsts.setdefault(turn.data["speaker"], turn.vote)
    others = [seat for seat, vote in firsts.items() if vote != option]
    speaker = next(iter(firsts), "")
    if others and speaker not in others and {*state.votes.values()} == {option}:
        said = {"speaker": speaker, "option": option, "others": listed(others)}
        yield note("first_answer", **said)
