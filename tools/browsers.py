#!/usr/bin/env python3
"""Find the browsers that tests and pictures use; install Debian's where one is missing.

Chromium must be there. Firefox ESR and WebKitGTK run the tests of tests/page/test_engines.py
where they can be installed; else those tests are skipped and say why. Installing needs root
and apt-get.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence

from hansard.page.printing import MISSING, PACKAGE, find

__all__ = ["MISSING", "OTHERS", "find", "install", "lacks"]

# Of the engines besides Chromium: the programs they need, each with Debian's package of it.
OTHERS = {
    "Firefox": {"firefox-esr": "firefox-esr"},
    "WebKitGTK": {"WebKitWebDriver": "webkit2gtk-driver", "Xvfb": "xvfb"},
}


def lacks(engine: str) -> str | None:
    """Return why an engine of OTHERS cannot be used here, None where it can."""
    needed = OTHERS[engine]
    missing = [package for name, package in needed.items() if not shutil.which(name)]
    install = f"apt-get install --no-install-recommends {' '.join(missing)}"
    return f"no {engine} found: install one (Debian: {install})" if missing else None


def install(wanted: Mapping[str, Sequence[str]]) -> None:
    """Install Debian's packages of each of these engines; print what cannot be installed."""
    if not wanted or os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    _apt_get("update", "-qq")
    for engine, packages in wanted.items():
        print(f"no {engine} found: installing Debian's {' and '.join(packages)} …", flush=True)
        _apt_get("install", "-y", "-qq", "--no-install-recommends", *packages)


def _apt_get(*words: str) -> None:
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        ["apt-get", *words], check=False, capture_output=True, text=True, env=quiet
    )
    if done.returncode:
        print(done.stdout + done.stderr, flush=True)


def main() -> int:
    """See to it that all browsers are there and say which are; return 1 where Chromium is not."""
    wanted = {engine: [*OTHERS[engine].values()] for engine in OTHERS if lacks(engine)}
    install(({} if find() else {"Chromium": [PACKAGE]}) | wanted)
    for engine, needed in OTHERS.items():
        print(lacks(engine) or " and ".join(filter(None, map(shutil.which, needed))))
    path = find()
    print(path or MISSING)
    return 0 if path else 1


if __name__ == "__main__":
    sys.exit(main())
