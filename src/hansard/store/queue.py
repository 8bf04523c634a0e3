"""Debates that wait for a worker: a queue in the database of the store, kept by Procrastinate.

A debate is put into it in the transaction that opens it. So there is no debate that nobody will
take up, and none in the queue that is not in the store.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import psycopg
import psycopg.errors

from hansard.errors import UsageError
from hansard.installing import install_command

if TYPE_CHECKING:
    from procrastinate.manager import JobManager

Session = psycopg.AsyncConnection[Any]
# What a session raises: all of it; where its server is gone; where somebody else holds a lock that
# it waits for; where the row of a worker is gone, since others took the worker for dead.
FAILED = psycopg.Error
LOST = (psycopg.OperationalError, psycopg.InterfaceError)
LOCKED = psycopg.errors.LockNotAvailable
PRUNED = psycopg.errors.ForeignKeyViolation
TASK, LOOK, QUEUE = "hansard.debate", "hansard.look", "hansard"
_THERE = "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = %s"
_TABLE = "procrastinate_jobs"
# Anybody who may write to the queue can put any number there: so the next after another.
_JOB = """SELECT id, status FROM procrastinate_jobs
    WHERE lock = %s AND status IN ('todo', 'doing') AND id > %s ORDER BY id LIMIT 1"""
# Tells of a pause that a server asked for, to workers that start later.
PAUSES = "CREATE TABLE IF NOT EXISTS hansard_pauses (server text PRIMARY KEY, until timestamptz)"


@asynccontextmanager
async def session(dsn: str) -> AsyncIterator[Session]:
    """Give a session of its own, in which each statement is a transaction.

    It is closed even if its user is cancelled twice.
    """
    connection = await psycopg.AsyncConnection.connect(dsn, autocommit=True)
    try:
        yield connection
    finally:
        await connection.close()


def is_installed() -> bool:
    """Say whether the extra is there."""
    try:
        import procrastinate  # noqa: F401, PLC0415 - an extra
    except ImportError:
        return False
    return True


def require_installed() -> None:
    """Raise UsageError `queue.extra` where the extra is not there."""
    if not is_installed():
        raise UsageError(
            "queue.extra", f"a queue needs a package: run `{install_command('workers')}`"
        )


def is_there(connection: psycopg.Connection[Any]) -> bool:
    """Say whether there is a queue, and what it needs is installed."""
    return is_installed() and bool(connection.execute(_THERE, (_TABLE,)).fetchall())


def require(connection: psycopg.Connection[Any]) -> None:
    """Raise UsageError `queue.extra` or `queue.missing` where there is no queue."""
    require_installed()
    if not is_there(connection):
        raise UsageError(
            "queue.missing", "the store has no queue yet; make it with `hansard store migrate`"
        )


def _manager() -> JobManager:
    from procrastinate import SyncPsycopgConnector  # noqa: PLC0415 - an extra
    from procrastinate.manager import JobManager  # noqa: PLC0415 - an extra

    return JobManager(SyncPsycopgConnector())  # every call brings its connection


def said_of(error: BaseException) -> BaseException:
    """Return what the server said where Procrastinate says it in words of its own."""
    return error.__cause__ or error.__context__ or error


@contextmanager
def _plainly() -> Iterator[None]:
    """Raise what the server says, as whoever else uses its connection does."""
    from procrastinate.exceptions import ConnectorException  # noqa: PLC0415 - an extra

    try:
        yield
    except ConnectorException as error:
        raise said_of(error) from None


def make(connection: psycopg.Connection[Any]) -> None:
    """Make the tables of the queue where they are not there, and the extra is."""
    if not is_installed() or connection.execute(_THERE, (_TABLE,)).fetchall():
        return
    from procrastinate.schema import SchemaManager  # noqa: PLC0415 - an extra

    connection.execute(SchemaManager.get_schema())
    connection.execute(PAUSES)


def lock_of(debate: str) -> str:
    """Return the lock that no two running jobs of a debate share."""
    return f"hansard:{debate}"


def _jobs(connection: psycopg.Connection[Any], lock: str) -> Iterator[tuple[int, str]]:
    """Yield the jobs with a lock that wait or run: the number and the status of each."""
    last = -(1 << 63)
    while row := connection.execute(_JOB, (lock, last)).fetchone():
        yield (last := row[0]), row[1]


def put(connection: psycopg.Connection[Any], debate: str, priority: int) -> None:
    """Put a debate into the queue, in the transaction that is open on the connection.

    One that is there already, or that a worker runs, is put there no second time.
    """
    from procrastinate.jobs import Job  # noqa: PLC0415 - an extra

    lock = lock_of(debate)
    if next(_jobs(connection, lock), None):
        return
    job = Job(
        id=None, queue=QUEUE, lock=lock, queueing_lock=None, task_name=TASK, priority=priority,
        task_kwargs={"debate": debate},
    )  # fmt: skip
    with _plainly():
        _manager().defer_job(job, connection=connection)


def cancel(connection: psycopg.Connection[Any], debate: str) -> bool:
    """Take a debate out of the queue; say whether a worker that runs it was asked to stop."""
    running = False
    for number, status in _jobs(connection, lock_of(debate)):
        with _plainly():
            _manager().cancel_job_by_id(number, abort=True, connection=connection)
        running = running or status == "doing"
    return running
