"""A store that is away for a moment, as a server is that starts anew: no record is taken for bad.

Nor for missing, where it would be asked, and paid for, once more.
"""

from __future__ import annotations

import asyncio

import pytest

import hansard
from hansard import DataError
from hansard.errors import is_of_all
from hansard.store.application import Store

PANEL = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
DRAWN = PANEL | {"options": ["yes", "no"], "task_type": "arithmetic"}
ROWS = {"north": {"question": "What of the north?"}, "south": {"question": "What of the south?"}}
GOLDEN = [{"question": f"Is {number} even?", "label": "yes"} for number in (2, 4)]


@pytest.fixture
def store(tmp_path):
    with hansard.open_store(f"sqlite:///{tmp_path}/debates.db") as opened:
        yield opened


@pytest.fixture(params=["store.unreachable", "store.role"])
def away(request, monkeypatch):
    """Let the second time that a debate is read fail, and every later one, until it is back."""

    def leave(*names, after=1):
        read = []

        def plan(name, plain):
            def reading(self, *given):
                read.append(name)
                if len(read) > after:
                    raise DataError(request.param, "the server does not answer")
                return plain(self, *given)

            monkeypatch.setattr(Store, name, reading)

        for name in names:
            plan(name, getattr(Store, name))
        return monkeypatch.undo

    return leave


def batch(store):
    done = hansard.run_batch(
        ROWS, template=PANEL, name="one", store=store, models={"ask": lambda _: "Because."}
    )
    return asyncio.run(done)


def evaluate(store):
    answer = {"ask": lambda _: {"answer": "so", "choice": "yes"}}
    return hansard.evaluate_sync(GOLDEN, DRAWN, models=answer, store=store)


def refused(act, *args, **more):
    with pytest.raises(hansard.HansardError) as caught:
        act(*args, **more)
    assert is_of_all(caught.value)


def test_no_record_is_listed_as_a_bad_one(store, away):
    batch(store)
    back = away("bundle")
    for act in (hansard.list_debates, hansard.metrics, hansard.rebuild_projection):
        refused(act, store)
    back()
    assert hansard.metrics(store).debates == 2
    assert store.projection.sums({}).bad == 0


def test_no_record_is_said_to_be_altered(store, away):
    batch(store)
    back = away("bundle")
    refused(hansard.verify_store, store)
    back()
    assert hansard.verify_store(store).ok


def test_no_list_is_signed_that_lacks_a_debate(store, away, tmp_path):
    batch(store)
    keys = hansard.open_keyring(tmp_path / "keys")
    back = away("bundle")
    given = (store, store.debates(), tmp_path / "all", keys.signer("export"))
    refused(hansard.export_debates, *given)
    back()
    done = hansard.export_debates(*given)
    assert (done.written, done.kept, done.left_out) == (1, 1, ())


@pytest.mark.parametrize("after", range(8))
def test_no_row_of_a_batch_is_opened_once_more(store, away, after):
    """Whichever time a debate is read: to be listed, for its labels, for its end and its words."""
    debates = [row.debate for row in batch(store).rows]
    back = away("opening", "bundle", after=after)
    refused(batch, store)
    back()
    assert [row.debate for row in batch(store).rows] == debates == store.debates()


def test_no_question_of_a_set_is_asked_once_more(store, away):
    evaluate(store)
    debates = store.debates()
    back = away("opening")
    refused(evaluate, store)
    back()
    evaluate(store)
    assert store.debates() == debates


def test_no_debate_that_was_held_anew_is_left_out(store, away):
    batch(store)
    first, second = store.debates()
    away("bundle", after=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "naming", lambda *_: [second])
        refused(hansard.remands_of, store, first)
