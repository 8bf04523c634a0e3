"""What commands share: which store is meant, and a record read from it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import click

from hansard.debate.events import Event, parse
from hansard.errors import DataError
from hansard.record import blob
from hansard.record.bundle import Bundle
from hansard.report.view import DebateResult, build
from hansard.store.application import DEFAULT_URL, Store
from hansard.verify.findings import Verification
from hansard.verify.verifier import verify

ALTERED = "record.altered"
F = TypeVar("F", bound=Callable[..., Any])


def store_option(command: F) -> F:
    """Let a command be told which store is meant."""
    return click.option(
        "--store",
        metavar="URL",
        expose_value=False,
        callback=_remember,
        help=f"Where debates are kept; else HANSARD_STORE, else {DEFAULT_URL}.",
    )(command)


def _remember(context: click.Context, _: click.Parameter, url: str | None) -> None:
    if url is not None:
        context.obj = url


def open_store(*, create: bool = False) -> Store:
    """Open the store that is meant."""
    named: str | None = click.get_current_context().obj
    return Store.open(named or os.environ.get("HANSARD_STORE") or DEFAULT_URL, create=create)


def next_step(command: str) -> str:
    """Return a command to be typed next, on the same store."""
    named: str | None = click.get_current_context().obj
    return f"hansard {command}" + (f" --store {shlex.quote(named)}" if named else "")


class Record(NamedTuple):
    """One debate as it is kept, and what verifying it found."""

    debate: str
    bundle: Bundle
    verification: Verification

    @property
    def events(self) -> list[Event]:
        """Its lines as events; raises DataError for one that cannot be read."""
        return [parse(line) for line in self.bundle.lines]

    @property
    def result(self) -> DebateResult:
        """What became of it; only for a record that was verified."""
        return build(self.events, self.text_of)

    def text_of(self, name: str) -> str | None:
        """Return a text by its blob's name, or None where it is gone."""
        file = self.bundle.blobs.get(name)
        return None if file is None else blob.unpack(file)


def read_record(store: Store, debate: str) -> Record:
    """Read a debate and verify it, whatever comes of that."""
    bundle = store.bundle(debate)
    return Record(debate, bundle, verify(bundle))


def sound_record(store: Store, prefix: str) -> Record:
    """Read a debate to show what it says; raises DataError `record.altered` for an altered one.

    Nothing is drawn from bytes that were not verified just now.
    """
    record = read_record(store, store.find(prefix))
    if not record.verification.ok:
        short = record.debate[:8]
        command = next_step(f"verify {short}")
        raise DataError(ALTERED, f"debate {short} was altered; `{command}` shows where")
    return record
