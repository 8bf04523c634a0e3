"""What the page's tests share: a page that is opened and watched, Node, and records to show."""

from __future__ import annotations

import json
import socket
import subprocess
from base64 import b64encode
from contextlib import closing, suppress
from hashlib import sha256
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Error, expect

from hansard.errors import DataError
from hansard.page.write import page as write_page
from hansard.page.write import script
from hansard.record import blob
from hansard.report.prompt import render
from hansard.rules.events import parse
from instant import GUARD

expect.set_options(timeout=1000 * GUARD)

ROOT = Path(__file__).parents[2]
DECIDED = "html:not([data-verdict=''])"  # the page sets it last, whatever came out


# Prompts


def rendered(bundle, call):
    """A prompt's messages as the package renders them, or None where one of its texts is gone."""
    texts = {name: blob.unpack(file) for name, file in bundle.blobs.items()}
    try:
        found = render(map(parse, bundle.lines), bundle.templates, texts.get, call)
    except DataError:
        return None
    return [{"role": row.role, "text": row.text} for row in found.messages]


def calls(bundle):
    """The calls of a record in order."""
    events = map(json.loads, bundle.lines)
    return [row["data"]["call"] for row in events if row["type"] == "call.started"]


# Node


def ask(node, questions, runner="kit.js", change=("", ""), options=()):
    """Ask the page's first script under Node, in one process, questions that `runner` can read.

    `change` is what stands once in the script, and what is to stand there; `options` are Node's.
    """
    text = script("figures")
    assert change == ("", "") or text.count(change[0]) == 1
    lines = "".join(json.dumps(question) + "\n" for question in questions)
    with TemporaryDirectory() as folder:
        figures = Path(folder) / "figures.js"
        figures.write_text(text.replace(*change), encoding="utf-8")
        words = [node, *options, str(Path(__file__).parent / runner), str(figures)]
        done = subprocess.run(words, input=lines, capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return [json.loads(line) for line in done.stdout.split("\n") if line]


# The browser


class Show:
    """Opens pages from disk, and listens to what they say and ask for."""

    def __init__(self, browser, folder):
        self.said = []
        self._browser, self._folder, self._number = browser, folder, count()
        self._contexts = {}

    def __call__(self, record, fragment="", **options):
        """Open a page, in a context with these options, and wait for its verdict."""
        page, url = self.new(record, **options)
        page.goto(url + fragment)
        self.decided(page)
        return page

    def decided(self, page):
        """Wait for the verdict of a page."""
        try:
            page.wait_for_selector(DECIDED, state="attached")
        except Error as error:
            raise AssertionError(f"no verdict; the page said {self.said}") from error

    def new(self, record, **options):
        """Write a page; return an empty one of the browser, and where to go."""
        page, url = self.unheard(record, **options)
        self._listen(page, url)
        return page, url

    def unheard(self, record, **options):
        """The same, without listening to what it says and asks for."""
        data = record if isinstance(record, bytes) else write_page(record)
        file = self._folder / f"page-{next(self._number)}.html"
        file.write_bytes(data)
        page = self._context(options).new_page()
        page.set_default_timeout(1000 * GUARD)
        return page, file.as_uri()

    def _context(self, options):
        key = repr(sorted(options.items()))
        if key not in self._contexts:
            self._contexts[key] = self._browser.new_context(**options)
        return self._contexts[key]

    def _listen(self, page, own):
        def elsewhere(what, url):
            if url.partition("#")[0] != own:
                self.said.append(f"{what}: {url}")

        def dialog(shown):
            self.said.append(f"dialog: {shown.message}")
            shown.dismiss()

        page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        page.on("request", lambda request: elsewhere("request", request.url))
        page.on("framenavigated", lambda frame: elsewhere("navigation", frame.url))
        page.on("popup", lambda other: self.said.append(f"window: {other.url}"))
        page.on("websocket", lambda socket: elsewhere("socket", socket.url))
        page.on("dialog", dialog)

    def close(self):
        """Close every page."""
        for context in self._contexts.values():
            context.close()


def paste(page, role, key):
    """Give a page a public key, as its reader does who got it elsewhere; return what it says."""
    page.fill(f"#{role}-key", key)
    field = page.locator(f".field:has(#{role}-key)")
    before = page.locator("#proof > *").first.element_handle()
    field.get_by_role("button", name="Compare").click()
    before.wait_for_element_state("hidden")  # the verdict is drawn anew
    return field.get_by_role("status").inner_text()


def until(page, holds):
    """Wait, while the browser goes on, until something holds."""
    for _ in range(50 * GUARD):
        if holds():
            return
        page.wait_for_timeout(20)
    raise AssertionError("it never held")


# What is asked for


_ASKING = (
    "fetch(url)",
    "navigator.sendBeacon(url)",
    "new Image().src = url",
    "new WebSocket(url.replace('http', 'ws'))",
    "new EventSource(url)",
    "new Worker(url)",
    "new FontFace('so', `url(${url})`).load()",
    "import(url)",
    "document.body.style.backgroundImage = `url(${url})`",
    "Object.assign(made('form'), { action: url, method: 'post' }).submit()",
    "Object.assign(made('link'), { href: url, rel: 'stylesheet' })",
)
_MADE = "const made = (name) => document.body.appendChild(document.createElement(name))"
# Each is a way to ask an address, `url`, for something; what goes wrong of it stays silent.
ASKING = [
    f"{_MADE}; try {{ Promise.resolve({words}).catch(() => 0) }} catch {{}}" for words in _ASKING
]


def heard(show, server):
    """The requests that came in before one came in that the browser is told to make elsewhere."""

    def visit(data):
        page, url = show.unheard(data)
        page.goto(url)  # it stays open: to close a page that still loads may take for ever

    return heard_before(visit, server)


def heard_before(visit, server):
    """The same, where `visit` has the browser open a page of these bytes."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(GUARD)
        port = other.getsockname()[1]
        asking = f"setTimeout(() => {{ new Image().src = 'http://127.0.0.1:{port}' }})"
        visit(f'<!doctype html><body onload="{asking}">'.encode())  # no load waits for it
        other.accept()[0].close()
    server.setblocking(False)
    found = []
    with suppress(BlockingIOError):
        while True:
            connection, _ = server.accept()
            found.append(b"")
            with closing(connection), suppress(BlockingIOError):  # who only connects says nothing
                found[-1] = connection.recv(100, socket.MSG_DONTWAIT).partition(b"\r")[0]
    return found


# Pages of other code


def changed(data, old, new):
    """A page whose code was changed by somebody who knows what its policy is."""
    assert data.count(old) == 1
    scripts = (part.partition(b"</script>")[0] for part in data.split(b"<script>")[1:])
    script = next(script for script in scripts if old in script)
    other = script.replace(old, new)
    return data.replace(script, other).replace(source(script), source(other))


def source(script):
    return b64encode(sha256(script).digest())
