"""Figure 14: what the register takes of all appends of a debate, however long it is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from unittest.mock import patch
from uuid import UUID, uuid4

from bench_kit.floor import Files, commits_of
from bench_kit.measure import Figure, Pairs, Size, expect, seconds
from hansard.store import registering
from hansard.store.application import Batch
from hansard.store.registering import Row

ROUNDS = 2


def figure_register(size: Size, files: Files) -> Iterator[Figure]:
    """Time what is registered within the appends of debates, in registers of several lengths."""
    commits, inner = commits_of(ROUNDS), registering.append
    for lines in size.registered:
        spent = 0.0

        def timed(*args: object) -> int:
            nonlocal spent
            begin = time.process_time()
            added = inner(*args)  # type: ignore[arg-type]
            spent += time.process_time() - begin
            return added

        pairs = Pairs()
        with files.store() as store:
            store.register.add(Row("head", str(UUID(int=n)), f"{n:064x}") for n in range(lines))

            def append(debates: int, store: object = store) -> None:
                for _ in range(debates):
                    debate = str(uuid4())
                    for commit in commits:
                        store.append(Batch(debate, *commit))  # type: ignore[attr-defined]

            before = store.register.size
            with patch.object(registering, "append", timed):
                for _ in range(size.repeats):
                    spent = 0.0
                    whole = seconds(time.process_time, append, size.appends)
                    pairs.add(whole / size.appends, spent / size.appends)
            added = store.register.size - before
            expect(added == 2 * size.appends * size.repeats, "each debate has two lines")
        name = f"register of {lines:,} lines within all appends of 3x{ROUNDS}"
        yield pairs.cost(14, name, 0.1, "us/debate")
