"""`review`, `outcome`, `hold` and `status`: what people say of a closed debate."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.text import Text

import hansard
from hansard.cli.console import console, fields, say_document
from hansard.cli.context import (
    find_export,
    keyring,
    next_step,
    open_store,
    sound_record,
    sound_source,
    store_option,
    trust_of,
)
from hansard.cli.signing import save
from hansard.cli.summary import MOST, gate_rows
from hansard.cli.summary import outcome as outcome_rows
from hansard.commands import path_word
from hansard.errors import UsageError
from hansard.report.outcome import REVIEW
from hansard.report.reviews import in_words
from hansard.report.safe import one_line
from hansard.vocabulary import words

NOT_RELEASED = 3
_FILE = click.Path(path_type=Path)
_OUTCOMES = click.Choice(list(words("reviews")))
_SIGNER = click.option(
    "--signer",
    metavar="COMMAND",
    help="Sign with this command (of an HSM or KMS) instead of your reviewer key.",
)
_SIGNED = click.option("--sign", is_flag=True, help="Sign it with your reviewer key.")
_YES = click.option("--yes", is_flag=True, help="Do not ask before signing.")


@click.command()
@click.argument("source", metavar="ID|EXPORT")
@click.option("--outcome", type=_OUTCOMES, help="What you find of the decision.")
@click.option("--reviewer", metavar="NAME", help="Your name, as it is recorded.")
@click.option("--comment", metavar="TEXT", help="Why; required to reject or to send back.")
@click.option(
    "--condition",
    "conditions",
    metavar="TEXT",
    multiple=True,
    help="What must be met first, with `--outcome conditions`; may be repeated.",
)
@click.option(
    "-o", "--output", metavar="FILE", type=_FILE, help="Of an EXPORT: write the review to FILE."
)
@click.option(
    "--import", "file", metavar="FILE", type=_FILE, help="Record the review that FILE holds."
)
@_SIGNER
@_YES
@store_option
def review(
    source: str, file: Path | None, output: Path | None, yes: bool, signer: str | None, **said: Any
) -> None:
    """Sign a review of the debate ID, which must have ended, or of an EXPORT.

    You see what you sign first: the question, the outcome and the hash of the last
    entry. Your reviewer key signs; your trust file must name it for reviews. A review by
    somebody involved is refused.

    A review of an EXPORT (a zip, its folder or a page) needs no store: it is written to
    the file named by -o. Whoever keeps the record takes it in with `hansard review ID
    --import FILE`; their trust file must name your key for reviews.

    Exit codes: 0 signed, or recorded; 1 the record was altered; 2 it would not count,
    or there is no such debate.
    """
    export = find_export(source)
    _check_options(export, file, output, signer=signer, **said)
    if file:
        with open_store() as store:
            debate = sound_record(store, source).debate
            result = hansard.import_review(debate, file, store=store, trust=trust_of(None))
        _say(result)
    elif output:
        record = sound_source(source)
        _show(record, said["outcome"], yes=yes)
        by = _signing(signer)
        save(output, hansard.sign_review(record, **by, **said))
        step = f"hansard review {record.debate[:8]} --import {path_word(output)}"
        rows = [("Written", f"{output}, signed by {by['signer'].name}")]
        rows += [("Next", "send it to whoever keeps the record, to be recorded there:"), ("", step)]
        console(stderr=True).print(fields(rows))
    else:
        with open_store() as store:
            record = sound_record(store, source)
            _show(record, said["outcome"], yes=yes)
            debate, head = record.debate, record.head
            result = hansard.review(debate, store=store, head=head, **_signing(signer), **said)
        _say(result)


def _check_options(
    export: Path | None, file: Path | None, output: Path | None, **given: object
) -> None:
    """Refuse options that do not go together."""
    if file and (export or output or any(given.values())):
        told = "--import takes the ID of a debate and nothing else: the file says the rest"
    elif not file and not (given["outcome"] and given["reviewer"]):
        told = "name --outcome and --reviewer, or with --import a review that is signed already"
    elif export and output is None:
        told = f"{export} is an export, which is not changed; name a file for the review with -o"
    elif output and not export:
        told = "-o goes with an export; a review of a debate of the store is recorded there"
    else:
        return
    raise UsageError("review.options", told)


def _show(record: hansard.Record, outcome: str, *, yes: bool) -> None:
    """Show what is about to be signed, and at a terminal ask whether it shall be."""
    result, head = record.standing(), ("Head", record.head)
    out = console(stderr=True)
    out.print(Text(one_line(result.question or "", MOST), style="bold"))
    if isinstance(result, hansard.GateRecord):
        out.print(gate_rows(result, head))
    else:
        out.print(fields([*outcome_rows(result), head]))
    if not yes and sys.stdin.isatty():
        click.confirm(f"Sign this as {outcome}?", abort=True, err=True)


def _signing(command: str | None) -> dict[str, Any]:
    """Return who signs, and the keys that they trust."""
    ring = keyring()
    return {"signer": ring.signer("reviewer", command), "trust": trust_of(None)}


@click.command()
@click.argument("debate", metavar="ID")
@click.option("--label", metavar="LABEL", required=True, help="What came of it, in one word.")
@click.option("--note", metavar="TEXT", help="More about it.")
@click.option(
    "--condition", type=click.IntRange(min=1), metavar="N", help="The condition N is met by it."
)
@_SIGNED
@_SIGNER
@store_option
def outcome(
    debate: str, label: str, note: str | None, condition: int | None, sign: bool, signer: str | None
) -> None:
    """Note what came of the decision of the debate ID later.

    With --condition N it notes that a condition of a review is met; that counts only
    if it is signed by somebody who may review. Conditions are numbered from 1, through
    all reviews.

    Exit codes: 0 noted; 1 the record was altered; 2 it cannot be noted.
    """
    ring = keyring()
    with open_store() as store:
        result = hansard.note_outcome(
            debate,
            label,
            store=store,
            note=note,
            condition=condition,
            signer=_optional(ring, signer, sign=sign),
            trust=trust_of(None),
        )
    _say(result)


@click.command()
@click.argument("debate", metavar="ID")
@click.option("--lift", is_flag=True, help="Lift the hold that stands.")
@click.option("--reason", metavar="TEXT", help="Why.")
@_SIGNED
@_SIGNER
@store_option
def hold(debate: str, lift: bool, reason: str | None, sign: bool, signer: str | None) -> None:
    """Forbid that anything of the record of the debate ID is deleted.

    Exit codes: 0 placed or lifted; 1 the record was altered; 2 a hold stands
    already, or none does.
    """
    ring = keyring()
    with open_store() as store:
        result = hansard.hold(
            debate,
            store=store,
            lift=lift,
            reason=reason,
            signer=_optional(ring, signer, sign=sign),
            trust=trust_of(None),
        )
    _say(result)


def _optional(ring: hansard.Keyring, command: str | None, *, sign: bool) -> hansard.Signer | None:
    return ring.signer("reviewer", command) if sign or command else None


def _say(result: hansard.DebateResult | hansard.GateRecord) -> None:
    out = console(stderr=True)
    out.print(Text(f"recorded as entry {result.entries}; review: {one_line(in_words(result))}"))
    if step := _next(result):
        out.print(fields(step))


@click.command()
@click.argument("source", metavar="ID|EXPORT")
@click.option(
    "--trust",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The keys that you trust. Default: trust.json in HANSARD_HOME.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@store_option
def status(source: str, trust: Path | None, as_json: bool) -> None:
    """Say whether the decision of the debate ID, or of an export, may be acted on.

    It is released if it was reached, every review that is required approves it, and,
    of an export, a key that you trust signed it.

    Exit codes: 0 released; 1 the record was altered; 2 there is no such debate, or it
    cannot be read; 3 not released.
    """
    keys = trust_of(trust)
    again: tuple[str, ...] = ()
    if find_export(source):
        record = hansard.read_export(source, keys)
    else:
        with open_store() as store:
            record = hansard.read_record(store, source, keys)
            again = hansard.remands_of(store, record.debate)
    result = record.standing()
    if as_json:
        say_document(result)
    elif isinstance(result, hansard.GateRecord):
        console().print(gate_rows(result, ("Released", "NO: there is nothing to act on")))
    else:
        console().print(fields(_standing(record, result, again)))
    if not result.released:
        raise click.exceptions.Exit(NOT_RELEASED)


def _standing(
    record: hansard.Record, result: hansard.DebateResult, again: Sequence[str]
) -> list[tuple[str, str]]:
    """Return the rows that say how a debate stands, and what to do with one that was sent back."""
    decision = result.decision_text or result.decision or "none"
    rows = [("Decision", one_line(decision)), ("Ended", result.status)]
    rows.append((REVIEW, one_line(in_words(result))))
    rows.append(("Released", f"{'yes' if result.released else 'NO'}. {result.acting}"))
    if record.exported and not record.verification.signed:
        rows.append(("Signer", "not confirmed, so nothing is released"))
    if again:
        rows.append(("Sent back", f"debated again as {', '.join(name[:8] for name in again)}"))
    elif not record.exported:
        rows += _next(result)
    return rows


def _next(result: hansard.DebateResult | hansard.GateRecord) -> list[tuple[str, str]]:
    """Return how to debate again what a review sent back; nothing of a gate, never debated."""
    debated = not isinstance(result, hansard.GateRecord)
    back = debated and result.reviewed.state == "remanded"
    return [("Next", next_step(f"run SPEC --remand {result.debate[:8]}"))] if back else []
