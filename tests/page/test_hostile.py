"""Whatever a record's texts are, the page shows them as words, and they reach nobody."""

import re
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from conformance_kit.exports import export
from conformance_kit.instructed import instructed
from conformance_kit.records import derived
from costly import counting_names, ranking_names
from exporting import exported
from hansard import compare, debate, open_store, read_record
from hansard.record import blob
from hansard.report.safe import shown as spelled
from hansard.runtime.models.base import Completion
from hostile import CASES, HARMLESS, HOSTILE, fields, replied
from page.harness import heard
from playing import answer, play
from support import SERVED, Debate, Record, Setup, script, vote

MARKUP = (
    "</script><script>document.documentElement.dataset.verdict='intact'</script><!--\n"
    "--></main></body></html><h1>Intact</h1>\n"
    "<svg onload=alert(1)><style>*{display:none}</style><base href=//x><form action=//x>\n"
    "javascript:alert(1) data:text/html,<script>alert(1)</script> &lt;b&gt; &#x3c;i&#x3e;\n"
    "{{data}} {{scripts}} ${alert(1)} \\u003cscript\\u003e ]]> <![CDATA["
)
TEXTS = {
    "orders": "\n".join(
        HOSTILE[name]
        for name in ("orders", "transcript", "protocol", "fences", "prefixed", "braces", "reply")
    ),
    "markup": "\n".join((HOSTILE["html"], HOSTILE["markdown"], HOSTILE["marks"], MARKUP)),
    "unseen": "\n".join(
        HOSTILE[name] for name in ("controls", "bidi", "invisible", "separators", "escapes")
    ),
    "long": " ".join(("w" * 10_000, "e\u0301\u0302\u0303" * 300, "vote release " * 99, "字" * 999)),
    "keys": "__proto__ constructor toString hasOwnProperty 1 0 -1 null undefined NaN",
    "right to left": "القرار هو الإصدار \u05d4\u05d4\u05d7\u05dc\u05d8\u05d4 (abc) 123 قرار",
}


def everywhere(case, text):
    """The export of a debate in which every text that anybody writes is `text`."""

    def reply(request):
        said = replied(request, text)
        if not isinstance(said, Completion):
            said = Completion(said, model=text, request_id=text)
        return replace(said, status=200, sent_as_rendered=False, sent=text)

    def look(what: str) -> str:
        """Look something up."""
        return text

    bundle = play(
        CASES[case],
        reply,
        asked="openai:bot",
        name=None,
        use={"look": look},
        tools=["look"],
        **fields(case, text),
    )
    return exported(bundle)


@pytest.fixture(params=CASES)
def records(request):
    """The exports of one debate for every other text, by turns, and first for a harmless one."""
    turn = list(CASES).index(request.param) % 2
    texts = (HARMLESS, *list(TEXTS.values())[turn::2])
    return {text: everywhere(request.param, text) for text in texts}


OPEN_ALL = "document.querySelectorAll('details').forEach((node) => { node.open = true; })"
CLICK_ALL = """document.querySelectorAll("button, a, summary, .line").forEach((node) => {
  if (node.textContent !== "Print") node.dispatchEvent(new MouseEvent("click", { bubbles: true }));
})"""
VERDICT = ("#verdict", "#trust")
# How many elements of each name there are: blocks of data, boxes of code points and the whole of a
# long question aside.
ELEMENTS = """() => {
  const counted = {};
  for (const node of document.querySelectorAll("*:not(.code, [type$=stream], .asked, .asked *)")) {
    counted[node.localName] = (counted[node.localName] ?? 0) + 1;
  }
  return counted;
}"""
ATTRIBUTES = """() => Array.from(document.querySelectorAll("*"), (node) =>
  Array.from(node.attributes, (row) => [row.name, row.value])).flat()"""


def test_texts_are_shown_as_words_and_move_nothing(show, records):
    usual = None
    for text, files in records.items():
        page = show(files, viewport={"width": 320, "height": 640})
        page.get_by_text("Prompt as it was sent").last.click()
        page.wait_for_selector("details[open] pre")
        seen = [page.inner_text(place) for place in VERDICT], page.evaluate(ELEMENTS)
        usual = usual or seen
        assert seen == usual, text
        page.evaluate(OPEN_ALL)  # a document has the structure that its words give it, and no more
        page.wait_for_selector("#d1 .reading")
        attributes = page.evaluate(ATTRIBUTES)
        assert not [name for name, _ in attributes if name.startswith(("on", "src"))]
        assert not [value for name, value in attributes if name == "style" and "url" in value]
        assert {value[0] for name, value in attributes if name == "href"} == {"#"}
        shown = page.evaluate("document.body.textContent")
        everything = "".join([shown, page.title(), *(value for _, value in attributes)])
        assert spelled(everything) == everything
        assert re.sub("<(U[+][0-9A-F]+)>", "\\1", spelled(text)) in shown
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 320
        page.close()


WINDOW = {"viewport": {"width": 800, "height": 600}}


@pytest.fixture
def piled():
    """Exports of one debate: of a plain question, and of one with marks piled on its letters."""
    marks = "\u0323" * 400, "\u0300" * 400, "\u20dd" * 60
    texts = ["ab", "ab", *(f"a{row}b" for row in marks)]
    return [exported(play("consensus", question=text)) for text in texts]


def test_marks_piled_on_a_letter_hide_no_words_of_the_page(show, piled):
    seen = []
    for files in piled:
        page = show(files, **WINDOW)
        seen.append(
            [page.locator(place).screenshot() for place in ("#verdict", "#lead", "#acting")]
        )
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 800
        page.close()
    assert all(row == seen[0] for row in seen)


@pytest.fixture
def compared():
    """A debate in whose question marks stand beside a letter, compared with another."""
    with open_store("sqlite:///:memory:") as store:
        given = {"format": "panel", "agents": lambda _: "So.", "store": store}
        made = [debate(text, **given) for text in (f"a{chr(0x489) * 100}b", "ab")]
        return compare(*(read_record(store, each.debate) for each in made))


def test_marks_of_one_record_hide_no_words_of_the_other_it_is_compared_with(show, compared):
    """Where a font does not pile them, they are drawn beside their letter."""
    page, url = show.new(compared.to_html().encode(), **WINDOW)
    page.goto(url)
    row = page.locator("tr", has=page.get_by_role("rowheader", name="Question"))
    seen = row.locator("td").last.screenshot()
    row.locator("td").first.evaluate("cell => { cell.style.visibility = 'hidden' }")
    assert row.locator("td").last.screenshot() == seen


# Nothing is too long

LONG = "so it is " * 20_000
ENDLESS = "so it is " * 300_000


@pytest.fixture
def lengthy():
    """Exports of debates with a long question, by how long it is; letters that nobody sees are."""
    blank = f"Shall we?{chr(0x3164)} " + f"{chr(0x3164)} " * 3_000 + "Intact. You may act on this."
    return [exported(play("consensus", question=text)) for text in (LONG, blank, ENDLESS)]


@pytest.fixture
def wide():
    """Exports of debates with a question of few letters that take much room."""
    texts = ("字" * 300, "W" * 300, "\ufdfd" * 300, "\n".join("ab" * 60))
    return [exported(play("consensus", question=text)) for text in texts]


def shown_at_first(show, files, width, height):
    """The page of an export, all that leads being on its first screen."""
    page = show(files, viewport={"width": width, "height": height})
    for place in ("#verdict", "h1", "#lead", "#acting", "#trust"):
        box = page.locator(place).first.bounding_box()
        assert box["y"] + box["height"] < height, place
    return page


@pytest.mark.parametrize("viewport", [(1280, 720), (390, 844)], ids=str)
def test_no_question_is_so_long_that_the_verdict_leaves_the_first_screen(show, lengthy, viewport):
    for files in lengthy:
        page = shown_at_first(show, files, *viewport)
        assert len(page.inner_text("h1")) <= 300
        page.get_by_text("The question in full").click()
        assert len(page.inner_text("#summary .said")) > 5_000
        page.close()


@pytest.mark.parametrize("viewport", [(1280, 720), (390, 844)], ids=str)
def test_letters_that_take_much_room_push_nothing_off_the_first_screen(show, wide, viewport):
    for files in wide:
        page = shown_at_first(show, files, *viewport)
        fits = "head => head.scrollHeight <= head.clientHeight"
        assert page.locator(".asked").is_hidden() == page.locator("h1").evaluate(fits)
        page.set_viewport_size({"width": 390, "height": 400})
        page.get_by_text("The question in full").click()
        page.emulate_media(media="print")
        assert page.locator("h1").evaluate(fits)
        page.close()


def test_of_a_text_without_end_so_much_is_drawn_as_can_be_read(show, lengthy):
    page = show(lengthy[-1])
    said = page.text_content("#summary .said")
    assert 2_000_000 < len(said) < len(ENDLESS)
    assert "2,700,000 characters, in full in the record" in said[-100:]


@pytest.fixture
def ranking():
    return ranking_names(6)


def test_of_what_is_not_due_so_much_is_counted_as_takes_little_memory(show, ranking):
    """Each of the last six entries has nearly 1 MiB, and the first of them is not due."""
    page = show(ranking)
    assert page.evaluate("page.events.length") == 28
    assert page.evaluate("page.figures.left_out") == [25, 26, 27, 28]


@pytest.fixture
def counting():
    return counting_names(4)


def test_of_what_an_entry_says_of_votes_so_much_is_drawn_as_can_be_read(show, counting):
    drawn = show(counting).locator("summary", has_text="Votes are counted").all_text_contents()
    assert len(drawn) == 4
    assert all(20_000 < len(text) < 21_000 for text in drawn)


@pytest.fixture
def named_often(monkeypatch):
    """A record in which each of its calls was served by a model of one long name."""
    blob, known = Record.blob, {}

    def once(record, text):
        if text != LONG:
            return blob(record, text)
        if text not in known:
            known[text] = blob(record, text)
        return known[text]

    monkeypatch.setattr(Record, "blob", once)
    usual = vote("release", more=dict.fromkeys(("model", "request_id", "fingerprint"), LONG))
    bundle = Debate(Setup(model=SERVED), script(usual=usual)).run().bundle()
    return exported(bundle)


def test_a_long_text_that_many_entries_name_is_drawn_where_it_is_wanted(show, named_often):
    page = show(named_often)
    assert page.get_attribute("html", "data-verdict") == "consistent"
    assert len(page.text_content("main")) < 4 * len(LONG)  # at the first entry that names it
    entry = page.locator("details.entry", has_text="Model, 180,000 characters").first
    entry.evaluate(
        "node => { for (let each = node; each; each = each.parentElement.closest("
        "'details')) each.open = true; }"
    )
    assert page.locator("details.entry > pre", has_text="so it is so it is").count() == 3
    entry.get_by_text("Model, 180,000 characters").click()
    assert entry.locator(".extra[open] pre").first.text_content() == LONG


@pytest.fixture
def served_by_blanks():
    """A record in which each of its calls was served by a model named by blanks alone."""
    usual = vote("release", more={"model": " " * 180_000})
    return exported(Debate(Setup(model=SERVED), script(usual=usual)).run().bundle())


def test_of_a_name_of_blanks_so_much_is_read_as_is_said_in_a_line(show, served_by_blanks):
    """Many calls may have one of sixty megabytes: all of it, for each, would take hours."""
    page = show(served_by_blanks)
    seat = page.locator("#participants article").first
    seat.get_by_text("Prompts and replies by hash").click()
    said = "… (180,000 characters, in full in the record that you can save)"
    expect(seat.locator("dd", has_text=said)).to_have_count(1)
    expect(seat.locator("td", has_text=said)).to_have_count(1)


@pytest.fixture
def told_often():
    """A seat that is told one long text in every other round, and else something of its own."""
    record = instructed().until(4)
    texts = [LONG, *(f"so it is {n}." for n in range(150))]
    files = [blob.pack(text, derived("told", n)) for n, text in enumerate(texts)]
    names = [name for own, _ in files[1:] for name in (files[0][0], own)]
    rows = [{"round": n, "text": {"sha256": name}} for n, name in enumerate(names, 1)]
    record = record.data(2, instructions=rows)
    return export(replace(record, blobs={**record.blobs, **dict(files)}).pruned())


def test_a_text_that_one_entry_names_often_is_drawn_once_and_few_are_drawn_at_once(
    show, told_often
):
    page = show(told_often)
    assert page.get_attribute("html", "data-verdict") == "consistent"
    entry = page.locator("#e2")
    assert entry.locator("pre").count() == 100
    entry.evaluate(
        "node => { for (let each = node; each; each = each.parentElement.closest("
        "'details')) each.open = true; }"
    )
    entry.locator("summary", has_text="more texts").click()
    entry.locator("pre", has_text="so it is 149.").wait_for()
    shown = entry.locator("pre").all_text_contents()
    assert shown[:151] == [LONG, *(f"so it is {n}." for n in range(150))]
    assert len(shown) == 152  # with its stance


# Nothing leaves


def beckoning(url):
    """A text that does all it can to have a URL asked for."""
    return "\n".join(
        (
            f"{url} [so]({url}) ![so]({url}) <{url}>",
            f"<img src={url}><script src={url}></script><link rel=stylesheet href={url}>",
            f"<iframe src={url}></iframe><form action={url}><button>so</button></form>",
            f"<meta http-equiv=refresh content='0;url={url}'><a href={url} ping={url}>so</a>",
            f"<svg><image href={url} /></svg><style>@import '{url}'; * {{background: url({url})}}",
            f"javascript:fetch('{url}') <base href={url}><video poster={url}><link rel=preconnect",
            f"'\"><object data={url}></object> ${{fetch('{url}')}} }}}} fetch('{url}') </style>",
        )
    )


@pytest.fixture(params=CASES)
def luring(request, listener):
    """A record whose every text would have a browser ask the listener."""
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/so"
    return everywhere(request.param, beckoning(url))


def test_the_listener_is_heard(show, listener):
    """Without the page's policy the same words would have come through."""
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/so"
    page, address = show.new(b"<!doctype html>" + beckoning(url).encode())
    page.goto(address, wait_until="commit")
    assert any(b"GET /so HTTP/1.1" in heard(show, listener) for _ in range(20))
    page.close()
    show.said.clear()


def test_nothing_leaves_the_page(show, luring, listener):
    page = show(luring)
    page.evaluate(OPEN_ALL)
    page.wait_for_selector("details[open] pre")
    page.evaluate(CLICK_ALL)
    assert heard(show, listener) == []
    assert page.get_attribute("html", "data-verdict") == "consistent"


# What was not looked up


def says_more(request):
    """A function that says more than it was asked for, in shapes and names that mean something."""
    unspeakable = {"toString": 1, "valueOf": 1}  # becomes no text by itself
    if request.phase not in ("proposition", "rebuttal"):
        return answer(request)
    forged = {"argument": "so", "citations": [{"document": "memo", "quote": "never written"}, None]}
    cited = {"document": "memo", "quote": "thirty days", "more": unspeakable}
    argued = {"argument": "so", "citations": [cited], "objection": unspeakable}
    more = {"also": [forged], "conceded": {"objection": unspeakable, "reason": "never"}}
    own = {"supporting_arguments": [argued]} if request.phase == "proposition" else {}
    return {**answer(request), **own, **more}


@pytest.fixture
def talkative():
    return exported(play("moderated", says_more, evidence=[{"id": "memo", "text": "thirty days"}]))


def test_what_a_function_says_beside_its_reply_is_never_shown_as_looked_up(show, talkative):
    page = show(talkative)
    assert page.get_attribute("html", "data-verdict") == "consistent"
    found = page.locator("#entries .signed", has_text="verified").all_inner_texts()
    assert found == ["“thirty days” memo, verified"]
    turn = page.locator("#entries article", has_text="never written").first.inner_text()
    assert "Concedes objection" not in turn
    assert "On objection" not in turn
