"""Check 18, and what check 10 says of texts: what the policy demands (FORMAT.md §15)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from hansard import vocabulary
from hansard.record.policy import Policy
from hansard.rules import demands
from hansard.rules.data import AFTER, OpenedData, RegisteredData
from hansard.rules.demands import MOST_NAMED, Breach
from hansard.rules.fields import Blob
from hansard.verify.findings import POLICY, Finding, finding
from hansard.verify.reading import Reading


def check_policy(reading: Reading) -> Iterator[Finding]:
    """Compare opening, seats and served models with a policy that can be read.

    Where an entry was rejected nothing is compared.
    """
    opened, policy = reading.opened, reading.policy
    if opened is None or opened["policy"] is None:
        return
    reading.more.add(POLICY)
    if policy is None or not reading.whole:
        reading.aside[POLICY] = ("unchecked", vocabulary.words("unchecked")["policy"])
        return
    gone = set[str]()
    for seq, breach in _breaches(reading, policy, opened):
        if breach.gone:
            gone.add(breach.term)
        else:
            expected = list(breach.expected[:MOST_NAMED])
            yield finding(breach.code, seq, expected=expected, found=breach.found)
    reading.say(POLICY, lines=vocabulary.many(len(policy.lines), "line"))
    if gone:
        words = vocabulary.fill(
            vocabulary.words("unchecked")["texts"], terms=", ".join(sorted(gone))
        )
        reading.aside[10] = ("unchecked", words)


def _breaches(reading: Reading, policy: Policy, opened: OpenedData) -> Iterator[tuple[int, Breach]]:
    """Yield each demand that is not met, and at which entry."""
    hash_of = cache(reading.texts.hash)
    seats, places = list[RegisteredData](), list[int]()
    by_id: dict[str, RegisteredData] = {}
    yield from ((1, breach) for breach in demands.of_opening(policy, opened))
    for seq, event in enumerate(reading.events, 1):
        if event["type"] == "debater.registered":
            found = demands.of_seat(policy, opened, event["data"], hash_of)
            yield from ((seq, breach) for breach in found)
            seat: RegisteredData = {**event["data"], "instructions": None}  # there may be many
            seats.append(seat)
            places.append(seq)
            by_id[seat["id"]] = seat
        elif event["type"] == "call.answered":
            answer = event["data"]
            asked = by_id.get(answer["call"].rpartition(":")[0].split(".", 2)[-1])
            if asked:
                served = _served(reading, policy, opened, asked, answer["model"])
                yield from ((seq, breach) for breach in served)
        elif event["type"] in AFTER:
            found = demands.of_signature(policy, opened, event)
            yield from ((seq, breach) for breach in found)
    for place, breach in demands.independence(policy, opened, seats):
        yield places[place], breach


def _served(
    reading: Reading,
    policy: Policy,
    opened: OpenedData,
    seat: RegisteredData,
    model: str | Blob | None,
) -> Iterator[Breach]:
    """Yield a model that the policy does not admit; its name may be a text, and gone."""
    named = reading.texts.name(model["sha256"]) if isinstance(model, dict) else model
    for breach in demands.of_answer(policy, opened, seat, named):
        yield breach._replace(gone=named is None and model is not None)
