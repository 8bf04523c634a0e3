"""Policies: what `write` says `parse` reads, there is one spelling, and one scope decides."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.errors import DataError
from hansard.record import keys, note, policy
from hansard.record.policy import TERMS, Line

SIGNER = note.Signer("house/approval", keys.generate())
A, B = "a" * 64, "b" * 64
VALUES = {
    "template": st.sampled_from([A, B]),
    "persona": st.sampled_from([A, B, "none", "any"]),
    "model": st.sampled_from(["gpt-4o", "gpt-4o*", "*", "meta/llama:free"]),
    "max_calls": st.integers(1, 10**16 - 1).map(str),
    "require": st.sampled_from(["requester", "owner", "task_type", "retention", "gate"]),
    "gate_factor": st.just("50"),
    "gate_rule": st.sampled_from(["downside", "any", "all"]),
}
words = st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True)
scopes = st.just("*") | words | st.tuples(words, words).map(".".join)
rows = st.sampled_from(sorted(VALUES)).flatmap(
    lambda term: st.builds(Line, scopes, st.just(term), VALUES[term])
)
TEXT = (
    f"hansard-policy/v1\n* max_calls 60\nconsensus.block template {A}\n"
    f"consensus.debater template {B}\n"
)


def signed(text):
    return note.sign(text if isinstance(text, bytes) else text.encode(), SIGNER)


def read(*lines):
    return policy.parse(
        signed("hansard-policy/v1\n" + "".join(f"{line}\n" for line in sorted(lines)))
    )


def malformed(data):
    with pytest.raises(DataError) as caught:
        policy.parse(data)
    return caught.value.code == "policy.malformed"


@given(st.lists(rows, unique_by=lambda row: row if TERMS[row.term].many else row[:2]))
def test_what_is_written_is_read_again(lines):
    data = signed(policy.write(lines))
    found = policy.parse(data)
    assert sorted(found.lines) == sorted(lines)
    assert policy.write(reversed(lines)) == found.note.text
    assert found.hash == sha256(data).hexdigest()
    for line in lines:
        format_, _, role = line.scope.partition(".")
        narrow = found.values(line.term, format_, role or None)
        assert narrow is not None
        assert line.value in narrow or line.scope == "*" or not role


def test_the_text_is_readable():
    lines = [
        Line("consensus.debater", "template", B),
        Line("consensus.block", "template", A),
        Line("*", "max_calls", "60"),
    ]
    assert policy.write(lines) == TEXT.encode()
    found = policy.parse(signed(TEXT))
    assert found.approved("consensus", ["block", "debater", "judge"]) == {
        "block": [A],
        "debater": [B],
        "judge": [],
    }


def test_the_narrowest_scope_that_has_a_term_decides():
    found = read(
        f"* persona {A}", "judged persona none", f"judged.judge persona {B}", "* max_calls 9"
    )
    assert found.values("persona", "judged", "judge") == (B,)
    assert found.values("persona", "judged", "debater") == ("none",)
    assert found.values("persona", "panel", "judge") == (A,)
    assert found.values("persona", "judged") == ("none",)
    assert found.values("max_calls", "judged", "judge") == ("9",)
    assert found.values("tool", "judged") is None


def test_it_may_have_a_thousand_lines():
    assert len(read(*(f"* model m{n}" for n in range(1_000))).lines) == 1_000
    with pytest.raises(DataError, match="more than 1,000 lines"):  # one that is drafted, too
        policy.check([Line("*", "model", f"m{n}") for n in range(1_001)])


def test_what_is_required_adds_up():
    found = read("* require owner", "judged require requester", "panel require retention")
    assert found.required("judged") == ["owner", "requester"]
    assert found.required("consensus") == ["owner"]


def test_lines_stand_in_byte_order_of_lines_not_of_pairs():
    """`a_b.c` comes after `a.d`: a dot is less than a letter, and than an underscore."""
    text = f"hansard-policy/v1\na.d template {A}\na_b.c template {A}\n"
    assert policy.parse(signed(text)).note.text == text.encode()


def test_it_is_revoked_by_its_hash_and_by_two_of_each_signature():
    """Anybody can add a line of their own, and then the note has another hash."""
    one, two = (signed(TEXT), note.sign(TEXT.encode(), note.Signer("x", keys.generate())))
    both = one + two.rpartition(b"\n\n")[2]
    hashes = [sha256(data).hexdigest() for data in (one, two, both)]
    body = [TEXT.encode() + b"\n" + note.parse(data).signatures[0].signature for data in (one, two)]
    bare = [sha256(data).hexdigest() for data in body]
    assert policy.parse(one).names == {hashes[0], bare[0]}
    assert policy.parse(both).names == {*hashes, *bare}


def test_a_line_under_another_name_of_its_key_has_a_name_in_common_with_it():
    secret = keys.generate()
    lines = (note.sign(TEXT.encode(), note.Signer(name, secret)) for name in ("x", "y"))
    one, two = (policy.parse(data).names for data in lines)
    assert len(one & two) == 1


def test_a_metric_has_one_baseline_a_scope():
    found = read("* metric m:1", "* metric n:0.25", "judged metric m:2", "judged metric m2:0")
    assert found.values("metric", "panel") == ("m:1", "n:0.25")
    assert found.values("metric", "judged") == ("m2:0", "m:2")
    with pytest.raises(DataError, match="`\\*` has `metric m` twice; it takes one value"):
        read("* metric m:1", "* metric m:2")


SPELLINGS = {
    "no head": TEXT.partition("\n")[2],
    "another head": TEXT.replace("v1", "v2"),
    "a head in capitals": TEXT.replace("hansard", "Hansard"),
    "a space after the head": TEXT.replace("v1\n", "v1 \n"),
    "not sorted": f"hansard-policy/v1\nb template {B}\na template {A}\n",
    "a line twice": TEXT + f"consensus.debater template {B}\n",
    "a ceiling twice": "hansard-policy/v1\n* max_calls 1\n* max_calls 2\n",
    "no scope": f"hansard-policy/v1\ntemplate {A}\n",
    "three parts": f"hansard-policy/v1\na.b.c template {A}\n",
    "an empty role": f"hansard-policy/v1\na. template {A}\n",
    "a hyphen": f"hansard-policy/v1\na-b.c template {A}\n",
    "a digit first": f"hansard-policy/v1\n1.c template {A}\n",
    "capitals": f"hansard-policy/v1\nA.c template {A}\n",
    "a hash in capitals": f"hansard-policy/v1\na.b template {A.upper()}\n",
    "a hash too short": f"hansard-policy/v1\na.b template {A[1:]}\n",
    "a hash too long": f"hansard-policy/v1\na.b template {A}0\n",
    "a template that is any": "hansard-policy/v1\na.b template any\n",
    "an unknown term": "hansard-policy/v1\n* max_words 9\n",
    "a number with a nought first": "hansard-policy/v1\n* max_calls 09\n",
    "a strength of eleven": "hansard-policy/v1\n* min_challenge_strength 11\n",
    "a metric twice": "hansard-policy/v1\n* metric m:1\n* metric m:2\n",
    "a baseline with a nought last": "hansard-policy/v1\n* metric m:0.50\n",
    "a baseline below nought": "hansard-policy/v1\n* metric m:-1\n",
    "a metric without a name": "hansard-policy/v1\n* metric :1\n",
    "a star in the middle": "hansard-policy/v1\n* model gpt*o\n",
    "two spaces": f"hansard-policy/v1\na.b  template {A}\n",
    "no value": "hansard-policy/v1\na.b template\n",
    "a comment": TEXT + "# by hand\n",
    "an empty line": TEXT + "\n",
    "CRLF": TEXT.replace("\n", "\r\n"),
    "not ASCII": TEXT.replace("consensus", "cönsensus"),
    "not UTF-8": TEXT.encode().replace(b"consensus", b"\xff", 1),
    "empty": "\n",
    "too long": "hansard-policy/v1\n" + "".join(f"* model m{n}\n" for n in range(1_000, 2_001)),
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
