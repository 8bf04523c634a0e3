"""What is found by its projection, and whole debates, byte for byte."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import hansard
from hansard.record.bundle import Bundle, Head
from hansard.runtime.clock import Clock, spelled
from hansard.store.application import Batch, Store
from hansard.store.database import Extras
from hansard.store.projection import Behind, Projection
from hansard.store.rows import Row
from hansard.testing.filling import ONE, OPENED, THREE, fill, put

# The projection


def _project(store: Store, **rows: Row) -> None:
    for behind in store.projection.behind():
        store.projection.write(behind, [rows[debate[:2]] for debate in behind.debates])


def _behind(rows: Projection) -> Behind:
    return next(rows.behind())


def test_the_projection_follows_the_entries(store_url: str) -> None:
    with hansard.open_store(store_url) as store:
        found = store.projection
        assert (list(found.behind()), found.find({})) == ([], {})
        fill(store, THREE)
        put(store, OPENED, debate=ONE)
        behind = _behind(found)
        assert set(behind.debates) == {ONE, THREE}
        found.write(behind, [Row(debate=each, state="open") for each in (ONE, THREE)])
        found.write(behind, [Row(debate=ONE, state="altered")])  # somebody has been there
        assert found.find({}) == {THREE: "open", ONE: "open"}
        put(store, ("call.started", b"{}"), debate=ONE, first=2)
        behind = _behind(found)
        assert list(behind.debates) == [ONE]
        found.begin_again()  # what stands, stands until it is made anew
        assert set(found.find({})) == {ONE, THREE}
        behind = _behind(found)
        assert set(behind.debates) == {ONE, THREE}


def test_a_row_from_before_the_last_entry_corrects_nothing(store_url: str) -> None:
    with hansard.open_store(store_url) as store:
        rows, before = store.projection, fill(store).head
        put(store, ("text.redacted", b"{}"), first=4)
        now = store.bundle(ONE).head
        _project(store, **{"5c": Row(debate=ONE, state="closed")})
        for head, words, found in ((before, "erased", []), (now, "left", [ONE])):
            assert head
            row = Row(debate=ONE, state="closed", head=head.hash, numbers="{}", words=words)
            rows.correct([row])
            assert list(rows.find({"words": words})) == found


def _row(debate: str, **more: Any) -> Row:
    return Row(**{
        "debate": debate,
        "state": "closed",
        "opened_at": "2026-11-24T08:00:00.000000Z",
        "format": "panel",
        "look": False,
        "scripted": False,
        **more,
    })  # fmt: skip


def test_debates_are_found_by_what_their_rows_say(store_url: str) -> None:
    rows = {
        "5c": _row(ONE, cost=7, decision="yes", question="q" * 64, spoken=True, scripted=True,
                   head="h" * 64, numbers="{}",
                   names=[("label", "Ünï"), ("model", "a:b"), ("exception", "low_confidence")],
                   figures={"agreement": 1_500_000}, task_type="risk",
                   opened_at="2026-11-25T08:00:00.000000Z"),
        "aa": _row(THREE, cost=None, retention="long", held=True, reviewed="waiting",
                   deadline="2026-11-26T00:00:00.000000Z",
                   figures={"agreement": 500_000, "charged": 5},
                   closed_at="2026-11-24T09:00:00.000000Z"),
    }  # fmt: skip
    with hansard.open_store(store_url) as store:
        found = store.projection
        fill(store, THREE)
        fill(store, ONE)
        _project(store, **rows)
        for wanted, expected in (
            ({}, [THREE, ONE]),
            ({"decision": "yes"}, [ONE]),
            ({"question": "q" * 64}, [ONE]),
            ({"label": "Ünï"}, [ONE]),
            ({"label": "a:b"}, []),
            ({"model": "a:b", "format": "panel", "task_type": "risk"}, [ONE]),
            ({"since": "2026-11-25"}, [ONE]),
            ({"until": "2026-11-24"}, [THREE]),
            ({"before": "2026-11-25"}, [THREE]),
            ({"scripted": False}, [THREE]),
            ({"review": "waiting", "trust": "t", "now": "2026-11-25"}, [THREE]),
            ({"review": "overdue", "trust": "t", "now": "2026-11-27"}, [THREE]),
        ):
            assert list(found.find(wanted)) == expected, wanted
        assert list(found.find({}, "cost", 1)) == [ONE]
        assert found.sums({})._asdict() == {
            "debates": 2, "cost": 7, "unpriced": 1, "look": 1, "bad": 0
        }  # fmt: skip
        assert [found.charged(of) for of in ({}, {"label": "Ünï"}, {"label": "a:b"})] == [12, 7, 0]
        assert found.labelled("Ün") == [("Ünï", "closed", 1, 7)]
        assert sorted(found.figures(["agreement"], {}), key=str) == [
            ("agreement", "risk", 1, 1.5, 2.25),
            ("agreement", None, 1, 0.5, 0.25),
        ]
        assert found.counted({"decision": "yes"}) == [
            (ONE, "2026-11-25T08:00:00.000000Z", "closed", "yes", "h" * 64, "{}", None)
        ]
        assert found.models({}) == [("a:b", 1, 1, 0)]
        assert found.retained() == [
            ("long", THREE, "2026-11-24T09:00:00.000000Z", True),
            (None, ONE, "2026-11-25T08:00:00.000000Z", False),
        ]
        assert found.unjudged("t") == [ONE]
        for state in ("rejected", "approved"):
            found.judge("t", {ONE: state})
            assert list(found.find({"review": state, "trust": "t", "now": ""})) == [ONE]
        assert found.unjudged("t") == []
        found.correct([Row(debate=ONE, state="altered")])
        assert list(found.find({"decision": "no"})) == [ONE], "what does not hold is in every list"


SEARCHES = {
    "clause": True,
    "CLAUSE eleven": True,
    "eleven clause": True,
    "clause twelve": False,
    "claus": False,
    "zurich": True,
    "ZÜRICH,": True,
    "30-day": True,
    "day-30": False,
    "v1.2_final": True,
    "https://example.com/terms": True,
    "terms": True,
    'say "so"': True,
    "it's": True,
    "AND": False,
    "!!! clause": True,
    "!!!": False,
    "%": False,
    "条款": True,
    "naïve": True,
    "naive": True,
    "nul": True,
}


@pytest.mark.parametrize("asked", SEARCHES)
def test_words_are_found_alike_in_every_store(store_url: str, asked: str) -> None:
    said = (
        "Clause eleven, of Zürich: a 30-day term (v1.2_final, https://example.com/terms).\n"
        'They say "so". It\'s naïve; 条款 * nul\0nul ' + "x" * 5_000
    )
    with hansard.open_store(store_url) as store:
        fill(store, ONE)
        _project(store, **{"5c": _row(ONE, words=said)})
        assert (ONE in store.projection.find({"words": asked})) is SEARCHES[asked]


def test_a_long_text_is_found_by_its_first_and_last_word(store_url: str) -> None:
    words = "begin " + " ".join(f"w{n}" for n in range(40_000)) + " end"
    with hansard.open_store(store_url) as store:
        fill(store, ONE)
        _project(store, **{"5c": _row(ONE, words=words)})
        assert list(store.projection.find({"words": "begin end w20000"})) == [ONE]


def test_an_erased_text_is_found_no_more_before_anybody_reads(store_url: str) -> None:
    with hansard.open_store(store_url) as store:
        bundle = fill(store, ONE)
        _project(store, **{"5c": _row(ONE, words="Zyzzyva", names=[("label", "Zyzzyva")])})
        said = Extras(Head(4, "y"), erased=list(bundle.blobs))
        store.append(Batch(ONE, 4, [("text.redacted", b"{}")], said))
        assert store.projection.find({"words": "zyzzyva"}) == {}
        assert store.projection.find({"label": "Zyzzyva"}) == {}


# Whole debates


class _Hand(Clock):
    """Gives the same times, salts and ids in every store."""

    def __init__(self) -> None:
        self._ticks = count()

    def now(self) -> str:
        return spelled(datetime(2026, 11, 24, tzinfo=UTC) + timedelta(seconds=next(self._ticks)))

    def monotonic(self) -> float:
        return float(next(self._ticks))

    def salt(self) -> bytes:
        return hashlib.sha256(b"%d" % next(self._ticks)).digest()

    def debate_id(self) -> str:
        return str(UUID(int=next(self._ticks), version=4))


SPEC: Mapping[str, Any] = {
    "format": "consensus",
    "question": "Do we release?",
    "model": "python:ask",
    "debaters": [{"id": seat} for seat in ("ann", "bob", "cat")],
    "options": ["release", "revise"],
    "threshold": 2,
    "max_rounds": 2,
    "evidence": [{"id": "memo", "text": "Payment is due within thirty days."}],
}


def _answer(request: hansard.Request) -> dict[str, str]:
    vote = "release" if request.speaker == "ann" or request.round > 1 else "revise"
    return {"stance": f"I say {vote}.", "rationale": "So it is.", "vote": vote}


def run_by_hand(
    url: str, keyring: hansard.Keyring, monkeypatch: pytest.MonkeyPatch, export: Path | None = None
) -> Bundle:
    """Run a debate whose first seat fails once, and do all that is done to one after its close.

    By the same clock and chance in every store; return all that is kept of it.
    """
    hand = _Hand()
    for name in ("now", "monotonic", "salt", "debate_id"):
        monkeypatch.setattr(Clock, name, lambda _, name=name: getattr(hand, name)())
    signer, trust = keyring.signer("reviewer"), keyring.trust()
    failing = [RuntimeError("once")]

    def ask(request: hansard.Request) -> dict[str, str]:
        if failing:
            raise failing.pop()
        return _answer(request)

    with hansard.open_store(url) as store:
        with pytest.raises(hansard.SeatError):
            hansard.run_sync(SPEC, models={"ask": ask}, store=store)
        (debate,) = store.debates()
        hansard.resume_sync(debate, models={"ask": ask}, store=store)
        hansard.review(
            debate, store=store, outcome="approved", reviewer="Ann Lee", signer=signer, trust=trust
        )
        hansard.note_outcome(debate, "right", store=store, signer=signer)
        for lift in (False, True):
            hansard.hold(debate, store=store, lift=lift, signer=signer)
        hansard.redact(
            debate, ["1.question"], store=store, reason="She asked.", basis="GDPR",
            asked_by="Ann Lee", signers=[signer], trust=trust,
        )  # fmt: skip
        found = hansard.verify(store, debate, trust)
        assert found.ok, found.findings
        assert [row.debate for row in hansard.list_debates(store).debates] == [debate]
        assert [row.debate for row in hansard.list_debates(store, search="release").debates] == []
        assert hansard.verify_register(store).ok
        if export:
            hansard.export_debates(store, [debate], export, keyring.signer("export"))
        return store.bundle(debate)


def test_a_debate_is_the_same_bytes_as_in_a_file(
    store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyring = hansard.open_keyring(tmp_path / "keys")
    plain = f"sqlite:///{tmp_path}/plain.db"
    hansard.migrate_store(plain)
    here, there = (run_by_hand(url, keyring, monkeypatch) for url in (store_url, plain))
    assert list(here.lines) == list(there.lines)
    assert here == there
