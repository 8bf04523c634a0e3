"""Texts that are kept from this recipient: what is then taken as recorded, and what is not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance_kit.case import Case, bad, good, group
from conformance_kit.debates import troubled
from conformance_kit.deliverables import concluded, shaped, told_all
from conformance_kit.exports import withholding, zip_of
from conformance_kit.judged import (
    in_words,
    judged,
    naming,
    own_judge,
    rejected_first,
    undeclared,
)
from conformance_kit.moderated import moderated, ranked, twice_ranked, two_rounds
from conformance_kit.moderated_defects import cased
from conformance_kit.panel import (
    alike,
    chosen,
    combined,
    counted_texts,
    majority,
    picked,
    silent_at_last,
)
from conformance_kit.records import Record
from conformance_kit.tool_use import one_tool

UNORDERED: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("struck-unsorted", {"struck": [2, 1]}, "What is struck is listed in ascending order."),
    ("struck-twice", {"struck": [1, 1]}, "What is struck is listed once."),
    ("struck-beyond", {"struck": [1, 99]}, "There are no 99 arguments, so it strikes none such."),
    ("unanswered-unsorted", {"unanswered": [2, 1]}, "Objections are listed in ascending order."),
    ("unanswered-twice", {"unanswered": [1, 1]}, "An objection is listed once."),
)


def kept_back(name: str, why: str, record: Record, *texts: tuple[int, str]) -> Case:
    """A record that must be accepted without some texts, each given by its entry and field."""
    paths = [record.file_of(seq, field) for seq, field in texts]
    return good(f"withheld-{name}", why, zip_of(withholding(record, *paths)))


def lost(
    key: str, code: str, why: str, record: Record, text: tuple[int, str], seq: int, /, **fields: Any
) -> Case:
    """A record of which a text is withheld, and an entry says what it cannot."""
    changed = record.data(seq, **fields).until(seq)
    files = withholding(changed, record.file_of(*text))
    return bad(f"withheld-{key}", code, seq, why, zip_of(files))


@group
def withheld_good_cases() -> Iterator[Case]:
    """Records without some of their texts that must be accepted."""
    everything = "What was read from it is taken as recorded."
    for name, record, seq, why in (
        ("argument", judged(), 6, "An argument is withheld."),
        ("verdict", judged(), 18, "The verdict is withheld."),
        ("verdict-undeclared", own_judge(), 12, "A verdict without a declared winner is withheld."),
        ("verdict-rejected", undeclared(), 12, "A verdict that was rejected is withheld."),
        ("framing", moderated(), 9, "The framing is withheld."),
        ("proposition", two_rounds(), 13, "A proposition is withheld."),
        ("critique", two_rounds(), 19, "The critique that a rebuttal answers is withheld."),
        ("critique-sent-back", two_rounds(), 16, "A critique that was sent back is withheld."),
        (
            "critique-that-counts-at-last",
            two_rounds(),
            31,
            "A critique that was sent back, and counts at last, is withheld.",
        ),
        ("rebuttal", two_rounds(), 22, "A rebuttal is withheld."),
        ("moderation", two_rounds(), 40, "The last moderation is withheld."),
        ("ranking", ranked(), 31, "The ranking is withheld."),
        ("choice", majority(), 8, "A draft with a choice is withheld."),
        ("draft", alike(), 6, "A draft that was compared is withheld."),
        ("draft-counted", counted_texts(), 17, "A draft that was counted is withheld."),
        ("pick", picked(), 18, "The judge's pick is withheld."),
        ("synthesis", concluded(), 14, "The synthesis is withheld."),
        ("synthesis-rejected", shaped(), 17, "A synthesis that was rejected is withheld."),
        ("asking-for-a-tool", one_tool(), 6, "The reply that asks for a tool is withheld."),
    ):
        yield kept_back(name, f"{why} {everything}", record, (seq, "reply"))
    yield kept_back(
        "beside-a-forfeit",
        "Of two turns one rests on a reply that is withheld, and the other was forfeited.",
        troubled(),
        (13, "reply"),
    )
    yield kept_back(
        "document",
        "A document that is cited is withheld: whether the quotes hold is taken as recorded.",
        two_rounds(),
        (7, "text"),
    )
    stance = f"blobs/{in_words().event(2)['data']['stance']['text']['sha256']}"
    for key, record, why in (
        ("words", in_words(), "as the reply says"),
        ("other", in_words().data(13, winner="ann").data(14, decision="ship"), "or another"),
    ):
        yield good(
            f"withheld-stance-{key}",
            f"A stance is withheld that the judge may have named by its words: the winner, {why}, "
            "is taken as recorded.",
            zip_of(withholding(record, stance)),
        )
    record = rejected_first()
    stance = f"blobs/{record.event(2)['data']['stance']['text']['sha256']}"
    yield good(
        "withheld-stance-rejected",
        "A stance is withheld that the judge may have named by its words, and the reply was "
        "rejected: as of any reply that is gone, that is taken as recorded.",
        zip_of(withholding(record, stance)),
    )
    record = naming("label", "ship")
    stance = f"blobs/{record.event(3)['data']['stance']['text']['sha256']}"
    record = record.data(13, winner="ben").until(13)
    yield bad(
        "withheld-stance-named-by-its-label",
        "12.winner",
        13,
        "A stance is withheld, but the judge named the other one by its label.",
        zip_of(withholding(record, stance)),
    )
    pair = alike().event(10)["data"]["pairs"][0]
    yield kept_back(
        "draft-and-shares",
        "A draft is withheld, and the share is another than it would give: nobody can tell.",
        alike().data(10, pairs=[{**pair, "ppm": 1_000_000}]).data(11, score_ppm=1_000_000),
        (6, "reply"),
    )
    yield kept_back(
        "tool",
        "What a tool was asked and what it gave are withheld: prompts rest on names alone.",
        one_tool(),
        (7, "arguments"),
        (8, "result"),
    )
    yield kept_back(
        "context-and-instructions",
        "Context, instructions and a persona are withheld: prompts rest on names alone.",
        told_all(),
        (1, "context"),
        (1, "instructions"),
        (2, "persona"),
    )


@group
def withheld_turn_cases() -> Iterator[Case]:
    """Check 9: turns whose reply is withheld, and that say what no such reply can give."""
    score = [{"side": "ship", "score": 5}]
    case = moderated().event(13)["data"]["case"]
    for key, record, seq, fields, why in (
        ("winner-of-no-stance", judged(), 19, {"winner": "judge"}, "The judge has no stance."),
        (
            "winner-and-undeclared",
            judged(),
            19,
            {"undeclared": True},
            "A winner is declared or not.",
        ),
        ("verdict-with-scores", judged(), 19, {"scores": score}, "Judges give no scores."),
        ("verdict-confident", judged(), 19, {"confidence": "LOW"}, "Judges state no confidence."),
        ("argument-with-a-vote", judged(), 7, {"vote": "ship"}, "Nobody votes."),
        ("argument-with-a-case", judged(), 7, {"case": case}, "Arguments have no case."),
        ("pick-of-none", picked(), 19, {"winner": None}, "The judge must pick."),
        ("pick-of-nobody", picked(), 19, {"winner": "judge"}, "The judge made no draft."),
        ("choice-of-none", chosen(), 19, {"choice": None}, "The judge must choose."),
        ("choice-undeclared", chosen(), 19, {"choice": "maybe"}, "There is no such option."),
        ("combined-choice", combined(), 19, {"choice": "yes"}, "There are no options."),
        ("combined-winner", combined(), 19, {"winner": "ann"}, "The judge picks no draft."),
        ("draft-undeclared", majority(), 11, {"vote": "maybe"}, "There is no such option."),
        ("draft-without-a-choice", majority(), 11, {"vote": None}, "A draft has a choice."),
        ("draft-with-a-choice", alike(), 8, {"vote": "yes"}, "There are no options."),
        ("framing-with-a-case", moderated(), 10, {"case": case}, "A framing has no case."),
        ("proposition-without-a-case", moderated(), 13, {"case": None}, "It has a case."),
        ("proposition-with-a-vote", moderated(), 13, {"vote": "a"}, "Nobody votes."),
        ("upholds-nothing", moderated(), 22, {"upholds": None}, "It is upheld or not."),
        (
            "ranking-without-positions",
            moderated(),
            22,
            {"ranking": ["proposer"]},
            "There are no positions.",
        ),
        ("no-confidence", moderated(), 22, {"confidence": None}, "Moderators state it."),
        ("no-other-round", moderated(), 22, {"another_round": None}, "Moderators say it."),
        ("moderation-with-a-winner", moderated(), 22, {"winner": "proposer"}, "Nobody wins."),
        (
            "proposition-without-an-argument",
            moderated(),
            13,
            {"case": {**case, "arguments": 0, "citations": [], "struck": []}},
            "There is one argument at least.",
        ),
        ("ranking-short", ranked(), 32, {"ranking": ["ben"]}, "There are two positions."),
        ("ranking-twice", ranked(), 32, {"ranking": ["ben", "ben"]}, "Each is ranked once."),
        ("ranking-and-upholds", ranked(), 32, {"upholds": True}, "There is no proposition."),
    ):
        answered = record.seq("call.answered", call=record.event(seq)["data"]["call"])
        said = f"The reply is withheld, and its turn says what none can give. {why}"
        yield lost(key, "9.not_due", said, record, (answered, "reply"), seq, **fields)
    for key, lists, why in UNORDERED:
        said = f"The reply is withheld, and its turn says what none can give. {why}"
        record, fields = moderated(), {"case": {**case, **lists}}
        where = (record.seq("call.answered", call=record.event(13)["data"]["call"]), "reply")
        yield lost(f"proposition-{key}", "9.not_due", said, record, where, 13, **fields)


@group
def withheld_field_cases() -> Iterator[Case]:
    """Checks 9, 12, 13 and 14: what is derived though a text is withheld."""
    weak: dict[str, Any] = {"code": "weak_critique", "again": True}
    for key, record, seq, says, why in (
        ("weak-and-strong", two_rounds(), 17, {"rating": 6}, "6 is strong enough."),
        ("weak-and-unrated", two_rounds(), 17, {"rating": None}, "The rating has to be named."),
        (
            "weak-moderation",
            twice_ranked(),
            32,
            {**weak, "rating": 4},
            "Nothing but a critique is sent back.",
        ),
    ):
        said = f"The reply is withheld, and was not sent back for that. {why}"
        yield lost(key, "9.not_due", said, record, (seq - 1, "reply"), seq, **says)
    for key, code, record, text, seq, fields, why in (
        (
            "verdict-call",
            "9.call",
            judged(),
            (18, "reply"),
            19,
            {"call": "r2.verdict.judge:2"},
            "Which call a verdict rests on does not rest on the reply.",
        ),
        (
            "rejection-rating",
            "12.rating",
            undeclared(),
            (12, "reply"),
            13,
            {"rating": 3},
            "Only a critique that is sent back has a rating.",
        ),
        (
            "critique-sent-back-for-good",
            "9.again",
            two_rounds(),
            (16, "reply"),
            17,
            {"again": False},
            "A critique that is sent back is always tried again.",
        ),
        (
            "synthesis-text",
            "12.text",
            concluded(),
            (14, "reply"),
            15,
            {"text": concluded().event(1)["data"]["question"]},
            "The synthesis is the reply, whatever it says.",
        ),
        (
            "similarity-threshold",
            "14.threshold_ppm",
            alike(),
            (6, "reply"),
            10,
            {"threshold_ppm": 900_000},
            "The threshold is that of the terms.",
        ),
        (
            "similarity-measure",
            "14.measure",
            alike(),
            (6, "reply"),
            10,
            {"measure": "whole"},
            "What is compared follows from the terms.",
        ),
        (
            "similarity-round",
            "14.round",
            alike(),
            (6, "reply"),
            10,
            {"round": 1},
            "Which round is compared does not rest on drafts.",
        ),
        (
            "count-threshold",
            "14.threshold",
            counted_texts(),
            (17, "reply"),
            23,
            {"threshold": 1},
            "The majority is of those registered.",
        ),
        (
            "count-phase",
            "14.phase",
            counted_texts(),
            (17, "reply"),
            23,
            {"phase": "proposal"},
            "Drafts are counted.",
        ),
    ):
        yield lost(key, code, why, record, text, seq, **fields)
    record, drafts = silent_at_last(), [(seat, 1) for seat in ("ann", "cat")]
    count, answered = (
        record.seq("votes.counted"),
        record.seq("call.answered", call="r1.draft.ann:1"),
    )
    yield lost(
        "tally-of-a-draft-not-made",
        "9.not_due",
        "A draft is withheld, and the tally names a debater who was not heard in that round.",
        record,
        (answered, "reply"),
        count,
        tally=[{"option": seat, "votes": votes} for seat, votes in drafts],
    )
    found = moderated().event(13)["data"]["case"]["citations"]
    guessed = cased(
        moderated(), 13, citations=[{**row, "finding": "verified"} for row in found], struck=[]
    ).until(14)
    yield bad(
        "withheld-document-but-findings",
        "11.prompt",
        14,
        "A document is withheld, and the findings are others than it gave: later prompts were made "
        "of those.",
        zip_of(withholding(guessed, guessed.file_of(7, "text"))),
    )
    for key, code, seq, document, fields, why in (
        *((f"document-{key}", "9.not_due", 14, 7, lists, why) for key, lists, why in UNORDERED),
        ("document-arguments", "12.arguments", 14, 7, {"arguments": 3}, "There are four."),
        ("document-rating", "12.rating", 20, 7, {"rating": 9}, "The critic gave itself 5."),
        (
            "later-document",
            "13.citations",
            14,
            8,
            {"citations": []},
            "The document comes a round later, and nothing in this round rests on it.",
        ),
    ):
        changed = cased(two_rounds(), seq, **fields).until(seq)
        files = withholding(changed, changed.file_of(document, "text"))
        said = f"A document is withheld. {why}"
        yield bad(f"withheld-{key}", code, seq, said, zip_of(files))
