"""Failed calls: how long a turn is tried again, and what is waited for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from conformance_kit.case import Case, bad, good, group
from conformance_kit.debates import voting
from conformance_kit.exports import export
from conformance_kit.records import DIES, Record, Script, fails
from hansard.runtime.models.base import Completion

VOTES = {"ann": "a", "ben": "a"}
LAST = "The failure, with its wait, came within the time to retry in, and is said to be the last."
LATE = "The failure, with its wait, is beyond the time to retry in, and is to be tried again."


@cache
def retried() -> Record:
    """Fourteen entries: 4 ann started, 6 she failed, 8 started again; she failed after 2 ms."""
    return voting("retry", VOTES, {"r1.proposal.ann:1": fails("timeout")})


@cache
def given_up() -> Record:
    """Twelve entries: 4 ann started, 6 she failed after 2 ms, 8 she forfeits."""
    script: Script = {"r1.proposal.ann:1": fails("client_error")}
    return voting("given-up", VOTES, script, rule="threshold", threshold=1)


@cache
def failed_twice() -> Record:
    """Sixteen entries: 4 started, 6 failed, 8 started, 9 failed after 5 ms, 10 started."""
    script: Script = {f"r1.proposal.ann:{number}": fails("server_error") for number in (1, 2)}
    return voting("failed-twice", VOTES, script, attempts=9)


@cache
def begun_anew() -> Record:
    """Nineteen entries.

    4 ann started, 6 she failed, 8 started, 9 resumed, 10 abandoned, 11 started, 12 she failed
    after 1 ms (8 ms after the very first call), 13 started, 14 answered.
    """
    script: Script = {
        "r1.proposal.ann:1": fails("unreachable"),
        "r1.proposal.ann:2": DIES,
        "r1.proposal.ann:3": fails("rate_limited"),
    }
    return voting("begun-anew", VOTES, script)


@cache
def rejected_late() -> Record:
    """Fifteen entries: 4 ann started, 6 answered, 7 rejected, 9 started again."""
    script: Script = {"r1.proposal.ann:1": Completion("I hold a.")}
    return voting("rejected-late", VOTES, script)


def timed_out(record: Record, wait: int | None) -> Record:
    """Return `given_up` with a failure of a kind that is retried, and its wait."""
    return record.data(6, error="timeout", wait_ms=wait)


def waited(seq: int, record: Record, wait: int | None, most: int) -> Record:
    """Return a record in which this wait is due after a failure, and so long is retried."""
    return record.data(seq, wait_ms=wait).data(1, retry_ms=most)


@group
def retry_good_cases() -> Iterator[Case]:
    """Records with failures that must be accepted."""
    for key, record, why in (
        (
            "retry-at-the-limit",
            waited(6, retried(), 1500, 1502),
            "The call failed after 2 ms and 1500 are to be waited: that is all of 1502.",
        ),
        (
            "retry-beyond-the-limit",
            timed_out(given_up().data(1, retry_ms=1501), 1500),
            "The call failed after 2 ms and 1500 are to be waited: that is more than 1501.",
        ),
        (
            "retry-without-a-wait",
            waited(6, retried(), None, 2),
            "Nothing is said of a wait: the 2 ms that have passed are all.",
        ),
        (
            "retry-too-late-without-a-wait",
            timed_out(given_up().data(1, retry_ms=1), None),
            "Nothing is said of a wait; 2 ms have passed, and 1 was to retry in.",
        ),
        (
            "retry-in-whole-milliseconds",
            waited(
                6,
                retried()
                .top(4, at="2026-01-05T09:00:00.004500Z")
                .top(6, at="2026-01-05T09:00:00.006499Z"),
                0,
                1,
            ),
            "1.999 ms have passed, which is one whole millisecond.",
        ),
        (
            "retry-from-the-first-call",
            waited(9, failed_twice(), 10, 15),
            "What passed since the first call of the turn counts, not since the last.",
        ),
        (
            "retry-anew-after-a-resume",
            waited(12, begun_anew(), 4, 5).data(6, wait_ms=3),
            "After another process took over, the time begins anew with the turn's next call.",
        ),
        (
            "retry-though-rejected-late",
            rejected_late().data(1, retry_ms=1),
            "Only failures end with the time to retry in: a reply that does not count does not.",
        ),
    ):
        yield good(key, why, export(record))


@group
def retry_cases() -> Iterator[Case]:
    """Check 9: `again` and `wait_ms` of failed calls."""
    for key, record, seq, why in (
        (
            "at-the-limit-as-the-last",
            waited(6, retried(), 1500, 1502).data(6, again=False),
            6,
            LAST,
        ),
        ("beyond-the-limit-again", waited(6, retried(), 1500, 1501), 6, LATE),
        ("too-late-without-a-wait-again", waited(6, retried(), None, 1), 6, LATE),
        ("too-long-a-wait-alone-again", waited(6, retried(), 10, 9), 6, LATE),
        ("from-the-last-call", waited(9, failed_twice(), 10, 14), 9, LATE),
        (
            "not-anew-after-a-resume",
            waited(12, begun_anew(), 4, 5).data(6, wait_ms=3).data(12, again=False),
            12,
            LAST,
        ),
        (
            "beyond-the-limit-after-a-resume",
            waited(12, begun_anew(), 5, 5).data(6, wait_ms=3),
            12,
            LATE,
        ),
        (
            "rejected-late-as-the-last",
            rejected_late().data(1, retry_ms=1).data(7, again=False),
            7,
            "A reply that does not count is tried again whatever time has passed.",
        ),
    ):
        yield bad(f"retry-{key}", "9.again", seq, why, export(record))
    for error in ("client_error", "no_reply"):
        key = f"retry-wait-after-{error.replace('_', '-')}"
        why = "A call that would only fail alike is not tried again: there is nothing to wait for."
        record = given_up().data(6, error=error, wait_ms=0)
        yield bad(key, "9.wait_ms", 6, why, export(record))
