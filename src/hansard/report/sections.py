"""The sections of a Markdown report that are the same in every format, up to its annexes.

What a reader needs first comes first: what became of the debate, what needs a look, what was
concluded and what is open, who is behind it, what it was made of, and what it cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hansard import vocabulary
from hansard.report import erasing, reviews, said
from hansard.report.acting import acting
from hansard.report.display import Display, R
from hansard.report.notes import Note
from hansard.report.outcome import lead
from hansard.report.parts import Usage
from hansard.report.result import Result
from hansard.report.safe import one_line
from hansard.report.signs import (
    as_json,
    ids,
    inline,
    listed,
    named,
    or_gone,
    quoted,
    table,
    undecided,
)
from hansard.report.words import GONE, HOW, amount, dollars, percent
from hansard.rules.fields import Ceiling

TITLE = 200  # characters of the question in the title
_HASH = 16  # characters of a hash that stands in full in an annex


def head(result: R, own: Display[R]) -> Iterator[str]:
    """The question, what became of it in one sentence, and which debate this is."""
    question = result.question or GONE
    yield f"# {inline(one_line(question, TITLE))}"
    if result.scripted:
        yield "**Scripted replies**"
    yield f"**{inline(lead(result, own).sentence)}**"
    yield f"**{inline(acting(result).sentence)}.**"
    if "\n" in question.strip() or len(question) > TITLE:
        yield "The question in full:"
        yield quoted(question)
    state = "still open" if result.status == "open" else f"closed {result.closed_at}"
    names = f", name `{result.name}`" if result.name else ""
    names += f", collection `{result.collection_id}`" if result.collection_id else ""
    yield f"Debate `{result.debate}`, opened {result.opened_at}, {state}."
    yield f"Format `{result.format}`{names}. Recorded by `{result.engine}`."


def exceptions(result: Result) -> Iterator[str]:
    """Whatever is no mere information: each rule that somebody must look at, and its findings."""
    yield "## What needs a look"
    rows = [row for row in result.governance if row.review]
    told = {(note.code, note.seq, note.message) for row in rows for note in row.notes}
    loose = [
        note
        for note in result.notes
        if note.severity != "info" and (note.code, note.seq, note.message) not in told
    ]
    if not rows and not loose:
        yield "Nothing."
    for row in rows:
        found = f" Found: {inline(row.found)}." if row.found else ""
        checks = f" (checks {', '.join(map(str, row.checks))})" if row.checks else ""
        yield f"**{row.name}**: {row.rule}{found}{checks}"
        if row.notes:
            yield findings(row.notes)
    if loose:
        yield findings(loose)


def findings(notes: Iterable[Note]) -> str:
    """Return notes as a list, each with the entry that it is of."""
    return "\n".join(
        f"- {'**critical**: ' if note.severity == 'critical' else ''}{inline(note.message)}"
        + (f" (entry {note.seq})" if note.seq else "")
        for note in notes
    )


def decision(result: Result) -> Iterator[str]:
    """What was decided, how and by whom; where votes made it there is more to say."""
    yield "## Decision"
    if result.decision is None or result.decision_rule is None:
        yield from undecided(result)
    else:
        argued = f", argued by `{result.argued_by}`" if result.argued_by else ""
        decided = named(result.decision, result.decision_text)
        yield (
            f"**{decided}**{argued}: {HOW[result.decision_rule]}, after "
            f"{result.rounds_run} of at most {result.max_rounds} rounds (`{result.decision_rule}`)."
        )
    yield from missing(result)


def missing(result: Result) -> Iterator[str]:
    """That the output is missing, where it is."""
    if result.output_missing:
        yield f"**The output is missing**: {inline(result.output_missing)}."


def output(result: Result) -> Iterator[str]:
    """What the synthesizer wrote."""
    if result.output is not None:
        yield "## Output"
        yield as_json(result.output)


def points(result: R, own: Display[R]) -> Iterator[str]:
    """What the debate left open, in its own words; nothing where its format lists nothing."""
    found = list(own.points(result))
    if found:
        yield "## Open points"
        yield listed(found)


def people(result: Result) -> Iterator[str]:
    """Who asks, who answers for it, who must look, and what people said of it."""
    yield "## People"
    yield "\n".join(f"- {label}: {inline(words)}" for label, words in said.rows(result))
    if result.review is not None:
        yield "Who must look:"
        yield quoted(result.review)
    reviewed = reviews.notable(result)
    if reviewed:
        yield f"{vocabulary.words('reviewed')['label']}: {inline(reviewed)}."
        rows = [f"- {inline(words)}" for words in reviews.conditions(result)]
        yield from ["\n".join(rows)] if rows else []
    gone = [f"- {inline(words)}" for words in erasing.in_words(result.reviewed)]
    if gone:
        yield f"{erasing.LABEL}:"
        yield "\n".join(gone)
    for row in result.reviewed.reviews:
        if row.comment is not None:
            yield f"{inline(reviews.person(row))} (entry {row.seq}):"
            yield quoted(row.comment)


def participants(result: Result) -> Iterator[str]:
    """Who sat at the table: the model that was asked, those that served, and the templates."""
    yield "## Participants"
    rows = []
    for seat in result.seats:
        asked = [row for row in result.asked if row.seat == seat.id]
        served = dict.fromkeys(row.served or "not stated" for row in asked)
        templates = dict.fromkeys(row.template[:_HASH] for row in asked)
        rows.append(
            [
                f"`{seat.id}`",
                seat.role,
                f"`{seat.model}`",
                ", ".join(map(inline, served)) or "not asked",
                ids(templates),
            ]
        )
    yield table(["seat", "role", "model asked", "served", "templates"], rows)


def evidence(result: R, own: Display[R]) -> Iterator[str]:
    """Which documents there were, and who cited them where arguments cite."""
    yield "## Evidence"
    if not result.evidence:
        yield "None."
        return
    cited = list(own.cited(result))
    rows = []
    for row in result.evidence:
        whose = [f"`{who}`" + _held(held) for who, name, held in cited if name == row.id]
        cells = [f"`{row.id}`", row.from_round, or_gone(row.characters), f"`{row.sha256}`"]
        rows.append([*cells, *([", ".join(whose) or "nobody"] if cited else [])])
    header = ["document", "from round", "characters", "blob"]
    yield table([*header, *(["cited by"] if cited else [])], rows)
    files = [(row.id, row.source) for row in result.evidence if row.source]
    if files:
        yield "Taken from files, whose text is what was debated:"
        yield table(
            ["document", "file", "SHA-256 of the file"],
            (
                [
                    f"`{name}`",
                    inline(str(file)),
                    inline(GONE if file.sha256 is None else file.sha256),
                ]
                for name, file in files
            ),
        )


def _held(held: Sequence[bool]) -> str:
    """Say how often, and how many of these do not hold."""
    return f" {len(held)}" + ("" if all(held) else f", {held.count(False)} of them not verified")


def cost(result: Result) -> Iterator[str]:
    """What each seat used, and what ceilings there were."""
    yield "## Cost"
    rows = [[f"`{seat.id}`", *_numbers(seat)] for seat in result.seats]
    header = ["seat", "calls", "of them failed", "tokens in", "of them cached"]
    header += ["written to the cache", "tokens out", "US dollars", "saved by the cache"]
    yield table(header, [*rows, ["all", *_numbers(result.totals)]])
    calls = result.calls
    yield (
        f"Calls: {calls.asked} asked, {calls.answered} answered, {calls.failed} failed, "
        f"{calls.rejected} rejected, {calls.abandoned} abandoned."
    )
    if result.unpriced:
        yield f"Not known: the price of {ids(result.unpriced)}."
    yield from _ceilings(result)


def _numbers(usage: Usage) -> list[str]:
    share = "" if usage.cached_ppm is None else f" ({percent(usage.cached_ppm)})"
    counts = (usage.calls, usage.failed, usage.tokens_in, f"{usage.tokens_cached}{share}")
    return [
        *map(str, (*counts, usage.tokens_cache_write, usage.tokens_out)),
        dollars(usage.cost_micro_usd),
        dollars(usage.saved_micro_usd),
    ]


def _ceilings(result: Result) -> Iterator[str]:
    """The most that may be used, and what counts as used."""
    limits, charged = result.limits, result.charged
    numbers: dict[Ceiling, tuple[int | None, int | None]] = {
        "calls": (limits.calls, result.totals.calls),
        "tokens": (limits.tokens, charged.tokens),
        "cost": (limits.cost_micro_usd, charged.cost_micro_usd),
        "seconds": (limits.elapsed_ms, None),
    }
    rows = [
        amount(name, limit)
        + ("" if counted is None else f" ({amount(name, counted)} counted as used)")
        for name, (limit, counted) in numbers.items()
        if limit is not None
    ]
    if rows:
        yield f"Ceilings: {', '.join(rows)}."
