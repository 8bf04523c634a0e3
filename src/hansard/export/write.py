"""Writing an export: the same record and key give the same bytes (FORMAT.md §13)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from importlib.resources import files as resources
from pathlib import Path

from hansard import vocabulary
from hansard.errors import UsageError
from hansard.page.write import page
from hansard.record import bundle as bundles
from hansard.record import manifest as manifests
from hansard.record import note
from hansard.record.bundle import Bundle
from hansard.record.note import Signer


def export(bundle: Bundle, signer: Signer, withheld: Mapping[str, str] | None = None) -> bytes:
    """Return the zip of one record, its manifest signed with the export key.

    With its page and the signed note that covers it, unless the record is too large for one.
    `withheld` are the texts that it does not have, by name, with the reason.
    """
    files = signed(bundle, signer, withheld)
    with suppress(UsageError):
        files[bundles.PAGE] = page(files)
        text = manifests.write_page(files[manifests.NAME], files[bundles.PAGE])
        files[bundles.PAGE_NOTE] = note.sign(text, signer)
    return bundles.pack(files)


def signed(
    bundle: Bundle, signer: Signer, withheld: Mapping[str, str] | None = None
) -> dict[str, bytes]:
    """Return the files of an export but for its page, the manifest signed with the export key."""
    left_out = {f"blobs/{name}": reason for name, reason in (withheld or {}).items()}
    files = bundles.to_files(bundle) | {"VERIFY.md": instructions()}
    files = {name: body for name, body in files.items() if name not in left_out}
    return files | {manifests.NAME: note.sign(manifests.write(files, left_out), signer)}


def instructions(name: str = "VERIFY.md") -> bytes:
    """Return VERIFY.md: how to check an export with stock tools, and without trusting it.

    That of a folder of exports is made from `FOLDER.md`.
    """
    template = (resources("hansard.export") / name).read_text(encoding="utf-8")
    claims = vocabulary.words("claims")
    places = {
        "verifier": sha256(standalone_verifier().read_bytes()).hexdigest(),
        "proven": vocabulary.fill(claims["proven"], gone=claims["gone"]),
        "unproven": claims["unproven"],
    }
    for place, words in places.items():
        template = template.replace(f"{{{{{place}}}}}", words)
    return template.encode()


def standalone_verifier() -> Path:
    """Return the file of the standard-library verifier that comes with this release.

    Never raises.

    >>> standalone_verifier().name
    'verify.py'
    """
    packaged = Path(str(resources("hansard"))) / "standalone" / "verify.py"
    # In a checkout the wheel's copy does not exist yet: the file is where it is written.
    return packaged if packaged.exists() else packaged.parents[3] / "tools" / "verify.py"
