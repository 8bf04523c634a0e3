"""One function a check: bytes or events in, findings and evidence out (FORMAT.md §10)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, cast

from hansard.errors import DataError
from hansard.record import blob
from hansard.record.bundle import Bundle, Head
from hansard.record.line import GENESIS, line_hash
from hansard.record.policy import Policy
from hansard.record.policy import parse as parse_policy
from hansard.rules.data import OpenedData
from hansard.rules.events import Event, blob_names, parse
from hansard.rules.replay import Difference, NotDue, Replay
from hansard.verify.findings import Finding

# Which check a difference in a derived field belongs to: by type and field, else by type.
_CHECK_OF_FIELD = {
    ("debate.opened", "terms"): 14,
    ("debate.opened", "schemas"): 10,
    ("call.started", "template"): 10,
    ("call.started", "schema"): 10,
    ("call.started", "not_approved"): 10,
    ("call.started", "prompt"): 11,
    ("call.answered", "cost_micro_usd"): 15,
    ("call.failed", "cost_micro_usd"): 15,
    ("call.started", "ceiling"): 15,
    ("turn.recorded", "vote"): 12,
    ("turn.recorded", "case"): 12,
    ("turn.recorded", "arguments"): 12,
    ("turn.recorded", "rating"): 12,
    ("turn.recorded", "unanswered"): 12,
    ("turn.recorded", "citations"): 13,
    ("turn.recorded", "struck"): 13,
    ("turn.rejected", "code"): 12,
    ("turn.rejected", "member"): 12,
    ("turn.rejected", "keyword"): 12,
    ("turn.rejected", "rating"): 12,
}
_TURNS = ("verdict.recorded", "synthesis.recorded")
_PLACE = ("step", "round", "phase", "speaker", "call")  # of a turn: check 9
_CHECK_OF_TYPE = {
    "call.refused": 10,
    "votes.counted": 14,
    "similarity.measured": 14,
    "verdict.recorded": 12,
    "synthesis.recorded": 12,
    "debate.truncated": 15,
    "decision.reached": 16,
    "debate.closed": 16,
}
_SCHEDULE = 9
MOST_REJECTED = 1000  # lines that are listed: a hostile file may hold nothing else


def check_lines(lines: Sequence[bytes]) -> tuple[list[Event], list[Finding]]:
    """Checks 4 and 7: read every line; the events stop at the first one that is rejected."""
    events: list[Event] = []
    findings: list[Finding] = []
    for seq, line in enumerate(lines, 1):
        try:
            event = parse(line)
        except DataError as error:
            findings.append(Finding(code=error.code, seq=seq, message=str(error)))
            if len(findings) == MOST_REJECTED:
                break
        else:
            if not findings:
                events.append(event)
    return events, findings


def check_chain(
    lines: Sequence[bytes], events: Sequence[Event], head: Head | None
) -> list[Finding]:
    """Check 5: links, sequence, one debate, and the head kept beside the lines.

    A broken link is reported at the entry before it: that is the one whose
    bytes no longer have the hash that was recorded.
    """
    findings = []
    prev, debate = GENESIS, events[0]["debate"] if events else None
    for seq, (line, event) in enumerate(zip(lines, events, strict=False), 1):
        if event["prev"] != prev:
            message = "the next entry was linked to other bytes than this one has"
            findings.append(
                Finding(
                    code="5.prev",
                    seq=seq - 1,
                    message=message if seq > 1 else "the first entry does not begin a chain",
                    expected=event["prev"],
                    found=prev,
                )
            )
        if event["seq"] != seq:
            message = "entries are missing, repeated or out of order"
            findings.append(
                Finding(code="5.seq", seq=seq, message=message, expected=seq, found=event["seq"])
            )
        if event["debate"] != debate:
            message = "this entry belongs to another debate"
            findings.append(
                Finding(
                    code="5.debate",
                    seq=seq,
                    message=message,
                    expected=debate,
                    found=event["debate"],
                )
            )
        prev = line_hash(line)
    if not lines:
        findings.append(Finding(code="5.empty", seq=0, message="the record has no entries"))
    elif head is not None:
        findings += _check_head(lines, head)
    return findings


def _check_head(lines: Sequence[bytes], head: Head) -> Iterator[Finding]:
    if head.length != len(lines):
        yield Finding(
            code="5.length",
            seq=len(lines),
            message="the store counted another number of entries",
            expected=head.length,
            found=len(lines),
        )
    elif head.hash != (last := line_hash(lines[-1])):
        yield Finding(
            code="5.head",
            seq=len(lines),
            message="the last entry is not the one the store had last",
            expected=head.hash,
            found=last,
        )


def check_time(events: Sequence[Event]) -> list[Finding]:
    """Check 6: no entry is dated before the one before it."""
    findings = []
    last = ""
    for seq, event in enumerate(events, 1):
        if event["at"] < last:
            findings.append(
                Finding(
                    code="6.order",
                    seq=seq,
                    message="this entry is dated before the one before it",
                    expected=last,
                    found=event["at"],
                )
            )
        last = max(last, event["at"])
    return findings


def check_blobs(
    events: Sequence[Event],
    blobs: Mapping[str, bytes],
    complete: bool,
    withheld: Collection[str] = (),
) -> tuple[dict[str, str], list[Finding]]:
    """Check 8: every blob named is there, is what its name says, and no other one is.

    Returns the texts by name as well. `complete` says whether all events could
    be read: only then can a blob be called unnamed. The blobs that are
    `withheld` need not be there, and are not read.
    """
    texts: dict[str, str] = {}
    findings = []
    named: dict[str, int] = {}
    for seq, event in enumerate(events, 1):
        for name in blob_names(event):
            named.setdefault(name, seq)
    salts: set[bytes] = set()
    for name, seq in named.items():
        file = blobs.get(name)
        if file is not None:
            text, finding = _read_text(name, file, seq, salts)
            if finding:
                findings.append(finding)
            elif name not in withheld:
                texts[name] = text
        elif name not in withheld:
            message = "a text named here is missing, and nothing explains why"
            findings.append(Finding(code="8.missing", seq=seq, message=message, expected=name))
    for name in blobs if complete else ():
        if name not in named:
            message = "a text is there that no entry names"
            findings.append(Finding(code="8.unnamed", seq=0, message=message, found=name))
    return texts, findings


def _read_text(name: str, file: bytes, seq: int, salts: set[bytes]) -> tuple[str, Finding | None]:
    """Return a blob's text, or what is wrong with it; its salt joins `salts` (FORMAT.md §10)."""
    found = blob.blob_name(file)
    if found != name:
        message = "a text is not the one that was recorded"
        return "", Finding(code="8.hash", seq=seq, message=message, expected=name, found=found)
    header = file[: blob.HEADER]
    known = header in salts
    salts.add(header)
    try:
        text = blob.unpack(file)
    except DataError as error:
        return "", Finding(code=error.code, seq=seq, message=str(error), found=name)
    if known:
        return "", Finding(code="8.salt", seq=seq, message="two texts have one salt", found=name)
    return text, None


def check_templates(opened: OpenedData, bundle: Bundle) -> tuple[Policy | None, list[Finding]]:
    """Check 10, first half: templates, schemas and policy are those that the opening names.

    Returns the policy as well, where there is one and it can be read.
    """
    findings = []
    rows = [(row["role"], row["sha256"]) for row in (*opened["templates"], *opened["schemas"])]
    rows += [(row["tool"], row["sha256"]) for row in opened["tools"]]
    for name, digest in rows:
        body = bundle.templates.get(digest)
        found = sha256(body).hexdigest() if body is not None else None
        if found != digest:
            code, what = ("10.missing", "is missing") if body is None else ("10.hash", "is another")
            findings.append(
                Finding(
                    code=code,
                    seq=1,
                    message=f"the template, schema or tool {name} {what}",
                    expected=digest,
                    found=found,
                )
            )
    named = {digest for _, digest in rows}
    for name in (*bundle.templates.keys() - named, *bundle.policies.keys() - {opened["policy"]}):
        message = "a template or policy is there that the opening does not name"
        findings.append(Finding(code="10.unnamed", seq=0, message=message, found=name))
    policy = None
    if opened["policy"] is not None:
        with suppress(KeyError, DataError):
            policy = parse_policy(bundle.policies[opened["policy"]])
        if policy is None or policy.hash != opened["policy"]:
            policy = None
            message = "the policy that the opening names is missing, another, or unreadable"
            findings.append(
                Finding(code="10.policy", seq=1, message=message, expected=opened["policy"])
            )
    return policy, findings


@dataclass(slots=True)
class Walk:
    """What the replay of a record showed: checks 9 to 16."""

    replay: Replay
    walked: int = 0  # entries that could be replayed
    findings: list[Finding] = field(default_factory=list)


def check_rules(
    events: Sequence[Event], texts: Mapping[str, str], approved: Mapping[str, str] | None
) -> Walk:
    """Checks 9 to 16: derive again what was due and every fact that follows from replies."""
    walk = Walk(Replay(texts.get, approved))
    for seq, event in enumerate(events, 1):
        try:
            differences = walk.replay.step(event)
        except NotDue as error:
            walk.findings.append(
                Finding(
                    code="9.not_due",
                    seq=seq,
                    message="this entry was not due; the rules are not followed from here on",
                    expected=error.due,
                    found=event["type"],
                )
            )
            break
        walk.walked = seq
        for difference in differences:
            walk.findings.append(_differs(event["type"], seq, difference))
    return walk


def _differs(kind: str, seq: int, difference: Difference) -> Finding:
    placed = kind in _TURNS and difference.field in _PLACE
    check = _CHECK_OF_FIELD.get((kind, difference.field)) or (
        _SCHEDULE if placed else _CHECK_OF_TYPE.get(kind, _SCHEDULE)
    )
    return Finding(
        code=f"{check}.{difference.field}",
        seq=seq,
        message=f"{kind}: {difference.field} is not what the rules give",
        expected=cast(Any, difference.expected),
        found=cast(Any, difference.found),
    )
