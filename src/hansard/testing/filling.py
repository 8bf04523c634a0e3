"""Entries that are chained by nothing, for the tests of a store."""

from __future__ import annotations

import hashlib

from hansard.record import blob
from hansard.record.bundle import Bundle, Head
from hansard.record.line import line_hash
from hansard.store.application import Batch, Store
from hansard.store.database import Extras

ONE = "5c1d3e0a-1111-4111-8111-111111111111"
TWO = "5c1d3e0a-2222-4222-8222-222222222222"
THREE = "aa1d3e0a-3333-4333-8333-333333333333"
OPENED = ("debate.opened", b'{"data":{"policy":null}}')


def put(store: Store, *lines: tuple[str, bytes], debate: str = ONE, first: int = 1) -> None:
    """Store entries in one batch."""
    head = Head(first + len(lines) - 1, line_hash(lines[-1][1]))
    store.append(Batch(debate, first, lines, Extras(head)))


def fill(store: Store, debate: str = ONE, text: str = "a text") -> Bundle:
    """Store three entries with a text, a template and a folder; return all of it."""
    lines = [OPENED, ("call.started", b"{}"), ("debate.closed", f'{{"of":"{debate}"}}'.encode())]
    file = blob.pack(text, hashlib.sha256(debate.encode()).digest())
    template = (hashlib.sha256(b"a template").hexdigest(), b"a template")
    extras = Extras(Head(3, line_hash(lines[-1][1])), [file], [template], "/somewhere")
    store.append(Batch(debate, 1, lines, extras))
    return store.bundle(debate)
