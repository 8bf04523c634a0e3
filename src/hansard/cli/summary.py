"""What became of a debate, in a few lines."""

from __future__ import annotations

import json
from collections.abc import Iterable
from textwrap import indent
from typing import Any

from pydantic_core import to_jsonable_python
from rich.console import Console, RenderableType
from rich.text import Text

import hansard
from hansard import vocabulary
from hansard.cli.console import console, fields, money, say, style_of
from hansard.report import gated, said
from hansard.report.outcome import argued, reached, rows, told, undecided
from hansard.report.safe import one_line, shown
from hansard.report.words import GONE, percent, stance

ARROW = " → "
MOST = 10_000  # characters of what somebody wrote, in a line; a report has all of it
Rows = list[tuple[str, Text | str]]


def gate_rows(found: hansard.GateRecord, *more: tuple[str, str]) -> RenderableType:
    """Return what the record of a gate says, and that nothing was decided."""
    lines = [*gated.rows(found), ("Decision", vocabulary.words("gated")["alone"]), *more]
    return fields([(label, one_line(words, 1000)) for label, words in lines])


def outcome(result: hansard.DebateResult) -> Rows:
    """Return the rows that say what was decided, what is open, who must look, what it cost."""
    beside = [*rows(result, result.display), *said.rows(result)]
    found: Rows = [("Decision", _decision(result))]
    return found + [(label, one_line(words, MOST)) for label, words in beside] + _used(result)


def _used(result: hansard.DebateResult) -> Rows:
    """Return what was used: calls, tokens, money; what the cache saved, what ceilings count."""
    total, charged, limit = result.totals, result.charged, result.limits.cost_micro_usd
    failed = f", {total.failed} of them failed" if total.failed else ""
    tokens = f"tokens {total.tokens_in:,} in, {total.tokens_out:,} out"
    if total.calls and not total.tokens_in and not total.tokens_out:
        tokens = "tokens not stated"  # by the functions that answered
    sources = ", ".join(dict.fromkeys(row["source"] for row in result.prices))
    priced = f" (price: {sources})" if sources else ""
    cost = f"{money(total.cost_micro_usd)}{priced}  {total.calls} calls{failed}, {tokens}"
    used: Rows = [("Cost", cost)]
    if limit is not None and charged.cost_micro_usd != total.cost_micro_usd:
        counted = f"{money(charged.cost_micro_usd)} of {money(limit)}"
        used.append(("Ceiling", f"{counted}: what replies do not say counts as it was reserved"))
    if total.tokens_cached or total.tokens_cache_write:
        share = "" if total.cached_ppm is None else f" ({percent(total.cached_ppm)})"
        wrote = f", {total.tokens_cache_write:,} written" if total.tokens_cache_write else ""
        read = f"{total.tokens_cached:,} tokens in{share}{wrote}"
        used.append(("Cache", f"{read}, saved {money(total.saved_micro_usd)}"))
    return used


def _decision(result: hansard.DebateResult) -> Text | str:
    if result.decision is None:
        return undecided(result)
    decided = option(result, result.decision)
    decided.plain = stance(result.decision, result.decision_text)
    how = reached(result, result.display)
    return Text.assemble(decided, f"{argued(result)}  {how}")


def option(result: hansard.DebateResult, vote: str | None) -> Text:
    """Return a vote in its option's colour; none is an abstention."""
    if vote is None:
        return Text("abstained", style="dim")
    return Text(vote, style=f"bold {style_of(vote, result.choices, options=True)}".strip())


def print_outcome(out: Console, result: hansard.DebateResult, more: Rows) -> None:
    """Print what became of a debate, whether to act on it, rows, and the whole deliverable."""
    out.print(Text(result.sentence, style="bold"))
    out.print(Text(result.acting, style="bold" if result.released else "bold yellow"))
    question = one_line(result.question or GONE, MOST)
    out.print(fields([("Question", question), *outcome(result), *more]))
    if result.output is not None:
        out.print(Text("\nOutput", style="bold"))
        say(_whole(result.output), err=out.stderr)


def _whole(output: Any) -> str:
    """Return a deliverable as it is, indented so that none of it begins as our lines do.

    Words are words; all else is JSON.
    """
    if not isinstance(output, str):
        output = json.dumps(output, indent=2, ensure_ascii=False, default=to_jsonable_python)
    return indent(shown(output), "  ")


def say_ended(result: hansard.DebateResult, *, aside: bool) -> None:
    """Print what became of a debate that was just run; on standard error where it stands aside."""
    out = console(stderr=aside)
    print_outcome(out, result, [("Debate", result.debate)])
    for note in told(result):
        out.print(fields([("Note", note.message)]), style="yellow")


def say_notes(messages: Iterable[str]) -> None:
    """Print on standard error what a reader must know beside the result."""
    for message in messages:
        console(stderr=True).print(fields([("Note", message)]), style="yellow")
