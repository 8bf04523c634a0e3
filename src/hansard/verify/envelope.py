"""Checks 1 to 3: the container, the manifest, and who signed (FORMAT.md §13, §14)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256

from hansard import vocabulary
from hansard.errors import DataError
from hansard.record import bundle as bundles
from hansard.record import manifest as manifests
from hansard.record import note as notes
from hansard.record import page as pages
from hansard.record.keys import Role, Signing, who_signed
from hansard.record.note import Note
from hansard.verify.findings import Finding, finding
from hansard.verify.reading import Reading

_CODES = {"manifest": "signature"}  # of check 3; the others are called what they are


def require_export(export: bytes | Iterable[str], name: object) -> None:
    """Refuse what is no export at all: it gets no verdict (FORMAT.md §13).

    `export` is the bytes of a file, or the names in a folder as `files_of` has them;
    `name` is what the error calls it. Raises DataError `input.unknown`, and
    `page.damaged` for a page whose record cannot be read. An export that is damaged
    in any other way is not refused here: verifying it says what is wrong.
    """
    if isinstance(export, bytes) and pages.is_page(export):
        if not pages.record_in(export):
            raise DataError("page.damaged", f"the record in the page {name} is damaged or cut off")
        return
    if lacks := _lacks(export):
        raise DataError("input.unknown", f"{name} is not a Hansard export: {lacks}")


def _lacks(export: bytes | Iterable[str]) -> str | None:
    """Say why this is no export; None where it is one, be it a damaged one."""
    if isinstance(export, bytes):
        if bundles.holds_any(export):
            missing = "it holds part of one, but the end of the zip is missing; get it again"
            return None if bundles.has_end(export) else missing
    elif any(bundles.is_name(each.removesuffix("/")) for each in export):
        return None
    return "it contains none of the files that an export has"


def files_of(export: bytes | Mapping[str, bytes]) -> Mapping[str, bytes]:
    """Check 1: return the files of an export by name; raises DataError `1.…` where it is refused.

    `export` is the bytes of a zip or of a page, or the files of a folder by name.
    """
    if not isinstance(export, bytes):
        bundles.check_folder(export)
        return export
    if not pages.is_page(export):
        return bundles.unpack(export)
    files = bundles.unpack(pages.record_in(export))
    for name in sorted(bundles.ASIDE & files.keys()):  # nobody would compare it
        raise DataError("1.name", f"a page with {name} in its record", name)
    return files


def check_manifest(reading: Reading) -> Iterator[Finding]:
    """Check 2: SHA256SUMS and SHA256SUMS.page list every file, each as its line says."""
    if reading.files is None:
        why = vocabulary.passed(1, "store")
        reading.aside |= dict.fromkeys((1, 2, 3), ("unsupported", why))
        return
    bare = not (reading.of_page or bundles.ASIDE & reading.files.keys())
    reading.say(1, "bare" if bare else "text", files=vocabulary.many(len(reading.files), "file"))
    yield from _page_note(reading, reading.files)
    data = reading.files.get(manifests.NAME)
    if data is None:
        yield finding("2.missing", 0)
        return
    try:
        reading.note = notes.parse(data)
        reading.manifest = manifests.parse(reading.note.text)
    except DataError:
        yield finding("2.malformed", 0)
        return
    yield from _compared(reading, reading.files)


def _compared(reading: Reading, files: Mapping[str, bytes]) -> Iterator[Finding]:
    """Compare the files with the manifest, each by name."""
    listed, withheld = reading.manifest.files, reading.manifest.withheld
    there = files.keys() - manifests.UNLISTED
    for name in sorted(there | listed.keys()):
        if name not in listed:
            yield finding("2.unlisted", 0, found=name, name=name)
        elif name not in there:
            yield finding("2.absent", 0, expected=name, name=name)
        elif (found := sha256(files[name]).hexdigest()) != listed[name]:
            yield finding("2.hash", 0, expected=listed[name], found=found, name=name)
    for name in sorted(files.keys() & withheld.keys()):
        yield finding("2.withheld", 0, found=name, name=name)
    variant = "withheld" if withheld else "text"
    reading.say(2, variant, files=vocabulary.many(len(listed), "file"), withheld=len(withheld))


def _page_note(reading: Reading, files: Mapping[str, bytes]) -> Iterator[Finding]:
    """Compare the page with its note, which is there exactly where the page is."""
    there = bundles.ASIDE & files.keys()
    if len(there) == 1:
        for name in bundles.ASIDE - there:
            yield finding("2.page_missing", 0, expected=name, name=name)
    if bundles.PAGE_NOTE not in there:
        return
    try:
        reading.page_note = notes.parse(files[bundles.PAGE_NOTE])
        listed = manifests.parse_page(reading.page_note.text)
    except DataError:
        yield finding("2.page_malformed", 0)
        return
    for name, expected in listed.items():
        if name in files and (found := sha256(files[name]).hexdigest()) != expected:
            yield finding("2.page_hash", 0, expected=expected, found=found, name=name)


def check_signatures(reading: Reading) -> Iterator[Finding]:
    """Check 3: trusted keys, in force when the debate was opened, signed all there is to sign."""
    if reading.files is None:
        return
    last = reading.events[-1]["at"] if reading.begins else None  # nobody signed it before
    signings = [("manifest", _signing(reading, reading.note, "export", last))]
    if bundles.ASIDE & reading.files.keys():
        signings.append(("page", _signing(reading, reading.page_note, "export", last)))
    if reading.opened and reading.opened["policy"] is not None:
        signings.append(("policy", _approval(reading)))
    if reading.bundle.proofs:
        signings.append(("checkpoint", _logged(reading, last)))
    for what, signing in signings:
        if signing.forged:
            code = f"3.{_CODES.get(what, what)}"
            yield finding(code, 0, found=signing.forged, name=signing.forged)
    reading.trusted = all(signing.trusted for _, signing in signings)
    words = reading.evidence[3] = signed_by(signings)
    if not reading.trusted:
        reading.aside[3] = ("unchecked", words)


def signed_by(signings: Iterable[tuple[str, Signing]]) -> str:
    """Say who signed each note; of those by the same keys it is said once."""
    alike: dict[str, list[str]] = {}
    for what, signing in signings:
        alike.setdefault(signing.words, []).append(what)
    return "; ".join(f"{' and '.join(notes)} {words}" for words, notes in alike.items())


def _approval(reading: Reading) -> Signing:
    """Say who signed the policy; one that was revoked before the opening counts for nothing."""
    policy, at = reading.policy, reading.events[0]["at"]
    signing = _signing(reading, policy.note if policy else None, "approval")
    revoked = reading.trust.revoked_policy(policy.names) if policy else None
    if revoked is None or revoked > at or signing.forged:
        return signing
    words = vocabulary.fill(vocabulary.words("signers")["withdrawn"], at=at, words=signing.words)
    return Signing(False, words)


def _logged(reading: Reading, last: str | None) -> Signing:
    """Say who signed the checkpoint of the latest line, or of the first where that is unread."""
    proof = reading.proofs.get("head") or reading.proofs.get("opened")
    if proof is None:
        return _signing(reading, None, "log")
    own = proof.checkpoint
    return _signing(reading, own.note, "log", last, own.head.origin)


def _signing(
    reading: Reading,
    note: Note | None,
    role: Role,
    dated: str | None = None,
    origin: str | None = None,
) -> Signing:
    if note is None:
        return Signing(False, vocabulary.words("signers")["unread"])
    at = reading.events[0]["at"] if reading.begins else None
    return who_signed(note, role, reading.trust, at, dated, origin)
