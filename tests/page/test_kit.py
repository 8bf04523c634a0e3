"""The conformance kit and the page's scripts, under Node: the port of the second verifier agrees.

A page sees neither a container nor itself in one, so the cases about those are left out. What
was asked is rendered again as the package renders it.
"""

import json
import struct
from pathlib import Path
from types import SimpleNamespace

import pytest

from conformance_kit import gate, limits, people, runner, sources
from conformance_kit.debates import decided, policy_of, under
from conformance_kit.exports import export, files_of, seal, zip_of
from conformance_kit.records import trust
from conformance_kit.redacted import redact
from conformance_kit.tool_use import one_tool
from costly import CITED, counting_names, instructed, ranking_names, says_of_its_turns
from exporting import APPROVAL, both, exported, summary
from hansard.api.records import read_export
from hansard.api.trust import read_trust
from hansard.page.read import verify_export
from hansard.record import bundle as bundles
from hansard.record import note
from hansard.record.keys import parse_trust
from hansard.report import erasing, reviews
from hansard.report.words import LINE
from kit import ROWS, case, export_files
from page.harness import ask, calls, rendered
from playing import POSITIONS, play
from support import EVENTFUL, eventful

SMALL = 1_100  # entries, of a record that is full
BLANKS = " " * 20_000  # of which a line shows as little as of none, however much of them is read
NAMES = [name for name, row in ROWS.items() if row.check != 1 and row.theme != "pages"]
GENUINE = [name for name in NAMES if ROWS[name].expected.verdict == "INTACT"]


class Answers(dict):
    """What the scripts say of each case, by name; of some at a time, for all processes of tests."""

    AT_ONCE = 40

    def __init__(self, node):
        super().__init__()
        self._node = node

    def __missing__(self, name):
        start = NAMES.index(name) // self.AT_ONCE * self.AT_ONCE
        names = NAMES[start : start + self.AT_ONCE]
        questions = [
            {"export": str(row.export), "trust": str(row.trust), "prompts": row.row.name in GENUINE}
            for row in map(case, names)
        ]
        self.update(zip(names, ask(self._node, questions), strict=True))
        return self[name]


@pytest.fixture(scope="module")
def answers(node):
    return Answers(node)


@pytest.mark.parametrize("name", NAMES)
def test_every_word_as_the_package_says_it(answers, name):
    """Not the first finding alone: all of them, each check's status, and what else is said."""
    said = answers[name]
    assert "error" not in said, said
    answer = runner.read_answer(json.dumps(said), 0 if said["level"] else 1)
    assert list(runner.disagreements(ROWS[name].expected, answer)) == []
    trust = parse_trust(case(name).trust.read_bytes())
    package = summary(json.loads(verify_export(export_files(name), trust).model_dump_json()))
    del package["checks"][1]
    assert summary(said) == package


@pytest.mark.parametrize("name", [name for name in GENUINE if ROWS[name].theme == "people"])
def test_how_the_review_stands(answers, name):
    """In the words of `hansard status`, by the same trust file."""
    row = case(name)
    result = read_export(row.export, read_trust(row.trust)).result()
    assert answers[name]["review"] == {
        "says": reviews.notable(result) or "",
        "conditions": [*reviews.conditions(result)],
        "acting": result.acting,
        "erased": [*erasing.in_words(result.reviewed, LINE)],
    }


def test_a_weak_key_cannot_be_used(node):
    """A page reads no trust file, but a key that its reader pastes."""
    weak = [name for name in ROWS if name.startswith("trust-key-") and name.endswith("_fail")]
    questions = [{"export": str(row.export), "trust": str(row.trust)} for row in map(case, weak)]
    for said in ask(node, questions):
        assert "a key that cannot be used" in said["error"]


def test_no_more_files_than_a_zip_can_count(node, tmp_path, monkeypatch):
    """One more, counted as none, is in no export. Those that it can count take little memory."""
    files = {f"blobs/{number:064x}": b"" for number in range(bundles.MAX_FILES - 1)}
    files["events.jsonl"] = b""
    (tmp_path / "most").write_bytes(bundles.pack(files))
    files["VERIFY.md"] = b""
    end = struct.Struct("<4s4x2x2x2LH")  # counts modulo 2^16
    wrapped = SimpleNamespace(pack=lambda sign, *rest: end.pack(sign, *rest[4:]))
    monkeypatch.setattr(bundles, "_END", wrapped)
    (tmp_path / "more").write_bytes(b"".join(bundles._chunks(files)))
    questions = [{"export": str(tmp_path / name)} for name in ("most", "more")]
    most, more = ask(node, questions, options=["--max-old-space-size=100"])
    assert most["findings"][0]["code"] == "2.missing"
    assert "is not an export" in more["error"]


@pytest.mark.slow
def test_lines_of_manifest_and_policy_are_not_all_held(node, tmp_path):
    """As `tests/conformance/test_limits.py` asks the two other verifiers."""
    lines = b"\n" * (note.MAX_NOTE - 500)
    policy = note.sign(b"hansard-policy/v1\n" + lines, APPROVAL)
    sealed = {
        "2.malformed": seal(files_of(decided()), text=lines),
        "10.policy": export(under(decided(), policy)),
    }
    for code, files in sealed.items():
        (tmp_path / code).write_bytes(zip_of(files))
    questions = [{"export": str(tmp_path / code)} for code in sealed]
    found = ask(node, questions, options=["--max-old-space-size=100"])
    assert [row["findings"][0]["code"] for row in found] == list(sealed)


@pytest.mark.slow
def test_room_for_documents(node, tmp_path):
    """As `tests/conformance/test_limits.py` asks the two other verifiers."""
    full = [2 * limits.MIB] * 10
    rows = [
        (limits.documented(*full), []),
        (limits.documented(*full, 1), ["8.size"]),
        (limits.documented(*[2_000_000] * 10, 1_500_000, 100_000), ["8.size"] * 2),
        (limits.documented(2 * limits.MIB + 1, *full[1:], 1), ["8.size"] * 3),
        (sources.with_original(*[11_184_808] * 8, 24), []),
        (sources.with_original(*[11_184_808] * 8, 28), ["8.size"]),
        (limits.argued("\U0001f5c4" * 4_000_000), []),
        (limits.with_stance("x" * 16_000_001), ["8.size"]),
        (gate.answered("x" * 16_000_001), ["8.size"]),
    ]
    assert codes_of(node, tmp_path, rows) == [expected for _, expected in rows]


@pytest.mark.slow
def test_entries_that_list_much_take_little_memory(node, tmp_path):
    """As `tests/conformance/test_limits.py` asks the two other verifiers, of less than 64 MiB."""
    sealed = {"instructed": zip_of(export(instructed(60))), "cited": says_of_its_turns(CITED, 19)}
    for name, record in sealed.items():
        (tmp_path / name).write_bytes(record)
    questions = [{"export": str(tmp_path / name)} for name in sealed]
    for said in ask(node, questions, options=["--max-old-space-size=256"]):
        assert "error" not in said


@pytest.mark.slow
def test_what_is_not_due_takes_little_memory(node, tmp_path):
    """30 MiB of names took 300 MiB while the data of all entries were kept."""
    (tmp_path / "record").write_bytes(zip_of(ranking_names(30)))
    options = ["--max-old-space-size=64"]
    (said,) = ask(node, [{"export": str(tmp_path / "record")}], options=options)
    assert [row["code"] for row in said["findings"]] == ["9.not_due"]


@pytest.mark.slow
def test_what_is_due_and_wrong_takes_little_memory(node, tmp_path):
    """60 MiB of counts took 570 MiB while all that is wrong in them was kept."""
    (tmp_path / "record").write_bytes(zip_of(counting_names(60)))
    options = ["--max-old-space-size=128"]
    (said,) = ask(node, [{"export": str(tmp_path / "record")}], options=options)
    assert [row["code"] for row in said["findings"]] == ["14.tally"] * 2
    (evidence,) = (row["evidence"] for row in said["checks"] if row["number"] == 14)
    assert "59 more" in evidence


def test_no_entry_is_read_for_each_redaction_that_names_a_text_of_it(node, tmp_path):
    """A thousand of them that name two long entries in turn would take minutes."""
    record = decided()
    texts = [(1, "question"), (record.seq("call.answered"), "reply")]
    for seq, field in texts * 10:
        record = redact(record, seq, field, kept=True)
    (tmp_path / "record").write_bytes(zip_of(export(record)))
    counting = """get data() {
      const { bytes: read } = this;
      if (Entry.last.bytes !== read) this.looked = (this.looked ?? 0) + 1;
      if (this.looked > 4) throw new Error("read too often");
    """
    questions = [{"export": str(tmp_path / "record")}]
    (said,) = ask(node, questions, change=("get data() {", counting))
    assert said["verdict"] == "ALTERED"


def test_blanks_are_read_once_however_often_conditions_and_names_are_made_of_them(node, tmp_path):
    """Of sixty megabytes of them 20,000 conditions would take an hour."""
    record = decided()
    record, (name,) = people.texts(record, BLANKS)
    for _ in range(3):
        record = people.review(record, "rejected", people.BEN, reviewer=name)
    for _ in range(2):
        record = people.review(record, "conditions", people.BEN, conditions=[BLANKS] * 20)
    for seq, field in ((1, "question"), (record.seq("call.answered"), "reply")):
        record = redact(record, seq, field, reason=name, basis=name, asked_by=name)
    (tmp_path / "record").write_bytes(zip_of(export(record.pruned())))
    (tmp_path / "trust").write_bytes(trust())
    counting = """var looked = 0;
    const oneLine = (text, limit = Infinity) => {
      if (text.length > 10_000 && ++looked > 7) throw new Error("read too often");
    """
    asked = {"export": str(tmp_path / "record"), "trust": str(tmp_path / "trust")}
    change = ("const oneLine = (text, limit = Infinity) => {", counting)
    (said,) = ask(node, [asked], change=change)
    assert said["review"]["conditions"] == [f"{n}:  (still to be met)" for n in range(1, 41)]
    assert said["findings"] == []
    assert "“”" in said["review"]["acting"]


def test_a_tool_that_comes_back_is_not_sought_among_all(node, tmp_path):
    """Of 49,000 it took 18 seconds, at each step of the replay."""
    (tmp_path / "record").write_bytes(zip_of(export(using_tools(300))))
    counting = """var looked = 0;
    for (const name of ["find", "findLast", "filter"]) {
      const found_by = Array.prototype[name];
      Array.prototype[name] = function (test) {
        if (this.length > 200) looked += this.length;
        if (looked > 10_000) throw new Error("looked too often");
        return found_by.call(this, test);
      };
    }
    const emptyState = (texts) => ({"""
    change = ("const emptyState = (texts) => ({", counting)
    (said,) = ask(node, [{"export": str(tmp_path / "record")}], change=change)
    assert said["verdict"] == "SELF-CONSISTENT, SIGNER UNKNOWN"
    assert "still open" in said["review"]["acting"]


def using_tools(number):
    """An open debate in which one reply asks for so many tools, all of which come back in order."""
    record = one_tool()
    *before, answered, called, returned = record.events[:8]
    asking = {**answered, "data": {**answered["data"], "tools": number}}
    rows = [
        {**event, "data": {**event["data"], "number": place}}
        for event in (called, returned)
        for place in range(1, number + 1)
    ]
    return record.numbered([*before, asking, *rows]).pruned()


def test_the_numbers_of_a_list_are_not_gone_into_for_texts(node, tmp_path):
    """A step for each took more than a gigabyte where 60 MiB of entries list nothing but ones."""
    (tmp_path / "record").write_bytes(says_of_its_turns({"unanswered": [1] * 20_000}, 2))
    counting = """var looked = 0;
    function* namedBlobs(value) {
      if (++looked > 10_000) throw new Error("looked too often");
    """
    change = ("function* namedBlobs(value) {", counting)
    (said,) = ask(node, [{"export": str(tmp_path / "record")}], change=change)
    assert [row["code"] for row in said["findings"]] == ["9.not_due"]


def test_instructions_are_looked_up_among_those_of_a_policy(node, tmp_path):
    """Comparing each with all would take a minute for 60 MiB of them and a thousand lines."""
    lines = ["* callable any", *(f"* instructions {number:064x}" for number in range(990))]
    record = under(instructed(2), policy_of(lines))
    counting = """var looked = 0;
    var found_in = Array.prototype.includes;
    Array.prototype.includes = function (one) {
      looked += this.length;
      if (looked > 1e6) throw new Error("looked too often");
      return found_in.call(this, one);
    };
    function checkPolicy("""
    assert codes_of(node, tmp_path, [(record, None)], ("function checkPolicy(", counting)) == [
        ["10.instructions"] * 2
    ]


def test_room_in_the_record(node, tmp_path):
    """As they are asked, with smaller limits."""
    rows = limits.at_the_bound(SMALL - 1000)
    smaller = ("const MOST_ENTRIES = 100000;", f"const MOST_ENTRIES = {SMALL};")
    assert codes_of(node, tmp_path, rows, smaller) == [expected for _, expected in rows]


def codes_of(node, folder, rows, change=("", "")):
    """What is found in each of these records."""
    questions = [{"export": str(folder / str(number))} for number in range(len(rows))]
    for question, (record, _) in zip(questions, rows, strict=True):
        Path(question["export"]).write_bytes(zip_of(export(record)))
    said = ask(node, questions, change=change)
    return [[row["code"] for row in each["findings"]] for each in said]


# Prompts


def test_every_prompt_of_every_format(node, examples, tmp_path):
    records = examples | {name: eventful(name).bundle() for name in EVENTFUL}
    positions = [
        row | {"label": number} for row, number in zip(POSITIONS, ("10", "b", "2"), strict=True)
    ]
    records["numbers"] = play("moderated", positions=positions, max_rounds=2)
    for name, bundle in records.items():
        (tmp_path / name).write_bytes(bundles.pack(bundles.to_files(bundle)))
    questions = [{"export": str(tmp_path / name), "prompts": True} for name in records]
    for said, bundle in zip(ask(node, questions), records.values(), strict=True):
        assert said["prompts"] == {call: rendered(bundle, call) for call in calls(bundle)}


@pytest.mark.parametrize("labels", [("10", "9", "b"), ("1", "01", "+")])
def test_labels_that_are_numbers(node, tmp_path, labels):
    """A JavaScript object has such members before all others, and 9 before 10."""
    positions = [row | {"label": label} for row, label in zip(POSITIONS, labels, strict=True)]
    record = exported(play("moderated", positions=positions))
    (tmp_path / "record").write_bytes(bundles.pack(record))
    (said,) = ask(node, [{"export": str(tmp_path / "record")}])
    ours = both(record)
    assert (said["findings"], ours.findings) == ([], [])


@pytest.mark.parametrize("name", GENUINE)
def test_the_last_prompt(answers, name):
    bundle, prompts = bundles.of_files(export_files(name)), answers[name]["prompts"]
    assert list(prompts) == calls(bundle)
    for call in calls(bundle)[-1:]:
        expected = rendered(bundle, call)
        if expected is None:
            assert isinstance(prompts[call], str)
        else:
            assert prompts[call] == expected
