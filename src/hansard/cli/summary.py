"""What became of a debate, in a few lines."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

import hansard
from hansard.cli.console import console, fields, money, style_of
from hansard.cli.context import next_step
from hansard.report.safe import one_line
from hansard.report.words import GONE, HOW, STOPPED, percent

ARROW = " → "
LENGTH = 400  # characters of what somebody wrote
Rows = list[tuple[str, Text | str]]


def outcome(result: hansard.DebateResult) -> Rows:
    """Return the rows that say what was decided, what is open, who must look, what it cost."""
    rows: Rows = [("Decision", _decision(result))]
    if isinstance(result, hansard.ConsensusResult):
        rows += _standing(result) if result.decision is None else []
    elif isinstance(result, hansard.JudgedResult):
        rows += _judged(result)
    elif isinstance(result, hansard.ModeratedResult):
        rows += _moderated(result)
    else:
        rows += _panel(result)
    if result.review is not None:
        rows.append(("Must look", one_line(result.review)))
    if isinstance(result, hansard.ConsensusResult) and result.dissent:
        dissent = [
            Text.assemble(f"{row.speaker}: ", option(result, row.vote)) for row in result.dissent
        ]
        rows.append(("Dissent", Text(", ").join(dissent)))
    return rows + _used(result)


def _used(result: hansard.DebateResult) -> Rows:
    """Return what was used: calls, tokens, money; what the cache saved, what ceilings count."""
    total, charged, limit = result.totals, result.charged, result.limits.cost_micro_usd
    failed = f", {total.failed} of them failed" if total.failed else ""
    tokens = f"tokens {total.tokens_in:,} in, {total.tokens_out:,} out"
    sources = ", ".join(dict.fromkeys(row["source"] for row in result.prices))
    priced = f" (price: {sources})" if sources else ""
    cost = f"{money(total.cost_micro_usd)}{priced}  {total.calls} calls{failed}, {tokens}"
    rows: Rows = [("Cost", cost)]
    if limit is not None and charged.cost_micro_usd != total.cost_micro_usd:
        counted = f"{money(charged.cost_micro_usd)} of {money(limit)}"
        rows.append(("Ceiling", f"{counted}: what replies do not say counts as it was reserved"))
    if total.tokens_cached or total.tokens_cache_write:
        share = "" if total.cached_ppm is None else f" ({percent(total.cached_ppm)})"
        wrote = f", {total.tokens_cache_write:,} written" if total.tokens_cache_write else ""
        read = f"{total.tokens_cached:,} tokens in{share}{wrote}"
        rows.append(("Cache", f"{read}, saved {money(total.saved_micro_usd)}"))
    return rows


def _decision(result: hansard.DebateResult) -> Text | str:
    rounds = f"round {result.rounds_run} of at most {result.max_rounds}"
    if result.decision is None or result.decision_rule is None:
        if result.reason is None:
            return f"none yet: still open, {rounds}"
        if result.status == "truncated":
            return f"none: cut short, {STOPPED[result.reason]} ({result.reason}), {rounds}"
        return f"none: failed, {result.reason}, {rounds}"
    how = HOW[result.decision_rule]
    if isinstance(result, hansard.ConsensusResult):
        how = f"no option reached {result.consensus_threshold} votes"
        if result.decision_rule != "max_rounds_exhausted":
            votes = result.vote_tally.get(result.decision, 0)
            needed = f"{result.consensus_threshold} needed"
            how = f"{votes} of {len(result.debater_ids)} votes, {needed}"
    argued = f", argued by {result.argued_by}" if result.argued_by else ""
    return Text.assemble(
        option(result, result.decision), f"{argued}  {how}, {rounds} ({result.decision_rule})"
    )


def _standing(result: hansard.ConsensusResult) -> Rows:
    tally = [f"{vote} {count}" for vote, count in result.vote_tally.items()]
    return [("Votes now", ", ".join(tally))] if tally else []


def _judged(result: hansard.JudgedResult) -> Rows:
    found = result.verdict
    if found is None:
        return []
    winner = f"{found.winner}, argued by {found.winner_id}" if found.winner else "none"
    if found.undeclared:
        winner = "none: the judge named what is no declared stance"
    rows = [("Winner", winner)] if result.argued_by is None else []
    return [
        *rows,
        ("Verdict", one_line(found.verdict or GONE, LENGTH)),
        ("Reasoning", one_line(found.reasoning or GONE, LENGTH)),
    ]


def _moderated(result: hansard.ModeratedResult) -> Rows:
    found = result.moderation
    if found is None:
        return [("Moderation", "none was heard")]
    rows: Rows = [("Confidence", f"{found.confidence}, in round {found.round_index}")]
    if found.ranking:
        rows.append(("Ranking", ARROW.join(found.ranking)))
    scores = [f"{side} {score}" for side, score in found.scores.items()]
    rows.append(("Scores", f"{', '.join(scores)}: the moderator's own word"))
    rows.append(("Synthesis", one_line(found.synthesis or GONE, LENGTH)))
    points = [("Open", found.unresolved_points), ("Uncertain", found.explicit_uncertainties)]
    rows += [(name, one_line(point, LENGTH)) for name, each in points for point in each]
    if result.wants_more:
        rows.append(("Rounds", "the moderator wanted one more than there could be"))
    if result.neutrality and result.neutrality.changed is not None:
        same = "another outcome" if result.neutrality.changed else "the same outcome"
        rows.append(("Neutrality", f"{same} with the sides in the other order"))
    return rows


def _panel(result: hansard.PanelResult) -> Rows:
    rows: Rows = []
    if result.vote_tally is not None:
        tally = [f"{vote} {count}" for vote, count in result.vote_tally.items()]
        needed = f"{result.consensus_threshold} of {len(result.debater_ids)} needed"
        rows.append(("Votes", f"{', '.join(tally)}; {needed}"))
    if result.final is not None:
        whose = f"{result.winner_label}: " if result.winner_label else ""
        return [*rows, ("Answer", whose + one_line(result.final, LENGTH))]
    drafts = result.last_drafts.items()
    return rows + [
        ("Draft", f"{label}: {one_line(text or GONE, LENGTH)}") for label, text in drafts
    ]


def option(result: hansard.DebateResult, vote: str | None) -> Text:
    """Return a vote in its option's colour; none is an abstention."""
    if vote is None:
        return Text("abstained", style="dim")
    options = (
        result.options if isinstance(result, (hansard.ConsensusResult, hansard.PanelResult)) else ()
    )
    return Text(vote, style=f"bold {style_of(vote, options, options=True)}".strip())


def say_outcome(result: hansard.DebateResult, *steps: str) -> None:
    """Print on standard error what became of a debate that was just run, and what to do next."""
    out = console(stderr=True)
    out.print(fields([*outcome(result), ("Debate", result.debate)]))
    told = (note for note in result.notes if note.seq is None or note.severity == "critical")
    say_notes(note.message for note in told)
    out.print(fields([("Next" if n == 0 else "", next_step(step)) for n, step in enumerate(steps)]))


def say_notes(messages: Iterable[str]) -> None:
    """Print on standard error what a reader must know beside the result."""
    for message in messages:
        console(stderr=True).print(fields([("Note", message)]), style="yellow")
