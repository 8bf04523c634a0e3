"""`trust`: whose keys you believe, each in one role for a time."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.text import Text

import hansard
from hansard.cli.console import console, fields
from hansard.cli.context import keyring, say_exposed

_KEY = click.argument("key", metavar="KEY")


@click.group()
@click.option(
    "--trust",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The trust file. Default: trust.json in HANSARD_HOME.",
)
@click.pass_context
def trust(context: click.Context, file: Path | None) -> None:
    """List, add, revoke and remove the keys that you trust.

    Get a key from its owner on a way of its own: a key that comes with a record proves
    nothing. Later, name it by its name, its id or the whole key.
    """
    context.obj = hansard.TrustFile(file or keyring().trust_file)
    say_exposed(context.obj)


@trust.command("list")
@click.pass_obj
def list_(file: hansard.TrustFile) -> None:
    """List the keys that you trust, and the policies that are revoked.

    Exit codes: 0 listed; 2 the file is not a trust file.
    """
    listed = file.read()
    rows: list[tuple[str, Text | str]] = [
        (
            row.role,
            f"{row.key}  {row.from_ or 'always'} to {row.until or 'now'}"
            + (f", revoked from {row.revoked} on" if row.revoked else ""),
        )
        for row in listed.keys
    ]
    rows += [("policy", f"{row.sha256}  revoked from {row.revoked} on") for row in listed.policies]
    if listed.witnesses:
        rows.append(("witnesses", f"{listed.witnesses} must have cosigned a checkpoint"))
    console().print(fields([*rows, ("trust file", str(file.path))]))
    for lines in file.by_key().values():
        if {row.revoked is None for row in lines} == {True, False}:
            _note(f"{lines[0].key} is revoked in one line and counts by another: revoke it again")


@trust.command()
@_KEY
@click.option(
    "--role",
    type=click.Choice(hansard.TrustFile.ROLES),
    required=True,
    help="What the key may sign: export for exports, approval for policies, for example.",
)
@click.option("--from", "start", metavar="TIME", help="Trust it for debates opened from TIME on.")
@click.option("--until", "end", metavar="TIME", help="Trust it for debates opened before TIME.")
@click.pass_obj
def add(file: hansard.TrustFile, key: str, role: Any, start: str | None, end: str | None) -> None:
    """Trust KEY, as its owner gave it to you: NAME+ID+BASE64.

    TIME is a date or a time, such as 2026-11-22 or 2026-11-22T10:00:00Z.

    Exit codes: 0 added; 2 KEY is no key, or the file is not a trust file.
    """
    _say(file, f"{file.add(key, role, start=start, end=end).key} is trusted as {role} key")


@trust.command()
@_KEY
@click.option("--at", metavar="TIME", help="From when on. Default: now.")
@click.pass_obj
def revoke(file: hansard.TrustFile, key: str, at: str | None) -> None:
    """Trust KEY for nothing that is dated from now on, or from TIME on.

    An export is dated by its last entry, a policy by the opening of its debate: whoever
    holds the key can date both back. If it was stolen, remove it instead.

    Exit codes: 0 revoked; 2 KEY is not in the file, or TIME is no time.
    """
    found = file.revoke(key, at or datetime.now(UTC).isoformat())
    _say(file, f"{found} is revoked")


@trust.command()
@_KEY
@click.pass_obj
def remove(file: hansard.TrustFile, key: str) -> None:
    """Take KEY out of the file: whatever it signed is signed by somebody unknown.

    Exit codes: 0 removed; 2 KEY is not in the file.
    """
    removed = file.remove(key)
    _say(file, f"{removed} is removed")
    for other in dict.fromkeys(row.key for row in file.by_key().get(removed.public, [])):
        _note(f"the same key is still there as {other}: if it was stolen, remove that too")


@trust.command()
@click.argument("count", metavar="N", type=click.IntRange(min=0))
@click.pass_obj
def witnesses(file: hansard.TrustFile, count: int) -> None:
    """Take a checkpoint for anchored where N of your trusted witnesses cosigned it.

    With 0, as at first, only a checkpoint that you kept yourself anchors a record.

    Exit codes: 0 set; 2 you trust fewer witnesses than N.
    """
    file.require_witnesses(count)
    _say(file, f"{count} must have cosigned a checkpoint")


def _note(words: str) -> None:
    console(stderr=True).print(Text(f"Note: {words}"))


def _say(file: hansard.TrustFile, words: str) -> None:
    console().print(Text(words))
    console(stderr=True).print(Text(f"in {file.path}"))
