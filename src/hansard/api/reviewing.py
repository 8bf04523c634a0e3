"""What people say of a closed debate: reviews, outcomes and holds, signed and recorded.

Each function adds one entry to the record and returns the debate's result as it stands then
(of a gate's own record, the `GateRecord`): `reviewed` says how its review stands, and `released`
whether its decision may be acted on. `debate` is an id, or an unambiguous prefix of one; `store` a
store or its URL. `trust` names the keys whose reviews count. A review may also be signed where
the store is not (`sign_review`), and recorded later (`import_review`). `remands_of` finds what
debated again what a review sent back.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hansard.api.records import of_store, standing_of
from hansard.api.running import opened
from hansard.errors import DataError, is_of_all

if TYPE_CHECKING:
    from hansard.api.records import Record
    from hansard.record.keys import Trust
    from hansard.record.note import Signer
    from hansard.report.formats import DebateResult
    from hansard.report.gated import GateRecord
    from hansard.store.application import Store


def review(
    debate: str,
    outcome: Literal["approved", "conditions", "rejected", "remanded"],
    *,
    store: Store | str,
    reviewer: str,
    signer: Signer,
    trust: Trust,
    comment: str | None = None,
    conditions: Sequence[str] = (),
    head: str | None = None,
) -> DebateResult | GateRecord:
    """Sign a review of a closed debate, over its last entry.

    `reviewer` is the name that is recorded; the key says who signed. With the outcome
    `conditions` each of `conditions` is to be met first, which `note_outcome` notes. To
    reject a decision, or send it back, needs a comment. `head` is the `head` of the record
    that the reviewer read; if anything was added since, nothing is signed.

    Raises UsageError `store.unknown`, `store.ambiguous`, `store.running`; `review.open`,
    `review.untrusted`, `review.involved` and other `review.*` for a review that would not
    count; DataError `record.altered` for a record that does not hold. Nothing is written then.

    >>> from tempfile import TemporaryDirectory
    >>> from hansard import open_keyring, open_store, review, run_sync
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> with TemporaryDirectory() as home, open_store("sqlite:///:memory:") as store:
    ...     keys = open_keyring(home)
    ...     key, trust = keys.signer("reviewer"), keys.trust()
    ...     debate = run_sync(spec, models={"ask": lambda _: "Because."}, store=store).debate
    ...     given = {"store": store, "reviewer": "Ann Lee", "signer": key, "trust": trust}
    ...     review(debate, "approved", **given).reviewed.state
    'approved'
    """
    from hansard.runtime import reviewing
    from hansard.runtime.signed import Said

    said = Said(outcome, reviewer, comment, conditions)
    with opened(store, create=False) as shelf:
        found = shelf.find(debate)
        reviewing.review(found, shelf, said, signer, trust, head)
        return standing_of(shelf, found, trust)


def sign_review(
    record: Record,
    outcome: Literal["approved", "conditions", "rejected", "remanded"],
    *,
    reviewer: str,
    signer: Signer,
    trust: Trust,
    comment: str | None = None,
    conditions: Sequence[str] = (),
) -> bytes:
    """Sign a review away from the store, and return the file that `import_review` takes in.

    `record` is what the reviewer read (`read_export`): the review is over its last entry.
    The other arguments are those of `review`. Nothing is recorded, and no store is needed.

    Raises DataError `record.altered`, and UsageError `review.*` for a review that would
    not count, as far as the export and `trust` tell.

    >>> from tempfile import TemporaryDirectory
    >>> from hansard import open_keyring, open_store, read_record, run_sync, sign_review
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> with TemporaryDirectory() as home, open_store("sqlite:///:memory:") as store:
    ...     keys = open_keyring(home)
    ...     key, trust = keys.signer("reviewer"), keys.trust()
    ...     debate = run_sync(spec, models={"ask": lambda _: "Because."}, store=store).debate
    ...     record = read_record(store, debate)  # the reviewer has it from `read_export`
    ...     file = sign_review(record, "approved", reviewer="Ann Lee", signer=key, trust=trust)
    >>> b"Ann Lee" in file
    True
    """
    from hansard.runtime import carried
    from hansard.runtime.signed import Said

    record.verification.require_ok(f"debate {record.debate[:8]}")
    said = Said(outcome, reviewer, comment, conditions)
    return carried.sign(record.bundle, said, signer, trust).dump()


def import_review(
    debate: str, review: Path | str | bytes, *, store: Store | str, trust: Trust
) -> DebateResult | GateRecord:
    """Record a review that `sign_review` returned: a file, or its bytes.

    The record that it is over may have grown since, but not by an entry of the same key.
    The entry has the time of now, not that of signing, and the key must be in force now.

    Raises what `review` raises; UsageError `input.unreadable`, `review.other` for a review
    of another debate, `review.head`; DataError `review.malformed`, and `review.forged`
    where the signature is not over the review. Nothing is written then.

    >>> from tempfile import TemporaryDirectory
    >>> from hansard import import_review, open_keyring, open_store, read_record, run_sync
    >>> from hansard import sign_review
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> with TemporaryDirectory() as home, open_store("sqlite:///:memory:") as store:
    ...     keys = open_keyring(home)
    ...     key, trust = keys.signer("reviewer"), keys.trust()
    ...     debate = run_sync(spec, models={"ask": lambda _: "Because."}, store=store).debate
    ...     record = read_record(store, debate)
    ...     file = sign_review(record, "approved", reviewer="Ann Lee", signer=key, trust=trust)
    ...     import_review(debate, file, store=store, trust=trust).reviewed.state
    'approved'
    """
    from hansard.api.files import read_file
    from hansard.runtime import carried, reviewing

    data = review if isinstance(review, bytes) else read_file(Path(review), carried.MAX_REVIEW)
    signed = carried.parse(data)
    with opened(store, create=False) as shelf:
        found = shelf.find(debate)
        reviewing.take_in(found, shelf, signed, trust)
        return standing_of(shelf, found, trust)


def note_outcome(
    debate: str,
    label: str,
    *,
    store: Store | str,
    note: str | None = None,
    condition: int | None = None,
    signer: Signer | None = None,
    trust: Trust | None = None,
) -> DebateResult | GateRecord:
    """Note what came of a decision under a `label`, or that a `condition` is met.

    Conditions are numbered from 1 through all reviews, in their order; one is met once
    somebody notes it who may review. Raises what `review` raises, and UsageError
    `review.unsigned` where the policy wants a signature and there is none.

    >>> from hansard import note_outcome, open_store, run_sync
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> with open_store("sqlite:///:memory:") as store:
    ...     debate = run_sync(spec, models={"ask": lambda _: "Because."}, store=store).debate
    ...     noted = note_outcome(debate, "right", store=store, note="It held.")
    >>> noted.reviewed.outcomes[0].note
    'It held.'
    """
    from hansard.rules.looks import require
    from hansard.runtime import reviewing

    require(int, condition=condition)
    with opened(store, create=False) as shelf:
        found = shelf.find(debate)
        reviewing.note_outcome(found, shelf, signer, label=label, note=note, condition=condition)
        return standing_of(shelf, found, trust)


def hold(
    debate: str,
    *,
    store: Store | str,
    lift: bool = False,
    reason: str | None = None,
    signer: Signer | None = None,
    trust: Trust | None = None,
) -> DebateResult | GateRecord:
    """Forbid that anything of a record is deleted, or `lift` that again.

    Raises what `note_outcome` raises, and UsageError `hold.placed` or `hold.none`.

    >>> from hansard import hold, open_store, run_sync
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> with open_store("sqlite:///:memory:") as store:
    ...     debate = run_sync(spec, models={"ask": lambda _: "Because."}, store=store).debate
    ...     held = hold(debate, store=store, reason="Inquiry 14").reviewed.held
    ...     held, hold(debate, store=store, lift=True).reviewed.held
    (True, False)
    """
    from hansard.rules.looks import require
    from hansard.runtime import reviewing

    require(bool, lift=lift)
    with opened(store, create=False) as shelf:
        found = shelf.find(debate)
        reviewing.hold(found, shelf, signer, reason=reason, lift=lift)
        return standing_of(shelf, found, trust)


def remands_of(store: Store, debate: str) -> tuple[str, ...]:
    """Return the ids of the debates of a store that debate again what a review sent back.

    `debate` is the id of the one that was sent back, or an unambiguous prefix of it. They
    are those that `run(…, remand=debate)` opened, in order, whose records hold. Raises
    UsageError `store.unknown` or `store.ambiguous`.

    >>> from hansard import open_store
    >>> with open_store("sqlite:///:memory:") as store:
    ...     remands_of(store, "3f2b")
    Traceback (most recent call last):
    hansard.errors.UsageError: no debate in sqlite:///:memory: has an id that begins with '3f2b'
    """
    debate = store.find(debate)
    return tuple(name for name in store.naming(debate) if _is_remand(store, name, debate))


def _is_remand(store: Store, name: str, debate: str) -> bool:
    try:
        record = of_store(store, name, None)
    except DataError as error:
        if is_of_all(error):
            raise
        return False
    first = record.events[0] if record.verification.ok else None
    origin = first["data"]["origin"] if first and first["type"] == "debate.opened" else None
    return origin is not None and (origin["kind"], origin["debate"]) == ("remand", debate)
