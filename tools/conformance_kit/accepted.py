"""Records of the `consensus` format that must be accepted."""

from __future__ import annotations

from collections.abc import Iterator

from conformance_kit.case import Case, good, group
from conformance_kit.debates import (
    CONSENSUS,
    OTHER,
    SERVER,
    approved,
    by_rounds,
    cached,
    decided,
    escalated,
    hostile,
    many_replies,
    policy_of,
    priced,
    refused,
    refused_late,
    resumed,
    served,
    silenced,
    split,
    told,
    troubled,
    under,
    voting,
)
from conformance_kit.exports import (
    SUMS,
    entries_of,
    export,
    files_of,
    manifest,
    second_signature_line,
    signature_line,
    withholding,
    zip_of,
    zipped,
)
from conformance_kit.records import (
    APPROVAL,
    EXPORT,
    OPENED_AT,
    STRANGER,
    digest,
    fails,
    later,
    signer,
    time_of,
    trust,
)


@group
def voted_cases() -> Iterator[Case]:
    """How votes are counted."""
    yield good(
        "decided-in-the-proposals",
        "Both debaters propose `a`, which is a majority: the debate ends after its first count.",
        export(decided()),
    )
    yield good(
        "decided-by-unanimity",
        "The rule is `unanimity`, so the threshold is derived: it is the number of seats.",
        export(voting("unanimity", {"ann": "b", "ben": "b"}, rule="unanimity")),
    )
    yield good(
        "decided-by-two-of-three",
        "Three debaters, a threshold of two: the third one's vote for another option stands.",
        export(voting("three", {"ann": "a", "ben": "b", "cy": "a"}, rule="threshold", threshold=2)),
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


@group
def replied_cases() -> Iterator[Case]:
    """Replies that count, those that do not, and none at all."""
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
        export(
            voting("retried", {"ann": "a", "ben": "a"}, {"r1.proposal.ann:1": fails("timeout")})
        ),
    )
    yield good(
        "forfeit-without-another-try",
        "After `client_error` a call is not tried again, though attempts are left: the turn is "
        "forfeited with `no_reply`.",
        export(
            voting(
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


@group
def course_cases() -> Iterator[Case]:
    """How a debate goes on, and what it is given."""
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


@group
def priced_cases() -> Iterator[Case]:
    """What calls cost, and what they were asked with."""
    yield good(
        "costs-of-a-cache",
        "Of ten tokens eight came from the cache, and five are said to have been written to it: "
        "two are left that can have been.",
        export(cached("within", 10, 8, 1, 5)),
    )
    yield good(
        "costs-of-a-cache-beyond-its-input",
        "More tokens are said to have come from the cache than there were, and some to have been "
        "written to it: all of them came from it.",
        export(cached("beyond", 7, 9, 1, 3)),
    )
    yield good(
        "costs-of-writing-to-a-cache",
        "All tokens were written to the cache, which costs more than reading them; nothing is "
        "said of those that came from it.",
        export(cached("written", 4, 0, 1, 4).data(6, tokens_cached=None)),
    )
    yield good(
        "led-by-one-call",
        "One call of the first phase went ahead of the other.",
        export(voting("led", {"ann": "a", "ben": "a"}, leading_call=True)),
    )
    yield good(
        "settings-of-a-server",
        "How JSON was asked for and the server stand among the settings.",
        export(served(structured="tool", base_url=SERVER + "v" * (256 - len(SERVER)))),
    )


@group
def partial_cases() -> Iterator[Case]:
    """Debates that are not closed, and texts that are withheld."""
    base = decided()
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


@group
def policy_cases() -> Iterator[Case]:
    """Under a policy."""
    yield good(
        "approved-prompts",
        "The opening names a policy that approves its templates, signed with the approval key.",
        export(approved()),
    )
    others = (
        f"consensus.{role} template {digest(CONSENSUS[role].encode())}"
        for role in sorted(CONSENSUS)
    )
    yield good(
        "approved-with-others",
        "The policy approves templates of another format as well, which do not concern this "
        "debate.",
        export(under(approved(), policy_of([*others, f"other_2.debater template {OTHER}"]))),
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
        "empty.",
        export(
            under(refused(), policy_of([])).data(
                4, role="protocol", found=digest(CONSENSUS["protocol"].encode()), approved=[]
            )
        ),
    )
    yield good(
        "refused-at-run-time",
        "All templates of the opening are approved, but another one was found when the call was "
        "to be made: that is refused as well.",
        export(refused_late()),
    )


@group
def text_cases() -> Iterator[Case]:
    """Texts of others, and where the record stands."""
    base = decided()
    yield good(
        "hostile-texts",
        "Control and bidi characters, fences, quote marks, placeholders, markup and many scripts "
        "in question, personas, evidence and replies: texts are data.",
        export(hostile()),
    )
    yield good(
        "provider-strings-as-texts",
        "What a provider calls its model, its response or a request that failed is no id: it "
        "stands as a text. Bodies that were not sent as rendered are texts too. Of one reply "
        "the provider does not name the model.",
        export(told()),
    )
    yield good(
        "zip",
        "The same files in the one zip that they give.",
        zipped(entries_of(base)),
    )
    yield good(
        "open-and-withheld",
        "The debate is not closed, and its question is withheld: the verdict says both.",
        withholding(base.without(*range(6, 13)), base.file_of(1, "question")),
    )


@group
def signed_cases() -> Iterator[Case]:
    """Signatures beside the one that counts."""
    base = decided()
    files = export(base)
    yield good(
        "signed-twice",
        "A second signature is by a key that the trust file does not name: it is passed over.",
        {**files, SUMS: files[SUMS] + signature_line(STRANGER, manifest(files_of(base)))},
    )
    text = manifest(files_of(base))
    namesake = signer(EXPORT.name, "stranger")
    for key, why, lines in (
        (
            "signature-repeated",
            "The signature line stands twice, as anybody can make it.",
            files[SUMS].rpartition(b"\n\n")[2],
        ),
        (
            "signature-of-one-key-twice",
            "The export key signed twice, with different signatures: both verify.",
            second_signature_line(EXPORT, text),
        ),
        (
            "signature-of-an-unknown-key-over-another-text",
            "A line is added of a key that nobody knows, and it is over another text.",
            signature_line(STRANGER, b"other\n"),
        ),
        (
            "signature-of-an-unknown-key-under-our-name",
            "A line is added under the export key's name, of another key: the key id tells.",
            signature_line(namesake, text) * 2,
        ),
        (
            "signature-of-the-approval-key-as-well",
            "The approval key signed the manifest as well, which counts for nothing.",
            signature_line(APPROVAL, text),
        ),
    ):
        yield good(key, why, zip_of({**files, SUMS: files[SUMS] + lines}))


@group
def key_cases() -> Iterator[Case]:
    """When keys are in force."""
    base = decided()
    yield good(
        "key-in-force-from-the-opening-on",
        "The export key is in force from the very moment of the opening.",
        export(base),
        trust(export=(OPENED_AT, "2026-01-05T09:00:00.001001Z")),
    )
    yield good(
        "key-revoked-after-the-last-entry",
        "The export key was revoked a microsecond after the last entry, which dates the manifest.",
        export(base),
        trust(export=(None, None, later(time_of(len(base.lines))))),
    )
    ruled = approved()
    yield good(
        "policy-key-revoked-before-the-last-entry",
        "The approval key was revoked before the last entry, but after the opening, which dates "
        "a policy.",
        export(ruled),
        trust(approval=(None, None, later(OPENED_AT))),
    )
    yield good(
        "trust-file-with-a-witness",
        "The trust file names a witness and wants one: that is for level 2, and here is no "
        "checkpoint.",
        export(base),
        trust(witnesses=1),
    )
