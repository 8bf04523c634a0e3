"""The growing end of one record: facts in, chained lines out, to the store in batches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import cast

from hansard.record import blob
from hansard.record.bundle import Head
from hansard.record.line import GENESIS, VERSION, encode_line, line_hash
from hansard.rules.events import Event, Fact
from hansard.rules.fields import Blob
from hansard.runtime.clock import Clock
from hansard.store.application import Batch, Store
from hansard.store.sqlite import Extras


class Journal:
    """Chains facts to lines and keeps them until `commit` or `flush` makes them durable.

    Nothing outside may depend on a fact before it is stored: no model is
    called and no reply is waited for with lines unwritten.
    """

    def __init__(
        self,
        store: Store,
        debate: str,
        clock: Clock,
        *,
        seq: int = 0,
        prev: str = GENESIS,
        at: str = "",
    ) -> None:
        self.debate = debate
        self.texts: dict[str, str] = {}
        self._store, self._clock = store, clock
        self._seq, self._prev, self._at = seq, prev, at
        self._lines: list[tuple[str, bytes]] = []
        self._blobs: list[tuple[str, bytes]] = []
        self._templates: Sequence[tuple[str, bytes]] = ()
        self._folder: str | None = None

    def blob(self, text: str) -> Blob:
        """Keep a text, salted, to be stored with the next lines; return its reference."""
        name, file = blob.pack(text, self._clock.salt())
        self._blobs.append((name, file))
        self.texts[name] = text
        return {"sha256": name}

    def time(self) -> str:
        """Return the time that a fact added now would have."""
        return max(self._clock.now(), self._at)

    def add(self, fact: Fact, at: str | None = None) -> Event:
        """Give a fact its place in the chain and return it as an event.

        `at` is a `time` at which something was decided about it. A fact that no
        line can hold raises DataError and takes no place.
        """
        at = self.time() if at is None else at
        event = {
            "at": at,
            "data": fact.data,
            "debate": self.debate,
            "prev": self._prev,
            "seq": self._seq + 1,
            "type": fact.type,
            "v": VERSION,
        }
        line = encode_line(event)
        self._seq, self._at, self._prev = self._seq + 1, at, line_hash(line)
        self._lines.append((fact.type, line))
        return cast(Event, event)

    def attach(self, templates: Sequence[tuple[str, bytes]], folder: str) -> None:
        """Keep what is stored beside the opening: the templates, and where file names begin."""
        self._templates, self._folder = templates, folder

    def flush(self) -> None:
        """Store what was added and is not stored yet, all or nothing."""
        if self._lines:
            self._store.append(self._batch())
            self._stored()

    async def commit(self) -> None:
        """Store what was added, with the other debates of this event loop that wait to.

        They share one transaction, so that the disk is waited for once. Where it
        fails, each stores its own alone: an error is that of its own debate. When
        cancelled, what is not stored stays in hand for `flush`.
        """
        if not self._lines:
            return
        place = (asyncio.get_running_loop(), self._store)
        group = _waiting.setdefault(place, {})
        group[self] = None
        try:
            await asyncio.sleep(0)  # whoever is ready in this turn of the loop joins
        finally:
            if _waiting.get(place) is group:  # the first to come back stores for all
                del _waiting[place]
                _store_together(self._store, list(group))
        self.flush()

    def _batch(self) -> Batch:
        first = self._seq - len(self._lines) + 1
        head = Head(self._seq, self._prev)
        extras = Extras(head, self._blobs, self._templates, self._folder)
        return Batch(self.debate, first, self._lines, extras)

    def _stored(self) -> None:
        self._lines, self._blobs, self._templates, self._folder = [], [], (), None


_waiting: dict[tuple[asyncio.AbstractEventLoop, Store], dict[Journal, None]] = {}


def _store_together(store: Store, journals: list[Journal]) -> None:
    """Store what several journals hold in one transaction, if none of them stands in its way."""
    left = [journal for journal in journals if journal._lines]
    if len(left) < 2:  # alone, a journal stores for itself and says what failed
        return
    with suppress(Exception):  # each finds its own error, if any, alone
        store.append(*(journal._batch() for journal in left))
        for journal in left:
            journal._stored()


Observer = Callable[[Event], None]
