"""Reading what a user wrote: a spec, and the files it names.

Every mistake is a UsageError `spec.*` whose sentence says what to mend and
where. Nothing is written before all of it has been read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from hashlib import sha256
from importlib.resources import files as resources
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from hansard.errors import UsageError
from hansard.rules.formats import DEFAULT, FORMATS, SPECS, AnySpec
from hansard.rules.prompts import quote
from hansard.rules.spec_gate import SingleAnswer
from hansard.rules.spec_parts import Advocate, Evidence, OwnPath, Seat
from hansard.runtime import documents
from hansard.runtime.documents import Admitted
from hansard.runtime.files import Files, check_size, decoded, read_own, slip
from hansard.runtime.notation import parse
from hansard.verify.checks import MAX_DOCUMENTS, MAX_ORIGINALS

_SHARED = ("block", "again", "synthesizer")
MOST_FIELDS = 100  # of a template: each may stand for the names of a hundred options
MOST_BLOCK = 16 << 10  # bytes of the template before each text: a prompt has it a thousand times
_FIELD = re.compile(r"\{\{([^{}]*)\}\}")  # one way to match: linear in any template
# What pydantic calls its own wrappers and the kinds of a union; no field has such a name.
_INNER = re.compile(r"^function-|\[.*\]$")
_MOST_SIGNS = re.compile(r"\{1,([0-9]+)\}\$$")
MOST_MISTAKES = 10  # of a spec, that are told at once
MOST_QUOTED = 2 * MAX_DOCUMENTS  # bytes: a control character has eight where it is spelled out
_MOST_COUNTED = 10_000  # documents of which the process keeps how long prompts show them
_quoted = dict[bytes, int]()
M = TypeVar("M", bound=BaseModel)

_CODES = {
    "extra_forbidden": ("spec.unknown_field", "unknown field"),
    "missing": ("spec.missing_field", "this field is required"),
    "too_short": ("spec.too_few", "list at least {min_length}, not {actual_length}"),
    "too_long": ("spec.too_many", "list at most {max_length}, not {actual_length}"),
    "greater_than": ("spec.out_of_range", "this must be more than {gt}"),
    "greater_than_equal": ("spec.out_of_range", "this must be at least {ge}"),
    "less_than": ("spec.out_of_range", "this must be less than {lt}"),
    "less_than_equal": ("spec.out_of_range", "this must be at most {le}"),
}
_WRONG = {  # each `spec.invalid_value`
    "string_type": "this must be text; in a file, put it in quotes",
    "string_unicode": "this is not Unicode: write it in UTF-8",
    "string_too_short": "this is too short: write {min_length} or more characters",
    "string_too_long": "this is too long: write at most {max_length} characters",
    "literal_error": "this must be {expected}",
    **dict.fromkeys(
        ("int_type", "int_parsing", "int_from_float"), "this must be a whole number, such as 2"
    ),
    **dict.fromkeys(("float_type", "float_parsing"), "this must be a number, such as 0.5"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "this must be true or false"),
    "list_type": "this must be a list, such as [one, two]",
    **dict.fromkeys(("dict_type", "model_type"), "this must be fields with their values"),
}


def read_fields(path: Path, folder: Path | None = None) -> object:
    """Return what the YAML or JSON file of a spec holds; files it names are not read yet."""
    return parse(decoded(read_own(path, folder), path, "spec.unreadable"), path.name)


def parse_spec(value: object, where: str, given: Mapping[str, object] | None = None) -> AnySpec:
    """Return `value` as the spec of the format that it names, or of the default one.

    `given` are fields that stand in place of those of `value`.
    """
    name = value.get("format", DEFAULT) if isinstance(value, dict) else DEFAULT
    if not isinstance(name, str) or name not in SPECS:
        known = ", ".join(SPECS)
        raise UsageError(
            "spec.invalid_value",
            f"{where}: format: unknown format {name!r:.64}; use one of {known}",
        )
    whole = {**value, **given} if given and isinstance(value, dict) else value
    return cast(AnySpec, validate(SPECS[name], whole, where, given=given or {}))


def validate(
    model: type[M],
    value: object,
    where: str,
    *,
    quoting: bool = True,
    given: Collection[str] = (),
) -> M:
    """Return `value` as `model`, or raise UsageError naming every field to mend.

    Without `quoting` the name of an unknown field is not shown, nor any long name: the value
    is of a file that a spec names, which may be another file than it says. The fields
    `given` do not come from `where`, but from the caller.
    """
    if not isinstance(value, dict):
        raise UsageError(
            "spec.yaml", f"{where}: expected a mapping, with `field: value` on each line"
        )
    try:
        return model.model_validate(value)
    except ValidationError as error:
        rows = error.errors(include_url=False, include_input=False)
        rows += _hidden(model, value, rows)
        raise _mistakes(rows, where, model, quoting=quoting, given=given) from None


def _hidden(
    model: type[BaseModel], value: Mapping[str, object], rows: Sequence[ErrorDetails]
) -> list[ErrorDetails]:
    """Return the mistakes between fields, which are not looked for while a field itself is wrong.

    Only where no field that is wrong could matter to them.
    """
    wrong = {str(row["loc"][0]) for row in rows if row["loc"]}
    matter = model.model_fields.keys() - getattr(model, "APART", frozenset())
    if not wrong or wrong & matter:
        return []
    try:
        model.model_validate({name: value[name] for name in value.keys() - wrong})
    except ValidationError as error:
        return error.errors(include_url=False, include_input=False)
    return []


def _mistakes(
    rows: list[ErrorDetails],
    where: str,
    model: type[BaseModel],
    *,
    quoting: bool,
    given: Collection[str],
) -> UsageError:
    """Return what is wrong: as many mistakes as people read at once, and how many more."""
    # A name that does not exist explains why another one is missing.
    rows.sort(key=lambda found: found["type"] != "extra_forbidden")
    places = ["" if row["loc"][:1] and row["loc"][0] in given else f"{where}: " for row in rows]
    told = [
        _mistake(row, place, model, quoting=quoting)
        for row, place in zip(rows[:MOST_MISTAKES], places, strict=False)
    ]
    code, sentence = told[-1]
    if len(rows) > MOST_MISTAKES:
        told[-1] = code, f"{sentence} (and {len(rows) - MOST_MISTAKES} more)"
    told = list(dict.fromkeys(told))  # a field that can be of two kinds is of neither
    return UsageError(*told[0], [UsageError(*each) for each in told[1:]])


def _mistake(
    row: ErrorDetails, place: str, model: type[BaseModel], *, quoting: bool
) -> tuple[str, str]:
    """Return the code and the sentence of one mistake."""
    code, sentence = _CODES.get(row["type"], ("spec.invalid_value", _WRONG.get(row["type"])))
    if sentence:
        sentence = sentence.format_map(row.get("ctx", {}))
    if row["type"].startswith("spec."):
        code = row["type"]
    is_unknown = row["type"] == "extra_forbidden"
    shown = row["loc"][:-1] if is_unknown and not quoting else row["loc"]
    parts = [str(part) for part in shown if not _INNER.search(str(part))]
    field = ".".join(parts if quoting else map(slip, parts))
    if is_unknown:
        sentence = _unknown(row["loc"], model)
    kinds = _at(model, row["loc"])
    if row["type"] in ("dict_type", "model_type") and any(issubclass(kind, Seat) for kind in kinds):
        argued = any(issubclass(kind, Advocate) for kind in kinds)
        example = "label: NAME, stance: TEXT" if argued else "id: NAME"
        sentence = f"a seat has fields, such as {{{example}}}"
    if parts == ["output_schema"]:
        sentence = "this must be a JSON Schema, the name of its file, or a pydantic class"
    if row["type"] == "string_pattern_mismatch":
        sentence = _pattern(row["ctx"]["pattern"])
    named = f"{field}: " if field else ""
    return code, f"{place}{named}{sentence or row['msg']}"


def _pattern(pattern: str) -> str:
    """Return what is said of a text that does not fit a pattern: that of a name, or a decimal's."""
    if "A-Z" not in pattern:
        return 'write a decimal such as "2.50"'
    most = _MOST_SIGNS.search(pattern)
    signs = "use letters, digits and ._:/@+=- only"
    return f"{signs}, at most {most[1]} of them" if most else signs


def _unknown(where: Sequence[int | str], model: type[BaseModel]) -> str:
    """Return what is said of a field that does not exist: which one may have been meant."""
    name, holders = str(where[-1]), _at(model, where[:-1])
    known = list(dict.fromkeys(field for holder in holders for field in holder.model_fields))
    close = get_close_matches(name, known, 1)
    if close:
        return f"unknown field; did you mean {close[0]}?"
    if len(where) > 1:
        return f"unknown field; use {', '.join(known)}" if known else "unknown field"
    others = [each for each, spec in SPECS.items() if name in spec.model_fields]
    if not others or model not in SPECS.values():
        return "unknown field"
    own = next(each for each, spec in SPECS.items() if spec is model)
    have = f"{' and '.join(others)} {'has' if len(others) == 1 else 'have'} it"
    return f"unknown field; {have}, {own} has not: is `format` right?"


def _at(model: type[BaseModel], where: Sequence[int | str]) -> tuple[type[BaseModel], ...]:
    """Return the classes that can stand at a place of a model; none where anything can."""
    found: tuple[type[BaseModel], ...] = (model,)
    for part in where:
        if isinstance(part, str):
            fields = [row.model_fields[part] for row in found if part in row.model_fields]
            if fields:
                found = tuple(kind for field in fields for kind in _models(field.annotation))
    return found


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that an annotation is made of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)


def names_texts(spec: AnySpec) -> bool:
    """Say whether the spec names any file for `read_texts`, which may take its time to read."""
    answer = spec.gate.answer if spec.gate else None
    return bool(answer and answer.file) or any(row.file is not None for row in spec.evidence)


def read_texts(spec: AnySpec, files: Files) -> AnySpec:
    """Return the spec with the text of every file that stands for one: documents, an answer."""
    spec, gate = read_evidence(spec, files), spec.gate
    if gate is None or gate.answer is None:
        return spec
    text, file = gate.answer.text, gate.answer.file
    if file is not None:
        text = files.text(file, "answer", "spec.gate_answer")
        if not text.strip():
            raise UsageError("spec.gate_answer", f"the answer in {file} is empty; give it a text")
    check_size((text or "").encode(), "the answer of the gate", "answer")
    asked = gate.model_copy(update={"answer": SingleAnswer(text=text)})
    return spec.model_copy(update={"gate": asked})


def read_evidence(spec: AnySpec, files: Files) -> AnySpec:
    """Return the spec with every document's text in place of its file, each within its bounds.

    A file that is no text is kept beside it while there is room for those of a debate.
    """
    found, room = list[Evidence](), MAX_ORIGINALS
    until = documents.now() + documents.MOST_TOGETHER
    for document in spec.evidence:
        read = _read_document(document, files, room, until)
        if isinstance(read, Admitted) and read.taken and read.taken.original:
            room -= len(read.taken.original)
        found.append(read)
    size = sum(len((document.text or "").encode()) for document in found)
    if size > MAX_DOCUMENTS:
        raise UsageError(
            "spec.file_size", f"the documents have more than {MAX_DOCUMENTS:,} bytes together"
        )
    if sum(_quoted_bytes(document.text or "") for document in found) > MOST_QUOTED:
        raise UsageError(
            "spec.file_size",
            f"the documents have more than {MOST_QUOTED:,} bytes together as prompts show them, "
            "where control characters are spelled out; give them without those",
        )
    return spec.model_copy(update={"evidence": found})


def _quoted_bytes(text: str) -> int:
    """Return how many bytes a document has as prompts show it.

    To spell out control characters takes long, and a thousand rows may be about one document.
    """
    name = sha256(text.encode()).digest()
    size = _quoted.get(name)
    if size is None:
        size = len(quote(text).encode())
        if len(_quoted) >= _MOST_COUNTED:
            _quoted.clear()  # another thread may ask for one at this moment
        _quoted[name] = size
    return size


def _read_document(document: Evidence, files: Files, room: int, until: float) -> Evidence:
    file = document.file
    if file is not None:
        data = files.read(file, "file", "spec.evidence_missing")
        kind = documents.kind_of(data, file)
        text, taken = "", None
        if kind is None:
            text = _text_in(data, file)
        else:
            most = room if document.keep_original else 0
            text, taken = documents.read(data, file, kind, most=most, until=until)
        if not text.strip():
            raise UsageError("spec.evidence_empty", f"evidence {file} is empty; give it a text")
        document = Admitted(id=document.id, text=text, from_round=document.from_round, taken=taken)
    # Not the file but the text: in NFC it can be longer.
    check_size((document.text or "").encode(), f"evidence {document.id}", "document")
    return document


def _text_in(data: bytes, file: str | OwnPath) -> str:
    check_size(data, file, "document")
    try:
        return decoded(data, file, "spec.evidence_encoding")
    except UsageError:
        raise documents.refused("encoding", file) from None


@cache
def packaged(name: str) -> bytes:
    """Return the packaged template `name` (`consensus/debater`), as UTF-8 bytes."""
    return (resources("hansard.rules") / "prompts" / f"{name}.md").read_bytes()


def packaged_templates(format_: str) -> dict[str, bytes]:
    """Return the bytes of each packaged template of a format, by role."""
    return {
        role: packaged(f"shared/{role}" if role in _SHARED else f"{format_}/{role}")
        for role in FORMATS[format_].templates
    }


def read_templates(spec: AnySpec, files: Files) -> dict[str, bytes]:
    """Return the bytes of each template by role: the user's own, or the packaged one."""
    fields, found = spec.TEMPLATES, packaged_templates(spec.format)
    for role, words in spec.replaced():
        # The last paragraph of a template says how to reply, which stays as it is.
        how = found[role].decode().rstrip("\n").rpartition("\n\n")[2]
        found[role] = f"\n{words.strip()}\n\n{how}\n".encode()
    for role, file in spec.prompts.items():
        text = files.text(file, "template", "spec.prompt_missing")
        named = (name.strip(" ") for name in _FIELD.findall(text))
        unknown = [name for name in named if name not in fields[role]]
        if unknown or not text.strip():
            what = f"names {_told(unknown[0])}, which is never filled in" if unknown else "is empty"
            known = ", ".join(f"{{{{{name}}}}}" for name in fields[role])
            raise UsageError("spec.prompt", f"{file} {what}; a {role} template may hold {known}")
        found[role] = text.encode()
    for role, template in found.items():
        check_short(role, template.decode(), fields[role])
    return found


def check_short(role: str, template: str, fields: Collection[str]) -> None:
    """Refuse a template that, filled in, would take memory without bound: `spec.prompt`."""
    if sum(found[1] in fields for found in _FIELD.finditer(template)) > MOST_FIELDS:
        said = f"a {role} template has at most {MOST_FIELDS} fields; use each a few times"
        raise UsageError("spec.prompt", said)
    if role == "block" and len(template.encode()) > MOST_BLOCK:
        said = f"a block template has at most {MOST_BLOCK:,} bytes: it stands before each text"
        raise UsageError("spec.prompt", said)


def _told(name: str) -> str:
    """Return how an error names a field of a template: a slip is shown, any other text is not."""
    return f"{{{{{name}}}}}" if re.fullmatch("[a-z_]{1,32}", name) else "a field"
