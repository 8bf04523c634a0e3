"""The URL of a store as it may be shown: whatever may be a password is left out."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, quote, urlencode

POSTGRES = "postgresql://"
_SHOWN = ("host", "port", "dbname", "user", "sslmode", "sslrootcert", "options", "service")
_SCHEMAS = re.compile(r"-c *search_path=[\w,]+")  # the options that say which tables are meant


def without_secrets(url: str) -> str:
    """Return a URL without its password, and without parameters that may be secret.

    >>> without_secrets("postgresql://ann:s3cret@db.example/hansard?sslmode=require&password=x")
    'postgresql://ann@db.example/hansard?sslmode=require'
    >>> without_secrets("sqlite:///debates.db")
    'sqlite:///debates.db'
    """
    scheme, mark, rest = url.partition("://")
    if scheme == "sqlite":
        return url
    if not mark:  # it is none, and what is in it may be anything
        return f"{re.split('[:=@]', url)[0]}…" if re.search("[=@]", url) else url
    if not is_clear(rest):  # nobody can tell where a password in it ends
        return f"{scheme}://{re.split('[:/?@]', rest)[0]}…"
    user, at, rest = rest.rpartition("@")
    place, _, query = rest.partition("?")
    host, slash, name = place.partition("/")
    machine, colon, port = host.rpartition(":")
    if colon and not port.isdigit() and not port.endswith("]"):  # the rest of what is no port
        host = machine
    pairs = [pair for pair in parse_qsl(query.replace("+", "%2B")) if _is_shown(*pair)]
    kept = urlencode(pairs, safe="/,=", quote_via=quote)
    name = slash + name + (f"?{kept}" if kept else "")
    return f"{scheme}://{re.split('[:/?]', user)[0]}{at}{host}{name}"


def is_clear(rest: str) -> bool:
    """Say whether what follows `://` has one `@` at most, before any `/`.

    Another one, or a `/` before it, is of a password that is not encoded. What reads the URL
    would take a part of that password for the host, the port or the database, and say so.
    """
    return "@" not in rest.partition("@" if "@" in rest.partition("/")[0] else "/")[2]


def _is_shown(name: str, value: str) -> bool:
    return name in _SHOWN and (name != "options" or bool(_SCHEMAS.fullmatch(value)))
