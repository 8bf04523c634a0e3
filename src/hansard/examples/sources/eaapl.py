"""EAAPL-MAG005's `runDebate` on a contract clause, with five agents whose replies are scripted.

`python -m hansard.examples.sources.eaapl`
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from hansard.sources.eaapl import DebateConfig, DebateResult, run_debate

QUESTION = "Is clause 7 safe to sign?"
CONTEXT = "7. Payment is due within thirty days. Liability is capped at one year of fees."
CONFIG: DebateConfig = {
    "maxRounds": 2,
    "costCeilingUSD": 0.50,
    "minChallengeStrength": 6,
    "requireCriticRetryBelow": 6,
}


class Scripted:
    """An agent that says what is written for it, reply by reply, and the last again."""

    def __init__(self, *outputs: dict[str, Any]) -> None:
        self.outputs = [*outputs]
        self.asked: list[Mapping[str, Any]] = []

    async def invoke(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Say the next of them."""
        self.asked.append(inputs)
        return self.outputs[min(len(self.asked), len(self.outputs)) - 1]


WEAK = {
    "thesis": "The clause could be clearer.",
    "counter_arguments": ["Thirty days is short."],
    "evidence_cited": ["within thirty days"],
    "challengeStrength": 4,
    "cost": 0.011,
}


def agents() -> dict[str, Scripted]:
    """Return the five agents: the critic is too soft at first."""
    return {
        "framing_agent": Scripted(
            {
                "thesis": "Clause 7 is safe to sign.",
                "scope": "Clause 7 alone.",
                "criteria": ["It names the worst case."],
                "key_evidence": ["context"],
            }
        ),
        "proposer_agent": Scripted(
            {
                "thesis": "Clause 7 is safe to sign.",
                "supporting_arguments": ["Our loss has a limit."],
                "evidence_cited": ["Liability is capped at one year of fees."],
                "cost": 0.012,
            }
        ),
        "critic_agent": Scripted(
            WEAK,
            {
                "thesis": "The clause ruins us in the one case that counts.",
                "counter_arguments": ["One late payment ends it.", "Data loss has no cap."],
                "evidence_cited": ["Payment is due within thirty days."],
                "challengeStrength": 7,
                "cost": 0.011,
            },
        ),
        "rebuttal_agent": Scripted(
            {
                "thesis": "Safe, but for data loss.",
                "rebuttals": ["Thirty days is what we pay in today."],
                "concessions": [{"objection": 2, "reason": "The clause does not mention it."}],
                "cost": 0.009,
            }
        ),
        "moderator_agent": Scripted(
            {
                "argumentQualityScore": {"proposer": 8, "critic": 7, "rebuttal": 6},
                "resolvedPoints": ["Late payment."],
                "unresolvedPoints": ["Data loss."],
                "recommendAnotherRound": False,
                "synthesis": "Sign once data loss is capped too.",
                "confidenceLevel": "MODERATE",
                "explicitUncertainties": ["Nobody knows the size of a loss."],
                "upholdsProposition": False,
                "cost": 0.008,
            }
        ),
    }


async def main() -> DebateResult:
    """Run it, and print the round record."""
    result = await run_debate(QUESTION, CONTEXT, CONFIG, **agents())
    print(result.status)
    print(json.dumps(result.rounds[0], indent=2))
    return result


if __name__ == "__main__":
    asyncio.run(main())
