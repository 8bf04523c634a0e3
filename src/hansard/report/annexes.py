"""The annexes of a Markdown report: all that its first pages rest on, for whoever looks closer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from hansard import vocabulary
from hansard.report.parts import Drift, GovernanceRow
from hansard.report.result import Result
from hansard.report.sections import findings
from hansard.report.signs import ids, inline, or_gone, quoted, table, voted
from hansard.report.words import GONE, dollars, few, percent


def begin(_: Result) -> Iterator[str]:
    """Where the annexes begin."""
    yield "# Annexes"


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


def personas(result: Result) -> Iterator[str]:
    """How each seat was told to argue."""
    told = [seat for seat in result.seats if seat.persona is not None]
    if told:
        yield "## Personas"
    for seat in told:
        yield f"Persona of `{seat.id}`:"
        yield quoted(seat.persona)


def settings(result: Result) -> Iterator[str]:
    """How the debate ran, how prompts were laid out, and what each model was set to."""
    yield "## Settings"
    rows = {
        "Argued": ids(result.debater_ids),
        "Phases": ids(result.phase_sequence),
        "Spoke, in order": ids(result.speaker_schedule),
        "Decided by": f"`{result.decision_rule}`" if result.decision_rule else "",
    }
    yield "\n".join(f"- {label}: {said}" for label, said in rows.items() if said)
    leads = ", in parallel phases with one call ahead of the others" if result.leading_call else ""
    yield f"Prompts were laid out as `{result.layout}`{leads}."
    for seat in result.seats:
        asked = [
            f"`{name}` `{value}`" for name, value in seat.parameters.items() if value is not None
        ]
        if asked:
            yield f"Settings of `{seat.id}`: {', '.join(asked)}."


def prices(result: Result) -> Iterator[str]:
    """The price of each model, and who says so."""
    if not result.prices:
        return
    yield "## Prices"
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


def others(result: Result) -> Iterator[str]:
    """What needs no look: the notes that only inform, and the rules with nothing to review."""
    yield "## Notes"
    yield findings(note for note in result.notes if note.severity == "info") or "None."
    yield "## Governance checks with nothing to review"
    yield (
        "Each rule, and what the record shows. A rule that names checks holds only where "
        "`hansard verify` passes them."
    )
    yield table(
        ["name", "rule", "found", "entries", "checks"],
        (_row(row) for row in result.governance if not row.review),
    )


def _row(row: GovernanceRow) -> Iterator[str]:
    yield row.name
    yield row.rule
    yield inline(row.found or "; ".join(note.message for note in row.notes))
    yield ", ".join(dict.fromkeys(str(note.seq) for note in row.notes if note.seq))
    yield ", ".join(map(str, row.checks))


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


def about(result: Result, use: str) -> Iterator[str]:
    """How to check the report, and what its format is good for."""
    yield "## How to check this"
    yield "This report was made from the record. To check every entry of the record again:"
    yield f"```sh\nhansard verify {result.debate}\n```"
    yield vocabulary.words("claims")["unproven"]
    yield f"Use `{result.format}` {use}, repeated ones aside."
