"""Whether people have approved a decision: what a result shows of it, and its words.

Whose signature counts is for the reader's trust file to say, and what is overdue for the
reader's clock: a `Reader` brings both. Without a trust file no review counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol, cast, get_args

from hansard import vocabulary
from hansard.record.keys import Trust
from hansard.record.policy import Policy
from hansard.report import erasing
from hansard.report.parts import Condition, LiftedHold, NotedOutcome, Reviewed, SignedReview
from hansard.report.safe import one_line
from hansard.report.words import FEW, GONE, HEAD
from hansard.rules import after
from hansard.rules.review import ReviewState, Signed, review_of
from hansard.rules.state import DebateState
from hansard.vocabulary import fill, many


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads a record: the policy it names, the keys the reader trusts, and the time.

    `vouched` says that the reader knows whose record it is: it is from the own store, or
    trusted keys signed it. A decision of any other record is not released.
    """

    policy: Policy | None = None
    trust: Trust = field(default_factory=Trust)
    now: str | None = None
    vouched: bool = True


# Those of a review that was required, or that somebody signed.
STATES = tuple(state for state in get_args(ReviewState) if state != "not required")
UNREVIEWED: Sequence[ReviewState] = ("not required", "waiting", "overdue")
TextOfBlob = Callable[[Any], str | None]


def reviewed(state: DebateState, text: TextOfBlob, reader: Reader) -> tuple[Reviewed, bool]:
    """Return what people say of a debate, and whether its decision is released."""
    found = review_of(state, reader.policy, reader.trust, reader.now)
    first, open_ = state.seq - len(state.after) + 1, frozenset(found.open)
    outcomes = [
        _outcome(seq, cast(Any, event), text)
        for seq, event in enumerate(state.after, first)
        if event["type"] == "outcome.noted"
    ]
    shown = Reviewed(
        state=found.state,
        wanted=found.wanted,
        exceptions=found.exceptions,
        days=found.due,
        reviews=tuple(_review(row, text, open_) for row in found.reviews),
        outcomes=tuple(outcomes),
        held=after.is_held(state),
        lifted=tuple(
            LiftedHold(seq=row.seq, at=row.at, key=row.key, standing=row.standing)
            for row in found.lifts
        ),
        erased=tuple(erasing.erased(state, text, reader.policy, reader.trust)),
    )
    return shown, found.released and reader.vouched


def _review(row: Signed, text: TextOfBlob, open_: frozenset[str]) -> SignedReview:
    data = row.data
    return SignedReview(
        seq=row.seq,
        at=row.at,
        reviewer=text(data["reviewer"]),
        key=row.key.partition("+")[0],
        outcome=data["outcome"],
        comment=text(data["comment"]),
        conditions=tuple(
            Condition(text=text(blob), met=row.counts and blob["sha256"] not in open_)
            for blob in data["conditions"]
        ),
        standing=row.standing,
        counts=row.counts,
    )


def _outcome(seq: int, event: dict[str, Any], text: TextOfBlob) -> NotedOutcome:
    data = event["data"]
    signed = data["signature"]
    key = signed["key"].partition("+")[0] if signed else None
    return NotedOutcome(
        seq=seq, at=event["at"], label=data["label"], note=text(data["note"]), key=key
    )


class Spoken(Protocol):
    """What people have said something of: a debate's result, or the record of a gate."""

    @property
    def reviewed(self) -> Reviewed:
        """What they said."""


def against(result: Spoken) -> list[SignedReview]:
    """Return the reviews that speak against the decision by keys that the reader does not trust.

    They matter where no review counts: they may be genuine.
    """
    found = result.reviewed
    return [
        row
        for row in found.reviews
        if found.state in UNREVIEWED
        and row.outcome in ("rejected", "remanded")
        and not row.counts
        and row.standing != "faulty"
    ]


def standing(found: Reviewed) -> list[SignedReview]:
    """Return the last review of each key that counts."""
    return [*{row.key: row for row in found.reviews if row.counts}.values()]


def unmet(found: Reviewed) -> int:
    """Return how many conditions of the reviews that stand are still to be met."""
    return sum(not condition.met for row in standing(found) for condition in row.conditions)


def asked_since(found: Reviewed) -> str:
    """Say why a review is required."""
    why = [vocabulary.words("exceptions")[name] for name in found.exceptions]
    return ", ".join(why) or vocabulary.words("reviewed")["policy"]


def in_words(result: Spoken) -> str:
    """Say how its review stands."""
    return "; ".join(_sentences(result.reviewed))


def notable(result: Spoken) -> str | None:
    """Say how the review stands; None where none is required and nobody said anything."""
    found = result.reviewed
    told = found.wanted or found.reviews or found.held or found.lifted
    return in_words(result) if told else None


def _sentences(found: Reviewed) -> Iterator[str]:
    words = vocabulary.words("reviewed")
    others = [row for row in found.reviews if not row.counts]
    waits = found.state == "waiting" and others
    yield fill(
        words["uncounting" if waits else found.state],
        who=", ".join(map(person, standing(found))),
        why=asked_since(found),
        wanted=many(found.wanted or 1, "approval"),
        days=many(found.days or 0, "day"),
    )
    if unmet(found):
        yield fill(words["open"], conditions=many(unmet(found), "condition"))
    yield from map(_uncounted, others[:FEW])
    if len(others) > FEW:
        yield fill(words["others"], more=len(others) - FEW)
    if found.held:
        yield words["held"]
    yield from lifted(found)


def lifted(found: Reviewed) -> Iterator[str]:
    """Say when holds were lifted, by whose keys, and why that does not count: that first."""
    lifts = [*doubted_lifts(found), *(row for row in found.lifted if row.standing == "trusted")]
    yield from map(_lifted, lifts[:FEW])
    if len(lifts) > FEW:
        words = vocabulary.words("reviewed")
        yield fill(words["lifted_again"], times=many(len(lifts) - FEW, "more time"))


def doubted_lifts(found: Reviewed) -> list[LiftedHold]:
    """Return the lifted holds that nobody signed, or not with a key that counts here."""
    return [row for row in found.lifted if row.standing != "trusted"]


def _lifted(row: LiftedHold) -> str:
    """Say when a hold was lifted, by whose key, and why that does not count for this reader."""
    why = vocabulary.words("standings").get(row.standing or "", "")
    how = "unsigned" if row.key is None else "trusted" if row.standing == "trusted" else "doubted"
    sentence = vocabulary.words("reviewed")[f"lifted_{how}"]
    return fill(sentence, day=row.at[:10], key=row.key, why=fill(why, key=row.key))


def conditions(result: Spoken, limit: int | None = None) -> Iterator[str]:
    """Say of each condition of all reviews, numbered in their order, whether it is met.

    With a limit each is on one line, cut there.
    """

    @cache  # reviews may name one text of blanks again and again
    def written(text: str) -> str:
        return text if limit is None else one_line(text, limit)

    words = vocabulary.words("conditions")
    rows = (condition for row in result.reviewed.reviews for condition in row.conditions)
    for number, row in enumerate(rows, 1):
        text = written(GONE if row.text is None else row.text)
        yield fill(words["met" if row.met else "open"], number=number, text=text)


def _uncounted(row: SignedReview) -> str:
    """Say what a review says that does not count for this reader, and why it does not."""
    return fill(
        vocabulary.words("reviewed")["uncounted"],
        name=one_line(GONE if row.reviewer is None else row.reviewer, HEAD),
        outcome=vocabulary.words("says")[row.outcome],
        why=fill(vocabulary.words("standings")[row.standing], key=row.key),
    )


def person(row: SignedReview) -> str:
    """Say who reviewed it when, with which key and outcome."""
    return fill(
        vocabulary.words("reviewed")["person"],
        name=one_line(GONE if row.reviewer is None else row.reviewer, HEAD),
        outcome=vocabulary.words("reviews")[row.outcome],
        day=row.at[:10],
        key=row.key,
    )
