"""The closed union of event types: exactly these shapes, and no others (FORMAT.md §3)."""

import json
from copy import deepcopy

import orjson
import pytest
import rfc8785

from gating import recorded
from hansard.errors import DataError
from hansard.record.canonical import MAX_INT
from hansard.rules.events import EVENTS, blob_names, parse
from reviewing import reviewed
from support import EVENTFUL, OWN, Debate, Setup, eventful, votes

RECORD = eventful().record
REFUSED = Debate(Setup(approved={**OWN, "block": "0" * 64}), votes()).run().record
RECORDS = [REFUSED, reviewed().record, *(eventful(name).record for name in EVENTFUL), RECORD]
# A case is there in the last turn of `moderated`, a stance in the first seat of `judged`.
OF_TYPE = {event["type"]: event for record in RECORDS for event in record.events}
OF_TYPE["gate.answered"] = parse(recorded().lines[0])
TERMS = [record.events[0] for record in RECORDS]
PROVIDED = ("model", "response_id", "request_id", "fingerprint", "sent")


def refused(line):
    with pytest.raises(DataError) as caught:
        parse(line)
    return caught.value


def altered(kind, *path, **new):
    """A line of the type with some members at `path` replaced."""
    event = deepcopy(OF_TYPE[kind])
    place = event
    for key in path:
        place = place[key]
    place.update(new)
    return orjson.dumps(event, option=orjson.OPT_SORT_KEYS)


@pytest.mark.parametrize("name", [*EVENTFUL, "reviewed"])
def test_an_event_names_its_blobs(name):
    record = eventful(name).record if name in EVENTFUL else reviewed().record
    named = {found for event in record.events for found in blob_names(event)}
    erased = {row["data"]["blob"] for row in record.events if row["type"] == "text.redacted"}
    assert named == {*record.texts, *erased}
    assert erased.isdisjoint(record.texts)


def test_each_string_of_a_provider_and_a_tools_name_may_be_a_blob():
    assert all(list(blob_names(event)) == [] for event in REFUSED.events[4:])
    provider = {field: {"sha256": f"{n}" * 64} for n, field in enumerate(PROVIDED)}
    line = altered("call.answered", "data", **provider)
    reply = OF_TYPE["call.answered"]["data"]["reply"]["sha256"]
    assert sorted(blob_names(parse(line))) == sorted([reply, *(f"{n}" * 64 for n in range(5))])
    unknown = parse(altered("tool.called", "data", tool={"sha256": "6" * 64}))
    assert list(blob_names(unknown)) == [unknown["data"]["arguments"]["sha256"], "6" * 64]


def objects(value, path=()):
    """Every object of an event, with the path that leads to it."""
    if isinstance(value, dict):
        yield path, value
        for key, item in value.items():
            yield from objects(item, (*path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from objects(item, (*path, place))


# Of each type, and what stands inside only where a format has it.
SHAPES = [*OF_TYPE.values(), *TERMS]
SHAPES += [row for record in RECORDS for row in record.events if row["data"].get("stance")][:1]
SHAPES += [row for record in RECORDS for row in record.events if row["data"].get("case")][:1]
SHAPES += [row for record in RECORDS for row in record.events if row["data"].get("scores")][:1]
SHAPES += [row for record in RECORDS for row in record.events if row["data"].get("pairs")][:1]
OBJECTS = [
    pytest.param(event, path, value, id=f"{event['type']}:{'.'.join(map(str, path))}")
    for event in SHAPES
    for path, value in objects(event)
]


def test_every_type_of_the_union_is_tried():
    schema = EVENTS.json_schema()
    assert set(schema["discriminator"]["mapping"]) == set(OF_TYPE)


def test_a_line_is_read_as_what_it_says():
    for line, event in zip(RECORD.lines, RECORD.events, strict=True):
        assert parse(line) == event == json.loads(line)


@pytest.mark.parametrize(("event", "path", "value"), OBJECTS)
def test_every_key_must_be_there_and_no_other_may_be(event, path, value):
    for key in ("extra", *value):
        changed = deepcopy(event)
        place = changed
        for step in path:
            place = place[step]
        if key in place:
            del place[key]
        else:
            place[key] = 1
        assert refused(rfc8785.dumps(changed)).code == "7.schema"


@pytest.mark.parametrize(
    "kind",
    ["", "os.system", "hansard.rules.events:DebateOpened", "vote.invented", 1, None, [], {}],
)
def test_a_type_name_selects_nothing_but_a_member_of_the_union(kind):
    line = rfc8785.dumps({**OF_TYPE["debate.closed"], "type": kind})
    assert refused(line).code == ("4.profile" if kind == "" else "7.schema")


@pytest.mark.parametrize(
    ("kind", "path", "new"),
    [
        ("debate.closed", (), {"seq": 0}),
        ("debate.closed", (), {"seq": "1"}),
        ("debate.closed", (), {"seq": True}),
        ("debate.closed", (), {"v": 2}),
        ("debate.closed", (), {"v": True}),
        ("debate.closed", (), {"v": "1"}),
        ("debate.closed", (), {"prev": "A" * 64}),
        ("debate.closed", (), {"prev": "a" * 63}),
        ("debate.closed", (), {"debate": "3F2B8C1E-5A7D-4C9E-8B1A-2D4F6A8C0E12"}),
        ("debate.closed", (), {"debate": "3f2b8c1e-5a7d-1c9e-8b1a-2d4f6a8c0e12"}),
        ("debate.closed", (), {"at": "2026-11-21T20:16:03Z"}),
        ("debate.closed", (), {"at": "2026-13-21T20:16:03.123456Z"}),
        ("debate.closed", (), {"at": "2026-11-21T24:16:03.123456Z"}),
        ("debate.closed", (), {"at": "2026-11-21T20:16:03.123456+00:00"}),
        ("debate.closed", (), {"data": []}),
        ("debate.closed", ("data",), {"reason": "settled"}),
        ("debate.opened", ("data",), {"rules": 2}),
        ("debate.opened", ("data",), {"rules": True}),
        ("debate.opened", ("data",), {"seed": "007"}),
        ("debate.opened", ("data",), {"scripted": 0}),
        ("debate.opened", ("data", "terms"), {"format": "brawl"}),
        ("debate.opened", ("data", "terms"), {"max_rounds": 0}),
        ("debate.opened", ("data", "terms"), {"options": "release"}),
        ("debater.registered", ("data",), {"role": "jury"}),
        ("debater.registered", ("data",), {"id": "x" * 65}),
        ("debater.registered", ("data", "parameters"), {"temperature": "1e3"}),
        ("debater.registered", ("data", "parameters"), {"temperature": 1}),
        ("call.answered", ("data",), {"tokens_in": -1}),
        ("call.answered", ("data",), {"reply": "spelled.out"}),
        ("call.failed", ("data",), {"error": "tired"}),
        ("turn.recorded", ("data",), {"vote": "x" * 65}),
        ("turn.recorded", ("data",), {"phase": "Proposal"}),
        ("turn.recorded", ("data",), {"phase": "critique-0"}),
        ("turn.recorded", ("data",), {"phase": "critique-100"}),
        ("turn.rejected", ("data",), {"rating": 0}),
        ("turn.rejected", ("data",), {"rating": 11}),
        ("similarity.measured", ("data",), {"threshold_ppm": 1_000_001}),
        ("debate.truncated", ("data",), {"limit": 0}),
    ],
)
def test_a_value_outside_its_type_is_refused(kind, path, new):
    error = refused(altered(kind, *path, **new))
    assert error.code == "7.schema"
    assert all(key in str(error) for key in (*path, *new))


@pytest.mark.parametrize(
    ("new", "code"),
    [
        ({"v": 1.0}, "4.bytes"),
        ({"seq": 7.0}, "4.bytes"),
        ({"seq": 7.5}, "4.profile"),
        ({"seq": MAX_INT + 1}, "4.profile"),
    ],
)
def test_a_number_outside_the_profile_is_refused_as_such(new, code):
    assert refused(altered("debate.closed", **new)).code == code


@pytest.mark.parametrize("line", [b"[]", b"1", b"null", b'"debate.closed"', b"{}"])
def test_what_is_no_event_at_all_is_refused(line):
    assert refused(line).code == "7.schema"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda line: line + b" ", "4.bytes"),
        (lambda line: b"\xef\xbb\xbf" + line, "4.json"),
        (lambda line: line.replace(b'"v":1', b'"v":1,"v":1'), "4.bytes"),
        (lambda line: line.replace(b"votes_reached", b"\\u0076otes_reached"), "4.bytes"),
        (lambda line: line.replace(b"complete", b"not complete"), "4.profile"),
        (lambda line: line[:-1], "4.json"),
        (lambda line: line + b" " * (1 << 20), "4.size"),
        (lambda line: b'{"a":' * 33 + line + b"}" * 33, "4.profile"),
        (lambda line: b"[" * 300 + b"]" * 300, "4.profile"),
    ],
)
def test_another_spelling_of_an_event_is_refused(change, code):
    line = altered("debate.closed", "data", reason="votes_reached")
    assert parse(line)
    assert refused(change(line)).code == code


def test_a_line_of_events_is_bounded_too():
    options = [f"{n:064}" for n in range(20_000)]
    assert refused(altered("debate.opened", "data", "terms", options=options)).code == "4.size"


def nodes(schema):
    if isinstance(schema, dict):
        yield schema
        schema = list(schema.values())
    if isinstance(schema, list):
        for item in schema:
            yield from nodes(item)


def test_whatever_the_union_admits_lies_inside_the_canonical_profile():
    """So that a canonical line which fits the union needs no second walk."""
    for node in nodes(EVENTS.json_schema()):
        if node.get("type") == "string":
            pattern = node.get("pattern", "^$")
            assert (pattern[0], pattern[-1]) == ("^", "$")
            assert node.keys() & {"pattern", "enum", "const"}
        elif node.get("type") == "integer":
            assert node.get("const") == 1 or (node["minimum"] >= 0 and node["maximum"] <= MAX_INT)
        elif node.get("type") == "object":
            assert node["additionalProperties"] is False
            assert set(node["required"]) == set(node["properties"])
        else:
            assert node.get("type") != "number"


def test_an_event_names_its_blobs_in_the_order_of_its_line():
    for event in OF_TYPE.values():
        line = json.dumps(event["data"], sort_keys=True)
        places = [line.index(name) for name in blob_names(event)]
        assert places == sorted(places)
