"""What the page says of every kind of alteration, and that it says it of no genuine record."""

import json
from itertools import groupby

import pytest

from kit import KEYS, ROWS, export_files
from page.harness import Show, paste


def check_of(code):
    """The number of the check that a code belongs to."""
    return int(code.partition(".")[0])


# A case for each code of a first finding, four of a check; of the signatures that of a key which
# a reader pastes. A page sees neither a container nor itself in one.
FIRST = {
    row.expected.code: name
    for name, row in reversed(ROWS.items())
    if row.check not in (None, 1) and row.theme != "pages"
}
ALTERED = {
    code: FIRST[code]
    for _, codes in groupby(sorted(FIRST, key=check_of), check_of)
    for code in [*codes][:4]
} | {"3.signature": "signature-forged_fail"}
GENUINE = [
    "hostile-texts",
    "judged-words-of-every-kind",
    "just-opened",
    "moderated-quotes-of-every-kind",
    "panel-words-in-other-scripts",
    "refused-before-the-first-call",
    "rejected-by-every-keyword",
    "replies-of-every-kind",
    "synthesis-of-a-shape",
    "tools-of-every-kind",
    "withheld-argument",
    "withheld-moderation",
    "withheld-pick",
    "zip",
]


@pytest.fixture(scope="module")
def in_one_context(browser, browser_thread, tmp_path_factory):
    shown = Show(browser, tmp_path_factory.mktemp("pages"))
    yield shown
    browser_thread.submit(shown.close).result()


@pytest.fixture
def glance(in_one_context, browser_thread):
    """Show the page of a case; as `show`, but hundreds of them take no context each."""
    pages = []

    def look(name):
        pages.append(in_one_context(export_files(name)))
        return pages[-1]

    yield look
    for page in pages:
        browser_thread.submit(page.close).result()
    said, in_one_context.said = in_one_context.said, []
    assert said == []


def decided(name):
    """The decision that stands in a record's last lines, None without one."""
    lines = export_files(name)["events.jsonl"].decode("utf-8", "replace").splitlines()
    for line in reversed(lines):
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):  # what no reader goes down into
            continue
        if isinstance(event, dict) and event.get("type") == "decision.reached":
            return event["data"].get("decision")
    return None


@pytest.mark.parametrize("code", ALTERED)
def test_altered(glance, code):
    name = ALTERED[code]
    page = glance(name)
    if code.startswith("3."):  # a signature that is wrong says nothing before its key is known
        assert page.get_attribute("html", "data-verdict") == "consistent"
        role = {"3.signature": "export", "3.checkpoint": "log"}.get(code, "approval")
        paste(page, role, KEYS[role])
        page.wait_for_selector("html[data-verdict=altered]")
    assert page.get_attribute("html", "data-verdict") == "altered"
    assert "altered" in page.inner_text("#verdict").lower()
    alert = page.get_by_role("alert")
    assert alert.bounding_box()["y"] < page.locator("h1").bounding_box()["y"]  # above all else
    assert "altered" in alert.locator("h2").inner_text()
    assert alert.locator("strong").first.inner_text(), "plain words come first"
    first, seq = alert.locator("li").first.inner_text(), ROWS[name].expected.seq
    assert first.startswith(f"Entry #{seq}:" if seq else "The record:")
    assert f"({code})" in first
    assert not seq or page.locator(f"#e{seq}").count() == 1
    if decided(name) and page.inner_text("h1") != "This record cannot be read":
        struck = page.locator("#lead s")
        assert (
            struck.evaluate("node => getComputedStyle(node).textDecorationLine") == "line-through"
        )


@pytest.mark.parametrize("name", GENUINE)
def test_genuine(glance, name):
    page = glance(name)
    assert page.get_attribute("html", "data-verdict") == "consistent"
    assert page.inner_text("#verdict").startswith("Agrees with itself; signer not confirmed")
    assert page.get_by_role("alert").count() == 0
    assert page.locator("#summary s").count() == 0
