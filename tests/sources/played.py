"""Debates through the public API, with everything that was asked and everything recorded.

Each test reads like a check of one source's promises: `play` runs a spec with
replies and hands back what a reader can look at. Every record that it makes
is verified before a test looks at it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from hansard import Completion, verify
from hansard.record import blob
from hansard.rules.events import parse
from support import example

QUESTION = "Shall we release the migration on Friday?"
PRICES = {"python:seat": {"input": "2.50", "output": "10.00"}}


def usual(request):
    """The least reply that counts; in words one that nobody else gives."""
    if request.in_words:
        return f"{request.speaker} says this in round {request.round}."
    return example(request.reply_schema)


def answering(replies: Mapping[str, Any], asked: list[Any]) -> Callable[[Any], Any]:
    """A model that looks up its reply by call, step, `phase:attempt`, phase or speaker.

    A phase stands for those of all positions; a mapping is merged into the
    usual reply; an error is raised; a function gets the request.
    """

    def seat(request):
        asked.append(request)
        step, _, attempt = request.call.rpartition(":")
        base = request.phase.partition("-")[0]
        keys = (request.call, step, f"{base}:{attempt}", request.phase, base, request.speaker)
        for key in keys:
            if key in replies:
                reply = replies[key]
                if callable(reply):
                    reply = reply(request)
                if isinstance(reply, Exception):
                    raise reply
                merged = isinstance(reply, Mapping) and not request.in_words
                return {**usual(request), **reply} if merged else reply
        return usual(request)

    return seat


def priced(reply, tokens_in=1000, tokens_out=100):
    """A reply that states what it used."""
    text = reply if isinstance(reply, str) else json.dumps(reply)
    return Completion(text, tokens_in=tokens_in, tokens_out=tokens_out)


class Played:
    """One debate that was run: its result, its events, its texts, and what was asked."""

    def __init__(self, store, result, asked) -> None:
        self.asked = asked
        self.result = result
        self.bundle = store.bundle(result.debate)
        self.events = [parse(line) for line in self.bundle.lines]
        self.verification = verify(store, result.debate)

    @property
    def notes(self):
        """The codes of what a reader must know."""
        return {note.code for note in self.result.notes}

    @property
    def opened(self):
        return self.one("debate.opened")

    def all(self, *kinds):
        """The data of every event of these types."""
        return [event["data"] for event in self.events if event["type"] in kinds]

    def one(self, kind):
        (data,) = self.all(kind)
        return data

    def text(self, name):
        """The text of a blob, as a field names it."""
        return blob.unpack(self.bundle.blobs[name["sha256"]])

    @property
    def turns(self):
        """Everything that was said, in order: arguments, verdicts, the deliverable."""
        return self.all("turn.recorded", "verdict.recorded", "synthesis.recorded", "turn.forfeited")

    @property
    def steps(self):
        return [row["step"] for row in self.turns]

    def prompt(self, call):
        """The prompt of a call: `r1.argument.ann:1`, or its step for the first attempt."""
        name = call if ":" in call else f"{call}:1"
        (found,) = [request for request in self.asked if request.call == name]
        return found.prompt

    @property
    def ending(self):
        closed = self.one("debate.closed")
        return closed["outcome"], closed["reason"]

    @property
    def decision(self):
        row = self.one("decision.reached")
        return row["decision"], row["rule"]
