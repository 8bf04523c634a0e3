"""Notes on a debate as a whole: who sits at the table, and what was used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from hansard import vocabulary
from hansard.report import alike, gating, served, signals
from hansard.report.fold import Folded
from hansard.report.notes import Note, NoteCode, note
from hansard.report.words import amount, few, kin, listed, percent, place, rejection
from hansard.rules import spending
from hansard.rules.data import TurnRejectedData
from hansard.rules.fields import UNTRIED, Ceiling, Gate
from hansard.rules.prompts import TextOf
from hansard.rules.state import DebateState, Turn
from hansard.rules.terms import ARGUING, JUDGING
from hansard.rules.transcript import CUSTOM
from hansard.vocabulary import fill, many

_OFFLINE: tuple[NoteCode, ...] = ("scripted", "recorded")  # also what their models begin with


def notes(found: Folded) -> Iterator[Note]:
    """Yield what must be known of the debate as a whole."""
    state = found.state
    yield from of_table(state, found.text_of)
    failed = sum(row["error"] not in UNTRIED for row in state.failures)
    if failed:
        yield note("failed", "total", failed=failed, calls=many(state.total().calls, "call"))
    yield from _rejected(found)
    yield from _over_ceiling(state)
    if state.refused:
        yield note("refused", "total", role=state.refused["role"])
    if state.spec["policy"]:
        yield note("policy", policy=state.spec["policy"][:16])
    if found.unpriced and state.spec["prices"]:
        yield note("cost_incomplete", replies=many(found.unpriced, "reply"))
    yield from _charged(state)
    if found.sent_otherwise:
        yield note("sent_otherwise", calls=few(found.sent_otherwise))
    for asked, name, calls in served.otherwise(found):
        yield note("served_otherwise", asked=asked, served=name, calls=few(calls))
    yield from _dominant(found)


def _dominant(found: Folded) -> Iterator[Note]:
    """Say who wrote far more than the others, once all have spoken (RULES.md D 66)."""
    row = signals.dominant(found) if found.state.closed else None
    if row:
        share = percent(signals.MILLION * row.characters // row.total)
        yield note("dominance", seat=row.seat, share=share, times=signals.DOMINANT)


def _rejected(found: Folded) -> Iterator[Note]:
    """Say which turns were forfeited although replies came, and why the last one did not count."""
    steps = [row.data["step"] for row in found.state.turns if _reason(row) == "invalid_reply"]
    if steps:
        whose = [_why(found.rejected[step]) for step in steps]
        yield note("forfeited", "total", turns=many(len(steps), "turn"), whose=few(whose))


def _reason(turn: Turn) -> object:
    return cast("Any", turn.data).get("reason")  # of a forfeited one; no other has it


def _why(data: TurnRejectedData) -> str:
    why = rejection(data["code"], data["member"], data["keyword"])
    return fill(vocabulary.word("because"), who=place(data["step"]), why=why)


def _charged(state: DebateState) -> Iterator[Note]:
    """Say what counts against the ceilings, where that is more than what is known to be used."""
    total, limits = state.total(), spending.limits_of(state)
    known: dict[Ceiling, tuple[int, int]] = {
        "tokens": (state.used_tokens, total.tokens_in + total.tokens_out),
        "cost": (state.used_micro_usd, total.cost_micro_usd),
    }
    for ceiling, (charged, used) in known.items():
        if ceiling in limits and charged != used:
            yield note("charged", charged=amount(ceiling, charged), used=amount(ceiling, used))


def _over_ceiling(state: DebateState) -> Iterator[Note]:
    """Say which ceiling was passed all the same, by calls that used more than was reserved."""
    if state.closed is None:
        return
    spent = spending.spent_by(state, state.at)
    met = state.cut["ceiling"] if state.cut else None  # which is said already
    for ceiling, limit in spending.limits_of(state).items():
        if spent[ceiling] > limit and ceiling != met:
            used = amount(ceiling, spent[ceiling])
            yield note("over_ceiling", spent=used, limit=amount(ceiling, limit))


def _against(gate: Gate | None) -> Iterator[Note]:
    """Say that the gate does not advise this debate."""
    if gate and not gate["advised"]:
        yield note("against_gate", why=gating.why(gate))


def of_table(state: DebateState, text_of: TextOf) -> Iterator[Note]:
    """Yield what must be known of who sits at the table: all of it is known at the opening."""
    spec = state.spec
    for code in _OFFLINE:
        seats = [key for key, seat in state.seats.items() if seat["model"].startswith(f"{code}:")]
        if seats:
            yield note(
                code, "all" if len(seats) == len(state.seats) else "some", seats=listed(seats)
            )
    for row in alike.theatre(state, text_of):
        shared = kin(row.model, row.family)
        yield note(
            "theatre", "persona" if row.persona else "bare", seats=listed(row.seats), kin=shared
        )
    for critic in state.of_role("critic"):
        for proposer in state.of_role("proposer"):
            found = alike.shared(critic, proposer)
            if found:
                yield note("single_model", proposer=proposer["id"], critic=critic["id"], kin=found)
    for judge in state.of_role(*JUDGING):
        of = {seat["id"]: alike.shared(judge, seat) for seat in state.of_role(*ARGUING)}
        for found in dict.fromkeys(filter(None, of.values())):
            judged = listed(seat for seat, row in of.items() if row == found)
            yield note("self_bias", judge=judge["id"], judged=judged, kin=found)
    yield from _against(spec["gate"])
    custom = [key for key, seat in state.seats.items() if seat["model"].startswith(CUSTOM)]
    meant = bool(spec["context"] or spec["instructions"] or spec["tools"])
    meant |= any(seat["instructions"] for seat in state.seats.values())
    if custom and (meant or any(state.seats[key]["persona"] for key in custom)):
        yield note("custom_seats", seats=listed(custom))
