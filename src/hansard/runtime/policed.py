"""Whether a policy allows a debate, before anything is recorded (FORMAT.md §15).

The rules are those by which a verifier reads the record afterwards; only the words are ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import cast

from hansard import vocabulary
from hansard.errors import UsageError, together
from hansard.record.policy import Policy
from hansard.rules import demands
from hansard.rules.data import OpenedData, RegisteredData
from hansard.rules.demands import MOST_NAMED, Breach
from hansard.runtime.opening import Opening, unsalted


def hold(opening: Opening, policy: Policy) -> None:
    """Raise UsageError `policy.not_allowed`, with every point, where the policy is not kept to."""
    points = disallowed(opening, policy)
    if points:
        raise together(UsageError("policy.not_allowed", words) for words in points)


def disallowed(opening: Opening, policy: Policy) -> list[str]:
    """Return in words every point at which a debate is not what the policy allows."""
    return list(dict.fromkeys(_points(opening, policy)))


def _points(opening: Opening, policy: Policy) -> Iterator[str]:
    facts = opening.facts(unsalted({}))
    opened = cast(OpenedData, facts[0].data)
    seats = [cast(RegisteredData, row.data) for row in facts if row.type == "debater.registered"]
    format_ = opened["terms"]["format"]
    approved = policy.approved(format_, opening.templates)
    for role, body in opening.templates.items():
        if (digest := sha256(body).hexdigest()) not in approved[role]:
            yield _said(f"{format_}.{role}", Breach("template", approved[role], digest))
    for breach in demands.of_opening(policy, opened):
        yield _said(format_, breach)
    for seat in seats:
        for breach in demands.of_seat(policy, opened, seat, str):  # a name is the text's hash
            yield _said(f"{format_}.{seat['role']}", breach, seat["id"])
    for place, breach in demands.independence(policy, opened, seats):
        yield _said(f"{format_}.{seats[place]['role']}", breach, seats[place]["id"])


def _said(scope: str, breach: Breach, seat: str = "") -> str:
    """Say what is not allowed, and what is."""
    words = vocabulary.words("policy")
    term = breach.term
    variant = term if term in words else "most" if term.startswith("max_") else "other"
    found = words["unstated"] if breach.found is None else breach.found
    values, more = breach.expected[:MOST_NAMED], breach.expected[MOST_NAMED:]
    allowed = ", ".join([*values, *(["…"] if more else [])]) or words["none"]
    who = f"{scope} ({seat})" if seat else scope
    return vocabulary.fill(words[variant], scope=who, term=term, found=found, allowed=allowed)
