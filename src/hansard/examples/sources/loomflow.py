"""loomflow's team: `from loomflow import Agent` became `hansard.sources.loomflow`.

It asks Anthropic and OpenAI, whose keys it needs: `python -m hansard.examples.sources.loomflow`.
"""

from __future__ import annotations

import asyncio

from hansard import PanelResult
from hansard.sources.loomflow import Agent, MultiAgentDebate, Team


def team() -> MultiAgentDebate:
    """Three debaters of two vendors, and a judge."""
    optimist = Agent("Argue for the positive case.", model="claude-opus-4-7")
    skeptic = Agent("Argue for the cautious case.", model="claude-opus-4-7")
    analyst = Agent("Argue from the data.", model="gpt-4o")
    cio = Agent(
        "You are the CIO. Read the full debate transcript and pick the "
        "best decision with one paragraph of justification.",
        model="claude-opus-4-7",
    )

    return Team.debate(
        debaters=[optimist, skeptic, analyst],
        judge=cio,
        rounds=2,
        convergence_similarity=0.85,
        model="claude-opus-4-7",
    )


async def main() -> PanelResult:
    """Ask the source's question."""
    result: PanelResult = await team().run(  # type: ignore[assignment]
        "Should we adopt agent harnesses for our customer support stack?"
    )
    print(result)
    return result


if __name__ == "__main__":
    asyncio.run(main())
