"""The report on all debates of a time, and its signed numbers counted again by both verifiers."""

import json
import shutil
import sqlite3
from collections import Counter
from contextlib import closing

import pytest

import hansard
from exporting import run_tool
from hansard import DataError, UsageError
from hansard.api import periodic as counting
from hansard.governance.approval import hashes
from hansard.record import folder as folders
from hansard.record import note, periodic
from hansard.runtime.clock import Clock
from hansard.runtime.models.base import Completion, ModelError
from hansard.store import projection
from hansard.store.tampering import alter_line
from playing import BASE, script
from support import argued

MODEL = "python:bot"
OTHER = "00000000-0000-4000-8000-000000000000"  # the id of no debate
LATER = "2999-01-01T00:00:00.000000Z"
FALSE = {"counter_arguments": [argued(("memo", "nowhere"))], "challenge_strength": 4}
PRICES = {MODEL: {"input": "10", "output": "40"}}
PRICED = Completion(
    '{"stance": "s", "rationale": "r", "vote": "release"}', tokens_in=200_000, tokens_out=3
)


def spec(format_, **changes):
    base = {"format": format_, "question": "Shall we?", "model": MODEL, "attempts": 2}
    return {**base, **BASE[format_], **changes}


def play(store, format_, ends=None, policy=None, **changes):
    models = {"bot": script(ends or {})}
    given = {"models": models, "store": store, "policy": policy}
    try:
        return hansard.run_sync(spec(format_, **changes), **given).debate
    except hansard.SeatError as error:
        return error.debate


def approved(ring):
    """A policy under which a panel waits for a review for a day."""
    templates = hashes(hansard.prompt_templates(format="panel"))
    scopes = {f"panel.{role}": {"template": name} for role, name in templates.items()}
    scopes["*"] = {"review": "always", "review_days": 1}
    return hansard.parse_policy(hansard.approve_policy(ring.signer("approval"), scopes))


@pytest.fixture(scope="module")
def ring(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("HANSARD_PASSPHRASE", raising=False)
        made = hansard.open_keyring(tmp_path_factory.mktemp("home"))
        for role in ("export", "log", "approval", "reviewer"):
            made.signer(role)
        yield made


@pytest.fixture(scope="module")
def store(ring, tmp_path_factory):
    """Debates of all kinds, in a store of which a folder of exports is made."""
    with hansard.open_store(f"sqlite:///{tmp_path_factory.mktemp('store')}/d.db") as opened:
        first = play(
            opened, "consensus", dict.fromkeys(("planner", "critic"), PRICED), prices=PRICES
        )
        ends = {"critic": "no JSON", "operator": ModelError("server_error", "HTTP-503")}
        play(opened, "consensus", ends, attempts=1)
        play(opened, "consensus", limits={"calls": 1})
        cut = {"critique": {**FALSE, "challenge_strength": 8}, "rebuttal": RuntimeError("no")}
        play(opened, "moderated", cut)  # stays open
        low = {"moderation": {"confidence": "LOW"}, "critique": FALSE}
        cited = play(opened, "moderated", low)
        rejected = play(opened, "consensus", {"revision": {"vote": "escalate"}})
        play(opened, "panel", policy=approved(ring))
        hansard.ask_gate(spec("panel", gate={}), store=opened)
        said = {"store": opened, "trust": ring.trust(), "signer": ring.signer("reviewer")}
        hansard.review(rejected, "rejected", reviewer="Ann", comment="No.", **said)
        hansard.hold(cited, **said)
        hansard.hold(rejected, **said)
        hansard.hold(rejected, lift=True, **said)
        why = {"reason": "asked for", "basis": "GDPR 17", "asked_by": "Ann"}
        erasing = {"store": opened, "trust": ring.trust(), "signers": [ring.signer("approval")]}
        hansard.redact(first, ["1.review"], **why, **erasing)
        yield opened


@pytest.fixture(scope="module")
def report(store, ring):
    return hansard.periodic_report(store, since="2000", trust=ring.trust())


@pytest.fixture(scope="module")
def exports(store, ring, tmp_path_factory):
    path = tmp_path_factory.mktemp("exports") / "all"
    done = hansard.export_debates(store, store.debates(), path, ring.signer("export"))
    assert not done.left_out
    return path


def by_both(folder, data, ring, tmp_path, trust=None):
    """What both verifiers find of a folder and a report: level, checks, findings; they agree."""
    trust = trust or ring.trust()
    (tmp_path / "trust.json").write_bytes(trust.dump())
    (tmp_path / "report").write_bytes(data)
    found = hansard.verify_exports(folder, trust, report=data)
    _, out, _ = run_tool(
        folder, "--report", tmp_path / "report", "--trust", tmp_path / "trust.json", "--json"
    )
    other = json.loads(out.splitlines()[-1])
    rows = [row.model_dump() for row in found.findings]
    assert other["findings"] == rows
    assert other["level"] == found.level
    assert other["checks"] == [row.model_dump() for row in found.checks]
    return found


def codes(found):
    return [row.code for row in found.findings]


def recount(store, trust):
    """The numbers, from the results of all debates."""
    found = Counter()
    for debate in store.debates():
        result = hansard.read_record(store, debate, trust).standing()
        if isinstance(result, hansard.GateRecord):
            found["gates"] += 1
            continue
        found["debates"] += 1
        found["scripted"] += result.scripted
        found[f"format.{result.format}"] += 1
        found["open" if result.status == "open" else f"closed.{result.status}"] += 1
        if result.decision_rule:
            found[f"rule.{result.decision_rule}"] += 1
        if result.status != "open":
            found[f"review.{result.reviewed.state.replace(' ', '_')}"] += 1
            found.update(f"exception.{name}" for name in result.reviewed.exceptions)
        found["held"] += result.reviewed.held
        found["redactions"] += len(result.reviewed.erased)
        found["turns.forfeited"] += sum(turn.status == "forfeited" for turn in result.turns)
        found["calls"] += result.calls.asked
        found["calls.failed"] += result.calls.failed + result.calls.abandoned
        found["turns.rejected"] += result.calls.rejected
        found["tokens.in"] += result.totals.tokens_in
        found["tokens.out"] += result.totals.tokens_out
        found["cost_micro_usd"] += result.totals.cost_micro_usd or 0
    return +found


def test_the_numbers_are_those_of_a_recount_of_all_records(store, ring, report):
    expected = recount(store, ring.trust())
    rest = {name: report.numbers[name] for name in report.numbers.keys() - expected.keys()}
    assert {name: report.numbers.get(name) for name in expected} == expected
    policies = {name for name in rest if name.startswith("policy.")}
    assert policies > {"policy.none"}
    assert sum(rest[name] for name in policies) == expected["debates"]
    assert rest.keys() - policies == {"calls.unpriced"}
    assert {"exception.citations", "exception.low_confidence", "exception.truncated"} < set(
        report.numbers
    )
    assert {"review.rejected", "review.waiting", "open", "gates", "held"} < set(report.numbers)
    assert {"calls.failed", "turns.rejected", "redactions", "cost_micro_usd"} < set(report.numbers)
    assert [row.debate for row in report.debates] == store.debates()
    for row in report.debates:
        assert row.head == hansard.read_record(store, row.debate).head


def test_both_verifiers_count_a_sound_report_again(exports, report, ring, tmp_path):
    found = by_both(exports, report.signed(ring.signer("export")), ring, tmp_path)
    assert (codes(found), found.level) == ([], 1)
    (check,) = (row for row in found.checks if row.number == 21)
    assert (check.name, check.status) == ("report", "pass")
    assert f"{len(report.numbers)} numbers recounted from 8 records of the report" in check.evidence
    several = hansard.verify_exports(
        exports, ring.trust(), report=report.signed(ring.signer("export")), jobs=2
    )
    assert several == found


def changed(report, **changes):
    return report.model_copy(update=changes)


def renumbered(report, **numbers):
    """The report with other numbers; `__` is a dot."""
    more = {name.replace("__", "."): number for name, number in numbers.items()}
    found = {name: number for name, number in {**report.numbers, **more}.items() if number}
    return changed(report, numbers=found)


REPORTS = {
    "one more": (lambda report: renumbered(report, calls=report.numbers["calls"] + 1), 1),
    "one left out": (lambda report: renumbered(report, held=0), 1),
    "one that nobody counts": (lambda report: renumbered(report, profit=5), 1),
    "two": (lambda report: renumbered(report, gates=0, exception__citations=7), 2),
    "a review": (lambda report: renumbered(report, review__approved=1, review__rejected=0), 2),
}


@pytest.mark.parametrize("what", REPORTS)
def test_each_number_that_differs_is_named(exports, report, ring, tmp_path, what):
    change, count = REPORTS[what]
    other = change(report)
    found = by_both(exports, other.signed(ring.signer("export")), ring, tmp_path)
    assert (codes(found), found.level) == (["21.number"] * count, None)
    names = report.numbers.keys() | other.numbers.keys()
    for row in found.findings:
        name = next(each for each in names if row.message.endswith(f": {each}"))
        assert (row.expected, row.found) == (
            report.numbers.get(name, 0),
            other.numbers.get(name, 0),
        )


def test_each_debate_that_is_missing_superseded_or_not_listed_is_named(
    exports, report, ring, tmp_path
):
    first, second, *others = report.debates
    stranger = first.model_copy(update={"debate": OTHER})
    newer = second.model_copy(update={"head": "0" * 64})
    other = changed(report, debates=(stranger, newer, *others))
    found = by_both(exports, other.signed(ring.signer("export")), ring, tmp_path)
    told = {row.code: (row.expected, row.found) for row in found.findings}
    assert told == {
        "21.missing": (None, first.head),
        "21.superseded": (second.head, "0" * 64),
        "21.unlisted": (first.head, None),
    }
    assert first.debate in next(row.message for row in found.findings if "unlisted" in row.code)


def test_what_was_opened_at_another_time_is_not_counted(exports, report, ring, tmp_path):
    first, *others = report.debates
    other = changed(report, since=others[0].opened_at)
    found = by_both(exports, other.signed(ring.signer("export")), ring, tmp_path)
    assert {"21.missing", "21.number"} == set(codes(found))
    before = changed(report, until=first.opened_at, numbers={}, debates=())
    found = by_both(exports, before.signed(ring.signer("export")), ring, tmp_path)
    assert (codes(found), found.level) == ([], 1)


def test_an_export_that_does_not_hold_is_not_counted(exports, report, ring, tmp_path):
    copy = tmp_path / "all"
    shutil.copytree(exports, copy)
    first = report.debates[0]
    damaged = copy / folders.name_of(first.debate)
    damaged.write_bytes(damaged.read_bytes().replace(b'"seq":9', b'"seq":8'))
    found = by_both(copy, report.signed(ring.signer("export")), ring, tmp_path)
    assert {"1.record", "2.hash", "21.missing", "21.number"} == set(codes(found))


def test_what_is_no_report_or_is_signed_by_nobody_known(exports, report, ring, tmp_path):
    signer = ring.signer("export")
    for text in (report.text() + b"more\n", b"hansard-report/v1\n", b"\n"):
        found = by_both(exports, note.sign(text, signer), ring, tmp_path)
        assert (codes(found), found.level) == (["21.malformed"], None)
    assert codes(by_both(exports, report.text(), ring, tmp_path)) == ["21.malformed"]
    forged = report.signed(signer).replace(b"number calls ", b"number calls 1")
    assert "21.signature" in codes(by_both(exports, forged, ring, tmp_path))
    by_log = by_both(exports, report.signed(ring.signer("log")), ring, tmp_path)
    assert (codes(by_log), by_log.level) == ([], 0)
    assert [row.status for row in by_log.checks if row.number == 21] == ["unchecked"]


def test_a_report_is_dated_by_itself_and_by_the_latest_entry(exports, report, ring, tmp_path):
    def trusting(**times):
        rows = [
            row.model_copy(update=times if row.role == "export" else {})
            for row in ring.trust().keys
        ]
        return ring.trust().model_copy(update={"keys": rows})

    sooner = changed(report, at="2000-01-01T00:00:00.000000Z").signed(ring.signer("export"))
    begun = trusting(from_="2001-01-01T00:00:00.000000Z")
    assert by_both(exports, sooner, ring, tmp_path, begun).level == 0
    ended = trusting(revoked=report.debates[-1].opened_at)
    assert by_both(exports, sooner, ring, tmp_path, ended).level == 0


def test_reviews_stand_as_the_reader_s_keys_say_at_the_time_of_the_report(
    store, exports, report, ring, tmp_path, monkeypatch
):
    nobody = ring.trust().model_copy(
        update={"keys": [row for row in ring.trust().keys if row.role != "reviewer"]}
    )
    found = by_both(exports, report.signed(ring.signer("export")), ring, tmp_path, nobody)
    assert codes(found) == ["21.number"] * 2
    monkeypatch.setattr(Clock, "now", lambda _: LATER)
    late = hansard.periodic_report(store, since="2000", trust=ring.trust())
    assert late.numbers["review.overdue"] == 1
    assert by_both(exports, late.signed(ring.signer("export")), ring, tmp_path).findings == []


def test_two_exports_of_one_debate_count_once(exports, report, ring, tmp_path):
    copy = tmp_path / "all"
    shutil.copytree(exports, copy)
    first = report.debates[0].debate
    shutil.copy(copy / folders.name_of(first), copy / folders.name_of(OTHER))
    found = by_both(copy, report.signed(ring.signer("export")), ring, tmp_path)
    assert {"1.debate", "2.unlisted"} == set(codes(found))


# The time


@pytest.mark.parametrize(
    ("period", "since", "until"),
    [
        ("2026", "2026-01-01", "2027-01-01"),
        ("2026-Q1", "2026-01-01", "2026-04-01"),
        ("2026-Q4", "2026-10-01", "2027-01-01"),
        ("2026-02", "2026-02-01", "2026-03-01"),
        ("2026-12", "2026-12-01", "2027-01-01"),
        ("2028-02-29", "2028-02-29", "2028-03-01"),
    ],
)
def test_a_period_begins_and_is_over(period, since, until):
    with hansard.open_store("sqlite:///:memory:") as store:
        found = hansard.periodic_report(store, period)
        both = hansard.periodic_report(store, since=period, until=period)
    assert (found.since, found.until) == tuple(f"{day}T00:00:00.000000Z" for day in (since, until))
    assert (both.since, both.until) == (found.since, found.until)
    assert (found.numbers, found.debates) == ({}, ())
    assert "**No debate was opened in this time.**" in found.to_markdown()
    assert periodic.parse(found.text()).heads == {}


@pytest.mark.parametrize(
    "given",
    [
        *({"period": each} for each in ("", "26", "2026-Q5", "2026-13", "2026-02-30", "9999", "x")),
        *({"period": each} for each in ("2026-Q4\n", "0000", "2026-11-24T09", "9999-12-31")),
        {},
        {"until": "2026"},
        {"period": "2026", "since": "2026"},
        {"since": "2027", "until": "2026"},
        {"since": "2998"},
    ],
)
def test_what_is_no_time_is_refused(given):
    with hansard.open_store("sqlite:///:memory:") as store, pytest.raises(UsageError) as caught:
        hansard.periodic_report(store, **given)
    assert caught.value.code == "period.time"


# What people read


def test_the_report_in_words_names_what_needs_a_look_and_holds_no_text(report, store):
    said = report.to_markdown()
    for line in (
        "| Debates | 7 |",
        "| Gate asked, and no debate held | 1 |",
        "| a citation does not hold | 1 |",
        "### Overridden: people rejected the decision, sent it back, or disagree",
        "### Still open",
    ):
        assert line in said, line
    overridden = said.partition("### Overridden")[2].partition("###")[0]
    assert "| rejected | " in overridden
    assert "Shall we" not in said
    assert sum(row.debates for row in report.models) == 6
    assert [row.low_confidence for row in report.models] == [1]


def test_a_record_that_does_not_hold_is_named_and_not_counted(ring, tmp_path):
    with hansard.open_store(f"sqlite:///{tmp_path}/d.db") as store:
        debate = play(store, "panel")
        alter_line(tmp_path / "d.db", debate, 3, b'"seq":3', b'"seq":4')
        found = hansard.periodic_report(store, since="2000")
    assert (found.numbers, found.debates, found.not_counted) == ({}, (), (debate,))
    assert "**Not counted**: 1 record of the store, of whatever time" in found.to_markdown()


def test_a_store_of_an_earlier_version_counts_as_well(tmp_path):
    with hansard.open_store(f"sqlite:///{tmp_path}/d.db") as store:
        play(store, "panel")
        hansard.list_debates(store)
    with closing(sqlite3.connect(tmp_path / "d.db")) as connection, connection:
        connection.execute("DROP TABLE projected_counts")
        connection.execute("UPDATE projected_until SET version = 1")
        connection.execute("PRAGMA user_version = 0")
    hansard.migrate_store(f"sqlite:///{tmp_path}/d.db")
    with hansard.open_store(f"sqlite:///{tmp_path}/d.db") as store:
        assert hansard.periodic_report(store, since="2000").numbers["debates"] == 1


@pytest.mark.parametrize(
    "kept",
    [
        "[",
        "[1]",
        '{"calls": "x"}',
        '{"x": "y"}',
        '{"x": NaN}',
        pytest.param(10**5 * "[", id="deep"),
        b"\0",
        '{"x": 0}',
        '{"x": 1.0}',
        pytest.param(f'{{"x": {"9" * 41}}}', id="forty-one digits"),
        pytest.param(f'{{"x": {"9" * 4_300}}}', id="many digits"),
        '{"x 1\\nI, who signs this, will pay\\nnumber y": 1}',
        pytest.param('{"x": 1}' + " " * (1 << 16), id="long"),
    ],
)
def test_numbers_that_were_changed_are_no_bug(tmp_path, kept):
    """Nor are they signed: a store may be a stranger's."""
    with hansard.open_store(f"sqlite:///{tmp_path}/d.db") as store:
        play(store, "panel")
        hansard.list_debates(store)
        with closing(sqlite3.connect(tmp_path / "d.db")) as connection, connection:
            connection.execute("UPDATE projected_counts SET numbers = ?", (kept,))
        with pytest.raises(DataError) as caught:
            hansard.periodic_report(store, since="2000")
    assert caught.value.code == "store.corrupt"


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE projected_counts SET head = 'x' || char(10)",
        "UPDATE projected SET decision = char(27) || '[2J'",
        "UPDATE projected SET decision = 'yes' || char(10) || '# Heading'",
        "UPDATE projected SET reviewed = 'x'",
    ],
)
def test_what_else_a_report_says_of_a_debate_is_refused_where_it_was_changed(tmp_path, change):
    with hansard.open_store(f"sqlite:///{tmp_path}/d.db") as store:
        play(store, "panel")
        hansard.list_debates(store)
        with closing(sqlite3.connect(tmp_path / "d.db")) as connection, connection:
            assert connection.execute(change).rowcount == 1
        with pytest.raises(DataError) as caught:
            hansard.periodic_report(store, since="2000")
    assert caught.value.code == "store.corrupt"


def test_more_numbers_than_records_count_are_refused(tmp_path, monkeypatch):
    with hansard.open_store(f"sqlite:///{tmp_path}/d.db") as store:
        play(store, "panel")
        names = hansard.periodic_report(store, since="2000").numbers
        monkeypatch.setattr(counting, "_MOST_NUMBERS", len(names))
        assert hansard.periodic_report(store, since="2000").numbers == names
        monkeypatch.setattr(counting, "_MOST_NUMBERS", len(names) - 1)
        with pytest.raises(DataError) as caught:
            hansard.periodic_report(store, since="2000")
    assert caught.value.code == "store.corrupt"


def test_a_report_names_the_models_of_most_debates(tmp_path, monkeypatch):
    """A server may name another model with each of its replies."""
    monkeypatch.setattr(projection, "_MOST_MODELS", 2)
    add = """INSERT INTO projected_names SELECT place, 'model', 'm' || value FROM projected,
        (SELECT 1 AS value UNION SELECT 2) WHERE place >= ?"""
    with hansard.open_store(f"sqlite:///{tmp_path}/d.db") as store:
        for _ in range(2):
            play(store, "panel")
        hansard.list_debates(store)
        with closing(sqlite3.connect(tmp_path / "d.db")) as connection, connection:
            connection.execute(add, (2,))
        found = hansard.periodic_report(store, since="2000").models
    assert [(row.model, row.debates) for row in found][-1] == ("python:bot", 2)
    assert [(row.model, row.debates) for row in found][:1] == [("m1", 1)]


def test_more_groups_of_rows_than_a_store_has_are_refused(tmp_path, monkeypatch):
    with hansard.open_store(f"sqlite:///{tmp_path}/d.db") as store:
        play(store, "panel")
        hansard.list_debates(store)
        names = (
            "INSERT INTO projected_names VALUES (1, 'label', 'batch:a'), (1, 'label', 'batch:b')"
        )
        with closing(sqlite3.connect(tmp_path / "d.db")) as connection, connection:
            connection.execute(names)
        assert len(hansard.list_batches(store)) == 2
        assert hansard.metrics(store)
        monkeypatch.setattr(projection, "_MOST_GROUPS", 1)
        for read in (hansard.list_batches, hansard.metrics):
            with pytest.raises(DataError) as caught:
                read(store)
            assert caught.value.code == "store.corrupt"


@pytest.mark.parametrize("value", ["1.5e159", "9e307", "-1e300"])
def test_figures_that_no_debate_has_are_refused(tmp_path, value):
    with hansard.open_store(f"sqlite:///{tmp_path}/d.db") as store:
        play(store, "panel")
        hansard.list_debates(store)
        with closing(sqlite3.connect(tmp_path / "d.db")) as connection, connection:
            connection.execute(f"UPDATE projected_figures SET value = {value}")
        with pytest.raises(DataError) as caught:
            hansard.metrics(store)
    assert caught.value.code == "store.corrupt"
