"""Whether the tables of a store are those that Hansard makes: it may be a stranger's.

A dump that was restored, or somebody else's database, brings its own triggers, rules, views,
domains and defaults, and every statement runs them. They could drop entries, change what is
counted, hide how long a value is, or never end. So a store is refused where its tables differ from
those that `postgres_tables` makes. Further indexes on plain columns do no harm.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any

import psycopg

from hansard.errors import DataError

# Each line says one thing of a relation. What it calls is named with its schema or has the exact
# types, so that no planted function fits better.
_LINES = """WITH ours AS (
      SELECT pg_class.* FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
      WHERE nspname = current_schema() AND relname = ANY(%s::name[])),
    found (relation, line) AS (
      SELECT oid, CASE WHEN relkind = 'c' THEN 'kind type'::text
          WHEN relkind = 'r' AND relpersistence = 'p' THEN 'kind table'::text
          ELSE 'kind view or other'::text END FROM ours
      UNION ALL SELECT oid, 'row security'::text FROM ours WHERE relrowsecurity
      UNION ALL SELECT ours.oid, 'column '::text || (pg_catalog.row_number() OVER (
            PARTITION BY ours.oid ORDER BY attnum))::text || ' '::text || attname::text || ' '::text
          || pg_catalog.format_type(atttypid, atttypmod)
          || CASE WHEN attnotnull THEN ' not null'::text ELSE ''::text END
          || CASE WHEN collname IS NULL OR collname = 'default'::name THEN ''::text
            ELSE ' collate '::text || collname::text END
          || CASE WHEN typtype = 'd' THEN ' of a domain'::text ELSE ''::text END
          || CASE WHEN collnamespace <> typnamespace THEN ' of its own'::text ELSE ''::text END
          || CASE WHEN attidentity = '' THEN ''::text ELSE ' generated'::text END
          || coalesce(' default '::text || pg_catalog.left(
            pg_catalog.pg_get_expr(adbin, adrelid), 1000), ''::text)
        FROM ours JOIN pg_attribute ON attrelid = ours.oid AND NOT attisdropped
        JOIN pg_type ON pg_type.oid = atttypid
        LEFT JOIN pg_collation ON pg_collation.oid = attcollation
        LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attnum > 0
      UNION ALL SELECT indrelid, 'unique '::text || coalesce((
          SELECT pg_catalog.string_agg(attname::text, ', '::text ORDER BY number)
          FROM pg_catalog.unnest(indkey::smallint[]) WITH ORDINALITY AS key (place, number)
          JOIN pg_attribute ON attrelid = indrelid AND attnum = place
          WHERE number <= indnkeyatts), ''::text)
        FROM pg_index JOIN ours ON ours.oid = indrelid
        WHERE indisunique AND indisvalid AND indimmediate
      UNION ALL SELECT indrelid, 'index of another order'::text
        FROM pg_index JOIN ours ON ours.oid = indrelid
        WHERE EXISTS (SELECT FROM pg_opclass WHERE pg_opclass.oid = ANY(indclass::oid[])
            AND opcnamespace <> 'pg_catalog'::regnamespace)
          OR EXISTS (SELECT FROM pg_collation WHERE pg_collation.oid = ANY(indcollation::oid[])
            AND collnamespace <> 'pg_catalog'::regnamespace)
      UNION ALL SELECT indrelid, 'index of an expression'::text
        FROM pg_index JOIN ours ON ours.oid = indrelid WHERE indexprs IS NOT NULL
      UNION ALL SELECT indrelid, 'index where '::text || pg_catalog.left(
          pg_catalog.pg_get_expr(indpred, indrelid), 1000)
        FROM pg_index JOIN ours ON ours.oid = indrelid WHERE indpred IS NOT NULL
      UNION ALL SELECT conrelid, 'constraint '::text || pg_catalog.left(
          pg_catalog.pg_get_constraintdef(pg_constraint.oid, true), 1000)
        FROM pg_constraint JOIN ours ON ours.oid = conrelid WHERE contype IN ('c', 'f', 'x')
      UNION ALL SELECT confrelid, 'a reference from '::text || conname::text
        FROM pg_constraint JOIN ours ON ours.oid = confrelid
        WHERE conrelid NOT IN (SELECT oid FROM ours)
      UNION ALL SELECT tgrelid, 'trigger '::text || tgname::text || ' runs '::text
          || CASE WHEN proconfig IS NULL AND tgqual IS NULL
            THEN pg_catalog.left(prosrc, 1000) ELSE 'another'::text END
        FROM pg_trigger JOIN ours ON ours.oid = tgrelid JOIN pg_proc ON pg_proc.oid = tgfoid
        WHERE NOT tgisinternal
      UNION ALL SELECT ev_class, 'rule '::text || rulename::text
        FROM pg_rewrite JOIN ours ON ours.oid = ev_class
      UNION ALL SELECT stxrelid, 'statistics of an expression'::text
        FROM pg_statistic_ext JOIN ours ON ours.oid = stxrelid WHERE stxexprs IS NOT NULL
      UNION ALL SELECT polrelid, 'policy '::text || polname::text
        FROM pg_policy JOIN ours ON ours.oid = polrelid
      UNION ALL SELECT ours.oid, 'numbers that do not come in order'::text
        FROM pg_sequence JOIN pg_depend ON seqrelid IN (objid, refobjid)
        LEFT JOIN pg_attrdef ON classid = 'pg_attrdef'::regclass AND pg_attrdef.oid = objid
        JOIN ours ON ours.oid IN (refobjid, adrelid)
        WHERE seqincrement <> 1 OR seqcycle OR seqcache <> 1 OR seqmax <> 9223372036854775807
      UNION ALL SELECT ours.oid, 'rows of another table'::text
        FROM pg_inherits JOIN ours ON ours.oid = inhrelid OR ours.oid = inhparent)
    SELECT DISTINCT relname::text, line FROM found JOIN ours ON ours.oid = relation LIMIT 10000"""
Lines = AbstractSet[tuple[str, str]]
_TYPES = {"bigserial": "bigint", "timestamptz": "timestamp with time zone"}
_relation = re.compile(r"CREATE (TABLE|TYPE) (\w+) (?:AS )?\((.*)\)").fullmatch
_column = re.compile(
    r'(?P<name>\w+) (?P<type>\w+)(?: COLLATE "(?P<order>C)")?'
    r"(?P<key> PRIMARY KEY)?(?P<full> NOT NULL)?(?P<one> UNIQUE)?(?: DEFAULT (?P<given>\S+))?"
).fullmatch
_index = re.compile(r"CREATE( UNIQUE)? INDEX \w+ ON (\w+) \(([^)]*)\)(?: WHERE (.*))?").fullmatch
_trigger = re.compile(
    r"CREATE TRIGGER (\w+) .* ON (\w+) FOR EACH \w+ EXECUTE FUNCTION (\w+)\(\)"
).fullmatch
_function = re.compile(r"CREATE FUNCTION (\w+)\(\).*?\$\$(.*)\$\$", re.DOTALL).fullmatch


def made_by(statements: Iterable[str]) -> set[str]:
    """Return the names of the relations that these statements make."""
    return {name for name, _ in _lines(statements)}


def read(connection: psycopg.Connection[Any], relations: Iterable[str]) -> Lines:
    """Return what the server says of these relations, as far as they are there."""
    rows = connection.execute(_LINES, (sorted(relations),)).fetchall()
    return {(row[0], row[1]) for row in rows}


def require_ours(said: Lines, url: str, statements: Iterable[str]) -> None:
    """Raise DataError `store.foreign` where, of these statements, the server says otherwise.

    A table that is missing shows where it is read, a type does not. Triggers, which stop accidents,
    may be missing.
    """
    ours = set(_lines(statements))
    names = {name for name, _ in ours}
    found = {row for row in said if row[0] in names}
    there = {name for name, _ in found} | {name for name, line in ours if line == "kind type"}
    lost = {row for row in ours - found if row[0] in there and not row[1].startswith("trigger ")}
    for rows, what in (
        (found - ours, "has {}, which no store of Hansard's has"),
        (lost, "lacks {}, which every store of Hansard's has"),
    ):
        for name, line in sorted(rows)[:1]:
            told = what.format(repr(line.partition(" runs ")[0])[:120])
            raise foreign(url, f"its {name!r} {told}")


def foreign(url: str, what: str) -> DataError:
    """Return the error of a store of which somebody else has made a part."""
    return DataError(
        "store.foreign",
        f"{url} may do otherwise than it is told: {what}; restore it from a copy, or name another "
        "store",
    )


def _lines(statements: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield what a server says of the relations that these make, each line with the relation."""
    runs = dict[str, str]()
    for statement in statements:
        plain = " ".join(statement.split()).replace("( ", "(")
        if found := _function(statement):
            runs[found[1]] = found[2]
        elif found := _relation(plain):
            yield found[2], f"kind {found[1].lower()}"
            yield from ((found[2], line) for line in _columns(found[2], found[3]))
        elif (found := _index(plain)) and found[1]:
            yield found[2], f"unique {found[3]}"
        elif found and found[4]:
            yield found[2], f"index where ({found[4]})"
        elif found := _trigger(plain):
            yield found[2], f"trigger {found[1]} runs {runs[found[3]]}"


def _columns(table: str, given: str) -> Iterator[str]:
    *parts, last = re.split(r", (?![^(]*\))", given)
    keys = last.removeprefix("PRIMARY KEY (").removesuffix(")").split(", ")
    if last.startswith("PRIMARY KEY"):
        yield f"unique {', '.join(keys)}"
    else:
        parts.append(last)
    for number, part in enumerate(parts, 1):
        column = _column(part)
        if not column:
            raise ValueError(part)
        name, kind = column["name"], column["type"]
        serial = f"nextval('{table}_{name}_seq'::regclass)" if kind == "bigserial" else None
        default = column["given"] or serial
        yield "".join((
            f"column {number} {name} {_TYPES.get(kind, kind)}",
            " not null" * bool(column["key"] or column["full"] or serial or name in keys),
            " collate C" * bool(column["order"]),
            f" default {default}" if default else "",
        ))  # fmt: skip
        if column["key"] or column["one"]:
            yield f"unique {name}"
