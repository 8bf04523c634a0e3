"""What several workers share: the places for calls at a provider, and the pauses that it asks for.

A place is an advisory lock of a session that the worker keeps open: when the worker dies, the
server frees it. A pause stands in a table. A notification only makes a worker read that table: what
it says is ignored, since everybody who can connect to the database can send one. If the session is
lost, its places are lost too, and the worker ends.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any, LiteralString

from hansard.runtime import pacing
from hansard.runtime.pacing import Server, Slots
from hansard.store.queue import Session, session

_CHANNEL = "hansard_pacing"
_LOOK = 1.0  # seconds until a place is looked for again that nobody gave back: its worker died
_PATIENCE = 30  # seconds of a wait for a place, until it is told of; then twice as long each time
_FEW = 4  # sessions that are named at once
_TAKE = "SELECT s FROM unnest(%s::int[]) AS s WHERE pg_try_advisory_lock(%s, s) LIMIT 1"
# Other sessions that have places, those with most of them first, and how many sessions there are.
_TAKEN = """SELECT pid, usename, application_name, count(*), count(*) OVER ()
    FROM pg_locks LEFT JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND pid <> pg_backend_pid()
    AND classid::bigint = %s AND objid::bigint = ANY (%s::bigint[])
    AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    GROUP BY pid, usename, application_name ORDER BY count(*) DESC, pid LIMIT %s"""
_GIVE = "SELECT pg_advisory_unlock(%s, %s)"
_TELL = "SELECT pg_notify(%s, %s)"
# No worker writes a pause of more than an hour: one that somebody else did is none.
_PAUSE = """INSERT INTO hansard_pauses VALUES (%s, now() + %s * interval '1 second')
    ON CONFLICT (server) DO UPDATE SET until =
    CASE WHEN hansard_pauses.until <= now() + interval '1 hour'
    THEN greatest(hansard_pauses.until, excluded.until) ELSE excluded.until END"""
_PAUSES: LiteralString = """SELECT server, extract(epoch FROM until - now())::float8
    FROM hansard_pauses
    WHERE until > now() AND until <= now() + interval '1 hour' AND length(server) = 64
    ORDER BY server = ANY (%s) DESC LIMIT 1000"""  # those first whose servers are known here


_now = time.monotonic


class _Places(Slots):
    """The places at one provider, over all workers; who waits first here is served first here."""

    def __init__(self, provider: str, limit: int, sharing: _Sharing) -> None:
        super().__init__(0)
        self._provider = provider
        self._since: float | None = None  # when nothing was free for the first time
        self._due = 0.0  # when that is told of
        self.numbers = range(1, limit + 1)
        self._sharing = sharing
        digest = sha256(f"hansard/{provider}".encode()).digest()
        self.key = int.from_bytes(digest[:4], signed=True)
        self._held: dict[asyncio.Future[None], int] = {}
        self._freed: list[int] = []

    def take(self, size: int = 1) -> asyncio.Future[None]:
        """Return a place: a future that is done as soon as it is one's own."""
        place = super().take(size)
        self._sharing.wake.set()
        return place

    def give_back(self, place: asyncio.Future[None]) -> None:
        """Give up a place, or the wait for one; a second time changes nothing."""
        place.cancel()
        if (number := self._held.pop(place, None)) is not None:
            self._freed.append(number)
            self._sharing.wake.set()

    async def settle(self, connection: Session) -> bool:
        """Give back what is not used any more, and take what is free; say whether anybody waits."""
        while self._freed:
            await connection.execute(_GIVE, (self.key, self._freed.pop()))
            await connection.execute(_TELL, (_CHANNEL, ""))
        while self._waiting:
            if self._waiting[0].done():
                self._waiting.popleft()
                continue
            free = [n for n in self.numbers if n not in self._held.values()]
            row = await (await connection.execute(_TAKE, (free, self.key))).fetchone()
            if row is None:
                await self._tell(connection)
                return True
            self._since = None
            place = self._waiting.popleft()
            if place.done():
                self._freed.append(row[0])
                self._sharing.wake.set()
            else:
                self._held[place] = row[0]
                place.set_result(None)
        self._since = None
        return False

    async def _tell(self, connection: Session) -> None:
        """Say, once the wait is long and then ever more seldom, who has the places."""
        now = _now()
        if self._since is None:
            self._since, self._due = now, now + _PATIENCE
        if now < self._due:
            return
        waited = now - self._since
        self._due = now + waited
        asked = (self.key % (1 << 32), list(self.numbers), _FEW)
        rows = await (await connection.execute(_TAKEN, asked)).fetchall()
        if not rows:  # all are this worker's own
            return
        named = [
            f"process {pid} of the role {role!r} ({name!r}) has {number:,}"
            for pid, role, name, number, _ in rows
        ]
        more = rows[0][-1] - len(rows)
        self._sharing.tell(
            f"for {waited:,.0f} seconds this worker has got no place for a call to "
            f"{self._provider}: of {len(self.numbers):,}, {', '.join(named)}"
            f"{f', and {more:,} more sessions have some' if more else ''}; if one of these is no "
            "worker, let an administrator of the server end it"
        )


class _Sharing:
    """What one worker shares with others."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        self.tell = tell
        self.wake = asyncio.Event()
        self._places: dict[str, _Places] = {}
        self._servers: dict[str, Server] = {}
        self._until: dict[str, float] = {}  # by server, in seconds of this process
        self._told: list[tuple[str, float]] = []
        self._unread = False  # whether there may be pauses of others that are not known here

    def slots(self, provider: str, limit: int) -> Slots:
        """Return the places at a provider."""
        return self._places.setdefault(provider, _Places(provider, limit, self))

    def watch(self, name: str, server: Server) -> None:
        """Let all workers hear of the pauses of a server, and this one of those that are known."""
        known = sha256(name.encode()).hexdigest()  # an address may hold a secret
        self._servers[known] = server
        server.until = max(server.until, self._until.get(known, server.until))

        def tell(seconds: float) -> None:
            self._told.append((known, seconds))
            self.wake.set()

        server.tell = tell

    def heed(self, known: str, seconds: float) -> None:
        """Note that a server is to be left alone for that long."""
        until = time.monotonic() + seconds
        self._until[known] = max(self._until.get(known, until), until)
        if known in self._servers:
            server = self._servers[known]
            server.until = max(server.until, until)

    async def give(self, connection: Session) -> None:
        """Take and give back places, tell of pauses and read those of others, until cancelled."""
        while True:
            if self._unread:
                self._unread = False
                rows = await connection.execute(_PAUSES, ([*self._servers],))
                self._until = {}  # else what others write there would add up
                for known, seconds in await rows.fetchall():
                    self.heed(known, seconds)
            while self._told:
                known, seconds = self._told.pop()
                await connection.execute(_PAUSE, (known, seconds))
                await connection.execute(_TELL, (_CHANNEL, "pause"))
            waits = [await places.settle(connection) for places in [*self._places.values()]]
            try:
                await asyncio.wait_for(self.wake.wait(), _LOOK if any(waits) else None)
            except TimeoutError:
                continue
            self.wake.clear()

    async def hear(self, connection: Session) -> None:
        """Hear that other workers told something, until cancelled."""
        await connection.execute(f"LISTEN {_CHANNEL}")
        self._look()
        async for found in connection.notifies():
            self._look(pauses=bool(found.payload))

    def _look(self, *, pauses: bool = True) -> None:
        self._unread = self._unread or pauses
        self.wake.set()


@asynccontextmanager
async def shared(dsn: str, tell: Callable[[str], object]) -> AsyncIterator[asyncio.Future[Any]]:
    """Share with other workers while the block runs; what is given ends if that cannot go on.

    `tell` hears of a long wait for what they have.
    """
    async with session(dsn) as giving, session(dsn) as hearing:
        sharing = _Sharing(tell)
        pacing.share(sharing)
        each = [sharing.give(giving), sharing.hear(hearing)]
        tasks = [asyncio.create_task(one) for one in each]
        both = asyncio.gather(*tasks)
        try:
            yield both
        finally:
            pacing.share(None)
            for task in tasks:  # where one fails, the other keeps its session from being closed
                task.cancel()
            await asyncio.gather(both, *tasks, return_exceptions=True)
