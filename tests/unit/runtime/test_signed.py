"""What people say of a closed debate is written once its signature was verified."""

from __future__ import annotations

import pytest

import hansard
from hansard.errors import UsageError
from hansard.record.note import Signer
from playing import BASE, MODEL, answer
from reviewing import ANN, TRUST


class Wrong:
    """A key's private half that signs another text than it is given."""

    def public_key(self):
        return ANN.private.public_key()

    def sign(self, data):
        return ANN.private.sign(data + b"!")


BY = Signer(ANN.name, Wrong())
WHY = {"reason": "She asked.", "basis": "GDPR, Article 17", "asked_by": "Ann Lee"}
SAID = {
    "review": lambda debate, store: hansard.review(
        debate, "approved", store=store, reviewer="Ann", signer=BY, trust=TRUST
    ),
    "outcome": lambda debate, store: hansard.note_outcome(debate, "right", store=store, signer=BY),
    "hold": lambda debate, store: hansard.hold(debate, store=store, signer=BY),
    "erasure": lambda debate, store: hansard.redact(
        debate, ["1.question"], store=store, signers=[BY], trust=TRUST, **WHY
    ),
}


@pytest.mark.parametrize("what", SAID)
def test_a_signature_that_is_none_spoils_no_record(tmp_path, what):
    """No verifier reads an entry whose signature is none, and no entry can be taken back."""
    fields = {"format": "panel", "question": "Shall we?", "model": MODEL, **BASE["panel"]}
    with hansard.open_store(f"sqlite:///{tmp_path}/h.db") as store:
        debate = hansard.run_sync(fields, models={"bot": answer}, store=store).debate
        before = store.bundle(debate)
        with pytest.raises(UsageError) as caught:
            SAID[what](debate, store)
        assert caught.value.code == "signer.wrong"
        assert store.bundle(debate) == before
        assert hansard.verify(store, debate).ok


def test_other_debates_are_searched_for_who_looks_and_not_again_for_who_erases(
    tmp_path, monkeypatch
):
    """Each text is looked for in the whole store, which takes a second a text and gigabyte."""
    fields = {"format": "panel", "question": "Shall we sign?", "model": MODEL, **BASE["panel"]}
    with hansard.open_store(f"sqlite:///{tmp_path}/h.db") as store:
        made = [hansard.run_sync(fields, models={"bot": answer}, store=store) for _ in range(2)]
        debate, other = (each.debate for each in made)
        found = hansard.preview_redaction(debate, ["1.question"], store=store)
        assert found.elsewhere == {other: 1}
        monkeypatch.delattr(hansard.Store, "holding")
        by = [ANN]
        hansard.redact(debate, ["1.question"], store=store, signers=by, trust=TRUST, **WHY)
        assert hansard.verify(store, debate).texts.erased == 1
