"""PDF and DOCX as evidence: what becomes text, what is kept, and what is refused."""

import asyncio
import io
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import warnings
import zipfile
from base64 import b64decode
from hashlib import sha256

import pypdf
import pytest

from hansard import Debate
from hansard.errors import UsageError
from hansard.installing import install_command
from hansard.runtime import documents, extracting, inputs
from hansard.runtime.files import Files
from hansard.runtime.inputs import read_evidence
from hansard.verify.checks import MAX_ORIGINALS
from instant import GUARD
from papers import RELATIONS, docx, paragraph, pdf, table
from playing import spec_of

CLAUSE = pdf(["Payment is due within", "thirty days."], ["Either party may", "terminate."])
TERMS = docx(
    paragraph("Terms", "Heading1"),
    "Payment  is due.",
    table(["Item", "Price"], ["A & B", "<5>"]),
    "The end.",
)


@pytest.fixture(autouse=True)
def nothing_read_before():
    documents._read_before.clear()


@pytest.fixture
def extracted(monkeypatch):
    """The files that are read anew, however often they are asked for."""
    found, extract = [], documents._extracted
    monkeypatch.setattr(
        documents, "_extracted", lambda *given: (found.append(given[0]), extract(*given))[1]
    )
    return found


BOUNDS = {"pages": 100, "text": 10_000, "xml": 1_000_000}


def taken(data, kind="pdf", most=MAX_ORIGINALS, until=math.inf):
    return documents.read(data, "the file", kind, most=most, until=until)


def refused(data, kind="pdf"):
    with pytest.raises(UsageError) as caught:
        taken(data, kind)
    return caught.value


def admitted(folder, *rows):
    """The evidence of a spec that names files in this folder, as it is read."""
    return read_evidence(spec_of("panel", evidence=list(rows)), Files(folder)).evidence


def encrypted(password, owner=None):
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(CLAUSE))
    writer.encrypt(password, owner)
    target = io.BytesIO()
    writer.write(target)
    return target.getvalue()


# ------------------------------------------------------------------ what becomes of a file


def test_a_pdf_becomes_text_with_its_pages_apart():
    text, source = taken(CLAUSE)
    assert text == "Payment is due within\nthirty days.\fEither party may\nterminate."
    assert (source.media_type, source.pages) == ("application/pdf", 2)
    assert source.extractor.startswith("pypdfium2/")
    assert source.sha256 == sha256(CLAUSE).hexdigest()
    assert b64decode(source.original) == CLAUSE


def test_an_empty_page_is_a_page():
    text, source = taken(pdf([], ["Two."], []))
    assert (text, source.pages) == ("\fTwo.\f", 3)


def test_a_pdf_that_only_its_owner_may_change_is_read():
    assert taken(encrypted("", "owner"))[0] == taken(CLAUSE)[0]


def test_a_docx_becomes_lines_and_has_no_pages():
    text, source = taken(TERMS, "docx")
    assert text == "# Terms\n\nPayment  is due.\n\nItem | Price\nA & B | <5>\n\nThe end."
    assert (source.pages, source.extractor.partition("/")[0]) == (None, "mammoth")
    assert source.media_type.endswith("wordprocessingml.document")


def test_what_was_deleted_from_a_docx_is_no_evidence():
    changed = (
        "<w:p><w:ins><w:r><w:t>new</w:t></w:r></w:ins>"
        "<w:del><w:r><w:delText>old</w:delText></w:r></w:del></w:p>"
    )
    assert taken(docx(changed), "docx")[0] == "new"


MATH = "http://schemas.openxmlformats.org/officeDocument/2006/math"


@pytest.mark.parametrize(
    ("element", "words"),
    [
        ('<w:fldSimple w:instr=" DATE "><w:r><w:t>lost</w:t></w:r></w:fldSimple>', "simple fields"),
        (f'<m:oMath xmlns:m="{MATH}"><m:r><m:t>lost</m:t></m:r></m:oMath>', "formulas"),
        (f'<m:oMathPara xmlns:m="{MATH}"><m:oMath/></m:oMathPara>', "formulas"),
        ("<w:r><w:ruby><w:rubyBase><w:r><w:t>lost</w:t></w:r></w:rubyBase></w:ruby></w:r>", "ruby"),
        ("<w:unknown/><w:ruby-like/>", None),
        ("", None),
    ],
)
def test_what_of_a_docx_has_a_text_that_is_not_taken_is_known(element, words):
    text, source = taken(docx(f"<w:p><w:r><w:t>kept</w:t></w:r>{element}</w:p>"), "docx")
    assert text == "kept"
    assert source.unread == ((words,) if words else ())


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>a</p><p>b<br />c</p>", "a\n\nb\nc"),
        ("<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul><p>d</p>", "- a\n  - b\n- c\n\nd"),
        ("<ol><li>a</li><li><p>b</p></li></ol>", "1. a\n2. b"),
        ("<table><tr><th><p>a</p><p>b</p></th><td></td></tr></table>", "a b | "),
        ("<h2>a</h2><table><tr><td>x</td></tr><tr><td>y</td></tr></table>", "## a\n\nx\ny"),
        ("<table><tr><td><table><tr><td>x</td><td>y</td></tr></table></td></tr></table>", "x | y"),
        ("</tr></li></ul><li>a<td>b", "ab"),
        ("&lt;p&gt;&amp;", "<p>&"),
    ],
)
def test_the_converters_html_becomes_lines(html, text):
    lines = extracting.Lines()
    lines.feed(html)
    assert lines.text() == text


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a\r\nb\rc", "a\nb\nc"),
        ("agree\x02ment long\ufffeterm", "agree-ment long-term"),
        ("a\x00b\x0cc\x1bd\x9be\uffff\t.", "a b c d e \t."),
        ("a\ud800b", "a\ufffdb"),
        (" \n a \n ", "a"),
        ("\u202eb\u2066", "\u202eb\u2066"),  # as in any text: a prompt spells it out
    ],
)
def test_a_page_holds_nothing_but_text(text, cleaned):
    assert extracting.clean(text) == cleaned


@pytest.mark.parametrize(
    "before", [b"", b"\xef\xbb\xbf", b"\n\r\n \t", b"\xef\xbb\xbf" + b" " * 1_000]
)
def test_a_pdf_begins_with_its_sign_white_space_aside(before):
    assert documents.kind_of(before + CLAUSE, "the file") == "pdf"
    assert taken(before + CLAUSE)[0] == taken(CLAUSE)[0]


def test_a_text_about_pdf_is_a_text(tmp_path):
    words = "A PDF begins with %PDF-1.7, and a DOCX is a zip."
    (tmp_path / "memo.md").write_text(words)
    (document,) = admitted(tmp_path, {"file": "memo.md"})
    assert (document.text, document.taken) == (words, None)


def test_the_event_loop_goes_on_while_a_document_is_read(tmp_path, monkeypatch):
    path, extract = tmp_path / "clause.pdf", documents.read
    path.write_bytes(CLAUSE)
    goes_on = threading.Event()

    async def meanwhile():
        loop, begun = asyncio.get_running_loop(), asyncio.Event()

        def reading(*given, **named):
            assert threading.current_thread() is not threading.main_thread()
            loop.call_soon_threadsafe(begun.set)
            assert goes_on.wait(GUARD)
            return extract(*given, **named)

        monkeypatch.setattr(documents, "read", reading)
        panel = Debate(format="panel", agents=[lambda _: "a"] * 2, review="Ann")
        run = asyncio.create_task(panel.run("Why?", evidence=[path]))
        waiting = asyncio.create_task(begun.wait())
        await asyncio.wait({run, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        goes_on.set()
        return await run

    (document,) = asyncio.run(meanwhile()).evidence
    assert document.id == "clause"


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("data", "kind", "code", "advice"),
    [
        (pdf([], []), "pdf", "scan", "run OCR on it first"),
        (encrypted("secret"), "pdf", "encrypted", "save a copy without one"),
        (b"%PDF-1.4\nand then nothing", "pdf", "damaged", "save it anew"),
        (CLAUSE[:300], "pdf", "damaged", "save it anew"),
        (docx(""), "docx", "empty", "give a document that has some"),
        (TERMS[:-40], "docx", "damaged", "save it anew"),
        (docx(document="<no xml"), "docx", "damaged", "save it anew"),
        (docx(document='<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'), "docx", "damaged", "entities"),
        (docx("a", other='<!DOCTYPE a [<!ENTITY b "c">]><a/>'.encode("utf-16")), "docx",
         "damaged", "entities"),
        (docx("a", other=" " * (documents.MOST_XML + 1)), "docx", "bounds", "unfolds to more"),
        (pdf(*[["a"]] * (documents.MOST_PAGES + 1)), "pdf", "bounds", "more than 5,000 pages"),
        (pdf(*[["w" * 9000]] * 300), "pdf", "bounds", "more than 2,097,152 bytes of text"),
        (docx("w" * 2_100_000), "docx", "bounds", "more than 2,097,152 bytes of text"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_what_gives_no_text_is_refused_with_advice(data, kind, code, advice):
    error = refused(data, kind)
    assert error.code == f"spec.evidence_{code}"
    assert str(error).startswith("the file ")
    assert advice in str(error)
    assert "\n" not in str(error)


def test_a_part_of_a_zip_that_is_encrypted_is_told():
    data = bytearray(TERMS)
    for sign, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(sign) + offset] |= 1
    assert refused(bytes(data), "docx").code == "spec.evidence_encrypted"


def test_a_docx_is_read_by_its_xml_parts_alone():
    """What was not looked at is neither the document nor rules for what to leave out of it."""
    entities = '<!DOCTYPE a [<!ENTITY b "unseen">]><a>&b;</a>'
    relations = RELATIONS.replace("document.xml", "other")
    for parts in (
        {"_rels/.rels": relations, "word/other": entities},
        {"mammoth/style-map": "p => !"},
    ):
        assert taken(repacked(TERMS, parts), "docx")[0] == taken(TERMS, "docx")[0]


@pytest.mark.parametrize("twin", ["word/document.xml", "Word/Document.XML", "word/Document.xml"])
def test_a_docx_with_two_parts_of_one_name_is_refused(twin):
    """One program shows the first, another the last."""
    target = io.BytesIO(TERMS)
    with warnings.catch_warnings(), zipfile.ZipFile(target, "a") as container:
        warnings.simplefilter("ignore")  # of the second of one name
        container.writestr(twin, zipfile.ZipFile(io.BytesIO(TERMS)).read("word/document.xml"))
    assert refused(target.getvalue(), "docx").code == "spec.evidence_damaged"


def repacked(data, parts):
    """A DOCX with these parts more, or in place of its own."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as whole, zipfile.ZipFile(target, "w") as container:
        own = {name: whole.read(name) for name in whole.namelist()}
        for name, text in (own | parts).items():
            container.writestr(name, text)
    return target.getvalue()


def test_a_part_is_not_read_beyond_the_size_that_the_zip_states():
    """A zip that lies of a part's size gives no more than that, and fails its checksum."""
    data = bytearray(docx("a", other=" " * 5_000_000))
    for sign, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.rindex(sign)
        data[at + offset : at + offset + 4] = (10).to_bytes(4, "little")
    assert refused(bytes(data), "docx").code == "spec.evidence_damaged"


@pytest.mark.parametrize(("kind", "package"), [("pdf", "pypdfium2"), ("docx", "mammoth")])
def test_without_its_package_a_file_is_refused_with_what_to_install(kind, package, monkeypatch):
    monkeypatch.setattr(documents, "find_spec", lambda name: None if name == package else name)
    error = refused(CLAUSE if kind == "pdf" else TERMS, kind)
    assert error.code == "spec.missing_extra"
    assert f"is a {kind.upper()}, which needs" in str(error)
    assert str(error).endswith(install_command("documents"))


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("while True: pass", "bounds"),  # ended after its time
        ("import os; os.abort()", "bounds"),
        ('print(\'{"problem": "work"}\')', "bounds"),
        ("print('[]')", "bounds"),
        ("print('no JSON')", "bounds"),
    ],
)
def test_whatever_becomes_of_the_process_there_is_one_sentence(script, code, tmp_path, monkeypatch):
    path = tmp_path / "extracting.py"
    path.write_text(script)
    monkeypatch.setattr(documents, "_EXTRACTING", path)
    monkeypatch.setattr(documents, "MOST_SECONDS", 1)
    error = refused(CLAUSE)
    assert error.code == f"spec.evidence_{code}"
    assert "could not be read to its end" in str(error)


def test_where_there_is_no_disk_it_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    assert refused(pdf("so")).code == "system.temporary"


def test_the_documents_of_a_spec_have_a_time_together(tmp_path, monkeypatch):
    for name in ("one", "two", "three"):
        (tmp_path / f"{name}.pdf").write_bytes(pdf([name]))
    clock = itertools.count(step=documents.MOST_TOGETHER / 2)  # at the begin, then at each
    monkeypatch.setattr(documents, "now", lambda: next(clock))
    rows = [{"id": name, "file": f"{name}.pdf"} for name in ("one", "two", "three")]
    assert len(admitted(tmp_path, rows[0])) == 1
    with pytest.raises(UsageError) as caught:
        admitted(tmp_path, *rows)
    assert caught.value.code == "spec.evidence_bounds"
    assert str(caught.value).startswith(
        "two.pdf comes after documents of this spec that took 600 s"
    )


def test_a_document_is_read_no_longer_than_is_left_for_all(tmp_path, monkeypatch):
    path = tmp_path / "extracting.py"
    path.write_text("while True: pass")
    monkeypatch.setattr(documents, "_EXTRACTING", path)
    with pytest.raises(UsageError) as caught:
        taken(CLAUSE, until=documents.now() + 0.5)
    assert caught.value.code == "spec.evidence_bounds"
    assert "600 s together" in str(caught.value)


def test_the_process_is_told_no_secret_and_no_name(tmp_path, monkeypatch):
    path = tmp_path / "extracting.py"
    path.write_text(
        "import json, os, sys\n"
        "told = json.dumps([sys.argv[1:], dict(os.environ)])\n"
        "print(json.dumps({'text': told, 'pages': None, 'extractor': 'x'}))\n"
    )
    monkeypatch.setattr(documents, "_EXTRACTING", path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    told, _ = taken(CLAUSE)
    assert "sk-secret" not in told
    assert "the file" not in told


@pytest.mark.skipif(sys.platform != "linux", reason="only there are addresses bounded")
def test_the_process_bounds_its_memory(tmp_path):
    """Not the parser's good will: what wants more memory than that gets none."""
    told = {"memory": 256 << 20, "seconds": 60, "output": 10_000, "path": sys.path}
    code = (
        "import json, sys\n"
        f"sys.path.insert(0, {str(documents._EXTRACTING.parent)!r})\n"
        "import extracting\n"
        "extracting.from_pdf = lambda data, bounds: {'text': 'x' * (1 << 30)}\n"
        "sys.stdout.writelines(extracting.main('pdf', sys.argv[1]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(told)],
        input=b"", capture_output=True, check=False,
    )  # fmt: skip
    assert json.loads(done.stdout) == {"problem": "work"}


def test_the_process_ends_with_the_one_that_waits_for_it(tmp_path):
    reads, path = tmp_path / "reads", tmp_path / "reading.py"
    os.mkfifo(reads)
    path.write_text(
        "import sys, time\n"
        f"sys.path.insert(0, {str(documents._EXTRACTING.parent)!r})\n"
        "import extracting\n"
        "def hang(data, bounds):\n"
        f"    with open({str(reads)!r}, 'w') as file:\n"
        f"        print('reads', flush=True, file=file)\n"
        f"        time.sleep({GUARD})\n"
        f"        print('goes on', file=file)\n"
        "extracting.from_pdf = hang\n"
        "list(extracting.main(*sys.argv[1:]))\n"
    )
    code = (
        "import math, pathlib\n"
        "from hansard.runtime import documents\n"
        f"documents._EXTRACTING = pathlib.Path({str(path)!r})\n"
        "documents.read(b'', 'x', 'pdf', most=0, until=math.inf)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as waiting, reads.open() as file:
        assert file.readline() == "reads\n"
        waiting.kill()
        assert file.read() == ""


# ------------------------------------------------------------------ what a file is


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.pdf", CLAUSE, "pdf"),
        ("a.txt", b"\n" + CLAUSE, "pdf"),
        ("a", TERMS, "docx"),
        ("a.md", b"# Text", None),
        ("a.md", b"", None),
        ("a.md", b"See %PDF for the format.", None),
    ],
)
def test_the_bytes_say_what_a_file_is(name, data, kind):
    assert documents.kind_of(data, name) == kind


def _sheet():
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as container:
        container.writestr("xl/workbook.xml", "<a/>")
    return target.getvalue()


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("sheet.xlsx", _sheet(), "kind"),
        ("old.doc", OLE + b"W\0o\0r\0d\0", "kind"),
        ("new.docx", OLE + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
        ("a.PDF", b"not a PDF", "damaged"),
        ("a.docx", b"", "damaged"),
    ],
)
def test_what_is_no_text_by_its_bytes_or_name_is_refused(name, data, code):
    with pytest.raises(UsageError) as caught:
        documents.kind_of(data, name)
    assert caught.value.code == f"spec.evidence_{code}"


# ------------------------------------------------------------------ in a spec


def test_a_spec_admits_texts_and_files_alike(tmp_path):
    (tmp_path / "clause.pdf").write_bytes(CLAUSE)
    (tmp_path / "terms.docx").write_bytes(TERMS)
    (tmp_path / "memo.md").write_text("One\ftwo.")
    clause, terms, memo = admitted(
        tmp_path, "clause.pdf", {"file": "terms.docx", "keep_original": False}, "memo.md"
    )
    assert [row.id for row in (clause, terms, memo)] == ["clause", "terms", "memo"]
    assert clause.taken.original
    assert terms.taken.sha256 == sha256(TERMS).hexdigest()
    assert terms.taken.original is None
    assert (memo.text, memo.taken) == ("One\ftwo.", None)


def test_a_large_file_is_read_and_not_kept(tmp_path):
    """8 MiB of a PDF are its text and much else."""
    large = CLAUSE + b"\n%" + b" " * (8 << 20)
    (tmp_path / "large.pdf").write_bytes(large)
    (document,) = admitted(tmp_path, "large.pdf")
    assert document.text == taken(CLAUSE)[0]
    assert document.taken.original is None
    assert document.taken.sha256 == sha256(large).hexdigest()


def test_files_are_kept_while_there_is_room(tmp_path, monkeypatch):
    for name in ("a.pdf", "b.pdf", "c.pdf"):
        (tmp_path / name).write_bytes(CLAUSE)
    one = len(taken(CLAUSE)[1].original)
    monkeypatch.setattr("hansard.runtime.inputs.MAX_ORIGINALS", 3 * one - 1)
    kept = [bool(row.taken.original) for row in admitted(tmp_path, "a.pdf", "b.pdf", "c.pdf")]
    assert kept == [True, True, False]


@pytest.mark.parametrize(
    ("name", "data", "code", "advice"),
    [
        ("latin.md", "naïve".encode("latin-1"), "spec.evidence_encoding", "save it as UTF-8"),
        ("wide.txt", "wide".encode("utf-16"), "spec.evidence_encoding", "save it as UTF-8"),
        ("picture.png", b"\x89PNG\r\n\x1a\n\0\xff", "spec.evidence_encoding", "save it as UTF-8"),
        ("long.md", b"x" * ((2 << 20) + 1), "spec.file_size", "the most for a document"),
        ("blank.md", b" \f\n", "spec.evidence_empty", "give it a text"),
        ("scan.pdf", pdf([]), "spec.evidence_scan", "run OCR"),
    ],
)
def test_a_file_that_cannot_be_evidence_is_refused_by_name(name, data, code, advice, tmp_path):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError) as caught:
        admitted(tmp_path, name)
    assert caught.value.code == code
    assert name in str(caught.value)
    assert advice in str(caught.value)


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        ("https://host.example/a/clause.pdf?key=secret", "https://host.example"),
        ("https:/host.example/clause.pdf", "https://host.example"),  # as a Path has it
        ("https://me:secret@host.example/a", "https://host.example"),
        ("s3://bucket/secret", "s3://bucket"),
    ],
)
@pytest.mark.parametrize("named", [True, False])
def test_an_address_is_not_fetched(file, shown, named):
    with pytest.raises(ValueError, match="is an address, and nothing is fetched") as caught:
        spec_of("panel", evidence=[{"file": file, "id": "a"} if named else file])
    told = str(caught.value).partition("[type=")[0]
    assert f"{shown} is an address" in told
    assert "spec.evidence_url" in str(caught.value)
    assert "secret" not in told


def test_a_drive_is_no_address(tmp_path):
    assert spec_of("panel", evidence=[{"file": "C:/papers/a.md", "id": "a"}])


# What was read before


def test_a_file_is_read_once_however_many_rows_are_about_it(extracted):
    first = [taken(CLAUSE), taken(TERMS, "docx")]
    assert [taken(CLAUSE), taken(TERMS, "docx")] == first
    assert extracted == [CLAUSE, TERMS]


def test_what_could_not_be_read_is_tried_again_later(extracted, monkeypatch):
    times = [0.0, documents.MOST_TOGETHER - 1, documents.MOST_TOGETHER]
    monkeypatch.setattr(documents, "now", lambda: times.pop(0))
    while times:
        assert refused(b"%PDF-1.7").code == "spec.evidence_damaged"
    assert extracted == [b"%PDF-1.7"] * 2


@pytest.mark.parametrize(("bound", "most"), [("_MOST_KEPT", 130), ("_MOST_FILES", 1)])
def test_of_what_was_read_little_is_kept(extracted, monkeypatch, bound, most):
    monkeypatch.setattr(documents, bound, most)
    for data in (CLAUSE, CLAUSE, pdf(["Another."]), CLAUSE):
        taken(data)
    assert len(extracted) == 3
    assert len(documents._read_before) == 1


def test_no_other_thread_changes_what_is_kept_while_it_is_counted(monkeypatch):
    held = []
    monkeypatch.setattr(
        documents, "getsizeof", lambda _: held.append(documents._keeping.locked()) or 0
    )
    taken(CLAUSE)
    assert held == [True]


def test_how_long_prompts_show_a_document_is_counted_once(monkeypatch):
    """A golden set of 1,000 lines on four files took hours before it said that it was wrong."""
    quoted = []
    monkeypatch.setattr(inputs, "quote", lambda text: quoted.append(text) or text)
    monkeypatch.setattr(inputs, "_quoted", {})
    for text in ("a", "a", "b"):
        read_evidence(spec_of("panel", evidence=[{"id": "memo", "text": text}]), Files(None))
    assert quoted == ["a", "b"]
    monkeypatch.setattr(inputs, "_MOST_COUNTED", 2)
    read_evidence(spec_of("panel", evidence=[{"id": "memo", "text": "c"}]), Files(None))
    assert len(inputs._quoted) == 1
