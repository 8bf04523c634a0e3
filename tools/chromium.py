#!/usr/bin/env python3
"""Find the Chromium that prints pages and that tests use; install Debian's where none is.

Installing needs root and apt-get.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from hansard.page.printing import MISSING, PACKAGE, find

__all__ = ["MISSING", "find", "install"]


def install() -> bool:
    """Install Debian's Chromium; return whether that could be tried and went well."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    print(f"no Chromium found: installing Debian's package {PACKAGE} …", flush=True)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    packages = ("install", "-y", "-qq", "--no-install-recommends", PACKAGE)
    for words in (("update", "-qq"), packages):
        done = subprocess.run(
            ["apt-get", *words], check=False, capture_output=True, text=True, env=quiet
        )
        if done.returncode:
            print(done.stdout + done.stderr, flush=True)
            return False
    return True


def main() -> int:
    """Make sure that there is a Chromium and print its path; return the exit code."""
    path = find() or (find() if install() else None)
    print(path or MISSING)
    return 0 if path else 1


if __name__ == "__main__":
    sys.exit(main())
