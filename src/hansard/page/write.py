"""Writing a page: a record inside the shell that checks and shows it (FORMAT.md §13).

The shell is the same for every record of a release, so that whoever doubts a
page can compare its code. Only the data region, between the two halves of the
shell, differs: the record's zip, compressed, in blocks that a browser reads fast.
Its first script begins with the vocabulary, whose tables the reports read as well.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files as resources

from hansard import vocabulary
from hansard.errors import UsageError
from hansard.record import bundle as bundles
from hansard.record.page import MAX_PAGE, compress, region

_FORMATS = sorted(f"formats/{file.name}" for file in (resources(__package__) / "formats").iterdir())
# The page's scripts and their parts, in this order, in one global scope. Only the last one does
# anything by itself, so that it can say what failed of the others.
SCRIPTS = {
    # Checks a record and counts what it holds: it runs without a page.
    "figures": (
        "container.js",
        "verify.js",
        "register.js",
        "policy.js",
        "formats.js",
        *_FORMATS,
        "forms.js",
        "replies.js",
        "prompts.js",
        "rules.js",
        "walk.js",
        "gate.js",
        "schedule.js",
        "turns.js",
        "limits.js",
        "people.js",
        "words.js",
        "entries.js",
        "reviews.js",
        "alike.js",
        "advice.js",
        "notes.js",
        "results.js",
        "lead.js",
        "acting.js",
        "findings.js",
        "governance.js",
        "figures.js",
    ),
    "display": (
        "nodes.js",
        "labels.js",
        "markdown.js",
        "checks.js",
        "altered.js",
        "summary.js",
        "charts.js",
        "participants.js",
        "evidence.js",
        "timeline.js",
        "transcript.js",
        "search.js",
        "proof.js",
        "paper.js",
    ),
    "view": ("view.js",),
}
STRICT = '"use strict";\n'
# Of no use to a page: the checks of a container and of a folder, the sections of a dossier, and
# what a policy says to those who run debates.
_OUT_OF_SIGHT = {"checks": ("1", "21"), "words": ("annexed", "policed", "policy")}
_PLACE = re.compile(r"\{\{(csp|style|scripts)\}\}")


def page(files: Mapping[str, bytes]) -> bytes:
    """Return the page of an export's files.

    Raises UsageError `page.size` where the record or the page has more than MAX_PAGE bytes.
    """
    record = bundles.pack({name: files[name] for name in files if name not in bundles.ASIDE})
    before, after = shell()
    data = region(compress(record)) if len(record) <= MAX_PAGE else b""
    made = before + data + after
    if not data or len(made) > MAX_PAGE:
        raise UsageError("page.size", f"a record of more than {MAX_PAGE} bytes fits no page")
    return made


@cache
def shell() -> tuple[bytes, bytes]:
    """Return what stands before and after the data region of every page of this release."""
    style, scripts = part("style.css"), [script(name) for name in SCRIPTS]
    parts = {
        "csp": _policy(style, scripts),
        "style": f'<style id="style">{style}</style>',
        "scripts": "\n".join(f"<script>{text}</script>" for text in scripts),
    }
    # Each half is filled in one pass: what looks like a place inside a script stays as it is.
    before, after = (
        _PLACE.sub(lambda place: parts[place[1]], half)
        for half in part("page.html").split("{{data}}")
    )
    return before.encode(), after.encode()


def script(name: str) -> str:
    """Return a script of the page: its parts one after another, the vocabulary first of all."""
    first = _vocabulary() if name == next(iter(SCRIPTS)) else ""
    return STRICT + first + "".join(part(file).removeprefix(STRICT) for file in SCRIPTS[name])


def part(name: str) -> str:
    """Return a file of the page."""
    return (resources("hansard.page") / name).read_text(encoding="utf-8")


def _vocabulary() -> str:
    tables = {name: dict(vocabulary.table(name)) for name in vocabulary.TABLES}
    for name, keys in _OUT_OF_SIGHT.items():
        for key in keys:
            del tables[name][key]
    text = json.dumps(tables, ensure_ascii=False, separators=(",", ":"))
    return f"const VOCABULARY = {text};\n"


def _policy(style: str, scripts: list[str]) -> str:
    """Return the content security policy: this code and no other, and nothing from anywhere."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(map(_source, scripts))}",
            f"style-src {_source(style)}",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _source(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
