"""Reading replies, alike in every verifier: no coercion, nothing guessed (FORMAT.md §5)."""

import pytest

from hansard.rules.formats import consensus
from hansard.rules.replies import Unreadable, many, members, mismatch, named, read, words

BIG = 2**53 - 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a":1}', {"a": 1}),
        ('\t\n\v\f\r {"a":1} \r\f\v\n\t', {"a": 1}),
        ('{\n "a" : [ true , null ]\r\n}', {"a": [True, None]}),
        ('```json\n{"a":1}\n```', {"a": 1}),
        ('```\n{"a":1}\n```', {"a": 1}),
        ('\n ```json\n\n{"a":\n1}\n\n``` \n', {"a": 1}),
        ('"```"', "```"),
        ('```\n"a\\n```"\n```', "a\n```"),
        (f"[{BIG},{-BIG}]", [BIG, -BIG]),
        ('"\\ud83d\\ude00 \\u00e9 \\u0000"', "😀 é \0"),
        ('"häll\u2028o"', "häll\u2028o"),
        ('{"a":1,"A":2}', {"a": 1, "A": 2}),
        ('{"a":{"a":{"a":1}}}', {"a": {"a": {"a": 1}}}),
        ("[" * 32 + "]" * 32, eval("[" * 32 + "]" * 32)),
        ("[" + ",".join(["[[]]"] * 40) + "]", [[[]]] * 40),
        ("[[]," + "[" * 31 + "1" + "]" * 32, [[], eval("[" * 31 + "1" + "]" * 31)]),
        ('"' + "[" * 100 + '"', "[" * 100),
    ],
)
def test_a_readable_reply(text, value):
    assert read(text) == value


def test_a_number_is_not_coerced():
    assert type(read("7.0")) is float
    assert type(read("7e0")) is float
    assert type(read("7")) is int


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "I agree.", "{", "{'a':1}", '{"a":1,}', "[1,]", '{"a":1 // no\n}', "undefined"),
        *("NaN", "[Infinity]", '{"a":-Infinity}'),
        *("01", "+1", "-", "-01", ".5", "1.", "1e", "0x10", "1_000", "١"),
        *(str(BIG + 1), str(-BIG - 1), '{"a":99999999999999999}', "1" * 5000),
        *('{"a":1,"a":1}', '[{"a":1,"b":2,"a":3}]', '{"a":1,"\\u0061":2}'),
        *('"\\ud800"', '"\\ude00\\ud83d"', '["x\\ud83d"]', '{"\\ud800":1}', '{"a":["\\udfff"]}'),
        *('"a\nb"', '"a\tb"', '"a\0b"', '"\\x41"', '"\\u00g0"', '"a'),
        *('{"a":1} and so on', '{"a":1}{"b":2}', 'Sure: {"a":1}', '{"a":1}\n```', "1 2"),
        *("[" * 33 + "]" * 33, '{"a":' * 33 + "1" + "}" * 33, "[[]," + "[" * 32 + "]" * 33),
        # white space that is not ASCII
        *('\ufeff{"a":1}', '\u00a0{"a":1}', '{"a":1}\u2003', '{"a":1}\u0085', '{\u00a0"a":1}'),
        # fences: one, closed, tagged in lower case or not at all
        *('```JSON\n{"a":1}\n```', '```json5\n{"a":1}\n```', '```json {"a":1}\n```'),
        *('``` json\n{"a":1}\n```', '```json\n{"a":1}', '```json\n{"a":1}```', '```{"a":1}```'),
        *('~~~\n{"a":1}\n~~~', '````\n{"a":1}\n````', "```json\n```", "```"),
        *(
            '```\n```json\n{"a":1}\n```\n```',
            'Here:\n```json\n{"a":1}\n```',
            "```json\n1\n```\nSo.",
        ),
        "```json\r\n1\r\n```",
    ],
    ids=lambda text: ascii(text)[:30],
)
def test_an_unreadable_reply(text):
    with pytest.raises(Unreadable):
        read(text)


@pytest.mark.parametrize("depth", [100, 400, 700, 960, 100_000])
@pytest.mark.parametrize(("begin", "end"), [("[", "]"), ('{"a":', "}")])
def test_no_reply_is_too_deep_to_be_refused(depth, begin, end):
    with pytest.raises(Unreadable):
        read(begin * depth + "1" + end * depth)


SCHEMA = consensus.schemas({"options": ["release", "revise"]})["debater"]
FITS = {"stance": "s", "rationale": "r", "vote": "revise"}


def test_a_reply_that_fits_its_schema():
    assert mismatch(FITS, SCHEMA) is None
    assert mismatch({**FITS, "stance": "\u00a0.\u200b"}, SCHEMA) is None


UNSEEN = [
    *(*range(0x09, 0x0E), 0x20, 0xA0, 0xAD, 0x180E, *range(0x2000, 0x2010)),
    *(*range(0x2028, 0x2030), *range(0x205F, 0x2070), 0x3000, 0xFEFF),
]


def test_a_text_says_something_that_can_be_seen():
    nothing = "".join(map(chr, UNSEEN))
    assert mismatch({**FITS, "stance": nothing}, SCHEMA) == ("stance", "minLength")
    assert mismatch(nothing, words()) == ("", "minLength")
    unseen = [code for code in range(0x110000) if mismatch(chr(code), words())]
    assert unseen == UNSEEN


@pytest.mark.parametrize(
    ("value", "found"),
    [
        *[(value, ("", "type")) for value in (None, [], "revise", 1, True, [FITS])],
        ({}, ("stance", "required")),
        ({"stance": 1}, ("rationale", "required")),
        ({"vote": "revise", "stance": "s"}, ("rationale", "required")),
        ({**FITS, "confidence": 1}, ("", "additionalProperties")),
        ({"Stance": "s", "rationale": "r", "vote": "revise"}, ("stance", "required")),
        ({**FITS, "stance": 1}, ("stance", "type")),
        ({**FITS, "rationale": None}, ("rationale", "type")),
        ({**FITS, "vote": True}, ("vote", "type")),
        ({**FITS, "vote": ["revise"]}, ("vote", "type")),
        *[
            ({**FITS, "vote": it}, ("vote", "enum"))
            for it in ("Revise", "revise ", "rev", "abstain")
        ],
        *[({**FITS, "vote": it}, ("vote", "enum")) for it in ("", "not revise", "release|revise")],
        ({**FITS, "stance": ""}, ("stance", "minLength")),
        ({**FITS, "stance": "", "rationale": 1}, ("stance", "minLength")),
        ({**FITS, "rationale": "", "vote": "no"}, ("rationale", "minLength")),
    ],
)
def test_a_reply_that_does_not_fit_is_told_apart_by_member_and_keyword(value, found):
    assert mismatch(value, SCHEMA) == found


def test_what_a_schema_does_not_name_is_left_out_at_every_depth_and_nothing_else_is():
    cited = members(document=words(), quote=words())
    schema = members(thesis=words(), points=many(members(citations=many(cited, 9)), 9))
    value = {
        "model": "m",
        "points": [
            {"citations": [{"quote": 7, "page": 1.5, "document": "a"}, "b"], "score": [1]},
            ["c"],
        ],
        "thesis": {"any": "object"},
    }
    assert named(value, schema) == {
        "points": [{"citations": [{"quote": 7, "document": "a"}, "b"]}, ["c"]],
        "thesis": {"any": "object"},
    }
    assert named("words", words()) == "words"
