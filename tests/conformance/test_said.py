"""What is said beside the first finding, which is all that the kit compares.

FORMAT.md settles the words after the verdict (§16) and the states of checks (§10, §14, §18).
That all verifiers say the same of a case is tested elsewhere; here, that it is the right thing.
"""

import json

import pytest

import verify
from kit import case

WALKED = range(9, 17)
UNCHECKED = dict.fromkeys(WALKED, "unchecked")
AFTER_NOT_DUE = {9: "fail", **dict.fromkeys(WALKED[1:], "unchecked")}
GONE = dict.fromkeys((12, 13, 14, 16), "unchecked")
WAITING = "review: waiting"
IN_LINE_4 = "register: line 4 of 5, other lines not checked"
# The case, the words after its verdict, and the checks that do not pass.
SAID = {
    # A reviewer's key is in force at the time of the review, and not at that of the opening.
    "review-from-its-time": ([], {}),
    "review-before-its-time": ([WAITING], {19: "unchecked"}),
    "review-after-its-time": ([WAITING], {19: "unchecked"}),
    # Two approvals are required only where a review is.
    "review-one-of-two": (["review: partly"], {}),
    "review-one-of-two-not-required": ([], {}),
    # The owner reviews under another name.
    "review-by-the-owner-renamed": ([WAITING], {19: "unchecked"}),
    # Check 3 passes only where trusted keys signed all that it looks at.
    "nobody-trusted_fail": ([], {3: "unchecked"}),
    "signer-unknown_fail": ([], {3: "unchecked"}),
    "manifest-missing_fail": ([], {2: "fail", 3: "unchecked"}),
    "note-no-signature_fail": ([], {2: "fail", 3: "unchecked"}),
    "note-with-a-cosignature_fail": ([], {2: "fail", 3: "unchecked"}),
    # A note whose text is no list of files is still signed.
    "manifest-unsorted_fail": ([], {2: "fail"}),
    "manifest-not-utf-8_fail": ([], {2: "fail"}),
    "chain-empty_fail": ([], {3: "unchecked", 5: "fail", **UNCHECKED}),
    # An entry that cannot be read, and one that is not due.
    "policy-before-a-rejected-line_fail": ([], {4: "fail", **UNCHECKED, 18: "unchecked"}),
    "review-before-a-rejected-line_fail": ([], {4: "fail", **UNCHECKED, 19: "unchecked"}),
    "outcome-before-a-rejected-line_fail": ([], {4: "fail", **UNCHECKED, 20: "unchecked"}),
    "review-before-what-is-not-due_fail": ([], {**AFTER_NOT_DUE, 19: "fail"}),
    "outcome-before-what-is-not-due_fail": ([], {**AFTER_NOT_DUE, 20: "fail"}),
    "after-hold-twice_fail": ([], {**AFTER_NOT_DUE, 20: "unchecked"}),
    "policy-before-what-is-not-due_fail": ([], {**AFTER_NOT_DUE, 18: "fail"}),
    # How many texts are there, of those that the entries before a rejected one name.
    "text-missing-before-a-rejected-line_fail": (
        ["2 of 3 texts present, 1 missing"],
        {4: "fail", 8: "fail", **UNCHECKED},
    ),
    "reply-too-large-before-a-rejected-line_fail": (
        ["3 of 4 texts present, 1 damaged"],
        {4: "fail", **UNCHECKED, 12: "fail"},
    ),
    "salt-twice-in-one-line_fail": (["1 of 3 texts present, 2 damaged"], {8: "fail"}),
    # The lines of a register are compared only with a record that can be read to its end.
    "register-of-a-record-that-cannot-be-read_fail": (
        [],
        {7: "fail", **UNCHECKED, 17: "unchecked"},
    ),
    "register-first-and-latest-line": ([IN_LINE_4], {}),
    "register-cosigned-by-enough": ([IN_LINE_4], {}),
    "register-log-unknown_fail": ([IN_LINE_4], {3: "unchecked"}),
    "register-origin-another_fail": ([IN_LINE_4], {3: "unchecked"}),
    "register-proof-empty_fail": ([], {17: "fail"}),
    # Of all turns, forfeited ones too.
    "withheld-beside-a-forfeit": (
        ["4 of 5 texts present, 1 withheld", "1 of 2 turns unchecked"],
        GONE,
    ),
}


IN_NONE = "register not checked"  # said of every record without proofs of its place in one


@pytest.mark.parametrize("name", SAID)
def test_what_is_said_beside_the_findings(name, capsys):
    row = case(name)
    verify.main([str(row.export), "--trust", str(row.trust), "--json"])
    document = json.loads(capsys.readouterr().out)
    states = {each["number"]: each["status"] for each in document["checks"]}
    said = [words for words in document["caveats"] if words != IN_NONE]
    assert (said, {key: states[key] for key in states if states[key] != "pass"}) == (SAID[name])


def test_an_entry_has_one_finding_of_check_7(capsys):
    row = case("event-two-defects_fail")
    verify.main([str(row.export), "--trust", str(row.trust), "--json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [(each["code"], each["seq"]) for each in found] == [("7.schema", 12)]
