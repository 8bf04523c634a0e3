"""What a `judged` report says of its own: the verdict, what the judge saw, the arguments."""

from __future__ import annotations

from collections.abc import Iterator

from hansard.report.markdown import common
from hansard.report.markdown.signs import fenced, ids, not_heard, quoted
from hansard.report.results.judged import JudgedResult


def decision(result: JudgedResult) -> Iterator[str]:
    """What the judge found."""
    yield from common.decision(result)
    yield from _verdict(result)
    yield fenced(result.to_report(), "text")
    yield "## Stances"
    for row in result.stances:
        yield f"`{row.label}`, argued by `{row.debater}`:"
        yield quoted(row.text)


def _verdict(result: JudgedResult) -> Iterator[str]:
    found = result.verdict
    if found is None:
        return
    if found.undeclared:
        yield "No winner: the judge named what is no declared stance:"
        yield quoted(found.named)
    elif found.winner is None:
        yield "No single winner: the judge combined several stances."
    elif result.argued_by is None:
        yield f"Winner: `{found.winner}`, argued by `{found.winner_id}`."
    yield f"Verdict (entry {found.seq}):"
    yield quoted(found.verdict)
    yield "Reasoning:"
    yield quoted(found.reasoning)


def said(result: JudgedResult) -> Iterator[str]:
    """Every argument in its order, and the order in which the judge read them."""
    yield "## Transcript"
    view = result.judge_view
    if view:
        names = "without names" if view.anonymized else "with names"
        order = "in an order drawn from the seed" if view.shuffled else "in the order of speaking"
        yield f"The judge read it {names}, {order}:"
        yield "\n".join(f"- round {n}: {ids(row)}" for n, row in enumerate(view.order, 1))
    for turn in result.transcript:
        yield f"### Round {turn.round}, `{turn.stance}`: `{turn.agent_name}`"
        if turn.reason:
            yield f"{not_heard(turn)} (entry {turn.seq})."
        else:
            yield f"Entry {turn.seq}:"
            yield quoted(turn.text)


def use(result: JudgedResult) -> str:
    """When to use the format, when not, and its cost in calls."""
    seats, rounds = len(result.debater_ids), result.max_rounds
    return (
        "when a question has a real tradeoff that should be argued out and a verdict with its "
        "reasons is wanted, not for a fact that can be looked up, an answer that nobody disputes "
        "or where one call is the budget; it costs debaters × rounds + 1 calls, here "
        f"{seats} × {rounds} + 1 = {seats * rounds + 1}, one more with a synthesizer"
    )
