"""What code can see of a debate beside its outcome: who changed, towards whom, who spoke most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from hansard.report.fold import Folded, words_of
from hansard.report.parts import Drift, Share
from hansard.rules import similarity
from hansard.rules.state import Turn
from hansard.rules.terms import ARGUING

MILLION = similarity.MILLION
DOMINANT = 3  # times what the others wrote on average (RULES.md D 66)


def shares(found: Folded) -> tuple[Share, ...]:
    """Return how many characters each seat that argues wrote, and which share that is."""
    written: dict[str, int | None] = {seat["id"]: 0 for seat in found.state.of_role(*ARGUING)}
    for turn, _ in found.turns(*ARGUING):
        if turn.heard:
            seat, text = turn.data["speaker"], found.text(turn.reply)
            before = written[seat]
            written[seat] = None if before is None or text is None else before + len(text)
    known = [count for count in written.values() if count is not None]
    total = sum(known) if len(known) == len(written) else 0
    return tuple(
        Share(
            seat=seat,
            characters=count,
            share_ppm=MILLION * (count or 0) // total if total else None,
        )
        for seat, count in written.items()
    )


class Dominant(NamedTuple):
    """A seat that wrote far more than the others: so many characters of so many in all."""

    seat: str
    characters: int
    total: int


def dominant(found: Folded) -> Dominant | None:
    """Return who wrote more than DOMINANT times what the others did on average; else None.

    Only seats with one task are compared: where there are several proposers, these alone, since
    critic and rebuttal speak once for each.
    """
    proposers = [seat["id"] for seat in found.state.of_role("proposer")]
    rows = [row for row in shares(found) if len(proposers) < 2 or row.seat in proposers]
    written = {row.seat: row.characters for row in rows if row.characters is not None}
    if len(written) < len(rows):
        return None  # a text is gone
    heard = {seat: count for seat, count in written.items() if count}
    total = sum(heard.values())
    for seat, count in heard.items():
        others = len(heard) - 1
        if others and count * others > DOMINANT * (total - count):
            return Dominant(seat, count, total)
    return None


def groups(found: Folded) -> Iterator[list[tuple[Turn, int]]]:
    """Yield the debaters' turns in groups that see the same votes, since they speak at once.

    That is so in the first phase of every format in which they vote, and in drafts.
    """
    rows = list(found.turns("debater"))
    first = _phase(rows[0]) if rows else None
    for phase, group in groupby(rows, key=_phase):
        if phase in (first, (phase[0], "draft")):
            yield list(group)
        else:
            yield from ([row] for row in group)


def _phase(row: tuple[Turn, int]) -> tuple[int, str]:
    return row[0].data["round"], row[0].data["phase"]


def votes(found: Folded) -> Iterator[Drift]:
    """Yield each change of a vote, also to or from none, and who held the new one by then."""
    held: dict[str, str | None] = {}
    for rows in groups(found):
        before = dict(held)
        for turn, _ in rows:
            seat = turn.data["speaker"]
            if seat in before and before[seat] != turn.vote:
                yield Drift(
                    what="vote",
                    speaker=seat,
                    round_index=turn.data["round"],
                    phase=turn.data["phase"],
                    before=before[seat],
                    after=turn.vote,
                    towards=tuple(
                        other for other, vote in before.items() if turn.vote and vote == turn.vote
                    ),
                    before_ppm=None,
                    after_ppm=None,
                )
            held[seat] = turn.vote


def answers(drafts: list[dict[str, str | None]]) -> Iterator[Drift]:
    """Yield each change of a panel's answer, and the earlier one it has come closest to.

    `drafts` are the answers of each round by debater, None where they are gone.
    """
    last: dict[str, str | None] = {}
    for round_, row in enumerate(drafts):
        yield from _moved(round_, last, row)
        last |= row


def _moved(
    round_: int, before: Mapping[str, str | None], row: Mapping[str, str | None]
) -> Iterator[Drift]:
    """Yield each change, with the other answer it has gained most likeness to, if to any."""
    changed = {
        seat: (old, new)
        for seat, new in row.items()
        if (old := before.get(seat)) is not None
        and new is not None
        and similarity.fold(old) != similarity.fold(new)
    }
    pairs = {
        (seat, other): ((old, text), (new, text))
        for seat, (old, new) in changed.items()
        for other, text in before.items()
        if other != seat and text is not None
    }
    places: dict[str, int] = {}
    wanted = [
        (places.setdefault(one, len(places)), places.setdefault(other, len(places)))
        for both in pairs.values()
        for one, other in both
    ]
    found = iter(similarity.likeness(list(places), wanted))
    likeness = dict(zip(pairs, zip(found, found, strict=True), strict=True))
    for seat in changed:
        rows = {other: likeness[seat, other] for other in before if (seat, other) in likeness}
        nearer = {other: pair for other, pair in rows.items() if pair[1] > pair[0]}
        closest = max(nearer, key=lambda other: nearer[other][1] - nearer[other][0], default=None)
        yield Drift(
            what="answer",
            speaker=seat,
            round_index=round_,
            phase="draft",
            before=None,
            after=None,
            towards=(closest,) if closest else (),
            before_ppm=nearer[closest][0] if closest else None,
            after_ppm=nearer[closest][1] if closest else None,
        )


def theses(found: Folded) -> Iterator[Drift]:
    """Yield each change of a thesis from one round to the next, position by position."""
    last: dict[tuple[str, str], str] = {}
    for turn, _ in found.turns("proposer", "critic", "rebuttal"):
        place, new = (
            (turn.data["speaker"], turn.data["phase"]),
            words_of(found.value(turn), "thesis"),
        )
        if new is None:
            continue
        old = last.get(place)
        if old is not None and old != new:
            yield Drift(
                what="thesis",
                speaker=place[0],
                round_index=turn.data["round"],
                phase=place[1],
                before=old,
                after=new,
                towards=(),
                before_ppm=None,
                after_ppm=None,
            )
        last[place] = new
