"""Whether a closed debate is reviewed, and its decision released (FORMAT.md §18).

A pure function of the record, the policy that it names, and the keys that a reader trusts.
What nobody can show to be approved is not released.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from hansard.record.keys import Standing, Trust, names_of, standing
from hansard.record.note import VerifierKey
from hansard.record.policy import Policy
from hansard.rules import after, spending
from hansard.rules.data import GateAnsweredData, OpenedData, ReviewData
from hansard.rules.state import DebateState

ReviewState = Literal[
    "disagreement",
    "remanded",
    "rejected",
    "approved",
    "partly",
    "not required",
    "overdue",
    "waiting",
]
SETTLED: Sequence[ReviewState] = ("approved", "not required")
_DAY_MS = 86_400_000
# Why a review does not count: as its key stands in the trust file, or for itself.
Standings = Literal[Standing, "involved", "faulty"]


@dataclass(frozen=True, slots=True)
class Signed:
    """A review as it stands: who signed it when, and whether it counts (`trusted`) or why not."""

    seq: int
    at: str
    key: str
    standing: Standings
    data: ReviewData

    @property
    def counts(self) -> bool:
        """Whether it counts."""
        return self.standing == "trusted"


@dataclass(frozen=True, slots=True)
class Lift:
    """The end of a hold: by which key and how that stands as of a review; None: nobody signed."""

    seq: int
    at: str
    key: str | None
    standing: Standings | None


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The state of the review of a debate.

    `exceptions` are why a review is asked for by default; `wanted` is how many approvals are
    required, 0 where none is. `open` are the names of conditions that nobody noted as met.
    `lifts` are the ends of holds, in order.
    """

    state: ReviewState
    released: bool
    wanted: int
    exceptions: tuple[str, ...]
    reviews: tuple[Signed, ...]
    open: tuple[str, ...]
    due: int | None  # days from the close, as the policy says
    lifts: tuple[Lift, ...] = ()


def review_of(
    state: DebateState, policy: Policy | None, trust: Trust, now: str | None = None
) -> Reviewed:
    """Return how the review of a debate stands, at the time `now` where it may be overdue."""
    asked = exceptions(state)
    wanted = _wanted(state, policy, asked)
    days = _value(state, policy, "review_days")
    due = int(days) if days else None
    reviews = tuple(_signed(state, policy, trust))
    noted = _noted(state, policy, trust)
    last = last_of(reviews)
    open_ = [_open(row, noted) for row in last]
    found = [
        "approved" if row.data["outcome"] == "conditions" and not unmet else row.data["outcome"]
        for row, unmet in zip(last, open_, strict=True)
    ]
    over = wanted > 0 and due is not None and now is not None and _over(state, due, now)
    reached: ReviewState = _state(found, wanted, over=over)
    released = reached in SETTLED and _decided(state)
    names = tuple(dict.fromkeys(name for names in open_ for name in names))
    lifts = tuple(_lifts(state, policy, trust))
    return Reviewed(reached, released, wanted, asked, reviews, names, due, lifts)


def last_of(reviews: Sequence[Signed]) -> list[Signed]:
    """Return of each public key the last review that counts: those that stand."""
    return list({VerifierKey.parse(row.key).public: row for row in reviews if row.counts}.values())


def _state(found: Sequence[str], wanted: int, *, over: bool) -> ReviewState:  # noqa: PLR0911 - the first that applies
    """Return the first state that applies to the last reviews of all keys."""
    approvals = found.count("approved")
    if approvals and "rejected" in found:
        return "disagreement"
    if "remanded" in found:
        return "remanded"
    if "rejected" in found:
        return "rejected"
    if approvals and approvals >= wanted:
        return "approved"
    if found:
        return "partly"
    if not wanted:
        return "not required"
    return "overdue" if over else "waiting"


def _open(review: Signed, noted: Mapping[str, int]) -> list[str]:
    """Return the names of the conditions of a review that nobody noted as met after it."""
    names = [blob["sha256"] for blob in review.data["conditions"]]
    return [name for name in names if noted.get(name, 0) < review.seq]


def exceptions(state: DebateState) -> tuple[str, ...]:
    """Return, in words of the vocabulary, why a debate asks for a review by default."""
    if state.gated:  # there was none
        return ()
    decision, verdict = state.decision, state.verdict
    cases = [turn.case for turn in state.turns if turn.case]
    found = {
        "escalated": decision is not None and decision["decision"] == "escalate",
        "undeclared": verdict is not None and verdict["undeclared"],
        "low_confidence": verdict is not None and verdict["confidence"] == "LOW",
        "truncated": state.closed is not None and state.closed["outcome"] == "truncated",
        "against_gate": state.spec["gate"] is not None and not state.spec["gate"]["advised"],
        "citations": any(
            row["finding"] != "verified" for case in cases for row in case["citations"]
        ),
    }
    return tuple(name for name, there in found.items() if there)


def _wanted(state: DebateState, policy: Policy | None, asked: Sequence[str]) -> int:
    if state.closed is None or state.closed["outcome"] == "failed":
        return 0
    when = _value(state, policy, "review") or "exceptions"
    if when == "never" or (when == "exceptions" and not asked):
        return 0
    return int(_value(state, policy, "reviewers") or 1)


def value_of(said: OpenedData | GateAnsweredData, policy: Policy | None, term: str) -> str | None:
    """Return what a policy says of a debate under a term that stands once; a gate has none."""
    terms = cast(Mapping[str, Any], said).get("terms")
    values = policy.values(term, terms["format"]) if policy and terms else None
    return values[0] if values else None


def _value(state: DebateState, policy: Policy | None, term: str) -> str | None:
    return value_of(state.gated or state.spec, policy, term)


def _decided(state: DebateState) -> bool:
    """Whether a decision was reached that somebody can act on."""
    complete = state.closed is not None and state.closed["outcome"] == "complete"
    return complete and not {"escalated", "undeclared"} & set(exceptions(state))


def _over(state: DebateState, days: int, now: str) -> bool:
    return spending.milliseconds(state.at, now) > days * _DAY_MS


def involved(
    said: OpenedData | GateAnsweredData, policy: Policy | None, trust: Trust, key: VerifierKey
) -> bool:
    """Say whether a key may not review, since it is that of somebody involved by any name.

    `said` is what the record begins with.
    """
    may_be = value_of(said, policy, "reviewer_may_be")
    people = [] if may_be == "requester" else [said["requester"]]
    people += [said["owner"]] if may_be == "nobody_involved" else []
    names = names_of(trust, key)
    return any(person["key"] in names for person in people if person)


def _signed(state: DebateState, policy: Policy | None, trust: Trust) -> list[Signed]:
    return [
        Signed(
            seq,
            event["at"],
            event["data"]["signature"]["key"],
            _standing(state, policy, trust, place),
            event["data"],
        )
        for place, (seq, event) in enumerate(enumerate(state.after, _first(state)))
        if event["type"] == "review.signed"
    ]


def _lifts(state: DebateState, policy: Policy | None, trust: Trust) -> Iterator[Lift]:
    for place, event in enumerate(state.after):
        if event["type"] == "hold.lifted":
            signed = event["data"]["signature"]
            how = _standing(state, policy, trust, place) if signed else None
            key = after.name_in(signed) if signed else None
            yield Lift(_first(state) + place, event["at"], key, how)


def _standing(state: DebateState, policy: Policy | None, trust: Trust, place: int) -> Standings:
    """Say how the signature of an entry after the close stands to those that count."""
    event = state.after[place]
    signatures = after.signatures_of(event)
    key = after.key_of(signatures[0]) if signatures else None
    if key is None or any(after.faults(state.after[:place], event)):
        return "faulty"
    found = standing(trust, key, "reviewer", event["at"])
    if found == "trusted" and involved(state.gated or state.spec, policy, trust, key):
        return "involved"
    return found


def _noted(state: DebateState, policy: Policy | None, trust: Trust) -> dict[str, int]:
    """Return the conditions that somebody who may review noted as met, and in which entry last."""
    return {
        data["condition"]: _first(state) + place
        for place, event in enumerate(state.after)
        if event["type"] == "outcome.noted" and (data := event["data"])["condition"] is not None
        if _standing(state, policy, trust, place) == "trusted"
    }


def _first(state: DebateState) -> int:
    """Return the place in the record of the first entry after the close."""
    return state.seq - len(state.after) + 1
