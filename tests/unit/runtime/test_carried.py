"""A review that is signed away from the store becomes the entry that it would have been there."""

import json
from copy import deepcopy
from hashlib import sha256

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hansard
import instant
from hansard.errors import DataError, UsageError
from hansard.record import blob
from hansard.record.bundle import to_files
from hansard.record.line import line_hash
from hansard.record.note import Signer
from hansard.runtime import carried, redacting, reviewing
from hansard.runtime.signed import Said
from hansard.store.application import Batch
from hansard.store.database import Extras
from playing import BASE, MODEL, answer
from reviewing import ANN, BOB, TRUST, signer, trusting

MEMORY = "sqlite:///:memory:"
WHOLE = Said("conditions", "Ann Lee", "Nearly ☂.", ["Ask the insurer.", "Ask again."])
APPROVED = Said("approved", "Ann Lee", None, [])
SPEC = {"format": "judged", "question": "Shall we?", "model": MODEL, **BASE["judged"]}


class Fixed(instant.Held):
    """A clock that always gives the same time, and the same salts in the same order."""

    at = "2027-01-01T00:00:00.000000Z"

    def __init__(self, salts=0):
        self.salts = salts

    def now(self):
        return self.at

    def salt(self):
        self.salts += 1
        return sha256(bytes([self.salts])).digest()


def copied(bundle, debate):
    """A store of its own that holds this record."""
    store = hansard.open_store(MEMORY, create=True)
    events = map(json.loads, bundle.lines)
    lines = [(event["type"], line) for event, line in zip(events, bundle.lines, strict=True)]
    extras = Extras(bundle.head, [*bundle.blobs.items()], [*bundle.templates.items()], None)
    store.append(Batch(debate, 1, lines, extras))
    return store


@pytest.fixture(scope="module")
def ended():
    """The record of a debate that has ended, with its id."""
    with hansard.open_store(MEMORY, create=True) as store:
        found = hansard.run_sync(SPEC, models={"bot": answer}, store=store)
        return store.bundle(found.debate), found.debate


@pytest.fixture
def store(ended):
    with copied(*ended) as shelf:
        yield shelf


def sign(store, debate, said=APPROVED, by=ANN, trust=TRUST, clock=None):
    return carried.sign(store.bundle(debate), said, by, trust, clock or Fixed())


def take_in(store, debate, file, trust=TRUST):
    reviewing.take_in(debate, store, carried.parse(file.dump()), trust, Fixed())


def refused(error, code, store, debate, file, trust=TRUST):
    before = store.bundle(debate)
    with pytest.raises(error) as caught:
        take_in(store, debate, file, trust)
    assert caught.value.code == code
    assert "\n" not in str(caught.value)
    assert store.bundle(debate) == before


@pytest.mark.parametrize("said", [WHOLE, APPROVED, Said("remanded", " Ann ", "Why?", ())])
def test_the_entry_has_the_bytes_of_one_that_was_signed_in_the_store(ended, store, said):
    debate = ended[1]
    with copied(*ended) as other:
        reviewing.review(debate, other, said, ANN, TRUST, clock=Fixed())
        take_in(store, debate, sign(store, debate, said))
        assert store.bundle(debate) == other.bundle(debate)
    assert hansard.verify(store, debate, TRUST).ok
    found = hansard.result(store, debate, TRUST).reviewed.reviews[0]
    assert (found.reviewer, found.comment) == (said.reviewer.strip(), said.comment)
    assert found.counts


def test_signing_writes_nothing_and_an_imported_review_is_dated_when_it_is_taken_in(ended, store):
    debate = ended[1]
    before = store.bundle(debate)
    file = sign(store, debate)
    assert store.bundle(debate) == before
    take_in(store, debate, file)
    assert json.loads(store.bundle(debate).lines[-1])["at"] == Fixed.at
    assert "at" not in json.loads(file.dump())


def test_others_may_sign_meanwhile_but_not_the_same_key(ended, store):
    debate = ended[1]
    mine = sign(store, debate)
    theirs = sign(store, debate, by=BOB, clock=Fixed(1))
    take_in(store, debate, theirs)
    take_in(store, debate, mine)
    heads = [json.loads(line)["data"].get("head") for line in store.bundle(debate).lines[-2:]]
    assert heads == [line_hash(ended[0].lines[-1])] * 2
    assert hansard.verify(store, debate, TRUST).ok
    later = sign(store, debate, Said("rejected", "Ann", "No.", []), clock=Fixed(2))
    renamed = Signer("house/cat", ANN.private)
    behind = carried.sign(ended[0], WHOLE, renamed, trusting(renamed), Fixed(10))
    refused(UsageError, "review.head", store, debate, behind, trusting(renamed))
    take_in(store, debate, later)
    refused(UsageError, "review.recorded", store, debate, later)
    refused(UsageError, "review.recorded", store, debate, mine)
    altered = mine.model_copy(update={"outcome": "remanded", "comment": mine.reviewer})
    refused(DataError, "review.forged", store, debate, altered)


def test_a_salt_that_is_used_already_is_refused_since_it_would_spoil_the_record(ended, store):
    debate = ended[1]
    take_in(store, debate, sign(store, debate))
    other = Said("approved", "Bob Lee", None, [])  # another text under the same salt
    refused(UsageError, "review.salt", store, debate, sign(store, debate, by=BOB))
    refused(UsageError, "review.salt", store, debate, sign(store, debate, other, by=BOB))

    class Stuck(Fixed):
        def salt(self):
            return bytes(32)

    for twice in ("Ask.", "Ask again."):
        said = Said("conditions", "Ann", None, ["Ask.", twice])
        refused(UsageError, "review.salt", store, debate, sign(store, debate, said, clock=Stuck()))


def test_an_erased_text_does_not_come_back_in_a_review(ended, store):
    bundle, debate = ended
    words = redacting.Words("They asked for it.", "GDPR, Article 17", "The Board")
    redacting.redact(debate, store, ["1.question"], words, [ANN], TRUST, clock=Fixed(10))
    question = bundle.blobs[json.loads(bundle.lines[0])["data"]["question"]["sha256"]]
    salts = [bytes.fromhex(blob.salt_of(question)), bytes(32)]

    class Known(Fixed):  # of somebody who has an export made before
        def salt(self):
            return salts.pop()

    said = Said("rejected", "Bob Lee", SPEC["question"], [])
    file = sign(store, debate, said, by=BOB, clock=Known())
    refused(UsageError, "review.salt", store, debate, file)
    assert hansard.verify(store, debate, TRUST).ok


def test_a_review_of_entries_that_the_store_has_not_is_refused(ended, store):
    debate = ended[1]
    with copied(*ended) as other:
        reviewing.hold(debate, other, None)
        refused(UsageError, "review.head", store, debate, sign(other, debate))


def test_a_review_of_another_debate_is_refused(ended, store):
    other = hansard.run_sync(SPEC, models={"bot": answer}, store=store).debate
    refused(UsageError, "review.other", store, other, sign(store, ended[1]))


def test_whose_key_counts_is_asked_when_it_is_taken_in(ended, store):
    debate = ended[1]
    file = sign(store, debate)
    refused(UsageError, "review.untrusted", store, debate, file, trusting(BOB))
    refused(UsageError, "review.untrusted", store, debate, file, trusting(ANN, role="export"))
    revoked = trusting(ANN, revoked=Fixed.at)
    refused(UsageError, "review.untrusted", store, debate, file, revoked)
    past = trusting(ANN, until=Fixed.at)
    refused(UsageError, "review.untrusted", store, debate, file, past)
    with pytest.raises(UsageError) as caught:
        sign(store, debate, trust=trusting(ANN, revoked=Fixed.at))
    assert caught.value.code == "review.untrusted"


def test_a_clock_that_is_behind_the_record_signs_at_its_last_entry(ended, store):
    late = Fixed()
    late.at = "1999-01-01T00:00:00.000000Z"
    last = json.loads(ended[0].lines[-1])["at"]
    assert sign(store, ended[1], trust=trusting(ANN, **{"from": last}), clock=late)


def test_somebody_involved_is_refused_there_and_here(store):
    spec = SPEC | {"requester": {"name": "Ann", "key": ANN.name}}
    debate = hansard.run_sync(spec, models={"bot": answer}, store=store).debate
    with pytest.raises(UsageError) as caught:
        sign(store, debate)
    assert caught.value.code == "review.involved"
    alias = Signer("elsewhere/ann", ANN.private)
    file = sign(store, debate, by=alias, trust=trusting(alias))
    refused(UsageError, "review.involved", store, debate, file, trusting(ANN, alias))


def test_an_open_debate_is_not_reviewed_anywhere(ended):
    bundle = ended[0]
    with pytest.raises(UsageError) as caught:
        carried.sign(bundle.__class__(bundle.lines[:-1], {}, {}), APPROVED, ANN, TRUST)
    assert caught.value.code == "review.open"
    assert "export" in str(caught.value)

    def broken(event):
        if event["type"] == "call.started":
            raise KeyboardInterrupt

    with hansard.open_store(MEMORY, create=True) as store:
        with pytest.raises(KeyboardInterrupt):
            hansard.run_sync(SPEC, models={"bot": answer}, store=store, observe=broken)
        (left,) = store.debates()
        file = carried.sign(bundle, APPROVED, ANN, TRUST).model_copy(update={"debate": left})
        refused(UsageError, "review.open", store, left, file)


def test_a_debate_of_which_a_thousand_things_are_said_takes_no_more(ended, store, monkeypatch):
    monkeypatch.setattr("hansard.rules.after.MOST_AFTER", 1)
    debate = ended[1]
    file = sign(store, debate)
    take_in(store, debate, sign(store, debate, by=BOB, clock=Fixed(1)))
    refused(UsageError, "review.full", store, debate, file)
    with pytest.raises(UsageError) as caught:
        sign(store, debate)
    assert caught.value.code == "review.full"


@pytest.mark.parametrize("what", ["MAX_EXPORT", "MAX_FILES"])
def test_nothing_is_said_that_an_export_has_no_room_for(ended, store, monkeypatch, what):
    """A review has up to 22 texts, and a thousand may follow: the record fitted no export."""
    debate = ended[1]
    file = sign(store, debate)
    with copied(*ended) as other:
        take_in(other, debate, file)
        grown = other.bundle(debate)
    files = len(to_files(grown)) + 6
    most = grown.size + reviewing._BESIDE if what == "MAX_EXPORT" else files
    monkeypatch.setattr(reviewing, what, most - 1)
    refused(UsageError, "review.full", store, debate, file)
    monkeypatch.setattr(reviewing, what, most)
    take_in(store, debate, file)
    assert store.bundle(debate) == grown


def test_a_hold_on_a_full_record_can_be_lifted(ended, store, monkeypatch):
    """Nothing of it could be erased any more."""
    debate = ended[1]
    reviewing.hold(debate, store, None)
    monkeypatch.setattr(reviewing, "MAX_EXPORT", 0)
    reviewing.hold(debate, store, None, lift=True)
    with pytest.raises(UsageError) as caught:
        reviewing.hold(debate, store, None)
    assert caught.value.code == "review.full"


@pytest.mark.parametrize(
    "said",
    [
        Said("approved", " ", None, []),
        Said("approved", "\u200b", None, []),
        Said("approved", "Ann\nLee", None, []),
        Said("approved", "x" * 201, None, []),
        Said("approved", "Ann \udcff", None, []),
        Said("rejected", "Ann", "\t", []),
        Said("conditions", "Ann", None, [" "]),
    ],
)
def test_what_says_nothing_is_not_signed(ended, said):
    with pytest.raises(UsageError) as caught:
        carried.sign(ended[0], said, ANN, TRUST)
    assert caught.value.code == "review.text"


# A hostile file ---------------------------------------------------------------------------

FORM = {
    "review": "hansard-review/v1",
    "debate": "0a1b2c3d-0000-4000-8000-000000000000",
    "head": "a" * 64,
    "outcome": "approved",
    "reviewer": {"salt": "b" * 64, "text": "Ann"},
    "comment": None,
    "conditions": [],
    "signature": {"key": str(ANN.key), "value": "A" * 86 + "=="},
}


def malformed(data):
    with pytest.raises(DataError) as caught:
        carried.parse(data)
    assert caught.value.code == "review.malformed"


def test_a_file_is_read_in_its_form_alone():
    good = json.dumps(FORM)
    assert carried.parse(good.encode()).dump() == (json.dumps(FORM, indent=1) + "\n").encode()
    for name in FORM:
        malformed(json.dumps({key: row for key, row in FORM.items() if key != name}).encode())
        malformed(json.dumps(FORM | {name: 1}).encode())
    malformed(json.dumps(FORM | {"at": Fixed.at}).encode())
    malformed(f'{good[:-1]}, "outcome": "rejected"}}'.encode())  # a key twice
    malformed(good.encode("utf-16"))
    malformed(good.replace("Ann", "\\ud800").encode())
    malformed(good.encode() + b" " * carried.MAX_REVIEW)
    malformed(json.dumps(FORM | {"conditions": [FORM["reviewer"]] * 21}).encode())
    malformed(json.dumps(FORM | {"reviewer": {"salt": "b" * 64, "text": "x" * 10_001}}).encode())
    malformed(b"[" * 1_000_000)
    malformed(b"")


@given(st.binary() | st.recursive(st.none() | st.text(), st.lists).map(json.dumps))
def test_whatever_is_read_is_a_review_or_malformed(data):
    malformed(data if isinstance(data, bytes) else data.encode())


def leaves(value, path=()):
    rows = value.items() if isinstance(value, dict) else enumerate(value)
    for key, row in rows:
        if isinstance(row, dict | list) and row:
            yield from leaves(row, (*path, key))
        else:
            yield (*path, key), row


def changed(value, path, row):
    value = deepcopy(value)
    place = value
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = row
    return value


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_file_that_was_changed_anywhere_is_refused(ended, store, data):
    debate = ended[1]
    value = json.loads(sign(store, debate, WHOLE).dump())
    path, row = data.draw(st.sampled_from([*leaves(value)]))
    other = row
    if isinstance(row, str):
        at = data.draw(st.integers(0, len(row) - 1))
        other = row[:at] + data.draw(st.sampled_from("0aZ1 ☂")) + row[at + 1 :]
    if other == row:
        other = data.draw(st.sampled_from([None, "", "x", [], {}]))
    file, before = json.dumps(changed(value, path, other)).encode(), store.bundle(debate)
    with pytest.raises((DataError, UsageError)) as caught:
        reviewing.take_in(debate, store, carried.parse(file), TRUST, Fixed())
    codes = ("malformed", "forged", "other", "conditions", "untrusted", "text", "head")
    assert caught.value.code in [f"review.{code}" for code in codes]
    assert store.bundle(debate) == before


def test_a_key_of_somebody_else_under_a_trusted_name_is_refused(ended, store):
    impostor = Signer(ANN.name, signer("stranger/x").private)
    file = sign(store, ended[1], by=impostor, trust=trusting(impostor))
    refused(UsageError, "review.untrusted", store, ended[1], file)
    swapped = file.model_copy(update={"signature": {**file.signature, "key": str(ANN.key)}})
    refused(DataError, "review.forged", store, ended[1], swapped)
