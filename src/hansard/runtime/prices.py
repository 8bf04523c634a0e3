"""What models cost: as the spec says, else as the model states, else by the public price list.

The list is the snapshot inside the installed `genai-prices`; it is never
fetched. It is imported only where neither spec nor model says a price.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Decimal
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from hansard.rules.spec_parts import PriceSpec, Seated
from hansard.rules.spending import DEAREST
from hansard.runtime.models.base import Model
from hansard.runtime.models.callables import says
from hansard.runtime.models.provider_rows import PROVIDERS

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import TieredPrices

_STEP = Decimal("0.000001")


class Priced(NamedTuple):
    """A price, and who says so: `spec`, `model`, or `genai-prices/` and its version.

    After the version stands DEAREST where a longer prompt than some would cost more.
    """

    price: PriceSpec
    source: str


def prices_of(
    table: Sequence[Seated],
    models: Mapping[str, Model],
    stated: Mapping[str, PriceSpec],
    longest: int | None = None,
) -> dict[str, Priced]:
    """Return what is known of the prices of the models at the table, by model, in their order.

    `models` gives the model of each seat, `stated` the spec's own prices, `longest` is
    as in `known_price`. A model that a seat asks for at another address is not on its
    provider's list. Raises UsageError `model.own`.
    """
    own = {row.model: says(models[row.id], "price", PriceSpec, row.model) for row in table}
    elsewhere = {row.model for row in table if row.settings.base_url}
    found: dict[str, Priced] = {}
    for model, price in sorted(own.items()):
        if model in stated:
            found[model] = Priced(stated[model], "spec")
        elif price:
            found[model] = Priced(price, "model")
        elif model not in elsewhere and (listed := known_price(model, longest)):
            found[model] = listed
    return found


def known_price(model: str, longest: int | None = None) -> Priced | None:
    """Return today's price of a `provider:name` by the list, in US dollars per million tokens.

    Of several tiers it is the dearest that a prompt of `longest` tokens can reach
    (None: of any length), and each number is rounded up, so that a ceiling holds.
    None where the list or the model is not there, or where the
    model is not paid by the tokens of its texts.
    """
    provider, _, name = model.partition(":")
    row = PROVIDERS.get(provider)
    if row is None or row.prices is None:  # a server of one's own is on no list
        return None
    try:
        snapshot, version = _snapshot()
        _, found = snapshot.find_provider_model(name, None, row.prices, None)
    except (ImportError, LookupError):
        return None
    listed = vars(found.get_prices(datetime.now(UTC)))
    return _as_priced(listed, f"genai-prices/{version}", longest)


@cache
def _snapshot() -> tuple[DataSnapshot, str]:
    """Return the list as the package brings it, whatever this process has since fetched."""
    from genai_prices import __version__, data, data_snapshot  # noqa: PLC0415 - an extra, and slow

    return data_snapshot.DataSnapshot(data.providers, from_auto_update=False), __version__


def _as_priced(
    listed: Mapping[str, Decimal | TieredPrices | None], source: str, longest: int | None
) -> Priced | None:
    """Return a listed price as ours.

    What is listed beside tokens of text (searches, sound, pictures) is never asked
    for. A price of each request is always paid, and none of ours can say it.
    """
    tokens_in, tokens_out = listed.get("input_mtok"), listed.get("output_mtok")
    if tokens_in is None or tokens_out is None or listed.get("requests_kcount"):
        return None
    cached, written = listed.get("cache_read_mtok"), listed.get("cache_write_mtok")
    price = PriceSpec(
        input=_dollars(tokens_in, longest),
        output=_dollars(tokens_out, longest),
        cached=None if cached is None else _dollars(cached, longest),
        cache_write=None if written is None else _dollars(written, longest),
    )
    rows = (tokens_in, tokens_out, cached, written)
    tiered = any(row and len(_tiers(row, longest)) > 1 for row in rows)
    return Priced(price, source + DEAREST if tiered else source)


def _dollars(listed: Decimal | TieredPrices, longest: int | None) -> str:
    """Return the dearest tier as decimal text of at most six decimals, rounded up."""
    return f"{max(_tiers(listed, longest)).quantize(_STEP, ROUND_CEILING).normalize():f}"


def _tiers(listed: Decimal | TieredPrices, longest: int | None) -> list[Decimal]:
    if isinstance(listed, Decimal):
        return [listed]
    reached = [row for row in listed.tiers if longest is None or row.start <= longest]
    return [listed.base, *(row.price for row in reached)]
