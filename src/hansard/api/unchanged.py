"""Whether the debate that a batch has of a row is what the row now asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hansard.api.records import of_store
from hansard.errors import DataError, UsageError, is_of_all

if TYPE_CHECKING:
    from hansard.api.rows import Planned
    from hansard.rules.fields import Estimated
    from hansard.store.application import Store


def require_asked(store: Store, debate: str, wanted: Planned) -> None:
    """Refuse a row under whose name another question was asked; an erased one is not compared.

    Raises UsageError `batch.changed`.
    """
    try:
        opening: Any = store.opening(debate)["data"]
        asked = store.text(debate, opening["question"]["sha256"])
    except (DataError, KeyError) as error:
        if isinstance(error, DataError) and is_of_all(error):
            raise
        return
    if asked != wanted.spec.question:
        raise UsageError(
            "batch.changed",
            f"debate {debate[:8]} of this row was asked another question; give the row another "
            "name, or the batch",
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
    if not is_alike(opening, record.events, record.text):
        raise UsageError(
            "batch.changed",
            f"debate {debate[:8]} of this row is open, and was opened with other words, models, "
            f"prices, ceilings or policy than the row has now; `hansard resume {debate[:8]}` goes "
            f"on with it as it is, `hansard stop {debate[:8]}` ends it",
        )
    return expectation(opening), opening.cost_ceiling
