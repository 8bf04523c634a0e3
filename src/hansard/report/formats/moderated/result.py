"""The result of a `moderated` debate: each round's case, attack and answer, and its moderation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, cast

from pydantic import Field

from hansard.report import signals
from hansard.report.common import common
from hansard.report.fold import Folded, points_of, rows_of, turn_of, words_of
from hansard.report.formats.moderated.parts import (
    Answer,
    Cited,
    Concession,
    Critique,
    Exchange,
    Framing,
    Moderation,
    Neutrality,
    NumberedArgument,
    Proposition,
    Rebuttal,
    Round,
)
from hansard.report.formats.moderated.source import STATUS, ModeratedSource, round_record
from hansard.report.formats.moderated.watch import PROMPT_REVIEW_BELOW, WATCH
from hansard.report.parts import Stance
from hansard.report.result import lines, listed
from hansard.report.safe import one_line
from hansard.report.shown import Shown
from hansard.report.words import GONE
from hansard.rules.citations import Paged
from hansard.rules.fields import Case
from hansard.rules.formats.moderated.places import target_of, terms_of
from hansard.rules.state import Turn


class ModeratedResult(Shown):
    """What became of a debate in the `moderated` format: its rounds, and the last moderation.

    A debate that was cut short has no decision, but the last `moderation`
    there was; the points in it that are unresolved are open.
    """

    format: Literal["moderated"] = Field(description="The format of the debate")
    positions: tuple[Stance, ...] = Field(
        description="The positions that were ranked; none where one proposition was argued"
    )
    framing: Framing | None = Field(
        description="The proposition; null where the framer was not heard"
    )
    moderation: Moderation | None = Field(description="The last that was heard: the best standing")
    wants_more: bool = Field(
        description="Whether the moderator wanted another round when the last one was over"
    )
    neutrality: Neutrality | None = Field(
        description="The moderation with the sides in the other order; null where not asked"
    )
    require_critic_retry_below: int = Field(
        description="From 1 to 10: a critique that rated itself below was sent back"
    )
    min_challenge_strength: int = Field(
        description="A last critique that rated itself below is weak, from 1 to 10"
    )
    require_cited_critique: bool = Field(
        description="Whether a critique without a citation that holds was sent back once"
    )
    rounds: tuple[Round, ...] = Field(description="The rounds, each with its turns")

    @property
    def first_answer(self) -> str | None:
        """The first position, or that the proposition is upheld, which the proposer argues."""
        return super().first_answer if self.positions else "upheld"

    def to_report(self) -> str:
        """Return the signals of the debate, one a line, without a last line end."""
        last = self.moderation
        more: dict[str, str] = {}
        if self.positions:
            more["positions"] = listed(tuple(row.label for row in self.positions))
            more["ranking"] = listed(last.ranking if last else ())
        if last is None:
            more["confidence"] = "none"
            return lines({**self.signals(), **more, **self.ended()})
        scores = tuple(f"{side}: {score}" for side, score in last.scores.items())
        more |= {
            "confidence": last.confidence or "none",
            "scores": f"{{{', '.join(scores)}}}",
            "synthesis": one_line(last.synthesis or GONE),
            "open_points": str(last.unresolved),
        }
        rows = [f"open_point: {one_line(point)}" for point in last.unresolved_points]
        rows += [f"uncertainty: {one_line(point)}" for point in last.explicit_uncertainties]
        return "\n".join((lines({**self.signals(), **more}), *rows, lines(self.ended())))

    def source(self) -> dict[str, Any]:
        """Return status and round records in the shape that the format's source gives them."""
        words = {row.label: row.spoken for row in self.positions}
        shape: ModeratedSource = {
            "status": STATUS.get(self.status),
            "rounds": [round_record(self.debate, self.question, row, words) for row in self.rounds],
        }
        return dict(shape)


def of(found: Folded) -> ModeratedResult:
    """Return the result of a folded record."""
    state, terms = found.state, terms_of(found.state)
    moderations = [(turn, _moderation(found, turn, seq)) for turn, seq in found.turns("moderator")]
    heard = [row for turn, row in moderations if turn.heard and turn.data["phase"] == "moderation"]
    rounds = range(1, 1 + (state.turns[-1].data["round"] if state.turns else 0))
    wants_more = bool(heard) and heard[-1].recommend_another_round is True
    shared = common(found, WATCH)
    return ModeratedResult(
        **shared,
        drift=tuple(signals.theses(found)),
        positions=tuple(row.stance for row in shared["seats"] if row.stance),
        framing=_framing(found),
        moderation=heard[-1] if heard else None,
        wants_more=wants_more and heard[-1].round_index == terms["max_rounds"],
        neutrality=_neutrality(moderations, heard),
        require_critic_retry_below=terms["require_critic_retry_below"],
        min_challenge_strength=terms["min_challenge_strength"],
        require_cited_critique=terms["require_cited_critique"],
        rounds=tuple(_round(found, number, moderations) for number in rounds),
    )


def _framing(found: Folded) -> Framing | None:
    for turn, seq in found.turns("framer"):
        value = found.value(turn)
        return Framing(
            speaker=turn.data["speaker"],
            thesis=words_of(value, "thesis"),
            scope=words_of(value, "scope"),
            criteria=points_of(value, "criteria"),
            key_evidence=points_of(value, "key_evidence"),
            **turn_of(turn, seq),
        )
    return None


def _moderation(found: Folded, turn: Turn, seq: int) -> Moderation:
    value, data = found.value(turn), turn.data
    clear = cast("dict[str, Any]", data if turn.heard else {})
    stances = {key: seat["stance"] for key, seat in found.state.seats.items()}
    ranked = [stances[seat] for seat in clear.get("ranking", ())]
    return Moderation(
        speaker=data["speaker"],
        round_index=data["round"],
        scores={row["side"]: row["score"] for row in clear.get("scores", ())},
        resolved_points=points_of(value, "resolved_points"),
        unresolved_points=points_of(value, "unresolved_points"),
        unresolved=clear.get("unresolved", 0),
        recommend_another_round=clear.get("another_round"),
        synthesis=words_of(value, "synthesis"),
        confidence=clear.get("confidence"),
        explicit_uncertainties=points_of(value, "explicit_uncertainties"),
        upholds=clear.get("upholds"),
        ranking=tuple(stance["label"] for stance in ranked if stance),
        **turn_of(turn, seq),
    )


def _neutrality(
    moderations: list[tuple[Turn, Moderation]], heard: list[Moderation]
) -> Neutrality | None:
    for turn, again in moderations:
        if turn.data["phase"] == "neutrality" and heard:
            first = heard[-1]
            same = (first.upholds, first.ranking) == (again.upholds, again.ranking)
            return Neutrality(moderation=again, changed=not same if turn.heard else None)
    return None


def _round(found: Folded, number: int, moderations: list[tuple[Turn, Moderation]]) -> Round:
    state = found.state
    exchanges = [_exchange(found, turn, seq) for turn, seq in _of(found, number, "proposition")]
    return Round(
        round_index=number,
        new_documents=tuple(
            row["document"] for row in state.evidence if row["from_round"] == number
        ),
        exchanges=tuple(exchanges),
        moderation=next(
            (
                row
                for turn, row in moderations
                if (turn.data["round"], turn.data["phase"]) == (number, "moderation")
            ),
            None,
        ),
        token_cost={
            role: tokens
            for (round_, role), tokens in found.tokens.items()
            if round_ == number and role != "synthesizer"
        },
    )


def _of(found: Folded, round_: int, phase: str) -> Iterator[tuple[Turn, int]]:
    """Yield the turns of a phase in a round, whatever position they are about."""
    for turn, seq in found.turns("proposer", "critic", "rebuttal"):
        if (turn.data["round"], turn.data["phase"].partition("-")[0]) == (round_, phase):
            yield turn, seq


def _exchange(found: Folded, turn: Turn, seq: int) -> Exchange:
    state, proposer, round_ = found.state, turn.data["speaker"], turn.data["round"]
    about = {}
    for phase in ("critique", "rebuttal"):
        for row, place in _of(found, round_, phase):
            if target_of(state, row.data["phase"]) == proposer:
                about[phase] = (row, place)
    stance = state.seats[proposer]["stance"]
    critique = _critique(found, *about["critique"]) if "critique" in about else None
    return Exchange(
        position=stance["label"] if stance else None,
        proposition=_proposition(found, turn, seq),
        critique=critique,
        rebuttal=_rebuttal(found, critique, *about["rebuttal"]) if "rebuttal" in about else None,
    )


def _arguments(found: Folded, turn: Turn, key: str, words: str) -> Iterator[tuple[Any, Any]]:
    """Yield the fields of each argument, numbered, with the object it was read from."""
    case, rows = turn.case, rows_of(found.value(turn), key)
    if case is None:  # nobody was heard
        return
    for number in range(1, case["arguments"] + 1):
        row = rows[number - 1] if number <= len(rows) else {}
        citations = tuple(_cited(found, case, number, row))
        fields = {
            "number": number,
            "text": words_of(row, words),
            "citations": citations,
            "struck": number in case["struck"],
            "uncited": not citations,
        }
        yield fields, row


def _cited(found: Folded, case: Case, number: int, row: dict[str, Any]) -> Iterator[Cited]:
    cited = rows_of(row, "citations")
    for checked in case["citations"]:
        if checked["argument"] == number:
            place = checked["citation"]
            words = cited[place - 1] if place <= len(cited) else {}
            document, quote = words_of(words, "document"), words_of(words, "quote")
            page = _page(found, document, quote) if checked["finding"] == "verified" else None
            yield Cited(document=document, quote=quote, finding=checked["finding"], page=page)


def _page(found: Folded, document: str | None, quote: str | None) -> int | None:
    """Return the page of a document with pages on which a quote begins, where both are at hand."""
    for row in found.state.evidence:
        if row["document"] == document and row["source"] and row["source"]["pages"]:
            name, text = row["text"]["sha256"], found.text(row["text"])
            if text is None or quote is None:
                return None
            if name not in found.paged:
                found.paged[name] = Paged(text)
            return found.paged[name].page(quote)
    return None


def _proposition(found: Folded, turn: Turn, seq: int) -> Proposition:
    value = found.value(turn)
    rows = _arguments(found, turn, "supporting_arguments", "argument")
    return Proposition(
        speaker=turn.data["speaker"],
        thesis=words_of(value, "thesis"),
        supporting_arguments=tuple(NumberedArgument(**fields) for fields, _ in rows),
        anticipated_objections=points_of(value, "anticipated_objections"),
        **turn_of(turn, seq),
    )


def _critique(found: Folded, turn: Turn, seq: int) -> Critique:
    least = terms_of(found.state)["min_challenge_strength"]
    rating = turn.case["rating"] if turn.case else None
    back = found.sent_back.get(turn.data["step"])
    first = back["rating"] if back else None
    rows = _arguments(found, turn, "counter_arguments", "argument")
    return Critique(
        speaker=turn.data["speaker"],
        thesis=words_of(found.value(turn), "thesis"),
        counter_arguments=tuple(NumberedArgument(**fields) for fields, _ in rows),
        challenge_strength=rating,
        first_rating=first,
        weak=rating is not None and rating < least,
        prompt_review=any(row is not None and row < PROMPT_REVIEW_BELOW for row in (first, rating)),
        **turn_of(turn, seq),
    )


def _rebuttal(found: Folded, critique: Critique | None, turn: Turn, seq: int) -> Rebuttal:
    value = found.value(turn)
    objections = critique.counter_arguments if critique else ()
    unanswered = turn.case["unanswered"] if turn.case else _unstruck(objections)
    return Rebuttal(
        speaker=turn.data["speaker"],
        thesis=words_of(value, "thesis"),
        rebuttals=tuple(
            Answer(**fields, objection=_number(row))
            for fields, row in _arguments(found, turn, "rebuttals", "answer")
        ),
        concessions=tuple(
            Concession(objection=_number(row), reason=words_of(row, "reason"))
            for row in rows_of(value, "concessions")
        ),
        unanswered=tuple(unanswered),
        **turn_of(turn, seq),
    )


def _unstruck(arguments: tuple[NumberedArgument, ...]) -> list[int]:
    """Return the objections that want an answer: all of them where no rebuttal was heard."""
    return [row.number for row in arguments if not row.struck]


def _number(row: dict[str, Any]) -> int | None:
    found = row.get("objection")
    return found if type(found) is int else None
