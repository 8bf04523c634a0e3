"""A report has room for whatever an honest record says, and no more."""

import json

import pytest

import hansard
from hansard.cli.console import document
from hansard.errors import DataError
from hansard.record import blob
from hansard.report import prompt, size
from hansard.report.prompt import render
from hansard.report.size import Memory, require_room
from hansard.rules import prompts
from hansard.rules.events import parse
from playing import play
from reporting import ran

LONG = "x" * 10_000


def refused(report, what="report"):
    with pytest.raises(DataError, match=f"this {what} would have more than ") as caught:
        report()
    assert caught.value.code == "report.size"
    assert "\n" not in str(caught.value)


def test_a_text_counts_as_often_as_it_stands_there(monkeypatch):
    monkeypatch.setattr(size, "MOST", 10 * len(LONG))
    for found in ([LONG] * 10, {"a": (LONG,) * 9, "b": {"c": LONG}}):
        require_room(found)
        refused(lambda found=found: require_room([found, "x"]))


def test_a_persona_of_many_seats_is_too_much(monkeypatch):
    seats = [{"id": f"s{number}", "persona": LONG} for number in range(12)]
    result = ran("panel", debaters=seats)
    assert "".join(document(result)).count(LONG) == result.to_markdown().count(LONG) == 12
    monkeypatch.setattr(size, "MOST", 10 * len(LONG))
    refused(lambda: list(document(result)))
    refused(result.to_markdown)


def test_a_prompt_with_one_text_in_many_documents_is_too_much(monkeypatch):
    bundle = play("panel", evidence=[{"id": f"d{number}", "text": LONG} for number in range(12)])
    texts = {name: blob.unpack(file) for name, file in bundle.blobs.items()}

    def prompt():
        events = list(map(parse, bundle.lines))
        call = next(row["data"]["call"] for row in events if row["type"] == "call.started")
        return render(events, bundle.templates, texts.get, call).messages

    assert sum(message.text.count(LONG) for message in prompt()) == 12
    monkeypatch.setattr(size, "MOST", 10 * len(LONG))
    refused(prompt, "prompt")


def test_a_prompt_is_refused_before_it_is_held_whole(monkeypatch):
    """One sign beyond the others makes each character of a text take four bytes."""
    rows = [{"id": f"d{number}", "text": f"\U0001f600{number}{LONG}"} for number in range(4)]
    bundle = play("panel", evidence=rows)
    texts = {name: blob.unpack(file) for name, file in bundle.blobs.items()}
    events = list(map(parse, bundle.lines))
    call = next(row["data"]["call"] for row in events if row["type"] == "call.started")
    monkeypatch.setattr(size, "MOST", 10 * len(LONG))
    refused(lambda: render(events, bundle.templates, texts.get, call), "prompt")


@pytest.mark.parametrize("way", ["text", "template", "long"])
def test_a_prompt_is_refused_before_one_part_of_it_is_made(monkeypatch, way):
    """An export of 1.3 MB took 1 GiB: a template may name a value any number of times."""
    seats = {"evidence": [{"id": "a-long-name", "text": "t"}]}
    bundle = play("panel", question="\x7f" * 10_000 if way == "text" else "q", **seats)
    texts = {name: blob.unpack(file) for name, file in bundle.blobs.items()}
    events = list(map(parse, bundle.lines))
    hashes = {row["role"]: row["sha256"] for row in events[0]["data"]["templates"]}
    template = {"text": b"", "template": b"{{label}}" * 7_700, "long": b"x" * 70_001}[way]
    templates = bundle.templates | {hashes["block"]: template}
    call = next(row["data"]["call"] for row in events if row["type"] == "call.started")
    assert render(events, templates, texts.get, call)
    for module in (prompts, prompt):
        monkeypatch.setattr(module, "MOST_SHOWN", 70_000)
    if way != "text":  # of which nothing is made
        monkeypatch.setattr(prompts, "fill", None)
    with pytest.raises(DataError, match="takes more than 70,000 bytes of memory") as caught:
        render(events, templates, texts.get, call)
    assert caught.value.code == "report.size"


FACE = "\U0001f600"


@pytest.mark.parametrize(
    ("text", "takes"),
    [
        (LONG, 1),
        (LONG + "\u0100", 2),
        (LONG + FACE, 4),
        (json.dumps(LONG + "\u0100"), 2),
        (json.dumps(LONG + FACE), 4),  # in ASCII, until it is read
    ],
)
def test_a_text_takes_as_much_memory_as_its_widest_character_asks_for(monkeypatch, text, takes):
    texts = {f"{number}": f"{number}{text}" for number in range(4)}
    monkeypatch.setattr(size, "MOST_HELD", 3 * takes * len(LONG) + 1000)
    kept = Memory().of(texts.get)
    assert [kept(name) for name in "012"] == list(texts.values())[:3]
    assert [kept(name) for name in "210"] == [texts[name] for name in "210"]  # each counts once
    assert kept("gone") is None
    with pytest.raises(DataError) as caught:
        kept("3")
    assert caught.value.code == "report.size"
    assert "\n" not in str(caught.value)


def test_each_text_is_read_once():
    asked = []
    kept = Memory().of(asked.append)
    assert [kept(name) for name in "aab"] == [None] * 3
    assert asked == ["a", "b"]


def test_entries_have_as_many_values_as_there_is_room_for_together(monkeypatch):
    monkeypatch.setattr(size, "MOST_VALUES", 5)
    memory = Memory()
    memory.hold([b"[1,2,3]", b"{}"])
    memory.hold([b'{"a":1,"b":[1,2,3]}'])
    with pytest.raises(DataError, match="more than 5 values") as caught:
        memory.hold([b"[1,2]"])
    assert caught.value.code == "report.size"
    assert "\n" not in str(caught.value)


def test_a_record_of_too_many_values_is_replayed_and_exported_but_not_shown(monkeypatch, tmp_path):
    spec = {"question": "Why?", "format": "panel", "agents": 2, "model": "python:seat"}
    with hansard.open_store("sqlite:///:memory:") as store:
        given = {"models": {"seat": lambda _: "Because."}, "store": store}
        record = hansard.read_record(store, hansard.run_sync(spec, **given).debate)
    values = sum(line.count(b",") for line in record.bundle.lines)
    monkeypatch.setattr(size, "MOST_VALUES", values)
    assert record.standing().status == "complete"
    monkeypatch.setattr(size, "MOST_VALUES", values - 1)
    for show in (record.result, record.gate, record.dossier):
        with pytest.raises(DataError) as caught:
            show()
        assert caught.value.code == "report.size"
    assert record.replay().differing == ()
    assert record.export(hansard.open_keyring(tmp_path).signer("export"))


def test_a_document_comes_in_pieces_that_are_the_whole():
    found = {"text": LONG * 100 + FACE, "rows": [{"a": None, "b": 1}] * 10_000, "none": []}
    pieces = list(document(found))
    assert "".join(pieces) == json.dumps(found, indent=2, ensure_ascii=False)
    assert max(map(len, pieces)) < 2**18
