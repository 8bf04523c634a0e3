"""Reading a page: the record comes out, and whatever else is changed is seen and never raises."""

import gzip
import os
import tracemalloc
from base64 import b64encode

import pytest

from hansard.page import read as reading
from hansard.page.read import is_page, read
from hansard.page.write import BLOCK, OPENING, page, region, shell
from hansard.record.bundle import pack

FILES = {"events.jsonl": b"{}\n", f"blobs/{'a' * 64}": os.urandom(BLOCK), "SHA256SUMS": b"-"}
RECORD = pack(FILES)
PAGE = page(FILES)
BEFORE, AFTER = shell()
PACKED = gzip.compress(RECORD, mtime=0)


def around(data):
    """This release's page with other data."""
    return BEFORE + data + AFTER


def test_what_was_written_is_read():
    found = read(PAGE)
    assert (found.released, found.record) == (True, RECORD)
    assert found.shows(FILES)
    assert found.shows(FILES | {"report.html": PAGE})


def test_a_page_shows_one_record():
    found = read(PAGE)
    assert not found.shows(FILES | {"events.jsonl": b"{} \n"})
    assert not found.shows(FILES | {"checkpoint": b""})
    assert not found.shows({"events.jsonl": b"{}\n"})
    assert not read(around(b"")).shows({})


def test_one_bit_of_the_code_changed():
    outside = [*range(0, len(BEFORE), 61), *range(len(PAGE) - len(AFTER), len(PAGE), 997)]
    for at in (*outside, len(BEFORE) - 1, len(PAGE) - 1):
        data = bytearray(PAGE)
        data[at] ^= 1
        found = read(bytes(data))
        assert (found.released, found.record) == (False, RECORD), at


REGION = region(PACKED)
ROWS = REGION.splitlines(keepends=True)
CODE = b"<script>alert(1)</script>\n"
HIDDEN = {
    "before": CODE + PAGE,
    "after": PAGE + CODE,
    "between the blocks": around(ROWS[0] + CODE + b"".join(ROWS[1:])),
    "before the blocks": around(CODE + REGION),
    "after the blocks": around(REGION + CODE),
    "a comment": around(REGION.replace(b"</script>\n", b"</script>\n<!-- -->", 1)),
    "an attribute": around(REGION.replace(b"<script ", b'<script id="x" ', 1)),
    "a space": around(REGION.replace(b'">', b'"> ', 1)),
    "no line end": around(REGION[:-1]),
    "an empty block": around(REGION + region(b"x").replace(b"eA==", b"")),
    "other blocks": around(REGION.replace(b"</script>\n" + OPENING, b"", 1)),
    "a page around the page": BEFORE + PAGE + AFTER,
}


@pytest.mark.parametrize("where", HIDDEN)
def test_nothing_hides_in_or_beside_the_data(where):
    assert len(ROWS) > 1
    assert not read(HIDDEN[where]).released


def test_base64_that_has_another_spelling():
    rest = region(PACKED + bytes(-len(PACKED) % 3 + 1))  # ends in two signs of padding
    assert b"A==</script>" in rest
    assert read(around(rest)).released
    assert not read(around(rest.replace(b"A==</script>", b"B==</script>"))).released


def test_the_page_of_another_release():
    found = read(b"<html>" + REGION + b"<script>of another release</script></html>")
    assert (found.released, found.record) == (False, RECORD)


UNREADABLE = {
    "no data": b"",
    "no base64": region(PACKED).replace(b"A", b"=", 1),
    "no gzip": region(RECORD),
    "cut": region(PACKED[:-9]),
    "cut base64": REGION[:-20] + b"</script>\n",
    "more": region(PACKED + b"x"),
    "two members": region(PACKED + PACKED),
    "a wrong checksum": region(PACKED[:-8] + bytes(4) + PACKED[-4:]),
    "blocks in another order": b"".join(reversed(ROWS)),
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_data_that_cannot_be_read(what):
    assert read(around(UNREADABLE[what])).record == b""


def test_no_more_is_decompressed_than_a_page_holds(monkeypatch):
    monkeypatch.setattr(reading, "MAX_RECORD", len(RECORD))
    assert read(PAGE).record == RECORD
    monkeypatch.setattr(reading, "MAX_RECORD", len(RECORD) - 1)
    assert read(PAGE).record == b""
    bomb = around(region(gzip.compress(bytes(1 << 26))))
    assert len(bomb) < len(around(b"")) + (1 << 17)
    tracemalloc.start()
    assert read(bomb).record == b""
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 23


def test_what_is_a_page():
    assert is_page(PAGE)
    assert is_page(b"\n  " + PAGE)
    assert is_page(b"<svg>" + OPENING)
    assert not is_page(pack(FILES | {"report.html": PAGE})), "an export that holds one"
    assert not is_page(b"x" + pack(FILES | {"report.html": PAGE}))
    assert not is_page(b"<!doctype html><p>Any other page")
    assert not is_page(b"")
    assert not is_page(b64encode(PAGE))
