"""Many debates in one process: what they leave behind, in memory and of what they opened.

    soaking.py COUNT     run them, and print the figures

They run some at once in one event loop and one store, in every format. Their seats are
coroutines, functions called in threads, and models of a server on loopback.
"""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from formats import FORMATS

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

from hansard.api.many import verify_store
from hansard.errors import SpecWarning
from hansard.runtime import session
from hansard.store.application import Store
from playing import answer, spec_of
from services.server import Answer, Server, completion

COUNT = 10_000
AT_ONCE = 20
_BLOCKS = 8  # that a debate may leave: caches, and what the interpreter keeps of objects
_FILES = 4  # connections to the store and the server, of which a few may be open at any moment
_DESCRIPTORS = Path("/proc/self/fd")


class Held(NamedTuple):
    """What a process holds: blocks of memory, its bytes, open files, threads and tasks."""

    blocks: int
    bytes: int
    files: int
    threads: int
    tasks: int


class Soaked(NamedTuple):
    """What was held before, once some debates had run, after half of all, after all, and closed."""

    debates: int
    before: Held
    first: Held
    half: Held
    end: Held
    closed: Held

    @property
    def grown(self) -> float:
        """How many blocks of memory more are held for each debate of the second half."""
        return (self.end.blocks - self.half.blocks) / (self.debates - self.debates // 2)

    def flaws(self) -> list[str]:
        """Return what was left behind, in words."""
        found = []
        if self.grown > _BLOCKS:
            found.append(f"{self.grown:.1f} blocks of memory are kept of each debate")
        if self.end.files > self.half.files + _FILES:
            found.append(f"{self.end.files - self.half.files} files were left open")
        if self.end.tasks != 1:
            found.append(f"{self.end.tasks - 1} tasks were left")
        for name in ("files", "threads", "tasks"):
            left = getattr(self.closed, name) - getattr(self.before, name)
            if left:
                found.append(f"once all is closed, {left} {name} more are there than before")
        return found


def held() -> Held:
    """Return what this process holds, once what nobody needs is thrown away."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    try:
        tasks = len(asyncio.all_tasks())
    except RuntimeError:  # no loop runs
        tasks = 0
    return Held(
        sys.getallocatedblocks(),
        pages * os.sysconf("SC_PAGE_SIZE"),
        sum(1 for _ in _DESCRIPTORS.iterdir()) - 1,  # the listing itself is one
        threading.active_count(),
        tasks,
    )


def soak(count: int) -> Soaked:
    """Run so many debates, verify all of them, and return what was held when."""
    warnings.simplefilter("ignore", SpecWarning)
    with TemporaryDirectory() as home, _server() as url:
        before = held()
        with Store.open(f"sqlite:///{home}/h.db", create=True) as store:
            first, half, end = asyncio.run(_run(store, count, url))
        closed = held()
        with Store.open(f"sqlite:///{home}/h.db") as store:
            found = verify_store(store)
        assert found.ok
        assert found.records == count
    return Soaked(count, before, first, half, end, closed)


async def _run(store: Store, count: int, url: str) -> tuple[Held, Held, Held]:
    async def coroutine(request):
        return answer(request)

    async def debate(number: int) -> None:
        format_ = FORMATS[number % len(FORMATS)]
        model = ("python:coroutine", "python:function", "vllm:m")[number // len(FORMATS) % 3]
        if model.startswith("vllm") and format_ != "panel":  # it always says the same
            model = "python:coroutine"
        settings = {"base_url": url} if model.startswith("vllm") else {}
        spec = spec_of(format_, model=model, settings=settings)
        models = {"coroutine": coroutine, "function": answer}
        done = await session.run(spec, store, None, models=models)
        assert done.state.closed["outcome"] == "complete"

    seen = []
    warm = min(count // 2, 5 * AT_ONCE)
    for part in (range(warm), range(warm, count // 2), range(count // 2, count)):
        for begin in range(0, len(part), AT_ONCE):
            await asyncio.gather(*map(debate, part[begin : begin + AT_ONCE]))
        seen.append(held())
    return seen[0], seen[1], seen[2]


class _Forgetful(Server):
    """A server that keeps nothing of what it is asked."""

    def answer(self, path: str, body: bytes, headers: dict[str, str]) -> Answer:
        return completion("It always says this.")


@contextmanager
def _server() -> Iterator[str]:
    """Serve in a process of its own, whose threads and files are not ours; give its URL."""
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process.stdout.readline().strip()
        process.stdin.close()  # it ends with that


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        with _Forgetful(lambda _: {}) as server:
            print(server.url, flush=True)
            sys.stdin.read()
    else:
        found = soak(int(sys.argv[1]))
        print(*(f"{name}: {value}" for name, value in found._asdict().items()), sep="\n")
        print(*found.flaws() or ["nothing was left behind"], sep="\n")
