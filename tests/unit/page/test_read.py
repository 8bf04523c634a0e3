"""Reading a page: what is changed outside its data is seen, and nothing raises."""

import os

import pytest

from hansard.page.read import check_page, is_released
from hansard.page.write import page, shell
from hansard.record.bundle import pack
from hansard.record.page import BLOCK, OPENING, compress, record_in, region
from hansard.verify.findings import PageCheck

FILES = {"events.jsonl": b"{}\n", f"blobs/{'a' * 64}": os.urandom(BLOCK), "SHA256SUMS": b"-"}
RECORD = pack(FILES)
PAGE = page(FILES)
BEFORE, AFTER = shell()
PACKED = compress(RECORD)


def around(data):
    """This release's page with other data."""
    return BEFORE + data + AFTER


def test_what_was_written_is_read():
    assert is_released(PAGE)
    assert record_in(PAGE) == RECORD
    assert check_page(PAGE) == PageCheck(released=True, same_record=None)
    with_page = FILES | {"report.html": PAGE}
    noted = with_page | {"SHA256SUMS.page": b"-"}
    for export in (with_page, pack(with_page), noted, pack(noted)):
        assert check_page(export) == PageCheck(released=True, same_record=True)


def test_a_page_shows_one_record():
    def same(files, shown=PAGE):
        return check_page(files | {"report.html": shown}).same_record

    assert not same(FILES | {"events.jsonl": b"{} \n"})
    assert not same(FILES | {"register/head.proof": b""})
    assert not same({"events.jsonl": b"{}\n"})
    assert not same({}, around(b""))


def test_an_export_without_a_page_or_that_is_refused():
    for export in (FILES, pack(FILES), b"", {"x": b"", "report.html": PAGE}):
        assert check_page(export) is None


def test_one_bit_of_the_code_changed():
    outside = [*range(0, len(BEFORE), 61), *range(len(PAGE) - len(AFTER), len(PAGE), 997)]
    for at in (*outside, len(BEFORE) - 1, len(PAGE) - 1):
        data = bytearray(PAGE)
        data[at] ^= 1
        assert (is_released(bytes(data)), record_in(bytes(data))) == (False, RECORD), at


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
    assert not is_released(HIDDEN[where])


def test_base64_that_has_another_spelling():
    rest = region(PACKED + bytes(-len(PACKED) % 3 + 1))  # ends in two signs of padding
    assert b"A==</script>" in rest
    assert is_released(around(rest))
    assert not is_released(around(rest.replace(b"A==</script>", b"B==</script>")))


def test_the_page_of_another_release():
    found = b"<html>" + REGION + b"<script>of another release</script></html>"
    assert (is_released(found), record_in(found)) == (False, RECORD)
