"""`verify`: a line a check, what was found, and the verdict."""

from __future__ import annotations

import click
from rich.console import Console
from rich.text import Text

from hansard.cli.console import console, document, value
from hansard.cli.context import open_store, read_record, store_option
from hansard.report.safe import one_line
from hansard.verify.findings import Check, Finding, Verification

_STYLES = {"pass": "green", "fail": "bold red", "unchecked": "yellow", "unsupported": "dim"}
_UNPROVEN = (
    "Not proven: who wrote this. Whoever can write to the store could have replaced the whole "
    "record by another one that agrees with itself, or invented a reply before it was recorded."
)


@click.command()
@click.argument("debate", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print checks and findings as JSON.")
@store_option
def verify(debate: str, as_json: bool) -> None:
    """Check the whole record of the debate ID.

    Every link, text, turn, prompt, reply, vote and the decision are derived again.

    Exit codes: 0 the record agrees with itself; 1 it was altered; 2 there is no
    such debate, or the store cannot be read.
    """
    with open_store() as store:
        found = read_record(store, store.find(debate)).verification
    if as_json:
        click.echo(document(found))
    else:
        print_verification(console(), found)
    if not found.ok:
        raise click.exceptions.Exit(1)


def print_verification(out: Console, found: Verification) -> None:
    """Print every check, every finding, and the verdict with what it does not prove."""
    for check in found.checks:
        _print_check(out, check)
    for finding in found.findings:
        _print_finding(out, finding)
    if found.open:
        out.print(Text("\nThe debate is still open: this holds for what was recorded so far."))
    if found.unchecked:
        out.print(Text(f"\n{found.unchecked}", style="yellow"))
    _print_verdict(out, found)


def print_findings(out: Console, found: Verification) -> None:
    """Print the checks that failed, what they found, and the verdict."""
    for check in found.checks:
        if check.status == "fail":
            _print_check(out, check)
    for finding in found.findings:
        _print_finding(out, finding)
    _print_verdict(out, found)


def _print_check(out: Console, check: Check) -> None:
    status = "FAIL" if check.status == "fail" else check.status
    out.print(
        Text.assemble(
            f"{check.number:>2}  ",
            (f"{check.name:<10}  ", "bold"),
            (f"{status:<11}  ", _STYLES[check.status]),
            one_line(check.evidence),
        )
    )


def _print_finding(out: Console, finding: Finding) -> None:
    place = f"entry {finding.seq}" if finding.seq else "the record"
    out.print(Text(f"\n{place}  {finding.code}  {one_line(finding.message)}", style="red"))
    if finding.expected is not None or finding.found is not None:
        out.print(
            Text(f"  expected  {value(finding.expected)}\n  found     {value(finding.found)}")
        )


def _print_verdict(out: Console, found: Verification) -> None:
    out.print()
    if found.ok:
        out.print(Text(_UNPROVEN, style="dim"))
    out.print(
        Text.assemble(
            (f" {found.verdict} ", "reverse bold green" if found.ok else "reverse bold red"),
            "" if found.ok else "  do not rely on this record",
        )
    )
