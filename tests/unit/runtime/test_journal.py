"""Facts become chained lines, and reach the store all or not at all."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest

from hansard.errors import DataError, UsageError
from hansard.record import blob
from hansard.record.bundle import Bundle
from hansard.record.chain import Chain
from hansard.rules.events import Fact
from hansard.runtime.clock import Clock
from hansard.runtime.journal import Journal, Texts
from measuring import traced

RESUMED = Fact("debate.resumed", {"engine": "hansard/0"})


class Shelf:
    """Keeps what is appended, or fails."""

    def __init__(self):
        self.rows, self.extras, self.error = [], [], None

    def append(self, batch):
        if self.error:
            raise self.error
        self.rows += [(batch.first + i, *row) for i, row in enumerate(batch.lines)]
        self.extras.append(batch.extras)


@pytest.fixture
def shelf():
    return Shelf()


@pytest.fixture
def journal(shelf):
    return Journal(shelf, Chain("5c1d3e0a-1111-4111-8111-111111111111"), Clock())


def test_lines_are_numbered_and_linked_by_their_bytes(shelf, journal):
    for _ in range(3):
        journal.add(RESUMED)
    journal.flush()
    journal.add(RESUMED)
    journal.flush()
    prev = "0" * 64
    for seq, (first, kind, line) in enumerate(shelf.rows, 1):
        event = json.loads(line)
        assert (event["seq"], first, kind) == (seq, seq, "debate.resumed")
        assert event["prev"] == prev
        prev = sha256(line).hexdigest()
    assert [extras.head.length for extras in shelf.extras] == [3, 4]
    assert shelf.extras[-1].head.hash == prev


def test_blobs_go_with_the_next_lines_and_never_alone(shelf, journal):
    named = journal.blob("a text")
    journal.flush()
    assert shelf.rows == []
    journal.add(RESUMED)
    journal.flush()
    ((name, file),) = shelf.extras[0].blobs
    assert named == {"sha256": name}
    assert blob.unpack(file) == "a text" == journal.texts[name]


def test_the_same_text_twice_has_two_salts(journal):
    assert journal.blob("a text") != journal.blob("a text")


def test_nothing_to_write_writes_nothing(shelf, journal):
    journal.flush()
    assert shelf.extras == []


def test_a_failed_flush_loses_nothing_and_can_be_repeated(shelf, journal):
    journal.blob("a text")
    journal.add(RESUMED)
    shelf.error = DataError("store.failed", "the disk is full")
    with pytest.raises(DataError):
        journal.flush()
    shelf.error = None
    journal.add(RESUMED)
    journal.flush()
    assert [row[0] for row in shelf.rows] == [1, 2]
    assert len(shelf.extras[0].blobs) == 1


def test_a_fact_that_does_not_fit_a_line_takes_no_number(shelf, journal):
    journal.add(RESUMED)
    with pytest.raises(DataError) as error:
        journal.add(Fact("debate.resumed", {"engine": "two words"}))
    assert error.value.code == "4.profile"
    journal.add(RESUMED)
    journal.flush()
    assert [json.loads(line)["seq"] for _, _, line in shelf.rows] == [1, 2]
    assert json.loads(shelf.rows[1][2])["prev"] == sha256(shelf.rows[0][2]).hexdigest()


def test_a_text_with_a_lone_surrogate_is_refused(shelf, journal):
    with pytest.raises(DataError) as error:
        journal.blob("\ud800")
    assert error.value.code == "8.text"
    journal.add(RESUMED)
    journal.flush()
    assert shelf.extras[0].blobs == []


def test_a_conflict_is_passed_on(shelf, journal):
    journal.add(RESUMED)
    shelf.error = UsageError("store.conflict", "another process is writing")
    with pytest.raises(UsageError):
        journal.flush()


# The times of a debate: the wall clock read once, and moved on by a clock that nobody sets


class Given(Clock):
    """A wall clock and a monotonic clock that a test sets."""

    wall, seconds = "2026-11-21T20:00:00.000000Z", 100.0

    def now(self):
        return self.wall

    def monotonic(self):
        return self.seconds


def test_times_move_with_the_monotonic_clock_whatever_the_wall_clock_does():
    clock = Given()
    time = clock.timeline()
    assert time() == "2026-11-21T20:00:00.000000Z"
    clock.wall, clock.seconds = "2020-01-01T00:00:00.000000Z", 101.5
    assert time() == "2026-11-21T20:00:01.500000Z"
    clock.wall = "2036-01-01T00:00:00.000000Z"
    assert time() == "2026-11-21T20:00:01.500000Z"


@pytest.mark.parametrize(
    ("after", "first"),
    [
        ("", "2026-11-21T20:00:00.000000Z"),
        ("2026-11-21T19:59:59.999999Z", "2026-11-21T20:00:00.000000Z"),
        ("2026-11-21T20:00:00.000001Z", "2026-11-21T20:00:00.000001Z"),
        ("2026-02-31T00:00:00.000000Z", "2026-11-21T20:00:00.000000Z"),  # a day that is none
    ],
)
def test_they_begin_where_the_record_ends_if_the_wall_clock_is_behind_it(after, first):
    assert Given().timeline(after)() == first


def test_they_end_with_the_last_time_that_an_entry_can_hold():
    clock = Given()
    time = clock.timeline("9999-12-31T23:59:59.000000Z")
    clock.seconds += 3
    assert time() == "9999-12-31T23:59:59.999999Z"


def test_the_machines_clock_has_the_form_of_an_entry():
    assert len(Clock().now()) == len("2026-11-21T20:00:00.000000Z")
    clock = Given()
    clock.wall = "0001-01-01T00:00:00.000000Z"
    assert clock.timeline()() == clock.wall


@pytest.mark.parametrize("text", ["", "a", "größer", "漢字", "\U0001f600", "\x00\n\u2028"])
def test_texts_are_given_back_as_they_came(text):
    texts = Texts()
    texts["one"] = texts["two"] = text
    assert (dict(texts), len(texts), "one" in texts) == ({"one": text, "two": text}, 2, True)
    assert texts.pop("one") == text
    assert (texts.get("one"), "one" in texts, list(texts)) == (None, False, ["two"])
    with pytest.raises(KeyError, match="one"):
        texts["one"]


@pytest.mark.parametrize("sign", ["é", "漢", "\U0001f600"])
def test_one_sign_does_not_make_a_text_four_times_as_large(sign):
    texts, many = Texts(), 100_000

    def fill():
        for number in range(10):
            texts[f"{number}"] = "x" * many + sign

    _, most = traced(fill)
    assert most < 20 * many  # of which the last one, as it came, takes five


def test_a_journal_knows_what_its_record_takes_in_an_export(shelf, journal):
    journal.blob("something ☂")
    journal.add(RESUMED)
    journal.attach([("a" * 64, b"a template")], None)
    journal.blob("some more")
    journal.flush()
    (extras,) = shelf.extras
    lines = [line for _, _, line in shelf.rows]
    assert journal.size == Bundle(lines, dict(extras.blobs), dict(extras.templates)).size
