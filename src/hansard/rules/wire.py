"""What an entry says of the wire, against the seat's model and against itself (FORMAT.md §3).

Only a provider's model is asked over a wire. So of a reply of one it is always known
with which status it came, and whether the body that was sent is the one that was
rendered; of a reply of a local model, such as a script or a function, neither is. An
engine has no other way to record them: where it is otherwise, somebody relabelled the
model, or made the entry up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hansard.rules.seating import LOCAL


def contradicts(model: str, data: Mapping[str, Any]) -> bool:
    """Say whether what a `call.answered` or `call.failed` says of the wire cannot be.

    `model` is the seat's. An abandoned call, of which nothing is known, is not asked about.
    """
    status, compared = data["status"], data["sent_as_rendered"]
    if (compared is False) != (data["sent"] is not None):
        return True
    replied = "reply" in data
    if model.startswith(LOCAL):
        return compared is not None or (replied and status is not None)
    if replied:
        return compared is None or status is None or not 200 <= status < 300
    return status is not None and (compared is None or data["error"] == "unreachable")
