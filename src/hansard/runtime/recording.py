"""The record of one debate while a process adds to it: its state, its events, and who watches."""

from __future__ import annotations

import inspect
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from functools import reduce
from inspect import isawaitable
from types import MappingProxyType

from hansard.errors import UsageError
from hansard.record.policy import Policy
from hansard.report.following import Follower
from hansard.report.progress import Progress
from hansard.rules.events import Event, Fact
from hansard.rules.spec_parts import A_NAME, person_name
from hansard.rules.state import DebateState, evolve
from hansard.runtime.journal import Journal

# Hears of every event once it is stored. One that takes two arguments is also given the texts
# of the record so far, by name: the `sha256` of a blob. What an async one has to do is awaited
# before the debate goes on.
Heard = Awaitable[None] | None
Observer = Callable[[Event], Heard] | Callable[[Event, Mapping[str, str]], Heard]
OnProgress = Callable[[Progress], Heard]


class Stop(Exception):
    """Raise it from a hook to stop the debate: it is cut short with what stands.

    Calls that have been started still end first. `reason` says why and `by` who stops it;
    both are recorded as texts. Raises UsageError `stop.text` for what cannot be one.
    """

    def __init__(self, reason: str | None = None, *, by: str | None = None) -> None:
        for name, text in (("by", by), ("reason", reason)):
            if text is not None:
                _check_text(name, text)
        super().__init__(reason or "")
        self.by, self.reason = None if by is None else _name(by), reason


def _name(by: str) -> str:
    name = person_name(by)
    if name is None:
        raise UsageError("stop.text", f"`by` says who stops it: {A_NAME}")
    return name


def _check_text(name: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            "stop.text",
            f"the text of `{name}` is not Unicode: what stands at character {error.start + 1} "
            "is no character; write it in UTF-8",
        ) from None


class Recording:
    """Everything that this process knows of a debate: `state`, `events` and `texts`.

    `journal` takes what is added; `events` are those that an earlier process
    recorded, whose texts `journal` has. `observe` is called with every event that is
    added, once it is stored, and `progress` with what it means. The first error that one
    of them raises is `broken`, and from then on they hear of nothing more; the first `Stop`
    is `stop`, and they hear of the end. `policy` is the one that the opening names.
    """

    def __init__(
        self,
        journal: Journal,
        events: Iterable[Event] = (),
        *,
        observe: Observer | None = None,
        progress: OnProgress | None = None,
    ) -> None:
        self.journal = journal
        self.events = list(events)
        self.state = reduce(evolve, self.events, DebateState())
        self._watchers: list[Callable[[Event], Iterable[object]]] = []
        self._owed: list[Awaitable[object]] = []  # what async hooks have still to do
        self._untold: list[Event] = []
        self.broken: BaseException | None = None
        self.stop: Stop | None = None
        self.policy: Policy | None = None
        journal.on_stored = self._tell
        if observe:
            self._watchers.append(_watcher(observe, self.texts))
        if progress:
            self._watchers.append(self._following(progress))

    @property
    def texts(self) -> Mapping[str, str]:
        """The texts of the record, by name."""
        return self.journal.texts

    def add(self, fact: Fact, at: str | None = None) -> Event:
        """Record a fact, as in `Journal.add`, and fold it in."""
        event = self.journal.add(fact, at)
        evolve(self.state, event)
        self.events.append(event)
        self._untold.append(event)
        return event

    async def commit(self) -> None:
        """Store what was added, and wait until every observer was told of it."""
        await self.journal.commit()
        await self.heard()

    async def tell(self) -> None:
        """Do so where somebody watches, who may stop the debate before its next call is recorded.

        Else it is stored with that call, before it is made.
        """
        if self._watchers:
            await self.commit()

    def _tell(self) -> None:
        """Tell whoever watches of what has been stored since, until one of them breaks."""
        told, self._untold = self._untold, []
        for event in told:
            for watch in self._watchers:
                with self._caught():
                    self._owed += () if self.broken else filter(isawaitable, watch(event))

    async def heard(self) -> None:
        """Await what async hooks have to do, one after the other."""
        try:
            while self._owed and not self.broken:
                owed = self._owed.pop(0)
                with self._caught(but=CancelledError):  # that is whoever cancels the debate
                    await owed
        finally:
            self.unheard()

    def unheard(self) -> None:
        """Let go of what async hooks have still to do."""
        for owed in self._owed:
            if isinstance(owed, Coroutine):
                owed.close()
        self._owed.clear()

    @contextmanager
    def _caught(self, but: type[BaseException] | tuple[()] = ()) -> Iterator[None]:
        """Keep what a hook raises until all is stored."""
        try:
            yield
        except Stop as stop:
            self.stop = self.stop or stop
        except but:
            raise
        except BaseException as error:  # noqa: BLE001 - raised again once all is stored
            self.broken = error

    def _following(self, progress: OnProgress) -> Callable[[Event], Iterable[object]]:
        follower = Follower()
        for event in self.events:
            follower.fold(event)

        def follow(event: Event) -> Iterator[object]:
            for row in follower.follow(event, self.texts):
                yield progress(row)

        return follow


def _watcher(observe: Observer, texts: Mapping[str, str]) -> Callable[[Event], Iterable[object]]:
    """Return an observer that is called with the event alone.

    It is given an event of its own: what it changes there, the debate does not go on from.
    """
    if _takes_texts(observe):
        own = MappingProxyType(texts)
        return lambda event: [observe(deepcopy(event), own)]  # type: ignore[call-arg]
    return lambda event: [observe(deepcopy(event))]  # type: ignore[call-arg]


def _takes_texts(observe: Observer) -> bool:
    """Whether an observer must be given a second argument."""
    try:
        parameters = inspect.signature(observe).parameters.values()
    except (TypeError, ValueError):  # some functions written in C tell nothing of themselves
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [row for row in parameters if row.kind in positional and row.default is row.empty]
    return len(needed) > 1
