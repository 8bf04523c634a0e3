"""The limits that are too large for the kit (FORMAT.md §10.2), and the memory that they take."""

import json
import string
from dataclasses import replace
from itertools import islice, product
from pathlib import Path

import pytest

import verify
from conformance_kit.debates import decided, under
from conformance_kit.exports import ABOUT, export, files_of, seal, zip_of
from conformance_kit.gate import answered
from conformance_kit.limits import (
    MIB,
    argued,
    at_the_bound,
    documented,
    started,
    with_stance,
)
from conformance_kit.moderated import attacked, defended, moderating, proposed
from conformance_kit.policed import JUDGED, held, served
from conformance_kit.records import derived
from conformance_kit.sources import taken, with_original
from costly import CITED, UNANSWERED, counted_wrong, instructed, says_of_its_turns
from exporting import APPROVAL, EXPORT, both
from hansard.record import blob, note
from hansard.record.bundle import MAX_EXPORT
from hansard.record.note import MAX_NOTE
from hansard.rules import spending, state
from kit import STORED
from measuring import peak

ROOT = Path(__file__).resolve().parents[2]
VERIFIERS = {"package": ["-m", "hansard", "verify"], "verify.py": [str(ROOT / "tools/verify.py")]}


def sized(size):
    """An export of exactly so many bytes: VERIFY.md is what it lacks."""
    files = files_of(decided())
    lacking = size - len(zip_of(seal(files))) + len(ABOUT)
    return zip_of(seal(files | {"VERIFY.md": bytes(lacking)}))


def with_context(record, seq):
    """The same record, with the text of one of its documents as its context too."""
    return record.data(1, context=record.event(seq)["data"]["text"])


def of_documents(*sizes):
    """An export of an opening with documents of these sizes; the first is entry 7."""
    return zip_of(export(documented(*sizes)))


def sharing(number, size):
    """A debate whose documents, entries 7 and on, are so many names of one text of this size."""
    rows = [{"id": f"d{n}", "text": "x"} for n in range(number)]
    script = {
        "r1.proposition.proposer:1": proposed([]),
        "r1.critique.critic:1": attacked(8, []),
        "r1.rebuttal.rebuttal:1": defended((1, [])),
    }
    record = moderating("sharing", script, evidence=rows)
    name, file = blob.pack("x" * size, derived("shared"))
    seqs = range(7, 7 + number)
    gone = {record.event(seq)["data"]["text"]["sha256"] for seq in seqs}
    texts = {key: each for key, each in record.blobs.items() if key not in gone} | {name: file}
    for seq in seqs:
        record = record.data(seq, text={"sha256": name})
    return replace(record, blobs=texts)


@pytest.mark.slow
def test_a_text_that_many_documents_share_is_held_once(tmp_path):
    path = tmp_path / "record.zip"
    path.write_bytes(zip_of(export(sharing(500, 2 * MIB))))
    for name, command in VERIFIERS.items():
        ended, out, took = peak(tmp_path, *command, str(path), "--json")
        codes = {row["code"] for row in json.loads(out)["findings"]}
        assert (codes, ended) == ({"11.prompt"}, 1), name
        assert took <= 512 * MIB, name


def answered_alike(number, size, line):
    """A judged debate whose verdict, entry 13, was served by a name of this size.

    So many entries after the last one answer with the same name, and are not due.
    """
    record = held(served(), *JUDGED, line)
    name, file = blob.pack("x" * size, derived("named"))
    own = record.event(13)["data"]["model"]["sha256"]
    texts = {key: each for key, each in record.blobs.items() if key != own} | {name: file}
    files = files_of(replace(record.data(13, model={"sha256": name}), blobs=texts))
    lines = files["events.jsonl"].splitlines(keepends=True)
    return zip_of(seal(files | {"events.jsonl": b"".join(lines + lines[12:13] * number)}))


@pytest.mark.slow
def test_a_name_that_many_answers_share_is_read_and_shown_as_far_as_it_counts(tmp_path):
    path = tmp_path / "record.zip"
    path.write_bytes(answered_alike(1000, 8 * MIB, "* served other"))
    for name, command in VERIFIERS.items():
        _, out, took = peak(tmp_path, *command, str(path), "--json")
        shown = [row for row in json.loads(out)["findings"] if row["code"] == "18.served"]
        assert {row["found"] for row in shown} == {None, "gpt-4o-2024-08-06", "x" * 256 + "…"}
        assert took <= 512 * MIB, name


LINES = MAX_NOTE - 500  # bytes of a note, its head and signature aside


def listing(lines):
    """An export at the bound whose manifest has these lines."""
    files = files_of(decided())
    room = MAX_EXPORT - len(zip_of(seal(files, text=lines))) + len(ABOUT)
    return zip_of(seal(files | {"VERIFY.md": bytes(room)}, text=lines))


def ruled_by(lines):
    """An export nearly at the bound whose policy has these lines."""
    policy = note.sign(b"hansard-policy/v1\n" + lines, APPROVAL)
    files = files_of(under(decided(), policy))
    return zip_of(seal(files | {"VERIFY.md": bytes(MAX_EXPORT - len(zip_of(files)) - 10_000)}))


def withholding():
    """The lines of a manifest that lists nothing, and withholds as many names as it can."""
    names = product(sorted("./" + string.digits + string.ascii_letters), repeat=4)
    return "".join(
        f"# withheld {''.join(name)} x\n" for name in islice(names, LINES // 18)
    ).encode()


FULL = [2 * MIB] * 10
KEPT = [11_184_808] * 8  # bytes of base64, 24 less than there may be
CASES = {
    "an export of 2^27 bytes": (lambda: sized(MAX_EXPORT), [], 0),
    "an export of one byte more": (lambda: sized(MAX_EXPORT + 1), [("1.size", 0)], 1),
    "documents of 20 MiB": (lambda: of_documents(*FULL), [], 0),
    "documents of one byte more": (lambda: of_documents(*FULL, 1), [("8.size", 17)], 1),
    "documents of more, and a small one after them": (
        lambda: of_documents(*[2_000_000] * 10, 1_500_000, 100_000),
        [("8.size", 17), ("8.size", 18)],
        1,
    ),
    "documents of which one is too large by itself": (
        lambda: of_documents(2 * MIB + 1, *FULL[1:], 1),
        [("8.size", seq) for seq in (7, 16, 17)],
        1,
    ),
    "documents of one byte more, which is the context": (
        lambda: zip_of(export(with_context(documented(*FULL, 1), 17))), [("8.size", 16)], 1,
    ),
    "originals of 64 MiB": (lambda: zip_of(export(with_original(*KEPT, 24))), [], 0),
    "originals of a little more": (
        lambda: zip_of(export(with_original(*KEPT, 28))), [("8.size", 15)], 1,
    ),
    "a text of 126 MB in place of a file's hash": (
        lambda: zip_of(export(taken(file=f"{'0' * 126_000_000}\U0001f5c4"))), [("8.file", 7)], 1,
    ),
    "a stance of 16,000,000 bytes, which a judge names": (
        lambda: zip_of(export(argued("\U0001f5c4" * 4_000_000))), [], 0,
    ),
    "a stance of one byte more": (
        lambda: zip_of(export(with_stance("x" * 16_000_001))), [("8.size", 2)], 1,
    ),
    "an answer of a gate, of 16,000,000 bytes": (
        lambda: zip_of(export(answered(f"{'x' * 15_999_996}\U0001f5c4"))), [], 0,
    ),
    "an answer of a gate, of one byte more": (
        lambda: zip_of(export(answered("x" * 16_000_001))), [("8.size", 1)], 1,
    ),
    "an entry of 130,000,000 bytes": (
        lambda: zip_of(seal({"events.jsonl": b'{"a":"%s"}\n' % (b"x" * 129_999_992)})),
        [("4.size", 1)],
        1,
    ),
    "a manifest of empty lines alone": (
        lambda: listing(b"\n" * LINES), [("2.malformed", 0)], 1,
    ),
    "a policy of empty lines alone": (
        lambda: ruled_by(b"\n" * LINES), [("10.policy", 1)], 1,
    ),
    "a policy that says one thing again and again": (
        lambda: ruled_by(b"* model a\n" * (LINES // 10)), [("10.policy", 1)], 1,
    ),
    "a call begun as entry 99,001": (
        lambda: zip_of(export(started(99_000))), [("15.ceiling", 99_001)], 1,
    ),
}  # fmt: skip


@pytest.mark.slow
def test_a_manifest_that_withholds_many_names_takes_little_memory(tmp_path):
    path = tmp_path / "record.zip"
    path.write_bytes(listing(withholding()))
    for name, command in VERIFIERS.items():
        _, out, took = peak(tmp_path, *command, str(path), "--json")
        assert {row["code"] for row in json.loads(out)["findings"]} == {"2.unlisted"}, name
        assert took <= 512 * MIB, name


def counting():
    """A report of as many numbers as it can have, of which none is that of the exports."""
    head = "hansard-report/v1\nsince {0}\nuntil {0}\nat {0}\n".format("2026-10-01T00:00:00.000000Z")
    names = product(sorted("_." + string.digits + string.ascii_lowercase), repeat=4)
    rows = (f"number {''.join(name)} 1\n" for name in islice(names, LINES // 14))
    return note.sign((head + "".join(rows)).encode(), EXPORT)


@pytest.mark.slow
def test_a_large_report_on_a_large_export(tmp_path):
    folder, report = tmp_path / "folder", tmp_path / "report"
    folder.mkdir()
    (folder / "00000000-0000-4000-8000-000000000000.zip").write_bytes(listing(withholding()))
    report.write_bytes(counting())
    for name, command in VERIFIERS.items():
        words = (*command, str(folder), "--report", str(report), "--json")
        _, out, took = peak(tmp_path, *words)
        codes = {row["code"] for row in json.loads(out.splitlines()[-1])["findings"]}
        assert codes == {"1.record", "2.missing", "21.number"}, name
        assert took <= 512 * MIB, name


@pytest.mark.slow
def test_seats_with_many_instructions_are_verified_and_counted_in_little_memory(tmp_path):
    record, folder, report = instructed(), tmp_path / "folder", tmp_path / "report"
    folder.mkdir()
    (folder / f"{record.event(1)['debate']}.zip").write_bytes(zip_of(export(record)))
    times = "since {0}\nuntil 2027-01-01T00:00:00.000000Z\nat {0}\n"
    text = "hansard-report/v1\n" + times.format("2026-01-01T00:00:00.000000Z")
    report.write_bytes(note.sign(text.encode(), EXPORT))
    for name, command in VERIFIERS.items():
        _, out, took = peak(tmp_path, *command, str(folder), "--report", str(report), "--json")
        said, of_folder = map(json.loads, out.splitlines())
        assert said["result"]["findings"] == [], name
        assert "21.unlisted" in {row["code"] for row in of_folder["findings"]}, name
        assert took <= 512 * MIB, name


@pytest.mark.slow
def test_findings_are_listed_as_far_as_their_evidence_takes_little_memory(tmp_path):
    path = tmp_path / "record.zip"
    path.write_bytes(zip_of(export(counted_wrong())))
    for name, command in VERIFIERS.items():
        _, out, took = peak(tmp_path, *command, str(path), "--json")
        result = json.loads(out)
        assert [row["code"] for row in result["findings"]] == ["14.tally"] * 6, name
        assert "(entry 10; 247 more)" in result["checks"][13]["evidence"], name
        assert took <= 512 * MIB, name


@pytest.mark.slow
def test_a_record_of_very_many_values_is_replayed_and_not_shown_in_little_memory(tmp_path):
    path = tmp_path / "record.zip"
    path.write_bytes(zip_of(export(instructed())))
    for command, code in {"show": 2, "status": 2, "report": 2, "replay": 0}.items():
        ended, _, took = peak(tmp_path, "-m", "hansard", command, str(path))
        assert (ended, took <= 512 * MIB) == (code, True), command


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "codes"), [(UNANSWERED, set()), (CITED, {"11.prompt"})], ids=["unanswered", "cited"]
)
def test_turns_without_replies_that_say_much_are_verified_in_little_memory(tmp_path, more, codes):
    path = tmp_path / "record.zip"
    path.write_bytes(says_of_its_turns(more))
    for name, command in VERIFIERS.items():
        _, out, took = peak(tmp_path, *command, str(path), "--json")
        assert {row["code"] for row in json.loads(out)["findings"]} == codes, name
        assert took <= 512 * MIB, name


@pytest.mark.slow
@pytest.mark.parametrize("what", CASES)
def test_at_the_bound_and_past_it(what, tmp_path, capsys):
    make, findings, status = CASES[what]
    path = tmp_path / "record.zip"
    path.write_bytes(make())
    for name, command in VERIFIERS.items():
        trust = str(STORED / "trust.json")
        ended, out, took = peak(tmp_path, *command, str(path), "--trust", trust, "--json")
        found = [(row["code"], row["seq"]) for row in json.loads(out)["findings"]]
        assert (found, ended) == (findings, status), name
        assert took <= 512 * MIB, name
        with capsys.disabled():
            print(f"\n{what}: {name} took {took // MIB} MiB")


def test_room_in_a_record(monkeypatch):
    """At the bound and past it, with a limit that is reached soon."""
    limit = 100
    monkeypatch.setattr(verify, "MOST_ENTRIES", limit + 1000)
    monkeypatch.setattr(state, "LAST_START", limit)
    monkeypatch.setitem(spending._ALWAYS, "entries", limit)
    for record, codes in at_the_bound(limit):
        assert [row.code for row in both(export(record)).findings] == codes
