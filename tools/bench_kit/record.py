"""Figures 1 to 5: what the record costs."""

from __future__ import annotations

import asyncio
import runpy
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import cast
from uuid import uuid4

import orjson

from bench_kit.debates import (
    CALLS_A_ROUND,
    MEMORY,
    Instant,
    Reader,
    records_of,
    run_debates,
    spec_of,
)
from bench_kit.floor import Commit, Files, commits_of
from bench_kit.measure import Figure, Pairs, Size, expect, seconds
from hansard.export.write import export, standalone_verifier
from hansard.page.read import verify_export
from hansard.record import keys
from hansard.record.bundle import Bundle, Head
from hansard.record.keys import Trust, TrustedKey
from hansard.record.line import line_hash
from hansard.record.note import Signer
from hansard.rules.events import Event, blob_names
from hansard.store.application import Batch, Store
from hansard.store.database import Extras
from hansard.verify.checks import check_chain
from hansard.verify.reading import Reading
from hansard.verify.verifier import verify


def append_all(
    write: Callable[[str, Commit], None], keys: Sequence[str], commits: Sequence[Commit]
) -> None:
    """Write the commits of a debate under each of `keys`."""
    for key in keys:
        for commit in commits:
            write(key, commit)


def figure_append(size: Size, files: Files) -> Iterator[Figure]:
    """Figure 1: one event a commit, and a whole debate of 86."""
    record = records_of(2)[0]
    singles = one_by_one(record)
    lines = [commit.lines[0] for commit in singles]
    whole = [Commit(1, lines, Extras(singles[-1].extras.head, list(record.blobs.items())))]
    for name, commits, debates, target in (
        ("1 event a commit", singles, size.appends, 0.5),
        (f"{len(lines)} events a commit", whole, 10 * size.appends, 0.28),
    ):
        bare = [Commit(first, rows, Extras(extras.head)) for first, rows, extras in commits]
        with_blobs, without = Pairs(), Pairs()
        with closing(files.floor()) as floor, files.store() as store:

            def append(key: str, commit: Commit, store: Store = store) -> None:
                store.append(Batch(key, *commit))

            for _ in range(size.repeats):
                for pairs, reference, given in (
                    (with_blobs, floor.rows, commits),
                    (without, floor.lines, bare),
                ):
                    ids = [uuid4() for _ in range(debates)]
                    per, clock = debates * len(lines), time.perf_counter
                    pairs.add(
                        seconds(clock, append_all, reference, [i.hex for i in ids], given) / per,
                        seconds(clock, append_all, append, [str(i) for i in ids], given) / per,
                    )
        yield with_blobs.rate(1, f"{name}: line, blobs, head beside the same", target)
        yield without.rate(1, f"{name}: line, head beside line alone", target)


def one_by_one(record: Bundle) -> list[Commit]:
    """Return a commit for each line of a record, with the blobs that it is the first to name."""
    left = dict(record.blobs)
    commits = []
    for seq, (line, event) in enumerate(zip(record.lines, parsed(record), strict=True), 1):
        names = [name for name in blob_names(event) if name in left]
        extras = Extras(Head(seq, line_hash(line)), [(name, left.pop(name)) for name in names])
        commits.append(Commit(seq, [(event["type"], line)], extras))
    return commits


def figure_call(size: Size, files: Files) -> Iterator[Figure]:
    """Figure 2: beside the floor, and a long debate beside a short one."""
    shapes, short = size.rounds, size.rounds[0]
    commits = {rounds: commits_of(rounds) for rounds in shapes}
    calls = {rounds: Pairs() for rounds in shapes}
    listing: dict[int, list[float]] = {rounds: [] for rounds in shapes}
    joining: dict[int, list[float]] = {rounds: [] for rounds in shapes}
    for _ in range(size.repeats):
        for rounds in shapes:
            debates = -(-size.calls // (CALLS_A_ROUND * rounds))
            per = CALLS_A_ROUND * rounds * debates
            keys = [uuid4().hex for _ in range(debates)]
            with closing(files.floor()) as bare:
                floor = seconds(time.process_time, append_all, bare.rows, keys, commits[rounds])
            with files.store() as store:
                ours = cpu_of_debates(store, rounds, debates, Instant())
            calls[rounds].add(floor / per, ours / per)
            reader = Reader()
            with Store.open(MEMORY) as store:
                cpu_of_debates(store, rounds, debates, reader)
            listing[rounds].append(reader.listing / per)
            joining[rounds].append(reader.joining / per)
    for rounds in shapes:
        yield calls[rounds].cost(2, f"3x{rounds}: prompt unread, beside sqlite3", 5)
    for rounds in shapes[1:]:
        growth = Pairs(calls[short].ours, calls[rounds].ours)
        yield growth.cost(2, f"3x{rounds} beside 3x{short}: prompt unread", 1.1)
    for rounds in shapes[1:]:
        both = (
            [a + b for a, b in zip(calls[at].ours, listing[at], strict=True)]
            for at in (short, rounds)
        )
        yield Pairs(*both).cost(2, f"3x{rounds} beside 3x{short}: messages listed, not joined", 1.1)
    for name, times in (("listing its messages", listing), ("joining their text", joining)):
        for rounds in shapes:
            yield Figure(2, f"3x{rounds}: {name}", "us/call", 1e6 * median(times[rounds]))


def cpu_of_debates(store: Store, rounds: int, times: int, model: Instant) -> float:
    """Return the CPU seconds of running debates, the event loop's own start aside."""

    async def measured() -> float:
        begin = time.process_time()
        await run_debates(store, spec_of(rounds), times, model)
        return time.process_time() - begin

    return asyncio.run(measured())


def figure_size(size: Size) -> Iterator[Figure]:
    """Figure 3: bytes a turn, with the LF of each line."""
    whole, turns = {}, {}
    for rounds in size.rounds:
        (record,) = records_of(rounds)
        count_of_turns = CALLS_A_ROUND * rounds
        whole[rounds] = (sum(map(len, files_of(record))) + len(record.lines)) / count_of_turns
        turns[rounds] = sum(map(len, files_of_turns(record))) / count_of_turns
    short = size.rounds[0]
    for name, sizes in (("whole records", whole), ("opening, seats, decision, close aside", turns)):
        for rounds in size.rounds[1:]:
            ours, floor = sizes[rounds], sizes[short]
            text, ratio = f"3x{rounds} beside 3x{short}: {name}", ours / floor
            yield Figure(3, text, "bytes/turn", ours, floor, ratio, at_least=0.95, at_most=1.05)


def files_of_turns(record: Bundle) -> Iterator[bytes]:
    """Yield the lines, with LF, that calls, turns and counts left, and the blobs they name."""
    for line, event in zip(record.lines, parsed(record), strict=True):
        if event["type"].startswith(("call.", "turn.", "votes.")):
            yield line + b"\n"
            yield from (record.blobs[name] for name in blob_names(event))


def files_of(record: Bundle) -> list[bytes]:
    """Return the lines and the blob files of a record."""
    return [*record.lines, *record.blobs.values()]


def parsed(record: Bundle) -> list[Event]:
    """Return the lines as JSON, unchecked."""
    return [cast(Event, orjson.loads(line)) for line in record.lines]


def hash_all(lines: Sequence[bytes], blobs: Sequence[bytes] = ()) -> None:
    """Hash everything."""
    for data in (*lines, *blobs):
        sha256(data).hexdigest()


def read_all(lines: Sequence[bytes], blobs: Sequence[bytes] = ()) -> None:
    """Hash everything, and parse the lines: nothing that reads them does less."""
    hash_all(lines, blobs)
    for line in lines:
        orjson.loads(line)


def figure_verify(size: Size) -> Iterator[Figure]:
    """Figure 4: every check beside the least that reads the same, and the chain alone."""
    records = records_of(2, size.records)
    lines = [line for record in records for line in record.lines]
    blobs = [blob for record in records for blob in record.blobs.values()]

    def verify_all() -> None:
        for record in records:
            expect(verify(record).ok, "what was just written verifies")

    def link_all() -> None:
        for record in records:
            reading = Reading(record)
            for event in parsed(record):
                reading.events.take(event)
            expect(not [*check_chain(reading)], "what was just written is linked")

    full, read, links, links_to_lines = Pairs(), Pairs(), Pairs(), Pairs()
    for _ in range(size.repeats):
        for pairs, least, data, work in (
            (full, hash_all, (lines, blobs), verify_all),
            (read, read_all, (lines, blobs), verify_all),
            (links, hash_all, (lines, blobs), link_all),
            (links_to_lines, hash_all, (lines,), link_all),
        ):
            floor = seconds(time.process_time, least, *data)
            pairs.add(floor / len(lines), seconds(time.process_time, work) / len(lines))
    name = f"{len(records)} debates of {len(lines) // len(records)}"
    yield full.rate(4, f"{name}: verify beside SHA-256 of lines, blobs", 0.1)
    yield read.rate(4, f"{name}: verify beside orjson.loads of lines and that", 0.2)
    yield links.rate(4, f"{name}: chain alone beside SHA-256 of lines, blobs", 0.3)
    yield links_to_lines.rate(4, f"{name}: chain alone beside SHA-256 of lines", None)


def figure_export(size: Size, folder: Path) -> Iterator[Figure]:
    """Figure 5: the same records as signed zips, by the package and by the standalone verifier."""
    signer = Signer("bench/export", keys.generate())
    trust = Trust(keys=[TrustedKey(role="export", key=str(signer.key))])
    trusted = folder / "trust.json"
    trusted.write_bytes(trust.dump())
    records = records_of(2, size.records)
    paths = [folder / f"{number}.zip" for number in range(len(records))]
    for path, record in zip(paths, records, strict=True):
        path.write_bytes(export(record, signer))
    alone = runpy.run_path(str(standalone_verifier()))

    def hash_files(some: Sequence[Bundle]) -> None:
        for record in some:
            hash_all(files_of(record))

    def by_package(some: Sequence[Path]) -> None:
        for path in some:
            expect(verify_export(path.read_bytes(), trust).level == 1, "the export is intact")

    def by_standalone(some: Sequence[Path]) -> None:
        for path in some:
            options = alone["arguments"]([str(path), "--trust", str(trusted)])
            expect(alone["run"](options)["level"] == 1, "the export is intact")

    few = max(1, size.records // 50)  # it verifies Ed25519 in plain Python
    readings = ((by_package, len(paths), 0.05), (by_standalone, few, None))
    for work, many, target in readings:
        pairs = Pairs()
        lines = sum(len(record.lines) for record in records[:many])
        for _ in range(size.repeats):
            floor = seconds(time.process_time, hash_files, records[:many])
            pairs.add(floor / lines, seconds(time.process_time, work, paths[:many]) / lines)
        who = "package" if work is by_package else "tools/verify.py"
        yield pairs.rate(5, f"{many} zips: {who} beside SHA-256 of lines, blobs", target)
