"""What commands share: which store is meant, and the record that was named."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

import hansard
from hansard.addresses import without_secrets
from hansard.api.storing import DEFAULT_STORE
from hansard.commands import path_word
from hansard.errors import is_of_all
from hansard.report.safe import shown

ALTERED = "record.altered"
_MAY_BE_ID = re.compile("[0-9A-Fa-f-]+").fullmatch
F = TypeVar("F", bound=Callable[..., Any])


def store_option(command: F) -> F:
    """Let a command be told which store is meant."""
    return click.option(
        "--store",
        metavar="URL",
        expose_value=False,
        callback=_remember,
        help=f"The store to use. Default: HANSARD_STORE, or {DEFAULT_STORE} if that is not set.",
    )(command)


def allow_option(command: F) -> F:
    """Let a command be told which folders a spec may read beside its own."""
    return click.option(
        "--allow",
        metavar="DIR",
        multiple=True,
        help="Let the spec name files in DIR too, hidden ones included; may be repeated. "
        "Otherwise it reaches only its own folder.",
    )(command)


def policy_option(words: str) -> Callable[[F], F]:
    """Let a command be told a policy; `policy_of` reads it."""
    return click.option(
        "--policy", "policy_file", metavar="FILE", type=click.Path(path_type=Path), help=words
    )


def policy_of(file: Path | None) -> hansard.Policy | None:
    """Return the policy in a file, signed by a key that the reader trusts; None without one."""
    return hansard.read_policy(file, trust_of(None)) if file else None


def _remember(context: click.Context, _: click.Parameter, url: str | None) -> None:
    if url is not None:
        context.obj = url


def store_url() -> str:
    """Return the URL of the store that is meant, which may hold a password."""
    named: str | None = click.get_current_context().obj
    return named or os.environ.get("HANSARD_STORE") or DEFAULT_STORE


def open_store(*, create: bool = False) -> hansard.Store:
    """Open the store that is meant."""
    store = hansard.open_store(store_url(), create=create)
    say_exposed(store)
    return store


def say_exposed(place: hansard.Store | hansard.TrustFile) -> None:
    """Say once who else can read or change what is relied on, if anybody can."""
    told: set[str] = click.get_current_context().meta.setdefault(__name__, set())
    said = place.exposed
    if said and said not in told:
        told.add(said)
        click.echo(f"Note: {shown(said)}", err=True)


def next_step(command: str) -> str:
    """Return a command to be typed next, on the same store."""
    named: str | None = click.get_current_context().obj
    where = f" --store {shlex.quote(without_secrets(named))}" if named else ""
    return shown(f"hansard {command}{where}")


def keyring() -> hansard.Keyring:
    """Return one's own keys: a key that is made says so, and a passphrase is asked for."""
    ask = _ask if sys.stdin.isatty() and sys.stderr.isatty() else None
    return hansard.open_keyring(tell=lambda said: click.echo(shown(said), err=True), ask=ask)


def _ask(words: str, new: bool) -> str:
    try:
        given: str = click.prompt(
            words,
            hide_input=True,
            err=True,
            default="",
            show_default=False,
            confirmation_prompt=new,
        )
    except UnicodeDecodeError as error:
        said = f"what was typed is not {error.encoding} text: set HANSARD_PASSPHRASE_FILE instead"
        raise hansard.UsageError("key.passphrase", said) from None
    return given


def trust_of(path: Path | None) -> hansard.Trust:
    """Return the keys that the reader trusts: those of a file, or one's own trust file's."""
    ring = keyring()
    say_exposed(hansard.TrustFile(path or ring.trust_file))
    return ring.trust() if path is None else hansard.read_trust(path)


def read_source(source: str) -> hansard.Record:
    """Read a record from an export or from the store, whatever it holds."""
    path = find_export(source)
    if path:
        return hansard.read_export(path, trust_of(None))
    with open_store() as store:
        return hansard.read_record(store, source, trust_of(None))


def find_export(name: str) -> Path | None:
    """Return the path that `name` is, where it is one; a debate's id is none.

    Raises UsageError `input.both` for a file that has the name of a debate in the store.
    """
    path = Path(name)
    if "/" in name or path.suffix:
        return path
    if not os.path.exists(name):  # noqa: PTH110 - never raises
        return None
    _require_no_debate(name)
    return path


def _require_no_debate(name: str) -> None:
    """Refuse a file that has the name of a debate: it would be read in the debate's place.

    Somebody else may have put it there for that. Without a store no debate has the name, but a
    store that does not answer may hold one.
    """
    if not _MAY_BE_ID(name):
        return
    try:
        with hansard.open_store(store_url(), create=False) as store:
            store.find(name)
    except hansard.HansardError as error:
        if is_of_all(error):
            raise
        if error.code != "store.ambiguous":
            return
    raise hansard.UsageError(
        "input.both",
        f"{name} names a debate of the store, and a file that is here: write ./{name} for the "
        "file, or move it away",
    )


def sound_record(store: hansard.Store, prefix: str) -> hansard.Record:
    """Read a debate of the store to go on with it; raises DataError `record.altered`."""
    record = hansard.read_record(store, prefix, trust_of(None))
    return _sound(record, record.debate[:8])


def sound_source(source: str) -> hansard.Record:
    """Read a debate or an export to show what it says; raises DataError `record.altered`.

    Nothing is drawn from bytes that were not verified just now.
    """
    record = read_source(source)
    if not find_export(source):
        return _sound(record, record.debate[:8])
    if record.verification.level == 0:
        step = shown(f"hansard verify {path_word(source)}")
        click.echo(f"Note: who signed this export is not confirmed; `{step}` says why", err=True)
    return _sound(record, source)


def _sound(record: hansard.Record, name: str) -> hansard.Record:
    command = next_step(f"verify {path_word(name)}")
    record.verification.require_ok(name, f"`{command}` shows every finding")
    return record
