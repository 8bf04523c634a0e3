"""The deliverable: written after the decision, and only what fits the user's own schema counts."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from formats import FORMATS
from hansard.errors import UsageError
from hansard.installing import install_command
from hansard.runtime import fitting
from hansard.runtime.models.base import ModelError
from hansard.runtime.output import PLAIN, checker, encoded
from playing import answer, script

SCHEMA = {
    "$defs": {"grade": {"enum": ["go", "no-go"]}},
    "additionalProperties": False,
    "properties": {"grade": {"$ref": "#/$defs/grade"}, "days": {"minimum": 1, "type": "integer"}},
    "required": ["grade", "days"],
    "type": "object",
}
GOOD = {"grade": "go", "days": 3}


class Release(BaseModel):
    """What is released, and when."""

    grade: Literal["go", "no-go"]
    days: int = Field(ge=1)


def saying(*texts):
    """A model that writes these deliverables one after the other, the last one repeating."""

    def model(request):
        if request.role != "synthesizer":
            return answer(request)
        attempt = int(request.call.rpartition(":")[2])
        return texts[min(attempt, len(texts)) - 1]

    return model


def deliverable(table):
    (row,) = table.data("synthesis.recorded")
    return json.loads(table.text(row["text"]))


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("schema", [SCHEMA, Release], ids=["a schema", "a pydantic model"])
def test_every_format_ends_in_the_deliverable_that_was_ordered(table, format_, schema):
    seen = {}

    def model(request):
        seen[request.role] = request
        return saying(GOOD)(request)

    state = table.play(format_, model, output_schema=schema)
    assert deliverable(table) == GOOD
    assert state.closed["outcome"] == "complete"
    asked = seen["synthesizer"]
    wanted = schema if isinstance(schema, dict) else schema.model_json_schema()
    assert asked.reply_schema == wanted
    assert f'"{state.decision["decision"]}" (rule: {state.decision["rule"]})' in asked.prompt
    assert json.loads(asked.prompt.rpartition("JSON Schema:\n\n")[2]) == wanted
    assert table.types[-2:] == ["synthesis.recorded", "debate.closed"]
    assert table.verified().findings == []


def test_without_a_schema_the_synthesizer_writes_words(table):
    table.play("judged", saying({"synthesis": "we wait"}), synthesizer=True)
    assert deliverable(table) == {"synthesis": "we wait"}
    assert table.verified().findings == []


@pytest.mark.parametrize("synthesizer", [None, False])
def test_nobody_writes_where_nothing_was_ordered(table, synthesizer):
    table.play("judged", synthesizer=synthesizer)
    assert not table.data("synthesis.recorded")


def test_a_schema_may_stand_in_a_file(table):
    (table.folder / "wanted.json").write_text(json.dumps(SCHEMA))
    table.play("judged", saying(GOOD), output_schema="wanted.json")
    assert deliverable(table) == GOOD


def test_what_does_not_fit_is_asked_for_again(table):
    bad = [{"grade": "maybe", "days": 3}, {**GOOD, "days": 0}, {"days": 3}, "no JSON"]
    state = table.play("judged", saying(*bad, GOOD), output_schema=SCHEMA, attempts=9)
    assert [row["code"] for row in table.data("turn.rejected")] == [
        *["output_schema"] * 3,
        "unreadable",
    ]
    assert deliverable(table) == GOOD
    assert state.turns[-1].data["call"] == "r2.synthesis.synthesizer:5"
    assert table.verified().findings == []


def test_a_deliverable_that_never_fits_leaves_the_decision(table):
    state = table.play("judged", saying({}), output_schema=SCHEMA)
    assert [row["code"] for row in table.data("turn.rejected")] == ["output_schema"] * 2
    assert table.data("turn.forfeited")[0]["phase"] == "synthesis"
    assert state.decision["decision"] == "ship"
    assert state.closed == {"outcome": "complete", "reason": "rounds_complete"}
    assert state.synthesis is None
    assert table.verified().findings == []


def test_a_callable_of_ones_own_may_write_it(table):
    seen = []

    def writer(request):
        seen.append(request)
        return GOOD

    seat = {"model": "custom:writer", "id": "scribe"}
    table.play("judged", models={"writer": writer}, synthesizer=seat, output_schema=SCHEMA)
    assert deliverable(table) == GOOD
    assert seen[0].speaker == "scribe"
    assert "ann says this" in seen[0].prompt


CIRCLE = {"a": []}
CIRCLE["a"].append(CIRCLE)
BAD = {
    "no schema": ({"type": "nothing"}, "spec.output_schema"),
    "a part that is none": ({"properties": {"a": 7}}, "spec.output_schema"),
    "a list": ("list.json", "spec.output_schema"),
    "no file": ("absent.json", "spec.unreadable"),
    "no JSON": ("broken.json", "spec.yaml"),
    "a set": ({"enum": {1, 2}}, "spec.output_schema"),
    "no number": ({"const": float("nan")}, "spec.output_schema"),
    "half a character": ({"const": "\ud800"}, "spec.output_schema"),
    "mixed keys": ({"properties": {1: {}, "a": {}}}, "spec.output_schema"),
    "itself": (CIRCLE, "spec.output_schema"),
}


@pytest.mark.parametrize("how", BAD)
def test_a_schema_that_is_none_is_refused_before_anything_is_recorded(table, how):
    (table.folder / "list.json").write_text("[1]")
    (table.folder / "broken.json").write_text("{")
    schema, code = BAD[how]
    with pytest.raises(UsageError) as caught:
        table.play("judged", output_schema=schema)
    assert caught.value.code == code
    assert "\n" not in str(caught.value)
    assert table.store.debates() == []


def test_a_reference_into_the_net_is_never_followed(table):
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/any.json"
        for schema in ({"$ref": address}, {"$schema": address}, {"$id": address, "$ref": "b.json"}):
            state = table.play("judged", saying({}), output_schema=schema, attempts=1)
            assert state.closed["outcome"] == "complete"
        assert not checker(json.dumps({"$ref": address}).encode())("{}")
        server.shutdown()
    assert asked == []


@pytest.fixture
def no_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "jsonschema", None)


def test_without_its_extra_a_schema_is_refused_before_anything_is_recorded(table, no_extra):
    with pytest.raises(UsageError) as caught:
        table.play("judged", output_schema=SCHEMA)
    assert caught.value.code == "spec.missing_extra"
    assert install_command("schema") in str(caught.value)
    assert table.store.debates() == []


def test_without_the_extra_words_can_still_be_written(table, no_extra):
    table.play("judged", saying({"synthesis": ""}, {"synthesis": "so"}), synthesizer=True)
    assert [row["code"] for row in table.data("turn.rejected")] == ["output_schema"]
    assert deliverable(table) == {"synthesis": "so"}


def test_nobody_goes_on_with_a_debate_whose_deliverable_cannot_be_checked(table, monkeypatch):
    async def dies(request):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table.play("judged", dies, output_schema=SCHEMA)
    before = table.store.lines(table.debate)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "jsonschema", None)
        with pytest.raises(UsageError) as caught:
            table.go_on(saying(GOOD))
    assert caught.value.code == "spec.missing_extra"
    assert table.store.lines(table.debate) == before
    table.go_on(saying(GOOD))
    assert deliverable(table) == GOOD


def test_a_deliverable_that_came_before_a_process_died_is_not_asked_for_again(table):
    class Died(BaseException):
        pass

    def die(event):
        if event["type"] == "call.answered" and "synthesis" in event["data"]["call"]:
            raise Died

    with pytest.raises(Died):
        table.play("judged", saying(GOOD), output_schema=SCHEMA, observe=die)
    asked = []
    state = table.go_on(asked.append)
    assert asked == []
    assert state.synthesis
    assert deliverable(table) == GOOD
    assert table.verified().findings == []


def test_a_synthesizer_that_is_not_heard_leaves_the_decision(table):
    state = table.play("panel", script({"synthesizer": ModelError("no_reply")}), synthesizer=True)
    assert (state.closed["outcome"], state.synthesis) == ("complete", None)
    assert table.verified().findings == []


PLAIN_REPLIES = [('{"synthesis":"so"}', True), ('{"synthesis":""}', False), ('{"a":1}', False)]


@pytest.mark.parametrize(("text", "fits"), PLAIN_REPLIES)
def test_the_plain_deliverable_is_words(text, fits):
    assert checker(json.dumps(PLAIN).encode())(text) is fits


@pytest.fixture
def no_collection():
    """No garbage of other tests is finalised at the bottom of a recursion, where it would fail."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
def test_a_check_that_breaks_is_not_passed():
    deep = "[" * 30 + "]" * 30
    assert checker(b'{"$ref":"#"}')("1") is False  # it refers to itself without end
    assert checker(b'{"$ref":"#/none"}')("1") is False
    assert checker(b"{}")(deep) is True


def test_running_in_a_loop_of_ones_own(table):
    async def both():
        return await asyncio.gather(
            *(table.debating("judged", saying(GOOD), output_schema=SCHEMA) for _ in range(2))
        )

    assert all(found.state.synthesis for found in asyncio.run(both()))


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"type": "hunter2"}, ", at type"),
        ({"properties": {"hunter2": {"minLength": "hunter2"}}}, ", at properties.….minLength"),
        ({"allOf": [{"required": "hunter2"}]}, ", at allOf.0.required"),
    ],
)
def test_what_is_no_schema_is_placed_and_not_quoted(schema, place):
    with pytest.raises(UsageError) as caught:
        checker(encoded(schema))
    assert str(caught.value) == f"the output_schema is not a valid JSON Schema{place}"


LAUGHS = {f"a{n}": {"anyOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 9} for n in range(40)}
ENDLESS = {
    "a pattern": ({"pattern": "^(a+)+$"}, "a" * 100 + "b"),
    "references to references": ({"$ref": "#/$defs/a0", "$defs": {**LAUGHS, "a40": False}}, "a"),
    "all of a list": ({"uniqueItems": True, "items": {"pattern": "(.*)*(.*)*x$"}}, ["a" * 200]),
}


@pytest.mark.parametrize("what", ENDLESS)
def test_a_schema_that_would_be_followed_for_ever_is_satisfied_by_nothing(monkeypatch, what):
    schema, value = ENDLESS[what]
    fits = checker(encoded(schema))
    monkeypatch.setattr(fitting, "SECONDS", 1)  # it would take longer than any machine has
    assert fits(json.dumps(value)) is False
    assert fits("not JSON") is False


def test_a_schema_that_takes_for_ever_to_check_is_refused(monkeypatch):
    monkeypatch.setattr(fitting, "WAIT", 0)
    with pytest.raises(UsageError, match="takes too long to check; make it simpler"):
        checker(encoded({"title": "of this test alone"}))


def test_a_process_that_never_ends_is_ended(monkeypatch):
    monkeypatch.setattr(fitting, "WAIT", 0)
    assert fitting.fits({}, 1) is False
