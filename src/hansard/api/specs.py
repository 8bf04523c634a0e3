"""What a debate would be, before it is run: its spec, what it would take, who can answer."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hansard.errors import UsageError

if TYPE_CHECKING:
    from hansard.rules.formats import AnySpec
    from hansard.rules.spec_parts import Evidence
    from hansard.runtime.available import AvailableModels
    from hansard.runtime.estimate import Estimate
    from hansard.runtime.files import Files
    from hansard.runtime.seats import Models
    from hansard.runtime.tools import Tools

    Document = Path | str | Mapping[str, object] | Evidence
    Spec = AnySpec | Path | str | Mapping[str, Any]

BATCH = "batch:"  # how the label begins that only `hansard batch` gives to its debates


def formats() -> Mapping[str, str]:
    """Return the formats by their names, as a spec's `format` has them: what happens in each.

    Never raises.

    >>> formats()["panel"]
    'everybody revises independent drafts'
    """
    from hansard.rules.formats import FORMATS

    return {name: row.summary for name, row in FORMATS.items()}


def read_spec(spec: Spec) -> AnySpec:
    """Return the spec that a YAML or JSON file holds, or that a mapping of its fields is.

    The files that it names are not read yet. Raises UsageError `spec.*`, whose
    sentence says what to mend and where.

    >>> read_spec({"format": "panel", "question": "Why?", "model": "python:ask"}).rounds
    2
    >>> read_spec({"format": "panel", "question": "Why?"})
    Traceback (most recent call last):
    hansard.errors.UsageError: spec: agent_1 has no model; give it a `model`, or set `model` for \
the whole debate
    """
    return located(spec, None)[0]


def located(
    spec: Spec, folder: Path | None, given: Mapping[str, Any] | None = None
) -> tuple[AnySpec, Path | None]:
    """Return the spec, and the folder in which its relative file names begin.

    That is `folder` where it is given, as `folder_in` has it, else the folder of the spec's
    own file, if it has one. `given` are fields that stand in place of the spec's own. Raises
    UsageError `spec.*`, and `batch.labels` where it says itself that it is a row of a batch: its
    debate would be taken for the one of that row, whatever else it says.
    """
    from hansard.rules.formats import AnySpec

    if isinstance(spec, AnySpec) and not given:
        require_free(spec.labels, BATCH)
        return spec, folder
    value, where, begin = fields_of(spec, folder)
    return stated(value, where, given), begin


def stated(value: object, where: str, given: Mapping[str, Any] | None = None) -> AnySpec:
    """Return the spec of these fields; raises UsageError as `located` does."""
    found = parsed(value, where, given)
    require_free(found.labels, BATCH)
    return found


def require_free(labels: Iterable[str], *reserved: str) -> None:
    """Refuse labels that begin as those do by which a batch knows its rows: `batch.labels`."""
    taken = next((label for label in labels if label.startswith(reserved)), None)
    if taken is not None:
        raise UsageError("batch.labels", f"the label {taken} is reserved for batches; use another")


def fields_of(spec: Spec, folder: Path | None) -> tuple[object, str, Path | None]:
    """Return the fields of a spec as they stand, what they are called, and the folder of `located`.

    Raises UsageError `spec.*` for a file that cannot be read.
    """
    from hansard.api.shapes import shaped
    from hansard.rules.formats import AnySpec
    from hansard.runtime.files import folder_of
    from hansard.runtime.inputs import read_fields

    if isinstance(spec, AnySpec):
        fields = {name: getattr(spec, name) for name in (*spec.model_fields_set, "format")}
        spec = fields | ({"output_schema": spec.output_class} if spec.output_class else {})
    if isinstance(spec, Mapping):
        return shaped(spec), "spec", folder
    if not isinstance(spec, Path | str):
        kind = type(spec).__name__
        raise UsageError(
            "spec.yaml", f"a spec is a mapping of its fields, or the path of its file, not a {kind}"
        )
    path = Path(spec)
    own = folder_of(path)
    return read_fields(path, own), path.name, own if folder is None else folder


def parsed(value: object, where: str, given: Mapping[str, Any] | None = None) -> AnySpec:
    """Return the spec of these fields, with what is `given` in place of its own.

    Raises UsageError `spec.*`.
    """
    from hansard.api.shapes import shaped
    from hansard.rules.formats import DEFAULT
    from hansard.runtime.inputs import parse_spec

    own = value.get("format", DEFAULT) if isinstance(value, dict) else DEFAULT
    stated = shaped({"format": own, **(given or {})})
    more = {name: row for name, row in stated.items() if name != "format" or name in (given or {})}
    return parse_spec(value, where, more)


def reachable(
    spec: Spec,
    folder: Path | str | None,
    allow: Iterable[Path | str],
    given: Mapping[str, Any] | None = None,
) -> tuple[AnySpec, Files]:
    """Return the spec with what is `given` in place of its own, and the files it may name."""
    from hansard.runtime.files import Files

    allowed = allowed_in(allow)
    parsed, begin = located(spec, folder_in(folder), given)
    return parsed, Files(begin, allowed)


def folder_in(folder: Path | str | None) -> Path | None:
    """Return the folder where file names begin, as it is before the spec is read."""
    from hansard.runtime.files import settled

    return None if folder is None else settled(folder)


def allowed_in(allow: Iterable[Path | str]) -> tuple[Path, ...]:
    """Return the folders that a spec may read beside its own, as they are before it is read.

    Raises UsageError `spec.allow` for an empty name, which would be the working directory.
    """
    from hansard.runtime.files import settled

    folders = tuple(allow)
    if "" in folders:
        said = (
            "a folder that the spec may read has no name, as where a variable is not set: name it"
        )
        raise UsageError("spec.allow", said)
    return tuple(map(settled, folders))


def estimate(
    spec: Spec,
    *,
    models: Models | None = None,
    tools: Tools | None = None,
    question: str | None = None,
    evidence: Sequence[Document] | None = None,
    folder: Path | str | None = None,
    allow: Iterable[Path | str] = (),
) -> Estimate:
    """Return what the debate would take, before anything is spent: calls, tokens, cost.

    The arguments are those of `run`; `models` are only looked at for prices that
    they state, `tools` for their definitions, which every call sends. Costs are in
    micro-US-dollars. No model is asked, and neither keys nor providers' packages
    are needed. Raises UsageError for a spec that cannot be run, and `estimate.too_long`
    for a debate of so many turns that it is not rehearsed.

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

    given = {"question": question, "evidence": None if evidence is None else list(evidence)}
    stated = {name: value for name, value in given.items() if value is not None}
    return rehearse(*reachable(spec, folder, allow, stated), models, tools)


def prompt_templates(
    spec: Spec | None = None,
    *,
    format: str = "consensus",  # noqa: A002 - the spec's own word
    folder: Path | str | None = None,
    allow: Iterable[Path | str] = (),
) -> dict[str, bytes]:
    """Return the prompt templates by role, UTF-8: those that a spec uses, else the packaged ones.

    Without a spec they are those of `format`. `folder` and `allow` are those of
    `run`. Raises UsageError `spec.*` for a spec, a template or a format that cannot be
    used.

    >>> sorted(prompt_templates(format="judged"))
    ['again', 'block', 'debater', 'judge', 'protocol', 'synthesizer']
    """
    from hansard.runtime.inputs import packaged_templates, read_templates

    if spec is not None:
        return read_templates(*reachable(spec, folder, allow))
    if format not in formats():
        known = ", ".join(formats())
        raise UsageError("spec.invalid_value", f"there is no format {format!r}; use one of {known}")
    return packaged_templates(format)


def available_models(environ: Mapping[str, str] | None = None) -> AvailableModels:
    """Return which models can be used here, and what the others lack.

    `environ` are the variables to look in, by default those of the process; none
    of their values is shown. No server is asked. Never raises.

    >>> [row.name for row in available_models({}).providers if row.usable][:2]
    ['scripted', 'recorded']
    """
    from hansard.runtime.available import available

    return available(os.environ if environ is None else environ)
