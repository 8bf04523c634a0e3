"""A gate's answer as a record of its own, after which no debate was held (FORMAT.md §11, 18)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from conformance_kit.case import Case, bad, good, group, not_due
from conformance_kit.debates import approving, decided
from conformance_kit.exports import export, files_of, seal, withholding
from conformance_kit.gate import DEAR, conditions, gate
from conformance_kit.people import ANN, BEN, TWO, hold, noted, review, texts
from conformance_kit.records import Data, Record, SteadyClock, digest, dump, time_of

FIRST = "0" * 64


def asked(found: Data | None = None, answer: str | None = None, **fields: Any) -> Record:
    """Return the record of a gate that was asked about a question, with this answer."""
    empty = Record((), {}, {}, {})
    record, rows = texts(empty, "Shall we sign?", *([] if answer is None else [answer]))
    told = (gate() if found is None else found) | (
        {"answer": rows[1]} if answer is not None else {}
    )
    data: Data = {
        "engine": "hansard/kit",
        "rules": 1,
        "question": rows[0],
        "requester": None,
        "owner": None,
        "labels": [],
        "retention": None,
        "gate": told,
    }
    event = {"type": "gate.answered", "data": data | fields, "at": time_of(1), "seq": 1, "v": 1}
    where = {"debate": SteadyClock("asked").debate_id(), "prev": FIRST}
    return replace(record, lines=(dump(event | where),))


def person(record: Record, **people: Any) -> Record:
    """Say who asks, or who answers for it: a name and the name of a key."""
    for role, (name, key) in people.items():
        record, (row,) = texts(record, name)
        record = record.data(1, **{role: {"name": row, "key": key}})
    return record


def plus(record: Record, event: Mapping[str, Any]) -> Record:
    """Add an entry of another record at the end."""
    return record.insert(len(record.lines) + 1, event["type"], event["data"])


@group
def answers() -> Iterator[Case]:
    """What a gate may answer, and what people may say of it."""
    yield good("asked-alone", "No debate is advised, and none was held.", export(asked()))
    risky = gate("downside", "high_risk", advised=True, rule="all", task_type="contract", **DEAR)
    risky |= {"advised": False}
    yield good(
        "asked-all",
        "Two of three conditions are met; requester, owner, labels and class are stated.",
        export(
            person(
                asked(risky, labels=["a", "b"], retention="ten-years"),
                requester=("Ann Lee", ANN.name),
                owner=("Ben Roe", None),
            )
        ),
    )
    advised = gate("downside", advised=True, **DEAR)
    yield good("asked-advised", "A debate is advised, and was not held.", export(asked(advised)))
    hedged = asked(gate("uncertain", advised=True, rule="any"), "Perhaps.")
    yield good("asked-hedges", "The answer of a single model hedges.", export(hedged))
    path = f"blobs/{hedged.event(1)['data']['gate']['answer']['sha256']}"
    yield good("asked-withheld", "The answer is withheld.", withholding(hedged, path))
    every = hold(noted(hold(noted(asked(), None, label="wrong"))), lift=True)
    yield good("asked-noted", "Outcomes and holds follow.", export(every))
    yield good("asked-reviewed", "It is reviewed.", export(review(asked())))
    yield good("asked-rejected", "A review rejects it.", export(review(asked(), "rejected")))
    twice = review(review(asked(), "conditions"), by=BEN)
    yield good(
        "asked-partly", "A review approves it, another under conditions.", export(twice), TWO
    )
    own = person(asked(), requester=("Ann Lee", ANN.name))
    yield good("asked-by-the-reviewer", "Who asks does not review.", export(review(own)))


@group
def altered() -> Iterator[Case]:
    """Fields that do not follow from what was asked."""
    dear = asked(gate("downside", advised=True, **DEAR))
    for name, why, change in (
        ("advised", "Nothing is met, and it advises a debate.", gate(advised=True)),
        ("not-advised", "The downside is met, and it does not advise a debate.",
         gate("downside", **DEAR)),
        ("conditions", "The downside is said to be met, and is not.", gate("downside")),
        ("risk", "The task type is of high risk, and the condition is not met.",
         gate(task_type="security")),
        ("order", "The conditions stand in another order.",
         gate() | {"conditions": conditions()[::-1]}),
    ):  # fmt: skip
        yield not_due(f"asked-{name}", 1, why, asked(change))
    for name, value in (("downside_micro_usd", 1), ("threshold_micro_usd", 10**9), ("factor", 51)):
        changed = dear.event(1)["data"]["gate"] | {name: value}
        why = f"The `{name}` is another one, with which the downside is not met."
        yield not_due(f"asked-{name.replace('_', '-')}", 1, why, dear.data(1, gate=changed))
    hedged = asked(gate(rule="any"), "Perhaps.")
    yield not_due("asked-hedge", 1, "The answer hedges, and the gate does not say so.", hedged)
    for name, labels in (("order", ["b", "a"]), ("twice", ["a", "a"])):
        why = "Labels stand in order, each once."
        yield not_due(f"asked-labels-{name}", 1, why, asked(labels=labels))
    for name, fields in (
        ("rules", {"rules": 2}),
        ("gate-none", {"gate": None}),
        ("question-none", {"question": None}),
        ("more", {"policy": None}),
    ):
        data = asked().event(1)["data"] | fields
        why = "That is no such entry."
        yield bad(f"asked-form-{name}", "7.schema", 1, why, export(asked().top(1, data=data)))


@group
def followed() -> Iterator[Case]:
    """What may not stand beside it."""
    record, debate = asked(), decided()
    why = "After a gate's answer only what people say of it is due."
    for event in (debate.event(1), debate.event(2), debate.event(12), record.event(1)):
        with_texts = replace(record, blobs={**record.blobs, **debate.blobs})
        made = plus(with_texts, event).pruned()
        yield not_due(f"asked-then-{event['type'].replace('.', '-')}", 2, why, made)
    resumed = plus(record, {"type": "debate.resumed", "data": {"engine": "hansard/kit"}})
    yield not_due("asked-then-resumed", 2, why, resumed)
    yield not_due("asked-then-lifted", 2, "No hold stands.", hold(record, lift=True))
    for name, seq in (("in-the-opening", 2), ("in-a-debate", 6), ("after-the-close", 13)):
        made = debate.insert(seq, "gate.answered", record.event(1)["data"])
        made = replace(made, blobs={**debate.blobs, **record.blobs})
        yield not_due(f"asked-{name}", seq, "No gate is asked in a debate.", made)
    last = review(record)
    early = noted(last, head=FIRST)
    yield bad("asked-head", "20.head", 3, "It names no entry of the record.", export(early))
    yield bad("asked-review-head", "19.head", 2, "It names no entry.",
              export(review(record, head=FIRST)))  # fmt: skip
    forged = review(record).data(2, outcome="rejected")
    yield bad("asked-forged", "19.signature", 2, "Its outcome was altered.", export(forged))
    files = files_of(record)
    template = b"Approve.\n"
    yield bad(
        "asked-template",
        "10.unnamed",
        0,
        "It names no template, and there is one.",
        seal(files | {f"templates/{digest(template)}": template}),
    )
    policy = approving()
    yield bad(
        "asked-policy",
        "10.unnamed",
        0,
        "It names no policy, and there is one.",
        seal(files | {f"policies/{digest(policy)}": policy}),
    )
    path = record.file_of(1, "question")
    del files[path]
    yield bad("asked-question-gone", "8.missing", 1, "The question is gone.", seal(files))
