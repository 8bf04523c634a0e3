"""Approving prompts, and believing an approval (FORMAT.md §14, §15)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256

from hansard.errors import DataError
from hansard.record import note
from hansard.record.keys import Trust, who_signed
from hansard.record.note import Signer
from hansard.record.policy import Line, Policy, parse, write


def lines_for(format_: str, templates: Mapping[str, bytes]) -> list[Line]:
    """Return the lines that approve these templates of a format, by role."""
    rows = hashes(templates).items()
    return [Line(f"{format_}.{role}", "template", digest) for role, digest in rows]


def sign(lines: Iterable[Line], signer: Signer) -> bytes:
    """Return a policy of these lines, signed."""
    return note.sign(write(lines), signer)


def hashes(templates: Mapping[str, bytes]) -> dict[str, str]:
    """Return the hash of each template, by role."""
    return {role: sha256(body).hexdigest() for role, body in templates.items()}


def load(data: bytes, trust: Trust, now: str) -> Policy:
    """Return a policy whose approval counts now.

    Raises DataError `policy.malformed`, `policy.forged` where its text is not
    the one that was signed, `policy.untrusted` where no trusted approval
    key in force signed it, or `policy.revoked`.
    """
    policy = parse(data)
    signing = who_signed(policy.note, "approval", trust, now)
    if signing.forged:
        raise DataError("policy.forged", "the policy was altered after it was signed")
    if not signing.trusted:
        raise DataError("policy.untrusted", f"the policy is {signing.words}")
    revoked = trust.revoked_policy(policy.names)
    if revoked is not None and revoked <= now:
        raise DataError(
            "policy.revoked", f"the policy is revoked for debates opened from {revoked} on"
        )
    return policy
