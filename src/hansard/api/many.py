"""Many records at once: all of a store, or a folder of exports, verified in several processes.

    found = hansard.verify_exports("folder", trust, jobs=4, each=print)

`each` is called with what was found of one record, a `Verified`, as it is done. None is kept,
so the memory that this takes does not grow with their number, but for their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from hansard.errors import DataError, HansardError, UsageError

if TYPE_CHECKING:
    from hansard.record.keys import Trust
    from hansard.store.application import Store
    from hansard.verify.many import Folder, Gathering, Seen, Verifications, Verified

Each = Callable[["Verified"], object]


def verify_exports(
    folder: Path | str,
    trust: Trust | None = None,
    *,
    report: Path | str | bytes | None = None,
    jobs: int = 1,
    each: Each | None = None,
) -> Verifications:
    """Check a folder of exports: each of them, and that they are those that were signed for.

    `trust` names the keys that the reader believes. With a `report`, the path or the bytes of
    what `PeriodicReport.signed` gave, its numbers are counted again from the exports. The work
    is done in `jobs` processes.
    `level` is the lowest that any export reaches, but 0 where no key of `trust` signed the
    folder's list, or the report, and None where a check failed of any of them. Raises
    UsageError `input.unreadable`, and DataError `input.unknown` for what is no such folder;
    never for an export that does not hold or cannot be read.

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
    there = _look_around(path)
    at = recount.report.at if recount and recount.report else None
    start = partial(_zips, path, trust, at)
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
        found.add(seen)
        if each:
            each(seen.record)
    return found.result()


def _lost(name: str, why: str) -> Seen:
    return _unread(name, f"it could not be verified: {why}")


def _unread(name: str, why: str, digest: str | None = None) -> Seen:
    from hansard.verify.many import Seen, Verified

    return Seen(Verified(name=name, error=why), digest)


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
    from hansard.verify.many import Seen, Verified
    from hansard.verify.recount import part_of

    path, digest = folder / name, None
    try:
        data = read_own(path)
        digest = sha256(data).hexdigest()
        require_zip(data, path)
    except HansardError as error:
        return _unread(name, str(error), digest)
    found = verify_export(data, trust)
    record = Verified(name=name, result=found)
    if not found.ok:
        return Seen(record, digest)
    bundle = bundles.of_files(bundles.unpack(data))
    part = part_of(bundle, trust, at) if at else None
    return Seen(record, digest, *_times(bundle.lines), part)


def _times(lines: Sequence[bytes]) -> tuple[str, str]:
    """Return when a record that holds begins and ends."""
    from hansard.rules.events import parse

    return parse(lines[0])["at"], parse(lines[-1])["at"]


def _look_at_debate(store: Store, trust: Trust, debate: str) -> Seen:
    from hansard.verify.many import Seen, Verified
    from hansard.verify.verifier import verify

    try:
        found = verify(store.bundle(debate), trust)
    except DataError as error:
        return _unread(debate, str(error))
    return Seen(Verified(name=debate, result=found))


# The folder itself


def _look_around(path: Path) -> Folder:
    """Return what lies in a folder of exports, none of which is opened yet.

    Raises UsageError `input.unreadable`, and DataError `input.unknown`.
    """
    from hansard.api.files import holds_exports, names_in, read_own
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
    others = {
        name: sha256(read_own(path / name)).hexdigest()
        for name in sorted(listed.difference(exports))
    }
    sums = read_own(path / NAME, MAX_NOTE) if names.get(NAME) else None
    strange = names.keys() - listed - ({NAME} if sums is not None else set())
    return Folder(sums, exports, others, strange)
