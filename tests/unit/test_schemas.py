import json
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from hansard.errors import UsageError
from hansard.record.bundle import Bundle
from hansard.runtime.inputs import parse_spec, validate
from hansard.runtime.models.scripted import Script
from hansard.schemas import SCHEMAS, render
from hansard.verify.verifier import verify
from reporting import of
from support import EVENTFUL, Debate, Setup, eventful, votes


def validator(name):
    return Draft202012Validator(json.loads(render(name)))


def accepted(read, value):
    try:
        read(value, "file")
    except UsageError:
        return False
    return True


SPEC = {
    "question": "q",
    "debaters": [{"id": "a", "model": "python:x"}, {"id": "b", "model": "python:x"}],
    "options": ["yes", "no"],
    "threshold": 2,
    "max_rounds": 1,
}
DEBATERS = "debaters: [{{id: a, model: 'python:x', settings: {0}}}, {{id: b, model: 'python:x'}}]"


@pytest.mark.parametrize(
    ("changes", "valid"),
    [
        ("{}", True),
        ("evidence: [facts.md, {file: b.md, from_round: 1}, {id: c, text: words}]", True),
        ("evidence: [{id: c, file: b.md, text: null}]", True),
        ("evidence: [{text: words}]", False),
        ("evidence: [{id: c}]", False),
        ("evidence: [{id: c, text: words, file: b.md}]", False),
        ("evidence: ['']", False),
        ("evidence: [1]", False),
        (DEBATERS.format("{temperature: 0.7, top_p: '0.9'}"), True),
        (DEBATERS.format("{temperature: 1, top_p: null}"), True),
        (DEBATERS.format("{temperature: -1}"), False),
        (DEBATERS.format("{temperature: warm}"), False),
        (DEBATERS.format("{temperature: true}"), False),
        ("threshold: null", False),
        ("{rule: majority, threshold: null}", True),
        ("{rule: majority, threshold: 2}", False),
        ("max_rounds: 0", False),
        ("options: []", False),
        ("extra: 1", False),
        ("prices: {'python:x': {input: '2.50', output: '10'}}", True),
        ("prices: {'python:x': {input: 2.50, output: '10'}}", False),
        ("prompts: {debater: mine.md}", True),
        ("prompts: {judge: mine.md}", False),
        ("timeout_seconds: 0.5", True),
        ("format: consensus", True),
        ("format: judged", False),
        ("format: other", False),
        ("{synthesizer: true, model: 'python:x'}", True),
        ("synthesizer: {persona: p, model: 'python:x'}", True),
        ("{output_schema: out.json, model: 'python:x'}", True),
        ("limits: {calls: 3, tokens: 10, seconds: 1.5, cost_usd: '0.50'}", True),
        ("limits: {cost_usd: 0.50}", True),
        ("limits: {cost_usd: free}", False),
        ("limits: {calls: 0}", False),
        ("limits: {money: 1}", False),
        ("tools: [lookup]", True),
        ("name: n o", False),
    ],
)
def test_the_spec_schema_admits_what_a_spec_file_may_hold(changes, valid):
    value = SPEC | yaml.safe_load(changes)
    assert accepted(parse_spec, value) is valid
    assert validator("spec").is_valid(value) is valid


JUDGED = "{format: judged, question: q, model: 'python:x', debaters: [{stance: a}, {stance: b}]}"


@pytest.mark.parametrize(
    ("value", "valid"),
    [
        (JUDGED, True),
        (JUDGED.replace("format: judged, ", ""), False),
        (JUDGED.replace("{stance: b}", "{id: b}"), False),
        (JUDGED.replace("}]}", "}], judge: null}"), False),
        (JUDGED.replace("}]}", "}], options: [a]}"), False),
        ("{format: moderated, question: q, model: 'python:x'}", True),
        ("{format: moderated, question: q, model: 'python:x', options: [a]}", False),
        ("{question: q, model: 'python:x'}", False),
        ("{format: panel, question: q, model: 'python:x'}", True),
        ("{format: panel, question: q, model: 'python:x', convergence_similarity: 0.5}", True),
        ("{format: panel, question: q, model: 'python:x', rounds: 0}", False),
        ("{format: panel, question: q, model: 'python:x', resolution: vote}", False),
    ],
)
def test_a_spec_of_another_format_names_it(value, valid):
    value = yaml.safe_load(value)
    assert accepted(parse_spec, value) is valid
    assert validator("spec").is_valid(value) is valid


@pytest.mark.parametrize(
    ("entry", "valid"),
    [
        ("any text at all", True),
        ({"stance": "s", "rationale": "r", "vote": "v"}, True),
        ({"reply": "x", "tokens": {"in": 1, "out": 2}, "finish": "length"}, True),
        ({"error": "timeout"}, True),
        ([{"error": "timeout"}, "then a text", {"reply": {"vote": "v"}}], True),
        ([], False),
        (7, False),
        ({"error": "no such error"}, False),
        ({"reply": "x", "other": 1}, False),
        ({"reply": "x", "tokens": {"in": -1, "out": 2}}, False),
    ],
)
def test_the_script_schema_admits_the_short_forms(entry, valid):
    value = {"replies": {"planner": {"*": {"proposal": entry}}}}
    assert accepted(partial(validate, Script), value) is valid
    assert validator("script").is_valid(value) is valid


def test_every_line_of_a_record_fits_the_event_schema_and_that_of_its_type():
    union = validator("event")
    seen = set()
    refused = Debate(Setup(approved={}), script=lambda call: None).run()
    played = [event for name in EVENTFUL for event in eventful(name).record.events]
    for event in (*played, *refused.record.events):
        assert union.is_valid(event)
        assert validator(f"event.{event['type']}").is_valid(event)
        if (name := f"event.{event['type']}") not in seen:
            assert not union.is_valid(event | {"more": 1})
            assert not union.is_valid(event | {"data": event["data"] | {"more": 1}})
            seen.add(name)
    assert seen == {name for name in SCHEMAS if name.startswith("event.")}


@pytest.mark.parametrize("gone", [False, True])
@pytest.mark.parametrize("name", EVENTFUL)
def test_a_report_fits_its_schema(name, gone):
    shown = of(eventful(name), (lambda _: None) if gone else None)
    value = json.loads(shown.model_dump_json())
    assert validator("report").is_valid(value)
    assert not validator("report").is_valid({**value, "more": 1})
    other = "panel" if value["format"] != "panel" else "judged"
    assert not validator("report").is_valid({**value, "format": other})
    del value["decision"]
    assert not validator("report").is_valid(value)


@pytest.mark.parametrize("gone", [False, True])
@pytest.mark.parametrize("name", EVENTFUL)
def test_a_result_in_the_shape_of_its_source_fits_the_schema_of_that(name, gone):
    debate = eventful(name)
    for cut in (len(debate.record.events), 12):
        debate.record.events = debate.record.events[:cut]
        shown = of(debate, (lambda _: None) if gone else None)
        value = json.loads(json.dumps(shown.source()))
        schema = f"source.{shown.format}"
        assert validator(schema).is_valid(value)
        assert not validator(schema).is_valid({**value, "more": 1})
        for key in value:
            less = {name: member for name, member in value.items() if name != key}
            assert not validator(schema).is_valid(less)


def test_the_pieces_of_a_judged_debate_have_schemas():
    value = of(eventful("judged")).source()
    question = value["question"]
    assert validator("judged.input").is_valid({"question": question})
    assert validator("judged.state").is_valid({"question": question, "round": value["rounds"]})
    assert validator("judged.transcript").is_valid({"entries": value["transcript"]})
    assert validator("judged.entry").is_valid(value["transcript"][0])
    assert validator("judged.verdict").is_valid(value["verdict"])
    assert validator("judged.verdict").is_valid({**value["verdict"], "winner": None})
    for name in ("input", "state", "transcript", "entry", "verdict"):
        assert not validator(f"judged.{name}").is_valid({})
    assert set(value["transcript"][0]) == {"round", "agentName", "stance", "text"}
    assert set(value["verdict"]) == {"verdict", "winner", "reasoning"}


def test_findings_fit_their_schema():
    debate = Debate(Setup(), votes(planner="release", critic="revise", operator="revise")).run()
    found = verify(Bundle(debate.record.lines, {}, {}))
    assert found.findings
    assert validator("findings").is_valid(json.loads(found.model_dump_json()))


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_schema_is_one_and_says_what_it_is(name):
    text = render(name)
    schema = json.loads(text)
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:hansard:schema:{name}:v1"
    assert schema["title"]
    assert text == render(name)
    assert text.endswith("}\n")


def test_a_name_that_is_no_schema_is_refused():
    with pytest.raises(UsageError, match="there are spec, script, event") as caught:
        render("specs")
    assert caught.value.code == "schema.unknown"


# The record's format ---------------------------------------------------------------------

PINNED = Path(__file__).parent / "event_schemas.txt"


def shape(schema):
    """A schema without the sentences in it: these may be worded better at any time."""
    if isinstance(schema, list):
        return [shape(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    words = {key for key in ("title", "description") if isinstance(schema.get(key), str)}
    return {key: shape(value) for key, value in schema.items() if key not in words}


def test_the_form_of_each_entry_is_pinned(rewrite):
    """Whoever changes what an entry holds changes FORMAT.md, and then runs this with --rewrite."""
    lines = []
    for name in sorted(name for name in SCHEMAS if name.startswith("event.")):
        form = json.dumps(shape(SCHEMAS[name]()), sort_keys=True)
        lines.append(f"{sha256(form.encode()).hexdigest()}  {name}\n")
    if rewrite:
        PINNED.write_text("".join(lines), encoding="utf-8")
    assert PINNED.read_text(encoding="utf-8") == "".join(lines)


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"title": "Another", "description": "Another"}, True),
        ({"properties": {"title": {"type": "integer"}}}, False),
        ({"properties": {"title": {"type": "string", "title": "T"}}}, True),
        ({"properties": {"title": {"type": "string"}, "more": {}}}, False),
    ],
)
def test_the_pin_sees_forms_and_no_wording(change, same):
    schema = {"title": "One", "properties": {"title": {"type": "string"}}}
    assert (shape(schema | change) == shape(schema)) is same
