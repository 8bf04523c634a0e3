"""Structured debates between language models, with a record that proves itself.

Everything here is imported when it is first used: `from hansard import run,
verify` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

import hansard.verify  # noqa: F401 - imported later, the package would take the function's name
from hansard.api import (
    estimate,
    open_store,
    result,
    resume,
    resume_sync,
    run,
    run_sync,
    verify,
)
from hansard.errors import DataError, HansardError, UsageError
from hansard.version import __version__

if TYPE_CHECKING:
    from hansard import adapters, blocks
    from hansard.report.formats import (
        ConsensusResult,
        DebateResult,
        JudgedResult,
        ModeratedResult,
        PanelResult,
    )
    from hansard.rules.formats import (
        ConsensusSpec,
        DebateSpec,
        JudgedSpec,
        ModeratedSpec,
        PanelSpec,
    )
    from hansard.rules.spec_parts import Advocate, Ceilings, Debater, Evidence, Seat, Settings
    from hansard.runtime.models.base import Completion, ModelError, Request, ToolCall
    from hansard.store.application import Store
    from hansard.verify.findings import Verification

_LATER = {
    "rules.formats": ("ConsensusSpec", "DebateSpec", "JudgedSpec", "ModeratedSpec", "PanelSpec"),
    "rules.spec_parts": ("Advocate", "Ceilings", "Debater", "Evidence", "Seat", "Settings"),
    "report.formats": (
        "ConsensusResult",
        "DebateResult",
        "JudgedResult",
        "ModeratedResult",
        "PanelResult",
    ),
    "runtime.models.base": ("Completion", "ModelError", "Request", "ToolCall"),
    "store.application": ("Store",),
    "verify.findings": ("Verification",),
}

__all__ = [
    "Advocate",
    "Ceilings",
    "Completion",
    "ConsensusResult",
    "ConsensusSpec",
    "DataError",
    "DebateResult",
    "DebateSpec",
    "Debater",
    "Evidence",
    "HansardError",
    "JudgedResult",
    "JudgedSpec",
    "ModelError",
    "ModeratedResult",
    "ModeratedSpec",
    "PanelResult",
    "PanelSpec",
    "Request",
    "Seat",
    "Settings",
    "Store",
    "ToolCall",
    "UsageError",
    "Verification",
    "__version__",
    "adapters",
    "blocks",
    "estimate",
    "open_store",
    "result",
    "resume",
    "resume_sync",
    "run",
    "run_sync",
    "verify",
]


def __getattr__(name: str) -> object:
    """Import what is asked for by name."""
    if name in ("adapters", "blocks"):
        return import_module(f"hansard.{name}")
    for home, names in _LATER.items():
        if name in names:
            return getattr(import_module(f"hansard.{home}"), name)
    raise AttributeError(f"module 'hansard' has no attribute {name!r}")
