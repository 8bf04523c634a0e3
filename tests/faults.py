"""Faults of the store at any write of a run, seeded: what is tried, and what must hold after it.

    faults.py NUMBER...     try the faults of these numbers, and say how many there were in each

A number stands for one debate, or one answer of the gate, and for what befalls it: in one to
three lives, each a process of its own, one of its writes is lost, is stored though the process
hears of an error, or kills the process before or after it; or a file may grow no further, or
the disk has no room left. The wall clock of each life may be behind. The last life is left alone,
and must come to the end that an undisturbed one has.

From `FILES` on, the store is in PostgreSQL, on a server of its own. Before or after a write is
committed there, its session may also be ended, its connection cut, or the server ended at once
and started again. The first lives of these numbers are of every kind at every write.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import random
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, cast

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tools")]

import psycopg
from eventsourcing.sqlite import SQLiteDatastore

import servers
from crash.child import BATCHES, PLAYED, model_in, replies_for, spec_for, tools_for
from crash.test_kill import assert_nothing_twice, calls, ending, noted
from hansard.api.registering import verify_register
from hansard.errors import HansardError, SpecWarning
from hansard.record import register
from hansard.runtime import gating, session
from hansard.runtime.clock import Clock, spelled
from hansard.runtime.files import Files
from hansard.store import application, postgres, postgres_server
from hansard.store.application import Store
from hansard.verify.verifier import verify

FILES, SERVERS = 2_400, 1_200  # numbers that the whole campaign tries
WRITES = ("lost", "unacknowledged", "killed before", "killed after")
SESSIONS = tuple(
    f"{what} {when}" for what in ("ended", "cut", "restarted") for when in ("before", "after")
)
SPACES = ("file limit", "disk full")
PAGE = 4_096  # bytes
GROWS = 262_144  # bytes that a debate adds to a database, about
_ROOM = 64 * 1024 * 1024
_LATE = ("unacknowledged", *(kind for kind in (*WRITES, *SESSIONS) if kind.endswith("after")))


class Life(NamedTuple):
    """What befalls one process.

    `kind` is one of `WRITES` or `SESSIONS`, at its write number `at` once or, where it lasts, again
    and at all later ones; or one of `SPACES`, from `at` bytes on; or none. `behind` is how many
    seconds its wall clock is.
    """

    kind: str = ""
    at: int = 0
    lasts: bool = False
    behind: int = 0


class Behind(Clock):
    """A wall clock that is set back, and set back again whenever it is read."""

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds

    def now(self) -> str:
        now = datetime.fromisoformat(super().now()) - timedelta(seconds=self._seconds)
        self._seconds *= 2
        return spelled(now)


class Undisturbed(NamedTuple):
    """A run that nothing befalls: its writes, the size of its largest file, and its end."""

    writes: int
    bytes: int
    end: list[Any]


def lives(number: int) -> tuple[str, list[Life]]:
    """Return what is played under a number, and what befalls each of its lives."""
    chance = random.Random(number)
    served = number >= FILES
    played = chance.choice([*PLAYED, "gate"])
    first = None
    if served:
        every = points()
        played, *first = every[(number - FILES) % len(every)]
    usual = undisturbed(played, served=served)
    kinds = [*WRITES, *WRITES, *(SESSIONS if served else SPACES[:1])]
    kinds += SPACES[1:] if may_mount() else ()

    def life(kind: str, at: int | None = None) -> Life:
        at = at or (
            chance.randrange(PAGE, usual.bytes + PAGE)
            if kind in SPACES
            else chance.randint(1, usual.writes)
        )
        behind = chance.choice((0, 0, 1, 3_600, 30 * 86_400))
        return Life(kind, at, chance.random() < 0.5, behind)

    found = [life(chance.choice(kinds)) for _ in range(chance.choice((1, 1, 2, 3)))]
    if first:
        found[0] = life(*first)
    return played, [*found, Life(behind=chance.choice((0, 86_400)))]


@cache
def points() -> list[tuple[str, str, int]]:
    """Return every kind at every write of all that is played on a server, in a fixed disorder."""
    found = [
        (played, kind, at)
        for played in [*PLAYED, "gate"]
        for kind in (*WRITES, *SESSIONS)
        for at in range(1, undisturbed(played, served=True).writes + 1)
    ]
    random.Random(0).shuffle(found)
    return found


@cache
def may_mount() -> bool:
    """Whether this process may make a small disk of its own."""
    with TemporaryDirectory() as home:
        try:
            with _disk(Path(home, "disk")):
                return True
        except (OSError, subprocess.CalledProcessError):
            return False


@cache
def undisturbed(played: str, *, served: bool = False) -> Undisturbed:
    """Run what is played once with nothing in its way."""
    with _site(served=served) as site:
        assert _process(site, played, Life()) == 0, site.error
        writes, largest = map(int, (site.folder / "usual").read_text().split())
        with _opened(site) as store:
            return Undisturbed(writes, GROWS if served else largest, ending(store))


def tried(number: int) -> int:
    """Try the faults of a number; return how many befell, or raise."""
    played, every = lives(number)
    fills = any(life.kind == "disk full" for life in every)
    befell = 0
    with _site(served=number >= FILES, fills=fills) as site:
        for life in every:
            before = _kept(site)
            if life.kind == "disk full":
                _leave(site.disk, life.at)
            ended = _process(site, played, life)
            befell += ended != 0 or (site.folder / "met").exists()
            if fills:  # without any room, SQLite does not even read
                _leave(site.disk, _ROOM)
            site.settle()
            _check_life(site, life, ended, before)
            if played == "gate":  # each time it is asked it answers anew
                _check_answers(site, life, ended, len(before))
        _check_end(site, played)
    return befell


class Site:
    """Where one store is, with its disk, and the folder of what its processes leave beside it."""

    server: servers.Server | None = None

    def __init__(self, folder: Path, disk: Path) -> None:
        self.folder, self.disk = folder, disk
        self.url = f"sqlite:///{folder}/store/h.db"

    @property
    def error(self) -> str:
        """What the last process that failed has left."""
        return (self.folder / "error").read_text()

    def settle(self) -> None:
        """Wait until nothing is left of a process that has ended."""


class ServedSite(Site):
    """One in a fresh database of the server."""

    def __init__(self, folder: Path, disk: Path, server: servers.Server) -> None:
        super().__init__(folder, disk)
        self.server, self.url = server, server.fresh()
        application.migrate(self.url)

    def settle(self) -> None:
        """Wait until the server knows that a process is gone: it has the debate's lock till then.

        A server that had no room for its own log has ended, and is started again.
        """
        assert self.server
        self.server.require()
        name = servers.database(self.url)
        sessions = (
            f"SELECT 1 FROM pg_stat_activity WHERE datname = '{name}' AND usename IS NOT NULL"
        )
        while self.server.sql(sessions):
            time.sleep(0.01)

    def drop(self) -> None:
        """Leave nothing of it."""
        assert self.server
        self.server.require()
        self.server.sql(f"DROP DATABASE {servers.database(self.url)} WITH (FORCE)")


@contextmanager
def _site(*, served: bool, fills: bool = False) -> Iterator[Site]:
    with TemporaryDirectory() as home, ExitStack() as stack:
        if served:
            server, disk = _server()
            site = ServedSite(Path(home), disk, server)
            stack.callback(site.drop)
            yield site
            return
        disk = Path(home, "store")
        if fills:
            stack.enter_context(_disk(disk))
        disk.mkdir(exist_ok=True)
        yield Site(Path(home), disk)


@cache
def _server() -> tuple[servers.Server, Path]:
    """Start the server, which ends with this process, on a disk of its own where it may."""
    stack = ExitStack()
    atexit.register(stack.close)
    home = Path(stack.enter_context(TemporaryDirectory()))
    home.chmod(0o755)
    disk = home / "disk"
    if may_mount():
        stack.enter_context(_disk(disk))
    disk.mkdir(exist_ok=True)
    return stack.enter_context(servers.running(under=disk)), disk


def _codes(site: Site, kind: str) -> set[str]:
    """Return the errors of which a process may hear."""
    if site.server and kind == "disk full":  # without room for its log, a server goes down
        return {"store.full", "store.unreachable"}
    if kind in SPACES:
        return {"store.full", "store.failed"}
    return {"store.unreachable" if kind in SESSIONS else "store.failed"} if kind else set()


def _check_life(site: Site, life: Life, ended: int, before: list[list[bytes]]) -> None:
    """After one process: the store opens, has all that it had, and holds."""
    if ended and life.kind.startswith("killed"):
        assert ended == -signal.SIGKILL, site.error
    elif ended:
        assert site.error.partition(":")[0] in _codes(site, life.kind), site.error
    with _opened(site) as store:
        now = [store.lines(debate) for debate in store.debates()]
        for old, new in zip(before, now, strict=False):
            assert new[: len(old)] == old, "what was recorded is lost"
        assert len(now) >= len(before)
        for debate in store.debates():
            assert verify(store.bundle(debate)).findings == []
        assert (found := verify_register(store)).ok, found
        lines = [register.parse(line) for line in store.register.lines(store.register.size)]
        said = [(line.kind, line.tag, line.head) for line in lines]
        assert len(said) == len(set(said)), "the register says something twice"
        opened = [line.tag for line in lines if line.kind in register.OPENING]
        assert opened == [register.tag(debate) for debate in store.debates()]


def _check_answers(site: Site, life: Life, ended: int, before: int) -> None:
    """After one process that asks the gate: its answer is stored, or it is not."""
    stored = not ended or life.kind in _LATE
    with _opened(site) as store:
        assert len(store.debates()) == before + stored


def _check_end(site: Site, played: str) -> None:
    """After the last process: the usual end, nothing asked off the record, nothing twice."""
    if played == "gate":
        return
    usual = undisturbed(played)
    with _opened(site) as store:
        assert ending(store) == usual.end
        assert_nothing_twice(store, noted(site.folder), site.folder)
        assert set(noted(site.folder)) <= set(calls(store, "call.started")), "asked off the record"


def _kept(site: Site) -> list[list[bytes]]:
    with _opened(site) as store:
        return [store.lines(debate) for debate in store.debates()]


@contextmanager
def _opened(site: Site) -> Iterator[Store]:
    with Store.open(site.url, create=True) as store:
        yield store


# One process


def _process(site: Site, played: str, life: Life) -> int:
    """Live in a process of its own, and return how that ended.

    It is served meanwhile: at each byte that it sends, the server is started anew.
    """
    (site.folder / "met").unlink(missing_ok=True)
    # A thread of ours that has been joined may still be ending, with a lock of OpenSSL: a process
    # that is forked just then waits for that lock for ever.
    until = time.monotonic() + 60
    while len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208 - names alone
        assert time.monotonic() < until, "a thread of this process goes on"
        time.sleep(0.001)
    (asked, ask), (heard, hear) = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(asked)
        code = 1
        try:

            def restart() -> None:
                os.write(ask, b".")
                os.read(heard, 1)

            _live(site, played, life, restart)
            code = 0
        except HansardError as error:
            (site.folder / "error").write_text(f"{error.code}: {error}")
        except BaseException:  # noqa: BLE001 - it is told, and this process ends here
            (site.folder / "error").write_text(traceback.format_exc())
        finally:
            os._exit(code)
    os.close(ask)
    while os.read(asked, 1):
        assert site.server
        site.server.restart()
        os.write(hear, b".")
    for end in (asked, heard, hear):
        os.close(end)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _live(site: Site, played: str, life: Life, restart: Callable[[], None]) -> None:
    """Open or go on with what is played, under what befalls this life."""
    warnings.simplefilter("ignore", SpecWarning)
    BATCHES.update(appended=0, replied=-1)
    folder, clock = site.folder, Behind(life.behind) if life.behind else Clock()
    if life.kind == "file limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (life.at, resource.RLIM_INFINITY))
    if site.server:
        _befall_session(life, site, restart)
    else:
        _befall(life, site)
    with _opened(site) as store:
        if played == "gate":
            asked = spec_for(next(iter(PLAYED)))  # any: a gate writes the same of all formats
            gating.record(asked, Files(folder), store, clock=clock)
        else:
            given = {
                "models": {"bot": model_in(folder, replies_for(played))},
                "tools": tools_for(played, folder),
                "clock": clock,
            }
            debates = store.debates()
            if debates and store.lines(debates[0])[-1].find(b'"debate.closed"') < 0:
                asyncio.run(session.resume(debates[0], store, **given))
            elif not debates:
                asyncio.run(session.run(spec_for(played), store, folder, **given))
        if not life.kind:
            sizes = [path.stat().st_size for path in site.disk.iterdir() if path.is_file()]
            (folder / "usual").write_text(f"{BATCHES['appended']} {max(sizes, default=0)}")


def _meeting(life: Life, site: Site) -> Callable[[int, str], bool]:
    """Return what says whether a write, by its number, is met before or after it is stored."""
    when = "after" if life.kind in _LATE else "before"
    met = site.folder / "met"

    def meets(number: int, at: str) -> bool:
        if life.kind not in (*WRITES, *SESSIONS) or at != when:
            return False
        found = number >= life.at if life.lasts else number == life.at and not met.exists()
        if found:
            met.touch()
            if life.kind.startswith("killed"):
                os.kill(os.getpid(), signal.SIGKILL)
        return found

    return meets


def _befall(life: Life, site: Site) -> None:
    """Let every transaction that writes to a file be counted, and be met by what befalls it."""
    transaction, meets = SQLiteDatastore.transaction, _meeting(life, site)

    @contextmanager
    def met(self: SQLiteDatastore, *, commit: bool) -> Iterator[Any]:
        number = BATCHES["appended"] + 1
        with transaction(self, commit=commit) as cursor:
            yield cursor
            if commit and meets(number, "before"):
                raise sqlite3.OperationalError("disk I/O error")
        if commit:
            BATCHES["appended"] = number
            if meets(number, "after"):
                raise sqlite3.OperationalError("disk I/O error")

    SQLiteDatastore.transaction = met


def _befall_session(life: Life, site: Site, restart: Callable[[], None]) -> None:
    """Let every transaction that writes to a server be counted, and be met by what befalls it."""
    transaction, meets = postgres.Recorder._transaction, _meeting(life, site)
    postgres._PATIENCE, postgres._PAUSE = 0.5, 0.01
    # Nothing but what befalls it ends a life: a server may be slow on a busy machine.
    postgres._CONNECTS, postgres_server._DEFAULTS["connect_timeout"] = 60, "60"

    def befalls(connection: psycopg.Connection[Any]) -> None:
        match life.kind.split()[0]:
            case "ended":
                server = servers.at(site.url, database="postgres")
                servers.sql(server, f"SELECT pg_terminate_backend({connection.info.backend_pid})")
            case "cut":
                with socket.socket(fileno=os.dup(connection.fileno())) as wire:
                    wire.shutdown(socket.SHUT_RDWR)
            case "restarted":
                restart()
            case _:
                raise psycopg.errors.IoError("could not write")

    @contextmanager
    def met(self: postgres.Recorder) -> Iterator[Any]:
        number = BATCHES["appended"] + 1
        with transaction(self) as c:
            yield c
            if meets(number, "before"):
                befalls(cast(Any, c).connection)
        BATCHES["appended"] = number
        if meets(number, "after"):
            befalls(cast(Any, c).connection)
            raise psycopg.OperationalError("server closed the connection unexpectedly")

    postgres.Recorder._transaction = met


# A small disk


@contextmanager
def _disk(path: Path) -> Iterator[None]:
    """Make a disk at `path`, in memory."""
    path.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "hansard-faults", path], check=True, capture_output=True
    )
    try:
        yield
    finally:
        subprocess.run(["umount", path], check=True)


def _leave(path: Path, room: int) -> None:
    """Leave so many bytes free on a disk."""
    there = os.statvfs(path)
    size = (there.f_blocks - there.f_bfree) * there.f_frsize + room // PAGE * PAGE
    subprocess.run(["mount", "-o", f"remount,size={size}", path], check=True)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name, tried(int(name)), flush=True)
