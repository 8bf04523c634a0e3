"""`demo`: a whole debate offline, its verification, and two forgeries that are caught."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import click
from rich.console import Console
from rich.text import Text

from hansard import api
from hansard.cli.console import console, fields
from hansard.cli.context import Record, read_record
from hansard.cli.live import View
from hansard.cli.running import until_closed
from hansard.cli.starting import write_example
from hansard.cli.summary import outcome
from hansard.cli.verifying import print_findings, print_verification
from hansard.runtime import session
from hansard.runtime.inputs import load_spec
from hansard.store import tampering
from hansard.store.application import Store

_PAUSE = 0.3  # seconds a speaker is seen on a terminal: scripted replies come at once


class _Forgery(NamedTuple):
    """What was changed in a copy, and the check and entry that must name it."""

    before: str
    after: str
    check: int
    seq: int


@click.command()
def demo() -> None:
    """Run and verify a debate offline, and catch a forger.

    Copies of the record are altered, and verifying them names what was altered.

    The replies are scripted: no model, no network, no key. Nothing is left behind.

    Exit codes: 0 as it should be; 1 an altered copy was not caught.
    """
    out = console()
    with TemporaryDirectory(prefix="hansard-demo-") as name:
        folder = Path(name)
        write_example(folder / "example")
        original = folder / "hansard.db"
        record = _debate(out, folder / "example" / "debate.yaml", original)
        _title(out, "2  Is this what was recorded?")
        print_verification(out, record.verification)
        _title(out, "3  In a copy of the store, somebody changes one word of a reply")
        word = _caught(out, folder / "word.db", original, record, _forge_word)
        _title(out, "4  In another copy, somebody changes one vote, and the dissent is gone")
        vote = _caught(out, folder / "vote.db", original, record, _forge_vote)
    _title(out, "5  Your turn")
    out.print(
        fields(
            [
                ("Write", "hansard init my-debate          the same example, to be edited"),
                ("Run", "hansard run my-debate/debate.yaml"),
                ("Look", "hansard list, then hansard show, replay, verify and report"),
            ],
            width=6,
        )
    )
    if not (record.verification.ok and word and vote):
        raise click.exceptions.Exit(1)


def _title(out: Console, text: str) -> None:
    out.print(Text(f"\n{text}\n", style="bold blue"))


def _debate(out: Console, spec: Path, path: Path) -> Record:
    """Run the example and print what became of it."""
    parsed = load_spec(spec)
    _title(out, "1  A debate with scripted replies: no model is asked")
    out.print(Text(f"{parsed.question}\n", style="bold"))
    with Store.open(f"sqlite:///{path}", create=True) as store:
        with View(out, store.text, pause=_PAUSE) as view:
            until_closed(session.run(parsed, store, spec.parent, observe=view.observe), view)
        debate = view.debate.state.debate
        result = api.result(store, debate)
        record = read_record(store, debate)
    out.print(Text(f"\n{result.to_report()}\n"))
    out.print(fields(outcome(result)))
    return record


def _caught(
    out: Console,
    copy: Path,
    original: Path,
    record: Record,
    forge: Callable[[Path, Record], _Forgery],
) -> bool:
    """Alter a copy of the store and say whether verifying it names what was altered."""
    shutil.copyfile(original, copy)
    forgery = forge(copy, record)
    out.print(fields([("before", forgery.before), ("after", forgery.after)], width=6))
    with Store.open(f"sqlite:///{copy}") as store:
        found = read_record(store, record.debate).verification
    failed = [check for check in found.checks if check.status == "fail"]
    out.print()
    print_findings(out, found)
    named = any(row.check == forgery.check and row.seq == forgery.seq for row in found.findings)
    return bool(failed) and named and not found.ok


def _forge_word(copy: Path, record: Record) -> _Forgery:
    """Let the dissenting debater say the opposite."""
    old, new = "there is no automatic check", "there is an automatic check"
    for event in record.events:
        if event["type"] == "call.answered":
            name = event["data"]["reply"]["sha256"]
            if old in (record.text_of(name) or ""):
                tampering.alter_text(copy, record.debate, name, old.encode(), new.encode())
                return _Forgery(f"… {old} …", f"… {new} …", check=8, seq=event["seq"])
    raise AssertionError("the packaged example holds the sentence")


def _forge_vote(copy: Path, record: Record) -> _Forgery:
    """Make the last vote for something else one for the decision."""
    result = record.result
    turn = [row for row in result.transcript if row.vote != result.decision][-1]
    old, new = f'"vote":"{turn.vote}"', f'"vote":"{result.decision}"'
    tampering.alter_line(copy, record.debate, turn.seq, old.encode(), new.encode())
    line = f"entry {turn.seq}, {turn.speaker_id}: "
    return _Forgery(line + old, line + new, check=5, seq=turn.seq)
