"""Printing a page: a Chromium of this machine opens it, and what it puts on paper comes back.

`HANSARD_CHROMIUM` names its program; else the usual names on PATH are tried. It is given a
folder that is thrown away, none of the environment but its search path, no network, and a
time; all that it started ends with it. It is spoken to over its own pair of descriptors
(Chrome DevTools Protocol), so nothing listens anywhere.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import time
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hansard.errors import DataError, UsageError, on_disk

NAMES = (
    "chromium-headless-shell",  # the same engine without windows: it opens a page twice as fast
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
PACKAGE = "chromium-headless-shell"  # Debian's
MISSING = (
    f"no Chromium found: install one (Debian: apt-get install --no-install-recommends {PACKAGE}), "
    "or name its program in HANSARD_CHROMIUM"
)
_MOST_SECONDS = 600  # for a record of 64 MiB on a slow machine
_MOST_BYTES = 2**29  # that the browser may say
_MOST_MEMORY = 2**32  # bytes, of all its processes, where the system says so (Linux does)
_LOOK_SECONDS = 0.5  # between looks at it
_A4 = {"paperWidth": 8.27, "paperHeight": 11.69}  # inches; the margins are those of the style
_OPTIONS = (
    "--headless",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--disable-breakpad",
    "--no-first-run",
    "--no-default-browser-check",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
# The page says what it found once it has drawn all of it.
_VERDICT = """new Promise((done) => {
  const look = () => {
    const found = document.documentElement?.dataset.verdict;
    if (found) done(found);
  };
  new MutationObserver(look).observe(document,
    { subtree: true, childList: true, attributeFilter: ["data-verdict"] });
  look();
})"""
_CHOOSE = 'document.getElementById("with-prompts").checked = true'


def find() -> str | None:
    """Return the path of a Chromium, None where there is none."""
    named = os.environ.get("HANSARD_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


def flags() -> list[str]:
    """Return what Chromium must be started with: its sandbox does not run as root."""
    return ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []


def print_page(page: bytes, *, prompts: bool = False) -> bytes:
    """Return a page, which is this release's, as a tagged PDF; with `prompts`, those too.

    Raises UsageError `pdf.system` on a system without Unix pipes, `pdf.browser` where no
    Chromium is found or the one that is named cannot be started, and `pdf.failed` where it
    ends, says nothing for too long, or cannot print; DataError `record.altered` where the
    page itself finds in the browser that its record does not hold.
    """
    if not hasattr(os, "posix_spawn"):
        raise UsageError(
            "pdf.system", "no PDF can be made on this system: print the page from a browser"
        )
    program = find()
    if program is None:
        raise UsageError("pdf.browser", f"{MISSING}; or print the page from another browser")
    with on_disk():
        folder = TemporaryDirectory(prefix="hansard-", ignore_cleanup_errors=True)
    with folder as name:
        file = Path(name) / "page.html"
        file.write_bytes(page)
        with _running(program, name) as browser:
            return _printed(browser, file.as_uri(), prompts)


def _printed(browser: _Browser, url: str, prompts: bool) -> bytes:
    target = browser.ask("Target.createTarget", url="about:blank")["targetId"]
    session = browser.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def run(script: str) -> Any:
        said = browser.ask(
            "Runtime.evaluate", session, expression=script, awaitPromise=True, returnByValue=True
        )
        return said["result"].get("value")

    browser.ask("Page.navigate", session, url=url)
    verdict = run(_VERDICT)
    if verdict == "altered":
        raise DataError("record.altered", "the page says that its record was altered")
    if verdict == "failed":
        raise _failed("the page could not check its record there")
    if prompts:
        run(_CHOOSE)
    made = browser.ask(
        "Page.printToPDF",
        session,
        printBackground=True,
        generateTaggedPDF=True,
        generateDocumentOutline=True,
        **_A4,
    )
    return b64decode(made["data"])


class _Browser:
    """A Chromium at the other end of a socket: one answer to each question, until a time."""

    def __init__(self, end: socket.socket, until: float, group: int) -> None:
        self._end, self._until, self._group = end, until, group
        self._number, self._read = 0, bytearray()

    def ask(self, method: str, session: str | None = None, **given: object) -> dict[str, Any]:
        self._number += 1
        asked = {"id": self._number, "method": method, "params": given}
        self._send(asked | ({"sessionId": session} if session else {}))
        for said in self._answers():
            if said.get("id") == self._number:
                return self._result(method, said)
        raise AssertionError  # answers end by an error alone

    @staticmethod
    def _result(method: str, said: Mapping[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = said.get("result", {})
        if "error" in said or "exceptionDetails" in result:
            raise _failed(f"{method} was refused")
        return result

    def _send(self, said: object) -> None:
        try:
            self._end.settimeout(self._left())
            self._end.sendall(json.dumps(said).encode() + b"\0")
        except OSError:
            raise _failed("it ended") from None

    def _answers(self) -> Iterator[dict[str, Any]]:
        while True:
            seen = 0
            while (stop := self._read.find(0, seen)) < 0:
                seen = len(self._read)
                self._receive()
            yield json.loads(self._read[:stop])
            del self._read[: stop + 1]

    def _receive(self) -> None:
        try:
            data = self._awaited()
        except OSError:
            data = b""
        if not data:
            raise _failed("it ended")
        self._read += data
        if len(self._read) > _MOST_BYTES:
            raise _failed(f"what it made has more than {_MOST_BYTES} bytes")

    def _awaited(self) -> bytes:
        """Return what comes next; raises OSError, and what `_failed` returns."""
        while True:
            self._end.settimeout(min(_LOOK_SECONDS, self._left()))
            try:
                return self._end.recv(2**20)
            except TimeoutError:
                if time.monotonic() >= self._until:
                    raise _failed(f"it was not done within {_MOST_SECONDS} seconds") from None
            if _memory(self._group) > _MOST_MEMORY:
                raise _failed(f"it took more than {_MOST_MEMORY >> 20:,} MiB of memory")

    def _left(self) -> float:
        return max(0.001, self._until - time.monotonic())


@contextmanager
def _running(program: str, folder: str) -> Iterator[_Browser]:
    """Start Chromium in a process group of its own, and end all of the group."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        words = [program, *_OPTIONS, *flags(), f"--user-data-dir={folder}/profile"]
        own = {"HOME": folder, "TMPDIR": folder, "PATH": os.environ.get("PATH", os.defpath)}
        silent = [(os.POSIX_SPAWN_OPEN, each, os.devnull, os.O_RDWR, 0) for each in (0, 1, 2)]
        spoken = [(os.POSIX_SPAWN_DUP2, theirs.fileno(), each) for each in (3, 4)]
        try:
            pid = os.posix_spawnp(program, words, own, file_actions=silent + spoken, setpgroup=0)
        except OSError as error:
            raise UsageError(
                "pdf.browser",
                f"{program} cannot be started: {error.strerror}; name another "
                "Chromium in HANSARD_CHROMIUM, or print the page from a browser",
            ) from None
        theirs.close()
        try:
            yield _Browser(ours, time.monotonic() + _MOST_SECONDS, pid)
        finally:
            with suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _memory(group: int) -> int:
    """Return how many bytes the processes of a group hold; 0 where the system does not say."""
    pages = 0
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has just ended
            _, _, rest = file.read_text(errors="replace").rpartition(")")
            row = rest.split()  # from the third field of proc(5) on
            pages += int(row[21]) if int(row[2]) == group else 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _failed(why: str) -> UsageError:
    return UsageError(
        "pdf.failed", f"Chromium made no PDF: {why}; print the page from a browser instead"
    )
