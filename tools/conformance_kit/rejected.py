"""Where a reply misses its schema, and what the model is told of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from conformance_kit.case import Case, altered, bad, defect, good, group, sound
from conformance_kit.debates import many_replies, troubled, voting
from conformance_kit.deliverables import shaped
from conformance_kit.exports import export, withholding, zip_of
from conformance_kit.judged import undeclared
from conformance_kit.moderated import (
    HOLDS,
    POSITIONS,
    RANKED,
    attacked,
    moderating,
    twice_ranked,
    two_rounds,
    weighed,
)
from conformance_kit.records import Record, Script, fails
from hansard.runtime.models.base import Completion

VAGUE = Completion("I would rather not.")
SO = {"argument": "So.", "citations": []}
CITED = {"document": "contract", "quote": "due"}
PROPOSED = {"thesis": "Sign.", "supporting_arguments": [SO], "anticipated_objections": ["No."]}


def resting(*citations: Any, **members: Any) -> dict[str, Any]:
    """Return a proposition whose second argument has these citations."""
    points = [SO, {"argument": "Then.", "citations": list(citations), **members}]
    return {**PROPOSED, "supporting_arguments": points}


MISSED: tuple[tuple[Any, str | None, str], ...] = (  # propositions, with member and keyword
    ([], None, "type"),
    ({"thesis": 7}, "supporting_arguments", "required"),
    ({**PROPOSED, "thesis": 7, "more": 1}, None, "additionalProperties"),
    ({**PROPOSED, "thesis": "\u200b"}, "thesis", "minLength"),
    ({**PROPOSED, "supporting_arguments": []}, "supporting_arguments", "minItems"),
    ({**PROPOSED, "supporting_arguments": [SO] * 101}, "supporting_arguments", "minItems"),
    ({**PROPOSED, "supporting_arguments": {}}, "supporting_arguments", "type"),
    ({**PROPOSED, "supporting_arguments": [SO, "So."]}, "1", "type"),
    ({**PROPOSED, "anticipated_objections": ["a", "b", " "]}, "2", "minLength"),
    (resting(more=1), None, "additionalProperties"),
    (resting(argument=""), "argument", "minLength"),
    (resting(CITED, CITED, 7), "2", "type"),
    (resting(CITED, {"document": "contract"}), "quote", "required"),
    (resting({**CITED, "quote": None}), "quote", "type"),
    (resting(*[CITED] * 11), "citations", "minItems"),
)


@cache
def missing() -> Record:
    """A provider's proposer who misses the schema in every way of MISSED, then fits it.

    8-10 framing; of the nth reply, 8 + 3n started, 9 + 3n answered, 10 + 3n rejected.
    """
    replies = [*(value for value, _, _ in MISSED), PROPOSED]
    script: Script = {
        f"r1.proposition.proposer:{number}": Completion(
            json.dumps(value), status=200, sent_as_rendered=True
        )
        for number, value in enumerate(replies, 1)
    }
    proposer = {"model": "openai:gpt-5"}
    return moderating("missing", script, attempts=len(replies), proposer=proposer)


@cache
def misjudged() -> Record:
    """A moderator whose scores and ranking are out of bounds; the first is rejected first."""
    scores = dict.fromkeys(RANKED, 5)
    replies = (
        weighed(RANKED, ranking=["fast", "slow"], scores={**scores, "critic": 0}),
        weighed(RANKED, ranking=["fast", "slow"], scores={**scores, "slow": 11}),
        weighed(RANKED, ranking=["fast", "slow"], confidence="high"),
        weighed(RANKED, ranking=["fast", "neither"]),
        weighed(RANKED, ranking=["fast"]),
        weighed(RANKED, ranking=["fast", "slow"], recommend_another_round=0),
        weighed(RANKED, ranking=["fast", "fast"]),
        weighed(RANKED, ranking=["slow", "fast"]),
    )
    script: Script = {
        f"r1.moderation.moderator:{number}": reply for number, reply in enumerate(replies, 1)
    }
    return moderating("misjudged", script, positions=POSITIONS, attempts=len(replies))


@cache
def told_again() -> Record:
    """Ann is rejected twice, for different reasons, with a failure between, and counts at last.

    4 started, 6 answered, 7 rejected, 9 started, 10 failed, 11 started, 12 answered, 13
    rejected, 14 started, 15 answered.
    """
    script: Script = {
        "r1.proposal.ann:1": Completion('{"stance":"so","rationale":"so","vote":"c"}'),
        "r1.proposal.ann:2": fails("timeout"),
        "r1.proposal.ann:3": VAGUE,
    }
    return voting("told-again", {"ann": "a", "ben": "a"}, script, attempts=9)


def critiques(name: str, *replies: Completion) -> Record:
    """Run a moderated debate in which the critic gives these replies; 14 is its first call."""
    script: Script = {f"r1.critique.critic:{n}": reply for n, reply in enumerate(replies, 1)}
    return moderating(f"critiques-{name}", script, attempts=9)


WEAK, STRONG = attacked(3, [HOLDS]), attacked(8, [HOLDS])


@cache
def weak_then_vague() -> Record:
    """14 started, 15 answered, 16 sent back, 17-19 rejected, 20 started."""
    return critiques("weak-then-vague", WEAK, VAGUE, STRONG)


@group
def rejection_good_cases() -> Iterator[Case]:
    """Records with rejected replies that must be accepted."""
    yield sound(
        "rejected-by-every-keyword",
        "A proposition misses its schema in every way: the first member that fails is named, and "
        "the first keyword. Whoever looks for the member finds the key, or the index from 0.",
        missing(),
    )
    yield sound(
        "rejected-out-of-bounds",
        "Either bound of a number is `minimum`, either bound of a list `minItems`. A position "
        "that is ranked twice fits the schema: nothing is named.",
        misjudged(),
    )
    yield good(
        "told-why-again",
        "Each prompt says why the last reply that came did not count; a failure says nothing.",
        export(told_again()),
    )
    for key, replies, why in (
        (
            "weak-then-unreadable",
            (WEAK, VAGUE, STRONG),
            "A critique is sent back, the next one cannot be read: the third prompt says both.",
        ),
        (
            "unreadable-then-weak",
            (VAGUE, WEAK, STRONG),
            (
                "A critique cannot be read, the next one is sent back: that one does not count as "
                "the last that was rejected, and stands first."
            ),
        ),
        (
            "weak-twice-between",
            (VAGUE, WEAK, Completion("{}"), WEAK),
            "The prompt after a rejection says that one, and no earlier one.",
        ),
    ):
        yield sound(f"told-{key}", why, critiques(key, *replies))
    record = troubled()
    reply = record.file_of(11, "reply")
    for key, fields, why in (
        ("schema", {"code": "schema", "member": "x", "keyword": "y"}, "Which member and keyword"),
        ("member", {"code": "schema", "member": "7", "keyword": None}, "Which member"),
        ("option", {"code": "unknown_option", "keyword": "enum"}, "Which keyword"),
    ):
        changed = record.data(12, **fields)
        yield good(
            f"withheld-rejection-{key}",
            f"The rejected reply is withheld. {why} it failed by is taken as recorded.",
            withholding(changed, reply),
        )


@group
def rejection_cases() -> Iterator[Case]:
    """Check 12: member and keyword of what was rejected."""
    record = missing()
    for number, (_, member, keyword) in enumerate(MISSED, 1):
        name = f"{number:02}-{keyword.lower()}"
        seq = 10 + 3 * number
        other = "thesis" if member != "thesis" else None
        why = "The reply misses its schema in another member."
        yield altered(f"rejected-member-{name}", "12.member", why, record, seq, member=other)
        other = "enum" if keyword != "enum" else "type"
        why = "The reply misses its schema by another keyword."
        yield altered(f"rejected-keyword-{name}", "12.keyword", why, record, seq, keyword=other)
    for key, code, record, seq, fields, why in (
        (
            "member-hidden",
            "12.member",
            missing(),
            22,
            {"member": None},
            "The member has to be named.",
        ),
        (
            "keyword-hidden",
            "12.keyword",
            missing(),
            22,
            {"keyword": None},
            "The keyword has to be named.",
        ),
        ("item-from-one", "12.member", missing(), 34, {"member": "2"}, "Items count from 0."),
        (
            "item-as-its-list",
            "12.member",
            missing(),
            34,
            {"member": "supporting_arguments"},
            "The item is no object; the list it stands in is a list.",
        ),
        (
            "path",
            "12.member",
            missing(),
            52,
            {"member": "supporting_arguments.1.citations.0.quote"},
            "A member is named by its own key alone.",
        ),
        (
            "more-by-its-name",
            "12.member",
            missing(),
            19,
            {"member": "more"},
            "An object with others than its members has no member to be named.",
        ),
        (
            "most-as-maxitems",
            "12.keyword",
            missing(),
            28,
            {"keyword": "maxItems"},
            "Either bound of a list is `minItems`.",
        ),
        (
            "most-as-maximum",
            "12.keyword",
            misjudged(),
            misjudged().seq("turn.rejected", 2),
            {"keyword": "maximum"},
            "Either bound of an integer is `minimum`.",
        ),
        (
            "ranked-twice-with-a-member",
            "12.member",
            twice_ranked(),
            32,
            {"member": "ranking"},
            "The reply fits its schema: no member is named.",
        ),
        (
            "ranked-twice-with-a-keyword",
            "12.keyword",
            twice_ranked(),
            32,
            {"keyword": "uniqueItems"},
            "The reply fits its schema: no keyword is named.",
        ),
        (
            "undeclared-without-a-member",
            "12.member",
            undeclared(),
            13,
            {"member": None},
            "A winner that is no stance misses the schema.",
        ),
        (
            "weak-with-a-member",
            "12.member",
            two_rounds(),
            17,
            {"member": "challenge_strength"},
            "A weak critique fits its schema.",
        ),
        (
            "deliverable-with-a-keyword",
            "12.keyword",
            shaped(),
            18,
            {"keyword": "maxLength"},
            "Where a synthesis misses the user's own schema is not said.",
        ),
        (
            "unreadable-with-a-member",
            "12.member",
            troubled(),
            12,
            {"member": "vote"},
            "What cannot be read has no member.",
        ),
        (
            "cut-off-with-a-keyword",
            "12.keyword",
            many_replies(),
            many_replies().seq("turn.rejected", code="cut_off"),
            {"keyword": "type"},
            "A reply that was cut off is not looked at.",
        ),
    ):
        yield altered(f"rejected-{key}", code, why, record, seq, **fields)
    yield from _withheld_cases()


def _withheld_cases() -> Iterator[Case]:
    base = troubled()
    reply = base.file_of(11, "reply")
    for key, code, fields, why in (
        ("unreadable-member", "12.member", {"member": "vote"}, "What cannot be read has none."),
        ("unreadable-keyword", "12.keyword", {"keyword": "type"}, "What cannot be read has none."),
        (
            "refused-member",
            "12.member",
            {"code": "refused", "member": "vote"},
            "What was refused has none.",
        ),
    ):
        said = f"The rejected reply is withheld, and a member or keyword is named. {why}"
        yield bad(f"withheld-{key}", code, 12, said, withholding(base.data(12, **fields), reply))
    cut = base.data(11, finish="length").data(12, code="cut_off", keyword="type")
    yield bad(
        "withheld-cut-off-keyword",
        "12.keyword",
        12,
        "The rejected reply is withheld, and was cut off: no keyword applies.",
        withholding(cut, reply),
    )
    weak = two_rounds().data(17, member="thesis").until(17)
    yield bad(
        "withheld-weak-member",
        "12.member",
        17,
        "The critique that was sent back is withheld; it fitted its schema.",
        zip_of(withholding(weak, weak.file_of(16, "reply"))),
    )
    record = told_again()
    told = record.data(7, member="stance")
    yield bad(
        "withheld-rejection-told-otherwise",
        "11.prompt",
        9,
        "The rejected reply is withheld, and the next prompt says another member than its "
        "rejection.",
        withholding(told, told.file_of(6, "reply")),
    )


@group
def told_again_cases() -> Iterator[Case]:
    """Check 11: what the next prompt says of a reply that did not count."""
    record, weak = told_again(), weak_then_vague()
    prompts = {seq: record.event(seq)["data"]["prompt"] for seq in (4, 9, 11, 14)}
    for key, seq, other, why in (
        ("nothing-after-a-rejection", 9, 4, "The second prompt is the first one."),
        ("nothing-after-a-failure", 11, 4, "After the failure the rejection is not said."),
        ("the-one-before", 14, 9, "The prompt says the rejection before the last."),
    ):
        yield bad(
            f"told-{key}", "11.prompt", seq, why, export(record.data(seq, prompt=prompts[other]))
        )
    sent_back = weak.event(17)["data"]["prompt"]
    yield defect(
        "told-the-weak-one-alone",
        "11.prompt",
        20,
        "The third prompt says that the critique was weak, and not that the next was unreadable.",
        weak.data(20, prompt=sent_back),
    )
