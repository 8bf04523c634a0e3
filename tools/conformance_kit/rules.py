"""Checks 10 to 16 in the `consensus` format: templates, replies, counts, costs, the outcome."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from conformance_kit.case import Case, bad, group
from conformance_kit.debates import (
    REPLIES,
    by_rounds,
    cached,
    decided,
    escalated,
    priced,
    resumed,
    silenced,
    split,
    troubled,
)
from conformance_kit.exports import ABOUT, export, files_of, seal, withholding
from conformance_kit.records import Files, digest


@group
def rule_cases() -> Iterator[Case]:
    """Checks 10 to 16: templates, prompts, replies, counts, costs and the outcome."""
    base = decided()
    yield from template_cases()
    yield from reply_cases()
    swapped = base.event(5)["data"]["prompt"]
    yield bad(
        "prompt-digest",
        "11.prompt",
        4,
        "The prompt's digest is that of the other seat's prompt.",
        export(base.data(4, prompt=swapped)),
    )
    yield bad(
        "prompt-without-persona",
        "11.prompt",
        4,
        "Ann's persona was taken out of her registration: her prompt is another one then.",
        export(priced().data(2, persona=None).pruned()),
    )
    yield bad(
        "prompt-evidence-early",
        "11.prompt",
        6,
        "A document for round 2 is said to have been visible in round 1.",
        export(by_rounds().data(4, from_round=1)),
    )
    terms = base.event(1)["data"]["terms"]
    yield bad(
        "threshold-of-majority",
        "14.terms",
        1,
        "The rule is `majority`, and the threshold is not what follows from it.",
        export(base.data(1, terms={**terms, "threshold": 1})),
    )
    for key, name, value, why in (
        ("round", "round", 2, "The count is of another round."),
        ("phase", "phase", "critique", "The count is of another phase."),
        (
            "tally",
            "tally",
            [{"option": "a", "votes": 1}, {"option": "b", "votes": 1}],
            "A vote was counted for another option.",
        ),
        (
            "tally-order",
            "tally",
            [{"option": "b", "votes": 0}, {"option": "a", "votes": 2}],
            "The options are not in their declared order.",
        ),
        (
            "tally-short",
            "tally",
            [{"option": "a", "votes": 2}],
            "An option without votes is left out.",
        ),
        ("abstentions", "abstentions", 1, "An abstention is counted that is none."),
        ("threshold", "threshold", 1, "The count is against another threshold."),
        ("reached", "reached", False, "The threshold is reached, and the count denies it."),
    ):
        yield bad(f"count-{key}", f"14.{name}", 10, why, export(base.data(10, **{name: value})))
    yield bad(
        "count-tie-as-reached",
        "14.reached",
        10,
        "Two options have enough votes: a tie is no consensus.",
        export(split().data(10, reached=True)),
    )
    yield bad(
        "count-forfeit-as-vote",
        "14.abstentions",
        17,
        "A debater who forfeited her turn is counted with the vote that she had before.",
        export(
            silenced().data(
                17,
                abstentions=0,
                tally=[{"option": "a", "votes": 2}, {"option": "b", "votes": 0}],
                reached=True,
            )
        ),
    )
    cost = "cost_micro_usd"
    for key, record, seq, value, why in (
        ("rounded-down", priced(), 6, 20, "The cost is rounded down."),
        (
            "of-more-written-than-left",
            cached("within", 10, 8, 1, 5),
            6,
            28,
            "More tokens are paid for as written to the cache than did not come from it.",
        ),
        (
            "of-written-as-read",
            cached("written", 4, 0, 1, 4),
            6,
            20,
            "What was written to the cache costs as much as any input.",
        ),
        ("unpriced", base, 6, 0, "A call without a price has no cost, not even none."),
        ("of-a-failure", troubled(), 6, 1, "A failed call costs nothing that is known."),
        ("of-an-abandoned-call", resumed(), 8, 0, "An abandoned call costs its reservation."),
    ):
        yield bad(f"cost-{key}", f"15.{cost}", seq, why, export(record.data(seq, **{cost: value})))
    review = base.event(1)["data"]["review"]
    for name, value, why in (
        ("decision", "b", "The decision is for an option that did not win."),
        ("rule", "unanimous_vote", "The decision is said to rest on another rule."),
        ("votes", 1, "The decision had more votes than that."),
        ("threshold", 1, "The decision is said to have needed fewer votes."),
        ("rounds_run", 2, "The debate ran for one round only."),
        ("review", review, "Nobody needs to look at a decision that is none to escalate."),
    ):
        key = f"decision-{name.replace('_', '-')}"
        yield bad(key, f"16.{name}", 11, why, export(base.data(11, **{name: value})))
    yield bad(
        "decision-to-escalate-without-review",
        "16.review",
        11,
        "`escalate` won by votes: who must look has to be named all the same.",
        export(escalated().data(11, review=None)),
    )
    yield bad(
        "close-outcome",
        "16.outcome",
        12,
        "A debate with a decision did not fail.",
        export(base.data(12, outcome="failed")),
    )
    yield bad(
        "close-reason",
        "16.reason",
        12,
        "The rounds were not used up.",
        export(base.data(12, reason="max_rounds_exhausted")),
    )


@group
def withheld_cases() -> Iterator[Case]:
    """Checks 9 and 12: what is still sure of a reply that is kept from this recipient."""
    base, trouble = decided(), troubled()
    ann, ben = base.file_of(6, "reply"), trouble.file_of(7, "reply")
    yield bad(
        "withheld-vote",
        "9.not_due",
        8,
        "The reply is withheld, and its turn votes for no declared option.",
        withholding(base.data(8, vote="c"), ann),
    )
    yield bad(
        "withheld-cut-off",
        "9.not_due",
        7,
        "The reply is withheld, and was cut off: it had to be rejected whatever it says.",
        withholding(base.data(6, finish="length"), ann),
    )
    yield bad(
        "withheld-cut-off-as-schema",
        "12.code",
        8,
        "The reply is withheld, and was cut off: no other code applies.",
        withholding(trouble.data(7, finish="length"), ben),
    )
    yield bad(
        "withheld-rejection-again",
        "9.again",
        8,
        "The rejected reply is withheld; whether it is tried again does not rest on it.",
        withholding(trouble.data(8, again=False), ben),
    )


def template_cases() -> Iterator[Case]:
    """Check 10: templates and reply schemas."""
    base = decided()
    files = files_of(base)
    opening = base.event(1)["data"]
    block = opening["templates"][1]["sha256"]
    schema = opening["schemas"][0]["sha256"]

    def without(name: str) -> Files:
        return seal({path: body for path, body in files.items() if path != f"templates/{name}"})

    yield bad("template-missing", "10.missing", 1, "The template `block` is gone.", without(block))
    yield bad("schema-missing", "10.missing", 1, "The reply schema is gone.", without(schema))
    yield bad(
        "template-withheld",
        "10.missing",
        1,
        "A template is listed as withheld: only texts can be.",
        withholding(base, f"templates/{block}"),
    )
    yield bad(
        "template-altered",
        "10.hash",
        1,
        "The template `block` is another one than its name says.",
        seal({**files, f"templates/{block}": b"\n<{{label}}>\n"}),
    )
    yield bad(
        "template-not-named",
        "10.unnamed",
        0,
        "There is a template that the opening does not name.",
        seal({**files, f"templates/{digest(ABOUT)}": ABOUT}),
    )
    other = b'{"type":"object"}'
    kept = {name: body for name, body in base.templates.items() if name != schema}
    yield bad(
        "schema-of-another-kind",
        "10.schemas",
        1,
        "The reply schema that the opening names is not the one that follows from its options.",
        export(
            replace(
                base.data(1, schemas=[{"role": "debater", "sha256": digest(other)}]),
                templates={**kept, digest(other): other},
            )
        ),
    )
    yield bad(
        "call-started-template",
        "10.template",
        4,
        "A call was made with another template.",
        export(base.data(4, template=block)),
    )
    yield bad(
        "call-started-schema",
        "10.schema",
        4,
        "A call asked for another reply schema.",
        export(base.data(4, schema=block)),
    )


def reply_cases() -> Iterator[Case]:
    """Check 12: what a reply says, and whether it counts."""
    base, trouble = decided(), troubled()
    yield bad("vote-altered", "12.vote", 8, "Ann's reply says `a`.", export(base.data(8, vote="b")))
    yield bad("vote-null", "12.vote", 8, "Ann's reply has a vote.", export(base.data(8, vote=None)))
    yield bad(
        "reply-altered",
        "12.vote",
        8,
        "Ann's reply was replaced by one that votes for `b`; her turn says `a`.",
        export(base.text(6, "reply", '{"stance":"I hold b.","rationale":"So.","vote":"b"}')),
    )
    counted = {
        "key-twice": (15, "A key stands twice: readers differ on which value counts."),
        "lone-surrogate": (16, "A string holds half of a surrogate pair."),
        "integer-too-large": (13, "An integer is 2^53, which some readers round."),
        "unknown-option": (7, "The vote is for no declared option."),
        "option-in-upper-case": (8, "The vote is for `A`; nothing is coerced."),
        "empty-stance": (6, "The stance is empty."),
        "member-too-much": (5, "There is a member that the schema does not have."),
        "member-missing": (4, "The vote is missing."),
        "control-character": (17, "A string holds a tab that is not escaped."),
        "fence-with-cr": (20, "The fence's first line ends with CR, so it is no fence."),
        "two-fences": (22, "There are two fences, and one may be dropped."),
        "prose-before": (23, "Prose stands before the value."),
        "byte-order-mark": (24, "A byte order mark is no white space."),
        "no-break-space": (25, "A no-break space is no ASCII white space."),
    }
    for key, (number, defect) in counted.items():
        changed = base.text(6, "reply", REPLIES[number][0])
        why = f"{defect} It had to be rejected, and was taken as a reply that counts."
        yield bad(f"reply-{key}", "9.not_due", 7, why, export(changed))
    for finish, code in (
        ("length", "cut off"),
        ("refusal", "a refusal"),
        ("content_filter", "filtered"),
        ("other", "not finished"),
    ):
        why = f"The reply is {code}, says `finish`: it had to be rejected whatever it says."
        key = f"finish-{finish.replace('_', '-')}"
        yield bad(key, "9.not_due", 7, why, export(base.data(6, finish=finish)))
    for key, number, code in (
        ("unreadable-as-schema", 13, "schema"),
        ("too-deep-as-schema", 19, "schema"),
        ("schema-as-unreadable", 18, "unreadable"),
        ("fraction-as-unreadable", 10, "unreadable"),
        ("stance-before-vote", 6, "unknown_option"),
        ("option-as-schema", 7, "schema"),
    ):
        text, due = REPLIES[number]
        why = f"The reply is rejected as `{code}`; the first code that applies is `{due}`."
        changed = trouble.text(7, "reply", text).data(8, code=code)
        yield bad(f"rejected-{key}", "12.code", 8, why, export(changed))
    yield bad(
        "rejected-cut-off-as-schema",
        "12.code",
        8,
        "A reply that was cut off is `cut_off` before anything else is looked at.",
        export(trouble.data(7, finish="length")),
    )
