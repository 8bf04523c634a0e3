"""`report --period`: what all debates of a time come to, and the signed numbers of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click
from rich.text import Text

import hansard
from hansard.cli.console import console, printed
from hansard.cli.context import keyring, open_store, trust_of
from hansard.cli.signing import require_new, save
from hansard.report.periodic import CountedDebate
from hansard.vocabulary import many


def print_period(
    period: str | None, since: str | None, until: str | None, form: str, output: Path | None
) -> None:
    """Print the report on a time, and write its signed numbers where that is wanted."""
    if output:
        require_new(output)
    trust = trust_of(None)
    with open_store() as store:
        found = hansard.periodic_report(store, period, since=since, until=until, trust=trust)
    if not printed(form, found, CountedDebate.model_fields, map(_cells, found.debates)):
        click.echo(found.to_markdown(), nl=False)
    if output:
        signer = keyring().signer("export")
        save(output, found.signed(signer))
        said = f"{many(len(found.numbers), 'number')} over {many(len(found.debates), 'record')}"
        console(stderr=True).print(Text(f"{output}: {said}, signed by {signer.name}"))


def _cells(row: CountedDebate) -> Iterable[object]:
    return {**row.model_dump(mode="json"), "exceptions": " ".join(row.exceptions)}.values()
