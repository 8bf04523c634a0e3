"""Lines of a register: one spelling, and tags that tell nothing to those who do not know the id."""

from hashlib import sha256

import pytest

from hansard.errors import DataError
from hansard.record.canonical import decode
from hansard.record.register import KINDS, MAX_LINE, Line, key_hash, parse, tag

DEBATE = "0b4ad1f3-9a64-4d4b-8f43-3d0e0a5b7c21"
HEAD = "ab" * 32
# printf 'hansard-register/v1\n0b4ad1f3-9a64-4d4b-8f43-3d0e0a5b7c21' | sha256sum
TAG = "3fa1344a490211d5071cfc2581f6f91b6d8ee36e88b0556d322d4f008cf2f6bd"
LINE = b'{"head":"%s","index":7,"kind":"head","tag":"%s"}' % (HEAD.encode(), tag(DEBATE).encode())


def test_a_tag_is_a_hash_of_the_id_behind_a_header():
    assert tag(DEBATE) == sha256(b"hansard-register/v1\n" + DEBATE.encode()).hexdigest() == TAG
    assert key_hash("acme/log+00000000+x") == sha256(b"acme/log+00000000+x").hexdigest()


def test_a_line_is_read_and_written_alike():
    line = Line(7, "head", tag(DEBATE), HEAD)
    assert line.data == LINE
    assert parse(LINE) == line
    assert line.leaf == sha256(b"\0" + LINE).digest()
    assert decode(LINE) == {"head": HEAD, "index": 7, "kind": "head", "tag": tag(DEBATE)}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_read(kind):
    line = Line(0, kind, tag(HEAD), HEAD)
    assert parse(line.data) == line


def test_a_line_is_short():
    """The longest there is, so that a reader bounds a line before it reads one."""
    longest = Line((1 << 53) - 2, "policy_approved", tag(HEAD), HEAD)
    assert len(longest.data) == 198 < MAX_LINE
    assert parse(longest.data) == longest


@pytest.mark.parametrize(
    "data",
    [
        b"",
        LINE + b"\n",
        LINE + b" " * MAX_LINE,
        LINE.replace(b'"index":7', b'"index":07'),
        LINE.replace(b'"index":7', b'"index":-7'),
        LINE.replace(b'"index":7', b'"index":7.0'),
        LINE.replace(b'"index":7', b'"index":9007199254740991'),
        LINE.replace(b'"index":7', b'"index":99999999999999999'),
        LINE.replace(b'"head",', b'"closed",'),
        LINE.replace(HEAD.encode(), HEAD.upper().encode()),
        LINE.replace(HEAD.encode(), HEAD[:-1].encode()),
        LINE.replace(b":", b": "),
        LINE.replace(b'{"head"', b'{"a":1,"head"'),
        Line(0, "policy_approved", tag("another"), HEAD).data,
        Line(0, "key_revoked", HEAD, HEAD).data,
    ],
)
def test_anything_else_is_refused(data):
    with pytest.raises(DataError) as caught:
        parse(data)
    assert caught.value.code == "register.line"
