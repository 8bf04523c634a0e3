"""Erasing texts of a closed debate: what quotes them, who signs, and what is left (FORMAT.md §18).

The record is verified first. Nothing is erased before somebody has decided on every text that
quotes one of those to be erased, and before enough keys have signed whose word counts. Then the
texts go, with their salts, in the transaction that records it; and what they leave behind in the
store's files goes as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from hansard import vocabulary
from hansard.errors import DataError, UsageError
from hansard.record.bundle import Bundle
from hansard.record.keys import Trust, generate
from hansard.record.note import Signer
from hansard.report.quoting import Quoted, TextAt, quoting
from hansard.rules import after, redactions
from hansard.rules.data import MOST_SIGNERS
from hansard.rules.events import Event, Fact
from hansard.rules.redactions import Redaction
from hansard.rules.review import value_of
from hansard.runtime.clock import CLOCK, Clock
from hansard.runtime.following import indented
from hansard.runtime.recording import Recording
from hansard.runtime.session import taken_up
from hansard.runtime.signed import check_takes, checked, signature
from hansard.store.application import Store
from hansard.verify.findings import REVIEW, Verification
from hansard.verify.verifier import verify
from hansard.vocabulary import fill, many

KIND = after.REDACTED


@dataclass(frozen=True, slots=True)
class Erasure:
    """What erasing the texts `erased` would mean.

    `undecided` are the other texts that quote them, or are the same document, of which
    nobody has said yet whether they go as well; `kept` those that stay. `elsewhere` says of
    other debates of the store how many of their texts hold one of these word for word.
    `verification` is what verifying the record would say afterwards.
    """

    erased: tuple[TextAt, ...]
    undecided: tuple[TextAt, ...]
    kept: tuple[TextAt, ...]
    elsewhere: Mapping[str, int]
    verification: Verification

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Why the checks that would be unchecked would be so, in words; not whose keys count."""
        rows = (row for row in self.verification.checks if row.status == "unchecked")
        return tuple(f"{row.name}: {row.evidence}" for row in rows if row.number < REVIEW)


class Weighed(NamedTuple):
    """The texts that are to be erased, those that quote them and are not decided on, and kept."""

    erased: tuple[TextAt, ...]
    undecided: tuple[TextAt, ...]
    kept: tuple[TextAt, ...]


class Words(NamedTuple):
    """Why a text is erased, on what legal basis, and who asked for it."""

    reason: str
    basis: str
    asked_by: str


def preview(
    debate: str,
    store: Store,
    texts: Sequence[str],
    keep: Sequence[str] = (),
    clock: Clock | None = None,
) -> Erasure:
    """Say what erasing these texts would mean; nothing is written.

    Raises UsageError `store.unknown` or `redact.*`, and DataError `record.altered`.
    """
    bundle, recording = _taken_up(debate, store, clock)
    found = _weighed(recording, texts, keep)
    spelled = [form(row.text) for row in found.erased for form in (str, indented)]
    elsewhere = store.holding(debate, spelled)
    words = Words(*("preview",) * len(Words._fields))
    _record(recording, found.erased, words, [Signer("preview", generate())])
    return Erasure(*found, elsewhere, verify(_after(bundle, recording)))


def redact(
    debate: str,
    store: Store,
    texts: Sequence[str],
    words: Words,
    signers: Sequence[Signer],
    trust: Trust,
    keep: Sequence[str] = (),
    clock: Clock | None = None,
) -> None:
    """Erase texts of a closed debate; `debate` is an id of the store.

    Raises UsageError `store.unknown`, `store.running`, `review.open`, `review.text` or
    `redact.*`, and DataError `record.altered`, with nothing written; and DataError
    `store.busy`, `store.full` and others of the store where all is done, but its files could
    not be written anew: such as while another process still reads an older state of it, which
    the write-ahead log then keeps.
    """
    words = Words(*(checked(name, text) for name, text in zip(Words._fields, words, strict=True)))
    with store.runner(debate):
        _, recording = _taken_up(debate, store, clock)
        found = _weighed(recording, texts, keep)
        if found.undecided:
            raise UsageError(
                "redact.undecided",
                f"{many(len(found.undecided), 'other text')} of debate {debate[:8]} may quote "
                f"what is to be erased: {', '.join(map(str, found.undecided))}; name each to be "
                "erased as well, or to be kept",
            )
        _check_words(found.erased, words)
        _check_signers(recording, signers, trust)
        _record(recording, found.erased, words, signers)
        recording.journal.flush()
    try:
        store.scrub()
    except DataError as error:
        raise DataError(
            error.code,
            "what was to be erased is out of the record, but the store's files still have it: "
            f"{error}; then run `hansard list`, which takes it out of them",
        ) from None


def _taken_up(debate: str, store: Store, clock: Clock | None) -> tuple[Bundle, Recording]:
    bundle, recording = taken_up(debate, store, clock or CLOCK)
    check_takes(recording.state, debate, f"end it first with `hansard resume {debate[:8]}`")
    if after.is_held(recording.state):
        raise UsageError(
            "redact.held",
            f"a hold stands on debate {debate[:8]}, so nothing of it may be erased; lift it "
            f"first with `hansard hold {debate[:8]} --lift`",
        )
    return bundle, recording


def _weighed(recording: Recording, texts: Sequence[str], keep: Sequence[str]) -> Weighed:
    """Find the texts that are meant, and those that quote them."""
    events, held = recording.events, recording.texts
    erased = dict(_found(events, held, name) for name in texts)
    kept = dict(_found(events, held, name) for name in keep)
    if not erased:
        raise UsageError("redact.text", "name the texts to be erased, such as 1.question")
    if both := [str(erased[name]) for name in erased.keys() & kept.keys()]:
        raise UsageError("redact.text", f"{', '.join(both)} cannot be both erased and kept")
    if len(erased) > (room := after.MOST_AFTER - len(recording.state.after)):
        raise UsageError(
            "review.full",
            f"to erase {many(len(erased), 'text')} takes as many entries, and this record has room "
            f"for {room:,} more (at most {after.MOST_AFTER:,} stand after its close): nothing was "
            "erased; name the texts that must go, as in 12.reply",
        )
    others = dict(quoting(events, held, erased))
    undecided = tuple(row for name, row in others.items() if name not in kept)
    return Weighed(tuple(erased.values()), undecided, tuple(kept.values()))


def _found(events: Sequence[Event], held: Mapping[str, str], named: str) -> tuple[str, TextAt]:
    """Return the text that `12.reply` names, with its blob's name."""
    name = redactions.find(events, named)
    if name is None:
        raise UsageError(
            "redact.text", f"{named!r:.80} is no text of the record; write its entry and field, "
            "as in 12.reply or 1.question",
        )  # fmt: skip
    if name not in held:
        raise UsageError("redact.gone", f"the text {named} is not there any more")
    entry, _, field = named.partition(".")
    return name, TextAt(int(entry), field, held[name])


def _check_words(erased: Sequence[TextAt], words: Words) -> None:
    """Refuse words that say again what is to be erased."""
    for row in erased:
        for name, text in words._asdict().items():
            if Quoted(row.text).in_text(text):
                raise UsageError(
                    "redact.words", f"`{name}` would keep what {row} says; say it otherwise"
                )


def _check_signers(recording: Recording, signers: Sequence[Signer], trust: Trust) -> None:
    """Refuse keys whose signature would not count, and fewer than the policy asks for."""
    state, policy = recording.state, recording.policy
    said = state.gated or state.spec
    wanted = int(value_of(said, policy, "redactors") or 1)
    if not wanted <= len(signers) <= MOST_SIGNERS:
        raise UsageError(
            "redact.signers",
            f"a redaction of this debate wants {wanted} to {MOST_SIGNERS} signatures by different "
            f"keys, and there are {len(signers)}",
        )
    if len({signer.key.public for signer in signers}) < len(signers):
        raise UsageError("redact.signers", "one key signs a redaction twice; name another one")
    rows: Any = [{"key": str(signer.key)} for signer in signers]
    entry: Any = {"signatures": rows}
    found = redactions.signing(
        Redaction(state.seq + 1, recording.journal.time(), entry, None, faulty=False),
        said,
        policy,
        trust,
    )
    for key, how in found.keys:
        if how != "trusted":
            why = fill(vocabulary.words("standings")[how], key=key)
            raise UsageError("redact.untrusted", f"this redaction would not count: {why}")


def _record(
    recording: Recording, erased: Sequence[TextAt], words: Words, signers: Sequence[Signer]
) -> None:
    """Add an entry for each text, and take it out of what is kept; nothing is stored yet."""
    journal, by = recording.journal, sorted(signers, key=lambda signer: str(signer.key))
    for row in erased:
        name = dict(redactions.texts_of(recording.events[row.entry - 1]["data"]))[row.field]
        data: dict[str, Any] = {"head": journal.head, "seq": row.entry, "field": row.field}
        data |= {"blob": name} | {key: journal.blob(text) for key, text in words._asdict().items()}
        signed = [signature(KIND, journal.debate, data, signer) for signer in by]
        recording.add(Fact(KIND, {**data, "signatures": signed}))
        journal.erase(name)


def _after(bundle: Bundle, recording: Recording) -> Bundle:
    """Return the record as it would be, with what was not stored."""
    batch = recording.journal.batch()
    gone = batch.extras.erased
    left = {name: file for name, file in bundle.blobs.items() if name not in gone}
    return replace(
        bundle,
        lines=[*bundle.lines, *(line for _, line in batch.lines)],
        blobs={**left, **dict(batch.extras.blobs)},
        head=batch.extras.head,
    )
