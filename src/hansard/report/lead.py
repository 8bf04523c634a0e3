"""What became of a debate, in one sentence that code makes: what a reader sees first.

The sentence comes from the decision and the deliverable. A debate that failed says why
nobody decided, and names no decision. What models wrote stands in it in quotation marks,
on one line, cut, and made safe to show. The page says the same (`page/lead.js`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hansard import vocabulary
from hansard.report.parts import Participant
from hansard.report.result import Result
from hansard.report.safe import one_line
from hansard.report.words import GONE, HOW, few
from hansard.rules.model_names import provider_of
from hansard.rules.terms import DecisionRule
from hansard.vocabulary import fill

LIMIT = 160  # characters of what somebody wrote
WHOLE = 600  # of an answer, which may name more than one thing to do
_WORDS = vocabulary.words("lead")
_NAMED = vocabulary.words("deliverable")["lead"].split(", ")
# The first of several sentences: whatever follows begins with a capital letter.
_FIRST = re.compile(r"(.{20,}?)[.!?] (?=[A-Z])")
_LAST = re.compile(r"(.{20,})[.!?] (?=[A-Z])")
_KINDS = vocabulary.words("kinds")
_MARKS = str.maketrans("“”", "‘’")


class Lead(NamedTuple):
    """A sentence in parts: what became of it; how.

    >>> Lead("revise", "2 of 3 votes, fraud dissented").sentence
    'revise: 2 of 3 votes, fraud dissented'
    """

    head: str
    tail: str

    @property
    def sentence(self) -> str:
        """The whole sentence, on one line."""
        return f"{self.head}: {self.tail}"


def say(sentence: str, **values: object) -> str:
    """Return a sentence of these with its places filled."""
    return fill(_WORDS[sentence], **values)


def quoted(text: str | None, limit: int = LIMIT) -> str:
    """Return the first sentence of what a model wrote, on one line, cut, in quotation marks.

    With a `limit` of WHOLE it is all sentences that fit. Marks of code are left out.

    >>> quoted("Pay up to 600 EUR, in partner workshops. More later."), quoted(" ")
    ('“Pay up to 600 EUR, in partner workshops …”', '[text not available]')
    >>> quoted("Pay up to 600 EUR, in partner workshops. More later.", WHOLE)
    '“Pay up to 600 EUR, in partner workshops. More later”'
    """
    line = one_line((text or "").replace("`", ""))
    if not line:
        return GONE
    first = _FIRST.match(line)
    if limit == WHOLE:
        first = _LAST.match(line[: WHOLE + 3]) if len(line) > WHOLE else None
    words = first[1] if first else line.removesuffix(".")
    if len(words) > limit:  # cut between words, where there are any
        words = words[:limit]
        words = words[: max(words.rfind(" "), limit // 2)] + "…"
    elif first:
        words += " …"
    return in_marks(words)


def in_marks(line: str) -> str:
    """Return a line in quotation marks, which end where it ends and nowhere before.

    >>> in_marks("the “board”")
    '“the ‘board’”'
    """
    return say("quoted", words=line.translate(_MARKS))


def delivered(result: Result, limit: int = LIMIT) -> str | None:
    """Return the deliverable's words where it is some, or names some, cut; else None."""
    output: Any = result.output
    if isinstance(output, dict):
        named = (output.get(name) for name in _NAMED)
        output = next((text for text in named if isinstance(text, str) and text.strip()), None)
    return quoted(output, limit) if isinstance(output, str) and output.strip() else None


def tallied(tally: Mapping[str, int]) -> str:
    """Say how many hold each option."""
    return few([f"{option} {count}" for option, count in tally.items()])


def counted(result: Result, votes: int) -> Lead:
    """Return what votes decided on an option: the deliverable's words, the count, who dissents."""
    option, words = str(result.decision), delivered(result)
    last = {seat.id: seat.votes[-1] if seat.votes else None for seat in voters(result)}
    dissent = [who for who, vote in last.items() if vote not in (None, option)]
    silent = [who for who, vote in last.items() if vote is None]
    tail = [say("votes", votes=votes, all=len(last))]
    tail += [say("dissented", who=few(dissent))] if dissent else []
    tail += [say("abstained", who=few(silent))] if silent else []
    return Lead(say("carried", words=words, option=option) if words else option, ", ".join(tail))


def voters(result: Result) -> Sequence[Participant]:
    """Return the seats that vote."""
    return [seat for seat in result.seats if seat.role == "debater"]


def short(result: Result, needed: int, tally: Mapping[str, int]) -> str:
    """Say that no option, or more than one, has the votes that are needed."""
    tied = sum(count >= needed for option, count in tally.items() if option != "abstain") > 1
    told = {"needed": needed, "all": len(voters(result)), "tally": tallied(tally)}
    return say("tied" if tied else "none_reached", **told)


def left(how: str) -> Lead:
    """Return that a person must decide, and why."""
    return Lead(say("left"), how)


def sat(result: Result, words: str) -> str:
    """Add to a sentence whether those who decided were models, functions or scripts."""
    judges = [seat for seat in result.seats if seat.role in ("judge", "moderator")]
    seats = judges or voters(result)
    if not seats:
        return words
    several = not judges and len(seats) > 1
    kinds = [_KINDS.get(provider_of(seat.model), _KINDS["model"]) for seat in seats]
    kind = " and ".join(dict.fromkeys(f"{row}s" if several else row for row in kinds))
    role = seats[0].role if judges or several else "one"
    return fill(vocabulary.words("sitting")[role], words=words, kind=kind)


def by_rule(rule: DecisionRule) -> Lead:
    """Return that a person must decide, in the words of the rule that says so."""
    return left(HOW[rule])
