"""The `moderated` format: framing, propositions, critiques, rebuttals and moderations."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from conformance_kit.case import Case, group, sound
from conformance_kit.records import Record, Script, fails, play
from hansard.runtime.models.base import Completion, Request

SIDES = ("proposer", "critic", "rebuttal")
Cited = tuple[str, str]  # a document's id, and what is quoted from it
HOLDS: Cited = ("contract", "within  thirty\ndays")  # white space is folded
INVENTED: Cited = ("contract", "within sixty days")
CAPITALS: Cited = ("contract", "WITHIN THIRTY DAYS")
LATER: Cited = ("late", "late twice")
NOWHERE: Cited = ("letter", "within thirty days")
EVIDENCE = [{"id": "contract", "text": "Payment is due within thirty\tdays."}]


def written(**members: Any) -> Completion:
    """Return a reply that is one object."""
    return Completion(json.dumps(members))


def _citations(rows: Sequence[Cited]) -> list[dict[str, str]]:
    return [{"document": document, "quote": quote} for document, quote in rows]


def _points(arguments: Sequence[Sequence[Cited]]) -> list[dict[str, Any]]:
    return [{"argument": "So it is.", "citations": _citations(rows)} for rows in arguments]


def proposed(*arguments: Sequence[Cited]) -> Completion:
    """Return a proposition, each argument with its citations."""
    points = _points(arguments)
    return written(thesis="Sign.", supporting_arguments=points, anticipated_objections=["No."])


def attacked(strength: object, *arguments: Sequence[Cited]) -> Completion:
    """Return a critique that gives itself a strength, each argument with its citations."""
    points = _points(arguments)
    return written(thesis="Do not.", counter_arguments=points, challenge_strength=strength)


def defended(*answers: tuple[int, Sequence[Cited]], conceded: Sequence[int] = ()) -> Completion:
    """Return a rebuttal: the objections answered, each with citations, and those conceded."""
    rebuttals = [
        {"objection": number, "answer": "No.", "citations": _citations(rows)}
        for number, rows in answers
    ]
    concessions = [{"objection": number, "reason": "True."} for number in conceded]
    return written(thesis="Still.", rebuttals=rebuttals, concessions=concessions)


def weighed(sides: Sequence[str] = SIDES, **members: Any) -> Completion:
    """Return a moderation: one point resolved, two not, three uncertainties."""
    found: dict[str, Any] = {
        "scores": {side: score for score, side in enumerate(sides, 5)},
        "resolved_points": ["a"],
        "unresolved_points": ["b", "c"],
        "recommend_another_round": False,
        "synthesis": "On balance.",
        "confidence": "MODERATE",
        "explicit_uncertainties": ["d", "e", "f"],
    }
    if sides == SIDES:
        found["upholds_proposition"] = True
    return written(**found | members)


def moderating(name: str, script: Script | None = None, **spec: Any) -> Record:
    """Run a debate on one proposition, or on the positions of `spec`, ranked from the last."""

    def answer(request: Request) -> Completion:
        phase, asked = request.phase.partition("-")[0], request.reply_schema["properties"]
        if phase == "framing":
            return written(thesis="Sign?", scope="Now.", criteria=["Risk."], key_evidence=[])
        if phase == "proposition":
            return proposed([HOLDS], [CAPITALS], [])
        if phase == "critique":
            return attacked(8, [HOLDS])
        if phase == "rebuttal":
            return defended((1, [HOLDS]))
        ranking = {"ranking": asked["ranking"]["items"]["enum"][::-1]} if "ranking" in asked else {}
        return weighed(tuple(asked["scores"]["properties"]), **ranking)

    whole = {
        "format": "moderated",
        "model": "python:bot",
        "review": "the board",
        "evidence": EVIDENCE,
        **spec,
    }
    return play(f"moderated-{name}", whole, answer, script)


POSITIONS = [
    {"id": "ann", "label": "fast", "stance": "Sign today."},
    {"id": "ben", "label": "slow", "stance": "Ask a lawyer."},
]
RANKED = ("fast", "slow", "critic", "rebuttal")  # the sides where both positions are attacked


@cache
def moderated() -> Record:
    """Twenty-four entries, one round of at most two.

    1 opened, 2-6 framer, proposer, critic, rebuttal, moderator, 7 evidence, 8-10 framing,
    11-13 proposition, 14-16 critique, 17-19 rebuttal, 20-22 moderation, 23 decision, 24 closed.
    """
    return moderating("once", max_rounds=2)


@cache
def two_rounds() -> Record:
    """Forty-six entries, two rounds, in each of which the critique is sent back.

    7-8 evidence, 9-11 framing, 12-14 proposition, 15-17 critique sent back, 18-20 again, 21-23
    rebuttal, 24-26 moderation; 27-29 proposition, 30-32 critique sent back, 33 started, 34
    failed, 35 it counts, 36-38 rebuttal, 39-41 moderation, 42-44 neutrality, 45 decision,
    46 closed.
    """
    more: dict[str, Any] = {"recommend_another_round": True}
    script: Script = {
        "r1.proposition.proposer:1": proposed([HOLDS], [HOLDS, INVENTED], [LATER], [NOWHERE]),
        "r1.critique.critic:1": attacked(4, [HOLDS]),
        "r1.critique.critic:2": attacked(5, [HOLDS], [INVENTED], [], []),
        "r1.rebuttal.rebuttal:1": defended((1, [HOLDS]), (3, [INVENTED]), conceded=[4]),
        "r1.moderation.moderator:1": weighed(**more),
        "r2.proposition.proposer:1": proposed([LATER]),
        "r2.critique.critic:1": attacked(2, [LATER]),
        "r2.critique.critic:2": fails("client_error"),
        "r2.rebuttal.rebuttal:1": defended(),
        "r2.moderation.moderator:1": weighed(**more, upholds_proposition=False),
    }
    late = {"id": "late", "text": "The supplier was late twice.", "from_round": 2}
    return moderating(
        "two-rounds", script, max_rounds=2, neutrality_check=True, evidence=[*EVIDENCE, late]
    )


@cache
def unchallenged() -> Record:
    """Twenty-one entries: 14-16 the critic forfeits, 17-19 moderation, 20 decision, 21 closed."""
    return moderating("unchallenged", {"r1.critique.critic:1": fails("client_error")})


@cache
def unsupported() -> Record:
    """Twenty-four entries: the proposition's only argument is struck, and upheld; 23 decision."""
    script = {"r1.proposition.proposer:1": proposed([INVENTED])}
    return moderating("unsupported", script)


@cache
def all_struck() -> Record:
    """Twenty-four entries: the critique's only argument is struck; 23 decision."""
    script = {
        "r1.critique.critic:1": attacked(8, [INVENTED]),
        "r1.rebuttal.rebuttal:1": defended(),
    }
    return moderating("all-struck", script)


@cache
def unproposed() -> Record:
    """Fourteen entries: 11 started, 12 failed, 13 the proposer forfeits, 14 closed."""
    return moderating("unproposed", {"r1.proposition.proposer:1": fails("client_error")})


@cache
def unmoderated() -> Record:
    """Twenty-three entries: 20 started, 21 failed, 22 the moderator forfeits, 23 closed."""
    return moderating("unmoderated", {"r1.moderation.moderator:1": fails("client_error")})


@cache
def ranked() -> Record:
    """Thirty-seven entries, two positions.

    1 opened, 2-7 framer, ann, ben, critic, rebuttal, moderator, 8 evidence, 9-11 framing,
    12-13 started, 14-15 answered, 16-17 propositions, 18-20 and 21-23 critique and rebuttal of
    ann's, 24-26 and 27-29 of ben's, 30-32 moderation, 33-35 neutrality, 36 decision, 37 closed.
    """
    return moderating("ranked", positions=POSITIONS, neutrality_check=True)


@cache
def three_rounds() -> Record:
    """Thirty-eight entries, two positions that nobody attacks, three rounds of nine entries.

    1 opened, 2-5 framer, ann, ben, moderator, 6 evidence, 7-9 framing, 10-18, 19-27 and 28-36
    the rounds (started, started, answered, answered, two turns, moderation), 37 decision,
    38 closed.
    """
    more = weighed(("fast", "slow"), ranking=["fast", "slow"], recommend_another_round=True)
    return moderating(
        "three-rounds",
        {f"r{number}.moderation.moderator:1": more for number in (1, 2, 3)},
        positions=POSITIONS,
        critique=False,
        max_rounds=3,
    )


# Every mark that is levelled, and some that are not: U+2032, U+00AB, U+00AD, U+2043.
_TYPESET = (
    "\u2018a\u2019 \u201ab\u201b \u201cc\u201d \u201ed\u201f "
    "\u2010e\u2011f\u2012g\u2013h\u2014i\u2015j\u2212k "
    'l\' "m" n-o p\u2032 \u00abq\u00bb r\u00ads t\u2043u v\u2014\n\u2014w'
)
_MARKED = (
    '\'a\' \'b\' "c" "d" -e-f-g-h-i-j-k l\' "m" n-o',
    "\u2019a\u2018 \u2018b\u2019 \u201dc\u201e",
    "l\u2019 \u201cm\u201d n\u2013o",
    "v- -w",
    "a b",
    '"a"',
    "p'",
    '"q"',
    "r-s",
    "t-u",
    "v -w",
)


@cache
def twice_ranked() -> Record:
    """A ranking that names one position twice is rejected (31 answered, 32 rejected)."""
    twice = weighed(RANKED, ranking=["slow", "slow"])
    return moderating("twice-ranked", {"r1.moderation.moderator:1": twice}, positions=POSITIONS)


@group
def moderated_good_cases() -> Iterator[Case]:
    """Records of the `moderated` format that must be accepted."""
    yield sound(
        "moderated-once",
        "Framing, proposition, critique, rebuttal and moderation. A quote holds with its white "
        "space folded, and does not in capitals.",
        moderated(),
    )
    yield sound(
        "moderated-two-rounds",
        "Every finding of a citation occurs; an objection is answered, one conceded, one struck, "
        "one not answered but by a struck rebuttal. Both critiques are sent back once: the first "
        "one is weak again and counts, of the second one no other came, so it counts. A document "
        "comes with round 2. The moderator always wants more and meets the cap; the neutrality "
        "check finds otherwise, and nothing rests on it.",
        two_rounds(),
    )
    yield sound(
        "moderated-weak-critique-on-the-last-try",
        "One attempt only: sending a critique back uses up no try. The next reply is unreadable, "
        "so the critique that was sent back counts.",
        moderating(
            "weak",
            {
                "r1.critique.critic:1": attacked(1, [HOLDS]),
                "r1.critique.critic:2": Completion("I would rather not."),
            },
            attempts=1,
        ),
    )
    yield sound(
        "moderated-weak-critique-and-both-tries",
        "Two attempts: after a critique was sent back, one that is unreadable is the first in "
        "vain, and there is another one.",
        moderating(
            "weak-and-both-tries",
            {
                "r1.critique.critic:1": attacked(1, [HOLDS]),
                "r1.critique.critic:2": Completion("I would rather not."),
            },
            attempts=2,
        ),
    )
    odd = "thirty\u2003\u3000days\u200bnet\u0085now \u202fthen"
    quotes = ("thirty days", "irty da", "now then", "thirtydays", "days net", "net now", " \u00a0")
    yield sound(
        "moderated-quotes-of-every-kind",
        "White space is folded, but neither U+200B nor U+0085 is any; a quote may begin within a "
        "word; one of white space alone is nowhere.",
        moderating(
            "quotes",
            {"r1.proposition.proposer:1": proposed(*([("odd", quote)] for quote in quotes))},
            evidence=[{"id": "odd", "text": odd}, *EVIDENCE],
        ),
    )
    yield sound(
        "moderated-quotes-in-other-marks",
        "A quote holds in plain quotation marks and dashes, or in other ones than the document's; "
        "it does not with one left out, nor with another sign that looks like one.",
        moderating(
            "marks",
            {"r1.proposition.proposer:1": proposed(*([("typeset", each)] for each in _MARKED))},
            evidence=[{"id": "typeset", "text": _TYPESET}, *EVIDENCE],
        ),
    )
    yield sound(
        "moderated-unchallenged",
        "The critic was not heard: nobody rebuts, the moderator is asked, and somebody must look.",
        unchallenged(),
    )
    yield sound(
        "moderated-upheld-by-nothing-that-holds",
        "The proposition's only argument is struck: nothing is left that could be upheld.",
        unsupported(),
    )
    yield sound(
        "moderated-not-upheld-by-nothing-that-holds",
        "The proposition's only argument is struck, and the moderator does not uphold it.",
        moderating(
            "struck-and-not-upheld",
            {
                "r1.proposition.proposer:1": proposed([INVENTED]),
                "r1.moderation.moderator:1": weighed(upholds_proposition=False),
            },
        ),
    )
    yield sound(
        "moderated-texts-that-say-nothing",
        "A critique of white space and invisible characters is no reply that counts.",
        moderating(
            "blank",
            {
                "r1.critique.critic:1": written(
                    thesis=" \u00a0",
                    counter_arguments=[{"argument": "\u200b", "citations": []}],
                    challenge_strength=9,
                ),
            },
        ),
    )
    yield sound(
        "moderated-challenged-by-nothing-that-holds",
        "The critique's only argument is struck: the proposition was not challenged.",
        all_struck(),
    )
    yield sound(
        "moderated-without-a-proposition",
        "The proposer was not heard: nobody attacks or moderates, and the debate failed.",
        unproposed(),
    )
    yield sound(
        "moderated-second-proposition-missing",
        "The moderator wants another round, and the proposer is not heard in it: nobody was, so "
        "the debate failed.",
        moderating(
            "second-proposition-missing",
            {
                "r1.moderation.moderator:1": weighed(recommend_another_round=True),
                "r2.proposition.proposer:1": fails("client_error"),
            },
            max_rounds=2,
        ),
    )
    yield sound(
        "moderated-challenged-in-the-first-round-alone",
        "In round 2 the critic is not heard; round 1's critique still stands.",
        moderating(
            "challenged-once",
            {
                "r1.moderation.moderator:1": weighed(recommend_another_round=True),
                "r2.critique.critic:1": fails("client_error"),
            },
            max_rounds=2,
        ),
    )
    yield sound(
        "moderated-moderator-failed",
        "The moderator cannot be heard: there is no decision, and the debate has failed.",
        unmoderated(),
    )
    yield sound(
        "moderated-framer-not-heard",
        "The framer cannot be heard: the debate goes on without a framing.",
        moderating("unframed", {"r1.framing.framer:1": fails("client_error")}),
    )
    yield sound(
        "moderated-neutrality-not-heard",
        "The neutrality check cannot be had: the decision rests on the moderation all the same.",
        moderating(
            "not-neutral",
            {"r1.neutrality.moderator:1": fails("client_error")},
            neutrality_check=True,
        ),
    )
    yield sound(
        "moderated-objection-out-of-range",
        "There is one objection: a rebuttal of the second one is rejected, and a concession of "
        "it as well.",
        moderating(
            "out-of-range",
            {
                "r1.rebuttal.rebuttal:1": defended((2, [])),
                "r1.rebuttal.rebuttal:2": defended(conceded=[2]),
            },
        ),
    )
    yield from _good_positions()


def _good_positions() -> Iterator[Case]:
    yield sound(
        "moderated-positions",
        "Two positions, proposed at once; each is attacked and defended before both are ranked.",
        ranked(),
    )
    numbered = [{**row, "label": label} for row, label in zip(POSITIONS, ("10", "9"), strict=True)]
    yield sound(
        "moderated-positions-numbered",
        "Labels that are numbers: the members of the moderator's schema stand in the order of "
        "their bytes all the same.",
        moderating("numbered", positions=numbered),
    )
    yield sound(
        "moderated-positions-not-attacked",
        "Nobody attacks the positions; the moderator ranks them, and wants more until the cap "
        "of three rounds.",
        three_rounds(),
    )
    yield sound(
        "moderated-position-ranked-twice",
        "A ranking that names one position twice is rejected as `unknown_option`.",
        twice_ranked(),
    )
    yield sound(
        "moderated-first-position-not-challenged",
        "The position that is ranked first was not attacked, since the critic was not heard then.",
        moderating(
            "position-unchallenged",
            {"r1.critique-2.critic:1": fails("client_error")},
            positions=POSITIONS,
        ),
    )
    yield sound(
        "moderated-first-position-not-heard",
        "The position that is ranked first was never proposed: nobody attacks it, and it cannot "
        "be the decision.",
        moderating(
            "position-unheard",
            {"r1.proposition.ben:1": fails("client_error")},
            positions=POSITIONS,
        ),
    )
    yield sound(
        "moderated-first-position-heard-before",
        "The position that is ranked first was proposed and attacked in round 1; in round 2 its "
        "proposer was not heard, and nobody attacks it there.",
        moderating(
            "position-heard-before",
            {
                "r1.moderation.moderator:1": weighed(
                    RANKED, ranking=["fast", "slow"], recommend_another_round=True
                ),
                "r2.proposition.ben:1": fails("client_error"),
            },
            positions=POSITIONS,
            max_rounds=2,
        ),
    )
