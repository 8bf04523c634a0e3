"""PDF and DOCX files as bytes, made by hand: as small as they can be, sound or not."""

import io
import zipfile
from xml.sax.saxutils import escape

OFFICE = "http://schemas.openxmlformats.org"
TYPES = (
    f'<?xml version="1.0"?><Types xmlns="{OFFICE}/package/2006/content-types">'
    '<Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-'
    'officedocument.wordprocessingml.document.main+xml"/></Types>'
)
RELATIONS = (
    f'<?xml version="1.0"?><Relationships xmlns="{OFFICE}/package/2006/relationships">'
    f'<Relationship Id="rId1" Type="{OFFICE}/officeDocument/2006/relationships/officeDocument" '
    'Target="word/document.xml"/></Relationships>'
)


def pdf(*pages, count=None):
    """A PDF whose pages have these lines, in Latin-1; `count` is how many it says there are."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {count or len(pages)}>>".encode(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for number, lines in enumerate(pages):
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]"
            b"/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>" % (5 + 2 * number)
        )
        shown = b" ".join(b"(%s) Tj T*" % _literal(line) for line in lines)
        body = b"BT /F1 12 Tf 72 770 Td 14 TL %s ET" % shown
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(body), body))
    out, places = bytearray(b"%PDF-1.4\n"), []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n" % (len(objects) + 1)
    return bytes(out) + b"%d\n%%%%EOF\n" % table


def _literal(line):
    data = line.encode("latin-1")
    for sign in (b"\\", b"(", b")"):
        data = data.replace(sign, b"\\" + sign)
    return data


def docx(*blocks, document=None, **parts):
    """A DOCX of paragraphs, each a text or ready XML; `parts` are more of the folder `word`."""
    body = "".join(row if row.startswith("<w:") else paragraph(row) for row in blocks)
    whole = document or (
        f'<?xml version="1.0"?><w:document xmlns:w="{OFFICE}/wordprocessingml/2006/main">'
        f"<w:body>{body}</w:body></w:document>"
    )
    files = {"[Content_Types].xml": TYPES, "_rels/.rels": RELATIONS, "word/document.xml": whole}
    files |= {f"word/{name}.xml": text for name, text in parts.items()}
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as container:
        for name, text in files.items():
            container.writestr(name, text)
    return target.getvalue()


def paragraph(text, style=""):
    """A paragraph of WordprocessingML."""
    styled = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f'<w:p>{styled}<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r></w:p>'


def table(*rows):
    """A table of WordprocessingML, each row a list of texts."""
    cells = ["".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in rows]
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"
