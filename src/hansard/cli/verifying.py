"""`verify`: a line a check, what was found, and the verdict."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

import hansard
from hansard.api.files import count_exports, holds_exports
from hansard.cli.console import console, fields, say_document, value
from hansard.cli.context import find_export, keyring, open_store, store_option, trust_of
from hansard.cli.many import verify_many
from hansard.errors import UsageError
from hansard.report.altered import in_words
from hansard.report.safe import one_line
from hansard.version import __version__
from hansard.vocabulary import words

_STYLES = {"pass": "green", "fail": "bold red", "unchecked": "yellow", "unsupported": "dim"}
_UNPROVEN: dict[int | None, tuple[str, ...]] = {
    0: ("unsigned", "unproven"),
    1: ("unproven",),
    2: ("unproven",),
}
_RELEASED = f"the page of hansard {__version__}"
_OF_ANOTHER_RELEASE = (
    f"its code is not that of hansard {__version__}: "
    "another version wrote it, and whoever signed this record signed it"
)
_DEFECTS = {
    "page.code": f"its code is not that of hansard {__version__}: "
    "it was changed, another version wrote it, or the file was cut off",
    "page.record": "it shows another record than the export that it lies in",
}
_INSIDE = {
    0: "agrees with itself, signer unknown",
    1: "is intact",
    2: "is intact and anchored",
}
_OUTSIDE = (
    "its register is as in a checkpoint of the same size that you kept (--since), or cosigned by "
    "as many witnesses as your trust file wants"
)
_SINCE = (
    "--since is compared with an export; `hansard register verify --since CHECKPOINT` compares a "
    "store with it"
)
_REPORT = (
    "--report is counted again from a folder of exports: hansard export --since DAY --until DAY "
    "-o FOLDER"
)
_LISTED = 100
_LEVELS = click.Choice(["0", "1", "2"])


@click.command()
@click.argument("source", metavar="[ID|EXPORT|FOLDER|PAGE]", required=False)
@click.option("--all", "whole", is_flag=True, help="Verify every debate of the store.")
@click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(1, 256),
    default=1,
    help="Verify many records in N processes; each takes up to 512 MiB, whatever a record holds. "
    "Default: 1.",
)
@click.option(
    "--trust",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The keys that you trust. Default: trust.json in HANSARD_HOME.",
)
@click.option(
    "--require-level",
    "level",
    type=_LEVELS,
    help="0: the record agrees with itself. 1: a key that you trust signed it (exports). "
    "2: somebody outside saw its register, too.",
)
@click.option(
    "--since",
    metavar="CHECKPOINT",
    type=click.Path(path_type=Path),
    help="A checkpoint that you kept: level 2 is then required of an export or FOLDER.",
)
@click.option(
    "--require-policy",
    is_flag=True,
    help="Fail a record that names no policy, or was not compared with all of it.",
)
@click.option(
    "--report",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Count a signed report again (hansard report --period … -o FILE) from the exports in "
    "FOLDER.",
)
@click.option("--json", "as_json", is_flag=True, help="Print checks and findings as JSON.")
@store_option
def verify(
    source: str | None,
    whole: bool,
    jobs: int,
    trust: Path | None,
    level: str | None,
    since: Path | None,
    require_policy: bool,
    report: Path | None,
    as_json: bool,
) -> None:
    """Verify a record: the debate ID in the store, an export, or a page; or many.

    No computed result is taken on trust: every link, text, turn, prompt, reply,
    vote and the decision are recomputed. An export must also be signed by a key
    that you trust, and so must its page. The code of a page that comes alone must be
    exactly what this release writes, because other code could show anything.

    In a FOLDER of exports, which `hansard export --all` writes, every export is verified. They
    must be those that were signed for, in the latest versions that the register in the folder
    knows. With --since, nothing under CHECKPOINT may have been dropped or changed; with
    --report, the numbers of a signed report are counted again. --all verifies every debate of
    the store. Records that are not intact come first. --json prints one document a line: one
    for each record, and the last for all of them.

    Exit codes: 0 what is required is reached; 1 it is not, if only by one of many, or the code
    of a page that comes alone is not that of this release; 2 there is no such debate or file,
    it cannot be read, or it is not a Hansard export.
    """
    if (source is None) != whole:
        raise UsageError("verify.which", "name what to verify, or every debate with --all")
    path = find_export(source) if source else None
    required = int(level) if level else int(path is not None) + bool(since)
    many = whole or bool(path and holds_exports(path))
    if report and (whole or not many):
        raise UsageError("verify.report", _REPORT)
    if many:
        if whole and since:
            raise UsageError("verify.since", _SINCE)
        given = (trust, since, report)
        _verify_many(path, jobs, *given, required, policy=require_policy, as_json=as_json)
        return
    found = _verified(path, source or "", trust, since)
    reached = found.level is not None and found.level >= required
    if as_json:
        say_document(found)
    else:
        print_verification(console(), found)
        if found.ok and not reached:
            _say_what_lacks(found, required, trust)
    unruled = require_policy and found.ok and not found.policed
    if unruled:
        click.echo(f"Required: {words('policed')['required']}", err=True)
    if not reached or unruled or _is_forged(found.page):
        raise click.exceptions.Exit(1)


def _say_what_lacks(found: hansard.Verification, required: int, trust: Path | None) -> None:
    """Say what keeps a record in which no check failed from the level that is required."""
    if found.signed:
        click.echo(f"Required: level {required}: {_OUTSIDE}", err=True)
    else:
        _say_how_to_trust(required, trust)


def _verified(
    path: Path | None, debate: str, trust: Path | None, since: Path | None
) -> hansard.Verification:
    if path:
        return hansard.verify_export(path, trust_of(trust), since)
    if since:
        raise UsageError("verify.since", _SINCE)
    with open_store() as store:
        return hansard.verify(store, debate, trust_of(trust))


def _verify_many(
    path: Path | None,
    jobs: int,
    trust: Path | None,
    since: Path | None,
    report: Path | None,
    required: int,
    *,
    policy: bool,
    as_json: bool,
) -> None:
    """Verify a folder of exports or, without one, every debate of the store."""
    keys = trust_of(trust)
    if path:
        verify_many(
            lambda each: hansard.verify_exports(
                path, keys, since, report=report, jobs=jobs, each=each
            ),
            count_exports(path),
            required,
            policy=policy,
            as_json=as_json,
        )
        return
    with open_store() as store:
        verify_many(
            lambda each: hansard.verify_store(store, keys, jobs=jobs, each=each),
            len(store.debates()),
            required,
            policy=policy,
            as_json=as_json,
        )


def _say_how_to_trust(required: int, trust: Path | None) -> None:
    """Say what keeps a record that agrees with itself from the level that is required."""
    file = trust or keyring().trust_file
    there = "" if file.exists() else ", and there is none"
    rows: list[tuple[str, Text | str]] = [
        ("Required", f"level {required}: signed by keys that you trust"),
        ("Read from", f"{file}{there}"),
        ("Put there", "hansard trust add KEY --role export, with the sender's public key;"),
        ("", "their log key, with --role log, where the export proves its place in a register"),
    ]
    console(stderr=True).print(fields(rows))


def _is_forged(page: hansard.PageCheck | None) -> bool:
    """Say whether a page that was read by itself is not ours.

    Of one that lies in an export, the signatures decide.
    """
    return page is not None and page.same_record is None and not page.released


def _defect(found: hansard.Verification) -> str | None:
    """Return the code of what is wrong with the page; None where nothing is, or there is none."""
    page = found.page
    if page is None:
        return None
    if not page.released and not _is_vouched_for(found):
        return "page.code"
    return "page.record" if page.same_record is False else None


def _is_vouched_for(found: hansard.Verification) -> bool:
    """Say whether a trusted key signed the page: level 1 asks that of one in an export."""
    return found.signed and found.page is not None and found.page.same_record is not None


def print_verification(out: Console, found: hansard.Verification) -> None:
    """Print every check, every finding, and the verdict with what it does not prove."""
    for check in found.checks:
        _print_check(out, check)
    defect = _defect(found)
    if defect:
        _print_row(out, "", "page", "fail", _DEFECTS[defect])
    elif found.page:
        _print_row(
            out, "", "page", "pass", _RELEASED if found.page.released else _OF_ANOTHER_RELEASE
        )
    _print_listed(out, found)
    if defect:
        said = f"do not rely on what it shows: {_DEFECTS[defect]}"
        out.print(Text(f"\nthe page  {defect}  {said}", style="red"))
    _print_verdict(out, found)


def print_findings(out: Console, found: hansard.Verification) -> None:
    """Print the checks that failed, what they found, and the verdict."""
    for check in found.checks:
        if check.status == "fail":
            _print_check(out, check)
    _print_listed(out, found)
    _print_verdict(out, found)


def _print_listed(out: Console, found: hansard.Verification) -> None:
    """Print the first findings: a hostile file may have any number of them."""
    for finding in found.findings[:_LISTED]:
        _print_finding(out, finding)
    if len(found.findings) > _LISTED:
        out.print(Text(f"\n… and {len(found.findings) - _LISTED} more", style="red"))


def _print_check(out: Console, check: hansard.Check) -> None:
    _print_row(out, str(check.number), check.name, check.status, check.evidence)


def _print_row(out: Console, number: str, name: str, status: str, evidence: str) -> None:
    out.print(
        Text.assemble(
            f"{number:>2}  ",
            (f"{name:<10}  ", "bold"),
            (f"{'FAIL' if status == 'fail' else status:<11}  ", _STYLES[status]),
            one_line(evidence),
        )
    )


def _print_finding(out: Console, finding: hansard.Finding) -> None:
    place = f"entry {finding.seq}" if finding.seq else "the record"
    out.print(Text(f"\n{place}  {finding.code}  {one_line(in_words(finding))}", style="red"))
    for label, what in (("expected", finding.expected), ("found", finding.found)):
        if what is not None:
            out.print(Text(f"  {label:<8}  {value(what)}"))


def _print_verdict(out: Console, found: hansard.Verification) -> None:
    out.print()
    for claim in _UNPROVEN.get(found.level, ()):
        out.print(Text(words("claims")[claim], style="dim"))
    verdict: str = found.verdict
    said = "" if found.ok else "  do not rely on this record"
    if found.level is not None and _is_forged(found.page):
        verdict, said = "PAGE NOT OURS", f"  the record inside {_INSIDE[found.level]}"
    elif found.ok and _defect(found):
        said = "  the record alone, not its page"
    sound = found.ok and verdict == found.verdict
    out.print(
        Text.assemble(
            (f" {verdict} ", "reverse bold green" if sound else "reverse bold red"),
            (said, "bold red" if found.ok else ""),
            (f"  {'; '.join(found.caveats)}" if found.caveats else "", "bold yellow"),
        )
    )
