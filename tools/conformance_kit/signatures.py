"""Checks 2, 3 and 10: how manifest and policy are signed, and what a policy demands."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import replace

from conformance_kit.case import Case, bad, good, group, unknown, untrusted
from conformance_kit.debates import (
    CONSENSUS,
    OTHER,
    approved,
    approving,
    decided,
    policy_of,
    refused,
    refused_late,
    under,
)
from conformance_kit.exports import (
    SUMS,
    export,
    files_of,
    loose_bits,
    malleable,
    manifest,
    noted,
    signature_line,
    signature_of,
)
from conformance_kit.records import (
    APPROVAL,
    EXPORT,
    KEYS,
    OPENED_AT,
    STRANGER,
    digest,
    signer,
    time_of,
    trust,
)
from hansard.record import note
from hansard.record.note import COSIGNATURE, Signer, VerifierKey


@group
def note_cases() -> Iterator[Case]:
    """Checks 2 and 3: how the manifest is signed, and by whom."""
    base = decided()
    spellings: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
        "crlf": (
            "All lines of the note end with CR LF.",
            lambda data: data.replace(b"\n", b"\r\n"),
        ),
        "two-empty-lines": (
            "Two empty lines stand before the signature.",
            lambda data: data.replace(b"\n\n", b"\n\n\n"),
        ),
        "no-empty-line": (
            "No empty line stands before the signature.",
            lambda data: data.replace(b"\n\n", b"\n"),
        ),
        "no-signature": (
            "No signature line follows the empty line.",
            lambda data: data[: data.index(b"\n\n") + 2],
        ),
        "no-final-line-feed": (
            "The signature line is not ended by LF.",
            lambda data: data[:-1],
        ),
        "something-after": (
            "A line that is no signature follows the signature.",
            lambda data: data + b"checked\n",
        ),
        "hyphen": (
            "The signature line begins with a hyphen and not with U+2014.",
            lambda data: data.replace("—".encode(), b"-"),
        ),
        "without-padding": (
            "The base64 of the signature has no padding.",
            lambda data: data.replace(b"=\n", b"\n"),
        ),
        "loose-bits": (
            "The base64 of the signature has other bits behind its last byte, and decodes alike.",
            loose_bits,
        ),
        "other-alphabet": (
            "The base64 of the signature is of the alphabet for addresses.",
            lambda data: data.replace(
                signature_of(data), signature_of(data)[:-4] + b"-_" + signature_of(data)[-2:]
            ),
        ),
        "short-signature": (
            "The signature is a byte too short.",
            lambda data: data.replace(
                signature_of(data), base64.b64encode(base64.b64decode(signature_of(data))[:-1])
            ),
        ),
    }
    for key, (why, change) in spellings.items():
        yield bad(f"note-{key}", "2.malformed", 0, why, noted(change))
    files = export(base)
    other = {**files_of(base), "VERIFY.md": b"other\n"}
    forged = {**other, SUMS: files[SUMS].replace(manifest(files_of(base)), manifest(other))}
    yield bad(
        "signature-forged",
        "3.signature",
        0,
        "A file was altered and the manifest made to fit; its signature, of a key that the "
        "reader knows, is over another text.",
        forged,
    )
    yield bad(
        "signature-forged-of-a-key-not-in-force",
        "3.signature",
        0,
        "The same, and the key is no longer in force: a known key's signature must verify all "
        "the same.",
        forged,
        trust(export=(None, OPENED_AT)),
    )
    yield bad(
        "signature-malleable",
        "3.signature",
        0,
        "The order of the group was added to the second half of the signature: RFC 8032 refuses "
        "that, though some verifiers do not.",
        noted(malleable),
    )
    reviewer = signature_line(KEYS["reviewer"], b"another text\n")
    yield bad(
        "second-signature-forged",
        "3.signature",
        0,
        "The export key's signature is sound, but a second one, of a known key of another role, "
        "does not verify.",
        noted(lambda data: data + reviewer),
    )
    yield unknown(
        "signer-unknown",
        "Somebody else made the record and signed it: it agrees with itself, and that is all.",
        export(base, STRANGER),
    )
    yield unknown(
        "signer-under-our-name",
        "Somebody else signed under our key's name; the key id tells.",
        export(base, signer(EXPORT.name, "stranger")),
    )
    yield unknown(
        "key-of-another-role",
        "The manifest is signed with the approval key, which the reader trusts for policies.",
        export(base, APPROVAL),
    )
    yield unknown(
        "key-not-yet-in-force",
        "The export key comes into force a microsecond after the opening.",
        export(base),
        trust(export=("2026-01-05T09:00:00.001001Z", None)),
    )
    yield unknown(
        "key-no-longer-in-force",
        "The export key is in force until the opening, so not any more then.",
        export(base),
        trust(export=(None, OPENED_AT)),
    )
    yield unknown(
        "key-revoked-at-the-last-entry",
        "The export key was revoked at the very time of the last entry, and the last entry dates "
        "the manifest: its signature does not count, though the key was in force at the opening.",
        export(base),
        trust(export=(None, None, time_of(len(base.lines)))),
    )
    yield unknown(
        "nobody-trusted",
        "The trust file names no key at all.",
        export(base),
        b'{"v":1,"keys":[]}\n',
    )


TWINS = ("68846", "187993")  # found by trying: two export keys of one id
ORDER_8 = "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"


def trusting(*keys: VerifierKey) -> bytes:
    """Return a trust file with these export keys."""
    rows = [{"role": "export", "key": str(key)} for key in keys]
    return json.dumps({"v": 1, "keys": rows}).encode()


@group
def trust_cases() -> Iterator[Case]:
    """Trust files that cannot be used, each with an export that is sound (§14)."""
    base, named = decided(), EXPORT.name
    twins = [signer(named, key) for key in TWINS]
    yield untrusted(
        "trust-two-keys-of-one-id",
        "Two public keys stand under one name and one key id: a signature would name both.",
        export(base, twins[0]),
        trusting(*(twin.key for twin in twins)),
    )
    for key, why, data in (
        ("no-keys", "The trust file has no list of keys.", b'{"v":1}'),
        ("no-version", "The trust file does not say its version.", b'{"keys":[]}'),
        (
            "too-large",
            "The trust file has 4,000,001 bytes, most of which are spaces.",
            trusting(EXPORT.key).ljust(4_000_001),
        ),
    ):
        yield untrusted(f"trust-file-{key}", why, export(base), data)
    for key, public, why in (
        ("order-1", (1).to_bytes(32, "little"), "the neutral point of the curve"),
        ("order-8", bytes.fromhex(ORDER_8), "a point of order 8"),
        ("spelled-otherwise", (2**255 - 18).to_bytes(32, "little"), "no canonical spelling"),
    ):
        yield untrusted(
            f"trust-key-{key}",
            f"A public key is {why}: it would verify what nobody signed.",
            export(base),
            trusting(EXPORT.key, VerifierKey(named, public)),
        )
    signing = STRANGER.key
    cosigning = VerifierKey(STRANGER.name, STRANGER.key.public, COSIGNATURE)
    weak = VerifierKey(STRANGER.name, bytes.fromhex(ORDER_8), COSIGNATURE)
    for key, role, given, why in (
        (
            "of-a-witness-that-signs",
            "witness",
            signing,
            "The key of a witness signs and cosigns not",
        ),
        ("of-a-witness-that-is-weak", "witness", weak, "The key of a witness is of order 8"),
        ("that-cosigns", "export", cosigning, "The key of an exporter cosigns"),
    ):
        row = {"role": role, "key": str(given)}
        yield untrusted(
            f"trust-key-{key}",
            f"{why}. The trust file cannot be used.",
            export(base),
            trust().replace(b"]", b",\n" + json.dumps(row).encode() + b"]"),
        )


@group
def policy_cases() -> Iterator[Case]:
    """Checks 3 and 10: who approved the prompts, and whether the engine kept to it."""
    base, stopped = approved(), refused()
    policy = next(iter(base.policies.values()))
    name = digest(policy)
    yield bad(
        "policy-missing",
        "10.policy",
        1,
        "The opening names a policy, and it is not there.",
        export(replace(base, policies={})),
    )
    yield bad(
        "policy-altered",
        "10.policy",
        1,
        "The policy approves another template than it did; its name is the old one.",
        export(replace(base, policies={name: approving(debater=OTHER)})),
    )
    unsorted = policy_of(reversed(policy.decode().split("\n\n")[0].split("\n")[1:]))
    for key, why, text in (
        ("policy-unsorted", "The lines of the policy are not in byte order.", unsorted),
        (
            "policy-term-twice",
            "The policy has two ceilings of calls in one scope.",
            policy_of(["consensus max_calls 40", "consensus max_calls 50"]),
        ),
        (
            "policy-too-long",
            "The policy has 1,001 lines.",
            policy_of(sorted(f"* model m{n}" for n in range(1_001))),
        ),
        (
            "policy-line-twice",
            "A line of the policy stands twice.",
            policy_of(["* provider openai", "* provider openai"]),
        ),
        (
            "policy-unknown-term",
            "The policy has a term that there is not.",
            policy_of(["* max_words 100"]),
        ),
        (
            "policy-no-such-value",
            "The policy wants a number of calls that is no number.",
            policy_of(["* max_calls 040"]),
        ),
        (
            "policy-format-name",
            "The policy names a format with a hyphen, which no format has.",
            policy_of([f"big-debate.debater template {OTHER}"]),
        ),
        (
            "policy-of-another-version",
            "The policy's first line is not `hansard-policy/v1`.",
            note.sign(b"hansard-policy/v2\n", APPROVAL),
        ),
        (
            "policy-not-signed",
            "The policy has no signature at all, so it is no note.",
            policy.partition(b"\n\n")[0] + b"\n",
        ),
        (
            "policy-with-an-empty-line",
            "An empty line stands within the policy; it is signed, and is none of its lines.",
            note.sign(b"hansard-policy/v1\n\n", APPROVAL),
        ),
        ("policy-crlf", "The lines of the policy end with CR LF.", policy.replace(b"\n", b"\r\n")),
    ):
        yield bad(key, "10.policy", 1, why, export(under(base, text)))
    body = signature_line(APPROVAL, b"another policy\n")
    forged = policy.partition(b"\n\n")[0] + b"\n\n" + body
    yield bad(
        "policy-forged",
        "3.policy",
        0,
        "The policy approves the templates in use, but the approval key signed another text.",
        export(under(base, forged)),
    )
    yield unknown(
        "policy-signed-by-the-export-key",
        "The policy is signed with a key that the reader trusts for exports: whoever exports does "
        "not approve.",
        export(under(base, approving(by=EXPORT))),
    )
    yield unknown(
        "policy-signed-by-a-stranger",
        "The policy is signed with a key that the reader does not know.",
        export(under(base, approving(by=signer("stranger.example/approval")))),
    )
    yield unknown(
        "policy-key-not-in-force",
        "The approval key was no longer in force when the debate was opened.",
        export(base),
        trust(approval=(None, OPENED_AT)),
    )
    yield unknown(
        "policy-key-revoked-at-the-opening",
        "The approval key was revoked at the very time of the opening, which dates a policy.",
        export(base),
        trust(approval=(None, None, OPENED_AT)),
    )
    revoked = trust(policies=[{"sha256": name, "revoked": OPENED_AT}])
    yield unknown(
        "policy-revoked-at-the-opening",
        "The policy was revoked at the very time of the opening: it counts for nothing, though "
        "its key does.",
        export(base),
        revoked,
    )
    stray = signature_line(signer("stranger.example/approval"), b"any text\n")
    yield unknown(
        "policy-revoked-with-another-line",
        "The policy was revoked, and then somebody added a signature line, so that the note has "
        "another hash: with its first line alone it is the revoked one.",
        export(under(base, policy + stray)),
        revoked,
    )
    yield unknown(
        "policy-revoked-with-a-line-before",
        "The same, and the line that was added stands before the other.",
        export(under(base, policy.replace(b"\n\n", b"\n\n" + stray))),
        revoked,
    )
    yield unknown(
        "policy-revoked-with-both-lines",
        "The hash that was revoked is that of the note with both lines.",
        export(under(base, policy + stray)),
        trust(policies=[{"sha256": digest(policy + stray), "revoked": OPENED_AT}]),
    )
    renamed = Signer("example.org/renamed", APPROVAL.private)
    again = policy.partition(b"\n\n")[0] + b"\n"
    signature = note.parse(policy).signatures[0].signature
    names = sorted([name, digest(again + b"\n" + signature)])
    for key, why, listed in (
        ("approved", "that names it by both, and none is revoked", []),
        ("revoked", "that names it by both; the policy was revoked under the other", names),
    ):
        given = json.loads(
            trust(policies=[{"sha256": row, "revoked": OPENED_AT} for row in listed])
        )
        given["keys"].append({"role": "approval", "key": str(renamed.key)})
        yield (unknown if listed else good)(
            f"policy-{key}-under-another-name",
            f"The line of the policy is under another name of its key, for a reader {why}.",
            export(under(base, note.sign(again, renamed))),
            json.dumps(given).encode(),
        )
    yield bad(
        "policy-revoked-and-forged",
        "3.policy",
        0,
        "The policy was revoked, and its signature is over another text besides.",
        export(under(base, forged)),
        trust(policies=[{"sha256": digest(forged), "revoked": OPENED_AT}]),
    )
    yield unknown(
        "policy-revoked-and-signed-by-a-stranger",
        "The policy was revoked, and is signed with a key that the reader does not know.",
        export(under(base, approving(by=STRANGER))),
        trust(policies=[{"sha256": digest(approving(by=STRANGER)), "revoked": OPENED_AT}]),
    )
    yield bad(
        "policy-not-named",
        "10.unnamed",
        0,
        "A policy is there that the opening does not name.",
        export(replace(decided(), policies={name: policy})),
    )
    yield bad(
        "called-without-approval",
        "10.not_approved",
        4,
        "The policy approves another template for the debaters, and the models were called all "
        "the same, as by an engine that was patched.",
        export(under(base, approving(debater=OTHER))),
    )
    yield bad(
        "called-without-approval-of-a-block",
        "10.not_approved",
        4,
        "The template that is not approved is the one in which texts are quoted.",
        export(under(base, approving(block=OTHER))),
    )
    yield bad(
        "refused-under-an-unreadable-policy",
        "10.policy",
        1,
        "A call was refused, and the policy cannot be read: what it approves is taken as recorded.",
        export(under(stopped, unsorted)),
    )
    yield bad(
        "refused-another-step",
        "10.step",
        4,
        "The refusal is for another step than the first one that a call was due for.",
        export(stopped.data(4, step="r1.proposal.ben")),
    )
    yield bad(
        "refused-another-role",
        "10.role",
        4,
        "The refusal names another role than the first whose template is not approved.",
        export(stopped.data(4, role="block")),
    )
    yield bad(
        "refused-another-template",
        "10.found",
        4,
        "The refusal states another template as found than the opening's.",
        export(stopped.data(4, found=digest(b"no such template"))),
    )
    yield bad(
        "refused-as-if-nothing-was-approved",
        "10.approved",
        4,
        "The refusal hides which template the policy approves.",
        export(stopped.data(4, approved=[])),
    )
    yield bad(
        "refused-at-run-time-another-approved",
        "10.approved",
        4,
        "The refusal at run time states another template as approved than the policy does.",
        export(refused_late().data(4, approved=[digest(b"no such template")])),
    )
    yield bad(
        "refused-what-is-approved",
        "9.not_due",
        4,
        "The template that was found is the approved one: there was nothing to refuse.",
        export(refused_late().data(4, found=digest(CONSENSUS["debater"].encode()))),
    )
    yield bad(
        "refused-unknown-role",
        "9.not_due",
        4,
        "The refusal at run time is for a role that the format does not have.",
        export(refused_late().data(4, role="judge", approved=[])),
    )
    yield bad(
        "refused-without-a-policy",
        "9.not_due",
        4,
        "The opening names no policy, so no call is ever refused.",
        export(replace(stopped.data(1, policy=None), policies={})),
    )
    yield bad(
        "called-after-a-refusal",
        "9.not_due",
        5,
        "A call is started after one was refused.",
        export(refused_late().insert(5, "call.started", base.event(4)["data"])),
    )
    yield bad(
        "refused-and-complete",
        "16.outcome",
        5,
        "A debate whose call was refused is closed as complete.",
        export(stopped.data(5, outcome="complete")),
    )
    yield bad(
        "refused-and-reached",
        "16.reason",
        5,
        "A debate whose call was refused is closed for votes.",
        export(stopped.data(5, reason="votes_reached")),
    )
