"""The limits that are too large for the kit (FORMAT.md §10.2), and the memory that they take."""

import json
from pathlib import Path

import pytest

from conformance_kit.debates import decided
from conformance_kit.exports import ABOUT, export, files_of, seal, zip_of
from conformance_kit.limits import MIB, cut_short, documented, started
from hansard.record.bundle import MAX_EXPORT
from kit import STORED
from measuring import peak

ROOT = Path(__file__).resolve().parents[2]
VERIFIERS = {"package": ["-m", "hansard", "verify"], "verify.py": [str(ROOT / "tools/verify.py")]}


def sized(size):
    """An export of exactly so many bytes: VERIFY.md is what it lacks."""
    files = files_of(decided())
    lacking = size - len(zip_of(seal(files))) + len(ABOUT)
    return zip_of(seal(files | {"VERIFY.md": bytes(lacking)}))


CASES = {
    "an export of 2^27 bytes": (lambda: sized(MAX_EXPORT), None, 0),
    "an export of one byte more": (lambda: sized(MAX_EXPORT + 1), "1.size", 1),
    "documents of 20 MiB": (lambda: zip_of(export(documented(*[2 * MIB] * 10))), None, 0),
    "documents of one byte more": (
        lambda: zip_of(export(documented(*[2 * MIB] * 10, 1))), "8.size", 1,
    ),
    "a debate cut short at 99,000 entries": (lambda: zip_of(export(cut_short(99_000))), None, 0),
    "a debate cut short at 98,999 entries": (
        lambda: zip_of(export(cut_short(98_999))), "9.not_due", 1,
    ),
    "a call begun as entry 99,000": (lambda: zip_of(export(started(98_999))), None, 0),
    "a call begun as entry 99,001": (lambda: zip_of(export(started(99_000))), "15.ceiling", 1),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("what", CASES)
def test_at_the_bound_and_past_it(what, tmp_path, capsys):
    make, code, status = CASES[what]
    path = tmp_path / "record.zip"
    path.write_bytes(make())
    for name, command in VERIFIERS.items():
        trust = str(STORED / "trust.json")
        ended, out, took = peak(tmp_path, *command, str(path), "--trust", trust, "--json")
        codes = [row["code"] for row in json.loads(out)["findings"]]
        assert (codes, ended) == ([code] if code else [], status), name
        assert took <= 512 * MIB, name
        with capsys.disabled():
            print(f"\n{what}: {name} took {took // MIB} MiB")
