"""Steps 1 to 3 on the smallest export: container, manifest, signatures."""

from dataclasses import replace

import pytest

from exporting import APPROVAL, EXPORT, LOG, STRANGER, TRUST, approved, resigned, signed, trust_file
from hansard.record import manifest, note
from hansard.record.bundle import pack
from hansard.record.keys import Trust, parse_trust
from hansard.verify.envelope import check_signatures, of_store, open_export

AT = "2026-11-21T20:16:03.123456Z"
A = "a" * 64
FILES = signed({"events.jsonl": b"{}\n", f"blobs/{A}": b"text"})


def opened(export):
    """The record, the findings' codes, and the status of each step so far."""
    record, envelope = open_export(export)
    codes = [row.code for row in envelope.findings]
    return record, codes, {number: row[0] for number, row in envelope.rows.items()}


def look(files=FILES, trust=TRUST, policy=None, named=False, at=AT):
    """Whether trusted keys signed it all; the findings' codes, status and evidence of step 3."""
    _, envelope = open_export(files)
    check_signatures(envelope, policy, named, parse_trust(trust), at)
    codes = [(row.code, row.seq) for row in envelope.findings]
    return envelope.trusted, codes, *envelope.rows.get(3, ("", ""))


def test_a_record_in_a_store_has_no_envelope():
    envelope = of_store()
    assert {row[0] for row in envelope.rows.values()} == {"unsupported"}
    assert list(envelope.rows) == [1, 2, 3]
    assert not envelope.trusted
    assert not envelope.withheld
    check_signatures(envelope, None, False, Trust(), AT)
    assert not envelope.findings


@pytest.mark.parametrize("export", [FILES, pack(FILES)], ids=["folder", "zip"])
def test_an_export_that_is_whole(export):
    record, codes, rows = opened(export)
    assert record.lines == [b"{}"]
    assert record.blobs == {A: b"text"}
    assert (codes, rows) == ([], {1: "pass", 2: "pass"})


def test_a_container_that_is_refused_is_not_read_further():
    for export, code in (
        (b"", "1.unreadable"),
        (pack({"events.jsonl": b""}) + b"x", "1.unreadable"),
        ({"events.jsonl": b"", "x": b""}, "1.name"),
        ({}, "1.events"),
        (pack({}), "1.events"),
        ({"events.jsonl": b"{}"}, "1.events"),
    ):
        assert opened(export) == (None, [code], {})


MANIFESTS = {
    "2.missing": lambda files: {name: files[name] for name in files if name != manifest.NAME},
    "2.malformed": lambda files: files | {manifest.NAME: b""},
    "2.hash": lambda files: files | {f"blobs/{A}": b"other"},
    "2.unlisted": lambda files: files | {"VERIFY.md": b""},
    "2.absent": lambda files: {name: files[name] for name in files if "/" not in name},
    "2.withheld": lambda files: signed(files, withheld={"events.jsonl": "privacy"}),
}


@pytest.mark.parametrize("code", MANIFESTS)
def test_a_manifest_that_does_not_fit(code):
    record, codes, _ = opened(MANIFESTS[code](FILES))
    assert record is not None
    assert codes == [code]


def test_what_is_wrong_is_told_of_each_file():
    files = {**FILES, "VERIFY.md": b"", "events.jsonl": b"", "report.html": b""}
    del files[f"blobs/{A}"]
    assert opened(files)[1] == ["2.unlisted", "2.absent", "2.hash"]


def test_withheld_texts_are_known_by_their_names_other_files_are_not():
    rest = {"events.jsonl": b"", "VERIFY.md": b""}
    held = {f"blobs/{A}": "privacy", f"templates/{A}": "secret"}
    _, envelope = open_export(signed(rest, withheld=held))
    assert envelope.withheld == {A}
    assert envelope.rows[2] == ("pass", "2 files as listed, 2 withheld")


def test_who_signed_the_manifest():
    assert look()[:3] == (True, [], "pass")
    for by in (STRANGER, LOG, APPROVAL):
        assert look(signed(FILES, by))[:3] == (False, [], "unchecked")
    late = trust_file(("export", EXPORT, {"until": AT}))
    assert look(trust=late)[:3] == (False, [], "unchecked")
    assert look(at=None)[:3] == (False, [], "unchecked")
    assert look(trust=trust_file())[:3] == (False, [], "unchecked")


def test_a_manifest_that_is_not_the_one_that_was_signed():
    data = FILES[manifest.NAME].replace(b"events", b"eventz")
    forged, codes, *_ = look(FILES | {manifest.NAME: data})
    assert not forged
    assert ("3.signature", 0) in codes


def test_a_note_that_is_no_manifest_is_still_looked_at():
    data = note.sign(b"any text\n", EXPORT)
    assert look(FILES | {manifest.NAME: data})[:3] == (True, [("2.malformed", 0)], "pass")
    unread = ([("2.malformed", 0)], "unchecked", "manifest cannot be read")
    assert look(FILES | {manifest.NAME: b"no note"})[1:] == unread
    assert look(resigned(FILES, b"text\n", STRANGER))[:2] == (False, [("2.malformed", 0)])


def test_a_policy_is_looked_at_also_where_the_manifest_is_no_note():
    genuine = approved()
    forged = replace(genuine, note=replace(genuine.note, text=b"other\n"))
    found = [("2.malformed", 0), ("3.policy", 0)]
    files = FILES | {manifest.NAME: b"no note"}
    assert look(files, policy=forged, named=True)[:2] == (False, found)
    assert look(files, policy=genuine, named=True)[:3] == (False, found[:1], "unchecked")


def test_who_signed_the_policy():
    assert look(policy=approved(), named=True)[:3] == (True, [], "pass")
    for by in (STRANGER, EXPORT):
        assert look(policy=approved(by), named=True)[:3] == (False, [], "unchecked")
    assert look(policy=None, named=True)[3].endswith("policy cannot be read")
    assert not look(policy=None, named=True)[0]
    data = approved().data.replace(b".block", b".blocc")
    found = look(policy=type(approved())(data, note.parse(data), {}), named=True)
    assert found[:2] == (False, [("3.policy", 0)])
