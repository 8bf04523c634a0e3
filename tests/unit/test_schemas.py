import json
from collections import Counter
from functools import partial

import pytest
import yaml
from jsonschema import Draft202012Validator
from pydantic_core import ValidationError

import verify
from gating import recorded
from hansard.errors import UsageError
from hansard.record.bundle import Bundle
from hansard.rules.events import EVENTS
from hansard.runtime import carried
from hansard.runtime.inputs import parse_spec, validate
from hansard.runtime.models.scripted import Script
from hansard.runtime.signed import Said
from hansard.schemas import SCHEMAS, render
from hansard.verify.verifier import verify as verify_record
from reporting import of
from reviewing import ANN, TRUST, closed, reviewed
from support import EVENTFUL, Debate, Setup, eventful, votes
from tables import DERIVED, INPUTS


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
        ("{requester: Ann Lee, owner: {name: Bo, key: acme/reviewer}}", True),
        ("owner: {name: Bo, key: null}", True),
        ("owner: {key: acme/reviewer}", False),
        ("owner: {name: Bo, key: a+b}", False),
        ("owner: 1", False),
        ("owner: ''", False),
        ("{labels: [a, b], task_type: contract, retention: 7y}", True),
        ("labels: [a b]", False),
        ("labels: a", False),
        ("task_type: a b", False),
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
        ("{format: panel, question: q, model: 'python:x', options: []}", True),
        ("{format: panel, question: q, model: 'python:x', options: [a]}", False),
        ("{format: panel, question: q, model: 'python:x', options: [a, b]}", True),
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


@pytest.mark.no_cover
def test_every_line_of_a_record_fits_the_event_schema_and_that_of_its_type():
    union = validator("event")
    seen = set()
    refused = Debate(Setup(approved={}), script=lambda call: None).run()
    played = [event for name in EVENTFUL for event in eventful(name).record.events]
    gates = map(json.loads, recorded().lines)
    for event in (*played, *reviewed().record.events, *refused.record.events, *gates):
        assert union.is_valid(event)
        assert validator(f"event.{event['type']}").is_valid(event)
        if (name := f"event.{event['type']}") not in seen:
            assert not union.is_valid(event | {"more": 1})
            assert not union.is_valid(event | {"data": event["data"] | {"more": 1}})
            seen.add(name)
    assert seen == {name for name in SCHEMAS if name.startswith("event.")}


@pytest.mark.no_cover
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


def test_a_review_that_is_carried_fits_its_schema():
    for outcome, texts in (("approved", []), ("conditions", ["Ask the insurer."])):
        said = Said(outcome, "Ann Lee", "Nearly.", texts)
        file = carried.sign(Bundle(closed().record.lines, {}, {}), said, ANN, TRUST)
        value = json.loads(file.dump())
        assert validator("review").is_valid(value)
        assert not validator("review").is_valid({**value, "at": None})
        for name in value:
            less = {key: row for key, row in value.items() if key != name}
            assert not validator("review").is_valid(less)


def test_findings_fit_their_schema():
    debate = Debate(Setup(), votes(planner="release", critic="revise", operator="revise")).run()
    found = verify_record(Bundle(debate.record.lines, {}, {}))
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

VALUES = (
    *(None, True, False, -1, 0, 1, 2, 3, 4, 10, 11, 100, 101, 1000, 1001, 10**6, 10**6 + 1),
    *(10**8, 10**8 + 1, 2**53 - 1, 2**53, 0.5),
    *("", "x", "a b", "é", "x\n", "x" * 64, "x" * 65, "x" * 256, "ab" * 32, "AB" * 32),
    *("7", "1" * 77, "1" * 78, "01", "0.5", "1" * 9 + ".5", "1" * 10, "synthesis-1", "draft-100"),
    *("http://a.b/c", "http://a b", "http://" + "a" * 249),
    *([], [1], [0], ["x"], ["a b"], [None], {}, {"sha256": "ab" * 32}, {"sha256": "x"}),
)


def words_of(schema):
    """Every word that a schema names as a value."""
    if isinstance(schema, dict):
        yield from schema.get("enum", ())
        yield from (schema["const"],) if "const" in schema else ()
    if isinstance(schema, dict | list):
        for item in schema.values() if isinstance(schema, dict) else schema:
            yield from words_of(item)


def places(value):
    """The paths to all that a value holds; of a list, to its first item."""
    yield ()
    rows = value.items() if isinstance(value, dict) else ()
    for key, item in enumerate(value[:1]) if isinstance(value, list) else rows:
        yield from ((key, *path) for path in places(item))


def changed(value, others):
    """The value with another one in one place, or a member more or less in one object."""
    yield from others
    if isinstance(value, dict):
        yield value | {"other": 1}
        for key, item in value.items():
            yield {name: kept for name, kept in value.items() if name != key}
            yield from (value | {key: other} for other in changed(item, others))
    elif isinstance(value, list) and value:
        yield from ([other, *value[1:]] for other in changed(value[0], others))


def admitted(event):
    try:
        EVENTS.validate_json(json.dumps(event))
    except ValidationError:
        return False
    return True


def fullest():
    """Events that hold together, of each type, every member that those of EVENTFUL hold."""
    refused = Debate(Setup(approved={}), script=lambda call: None).run()
    seen = set()
    records = [debate.record.lines for debate in (*map(eventful, EVENTFUL), reviewed(), refused)]
    for lines in (*records, recorded().lines):
        for line in lines:
            event = json.loads(line)
            terms = event["data"].get("terms", {}).get("format")
            found = {(event["type"], terms, path) for path in places(event["data"])}
            if found - seen:
                seen |= found
                yield event


@pytest.mark.slow
def test_both_verifiers_admit_the_same_entries():
    """They were written apart: whoever changes what an entry holds changes both."""
    tried = Counter()
    for event in fullest():
        others = (*VALUES, *dict.fromkeys(words_of(SCHEMAS[f"event.{event['type']}"]())))
        for other in changed(event, others):
            assert verify.is_event(other) is admitted(other), other
            tried[admitted(other)] += 1
    assert min(tried.values()) > 1000


def test_the_format_names_every_field_of_every_type():
    """Whoever changes what an entry holds changes FORMAT.md."""
    assert {f"event.{kind}" for kind in INPUTS} == {n for n in SCHEMAS if n.startswith("event.")}
    for kind in INPUTS:
        schema = SCHEMAS[f"event.{kind}"]()
        fields = schema["$defs"][schema["properties"]["data"]["$ref"].rpartition("/")[2]][
            "properties"
        ]
        named = {name.partition(".")[0] for name in (*INPUTS[kind], *DERIVED[kind])}
        assert fields.keys() <= named, kind
        assert {name for name in DERIVED[kind] if name.isidentifier()} <= fields.keys(), kind
