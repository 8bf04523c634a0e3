"""What the record's enums mean, in words."""

from __future__ import annotations

from hansard.rules.fields import (
    CallError,
    Ceiling,
    CitationFinding,
    CloseReason,
    DecisionRule,
    Rejection,
)

GONE = "[text erased or missing]"
ALIKE = "similar wording, neither agreement nor correctness"

REASONS = {"no_reply": "no reply came", "invalid_reply": "no reply could be counted"}
REJECTIONS: dict[Rejection, str] = {
    "unreadable": "it is not the JSON that was asked for",
    "schema": "a part is missing, empty or one too many",
    "unknown_option": "it names something that is not an option",
    "output_schema": "it does not fit the output schema",
    "weak_critique": "it rates itself too weak",
    "cut_off": "it was cut off",
    "refused": "the model refused",
    "filtered": "the provider filtered it",
    "not_finished": "the model did not finish it",
}
_MISSES = {  # by the keyword of the reply schema that decided
    "type": "is of the wrong type",
    "enum": "is none of what may be named",
    "minLength": "is empty",
    "minimum": "is out of its range",
    "minItems": "has too few or too many items",
    "required": "is missing",
    "additionalProperties": "has a part that was not asked for",
}
ERRORS: dict[CallError, str] = {
    "rate_limited": "rate limited",
    "timeout": "no answer in time",
    "server_error": "error of the server",
    "client_error": "refused by the server",
    "unreachable": "server not reached",
    "crashed": "error in the client",
    "no_reply": "no reply",
    "abandoned": "its process died",
}
FINDINGS: dict[CitationFinding, str] = {
    "verified": "found in the document",
    "no_such_document": "there is no such document",
    "not_yet_visible": "nobody had seen that document yet",
    "not_found": "not found in the document",
}
STOPPED: dict[CloseReason, str] = {
    "votes_reached": "an option was held by enough debaters",
    "max_rounds_exhausted": "the rounds were used up",
    "rounds_complete": "all its rounds were over",
    "converged": "the answers of a round were alike",
    "moderator_satisfied": "the moderator wanted no further round",
    "calls_ceiling": "the next call could have broken the ceiling on calls",
    "tokens_ceiling": "the next call could have broken the ceiling on tokens",
    "cost_ceiling": "the next call could have broken the ceiling on cost",
    "seconds_ceiling": "the time allowed for it was up",
    "prompt_refused": "a prompt was not approved",
    "judge_failed": "the judge could not be heard",
    "moderator_failed": "the moderator could not be heard",
}
# How a decision came about; the counted ones also have numbers to show.
HOW: dict[DecisionRule, str] = {
    "threshold_vote": "enough debaters hold it",
    "majority_vote": "more than half of the debaters hold it",
    "unanimous_vote": "all debaters hold it",
    "max_rounds_exhausted": "no option was held by enough debaters",
    "judge_verdict": "the judge's verdict",
    "judge_synthesis": "the judge wrote the answer",
    "judge_pick": "the judge picked this draft",
    "moderator_synthesis": "the moderator weighed the arguments",
    "moderator_ranking": "the moderator ranked it first",
    "unchallenged": "no critique that holds was made of what the moderator upheld",
    "unsupported": "every argument for it rests on a citation that does not hold",
    "too_few_heard": "too few were heard",
    "no_majority": "no answer was held by more than half of the debaters",
    "most_similar": f"this draft is the most like the others: {ALIKE}",
}


def rejection(code: Rejection, member: str | None, keyword: str | None) -> str:
    """Say why a reply does not count, and where it misses its schema.

    >>> rejection("schema", "vote", "required"), rejection("schema", None, "type")
    ('its part vote is missing', 'it is of the wrong type')
    """
    if keyword is None:
        return REJECTIONS[code]
    where = "it" if member is None else f"its part {member}"
    return f"{where} {_MISSES.get(keyword, f'does not fit ({keyword})')}"


def dollars(micro_usd: int | None) -> str:
    """Return an amount of micro-US-dollars in dollars, all digits; "unknown" for None."""
    if micro_usd is None:
        return "unknown"
    whole, rest = divmod(abs(micro_usd), 10**6)
    return f"{'-' if micro_usd < 0 else ''}{whole}.{rest:06}"


def amount(ceiling: Ceiling, number: int) -> str:
    """Return a number in the unit of its ceiling.

    >>> amount("cost", 500_000), amount("seconds", 1500), amount("calls", 4)
    ('0.500000 US dollars', '1.5 seconds', '4 calls')
    """
    if ceiling == "cost":
        return f"{dollars(number)} US dollars"
    if ceiling == "seconds":
        return f"{number / 1000:.10g} seconds"
    return f"{number} {ceiling.removesuffix('s') if number == 1 else ceiling}"


def seconds(milliseconds: int) -> str:
    """Return a time in seconds, as short as it is exact.

    >>> seconds(12_000), seconds(750)
    ('12 s', '0.75 s')
    """
    return f"{milliseconds / 1000:.10g} s"


def percent(ppm: int) -> str:
    """Return millionths as per cent with one digit, rounded down so that 100 % is all of it.

    >>> percent(999_999), percent(1_000_000)
    ('99.9 %', '100.0 %')
    """
    return f"{ppm // 1000 / 10:.1f} %"


# What a server usually means by refusing a request, and what to look at.
STATUSES = {
    400: "it did not accept the settings, or the prompt is too long",
    401: "it did not accept the key",
    402: "there is no credit left",
    403: "the key may not do this",
    404: "there is no such model, or the address is wrong; most end in /v1",
    413: "the prompt is too long",
}
