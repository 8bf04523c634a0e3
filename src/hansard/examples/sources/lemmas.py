"""The three calls of lemmas' page: `from lemmas import debate` became `hansard.sources.lemmas`.

Each takes the vendors' own clients: `OpenAI(max_retries=0)`, `Anthropic(max_retries=0)`.
"""

from __future__ import annotations

from typing import Any

from hansard import PanelResult
from hansard.adapters import anthropic_complete, openai_complete
from hansard.sources.lemmas import debate


def same_model(openai: Any) -> PanelResult:
    """One model three times, with different personas."""
    complete = openai_complete(openai, model="gpt-4o-mini", temperature=0.7)

    r = debate(
        query="What were the most consequential US Supreme Court decisions of the 20th century?",
        agents=complete,  # single callable -> spawns N agents
        n_agents_if_single=3,
        rounds=2,
    )
    print(r.final)
    print(f"winner: {r.winner_label}")
    return r


def cross_model(openai: Any, anthropic: Any, query: str) -> PanelResult:
    """Two families of models, and a third model that picks the better draft."""
    openai_agent = openai_complete(openai, model="gpt-4o-mini")
    claude_agent = anthropic_complete(anthropic, model="claude-haiku-4-5")
    judge = openai_complete(openai, model="gpt-4o", temperature=0)

    return debate(
        query=query,
        agents=[("OPENAI", openai_agent), ("CLAUDE", claude_agent)],
        rounds=2,
        judge=judge,
    )


def custom_personas(openai: Any, query: str) -> PanelResult:
    """One model in two roles of its own."""
    complete = openai_complete(openai, model="gpt-4o-mini", temperature=0.7)

    return debate(
        query=query,
        agents=[("MATHEMATICIAN", complete), ("ENGINEER", complete)],
        personas=[
            "You are a pure mathematician. Prefer formal proofs.",
            "You are a practicing engineer. Prefer concrete examples and trade-offs.",
        ],
        rounds=2,
    )
