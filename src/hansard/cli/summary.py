"""What became of a debate, in a few lines."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

import hansard
from hansard import vocabulary
from hansard.cli.console import console, fields, money, style_of
from hansard.cli.context import next_step
from hansard.report import reviews, said
from hansard.report.notes import DOUBTFUL, Note
from hansard.report.safe import one_line
from hansard.report.signs import failure_of
from hansard.report.words import STOPPED, percent, stance

ARROW = " → "
REVIEW = vocabulary.words("reviewed")["label"]
Rows = list[tuple[str, Text | str]]


def outcome(result: hansard.DebateResult) -> Rows:
    """Return the rows that say what was decided, what is open, who must look, what it cost."""
    rows: Rows = [("Decision", _decision(result))]
    if result.output_missing:
        rows.append(("Output", f"missing: {one_line(result.output_missing)}"))
    rows += result.display.rows(result)
    if result.review is not None:
        rows.append(("Must look", one_line(result.review)))
    reviewed = reviews.notable(result)
    if reviewed:
        rows.append((REVIEW, one_line(reviewed)))
        rows += [("Condition", one_line(words)) for words in reviews.conditions(result)]
    return rows + [(label, one_line(words)) for label, words in said.rows(result)] + _used(result)


def _used(result: hansard.DebateResult) -> Rows:
    """Return what was used: calls, tokens, money; what the cache saved, what ceilings count."""
    total, charged, limit = result.totals, result.charged, result.limits.cost_micro_usd
    failed = f", {total.failed} of them failed" if total.failed else ""
    tokens = f"tokens {total.tokens_in:,} in, {total.tokens_out:,} out"
    sources = ", ".join(dict.fromkeys(row["source"] for row in result.prices))
    priced = f" (price: {sources})" if sources else ""
    cost = f"{money(total.cost_micro_usd)}{priced}  {total.calls} calls{failed}, {tokens}"
    rows: Rows = [("Cost", cost)]
    if limit is not None and charged.cost_micro_usd != total.cost_micro_usd:
        counted = f"{money(charged.cost_micro_usd)} of {money(limit)}"
        rows.append(("Ceiling", f"{counted}: what replies do not say counts as it was reserved"))
    if total.tokens_cached or total.tokens_cache_write:
        share = "" if total.cached_ppm is None else f" ({percent(total.cached_ppm)})"
        wrote = f", {total.tokens_cache_write:,} written" if total.tokens_cache_write else ""
        read = f"{total.tokens_cached:,} tokens in{share}{wrote}"
        rows.append(("Cache", f"{read}, saved {money(total.saved_micro_usd)}"))
    return rows


def _decision(result: hansard.DebateResult) -> Text | str:
    rounds = f"round {result.rounds_run} of at most {result.max_rounds}"
    if result.decision is None or result.decision_rule is None:
        if result.reason is None:
            return f"none yet: still open, {rounds}"
        if result.status == "truncated":
            whose = result.truncated and result.truncated.stopper
            why = f"{STOPPED[result.reason]}{f', {one_line(whose)}' if whose else ''}"
            return f"none: cut short, {why} ({result.reason}), {rounds}"
        return f"none: failed ({result.reason}), {rounds}. {failure_of(result)}"
    how = result.display.how(result)
    argued = f", argued by {result.argued_by}" if result.argued_by else ""
    decided = option(result, result.decision)
    decided.plain = stance(result.decision, result.decision_text)
    return Text.assemble(decided, f"{argued}  {how}, {rounds} ({result.decision_rule})")


def option(result: hansard.DebateResult, vote: str | None) -> Text:
    """Return a vote in its option's colour; none is an abstention."""
    if vote is None:
        return Text("abstained", style="dim")
    return Text(vote, style=f"bold {style_of(vote, result.choices, options=True)}".strip())


def say_outcome(result: hansard.DebateResult, *steps: str) -> None:
    """Print on standard error what became of a debate that was just run, and what to do next."""
    out = console(stderr=True)
    out.print(fields([*outcome(result), ("Debate", result.debate)]))
    told = [note for note in result.notes if _at_once(note)]
    say_notes(note.message for note in told if note.code != result.reason)  # it stands on top
    out.print(fields([("Next" if n == 0 else "", next_step(step)) for n, step in enumerate(steps)]))


def _at_once(note: Note) -> bool:
    """Whether it is a note that nobody may miss: on the debate, critical, or on its critique."""
    return note.seq is None or note.severity == "critical" or note.code in DOUBTFUL


def say_notes(messages: Iterable[str]) -> None:
    """Print on standard error what a reader must know beside the result."""
    for message in messages:
        console(stderr=True).print(fields([("Note", message)]), style="yellow")
