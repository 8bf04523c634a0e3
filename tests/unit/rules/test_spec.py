"""What a user may write (D 1, D 8, D 15, D 27, D 28, D 36; RULES.md §6)."""

from pathlib import Path

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from formats import PLAYED
from hansard.errors import UsageError
from hansard.rules.fields import Url
from hansard.rules.formats import SPECS, ConsensusSpec, DebateSpec
from hansard.rules.formats.panel.spec import PERSONAS
from hansard.rules.model_names import key_variable
from hansard.rules.spec_parts import MOST_NAMED, Advocate
from hansard.runtime.inputs import parse_spec

SEATS = [{"id": name, "model": "python:m"} for name in ("planner", "critic", "operator")]
SPEC = {
    "question": "Shall we?",
    "debaters": SEATS,
    "options": ["release", "revise"],
    "threshold": 2,
    "max_rounds": 2,
}


def spec(**changes):
    return ConsensusSpec.model_validate({**SPEC, **changes})


def without(*fields):
    return ConsensusSpec.model_validate({key: SPEC[key] for key in SPEC if key not in fields})


def refused(make, *args, **changes):
    """The code of the first error, and the field it names."""
    with pytest.raises(ValidationError) as caught:
        make(*args, **changes)
    error = caught.value.errors()[0]
    return error["type"], ".".join(str(part) for part in error["loc"])


def test_a_spec_states_the_rest_by_default():
    made = spec()
    assert (made.format, made.rule, made.attempts) == ("consensus", "threshold", 3)
    assert (made.seed, made.timeout_seconds) == (0, 120)
    assert (made.evidence, made.prompts, made.prices) == ([], {}, {})
    assert made.review
    assert made.debaters[0].persona is None
    assert made.debaters[0].settings.temperature is None


@pytest.mark.parametrize("field", ["question", "debaters", "options", "max_rounds"])
def test_what_has_no_default_must_be_given(field):
    assert refused(without, field) == ("missing", field)


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({"threshold": 1}, 1),
        ({"threshold": 3}, 3),
        ({"rule": "majority", "threshold": None}, 2),
        ({"rule": "unanimity", "threshold": None}, 3),
    ],
)
def test_the_rule_says_how_many_must_agree(changes, count):
    assert spec(**changes).needed == count


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"max_rounds": 0}, ("greater_than_equal", "max_rounds")),
        ({"threshold": 0}, ("greater_than_equal", "threshold")),
        ({"threshold": -1}, ("greater_than_equal", "threshold")),
        ({"options": []}, ("too_short", "options")),
        ({"options": ["release", "release"]}, ("spec.duplicate", "")),
        ({"options": ["release", "abstain"]}, ("spec.option", "")),
        ({"options": ["not now"]}, ("string_pattern_mismatch", "options.0")),
        ({"options": ["x" * 65]}, ("string_pattern_mismatch", "options.0")),
        ({"threshold": 4}, ("spec.threshold", "")),
        ({"threshold": None}, ("spec.threshold", "")),
        ({"rule": "majority"}, ("spec.threshold", "")),
        ({"rule": "unanimity"}, ("spec.threshold", "")),
        ({"rule": "consensus"}, ("literal_error", "rule")),
        ({"format": "brawl"}, ("literal_error", "format")),
        ({"debaters": []}, ("too_short", "debaters")),
        ({"debaters": [SEATS[0], SEATS[0]]}, ("spec.duplicate", "")),
        ({"question": ""}, ("string_too_short", "question")),
        ({"question": "\ud800"}, ("string_unicode", "question")),
        ({"attempts": 0}, ("greater_than_equal", "attempts")),
        ({"timeout_seconds": 0}, ("greater_than", "timeout_seconds")),
        ({"timeout_seconds": float("nan")}, ("less_than_equal", "timeout_seconds")),
        ({"seed": -1}, ("greater_than_equal", "seed")),
        ({"seed": 10**77}, ("less_than", "seed")),
        ({"moderator": True}, ("extra_forbidden", "moderator")),
        ({"prompts": {"judge": "x.md"}}, ("spec.prompt", "")),
        ({"debaters": [{"id": "planner"}, SEATS[1]]}, ("spec.model", "")),
        ({"model": "gpt"}, ("spec.unknown_model", "")),
        ({"tools": ["lookup", "lookup"]}, ("spec.duplicate", "")),
        ({"tool_rounds": 0}, ("greater_than_equal", "tool_rounds")),
        ({"name": "two words"}, ("string_pattern_mismatch", "name")),
        ({"limits": {"calls": 0}}, ("greater_than_equal", "limits.calls")),
        ({"limits": {"seconds": 0}}, ("greater_than", "limits.seconds")),
        ({"limits": {"cost_usd": "cheap"}}, ("string_pattern_mismatch", "limits.cost_usd")),
        ({"limits": {"words": 9}}, ("extra_forbidden", "limits.words")),
        ({"agent_types": {"jury": "sub"}}, ("literal_error", "agent_types.jury.[key]")),
        ({"synthesizer": False, "output_schema": {}}, ("spec.synthesizer", "")),
        ({"synthesizer": {"id": "planner", "model": "python:m"}}, ("spec.duplicate", "")),
        ({"prices": {"python:m": {"input": "2.5"}}}, ("missing", "prices.python:m.output")),
        ({"prices": {"python:x": {"input": "1", "output": "2"}}}, ("spec.price", "")),
    ],
)
def test_a_spec_that_cannot_be_honoured_is_refused(changes, error):
    assert refused(spec, **changes) == error


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"id": "the planner"}, "string_pattern_mismatch"),
        ({"id": "plänner"}, "string_pattern_mismatch"),
        ({"id": "planner\n"}, "string_pattern_mismatch"),
        ({"model": "gpt"}, "spec.unknown_model"),
        ({"model": "scripted:"}, "spec.unknown_model"),
        ({"model": "crystal:ball"}, "spec.unknown_model"),
        ({"model": "python:a b"}, "string_pattern_mismatch"),
        ({"persona": ""}, "string_too_short"),
        ({"settings": {"temperature": "hot"}}, "string_pattern_mismatch"),
        ({"settings": {"temperature": True}}, "string_type"),
        ({"settings": {"temperature": 1e-7}}, "string_pattern_mismatch"),
        ({"settings": {"seed": 2**53}}, "less_than_equal"),
        ({"settings": {"max_tokens": 0}}, "greater_than_equal"),
    ],
)
def test_a_seat_that_cannot_be_recorded_is_refused(changes, error):
    assert refused(spec, debaters=[*SEATS[1:], {**SEATS[0], **changes}])[0] == error


@pytest.mark.parametrize(
    "model", ["python:m", "scripted:a/b.yaml", "recorded:3f2b8c1e", "python:a:b", "openai:gpt-5"]
)
def test_a_model_is_provider_and_name(model):
    assert spec(debaters=[{**seat, "model": model} for seat in SEATS]).debaters[0].model == model


def test_null_is_no_model_of_ones_own():
    seats = [{**SEATS[0], "model": None}, *SEATS[1:]]
    assert spec(model="python:other", debaters=seats).table()[0].model == "python:other"


@pytest.mark.parametrize("truth", [True, False])
@pytest.mark.parametrize("field", ["max_rounds", "seed", "timeout_seconds", "threshold"])
def test_true_and_false_are_no_numbers(field, truth):
    assert refused(spec, **{field: truth}) == ("spec.invalid_value", field)


def test_what_is_no_mapping_is_no_spec():
    assert refused(ConsensusSpec.model_validate, 7) == ("model_type", "")


@pytest.mark.parametrize(
    ("number", "text"), [("0.70", "0.70"), (0.7, "0.7"), (1, "1"), (0.0, "0.0")]
)
def test_decimals_are_kept_as_they_were_written(number, text):
    settings = {"temperature": number, "top_p": number}
    made = spec(debaters=[*SEATS[1:], {**SEATS[0], "settings": settings}]).debaters[-1].settings
    assert (made.temperature, made.top_p) == (text, text)


@pytest.mark.parametrize(
    ("row", "name", "from_round"),
    [
        ("runbook.md", "runbook", 1),
        ("papers/2026/run-book.v2.txt", "run-book", 1),
        ({"file": "runbook.md", "from_round": 2}, "runbook", 2),
        ({"file": "run book.md", "id": "runbook"}, "runbook", 1),
        ({"text": "words", "id": "memo"}, "memo", 1),
        (Path("papers") / "memo.md", "memo", 1),
        ({"file": Path("papers") / "memo.md", "from_round": 2}, "memo", 2),
        ({"file": Path("run book.md"), "id": "runbook"}, "runbook", 1),
    ],
)
def test_a_document_has_an_id_of_its_own_or_its_files(row, name, from_round):
    document = spec(evidence=[row]).evidence[0]
    assert (document.id, document.from_round) == (name, from_round)


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ("run book.md", ("spec.evidence_id", "evidence.0")),
        (".md", ("spec.evidence_id", "evidence.0")),
        ("half \ud800.md", ("spec.evidence_id", "evidence.0")),
        ("http://\ud800/", ("spec.evidence_url", "evidence.0")),
        ({"text": "words"}, ("spec.evidence_id", "evidence.0")),
        ({"id": "memo"}, ("spec.evidence_source", "evidence.0")),
        ({"id": "memo", "file": "a.md", "text": "b"}, ("spec.evidence_source", "evidence.0")),
        ({"id": "memo", "text": ""}, ("string_too_short", "evidence.0.text")),
        (
            {"id": "memo", "text": "a", "from_round": 0},
            ("greater_than_equal", "evidence.0.from_round"),
        ),
        ({"id": "memo", "text": "a", "from_round": 3}, ("spec.evidence_round", "")),
        ({"id": "memo", "text": "a", "url": "b"}, ("extra_forbidden", "evidence.0.url")),
        (7, ("model_type", "evidence.0")),
    ],
)
def test_a_document_that_cannot_be_admitted_is_refused(row, error):
    assert refused(spec, evidence=[row]) == error


def test_a_path_from_python_stays_one_and_text_stays_text():
    made = spec(
        model="python:m",
        evidence=[Path("memo.md"), "note.md"],
        prompts={"block": Path("block.md"), "again": "again.md"},
        output_schema=Path("schema.json"),
    )
    assert [row.file for row in made.evidence] == [Path("memo.md"), "note.md"]
    assert made.prompts == {"block": Path("block.md"), "again": "again.md"}
    assert made.output_schema == Path("schema.json")
    assert spec(**made.model_dump()).evidence[0].file == "memo.md"  # written down, it is a name
    assert refused(spec, prompts={"block": ""}) == ("string_too_short", "prompts.block")
    assert refused(spec, prompts={"block": 7}) == ("string_type", "prompts.block")


def test_no_two_documents_share_an_id():
    assert refused(spec, evidence=["a/memo.md", "b/memo.md"]) == ("spec.duplicate", "")


def test_a_documents_text_is_nfc_from_here_on():
    made = spec(evidence=[{"id": "memo", "text": "e\u0301"}])
    assert made.evidence[0].text == "\u00e9"


# Every format


M = {"question": "Shall we?", "model": "python:m"}
SHIP, WAIT = ({"stance": f"{words}."} for words in ("Ship it now", "Wait a week"))


def made(format_, **fields):
    return SPECS[format_].model_validate({**M, **fields})


@pytest.mark.parametrize("format_", SPECS)
def test_the_format_says_which_spec_it_is(format_):
    fields = M | PLAYED[format_].least
    parse = TypeAdapter(DebateSpec).validate_python
    assert type(parse({**fields, "format": format_})) is SPECS[format_]
    assert type(parse(parse({**fields, "format": format_}))) is SPECS[format_]
    if format_ == "consensus":
        assert type(parse(fields)) is ConsensusSpec


def test_who_sits_at_the_table_of_each_format():
    def table(format_, **fields):
        return [(row.role, row.id) for row in made(format_, **fields).table()]

    assert table("judged", debaters=[SHIP, {**WAIT, "id": "bob", "label": "wait"}]) == [
        ("debater", "stance_1"),
        ("debater", "bob"),
        ("judge", "judge"),
    ]
    alone = [(role, role) for role in ("framer", "proposer", "critic", "rebuttal", "moderator")]
    assert table("moderated") == alone
    assert table("moderated", positions=[SHIP, WAIT], synthesizer=True) == [
        ("framer", "framer"),
        ("proposer", "stance_1"),
        ("proposer", "stance_2"),
        ("critic", "critic"),
        ("rebuttal", "rebuttal"),
        ("moderator", "moderator"),
        ("synthesizer", "synthesizer"),
    ]
    named = [role for role, _ in table("moderated", positions=[SHIP, WAIT], critique=False)]
    assert named == ["framer", "proposer", "proposer", "moderator"]
    agents = [("debater", f"agent_{number}") for number in (1, 2, 3)]
    assert table("panel") == agents
    assert table("panel", agents=2, judge={"id": "chair"}) == [*agents[:2], ("judge", "chair")]


def test_a_stance_in_words_alone_is_labelled_by_its_place_and_an_id_is_made_from_the_label():
    rows = [
        {"stance": "go"},
        {**WAIT, "label": "later"},
        {"stance": "どちらでもない。", "label": None},
    ]
    spec = made("judged", debaters=[*rows, Advocate(stance="Ask.", id="bob")])
    assert spec.terms()["stances"] == ["stance_1", "later", "stance_3", "stance_4"]
    assert [row.id for row in spec.table()] == ["stance_1", "later", "stance_3", "bob", "judge"]
    assert [row.stance for row in spec.debaters] == [
        "go",
        WAIT["stance"],
        "どちらでもない。",
        "Ask.",
    ]
    assert made("moderated", positions=rows).terms()["positions"] == [
        "stance_1",
        "later",
        "stance_3",
    ]


def test_an_own_label_may_be_the_one_of_its_place():
    rows = [SHIP, {**WAIT, "label": "stance_2"}, {"stance": "x", "label": "stance_x"}]
    assert made("judged", debaters=rows).terms()["stances"] == ["stance_1", "stance_2", "stance_x"]


@pytest.mark.parametrize(("format_", "field"), [("judged", "debaters"), ("moderated", "positions")])
def test_stances_that_cannot_be_told_apart_are_refused_all_at_once(format_, field):
    rows = [
        {"stance": "Ship it now."},
        {"stance": " Ship\u3000it now.\n"},
        {"stance": "Wait.", "label": "stance_1"},
        {"stance": "later", "label": "four"},
        {"stance": "Drop it.", "label": "later"},
    ]
    with pytest.raises(ValidationError) as caught:
        made(format_, **{field: rows, "tools": ["a", "a"]})
    said = [row["msg"] for row in caught.value.errors()]
    assert [row for row in said if "seat id" not in row] == [
        "tool a appears more than once; each must be unique",
        "stance label stance_1 appears more than once; each must be unique",
        "stances stance_1 and stance_2 say the same; change or drop one",
        (
            "stance 3 cannot be labelled stance_1: that is what stance 1 is called where it has no "
            "label; choose another"
        ),
        "the words of stance four are the label of another; change one of the two",
    ]


def test_seats_are_declared_by_their_keys():
    spec = made("judged", debaters=[SHIP, {**WAIT, "model": "python:other"}])
    assert spec.declared_workers() == {
        "debater_0": "python:m",
        "debater_1": "python:other",
        "judge": "python:m",
    }


def test_agents_without_personas_get_different_ones():
    spec = made("panel", agents=8)
    assert [row.persona for row in spec.table()] == list(PERSONAS)
    own = made("panel", agents=2, personas=["You count.", "You doubt."])
    assert [row.persona for row in own.table()] == ["You count.", "You doubt."]
    assert made("panel", debaters=[{"id": "a"}, {"id": "b"}]).table()[0].persona is None


@pytest.mark.parametrize(
    ("fields", "resolution"),
    [
        ({}, "similar"),
        ({"options": ["yes", "no"]}, "majority"),
        ({"judge": {}}, "synthesis"),
        ({"judge": {}, "options": ["yes", "no"]}, "synthesis"),
        ({"judge": {}, "resolution": "pick"}, "pick"),
        ({"resolution": "majority"}, "majority"),
    ],
)
def test_how_a_panel_is_resolved_by_default(fields, resolution):
    assert made("panel", **fields).terms()["resolution"] == resolution


@pytest.mark.parametrize(
    ("given", "ppm"), [(0.85, 850_000), ("0.8500001", 850_000), (1, 1_000_000), (0, 0)]
)
def test_a_share_is_kept_in_millionths(given, ppm):
    assert made("panel", convergence_similarity=given).terms()["convergence_ppm"] == ppm
    off = made("panel", convergence_similarity=given, convergence_check=False)
    assert off.terms()["convergence_ppm"] is None


def test_the_synthesizer_is_there_when_there_is_something_to_fill_in():
    def roles(**fields):
        return [row.role for row in made("panel", **fields).table()][3:]

    assert roles() == roles(synthesizer=False) == []
    assert roles(synthesizer=True) == roles(output_schema={}) == ["synthesizer"]
    assert roles(output_schema="out.json", synthesizer={"id": "pen"}) == ["synthesizer"]


def test_what_only_python_can_give():
    class Memo(BaseModel):
        verdict: str

    def brief(given, context):
        return f"{given['question']} Think of {context}."

    spec = made("panel", context="the budget", instructions=brief, output_schema=Memo)
    assert spec.instructions is None
    assert spec.instruct is brief
    assert made("panel", instructions="Be brief.").instruct is None
    assert spec.output_schema == Memo.model_json_schema()


def test_instructions_of_another_signature_are_refused_when_the_spec_is_read():
    why = "`instructions` is the function .* cannot be called with input and context"
    with pytest.raises(UsageError, match=why) as caught:
        parse_spec(
            {
                "format": "panel",
                "question": "Why?",
                "agents": 2,
                "model": "python:m",
                "instructions": lambda given: "Be brief.",
            },
            "spec",
        )
    assert caught.value.code == "spec.instructions"
    assert "\n" not in str(caught.value)


def test_instructions_stand_in_place_of_a_panels_own_templates():
    def replaced(**fields):
        return dict(made("panel", **fields).replaced())

    assert replaced() == dict(spec().replaced()) == {}
    assert replaced(debater_instructions="Argue.") == {"debater": "Argue.", "chooser": "Argue."}
    assert replaced(judge={}, judge_instructions="Decide.") == dict.fromkeys(
        ("judge", "judge_choosing", "judge_picking"), "Decide."
    )


THREE = [SHIP, WAIT, {"stance": "Drop it."}]
MISTAKES = {
    "judge false": ("judged", {"debaters": [SHIP, WAIT], "judge": False}, "spec.judge", "judge"),
    "judge null": ("judged", {"debaters": [SHIP, WAIT], "judge": None}, "spec.judge", "judge"),
    "no stance": ("judged", {"debaters": [SHIP, {"id": "bob"}]}, "missing", "debaters.1.stance"),
    "one stance": ("judged", {"debaters": [SHIP]}, "too_short", "debaters"),
    "one stance twice": (
        "judged",
        {"debaters": [{**SHIP, "id": "a"}, {**SHIP, "id": "b"}]},
        "spec.duplicate",
        "",
    ),
    "a stance that says nothing": (
        "judged",
        {"debaters": [SHIP, {"stance": " \u200b"}]},
        "spec.stance",
        "debaters.1.stance",
    ),
    "a seat named like an outcome": (
        "judged",
        {"debaters": [SHIP, {**WAIT, "id": "synthesis"}]},
        "spec.reserved",
        "",
    ),
    "no rounds": (
        "judged",
        {"debaters": THREE, "max_rounds": 0},
        "greater_than_equal",
        "max_rounds",
    ),
    "four rounds": ("moderated", {"max_rounds": 4}, "spec.max_rounds", ""),
    "one position": ("moderated", {"positions": [SHIP]}, "spec.positions", ""),
    "positions and a proposer": (
        "moderated",
        {"positions": [SHIP, WAIT], "proposer": {}},
        "spec.positions",
        "",
    ),
    "nobody attacks": ("moderated", {"critique": False}, "spec.critique", ""),
    "a critic all the same": (
        "moderated",
        {"positions": [SHIP, WAIT], "critique": False, "critic": {}},
        "spec.critique",
        "",
    ),
    "a citation of nobody": (
        "moderated",
        {"positions": [SHIP, WAIT], "critique": False, "require_cited_critique": True},
        "spec.critique",
        "",
    ),
    "a position named critic": (
        "moderated",
        {"positions": [SHIP, {**WAIT, "id": "bob", "label": "critic"}]},
        "spec.label",
        "",
    ),
    "a rating of 11": (
        "moderated",
        {"min_challenge_strength": 11},
        "less_than_equal",
        "min_challenge_strength",
    ),
    "late evidence": (
        "moderated",
        {"evidence": [{"id": "e", "text": "x", "from_round": 2}]},
        "spec.evidence_round",
        "",
    ),
    "one agent": ("panel", {"agents": 1}, "greater_than_equal", "agents"),
    "one debater": ("panel", {"debaters": [{"id": "a"}]}, "spec.too_few", ""),
    "agents and debaters": (
        "panel",
        {"agents": 2, "debaters": [{"id": "a"}, {"id": "b"}]},
        "spec.agents",
        "",
    ),
    "personas for others": (
        "panel",
        {"agents": 3, "personas": ["You count.", "You doubt."]},
        "spec.personas",
        "",
    ),
    "nine agents": ("panel", {"agents": 9}, "spec.personas", ""),
    "more alike than the same": (
        "panel",
        {"convergence_similarity": 1.01},
        "spec.out_of_range",
        "",
    ),
    "less alike than nothing": (
        "panel",
        {"convergence_similarity": -0.1},
        "string_pattern_mismatch",
        "convergence_similarity",
    ),
    "abstain": ("panel", {"options": ["yes", "abstain"]}, "spec.option", ""),
    "synthesis": ("panel", {"options": ["yes", "synthesis"]}, "spec.option", ""),
    "an option named like a debater": (
        "panel",
        {"debaters": [{"id": "ann"}, {"id": "bob"}], "options": ["yes", "bob"]},
        "spec.option",
        "",
    ),
    "a judge for nothing": ("panel", {"judge": {}, "resolution": "majority"}, "spec.judge", ""),
    "no judge": ("panel", {"resolution": "pick"}, "spec.judge", ""),
    "nobody to instruct": ("panel", {"judge_instructions": "Be brief."}, "spec.judge", ""),
    "one option to vote for": (
        "consensus",
        {**SPEC, "options": ["yes"]},
        "too_short",
        "options",
    ),
    "one option of a panel": ("panel", {"options": ["yes"]}, "spec.too_few", ""),
    "no rounds after the first": ("panel", {"rounds": 0}, "greater_than_equal", "rounds"),
    "max_rounds": ("panel", {"max_rounds": 2}, "extra_forbidden", "max_rounds"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_spec_of_each_format_that_cannot_be_honoured_is_refused(mistake):
    format_, fields, code, where = MISTAKES[mistake]
    assert refused(made, format_, **fields) == (code, where)


# Models by short names, and settings for all


def test_settings_come_from_the_debate_then_the_alias_then_the_seat():
    made = spec(
        model="fast",
        models={
            "fast": {"model": "openai:small", "settings": {"temperature": 0.2, "seed": 7}},
            "plain": "anthropic:large",
        },
        settings={"temperature": 1, "max_tokens": 500},
        debaters=[
            {"id": "ann"},
            {"id": "bob", "settings": {"seed": None, "top_p": 0.5}},
            {"id": "cat", "model": "plain"},
            {"id": "dan", "model": "python:own", "settings": {"max_tokens": 9}},
        ],
    )
    rows = {row.id: (row.model, row.settings.model_dump(exclude_none=True)) for row in made.table()}
    assert rows == {
        "ann": ("openai:small", {"temperature": "0.2", "seed": 7, "max_tokens": 500}),
        "bob": ("openai:small", {"temperature": "0.2", "top_p": "0.5", "max_tokens": 500}),
        "cat": ("anthropic:large", {"temperature": "1", "max_tokens": 500}),
        "dan": ("python:own", {"temperature": "1", "max_tokens": 9}),
    }


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"models": {"fast": "gpt"}}, "spec.unknown_model"),
        ({"models": {"fast": {"model": "plain"}, "plain": "openai:x"}}, "spec.unknown_model"),
        ({"models": {"fast": {}}}, "missing"),
        ({"models": {"two words": "openai:x"}}, "string_pattern_mismatch"),
        ({"settings": {"base_url": "http://localhost:8000/v1"}}, "spec.base_url"),
        ({"layout": "role-last"}, "literal_error"),
        ({"retry_seconds": 0}, "greater_than"),
    ],
)
def test_short_names_and_settings_that_lead_nowhere_are_refused(changes, code):
    with pytest.raises(ValidationError) as caught:
        spec(**changes)
    assert code in [row["type"] for row in caught.value.errors()]


@pytest.mark.parametrize("field", ["models", "prices", "prompts", "agent_types"])
def test_of_too_many_names_none_is_looked_at(field):
    def made(count):
        with pytest.raises(ValidationError) as caught:
            spec(**{field: {f"n{number}": [] for number in range(count)}})
        return caught.value

    assert made(MOST_NAMED).error_count() >= MOST_NAMED
    (row,) = made(MOST_NAMED + 1).errors()
    assert (row["type"], row["loc"]) == ("too_long", (field,))
    assert ConsensusSpec.model_json_schema()["properties"][field]["maxProperties"] == MOST_NAMED


URLS = {
    "http://localhost:8000/v1": True,
    "https://api.example.org": True,
    "https://10.0.0.7:443/a/b-c_d.e/": True,
    "http://user:secret@host/v1": False,
    "http://host/v1?key=secret": False,
    "http://host/#secret": False,
    "http://host/%73": False,
    "ftp://host/": False,
    "host:8000": False,
    "http://": False,
    "http://host /": False,
    "http://host\n": False,
    f"http://{'h' * 300}": False,
}


@pytest.mark.parametrize(("url", "fits"), URLS.items())
def test_an_address_holds_no_secret(url, fits):
    address = TypeAdapter(Url)
    if fits:
        assert address.validate_python(url) == url
        return
    with pytest.raises(ValidationError):
        address.validate_python(url)


@pytest.mark.parametrize("name", ["Ada Lovelace", "Жанна д’Арк", "李小龍", "'", "x" * 200])
def test_a_person_is_a_name_alone_or_with_a_key(name):
    made = spec(requester=name, owner={"name": f" {name[1:]}x ", "key": "acme/reviewer"})
    assert (made.requester.name, made.requester.key) == (name, None)
    assert (made.owner.name, made.owner.key) == (f"{name[1:]}x", "acme/reviewer")


@pytest.mark.parametrize(
    ("person", "error"),
    [
        ("", ("spec.person", "requester.name")),
        ("x" * 201, ("spec.person", "requester.name")),
        (" \u3000", ("spec.person", "requester.name")),
        ("Ada\nLovelace", ("spec.person", "requester.name")),
        ("Ada\u202eecalevoL", ("spec.person", "requester.name")),
        ("Ada\u2028Lovelace", ("spec.person", "requester.name")),
        ({"key": "acme/reviewer"}, ("missing", "requester.name")),
        ({"name": "Ada", "key": "a+b"}, ("spec.key_name", "requester.key")),
        ({"name": "Ada", "key": ""}, ("spec.key_name", "requester.key")),
        ({"name": "Ada", "key": "k" * 129}, ("spec.key_name", "requester.key")),
        ({"name": "Ada", "key": 1}, ("string_type", "requester.key")),
        ({"name": "Ada", "mail": "a@b"}, ("extra_forbidden", "requester.mail")),
        (1, ("model_type", "requester")),
    ],
)
def test_a_person_that_cannot_be_told_is_refused(person, error):
    assert refused(spec, requester=person) == error


def test_labels_are_names_each_once_and_at_most_twenty():
    twenty = [f"l{number}" for number in range(20)]
    assert spec(labels=twenty).labels == twenty
    assert refused(spec, labels=[*twenty, "one-more"]) == ("too_long", "labels")
    assert refused(spec, labels=["a", "a"]) == ("spec.duplicate", "")
    assert refused(spec, labels=["a b"]) == ("string_pattern_mismatch", "labels.0")
    for field in ("task_type", "retention"):
        assert refused(spec, **{field: "a b"}) == ("string_pattern_mismatch", field)


def test_options_that_only_case_tells_apart_are_refused():
    assert refused(spec, options=["Release", "release"], threshold=2) == ("spec.duplicate", "")


@pytest.mark.parametrize(
    "others",
    [
        {"label": "SHIP", "stance": "Wait."},
        {"label": "ship", "stance": "Wait."},
    ],
)
@pytest.mark.parametrize(("format_", "field"), [("judged", "debaters"), ("moderated", "positions")])
def test_labels_of_stances_that_cannot_be_told_apart_are_refused(format_, field, others):
    rows = [{"id": "a", "label": "ship", "stance": "Ship it now."}, {"id": "b", **others}]
    fields = {"question": "q", "model": "python:m", field: rows}
    assert refused(SPECS[format_].model_validate, fields)[0] == "spec.duplicate"


def test_the_names_of_keys():
    assert key_variable("http://localhost:8000/v1") == "HANSARD_KEY_LOCALHOST_8000"
    assert key_variable("https://a-b.example") != key_variable("https://a.b.example")


def test_instructions_that_do_not_say_how_they_are_called_are_taken():
    assert made("panel", instructions=min).instruct is min  # written in C, without a signature


def test_an_address_is_no_file_and_only_its_host_is_told():
    with pytest.raises(UsageError, match=r"https://files\.example is an address") as caught:
        parse_spec(
            {
                "format": "panel",
                "question": "Why?",
                "agents": 2,
                "model": "python:m",
                "evidence": [{"file": "https://me:secret@files.example/a.pdf?token=secret"}],
            },
            "spec",
        )
    assert caught.value.code == "spec.evidence_url"
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", ["a b" * 9_999, "https://" + "a" * 9_999], ids=["file", "address"])
def test_a_name_without_end_is_not_told_whole(name):
    fields = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:m"}
    with pytest.raises(UsageError) as caught:
        parse_spec({**fields, "evidence": [name]}, "spec")
    assert len(str(caught.value)) < 600
