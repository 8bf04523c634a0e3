"""The data region of a page: the record comes out of it, or nothing does; nothing ever raises."""

import gzip
import os
import re
import tracemalloc
from base64 import b64decode, b64encode

import pytest

from hansard.record import page as pages
from hansard.record.bundle import pack
from hansard.record.page import BLOCK, OPENING, compress, is_page, packed_in, record_in, region

FILES = {"events.jsonl": b"{}\n", f"blobs/{'a' * 64}": os.urandom(BLOCK), "SHA256SUMS": b"-"}
RECORD = pack(FILES)
PACKED = compress(RECORD)
REGION = region(PACKED)
ROWS = REGION.splitlines(keepends=True)


def around(data):
    """A page with this data; what the program around it is does not matter here."""
    return b"<!doctype html>" + data + b"<script>of any release</script></html>"


def test_what_was_written_is_read():
    assert record_in(around(REGION)) == RECORD
    assert b"".join(packed_in(around(REGION))) == PACKED


def test_no_time_stands_in_it():
    assert PACKED[4:8] == bytes(4)
    assert gzip.decompress(PACKED) == RECORD


@pytest.mark.parametrize("size", [0, 1, BLOCK // 4 * 3, BLOCK // 4 * 3 + 1, BLOCK * 2])
def test_the_data_region_is_in_blocks(size):
    packed = bytes(range(256)) * (size // 256) + bytes(size % 256)
    blocks = re.findall(rb">(.*)</script>\n", region(packed))
    assert all(len(block) == BLOCK for block in blocks[:-1])
    assert all(0 < len(block) <= BLOCK for block in blocks)
    assert b"".join(map(b64decode, blocks)) == packed, "each can be decoded by itself"


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
    assert record_in(around(UNREADABLE[what])) == b""


def test_no_more_is_decompressed_than_a_page_holds(monkeypatch):
    record = pack({"events.jsonl": bytes(BLOCK)})
    page = around(region(compress(record)))
    for most, read in ((len(record), record), (len(record) - 1, b""), (len(page), b"")):
        monkeypatch.setattr(pages, "MAX_PAGE", most)
        assert record_in(page) == read
    page = around(REGION)
    for most, read in ((len(page), RECORD), (len(page) - 1, b"")):
        monkeypatch.setattr(pages, "MAX_PAGE", most)
        assert record_in(page) == read
    bomb = around(region(gzip.compress(bytes(1 << 26))))
    assert len(bomb) < 1 << 17
    tracemalloc.start()
    assert record_in(bomb) == b""
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 23


def test_what_is_a_page():
    page = around(REGION)
    assert is_page(page)
    assert is_page(b"\n  " + page)
    assert is_page(b"<svg>" + OPENING)
    assert not is_page(pack(FILES | {"report.html": page})), "an export that holds one"
    assert not is_page(b"x" + pack(FILES | {"report.html": page}))
    assert not is_page(b"<!doctype html><p>Any other page")
    assert not is_page(b"")
    assert not is_page(b64encode(page))
