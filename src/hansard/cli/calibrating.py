"""`calibrate`: whether the gate asks for debates where they pay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click
from rich.text import Text

import hansard
from hansard.cli.console import console, fields, money, print_not_counted, printed
from hansard.cli.context import next_step, open_store, policy_of, policy_option, store_option
from hansard.cli.signing import save
from hansard.commands import path_word
from hansard.report.calibration import Arm, Band
from hansard.report.chance import LEAST, LEVEL
from hansard.report.safe import shown
from hansard.vocabulary import many


@click.command()
@click.option(
    "--since", metavar="TIME", help="Asked at this time or later, as in 2026-07-01 (UTC)."
)
@click.option("--until", metavar="TIME", help="Asked by the end of this time.")
@click.option("--task-type", metavar="NAME", help="Only questions of this task type.")
@policy_option(
    "The policy in force. Default: the one used last in this store that names a gate_factor."
)
@click.option(
    "--right",
    metavar="LABEL",
    multiple=True,
    default=("right",),
    help="An outcome label that means an answer was right; may be repeated. Default: right.",
)
@click.option(
    "--wrong",
    metavar="LABEL",
    multiple=True,
    default=("wrong",),
    help="One that means it was wrong; may be repeated. Default: wrong.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write a policy with the proposed factor to this new file, to be read and signed.",
)
@click.option("--json", "form", flag_value="json", help="Print the calibration as JSON.")
@click.option("--csv", "form", flag_value="csv", help="Print the bands as CSV.")
@store_option
def calibrate(
    since: str | None,
    until: str | None,
    task_type: str | None,
    policy_file: Path | None,
    right: tuple[str, ...],
    wrong: tuple[str, ...],
    output: Path | None,
    form: str | None,
) -> None:
    """Compare questions with and without a debate, and propose the gate's factor.

    `hansard outcome ID --label right` (or wrong) notes how a debate, or the single answer
    of `hansard gate --record`, turned out. Both are compared within bands of the single
    model's own confidence. A debate that is right more often by a share of 0.1 is worth its
    cost where a wrong answer costs more than 10 times as much: that is the factor.

    Nothing is proposed where either side has fewer than 20 questions with a noted outcome, or
    where chance alone may explain the difference.

    Exit codes: 0 a factor is proposed; 1 none is, and nothing is written; 2 there is no
    store, or FILE cannot be written.
    """
    policy = policy_of(policy_file)
    with open_store() as store:
        if output:  # somebody may have changed a record since its row was made, or the row
            hansard.rebuild_projection(store)
        found = hansard.calibrate(
            store,
            since=since,
            until=until,
            task_type=task_type,
            policy=policy,
            right=right,
            wrong=wrong,
        )
        draft = (
            hansard.draft_calibrated(store, found, policy) if output and found.proposed else None
        )
    if not printed(form, found, _TITLES, _cells(found.bands)):
        _print(found)
    if output and draft:
        save(output, draft.encode())
        step = f"hansard policy approve {path_word(output)} -o …"
        console(stderr=True).print(Text(shown(f"{output}: read it, then sign it: {step}")))
    if found.proposed is None:
        raise click.exceptions.Exit(1)


_NO_LOT = "no lot was drawn: debated questions may differ in more than confidence"
_TITLES = ("confidence", "arm", "n", "right", "accuracy", "cost_micro_usd")


def _cells(bands: Iterable[Band]) -> Iterator[list[object]]:
    """Yield a row for each arm of each band."""
    for band in bands:
        for name, arm in (("debated", band.debated), ("undebated", band.undebated)):
            yield [band.confidence, name, *arm.model_dump().values()]


def _print(found: hansard.Calibration) -> None:
    out = console()
    print_not_counted(found.not_counted)
    titles = ("confidence", "with a debate", "cost", "without", "points")
    out.print(Text(_line(titles), style="bold"))
    for band in found.bands:
        gain = "" if band.gain is None else f"{100 * band.gain:+.0f}"
        cost = money(band.debated.cost_micro_usd)
        cells = (band.confidence, _arm(band.debated), cost, _arm(band.undebated), gain)
        style = "" if band.debated.n or band.undebated.n else "dim"
        out.print(Text(_line(cells), style=style))
    out.print()
    out.print(fields(list(_rows(found))))


def _line(cells: Sequence[str]) -> str:
    return "{:<12}  {:<22} {:>8}  {:<22} {:>6}".format(*cells).rstrip()


def _arm(arm: Arm) -> str:
    return "–" if arm.accuracy is None else f"{arm.right} of {arm.n} right ({arm.accuracy:.0%})"


def _rows(found: hansard.Calibration) -> Iterator[tuple[str, str]]:
    yield "In force", _in_force(found)
    if found.gain is not None:
        yield "Evidence", found.evidence
    if found.unnoted:
        step = next_step("outcome ID --label right")
        yield "Not noted", f"{many(found.unnoted, 'answer')}: `{step}` notes one"
    if found.proposed is None:
        yield "Proposed", f"nothing: {_why_not(found)}"
        return
    most = "no bound" if found.proposed_high is None else f"{found.proposed_high:,}"
    worth = f"{found.cost_ratio:.2f} / {found.gain:.3f}"
    bounds = f"{found.proposed_low:,} to {most} at the ends of the interval"
    moved = f"{found.unmet:,} of the recorded downsides would no longer be large enough"
    yield "Proposed", f"gate_factor {found.proposed:,} = {worth} ({bounds})"
    yield "It means", f"{moved}, {found.met:,} more would be"
    yield "Look first", _NO_LOT


def _in_force(found: hansard.Calibration) -> str:
    factor = f"gate_factor {found.factor:,}"
    if found.policy is None:
        return f"{factor}, the default: no policy of this store names one"
    when = f"approved by {found.approved[:10]}" if found.approved else "not used in this store"
    due = "; review it: that is more than a quarter ago" if found.due and found.approved else ""
    return f"{factor} of policy {found.policy[:8]}, {when}{due}"


def _why_not(found: hansard.Calibration) -> str:
    if found.result == "worse":
        return "debates were right less often; find out why before you hold more of them"
    if found.result == "no gain":
        return f"chance alone may have made the difference (p is not below {LEVEL})"
    lacking = {"with": LEAST - found.debated, "without": LEAST - found.undebated}
    more = (f"{n} more {arm} a debate" for arm, n in lacking.items() if n > 0)
    return f"too few noted questions in bands that have both; it needs {' and '.join(more)}"
