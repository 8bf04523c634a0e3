"""Whether the debate that a batch has of a row is what the row now asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hansard.api.records import of_store
from hansard.errors import UsageError

if TYPE_CHECKING:
    from hansard.api.records import Record
    from hansard.api.rows import Planned
    from hansard.rules.fields import Estimated
    from hansard.runtime.opening import Opening
    from hansard.store.application import Store


async def require_asked(
    store: Store, debate: str, wanted: Planned, given: Mapping[str, Any]
) -> None:
    """Refuse a row whose debate, which has ended, was asked something else.

    A row that has no name of its own has a number: where one is taken out of a table, the next
    one stands in its place, often with the same question about another document.

    Raises UsageError `batch.changed`, and what reading the row's files raises.
    """
    from hansard.runtime.estimate import rehearsed
    from hansard.runtime.files import Files
    from hansard.runtime.models.callables import in_thread

    files = Files(wanted.folder, given["allow"])
    opening = await in_thread(rehearsed, wanted.spec, files, given["models"], given["tools"])
    _require(opening, of_store(store, debate, None), wanted)


def _require(opening: Opening, record: Record, wanted: Planned) -> None:
    from hansard.runtime.alike import differs

    what = differs(opening, record.events, record.text, models=wanted.chooses)
    if what:
        raise UsageError(
            "batch.changed",
            f"debate {record.debate[:8]} of this row {what}; give the row another name, or the "
            "batch",
        )


async def planned_cost(
    store: Store, debate: str, wanted: Planned, given: Mapping[str, Any]
) -> tuple[Estimated | None, int | None]:
    """Return the estimate and the ceiling on cost of a row whose debate is open.

    The debate would go on with the models, prices and ceilings that it was opened with. Raises
    UsageError `batch.changed` unless these, and all else, are what the row says.
    """
    from hansard.runtime.alike import is_alike
    from hansard.runtime.estimate import expectation
    from hansard.runtime.files import Files
    from hansard.runtime.session import unasked

    files = Files(wanted.folder, given["allow"])
    opening = await unasked(wanted.spec, files, given["models"], given["tools"], given["policy"])
    record = of_store(store, debate, None)
    _require(opening, record, wanted)
    if not is_alike(opening, record.events, record.text):
        raise UsageError(
            "batch.changed",
            f"debate {debate[:8]} of this row is open, and was opened with other words, models, "
            f"prices, ceilings or policy than the row has now; `hansard resume {debate[:8]}` goes "
            f"on with it as it is, `hansard stop {debate[:8]}` ends it",
        )
    return expectation(opening), opening.cost_ceiling
