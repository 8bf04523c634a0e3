"""Three engines behind one tab: each is spoken to in the protocol that it knows itself.

    with ENGINES["Firefox"](folder) as tab:
        tab.goto(url)
        assert tab.run("return document.title") == …

A tab runs JavaScript, clicks and types as a person does, and keeps what is saved in `tab.saved`.
Chromium is driven over its DevTools protocol, Firefox over WebDriver BiDi, and WebKitGTK over
WebDriver, on a screen that nobody sees. An engine is given a folder for all that it keeps, and
what it started ends with it.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from base64 import b64decode
from contextlib import contextmanager, suppress
from itertools import count
from queue import Queue
from threading import Thread

from websockets.sync.client import connect

import browsers
from hansard.page.printing import flags
from instant import GUARD

# What a person presses: as WebDriver spells it, and the number that Chromium wants.
KEYS = {"Home": ("\ue011", 36), "ArrowRight": ("\ue014", 39)}
CENTRE = """const node = document.querySelector(given[0]);
node.scrollIntoView({ block: "center" });
const { x, y, width, height } = node.getBoundingClientRect();
const place = [x + width / 2, y + height / 2].map(Math.floor);
if (!node.contains(document.elementFromPoint(...place))) throw new Error(`${given} is covered`);
return place;"""


class Tab(ABC):
    """A page in an engine."""

    def __init__(self, saved):
        self.saved = saved

    @abstractmethod
    def goto(self, url):
        """Open a page; what is run from then on is run in it."""

    @abstractmethod
    def _say(self, promise):
        """What a promise of a text is kept with."""

    @abstractmethod
    def _click(self, x, y):
        """Press and lift the mouse at a place of the screen."""

    @abstractmethod
    def _press(self, keys):
        """Press and lift each of these keys."""

    def run(self, body, *given):
        """Run the body of an async function, which finds what it is given in `given`."""
        said = json.loads(
            self._say(
                f"(async (...given) => {{ {body} }})(...{json.dumps(given)})"
                ".then((value) => JSON.stringify({ value: value ?? null }),"
                "(error) => JSON.stringify({ error: `${error}` }))"
            )
        )
        assert "error" not in said, said
        return said["value"]

    def until(self, condition, *given):
        """Wait until an expression is true of the page; return its value."""
        return self.run(
            f"""for (;;) {{
              const found = {condition};
              if (found) return found;
              await new Promise((done) => setTimeout(done, 10));
            }}""",
            *given,
        )

    def click(self, selector):
        """Click what a selector names."""
        self._click(*self.run(CENTRE, selector))

    def type(self, selector, text):
        """Type into a field after what it holds, or press a key of KEYS there."""
        self.run("document.querySelector(given[0]).focus()", selector)
        self._press([text] if text in KEYS else text)

    def text(self, selector):
        """The text that a person sees."""
        return self.run("return document.querySelector(given[0]).innerText.trim()", selector)


# Processes


@contextmanager
def running(words, folder, says=None, **more):
    """Start a program in a session of its own; yield what it says first that looks like `says`."""
    own = {"HOME": str(folder), "TMPDIR": str(folder), "PATH": os.environ["PATH"], **more}
    words, out = [*map(str, words)], subprocess.PIPE if says else subprocess.DEVNULL
    said: Queue[str | None] = Queue()
    with subprocess.Popen(
        words, env=own, stdout=out, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:

        def read():
            for line in process.stdout or ():
                if found := re.search(says, line):
                    said.put(found[0])
            said.put(None)  # it ended

        reader = Thread(target=read)
        reader.start()
        try:
            first = said.get(timeout=GUARD) if says else process
            assert first, f"{words[0]} ended"
            yield first
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            reader.join()


class Line:
    """A WebSocket: one answer to each question; what is said unasked is not listened to."""

    def __init__(self, socket):
        self._socket, self._numbers = socket, count(1)

    def ask(self, method, session=None, **given):
        asked = {"id": next(self._numbers), "method": method, "params": given}
        self._socket.send(json.dumps(asked | ({"sessionId": session} if session else {})))
        while True:
            said = json.loads(self._socket.recv(timeout=GUARD))
            if said.get("id") == asked["id"]:
                assert "result" in said, said
                return said["result"]


# Chromium


class ChromiumTab(Tab):
    def __init__(self, saved, line):
        super().__init__(saved)
        target = line.ask("Target.createTarget", url="about:blank")["targetId"]
        session = line.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        line.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(saved))
        self._ask = lambda method, **given: line.ask(method, session, **given)

    def goto(self, url):
        self._ask("Page.navigate", url=url)

    def _say(self, promise):
        said = self._ask(
            "Runtime.evaluate", expression=promise, awaitPromise=True, returnByValue=True
        )
        return said["result"]["value"]

    def _click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            where = {"x": x, "y": y, "button": "left", "clickCount": 1}
            self._ask("Input.dispatchMouseEvent", type=kind, **where)

    def _press(self, keys):
        for key in keys:
            what = {"windowsVirtualKeyCode": KEYS[key][1]} if key in KEYS else {"text": key}
            self._ask("Input.dispatchKeyEvent", type="keyDown", key=key, **what)
            self._ask("Input.dispatchKeyEvent", type="keyUp", key=key)


@contextmanager
def chromium(folder):
    words = [browsers.find(), "--headless", "--remote-debugging-port=0", *flags()]
    words += [f"--user-data-dir={folder}/profile", "--disable-background-networking"]
    with (
        running(words, folder, r"ws://\S+") as address,
        connect(address, max_size=None) as line,
    ):
        yield ChromiumTab(folder, Line(line))


# Firefox and WebKitGTK do the same actions


def clicking(x, y):
    place = {"type": "pointerMove", "x": x, "y": y}
    press, lift = ({"type": f"pointer{way}", "button": 0} for way in ("Down", "Up"))
    return [{"type": "pointer", "id": "mouse", "actions": [place, press, lift]}]


def pressing(keys):
    spelled = [KEYS[key][0] if key in KEYS else key for key in keys]
    actions = [{"type": f"key{way}", "value": key} for key in spelled for way in ("Down", "Up")]
    return [{"type": "key", "id": "keys", "actions": actions}]


class FirefoxTab(Tab):
    def __init__(self, saved, line):
        super().__init__(saved)
        line.ask("session.new", capabilities={})
        (tree,) = line.ask("browsingContext.getTree")["contexts"]
        self._context, self._line = tree["context"], line

    def goto(self, url):
        where = {"context": self._context, "url": url}
        self._line.ask("browsingContext.navigate", **where, wait="complete")

    def paper(self):
        """What comes out of its printer, as PDF."""
        return b64decode(self._line.ask("browsingContext.print", context=self._context)["data"])

    def _say(self, promise):
        where = {"context": self._context}
        said = self._line.ask(
            "script.evaluate", expression=promise, target=where, awaitPromise=True
        )
        return said["result"]["value"]

    def _act(self, actions):
        self._line.ask("input.performActions", context=self._context, actions=actions)

    def _click(self, x, y):
        self._act(clicking(x, y))

    def _press(self, keys):
        self._act(pressing(keys))


@contextmanager
def firefox(folder):
    profile = folder / "profile"
    profile.mkdir()
    wanted = {"browser.download.folderList": 2, "browser.download.dir": str(folder)}
    lines = [f"user_pref({json.dumps(key)}, {json.dumps(wanted[key])});\n" for key in wanted]
    (profile / "user.js").write_text("".join(lines))
    words = ["firefox-esr", "--headless", "--no-remote", "--profile", str(profile)]
    with (
        running([*words, "--remote-debugging-port=0"], folder, r"ws://\S+") as address,
        connect(f"{address}/session", max_size=None) as line,
    ):
        yield FirefoxTab(folder, Line(line))


class WebKitTab(Tab):
    def __init__(self, saved, port):
        super().__init__(saved)
        self._driver = f"http://127.0.0.1:{port}/session"
        made = self._ask("", capabilities={"alwaysMatch": {}})
        self._driver += f"/{made['sessionId']}"
        self._ask("/timeouts", script=1000 * GUARD)

    def goto(self, url):
        self._ask("/url", url=url)

    def _ask(self, path, **given):
        asked = urllib.request.Request(f"{self._driver}{path}", json.dumps(given).encode())
        try:
            with urllib.request.urlopen(asked, timeout=GUARD) as said:
                return json.loads(said.read())["value"]
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(error.read().decode()) from None

    def _say(self, promise):
        return self._ask("/execute/async", script=f"{promise}.then(arguments[0])", args=[])

    def _click(self, x, y):
        self._ask("/actions", actions=clicking(x, y))

    def _press(self, keys):
        self._ask("/actions", actions=pressing(keys))


@contextmanager
def webkit(folder):
    screen = ["Xvfb", "-displayfd", "1", "-nolisten", "tcp"]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    more = {"GDK_BACKEND": "x11", "XDG_RUNTIME_DIR": str(folder)}
    words = ["WebKitWebDriver", f"--port={port}"]
    with (
        running(screen, folder, r"^\d+$") as display,
        running(words, folder, DISPLAY=f":{display}", **more) as driver,
    ):
        listening(driver, port)
        yield WebKitTab(folder, port)


def listening(process, port):
    """Wait until a program listens, which does not say when it does."""
    for _ in range(50 * GUARD):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        with suppress(subprocess.TimeoutExpired):
            raise AssertionError(f"it ended with {process.wait(0.02)}")
    raise AssertionError("it never listened")


ENGINES = {"Chromium": chromium, "Firefox": firefox, "WebKitGTK": webkit}
