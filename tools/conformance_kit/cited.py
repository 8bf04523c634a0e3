"""Critiques that must cite the evidence: what is sent back, and what where a text is gone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from conformance_kit.case import Case, altered, bad, good, group, sound, undue
from conformance_kit.exports import withholding, zip_of
from conformance_kit.moderated import (
    HOLDS,
    INVENTED,
    POSITIONS,
    attacked,
    moderating,
    two_rounds,
    weighed,
)
from conformance_kit.moderated_defects import cased
from conformance_kit.records import Record, Script, fails
from conformance_kit.withheld import kept_back, lost

FIRST, SECOND = (f"r1.critique.critic:{number}" for number in (1, 2))
REPLY, TEXT = (15, "reply"), (7, "text")  # of the first critique, and the document to be cited
LATE = {"id": "late", "text": "The supplier was late twice.", "from_round": 2}


def citing(name: str, script: Script | None = None, **spec: Any) -> Record:
    """Run a debate in which a critique must cite."""
    return moderating(f"cited-{name}", script, require_cited_critique=True, **spec)


@cache
def cited() -> Record:
    """Twenty-four entries: 15 the critique, which cites, 16 its turn."""
    return citing("at-once", {FIRST: attacked(8, [], [INVENTED], [HOLDS])})


@cache
def sent_back() -> Record:
    """Twenty-seven entries: 15 the critique, 16 sent back, 17-18 again with a citation, 19 turn.

    7 is the document.
    """
    return citing("again", {FIRST: attacked(6, [INVENTED], []), SECOND: attacked(7, [HOLDS])})


@cache
def weak_and_uncited() -> Record:
    """The same entries: 16 sent back as weak, 18 the next one, which cites nothing, 19 its turn."""
    return citing("weak", {FIRST: attacked(4, []), SECOND: attacked(7, [])})


@cache
def later() -> Record:
    """The only document comes with round 2: 15 the critique without it, 16 its turn."""
    return citing(
        "later",
        {
            FIRST: attacked(8, []),
            "r1.rebuttal.rebuttal:1": fails("client_error"),
            "r1.moderation.moderator:1": weighed(recommend_another_round=True),
            "r2.critique.critic:1": attacked(8, []),
            "r2.critique.critic:2": attacked(8, [("late", "late twice")]),
        },
        evidence=[LATE],
        max_rounds=2,
    )


@group
def cited_good_cases() -> Iterator[Case]:
    """Critiques that were sent back, or not, as they should be."""
    yield sound(
        "cited-at-once",
        "Citations are required. One of the critique's is verified, which is enough, though "
        "another one is not and an argument has none.",
        cited(),
    )
    yield sound(
        "cited-once-sent-back",
        "No citation of the critique is verified, so it is sent back; the next one cites. The "
        "first rates itself as high as is just not weak.",
        sent_back(),
    )
    yield sound(
        "uncited-though-sent-back",
        "The next critique has no verified citation either, and counts.",
        citing("never", {FIRST: attacked(8, []), SECOND: attacked(8, [INVENTED])}),
    )
    yield sound(
        "uncited-and-no-other",
        "One attempt only: sending a critique back uses up no try. The next call fails, so the "
        "critique that was sent back counts.",
        citing("no-other", {FIRST: attacked(8, []), SECOND: fails("client_error")}, attempts=1),
    )
    yield sound(
        "uncited-after-weak",
        "The critique is weak and cites nothing: it is sent back as weak. The next one cites "
        "nothing, and counts: a critique is sent back once, whatever for.",
        weak_and_uncited(),
    )
    yield sound(
        "weak-after-uncited",
        "A critique is sent back since it cites nothing. The next one is weak, and counts.",
        citing("then-weak", {FIRST: attacked(8, []), SECOND: attacked(2, [])}),
    )
    yield sound(
        "uncited-before-a-document",
        "The only document comes with round 2: the critique of round 1 is not sent back, and that "
        "of round 2 is.",
        later(),
    )
    yield sound(
        "uncited-without-evidence",
        "Citations are required, but there is no document: nothing is sent back.",
        citing("nothing", {FIRST: attacked(8, [])}, evidence=[]),
    )
    yield sound(
        "uncited-and-not-required",
        "Citations are not required: a critique without one counts at once.",
        moderating("uncited", {FIRST: attacked(8, [])}),
    )
    yield sound(
        "uncited-positions",
        "Two positions, with a critique each: each is sent back once.",
        citing(
            "positions",
            {f"r1.critique-{number}.critic:1": attacked(8, []) for number in (1, 2)},
            positions=POSITIONS,
        ),
    )


@group
def cited_bad_cases() -> Iterator[Case]:
    """Checks 9, 11 and 12: critiques that are sent back for want of a citation."""
    base = sent_back()
    rejection = base.event(16)["data"]
    yield undue(
        "cited-and-sent-back",
        16,
        "A critique with a verified citation is sent back as uncited.",
        cited().insert(16, "turn.rejected", {**rejection, "rating": 8}),
    )
    events = base.events
    first = {**events[18]["data"], "call": FIRST}
    yield undue(
        "uncited-and-counted",
        16,
        "A critique without a verified citation counts at once, without being sent back.",
        base.numbered([*events[:15], {**events[18], "data": first}]).pruned(),
    )
    second = {**rejection, "call": SECOND, "rating": 7}
    yield undue(
        "uncited-twice",
        19,
        "A critique is sent back a second time, and cites.",
        base.insert(19, "turn.rejected", second),
    )
    yield undue(
        "uncited-after-weak-sent-back",
        19,
        "A critique that was sent back as weak is sent back as uncited as well.",
        weak_and_uncited().insert(19, "turn.rejected", second),
    )
    yield undue(
        "uncited-sent-back-though-not-required",
        16,
        "A critique is sent back as uncited, and the terms do not require citations.",
        base.terms(require_cited_critique=False),
    )
    yield undue(
        "uncited-sent-back-before-a-document",
        16,
        "A critique of round 1 is sent back as uncited, and the only document comes with round 2.",
        later().insert(16, "turn.rejected", {**rejection, "rating": 8}),
    )
    for key, code, fields, why in (
        ("as-weak", "12.code", {"code": "weak_critique"}, "Its rating is high enough."),
        ("rating", "12.rating", {"rating": 7}, "The critique gave itself 6."),
        ("rating-hidden", "12.rating", {"rating": None}, "The rating has to be named."),
        ("again", "9.again", {"again": False}, "A critique that is sent back is tried again."),
    ):
        yield altered(f"uncited-{key}", code, why, base, 16, **fields)
    yield altered(
        "weak-as-uncited",
        "12.code",
        "A critique is weak and cites nothing: weakness is looked at first.",
        weak_and_uncited(),
        16,
        code="uncited_critique",
    )
    yield altered(
        "uncited-and-not-told",
        "11.prompt",
        "The second prompt is the first one: nothing says that the critique was sent back.",
        base,
        17,
        prompt=base.event(14)["data"]["prompt"],
    )


@group
def cited_withheld_cases() -> Iterator[Case]:
    """Critiques that must cite, where the critique or the document is withheld."""
    base = sent_back()
    rejection = {**base.event(16)["data"], "rating": 8}
    yield kept_back("critique-uncited", "A critique that was sent back is withheld.", base, REPLY)
    yield kept_back("document-to-cite", "The document that must be cited is withheld.", base, TEXT)
    for key, record, why in (
        (
            "sent-back",
            cited().insert(16, "turn.rejected", rejection).until(16),
            "whether the critique cites it is taken as recorded, here that it does not.",
        ),
        (
            "counted",
            cased(cited(), 16, arguments=2),
            "the critique counts as gone, and its turn is taken as recorded.",
        ),
    ):
        files = withholding(record, record.file_of(*TEXT))
        said = f"The document that must be cited is withheld: {why}"
        yield good(f"withheld-document-and-{key}", said, zip_of(files))
    yield lost(
        "document-and-next-critique",
        "12.arguments",
        "The document is withheld. The critique that comes after one was sent back need not cite, "
        "so how many arguments it has is derived.",
        cased(base, 19, arguments=5),
        TEXT,
        19,
    )
    for key, record, text, seq, fields, why in (
        ("uncited-unrated", base, REPLY, 16, {"rating": None}, "The rating has to be named."),
        ("uncited-and-weak", base, REPLY, 16, {"rating": 5}, "5 is weak, which is another code."),
        ("uncited-as-weak", base, REPLY, 16, {"code": "weak_critique"}, "6 is not weak."),
        ("document-uncited-and-weak", base, TEXT, 16, {"rating": 5}, "5 is weak."),
        (
            "uncited-not-required",
            two_rounds(),
            (16, "reply"),
            17,
            {"code": "uncited_critique", "rating": 8},
            "Citations are not required.",
        ),
    ):
        said = f"A text is withheld, and the critique was not sent back for that. {why}"
        yield lost(key, "9.not_due", said, record, text, seq, **fields)
    early = later().insert(16, "turn.rejected", rejection).until(16)
    yield bad(
        "withheld-uncited-before-a-document",
        "9.not_due",
        16,
        "The critique of round 1 is withheld, and was sent back though no document is visible yet.",
        zip_of(withholding(early, early.file_of(*REPLY))),
    )
