"""What the record's enums mean, in words of the vocabulary; and amounts and lists in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from hansard import vocabulary
from hansard.report.safe import one_line
from hansard.rules.fields import CallError, Ceiling, CitationFinding, Rejection, Silence
from hansard.rules.spec_parts import NUMBERED
from hansard.rules.spending import DEAREST
from hansard.rules.steps import place_of
from hansard.rules.terms import CloseReason, DecisionRule
from hansard.vocabulary import fill, many

HEAD = 200  # characters of what somebody wrote, in a line that leads
LINE = 1_000  # in a line of a list
FEW = 3  # names in a list, before the others are only counted
TITLE = 80  # in a title, or beside others in a line
GONE = vocabulary.word("gone")
ALIKE = vocabulary.word("alike")

REASONS = cast("Mapping[Silence, str]", vocabulary.words("silences"))
REJECTIONS = cast("Mapping[Rejection, str]", vocabulary.words("rejections"))
ERRORS = cast("Mapping[CallError, str]", vocabulary.words("errors"))
FINDINGS = cast("Mapping[CitationFinding, str]", vocabulary.words("findings"))
STOPPED = cast("Mapping[CloseReason, str]", vocabulary.words("stopped"))
# How a decision came about; the counted ones also have numbers to show.
HOW = cast("Mapping[DecisionRule, str]", vocabulary.words("how"))
# What a server usually means by rejecting a request, and what to look at.
STATUSES = {int(status): text for status, text in vocabulary.words("statuses").items()}
MISSES = vocabulary.words("misses")  # by the keyword of the reply schema that decided


def page(number: int | None) -> str:
    """Return the page of a citation, as it follows its document; nothing where it has none.

    >>> page(2), page(None)
    (', p. 2', '')
    """
    return fill(vocabulary.word("on_page"), page=number) if number else ""


def taken_from(media_type: str, pages: int | None, extractor: str, *, kept: bool) -> str:
    """Say what file the text of a document was taken from, and how.

    >>> taken_from("application/pdf", 2, "pypdfium2/5", kept=True)
    'PDF, 2 pages, text taken by pypdfium2/5, original kept'
    """
    said = vocabulary.words("source")
    return fill(
        said["pages" if pages else "bare"],
        kind=vocabulary.words("media").get(media_type, media_type),
        pages=many(pages or 0, "page"),
        extractor=extractor,
        kept=said["kept" if kept else "not_kept"],
    )


def rejection(
    code: Rejection, member: str | None, keyword: str | None, rating: int | None = None
) -> str:
    """Say why a reply does not count, and where it misses its schema.

    >>> rejection("schema", "vote", "required"), rejection("schema", None, "type")
    ('"vote" is missing', 'the reply has the wrong type')
    """
    if keyword is None:
        return fill(REJECTIONS[code], rating=rating)
    at = vocabulary.words("miss")
    miss = MISSES.get(keyword) or fill(at["other"], keyword=keyword)
    return fill(at["whole" if member is None else "member"], member=member, miss=miss)


def failure(error: CallError, status: int | None, detail: str | None, request: Any) -> str:
    """Say how a call failed: its error, and what is known of the server's answer.

    `request` is the server's id of it; one that is no id is a text, and left out.

    >>> failure("server_error", 503, None, "r-1")
    'server error (HTTP 503, request r-1)'
    """
    words = vocabulary.words("known")
    known = [
        fill(words["status"], status=status) if status else detail,
        STATUSES.get(status or 0),
        fill(words["request"], request=request) if isinstance(request, str) else None,
    ]
    told = listed(filter(None, known))
    return (
        fill(vocabulary.word("error"), error=ERRORS[error], known=told) if told else ERRORS[error]
    )


def place(step: str) -> str:
    """Return a step in words.

    >>> place("r2.critique.ann")
    'ann (round 2, critique)'
    """
    round_, phase, speaker, _ = place_of(step)
    return fill(vocabulary.word("place"), round=round_, phase=phase, speaker=speaker)


def kin(model: str | None, family: str | None) -> str:
    """Say what seats share: one model or, where that is None, one family of models.

    >>> kin("openai:gpt-4o", "gpt"), kin(None, "gpt")
    ('the same model (openai:gpt-4o)', 'models of the same family (gpt)')
    """
    return fill(vocabulary.words("kin")["model" if model else "family"], model=model, family=family)


def stopper(by: str | None, reason: str | None) -> str:
    """Say who stopped a debate and why, as far as that was said.

    >>> stopper("Ann", None), stopper(None, "wrong question")
    ('by Ann', 'without a name, for this reason: wrong question')
    """
    said = "both" if by and reason else "by" if by else "reason" if reason else "none"
    return fill(vocabulary.words("stop")[said], by=by, reason=reason)


def stance(label: str, text: str | None, limit: int = HEAD) -> str:
    r"""Return a stance on one line: in its words, and with the label that its author gave it.

    What is longer than `limit` characters is cut in its words. Where they are gone, and
    of a decision that is no stance, the label is all.

    >>> stance("stance_1", "Ship it\nnow."), stance("ship", "Ship it now.", 14)
    ('Ship it now.', 'Ship i… (ship)')
    """
    own = "" if NUMBERED(label) or label == text else f" ({label})"
    words = one_line(text or "", max(limit - len(own), 1))
    return f"{words}{own}" if words else label


def listed(rows: Iterable[object]) -> str:
    """Return things in a list."""
    return ", ".join(map(str, rows))


def few(rows: Sequence[str]) -> str:
    """Return the first few in a list, and how many more there are.

    >>> few(["ann", "bob"]), few(["ann", "bob", "cat", "dan", "eve"])
    ('ann, bob', 'ann, bob, cat and 2 more')
    """
    names, more = listed(rows[:FEW]), len(rows) - FEW
    return fill(vocabulary.word("more"), names=names, more=more) if more > 0 else names


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
    return many(number, "entry" if ceiling == "entries" else ceiling.removesuffix("s"))


def price_source(source: str) -> str:
    """Say who states a price, from what the record calls its source.

    >>> price_source("spec"), price_source("genai-prices/1.2:dearest-tier")
    ('as the spec says', 'genai-prices/1.2, its dearest tier')
    """
    name = source.removesuffix(DEAREST)
    whose = {"spec": "as the spec says", "model": "as the model states"}.get(name, name)
    return whose + (", its dearest tier" if name != source else "")


def seconds(milliseconds: int) -> str:
    """Return a time in seconds, as short as it is exact.

    >>> seconds(12_000), seconds(750)
    ('12 s', '0.75 s')
    """
    return f"{milliseconds / 1000:.10g} s"


def percent(ppm: int) -> str:
    """Return millionths as per cent with one digit, rounded down so that 100 % is all of it.

    >>> percent(999_999), percent(1_000_000)
    ('99.9%', '100.0%')
    """
    return f"{ppm // 1000 / 10:.1f}%"
