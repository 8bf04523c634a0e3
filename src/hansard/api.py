"""The public API: a debate is one awaitable call with typed input and result.

>>> from hansard import open_store, run_sync, verify
>>> def steady(request):
...     vote = "release" if request.speaker == "planner" else "revise"
...     return {"stance": "as before", "rationale": "it holds", "vote": vote}
>>> spec = {
...     "question": "Shall version 2 be released on Friday?",
...     "options": ["release", "revise"],
...     "threshold": 2,
...     "max_rounds": 2,
...     "debaters": [
...         {"id": "planner", "model": "python:steady"},
...         {"id": "critic", "model": "python:steady"},
...         {"id": "operator", "model": "python:steady"},
...     ],
... }
>>> with open_store("sqlite:///:memory:") as store:
...     result = run_sync(spec, models={"steady": steady}, store=store)
...     print(verify(store, result.debate).verdict)
SELF-CONSISTENT, SIGNER UNKNOWN
>>> print(result.to_report())
debater_ids: [planner, critic, operator]
rounds_run: 1
max_rounds: 2
phase_sequence: [proposal]
consensus_threshold: 2
vote_tally: {release: 1, revise: 2}
decision: revise
decision_rule: threshold_vote
speaker_schedule: [planner, critic, operator]

What a function needs is imported when it is first called: to import this module
costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hansard.errors import UsageError

if TYPE_CHECKING:
    from hansard.report.formats import DebateResult
    from hansard.report.progress import Progress
    from hansard.rules.formats import AnySpec
    from hansard.runtime.estimate import Estimate
    from hansard.runtime.recording import Observer
    from hansard.runtime.session import Models, Tools
    from hansard.store.application import Store
    from hansard.verify.findings import Verification

    Spec = AnySpec | Path | str | Mapping[str, Any]

__all__ = [
    "estimate",
    "open_store",
    "result",
    "resume",
    "resume_sync",
    "run",
    "run_sync",
    "verify",
]

IN_MEMORY = "sqlite:///:memory:"


async def run(
    spec: Spec,
    *,
    models: Models | None = None,
    tools: Tools | None = None,
    store: Store | str | None = None,
    folder: Path | str | None = None,
    observe: Observer | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> DebateResult:
    """Run one debate to its end and return what became of it.

    `spec` is a spec of one of the formats, the path of a YAML or JSON file, or
    the same fields as a mapping. `models` maps the NAME of each `python:NAME` or
    `custom:NAME` model to a sync or async function of a Request that returns the
    reply's text, a mapping or a Completion; `tools` maps the name of each tool
    of the spec to a function with annotated arguments. `store` is an open Store,
    or the URL of one to open (and make) and close again; by default the record
    is kept in memory and gone on return, so pass a store to verify it later.
    Relative file names begin in `folder`: by default the spec file's own, else
    the working directory. `observe` is called with every event of the record, as
    it is recorded, and `progress` with what it means: the types of
    `hansard.report.progress`.

    A debate that ends in `escalate`, or is cut short by a ceiling, is a result.
    Raises UsageError for a spec, a model or a tool that cannot be used, before
    anything is recorded, and DataError where the store fails; the debate can then
    be resumed.
    """
    from hansard.report.view import build
    from hansard.runtime import session

    parsed, begin = _read(spec, folder)
    with _opened(store if store is not None else IN_MEMORY, create=True) as shelf:
        found = await session.run(
            parsed,
            shelf,
            begin,
            models=models,
            tools=tools,
            observe=observe,
            progress=progress,
        )
        return build(found.events, found.texts.get)


def run_sync(
    spec: Spec,
    *,
    models: Models | None = None,
    tools: Tools | None = None,
    store: Store | str | None = None,
    folder: Path | str | None = None,
    observe: Observer | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> DebateResult:
    """Do what `run` does, from code that is not async.

    Raises UsageError `api.running_loop` inside a running event loop.
    """
    return _wait(
        lambda: run(
            spec,
            models=models,
            tools=tools,
            store=store,
            folder=folder,
            observe=observe,
            progress=progress,
        ),
        "run",
    )


async def resume(
    debate: str,
    *,
    store: Store | str,
    models: Models | None = None,
    tools: Tools | None = None,
    observe: Observer | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> DebateResult:
    """Go on with a debate that was left open, and return what became of it.

    `debate` is its id or an unambiguous beginning of it. No reply in the record
    is asked for again. Raises UsageError `store.unknown`, `store.ambiguous`,
    `debate.closed` or `store.running`, and DataError for a damaged record.
    """
    from hansard.report.view import build
    from hansard.runtime import session

    with _opened(store, create=False) as shelf:
        found = await session.resume(
            shelf.find(debate),
            shelf,
            models=models,
            tools=tools,
            observe=observe,
            progress=progress,
        )
        return build(found.events, found.texts.get)


def resume_sync(
    debate: str,
    *,
    store: Store | str,
    models: Models | None = None,
    tools: Tools | None = None,
    observe: Observer | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> DebateResult:
    """Do what `resume` does, from code that is not async.

    Raises UsageError `api.running_loop` inside a running event loop.
    """
    return _wait(
        lambda: resume(
            debate, store=store, models=models, tools=tools, observe=observe, progress=progress
        ),
        "resume",
    )


def estimate(
    spec: Spec,
    *,
    models: Models | None = None,
    tools: Tools | None = None,
    folder: Path | str | None = None,
) -> Estimate:
    """Return what the debate would take, before anything is spent: calls, tokens, cost.

    The arguments are those of `run`; `models` are only looked at for prices that
    they state, `tools` for their definitions, which every call sends. No model is
    asked, and neither keys nor providers' packages are needed. Raises UsageError for
    a spec that cannot be run.

    >>> found = estimate({
    ...     "format": "panel",
    ...     "question": "What comes first?",
    ...     "model": "python:steady",
    ...     "judge": {},
    ...     "prices": {"python:steady": {"input": "2.50", "output": "10.00"}},
    ... })
    >>> found.most.calls, found.fewest.calls
    (10, 4)
    """
    from hansard.runtime.estimate import estimate as rehearse

    parsed, begin = _read(spec, folder)
    return rehearse(parsed, begin, models, tools)


def open_store(url: str, create: bool = True) -> Store:
    """Open the store at `sqlite:///PATH/FILE.db` or `sqlite:///:memory:`.

    Close it, or use it as a context manager. Raises UsageError `store.url`, or
    `store.missing` where there is none and `create` is False; DataError for a
    file that is no store.

    >>> with open_store("sqlite:///:memory:") as store:
    ...     store.debates()
    []
    """
    from hansard.store.application import Store

    return Store.open(url, create=create)


def result(store: Store, debate: str) -> DebateResult:
    """Return what the store holds of a debate, open or closed.

    `debate` is its id or an unambiguous beginning of it. A text that is gone is
    None. This shows the record; `verify` says whether it is what was recorded.
    Raises UsageError `store.unknown` or `store.ambiguous`, and DataError for a
    record that cannot be read.
    """
    from hansard.record import blob
    from hansard.report.view import build
    from hansard.rules.events import parse

    bundle = store.bundle(store.find(debate))

    def text_of(name: str) -> str | None:
        return blob.unpack(bundle.blobs[name]) if name in bundle.blobs else None

    return build(map(parse, bundle.lines), text_of)


def verify(store: Store, debate: str) -> Verification:
    """Check a debate's record: every link, text, turn, prompt, vote and the decision.

    `ok` says that no check failed; `findings` lists each defect with its entry.
    `debate` is its id or an unambiguous beginning of it. Raises UsageError
    `store.unknown` or `store.ambiguous`; never for bytes that are bad.
    """
    from hansard.verify import verifier

    return verifier.verify(store.bundle(store.find(debate)))


def _read(spec: Spec, folder: Path | str | None) -> tuple[AnySpec, Path]:
    """Return the spec, and the folder in which its relative file names begin."""
    from hansard.rules.formats import AnySpec
    from hansard.runtime.inputs import load_spec, parse_spec

    begin = Path(folder) if folder is not None else Path()
    if isinstance(spec, AnySpec):
        return spec, begin
    if isinstance(spec, Mapping):
        return parse_spec(dict(spec), "spec"), begin
    path = Path(spec)
    return load_spec(path), path.parent if folder is None else begin


@contextmanager
def _opened(store: Store | str, *, create: bool) -> Iterator[Store]:
    """Give the store itself, or the one at that URL while the block runs."""
    from hansard.store.application import Store

    if isinstance(store, Store):
        yield store
        return
    with Store.open(store, create=create) as shelf:
        yield shelf


def _wait(start: Callable[[], Coroutine[Any, Any, DebateResult]], name: str) -> DebateResult:
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(start())
    raise UsageError(
        "api.running_loop",
        f"{name}_sync was called inside a running event loop; write `await {name}(…)` there",
    )
