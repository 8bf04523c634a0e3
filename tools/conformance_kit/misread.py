"""What FORMAT.md says in a few words, and a hasty reader would read otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from conformance_kit.case import Case, bad, defect, good, group, not_due, sound, undue
from conformance_kit.ceilings import SHORT, capped, capped_after_the_decision, spending
from conformance_kit.debates import (
    approved,
    decided,
    priced,
    refused,
    refused_late,
    troubled,
    vote,
    voting,
)
from conformance_kit.exports import (
    SUMS,
    export,
    files_of,
    manifest,
    noted,
    retold,
    seal,
    signature_line,
)
from conformance_kit.moderated import EVIDENCE, HOLDS, INVENTED, attacked, moderating, proposed
from conformance_kit.panel import LONG, YES_NO, drafting
from conformance_kit.records import STRANGER, Record, Script, fails, signer
from conformance_kit.tool_use import one_tool, several_tools
from hansard.runtime.models.base import Completion

RESUMED = {"engine": "conformance/1"}


def recorded(said: bool) -> Record:
    """Return the entries of `decided`, ann's replies taken from another record."""
    record = decided().data(1, scripted=said)
    for seq in (2, 4):
        record = record.data(seq, model="recorded:bot")
    return record


def signatures(number: int) -> bytes:
    """Return the signature lines of so many strangers."""
    signers = (signer(f"stranger.example/{n}") for n in range(number))
    return b"".join(signature_line(by, manifest(files_of(decided()))) for by in signers)


@group
def manifest_cases() -> Iterator[Case]:
    """§13, §14: a manifest and its note."""
    base = decided()
    files = files_of(base)
    name = base.file_of(6, "reply")
    gone = {path: body for path, body in files.items() if path != name}
    yield bad(
        "withheld-and-listed",
        "2.absent",
        0,
        "A reply that is missing has a line as a file and a line as withheld: both lines apply.",
        seal(gone, text=manifest(files, {name: "personal_data"})),
    )
    yield bad(
        "withheld-alone-and-there",
        "2.unlisted",
        0,
        "A reply that is there has a line as withheld and none as a file: that is two findings.",
        seal(files, text=manifest(gone, {name: "personal_data"})),
    )
    yield bad(
        "manifest-of-nothing",
        "2.malformed",
        0,
        "The text of the manifest is one line feed: it lists nothing.",
        retold(lambda _: "\n"),
    )
    yield bad(
        "withheld-line-first",
        "2.malformed",
        0,
        "The line of a withheld file stands before those of the files.",
        retold(lambda text: f"# withheld blobs/{'0' * 64} personal_data\n{text}"),
    )
    yield good(
        "sixteen-signatures",
        "A note has sixteen signature lines.",
        noted(lambda data: data + signatures(15)),
    )
    yield bad(
        "seventeen-signatures",
        "2.malformed",
        0,
        "A note has seventeen signature lines.",
        noted(lambda data: data + signatures(16)),
    )
    line = signature_line(STRANGER, manifest(files))
    yield bad(
        "plus-in-a-key-name",
        "2.malformed",
        0,
        f"The line of an unknown key in {SUMS} has a name with a plus sign.",
        noted(lambda data: data + line.replace(b"stranger.", b"stranger+")),
    )


@group
def reply_cases() -> Iterator[Case]:
    """§5, §6, §9: reading replies and quotes."""
    fenced = f"```json\n{vote('a').text}\n```\r\n"
    yield good(
        "carriage-return-at-the-end",
        "A CR after the closing fence is white space at the end of the text.",
        export(decided().text(6, "reply", fenced)),
    )
    both = '{"stance":"x","vote":"a","more":1}'
    yield good(
        "missing-and-too-much",
        "A member is missing, and another one is too much: what is missing comes first.",
        export(
            voting(
                "missing-and-more",
                {"ann": "a", "ben": "a"},
                {"r1.proposal.ann:1": Completion(both)},
                attempts=2,
            )
        ),
    )
    minus = attacked(0, [HOLDS]).text.replace('strength": 0', 'strength": -0')
    yield sound(
        "minus-zero-in-a-reply",
        "`-0` is the integer 0: it has the right type and is below the bound.",
        moderating("minus-zero", {"r1.critique.critic:1": Completion(minus)}),
    )
    text = EVIDENCE[0]["id"]
    quotes = [(text, "within\u200athirty days"), (text, "within\u200bthirty days")]
    yield sound(
        "invisible-in-a-quote",
        "U+200A is folded, and the first quote is verified; U+200B is not, and the other is not.",
        moderating("invisible", {"r1.proposition.proposer:1": proposed(quotes[:1], quotes[1:])}),
    )
    yield bad(
        "closed-before-opened",
        "4.json",
        12,
        "Three brackets are closed before thirty-three are opened: no more than thirty are open "
        "then, counted from below zero.",
        export(decided().put(12, b"]]]" + b"[" * 33)),
    )
    yield bad(
        "quote-after-a-backslash",
        "4.profile",
        12,
        "A backslash stands outside of any string, and takes the quote after it with it: what "
        "follows is no string, and its brackets are counted.",
        export(decided().put(12, b'\\"' + b"[" * 33)),
    )
    yield bad(
        "long-and-deep",
        "4.size",
        12,
        "An entry is too long and too deep: its size comes first.",
        export(decided().put(12, b"[" * ((1 << 20) + 1))),
    )


@group
def opening_cases() -> Iterator[Case]:
    """§3, §9, §11: what the opening says."""
    base = decided()
    alone = replace(base, lines=base.lines[:1])
    yield good(
        "three-seats-to-come",
        "Nobody is registered yet; of three seats, as of two, a majority is two.",
        export(alone.data(1, seats=3).pruned()),
    )
    yield bad(
        "one-seat-to-come",
        "14.terms",
        1,
        "Nobody is registered yet; of one seat, a majority is one and not two.",
        export(alone.data(1, seats=1).pruned()),
    )
    yield good("seed-zero", "The seed is 0.", export(base.data(1, seed="0")))
    yield bad(
        "seed-with-a-zero",
        "7.schema",
        1,
        "The seed has a zero in front of it.",
        export(base.data(1, seed="07")),
    )
    debate = base.event(12)["debate"]
    yield bad(
        "debate-of-another-variant",
        "7.schema",
        12,
        "The debate's id has the variant of another kind of UUID.",
        export(base.top(12, debate=f"{debate[:19]}c{debate[20:]}")),
    )
    yield good(
        "recorded-is-scripted",
        "Replies that come from another record are scripted.",
        export(recorded(said=True)),
    )
    yield not_due(
        "recorded-not-scripted",
        3,
        "Replies come from another record, and the opening does not say that they are scripted.",
        recorded(said=False),
    )
    price = priced().event(1)["data"]["prices"][0]
    yield good(
        "first-price",
        "Of two prices of one model the first counts.",
        export(priced().data(1, prices=[price, {**price, "input_micro_usd": 1}])),
    )
    yield bad(
        "last-price",
        "15.reserved_cost_micro_usd",
        4,
        "Of two prices of one model the last was counted.",
        export(priced().data(1, prices=[{**price, "output_micro_usd": 1}, price])),
    )


@group
def reserved_cases() -> Iterator[Case]:
    """§9: what a call reserves, where a ceiling ends the debate or forfeits the synthesis."""
    writer = {"model": "python:bot", **SHORT}
    late = spending("late", limits={"tokens": 400}, synthesizer=writer)
    seq = late.seq("turn.forfeited")
    cut = late.event(seq)["data"]["cut"]
    yield sound(
        "forfeited-for-just-enough",
        "Of 400 tokens 180 are spent, so that a call that reserves 221 could break the ceiling.",
        late.data(seq, cut={**cut, "reserved": 221}),
    )
    yield undue(
        "forfeited-for-too-little",
        seq,
        "Of 400 tokens 180 are spent, so that a call that reserves 220 fits: what was reserved "
        "says whether the synthesis may be forfeited.",
        late.data(seq, cut={**cut, "reserved": 220}),
    )
    early = capped("calls")
    limits = {**early.event(1)["data"]["limits"], "calls": 3}
    yield undue(
        "truncated-for-two-calls",
        11,
        "One more call would have fitted under the ceiling: a call is one, whatever is said to be "
        "reserved.",
        early.data(1, limits=limits).data(11, reserved=2),
    )
    spent = capped_after_the_decision()
    yield defect(
        "forfeited-for-two-calls",
        "15.cut",
        13,
        "No further call fits under the ceiling; but a call is one, and not two.",
        spent.data(13, cut={**spent.event(13)["data"]["cut"], "reserved": 2}),
    )


@group
def due_cases() -> Iterator[Case]:
    """§8, §11: what is due."""
    yield not_due(
        "resumed-before-a-rejection",
        8,
        "The process changed between an answer and its rejection, which are written as one.",
        troubled().insert(8, "debate.resumed", RESUMED),
    )
    yield undue(
        "resumed-between-tool-calls",
        8,
        "The process changed between two calls of tools, which are written as one.",
        several_tools().insert(8, "debate.resumed", RESUMED),
    )
    yield good(
        "resumed-after-a-refusal",
        "The process changed after a call was refused.",
        export(refused().insert(5, "debate.resumed", RESUMED)),
    )
    cut = capped("calls")
    yield sound(
        "resumed-after-a-truncation",
        "The process changed after the debate was cut short.",
        cut.insert(12, "debate.resumed", RESUMED),
    )
    end = {"outcome": "failed", "reason": "nobody_heard"}
    yield undue(
        "closed-while-a-tool-is-out",
        8,
        "The debate is closed, and a tool did not come back.",
        one_tool().insert(8, "debate.closed", end),
    )
    capped_early = one_tool().data(1, limits={**cut.event(1)["data"]["limits"], "calls": 1})
    yield undue(
        "truncated-while-a-tool-is-out",
        8,
        "The debate is cut short, and a tool did not come back.",
        capped_early.insert(
            8,
            "debate.truncated",
            {**cut.event(11)["data"], "step": "r1.argument.ann", "limit": 1, "spent": 1},
        ),
    )
    limits = {**cut.event(1)["data"]["limits"], "elapsed_ms": 10}
    seconds = {"ceiling": "seconds", "limit": 10, "spent": 10, "reserved": 0}
    yield sound(
        "second-ceiling-named",
        "Two ceilings could be broken by the next call, and the second of them is named.",
        cut.data(1, limits=limits).data(11, **seconds).data(12, reason="seconds_ceiling"),
    )
    script: Script = {
        "r1.proposal.ann:1": Completion("I would rather not say."),
        "r1.proposal.ann:2": fails("timeout"),
    }
    yield good(
        "silent-after-a-rejection",
        "A reply is rejected, then a call fails: the turn is forfeited for want of a reply.",
        export(voting("silent", {"ann": "a", "ben": "a"}, script, attempts=2)),
    )
    late = refused_late()
    refusal = {**late.event(4)["data"], "step": "r1.proposal.ben"}
    busy = approved().without(*range(7, 13)).insert(7, "debate.closed", late.event(5)["data"])
    busy = busy.without(5).insert(5, "call.refused", refusal)
    yield good(
        "refused-while-a-call-is-open",
        "A call is refused while another one is open, which ends as it does.",
        export(busy),
    )
    apart = voting("apart", {"ann": "a", "ben": "b"}, rule="threshold", threshold=2)
    for seq, event in enumerate(apart.events, 1):
        if event["type"] in ("votes.counted", "decision.reached"):
            apart = apart.data(seq, threshold=3)
    yield good(
        "threshold-above-the-seats",
        "Three of two debaters would have to agree. No seat is out, so that none is lost: the "
        "debate runs to its last round.",
        export(apart.terms(threshold=3)),
    )
    for key, why, script in (
        (
            "strength-at-the-bar",
            "A critique is as strong as it must be: it counts.",
            {"r1.critique.critic:1": attacked(6, [HOLDS])},
        ),
        (
            "neither-challenged-nor-supported",
            "Nothing holds, of critique or proposition: `unchallenged` comes first.",
            {
                "r1.proposition.proposer:1": proposed([INVENTED]),
                "r1.critique.critic:1": attacked(8, [INVENTED]),
                "r1.rebuttal.rebuttal:1": Completion(
                    '{"thesis":"Still.","rebuttals":[],"concessions":[]}'
                ),
            },
        ),
    ):
        yield sound(key, why, moderating(key, script))
    yield sound(
        "converged-choices-and-most-similar",
        "The choices converge before the last round; then words are measured, which changes "
        "nothing of that.",
        drafting(
            "converged-choices",
            [["yes", "yes"], YES_NO],
            options=YES_NO,
            resolution="similar",
        ),
    )
    same = [f"{LONG} minute", f"{LONG} minute"]
    yield sound(
        "converged-whole-and-not-counted",
        "The texts converge as wholes before the last round; then words are measured, and none "
        "is counted.",
        drafting(
            "converged-whole",
            [same, same],
            resolution="majority",
            convergence_similarity="1",
        ),
    )
