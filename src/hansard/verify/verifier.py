"""The verifier: numbered steps over the bytes of one record (FORMAT.md §10).

 1 container     4 canonical    7 schema      10 templates    13 citations    16 outcome
 2 manifest      5 chain        8 blobs       11 prompts      14 counts
 3 signature     6 time         9 schedule    12 replies      15 limits

It reads bytes and nothing else: no store, no clock, no network. Nothing that
can be recomputed is believed. A check is `pass`, `fail`, `unchecked` (what it
rests on is gone or was not reached) or `unsupported` (there is nothing here
to check it on); only `fail` makes a record ALTERED.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from hansard.record.bundle import Bundle
from hansard.record.keys import Trust
from hansard.rules.events import Event
from hansard.verify import checks
from hansard.verify import envelope as envelopes
from hansard.verify.checks import Walk
from hansard.verify.envelope import Envelope
from hansard.verify.evidence import of_bytes, of_rules
from hansard.verify.findings import CHECKS, VERDICTS, Check, Finding, Status, Verification

_NOT_READ = "the container could not be read"


def verify(bundle: Bundle) -> Verification:
    """Check everything that a record in a store can show; never raises for bad bytes."""
    return _verify(bundle, envelopes.of_store(), Trust())


def verify_export(export: bytes | Mapping[str, bytes], trust: Trust) -> Verification:
    """Check an export against the keys that its reader trusts; never raises for bad bytes.

    `export` is the bytes of a zip or of a page, or the files of a folder by
    name. The level reached is in the result; whether it is enough is for the
    caller to say.
    """
    # 1 container, 2 manifest
    bundle, envelope = envelopes.open_export(export)
    if bundle is None:
        return _unread(envelope)
    return _verify(bundle, envelope, trust)


def _verify(bundle: Bundle, envelope: Envelope, trust: Trust) -> Verification:
    # 4 canonical, 7 schema: a rejected line leaves 9 to 16 unchecked
    events, findings = checks.check_lines(bundle.lines)
    complete = not findings
    # 5 chain, 6 time
    findings += checks.check_chain(bundle.lines, events, bundle.head)
    findings += checks.check_time(events)
    # 8 blobs
    texts, found = checks.check_blobs(events, bundle.blobs, complete, envelope.withheld)
    findings += found
    # 10 templates and policy, 3 signatures: by the keys in force when the debate was opened
    first = events[0] if events else None
    opened = first["data"] if first and first["type"] == "debate.opened" else None
    policy = None
    if opened:
        policy, found = checks.check_templates(opened, bundle)
        findings += found if complete else []
    named = bool(opened and opened["policy"])
    at = first["at"] if first and opened else None
    envelopes.check_signatures(envelope, policy, named, trust, at)
    # 9 schedule, 11 prompts, 12 replies, 14 counts, 15 limits, 16 outcome
    walk = None
    if complete and events:
        approved = policy.approved(opened["terms"]["format"]) if opened and policy else None
        walk = checks.check_rules(events, texts, approved)
        findings += walk.findings
    findings += envelope.findings
    findings.sort(key=lambda finding: (finding.seq, finding.check, finding.code))
    return _report(bundle, events, walk, envelope, findings)


def _report(
    bundle: Bundle,
    events: Sequence[Event],
    walk: Walk | None,
    envelope: Envelope,
    findings: list[Finding],
) -> Verification:
    evidence = of_bytes(bundle, events)
    if walk and walk.walked == len(events):
        evidence |= of_rules(events, walk.replay.state)
    failed = Counter([finding.check for finding in findings])
    gone, unread = (walk.replay.gone, walk.replay.unread) if walk else ([], [])
    rows = []
    for number, name in CHECKS.items():
        status, text = envelope.rows.get(number, ("unchecked", "there is no manifest to check"))
        if failed[number]:
            first = next(finding for finding in findings if finding.check == number)
            status, text = "fail", _where(first, failed[number])
        elif number >= 9 and (walk is None or walk.walked < len(events)):
            reached = walk.walked if walk else 0
            status, text = "unchecked", f"only {reached} of {len(bundle.lines)} entries followed"
        elif gone and number in (12, 13, 14, 16):
            status, text = "unchecked", f"{len(gone)} of its replies are gone"
        elif walk and walk.replay.uncited and number in (12, 13, 16):
            status, text = "unchecked", "a document that is cited from is gone"
        elif number > 3:
            status, text = "pass", evidence[number]
        rows.append(Check(number=number, name=name, status=status, evidence=text))
    level = None if findings else int(envelope.trusted)
    turns = len(walk.replay.state.turns) if walk else 0
    return Verification(
        debate=events[0]["debate"] if events else None,
        entries=len(bundle.lines),
        open=walk is None or walk.replay.state.closed is None,
        level=level,
        verdict=VERDICTS[level],
        unchecked=f"{len(unread)} of {turns} turns unchecked" if unread else "",
        checks=rows,
        findings=findings,
    )


def _unread(envelope: Envelope) -> Verification:
    """Return the result for a container that cannot be read: one check, and no other."""
    rows = [
        Check(number=number, name=name, status="unchecked", evidence=_NOT_READ)
        for number, name in CHECKS.items()
    ]
    failed: Status = "fail"
    rows[0] = rows[0].model_copy(
        update={"status": failed, "evidence": envelope.findings[0].message}
    )
    return Verification(
        debate=None,
        entries=0,
        open=True,
        level=None,
        verdict=VERDICTS[None],
        unchecked="",
        checks=rows,
        findings=envelope.findings,
    )


def _where(first: Finding, count: int) -> str:
    place = f"entry {first.seq}: " if first.seq else ""
    more = f" ({count - 1} more)" if count > 1 else ""
    return f"{place}{first.message}{more}"
