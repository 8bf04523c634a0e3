"""Approving a critic's prompt by a recorded trial (RULES.md D 39)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from hansard.errors import DataError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from hansard.api.records import Record
    from hansard.governance.trial import Case, Tried
    from hansard.record.keys import Trust
    from hansard.record.note import Note, Signer
    from hansard.record.policy import Line, Policy


def try_critics(
    lines: Sequence[Line], trial: Iterable[Record] = (), override: str | None = None
) -> list[Tried]:
    """Return what a trial says of each critic's template that a policy of these lines lists.

    Raises UsageError `policy.untried` where a template did not pass and `override` gives
    no reason; `policy.trial` for a trial or a reason that is for nothing; and what
    `approve_policy` says of records.
    """
    return _tried(lines, _cases(trial), override)


def _tried(lines: Sequence[Line], cases: Sequence[Case], override: str | None) -> list[Tried]:
    from hansard.governance import trial as trials

    if override is not None and not override.strip():
        raise UsageError("policy.trial", "the reason for approving a prompt untried is empty")
    found = trials.tried(lines, cases)
    if not found and (cases or override is not None):
        raise UsageError("policy.trial", "the policy lists no critic's template: nothing is tried")
    trials.require(found, override)
    return found


def trial_note(
    signer: Signer, policy: bytes, trial: Iterable[Record] = (), override: str | None = None
) -> bytes | None:
    """Return what a trial showed for a signed policy, as a signed note to be kept beside it.

    None where the policy lists no critic's template. Raises what `try_critics` raises, and
    DataError `policy.malformed`.

    >>> from tempfile import TemporaryDirectory
    >>> from hansard import approve_prompts, open_keyring, trial_note
    >>> with TemporaryDirectory() as home:
    ...     key, why = open_keyring(home).signer("approval"), "a pilot until the trial is done"
    ...     policy = approve_prompts(key, format="moderated", override=why)
    ...     note = trial_note(key, policy, override=why)
    >>> why in note.decode()
    True
    """
    from hansard.governance import trial as trials
    from hansard.record.policy import parse

    read, cases = parse(policy), _cases(trial)
    found = _tried(read.lines, cases, override)
    return trials.protocol(read.hash, found, cases, override, signer) if found else None


def is_trial(path: Path, policy: Policy | None = None) -> bool:
    """Say whether a file holds the trial of this policy, or of any where none is given.

    The signature is not checked.
    """
    return _kept(path, policy) is not None


def doubt_of_trial(path: Path, policy: Policy, trust: Trust) -> str | None:
    """Say why a file does not show the trial of a policy; None where it does."""
    from hansard.record.keys import who_signed
    from hansard.runtime.clock import Clock

    kept = _kept(path, policy)
    if kept is None:
        return "which is not of this policy"
    signing = who_signed(kept, "approval", trust, Clock().now())
    return None if signing.trusted else signing.words


def _kept(path: Path, policy: Policy | None) -> Note | None:
    from hansard.api.files import read_file
    from hansard.governance.trial import policy_of
    from hansard.record import note

    try:
        kept = note.parse(read_file(path))
    except (UsageError, DataError):
        return None
    about = policy_of(kept)
    return kept if about and about == (policy.hash if policy else about) else None


def _cases(trial: Iterable[Record]) -> list[Case]:
    from hansard.governance.trial import case_of
    from hansard.report.formats import ModeratedResult

    cases = []
    for record in trial:
        result = record.result()
        if not isinstance(result, ModeratedResult):
            raise UsageError(
                "trial.format", f"debate {record.debate[:8]} is {result.format}: it has no critic"
            )
        told = [result.question, *(record.text(row.sha256) for row in result.evidence)]
        about = sha256(json.dumps(told).encode()).hexdigest()
        cases.append(case_of(result, record.head, about))
    return cases
