"""The vocabulary says of every text of every type of event what it is, or a reason why not."""

from pydantic import TypeAdapter

from hansard import vocabulary
from hansard.report.texts import texts_in_words
from hansard.rules.events import Event

DEFINED = TypeAdapter(Event).json_schema()["$defs"]
# What nobody misses by name: it is another text, or stands beside whatever it belongs to.
UNSAID = {
    "debate.opened requester.name",
    "debate.opened owner.name",
    "gate.answered question",
    "gate.answered requester.name",
    "gate.answered owner.name",
    "gate.answered gate.answer",
    "call.answered reply",  # of a turn, or of a rejection
    "call.answered model",
    "call.answered response_id",
    "call.answered request_id",
    "call.answered fingerprint",
    "call.failed request_id",
    "tool.called tool",
    "synthesis.recorded text",  # the reply that it was read from
}
REPLIES = {f"{kind}.recorded reply" for kind in ("turn", "verdict", "synthesis")}


def blobs(schema, path=""):
    """The places of texts in what a schema describes."""
    name = schema.get("$ref", "").rpartition("/")[2]
    if name == "Blob":
        yield path[1:]
        return
    schema = DEFINED.get(name, schema)
    for inner in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), schema.get("items")):
        if inner:
            yield from blobs(inner, path)
    for field, inner in schema.get("properties", {}).items():
        yield from blobs(inner, f"{path}.{field}")


def named(group):
    """The fields that a group of words speaks of."""
    return [field for fields in vocabulary.words(group) for field in fields.split(", ")]


def test_every_text_of_every_type_of_event_has_words():
    entries = [row["properties"] for row in DEFINED.values() if "prev" in row.get("properties", {})]
    found = {f"{row['type']['const']} {path}" for row in entries for path in blobs(row["data"])}
    said = {*named("texts"), *named("annexed")}
    assert found - said == UNSAID
    assert said - found == REPLIES


def test_no_text_has_two_sentences_of_one_group():
    for group in ("texts", "annexed"):
        assert len(set(named(group))) == len(named(group))


def test_of_a_list_each_text_is_said_and_of_nothing_none():
    one, other = ({"sha256": digit * 64} for digit in "01")
    data = {"reviewer": one, "comment": None, "conditions": [one, other]}
    assert list(texts_in_words("texts", "review.signed", data)) == [
        ("the name of the reviewer", "0" * 64),
        ("a condition of the review", "0" * 64),
        ("a condition of the review", "1" * 64),
    ]
    assert list(texts_in_words("texts", "votes.counted", {})) == []
