"""What all tests share.

The modules of this folder (`support` and others) and of tools/ (`verify`, `conformance`)
are importable, and `--rewrite` renews the golden files.
"""

import gc
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tools")]


# Whoever starts the tests in the background makes them ignore Ctrl-C, and all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No example is too slow: how fast a machine is proves nothing. The examples are the same in every
# run, so that a change is judged by what it changes; --hypothesis-profile=new draws others.
EXAMPLES = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("new", **EXAMPLES)
settings.register_profile("hansard", derandomize=True, **EXAMPLES)
settings.load_profile("hansard")


def pytest_addoption(parser):
    parser.addoption("--rewrite", action="store_true", help="write the golden files anew")


# Coverage is measured only below these: what the others go through again and again, these show,
# and whatever is measured takes twice as long.
MEASURED = [Path(__file__).parent / name for name in ("unit", "cli", "services", "sources")]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Measure no coverage where it doubles the time for nothing; refuse ids that change.

    Workers of `pytest -n` must name each test alike: no id holds an object's address.
    """
    for item in items:
        measured = any(item.path.is_relative_to(folder) for folder in MEASURED)
        if not measured or item.get_closest_marker("slow") or item.get_closest_marker("browser"):
            item.add_marker("no_cover")
    if unstable := [item.nodeid for item in items if " at 0x" in item.nodeid]:
        raise pytest.UsageError(f"an id holds an object's address: {unstable[0]}")


def pytest_collection_finish():
    """Leave what was collected out of every later collection of garbage: it stays to the end."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish():
    """Remove the conformance kit now: a worker of `pytest -n` is ended before any later hook."""
    if "kit" in sys.modules:
        sys.modules["kit"].remove()


@pytest.fixture
def rewrite(request):
    return request.config.getoption("--rewrite")


@pytest.fixture(autouse=True)
def unknown_servers():
    """No test waits for what the server of another test asked for: ports come again."""
    if pacing := sys.modules.get("hansard.runtime.pacing"):
        pacing._SERVERS.clear()


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL server, started with the first test that asks for it, and ended at the end."""
    from servers import MISSING, is_there, running

    if not is_there():
        pytest.skip(MISSING)
    with running() as found:
        yield found
