"""What all tests share.

The modules of this folder (`support` and others) and of tools/ (`verify`, `conformance`)
are importable, and `--rewrite` renews the golden files.
"""

import gc
import os
import signal
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import pytest
from hypothesis import HealthCheck, settings

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tools")]


# Whoever starts the tests in the background makes them ignore Ctrl-C, and all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No example is too slow: how fast a machine is proves nothing. The examples are the same in every
# run, so that a change is judged by what it changes; --hypothesis-profile=new draws others.
EXAMPLES = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("new", **EXAMPLES)
settings.register_profile("few", derandomize=True, max_examples=25, **EXAMPLES)
settings.register_profile("hansard", derandomize=True, **EXAMPLES)
settings.load_profile("hansard")


def pytest_addoption(parser):
    parser.addoption("--rewrite", action="store_true", help="write the golden files anew")
    parser.addoption(
        "--few",
        action="store_true",
        help="of each test the first and the last of its cases; of drawn examples a quarter",
    )
    parser.addoption(
        "--measured",
        choices=["only", "not"],
        help="only the cases in which coverage is measured, or all others",
    )


# Coverage is measured only below these, in the first and the last case of each test, and in all
# cases of PURE: what the others go through again and again, these show, and whatever is measured
# takes twice as long.
MEASURED = [Path(__file__).parent / name for name in ("unit", "cli", "services", "sources")]
PURE = [MEASURED[0] / name for name in ("record", "rules")]


def few(items):
    """Of each test, the first and the last of its cases, in order."""
    of = {}
    for item in items:
        of.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return dict.fromkeys(case for cases in of.values() for case in (cases[0], cases[-1]))


def is_measured(item, is_one_of_few):
    """Whether coverage is measured in a case."""
    folders = MEASURED if is_one_of_few else PURE
    below = any(item.path.is_relative_to(folder) for folder in folders)
    return below and not (item.get_closest_marker("slow") or item.get_closest_marker("browser"))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Leave out what is not asked for, or measured for nothing; refuse ids that change.

    Workers of `pytest -n` must name each test alike: no id holds an object's address.
    """
    chosen = few(items)
    measured = {item for item in items if is_measured(item, item in chosen)}
    for item in items:
        if item not in measured:
            item.add_marker("no_cover")
    if not config.getoption("few"):
        chosen = items[:]
    if wanted := config.getoption("measured"):
        chosen = [item for item in chosen if (item in measured) == (wanted == "only")]
    config.hook.pytest_deselected(items=[*{*items} - {*chosen}])
    items[:] = chosen
    if unstable := [item.nodeid for item in items if " at 0x" in item.nodeid]:
        raise pytest.UsageError(f"an id holds an object's address: {unstable[0]}")


def pytest_collection_finish():
    """Leave what was collected out of every later collection of garbage: it stays to the end."""
    gc.collect()
    gc.freeze()


def pytest_configure(config):
    """Give the conformance kit a place that all workers of `pytest -n` share (kit.py)."""
    if config.getoption("few"):
        settings.load_profile("few")
    if not hasattr(config, "workerinput"):
        os.environ["HANSARD_TEST_KIT"] = mkdtemp(prefix="hansard-kit-")


def pytest_unconfigure(config):
    """Remove the conformance kit; the workers have ended."""
    if not hasattr(config, "workerinput"):
        rmtree(os.environ["HANSARD_TEST_KIT"])


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


@pytest.fixture(scope="session")
def migrated(server):
    """Give the URL of a new store each time: a copy of one, whose tables took longer to make."""
    from hansard import migrate_store
    from servers import database

    migrate_store(made := server.fresh())
    return lambda: server.fresh(database(made))


@pytest.fixture
def process():
    """A process of its own, which may fork: other tests leave threads in this one.

    What is forked while one of them holds a lock, such as one of OpenSSL, may wait for it for ever.
    """
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        yield pool
