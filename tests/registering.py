"""Houses that keep a register, and a witness outside."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import hansard
from hansard import cosign, open_keyring, open_store, sign_checkpoint, verify_register
from hansard.governance.witness import Cosigned
from hansard.record.note import VerifierKey

SPEC = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}


class House:
    """Somebody who runs debates, in a folder of their own."""

    def __init__(self, folder: Path, name: str = "house") -> None:
        self.folder = folder / name
        self.folder.mkdir()
        self.keys = open_keyring(self.folder / "home")
        self.path = self.folder / "h.db"

    def store(self) -> hansard.Store:
        return open_store(f"sqlite:///{self.path}")

    def debate(self, times: int = 1, question: str = "Why?", **more: Any) -> str:
        with self.store() as store:
            for _ in range(times):
                made = hansard.run_sync(
                    {**SPEC, "question": question, **more},
                    models={"ask": lambda _: "Because."},
                    store=store,
                )
        return made.debate

    def checkpoint(self) -> bytes:
        with self.store() as store:
            return sign_checkpoint(store, self.keys.signer("log"))

    def found(self, since: bytes | None = None) -> hansard.RegisterCheck:
        with self.store() as store:
            return verify_register(store, since, self.keys.trust())

    def trusts(self, outside: "Outside") -> hansard.Trust:
        """Trust a witness; return whom the house trusts now."""
        hansard.TrustFile(self.keys.trust_file).add(str(outside.key), "witness")
        return self.keys.trust()

    def codes(self, since: bytes | None = None) -> list[str]:
        return [row.code for row in self.found(since).findings]

    def record_anew(self, debate: str) -> None:
        """Give a debate another end under its old opening, and do not tell the register."""
        name = debate.replace("-", "")
        where = f"topic = 'debate.closed' AND originator_id = '{name}'"
        self.sql(f"UPDATE stored_events SET state = CAST(state || ' ' AS BLOB) WHERE {where}")
        with self.store() as store:
            head = next(store.register.entries(debate))
        self.sql(f"UPDATE heads SET head = '{head}' WHERE debate = '{name}'")

    def tell_register(self, debate: str) -> None:
        """Register the last entry of a debate."""
        with self.store() as store:
            store.register.add_head(debate, next(store.register.entries(debate)))

    def sql(self, *statements: str) -> None:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            for name in ("lines_stay", "lines_stand", "register_stays", "register_stands"):
                connection.execute(f"DROP TRIGGER IF EXISTS {name}")
            for statement in statements:
                connection.execute(statement)


class Outside:
    """A witness, who has the log key of a house and nothing else."""

    def __init__(self, folder: Path, house: House) -> None:
        self.keys = open_keyring(folder / "witness")
        self.place = folder / "witness" / "seen"
        self.signer = self.keys.signer("witness")
        self.key = self.keys.public("witness")
        self.trusts(house.keys.signer("log").key)

    def trusts(self, key: VerifierKey) -> None:
        hansard.TrustFile(self.keys.trust_file).add(str(key), "log")

    def cosign(self, data: bytes) -> Cosigned:
        return cosign(data, self.signer, self.keys.trust(), self.place)
