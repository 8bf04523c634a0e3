"""Faults of the store at any write of a run, seeded: what is tried, and what must hold after it.

    faults.py NUMBER...     try the faults of these numbers, and say how many there were in each

A number stands for one debate, or one answer of the gate, and for what befalls it: in one to
three lives, each a process of its own, one of its writes is lost, is stored though the process
hears of an error, or kills the process before or after it; or a file may grow no further, or
the disk has no room left. The wall clock of each life may be behind. The last life is left alone,
and must come to the end that an undisturbed one has.
"""

from __future__ import annotations

import asyncio
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

from eventsourcing.sqlite import SQLiteDatastore

from crash.child import BATCHES, PLAYED, model_in, replies_for, spec_for, tools_for
from crash.test_kill import assert_nothing_twice, calls, ending, noted
from hansard.api.registering import verify_register
from hansard.errors import HansardError, SpecWarning
from hansard.record import register
from hansard.runtime import gating, session
from hansard.runtime.clock import Clock, spelled
from hansard.runtime.files import Files
from hansard.store.application import Store
from hansard.verify.verifier import verify

FAULTS = 2_400  # that are tried by the whole campaign
WRITES = ("lost", "unacknowledged", "killed before", "killed after")
SPACES = ("file limit", "disk full")
PAGE = 4_096  # bytes
_ROOM = 64 * 1024 * 1024


class Life(NamedTuple):
    """What befalls one process.

    `kind` is one of `WRITES`, at its write number `at` and, where it lasts, at all later ones;
    or one of `SPACES`, from `at` bytes on; or none. `behind` is how many seconds its wall clock is.
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
    played = chance.choice([*PLAYED, "gate"])
    usual = undisturbed(played)
    kinds = [*WRITES, *WRITES, *(SPACES if may_mount() else SPACES[:1])]

    def life(kind: str) -> Life:
        at = (
            chance.randint(1, usual.writes)
            if kind in WRITES
            else chance.randrange(PAGE, usual.bytes + PAGE)
        )
        behind = chance.choice((0, 0, 1, 3_600, 30 * 86_400))
        return Life(kind, at, chance.random() < 0.5, behind)

    found = [life(chance.choice(kinds)) for _ in range(chance.choice((1, 1, 2, 3)))]
    return played, [*found, Life(behind=chance.choice((0, 86_400)))]


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
def undisturbed(played: str) -> Undisturbed:
    """Run what is played once with nothing in its way."""
    with TemporaryDirectory() as home:
        folder = Path(home)
        assert _process(folder, played, Life()) == 0, (folder / "error").read_text()
        writes, largest = map(int, (folder / "usual").read_text().split())
        with _opened(folder) as store:
            return Undisturbed(writes, largest, ending(store))


def tried(number: int) -> int:
    """Try the faults of a number; return how many befell, or raise."""
    played, every = lives(number)
    fills = any(life.kind == "disk full" for life in every)
    befell = 0
    with TemporaryDirectory() as home, _disk(Path(home, "store")) if fills else nullcontext():
        folder = Path(home)
        for life in every:
            before = _kept(folder)
            if life.kind == "disk full":
                _leave(folder / "store", life.at)
            ended = _process(folder, played, life)
            befell += ended != 0
            if fills:  # without any room, SQLite does not even read
                _leave(folder / "store", _ROOM)
            _check_life(folder, life, ended, before)
            if played == "gate":  # each time it is asked it answers anew
                _check_answers(folder, life, ended, len(before))
        _check_end(folder, played)
    return befell


def _check_life(folder: Path, life: Life, ended: int, before: list[list[bytes]]) -> None:
    """After one process: the store opens, has all that it had, and holds."""
    killed = life.kind.startswith("killed")
    if ended and killed:
        assert ended == -signal.SIGKILL, (folder / "error").read_text()
    elif ended:
        assert life.kind, (folder / "error").read_text()
        assert (error := (folder / "error").read_text()) == "store.failed", error
    with _opened(folder) as store:
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


def _check_answers(folder: Path, life: Life, ended: int, before: int) -> None:
    """After one process that asks the gate: its answer is stored, or it is not."""
    stored = not ended or life.kind in ("unacknowledged", "killed after")
    with _opened(folder) as store:
        assert len(store.debates()) == before + stored


def _check_end(folder: Path, played: str) -> None:
    """After the last process: the usual end, nothing asked off the record, nothing twice."""
    with _opened(folder) as store:
        if played == "gate":
            return
        assert ending(store) == undisturbed(played).end
        assert_nothing_twice(store, noted(folder), folder)
        assert set(noted(folder)) <= set(calls(store, "call.started")), "asked off the record"


def _kept(folder: Path) -> list[list[bytes]]:
    with _opened(folder) as store:
        return [store.lines(debate) for debate in store.debates()]


@contextmanager
def _opened(folder: Path) -> Iterator[Store]:
    (folder / "store").mkdir(exist_ok=True)
    with Store.open(f"sqlite:///{folder}/store/h.db", create=True) as store:
        yield store


# One process


def _process(folder: Path, played: str, life: Life) -> int:
    """Live in a process of its own, and return how that ended."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            _live(folder, played, life)
            code = 0
        except HansardError as error:
            (folder / "error").write_text(error.code)
        except BaseException:  # noqa: BLE001 - it is told, and this process ends here
            (folder / "error").write_text(traceback.format_exc())
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _live(folder: Path, played: str, life: Life) -> None:
    """Open or go on with what is played, under what befalls this life."""
    warnings.simplefilter("ignore", SpecWarning)
    BATCHES.update(appended=0, replied=-1)
    clock = Behind(life.behind) if life.behind else Clock()
    if life.kind == "file limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (life.at, resource.RLIM_INFINITY))
    _befall(life)
    with _opened(folder) as store:
        if played == "gate":
            gating.record(spec_for("panel"), Files(folder), store, clock=clock)
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
            sizes = [path.stat().st_size for path in (folder / "store").iterdir()]
            (folder / "usual").write_text(f"{BATCHES['appended']} {max(sizes)}")


def _befall(life: Life) -> None:
    """Let every transaction that writes be counted, and be met by what befalls this life."""
    transaction = SQLiteDatastore.transaction

    def reached(number: int) -> bool:
        return number == life.at or (life.lasts and number > life.at)

    def meets(kind: str, number: int) -> None:
        if life.kind not in WRITES or kind != life.kind or not reached(number):
            return
        if kind.startswith("killed"):
            os.kill(os.getpid(), signal.SIGKILL)
        raise sqlite3.OperationalError("disk I/O error")

    @contextmanager
    def met(self: SQLiteDatastore, *, commit: bool) -> Iterator[Any]:
        number = BATCHES["appended"] + 1
        with transaction(self, commit=commit) as cursor:
            yield cursor
            if commit:
                meets("lost", number)
                meets("killed before", number)
        if commit:
            BATCHES["appended"] = number
            meets("unacknowledged", number)
            meets("killed after", number)

    SQLiteDatastore.transaction = met


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
    used = sum(-(-each.stat().st_size // PAGE) for each in path.iterdir())
    size = (used + room // PAGE) * PAGE
    subprocess.run(["mount", "-o", f"remount,size={size}", path], check=True)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name, tried(int(name)), flush=True)
