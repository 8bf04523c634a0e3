"""What commands share: which store is meant, and a record read from it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any, NamedTuple, TypeVar

import click

from hansard.errors import DataError, UsageError
from hansard.governance.keyring import Keyring
from hansard.page.read import verify_export
from hansard.record import blob
from hansard.record import page as pages
from hansard.record.bundle import FOLDERS, MAX_EXPORT, Bundle, is_name
from hansard.record.keys import Trust, parse_trust
from hansard.report.formats import DebateResult
from hansard.report.view import build
from hansard.rules.events import Event, parse
from hansard.rules.replay import approved_by
from hansard.runtime.clock import Clock
from hansard.runtime.inputs import MAX_FILE
from hansard.store.application import DEFAULT_URL, Store
from hansard.verify.envelope import open_export
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


def keyring() -> Keyring:
    """Return one's own keys; a key that is made says so on standard error."""
    return Keyring(Keyring.default_folder(), Clock().now, lambda said: click.echo(said, err=True))


def trust_of(path: Path | None) -> Trust:
    """Return the keys that the reader trusts: those of a file, or one's own trust file's."""
    return keyring().trust() if path is None else parse_trust(read_file(path))


def read_file(path: Path, most: int = MAX_FILE) -> bytes:
    """Return a file's bytes; raises UsageError `input.unreadable`, also for more than `most`."""
    data = _read(path, most)
    if len(data) > most:
        raise UsageError("input.unreadable", f"{path} has more than {most} bytes")
    return data


def _read(path: Path, most: int) -> bytes:
    """Return at most one byte more than `most`: enough to see that it is too much."""
    try:
        with path.open("rb") as file:
            return file.read(most + 1)
    except OSError as error:
        raise UsageError("input.unreadable", f"{path} cannot be read: {error.strerror}") from None


def read_export(path: Path) -> bytes | dict[str, bytes]:
    """Return the bytes of a zip or of a page, or the files of a folder by name.

    What has no place in an export is not opened and stands as a file without
    content under a name that verifying refuses. Raises UsageError
    `input.unreadable`, and DataError `input.unknown` for HTML that is no page,
    `page.damaged` for a page without a record that can be read.
    """
    try:
        mode = path.stat().st_mode
        if S_ISDIR(mode):
            return dict(_files(path, ""))
    except OSError as error:
        raise UsageError("input.unreadable", f"{path} cannot be read: {error.strerror}") from None
    if not S_ISREG(mode):
        raise UsageError("input.unreadable", f"{path} is neither a file nor a folder")
    data = _read(path, MAX_EXPORT)
    if pages.is_page(data):
        if not pages.record_in(data):
            raise DataError("page.damaged", f"the record in the page {path} is damaged or cut off")
    elif data.lstrip().startswith(b"<"):
        raise DataError("input.unknown", f"{path} is no page of Hansard's and no export")
    return data


def _files(folder: Path, prefix: str) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each file of an export's folder; links are never followed."""
    for item in sorted(folder.iterdir()):
        name, mode = prefix + item.name, item.lstat().st_mode
        if S_ISDIR(mode) and name in FOLDERS:
            yield from _files(item, f"{name}/")
        elif S_ISREG(mode) and is_name(name):
            yield name, read_file(item, MAX_EXPORT)
        else:
            yield f"{name} is no file of an export", b""


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
    def approved(self) -> Mapping[str, str] | None:
        """The template hashes that its policy approves, where it has one."""
        first = self.events[0]
        if first["type"] != "debate.opened":
            return None
        return approved_by(first["data"], self.bundle.policies)

    @property
    def result(self) -> DebateResult:
        """What became of it; only for a record that was verified."""
        return build(self.events, self.text_of)

    def text_of(self, name: str) -> str | None:
        """Return a text by its blob's name, or None where it is gone."""
        file = self.bundle.blobs.get(name)
        return None if file is None else blob.unpack(file)


def read_source(source: str) -> Record:
    """Read a record from an export or from the store, whatever it holds."""
    path = find_export(source)
    if path is None:
        with open_store() as store:
            return read_record(store, store.find(source))
    export = read_export(path)
    verification = verify_export(export, trust_of(None))
    bundle, _ = open_export(export)
    if bundle is None or not bundle.lines:
        raise DataError(ALTERED, f"{path}: {verification.findings[0].message}")
    return Record(verification.debate or "", bundle, verification)


def read_record(store: Store, debate: str) -> Record:
    """Read a debate and verify it, whatever comes of that."""
    bundle = store.bundle(debate)
    return Record(debate, bundle, verify(bundle))


def find_export(name: str) -> Path | None:
    """Return the path that `name` is, where it is one; a debate's id is none."""
    path = Path(name)
    return path if os.path.exists(name) or "/" in name or path.suffix else None  # noqa: PTH110 - never raises


def sound_record(store: Store, prefix: str) -> Record:
    """Read a debate of the store to go on with it; raises DataError `record.altered`."""
    record = read_record(store, store.find(prefix))
    return _sound(record, record.debate[:8])


def sound_source(source: str) -> Record:
    """Read a debate or an export to show what it says; raises DataError `record.altered`.

    Nothing is drawn from bytes that were not verified just now.
    """
    record = read_source(source)
    if not find_export(source):
        return _sound(record, record.debate[:8])
    if record.verification.level == 0:
        step = next_step(f"verify {source}")
        click.echo(f"Note: who signed this export is not confirmed; `{step}` says why", err=True)
    return _sound(record, source)


def _sound(record: Record, name: str) -> Record:
    if not record.verification.ok:
        command = next_step(f"verify {name}")
        raise DataError(ALTERED, f"{name} was altered; `{command}` shows where")
    return record
