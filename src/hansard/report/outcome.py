"""What became of a debate, in a few rows of plain text: for a terminal, a prompt and a notebook.

A debate that is open, failed or was cut short is said to be that, and never to have decided.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from unicodedata import east_asian_width

from hansard import vocabulary
from hansard.report import erasing, reviews
from hansard.report.acting import is_left
from hansard.report.display import Display, R, Row
from hansard.report.lead import Lead, sat, say
from hansard.report.notes import DOUBTFUL, Note
from hansard.report.result import Result
from hansard.report.safe import COLUMNS, escaped, one_line, untypeset
from hansard.report.signs import failure_of
from hansard.report.words import GONE, HEAD, LINE, STOPPED, dollars, stance
from hansard.vocabulary import many

REVIEW = vocabulary.words("reviewed")["label"]
_WIDE = "WF"  # the East Asian widths of signs that take two columns
_SCRIPTED = "Scripted replies"


def cost_of(result: Result) -> int | None:
    """Return what all calls cost in micro-US-dollars; None where that of a reply is not known."""
    partly = any(note.code == "cost_incomplete" for note in result.notes)
    return None if partly else result.totals.cost_micro_usd


def lead(result: R, own: Display[R]) -> Lead:
    """Return what became of a debate as one sentence in its parts; a failed one decided nothing."""
    if result.decision_rule is not None:
        head, tail = own.lead(result, result.decision_rule)
        return Lead(head, sat(result, tail))
    if result.reason is None:
        running = say("running", round=result.rounds_run, rounds=result.max_rounds)
        return Lead(say("open"), running)
    why = STOPPED[result.reason]
    if result.truncated is None:
        return Lead(say("failed"), why)
    whose = result.truncated.stopper
    why += f", {one_line(whose, HEAD)}" if whose else ""
    stood = say("why", why=why, standing=own.standing(result))
    return Lead(say("truncated"), sat(result, stood))


def undecided(result: Result) -> str:
    """Say that nothing was decided, and why."""
    rounds = _rounds(result)
    if result.reason is None:
        return f"none yet: still open, {rounds}"
    if result.status == "truncated":
        whose = result.truncated and result.truncated.stopper
        why = f"{STOPPED[result.reason]}{f', {one_line(whose)}' if whose else ''}"
        return f"none: cut short, {why} ({result.reason}), {rounds}"
    return f"none: failed ({result.reason}), {rounds}. {failure_of(result)}"


def argued(result: Result) -> str:
    """Say which seat argued what was decided; nothing where a decision is no stance."""
    return f", argued by {result.argued_by}" if result.argued_by else ""


def reached(result: R, own: Display[R]) -> str:
    """Say how the decision came about, and when."""
    return f"{own.how(result)}, {_rounds(result)} ({result.decision_rule})"


def _rounds(result: Result) -> str:
    return f"round {result.rounds_run} of at most {result.max_rounds}"


def rows(result: R, own: Display[R]) -> Iterator[Row]:
    """Yield what stands beside the decision: a missing output, findings, and who must look."""
    if result.output_missing:
        yield Row("Output", f"missing: {one_line(result.output_missing)}")
    yield from own.rows(result)
    if result.review is not None:
        yield Row("Must look", one_line(result.review))
    reviewed = reviews.notable(result)
    if reviewed:
        yield Row(REVIEW, one_line(reviewed))
        yield from (Row("Condition", words) for words in reviews.conditions(result, LINE))
    yield from (Row(erasing.LABEL, told) for told in erasing.in_words(result.reviewed, LINE))


def told(result: Result) -> list[Note]:
    """Return the notes that nobody may miss: on the debate, critical, or on its critique.

    Also that there was a tie, where the most similar draft stands: then it says what chose it.
    """
    chosen = ("tie",) if result.decision_rule == "most_similar" else ()
    found = (row for row in result.notes if row.code != result.reason)  # it stands on top
    return [row for row in found if _at_once(row, (*DOUBTFUL, *chosen))]


def _at_once(note: Note, codes: Sequence[str]) -> bool:
    return note.seq is None or note.severity == "critical" or note.code in codes


def as_text(result: R, own: Display[R]) -> str:
    """Return a few lines of at most 80 columns."""
    lines = [_SCRIPTED] if result.scripted else []
    for name, text in _all(result, own):
        lines += _wrapped(f"{name}: {text}")
    return "\n".join(lines)


def _wrapped(line: str) -> list[str]:
    wide = any(east_asian_width(sign) in _WIDE for sign in line)
    return wrap(line, COLUMNS // 2 if wide else COLUMNS, subsequent_indent="  ")


def as_html(result: R, own: Display[R]) -> str:
    """Return a short table: no script, no link, and every text in it is inert."""
    lines = "".join(
        f'<tr><th style="text-align:left">{escaped(name)}</th>'
        f'<td style="text-align:left">{escaped(text)}</td></tr>'
        for name, text in _all(result, own)
    )
    head = f"<p><b>{_SCRIPTED}</b></p>" if result.scripted else ""
    return untypeset(f"{head}<table>{lines}</table>")


def _all(result: R, own: Display[R]) -> Iterator[Row]:
    yield Row("Question", one_line(result.question or GONE, HEAD))
    if result.decision is None:
        yield Row("Decision", undecided(result))
    else:
        decided = stance(result.decision, result.decision_text)
        yield Row("Decision", f"{decided}{argued(result)}: {reached(result, own)}")
    for name, text in rows(result, own):
        yield Row(name, one_line(text, HEAD))
    for note in told(result):
        yield Row("Note", f"{note.message}{f' (#{note.seq})' if note.seq else ''}")
    spent = cost_of(result)
    cost = f"cost {dollars(spent)}{'' if spent is None else ' US dollars'}"
    yield Row("Debate", f"{result.debate}, {many(result.totals.calls, 'call')}, {cost}")


def in_short(result: Result) -> str:
    """Return the outcome in a few words, as `repr` shows it."""
    if result.decision is None:
        ends = {"truncated": f"cut short, {result.reason}", "failed": f"failed, {result.reason}"}
        found = ends.get(result.status, "open")
    else:
        found = f"{result.decision}, by {result.decision_rule}"
        found += ", a person must decide" if is_left(result) else ""
        found += ", cut short" if result.status == "truncated" else ""
    return found + (", scripted" if result.scripted else "")
