"""Checks 1 to 3 on the smallest export: container, manifest, signatures."""

import json
from dataclasses import replace
from hashlib import sha256

import pytest

from exporting import APPROVAL, EXPORT, LOG, STRANGER, TRUST, approved, resigned, signed, trust_file
from hansard.errors import DataError
from hansard.record import manifest, note
from hansard.record.bundle import PAGE, PAGE_NOTE, of_files, pack
from hansard.record.keys import parse_trust
from hansard.record.policy import Policy
from hansard.verify.envelope import check_manifest, check_signatures, files_of
from hansard.verify.findings import CHECKS
from hansard.verify.reading import Reading
from hansard.verify.verifier import verify_export

AT = "2026-11-21T20:16:03.123456Z"
A = "a" * 64
FILES = signed({"events.jsonl": b"{}\n", f"blobs/{A}": b"text"})


def opened(export, trust=TRUST):
    """The reading of an export after checks 1 and 2, and the codes that they found."""
    files = files_of(export)
    reading = Reading(of_files(files), files, parse_trust(trust))
    return reading, [row.code for row in check_manifest(reading)]


def look(files=FILES, trust=TRUST, policy=None, named=False, at=AT):
    """Whether trusted keys signed it all; what was found, the status and evidence of check 3."""
    reading, codes = opened(files, trust)
    reading.policy = policy
    if at:
        data = {"policy": "named" if named else None}
        reading.events = [{"type": "debate.opened", "at": at, "data": data}]
    found = [(code, 0) for code in codes]
    found += [(row.code, row.seq) for row in check_signatures(reading)]
    status, words = reading.aside.get(3) or ("pass", reading.evidence[3])
    return reading.trusted, found, status, words


def test_a_record_in_a_store_has_no_envelope():
    reading = Reading(of_files(FILES))
    assert [*check_manifest(reading), *check_signatures(reading)] == []
    assert {number: row[0] for number, row in reading.aside.items()} == dict.fromkeys(
        (1, 2, 3), "unsupported"
    )
    assert not reading.trusted
    assert not reading.withheld


@pytest.mark.parametrize("export", [FILES, pack(FILES)], ids=["folder", "zip"])
def test_an_export_that_is_whole(export):
    reading, codes = opened(export)
    assert reading.bundle.lines == [b"{}"]
    assert reading.bundle.blobs == {A: b"text"}
    assert codes == []
    assert reading.evidence == {
        1: "3 files, all of which belong in an export; no page",
        2: "2 files as listed",
    }


@pytest.mark.parametrize(
    ("export", "code"),
    [
        (b"", "1.unreadable"),
        (pack({"events.jsonl": b""}) + b"x", "1.unreadable"),
        ({"events.jsonl": b"", "x": b""}, "1.name"),
        ({}, "1.events"),
        (pack({}), "1.events"),
        ({"events.jsonl": b"{}"}, "1.events"),
    ],
)
def test_a_container_that_is_refused_is_not_read_further(export, code):
    found = verify_export(export, parse_trust(TRUST))
    assert [(row.code, row.seq) for row in found.findings] == [(code, 0)]
    assert found.findings[0].found == ("x" if code == "1.name" else None)
    assert [row.status for row in found.checks] == ["fail", *["unchecked"] * (len(CHECKS) - 1)]
    with pytest.raises(DataError) as caught:
        of_files(files_of(export))
    assert caught.value.code == code


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
    assert opened(MANIFESTS[code](FILES))[1] == [code]


def test_what_is_wrong_is_told_of_each_file():
    files = {**FILES, "VERIFY.md": b"", "events.jsonl": b"", "report.html": b""}
    del files[f"blobs/{A}"]
    found = ["2.page_missing", "2.unlisted", "2.absent", "2.hash"]
    assert opened(files)[1] == found


def paged(files=FILES, by=EXPORT, page=b"<p>", text=None):
    """The files with a page and its note."""
    made = files | {PAGE: page}
    lines = manifest.write_page(files.get(manifest.NAME, b""), page) if text is None else text
    return made | {PAGE_NOTE: note.sign(lines, by)}


def without(files, *names):
    return {name: files[name] for name in files if name not in names}


def test_a_page_and_its_note_come_together():
    assert look(paged())[:3] == (True, [], "pass")
    for name, other in ((PAGE, PAGE_NOTE), (PAGE_NOTE, PAGE)):
        reading = Reading(of_files(FILES), without(paged(), name))
        assert [(row.code, row.expected) for row in check_manifest(reading)] == [
            ("2.page_missing", name)
        ]
        assert other in reading.files
    assert look(without(paged(), PAGE))[:3] == (True, [("2.page_missing", 0)], "pass")
    assert look(without(paged(), PAGE_NOTE))[:3] == (False, [("2.page_missing", 0)], "unchecked")


def test_a_page_that_is_not_the_one_that_was_signed():
    for files, name in (
        (paged() | {PAGE: b"<P>"}, PAGE),
        (paged() | {manifest.NAME: signed(FILES, STRANGER)[manifest.NAME]}, manifest.NAME),
    ):
        reading = Reading(of_files(files), files)
        (found,) = check_manifest(reading)
        assert (found.code, found.seq) == ("2.page_hash", 0)
        assert found.found == sha256(files[name]).hexdigest() != found.expected
        assert found.message == f"{name} was changed: SHA256SUMS.page lists another hash"
    assert opened(without(paged(), manifest.NAME))[1] == ["2.missing"], "it is not compared"


@pytest.mark.parametrize("text", [b"text\n", manifest.write_page(b"", b"<p>") + b"\n"])
def test_a_page_note_that_is_malformed_is_still_looked_at(text):
    assert look(paged(text=text))[:3] == (True, [("2.page_malformed", 0)], "pass")
    forged = note.sign(b"other\n", EXPORT).rpartition(b"\n\n")[2]
    files = paged() | {PAGE_NOTE: text + b"\n" + forged}
    assert look(files)[1] == [("2.page_malformed", 0), ("3.page", 0)]


def test_a_page_note_that_is_no_note():
    for data in (b"", b"<p>", manifest.write_page(b"", b"")):
        found = look(paged() | {PAGE_NOTE: data})
        assert found[:3] == (False, [("2.page_malformed", 0)], "unchecked")


def test_who_signed_the_page():
    for by in (STRANGER, LOG, APPROVAL):
        assert look(paged(by=by))[:3] == (False, [], "unchecked")
    assert look(paged(), trust_file(("export", EXPORT, {"until": AT})))[0] is False
    forged = note.sign(b"other\n", LOG).rpartition(b"\n\n")[2]
    files = paged()
    assert look(files | {PAGE_NOTE: files[PAGE_NOTE] + forged})[:2] == (False, [("3.page", 0)])


def test_withheld_texts_are_known_by_their_names_other_files_are_not():
    rest = {"events.jsonl": b"", "VERIFY.md": b""}
    held = {f"blobs/{A}": "privacy", f"templates/{A}": "secret"}
    reading, _ = opened(signed(rest, withheld=held))
    assert reading.withheld == {A}
    assert reading.evidence[2] == "2 files as listed, 2 withheld"


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
    found = look(policy=Policy(data, note.parse(data), {}), named=True)
    assert found[:2] == (False, [("3.policy", 0)])


@pytest.mark.parametrize(("since", "counts"), [(AT, False), (AT[:-2] + "7Z", True)])
def test_a_policy_that_was_revoked_by_the_opening(since, counts):
    genuine = approved()
    rows = json.loads(TRUST) | {"policies": [{"sha256": genuine.hash, "revoked": since}]}
    trusted, found, status, words = look(
        policy=genuine, named=True, trust=json.dumps(rows).encode()
    )
    assert (trusted, found, status) == (counts, [], "pass" if counts else "unchecked")
    assert words.endswith(
        "which you trust" if counts else f"; the policy was revoked already at {AT}"
    )
    forged = replace(genuine, note=replace(genuine.note, text=b"other\n"))
    found = look(policy=forged, named=True, trust=json.dumps(rows).encode())
    assert found[:2] == (False, [("3.policy", 0)])
    assert "revoked" not in found[3]
