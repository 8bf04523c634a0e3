"""The gate's factor, held against what became of questions with and without a debate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from hansard.api.listing import caught_up, require_text, time_of
from hansard.errors import UsageError

if TYPE_CHECKING:
    from hansard.record.policy import Policy
    from hansard.report.calibration import Calibration, InForce
    from hansard.store.application import Store
    from hansard.store.projection import Projection

_QUARTER = timedelta(days=92)
_FACTOR = "gate_factor"


def calibrate(
    store: Store,
    *,
    since: str | None = None,
    until: str | None = None,
    task_type: str | None = None,
    policy: Policy | None = None,
    right: Collection[str] = ("right",),
    wrong: Collection[str] = ("wrong",),
) -> Calibration:
    """Return what outcomes say of the gate's factor: the threshold above which a debate pays.

    Compared are the debates that were opened with a gate's answer and the gates' answers that no
    debate followed, as far as `note_outcome` noted under one of the labels `right` or `wrong`
    how they turned out; the last such label counts, signed or not, with whatever key. `since` and
    `until` are times of the opening, as in `list_debates`. A factor is `proposed` only if each
    arm has 20 of them and an exact test says with p below 0.1 that debates were right more often.
    The factor in force is that of `policy`, or of the policy of this store that was used last and
    names one.

    Scripted debates and records that do not hold do not count. What is said of a record was taken
    from it when it last changed, and it held then: before a policy is made of it, call
    `rebuild_projection`, as `hansard calibrate -o` does, for somebody who can write to the store
    may have changed a record since, or what was taken. Raises UsageError `list.time`,
    `calibrate.labels`, and DataError where the store cannot be read.

    >>> from hansard import ask_gate, note_outcome, open_store
    >>> spec = {"format": "panel", "question": "Do we sign?", "model": "python:ask"}
    >>> with open_store("sqlite:///:memory:") as store:
    ...     asked = ask_gate(spec, confidence="0.9", store=store)
    ...     _ = note_outcome(asked.debate, "wrong", store=store)
    ...     found = calibrate(store)
    >>> found.result, found.factor, found.bands[3].undebated.n
    ('too few to tell', 50, 1)
    """
    from hansard.report.calibration import Gated, calibration

    if not (right and wrong) or {*right} & {*wrong}:
        said = "name at least one label for each of right and wrong, and none for both"
        raise UsageError("calibrate.labels", said)
    asked = {"since": since, "until": until, "task_type": task_type}
    wanted = {name: value for name, value in asked.items() if value is not None}
    for name in ("since", "until"):
        if name in wanted:
            time_of(name, wanted[name])
    if task_type is not None:
        require_text("task_type", task_type)
    rows = caught_up(store)
    answers = [Gated(*row) for row in rows.gated(wanted)]
    in_force = _in_force(rows, policy or _policy(store, rows))
    return calibration(answers, in_force, {*right}, {*wrong}, rows.sums(wanted).bad, **asked)


def draft_calibrated(store: Store, found: Calibration, policy: Policy | None = None) -> str:
    """Return a policy with the factor that was proposed, in YAML, to be read and signed.

    It has all lines of `policy`, by default of the policy in force. Where there is none it is
    what `draft_policy` gives for the format that was debated most. Raises UsageError
    `calibrate.nothing` where nothing is proposed.

    >>> from hansard import calibrate, draft_calibrated, open_store
    >>> with open_store("sqlite:///:memory:") as store:
    ...     draft_calibrated(store, calibrate(store))
    Traceback (most recent call last):
    hansard.errors.UsageError: nothing is proposed (too few to tell), so there is no policy to draft
    """
    from hansard.api.specs import prompt_templates
    from hansard.governance.approval import hashes
    from hansard.governance.drafting import revised, strict

    if found.proposed is None:
        said = f"nothing is proposed ({found.result}), so there is no policy to draft"
        raise UsageError("calibrate.nothing", said)
    rows = caught_up(store)
    policy = policy or _policy(store, rows)
    if policy:
        draft = revised(policy.lines, _FACTOR, str(found.proposed))
    else:
        formats = Counter(str(row[1]) for row in rows.gated({}) if row[0])
        most = formats.most_common(1)[0][0]
        draft = strict(most, hashes(prompt_templates(format=most)), found.proposed)
    return f"# {_FACTOR} {found.proposed} in place of {found.factor}: {found.evidence}.\n{draft}"


def _policy(store: Store, rows: Projection) -> Policy | None:
    """Return the policy that was used last of those that name a factor."""
    from hansard.record.policy import parse

    for name, debate, _ in rows.policies():
        data = store.bundle(debate).policies.get(name)
        policy = parse(data) if data else None
        if not policy or policy.hash != name:  # it was changed after its row was made
            continue
        if any(line.term == _FACTOR for line in policy.lines):
            return policy
    return None


def _in_force(rows: Projection, policy: Policy | None) -> InForce:
    """Return the factor of a policy, and since when it has been used."""
    from hansard.report.calibration import InForce
    from hansard.rules.gate import FACTOR
    from hansard.runtime.clock import Clock, spelled

    if policy is None:
        return InForce(FACTOR)
    used = next((at for name, _, at in rows.policies() if name == policy.hash), None)
    known = [line.value for line in policy.lines if line.term == _FACTOR]
    due = used is None or used < spelled(datetime.fromisoformat(Clock().now()) - _QUARTER)
    return InForce(int(known[0]) if known else FACTOR, policy.hash, used, due)
