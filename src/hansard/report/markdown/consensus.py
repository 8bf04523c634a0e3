"""What a `consensus` report says of its own: the counted decision, the votes, the positions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from hansard.report.markdown import common
from hansard.report.markdown.signs import (
    fenced,
    ids,
    not_heard,
    quoted,
    table,
    undecided,
    voted,
)
from hansard.report.results.consensus import ConsensusResult, Turn
from hansard.rules.formats.consensus import PHASES


def decision(result: ConsensusResult) -> Iterator[str]:
    """What was decided and how it was counted."""
    yield "## Decision"
    many, needed = len(result.debater_ids), result.consensus_threshold
    rounds = f"after {result.rounds_run} of at most {result.max_rounds} rounds"
    if result.decision is None:
        yield from undecided(result)
    elif result.decision_rule == "max_rounds_exhausted":
        yield f"**`{result.decision}`**: no single option was held by {needed} of {many} {rounds}."
    else:
        held = result.vote_tally.get(result.decision, 0)
        yield (
            f"**`{result.decision}`**, held by {held} of {many} debaters {rounds}; "
            f"{needed} were needed (`{result.rule}`)."
        )
    yield from common.review(result)
    for row in result.dissent:
        yield f"Dissent: `{row.speaker}` {'voted ' if row.vote else ''}{voted(row.vote)}."
    yield fenced(result.to_report(), "text")
    yield from _votes(result)


def _votes(result: ConsensusResult) -> Iterator[str]:
    yield "## Votes"
    rows = []
    for (round_, phase), turns in groupby(
        result.transcript, key=lambda turn: (turn.round_index, turn.phase)
    ):
        by_speaker = {turn.speaker_id: voted(turn.vote) for turn in turns}
        rows.append([round_, phase, *(by_speaker.get(seat, "") for seat in result.debater_ids)])
    yield table(["round", "phase", *(f"`{seat}`" for seat in result.debater_ids)], rows)
    yield f"Options: {ids(result.options)}."


def said(result: ConsensusResult) -> Iterator[str]:
    """Every position in its order."""
    yield "## Transcript"
    for turn in result.transcript:
        yield f"### Round {turn.round_index}, {turn.phase}: `{turn.speaker_id}`"
        yield from _turn(turn)


def _turn(turn: Turn) -> Iterator[str]:
    if turn.reason:
        yield f"{not_heard(turn)}. Counts as an abstention (entry {turn.seq})."
        return
    yield f"Vote: {voted(turn.vote)} (entry {turn.seq})"
    yield "Stance:"
    yield quoted(turn.stance)
    yield "Rationale:"
    yield quoted(turn.rationale)


def use(result: ConsensusResult) -> str:
    """When to use the format, when not, and its cost in calls."""
    seats, phases = len(result.debater_ids), len(PHASES)
    most = seats * phases * result.max_rounds
    return (
        "when a high-stakes decision needs several perspectives and a "
        "counted vote, not when one critic or a test can decide; it costs at most debaters × "
        f"{phases} × rounds calls, here {seats} × {phases} × {result.max_rounds} = {most}"
    )
