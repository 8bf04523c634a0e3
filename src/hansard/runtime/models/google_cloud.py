"""What a machine has of Google Cloud's, by the environment and files alone: no server is asked.

- Models are asked in the project that GOOGLE_CLOUD_PROJECT names, with the application default
  credentials (ADC), or, without a project, with the key in GOOGLE_API_KEY ("express mode").
- These credentials are in the file that GOOGLE_APPLICATION_CREDENTIALS names, else in the one
  that `gcloud auth application-default login` writes, else those of Google's own machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

PROJECT, LOCATION = "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"
_FILE = "GOOGLE_APPLICATION_CREDENTIALS"
_ANYWHERE = "global"  # the location where none is named
_IS_NAME = re.compile(r"[A-Za-z0-9.:-]{1,100}").fullmatch  # it stands in an address
# One of these is set wherever Google's own metadata server hands out credentials, or the machine
# says whose it is.
_THEIRS = ("K_SERVICE", "CLOUD_RUN_JOB", "GAE_SERVICE", "GCE_METADATA_HOST")
_MACHINE = Path("/sys/class/dmi/id/product_name")


def project_of(environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the project and the location to ask in; None without a project."""
    project = environ.get(PROJECT, "").strip()
    return (project, environ.get(LOCATION, "").strip() or _ANYWHERE) if project else None


def lacking(environ: Mapping[str, str], key: str | None) -> list[str]:
    """Return what has to be set, or run, before a model can be asked."""
    place = project_of(environ)
    if place is None:
        return [] if key else [f"{PROJECT} or GOOGLE_API_KEY"]
    named = zip((PROJECT, LOCATION), place, strict=True)
    if wrong := [name for name, value in named if not _IS_NAME(value)]:
        return [f"a name in {name}" for name in wrong]
    if file := environ.get(_FILE):
        return [] if Path(file).is_file() else [f"the file that {_FILE} names"]
    is_there = _login(environ).is_file() or any(map(environ.get, _THEIRS)) or _is_theirs()
    return [] if is_there else ["gcloud auth application-default login"]


def _login(environ: Mapping[str, str]) -> Path:
    """Return the file that `gcloud` writes."""
    above = environ.get("APPDATA") if os.name == "nt" else None
    usual = Path(above or os.path.expanduser("~/.config")) / "gcloud"  # noqa: PTH111 - without a home, too
    return Path(environ.get("CLOUDSDK_CONFIG") or usual) / "application_default_credentials.json"


def _is_theirs() -> bool:
    try:
        return _MACHINE.read_text().startswith("Google")
    except (OSError, ValueError):
        return False
