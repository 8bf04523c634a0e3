"""The questions that the rules ask of every format of debate.

A format is one `Format`: a table of pure functions, in a module of its own or,
above 400 lines, in a folder. The engine, the verifier and the replay know none
by name. They ask these questions of whichever format the opening names, and
nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from hansard.rules.data import RegisteredData
from hansard.rules.events import Fact
from hansard.rules.fields import Rejection
from hansard.rules.prompts import TextOf, Value
from hansard.rules.replies import JSON, Schema
from hansard.rules.similarity import Measured
from hansard.rules.spec_base import BaseSpec
from hansard.rules.state import DebateState, Step, Turn
from hansard.rules.terms import CloseReason, Role

T = TypeVar("T")


class Compare(NamedTuple):
    """The answers of a round are to be compared: texts that the state does not hold.

    `measure` is "words" or "whole" for a similarity, "votes" for a count of
    equal answers; `by` is how the format compares.
    """

    round: int
    measure: str
    final: bool  # to resolve the debate, after its rounds
    by: Comparison


class NotCounted(NamedTuple):
    """Why a reply does not count: the code, and the member and keyword of the schema it misses.

    `rating` is what a critique that is sent back says of itself.
    """

    code: Rejection
    member: str | None = None
    keyword: str | None = None
    rating: int | None = None


class TextGone(Exception):
    """Whether a reply counts cannot be said for sure, since a text that it rests on is gone."""


Next = Fact | Compare | tuple[Step, ...] | CloseReason


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a format compares texts, which the state does not hold.

    - `answer_of(value)`: the words of a reply that are compared;
    - `compared(state, what, answers)`: the fact that the answers give, by debater;
    - `restated(state, what, data)`: the same where an answer is gone, as far as it can be
      told from the recorded `data`; None where no answers give that.
    """

    answer_of: Callable[[JSON], str]
    compared: Callable[[DebateState, Compare, Mapping[str, Measured]], Fact]
    restated: Callable[[DebateState, Compare, Mapping[str, Any]], Mapping[str, Any] | None]


def as_stated(terms: T, _seats: int) -> T:
    """Return terms of which nothing is derived."""
    return terms


def as_told(_state: DebateState, _step: Step) -> None:
    """Return that everybody sees the transcript in its order."""


def whole(_state: DebateState) -> bool:
    """Return that no seats are lost that the outcome needs, while somebody is heard."""
    return False


def never(_state: DebateState, _step: Step, _why: NotCounted) -> bool:
    """Return that no reply is sent back."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Format(Generic[T]):
    """What a format of debate answers; `T` are its terms.

    What it is:

    - `summary`: what happens in it, as a clause for whoever chooses a format;
    - `spec`: what a user writes, with the prompt templates of its roles;
    - `schemas(terms)`: what a reply must be, by role (FORMAT.md §6);
    - `most_turns(terms, debaters)`: how many turns there can be, a synthesis aside.

    What may open it:

    - `settled(terms, seats)`: the terms with what the rules derive of them, or
      in words what they would have to be;
    - `wrong_seats(terms, seats)`: in words what the seats would have to be; None
      where they are right.

    How it goes:

    - `due(state)`: who speaks now, or the fact, or the comparison of texts, that is
      due before anybody does; or the reason why the debate has failed. A format
      that compares texts says how in what is due: `Compare.by`;
    - `lost(state)`: whether so many seats are out that only `escalate` is left;
    - `reason(state)`: why a debate that was decided stopped.

    What a reply says:

    - `read(state, step, value, text_of)`: the clear fields of a reply that fits its
      schema, or why it does not count;
    - `named_in_words(state, winner, text_of)`: the verdict of a function whose winner is no
      label; None where a format knows no other names;
    - `admits(state, step, data)`: whether a recorded turn whose reply is gone can
      be what such a reply gives;
    - `may_send_back(state, step, why)`: whether a reply to this step, whatever it cites,
      can be sent back for that (`SENT_BACK`) with this rating.

    What a speaker is shown:

    - `template(state, step)`, `values(state, step)`: the speaker's instruction, and
      what is filled into it; without a step, into the protocol;
    - `label(state, turn)`: the title of a turn in the transcript, and whether its
      reply is shown point by point;
    - `retold(state, step)`: the transcript as one step is shown it, where that is
      in another order or under other titles; None where it is not.
    """

    summary: str
    spec: type[BaseSpec]
    schemas: Callable[[T], dict[Role, Schema]]
    most_turns: Callable[[T, int], int]
    settled: Callable[[T, int], T | str] = as_stated
    wrong_seats: Callable[[T, Sequence[RegisteredData]], str | None]
    due: Callable[[DebateState], Next]
    lost: Callable[[DebateState], bool] = whole
    reason: Callable[[DebateState], CloseReason]
    read: Callable[[DebateState, Step, JSON, TextOf], Mapping[str, Any] | NotCounted]
    named_in_words: Callable[[DebateState, str, TextOf], Mapping[str, Any]] | None = None
    admits: Callable[[DebateState, Step, Mapping[str, Any]], bool]
    may_send_back: Callable[[DebateState, Step, NotCounted], bool] = never
    template: Callable[[DebateState, Step], str]
    values: Callable[[DebateState, Step | None], Mapping[str, Value]]
    label: Callable[[DebateState, Turn], tuple[str, bool]]
    retold: Callable[[DebateState, Step], list[tuple[str, Turn]] | None] = as_told

    @property
    def templates(self) -> Mapping[str, tuple[str, ...]]:
        """The prompt templates by role, each with the names of what is filled in."""
        return self.spec.TEMPLATES
