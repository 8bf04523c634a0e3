"""The metrics of debates: counted and measured from the events that spans are made of.

An attribute has few values: formats, endings, classes of errors, codes of rejections,
providers, and the models that specs name. None is a text, a person, a label or a debate.
The model that served a call is none either: its name is whatever the provider says.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from opentelemetry.metrics import Meter

from hansard.rules.events import Event
from hansard.rules.fields import UNTRIED
from hansard.rules.terms import ESCALATE
from hansard.telemetry.names import (
    CALLS_ABANDONED,
    CALLS_FAILED,
    COST,
    DEBATE_FORMAT,
    DEBATES,
    DURATION,
    ENDING,
    ERROR,
    MODEL,
    OPERATION,
    PROVIDER,
    REJECTED,
    REPLIES_REJECTED,
    TOKEN_TYPE,
    TOKEN_USAGE,
)
from hansard.telemetry.spans import traced

_LONGEST = 100  # characters of a provider or a model, as an attribute
_TOKENS = tuple(4**n for n in range(14))  # the bounds that the conventions advise
_SECONDS = tuple(2**n / 100 for n in range(14))
_USED = {"tokens_in": "input", "tokens_out": "output"}


class Instruments:
    """What a meter counts and measures of all debates."""

    def __init__(self, meter: Meter) -> None:
        self.tokens = meter.create_histogram(
            TOKEN_USAGE,
            "{token}",
            "Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=_TOKENS,
        )
        self.seconds = meter.create_histogram(
            DURATION,
            "s",
            "GenAI operation duration.",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self.debates = meter.create_counter(
            DEBATES, "{debate}", "Debates that ended, by format and ending."
        )
        self.failed = meter.create_counter(
            CALLS_FAILED, "{call}", "Calls that brought no reply, abandoned ones aside."
        )
        self.abandoned = meter.create_counter(
            CALLS_ABANDONED, "{call}", "Calls that a process left, or that a function raised in."
        )
        self.rejected = meter.create_counter(
            REPLIES_REJECTED, "{reply}", "Replies that do not count."
        )
        self.cost = meter.create_counter(COST, "USD", "What calls cost, where the price is known.")


@dataclass
class DebateMetrics:
    """What is counted of one debate, and what that takes of earlier events."""

    to: Instruments
    format: str = "unknown"  # until told: of a debate that another process began
    decided: str = "complete"
    models: dict[str, str] = field(default_factory=dict)  # by call

    def learn(self, event: Event) -> None:
        """Keep what later events do not repeat."""
        if event["type"] == "debate.opened":
            self.format = event["data"]["terms"]["format"]
        elif event["type"] == "call.started":
            self.models[event["data"]["call"]] = event["data"]["model"]
        elif event["type"] == "decision.reached":
            if event["data"]["rule"] == "judge_undeclared":
                self.decided = "undeclared"
            else:
                escalated = event["data"]["decision"] == ESCALATE
                self.decided = "escalate" if escalated else "reached"

    def follow(self, event: Event) -> None:
        """Count and measure what an event says."""
        if event["type"] == "debate.closed":
            outcome = event["data"]["outcome"]
            ending = self.decided if outcome == "complete" else outcome
            self.to.debates.add(1, {DEBATE_FORMAT: self.format, ENDING: ending})
        elif event["type"] == "turn.rejected":
            asked, code = self._asked(event["data"]["call"]), event["data"]["code"]
            self.to.rejected.add(1, {**asked, REJECTED["code"]: code})
        elif event["type"] == "call.failed":
            error = event["data"]["error"]
            counter = self.to.abandoned if error in UNTRIED else self.to.failed
            counter.add(1, self._asked(event["data"]["call"]) | {ERROR: error})
            self._measure(event["data"], {ERROR: error})
        elif event["type"] == "call.answered":
            self._measure(event["data"], {})

    def _measure(self, data: Any, error: dict[str, str]) -> None:
        """Measure a call that is over: how long it took, what it used and cost, where known."""
        asked = self._asked(data["call"])
        chat = asked | {OPERATION: "chat"}
        if data["latency_ms"] is not None:
            self.to.seconds.record(data["latency_ms"] / 1000, chat | error)
        for name, kind in _USED.items():
            if data.get(name) is not None:
                self.to.tokens.record(data[name], chat | {TOKEN_TYPE: kind})
        if data["cost_micro_usd"] is not None:
            self.to.cost.add(data["cost_micro_usd"] / 1_000_000, asked)

    def _asked(self, call: str) -> dict[str, str]:
        """Return who was asked, as a spec names it."""
        provider, _, model = self.models.get(call, "unknown:unknown").partition(":")
        return {PROVIDER: traced(provider)[:_LONGEST], MODEL: model[:_LONGEST]}
