#!/usr/bin/env python3
"""Find the Chromium that the page's tests and pictures use; install Debian's where none is.

`HANSARD_CHROMIUM` names one; else the usual names on PATH are tried. Installing
needs root and apt-get.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = (
    "chromium-headless-shell",  # the same engine without windows: it opens a page twice as fast
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
PACKAGE = "chromium-headless-shell"
MISSING = (
    f"no Chromium found: install one (Debian: apt-get install --no-install-recommends {PACKAGE}), "
    "or name its program in HANSARD_CHROMIUM"
)


def find() -> str | None:
    """Return the path of a Chromium, None where there is none."""
    named = os.environ.get("HANSARD_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


def flags() -> list[str]:
    """Return what Chromium must be started with: its sandbox does not run as root."""
    return ["--no-sandbox"] if os.geteuid() == 0 else []


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
