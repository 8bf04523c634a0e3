"""What all tests share.

The modules of this folder (`support` and others) and of tools/ (`verify`, `conformance`)
are importable, and `--rewrite` renews the golden files.
"""

import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tools")]


def pytest_addoption(parser):
    parser.addoption("--rewrite", action="store_true", help="write the golden files anew")


def pytest_collection_modifyitems(items):
    """Workers of `pytest -n` must name each test alike: no id holds an object's address."""
    if unstable := [item.nodeid for item in items if " at 0x" in item.nodeid]:
        raise pytest.UsageError(f"an id holds an object's address: {unstable[0]}")


def pytest_sessionfinish():
    """Remove the conformance kit now: a worker of `pytest -n` is ended before any later hook."""
    if "kit" in sys.modules:
        sys.modules["kit"].remove()


@pytest.fixture
def rewrite(request):
    return request.config.getoption("--rewrite")
