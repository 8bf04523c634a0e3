"""The `panel` format: drafts, how alike they are, and what resolves them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from conformance_kit.case import Case, group, sound
from conformance_kit.records import Record, Script, Tools, fails, play
from hansard.runtime.models.base import Completion, ModelError, Request

SEATS = ("ann", "ben", "cy", "dee")
OFF: dict[str, Any] = {"convergence_check": False}
JUDGE: dict[str, Any] = {"judge": {}}
YES_NO = ["yes", "no"]
LONG = "We ship it on Monday because all tests pass and the change is small and can be undone in a"
EDGES = "a\x01b/c:d@e[f`g{h\x7fi\u0080j\u00bfk\u2000l\u3000m\u303f\u206f"
NEGATIONS = (
    "no not never none nor neither nobody nothing cannot without don't doesn't didn't isn't aren't "
    "wasn't weren't won't wouldn't shouldn't can't couldn't hasn't haven't hadn't mustn't"
)
NEGATED = f"{LONG.replace('can', 'can not')} minute or two"


def drafted(answer: str, choice: str | None = None) -> Completion:
    """Return a draft: an answer, with options beside a choice."""
    return Completion(json.dumps({"answer": answer, "choice": choice}) if choice else answer)


def drafting(
    name: str,
    rounds: Sequence[Sequence[str | None]],
    script: Script | None = None,
    *,
    given: Tools | None = None,
    stop: Mapping[str, str] | None = None,
    kept: int | None = None,
    **spec: Any,
) -> Record:
    """Run a panel in which each round's drafts are given; None is a debater who is not heard.

    With options the drafts are the choices.
    """
    options: Sequence[str] = spec.get("options", ())

    def answer(request: Request) -> Completion:
        if request.phase == "draft" and request.round == len(rounds):
            raise ModelError(
                "crashed", "IndexError"
            )  # nobody is heard in a round that is not given
        if request.phase == "draft":
            said = rounds[request.round][SEATS.index(request.speaker)]
            if said is None:
                raise fails("client_error")
            return drafted(f"I say {said}.", said) if options else drafted(said)
        asked = request.reply_schema["properties"]
        found = {key: row["enum"][-1] for key, row in asked.items() if "enum" in row}
        return Completion(json.dumps({key: found.get(key, "Because.") for key in asked}))

    whole = {
        "format": "panel",
        "model": "python:bot",
        "review": "the board",
        "rounds": max(1, len(rounds) - 1),
        "debaters": [{"id": seat} for seat in SEATS[: len(rounds[0])]],
        **spec,
    }
    return play(f"panel-{name}", whole, answer, script, tools=given, stop=stop, kept=kept)


@cache
def majority() -> Record:
    """Twenty-seven entries, three debaters, two rounds.

    1 opened, 2-4 debaters, 5-7 started, 8-10 answered, 11-13 drafts, 14 similarity, 15-24 round
    1 alike, 25 count, 26 decision, 27 closed.
    """
    return drafting("majority", [["yes", "no", "no"], ["yes", "yes", "no"]], options=YES_NO)


@cache
def quorum() -> Record:
    """Thirty-four entries: two of four debaters are heard, choose alike, and are no majority.

    6-17 round 0, 18 similarity, 19-30 round 1, 31 similarity, 32 count, 33 decision, 34 closed.
    """
    script = {f"r{n}.draft.{seat}:1": fails("no_reply") for n in (0, 1) for seat in SEATS[1:3]}
    return drafting("quorum", [["yes"] * 4] * 2, script, options=YES_NO)


@cache
def tie() -> Record:
    """Eighteen entries: 4-9 and 10-15 the rounds, 16 count, 17 decision, 18 closed."""
    return drafting("tie", [YES_NO, YES_NO], options=YES_NO, **OFF)


@cache
def fallback() -> Record:
    """Nineteen entries: 16 count, 17 similarity, 18 decision, 19 closed."""
    return drafting("fallback", [YES_NO, YES_NO], options=YES_NO, fallback="similar", **OFF)


@cache
def counted_texts() -> Record:
    """Twenty-five entries: 5-13 and 14-22 the rounds, 23 count, 24 decision, 25 closed."""
    drafts = ["Forty-one", "It's forty-two", " it\u2019s\u2003 FORTY-TWO\n"]
    return drafting("counted-texts", [drafts, drafts], resolution="majority", **OFF)


@cache
def silent_at_last() -> Record:
    """Texts are counted of a round in which the last of three debaters is not heard."""
    first = ["Forty-one", "Forty-two", "Forty-three"]
    last = ["Forty-one", "Forty-two", None]
    return drafting("silent-at-last", [first, last], resolution="majority", **OFF)


@cache
def alike() -> Record:
    """Twelve entries: 4-9 round 0, 10 similarity, 11 decision, 12 closed."""
    return drafting("alike", [[f"{LONG} minute", f"{LONG} minute (so)"]])


@cache
def negated() -> Record:
    """Nineteen entries: 10 similarity, 11-16 round 1, 17 similarity, 18 decision, 19 closed."""
    plain = NEGATED.replace("can not", "can")
    return drafting("negated", [[plain, NEGATED], [NEGATED, NEGATED]])


@cache
def whole() -> Record:
    """Twenty entries: 10 similarity, 11-16 round 1, 17-18 similarities, 19 decision, 20 closed."""
    drafts = [["no risk, all gain", "all risk, no gain"], ["no risk", " no\u00a0\n risk"]]
    return drafting("whole", drafts, convergence_similarity="1")


@cache
def similar() -> Record:
    """Twenty-five entries: 5-13 and 14-22 the rounds, 23 similarity, 24 decision, 25 closed."""
    drafts = ["ship it now", "wait a week", "ship a week late"]
    return drafting("similar", [drafts, drafts], **OFF)


@cache
def converged_texts() -> Record:
    """Twelve entries: answers converge, so that none is counted; 11 decision, 12 closed."""
    return drafting("converged-texts", [["ship it", "Ship it!"]], resolution="majority")


@cache
def few_drafts() -> Record:
    """Twenty-six entries: 24 similarity of the one debater heard, 25 decision, 26 closed."""
    return drafting("few", [["a", "b", "c"], ["a", None, None]])


@cache
def combined() -> Record:
    """Twenty-one entries: 5-10 and 11-16 the rounds, 17-19 verdict, 20 decision, 21 closed."""
    return drafting("combined", [["ship", "wait"], ["ship", "wait"]], **OFF, **JUDGE)


@cache
def chosen() -> Record:
    """The same twenty-one entries; the judge chooses `no`."""
    return drafting("chosen", [YES_NO, YES_NO], options=YES_NO, **OFF, **JUDGE)


@cache
def picked() -> Record:
    """The same twenty-one entries; the judge picks ben's draft."""
    drafts = [["ship", "wait"], ["ship", "wait"]]
    return drafting("picked", drafts, resolution="pick", **OFF, **JUDGE)


@cache
def not_judged() -> Record:
    """Twenty entries: 17-19 the judge forfeits, 20 closed."""
    script = {"r1.verdict.judge:1": fails("client_error")}
    return drafting("not-judged", [["ship", "wait"], ["ship", "wait"]], script, **OFF, **JUDGE)


@group
def panel_good_cases() -> Iterator[Case]:
    """Records of the `panel` format that must be accepted."""
    for key, record, why in (
        ("majority", majority(), "Two of three debaters choose one option in the last round."),
        (
            "two-of-four-choose-alike",
            quorum(),
            (
                "Two of four debaters are heard and choose alike: that is neither an end of the "
                "rounds nor a majority of those registered."
            ),
        ),
        ("tie", tie(), "Each option has one vote of two: no majority, so somebody must look."),
        (
            "tie-and-fallback",
            fallback(),
            (
                "No majority, so the draft most similar to the others is taken: both are equally "
                "similar, and the first registered one stands."
            ),
        ),
        (
            "majority-of-texts",
            counted_texts(),
            (
                "Answers are equal with white space folded, apostrophes dropped, A to Z lowered; "
                "they are counted under the first debater who gave them."
            ),
        ),
        ("alike", alike(), "Two answers share 20 of 21 words, which is alike enough."),
        (
            "negated",
            negated(),
            (
                "Two answers share 22 of 23 words, and the other one is `not`: they are not alike. "
                "In round 1 both say it, and are."
            ),
        ),
        (
            "whole",
            whole(),
            (
                "At 1.0 answers are compared whole: the same words in another order are not alike, "
                "other white space is. Then the most similar one is found by words."
            ),
        ),
        (
            "most-similar",
            similar(),
            "Nothing is compared until the rounds are over; the third draft has the highest score.",
        ),
        (
            "converged-texts-are-not-counted",
            converged_texts(),
            "A majority is asked for, but the answers converged: the most similar one stands.",
        ),
        ("one-heard", few_drafts(), "One debater is heard in the last round: that is no panel."),
        ("combined", combined(), "The judge combines the drafts."),
        ("chosen", chosen(), "The judge combines the drafts and chooses an option."),
        ("picked", picked(), "The judge picks a draft."),
        ("judge-failed", not_judged(), "The judge cannot be heard, and the debate has failed."),
    ):
        yield sound(f"panel-{key}", why, record)
    yield from _good_rarities()


def _good_rarities() -> Iterator[Case]:
    yield sound(
        "panel-two-of-three-heard",
        "A debater who is silent in the last round abstains, and the two others agree.",
        drafting("two-heard", [["yes", "no", "no"], ["yes", None, "yes"]], options=YES_NO),
    )
    evidence = [
        {"id": "memo", "text": "It failed twice."},
        {"id": "late", "text": "It was the cable.", "from_round": 2},
    ]
    yield sound(
        "panel-documents",
        "A document of round 1 is visible in round 0 already, one of round 2 in the last round.",
        drafting(
            "documents",
            [["ship it", "wait now"], ["ship it soon", "wait for it"], ["ship", "wait"]],
            evidence=evidence,
        ),
    )
    yield sound(
        "panel-silent-and-back",
        "A debater who was silent in round 0 is heard in round 1.",
        drafting("back", [[None, "wait a week"], ["ship", "wait"]]),
    )
    yield sound(
        "panel-majority-falls-back-on-what-was-measured",
        "No text has a majority; the similarity that was measured after the last round is not "
        "measured again.",
        drafting(
            "measured-once",
            [["ship it", "wait now"], ["ship it", "wait for it"]],
            resolution="majority",
            fallback="similar",
        ),
    )
    yield sound(
        "panel-any-wording-converges",
        "At 0 any two answers are alike that negate equally often.",
        drafting("zero", [["ship", "wait"]], convergence_similarity="0"),
    )
    yield sound(
        "panel-words-in-other-scripts",
        "Only A to Z are lowered, other letters are letters; apostrophes of both kinds vanish; "
        "two answers without any word are not alike.",
        drafting(
            "scripts",
            [
                ["ÜBER die Größe", "über die GRÖSSE", "\u6f22\u5b57\u3002\u4ed6"],
                ["\u2026", "???", "\u00b7\u3001"],
                ["don't\u00b7ship", "DON\u2019T\u2014ship", "dont\u3001ship\u00d7"],
            ],
        ),
    )
    yield sound(
        "panel-one-choice-is-no-agreement",
        "One debater alone is heard in round 0: that is no agreement, and there is another round.",
        drafting("one-choice", [["yes", None], ["yes", "yes"]], options=YES_NO),
    )
    yield sound(
        "panel-words-at-the-edges",
        "What divides words, at the edges of its ranges, and what stands just beyond them.",
        drafting(
            "edges", [[EDGES, "a b c d e f g h i j k l m", "a\u00c0b\u1fffc\u2070d\u3040e"]] * 2
        ),
    )
    yield sound(
        "panel-every-negation",
        "One answer says every word that negates once, the other one says `no` as often.",
        drafting("negations", [[NEGATIONS, "No " * len(NEGATIONS.split())]] * 2),
    )
    yield sound(
        "panel-judge-asked-again",
        "The judge picks what is no draft, then what is one.",
        drafting(
            "asked-again",
            [["ship", "wait"], ["ship", "wait"]],
            {"r1.verdict.judge:1": Completion('{"winner":"Ben","justification":"So."}')},
            resolution="pick",
            **OFF,
            **JUDGE,
        ),
    )
    for key, first, why in (
        ("never-heard", None, "was never heard: its draft cannot be the decision"),
        ("heard-before", "late", "was heard in round 0 and silent in round 1: it stands"),
    ):
        rounds = [["ship", "wait", first], ["ship", "wait", None]]
        yield sound(
            f"panel-pick-{key}",
            f"The judge picks a debater who {why}.",
            drafting(f"pick-{key}", rounds, resolution="pick", **OFF, **JUDGE),
        )
    yield sound(
        "panel-judge-of-what-converged",
        "The drafts converge after round 0, and the judge is asked then.",
        drafting("judge-converged", [["yes", "yes"]], options=YES_NO, **JUDGE),
    )
