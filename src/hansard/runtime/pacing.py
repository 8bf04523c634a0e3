"""When a call may be made: how many at once, who goes first, how long to wait after a failure.

Calls in flight are counted by provider, and what they send is counted in bytes over all providers:
a prompt may be long, and it is in memory several times until it is answered.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections import deque
from collections.abc import Callable, Mapping
from math import ceil, inf
from typing import Protocol
from weakref import WeakKeyDictionary

from hansard.errors import UsageError
from hansard.rules.model_names import provider_of
from hansard.rules.seating import OFFLINE
from hansard.rules.steps import RETRIED
from hansard.runtime.clock import Clock
from hansard.runtime.models.base import MAX_PROMPT, ModelError
from hansard.runtime.models.provider_rows import PROVIDERS
from hansard.runtime.models.providers import find_server

VARIABLE = "HANSARD_CONCURRENCY"
AT_ONCE = 100  # calls to one provider, over all debates of a loop, where the variable says nothing
MOST_SENT = MAX_PROMPT  # bytes that all calls of a loop send at once; a larger one goes alone
FIRST_WAIT = 500  # milliseconds; it doubles with every try
LONGEST_WAIT = 60_000
_LOADED = ("rate_limited", "server_error")  # they may tell of a load that others feel too
_LIMIT = re.compile(r"(?:([a-z-]+)=)?([1-9][0-9]{0,5})").fullmatch


def wait_ms(model: str, error: ModelError, tries: int, chance: float) -> int | None:
    """Return how long to wait before `model` is asked once more, in milliseconds.

    `tries` attempts have failed before this one, `chance` is in [0, 1): a crowd
    that fails at once must not come back at once. What the server asks for is
    the least. None for an error after which nothing is tried again.
    """
    if error.kind not in RETRIED:
        return None
    if model.startswith(OFFLINE) or error.kind in ("timeout", "crashed"):
        return 0  # a script needs no rest, and a timeout has been waited for already
    backoff = min(LONGEST_WAIT, FIRST_WAIT << min(tries, 16))
    jittered = round(backoff * (1 + chance) / 2)
    return max(jittered, round((error.retry_after or 0) * 1000))


class Server:
    """When a server may be asked again after a failure; times are seconds of one clock.

    A wait holds for everybody who would ask it: every step, seat and debate of the process.
    Waits grow with each wave of failures until a reply comes. A wave is what failed of the
    calls that were made before the first of its failures was known.
    """

    def __init__(self) -> None:
        self.until = -inf
        self.tell: Callable[[float], object] = nobody  # other processes of a pause, in seconds
        self._waves, self._known = 0, -inf

    def failed(
        self, model: str, error: ModelError, tries: int, *, began: float, now: float, chance: float
    ) -> int | None:
        """Note the failure of a call that `began` then; return how long its step waits, in ms.

        None as in `wait_ms`, to which the other arguments go.
        """
        if error.kind in _LOADED:
            if began >= self._known:
                self._waves, self._known = self._waves + 1, now
            tries = max(tries, self._waves - 1)
        wait, least = (wait_ms(model, error, tries, spread) for spread in (chance, 0.0))
        if wait is None:
            return None
        if least and now + least / 1000 > self.until:
            self.until = now + least / 1000
            self.tell(least / 1000)
        return max(wait, self.left_ms(now))

    def answered(self, began: float) -> None:
        """Note the reply to a call that `began` then: the server can answer again."""
        if began >= self._known:
            self._waves = 0

    def left_ms(self, now: float) -> int:
        """Return how long nobody may ask the server, in milliseconds, rounded up."""
        left = round((self.until - now) * 1000, 3) if self.until > now else 0.0
        return ceil(left)


_SERVERS: WeakKeyDictionary[Clock, dict[str, Server]] = WeakKeyDictionary()


def server_of(clock: Clock, model: str, base_url: str | None) -> Server:
    """Return the server of a model, the same one for all debates whose times `clock` tells.

    It is known by its address. A function is its own.
    """
    provider = PROVIDERS.get(provider_of(model))
    address = find_server(provider, base_url, os.environ).base_url if provider else None
    known = _SERVERS.setdefault(clock, {})
    name = address or (provider.name if provider else model)
    if name not in known:
        known[name] = Server()
        if sharing := _sharing():
            sharing.watch(name, known[name])
    return known[name]


class Slots:
    """Places for calls in flight at once; who waits first is served first."""

    def __init__(self, free: int) -> None:
        self._free = free
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._sizes: WeakKeyDictionary[asyncio.Future[None], int] = WeakKeyDictionary()

    def take(self, size: int = 1) -> asyncio.Future[None]:
        """Return so many places: a future that is done as soon as they are one's own."""
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sizes[place] = size
        self._waiting.append(place)
        self._serve()
        return place

    def give_back(self, place: asyncio.Future[None]) -> None:
        """Give up what was taken, or the wait for it; a second time changes nothing."""
        size = self._sizes.pop(place, 0)
        if not place.cancel():  # it was one's own
            self._free += size
        self._serve()

    def _serve(self) -> None:
        while self._waiting:
            first = self._waiting[0]
            if not first.done():
                if self._sizes[first] > self._free:
                    return
                self._free -= self._sizes[first]
                first.set_result(None)
            self._waiting.popleft()


def limits(text: str) -> Mapping[str, int]:
    """Return the limits by provider, the one of all others under the empty name.

    `text` is as in `20` or `openai=20,ollama=2,100`; raises UsageError `env.concurrency`.
    """
    found = {"": AT_ONCE}
    for row in filter(None, text.replace(" ", "").split(",")):
        limit = _LIMIT(row)
        if limit is None:
            raise UsageError(
                "env.concurrency",
                f"{VARIABLE} is {text!r}: give a number of calls, or one for each provider as in "
                "openai=20,ollama=2",
            )
        found[limit[1] or ""] = int(limit[2])
    return found


Release = Callable[[], None]
_SLOTS: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Slots]] = WeakKeyDictionary()


def slots_of(model: str) -> Slots | None:
    """Return the places at the provider of `model`; None for replies that nobody is asked for."""
    if model.startswith(OFFLINE):
        return None
    provider = provider_of(model)
    known = _SLOTS.setdefault(asyncio.get_running_loop(), {})
    if provider not in known:
        limit = limits(os.environ.get(VARIABLE, ""))
        most, sharing = limit.get(provider, limit[""]), _sharing()
        known[provider] = sharing.slots(provider, most) if sharing else Slots(most)
    return known[provider]


def _room() -> Slots:
    """Return the room of what calls send, a place for each byte."""
    known = _SLOTS.setdefault(asyncio.get_running_loop(), {})
    return known.setdefault("", Slots(MOST_SENT))


class Sharing(Protocol):
    """What several processes share."""

    def slots(self, provider: str, limit: int) -> Slots:
        """Return the places at a provider, of which all have `limit` together."""

    def watch(self, name: str, server: Server) -> None:
        """Let all hear of the pauses of a server, and the server of theirs."""


_SHARED: WeakKeyDictionary[asyncio.AbstractEventLoop, Sharing] = WeakKeyDictionary()


def share(sharing: Sharing | None) -> None:
    """Let the debates of this event loop share with other processes, or with none any more."""
    loop = asyncio.get_running_loop()
    _SHARED.pop(loop, None)
    if sharing:
        _SHARED[loop] = sharing


def _sharing() -> Sharing | None:
    try:
        return _SHARED.get(asyncio.get_running_loop())
    except RuntimeError:
        return None


class Pace:
    """What one debate waits for before it makes a call: a place, room, a leading call, a pause."""

    def __init__(self, *, leading_call: bool) -> None:
        self._leading_call = leading_call
        self._leaders: dict[tuple[int, str, str], str] = {}  # the step, by round, phase and model
        self._places: dict[str | int, tuple[Slots, asyncio.Future[None]]] = {}  # not used yet
        self._wanted: set[str | int] = set()  # of these, by provider or size, since `settle`
        self._not_before: dict[str, float] = {}  # by step

    def pause(self, step: str, until: float) -> None:
        """Make no call for `step` before `until`, in seconds of the engine's clock."""
        self._not_before[step] = until

    def paused(self, step: str, now: float) -> bool:
        """Say whether `step` still has to wait."""
        return self._not_before.get(step, now) > now

    def next_end(self, now: float) -> float | None:
        """Return when the first pause ends; None where there is none."""
        return min((end for end in self._not_before.values() if end > now), default=None)

    def follows(self, place: tuple[int, str, str], step: str, in_flight: set[str]) -> bool:
        """Say whether `step` waits for the call that leads its phase at its model.

        A provider's cache has an entry only once the first of several alike calls is
        answered; the first step that asks leads.
        """
        if not self._leading_call:
            return False
        leader = self._leaders.setdefault(place, step)
        return leader != step and leader in in_flight

    def has_place(self, model: str) -> bool:
        """Say whether a call to `model` has a place; one that is waited for stays waited for."""
        slots = slots_of(model)
        return slots is None or self._has(provider_of(model), slots, 1)

    def has_room(self, model: str, size: int) -> bool:
        """Say so of the room for the `size` bytes that the call sends."""
        return model.startswith(OFFLINE) or self._has(size, _room(), min(size, MOST_SENT))

    def _has(self, name: str | int, slots: Slots, size: int) -> bool:
        self._wanted.add(name)
        if name not in self._places:
            self._places[name] = (slots, slots.take(size))
        return self._places[name][1].done()

    def take(self, model: str, size: int) -> Release:
        """Use what the call has; return how that is given back once it is over."""
        names = (provider_of(model), size)
        used = [self._places.pop(name) for name in names if name in self._places]

        def release() -> None:
            for slots, place in used:
                slots.give_back(place)

        return release

    def settle(self) -> list[asyncio.Future[None]]:
        """Once it is chosen what is asked, give back what no call still waits with, or for.

        Return what is waited for, so that it is noticed also if it comes before anybody waits.
        """
        waits = any(  # for room, which only calls in flight have: they end without what is kept
            name in self._wanted and isinstance(name, int)
            for name, (_, place) in self._places.items()
            if not place.done()
        )
        for name, (slots, place) in [*self._places.items()]:
            if name not in self._wanted or (place.done() and not waits):
                slots.give_back(place)
                del self._places[name]
        self._wanted.clear()
        return self.waited_for

    @property
    def waited_for(self) -> list[asyncio.Future[None]]:
        """The places and the room that are waited for."""
        return [place for _, place in self._places.values() if not place.done()]

    def close(self) -> None:
        """Give back all that is not used."""
        for slots, place in self._places.values():
            slots.give_back(place)
        self._places.clear()


def nobody(_: float) -> None:
    """Tell nobody: no other process shares a server."""


def nothing() -> None:
    """Give nothing back: no place was needed."""
