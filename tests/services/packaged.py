"""The packaged example debates with real models, and prompts in blocks."""

from __future__ import annotations

import json
import shutil
from importlib.resources import as_file, files

import yaml

import hansard
from hansard.rules.prompts import Message
from hansard.rules.spec_parts import Settings
from hansard.runtime.models.base import Request
from playing import most_turns, request
from services.asking import SCHEMA

MESSAGES = ["Be <|brief|>.\n", "[question]\n| Why?\n", "[turn]\n| So.\n", "Vote now.\n"]
ALONE = {"debater", "framer", "proposer", "critic", "rebuttal", "moderator", "judge", "synthesizer"}


def in_blocks(repeats, blocks=None, schema=SCHEMA, tools=(), **settings) -> Request:
    """A request whose user's message is of two blocks and a rest, or of so many more blocks."""
    halves = [half for text in MESSAGES[1:3] for half in (text[:7], text[7:])]
    pieces = halves if blocks is None else halves[:2] * blocks
    user = Message("user", [*pieces, MESSAGES[3]], len(pieces), repeats)
    return request(
        parameters=Settings(**settings).model_dump(),
        reply_schema=schema,
        schemas=(schema,),
        tools=tools,
        render=lambda: [Message("system", [MESSAGES[0]]), user],
    )


def play_packaged(table, format_, model):
    """Play the example of a format, each seat on a model of its own: `model-1`, `model-2` …"""
    folder = table.folder / "debate"
    with as_file(files("hansard.examples") / format_) as example:
        shutil.copytree(example, folder)
    spec = folder / "debate.yaml"
    fields = yaml.safe_load(spec.read_text())
    seats = fields.get("debaters", [])
    for role in sorted(ALONE & fields.keys()):
        fields[role] = {} if fields[role] is True else fields[role]
        seats = [*seats, fields[role]]
    seats = seats or [fields.setdefault("debater", {})]  # else the debate's model sits there
    for number, seat in enumerate(seats, 1):
        seat["model"] = f"{model}-{number}"
    spec.write_text(yaml.safe_dump(fields))
    result = hansard.run_sync(spec, store=table.store)
    assert table.verified().findings == []
    assert len(table.data("call.started")) >= min(3, most_turns(table))
    return result


def check_as_rendered(table, prompts):
    """Check that these prompts and no others came over the wire, each as it was rendered."""
    sent = sorted(map(json.dumps, prompts))
    started = sorted(json.dumps(table.prompt(row["call"])) for row in table.data("call.started"))
    ended = table.data("call.answered", "call.failed")
    assert {row["sent_as_rendered"] for row in ended} == {True}, ended
    assert sent == started, ended
