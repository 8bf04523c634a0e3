"""PDF and DOCX at the prompt: what is admitted and shown of them, and what each bad one says."""

import io
import json
import zipfile
from hashlib import sha256
from pathlib import Path

import pypdf
import pytest

from cli_support import write_format
from exporting import run_tool
from hansard.installing import install_command
from hansard.runtime import documents
from papers import docx, pdf

CLAUSE = pdf(["Payment is due."], ["Either party may terminate", "with thirty days' notice."])
CITED = {
    "thesis": "It ends.",
    "supporting_arguments": [
        {
            "argument": "So it says.",
            "citations": [{"document": "clause", "quote": "terminate with thirty"}],
        }
    ],
    "anticipated_objections": [],
}


@pytest.fixture
def debated(hansard, home):
    """The result of a debate about a PDF, its second page cited, and a DOCX."""
    Path("clause.pdf").write_bytes(CLAUSE)
    Path("terms.docx").write_bytes(docx("The price is five."))
    script = {"proposer": {"*": {"proposition": CITED}}}
    spec = write_format("moderated", script=script)
    papers = ("--evidence", "clause.pdf", "--evidence", "terms.docx")
    done = hansard("run", spec, *papers, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_papers_are_admitted_cited_and_shown(hansard, debated):
    clause, terms = debated["evidence"]
    assert (clause["id"], clause["source"]["pages"]) == ("clause", 2)
    assert clause["source"]["sha256"] == sha256(CLAUSE).hexdigest()
    assert (terms["id"], terms["source"]["pages"]) == ("terms", None)
    (cited,) = debated["rounds"][0]["exchanges"][0]["proposition"]["supporting_arguments"][0][
        "citations"
    ]
    assert (cited["finding"], cited["page"]) == ("verified", 2)
    shown = hansard("show", debated["debate"], env={"COLUMNS": "300"}).out
    assert f"clause: PDF, 2 pages, text taken by {clause['source']['extractor']}, " in shown
    assert f"original kept, SHA-256 {clause['source']['sha256']}" in shown
    assert "terms: DOCX, text taken by mammoth/" in shown
    report = hansard("report", debated["debate"], "--as", "markdown").out
    assert "- clause, p. 2, found in the document: terminate with thirty" in report


def test_the_record_holds_them_and_verifies(hansard, debated):
    assert hansard("export", debated["debate"], "-o", "record.zip").code == 0
    assert hansard("verify", "record.zip").code == 0
    _, said, _ = run_tool(Path("record.zip"), "--json")
    assert json.loads(said)["findings"] == []
    prompts = hansard("show", debated["debate"], "--prompt", "r1.proposition.proposer:1").out
    assert "| Payment is due.\n| Either party may terminate\n" in prompts


def test_a_spec_may_name_them(hansard):
    Path("clause.pdf").write_bytes(CLAUSE)
    rows = ["clause.pdf", {"file": "clause.pdf", "id": "again", "keep_original": False}]
    done = hansard("run", write_format("panel", evidence=rows), "--json")
    first, again = json.loads(done.out)["evidence"]
    assert first["source"]["original"]
    assert again["source"] == first["source"] | {"original": None}


def locked():
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(CLAUSE))
    writer.encrypt("secret")
    target = io.BytesIO()
    writer.write(target)
    return target.getvalue()


def bomb():
    """A DOCX of a few kilobytes that unfolds to more than is ever read."""
    target = io.BytesIO(docx("a"))
    with zipfile.ZipFile(target, "a", zipfile.ZIP_DEFLATED) as container:
        container.writestr("word/more.xml", " " * (documents.MOST_XML + 1))
    return target.getvalue()


BAD = {
    "a scan": (pdf([]), "scan", "run OCR on it first (such as ocrmypdf)"),
    "a password": (locked(), "encrypted", "save a copy without one"),
    "a damaged PDF": (b"%PDF-1.7\nnothing", "damaged", "save it anew"),
    "a damaged DOCX": (docx("a")[:-30], "damaged", "save it anew"),
    "an empty DOCX": (docx(""), "empty", "give a document that has some"),
    "a bomb": (bomb(), "bounds", "unfolds to more than"),
    "entities": (
        docx(document='<!DOCTYPE a [<!ENTITY b "c">]><a/>'), "damaged", "entities of its own",
    ),
    "Latin-1": ("Straße".encode("latin-1"), "encoding", "save it as UTF-8"),
    "a sheet": (b"PK\x03\x04xl/workbook.xml", "kind", "save it as one of these"),
    "nothing": (b"", "empty", "give it a text"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("way", ["option", "spec"])
def test_what_cannot_be_evidence_is_refused_in_one_sentence(hansard, what, way):
    data, code, advice = BAD[what]
    Path("bad").write_bytes(data)
    if way == "option":
        done = hansard("run", write_format("panel"), "--evidence", "bad")
    else:
        done = hansard("run", write_format("panel", evidence=["bad"]))
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert line.endswith(f"[spec.evidence_{code}]")
    assert "bad " in line
    assert advice in line
    assert not Path("hansard.db").exists() or "No debates" in hansard("list").err


@pytest.mark.parametrize("way", ["option", "spec"])
def test_an_address_is_refused_without_what_it_may_hold(hansard, way):
    url = "https://me:secret@host.example/clause.pdf?key=secret"
    if way == "option":
        done = hansard("run", write_format("panel"), "--evidence", url)
    else:
        done = hansard("run", write_format("panel", evidence=[{"file": url, "id": "a"}]))
    assert done.code == 2
    assert "https://host.example is an address, and nothing is fetched; save what it" in done.err
    assert done.err.endswith("[spec.evidence_url]\n")
    assert "secret" not in done.err


def test_without_the_extra_there_is_one_sentence(hansard, monkeypatch):
    monkeypatch.setattr(documents, "find_spec", lambda _: None)
    Path("clause.pdf").write_bytes(CLAUSE)
    done = hansard("run", write_format("panel"), "--evidence", "clause.pdf")
    assert done.code == 2
    assert done.err.endswith(f"{install_command('documents')} [spec.missing_extra]\n")
