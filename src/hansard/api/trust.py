"""Keys, trust files and signed policies: who vouches for a record, and what it may be made of.

>>> from tempfile import TemporaryDirectory
>>> from hansard import approve_prompts, open_keyring, read_policy, unapproved_prompts
>>> with TemporaryDirectory() as home:
...     ring = open_keyring(home)
...     signed = approve_prompts(ring.signer("approval"), format="judged")
...     policy = read_policy(signed, ring.trust())
>>> unapproved_prompts(policy, format="judged")
{}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hansard.api.specs import located, prompt_templates, reachable
from hansard.api.trials import try_critics

if TYPE_CHECKING:
    from hansard.api.records import Record
    from hansard.api.specs import Spec
    from hansard.governance.keyring import Keyring
    from hansard.record.keys import Trust
    from hansard.record.note import Signer
    from hansard.record.policy import Line, Policy
    from hansard.runtime.seats import Models
    from hansard.runtime.tools import Tools


def open_keyring(
    folder: Path | str | None = None,
    tell: Callable[[str], None] | None = None,
    ask: Callable[[str, bool], str] | None = None,
) -> Keyring:
    """Return the keys and the trust file in `folder`, by default in HANSARD_HOME.

    Without that variable it is `~/.config/hansard`. A key that is missing is made
    at first use; `tell` is then called with a sentence that says so. Keys are
    encrypted where HANSARD_PASSPHRASE or HANSARD_PASSPHRASE_FILE is set, or `ask`
    gives a passphrase: it is called with the words to show and whether the passphrase
    is a new one, which may be empty. Raises UsageError `key.folder` where
    there is no home directory.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as home:
    ...     keys = open_keyring(home)
    ...     made = keys.signer("export").key
    ...     [row.role for row in keys.trust().keys]
    ['export']
    """
    from hansard.governance.keyring import Keyring
    from hansard.runtime.clock import Clock

    place = Path(folder) if folder is not None else Keyring.default_folder()
    return Keyring(place, Clock().now, tell or (lambda _: None), ask)


def read_trust(path: Path | str) -> Trust:
    """Read a trust file: the keys that its reader believes, each in one role for a time.

    Raises UsageError `input.unreadable` and DataError `trust.malformed`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as home:
    ...     file = Path(home) / "trust.json"
    ...     _ = file.write_text('{"v":1,"keys":[]}')
    ...     read_trust(file).keys
    []
    """
    from hansard.api.files import read_file
    from hansard.record.keys import parse_trust

    return parse_trust(read_file(Path(path)), path)


def read_policy(policy: Path | str | bytes, trust: Trust) -> Policy:
    """Return a policy, from its file or its bytes, whose approval counts now.

    Raises UsageError `input.unreadable`, and DataError `policy.malformed`,
    `policy.forged` where its text is not the one that was signed,
    `policy.untrusted` where no approval key of `trust` that is in force signed it, or
    `policy.revoked` where `trust` says that it counts no more.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as home:
    ...     keys = open_keyring(home)
    ...     signed = approve_policy(keys.signer("approval"), {"*": {"max_calls": 60}})
    ...     policy = read_policy(signed, keys.trust())
    >>> len(policy.lines)
    1
    """
    from hansard.governance.approval import load
    from hansard.runtime.clock import Clock

    return load(_bytes(policy), trust, Clock().now())


def parse_policy(policy: Path | str | bytes) -> Policy:
    """Return what a policy says, whoever signed it: `read_policy` looks at that as well.

    Raises UsageError `input.unreadable` and DataError `policy.malformed`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as home:
    ...     signed = approve_policy(open_keyring(home).signer("approval"), {"*": {"max_calls": 60}})
    >>> len(parse_policy(signed).lines)
    1
    """
    from hansard.record.policy import parse

    return parse(_bytes(policy))


def approve_prompts(
    signer: Signer,
    spec: Spec | None = None,
    *,
    format: str = "consensus",  # noqa: A002 - the spec's own word
    folder: Path | str | None = None,
    allow: Iterable[Path | str] = (),
    trial: Iterable[Record] = (),
    override: str | None = None,
) -> bytes:
    """Return a policy that approves what `prompt_templates` gives, signed by `signer`.

    Read the templates before you sign them. Raises what `prompt_templates` raises, and
    what `approve_policy` says of a critic's template.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as home:
    ...     signed = approve_prompts(open_keyring(home).signer("approval"), format="judged")
    >>> unapproved_prompts(parse_policy(signed), format="judged")
    {}
    """
    lines = template_lines(spec, format=format, folder=folder, allow=allow)
    return approve_policy(signer, lines, trial=trial, override=override)


def template_lines(
    spec: Spec | None = None,
    *,
    format: str = "consensus",  # noqa: A002 - the spec's own word
    folder: Path | str | None = None,
    allow: Iterable[Path | str] = (),
) -> list[Line]:
    """Return the lines that `approve_prompts` would sign; it raises what this raises."""
    from hansard.governance.approval import lines_for

    templates = prompt_templates(spec, format=format, folder=folder, allow=allow)
    return lines_for(_format_of(spec, format), templates)


def draft_policy(
    spec: Spec | None = None,
    *,
    format: str = "consensus",  # noqa: A002 - the spec's own word
    folder: Path | str | None = None,
    allow: Iterable[Path | str] = (),
) -> str:
    """Return a policy in YAML, to be edited: strict values, and the templates of a format.

    They are those that `prompt_templates` gives, and it raises what that raises.

    >>> print(draft_policy(format="judged").splitlines()[3])
    "*":
    """
    from hansard.governance.approval import hashes
    from hansard.governance.drafting import strict

    templates = prompt_templates(spec, format=format, folder=folder, allow=allow)
    return strict(_format_of(spec, format), hashes(templates))


def approve_policy(
    signer: Signer,
    policy: Path | str | Mapping[str, object] | list[Line],
    *,
    trial: Iterable[Record] = (),
    override: str | None = None,
) -> bytes:
    """Return the policy that a YAML or JSON file, or a mapping of scopes, states; signed.

    `policy` may also be the lines that were read of it. Where it lists a critic's
    template, `trial` are the records of closed `moderated` debates in which that was
    tried, or `override` says why it is approved without (RULES.md D 39); `trial_note`
    keeps what they showed. Raises UsageError `input.unreadable`, `policy.draft` with
    everything that is wrong in it, `policy.untried`, `policy.trial`, and `trial.*` for a
    record that is no trial; DataError `record.altered` for one that does not hold.

    >>> from tempfile import TemporaryDirectory
    >>> draft = {"*": {"max_calls": 60, "require": ["owner"]}, "panel": {"evidence": "required"}}
    >>> with TemporaryDirectory() as home:
    ...     signed = approve_policy(open_keyring(home).signer("approval"), draft)
    >>> len(parse_policy(signed).lines)
    3
    """
    from hansard.governance.approval import sign

    lines = policy if isinstance(policy, list) else read_draft(policy)
    try_critics(lines, trial, override)
    return sign(lines, signer)


def read_draft(policy: Path | str | Mapping[str, object]) -> list[Line]:
    """Return the lines that `approve_policy` would sign; it raises what this raises."""
    from hansard.api.files import read_file
    from hansard.governance.drafting import lines_of
    from hansard.runtime.notation import parse

    if isinstance(policy, Mapping):
        return lines_of(policy)
    return lines_of(parse(read_file(Path(policy)).decode("utf-8", "replace"), str(policy)))


def not_allowed(
    policy: Policy,
    spec: Spec,
    *,
    models: Models | None = None,
    tools: Tools | None = None,
    folder: Path | str | None = None,
    allow: Iterable[Path | str] = (),
) -> list[str]:
    """Return in words each point at which the policy does not allow a debate; none if it does.

    The arguments are those of `estimate`, and it raises what that raises: no model is
    asked. `run` raises UsageError `policy.not_allowed` with the same points.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as home:
    ...     signed = approve_policy(open_keyring(home).signer("approval"), {"*": {"max_calls": 60}})
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> not_allowed(parse_policy(signed), spec)[-1]
    'panel: `max_calls` is not stated; the policy allows at most 60'
    """
    from hansard.runtime.estimate import rehearsed
    from hansard.runtime.policed import disallowed

    return disallowed(rehearsed(*reachable(spec, folder, allow), models, tools), policy)


def unapproved_prompts(
    policy: Policy,
    spec: Spec | None = None,
    *,
    format: str = "consensus",  # noqa: A002 - the spec's own word
    folder: Path | str | None = None,
    allow: Iterable[Path | str] = (),
) -> dict[str, str]:
    """Return by role the SHA-256 of each template that the policy does not approve.

    The templates are those that `prompt_templates` gives, and it raises what that
    raises. None are left where every prompt is approved.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as home:
    ...     signed = approve_prompts(open_keyring(home).signer("approval"), format="judged")
    >>> unapproved_prompts(parse_policy(signed), format="judged")
    {}
    """
    from hansard.governance.approval import hashes

    templates = prompt_templates(spec, format=format, folder=folder, allow=allow)
    approved = policy.approved(_format_of(spec, format), templates)
    found = hashes(templates)
    return {role: digest for role, digest in found.items() if digest not in approved[role]}


def _format_of(spec: Spec | None, format_: str) -> str:
    return format_ if spec is None else located(spec, None)[0].format


def _bytes(policy: Path | str | bytes) -> bytes:
    from hansard.api.files import read_file

    return policy if isinstance(policy, bytes) else read_file(Path(policy))
