"""A debate from its opening, or from where it stopped, to its end."""

from __future__ import annotations

import asyncio
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from hansard.errors import SeatError, SpecWarning, UsageError
from hansard.record import blob
from hansard.record.bundle import Bundle
from hansard.record.chain import Chain
from hansard.record.line import line_hash
from hansard.record.policy import Policy
from hansard.report import gated
from hansard.rules.events import parse
from hansard.rules.fields import Estimated, Origin
from hansard.rules.formats import AnySpec
from hansard.rules.replay import approved_in, policy_of
from hansard.rules.state import DebateState, speaker_of
from hansard.runtime.clock import CLOCK, Clock
from hansard.runtime.engine import Engine, is_full
from hansard.runtime.estimate import expectation, rehearsed
from hansard.runtime.files import Files, stored_files
from hansard.runtime.inputs import names_texts, read_templates, read_texts
from hansard.runtime.journal import Journal
from hansard.runtime.models.base import Closing, Model
from hansard.runtime.models.callables import in_thread, in_turn
from hansard.runtime.opening import Opening, schemas_of
from hansard.runtime.output import checker
from hansard.runtime.policed import hold
from hansard.runtime.recording import Observer, OnProgress, Recording, Stop
from hansard.runtime.seats import Models, find_models, given_to, require_fit
from hansard.runtime.sizing import require_bounded
from hansard.runtime.tools import Tool, Tools, find_tools
from hansard.runtime.warned import Warned, warned
from hansard.store.application import Store
from hansard.verify.verifier import verify

# Where the frames lie that stand between a caller and what runs a debate.
_BETWEEN = (str(Path(__file__).parents[1]), str(Path(asyncio.__file__).parent))


_LOOK = 0.2  # seconds until it is looked again whether a worker still runs a debate


class Checked(NamedTuple):
    """A debate that can be opened: the most that it may cost, and what its author should know."""

    spec: AnySpec
    expected: Estimated | None
    ceiling: int | None
    warnings: tuple[Warned, ...]


async def _play(
    engine: Engine,
    recording: Recording,
    seats: Mapping[str, Model],
    given: Models | None,
    *,
    kept: bool = True,
) -> Recording:
    """Run the engine to the end, and close the models that were opened for it, not the given."""
    try:
        await engine.run()
    finally:
        await _close(seats, given)
    _raise_bug(engine, recording, kept=kept)
    return recording


async def _close(seats: Mapping[str, Model], given: Models | None) -> None:
    theirs = {id(model) for model in (given or {}).values()}
    for model in {id(model): model for model in seats.values()}.values():
        if isinstance(model, Closing) and id(model) not in theirs:
            await model.aclose()


def _raise_bug(engine: Engine, recording: Recording, *, kept: bool) -> None:
    """Raise SeatError from what the caller's own callable or hook raised, if one did."""
    debate = recording.journal.debate
    left = f"debate {debate} stays open: resume it once that is mended"
    if recording.state.closed:
        left = "the debate is closed"
    elif not kept:
        left = f"debate {debate} was in memory and is gone: name a `store`, and one can be resumed"
    if engine.raised:
        step, error = engine.raised
        seat, kind = speaker_of(step), type(error).__name__
        named = getattr(error, "names_its_seat", None)
        what = f"{named}," if named else f"{seat} raised {kind}"
        why = f" ({error})" if isinstance(error, UsageError) else ""  # holds no secret
        said = f"{what} in {step}{why}; nothing was retried, and {left}"
        raise SeatError("seat.raised", said, debate, seat, step) from error
    if isinstance(recording.broken, Exception):
        said = f"a hook raised {type(recording.broken).__name__}; {left}"
        raise SeatError("hook.raised", said, debate, None, None) from recording.broken
    if recording.broken:
        raise recording.broken


def to_the_caller() -> int:
    """Return how many frames up the code stands that called Hansard: a warning names its line."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_code.co_filename.startswith(_BETWEEN):
        frame, level = frame.f_back, level + 1
    return level


async def run(
    spec: AnySpec,
    store: Store,
    folder: Path | None,
    *,
    allow: Sequence[Path] = (),
    models: Models | None = None,
    tools: Tools | None = None,
    policy: Policy | None = None,
    origin: Origin | None = None,
    clock: Clock | None = None,
    observe: Observer | None = None,
    progress: OnProgress | None = None,
    begun: Callable[[Recording], None] | None = None,
    kept: bool = True,
    told: bool = False,
) -> Recording:
    """Open the debate that `spec` describes, run it to its end and return its record.

    `folder` and `allow` are those of `Files`. Everything the spec names is read
    and checked before the first event is written. What a `policy` (whose
    signature the caller has checked) does not allow is refused, as UsageError
    `policy.not_allowed`. `origin` names the debate that this one goes back to.
    `observe` and `progress` are those of `Recording`, which `begun` is given before it starts.
    The store is gone after the run unless it is `kept`. What `check` warned of is `told`.
    """
    clock, models = clock or CLOCK, given_to(spec, models)
    opening = await _opening(
        spec, store, Files(folder, tuple(allow)), models, tools, policy, origin
    )
    expected = expectation(opening)
    for row in () if told else warned(opening, expected):
        warnings.warn(SpecWarning(row.code, row.message), stacklevel=to_the_caller())
    debate = clock.debate_id()
    journal = Journal(store, Chain(debate), clock)
    recording = Recording(journal, observe=observe, progress=progress)
    recording.policy = policy
    if begun:
        begun(recording)
    approved = policy.approved(opening.spec.format, opening.templates) if policy else None
    with store.runner(debate):
        await _begin(opening, recording, expected, folder)
        engine = Engine(recording, opening.models, opening.files, clock, approved, opening.tools)
        return await _play(engine, recording, opening.models, models, kept=kept)


async def _begin(
    opening: Opening,
    recording: Recording,
    expected: Estimated | None,
    folder: Path | None,
    priority: int | None = None,
) -> None:
    """Record the opening of a debate; with a `priority` it is put into the queue once stored.

    Raises UsageError `spec.size` for one that leaves no room for what is to be said.
    """
    journal, policy = recording.journal, opening.policy
    for fact in opening.facts(journal.blob, expected):
        recording.add(fact)
    files = opening.files if policy is None else {**opening.files, policy.hash: policy.data}
    place = None if folder is None else str(folder.absolute())
    journal.attach(tuple(files.items()), place, priority)
    if is_full(journal):
        raise UsageError(
            "spec.size",
            "what this spec and its documents say is nearly as large as an export may be, so that "
            "nobody could be heard; give less, or keep no files beside their text "
            "(`keep_original: false`)",
        )
    await recording.tell()


async def enqueue(
    spec: AnySpec,
    store: Store,
    folder: Path | None,
    priority: int,
    *,
    allow: Sequence[Path] = (),
    models: Models | None = None,
    tools: Tools | None = None,
    policy: Policy | None = None,
    clock: Clock | None = None,
) -> str:
    """Open the debate that `spec` describes, for a worker to run, and return its id.

    It goes into the queue in the same transaction. Nobody is asked here, so neither keys nor
    the functions of seats are needed. Raises what `run` raises otherwise, and UsageError
    `queue.*`.
    """
    clock = clock or CLOCK
    opening = await unasked(spec, Files(folder, tuple(allow)), models, tools, policy)
    debate = clock.debate_id()
    recording = Recording(Journal(store, Chain(debate), clock))
    recording.policy = policy
    await _begin(opening, recording, expectation(opening), folder, priority)
    await recording.commit()
    return debate


async def unasked(
    spec: AnySpec,
    files: Files,
    models: Models | None,
    tools: Tools | None,
    policy: Policy | None,
) -> Opening:
    """Return what a debate is opened with that another process runs, with all of its tools."""
    opening: Opening = await in_thread(rehearsed, spec, files, models, tools)
    opening = replace(opening, tools=find_tools(opening.spec.tools, tools), policy=policy)
    if policy:
        hold(opening, policy)
    return opening


async def check(
    spec: AnySpec,
    store: Store,
    folder: Path | None,
    *,
    allow: Sequence[Path] = (),
    models: Models | None = None,
    tools: Tools | None = None,
    policy: Policy | None = None,
    elsewhere: bool = False,
) -> Checked:
    """Return the debate that `run` would open, with the texts of its files; raise what it would.

    No model is asked, and nothing is recorded. `elsewhere` is as `enqueue` would open it.
    """
    files = Files(folder, tuple(allow))
    if elsewhere:
        opening = await unasked(spec, files, models, tools, policy)
    else:
        models = given_to(spec, models)
        opening = await _opening(spec, store, files, models, tools, policy)
    try:
        expected = expectation(opening)
        return Checked(opening.spec, expected, opening.cost_ceiling, warned(opening, expected))
    finally:
        await _close(opening.models, models)


async def _opening(
    spec: AnySpec,
    store: Store,
    files: Files,
    models: Models,
    tools: Tools | None,
    policy: Policy | None,
    origin: Origin | None = None,
) -> Opening:
    """Return what the debate is opened with; all that the spec names is read and checked."""
    named = names_texts(spec)
    spec = await in_thread(read_texts, spec, files) if named else read_texts(spec, files)
    table = spec.table()
    require_fit(spec, files, models)
    asked = {row.id: (row.model, row.settings.base_url) for row in table}
    seats = await find_models(asked, files, store, models)
    opening = Opening(
        spec,
        read_templates(spec, files),
        schemas_of(spec, table, files),
        find_tools(spec.tools, tools),
        seats,
        policy,
        origin,
    )
    if policy:
        hold(opening, policy)
    return opening


async def resume(
    debate: str,
    store: Store,
    *,
    allow: Sequence[Path] = (),
    models: Models | None = None,
    tools: Tools | None = None,
    clock: Clock | None = None,
    observe: Observer | None = None,
    progress: OnProgress | None = None,
) -> Recording:
    """Go on with a debate that a process left open, and return its record at its end.

    No reply that is in the record is asked for again. Raises UsageError
    `debate.closed`, `store.running`, or DataError `record.altered` for a record
    that does not verify, and `record.size`: nothing is added to it.
    """
    clock = clock or CLOCK
    with store.runner(debate):
        # In a thread: a long record must not keep a worker from a sign of life.
        bundle: Bundle = await in_turn(_intact, debate, store)
        recording = _recording(debate, bundle, store, clock, observe, progress)
        _require_open(debate, recording)
        state = recording.state
        _check_deliverable(state, bundle)
        texts = recording.journal.texts.values()
        await in_turn(require_bounded, state, bundle.templates, texts)
        found = _same_tools(state, tools)
        asked = {
            seat["id"]: (seat["model"], seat["parameters"]["base_url"])
            for seat in state.seats.values()
        }
        files = stored_files(store.folder(debate), store.place, tuple(allow))
        seats = await find_models(asked, files, store, models)
        policy = recording.policy
        approved = approved_in(state.spec, policy) if policy else None
        engine = Engine(recording, seats, bundle.templates, clock, approved, found)
        engine.resumed()
        return await _play(engine, recording, seats, models)


async def let_go(debate: str, store: Store, seconds: float = 60) -> None:
    """Take a debate out of the queue, and wait until a worker that runs it has left it open."""
    if not store.cancel(debate):
        return
    for _ in range(int(seconds / _LOOK)):
        with suppress(UsageError), store.runner(debate):
            return
        await asyncio.sleep(_LOOK)


async def stop(
    debate: str,
    store: Store,
    *,
    by: str | None = None,
    reason: str | None = None,
    clock: Clock | None = None,
) -> Recording:
    """Cut a debate short that a process left open, without any call, and return its record.

    Raises what `Stop` raises of its texts, and `resume` of the record and of the store.
    """
    clock = clock or CLOCK
    asked = Stop(reason, by=by)
    with store.runner(debate):
        bundle, recording = taken_up(debate, store, clock)
        _require_open(debate, recording)
        recording.stop = asked
        engine = Engine(recording, {}, bundle.templates, clock)
        if recording.state.calls:
            engine.resumed()
        await engine.run()
        return recording


def taken_up(
    debate: str,
    store: Store,
    clock: Clock,
    observe: Observer | None = None,
    progress: OnProgress | None = None,
) -> tuple[Bundle, Recording]:
    """Return the bytes of a debate that holds, and its record to be added to.

    Raises UsageError `store.unknown`, and DataError `record.altered`.
    """
    bundle = _intact(debate, store)
    return bundle, _recording(debate, bundle, store, clock, observe, progress)


def _intact(debate: str, store: Store) -> Bundle:
    """Return the bytes of a debate that holds, as `taken_up` does; what is long takes long."""
    bundle = store.bundle(debate)
    if not bundle.lines:
        raise UsageError("store.unknown", f"there is no debate {debate} in {store.url}")
    verify(bundle).require_ok(
        f"debate {debate}", "nothing was added to it; restore the store from a copy"
    )
    return bundle


def _recording(
    debate: str,
    bundle: Bundle,
    store: Store,
    clock: Clock,
    observe: Observer | None = None,
    progress: OnProgress | None = None,
) -> Recording:
    """Return a record to be added to, from bytes that hold."""
    events = [parse(line) for line in bundle.lines]
    end, at = line_hash(bundle.lines[-1]), events[-1]["at"]
    chain = Chain(debate, seq=len(events), prev=end, at=at)
    journal = Journal(store, chain, clock)
    journal.texts.update((name, blob.unpack(file)) for name, file in bundle.blobs.items())
    journal.size = bundle.size
    recording = Recording(journal, events, observe=observe, progress=progress)
    recording.policy = policy_of(recording.state.opened, bundle.policies)
    return recording


def _require_open(debate: str, recording: Recording) -> None:
    """Refuse what nothing can be added to before its close; raises UsageError `debate.closed`."""
    gated.refuse(recording.events)
    if recording.state.closed:
        raise UsageError(
            "debate.closed", f"debate {debate} is closed; it cannot be resumed or stopped"
        )


def _check_deliverable(state: DebateState, bundle: Bundle) -> None:
    """Refuse a debate whose deliverable could not be checked here, before it goes on."""
    for row in state.spec["schemas"]:
        if row["role"] == "synthesizer":
            checker(bundle.templates[row["sha256"]])


def _same_tools(state: DebateState, given: Tools | None) -> dict[str, Tool]:
    """Return the tools of a debate; UsageError `tool.changed` for one that is described anew."""
    rows = state.spec["tools"]
    found = find_tools([row["tool"] for row in rows], given, anew=False)
    for row in rows:
        if sha256(found[row["tool"]].document).hexdigest() != row["sha256"]:
            raise UsageError(
                "tool.changed",
                f"tool {row['tool']} is not described as it was when the debate was opened; "
                "pass the same function",
            )
    return found
