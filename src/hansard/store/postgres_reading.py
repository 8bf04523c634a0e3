"""Rows of a server in little memory, however many and large somebody has made them.

The driver loads all rows of a statement before we can count them. So the server counts first. It
sends all rows if they are small together. If not, they come one by one, and of a row that is too
large only its size.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, MutableMapping, Sequence
from contextlib import closing
from typing import Any, cast

import psycopg
from psycopg.rows import tuple_row
from psycopg.types.numeric import NumericBinaryLoader
from typing_extensions import override

from hansard.errors import DataError
from hansard.store.database import EACH

Asked = tuple[bytes, bytes]  # a statement as it is asked for all rows together, and for each

_TOGETHER = 1 << 26  # bytes of rows that come together
_LONGEST = (1 << 26) - (1 << 16)  # of one row; the longest text of a debate has 64,000,000 bytes
_SIZES: Mapping[int, str] = {  # in bytes, of the types whose values have any
    17: "octet_length({})",  # bytea
    25: "octet_length({})",  # text
    1700: "octet_length({}::text)",  # numeric
}
_OTHERS = frozenset({16, 20, 23, 701, 2950})  # boolean, bigint, integer, double precision, uuid
_MEASURED = """SELECT {kept}, total FROM (SELECT *, {total} AS total FROM (SELECT *,
    {size} AS size FROM ({statement}) AS found({names})) AS sized) AS counted
    WHERE total - size <= {most}::float8"""
_SO_FAR = "sum(size) OVER (ROWS UNBOUNDED PRECEDING)"


class Whole(NumericBinaryLoader):
    """Reads a sum of whole numbers as such, and leaves anything else as it is."""

    @override
    def load(self, data: Any) -> Any:
        found = super().load(data)
        return int(found) if found.is_finite() and found == found.to_integral_value() else found


def rows(
    connection: psycopg.Connection[Any],
    statement: bytes,
    params: Any,
    known: MutableMapping[bytes, Asked],
    name: str,
) -> Generator[Sequence[Any]]:
    """Yield the rows of a statement that reads; `known` keeps how it is asked.

    Raises DataError `store.size` for a row that no debate has, and `store.corrupt` for a type
    that no column has.
    """
    if statement not in known:
        columns = _columns(connection, statement, params, name)
        together = _measured(statement, columns, _SO_FAR, _TOGETHER)
        known[statement] = together, _measured(statement, columns, "size", _LONGEST)
    together, alone = known[statement]
    cursor = connection.cursor(row_factory=tuple_row, binary=True)
    found = cursor.execute(together, params).fetchall()
    if not found or found[-1][-1] <= _TOGETHER:
        yield from (row[:-1] for row in found)
        return
    del found
    # A stream that is left open keeps the connection from everybody else.
    with closing(cast(Generator[Any], cursor.stream(alone, params))) as each:
        for *row, size in each:
            if size > _LONGEST:
                raise DataError(
                    "store.size",
                    f"an entry or a text in {name} has more than {_LONGEST:,} bytes, which is more "
                    "than Hansard reads",
                )
            yield row


def _columns(
    connection: psycopg.Connection[Any], statement: bytes, params: Any, name: str
) -> Sequence[int]:
    none = b"SELECT * FROM (%b) AS found LIMIT 0" % statement
    found = [column.type_code for column in connection.execute(none, params).description or ()]
    if not _OTHERS.union(_SIZES).issuperset(found):
        raise DataError(
            "store.corrupt",
            f"a column in {name} has a type that none has; restore it from a backup",
        )
    return found


def _measured(statement: bytes, columns: Sequence[int], total: str, most: int) -> bytes:
    """Return a statement that keeps back what is too large, with a last column that says so.

    `columns` are types, as the server numbers them.
    """
    names = [f"c{number}" for number in range(len(columns))]
    sized = {
        at: _SIZES[kind].format(at)
        for at, kind in zip(names, columns, strict=True)
        if kind in _SIZES
    }
    kept = (
        f"CASE WHEN total <= {most}::float8 THEN {at} END" if at in sized else at for at in names
    )
    return _MEASURED.format(
        kept=", ".join(kept),
        total=total,
        size=" + ".join(
            [f"{EACH}::float8", *(f"coalesce({size}, 0)::float8" for size in sized.values())]
        ),
        statement=statement.decode(),
        names=", ".join(names),
        most=most,
    ).encode()
