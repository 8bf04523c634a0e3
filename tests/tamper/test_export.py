"""Exports altered in every part: as they stand, signed anew by a stranger, and by the house.

Every case is read by the package and by tools/verify.py; `both` fails where they differ.
"""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections import defaultdict
from dataclasses import replace
from hashlib import sha256

import pytest

import altering
import derived
from exporting import (
    APPROVAL,
    EXPORT,
    LOG,
    STRANGER,
    TRUST,
    approved,
    both,
    exported,
    first,
    play,
    resigned,
    signed,
    signer,
    spec,
    trust_file,
)
from hansard.page.write import page
from hansard.record import manifest, note
from hansard.record.blob import pack as pack_blob
from hansard.record.bundle import PAGE, PAGE_NOTE, has_end, holds_any, pack, unpack
from hansard.rules.events import parse
from hansard.runtime.engine import Engine
from hansard.runtime.inputs import packaged_templates
from hansard.verify.findings import PageCheck
from support import EVENTFUL, eventful

ADMITTED = (f"blobs/{'ab' * 32}", f"templates/{'ab' * 32}", f"policies/{'ab' * 32}")
FOREIGN = (
    "README",
    "blobs/x",
    "../x",
    "/x",
    "blobs/" + "AB" * 32,
    "events.jsonl/x",
    "a\\b",
    "é",
    "",
)


@pytest.fixture(scope="module")
def bundle():
    """A debate under a policy, with evidence, personas, prices, a rejected reply, failed calls."""
    record = play(spec(), policy=approved())
    kinds = {event["type"] for event in altering.events_of(record)}
    assert kinds >= {"turn.rejected", "call.failed", "turn.forfeited", "evidence.admitted"}
    return record


@pytest.fixture(scope="module")
def files(bundle):
    return exported(bundle)


def lines_of(files):
    return note.parse(files[manifest.NAME]).text.splitlines(keepends=True)


def assert_signer_unknown(files):
    found = both(files)
    assert (found.level, found.findings) == (0, [])
    assert found.verdict == "SELF-CONSISTENT, SIGNER UNKNOWN"
    assert both(files, level=0).ok


def test_whole_it_is_intact(files):
    assert both(files).verdict == both(pack(files)).verdict == "INTACT"
    both(files, level=0)
    both(files, level=2)


def test_made_anew_and_signed_by_a_stranger_its_signer_is_unknown(files):
    assert_signer_unknown(signed(files, STRANGER))
    assert_signer_unknown(signed(files, signer(EXPORT.name, "another secret")))


@pytest.mark.parametrize("other", [LOG, APPROVAL], ids=["log", "approval"])
def test_signed_with_a_key_of_another_role(files, other):
    assert_signer_unknown(signed(files, other))


def test_under_a_policy_that_a_stranger_approved():
    assert_signer_unknown(exported(play(spec(), policy=approved(by=STRANGER))))
    assert_signer_unknown(exported(play(spec(), policy=approved(by=EXPORT))))


# Keys in force: from <= at < until


def test_a_key_counts_from_its_first_moment_and_not_at_its_last(bundle, files):
    at = altering.events_of(bundle)[0]["at"]
    before, after = at[:-8] + ".000000Z", "2999" + at[4:]
    for limits, level in (
        ({"from": at}, 1),
        ({"from": after}, 0),
        ({"until": at}, 0),
        ({"until": after}, 1),
        ({"from": before, "until": at}, 0),
        ({"from": at, "until": after}, 1),
        ({"from": None, "until": None}, 1),
    ):
        for rows in (
            (("export", EXPORT, limits), ("approval", APPROVAL)),
            (("export", EXPORT), ("approval", APPROVAL, limits)),
        ):
            assert both(files, trust_file(*rows)).level == level, limits


def test_a_revoked_key_counts_for_what_is_dated_before(bundle, files):
    """The last entry dates the manifest; the opening dates the policy."""
    events = altering.events_of(bundle)
    opened, last, after = events[0]["at"], events[-1]["at"], "2999" + events[0]["at"][4:]
    for revoked, of_export, of_approval in ((opened, 0, 0), (last, 0, 1), (after, 1, 1)):
        export = (("export", EXPORT, {"revoked": revoked}), ("approval", APPROVAL))
        approval = (("export", EXPORT), ("approval", APPROVAL, {"revoked": revoked}))
        assert both(files, trust_file(*export)).level == of_export, revoked
        assert both(files, trust_file(*approval)).level == of_approval, revoked


def test_one_key_in_two_spans_and_roles(files):
    """A name may stand in the trust file more than once: one row that counts is enough."""
    past = {"until": "2000-01-01T00:00:00.000000Z"}
    rows = (("export", EXPORT, past), ("log", EXPORT), ("export", EXPORT), ("approval", APPROVAL))
    assert both(files, trust_file(*rows)).level == 1
    assert both(files, trust_file(*rows[:2], rows[3])).level == 0


# The manifest


def altered_lines(lines):
    """Every line dropped, changed, repeated, moved; and lines added."""
    for n, line in enumerate(lines):
        before, after = lines[:n], lines[n + 1 :]
        digest, name = line[:64], line[66:]
        other = sha256(digest).hexdigest().encode()
        yield "2.unlisted", [*before, *after]
        yield "2.hash", [*before, other + b"  " + name, *after]
        moved = [*before, digest + b"  z" + name, *after]
        yield "2.absent", sorted(moved, key=lambda row: row[66:])
        yield "2.malformed", [*before, line, line, *after]
        yield "2.malformed", [*before, digest.upper() + b"  " + name, *after]
        yield "2.malformed", [*before, digest + b" *" + name, *after]
        if after:
            yield "2.malformed", [*before, after[0], line, *after[1:]]
    for name in sorted({*ADMITTED, "zzz"}):
        more = b"0" * 64 + b"  " + name.encode() + b"\n"
        yield "2.absent", sorted([*lines, more], key=lambda row: row[66:])


@pytest.mark.slow
def test_every_line_of_the_manifest_dropped_changed_or_added(files):
    lines = lines_of(files)
    chosen = random.Random(1).sample(list(altered_lines(lines)), 100)
    signature = files[manifest.NAME].rpartition(b"\n\n")[2]
    for code, rows in chosen:
        text = b"".join(rows)
        assert both(resigned(files, text, STRANGER)).findings[0].code.startswith("2."), rows
        assert code in {row.code for row in both(resigned(files, text)).findings}, rows
        stands = both(files | {manifest.NAME: text + b"\n" + signature})
        assert {row.code for row in stands.findings} >= (
            {code, "3.signature"} if code != "2.malformed" else {code}
        )


@pytest.mark.parametrize("name", [manifest.NAME, "report.html", "SHA256SUMS.page"])
def test_a_manifest_that_lists_what_it_never_lists(files, name):
    rows = [*lines_of(files), b"0" * 64 + b"  " + name.encode() + b"\n"]
    text = b"".join(sorted(rows, key=lambda row: row[66:]))
    assert first(both(resigned(files, text))) == ("2.malformed", 0)


BROKEN_NOTES = {
    "empty": lambda data: b"",
    "no signature": lambda data: data.rpartition(b"\n\n")[0] + b"\n",
    "an empty line more": lambda data: data + b"\n",
    "no empty line": lambda data: data.replace(b"\n\n", b"\n"),
    "no last line end": lambda data: data[:-1],
    "CRLF": lambda data: data.replace(b"\n", b"\r\n"),
    "a hyphen": lambda data: data.replace("—".encode(), b"-"),
    "an en dash": lambda data: data.replace("—".encode(), "–".encode()),
    "a name with a plus": lambda data: data.replace(b"house/export", b"house+export"),
    "no name": lambda data: data.replace(b"house/export ", b" "),
    "two spaces": lambda data: data.replace(b"house/export ", b"house/export  "),
    "no padding": lambda data: data.replace(b"=", b""),
    "padding elsewhere": lambda data: data.replace(b"=\n", b"==\n"),
    "a comment": lambda data: data + b"# made by hand\n",
    "a mark": lambda data: b"\xef\xbb\xbf" + data,
    "only signatures": lambda data: data.rpartition(b"\n\n")[2],
    "no text": lambda data: b"\n\n" + data.rpartition(b"\n\n")[2],
    "not UTF-8": lambda data: data.replace(b"house/", b"hous\xff/"),
}


@pytest.mark.parametrize("defect", BROKEN_NOTES)
def test_a_manifest_whose_note_is_broken(files, defect):
    broken = files | {manifest.NAME: BROKEN_NOTES[defect](files[manifest.NAME])}
    assert broken != files
    assert first(both(broken)) == ("2.malformed", 0)


def test_the_stray_bits_of_base64(files):
    """The last digit before the padding holds two bits that nobody decodes."""
    data = files[manifest.NAME]
    digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    last = digits.index(data[-3:-2])
    for stray in range(1, 4):
        spelled = data[:-3] + digits[last ^ stray : (last ^ stray) + 1] + b"=\n"
        assert first(both(files | {manifest.NAME: spelled})) == ("2.malformed", 0)


def test_several_signatures(files):
    """One that is trusted is enough; one that is known and wrong spoils it, whoever else signed."""
    data = files[manifest.NAME]
    text = note.parse(data).text
    lines = {by: note.sign(text, by).rpartition(b"\n\n")[2] for by in (EXPORT, STRANGER, LOG)}
    wrong = {by: note.sign(b"x\n", by).rpartition(b"\n\n")[2] for by in (EXPORT, STRANGER, LOG)}

    def read(*rows):
        return both(files | {manifest.NAME: text + b"\n" + b"".join(rows)})

    assert read(lines[STRANGER], lines[EXPORT]).level == 1
    assert read(lines[EXPORT], lines[EXPORT]).level == 1
    assert read(lines[EXPORT], wrong[STRANGER]).level == 1
    assert read(lines[LOG], lines[STRANGER]).level == 0
    for rows in ((wrong[EXPORT], lines[EXPORT]), (lines[EXPORT], wrong[EXPORT])):
        assert first(read(*rows)) == ("3.signature", 0)
    assert first(read(lines[EXPORT], wrong[LOG])) == ("3.signature", 0)


# The files


@pytest.mark.slow
def test_every_file_removed_altered_or_emptied(files):
    for name, body in files.items():
        removed = {key: row for key, row in files.items() if key != name}
        code = {manifest.NAME: "2.missing", "events.jsonl": "1.events"}.get(name, "2.absent")
        assert first(both(removed)) == (code, 0), name
        flipped = bytes([body[0] ^ 1]) + body[1:]
        for other in (flipped, body + b"\n", b""):
            assert both(files | {name: other}).findings[0].code[0] == "2", name


@pytest.mark.slow
def test_every_file_removed_or_altered_and_signed_anew(files):
    """Nothing but instructions can be changed unseen, and whoever changed them is unknown."""
    refused = {"blobs": {"8.missing", "8.hash"}, "templates": {"10.missing", "10.hash"}}
    for name, body in files.items():
        if name in (manifest.NAME, "events.jsonl"):
            continue
        for other in (None, body + b"x"):
            rest = {key: row for key, row in files.items() if key != name}
            rest |= {} if other is None else {name: other}
            if name == "VERIFY.md":
                assert_signer_unknown(signed(rest, STRANGER))
                continue
            codes = refused.get(name.partition("/")[0], {"10.policy"})
            for by in (STRANGER, EXPORT):
                assert first(both(signed(rest, by)))[0] in codes, name


@pytest.mark.parametrize("name", ADMITTED)
def test_a_file_more(files, name):
    more = files | {name: b"more"}
    assert first(both(more)) == ("2.unlisted", 0)
    found = both(signed(more, STRANGER))
    assert found.findings[0].code in ("8.unnamed", "10.unnamed")


@pytest.mark.parametrize("name", ["register/head.proof", "register/opened.proof"])
def test_a_proof_that_is_none(files, name):
    more = files | {name: b"more"}
    assert first(both(more)) == ("2.unlisted", 0)
    codes = [row.code for row in both(signed(more, STRANGER)).findings]
    assert codes == ["17.malformed", "17.missing"]


@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_that_belongs_in_no_export(files, name):
    buffer = io.BytesIO(pack(files))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(zipfile.ZipInfo(name), b"x")
    assert first(both(buffer.getvalue())) == ("1.name", 0)


def paged(files, data, by=EXPORT):
    """The files with a page, and the note that covers it."""
    text = manifest.write_page(files[manifest.NAME], data)
    return files | {PAGE: data, PAGE_NOTE: note.sign(text, by)}


def test_a_page_that_is_signed_is_the_signer_s_own(files):
    """What it is, a verifier may say; that it is there changes nothing of what both agree on."""
    bare = both(files)
    assert bare.page is None
    for data in (b"", b"<p>", page(files), page(files)[:-1], page({"events.jsonl": b""})):
        found = both(paged(files, data))
        aside = {"page": None, "checks": []}
        assert found.model_copy(update=aside) == bare.model_copy(update=aside)
        assert found.checks[3:] == bare.checks[3:]
        assert [row.status for row in found.checks] == ["pass"] * 17
        assert found.page == PageCheck(
            released=data in (page(files), page({"events.jsonl": b""})),
            same_record=data in (page(files), page(files)[:-1]),
        )


def test_a_forged_page_of_whatever_release_fails(files):
    genuine, ours, other = paged(files, b"<p>"), page(files), page({"events.jsonl": b""})
    for data in (b"", b"<p> ", ours, other):
        assert first(both(genuine | {PAGE: data})) == ("2.page_hash", 0)
        assert_signer_unknown(paged(files, data, STRANGER))
        alone = {name: body for name, body in genuine.items() if name != PAGE_NOTE} | {PAGE: data}
        assert first(both(alone)) == ("2.page_missing", 0)
    kept = {name: body for name, body in genuine.items() if name != PAGE}
    assert first(both(kept)) == ("2.page_missing", 0)
    again = signed(files | {"VERIFY.md": b"another export of this record"})
    moved = again | {name: genuine[name] for name in (PAGE, PAGE_NOTE)}
    assert first(both(moved)) == ("2.page_hash", 0)


@pytest.mark.parametrize("defect", BROKEN_NOTES)
def test_a_page_whose_note_is_broken(files, defect):
    genuine = paged(files, b"<p>")
    broken = genuine | {PAGE_NOTE: BROKEN_NOTES[defect](genuine[PAGE_NOTE])}
    assert broken != genuine
    assert first(both(broken)) == ("2.page_malformed", 0)


def test_bits_of_a_page_s_note(files):
    genuine = paged(files, b"<p>")
    for at in range(0, len(genuine[PAGE_NOTE]), 5):
        data = bytearray(genuine[PAGE_NOTE])
        data[at] ^= 1 << at % 8
        found = both(genuine | {PAGE_NOTE: bytes(data)})
        assert found.level != 1, at
        assert {row.check for row in found.findings} <= {2, 3}


def test_two_texts_with_one_salt_whatever_their_names(bundle):
    """Reported at the line that is later, not at the name that is greater."""
    events = altering.events_of(bundle)
    question = events[0]["data"]["question"]["sha256"]
    salt = bytes.fromhex(bundle.blobs[question][16:80].decode())
    for text in ("a", "b", "c", "d"):
        name, file = pack_blob(text, salt)
        persona = events[1]["data"]["persona"]["sha256"]
        line = json.loads(bundle.lines[1].replace(persona.encode(), name.encode()))
        blobs = {key: row for key, row in bundle.blobs.items() if key != persona} | {name: file}
        forged = altering.chained_anew(replace(bundle, blobs=blobs), 2, line)
        assert first(both(exported(forged))) == ("8.salt", 2)


def test_the_salt_of_a_text_that_is_not_utf_8_counts(bundle):
    """FORMAT.md §10: the header can be read, so that its salt is known."""
    events = altering.events_of(bundle)
    question, persona = events[0]["data"]["question"], events[1]["data"]["persona"]
    header = bundle.blobs[question["sha256"]][:81]
    lines, blobs = [*bundle.lines], dict(bundle.blobs)
    for seq, old, file in ((1, question, header + b"\xff"), (2, persona, header + b"b")):
        name = sha256(file).hexdigest()
        lines[seq - 1] = lines[seq - 1].replace(old["sha256"].encode(), name.encode())
        del blobs[old["sha256"]]
        blobs[name] = file
    forged = altering.chained_anew(
        replace(bundle, lines=lines, blobs=blobs), 1, json.loads(lines[0])
    )
    found = [(row.code, row.seq) for row in both(exported(forged)).findings if row.check == 8]
    assert found == [("8.text", 1), ("8.salt", 2)]


def test_withheld(files):
    """A text kept back is no defect where the manifest says so; what rests on it is unchecked."""
    replies = [
        row["data"]["reply"]["sha256"]
        for row in map(json.loads, files["events.jsonl"].splitlines())
        if row["type"] == "call.answered" and row["data"]["finish"] == "stop"
    ]
    name = f"blobs/{replies[0]}"
    rest = {key: row for key, row in files.items() if key != name}
    found = both(signed(rest, withheld={name: "privacy"}))
    assert found.level == 1
    counted, turns, register, review = found.caveats
    assert (turns, review) == ("1 of 24 turns unchecked", "review: waiting")
    assert register == "register not checked"
    named = found.texts.named
    assert counted == f"{named - 1} of {named} texts present, 1 withheld"
    assert found.checks[7].evidence == f"{counted}; those present are as recorded"
    assert {row.number for row in found.checks if row.status == "unchecked"} == {12, 13, 14, 16}
    assert first(both(signed(files, withheld={name: "privacy"}))) == ("2.withheld", 0)
    assert (
        first(both(resigned(files, b"".join(lines_of(files)) + b"# withheld\n")))[0]
        == "2.malformed"
    )
    for where in ("events.jsonl", "SHA256SUMS", "VERIFY.md", f"templates/{'ab' * 32}"):
        both(signed(files, withheld={where: "privacy"}))
        both(signed(rest, withheld={where: "privacy"}))


# The container


def test_one_bit_flipped_anywhere(files):
    data = pack(files)
    chance = random.Random(3)
    tail = range(len(data) - 7000, len(data))  # the directory and the end record
    for place in [*chance.sample(range(len(data)), 200), *chance.sample(tail, 100)]:
        flipped = bytearray(data)
        flipped[place] ^= 1 << chance.randrange(8)
        found = both(bytes(flipped))
        assert not found.ok, place
        assert found.findings[0].check == 1, place


def test_cut_off_or_wrapped_anywhere(files):
    data = pack(files)
    chance = random.Random(4)
    header = 30 + len("SHA256SUMS")  # any shorter, and nothing of an export is left
    for length in (0, 1, 22, header - 1):
        assert not holds_any(data[:length])
    for length in [len(data) - 1, len(data) - 22, *chance.sample(range(header, len(data)), 40)]:
        assert holds_any(data[:length])
        assert not has_end(data[:length]), length
        assert both(data[:length] + b"cut" + data[-22:]).findings[0].check == 1, length
    for wrapped in (b"x" + data, data + b"x", data + data, b"#!/bin/sh\n" + data):
        assert both(wrapped).findings[0].check == 1


def rezipped(files, compress=zipfile.ZIP_STORED, change=lambda entry: None, order=sorted, end=b""):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compress) as archive:
        for name in order(files):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, 0o100644 << 16
            entry.compress_type = compress
            change(entry)
            archive.writestr(entry, files[name])
        archive.comment = end
    return buffer.getvalue()


def set_(**fields):
    def change(entry):
        for name, value in fields.items():
            setattr(entry, name, value)

    return change


REZIPPED = {
    "deflated": {"compress": zipfile.ZIP_DEFLATED},
    "bzip2": {"compress": zipfile.ZIP_BZIP2},
    "lzma": {"compress": zipfile.ZIP_LZMA},
    "dated": {"change": set_(date_time=(2026, 11, 21, 0, 0, 0))},
    "another mode": {"change": set_(external_attr=0o100755 << 16)},
    "a link": {"change": set_(external_attr=0o120777 << 16)},
    "another system": {"change": set_(create_system=0)},
    "a comment of each": {"change": set_(comment=b"x")},
    "an extra field of each": {"change": set_(extra=b"\x01\x00\x02\x00xx")},
    "another version": {"change": set_(extract_version=45)},
    "a comment": {"end": b"x"},
    "another order": {"order": lambda files: sorted(files, reverse=True)},
}


def test_zipped_again_in_the_one_way_it_is_the_same(files):
    assert rezipped(files) == pack(files)
    assert unpack(rezipped(files)) == files


@pytest.mark.parametrize("how", REZIPPED)
def test_zipped_again_in_another_way(files, how):
    assert first(both(rezipped(files, **REZIPPED[how]))) == ("1.container", 0)


@pytest.mark.parametrize("compress", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_zipped_again_as_people_do(files, compress, tmp_path):
    for name in files:
        path = tmp_path / "out" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files[name])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compress) as archive:
        for name in files:
            archive.write(tmp_path / "out" / name, name)
    assert first(both(buffer.getvalue())) == ("1.container", 0)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_one_name_twice(files):
    buffer = io.BytesIO(pack(files))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(zipfile.ZipInfo("events.jsonl"), b"")
    assert first(both(buffer.getvalue())) == ("1.entries", 0)


def test_more_entries_than_a_zip_can_count():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(0x10000):
            archive.writestr(zipfile.ZipInfo(f"blobs/{number:064x}"), b"")
    assert first(both(buffer.getvalue())) == ("1.unreadable", 0)


# Events, chained anew and signed anew


def forged(bundle, seq, event, by):
    """The export of a record with another line, its chain and its manifest made to fit."""
    return exported(altering.chained_anew(bundle, seq, event), by)


def every_change(bundle):
    for seq in range(1, len(bundle.lines) + 1):
        for change in altering.changes(bundle, seq):
            yield seq, change


def refuse_all(bundle, chosen):
    for seq, change in chosen:
        found = both(forged(bundle, seq, change.event, STRANGER))
        assert found.level in (0, None), (seq, change.name)


def test_fields_changed_and_signed_by_a_stranger(bundle):
    refuse_all(bundle, random.Random(5).sample(list(every_change(bundle)), 120))


def derived_changes(bundle):
    events = [parse(line) for line in bundle.lines]
    for place, field in derived.alterations(events):
        yield place + 1, field, derived.altered(events[place], field)


def refuse_derived(bundle, chosen):
    seen = defaultdict(set)
    for seq, field, event in chosen:
        found = both(forged(bundle, seq, event, EXPORT))
        assert found.level is None, (seq, event["type"], field)
        named = {(row.seq, row.code) for row in found.findings}
        assert any(place == seq for place, _ in named), (seq, field, named)
        seen[event["type"]].add(field)
    return seen


@pytest.mark.slow
def test_derived_facts_changed_and_signed_by_the_house(bundle):
    refuse_derived(bundle, random.Random(6).sample(list(derived_changes(bundle)), 120))


def test_each_kind_of_derived_fact_changed_and_signed_by_the_house():
    """Of each field of each type one change, in whichever format has it."""
    tried = set()
    for name in EVENTFUL:
        kinds = {}
        record = eventful(name).bundle()
        for seq, field, event in derived_changes(record):
            kinds[event["type"], field] = (seq, field, event)
        refuse_derived(record, [row for kind, row in kinds.items() if kind not in tried])
        tried |= set(kinds)
    assert {kind for kind, _ in tried} == set(derived.FIELDS)


# Prompts that were not approved


def other_templates(role="debater"):
    templates = packaged_templates("consensus")
    return templates | {role: templates[role] + b" "}


@pytest.mark.parametrize("role", ["protocol", "block", "debater"])
def test_an_engine_that_skips_the_policy_is_found_out(monkeypatch, role):
    """Chained and signed by the house itself, with its own keys: both verifiers refuse it."""
    monkeypatch.setattr(Engine, "_refusal", lambda *_: None)
    record = play(spec(), policy=approved(templates=other_templates(role)))
    started = [row["seq"] for row in altering.events_of(record) if row["type"] == "call.started"]
    found = both(exported(record))
    assert first(found) == ("10.not_approved", started[0])
    assert [row.seq for row in found.findings] == started


def test_a_refusal_is_intact_and_cannot_be_altered():
    record = play(spec(), policy=approved(templates=other_templates()))
    assert both(exported(record)).level == 1
    refused, closed = altering.events_of(record)[-2:]
    assert (refused["type"], closed["data"]["outcome"]) == ("call.refused", "failed")
    seq = refused["seq"]
    for field, value in {
        "step": "r1.proposal.critic",
        "role": "block",
        "found": "ab" * 32,
        "approved": ["ab" * 32],
    }.items():
        event = refused | {"data": refused["data"] | {field: value}}
        assert first(both(forged(record, seq, event, EXPORT))) == (f"10.{field}", seq)


def test_a_policy_put_in_the_place_of_another(bundle):
    """The opening names the policy's hash: neither another policy nor none fits it."""
    opened = altering.events_of(bundle)[0]
    policy = approved(templates=other_templates())
    event = opened | {"data": opened["data"] | {"policy": policy.hash}}
    changed = replace(bundle, policies={policy.hash: policy.data})
    assert first(both(exported(changed)))[0] == "10.unnamed"
    started = next(
        row["seq"] for row in altering.events_of(bundle) if row["type"] == "call.started"
    )
    assert first(both(forged(changed, 1, event, EXPORT))) == ("10.not_approved", started)
    event = opened | {"data": opened["data"] | {"policy": None}}
    assert both(forged(replace(bundle, policies={}), 1, event, EXPORT)).level == 1  # the key's word


FORGED_POLICIES = {
    "another hash": lambda data: data.replace(b"consensus.block ", b"consensus.blocks "),
    "another text, the signature kept": lambda data: data.replace(b".block", b".blocj"),
    "no line": lambda data: b"hansard-policy/v1\n\n" + data.rpartition(b"\n\n")[2],
    "no head": lambda data: data.replace(b"/v1", b"/v2"),
    "another order": lambda data: data.replace(b"v1\n", b"v1\nz.z " + b"0" * 64 + b"\n"),
    "a role twice": lambda data: data.replace(b"v1\n", b"v1\nconsensus.block " + b"0" * 64 + b"\n"),
    "a hyphen": lambda data: data.replace(b"v1\n", b"v1\na-b.c " + b"0" * 64 + b"\n"),
    "no note": lambda data: b"policy",
    "empty": lambda data: b"",
}


@pytest.mark.parametrize("defect", FORGED_POLICIES)
def test_a_policy_that_was_altered_and_named_as_it_is(bundle, defect):
    ((_, data),) = bundle.policies.items()
    body = FORGED_POLICIES[defect](data)
    name = sha256(body).hexdigest()
    opened = altering.events_of(bundle)[0]
    event = opened | {"data": opened["data"] | {"policy": name}}
    found = both(forged(replace(bundle, policies={name: body}), 1, event, EXPORT))
    assert found.findings[0].code in ("3.policy", "10.policy")


def test_trust_in_nobody(files):
    assert both(files, trust_file()).level == 0
    assert both(files, TRUST).level == 1
