"""What is kept of debates, in a store or an export: read, verified, shown, written.

>>> from hansard import open_store, read_record, run_sync
>>> def seat(request):
...     return {"stance": "s", "rationale": "r", "vote": "release"}
>>> spec = {
...     "question": "Shall we release?",
...     "options": ["release", "revise"],
...     "threshold": 2,
...     "max_rounds": 1,
...     "debaters": [{"id": "ann", "model": "python:seat"}, {"id": "bob", "model": "python:seat"}],
... }
>>> with open_store("sqlite:///:memory:") as store:
...     made = run_sync(spec, models={"seat": seat}, store=store)
...     record = read_record(store, made.debate[:8])
>>> record.verification.ok, record.result().decision
(True, 'release')
>>> record.prompt("r1.proposal.ann:1").messages[0].role
'system'
>>> replayed = record.replay(until=4)
>>> replayed.differing, replayed.standing.speaking
((), ('ann',))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hansard.errors import DataError, UsageError

if TYPE_CHECKING:
    from hansard.export.withholding import Withholding
    from hansard.record.bundle import Bundle
    from hansard.record.keys import Trust
    from hansard.record.note import Signer
    from hansard.record.policy import Approved
    from hansard.report.formats import DebateResult
    from hansard.report.gated import GateRecord
    from hansard.report.parts import Reviewed
    from hansard.report.prompt import Rendered
    from hansard.report.replayed import Replayed
    from hansard.report.reviews import Reader
    from hansard.report.size import Memory
    from hansard.rules.data import OpenedData
    from hansard.rules.events import Event
    from hansard.rules.fields import Blob
    from hansard.store.application import Store
    from hansard.verify.findings import Verification


@dataclass(frozen=True, slots=True)
class Record:
    """The record of one debate, and what verifying it found.

    `debate` is its id, `bundle` its bytes, `verification` the result of checking
    them just now. `trust` names the keys whose reviews count for the reader; of an export,
    whose `files` are here by name, they say whose record it is, too. Methods that show or
    write what the record says refuse one that does not hold, with DataError
    `record.altered`: nothing is drawn from bytes that were altered.
    """

    debate: str
    bundle: Bundle
    verification: Verification
    trust: Trust | None = None
    files: Mapping[str, bytes] | None = None

    @property
    def exported(self) -> bool:
        """Whether it was read from an export, and not from a store."""
        return self.files is not None

    @property
    def head(self) -> str:
        """The hash of the last entry."""
        from hansard.record.line import line_hash

        return line_hash(self.bundle.lines[-1])

    @property
    def events(self) -> list[Event]:
        """The entries as events, whether they hold or not; DataError for one that is none."""
        from hansard.rules.events import parse

        return [parse(line) for line in self.bundle.lines]

    def text(self, name: str) -> str | None:
        """Return the text of the blob `name`, or None where it is erased or withheld."""
        from hansard.record import blob

        file = self.bundle.blobs.get(name)
        return None if file is None else blob.unpack(file)

    def result(self) -> DebateResult:
        """Return what became of the debate, open or closed.

        A text that is gone is None. `released` says whether people have approved what must be
        approved. Raises DataError `record.altered`, and `report.size` where its texts take more
        than 160 MiB of memory; UsageError `record.gate` for the record of a gate, of which there
        was no debate.
        """
        from hansard.report.size import Memory

        return self.result_within(Memory())

    def result_within(self, memory: Memory) -> DebateResult:
        """Return the `result`, in this memory, of which other records may have taken some."""
        from hansard.report.view import build

        self._hold(debated=True)
        memory.hold(self.bundle.lines)
        return build(facts(self), memory.of(self.text), self._reader())

    def gate(self) -> GateRecord | None:
        """Return what the gate answered, of a record of its own; None for that of a debate.

        Raises DataError `record.altered` or `report.size`.
        """
        from hansard.report.gated import build
        from hansard.report.size import Memory

        self._hold()
        memory = Memory()
        memory.hold(self.bundle.lines)
        return build(facts(self), memory.of(self.text), self._reader())

    def standing(self) -> DebateResult | GateRecord:
        """Return what `gate` returns, or else the `result`; raises what they raise."""
        return self.gate() or self.result()

    def reviewed(self) -> Reviewed:
        """Return what people say of it, however large it is; raises DataError `record.altered`."""
        from functools import reduce

        from hansard.report import reviews
        from hansard.rules.state import DebateState, evolve

        self._hold()
        state = reduce(evolve, facts(self), DebateState())

        def text(blob: Blob | None) -> str | None:
            return self.text(blob["sha256"]) if blob else None

        return reviews.reviewed(state, text, self._reader())[0]

    def dossier(self) -> str:
        """Return the dossier of the debate in Markdown: a summary, then every text.

        What the record does not say is said. Raises DataError `record.altered` or
        `report.size`, and UsageError `record.gate` for the record of a gate.
        """
        return "\n\n".join(self.dossier_blocks()) + "\n"

    def dossier_blocks(self) -> Iterator[str]:
        """Yield the `dossier` block by block, as a long one is better printed."""
        from hansard.report.dossier import blocks
        from hansard.rules.events import parse

        return blocks(self.result(), map(parse, self.bundle.lines), self.text, self.verification)

    @property
    def _opened(self) -> OpenedData | None:
        """What the opening says; None of a record that begins otherwise, as that of a gate."""
        from hansard.rules.events import parse

        first = parse(self.bundle.lines[0])
        return first["data"] if first["type"] == "debate.opened" else None

    def _reader(self) -> Reader:
        from hansard.record.keys import Trust
        from hansard.report.reviews import Reader
        from hansard.rules.replay import policy_of
        from hansard.runtime.clock import Clock

        policy = policy_of(self._opened, self.bundle.policies)
        vouched = not self.exported or self.verification.signed
        return Reader(policy, self.trust or Trust(), Clock().now(), vouched)

    def prompt(self, call: str) -> Rendered:
        """Return exactly what the call `r<round>.<phase>.<speaker>:<attempt>` sent.

        Raises UsageError `prompt.unknown` for a call that was never made, and DataError
        `record.altered`, `prompt.gone` where a text that it quotes is erased, or `report.size`
        where it quotes long texts again and again.
        """
        from hansard.report.prompt import render

        self._hold(debated=True)
        return render(self.events, self.bundle.templates, self.text, call, self._approved())

    def replay(self, until: int | None = None, *, unverified: bool = False) -> Replayed:
        """Run the rules again on the recorded replies, up to the entry `until` (from 1).

        Says which entries do not come out the same, and where the debate stood
        then. Raises DataError `record.altered`; with `unverified` an altered record
        is walked all the same, to see where it departs from the rules: what such a
        walk shows is not what was recorded. Raises UsageError `replay.until` for an
        entry that there is not, and DataError for an entry that cannot be read.
        """
        from hansard.report.gated import refuse
        from hansard.report.replayed import replay
        from hansard.rules.events import parse
        from hansard.rules.looks import require

        require(int, until=until)
        require(bool, unverified=unverified)
        if not unverified:
            self._hold()
        lines = self.bundle.lines
        refuse(map(parse, lines))
        return replay(map(parse, lines), len(lines), self.text, self._approved(), until)

    def export(self, signer: Signer, withhold: Mapping[str, str] | None = None) -> bytes:
        """Return the record as one zip, its manifest signed by `signer`.

        The recipient can check it without trusting the sender: VERIFY.md inside says how, and
        report.html shows it. The same record and key give the same bytes.

        `withhold` keeps texts from the recipient, each with a reason in one word, which
        the manifest states: a text by its entry and field (`{"12.reply": "personal_data"}`),
        all texts of a kind (`evidence`, `originals`, `personas`), or of a seat (`seat:ann`).
        What rests on them cannot be checked; `preview_withholding` says what that is.

        Raises DataError `record.altered`, and `export.size` for one that no verifier would read;
        UsageError `withhold.text`, `withhold.reason`.
        """
        from hansard.export.withholding import withheld
        from hansard.export.write import export
        from hansard.record.bundle import MAX_EXPORT

        self._hold()
        left = withheld(self.events, self.bundle.blobs, withhold) if withhold else {}
        data = export(self.bundle, signer, left)
        if len(data) > MAX_EXPORT:
            said = f"the export of {self.debate} has more than {MAX_EXPORT:,} bytes"
            raise DataError("export.size", f"{said}, the most that a verifier reads")
        return data

    def preview_withholding(self, withhold: Mapping[str, str]) -> Withholding:
        """Say what an export without these texts would be; nothing is signed with your key.

        The export is made and verified, as its recipient would. The `Withholding` also lists
        the texts that quote one that is withheld, and would be in it. Raises what `export`
        raises.
        """
        from hansard.export.withholding import preview

        self._hold()
        return preview(self.bundle, self.events, withhold)

    def page(self, signer: Signer | None = None) -> bytes:
        """Return the record as one HTML page that shows and checks itself, signed by `signer`.

        Without a signer the page of an export keeps that export's own signatures. Raises
        DataError `record.altered`, UsageError `page.size` for a record that is too large
        for a page, and `page.signer` for one of a store without a signer.
        """
        from hansard.export.write import signed
        from hansard.page.write import page

        self._hold()
        files = self.files if signer is None else signed(self.bundle, signer)
        if files is None:
            raise UsageError("page.signer", "the page of a record in a store needs a signer")
        return page(files)

    def pdf(self, signer: Signer | None = None, *, prompts: bool = False) -> bytes:
        """Return what `page` returns as a tagged PDF, printed by a Chromium of this machine.

        All that the page holds is on it, and with `prompts` every prompt as it was sent.
        Raises what `page` raises; UsageError `pdf.browser` where no Chromium is found or it
        cannot be started, `pdf.system` on a system where none can be asked, and
        `pdf.failed` where it makes no PDF; DataError `record.altered` where the page itself
        finds that the record does not hold.
        """
        from hansard.page.printing import print_page
        from hansard.rules.looks import require

        require(bool, prompts=prompts)
        return print_page(self.page(signer), prompts=prompts)

    def _hold(self, *, debated: bool = False) -> None:
        """Raise DataError `record.altered` unless every check that could be made holds.

        And UsageError `record.gate` for the record of a gate, where a debate is wanted.
        """
        from hansard.report.gated import refuse

        self.verification.require_ok(f"debate {self.debate[:8]}")
        if debated:
            refuse(facts(self))

    def _approved(self) -> Approved | None:
        """Return the template hashes that the record's policy approves; None without one."""
        from hansard.rules.replay import approved_by

        opened = self._opened
        return approved_by(opened, self.bundle.policies) if opened else None


def facts(record: Record) -> Iterator[Event]:
    """Yield the events of a record that holds, as its verification has read every entry.

    They cost a fraction of `events`. What is shown by their order takes those: here the fields
    of an entry stand by name, and not as FORMAT.md lists them. They come one by one, since an
    entry takes many times its bytes.
    """
    import orjson

    return map(orjson.loads, record.bundle.lines)


@contextmanager
def recorded(debate: str) -> Iterator[None]:
    """Say, where a result is refused (`report.size`), that what was asked for is done."""
    try:
        yield
    except DataError as error:
        if error.code != "report.size":
            raise
        said = f"what was asked for is done and recorded in debate {debate[:8]}, but {error}"
        raise DataError(error.code, said) from None


def standing_of(store: Store, debate: str, trust: Trust | None) -> DebateResult | GateRecord:
    """Return how a record stands to which something was just added."""
    with recorded(debate):
        return read_record(store, debate, trust).standing()


def read_record(store: Store, debate: str, trust: Trust | None = None) -> Record:
    """Read a debate of a store and verify it, whatever comes of that.

    `debate` is its id or an unambiguous prefix of it; `trust` names the keys whose reviews count.
    Raises UsageError `store.unknown` or `store.ambiguous`, and DataError where the store cannot
    be read; never for a record that does not hold, which its `verification` says.

    >>> from hansard import open_store, read_record, run_sync
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> with open_store("sqlite:///:memory:") as store:
    ...     debate = run_sync(spec, models={"ask": lambda _: "Because."}, store=store).debate
    ...     record = read_record(store, debate[:8])
    >>> record.verification.ok, record.result().decision_rule
    (True, 'most_similar')
    """
    return of_store(store, store.find(debate), trust)


def of_store(store: Store, debate: str, trust: Trust | None) -> Record:
    """Read the debate of a store that has this id, and verify it."""
    from hansard.verify.verifier import verify

    bundle = store.bundle(debate)
    return Record(debate, bundle, verify(bundle, trust), trust)


def read_export(path: Path | str, trust: Trust | None = None) -> Record:
    """Read an export (a zip, its unpacked folder, or a page) and verify it.

    `trust` names the keys that the reader believes; without it no signer is known, and the level
    reached is 0 at the most. Raises UsageError `input.unreadable`; DataError `input.unknown` for
    what is no export, `page.damaged` for a page whose record cannot be read, and `record.altered`
    where an export has no record to be read at all.

    >>> from tempfile import TemporaryDirectory
    >>> from hansard import open_keyring, open_store, read_export, read_record, run_sync
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> with TemporaryDirectory() as home, open_store("sqlite:///:memory:") as store:
    ...     keys = open_keyring(home)
    ...     made = run_sync(spec, models={"ask": lambda request: "Because."}, store=store)
    ...     file = Path(home) / "record.zip"
    ...     _ = file.write_bytes(read_record(store, made.debate).export(keys.signer("export")))
    ...     record = read_export(file, keys.trust())
    >>> record.verification.verdict, record.result().question
    ('INTACT', 'Why?')
    """
    from hansard.api.files import export_at
    from hansard.page.read import verify_export
    from hansard.record import bundle as bundles
    from hansard.record.keys import Trust
    from hansard.verify.envelope import files_of

    export = export_at(Path(path))
    found = verify_export(export, trust or Trust())
    if not found.entries:
        raise DataError("record.altered", f"{path}: {found.findings[0].message}")
    files = files_of(export)
    return Record(found.debate or "", bundles.of_files(files), found, trust, files)


def result(store: Store, debate: str, trust: Trust | None = None) -> DebateResult:
    """Return what became of a debate of a store, open or closed, having verified its record.

    `debate` is its id or an unambiguous prefix of it; `trust` names the keys whose reviews count,
    as `read_trust` reads them, or `open_keyring().trust()`: without it none does. Act on the
    decision only where `released` is true. Raises UsageError `store.unknown` or
    `store.ambiguous`, and DataError `record.altered` for a record that does not hold or
    `report.size` for one whose texts take more than 160 MiB of memory.

    >>> from hansard import open_store, result, run_sync
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> with open_store("sqlite:///:memory:") as store:
    ...     debate = run_sync(spec, models={"ask": lambda _: "Because."}, store=store).debate
    ...     found = result(store, debate)
    >>> found.status, found.released
    ('complete', True)
    """
    return read_record(store, debate, trust).result()


def verify(store: Store, debate: str, trust: Trust | None = None) -> Verification:
    """Check a debate's record: every link, text, turn, prompt, vote and the decision.

    `ok` says that no check failed; `findings` lists each defect with its entry.
    `debate` is its id or an unambiguous prefix of it; `trust` names the keys whose reviews count.
    Raises UsageError `store.unknown` or `store.ambiguous`; never for bytes that are bad.

    >>> from hansard import open_store, run_sync, verify
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> with open_store("sqlite:///:memory:") as store:
    ...     debate = run_sync(spec, models={"ask": lambda _: "Because."}, store=store).debate
    ...     found = verify(store, debate)
    >>> found.ok, found.level, found.findings
    (True, 0, [])
    """
    return read_record(store, debate, trust).verification


def verify_export(
    export: Path | str | bytes, trust: Trust | None = None, since: Path | str | bytes | None = None
) -> Verification:
    """Check an export: a zip, its unpacked folder or a page, by its path; or a zip's bytes.

    All that `verify` checks, and the signature: `level` is 1 where keys of `trust`
    signed it, 2 where somebody outside also saw its register, else 0, and None where a
    check failed. `since` is a checkpoint that you kept, by its path or its bytes; from one
    export it can be compared only with one of the same size. Of a page, `page` says
    whether its code is that of this release. Raises UsageError `input.unreadable`,
    and DataError `input.unknown` for what is no export, `page.damaged` for a page
    whose record cannot be read, or `checkpoint.malformed` or `checkpoint.unsigned` for
    what you did not keep of this register; never for a record that does not hold.

    >>> from tempfile import TemporaryDirectory
    >>> from hansard import open_keyring, open_store, read_record, run_sync, verify_export
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> with TemporaryDirectory() as home, open_store("sqlite:///:memory:") as store:
    ...     keys = open_keyring(home)
    ...     made = run_sync(spec, models={"ask": lambda request: "Because."}, store=store)
    ...     export = read_record(store, made.debate).export(keys.signer("export"))
    ...     verify_export(export, keys.trust()).verdict, verify_export(export).verdict
    ('INTACT', 'SELF-CONSISTENT, SIGNER UNKNOWN')
    """
    from hansard.api.files import export_at, read_file
    from hansard.page import read
    from hansard.record.keys import Trust
    from hansard.verify.envelope import require_export

    if isinstance(export, bytes):
        data: bytes | dict[str, bytes] = export
        require_export(export, "what was given")
    else:
        data = export_at(Path(export))
    checkpoint = read_file(Path(since)) if isinstance(since, (Path, str)) else since
    return read.verify_export(data, trust or Trust(), checkpoint)
