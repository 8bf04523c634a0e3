"""Every example in a docstring runs; those with frameworks of others run in tests/peers."""

import doctest
import importlib
import pkgutil

import pytest

import hansard

WITH_PEERS = [
    f"hansard.examples.agents.{name}" for name in ("autogen_seat", "langgraph_seat", "mcp_seat")
]
MODULES = [
    row.name
    for row in pkgutil.walk_packages(hansard.__path__, "hansard.")
    if not row.name.endswith("__main__") and row.name not in WITH_PEERS
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_run(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_the_public_api_has_examples():
    for name in ("running", "records", "specs", "trust"):
        module = importlib.import_module(f"hansard.api.{name}")
        assert doctest.testmod(module).attempted >= 3
