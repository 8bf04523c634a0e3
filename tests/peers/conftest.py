"""Tests with frameworks of others, which the extra `peers` brings."""

from importlib.util import find_spec

import pytest

PEERS = ("autogen_agentchat", "langchain_core", "langgraph", "mcp")


def pytest_pycollect_makemodule(module_path, parent):
    """Fail, and say why, where one of them is not installed: nothing is skipped silently."""
    if missing := [name for name in PEERS if find_spec(name) is None]:
        raise pytest.Collector.CollectError(
            f"{', '.join(missing)}: not installed. Install the frameworks of others with "
            "pip install -e '.[dev,peers]', or leave their tests out with --ignore tests/peers"
        )
