"""Every citation leads somewhere: to a numbered place, a file or a heading of this repository.

- `FORMAT.md §8.1` is a section of that page, and `§11.3` the third rule of section 11. A `§`
  without a page is of FORMAT.md in code, of the page itself in FORMAT.md and RULES.md, and in
  other documents of the page that was named last.
- `RULES.md §6` is a section, `D 13` a decision of that page.
- `VERIFY.md` and the like, in comments and docstrings, are files.
- A link in a document leads to a file, and to a heading where it names one.
- A path in the documents about the code is a file or a folder; `<name>` stands for any.
- A name in src/README.md, in brackets after a path, or before it with `of` or `in`, stands there.
"""

import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = {name: ROOT / "schemas" / name for name in ("FORMAT.md", "RULES.md")}
KINDS = (".py", ".js", ".css", ".json", ".toml", ".yaml", ".md", ".txt", ".tsv")
SKIPPED = {".git", ".venv", "cases", "__pycache__"}  # `cases`: the kit's own bytes

_PLACE = r"(?:§\d+(?:\.\d+)*|\bD \d+\b)"
CITATION = re.compile(rf"(?:\b([\w-]+\.md) )?({_PLACE}(?:(?:[,;]|,? and|,? or| to) {_PLACE})*)")
NAMED = re.compile(r"(?<![\w/.*-])(?:[\w-]+/)*[\w-]+\.md\b")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
HOUSE = [ROOT / "src" / "README.md", ROOT / "tools" / "README.md"]  # which name files by paths
PATH = re.compile(r"`((?:[\w.-]+/)+[\w.<>-]*|[\w-]+\.(?:py|js|json|toml|txt))`")
LOCATED = re.compile(r"`([^`]+)` \(([^)]*)\)|((?:`[^`]+`(?:, | and )?)+) (?:of|in) `([^`]+)`")
HEADING = re.compile(r"^(#+) (.+)$|^(\d+)\. ", re.MULTILINE)
NEXT_LINE = re.compile(r"\s*\n\s*(?:(?:#|//|\*|-)\s)?\s*")


@cache
def files(*suffixes: str) -> list[Path]:
    """The repository's files of these kinds."""
    found = (path for top in ROOT.iterdir() if top.name not in SKIPPED for path in walk(top))
    return sorted(path for path in found if kind(path) in suffixes)


def kind(path: Path) -> str:
    """A file's suffix; that of a script without one is Python's where its first line says so."""
    script = not path.suffix and path.read_bytes().startswith(b"#!/usr/bin/env python3")
    return ".py" if script else path.suffix


def walk(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
    elif path.name not in SKIPPED and not path.name.endswith("_cache"):
        for child in path.iterdir():
            yield from walk(child)


@cache
def prose(path: Path, text: str) -> str:
    """What a file says to its reader: of Python the comments and docstrings, else all of it."""
    if kind(path) != ".py":
        return text
    said, begins = [], True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and begins):
            said.append(token.string)
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            begins = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    return "\n".join(said)


@cache
def places(page: str) -> frozenset[str]:
    """The numbered places of a page: sections, the rules listed in them, decisions."""
    found, section = set(), ""
    for marks, title, number in HEADING.findall(PAGES[page].read_text("utf-8")):
        if number:
            found.add(f"{section}.{number}")
        elif decision := re.match(r"(D \d+)\. ", title):
            found.add(decision[1])
        elif marks == "##" or re.match(r"\d+\.\d+ ", title):
            section = "§" + title.partition(" ")[0].rstrip(".")
            found.add(section)
    return frozenset(found)


def unresolved(path: Path, text: str) -> Iterator[str]:
    """The citations of a text that lead to no numbered place."""
    own = path.name if path.name in PAGES else "" if path.suffix == ".md" else "FORMAT.md"
    last = own
    for page, cited in CITATION.findall(NEXT_LINE.sub(" ", text)):
        last = own or page or last
        for place in re.findall(_PLACE, cited):
            of = "RULES.md" if place.startswith("D") else page or last
            if of not in PAGES or place not in places(of):
                yield f"{of} {place}".strip()


def anchors(path: Path) -> set[str]:
    """What a link may name in a document, as GitHub spells the headings."""
    titles = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def broken(path: Path, text: str) -> Iterator[str]:
    """The links of a document that lead nowhere."""
    for link in LINK.findall(text):
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if not link.startswith("https://") and not (
            target.exists() and (not anchor or anchor in anchors(target))
        ):
            yield link


def absent(path: Path, text: str) -> Iterator[str]:
    """The Markdown files named in the prose of a source file that the repository has not."""
    known = {file.name for file in files(".md")}
    yield from (name for name in NAMED.findall(text) if name.rpartition("/")[2] not in known)


def missing(path: Path, text: str) -> Iterator[str]:
    """The paths in a document about the code that lead to no file."""
    for name in PATH.findall(text):
        pattern = re.sub("<[a-z]+>", "*", name).rstrip("/")
        if not any(any(base.glob(pattern)) for base in (ROOT, ROOT / "src" / "hansard")):
            yield name


def unnamed(text: str) -> Iterator[str]:
    """The names that the house gives to what is in a file, and that do not stand in it."""
    for before, behind, ahead, after in LOCATED.findall(text):
        known = words(before or after)
        for name in re.findall(r"`([^`]+)`", behind or ahead):
            if known and not words(name) and not known.issuperset(re.findall(r"\w+", name)):
                yield f"{before or after}: {name}"


@cache
def words(name: str) -> frozenset[str]:
    """The words of a file of the code, or of all those in a folder; of anything else none."""
    bases = (ROOT, ROOT / "src" / "hansard") if PATH.fullmatch(f"`{name}`") else ()
    found = (path for base in bases for path in walk(base / name) if path.is_file())
    texts = (path.read_text("utf-8") for path in found if kind(path) in KINDS)
    return frozenset(word for text in texts for word in re.findall(r"\w+", text))


def every(problems, *suffixes: str) -> list[str]:
    found = []
    for path in files(*suffixes):
        said = prose(path, path.read_text("utf-8"))
        found += [f"{path.relative_to(ROOT)}: {what}" for what in problems(path, said)]
    return found


def test_every_citation_leads_to_a_numbered_place():
    assert every(unresolved, ".py", ".js", ".css", ".html", ".yaml", ".toml", ".md") == []


def test_every_page_that_code_names_is_a_file():
    assert every(absent, ".py", ".js", ".css") == []


def test_every_link_of_a_document_leads_somewhere():
    assert every(broken, ".md") == []


@pytest.mark.parametrize("path", HOUSE, ids=["src", "tools"])
def test_every_path_that_a_document_names_is_there(path):
    text = path.read_text("utf-8")
    assert list(missing(path, text)) == []
    assert len(PATH.findall(text)) > 5


def test_every_name_that_the_house_gives_stands_in_its_file():
    assert list(unnamed(HOUSE[0].read_text("utf-8"))) == []


def test_decisions_stand_once_and_in_order():
    text = PAGES["RULES.md"].read_text("utf-8")
    numbers = [int(number) for number in re.findall(r"^### D (\d+)\. ", text, re.MULTILINE)]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == text.count("\n### D ")


# Each check can fail


@pytest.mark.parametrize(
    ("path", "text", "lost"),
    [
        ("a.py", "(FORMAT.md §8.1, §11.3; D 13)", []),
        ("a.py", "(FORMAT.md §8.9; D 0)", ["FORMAT.md §8.9", "RULES.md D 0"]),
        ("a.py", "as in §11.99", ["FORMAT.md §11.99"]),
        ("a.py", "RULES.md\n    # §99", ["RULES.md §99"]),
        ("a.py", "record.md §1", ["record.md §1"]),
        ("README.md", "see §1", ["§1"]),
        ("README.md", "see FORMAT.md §16 and then §2, §99", ["FORMAT.md §99"]),
        ("FORMAT.md", "see §1, §8.4", []),
        ("RULES.md", "see §15 and D 1000", ["RULES.md D 1000"]),
    ],
)  # fmt: skip
def test_a_citation_of_nothing_is_found(path, text, lost):
    assert list(unresolved(Path(path), text)) == lost


def test_only_what_python_says_to_its_reader_is_looked_at():
    source = '"""One."""\nx = "two"  # three\ndef f():\n    """Four."""\n    return "five"\n'
    assert prose(Path("a.py"), source) == '"""One."""\n# three\n"""Four."""'


def test_a_page_that_is_no_file_is_found():
    assert list(absent(Path("a.py"), "as schemas/FORMAT.md and elsewhere.md say")) == [
        "elsewhere.md"
    ]


def test_a_link_that_leads_nowhere_is_found():
    text = "[a](nowhere.md) [b](RULES.md#7-similar-wording) [c](#nothing) [d](FORMAT.md#1-l)"
    page = PAGES["RULES.md"]
    assert list(broken(page, text)) == ["nowhere.md", "#nothing", "FORMAT.md#1-l"]


def test_a_path_that_leads_nowhere_is_found():
    text = "`rules/steps.py`, `rules/formats/<name>.py`, `tools/`; `rules/no.py`, `never/`, `no.py`"
    assert list(missing(HOUSE[0], text)) == ["rules/no.py", "never/", "no.py"]


def test_a_name_that_stands_nowhere_is_found():
    text = (
        "`rules/steps.py` (`decide`, `no_1`; `errors.py`), `no_2` and `RETRIED` of `rules/steps.py`"
    )
    assert list(unnamed(text)) == ["rules/steps.py: no_1", "rules/steps.py: no_2"]
    assert list(unnamed("`rules/` (`RETRIED`, `no_3.decide`)")) == ["rules/: no_3.decide"]
