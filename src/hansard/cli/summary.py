"""What became of a debate, in a few lines."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from hansard.cli.console import console, fields, money, style_of
from hansard.cli.context import next_step
from hansard.report.safe import one_line
from hansard.report.view import DebateResult

ARROW = " → "


def outcome(result: DebateResult) -> list[tuple[str, Text | str]]:
    """Return the rows that say what was decided, who dissents, who must look, what it cost."""
    rounds = f"round {result.rounds_run} of at most {result.max_rounds}"
    if result.decision is None:
        why = f"none: failed, {result.reason}" if result.reason else "none yet: still open"
        rows: list[tuple[str, Text | str]] = [("Decision", f"{why}, {rounds}")]
    else:
        votes = result.vote_tally.get(result.decision, 0)
        counted = f"{votes} of {len(result.debater_ids)} votes, {result.consensus_threshold} needed"
        if result.decision_rule == "max_rounds_exhausted":
            counted = f"no option reached {result.consensus_threshold} votes"
        text = Text.assemble(
            option(result, result.decision), f"  {counted}, {rounds} ({result.decision_rule})"
        )
        rows = [("Decision", text)]
    if result.review is not None:
        rows.append(("Must look", one_line(result.review)))
    dissent = [
        Text.assemble(f"{row.speaker}: ", option(result, row.vote)) for row in result.dissent
    ]
    if dissent:
        rows.append(("Dissent", Text(", ").join(dissent)))
    total = result.totals
    tokens = f"{total.calls} calls, tokens {total.tokens_in:,} in, {total.tokens_out:,} out"
    rows.append(("Cost", f"{money(total.cost_micro_usd)}  {tokens}"))
    return rows


def option(result: DebateResult, vote: str | None) -> Text:
    """Return a vote in its option's colour; none is an abstention."""
    if vote is None:
        return Text("abstained", style="dim")
    return Text(vote, style=f"bold {style_of(vote, result.options, options=True)}".strip())


def say_outcome(result: DebateResult, *steps: str) -> None:
    """Print on standard error what became of a debate that was just run, and what to do next."""
    out = console(stderr=True)
    out.print(fields([*outcome(result), ("Debate", result.debate)]))
    say_notes(note.message for note in result.notes if note.seq is None)
    out.print(fields([("Next" if n == 0 else "", next_step(step)) for n, step in enumerate(steps)]))


def say_notes(messages: Iterable[str]) -> None:
    """Print on standard error what a reader must know beside the result."""
    for message in messages:
        console(stderr=True).print(fields([("Note", message)]), style="yellow")
