"""What a `panel` report says of its own: the answer, how alike the drafts were, the drafts."""

from __future__ import annotations

from collections.abc import Iterator

from hansard.report.markdown import common
from hansard.report.markdown.signs import fenced, ids, not_heard, quoted, table
from hansard.report.results.panel import PanelResult
from hansard.report.words import ALIKE, percent


def decision(result: PanelResult) -> Iterator[str]:
    """What the answer is, or the last drafts where there is none."""
    yield from common.decision(result)
    yield from _answer(result)
    yield fenced(result.to_report(), "text")
    yield from _counted(result)
    yield from _similarities(result)


def _answer(result: PanelResult) -> Iterator[str]:
    if result.final is not None:
        whose = f", from the last draft of `{result.winner_label}`" if result.winner_label else ""
        yield f"The final answer{whose}:"
        yield quoted(result.final)
    if result.judgment is not None:
        yield "How it was found, or the judge's reply as it came:"
        yield quoted(result.judgment)
    if result.final is None:
        for label, text in result.last_drafts.items():
            yield f"The last draft of `{label}`:"
            yield quoted(text)


def _counted(result: PanelResult) -> Iterator[str]:
    if result.vote_tally is not None:
        yield "## Votes"
        rows = ([f"`{option}`", votes] for option, votes in result.vote_tally.items())
        yield table(["answer", "votes"], rows)
        yield f"{result.consensus_threshold} of {len(result.debater_ids)} were needed."
    if result.options:
        yield f"Options: {ids(result.options)}."


def _similarities(result: PanelResult) -> Iterator[str]:
    rows = [
        [
            found.round_index,
            f"`{pair.one}`",
            f"`{pair.other}`",
            percent(pair.ppm),
            "differs" if pair.negation_differs else "same",
        ]
        for found in result.similarities
        for pair in found.pairs
    ]
    if rows:
        yield "## Wording"
        yield f"How alike the answers are: {ALIKE}."
        yield table(["round", "one", "other", "alike", "negation"], rows)


def said(result: PanelResult) -> Iterator[str]:
    """Every draft in its order."""
    yield "## Transcript"
    for turn in result.transcript:
        yield f"### Round {turn.round_index}, draft: `{turn.label}`"
        if turn.reason:
            yield f"{not_heard(turn)} (entry {turn.seq})."
            continue
        choice = f" It chooses `{turn.choice}`." if turn.choice else ""
        yield f"Entry {turn.seq}.{choice}"
        yield quoted(turn.text)


def use(result: PanelResult) -> str:
    """When to use the format, when not, and its cost in calls."""
    seats, rounds = len(result.debater_ids), result.max_rounds
    judged = int(any(seat.role == "judge" for seat in result.seats))
    most = seats * (rounds + 1) + judged
    return (
        "when different models or perspectives should cover for each other's blind spots, not "
        "where a right answer can be computed or somebody is waiting for it; it costs at most "
        f"debaters × (rounds + 1) calls and one for a judge, here {seats} × ({rounds} + 1) + "
        f"{judged} = {most}, one more with a synthesizer"
    )
