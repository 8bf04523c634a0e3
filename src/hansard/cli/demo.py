"""`demo`: a whole debate offline, its signed export, and three forgeries that are caught."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast
from zipfile import ZipFile

import click
from rich.console import Console
from rich.text import Text

import hansard
from hansard.cli.console import console, fields
from hansard.cli.live import View
from hansard.cli.running import until_closed
from hansard.cli.starting import write_example
from hansard.cli.summary import outcome
from hansard.cli.verifying import print_findings, print_verification
from hansard.errors import on_disk
from hansard.report.safe import one_line
from hansard.store import tampering  # a forger does not ask the library

_PAUSE = 0.3  # seconds a speaker is seen on a terminal: scripted replies come at once
_WORD = ("there is no automatic check", "there is an automatic check")
# What the page says where trusted keys signed, where nobody knows who did, and where it is altered.
_SAYS = (
    '"1":"INTACT","0":"SELF-CONSISTENT, SIGNER UNKNOWN","none":"ALTERED"}',
    '"1":"INTACT","0":"INTACT","none":"INTACT"}',
)


@click.command()
def demo() -> None:
    """Run and verify a debate offline, and catch three forgeries.

    Two independent verifiers check the exported record: first the genuine one, then
    a copy in which a word was changed, then one whose page says INTACT whatever it shows.
    Then a vote is changed in a copy of the store.

    The replies are scripted, so no model, network or key is needed. The demo leaves
    no files behind.

    Exit codes: 0 all forgeries were caught; 1 one was not.
    """
    out = console()
    with on_disk():
        temporary = TemporaryDirectory(prefix="hansard-demo-")
    with temporary as name:
        folder = Path(name)
        write_example(folder / "example")
        record = _debate(out, folder / "example" / "debate.yaml", folder / "hansard.db")
        _title(out, "2  Is this what was recorded?")
        print_verification(out, record.verification)
        _title(out, "3  The record is exported: signed, and checked by two verifiers")
        ring = hansard.open_keyring(folder / "home")
        genuine, signer = folder / "record.zip", ring.signer("export")
        genuine.write_bytes(record.export(signer))
        entries = record.verification.entries
        out.print(Text(f"{genuine.name}: {entries} entries, signed by {signer.name}"))
        intact = _both(out, genuine, ring)
        _title(out, "4  In a copy of the export, somebody changes one word of a reply")
        word = _both(out, _forge_word(out, genuine, folder / "copy"), ring)
        _title(out, "5  In another copy, somebody makes the page say INTACT of anything")
        page = _both(out, _forge_page(out, genuine, folder / "page"), ring)
        _title(out, "6  In a copy of the store, somebody changes one vote")
        vote = _forge_vote(out, folder, record)
    _title(out, "7  Your turn")
    out.print(
        fields(
            [
                ("Write", "hansard init my-debate          the same example, to be edited"),
                ("Run", "hansard run my-debate/debate.yaml"),
                ("Look", "hansard list, then hansard show, replay, verify, report and export"),
                ("See", "hansard page ID -o my.html      and open my.html in a browser"),
            ],
            width=6,
        )
    )
    caught = word == page == (False, False) and not vote.ok
    if not (record.verification.ok and intact == (True, True) and caught):
        raise click.exceptions.Exit(1)


def _title(out: Console, text: str) -> None:
    out.print(Text(f"\n{text}\n", style="bold blue"))


def _debate(out: Console, path: Path, database: Path) -> hansard.Record:
    """Run the example and print what became of it."""
    spec = hansard.read_spec(path)
    _title(out, "1  A debate with scripted replies: no model is asked")
    out.print(Text(f"{spec.question}\n", style="bold"))
    with hansard.open_store(f"sqlite:///{database}") as store:
        with View(out, pause=_PAUSE) as view:
            work = hansard.run(spec, folder=path.parent, store=store, observe=view.observe)
            result = until_closed(work, view)
        record = hansard.read_record(store, result.debate)
    out.print(Text(f"\n{result.to_report()}\n"))
    out.print(fields(outcome(result)))
    return record


def _both(out: Console, export: Path, ring: hansard.Keyring) -> tuple[bool, bool]:
    """Check an export with the package and with the standalone verifier; say whether it is INTACT.

    The second one is a single file that shares no code with the first.
    """
    found = hansard.verify_export(export, ring.trust())
    print_findings(out, found)
    verifier = str(hansard.standalone_verifier())
    command = [sys.executable, verifier, str(export), "--trust", str(ring.trust_file)]
    second = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    verdict = one_line(second.stdout.strip().rpartition("\n")[2])
    out.print(Text.assemble(("\nverify.py says  ", "bold"), verdict))
    return found.signed, second.returncode == 0


def _forge_word(out: Console, genuine: Path, copy: Path) -> Path:
    """Let the dissenting debater say the opposite, in an unpacked copy of the export."""
    with ZipFile(genuine) as archive:
        archive.extractall(copy)
    old = _WORD[0].encode()
    path = next(path for path in (copy / "blobs").iterdir() if old in path.read_bytes())
    _replace(out, path, _WORD)
    return copy


def _forge_page(out: Console, genuine: Path, copy: Path) -> Path:
    """Let the page in an unpacked copy of the export say that whatever it shows is intact."""
    with ZipFile(genuine) as archive:
        archive.extractall(copy)
    _replace(out, copy / "report.html", _SAYS)
    return copy


def _replace(out: Console, path: Path, words: tuple[str, str]) -> None:
    """Replace words in a file, and show them."""
    old, new = (each.encode() for each in words)
    path.write_bytes(path.read_bytes().replace(old, new))
    before, after = (f"… {each} …" for each in words)
    out.print(fields([("before", before), ("after", after)], width=6))
    out.print()


def _forge_vote(out: Console, folder: Path, record: hansard.Record) -> hansard.Verification:
    """Make the last vote for something else one for the decision, in a copy of the store."""
    result = cast(hansard.ConsensusResult, record.result())  # as the example is
    turn = [row for row in result.transcript if row.vote != result.decision][-1]
    old, new = f'"vote":"{turn.vote}"', f'"vote":"{result.decision}"'
    copy = folder / "vote.db"
    shutil.copyfile(folder / "hansard.db", copy)
    tampering.alter_line(copy, record.debate, turn.seq, old.encode(), new.encode())
    where = f"entry {turn.seq}, {turn.speaker_id}: "
    out.print(fields([("before", where + old), ("after", where + new)], width=6))
    out.print()
    with hansard.open_store(f"sqlite:///{copy}", create=False) as store:
        found = hansard.verify(store, record.debate)
    print_findings(out, found)
    return found
