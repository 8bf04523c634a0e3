"""The two examples of the consensus source as records, and one in which much goes wrong."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from pathlib import Path

import pytest

from exporting import unheld
from gating import recorded
from hansard.record import keys, note
from hansard.record import policy as policies
from hansard.record.bundle import Bundle
from hansard.rules.formats import ConsensusSpec
from hansard.runtime import session
from hansard.runtime.inputs import packaged_templates
from hansard.runtime.models.base import Completion, ModelError, Wire
from hansard.store.application import Store
from hansard.verify.verifier import verify
from playing import served
from reviewing import reviewed
from support import EVENTFUL, Debate, Setup, Stop, eventful, script, votes

SEATS = ("planner", "critic", "operator")
FORMATS = tuple(name for name in EVENTFUL if name != "consensus")
SPLIT = dict(zip(SEATS, ("release", "revise", "escalate"), strict=True))


def reply(vote, words):
    return f'{{"stance": "{words}", "rationale": "because", "vote": "{vote}"}}'


def split(request):
    return reply(SPLIT[request.speaker], f"{request.speaker} in {request.phase}")


class Died(BaseException):
    pass


def agreed(request):
    return reply("release" if request.speaker == "planner" else "revise", request.speaker)


async def troubled(request):
    """Fail, stammer, hang and state costs: every type of event, every class of field."""
    if request.call == "r1.proposal.operator:1":
        await asyncio.sleep(3600)  # its process dies first: abandoned
    attempt = int(request.call.rpartition(":")[2])
    if (request.round, request.phase) == (1, "critique"):
        if request.speaker == "planner":
            wire = Wire(503, "req_3", sent_as_rendered=False, sent="the body that failed")
            raise ModelError("server_error", "HTTP-503", wire=wire)  # three times: forfeited
        if request.speaker == "critic":
            raise ModelError("client_error")  # once: forfeited
        if attempt < 3:
            text = "no JSON" if attempt == 1 else reply("ship-it", "x")
            return Completion(text, tokens_in=9)
    if (request.round, request.phase, attempt) == (1, "revision", 1):
        return Completion(reply("revise", "cut"), finish="length")
    if (request.round, request.phase, request.speaker) == (1, "consensus", "critic"):
        return "never JSON"  # three times: forfeited
    return Completion(
        reply(SPLIT[request.speaker], f"{request.speaker} {request.phase} {request.round}"),
        model="served-1",
        tokens_in=1001 if request.speaker != "critic" else None,
        tokens_cached=400,
        tokens_cache_write=200,
        tokens_out=30,
        status=200,
        response_id="resp_1",
        request_id="no id: a text",
        fingerprint="fp",
        sent_as_rendered=False,
        sent="the body that was sent",
    )


def spec(**changes):
    fields = {
        "question": "Do we release?",
        "options": ["release", "revise", "escalate"],
        "threshold": 2,
        "max_rounds": 2,
        "debaters": [{"id": seat, "model": f"python:{seat}"} for seat in SEATS],
    }
    return ConsensusSpec.model_validate(fields | changes)


TROUBLED = spec(
    evidence=[
        {"id": "memo", "text": "It failed twice."},
        {"id": "runbook", "text": "An hour.", "from_round": 2},
    ],
    prices={
        f"openai:{seat}": {"input": "2.5", "cached": "1.5", "cache_write": "4", "output": "10"}
        for seat in ("planner", "operator")
    },
    debaters=[
        {
            "id": seat,
            "model": f"openai:{seat}",
            "persona": f"You are {seat}.",
            "settings": {"temperature": "0.7", "top_p": "1", "seed": 7, "max_tokens": 100}
            | {"reasoning_effort": "low", "structured": "native"},
        }
        for seat in SEATS
    ],
    seed=7,
    name="pilot",
    task_type="contract",
    requester={"name": "Ann Lee", "key": "acme/reviewer"},
    owner="Bo Ek",
    labels=["pilot", "q4"],
    retention="7y",
    gate={
        "downside": "250000",
        "threshold": "2.5",
        "confidence": "0.8",
        "answer": "It may be so.",
        "rule": "any",
    },
)
ORIGIN = {
    "kind": "branch",
    "debate": "3f2b8c1e-5a7d-4c9e-8b1a-2d4f6a8c0e12",
    "head": "ab" * 32,
    "seq": 4,
}


def policy(**instead):
    """A signed policy that approves the packaged templates, or others in their place."""
    packaged = packaged_templates("consensus")
    approved = {role: sha256(body).hexdigest() for role, body in packaged.items()} | instead
    rows = approved.items()
    lines = [policies.Line(f"consensus.{role}", "template", digest) for role, digest in rows]
    return policies.parse(
        note.sign(policies.write(lines), note.Signer("test/approval", keys.generate()))
    )


def play(store, spec, model, die_at=0, policy=None, origin=None):
    models = dict.fromkeys(SEATS, model)

    def observe(event):
        if event["seq"] == die_at:
            raise Died

    given = {"models": models}
    with served(model), unheld():
        try:
            more = {"policy": policy, "origin": origin, "observe": observe}
            asyncio.run(session.run(spec, store, Path.cwd(), **more, **given))
        except Died:
            asyncio.run(session.resume(store.debates()[-1], store, **given))
    bundle = store.bundle(store.debates()[-1])
    verification = verify(bundle)
    assert verification.ok, verification.findings
    assert not verification.open
    return bundle


def stopped(ends, said, **fields) -> Bundle:
    """A debate that a person stopped: before its decision, or before its deliverable."""
    return Debate(Setup(**fields), script(ends, votes(**said))).run().bundle()


def made(store: Store) -> dict[str, Bundle]:
    """The records by name; `other` is a second debate of the plain kind."""
    return {
        "asked": recorded(),
        "decided": play(store, spec(), agreed),
        "plain": play(store, spec(), split),
        "rich": play(store, TROUBLED, troubled, die_at=11, policy=policy(), origin=ORIGIN),
        "refused": play(store, spec(), split, policy=policy(debater="ab" * 32)),
        "other": play(store, spec(question="Another one?"), split),
        "reviewed": reviewed().bundle(),
        "stopped": stopped({"r1.critique.critic": Stop("Ann Lee", "wrong question")}, SPLIT),
        "unwritten": stopped(
            {"synthesis": Stop("Ann Lee", "enough")},
            dict.fromkeys(SEATS, "release"),
            output_schema={"type": "object"},
        ),
    } | {name: eventful(name).bundle() for name in FORMATS}


@pytest.fixture(scope="session")
def records():
    with Store.open("sqlite:///:memory:") as store:
        yield made(store)


@pytest.fixture(scope="session")
def plain(records):
    return records["plain"]


@pytest.fixture(scope="session")
def rich(records):
    return records["rich"]


@pytest.fixture(scope="session")
def other(records):
    return records["other"]
