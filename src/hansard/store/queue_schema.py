"""Whether a store's queue is as Procrastinate makes it: like its tables, it may be a stranger's.

Whoever queues a debate runs the queue's triggers and functions, with their own rights and in the
same transaction. So a queue is refused if anything in it could do more than keep the queue:

- a function with a name that Procrastinate's SQL has, unless its text is there too;
- a rule, a view or the like, and a default, condition or trigger with a word its SQL has not, or
  with anything of another schema.

That SQL is what makes a queue, what asks it, and what brought earlier ones up to date, so that a
queue that an earlier release of Procrastinate's made is known too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from hansard.store import postgres_schema
from hansard.store.postgres_planted import HAS_OWN
from hansard.store.queue import PAUSES

_LONGEST = 10_000  # signs of a function's text
_LONG = 1_000  # signs of what is compared by its words
_MOST = 1_000  # rows that are read; Procrastinate's are far fewer
_DEFINED = f"""WITH place AS (
      SELECT oid FROM pg_namespace WHERE nspname = current_schema())
    SELECT 'function'::text, proname::text, CASE WHEN prosecdef OR proconfig IS NOT NULL
        THEN ''::text ELSE pg_catalog.left(prosrc, {_LONGEST}) END
      FROM pg_proc JOIN place ON pronamespace = place.oid
      WHERE proname = ANY(%(words)s::name[])
        AND NOT {HAS_OWN}
    UNION ALL SELECT 'trigger'::text, tgname::text,
        pg_catalog.left(pg_catalog.pg_get_triggerdef(pg_trigger.oid, true), {_LONG})
      FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid JOIN place ON relnamespace = place.oid
      WHERE relname = ANY(%(relations)s::name[]) AND NOT tgisinternal LIMIT {_MOST}"""  # noqa: S608
# What a server says in words of its own, and so `postgres_schema`.
_SAID = {"foreign", "key", "any", "array", "kind", "column", "generated", "nextval", "regclass"}
_COMPARED = ("kind table", "kind type", "column ", "unique ", "index where ", "constraint ")
_words = re.compile(r"\w+").findall
_of_row = re.compile(r"(?<![\w:.\"])(?:new|old)\.\w+(?![\w(])").sub
_relation = re.compile(r"\bCREATE (?:TABLE|TYPE) (?:IF NOT EXISTS )?(\w+)").findall
_function = re.compile(
    r"\bCREATE (?:OR REPLACE )?FUNCTION\s+(\w+)\s*\(.*?\bAS\s+\$(\w*)\$(.*?)\$\2\$", re.DOTALL
).findall


class _Known(NamedTuple):
    """What the SQL that makes a queue has."""

    words: frozenset[str]
    relations: frozenset[str]
    functions: frozenset[tuple[str, str]]  # the name and the text of each


@cache
def _known() -> _Known:
    from procrastinate.schema import SchemaManager  # noqa: PLC0415 - an extra
    from procrastinate.sql import queries  # noqa: PLC0415 - an extra

    paths = sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql"))
    made = [SchemaManager.get_schema(), *(path.read_text("utf-8") for path in paths), PAUSES]
    sql = "\n".join([*made, *queries.values()])
    plain = re.sub(r"--.*", "", sql)
    relations = frozenset(_relation(plain))
    return _Known(
        words=frozenset(_words(plain.lower())) | _SAID | {f"{name}_id_seq" for name in relations},
        relations=relations,
        functions=frozenset((name, text) for name, _, text in _function(sql)),
    )


def require_ours(connection: psycopg.Connection[Any], url: str) -> None:
    """Raise DataError `store.foreign` where what is there could do anything but keep a queue."""
    for found in _others(connection, _known()):
        raise postgres_schema.foreign(url, f"its queue has {found}, which none of Hansard's has")


def _others(connection: psycopg.Connection[Any], known: _Known) -> Iterator[str]:
    """Say, one after another, what in the queue Procrastinate did not make."""

    def has_known_words(said: str) -> bool:
        words = (word for word in _words(said.lower()) if not word.isdigit())
        is_elsewhere = "." in _of_row("", said)  # it names the schema of what is in another
        return len(said) < _LONG and not is_elsewhere and known.words.issuperset(words)

    asked = {"words": [*known.words], "relations": [*known.relations]}
    defined = connection.execute(_DEFINED, asked).fetchall()
    if len(defined) >= _MOST:
        yield f"{_MOST} functions and triggers"
    for kind, name, text in defined:
        if not ((name, text) in known.functions if kind == "function" else has_known_words(text)):
            yield f"the {kind} {name!r}"
    for name, line in sorted(postgres_schema.read(connection, known.relations)):
        compared = line.startswith(_COMPARED) and has_known_words(line)
        if not compared and not line.startswith("trigger "):  # those are among `defined`
            yield f"{name!r} with {line[:120]!r}"
