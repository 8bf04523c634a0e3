"""The fold of a record's events from which every result is made, and what all results share."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, cast

from hansard.report import alike, notes, overall
from hansard.report.notes import Note
from hansard.report.result import (
    Calls,
    Charged,
    Document,
    Limits,
    Participant,
    Stance,
    Theatre,
    ToolUse,
    Truncation,
    Usage,
)
from hansard.report.words import GONE
from hansard.rules import replies, spending, steps
from hansard.rules.data import (
    CallAnsweredData,
    CallFailedData,
    ToolCalledData,
    ToolReturnedData,
    TurnRejectedData,
)
from hansard.rules.events import Event
from hansard.rules.fields import Blob
from hansard.rules.prompts import TextOf
from hansard.rules.state import DebateState, Spend, Turn, evolve, speaker_of, step_of
from hansard.rules.terms import ARGUING, Role


@dataclass(slots=True)
class Used:
    """What a seat used, beside its `Spend`."""

    failed: int = 0  # calls that brought no reply, abandoned ones aside
    saved_micro_usd: int = 0  # by the cache
    cache_stated: bool = False  # a reply says what was read from the cache

    def plus(self, other: Used) -> Used:
        """Return what two used together."""
        return Used(
            self.failed + other.failed,
            self.saved_micro_usd + other.saved_micro_usd,
            self.cache_stated or other.cache_stated,
        )


@dataclass(slots=True)
class Folded:
    """A record's last state, and what of its events the state does not keep."""

    text_of: TextOf
    state: DebateState = field(default_factory=DebateState)
    seqs: list[int] = field(default_factory=list)  # the entry of each turn
    notes: list[Note] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    unpriced: int = 0  # replies whose cost is not known
    used: defaultdict[str, Used] = field(default_factory=lambda: defaultdict(Used))  # by seat
    sent_otherwise: list[str] = field(default_factory=list)  # calls: not as they were rendered
    sent_back: dict[str, int] = field(default_factory=dict)  # ratings of weak critiques, by step
    tokens: Counter[tuple[int, Role]] = field(default_factory=Counter)  # by round and role
    called: list[tuple[int, ToolCalledData]] = field(default_factory=list)
    returned: dict[tuple[str, int], ToolReturnedData] = field(default_factory=dict)

    def turns(self, *roles: Role) -> Iterator[tuple[Turn, int]]:
        """Yield the turns of these roles, each with its entry."""
        rows = zip(self.state.turns, self.seqs, strict=True)
        return ((row, seq) for row, seq in rows if row.role in roles)

    def text(self, blob: Blob | None) -> str | None:
        """Return a blob's text; None where it is gone, or there is none."""
        return self.text_of(blob["sha256"]) if blob else None

    def shown(self, blob: Blob | None) -> str | None:
        """Return a blob's text, or that it is gone; None where there is none."""
        return (self.text(blob) or GONE) if blob else None

    def value(self, turn: Turn) -> dict[str, Any]:
        """Return the members of a turn's reply; none where it is gone or was altered."""
        try:
            value = replies.read(self.text(turn.reply) or "")
        except replies.Unreadable:
            return {}
        return value if isinstance(value, dict) else {}

    def words(self, turn: Turn) -> str | None:
        """Return a reply in words, trimmed as it is read."""
        text = self.text(turn.reply)
        return None if text is None else cast(str, replies.value_of(text, replies.words()))


def fold(events: Iterable[Event], text_of: TextOf) -> Folded:
    """Fold the events of one record, which must follow the rules."""
    found = Folded(text_of)
    for event in events:
        _add(found, event)
    return found


def _add(found: Folded, event: Event) -> None:
    state = evolve(found.state, event)
    found.kinds[event["type"]] += 1
    if len(state.turns) > len(found.seqs):
        found.seqs.append(event["seq"])
    keep = _KEPT.get(event["type"])
    if keep:
        keep(found, event["data"])
    found.notes += notes.of_event(state, event, found.text_of)


def _failed(found: Folded, data: CallFailedData) -> None:
    if data["error"] != "abandoned":
        found.used[speaker_of(step_of(data["call"]))].failed += 1
    if data["sent_as_rendered"] is False:
        found.sent_otherwise.append(data["call"])


def _answered(found: Folded, data: CallAnsweredData) -> None:
    place = steps.place_of(step_of(data["call"]))
    used, seat = found.used[place.speaker], found.state.seats[place.speaker]
    if data["sent_as_rendered"] is False:
        found.sent_otherwise.append(data["call"])
    found.unpriced += data["cost_micro_usd"] is None
    found.tokens[place.round, seat["role"]] += (data["tokens_in"] or 0) + (data["tokens_out"] or 0)
    used.cache_stated |= data["tokens_cached"] is not None
    used.saved_micro_usd += spending.saved(
        found.state.spec["prices"], seat["model"], spending.Tokens.of(data)
    )


def _rejected(found: Folded, data: TurnRejectedData) -> None:
    if data["rating"]:
        found.sent_back[data["step"]] = data["rating"]


def _tool_called(found: Folded, data: ToolCalledData) -> None:
    found.called.append((found.state.seq, data))


def _tool_returned(found: Folded, data: ToolReturnedData) -> None:
    found.returned[data["call"], data["number"]] = data


# What is kept of an event beside what the state keeps of it.
_KEPT: Mapping[str, Callable[[Folded, Any], None]] = {
    "call.answered": _answered,
    "call.failed": _failed,
    "turn.rejected": _rejected,
    "tool.called": _tool_called,
    "tool.returned": _tool_returned,
}


def turn_of(turn: Turn, seq: int) -> dict[str, Any]:
    """Return the fields of a turn that every format shows."""
    reason = cast(Any, turn.data).get("reason")
    return {"status": "forfeited" if reason else "counted", "reason": reason, "seq": seq}


def tally_of(state: DebateState) -> dict[str, int]:
    """Count the current votes of those who had a turn (D 2)."""
    spoken = {row.data["speaker"] for row in state.turns}
    held = [vote for seat, vote in state.votes.items() if seat in spoken]
    tally = dict(Counter(vote for vote in held if vote is not None))
    silent = held.count(None)
    return tally | ({"abstain": silent} if silent else {})


def words_of(value: dict[str, Any], key: str) -> str | None:
    """Return the member `key` where it is text; an altered reply may hold anything."""
    found = value.get(key)
    return found if isinstance(found, str) else None


def points_of(value: dict[str, Any], key: str) -> tuple[str, ...]:
    """Return the texts in the member `key`."""
    found = value.get(key)
    rows = found if isinstance(found, list) else ()
    return tuple(row for row in rows if isinstance(row, str))


def rows_of(value: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the objects in the member `key`."""
    found = value.get(key)
    rows = found if isinstance(found, list) else ()
    return [row for row in rows if isinstance(row, dict)]


def common(found: Folded) -> dict[str, Any]:
    """Return the fields that the results of all formats have; drift and shares aside."""
    state, spec = found.state, found.state.spec
    decision, closed = state.decision, state.closed
    turns = [row.data for row in state.turns if row.role != "synthesizer"]
    entered = dict.fromkeys((row["round"], row["phase"]) for row in turns)
    return {
        "debate": state.debate,
        "engine": spec["engine"],
        "format": spec["terms"]["format"],
        "name": spec["name"],
        "collection_id": spec["collection_id"],
        "scripted": spec["scripted"],
        "question": found.text(spec["question"]),
        "status": closed["outcome"] if closed else "open",
        "reason": closed["reason"] if closed else None,
        "opened_at": state.opened_at,
        "closed_at": state.at if closed else None,
        "entries": state.seq,
        "debater_ids": tuple(seat["id"] for seat in state.of_role(*ARGUING)),
        "layout": spec["layout"],
        "leading_call": spec["leading_call"],
        "max_rounds": spec["terms"]["max_rounds"],
        "rounds_run": turns[-1]["round"] if turns else 0,
        "speaker_schedule": tuple(row["speaker"] for row in turns),
        "phase_sequence": tuple(phase for _, phase in entered),
        "decision": decision["decision"] if decision else None,
        "decision_rule": decision["rule"] if decision else None,
        "output": _output(found),
        "truncated": _truncation(found),
        "review": found.shown(decision["review"]) if decision else None,
        "seats": _seats(found),
        "evidence": _evidence(found),
        "prices": tuple(spec["prices"]),
        "limits": Limits(**spec["limits"]),
        "charged": Charged(
            tokens=state.used_tokens,
            cost_micro_usd=state.used_micro_usd if spec["prices"] else None,
        ),
        "totals": _usage(
            state.total(), reduce(Used.plus, found.used.values(), Used()), bool(spec["prices"])
        ),
        "calls": _calls(found),
        "tools": _tools(found),
        "resumes": state.resumes,
        "theatre": _theatre(found),
        "notes": (
            *overall.notes(state, found.unpriced, found.sent_otherwise, found.text_of),
            *found.notes,
        ),
    }


def _calls(found: Folded) -> Calls:
    failures = found.state.failures
    abandoned = sum(row["error"] == "abandoned" for row in failures)
    return Calls(
        asked=found.kinds["call.started"],
        answered=found.kinds["call.answered"],
        failed=len(failures) - abandoned,
        rejected=found.state.rejections,
        abandoned=abandoned,
    )


def _output(found: Folded) -> Any:
    synthesis = found.state.synthesis
    try:
        return replies.read(found.text(synthesis["text"]) or "") if synthesis else None
    except replies.Unreadable:
        return None


def _truncation(found: Folded) -> Truncation | None:
    cut = found.state.truncated
    return Truncation(**cut) if cut else None


def _seats(found: Folded) -> tuple[Participant, ...]:
    state, terms = found.state, cast(Any, found.state.spec["terms"])
    prices = state.spec["prices"]
    votes: dict[str, list[str | None]] = {seat: [] for seat in state.seats}
    for turn in state.turns:
        if turn.role == "debater" and terms.get("options"):
            votes[turn.data["speaker"]].append(turn.vote)
    return tuple(
        Participant(
            id=key,
            role=seat["role"],
            model=seat["model"],
            parameters=seat["parameters"],
            agent_type=seat["agent_type"],
            persona=found.shown(seat["persona"]),
            stance=Stance(label=seat["stance"]["label"], text=found.text(seat["stance"]["text"]))
            if seat["stance"]
            else None,
            votes=tuple(votes[key]),
            **_usage(
                state.spend[key],
                found.used[key],
                spending.price_of(prices, seat["model"]) is not None,
            ).model_dump(),
        )
        for key, seat in state.seats.items()
    )


def _evidence(found: Folded) -> tuple[Document, ...]:
    rows = []
    for row in found.state.evidence:
        text = found.text(row["text"])
        rows.append(
            Document(
                id=row["document"],
                from_round=row["from_round"],
                characters=len(text) if text is not None else None,
                sha256=row["text"]["sha256"],
            )
        )
    return tuple(rows)


def _usage(spend: Spend, used: Used, priced: bool) -> Usage:
    shared = used.cache_stated and spend.tokens_in
    return Usage(
        calls=spend.calls,
        failed=used.failed,
        tokens_in=spend.tokens_in,
        tokens_cached=spend.tokens_cached,
        tokens_cache_write=spend.tokens_cache_write,
        tokens_out=spend.tokens_out,
        cached_ppm=min(10**6, spend.tokens_cached * 10**6 // spend.tokens_in) if shared else None,
        cost_micro_usd=spend.cost_micro_usd if priced else None,
        saved_micro_usd=used.saved_micro_usd if priced else None,
    )


def _tools(found: Folded) -> tuple[ToolUse, ...]:
    rows = []
    for seq, called in found.called:
        name = called["tool"]
        back = found.returned.get((called["call"], called["number"]))
        rows.append(
            ToolUse(
                call=called["call"],
                tool=name if isinstance(name, str) else found.text(name),
                arguments=found.text(called["arguments"]),
                result=found.text(back["result"]) if back else None,
                ok=back["ok"] if back else None,
                seq=seq,
            )
        )
    return tuple(rows)


def _theatre(found: Folded) -> tuple[Theatre, ...]:
    rows = alike.theatre(found.state, found.text_of)
    return tuple(Theatre(**row._asdict()) for row in rows)
