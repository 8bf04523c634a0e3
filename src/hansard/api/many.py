"""Many records at once: all of a store, or a folder of exports, verified in several processes.

    found = hansard.verify_exports("folder", trust, jobs=4, each=print)

`each` is called with what was found of one record, a `Verified`, as it is done. None is kept,
so the memory that this takes does not grow with their number, but for their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from hansard.errors import DataError, HansardError, UsageError, is_of_all

if TYPE_CHECKING:
    from hansard.record.checkpoint import Checkpoint
    from hansard.record.keys import Trust
    from hansard.store.application import Store
    from hansard.verify.many import Folder, Gathering, Seen, Verifications, Verified
    from hansard.verify.registers import RegisterCheck

_PART = 1 << 16  # bytes of a file that are read at once
Each = Callable[["Verified"], object]


def verify_exports(
    folder: Path | str,
    trust: Trust | None = None,
    since: Path | str | bytes | None = None,
    *,
    report: Path | str | bytes | None = None,
    jobs: int = 1,
    each: Each | None = None,
) -> Verifications:
    """Check a folder of exports: each of them, and that they are those that were signed for.

    `trust` names the keys that the reader believes. If the folder holds the register, each export
    must be the latest version that the register knows; and the register must begin as `since`
    says, a checkpoint that you kept, given by its path or its bytes. With a `report`, the path or
    the bytes of what `PeriodicReport.signed` gave, its numbers are counted again from the
    exports. The work is done in `jobs` processes, each of which takes up to 512 MiB, whatever an
    export holds. `level` is the lowest that any export reaches (2 where the register shows it),
    but 0 where no key of `trust` signed the folder's list, its register's checkpoint and the
    report, and None where a check failed of any of them. Raises UsageError `input.unreadable`,
    DataError `input.unknown` for what is no such folder, and `checkpoint.malformed` or
    `checkpoint.unsigned` for what you did not keep of this register; never for an export that
    does not hold or cannot be read.

    >>> from tempfile import TemporaryDirectory
    >>> from hansard import export_debates, open_keyring, open_store, run_sync, verify_exports
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> with TemporaryDirectory() as home, open_store("sqlite:///:memory:") as store:
    ...     keys = open_keyring(home)
    ...     for _ in range(2):
    ...         made = run_sync(spec, models={"ask": lambda request: "Because."}, store=store)
    ...     done = export_debates(store, store.debates(), f"{home}/all", keys.signer("export"))
    ...     found = verify_exports(f"{home}/all", keys.trust())
    >>> done.written, found.verdict, found.counts
    (2, 'INTACT', {'INTACT': 2})
    """
    from hansard.api.files import read_file
    from hansard.record.keys import Trust
    from hansard.record.note import MAX_NOTE
    from hansard.verify.many import Gathering
    from hansard.verify.recount import Recount

    path, trust = Path(folder), trust or Trust()
    data = read_file(Path(report), MAX_NOTE) if isinstance(report, (Path, str)) else report
    recount = None if data is None else Recount(data, trust)
    there = _look_around(path, trust, None if since is None else _kept(since, trust))
    start = partial(_zips, path, trust, recount.at if recount else None)
    found = Gathering(trust, there, recount)
    return _gather(found, start, there.exports, jobs, each)


def verify_store(
    store: Store, trust: Trust | None = None, *, jobs: int = 1, each: Each | None = None
) -> Verifications:
    """Check every debate of a store; what can be reached is level 0, since nobody signed it.

    `trust` names the keys whose reviews count. The work is done in `jobs` processes, but in
    this one for a store in memory. Raises DataError where the store itself cannot be read;
    never for a record that does not hold.

    >>> from hansard import open_store, run_sync, verify_store
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> with open_store("sqlite:///:memory:") as store:
    ...     made = run_sync(spec, models={"ask": lambda _: "Because."}, store=store)
    ...     found = verify_store(store)
    >>> found.records, found.level
    (1, 0)
    """
    from hansard.record.keys import Trust
    from hansard.verify.many import Gathering

    trust = trust or Trust()
    url = store.secret_url
    start = partial(_debates, url, trust) if url else partial(_of_this, store, trust)
    return _gather(Gathering(trust), start, store.debates(), jobs if url else 1, each)


def _gather(
    found: Gathering,
    start: Callable[[], AbstractContextManager[Callable[[str], Seen]]],
    names: Iterable[str],
    jobs: int,
    each: Each | None,
) -> Verifications:
    from hansard.api import workers

    for seen in workers.each(start, names, jobs, _lost):
        record = found.add(seen)
        if each:
            each(record)
    return found.result()


def _lost(name: str, why: str) -> Seen:
    from hansard.verify.many import Seen

    return Seen(name, error=f"it could not be verified: {why}")


# The work, in whichever process


@contextmanager
def _zips(folder: Path, trust: Trust, at: str | None) -> Iterator[Callable[[str], Seen]]:
    yield partial(_look_at_zip, folder, trust, at)


@contextmanager
def _debates(url: str, trust: Trust) -> Iterator[Callable[[str], Seen]]:
    from hansard.store.application import Store

    with Store.open(url) as store:
        yield partial(_look_at_debate, store, trust)


@contextmanager
def _of_this(store: Store, trust: Trust) -> Iterator[Callable[[str], Seen]]:
    yield partial(_look_at_debate, store, trust)


def _look_at_zip(folder: Path, trust: Trust, at: str | None, name: str) -> Seen:
    from hansard.api.files import read_own, require_zip
    from hansard.page.read import verify_export
    from hansard.record import bundle as bundles
    from hansard.record.line import line_hash
    from hansard.verify.many import Seen
    from hansard.verify.recount import part_of

    path, digest = folder / name, None
    try:
        data = read_own(path)
        digest = sha256(data).hexdigest()
        require_zip(data, path)
    except HansardError as error:
        return Seen(name, None, str(error), digest)
    found = verify_export(data, trust)
    if not found.ok:
        return Seen(name, found, None, digest)
    bundle = bundles.of_files(bundles.unpack(data))
    part = part_of(bundle, trust, at) if at else None
    hashes = [line_hash(line) for line in bundle.lines]
    return Seen(name, found, None, digest, *_times(bundle.lines), hashes, part)


def _times(lines: Sequence[bytes]) -> tuple[str, str]:
    """Return when a record that holds begins and ends."""
    from hansard.rules.events import parse

    return parse(lines[0])["at"], parse(lines[-1])["at"]


def _look_at_debate(store: Store, trust: Trust, debate: str) -> Seen:
    from hansard.verify.many import Seen
    from hansard.verify.verifier import verify

    try:
        return Seen(debate, verify(store.bundle(debate), trust))
    except DataError as error:
        if is_of_all(error):  # nothing is known of any record then
            raise
        return Seen(debate, error=str(error))


# The folder itself


def _kept(since: Path | str | bytes, trust: Trust) -> Checkpoint:
    from hansard.api.files import read_file
    from hansard.verify.register import kept

    return kept(since if isinstance(since, bytes) else read_file(Path(since)), trust)


def _look_around(path: Path, trust: Trust, since: Checkpoint | None) -> Folder:
    """Return what lies in a folder of exports, none of which is opened yet; read its register.

    Raises UsageError `input.unreadable`, and DataError `input.unknown`.
    """
    from hansard.api.files import holds_exports, names_in, open_own, read_own
    from hansard.record import folder as folders
    from hansard.record.manifest import NAME
    from hansard.record.note import MAX_NOTE
    from hansard.verify.many import Folder

    names = names_in(path)
    if len(names) > folders.MAX_FILES + 1:
        raise UsageError("input.unreadable", f"{path} holds more than {folders.MAX_FILES:,} files")
    if not holds_exports(path, names):
        raise DataError("input.unknown", f"{path} is not a folder of Hansard exports")
    listed = {name for name in names if names[name] and folders.is_listed(name)}
    exports = sorted(filter(folders.is_export, listed))
    sums = read_own(path / NAME, MAX_NOTE) if names.get(NAME) else None
    strange = names.keys() - listed - ({NAME} if sums is not None else set())
    with ExitStack() as stack:
        rest = {
            name: _Hashed(stack.enter_context(open_own(path / name, folders.MAX_FILE)))
            for name in sorted(listed.difference(exports))
        }
        register = None
        if rest.keys() >= set(folders.REGISTER):
            register = _read_register(rest, trust, since, exports)
        others = {name: file.digest() for name, file in rest.items()}
    size = None if since is None else since.head.size
    return Folder(sums, exports, others, strange, register, size)


def _read_register(
    files: Mapping[str, _Hashed], trust: Trust, since: Checkpoint | None, exports: Iterable[str]
) -> RegisterCheck:
    """Check the register of a folder line by line, and find what it says of the exports."""
    from hansard.record import folder as folders
    from hansard.record.checkpoint import MAX_CHECKPOINT, split
    from hansard.record.register import tag
    from hansard.verify.registers import verify_register

    return verify_register(
        files[folders.LINES].readline,
        files[folders.CHECKPOINT].read(MAX_CHECKPOINT + 1),
        trust,
        kept=split(files[folders.KEPT].readline),
        since=since,
        about={tag(folders.debate_of(name)) for name in exports},
    )


class _Hashed:
    """A file that is read once, in parts, and hashed meanwhile."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._hash = file, sha256()

    def readline(self, most: int) -> bytes:
        """Return the next line, or as much of it."""
        return self._fed(self._file.readline(most))

    def read(self, most: int) -> bytes:
        """Return at most so many bytes."""
        return self._fed(self._file.read(most))

    def digest(self) -> str:
        """Read what is left, and return the SHA-256 of all."""
        while self.read(_PART):
            pass
        return self._hash.hexdigest()

    def _fed(self, data: bytes) -> bytes:
        self._hash.update(data)
        return data
