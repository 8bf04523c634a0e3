"""How a call asks for its reply: as a text, held to a schema, or as the arguments of a tool."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hansard.rules.fields import Structured
from hansard.rules.replies import Schema
from hansard.runtime.models.base import Completion, Request
from hansard.runtime.models.envelope import unwrap

REPLY = "reply"  # the name of what is asked for: of a schema, or of a tool
ASKED = "Give your reply."  # what the tool that takes a reply is for


@dataclass(frozen=True)
class Form:
    """How one call asks for its reply.

    `native`: by the server's schema mode; `tool`: as the arguments of the tool
    `name`; `text`: in the prompt's words alone, and then there is no schema.
    Where it is `wrapped`, the reply stands in an envelope.
    """

    mode: Structured
    schema: Schema = field(default_factory=dict)
    name: str = REPLY
    strict: bool = False
    wrapped: bool = False


def name_for(request: Request) -> str:
    """Return a name for what is asked for that none of the call's tools has."""
    name = REPLY
    while any(tool.name == name for tool in request.tools):
        name += "_"
    return name


def as_asked(said: Completion, form: Form) -> Completion:
    """Return a completion with its reply taken out of the tool and the envelope it came in.

    A reply that was cut off or filtered asks for no tools: what it says of them is not whole.
    """
    text, finish = said.text, said.finish
    calls = said.tool_calls
    replies = [row.arguments for row in calls if form.mode == "tool" and row.name == form.name]
    if replies and finish != "refusal":
        text = "\n".join(replies)
        calls = tuple(row for row in calls if row.name != form.name)
        finish = "stop" if finish == "tool_calls" and not calls else finish
    if form.wrapped:
        text = unwrap(text)
    whole = finish in ("stop", "tool_calls")
    return replace(said, text=text, finish=finish, tool_calls=calls if whole else ())


def is_strict(schema: object, name: str) -> bool:  # noqa: PLR0911 - one line a keyword
    """Say whether the endpoint can be asked to hold the model `name` to `schema` strictly.

    OpenAI's strict mode wants every object closed and every member required;
    its fine-tuned models (`ft:…`) know no bounds on a string's length.
    """
    if isinstance(schema, list):
        return all(is_strict(row, name) for row in schema)
    if not isinstance(schema, dict):
        return True
    if name.startswith("ft:") and not {"minLength", "maxLength"}.isdisjoint(schema):
        return False
    if schema.get("type") == "object":
        members, needed = schema.get("properties", {}), schema.get("required", [])
        if not (isinstance(members, dict) and isinstance(needed, list)):  # such as in a `const`
            return False
        if schema.get("additionalProperties") is not False or len(needed) != len(members):
            return False
        return all(key in needed and is_strict(row, name) for key, row in members.items())
    return all(is_strict(row, name) for row in schema.values())
