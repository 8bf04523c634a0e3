"""Writing a page: a record inside the shell that checks and shows it (FORMAT.md §13).

The shell is the same for every record of a release, so that whoever doubts a
page can compare its code. Only the data region, between the two halves of the
shell, differs: the record's zip, compressed, in blocks that a browser reads fast.
The first script is the vocabulary, whose tables the reports read as well.
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
from hansard.record.page import MAX_RECORD, compress, region

VOCABULARY = "vocabulary.js"  # made of the tables; no file
WITHOUT_DOM = (
    VOCABULARY,
    "container.js",
    "verify.js",
    "forms.js",
    "replies.js",
    "prompts.js",
    "rules.js",
    "audit.js",
    "words.js",
    "entries.js",
    "alike.js",
    "notes.js",
    "results.js",
    "governance.js",
    "figures.js",
)  # these check a record and count what it holds; they run without a page
SCRIPTS = (
    *WITHOUT_DOM,
    "nodes.js",
    "labels.js",
    "summary.js",
    "charts.js",
    "timeline.js",
    "transcript.js",
    "proof.js",
    "view.js",
)  # in this order, in one global scope; only the last does anything by itself
_PLACE = re.compile(r"\{\{(csp|style|scripts)\}\}")


def page(files: Mapping[str, bytes]) -> bytes:
    """Return the page of an export's files.

    Raises UsageError `page.size` for a record of more than MAX_RECORD bytes.
    """
    record = bundles.pack({name: files[name] for name in files if name != bundles.PAGE})
    if len(record) > MAX_RECORD:
        raise UsageError("page.size", f"a record of more than {MAX_RECORD} bytes fits no page")
    before, after = shell()
    return before + region(compress(record)) + after


@cache
def shell() -> tuple[bytes, bytes]:
    """Return what stands before and after the data region of every page of this release."""
    style, *scripts = map(part, ("style.css", *SCRIPTS))
    parts = {
        "csp": _policy(style, scripts),
        "style": f"<style>{style}</style>",
        "scripts": "\n".join(f"<script>{text}</script>" for text in scripts),
    }
    # Each half is filled in one pass: what looks like a place inside a script stays as it is.
    before, after = (
        _PLACE.sub(lambda place: parts[place[1]], half)
        for half in part("page.html").split("{{data}}")
    )
    return before.encode(), after.encode()


def part(name: str) -> str:
    """Return a file of the page, or the script that holds the vocabulary."""
    if name == VOCABULARY:
        tables = {name: vocabulary.table(name) for name in vocabulary.TABLES}
        text = json.dumps(tables, ensure_ascii=False, separators=(",", ":"))
        return f'"use strict";\nconst VOCABULARY = {text};\n'
    return (resources("hansard.page") / name).read_text(encoding="utf-8")


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
