"""Prompts as recipes: what was sent is recorded as how it was made (FORMAT.md §4).

A recipe is a list of parts. Its digest folds one part after the other, so an
append-only transcript costs the same for every turn however long the debate.
Rendering is pure: templates, clear parameters and texts in, messages out.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from typing import Any, NamedTuple

from hansard.record.canonical import dump
from hansard.rules import replies
from hansard.rules.fields import Blob

TextOf = Callable[[str], str | None]  # a blob's text by its name; None where it is gone
Value = str | Iterable[str]  # filled into a template; what may be very long comes in pieces

START = b"\0" * 32
PAGE_BREAK = "\f"  # between the pages of a document's text: a line begins after it
_FIELD = re.compile(r"\{\{([a-z][a-z0-9_]*)\}\}")
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_PIECE = 1 << 16  # characters
MOST_SHOWN = 1 << 25  # bytes of memory, of one text in a prompt: a spec's longest fits
_KEPT = 1 << 16  # characters, of a text that is in few prompts: what tools gave may be very long

# What a server that reads its chat template's marks in any text would take for one (FORMAT.md §4).
_MARK = re.compile(
    r"<(?=/?[|｜][^ \t\n|｜>]|[a-z_]{1,32}\|>|</?SYS>>|(?:BOS|EOS|EOP)_TOKEN>|/?(?:s|bos|eos|pad"
    r"|unk|mask|sop|eop|think|tools|tool_call|tool_response|(?:start|end)_of_(?:turn|image)"
    r"|extra_id_[0-9]+|SPECIAL_[0-9]+)>)"
    r"|\[(?=\|(?:system|user|assistant|tool|endofturn)\|\]|/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS"
    r"|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|CALL_ID|THINK|MODEL_SETTINGS|IMG|gMASK)\])"
)


class Part(NamedTuple):
    """One part of a recipe, and the SHA-256 of its canonical JSON."""

    content: Mapping[str, Any]
    digest: bytes


def _part(content: Mapping[str, Any]) -> Part:
    return Part(content, sha256(dump(content)).digest())


def role(name: str) -> Part:
    """Begin a message of `name` (system, user or assistant)."""
    return _part({"role": name})


def template(digest: str, **values: Value) -> Part:
    """Fill the template with that hash; values are clear parameters, never texts."""
    hashed = sha256(dump({"template": digest})[:-1] + b',"values":{')
    for number, name in enumerate(sorted(values)):
        hashed.update(b'%s"%s":"' % (b"," if number else b"", name.encode()))
        for piece in _pieces(values[name]):
            hashed.update(dump(piece)[1:-1])
        hashed.update(b'"')
    hashed.update(b"}}")
    return Part({"template": digest, "values": values}, hashed.digest())


def values_of(content: Mapping[str, Any]) -> dict[str, str]:
    """Return what the template of a part is filled with."""
    return {name: "".join(_pieces(each)) for name, each in content["values"].items()}


def _pieces(value: Value) -> Iterable[str]:
    return (value,) if isinstance(value, str) else value


def quoted(blob: Blob) -> Part:
    """Quote the text of a blob line by line: data, whatever it says."""
    name = blob["sha256"]
    spelled = f'{{"blob":"{name}","struck":[],"view":"quoted"}}'  # one for every turn: no dump
    content = {"blob": name, "struck": [], "view": "quoted"}
    return Part(content, sha256(spelled.encode()).digest())


def points(blob: Blob, struck: Sequence[int], schema: str) -> Part:
    """Show what a reply's schema names, point by point and quoted, `struck` arguments marked."""
    content = {"blob": blob["sha256"], "schema": schema, "struck": list(struck), "view": "points"}
    return _part(content)


def plain(blob: Blob) -> Part:
    """Show a text as it stands: what the user who opened the debate instructs."""
    return _part({"blob": blob["sha256"], "struck": [], "view": "plain"})


def fold(digest: bytes, parts: Iterable[Part]) -> bytes:
    """Return the digest after `parts`: d' = SHA-256(d || SHA-256(JCS(part)))."""
    for part in parts:
        digest = sha256(digest + part.digest).digest()
    return digest


class Recipe:
    """An append-only list of parts with the digest of all of them."""

    __slots__ = ("digest", "parts")

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.digest = START

    def extend(self, parts: Sequence[Part]) -> None:
        """Add `parts` at the end."""
        self.parts += parts
        self.digest = fold(self.digest, parts)


class RoleFirst:
    """A transcript behind what is meant for one seat alone, as far as it has come.

    To the digest the transcript is one part, so that a prompt costs only what is new
    (FORMAT.md §7). The parts are put together where they are asked for.
    """

    def __init__(self, before: Sequence[Part], transcript: Recipe) -> None:
        self.digest = sha256(fold(START, before) + transcript.digest).digest()
        self.length = len(before) + len(transcript.parts)
        self._before, self._transcript = before, transcript

    @cached_property
    def parts(self) -> list[Part]:
        """Every part, in order."""
        return [*self._before, *self._transcript.parts][: self.length]


class Prompt(NamedTuple):
    """What one call is asked: `length` parts of a shared recipe, then its own parts.

    `repeats` are numbers of parts that other prompts begin with as well.
    """

    shared: Recipe | RoleFirst
    length: int
    own: Sequence[Part]
    digest: str
    repeats: tuple[int, ...] = ()

    @property
    def parts(self) -> list[Part]:
        """Every part, in order."""
        return [*self.shared.parts[: self.length], *self.own]


@dataclass(frozen=True)
class Message:
    """One message as it is sent: its role, and its text in pieces to be joined.

    The first `titled` pieces are blocks, a title and a text each. `repeats` are
    numbers of blocks that other prompts begin with as well: after these, a provider
    that wants to be told may keep what it has read so far in its cache.
    """

    role: str
    pieces: list[str]
    titled: int = 0
    repeats: tuple[int, ...] = ()

    @cached_property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.pieces)

    @property
    def blocks(self) -> list[str]:
        """The text block by block, and what follows them as one more; joined they are it."""
        rows = ["".join(self.pieces[at : at + 2]) for at in range(0, self.titled, 2)]
        rest = "".join(self.pieces[self.titled :])
        return [*rows, rest] if rest or not rows else rows


def quote(text: str) -> str:
    """Prefix each line with `| ` and spell out control characters and a chat template's marks.

    Nothing inside can close the quote: a line begins only at U+000A, as which a page
    break counts, and every other character that some reader takes for a line break is
    spelled out.
    """
    spelled = _MARK.sub(_spell, spell_out(text.replace(PAGE_BREAK, "\n")))
    lines = spelled.replace("\n", "\n| ")
    return f"| {lines}\n"


def quoted_size(text: str) -> int:
    """Return how much memory a text takes at most once it is quoted; it counts a little too far.

    What is beyond `MOST_SHOWN` is not counted to its end: quoting takes time, too.
    """
    size, wide = 0, _width(text)
    for at in range(0, len(text) + 1, _PIECE):
        size += wide * len(quote(text[at : at + _PIECE]))
        if size > MOST_SHOWN:
            break
    return size


def filled_size(text: str, values: Mapping[str, str]) -> int:
    """Return how much memory `fill` takes at most for what it returns, and make nothing of it."""
    size = len(text) + sum(
        len(values[found[1]]) - len(found[0])
        for found in _FIELD.finditer(text)
        if found[1] in values
    )
    return size * max(map(_width, (text, *values.values())))


def _width(text: str) -> int:
    """Return how many bytes a character of a text takes at most."""
    return 1 if text.isascii() else 4


def spell_out(text: str) -> str:
    """Write each control and bidi character but tab and line feed as `<U+XXXX>`."""
    return substituted(_CONTROL, _spell, text)


def substituted(sign: re.Pattern[str], by: Callable[[re.Match[str]], str], text: str) -> str:
    """Replace each sign, a piece of the text at a time: `sub` keeps a string of each match."""
    pieces = (text[at : at + _PIECE] for at in range(0, len(text), _PIECE))
    return "".join(sign.sub(by, piece) for piece in pieces)


def _spell(found: re.Match[str]) -> str:
    return f"<U+{ord(found[0]):04X}>"


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replace each `{{name}}` by its value: one pass, literal; an unknown name stays."""
    return _FIELD.sub(lambda found: values.get(found[1], found[0]), text)


STRUCK = " [STRUCK: it rests on a citation that was not found; give it no weight]"
_ARGUED = ("supporting_arguments", "counter_arguments", "rebuttals")


def as_points(text: str, struck: Iterable[int], schema: replies.Schema) -> str:
    """Write what a schema names of a structured reply as numbered points (FORMAT.md §4).

    A reply that is none is written as it stands.
    """
    try:
        value = replies.read(text)
    except replies.Unreadable:
        return text
    if not isinstance(value, dict):
        return text
    rows: list[str] = []
    for key, member in replies.named(value, schema).items():
        marked = struck if key in _ARGUED else ()
        rows += _point(key, member, "", frozenset(marked))
    return "\n".join(rows)


def _point(name: str, value: Any, indent: str, struck: frozenset[int]) -> list[str]:
    if isinstance(value, dict):
        rows = [f"{indent}{name}:"]
        for key, member in value.items():
            rows += _point(key, member, indent + "  ", frozenset())
        return rows
    if isinstance(value, list):
        rows = []
        for number, item in enumerate(value, 1):
            mark = STRUCK if number in struck else ""
            rows += _point(f"{name} {number}{mark}", item, indent, frozenset())
        return rows or [f"{indent}{name}: none"]
    words = value if isinstance(value, str) else json.dumps(value)
    # No line within a text can be taken for a point of its own: it begins with a sign.
    continued = words.replace(PAGE_BREAK, "\n").replace("\n", f"\n{indent}  > ")
    return [f"{indent}{name}: {continued}"]


class Renderer:
    """Turns the recipes of one debate into messages, each text of a shared recipe quoted once.

    `templates` maps the hashes of templates and schemas to bytes, `text_of` blob name to
    text; both raise KeyError for what is gone.
    """

    def __init__(self, templates: Mapping[str, bytes], text_of: Callable[[str], str]) -> None:
        self._templates = templates
        self._text_of = text_of
        self._shown: dict[bytes, str] = {}
        self._own_sizes: dict[bytes, int] = {}  # UTF-8 bytes of the texts that are prompts' own
        self._unfilled: dict[tuple[str, ...], tuple[int, Counter[str]]] = {}  # bytes, and fields
        self._recipe: Recipe | RoleFirst | None = None  # the one that is followed, as it grows
        self._begins: list[int] = []  # where messages begin in it
        self._pieces: list[str] = []  # of it, part by part
        self._sizes: list[int] = [0]  # its UTF-8 bytes up to each part

    def size(self, prompt: Prompt) -> int:
        """Return how many UTF-8 bytes the prompt has; costs what is new since the last one."""
        self._follow(prompt)
        return self._sizes[prompt.length] + sum(map(self._own_size, prompt.own))

    def _own_size(self, part: Part) -> int:
        """Return how many UTF-8 bytes a part has that is a prompt's own.

        A long context, persona or template stands in thousands of prompts, and to make it anew
        takes seconds.
        """
        if "template" in part.content:
            return self._filled_bytes(part.content)
        if part.digest not in self._own_sizes:
            self._own_sizes[part.digest] = len(self._own(part).encode())
        return self._own_sizes[part.digest]

    def _filled_bytes(self, content: Mapping[str, Any]) -> int:
        """Return how many UTF-8 bytes a template has once it is filled, which it is not."""
        values = values_of(content)
        key = (content["template"], *values)
        if key not in self._unfilled:
            template = self._templates[content["template"]]
            fields = (found[1] for found in _FIELD.finditer(template.decode()))
            self._unfilled[key] = len(template), Counter(filter(values.__contains__, fields))
        size, times = self._unfilled[key]
        return size + sum(
            times[name] * (len(value.encode()) - len(f"{{{{{name}}}}}"))
            for name, value in values.items()
        )

    def messages(self, prompt: Prompt) -> list[Message]:
        """Return the messages of `prompt`, their texts not yet joined."""
        self._follow(prompt)
        parts = prompt.shared.parts
        begins = [begin for begin in self._begins if begin < prompt.length]
        messages = [
            Message(parts[begin].content["role"], self._pieces[begin + 1 : end])
            for begin, end in pairwise([*begins, prompt.length])
        ]
        last, begin = messages[-1], begins[-1] + 1
        repeats = tuple((end - begin) // 2 for end in prompt.repeats if end > begin)
        own = list(map(self._own, prompt.own))
        messages[-1] = Message(last.role, [*last.pieces, *own], len(last.pieces), repeats)
        return messages

    def _follow(self, prompt: Prompt) -> None:
        if prompt.shared is not self._recipe:
            self._recipe = prompt.shared
            self._begins, self._pieces, self._sizes = [], [], [0]
        for part in prompt.shared.parts[len(self._pieces) : prompt.length]:
            if "role" in part.content:
                self._begins.append(len(self._pieces))
            piece = self._piece(part)
            self._pieces.append(piece)
            self._sizes.append(self._sizes[-1] + len(piece.encode()))

    def _own(self, part: Part) -> str:
        """Return a part that is a prompt's own; only a short one is kept for another prompt."""
        shown = self._piece(part)
        if len(shown) > _KEPT:
            self._shown.pop(part.digest, None)
        return shown

    def _piece(self, part: Part) -> str:
        content = part.content
        if "role" in content:
            return ""
        if "template" in content:
            return fill(self._templates[content["template"]].decode(), values_of(content))
        if part.digest not in self._shown:
            self._shown[part.digest] = self._view(content)
        return self._shown[part.digest]

    def _view(self, content: Mapping[str, Any]) -> str:
        text = self._text_of(content["blob"])
        if content["view"] == "plain":
            return f"\n{text}\n"
        if content["view"] == "quoted":
            return quote(text)
        schema = json.loads(self._templates[content["schema"]])
        return quote(as_points(text, content["struck"], schema))
