"""The same work on many things, in processes of their own.

What ends a process ends the work on one thing alone: another process takes its place. Ctrl-C
is for whoever asked, which then ends the processes; they also end by themselves with it.

    each(start, things, jobs, lost)

`start` is a context manager that gives the function that does the work. With more than one
process it is pickled, as are things and results. As whatever starts processes in Python, a
script of yours does this below `if __name__ == "__main__":`.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import islice
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Generic, NamedTuple, TypeVar

from hansard.api.storing import bound_memory
from hansard.errors import DataError, HansardError

T = TypeVar("T")
R = TypeVar("R")
Start = Callable[[], AbstractContextManager[Callable[[T], R]]]
_SECONDS = 5  # that a process is given to end
_SPAWN = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang


_AHEAD = 2  # things that a process has at once, so that it waits for nobody


class _Worker(NamedTuple, Generic[T]):
    """A process, and what it works on: the first of these."""

    process: SpawnProcess
    things: deque[T]


def each(
    start: Start[T, R], things: Iterable[T], jobs: int, lost: Callable[[T, str], R]
) -> Generator[R, None, None]:
    """Yield the result for each thing, as it is done; with one process, in order and in this one.

    `lost` gives the result for a thing whose process ended. Raises what the work raises: a
    HansardError as a DataError of its code, anything else as a RuntimeError with its traceback.
    """
    if jobs == 1:
        with start() as work:
            yield from map(work, things)
        return
    left, team = iter(things), dict[Connection, _Worker[T]]()
    try:
        for thing in islice(left, jobs):
            _hire(team, start, [thing])
        for pipe, worker in team.items():
            _hand(pipe, worker, islice(left, _AHEAD - 1))
        while team:
            ready = wait(list(team))
            for pipe in [pipe for pipe in team if pipe in ready]:
                yield from _take(team, pipe, start, left, lost)
    finally:
        for pipe, worker in team.items():
            pipe.close()
            worker.process.terminate()
        for worker in team.values():
            worker.process.join()


def _take(
    team: dict[Connection, _Worker[T]],
    pipe: Connection,
    start: Start[T, R],
    left: Iterator[T],
    lost: Callable[[T, str], R],
) -> Iterator[R]:
    """Yield what a process answered, and give the next thing to it or, if it ended, to another."""
    worker = team[pipe]
    try:
        failed, answer = pipe.recv()
    except (EOFError, OSError):
        del team[pipe]
        pipe.close()
        worker.process.join(_SECONDS)
        thing, *rest = worker.things
        if again := [*rest, *islice(left, _AHEAD - len(rest))]:
            _hire(team, start, again)
        yield lost(thing, f"its process ended with exit code {worker.process.exitcode}")
        return
    if failed:
        raise DataError(*answer) if isinstance(answer, tuple) else RuntimeError(answer)
    worker.things.popleft()
    _hand(pipe, worker, islice(left, 1))
    if not worker.things:
        del team[pipe]
        pipe.close()
        worker.process.join(_SECONDS)
    yield answer


def _hire(team: dict[Connection, _Worker[T]], start: Start[T, R], things: Iterable[T]) -> None:
    """Start a process on some things."""
    ours, theirs = _SPAWN.Pipe()
    process = _SPAWN.Process(target=_serve, args=(theirs, start), daemon=True)
    with _from_nowhere(), _uninterrupted():
        process.start()
    theirs.close()
    team[ours] = _Worker(process, deque())
    _hand(ours, team[ours], things)


def _hand(pipe: Connection, worker: _Worker[T], things: Iterable[T]) -> None:
    """Give a process more to do; of one that has ended, its pipe will tell."""
    for thing in things:
        worker.things.append(thing)
        with suppress(OSError):
            pipe.send(thing)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let what is started meanwhile not hear of Ctrl-C, where the system can be told that."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # else the first start would, and let signals through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _from_nowhere() -> Iterator[None]:
    """Let what is started meanwhile import no module of the working directory.

    Python begins there, with its own modules, before it is told where ours are.
    """
    name = "PYTHONSAFEPATH"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _serve(pipe: Connection, start: Start[T, R]) -> None:
    """Do the work on whatever comes, until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    bound_memory()
    try:
        with start() as work:
            while True:
                thing = pipe.recv()
                pipe.send((False, work(thing)))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
    except HansardError as error:
        pipe.send((True, (error.code, str(error))))
    except Exception:  # noqa: BLE001 - a bug surfaces where the work was asked for
        pipe.send((True, traceback.format_exc()))
