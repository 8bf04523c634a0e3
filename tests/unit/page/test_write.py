"""Writing a page: its shell is one text, its policy admits that text alone, its data is the zip."""

import gzip
import json
import re
from base64 import b64decode, b64encode
from collections import Counter
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files as resources

import pytest

from hansard import vocabulary
from hansard.errors import UsageError
from hansard.page import write
from hansard.page.write import SCRIPTS, STRICT, page, part, script, shell
from hansard.record.bundle import pack
from hansard.rules.events import TYPES

FILES = {"events.jsonl": b"{}\n", "SHA256SUMS": b"-"}
MOST = 390_000  # of the empty page: code that people are to read (`page/README.md`)
# What a browser has in the scope of every script; a script's own name would hide it.
BROWSER = """
alert atob blur btoa caches chrome close closed confirm console constructor crypto document escape
eval event external fence fetch find focus frames history innerHeight innerWidth isNaN length
location locationbar menubar moveBy moveTo name navigation navigator open opener origin parent
parseFloat parseInt performance personalbar postMessage print prompt scheduler screen scroll
scrollBy scrollTo scrollX scrollY scrollbars self status statusbar stop toolbar top undefined
unescape viewport when window
"""
PARTS = [name for parts in SCRIPTS.values() for name in parts]
CODE = {name: part(name).encode() for name in ("style.css", *PARTS)}


class Elements(HTMLParser):
    """What a browser sees of a page: tags with their attributes, and the text of each."""

    def __init__(self, data):
        super().__init__()
        self.tags, self.texts = [("", {})], [""]
        self.feed(data.decode())

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.texts.append("")

    def handle_endtag(self, tag):
        self.handle_starttag("", ())  # what follows is no text of it

    def handle_data(self, data):
        self.texts[-1] += data

    def named(self, name, **attributes):
        return [
            text
            for (tag, found), text in zip(self.tags, self.texts, strict=True)
            if tag == name and found == attributes
        ]


def source(text):
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def test_the_shell_is_the_parts_as_they_are():
    found = Elements(b"".join(shell()))
    assert found.named("style", id="style") == [CODE["style.css"].decode()]
    assert found.named("script") == [script(name) for name in SCRIPTS]
    assert len(found.named("meta", charset="utf-8")) == 1
    assert shell()[0].endswith(b"\n"), "the recipe of FORMAT.md reads the region line by line"


def test_the_policy_admits_the_code_of_the_shell_and_nothing_else():
    found = Elements(page(FILES))
    (rules,) = (row["content"] for _, row in found.tags if "http-equiv" in row)
    policy = {words[0]: words[1:] for words in map(str.split, rules.split(";"))}
    assert policy == {
        "default-src": ["'none'"],
        "script-src": [source(text) for text in found.named("script")],
        "style-src": [source(text) for text in found.named("style", id="style")],
        "require-trusted-types-for": ["'script'"],
        "trusted-types": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
    }


def test_nothing_is_fetched_and_nothing_hides_in_an_attribute():
    for tag, attributes in Elements(page(FILES)).tags:
        assert tag not in ("link", "base", "iframe", "object", "embed", "img", "form")
        for name, value in attributes.items():
            assert not name.startswith("on")
            assert name not in ("style", "src", "srcset", "action", "ping")
            assert name != "href" or value.startswith("#")
    assert not re.search(rb"@import|url\(", CODE["style.css"])


@pytest.mark.parametrize("name", CODE)
def test_a_part_can_stand_in_a_page(name):
    """No text of it ends its element, and a browser hashes the bytes that were hashed here."""
    assert not re.search(rb"</script|</style|<!--|\r|\0|\xef\xbb\xbf", CODE[name], re.IGNORECASE)
    CODE[name].decode("utf-8")
    assert name == "style.css" or CODE[name].startswith(STRICT.encode())


def declared(script):
    """The names that a script declares at its top level, where no line is indented."""
    names = re.findall(r"^(?:async )?(?:function\*?|class) (\w+)", script, re.MULTILINE)
    for line in re.findall(r"^(?:const|let) (.*)", script, re.MULTILINE):
        if line[0] in "[{":
            names += re.findall(r"\w+", re.split(r"[]}]", line)[0])
            continue
        flat = re.sub(r'"[^"]*"', "", line)
        while flat != (flat := re.sub(r"\([^][(){}]*\)|\[[^][(){}]*\]|\{[^][(){}]*\}", "", flat)):
            pass
        names += re.findall(r"(?:^|, )(\w+) =", re.split(r"[\[({]", flat)[0])
    return names


def test_no_name_stands_twice():
    """All parts share one global scope: the second of two functions would replace the first."""
    names = Counter(name for part in PARTS for name in declared(CODE[part].decode()))
    assert {"readZip", "strict", "BASE64", "Walk", "figuresOf", "h", "s", "page"} <= names.keys()
    assert [name for name, times in names.items() if times > 1] == []
    assert names.keys() & set(BROWSER.split()) == set()


def test_what_looks_like_a_place_inside_a_part_stays(monkeypatch):
    places = "{{csp}} {{style}} {{scripts}} {{data}} {{other}}"
    html = "<{{csp}}>{{style}}{{data}}{{scripts}} {{other}}"
    monkeypatch.setattr(write, "part", lambda name: html if name == "page.html" else places)
    before, after = shell.__wrapped__()
    assert before.endswith(f'<style id="style">{places}</style>'.encode())
    scripts = [f"<script>{script(name)}</script>" for name in SCRIPTS]
    assert after.decode() == "\n".join(scripts) + " {{other}}"
    assert all(places in text for text in scripts)


def test_every_script_of_the_package_is_a_part():
    folder = resources("hansard.page")
    files = {file.name for file in folder.iterdir() if file.name.endswith(".js")}
    formats = {f"formats/{file.name}" for file in (folder / "formats").iterdir()}
    assert sorted(PARTS) == sorted(files | formats)


def test_every_type_of_entry_has_a_headline():
    found = re.findall(r'^\t"([a-z.]+)": \{\n\t\theadline: "', part("entries.js"), re.MULTILINE)
    assert sorted(found) == sorted(TYPES)


def test_the_vocabulary_comes_first():
    first, rest = script("figures").removeprefix(STRICT).split("\n", 1)
    found = json.loads(first.removeprefix("const VOCABULARY = ").removesuffix(";"))
    unseen = {"checks": ("1", "21"), "words": ("annexed", "policed", "policy")}
    for name, key in ((name, key) for name, keys in unseen.items() for key in keys):
        assert key not in found[name]
        found[name][key] = vocabulary.table(name)[key]
    assert found == {name: vocabulary.table(name) for name in vocabulary.TABLES}
    assert rest.startswith(part("container.js").removeprefix(STRICT))
    assert not re.search("</script|<!--", first, re.IGNORECASE)


def test_the_empty_page_is_small(capsys):
    size = sum(map(len, shell()))
    with capsys.disabled():
        print(f"\nempty page: {size} of {MOST} bytes")
    assert size <= MOST


def test_the_data_is_the_zip_of_all_but_the_page():
    before, after = shell()
    data = page(FILES)
    assert data == page(FILES | {"report.html": b"another page", "SHA256SUMS.page": b"its note"})
    assert data.startswith(before)
    assert data.endswith(after)
    block = data[len(before) : -len(after)].decode()
    text = re.fullmatch('<script type="application/octet-stream">(.*)</script>\n', block)[1]
    packed = b64decode(text, validate=True)
    assert packed[4:8] == bytes(4), "no time stands in it"
    assert gzip.decompress(packed) == pack(FILES)


def test_a_record_that_is_too_large_for_a_page(monkeypatch):
    monkeypatch.setattr(write, "MAX_PAGE", len(page(FILES)))
    page(FILES)
    monkeypatch.setattr(write, "MAX_PAGE", len(page(FILES)) - 1)
    with pytest.raises(UsageError, match="fits no page") as caught:
        page(FILES)
    assert caught.value.code == "page.size"
