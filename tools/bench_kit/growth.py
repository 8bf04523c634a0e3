"""Figure 13: whether verifying takes time in proportion to the record."""

from __future__ import annotations

import runpy
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench_kit.debates import records_of
from bench_kit.measure import Figure, Pairs, Size, expect, seconds
from hansard.export.write import export, standalone_verifier
from hansard.page.read import verify_export
from hansard.record import keys
from hansard.record.keys import Trust
from hansard.record.note import Signer
from hansard.rules.fields import Layout

LAYOUTS: tuple[Layout, ...] = ("shared-prefix", "role-first")


def figure_growth(size: Size, folder: Path) -> Iterator[Figure]:
    """Time an entry of a long debate, beside that of one a fraction as long.

    Signatures and imports cost the same for any record; so the shorter one is not the shortest.
    """
    signer = Signer("bench/export", keys.generate())
    alone = runpy.run_path(str(standalone_verifier()))

    def by_package(path: Path) -> None:
        expect(verify_export(path.read_bytes(), Trust(keys=[])).ok, "the export is consistent")

    def by_standalone(path: Path) -> None:
        options = alone["arguments"]([str(path)])
        expect(alone["run"](options)["level"] == 0, "the export is consistent")

    readers: dict[str, Callable[[Path], None]] = {
        "package": by_package,
        "tools/verify.py": by_standalone,
    }
    _, short, long = size.rounds
    for layout in LAYOUTS:
        paths, entries = {}, {}
        for rounds in (short, long):
            (record,) = records_of(rounds, layout=layout)
            paths[rounds] = folder / f"{layout}-{rounds}.zip"
            paths[rounds].write_bytes(export(record, signer))
            entries[rounds] = len(record.lines)
        for who, verify in readers.items():
            pairs = Pairs()
            for _ in range(size.repeats):
                one, other = (
                    seconds(time.process_time, verify, paths[rounds]) / entries[rounds]
                    for rounds in (short, long)
                )
                pairs.add(one, other)
            name = f"{entries[long]:,} entries beside {entries[short]:,}, {layout}: {who}"
            yield pairs.cost(13, name, 1.5, "us/entry")
