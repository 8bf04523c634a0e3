"""The front door: a debate in one call, or one that is kept and run again.

>>> def ask(request):
...     return f"{request.stance.text} So says {request.speaker}."
>>> def decide(request):
...     last = request.transcript[-1]
...     return {"verdict": last.text, "winner": last.stance, "reasoning": "It came last."}
>>> result = debate(
...     "Shall we ship?",
...     format="judged",
...     debaters={"ship": "Ship now.", "wait": "Wait."},
...     model=ask,
...     judge=decide,
...     shuffle_for_judge=False,
... )
>>> result.decision, result.winner
('wait', 'Wait.')
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hansard.api import running
from hansard.api.specs import allowed_in, folder_in, located
from hansard.errors import UsageError

if TYPE_CHECKING:
    from hansard.api.specs import Spec
    from hansard.record.keys import Trust
    from hansard.record.policy import Policy
    from hansard.report.formats import DebateResult
    from hansard.report.progress import Progress
    from hansard.runtime.estimate import Estimate
    from hansard.runtime.recording import Observer, OnProgress, Recording
    from hansard.runtime.seats import Models
    from hansard.runtime.tools import Tools
    from hansard.store.application import Store

_LATER = "asked when it is run"  # stands for the question of a debate that has none yet


class Debate:
    """A debate that is kept and run, as often as wanted: with its own question, or another.

    >>> panel = Debate(format="panel", agents=[str.upper, str.lower], rounds=1)
    >>> panel
    Debate(format='panel', seats=['agent_1', 'agent_2'])
    """

    def __init__(
        self,
        spec: Spec | None = None,
        /,
        *,
        models: Models | None = None,
        tools: Tools | None = None,
        policy: Policy | None = None,
        store: Store | str | None = None,
        folder: Path | str | None = None,
        allow: Iterable[Path | str] = (),
        **fields: Any,
    ) -> None:
        """Take a spec, or its fields by name, and what `hansard.run` takes beside it.

        A seat is its fields, or what answers in it: a function, an object that answers
        calls, or the name of a model. Seats may be a list, or a mapping by their names
        (`debaters={"ship": "Ship now."}`); `agents` may list what answers in each. A
        function is recorded as `python:` and its own name. Without a spec every one of `tools`
        is a tool of the debate. `store` keeps the record; by default it is kept in memory, and
        gone on return.

        Raises UsageError for a spec that cannot be run, a function that cannot sit in a
        seat (`model.signature`), both a spec and a `format` of its own, and for what belongs to
        a run.
        """
        _check(spec, tools, fields)
        self._spec = spec
        self._fields = fields if spec is not None or not tools else {"tools": [*tools], **fields}
        self._models, self._tools, self._policy = models, tools, policy
        self._store, self._allow = store, allowed_in(allow)
        self._folder = folder_in(folder)
        self._running: set[Recording] = set()
        self._read({"question": _LATER} if self._unasked else {})

    @property
    def _unasked(self) -> bool:
        return self._spec is None and "question" not in self._fields

    def _read(self, given: Mapping[str, Any]) -> tuple[Any, Path | None]:
        """Return the spec with what is `given` in place of its own fields, and its folder."""
        from hansard.rules.model_names import OWN
        from hansard.runtime.models.callables import as_model
        from hansard.runtime.seats import given_to

        fields = {**self._fields, **given}
        spec = fields if self._spec is None else self._spec
        parsed, begin = located(spec, self._folder, None if self._spec is None else fields)
        functions = given_to(parsed, self._models)
        for row in parsed.table():
            provider, _, name = row.model.partition(":")
            if provider in OWN and name in functions:
                as_model(functions[name])
        return parsed, begin

    def __repr__(self) -> str:
        """Say which format it has, and who sits at the table."""
        parsed, _ = self._read({"question": _LATER} if self._unasked else {})
        seats = [row.id for row in parsed.table()]
        return f"Debate(format={parsed.format!r}, seats={seats})"

    async def run(
        self,
        question: str | None = None,
        *,
        follow_up: str | None = None,
        remand: str | None = None,
        trust: Trust | None = None,
        observe: Observer | None = None,
        progress: OnProgress | None = None,
        **fields: Any,
    ) -> DebateResult:
        """Run it to its end and return what became of it.

        `question` and `fields` (`evidence`, `context`, `labels`, … as in a spec) stand for
        this run in place of its own. The other arguments, and what is raised, are those of
        `hansard.run`.
        """
        parsed, begin = self._read(_stated(question, fields))
        kept: list[Recording] = []

        def begun(recording: Recording) -> None:
            kept.append(recording)
            self._running.add(recording)

        try:
            return await running.play(
                parsed,
                begin,
                store=self._store,
                allow=self._allow,
                models=self._models,
                tools=self._tools,
                policy=self._policy,
                follow_up=follow_up,
                remand=remand,
                trust=trust,
                observe=observe,
                progress=progress,
                begun=begun,
            )
        finally:
            self._running.difference_update(kept)

    def run_sync(self, question: str | None = None, **given: Any) -> DebateResult:
        """Do what `run` does, from code that is not async.

        Raises what `run` raises, and UsageError `api.running_loop` inside a running event
        loop.
        """
        return running.wait(lambda: self.run(question, **given), "Debate.run_sync", "Debate.run")

    def stream(self, question: str | None = None, **given: Any) -> Stream:
        """Return the steps of a run as they come; it begins once they are asked for.

        The arguments are those of `run`, but for `progress`.
        """
        return Stream(self, question, given)

    def estimate(self, question: str | None = None, **fields: Any) -> Estimate:
        """Return what it would take, as `hansard.estimate` does: calls, tokens, cost."""
        from hansard.runtime.estimate import estimate
        from hansard.runtime.files import Files

        given = _stated(question, fields)
        if self._unasked:
            given = {"question": _LATER, **given}
        parsed, begin = self._read(given)
        return estimate(parsed, Files(begin, self._allow), self._models, self._tools)

    def stop(self, reason: str | None = None, *, by: str | None = None) -> None:
        """Cut short whatever of it is running: with what stands once calls in flight have ended.

        As `hansard.Stop` from a hook; `reason` says why and `by` who stops it. Does nothing
        where nothing is running. Raises what `Stop` raises of its texts.
        """
        from hansard.runtime.recording import Stop

        asked = Stop(reason, by=by)
        for recording in tuple(self._running):  # others may begin or end meanwhile
            recording.stop = recording.stop or asked


class Stream:
    """The steps of a run, typed as in `hansard.Progress`; `result` is there after the last.

    Who stops listening before the end stops the run: the debate stays open in its store.
    """

    def __init__(self, debate: Debate, question: str | None, given: Mapping[str, Any]) -> None:
        self._debate, self._question, self._given = debate, question, given
        self.result: DebateResult | None = None

    async def __aiter__(self) -> AsyncGenerator[Progress, None]:
        """Run the debate, and yield what happens."""
        import asyncio

        steps: asyncio.Queue[Progress | None] = asyncio.Queue()
        run = self._debate.run(self._question, progress=steps.put_nowait, **self._given)
        task = asyncio.ensure_future(run)
        task.add_done_callback(lambda _: steps.put_nowait(None))
        try:
            while (step := await steps.get()) is not None:
                yield step
            self.result = await task
        finally:
            if task.cancel():
                with suppress(asyncio.CancelledError):
                    await task


def debate(
    question: str,
    *,
    follow_up: str | None = None,
    remand: str | None = None,
    trust: Trust | None = None,
    observe: Observer | None = None,
    progress: OnProgress | None = None,
    **given: Any,
) -> DebateResult:
    """Run one debate on a question, and return what became of it.

    `given` is what `Debate` takes: the fields of a spec, and `models`, `tools`, `policy`,
    `store`, `folder`, `allow`; the other arguments are those of `Debate.run`, whose errors
    it raises, and `api.running_loop` inside a running event loop: there, write
    `await Debate(…).run(question)`.

    >>> from hansard import debate
    >>> def ask(request):
    ...     return f"{request.stance.text} Because."
    >>> def decide(request):
    ...     return {"verdict": "Wait.", "winner": "wait", "reasoning": "It is safer."}
    >>> sides = {"ship": "Ship now.", "wait": "Wait."}
    >>> debate("Shall we ship?", format="judged", debaters=sides, model=ask, judge=decide).decision
    'wait'
    """
    return running.wait(
        lambda: Debate(**given).run(
            question,
            follow_up=follow_up,
            remand=remand,
            trust=trust,
            observe=observe,
            progress=progress,
        ),
        "debate",
        "Debate(…).run",
    )


_OF_A_RUN = ("progress", "observe", "follow_up", "remand", "trust")


def _check(spec: object, tools: object, fields: Mapping[str, Any]) -> None:
    """Refuse what is often put in a wrong place, with the right one."""
    for name in _OF_A_RUN:
        if name in fields:
            said = f"`{name}` belongs to a run: give it to `run`, `run_sync` or `stream`"
            raise UsageError("spec.unknown_field", said)
    if isinstance(spec, str) and "format" in fields:
        raise UsageError(
            "spec.format",
            "what comes first is the file of a spec, which has its own `format`: give a question "
            "to `run`, or as `question=…`",
        )
    if not isinstance(tools, Mapping | None):
        said = "`tools` are functions by name: write tools={NAME: FUNCTION}"
        raise UsageError("tool.not_given", said)


def _stated(question: str | None, fields: Mapping[str, Any]) -> dict[str, Any]:
    return {**fields, **({} if question is None else {"question": question})}
