"""A debate of another library, or of ours, run in an environment of its own.

    ENVIRONMENT/bin/python tools/bench_kit/peer.py NAME --rounds R --debates N --times T --latency S

Three debaters answer R times each; N debates run at once, T times over; each call
takes S seconds and gives 400 characters. Needs NAME's package and nothing else, so that
an environment holds one library. Prints JSON: calls, CPU and wall seconds, peak memory
of the process in KiB, and its memory before the first debate.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import tempfile
import time
import warnings
from collections.abc import Callable, Coroutine
from itertools import count
from pathlib import Path
from typing import Any

QUESTION = "Should the new matching engine be released to all customers this week?"
SEATS = ("planner", "skeptic", "auditor")
TEXT = "Reason {}: the load test of this build left the question open; what was measured decides. "

Debate = Callable[[], Coroutine[Any, Any, Any]]


class Replies:
    """Gives a reply of 400 characters, each another, after the latency, and counts them."""

    def __init__(self, latency: float) -> None:
        self.calls, self._latency, self._numbers = 0, latency, count(10**9)

    def next(self) -> str:
        """Return the next reply at once."""
        self.calls += 1
        return (TEXT.format(next(self._numbers)) * 5)[:400]

    async def wait(self) -> str:
        """Return the next reply after the latency."""
        if self._latency:
            await asyncio.sleep(self._latency)
        return self.next()


def of_hansard(replies: Replies, rounds: int, folder: Path) -> Debate:
    """`hansard.run` with a panel, on a file store: every call is on disk before the next."""
    import hansard

    async def answer(_: Any) -> str:
        return json.dumps({"answer": await replies.wait(), "reasoning": "", "citations": []})

    spec = hansard.PanelSpec.model_validate(
        {
            "question": QUESTION,
            "model": "python:answer",
            "debaters": [{"id": seat} for seat in SEATS],
            "rounds": rounds - 1,
            "convergence_check": False,
        }
    )
    store = hansard.open_store(f"sqlite:///{folder / 'debates.db'}")
    warnings.simplefilter("ignore", hansard.SpecWarning)  # that three seats use one model

    async def debate() -> Any:
        found = await hansard.run(spec, store=store, models={"answer": answer})
        return found.status == "complete"

    return debate


def of_loomflow(replies: Replies, rounds: int, _: Path, *, audited: bool = False) -> Debate:
    """`Team.debate` of loomflow: independent answers, then rounds; all in memory."""
    from loomflow import Agent
    from loomflow.core.types import ModelChunk, Usage
    from loomflow.security.audit import InMemoryAuditLog
    from loomflow.team import Team

    class Model:
        name = "instant"

        async def stream(self, *_: Any, **__: Any) -> Any:
            yield ModelChunk(kind="text", text=await replies.wait())
            yield ModelChunk(kind="finish", finish_reason="stop", usage=Usage())

    log = {"audit_log": InMemoryAuditLog(secret="bench")} if audited else {}  # noqa: S106

    async def debate() -> Any:
        agents = [Agent(f"You answer as the {seat}.", model=Model(), **log) for seat in SEATS]
        team = Team.debate(agents, model=Model(), rounds=rounds - 1, convergence_check=False, **log)
        return (await team.run(QUESTION)).output

    return debate


def of_autogen(replies: Replies, rounds: int, _: Path) -> Debate:
    """AutoGen's `RoundRobinGroupChat`: one speaks after the other; all in memory."""
    from bench_kit.autogen import Client, team

    told = {seat: f"You are the {seat}." for seat in SEATS}

    async def debate() -> Any:
        speaking = team(told, Client(replies.wait), len(SEATS) * rounds)
        return (await speaking.run(task=QUESTION)).messages

    return debate


def of_lemmas(replies: Replies, rounds: int, _: Path) -> Debate:
    """`debate` of lemmas: no async, nothing kept; it has no latency to overlap."""
    from lemmas.debate import debate as run

    personas = [f"You are the {seat}." for seat in SEATS]

    async def debate() -> Any:
        agents = [(seat, lambda _: replies.next()) for seat in SEATS]
        return run(QUESTION, agents, rounds=rounds - 1, personas=personas).final

    return debate


PEERS: dict[str, tuple[str, Callable[[Replies, int, Path], Debate]]] = {
    "hansard": ("", of_hansard),
    "lemmas": ("lemmas", of_lemmas),
    "loomflow": ("loomflow", of_loomflow),
    "loomflow, audited": (
        "loomflow",
        lambda replies, rounds, folder: of_loomflow(replies, rounds, folder, audited=True),
    ),
    "AutoGen": ("autogen-agentchat", of_autogen),
}  # what a peer is called: its package, and what runs it


def main() -> None:
    """Run, and print what it took."""
    parser = argparse.ArgumentParser(description="What another library's debates cost.")
    parser.add_argument("name", choices=PEERS)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--debates", type=int, default=1, help="so many at once")
    parser.add_argument("--times", type=int, default=1, help="one crowd after the other")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds a call")
    chosen = parser.parse_args()
    replies = Replies(chosen.latency)
    with tempfile.TemporaryDirectory(prefix="hansard-bench-") as folder:
        debate = PEERS[chosen.name][1](replies, chosen.rounds, Path(folder))

        async def crowds(times: int) -> None:
            for _ in range(times):
                done = await asyncio.gather(*(debate() for _ in range(chosen.debates)))
                if not all(done):
                    raise SystemExit("peer: a debate ended without a result")

        asyncio.run(debate())  # whatever is imported or compiled once
        replies.calls = 0
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        cpu, wall = time.process_time(), time.perf_counter()
        asyncio.run(crowds(chosen.times))
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    expected = len(SEATS) * chosen.rounds * chosen.debates * chosen.times
    if replies.calls != expected:
        raise SystemExit(f"peer: {replies.calls} calls, and not {expected}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"calls": expected, "cpu": cpu, "wall": wall, "peak": peak, "before": before}))


if __name__ == "__main__":
    main()
