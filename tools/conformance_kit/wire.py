"""Check 12: what an entry says of the wire, against its seat's model and against itself."""

from __future__ import annotations

from collections.abc import Iterator

from conformance_kit.case import Case, bad, good, group
from conformance_kit.debates import decided, told, troubled
from conformance_kit.exports import export
from conformance_kit.records import Record


def relabelled(record: Record, model: str) -> Record:
    """Return the same debate, asked of another model by its own word."""
    for seq, event in enumerate(record.events, 1):
        if event["type"] in ("debater.registered", "call.started"):
            record = record.data(seq, model=model)
    return record


@group
def served_cases() -> Iterator[Case]:
    """A provider's model: a reply came with a status, over a wire on which something was sent."""
    base = told()
    body = base.event(10)["data"]["sent"]
    for key, seq, why, record in (
        ("reply-without-status", 10, "A reply came without a status.", base.data(10, status=None)),
        (
            "reply-below-success",
            10,
            "A reply came with 199.",
            base.data(10, status=199),
        ),
        ("reply-beyond-success", 10, "A reply came with 300.", base.data(10, status=300)),
        (
            "reply-not-compared",
            11,
            "It is not said whether the body was sent as rendered.",
            base.data(11, sent_as_rendered=None),
        ),
        ("reply-body-lost", 10, "The other body is not there.", base.data(10, sent=None).pruned()),
        (
            "reply-body-without-need",
            11,
            "A body is there, and the one that was sent is said to be the rendered one.",
            base.data(11, sent=body),
        ),
        (
            "failure-not-compared",
            7,
            "A status came back, and nothing was sent.",
            base.data(7, sent_as_rendered=None),
        ),
        (
            "failure-unreachable",
            7,
            "Nobody could be reached, and a status came back.",
            base.data(7, error="unreachable"),
        ),
        ("failure-body-lost", 6, "The other body is not there.", base.data(6, sent=None).pruned()),
    ):
        yield bad(f"wire-{key}", "12.wire", seq, why, export(record))
    yield bad(
        "wire-relabelled",
        "12.wire",
        6,
        "Replies of a function are relabelled as those of a provider's model.",
        export(relabelled(decided(), "openai:gpt-5")),
    )
    yield good(
        "wire-any-success",
        "A reply came with a status of 299; of one call that failed nothing came back, and the "
        "other could not be reached.",
        export(
            base.data(10, status=299)
            .data(6, status=None, sent_as_rendered=None, sent=None)
            .data(7, status=None, error="unreachable")
            .pruned()
        ),
    )


@group
def latency_cases() -> Iterator[Case]:
    """Check 9: a call takes no longer than the time between its start and its end."""
    base, failing = decided(), troubled()
    failed = failing.seq("call.failed")
    begun = failing.seq("call.started", call=failing.event(failed)["data"]["call"])
    passed = failed - begun  # each entry is a millisecond after the one before
    yield good(
        "latency-of-all-the-time",
        "Two milliseconds passed, and the call took three: one is for rounding.",
        export(base.data(6, latency_ms=3)),
    )
    yield bad(
        "latency-beyond-the-time",
        "9.latency_ms",
        6,
        "Two milliseconds passed, and the call is said to have taken four.",
        export(base.data(6, latency_ms=4)),
    )
    yield bad(
        "latency-beyond-the-time-of-a-failure",
        "9.latency_ms",
        failed,
        "A call that failed is said to have taken longer than the time that passed.",
        export(failing.data(failed, latency_ms=passed + 2)),
    )


@group
def local_cases() -> Iterator[Case]:
    """A local model, such as a function: nothing went over a wire."""
    base, failing = decided(), troubled()
    seq = failing.seq("call.failed")
    for key, place, why, record in (
        ("reply-status", 6, "A function's reply came with a status.", base.data(6, status=200)),
        (
            "reply-compared",
            6,
            "What a function was sent is said to be as rendered.",
            base.data(6, sent_as_rendered=True),
        ),
        (
            "failure-compared",
            seq,
            "What a function was sent is said to be as rendered.",
            failing.data(seq, sent_as_rendered=True),
        ),
        (
            "reply-body",
            6,
            "A function was sent a body.",
            base.data(6, sent=base.event(1)["data"]["review"]),
        ),
    ):
        yield bad(f"wire-local-{key}", "12.wire", place, why, export(record))
    yield good(
        "wire-local-failure-with-status",
        "A function says with which status its own call failed.",
        export(failing.data(seq, status=503)),
    )
