"""`eval`: whether debates answer the questions of a golden set better than what costs less."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import click
from rich.text import Text

import hansard
from hansard.api.evaluating import count_lines
from hansard.cli.console import console, fields, money, printed
from hansard.cli.context import (
    allow_option,
    keyring,
    next_step,
    open_store,
    policy_of,
    policy_option,
    store_option,
)
from hansard.cli.interrupting import INTERRUPTED
from hansard.cli.many import progress
from hansard.cli.own import models_of, models_option, say_where
from hansard.cli.running import ended, warned
from hansard.report.chance import LEVEL, in_words
from hansard.report.evaluation import NAMES, WAYS, Against, Held, Question, Total
from hansard.report.safe import one_line, shown
from hansard.vocabulary import many

_FILE = click.Path(path_type=Path)
_SHOWN = 20  # questions that are named
_SCRIPTED = "SCRIPTED: replies came from a script or record, and say nothing of any model"
_USUAL = "usual: 4 to 8 times the tokens, 3 to 5 times the time"  # EAAPL-MAG005, section 15
_STYLES = {"better": "bold green", "worse": "bold red"}


@click.command("eval")
@click.argument("golden", metavar="GOLDEN", type=_FILE)
@click.option("--spec", metavar="SPEC", type=_FILE, required=True, help="The debate to evaluate.")
@click.option(
    "--name",
    metavar="NAME",
    help="The name of the evaluation: debates recorded under it are not run again. Default: that "
    "of GOLDEN and the quarter, as in golden-2026-Q4.",
)
@click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How many questions are asked at once.",
)
@click.option("--offline", is_flag=True, help="Call no model: use recorded and scripted replies.")
@policy_option("Run only what this signed policy allows.")
@models_option
@allow_option
@click.option("--json", "form", flag_value="json", help="Print the evaluation as JSON.")
@click.option("--csv", "form", flag_value="csv", help="Print every answer as CSV.")
@store_option
def evaluate(
    golden: Path,
    spec: Path,
    name: str | None,
    jobs: int,
    offline: bool,
    policy_file: Path | None,
    models: Path | None,
    allow: tuple[Path, ...],
    form: str | None,
) -> None:
    """Say whether debates answer known questions better than a single agent.

    GOLDEN has a JSON object on each line: a `question`, and under `label` the answer of
    an expert. Each question is put to the debate that SPEC describes, to a single agent,
    and to that agent as often as the debate had calls. All of it is recorded,
    and nothing recorded is asked again: after an interruption, run the same command.

    Debates are better if a sign test says so with p below 0.1, on 20 questions or more.

    Exit codes: 0 the debates are better than the single agent; 1 they are worse, or
    nobody can tell yet; 2 something in GOLDEN or SPEC is wrong, and nothing was run;
    130 interrupted.
    """
    functions, around = models_of(models), console(stderr=True)
    total = count_lines(golden)
    with (
        open_store(create=True) as store,
        warned(around),
        progress("Asking", total, around) as step,
    ):
        work = hansard.evaluate(
            golden,
            spec,
            name=name,
            jobs=jobs,
            offline=offline,
            models=functions,
            policy=policy_of(policy_file),
            trust=keyring().trust,
            allow=allow,
            store=store,
            each=step,
        )
        try:
            found = ended(work)
        except hansard.SeatError as error:
            say_where(error.__cause__ or error, models)
            raise
        except asyncio.CancelledError:
            click.echo("interrupted; the same command goes on where this one stopped", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
    if not printed(form, found, ("id", "label", "way", *Held.model_fields), _cells(found)):
        _print(found)
    if found.result != "better":
        raise click.exceptions.Exit(1)


def _cells(found: hansard.Evaluation) -> Iterator[list[object]]:
    """Yield a row for each answer of each way."""
    for row in found.questions:
        for way in WAYS:
            held = row.by(way).model_dump(mode="json")
            yield [row.id, row.label, way, *held.values()]


def _print(found: hansard.Evaluation) -> None:
    out = console()
    if found.scripted:
        out.print(Text(_SCRIPTED, style="bold yellow"))
    kept = f", {found.reused:,} of them recorded before" if found.reused else ""
    about = f", {shown(found.task_type)}" if found.task_type else ""
    runs = many(len(WAYS) * found.n, "record")
    rows = [("Evaluation", shown(found.name))]
    rows.append(("Questions", f"{found.n:,}, each by a {found.format} debate{about}; {runs}{kept}"))
    out.print(fields(rows))
    out.print()
    out.print(
        Text(f"{'':<17} {'right':>9}  {'accuracy, 90 %':<18} {'cost':>9} {'per right':>9}", "bold")
    )
    for row in found.totals:
        out.print(Text(_line(row)))
    for beside in found.against:
        out.print()
        out.print(Text(_verdict(beside), style=_STYLES.get(beside.result, "bold yellow")))
        out.print(Text("\n".join(_why(beside))))
    _print_missed(found)
    out.print()
    if found.capped:
        said = f"{many(found.capped, 'debate')} had more than 99 calls; self-consistency had 99"
        out.print(Text(said, style="yellow"))
    out.print(fields([("Next", f"evaluate again before {found.due}: each quarter")]))


def _line(row: Total) -> str:
    accuracy = f"{row.accuracy:.0%} ({row.low:.0%} to {row.high:.0%})"
    counts = {"failed": row.failed, "cut short": row.truncated, "undecided": row.undecided}
    not_right = ", ".join(f"{number} {what}" for what, number in counts.items() if number)
    costs = f"{money(row.cost_micro_usd):>9} {money(row.cost_per_right_micro_usd):>9}"
    right = f"{row.right} of {row.n}"
    line = f"{NAMES[row.way]:<17} {right:>9}  {accuracy:<18} {costs}"
    return f"{line}\n{'':<17} of these {not_right}: not right" if not_right else line


def _verdict(row: Against) -> str:
    rival = {"single": "a single agent", "self_consistency": "self-consistency at equal calls"}
    said = {"better": "BETTER than", "worse": "WORSE than", "too few to tell": "TOO FEW TO TELL:"}
    return f"{said[row.result]} {rival[row.rival]}"


def _why(row: Against) -> Iterator[str]:
    """Yield the numbers behind a result."""
    p = row.p_worse if row.lost > row.won else row.p
    yield (
        f"  {many(row.won + row.lost, 'question')} differ: {row.won} won, {row.lost} lost; "
        f"{in_words(p)}, wanted below {LEVEL}"
    )
    points = (f"{100 * value:+.0f}" for value in (row.difference, row.low, row.high))
    yield "  accuracy {} points (90 %: {} to {})".format(*points)
    if row.result == "too few to tell":
        more = row.more_needed
        yield f"  about {more:,} more questions would tell" if more else "  no difference is seen"
    sizes = {"the cost": row.cost, "the tokens": row.tokens, "the time": row.latency}
    times = ", ".join(f"{value:.1f} times {what}" for what, value in sizes.items() if value)
    if times:
        yield f"  {times}"
    if row.rival == "single":
        yield f"  ({_USUAL})"


def _print_missed(found: hansard.Evaluation) -> None:
    """Name the questions that the debates got wrong, with their records."""
    missed = [row for row in found.questions if not row.debate.right]
    out = console()
    if missed:
        out.print(Text("\nThe debates were not right here:", style="bold"))
    for row in missed[:_SHOWN]:
        out.print(Text(f"  {one_line(row.id)}: {_missed(row)}"))
    if len(missed) > _SHOWN:
        out.print(Text(f"  and {len(missed) - _SHOWN:,} more; --json names all"))
    if missed:
        step = next_step(f"show {missed[0].debate.debate[:8]}")
        out.print(Text(f"  `{step}` shows the first", style="dim"))


def _missed(row: Question) -> str:
    held = row.debate
    said = held.decision if held.status == "complete" else held.status
    return f"{said}, not {shown(row.label)} ({held.debate[:8]})"
