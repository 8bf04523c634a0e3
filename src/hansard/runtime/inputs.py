"""Reading what a user wrote: a spec, and the files it names.

Every mistake is a UsageError `spec.*` whose sentence says what to mend and
where. Nothing is written before all of it has been read.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar, cast

import yaml
from pydantic import BaseModel, ValidationError

from hansard.errors import UsageError
from hansard.rules.formats import DEFAULT, FORMATS, SPECS, AnySpec
from hansard.rules.spec_parts import Evidence

_SHARED = ("block", "again", "synthesizer")
MAX_FILE = 4_000_000
_FIELD = re.compile(r"\{\{ *([^{}]*?) *\}\}")
M = TypeVar("M", bound=BaseModel)

_CODES = {
    "extra_forbidden": ("spec.unknown_field", "unknown field"),
    "missing": ("spec.missing_field", "this field is required"),
    "string_type": ("spec.invalid_value", "this must be text; put it in quotes"),
    "too_short": ("spec.too_few", None),
    "too_long": ("spec.too_many", None),
    "greater_than": ("spec.out_of_range", None),
    "greater_than_equal": ("spec.out_of_range", None),
    "less_than": ("spec.out_of_range", None),
    "less_than_equal": ("spec.out_of_range", None),
}


class _Loader(yaml.SafeLoader):
    """YAML 1.2's plain words: `yes`, `no` and dates stay text; no key stands twice."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, (str, int)) or key in seen:
                problem = f"the key {key!r} is given twice, or is not a name"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [row for row in rows if row[0].rpartition(":")[2] not in ("bool", "timestamp")]
    for first, rows in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(true|false)$"), list("tf"))


def load_spec(path: Path) -> AnySpec:
    """Read a spec from a YAML or JSON file; files it names are not read yet."""
    return parse_spec(load_yaml(path), path.name)


def parse_spec(value: object, where: str) -> AnySpec:
    """Return `value` as the spec of the format that it names, or of the default one."""
    name = value.get("format", DEFAULT) if isinstance(value, dict) else DEFAULT
    if not isinstance(name, str) or name not in SPECS:
        known = ", ".join(SPECS)
        raise UsageError(
            "spec.invalid_value",
            f"{where}: format: unknown format {name!r:.64}; use one of {known}",
        )
    return cast(AnySpec, validate(SPECS[name], value, where))


def load_yaml(path: Path) -> object:
    """Return what a YAML or JSON file holds."""
    text = read_text(path, "spec.unreadable")
    try:
        value = yaml.load(text, _Loader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        where, what = path.name, "it nests too deeply"
        if isinstance(error, ValueError):
            what = "it holds a number that cannot be read"
        if isinstance(error, yaml.YAMLError):
            mark = getattr(error, "problem_mark", None)
            where = f"{path.name}, line {mark.line + 1}" if mark else path.name
            what = getattr(error, "problem", None) or "it is not valid YAML"
        raise UsageError("spec.yaml", f"{where}: {what}") from None
    return _bounded(value, path.name)


def _bounded(value: object, where: str) -> object:
    """Return a value that has no more parts than a file without aliases could have."""
    left, parts = [value], 0
    while left:
        part = left.pop()
        inner: Collection[object] = ()
        if isinstance(part, dict):
            inner = part.values()
        elif isinstance(part, list):
            inner = part
        parts += len(inner)
        if parts > MAX_FILE:  # before they are taken in: a list may hold itself many times
            raise UsageError(
                "spec.yaml", f"{where}: its aliases expand to more than {MAX_FILE:,} values"
            )
        left += inner
    return value


def validate(model: type[M], value: object, where: str) -> M:
    """Return `value` as `model`, or raise UsageError naming the first field to mend."""
    if not isinstance(value, dict):
        raise UsageError(
            "spec.yaml", f"{where}: expected a mapping, with `field: value` on each line"
        )
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise _first(error, where, model) from None


def _first(error: ValidationError, where: str, model: type[BaseModel]) -> UsageError:
    rows = error.errors(include_url=False, include_input=False)
    # A name that does not exist explains why another one is missing.
    row = min(rows, key=lambda found: found["type"] != "extra_forbidden")
    code, sentence = _CODES.get(row["type"], ("spec.invalid_value", None))
    if row["type"].startswith("spec."):
        code = row["type"]
    field = ".".join(str(part) for part in row["loc"] if part != "function-before")
    if row["type"] == "extra_forbidden":
        close = get_close_matches(str(row["loc"][-1]), model.model_fields, 1)
        sentence = f"{sentence}; did you mean {close[0]}?" if close else sentence
    if row["type"] == "string_pattern_mismatch":
        is_id = "A-Z" in row["ctx"]["pattern"]
        sentence = (
            "use letters, digits and ._:/@+=- only" if is_id else 'write a decimal such as "2.50"'
        )
    more = f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""
    place = f"{where}: {field}: " if field else f"{where}: "
    return UsageError(code, f"{place}{sentence or row['msg']}{more}")


def read_text(path: Path, code: str) -> str:
    """Return a UTF-8 file's text with LF line ends; UsageError `code` where it cannot be read."""
    try:
        small = path.stat().st_size <= MAX_FILE
        text = path.read_text(encoding="utf-8-sig") if small else ""
    except FileNotFoundError:
        raise UsageError(code, f"there is no file {path}") from None
    except UnicodeDecodeError:
        raise UsageError(code, f"{path} is not UTF-8 text") from None
    except ValueError:
        raise UsageError(code, f"{str(path)!r} is not a valid file name") from None
    except OSError as error:
        raise UsageError(code, f"{path} cannot be read: {error.strerror}") from None
    if not small:
        raise UsageError(code, f"{path} is larger than {MAX_FILE:,} bytes")
    return text


def read_evidence(spec: AnySpec, folder: Path) -> AnySpec:
    """Return the spec with every document's text in place of its file."""
    documents = []
    for document in spec.evidence:
        if document.file is None:
            documents.append(document)
            continue
        text = read_text(folder / document.file, "spec.evidence_missing")
        if not text.strip():
            raise UsageError(
                "spec.evidence_empty", f"evidence {document.file} is empty; give it a text"
            )
        documents.append(Evidence(id=document.id, text=text, from_round=document.from_round))
    return spec.model_copy(update={"evidence": documents})


@cache
def packaged(name: str) -> bytes:
    """Return the packaged template `name` (`consensus/debater`), as UTF-8 bytes."""
    return (files("hansard.rules") / "prompts" / f"{name}.md").read_bytes()


def packaged_templates(format_: str) -> dict[str, bytes]:
    """Return the bytes of each packaged template of a format, by role."""
    return {
        role: packaged(f"shared/{role}" if role in _SHARED else f"{format_}/{role}")
        for role in FORMATS[format_].templates
    }


def read_templates(spec: AnySpec, folder: Path) -> dict[str, bytes]:
    """Return the bytes of each template by role: the user's own, or the packaged one."""
    fields, found = spec.TEMPLATES, packaged_templates(spec.format)
    for role, words in spec.replaced():
        # The last paragraph of a template says how to reply, which stays as it is.
        how = found[role].decode().rstrip("\n").rpartition("\n\n")[2]
        found[role] = f"\n{words.strip()}\n\n{how}\n".encode()
    for role, file in spec.prompts.items():
        text = read_text(folder / file, "spec.prompt_missing")
        unknown = [name for name in _FIELD.findall(text) if name not in fields[role]]
        if unknown or not text.strip():
            what = (
                f"names {{{{{unknown[0]}}}}}, which is never filled in" if unknown else "is empty"
            )
            known = ", ".join(f"{{{{{name}}}}}" for name in fields[role])
            raise UsageError("spec.prompt", f"{file} {what}; a {role} template may hold {known}")
        found[role] = text.encode()
    return found
