"""Steps 1 to 3: container, manifest, and who signed them (FORMAT.md §13, §14)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from hansard.errors import DataError
from hansard.record import bundle as bundles
from hansard.record import manifest as manifests
from hansard.record import note as notes
from hansard.record import page as pages
from hansard.record.bundle import Bundle
from hansard.record.keys import Role, Trust, who_signed
from hansard.record.manifest import Manifest
from hansard.record.note import Note
from hansard.record.policy import Policy
from hansard.verify.findings import Finding, Status

_NO_EXPORT = "read from a store, which has no container, manifest or signature"
_BLOBS = "blobs/"


@dataclass(slots=True)
class Envelope:
    """What steps 1 to 3 found: status and evidence by check, findings, and the signed manifest."""

    rows: dict[int, tuple[Status, str]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    manifest: Manifest = field(default_factory=lambda: Manifest({}))
    note: Note | None = None
    trusted: bool = False

    @property
    def withheld(self) -> frozenset[str]:
        """The names of blobs that were kept from this recipient."""
        names = self.manifest.withheld
        return frozenset(name.removeprefix(_BLOBS) for name in names if name.startswith(_BLOBS))


def of_store() -> Envelope:
    """Return the envelope of a record that never left its store."""
    return Envelope(rows=dict.fromkeys((1, 2, 3), ("unsupported", _NO_EXPORT)))


def open_export(export: bytes | Mapping[str, bytes]) -> tuple[Bundle | None, Envelope]:
    """Steps 1 and 2: take the files out of an export and compare them with its manifest.

    `export` is the bytes of a zip or of a page, or the files of a folder by
    name. The record is None where the container cannot be read.
    """
    envelope = Envelope()
    try:
        files = files_of(export)
        bundle = bundles.of_files(files)
    except DataError as error:
        envelope.findings.append(Finding(code=error.code, seq=0, message=str(error)))
        return None, envelope
    envelope.rows[1] = ("pass", f"{len(files)} files, and nothing else")
    _check_manifest(files, envelope)
    return bundle, envelope


def files_of(export: bytes | Mapping[str, bytes]) -> Mapping[str, bytes]:
    """Return the files of an export by name; raises DataError `1.…` where it is refused."""
    if not isinstance(export, bytes):
        bundles.check_names(list(export))
        return export
    if not pages.is_page(export):
        return bundles.unpack(export)
    files = bundles.unpack(pages.record_in(export))
    if bundles.PAGE in files:  # nobody would compare it
        raise DataError("1.name", f"a page with {bundles.PAGE} in its record")
    return files


def _check_manifest(files: Mapping[str, bytes], envelope: Envelope) -> None:
    data = files.get(manifests.NAME)
    if data is None:
        message = "the export has no SHA256SUMS, so nobody signed it"
        envelope.findings.append(Finding(code="2.missing", seq=0, message=message))
        return
    try:
        envelope.note = notes.parse(data)
        envelope.manifest = manifest = manifests.parse(envelope.note.text)
    except DataError:
        message = "SHA256SUMS is not a signed manifest in its one spelling"
        envelope.findings.append(Finding(code="2.malformed", seq=0, message=message))
        return
    listed, there = manifest.files, files.keys() - manifests.UNLISTED
    for name in sorted(there | listed.keys()):
        if name not in listed:
            code, message = "2.unlisted", f"{name} is not in the manifest"
        elif name not in there:
            code, message = "2.absent", f"{name} is in the manifest, but not there"
        elif sha256(files[name]).hexdigest() != listed[name]:
            code, message = "2.hash", f"{name} is not the file that was signed"
        else:
            continue
        envelope.findings.append(Finding(code=code, seq=0, message=message, found=name))
    for name in sorted(files.keys() & manifest.withheld.keys()):
        message = f"{name} is there, though it is listed as withheld"
        envelope.findings.append(Finding(code="2.withheld", seq=0, message=message, found=name))
    withheld = f", {len(manifest.withheld)} withheld" if manifest.withheld else ""
    envelope.rows[2] = ("pass", f"{len(listed)} files as listed{withheld}")


def check_signatures(
    envelope: Envelope,
    policy: Policy | None,
    policy_named: bool,
    trust: Trust,
    opened_at: str | None,
) -> None:
    """Step 3: who signed manifest and policy, as far as the reader's trust file tells."""
    if 3 in envelope.rows:  # of a store
        return
    signed = (False, "cannot be read")
    if envelope.note:
        signed = _look(envelope, envelope.note, "export", "3.signature", trust, opened_at)
    evidence = [f"manifest {signed[1]}"]
    envelope.trusted = signed[0]
    if policy_named:
        approved = (False, "cannot be read")
        if policy:
            approved = _look(envelope, policy.note, "approval", "3.policy", trust, opened_at)
        evidence.append(f"policy {approved[1]}")
        envelope.trusted &= approved[0]
    status: Status = "pass" if envelope.trusted else "unchecked"
    envelope.rows[3] = (status, "; ".join(evidence))


def _look(
    envelope: Envelope, note: Note, role: Role, code: str, trust: Trust, at: str | None
) -> tuple[bool, str]:
    signing = who_signed(note, role, trust, at)
    if signing.forged:
        message = f"the signature of {signing.forged} is not over this text"
        envelope.findings.append(Finding(code=code, seq=0, message=message, found=signing.forged))
    return signing.trusted, signing.words
