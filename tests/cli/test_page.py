"""Pages at the prompt: what is written, what is read out of one, and whose code it runs."""

import gzip
import json
import re
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest

import exporting
from exporting import STRANGER, run_tool, signed
from hansard import open_keyring
from hansard.page import printing, write
from hansard.page.write import page as write_page
from hansard.page.write import shell
from hansard.record import bundle as bundles
from hansard.record import manifest, note
from hansard.record.bundle import pack, unpack
from hansard.record.page import CLOSING, OPENING, record_in, region
from hansard.schemas import render
from hansard.store import tampering
from hansard.version import __version__

FORMAT = (Path(__file__).parents[2] / "schemas" / "FORMAT.md").read_text(encoding="utf-8")
OURS = f"    page        pass         the page of hansard {__version__}\n"
FORGERY = b"<script>paintItGreen()</script></body>"


PLACED = "register: line 2 of 2, other lines not checked"  # said of what the command line writes


@pytest.fixture
def page(hansard, debate, home):
    """The page of a debate, signed with one's own key."""
    assert hansard("page", debate, "-o", "debate.html").code == 0
    return Path("debate.html")


@pytest.fixture
def files(page):
    """The files of the export that a page holds."""
    return unpack(record_in(page.read_bytes()))


def forged(data):
    """The same page, its code changed."""
    assert data.count(b"</body>") == 1
    return data.replace(b"</body>", FORGERY)


def verified(hansard, source, *words):
    """Exit code, what is printed for people, and the document."""
    done, as_json = (hansard("verify", source, *words, *more) for more in ((), ("--json",)))
    assert done.code == as_json.code
    found = json.loads(as_json.out)
    jsonschema.validate(found, json.loads(render("findings")))
    return done.code, done.out, found


def last(out):
    return out.rstrip().splitlines()[-1].strip()


# Written


def test_a_page_is_written_and_says_what_comes_next(hansard, debate, home):
    done = hansard("page", debate[:8], "-o", "debate.html")
    assert (done.code, done.out) == (0, "")
    *made, written, step = done.err.splitlines()
    assert [said[:21] for said in made] == ["made a new log key in", "made a new export key"]
    assert re.fullmatch(r"debate.html: \d+ entries, signed by house/export", written)
    assert step == "Verify it first: hansard verify debate.html; then open debate.html in a browser"


def test_it_is_the_page_of_the_export(page, zipped, files):
    inside = unpack(zipped.read_bytes())
    assert inside.pop("report.html") == page.read_bytes()
    assert inside.pop("SHA256SUMS.page").endswith(b"=\n")
    assert inside == files


def test_the_page_of_an_altered_record_is_not_written(hansard, debate):
    tampering.alter_line(Path("hansard.db"), debate, 9, b'"seq":9', b'"seq":8')
    done = hansard("page", debate, "-o", "debate.html")
    assert (done.code, done.out) == (1, "")
    assert "[record.altered]" in done.err
    assert not Path("debate.html").exists()


def test_a_record_that_is_too_large_is_exported_without_a_page(hansard, debate, home, monkeypatch):
    monkeypatch.setattr(write, "MAX_PAGE", 9)
    assert hansard("export", debate, "-o", "record.zip").code == 0
    assert not bundles.ASIDE & unpack(Path("record.zip").read_bytes()).keys()
    assert hansard("verify", "record.zip").code == 0
    done = hansard("page", debate, "-o", "debate.html")
    assert (done.code, done.out) == (2, "")
    assert done.err == "error: a record of more than 9 bytes fits no page [page.size]\n"
    assert not Path("debate.html").exists()


# Printed


@pytest.fixture
def paper(monkeypatch):
    """The pages that were printed, each with whether its prompts were, by no browser at all."""
    printed = []

    def print_page(page, *, prompts=False):
        printed.append((page, prompts))
        return b"%PDF"

    monkeypatch.setattr(printing, "print_page", print_page)
    return printed


def test_a_page_is_printed(hansard, debate, home, paper):
    done = hansard("page", debate, "-o", "debate.html", "--pdf", "debate.pdf")
    assert (done.code, done.out) == (0, "")
    told = done.err.splitlines()[-1]
    assert re.fullmatch(r"debate.pdf: \d+ entries, printed from the verified page", told)
    assert Path("debate.pdf").read_bytes() == b"%PDF"
    assert Path("debate.pdf").stat().st_mode & 0o777 == 0o600
    assert paper == [(Path("debate.html").read_bytes(), False)]
    assert hansard("page", debate, "--pdf", "more.pdf", "--with", "prompts").code == 0
    assert [prompts for _, prompts in paper] == [False, True]


def test_the_page_of_an_export_keeps_its_signatures(hansard, zipped, files, home, paper):
    inside = unpack(zipped.read_bytes())["report.html"]
    shutil.rmtree(home / "keys")  # nobody signs anew
    done = hansard("page", zipped, "-o", "again.html", "--pdf", "again.pdf")
    assert done.code == 0
    assert "with the signatures of the export" in done.err
    assert Path("again.html").read_bytes() == inside
    assert paper == [(inside, False)]
    done = hansard("page", zipped, "--pdf", "other.pdf", "--signer", "true")
    assert (done.code, done.err.endswith("[page.signer]\n")) == (2, True)


def test_a_file_must_be_named_and_new(hansard, debate, home, paper):
    for words in ((), ("-o", "x.html", "--with", "prompts")):
        done = hansard("page", debate, *words)
        assert done.code == 2
        assert done.err.endswith("[page.output]\n")
    Path("x.pdf").write_bytes(b"mine")
    done = hansard("page", debate, "-o", "x.html", "--pdf", "x.pdf")
    assert (done.code, done.err.endswith("[output.exists]\n")) == (2, True)
    assert not Path("x.html").exists()
    assert Path("x.pdf").read_bytes() == b"mine"
    assert paper == []


def test_where_nothing_can_be_printed_nothing_is_written(hansard, debate, home, monkeypatch):
    monkeypatch.setenv("HANSARD_CHROMIUM", str(home / "none"))
    done = hansard("page", debate, "-o", "x.html", "--pdf", "x.pdf")
    assert (done.code, done.err.endswith("[pdf.browser]\n")) == (2, True)
    assert not Path("x.html").exists()
    assert not Path("x.pdf").exists()


def test_an_altered_record_is_not_printed(hansard, debate, zipped, paper):
    tampering.alter_line(Path("hansard.db"), debate, 9, b'"seq":9', b'"seq":8')
    files = unpack(zipped.read_bytes())
    Path("bad.zip").write_bytes(pack(files | {"events.jsonl": files["events.jsonl"][:-2] + b"\n"}))
    for source in (debate, "bad.zip"):
        done = hansard("page", source, "--pdf", "x.pdf")
        assert (done.code, "[record.altered]" in done.err) == (1, True)
    assert not Path("x.pdf").exists()
    assert paper == []


# Verified alone


def test_a_page_is_intact_to_whoever_wrote_it(hansard, page):
    page.rename("a page under any name")
    code, out, found = verified(hansard, "./a page under any name")
    assert (code, last(out), found["verdict"]) == (0, f"INTACT   {PLACED}", "INTACT")
    assert OURS in out
    assert found["page"] == {"released": True, "same_record": None}


def test_a_page_whose_code_was_changed(hansard, page):
    page.write_bytes(forged(page.read_bytes()))
    for level in "10":
        code, out, found = verified(hansard, page, "--require-level", level)
        assert (code, found["verdict"], found["findings"]) == (1, "INTACT", [])
        assert found["page"] == {"released": False, "same_record": None}
        assert "    page        FAIL         its code is not that of hansard" in out
        assert "\nthe page  page.code  do not rely on what it shows" in out
        assert last(out) == f"PAGE NOT OURS   the record inside is intact  {PLACED}"


def test_a_page_cut_off_after_its_record(hansard, page):
    page.write_bytes(page.read_bytes()[:-9])
    code, out, _ = verified(hansard, page)
    assert code == 1
    assert "or the file was cut off" in out
    assert last(out) == f"PAGE NOT OURS   the record inside is intact  {PLACED}"


def test_a_forged_page_of_a_record_that_a_stranger_signed(hansard, page, files):
    page.write_bytes(forged(write_page(signed(files, STRANGER))))
    code, out, found = verified(hansard, page, "--require-level", "0")
    assert (code, found["level"]) == (1, 0)
    words = "the record inside agrees with itself, signer unknown"
    assert last(out) == f"PAGE NOT OURS   {words}  {PLACED}"


def test_a_page_of_an_altered_record(hansard, page, files):
    events = files["events.jsonl"].replace(b'"vote":"release"', b'"vote":"revise"', 1)
    page.write_bytes(write_page(files | {"events.jsonl": events}))
    code, out, found = verified(hansard, page)
    assert (code, found["page"]["released"]) == (1, True)
    assert OURS in out
    assert last(out).startswith("ALTERED ")
    page.write_bytes(forged(page.read_bytes()))
    code, out, found = verified(hansard, page)
    assert (code, found["page"]["released"]) == (1, False)
    assert last(out) == "ALTERED   do not rely on this record"


def test_a_page_that_a_stranger_signed(hansard, page, files):
    page.write_bytes(write_page(signed(files, STRANGER)))
    code, out, found = verified(hansard, page)
    assert (code, found["level"]) == (1, 0)
    assert last(out) == f"SELF-CONSISTENT, SIGNER UNKNOWN   {PLACED}"
    assert hansard("verify", page, "--require-level", "0").code == 0


def test_a_page_within_the_page(hansard, page, files):
    """Whoever took the record out would have a page that nobody compared."""
    before, after = shell()
    for name in bundles.ASIDE:
        inner = pack(files | {name: b"<p>"})
        page.write_bytes(before + region(gzip.compress(inner)) + after)
        code, _, found = verified(hansard, page)
        assert (code, found["verdict"]) == (1, "ALTERED")
        assert [(row["code"], row["found"]) for row in found["findings"]] == [("1.name", name)]


READERS = ("verify", "show", "report", "replay")
JUNK = {
    "nothing": OPENING + CLOSING,
    "no base64": OPENING + b"<" + CLOSING,
    "no gzip": region(b"no gzip"),
    "cut off": region(gzip.compress(b"PK\5\6" + bytes(99)))[:40],
}


@pytest.mark.parametrize("what", JUNK)
def test_a_page_whose_record_is_damaged_or_cut_off(hansard, home, what):
    before, after = shell()
    Path("x.html").write_bytes(before + JUNK[what] + after)
    words = "the record in the page x.html is damaged or cut off"
    for command in READERS:
        done = hansard(command, "x.html")
        assert (done.code, done.out) == (2, "")
        assert done.err == f"error: {words} [page.damaged]\n"


NO_EXPORT = "is not a Hansard export: it contains none of the files that an export has"
OTHERS = {
    "another page": b"<!doctype html><p>Any other page, with PK and " + OPENING[:-1],
    "a page cut off before its record": shell()[0],
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_file_that_is_no_page_and_no_export(hansard, home, what):
    Path("x.html").write_bytes(OTHERS[what])
    for command in READERS:
        done = hansard(command, "x.html")
        assert (done.code, done.out) == (2, "")
        assert done.err == f"error: x.html {NO_EXPORT} [input.unknown]\n"


def test_what_has_a_record_in_it_is_never_taken_for_something_else(hansard, zipped):
    data = zipped.read_bytes()
    for what, file in {"without its head": data[9:], "behind a text": b"x" + data}.items():
        Path("x").write_bytes(file)
        code, _, found = verified(hansard, "./x")
        assert (code, found["verdict"]) == (1, "ALTERED"), what


def test_what_lost_its_end_or_its_beginning_is_no_export(hansard, zipped):
    data = zipped.read_bytes()
    page = write_page(unpack(data))
    for file in (data[:-9], b"x" + page, b"\xef\xbb\xbf" + page):
        Path("x").write_bytes(file)
        done = hansard("verify", "./x")
        assert (done.code, done.out) == (2, "")
        assert "x is not a Hansard export" in done.err


def test_a_page_whose_record_is_no_export(hansard, home):
    before, after = shell()
    Path("x.html").write_bytes(before + region(gzip.compress(b"no zip")) + after)
    code, _, found = verified(hansard, "x.html")
    assert (code, found["verdict"]) == (1, "ALTERED")
    assert [row["code"] for row in found["findings"]] == ["1.unreadable"]
    assert found["page"]["same_record"] is None
    for command in READERS[1:]:
        done = hansard(command, "x.html")
        assert (done.code, done.out) == (1, "")
        assert done.err.endswith(" [record.altered]\n")


# Verified in an export


def in_export(hansard, files):
    """What is said of these files, which is the same of a zip and of a folder."""
    Path("again.zip").write_bytes(pack(files))
    shutil.rmtree("again", ignore_errors=True)
    exporting.write(Path("again"), files)
    zipped, folder = (verified(hansard, source) for source in ("again.zip", "again"))
    assert zipped == folder
    code = run_tool("again.zip", "--trust", Path("..", f"{Path.cwd().name}-home", "trust.json"))[0]
    assert code == zipped[0], "the other verifier says the same"
    return zipped


def test_the_page_of_an_export(hansard, page, files, zipped):
    code, out, found = in_export(hansard, unpack(zipped.read_bytes()))
    assert (code, last(out)) == (0, f"INTACT   {PLACED}")
    assert OURS in out
    assert found["page"] == {"released": True, "same_record": True}


def test_an_export_without_a_page(hansard, page, files):
    code, out, found = in_export(hansard, files)
    assert (code, last(out), found["page"]) == (0, f"INTACT   {PLACED}", None)
    assert found["checks"][0]["evidence"].endswith("belong in an export; no page")
    assert out.count("page") == 1


def test_a_page_and_its_note_that_were_taken_out_together_are_missed(hansard, zipped):
    whole = unpack(zipped.read_bytes())
    told = [
        in_export(hansard, {name: whole[name] for name in whole.keys() - out})[2]
        for out in (set(), {"report.html", "SHA256SUMS.page"})
    ]
    assert [row["verdict"] for row in told] == ["INTACT", "INTACT"]
    assert ["no page" in row["checks"][0]["evidence"] for row in told] == [False, True]


def test_a_page_by_itself_does_not_miss_another(hansard, page):
    assert "no page" not in hansard("verify", page).out


@pytest.mark.parametrize("data", [b"", b"<p>", forged, lambda data: data[:-1]])
def test_an_export_whose_page_was_forged(hansard, zipped, data):
    genuine = unpack(zipped.read_bytes())
    other = data if isinstance(data, bytes) else data(genuine["report.html"])
    code, out, found = in_export(hansard, genuine | {"report.html": other})
    assert (code, found["verdict"]) == (1, "ALTERED")
    assert [row["code"] for row in found["findings"]] == ["2.page_hash"]
    assert found["page"] == {"released": False, "same_record": not isinstance(data, bytes)}
    assert "report.html was changed: SHA256SUMS.page lists another hash" in out
    assert last(out) == "ALTERED   do not rely on this record"


def noted(files, page, by):
    """The files with a page, and the note that covers it."""
    text = manifest.write_page(files["SHA256SUMS"], page)
    return files | {"report.html": page, "SHA256SUMS.page": note.sign(text, by)}


def test_an_export_whose_page_another_release_wrote(hansard, page, files, home):
    other = page.read_bytes().replace(b"<title>", b"<title>Another release: ", 1)
    code, out, found = in_export(hansard, noted(files, other, open_keyring(home).signer("export")))
    assert (code, last(out)) == (0, f"INTACT   {PLACED}")
    assert found["page"] == {"released": False, "same_record": True}
    words = f"its code is not that of hansard {__version__}: another version wrote it, and whoever"
    assert f"    page        pass         {words} signed this record signed it\n" in out


def test_an_export_whose_page_a_stranger_signed(hansard, page, files):
    """Of whatever release: who signed the record did not sign it."""
    for data, words in ((page.read_bytes(), "  "), (b"<p>", "   the record alone, not its page ")):
        code, out, found = in_export(hansard, noted(files, data, STRANGER))
        assert (code, found["level"]) == (1, 0)
        assert last(out) == f"SELF-CONSISTENT, SIGNER UNKNOWN{words} {PLACED}"


def test_an_export_with_the_page_of_another_record(hansard, page, files, home):
    """Signed with the record by the same key, and it shows another one: that is said."""
    other = write_page(signed(files, STRANGER))
    code, out, found = in_export(hansard, noted(files, other, open_keyring(home).signer("export")))
    assert (code, found["verdict"]) == (0, "INTACT")
    assert found["page"] == {"released": True, "same_record": False}
    assert "\nthe page  page.record  do not rely on what it shows" in out
    assert last(out) == f"INTACT   the record alone, not its page  {PLACED}"


# Read


def test_a_page_is_read_like_the_export(hansard, page, zipped):
    call = re.search(rb'"call":"([^"]+)"', unpack(zipped.read_bytes())["events.jsonl"])[1].decode()
    for words in (["show"], ["show", "--prompt", call], ["report"], ["replay", "--until", "9"]):
        done = hansard(*words, page)
        assert done.code == 0
        assert done.out == hansard(*words, zipped).out
        assert "not confirmed" not in done.err


def test_the_recipe_of_the_format_takes_the_record_out(page, files, home):
    (recipe,) = re.findall(r"^    (sed -n .* report\.html .*)$", FORMAT, re.MULTILINE)
    page.rename("report.html")
    subprocess.run(["bash", "-c", recipe], check=True)
    assert unpack(Path("record.zip").read_bytes()) == files
    code, out, _ = run_tool("record.zip", "--trust", home / "trust.json")
    assert (code, last(out).split()[0]) == (0, "INTACT,")


def test_the_recipe_takes_out_more_than_one_block(folder):
    (recipe,) = re.findall(r"^    (sed -n .* report\.html .*)$", FORMAT, re.MULTILINE)
    text = b"".join(str(number).encode() for number in range(200_000))
    files = {"events.jsonl": text}
    Path("report.html").write_bytes(write_page(files))
    assert Path("report.html").read_bytes().count(b'<script type="application/octet-stream">') > 1
    subprocess.run(["bash", "-c", recipe], check=True)
    assert Path("record.zip").read_bytes() == pack(files)
