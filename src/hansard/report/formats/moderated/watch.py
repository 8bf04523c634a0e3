"""What a reader must know of a `moderated` debate: of each case made, and of its moderation."""

from __future__ import annotations

from collections.abc import Iterator

from hansard import vocabulary
from hansard.report import hollow
from hansard.report.fold import Folded, members, words_of
from hansard.report.governance import Found, Watch
from hansard.report.notes import Note, note
from hansard.report.words import FINDINGS, listed, place
from hansard.rules.citations import hold
from hansard.rules.data import TurnRecordedData, TurnRejectedData, VerdictData
from hansard.rules.fields import Case
from hansard.rules.formats.moderated.places import evidence_in, terms_of
from hansard.rules.prompts import TextOf
from hansard.rules.similarity import first_phrase
from hansard.rules.state import DebateState, Turn
from hansard.vocabulary import fill, many

PROMPT_REVIEW_BELOW = 5  # of 10 (RULES.md D 23)
_SOFT = frozenset(vocabulary.word("soft").split(", "))

# Notes


def _recorded(state: DebateState, data: TurnRecordedData, text_of: TextOf) -> Iterator[Note]:
    """What code can see of a proposition, a critique or a rebuttal."""
    case, who = data["case"], place(data["step"])
    if case is None:
        return
    rating, least = case["rating"], terms_of(state)["min_challenge_strength"]
    if rating and rating < least:
        yield note("weak_critique", who=who, rating=rating, least=least)
    if rating and evidence_in(state, data["round"]) and not hold(case["citations"]):
        yield note("uncited_critique", who=who)
    phrase = soft(_thesis(state.turns[-1], text_of)) if rating else None
    if phrase:
        yield note("soft_critique", who=who, phrase=phrase, rating=rating)
    yield from _review(who, rating)
    yield from _cited(who, case)
    if case["unanswered"]:
        yield note("unanswered", who=who, objections=listed(case["unanswered"]))
    if _conceded(state, case):
        yield note("capitulation", "conceded", who=who)


def _conceded(state: DebateState, case: Case) -> bool:
    """Whether a rebuttal concedes all objections that stand (RULES.md D 64)."""
    critique = state.turns[-2].case if state.turns[-1].role == "rebuttal" else None
    standing = critique["arguments"] - len(critique["struck"]) if critique else 0
    return standing > 0 and not case["arguments"] and not case["unanswered"]


def _thesis(turn: Turn, text_of: TextOf) -> str:
    """Return the thesis of a turn's reply; empty where it is gone."""
    reply = text_of(turn.reply["sha256"]) if turn.reply else None
    return words_of(members(reply), "thesis") or ""


def soft(thesis: str) -> str | None:
    """Return the first phrase of RULES.md D 23 by which a critic's thesis concedes; else None.

    >>> soft("This is generally reasonable, the font is small.")
    'generally reasonable'
    >>> soft("It isn't generally reasonable at all.")
    """
    return first_phrase(thesis, _SOFT)


def _cited(who: str, case: Case) -> Iterator[Note]:
    citation = vocabulary.word("citation")
    wrong = [
        fill(citation, **{**row, "finding": FINDINGS[row["finding"]]})
        for row in case["citations"]
        if row["finding"] != "verified"
    ]
    if wrong:
        told = vocabulary.words("struck")["more" if len(case["struck"]) > 1 else "one"]
        struck = fill(told, numbers=listed(case["struck"]))
        yield note("fabricated_citation", who=who, citations="; ".join(wrong), struck=struck)
    citing = {row["argument"] for row in case["citations"]}
    uncited = [number for number in range(1, case["arguments"] + 1) if number not in citing]
    if uncited:
        yield note("uncited", who=who, arguments=listed(uncited))


def _rejected(_: DebateState, data: TurnRejectedData, __: TextOf) -> Iterator[Note]:
    yield from _review(place(data["step"]), data["rating"])


def _review(who: str, rating: int | None) -> Iterator[Note]:
    if rating and rating < PROMPT_REVIEW_BELOW:
        yield note("prompt_review", who=who, rating=rating, limit=PROMPT_REVIEW_BELOW)


def _verdict(state: DebateState, data: VerdictData, _: TextOf) -> Iterator[Note]:
    if data["phase"] == "neutrality" and state.verdict:
        same = _outcome(state.verdict) == _outcome(data)
        yield note("neutrality_unchanged" if same else "neutrality_changed")
    last = data["round"] == terms_of(state)["max_rounds"]
    if data["phase"] == "moderation" and last and data["another_round"]:
        yield note("still_open", points=data["unresolved"])
    if data["phase"] == "moderation" and data["confidence"] == "HIGH" and not data["uncertainties"]:
        yield note("no_uncertainty")


def _outcome(data: VerdictData) -> tuple[bool | None, list[str]]:
    return data["upholds"], data["ranking"]


def _whole(state: DebateState) -> Iterator[Note]:
    priced = {row["model"] for row in state.spec["prices"]}
    unpriced = {seat["model"] for seat in state.seats.values()} - priced
    if unpriced:  # it is refused with a ceiling on cost
        yield note("no_ceiling", models=listed(sorted(unpriced)))
    if any(case["rating"] for case in _cases(state)):
        yield note("self_rated")
    if terms_of(state)["require_cited_critique"] and not state.evidence:
        yield note("nothing_to_cite")
    yield from _hollow(state)


def _hollow(state: DebateState) -> Iterator[Note]:
    """Yield that nothing found in the evidence stands behind the decision, where there was any."""
    if hollow.decision_of(state) is None:
        return
    documents = sum(row["from_round"] <= state.rounds_run for row in state.evidence)
    cited = [row for case in _cases(state) for row in case["citations"]]
    if documents and not hold(cited):
        said = {"citations": len(cited), "documents": many(documents, "document")}
        yield note("hollow_consensus", "uncited", **said)


# Rows


def _cases(state: DebateState) -> list[Case]:
    return [turn.case for turn in state.turns if turn.case]


def _rating(found: Folded) -> Found:
    terms = terms_of(found.state)
    ratings = [case["rating"] for case in _cases(found.state) if case["rating"]]
    parts = [vocabulary.found("critic_rating", "rated", ratings=listed(ratings))] if ratings else []
    parts += [
        vocabulary.found("critic_rating", "sent_back", rating=row["rating"])
        for row in found.sent_back.values()
        if row["code"] == "weak_critique"
    ]
    values = {
        "parts": "; ".join(parts),
        "least": terms["min_challenge_strength"],
        "below": terms["require_critic_retry_below"],
    }
    return Found("text" if parts else None, values)


def _citations(found: Folded) -> Found | None:
    cases = _cases(found.state)
    rows = [row["finding"] for case in cases for row in case["citations"]]
    good = rows.count("verified")
    values = {"good": good, "citations": many(len(rows), "citation")}
    kind = "good" if good == len(rows) else "struck"
    parts = [vocabulary.found("citations", kind, **values)]
    uncited = [row for row in found.sent_back.values() if row["code"] == "uncited_critique"]
    if uncited:
        parts.append(vocabulary.found("citations", "sent_back", critiques=len(uncited)))
    return Found(values={"parts": "; ".join(parts)}) if cases else None


def _objections(found: Folded) -> Found | None:
    cases = _cases(found.state)
    open_ = sum(len(case["unanswered"]) for case in cases)
    return Found("open" if open_ else "text", {"objections": open_}) if cases else None


def _neutrality(found: Folded) -> Found | None:
    for turn, _ in found.turns("moderator"):
        if turn.data["phase"] == "neutrality":
            if not turn.heard:
                return Found("silent")
            changed = any(row.code == "neutrality_changed" for row in found.notes)
            return Found("changed" if changed else "same")
    return None


def _open_points(found: Folded) -> Found | None:
    last = found.state.verdict
    if last is None:
        return None
    values = {
        "points": many(last["unresolved"], "open point"),
        "uncertainties": many(last["uncertainties"], "uncertainty"),
        "confidence": (last["confidence"] or "").lower(),
    }
    return Found(values=values, review=last["unresolved"] > 0)


WATCH = Watch(
    events={
        "turn.recorded": _recorded,
        "turn.rejected": _rejected,
        "verdict.recorded": _verdict,
    },
    whole=_whole,
    rows={
        "critic_rating": _rating,
        "citations": _citations,
        "objections": _objections,
        "neutrality": _neutrality,
        "open_points": _open_points,
    },
)
