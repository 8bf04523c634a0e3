"""What the results of all formats have in common, made from a folded record."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any, cast

from hansard.report import alike, gating, governance, overall, reviews, signals, swayed
from hansard.report.fold import Folded, Used
from hansard.report.governance import Watch
from hansard.report.parts import (
    Asked,
    Calls,
    CeilingUse,
    Charged,
    Document,
    Limits,
    Named,
    Participant,
    SourceFile,
    Stance,
    TextUse,
    Theatre,
    ToolUse,
    Truncation,
    Usage,
)
from hansard.report.sentences import decided_text
from hansard.report.words import REASONS, stopper
from hansard.rules import replies, spending
from hansard.rules.data import EvidenceData, TurnForfeitedData
from hansard.rules.fields import UNTRIED, Blob, Person
from hansard.rules.state import Spend, speaker_of
from hansard.rules.terms import ARGUING, votes_stand


def common(found: Folded, watch: Watch) -> dict[str, Any]:
    """Return the fields that the results of all formats have, with what a format adds to them.

    Drift aside, which each format has of its own.
    """
    state, spec = found.state, found.state.spec
    closed = state.closed
    turns = [row.data for row in state.turns if row.role != "synthesizer"]
    entered = dict.fromkeys((row["round"], row["phase"]) for row in turns)
    people, released = reviews.reviewed(state, found.text, found.reader)
    changed = tuple(swayed.changes(found))
    noted = (
        *watch.whole(state),
        *overall.notes(found),
        *swayed.of_outcome(state, changed),
        *sorted((*found.notes, *swayed.of_turns(changed)), key=lambda row: row.seq or 0),
    )
    return {
        "debate": state.debate,
        **_opened(found),
        **_decided(found),
        "status": closed["outcome"] if closed else "open",
        "reason": closed["reason"] if closed else None,
        "opened_at": state.opened_at,
        "closed_at": state.at if closed else None,
        "entries": state.seq,
        "debater_ids": tuple(seat["id"] for seat in state.of_role(*ARGUING)),
        "rounds_run": turns[-1]["round"] if turns else 0,
        "speaker_schedule": tuple(row["speaker"] for row in turns),
        "phase_sequence": tuple(phase for _, phase in entered),
        "output": _output(found),
        "output_missing": _missing(found),
        "truncated": _truncation(found),
        "reviewed": people,
        "released": released,
        "seats": _seats(found),
        "evidence": _evidence(found),
        "charged": Charged(
            tokens=state.used_tokens,
            cost_micro_usd=state.used_micro_usd if spec["prices"] else None,
        ),
        "ceilings": _ceilings(found),
        "totals": _usage(
            state.total(), reduce(Used.plus, found.used.values(), Used()), bool(spec["prices"])
        ),
        "calls": _calls(found),
        "asked": tuple(_asked(found)),
        "texts": tuple(_texts(found)),
        "tools": _tools(found),
        "resumes": state.resumes,
        "theatre": _theatre(found),
        "shares": signals.shares(found),
        "notes": noted,
        "governance": tuple(governance.rows(found, noted, watch.rows)),
    }


def _opened(found: Folded) -> dict[str, Any]:
    """Return what the opening says as it stands there."""
    spec = found.state.spec
    return {
        "engine": spec["engine"],
        "format": spec["terms"]["format"],
        "name": spec["name"],
        "collection_id": spec["collection_id"],
        "task_type": spec["task_type"],
        "requester": _named(found, spec["requester"]),
        "owner": _named(found, spec["owner"]),
        "labels": tuple(spec["labels"]),
        "retention": spec["retention"],
        "origin": spec["origin"],
        "estimate": spec["estimate"],
        "gate": gating.answered(spec["gate"], found.text_of),
        "scripted": spec["scripted"],
        "question": found.text(spec["question"]),
        "layout": spec["layout"],
        "leading_call": spec["leading_call"],
        "max_rounds": spec["terms"]["max_rounds"],
        "prices": tuple(spec["prices"]),
        "limits": Limits(**spec["limits"]),
        "templates": tuple(spec["templates"]),
    }


def _decided(found: Folded) -> dict[str, Any]:
    """Return what was decided, and who must look at it."""
    state, decision = found.state, found.state.decision
    return {
        "decision": decision["decision"] if decision else None,
        "decision_text": decided_text(state, found.text_of),
        "decision_rule": decision["rule"] if decision else None,
        "review": found.shown(decision["review"]) if decision else None,
    }


def _named(found: Folded, person: Person | None) -> Named | None:
    return Named(name=found.text(person["name"]), key=person["key"]) if person else None


def _asked(found: Folded) -> Iterator[Asked]:
    for seq, started in found.started:
        answer = found.answers.get(started["call"])
        served, fingerprint = (answer["model"], answer["fingerprint"]) if answer else (None, None)
        yield Asked(
            seq=seq,
            call=started["call"],
            seat=speaker_of(started["step"]),
            model=started["model"],
            served=_stated(found, served),
            fingerprint=_stated(found, fingerprint),
            template=started["template"],
            schema_hash=started["schema"],
            prompt=started["prompt"],
            reply=answer["reply"]["sha256"] if answer else None,
        )


def _stated(found: Folded, value: str | Blob | None) -> str | None:
    """Return what a provider said: an id, or the text of one that is none."""
    return value if value is None or isinstance(value, str) else found.shown(value)


def _texts(found: Folded) -> Iterator[TextUse]:
    spec = found.state.spec
    whole: dict[str, Blob | None] = {
        "question": spec["question"],
        "context": spec["context"],
        "instructions": spec["instructions"],
    }
    for seat in found.state.seats.values():
        whole[f"persona of {seat['id']}"] = seat["persona"]
        for row in seat["instructions"] or ():
            whole[f"instructions of {seat['id']} from round {row['round']}"] = row["text"]
        if seat["stance"]:
            whole[f"stance {seat['stance']['label']}"] = seat["stance"]["text"]
    for what, blob in whole.items():
        if blob:
            yield TextUse(what=what, sha256=blob["sha256"])


def _calls(found: Folded) -> Calls:
    failures = found.state.failures
    abandoned = sum(row["error"] in UNTRIED for row in failures)
    return Calls(
        asked=found.kinds["call.started"],
        answered=found.kinds["call.answered"],
        failed=len(failures) - abandoned,
        rejected=found.state.rejections,
        abandoned=abandoned,
        compared=found.compared,
    )


def _ceilings(found: Folded) -> tuple[CeilingUse, ...]:
    state = found.state
    limits, spent = spending.limits_of(state), spending.spent_by(state, state.at)
    return tuple(
        CeilingUse(name=name, limit=limit, spent=spent[name]) for name, limit in limits.items()
    )


def _output(found: Folded) -> Any:
    synthesis = found.state.synthesis
    try:
        return replies.read(found.text(synthesis["text"]) or "") if synthesis else None
    except replies.Unreadable:
        return None


def _missing(found: Folded) -> str | None:
    """Say why nobody wrote the deliverable that was asked for; None where it is there."""
    last = found.state.turns[-1] if found.state.turns else None
    if last is None or last.role != "synthesizer" or last.heard:
        return None
    data = cast(TurnForfeitedData, last.data)
    said = REASONS[data["reason"]]
    if data["reason"] == "operator" and data["cut"]:
        by, reason = found.shown(data["cut"]["by"]), found.shown(data["cut"]["reason"])
        said += f", {stopper(by, reason)}"
    return said


def _truncation(found: Folded) -> Truncation | None:
    cut = found.state.truncated
    if cut is None:
        return None
    said = {"by": found.shown(cut["by"]), "reason": found.shown(cut["reason"])}
    return Truncation(**{**cut, **said})


def _seats(found: Folded) -> tuple[Participant, ...]:
    state, terms = found.state, found.state.spec["terms"]
    votes: dict[str, list[str | None]] = {seat: [] for seat in state.seats}
    for turn in state.turns:
        if turn.role == "debater" and votes_stand(terms):
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
                seat["model"] in state.prices,
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
                source=_source(found, row),
            )
        )
    return tuple(rows)


def _source(found: Folded, row: EvidenceData) -> SourceFile | None:
    source, original = row["source"], row["original"]
    if source is None:
        return None
    return SourceFile(
        media_type=source["media_type"],
        sha256=found.text(source["file"]),
        extractor=source["extractor"],
        pages=source["pages"],
        original=original["sha256"] if original else None,
    )


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
