"""The queue as a worker reads it. Nothing in it is trusted.

- Everybody who can connect to the database can send a notification. So a notification only makes
  the worker look into the queue; its text is not read.
- Everybody who can write to the queue can put any job there. So a job has the arguments that
  Hansard gives a job, or none. A job of another kind counts as a job without a debate. The time of
  a job is for the server alone and is not read.
- Nor can they fill the memory of a worker: of what is found at once it reads so many rows, and the
  rest when it looks again; of a job it reads no more than one of Hansard's has. Which rows it reads
  is left to chance, so that none is hidden for ever by others. Of requests to stop it reads those
  for what it runs itself.
- A job may have any number, also one that Procrastinate takes for none.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, LiteralString

import psycopg
import psycopg.errors
from procrastinate import PsycopgConnector, sql
from procrastinate.connector import Notify
from procrastinate.exceptions import ConnectorException, UniqueViolation
from procrastinate.manager import QUEUEING_LOCK_CONSTRAINT
from psycopg.adapt import Buffer, Loader
from psycopg_pool import AsyncConnectionPool
from typing_extensions import override

from hansard.store.queue import LOOK, TASK, said_of

_ARGUMENTS = {"debate", "timestamp"}  # the second is given to a look
_LONGEST = 1_000  # bytes of arguments that are read
_PUT = json.dumps({"type": "job_inserted"})
_STOPPED = """SELECT id FROM procrastinate_jobs
    WHERE status = 'doing' AND abort_requested AND id = ANY(%(mine)s::bigint[])"""
_MOST = 1_000  # rows that are read at once
_FEW = "SELECT * FROM ({}\n) AS found ORDER BY random() LIMIT {}"
_SMALL = """SELECT id, status, task_name, priority, scheduled_at, queue_name, attempts, worker_id,
    CASE WHEN octet_length(args::text) <= {1} THEN args ELSE '{{}}' END AS args,
    left(lock, {1}) AS lock, left(queueing_lock, {1}) AS queueing_lock FROM ({0}\n) AS found"""
_FETCH, _STALLED = sql.queries["fetch_job"], sql.queries["select_stalled_jobs_by_heartbeat"]
_OVER = [sql.queries[name] for name in ("finish_job", "retry_job")]


class Jobs(PsycopgConnector):
    """The queue as a worker sees it."""

    def __init__(self, dsn: str) -> None:
        super().__init__(conninfo=dsn, configure=_configure, json_loads=_arguments)
        self._mine = set[int]()  # the jobs that this worker runs

    @override
    async def open_async(self, pool: AsyncConnectionPool[Any] | None = None) -> None:
        try:
            await super().open_async(pool)
        except BaseException:  # its tasks outlive being cancelled, and are to be told to end
            await self.close_async()
            raise

    @override
    async def execute_query_one_async(
        self, query: LiteralString, **arguments: Any
    ) -> dict[str, Any]:
        with _plainly():
            row = await super().execute_query_one_async(_small(query), **arguments)
        if query == _FETCH and row["id"] is not None:
            self._mine.add(row["id"])
        unknown = row.get("task_name") not in (TASK, LOOK, None)
        return {**row, "task_name": TASK, "args": {}} if unknown else row

    @override
    async def execute_query_all_async(
        self, query: LiteralString, **arguments: Any
    ) -> list[dict[str, Any]]:
        if query == sql.queries["list_jobs_to_abort"]:
            query, arguments = _STOPPED, {"mine": [*self._mine]}
        few = _FEW.format(_small(query).rstrip(" \n;"), _MOST)
        rows: list[dict[str, Any]] = await super().execute_query_all_async(few, **arguments)
        return rows

    @override
    async def execute_query_async(self, query: LiteralString, **arguments: Any) -> None:
        if query in _OVER:
            self._mine.discard(arguments["job_id"])
        with _plainly():
            await super().execute_query_async(query, **arguments)

    @override
    @asynccontextmanager
    async def _get_standalone_connection(self) -> AsyncGenerator[psycopg.AsyncConnection[Any]]:
        """Give the session that hears of jobs; it is closed even where the server is silent."""
        async with super()._get_standalone_connection() as connection:
            try:
                yield connection
            finally:
                await connection.close()

    @override
    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        async def look(*, channel: str, payload: str) -> None:  # noqa: ARG001 - anybody's words
            await on_notification(channel=channel, payload=_PUT)
            for row in await self.execute_query_all_async(sql.queries["list_jobs_to_abort"]):
                said = json.dumps({"type": "abort_job_requested", "job_id": row["id"]})
                await on_notification(channel=channel, payload=said)

        await super().listen_notify(look, channels)


def _small(query: LiteralString) -> LiteralString:
    """Return a query whose jobs have no more than is read of them."""
    return _SMALL.format(query.rstrip(" \n;"), _LONGEST) if query in (_FETCH, _STALLED) else query


def is_refused(error: ConnectorException) -> bool:
    """Say whether a job cannot be put back, nor ended, as it stands: Hansard puts none so."""
    own = getattr(error, "constraint_name", None) == QUEUEING_LOCK_CONSTRAINT
    return own or isinstance(said_of(error), psycopg.errors.NumericValueOutOfRange)


@contextmanager
def _plainly() -> Iterator[None]:
    """Raise what a server says of a row that is there already, in whatever words it says so.

    Procrastinate reads them as those of an English one, and of a queueing lock of one line.
    """
    try:
        yield
    except AssertionError as error:
        said = error.__context__
        if not isinstance(said, psycopg.errors.UniqueViolation):
            raise
        raise UniqueViolation(
            constraint_name=said.diag.constraint_name, queueing_lock=None
        ) from said


def _arguments(said: bytes) -> dict[str, Any]:
    """Return the arguments of a job; none where they are not such as Hansard gives one."""
    found = json.loads(said) if len(said) <= _LONGEST else None
    return found if isinstance(found, dict) and found.keys() <= _ARGUMENTS else {}


class _Unread(Loader):
    """Reads no time: a queue may hold some for which Python has none."""

    @override
    def load(self, data: Buffer) -> None:
        return None


class _Number(int):
    """The number of a job, which Procrastinate takes for none where it is false."""

    @override
    def __bool__(self) -> bool:
        return True


class _Numbers(Loader):
    """Reads numbers of jobs and of workers."""

    @override
    def load(self, data: Buffer) -> _Number:
        return _Number(bytes(data))


async def _configure(connection: psycopg.AsyncConnection[Any]) -> None:
    connection.adapters.register_loader("timestamptz", _Unread)
    connection.adapters.register_loader("int8", _Numbers)
