"""A debate that goes back to an earlier one, whose transcript is a document of its evidence.

It is a follow-up, or a remand: a review sent the earlier one back, and the comments of the
reviews that did are documents as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Literal

from hansard import vocabulary
from hansard.errors import SpecWarning, UsageError
from hansard.record import blob
from hansard.record.bundle import Bundle
from hansard.record.keys import Trust
from hansard.record.line import line_hash
from hansard.report import gated
from hansard.report.words import GONE
from hansard.rules.events import parse
from hansard.rules.fields import Blob, Origin
from hansard.rules.formats import AnySpec
from hansard.rules.prompts import PAGE_BREAK
from hansard.rules.replay import policy_of
from hansard.rules.review import last_of, review_of
from hansard.rules.spec_base import MOST_DOCUMENTS
from hansard.rules.spec_parts import Evidence
from hansard.rules.state import DebateState, evolve
from hansard.runtime.files import check_size
from hansard.runtime.session import to_the_caller
from hansard.store.application import Store
from hansard.verify.verifier import verify


@dataclass(frozen=True, slots=True)
class _Earlier:
    """A debate that has ended, whose record holds."""

    debate: str
    bundle: Bundle
    state: DebateState
    texts: Mapping[str, str]
    gone: set[str] = field(default_factory=set)  # texts that a document was to say

    def said(self, text: Blob) -> str:
        """Return a text, or the word for one that was erased."""
        name = text["sha256"]
        if name not in self.texts:
            self.gone.add(name)
        return self.texts.get(name, GONE)

    def require_words(self) -> None:
        """Raise UsageError `origin.erased` where no reply of any turn is left to go on from."""
        replies = {turn.reply["sha256"] for turn in self.state.turns if turn.reply}
        if replies and not replies & self.texts.keys():
            raise UsageError(
                "origin.erased",
                f"all that was said in debate {self.debate[:8]} has been erased, so there is "
                "nothing to go on from; ask the question in a debate of its own",
            )

    def warn(self) -> None:
        """Warn of what was erased: the debate costs as much without it."""
        if self.gone:
            number = vocabulary.many(len(self.gone), "text")
            were, their = ("was", "its") if len(self.gone) == 1 else ("were", "their")
            said = (
                f"{number} of debate {self.debate[:8]} {were} erased: the new debate reads {GONE} "
                f"in {their} place"
            )
            warnings.warn(SpecWarning("origin_erased", said), stacklevel=to_the_caller())

    def transcript(self) -> Evidence:
        """Return the document that says all that was said."""
        text = "\n\n".join(_transcript(self)) + "\n"
        return _document(f"debate-{self.debate[:8]}", "the earlier transcript,", text)

    def comments(self, trust: Trust) -> Iterator[Evidence]:
        """Yield the comment of each review that sends the debate back, as a document.

        Raises UsageError `origin.not_remanded` where its review does not stand so.
        """
        short, policy = self.debate[:8], policy_of(self.state.spec, self.bundle.policies)
        found = review_of(self.state, policy, trust)
        if found.state != "remanded":
            raise UsageError(
                "origin.not_remanded",
                f"debate {short} was not sent back: by the keys that you trust its review is: "
                f"{found.state}; to go on from it all the same, follow it up",
            )
        for row in last_of(found.reviews):
            comment = row.data["comment"]
            if row.data["outcome"] == "remanded" and comment:
                text = f"# Why a review sent debate {self.debate} back\n\n"
                text += f"{self.said(comment)}\n"
                yield _document(f"review-{short}-{row.seq}", "the comment of a review,", text)


def follow(debate: str, spec: AnySpec, store: Store) -> tuple[AnySpec, Origin]:
    """Return the spec with the transcript of `debate` as its last document, and the origin.

    `debate` is an id of the store. Raises DataError `record.altered` for a record
    that does not verify, and UsageError `origin.open` for a debate that has not
    ended, `origin.erased` for one of which nothing that was said is left,
    `spec.duplicate` or `spec.too_many` where the document has no place. Warns
    (`origin_erased`) where some of it was erased.
    """
    earlier = _earlier(debate, store)
    return _going_back("follow_up", earlier, spec, [earlier.transcript()])


def remand(debate: str, spec: AnySpec, store: Store, trust: Trust) -> tuple[AnySpec, Origin]:
    """Return the spec with the transcript of `debate`, and why reviews sent it back.

    Raises what `follow` raises, and UsageError `origin.not_remanded` unless its review,
    by the keys of `trust`, stands so.
    """
    earlier = _earlier(debate, store)
    documents = [earlier.transcript(), *earlier.comments(trust)]
    return _going_back("remand", earlier, spec, documents)


def _earlier(debate: str, store: Store) -> _Earlier:
    bundle = store.bundle(debate)
    verify(bundle).require_ok(f"debate {debate}", "no debate was opened; restore the store")
    events = [parse(line) for line in bundle.lines]
    gated.refuse(events)
    state = reduce(evolve, events, DebateState())
    if not state.closed:
        raise UsageError(
            "origin.open",
            f"debate {debate} has not ended; end it first with `hansard resume {debate[:8]}`",
        )
    texts = {found: blob.unpack(file) for found, file in bundle.blobs.items()}
    earlier = _Earlier(debate, bundle, state, texts)
    earlier.require_words()
    return earlier


def _going_back(
    kind: Literal["follow_up", "remand"],
    earlier: _Earlier,
    spec: AnySpec,
    documents: list[Evidence],
) -> tuple[AnySpec, Origin]:
    taken = {row.id for row in spec.evidence} & {row.id for row in documents}
    if taken:
        raise UsageError(
            "spec.duplicate",
            f"evidence id {min(taken)} is that of a document of the earlier debate; use another",
        )
    more = len(spec.evidence) + len(documents) - MOST_DOCUMENTS
    if more > 0:
        raise UsageError(
            "spec.too_many",
            f"with what comes from the earlier debate there are more than {MOST_DOCUMENTS:,} "
            f"documents; remove {more}",
        )
    earlier.warn()
    head = line_hash(earlier.bundle.lines[-1])
    origin: Origin = {"kind": kind, "debate": earlier.debate, "head": head, "seq": None}
    return spec.model_copy(update={"evidence": [*spec.evidence, *documents]}), origin


def _document(name: str, what: str, text: str) -> Evidence:
    check_size(text.encode(), f"evidence {name}, {what}", "document")
    return Evidence(id=name, text=text)


def _transcript(earlier: _Earlier) -> Iterator[str]:
    """Yield the question, how it ended, and every turn in order, as Markdown; replies indented."""
    state = earlier.state
    closed, decision = state.closed, state.decision
    yield f"# Transcript of debate {state.debate}"
    yield f"Question: {indented(earlier.said(state.spec['question']))}"
    if closed:
        yield f"Outcome: {closed['outcome']} ({closed['reason']})"
    if decision:
        yield f"Decision: {decision['decision']} ({decision['rule']})"
    for seat in state.seats.values():
        if seat["stance"]:
            words = earlier.said(seat["stance"]["text"])
            yield f"Stance {seat['stance']['label']}, of {seat['id']}: {indented(words)}"
    for turn in state.turns:
        data = turn.data
        yield f"## {data['speaker']}, {turn.role}, round {data['round']}, {data['phase']}"
        yield f"    {indented(earlier.said(turn.reply))}" if turn.reply else "No reply."


def indented(text: str) -> str:
    r"""Indent what somebody said, so that no line of it begins as one of the transcript's own does.

    A line begins after a page break, too, in a prompt. White space is folded where a quote is
    looked up, so that it is found all the same.

    >>> indented("one\ntwo\fthree")
    'one\n    two\n    three'
    """
    return text.replace(PAGE_BREAK, "\n").replace("\n", "\n    ")
