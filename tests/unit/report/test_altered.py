"""What is said of an alteration: what the record says, what follows, and what rests on it."""

import io

import pytest
from rich.console import Console

from hansard import vocabulary
from hansard.cli.verifying import _print_finding
from hansard.report.altered import in_words
from hansard.verify.findings import Finding
from kit import ROWS

CODES = sorted({row.expected.code for row in ROWS.values() if row.expected.code})


@pytest.mark.parametrize("code", CODES)
def test_each_code_of_the_kit_has_a_sentence_with_its_place_and_what_rests_on_it(code):
    check = vocabulary.checks()[int(code.partition(".")[0])]
    defect = code.partition(".")[2]
    row = Finding(code=code, seq=14, message="This is wrong", expected="a", found="b")
    said = in_words(row)
    what, _, rests = said.partition("; ")
    assert rests in {check["altered"]["rests"]} | {
        own["rests"] for own in check["altered"].get("own", {}).values() if "rests" in own
    }
    own = check["altered"].get("own", {}).get(defect, {})
    if "says" in own or ("says" in check["altered"] and defect not in check["findings"]):
        assert "“a”" in what
        assert "“b”" in what
    else:
        assert what == "This is wrong"
    out = io.StringIO()
    _print_finding(Console(file=out, width=1000), row)
    assert f"entry 14  {code}  {said}\n" in out.getvalue()


@pytest.mark.parametrize(
    ("found", "expected", "said"),
    [
        ("revise", "escalate", "The record says “revise”, the reply says “escalate”"),
        ("revise", None, "The record says “revise”, the reply says nothing"),
        ("a” or “b", "c", "The record says “a’ or ‘b”, the reply says “c”"),
        ("\x1b[2J\u202e", "c", "The record says “<U+001B>[2J<U+202E>”, the reply says “c”"),
        ("x" * 81, "c", "`vote` is not what the reply says"),
        ("a" * 64, "c", "`vote` is not what the reply says"),
        ([], [2, 3], "The record says nothing, the reply says 2, 3"),
        ([{"o": "a", "v": 2}], ["c"], "The record says “a” 2, the reply says “c”"),
        ([{"o": "a", "v": ["b"]}], ["c"], "`vote` is not what the reply says"),
        ([["a"]], "c", "`vote` is not what the reply says"),
        (["x" * 30] * 3, "c", "`vote` is not what the reply says"),
        ({"a": 1}, "c", "`vote` is not what the reply says"),
        (None, None, "`vote` is not what the reply says"),
    ],
)
def test_what_is_short_is_said_and_what_is_not_stands_behind(found, expected, said):
    message = vocabulary.finding("12.vote")
    row = Finding(code="12.vote", seq=1, message=message, expected=expected, found=found)
    rests = "votes, counts and the decision after it rest on this"
    assert in_words(row) == f"{said}; {rests}"


def test_a_field_is_named_numbers_and_truths_are_said():
    of = {"seq": 1, "message": "so"}
    rating = Finding(code="12.rating", expected=4, found=8, **of)
    assert in_words(rating).startswith("For rating the record says 8, the reply says 4; ")
    cost = Finding(code="15.cost_micro_usd", expected=1, found=2, **of)
    assert in_words(cost).startswith("For cost in millionths of a US dollar the record says 2, ")
    again = Finding(code="9.sent_as_rendered", expected=None, found=True, **of)
    told = "For sent as rendered the record says yes, the debate rules give nothing; "
    assert in_words(again).startswith(told)
