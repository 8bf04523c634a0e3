"""What an entry can say of the wire, of a provider's model and of one without a wire."""

from copy import deepcopy

import pytest

from hansard.rules.wire import contradicts
from support import eventful, walk

SERVED = ("openai:gpt-5", "ollama:qwen3", "somebody:else", "scripted", "python")
LOCAL = ("scripted:replies.yaml", "recorded:1f", "python:bot", "custom:panel")
BLOB = {"sha256": "0" * 64}


def said(status, compared, sent=None, **more):
    return {"status": status, "sent_as_rendered": compared, "sent": sent, **more}


def reply(status, compared, sent=None):
    return said(status, compared, sent, reply=BLOB)


def failed(status, compared, sent=None, error="server_error"):
    return said(status, compared, sent, error=error)


@pytest.mark.parametrize("model", SERVED)
@pytest.mark.parametrize(
    "data",
    [
        reply(200, True),
        reply(299, False, BLOB),
        failed(None, None),  # the client never came to send it
        failed(None, True),
        failed(503, True),
        failed(200, False, BLOB, error="client_error"),
        failed(None, True, error="unreachable"),
        failed(200, True, error="timeout"),
    ],
)
def test_what_a_providers_model_can_bring(model, data):
    assert not contradicts(model, data)


@pytest.mark.parametrize("model", SERVED)
@pytest.mark.parametrize(
    "data",
    [
        reply(None, None),
        reply(None, True),
        reply(200, None),
        reply(199, True),
        reply(300, True),
        reply(404, True),
        failed(503, None),
        failed(200, True, error="unreachable"),
    ],
)
def test_what_it_cannot_bring(model, data):
    assert contradicts(model, data)


@pytest.mark.parametrize("model", LOCAL)
@pytest.mark.parametrize("data", [reply(None, None), failed(None, None), failed(401, None)])
def test_what_a_local_model_can_bring(model, data):
    assert not contradicts(model, data)


@pytest.mark.parametrize("model", LOCAL)
@pytest.mark.parametrize(
    "data",
    [reply(200, None), reply(None, True), reply(200, True), failed(None, True)],
)
def test_what_it_cannot_bring_without_a_wire(model, data):
    assert contradicts(model, data)


@pytest.mark.parametrize("make", [reply, failed])
def test_the_body_is_there_exactly_where_it_was_not_the_rendered_one(make):
    assert contradicts("openai:gpt-5", make(200, True, BLOB))
    assert contradicts("openai:gpt-5", make(200, False))
    assert contradicts("python:bot", make(None, None, BLOB))


def test_the_walk_names_the_model_that_cannot_have_brought_it():
    record = eventful().record
    place = next(n for n, row in enumerate(record.events) if row["type"] == "call.answered")
    event = deepcopy(record.events[place])
    event["data"] |= {"status": 404, "sent_as_rendered": True}
    events = [*record.events[:place], event, *record.events[place + 1 :]]
    ((seq, found),) = walk(events, record.texts.get)
    assert (seq, found.field, found.expected) == (place + 1, "wire", None)
    assert found.found in {row["model"] for row in seats(record)}


def seats(record):
    return [row["data"] for row in record.events if row["type"] == "debater.registered"]
