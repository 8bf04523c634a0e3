"""A policy as a person writes it: YAML that maps scopes to terms, and terms to values.

    "*":
      max_calls: 60
    judged.judge:
      persona: none

FORMAT.md §15 says what each means. What is signed are the sorted lines that come of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import yaml

from hansard.errors import DataError, UsageError, together
from hansard.record import policy
from hansard.record.policy import Line
from hansard.rules.gate import FACTOR

_CODE = "policy.draft"
_STRICT = """\
# What debates may be made of. Edit it, then sign it with `hansard policy approve FILE -o POLICY`.
# A scope is "*" (every debate), a format, or format.role; the narrowest that has a term decides.
# A term takes a value or a list of values, any of which will do.
"*":
  require: [owner, requester, retention, task_type]
  callable: none  # no seat is a function of somebody's own; or: any
  max_rounds: 3
  max_calls: 60
  max_seconds: 900
  max_cost_micro_usd: 2000000
  gate_factor: {factor}  # where a gate was asked; with `gate` under `require`, one must be
  gate_rule: downside  # or: any, all
  # provider: [openai, anthropic]
  # model: [gpt-4o*, claude-*]
  # served: [gpt-4o*, claude-*]
{format}:
  evidence: required
"""
_APART = "  independent: family\n"
_UNTOLD = """\
  persona: none  # or the SHA-256 of the text that you approve
  instructions: none
"""
_OF_ROLE = {
    "judge": _APART + _UNTOLD + "  context: none\n",
    "moderator": _APART + _UNTOLD,  # who is told no context
    "critic": _APART,
}


def lines_of(draft: object) -> list[Line]:
    """Return the lines of a policy that was read from YAML.

    Raises UsageError `policy.draft`, with every mistake in it.
    """
    lines, mistakes = list[Line](), list[str]()
    for text in _texts(draft, mistakes):
        try:
            lines.append(policy.read_line(text))
        except DataError as error:
            mistakes.append(str(error))
    try:
        policy.check(lines)
    except DataError as error:
        mistakes.append(str(error))
    if mistakes:
        raise together(UsageError(_CODE, words) for words in mistakes)
    return lines


def _texts(draft: object, mistakes: list[str]) -> Iterator[str]:
    """Yield each line as its text, and note what is no mapping of mappings."""
    scopes = draft if isinstance(draft, Mapping) else None
    if not scopes:
        mistakes.append("a policy maps scopes to terms, as in `judged.judge: {persona: none}`")
    for scope, terms in (scopes or {}).items():
        if not isinstance(terms, Mapping):
            mistakes.append(f"{scope!s:.100} maps no terms to values, as in `max_calls: 60`")
            continue
        for term, value in terms.items():
            values = value if isinstance(value, list) else ["none" if value is None else value]
            if not values:  # no line at all would allow everything
                mistakes.append(f"{scope!s:.100} lists no value for `{term!s:.100}`; name one")
            yield from (f"{scope} {term} {each}" for each in values)


def strict(format_: str, hashes: Mapping[str, str], factor: int = FACTOR) -> str:
    """Return a policy to be edited, of strict values and these templates by role."""
    rows = [_STRICT.format(format=format_, factor=factor)]
    if format_ == "moderated":
        rows.append("  min_challenge_strength: 6\n")
    for role, digest in hashes.items():
        rows.append(f"{format_}.{role}:\n  template: {digest}\n{_OF_ROLE.get(role, '')}")
    return "".join(rows)


def revised(lines: Iterable[Line], term: str, value: str) -> str:
    """Return a policy of these lines as YAML, with another value of a term that has one a scope.

    Every scope that has the term gets it; where none has, all debates do.
    """
    scopes: dict[str, dict[str, list[str]]] = {}
    for line in lines:
        scopes.setdefault(line.scope, {}).setdefault(line.term, []).append(line.value)
    for terms in [row for row in scopes.values() if term in row] or [scopes.setdefault("*", {})]:
        terms[term] = [value]
    short = {
        scope: {name: rows[0] if len(rows) == 1 else rows for name, rows in terms.items()}
        for scope, terms in scopes.items()
    }
    return yaml.safe_dump(short, sort_keys=False)
