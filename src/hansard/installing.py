"""How to install an extra, for this package as it was installed: from an index, a file, a clone.

An installer leaves `direct_url.json` beside a package that came from no index
(PEP 610). A command names the same place, without its password; where that is gone, or cannot
be written in one line, it names what the extra needs.
"""

from __future__ import annotations

import json
import re
import shlex
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

_NAME = "hansard"


def install_command(extra: str) -> str:
    """Return the command that installs an extra of this package where it is installed."""
    try:
        found = distribution(_NAME)
    except PackageNotFoundError:  # it is run from its source, and nothing is known
        return command_for(extra, None)
    return command_for(extra, found)


def command_for(extra: str, found: Distribution | None) -> str:
    """Return the command that installs an extra of a distribution.

    >>> command_for("openai", None)
    "pip install 'hansard[openai]'"
    """
    text = found.read_text("direct_url.json") if found else None
    origin: dict[str, Any] = json.loads(text) if text else {}
    if not origin:
        return _pip(f"{_NAME}[{extra}]")
    url, inside = str(origin.get("url", "")), str(origin.get("subdirectory", ""))
    place = Path(unquote(urlsplit(url).path)) if url.startswith("file:") else None
    lost = place is not None and not place.exists()
    if found and (lost or not f"{place or url}".isprintable()):
        return _pip(*_needed(found, extra))
    if "dir_info" in origin and place:
        edits = ["-e"] if origin["dir_info"].get("editable") else []
        return _pip(*edits, f"{place / inside}[{extra}]")
    vcs = origin.get("vcs_info", {})
    if vcs:
        url = f"{vcs['vcs']}+{_without_password(url)}@{vcs['commit_id']}"
        url += f"#subdirectory={inside}" if inside else ""
    else:
        url = _without_password(url)
    return _pip(f"{_NAME}[{extra}] @ {url}")


def _needed(found: Distribution, extra: str) -> list[str]:
    """Return what a distribution requires for an extra."""
    rows = (line.partition(";") for line in found.requires or ())
    return [row.strip() for row, _, when in rows if re.search(f"extra == ['\"]{extra}['\"]", when)]


def _without_password(url: str) -> str:
    """Return an address without user and password, but for the user `git`."""
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    kept = f"git@{host}" if user.partition(":")[0] == "git" else host
    return urlunsplit(parts._replace(netloc=kept))


def _pip(*arguments: str) -> str:
    return " ".join(["pip install", *map(shlex.quote, arguments)])
