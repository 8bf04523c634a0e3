"""The page in a real browser and under Node.

    def test_something(show):
        page = show(files)        # of an export, or a whole page's bytes; with its verdict
        assert page.inner_text("#verdict") == …

A page that is shown must ask for nothing but its own file, go nowhere and say
nothing on the console. A test that provokes any of that empties `show.said`.

A test that takes `show` runs in the browser's own thread: Playwright leaves an
event loop running there, and debates need loops of their own. So records are
made in fixtures.
"""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from playwright._impl._driver import compute_driver_executable
from playwright.sync_api import sync_playwright

import browsers
from hansard.api.specs import read_spec
from hansard.cli.starting import write_example
from hansard.examples import EXAMPLES
from hansard.page.printing import flags
from hansard.rules.formats import FORMATS
from hansard.runtime import session
from hansard.store.application import Store
from page.harness import Show


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    if "browser" in pyfuncitem.fixturenames:
        thread, test = pyfuncitem.funcargs["browser_thread"], pyfuncitem.obj
        pyfuncitem.obj = lambda **given: thread.submit(test, **given).result()
    return (yield)


@pytest.fixture(scope="session")
def node():
    """The path of the Node that Playwright brings along."""
    return compute_driver_executable()[0]


@pytest.fixture(scope="session")
def examples(tmp_path_factory):
    """The records of the packaged examples by format."""
    return _played(tmp_path_factory.mktemp("examples"), FORMATS)


@pytest.fixture(scope="session")
def practice(tmp_path_factory):
    """The records of the examples from practice by their folders."""
    return _played(tmp_path_factory.mktemp("practice"), [row.folder for row in EXAMPLES.values()])


def _played(folder, names):
    with Store.open("sqlite:///:memory:") as store:
        for name in names:
            write_example(folder / name, name)
            spec = read_spec(folder / name / "debate.yaml")
            asyncio.run(session.run(spec, store, folder / name))
        bundles = map(store.bundle, store.debates())
        return dict(zip(names, bundles, strict=True))


@pytest.fixture(scope="session")
def browser_thread():
    with ThreadPoolExecutor(1, "browser") as thread:
        yield thread


@pytest.fixture(scope="session")
def browser(browser_thread):
    """One Chromium for all tests; it is used in `browser_thread` alone."""
    path = browsers.find()
    if path is None:
        pytest.fail(browsers.MISSING)

    def start():
        playwright = sync_playwright().start()
        launch = playwright.chromium.launch
        return playwright, launch(executable_path=path, args=flags())

    playwright, started = browser_thread.submit(start).result()
    yield started
    browser_thread.submit(started.close).result()
    browser_thread.submit(playwright.stop).result()


@pytest.fixture
def show(browser, browser_thread, tmp_path):
    shown = Show(browser, tmp_path)
    yield shown
    browser_thread.submit(shown.close).result()
    assert shown.said == []


@pytest.fixture
def listener():
    """A socket of this machine that waits for whoever calls."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield server
