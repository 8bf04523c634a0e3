"""The verifier: numbered steps over the bytes of one record (record.md §3, FORMAT.md §10).

 1 container     4 canonical    7 schema      10 templates    13 citations    16 outcome
 2 manifest      5 chain        8 blobs       11 prompts      14 counts
 3 signature     6 time         9 schedule    12 replies      15 limits

It reads bytes and nothing else: no store, no clock, no network. Nothing that
can be recomputed is believed. A check is `pass`, `fail`, `unchecked` (what it
rests on is gone or was not reached) or `unsupported` (there is nothing here
to check it on); only `fail` changes the verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hansard.debate.events import Event
from hansard.record.bundle import Bundle
from hansard.verify import checks
from hansard.verify.checks import Walk
from hansard.verify.findings import CHECKS, Check, Finding, Status, Verification

_NO_EXPORT = "read from a store, which has no container, manifest or signature"


def verify(bundle: Bundle) -> Verification:
    """Check everything that one record's bytes can show; never raises for bad bytes."""
    # 4 canonical, 7 schema: a rejected line leaves 9 to 16 unchecked
    events, findings = checks.check_lines(bundle.lines)
    complete = not findings
    # 5 chain, 6 time
    findings += checks.check_chain(bundle.lines, events, bundle.head)
    findings += checks.check_time(events)
    # 8 blobs
    texts, found = checks.check_blobs(events, bundle.blobs, complete)
    findings += found
    # 9 schedule, 10 templates, 11 prompts, 12 replies, 14 counts, 15 limits, 16 outcome
    walk = None
    if complete and events:
        findings += checks.check_templates(events, bundle.templates)
        walk = checks.check_rules(events, texts)
        findings += walk.findings
    findings.sort(key=lambda finding: (finding.seq, finding.check, finding.code))
    return _report(bundle, events, walk, findings)


def _report(
    bundle: Bundle, events: Sequence[Event], walk: Walk | None, findings: list[Finding]
) -> Verification:
    evidence = _evidence(bundle, events, walk)
    failed = Counter(finding.check for finding in findings)
    unread = walk.replay.unread if walk else []
    rows = []
    for number, name in CHECKS.items():
        status: Status = "pass"
        text = evidence[number]
        if failed[number]:
            first = next(finding for finding in findings if finding.check == number)
            status, text = "fail", _where(first, failed[number])
        elif number <= 3:
            status = "unsupported"
        elif number >= 9 and (walk is None or walk.walked < len(events)):
            reached = walk.walked if walk else 0
            status, text = "unchecked", f"only {reached} of {len(bundle.lines)} entries followed"
        elif unread and number in (12, 14, 16):
            status, text = "unchecked", f"{len(unread)} of its replies are gone"
        rows.append(Check(number=number, name=name, status=status, evidence=text))
    votes = len(walk.replay.state.turns) if walk else 0
    return Verification(
        debate=events[0]["debate"] if events else None,
        entries=len(bundle.lines),
        open=walk is None or walk.replay.state.closed is None,
        level=None if findings else 0,
        verdict="ALTERED" if findings else "SELF-CONSISTENT, SIGNER UNKNOWN",
        unchecked=f"{len(unread)} of {votes} votes unchecked" if unread else "",
        checks=rows,
        findings=findings,
    )


def _where(first: Finding, count: int) -> str:
    place = f"entry {first.seq}: " if first.seq else ""
    more = f" ({count - 1} more)" if count > 1 else ""
    return f"{place}{first.message}{more}"


def _evidence(bundle: Bundle, events: Sequence[Event], walk: Walk | None) -> dict[int, str]:
    """Say for each check what it looked at, for when it passes."""
    lines = len(bundle.lines)
    kinds = Counter([event["type"] for event in events])
    begin, end = (events[0]["at"], events[-1]["at"]) if events else ("", "")
    answers, rejected = kinds["call.answered"], kinds["turn.rejected"]
    state = walk.replay.state if walk else None
    templates = len(state.opened["templates"]) if state and state.opened else 0
    decision = state.decision if state else None
    return {
        1: _NO_EXPORT,
        2: _NO_EXPORT,
        3: _NO_EXPORT,
        4: f"{lines} of {lines} entries are spelled canonically",
        5: f"{lines} entries linked in order"
        + (", up to the head that the store keeps" if bundle.head else ""),
        6: f"times never go back, {begin} to {end}",
        7: f"{lines} entries of {len(kinds)} known types",
        8: f"{len(bundle.blobs)} of {len(bundle.blobs)} texts present, each as recorded",
        9: f"{kinds['turn.recorded'] + kinds['turn.forfeited']} turns, each the one that was due",
        10: f"{templates} templates and the reply schema as recorded",
        11: f"{kinds['call.started']} of {kinds['call.started']} prompts derived again",
        12: f"{answers} replies read again: {answers - rejected} readable, {rejected} rejected",
        13: "the replies of this format quote no documents",
        14: f"{kinds['votes.counted']} of {kinds['votes.counted']} counts recomputed",
        15: f"costs of {answers} calls recomputed; no ceilings were set",
        16: f"{decision['decision']} by {decision['rule']}, recomputed"
        if decision
        else "the debate is still open: there is no decision to check",
    }
