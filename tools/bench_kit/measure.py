"""Figures, and the times that they are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple


class Size(NamedTuple):
    """How much is measured."""

    rounds: tuple[int, ...]  # the shapes 3xR; the others are held against the first
    appends: int  # debates a repetition of figure 1; ten times as many when one is one commit
    calls: int  # a repetition of figure 2 makes at least so many
    records: int  # distinct debates that figure 4 verifies
    crowd: int  # debates at once in figures 8, 9 and 12
    stored: tuple[int, ...]  # debates that are there before figure 11 measures
    registered: tuple[int, ...]  # lines in the register before figure 14 measures
    public: int  # debates a repetition of figure 11 runs
    many: tuple[int, int]  # debates that figure 15 exports and verifies: few, and many
    asked: int  # debates that figures 17 and 18 ask about
    repeats: int


FULL = Size(
    rounds=(2, 50, 200),
    appends=20,
    calls=1200,
    records=1000,
    crowd=1000,
    stored=(100, 1500),
    registered=(1_000, 10_000, 100_000),
    public=10,
    many=(250, 2500),
    asked=10_000,
    repeats=7,
)
QUICK = Size(
    rounds=(2, 10, 20),
    appends=2,
    calls=48,
    records=10,
    crowd=10,
    stored=(3, 20),
    registered=(1, 20),
    public=1,
    many=(2, 4),
    asked=100,
    repeats=1,
)


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the result: what was measured in `unit`, its ratio, and what that should be."""

    number: int
    name: str
    unit: str
    ours: float
    floor: float | None = None
    ratio: float | None = None
    at_least: float | None = None
    at_most: float | None = None

    @property
    def target(self) -> str:
        """The target in words; empty where none is set."""
        low, high = self.at_least, self.at_most
        if low is not None and high is not None:
            return f"{low:g} to {high:g}"
        return f">= {low:g}" if low is not None else f"<= {high:g}" if high is not None else ""

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None where there is none."""
        if self.ratio is None or not self.target:
            return None
        return (self.at_least or 0.0) <= self.ratio <= (self.at_most or float("inf"))


class Pairs:
    """Times of floor and ours, taken in turns, a unit of work each."""

    def __init__(self, floor: Sequence[float] = (), ours: Sequence[float] = ()) -> None:
        self.floor, self.ours = list(floor), list(ours)

    def add(self, floor: float, ours: float) -> None:
        """Add two neighbours."""
        self.floor.append(floor)
        self.ours.append(ours)

    def rate(self, number: int, name: str, at_least: float | None) -> Figure:
        """Return the figure in which more is better: the floor's time over ours."""
        ratio = median(floor / ours for floor, ours in zip(self.floor, self.ours, strict=True))
        ours, floor = 1 / median(self.ours), 1 / median(self.floor)
        return Figure(number, name, "events/s", ours, floor, ratio, at_least=at_least)

    def cost(self, number: int, name: str, at_most: float | None, unit: str = "us/call") -> Figure:
        """Return the figure in which less is better: our time over the floor's."""
        ratio = median(ours / floor for floor, ours in zip(self.floor, self.ours, strict=True))
        ours, floor = 1e6 * median(self.ours), 1e6 * median(self.floor)
        return Figure(number, name, unit, ours, floor, ratio, at_most=at_most)


def seconds(clock: Callable[[], float], work: Callable[..., object], *args: object) -> float:
    """Return the seconds of `clock` that `work(*args)` takes."""
    begin = clock()
    work(*args)
    return clock() - begin


def expect(holds: bool, what: str) -> None:
    """Stop where a figure would be about something else than it says."""
    if not holds:
        raise SystemExit(f"bench: not so: {what}")
