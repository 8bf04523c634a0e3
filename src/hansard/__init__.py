"""Structured debates between language models, with a record that proves itself.

Run a debate on a question with `debate`, or keep one as a `Debate` and run it again and
again; run what a spec or its file says with `run` or `run_sync`. Go on with an open one with
`resume`, ask what it would cost with `estimate`, and whether one is advised at all with
`should_debate`. What is kept of it is a `Record`: read it with `read_record` or
`read_export`, and show, replay, verify, export or page it.
`open_keyring`, `read_trust` and `read_policy` say who vouches for it. Every error
that is raised on purpose is a `HansardError` with a stable `code`: a `UsageError`
where the call cannot be honoured, a `DataError` where bytes that were read are bad,
a `SeatError` where your own function raised. What a spec is warned of before money
is spent is a `SpecWarning`, a tool that raised a `ToolWarning`, and a deliverable that your
own class refuses an `OutputWarning`.

Everything here is imported when it is first used: `from hansard import run,
verify` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

import hansard.verify  # noqa: F401 - imported later, the package would take the function's name
from hansard.api.batches import batch_report, list_batches
from hansard.api.batching import resume_batch, run_batch
from hansard.api.calibrating import calibrate, draft_calibrated
from hansard.api.comparing import compare, reruns_of
from hansard.api.debating import Debate, debate
from hansard.api.evaluating import evaluate, evaluate_sync
from hansard.api.exporting import export_debates, select_debates
from hansard.api.functions import read_models
from hansard.api.gating import ask_gate, should_debate
from hansard.api.listing import list_debates, rebuild_projection
from hansard.api.many import verify_exports, verify_store
from hansard.api.measuring import metrics
from hansard.api.periodic import periodic_report
from hansard.api.records import (
    Record,
    read_export,
    read_record,
    result,
    verify,
    verify_export,
)
from hansard.api.redacting import preview_redaction, redact
from hansard.api.registering import (
    add_cosigned,
    add_to_register,
    cosign,
    prove,
    prove_since,
    read_checkpoint,
    read_register,
    sign_checkpoint,
    verify_register,
)
from hansard.api.retaining import retention
from hansard.api.reviewing import (
    hold,
    import_review,
    note_outcome,
    remands_of,
    review,
    sign_review,
)
from hansard.api.running import resume, resume_sync, run, run_sync, stop, stop_sync
from hansard.api.specs import available_models, estimate, formats, prompt_templates, read_spec
from hansard.api.storing import copy_store, migrate_store, open_store
from hansard.api.trials import trial_note
from hansard.api.trust import (
    approve_policy,
    approve_prompts,
    draft_policy,
    not_allowed,
    open_keyring,
    parse_policy,
    read_policy,
    read_trust,
    unapproved_prompts,
)
from hansard.api.working import work
from hansard.errors import (
    DataError,
    ForkError,
    HansardError,
    OutputWarning,
    SeatError,
    SpecWarning,
    ToolWarning,
    UsageError,
)
from hansard.version import __version__

if TYPE_CHECKING:
    from hansard import adapters, blocks, schemas, sources
    from hansard.api.exporting import Exported, LeftOut
    from hansard.api.storing import Copied
    from hansard.export.withholding import Withholding
    from hansard.export.write import standalone_verifier
    from hansard.governance.keyring import Keyring
    from hansard.governance.trusting import TrustFile
    from hansard.governance.witness import Cosigned
    from hansard.record.checkpoint import Checkpoint
    from hansard.record.keys import Trust, TrustedKey
    from hansard.record.note import Signer, VerifierKey
    from hansard.record.policy import Policy
    from hansard.report.batched import Batch, BatchCounts, BatchRow
    from hansard.report.calibration import Calibration
    from hansard.report.comparing import Comparison
    from hansard.report.evaluation import Evaluation
    from hansard.report.following import Follower
    from hansard.report.formats import (
        BaselineResult,
        ConsensusResult,
        DebateResult,
        JudgedResult,
        ModeratedResult,
        PanelResult,
    )
    from hansard.report.gated import GateRecord
    from hansard.report.gating import GateAnswer
    from hansard.report.listing import Listing
    from hansard.report.metrics import Metrics
    from hansard.report.periodic import PeriodicReport
    from hansard.report.progress import Progress
    from hansard.report.prompt import Rendered
    from hansard.report.registered import RegisterCheck, Registered
    from hansard.report.replayed import Replayed
    from hansard.report.retention import Retention
    from hansard.report.standing import Standing
    from hansard.rules.events import Event
    from hansard.rules.formats import (
        BaselineSpec,
        ConsensusSpec,
        DebateSpec,
        JudgedSpec,
        ModeratedSpec,
        PanelSpec,
    )
    from hansard.rules.spec_parts import Advocate, Ceilings, Debater, Evidence, Seat, Settings
    from hansard.runtime.available import AvailableModels
    from hansard.runtime.estimate import Estimate
    from hansard.runtime.models.base import Completion, ModelError, Request, ToolCall, Unavailable
    from hansard.runtime.recording import Stop
    from hansard.runtime.redacting import Erasure
    from hansard.store.application import Store
    from hansard.verify.findings import Check, Finding, PageCheck, Verification
    from hansard.verify.many import Verifications, Verified

# Where the other public names are, imported when one is asked for; the block above says it to
# type checkers.
_MODULES = ("adapters", "blocks", "schemas", "sources")
_LATER = {
    "api.exporting": ("Exported", "LeftOut"),
    "api.storing": ("Copied",),
    "export.withholding": ("Withholding",),
    "export.write": ("standalone_verifier",),
    "governance.keyring": ("Keyring",),
    "governance.trusting": ("TrustFile",),
    "governance.witness": ("Cosigned",),
    "record.checkpoint": ("Checkpoint",),
    "record.keys": ("Trust", "TrustedKey"),
    "record.note": ("Signer", "VerifierKey"),
    "record.policy": ("Policy",),
    "report.batched": ("Batch", "BatchCounts", "BatchRow"),
    "report.calibration": ("Calibration",),
    "report.comparing": ("Comparison",),
    "report.evaluation": ("Evaluation",),
    "report.following": ("Follower",),
    "report.formats": (
        "BaselineResult",
        "ConsensusResult",
        "DebateResult",
        "JudgedResult",
        "ModeratedResult",
        "PanelResult",
    ),
    "report.gated": ("GateRecord",),
    "report.gating": ("GateAnswer",),
    "report.listing": ("Listing",),
    "report.metrics": ("Metrics",),
    "report.periodic": ("PeriodicReport",),
    "report.progress": ("Progress",),
    "report.prompt": ("Rendered",),
    "report.registered": ("RegisterCheck", "Registered"),
    "report.replayed": ("Replayed",),
    "report.retention": ("Retention",),
    "report.standing": ("Standing",),
    "rules.events": ("Event",),
    "rules.formats": (
        "BaselineSpec",
        "ConsensusSpec",
        "DebateSpec",
        "JudgedSpec",
        "ModeratedSpec",
        "PanelSpec",
    ),
    "rules.spec_parts": ("Advocate", "Ceilings", "Debater", "Evidence", "Seat", "Settings"),
    "runtime.available": ("AvailableModels",),
    "runtime.estimate": ("Estimate",),
    "runtime.models.base": ("Completion", "ModelError", "Request", "ToolCall", "Unavailable"),
    "runtime.recording": ("Stop",),
    "runtime.redacting": ("Erasure",),
    "store.application": ("Store",),
    "verify.findings": ("Check", "Finding", "PageCheck", "Verification"),
    "verify.many": ("Verifications", "Verified"),
}

__all__ = [
    "Advocate",
    "AvailableModels",
    "BaselineResult",
    "BaselineSpec",
    "Batch",
    "BatchCounts",
    "BatchRow",
    "Calibration",
    "Ceilings",
    "Check",
    "Checkpoint",
    "Comparison",
    "Completion",
    "ConsensusResult",
    "ConsensusSpec",
    "Copied",
    "Cosigned",
    "DataError",
    "Debate",
    "DebateResult",
    "DebateSpec",
    "Debater",
    "Erasure",
    "Estimate",
    "Evaluation",
    "Event",
    "Evidence",
    "Exported",
    "Finding",
    "Follower",
    "ForkError",
    "GateAnswer",
    "GateRecord",
    "HansardError",
    "JudgedResult",
    "JudgedSpec",
    "Keyring",
    "LeftOut",
    "Listing",
    "Metrics",
    "ModelError",
    "ModeratedResult",
    "ModeratedSpec",
    "OutputWarning",
    "PageCheck",
    "PanelResult",
    "PanelSpec",
    "PeriodicReport",
    "Policy",
    "Progress",
    "Record",
    "RegisterCheck",
    "Registered",
    "Rendered",
    "Replayed",
    "Request",
    "Retention",
    "Seat",
    "SeatError",
    "Settings",
    "Signer",
    "SpecWarning",
    "Standing",
    "Stop",
    "Store",
    "ToolCall",
    "ToolWarning",
    "Trust",
    "TrustFile",
    "TrustedKey",
    "Unavailable",
    "UsageError",
    "Verification",
    "Verifications",
    "Verified",
    "VerifierKey",
    "Withholding",
    "__version__",
    "adapters",
    "add_cosigned",
    "add_to_register",
    "approve_policy",
    "approve_prompts",
    "ask_gate",
    "available_models",
    "batch_report",
    "blocks",
    "calibrate",
    "compare",
    "copy_store",
    "cosign",
    "debate",
    "draft_calibrated",
    "draft_policy",
    "estimate",
    "evaluate",
    "evaluate_sync",
    "export_debates",
    "formats",
    "hold",
    "import_review",
    "list_batches",
    "list_debates",
    "metrics",
    "migrate_store",
    "not_allowed",
    "note_outcome",
    "open_keyring",
    "open_store",
    "parse_policy",
    "periodic_report",
    "preview_redaction",
    "prompt_templates",
    "prove",
    "prove_since",
    "read_checkpoint",
    "read_export",
    "read_models",
    "read_policy",
    "read_record",
    "read_register",
    "read_spec",
    "read_trust",
    "rebuild_projection",
    "redact",
    "remands_of",
    "reruns_of",
    "result",
    "resume",
    "resume_batch",
    "resume_sync",
    "retention",
    "review",
    "run",
    "run_batch",
    "run_sync",
    "schemas",
    "select_debates",
    "should_debate",
    "sign_checkpoint",
    "sign_review",
    "sources",
    "standalone_verifier",
    "stop",
    "stop_sync",
    "trial_note",
    "unapproved_prompts",
    "verify",
    "verify_export",
    "verify_exports",
    "verify_register",
    "verify_store",
    "work",
]


def __getattr__(name: str) -> object:
    """Import what is asked for by name."""
    if name in _MODULES:
        return import_module(f"hansard.{name}")
    for home, names in _LATER.items():
        if name in names:
            return getattr(import_module(f"hansard.{home}"), name)
    raise AttributeError(f"module 'hansard' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Name everything that is public, also what is not imported yet."""
    return sorted({*globals(), *__all__})
