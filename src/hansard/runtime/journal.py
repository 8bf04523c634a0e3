"""The growing end of one record: facts in, chained lines out, to the store in batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from hansard.debate.events import Event, Fact
from hansard.debate.fields import Blob
from hansard.record import blob
from hansard.record.bundle import Head
from hansard.record.line import GENESIS, VERSION, encode_line, line_hash
from hansard.runtime.clock import Clock
from hansard.store.application import Store
from hansard.store.sqlite import Extras


class Journal:
    """Chains facts to lines and keeps them until `flush` makes them durable.

    Nothing outside may depend on a fact before it is flushed: no model is
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

    def blob(self, text: str) -> Blob:
        """Keep a text, salted, to be stored with the next flush; return its reference."""
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

    def flush(
        self, templates: tuple[tuple[str, bytes], ...] = (), folder: str | None = None
    ) -> None:
        """Store what was added since the last flush, all or nothing."""
        if not self._lines:
            return
        first = self._seq - len(self._lines) + 1
        extras = Extras(Head(self._seq, self._prev), self._blobs, templates, folder)
        self._store.append(self.debate, first, self._lines, extras)
        self._lines, self._blobs = [], []


Observer = Callable[[Event], None]
