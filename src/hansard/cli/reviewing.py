"""`review`, `outcome`, `hold` and `status`: what people say of a closed debate."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from rich.text import Text

import hansard
from hansard.cli.console import console, document, fields
from hansard.cli.context import (
    find_export,
    keyring,
    open_store,
    sound_record,
    store_option,
    trust_of,
)
from hansard.cli.summary import REVIEW, gate_rows
from hansard.cli.summary import outcome as outcome_rows
from hansard.report.reviews import in_words
from hansard.report.safe import one_line, shown
from hansard.vocabulary import words

NOT_RELEASED = 3
_OUTCOMES = click.Choice(list(words("reviews")))
_SIGNER = click.option(
    "--signer",
    metavar="COMMAND",
    help="Sign with this command (of an HSM or KMS) instead of your reviewer key.",
)
_SIGNED = click.option("--sign", is_flag=True, help="Sign it with your reviewer key.")
_YES = click.option("--yes", is_flag=True, help="Do not ask before signing.")


@click.command()
@click.argument("debate", metavar="ID")
@click.option("--outcome", type=_OUTCOMES, required=True, help="What you find of the decision.")
@click.option("--reviewer", metavar="NAME", required=True, help="Your name, as it is recorded.")
@click.option("--comment", metavar="TEXT", help="Why; required to reject or to send back.")
@click.option(
    "--condition",
    "conditions",
    metavar="TEXT",
    multiple=True,
    help="What must be met first, with `--outcome conditions`; may be repeated.",
)
@_SIGNER
@_YES
@store_option
def review(
    debate: str,
    outcome: Any,
    reviewer: str,
    comment: str | None,
    conditions: tuple[str, ...],
    signer: str | None,
    yes: bool,
) -> None:
    """Sign a review of the debate ID, which must have ended.

    You see what you sign first: the question, the outcome and the hash of the last
    entry. Your reviewer key signs; your trust file must name it for reviews. A review by
    somebody involved is refused.

    Exit codes: 0 signed; 1 the record was altered; 2 it would not count, or there is
    no such debate.
    """
    with open_store() as store:
        record = sound_record(store, debate)
        out = console(stderr=True)
        found = record.standing()
        out.print(Text(shown(found.question or ""), style="bold"))
        head = ("Head", record.head)
        if isinstance(found, hansard.GateRecord):
            out.print(gate_rows(found, head))
        else:
            out.print(fields([*outcome_rows(found), head]))
        if not yes and sys.stdin.isatty():
            click.confirm(f"Sign this as {outcome}?", abort=True, err=True)
        ring = keyring()
        result = hansard.review(
            record.debate,
            outcome,
            store=store,
            reviewer=reviewer,
            signer=ring.signer("reviewer", signer),
            trust=ring.trust(),
            comment=comment,
            conditions=conditions,
            head=record.head,
        )
    _say(result)


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
            trust=ring.trust(),
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
            trust=ring.trust(),
        )
    _say(result)


def _optional(ring: hansard.Keyring, command: str | None, *, sign: bool) -> hansard.Signer | None:
    return ring.signer("reviewer", command) if sign or command else None


def _say(result: hansard.DebateResult | hansard.GateRecord) -> None:
    console(stderr=True).print(
        Text(f"recorded as entry {result.entries}; review: {one_line(in_words(result))}")
    )


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
    if find_export(source):
        record = hansard.read_export(source, keys)
    else:
        with open_store() as store:
            record = hansard.read_record(store, source, keys)
    result = record.standing()
    if as_json:
        click.echo(document(result))
    elif isinstance(result, hansard.GateRecord):
        console().print(gate_rows(result, ("Released", "NO: there is nothing to act on")))
    else:
        state = one_line(in_words(result))
        decision = result.decision_text or result.decision or "none"
        said = "yes" if result.released else "NO: do not act on it"
        rows = [("Decision", one_line(decision)), ("Ended", result.status)]
        rows += [(REVIEW, state), ("Released", said)]
        if record.exported and record.verification.level != 1:
            rows.append(("Signer", "not confirmed, so nothing is released"))
        console().print(fields(rows))
    if not result.released:
        raise click.exceptions.Exit(NOT_RELEASED)
