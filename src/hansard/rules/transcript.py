"""The shared transcript: what everybody may see, as an append-only recipe (FORMAT.md §7).

Layout `shared-prefix`: the neutral protocol, the question, the stances, the
evidence, then one block a turn, and last whatever is meant for one seat alone.
Nothing that changes between turns stands before the transcript, so all seats
on one model share the prefix and the provider's prompt cache pays for most of
the input. Only a step that is shown the turns in another order, or under other
titles, has a recipe of its own.

Layout `role-first` puts what is meant for one seat before everything else, for
models that follow their role better so; nearly nothing is shared then but the
digest of the transcript, which is folded on its own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

from hansard.rules.data import DecisionData, OpenedData, RegisteredData
from hansard.rules.fields import Blob, TemplateHash
from hansard.rules.formats import format_of
from hansard.rules.prompts import (
    Part,
    Prompt,
    Recipe,
    RoleFirst,
    Value,
    fold,
    plain,
    points,
    quoted,
    role,
    template,
)
from hansard.rules.state import DebateState, Step, Turn

_TOLD = 4  # parts of a tool: two blocks
_HEAD = 2  # parts before the role in `role-first`: where the system message begins, the protocol
CUSTOM = "custom:"  # a seat that a function fills: it is its own persona and instruction
CALLABLE = ("python:", CUSTOM)  # names of somebody's own code


def hash_of(rows: list[TemplateHash], name: str) -> str:
    """Return the hash recorded for `name`; raises KeyError where there is none."""
    for row in rows:
        if row["role"] == name:
            return row["sha256"]
    raise KeyError(name)


def template_of(state: DebateState, step: Step) -> str:
    """Return the role of the template that instructs the speaker of `step`."""
    if step.phase == "synthesis":
        return "synthesizer"
    return format_of(state.spec["terms"]).template(state, step)


def instructions_of(opened: OpenedData, seat: RegisteredData, round_: int) -> Blob | None:
    """Return the instructions of a seat in a round: of its last row until then, else the opening's.

    A seat that has rows of its own is told none before the first.
    """
    rows = seat["instructions"]
    if rows is None:
        return opened["instructions"]
    until = bisect_right(rows, round_, key=lambda row: row["round"])
    return rows[until - 1]["text"] if until else None


@dataclass(slots=True)
class _Begun:
    """What is known of the prompts of a step, from its first one on."""

    told: Recipe | RoleFirst  # with `length` of its parts
    length: int
    digest: bytes  # of these and of `tools`
    role: list[Part]
    repeats: tuple[int, ...]
    tools: list[Part] = field(default_factory=list)


class Prompter:
    """Follows one debate's state and gives the prompt of a step that is due.

    It only ever adds to its recipe, and to what a step was asked before, so that a
    prompt costs the same after two turns and after two thousand, and at the first
    attempt and the last one.
    """

    def __init__(self, state: DebateState) -> None:
        self._state = state
        self._recipe = Recipe()
        self._turns = self._round = 0
        self._standing = 0  # parts before the first turn
        self._opened: list[Part] = []  # what stands before the evidence
        self._ahead = 0  # how many parts of it stand before the role, and are no transcript
        self._hashes: dict[str, str] = {}
        self._given: dict[str, list[Part]] = {}  # to each seat by the user, the same every time
        self._begun: dict[str, _Begun] = {}  # by step, those that are due

    def prompt(self, step: Step) -> Prompt:
        """Return what `step`'s speaker is asked, given everything said so far."""
        if not self._recipe.parts:
            rules = self._rules = format_of(self._state.spec["terms"])
            self._hashes = {row["role"]: row["sha256"] for row in self._state.spec["templates"]}
            self._opened = list(self._opening(rules.values(self._state, None)))
            self._ahead = _HEAD if self._state.spec["layout"] == "role-first" else 0
            self._recipe.extend(self._opened[self._ahead :])
            self._reach(1)  # also for round 0, which a panel begins with
        for turn in self._state.turns[self._turns :]:
            self._standing = self._standing or len(self._recipe.parts)
            self._reach(turn.data["round"])
            title, shown = self._rules.label(self._state, turn)
            self._recipe.extend(self._told(title, shown, turn))
        if self._turns < len(self._state.turns):
            self._turns = len(self._state.turns)
            self._begun.clear()
        self._reach(step.round)
        if step.id not in self._begun:
            self._begun[step.id] = self._begin(step)
        return self._asked(step, self._begun[step.id])

    def _begin(self, step: Step) -> _Begun:
        """Return what is the same in every prompt of a step, however often it is tried."""
        retold, role = self._retold(step), list(self._role(step))
        told, whole = retold or self._recipe, len(self._recipe.parts)
        if self._ahead:
            behind = RoleFirst([*self._opened[: self._ahead], *role], told)
            return _Begun(behind, behind.length, behind.digest, [], ())
        repeats = () if retold else (self._standing or whole, whole)
        return _Begun(told, len(told.parts), told.digest, role, repeats)

    def _asked(self, step: Step, begun: _Begun) -> Prompt:
        """Return the prompt of a step's next attempt: the tools that came back only add to it."""
        tools = list(self._tools(step, len(begun.tools) // _TOLD))
        begun.tools += tools
        begun.digest = fold(begun.digest, tools)
        rest = [*begun.role, *self._once_more(step)]
        digest = fold(begun.digest, rest).hex()
        return Prompt(begun.told, begun.length, [*begun.tools, *rest], digest, begun.repeats)

    def _opening(self, values: Mapping[str, Value]) -> Iterator[Part]:
        """Yield what stands before the evidence: protocol, question, stances."""
        yield role("system")
        yield template(self._hashes["protocol"], **values)
        yield role("user")
        yield from self._block("question", self._state.spec["question"])
        for seat in self._state.seats.values():
            if seat["stance"]:
                yield from self._block(f"stance {seat['stance']['label']}", seat["stance"]["text"])

    def _retold(self, step: Step) -> Recipe | None:
        """Return the recipe of a step that is shown the turns otherwise than the others."""
        rows = None if step.phase == "synthesis" else self._rules.retold(self._state, step)
        if rows is None:
            return None
        recipe = Recipe()
        recipe.extend(self._opened[self._ahead :])
        recipe.extend(list(self._evidence(0, step.round)))
        for title, turn in rows:
            shown = self._rules.label(self._state, turn)[1]
            recipe.extend(self._told(title, shown, turn))
        return recipe

    def _told(self, title: str, as_points: bool, turn: Turn) -> list[Part]:
        reply, case = turn.reply, turn.case
        if reply is None:  # nobody was heard
            return []
        if not as_points:
            return self._block(title, reply)
        struck = case["struck"] if case else []
        schema = hash_of(self._state.spec["schemas"], turn.role)
        return [_title(self._hashes["block"], title), points(reply, struck, schema)]

    def _reach(self, round_: int) -> None:
        """Add the documents that become visible up to `round_`."""
        if round_ > self._round:
            self._recipe.extend(list(self._evidence(self._round, round_)))
            self._round = round_

    def _evidence(self, after: int, until: int) -> Iterator[Part]:
        for document in self._state.evidence:
            if after < document["from_round"] <= until:
                yield from self._block(f"evidence {document['document']}", document["text"])

    def _tools(self, step: Step, known: int) -> Iterator[Part]:
        """Yield what the tools gave that were asked for at this step, after the first `known`."""
        pending = self._state.steps.get(step.id)
        if pending is None:
            return
        for called in islice(pending.tools, known, None):
            tool, back = called["tool"], pending.returned[called["call"], called["number"]]
            name = tool if isinstance(tool, str) else "of no known name"
            yield from self._block(f"tool {name}, arguments", called["arguments"])
            yield from self._block(f"tool {name}, result", back["result"])

    def _role(self, step: Step) -> Iterator[Part]:
        """Yield what is meant for the speaker of a step alone, its instruction last."""
        state, seat = self._state, self._state.seats[step.speaker]
        custom = seat["model"].startswith(CUSTOM)
        if seat["id"] not in self._given:
            self._given[seat["id"]] = [] if custom else list(self._builtin(seat))
        yield from self._given[seat["id"]]
        instructions = None if custom else instructions_of(state.spec, seat, step.round)
        if instructions:
            yield plain(instructions)
        name = template_of(state, step)
        if name == "synthesizer" and state.decision:
            yield from self._synthesis(state.decision)
        else:
            yield _filled(self._hashes[name], self._rules.values(state, step))

    def _once_more(self, step: Step) -> Iterator[Part]:
        """Yield why the step is tried once more, where a reply was sent back or did not count."""
        pending = self._state.steps.get(step.id)
        if pending is None:
            return
        if pending.sent_back:
            critique, back = pending.sent_back
            yield from self._block("your critique that was sent back", critique["reply"])
            told = {"code": back["code"], "rating": str(back["rating"])}
            yield _filled(self._hashes["critic_again"], told)
        if pending.rejection:
            why = pending.rejection
            told = {
                "code": why["code"],
                "keyword": why["keyword"] or "none",
                "member": why["member"] or "the reply",
            }
            yield _filled(self._hashes["again"], told)

    def _builtin(self, seat: RegisteredData) -> Iterator[Part]:
        """Yield what the user gives to seats that no function fills, whatever the round.

        To a moderator no context.
        """
        spec = self._state.spec
        if spec["context"] and seat["role"] != "moderator":
            yield from self._block("context", spec["context"])
        if seat["persona"]:
            yield from self._block(f"persona of {seat['id']}", seat["persona"])

    def _synthesis(self, decision: DecisionData) -> Iterator[Part]:
        """Yield the synthesizer's instruction, and the schema of what is wanted."""
        values = {"decision": decision["decision"], "rule": decision["rule"]}
        yield _filled(self._hashes["synthesizer"], values)
        yield template(hash_of(self._state.spec["schemas"], "synthesizer"))

    def _block(self, label: str, text: Blob) -> list[Part]:
        return [_title(self._hashes["block"], label), quoted(text)]


# The same few titles and instructions come again in every debate that is verified.


@lru_cache(maxsize=4096)
def _title(digest: str, label: str) -> Part:
    return template(digest, label=label)


def _filled(digest: str, values: Mapping[str, Value]) -> Part:
    """Return an instruction; one with a value in pieces may be very long, and is not kept."""
    short = tuple((name, value) for name, value in values.items() if isinstance(value, str))
    return _kept(digest, short) if len(short) == len(values) else template(digest, **values)


@lru_cache(maxsize=4096)
def _kept(digest: str, values: tuple[tuple[str, str], ...]) -> Part:
    return template(digest, **dict(values))
