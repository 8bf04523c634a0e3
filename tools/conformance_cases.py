"""The cases of the conformance kit, and what every verifier must say of each.

The expected verdicts, codes and places are written here by hand, from schemas/FORMAT.md;
no verifier is asked. Unless a case is about the chain, the manifest or a signature, the
record is chained anew and signed with the genuine keys, so that what is left to find is
the one thing that was changed.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from conformance_records import (
    ABOUT,
    APPROVAL,
    EXPORT,
    KEYS,
    OPENED_AT,
    OTHER,
    REPLIES,
    STRANGER,
    SUMS,
    TEMPLATES,
    Files,
    Record,
    approved,
    approving,
    by_rounds,
    decided,
    derived,
    digest,
    dump,
    entries_of,
    escalated,
    export,
    fails,
    files_of,
    hostile,
    loose_bits,
    malleable,
    manifest,
    many_replies,
    noted,
    play,
    policy_of,
    priced,
    refused,
    refused_late,
    resumed,
    retold,
    rezipped,
    seal,
    signature_line,
    signature_of,
    signer,
    silenced,
    split,
    told,
    troubled,
    trust,
    under,
    vote,
    with_entry,
    withholding,
    zipped,
)
from hansard.record import blob, note


@dataclass(frozen=True)
class Case:
    """One export, and what every verifier must say of it."""

    name: str
    why: str
    export: Files | bytes
    level: int | None
    code: str | None = None
    seq: int | None = None
    trust: bytes | None = None  # in place of the kit's own trust file

    def files(self) -> Files:
        """Return the case's files by their names below `cases/`."""
        expected = {
            "verdict": {
                None: "ALTERED",
                0: "SELF-CONSISTENT, SIGNER UNKNOWN",
                1: "INTACT",
            }[self.level],
            "level": self.level,
            "code": self.code,
            "seq": self.seq,
            "exit": 0 if self.level == 1 else 1,
        }
        files = {
            "README.md": f"# {self.name}\n\n{self.why}\n".encode(),
            "expected.json": json.dumps(expected).encode() + b"\n",
        }
        if isinstance(self.export, bytes):
            files["record.zip"] = self.export
        else:
            files |= {f"bundle/{name}": body for name, body in self.export.items()}
        if self.trust is not None:
            files["trust.json"] = self.trust
        return {f"{self.name}/{name}": body for name, body in files.items()}


def good(name: str, why: str, files: Files | bytes, given: bytes | None = None) -> Case:
    """A case that must be accepted."""
    return Case(name, why, files, 1, trust=given)


def unknown(name: str, why: str, files: Files, given: bytes | None = None) -> Case:
    """A case that agrees with itself, but is not signed by whom it should be."""
    return Case(f"{name}_fail", why, files, 0, trust=given)


def bad(
    name: str, code: str, seq: int, why: str, files: Files | bytes, given: bytes | None = None
) -> Case:
    """A case that must be refused, with the code and place of its first finding."""
    return Case(f"{name}_fail", why, files, None, code, seq, given)


def good_cases() -> Iterator[Case]:
    """Records that must be accepted."""
    base = decided()
    yield good(
        "decided-in-the-proposals",
        "Both debaters propose `a`, which is a majority: the debate ends after its first count.",
        export(base),
    )
    yield good(
        "decided-by-unanimity",
        "The rule is `unanimity`, so the threshold is derived: it is the number of seats.",
        export(play("unanimity", {"ann": "b", "ben": "b"}, rule="unanimity")),
    )
    yield good(
        "decided-by-two-of-three",
        "Three debaters, a threshold of two: the third one's vote for another option stands.",
        export(play("three", {"ann": "a", "ben": "b", "cy": "a"}, rule="threshold", threshold=2)),
    )
    yield good(
        "tie-until-the-last-round",
        "One vote suffices and each option always has one: a tie is no consensus, the round is "
        "used up, and the debate ends with `escalate`.",
        export(split()),
    )
    yield good(
        "escalate-as-an-option",
        "`escalate` is an option here and wins by majority: the decision names who must look, "
        "and the reason is `votes_reached`.",
        export(escalated()),
    )
    yield good(
        "replies-of-every-kind",
        "Ann's replies are rejected one after the other, each with the one code that applies, "
        "until one counts: in a fence, with white space around it and a pair of surrogates.",
        export(many_replies()),
    )
    yield good(
        "failed-rejected-forfeited",
        "Ann's call fails and is tried again, her second reply is rejected, and her attempts are "
        "used up: she forfeits. Ben's first reply is rejected and his second one counts.",
        export(troubled()),
    )
    yield good(
        "failed-then-answered",
        "A call fails with `timeout` and the next attempt brings the vote.",
        export(play("retried", {"ann": "a", "ben": "a"}, {"r1.proposal.ann:1": fails("timeout")})),
    )
    yield good(
        "forfeit-without-another-try",
        "After `client_error` a call is not tried again, though attempts are left: the turn is "
        "forfeited with `no_reply`.",
        export(
            play(
                "no-other-try",
                {"ann": "a", "ben": "a"},
                {"r1.proposal.ann:1": fails("client_error")},
                rule="threshold",
                threshold=1,
            )
        ),
    )
    yield good(
        "forfeit-takes-the-vote-back",
        "Ann votes `a` and forfeits her next turn. She then abstains: Ben's vote for `a` alone "
        "does not reach the threshold of two.",
        export(silenced()),
    )
    yield good(
        "resumed-with-an-abandoned-call",
        "The process died while Ann's call was open: it is abandoned, costs its reservation, and "
        "does not count as an attempt in vain.",
        export(resumed()),
    )
    yield good(
        "resumed-twice",
        "A second process died before it could write that the call is abandoned: another "
        "`debate.resumed` may come first.",
        export(resumed().insert(8, "debate.resumed", {"engine": "conformance/1"})),
    )
    yield good(
        "evidence-by-rounds",
        "Two documents, the one for round 2 admitted first: each enters the prompts in the first "
        "round in which it may be seen.",
        export(by_rounds()),
    )
    yield good(
        "personas-settings-and-costs",
        "Each seat has a persona and the model a price: the cost is rounded up to a whole "
        "micro-dollar, and cached tokens have their own price.",
        export(priced()),
    )
    yield good(
        "still-open",
        "A debate that is not closed: the calls of the first phase are open.",
        export(base.without(*range(6, 13))),
    )
    yield good(
        "just-opened",
        "A debate of which nothing but the opening was recorded.",
        export(base.without(*range(2, 13))),
    )
    yield good(
        "reply-withheld",
        "A reply is kept from this recipient, as the manifest says: its vote is taken as "
        "recorded, and what rests on it is unchecked, not failed.",
        withholding(base, base.file_of(6, "reply")),
    )
    yield good(
        "rejected-reply-withheld",
        "A reply that was rejected is kept from this recipient: the code is taken as recorded.",
        withholding(troubled(), troubled().file_of(7, "reply")),
    )
    yield good(
        "question-withheld",
        "The question is kept from this recipient: prompts rest on the names of texts alone and "
        "stay checkable.",
        withholding(base, base.file_of(1, "question")),
    )
    yield good(
        "approved-prompts",
        "The opening names a policy that approves its templates, signed with the approval key.",
        export(approved()),
    )
    others = (f"consensus.{role} {digest(TEMPLATES[role].encode())}" for role in sorted(TEMPLATES))
    yield good(
        "approved-with-others",
        "The policy approves templates of another format as well, which do not concern this "
        "debate.",
        export(under(approved(), policy_of([*others, f"other_2.debater {OTHER}"]))),
    )
    yield good(
        "refused-before-the-first-call",
        "The policy approves another template for the debaters: the engine stopped before the "
        "first call and closed the debate as failed, which is a sound record.",
        export(refused()),
    )
    yield good(
        "refused-without-any-approval",
        "The policy approves nothing: the first role of the format is refused, and `approved` is "
        "null.",
        export(
            under(refused(), policy_of([])).data(
                4, role="protocol", found=digest(TEMPLATES["protocol"].encode()), approved=None
            )
        ),
    )
    yield good(
        "refused-at-run-time",
        "All templates of the opening are approved, but another one was found when the call was "
        "to be made: that is refused as well.",
        export(refused_late()),
    )
    yield good(
        "hostile-texts",
        "Control and bidi characters, fences, quote marks, placeholders, markup and many scripts "
        "in question, personas, evidence and replies: texts are data.",
        export(hostile()),
    )
    yield good(
        "provider-strings-as-texts",
        "What a provider calls its model or its response is no id: it stands as a text. The body "
        "sent was not the one rendered, and is a text too.",
        export(told()),
    )
    yield good(
        "zip",
        "The same files in the one zip that they give.",
        zipped(entries_of(base)),
    )
    files = export(base)
    yield good(
        "signed-twice",
        "A second signature is by a key that the trust file does not name: it is passed over.",
        {**files, SUMS: files[SUMS] + signature_line(STRANGER, manifest(files_of(base)))},
    )
    yield good(
        "key-in-force-from-the-opening-on",
        "The export key is in force from the very moment of the opening.",
        export(base),
        trust(export=(OPENED_AT, "2026-01-05T09:00:00.001001Z")),
    )


def container_cases() -> Iterator[Case]:
    """Check 1: zips that are not built in the one way, and names that do not belong."""
    base = decided()
    entries = entries_of(base)
    data = zipped(entries)
    first, second = entries[0], entries[1]

    def container(name: str, why: str, made: bytes) -> Case:
        return bad(f"zip-{name}", "1.container", 0, why, made)

    yield container(
        "compressed-entry", "An entry says that it is deflated.", rezipped("VERIFY.md", method=8)
    )
    yield container(
        "extra-field",
        "An entry has an extra field, in which anything could hide.",
        rezipped("VERIFY.md", extra=b"\x99\x99\x04\0note"),
    )
    yield container(
        "entry-comment", "An entry has a comment.", rezipped("VERIFY.md", comment=b"note")
    )
    yield container("comment", "The zip has a comment.", zipped(entries, comment=b"note"))
    yield container(
        "other-date", "An entry is dated 1980-01-02.", rezipped("VERIFY.md", date=0x0022)
    )
    yield container("other-mode", "An entry may be executed.", rezipped("VERIFY.md", mode=0o100755))
    yield container(
        "link", "An entry is marked as a symbolic link.", rezipped("VERIFY.md", mode=0o120777)
    )
    yield container(
        "unsorted", "Two entries are not in byte order.", zipped([second, first, *entries[2:]])
    )
    yield container(
        "checksum",
        "The CRC-32 of an entry is not that of its bytes.",
        rezipped("VERIFY.md", checksum=0),
    )
    yield container(
        "other-local-name",
        "An entry has another name in its local header than in the directory.",
        rezipped("VERIFY.md", local_name="verify.md"),
    )
    yield container(
        "hidden-bytes",
        "There are bytes between the last entry and the directory.",
        zipped(entries, hidden=b"note"),
    )
    yield container(
        "prefix",
        "There are bytes before the first entry, and all offsets count them in.",
        zipped(entries, prefix=b"#!/bin/sh\n"),
    )
    yield bad(
        "zip-prefix-not-counted",
        "1.unreadable",
        0,
        "There are bytes before the first entry, and the offsets do not count them in.",
        b"#!/bin/sh\n" + data,
    )
    yield bad(
        "zip-trailing-bytes",
        "1.unreadable",
        0,
        "There are bytes after the end record, which must be the last thing in the file.",
        data + b"\n",
    )
    yield bad("zip-truncated", "1.unreadable", 0, "The last byte is gone.", data[:-1])
    yield bad("zip-empty", "1.unreadable", 0, "A file without any bytes is no zip.", b"")
    yield bad("zip-of-something-else", "1.unreadable", 0, "The file is a text, and no zip.", ABOUT)
    yield bad(
        "zip-sizes",
        "1.size",
        0,
        "An entry claims more bytes than the whole file has.",
        rezipped("VERIFY.md", size=1 << 31),
    )
    yield bad(
        "zip-name-twice",
        "1.entries",
        0,
        "One name stands twice: readers differ on which of the two they read.",
        zipped([first, replace(first, body=b"other\n"), *entries[1:]]),
    )
    for name, path in {
        "parent-path": "../VERIFY.md",
        "absolute-path": "/VERIFY.md",
        "folder-entry": "blobs/",
        "deeper-path": "blobs/../VERIFY.md",
        "backslash": "blobs\\VERIFY.md",
    }.items():
        why = f"An entry is called `{path}`, which is no name that an export has."
        yield bad(f"zip-{name}", "1.name", 0, why, with_entry(path))
    yield bad(
        "zip-without-events",
        "1.events",
        0,
        "There is no events.jsonl.",
        zipped([entry for entry in entries if entry.name != "events.jsonl"]),
    )
    files = files_of(base)
    yield bad(
        "other-file",
        "1.name",
        0,
        "The folder holds a file that does not belong there, though the manifest lists it.",
        seal({**files, "notes.txt": ABOUT}),
    )
    name = base.file_of(6, "reply")
    yield bad(
        "name-in-upper-case",
        "1.name",
        0,
        "A text's hash is written with upper-case letters.",
        seal(
            {path: body for path, body in files.items() if path != name}
            | {f"blobs/{name[6:].upper()}": files[name]}
        ),
    )
    yield bad(
        "no-events",
        "1.events",
        0,
        "There is no events.jsonl.",
        seal({name: body for name, body in files.items() if name != "events.jsonl"}),
    )
    yield bad(
        "no-final-line-feed",
        "1.events",
        0,
        "The last line is not ended by LF: something may be missing.",
        seal({**files, "events.jsonl": files["events.jsonl"][:-1]}),
    )


def manifest_cases() -> Iterator[Case]:
    """Check 2: what the manifest says of the files, and how it is spelled."""
    base = decided()
    files, complete = files_of(base), export(base)
    name = base.file_of(6, "reply")
    yield bad(
        "manifest-missing", "2.missing", 0, "There is no SHA256SUMS, so nobody signed this.", files
    )
    yield bad(
        "file-altered",
        "2.hash",
        0,
        "One word of VERIFY.md is another than the one that was signed.",
        {**complete, "VERIFY.md": ABOUT.replace(b"one debate", b"two debates")},
    )
    yield bad(
        "last-line-dropped",
        "2.hash",
        0,
        "The record ends a line earlier than the one that was signed.",
        {**complete, "events.jsonl": b"".join(line + b"\n" for line in base.lines[:-1])},
    )
    yield bad(
        "manifest-omits-a-file",
        "2.unlisted",
        0,
        "VERIFY.md has no line in the manifest, so nobody signed it.",
        retold(lambda text: "".join(row for row in text.splitlines(True) if "VERIFY" not in row)),
    )
    yield bad(
        "manifest-invents-a-file",
        "2.absent",
        0,
        "The manifest has a line for a checkpoint, and there is none.",
        seal(files, text=manifest({**files, "checkpoint": b""})),
    )
    yield bad(
        "withheld-and-there",
        "2.withheld",
        0,
        "A reply is listed as withheld, and it is there.",
        seal(files, text=manifest(files, {name: "personal_data"})),
    )
    texts: dict[str, tuple[str, Callable[[str], str]]] = {
        "crlf": (
            "Its lines end with CR LF.",
            lambda text: text.replace("\n", "\r\n"),
        ),
        "unsorted": (
            "Its first two lines are swapped.",
            lambda text: "".join([*text.splitlines(True)[1::-1], *text.splitlines(True)[2:]]),
        ),
        "one-space": (
            "One space stands between hash and name.",
            lambda text: text.replace("  ", " ", 1),
        ),
        "binary-mark": (
            "A star stands before a name, as sha256sum writes for binary files.",
            lambda text: text.replace("  ", " *", 1),
        ),
        "line-twice": (
            "One of its lines stands twice.",
            lambda text: text.splitlines(True)[0] + text,
        ),
        "upper-case": (
            "A hash is written with upper-case letters.",
            lambda text: text[:64].upper() + text[64:],
        ),
        "of-itself": (
            "It has a line for SHA256SUMS, which cannot be in it.",
            lambda text: f"{'0' * 64}  {SUMS}\n{text}",
        ),
        "empty-line": ("It ends with an empty line.", lambda text: text + "\n"),
        "comment": ("It holds a comment of another kind.", lambda text: text + "# checked\n"),
        "reason": (
            "The reason for withholding a file is not of the admitted form.",
            lambda text: text + f"# withheld blobs/{'0' * 64} Personal data\n",
        ),
    }
    for key, (why, change) in texts.items():
        yield bad(f"manifest-{key}", "2.malformed", 0, why, retold(change))


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
        "nobody-trusted",
        "The trust file names no key at all.",
        export(base),
        b'{"v":1,"keys":[]}\n',
    )


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
            "policy-role-twice",
            "The policy approves two templates for one role.",
            policy_of(sorted([f"consensus.debater {digest(b'1')}", f"consensus.debater {OTHER}"])),
        ),
        (
            "policy-format-name",
            "The policy names a format with a hyphen, which no format has.",
            policy_of([f"big-debate.debater {OTHER}"]),
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
        export(under(base, approving(EXPORT))),
    )
    yield unknown(
        "policy-signed-by-a-stranger",
        "The policy is signed with a key that the reader does not know.",
        export(under(base, approving(signer("stranger.example/approval")))),
    )
    yield unknown(
        "policy-key-not-in-force",
        "The approval key was no longer in force when the debate was opened.",
        export(base),
        trust(approval=(None, OPENED_AT)),
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
        export(stopped.data(4, approved=None)),
    )
    yield bad(
        "refused-at-run-time-another-approved",
        "10.approved",
        4,
        "The refusal at run time states another template as approved than the policy does.",
        export(refused_late().data(4, approved=digest(b"no such template"))),
    )
    yield bad(
        "refused-what-is-approved",
        "9.not_due",
        4,
        "The template that was found is the approved one: there was nothing to refuse.",
        export(refused_late().data(4, found=digest(TEMPLATES["debater"].encode()))),
    )
    yield bad(
        "refused-unknown-role",
        "9.not_due",
        4,
        "The refusal at run time is for a role that the format does not have.",
        export(refused_late().data(4, role="judge", approved=None)),
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


def line_cases() -> Iterator[Case]:
    """Check 4: lines that are not spelled in the one way. All but two are the last line."""
    base = decided()

    def spelled(key: str, code: str, why: str, old: bytes, new: bytes, seq: int = 12) -> Case:
        return bad(f"line-{key}", code, seq, why, export(base.swap(seq, old, new)))

    end, v, reason = b'"seq":12', b'"v":1}', b"votes_reached"
    yield spelled("float", "4.profile", "A number has a fraction.", v, b'"v":1.5}')
    yield spelled("float-of-an-integer", "4.bytes", "`1.0` stands for `1`.", v, b'"v":1.0}')
    yield spelled("exponent", "4.bytes", "`12e0` stands for `12`.", end, b'"seq":12e0')
    yield spelled("minus-zero", "4.bytes", "`-0` stands for `0`.", b'ns":0', b'ns":-0', 10)
    yield spelled(
        "integer-too-large",
        "4.profile",
        "2^53 is beyond the integers that all readers have.",
        end,
        b'"seq":9007199254740992',
    )
    yield spelled(
        "integer-far-too-large",
        "4.profile",
        "10^20, spelled as canonical JSON spells it, is beyond the integers of a line.",
        end,
        b'"seq":100000000000000000000',
    )
    yield spelled("key-twice", "4.bytes", "A key stands twice.", v, b'"v":1,"v":1}')
    yield spelled(
        "keys-unsorted",
        "4.bytes",
        "Two keys are swapped.",
        b'"seq":12,"type":"debate.closed"',
        b'"type":"debate.closed","seq":12',
    )
    yield spelled("space", "4.bytes", "A space stands after a colon.", end, b'"seq": 12')
    yield spelled("carriage-return", "4.bytes", "The line ends with CR LF.", v, b'"v":1}\r')
    yield spelled(
        "byte-order-mark",
        "4.json",
        "A byte order mark comes first.",
        b'{"at"',
        b'\xef\xbb\xbf{"at"',
        1,
    )
    yield spelled(
        "escape", "4.bytes", "A letter is written as an escape.", reason, b"votes\\u005freached"
    )
    yield spelled(
        "escaped-space",
        "4.profile",
        "A string holds a space, written as an escape: a line is read, the profile comes first, "
        "the spelling second.",
        reason,
        b"votes\\u0020reached",
    )
    yield spelled("text", "4.profile", "A string holds a space.", reason, b"votes reached")
    yield spelled(
        "not-ascii", "4.profile", "A string holds a letter beyond ASCII.", reason, "é".encode()
    )
    yield spelled("empty-string", "4.profile", "A string is empty.", reason, b"")
    yield spelled("long-string", "4.profile", "A string has 257 characters.", reason, b"a" * 257)
    yield spelled("key", "4.profile", "A key has an upper-case letter.", b"outcome", b"Outcome")
    yield spelled("not-utf-8", "4.json", "A byte is not UTF-8.", reason, b"votes\xffreached")
    yield spelled("not-json", "4.json", "A comma stands too much.", v, b'"v":1,}')
    yield spelled("nan", "4.json", "`NaN` is no JSON.", end, b'"seq":NaN')
    yield spelled(
        "too-deep",
        "4.profile",
        "Thirty-three containers are nested, the line itself the first.",
        v,
        b'"v":1,"x":' + b"[" * 32 + b"]" * 32 + b"}",
    )
    yield spelled(
        "deep",
        "7.schema",
        "Thirty-two nested containers are admitted; what fails is the field.",
        v,
        b'"v":1,"x":' + b"[" * 31 + b"]" * 31 + b"}",
    )
    yield spelled(
        "lone-surrogate",
        "4.profile",
        "A string holds half of a surrogate pair, as an escape: that is JSON, but no id.",
        reason,
        b"\\ud800",
    )
    yield bad(
        "line-deep-and-broken",
        "4.profile",
        12,
        "Forty brackets are opened and none is closed: depth is counted before anything is parsed.",
        export(base.put(12, b"[" * 40)),
    )
    yield bad(
        "line-empty",
        "4.json",
        13,
        "An empty line follows the last one.",
        export(replace(base, lines=(*base.lines, b""))),
    )
    head, tail = base.lines[11][:-1] + b',"x":["', b'"]}'
    many, rest = divmod(1_048_577 - len(head + tail), 259)
    words = b"a" * rest + (b'","' + b"a" * 256) * many
    yield bad(
        "line-too-long",
        "4.size",
        12,
        "The line has 1,048,577 bytes.",
        export(base.put(12, head + words + tail)),
    )


def schema_cases() -> Iterator[Case]:
    """Check 7: lines that are no event of a known type and form."""
    base = decided()

    def form(key: str, why: str, record: Record, seq: int = 12) -> Case:
        return bad(f"event-{key}", "7.schema", seq, why, export(record))

    data, debate = base.event(12)["data"], base.event(12)["debate"]
    yield form("type", "There is no such type.", base.top(12, type="debate.sealed"))
    yield form("unknown-key", "`data` has a key more.", base.top(12, data={**data, "note": None}))
    yield form("missing-key", "`data` has a key less.", base.top(12, data={"reason": "x"}))
    yield form("top-key", "The line has a key more.", base.top(12, note=None))
    yield form("no-object", "The line is a list.", base.put(12, b"[]"))
    yield form("enum", "There is no such outcome.", base.data(12, outcome="cancelled"))
    yield form("version", "`v` is not 1.", base.top(12, v=2))
    yield form(
        "version-true", "`v` is `true`, which some readers take for 1.", base.top(12, v=True)
    )
    yield form("rules", "There is no second version of the rules.", base.data(1, rules=2), 1)
    yield form(
        "format",
        "There is no such format.",
        base.data(1, terms={**base.event(1)["data"]["terms"], "format": "quorum"}),
        1,
    )
    yield form(
        "prev-in-upper-case",
        "`prev` has upper-case letters.",
        base.top(12, prev=base.event(12)["prev"].upper()),
    )
    yield form("hash-too-short", "A hash has 63 digits.", base.data(4, prompt="0" * 63), 4)
    yield form(
        "month", "There is no thirteenth month.", base.top(12, at="2026-13-05T09:00:00.012000Z")
    )
    yield form(
        "milliseconds", "A time has three decimals.", base.top(12, at="2026-01-05T09:00:00.012Z")
    )
    yield form(
        "id",
        "The debate's id is a UUID of version 1.",
        base.top(12, debate=f"{debate[:14]}1{debate[15:]}"),
    )
    yield form("name", "A name has 65 characters.", base.data(2, id="a" * 65), 2)
    yield form("negative", "A count is negative.", base.data(6, latency_ms=-1), 6)
    yield form("zero", "`seq` is 0.", base.top(12, seq=0))
    yield form("number-for-flag", "`reached` is 1.", base.data(10, reached=1), 10)
    yield form(
        "decimal",
        "A decimal begins with a point.",
        base.data(2, parameters={**base.event(2)["data"]["parameters"], "temperature": ".7"}),
        2,
    )
    yield form("vote-null", "A turn without a vote is none.", base.data(8, vote=None), 8)


def chain_cases() -> Iterator[Case]:
    """Checks 5 and 6: links, numbers, one debate, and time."""
    base = decided()
    altered = dump({**base.event(6), "data": {**base.event(6)["data"], "latency_ms": 5}})
    lines = list(base.lines)
    yield bad(
        "chain-line-altered",
        "5.prev",
        6,
        "A latency was altered, and the next line is linked to the line as it was.",
        export(replace(base, lines=(*lines[:5], altered, *lines[6:]))),
    )
    yield bad(
        "chain-lines-swapped",
        "5.prev",
        5,
        "Two lines are swapped as they stand: neither is linked to what now stands before it.",
        export(replace(base, lines=(*lines[:5], lines[6], lines[5], *lines[7:]))),
    )
    yield bad(
        "chain-begins-elsewhere",
        "5.prev",
        0,
        "The first line is linked to another one before it.",
        export(base.top(1, prev=digest(b""))),
    )
    yield bad(
        "chain-number", "5.seq", 12, "The last line is the 13th.", export(base.top(12, seq=13))
    )
    other = escalated().event(1)["debate"]
    yield bad(
        "chain-other-debate",
        "5.debate",
        12,
        "The last line is of another debate.",
        export(base.top(12, debate=other)),
    )
    empty = Record((), {}, {}, {})
    yield bad("chain-empty", "5.empty", 0, "The record has no lines.", export(empty))
    yield bad(
        "time-goes-back",
        "6.order",
        12,
        "The last line is a microsecond earlier than the line before it.",
        export(base.top(12, at="2026-01-05T09:00:00.010999Z")),
    )


def blob_cases() -> Iterator[Case]:
    """Check 8: the texts."""
    base = decided()
    question = base.file_of(1, "question")
    files = files_of(base)

    def lacking(seq: int, field: str) -> Files:
        name = base.file_of(seq, field)
        return seal({path: body for path, body in files.items() if path != name})

    yield bad("text-missing", "8.missing", 1, "The question is gone.", lacking(1, "question"))
    yield bad("reply-missing", "8.missing", 6, "Ann's reply is gone.", lacking(6, "reply"))
    yield bad(
        "text-altered",
        "8.hash",
        1,
        "One letter of the question is another; the manifest was made to fit.",
        seal({**files, question: files[question].replace(b"Shall", b"shall")}),
    )
    file = files[question]
    yield bad(
        "text-header",
        "8.header",
        1,
        "A byte was moved from the salt to the text.",
        export(base.blob(1, "question", file[:79] + b"\n" + file[79:80] + file[81:])),
    )
    yield bad(
        "text-header-version",
        "8.header",
        1,
        "The header is of another version.",
        export(base.blob(1, "question", file.replace(b"/v1 ", b"/v2 "))),
    )
    yield bad(
        "text-not-utf-8",
        "8.text",
        1,
        "The question is not UTF-8.",
        export(base.blob(1, "question", file + b"\xff")),
    )
    yield bad(
        "text-with-a-surrogate",
        "8.text",
        1,
        "The question holds a surrogate, written as no UTF-8 writes it.",
        export(base.blob(1, "question", file + b"\xed\xa0\x80")),
    )
    yield bad(
        "salt-twice",
        "8.salt",
        1,
        "Question and review have one salt.",
        export(base.blob(1, "review", file[: blob.HEADER] + b"the board")),
    )
    reply = file[: blob.HEADER] + vote("a").text.encode()
    yield bad(
        "salt-twice-in-two-lines",
        "8.salt",
        6,
        "Ann's reply has the salt of the question.",
        export(base.blob(6, "reply", reply)),
    )
    name, body = blob.pack("nobody asked", derived("salt of a stranger"))
    yield bad(
        "text-not-named",
        "8.unnamed",
        0,
        "There is a text that no line names.",
        seal({**files, f"blobs/{name}": body}),
    )


def not_due(key: str, seq: int, why: str, record: Record) -> Case:
    """A case in which a line is not due."""
    return bad(key, "9.not_due", seq, why, export(record))


def field(name: str, seq: int, why: str, record: Record) -> Case:
    """A case in which a field of a line does not follow from its place."""
    kind = record.event(seq)["type"].replace(".", "-")
    return bad(f"{kind}-{name.replace('_', '-')}", f"9.{name}", seq, why, export(record))


def schedule_cases() -> Iterator[Case]:
    """Check 9: the opening, the debaters and the evidence, each in its place."""
    base = decided()

    events = base.events
    yield not_due("opening-missing", 1, "The first line is a registration.", base.without(1))
    yield not_due(
        "opening-twice", 2, "The opening stands twice.", base.numbered([events[0], *events])
    )
    roles = base.event(1)["data"]["templates"]
    yield not_due(
        "opening-roles-swapped",
        1,
        "The template roles are not in their order.",
        base.data(1, templates=[roles[1], roles[0], roles[2]]),
    )
    yield not_due("seat-missing", 3, "One of two debaters was never registered.", base.without(3))
    three = play("three", {"ann": "a", "ben": "b", "cy": "a"}, rule="threshold", threshold=2)
    yield not_due(
        "seat-too-many", 4, "There are two seats, and a third debater.", three.data(1, seats=2)
    )
    yield not_due("seat-id-twice", 3, "Both debaters have one id.", base.data(3, id="ann"))
    yield not_due(
        "seat-scripted",
        3,
        "A seat's replies come from a script, and the opening does not say so.",
        base.data(3, model="scripted:replies.yaml"),
    )
    yield not_due(
        "seat-not-scripted",
        3,
        "The opening says that replies are scripted, and none are.",
        base.data(1, scripted=True),
    )
    yield not_due(
        "evidence-missing", 5, "One of two documents was never admitted.", by_rounds().without(5)
    )
    yield not_due(
        "evidence-id-twice", 5, "Both documents have one id.", by_rounds().data(5, document="late")
    )
    yield not_due(
        "evidence-too-many",
        4,
        "The opening announces no document.",
        base.insert(
            4,
            "evidence.admitted",
            {"document": "x", "from_round": 1, "text": events[0]["data"]["question"]},
        ),
    )


def call_cases() -> Iterator[Case]:
    """Check 9: calls, their ends and rejections, each in its place."""
    base, trouble, late = decided(), troubled(), resumed()
    events = base.events
    started = events[3]["data"]
    yield not_due(
        "call-of-a-later-phase",
        4,
        "A critique is asked for before any proposal.",
        base.data(4, step="r1.critique.ann", call="r1.critique.ann:1"),
    )
    yield not_due(
        "call-of-nobody",
        4,
        "Nobody of this name has a seat.",
        base.data(4, step="r1.proposal.cy", call="r1.proposal.cy:1"),
    )
    twice = {**started, "call": "r1.proposal.ann:2", "attempt": 2}
    yield not_due(
        "call-twice",
        5,
        "A second call is started while the first one is open.",
        base.insert(5, "call.started", twice),
    )
    yield not_due(
        "call-after-the-reply",
        8,
        "A step whose reply counts is called again.",
        base.insert(8, "call.started", twice),
    )
    yield not_due(
        "call-after-the-last-attempt",
        13,
        "A step whose attempts are used up is called again.",
        trouble.insert(
            13,
            "call.started",
            {**trouble.event(9)["data"], "call": "r1.proposal.ann:3", "attempt": 3},
        ),
    )
    yield not_due(
        "answer-twice",
        7,
        "One call is answered twice.",
        base.insert(7, "call.answered", events[5]["data"]),
    )
    yield not_due(
        "answer-without-a-call", 5, "A reply comes that nobody asked for.", base.without(4)
    )
    yield not_due(
        "abandoned-without-a-resume",
        7,
        "A call is called abandoned, and no process took over.",
        late.without(7),
    )
    yield not_due(
        "call-before-the-abandoned",
        8,
        "A call is started before the open one is ended.",
        late.without(8),
    )
    answered = {**late.event(10)["data"], "call": "r1.proposal.ann:1"}
    yield not_due(
        "answer-before-the-abandoned",
        8,
        "The reply to an abandoned call comes after all.",
        late.insert(8, "call.answered", answered),
    )
    yield bad(
        "failure-before-the-abandoned",
        "9.error",
        8,
        "A call that was open when the process died fails in another way than by being abandoned.",
        export(late.data(8, error="timeout")),
    )
    yield not_due(
        "rejection-missing",
        8,
        "A reply that does not count is not rejected, but tried again.",
        trouble.without(8),
    )
    yield not_due(
        "rejection-late",
        12,
        "A reply is rejected, but not by the very next line.",
        trouble.numbered(
            [*trouble.events[:11], trouble.event(13), trouble.event(12), *trouble.events[13:]]
        ),
    )
    yield not_due(
        "rejection-of-a-good-reply",
        7,
        "A reply that counts is rejected, to have another one.",
        base.insert(
            7,
            "turn.rejected",
            {
                "step": "r1.proposal.ann",
                "call": "r1.proposal.ann:1",
                "code": "schema",
                "again": True,
            },
        ),
    )


def turn_cases() -> Iterator[Case]:
    """Check 9: turns, counts, decision and close, each in its place."""
    base, trouble = decided(), troubled()
    events = base.events
    yield not_due(
        "turn-before-the-replies",
        7,
        "Ann's turn is recorded while Ben's call is open.",
        base.numbered([*events[:6], events[7], events[6], *events[8:]]),
    )
    forfeit = {key: events[7]["data"][key] for key in ("step", "round", "phase", "speaker")}
    yield not_due(
        "forfeit-with-a-reply",
        8,
        "A turn is forfeited whose reply counts.",
        base.top(8, type="turn.forfeited", data={**forfeit, "reason": "no_reply"}),
    )
    yield not_due(
        "turn-without-a-reply",
        14,
        "A turn is recorded whose attempts were all in vain.",
        trouble.top(
            14, type="turn.recorded", data={**events[7]["data"], "call": "r1.proposal.ann:2"}
        ),
    )
    yield not_due("count-missing", 10, "The decision comes without a count.", base.without(10))
    yield not_due(
        "count-twice",
        11,
        "The votes are counted twice.",
        base.insert(11, "votes.counted", events[9]["data"]),
    )
    yield not_due(
        "count-early",
        9,
        "The votes are counted before the phase is over.",
        base.insert(9, "votes.counted", events[9]["data"]),
    )
    yield not_due(
        "decision-missing", 11, "The debate is closed without its decision.", base.without(11)
    )
    yield not_due(
        "decision-early",
        11,
        "There is a decision before the rounds are used up or a count is reached.",
        split().insert(11, "decision.reached", split().event(32)["data"]),
    )
    yield not_due(
        "line-after-the-close",
        13,
        "A process takes over a debate that is closed.",
        base.insert(13, "debate.resumed", {"engine": "conformance/1"}),
    )
    yield not_due(
        "closed-twice",
        13,
        "The debate is closed twice.",
        base.insert(13, "debate.closed", events[11]["data"]),
    )


def field_cases() -> Iterator[Case]:
    """Check 9: the fields that follow from the place of a line."""
    base, trouble, late = decided(), troubled(), resumed()
    events = base.events
    started = events[3]["data"]
    yield field("position", 2, "Ann speaks first, whatever it says.", base.data(2, position=2))
    yield field(
        "call", 4, "The first attempt is called the second.", base.data(4, call="r1.proposal.ann:2")
    )
    yield field(
        "attempt", 4, "The first attempt is counted as the second.", base.data(4, attempt=2)
    )
    yield field(
        "model",
        4,
        "Another model was asked than the one in Ann's seat.",
        base.data(4, model="python:cheaper"),
    )
    yield field(
        "parameters",
        4,
        "The model was asked with other settings than the seat's.",
        base.data(4, parameters={**started["parameters"], "temperature": "1"}),
    )
    yield field(
        "again",
        6,
        "A failure that is tried again is said to be the last one.",
        trouble.data(6, again=False),
    )
    why = "An abandoned call has no detail, no latency, and is always tried again: nobody saw its "
    why += "end."
    yield bad(
        "abandoned-another",
        "9.call",
        8,
        "Another call than the open one is abandoned.",
        export(late.data(8, call="r1.proposal.ben:1")),
    )
    yield bad("abandoned-detail", "9.detail", 8, why, export(late.data(8, detail="killed")))
    yield bad("abandoned-latency", "9.latency_ms", 8, why, export(late.data(8, latency_ms=1)))
    yield bad("abandoned-again", "9.again", 8, why, export(late.data(8, again=False)))
    yield field("step", 8, "The turn is of another step.", base.data(8, step="r1.proposal.ben"))
    yield field("round", 8, "The turn is of another round.", base.data(8, round=2))
    yield field("phase", 8, "The turn is of another phase.", base.data(8, phase="critique"))
    yield field("speaker", 8, "The turn is of another speaker.", base.data(8, speaker="ben"))
    yield field(
        "call", 8, "The turn rests on another call.", base.data(8, call="r1.proposal.ben:1")
    )
    yield bad(
        "turns-swapped",
        "9.call",
        8,
        "Ben's turn comes before Ann's: nobody chooses who speaks.",
        export(base.numbered([*events[:7], events[8], events[7], *events[9:]])),
    )
    yield field(
        "step", 8, "The rejection is of another step.", trouble.data(8, step="r1.proposal.ann")
    )
    yield field(
        "call", 8, "The rejection is of another call.", trouble.data(8, call="r1.proposal.ben:2")
    )
    yield field(
        "again", 12, "The last attempt is said to be tried again.", trouble.data(12, again=True)
    )
    yield field(
        "step", 14, "The forfeit is of another step.", trouble.data(14, step="r1.proposal.ben")
    )
    yield field("round", 14, "The forfeit is of another round.", trouble.data(14, round=2))
    yield field("phase", 14, "The forfeit is of another phase.", trouble.data(14, phase="critique"))
    yield field(
        "speaker", 14, "The forfeit is of another speaker.", trouble.data(14, speaker="ben")
    )
    yield field(
        "reason",
        14,
        "The last attempt brought a reply, though none that counts.",
        trouble.data(14, reason="no_reply"),
    )


def rule_cases() -> Iterator[Case]:
    """Checks 10 to 16: templates, prompts, replies, counts, costs and the outcome."""
    base = decided()
    yield from template_cases()
    yield from reply_cases()
    swapped = base.event(5)["data"]["prompt"]
    yield bad(
        "prompt-digest",
        "11.prompt",
        4,
        "The prompt's digest is that of the other seat's prompt.",
        export(base.data(4, prompt=swapped)),
    )
    yield bad(
        "prompt-without-persona",
        "11.prompt",
        4,
        "Ann's persona was taken out of her registration: her prompt is another one then.",
        export(priced().data(2, persona=None).pruned()),
    )
    yield bad(
        "prompt-evidence-early",
        "11.prompt",
        6,
        "A document for round 2 is said to have been visible in round 1.",
        export(by_rounds().data(4, from_round=1)),
    )
    terms = base.event(1)["data"]["terms"]
    yield bad(
        "threshold-of-majority",
        "14.terms",
        1,
        "The rule is `majority`, and the threshold is not what follows from it.",
        export(base.data(1, terms={**terms, "threshold": 1})),
    )
    for key, name, value, why in (
        ("round", "round", 2, "The count is of another round."),
        ("phase", "phase", "critique", "The count is of another phase."),
        (
            "tally",
            "tally",
            [{"option": "a", "votes": 1}, {"option": "b", "votes": 1}],
            "A vote was counted for another option.",
        ),
        (
            "tally-order",
            "tally",
            [{"option": "b", "votes": 0}, {"option": "a", "votes": 2}],
            "The options are not in their declared order.",
        ),
        (
            "tally-short",
            "tally",
            [{"option": "a", "votes": 2}],
            "An option without votes is left out.",
        ),
        ("abstentions", "abstentions", 1, "An abstention is counted that is none."),
        ("threshold", "threshold", 1, "The count is against another threshold."),
        ("reached", "reached", False, "The threshold is reached, and the count denies it."),
    ):
        yield bad(f"count-{key}", f"14.{name}", 10, why, export(base.data(10, **{name: value})))
    yield bad(
        "count-tie-as-reached",
        "14.reached",
        10,
        "Two options have enough votes: a tie is no consensus.",
        export(split().data(10, reached=True)),
    )
    yield bad(
        "count-forfeit-as-vote",
        "14.abstentions",
        17,
        "A debater who forfeited her turn is counted with the vote that she had before.",
        export(
            silenced().data(
                17,
                abstentions=0,
                tally=[{"option": "a", "votes": 2}, {"option": "b", "votes": 0}],
                reached=True,
            )
        ),
    )
    cost = "cost_micro_usd"
    for key, record, seq, value, why in (
        ("rounded-down", priced(), 6, 20, "The cost is rounded down."),
        ("unpriced", base, 6, 0, "A call without a price has no cost, not even none."),
        ("of-a-failure", troubled(), 6, 1, "A failed call costs nothing that is known."),
        ("of-an-abandoned-call", resumed(), 8, 0, "An abandoned call costs its reservation."),
    ):
        yield bad(f"cost-{key}", f"15.{cost}", seq, why, export(record.data(seq, **{cost: value})))
    review = base.event(1)["data"]["review"]
    for name, value, why in (
        ("decision", "b", "The decision is for an option that did not win."),
        ("rule", "unanimous_vote", "The decision is said to rest on another rule."),
        ("votes", 1, "The decision had more votes than that."),
        ("threshold", 1, "The decision is said to have needed fewer votes."),
        ("rounds_run", 2, "The debate ran for one round only."),
        ("review", review, "Nobody needs to look at a decision that is none to escalate."),
    ):
        key = f"decision-{name.replace('_', '-')}"
        yield bad(key, f"16.{name}", 11, why, export(base.data(11, **{name: value})))
    yield bad(
        "decision-to-escalate-without-review",
        "16.review",
        11,
        "`escalate` won by votes: who must look has to be named all the same.",
        export(escalated().data(11, review=None)),
    )
    yield bad(
        "close-outcome",
        "16.outcome",
        12,
        "A debate with a decision did not fail.",
        export(base.data(12, outcome="failed")),
    )
    yield bad(
        "close-reason",
        "16.reason",
        12,
        "The rounds were not used up.",
        export(base.data(12, reason="max_rounds_exhausted")),
    )


def withheld_cases() -> Iterator[Case]:
    """Checks 9 and 12: what is still sure of a reply that is kept from this recipient."""
    base, trouble = decided(), troubled()
    ann, ben = base.file_of(6, "reply"), trouble.file_of(7, "reply")
    yield bad(
        "withheld-vote",
        "9.not_due",
        8,
        "The reply is withheld, and its turn votes for no declared option.",
        withholding(base.data(8, vote="c"), ann),
    )
    yield bad(
        "withheld-cut-off",
        "9.not_due",
        7,
        "The reply is withheld, and was cut off: it had to be rejected whatever it says.",
        withholding(base.data(6, finish="length"), ann),
    )
    yield bad(
        "withheld-cut-off-as-schema",
        "12.code",
        8,
        "The reply is withheld, and was cut off: no other code applies.",
        withholding(trouble.data(7, finish="length"), ben),
    )
    yield bad(
        "withheld-rejection-again",
        "9.again",
        8,
        "The rejected reply is withheld; whether it is tried again does not rest on it.",
        withholding(trouble.data(8, again=False), ben),
    )


def template_cases() -> Iterator[Case]:
    """Check 10: templates and reply schemas."""
    base = decided()
    files = files_of(base)
    opening = base.event(1)["data"]
    block = opening["templates"][1]["sha256"]
    schema = opening["schemas"][0]["sha256"]

    def without(name: str) -> Files:
        return seal({path: body for path, body in files.items() if path != f"templates/{name}"})

    yield bad("template-missing", "10.missing", 1, "The template `block` is gone.", without(block))
    yield bad("schema-missing", "10.missing", 1, "The reply schema is gone.", without(schema))
    yield bad(
        "template-withheld",
        "10.missing",
        1,
        "A template is listed as withheld: only texts can be.",
        withholding(base, f"templates/{block}"),
    )
    yield bad(
        "template-altered",
        "10.hash",
        1,
        "The template `block` is another one than its name says.",
        seal({**files, f"templates/{block}": b"\n<{{label}}>\n"}),
    )
    yield bad(
        "template-not-named",
        "10.unnamed",
        0,
        "There is a template that the opening does not name.",
        seal({**files, f"templates/{digest(ABOUT)}": ABOUT}),
    )
    other = b'{"type":"object"}'
    kept = {name: body for name, body in base.templates.items() if name != schema}
    yield bad(
        "schema-of-another-kind",
        "10.schemas",
        1,
        "The reply schema that the opening names is not the one that follows from its options.",
        export(
            replace(
                base.data(1, schemas=[{"role": "debater", "sha256": digest(other)}]),
                templates={**kept, digest(other): other},
            )
        ),
    )
    yield bad(
        "call-started-template",
        "10.template",
        4,
        "A call was made with another template.",
        export(base.data(4, template=block)),
    )
    yield bad(
        "call-started-schema",
        "10.schema",
        4,
        "A call asked for another reply schema.",
        export(base.data(4, schema=block)),
    )


def reply_cases() -> Iterator[Case]:
    """Check 12: what a reply says, and whether it counts."""
    base, trouble = decided(), troubled()
    yield bad("vote-altered", "12.vote", 8, "Ann's reply says `a`.", export(base.data(8, vote="b")))
    yield bad(
        "reply-altered",
        "12.vote",
        8,
        "Ann's reply was replaced by one that votes for `b`; her turn says `a`.",
        export(base.text(6, "reply", '{"stance":"I hold b.","rationale":"So.","vote":"b"}')),
    )
    counted = {
        "key-twice": (15, "A key stands twice: readers differ on which value counts."),
        "lone-surrogate": (16, "A string holds half of a surrogate pair."),
        "integer-too-large": (13, "An integer is 2^53, which some readers round."),
        "unknown-option": (7, "The vote is for no declared option."),
        "option-in-upper-case": (8, "The vote is for `A`; nothing is coerced."),
        "empty-stance": (6, "The stance is empty."),
        "member-too-much": (5, "There is a member that the schema does not have."),
        "member-missing": (4, "The vote is missing."),
        "control-character": (17, "A string holds a tab that is not escaped."),
        "fence-with-cr": (20, "The fence's first line ends with CR, so it is no fence."),
        "two-fences": (22, "There are two fences, and one may be dropped."),
        "prose-before": (23, "Prose stands before the value."),
        "byte-order-mark": (24, "A byte order mark is no white space."),
        "no-break-space": (25, "A no-break space is no ASCII white space."),
    }
    for key, (number, defect) in counted.items():
        changed = base.text(6, "reply", REPLIES[number][0])
        why = f"{defect} It had to be rejected, and was taken as a reply that counts."
        yield bad(f"reply-{key}", "9.not_due", 7, why, export(changed))
    for finish, code in (
        ("length", "cut off"),
        ("refusal", "a refusal"),
        ("content_filter", "filtered"),
        ("other", "not finished"),
    ):
        why = f"The reply is {code}, says `finish`: it had to be rejected whatever it says."
        key = f"finish-{finish.replace('_', '-')}"
        yield bad(key, "9.not_due", 7, why, export(base.data(6, finish=finish)))
    for key, number, code in (
        ("unreadable-as-schema", 13, "schema"),
        ("too-deep-as-schema", 19, "schema"),
        ("schema-as-unreadable", 18, "unreadable"),
        ("fraction-as-unreadable", 10, "unreadable"),
        ("stance-before-vote", 6, "unknown_option"),
        ("option-as-schema", 7, "schema"),
    ):
        text, due = REPLIES[number]
        why = f"The reply is rejected as `{code}`; the first code that applies is `{due}`."
        changed = trouble.text(7, "reply", text).data(8, code=code)
        yield bad(f"rejected-{key}", "12.code", 8, why, export(changed))
    yield bad(
        "rejected-cut-off-as-schema",
        "12.code",
        8,
        "A reply that was cut off is `cut_off` before anything else is looked at.",
        export(trouble.data(7, finish="length")),
    )


def cases() -> list[Case]:
    """Return all cases, by name."""
    groups = (
        good_cases,
        container_cases,
        manifest_cases,
        note_cases,
        policy_cases,
        line_cases,
        schema_cases,
        chain_cases,
        blob_cases,
        schedule_cases,
        call_cases,
        turn_cases,
        field_cases,
        withheld_cases,
        rule_cases,
    )
    found = sorted((case for group in groups for case in group()), key=lambda case: case.name)
    twice = {case.name for case in found if sum(case.name == row.name for row in found) > 1}
    if twice:
        raise ValueError(f"cases of one name: {sorted(twice)}")
    return found


def build() -> Files:
    """Return the files of the kit that are made, by their names below `tests/conformance/`."""
    files = {"trust.json": trust()}
    for case in cases():
        files |= {f"cases/{name}": body for name, body in case.files().items()}
    return files
