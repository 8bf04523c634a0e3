"""The record of one debate while a process adds to it: its state, its events, and who watches."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import reduce

from hansard.errors import UsageError
from hansard.record.policy import Policy
from hansard.report.progress import Follower, Progress
from hansard.rules.events import Event, Fact
from hansard.rules.state import DebateState, evolve
from hansard.runtime.journal import Journal

# Hears of every event once it is stored. One that takes two arguments is also given the texts
# of the record so far, by name: the `sha256` of a blob.
Observer = Callable[[Event], None] | Callable[[Event, Mapping[str, str]], None]


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
        self.by, self.reason = by, reason


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
        progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self.journal = journal
        self.events = list(events)
        self.state = reduce(evolve, self.events, DebateState())
        self._watchers: list[Callable[[Event], None]] = []
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

    def _tell(self) -> None:
        """Tell whoever watches of what has been stored since, until one of them breaks."""
        told, self._untold = self._untold, []
        for event in told:
            for watch in () if self.broken else self._watchers:
                try:
                    watch(event)
                except Stop as stop:
                    self.stop = self.stop or stop
                except BaseException as error:  # noqa: BLE001 - raised again once all is stored
                    self.broken = error
                    break

    def _following(self, progress: Callable[[Progress], None]) -> Callable[[Event], None]:
        follower = Follower()
        for event in self.events:
            follower.fold(event)

        def follow(event: Event) -> None:
            for row in follower.follow(event, self.texts):
                progress(row)

        return follow


def _watcher(observe: Observer, texts: Mapping[str, str]) -> Callable[[Event], None]:
    """Return an observer that is called with the event alone."""
    if _takes_texts(observe):
        return lambda event: observe(event, texts)  # type: ignore[call-arg]
    return observe  # type: ignore[return-value]


def _takes_texts(observe: Observer) -> bool:
    """Whether an observer must be given a second argument."""
    try:
        parameters = inspect.signature(observe).parameters.values()
    except (TypeError, ValueError):  # some functions written in C tell nothing of themselves
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [row for row in parameters if row.kind in positional and row.default is row.empty]
    return len(needed) > 1
