"""The pieces of a spec: prices, settings, seats, documents, ceilings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal as Exact
from typing import (
    Annotated,
    Any,
    ClassVar,
    NamedTuple,
    NoReturn,
    Protocol,
    Self,
    TypeVar,
    get_args,
    runtime_checkable,
)

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    GetPydanticSchema,
    PlainSerializer,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
    model_validator,
)
from pydantic.config import JsonDict, JsonValue
from pydantic_core import PydanticCustomError, PydanticKnownError

from hansard.closed import Closed
from hansard.record.note import KEY_NAME
from hansard.rules.composed import composed
from hansard.rules.fields import Decimal, KeyName, Name, Structured, Url
from hansard.rules.looks import unlike
from hansard.rules.model_names import known_model
from hansard.rules.own import MODEL, ModelName, Own
from hansard.rules.replies import VISIBLE
from hansard.rules.similarity import fold
from hansard.rules.terms import ABSTAIN, UNDECLARED, Role

LONGEST_TEXT = 4_000_000  # characters of one text of a spec
Text = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]
MOST_NAMED = 1000  # models, prices or files that a spec gives by name
NAME = re.compile(r"[A-Za-z0-9._:/@+=-]{1,64}").fullmatch
MOST_OF_A_NAME = 200  # characters
A_NAME = f"a name is 1 to {MOST_OF_A_NAME} characters on one line"
Mistakes = Iterator[PydanticCustomError]  # of fields that do not agree with each other
NUMBERED = re.compile(r"stance_([1-9][0-9]*)").fullmatch  # the label of one given in words alone


class Strict(Closed):
    """Fields that are named, and no others; frozen once they are validated.

    `APART` are those that no rule between fields reads: what is wrong with one of them
    hides no mistake between others.
    """

    APART: ClassVar[frozenset[str]] = frozenset()

    @field_validator("*", mode="before")
    @classmethod
    def _as_it_looks(cls, value: object, info: ValidationInfo) -> object:
        """Refuse `"2"`, 2.0 and `true` for a count: pydantic would read them as numbers.

        A `Decimal` is none either: of `Decimal("1E+999999999")` it would write all digits.
        """
        wanted = cls.model_fields[info.field_name or ""].annotation
        kinds = {int, float, bool} & {wanted, *get_args(wanted)}
        looks = (bool, int, float, str) if float in kinds else (bool, int, float, str, Exact)
        if kinds and isinstance(value, looks) and (said := unlike(value, kinds)):
            refuse("spec.invalid_value", said)
        return value


def _counted(value: object) -> object:
    """Refuse too many before any is looked at: pydantic counts fields once it has read them."""
    if isinstance(value, dict) and len(value) > MOST_NAMED:
        told = {"field_type": "Dictionary", "max_length": MOST_NAMED, "actual_length": len(value)}
        raise PydanticKnownError("too_long", told)
    return value


_K = TypeVar("_K")
_V = TypeVar("_V")
Named = Annotated[dict[_K, _V], Field(max_length=MOST_NAMED), BeforeValidator(_counted)]


def mistake(code: str, sentence: str) -> PydanticCustomError:
    """Return a mistake of a spec, in a sentence that says what is wrong and what to do about it."""
    return PydanticCustomError(code, "{sentence}", {"sentence": sentence})


def refuse(code: str, sentence: str) -> NoReturn:
    """Refuse a value in a sentence that says what is wrong and what to do about it."""
    raise mistake(code, sentence)


def unique(what: str, names: list[str]) -> Mistakes:
    """Yield a mistake for each name that stands twice."""
    for name, times in Counter(names).items():
        if times > 1:
            yield mistake(
                "spec.duplicate", f"{what} {name} appears more than once; each must be unique"
            )


def apart(what: str, names: list[str]) -> Mistakes:
    """Yield one for each that stands twice, or that only upper and lower case tell from another."""
    yield from unique(what, names)
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            yield mistake(
                "spec.duplicate",
                f"{what} {other} and {what} {name} differ only in upper and lower case; rename one",
            )


def between_options(options: list[str]) -> Mistakes:
    """Yield one for an option that is alone, is like another, or is another thing's word."""
    if len(options) == 1:
        said = f"`options` lists only {options[0]}; list two or more, or none"
        yield mistake("spec.too_few", said)
    yield from apart("option", options)
    meant = {
        ABSTAIN: "silence is counted under that word",
        UNDECLARED: "it is the decision where a judge names nothing that was declared",
    }
    for option in options:
        if why := meant.get(option):
            said = f"{option!r} cannot be an option: {why}; choose another"
            yield mistake("spec.option", said)


@runtime_checkable
class OwnPath(Protocol):
    """A `pathlib.Path`, from Python: the caller's own, and no name that a spec's author chose."""

    def __fspath__(self) -> str:
        """Return it as text."""


def _or_own(value: object, read: ValidatorFunctionWrapHandler) -> object:
    return value if isinstance(value, OwnPath) else read(value)


_AS_TEXT = Annotated[
    str,
    Field(min_length=1, max_length=1024),
    WrapValidator(_or_own),
    PlainSerializer(str, return_type=str),
]
FileName = Annotated[str | OwnPath, GetPydanticSchema(lambda _, schema: schema(_AS_TEXT))]


class PriceSpec(Strict):
    """A price in US dollars per million tokens, as decimal text ("2.50")."""

    input: str = Field(pattern=r"^[0-9]{1,6}(\.[0-9]{1,6})?$")
    output: str = Field(pattern=r"^[0-9]{1,6}(\.[0-9]{1,6})?$")
    cached: str | None = Field(default=None, pattern=r"^[0-9]{1,6}(\.[0-9]{1,6})?$")
    cache_write: str | None = Field(default=None, pattern=r"^[0-9]{1,6}(\.[0-9]{1,6})?$")


def _or_number(schema: JsonDict) -> None:
    """Say in the published schema that a decimal may also be written as a number."""
    text = dict(schema)
    schema.clear()
    schema["anyOf"] = [text, {"type": "number", "minimum": 0, "maximum": 999_999_999}]


Number = Annotated[Decimal, Field(json_schema_extra=_or_number)]
Dollars = Annotated[
    str, Field(pattern=r"^[0-9]{1,6}(\.[0-9]{1,6})?$", json_schema_extra=_or_number)
]


class Settings(Strict):
    """What a model is asked to keep to; decimals as text, recorded as written."""

    temperature: Number | None = Field(
        default=None, description="As the provider takes it, such as 0.7"
    )
    top_p: Number | None = Field(default=None, description="As the provider takes it, from 0 to 1")
    seed: int | None = Field(
        default=None, ge=0, le=(1 << 53) - 1, description="Where the provider takes one"
    )
    max_tokens: int | None = Field(
        default=None, ge=1, le=10**9, description="The most that one reply may have"
    )
    reasoning_effort: Name | None = Field(
        default=None, description="In the provider's own word, such as low"
    )
    structured: Structured | None = Field(
        default=None,
        description="How JSON is asked for: by the server's own schema mode, as a tool call, or "
        "in the prompt alone; default: the first that the provider has",
    )
    base_url: Url | None = Field(
        default=None, description="The server, as in http://localhost:8000/v1; it is recorded"
    )

    @field_validator("temperature", "top_p", mode="before")
    @classmethod
    def _as_written(cls, value: object) -> object:
        """YAML reads 0.7 as a number; its shortest spelling is what the user wrote."""
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return str(value) if is_number else value

    def but(self, other: Settings) -> Settings:
        """Return these settings, with what `other` says in their place."""
        return self.model_copy(
            update={name: getattr(other, name) for name in other.model_fields_set}
        )


def _or_model_name(schema: JsonDict) -> None:
    """Say in the published schema that a model's name alone will do."""
    row: JsonDict = {**schema}
    schema.clear()
    schema["anyOf"] = [{"type": "string", "pattern": MODEL}, row]


class Alias(Strict):
    """What a short name stands for: a model's name, or a model with its settings."""

    model_config = ConfigDict(json_schema_extra=_or_model_name)

    model: str = Field(description="provider:name", pattern=MODEL)
    settings: Settings = Settings()

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: object) -> object:
        return {"model": value} if isinstance(value, str) else value

    @field_validator("model")
    @classmethod
    def _known(cls, value: str) -> str:
        return known_model(value)


class Seat(Strict):
    """Who fills a role: which model answers, from which point of view, with which settings."""

    id: Name | None = Field(default=None, description="Default: the role's name")
    model: ModelName | None = Field(
        default=None,
        description="provider:name, as in openai:<model>, anthropic:<model>, "
        "scripted:replies.yaml, recorded:<debate>, python:<name>, custom:<name>, or a name from "
        "`models`; default: the debate's `model`. From Python also a function",
    )
    persona: Text | None = Field(default=None, description="Ignored in a seat that is custom:…")
    settings: Settings = Field(
        default=Settings(), description="In place of the debate's own, field by field"
    )


class Debater(Seat):
    """A seat at the table: who speaks, from which point of view, and which model answers."""

    id: Name = Field(description="Letters, digits and ._:/@+=- only; speaks in the order listed")


def _or_null(value: object, read: ValidatorFunctionWrapHandler) -> object:
    return "" if value is None else read(value)


class Advocate(Seat):
    """A seat that argues a stance which it was given."""

    id: Name | None = Field(default=None, description="Default: the stance's label")
    stance: Text = Field(description="The position that is argued, in words")
    label: Annotated[Name, WrapValidator(_or_null)] = Field(
        default="", description="Default: stance_1, stance_2, … by its place in the list"
    )

    @field_validator("stance")
    @classmethod
    def _says_something(cls, value: str) -> str:
        if not VISIBLE(value):
            refuse("spec.stance", "a stance must say something; write the position in words")
        return value


def _numbered(rows: list[Advocate]) -> list[Advocate]:
    """Give each stance that has no label one by its place.

    A label made from the words would put them into the chain, where nothing can be erased.
    """
    return [
        row if row.label else row.model_copy(update={"label": f"stance_{place}"})
        for place, row in enumerate(rows, 1)
    ]


Advocates = Annotated[list[Advocate], AfterValidator(_numbered)]


def between_stances(rows: list[Advocate]) -> Mistakes:
    """Yield one for each stance that cannot be told from another, by its label or its words."""
    yield from apart("stance label", [row.label for row in rows])
    labels, said = {row.label for row in rows}, dict[str, str]()
    for place, row in enumerate(rows, 1):
        kept = NUMBERED(row.label)
        if kept and row.label != f"stance_{place}":
            yield mistake(
                "spec.label",
                f"stance {place} cannot be labelled {row.label}: that is what stance {kept[1]} is "
                "called where it has no label; choose another",
            )
        words = fold(row.stance)
        first = said.setdefault(words, row.label)
        if first != row.label:
            yield mistake(
                "spec.duplicate",
                f"stances {first} and {row.label} say the same; change or drop one",
            )
        if words in labels - {row.label}:
            yield mistake(
                "spec.label",
                f"the words of stance {row.label} are the label of another; change one of the two",
            )


class Seated(NamedTuple):
    """One row of the table: a role, and who fills it; `own` is the function that does."""

    role: Role
    id: str
    model: str
    persona: str | None
    settings: Settings
    stance: Advocate | None = None
    own: Own | None = None


def person_name(text: str) -> str | None:
    """Return the name of a person without white space around it; None for what is none.

    >>> person_name(" Ann Lee "), person_name(" ")
    ('Ann Lee', None)
    """
    name = text.strip()
    fits = len(name) <= MOST_OF_A_NAME and name.isprintable() and VISIBLE(name)
    return name if fits else None


def _or_name(schema: JsonDict) -> None:
    """Say in the published schema that a person's name alone will do."""
    row: JsonDict = {**schema}
    schema.clear()
    schema["anyOf"] = [{"type": "string", "minLength": 1, "maxLength": MOST_OF_A_NAME}, row]


class Person(Strict):
    """A person: the name alone, or with the name of the key that they sign with."""

    model_config = ConfigDict(json_schema_extra=_or_name)

    name: str = Field(json_schema_extra={"minLength": 1, "maxLength": MOST_OF_A_NAME})
    key: KeyName | None = Field(default=None, description="As in acme/reviewer (`hansard keys`)")

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: object) -> object:
        return {"name": value} if isinstance(value, str) else value

    @field_validator("name")
    @classmethod
    def _one_line(cls, value: str) -> str:
        name = person_name(value)
        if name is None:
            refuse("spec.person", A_NAME)
        return name

    @field_validator("key", mode="before")
    @classmethod
    def _key_name(cls, value: object) -> object:
        if isinstance(value, str) and not KEY_NAME(value):
            refuse(
                "spec.key_name",
                "a key's name has 1 to 128 letters, digits and ._:/@=- only, as in acme/reviewer",
            )
        return value


class Ceilings(Strict):
    """What a debate may use at the most; tested before every call."""

    calls: int | None = Field(
        default=None, ge=1, le=10**9, description="Requests to models, retries among them"
    )
    tokens: int | None = Field(default=None, ge=1, le=10**12, description="In and out together")
    seconds: float | None = Field(default=None, gt=0, le=10**8, description="From the opening on")
    cost_usd: Dollars | None = Field(default=None, description="US dollars, as a decimal")

    @field_validator("cost_usd", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        """YAML reads 0.50 as a number."""
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return str(value) if is_number else value


def _or_file_name(schema: JsonDict) -> None:
    """Say in the published schema that a file's name alone will do, and that a text needs an id."""
    sources: JsonValue = [
        {"required": ["file"], "properties": {"file": {"type": "string"}}},
        {"required": ["text", "id"], "properties": {"text": {"type": "string"}}},
    ]
    row: JsonDict = {**schema, "oneOf": sources}
    schema.clear()
    schema["anyOf"] = [{"type": "string", "minLength": 1}, row]


_MOST_SHOWN = 256  # characters of a name that an error shows: nobody has looked at its length yet
# An address, also one whose slashes a `Path` has joined; no drive of Windows has two letters.
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(?:[^/?#]*@)?([^/?#]*)").match


def _shown(name: str) -> str:
    """Return a name as an error shows it, which can hold no half of a character."""
    return name[:_MOST_SHOWN].encode(errors="replace").decode()


def _no_address(name: str) -> None:
    """Refuse an address; its sentence names only the host, since the rest may hold a secret."""
    found = _ADDRESS(name)
    if found:
        raise PydanticCustomError(
            "spec.evidence_url",
            "{host} is an address, and nothing is fetched; save what it shows as a file, such as "
            "a PDF, and give that",
            {"host": _shown(f"{found[1]}://{found[2]}")},
        )


class Evidence(Strict):
    """A document: a file (named alone, or with an id and a round) or its text."""

    model_config = ConfigDict(json_schema_extra=_or_file_name)

    id: Name = Field(
        default_factory=str, validate_default=True, description="Default: the file's stem"
    )
    file: FileName | None = Field(
        default=None, description="Text in UTF-8 (such as Markdown), PDF or DOCX"
    )
    text: Text | None = Field(
        default=None, description="The document itself, in place of `file`; it needs an id"
    )
    from_round: int = Field(default=1, ge=1, description="The first round in which it is seen")
    keep_original: bool = Field(
        default=True, description="Whether a PDF or DOCX of up to 8 MiB is kept in the record"
    )

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: object) -> object:
        """Admit a file's name alone, and take the id from the name where it fits."""
        row = {"file": value} if isinstance(value, (str, OwnPath)) else value
        file = row.get("file") if isinstance(row, dict) else None
        if isinstance(file, (str, OwnPath)):
            _no_address(file if isinstance(file, str) else file.__fspath__())
        if isinstance(row, dict) and "id" not in row and isinstance(file, (str, OwnPath)):
            name = file if isinstance(file, str) else file.__fspath__()
            stem = name.rpartition("/")[2].partition(".")[0]
            if not NAME(stem):
                raise PydanticCustomError(
                    "spec.evidence_id",
                    "the file name {stem} cannot serve as an id; give the document an `id` with "
                    "letters, digits and ._:/@+=- only",
                    {"stem": _shown(stem)},
                )
            row = {**row, "id": stem}
        if isinstance(row, dict) and "id" not in row and "text" in row:
            raise PydanticCustomError(
                "spec.evidence_id", "a document that is given as text needs an `id`; add one"
            )
        return row

    @field_validator("text")
    @classmethod
    def _normalised(cls, value: str | None) -> str | None:
        """NFC, once, here: quotes are later looked up in exactly this text."""
        return value and composed(value)

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.file is None) == (self.text is None):
            raise PydanticCustomError(
                "spec.evidence_source", "a document needs either a `file` or a `text`, and not both"
            )
        return self
