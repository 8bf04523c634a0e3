"""`policy`: what debates may be made of, who approved it, and until when."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.text import Text

import hansard
from hansard.api.trials import doubt_of_trial, is_trial, try_critics
from hansard.api.trust import read_draft, template_lines
from hansard.cli.console import console, fields, say, say_text
from hansard.cli.context import (
    allow_option,
    keyring,
    open_store,
    sound_record,
    store_option,
    trust_of,
)
from hansard.cli.signing import SIGNER, require_new, save
from hansard.commands import path_word
from hansard.report.safe import shown
from hansard.vocabulary import many

_FILE = click.Path(path_type=Path)
_FORMAT = click.option(
    "--format",
    "format_",
    type=click.Choice(hansard.formats()),
    default="consensus",
    show_default=True,
    help="The packaged prompts of this format, if no spec is given.",
)


@click.group()
def policy() -> None:
    """Approve what debates may be made of, and check that they keep to it."""


@policy.command("init")
@click.option("--spec", type=_FILE, help="Approve the prompts that this spec uses.")
@_FORMAT
@allow_option
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=_FILE,
    required=True,
    help="Write the draft to this new file.",
)
def init_policy(spec: Path | None, format_: str, allow: tuple[str, ...], output: Path) -> None:
    """Write a policy to be edited: strict values, and today's prompt templates.

    Exit codes: 0 written; 2 there is no such spec, or FILE cannot be written.
    """
    save(output, hansard.draft_policy(spec, format=format_, allow=allow).encode())
    words = f"{output}: edit it, then sign it: hansard policy approve {path_word(output)} -o …"
    console(stderr=True).print(Text(words))


@policy.command()
@click.argument("file", type=_FILE, required=False)
@click.option("--spec", type=_FILE, help="Approve the prompts that this spec uses.")
@_FORMAT
@allow_option
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=_FILE,
    required=True,
    help="Write the signed policy to this new file.",
)
@click.option(
    "--trial",
    metavar="ID",
    multiple=True,
    help="A closed debate in which the critic's prompt was tried; may be repeated.",
)
@click.option("--override", metavar="REASON", help="Why a critic's prompt needs no such trial.")
@SIGNER
@store_option
def approve(
    file: Path | None,
    spec: Path | None,
    format_: str,
    allow: tuple[str, ...],
    output: Path,
    trial: tuple[str, ...],
    override: str | None,
    signer: str | None,
) -> None:
    """Sign a policy with your approval key, and write it to the file named by -o.

    FILE is the policy in YAML, as `hansard policy init` writes one. Without FILE the
    policy approves prompt templates alone: read them before you sign. `hansard run
    --policy` refuses every debate that is not what the policy allows.

    The prompt of a critic is approved by what it did: in debates on 20 known cases its
    critiques rate themselves above 7 on average, and more than half of them have a
    citation that was found or an objection that was conceded. What was shown is signed,
    too, and written to the file named by -o with `.trial` after it.

    Exit codes: 0 signed; 1 the record of a trial was altered; 2 something in FILE is
    wrong, a critic's prompt did not pass, or nothing can be written.
    """
    if file is not None:
        lines = read_draft(file)
        said = many(len(lines), "line")
    else:
        lines = template_lines(spec, format=format_, allow=allow)
        said = f"{many(len(lines), 'template')} of {lines[0].scope.partition('.')[0]}"
    records, beside = _tried(trial), _beside(output)
    found = try_critics(lines, records, override)
    require_new(output)
    if found:
        _require_room(beside)
    key = keyring().signer("approval", signer)  # made now where there is none: all else is right
    signed = hansard.approve_policy(key, lines, trial=records, override=override)
    kept = hansard.trial_note(key, signed, records, override)
    say = console(stderr=True)
    if kept is not None:
        left = _require_room(beside, hansard.parse_policy(signed))
        save(beside, kept, replace=left)
        for row in found:
            say.print(Text(shown(f"{'passed' if row.passed else 'not passed'}: {row}")))
        say.print(Text(f"{beside}: what was shown"))
    save(output, signed)
    say.print(Text(f"{output}: {said}, by {key.name}"))


def _beside(policy: Path) -> Path:
    """Where what a trial showed for a policy stands."""
    return Path(f"{policy}.trial")


def _require_room(beside: Path, policy: hansard.Policy | None = None) -> bool:
    """Say whether a trial stands beside a policy that was not written: its approval was killed.

    The trial is written first. Raises UsageError `output.exists` for anything else that is there.
    """
    left = is_trial(beside, policy)
    if not left:
        require_new(beside)
    return left


def _tried(trial: tuple[str, ...]) -> list[hansard.Record]:
    if not trial:
        return []
    with open_store() as store:
        return [sound_record(store, debate) for debate in trial]


@policy.command("show")
@click.argument("file", type=_FILE, required=False)
@click.option("--spec", type=_FILE, help="Print the prompts that this spec uses.")
@_FORMAT
@allow_option
def show_policy(file: Path | None, spec: Path | None, format_: str, allow: tuple[str, ...]) -> None:
    """Print what the policy FILE says or, without FILE, the prompt templates.

    `hansard policy check` says who signed a policy. Whether it is revoked, your trust
    file says.

    Exit codes: 0 printed; 2 FILE is not a policy, or there is no such spec.
    """
    if file is None:
        for role, body in hansard.prompt_templates(spec, format=format_, allow=allow).items():
            say_text(role, [body.decode()])
        return
    found = hansard.parse_policy(file)
    rows = [(f"{line.scope} {line.term}", line.value) for line in found.lines]
    trust, beside = trust_of(None), _beside(file)
    revoked = trust.revoked_policy(found.names)
    more = [("revoked", f"for debates opened from {revoked} on")] if revoked else []
    if os.path.isfile(beside):  # noqa: PTH113 - never raises
        doubt = doubt_of_trial(beside, found, trust)
        more.append(("trial", f"{beside}, {doubt}" if doubt else str(beside)))
    _print([*rows, ("hash", found.hash), *more])


@policy.command("revoke")
@click.argument("file", type=_FILE)
@click.option("--at", metavar="TIME", help="From when on. Default: now.")
@click.option(
    "--trust", metavar="TRUST", type=_FILE, help="The trust file. Default: that in HANSARD_HOME."
)
def revoke_policy(file: Path, at: str | None, trust: Path | None) -> None:
    """Let the policy FILE count for no debate that is opened from now on, or from TIME on.

    Your trust file says so from then on. Whoever verifies with another one must be told.

    Exit codes: 0 revoked; 2 FILE is not a policy, or TIME is no time.
    """
    listed = hansard.TrustFile(trust or keyring().trust_file)
    found = hansard.parse_policy(file)
    time = listed.revoke_policy(found, at or datetime.now(UTC).isoformat())
    console().print(Text(f"{found.hash} is revoked for debates opened from {time} on"))
    console(stderr=True).print(Text(f"in {listed.path}"))


@policy.command()
@click.argument("one", type=_FILE)
@click.argument("other", type=_FILE)
def diff(one: Path, other: Path) -> None:
    """Print the lines that only the policy ONE (-) or only the policy OTHER (+) has.

    Who signed them is not looked at.

    Exit codes: 0 they say the same; 1 they do not; 2 a file is not a policy.
    """
    lines = [set(hansard.parse_policy(file).lines) for file in (one, other)]
    apart = sorted(lines[0] ^ lines[1])
    for line in apart:
        click.echo(f"{'-' if line in lines[0] else '+'} {line}")
    if apart:
        raise click.exceptions.Exit(1)


@policy.command()
@click.argument("file", type=_FILE)
@click.option("--spec", type=_FILE, help="Check this spec: its prompts, seats and limits.")
@_FORMAT
@allow_option
def check(file: Path, spec: Path | None, format_: str, allow: tuple[str, ...]) -> None:
    """Check that FILE is validly signed and allows a spec, or approves today's prompts.

    Exit codes: 0 both hold; 1 something is not allowed; 2 the signature is not valid
    or not trusted, or the policy is revoked.
    """
    found = hansard.read_policy(file, trust_of(None))
    others = hansard.unapproved_prompts(found, spec, format=format_, allow=allow)
    roles = hansard.prompt_templates(spec, format=format_, allow=allow)
    points = hansard.not_allowed(found, spec, allow=allow) if spec else []
    said = {
        role: f"NOT APPROVED: {others[role]}" if role in others else "approved" for role in roles
    }
    _print([(role, words) for role, words in said.items() if role not in others or not spec])
    for point in points:
        say(f"NOT ALLOWED: {shown(point)}")
    if others or points:
        raise click.exceptions.Exit(1)


def _print(rows: list[tuple[str, str]]) -> None:
    if rows:
        console().print(fields(rows, width=max(len(label) for label, _ in rows)))
