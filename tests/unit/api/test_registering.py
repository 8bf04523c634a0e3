"""What a kept checkpoint shows of a store: nothing dropped, nothing rewound, one history."""

import shutil
import sqlite3
from base64 import b64encode
from contextlib import closing
from pathlib import Path

import pytest

import hansard
from hansard import (
    DataError,
    ForkError,
    UsageError,
    add_cosigned,
    add_to_register,
    approve_prompts,
    parse_policy,
    prove,
    prove_since,
    read_record,
    read_register,
    sign_checkpoint,
)
from hansard.governance import registrar
from hansard.record import checkpoint, keys, note, tree
from hansard.record.note import Signer
from hansard.report import registered
from measuring import traced
from registering import SPEC, House, Outside


@pytest.fixture
def house(tmp_path):
    return House(tmp_path)


def test_a_register_that_goes_on_extends_every_checkpoint_of_it(house):
    kept = []
    for _ in range(4):
        house.debate()
        kept.append(house.checkpoint())
    for each in kept:
        found = house.found(each)
        assert (found.ok, found.signed_by) == (True, (house.keys.signer("log").name,))
    assert (found.debates, found.lines, found.since) == (4, 8, 8)


def test_both_notes_of_a_fork_are_signed_where_both_were(house, tmp_path):
    house.debate()
    shutil.copyfile(house.path, tmp_path / "backup")
    house.debate()
    kept = house.checkpoint()
    shutil.copyfile(tmp_path / "backup", house.path)
    house.debate()
    other = house.checkpoint()
    (found,) = house.found(kept).findings
    assert tuple(note.encode() for note in found.notes) == (kept, other)
    key = house.keys.signer("log").key
    assert all(checkpoint.parse(note).note.signed_by(key) for note in (kept, other))


def test_what_is_not_registered_or_ends_otherwise_is_named(house):
    one, other = (house.debate().replace("-", "") for _ in range(2))
    house.sql(f"UPDATE heads SET head = '{'0' * 64}' WHERE debate = '{one}'")
    assert house.codes() == ["register.head"]
    house.sql(
        "UPDATE stored_events SET state = CAST(state || ' ' AS BLOB) WHERE originator_version = 1 "
        f"AND originator_id = '{other}'"
    )
    assert sorted(house.codes()) == ["register.head", "register.opening"]


def test_a_last_entry_that_was_changed_is_named_though_its_hash_beside_it_was_not(house):
    one = house.debate().replace("-", "")
    end = f"WHERE originator_id = '{one}' AND topic = 'debate.closed'"
    house.sql(f"UPDATE stored_events SET state = CAST(state || ' ' AS BLOB) {end}")
    assert house.codes() == ["register.head"]


def test_an_entry_after_the_close_that_was_not_registered_is_named_whatever_its_label(house):
    one = house.debate()
    with house.store() as store:
        size = store.register.size
        said = {"signer": house.keys.signer("reviewer"), "trust": house.keys.trust()}
        hansard.review(one, "rejected", store=store, reviewer="Ann", comment="No.", **said)
    house.sql(
        f"DELETE FROM register WHERE place >= {size}",
        f"DELETE FROM checkpoints WHERE size > {size}",
        f"DELETE FROM register_hashes WHERE place >= {tree.stored_hashes(size)}",
    )
    assert house.codes() == ["register.head"]
    house.sql("UPDATE stored_events SET topic = 'call.answered' WHERE topic = 'review.signed'")
    assert house.codes() == ["register.head"]


@pytest.mark.parametrize("few", [1, 2, 500])
def test_a_debate_that_was_recorded_otherwise_before_is_named_as_in_a_folder(
    house, monkeypatch, few
):
    """Its opening is the old one, and the register was told of the new end."""
    monkeypatch.setattr("hansard.store.register._FEW", few)
    one, other = house.debate(), house.debate()
    with house.store() as store:
        for comment in ("No.", "Never."):
            said = {"reviewer": "Ann", "signer": house.keys.signer("reviewer"), "comment": comment}
            hansard.review(one, "rejected", store=store, trust=house.keys.trust(), **said)
    assert house.codes() == []
    house.record_anew(other)
    assert house.codes() == ["register.head"], "the register was not told"
    house.tell_register(other)
    (found,) = house.found().findings
    assert (found.code, found.line) == ("17.replaced", 4)
    assert found.message.startswith(f"debate {other[:8]} was recorded otherwise before")


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("UPDATE checkpoints SET note = x'00' WHERE size = 2", "17.kept"),
        ("INSERT INTO register VALUES (4503599627370496, 'tag', x'00')", "17.line"),
    ],
)
def test_a_note_that_is_none_and_a_line_far_beyond_are_named(house, statement, code):
    house.debate(2)
    house.sql(statement)
    assert code in house.codes()


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["Walk", "_stored"])
def test_debates_that_go_on_while_a_register_is_read_are_no_findings(house, monkeypatch, moment):
    """Neither their checkpoints nor their debates are of the moment that is read."""
    house.debate()
    step = getattr(registered, moment)

    def beside(*given):
        house.debate()
        return step(*given)

    monkeypatch.setattr(registered, moment, beside)
    found = house.found()
    assert (found.ok, found.lines, found.debates) == (True, 2, 1)
    assert house.found().lines == 4


def test_a_line_that_is_gone_ends_the_reading(house):
    house.debate(2)
    house.sql("DELETE FROM register WHERE place = 1")
    assert [(row.code, row.line) for row in house.found().findings] == [("17.line", 2)]


def test_a_signed_note_of_another_root_is_named(house):
    house.debate()
    house.checkpoint()
    house.debate()
    house.sql("UPDATE checkpoints SET note = (SELECT note FROM checkpoints WHERE size = 2)")
    assert set(house.codes()) == {"17.kept"}


def test_a_checkpoint_of_another_store_says_nothing_of_this_one(house, tmp_path):
    other = House(tmp_path, "other")
    for each in (house, other):
        each.debate()
        each.checkpoint()
    assert house.codes(other.checkpoint()) == ["17.origin"]


def test_a_kept_checkpoint_that_was_altered_is_not_taken_for_a_fork(house):
    house.debate()
    altered = house.checkpoint().replace(b"\n2\n", b"\n1\n")
    with pytest.raises(DataError) as caught:
        house.found(altered)
    assert caught.value.code == "checkpoint.forged"
    house.debate()
    assert house.found(signed_by_a_stranger(house)).signed_by == ()


def signed_by_a_stranger(house):
    """The latest checkpoint, signed by a key that nobody trusts but of the right name."""
    with house.store() as store:
        name = store.register.origin.rpartition("/")[0]
        return sign_checkpoint(store, Signer(name, keys.generate()))


def test_a_checkpoint_is_signed_once_and_then_kept(house):
    house.debate()
    first = house.checkpoint()
    assert house.checkpoint() == first
    with house.store() as store:
        found = read_register(store)
    assert (found.checkpoints, found.signed, found.latest.signed) == (2, 1, True)


def test_memory_does_not_grow_with_the_checkpoints(house):
    house.debate()

    def most(count):
        house.sql(
            "INSERT OR IGNORE INTO checkpoints (size, root) WITH RECURSIVE number(size) AS "
            f"(SELECT 3 UNION ALL SELECT size + 1 FROM number WHERE size < {count}) "
            "SELECT size, zeroblob(32) FROM number"
        )
        with house.store() as store:
            found, peak = traced(lambda: read_register(store))
        assert (found.checkpoints, found.latest.lines) == (count, count)
        return peak

    most(10)  # what is read once
    few = most(1_000)
    assert most(6_000) < few + 50_000


# Proofs


def test_a_debate_is_proven_by_its_first_and_its_last_line(house):
    debate = house.debate()
    house.debate()
    with house.store() as store:
        record = prove(store, read_record(store, debate), house.keys.signer("log"))
        proofs = {name: checkpoint.parse_proof(data) for name, data in record.bundle.proofs.items()}
    assert all(proof.holds() for proof in proofs.values())
    assert proofs["opened"].line.kind == "opened"
    assert proofs["head"].line.head == record.head
    assert proofs["head"].checkpoint.head.size == 4


def test_an_open_debate_is_registered_as_far_as_it_is(house):
    def stop(event):
        if event["type"] == "call.answered":
            raise RuntimeError

    with house.store() as store, pytest.raises(hansard.SeatError) as caught:
        hansard.run_sync(SPEC, models={"ask": lambda _: "Because."}, store=store, observe=stop)
    debate = caught.value.debate
    assert house.codes() == []
    with house.store() as store:
        first = prove(store, read_record(store, debate), house.keys.signer("log"))
        assert checkpoint.parse_proof(first.bundle.proofs["head"]).line.head == first.head
        assert read_register(store).kinds == {"opened": 1, "head": 1}
        hansard.resume_sync(debate, store=store, models={"ask": lambda _: "Because."})
        last = prove(store, read_record(store, debate), house.keys.signer("log"))
    proof = checkpoint.parse_proof(last.bundle.proofs["head"])
    assert (proof.line.index, proof.line.head) == (2, last.head)
    assert house.codes() == []


def test_an_open_debate_is_registered_before_the_checkpoint_of_a_folder(house, tmp_path):
    def stop(event):
        if event["type"] == "call.answered":
            raise RuntimeError

    signer = house.keys.signer
    house.debate()
    with house.store() as store, pytest.raises(hansard.SeatError) as caught:
        hansard.run_sync(SPEC, models={"ask": lambda _: "Because."}, store=store, observe=stop)
    with house.store() as store:
        out = tmp_path / "all"
        done = hansard.export_debates(
            store, store.debates(), out, signer("export"), log=signer("log")
        )
        assert (done.written, done.left_out) == (2, ())
        assert read_register(store).kinds == {"opened": 2, "head": 2}
        debates = store.debates()
    kept = (out / "checkpoint").read_bytes()
    found = hansard.verify_exports(out, house.keys.trust(), kept)
    assert (found.verdict, found.caveats) == ("INTACT, ANCHORED", ["1 of 2 records with caveats"])
    with house.store() as store:
        hansard.resume_sync(caught.value.debate, store=store, models={"ask": lambda _: "Because."})
        again = hansard.export_debates(
            store, debates, tmp_path / "again", signer("export"), log=signer("log")
        )
    assert again.written == 2
    found = hansard.verify_exports(tmp_path / "again", house.keys.trust(), kept)
    assert (found.verdict, found.caveats) == ("INTACT, ANCHORED", [])


def test_a_proof_asks_for_the_key_only_where_no_checkpoint_is_late_enough(house):
    debate = house.debate()
    note = house.checkpoint()
    house.debate()

    def refuse():
        raise AssertionError("asked for the key")

    with house.store() as store:
        record = prove(store, read_record(store, debate), refuse)
        assert record.bundle.proofs["head"].endswith(note)
        late = house.debate()
        with pytest.raises(AssertionError):
            prove(store, read_record(store, late), refuse)


def test_an_altered_record_has_no_proofs(house):
    debate = house.debate()
    house.sql("UPDATE stored_events SET state = CAST(replace(state, 'engine', 'ngine_') AS BLOB)")
    with house.store() as store:
        with pytest.raises(DataError) as caught:
            prove(store, read_record(store, debate), house.keys.signer("log"))
        assert read_register(store).lines == 2
    assert caught.value.code == "record.altered"


def test_a_register_is_not_extended_from_what_it_is_not(house, tmp_path):
    house.debate()
    shutil.copyfile(house.path, tmp_path / "backup")
    house.debate()
    kept = house.checkpoint()
    log = house.keys.signer("log")
    with house.store() as store:
        assert prove_since(store, kept, log).splitlines()[0] == b"old 4"
        assert prove_since(store, kept, log).endswith(b"\n\n" + kept)
    shutil.copyfile(tmp_path / "backup", house.path)
    with house.store() as store, pytest.raises(UsageError) as caught:
        prove_since(store, kept, log)
    assert caught.value.code == "register.rewound"
    house.debate()
    with house.store() as store, pytest.raises(ForkError) as forked:
        prove_since(store, kept, log)
    assert forked.value.code == "register.fork"
    assert forked.value.notes[0] == kept
    other = House(tmp_path, "other")
    other.debate()
    with house.store() as store, pytest.raises(UsageError) as caught:
        prove_since(store, other.checkpoint(), log)
    assert caught.value.code == "register.other"


def test_a_debate_is_proven_under_the_checkpoint_that_its_recipient_kept(house, tmp_path):
    debate = house.debate()
    kept = house.checkpoint()
    late = house.debate()
    house.checkpoint()
    log = house.keys.signer("log")
    with house.store() as store:
        record = prove(store, read_record(store, debate), log, under=kept)
        assert record.bundle.proofs["head"].endswith(kept)
        assert checkpoint.parse_proof(record.bundle.proofs["head"]).holds()
        with pytest.raises(UsageError) as caught:
            prove(store, read_record(store, late), log, under=kept)
        assert caught.value.code == "register.late"
    other = House(tmp_path, "other")
    other.debate()
    with house.store() as store, pytest.raises(UsageError) as caught:
        prove(store, read_record(store, debate), log, under=other.checkpoint())
    assert caught.value.code == "register.other"


# Witnesses


@pytest.fixture
def outside(tmp_path, house):
    return Outside(tmp_path, house)


def since(house, kept):
    with house.store() as store:
        return prove_since(store, kept, house.keys.signer("log"))


def test_a_witness_cosigns_what_extends_the_last_checkpoint_that_it_saw(house, outside):
    house.debate()
    first = house.checkpoint()
    made = outside.cosign(first)
    assert (made.before, made.checkpoint.head.size) == (None, 2)
    assert checkpoint.parse(made.note).note.signed_by(outside.keys.public("witness"))
    house.debate()
    made = outside.cosign(since(house, first))
    assert (made.before, made.checkpoint.head.size) == (2, 4)
    assert outside.cosign(house.checkpoint()).before == 4, "the same again needs no proof"
    with house.store() as store:
        trust = house.trusts(outside)
        assert add_cosigned(store, made.note, trust) == (1, 0)
        assert add_cosigned(store, made.note, trust) == (0, 0)
        unsigned = made.note.replace(b"\n4\n", b"\n3\n").replace(
            made.note.splitlines()[2], b64encode(store.register.root(3))
        )
        with pytest.raises(UsageError) as caught:
            add_cosigned(store, unsigned, trust)
        assert caught.value.code == "register.unsigned"
        latest = read_register(store, trust).latest
        assert (latest.witnesses, latest.others) == ((outside.signer.name,), 0)
        latest = read_register(store).latest
        assert (latest.witnesses, latest.others) == ((), 1), "of no key that the reader trusts"
    assert house.codes(made.note) == []


def test_only_what_a_trusted_witness_signed_is_taken_in(house, outside, tmp_path):
    """C2SP tlog-witness: the client ignores the cosignatures of unknown keys."""
    house.debate()
    own = house.checkpoint()
    other = Outside(tmp_path / "other", house)
    size = len(own)
    right, strange = (by.cosign(own).note[size:] for by in (outside, other))
    again = checkpoint.cosign(own, outside.signer, 1)[size:]
    longer = note.DASH + b"pq.example " + b64encode(bytes(4) + bytes(2428)) + b"\n"
    wrong = right.replace(right.split()[2], b64encode(outside.key.id + bytes(72)))
    trust = house.trusts(outside)

    def add(*lines):
        with house.store() as store:
            return add_cosigned(store, own + b"".join(lines), trust)

    def kept():
        with house.store() as store:
            found = store.register.signed(0)
        return found.note[size:]

    for lines, code in (
        ((), "register.witness"),
        ((strange, longer), "register.witness"),
        ((right, wrong), "checkpoint.forged"),
        ((wrong,), "checkpoint.forged"),
    ):
        with pytest.raises((UsageError, DataError)) as caught:
            add(*lines)
        assert (caught.value.code, kept()) == (code, b"")
    assert add(strange, right, longer, again) == (1, 3)
    assert kept() == right
    trust = house.trusts(other)
    assert add(strange, right) == (1, 0)
    assert kept() == right + strange


def test_nobody_writes_between_the_lines_that_are_there_and_those_that_are_kept(
    house, outside, monkeypatch
):
    """Else one of two that take in lines at once would lose those of the other."""
    house.debate()
    seen = outside.cosign(house.checkpoint()).note
    witnessed = registrar._witnessed

    def beside(*given):
        with (
            closing(sqlite3.connect(house.path, timeout=0)) as other,
            pytest.raises(sqlite3.OperationalError, match="locked"),
        ):
            other.execute("UPDATE checkpoints SET note = note")
        return witnessed(*given)

    monkeypatch.setattr(registrar, "_witnessed", beside)
    with house.store() as store:
        assert add_cosigned(store, seen, house.trusts(outside)) == (1, 0)


def test_a_checkpoint_that_was_cosigned_while_it_was_signed_keeps_the_line(
    house, outside, monkeypatch
):
    house.debate()
    sign, trust = checkpoint.sign, house.trusts(outside)

    def beside(*given):
        with monkeypatch.context() as usual, house.store() as other:
            usual.setattr(checkpoint, "sign", sign)
            note = sign_checkpoint(other, house.keys.signer("log"))
            add_cosigned(other, outside.cosign(note).note, trust)
        return sign(*given)

    monkeypatch.setattr(checkpoint, "sign", beside)
    made = checkpoint.parse(house.checkpoint())
    assert [row.name for row in made.cosigned(trust)] == [outside.signer.name]
    with house.store() as store:
        assert store.register.checkpoint(2).note == made.data


def test_a_later_log_key_signs_beside_the_earlier_one_and_its_witnesses(house, outside):
    house.debate()
    first, trust = house.checkpoint(), house.trusts(outside)
    with house.store() as store:
        add_cosigned(store, outside.cosign(first).note, trust)
    earlier = house.keys.public("log")
    later = house.keys.rotate("log")
    again = checkpoint.parse(house.checkpoint())
    assert all(map(again.note.signed_by, (earlier, later)))
    assert [row.name for row in again.cosigned(trust)] == [outside.signer.name]
    assert house.checkpoint() == again.data
    assert house.codes(again.data) == []
    with house.store() as store:
        assert store.register.signed(0).note == again.data


def test_a_line_that_the_log_key_never_wrote_does_not_stay_in_its_name(house):
    """Else whoever can write into the store would let each later checkpoint pass for forged."""
    house.debate()
    own = house.checkpoint()
    planted = own.replace(own.split()[-1], b64encode(house.keys.public("log").id + bytes(64)))
    house.sql(f"UPDATE checkpoints SET note = X'{planted.hex()}' WHERE size = 2")
    assert house.checkpoint() == own


def test_what_was_signed_with_other_lines_under_it_is_not_signed_over(house):
    """Both notes would prove the fork; one in the place of the other hides it."""
    house.debate()
    own = house.checkpoint()
    other = checkpoint.Head(house_origin(house), 2, bytes(32))
    planted = checkpoint.sign(other, house.keys.signer("log"))
    house.sql(f"UPDATE checkpoints SET note = X'{planted.hex()}' WHERE size = 2")
    with pytest.raises(ForkError) as caught:
        house.checkpoint()
    assert caught.value.code == "register.fork"
    assert caught.value.notes == (planted, checkpoint.parse(own).head.text())
    with house.store() as store:
        assert store.register.checkpoint(2).note == planted


def test_a_hash_that_was_changed_is_signed_into_no_fork(house):
    """Else the log key itself signs a root that no later checkpoint can be proven to extend."""
    house.debate(2)
    own = house.checkpoint()
    house.sql(f"UPDATE register_hashes SET hash = X'{bytes(32).hex()}' WHERE place = 6")
    house.debate()
    with pytest.raises(ForkError) as caught:
        house.checkpoint()
    assert caught.value.code == "register.fork"
    assert caught.value.notes[0] == own
    with house.store() as store:
        assert store.register.signed(5) is None


def test_a_register_that_lost_lines_which_were_signed_is_signed_no_more(house):
    house.debate(2)
    own = house.checkpoint()
    house.sql("DELETE FROM register WHERE place > 1", "DELETE FROM register_hashes WHERE place > 2")
    with pytest.raises(ForkError) as caught:
        house.checkpoint()
    assert caught.value.code == "register.fork"
    assert caught.value.notes[0] == own


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE register_hashes SET hash = zeroblob(32) WHERE place = 9",
        "UPDATE register SET line = CAST(replace(line, 'head', 'gate') AS BLOB) WHERE place = 5",
        "UPDATE register SET line = (SELECT line FROM register WHERE place = 5) WHERE place = 4",
        "UPDATE register SET line = X'00' WHERE place = 4",
    ],
)
@pytest.mark.parametrize("signed", [0, 2, 4])
def test_what_the_lines_do_not_give_is_not_signed(house, change, signed):
    for lines in (2, 4, 6):
        house.debate()
        if lines == signed:
            house.checkpoint()
    house.sql(change)
    with pytest.raises(DataError) as caught:
        house.checkpoint()
    assert caught.value.code in ("register.damaged", "register.line")
    with house.store() as store:
        assert store.register.signed(5) is None


def test_a_proof_that_proves_nothing_is_not_given(house):
    one = house.debate()
    old = house.checkpoint()
    house.debate(2)
    house.checkpoint()
    log = house.keys.signer("log")
    house.sql("UPDATE register_hashes SET hash = zeroblob(32) WHERE place IN (1, 5)")
    for prepare in (
        lambda store: prove(store, read_record(store, one), log),
        lambda store: prove_since(store, old, log),
    ):
        with house.store() as store, pytest.raises(DataError) as caught:
            prepare(store)
        assert caught.value.code == "register.damaged"


def test_a_checkpoint_that_has_no_room_for_another_signature_keeps_those_it_has(house):
    house.debate()
    full = house.checkpoint()
    for _ in range(1, note.MAX_SIGNATURES):
        full = signed_by_a_stranger(house)
    house.keys.rotate("log")
    with pytest.raises(DataError) as caught:
        house.checkpoint()
    assert caught.value.code == "checkpoint.full"
    with house.store() as store:
        assert store.register.checkpoint(2).note == full
    house.debate()
    assert checkpoint.parse(house.checkpoint()).note.signed_by(house.keys.public("log"))


def test_the_proofs_of_a_debate_are_under_the_checkpoint_that_witnesses_saw(house, outside):
    debate = house.debate()
    seen = outside.cosign(house.checkpoint()).note
    house.debate()
    house.checkpoint()
    with house.store() as store:
        add_cosigned(store, seen, house.trusts(outside))
        record = prove(store, read_record(store, debate), house.keys.signer("log"))
    assert record.bundle.proofs["head"].endswith(seen)


def refused(outside, data):
    before = sorted(outside.place.iterdir()), [p.read_bytes() for p in outside.place.iterdir()]
    with pytest.raises((UsageError, DataError)) as caught:
        outside.cosign(data)
    after = sorted(outside.place.iterdir()), [p.read_bytes() for p in outside.place.iterdir()]
    assert before == after, "what was refused is not remembered"
    return caught.value


def test_a_witness_refuses_a_fork_and_shows_both(house, outside, tmp_path):
    house.debate()
    shutil.copyfile(house.path, tmp_path / "backup")
    house.debate()
    seen = house.checkpoint()
    outside.cosign(seen)
    shutil.copyfile(tmp_path / "backup", house.path)
    back = house.checkpoint()
    assert refused(outside, back).code == "checkpoint.older"
    house.debate()
    other = house.checkpoint()
    error = refused(outside, other)
    assert (error.code, error.notes) == ("checkpoint.fork", (seen, other))
    house.debate()
    forged = since(house, other)
    error = refused(outside, forged)
    assert (error.code, error.notes[0]) == ("checkpoint.fork", seen)


def test_a_witness_makes_no_key_for_what_it_refuses(house, tmp_path):
    house.debate()
    data, asked = house.checkpoint(), []

    def key():
        asked.append("key")
        return hansard.open_keyring(tmp_path / "other").signer("witness")

    with pytest.raises(DataError) as caught:
        hansard.cosign(data, key, hansard.Trust(), tmp_path / "seen")
    assert (caught.value.code, asked) == ("checkpoint.untrusted", [])
    hansard.cosign(data, key, house.keys.trust(), tmp_path / "seen")
    house.debate()
    with pytest.raises(UsageError) as caught:
        hansard.cosign(house.checkpoint(), key, house.keys.trust(), tmp_path / "seen")
    assert (caught.value.code, asked) == ("checkpoint.unproven", ["key"])


def test_a_witness_refuses_what_is_not_proven(house, outside):
    house.debate()
    first = house.checkpoint()
    outside.cosign(first)
    house.debate()
    second = house.checkpoint()
    house.debate()
    assert refused(outside, second).code == "checkpoint.unproven"
    assert refused(outside, since(house, second)).code == "checkpoint.unproven"
    body = since(house, first)
    for bad in (body.replace(b"old 2\n", b"old 02\n"), b"old 2\n" + body.partition(b"\n")[2][8:]):
        assert refused(outside, bad).code == "checkpoint.malformed"
    assert outside.cosign(body).before == 2


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda note: note.replace(b"\n2\n", b"\n3\n"), "checkpoint.forged"),
        (lambda note: b"", "checkpoint.malformed"),
        (lambda note: b"\xe2\x80\x94" * 99, "checkpoint.malformed"),
    ],
)
def test_a_witness_refuses_what_the_log_key_did_not_sign(house, outside, change, code):
    house.debate()
    outside.place.mkdir()
    assert refused(outside, change(house.checkpoint())).code == code


def test_a_witness_refuses_an_unknown_key_and_a_known_one_for_anothers_log(
    house, outside, tmp_path
):
    outside.place.mkdir()
    stranger = House(tmp_path, "stranger")
    stranger.debate()
    unknown = refused(outside, stranger.checkpoint())
    assert unknown.code == "checkpoint.untrusted"
    log = house.keys.signer("log")
    head = checkpoint.Head("elsewhere/log/1", 2, bytes(32))
    assert refused(outside, note.sign(head.text(), log)).code == "checkpoint.untrusted"


def test_a_cosigned_checkpoint_of_another_register_is_not_taken_in(house, outside, tmp_path):
    house.debate()
    shutil.copyfile(house.path, tmp_path / "backup")
    house.debate()
    seen = outside.cosign(house.checkpoint()).note
    trust = house.trusts(outside)
    shutil.copyfile(tmp_path / "backup", house.path)
    with house.store() as store, pytest.raises(UsageError) as caught:
        add_cosigned(store, seen, trust)
    assert caught.value.code == "register.rewound"
    house.debate()
    house.checkpoint()
    with house.store() as store, pytest.raises(ForkError) as forked:
        add_cosigned(store, seen, trust)
    assert forked.value.code == "register.fork"
    other = House(tmp_path, "other")
    other.debate()
    other.checkpoint()
    with other.store() as store, pytest.raises(UsageError) as caught:
        add_cosigned(store, seen, trust)
    assert caught.value.code == "register.other"


# What no debate brings in


def test_keys_and_policies_are_added_as_the_trust_file_has_them(house):
    policy = approved(house)
    with house.store() as store:
        assert add_to_register(store, trust=house.keys.trust(), policies=[policy]) == 2
        assert read_register(store).kinds == {"policy_approved": 1, "key_approved": 1}
        hansard.TrustFile(house.keys.trust_file).revoke_policy(policy, "2026-11-22")
        house.keys.revoke("approval")
        assert add_to_register(store, trust=house.keys.trust()) == 2
        assert add_to_register(store, trust=house.keys.trust()) == 0
        assert read_register(store).kinds == {
            "policy_approved": 1,
            "policy_revoked": 1,
            "key_approved": 1,
            "key_revoked": 1,
        }


def approved(house):
    return parse_policy(approve_prompts(house.keys.signer("approval"), SPEC))


def test_a_policy_that_a_debate_is_opened_under_has_its_line_before_it(house):
    policy = approved(house)
    with house.store() as store:
        for _ in range(2):
            hansard.run_sync(SPEC, models={"ask": lambda _: "Because."}, store=store, policy=policy)
        lines = [*store.register.lines(5)]
        assert [b"policy_approved" in line for line in lines] == [True, *[False] * 4]
        assert add_to_register(store, policies=[policy]) == 0


def test_a_key_of_another_name_does_not_sign(house):
    house.debate()
    house.checkpoint()
    with house.store() as store, pytest.raises(UsageError) as caught:
        sign_checkpoint(store, Signer("other/log", keys.generate()))
    assert caught.value.code == "register.key"


def test_a_file_is_read_as_its_bytes_are(house, tmp_path):
    house.debate()
    file = tmp_path / "kept"
    file.write_bytes(house.checkpoint())
    assert house.found(file).ok
    assert house.found(str(file)).ok
    assert Path(file).read_bytes().startswith(house_origin(house).encode())


def house_origin(house):
    with house.store() as store:
        return store.register.origin
