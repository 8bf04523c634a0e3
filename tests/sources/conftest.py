"""`play`: one debate through the public API, and its record verified."""

import pytest

import hansard
from sources.played import QUESTION, Played, answering


@pytest.fixture
def store():
    with hansard.open_store("sqlite:///:memory:") as shelf:
        yield shelf


@pytest.fixture
def play(store):
    """Run a debate whose seats are all `python:seat`, or any spec with `models` of its own."""

    def run(replies=None, *, models=None, functions=None, **spec):
        asked = []
        row = {"question": QUESTION, "model": "python:seat", **spec}
        given = {"seat": answering(replies or {}, asked), **(models or {})}
        result = hansard.run_sync(row, models=given, tools=functions, store=store)
        played = Played(store, result, asked)
        assert played.verification.ok, played.verification.findings
        return played

    return run
