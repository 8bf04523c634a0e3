"""What others have put into a store's schema, and our statements might run.

PostgreSQL picks the function on the search path whose types fit best. So a role that may make
functions in the store's schema can make our statements call its own, and these then run with the
rights of our role. The same goes for triggers. So nothing there may belong to another role. And of
the owner's functions and operators, as a dump that was restored brings them, none may have a name
of PostgreSQL's own for other types than it has. The statements below give the exact types
of whatever they call, so that no planted function fits better.
"""

from __future__ import annotations

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
# What an extension adds for a type of its own is called with that alone. Nobody but a superuser
# makes such a type, which is a `b` without elements; values of others may be taken for one of ours.
_OWN = """SELECT oid FROM pg_type WHERE typtype = 'b' AND typelem = 0::oid
    AND typnamespace <> 'pg_catalog'::regnamespace
    AND NOT EXISTS (SELECT FROM pg_cast WHERE casttarget = pg_type.oid AND castcontext = 'i')"""
# So of a function that cannot be called without such a value.
HAS_OWN = f"""(provariadic = 0::oid AND EXISTS (SELECT FROM ({_OWN}) AS own
    WHERE own.oid = ANY((proargtypes::oid[])[0:pronargs - pronargdefaults - 1])))"""
_FITTING = f"""WITH place AS (
      SELECT oid FROM pg_namespace WHERE nspname = current_schema()),
    found (kind, name, owner) AS (
      SELECT 'function'::text, proname, proowner FROM pg_proc AS other
      WHERE pronamespace = (SELECT oid FROM place)
        AND proname IN (SELECT proname FROM pg_proc
          WHERE pronamespace = 'pg_catalog'::regnamespace)
        AND NOT EXISTS (SELECT FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace
          AND proname = other.proname AND proargtypes = other.proargtypes)
        AND NOT {HAS_OWN}
      UNION ALL SELECT 'operator'::text, oprname, oprowner FROM pg_operator AS other
      WHERE oprnamespace = (SELECT oid FROM place) AND oprname = ANY(%s::name[])
        AND NOT EXISTS (SELECT FROM pg_operator WHERE oprnamespace = 'pg_catalog'::regnamespace
          AND oprname = other.oprname AND oprleft = other.oprleft AND oprright = other.oprright)
        AND NOT EXISTS (SELECT FROM ({_OWN}
          UNION SELECT oid FROM pg_type WHERE typcategory = 'A') AS own
          WHERE oid IN (oprleft, oprright)))
    SELECT kind, name, rolname FROM found JOIN pg_roles ON pg_roles.oid = owner
    LIMIT 1"""  # noqa: S608
_OPEN = """SELECT has_schema_privilege('public'::name, nspname::text, 'CREATE'::text)
    FROM pg_namespace WHERE nspname = current_schema()"""
_OWNER = """SELECT tableowner FROM pg_tables
    WHERE schemaname = current_schema() AND tablename = 'hansard_versions'::name"""


def require_none(connection: psycopg.Connection[Any], url: str) -> None:
    """Raise DataError `store.foreign` where others have put something into the store's schema."""
    row = (
        connection.execute(_PLANTED).fetchone()
        or connection.execute(_FITTING, (_OPERATORS,)).fetchone()
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
