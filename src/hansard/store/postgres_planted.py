"""What others have put into a store's schema, and our statements might run.

PostgreSQL picks the function on the search path whose types fit best. So a role that may make
functions in the store's schema can make our statements call its own, and these then run with the
rights of our role. The same goes for triggers. So nothing there may belong to another role. And of
the owner's functions and operators, as a dump that was restored brings them, none may have a name
of PostgreSQL's own with types that our statements have. The statements below give the exact types
of whatever they call, so that no planted function fits better.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import psycopg

from hansard.errors import DataError

# Owners of the schema, the database or the tables are not looked for: they can change everything
# in the store anyway. What they put into its tables is (`postgres_schema`).
_PLANTED = """WITH known AS (
      SELECT oid FROM pg_roles WHERE rolsuper OR rolname = current_user
      UNION SELECT nspowner FROM pg_namespace WHERE nspname = current_schema()
      UNION SELECT datdba FROM pg_database WHERE datname = current_database()
      UNION SELECT relowner FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE nspname = current_schema() AND relname = 'hansard_versions'::name),
    found (kind, name, owner, place) AS (
      SELECT 'function'::text, proname, proowner, pronamespace FROM pg_proc
      UNION ALL SELECT 'operator'::text, oprname, oprowner, oprnamespace FROM pg_operator
      UNION ALL SELECT 'table or view'::text, relname, relowner, relnamespace FROM pg_class
      UNION ALL SELECT 'trigger'::text, tgname, proowner, relnamespace
        FROM pg_trigger
        JOIN pg_class ON pg_class.oid = tgrelid JOIN pg_proc ON pg_proc.oid = tgfoid)
    SELECT kind, name, rolname FROM found
    JOIN pg_namespace ON pg_namespace.oid = place JOIN pg_roles ON pg_roles.oid = owner
    WHERE nspname = current_schema() AND owner NOT IN (SELECT oid FROM known) LIMIT 1"""
_OPERATORS = ["=", "<>", "<", ">", "<=", ">=", "||", "+", "-", "*", "/", "|", "<<", "@@", "~~"]
_FITTING = """WITH place AS (
      SELECT oid FROM pg_namespace WHERE nspname = current_schema()),
    plain AS (
      SELECT pg_type.oid FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace
        OR pg_catalog.ltrim(typname::text, '_'::text) = ANY(%(names)s::text[])
        OR pg_catalog.ltrim(typname::text, '_'::text) LIKE 'procrastinate%%'::text),
    found (kind, name, owner) AS (
      SELECT 'function'::text, proname, proowner FROM pg_proc AS other
      WHERE pronamespace = (SELECT oid FROM place)
        AND proname IN (SELECT proname FROM pg_proc
          WHERE pronamespace = 'pg_catalog'::regnamespace)
        AND NOT EXISTS (SELECT FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace
          AND proname = other.proname AND proargtypes = other.proargtypes)
        AND NOT EXISTS (SELECT FROM pg_catalog.unnest(proargtypes::oid[]) AS type
          WHERE type NOT IN (SELECT oid FROM plain))
      UNION ALL SELECT 'operator'::text, oprname, oprowner FROM pg_operator AS other
      WHERE oprnamespace = (SELECT oid FROM place) AND oprname = ANY(%(operators)s::name[])
        AND oprright IN (SELECT oid FROM plain)
        AND (oprleft = 0::oid OR oprleft IN (SELECT oid FROM plain))
        AND NOT EXISTS (SELECT FROM pg_operator WHERE oprnamespace = 'pg_catalog'::regnamespace
          AND oprname = other.oprname AND oprleft = other.oprleft AND oprright = other.oprright))
    SELECT kind, name, rolname FROM found JOIN pg_roles ON pg_roles.oid = owner LIMIT 1"""
_OPEN = """SELECT has_schema_privilege('public'::name, nspname::text, 'CREATE'::text)
    FROM pg_namespace WHERE nspname = current_schema()"""
_OWNER = """SELECT tableowner FROM pg_tables
    WHERE schemaname = current_schema() AND tablename = 'hansard_versions'::name"""


def require_none(connection: psycopg.Connection[Any], url: str, types: Iterable[str]) -> None:
    """Raise DataError `store.foreign` where others have put something into the store's schema.

    The store has these types of its own.
    """
    fitting = {"names": [*types], "operators": _OPERATORS}
    row = (
        connection.execute(_PLANTED).fetchone() or connection.execute(_FITTING, fitting).fetchone()
    )
    if row:
        kind, name, owner = row
        raise DataError(
            "store.foreign",
            f"{url} holds a {kind} {name!r} of the role {owner!r}, which Hansard's statements "
            "might run: let an administrator of the server drop it",
        )


def exposed(connection: psycopg.Connection[Any], url: str, schema: str) -> str | None:
    """Say in words that everybody can put something there; None where they cannot."""
    if connection.execute(_OPEN).fetchall() != [(True,)]:
        return None
    owner = connection.execute(_OWNER).fetchall()
    whose = f"; see whether its tables belong to whom they should, now {owner[0][0]!r}"
    return (
        f"every role that connects to {url} can make functions there that your commands run: let "
        f"an administrator run `REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC`"
        f"{whose if owner else ''}"
    )
