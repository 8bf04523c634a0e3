"""The sections of a Markdown report that are the same in every format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from hansard import vocabulary
from hansard.report import reviews, said
from hansard.report.result import Drift, GovernanceRow, Result, Usage
from hansard.report.safe import one_line
from hansard.report.signs import (
    as_json,
    ids,
    inline,
    named,
    or_gone,
    quoted,
    table,
    undecided,
    voted,
)
from hansard.report.words import GONE, HOW, amount, dollars, few, percent
from hansard.rules.fields import Ceiling

TITLE = 200  # characters of the question in the title


def head(result: Result) -> Iterator[str]:
    """The question, and which debate this is."""
    question = result.question or GONE
    yield f"# {inline(one_line(question, TITLE))}"
    if result.scripted:
        yield "**Scripted replies**"
    state = "still open" if result.status == "open" else f"closed {result.closed_at}"
    names = f", name `{result.name}`" if result.name else ""
    names += f", collection `{result.collection_id}`" if result.collection_id else ""
    yield f"Debate `{result.debate}`, opened {result.opened_at}, {state}."
    yield f"Format `{result.format}`{names}. Recorded by `{result.engine}`."
    yield "\n".join(f"- {label}: {inline(words)}" for label, words in said.rows(result))
    leads = ", in parallel phases with one call ahead of the others" if result.leading_call else ""
    yield f"Prompts were laid out as `{result.layout}`{leads}."
    if "\n" in question.strip() or len(question) > TITLE:
        yield "The question in full:"
        yield quoted(question)


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
    yield from review(result)


def review(result: Result) -> Iterator[str]:
    """That the output is missing, where it is; who must look, where nothing was agreed on."""
    if result.output_missing:
        yield f"**The output is missing**: {inline(result.output_missing)}."
    if result.review is not None:
        yield "Who must look:"
        yield quoted(result.review)
    reviewed = reviews.notable(result)
    if reviewed:
        yield f"{vocabulary.words('reviewed')['label']}: {inline(reviewed)}."
        listed = [f"- {inline(words)}" for words in reviews.conditions(result)]
        yield from ["\n".join(listed)] if listed else []


def output(result: Result) -> Iterator[str]:
    """What the synthesizer wrote."""
    if result.output is not None:
        yield "## Output"
        yield as_json(result.output)


def evidence(result: Result) -> Iterator[str]:
    """Which documents there were."""
    yield "## Evidence"
    if not result.evidence:
        yield "None."
        return
    yield table(
        ["document", "from round", "characters", "blob"],
        (
            [f"`{row.id}`", row.from_round, or_gone(row.characters), f"`{row.sha256}`"]
            for row in result.evidence
        ),
    )
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


def seats(result: Result) -> Iterator[str]:
    """Who sat at the table, and what each used."""
    yield "## Seats and cost"
    rows = [
        [f"`{seat.id}`", seat.role, f"`{seat.model}`", *_numbers(seat)] for seat in result.seats
    ]
    header = ["seat", "role", "model", "calls", "of them failed", "tokens in", "of them cached"]
    header += ["written to the cache", "tokens out", "US dollars", "saved by the cache"]
    yield table(header, [*rows, ["all", "", "", *_numbers(result.totals)]])
    calls = result.calls
    yield (
        f"Calls: {calls.asked} asked, {calls.answered} answered, {calls.failed} failed, "
        f"{calls.rejected} rejected, {calls.abandoned} abandoned."
    )
    yield from _prices(result)
    yield from _ceilings(result)
    for seat in result.seats:
        asked = [
            f"`{name}` `{value}`" for name, value in seat.parameters.items() if value is not None
        ]
        if asked:
            yield f"Settings of `{seat.id}`: {', '.join(asked)}."
        if seat.persona is not None:
            yield f"Persona of `{seat.id}`:"
            yield quoted(seat.persona)


def _numbers(usage: Usage) -> list[str]:
    share = "" if usage.cached_ppm is None else f" ({percent(usage.cached_ppm)})"
    counts = (usage.calls, usage.failed, usage.tokens_in, f"{usage.tokens_cached}{share}")
    return [
        *map(str, (*counts, usage.tokens_cache_write, usage.tokens_out)),
        dollars(usage.cost_micro_usd),
        dollars(usage.saved_micro_usd),
    ]


def _prices(result: Result) -> Iterator[str]:
    """The price of each model, and who says so."""
    if result.prices:
        yield "US dollars per million tokens:"
        header = ["model", "price from", "in", "cached", "written to the cache", "out"]
        parts = ("input", "cached", "cache_write", "output")
        rows = (
            [
                f"`{row['model']}`",
                f"`{row['source']}`",
                *(dollars(cast(Any, row)[f"{part}_micro_usd"]) for part in parts),
            ]
            for row in result.prices
        )
        yield table(header, rows)
    if result.unpriced:
        yield f"Not known: the price of {ids(result.unpriced)}."


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


def prompts(result: Result) -> Iterator[str]:
    """Which model served each call, and the hashes of what its prompt was made of."""
    yield "## Models and prompts"
    yield (
        "A prompt is its template, the texts below, and the evidence and replies before it, in "
        "the order of FORMAT.md §7. Its digest is recorded before the call; "
        f"`hansard show {result.debate} --prompt CALL` prints its text."
    )
    yield table(
        ["call", "entry", "asked", "served", "fingerprint", "template", "prompt", "reply"],
        (
            [
                f"`{row.call}`",
                row.seq,
                f"`{row.model}`",
                inline(row.served or "not stated"),
                inline(row.fingerprint or "not stated"),
                f"`{row.template}`",
                f"`{row.prompt}`",
                f"`{row.reply}`" if row.reply else "none",
            ]
            for row in result.asked
        ),
    )
    yield table(
        ["template or text", "SHA-256"],
        (
            *([f"template `{row['role']}`", f"`{row['sha256']}`"] for row in result.templates),
            *([row.what, f"`{row.sha256}`"] for row in result.texts),
        ),
    )


def tools(result: Result) -> Iterator[str]:
    """Which tools were used, with what, and what they gave."""
    if result.tools:
        yield "## Tools"
    for row in result.tools:
        came = {True: "it gave:", False: "it failed:", None: "it has not come back."}[row.ok]
        yield (
            f"`{row.call}` asked for {inline(GONE if row.tool is None else row.tool)} "
            f"(entry {row.seq}), with:"
        )
        yield quoted(row.arguments)
        yield came[0].upper() + came[1:]
        if row.ok is not None:
            yield quoted(row.result)


def seen(result: Result) -> Iterator[str]:
    """What code can see: who changed, who spoke most, who is too much alike."""
    yield "## What code can see"
    for row in result.drift:
        yield from _changed(row)
    if not result.drift:
        yield "Nobody changed a vote, an answer or a thesis."
    yield table(
        ["seat", "characters", "share"],
        (
            [
                f"`{row.seat}`",
                or_gone(row.characters),
                "" if row.share_ppm is None else percent(row.share_ppm),
            ]
            for row in result.shares
        ),
    )
    for group in result.theatre:
        what = f"the model `{group.model}`" if group.model else f"the family `{group.family}`"
        persona = "one persona" if group.persona else "no persona"
        yield f"{ids(group.seats)} share {what} and {persona}."


def _changed(row: Drift) -> Iterator[str]:
    who = f"`{row.speaker}` changed its {row.what} in round {row.round_index}, {row.phase}"
    if row.what == "vote":
        held = f", as held by {few([ids([name]) for name in row.towards])}" if row.towards else ""
        yield f"{who}: {voted(row.before)}, then {voted(row.after)}{held}."
    elif row.what == "answer":
        near = f": towards {ids(row.towards)}" if row.towards else ": towards nobody's"
        if row.before_ppm is not None and row.after_ppm is not None:
            near += f", {percent(row.before_ppm)} alike before and {percent(row.after_ppm)} after"
        yield f"{who}{near}."
    else:
        yield f"{who}, from:"
        yield quoted(row.before)
        yield "to:"
        yield quoted(row.after)


def notes(result: Result) -> Iterator[str]:
    """What a reader must know."""
    yield "## Notes"
    rows = (
        f"- {'**critical**: ' if note.severity == 'critical' else ''}{inline(note.message)}"
        + (f" (entry {note.seq})" if note.seq else "")
        for note in result.notes
    )
    yield "\n".join(rows) or "None."


def governance(result: Result) -> Iterator[str]:
    """What a compliance officer asks, and what the record shows."""
    yield "## Governance checks"
    yield (
        "Each rule, and what the record shows. A rule that names checks holds only where "
        "`hansard verify` passes them."
    )
    yield table(
        ["result", "name", "rule", "found", "entries", "checks"],
        (_row(row) for row in result.governance),
    )


def _row(row: GovernanceRow) -> Iterator[str]:
    yield "**to review**" if row.review else "nothing to review"
    yield row.name
    yield row.rule
    yield inline(row.found or "; ".join(note.message for note in row.notes))
    yield ", ".join(dict.fromkeys(str(note.seq) for note in row.notes if note.seq))
    yield ", ".join(map(str, row.checks))


def about(result: Result, use: str) -> Iterator[str]:
    """How to check the report, and what its format is good for."""
    yield "## How to check this"
    yield "This report was made from the record. To check every entry of the record again:"
    yield f"```sh\nhansard verify {result.debate}\n```"
    yield vocabulary.words("claims")["unproven"]
    yield f"Use `{result.format}` {use}, repeated ones aside."
