"""The page as people use it: what it says of each outcome, keys, keyboard, print, every width."""

import json
import re
from hashlib import sha256
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from conformance_kit import sources
from exporting import EXPORT, STRANGER, exported, run_tool
from hansard.record import bundle as bundles
from hansard.rules.formats import FORMATS
from kit import KEYS, export_files
from page.harness import paste, rendered
from reporting import shown

OUTCOMES = {
    "ceiling-in-a-phase": "cut short before",
    "decided-by-two-of-three": "2 of 3 votes",
    "judged-judge-failed": "judge gave no valid reply",
    "just-opened": "Open: a longer version may exist",
    "moderated-moderator-failed": "moderator gave no valid reply",
    "refused-at-run-time": "a prompt was not approved",
    "reply-withheld": "1 of 2 turns unchecked",
    "resumed-twice": "Interrupted",
    "still-open": "Open: a longer version may exist",
    "tie-until-the-last-round": "Do not act on this: nothing was decided; “the board” must decide.",
}
SUMMED_UP = {
    "decided-by-two-of-three": ("1 of at most", "What is proven"),
    "ceiling-in-a-phase": ("1 of at most", "nothing was decided", "Cut short."),
    "reply-withheld": ("Not checked: ", "[text not available]"),
    "refused-before-the-first-call": ("The question itself: nothing was decided",),
    "tie-until-the-last-round": ("more than one option", "The question itself"),
    "just-opened": ("Do not act on this yet: the debate is still open",),
}
ALTERED, SIGNED = "vote-altered_fail", "decided-by-two-of-three"
VERDICTS = ("intact", "altered", "failed")
DESK, PHONE = {"width": 1280, "height": 720}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def exports(examples):
    """The exports of the packaged examples by format."""
    return {name: exported(bundle) for name, bundle in examples.items()}


# What it says


@pytest.mark.parametrize("name", OUTCOMES)
def test_the_first_screen_says_how_it_ended(show, name):
    page = show(export_files(name), viewport=DESK)
    said = page.locator("#summary").get_by_text(OUTCOMES[name]).first
    assert said.bounding_box()["y"] < 720
    assert page.locator("#summary .alert.bad").count() == 0


@pytest.mark.parametrize("name", SUMMED_UP)
def test_the_summary_claims_no_more_than_was_found(show, name):
    said = show(export_files(name)).text_content("#top")
    assert [words for words in SUMMED_UP[name] if words not in said] == []
    assert "of at most 0" not in said
    assert "Nothing is listed as open" not in said


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format(show, exports, examples, format_):
    page = show(exports[format_], viewport=DESK)
    events = [json.loads(line) for line in examples[format_].lines]
    turns = [event["seq"] for event in events if event["type"] == "turn.recorded"]
    for select in ("h1", "#lead", "#acting", "#trust", "#checks"):
        assert page.locator(select).first.bounding_box()["y"] < 720
    assert page.inner_text("#lead") == shown(examples[format_]).sentence
    assert page.inner_text("#acting").startswith("Do not act on this yet: ")
    assert page.inner_text("#top").count("no model was asked") == 1
    for seq in turns:
        assert page.locator(f"#e{seq}").count() == 1
    assert page.locator("#transcript [id^=e]").count() >= len(events)


# Whose key it is


def test_the_key_of_the_exporter(show):
    page = show(export_files(SIGNED))
    assert "signer not confirmed" in page.inner_text("#verdict")
    for other in (str(STRANGER.key), KEYS["approval"]):
        assert paste(page, "export", other) == "Not signed with this key."
        assert page.get_attribute("html", "data-verdict") == "consistent"
        said = "Not signed by the key you gave, register not checked"
        assert page.inner_text("#verdict") == said
        assert "A key you gave did not sign this" in page.inner_text("#trust")
    for no_key in ("so", KEYS["export"][:-4]):
        assert "not a public key" in paste(page, "export", no_key)
    assert paste(page, "export", f" {KEYS['export']} ") == "Signed with this key."
    assert page.get_attribute("html", "data-verdict") == "intact"
    assert "intact" in page.inner_text("#verdict").lower()
    assert page.get_attribute("#verdict", "class") == "good"
    paste(page, "export", str(STRANGER.key))
    assert page.get_attribute("html", "data-verdict") == "consistent"
    assert page.get_attribute("#verdict", "class") != "good"


COMPARE = """(keys) => { for (const key of keys) {
  document.getElementById("export-key").value = key;
  document.querySelector(".field:has(#export-key) button").click();
} return page.comparing; }"""


def test_of_two_keys_the_last_one_counts(show):
    """However fast they follow: a check of no known signature is done before one of a known one."""
    page, own, other = show(export_files(SIGNED)), KEYS["export"], str(STRANGER.key)
    for keys, verdict in (
        ([own, other], "consistent"),
        ([other, own], "intact"),
        ([own, "so"], "consistent"),
    ):
        page.evaluate(COMPARE, keys)
        assert page.get_attribute("html", "data-verdict") == verdict


def test_the_key_of_the_approver(show):
    page = show(export_files("approved-prompts"))
    assert paste(page, "export", KEYS["export"]) == "Signed with this key."
    assert page.get_attribute("html", "data-verdict") == "consistent"
    assert paste(page, "approval", KEYS["approval"]) == "Signed with this key."
    assert page.get_attribute("html", "data-verdict") == "intact"


def test_how_the_review_stands_by_the_keys_that_the_reader_gave(show):
    page = show(export_files("review-of-an-escalation"), viewport=DESK)
    waits = page.locator("#summary").get_by_text("Review: required, and no review counts yet")
    assert waits.bounding_box()["y"] < 720
    assert "since you have not said that you trust the key example.org/rev" in waits.inner_text()
    assert paste(page, "reviewer-0", str(STRANGER.key)) == "Not signed with this key."
    assert "A key you gave did not sign this" in page.inner_text("#trust")
    assert paste(page, "reviewer-0", KEYS["reviewer"]) == "Signed with this key."
    assert "Review: approved: example.org/reviewer" in page.inner_text("#summary")
    assert "review: waiting" not in page.inner_text("#verdict")


def test_whether_to_act_on_it_goes_by_the_keys_that_the_reader_gave(show):
    page = show(export_files("review-rejected"))
    said = [page.inner_text("#acting")]
    for field, key in (("export", "export"), ("reviewer-0", "reviewer"), ("export", None)):
        paste(page, field, KEYS[key] if key else str(STRANGER.key))
        said.append(page.inner_text("#acting"))
        assert page.get_attribute("#verdict", "class") != "good"
        assert "act on this" in page.inner_text("#verdict") or not key
    assert said == [
        "Do not act on this yet: first confirm who signed this record.",
        (
            "Look before you act on this: a review signed in the name of “example.org/reviewer” "
            "speaks against it, and you have not confirmed that key."
        ),
        (
            "Do not act on this: “example.org/reviewer” rejected this outcome in review; a person "
            "must decide anew."
        ),
        "Do not act on this: the key you gave did not sign it; ask the sender which key did.",
    ]
    agreed = show(export_files(SIGNED))
    paste(agreed, "export", KEYS["export"])
    assert agreed.inner_text("#acting").startswith("You may act on this: ")
    assert agreed.get_attribute("#verdict", "class") == "good"


def test_conditions_of_a_review_and_whether_they_are_met(show):
    page = show(export_files("review-condition-closed-unsigned"))
    paste(page, "reviewer-0", KEYS["reviewer"])
    said = page.inner_text("#summary")
    assert "Condition 1: One. (met)" in said
    assert "Condition 2: Two. (still to be met)" in said


def test_how_a_hold_was_lifted_goes_by_the_keys_that_the_reader_gave(show):
    page = show(export_files("after-everything"))
    assert "but not with a key that counts here" in page.inner_text("#summary")
    assert paste(page, "reviewer-0", KEYS["reviewer"]) == "Signed with this key."
    assert "with the key example.org/reviewer" in page.inner_text("#summary")


def test_an_altered_record_has_no_review(show):
    page = show(export_files("review-altered-outcome_fail"))
    assert "Review:" not in page.inner_text("#summary")


def test_a_key_under_a_name_of_ours_is_another_key(show):
    page = show(export_files("signer-under-our-name_fail"))
    assert paste(page, "export", KEYS["export"]) == "Not signed with this key."
    assert page.get_attribute("html", "data-verdict") == "consistent"


# What can be taken from it


def test_the_record_comes_out_as_it_went_in(show, exports, tmp_path):
    page = show(exports["consensus"])
    with page.expect_download() as found:
        page.get_by_role("button", name="Save the record").click()
    path = tmp_path / found.value.suggested_filename
    found.value.save_as(path)
    assert path.read_bytes() == bundles.pack(exports["consensus"])
    trust = tmp_path / "trust.json"
    key = {"role": "export", "key": str(EXPORT.key), "from": None, "until": None}
    trust.write_text(json.dumps({"v": 1, "keys": [key]}))
    code, out, _ = run_tool(path, "--trust", trust)
    assert code == 0
    assert "INTACT" in out.splitlines()[-1]
    with page.expect_download() as found:
        page.get_by_role("button", name="events.jsonl").click()
    found.value.save_as(path)
    assert path.read_bytes() == exports["consensus"]["events.jsonl"]


@pytest.fixture
def asked(examples):
    """The entry of a debate's last turn, and its prompt as the package renders it."""
    bundle = examples["moderated"]
    turns = map(json.loads, bundle.lines)
    last = [event for event in turns if event["type"] == "turn.recorded"][-1]
    return last["seq"], rendered(bundle, last["data"]["call"])


def test_a_prompt_as_it_was_sent(show, exports, asked):
    page, (seq, messages) = show(exports["moderated"]), asked
    prompt = page.locator(f"#e{seq} details", has_text="Prompt as it was sent")
    prompt.locator("summary").click()
    prompt.locator("pre").first.wait_for()  # it is written once the browser says that it is open
    texts = [spelled.text_content() for spelled in prompt.locator("pre").all()]
    assert texts == [message["text"] for message in messages]


def test_an_entry_as_it_was_hashed(show, exports):
    page = show(exports["judged"], "#e1")
    line = exports["judged"]["events.jsonl"].partition(b"\n")[0]
    texts = [shown.text_content() for shown in page.locator("#e1 pre").all()]
    assert line.decode() in texts
    assert sha256(line).hexdigest() in page.inner_text("#e1")


# Moving about


def test_an_address_names_an_entry(show, exports):
    page = show(exports["consensus"], "#e12", viewport=DESK)
    box = page.locator("#e12").bounding_box()
    assert 0 <= box["y"] < 720
    assert page.locator("#e12 details[open]").count() == 1
    assert page.input_value("#slider") == "12"
    page.evaluate("location.hash = '#e14'")
    expect(page.locator("#slider")).to_have_value("14")


@pytest.mark.parametrize(
    "fragment",
    ["#e0", "#e99999999", "#e-1", "#e1e1", "#%65%31", "#<b>", "#top", "#e", "#" + "x" * 9999],
)
def test_an_address_that_names_none(show, fragment):
    page = show(export_files("zip"), fragment)
    assert page.get_attribute("html", "data-verdict") == "consistent"


def test_the_keyboard_alone(show, exports):
    page = show(exports["consensus"], viewport=DESK)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    last = int(page.get_attribute("#slider", "max"))
    page.focus("#slider")
    for key, place in (("Home", 1), ("ArrowRight", 2), ("End", last), ("ArrowLeft", last - 1)):
        page.keyboard.press(key)
        assert page.input_value("#slider") == str(place)
        assert re.search(rf"\b{place} of {last}\b", page.inner_text("#then"))
    page.get_by_role("button", name="Back").focus()
    page.keyboard.press("Enter")
    assert page.input_value("#slider") == str(last - 2)
    page.get_by_role("button", name="Next").focus()
    page.keyboard.press("Space")
    assert page.input_value("#slider") == str(last - 1)
    told = page.inner_text("#told")
    assert told.startswith(f"Entry {last - 1} of {last}: ")
    assert page.get_attribute("#slider", "aria-valuetext") == told
    turn = page.locator("#transcript article").last
    turn.locator("summary").last.focus()
    page.keyboard.press("Enter")
    expect(turn.locator("details[open] pre").first).to_be_visible()


def test_play_and_pause(show, exports):
    page = show(exports["consensus"])
    page.fill("#slider", "1")
    page.click("#play")
    expect(page.locator("#slider")).to_have_value("3")
    page.click("#play")
    assert page.inner_text("#play") == "Play"


def test_the_state_at_a_point(show, exports, examples):
    """Nothing is spent and nobody voted before the first call; all is at the end."""
    page = show(exports["consensus"])
    events = [json.loads(line) for line in examples["consensus"].lines]
    first = next(event for event in events if event["type"] == "call.started")
    page.fill("#slider", str(first["seq"] - 1))
    assert "$0" in page.inner_text("#then")
    assert "0 calls" in page.inner_text("#then")
    assert first["data"]["step"].rpartition(".")[2] in page.inner_text("#then")
    page.fill("#slider", str(len(events)))
    assert "the debate is closed" in page.inner_text("#then")


# How it looks


@pytest.mark.parametrize("width", [320, 390, 1280, 1920])
def test_no_width_scrolls_sideways(show, exports, width):
    for files in (*exports.values(), export_files(ALTERED)):
        page = show(files, viewport={"width": width, "height": 800})
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width


def luminance(page):
    """How light the page's background is, 0 to 255."""
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(map(float, re.findall(r"[\d.]+", colour)[:3])) / 3


def test_dark_and_light(show, exports):
    assert luminance(show(exports["panel"], color_scheme="light")) > 200
    assert luminance(show(exports["panel"], color_scheme="dark")) < 60


def test_reduced_motion(show, exports):
    page = show(exports["panel"], reduced_motion="reduce")
    moving = (
        "node => getComputedStyle(node).transitionDuration + getComputedStyle(node).animationName"
    )
    durations = page.evaluate(f"Array.from(document.querySelectorAll('*'), {moving})")
    assert set(durations) <= {"0snone", "0.01msnone", "1e-05snone"}


@pytest.mark.parametrize(
    ("state", "scheme", "viewport"),
    [
        ("consensus", "light", PHONE),
        ("intact", "light", DESK),
        ("intact", "dark", PHONE),
        ("moderated", "dark", DESK),
        ("moderated", "light", PHONE),
        ("altered", "light", DESK),
        ("altered", "dark", PHONE),
        ("failed", "light", PHONE),
    ],
)
def test_axe_finds_nothing(show, exports, state, scheme, viewport):
    files = {
        "intact": export_files(SIGNED),
        "altered": export_files(ALTERED),
        "failed": {},
    } | exports
    page = show(files[state], viewport=viewport, color_scheme=scheme)
    page.evaluate(
        "document.querySelectorAll('.printed, .annexed, .rail').forEach(node => node.open = true)"
    )
    if page.locator("#d1").count():
        page.wait_for_selector("#d1 .reading")
    if state == "intact":
        paste(page, "export", KEYS["export"])
    if state in VERDICTS:
        assert page.get_attribute("html", "data-verdict") == state
    violations = Axe().run(page).response["violations"]
    assert [(row["id"], [node["html"] for node in row["nodes"][:3]]) for row in violations] == []


# Documents that were files


def test_a_citation_shows_its_page_and_a_file_is_saved_as_it_was(show):
    page = show(export_files("source-of-two-pages"))
    cited = page.inner_text("#entries")
    assert "clause, p. 2, verified" in cited
    assert "clause, p. 1, verified" in cited
    paper = page.locator("#d1")
    said = paper.inner_text()
    assert "PDF, 2 pages, text taken by conformance/1, original kept" in said
    assert f"SHA-256 of the file {sha256(sources.FILE).hexdigest()}" in said
    assert "verified, p. 2" in said
    paper.get_by_text("Read the document").click()
    paper.get_by_text("Page 2").wait_for()
    said = paper.inner_text()
    assert said.index("Page 1") < said.index("Payment is due") < said.index("Page 2")
    page.locator("#e7 summary").first.click()
    assert sources.SPELLED[:30] not in page.locator("#e7").inner_text()
    with page.expect_download() as saved:
        paper.get_by_role("button", name="Save clause.pdf").click()
    assert saved.value.suggested_filename == "clause.pdf"
    assert Path(saved.value.path()).read_bytes() == sources.FILE


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("source-of-two-pages", 1),
        ("source-without-original", 0),
        ("withheld-source-original", 0),
        ("withheld-source-file", 1),
        ("source-file-of-another_fail", 0),
        ("source-original-broken_fail", 0),
    ],
)
def test_only_a_file_that_has_its_hash_is_offered(show, name, offered):
    page = show(export_files(name))
    assert page.get_by_role("button", name="Save clause.pdf").count() == offered
