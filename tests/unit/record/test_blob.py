"""Salted texts: a fixed header, and a name that is the hash of the whole file (FORMAT.md §2)."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.errors import DataError
from hansard.record.blob import blob_name, pack, salt_of, unpack

SALT = bytes(range(32))
HEX = SALT.hex().encode()
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


def refused(file):
    with pytest.raises(DataError) as caught:
        unpack(file)
    return caught.value.code


def test_a_blob_is_header_salt_lf_and_text():
    name, file = pack("häll\no", SALT)
    assert file == b"hansard-blob/v1 " + HEX + b"\nh\xc3\xa4ll\no"
    assert name == sha256(file).hexdigest() == blob_name(file)
    assert salt_of(file) == SALT.hex()


@given(TEXTS, st.binary(min_size=32, max_size=32))
def test_a_text_comes_back_exactly(text, salt):
    assert unpack(pack(text, salt)[1]) == text


@pytest.mark.parametrize("text", ["", "\ufefftext", "a\r\nb\x00", "e\u0301"])
def test_nothing_is_normalised(text):
    assert unpack(pack(text, SALT)[1]) == text


class Renamed(str):
    """Text that is encoded as other text than it shows."""

    __slots__ = ()

    def encode(self, *_):
        return b"other"


def test_a_kind_of_text_is_packed_as_the_text_that_it_is():
    assert pack(Renamed("text"), SALT) == pack("text", SALT)


@given(TEXTS)
def test_another_salt_gives_another_name(text):
    assert pack(text, SALT)[0] != pack(text, bytes(32))[0]


@pytest.mark.parametrize("salt", [b"", SALT[:31], SALT + b"\0"])
def test_a_salt_has_32_bytes(salt):
    with pytest.raises(ValueError, match="32 bytes"):
        pack("text", salt)


@pytest.mark.parametrize(
    "file",
    [
        b"hansard-blob/v1 " + HEX[:-1] + b"\n" + HEX[-1:] + b"text",  # a byte moved to the text
        b"hansard-blob/v1 " + HEX + b"t\next",  # a byte moved to the salt
        b"hansard-blob/v1 " + HEX + b"text",
        b"hansard-blob/v1 " + HEX,
        b"hansard-blob/v1 " + HEX.upper() + b"\ntext",
        b"hansard-blob/v1 " + HEX[:-1] + b"g\ntext",
        b"hansard-blob/v1  " + HEX + b"\ntext",
        b"hansard-blob/v2 " + HEX + b"\ntext",
        b"\nhansard-blob/v1 " + HEX + b"\ntext",
        b"hansard-blob/v1 " + HEX + b"\r\ntext",
        b"",
    ],
)
def test_the_header_has_one_length_and_one_spelling(file):
    assert refused(file) == "8.header"


def test_a_text_is_strict_utf_8():
    assert refused(b"hansard-blob/v1 " + HEX + b"\n\xff") == "8.text"
    with pytest.raises(DataError) as caught:
        pack("\ud800", SALT)
    assert caught.value.code == "8.text"
