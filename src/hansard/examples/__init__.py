"""Packaged examples: what `hansard init` writes and `hansard demo` runs."""

from typing import NamedTuple


class Example(NamedTuple):
    """An example from practice: its folder here, and what is decided in it."""

    folder: str
    about: str


EXAMPLES = {
    "contract-clause": Example(
        "contract-clause", "a clause is attacked and defended on its agreement, a PDF"
    ),
    "golden-set": Example(
        "golden-set", "twenty contract questions with their answers, for `hansard eval`"
    ),
    "incident-review": Example("panel", "three engineers find the cause of an outage"),
    "release-decision": Example("release-decision", "a judge weighs three ways to release"),
    "research-panel": Example("research-panel", "three reviewers judge a study, and one dissents"),
}
