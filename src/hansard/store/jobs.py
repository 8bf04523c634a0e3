"""What a worker hears and reads of the queue, of which nothing is believed.

- Whoever may connect to the database can send any notification. So one only makes a worker look
  into the queue: what it says is not read.
- Whoever may write to the queue can put anything there. So the arguments of a job are those that
  Hansard gives one, or none; a job of any other kind is one that names no debate; and its time,
  which only the server needs, is not read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, LiteralString

import psycopg
from procrastinate import PsycopgConnector
from procrastinate.connector import Notify
from psycopg.adapt import Buffer, Loader
from typing_extensions import override

from hansard.store.queue import LOOK, TASK

_ARGUMENTS = {"debate", "timestamp"}  # the second is given to a look
_LONGEST = 1_000  # bytes of arguments that are read
_PUT = json.dumps({"type": "job_inserted"})
_STOPPED = "SELECT id FROM procrastinate_jobs WHERE status = 'doing' AND abort_requested"


class Jobs(PsycopgConnector):
    """The queue as a worker sees it."""

    def __init__(self, dsn: str) -> None:
        super().__init__(conninfo=dsn, configure=_configure, json_loads=_arguments)

    @override
    async def execute_query_one_async(
        self, query: LiteralString, **arguments: Any
    ) -> dict[str, Any]:
        row = await super().execute_query_one_async(query, **arguments)
        unknown = row.get("task_name") not in (TASK, LOOK, None)
        return {**row, "task_name": TASK, "args": {}} if unknown else row

    @override
    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        async def look(*, channel: str, payload: str) -> None:  # noqa: ARG001 - anybody's words
            await on_notification(channel=channel, payload=_PUT)
            for row in await self.execute_query_all_async(_STOPPED):
                said = json.dumps({"type": "abort_job_requested", "job_id": row["id"]})
                await on_notification(channel=channel, payload=said)

        await super().listen_notify(look, channels)


def _arguments(said: bytes) -> dict[str, Any]:
    """Return the arguments of a job; none where they are not such as Hansard gives one."""
    found = json.loads(said) if len(said) <= _LONGEST else None
    return found if isinstance(found, dict) and found.keys() <= _ARGUMENTS else {}


class _Unread(Loader):
    """Reads no time: a queue may hold some for which Python has none."""

    @override
    def load(self, data: Buffer) -> None:
        return None


async def _configure(connection: psycopg.AsyncConnection[Any]) -> None:
    connection.adapters.register_loader("timestamptz", _Unread)
