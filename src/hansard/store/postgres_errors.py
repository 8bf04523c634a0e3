"""What a server or the driver says when something fails, as one clear error."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import psycopg
from psycopg_pool import PoolTimeout

from hansard.errors import DataError

_LEAST = 4  # characters of a word that is left out wherever it stands, else only by itself
_GONE = (
    "store.unreachable",
    "{url} does not answer: {said}; what was stored before is there; see to the server",
)
_FAILED = ("store.failed", "the store {url} cannot be read or written: {said}")
_FOREIGN = (
    "store.foreign",
    "{url} holds other tables: {said}; name a database of the store's own",
)
_FAILURES = {
    "42501": (
        "store.role",
        "the role of {url} may not do this: {said}; {who}",
    ),
    "25006": ("store.not_writable", "{url} cannot be written: {said}; name the server's primary"),
    "53": ("store.full", "the server of {url} has no room left: {said}; nothing was stored"),
    "42P07": _FOREIGN,
    "42710": _FOREIGN,
    "42": (
        "store.corrupt",
        "{url} lacks what a store has, or has it otherwise: {said}; restore it from a backup",
    ),
    "55P03": ("store.busy", "{url} is locked by others: {said}; try it again"),
}
# Who may do what was refused, by what the server says of it; anything else lacks a grant.
_WHO = {
    r"procrastinate_|hansard_pauses": (
        "let the owner of the tables (hansard_owner) run queue.sql, which grants it"
    ),
    r"schema|copied|owner": (
        "make and update tables with `hansard store migrate`, and copy into them with `hansard "
        "copy`, as their owner (hansard_owner)"
    ),
    r"blobs": (
        "erase texts with `hansard redact` as the role that may delete them (hansard_redactor)"
    ),
    r"": "let the owner of the tables (hansard_owner) run grants.sql, which grants it",
}
# What to see to where no connection comes about, by what the client says.
_SEE_TO = {
    r"resolve|translate host": "see to the name of the host",
    r"database .* does not exist": "make this database, or name another one",
    r"password": "see to the user and the password (PGPASSWORD or ~/.pgpass)",
    r"refused|No such file": "see whether the server runs, and listens there",
    r"": "see to the server, the address, the user and the password (PGPASSWORD or ~/.pgpass)",
}


def failure(error: BaseException, url: str, hidden: Collection[str]) -> DataError:
    """Return what a statement that failed comes to; words that are hidden are left out."""
    state = getattr(error, "sqlstate", None) or ""
    found = [row for start, row in _FAILURES.items() if state.startswith(start)]
    code, sentence = (*found, _GONE if is_lost(error) or not state else _FAILED)[0]
    said = _said(error, hidden)
    return DataError(code, sentence.format(url=url, said=said, who=_advice(_WHO, said)))


def unreachable(error: BaseException, url: str, hidden: Collection[str]) -> DataError:
    """Return what a connection that does not come about comes to."""
    said = _said(error, hidden)
    sentence = f"cannot connect to {url}: {said}; {_advice(_SEE_TO, said)}"
    return DataError("store.unreachable", sentence)


def is_lost(error: BaseException | None) -> bool:
    """Say whether an error means that the connection is gone, and nothing else."""
    state = getattr(error, "sqlstate", None) or "08"
    lost = isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
    return lost and state.startswith(("08", "57P")) and not isinstance(error, PoolTimeout)


def _said(error: BaseException, hidden: Collection[str]) -> str:
    """Return what the server or the driver says, in one line."""
    said = getattr(getattr(error, "diag", None), "message_primary", None) or str(error)
    lines = [line.strip() for line in said.splitlines()] or [""]
    line = next((line for line in reversed(lines) if "failed: " in line), lines[0])
    line = line.rpartition("failed: ")[2].removeprefix("FATAL:").strip()
    for word in sorted(hidden, key=len, reverse=True):
        found = re.escape(word)
        line = re.sub(found if len(word) >= _LEAST else rf"(?<!\w){found}(?!\w)", "…", line)
    return line


def _advice(rows: Mapping[str, str], said: str) -> str:
    return next(advice for pattern, advice in rows.items() if re.search(pattern, said))
