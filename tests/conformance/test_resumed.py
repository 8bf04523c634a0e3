"""A resumption before the last entry of every sound record: both verifiers say the same of it.

What the last entry was due for may rest on seats that were out, and are in again.
"""

import pytest

from conformance_kit.exports import export
from conformance_kit.misread import RESUMED
from conformance_kit.records import Record
from exporting import both
from hansard.record import bundle as bundles
from kit import ROWS, export_files

pytestmark = pytest.mark.no_cover
SOUND = [name for name, row in ROWS.items() if row.expected.verdict == "INTACT"]


@pytest.mark.parametrize("name", SOUND)
def test_resumed_before_the_last_entry(name):
    bundle = bundles.of_files(export_files(name))
    record = Record(tuple(bundle.lines), bundle.blobs, bundle.templates, bundle.policies)
    both(export(record.insert(len(record.lines), "debate.resumed", RESUMED)))
