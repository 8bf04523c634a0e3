"""The page in three engines: what people do with it, and what an engine that lacks something says.

The same tests run in Chromium, Firefox and WebKitGTK. One that cannot be installed here is
skipped, and the summary says why; Chromium must be there.
"""

import io
import json
import re
from base64 import b64encode
from contextlib import closing
from itertools import count
from unicodedata import normalize

import pytest
from pypdf import PdfReader

import browsers
from exporting import STRANGER, exported
from hansard.page.write import page
from hansard.record import blob
from hansard.record import bundle as bundles
from instant import GUARD
from kit import KEYS, ROWS, case, export_files
from page.engines import ENGINES, ChromiumTab
from page.harness import ASKING, changed, heard_before

pytestmark = pytest.mark.browser

SIGNED = "decided-by-two-of-three"
FIRST = b"const VOCABULARY ="  # of what the page's first script does


class Pages:
    """Opens pages in an engine's tab, and waits for their verdict."""

    def __init__(self, tab, folder):
        self._tab, self._folder, self._numbers = tab, folder, count()

    def __call__(self, data, fragment="", *, wait=True):
        """Open a page, which is an export's or given in bytes."""
        file = self._folder / f"page-{next(self._numbers)}.html"
        file.write_bytes(data if isinstance(data, bytes) else page(data))
        self._tab.goto(file.as_uri() + fragment)
        if wait:
            self._tab.until("document.documentElement?.dataset.verdict")
        return self._tab


@pytest.fixture(scope="session", params=ENGINES)
def tab(request, tmp_path_factory):
    """A tab of each engine, and one for all tests of a process."""
    engine = request.param
    if engine == "Chromium" and browsers.find() is None:
        pytest.fail(browsers.MISSING)
    if engine != "Chromium" and (why := browsers.lacks(engine)):
        pytest.skip(why)
    with ENGINES[engine](tmp_path_factory.mktemp(engine)) as started:
        yield started


@pytest.fixture
def show(tab, tmp_path):
    return Pages(tab, tmp_path)


@pytest.fixture(scope="module")
def consensus(examples):
    """The export of a packaged example."""
    return exported(examples["consensus"])


def state(tab):
    """The verdict, and its colour."""
    return tab.run("return [root.dataset.verdict, document.getElementById('verdict').className]")


def paste(tab, key):
    """Give a page a key of the exporter; return what it says."""
    said = "document.querySelector('.field:has(#export-key) [role=status]')"
    tab.run(f"document.querySelector('#export-key').value = ''; {said}.textContent = ''")
    tab.type("#export-key", key)
    tab.click(".field:has(#export-key) button")
    return tab.until(f"{said}.textContent")


# The verdict

STATES = {
    "signed by somebody": (SIGNED, "consistent", "Agrees with itself; signer not confirmed"),
    "still open": ("still-open", "consistent", "a longer version may exist"),
    "a text withheld": ("reply-withheld", "consistent", "1 withheld"),
    "altered": ("vote-altered_fail", "altered", "Altered"),
    "a forged signature": ("signer-under-our-name_fail", "consistent", "signer not confirmed"),
}


@pytest.mark.parametrize("name", STATES)
def test_the_verdict(show, name):
    case, verdict, words = STATES[name]
    tab = show(export_files(case))
    assert state(tab)[0] == verdict
    assert words in tab.text("#verdict")
    assert "Intact" not in tab.text("main")


DAMAGED = {
    "cut": lambda data: data.replace(b"H4sI", b"", 1),
    "not the record's code": lambda data: changed(data, b"const figuresOf = (", b"const lost = ("),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_what_cannot_be_checked_is_no_verdict(show, name):
    tab = show(DAMAGED[name](page(export_files(SIGNED))))
    assert state(tab) == ["failed", "bad"]
    assert "This record could not be checked" in tab.text("main")


def test_a_key_confirms_who_signed(show):
    tab = show(export_files(SIGNED))
    assert paste(tab, str(STRANGER.key)) == "Not signed with this key."
    assert state(tab) == ["consistent", "bad"]
    assert paste(tab, KEYS["export"]) == "Signed with this key."
    assert state(tab) == ["intact", "good"]
    assert "Intact" in tab.text("#verdict")


def test_a_key_does_not_mend_what_was_altered(show):
    tab = show(export_files("vote-altered_fail"))
    paste(tab, KEYS["export"])
    assert state(tab) == ["altered", "bad"]


# Whatever an engine's Ed25519 makes of a signature, the page says what the table says.
THEMES = ("notes", "signatures", "weak_keys")
SIGNATURES = [
    name
    for name, row in ROWS.items()
    if row.theme in THEMES and row.expected.verdict and row.check != 1
]
VERIFY = """const [files, trust] = given;
const bytes = (text) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
const keys = trust.keys.filter((row) => row.role !== "witness");
const { verdict, findings: [first] } = await verifyFiles(
  new Map(Object.entries(files).map(([name, text]) => [name, bytes(text)])),
  keys.map(({ key, ...row }) => ({ ...row, ...readKey(key) })), trust.policies);
return [verdict, first?.code ?? null];"""


def test_every_signature_of_the_kit(show):
    tab = show(export_files(SIGNED))
    expected = {
        name: [ROWS[name].expected.verdict, ROWS[name].expected.code] for name in SIGNATURES
    }
    assert len({verdict for verdict, _ in expected.values()}) == 3
    assert {name: verified(tab, name) for name in expected} == expected


def verified(tab, name):
    """The verdict and the first finding of a case of the kit, by its trust file."""
    files = {path: b64encode(data).decode() for path, data in export_files(name).items()}
    return tab.run(VERIFY, files, json.loads(case(name).trust.read_bytes()))


# Moving about


def test_an_address_names_an_entry(show, consensus):
    tab = show(consensus, "#e12")
    tab.until("document.getElementById('e12')?.contains(document.activeElement)")
    assert tab.run("return document.getElementById('slider').value") == "12"
    box = "document.getElementById(given[0]).getBoundingClientRect().y"
    assert tab.until(f"0 <= {box} && {box} < innerHeight", "e12")
    tab.run("location.hash = '#e14'")
    assert tab.until("document.getElementById('slider').value === '14'")


def test_the_replay_goes_to_an_entry(show, consensus, examples):
    last = len(examples["consensus"].lines)
    tab = show(consensus)
    assert f"{last} of {last}" in tab.text("#then")
    tab.type("#slider", "Home")
    tab.type("#slider", "ArrowRight")
    assert f"Entry 2 of {last}" in tab.text("#then")
    assert "0 calls" in tab.text("#then")
    tab.click("#play")
    tab.until("document.getElementById('slider').value === '4'")
    tab.click("#play")
    assert tab.text("#play") == "Play"


def test_a_search_finds_what_was_said(show, consensus):
    tab = show(consensus)
    every = tab.run("return document.querySelectorAll('#entries > .entry').length")
    tab.type("#words", "Fraud")
    found = tab.until("document.querySelector('.snippet mark')?.textContent")
    assert found.lower() == "fraud"
    assert re.search(r"\d+ match(es)? in", tab.text("#found"))
    assert tab.run("return document.querySelectorAll('#entries > .entry').length") < every


# What can be taken from it


def test_the_record_comes_out_as_it_went_in(show, consensus):
    tab, record = show(consensus), bundles.pack(consensus)
    name = f"hansard-{tab.run('return page.result.lines.at(-1).hash')[:8]}.zip"
    assert not (tab.saved / name).exists()
    button = "document.querySelector('#verify .controls button')"
    assert tab.run(f"return {button}.textContent") == "Save the record (zip)"
    tab.run(f"{button}.id = 'save'")
    tab.click("#save")
    until_saved(tab, tab.saved / name, record)
    (tab.saved / name).unlink()


def until_saved(tab, path, record):
    """Wait, while the engine goes on, until it has written a file."""
    for _ in range(100 * GUARD):
        if path.exists() and path.read_bytes() == record:
            return
        tab.run("await new Promise((done) => setTimeout(done, 10))")
    raise AssertionError(f"{path} was not written")


def test_a_page_asks_nobody(show, listener):
    tab, url = show(export_files(SIGNED)), f"http://127.0.0.1:{listener.getsockname()[1]}/so"
    tab.run(
        "window.refused = [];"
        "addEventListener('securitypolicyviolation', (event) => refused.push(event.blockedURI))"
    )
    for words in ASKING:
        tab.run(f"const [url] = given; {words}", url)
    tab.until("refused.length >= given[0]", len(ASKING) - 1)  # WebKitGTK tells of no WebSocket
    asked = heard_before(lambda sentinel: show(sentinel, wait=False), listener)
    # For a form that its policy refuses an engine may open a connection, and says nothing on it.
    assert {*asked} <= {b""}


def test_without_its_policy_a_page_could_ask(show, listener):
    policy = rb'<meta http-equiv="Content-Security-Policy" [^>]+>'
    whole = page(export_files(SIGNED))
    tab = show(whole.replace(re.search(policy, whole)[0], b""))
    tab.run(f"const [url] = given; {ASKING[0]}", f"http://127.0.0.1:{listener.getsockname()[1]}/so")
    listener.settimeout(GUARD)
    with closing(listener.accept()[0]) as asked:
        assert asked.recv(100).startswith(b"GET /so HTTP/1.1\r\n")


# What an engine lacks

LACKS_ED25519 = {
    "Ed25519": "crypto.subtle.importKey = async () => "
    "{ throw new DOMException('', 'NotSupportedError'); };",
    "Web Crypto": "Object.defineProperty(crypto, 'subtle', { value: undefined });",
}


def without(files, script):
    """A page whose first script begins by taking something away from its browser."""
    return changed(page(files), FIRST, script.encode() + FIRST)


@pytest.mark.parametrize("name", LACKS_ED25519)
@pytest.mark.parametrize("case", [SIGNED, "signature-forged_fail"])
def test_signatures_that_cannot_be_checked_are_called_unchecked(show, name, case):
    tab = show(without(export_files(case), LACKS_ED25519[name]))
    assert paste(tab, KEYS["export"]) == "This browser cannot check signatures."
    assert state(tab) == ["partly", "warn"]
    said = "Partly checked: this browser cannot check signatures, register not checked"
    assert tab.text("#verdict") == f"{said}. Do not act on this yet"


def test_a_record_that_cannot_be_unpacked_is_no_verdict(show):
    tab = show(without(export_files(SIGNED), "delete globalThis.DecompressionStream;"))
    assert state(tab) == ["failed", "bad"]
    assert "cannot unpack the record: it has no DecompressionStream." in tab.text("#why")


def test_nothing_rests_on_trusted_types(show):
    tab = show(without(export_files(SIGNED), "delete globalThis.trustedTypes;"))
    paste(tab, KEYS["export"])
    assert state(tab) == ["intact", "good"]


FOOTLESS = {
    "margin boxes": "Object.defineProperty(CSSRule.prototype, 'cssText', { value: '@page { }' });",
    "style sheets of scripts": "delete globalThis.CSSStyleSheet;",
}
NO_FOOT = "This browser prints no foot on the sheets"


@pytest.mark.parametrize("name", FOOTLESS)
def test_where_sheets_have_no_foot_the_first_one_says_it(show, name):
    tab = show(without(export_files(SIGNED), FOOTLESS[name]))
    assert state(tab)[0] == "consistent"
    assert NO_FOOT in tab.text("#verify")
    paste(tab, KEYS["export"])
    foot = tab.run("return document.getElementById('foot').textContent")
    assert re.fullmatch(
        r"Record [0-9a-f-]{36} · last hash [0-9a-f]{16}… · Intact, register not checked", foot
    )


def test_an_engine_says_by_itself_that_it_prints_no_foot(show):
    tab = show(export_files(SIGNED))
    assert (NO_FOOT in tab.text("#verify")) != isinstance(tab, ChromiumTab)


@pytest.mark.parametrize("tab", ["Firefox"], indirect=True)
def test_paper_of_firefox_has_every_reply_and_names_the_record(show, examples, consensus):
    """WebKitGTK prints for nobody who asks over WebDriver; `test_print.py` is about Chromium."""
    tab = show(consensus)
    sheets = [sheet.extract_text() for sheet in PdfReader(io.BytesIO(tab.paper())).pages]
    debate = json.loads(examples["consensus"].lines[0])["debate"]
    assert folded(f"Record {debate} · last hash") in folded(sheets[0])
    paper = folded("".join(sheets))
    assert [line for line in stances(examples["consensus"]) if folded(line) not in paper] == []


def stances(bundle):
    """What the turns of a record say."""
    texts = map(blob.unpack, bundle.blobs.values())
    said = [json.loads(text) for text in texts if text.startswith("{")]
    return [row["stance"] for row in said if "stance" in row]


def folded(text):
    return re.sub(r"[\W_]", "", normalize("NFKC", text))
