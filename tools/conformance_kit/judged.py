"""The `judged` format: stances, arguments, and one verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from conformance_kit.case import Case, group, sound
from conformance_kit.records import Data, Record, Script, Tools, fails, play
from hansard.rules.spec_parts import Advocate
from hansard.runtime.models.base import Completion, Request

NOTHING: Data = {  # of what a verdict can say
    "winner": None,
    "undeclared": False,
    "choice": None,
    "upholds": None,
    "ranking": [],
    "scores": [],
    "resolved": 0,
    "unresolved": 0,
    "uncertainties": 0,
    "confidence": None,
    "another_round": None,
}
SEED = 2  # with which round 2 is shown in the other order, and round 1 is not
WORDS = Completion('{"verdict":"So.","winner":"Wait a week.","reasoning":"Because."}')
NEITHER = Completion('{"verdict":"Both.","winner":"neither","reasoning":"Because."}')


def ruled(winner: str | None) -> Completion:
    """Return a judge's reply."""
    verdict = {"verdict": "That one.", "winner": winner, "reasoning": "Because."}
    return Completion(json.dumps(verdict))


def arguing(
    name: str,
    script: Script | None = None,
    /,
    *,
    policy: bytes | None = None,
    given: Tools | None = None,
    stop: Mapping[str, str] | None = None,
    unchecked: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Record:
    """Run a debate of two stances; the judge finds for the first one."""

    def answer(request: Request) -> Completion:
        if request.phase == "verdict":
            return ruled("ship")
        if request.phase == "synthesis":
            return Completion('{"synthesis":"We ship."}')
        return Completion(f"Point {request.round} of {request.speaker}.")

    whole = {
        "format": "judged",
        "model": "python:bot",
        "review": "the board",
        "max_rounds": 1,
        "debaters": [
            {"id": "ann", "label": "ship", "stance": "Ship it now."},
            {"id": "ben", "label": "wait", "stance": "Wait a week."},
        ],
        **spec,
    }
    return play(
        f"judged-{name}",
        whole,
        answer,
        script,
        policy=policy,
        tools=given,
        stop=stop,
        unchecked=unchecked,
    )


@cache
def judged() -> Record:
    """Twenty-one entries; the seed shows round 2 to the judge in the other order, round 1 not.

    1 opened, 2-4 ann, ben and the judge, 5-7 and 8-10 round 1, 11-13 and 14-16 round 2,
    17 started, 18 answered, 19 verdict, 20 decision, 21 closed.
    """
    return arguing("shuffled", max_rounds=2, seed=SEED)


@cache
def judged_once() -> Record:
    """Fifteen entries: 5-7 and 8-10 the round, 11-13 the verdict, 14 decision, 15 closed."""
    return arguing("once")


@cache
def few() -> Record:
    """Twelve entries: 8 started, 9 failed, 10 ben forfeits, 11 decision, 12 closed."""
    return arguing("few", {"r1.argument.ben:1": fails("client_error")})


@cache
def unjudged() -> Record:
    """Fourteen entries: 11 started, 12 failed, 13 the judge forfeits, 14 closed."""
    return arguing("unjudged", {"r1.verdict.judge:1": fails("client_error")})


@cache
def undeclared() -> Record:
    """Eighteen entries: 12 answered, 13 rejected, 14-15 again, 16 a verdict without a winner."""
    script = {f"r1.verdict.judge:{number}": NEITHER for number in (1, 2)}
    return arguing("undeclared", script, attempts=2)


@cache
def own_judge() -> Record:
    """Fifteen entries: 12 a function in the judge's seat names no stance, which counts."""
    judge = {"model": "custom:bot", "persona": "Not told."}
    return arguing("own-judge", {"r1.verdict.judge:1": NEITHER}, judge=judge, context="Not told.")


def naming(name: str, winner: str, **more: Any) -> Record:
    """Run the debate of `own_judge` with another winner."""
    reply = Completion(json.dumps({"verdict": "So.", "winner": winner, "reasoning": "Because."}))
    script = {"r1.verdict.judge:1": reply}
    return arguing(f"naming-{name}", script, judge={"model": "custom:bot"}, **more)


@cache
def in_words() -> Record:
    """Fifteen entries: 12 a function names ben's stance in its words, 13 verdict, 14 decision."""
    return naming("words", "\tWait  a\nweek. ")


def rejected_first() -> Record:
    """Like `in_words`, but 13 rejects that reply, as if it missed its schema, and 15 is another."""
    named = {"verdict": "So.", "winner": "ship", "reasoning": "Because."}
    script = {
        "r1.verdict.judge:1": Completion("{}"),
        "r1.verdict.judge:2": Completion(json.dumps(named)),
    }
    record = arguing("rejected-first", script, judge={"model": "custom:bot"})
    words = json.dumps({**named, "winner": "Wait a week."})
    return record.text(12, "reply", words)


@group
def judged_good_cases() -> Iterator[Case]:
    """Records of the `judged` format that must be accepted."""
    yield sound(
        "judged-shuffled-and-anonymised",
        "The judge sees no names, and one of the two rounds in the other order, as the seed says.",
        judged(),
    )
    views = {
        "judged-named-in-order": (False, False, "with names, in the order in which they stood"),
        "judged-named-and-shuffled": (False, True, "with names, in the order that the seed says"),
        "judged-anonymised-in-order": (True, False, "as the debaters see them"),
    }
    late = [{"id": "late", "text": "It failed twice.", "from_round": 2}]
    for name, (anonymised, shuffled, how) in views.items():
        record = arguing(
            name,
            max_rounds=2,
            seed=SEED,
            evidence=late,
            anonymize_transcript=anonymised,
            shuffle_for_judge=shuffled,
        )
        why = f"The judge sees the arguments {how}; a document became visible between the rounds."
        yield sound(name, why, record)
    yield sound(
        "judged-without-a-winner",
        "The judge names no winner: the decision is `synthesis`.",
        arguing("synthesis", {"r1.verdict.judge:1": ruled(None)}),
    )
    yield sound(
        "judged-undeclared-at-last",
        "The judge names a winner that is no stance. It is asked again, does so again, and has "
        "no try left: the verdict counts, without a winner.",
        undeclared(),
    )
    yield sound(
        "judged-undeclared-by-a-function",
        "A function in the judge's seat names a winner that is no stance: it is not asked again. "
        "It is told neither its persona nor the context.",
        own_judge(),
    )
    yield sound(
        "judged-named-in-words",
        "A function in the judge's seat names a stance by its words, white space aside.",
        in_words(),
    )
    same = [
        Advocate(id="ann", label="ship", stance="Ship it now."),
        Advocate(id="ben", label="wait", stance="Ship it now."),
    ]
    for key, winner, why, more in (
        ("part", "Wait a", "These words are a part of a stance, and name none.", {}),
        ("case", "wait a week.", "Upper and lower case count: these words name no stance.", {}),
        (
            "shared",
            "Ship it now.",
            "Both stances have these words, so they name neither.",
            {"unchecked": {"debaters": same}},
        ),
    ):
        yield sound(f"judged-named-in-words-{key}", why, naming(key, winner, **more))
    yield sound(
        "judged-by-a-model-in-words",
        "A model in the judge's seat names a stance by its words, which are no label: undeclared.",
        arguing("model-words", {"r1.verdict.judge:1": WORDS}, attempts=1),
    )
    yield sound(
        "judged-judge-failed",
        "The judge cannot be heard: there is no decision, and the debate has failed.",
        unjudged(),
    )
    yield sound(
        "judged-too-few-heard",
        "One of two debaters was heard: nobody judges, and somebody must look.",
        few(),
    )
    yield sound(
        "judged-heard-in-different-rounds",
        "Each debater was heard in one round of two: both were heard, so the judge is asked.",
        arguing(
            "in-turns",
            {
                "r1.argument.ann:1": fails("client_error"),
                "r2.argument.ben:1": fails("client_error"),
            },
            max_rounds=2,
        ),
    )
    stances = [
        {"id": seat, "label": f"for-{seat}", "stance": seat} for seat in ("ann", "ben", "cy")
    ]
    script: Script = {
        "r1.argument.cy:1": fails("client_error"),
        "r1.verdict.judge:1": ruled("for-cy"),
    }
    yield sound(
        "judged-winner-not-heard",
        "The judge finds for a stance that nobody heard: it cannot be the decision.",
        arguing("winner-not-heard", script, debaters=stances),
    )
    yield sound(
        "judged-words-of-every-kind",
        "An argument is a text: white space alone is rejected as `schema`; a fence and an object "
        "are words like any others.",
        arguing(
            "words",
            {
                "r1.argument.ann:1": Completion(" \n\t"),
                "r1.argument.ann:2": Completion("\n```\nShip it.\n```\n"),
                "r1.argument.ben:1": Completion('{"a":1,"a":2}'),
            },
        ),
    )
