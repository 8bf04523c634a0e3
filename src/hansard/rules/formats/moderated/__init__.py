"""The `moderated` format: a framed proposition is proposed, attacked, defended and moderated.

A framer turns the question into a proposition. In each round a proposer makes
its case, a critic attacks it (a critique that is weak, or that cites nothing
where the terms ask for it, is sent back once), a rebuttal answers every
objection, and a moderator weighs arguments, never positions, and says whether
another round would help. With several positions each has a proposer, critic
and rebuttal take them one by one, and the moderator ranks them. Citations are
checked by code; an argument that rests on one that does not hold is struck
(RULES.md §4; D 21 to D 28; FORMAT.md §8.3).

When to use it: a wrong answer costs far more than a debate, and one model's
answer would be too sure of itself: contracts, security, architecture,
investment, compliance. When not: as the default, or for a fact that can be
looked up. Cost: 1 + rounds x (positions x 3 + 1) calls, and one more for each
critique that is sent back.
"""

from __future__ import annotations

from hansard.rules.formats.base import Format
from hansard.rules.formats.moderated.reading import admits, may_send_back, read, schemas
from hansard.rules.formats.moderated.schedule import due, most_turns, reason, wrong_seats
from hansard.rules.formats.moderated.showing import label, retold, template, values
from hansard.rules.formats.moderated.spec import ModeratedSpec

__all__ = ["MODERATED", "ModeratedSpec"]

MODERATED = Format(
    summary="a proposition is attacked, defended and weighed",
    spec=ModeratedSpec,
    schemas=schemas,
    most_turns=most_turns,
    wrong_seats=wrong_seats,
    due=due,
    reason=reason,
    read=read,
    admits=admits,
    may_send_back=may_send_back,
    template=template,
    values=values,
    label=label,
    retold=retold,
)
