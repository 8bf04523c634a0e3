"""The roles of a store in PostgreSQL, as tools/docs/operations.md has them made."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

import hansard
import servers

_OPERATIONS = Path(__file__).parents[1] / "tools" / "docs" / "operations.md"
SQL = re.findall(r"^```sql\n(.*?)^```$", _OPERATIONS.read_text(), re.DOTALL | re.MULTILINE)


def roles(server: servers.Server) -> dict[str, str]:
    """Make a store and its roles under names of its own; return the roles' URLs."""
    url, end = server.fresh(), secrets.token_hex(4)
    script = SQL[0]
    names = ("hansard_owner", "hansard_app", "hansard_redactor")
    for name in names:
        script = script.replace(name, f"{name}_{end}")
    script = script.replace("DATABASE hansard", f"DATABASE {servers.database(url)}")
    first, _, grants = script.partition("-- Then")
    servers.sql(url, first)
    urls = {}
    for name in names:
        servers.sql(url, f"ALTER ROLE {name}_{end} PASSWORD '{end}'")
        urls[name] = servers.at(url, user=f"{name}_{end}", password=end)
    hansard.migrate_store(urls["hansard_owner"])
    servers.sql(urls["hansard_owner"], "-- Then" + grants)
    return urls
