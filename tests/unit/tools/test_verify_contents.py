"""tools/verify.py is in the order of its table of contents, which names what is there."""

import re

from exporting import TOOL_FILE, tool
from hansard import vocabulary

SOURCE = TOOL_FILE.read_text(encoding="utf-8")
ROW = re.compile(r"^ ?(\d+|  )? (\w+)  +\S.*?  +((?:\w+, )*\w+)$", re.MULTILINE)
ROWS = [row.groups() for row in ROW.finditer(tool.__doc__)]


def sections():
    """The headings in the source, each with its place."""
    found = re.finditer(r"^# -{20,} (.+?)(?::.*)?(?: \(§.*\))?$", SOURCE, re.MULTILINE)
    return {part: row.start() for row in found for part in row[1].split(", ")}


def test_the_checks_stand_in_their_order():
    numbered = [(int(number), name) for number, name, _ in ROWS if number and number.strip()]
    assert numbered == [*enumerate(tool.NAMES, 1), *tool.MORE.items()]
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


def test_its_own_copy_of_names_and_sentences_is_that_of_the_package():
    checks = vocabulary.checks()
    names = {number: row["name"] for number, row in checks.items()}
    assert dict([*enumerate(tool.NAMES, 1), *tool.MORE.items()]) == names
    sentences = {
        f"{number}.{'*' if defect == 'differs' else defect}": sentence
        for number, row in checks.items()
        for defect, sentence in row["findings"].items()
    }
    of_a_store = {"5.length", "5.head"}  # an export has nothing beside its entries
    assert tool.SENTENCES.keys() == sentences.keys() - of_a_store
    assert all(tool.SENTENCES[code] == sentences[code] for code in tool.SENTENCES)
    claims = vocabulary.words("claims")
    assert (claims["unsigned"], claims["unproven"]) == (tool.UNSIGNED, tool.UNPROVEN)
    walked = {number for number, row in checks.items() if "walk" in row.get("rests_on", ())}
    assert set(tool.WALKED) == walked
    for what, numbers in tool.RESTING.items():
        assert numbers == {n for n, row in checks.items() if what in row.get("rests_on", ())}
