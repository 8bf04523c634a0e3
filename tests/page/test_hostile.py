"""Whatever a record's texts are, the page shows them as words, and they reach nobody."""

import re
from dataclasses import replace

import pytest

from exporting import exported
from hansard.rules.prompts import spell_out
from hansard.runtime.models.base import Completion
from hostile import CASES, HARMLESS, HOSTILE, fields, replied
from page.harness import heard
from playing import play

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
# How many elements of each name there are: blocks of data and boxes of code points aside.
ELEMENTS = """() => {
  const counted = {};
  for (const node of document.querySelectorAll("*:not(.code, [type$=stream])")) {
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
        assert spell_out(everything) == everything
        assert re.sub("<(U[+][0-9A-F]+)>", "\\1", spell_out(text)) in shown
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 320
        page.close()


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
