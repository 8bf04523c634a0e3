"""A follow-up: where it comes from, and the earlier debate's transcript as a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce

from hansard.errors import UsageError
from hansard.record import blob
from hansard.record.line import line_hash
from hansard.report import gated
from hansard.rules.events import parse
from hansard.rules.fields import Origin
from hansard.rules.formats import AnySpec
from hansard.rules.spec_base import MOST_DOCUMENTS
from hansard.rules.spec_parts import Evidence
from hansard.rules.state import DebateState, evolve
from hansard.runtime.files import check_size
from hansard.store.application import Store
from hansard.verify.verifier import verify


def follow(debate: str, spec: AnySpec, store: Store) -> tuple[AnySpec, Origin]:
    """Return the spec with the transcript of `debate` as its last document, and the origin.

    `debate` is an id of the store. Raises DataError `record.altered` for a record
    that does not verify, and UsageError `origin.open` for a debate that has not
    ended, `spec.duplicate` or `spec.too_many` where the document has no place.
    """
    bundle = store.bundle(debate)
    verify(bundle).require_ok(f"debate {debate}", "no follow-up was opened; restore the store")
    events = [parse(line) for line in bundle.lines]
    gated.refuse(events)
    state = reduce(evolve, events, DebateState())
    if not state.closed:
        raise UsageError(
            "origin.open",
            f"debate {debate} has not ended; end it first with `hansard resume {debate[:8]}`",
        )
    name = f"debate-{debate[:8]}"
    if name in {row.id for row in spec.evidence}:
        raise UsageError(
            "spec.duplicate", f"evidence id {name} is that of the earlier transcript; use another"
        )
    if len(spec.evidence) >= MOST_DOCUMENTS:
        raise UsageError(
            "spec.too_many",
            f"with the earlier transcript there are more than {MOST_DOCUMENTS:,} documents; "
            "remove one",
        )
    texts = {found: blob.unpack(file) for found, file in bundle.blobs.items()}
    text = "\n\n".join(_transcript(state, texts)) + "\n"
    check_size(text.encode(), f"evidence {name}, the earlier transcript,", "document")
    document = Evidence(id=name, text=text)
    head = line_hash(bundle.lines[-1])
    origin: Origin = {"kind": "follow_up", "debate": debate, "head": head, "seq": None}
    return spec.model_copy(update={"evidence": [*spec.evidence, document]}), origin


def _transcript(state: DebateState, texts: Mapping[str, str]) -> Iterator[str]:
    """Yield the question, how it ended, and every turn in order, as Markdown."""
    closed, decision = state.closed, state.decision
    yield f"# Transcript of debate {state.debate}"
    yield f"Question: {texts[state.spec['question']['sha256']]}"
    if closed:
        yield f"Outcome: {closed['outcome']} ({closed['reason']})"
    if decision:
        yield f"Decision: {decision['decision']} ({decision['rule']})"
    for seat in state.seats.values():
        if seat["stance"]:
            words = texts[seat["stance"]["text"]["sha256"]]
            yield f"Stance {seat['stance']['label']}, of {seat['id']}: {words}"
    for turn in state.turns:
        data = turn.data
        yield f"## {data['speaker']}, {turn.role}, round {data['round']}, {data['phase']}"
        yield texts[turn.reply["sha256"]] if turn.reply else "No reply."
