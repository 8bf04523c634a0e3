"""What models cost: whose word counts, and what is taken from the public list."""

from __future__ import annotations

import socket
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import genai_prices
import pytest
from genai_prices import data_snapshot, types

from hansard.rules.spec_parts import PriceSpec, Seated, Settings
from hansard.rules.spending import DEAREST
from hansard.runtime import prices
from hansard.runtime.models.callables import CallableModel
from hansard.runtime.prices import known_price, prices_of
from support import Setup

SOURCE = f"genai-prices/{genai_prices.__version__}"
OWN = PriceSpec(input="1", output="2")
STATED = PriceSpec(input="3", output="4")


@pytest.fixture(autouse=True)
def nobody_is_asked(monkeypatch):
    def refuse(*_):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def listed(rates):
    return types.ModelPrice(**rates)


@pytest.fixture
def on_the_list(monkeypatch):
    """Put one model, `m`, on the list of OpenAI with these prices."""

    def put(found=None, **rates):
        name = types.ClauseEquals("m")
        rows = [types.ModelInfo(id="m", match=name, prices=found or listed(rates))]
        provider = types.Provider("openai", "OpenAI", "", models=rows)
        snapshot = data_snapshot.DataSnapshot([provider], from_auto_update=False)
        monkeypatch.setattr(prices, "_snapshot", lambda: (snapshot, "9"))

    return put


def tiers(base, *dearer):
    rows = [types.Tier(100_000 * n, Decimal(price)) for n, price in enumerate(dearer, 1)]
    return types.TieredPrices(Decimal(base), rows)


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        ("2.5", "2.5"),
        ("2.50", "2.5"),
        ("10", "10"),
        ("1E+2", "100"),
        ("0.1234561", "0.123457"),
        ("0.00000001", "0.000001"),
        ("0", "0"),
    ],
)
def test_a_price_is_exact_text_of_six_decimals_rounded_up(on_the_list, rate, text):
    on_the_list(input_mtok=Decimal(rate), output_mtok=Decimal(1))
    found = known_price("openai:m")
    assert found == (PriceSpec(input=text, output="1"), "genai-prices/9")


def test_of_several_tiers_it_is_the_dearest_and_its_source_says_so(on_the_list):
    on_the_list(
        input_mtok=tiers("1", "3", "2"),
        output_mtok=Decimal(4),
        cache_read_mtok=tiers("0.1", "0.3"),
        cache_write_mtok=tiers("5", "1.25"),
    )
    price = PriceSpec(input="3", output="4", cached="0.3", cache_write="5")
    assert known_price("openai:m") == (price, "genai-prices/9" + DEAREST)


def test_one_tier_says_nothing_of_tiers(on_the_list):
    on_the_list(input_mtok=tiers("1"), output_mtok=Decimal(4))
    assert known_price("openai:m").source == "genai-prices/9"


@pytest.mark.parametrize(
    "rates",
    [
        {"input_mtok": Decimal(1)},
        {"output_mtok": Decimal(1)},
        {},
        {"input_mtok": Decimal(1), "output_mtok": Decimal(1), "requests_kcount": Decimal(5)},
    ],
    ids=["no output", "no input", "nothing", "each request"],
)
def test_what_tokens_of_text_do_not_pay_for_has_no_known_price(on_the_list, rates):
    on_the_list(**rates)
    assert known_price("openai:m") is None


def test_what_is_never_asked_for_changes_nothing(on_the_list):
    beside = {"web_searches_kcount": Decimal(10), "input_audio_mtok": tiers("40", "80")}
    free = {"requests_kcount": Decimal(0)}
    on_the_list(input_mtok=Decimal(1), output_mtok=Decimal(1), **beside, **free)
    assert known_price("openai:m") == (PriceSpec(input="1", output="1"), "genai-prices/9")


def test_the_price_of_today_counts(on_the_list):
    today = datetime.now(UTC).date()
    days = [(date(2020, 1, 1), "2"), (today - timedelta(1), "3"), (today + timedelta(2), "9")]
    on_the_list(
        [
            types.ConditionalPrice(
                types.StartDateConstraint(day),
                prices=listed({"input_mtok": Decimal(rate), "output_mtok": Decimal(1)}),
            )
            for day, rate in days
        ]
    )
    assert known_price("openai:m").price.input == "3"


REAL = {
    "openai": "gpt-4o-mini",
    "openai-responses": "gpt-4o-mini",
    "anthropic": "claude-haiku-4-5",
    "azure": "gpt-5-mini",
    "google": "gemini-2.5-flash",
    "vertex": "gemini-2.5-flash",
    "mistral": "mistral-small-latest",
    "openrouter": "anthropic/claude-haiku-4.5",
    "bedrock": "us.anthropic.claude-haiku-4-5-20251001-v1:0",
}


@pytest.mark.parametrize("provider", REAL)
def test_the_list_knows_models_of_each_provider(provider):
    price, source = known_price(f"{provider}:{REAL[provider]}")
    assert source.removesuffix(DEAREST) == SOURCE
    assert Decimal(0) < Decimal(price.cached) < Decimal(price.input) < Decimal(price.output)


def test_writing_to_the_cache_of_anthropic_costs_a_quarter_more():
    price, _ = known_price("anthropic:claude-haiku-4-5")
    assert Decimal(price.cache_write) == Decimal(price.input) * Decimal("1.25")


@pytest.mark.parametrize(
    "model",
    [
        "openai:no-such-model",
        "openai:claude-haiku-4-5",
        "anthropic:gpt-4o-mini",
        "ollama:gpt-4o-mini",
        "vllm:gpt-4o-mini",
        "lmstudio:gpt-4o-mini",
        "llamacpp:gpt-4o-mini",
        "python:gpt-4o-mini",
        "gpt-4o-mini",
        "openai:",
    ],
)
def test_a_model_that_is_on_no_list_has_no_known_price(model):
    assert known_price(model) is None


def test_the_packaged_list_counts_whatever_was_fetched():
    prices._snapshot.cache_clear()
    data_snapshot.set_custom_snapshot(data_snapshot.DataSnapshot([], from_auto_update=True))
    try:
        assert known_price("openai:gpt-4o-mini").source == SOURCE
    finally:
        data_snapshot.set_custom_snapshot(None)


def test_without_the_package_nothing_is_known(monkeypatch):
    prices._snapshot.cache_clear()
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    assert known_price("openai:gpt-4o-mini") is None


def seat(name, model, **settings):
    return Seated("debater", name, model, None, Settings(**settings))


def own(price=None):
    return CallableModel(str, price)


def test_the_spec_counts_before_the_model_and_the_model_before_the_list():
    table = [seat("a", "openai:gpt-4o"), seat("b", "openai:m"), seat("c", "openai:o3")]
    table.append(seat("d", "openai:no-such-model"))
    models = {"a": own(OWN), "b": own(OWN), "c": own(), "d": own()}
    found = prices_of(table, models, {"openai:gpt-4o": STATED})
    assert list(found) == ["openai:gpt-4o", "openai:m", "openai:o3"]
    assert found["openai:gpt-4o"] == (STATED, "spec")
    assert found["openai:m"] == (OWN, "model")
    assert found["openai:o3"] == known_price("openai:o3")


def test_a_price_of_nothing_is_a_price():
    free = PriceSpec(input="0", output="0")
    table = [seat("a", "openai:gpt-4o"), seat("b", "openai:o3")]
    found = prices_of(table, {"a": own(), "b": own(free)}, {"openai:gpt-4o": free})
    assert found == {"openai:gpt-4o": (free, "spec"), "openai:o3": (free, "model")}


def test_a_model_at_another_address_is_not_on_the_list():
    table = [seat("a", "openai:o3"), seat("b", "openai:o3", base_url="http://127.0.0.1:8000/v1")]
    models = {"a": own(), "b": own()}
    assert prices_of(table, models, {}) == {}
    assert prices_of(table, models, {"openai:o3": STATED}) == {"openai:o3": (STATED, "spec")}


def test_the_list_is_read_only_where_nobody_else_says_a_price():
    code = """
import sys
from types import SimpleNamespace as Some
from hansard.rules.spec_parts import PriceSpec, Seated, Settings
from hansard.runtime.prices import prices_of
price = PriceSpec(input="1", output="2")
table = [Seated("debater", m, m, None, Settings()) for m in ("openai:a", "openai:b", "ollama:c")]
models = {"openai:a": Some(price=None), "openai:b": Some(price=price), "ollama:c": Some(price=None)}
print(len(prices_of(table, models, {"openai:a": price})), "genai_prices" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "2 False\n"


@pytest.mark.parametrize(
    ("longest", "price", "dearest"),
    [(99_999, "1", ""), (100_000, "3", DEAREST), (199_999, "3", DEAREST), (200_000, "4", DEAREST)],
)
def test_a_tier_that_no_prompt_can_reach_is_not_paid(on_the_list, longest, price, dearest):
    on_the_list(input_mtok=tiers("1", "3", "4"), output_mtok=Decimal(4))
    found = known_price("openai:m", longest)
    assert (found.price.input, found.source) == (price, "genai-prices/9" + dearest)


@pytest.mark.parametrize(
    ("changes", "price"),
    [
        ({}, "1"),
        ({"max_rounds": 40}, "3"),  # 80 arguments of 4096 tokens
        ({"max_rounds": 40, "settings": {"max_tokens": 50}}, "1"),
        ({"evidence": [("memo", "x" * 200_000, 1)]}, "3"),
        ({"tools": ["lookup"]}, "3"),  # nobody knows what a tool gives
    ],
)
def test_a_debate_pays_the_tier_that_its_prompts_can_reach(on_the_list, changes, price):
    on_the_list(input_mtok=tiers("1", "3"), output_mtok=Decimal(4))
    opening = Setup("judged", model="openai:m", **changes).opening()
    assert opening._prices["openai:m"].price.input == price
