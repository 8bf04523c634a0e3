"""What the specs of all formats have: the question, documents, seats, ceilings, deliverable."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from inspect import signature
from typing import Annotated, Any, ClassVar, Self, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    JsonValue,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from hansard.rules.context import as_text
from hansard.rules.data import MOST_LABELS
from hansard.rules.fields import Layout, Name
from hansard.rules.model_names import has_server, known_model
from hansard.rules.own import ModelName, Own, name_of, names_of
from hansard.rules.similarity import fold
from hansard.rules.spec_gate import GateSpec
from hansard.rules.spec_parts import (
    LONGEST_TEXT,
    Advocate,
    Alias,
    Ceilings,
    Evidence,
    FileName,
    Mistakes,
    Named,
    Person,
    PriceSpec,
    Seat,
    Seated,
    Settings,
    Strict,
    Text,
    between_stances,
    mistake,
    refuse,
    unique,
)
from hansard.rules.terms import JUDGING, OUTCOMES, Role, Terms

PRIMARY: tuple[Role, ...] = (*JUDGING, "synthesizer")  # who decides; whoever argues is "sub"

MOST_DOCUMENTS = 1000


Instruct = Callable[[Mapping[str, Any], Any], str]  # of one seat in one round, and the context


def _takes_both(function: Callable[..., Any]) -> None:
    """Refuse a function for `instructions` that cannot be called with input and context."""
    try:
        signature(function).bind(None, None)
    except TypeError as error:
        refuse(
            "spec.instructions",
            f"`instructions` is the function {name_of(function)}, which cannot be called with "
            f"input and context: {error}",
        )
    except ValueError:  # some functions written in C tell nothing of themselves
        pass


def _admitted(context: JsonValue) -> JsonValue:
    """Return a context; refuses what no text of a record can be."""
    try:
        fits = context is None or 0 < len(as_text(context)) <= LONGEST_TEXT
    except (ValueError, RecursionError):
        fits = False
    if not fits:
        refuse(
            "spec.context",
            f"`context` is words or another JSON value, of 1 to {LONGEST_TEXT:,} characters",
        )
    return context


class BaseSpec(Strict):
    """What every format has.

    `TEMPLATES` are the prompt templates of a format by role, each with the names
    of what is filled in (FORMAT.md §7), `TAKEN` what no seat and no stance may be
    called, `COST_CEILING` the ceiling in micro-US-dollars where none is stated,
    `FIRST_ROUND` the number of the first round.
    """

    TEMPLATES: ClassVar[Mapping[str, tuple[str, ...]]]
    TAKEN: ClassVar[frozenset[str]] = OUTCOMES
    COST_CEILING: ClassVar[int | None] = None
    FIRST_ROUND: ClassVar[int] = 1
    APART: ClassVar[frozenset[str]] = frozenset(
        {
            "name", "collection_id", "task_type", "requester", "owner", "retention", "context",
            "gate", "instructions", "tool_rounds", "limits", "seed", "review", "attempts",
            "timeout_seconds", "retry_seconds", "layout", "leading_call", "agent_types",
        }
    )  # fmt: skip

    format: str

    question: Text = Field(description="What is debated")
    name: Name | None = Field(default=None, description="Recorded with the debate")
    collection_id: Name | None = Field(default=None, description="Default: the name")
    task_type: Name | None = Field(
        default=None, description="What kind of question this is, as in contract or security"
    )
    requester: Person | None = Field(default=None, description="Who asks")
    owner: Person | None = Field(default=None, description="Who answers for the result")
    labels: list[Name] = Field(
        default=[], max_length=MOST_LABELS, description="Recorded in alphabetical order"
    )
    retention: Name | None = Field(
        default=None, description="The class that says how long the record is kept"
    )
    gate: GateSpec | None = Field(
        default=None, description="What decides whether this question is worth a debate"
    )
    model: ModelName | None = Field(
        default=None, description="Answers in every seat that names no other"
    )
    settings: Settings = Field(
        default=Settings(), description="Of every seat that does not say otherwise"
    )
    models: Named[Name, Alias] = Field(
        default={}, description="Short names for models and their settings, for this debate"
    )
    evidence: list[Evidence] = Field(
        default=[],
        max_length=MOST_DOCUMENTS,
        description="Documents that everybody sees, quoted and cited by their ids",
    )
    context: Annotated[JsonValue, AfterValidator(_admitted)] = Field(
        default=None,
        description="Background, for built-in roles only; a moderator sees none. Words, or any "
        "JSON value, which is shown as JSON",
    )
    instructions: Text | None = Field(
        default=None,
        description="Added to what every built-in role is told; from Python also a function of "
        "the input (which seat, in which round) and the context",
    )
    synthesizer: Seat | bool | None = Field(
        default=None,
        description="Who writes the final deliverable; default: the debate's model where there "
        "is an output_schema, else nobody",
    )
    output_schema: dict[str, Any] | FileName | None = Field(
        default=None,
        description="What the deliverable must be: a JSON Schema, or its file; from Python also "
        "a pydantic model",
    )
    tools: list[Name] = Field(
        default=[], max_length=100, description="Python functions that built-in roles may call"
    )
    tool_rounds: int = Field(default=4, ge=1, le=100, description="Tool rounds in one turn")
    limits: Ceilings = Field(default=Ceilings(), description="The most that the debate may use")
    seed: int = Field(
        default=0, ge=0, lt=10**77, description="For whatever is drawn by chance; it is recorded"
    )
    review: Text = Field(
        default="the person who answers for this question",
        description="Who must look when the debate ends in escalate",
    )
    attempts: int = Field(default=3, ge=1, le=100, description="Tries per turn before forfeit")
    timeout_seconds: float = Field(default=120, gt=0, le=86_400, description="Per call")
    retry_seconds: float = Field(
        default=300, gt=0, le=10**6, description="How long failed calls of one turn are tried again"
    )
    layout: Layout = Field(
        default="shared-prefix",
        description="What stands first in a prompt: what all share, so that the provider's cache "
        "pays for it, or the speaker's own role",
    )
    leading_call: bool = Field(
        default=False,
        description="In a parallel phase one call goes first, and the others find its cache",
    )
    prompts: Named[str, FileName] = Field(
        default={}, description="Files of your own templates, in place of the packaged ones"
    )
    prices: Named[str, PriceSpec] = Field(
        default={}, description="US dollars per million tokens, by model"
    )
    agent_types: Named[Role, Name] = Field(
        default={}, description="By role; default: sub for who argues, primary for who decides"
    )

    _output_class: type[BaseModel] | None = PrivateAttr(None)  # what `output_schema` was made of
    _instruct: Instruct | None = PrivateAttr(None)  # what stands in place of `instructions`

    @model_validator(mode="wrap")
    @classmethod
    def _from_python(cls, value: object, read: ModelWrapValidatorHandler[Self]) -> Self:
        """Admit what only Python can give: instructions from a function, a pydantic model."""
        if not isinstance(value, dict):
            return read(value)
        row: dict[str, Any] = dict(value)
        instruct, output_class = row.get("instructions"), row.get("output_schema")
        if callable(instruct):
            _takes_both(instruct)
            row["instructions"] = None
        if isinstance(output_class, type) and issubclass(output_class, BaseModel):
            row["output_schema"] = output_class.model_json_schema()
        spec = read(row)
        spec._instruct = instruct if callable(instruct) else None
        is_model = row.get("output_schema") is not output_class
        spec._output_class = cast(type[BaseModel], output_class) if is_model else None
        return spec

    @property
    def instruct(self) -> Instruct | None:
        """The function that gives the instructions of each seat and round, if one does."""
        return self._instruct

    @property
    def output_class(self) -> type[BaseModel] | None:
        """The pydantic model that `output_schema` was made of, if it was made of one."""
        return self._output_class

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        """Refuse a spec with all mistakes between its fields, not only with the first."""
        found = [*self._between()]
        try:
            found += self._at(self.table())
        except PydanticCustomError as error:
            found.append(error)
        if found:
            each = {row.message(): row for row in found}.values()  # one thing may be seen twice
            rows = [InitErrorDetails(type=row, loc=(), input=None) for row in each]
            raise ValidationError.from_exception_data(type(self).__name__, rows)
        return self

    def _between(self) -> Mistakes:
        """Yield the mistakes between fields, the table aside."""
        if isinstance(self.model, str) and self.model not in self.models:
            try:
                known_model(self.model, self.models)
            except PydanticCustomError as error:
                yield error
        yield from unique("evidence id", [document.id for document in self.evidence])
        yield from unique("tool", self.tools)
        yield from unique("label", self.labels)
        yield from self._of_output_and_evidence()
        yield from self._of_prompts()

    def _at(self, table: list[Seated]) -> Mistakes:
        """Yield the mistakes of who sits at the table."""
        yield from unique("seat id", [row.id for row in table])
        yield from between_stances([row.stance for row in table if row.stance])
        for row in table:
            label = row.stance.label if row.stance else row.id
            words = fold(row.stance.stance) if row.stance else label
            taken = self.TAKEN & {row.id, label, words}
            if taken:
                yield mistake(
                    "spec.reserved",
                    f"no seat or stance can be called {min(taken)}: that word names an outcome; "
                    "choose another id or label",
                )
        models = {row.model for row in table}
        for model in self.prices:
            if model not in models:
                yield mistake(
                    "spec.price", f"`prices` names {model}, but no seat uses it; check the name"
                )

    def _of_output_and_evidence(self) -> Mistakes:
        if self.output_schema is not None and self.synthesizer is False:
            yield mistake(
                "spec.synthesizer",
                "`output_schema` needs a synthesizer, but `synthesizer` is false; remove one of "
                "the two",
            )
        for document in self.evidence:
            if document.from_round > self.last_round:
                yield mistake(
                    "spec.evidence_round",
                    f"evidence {document.id} has `from_round: {document.from_round}`, but the last "
                    f"round is {self.last_round}; lower it",
                )

    def _of_prompts(self) -> Mistakes:
        for role in self.prompts:
            if role not in self.TEMPLATES:
                known = ", ".join(self.TEMPLATES)
                yield mistake(
                    "spec.prompt",
                    f"`prompts` names {role}, but {self.format} has no such template; it has "
                    f"{known}",
                )

    def replaced(self) -> Iterator[tuple[str, str]]:
        """Yield the templates that words of this spec stand in place of, with the words."""
        yield from ()

    def table(self) -> list[Seated]:
        """Return who sits at the table, in the order of registration."""
        rows = self._rows()
        if self.synthesizer or (self.output_schema is not None and self.synthesizer is None):
            seat = self.synthesizer if isinstance(self.synthesizer, Seat) else Seat()
            rows.append(self._seated("synthesizer", seat))
        names = names_of([row.own or row.model for row in rows])
        return [row._replace(model=name) for row, name in zip(rows, names, strict=True)]

    def functions(self) -> dict[str, Own]:
        """Return the functions that sit at the table, by the names that `python:` gives them."""
        rows = (row for row in self.table() if row.own is not None)
        return {row.model.partition(":")[2]: row.own for row in rows if row.own is not None}

    @property
    @abstractmethod
    def last_round(self) -> int:
        """The number of the last round there can be."""

    @abstractmethod
    def terms(self) -> Terms:
        """Return the terms of the opening."""

    @abstractmethod
    def _rows(self) -> list[Seated]: ...

    def _seated(self, role: Role, seat: Seat) -> Seated:
        stance = seat if isinstance(seat, Advocate) else None
        name = seat.id or (stance.label if stance else role)
        chosen = seat.model or self.model
        if chosen is None:
            refuse(
                "spec.model",
                f"{name} has no model; give it a `model`, or set `model` for the whole debate",
            )
        own, alias = None, None
        if isinstance(chosen, str):
            alias = self.models.get(chosen)
            model = alias.model if alias else known_model(chosen, self.models)
        else:
            own, model = chosen, names_of([chosen])[0]
        settings = (self.settings.but(alias.settings) if alias else self.settings).but(
            seat.settings
        )
        if settings.base_url and not has_server(model):
            refuse(
                "spec.base_url",
                f"{name} has a `base_url`, but {model} calls no server; remove `base_url`",
            )
        return Seated(role, name, model, seat.persona, settings, stance, own)

    def agent_type(self, role: Role) -> str:
        """Return what a seat of this role is called where it is watched (D 18)."""
        return self.agent_types.get(role, "primary" if role in PRIMARY else "sub")

    def declared_workers(self) -> dict[str, str]:
        """Return the model of each seat by key: `debater_0`, `debater_1`, …, `judge`."""
        seats = self.table()
        found: dict[str, str] = {}
        for role in dict.fromkeys(row.role for row in seats):
            rows = [row for row in seats if row.role == role]
            numbered = role == "debater" or len(rows) > 1
            found |= {f"{role}_{n}" if numbered else role: row.model for n, row in enumerate(rows)}
        return found
