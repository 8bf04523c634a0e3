"""Checks 2, 3 and 10: notes and trust files, and what is none (§13, §14)."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

from conformance_kit.case import Case, bad, good, group, untrusted
from conformance_kit.debates import approved, decided
from conformance_kit.exports import (
    PAGE,
    SUMS,
    export,
    files_of,
    manifest,
    noted,
    retold,
    seal,
)
from conformance_kit.records import EXPORT, OPENED_AT, STRANGER, derived, time_of, trust
from hansard.record.note import VerifierKey

NO_POINT = VerifierKey("example.org/no-point", (2).to_bytes(32, "little"))
"""The y of this key is spelled canonically, and no point of the curve has it."""


def line_of(key: VerifierKey, *bodies: bytes) -> bytes:
    """Return a signature line with these bytes behind the key's id."""
    spelled = base64.b64encode(b"".join((key.id, *bodies))).decode()
    return f"— {key.name} {spelled}\n".encode()


def with_keys(*rows: dict[str, Any]) -> bytes:
    """Return the kit's trust file with these rows after the others."""
    given = json.loads(trust())
    return json.dumps({**given, "keys": [*given["keys"], *rows]}).encode()


@group
def note_cases() -> Iterator[Case]:
    """What is a note, and what is found beside one that is none."""
    cosigned = line_of(STRANGER.key, bytes(8), derived("cosignature", 1), derived("cosignature", 2))
    yield bad(
        "note-with-a-cosignature",
        "2.malformed",
        0,
        "A line of an unknown key holds eight bytes more than a signature, as a witness's "
        "cosignature does: with such a line the file is no note, whosever line it is.",
        noted(lambda data: data + cosigned),
    )
    yield bad(
        "manifest-not-utf-8",
        "2.malformed",
        0,
        "The manifest ends with a byte that is not UTF-8. It is a note all the same, and its "
        "signature is looked at; but the text is no list of files.",
        seal(files_of(decided()), text=manifest(files_of(decided())) + b"\xff\n"),
    )
    unsorted = retold(lambda text: "".join([*text.splitlines(True)[1:], text.splitlines(True)[0]]))
    yield bad(
        "manifest-unsorted-and-file-altered",
        "2.malformed",
        0,
        "The first line of the manifest stands last, and a file is not what its line says: a "
        "malformed manifest lists nothing.",
        {**unsorted, "VERIFY.md": b"other\n"},
    )
    files = files_of(decided())
    yield good(
        "withheld-page",
        "The page is listed as withheld, and is not there: no line may list it as a file, but any "
        "name may be withheld.",
        seal(files, text=manifest(files, {PAGE: "confidential"})),
    )
    yield bad(
        "withheld-manifest",
        "2.withheld",
        0,
        "The manifest is listed as withheld, and is there.",
        seal(files, text=manifest(files, {SUMS: "confidential"})),
    )
    (policy,) = (name for name in files_of(approved()) if name.startswith("policies/"))
    kept = {name: body for name, body in files_of(approved()).items() if name != policy}
    yield bad(
        "policy-withheld",
        "10.policy",
        1,
        "The policy is listed as withheld: only texts can be.",
        seal(kept, text=manifest(kept, {policy: "confidential"})),
    )


@group
def trust_cases() -> Iterator[Case]:
    """What a trust file may say."""
    files, row = export(decided()), {"role": "export", "key": str(EXPORT.key)}
    last = time_of(len(decided().lines))
    revoked = {"revoked": last}
    yield good(
        "trust-key-in-two-lines",
        "The key stands in two lines, and was revoked in the second: one line that lets it count "
        "is enough.",
        files,
        with_keys(row | revoked),
    )
    yield good(
        "trust-key-in-two-lines-first-revoked",
        "The key stands in two lines, and was revoked in the first: one line that lets it count "
        "is enough.",
        files,
        json.dumps({"v": 1, "keys": [row | revoked, row]}).encode(),
    )
    under = export(approved())
    (policy,) = (name[9:] for name in under if name.startswith("policies/"))
    for key, why, rows in (
        ("none", "The trust file has revoked policies, but none.", []),
        (
            "revoked-after-the-opening",
            "The policy was revoked a microsecond after the opening.",
            [{"sha256": policy, "revoked": OPENED_AT[:-2] + "1Z"}],
        ),
        (
            "other-revoked",
            "Two other policies were revoked.",
            [{"sha256": digit * 64, "revoked": OPENED_AT} for digit in "0f"],
        ),
    ):
        yield good(f"trust-policies-{key}", why, under, trust(policies=rows))
    sound = {"sha256": "f" * 64, "revoked": OPENED_AT}
    spoiled: Any
    for key, why, spoiled in (
        ("null", "The revoked policies are null.", None),
        ("twice", "A policy is revoked twice.", [sound, sound]),
        ("unsorted", "They do not stand in byte order.", [sound, sound | {"sha256": "0" * 64}]),
        ("capitals", "A hash is in capitals.", [sound | {"sha256": "F" * 64}]),
        ("short", "A hash is too short.", [sound | {"sha256": "f" * 63}]),
        ("no-time", "The time is missing.", [{"sha256": "f" * 64}]),
        ("null-time", "The time is null.", [sound | {"revoked": None}]),
        ("date", "The time is a date.", [sound | {"revoked": "2026-01-05"}]),
        ("more", "There is a member more.", [sound | {"reason": "old"}]),
        ("key", "A member is a hash alone.", ["f" * 64]),
    ):
        given = json.dumps({**json.loads(trust()), "policies": spoiled}).encode()
        yield untrusted(
            f"trust-policies-{key}", f"{why} The trust file cannot be used.", files, given
        )
    stray = {"role": "export", "key": str(NO_POINT)}
    yield good(
        "trust-key-of-no-point",
        "A second key is no point of the curve. It verifies nothing, and the trust file can be "
        "used.",
        files,
        with_keys(stray),
    )
    yield bad(
        "signature-of-no-point",
        "3.signature",
        0,
        "A second signature line names a known key that is no point of the curve, so that no "
        "signature verifies with it.",
        {**files, SUMS: files[SUMS] + line_of(NO_POINT, bytes(64))},
        with_keys(stray),
    )
    yield untrusted(
        "trust-file-in-a-fence",
        "The trust file stands between fences, which are dropped of a reply and of nothing else.",
        files,
        b"```json\n" + trust() + b"```\n",
    )
