"""The pieces of a judged debate, for whoever brings an orchestration of their own.

A transcript, a debater, a judge, a synthesizer, and the formatter that the
judge's view follows: plain async callables over your own `complete(prompt)`,
sync or async, which returns a reply's text. Templates, quoting and the strict
reading of replies are those of the `judged` format: of members beyond the schema
nothing is read. Nothing here is recorded,
retried or counted: `hansard.run` does that.

Debater and judge can also sit in the seats of a `judged` debate, and a synthesizer in that
of any format: called with a `Request`, each asks its `complete` what the seat is asked, and
returns the reply's text, which is read as any other. What it was made with (stance, persona,
order) must be what the debate says.

A stance is given in words. Models are told of it by a label as well: `stance_1`,
`stance_2`, … by its place. One that is given as an id, such as the label that it
has in a record, is its own label.

>>> import asyncio
>>> def complete(prompt):  # stands for a model
...     if "You are the judge" in prompt:
...         return '{"verdict": "Wait.", "winner": "stance_2", "reasoning": "Risk."}'
...     return "The rollback is untested."
>>> async def debate(question, stances, rounds=2):
...     said, seats = Transcript(), [debater(complete, row, stances=stances) for row in stances]
...     for number in range(1, rounds + 1):
...         for stance, seat in zip(stances, seats):
...             text = await seat(question, said, round=number, max_rounds=rounds)
...             said.record(number, agent_name=stance.split()[0], stance=stance, text=text)
...     return await judge(complete, stances)(question, said)
>>> asyncio.run(debate("Do we ship?", ["Ship now", "Do not ship"]))["winner"]
'Do not ship'
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any, TypeVar, cast, overload

from pydantic import BaseModel
from typing_extensions import TypedDict  # pydantic reads only this one before Python 3.12

from hansard.errors import DataError, UsageError
from hansard.report.safe import one_line
from hansard.rules import replies
from hansard.rules.formats import judged
from hansard.rules.formats.judged import shuffle_key
from hansard.rules.looks import require
from hansard.rules.own import Piece
from hansard.rules.prompts import fill, quote
from hansard.rules.replies import VISIBLE, Schema
from hansard.rules.similarity import fold
from hansard.rules.spec_parts import NAME
from hansard.rules.state import Step
from hansard.rules.terms import JudgedTerms, Role
from hansard.runtime.inputs import packaged_templates
from hansard.runtime.models.base import Request
from hansard.runtime.models.callables import outcome
from hansard.runtime.output import checker, encoded

Complete = Callable[[str], str | Awaitable[str]]
F = TypeVar("F", bound=Callable[..., Any])


class Entry(TypedDict):
    """One argument: its round from 1, who made it, for which stance, in words, and what it says."""

    round: int
    agent_name: str
    stance: str
    text: str


class Verdict(TypedDict):
    """What a judge found; `winner` is a stance's words, null for a synthesis of several."""

    verdict: str
    winner: str | None
    reasoning: str


class Transcript(Sequence[Entry]):
    """An append-only list of entries; the first step of a debate clears it, each turn records one.

    >>> said = Transcript()
    >>> said.record(1, agent_name="ann", stance="Ship now!", text="It is tested.")
    {'round': 1, 'agent_name': 'ann', 'stance': 'Ship now!', 'text': 'It is tested.'}
    >>> said.clear()
    >>> len(said)
    0
    """

    def __init__(self) -> None:
        self._entries: list[Entry] = []

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> list[Entry]: ...
    def __getitem__(self, index: int | slice) -> Entry | list[Entry]:
        """Return the entry at a place, or those of a slice, as copies: what was said is said."""
        if isinstance(index, slice):
            return [row.copy() for row in self._entries[index]]
        return self._entries[index].copy()

    def __len__(self) -> int:
        """Return how many entries there are."""
        return len(self._entries)

    def record(self, round: int, agent_name: str, stance: str, text: str) -> Entry:  # noqa: A002
        """Add an argument and return its entry.

        Raises UsageError `transcript.entry` for a round below 1, a name that is
        no id, or a stance or a text that says nothing.
        """
        row = {"round": round, "agent_name": agent_name, "stance": stance, "text": text}
        entry = _entry(row)
        self._entries.append(entry)
        return entry.copy()

    def clear(self) -> None:
        """Forget every entry: what a debate begins with."""
        self._entries.clear()


def debater(
    complete: Complete, stance: str, persona: str | None = None, *, stances: Sequence[str] = ()
) -> Callable[..., Awaitable[str]]:
    """Return a debater that argues `stance` and does not concede.

    It is called with the question and the entries so far, and the keywords
    `round` (1) and `max_rounds` (2), and returns its argument. `stances` are all
    that are argued, in order, as every seat of a recorded debate is told; without
    them the debater is told of its own alone. Raises UsageError
    `transcript.stance` for a stance that is not among them, and for two that
    cannot be told apart; the debater raises DataError `reply.schema` for a reply that says
    nothing.

    >>> import asyncio
    >>> def complete(prompt):  # your model
    ...     return "It is tested."
    >>> asyncio.run(debater(complete, "Ship now")("Do we ship?", round=1))
    'It is tested.'
    """
    known = _declared(stances or (stance,))
    own = _labels(known).get(fold(stance))
    if own is None:
        said = f"{one_line(stance, 80)} is not one of the stances"
        raise UsageError("transcript.stance", said)

    async def argue(
        question: str | Request,
        entries: Iterable[Entry] = (),
        *,
        round: int = 1,  # noqa: A002 - the entry's own word
        max_rounds: int = 2,
    ) -> str:
        if isinstance(question, Request):
            return await _text(complete, question.prompt)
        said = format_transcript_for_judge(entries, stances=known, shuffle=False)
        values = {"max_rounds": str(max_rounds), "round": str(round), "stance": own}
        own_part = _block(f"persona of {own}", persona) if persona else ""
        prompt = _opening(question, known) + said + own_part + _filled("debater", **values)
        return str(_read(await _text(complete, prompt), _schema("debater", known)))

    return _seated(argue, Piece("debater", {"stance": stance, "persona": persona}))


def judge(
    complete: Complete,
    stances: Sequence[str],
    *,
    anonymize: bool = True,
    shuffle: bool = True,
    seed: int = 0,
) -> Callable[[str, Iterable[Entry]], Awaitable[Verdict]]:
    """Return a judge that reads all of a debate once and says which stance was argued best.

    It is shown the entries as `format_transcript_for_judge` writes them. Raises
    UsageError `transcript.stance`, or `api.value` for a number or a switch that is none; the
    judge raises UsageError `transcript.empty`, and DataError `reply.unreadable`,
    `reply.schema` or, for a winner that is none of the stances, `reply.unknown_option`.

    >>> import asyncio, json
    >>> def complete(prompt):  # your model
    ...     return json.dumps({"verdict": "Ship.", "winner": "stance_1", "reasoning": "Tested."})
    >>> said = [{"round": 1, "agent_name": "ann", "stance": "Ship now", "text": "It is tested."}]
    >>> asyncio.run(judge(complete, ["Ship now", "Wait"])("Do we ship?", said))["winner"]
    'Ship now'
    """
    require(bool, anonymize=anonymize, shuffle=shuffle)
    require(int, seed=seed)
    known = _declared(stances)
    labels = list(_labels(known).values())

    async def decide(question: str | Request, entries: Iterable[Entry] = ()) -> Verdict | str:
        if isinstance(question, Request):
            return await _text(complete, question.prompt)
        rows = _heard(entries)
        shown = format_transcript_for_judge(
            rows, stances=known, anonymize=anonymize, shuffle=shuffle, seed=seed
        )
        values = {"rounds": str(max(row["round"] for row in rows)), "stances": ", ".join(labels)}
        prompt = _opening(question, known) + shown + _filled("judge", **values)
        found: Verdict = _read(await _text(complete, prompt), _schema("judge", labels))
        won = found["winner"]
        return {**found, "winner": None if won is None else known[labels.index(won)]}

    told = {"anonymize_transcript": anonymize, "shuffle_for_judge": shuffle, "seed": seed}
    alone = cast(Callable[[str, Iterable[Entry]], Awaitable[Verdict]], decide)
    return _seated(alone, Piece("judge", debate={"stances": [*stances], **told}))


def synthesizer(
    complete: Complete, schema: Mapping[str, Any] | type[BaseModel]
) -> Callable[[str, Iterable[Entry], Verdict], Awaitable[Any]]:
    """Return a synthesizer that turns a debate and its verdict into what `schema` describes.

    `schema` is a JSON Schema or a pydantic model. Raises UsageError
    `spec.output_schema` for one that is none; the synthesizer raises UsageError
    `transcript.empty`, or `transcript.verdict` for what no judge gives, and
    DataError `reply.unreadable` or `reply.output_schema`.

    >>> import asyncio
    >>> def complete(prompt):  # your model
    ...     return '{"ship": true}'
    >>> schema = {"type": "object", "properties": {"ship": {"type": "boolean"}}}
    >>> said = [{"round": 1, "agent_name": "ann", "stance": "Ship now", "text": "It is tested."}]
    >>> verdict = {"verdict": "Ship.", "winner": "Ship now", "reasoning": "It is tested."}
    >>> asyncio.run(synthesizer(complete, schema)("Do we ship?", said, verdict))
    {'ship': True}
    """
    wanted = encoded(schema.model_json_schema() if isinstance(schema, type) else schema)
    fits = checker(wanted)

    async def write(
        question: str | Request, entries: Iterable[Entry] = (), verdict: Verdict | None = None
    ) -> Any:
        if isinstance(question, Request):
            return await _text(complete, question.prompt)
        rows = _heard(entries)
        known = _argued(rows)
        if verdict is None or replies.mismatch(verdict, _schema("judge", known)):
            said = "a verdict has verdict, winner (a stance that was argued, or None) and reasoning"
            raise UsageError("transcript.verdict", said)
        won = verdict["winner"]
        label = None if won is None else _labels(known)[fold(won)]
        found = {**verdict, "winner": label}
        judged_as = _block("verdict of the judge", json.dumps(found, ensure_ascii=False))
        values = {"decision": label or "synthesis", "rule": "judge_verdict"}
        prompt = (
            _opening(question, known)
            + format_transcript_for_judge(rows, shuffle=False)
            + judged_as
            + _filled("synthesizer", **values)
            + wanted.decode()
        )
        text = await _text(complete, prompt)
        value = _readable(text)
        if not fits(text):
            raise DataError("reply.output_schema", "the reply does not fit the output schema")
        return value

    return _seated(write, Piece("synthesizer", debate={"output_schema": json.loads(wanted)}))


def _seated(function: F, piece: Piece) -> F:
    function.piece = piece  # type: ignore[attr-defined]
    return function


def format_transcript_for_judge(
    entries: Iterable[Entry],
    *,
    stances: Sequence[str] = (),
    anonymize: bool = True,
    shuffle: bool = True,
    permutation: Mapping[int, Sequence[int]] | None = None,
    rng: Random | None = None,
    seed: int = 0,
    judge: str = "judge",
) -> str:
    """Write the entries as a judge is shown them: each under its stance, quoted line by line.

    The labels are those of `stances`; of what is not among them, in the order in
    which it was first argued.

    Rounds stay in order; only the order inside each is permuted, against a
    judge's liking for the first or the last argument. It is the one given
    (`permutation`: by round, the places counted from 0 in the order wanted), or
    drawn from `rng`, or that of the record: from `seed` and the id of the
    judge's seat, exactly what a built-in judge is shown (FORMAT.md §7). Names
    are left out unless `anonymize` is false. Pure, but for what it draws from
    `rng`.

    Raises UsageError `transcript.entry`, `transcript.stance` for two that cannot be
    told apart, or `transcript.order` for more than one
    order, for one beside `shuffle=False`, and for what is no permutation; `api.value` for a
    number or a switch that is none.

    A custom judge's Request holds this view already. One that keeps a
    transcript can look at it in other orders, and not trust a model that likes
    whatever stands first:

    >>> said = Transcript()
    >>> def argue(request):
    ...     text = f"{request.speaker} is right."
    ...     said.record(request.round, request.speaker, request.speaker, text)
    ...     return text
    >>> def first(view):  # stands for a model asked with this view
    ...     return view.split("[")[1].partition(",")[0]
    >>> def referee(request):
    ...     assert format_transcript_for_judge(said) in request.prompt
    ...     there, back = ({1: order} for order in ([0, 1], [1, 0]))
    ...     views = [format_transcript_for_judge(said, permutation=row) for row in (there, back)]
    ...     found = {first(view) for view in views}
    ...     winner = found.pop() if len(found) == 1 else None
    ...     return {"verdict": "Asked twice.", "winner": winner, "reasoning": "In both orders."}
    >>> spec = {
    ...     "format": "judged",
    ...     "question": "Do we ship?",
    ...     "max_rounds": 1,
    ...     "model": "custom:argue",
    ...     "debaters": [{"stance": "Ship now"}, {"stance": "Do not ship"}],
    ...     "judge": {"model": "custom:referee"},
    ... }
    >>> import hansard
    >>> hansard.run_sync(spec, models={"argue": argue, "referee": referee}).decision
    'synthesis'
    """
    require(bool, anonymize=anonymize, shuffle=shuffle)
    require(int, seed=seed)
    given = (permutation is not None) + (rng is not None)
    if given > int(shuffle):
        raise UsageError("transcript.order", "give one permutation or one rng, and only to shuffle")
    rows = _entries(entries)
    labels = _labels([*stances, *_argued(rows)])
    rounds = sorted({row["round"] for row in rows})
    if permutation is not None and (
        not isinstance(permutation, Mapping) or set(permutation) != set(rounds)
    ):
        raise UsageError("transcript.order", f"permutation must name the rounds {rounds}")
    if rows and shuffle and not given:
        step = Step.of(rounds[-1], "verdict", judge)
        rows.sort(key=lambda row: shuffle_key(str(seed), step.id, row["round"], row["agent_name"]))
    shown: list[Entry] = []
    for number in rounds:
        of_round = [row for row in rows if row["round"] == number]
        if permutation is not None:
            of_round = _permuted(of_round, permutation[number])
        elif rng is not None:
            rng.shuffle(of_round)
        shown += of_round
    return "".join(_shown(row, labels, named=not anonymize) for row in shown)


def _permuted(rows: list[Entry], order: Sequence[int]) -> list[Entry]:
    if not (isinstance(order, Sequence) and all(type(place) is int for place in order)):
        raise UsageError("transcript.order", "an order is a list of whole numbers")
    if sorted(order) != list(range(len(rows))):
        said = f"{one_line(str(list(order)), 80)} is no order of {len(rows)} entries"
        raise UsageError("transcript.order", said)
    return [rows[place] for place in order]


def _shown(row: Entry, labels: Mapping[str, str], *, named: bool) -> str:
    label, name = labels[fold(row["stance"])], row["agent_name"] if named else None
    title = judged.titled(label, row["round"], name)
    return _block(title, row["text"])


def _entries(entries: Iterable[Entry]) -> list[Entry]:
    return [_entry(row) for row in entries]


def _entry(row: Mapping[str, Any]) -> Entry:
    """Return a row as an entry: nothing in its title can be taken for more than a title."""
    number, name, stance, text = (row.get(key) for key in ("round", "agent_name", "stance", "text"))
    if type(number) is not int or number < 1:
        raise UsageError("transcript.entry", "an entry's round is a whole number from 1")
    if not (isinstance(name, str) and NAME(name)):
        raise UsageError("transcript.entry", "an agent_name has letters, digits and ._:/@+=- only")
    for what, words in (("stance", stance), ("text", text)):
        if not (isinstance(words, str) and VISIBLE(words)):
            raise UsageError("transcript.entry", f"an entry's {what} must say something")
    return {"round": number, "agent_name": name, "stance": str(stance), "text": str(text)}


def _labels(stances: Iterable[str]) -> dict[str, str]:
    """Return the labels of stances by their words."""
    rows = dict.fromkeys(map(fold, stances))
    labels = {row: row if NAME(row) else f"stance_{n}" for n, row in enumerate(rows, 1)}
    if len({*labels.values()}) < len(labels):
        raise UsageError("transcript.stance", "a stance is called as another is by its place")
    return labels


def _declared(stances: Sequence[str]) -> list[str]:
    if len(_labels(stances)) < len(stances):
        raise UsageError("transcript.stance", "two stances say the same")
    return [*stances]


def _argued(rows: Iterable[Entry]) -> list[str]:
    """Return the stances that were argued, in order."""
    return list({fold(row["stance"]): row["stance"] for row in rows}.values())


def _heard(entries: Iterable[Entry]) -> list[Entry]:
    rows = _entries(entries)
    if not rows:
        raise UsageError("transcript.empty", "nobody has said anything yet")
    return rows


def _opening(question: str, stances: Iterable[str]) -> str:
    """Write what stands before the transcript: protocol, question, stances."""
    blocks = [_block("question", question)]
    labels = _labels(stances)
    blocks += [_block(f"stance {labels[fold(words)]}", words) for words in stances]
    return _filled("protocol", stances=", ".join(labels.values())) + "\n" + "".join(blocks)


def _block(label: str, text: str) -> str:
    return _filled("block", label=label) + quote(text)


def _filled(role: str, **values: str) -> str:
    return fill(packaged_templates("judged")[role].decode(), values)


def _schema(role: Role, stances: Iterable[str]) -> Schema:
    terms: JudgedTerms = {
        "format": "judged",
        "stances": list(stances),
        "max_rounds": 1,
        "anonymize_transcript": True,
        "shuffle_for_judge": True,
    }
    return judged.schemas(terms)[role]


async def _text(complete: Complete, prompt: str) -> str:
    reply = await outcome(complete, prompt)
    if not isinstance(reply, str):
        raise UsageError("transcript.complete", "complete(prompt) must return the reply's text")
    return reply


def _read(text: str, schema: Schema) -> Any:
    """Return what a reply says, as of a function in a seat.

    Raises DataError `reply.*` where it is not what was asked for.
    """
    value = replies.named(_readable(text, schema), schema)
    found = replies.mismatch(value, schema)
    if found:
        member, keyword = found
        code = "reply.unknown_option" if keyword == "enum" else "reply.schema"
        raise DataError(code, f"{member or 'the reply'} is not what was asked for ({keyword})")
    return value


def _readable(text: str, schema: Schema | None = None) -> Any:
    try:
        return replies.value_of(text, schema) if schema else replies.read(text)
    except replies.Unreadable:
        raise DataError("reply.unreadable", "the reply is not the JSON asked for") from None
