"""Running a debate: one awaitable call with typed input and result.

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
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hansard.api.records import recorded
from hansard.api.specs import allowed_in, folder_in, located
from hansard.errors import HansardError, OutputWarning, UsageError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from hansard.api.specs import Document, Spec
    from hansard.record.keys import Trust
    from hansard.record.policy import Policy
    from hansard.report.formats import DebateResult
    from hansard.rules.fields import Origin
    from hansard.rules.formats import AnySpec
    from hansard.runtime.recording import Observer, OnProgress, Recording
    from hansard.runtime.seats import Models
    from hansard.runtime.tools import Tools
    from hansard.store.application import Store

    Who = str | Mapping[str, str]

IN_MEMORY = "sqlite:///:memory:"
T = TypeVar("T")


async def run(
    spec: Spec,
    *,
    models: Models | None = None,
    tools: Tools | None = None,
    policy: Policy | None = None,
    question: str | None = None,
    evidence: Sequence[Document] | None = None,
    task_type: str | None = None,
    requester: Who | None = None,
    owner: Who | None = None,
    labels: Sequence[str] | None = None,
    retention: str | None = None,
    follow_up: str | None = None,
    remand: str | None = None,
    trust: Trust | None = None,
    store: Store | str | None = None,
    folder: Path | str | None = None,
    allow: Iterable[Path | str] = (),
    observe: Observer | None = None,
    progress: OnProgress | None = None,
) -> DebateResult:
    """Run one debate to its end and return what became of it.

    `spec` is a spec of one of the formats, the path of a YAML or JSON file, or
    the same fields as a mapping. `models` maps the NAME of each `python:NAME` or
    `custom:NAME` model to a sync or async function of a Request that returns the
    reply's text, a mapping or a Completion (`read_models` finds them in a file); `tools`
    maps the name of each tool of the spec to a function with annotated arguments. A `policy`
    (`read_policy`) says what the debate may be made of, and what it does not allow
    is refused as UsageError `policy.not_allowed`, with every point. Where `trust` is given,
    its approval must still count as the debate opens, by that trust (`read_policy`): it may
    have been revoked since the policy was read. `question`,
    `evidence` (such as a list of `Path`), `task_type`, `requester` (who asks), `owner`
    (who answers for the result), `labels` and `retention` stand in place of the spec's
    own; a person is a name, or a mapping of `name` and `key`, the name of the key that
    they sign with. `follow_up` is the id of a debate of the same store that has ended, or
    an unambiguous prefix of it: its transcript is then a document of the evidence, and the
    record names it as the origin. `remand` is the id of one that a review has sent back,
    by the keys of `trust`: the comments of those reviews are documents as well. `store` is
    an open Store, or the URL of one to open (and make) and close again; by default the
    record is kept in memory and gone on return, so pass a store to verify it later. File names
    in the spec begin in `folder`, by default the folder of the spec's own file, and
    stay below it: not through a link, nor into hidden files. `allow` names further
    folders that they may lead to. A `Path` in place of a name is your own: it begins
    in the working directory and may lead anywhere but to your keys. `observe` is
    called with every event of the record, once it is stored, and where it takes two
    arguments also with the texts of the record so far, by name; `progress` with what
    the event means, as one of the types of
    `hansard.report.progress`.

    A debate that ends in `escalate`, or is cut short by a ceiling, is a result.
    Raises UsageError for a spec, a model or a tool that cannot be used, before
    anything is recorded, DataError `record.altered` for an earlier debate that does not
    verify, DataError where the store fails, and `report.size` for a debate that is kept in it, but
    whose texts take more than 160 MiB of memory. What a function in a
    seat, `observe` or `progress` raises ends the run once what is in flight has ended:
    SeatError is raised from it, and names the debate. Nothing of it is retried, but for
    `Unavailable`, timeouts, connection errors and exceptions with a `status_code`, which
    are a model's failures. The debate stays open then, unless its close is recorded, and
    `resume` goes on with it; one that was kept in memory is gone.

    >>> import asyncio
    >>> from hansard import run
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> ask = {"ask": lambda request: "Because."}
    >>> result = asyncio.run(run(spec, models=ask))
    >>> result.status, result.decision
    ('complete', 'agent_1')
    """
    given = {
        "question": question,
        "evidence": None if evidence is None else list(evidence),
        "task_type": task_type,
        "requester": requester,
        "owner": owner,
        "labels": None if labels is None else list(labels),
        "retention": retention,
    }
    stated = {name: value for name, value in given.items() if value is not None}
    allowed = allowed_in(allow)
    parsed, begin = located(spec, folder_in(folder), stated)
    return await play(
        parsed,
        begin,
        store=store,
        follow_up=follow_up,
        remand=remand,
        trust=trust,
        allow=allowed,
        models=models,
        tools=tools,
        policy=policy,
        observe=observe,
        progress=progress,
    )


async def play(
    spec: AnySpec,
    folder: Path | None,
    *,
    store: Store | str | None,
    follow_up: str | None,
    remand: str | None,
    trust: Trust | None,
    **given: Any,
) -> DebateResult:
    """Do what `run` does of a spec that was read; what else is given, a session takes."""
    from hansard.record.policy import Policy
    from hansard.runtime import session

    policy = given["policy"]
    if not isinstance(policy, Policy | None):
        kind = type(policy).__name__
        raise UsageError("policy.read", f"`policy` is what `read_policy` gives, not a {kind}")
    require_approval(policy, trust)
    with opened(store if store is not None else IN_MEMORY, create=True) as shelf:
        spec, origin = _going_back(spec, shelf, follow_up, remand, trust)
        kept = store is not None
        found = await session.run(spec, shelf, folder, origin=origin, kept=kept, **given)
        result = result_of(found, bounded=kept)
    return result if spec.output_class is None else _typed(result, spec.output_class)


def require_approval(policy: Policy | None, trust: Trust | None) -> None:
    """Refuse a policy whose approval does not count now, by `trust`: DataError `policy.*`."""
    from hansard.governance.approval import load
    from hansard.runtime.clock import Clock

    if policy and trust:
        load(policy.data, trust, Clock().now())


def _typed(result: DebateResult, wanted: type[BaseModel]) -> DebateResult:
    """Return the result with its output as an instance of the class that was asked for.

    A validator may refuse what fits the schema of its class, and a model chose what that is: the
    debate is over and paid, so its result is not lost.
    """
    if result.output is None:
        return result
    try:
        output = wanted.model_validate(result.output)
    except Exception as error:  # noqa: BLE001 - a validator is the caller's own and raises anything
        said = OutputWarning(
            f"{wanted.__name__} refuses the deliverable ({type(error).__name__}), which fits its "
            "schema: `output` is the JSON value that was recorded"
        )
        said.__cause__ = error
        with suppress(OutputWarning):  # an error where warnings are: it must not cost the result
            warnings.warn(said, stacklevel=2)
        return result
    return result.model_copy(update={"output": output})


def _going_back(
    spec: AnySpec, store: Store, follow_up: str | None, remand: str | None, trust: Trust | None
) -> tuple[AnySpec, Origin | None]:
    """Return the spec with what comes from the debate that it goes back to, and that origin."""
    from hansard.record.keys import Trust
    from hansard.runtime import following

    if follow_up is not None and remand is not None:
        raise UsageError(
            "origin.both", "a debate goes back to one other; name `follow_up` or `remand`"
        )
    if remand is not None:
        return following.remand(store.find(remand), spec, store, trust or Trust())
    if follow_up is not None:
        return following.follow(store.find(follow_up), spec, store)
    return spec, None


def run_sync(
    spec: Spec,
    *,
    models: Models | None = None,
    tools: Tools | None = None,
    policy: Policy | None = None,
    question: str | None = None,
    evidence: Sequence[Document] | None = None,
    task_type: str | None = None,
    requester: Who | None = None,
    owner: Who | None = None,
    labels: Sequence[str] | None = None,
    retention: str | None = None,
    follow_up: str | None = None,
    remand: str | None = None,
    trust: Trust | None = None,
    store: Store | str | None = None,
    folder: Path | str | None = None,
    allow: Iterable[Path | str] = (),
    observe: Observer | None = None,
    progress: OnProgress | None = None,
) -> DebateResult:
    """Do what `run` does, from code that is not async.

    Raises what `run` raises, and UsageError `api.running_loop` inside a running
    event loop.

    >>> from hansard import run_sync
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> ask = {"ask": lambda request: "Because."}
    >>> run_sync(spec, models=ask).decision_rule
    'most_similar'
    """
    return wait(
        lambda: run(
            spec,
            models=models,
            tools=tools,
            policy=policy,
            question=question,
            evidence=evidence,
            task_type=task_type,
            requester=requester,
            owner=owner,
            labels=labels,
            retention=retention,
            follow_up=follow_up,
            remand=remand,
            trust=trust,
            store=store,
            folder=folder,
            allow=allow,
            observe=observe,
            progress=progress,
        ),
        "run_sync",
        "run",
    )


async def resume(
    debate: str,
    *,
    store: Store | str,
    allow: Iterable[Path | str] = (),
    models: Models | None = None,
    tools: Tools | None = None,
    observe: Observer | None = None,
    progress: OnProgress | None = None,
) -> DebateResult:
    """Go on with a debate that was left open, and return what became of it.

    `debate` is its id or an unambiguous prefix of it; `store` is an open Store or
    the URL of one. `allow`, `models` and `tools` are those that `run` was given; the policy,
    if there was one, is kept with the record and still holds. No reply in the
    record is asked for again. `observe` and `progress` are told of what happens
    from here on.

    Raises what `run` raises, UsageError `store.unknown`, `store.ambiguous`,
    `debate.closed`, `store.running`, `tool.changed` or `model.*`, and DataError `record.altered`
    for a record that does not hold, `record.size` for one whose prompts could take too much
    memory: nothing is added to either.

    >>> import asyncio
    >>> from hansard import SeatError, open_store, resume, run_sync
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> with open_store("sqlite:///:memory:") as store:
    ...     try:
    ...         run_sync(spec, models={"ask": lambda _: 1 / 0}, store=store)
    ...     except SeatError as error:  # mend it, and go on
    ...         mended = {"ask": lambda request: "Because."}
    ...         print(asyncio.run(resume(error.debate, models=mended, store=store)).status)
    complete
    """
    from hansard.runtime import session

    with opened(store, create=False) as shelf:
        found = await session.resume(
            shelf.find(debate),
            shelf,
            allow=allowed_in(allow),
            models=models,
            tools=tools,
            observe=observe,
            progress=progress,
        )
        return result_of(found)


def resume_sync(
    debate: str,
    *,
    store: Store | str,
    allow: Iterable[Path | str] = (),
    models: Models | None = None,
    tools: Tools | None = None,
    observe: Observer | None = None,
    progress: OnProgress | None = None,
) -> DebateResult:
    """Do what `resume` does, from code that is not async.

    Raises what `resume` raises, and UsageError `api.running_loop` inside a running
    event loop.

    >>> from hansard import SeatError, open_store, resume_sync, run_sync
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> with open_store("sqlite:///:memory:") as store:
    ...     try:
    ...         run_sync(spec, models={"ask": lambda _: 1 / 0}, store=store)
    ...     except SeatError as error:  # mend it, and go on
    ...         mended = {"ask": lambda request: "Because."}
    ...         print(resume_sync(error.debate, models=mended, store=store).status)
    complete
    """
    return wait(
        lambda: resume(
            debate,
            store=store,
            allow=allow,
            models=models,
            tools=tools,
            observe=observe,
            progress=progress,
        ),
        "resume_sync",
        "resume",
    )


async def stop(
    debate: str, *, store: Store | str, by: str | None = None, reason: str | None = None
) -> DebateResult:
    """Cut short a debate that was left open, and return what stands.

    `debate` is its id or an unambiguous prefix of it; `by` says who stops it and
    `reason` why: the record keeps both as texts. Calls that were open when its process
    died are abandoned, and replies that were recorded still count. No model is called,
    and no function of yours. A worker that runs it is told to leave it first. What runs in this
    process is stopped by a hook that raises `Stop`.

    Raises UsageError `store.unknown`, `store.ambiguous`, `debate.closed`, or
    `store.running` while another process runs it; DataError `record.altered` for a
    record that does not hold, to which nothing is added.

    >>> import asyncio
    >>> from hansard import SeatError, open_store, run_sync, stop
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> with open_store("sqlite:///:memory:") as store:
    ...     try:
    ...         run_sync(spec, models={"ask": lambda _: 1 / 0}, store=store)
    ...     except SeatError as error:
    ...         print(asyncio.run(stop(error.debate, store=store, by="Ann Lee")).truncated.by)
    Ann Lee
    """
    from hansard.runtime import session
    from hansard.runtime.recording import Stop

    Stop(reason, by=by)  # else a worker would leave the debate before these texts are refused
    with opened(store, create=False) as shelf:
        wanted = shelf.find(debate)
        cut = partial(session.stop, wanted, shelf, by=by, reason=reason)
        try:
            found = await cut()
        except UsageError as error:
            if error.code != "store.running":
                raise
            await session.let_go(wanted, shelf)
            found = await cut()
        with suppress(HansardError):  # who is killed before leaves a job that finds it closed
            shelf.cancel(wanted)
        return result_of(found)


def stop_sync(
    debate: str, *, store: Store | str, by: str | None = None, reason: str | None = None
) -> DebateResult:
    """Do what `stop` does, from code that is not async.

    Raises what `stop` raises, and UsageError `api.running_loop` inside a running
    event loop.

    >>> from hansard import SeatError, open_store, run_sync, stop_sync
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> with open_store("sqlite:///:memory:") as store:
    ...     try:
    ...         run_sync(spec, models={"ask": lambda _: 1 / 0}, store=store)
    ...     except SeatError as error:
    ...         print(stop_sync(error.debate, store=store, reason="No budget").status)
    truncated
    """
    return wait(lambda: stop(debate, store=store, by=by, reason=reason), "stop_sync", "stop")


@contextmanager
def opened(store: Store | str, *, create: bool) -> Iterator[Store]:
    """Give the store itself, or the one at that URL while the block runs."""
    from hansard.store.application import Store

    if isinstance(store, Store):
        yield store
        return
    if not isinstance(store, str):
        said = f"`store` is the URL of a store, or an open one, not a {type(store).__name__}"
        raise UsageError("store.url", f"{said}; write sqlite:///PATH/FILE.db or postgresql://…")
    with Store.open(store, create=create) as shelf:
        yield shelf


def result_of(found: Recording, *, bounded: bool = True) -> DebateResult:
    """Return what became of a debate; a review that its policy asks for is still to come.

    Raises DataError `report.size` where its texts take too much memory, unless it is not
    `bounded`, as where nobody could read them again.
    """
    from hansard.report.reviews import Reader
    from hansard.report.size import Memory
    from hansard.report.view import build

    text_of = Memory().of(found.texts.get) if bounded else found.texts.get
    with recorded(found.journal.debate):
        return build(found.events, text_of, Reader(found.policy))


def wait(start: Callable[[], Coroutine[Any, Any, T]], name: str, instead: str) -> T:
    """Wait for a result in an event loop of its own; inside a running one say what to await."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(start())
    raise UsageError(
        "api.running_loop",
        f"{name} was called inside a running event loop; write `await {instead}(…)` there",
    )
