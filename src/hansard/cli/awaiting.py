"""What commands wait for in an event loop: only those that run debates import one."""

from __future__ import annotations

import asyncio
import selectors
import socket
from collections.abc import Coroutine
from contextlib import closing
from typing import Any, TypeVar

T = TypeVar("T")


def awaited(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` in an event loop of its own.

    Where the system refuses the three descriptors of a loop, this raises OSError before there
    is half a loop, of which asyncio would print a traceback later.
    """
    with closing(work):
        with selectors.DefaultSelector():
            for each in socket.socketpair():
                each.close()
        return asyncio.run(work)
