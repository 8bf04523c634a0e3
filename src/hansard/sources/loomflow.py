"""loomflow's `MultiAgentDebate` and `Team.debate`: agents with instructions, a judge, rounds.

>>> def model(request):
...     if request.role == "judge":
...         return {"answer": "Adopt it for one team.", "justification": "It can be undone."}
...     return f"{request.persona} Round {request.round}."
>>> team = Team.debate(
...     debaters=[Agent("Argue for it."), Agent("Argue against it.")],
...     judge=Agent("You are the CIO."),
...     model=model,
... )
>>> import asyncio
>>> asyncio.run(team.run("Should we adopt agent harnesses?")).final
'Adopt it for one team.'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from hansard.api.debating import Debate
from hansard.rules.own import Own

# The vendors' own names of models, by how they begin, and the provider that has them here.
_VENDORS = {
    "claude-": "anthropic",
    "gpt-": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "gemini-": "google",
}
_UNJUDGED = {"resolution": "majority", "fallback": "similar"}


@dataclass(frozen=True)
class Agent:
    """Who argues or judges: its instructions, and what answers.

    `model` is a vendor's own name of a model ("gpt-4o"), `provider:name`, or a callable; None is
    the model of the team.
    """

    instructions: str
    _: KW_ONLY
    model: str | Own | None = None


class MultiAgentDebate(Debate):
    """Independent answers, then rounds in which all defend or update, then a judge or a majority.

    It is a `hansard.Debate` and can be run again and again: `await team.run(question)`.
    """

    name = "debate"

    def __init__(
        self,
        *,
        debaters: Sequence[Agent | str | Own],
        judge: Agent | str | Own | None = None,
        rounds: int = 2,
        convergence_check: bool = True,
        convergence_similarity: float = 0.85,
        debater_instructions: str | None = None,
        judge_instructions: str | None = None,
        model: str | Own | None = None,
        **given: Any,
    ) -> None:
        """Take what the source takes, a `model` for whoever has none, and what `Debate` takes.

        Without a judge the answer that more than half give in the same words wins; where there
        is none, the one most like the others does. Raises UsageError, a ValueError, where the
        source raises ValueError.
        """
        self._workers: dict[str, Agent | str | Own] = {
            f"debater_{n}": row for n, row in enumerate(debaters)
        }
        resolved = _UNJUDGED if judge is None else {"judge": _seat(judge)}
        if judge is not None:
            self._workers["judge"] = judge
        fields = {
            "name": self.name,
            "debaters": [{"id": f"debater_{n}", **_seat(row)} for n, row in enumerate(debaters)],
            "rounds": rounds,
            "convergence_check": convergence_check,
            "convergence_similarity": convergence_similarity,
            "debater_instructions": debater_instructions,
            "judge_instructions": judge_instructions,
            "model": _known(model),
        }
        super().__init__(format="panel", **{**fields, **resolved, **given})

    def declared_workers(self) -> dict[str, Agent | str | Own]:
        """Return the agents by their seats: `debater_0`, `debater_1`, …, and `judge`."""
        return dict(self._workers)


class Team:
    """Where the source makes its debates."""

    @staticmethod
    def debate(**given: Any) -> MultiAgentDebate:
        """Return a debate of these agents; the arguments are those of `MultiAgentDebate`."""
        return MultiAgentDebate(**given)


def _seat(agent: Agent | str | Own) -> dict[str, Any]:
    if isinstance(agent, Agent):
        return {"persona": agent.instructions, "model": _known(agent.model)}
    return {"model": _known(agent)}


def _known(model: str | Own | None) -> str | Own | None:
    """Return a vendor's own name of a model with its provider.

    >>> _known("gpt-4o"), _known("ollama:llama3")
    ('openai:gpt-4o', 'ollama:llama3')
    """
    if isinstance(model, str) and ":" not in model:
        for begin, provider in _VENDORS.items():
            if model.startswith(begin):
                return f"{provider}:{model}"
    return model
