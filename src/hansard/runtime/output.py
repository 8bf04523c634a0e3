"""Whether a deliverable fits the schema that the user gave for it (D 15)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from hansard.errors import UsageError
from hansard.installing import install_command
from hansard.rules import replies
from hansard.rules.formats import AnySpec
from hansard.rules.spec_parts import OwnPath
from hansard.runtime import fitting
from hansard.runtime.files import Files
from hansard.runtime.notation import parse

PLAIN = replies.members(synthesis=replies.words())  # what is asked for where no schema was given


def schema_bytes(spec: AnySpec, files: Files) -> bytes:
    """Return the bytes of what the synthesizer must write; raises UsageError `spec.*`."""
    schema: object = spec.output_schema
    if isinstance(schema, (str, OwnPath)):
        return _named(files.text(schema, "schema", "spec.unreadable"), str(schema))
    return encoded(PLAIN if schema is None else schema)


@lru_cache(maxsize=4)
def _named(text: str, name: str) -> bytes:
    """Return what a file of a schema says, which an evaluation asks for hundreds of times."""
    return encoded(parse(text, name))


def encoded(schema: object) -> bytes:
    """Return a schema as it is recorded and shown; raises UsageError where it is not JSON."""
    try:
        return as_json(schema)
    except (ValueError, TypeError, RecursionError):
        raise UsageError(
            "spec.output_schema", "an output_schema must be JSON: it holds another kind of value"
        ) from None


def as_json(value: object) -> bytes:
    """Return a document as it is kept with a record; raises what `json.dumps` raises."""
    return json.dumps(
        value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False
    ).encode()


def checker(schema: bytes) -> Callable[[str], bool]:
    """Return the test whether a reply fits `schema`; raises UsageError where it is not one.

    No reference in a schema is ever fetched.
    """
    value: Any = json.loads(schema)
    if value == PLAIN:
        return lambda text: replies.mismatch(replies.read(text), PLAIN) is None
    if not isinstance(value, Mapping):
        raise UsageError("spec.output_schema", "an output_schema must be a JSON object")
    if find_spec("jsonschema") is None:
        raise UsageError(
            "spec.missing_extra",
            f"an output_schema needs a package that is not installed: {install_command('schema')}",
        )
    found = _defect(schema)
    if found:
        raise UsageError("spec.output_schema", f"the output_schema {found}")

    def fits(text: str) -> bool:
        try:
            reply = replies.read(text)
        except replies.Unreadable:
            return False
        return fitting.fits(value, reply)

    return fits


@lru_cache(maxsize=16)
def _defect(schema: bytes) -> str | None:
    return fitting.defect(json.loads(schema))
