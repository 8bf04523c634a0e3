"""What a page does when it is damaged, when its own code fails, and what it lets nobody do."""

import gzip
import zlib
from base64 import b64encode

import pytest

from exporting import EXPORT, exported
from hansard.page.write import page, shell
from hansard.record import bundle as bundles
from hansard.record.page import CLOSING, MAX_PAGE, OPENING, region
from page.harness import ASKING, changed, heard, paste, until
from playing import answer, play


def around(data):
    """A page of this release with any bytes as its data region."""
    before, after = shell()
    return before + data + after


def zipped(files):
    return gzip.compress(bundles.pack(files), mtime=0)


def bomb():
    """A little that becomes more than a page takes on, in blocks of zeros."""
    packer, block = zlib.compressobj(9, wbits=31), bytes(1 << 20)
    parts = [packer.compress(block) for _ in range((MAX_PAGE >> 20) + 64)]
    return b"".join([*parts, packer.flush()])


FILES = exported(play("consensus"))
PACKED = zipped(FILES)
TEXT = b64encode(PACKED)
ZIP = bundles.pack(FILES)
DAMAGED = {
    "nothing": b"",
    "an empty block": OPENING + CLOSING,
    "cut in the middle": OPENING + TEXT[: len(TEXT) // 2 // 4 * 4] + CLOSING,
    "cut inside a letter": OPENING + TEXT[:-3] + CLOSING,
    "no base64": OPENING + b"*" + TEXT[1:] + CLOSING,
    "no gzip": region(ZIP),
    "gzip of another sum": region(PACKED[:-8] + bytes(4) + PACKED[-4:]),
    "more behind the gzip": region(PACKED + b"so"),
    "no zip": region(gzip.compress(b"PK so")),
    "an empty zip": region(zipped({})),
    "a zip cut off": region(gzip.compress(ZIP[: len(ZIP) // 2])),
    "a zip without its end": region(gzip.compress(ZIP[:-22])),
    "something behind the zip": region(gzip.compress(ZIP + b"so")),
    "a directory with another name": region(
        gzip.compress(b"VERIFY.mD".join(ZIP.rsplit(b"VERIFY.md", 1)))
    ),
    "a zip with a wrong sum": region(gzip.compress(ZIP.replace(b"debate", b"Debate", 1))),
    "a zip with a wrong size": region(gzip.compress(ZIP[:18] + b"\xff" * 8 + ZIP[26:])),
    "no entries": region(zipped({"VERIFY.md": b"so"})),
    "an empty record": region(zipped({"events.jsonl": b""})),
    "a page of its own": region(zipped(FILES | {bundles.PAGE: b"so"})),
    "a note of its own": region(zipped(FILES | {bundles.PAGE_NOTE: b"so"})),
    "no record": region(zipped({"events.jsonl": b"so\n"})),
    "a bomb": region(bomb()),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_data(show, name):
    found = show(around(DAMAGED[name]))
    assert found.get_attribute("html", "data-verdict") in ("failed", "altered")
    assert found.get_attribute("#verdict", "class") == "bad"
    top = found.locator("main .alert.bad").first
    assert top.bounding_box()["y"] < 720
    assert "not be checked" in top.inner_text() or "altered" in top.inner_text()
    assert found.get_by_text("Intact").count() == 0


# Replies that do not count

UNREAD = {
    "deep": '{"a":' + "[" * 100_000 + "]" * 100_000 + "}",
    "blanks": "so" + " " * 200_000 + "so",
    "unseen": "\x01\u202e" * 20_000,
}


@pytest.fixture
def unread():
    """The export of a debate in which each of these is rejected first."""
    texts = dict(zip(("ann", "bob", "cat"), UNREAD.values(), strict=True))

    def reply(request):
        first = request.call.endswith(":1") and request.phase == "draft"
        return texts[request.speaker] if first else answer(request)

    return exported(play("panel", reply, options=["so", "no"], resolution="majority"))


def test_a_rejected_reply_may_be_anything(show, unread):
    page = show(unread)
    assert page.get_attribute("html", "data-verdict") == "consistent", page.inner_text("main")
    assert page.locator("#entries .entry.out").count() >= len(UNREAD)


# Its own code


BREAKS = {
    "verification": (b"async function verifyFiles(", b"async function before("),
    "digests": (b"const sha256 =", b"const sha256 = () => { throw new Error('so'); }, before ="),
    "figures": (b"const figuresOf = (", b"const figuresOf = () => so(), before = ("),
    "drawing": (b"function drawReplay(", b"function drawReplay() { so(); } function before("),
}


@pytest.mark.parametrize("name", BREAKS)
def test_code_that_fails_is_no_verdict(show, name):
    found = show(changed(page(FILES), *BREAKS[name]))
    assert found.get_attribute("html", "data-verdict") == "failed"
    assert found.get_attribute("#verdict", "class") == "bad"
    assert "could not be checked" in found.inner_text("main")


def test_code_that_nobody_wrote_does_not_run(show):
    """The policy names the hash of each script; another one is not run, and nothing is drawn."""
    tab, url = show.new(page(FILES).replace(b"verifyFiles(files", b"verifyFiles(false && files"))
    tab.goto(url)
    assert tab.get_attribute("html", "data-verdict") == ""
    assert "Checking" in tab.inner_text("#verdict")
    assert any("Content Security Policy" in text for text in show.said)
    show.said.clear()


@pytest.mark.parametrize("saved", [False, True])
def test_without_scripts(show, saved):
    """Nor does one that was saved while it showed a record show it again."""
    given = show(FILES).content().encode() if saved else FILES
    tab, url = show.new(given, java_script_enabled=False)
    tab.goto(url)
    assert "Could not be checked" in tab.inner_text("body > noscript")
    assert (tab.get_attribute("html", "data-verdict") != "") == saved
    for place in ("#verdict", "#main"):
        assert tab.locator(place).is_hidden()
    show.said.clear()  # what the page's scripts had put into its `style` attributes is refused


def test_a_saved_copy_shows_nothing_before_a_script_has_run(show):
    """As far as its first block of data it is drawn while the rest is still read."""
    saved = show(FILES).content().partition("<script")[0]
    show.said.clear()
    tab, url = show.new(saved.encode())
    tab.goto(url)
    assert tab.get_attribute("html", "data-verdict") == "consistent"
    for place in ("#verdict", "#main"):
        assert tab.locator(place).is_hidden()
    show.said.clear()


SEEN = "[document.documentElement.dataset.verdict, document.body.innerText]"


def test_a_copy_that_was_saved_after_it_ran_says_nothing_before_it_is_checked_again(show):
    tab = show(FILES)
    paste(tab, "export", str(EXPORT.key))
    saved = "<!doctype html>\n" + tab.evaluate("document.documentElement.outerHTML")
    assert "Intact" in tab.inner_text("#verdict")
    show.said.clear()
    copy, url = show.new(saved.encode())
    copy.add_init_script(
        f"addEventListener('DOMContentLoaded', () => {{ window.first = {SEEN}; }})"
    )
    copy.goto(url)
    show.decided(copy)
    verdict, said = copy.evaluate("window.first")
    assert verdict == ""
    assert "Checking" in said
    assert "ntact" not in said
    assert copy.get_attribute("html", "data-verdict") == "consistent"
    show.said.clear()


def test_a_browser_without_ed25519(show):
    tab, url = show.new(FILES)
    tab.add_init_script(
        "crypto.subtle.importKey = () => Promise.reject(new DOMException('', 'NotSupportedError'))"
    )
    tab.goto(url)
    show.decided(tab)
    paste(tab, "export", str(EXPORT.key))
    tab.wait_for_selector("html[data-verdict=partly]")
    assert "Partly checked" in tab.inner_text("#verdict")
    assert tab.get_attribute("#verdict", "class") != "good"
    assert "Not signed" not in tab.inner_text("#verify")


# What its policy forbids

FORBIDDEN = {
    "markup": "document.body.innerHTML = '<b>so</b>'",
    "a script": "document.body.append(Object.assign(document.createElement('script'), "
    "{ textContent: 'window.ran = true' }))",
    "a handler": "document.body.setAttribute('onclick', 'window.ran = true'); "
    "document.body.click()",
    "a function of text": "Function('window.ran = true')()",
    "a timer of text": "setTimeout('window.ran = true', 0)",
    "a frame": "document.body.append(Object.assign(document.createElement('iframe'), "
    "{ srcdoc: '<script>parent.ran = true</script>' }))",
    "a link of script": "document.body.append(Object.assign(document.createElement('a'), "
    "{ id: 'so', href: 'javascript:window.ran = true' })); document.getElementById('so').click()",
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_nothing_is_run_from_text(show, name):
    tab = show(FILES)
    words = f"try {{ {FORBIDDEN[name]} }} catch {{ window.caught = true }}"
    tab.evaluate(f"setTimeout(() => {{ {words} }})")  # what DevTools evaluates may do more
    until(tab, lambda: tab.evaluate("window.caught") or show.said)
    assert tab.evaluate("window.ran") is None
    assert tab.locator("body > b").count() == 0
    show.said.clear()


def test_the_page_itself_can_ask_nobody(show, listener):
    tab, url = show(FILES), f"http://127.0.0.1:{listener.getsockname()[1]}/so"
    for words in ASKING:
        tab.evaluate(f"(url) => {{ {words} }}", url)
    # For a form that its policy refuses Chromium has opened a connection, and says nothing on it.
    assert set(heard(show, listener)) <= {b""}
    tab.close()
    show.said.clear()
