"""A case as one page for people: what is expected, each entry, and each file of the export.

The repository stores such pages, since folders of files that are named by their hashes
are no reading matter. A page shows every byte that can be shown: entries are indented,
everything else stands as it is.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from zipfile import ZipFile

from conformance_kit.case import Case
from conformance_kit.records import Files

EVENTS = "events.jsonl"
FENCE = "````"  # longer than any that a reply holds


def page(case: Case) -> bytes:
    """Return the page of a case, in Markdown."""
    files = unpacked(case) | ({} if case.trust is None else {"trust.json": case.trust})
    parts = [f"# {case.name}", case.why, expectation(case), "## Entries"]
    for seq, line in enumerate(files.pop(EVENTS).splitlines(), 1):
        parts += entry(seq, line)
    parts.append("## Files")
    for name, body in sorted(files.items()):
        parts += [f"### {name}", fenced(body.decode(errors="backslashreplace"))]
    return ("\n\n".join(parts) + "\n").encode()


def unpacked(case: Case) -> Files:
    """Return the files of a case's export."""
    if not isinstance(case.export, bytes):
        return dict(case.export)
    with ZipFile(io.BytesIO(case.export)) as container:
        return {name: container.read(name) for name in container.namelist()}


def expectation(case: Case) -> str:
    """Return what every verifier must say of a case, as a sentence."""
    said = f"Every verifier must say `{case.expected()['verdict']}`"
    if case.code is None:
        return f"{said}, without a finding."
    where = f"at entry {case.seq}" if case.seq else "of the record as a whole"
    return f"{said}, and its first finding is `{case.code}` {where}."


def entry(seq: int, line: bytes) -> Iterator[str]:
    """Yield the heading and the content of one entry."""
    try:
        event = json.loads(line)
    except ValueError:
        yield f"### {seq}"
        yield fenced(line.decode(errors="backslashreplace"))
    else:
        yield f"### {seq} {event['type']}"
        yield fenced(json.dumps(event, indent=1), "json")


def fenced(text: str, language: str = "") -> str:
    """Return a text as a block of code."""
    return f"{FENCE}{language}\n{text.removesuffix(chr(10))}\n{FENCE}"
