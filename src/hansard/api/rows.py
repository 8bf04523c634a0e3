"""The rows of a batch: read from CSV, named, and what is wrong with them, all at once."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hansard.api.batches import ROW
from hansard.api.specs import BATCH, fields_of, located, parsed, require_free
from hansard.errors import HansardError, UsageError, together
from hansard.vocabulary import many

if TYPE_CHECKING:
    from hansard.api.specs import Spec
    from hansard.rules.formats import AnySpec

    Rows = Path | str | Sequence[Spec] | Mapping[str, Spec | Mapping[str, Any]]

ID = "id"  # of a column: the name of the row
# The columns of a CSV file, each a field of the spec: words, numbers, and lists.
TEXTS = (
    "question", "context", "instructions", "name", "collection_id", "task_type", "requester",
    "owner", "retention", "review", "model", "rule",
)  # fmt: skip
NUMBERS = (
    "threshold", "max_rounds", "rounds", "agents", "draws", "attempts", "timeout_seconds",
    "retry_seconds", "seed",
)  # fmt: skip
LISTS = ("labels", "options", "evidence")  # with a semicolon between two

MOST_ROWS = 10_000
_MOST_COLUMNS = 100  # of a heading, whose mistakes are told one by one
_OWN_LABELS = 18  # of a row: two more are the batch's
MOST_OF_A_NAME = 60  # characters of the name of a row: it is a label behind `row:`
_OTHERS = re.compile(r"[^A-Za-z0-9._:/@+=-]+")  # what no name has
_NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?").fullmatch
_CELL = re.compile(r'(?:"(?P<quoted>[^"]*(?:""[^"]*)*)"?|(?P<plain>[^,]*)),?')
_LISTED = 3  # rows with one mistake that are named
_TOLD = 50  # mistakes that are told at once
MOST_HELD = 3 << 26  # bytes of memory: of what rows state, and of what their files hold
TOO_LONG = (
    f"the texts of the rows up to here take more than {MOST_HELD >> 20} MiB of memory together; "
    "make it several batches"
)
_TOO_MUCH = (
    "the rows up to here state more values than are held at once, those of a template counted for "
    "each; make it several batches, or the specs smaller"
)
_LONGEST_ID = 56  # characters of a document's, so that a number fits behind it


class Mistakes:
    """What is wrong with rows; the same mistake of many rows is told once.

    `shown` says how people find the row of a name.
    """

    def __init__(self) -> None:
        self.shown: dict[str, str] = {}
        self._found: dict[tuple[str, str], list[str]] = {}

    def __bool__(self) -> bool:
        """Say whether there is any."""
        return bool(self._found)

    def add(self, row: str, error: HansardError) -> None:
        """Note what is wrong with a row."""
        for one in (error, *getattr(error, "others", ())):
            sentence = getattr(one, "sentence", str(one))
            rows = self._found.setdefault((one.code, sentence), [])
            rows.append(self.shown.get(row, row))

    def require_none(self) -> None:
        """Raise UsageError with every mistake, if there is one."""
        if not self._found:
            return
        told = [
            UsageError(code, f"{_rows(rows)}: {sentence}")
            for (code, sentence), rows in self._found.items()
        ]
        if len(told) > _TOLD:
            more = len(told) - _TOLD + 1
            told[_TOLD - 1 :] = [UsageError("batch.mistakes", f"{more:,} more mistakes in rows")]
        raise together(told)


def _rows(names: Sequence[str]) -> str:
    """Name the rows of one mistake.

    >>> _rows(["2"]), _rows(["2", "3", "4", "5", "6"])
    ('row 2', 'rows 2, 3, 4 and 2 more')
    """
    first, more = ", ".join(names[:_LISTED]), len(names) - _LISTED
    return f"row{'s' if len(names) > 1 else ''} {first}{f' and {more:,} more' if more > 0 else ''}"


@dataclass(frozen=True)
class Planned:
    """A row as it was read: its spec with the labels of the batch, and where file names begin.

    `chooses` is whether it says itself who is asked, and not its template.
    """

    row: str
    spec: AnySpec
    folder: Path | None
    chooses: bool = False


def planned(
    specs: Rows,
    template: Spec | None,
    folder: Path | None,
    batch: str,
    mistakes: Mistakes,
) -> list[Planned]:
    """Read every row; what is wrong with one is added to `mistakes`."""
    from hansard.runtime.holding import MOST_TOGETHER, Shared, text_in, values_in

    given: Mapping[str, Any]
    read: Callable[[Any], tuple[AnySpec, Path | None]]
    if template is None:
        if isinstance(specs, Path | str):
            raise UsageError("batch.template", "rows of a CSV file need a template: name its spec")
        given = specs if isinstance(specs, Mapping) else _named(specs, mistakes)
        read = partial(located, folder=folder)
    else:
        if isinstance(specs, Path | str):
            given = read_rows(Path(specs), mistakes)
        elif isinstance(specs, Mapping):
            given = specs
        else:
            raise UsageError("batch.template", "rows of a template are fields by their names")
        read = partial(_from, *fields_of(template, folder))
    if not given and not mistakes:
        raise UsageError("batch.empty", "there is no row; name a spec, or fields for the template")
    found, held, size = [], 0, 0
    shared, seen = Shared(), set[int]()
    for row, own in given.items():
        try:
            _check_name(row)
            spec, begin = read(own)
            held += values_in(spec)
            if held > MOST_TOGETHER:
                mistakes.add(row, UsageError("batch.size", _TOO_MUCH))
                break
            chooses = template is not None and isinstance(own, Mapping) and "model" in own
            spec = shared.among(spec)
            size += text_in(spec, seen)
            if size > MOST_HELD:
                mistakes.add(row, UsageError("batch.size", TOO_LONG))
                break
            found.append(Planned(row, _labelled(spec, batch, row), begin, chooses))
        except HansardError as error:
            mistakes.add(row if isinstance(row, str) else f"{row!r:.60}", error)
    return found


def _from(
    template: object, where: str, begin: Path | None, own: Mapping[str, Any]
) -> tuple[AnySpec, Path | None]:
    """Return the spec of a row that stands in a template, and where its file names begin."""
    return parsed(template, where, own), begin


def _labelled(spec: AnySpec, name: str, row: str) -> AnySpec:
    """Return a spec with the labels by which its debate is found; raises `batch.labels`."""
    require_free(spec.labels, BATCH, ROW)
    if len(spec.labels) > _OWN_LABELS:
        raise UsageError("batch.labels", f"at most {_OWN_LABELS} labels leave room for the batch's")
    return spec.model_copy(update={"labels": [*spec.labels, BATCH + name, ROW + row]})


def _check_name(name: object) -> None:
    """Refuse what cannot name a row; raises UsageError `batch.id`."""
    if not isinstance(name, str) or _OTHERS.search(name) or len(name) > MOST_OF_A_NAME:
        raise UsageError(
            "batch.id",
            f"the name of a row has up to {MOST_OF_A_NAME} letters, digits and ._:/@+=-",
        )


def _named(specs: Iterable[Spec], mistakes: Mistakes) -> dict[str, Spec]:
    """Return specs by the names of their rows: a file's path without its ending, else a number.

    Of an absolute path only the last two parts are recorded.

    >>> from hansard.api.rows import Mistakes, _named
    >>> list(_named(["deals/north east.yaml", "/me/x/y.yaml", {"question": "?"}], Mistakes()))
    ['deals/north-east', 'x/y', '3']
    """
    found: dict[str, Spec] = {}
    for number, spec in enumerate(specs, 1):
        name = str(number)
        if isinstance(spec, Path | str):
            path = Path(spec)
            short = Path(*path.parts[-2:]) if path.is_absolute() else path
            short = short.with_suffix("") if short.name else short  # "." and "/" have none
            name = _OTHERS.sub("-", short.as_posix())[-MOST_OF_A_NAME:]
        if name in found:
            mistakes.add(str(number), _twice(name))
        found[name] = spec
    return found


def _twice(name: str) -> UsageError:
    return UsageError("batch.twice", f"an earlier row has the name {name}, too; give each its own")


def read_rows(path: Path, mistakes: Mistakes) -> dict[str, dict[str, Any]]:
    """Return the rows of a CSV file by name: in each, fields that stand in place of a template's.

    A row is named by its column `id`, else by its number, the first after the heading being
    row 2, as in a spreadsheet. Raises UsageError `batch.csv` or `batch.column`; what is wrong with
    a row is added to `mistakes`.
    """
    from hansard.runtime.files import decoded, read_own
    from hansard.runtime.holding import MOST_TOGETHER, values_in

    rows = enumerate(_records(decoded(read_own(path), path, "batch.csv"), path), 1)
    columns = _columns(next(rows, (1, []))[1])
    found, held = dict[str, dict[str, Any]](), 0
    for number, cells in rows:
        if not any(map(str.strip, cells)):
            continue
        if number > MOST_ROWS + 1:
            raise UsageError("batch.csv", f"{path} has more than {MOST_ROWS:,} rows; split it")
        try:
            name, given = _row(columns, cells, number)
        except UsageError as error:
            mistakes.add(str(number), error)
            continue
        held += values_in(given)
        if held > MOST_TOGETHER:
            raise UsageError("batch.size", f"{path}, row {number}: {_TOO_MUCH}")
        if name in found:
            mistakes.add(str(number), _twice(name))
            continue
        found[name] = given
        mistakes.shown[name] = str(number) if name == str(number) else f"{number} ({name})"
    if not found and not mistakes:
        raise UsageError("batch.csv", f"{path} has no row below its heading")
    return found


def _row(
    columns: Sequence[str], cells: Sequence[str], number: int
) -> tuple[str, dict[str, object]]:
    """Return the name of a row and its fields; raises UsageError `batch.cells` or `batch.id`."""
    if len(cells) != len(columns):
        said = f"this row has {many(len(cells), 'cell')}, the heading has {len(columns)}"
        raise UsageError("batch.cells", f"{said}; put text with a comma into quotes")
    given = {key: cell.strip() for key, cell in zip(columns, cells, strict=True)}
    name = given.pop(ID, "") or str(number)
    _check_name(name)
    return name, {key: _value(key, cell) for key, cell in given.items() if cell}


def _records(text: str, path: Path) -> Iterator[list[str]]:
    source = io.StringIO(text, newline="")
    reader = csv.reader(source, strict=True)
    heading, read, end = list[str](), 0, 0
    try:
        for cells in reader:
            heading, read, end = heading or cells, read + 1, source.tell()
            yield cells
    except csv.Error as error:
        said = _too_long(text, end, heading) if "field limit" in str(error) else None
        place = f"row {read + 1}" if said else f"line {reader.line_num}"
        raise UsageError("batch.csv", f"{path}, {place}: {said or error}") from None


def _too_long(text: str, begin: int, heading: Sequence[str]) -> str | None:
    """Say which cell of the row that begins there is too long; None where none is."""
    most = csv.field_size_limit()
    for place, cell in enumerate(_CELL.finditer(text, begin)):
        words = cell["plain"] or (cell["quoted"] or "").replace('""', '"')
        if len(words) > most:
            name = heading[place].strip() if place < len(heading) else place + 1
            return (
                f"the cell of column {name!s:.40} has more than {most:,} characters; give a "
                "shorter text, or close the quote that it begins with"
            )
    return None


def _columns(heading: Sequence[str]) -> list[str]:
    """Return the columns that a heading names; raises UsageError with every mistake in it."""
    columns, known = [cell.strip() for cell in heading], (ID, *TEXTS, *NUMBERS, *LISTS)
    if len(columns) > _MOST_COLUMNS:
        said = f"row 1 names {len(columns):,} columns; a spec has fewer fields: name those of it"
        raise UsageError("batch.column", said)
    wrong = [
        UsageError("batch.column", f"column {place} is {name!r:.40}; {_meant(name, known)}")
        for place, name in enumerate(columns, 1)
        if name not in known
    ]
    wrong += [
        UsageError("batch.column", f"the column {name} is there twice; remove one")
        for name in dict.fromkeys(columns)
        if name in known and columns.count(name) > 1
    ]
    if not columns:
        wrong = [UsageError("batch.column", "there is no heading; name the columns in row 1")]
    if wrong:
        raise together(wrong)
    return columns


def _meant(name: str, known: Sequence[str]) -> str:
    close = get_close_matches(name, known, 1)
    return f"did you mean {close[0]}?" if close else f"a column can be {', '.join(known)}"


def _value(column: str, cell: str) -> object:
    """Return what a cell says of a field of the spec.

    >>> _value("labels", "north; urgent"), _value("max_rounds", "3"), _value("question", "2 or 3?")
    (['north', 'urgent'], 3, '2 or 3?')
    """
    if column in LISTS:
        parts = [part.strip() for part in cell.split(";") if part.strip()]
        return documents_of(parts) if column == "evidence" else parts
    if column in NUMBERS and _NUMBER(cell):
        return float(cell) if "." in cell else int(cell)
    return cell


def documents_of(files: Iterable[str | Path]) -> list[dict[str, object]]:
    """Return files as documents, each with an id that is made from its name.

    >>> [row["id"] for row in documents_of([Path("a/b.txt"), Path("b.txt"), Path("My b.txt")])]
    ['b', 'b-2', 'My-b']
    """
    found: dict[str, str | Path] = {}
    numbers = Counter[str]()
    for file in files:
        stem = Path(file).name.strip(".").partition(".")[0]
        name = known = _OTHERS.sub("-", stem)[:_LONGEST_ID] or "document"
        while known in found:
            numbers[name] += 1
            known = f"{name}-{numbers[name] + 1}"
        found[known] = file
    return [{"id": name, "file": file} for name, file in found.items()]
