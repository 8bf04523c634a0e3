"""SHA256SUMS: what `write` lists `parse` reads, sha256sum agrees, and there is one spelling."""

import subprocess
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.errors import DataError
from hansard.record.manifest import UNLISTED, Manifest, parse, parse_page, write, write_page

A, B = (sha256(text).hexdigest() for text in (b"a", b"b"))
names = st.from_regex(r"[A-Za-z0-9./]{1,20}", fullmatch=True).filter(lambda n: n not in UNLISTED)
reasons = st.from_regex(r"[a-z0-9_]{1,64}", fullmatch=True)


def malformed(text):
    with pytest.raises(DataError) as caught:
        parse(text)
    return caught.value.code == "2.malformed"


@given(st.dictionaries(names, st.binary(max_size=8)), st.dictionaries(names, reasons))
def test_what_is_written_is_read_again(files, withheld):
    expected = {name: sha256(body).hexdigest() for name, body in files.items()}
    text = write(dict(reversed(files.items())), dict(reversed(withheld.items())))
    assert text == write(files, withheld)
    assert parse(text) == Manifest(expected, withheld)


@given(st.binary(max_size=100))
def test_any_bytes_are_refused_or_spelled_as_they_are(text):
    try:
        found = parse(text)
    except DataError as error:
        found = error.code
    assert found == "2.malformed" or spelled(found) == text


def spelled(found):
    rows = [f"{found.files[name]}  {name}\n" for name in sorted(found.files)]
    rows += [f"# withheld {name} {why}\n" for name, why in sorted(found.withheld.items())]
    return "".join(rows).encode()


def test_itself_and_the_page_are_not_listed():
    files = dict.fromkeys(UNLISTED | {"b", "a", "B"}, b"a")
    assert write(files) == f"{A}  B\n{A}  a\n{A}  b\n".encode()


def test_sha256sum_checks_it(tmp_path):
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "b").write_bytes(b"b")
    (tmp_path / "SHA256SUMS").write_bytes(write({"a": b"a", "b": b"b"}, {"c": "privacy"}))
    words = ["sha256sum", "-c", "--status", "SHA256SUMS"]
    assert subprocess.run(words, cwd=tmp_path, check=False).returncode == 0
    (tmp_path / "b").write_bytes(b"a")
    assert subprocess.run(words, cwd=tmp_path, check=False).returncode == 1


SPELLINGS = {
    "an empty line": b"\n",
    "no last line end": f"{A}  a".encode(),
    "one space": f"{A} a\n".encode(),
    "three spaces": f"{A}   a\n".encode(),
    "binary mode": f"{A} *a\n".encode(),
    "upper case": f"{A.upper()}  a\n".encode(),
    "a digit less": f"{A[1:]}  a\n".encode(),
    "a digit more": f"0{A}  a\n".encode(),
    "no name": f"{A}  \n".encode(),
    "a space in the name": f"{A}  a b\n".encode(),
    "an escaped name": f"\\{A}  a\n".encode(),
    "a backslash": f"{A}  a\\b\n".encode(),
    "a name that is not ASCII": f"{A}  é\n".encode(),
    "not UTF-8": f"{A}  a".encode() + b"\xff\n",
    "CRLF": f"{A}  a\r\n".encode(),
    "not sorted": f"{A}  b\n{A}  a\n".encode(),
    "a name twice": f"{A}  a\n{A}  a\n".encode(),
    "a name twice with another hash": f"{A}  a\n{B}  a\n".encode(),
    "itself": f"{A}  SHA256SUMS\n".encode(),
    "the page": f"{A}  report.html\n".encode(),
    "the note of the page": f"{A}  SHA256SUMS.page\n".encode(),
    "another comment": f"{A}  a\n# b\n".encode(),
    "withheld without reason": b"# withheld a\n",
    "withheld with two words": b"# withheld a no reason\n",
    "withheld in upper case": b"# withheld a No\n",
    "a reason of 65": b"# withheld a " + b"x" * 65 + b"\n",
    "withheld not sorted": b"# withheld b x\n# withheld a x\n",
    "withheld twice": b"# withheld a x\n# withheld a y\n",
    "withheld before the files": f"# withheld a x\n{A}  b\n".encode(),
}


@pytest.mark.parametrize("defect", SPELLINGS)
def test_another_spelling_is_refused(defect):
    assert malformed(SPELLINGS[defect])


def test_nothing_is_a_manifest_of_nothing():
    assert parse(b"") == Manifest({})
    assert write({}) == b""


# The page's


def test_a_page_is_tied_to_its_manifest():
    text = write_page(b"manifest", b"page")
    sums = [sha256(data).hexdigest() for data in (b"manifest", b"page")]
    assert text.decode() == f"{sums[0]}  SHA256SUMS\n{sums[1]}  report.html\n"
    assert parse_page(text) == {"SHA256SUMS": sums[0], "report.html": sums[1]}


PAGE_SPELLINGS = {
    "nothing": b"",
    "an empty line": b"\n",
    "no manifest": f"{A}  report.html\n".encode(),
    "no page": f"{A}  SHA256SUMS\n".encode(),
    "swapped": f"{A}  report.html\n{A}  SHA256SUMS\n".encode(),
    "no last line end": f"{A}  SHA256SUMS\n{A}  report.html".encode(),
    "a line more": f"{A}  SHA256SUMS\n{A}  report.html\n{A}  a\n".encode(),
    "an empty line more": f"{A}  SHA256SUMS\n{A}  report.html\n\n".encode(),
    "another character": f"{A}  SHA256SUMS\n{A}  report_html\n".encode(),
    "upper case": f"{A.upper()}  SHA256SUMS\n{A}  report.html\n".encode(),
    "one space": f"{A} SHA256SUMS\n{A}  report.html\n".encode(),
    "binary mode": f"{A}  SHA256SUMS\n{A} *report.html\n".encode(),
    "CRLF": f"{A}  SHA256SUMS\r\n{A}  report.html\r\n".encode(),
}


@pytest.mark.parametrize("defect", PAGE_SPELLINGS)
def test_another_spelling_of_the_page_s_text_is_refused(defect):
    with pytest.raises(DataError) as caught:
        parse_page(PAGE_SPELLINGS[defect])
    assert caught.value.code == "2.page_malformed"
