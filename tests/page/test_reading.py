"""Reading a page: finding one's way in the transcript, the documents, the seats, and paper."""

import json
from base64 import b64encode
from hashlib import sha256

import pytest
from playwright.sync_api import expect

from exporting import exported
from hansard.runtime.documents import Taken
from kit import export_files
from support import Debate, Reply, Setup, argued, say, script, vote

DESK, PHONE = {"width": 1280, "height": 720}, {"width": 320, "height": 640}
SPLIT = {"planner": "release", "critic": "revise", "operator": "escalate"}
MARKDOWN = """# Pilot

Of **400** claims, *9* were wrong, see `claims.csv`.

- above
  - below
- after

| band | cases |
|---|---:|
| to 600 | 9 |

```sh
# no heading
```

> quoted

<b>no element</b> [no link](https://example.org) ![none](x.png)
"""


def closed(setup, ends):
    """The export of a debate."""
    return exported(Debate(setup, ends).run().bundle())


@pytest.fixture(scope="module")
def cited():
    """A debate about one Markdown document, with one quote that is in it and one that is not."""
    setup = Setup("moderated", evidence=(("pilot", MARKDOWN, 1),))
    claims = [argued(("pilot", "400** claims, *9* were")), argued(("pilot", "nothing of it"))]
    ends = {"critique": say(counter_arguments=claims)}
    return closed(setup, script(ends))


@pytest.fixture(scope="module")
def long_one():
    """A debate of 60 turns, one of them long, whose votes stay split."""

    def reply(call):
        words = f"{call.step.speaker} in round {call.step.round}"
        if call.step.id == "r3.critique.critic":
            words = "Needle. " + "Much more of it. " * 400
        return Reply(
            json.dumps({"stance": words, "rationale": "so", "vote": SPLIT[call.step.speaker]})
        )

    return closed(Setup(max_rounds=5), reply)


def shown(page):
    """The entries that the transcript shows."""
    return page.locator("#entries > .entry").evaluate_all("nodes => nodes.map((node) => node.id)")


def test_a_search_finds_every_text(show, long_one):
    page = show(long_one, viewport=DESK)
    page.fill("#words", "NEEDLE")
    expect(page.locator("#found")).to_contain_text("1 match in")
    (found,) = shown(page)
    assert page.inner_text(f"#{found} header").startswith("#")
    assert page.inner_text(".snippet mark") == "Needle"
    page.fill("#words", "you plan releases")  # nobody's persona
    expect(page.locator("#found")).to_contain_text("0 matches in")
    page.fill("#words", "")
    assert len(shown(page)) > 60
    assert page.inner_text("#found") == ""


def test_filters_narrow_together_and_an_address_shows_all_again(show, long_one):
    page = show(long_one, viewport=DESK)
    page.select_option("#by-seat", label="critic")
    page.select_option("#by-phase", label="critique")
    assert len(shown(page)) == 5
    page.fill("#words", "round 2")
    assert len(shown(page)) == 1
    page.evaluate("location.hash = '#r4.revision.operator'")
    expect(page.locator("#by-seat")).to_have_value("")
    expect(page.locator("article:focus")).to_contain_text("operator in round 4")
    page.select_option("#by-flag", label="does not count")
    assert shown(page) == []


def test_the_rail_leads_to_every_turn(show, long_one):
    page = show(long_one, viewport=DESK)
    assert page.locator(".rail details").count() == 5
    page.locator(".rail summary", has_text="Round 3").click()
    page.locator(".rail a", has_text="critic").nth(1).click()
    node = page.locator("article:focus")
    expect(node).to_contain_text("Needle")
    assert page.url.endswith("#r3.critique.critic")
    assert 0 <= node.bounding_box()["y"] < 720


def test_a_long_turn_is_folded_until_it_is_wanted(show, long_one):
    page = show(long_one, viewport=DESK)
    turn = page.locator(f"#{page.locator('.entry:has(.long)').get_attribute('id')}")
    low = turn.bounding_box()["height"]
    turn.get_by_role("button", name="Show all of it").click()
    assert turn.bounding_box()["height"] > low + 200
    turn.get_by_role("button", name="Show less").click()
    assert turn.bounding_box()["height"] == low


def test_long_drafts_are_folded_and_drawn_only_where_they_are_seen(show):
    """Of 98 long drafts drawn at once, a browser's tab took 625 MiB for a record of 7 MB."""

    def reply(call):
        return Reply(f"{call.step.speaker} " * 2_000)

    setup = Setup("panel", judge=None, resolution="majority", fallback="escalate")
    page = show(exported(Debate(setup, reply).run().bundle()), viewport=DESK)
    drafts, turns = page.locator("#concluded .long"), page.locator("#entries .long")
    assert (drafts.count(), turns.count()) == (3, 9)
    is_drawn = "(node) => node.firstChild.checkVisibility({ contentVisibilityAuto: true })"
    assert not turns.last.evaluate(is_drawn)
    turns.last.scroll_into_view_if_needed()
    page.wait_for_function(is_drawn, arg=turns.last.element_handle())
    low = drafts.first.bounding_box()["height"]
    page.locator("#concluded").get_by_role("button", name="Show all of it").first.click()
    assert drafts.count() == 2
    assert page.locator("#concluded .body").first.bounding_box()["height"] > low + 200


def test_the_replay_opens_at_the_end(show, long_one):
    page = show(long_one, viewport=DESK)
    assert page.input_value("#slider") == page.get_attribute("#slider", "max")
    assert "Nothing: the debate is closed" in page.inner_text("#then")
    assert page.locator("#line title").first.text_content() == "planner (round 1, proposal)"


def test_a_document_is_shown_with_its_structure(show, cited):
    page = show(cited, viewport=DESK)
    document = page.locator("#d1")
    assert "400** claims, *9* were” verified" in document.inner_text()
    assert "nothing of it” not found" in document.inner_text()
    document.get_by_text("Read the document").click()
    text = document.locator(".reading")
    expect(text.locator("h4")).to_have_text("Pilot")
    assert text.locator("b, em, code").all_inner_texts() == ["400", "9", "claims.csv"]
    assert text.locator("li li").all_inner_texts() == ["below"]
    assert text.locator("td").all_inner_texts() == ["to 600", "9"]
    assert text.locator("pre").inner_text() == "# no heading"
    assert text.locator("blockquote").inner_text() == "quoted"
    assert text.locator("a, img").count() == 0
    last = text.locator("p").last.inner_text()
    assert last == "<b>no element</b> [no link](https://example.org) ![none](x.png)"


def test_a_citation_stands_beside_its_source(show, cited):
    page = show(cited, viewport=DESK)
    turn = page.locator("article", has_text="nothing of it").last
    turn.get_by_text("In its source").click()
    expect(turn.locator("mark")).to_have_text("400** claims, *9* were")
    turn.locator("a[href='#d1']").first.click()
    expect(page.locator("#d1 h4")).to_have_text("Pilot")


def test_every_seat_says_what_was_asked_and_served(show):
    usual = vote("release", more={"model": "openai/m-2025"})
    page = show(closed(Setup(model="openai:m"), script(usual=usual)), viewport=DESK)
    seat = page.locator("#participants article").first
    assert "Asked openai:m" in seat.inner_text().replace("\n", " ")
    assert "openai/m-2025" in seat.inner_text()
    seat.get_by_text("Prompts and replies by hash").click()
    call = json.loads(export_line(page, "call.started"))
    expect(seat.locator("table")).to_contain_text(call["data"]["prompt"])


def export_line(page, kind):
    """The first entry of a kind."""
    lines = page.evaluate("page.result.lines.map((line) => toText(line.raw))")
    return next(line for line in lines if json.loads(line)["type"] == kind)


def test_passes_are_folded_and_exceptions_are_open(show, cited):
    page = show(cited, viewport=DESK)
    checks = page.locator("#checks")
    assert "citations that do not hold" in checks.inner_text()
    assert "Vote count" not in checks.inner_text()
    checks.get_by_text("passed").click()
    passed = int(checks.locator("summary").inner_text().split()[0])
    expect(checks.locator("table tbody tr")).to_have_count(passed)
    names = checks.locator("tbody th").all_inner_texts()
    assert len(names) == len({*names})
    assert not {"Citations"} & {*names}


def test_what_the_deliverable_leaves_open_is_open(show):
    said = {"decision": "Ship it.", "open_questions": ["Who pays?", 1], "caveats": "One pilot."}
    shape = {"type": "object", "properties": {}}
    ends = script({"synthesis": Reply(json.dumps(said))}, vote("release"))
    page = show(closed(Setup(synthesizer=True, output_schema=shape), ends), viewport=DESK)
    found = page.locator("#open li").all_inner_texts()
    assert found[:2] == ["open questions: Who pays?", "caveats: One pilot."]
    assert page.inner_text("#lead").startswith("“Ship it” (release): 3 of 3 votes")


def test_nothing_is_said_of_open_points_where_none_is_listed(show):
    page = show(closed(Setup("judged"), script({"verdict": say(winner="ship")})))
    assert page.locator("#open").count() == 0
    assert "still open" not in page.inner_text("main").lower()


def test_a_failed_debate_shows_no_decision(show):
    page = show(export_files("judged-judge-failed"), viewport=DESK)
    assert page.inner_text("#lead") == "Failed without a decision: the judge gave no valid reply"
    assert page.locator("#concluded").count() == 0


def test_the_sections_are_reached_at_the_smallest_width(show, cited):
    page = show(cited, viewport=PHONE)
    for link in page.locator("nav a[href='#verify'], nav a[href='#evidence']").all():
        link.click()
        assert link.get_attribute("href") == page.evaluate("location.hash")
    assert page.locator("#evidence").bounding_box()["x"] >= 0


def test_paper_has_what_is_folded_on_the_screen(show, cited):
    page = show(cited, viewport=DESK)
    page.fill("#words", "nothing of it")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".annex h4").first.inner_text() == "Pilot"
    assert page.locator("details.printed:not([open])").count() == 0
    assert len(shown(page)) > 5


HARD = {
    "marks": "*a " * 50_000 + "`" * 50_000,
    "quotes": ">" * 20_000 + "\n" + "> " * 20_000,
    "items": "\n".join(" " * n + "- x" for n in range(2000)),
    "bars": "| a |\n|" + "-|" * 30_000 + "\n" + "|x" * 30_000,
    "spaces": " " * 200_000 + "|" + " :-" * 600 + "\n",
    "headings": "#" * 100_000 + "\n" + "# a #" * 20_000,
    "fences": "```\n" * 20_001,
    "rows": "| a | b |\n|---|---|\n" + "| x | y |\n" * 50_000,
    "many": "- x\n" * 100_000,
    "strong": "**x** " * 400 + ("\n\n" + "**x** " * 300) * 200,
}


@pytest.mark.parametrize("name", HARD)
def test_a_document_takes_bounded_work(show, name):
    files = closed(Setup("moderated", evidence=(("memo", HARD[name], 1),)), script())
    page = show(files, viewport=DESK)
    took = page.evaluate(
        """() => { const begin = performance.now(); const nodes = typesetAll(
        page.result.texts.get(page.figures.evidence[0].sha256)); const box = h("div", nodes);
        return [performance.now() - begin, box.textContent.replace(/\\s/g, "").length,
        box.querySelectorAll("*").length]; }"""
    )
    assert took[2] < 21_000
    kept = HARD[name].translate(str.maketrans("", "", " \n*`>#|:-"))
    assert took[1] >= len(kept)


def test_lines_of_blanks_take_one_look(show, cited):
    """Looked at anew from each of their blanks, these would take hours."""
    lines = "['|', '# a'].map((begin) => begin + ' '.repeat(3e6) + 'x')"
    page = show(cited)
    found = page.evaluate(f"{lines}.flatMap((line) => [COLUMNS.test(line), CLOSING.test(line)])")
    assert found == [False] * 4


def paper(pages):
    """The file that a document of so many pages was taken from."""
    spelled = b64encode(b"%PDF-1.7").decode()
    return Taken("application/pdf", sha256(b"%PDF-1.7").hexdigest(), "made/1", pages, spelled)


def test_the_pages_of_a_document_share_the_bound_of_its_nodes(show):
    memo = ("memo", "x\f" * 30_000, 1, paper(30_001))
    page = show(closed(Setup("moderated", evidence=(memo,)), script()), viewport=DESK)
    page.get_by_text("Read the document").click()
    reading = page.locator("#d1 .reading")
    assert reading.locator("*").count() < 21_000
    assert (
        reading.evaluate("node => node.textContent.replaceAll(/Page \\d+|[^x]/g, '')")
        == "x" * 30_000
    )


def test_documents_of_one_text_and_one_file_are_looked_at_once(show):
    """A thousand of them would fill the memory of whoever comes to search, and take minutes."""
    rows = tuple((name, "one\ftwo", 1, paper(2)) for name in ("memo", "copy"))
    page = show(closed(Setup("moderated", evidence=rows), script()), viewport=DESK)
    hashed = page.evaluate(
        """() => { const usual = hashOfOriginal, seen = [], { evidence } = page.figures;
        const [memo, copy] = page.events.filter((event) => event.type === "evidence.admitted");
        Object.assign(copy.data, memo.data, { document: "copy" });
        evidence[1] = { ...evidence[0], id: "copy" };
        hashOfOriginal = (text) => { seen.push(text); return usual(text); };
        const drawn = drawEvidence().querySelectorAll("button").length;
        hashOfOriginal = usual;
        return [seen.length, drawn]; }"""
    )
    assert hashed == [1, 2]
    found = "(words) => searchable().filter((row) => row.text.includes(words)).length"
    assert page.evaluate(found, "one\ftwo") == 1
    assert page.evaluate(found, rows[0][3].original) == 0


def test_a_quote_is_shown_as_the_document_has_it(show):
    long = "word  \n and\f" * 400
    memo = ("memo", f"before  it\f\f {long} after it", 1, paper(403))
    said = {
        "critique": say(counter_arguments=[argued(("memo", f"{' '.join(long.split())} after"))])
    }
    page = show(closed(Setup("moderated", evidence=(memo,)), script(said)), viewport=DESK)
    turn = page.locator("article", has_text="In its source").first
    turn.get_by_text("In its source").click()
    mark = turn.locator("mark")
    assert mark.text_content() == f"{long} after".replace("\f", "\n")
    assert mark.evaluate("node => node.previousSibling.data") == "before  it\n\n "
    assert mark.evaluate("node => node.nextSibling.data") == " it"
    assert "memo, p. 3, verified" in turn.inner_text()


def test_a_quote_in_other_marks_is_shown_as_the_document_has_it(show):
    memo = ("memo", "The supplier\u2019s  \u201cbest efforts\u201d \u2013 if any", 1)
    said = {"critique": say(counter_arguments=[argued(("memo", 'supplier\'s "best efforts" -'))])}
    page = show(closed(Setup("moderated", evidence=(memo,)), script(said)), viewport=DESK)
    turn = page.locator("article", has_text="In its source").first
    turn.get_by_text("In its source").click()
    mark = turn.locator("mark")
    assert mark.text_content() == "supplier\u2019s  \u201cbest efforts\u201d \u2013"
