"""`estimate`: what a debate would take, before anything is spent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

import hansard
from hansard.api.rows import documents_of
from hansard.cli.console import console, fields, money, say_document
from hansard.cli.context import allow_option
from hansard.cli.own import asked_options, models_of, models_option
from hansard.report.safe import one_line
from hansard.report.words import price_source

_NUMBERS = ("Calls", "Tokens in", "cacheable", "out", "Cost", "with cache")


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the estimate as JSON instead.")
@models_option
@asked_options
@allow_option
def estimate(
    spec: Path,
    as_json: bool,
    models: Path | None,
    question: str | None,
    evidence: tuple[Path, ...],
    allow: tuple[Path, ...],
) -> None:
    """Estimate the calls, tokens and cost of running SPEC.

    The debate is rehearsed, with its real prompts and with filler instead of
    replies. At most: no agreement until the last round. At least: immediate
    agreement. Expected: agreement once half of the most calls are made.
    What `run` would refuse is refused here, and what it would warn of is listed.
    No model is called, no key is needed, and nothing is recorded.

    Exit codes: 0 estimated; 2 the spec cannot be run, or its debate is too long
    to be rehearsed.
    """
    found = hansard.estimate(
        spec,
        models=models_of(models),
        question=question,
        evidence=documents_of(evidence) or None,
        allow=allow,
    )
    if as_json:
        say_document(found)
        return
    out = console()
    out.print(_table(found))
    out.print()
    out.print(fields([(label, Text(words)) for label, words in _remarks(found)]))


def _table(found: hansard.Estimate) -> Table:
    """Lay out the most seat by seat, and the sums of all three courses."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("Seat", min_width=len("At least"))
    table.add_column("Role")
    for name in _NUMBERS:
        table.add_column(name, justify="right", no_wrap=True)
    for seat in found.most.seats:
        table.add_row(Text(seat.id), Text(seat.role), *_numbers(seat))
    for label, course in (
        ("At most", found.most),
        ("Expected", found.expected),
        ("At least", found.fewest),
    ):
        table.add_row(label, "", *_numbers(course), style="bold")
    return table


def _numbers(use: Any) -> list[str]:
    counts = (use.calls, use.tokens_in, use.tokens_cached, use.tokens_out)
    costs = (use.cost_micro_usd, use.cost_cached_micro_usd)
    return [*(f"{count:,}" for count in counts), *map(money, costs)]


def _remarks(found: hansard.Estimate) -> Iterator[tuple[str, str]]:
    """Yield what to be warned of, what the numbers rest on, and what they leave out."""
    yield from (("Warning", one_line(row.message, 1000)) for row in found.warnings)
    if found.scripted:
        yield (
            "Scripted",
            "some replies are scripted; the figures are for models in their place",
        )
    seats: dict[str, list[str]] = {}
    for seat in found.most.seats:
        seats.setdefault(seat.model, []).append(seat.id)
    prices = {row["model"]: row for row in found.prices}
    for model, ids in seats.items():
        yield (
            "Model",
            f"{model}: {one_line(', '.join(ids), 60)}; {_price(model, prices.get(model))}",
        )
    yield from _ceilings(found)
    yield "Assumed", found.assumed
    yield "Left out", _on_top(found)


def _price(model: str, price: Mapping[str, Any] | None) -> str:
    """Say what a model costs and who says so, or how to say it."""
    if price is None:
        stated = f'prices: {{"{model}": {{input: "2.50", output: "10.00"}}}}'
        return f"its price is unknown; state it (0 if it is free): {stated}"
    amounts = (price["input_micro_usd"], price["cached_micro_usd"], price["output_micro_usd"])
    tokens_in, cached, out = (f"${Decimal(amount) / 1_000_000:f}" for amount in amounts)
    whose = price_source(price["source"])
    return f"{tokens_in} in, {cached} cached, {out} out per million tokens ({whose})"


def _ceilings(found: hansard.Estimate) -> Iterator[tuple[str, str]]:
    """Yield the ceilings that would end the debate, and the one that nobody can foresee."""
    for label, stop in (
        ("in the worst case", found.most.stop),
        ("in the best case", found.fewest.stop),
    ):
        if stop:
            limit = money(stop.limit) if stop.ceiling == "cost" else f"{stop.limit:,}"
            after = f"would stop after about {_calls(stop.calls)}"
            yield "Ceiling", f"{stop.ceiling}, {limit}: {label} it {after}"
    if found.seconds:
        yield "Ceiling", f"seconds, {found.seconds:g}: time is not estimated"


def _calls(count: int) -> str:
    return f"{count:,} call{'' if count == 1 else 's'}"


def _on_top(found: hansard.Estimate) -> str:
    """Say what neither case counts."""
    rows = ["reasoning tokens"]
    if found.retry_calls:
        rows.append(f"retries (up to {_calls(found.retry_calls)})")
    if any(seat.role == "critic" for seat in found.most.seats):
        rows.append("weak critiques sent back (a call each)")
    if found.tool_calls:
        rows.append(f"tools and their rounds (up to {_calls(found.tool_calls)})")
    if found.missing_tools:
        names = one_line(", ".join(found.missing_tools), 60)
        rows.append(
            f"the definitions of {names}, which every call sends (pass `tools` from Python)"
        )
    return "; ".join(rows)
