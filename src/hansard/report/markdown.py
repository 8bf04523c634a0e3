"""The report as Markdown, for a file or a page that renders it.

What users and models wrote is hostile: it may try to be a heading, a link, an
image, HTML, or a row of one of our tables. So it stands in a block quote,
every line a paragraph of its own, every sign that means something escaped,
and every word that some renderer would turn into a link as code. Ids hold no
sign that could end a code span or a table cell, and always stand as code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from hansard.debate.formats.consensus import PHASES
from hansard.report.notes import REASONS
from hansard.report.safe import one_line, shown
from hansard.report.view import GONE, DebateResult, Turn, Usage

TITLE = 200  # characters of the question in the title

_SIGNS = re.compile(r"[\\`*_\[\]#|~!>$]")
_OPENER = re.compile(r"^(?:[-+=]|[0-9]+(?=[.)]))")
_LINK = re.compile(r"@|://|www\.|\w\.[a-z]{2}", re.IGNORECASE)
_TICKS = re.compile("`+")


def markdown(result: DebateResult) -> str:
    """Return the whole report; every text in it is neutralised."""
    sections = (
        _head(result),
        _decision(result),
        _votes(result),
        _evidence(result),
        _debaters(result),
        _notes(result),
        _transcript(result),
        _about(result),
    )
    return "\n\n".join(block for section in sections for block in section) + "\n"


def inline(text: str) -> str:
    """Return `text` as one line of Markdown that reads as plain words."""
    words = " ".join(_word(word) for word in shown(text).split())
    return _OPENER.sub(lambda found: _escape_opener(found[0]), words)


def quoted(text: str | None) -> str:
    """Return `text` as a block quote; says so where it is gone."""
    if text is None:
        return f"> {inline(GONE)}"
    lines = [inline(line) for line in text.split("\n") if line.strip()]
    return "\n>\n".join(f"> {line}" for line in lines) or ">"


def dollars(micro_usd: int | None) -> str:
    """Return an amount of micro-US-dollars in dollars, all digits; "unknown" for None."""
    return "unknown" if micro_usd is None else f"{micro_usd // 10**6}.{micro_usd % 10**6:06}"


def _word(word: str) -> str:
    if _LINK.search(word):
        return _code(word)
    word = word.replace("&", "&amp;").replace("<", "&lt;")
    return _SIGNS.sub(lambda found: f"\\{found[0]}", word)


def _escape_opener(opener: str) -> str:
    return f"\\{opener}" if len(opener) == 1 and not opener.isdigit() else f"{opener}\\"


def _code(text: str) -> str:
    """Return a code span that `text` cannot end."""
    fence = "`" * (1 + max((len(run) for run in _TICKS.findall(text)), default=0))
    return f"{fence} {text} {fence}" if len(fence) > 1 else f"`{text}`"


def _ids(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _vote(vote: str | None) -> str:
    return f"`{vote}`" if vote else "abstained"


def _table(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    head = list(header)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def _head(result: DebateResult) -> Iterator[str]:
    question = result.question or GONE
    yield f"# {inline(one_line(question, TITLE))}"
    if result.scripted:
        yield "**Scripted replies**"
    state = "still open" if result.status == "open" else f"closed {result.closed_at}"
    yield f"Debate `{result.debate}`, opened {result.opened_at}, {state}."
    if "\n" in question.strip() or len(question) > TITLE:
        yield "The question in full:"
        yield quoted(question)


def _decision(result: DebateResult) -> Iterator[str]:
    yield "## Decision"
    many, needed = len(result.debater_ids), result.consensus_threshold
    rounds = f"after {result.rounds_run} of at most {result.max_rounds} rounds"
    if result.status == "failed":
        yield f"None: the debate failed (`{result.reason}`) {rounds}."
    elif result.decision is None:
        yield f"None yet: the debate is still open {rounds}."
    elif result.decision_rule == "max_rounds_exhausted":
        yield f"**`{result.decision}`**: no single option was held by {needed} of {many} {rounds}."
    else:
        held = result.vote_tally.get(result.decision, 0)
        yield (
            f"**`{result.decision}`**, held by {held} of {many} debaters {rounds}; "
            f"{needed} were needed (`{result.rule}`)."
        )
    if result.review is not None:
        yield "Who must look:"
        yield quoted(result.review)
    for row in result.dissent:
        yield f"Dissent: `{row.speaker}` {'voted ' if row.vote else ''}{_vote(row.vote)}."
    yield f"```text\n{result.to_report()}\n```"


def _votes(result: DebateResult) -> Iterator[str]:
    yield "## Votes"
    rows = []
    for (round_, phase), turns in groupby(
        result.transcript, key=lambda turn: (turn.round_index, turn.phase)
    ):
        by_speaker = {turn.speaker_id: _vote(turn.vote) for turn in turns}
        rows.append([round_, phase, *(by_speaker.get(seat, "") for seat in result.debater_ids)])
    yield _table(["round", "phase", *(f"`{seat}`" for seat in result.debater_ids)], rows)
    yield f"Options: {_ids(result.options)}."


def _evidence(result: DebateResult) -> Iterator[str]:
    yield "## Evidence"
    if not result.evidence:
        yield "None."
        return
    yield _table(
        ["document", "from round", "characters", "blob"],
        (
            [f"`{row.id}`", row.from_round, _or_gone(row.characters), f"`{row.sha256}`"]
            for row in result.evidence
        ),
    )


def _or_gone(number: int | None) -> str:
    return inline(GONE) if number is None else str(number)


def _debaters(result: DebateResult) -> Iterator[str]:
    yield "## Debaters and cost"
    seats = [[f"`{seat.id}`", f"`{seat.model}`", *_numbers(seat)] for seat in result.seats]
    yield _table(
        ["debater", "model", "calls", "tokens in", "of them cached", "tokens out", "US dollars"],
        [*seats, ["all", "", *_numbers(result.totals)]],
    )
    calls = result.calls
    yield (
        f"Calls: {calls.asked} asked, {calls.answered} answered, {calls.failed} failed, "
        f"{calls.rejected} rejected, {calls.abandoned} abandoned."
    )
    for seat in result.seats:
        if seat.persona is not None:
            yield f"Persona of `{seat.id}`:"
            yield quoted(seat.persona)


def _numbers(usage: Usage) -> list[str]:
    counts = (usage.calls, usage.tokens_in, usage.tokens_cached, usage.tokens_out)
    return [*map(str, counts), dollars(usage.cost_micro_usd)]


def _notes(result: DebateResult) -> Iterator[str]:
    yield "## Notes"
    rows = (
        f"- {inline(note.message)}" + (f" (entry {note.seq})" if note.seq else "")
        for note in result.notes
    )
    yield "\n".join(rows) or "None."


def _transcript(result: DebateResult) -> Iterator[str]:
    yield "## Transcript"
    for turn in result.transcript:
        yield f"### Round {turn.round_index}, {turn.phase}: `{turn.speaker_id}`"
        yield from _turn(turn)


def _turn(turn: Turn) -> Iterator[str]:
    if turn.reason:
        yield f"Not heard: {REASONS[turn.reason]}. Counts as an abstention (entry {turn.seq})."
        return
    yield f"Vote: {_vote(turn.vote)} (entry {turn.seq})"
    yield "Stance:"
    yield quoted(turn.stance)
    yield "Rationale:"
    yield quoted(turn.rationale)


def _about(result: DebateResult) -> Iterator[str]:
    yield "## How to check this"
    yield "This report was made from the record. To check every entry of the record again:"
    yield f"```sh\nhansard verify {result.debate}\n```"
    seats, phases = len(result.debater_ids), len(PHASES)
    most = seats * phases * result.max_rounds
    yield (
        f"Use `{result.format}` when a high-stakes decision needs several perspectives and a "
        "counted vote, not when one critic or a test can decide; it costs at most debaters × "
        f"{phases} × rounds calls, here {seats} × {phases} × {result.max_rounds} = {most}, "
        "repeated ones aside."
    )
