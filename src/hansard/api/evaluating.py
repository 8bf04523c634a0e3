"""Whether debates are better than what costs less: a golden set, run and counted."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hansard.api.batches import alone
from hansard.api.batching import at_once
from hansard.api.listing import caught_up
from hansard.api.records import Record, of_store
from hansard.api.running import IN_MEMORY, opened, require_approval, wait
from hansard.api.specs import allowed_in, fields_of, folder_in, stated
from hansard.errors import DataError, SpecWarning, UsageError, is_of_all, together

if TYPE_CHECKING:
    from hansard.api.specs import Spec
    from hansard.record.keys import Trust
    from hansard.record.policy import Policy
    from hansard.report.evaluation import Evaluation, Held, Question
    from hansard.rules.fields import Origin
    from hansard.rules.formats import AnySpec
    from hansard.rules.spec_parts import Evidence
    from hansard.runtime.golden import Case
    from hansard.runtime.opening import Opening
    from hansard.runtime.seats import Models
    from hansard.runtime.tools import Tools
    from hansard.store.application import Store

    Golden = Path | str | Iterable[Mapping[str, Any]]

_ALONE: Origin = {"kind": "evaluation", "debate": None, "head": None, "seq": None}
_NO_NAME = re.compile(r"[^A-Za-z0-9._:/@+=-]+")


async def evaluate(
    golden: Golden,
    spec: Spec,
    *,
    models: Models | None = None,
    tools: Tools | None = None,
    policy: Policy | None = None,
    trust: Callable[[], Trust] | None = None,
    name: str | None = None,
    folder: Path | str | None = None,
    allow: Iterable[Path | str] = (),
    store: Store | str | None = None,
    jobs: int = 1,
    offline: bool = False,
    each: Callable[[Question], object] | None = None,
) -> Evaluation:
    """Say whether debates answer known questions better than a single agent does.

    `golden` is a file of one JSON object a line, or the same as mappings: a `question` and
    its expert's `label`, and perhaps an `id`, `evidence`, `context`, `options`. Each question
    is put to three: to the debate that `spec` describes, to a single agent, and to the same
    agent as often as the debate had calls, of whose answers the most frequent counts
    (self-consistency). The single agent is the model of the first seat that argues. All are
    debates of `store`, with the origin `evaluation`. `result` is `better` only if a sign test
    says so with p below 0.1, on 20 questions or more.

    What the store holds of the evaluation `name` is not asked again, if it was opened alike; by
    default the name is that of the file and the quarter. `jobs` is how many questions are
    asked at once. With `offline` no model is asked but scripts and records. `each` is called
    with every question that is done. `trust` gives the keys by which the approval of the `policy`
    must still count as each debate opens, as in `run_batch`. The other arguments are those of
    `run`.

    Warns (`eval_altered`) of a record of this evaluation that was altered: it does not count.
    Raises UsageError with everything that is wrong with the set (`golden.*`, with lines) before
    anything is run; `eval.erased` for what may be recorded, with texts that were erased since;
    `eval.offline` for what is not recorded; `eval.running` where another process runs this
    evaluation; `eval.jobs`; what `run` raises.

    >>> import asyncio
    >>> golden = [{"question": f"Is {n} even?", "label": "no" if n % 2 else "yes"} for n in (1, 2)]
    >>> def ask(request):
    ...     return {"answer": "So it is.", "choice": "yes"}
    >>> spec = {"format": "panel", "options": ["yes", "no"], "model": "python:ask", "rounds": 1}
    >>> found = asyncio.run(evaluate(golden, spec, models={"ask": ask}))
    >>> found.result, [(row.way, row.right) for row in found.totals]
    ('too few to tell', [('debate', 1), ('single', 1), ('self_consistency', 1)])
    """
    from hansard.report.evaluation import evaluation
    from hansard.runtime.files import Files

    if jobs < 1:
        raise UsageError("eval.jobs", f"`jobs` is {jobs}; ask at least one question at once")
    data, collection = _read(golden, name)
    allowed = allowed_in(allow)
    # A file is read once, and not for each line.
    fields, where, begin = fields_of(spec, folder_in(folder))
    stated(fields, where, {"question": "The question of a line."})
    files = Files(begin, allowed)
    with (
        opened(IN_MEMORY if store is None else store, create=True) as shelf,
        alone(shelf, "eval", collection),
    ):
        ways = _Ways(shelf, files, begin, models, tools, policy, trust, collection)
        cases = _cases(golden, data, fields, ways)
        del data  # it may be large, and debates are
        ways.warn_of_altered()
        ways.require_whole(cases)
        if offline:
            ways.require_recorded(cases)

        async def ask(case: Case) -> Question:
            found = await ways.ask(case)
            if each:
                each(found)
            return found

        questions = await at_once(jobs, ask, cases)
    return evaluation(
        questions,
        name=collection,
        format=cases[0].spec.format,
        task_type=cases[0].spec.task_type,
        reused=ways.reused,
        capped=ways.capped,
        due=_due(),
    )


def evaluate_sync(
    golden: Golden,
    spec: Spec,
    *,
    models: Models | None = None,
    tools: Tools | None = None,
    policy: Policy | None = None,
    trust: Callable[[], Trust] | None = None,
    name: str | None = None,
    folder: Path | str | None = None,
    allow: Iterable[Path | str] = (),
    store: Store | str | None = None,
    jobs: int = 1,
    offline: bool = False,
    each: Callable[[Question], object] | None = None,
) -> Evaluation:
    """Do what `evaluate` does, from code that is not async.

    Raises what `evaluate` raises, and UsageError `api.running_loop` inside a running event loop.

    >>> golden = [{"question": "Is 7 even?", "label": "no"}]
    >>> ask = {"ask": lambda request: {"answer": "It is odd.", "choice": "no"}}
    >>> spec = {"format": "panel", "options": ["yes", "no"], "model": "python:ask"}
    >>> evaluate_sync(golden, spec, models=ask).totals[0].accuracy
    1.0
    """
    return wait(
        lambda: evaluate(
            golden,
            spec,
            models=models,
            tools=tools,
            policy=policy,
            trust=trust,
            name=name,
            folder=folder,
            allow=allow,
            store=store,
            jobs=jobs,
            offline=offline,
            each=each,
        ),
        "evaluate_sync",
        "evaluate",
    )


def _read(golden: Golden, name: str | None) -> tuple[bytes, str]:
    """Return the bytes of a golden set, and the name of the evaluation."""
    from hansard.api.files import read_file
    from hansard.runtime.clock import Clock
    from hansard.runtime.golden import MOST_BYTES

    if isinstance(golden, (Path, str)):
        data, stem = read_file(Path(golden), MOST_BYTES), Path(golden).stem
    else:
        data, stem = b"\n".join(json.dumps(row).encode() for row in golden), "golden"
    now = datetime.fromisoformat(Clock().now())
    return data, name or f"{_NO_NAME.sub('-', stem)[:48]}-{now.year}-Q{_quarter(now)}"


def count_lines(golden: Path) -> int:
    """Return how many lines of a file say something; raises UsageError `input.unreadable`."""
    from hansard.runtime.golden import lines

    return sum(1 for _ in lines(_read(golden, None)[0]))


def _quarter(day: datetime) -> int:
    return (day.month + 2) // 3


def _due() -> str:
    """Return the first day after the next quarter."""
    from hansard.runtime.clock import Clock

    now = datetime.fromisoformat(Clock().now())
    months = 12 * now.year + 3 * (_quarter(now) + 1)
    return f"{months // 12:04}-{months % 12 + 1:02}-01"


def _cases(golden: Golden, data: bytes, fields: object, ways: _Ways) -> list[Case]:
    """Return the questions of a golden set; whatever each would be refused for is raised first."""
    from hansard.runtime.golden import read

    called = Path(golden).name if isinstance(golden, (Path, str)) else "golden set"

    def specify(given: Mapping[str, Any]) -> AnySpec:
        found = stated(fields, "spec", given)
        ways.check(found)
        return found

    return read(data, called, specify, ways.collection)


@dataclass
class _Ways:
    """The three ways to answer, each a debate of the store: one that is there, or a new one."""

    store: Store
    files: Any
    folder: Path | None
    models: Models | None
    tools: Tools | None
    policy: Policy | None
    trust: Callable[[], Trust] | None
    collection: str
    reused: int = 0
    capped: int = 0

    def __post_init__(self) -> None:
        """Let the projection catch up once: what is run from here on is not asked twice."""
        self._rows = caught_up(self.store)
        self._named: dict[str | None, list[str]] | None = None
        self._evidence: tuple[list[Evidence], list[Evidence]] = ([], [])

    def check(self, spec: AnySpec) -> None:
        """Raise UsageError for a debate that cannot be run, or has no rival."""
        from hansard.runtime.evaluating import rival

        for each in (spec, rival(spec, 1)):
            self._opening(each)

    def _opening(self, spec: AnySpec) -> Opening:
        """Return how a debate would open; raises UsageError for one that cannot be run."""
        from hansard.runtime.estimate import rehearsed
        from hansard.runtime.policed import hold

        opening = rehearsed(self._read(spec), self.files, self.models, self.tools)
        if self.policy:
            opening = replace(opening, policy=self.policy)
            hold(opening, self.policy)
        return opening

    def _read(self, spec: AnySpec) -> AnySpec:
        """Return a spec with its documents read: most lines are about those of the line before."""
        from hansard.runtime.inputs import read_evidence

        named, read = self._evidence
        if named != spec.evidence:
            named, read = spec.evidence, read_evidence(spec, self.files).evidence
            self._evidence = named, read
        return spec.model_copy(update={"evidence": read})

    async def ask(self, case: Case) -> Question:
        """Return what each way makes of a question."""
        from hansard.report.evaluation import Question
        from hansard.runtime.evaluating import MOST_DRAWS, rival

        record = await self._run(case.spec, None)
        debate = self._held(record, case)
        self.capped += debate.calls > MOST_DRAWS
        single, several = [
            self._held(await self._run(rival(case.spec, draws), record), case)
            for draws in (1, debate.calls)
        ]
        return Question(
            id=case.id, label=case.label, debate=debate, single=single, self_consistency=several
        )

    def _held(self, record: Record, case: Case) -> Held:
        from hansard.report.evaluation import held

        return held(record.result(), case.label)

    async def _run(self, spec: AnySpec, beside: Record | None) -> Record:
        """Return the record of a debate: one that was opened alike, and is not run again.

        A rival is measured against the debate that it stands `beside`.
        """
        from hansard.runtime import session

        given = {"models": self.models, "tools": self.tools, "allow": self.files.allowed}
        found = self._earlier(spec, beside)
        if found is None:
            origin = _origin(beside, beside.head) if beside else _ALONE
            require_approval(self.policy, self.trust and self.trust())
            made = await session.run(
                spec, self.store, self.folder, origin=origin, policy=self.policy, **given
            )
            return of_store(self.store, made.journal.debate, None)
        if found.result().status == "open":
            await session.resume(found.debate, self.store, **given)
            return of_store(self.store, found.debate, None)
        self.reused += 1
        return found

    def _earlier(self, spec: AnySpec, beside: Record | None) -> Record | None:
        """Return the first debate of this evaluation that was opened as this one would be.

        Since then a review or an outcome may have been added to the one that a rival stands beside.
        """
        from hansard.record.line import line_hash
        from hansard.runtime.alike import is_alike

        ours = self._ours(spec.name)
        if not ours:
            return None
        opening = replace(self._opening(spec), origin=_ALONE)
        heads = set(map(line_hash, beside.bundle.lines)) if beside else set()
        for debate in ours:
            record = of_store(self.store, debate, None)
            if not record.verification.ok:
                _warn_of(debate)
                continue
            if beside:
                opened: Any = record.events[0]["data"]
                head = opened["origin"] and opened["origin"]["head"]
                origin = _origin(beside, head if head in heads else beside.head)
                opening = replace(opening, origin=origin)
            if is_alike(opening, record.events, record.text):
                return record
        return None

    def _ours(self, name: str | None) -> list[str]:
        """Return the debates of this evaluation that have a name, none of whose texts was read.

        They are found by their openings, not by rows that somebody may have changed: each that is
        not found is paid for once more.
        """
        from hansard.record.canonical import dump

        if self._named is None:
            self._named = {}
            for debate in self.store.naming(dump(self.collection).decode()):
                data = self._opened(debate)
                if data.get("collection_id") == self.collection:
                    self._named.setdefault(data.get("name"), []).append(debate)
        return self._named.get(name, [])

    def _opened(self, debate: str) -> Mapping[str, Any]:
        """Return how a debate was opened; nothing where that cannot be read, or there is none."""
        try:
            event = self.store.opening(debate)
            return event["data"] if event["type"] == "debate.opened" else {}
        except DataError as error:
            if is_of_all(error):  # else it would be asked, and paid for, once more
                raise
            return {}

    def require_recorded(self, cases: Iterable[Case]) -> None:
        """Raise UsageError `eval.offline` for each question that would ask a model."""
        missing = [row for row in map(self._missing, cases) if row]
        if missing:
            raise together(UsageError("eval.offline", row) for row in missing)

    def _missing(self, case: Case) -> str | None:
        """Say what of a question is not recorded, and who would be asked."""
        from hansard.rules.seating import OFFLINE

        asked = [row.model for row in case.spec.table() if not row.model.startswith(OFFLINE)]
        missing = self._lacking(case) if asked else None
        return missing and (
            f"line {case.line} ({case.id}): {missing} is not recorded, "
            f"and offline {asked[0]} is not asked; run it once without `offline`"
        )

    def _lacking(self, case: Case) -> str | None:
        """Say which of the three ways is not recorded; None where all are."""
        from hansard.runtime.evaluating import rival

        debate = self._ended(case.spec, None)
        if debate is None:
            return "a debate"
        calls = debate.result().totals.calls
        rivals = [rival(case.spec, draws) for draws in (1, calls)]
        return None if all(self._ended(row, debate) for row in rivals) else "a rival"

    def warn_of_altered(self) -> None:
        """Say which debates are known to be altered; others are told of as their question comes."""
        for debate in self._rows.find({"before": ""}):  # what does not hold is always found
            if self._opened(debate).get("collection_id") == self.collection:
                _warn_of(debate)

    def require_whole(self, cases: Iterable[Case]) -> None:
        """Raise UsageError `eval.erased` for each question that may be recorded without its texts.

        To ask it again would pay for it again, and bring back what was erased.
        """
        erased = [row for row in map(self._erased, cases) if row]
        if erased:
            raise together(UsageError("eval.erased", row) for row in erased)

    def _erased(self, case: Case) -> str | None:
        """Say which debate may be that of a question, and cannot be compared with it any more."""
        question = case.spec.question
        ours = self._ours(case.spec.name)
        gone = next((row for row in ours if self._was_erased_from(row, question)), None)
        if gone is None or self._lacking(case) is None:
            return None
        return (
            f"line {case.line} ({case.id}): what debate {gone[:8]} was asked has been erased, so "
            "nobody can tell whether that was this question; take the line out, or give it "
            "another `id`, by which it is asked anew"
        )

    def _was_erased_from(self, debate: str, question: str) -> bool:
        """Say whether a text went with which a debate was opened that may have asked a question."""
        from hansard.rules.after import REDACTED

        try:
            events: Sequence[Any] = self.store.events(debate)
            with suppress(KeyError):  # it is gone, and may have been this one
                if self.store.text(debate, events[0]["data"]["question"]["sha256"]) != question:
                    return False
        except DataError as error:
            if is_of_all(error):
                raise
            return False
        calls = [row["seq"] for row in events if row["type"] == "call.started"]
        gone = [row["data"]["seq"] for row in events if row["type"] == REDACTED]
        return bool(calls) and any(seq < calls[0] for seq in gone)

    def _ended(self, spec: AnySpec, beside: Record | None) -> Record | None:
        found = self._earlier(spec, beside)
        return found if found and found.result().status != "open" else None


def _warn_of(debate: str) -> None:
    said = (
        f"debate {debate[:8]} of this evaluation was altered or cannot be read; its question is "
        "asked again, and paid for again"
    )
    warnings.warn(SpecWarning("eval_altered", said), stacklevel=2)


def _origin(record: Record, head: str) -> Origin:
    """Return the origin of a rival: the debate that it is measured against, as it stood."""
    return {"kind": "evaluation", "debate": record.debate, "head": head, "seq": None}
