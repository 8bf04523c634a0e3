"""EAAPL-MAG005's `runDebate`: framing, proposer, critic, rebuttal and moderator agents.

Each agent has an `invoke` of one mapping, sync or async, or is a function of it. It is given the
skeleton's inputs and returns the round record's members, under the source's own keys:

- framing: `thesis`, `scope`, `criteria`, `key_evidence`
- proposer: `thesis`, `supporting_arguments`, `evidence_cited`
- critic: `thesis`, `counter_arguments`, `evidence_cited`, `challengeStrength`
- rebuttal: `thesis`, `rebuttals`, `concessions`
- moderator: `argumentQualityScore`, `resolvedPoints`, `unresolvedPoints`,
  `recommendAnotherRound`, `synthesis`, `confidenceLevel`, `explicitUncertainties`, and one that
  the source leaves out: `upholdsProposition`, true or false, since a debate ends in a decision

and any of them `cost`, in US dollars. What is cited is a row `{"argument": 1, "quote": …}`, or a
text for the argument at the same place; code looks for it word for word in the context. Rows of
`rebuttals` are `{"objection": 1, "answer": …}`, or a text for the objection at the same place;
rows of `concessions` are `{"objection": 1, "reason": …}`. An output is a mapping, a dataclass or a
pydantic model, or JSON: a text, or a `Completion` that states its tokens.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypedDict, cast

from pydantic_core import to_jsonable_python

from hansard.api.debating import Debate
from hansard.errors import UsageError
from hansard.rules import replies
from hansard.rules.looks import unlike
from hansard.rules.own import names_of
from hansard.runtime.models.base import Completion
from hansard.runtime.models.callables import outcome
from hansard.sources.calling import Seat, check_call, named_after
from hansard.verify.checks import MAX_REPLY

if TYPE_CHECKING:
    from hansard.report.formats import ModeratedResult
    from hansard.runtime.models.base import Request
    from hansard.runtime.models.seen import Said

Agent = Any  # an object with `invoke`, a function, or the name of a model for a built-in seat

CONTEXT = "context"  # the document that the context is
ROLES = ("framer", "proposer", "critic", "rebuttal", "moderator")
_OUTPUTS = {
    "proposer": "proposerOutput",
    "critic": "criticOutput",
    "rebuttal": "rebuttalOutput",
    "moderator": "moderatorOutput",
}
_LISTS = {"proposer": "supporting_arguments", "critic": "counter_arguments"}
_WORDS = {"rebuttal": "answer"}
# Stands in place of an argument that rests on a quote which is not in the evidence: the others
# keep their numbers.
STRUCK = "[struck: it rests on a quote that is not in the evidence]"
# The source's members of a moderation, and what they are here.
_MODERATION = {
    "argumentQualityScore": "scores",
    "resolvedPoints": "resolved_points",
    "unresolvedPoints": "unresolved_points",
    "recommendAnotherRound": "recommend_another_round",
    "synthesis": "synthesis",
    "confidenceLevel": "confidence",
    "explicitUncertainties": "explicit_uncertainties",
    "upholdsProposition": "upholds_proposition",
}

# The members that each role's reply is made of; whatever else an agent says stays in its text.
_ARGUED = ("thesis", "evidence_cited")
_READ: Mapping[str, Iterable[str]] = {
    "framer": (),
    "proposer": (*_ARGUED, "supporting_arguments", "anticipated_objections"),
    "critic": (*_ARGUED, "counter_arguments", "challengeStrength"),
    "rebuttal": (*_ARGUED, "rebuttals", "concessions"),
    "moderator": _MODERATION,
}


class DebateConfig(TypedDict, total=False):
    """The skeleton's configuration, with its defaults: 2, 0.50, 6 and 6."""

    maxRounds: int
    costCeilingUSD: float
    minChallengeStrength: int
    requireCriticRetryBelow: int


_FIELDS = {
    "maxRounds": "max_rounds",
    "minChallengeStrength": "min_challenge_strength",
    "requireCriticRetryBelow": "require_critic_retry_below",
}
_DEFAULTS: DebateConfig = {
    "maxRounds": 2,
    "costCeilingUSD": 0.50,
    "minChallengeStrength": 6,
    "requireCriticRetryBelow": 6,
}


@dataclass(frozen=True)
class DebateResult:
    """What the skeleton builds, and as `result` all that Hansard knows of the debate.

    `status` is COMPLETE, DEBATE_TRUNCATED or FAILED; each of `rounds` is a round record
    (`hansard schema source.moderated`).
    """

    status: str
    rounds: list[dict[str, Any]]
    result: ModeratedResult


async def run_debate(
    question: str,
    context: str,
    config: DebateConfig | None = None,
    *,
    framing_agent: Agent,
    proposer_agent: Agent,
    critic_agent: Agent,
    rebuttal_agent: Agent,
    moderator_agent: Agent,
    **given: Any,
) -> DebateResult:
    """Run a `moderated` debate and return it in the source's shape.

    The `cost` that agents state counts against `costCeilingUSD` after every turn. Hansard
    cannot check such a sum, so the record says that the debate was stopped; a ceiling that
    every verifier checks is `limits`, with `prices` and agents that return a `Completion`
    with its tokens. `given` is what `hansard.Debate` takes besides (`store`, `evidence`, …).
    Raises UsageError `spec.unknown_field` and `spec.invalid_value` for `config`, and
    `model.signature` for an agent that cannot be called with one mapping, all before anything
    runs, and what `Debate.run` raises: a moderator that leaves out `upholdsProposition` is a
    SeatError.

    >>> import asyncio
    >>> from hansard.examples.sources.eaapl import CONFIG, CONTEXT, QUESTION, agents
    >>> asyncio.run(run_debate(QUESTION, CONTEXT, CONFIG, **agents())).status
    'COMPLETE'
    """
    settings: dict[str, Any] = {**_DEFAULTS, **(config or {})}
    unknown = sorted(settings.keys() - _DEFAULTS.keys())
    if unknown:
        known = ", ".join(_DEFAULTS)
        said = f"{unknown[0]} is no key of the configuration; use {known}"
        raise UsageError("spec.unknown_field", said)
    dollars = settings["costCeilingUSD"]
    if unlike(dollars, [float]) and not isinstance(dollars, Decimal):
        said = "costCeilingUSD is US dollars as a number, such as 0.50"
        raise UsageError("spec.invalid_value", said)
    agents = (framing_agent, proposer_agent, critic_agent, rebuttal_agent, moderator_agent)
    ledger = _Ledger(Decimal(str(dollars)))
    documents = [{"id": CONTEXT, "text": context}] if context else []
    fields: dict[str, Any] = {field: settings[key] for key, field in _FIELDS.items()}
    fields |= zip(ROLES, _seated(agents, ledger), strict=True)
    evidence = [*documents, *given.pop("evidence", ())]
    debate = Debate(format="moderated", evidence=evidence, **fields, **given)
    ledger.debate = debate
    result = cast("ModeratedResult", await debate.run(question))
    source = result.source()
    return DebateResult(source["status"], source["rounds"], result)


def seats(*agents: Agent) -> dict[str, Seat]:
    """Return the five agents in their order as `resume` needs them, by their recorded names.

    Raises UsageError `model.signature` as `run_debate` does.

    >>> from hansard.examples.sources.eaapl import agents
    >>> list(seats(*agents().values()))[:2]
    ['Scripted.invoke', 'Scripted.invoke-2']
    """
    found = [row for row in _seated(agents, _Ledger()) if not isinstance(row, str)]
    return {name.partition(":")[2]: row for name, row in zip(names_of(found), found, strict=True)}


class _Ledger:
    """What the agents say they cost, and the stop of the `debate` once that is too much."""

    def __init__(self, ceiling: Decimal | None = None) -> None:
        self.debate: Debate | None = None
        self._ceiling, self._spent = ceiling, Decimal(0)

    def add(self, cost: object) -> None:
        """Add what a call cost; what is no number is not known.

        The reply that met the ceiling counts; a debate that needs no other call is complete.
        """
        if isinstance(cost, int | float) and not isinstance(cost, bool):
            self._spent += Decimal(str(cost))
        if self.debate and self._ceiling is not None and self._spent >= self._ceiling:
            self.debate.stop(
                f"The agents state costs of {self._spent} US dollars; the ceiling is "
                f"{self._ceiling}."
            )


def _seated(agents: Iterable[Agent], ledger: _Ledger) -> list[Any]:
    return [
        agent if isinstance(agent, str) else _seat(role, agent, ledger)
        for role, agent in zip(ROLES, agents, strict=True)
    ]


def _seat(role: str, agent: Agent, ledger: _Ledger) -> Seat:
    invoke: Any = getattr(agent, "invoke", agent)
    check_call(invoke, f"{role}.invoke(inputs)", {})

    async def complete(request: Request) -> Any:
        said = await outcome(invoke, _inputs(role, request))
        if not isinstance(said, Completion | str):
            return _translated(role, to_jsonable_python(said), ledger)
        text = said if isinstance(said, str) else said.text
        if len(text) > MAX_REPLY:  # it is refused as it is
            return said
        try:
            value = replies.read(text)
        except replies.Unreadable:
            return said
        text = json.dumps(_translated(role, value, ledger), ensure_ascii=False)
        return text if isinstance(said, str) else replace(said, text=text)

    return named_after(invoke, complete)


def _translated(role: str, output: Any, ledger: _Ledger) -> Any:
    """Return what an agent said as the format wants it; as it is where it cannot be read."""
    if not isinstance(output, dict):
        return output
    ledger.add(output.pop("cost", None))
    if role == "moderator" and "upholdsProposition" not in output:
        raise UsageError(
            "source.upholds",
            "the moderator's output has no `upholdsProposition`: say true or false, since "
            "nothing else in it is a decision",
        )
    try:
        more = {key: row for key, row in output.items() if key not in _READ[role]}
        return {**more, **_reply(role, output)}
    except (KeyError, TypeError, ValueError, AttributeError):
        return output  # under the source's keys, so it is sent back


# What an agent is given


def _inputs(role: str, request: Request) -> dict[str, Any]:
    """Return the skeleton's inputs for an agent."""
    given: dict[str, Any] = {"question": request.question}
    if role != "moderator":
        given["context"] = "\n\n".join(row.text for row in request.evidence)
    rounds: dict[int, dict[str, Any]] = {}
    for said in request.transcript:
        if said.role == "framer":
            if role == "proposer":
                given["proposition"] = said.value
        else:
            rounds.setdefault(said.round, {})[_OUTPUTS[said.role]] = _told(said)
    given |= rounds.pop(request.round, {})
    if role in ("proposer", "critic"):
        given["previousRounds"] = [{"round": n, **row} for n, row in rounds.items()]
    if not request.call.endswith(":1"):
        given["additionalInstruction"] = request.messages[-1].pieces[-1].strip()
    return given


def _told(said: Said) -> dict[str, Any]:
    """Return what an agent said, under the source's keys."""
    value = said.value
    if said.role == "moderator":
        return {theirs: value[ours] for theirs, ours in _MODERATION.items() if ours in value}
    key, words = _LISTS.get(said.role, "rebuttals"), _WORDS.get(said.role, "argument")
    rows = [
        {**row, words: STRUCK, "citations": []} if number in said.struck else row
        for number, row in enumerate(value[key], 1)
    ]
    cited = [
        {"argument": number, **citation}
        for number, row in enumerate(rows, 1)
        for citation in row["citations"]
    ]
    found = {"thesis": value["thesis"], "evidence_cited": cited}
    if said.role == "rebuttal":
        answers = [{"objection": row["objection"], words: row[words]} for row in rows]
        return {**found, key: answers, "concessions": value["concessions"]}
    found[key] = [row[words] for row in rows]
    if said.role == "critic":
        found["challengeStrength"] = value["challenge_strength"]
    return found


# What it returns


def _reply(role: str, output: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an agent said as the format wants it; any error where it cannot be read."""
    if role == "framer":
        return dict(output)
    if role == "moderator":
        return {ours: output[theirs] for theirs, ours in _MODERATION.items()}
    cited = _listed(output.get("evidence_cited", []))
    if role == "rebuttal":
        rows = [
            {"objection": place, "answer": row, "citations": []}
            if isinstance(row, str)
            else {
                "objection": row["objection"],
                "answer": row["answer"],
                "citations": [_citation(each) for each in _listed(row.get("evidence_cited", []))],
            }
            for place, row in enumerate(_listed(output["rebuttals"]), 1)
        ]
        _cite(rows, cited)
        return {
            "thesis": output["thesis"],
            "rebuttals": rows,
            "concessions": output["concessions"],
        }
    key = _LISTS[role]
    argued = [{"argument": row, "citations": []} for row in _listed(output[key])]
    _cite(argued, cited)
    found = {"thesis": output["thesis"], key: argued}
    if role == "critic":
        return {**found, "challenge_strength": output["challengeStrength"]}
    return {**found, "anticipated_objections": output.get("anticipated_objections", [])}


def _listed(rows: Any) -> list[Any]:
    """Return rows that are a list; a text would be a row for each of its characters."""
    if not isinstance(rows, list):
        raise TypeError
    return rows


def _cite(rows: list[dict[str, Any]], cited: Iterable[Any]) -> None:
    """Put each citation under the argument that rests on it."""
    for place, row in enumerate(cited, 1):
        number = place if isinstance(row, str) else row["argument"]
        if not 0 < number <= len(rows):
            raise ValueError(number)
        rows[number - 1]["citations"].append(_citation(row))


def _citation(row: Any) -> dict[str, Any]:
    if isinstance(row, str):
        return {"document": CONTEXT, "quote": row}
    return {"document": row.get("document", CONTEXT), "quote": row["quote"]}
