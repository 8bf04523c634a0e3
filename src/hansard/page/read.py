"""Reading a page: the record in it, and whether the code around the record is this release's."""

from __future__ import annotations

from collections.abc import Mapping

from hansard.errors import DataError
from hansard.page.write import shell
from hansard.record import bundle as bundles
from hansard.record.keys import Trust
from hansard.record.page import is_page, packed_in, record_in, region
from hansard.verify import verifier
from hansard.verify.envelope import files_of
from hansard.verify.findings import PageCheck, Verification
from hansard.verify.register import kept


def verify_export(
    export: bytes | Mapping[str, bytes], trust: Trust, since: bytes | None = None
) -> Verification:
    """Verify an export, and look at its page or at the one that it is read from.

    `export` is the bytes of a zip or of a page, or the files of a folder by
    name; `since` a checkpoint that the reader kept. Never raises for bad bytes of
    an export; raises DataError as `kept` does for those of the checkpoint.
    """
    checkpoint = None if since is None else kept(since, trust)
    found = verifier.verify_export(export, trust, checkpoint)
    return found.model_copy(update={"page": check_page(export)})


def check_page(export: bytes | Mapping[str, bytes]) -> PageCheck | None:
    """Say whether a page can be relied on; None where there is no page."""
    if isinstance(export, bytes) and is_page(export):
        return PageCheck(released=is_released(export), same_record=None)
    try:
        files = files_of(export)
    except DataError:
        return None
    page = files.get(bundles.PAGE)
    if page is None:
        return None
    return PageCheck(released=is_released(page), same_record=_shows(page, files))


def is_released(page: bytes) -> bool:
    """Say whether all but a page's data is, byte for byte, what this release writes."""
    before, after = shell()
    if not page.startswith(before):
        return False
    at = len(before)
    # A region has one spelling, so nothing that a browser would read as code hides in it.
    try:
        for block in map(region, packed_in(page)):
            if not page.startswith(block, at):
                return False
            at += len(block)
    except ValueError:
        return False
    return page[at:] == after


def _shows(page: bytes, files: Mapping[str, bytes]) -> bool:
    """Say whether a page's record is that of an export's files."""
    others = {name: files[name] for name in files if name not in bundles.ASIDE}
    return bundles.is_zip_of(record_in(page), others)
