"""Texts that are gone, named or shown otherwise than one may expect (§7 to §10)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from conformance_kit.case import Case, bad, defect, good, group, sound
from conformance_kit.cited import FIRST, citing
from conformance_kit.debates import decided
from conformance_kit.exports import export, withholding, zip_of
from conformance_kit.judged import SEED, arguing
from conformance_kit.limits import MIB, documented
from conformance_kit.moderated import (
    EVIDENCE,
    HOLDS,
    LATER,
    attacked,
    moderating,
    proposed,
    two_rounds,
    weighed,
)
from conformance_kit.moderated_defects import cased
from conformance_kit.panel import drafting
from conformance_kit.records import Record, digest
from hansard.record import blob

LATE = {"id": "late", "text": "The supplier was late twice.", "from_round": 2}
SMILES = "\U0001f600" * 40_000  # 80,000 units of UTF-16


def with_context(record: Record, file: bytes) -> Record:
    """Return a record whose opening has these bytes as its context."""
    changed = record.data(1, context={"sha256": digest(file)})
    return replace(changed, blobs={**record.blobs, digest(file): file})


@group
def gone_cases() -> Iterator[Case]:
    """§10.1: what makes a text gone, and what then is taken as recorded."""
    base = cased(two_rounds(), 14, arguments=7)
    yield defect(
        "reply-of-two-rounds",
        "8.reused",
        28,
        "A proposition is said to be that of the next round as well: it is gone for both, so how "
        "many arguments the first has is taken as recorded.",
        base.data(28, reply=base.event(13)["data"]["reply"]),
    )
    other = {"id": "other", "text": "Nobody cites this."}
    cites = citing("beside", {FIRST: attacked(8, [HOLDS])}, evidence=[other, *EVIDENCE])
    rejection = {
        "step": "r1.critique.critic",
        "call": FIRST,
        "code": "uncited_critique",
        "member": None,
        "keyword": None,
        "rating": 8,
        "again": True,
    }
    why = (
        "A document is withheld that the critique does not cite; its citation of another one is "
        "verified. It is gone all the same"
    )
    for key, said, record in (
        ("counted", "so its arguments are taken as recorded.", cased(cites, 17, arguments=2)),
        (
            "sent-back",
            "so that it was sent back is taken as recorded.",
            cites.insert(17, "turn.rejected", rejection).until(17),
        ),
        ("last", "though nothing was recorded after it.", cites.until(16)),
    ):
        yield good(
            f"withheld-document-not-cited-{key}",
            f"{why}, {said}",
            zip_of(withholding(record, record.file_of(7, "text"))),
        )


@group
def blob_cases() -> Iterator[Case]:
    """§10: the order in which texts are named, and where a size is found."""
    opened = decided().until(3)
    header = opened.blobs[opened.event(1)["data"]["question"]["sha256"]][: blob.HEADER]
    yield bad(
        "salt-twice-in-one-line",
        "8.salt",
        1,
        "The context is not UTF-8 and has the salt of the question. An entry names its texts in "
        "the order in which they stand in it, so it is the question that has a salt twice.",
        export(with_context(opened, header + b"\xff")),
    )
    large = documented(1, 2 * MIB + 1)
    yield bad(
        "limit-document-and-question",
        "8.size",
        8,
        "The question is too large, which is a finding since it is a document as well, and where "
        "it is admitted.",
        zip_of(export(large.data(1, question=large.event(8)["data"]["text"]).pruned())),
    )


@group
def shown_cases() -> Iterator[Case]:
    """§7, §9: documents and citations in another order, and long answers."""
    yield sound(
        "judged-documents-as-admitted",
        "A document of round 2 was admitted before one of round 1: the judge, who sees all of "
        "them together, sees it first.",
        arguing(
            "as-admitted",
            max_rounds=2,
            seed=SEED,
            evidence=[LATE, {"id": "early", "text": "Rollback takes an hour."}],
        ),
    )
    more: dict[str, Any] = {"recommend_another_round": True}
    yield sound(
        "neutrality-documents-as-admitted",
        "A document of round 2 was admitted before one of round 1, and the neutrality check sees "
        "it first. The citations of the round stand in the order recorded, the turns do not.",
        moderating(
            "as-admitted",
            {
                "r1.moderation.moderator:1": weighed(**more),
                "r2.proposition.proposer:1": proposed([LATER]),
            },
            max_rounds=2,
            neutrality_check=True,
            evidence=[LATE, *EVIDENCE],
        ),
    )
    answers = [f"{SMILES} go now", f"{SMILES} not go"]
    yield sound(
        "panel-characters-are-code-points",
        "Two answers differ, by a negation, after forty thousand characters beyond the first "
        "plane: within the characters that are compared, which are code points.",
        drafting("smiles", [answers, ["ship it", "ship it"]]),
    )
    weakest = {"r1.critique.critic:1": attacked(2, [HOLDS])}
    yield sound(
        "moderated-challenge-below-the-least",
        "The only critique is weaker than `min_challenge_strength`, on which no entry rests: it "
        "challenges.",
        moderating("least", weakest, require_critic_retry_below=1, min_challenge_strength=5),
    )
