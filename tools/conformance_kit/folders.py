"""Folders of exports: each zip in them, and the signed list over all of them (FORMAT.md §20).

They are a table of their own, `folders.tsv`, since a verifier may read one export alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from conformance_kit.case import Case, anchored, bad, good, unknown
from conformance_kit.debates import decided, escalated
from conformance_kit.exports import (
    SUMS,
    export,
    files_of,
    manifest,
    seal,
    signature_line,
    withholding,
    zip_of,
)
from conformance_kit.records import (
    EXPORT,
    STRANGER,
    Files,
    Record,
    digest,
    signer,
    time_of,
    trust,
)
from conformance_kit.registers import (
    LOG,
    OTHERS,
    WITNESSES,
    Register,
    cosigning,
    last_of,
    logged,
    replace_line,
    witnessed,
)
from hansard.record.folder import CHECKPOINT, KEPT, LINES
from hansard.record.note import Signer
from hansard.record.register import Kind, Line, tag

ABOUT = b"The records of many debates. schemas/FORMAT.md says how to check them.\n"


def zip_name(record: Record) -> str:
    """Return the name that a record's export has in a folder."""
    return f"{record.event(1)['debate']}.zip"


ONE, TWO = zip_name(decided()), zip_name(escalated())


def of(*records: Record, by: Signer = EXPORT) -> Files:
    """Return the files of a folder but for its list."""
    return {"VERIFY.md": ABOUT} | {zip_name(row): zip_of(export(row, by)) for row in records}


def both() -> Files:
    """Return the files of a folder of two debates, without the list."""
    return of(decided(), escalated())


def listed(change: Callable[[str], str]) -> Files:
    """Return a sound folder whose list has another text, signed anew."""
    files = both()
    return seal(files, text=change(manifest(files).decode()).encode())


def folder_cases() -> Iterator[Case]:
    """Yield the cases."""
    files = both()
    sound = seal(files)
    yield good("folder-of-two", "Two exports that hold, and a list that is signed.", sound)
    yield good("folder-of-one", "A folder may hold a single export.", seal(of(decided())))
    text = withholding(decided(), f"blobs/{decided().event(1)['data']['question']['sha256']}")
    yield good(
        "folder-withheld",
        "An export of which a text is withheld holds, and what it says beside its verdict is "
        "counted.",
        seal({**files, ONE: zip_of(text)}),
    )
    yield from container_cases(files, sound)
    yield from list_cases(files, sound)
    yield from signature_cases(files, sound)
    yield from register_cases()
    yield from line_cases()


def container_cases(files: Files, sound: Files) -> Iterator[Case]:
    """Check 1: what lies in the folder, and whether each export holds."""
    altered = zip_of(export(escalated().data(1, rules=2)))
    yield bad(
        "folder-altered", "1.record", 0,
        "An export does not hold, and the list is signed over it as it is.",
        seal({**files, TWO: altered}),
    )  # fmt: skip
    yield bad(
        "folder-zip-broken", "1.export", 0,
        "A zip without its end is no export, and the list is signed over it as it is.",
        seal({**files, TWO: files[TWO][:-1]}),
    )  # fmt: skip
    yield bad(
        "folder-no-export", "1.export", 0,
        "A file with the name of an export is none, and the list is signed over it as it is.",
        seal({**files, TWO: b"a text\n"}),
    )  # fmt: skip
    yield bad(
        "folder-page", "1.export", 0,
        "A page is no export in a folder, whatever it is called.",
        seal({**files, TWO: b'<p>\n<script type="application/octet-stream">AAAA</script>\n'}),
    )  # fmt: skip
    yield bad(
        "folder-renamed", "1.debate", 0,
        "An export stands under the id of another debate, so that there seem to be two.",
        seal({**files, TWO: files[ONE]}),
    )  # fmt: skip
    for name, what in (("notes.txt", "other"), (f"{ONE}.part", "part"), (ONE.upper(), "upper")):
        yield bad(
            f"folder-name-{what}", "1.name", 0,
            f"{name} is no name that a folder of exports may hold.",
            {**sound, name: b""},
        )  # fmt: skip
    yield bad(
        "folder-in-folder", "1.name", 0,
        "A folder of exports holds no folders.",
        {**sound, f"blobs/{ONE}": b""},
    )  # fmt: skip


def list_cases(files: Files, sound: Files) -> Iterator[Case]:
    """Check 2: the list, and what it says of each file."""
    yield bad("folder-unsigned", "2.missing", 0, "There is no list.", files)
    for name, why, found in (
        ("note", "The list is no signed note.", {**sound, SUMS: manifest(files)}),
        ("order", "The list is in another order.",
         listed(lambda text: "".join(sorted(text.splitlines(keepends=True), reverse=True)))),
        ("twice", "A file stands twice in the list.",
         listed(lambda text: text + text.splitlines(keepends=True)[-1])),
        ("withheld", "Nothing is withheld from a folder.",
         listed(lambda text: f"{text}# withheld {ONE} privacy\n")),
        ("strange", "A name is listed that no folder may hold.",
         listed(lambda text: f"{text}{'0' * 64}  notes.txt\n")),
    ):  # fmt: skip
        yield bad(f"folder-list-{name}", "2.malformed", 0, why, found)
    less = {name: body for name, body in sound.items() if name != TWO}
    yield bad("folder-less", "2.absent", 0, "An export was taken out of the folder.", less)
    none = {SUMS: sound[SUMS], "VERIFY.md": ABOUT}
    yield bad("folder-emptied", "2.absent", 0, "All exports were taken out.", none)
    more = {**seal(of(decided())), TWO: files[TWO]}
    yield bad("folder-more", "2.unlisted", 0, "An export that holds was added.", more)
    other = zip_of(seal({**files_of(escalated()), "VERIFY.md": b"otherwise\n"}))
    yield bad(
        "folder-exchanged", "2.hash", 0,
        "An export was exchanged for another that holds, of the same debate.",
        {**sound, TWO: other},
    )  # fmt: skip
    yield bad(
        "folder-about", "2.hash", 0,
        "What VERIFY.md says was changed.",
        {**sound, "VERIFY.md": b"Trust us.\n"},
    )  # fmt: skip


def signature_cases(files: Files, sound: Files) -> Iterator[Case]:
    """Check 3: who signed the list, and when that was at the earliest."""
    yield bad(
        "folder-forged", "3.signature", 0,
        "The signature of the list is over another text.",
        {**files, SUMS: manifest(files) + b"\n" + signature_line(EXPORT, b"another text\n")},
    )  # fmt: skip
    yield unknown(
        "folder-another-key", "The list is signed by a key of a known name that nobody knows.",
        seal(files, signer(EXPORT.name, "another")),
    )  # fmt: skip
    yield unknown("folder-stranger", "A stranger signed the list.", seal(files, STRANGER))
    yield unknown(
        "folder-stranger-inside", "A stranger signed one of the exports.",
        seal({**files, **of(escalated(), by=STRANGER)}),
    )  # fmt: skip
    last = max(len(decided().lines), len(escalated().lines))
    yield unknown(
        "folder-revoked",
        "The key was revoked when the last entry of the longest record was made.",
        sound, trust(export=(None, None, time_of(last))),
    )  # fmt: skip


# ------------------------------------------------------------------ the register of a folder

RECORDS = (decided(), escalated())


def register_of_both(*more: tuple[Kind, Record, str]) -> Register:
    """Return a register of both debates, and of a third one that is not here.

    `more` are lines of a kind about a record that name a head, after the others.
    """
    rows: list[tuple[Kind, str, str]] = [("opened", tag(OTHERS[0]), digest(b"a third"))]
    rows += [("opened", tag_of(record), digest(record.lines[0])) for record in RECORDS]
    rows += [("head", tag_of(record), last_of(record)) for record in RECORDS]
    rows += [(kind, tag_of(record), head) for kind, record, head in more]
    return Register([Line(index, kind, of_, head) for index, (kind, of_, head) in enumerate(rows)])


def tag_of(record: Record) -> str:
    """Return the tag of a record's lines."""
    return tag(record.event(1)["debate"])


def until(register: Register, size: int) -> Register:
    """Return a register as it was when it had so many lines."""
    return replace(register, lines=register.lines[:size])


def registered(
    register: Register, kept: bytes | None = None, exports: Files | None = None, **changed: bytes
) -> Files:
    """Return a folder of two exports with a register, before which it had two checkpoints.

    `changed` are files of the register as they are instead: `lines` or `checkpoint`.
    """
    earlier = b"".join(until(register, size).checkpoint() for size in (1, 3))
    lines = b"".join(line.data + b"\n" for line in register.lines)
    return seal(
        (both() if exports is None else exports)
        | {
            LINES: changed.get("lines", lines),
            CHECKPOINT: changed.get("checkpoint", register.checkpoint()),
            KEPT: earlier if kept is None else kept,
        }
    )


def proven_under(register: Register) -> Files:
    """Return the exports of both debates with their proofs."""
    exports = {ONE: logged(RECORDS[0], register, 1, 3), TWO: logged(RECORDS[1], register, 2, 4)}
    return {"VERIFY.md": ABOUT} | {name: zip_of(files) for name, files in exports.items()}


def register_cases() -> Iterator[Case]:
    """Check 17 of a folder: the register by itself, and who signed it."""
    register = register_of_both()
    yield good(
        "folder-register",
        "The folder holds the register of both debates, and of a third that is not here; each "
        "export proves its place in it.",
        registered(register, exports=proven_under(register)),
    )
    yield good(
        "folder-register-bare", "The exports have no proofs: the lines tell.", registered(register)
    )
    yield good("folder-register-new", "No checkpoint was signed before.", registered(register, b""))
    cosigned = replace(register, change=cosigning(*WITNESSES[:2]))
    yield anchored(
        "folder-register-cosigned", "Enough witnesses cosigned the checkpoint of the folder.",
        registered(cosigned), witnessed(needed=2),
    )  # fmt: skip
    yield good(
        "folder-register-twice", "A line names the latest version once more.",
        registered(register_of_both(("head", RECORDS[0], last_of(RECORDS[0])))),
    )  # fmt: skip
    sound = registered(register)
    for name in (LINES, CHECKPOINT, KEPT):
        less = {file: body for file, body in sound.items() if file not in (name, SUMS)}
        key = name.partition(".")[0]
        yield bad(f"folder-without-{key}", "17.missing", 0, f"There is no {name}.", seal(less))
    less = {file: body for file, body in sound.items() if file != LINES}
    yield bad(
        "folder-register-hash", "2.hash", 0, "A line was added to the register.",
        {**less, LINES: sound[LINES] + register.lines[0].data + b"\n"},
    )  # fmt: skip
    for key, code, seq, why, files in (
        ("signature", "17.signature", 0, "The checkpoint is none.",
         registered(register, checkpoint=b"any\n")),
        ("line", "17.line", 2, "The second line is none.",
         registered(register, lines=sound[LINES].replace(b'"index":1,', b'"index":01,'))),
        ("cut", "17.line", 5, "The last line is not ended.",
         registered(register, lines=sound[LINES][:-1])),
        ("size", "17.size", 0, "A line is there that the checkpoint does not cover.",
         registered(until(register, 4), checkpoint=register.checkpoint())),
        ("root", "17.root", 0, "The lines do not give the root of the checkpoint.",
         registered(register, checkpoint=replace_line(register, 0, head="0" * 64).checkpoint())),
        ("kept", "17.kept", 3, "A checkpoint that was signed before has another root.",
         registered(register, until(replace_line(register, 0, head="0" * 64), 3).checkpoint())),
        ("kept-none", "17.kept", 0, "What should be an earlier checkpoint is none.",
         registered(register, b"any\n" + until(register, 1).checkpoint())),
        ("kept-order", "17.kept", 1, "The earlier checkpoints are not in order.",
         registered(register, until(register, 3).checkpoint() + until(register, 1).checkpoint())),
    ):  # fmt: skip
        yield bad(f"folder-register-{key}", code, seq, why, files)
    for key, by in (("another", signer(LOG.name, "another")), ("stranger", STRANGER)):
        yield unknown(
            f"folder-log-{key}", "Nobody knows the key that signed the checkpoint.",
            registered(replace(register, by=by)),
        )  # fmt: skip
    forged = register.head().text() + b"\n" + signature_line(LOG, b"another text\n")
    yield bad(
        "folder-log-forged", "3.checkpoint", 0,
        "The signature of the checkpoint is over another text.",
        registered(register, checkpoint=forged),
    )  # fmt: skip


def line_cases() -> Iterator[Case]:
    """Check 17 of a folder: each export, and the lines about its record."""
    one, two = RECORDS
    register = register_of_both()
    other = replace_line(register, 1, head=digest(b"another"))
    yield bad(
        "folder-unregistered", "17.unregistered", 0,
        "The register has no line about one of the exports.",
        registered(Register([*register.lines[:1]]), b""),
    )  # fmt: skip
    yield bad(
        "folder-opened", "17.opened", 0,
        "The first line about an export names another first entry: it was recorded anew.",
        registered(other),
    )  # fmt: skip
    moved = [
        replace(register.lines[place], index=index) for index, place in enumerate((4, 1, 3, 2))
    ]
    yield bad(
        "folder-opened-late", "17.opened", 0,
        "The first line about an export is not that of an opening.",
        registered(Register(moved), b""),
    )  # fmt: skip
    yield bad(
        "folder-superseded", "17.superseded", 0,
        "The register has a later version of an export than the one that is here.",
        registered(register_of_both(("head", two, digest(b"a review")))),
    )  # fmt: skip
    yield bad(
        "folder-behind", "17.superseded", 0,
        "The latest line about an export names an earlier entry of it.",
        registered(register_of_both(("head", one, digest(one.lines[-2])))),
    )  # fmt: skip
    yield bad(
        "folder-replaced", "17.replaced", 0,
        "Between its opening and its latest version an export had another version, none of whose "
        "entries is in it.",
        registered(
            register_of_both(("head", one, digest(b"another")), ("head", one, last_of(one)))
        ),
    )  # fmt: skip
    yield bad(
        "folder-proven-under-another", "17.checkpoint", 0,
        "The exports are proven under a later checkpoint than that of the folder.",
        registered(
            register, exports=proven_under(register_of_both(("head", one, last_of(one))))
        ),
    )  # fmt: skip
