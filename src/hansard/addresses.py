"""The URL of a store as it may be shown: whatever may be a password is left out."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlencode

POSTGRES = "postgresql://"
_SHOWN = ("host", "port", "dbname", "user", "sslmode", "sslrootcert", "options", "service")


def without_secrets(url: str) -> str:
    """Return a URL without its password, and without parameters that may be secret.

    >>> without_secrets("postgresql://ann:s3cret@db.example/hansard?sslmode=require&password=x")
    'postgresql://ann@db.example/hansard?sslmode=require'
    >>> without_secrets("sqlite:///debates.db")
    'sqlite:///debates.db'
    """
    scheme, mark, rest = url.partition("://")
    if not mark or scheme == "sqlite":
        return url
    # A password may hold any sign, if it is not encoded: it ends at the last `@`.
    user, at, rest = rest.rpartition("@")
    place, _, query = rest.partition("?")
    host, slash, name = place.partition("/")
    machine, colon, port = host.rpartition(":")
    if colon and not port.isdigit() and not port.endswith("]"):  # the rest of what is no port
        host = machine
    kept = urlencode([pair for pair in parse_qsl(query) if pair[0] in _SHOWN], safe="/,=")
    name = slash + name + (f"?{kept}" if kept else "")
    return f"{scheme}://{re.split('[:/?]', user)[0]}{at}{host}{name}"
