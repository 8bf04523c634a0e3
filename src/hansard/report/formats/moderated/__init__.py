"""A `moderated` debate as it is shown: each round's case, attack and answer, its moderation."""

from hansard.report.display import Display
from hansard.report.formats.moderated.markdown import decision, said, use
from hansard.report.formats.moderated.result import ModeratedResult, of
from hansard.report.formats.moderated.source import ModeratedSource
from hansard.report.formats.moderated.summary import (
    by_round,
    cited,
    lead,
    points,
    rows,
    standing,
    turns,
    words,
)
from hansard.report.formats.moderated.watch import WATCH

__all__ = ["MODERATED", "ModeratedResult"]

MODERATED = Display(
    result=ModeratedResult,
    source=ModeratedSource,
    of=of,
    lead=lead,
    standing=standing,
    rows=rows,
    by_round=by_round,
    points=points,
    cited=cited,
    words=words,
    turns=turns,
    decision=decision,
    said=said,
    use=use,
    watch=WATCH,
)
ModeratedResult.display = MODERATED
