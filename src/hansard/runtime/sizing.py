"""What the prompts of a debate are made of that goes on from its record: as much as a spec gives.

The record may be a stranger's. It holds whatever an export may, and that can take many times its
bytes in a prompt: a control character is spelled out, and a template names a value again and again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hansard.errors import DataError, UsageError
from hansard.rules.formats import SPECS
from hansard.rules.prompts import MOST_SHOWN, quoted_size
from hansard.rules.state import DebateState
from hansard.runtime.inputs import check_short

MOST_IN_PROMPTS = 192 << 20  # bytes of memory, of all texts as prompts show them


def require_bounded(
    state: DebateState, templates: Mapping[str, bytes], texts: Iterable[str]
) -> None:
    """Refuse a record whose prompts might take memory without bound: DataError `record.size`."""
    fields = SPECS[state.spec["terms"]["format"]].TEMPLATES
    try:
        for row in state.spec["templates"]:
            template = templates[row["sha256"]]
            if len(template) > MOST_SHOWN:
                raise _refused(f"a {row['role']} template has more than {MOST_SHOWN:,} bytes")
            check_short(row["role"], template.decode(errors="replace"), fields[row["role"]])
    except UsageError as error:
        raise _refused(error.sentence) from None
    left = MOST_IN_PROMPTS
    for text in texts:
        size = quoted_size(text)
        left -= size
        if size > MOST_SHOWN or left < 0:
            raise _refused(
                f"its texts take more memory than {MOST_SHOWN:,} bytes each, or "
                f"{MOST_IN_PROMPTS:,} together, as prompts show them"
            )


def _refused(why: str) -> DataError:
    said = f"this debate does not go on, since its prompts could take too much memory: {why}"
    return DataError("record.size", f"{said}; `hansard stop` closes it")
