"""What a user may write (decisions.md D 1, D 8; formats.md §2)."""

import pytest
from pydantic import ValidationError

from hansard.debate.spec import DebateSpec

SEATS = [{"id": name, "model": "python:m"} for name in ("planner", "critic", "operator")]
SPEC = {
    "question": "Shall we?",
    "debaters": SEATS,
    "options": ["release", "revise"],
    "threshold": 2,
    "max_rounds": 2,
}


def spec(**changes):
    return DebateSpec.model_validate({**SPEC, **changes})


def without(*fields):
    return DebateSpec.model_validate({key: SPEC[key] for key in SPEC if key not in fields})


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
        ({"prompts": {"judge": "x.md"}}, ("literal_error", "prompts.judge.[key]")),
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
        ({"text": "words"}, ("string_pattern_mismatch", "evidence.0.id")),
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


def test_no_two_documents_share_an_id():
    assert refused(spec, evidence=["a/memo.md", "b/memo.md"]) == ("spec.duplicate", "")


def test_a_documents_text_is_nfc_from_here_on():
    made = spec(evidence=[{"id": "memo", "text": "e\u0301"}])
    assert made.evidence[0].text == "\u00e9"
