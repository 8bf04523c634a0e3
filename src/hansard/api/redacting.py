"""Erasing texts of a closed debate, so that every hash, signature and proof still holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hansard.api.records import standing_of
from hansard.api.running import opened

if TYPE_CHECKING:
    from hansard.record.keys import Trust
    from hansard.record.note import Signer
    from hansard.report.formats import DebateResult
    from hansard.report.gated import GateRecord
    from hansard.runtime.redacting import Erasure
    from hansard.store.application import Store


def preview_redaction(
    debate: str, texts: Sequence[str], *, store: Store | str, keep: Sequence[str] = ()
) -> Erasure:
    """Say what erasing `texts` of a closed debate would mean; nothing is written.

    A text is named by the entry and the field that hold it, as in `12.reply`,
    `1.question` or `2.stance.text`. The `Erasure` lists the other texts that quote it, which
    `redact` wants decided, and `verification` says what verifying the record would say.

    Raises UsageError `store.unknown`, `store.ambiguous`, `review.open`; `redact.held` under a
    hold, `redact.text`, `redact.gone`; DataError `record.altered`.

    >>> from hansard import open_store, preview_redaction, run_sync
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> with open_store("sqlite:///:memory:") as store:
    ...     debate = run_sync(spec, models={"ask": lambda _: "Because."}, store=store).debate
    ...     found = preview_redaction(debate, ["1.question"], store=store)
    >>> [str(text) for text in found.undecided], found.verification.texts.erased
    ([], 1)
    """
    from hansard.runtime import redacting

    with opened(store, create=False) as shelf:
        return redacting.preview(shelf.find(debate), shelf, texts, keep)


def redact(
    debate: str,
    texts: Sequence[str],
    *,
    store: Store | str,
    reason: str,
    basis: str,
    asked_by: str,
    signers: Sequence[Signer],
    trust: Trust,
    keep: Sequence[str] = (),
) -> DebateResult | GateRecord:
    """Erase `texts` of a closed debate from the store, and record that, signed.

    The texts and their salts are gone from the store, and in a store in a file from the disk
    (a PostgreSQL server: tools/docs/operations.md). The record says which they were,
    when, why, on what legal basis, who asked for it, and who signed; every hash, signature and
    proof made before still holds. Of the other texts that quote one of them, each is among
    `texts` or `keep`. `signers` are one to three keys of reviewers or of who approves policies;
    a policy may ask for several (`redactors`). Exports made before keep the texts.

    Raises what `preview_redaction` raises; UsageError `store.running`; `redact.undecided`,
    `redact.signers`, `redact.untrusted`, `redact.words` where a reason says the text again, with
    nothing written; DataError `store.busy` where the texts are out of the record, but another
    process keeps the store's write-ahead log in use.

    >>> from tempfile import TemporaryDirectory
    >>> from hansard import open_keyring, open_store, redact, run_sync
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> said = {"reason": "She asked for it.", "basis": "GDPR, Article 17", "asked_by": "Ann Lee"}
    >>> with TemporaryDirectory() as home, open_store("sqlite:///:memory:") as store:
    ...     keys = open_keyring(home)
    ...     said |= {"signers": [keys.signer("reviewer")], "trust": keys.trust()}
    ...     debate = run_sync(spec, models={"ask": lambda _: "Because."}, store=store).debate
    ...     result = redact(debate, ["1.question"], store=store, **said)
    >>> result.question, [row.field for row in result.reviewed.erased]
    (None, ['question'])
    """
    from hansard.runtime import redacting

    words = redacting.Words(reason, basis, asked_by)
    with opened(store, create=False) as shelf:
        found = shelf.find(debate)
        redacting.redact(found, shelf, texts, words, signers, trust, keep)
        return standing_of(shelf, found, trust)
