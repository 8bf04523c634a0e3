"""`redact`: erase texts of a closed debate."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click
from rich.text import Text

import hansard
from hansard.cli.console import console, fields
from hansard.cli.context import keyring, next_step, open_store, sound_record, store_option, trust_of
from hansard.cli.signing import SIGNER
from hansard.errors import UsageError
from hansard.report import quoting
from hansard.report.parts import Reviewed
from hansard.report.reviews import doubted_lifts, lifted
from hansard.report.safe import one_line
from hansard.vocabulary import many

_LENGTH = 60  # characters that are shown of a text


@click.command()
@click.argument("debate", metavar="ID")
@click.argument("texts", metavar="TEXT...", nargs=-1)
@click.option("--all", "whole", is_flag=True, help="Erase all texts of the debate.")
@click.option(
    "--keep",
    metavar="TEXT",
    multiple=True,
    help="Keep this text, although it quotes one that is erased; may be repeated.",
)
@click.option("--reason", metavar="WORDS", help="Why.")
@click.option("--basis", metavar="WORDS", help="On what legal basis, as in GDPR, Article 17.")
@click.option("--asked-by", metavar="NAME", help="Who asked for it.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Only show what would be erased, what quotes it, and what could not be checked then.",
)
@click.option(
    "--approve", is_flag=True, help="Sign it with your approval key as well: a second signature."
)
@click.option(
    "--approver",
    metavar="COMMAND",
    help="The same, by this command (of an HSM or KMS) instead of your approval key.",
)
@click.option("--yes", is_flag=True, help="Erase without asking at a terminal.")
@SIGNER
@store_option
def redact(
    debate: str,
    texts: tuple[str, ...],
    whole: bool,
    keep: tuple[str, ...],
    dry_run: bool,
    approve: bool,
    approver: str | None,
    yes: bool,
    signer: str | None,
    **words: str | None,
) -> None:
    """Erase texts of the debate ID, which must have ended.

    A TEXT is named by its entry and field, as in 12.reply or 1.question; without any, all
    texts are listed. Each other text that quotes one of them must be named as well: as a
    TEXT, or with --keep. Start with --dry-run. Where a hold was lifted, you see by whose key.

    The texts are gone from the store. The record says which they were, when, why, on what
    legal basis, who asked, and who signed: your reviewer key does. Every hash and signature
    made before still holds. Exports made before, backups, and what models were sent are out
    of reach: ask those who have them. What a PostgreSQL server leaves in its files is in
    tools/docs/operations.md.

    Exit codes: 0 erased, shown, or listed; 1 the record was altered; 2 it cannot be erased: the
    debate is open, a hold stands, a text that quotes it is not decided, or a signature
    would not count.
    """
    with open_store() as store:
        if whole:
            texts = _all(map(str, _erasable(store, debate)), (*texts, *keep))
        elif not texts:
            rows = ((str(row), one_line(row.text, _LENGTH)) for row in _erasable(store, debate))
            console().print(fields(list(rows)))
            return
        if not dry_run:
            store.require_erasing()
        found = hansard.preview_redaction(debate, texts, store=store, keep=keep)
        record = sound_record(store, debate)
        _show(found, record.reviewed())
        if dry_run:
            return
        missing = [name.replace("_", "-") for name, text in words.items() if not text]
        if missing:
            raise UsageError("redact.words", f"say --{' and --'.join(missing)} as well")
        if found.undecided:
            _refuse(found)
        if not yes and sys.stdin.isatty():
            click.confirm("Erase this? It cannot be undone.", abort=True, err=True)
        ring = keyring()
        signers = [ring.signer("reviewer", signer)]
        if approve or approver:
            signers.append(ring.signer("approval", approver))
        given: dict[str, Any] = {**words, "signers": signers, "trust": trust_of(None)}
        result = hansard.redact(record.debate, texts, store=store, keep=keep, **given)
    out = console(stderr=True)
    out.print(
        Text(
            f"erased: {many(len(found.erased), 'text')}; the record has "
            f"{many(result.entries, 'entry')} now"
        )
    )
    step = next_step(f"export {result.debate[:8]} -o FILE")
    out.print(
        fields(
            [
                ("Still there", "in exports and backups made before; ask those who have them"),
                ("Next", f"{step} makes an export without it"),
            ]
        )
    )


def _erasable(store: hansard.Store, debate: str) -> Iterator[quoting.TextAt]:
    record = sound_record(store, debate)
    return quoting.erasable(record.events, record.text)


def _all(names: Iterable[str], named: Sequence[str]) -> tuple[str, ...]:
    """Return the names of all texts."""
    if named:
        raise UsageError("redact.all", "--all means every text; leave out TEXT and --keep")
    found = tuple(names)
    if not found:
        raise UsageError("redact.gone", "all texts of this debate are erased already")
    return found


def _refuse(found: hansard.Erasure) -> None:
    names = ", ".join(map(str, found.undecided))
    raise UsageError(
        "redact.undecided",
        f"decide on what may quote it, each as TEXT or with --keep: {names}",
    )


def _show(found: hansard.Erasure, said: Reviewed) -> None:
    """Show what would go, what quotes it, what could not be checked any more, and lifted holds."""
    rows = list[tuple[str, str]]()
    for label, texts in (
        ("Erase", found.erased),
        ("Undecided", found.undecided),
        ("Keep", found.kept),
    ):
        rows += [(label, f"{text}  {one_line(text.text, _LENGTH)}") for text in texts]
    for debate, number in found.elsewhere.items():
        there = f"debate {debate[:8]} has the same words in {many(number, 'text')}"
        rows.append(("Elsewhere", f"{there}: each debate is erased from by itself"))
    rows += [("Unchecked", one_line(words)) for words in found.unchecked]
    rows.append(("Then", "; ".join(found.verification.caveats)))
    rows += [("Hold", one_line(words)) for words in lifted(said)]
    if doubted_lifts(said):
        rows.append(("", "before you erase, ask the person who placed the hold"))
    console(stderr=True).print(fields(rows))
