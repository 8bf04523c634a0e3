"""Policies: what `write` approves `parse` reads, and there is one spelling."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.errors import DataError
from hansard.record import keys, note, policy

SIGNER = note.Signer("house/approval", keys.generate())
A, B = "a" * 64, "b" * 64
words = st.from_regex(r"[a-z][a-z0-9_]{0,12}", fullmatch=True)
hashes = st.binary(max_size=4).map(lambda data: sha256(data).hexdigest())
TEXT = f"hansard-policy/v1\nconsensus.block {A}\nconsensus.debater {B}\n"


def signed(text):
    return note.sign(text if isinstance(text, bytes) else text.encode(), SIGNER)


def malformed(data):
    with pytest.raises(DataError) as caught:
        policy.parse(data)
    return caught.value.code == "policy.malformed"


@given(st.dictionaries(st.tuples(words, words), hashes))
def test_what_is_written_is_read_again(templates):
    data = signed(policy.write(templates))
    found = policy.parse(data)
    assert found.templates == templates
    assert policy.write(dict(reversed(templates.items()))) == found.note.text
    assert found.hash == sha256(data).hexdigest()
    for format_ in {format_ for format_, _ in templates}:
        rows = {role: row for (name, role), row in templates.items() if name == format_}
        assert found.approved(format_) == rows
    assert found.approved("no-format") == {}


def test_the_text_is_readable():
    assert policy.write({("consensus", "debater"): B, ("consensus", "block"): A}) == TEXT.encode()
    assert policy.parse(signed(TEXT)).approved("consensus") == {"block": A, "debater": B}


def test_lines_stand_in_byte_order_of_lines_not_of_pairs():
    """`a_b.c` comes after `a.d`: a dot is less than a letter, and than an underscore."""
    text = f"hansard-policy/v1\na.d {A}\na_b.c {A}\n"
    assert policy.parse(signed(text)).note.text == text.encode()


SPELLINGS = {
    "no head": TEXT.partition("\n")[2],
    "another head": TEXT.replace("v1", "v2"),
    "a head in capitals": TEXT.replace("hansard", "Hansard"),
    "a space after the head": TEXT.replace("v1\n", "v1 \n"),
    "not sorted": f"hansard-policy/v1\nconsensus.debater {B}\nconsensus.block {A}\n",
    "a line twice": TEXT + f"consensus.debater {B}\n",
    "a role twice": f"hansard-policy/v1\na.b {A}\na.b {B}\n",
    "no format": f"hansard-policy/v1\nblock {A}\n",
    "three parts": f"hansard-policy/v1\na.b.c {A}\n",
    "an empty role": f"hansard-policy/v1\na. {A}\n",
    "a hyphen": f"hansard-policy/v1\na-b.c {A}\n",
    "a digit first": f"hansard-policy/v1\n1.c {A}\n",
    "capitals": f"hansard-policy/v1\nA.c {A}\n",
    "a hash in capitals": f"hansard-policy/v1\na.b {A.upper()}\n",
    "a hash too short": f"hansard-policy/v1\na.b {A[1:]}\n",
    "a hash too long": f"hansard-policy/v1\na.b {A}0\n",
    "two spaces": f"hansard-policy/v1\na.b  {A}\n",
    "no hash": "hansard-policy/v1\na.b\n",
    "a comment": TEXT + "# by hand\n",
    "an empty line": TEXT + "\n",
    "CRLF": TEXT.replace("\n", "\r\n"),
    "not ASCII": TEXT.replace("consensus", "cönsensus"),
    "not UTF-8": TEXT.encode().replace(b"consensus", b"\xff", 1),
    "empty": "\n",
}


@pytest.mark.parametrize("defect", SPELLINGS)
def test_another_spelling_is_refused(defect):
    assert malformed(signed(SPELLINGS[defect]))


@pytest.mark.parametrize("data", [b"", TEXT.encode(), signed(TEXT)[:-1], b"\xff"])
def test_what_is_no_note_is_refused(data):
    assert malformed(data)


@given(st.binary(max_size=100))
def test_any_bytes_are_refused_with_one_code(data):
    assert malformed(data)
