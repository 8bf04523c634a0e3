"""Lines dropped, swapped, repeated, moved or foreign; texts, templates and heads that do not fit.

Each case is named by its defect and says what must be found first. Nothing
that can be in a bundle makes the verifier raise.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

import altering
from hansard.record import blob
from hansard.record.bundle import Bundle, Head
from hansard.verify.verifier import verify

GENESIS = "0" * 64


def codes(bundle):
    verification = verify(bundle)
    assert verification.ok == (not verification.findings)
    assert (verification.verdict == "ALTERED") == (not verification.ok)
    return [(row.seq, row.code) for row in verification.findings]


def lines(bundle, *parts):
    return replace(bundle, lines=[line for part in parts for line in part])


# Lines


def test_a_line_dropped_is_seen_at_the_line_before(plain):
    for n in range(len(plain.lines)):
        left = lines(plain, plain.lines[:n], plain.lines[n + 1 :])
        last = n == len(plain.lines) - 1
        expected = (n, "5.length") if last else (n, "5.prev")
        assert expected in codes(left)[:2], n
        assert {code for seq, code in codes(left) if seq == n + 1} >= (
            {"5.seq"} if not last else set()
        )


def test_a_line_dropped_and_the_rest_chained_anew_is_not_due_or_missing(plain):
    """Numbers, links and head made to fit: the rules notice each missing line but the last."""
    for n in range(1, len(plain.lines)):
        kept = [*plain.lines[:n], *plain.lines[n + 1 :]]
        found = codes(altering.numbered_anew(plain, kept))
        if n == len(plain.lines) - 1:
            assert found == []  # an open debate: only an outside witness knows better
        else:
            first = next(row for row in found if row[0])
            assert first[1].split(".")[0] in ("9", "14", "8")
            assert first[0] <= n + 8, (n, first)


def test_two_lines_swapped(plain):
    for n in range(len(plain.lines) - 1):
        a, b = plain.lines[n : n + 2]
        swapped = codes(lines(plain, plain.lines[:n], [b, a], plain.lines[n + 2 :]))
        assert (n, "5.prev") == swapped[0], n
        assert {(n + 1, "5.seq"), (n + 2, "5.seq")} <= set(swapped), n


def test_two_lines_swapped_and_chained_anew(plain):
    """Only what may come in either order passes: calls in flight together, and their ends."""
    passed = set()
    for n in range(len(plain.lines) - 1):
        order = list(plain.lines)
        order[n], order[n + 1] = order[n + 1], order[n]
        found = codes(altering.numbered_anew(plain, order))
        if all(code == "6.order" for _, code in found):
            types = [json.loads(line)["type"] for line in plain.lines[n : n + 2]]
            passed.add(tuple(types))
            assert n < 10, "only in the first, parallel phase"
    assert passed == {
        ("call.started", "call.started"),
        ("call.started", "call.answered"),  # of another call
        ("call.answered", "call.answered"),
    }


def test_a_line_repeated(plain):
    for n in range(len(plain.lines)):
        again = codes(lines(plain, plain.lines[: n + 1], plain.lines[n:]))
        assert (n + 1, "5.prev") == again[0], n
        assert (n + 2, "5.seq") in again, n


def test_a_line_repeated_and_chained_anew(plain):
    for n in range(len(plain.lines)):
        order = [*plain.lines[: n + 1], *plain.lines[n:]]
        found = codes(altering.numbered_anew(plain, order))
        assert found[0][0] >= n + 1
        assert {code.split(".")[0] for _, code in found} & {"9", "14"}, (n, found)


def test_an_end_cut_off_shows_against_the_head(plain):
    for kept in range(1, len(plain.lines)):
        found = codes(lines(plain, plain.lines[:kept]))
        assert (kept, "5.length") in found
        assert verify(lines(plain, plain.lines[:kept])).open


def test_an_end_cut_off_with_its_texts_and_its_head_is_an_open_debate(plain):
    """What level 0 cannot know: that there was more. A kept checkpoint can."""
    cut = plain.lines[:8]
    named = b"".join(cut)
    blobs = {name: file for name, file in plain.blobs.items() if name.encode() in named}
    found = verify(replace(plain, lines=cut, blobs=blobs, head=altering.head_of(cut)))
    assert found.ok
    assert found.open


def test_without_a_head_the_last_line_stands_alone(plain):
    cut = replace(plain, lines=plain.lines[:-1], head=None)
    assert codes(cut) == []
    assert verify(replace(plain, head=None)).ok


def test_a_line_after_the_end(plain):
    again = json.loads(plain.lines[-1])
    for kind, data in (
        (again["type"], again["data"]),
        ("debate.resumed", {"engine": "forger"}),
    ):
        more = altering.dump(again | {"type": kind, "data": data})
        found = codes(altering.numbered_anew(plain, [*plain.lines, more]))
        assert found == [(87, "9.not_due")]


def test_the_line_of_another_debate(plain, other):
    for n in range(len(plain.lines)):
        foreign = lines(plain, plain.lines[:n], [other.lines[n]], plain.lines[n + 1 :])
        found = codes(foreign)
        assert found[0][0] <= n + 1
        assert (n + 1, "5.debate") in found or n == 0
        anew = altering.numbered_anew(foreign, list(foreign.lines))
        assert any(code == "5.debate" for _, code in codes(anew)), n


def test_the_whole_of_another_debate_under_this_ones_head(plain, other):
    assert codes(replace(other, head=plain.head)) == [(86, "5.head")]


# Head

HEADS = {
    "another hash": lambda head: Head(head.length, GENESIS),
    "no hash": lambda head: Head(head.length, ""),
    "longer": lambda head: Head(head.length + 1, head.hash),
    "shorter": lambda head: Head(head.length - 1, head.hash),
    "nothing": lambda head: Head(0, ""),
}


@pytest.mark.parametrize("defect", HEADS)
def test_a_head_that_does_not_fit(plain, defect):
    ((seq, code),) = codes(replace(plain, head=HEADS[defect](plain.head)))
    assert (seq, code) in ((86, "5.head"), (86, "5.length"))


# Texts


def first_reply(bundle):
    event = next(row for row in altering.events_of(bundle) if row["type"] == "call.answered")
    return event["seq"], event["data"]["reply"]["sha256"]


def with_blobs(bundle, **changes):
    """Replace blobs by name; None takes one away."""
    blobs = dict(bundle.blobs) | changes
    return replace(bundle, blobs={name: file for name, file in blobs.items() if file is not None})


TEXTS = {
    "one letter": lambda file: file.replace(b"revise", b"devise").replace(b"release", b"re1ease"),
    "another salt": lambda file: file[:16] + bytes(reversed(file[16:80])) + file[80:],
    "a line end": lambda file: file + b"\n",
    "cut off": lambda file: file[:-1],
    "emptied": lambda file: b"",
    "only a header": lambda file: file[: blob.HEADER],
    "no header": lambda file: file[blob.HEADER :],
    "not UTF-8": lambda file: file[: blob.HEADER] + b"\xff",
}  # fmt: skip


@pytest.mark.parametrize("defect", TEXTS)
def test_a_text_edited(plain, defect):
    seq, name = first_reply(plain)
    found = codes(with_blobs(plain, **{name: TEXTS[defect](plain.blobs[name])}))
    assert found == [(seq, "8.hash")]


def test_every_text_removed_or_edited_names_the_line_that_names_it(rich):
    for name, file in rich.blobs.items():
        seq = next(n for n, line in enumerate(rich.lines, 1) if name.encode() in line)
        assert codes(with_blobs(rich, **{name: None})) == [(seq, "8.missing")]
        assert codes(with_blobs(rich, **{name: file + b"x"})) == [(seq, "8.hash")]


def test_two_texts_swapped(plain):
    (a, file_a), (b, file_b), *_ = plain.blobs.items()
    found = codes(with_blobs(plain, **{a: file_b, b: file_a}))
    assert [code for _, code in found] == ["8.hash", "8.hash"]


def test_a_text_that_nobody_names(plain):
    name, file = blob.pack("who put me here?", bytes(32))
    assert codes(with_blobs(plain, **{name: file})) == [(0, "8.unnamed")]


def test_a_text_of_another_debate(plain, other):
    name = first_reply(other)[1]
    assert codes(with_blobs(plain, **{name: other.blobs[name]})) == [(0, "8.unnamed")]


def renamed(bundle, seq, old, file):
    """Put another blob in the place of one, its name and the whole chain made to fit."""
    name = blob.blob_name(file)
    line = bundle.lines[seq - 1].replace(old.encode(), name.encode())
    return altering.chained_anew(
        with_blobs(bundle, **{old: None, name: file}), seq, json.loads(line)
    )


def test_a_salt_used_twice(plain):
    seq, name = first_reply(plain)
    question = json.loads(plain.lines[0])["data"]["question"]["sha256"]
    salt = bytes.fromhex(plain.blobs[question][len(blob.MAGIC) : blob.HEADER - 1].decode())
    _, file = blob.pack(blob.unpack(plain.blobs[name]), salt)
    assert codes(renamed(plain, seq, name, file))[0][1] == "8.salt"


@pytest.mark.parametrize(("file", "code"), [(b"no header", "8.header"), (b"\xff", "8.text")])
def test_a_blob_that_is_none_under_its_right_name(plain, file, code):
    seq, name = first_reply(plain)
    file = file if code == "8.header" else plain.blobs[name][: blob.HEADER] + file
    found = codes(renamed(plain, seq, name, file))
    assert found[0] == (seq, code)


def test_a_reply_with_another_vote_chained_anew(plain):
    """The strongest forger of texts: the vote recorded no longer is the vote replied."""
    seq, name = first_reply(plain)
    text = blob.unpack(plain.blobs[name])
    for word in ("release", "revise", "escalate"):
        other = text.replace("release", word).replace("revise", word).replace("escalate", word)
        if other != text:
            _, file = blob.pack(other, bytes(range(32)))
            found = codes(renamed(plain, seq, name, file))
            assert found[0][1] == "12.vote"
    _, file = blob.pack("no JSON", bytes(range(32)))
    assert codes(renamed(plain, seq, name, file))[0] == (seq + 1, "9.not_due")


# Templates and policy


def test_templates_edited_removed_and_added(plain):
    for name, body in plain.templates.items():
        edited = dict(plain.templates) | {name: body + b" "}
        assert codes(replace(plain, templates=edited)) == [(1, "10.hash")]
        removed = {key: row for key, row in plain.templates.items() if key != name}
        assert codes(replace(plain, templates=removed)) == [(1, "10.missing")]
    added = dict(plain.templates) | {"ab" * 32: b"more"}
    assert codes(replace(plain, templates=added)) == [(0, "10.unnamed")]


def test_a_policy_edited_or_removed(rich):
    ((name, body),) = rich.policies.items()
    for policies in ({}, {name: body + b" "}, {name: body.replace(b"consensus", b"consensuS", 1)}):
        assert codes(replace(rich, policies=policies))[0] == (1, "10.policy")


# Anything at all

GARBAGE = {
    "empty": b"",
    "a space": b" ",
    "NUL": b"\0",
    "not UTF-8": b"\xff\xfe",
    "a mark": b"\xef\xbb\xbf{}",
    "null": b"null",
    "a number": b"7",
    "a text": b'"x"',
    "a list": b"[]",
    "an object": b"{}",
    "a type of its own": b'{"type":"x"}',
    "a type that is no text": b'{"type":{}}',
    "a type that is a list": b'{"type":["debate.opened"]}',
    "a type and nothing else": b'{"type":"debate.opened"}',
    "NaN": b'{"a":NaN}',
    "infinity": b'{"a":1e999}',
    "a fraction": b'{"a":1.5}',
    "7.0": b'{"a":7.0}',
    "a huge integer": b'{"a":' + b"9" * 5000 + b"}",
    "a key twice": b'{"a":1,"a":1}',
    "a lone surrogate": b'{"a":"\\ud800"}',
    "deep": b"[" * 200 + b"]" * 200,
    "deeper": b"[" * 300 + b"]" * 300,
    "deepest": b"[" * 100_000 + b"]" * 100_000,
    "half deep": b"[" * 100_000,
    "deep objects": b'{"a":' * 500 + b"1" + b"}" * 500,
    "huge": b'{"a":"' + b"x" * (1 << 20) + b'"}',
    "huge and no JSON": b"x" * (1 << 21),
}


@pytest.mark.parametrize("place", ["alone", "first", "middle", "last"])
@pytest.mark.parametrize("what", GARBAGE)
def test_a_line_that_is_no_event_is_named_and_raises_nothing(plain, what, place):
    junk = GARBAGE[what]
    seq = {"alone": 1, "first": 1, "middle": 40, "last": 86}[place]
    record = lines(plain, plain.lines[: seq - 1], [junk], plain.lines[seq:])
    if place == "alone":
        record = Bundle([junk], {}, {}, Head(1, GENESIS))
    verification = verify(record)
    named = [row.code for row in verification.findings if row.seq == seq]
    assert {row.partition(".")[0] for row in named} & {"4", "7"}, named
    assert verification.checks[8].status == "unchecked"


def test_an_empty_record():
    for head in (None, Head(0, ""), Head(5, GENESIS)):
        verification = verify(Bundle([], {}, {}, head))
        assert [(row.seq, row.code) for row in verification.findings] == [(0, "5.empty")]
        assert (verification.debate, verification.entries) == (None, 0)


def test_blobs_and_templates_of_any_bytes_raise_nothing(plain):
    _, name = first_reply(plain)
    (template, *_) = plain.templates
    for junk in (b"", b"\xff" * 1000, b"\0" * blob.HEADER):
        for record in (
            replace(plain, blobs=dict(plain.blobs) | {name: junk}),
            replace(plain, templates=dict(plain.templates) | {template: junk}),
        ):
            assert not verify(record).ok


def test_a_vote_for_nothing_whose_reply_is_gone_raises_nothing(plain):
    """With the reply gone its turn is believed, so the count must bear any word."""
    seq, name = first_reply(plain)
    speaker = json.loads(plain.lines[seq - 1])["data"]["call"].split(".")[2].partition(":")[0]
    turn = next(
        row
        for row in altering.events_of(plain)
        if row["type"] == "turn.recorded" and row["data"]["speaker"] == speaker
    )
    turn["data"]["vote"] = "undeclared"
    forged = altering.chained_anew(with_blobs(plain, **{name: None}), turn["seq"], turn)
    assert not verify(forged).ok


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_shuffled_and_doubled_lines_raise_nothing(records, seed):
    """Whole, well-formed lines in any order, as they stand and chained anew."""
    chance = random.Random(seed)
    for bundle in (records["decided"], records["rich"], records["refused"]):
        for _ in range(20):
            picked = chance.choices(bundle.lines, k=chance.randrange(1, len(bundle.lines)))
            if chance.random() < 0.7:
                cut = chance.randrange(len(bundle.lines))
                picked = [*bundle.lines[:cut], *picked]
            verify(lines(bundle, picked))
            anew = altering.numbered_anew(bundle, picked)
            verify(anew)
            verify(replace(anew, blobs={}))
