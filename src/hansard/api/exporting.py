"""Exports of many debates: a folder with a zip for each, and one signed list over all of them.

With the log key it holds the register, too, and its checkpoint, under which all are proven.

    done = hansard.export_debates(store, store.debates(), "folder", keys.signer("export"))

One is written after the other, whole or not at all, the checkpoint first and the list last. So
what an interrupted export left behind is known by its lack of a list; the same call goes on
with it, as of the checkpoint that is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from hansard import private
from hansard.errors import DataError, UsageError, is_of_all

if TYPE_CHECKING:
    from hashlib import _Hash

    from hansard.api.registering import Key
    from hansard.record.note import Signer
    from hansard.store.application import Store

_MOVED = ("register.late", "register.moved")  # somebody added to the debate meanwhile


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A debate that could not be exported: `debate` is its id, `sentence` and `code` say why."""

    debate: str
    sentence: str
    code: str


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export of many debates wrote.

    `written` is the number of new zips in `folder`, `kept` that of those an earlier call had
    written; `left_out` are the debates that are in neither. Where all are, there is no list.
    """

    folder: Path
    written: int
    kept: int
    left_out: tuple[LeftOut, ...]


def export_debates(
    store: Store,
    debates: Iterable[str],
    folder: Path | str,
    signer: Signer,
    *,
    log: Key | None = None,
    each: Callable[[str], object] | None = None,
) -> Exported:
    """Export debates into a folder: a zip for each, and a list of them signed by `signer`.

    `debates` are ids, or unambiguous prefixes of them; with `log`, the log key or what returns it,
    the folder holds the register as it is now, and each proves its place in it, as with `prove`;
    `each` is called with the id of each once it is done. A debate whose record does not hold or
    cannot be read, or to which somebody adds meanwhile, is left out and does not stop the others.
    An interrupted export leaves whole files and no list, and the same call goes on with it: a zip
    that is there is kept where it is exactly what would be written. Raises UsageError
    `store.unknown` or `store.ambiguous`; `export.none` without debates and `export.many` for more
    than a folder holds; `output.exists` where the folder is a link, or holds anything else or a
    finished export; `output.failed` where it cannot be written.

    >>> from tempfile import TemporaryDirectory
    >>> from hansard import export_debates, open_keyring, open_store, run_sync, select_debates
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> with TemporaryDirectory() as home, open_store("sqlite:///:memory:") as store:
    ...     made = run_sync(spec, models={"ask": lambda _: "Because."}, store=store)
    ...     signer = open_keyring(home).signer("export")
    ...     done = export_debates(store, select_debates(store), f"{home}/all", signer)
    >>> done.written, done.left_out
    (1, ())
    """
    names = _names(store, debates)
    path = Path(folder)
    try:
        with output_folder(path, listed=True) as held:
            held.lock()
            there = _left_behind(held, names)
            return _export(_Work(store, held, signer, log, there), names, each)
    except OSError as error:
        raise UsageError(
            "output.failed",
            f"{path} cannot be written: {error.strerror}; what is there is whole, and the same "
            "command goes on with it",
        ) from None


@contextmanager
def output_folder(folder: Path, *, listed: bool = False) -> Iterator[private.Folder]:
    """Make a folder for outputs, for its owner alone, if there is none, and hold it.

    So no output goes elsewhere. One that need not be `listed` may be closed to that. Raises
    OSError, and UsageError `output.exists` if a link stands there: somebody else may have made
    it, to choose where the outputs go.
    """
    private.make_folders(folder)
    if folder.is_symlink():
        raise UsageError(
            "output.exists",
            f"{folder} is a link, and Hansard writes through none; name the folder it leads to",
        )
    with private.held(folder, own=True, listed=listed) as held:
        yield held


def select_debates(store: Store, since: str | None = None, until: str | None = None) -> list[str]:
    """Return the ids of the debates opened from `since` to `until`, in the order of that.

    These are times in UTC, as exact as one likes, as for `list_debates`: `2026-11` includes all
    of November; without one there is no bound. A record that does not hold is among them:
    nothing that it says can leave it out. Raises UsageError `list.time`.

    >>> from hansard import open_store, select_debates
    >>> with open_store("sqlite:///:memory:") as store:
    ...     select_debates(store, since="2026-11-01", until="2026-11")
    []
    """
    from hansard.api.listing import caught_up, time_of

    given = {"since": since, "until": until}
    wanted = {name: time_of(name, at) for name, at in given.items() if at is not None}
    return list(caught_up(store).find(wanted)) if wanted else store.debates()


def _names(store: Store, debates: Iterable[str]) -> dict[str, str]:
    """Return the debates by the names of their zips."""
    from hansard.record import folder as folders

    names = {folders.name_of(debate): debate for debate in map(store.find, debates)}
    if not names:
        raise UsageError("export.none", "there is no debate to export; `hansard list` names them")
    most = folders.MAX_FILES - len((folders.VERIFY, *folders.REGISTER))
    if len(names) > most:
        raise UsageError(
            "export.many",
            f"{len(names):,} debates are too many for one folder, which holds {most:,}; export "
            "a part of them (--since, --until)",
        )
    return names


def _left_behind(folder: private.Folder, names: Mapping[str, str]) -> set[str]:
    """Return the names of what an interrupted export left whole, and remove its last part.

    Raises OSError, and UsageError `output.exists` for anything else.
    """
    from hansard.record.folder import REGISTER, VERIFY
    from hansard.record.manifest import NAME

    there, known = set[str](), {*names, VERIFY, *REGISTER}
    for name, is_file in folder.files():
        if name == NAME:
            raise UsageError(
                "output.exists", f"{folder.path} holds a finished export; name a new folder"
            )
        if private.is_part(name):
            folder.remove(name)
        elif name in known and is_file:
            there.add(name)
        else:
            raise UsageError(
                "output.exists",
                f"{folder.path} holds {name!r:.100}, which is no part of this export; name "
                "a new folder",
            )
    return there


@dataclass(frozen=True, slots=True)
class _Work:
    """What is exported from, where to, and with which keys; `there` is what was left there.

    `hashes` are those of what is there by now.
    """

    store: Store
    folder: private.Folder
    signer: Signer
    log: Key | None
    there: AbstractSet[str]
    hashes: dict[str, str] = field(default_factory=dict)

    def write(self, name: str, parts: Iterable[bytes]) -> bool:
        """Write a file, or compare it with the one that is there; say whether it was there.

        Raises OSError, and UsageError `output.exists` for one that is another.
        """
        digest, there = sha256(), name in self.there
        if there:
            with self.folder.opened(name) as file:
                same = all(file.read(len(part)) == part for part in _fed(parts, digest))
                if not same or file.read(1):
                    raise _stands(self.folder.path / name)
        else:
            self.folder.write(name, _fed(parts, digest))
        self.hashes[name] = digest.hexdigest()
        return there


def _fed(parts: Iterable[bytes], digest: _Hash) -> Iterator[bytes]:
    for part in parts:
        digest.update(part)
        yield part


def _export(
    work: _Work, names: Mapping[str, str], each: Callable[[str], object] | None
) -> Exported:
    """Write what is not there yet, and the list last; raises OSError and UsageError."""
    from hansard.export.write import instructions
    from hansard.record import folder as folders
    from hansard.record import manifest, note

    under = _write_register(work, work.log, names.values()) if work.log else None
    left_out, kept = list[LeftOut](), 0
    for name, debate in names.items():
        try:
            data = _zip(work, debate, under)
        except (DataError, UsageError) as error:
            if not _is_of_the_debate(error):
                raise
            left_out.append(_left_out(debate, error))
        else:
            kept += work.write(name, (data,))
        if each:
            each(debate)
    if strays := sorted(work.there - work.hashes.keys() - {folders.VERIFY}):
        raise _stands(work.folder.path / strays[0])
    written = len(names) - len(left_out) - kept
    if written or kept:
        work.write(folders.VERIFY, (instructions("FOLDER.md"),))
        listed = note.sign(folders.write(work.hashes), work.signer)
        work.folder.write(manifest.NAME, (listed,))
    return Exported(work.folder.path, written, kept, tuple(left_out))


def _is_of_the_debate(error: DataError | UsageError) -> bool:
    """Say whether an error is of one debate alone, which is left out; else the export ends."""
    if isinstance(error, DataError):
        return not is_of_all(error)
    return error.code in _MOVED


def _left_out(debate: str, error: DataError | UsageError) -> LeftOut:
    said = str(error)
    if error.code in _MOVED:
        said = f"debate {debate[:8]} went on since this export began; export it again"
    return LeftOut(debate, said, error.code)


def _write_register(work: _Work, key: Key, debates: Iterable[str]) -> bytes:
    """Write the register as it is now, or as it was when the export began; return its checkpoint.

    The last entries of open debates are registered first.
    """
    from hansard.api.registering import read_checkpoint, sign_checkpoint
    from hansard.errors import HansardError
    from hansard.governance.registrar import check_begins
    from hansard.record import folder as folders
    from hansard.record.checkpoint import MAX_CHECKPOINT

    log = work.store.register
    if folders.CHECKPOINT in work.there:
        try:
            with work.folder.opened(folders.CHECKPOINT) as file:
                own = read_checkpoint(file.read(MAX_CHECKPOINT + 1))
            check_begins(log, own)
        except HansardError:
            raise _stands(work.folder.path / folders.CHECKPOINT) from None
    else:
        for debate in debates:
            if not log.is_current(debate):
                _register_head(work.store, debate)
        own = read_checkpoint(sign_checkpoint(work.store, key))
    size = own.head.size
    work.write(folders.CHECKPOINT, (own.data,))
    work.write(folders.LINES, (line + b"\n" for line in log.lines(size)))
    work.write(folders.KEPT, log.notes(size))
    return own.data


def _register_head(store: Store, debate: str) -> None:
    """Register the last entry of an open debate, unless it is to be left out."""
    from hansard.api.records import read_record

    try:
        record = read_record(store, debate)
        if record.verification.ok:
            store.register.add_head(debate, record.head)
    except (DataError, UsageError) as error:
        if not _is_of_the_debate(error):
            raise


def _zip(work: _Work, debate: str, under: bytes | None) -> bytes:
    """Return the export of a debate; raises DataError where there is none, and UsageError."""
    from hansard.api.records import read_record
    from hansard.api.registering import prove

    record = read_record(work.store, debate)
    if work.log:
        record = prove(work.store, record, work.log, under=under)
    return record.export(work.signer)


def _stands(path: Path) -> UsageError:
    return UsageError(
        "output.exists",
        f"{path} is there already and is not what this export would write: its debate went on, "
        "another key signed it, or somebody put it there; move it away, or name a new folder",
    )
