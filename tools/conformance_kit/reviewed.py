"""Checks 18 and 19: how many reviews are required, and whose name counts (§15, §18)."""

from __future__ import annotations

from collections.abc import Iterator

from conformance_kit.case import Case, good, group
from conformance_kit.debates import decided
from conformance_kit.exports import export
from conformance_kit.people import ALWAYS, BOTH, RENAMED, TWO, involving, review, trusting, wanting


@group
def reviewed_cases() -> Iterator[Case]:
    """Reviews that are enough, and reviewers that no name gives away."""
    yield good(
        "review-one-of-two-not-required",
        f"The policy says: {BOTH}. But no review of this debate is required, so that one "
        "approval is enough.",
        export(review(wanting(decided(), BOTH))),
        TWO,
    )
    strict = "* reviewer_may_be nobody_involved"
    yield good(
        "review-by-the-owner-renamed",
        "Nobody involved may review. The owner's key signs under another name: the policy is "
        "compared with the names alone; the review does not count, as the trust file tells.",
        export(review(wanting(involving("owner"), ALWAYS, strict), by=RENAMED)),
        trusting(RENAMED),
    )
