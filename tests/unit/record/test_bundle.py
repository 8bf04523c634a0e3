"""The container: one zip for the same files, and every other one is refused with its code."""

import io
import random
import struct
import zipfile
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.errors import DataError
from hansard.record import bundle, manifest
from hansard.record.bundle import Bundle, of_files, pack, to_files, unpack

TOP = [
    "SHA256SUMS", "SHA256SUMS.page", "VERIFY.md", "events.jsonl", "register/head.proof",
    "register/opened.proof", "report.html",
]  # fmt: skip
hashes = st.binary(max_size=4).map(lambda data: sha256(data).hexdigest())
names = st.sampled_from(TOP) | st.builds(
    "{}/{}".format, st.sampled_from(["blobs", "templates", "policies"]), hashes
)
files_ = st.dictionaries(names, st.binary(max_size=50))
FOLDERS = ("blobs/", "templates/", "policies/")
FILES = {"events.jsonl": b"{}\n", "SHA256SUMS": b"x", f"blobs/{'a' * 64}": b"a"}


def code(call, *args):
    with pytest.raises(DataError) as caught:
        call(*args)
    return caught.value.code


@given(files_)
def test_what_is_packed_is_unpacked(files):
    data = pack(files)
    assert unpack(data) == files
    assert pack(dict(reversed(files.items()))) == data


@given(files_)
def test_the_standard_library_reads_it_and_writes_the_same(files):
    with zipfile.ZipFile(io.BytesIO(pack(files))) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == files
        assert archive.testzip() is None
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, 0o100644 << 16
            archive.writestr(entry, files[name])
    assert buffer.getvalue() == pack(files)


def test_the_bytes_of_the_smallest_zip():
    assert pack({}) == b"PK\x05\x06" + bytes(18)
    data = pack({"SHA256SUMS": b"a"})
    assert data[:30] == struct.pack(
        "<4s5H3L2H", b"PK\x03\x04", 20, 0, 0, 0, 33, 0xE8B7BE43, 1, 1, 10, 0
    )


def test_more_files_than_a_zip_can_count(monkeypatch):
    monkeypatch.setattr(bundle, "MAX_FILES", 2)
    assert code(pack, FILES) == "1.entries"


def zipped(*entries, compress=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compress) as archive:
        for name, body in entries:
            archive.writestr(zipfile.ZipInfo(name), body, compress)
    return buffer.getvalue()


NAMES = ["", "x", "../events.jsonl", "/events.jsonl", "C:events.jsonl", "events.jsonl/", "blobs/",
         "EVENTS.JSONL", "blobs/../events.jsonl", f"blobs/{'a' * 63}", f"blobs/{'a' * 65}",
         f"blobs/{'A' * 64}", f"other/{'a' * 64}", f"blobs\\{'a' * 64}", "events.jsonl\n",
         "events.jsonl\0x", "évents.jsonl", "report.html ", "./events.jsonl"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_no_export_has(name):
    entry = ("events.jsonl", b"")
    if "\0" not in name:
        assert code(unpack, zipped(entry, (name, b""))) == "1.name"
    assert code(bundle.check_folder, {name: b""}) == "1.name"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_twice_comes_before_a_name_that_does_not_belong():
    assert code(unpack, zipped(("x", b""), ("x", b""))) == "1.entries"


def test_compressed_comes_before_size_and_nothing_is_decompressed(monkeypatch):
    bomb = zipped(("events.jsonl", bytes(10**6)), compress=zipfile.ZIP_DEFLATED)
    monkeypatch.setattr("zlib.decompressobj", None)
    assert len(bomb) < 2000
    assert code(unpack, bomb) == "1.container"


def test_larger_than_any_export(monkeypatch):
    data = pack(FILES)
    monkeypatch.setattr(bundle, "MAX_EXPORT", len(data))
    assert unpack(data) == FILES
    monkeypatch.setattr(bundle, "MAX_EXPORT", len(data) - 1)
    assert code(unpack, data) == "1.size"


def central(data):
    return data.index(b"PK\x01\x02")


def patched(data, at, form, value):
    return data[:at] + struct.pack(form, value) + data[at + struct.calcsize(form) :]


def test_sizes_that_no_file_has():
    data = pack(FILES)
    for size in (len(data), 1 << 30, 0xFFFFFFFF):
        assert code(unpack, patched(data, central(data) + 24, "<L", size)) == "1.size"
        assert code(unpack, patched(data, central(data) + 20, "<L", size)) == "1.size"
    one = pack({"SHA256SUMS": bytes(100)})
    assert code(unpack, patched(one, central(one) + 20, "<L", len(one) - 40)) == "1.container"
    assert code(unpack, patched(one, central(one) + 20, "<L", len(one) - 39)) == "1.unreadable"
    # Entries that lie over each other: each alone would fit.
    more = pack({f"blobs/{n:064}": bytes(1000) for n in range(9)})
    at = central(more)
    for n in range(9):
        more = patched(more, at + n * (46 + 70) + 24, "<L", 5000)
    assert code(unpack, more) == "1.size"


def test_a_directory_that_does_not_hold_together():
    data = pack(FILES)
    end = len(data) - 22
    for at, form, value in (
        (end + 10, "<H", 2),  # entries
        (end + 10, "<H", 4),
        (end + 10, "<H", 0xFFFF),
        (end + 12, "<L", 1),  # length
        (end + 12, "<L", 0xFFFFFFFF),
        (end + 16, "<L", 0),  # place
        (end + 16, "<L", 0xFFFFFFFF),
        (end + 20, "<H", 1),  # comment
        (central(data), "<L", 0),  # signature
        (central(data) + 28, "<H", 0xFFFF),  # length of a name
        (central(data) + 42, "<L", 1),  # place of a file
        (central(data) + 42, "<L", end),
        (central(data) + 42, "<L", 0xFFFFFFFF),
        (26, "<H", 0xFFFF),  # length of a name before the file
    ):
        assert code(unpack, patched(data, at, form, value)) == "1.unreadable", (at, value)


def test_cut_off_anywhere_it_is_unreadable():
    data = pack(FILES)
    assert {code(unpack, data[:length]) for length in range(len(data))} == {"1.unreadable"}
    assert code(unpack, data[-22:]) == "1.unreadable"


@pytest.mark.parametrize("name", ["events.jsonl", "SHA256SUMS.page", f"templates/{'ab' * 32}"])
def test_a_single_header_says_that_something_of_an_export_is_there(name):
    data = pack({name: b"body"})
    for start, size in ((0, 30), (data.index(b"PK\1\2"), 46)):
        header = data[start : start + size + len(name)]
        assert bundle.holds_any(b"PK" + header)
        assert bundle.holds_any(header * 2)
        assert not bundle.holds_any(header[:-1])
        assert not bundle.holds_any(header[1:])
        assert not bundle.holds_any(header[:size] + b"x" + header[size:])


def test_where_a_zip_has_its_end():
    data = pack(FILES)
    assert bundle.has_end(data)
    assert not any(bundle.has_end(data[:length]) for length in range(len(data)))
    assert bundle.has_end(data + b"x" * 0xFFFF)
    assert not bundle.has_end(data + b"x" * 0x10000)
    assert not bundle.has_end(data + b"PK\5\6" + b"x" * 17)  # the last one counts


def test_of_what_is_too_large_nobody_reads_the_end(monkeypatch):
    data = pack(FILES)
    monkeypatch.setattr(bundle, "MAX_EXPORT", len(data) - 2)
    assert bundle.has_end(data[:-1])
    assert not bundle.has_end(data[:-2])


def test_a_name_that_only_begins_like_one_of_an_export_is_none_of_it():
    for name in (
        "VERIFY.mdx",
        "events.jsonl2",
        "checkpoint",
        "register.jsonl",
        "register/x.proof",
        f"blobs/{'ab' * 33}",
        "record/events.jsonl",
    ):
        assert not bundle.holds_any(zipped((name, b"")))
    assert bundle.holds_any(zipped(("VERIFY.mdx", b""), ("VERIFY.md", b"")))
    assert not bundle.holds_any(b"")


def test_every_bit_counts():
    data = pack(FILES)
    codes = set()
    for place in range(len(data) * 8):
        flipped = bytearray(data)
        flipped[place // 8] ^= 1 << place % 8
        codes.add(code(unpack, bytes(flipped)))
    assert codes == {"1.unreadable", "1.name", "1.size", "1.container"}


@given(st.binary(max_size=200), st.integers(0, 200))
def test_any_bytes_raise_nothing_else(junk, place):
    for data in (junk, junk + pack(FILES), pack(FILES)[:-place] + junk, b"PK\x05\x06" + junk):
        if data != pack(FILES):
            assert code(unpack, data)[:2] == "1."


def test_garbled_zips_raise_nothing_else():
    chance = random.Random(1)
    for _ in range(2000):
        data = bytearray(pack(FILES))
        for _ in range(chance.randrange(1, 5)):
            data[chance.randrange(len(data))] = chance.choice((0, 1, 0x7F, 0xFF))
        if data != pack(FILES):
            assert code(unpack, bytes(data))[:2] == "1."


# The record in the files

lines = st.lists(st.binary(max_size=9).map(lambda line: line.replace(b"\n", b"")))
bodies = st.dictionaries(hashes, st.binary(max_size=9))


proofs = st.dictionaries(st.sampled_from(bundle.PROOFS), st.binary(max_size=9))


@given(lines, bodies, bodies, bodies, proofs)
def test_a_record_becomes_files_and_a_record_again(found, blobs, templates, policies, shown):
    record = Bundle(found, blobs, templates, None, policies, shown)
    assert of_files(to_files(record)) == record
    assert unpack(pack(to_files(record))) == to_files(record)


def test_files_that_are_no_record():
    assert code(of_files, {}) == "1.events"
    assert code(of_files, {"events.jsonl": b"{}"}) == "1.events"
    assert code(of_files, {"events.jsonl": b"{}\n{}"}) == "1.events"
    assert of_files({"events.jsonl": b""}).lines == []
    assert of_files({"events.jsonl": b"\r\n\x0b\x85\n"}).lines == [b"\r", b"\x0b\x85"]


def test_a_folder_is_bounded_like_a_zip(monkeypatch):
    files = {"SHA256SUMS": b"-", "events.jsonl": b"{}\n"}
    bundle.check_folder(files)
    for name, most in (("MAX_FILES", 1), ("MAX_EXPORT", 3)):
        with monkeypatch.context() as patch:
            patch.setattr(bundle, name, most)
            with pytest.raises(DataError) as caught:
                bundle.check_folder(files)
        assert caught.value.code == "1.size"


@given(files_)
def test_what_a_record_takes_in_an_export_is_known_before_it_is_packed(files):
    named = {name: body for name, body in files.items() if name.startswith(FOLDERS)}
    record = of_files(named | {"events.jsonl": b"{}\n" * 3})
    held = to_files(record)
    took = len(pack(held | {"SHA256SUMS": manifest.write(held)}))
    around = len(pack({"events.jsonl": b"", "SHA256SUMS": manifest.write({"events.jsonl": b""})}))
    assert record.size - 3 * 4 * (len(held) - 1) <= took - around <= record.size
