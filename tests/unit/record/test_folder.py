"""A folder of exports: what is written is read, in its one spelling; what is such a folder."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.errors import DataError
from hansard.record.folder import debate_of, is_folder, is_listed, name_of, parse, write

A = sha256(b"a").hexdigest()
ONE, TWO = (name_of(f"{n}0000000-0000-4000-8000-000000000000") for n in (1, 2))
names = st.from_regex(r"[0-9a-f]{8}-0000-4000-8000-0{12}\.zip", fullmatch=True) | st.sampled_from(
    ["VERIFY.md", "checkpoint", "register.jsonl"]
)
hashes = st.dictionaries(names, st.just(A), max_size=5)


@given(hashes)
def test_what_is_written_is_read_again(listed):
    text = write(dict(reversed(listed.items())))
    assert text == write(listed)
    assert parse(text) == listed


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_or_spelled_as_they_are(text):
    try:
        found = write(parse(text))
    except DataError as error:
        found = error.code
    assert found in (text, "2.malformed")


MALFORMED = {
    "two in another order": f"{A}  {TWO}\n{A}  {ONE}\n",
    "one twice": f"{A}  {ONE}\n{A}  {ONE}\n",
    "a name that does not belong": f"{A}  report.html\n",
    "itself": f"{A}  SHA256SUMS\n",
    "a name that is a path": f"{A}  blobs/{ONE}\n",
    "a name in upper case": f"{A}  {ONE.upper()}\n",
    "an id that is none": f"{A}  10000000-0000-1000-8000-000000000000.zip\n",
    "one space": f"{A} {ONE}\n",
    "a withheld file": f"# withheld {ONE} privacy\n",
    "no last line end": f"{A}  {ONE}",
}


@pytest.mark.parametrize("what", MALFORMED)
def test_what_is_spelled_otherwise_is_refused(what):
    with pytest.raises(DataError) as caught:
        parse(MALFORMED[what].encode())
    assert caught.value.code == "2.malformed"


def test_what_may_lie_in_such_a_folder():
    assert name_of(debate_of(ONE)) == ONE != debate_of(ONE)
    assert all(map(is_listed, (ONE, "VERIFY.md", "checkpoint", "register.jsonl")))
    assert not any(map(is_listed, ("SHA256SUMS", "a.zip", f"{ONE}\n", f"x{ONE}", "events.jsonl")))


LISTING = f"{A}  {ONE}\n".encode()


@pytest.mark.parametrize(
    ("there", "sums", "expected"),
    [
        ({ONE}, b"", True),
        ({"SHA256SUMS"}, LISTING, True),  # all of them were taken away
        ({"SHA256SUMS", "events.jsonl"}, LISTING, False),
        ({ONE, "events.jsonl"}, b"", False),
        ({"a.zip", "SHA256SUMS"}, f"{A}  events.jsonl\n".encode(), False),
        (set(), b"", False),
    ],
)
def test_which_folder_is_one(there, sums, expected):
    assert is_folder(there, sums) == expected
