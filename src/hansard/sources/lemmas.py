"""`lemmas.debate`: independent drafts, revised, and a judge or the closest draft picks one.

>>> def complete(prompt: str) -> str:  # what `hansard.adapters.openai_complete` returns will do
...     return "Brown v. Board of Education."
>>> r = debate(query="Which decision?", agents=complete, n_agents_if_single=3, rounds=2)
>>> r.winner_label, r.final
('agent_1', 'Brown v. Board of Education.')
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from hansard.api import debating
from hansard.rules.own import Own

if TYPE_CHECKING:
    from hansard.report.formats import PanelResult


def debate(
    query: str,
    agents: Own | str | Sequence[object],
    *,
    n_agents_if_single: int = 3,
    personas: Sequence[str] | None = None,
    rounds: int = 2,
    judge: Own | str | None = None,
    **given: Any,
) -> PanelResult:
    """Run a `panel` and return its result, which has the source's members.

    `agents` is one callable or model for `n_agents_if_single` agents, or rows of a label and
    what answers. With a `judge` it picks the winner; without one the last draft most like the
    others wins, and the note on it says that this is wording. All rounds are held, unless
    `convergence_check=True` ends them once all drafts are alike. `given` is what `hansard.debate`
    takes besides (`store`, `evidence`, …). Raises what that raises.

    >>> rows = [("A", lambda prompt: "Six hours."), ("B", lambda prompt: "Six hours.")]
    >>> debate("How long was it down?", rows, rounds=1).final
    'Six hours.'
    """
    is_single = isinstance(agents, str) or callable(agents) or not isinstance(agents, Sequence)
    seats = {"agents": n_agents_if_single, "model": agents} if is_single else {"agents": agents}
    picked = {} if judge is None else {"judge": judge, "resolution": "pick"}
    stated = {
        "rounds": rounds,
        "personas": None if personas is None else [*personas],
        "convergence_check": False,
    }
    fields = {**seats, **picked, **stated, **given}
    return cast("PanelResult", debating.debate(query, format="panel", **fields))
