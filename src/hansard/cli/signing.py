"""`export`, `page`, `keys` and `policy`: what is signed, and with which keys."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

import click
from rich.text import Text

import hansard
from hansard import private
from hansard.api.files import read_file
from hansard.api.trust import read_draft
from hansard.cli.console import console, fields
from hansard.cli.context import (
    allow_option,
    keyring,
    open_store,
    sound_record,
    store_option,
    trust_of,
)
from hansard.errors import UsageError
from hansard.report.safe import shown
from hansard.vocabulary import many

_FILE = click.Path(path_type=Path)
_SIGNER = click.option(
    "--signer",
    metavar="COMMAND",
    help="Sign with this command (of an HSM or KMS): it reads the text on standard input and "
    "prints the Ed25519 signature, raw or in base64.",
)
_ROLE = click.argument("role", type=click.Choice(hansard.Keyring.ROLES))
_FORMAT = click.option(
    "--format",
    "format_",
    type=click.Choice(hansard.formats()),
    default="consensus",
    show_default=True,
    help="The packaged prompts of this format, if no spec is given.",
)


@click.command()
@click.argument("debate", metavar="ID")
@click.option("-o", "--output", metavar="FILE", type=_FILE, required=True)
@_SIGNER
@store_option
def export(debate: str, output: Path, signer: str | None) -> None:
    """Export the record of the debate ID as one signed zip, FILE.

    The recipient can verify it without trusting you: VERIFY.md inside says how. Then
    report.html, which is signed as well, shows it in a browser. Send your public
    export key separately; `hansard keys` prints it.

    Exit codes: 0 written; 1 the record was altered, so nothing is written; 2
    there is no such debate, or FILE cannot be written.
    """
    record, key = _signing(debate, signer)
    save(output, record.export(key))
    _say_written(output, record, key, "then unpack it and open report.html in a browser")


@click.command()
@click.argument("debate", metavar="ID")
@click.option("-o", "--output", metavar="FILE", type=_FILE, required=True)
@_SIGNER
@store_option
def page(debate: str, output: Path, signer: str | None) -> None:
    """Write the record of the debate ID as one signed HTML page, FILE.

    A browser opens it from disk without a network, verifies the record again and
    shows the debate. It is the report.html of an export. `hansard verify FILE`
    verifies the record inside and the page's code.

    Exit codes: 0 written; 1 the record was altered, so nothing is written; 2
    there is no such debate, it is too large for a page, or FILE cannot be
    written.
    """
    record, key = _signing(debate, signer)
    save(output, record.page(key))
    _say_written(output, record, key, f"then open {output} in a browser")


def _signing(debate: str, command: str | None) -> tuple[hansard.Record, hansard.Signer]:
    """Return the record to be written, which is sound, and who signs it."""
    with open_store() as store:
        record = sound_record(store, debate)
    return record, keyring().signer("export", command)


def _say_written(output: Path, record: hansard.Record, signer: hansard.Signer, read: str) -> None:
    say = console(stderr=True)
    say.print(Text(f"{output}: {record.verification.entries} entries, signed by {signer.name}"))
    say.print(Text(f"Verify it first: hansard verify {shlex.quote(str(output))}; {read}"))


def save(path: Path, data: bytes) -> None:
    """Write a new file for its owner alone, whole or not at all; raises UsageError `output.*`."""
    if not path.name or os.path.lexists(path):  # which never raises
        raise UsageError("output.exists", f"{path} already exists; name a new file")
    try:
        private.write(path, data)
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
    """Make the key of ROLE, if there is none, and print its public key."""
    click.echo(keyring().signer(role).key)


@keys.command("import")
@_ROLE
@click.argument("file", type=_FILE)
def import_(role: Any, file: Path) -> None:
    """Use a key that an HSM or KMS holds: FILE is its Ed25519 public key in PEM.

    Your trust file lists it from then on. Sign with --signer.
    """
    click.echo(keyring().adopt(role, read_file(file)))


@keys.command()
@_ROLE
def rotate(role: Any) -> None:
    """Replace the key of ROLE by a new one.

    The old key stays valid for debates that were opened before now.
    """
    click.echo(keyring().rotate(role))


@keys.command()
@_ROLE
def revoke(role: Any) -> None:
    """Revoke the key of ROLE: it is not valid for debates opened from now on."""
    click.echo(f"revoked {keyring().revoke(role)}")


@click.group()
def policy() -> None:
    """Approve what debates may be made of, and check that they keep to it."""


@policy.command("init")
@click.option("--spec", type=_FILE, help="Approve the prompts that this spec uses.")
@_FORMAT
@click.option("-o", "--output", metavar="FILE", type=_FILE, required=True)
def init_policy(spec: Path | None, format_: str, output: Path) -> None:
    """Write a policy to be edited: strict values, and today's prompt templates."""
    save(output, hansard.draft_policy(spec, format=format_).encode())
    words = (
        f"{output}: edit it, then sign it: hansard policy approve {shlex.quote(str(output))} -o …"
    )
    console(stderr=True).print(Text(words))


@policy.command()
@click.argument("file", type=_FILE, required=False)
@click.option("--spec", type=_FILE, help="Approve the prompts that this spec uses.")
@_FORMAT
@allow_option
@click.option("-o", "--output", metavar="FILE", type=_FILE, required=True)
@_SIGNER
def approve(
    file: Path | None,
    spec: Path | None,
    format_: str,
    allow: tuple[Path, ...],
    output: Path,
    signer: str | None,
) -> None:
    """Sign a policy with your approval key, and write it to the file named by -o.

    FILE is the policy in YAML, as `hansard policy init` writes one. Without FILE the
    policy approves prompt templates alone: read them before you sign. `hansard run
    --policy` refuses every debate that is not what the policy allows.
    """
    if file is not None:
        said = many(len(read_draft(file)), "line")
    else:
        templates = hansard.prompt_templates(spec, format=format_, allow=allow)
        name = hansard.read_spec(spec).format if spec else format_
        said = f"{many(len(templates), 'template')} of {name}"
    key = keyring().signer("approval", signer)  # made now where there is none: all else is right
    if file is not None:
        save(output, hansard.approve_policy(key, file))
    else:
        save(output, hansard.approve_prompts(key, spec, format=format_, allow=allow))
    console(stderr=True).print(Text(f"{output}: {said}, by {key.name}"))


@policy.command("show")
@click.argument("file", type=_FILE, required=False)
@click.option("--spec", type=_FILE, help="Print the prompts that this spec uses.")
@_FORMAT
@allow_option
def show_policy(
    file: Path | None, spec: Path | None, format_: str, allow: tuple[Path, ...]
) -> None:
    """Print what the policy FILE says or, without FILE, the prompt templates.

    `hansard policy check` says who signed a policy.
    """
    if file is None:
        for role, body in hansard.prompt_templates(spec, format=format_, allow=allow).items():
            click.echo(f"--- {role} ---\n{shown(body.decode())}")
        return
    found = hansard.parse_policy(file)
    rows = [(f"{line.scope} {line.term}", line.value) for line in found.lines]
    _print([*rows, ("hash", found.hash)])


@policy.command()
@click.argument("one", type=_FILE)
@click.argument("other", type=_FILE)
def diff(one: Path, other: Path) -> None:
    """Print the lines that only the policy ONE (-) or only the policy OTHER (+) has.

    Who signed them is not looked at.

    Exit codes: 0 they say the same; 1 they do not; 2 a file is not a policy.
    """
    lines = [set(hansard.parse_policy(file).lines) for file in (one, other)]
    apart = sorted(lines[0] ^ lines[1])
    for line in apart:
        click.echo(f"{'-' if line in lines[0] else '+'} {line}")
    if apart:
        raise click.exceptions.Exit(1)


@policy.command()
@click.argument("file", type=_FILE)
@click.option("--spec", type=_FILE, help="Check this spec: its prompts, seats and limits.")
@_FORMAT
@allow_option
def check(file: Path, spec: Path | None, format_: str, allow: tuple[Path, ...]) -> None:
    """Check that FILE is validly signed and allows a spec, or approves today's prompts.

    Exit codes: 0 both hold; 1 something is not allowed; 2 the signature is not valid
    or not trusted.
    """
    found = hansard.read_policy(file, trust_of(None))
    others = hansard.unapproved_prompts(found, spec, format=format_, allow=allow)
    roles = hansard.prompt_templates(spec, format=format_, allow=allow)
    _print(
        [
            (role, f"NOT APPROVED: {others[role]}" if role in others else "approved")
            for role in roles
        ]
    )
    points = hansard.not_allowed(found, spec, allow=allow) if spec else []
    for point in points:
        click.echo(f"NOT ALLOWED: {shown(point)}")
    if others or points:
        raise click.exceptions.Exit(1)


def _print(rows: list[tuple[str, str]]) -> None:
    console().print(fields(rows, width=max(len(label) for label, _ in rows)))
