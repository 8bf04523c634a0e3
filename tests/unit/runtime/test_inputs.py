"""What a user wrote is read whole and strictly, or refused in one sentence with a code."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import ValidationError

import playing
from formats import FORMATS
from hansard.api.specs import located, read_spec
from hansard.errors import UsageError
from hansard.rules.formats import SPECS, ConsensusSpec
from hansard.runtime import inputs
from hansard.runtime.files import Files

SPEC = """\
question: Do we release?
debaters:
  - {id: a, model: "python:m"}
  - {id: b, model: "python:m"}
options: [release, revise]
threshold: 2
max_rounds: 1
"""


@pytest.fixture
def write(tmp_path):
    def write(text, name="spec.yaml"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def refused(function, *args):
    """Return the error; each mistake in it must be one sentence."""
    with pytest.raises(UsageError) as caught:
        function(*args)
    mistakes = (caught.value, *caught.value.others)
    for mistake in mistakes:
        assert re.fullmatch(r"[a-z]+\.[a-z_]+", mistake.code)
        assert mistake.sentence
        assert "\n" not in mistake.sentence
        assert "Traceback" not in mistake.sentence
    assert str(caught.value).split("\n") == [mistake.sentence for mistake in mistakes]
    return caught.value


def test_a_spec_is_read_from_yaml_and_json(write):
    from_yaml = read_spec(write(SPEC))
    as_json = from_yaml.model_dump_json(exclude={"evidence"})
    assert read_spec(write(as_json, "spec.json")) == from_yaml


def test_an_alias_stands_for_what_it_names(write):
    text = SPEC.replace('model: "python:m"', "model: &m python:m", 1)
    text = text.replace('model: "python:m"', "model: *m")
    assert read_spec(write(text)) == read_spec(write(SPEC, "same.yaml"))


def test_plain_words_stay_text(write):
    words = "[Yes, no, on, OFF, y, N, 2026-11-21, null_]"
    spec = read_spec(write(SPEC.replace("[release, revise]", words)))
    assert spec.options == ["Yes", "no", "on", "OFF", "y", "N", "2026-11-21", "null_"]


def test_true_and_false_are_no_options(write):
    assert refused(read_spec, write(SPEC.replace("revise", "true"))).code == ("spec.invalid_value")


WRONG = {
    "duplicate key": (SPEC + "threshold: 1\n", "spec.yaml", "is given twice"),
    "duplicate key below": (
        SPEC.replace("{id: a,", "{id: a, id: c,"),
        "spec.yaml",
        "line 3",
    ),
    "key is a list": ("? [a]\n: b\n", "spec.yaml", "is not a name"),
    "key is a mapping": ("{{a: b}: c}", "spec.yaml", "is not a name"),
    "key is a float": ("1.5: a\n", "spec.unknown_field", "1.5"),
    "broken": ("question: [", "spec.yaml", "spec.yaml, line"),
    "control characters": ("question: \x07", "spec.yaml", "spec.yaml"),
    "a tag that makes objects": ("!!python/object/apply:os.system [ls]", "spec.yaml", "line 1"),
    "a merge key": ("a: &a {b: c}\nd:\n  <<: *a\n", "spec.yaml", "spec.yaml"),
    "a number too long to read": (f"threshold: {'9' * 5000}", "spec.yaml", "spec.yaml"),
    "a hexadecimal nothing": (
        SPEC.replace("threshold: 2", "threshold: 0x_"),
        "spec.invalid_value",
        "threshold",
    ),
    "a number that is none": ("threshold: !!int x", "spec.yaml", "spec.yaml"),
    "nested too deeply": ("[" * 2000, "spec.yaml", "nests too deeply"),
    "aliases that expand": (
        f"a: &a [{'x, ' * 200}]\nb: &b [{'*a, ' * 200}]\nc: [{'*b, ' * 200}]\n",
        "spec.yaml",
        "more than 50,000 values",
    ),
    "mappings that expand": (
        "a: &a {" + "".join(f"k{n}: x, " for n in range(200)) + "}\n"
        f"b: &b [{'*a, ' * 200}]\nc: [{'*b, ' * 200}]\n",
        "spec.yaml",
        "more than 50,000 values",
    ),
    "a list that holds itself": (f"a: &a [{'*a, ' * 1000}]", "spec.yaml", "alias"),
    "a list": ("- a\n", "spec.yaml", "expected a mapping"),
    "a text": ("just words", "spec.yaml", "expected a mapping"),
    "nothing": ("", "spec.yaml", "expected a mapping"),
    "unknown field": (SPEC + "jury: 3\n", "spec.unknown_field", "jury"),
    "unknown field below": (
        SPEC.replace("{id: a,", "{id: a, mood: bad,"),
        "spec.unknown_field",
        "debaters.0.mood",
    ),
    "missing field": (SPEC.replace("max_rounds: 1\n", ""), "spec.missing_field", "max_rounds"),
    "one debater": (
        SPEC.replace('  - {id: b, model: "python:m"}\n', ""),
        "spec.too_few",
        "debaters",
    ),
    "no options": (SPEC.replace("[release, revise]", "[]"), "spec.too_few", "options"),
    "too many debaters": (
        SPEC.replace(
            "options",
            "".join(f'  - {{id: x{n}, model: "python:m"}}\n' for n in range(99)) + "options",
        ),
        "spec.too_many",
        "debaters",
    ),
    "threshold 0": (SPEC.replace("threshold: 2", "threshold: 0"), "spec.out_of_range", "threshold"),
    "max_rounds 0": (
        SPEC.replace("max_rounds: 1", "max_rounds: 0"),
        "spec.out_of_range",
        "max_rounds",
    ),
    "timeout is no number": (
        SPEC + "timeout_seconds: .nan\n",
        "spec.out_of_range",
        "timeout_seconds",
    ),
    "timeout without end": (
        SPEC + "timeout_seconds: .inf\n",
        "spec.out_of_range",
        "timeout_seconds",
    ),
    "threshold too high": (
        SPEC.replace("threshold: 2", "threshold: 3"),
        "spec.threshold",
        "only 2 debaters",
    ),
    "two of one id": (SPEC.replace("id: b", "id: a"), "spec.duplicate", "seat id a"),
    "unknown model": (SPEC.replace("python:m", "gpt:m", 1), "spec.unknown_model", "gpt:m"),
    "unknown format": ("format: trial\n" + SPEC, "spec.invalid_value", "unknown format 'trial'"),
    "format of another kind": ("format: [a]\n" + SPEC, "spec.invalid_value", "unknown format"),
    "field of another format": (
        SPEC + "judge: {id: j}\n",
        "spec.unknown_field",
        "judge",
    ),
    "two mistakes": (SPEC.replace("max_rounds: 1", "rounds: 1"), "spec.unknown_field", "rounds"),
    "lone surrogate": (
        SPEC.replace("Do we release?", '"\\ud800"'),
        "spec.yaml",
        "line 1",
    ),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_is_named_where_it_is(write, mistake):
    text, code, words = WRONG[mistake]
    error = refused(read_spec, write(text))
    assert error.code == code
    assert words in str(error)
    assert "spec.yaml" in str(error)


def test_all_mistakes_are_told_at_once_an_unknown_field_first(write):
    text = SPEC.replace("max_rounds: 1", "rounds: 1\nlabels: [a b, c]\nrequester: ''")
    error = refused(read_spec, write(text))
    assert [(each.code, each.sentence) for each in (error, *error.others)] == [
        (
            "spec.unknown_field",
            "spec.yaml: rounds: unknown field; did you mean max_rounds?",
        ),
        ("spec.person", "spec.yaml: requester.name: a name is 1 to 200 characters on one line"),
        (
            "spec.invalid_value",
            "spec.yaml: labels.0: use letters, digits and ._:/@+=- only, at most 64 of them",
        ),
        ("spec.missing_field", "spec.yaml: max_rounds: this field is required"),
    ]


def told(write, text):
    error = refused(read_spec, write(text))
    return [(each.code, each.sentence.removeprefix("spec.yaml: ")) for each in mistakes_of(error)]


def mistakes_of(error):
    return (error, *error.others)


OPTIONS = (
    "spec.option",
    "'abstain' cannot be an option: silence is counted under that word; choose another",
)
THRESHOLD = ("spec.threshold", "`threshold` is 9, but there are only 2 debaters; lower it")
SEAT = ("spec.duplicate", "seat id a appears more than once; each must be unique")
TWICE = ("spec.duplicate", "label x appears more than once; each must be unique")
CONTRADICTORY = (
    SPEC.replace("[release, revise]", "[release, abstain]")
    .replace("threshold: 2", "threshold: 9")
    .replace("id: b", "id: a")
) + "labels: [x, x]\n"


def test_mistakes_between_fields_are_told_at_once(write):
    assert told(write, CONTRADICTORY) == [TWICE, OPTIONS, THRESHOLD, SEAT]


def test_mistakes_between_fields_are_told_beside_those_in_fields_that_no_rule_reads(write):
    text = CONTRADICTORY + "seed: -1\nlimits: {call: 1}\nreveiw: Ada\n"
    codes = ["spec.unknown_field", "spec.unknown_field", "spec.out_of_range"]
    found = told(write, text)
    assert [code for code, _ in found[:3]] == codes
    assert found[3:] == [TWICE, OPTIONS, THRESHOLD, SEAT]


def test_what_a_wrong_field_may_have_caused_is_not_told(write):
    text = CONTRADICTORY.replace("threshold: 9", "threshold: much")
    assert [code for code, _ in told(write, text)] == ["spec.invalid_value"]


def test_one_thing_that_two_rules_see_is_told_once(write):
    found = told(write, SPEC.replace('{id: b, model: "python:m"}', "{id: b}") + "model: gpt\n")
    assert [code for code, _ in found] == ["spec.unknown_model"]


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("options", ["release"], "list at least 2, not 1"),
        ("labels", ["x"] * 21, "list at most 20, not 21"),
        ("attempts", 0, "this must be at least 1"),
        ("attempts", 101, "this must be at most 100"),
        ("timeout_seconds", 0, "this must be more than 0.0"),
        ("timeout_seconds", "soon", "this must be a number, such as 0.5"),
        ("question", "", "this is too short: write 1 or more characters"),
        ("question", 7, "this must be text; in a file, put it in quotes"),
        ("question", "half of one: \ud800", "this is not Unicode: write it in UTF-8"),
        ("attempts", "two", "this must be a whole number, such as 2"),
        ("attempts", 1.5, "this must be a whole number, such as 2"),
        ("leading_call", "perhaps", "this must be true or false"),
        ("layout", "own", "this must be 'shared-prefix' or 'role-first'"),
        ("options", "release", "this must be a list, such as [one, two]"),
        (
            "output_schema",
            3,
            "this must be a JSON Schema, the name of its file, or a pydantic class",
        ),
        ("limits", 3, "this must be fields with their values"),
    ],
)
def test_what_is_wrong_with_a_value_is_said_in_plain_words(field, value, sentence):
    seats = [{"id": name, "model": "python:m"} for name in "ab"]
    spec = {"question": "q", "debaters": seats, "options": ["release", "revise"]}
    with pytest.raises(UsageError) as caught:
        inputs.parse_spec({**spec, "max_rounds": 1, "threshold": 2, field: value}, "spec")
    assert str(caught.value) == f"spec: {field}: {sentence}"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"settings": {"temprature": 1}},
            "settings.temprature: unknown field; did you mean temperature?",
        ),
        ({"limits": {"cost": 1}}, "limits.cost: unknown field; did you mean cost_usd?"),
        (
            {"prices": {"python:m": {"usd": "1"}}},
            "prices.python:m.usd: unknown field; use input, output, cached, cache_write",
        ),
        (
            {"judge": {}},
            "judge: unknown field; judged and panel have it, consensus has not: is `format` right?",
        ),
        ({"reveiw": "Ann"}, "reveiw: unknown field; did you mean review?"),
        ({"nothing_like_it": 1}, "nothing_like_it: unknown field"),
        ({"debaters": ["a", "b"]}, "debaters.0: a seat has fields, such as {id: NAME}"),
        (
            {"evidence": [{"text": "t"}]},
            "evidence.0: a document that is given as text needs an `id`; add one",
        ),
    ],
)
def test_what_is_meant_is_said_also_of_fields_within_fields(fields, sentence):
    seats = [{"id": name, "model": "python:m"} for name in "ab"]
    spec = {"question": "q", "debaters": seats, "options": ["release", "revise"]}
    with pytest.raises(UsageError) as caught:
        inputs.parse_spec({**spec, "max_rounds": 1, "threshold": 2, **fields}, "spec")
    assert caught.value.sentence == f"spec: {sentence}"


def test_a_name_is_no_field_of_a_stance():
    rows = [{"name": "ship", "stance": "Ship."}, {"label": "wait", "stance": "Wait."}]
    with pytest.raises(UsageError) as caught:
        inputs.parse_spec({"format": "judged", "question": "q", "debaters": rows}, "spec")
    said = "use id, model, persona, settings, stance, label"
    assert caught.value.sentence == f"spec: debaters.0.name: unknown field; {said}"


def test_a_panel_is_told_all_that_contradicts_itself_too(write):
    text = (
        "format: panel\nquestion: q\nmodel: 'python:m'\nresolution: pick\n"
        "judge_instructions: Pick.\noptions: [only]\nconvergence_similarity: 2\n"
    )
    codes = [code for code, _ in told(write, text)]
    assert codes == ["spec.out_of_range", "spec.too_few", "spec.judge", "spec.judge"]


@pytest.mark.parametrize("format_", SPECS)
def test_no_rule_reads_a_field_that_is_set_apart(format_):
    """So that a mistake in it hides none between others: whatever stands there, all is well."""
    spec = SPECS[format_]
    assert spec.model_fields.keys() >= spec.APART
    assert all(not spec.model_fields[name].is_required() for name in spec.APART)
    read = set()

    def watched(self, name):
        if name in spec.APART:
            read.add(name)
        return spec.__getattribute__(self, name)

    kind: Any = type("Watched", (spec,), {"__getattribute__": watched})
    kind.model_validate({"question": "q", "model": playing.MODEL, **playing.BASE[format_]})
    assert read == set()


def test_of_very_many_mistakes_the_rest_is_counted(write):
    rows = "".join(f"wrong_{number}: 1\n" for number in range(13))
    error = refused(read_spec, write(SPEC + rows))
    assert len(error.others) == inputs.MOST_MISTAKES - 1
    assert [each.sentence.endswith("(and 3 more)") for each in error.others][-2:] == [False, True]


def test_what_the_caller_gives_stands_in_place_of_the_file_and_is_named_without_it(write):
    path = write(SPEC + "task_type: contract\nlabels: [a]\nowner: {name: Ann, key: a/b}\n")
    spec = located(path, None, {"labels": ["b"], "owner": "Bo"})[0]
    assert (spec.task_type, spec.labels, spec.owner.name, spec.owner.key) == (
        *("contract", ["b"], "Bo", None),
    )
    error = refused(located, path, None, {"task_type": "a b"})
    assert str(error) == "task_type: use letters, digits and ._:/@+=- only, at most 64 of them"


def spec_with(*evidence):
    return ConsensusSpec(
        question="q",
        debaters=[{"id": seat, "model": "python:m"} for seat in "ab"],
        options=["yes", "no"],
        threshold=2,
        max_rounds=2,
        evidence=list(evidence),
    )


def test_evidence_comes_without_mark_with_lf_and_in_nfc(write):
    write(b"\xef\xbb\xbfcafe\xcc\x81\r\none\rtwo\n", "memo.md")
    folder = write("", "x").parent
    (document,) = inputs.read_evidence(spec_with("memo.md"), Files(folder)).evidence
    assert (document.id, document.text) == ("memo", "café\none\ntwo\n")


def test_a_mark_inside_a_text_stays(write):
    folder = write(b"a\xef\xbb\xbfb", "memo.md").parent
    (document,) = inputs.read_evidence(spec_with("memo.md"), Files(folder)).evidence
    assert document.text == "a\ufeffb"


def test_evidence_given_as_text_stays_and_rounds_are_kept(write):
    folder = write("from a file", "memo.md").parent
    given = {"id": "note", "text": "as given"}
    late = {"file": "memo.md", "from_round": 2}
    spec = inputs.read_evidence(spec_with(given, late), Files(folder))
    assert [(row.id, row.text, row.from_round) for row in spec.evidence] == [
        ("note", "as given", 1),
        ("memo", "from a file", 2),
    ]


@pytest.mark.parametrize("text", [b"", b" \n\t\r\n", b"\xef\xbb\xbf"])
def test_empty_evidence_is_refused(write, text):
    folder = write(text, "memo.md").parent
    assert (
        refused(inputs.read_evidence, spec_with("memo.md"), Files(folder)).code
        == "spec.evidence_empty"
    )


def test_missing_evidence_is_refused(tmp_path):
    error = refused(inputs.read_evidence, spec_with("memo.md"), Files(tmp_path))
    assert error.code == "spec.evidence_missing"
    assert "memo.md" in str(error)


def test_own_templates_stand_in_for_packaged_ones(write):
    folder = write("Vote, {{speaker}}!\n", "mine.md").parent
    spec = spec_with().model_copy(update={"prompts": {"debater": "mine.md"}})
    templates = inputs.read_templates(spec, Files(folder))
    assert list(templates) == ["protocol", "block", "again", "debater", "synthesizer"]
    assert templates["debater"] == b"Vote, {{speaker}}!\n"
    assert templates["protocol"] == inputs.packaged("consensus/protocol")


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_has_its_packaged_templates_each_of_which_can_be_replaced(write, format_):
    packaged = inputs.packaged_templates(format_)
    fields = playing.spec_of(format_).TEMPLATES
    assert list(packaged) == list(fields)
    for role, body in packaged.items():
        held = set(re.findall(r"\{\{([a-z_]+)\}\}", body.decode()))
        assert held <= set(fields[role]), role
        names = "".join(f"{{{{{name}}}}} " for name in fields[role])
        folder = write(f"{names}mine\n", "mine.md").parent
        spec = playing.spec_of(format_, prompts={role: "mine.md"})
        assert inputs.read_templates(spec, Files(folder)) == packaged | {
            role: f"{names}mine\n".encode()
        }


@pytest.mark.parametrize("format_", FORMATS)
def test_no_template_of_another_format_is_replaced(format_):
    with pytest.raises(
        ValidationError, match=r"names juror, but .* has no such template; it has protocol"
    ):
        playing.spec_of(format_, prompts={"juror": "mine.md"})


def test_instructions_of_a_panels_own_replace_all_but_how_to_reply(tmp_path):
    packaged = inputs.packaged_templates("panel")
    spec = playing.spec_of("panel", debater_instructions="  Be a {{poet}}. \n")
    templates = inputs.read_templates(spec, Files(tmp_path))
    assert templates["debater"] == (
        b"\nBe a {{poet}}.\n\nReply with your whole answer in plain words, and nothing else.\n"
    )
    assert templates["chooser"].startswith(b"\nBe a {{poet}}.\n\nReply with one JSON object")
    assert b'"choice": "one of: {{options}}"' in templates["chooser"]
    same = [role for role in packaged if templates[role] == packaged[role]]
    assert set(packaged) - set(same) == {"debater", "chooser"}
    spec = playing.spec_of("panel", judge={}, judge_instructions="Be just.")
    templates = inputs.read_templates(spec, Files(tmp_path))
    changed = {role for role in packaged if templates[role] != packaged[role]}
    assert changed == {"judge", "judge_choosing", "judge_picking"}
    assert all(templates[role].startswith(b"\nBe just.\n\nReply with one JSON") for role in changed)


@pytest.mark.parametrize(
    ("role", "line", "most"),
    [("debater", "{{options}}", inputs.MOST_FIELDS), ("block", "x", inputs.MOST_BLOCK)],
)
def test_what_a_template_becomes_in_a_prompt_is_bounded(write, role, line, most):
    """1 MiB of `{{options}}` took 1 GiB, 1 MB before each of 1,000 documents 2.9 GiB."""
    spec = spec_with().model_copy(update={"prompts": {role: "mine.md"}})
    templates = inputs.read_templates(spec, Files(write(line * most, "mine.md").parent))
    assert templates[role] == (line * most).encode()
    folder = write(line * (most + 1), "mine.md").parent
    error = refused(inputs.read_templates, spec, Files(folder))
    assert error.code == "spec.prompt"
    assert error.sentence.startswith(f"a {role} template has at most {most:,} ")


def test_fields_in_instructions_of_a_format_are_bounded_too(tmp_path):
    many = inputs.MOST_FIELDS + 1
    kept = playing.spec_of("panel", debater_instructions="{{poet}}" * many)
    assert b"{{poet}}" * many in inputs.read_templates(kept, Files(tmp_path))["debater"]
    spec = playing.spec_of("panel", debater_instructions="{{options}}" * many)
    assert refused(inputs.read_templates, spec, Files(tmp_path)).code == "spec.prompt"


def test_a_missing_template_is_refused(tmp_path):
    spec = spec_with().model_copy(update={"prompts": {"debater": "mine.md"}})
    assert refused(inputs.read_templates, spec, Files(tmp_path)).code == "spec.prompt_missing"


@pytest.mark.parametrize("text", ["Vote, {{speeker}}!", "{{ speaker }}{{options }} {{x y}}", " \n"])
def test_a_template_with_nothing_in_it_or_a_name_that_is_never_filled_is_refused(write, text):
    folder = write(text, "mine.md").parent
    spec = spec_with().model_copy(update={"prompts": {"debater": "mine.md"}})
    error = refused(inputs.read_templates, spec, Files(folder))
    assert error.code == "spec.prompt"
    assert "{{speaker}}" in str(error)


def test_a_template_is_looked_through_in_one_pass(write):
    """A pattern with two ways to match the same spaces would never come to the end of this."""
    text = f"{{{{speaker}}}}, vote.\n{{{{{' ' * 300_000}\n{{{{a{' ' * 300_000}\n"
    spec = spec_with().model_copy(update={"prompts": {"debater": "mine.md"}})
    read = inputs.read_templates(spec, Files(write(text, "mine.md").parent))
    assert read["debater"] == text.encode()
