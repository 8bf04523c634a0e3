"""`export`, `page` and `keys`: what is signed, and with which keys."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
from rich.text import Text

import hansard
from hansard import private
from hansard.api.files import read_file
from hansard.cli.console import console, fields
from hansard.cli.context import (
    find_export,
    keyring,
    open_store,
    sound_record,
    sound_source,
    store_option,
)
from hansard.cli.many import export_many
from hansard.commands import path_word
from hansard.errors import UsageError
from hansard.report.safe import one_line

_FILE = click.Path(path_type=Path)
SIGNER = click.option(
    "--signer",
    metavar="COMMAND",
    help="Sign with this command (of an HSM or KMS): it reads the text on standard input and "
    "prints the Ed25519 signature, raw or in base64.",
)
_ONE = "--checkpoint, --withhold and --dry-run are for one debate; name a single ID with them"
_LENGTH = 60  # characters that are shown of a text
_ROLE = click.argument("role", type=click.Choice(hansard.Keyring.ROLES))


@click.command()
@click.argument("debates", metavar="[ID]...", nargs=-1)
@click.option("--all", "whole", is_flag=True, help="Export every debate of the store.")
@click.option("--since", metavar="TIME", help="Those opened at this time or later (2026-11, UTC).")
@click.option("--until", metavar="TIME", help="Those opened at this time, all of it, or earlier.")
@click.option(
    "-o",
    "--output",
    metavar="FILE|FOLDER",
    type=_FILE,
    required=True,
    help="Write the export to this new file; many, into this folder.",
)
@click.option(
    "--checkpoint",
    metavar="FILE",
    type=_FILE,
    help="Prove its place in the register under this checkpoint, which the recipient kept.",
)
@click.option(
    "--withhold",
    metavar="WHAT=REASON",
    multiple=True,
    help="Keep texts from the recipient: one by its entry and field, as in 12.reply, or all of "
    "evidence, originals, personas or seat:NAME. REASON is one word, which the export states. "
    "May be repeated.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Only show what would be withheld, what quotes it, and what could not be checked.",
)
@SIGNER
@store_option
def export(
    debates: tuple[str, ...],
    whole: bool,
    since: str | None,
    until: str | None,
    output: Path,
    checkpoint: Path | None,
    withhold: tuple[str, ...],
    dry_run: bool,
    signer: str | None,
) -> None:
    """Export the record of the debate ID as one signed zip, FILE; many, as a FOLDER of zips.

    The recipient can verify it without trusting you: VERIFY.md inside says how. It also
    proves its place in your register (`hansard register --help`). Then report.html, which is
    signed as well, shows it in a browser. Send your public export key and log key
    separately; `hansard keys` prints them.

    With --withhold the export lacks texts. It says which, and why; what rests on them
    cannot be checked by its recipient, and is shown to you.

    Several IDs, --all, --since or --until write FOLDER: a zip for each debate, the register
    of the store, and a signed list, so that the recipient sees if one was taken away, or is
    not the latest version. A record that was altered is left out and does not stop the
    others. If you interrupt it, the same command goes on.

    Exit codes: 0 written, or shown; 1 a record was altered, so it is not written; 2
    there is no such debate, nothing is called so, or FILE or FOLDER cannot be written.
    """
    if bool(debates) == bool(whole or since or until):
        raise UsageError(
            "export.which", "name debates by their IDs, or else with --all, --since or --until"
        )
    if len(debates) == 1:
        _export_one(debates[0], output, checkpoint, withhold, dry_run=dry_run, signer=signer)
        return
    if checkpoint or withhold or dry_run:
        raise UsageError("export.one", _ONE)
    ring = keyring()
    with open_store() as store:
        found = list(debates) if debates else hansard.select_debates(store, since, until)
        export_many(store, found, output, ring.signer("export", signer), lambda: ring.signer("log"))


def _export_one(
    debate: str,
    output: Path,
    checkpoint: Path | None,
    withhold: tuple[str, ...],
    *,
    dry_run: bool,
    signer: str | None,
) -> None:
    require_new(output)
    reasons = dict(_what_and_why(each) for each in withhold)
    if reasons:
        with open_store() as store:
            _say_withheld(sound_record(store, debate).preview_withholding(reasons))
    if dry_run:
        return
    record, key = _signing(debate, signer, checkpoint)
    save(output, record.export(key, reasons))
    _say_written(output, record, key, "then unpack it and open report.html in a browser")


@click.command()
@click.argument("source", metavar="ID|EXPORT")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=_FILE,
    help="Write the page to this new file.",
)
@click.option(
    "--pdf",
    metavar="FILE",
    type=_FILE,
    help="Print the page to this new file; this needs a Chromium, which HANSARD_CHROMIUM may name.",
)
@click.option(
    "--with",
    "more",
    type=click.Choice(("prompts",)),
    help="Print every prompt, too, as it was sent.",
)
@SIGNER
@store_option
def page(
    source: str, output: Path | None, pdf: Path | None, more: str | None, signer: str | None
) -> None:
    """Write a record as one HTML page, print it as a PDF, or both.

    The record is that of the debate ID, whose page you sign, or that of an EXPORT (a zip,
    its folder or a page), which keeps its own signatures. A browser opens the page from
    disk without a network, verifies the record again and shows the debate. It is the
    report.html of an export. `hansard verify FILE` verifies the record inside and the
    page's code. The PDF is the whole record for people to read; it cannot be verified.

    Exit codes: 0 written; 1 the record was altered, so nothing is written; 2
    there is no such debate, it is too large for a page, there is no Chromium, or a FILE
    cannot be written.
    """
    if not (output or pdf) or (more and not pdf):
        raise UsageError("page.output", "name a file: -o for the page, --pdf to print it")
    for path in filter(None, (output, pdf)):
        require_new(path)
    if find_export(source):
        record, key = sound_source(source), None
        if signer:
            raise UsageError("page.signer", "an export keeps its signatures; leave out --signer")
    else:
        record, key = _signing(source, signer)
    made = record.page(key) if output else None
    printed = record.pdf(key, prompts=more == "prompts") if pdf else None
    if output and made:
        save(output, made)
        _say_written(output, record, key, f"then open {output} in a browser")
    if pdf and printed:
        save(pdf, printed)
        said = f"{pdf}: {record.verification.entries} entries, printed from the verified page"
        console(stderr=True).print(Text(said))


def _what_and_why(text: str) -> tuple[str, str]:
    what, equals, reason = text.partition("=")
    if not equals:
        raise UsageError(
            "withhold.reason", f"write {text}=REASON, as in {text}=personal_data, to say why"
        )
    return what, reason


def _say_withheld(found: hansard.Withholding) -> None:
    """Show what the export lacks, what quotes it all the same, and what cannot be checked."""
    rows = [("Withheld", f"{row}  {one_line(row.text, _LENGTH)}") for row in found.withheld]
    rows += [("Quotes it", f"{row}  {one_line(row.text, _LENGTH)}") for row in found.quoting]
    rows += [("Unchecked", one_line(words)) for words in found.unchecked]
    rows.append(("Then", "; ".join(found.verification.caveats)))
    console(stderr=True).print(fields(rows))


def _signing(
    debate: str, command: str | None, under: Path | None = None
) -> tuple[hansard.Record, hansard.Signer]:
    """Return the record to be written, sound and with its place in the register; who signs it."""
    ring = keyring()
    with open_store() as store:
        record = sound_record(store, debate)
        record = hansard.prove(store, record, lambda: ring.signer("log"), under=under)
    return record, ring.signer("export", command)


def _say_written(
    output: Path, record: hansard.Record, signer: hansard.Signer | None, read: str
) -> None:
    say = console(stderr=True)
    by = f"signed by {signer.name}" if signer else "with the signatures of the export"
    say.print(Text(f"{output}: {record.verification.entries} entries, {by}"))
    say.print(Text(f"Verify it first: hansard verify {path_word(output)}; {read}"))


def require_new(path: Path) -> None:
    """Raise UsageError `output.exists` where something is there already."""
    if not path.name or os.path.lexists(path):  # which never raises
        raise UsageError("output.exists", f"{path} already exists; name a new file")


def save(path: Path, data: bytes, *, replace: bool = False) -> None:
    """Write a new file for its owner alone, whole or not at all; raises UsageError `output.*`."""
    if not replace:
        require_new(path)
    try:
        private.write(path, data, replace=replace)
    except FileExistsError:  # made just now by somebody else
        raise UsageError("output.exists", f"{path} already exists; name a new file") from None
    except OSError as error:
        raise UsageError("output.failed", f"{path} cannot be written: {error.strerror}") from None


@click.group(invoke_without_command=True)
@click.pass_context
def keys(context: click.Context) -> None:
    """Show your keys, and make, rotate or revoke them.

    There is one Ed25519 key for each role, in HANSARD_HOME (default
    ~/.config/hansard). A missing key is made when it is first needed; at a terminal
    you are offered a passphrase that encrypts it. Elsewhere HANSARD_PASSPHRASE, or the
    content of the file HANSARD_PASSPHRASE_FILE, is the passphrase. Your own trust file
    lists your keys.
    """
    if context.invoked_subcommand is None:
        ring = keyring()
        rows: list[tuple[str, Text | str]] = []
        for role in ring.ROLES:
            key = ring.public(role)
            rows.append((role, str(key) if key else "none yet; made at first use"))
        rows.append(("trust file", str(ring.trust_file)))
        console().print(fields(rows))


@keys.command()
@_ROLE
def make(role: Any) -> None:
    """Make the key of ROLE, if there is none, and print its public key.

    Exit codes: 0 printed; 2 the key cannot be made or read.
    """
    ring = keyring()
    ring.signer(role)
    click.echo(ring.public(role))


@keys.command("import")
@_ROLE
@click.argument("file", type=_FILE)
def import_(role: Any, file: Path) -> None:
    """Use a key that an HSM or KMS holds: FILE is its Ed25519 public key in PEM.

    Your trust file lists it from then on. Sign with --signer.

    Exit codes: 0 imported; 2 FILE holds no such key, or ROLE has a key already.
    """
    click.echo(keyring().adopt(role, read_file(file)))


@keys.command()
@_ROLE
def rotate(role: Any) -> None:
    """Replace the key of ROLE by a new one.

    The old key stays valid for debates that were opened before now.

    Exit codes: 0 replaced; 2 the new key cannot be made.
    """
    click.echo(keyring().rotate(role))


@keys.command()
@_ROLE
def revoke(role: Any) -> None:
    """Revoke the key of ROLE: it is not valid for debates opened from now on.

    Exit codes: 0 revoked; 2 ROLE has no key.
    """
    click.echo(f"revoked {keyring().revoke(role)}")
