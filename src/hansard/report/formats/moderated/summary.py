"""A `moderated` debate in a few lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hansard.report.display import LENGTH, Cited, Row
from hansard.report.formats.moderated.parts import Exchange, NumberedArgument
from hansard.report.formats.moderated.result import ModeratedResult
from hansard.report.lead import LIMIT, Lead, by_rule, quoted, say
from hansard.report.parts import Spoken
from hansard.report.safe import one_line
from hansard.report.words import GONE, TITLE, stance
from hansard.rules.terms import DecisionRule
from hansard.vocabulary import many


def lead(result: ModeratedResult, rule: DecisionRule) -> Lead:
    """Return the proposition and whether it is upheld, or the position that was ranked first."""
    found = result.moderation
    if found is None or rule not in ("moderator_synthesis", "moderator_ranking"):
        return by_rule(rule)
    sure = str(found.confidence).lower()
    if rule == "moderator_ranking":
        first = next(row for row in result.positions if row.label == result.decision)
        words = say("ranked", all=len(result.positions))
        head = stance(first.label, first.text, LIMIT)
    else:
        words = quoted(result.framing.thesis if result.framing else None)
        head = say("upheld" if result.decision == "upheld" else "not_upheld")
    return Lead(head, say("confident", words=words, confidence=sure))


def standing(result: ModeratedResult) -> str:
    """Say what the moderator last wrote."""
    found = result.moderation
    return say("moderated", words=quoted(found.synthesis)) if found else say("unruled")


def rows(result: ModeratedResult) -> Iterator[Row]:
    """Yield what the moderator found last, and what it left open."""
    found = result.moderation
    if found is None:
        yield Row("Moderation", "none was heard")
        return
    sides = {row.label: stance(row.label, row.text, TITLE) for row in result.positions}
    yield Row(
        "Confidence", f"{found.confidence}, in round {found.round_index}: the moderator's own word"
    )
    if found.ranking:
        yield Row("Ranking", " → ".join(sides[label] for label in found.ranking))
    scores = [f"{sides.get(side, side)} {score}" for side, score in found.scores.items()]
    yield Row("Scores", f"{', '.join(scores)}: the moderator's own word")
    yield Row("Synthesis", one_line(found.synthesis or GONE, LENGTH))
    for point in found.unresolved_points:
        yield Row("Open", one_line(point, LENGTH))
    for point in found.explicit_uncertainties:
        yield Row("Uncertain", one_line(point, LENGTH))
    if result.wants_more:
        yield Row("Rounds", "the moderator wanted one more than there could be")
    if result.neutrality and result.neutrality.changed is not None:
        same = "another outcome" if result.neutrality.changed else "the same outcome"
        yield Row("Neutrality", f"{same} with the sides in the other order")


def by_round(result: ModeratedResult) -> Iterator[Row]:
    """Yield each round's strength, scores and confidence, as critic and moderator say it."""
    for row in result.rounds:
        for side in row.exchanges:
            if side.critique and side.critique.challenge_strength is not None:
                of = f" of {side.position}" if side.position else ""
                strength = f"{side.critique.challenge_strength} of 10"
                yield Row(f"Critique{of} in round {row.round_index}", strength)
        if row.moderation and row.moderation.status == "counted":
            scores = [f"{side} {score}" for side, score in row.moderation.scores.items()]
            said = f"{', '.join(scores)}; confidence {row.moderation.confidence}"
            yield Row(f"Moderation of round {row.round_index}", said)


def points(result: ModeratedResult) -> Iterator[str]:
    """Yield the points that the last moderation left unresolved, and its uncertainties."""
    found = result.moderation
    if found:
        if found.unresolved and found.synthesis is None:
            yield f"{many(found.unresolved, 'point')}: {GONE}"
        yield from found.unresolved_points
        yield from found.explicit_uncertainties


def cited(result: ModeratedResult) -> Iterator[Cited]:
    """Yield who cited which document, and whether each quote stands in it."""
    found: dict[tuple[str, str], list[bool]] = {}
    for side in (side for row in result.rounds for side in row.exchanges):
        for speaker, arguments in _arguments(side):
            for quote in (quote for row in arguments for quote in row.citations):
                if quote.document is not None:
                    held = found.setdefault((speaker, quote.document), [])
                    held.append(quote.finding == "verified")
    yield from (Cited(*key, tuple(held)) for key, held in found.items())


def _arguments(side: Exchange) -> Iterator[tuple[str, Sequence[NumberedArgument]]]:
    yield side.proposition.speaker, side.proposition.supporting_arguments
    if side.critique:
        yield side.critique.speaker, side.critique.counter_arguments
    if side.rebuttal:
        yield side.rebuttal.speaker, side.rebuttal.rebuttals


def words(result: ModeratedResult) -> str | None:
    """Return what the moderator made of it."""
    return result.moderation.synthesis if result.moderation else None


def turns(result: ModeratedResult) -> list[Spoken]:
    """Return the framing, and each round's turns and its moderation, in order."""
    found: list[Spoken | None] = [result.framing]
    for row in result.rounds:
        for side in row.exchanges:
            found += [side.proposition, side.critique, side.rebuttal]
        found.append(row.moderation)
    return sorted((turn for turn in found if turn), key=lambda turn: turn.seq)
