"""`demo`: a whole debate offline, its signed export, and two forgeries that are caught."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

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
from hansard.export.write import export, standalone_verifier
from hansard.page.read import verify_export
from hansard.record import bundle as bundles
from hansard.record import keys
from hansard.record.keys import Trust, TrustedKey
from hansard.record.note import Signer
from hansard.report.formats.consensus import ConsensusResult
from hansard.report.safe import one_line
from hansard.runtime import session
from hansard.runtime.inputs import load_spec
from hansard.store import tampering
from hansard.store.application import Store
from hansard.verify.findings import Verification

_PAUSE = 0.3  # seconds a speaker is seen on a terminal: scripted replies come at once
_WORD = ("there is no automatic check", "there is an automatic check")


@click.command()
def demo() -> None:
    """Run and verify a debate offline, and catch a forger.

    The record is exported and checked by two independent verifiers, here and in
    altered copies, which both of them refuse.

    The replies are scripted: no model, no network, no key. Nothing is left behind.

    Exit codes: 0 as it should be; 1 an altered copy was not caught.
    """
    out = console()
    with TemporaryDirectory(prefix="hansard-demo-") as name:
        folder = Path(name)
        write_example(folder / "example")
        record = _debate(out, folder / "example" / "debate.yaml", folder / "hansard.db")
        _title(out, "2  Is this what was recorded?")
        print_verification(out, record.verification)
        _title(out, "3  The record is exported: signed, and checked by two verifiers")
        signer = Signer("demo/export", keys.generate())
        trust = Trust(keys=[TrustedKey(role="export", key=str(signer.key))])
        genuine = export(record.bundle, signer)
        out.print(Text(f"record.zip: {len(record.bundle.lines)} entries, signed by {signer.name}"))
        intact = _both(out, folder, genuine, trust)
        _title(out, "4  In a copy of the export, somebody changes one word of a reply")
        forged = _forge_word(out, record, genuine)
        word = _both(out, folder, forged, trust)
        _title(out, "5  In a copy of the store, somebody changes one vote")
        vote = _forge_vote(out, folder, record)
    _title(out, "6  Your turn")
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
    caught = word == (False, False) and not vote.ok
    if not (record.verification.ok and intact == (True, True) and caught):
        raise click.exceptions.Exit(1)


def _title(out: Console, text: str) -> None:
    out.print(Text(f"\n{text}\n", style="bold blue"))


def _debate(out: Console, spec: Path, path: Path) -> Record:
    """Run the example and print what became of it."""
    parsed = load_spec(spec)
    _title(out, "1  A debate with scripted replies: no model is asked")
    out.print(Text(f"{parsed.question}\n", style="bold"))
    with Store.open(f"sqlite:///{path}", create=True) as store:
        with View(out, pause=_PAUSE) as view:
            until_closed(session.run(parsed, store, spec.parent, observe=view.observe), view)
        debate = view.debate.state.debate
        result = api.result(store, debate)
        record = read_record(store, debate)
    out.print(Text(f"\n{result.to_report()}\n"))
    out.print(fields(outcome(result)))
    return record


def _both(out: Console, folder: Path, data: bytes, trust: Trust) -> tuple[bool, bool]:
    """Check an export with the package and with the standalone verifier; say whether it is INTACT.

    The second one is a single file that shares no code with the first.
    """
    path, trusted = folder / "record.zip", folder / "trust.json"
    path.write_bytes(data)
    trusted.write_bytes(trust.dump())
    found = verify_export(data, trust)
    print_findings(out, found)
    command = [sys.executable, str(standalone_verifier()), str(path), "--trust", str(trusted)]
    second = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    verdict = one_line(second.stdout.strip().rpartition("\n")[2])
    out.print(Text.assemble(("\nverify.py says  ", "bold"), verdict))
    return found.level == 1, second.returncode == 0


def _forge_word(out: Console, record: Record, genuine: bytes) -> bytes:
    """Let the dissenting debater say the opposite, in a copy of the export."""
    old, new = _WORD
    files = bundles.unpack(genuine)
    name = next(name for name in files if old in (record.text_of(name.rpartition("/")[2]) or ""))
    files[name] = files[name].replace(old.encode(), new.encode())
    out.print(fields([("before", f"… {old} …"), ("after", f"… {new} …")], width=6))
    out.print()
    return bundles.pack(files)


def _forge_vote(out: Console, folder: Path, record: Record) -> Verification:
    """Make the last vote for something else one for the decision, in a copy of the store."""
    result = record.result
    assert isinstance(result, ConsensusResult), "the example is counted"
    turn = [row for row in result.transcript if row.vote != result.decision][-1]
    old, new = f'"vote":"{turn.vote}"', f'"vote":"{result.decision}"'
    copy = folder / "vote.db"
    shutil.copyfile(folder / "hansard.db", copy)
    tampering.alter_line(copy, record.debate, turn.seq, old.encode(), new.encode())
    where = f"entry {turn.seq}, {turn.speaker_id}: "
    out.print(fields([("before", where + old), ("after", where + new)], width=6))
    out.print()
    with Store.open(f"sqlite:///{copy}") as store:
        found = read_record(store, record.debate).verification
    print_findings(out, found)
    return found
