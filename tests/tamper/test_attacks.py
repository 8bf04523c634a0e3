"""The table of attacks in SECURITY.md: each row is tried, and shown by what the row says.

An attack returns the codes that show it; they are those that its row names. Where it returns
none, nothing shows it to the reader who is meant, or a level does, as it asserts.
"""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

import altering
import hansard
import servers
from conformance_kit.exports import rezipped, with_entry
from exporting import (
    EXPORT,
    STRANGER,
    both,
    exported,
    first,
    play,
    run_tool,
    signed,
    spec,
    trust_file,
)
from granting import roles
from hansard.page.write import page
from hansard.record import blob, bundle, checkpoint, manifest, note, register, tree
from hansard.record.bundle import PAGE, PAGE_NOTE, pack
from hansard.record.checkpoint import Head
from hansard.record.line import line_hash
from registering import SPEC, House, Outside
from reviewing import ANN, closed, redact, review

SECURITY = Path(__file__).parents[2] / ".github" / "SECURITY.md"
TABLE = SECURITY.read_text(encoding="utf-8").partition("\n## Attacks\n")[2].partition("\n## ")[0]
ROWS = {
    cells[0]: cells[1:]
    for cells in (line.strip("| ").split(" | ") for line in TABLE.splitlines() if line[:1] == "|")
    if cells[0] not in ("attack", "---|---|---")
}
ATTACKS = {}


def attack(row):
    def add(function):
        ATTACKS[row] = function
        return function

    return add


class Scene:
    """What the attacks need: a house that keeps a register, a witness outside, a folder."""

    def __init__(self, folder, server):
        self.folder, self.server = folder, server
        self.house = House(folder)
        self.outside = Outside(folder, self.house)

    def back(self):
        """Keep a copy of the store; what is returned puts it back."""
        shutil.copyfile(self.house.path, self.folder / "backup")
        return lambda: shutil.copyfile(self.folder / "backup", self.house.path)

    def export(self, name, *debates):
        """Export debates, or all of the store, into a folder."""
        signer = self.house.keys.signer
        with self.house.store() as store:
            chosen = debates or store.debates()
            log = signer("log")
            hansard.export_debates(store, chosen, self.folder / name, signer("export"), log=log)
        return self.folder / name

    def of_folder(self, path, since=None, trust=None):
        """The codes that both command-line verifiers find of a folder, its level and caveats."""
        trust = trust or self.house.keys.trust()
        found = hansard.verify_exports(path, trust, since)
        words = [path, "--trust", self.folder / "trust.json", "--json"]
        (self.folder / "trust.json").write_bytes(trust.dump())
        if since:
            (self.folder / "kept.txt").write_bytes(since)
            words += ["--since", self.folder / "kept.txt"]
        last = json.loads(run_tool(*words)[1].splitlines()[-1])
        assert [row.code for row in found.findings] == [row["code"] for row in last["findings"]]
        assert (found.level, found.caveats) == (last["level"], last["caveats"])
        return {row.code for row in found.findings}, found.level, found.caveats

    def proven(self, debate):
        """The bytes of a debate's record, with its proofs."""
        with self.house.store() as store:
            record = hansard.read_record(store, debate)
            return hansard.prove(store, record, self.house.keys.signer("log")).bundle

    def codes_of(self, made, since=None):
        """The codes that the package finds of a record's export, and its level."""
        files = exported(made, by=self.house.keys.signer("export"))
        found = hansard.verify_export(pack(files), self.house.keys.trust(), since)
        assert both(files, self.house.keys.trust().dump()).findings or since or not found.findings
        return codes(found), found.level


@pytest.fixture
def at(tmp_path, request):
    return Scene(tmp_path, lambda: request.getfixturevalue("server"))


@pytest.fixture(scope="module")
def record():
    return play(spec())


def codes(found):
    return {row.code for row in found.findings}


def voting(record):
    """The place of a turn with a vote, and its entry with another one."""
    event = next(row for row in altering.events_of(record) if row["type"] == "turn.recorded")
    return event["seq"], {**event, "data": {**event["data"], "vote": "revise"}}


# A record


@attack("Edit an entry")
def edit(at, record):
    lines = bundle.to_files(altering.as_it_stands(record, *voting(record)))
    found = both(exported(record) | {"events.jsonl": lines["events.jsonl"]})
    assert found.level is None
    return codes(found) & {"2.hash", "5.prev"}


@attack("Chain a changed vote anew, so that every later hash fits")
def chain_anew(at, record):
    found = both(exported(altering.chained_anew(record, *voting(record))))
    return {first(found)[0]}


@attack("Sign a record anew with another key")
def sign_anew(at, record):
    found = both(signed(exported(record), STRANGER))
    assert (found.level, found.verdict) == (0, "SELF-CONSISTENT, SIGNER UNKNOWN")
    return codes(found)


@attack("Put a key into the export")
def put_a_key_in(at, record):
    theirs = trust_file(("export", STRANGER))
    assert both(signed(exported(record), STRANGER), trust=theirs).level == 1, "who trusts it"
    return codes(both(pack(signed(exported(record) | {"trust.json": theirs}, STRANGER))))


@attack("Cut off the end of a record")
def cut_off(at, record):
    short = altering.numbered_anew(record, record.lines[:-1])
    named = b"".join(short.lines).decode()
    short = replace(short, blobs={key: record.blobs[key] for key in record.blobs if key in named})
    found = both(exported(short))
    assert (found.level, found.caveats[0]) == (1, "open: a longer version may exist")
    files = exported(record) | {"events.jsonl": b"".join(line + b"\n" for line in short.lines)}
    return codes(both(files)) & {"2.hash"}


@attack("Leave out last entries, such as a review")
def leave_out_a_review(at, record):
    debate = at.house.debate()
    before, old = at.export("before"), at.proven(debate)
    said = {"reviewer": "Ann", "signer": at.house.keys.signer("reviewer"), "comment": "No."}
    with at.house.store() as store:
        hansard.review(debate, "rejected", store=store, trust=at.house.keys.trust(), **said)
    new = at.proven(debate)
    assert at.codes_of(replace(old, proofs=old.proofs)) == (set(), 1), "it was true then"
    shown, level = at.codes_of(replace(old, proofs=new.proofs))
    unregistered, _ = at.codes_of(replace(new, proofs=old.proofs))
    after = at.export("after")
    shutil.copy(before / f"{debate}.zip", after / f"{debate}.zip")
    assert "17.superseded" in at.of_folder(after)[0]
    assert level is None
    return shown | unregistered


# A store, and its register


@attack("Drop a debate: delete it from the store")
def drop(at, record):
    debate, _ = at.house.debate(), at.house.debate()
    name = debate.replace("-", "")
    at.house.sql(
        f"DELETE FROM stored_events WHERE originator_id = '{name}'",
        f"DELETE FROM heads WHERE debate = '{name}'",
    )
    (found,) = at.house.found().findings
    assert found.line == 1
    return {found.code}


@attack("Drop a debate in PostgreSQL, as the role that runs debates or as the owner of the tables")
def drop_from_a_server(at, record):
    """The owner drops a debate, and then its lines."""
    urls, trust = roles(at.server()), at.house.keys.trust()
    app, owner = urls["hansard_app"], urls["hansard_owner"]

    def found(since=None):
        with hansard.open_store(app) as store:
            return {row.code for row in hansard.verify_register(store, since, trust).findings}

    with hansard.open_store(app) as store:
        for _ in range(2):
            debate = hansard.run_sync(SPEC, models={"ask": lambda _: "No."}, store=store).debate
        kept = hansard.sign_checkpoint(store, at.house.keys.signer("log"))
    entries = f"DELETE FROM stored_events WHERE originator_id = '{debate}'"
    head = f"DELETE FROM heads WHERE debate = '{debate}'"
    lines = (
        "DELETE FROM register WHERE place >= 2",
        f"DELETE FROM register_hashes WHERE place >= {tree.stored_hashes(2)}",
        "DELETE FROM checkpoints WHERE size > 2",
    )
    for statement in (entries, head, *lines, "UPDATE stored_events SET state = ''"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            servers.sql(app, statement)
    assert found(kept) == set()
    for table in ("stored_events", "register"):
        servers.sql(owner, f"DROP TRIGGER {table}_stays ON {table}")
    servers.sql(owner, entries, head)
    shown = found()
    servers.sql(owner, *lines)
    assert found() == set(), "by itself it agrees with itself"
    return shown | found(kept)


@attack("Drop a debate with its lines: make the store anew without it")
def drop_with_its_lines(at, record):
    at.house.debate(2)
    kept = at.house.checkpoint()
    with at.house.store() as store:
        ident, origin = store.register.id, store.register.origin
    at.house.path.unlink()
    shown = set()
    for _ in range(2):
        at.house.debate()
        at.house.sql(f"UPDATE register_log SET id = '{ident}', origin = '{origin}'")
        assert at.house.codes() == [], "by itself it agrees with itself"
        shown |= set(at.house.codes(kept))
    return shown


@attack("Leave a debate out of a folder")
def leave_out_of_a_folder(at, record):
    one, other = at.house.debate(), at.house.debate()
    kept = at.house.checkpoint()
    said = ["1 of 2 records of the register are not here"]
    assert at.of_folder(at.export("some", one), kept) == (set(), 2, said)
    folder = at.export("all")
    assert at.of_folder(folder, kept) == (set(), 2, [])
    (folder / f"{other}.zip").unlink()
    return at.of_folder(folder, kept)[0]


@attack("Rewind: put a backup in the place of the store, and ask again")
def rewind(at, record):
    at.house.debate(2)
    put_back = at.back()
    at.house.debate()
    kept = at.house.checkpoint()
    at.outside.cosign(kept)
    put_back()
    shown = set()
    for name in ("at first", "once there are as many", "however many follow"):
        assert at.house.codes() == [], "by itself it agrees with itself"
        folder = at.export(name)
        assert at.of_folder(folder)[:2] == (set(), 1)
        found, level, _ = at.of_folder(folder, kept)
        assert (found, level) == (set(at.house.codes(kept)), None)
        with pytest.raises(hansard.HansardError):
            at.outside.cosign(at.house.checkpoint())
        shown |= found
        at.house.debate()
    (fork,) = at.house.found(kept).findings
    theirs, ours = fork.notes
    assert theirs.encode() == kept
    assert ours.splitlines()[:2] == theirs.splitlines()[:2], "of one log and one size"
    return shown


@attack("Record a debate anew under its old opening")
def record_anew(at, record):
    """The register is kept as it is, and the debate goes on from its first entries again."""
    debate = at.house.debate()
    kept = at.house.checkpoint()
    with at.house.store() as store:
        before = at.proven(debate)
        lines = [register.parse(line) for line in store.register.lines(2)]
        origin = store.register.origin
    log, other = at.house.keys.signer("log"), line_hash(b"another end")
    rows = [*lines, register.Line(2, "head", lines[0].tag, other)]
    rows.append(register.Line(3, "head", lines[0].tag, line_hash(before.lines[-1])))
    folder = at.house.folder / "anew"
    folder.mkdir()
    edge, stored = tree.Edge(), []
    for line in rows:
        stored += tree.added(line.index, line.leaf, tree.reader(stored))
        edge.add(line.leaf)
    own = checkpoint.sign(Head(origin, 4, edge.root()), log)
    proofs = {
        name: checkpoint.write_proof(
            rows[index], tree.inclusion(index, 4, tree.reader(stored)), own
        )
        for name, index in (("opened", 0), ("head", 3))
    }
    made, key = replace(before, proofs=proofs), at.house.keys.signer("export")
    assert at.codes_of(made) == (set(), 1), "alone it holds"
    listed = {
        f"{debate}.zip": pack(exported(made, by=key)),
        "checkpoint": own,
        "checkpoints": b"",
        "register.jsonl": b"".join(line.data + b"\n" for line in rows),
    }
    text = manifest.write(listed)
    for name, data in listed.items():
        (folder / name).write_bytes(data)
    (folder / "SHA256SUMS").write_bytes(note.sign(text, key))
    at.house.record_anew(debate)
    at.house.tell_register(debate)
    return at.of_folder(folder, kept)[0] | set(at.house.codes(kept))


@attack("Fork: show one register to one reader, and another to the next")
def fork(at, record):
    at.house.debate()
    put_back = at.back()
    at.house.debate()
    one = at.house.checkpoint()
    put_back()
    debate = at.house.debate()
    other = at.house.checkpoint()
    at.outside.cosign(one)
    with pytest.raises(hansard.ForkError) as caught:
        at.outside.cosign(other)
    assert caught.value.notes == (one, other)
    key = at.house.keys.signer("log").key
    assert all(checkpoint.parse(each).note.signed_by(key) for each in (one, other))
    return at.codes_of(at.proven(debate), one)[0]


@attack("Ask again: kill a call in flight, and resume")
def ask_again(at, record):
    def stop(event):
        if event["type"] == "call.started":
            raise RuntimeError

    models = {"ask": lambda _: "Because."}
    with at.house.store() as store:
        with pytest.raises(hansard.SeatError) as caught:
            hansard.run_sync(SPEC, models=models, store=store, observe=stop)
        debate = caught.value.debate
        hansard.resume_sync(debate, store=store, models=models)
    made = at.proven(debate)
    gone = [row["data"] for row in altering.events_of(made) if row["type"] == "call.failed"]
    assert {row["error"] for row in gone} == {"abandoned"}
    found, level = at.codes_of(made)
    assert level == 1
    return found


@attack("Backdate a policy")
def backdate(at, record):
    """It is approved after the debate, and dated before it; its line has the place of today."""
    at.house.debate()
    kept = checkpoint.parse(at.house.checkpoint())
    policy = hansard.parse_policy(hansard.approve_prompts(at.house.keys.signer("approval"), SPEC))
    with at.house.store() as store:
        hansard.add_to_register(store, policies=[policy])
        (line,) = store.register.of(policy.hash)
    assert line.index >= kept.head.size, "it was not there when the checkpoint was made"
    return set(at.house.codes(kept.data))


# After the close


def reviewed(outcome):
    """A record with one review, as bytes, and the review's entry."""
    debate = closed()
    review(debate, outcome)
    return debate.bundle(), debate.record.events[-1]


@attack("Flip a review")
def flip(at, record):
    made, event = reviewed("rejected")
    flipped = {**event, "data": {**event["data"], "outcome": "approved"}}
    found = both(exported(altering.chained_anew(made, event["seq"], flipped)))
    return codes(found)


@attack("Replay a review of another debate")
def replay(at, record):
    made, event = reviewed("approved")
    other = closed(question="May we pay?").bundle()
    texts = {key: made.blobs[key] for key in made.blobs if key in json.dumps(event["data"])}
    lines = [*other.lines, altering.dump(event)]
    mine = event["debate"].replace("3", "5").encode()
    lines = [line.replace(event["debate"].encode(), mine) for line in lines]
    found = both(exported(altering.numbered_anew(replace(other, blobs=other.blobs | texts), lines)))
    return codes(found)


@attack("Remove a text, and say that it was erased")
def remove_a_text(at, record):
    name = altering.events_of(record)[0]["data"]["question"]["sha256"]
    less = {key: body for key, body in record.blobs.items() if key != name}
    return codes(both(exported(replace(record, blobs=less))))


REVIEWING = trust_file(("export", EXPORT), ("reviewer", ANN))


@attack("Guess a text that was erased")
def guess(at, record):
    debate = closed()
    name = debate.record.events[0]["data"]["question"]["sha256"]
    text = blob.unpack(debate.bundle().blobs[name])
    redact(debate, 1, "question")
    found = both(exported(debate.bundle()), trust=REVIEWING)
    assert found.texts.erased == 1
    guessed = {blob.pack(text, bytes([salt]) * 32)[0] for salt in (97, 98, 99)}
    assert (len(guessed), name in guessed) == (3, False), "the right text has any hash"
    return codes(found)


# Files


@attack("Forge the page of an export")
def forge_a_page(at, record):
    files = exported(record)
    own = page(files)
    text = manifest.write_page(files[manifest.NAME], own)
    genuine = files | {PAGE: own, PAGE_NOTE: note.sign(text, EXPORT)}
    assert both(genuine).level == 1
    forged = own.replace(b"<title>", b"<title>INTACT ", 1)
    assert not hansard.verify_export(forged).page.released
    return codes(both(genuine | {PAGE: forged}))


@attack("Send a hostile zip")
def hostile_zip(at, record):
    return codes(both(with_entry("../../home/.ssh/authorized_keys", b"x"))) | codes(
        both(rezipped("VERIFY.md", method=8))
    )


@attack("Change lines, hashes or checkpoints of the register in the store")
def change_the_register(at, record):
    at.house.debate(2)
    shown = set()
    for statement in (
        "UPDATE register SET line = CAST(replace(line, 'head\"', 'gate\"') AS BLOB)",
        "UPDATE register_hashes SET hash = zeroblob(32) WHERE place = 2",
        "UPDATE checkpoints SET root = zeroblob(32) WHERE size = 2",
    ):
        put_back = at.back()
        at.house.sql(statement)
        shown |= set(at.house.codes())
        put_back()
    return shown


# Keys


@attack("Steal the log key")
def steal_the_log_key(at, record):
    debate = at.house.debate()
    kept = checkpoint.parse(at.house.checkpoint())
    forged = note.sign(replace(kept.head, root=tree.EMPTY).text(), at.house.keys.signer("log"))
    return at.codes_of(at.proven(debate), forged)[0]


@attack("Collude with witnesses")
def collude(at, record):
    """Of one register two witnesses saw one fork, and the colluding one both."""
    at.house.debate()
    put_back = at.back()
    at.house.debate()
    put_back()
    at.house.debate()
    with at.house.store() as store:
        seen = checkpoint.cosign(
            hansard.sign_checkpoint(store, at.house.keys.signer("log")),
            at.outside.signer,
            1_900_000_000,
        )
        hansard.add_cosigned(store, seen, at.house.trusts(at.outside))
    folder, trust, levels = at.export("all"), at.house.keys.trust(), []
    for needed in (1, 2):
        given = trust.model_copy(update={"witnesses": needed})
        found, level, _ = at.of_folder(folder, trust=given)
        assert found == set()
        levels.append(level)
    assert levels == [2, 1], "require more than one"
    return set()


@pytest.mark.parametrize("row", ATTACKS)
def test_each_attack_is_shown_by_what_its_row_says(at, record, row):
    assert ATTACKS[row](at, record) == set(re.findall(r"`([0-9a-z]+\.[a-z_]+)`", ROWS[row][0]))


def test_the_table_and_the_tests_have_the_same_rows():
    assert list(ROWS) == list(ATTACKS)
