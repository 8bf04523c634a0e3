"""`register`: the list over all debates of a store, its checkpoints, and who cosigns them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.text import Text

import hansard
from hansard.api.files import read_file
from hansard.cli.console import console, fields, print_notes, say_document
from hansard.cli.context import keyring, open_store, sound_record, store_option, trust_of
from hansard.cli.signing import SIGNER, require_new, save
from hansard.report.safe import shown
from hansard.vocabulary import many

_FILE = click.Path(path_type=Path)
_OUTPUT = click.option(
    "-o", "--output", metavar="FILE", type=_FILE, help="Write it to this new file."
)
_TRUST = click.option(
    "--trust",
    metavar="FILE",
    type=_FILE,
    help="The keys that you trust. Default: trust.json in HANSARD_HOME.",
)
_KINDS = {
    "opened": "of debates opened",
    "head": "of later ends of records",
    "gate": "of gates asked",
    "policy_approved": "of policies approved",
    "policy_revoked": "of policies revoked",
    "key_approved": "of keys approved",
    "key_revoked": "of keys revoked",
}


@click.group()
def register() -> None:
    """Show and verify the register: one list over all the debates of a store.

    It has a line for each debate opened, for each later end of its record, and for each
    policy in use. A checkpoint is the hash over all lines so far, signed by your log key.
    Somebody outside who keeps one can show later that nothing before it was dropped,
    changed or replaced.
    """


@register.command("show")
@_TRUST
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@store_option
def show_register(*, trust: Path | None, as_json: bool) -> None:
    """Show how many lines the register has, of what kinds, and its latest checkpoint.

    Of those who cosigned it the witnesses are named that you trust.

    Exit codes: 0 shown; 2 there is no store, or a file cannot be read.
    """
    with open_store() as store:
        found = hansard.read_register(store, trust_of(trust))
    if as_json:
        say_document(found)
        return
    rows: list[tuple[str, Text | str]] = [
        ("Register", found.origin or "not named yet: the first key that signs names it"),
        ("Lines", f"{found.lines:,}"),
    ]
    rows += [("", f"{number:,} {_KINDS[kind]}") for kind, number in found.kinds.items()]
    rows.append(("Checkpoints", f"{found.checkpoints:,}, {found.signed:,} of them signed"))
    latest = found.latest
    if latest:
        state = "signed" if latest.signed else "not signed: hansard register checkpoint"
        rows += [("Latest", f"{many(latest.lines, 'line')}, {state}"), ("Root", latest.root)]
        rows += [("Cosigned by", name) for name in latest.witnesses]
        if latest.others:
            said = f"{many(latest.others, 'other signature')}, of no witness that you trust"
            rows.append(("Ignored", said))
    console().print(fields(rows))


@register.command()
@_OUTPUT
@SIGNER
@store_option
def checkpoint(output: Path | None, signer: str | None) -> None:
    """Sign the checkpoint over all lines with your log key, and print it.

    This is what somebody outside keeps: a text of three lines and a signature. With it,
    `hansard register verify --since FILE` shows later whether anything before it was
    dropped or changed.

    Exit codes: 0 printed or written; 2 there is no store, its lines are not those that were
    registered or signed, the key cannot be used, or FILE cannot be written.
    """
    if output:
        require_new(output)
    with open_store() as store:
        _give(output, hansard.sign_checkpoint(store, keyring().signer("log", signer)))


@register.command()
@click.argument("debate", metavar="[ID]", required=False)
@click.option(
    "--since",
    metavar="CHECKPOINT",
    type=_FILE,
    help="Prove that the register extends this checkpoint, for a witness who cosigned it.",
)
@_OUTPUT
@SIGNER
@store_option
def prove(debate: str | None, since: Path | None, output: Path | None, signer: str | None) -> None:
    """Prove that the last entry of the debate ID is in the register, or --since CHECKPOINT.

    The proof of a debate is a C2SP tlog-proof; an export carries it already. With --since
    the latest checkpoint is printed, and before it the proof that it extends the older one.

    Exit codes: 0 printed or written; 1 the debate's record was altered, or the register
    does not extend CHECKPOINT, and both are shown; 2 anything else that stands in the way.
    """
    if (debate is None) == (since is None):
        raise hansard.UsageError("register.what", "name a debate, or a checkpoint with --since")
    if output:
        require_new(output)
    with open_store() as store:
        if since is not None:
            with _showing_forks():
                _give(output, hansard.prove_since(store, since, lambda: _log_key(signer)))
        elif debate is not None:
            record = sound_record(store, debate)
            record = hansard.prove(store, record, lambda: _log_key(signer))
            _give(output, record.bundle.proofs["head"])


@register.command("verify")
@click.option(
    "--since",
    metavar="CHECKPOINT",
    type=_FILE,
    help="A checkpoint that somebody kept outside: the register must extend it.",
)
@_TRUST
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
@store_option
def verify_register(*, since: Path | None, trust: Path | None, as_json: bool) -> None:
    """Compare the register with its hashes, with the debates of the store, and --since.

    A store that was put back from a backup, and everything that its owner wrote anew, agrees
    with itself. Only a checkpoint that was kept elsewhere shows it.

    Exit codes: 0 it holds; 1 it does not; 2 there is no store, or a file cannot be read.
    """
    with open_store() as store:
        found = hansard.verify_register(store, since, trust_of(trust))
    if as_json:
        say_document(found)
    else:
        _print_check(found)
    if not found.ok:
        raise click.exceptions.Exit(1)


def _print_check(found: hansard.RegisterCheck) -> None:
    rows: list[tuple[str, Text | str]] = [
        ("Register", found.origin or "not named yet"),
        ("Lines", f"{found.lines:,}"),
        ("Debates", f"{found.debates:,} compared with their lines"),
    ]
    if found.since is not None:
        by = f"signed by {', '.join(found.signed_by)}" if found.signed_by else _UNKNOWN
        rows.append(("Kept", f"a checkpoint of {many(found.since, 'line')}, {by}"))
    out = console()
    out.print(fields(rows))
    for row in found.findings[:_LISTED]:
        where = "the register" if row.line is None else f"line {row.line:,}"
        out.print(Text(f"\n{where}  {row.code}\n  {shown(row.message)}", style="red"))
        print_notes(row.notes)
    if len(found.findings) > _LISTED:
        out.print(Text(f"\n… and {len(found.findings) - _LISTED:,} more", style="red"))
    if not found.ok:
        said = ("\n DOES NOT HOLD ", "reverse bold red"), "  do not rely on this store"
    elif found.since is None:
        said = ("\n HOLDS ", "reverse bold green"), "  nobody outside was asked: see --since"
    else:
        said = ("\n HOLDS ", "reverse bold green"), "  and extends the checkpoint that was kept"
    out.print(Text.assemble(*said))


_LISTED = 100
_UNKNOWN = "by a key that you do not trust"


@register.command()
@click.argument("checkpoint", metavar="CHECKPOINT", type=_FILE)
@_OUTPUT
@_TRUST
@SIGNER
def cosign(checkpoint: Path, output: Path | None, trust: Path | None, signer: str | None) -> None:
    """Cosign somebody else's CHECKPOINT, and print it with your signature.

    You are a witness: you trust the log key of the register's owner (`hansard trust add KEY
    --role log`), and need neither their store nor any record. Hansard keeps the last
    checkpoint that you cosigned, and refuses one that does not extend it. So ask for the
    first checkpoint as `hansard register checkpoint` writes it, and for each later one with
    its proof, as `hansard register prove --since` writes it. Send the result back; the
    owner runs `hansard register add` on it.

    Exit codes: 0 cosigned; 1 the register was forked, and both checkpoints are shown; 2 the
    checkpoint is older, unproven, or not signed by a log key that you trust.
    """
    if output:
        require_new(output)
    with _showing_forks():
        ring = keyring()
        made = hansard.cosign(checkpoint, lambda: ring.signer("witness", signer), trust_of(trust))
    _give(output, made.note)
    lines = many(made.checkpoint.head.size, "line")
    before = "the first one of this register" if made.before is None else f"after {made.before:,}"
    console(stderr=True).print(Text(f"cosigned a checkpoint of {lines}, {before}"))


@register.command()
@click.argument("files", metavar="[FILE]...", type=_FILE, nargs=-1)
@_TRUST
@store_option
def add(files: tuple[Path, ...], trust: Path | None) -> None:
    """Add to the register what no debate brings into it.

    A FILE is a signed policy, or a checkpoint that a witness cosigned, of which only the
    signatures of witnesses are kept that you trust. Without FILE, lines are added for the
    keys of your trust file, and for what it has revoked. Do so when you approve or revoke
    something: the register shows that it was so by then.

    Exit codes: 0 added, or there already; 1 a checkpoint is of a fork of this register; 2
    a FILE is neither, the policy's approval does not count, or no witness that you trust
    cosigned the checkpoint.
    """
    keys, policies, cosigned = trust_of(trust), list[hansard.Policy](), list[bytes]()
    for data in map(read_file, files):  # a policy may be larger than any checkpoint
        try:
            hansard.read_checkpoint(data)
            cosigned.append(data)
        except hansard.DataError:
            policies.append(hansard.read_policy(data, keys))
    with open_store() as store, _showing_forks():
        given = None if files else keys
        added = hansard.add_to_register(store, trust=given, policies=policies)
        taken = [hansard.add_cosigned(store, data, keys) for data in cosigned]
    added += sum(row.new for row in taken)
    said = f"{added:,} added" if added else "all of it was there already"
    console(stderr=True).print(Text(said))
    if ignored := sum(row.ignored for row in taken):
        said = many(ignored, "other signature")
        console(stderr=True).print(Text(f"ignored {said}: only witnesses that you trust count"))


def _log_key(command: str | None) -> hansard.Signer:
    return keyring().signer("log", command)


@contextmanager
def _showing_forks() -> Iterator[None]:
    """Show both checkpoints of a fork, and exit with 1."""
    try:
        yield
    except hansard.ForkError as error:
        console(stderr=True).print(Text(f"error: {error} [{error.code}]"))
        print_notes(note.decode() for note in error.notes)
        raise click.exceptions.Exit(1) from None


def _give(output: Path | None, data: bytes) -> None:
    """Write to a new file, or print."""
    if output is None:
        click.echo(data, nl=False)
        return
    save(output, data)
    console(stderr=True).print(Text(f"{output}: written"))
