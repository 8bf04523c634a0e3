"""Figure 6: how much of what is sent was sent before, and how much that is at all."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, cast

from bench_kit.measure import Figure
from hansard.rules.formats import SPECS, AnySpec
from hansard.runtime import session
from hansard.runtime.models.base import Request
from hansard.store.application import Store

AT_LEAST = {2: 0.60, 3: 0.72, 10: 0.90}  # of all characters, by the number of rounds
QUESTION = "Should the new matching engine be released to all customers this week?"
PERSONAS = {
    "planner": "You plan releases, and you have seen what a week of delay costs.",
    "skeptic": "You look after what breaks, and you trust only what was measured.",
    "auditor": "You answer to the regulator, and you ask who signs for it.",
}
REPLY = 400  # characters


@dataclass(frozen=True, slots=True)
class Asked:
    """One call: who was asked, all that was sent, and what came back."""

    speaker: str
    role: str
    prompt: str
    reply: str


class Listener:
    """A model that keeps every prompt and answers each time with another 400 characters."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._numbers = count(10**9)

    async def __call__(self, request: Request) -> str:
        """Answer in words, or what the schema asks for."""
        number = next(self._numbers)
        words = f"In build {number} the load test left this open, and so I hold to it. " * 9
        reply = words[:REPLY]
        properties: Mapping[str, Any] = request.reply_schema.get("properties", {})
        if properties:
            fields = {
                key: rule["enum"][0] if "enum" in rule else "" for key, rule in properties.items()
            }
            if "vote" in fields:  # nobody agrees, so that the debate runs to its cap
                own = list(PERSONAS).index(request.speaker)
                fields["vote"] = properties["vote"]["enum"][own]
            first, *others = [key for key, value in fields.items() if not value]
            fields |= dict.fromkeys(others, words[:100])
            reply = json.dumps({**fields, first: words[: REPLY - len(json.dumps(fields))]})
        self.asked.append(Asked(request.speaker, request.role, request.prompt, reply))
        return reply


def spec_fields(format_: str, rounds: int) -> dict[str, Any]:
    """Return the fields of a debate of three in `format_` that runs all its rounds."""
    seats: list[dict[str, str]] = [{"id": seat, "persona": PERSONAS[seat]} for seat in PERSONAS]
    options = ["release", "hold", "redesign"]
    if format_ == "judged":
        stances = zip(seats, options, strict=True)
        seats = [{**seat, "label": way, "stance": f"We {way}."} for seat, way in stances]
    own: dict[str, dict[str, Any]] = {
        "consensus": {"options": options, "threshold": 2, "max_rounds": rounds},
        "judged": {"max_rounds": rounds},
        "panel": {"rounds": rounds, "convergence_check": False},
    }
    return {"question": QUESTION, "model": "python:listener", "debaters": seats, **own[format_]}


def calls_of(format_: str, rounds: int) -> list[Asked]:
    """Run a debate and return its calls, in the order in which they were made."""
    listener = Listener()
    spec = cast(AnySpec, SPECS[format_].model_validate(spec_fields(format_, rounds)))
    with Store.open("sqlite:///:memory:") as store:
        asyncio.run(session.run(spec, store, Path(), models={"listener": listener}))
    return listener.asked


def repeated(prompts: Sequence[str]) -> int:
    """Return how many characters begin a prompt as they began an earlier one."""
    return sum(
        max((common(prompt, earlier) for earlier in prompts[:number]), default=0)
        for number, prompt in enumerate(prompts)
    )


def common(one: str, other: str) -> int:
    """Return the length of what two texts begin with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def figure_prompts() -> Iterator[Figure]:
    """Figure 6: by format and length, the share that repeats, and the size beside AutoGen's."""
    known = importlib.util.find_spec("autogen_agentchat") is not None
    for format_ in ("consensus", "judged", "panel"):
        for rounds, target in AT_LEAST.items():
            calls = calls_of(format_, rounds)
            prompts = [call.prompt for call in calls]
            name, sent = f"{format_} 3x{rounds}", sum(map(len, prompts))
            share = repeated(prompts) / sent
            text = f"{name}: begins as an earlier prompt of the debate does"
            yield Figure(6, text, "characters", sent * share, sent, share, at_least=target)
            debaters = [call for call in calls if call.role == "debater"]
            ours = sum(len(call.prompt) for call in debaters)
            text = f"{name}: all that debaters are sent, beside AutoGen"
            if known:
                yield beside(text, ours, debaters)
            else:
                yield Figure(6, f"{text} (not installed: not measured)", "characters", ours)


def beside(text: str, ours: int, calls: Sequence[Asked]) -> Figure:
    """Hold our characters against those of a RoundRobinGroupChat with the same replies.

    Each agent is told as its system message what ours tells it in its first call.
    """
    from bench_kit.autogen import characters  # noqa: PLC0415 - it may not be installed

    told: dict[str, str] = {}
    for call in calls:
        told.setdefault(call.speaker, call.prompt.replace(QUESTION, ""))
    theirs = characters(told, QUESTION, [call.reply for call in calls])
    return Figure(6, text, "characters", ours, theirs, ours / theirs, at_most=1)
