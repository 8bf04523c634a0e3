"""The examples of FORMAT.md §17 are what the package computes."""

import doctest
import importlib
import json
import pkgutil
import re
from hashlib import sha256
from pathlib import Path

import pytest

import hansard
from hansard.record import blob, note
from hansard.record.canonical import dump
from hansard.record.line import line_hash
from hansard.rules import citations, prompts, replies, similarity, spending
from hansard.rules.counting import needed
from hansard.rules.formats import FORMATS
from hansard.rules.formats.judged import shuffle_key

FORMAT = (Path(__file__).parents[2] / "schemas" / "FORMAT.md").read_text(encoding="utf-8")
SECTION = FORMAT.partition("\n## 17. ")[2]
BLOCK = re.compile(r"^\*\*([^*]+)\*\*[^\n]*:\n\n```json\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BLOCKS = {title: json.loads(rows) for title, rows in BLOCK.findall(SECTION)}
PRICE = {
    "model": "m",
    "source": "spec",
    "input_micro_usd": 2_500_000,
    "cached_micro_usd": 250_000,
    "cache_write_micro_usd": 3_125_000,
    "output_micro_usd": 10_000_000,
}
PRICES = {"m": PRICE}


def examples(title):
    return pytest.mark.parametrize("row", BLOCKS[title])


def test_every_block_is_tested():
    source = Path(__file__).read_text(encoding="utf-8")
    assert SECTION.count("\n```json\n") == len(BLOCKS) > 0
    assert set(BLOCKS) == set(re.findall(r'(?:examples\(|BLOCKS\[)"([^"]+)"', source))


@examples("Hashes")
def test_hashes(row):
    if "entry" in row:
        assert line_hash(row["entry"].encode()) == row["hash"]
    else:
        assert blob.pack(row["text"], bytes.fromhex(row["salt"]))[0] == row["name"]


def made(part):
    """The part of a recipe as the package makes it."""
    if "role" in part:
        return prompts.role(part["role"])
    if "template" in part:
        return prompts.template(part["template"], **part["values"])
    text = {"sha256": part["blob"]}
    if part["view"] == "quoted":
        return prompts.quoted(text)
    return prompts.points(text, part["struck"], part["schema"])


def test_a_recipe():
    digest = bytes(32)
    named = {sha256(name.encode()).hexdigest() for name in ("protocol", "block")}
    for row in BLOCKS["A recipe"]:
        digest = prompts.fold(digest, [made(row["part"])])
        assert digest.hex() == row["digest"]
        assert row["part"].get("template") in {None, *named}


def test_the_same_role_first():
    *before, last = BLOCKS["The same role-first"]
    shown = [made(row["part"]) for row in BLOCKS["A recipe"]]
    assert [row["part"] for row in before] == [row.content for row in shown[:2]]
    transcript = prompts.Recipe()
    transcript.extend(shown[2:])
    found = prompts.RoleFirst(shown[:2], transcript)
    assert transcript.digest.hex() == last["transcript"]
    assert found.digest.hex() == last["digest"]
    assert prompts.fold(bytes(32), shown[:2]).hex() == before[-1]["digest"]
    assert prompts.fold(bytes(32), shown[:1]).hex() == before[0]["digest"]


@examples("Reply schemas")
def test_reply_schemas(row):
    terms = {"format": row["format"], **row["terms"]}
    schema = FORMATS[row["format"]].schemas(terms)[row["role"]]
    assert sha256(dump(schema)).hexdigest() == row["sha256"]


@examples("Canonical bytes")
def test_canonical_bytes(row):
    schema = FORMATS[row["format"]].schemas({"format": row["format"], **row["terms"]})[row["role"]]
    assert dump(schema).decode() == row["canonical"]
    listed = {example["sha256"] for example in BLOCKS["Reply schemas"]}
    assert sha256(row["canonical"].encode()).hexdigest() in listed


@examples("Replies")
def test_replies(row):
    schema = FORMATS["consensus"].schemas({"options": ["ship", "wait"]})["debater"]
    found = (row["code"], row["member"], row["keyword"])
    try:
        missed = replies.mismatch(replies.value_of(row["reply"], schema), schema)
    except replies.Unreadable:
        assert found == ("unreadable", None, None)
        return
    member, keyword = missed or ("", None)
    code = "unknown_option" if keyword == "enum" else "schema"
    assert found == (code if missed else None, member or None, keyword)


@examples("Folding, words, and the number of negation words")
def test_words(row):
    words = similarity.words(row["text"])
    assert similarity.fold(row["text"]) == row["folded"]
    assert words == row["words"]
    assert sum(word in similarity.NEGATIONS for word in words) == row["negations"]


@examples("Similarity")
def test_similarity(row):
    (found,) = similarity.pairs(
        {"a": similarity.measured(row["one"]), "b": similarity.measured(row["other"])}, whole=False
    )
    assert {**found, "one": row["one"], "other": row["other"]} == row


@examples("Quotes")
def test_quotes(row):
    assert citations.find(row["quote"], row["text"]) is row["verified"]


@examples("The order of the judge")
def test_the_order_of_the_judge(row):
    found = shuffle_key(row["seed"], row["step"], row["round"], row["speaker"])
    assert found == (row["round"], bytes.fromhex(row["key"]))


def test_the_order_differs_by_round():
    rows = sorted(BLOCKS["The order of the judge"], key=lambda row: (row["round"], row["key"]))
    assert [row["speaker"] for row in rows] == ["a", "b", "b", "a"]


@examples("Costs")
def test_costs(row):
    names = ("tokens_in", "tokens_cached", "tokens_cache_write", "tokens_out")
    tokens = spending.Tokens(*(row[name] for name in names))
    assert spending.cost(PRICES, "m", tokens) == row["cost_micro_usd"]


@examples("Reservations")
def test_reservations(row):
    sent = row["reserved_tokens_in"] * spending.BYTES_A_TOKEN
    found = spending.reserve(PRICES, "m", sent, row["max_tokens"])
    assert {"max_tokens": row["max_tokens"], **found} == row


@examples("Thresholds")
def test_thresholds(row):
    assert needed(row["rule"], row["seats"] - row["synthesizer"], 0) == row["threshold"]


@examples("Milliseconds")
def test_milliseconds(row):
    assert spending.milliseconds(row["from"], row["to"]) == row["ms"]


@examples("A signed note")
def test_a_signed_note(row):
    signed = note.parse(row["note"].encode())
    assert signed.text.count(b"\n\n") == 1
    assert signed.signed_by(note.VerifierKey.parse(row["key"]))


# Every example in a docstring runs; those with frameworks of others run in tests/peers

WITH_PEERS = [
    f"hansard.examples.agents.{name}" for name in ("autogen_seat", "langgraph_seat", "mcp_seat")
]
MODULES = [
    row.name
    for row in pkgutil.walk_packages(hansard.__path__, "hansard.")
    if not row.name.endswith("__main__") and row.name not in WITH_PEERS
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_run(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_the_public_api_has_examples():
    for name in ("running", "records", "specs", "trust"):
        module = importlib.import_module(f"hansard.api.{name}")
        assert doctest.testmod(module).attempted >= 3
