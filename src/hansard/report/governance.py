"""The governance rows: what a compliance officer asks of a debate, and what the record answers.

- A row has a rule in plain words, what was found of it, the notes that belong to it and the checks
  of the verification that it rests on. Names, rules and sentences stand in the vocabulary.
- What was found is made by one function a row, here or where its format is shown. A row is left
  out where nothing it rules on is in the record.
- Every note that is more than information belongs to exactly one row.
- A row does not say that its rule holds: `verify` says that, by the checks that the row names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hansard import vocabulary
from hansard.report import gating, swayed
from hansard.report.fold import Folded
from hansard.report.notes import Note, Reading
from hansard.report.parts import GovernanceRow
from hansard.report.sentences import decided_text
from hansard.report.words import HOW, STOPPED, amount, listed, stance
from hansard.rules import spending
from hansard.rules.demands import family
from hansard.rules.state import DebateState
from hansard.rules.terms import ARGUING, ESCALATE, JUDGING, Role, votes_stand
from hansard.vocabulary import fill, many


@dataclass(frozen=True, slots=True)
class Found:
    """What was found for a row: the sentence that says it (None: nothing), and its values.

    The values fill the row's rule too. `review` says that somebody must look,
    whatever the notes are.
    """

    variant: str | None = "text"
    values: Mapping[str, object] = field(default_factory=dict)
    review: bool = False


Finding = Callable[[Folded], Found | None]


def _no_notes(_: DebateState) -> Iterator[Note]:
    yield from ()


@dataclass(frozen=True, slots=True)
class Watch:
    """What a format adds to the notes and rows of a debate.

    Notes on its events by their types, notes on its terms and on the debate as
    a whole, and what is found for rows of its own, by their codes.
    """

    events: Mapping[str, Reading]
    rows: Mapping[str, Finding] = field(default_factory=dict)
    whole: Callable[[DebateState], Iterator[Note]] = _no_notes


def rows(
    found: Folded, notes: Sequence[Note], own: Mapping[str, Finding]
) -> Iterator[GovernanceRow]:
    """Yield the rows of a debate with these notes in all, in the order of the vocabulary."""
    findings = {**_ROWS, **own}
    for code, row in vocabulary.governance().items():
        finding = findings[code](found) if code in findings else None
        told = tuple(n for n in notes if n.severity != "info" and n.code in row.get("notes", ()))
        if finding or told:
            finding = finding or Found(None)
            yield GovernanceRow(
                code=code,
                name=row["name"],
                rule=fill(row["rule"], **finding.values),
                found=vocabulary.found(code, finding.variant, **finding.values)
                if finding.variant
                else "",
                review=bool(told) or finding.review,
                checks=tuple(row.get("checks", ())),
                notes=told,
            )


# What is found for the rows that every format may have


def _votes(found: Folded) -> Found | None:
    counts = found.state.counts
    if not counts:
        return None
    words, last = vocabulary.words("tally"), counts[-1]
    tally = [fill(words["option"], **row) for row in last["tally"]]
    tally.append(fill(words["abstained"], abstentions=last["abstentions"]))
    return Found(values={"tally": listed(tally)})


def _kept_votes(found: Folded) -> Found | None:
    if not (found.state.counts and votes_stand(found.state.spec["terms"])):
        return None
    changed = [row.given_up for row in swayed.changes(found)]
    return Found(values={"votes": many(len(changed), "vote"), "given_up": sum(changed)})


def _decided(found: Folded) -> str | None:
    """Return the decision in words: those of its stance, or as it is spelled, if not our own."""
    if found.state.decision is None:
        return None
    decision = found.state.decision["decision"]
    text = decided_text(found.state, found.text_of)
    return vocabulary.words("decisions").get(decision) or stance(decision, text)


def _decision(found: Folded) -> Found | None:
    decision = found.state.decision
    if decision is None:
        return None
    values: dict[str, object] = {"decision": _decided(found), "how": HOW[decision["rule"]]}
    # Other rules may note votes as well, but it is not they that decided.
    if decision["votes"] is None or not decision["rule"].endswith("_vote"):
        return Found(values=values)
    votes = {"votes": many(decision["votes"], "vote"), "threshold": decision["threshold"]}
    return Found("counted", values | votes)


def _replies(found: Folded) -> Found | None:
    heard = sum(turn.heard for turn in found.state.turns)
    return Found(values={"replies": many(heard, "reply that counts")})


def _schedule(found: Folded) -> Found | None:
    turns = sum(turn.role != "synthesizer" for turn in found.state.turns)
    return Found(values={"turns": many(turns, "scheduled turn")})


def _asked(found: Folded) -> str:
    return many(found.kinds["call.started"], "call")


def _approved_prompts(found: Folded) -> Found | None:
    refused = found.state.refused
    if refused:
        return Found("refused", {"role": refused["role"]})
    if found.state.spec["policy"] is None:
        return None
    return Found("text" if found.kinds["call.started"] else "none", {"calls": _asked(found)})


def _fixed_prompts(found: Folded) -> Found | None:
    return None if found.state.spec["policy"] else Found()


def _prompt_hashes(found: Folded) -> Found | None:
    return Found(values={"calls": _asked(found)}) if found.kinds["call.started"] else None


def _sent_prompts(found: Folded) -> Found | None:
    if found.sent_otherwise:
        return Found("otherwise")
    values = {"compared": found.compared, "calls": _asked(found)}
    return Found(values=values) if found.compared else None


def _outcome(found: Folded) -> Found | None:
    decision = found.state.decision
    if decision and decision["decision"] == ESCALATE:
        return Found("escalated", review=True)
    return Found(values={"decision": _decided(found)}) if decision else None


def _rounds(found: Folded) -> Found | None:
    turns = [turn.data["round"] for turn in found.state.turns if turn.role != "synthesizer"]
    run, limit = turns[-1] if turns else 0, found.state.spec["terms"]["max_rounds"]
    values = {"rounds": many(run, "round"), "limit": many(limit, "round")}
    return Found(values=values, review=run > limit)


def _ceilings(found: Folded) -> Found | None:
    limits, spent = spending.limits_of(found.state), spending.spent_by(found.state, found.state.at)
    told = [
        vocabulary.found(
            "ceilings", "ceiling", spent=amount(name, spent[name]), limit=amount(name, limit)
        )
        for name, limit in limits.items()
    ]
    return Found(values={"ceilings": listed(told)}) if told else None


def _models(*roles: Role) -> Finding:
    """Return what finds the models of these roles; replies of a script are nobody's."""

    def found_of(found: Folded) -> Found | None:
        seats = [seat for seat in found.state.of_role(*roles) if family(seat["model"])]
        models = [fill(vocabulary.word("seat"), **seat) for seat in seats]
        return Found(values={"models": listed(models)}) if models else None

    return found_of


def _from_models(found: Folded) -> Found | None:
    if found.state.spec["scripted"]:
        return Found("scripted", review=True)
    return Found(values={"replies": many(found.kinds["call.answered"], "reply")})


def _participation(found: Folded) -> Found | None:
    state = found.state
    forfeited = sum(not turn.heard for turn in state.turns)
    values = {
        "turns": many(forfeited, "turn"),
        "calls": many(len(state.failures), "call"),
        "replies": many(state.rejections, "reply"),
    }
    return Found(values=values)


def _completion(found: Folded) -> Found | None:
    closed = found.state.closed
    if closed is None:
        return Found("open", review=True)
    values = {"status": closed["outcome"], "stopped": STOPPED[closed["reason"]]}
    return Found(values=values, review=closed["outcome"] != "complete")


def _gate(found: Folded) -> Found | None:
    gate = found.state.spec["gate"]
    return Found(values={"advice": gating.advice(gate)}) if gate else None


def _texts(found: Folded) -> Found | None:
    gone = any(note.code == "text_gone" for note in found.notes)
    return Found("gone" if gone else "text")


_ROWS: Mapping[str, Finding] = {
    "votes": _votes,
    "kept_votes": _kept_votes,
    "decision": _decision,
    "replies": _replies,
    "schedule": _schedule,
    "approved_prompts": _approved_prompts,
    "fixed_prompts": _fixed_prompts,
    "prompt_hashes": _prompt_hashes,
    "sent_prompts": _sent_prompts,
    "outcome": _outcome,
    "rounds": _rounds,
    "ceilings": _ceilings,
    "judge": _models(*JUDGING),
    "debaters": _models(*ARGUING),
    "gate": _gate,
    "models": _from_models,
    "participation": _participation,
    "completion": _completion,
    "texts": _texts,
}
