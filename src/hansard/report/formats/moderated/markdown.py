"""What a `moderated` report says of its own: the moderation, and each round, point by point."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from hansard.report import sections
from hansard.report.formats.moderated.parts import (
    Answer,
    Critique,
    Exchange,
    Moderation,
    NumberedArgument,
    Proposition,
    Rebuttal,
    Round,
)
from hansard.report.formats.moderated.result import ModeratedResult
from hansard.report.parts import Spoken
from hansard.report.signs import (
    ids,
    inline,
    listed,
    named,
    not_heard,
    or_gone,
    quoted,
    table,
)
from hansard.report.words import FINDINGS, GONE, TITLE, page


def decision(result: ModeratedResult) -> Iterator[str]:
    """What was decided, and the last moderation there is."""
    yield from sections.decision(result)
    sides = _sides(result)
    if result.wants_more:
        yield "The moderator wanted another round when the last one was over."
    if result.moderation:
        yield "## Moderation"
        yield from _found(result.moderation, sides)
    if result.neutrality:
        yield "### With the sides in the other order"
        changed = result.neutrality.changed
        if changed is not None:
            yield "The outcome is another one." if changed else "The outcome is the same."
        yield from _moderation(result.neutrality.moderation, sides)
    for row in result.positions:
        yield f"Position `{row.label}`:"
        yield quoted(row.text)


def _sides(result: ModeratedResult) -> dict[str, str]:
    """Return the positions, by label, as a line shows them."""
    return {row.label: named(row.label, row.text, TITLE) for row in result.positions}


def _moderation(found: Moderation, sides: Mapping[str, str]) -> Iterator[str]:
    yield from _found(found, sides)
    if not found.reason:
        gone = found.synthesis is None
        yield f"Still open ({found.unresolved}):"
        yield listed(found.unresolved_points, gone=gone)
        yield "Uncertain:"
        yield listed(found.explicit_uncertainties, gone=gone)


def _found(found: Moderation, sides: Mapping[str, str]) -> Iterator[str]:
    """What was found, without what is left open."""
    if found.reason:
        yield f"{not_heard(found)} (entry {found.seq})."
        return
    yield (
        f"Round {found.round_index}, by `{found.speaker}` (entry {found.seq}). "
        f"The moderator's own confidence: `{found.confidence}`."
    )
    if found.upholds is not None:
        yield f"The proposition is {'upheld' if found.upholds else 'not upheld'}."
    if found.ranking:
        yield "Ranking, best first:"
        yield "\n".join(f"{n}. {sides[label]}" for n, label in enumerate(found.ranking, 1))
    yield "Quality of the arguments of each side, in the moderator's word:"
    yield table(
        ["side", "score"], ([sides.get(side, f"`{side}`"), n] for side, n in found.scores.items())
    )
    yield "Synthesis:"
    yield quoted(found.synthesis)
    yield "Resolved:"
    yield listed(found.resolved_points, gone=found.synthesis is None)


def said(result: ModeratedResult) -> Iterator[str]:
    """The framing, and every round in its order."""
    yield "## Transcript"
    framing = result.framing
    if framing:
        yield f"### Framing: `{framing.speaker}`"
        yield from _head(framing, framing.thesis)
        if not framing.reason:
            yield "Scope:"
            yield quoted(framing.scope)
            yield "Criteria of a good answer:"
            yield listed(framing.criteria, gone=framing.thesis is None)
            yield "Key evidence:"
            yield listed(framing.key_evidence, gone=framing.thesis is None)
    for row in result.rounds:
        yield from _round(row, result.moderation, _sides(result))


def _round(row: Round, above: Moderation | None, sides: Mapping[str, str]) -> Iterator[str]:
    if row.new_documents and row.round_index > 1:
        yield f"New evidence in round {row.round_index}: {ids(row.new_documents)}."
    for exchange in row.exchanges:
        yield from _exchange(row.round_index, exchange, sides)
    if row.moderation:
        yield f"### Round {row.round_index}, moderation: `{row.moderation.speaker}`"
        if row.moderation == above:
            yield f"As shown above (entry {above.seq})."
        else:
            yield from _moderation(row.moderation, sides)
    used = [f"`{role}` {tokens}" for role, tokens in row.token_cost.items() if tokens]
    if used:
        yield f"Tokens in round {row.round_index}: {', '.join(used)}."


def _exchange(round_: int, exchange: Exchange, sides: Mapping[str, str]) -> Iterator[str]:
    about = f" on {sides[exchange.position]}" if exchange.position else ""
    case, attack, answer = exchange.proposition, exchange.critique, exchange.rebuttal
    yield f"### Round {round_}, proposition{about}: `{case.speaker}`"
    yield from _proposition(case)
    if attack:
        yield f"### Round {round_}, critique{about}: `{attack.speaker}`"
        yield from _critique(attack)
    if answer:
        yield f"### Round {round_}, rebuttal{about}: `{answer.speaker}`"
        yield from _rebuttal(answer)


def _head(turn: Spoken, thesis: str | None) -> Iterator[str]:
    if turn.reason:
        yield f"{not_heard(turn)} (entry {turn.seq})."
    else:
        yield f"Thesis (entry {turn.seq}):"
        yield quoted(thesis)


def _proposition(turn: Proposition) -> Iterator[str]:
    yield from _head(turn, turn.thesis)
    yield from _arguments("Argument", turn.supporting_arguments)
    if turn.anticipated_objections:
        yield "Objections it expects:"
        yield listed(turn.anticipated_objections)


def _critique(turn: Critique) -> Iterator[str]:
    yield from _head(turn, turn.thesis)
    if turn.challenge_strength:
        first = f", {turn.first_rating} before it was sent back" if turn.first_rating else ""
        weak = ". **Weak**: below the minimum" if turn.weak else ""
        wanted = ". **The critic's prompt wants a review**" if turn.prompt_review else ""
        strength = f"{turn.challenge_strength} of 10{first}{weak}{wanted}."
        yield f"Strength of the challenge, in the critic's word: {strength}"
    yield from _arguments("Objection", turn.counter_arguments)


def _rebuttal(turn: Rebuttal) -> Iterator[str]:
    yield from _head(turn, turn.thesis)
    yield from _arguments("Answer", turn.rebuttals)
    for row in turn.concessions:
        yield f"Concedes objection {or_gone(row.objection)}:"
        yield quoted(row.reason)
    if turn.unanswered:
        yield f"Says nothing about objection {', '.join(map(str, turn.unanswered))}."


def _arguments(what: str, rows: Iterable[NumberedArgument]) -> Iterator[str]:
    for row in rows:
        about = f", to objection {or_gone(row.objection)}" if isinstance(row, Answer) else ""
        mark = " **Struck**: it rests on a citation that does not hold." if row.struck else ""
        mark += " It cites nothing." if row.uncited else ""
        yield f"{what} {row.number}{about}.{mark}"
        yield quoted(row.text, struck=row.struck)
        if row.citations:
            yield "\n".join(
                f"- {inline(GONE if cited.document is None else cited.document)}"
                f"{page(cited.page)}, {FINDINGS[cited.finding]}: "
                f"{inline(GONE if cited.quote is None else cited.quote)}"
                for cited in row.citations
            )


def use(result: ModeratedResult) -> str:
    """When to use the format, when not, and its cost in calls."""
    many, rounds = max(1, len(result.positions)), result.max_rounds
    each = 3 if any(seat.role == "critic" for seat in result.seats) else 1
    most = 1 + rounds * (many * each + 1)
    return (
        "when a wrong answer costs far more than a debate, as in contracts, security, "
        "architecture, investment and compliance, not as the default or for a fact that can be "
        f"looked up; it costs at most 1 + rounds × (positions × {each} + 1) calls, here "
        f"1 + {rounds} × ({many} × {each} + 1) = {most}, one more for each critique that is sent "
        "back, for a neutrality check and for a synthesizer"
    )
