"""What a policy demands of a debate beside its templates (FORMAT.md §15).

All of it can be said of an opening, its seats and the replies' own words on who served them,
so that the engine looks before anything is written, and a verifier again. A `Breach` is a
demand that is not met; one whose text is gone is `gone`, and nobody can tell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from hansard.record.policy import Policy
from hansard.rules.data import AFTER, Event, OpenedData, RegisteredData
from hansard.rules.fields import Blob
from hansard.rules.formats import format_of
from hansard.rules.seating import OFFLINE
from hansard.rules.terms import JUDGING
from hansard.rules.transcript import CALLABLE

TEXTS = ("template", "schema", "tool", "persona", "instructions", "context")  # by check 10
_PLACED = re.compile(r"^(?:[a-z-]+\.)+")  # place and maker before a name of Bedrock's
_FAMILY = re.compile(r"[^-0-9.:]+")
NOBODY_INVOLVED = "nobody_involved"
MOST_NAMED = 10  # of the values that would have done, whoever tells of a breach
HashOf = Callable[[str], str | None]  # the plain SHA-256 of a text by its name; None: it is gone


class Breach(NamedTuple):
    """A term, the values that it admits, and what stands there instead."""

    term: str
    expected: Sequence[str]
    found: str | int | None = None
    gone: bool = False

    @property
    def code(self) -> str:
        """The code of the finding: texts belong to check 10, everything else to 18."""
        return f"{10 if self.term in TEXTS else 18}.{self.term}"


def of_opening(policy: Policy, opened: OpenedData) -> Iterator[Breach]:
    """Yield what the opening itself lacks or oversteps."""
    format_ = opened["terms"]["format"]
    for row in opened["schemas"]:
        yield from _one_of(policy, "schema", format_, row["role"], row["sha256"])
    for tool in opened["tools"]:
        yield from _one_of(policy, "tool", format_, None, tool["sha256"])
    yield from _one_of(policy, "task_type", format_, None, opened["task_type"])
    values, kept = policy.values("retention", format_), opened["retention"]
    if values is not None and kept not in [value.partition(":")[0] for value in values]:
        yield Breach("retention", values, kept)
    for name in policy.required(format_):
        if opened[name] is None:  # type: ignore[literal-required]
            yield Breach("require", [name])
    yield from _limits(policy, opened)
    if policy.values("evidence", format_) and not opened["documents"]:
        yield Breach("evidence", ["required"], 0)
    yield from _reviewable(policy, opened)
    yield from _gated(policy, opened)


def _gated(policy: Policy, opened: OpenedData) -> Iterator[Breach]:
    """Yield what the gate, where there is one, was asked otherwise than the policy says."""
    gate, format_ = opened["gate"], opened["terms"]["format"]
    stated = {"gate_factor": gate["factor"], "gate_rule": gate["rule"]} if gate else {}
    for term, found in stated.items():
        values = policy.values(term, format_)
        if values is not None and str(found) != values[0]:
            yield Breach(term, values, found)


def _reviewable(policy: Policy, opened: OpenedData) -> Iterator[Breach]:
    """Yield that nobody can tell who is involved, since they name no key."""
    values = policy.values("reviewer_may_be", opened["terms"]["format"])
    people = (opened["requester"], opened["owner"])
    if values == (NOBODY_INVOLVED,) and not all(person and person["key"] for person in people):
        yield Breach("reviewer_may_be", values)


def _limits(policy: Policy, opened: OpenedData) -> Iterator[Breach]:
    """Yield the numbers that are looser than the policy's, or stated nowhere."""
    terms, limits = opened["terms"], opened["limits"]
    seconds = limits["elapsed_ms"]
    most: Mapping[str, int | None] = {
        "max_rounds": terms.get("max_rounds", 1),
        "max_calls": limits["calls"],
        "max_tokens": limits["tokens"],
        "max_cost_micro_usd": limits["cost_micro_usd"],
        "max_seconds": -(-seconds // 1000) if seconds else None,
    }
    for name, number in most.items():
        values = policy.values(name, terms["format"])
        if values is not None and (number is None or number > int(values[0])):
            yield Breach(name, values, number)
    least = policy.values("min_challenge_strength", terms["format"])
    strength = cast(int | None, terms.get("min_challenge_strength"))
    if least is not None and strength is not None and strength < int(least[0]):
        yield Breach("min_challenge_strength", least, strength)
    if (
        policy.values("cited_critique", terms["format"])
        and terms.get("require_cited_critique") is False
    ):
        yield Breach("cited_critique", ["required"])


def of_seat(
    policy: Policy, opened: OpenedData, seat: RegisteredData, hash_of: HashOf
) -> Iterator[Breach]:
    """Yield what a seat may not be told, and which model may not sit in it.

    A moderator is told no context. Who judges is told nothing by default but the templates.
    """
    format_, role = opened["terms"]["format"], seat["role"]
    told = {"persona": [seat["persona"]], "instructions": _instructions(opened, seat)}
    if role != "moderator":
        told["context"] = [opened["context"]]
    for term, blobs in told.items():
        values = policy.values(term, format_, role)
        if values is None:
            values = ("none",) if role in JUDGING else ("any",)
        found = {hash_of(blob["sha256"]) if blob else "none" for blob in blobs} - {*values}
        if "any" not in values and found:
            gone = found == {None} and any(value != "none" for value in values)
            yield Breach(term, values, gone=gone)
    provider, _, model = seat["model"].partition(":")
    yield from _one_of(policy, "provider", format_, role, provider)
    yield from _one_of(policy, "model", format_, role, model)
    address = seat["parameters"]["base_url"] or "default"
    yield from _one_of(policy, "base_url", format_, role, address)
    if policy.values("callable", format_, role) == ("none",) and seat["model"].startswith(CALLABLE):
        yield Breach("callable", ["none"], seat["model"])


def _instructions(opened: OpenedData, seat: RegisteredData) -> list[Blob | None]:
    """Return all instructions that a seat can be given; None: there can be a round without."""
    rows = seat["instructions"]
    if rows is None:
        return [opened["instructions"]]
    late = rows[0]["round"] > format_of(opened["terms"]).spec.FIRST_ROUND
    return [*([None] if late else []), *(row["text"] for row in rows)]


def independence(
    policy: Policy, opened: OpenedData, seats: Sequence[RegisteredData]
) -> Iterator[tuple[int, Breach]]:
    """Yield the seats, by place, that are of the model or the family of those whom they judge.

    Who judges is apart from all others but the synthesizer, a critic from the proposers.
    """
    judged: dict[str, str] = {}  # the first model of each, by itself and by its family
    proposed: dict[str, str] = {}
    for seat in seats:
        known = [judged] if seat["role"] not in (*JUDGING, "synthesizer") else []
        known += [proposed] if seat["role"] == "proposer" else []
        for models in known:
            models.setdefault(f"model {seat['model']}", seat["model"])
            models.setdefault(f"family {family(seat['model'])}", seat["model"])
    for place, seat in enumerate(seats):
        role, model = seat["role"], seat["model"]
        values = policy.values("independent", opened["terms"]["format"], role)
        others = judged if role in JUDGING else proposed if role == "critic" else {}
        kin = {"model": model, "family": family(model)}
        if values is not None and kin[values[0]] is not None:
            same = others.get(f"{values[0]} {kin[values[0]]}")
            if same is not None:
                yield place, Breach("independent", values, same)


def of_answer(
    policy: Policy, opened: OpenedData, seat: RegisteredData, served: str | None
) -> Iterator[Breach]:
    """Yield a model that served a reply though the policy does not admit it."""
    yield from _one_of(policy, "served", opened["terms"]["format"], seat["role"], served)


def of_signature(policy: Policy, opened: OpenedData, event: Event) -> Iterator[Breach]:
    """Yield a signature after the close that the policy does not want, or that it lacks."""
    format_, data = opened["terms"]["format"], cast(Mapping[str, Any], event["data"])
    what = AFTER[event["type"]]
    if what == "redaction":
        values = policy.values("redactors", format_)
        if values is not None and len(data["signatures"]) < int(values[0]):
            yield Breach("redactors", values, len(data["signatures"]))
        return
    if data["signature"] is None and what in (policy.values("signed", format_) or ()):
        yield Breach("signed", [what])
    values = policy.values("reviewer_may_be", format_)
    if what == "review" and values == (NOBODY_INVOLVED,):
        name = data["signature"]["key"].partition("+")[0]
        people = (opened["requester"], opened["owner"])
        if name in [person["key"] for person in people if person]:
            yield Breach("reviewer_may_be", values, name)


def family(model: str) -> str | None:
    """Return the family of a model; None where no model answers.

    >>> family("openai:gpt-4o"), family("python:mine-2"), family("scripted:replies.yaml")
    ('gpt', 'python:mine-2', None)
    >>> family("bedrock:us.anthropic.claude-3"), family("vllm:meta-llama/Llama-3")
    ('claude', 'llama')
    """
    if model.startswith(OFFLINE):
        return None
    provider, _, path = model.partition(":")
    name = path.rpartition("/")[2].lower()
    if provider == "bedrock":
        name = _PLACED.sub("", name)
    found = None if model.startswith(CALLABLE) else _FAMILY.match(name)
    return found[0] if found else model


def _one_of(
    policy: Policy, term: str, format_: str, role: str | None, found: str | None
) -> Iterator[Breach]:
    """Yield a breach where lines of a term count, and none of them names what was found."""
    values = policy.values(term, format_, role)
    if values is None or (term in TEXTS and "any" in values):
        return
    if not any(_names(value, found) for value in values):
        yield Breach(term, values, found)


def _names(value: str, found: str | None) -> bool:
    if found is None:
        return False
    return found.startswith(value[:-1]) if value.endswith("*") else found == value
