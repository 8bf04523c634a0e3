"""From a chain to the store: entries are kept in hand until they are stored, in batches.

Debates that run in one event loop store together where they can, so that the disk
is waited for once. Where others keep the store locked, a debate that has begun waits for
as long as they do: what has arrived was paid for.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from sys import getsizeof
from typing import Any, cast
from weakref import WeakSet

from hansard.errors import DataError, HansardError
from hansard.record import blob
from hansard.record.bundle import OF_FILE, Head
from hansard.record.chain import Chain
from hansard.rules.events import Event, Fact
from hansard.rules.fields import Blob
from hansard.runtime.clock import Clock
from hansard.store.application import Batch, Store
from hansard.store.database import Extras

_LOG = logging.getLogger("hansard.store")
_AGAIN = 1.0  # seconds until a store is looked at again that others keep locked
_TOGETHER = 100  # debates that store in one transaction, so that few wait with lines in memory


class Texts(MutableMapping[str, str]):
    """The texts of a record, by name: each in as little memory as it needs.

    Python keeps every character in as many bytes as the widest one takes, so that one emoji
    makes a text four times as large. Such a text is kept in UTF-8.
    """

    def __init__(self) -> None:
        self._kept: dict[str, str | bytes] = {}

    def __getitem__(self, name: str) -> str:
        kept = self._kept[name]
        return kept if isinstance(kept, str) else kept.decode()

    def __setitem__(self, name: str, text: str) -> None:
        kept = text.encode()
        self._kept[name] = kept if getsizeof(kept) < getsizeof(text) else text

    def __delitem__(self, name: str) -> None:
        del self._kept[name]

    def __contains__(self, name: object) -> bool:
        return name in self._kept

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)


class Journal:
    """Adds facts to a chain and keeps their lines until `commit` or `flush` makes them durable.

    Nothing outside may depend on a fact before it is stored: no model is
    called and no reply is waited for with lines unwritten.
    """

    def __init__(self, store: Store, chain: Chain, clock: Clock) -> None:
        self.texts = Texts()  # of the whole record
        self.size = 0  # bytes that all of it takes in an export, as `Bundle.size` counts them
        self.on_stored: Callable[[], None] = lambda: None  # everything added is stored by then
        self._store, self._chain, self._clock = store, chain, clock
        self._now = clock.timeline(chain.at)
        self._lines: list[tuple[str, bytes]] = []
        self._blobs: list[tuple[str, bytes]] = []
        self._templates: Sequence[tuple[str, bytes]] = ()
        self._folder: str | None = None
        self._priority: int | None = None
        self._erased: list[str] = []

    @property
    def debate(self) -> str:
        """The debate's id."""
        return self._chain.debate

    def blob(self, text: str) -> Blob:
        """Keep a text, salted, to be stored with the next lines; return its reference."""
        return self.keep(text, self._clock.salt())

    def keep(self, text: str, salt: bytes) -> Blob:
        """Keep a text under a salt that it has already."""
        name, file = blob.pack(text, salt)
        self._blobs.append((name, file))
        self.size += len(file) + OF_FILE
        self.texts[name] = text
        return {"sha256": name}

    @property
    def head(self) -> str:
        """The hash of the last entry, stored or not."""
        return self._chain.prev

    def erase(self, name: str) -> None:
        """Take a text of the record out of the store with the next lines."""
        self._erased.append(name)
        self.texts.pop(name, None)

    def time(self) -> str:
        """Return the time that a fact added now would have."""
        return self._chain.time(self._now())

    def add(self, fact: Fact, at: str | None = None) -> Event:
        """Give a fact its place in the chain and return it as an event.

        `at` is a `time` at which something was decided about it. A fact that no
        line can hold raises DataError and takes no place.
        """
        now = self._now() if at is None else at
        event, line = self._chain.add(fact.type, cast(dict[str, Any], fact.data), now)
        self._lines.append((fact.type, line))
        self.size += len(line) + 1
        return cast(Event, event)

    def attach(
        self,
        templates: Sequence[tuple[str, bytes]],
        folder: str | None,
        priority: int | None = None,
    ) -> None:
        """Keep what is stored beside the opening: the templates, and where file names begin.

        With a `priority` the debate is put into the queue with it.
        """
        self._templates, self._folder, self._priority = templates, folder, priority
        self.size += sum(len(file) + OF_FILE for _, file in templates)

    def flush(self) -> None:
        """Store what was added and is not stored yet, all or nothing."""
        if self._lines:
            self._store.append(self.batch())
            self._stored()
        self.on_stored()

    def persist(self) -> None:
        """Do so however long others keep the store locked; nobody is served meanwhile."""
        while not self._is_stored():
            time.sleep(_AGAIN)

    async def commit(self) -> None:
        """Store what was added, with the other debates of this event loop that wait to.

        They share one transaction. Where it fails, each stores its own alone: an
        error is that of its own debate. When cancelled, what is not stored stays in
        hand for `flush`.
        """
        if not self._lines:
            return
        place = (asyncio.get_running_loop(), self._store)
        group = _waiting.setdefault(place, {})
        group[self] = None
        try:
            if len(group) < _TOGETHER:  # others that are ready by now join
                await asyncio.sleep(0)
        finally:
            if _waiting.get(place) is group:  # the first to come back stores for all
                del _waiting[place]
                _store_together(self._store, list(group))
        while not self._is_stored():  # noqa: ASYNC110 - nobody says when it is free
            await asyncio.sleep(_AGAIN)

    def _is_stored(self) -> bool:
        """Store what was added; False where others keep the store locked, and it is to be kept."""
        has_begun = self._chain.seq > len(self._lines)
        if has_begun and self._store in _locked and self._store.is_locked():
            return False
        try:
            self.flush()
        except DataError as error:
            if error.code != _BUSY or not has_begun:
                raise
            _note_locked(self._store)
            return False
        if self._store in _locked:
            _locked.discard(self._store)
            _LOG.warning("%s is free again, and what had arrived is stored", self._store.url)
        return True

    def batch(self) -> Batch:
        """Return what was added and is not stored yet."""
        first = self._chain.seq - len(self._lines) + 1
        head = Head(self._chain.seq, self._chain.prev)
        extras = Extras(
            head, self._blobs, self._templates, self._folder, self._erased, self._priority
        )
        return Batch(self.debate, first, self._lines, extras)

    def _stored(self) -> None:
        self._lines, self._blobs, self._templates, self._folder = [], [], (), None
        self._erased, self._priority = [], None


_BUSY = "store.busy"
_waiting: dict[tuple[asyncio.AbstractEventLoop, Store], dict[Journal, None]] = {}
_locked: WeakSet[Store] = WeakSet()  # by others, for longer than a writer waits


def _store_together(store: Store, journals: list[Journal]) -> None:
    """Store what several journals hold in one transaction, if none of them stands in its way."""
    left = [journal for journal in journals if journal._lines]
    if len(left) < 2:  # alone, a journal stores for itself and says what failed
        return
    if store in _locked:
        return
    try:
        store.append(*(journal.batch() for journal in left))
    except HansardError as error:  # each finds its own, if any, alone
        if error.code == _BUSY:
            _note_locked(store)
        return
    for journal in left:
        journal._stored()


def _note_locked(store: Store) -> None:
    """Say once that others keep a store locked, and that debates wait for it."""
    if store not in _locked:
        _locked.add(store)
        _LOG.warning(
            "others keep %s locked: debates wait until it is free, with the replies that arrive "
            "in memory; end what locks it, and do not end this process, or they are lost",
            store.url,
        )
