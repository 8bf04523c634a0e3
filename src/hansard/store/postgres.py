"""PostgreSQL: the same tables as in SQLite, on a server (FORMAT.md §12).

- Whoever writes takes one advisory lock first, in the transaction. So entries are numbered in the
  order in which they are committed, and no role needs the right to change an entry, which
  PostgreSQL asks for before it locks a table.
- A connection that is lost while entries are stored says nothing about them. So they are stored
  once more, and where that says that they are there already, `Store` compares their bytes.
- All writing goes over the session that has the locks of the debates that this process runs. So
  whoever lost one to another process stores nothing more of that debate.
"""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, cast

import psycopg
import psycopg.errors
from eventsourcing.persistence import StoredEvent
from eventsourcing.postgres import (
    ConnectionPool,
    PostgresAggregateRecorder,
    PostgresApplicationRecorder,
    PostgresFactory,
)
from psycopg.rows import DictRow, dict_row, tuple_row
from psycopg.sql import SQL
from typing_extensions import override

from hansard.store.database import Cursor, Select, Tables
from hansard.store.postgres_errors import is_lost
from hansard.store.postgres_reading import Asked, rows
from hansard.store.postgres_server import CONNINFO, Postgres, configure

_PATIENCE = 10  # seconds for which what is stored over a lost connection is tried again
_PAUSE = 0.5  # seconds between tries
_MOST_CONNECTIONS = 10  # of one store, at once
_CONNECTS = 10  # seconds for a connection to be free, or made
_ALONE = "SELECT pg_advisory_xact_lock('stored_events'::regclass::oid::bigint)"
_MARK = re.compile(r"\?|(?<!:):([a-z_]+)")
_LONGEST_WORD = 200  # characters by which a word is found
_CHUNK = 8_000  # words in a row: a `tsvector` counts to 16,383, and has up to 1 MiB
_CHUNK_CHARS = 1 << 17  # of these words, each of up to 4 bytes
_AT_ONCE = 1 << 13  # characters that are looked at together


class Recorder(Tables, PostgresApplicationRecorder):
    """Stores a batch of lines with its blobs and its head, all or nothing."""

    place = "notification_id"
    holds = "position(? IN {}) > 0"
    searched = """row.place IN (SELECT place
        FROM unnest(CAST(:words AS text[])) AS word
        JOIN projected_texts ON said @@ phraseto_tsquery('simple'::regconfig, word)
        GROUP BY place HAVING count(DISTINCT word) = cardinality(CAST(:words AS text[])))"""
    refused = psycopg.errors.IntegrityError
    home: Postgres  # set as soon as it is open

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.lock_table_statements = [SQL(_ALONE)]
        self._asked = dict[bytes, Asked]()

    @property
    @override
    def name(self) -> str:
        return self.home.url

    @override
    @contextmanager
    def transaction(self) -> Iterator[Cursor]:
        with self.home.told(), self._transaction() as c:
            yield c

    @contextmanager
    def _transaction(self) -> Iterator[Cursor]:
        with self.home.writing() as connection, connection.transaction():
            c = _Cursor(connection)
            c.execute(_ALONE)
            yield c

    @override
    @contextmanager
    def snapshot(self, *, paged: bool = False) -> Iterator[Select]:
        with (
            self.home.told(),
            self.datastore.get_connection() as connection,
            connection.transaction(),
        ):
            c = _Cursor(connection)
            c.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield self.reading(c, paged=paged)

    @override
    def rows(self, c: _Cursor, statement: str, params: Any) -> Generator[Sequence[Any]]:
        return rows(c.connection, _marked(statement), params or None, self._asked, self.name)

    @override
    def select(self, statement: str, *params: object, **named: object) -> Sequence[Sequence[Any]]:
        with self.home.told(), self.datastore.get_connection() as connection:
            return self.reading(_Cursor(connection))(statement, *params, **named)

    @override
    def write(self, work: Callable[[Cursor], int]) -> None:
        end = None
        with self.home.told():
            while True:
                try:
                    with self._transaction() as c:
                        work(c)
                except psycopg.Error as error:
                    end = end or time.monotonic() + _PATIENCE
                    if time.monotonic() > end or not is_lost(error):
                        raise
                    time.sleep(_PAUSE)
                else:
                    return

    @override
    def add(self, c: Cursor, events: Sequence[StoredEvent]) -> int:
        self.home.require_held(str(events[0].originator_id))
        cursor = cast(_Cursor, c).connection.cursor(row_factory=dict_row)
        self._notify_channel(cursor)
        # The lock is held already.
        PostgresAggregateRecorder._insert_stored_events(self, cursor, events)
        return (self._fetch_ids_after_insert_events(cursor, events) or [0])[-1]

    @override
    def changed(self, c: Cursor) -> int:
        return cast(_Cursor, c).changed

    @override
    def will_erase(self) -> None:
        """Nothing to note: no file of a server is ours to scrub."""

    @override
    def scrub(self) -> None:
        """Give the room of what was deleted free, where this role may.

        PostgreSQL overwrites nothing: what was deleted is out of reach at once, but its bytes
        stay in the files until their room is used anew, and in the write-ahead log and in
        backups for as long as those are kept (tools/docs/operations.md).
        """
        with self.home.told(), self.datastore.get_connection() as connection:
            connection.execute("VACUUM blobs, projected, projected_names, projected_texts")

    @override
    def search(self, text: str) -> object:
        words = {" ".join(_tokens(word)) for word in text.split()}
        return sorted(words - {""})

    @override
    def put_words(self, c: Cursor, place: int, words: str) -> None:
        for text in _pieces(_tokens(words)):
            c.execute(
                "INSERT INTO projected_texts VALUES (?, to_tsvector('simple'::regconfig, ?::text))",
                (place, text),
            )

    @override
    def drop_words(self, c: Cursor, place: int | None, *, wholly: bool = False) -> None:
        where, params = ("", ()) if place is None else (" WHERE place = ?", (place,))
        c.execute(f"DELETE FROM projected_texts{where}", params)  # noqa: S608


class _Cursor:
    """Runs statements that have SQLite's marks."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection
        self._cursor = connection.cursor(row_factory=tuple_row)

    def execute(self, statement: str, params: Any = (), /) -> object:
        return self._cursor.execute(_marked(statement), params or None)

    def executemany(self, statement: str, params: Any, /) -> object:
        self._cursor.executemany(_marked(statement), params)
        return self

    @property
    def changed(self) -> int:
        return self._cursor.rowcount


@lru_cache
def _marked(statement: str) -> bytes:
    """Return a statement with psycopg's marks in the place of SQLite's."""
    return _MARK.sub(lambda mark: f"%({mark[1]})s" if mark[1] else "%s", statement).encode()


def _tokens(text: str) -> Iterator[str]:
    """Yield the words of a text as SQLite's search finds them: letters and digits, no accents.

    So both databases find the same. A word ends where they do not count it any further.
    """
    left = ""
    for begin in range(0, len(text), _AT_ONCE):
        plain = left + "".join(map(_plain, text[begin : begin + _AT_ONCE]))
        *words, left = plain.split(" ")
        yield from (word[:_LONGEST_WORD] for word in words if word)
        left = left[:_LONGEST_WORD]
    if left:
        yield left


@lru_cache(maxsize=1 << 16)
def _plain(sign: str) -> str:
    """Return the letters and digits that stand for a character, and a space for anything else."""
    return "".join(
        " " if unicodedata.category(part)[0] not in "LN" else part
        for part in unicodedata.normalize("NFKD", sign.casefold())
        if unicodedata.category(part) != "Mn"
    )


def _pieces(words: Iterable[str]) -> Iterator[str]:
    """Yield texts of as many words as a row holds."""
    piece, chars = list[str](), 0
    for word in words:
        if piece and (len(piece) == _CHUNK or chars + len(word) > _CHUNK_CHARS):
            yield " ".join(piece)
            piece, chars = [], 0
        piece.append(word)
        chars += len(word)
    if piece:
        yield " ".join(piece)


class Factory(PostgresFactory):
    """Wires the recorder to our connections; found by `eventsourcing` by its place here."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.datastore.pool = ConnectionPool(
            env[CONNINFO],
            connection_class=psycopg.Connection[DictRow],
            kwargs={"row_factory": dict_row},
            min_size=1,
            max_size=_MOST_CONNECTIONS,
            open=False,
            configure=configure,
            check=ConnectionPool.check_connection,  # the server may have been started anew
            timeout=_CONNECTS,
        )

    @override
    def application_recorder(self) -> Recorder:
        return Recorder(self.datastore)
