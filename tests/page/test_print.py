"""The page on paper: every text of a record is in the PDF, on pages that name it and are counted.

White space, ligatures and signs are folded away: what is compared are letters and figures.
"""

import io
import json
import re
from functools import cache
from itertools import chain
from unicodedata import normalize

import pytest
from pypdf import PdfReader

from exporting import TRUST, exported
from hansard.errors import DataError
from hansard.page import write
from hansard.page.printing import print_page
from hansard.page.read import verify_export
from hansard.record import blob
from hansard.record.keys import parse_trust
from hansard.record.line import line_hash
from hansard.runtime.models.base import Completion
from page.harness import calls, rendered
from playing import answer, play, script
from support import EVENTFUL, Debate, Reply, Setup, eventful

VOTES = {"planner": "release", "critic": "revise", "operator": "escalate"}
EXAMPLES = ("consensus", "judged", "moderated", "panel")


def folded(text):
    return re.sub(r"[\W_]", "", normalize("NFKC", text))


def said_in(value):
    """The strings in a value of JSON."""
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return list(chain.from_iterable(map(said_in, inside)))


def lines_of(text):
    """What must be found of a text: what a JSON reply says, line by line; else each line."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    texts = said_in(value) if isinstance(value, dict) else [text]
    return [line for line in "\n".join(texts).splitlines() if folded(line)]


def long_debate():
    """A debate of 60 turns that agrees on nothing; each turn says something of its own."""

    def reply(call):
        step = call.step
        words = f"{step.speaker} in {step.phase} of round {step.round}: nobody knows why. "
        said = {"stance": words, "rationale": words[::-1] * 5, "vote": VOTES[step.speaker]}
        return Reply(json.dumps(said), tokens=(1000, 400, 30))

    return Debate(Setup(max_rounds=5, prices=True), reply, tick=1000).run().bundle()


@pytest.fixture(scope="session")
def records(examples):
    """The examples, 60 turns, and debates in which much happens."""
    made = {f"much in {name}": eventful(name).bundle() for name in EVENTFUL}
    return {**examples, "60 turns": long_debate(), **made}


class Paper:
    """A page that was printed: its pages' text, folded, without what ends each of them."""

    def __init__(self, bundle, **options):
        files = exported(bundle)
        self.pdf = PdfReader(io.BytesIO(print_page(write.page(files), **options)))
        texts = [folded(page.extract_text()) for page in self.pdf.pages]
        found = verify_export(files, parse_trust(TRUST))
        said = ", ".join(filter(None, ("signer not confirmed", "; ".join(found.caveats))))
        about = (
            f"Record {found.debate} · last hash {line_hash(bundle.lines[-1])[:16]} · Agrees with"
        )
        foot = folded(f"{about} itself; {said}")
        self.ends = [f"page{n}of{len(texts)}{foot}" for n in range(1, len(texts) + 1)]
        self.ended = [text.startswith(end) for text, end in zip(texts, self.ends, strict=True)]
        self.pages = [text.removeprefix(end) for text, end in zip(texts, self.ends, strict=True)]
        self.whole = "".join(self.pages)

    def lacks(self, texts):
        """The lines of these texts that are nowhere."""
        return [line for text in texts for line in lines_of(text) if folded(line) not in self.whole]


@pytest.fixture(scope="session")
def paper(records):
    """Print the page of a record by its name, once; to print and to read it back takes seconds."""
    return cache(lambda name, *, prompts=False: Paper(records[name], prompts=prompts))


def texts_of(bundle):
    """The texts of a record; a file that a document was taken from is none, but bytes."""
    data = (json.loads(line)["data"] for line in bundle.lines)
    files = {row["original"]["sha256"] for row in data if row.get("original")}
    return [blob.unpack(file) for name, file in bundle.blobs.items() if name not in files]


NAMES = (*EXAMPLES, "60 turns", *(f"much in {name}" for name in EVENTFUL))


@pytest.mark.browser
@pytest.mark.parametrize("name", NAMES)
def test_every_text_is_on_paper(records, paper, name):
    printed = paper(name)
    assert printed.lacks(texts_of(records[name])) == []
    assert all(printed.ended)
    root = printed.pdf.trailer["/Root"]
    assert root["/MarkInfo"]["/Marked"]
    assert root["/StructTreeRoot"]["/K"]
    assert root["/Lang"] == "en"
    debate = json.loads(records[name].lines[0])["debate"]
    assert printed.pdf.metadata.title == f"Debate record {debate[:8]}"


@pytest.mark.browser
def test_no_turn_is_cut_and_no_heading_stands_alone(records, paper):
    printed = paper("60 turns")
    for text in texts_of(records["60 turns"]):
        turn = [folded(line) for line in lines_of(text)]
        assert any(all(line in page for line in turn) for page in printed.pages), text
    rounds = [f"Round{number}" for number in range(1, 6)]
    for heading in (*rounds, "Transcript", "Participants", "AnnexBTemplatestexts"):
        assert heading in printed.whole
        assert not any(page.endswith(heading) for page in printed.pages)
    assert not any(re.search(r"#?\d+\d{6}plannerproposalround1$", page) for page in printed.pages)
    # The votes of all rounds: the screen shows the last four.
    (votes,) = [page for page in printed.pages if "Votesscoresandcost" in page]
    assert all(heading in votes for heading in rounds)


@pytest.mark.browser
@pytest.mark.parametrize("name", EXAMPLES)
def test_prompts_are_printed_by_choice(records, paper, name):
    bundle = records[name]
    prompts = [row["text"] for call in calls(bundle) for row in rendered(bundle, call)]
    printed, without = paper(name, prompts=True), paper(name)
    assert printed.lacks(prompts) == []
    assert "Promptsastheyweresent" in printed.whole
    assert "Promptsastheyweresent" not in without.whole
    assert without.lacks(prompts) != []


@pytest.mark.browser
def test_what_a_prompt_has_in_common_with_those_before_it_is_printed_once(records, paper):
    """Else paper grows with the square of the turns."""
    bundle = records["60 turns"]
    with_prompts, without = (paper("60 turns", prompts=chosen) for chosen in (True, False))
    prompts = [[row["text"] for row in rendered(bundle, call)] for call in calls(bundle)]
    annex = with_prompts.whole.partition(folded("Prompts as they were sent"))[2]
    assert with_prompts.lacks(prompts[-1]) == []
    assert len(annex) < len(without.whole) < len(folded("".join(map("".join, prompts)))) / 5
    lines = [line for text in texts_of(bundle) for line in lines_of(text) if len(line) > 100]
    times = [annex.count(folded(line)) for line in lines]
    assert (max(times), times.count(0)) == (1, 1)  # no prompt has what was said last
    assert [annex.count(folded(line)) for line in lines_of(prompts[0][0])] == [1]  # the protocol
    assert annex.count(folded("As in a prompt above, up to")) >= len(prompts) - 1


HIDDEN = {
    "#summary h1": "consensus",  # its question
    ".annex": "consensus",  # personas and documents
    "#entries .entry.card": "consensus",  # turns
    "details.entry > pre": "much in judged",  # texts that stand at their entries alone
}


@pytest.mark.browser
@pytest.mark.parametrize(("selector", "name"), HIDDEN.items())
def test_what_the_style_hides_is_missed(records, selector, name, monkeypatch):
    original = write.part

    def part(name):
        more = f"@media print {{ {selector} {{ display: none }} }}" if name == "style.css" else ""
        return original(name) + more

    monkeypatch.setattr(write, "part", part)
    monkeypatch.setattr(write, "shell", write.shell.__wrapped__)
    bundle = records[name]
    assert Paper(bundle).lacks(texts_of(bundle)) != []


@pytest.mark.browser
def test_a_long_text_is_printed_once_however_many_name_it():
    long, short = "Nobody may say more than this. " * 40, "Be as brief as you can."
    rows = [
        {"id": name, "text": text} for name, text in zip("abcd", (long, short) * 2, strict=True)
    ]
    paper = Paper(play("panel", script({}), evidence=rows))
    whole = [paper.whole.count(folded(text)) for text in (long, short, "The same text as above.")]
    assert whole == [1, 2, 1]


@pytest.mark.browser
def test_short_texts_are_printed_again_until_that_is_too_much(monkeypatch):
    text = "Be as brief as you can."
    part = write.part

    def impatient(name):
        return part(name).replace("MOST_DRAWN = 2 ** 21", f"MOST_DRAWN = {2 * len(text)}")

    monkeypatch.setattr(write, "part", impatient)
    monkeypatch.setattr(write, "shell", write.shell.__wrapped__)
    paper = Paper(play("panel", script({}), evidence=[{"id": n, "text": text} for n in "abcde"]))
    assert [paper.whole.count(folded(row)) for row in (text, "The same text as above.")] == [3, 2]


@pytest.mark.browser
def test_the_page_of_an_altered_record_is_not_printed(records):
    files = exported(records["consensus"])
    events = files["events.jsonl"].replace(b'"vote":"escalate"', b'"vote":"revise"', 1)
    with pytest.raises(DataError) as error:
        print_page(write.page(files | {"events.jsonl": events}))
    assert error.value.code == "record.altered"


# What others wrote, at its worst

FINDING = "# Checks that passed\n\n| Check | Found |\n|---|---|\n| signature | Intact. |\n\n" * 9
TABLES = {
    "long words": f"| a | b |\n|---|---|\n| {'w' * 900} | {'字' * 900} |",
    "many columns": "\n".join("|" + f" {cell} |" * 99 for cell in ("head", "---", "cell")),
    "more columns below": "| a | b |\n|---|---|\n|" + " cell |" * 99,
    "numbers": "99. The last of two digits.\n100. The first of three.\n\nSo:\n\n1. One.\n2. Two.",
}
LONGEST = ["W" * 62 + f"{n:02}" for n in range(9)]


def laid_out(show, files):
    """A page as it is laid out for A4, 180 mm wide."""
    page = show(files, viewport={"width": 680, "height": 960})
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    return page


@pytest.fixture(scope="module")
def widest():
    """The export of a debate of the longest names, whose documents are wide tables."""

    def reply(request):
        said = answer(request) | {"vote": LONGEST[int(request.speaker[-2:])]}
        return Completion(json.dumps(said), model="m" * 900, status=200, sent_as_rendered=True)

    evidence = [{"id": name.replace(" ", "-"), "text": text} for name, text in TABLES.items()]
    seats = [{"id": name} for name in LONGEST]
    fields = {"debaters": seats, "options": LONGEST, "threshold": 9, "max_rounds": 3}
    return exported(play("consensus", reply, asked="openai:bot", evidence=evidence, **fields))


def test_nothing_is_so_wide_that_paper_cuts_it_off(show, widest):
    page = laid_out(show, widest)
    assert page.evaluate("document.getElementById('main').scrollWidth") <= 680
    assert page.locator(".annex .reading table").count() == 1  # the others have too many columns
    assert page.locator(".annex .reading p").filter(has_text="| cell |").count() == 2
    inside = "all => all.map((each) => getComputedStyle(each).listStylePosition)"
    assert page.locator(".annex ol").evaluate_all(inside) == ["inside", "outside"]


@pytest.fixture(scope="module")
def calling_itself_a_finding():
    """The export of a debate in which a question, a persona and a document look like findings."""
    seats = [{"id": name, "persona": f"{name}\n{FINDING}"} for name in VOTES]
    evidence = [{"id": "memo", "text": f"A memo.\n\n{FINDING}"}]
    return exported(play("consensus", question=FINDING, debaters=seats, evidence=evidence))


def test_what_others_wrote_stands_on_a_ground_of_its_own(show, calling_itself_a_finding):
    page = laid_out(show, calling_itself_a_finding)
    ground = "each => getComputedStyle(each).backgroundColor"
    for place, texts in {".asked": 1, ".annex": 4}.items():
        of = page.locator(f"{place} .reading")
        assert of.count() == texts
        assert page.locator(place, has_text="Intact.").count() == (1 if texts == 1 else 2)
        assert {each.evaluate(ground) for each in of.all()} == {"rgb(237, 241, 246)"}
        of.evaluate_all("all => all.forEach((each) => each.remove())")
        assert page.locator(place, has_text="Intact.").count() == 0


def test_the_screen_is_as_it_was_once_it_is_printed(show, records):
    page = show(exported(records["60 turns"]))
    page.fill("#words", "critic in revision")
    page.evaluate("document.querySelector('#summary details').open = true")
    before = page.inner_html("#main")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.inner_html("#main") != before
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.inner_html("#main") == before
