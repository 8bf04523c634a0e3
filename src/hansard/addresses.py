"""The URL of a store as it may be shown: whatever may be a password is left out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from urllib.parse import parse_qsl, quote, unquote, urlencode

POSTGRES = "postgresql://"
_SHOWN = ("host", "port", "dbname", "user", "sslmode", "sslrootcert", "options", "service")
_MODES = "disable|allow|prefer|require|verify-ca|verify-full"
_FORMS = {"options": r"-c *search_path=[\w,]+", "port": "[0-9,]*", "sslmode": _MODES}
_SERVER = r"(\[[^\]]*\]|[^:,\[\]]*)(:[0-9]{1,5})?"
_PORT = re.compile(r":([0-9]+)(?=,|$)")
_LAST_PORT = 65_535


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
    pairs = [pair for pair in parse_qsl(query.replace("+", "%2B")) if _is_shown(*pair)]
    kept = urlencode(pairs, safe="/,=", quote_via=quote)
    name = slash + name + (f"?{kept}" if kept else "")
    return f"{scheme}://{re.split('[:/?]', user)[0]}{at}{_servers(host)}{name}"


def is_spelled(url: str) -> bool:
    """Say whether a URL can be told to the system, which knows no NUL and no half characters."""
    try:
        return b"\0" not in os.fsencode(url)
    except UnicodeEncodeError:
        return False


def _servers(place: str) -> str:
    """Return the servers of a URL with their ports; without what is no port.

    Where no `@` stands before it, digits after a name are a port for whatever reads the URL. A
    number that no port has may be a password whose server is missing.
    """
    is_server = re.fullmatch(f"{_SERVER}(,{_SERVER})*", place) and all(
        int(port) <= _LAST_PORT for port in _PORT.findall(place)
    )
    return place if is_server else re.findall(r"^(?:\[.*\]|[^:]*)", place)[0]


def is_clear(rest: str) -> bool:
    """Say whether what follows `://` has one `@` at most, before any `/`.

    Another one, or a `/` before it, is of a password that is not encoded. What reads the URL
    would take a part of that password for the host, the port or the database, and say so.
    """
    return "@" not in rest.partition("@" if "@" in rest.partition("/")[0] else "/")[2]


def hidden(shown: str, values: Iterable[str]) -> frozenset[str]:
    """Return the words of a URL's values that are not in what is shown of it.

    >>> sorted(hidden("postgresql://ann@db.example/hansard", ["ann", "s3cret", "-c x.y=x"]))
    ['-c', 's3cret', 'x.y=x']
    """
    plain = unquote(shown)
    words = [word for value in values for word in re.split(r"[\s,]", value.replace("\\", ""))]
    parts = [part for word in words for part in (word, word.partition("=")[2])]
    return frozenset(part for part in parts if part and part not in plain)


def _is_shown(name: str, value: str) -> bool:
    return name in _SHOWN and bool(re.fullmatch(_FORMS.get(name, "(?s:.*)"), value))
