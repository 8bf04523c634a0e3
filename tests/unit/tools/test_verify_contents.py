"""tools/verify.py is in the order of its table of contents, which names what is there."""

import re

from exporting import TOOL_FILE, tool

SOURCE = TOOL_FILE.read_text(encoding="utf-8")
ROW = re.compile(r"^ ?(\d+|  )? (\w+)  +\S.*?  +((?:\w+, )*\w+)$", re.MULTILINE)
ROWS = [row.groups() for row in ROW.finditer(tool.__doc__)]


def sections():
    """The headings in the source, each with its place."""
    found = re.finditer(r"^# -{20,} (.+?)(?::.*)?(?: \(§.*\))?$", SOURCE, re.MULTILINE)
    return {part: row.start() for row in found for part in row[1].split(", ")}


def test_the_checks_stand_in_their_order():
    numbered = [(int(number), name) for number, name, _ in ROWS if number and number.strip()]
    assert numbered == list(enumerate(tool.NAMES, 1))
    places = [sections()[f"{number} {name}"] for number, name in numbered]
    assert places == sorted(places)


def test_every_row_leads_to_a_section_that_has_what_it_names():
    titles = [f"{number or ''} {name}".strip() for number, name, _ in ROWS]
    assert titles == list(sections())
    for title, (*_, functions) in zip(titles, ROWS, strict=True):
        start = sections()[title]
        for function in functions.split(", "):
            assert hasattr(tool, function)
            at = re.search(rf"^(?:def |class )?{function}\b", SOURCE[start:], re.MULTILINE)
            assert at, f"{function} stands before {title}"
