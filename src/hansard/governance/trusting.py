"""Editing a trust file: whose keys its reader believes, each in one role for a time."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from hansard import private
from hansard.commands import path_word
from hansard.errors import UsageError
from hansard.governance import files
from hansard.record.keys import (
    TRUSTED_ROLES,
    RevokedPolicy,
    Trust,
    TrustedKey,
    TrustedRole,
    parse_trust,
    suits,
)
from hansard.record.note import VerifierKey
from hansard.record.policy import Policy


class TrustFile:
    """The trust file at `path`, which is replaced as a whole by each change.

    A key is named by its whole verifier key, its name or its id. Every method raises
    DataError `trust.malformed` for a file that is not a trust file, `key.unreadable`,
    and UsageError `key.unwritable`.
    """

    ROLES: ClassVar[tuple[TrustedRole, ...]] = TRUSTED_ROLES

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Trust:
        """Return what the file says; no keys where there is no file."""
        there = files.is_there(self.path)
        return parse_trust(files.read(self.path), self.path) if there else Trust()

    @property
    def exposed(self) -> str | None:
        """Who beside you and root can change the file, in words; None where nobody can.

        Who can change the folder of the file can put another in its place.
        """
        try:
            found, folder = self.path.stat(), self.path.resolve().parent
            around = folder.stat()
        except OSError:
            return None
        for place, status in ((self.path, found), (folder, around)):
            if os.name == "posix" and status.st_uid not in (0, os.geteuid()):
                return f"{place} belongs to another user, who can change whose keys you trust"
            if private.lets_others_change(status):
                command = f"chmod go-w {path_word(place)}"
                return f"others can change {place}, and so whose keys you trust: run `{command}`"
        return None

    def add(
        self, key: str, role: TrustedRole, *, start: str | None = None, end: str | None = None
    ) -> TrustedKey:
        """Believe a verifier key in a role, for debates opened from `start` and before `end`.

        Both are times as `time_of` reads them, or None. Raises DataError
        `key.malformed`, and UsageError `trust.known` for a key that has the role,
        `trust.role` for one that cannot have it, or `trust.time`.
        """
        parsed = VerifierKey.parse(key)
        begin, until = (None if text is None else time_of(text) for text in (start, end))
        if not suits(parsed, role):
            raise UsageError(
                "trust.role",
                f"{parsed.name} cannot be a {role} key: witnesses have keys for cosignatures "
                "(their base64 begins with BA), and nobody else has",
            )
        row = TrustedKey.model_validate(
            {"role": role, "key": str(parsed), "from": begin, "until": until}
        )
        with files.edited(self.path):
            trust = self.read()
            if any((known.role, known.key) == (role, row.key) for known in trust.keys):
                raise UsageError(
                    "trust.known", f"{self.path} has this key as {role} key already: {parsed.name}"
                )
            self._write(trust, keys=[*trust.keys, row])
        return row

    def revoke(self, named: str, at: str) -> VerifierKey:
        """Believe a key for nothing that is dated `at` or later, and return it.

        All rows with the same key are revoked, whatever their names: a thief could use any of them.
        An export is dated by its last entry, a policy by the opening (FORMAT.md §14).

        Raises UsageError `trust.unknown`, `trust.ambiguous` or `trust.time`.
        """
        time = time_of(at)

        def ended(row: TrustedKey) -> TrustedKey:
            return row.model_copy(update={"revoked": min(time, row.revoked or time)})

        return self._change(named, ended, by_any_name=True)

    def by_key(self) -> dict[bytes, list[TrustedKey]]:
        """Return the lines of each public key, which may have several names and roles."""
        return _by_key(self.read())

    def revoke_policy(self, policy: Policy, at: str) -> str:
        """Let a policy count for no debate opened at `at` or later; return from when on it is.

        The earlier time stays where it is revoked already. Raises UsageError `trust.time`.
        """
        time = time_of(at)
        with files.edited(self.path):
            trust = self.read()
            rows = {row.sha256: row for row in trust.policies}
            time = min(time, trust.revoked_policy(policy.names) or time)
            rows |= {name: RevokedPolicy(sha256=name, revoked=time) for name in policy.names}
            self._write(trust, policies=[rows[name] for name in sorted(rows)])
        return time

    def remove(self, named: str) -> VerifierKey:
        """Take a key out of the file, in all of its roles, and return it.

        Records that it signed count as signed by somebody unknown from then on, unless
        the file has it under another name as well (`by_key`). Raises UsageError
        `trust.unknown` or `trust.ambiguous`.
        """
        return self._change(named, lambda _: None, by_any_name=False)

    def require_witnesses(self, count: int) -> None:
        """Let a checkpoint anchor a record where so many trusted witnesses cosigned it.

        With 0 none does, whoever cosigned. Raises UsageError `trust.witnesses`.
        """
        with files.edited(self.path):
            trust = self.read()
            known = len({row.key for row in trust.keys if row.role == "witness"})
            if not 0 <= count <= known:
                raise UsageError(
                    "trust.witnesses",
                    f"{self.path} has {known} witness keys, so {count} cannot be required",
                )
            self._write(trust, witnesses=count)

    def _change(
        self,
        named: str,
        change: Callable[[TrustedKey], TrustedKey | None],
        *,
        by_any_name: bool,
    ) -> VerifierKey:
        with files.edited(self.path):
            trust = self.read()
            rows = trust.keys
            found = {row.key for row in rows if _is_named(VerifierKey.parse(row.key), named)}
            if len(found) != 1:
                code = "trust.ambiguous" if found else "trust.unknown"
                words = "several keys of that name; write the whole key" if found else "no such key"
                raise UsageError(code, f"{self.path} has {words}: {named!r:.200}")
            (text,) = found
            key = VerifierKey.parse(text)
            same = {text}
            if by_any_name:
                same |= {row.key for row in _by_key(trust)[key.public]}
            changed = [change(row) if row.key in same else row for row in rows]
            self._write(trust, keys=[row for row in changed if row is not None])
        return key

    def _write(self, trust: Trust, **rows: list[TrustedKey] | list[RevokedPolicy] | int) -> None:
        data = trust.model_copy(update=rows).dump()
        parse_trust(data)  # two keys under one name and id are refused before they are written
        files.write(self.path, data)


def _by_key(trust: Trust) -> dict[bytes, list[TrustedKey]]:
    found: dict[bytes, list[TrustedKey]] = {}
    for row in trust.keys:
        found.setdefault(VerifierKey.parse(row.key).public, []).append(row)
    return found


def _is_named(key: VerifierKey, text: str) -> bool:
    return text in (str(key), key.name, key.id.hex())


def time_of(text: str) -> str:
    """Return a date or a time (ISO 8601; UTC where it has no zone) as trust files write it.

    Raises UsageError `trust.time`.

    >>> time_of("2026-11-22"), time_of("2026-11-22T10:00+01:00")
    ('2026-11-22T00:00:00.000000Z', '2026-11-22T09:00:00.000000Z')
    """
    try:
        time = datetime.fromisoformat(text)
        zoned = time if time.tzinfo else time.replace(tzinfo=UTC)
        written = zoned.astimezone(UTC).isoformat(timespec="microseconds")
    except (ValueError, OverflowError):
        raise UsageError(
            "trust.time", f"{text!r:.64} is not a time; write 2026-11-22 or 2026-11-22T10:00:00Z"
        ) from None
    return written.replace("+00:00", "Z")
