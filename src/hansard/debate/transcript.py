"""The shared transcript: what everybody may see, as an append-only recipe (FORMAT.md §7).

Layout `shared-prefix`: the neutral protocol, the question, the evidence, then
one block a turn, and last whatever is meant for one seat alone. Nothing that
changes between turns stands before the transcript, so all seats on one model
share the prefix and the provider's prompt cache pays for most of the input.
"""

from __future__ import annotations

from functools import lru_cache

from hansard.debate.events import Blob, TemplateHash
from hansard.debate.prompts import Part, Prompt, Recipe, quoted, role, template
from hansard.debate.state import DebateState, Step


def hash_of(rows: list[TemplateHash], name: str) -> str:
    """Return the hash recorded for `name`; raises KeyError where there is none."""
    for row in rows:
        if row["role"] == name:
            return row["sha256"]
    raise KeyError(name)


class Transcript:
    """Follows one debate's state and gives the prompt of a step that is due.

    It only ever adds to its recipe, so that a prompt costs the same after two
    turns and after two thousand.
    """

    def __init__(self, state: DebateState) -> None:
        self._state = state
        self._recipe = Recipe()
        self._turns = self._round = 0
        self._personas: dict[str, list[Part]] = {}
        self._block_hash = self._own_hash = ""

    def prompt(self, step: Step) -> Prompt:
        """Return what `step`'s speaker is asked, given everything said so far."""
        if not self._recipe.parts:
            self._begin()
        for turn in self._state.turns[self._turns :]:
            data = turn.data
            self._reach(data["round"])
            if turn.reply:
                label = f"{data['speaker']}, round {data['round']}, {data['phase']}"
                self._recipe.extend(self._block(label, turn.reply))
        self._turns = len(self._state.turns)
        self._reach(step.round)
        instruction = _instruction(self._own_hash, self._rounds, self._options, step)
        return Prompt.of(self._recipe, [*self._personas[step.speaker], instruction])

    def _begin(self) -> None:
        spec = self._state.spec
        self._block_hash = hash_of(spec["templates"], "block")
        self._own_hash = hash_of(spec["templates"], "debater")
        self._options = ", ".join(spec["terms"]["options"])
        self._rounds = str(spec["terms"]["max_rounds"])
        for seat in self._state.seats.values():
            persona = seat["persona"]
            self._personas[seat["id"]] = (
                self._block(f"persona of {seat['id']}", persona) if persona else []
            )
        protocol = template(hash_of(spec["templates"], "protocol"), options=self._options)
        question = self._block("question", spec["question"])
        self._recipe.extend([role("system"), protocol, role("user"), *question])

    def _reach(self, round_: int) -> None:
        """Add the documents that become visible up to `round_`."""
        if round_ > self._round:
            for document in self._state.evidence:
                if self._round < document["from_round"] <= round_:
                    label = f"evidence {document['document']}"
                    self._recipe.extend(self._block(label, document["text"]))
            self._round = round_

    def _block(self, label: str, text: Blob) -> list[Part]:
        return [_title(self._block_hash, label), quoted(text)]


# The same few titles and instructions come again in every debate that is verified.
@lru_cache(maxsize=4096)
def _title(digest: str, label: str) -> Part:
    return template(digest, label=label)


@lru_cache(maxsize=4096)
def _instruction(digest: str, rounds: str, options: str, step: Step) -> Part:
    return template(
        digest,
        max_rounds=rounds,
        options=options,
        phase=step.phase,
        round=str(step.round),
        speaker=step.speaker,
    )
