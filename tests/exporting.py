"""Exports in memory: made, altered, signed anew, and read by both verifiers, which must agree.

    files = exported(bundle)                 # by name, signed with the house's key
    read(files | {"events.jsonl": …})        # ALTERED: the manifest tells
    read(signed(files, STRANGER), level=0)   # nothing tells, but who signed it

The keys are fixed; those of the house are in TRUST, the stranger's is not.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import tempfile
from hashlib import sha256
from pathlib import Path
from unittest.mock import patch

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import verify as tool
from hansard.export.write import instructions
from hansard.governance.approval import lines_for, sign
from hansard.page.read import verify_export
from hansard.record import bundle as bundles
from hansard.record import manifest, note, policy
from hansard.record.keys import parse_trust
from hansard.record.note import Signer
from hansard.rules.formats import ConsensusSpec
from hansard.runtime import session
from hansard.runtime.inputs import packaged_templates
from hansard.runtime.models.base import Completion, ModelError
from hansard.store.application import Store
from playing import served

TOOL_FILE = Path(tool.__file__)


def signer(name, secret=None):
    seed = sha256((secret or name).encode()).digest()
    return Signer(name, Ed25519PrivateKey.from_private_bytes(seed))


EXPORT, APPROVAL, LOG = signer("house/export"), signer("house/approval"), signer("house/log")
STRANGER = signer("stranger/export")


def trust_file(*rows):
    """A trust file of (role, signer) rows, each with a dict of `from` and `until` if wanted."""
    keys = [{"role": row[0], "key": str(row[1].key), **dict(*row[2:])} for row in rows]
    return json.dumps({"v": 1, "keys": keys}).encode()


TRUST = trust_file(("export", EXPORT), ("approval", APPROVAL), ("log", LOG))


# Records


SEATS = ("planner", "critic", "operator")
MODELS = ("python:planner", "python:critic", "openai:operator")
VOTES = dict(zip(SEATS, ("release", "revise", "escalate"), strict=True))


def reply(vote, words="so"):
    return json.dumps({"stance": words, "rationale": "because", "vote": vote})


async def eventful(request):
    """Fail once, stammer once, be cut off once; state costs and a body that was sent."""
    attempt = int(request.call.rpartition(":")[2])
    at = (request.round, request.phase, request.speaker)
    if at == (1, "critique", "planner"):
        raise ModelError("server_error", "HTTP-503")  # each time: forfeited
    if at == (1, "critique", "critic") and attempt == 1:
        return Completion("no JSON", tokens_in=9)
    if at == (1, "revision", "operator") and attempt == 1:
        return Completion(reply("revise"), finish="length")
    return Completion(
        reply(VOTES[request.speaker], f"{request.speaker} {request.phase}"),
        model="served-1",
        tokens_in=1001,
        tokens_cached=400,
        tokens_out=30,
        request_id="no id: a text",
        status=200,
        sent_as_rendered=False,
        sent="the body that was sent",
    )


def spec(**changes):
    fields = {
        "question": "Do we release?",
        "options": ["release", "revise", "escalate"],
        "threshold": 2,
        "max_rounds": 2,
        "attempts": 2,
        "debaters": [
            {"id": seat, "model": model, "persona": f"You are {seat}."}
            for seat, model in zip(SEATS, MODELS, strict=True)
        ],
        "evidence": [
            {"id": "memo", "text": "Twice."},
            {"id": "plan", "text": "1 h", "from_round": 2},
        ],
        "prices": {"python:planner": {"input": "2.5", "cached": "1.5", "output": "10"}},
    }
    return ConsensusSpec.model_validate(fields | changes)


def approved(by=APPROVAL, templates=None, format_="consensus"):
    return policy.parse(sign(lines_for(format_, templates or packaged_templates(format_)), by))


def unheld():
    """An engine that does not look at the policy before it opens a debate."""
    return patch.object(session, "hold", lambda *_: None)


def play(spec_, model=eventful, policy=None):
    """Run a debate and return its record."""
    with Store.open("sqlite:///:memory:") as store:
        models = dict.fromkeys(SEATS, model)
        with served(model), unheld():
            asyncio.run(session.run(spec_, store, Path.cwd(), models=models, policy=policy))
        return store.bundle(store.debates()[0])


# Exports


def exported(bundle, by=EXPORT):
    """The files of a record's export."""
    return signed(bundles.to_files(bundle) | {"VERIFY.md": instructions()}, by)


def signed(files, by=EXPORT, withheld=None):
    """The same files under a manifest made anew."""
    bare = {name: body for name, body in files.items() if name != manifest.NAME}
    return bare | {manifest.NAME: note.sign(manifest.write(bare, withheld), by)}


def resigned(files, text, by=EXPORT):
    """The same files with another text in the manifest."""
    return files | {manifest.NAME: note.sign(text, by)}


# Reading


OWN = {
    ("9.not_due", "expected"),
    *((f"4.{defect}", "found") for defect in ("size", "json", "profile", "bytes")),
    ("7.schema", "found"),
}


def summary(result):
    """What two verifiers must say alike, word for word, from the JSON document of either.

    Left out is what each says in its own words: what was due instead of an entry,
    and what is wrong with an entry that cannot be read.
    """
    findings = [
        {key: row[key] for key in row if (row["code"], key) not in OWN}
        for row in result["findings"]
    ]
    rest = ("level", "verdict", "entries", "open", "debate", "caveats", "texts", "place")
    return {
        "findings": findings,
        "checks": {
            row["number"]: (row["name"], row["status"], row["evidence"]) for row in result["checks"]
        },
    } | {key: result[key] for key in rest}


def run_tool(*words):
    """Run tools/verify.py in this process: exit code, and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = tool.main([str(word) for word in words])
    return code, out.getvalue(), err.getvalue()


def by_tool(export, trust=TRUST, level=1):
    """The JSON document of tools/verify.py on a zip, given as bytes or as its files."""
    data = export if isinstance(export, bytes) else bundles.pack(export)
    with tempfile.TemporaryDirectory() as folder:
        path, trusted = Path(folder, "record.zip"), Path(folder, "trust.json")
        path.write_bytes(data)
        trusted.write_bytes(trust)
        code, out, _ = run_tool(path, "--trust", trusted, "--json", "--require-level", level)
    result = json.loads(out)
    reached = result["level"] is not None and result["level"] >= level
    assert code == (0 if reached else 1)
    return result


def write(path, files):
    """Write the files of an export as a folder."""
    for name, body in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(body)


def both(export, trust=TRUST, level=1):
    """Return what the package says of an export, once tools/verify.py has said the same."""
    ours = verify_export(export, parse_trust(trust))
    one = summary(json.loads(ours.model_dump_json()))
    two = summary(by_tool(export, trust, level))
    differ = {key: (one[key], two[key]) for key in one if one[key] != two[key]}
    assert not differ, f"package and tools/verify.py differ: {differ}"
    return ours


def first(result):
    """The first finding's code and place."""
    return (result.findings[0].code, result.findings[0].seq) if result.findings else None
