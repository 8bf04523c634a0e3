"""The campaigns: every field of every entry altered in every way, and every write a death.

A trial of `mutations` is one entry of one record, all of its fields altered in one way; one
of `deaths` is a debate killed at one write, resumed, and killed again at another, or a number of
debates killed at any moment from their start to the close of their store; one of `faults` is a
few debates, each with seeded faults of the store (`faults.py`). `tools/campaign` runs all trials
or a sample, and so do the slow tests. `worked` is one campaign: workers that are killed.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import altering
import hansard
import servers
from crash.child import PLAYED, replies_for, tools_for
from crash.test_kill import (
    SIGKILLED,
    STORED,
    assert_nothing_twice,
    child,
    ending,
    noted,
)
from crash.test_workers import Outlived, Team, outlive
from exporting import EXPORT, STRANGER, both, exported, first, tool
from faults import FILES, SERVERS
from hansard.record import bundle as bundles
from hansard.record.bundle import Bundle
from hansard.runtime import session
from hansard.store.application import Store
from hansard.verify.verifier import verify
from page.harness import ask
from support import EVENTFUL
from tamper.test_export import derived_changes, forged, refuse_derived
from tamper.test_fields import RECORDS, altered, observe, stands, table, unlisted


class Trial(NamedTuple):
    """One trial: `check` returns how many alterations or deaths it tried, or raises."""

    way: str
    name: str
    check: Callable[[], int]


def sample(trials: Sequence[Trial], count: int | None, seed: int) -> Sequence[Trial]:
    """Return some trials that the seed chooses, or all, in the same order every time."""
    if count is None or count >= len(trials):
        return trials
    return random.Random(seed).sample(trials, count)


# Alterations


def _as_it_stands(bundle: Bundle, seq: int) -> int:
    """The altered entry is the first that is named."""
    return stands(bundle, [seq], most=99)


def _chained_anew(bundle: Bundle, seq: int) -> int:
    """Each alteration shows where the table of tests/tamper says, or is listed as blind."""
    expected = table()
    for field, outcomes in observe(bundle, [seq]).items():
        assert outcomes <= expected.get(field, unlisted(field)), (field, outcomes)
    return len([*altering.changes(bundle, seq)])


def _by_a_stranger(bundle: Bundle, seq: int) -> int:
    """Chained anew and signed by a stranger: altered, or a signer that nobody knows."""
    changes = [*altering.changes(bundle, seq)]
    for change in changes:
        assert both(forged(bundle, seq, change.event, STRANGER)).level in (0, None), change.name
    return len(changes)


def _under_the_manifest(bundle: Bundle, seq: int) -> int:
    """Under the house's own manifest the file is named."""
    files, changes = exported(bundle), [*altering.changes(bundle, seq)]
    for change in changes:
        lines = altering.as_it_stands(bundle, seq, change.event).lines
        events = b"".join(line + b"\n" for line in lines)
        assert first(both(files | {"events.jsonl": events})) == ("2.hash", 0), change.name
    return len(changes)


def _by_the_house(bundle: Bundle, seq: int) -> int:
    """What the rules derive is found out even where the house itself signs."""
    chosen = [row for row in derived_changes(bundle) if row[0] == seq]
    refuse_derived(bundle, chosen)
    return len(chosen)


def _in_the_page(node: str, bundle: Bundle, seq: int) -> int:
    """The page's scripts say, word for word, what the second verifier says."""
    exports = [
        exported(altering.chained_anew(bundle, seq, change.event), EXPORT)
        for change in altering.changes(bundle, seq)
    ]
    with TemporaryDirectory() as folder:
        paths = [Path(folder, f"{number}.zip") for number in range(len(exports))]
        for path, files in zip(paths, exports, strict=True):
            path.write_bytes(bundles.pack(files))
        said = ask(node, [{"export": str(path), "trust": None} for path in paths])
    for files, answer in zip(exports, said, strict=True):
        expected = tool.verify(files, [])
        expected["checks"] = expected["checks"][1:]  # a page sees no container
        assert {key: answer.get(key) for key in expected} == expected
    return len(exports)


def mutations(records: Mapping[str, Bundle], node: str) -> list[Trial]:
    """Return every entry of every record in every way; those with exports need whole debates."""
    as_it_is = {"as it stands": _as_it_stands}
    anew = {"chained anew": _chained_anew}
    signed = {
        "signed by a stranger": _by_a_stranger,
        "under the house's manifest": _under_the_manifest,
        "derived, signed by the house": _by_the_house,
        "in the page": partial(_in_the_page, node),
    }
    described = {name: {row["seq"] for row in altered(records[name])} for name in RECORDS}
    return [
        Trial(way, f"{name}, entry {seq}", partial(check, bundle, seq))
        for name, bundle in records.items()
        if name != "other"  # it is of the same kind as another one
        for seq in range(1, len(bundle.lines) + 1)
        for way, check in {
            **as_it_is,
            **(anew if seq in described.get(name, ()) else {}),
            **(signed if name in EVENTFUL else {}),
        }.items()
    ]


def assert_table_is_exact(records: Mapping[str, Bundle]) -> None:
    """A field that stands in the table of tests/tamper and does not belong there fails as well."""
    seen = defaultdict(set)
    for name in RECORDS:
        bundle = records[name]
        for field, outcomes in observe(bundle, [row["seq"] for row in altered(bundle)]).items():
            seen[field] |= outcomes
    rows = table()
    assert {
        field: seen[field] for field in seen if field in rows or seen[field] != unlisted(field)
    } == rows


# Deaths


def _resumed(folder: Path, format_: str) -> list[str]:
    """Go on with the debate in a folder to its end; return the calls that are made."""
    asked: list[str] = []

    def model(request):
        asked.append(request.call)
        return replies_for(format_)(request)

    with Store.open(f"sqlite:///{folder}/h.db") as store:
        given = {"models": {"bot": model}, "tools": tools_for(format_, folder)}
        asyncio.run(session.resume(store.debates()[0], store, **given))
    return asked


def _is_open(folder: Path) -> bool:
    with Store.open(f"sqlite:///{folder}/h.db", create=True) as store:
        debates = store.debates()
        return bool(debates) and verify(store.bundle(debates[0])).open


def _killed(format_: str, point: str, again: str) -> int:
    """Killed, killed again while it goes on, and resumed, a debate ends as if undisturbed."""
    with TemporaryDirectory() as home:
        found = child(Path(home), "none", point, format_=format_)
        assert found == {"none": 0, point: SIGKILLED}
        with Store.open(f"sqlite:///{home}/none/h.db") as store:
            usual = ending(store)
        folder, deaths = Path(home, point), 1
        if _is_open(folder):
            deaths += child(folder, f"again-{again}", format_=format_) != {f"again-{again}": 0}
        asked = _resumed(folder, format_) if _is_open(folder) else []
        with Store.open(f"sqlite:///{folder}/h.db", create=True) as store:
            if not store.debates():
                assert (point, noted(folder)) == ("before-1", [])
                return deaths
            assert verify(store.bundle(store.debates()[0])).findings == []
            assert ending(store) == usual
            assert_nothing_twice(store, noted(folder) + asked, folder)
    return deaths


MOMENTS = 1_300  # at which debates are killed, over all formats: one in five has just ended
_AT_ONCE = 10  # by one trial


@cache
def _undisturbed(format_: str) -> tuple[float, list[Any]]:
    """Return how long a debate of a format takes here, from start to close, and its ending."""
    with TemporaryDirectory() as home:
        assert child(Path(home), "none", format_=format_) == {"none": 0}  # the first is slower
        folder = Path(home, "none")
        with Store.open(f"sqlite:///{folder}/h.db") as store:
            usual = ending(store)
        return float((folder / "took").read_text()), usual


def _at_any_moment(format_: str, parts: Sequence[float]) -> int:
    """Killed whenever it is, a debate leaves a store that opens, and ends as if undisturbed."""
    seconds, usual = _undisturbed(format_)
    points = [f"at-{seconds * part:.6f}" for part in parts]
    with TemporaryDirectory() as home:
        found = child(Path(home), *points, format_=format_)
        assert set(found.values()) <= {0, SIGKILLED}
        for point in points:
            folder = Path(home, point)
            folder.mkdir(exist_ok=True)
            with Store.open(f"sqlite:///{folder}/h.db", create=True) as store:
                if not store.debates():
                    assert noted(folder) == [], "a model was asked off the record"
                    continue
                before = store.lines(store.debates()[0])
                assert verify(store.bundle(store.debates()[0])).findings == []
            asked = _resumed(folder, format_) if _is_open(folder) else []
            with Store.open(f"sqlite:///{folder}/h.db") as store:
                assert store.lines(store.debates()[0])[: len(before)] == before
                assert verify(store.bundle(store.debates()[0])).findings == []
                assert ending(store) == usual
                assert_nothing_twice(store, noted(folder) + asked, folder)
    return list(found.values()).count(SIGKILLED)


def moments() -> list[Trial]:
    """Return kills at moments spread over a whole debate of each format, more of them early on."""
    many = MOMENTS // len(PLAYED)
    parts = [1.1 * (number / many) ** 2 for number in range(many)]
    return [
        Trial(
            "at any moment",
            f"{format_}, {start + 1} of {many // _AT_ONCE}",
            partial(_at_any_moment, format_, parts[start :: many // _AT_ONCE]),
        )
        for format_ in PLAYED
        for start in range(many // _AT_ONCE)
    ]


def deaths() -> list[Trial]:
    """Return all deaths: at any moment, and at every pair of writes."""
    return moments() + writes()


def writes() -> list[Trial]:
    """Return every pair of writes of a debate of every other format than the first."""
    return [
        Trial(format_, f"{point}, then {again}", partial(_killed, format_, point, again))
        for format_, many in STORED.items()
        for point, again in product(list(_writes(many)), list(_writes(many)))
    ]


def _writes(many: int) -> Iterator[str]:
    for number in range(1, many + 1):
        yield from (f"before-{number}", f"after-{number}")


# Faults


def _befallen(numbers: Sequence[int]) -> int:
    """Whatever befalls it, a debate goes on to its usual end, and loses nothing it recorded."""
    command = [sys.executable, str(Path(__file__).with_name("faults.py")), *map(str, numbers)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"after {done.stdout.split()[::2]}: {done.stderr[-2_000:]}"
    return sum(int(line.split()[1]) for line in done.stdout.splitlines())


def faults() -> list[Trial]:
    """Return seeded faults of the store at every kind of write, of every format and the gate.

    Those of a store on a server are there where a server can be started.
    """
    ranges = {"faults": range(FILES)}
    if servers.programs():
        ranges["faults on a server"] = range(FILES, FILES + SERVERS)
    return [
        Trial(way, f"{start} to {start + _AT_ONCE - 1}", partial(_befallen, numbers))
        for way, every in ranges.items()
        for start in every[::_AT_ONCE]
        for numbers in [range(start, start + _AT_ONCE)]
    ]


# Workers

WORKED = 200  # debates


def worked(number: int, seed: int) -> Outlived:
    """Run debates by eight workers on a server of their own, all of which die again and again."""
    with TemporaryDirectory() as home:
        folder = Path(home)
        folder.chmod(0o755)
        with servers.running(under=folder) as server:
            hansard.migrate_store(url := server.fresh())
            team = Team(url, folder)
            try:
                return outlive(
                    team, number, workers=8, kills=number // 3, seed=seed, restart=server.restart
                )
            finally:
                team.end()
