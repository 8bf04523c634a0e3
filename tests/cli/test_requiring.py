"""`verify --require-policy`: both verifiers, on cases of the kit."""

import pytest

from exporting import run_tool
from kit import case

REQUIRED = "a policy, and that the record was compared with all of it (checks 10 and 18)\n"
CASES = {
    "approved-prompts": (0, ""),
    "decided-by-two-of-three": (1, REQUIRED),  # it names none
    "policy-texts-withheld": (1, REQUIRED),  # nobody can compare them
    "policy-served-withheld": (1, REQUIRED),
    "vote-altered_fail": (1, ""),  # that it was altered is said already
}


@pytest.mark.parametrize("name", CASES)
def test_a_record_without_a_policy_or_not_compared_with_all_of_it_is_not_enough(hansard, name):
    export, trust = str(case(name).export), str(case(name).trust)
    words = (export, "--trust", trust)
    code, said = CASES[name]
    for more in ((), ("--json",)):
        done = hansard("verify", *words, "--require-policy", *more)
        assert (done.code, done.err) == (code, said and f"Required: {said}")
        told = run_tool(*words, "--require-policy", *more)
        assert (told[0], told[2]) == (code, said and f"verify.py: required: {said}")
        assert hansard("verify", *words, *more).code == (code if name.endswith("_fail") else 0)
