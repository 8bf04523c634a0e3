"""Records that a signer made to be costly: each entry lists as much as it holds."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import islice, product
from string import ascii_letters
from typing import Any

from conformance_kit.debates import policy_of, under, voting
from conformance_kit.exports import export, withholding, zip_of
from conformance_kit.moderated import moderating
from conformance_kit.records import Data, Files, Record, digest, dump


def lengthened(record: Record, change: Callable[[Any], Data | None]) -> Record:
    """The same record, with other data in the entries of which `change` gives some."""
    lines: list[bytes] = []
    for line in record.lines:
        event = json.loads(line)
        prev = digest(lines[-1]) if lines else event["prev"]
        lines.append(dump({**event, "data": change(event) or event["data"], "prev": prev}))
    return replace(record, lines=tuple(lines))


def instructed(seats: int = 99) -> Record:
    """A debate of so many seats under a policy, each with instructions that fill its entry."""
    ids = [f"s{number}" for number in range(1, seats + 1)]
    record = under(voting("instructed", dict.fromkeys(ids, "a")), policy_of(["* callable any"]))
    rows = [{"round": number, "text": None} for number in range(1_000_000, 1_034_000)]

    def change(event: Any) -> Data | None:
        registered = event["type"] == "debater.registered"
        return {**event["data"], "instructions": rows} if registered else None

    return lengthened(record.until(seats + 1), change)


def counted_wrong() -> Record:
    """A debate whose votes were counted often, each time in an entry that says far too much."""
    record = voting("counted", {"ann": "a", "ben": "b"}, max_rounds=62)
    tally = [{"option": "a", "votes": 1}] * 7_000

    def change(event: Any) -> Data | None:
        return {**event["data"], "tally": tally} if event["type"] == "votes.counted" else None

    return lengthened(record, change)


def counting_names(entries: int) -> Files:
    """An export whose votes were counted so often, each time over other short names."""
    record = voting("counting-names", {"ann": "a", "ben": "b"}, max_rounds=entries // 4)
    names = map("".join, product(ascii_letters, repeat=4))

    def change(event: Any) -> Data | None:
        if event["type"] != "votes.counted":
            return None
        rows = [{"option": name, "votes": 1} for name in islice(names, 36_500)]
        return {**event["data"], "tally": rows}

    return export(lengthened(record, change))


UNANSWERED = {"unanswered": [*range(1_000_000, 1_115_000)]}
CITED = {
    "citations": [
        {"argument": 1_000_000 + number, "citation": 1_000_000 + number, "finding": "verified"}
        for number in range(15_000)
    ]
}


def says_of_its_turns(more: Data, positions: int = 38) -> bytes:
    """An export without its replies, each of whose turns says that much more of its case."""
    advocates = [
        {"id": f"p{n}", "label": f"l{n}", "stance": f"Stance {n}."} for n in range(positions)
    ]
    record = moderating("unanswered", max_rounds=1, positions=advocates)

    def change(event: Any) -> Data | None:
        case = event["data"].get("case")
        return {**event["data"], "case": {**case, **more}} if case else None

    replies = {
        event["data"]["reply"]["sha256"]
        for event in record.events
        if event["type"] == "call.answered"
    }
    names = (f"blobs/{name}" for name in replies)
    return zip_of(withholding(lengthened(record, change), *names))


def ranking_names(entries: int) -> Files:
    """An export whose verdict is recorded so often again, each time over other short names."""
    record = moderating("ranked", max_rounds=1)
    names = map("".join, product(ascii_letters, repeat=4))
    verdict = record.event(record.seq("verdict.recorded"))
    events = record.events[: verdict["seq"]]
    for _ in range(entries):
        ranking = list(islice(names, 148_000))
        events.append({**verdict, "data": {**verdict["data"], "ranking": ranking}})
    return export(record.numbered(events))
