"""What is no export gets no verdict, from either verifier; what is left of one is ALTERED."""

import io
import json
import os
import shutil
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

import exporting
from exporting import run_tool
from hansard.page.write import page as write_page
from hansard.record.bundle import unpack
from hansard.record.page import OPENING
from kit import case

SAID = "is not a Hansard export: it contains none of the files that an export has"
CUT_OFF = (
    "is not a Hansard export: it holds part of one, but the end of the zip is missing; get it again"
)
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<</Type/Catalog>>\nendobj\n" + bytes(range(256)) * 40


def zip_of(names, method=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name in names:
            archive.writestr(name, b"something else\n" * 20)
    return buffer.getvalue()


def photos():
    folder = Path("photos")
    (folder / "2026" / "blobs").mkdir(parents=True)
    (folder / "blobs").mkdir()
    for name in ("IMG_1.jpg", "2026/IMG_2.jpg", "2026/blobs/IMG_3.jpg", "blobs/IMG_4.jpg"):
        (folder / name).write_bytes(b"\xff\xd8\xff\xe0")
    return folder


def store():
    with closing(sqlite3.connect("some.db")) as connection:
        connection.execute("CREATE TABLE mine (a)")
    return Path("some.db")


def folder_around():
    (Path("around") / "record").mkdir(parents=True)
    (Path("around") / "record" / "events.jsonl").write_bytes(b"{}\n")
    return Path("around")


def file(data):
    def write():
        Path("given.bin").write_bytes(data)
        return Path("given.bin")

    return write


def empty():
    Path("empty").mkdir()
    return Path("empty")


OTHERS = {
    "an empty file": file(b""),
    "an empty folder": empty,
    "a PDF": file(PDF),
    "random bytes": file(bytes((7 * n * n + n // 3) % 256 for n in range(100_000))),
    "a text that tells of an export": file(b"PK: events.jsonl and SHA256SUMS are in record.zip.\n"),
    "an HTML page": file(b"<!doctype html><p>Any other page, with events.jsonl in it.\n"),
    "a JSON file": file(b'{"events.jsonl": []}\n'),
    "a line of a record": file(b'{"at":"2026-11-21T00:00:00.000000Z","data":{}}\n'),
    "a zip": file(zip_of(["notes.txt", "blobs/photo.jpg", "record/events.jsonl"])),
    "a zip of longer names": file(zip_of(["VERIFY.mdx", "events.jsonl.gz"], zipfile.ZIP_STORED)),
    "an empty zip": file(zip_of([])),
    "a folder of photos": photos,
    "a folder around an export": folder_around,
    "a database": store,
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_is_no_export_gets_no_verdict(hansard, home, what):
    path = OTHERS[what]()
    for command in ("verify", "show", "report", "replay"):
        done = hansard(command, f"./{path}")
        assert (done.code, done.out) == (2, ""), command
        assert done.err == f"error: {path} {SAID} [input.unknown]\n"
    assert hansard("verify", f"./{path}", "--json")[:2] == (2, "")
    for words in ([path], [path, "--json"], [path, "--require-level", "0"]):
        assert run_tool(*words) == (2, "", f"verify.py: {path} {SAID}\n")


def both(hansard, path):
    """Exit code and codes of the findings, which both verifiers agree on."""
    done = hansard("verify", f"./{path}", "--json")
    code, out, _ = run_tool(path, "--json")
    ours, theirs = json.loads(done.out), json.loads(out)
    assert (done.code, ours["verdict"]) == (code, theirs["verdict"])
    assert ours["findings"] == theirs["findings"]
    return done.code, ours["verdict"]


def test_whatever_single_file_is_left_of_an_export_it_is_altered(hansard, zipped):
    for name, body in unpack(zipped.read_bytes()).items():
        for content in (body, b"", b"anything else"):
            shutil.rmtree("left", ignore_errors=True)
            exporting.write(Path("left"), {name: content})
            assert both(hansard, "left") == (1, "ALTERED"), name


def test_a_link_in_the_place_of_a_file_is_altered(hansard, home):
    Path("left").mkdir()
    Path("left/events.jsonl").symlink_to("nowhere")
    assert both(hansard, "left") == (1, "ALTERED")
    Path("left/events.jsonl").unlink()
    os.mkfifo("left/SHA256SUMS")
    assert both(hansard, "left") == (1, "ALTERED")


def test_a_zip_with_one_header_and_its_end_is_altered_whatever_part_is_left(hansard, zipped):
    data = zipped.read_bytes()
    starts = [at for at in range(len(data)) if data[at : at + 4] in (b"PK\3\4", b"PK\1\2")]
    assert len(starts) == 2 * len(unpack(data))
    for start in starts:
        part = b"any bytes before\n" + data[start : start + 180]
        Path("part").write_bytes(part + data[-22:] + b"and after\n")
        assert both(hansard, "part") == (1, "ALTERED"), start


def test_a_download_that_broke_off_anywhere_is_no_export(hansard, zipped):
    data = zipped.read_bytes()
    page, directory = data.index(b"report.html"), data.index(b"PK\1\2")
    mark = data.index(OPENING, page)  # the record in the page has begun
    for length in (
        100,
        page,
        mark + 100,
        directory,
        directory + 100,
        len(data) - 22,
        len(data) - 1,
    ):
        Path("part.zip").write_bytes(data[:length])
        for command in ("verify", "show", "report", "replay"):
            done = hansard(command, "part.zip")
            assert (done.code, done.out) == (2, ""), (length, command)
            assert done.err == f"error: part.zip {CUT_OFF} [input.unknown]\n"
        assert run_tool("part.zip") == (2, "", f"verify.py: part.zip {CUT_OFF}\n")


def test_a_zip_that_people_packed_anew_is_altered(hansard, zipped):
    files = unpack(zipped.read_bytes())
    Path("anew.zip").write_bytes(zip_of(files))
    assert both(hansard, "anew.zip") == (1, "ALTERED")


def test_a_page_is_read_by_one_and_refused_by_the_other_without_a_verdict(hansard, zipped):
    data = write_page(
        {name: body for name, body in unpack(zipped.read_bytes()).items() if "report" not in name}
    )
    Path("p.html").write_bytes(data)
    said = "verify.py: p.html is a page: take the record out of it first (§13)\n"
    assert run_tool("p.html") == (2, "", said)
    Path("p.html").write_bytes(b"x" + data)  # what no browser shows as a page
    assert hansard("verify", "p.html").code == 2
    assert run_tool("p.html") == (2, "", f"verify.py: p.html {SAID}\n")


# `verify --require-policy`: both verifiers, on cases of the kit

REQUIRED = "a policy, and that the record was compared with all of it (checks 10 and 18)\n"
CASES = {
    "approved-prompts": (0, ""),
    "decided-by-two-of-three": (1, REQUIRED),  # it names none
    "policy-texts-withheld": (1, REQUIRED),  # nobody can compare them
    "policy-served-withheld": (1, REQUIRED),
    "vote-altered_fail": (1, ""),  # that it was altered is said already
}


@pytest.mark.parametrize("name", CASES)
def test_a_record_without_a_policy_or_not_compared_with_all_of_it_is_not_enough(hansard, name):
    export, trust = str(case(name).export), str(case(name).trust)
    words = (export, "--trust", trust)
    code, said = CASES[name]
    for more in ((), ("--json",)):
        done = hansard("verify", *words, "--require-policy", *more)
        assert (done.code, done.err) == (code, said and f"Required: {said}")
        told = run_tool(*words, "--require-policy", *more)
        assert (told[0], told[2]) == (code, said and f"verify.py: required: {said}")
        assert hansard("verify", *words, *more).code == (code if name.endswith("_fail") else 0)
