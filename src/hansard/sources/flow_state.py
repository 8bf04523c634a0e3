"""flow-state-dev's `debate(config)`: assigned stances, one judge, and a step of your own flow.

The configuration is a mapping with the source's own keys, and its blocks are Python functions.

>>> def model(request):
...     if request.role == "judge":
...         return {"verdict": "Wait.", "winner": None, "reasoning": "Both have a point."}
...     return f"{request.stance.text} Because."
>>> pro_con = debate({
...     "name": "feature-debate",
...     "debaters": [
...         {"name": "advocate", "stance": "ship now"},
...         {"name": "skeptic", "stance": "do not ship now"},
...     ],
...     "model": model,
... })
>>> import asyncio
>>> raw = asyncio.run(pro_con({"question": "Should we ship feature X this week?"}))
>>> raw["verdict"], raw["transcript"][0]
({'verdict': 'Wait.', 'winner': None, 'reasoning': 'Both have a point.'}, \
{'round': 1, 'agentName': 'advocate', 'stance': 'ship now', 'text': 'ship now Because.'})
"""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from random import Random
from typing import TYPE_CHECKING, Any

from hansard import blocks
from hansard.api.debating import Debate
from hansard.errors import UsageError
from hansard.rules.own import Own, is_own, names_of

if TYPE_CHECKING:
    from hansard.report.formats import JudgedResult

Config = Mapping[str, Any]

# The keys that mean the same as a field of a spec.
_FIELDS = {
    "name": "name",
    "maxRounds": "max_rounds",
    "outputSchema": "output_schema",
    "instructions": "instructions",
    "model": "model",
    "context": "context",
    "anonymizeTranscript": "anonymize_transcript",
    "shuffleForJudge": "shuffle_for_judge",
    "collectionId": "collection_id",
}
_TYPES = {
    "judgeAgentType": "judge",
    "synthesizerAgentType": "synthesizer",
    "debaterAgentType": "debater",
}
_KEYS = (*_FIELDS, *_TYPES, "debaters", "judge", "synthesizer", "tools")
_OF_DEBATER = {"name": "id", "stance": "stance", "role": "persona", "block": "model"}


class Pattern(Debate):
    """A debate as a step: called with `{"question": …}`, it gives what the source's step gives.

    It is also a `hansard.Debate`: `await pattern.run(question)` gives the whole result.
    """

    async def __call__(self, given: Mapping[str, str]) -> Any:
        """Return the output that was asked for, else the raw shape.

        It is None, and a warning says why, where that output was not written.
        Raises UsageError `spec.missing_field` where no question is given, and what `Debate.run`
        raises.
        """
        if not isinstance(given, Mapping) or "question" not in given:
            raise UsageError("spec.missing_field", 'a debate is asked {"question": …}; add it')
        result: JudgedResult = await self.run(given["question"])  # type: ignore[assignment]
        if all(row.role != "synthesizer" for row in result.seats):
            return result.source()
        if result.output is None:
            warnings.warn(
                f"None is returned, as nothing was written: {result.sentence}", stacklevel=2
            )
        return result.output


def debate(config: Config | None = None, **given: Any) -> Pattern:
    """Return the debate that a configuration describes; nothing is asked before it is called.

    A debater's `block`, a `judge` and a `synthesizer` are functions of a Request; what is meant
    for built-in seats does not reach them. `tools` are functions, by name or in a list. `given`
    is what `hansard.Debate` takes besides (`store`, `evidence`, …). Raises UsageError
    `spec.unknown_field` for a key that the source does not have or that has no meaning here
    (`uses`), `spec.missing_field` without a configuration, and what `Debate` raises.

    >>> debate({"debaters": [{"stance": "Ship now"}, {"stance": "Wait"}], "model": "openai:m"})
    Debate(format='judged', seats=['stance_1', 'stance_2', 'judge'])
    >>> debate({"debaters": [], "judges": 2})
    Traceback (most recent call last):
    hansard.errors.UsageError: judges is no key that means anything here; use name, maxRounds, \
outputSchema, instructions, model, context, anonymizeTranscript, shuffleForJudge, collectionId, \
judgeAgentType, synthesizerAgentType, debaterAgentType, debaters, judge, synthesizer, tools; \
did you mean judge?
    """
    if config is None:
        said = 'the configuration is one mapping: debate({"name": …, "debaters": […], …})'
        raise UsageError("spec.missing_field", said)
    _check_keys(config, _KEYS)
    fields: dict[str, Any] = {
        field: config[key] for key, field in _FIELDS.items() if config.get(key) is not None
    }
    debaters = [_debater(row) for row in config.get("debaters", ())]
    seats = [*debaters]
    for role in ("judge", "synthesizer"):
        block = config.get(role)
        if is_own(block):
            block = {"model": block}
            seats.append(block)
        if block is not None:
            fields[role] = block
    types = {role: config[key] for key, role in _TYPES.items() if key in config}
    tools = config.get("tools") or {}
    return Pattern(
        format="judged",
        debaters=debaters,
        agent_types=types,
        models={**_blocks(seats), **given.pop("models", {})},
        tools=tools if isinstance(tools, Mapping) else {row.__name__: row for row in tools},
        **{**fields, **given},
    )


def _check_keys(config: Config, known: Iterable[str]) -> None:
    for key in config:
        if key not in known:
            close = get_close_matches(key, known, 1)
            meant = f"; did you mean {close[0]}?" if close else ""
            raise UsageError(
                "spec.unknown_field",
                f"{key} is no key that means anything here; use {', '.join(known)}{meant}",
            )


def _debater(row: Config) -> dict[str, Any]:
    _check_keys(row, _OF_DEBATER)
    return {field: row[key] for key, field in _OF_DEBATER.items() if row.get(key) is not None}


def _blocks(seats: Iterable[dict[str, Any]]) -> dict[str, Own]:
    """Put a custom seat in place of each function, and return the functions by name."""
    own = [row for row in seats if is_own(row.get("model"))]
    functions = [row["model"] for row in own]
    names = [name.partition(":")[2] for name in names_of(functions)]
    for row, name in zip(own, names, strict=True):
        row["model"] = f"custom:{name}"
    return dict(zip(names, functions, strict=True))


# What else the source exports: its pieces, for an orchestration of your own.


def create_debate_transcript() -> blocks.Transcript:
    """Return an empty transcript. Never raises.

    >>> len(create_debate_transcript())
    0
    """
    return blocks.Transcript()


def create_debater(opts: Config) -> Callable[..., Awaitable[str]]:
    """Return the default debater, over your own `complete(prompt)`: `{model, stance, role}`.

    `stances` are all that are argued, as in `blocks.debater`, which says how it is called and
    what it raises.

    >>> import asyncio
    >>> argue = create_debater({"model": lambda prompt: "It is tested.", "stance": "Ship now"})
    >>> asyncio.run(argue("Do we ship?"))
    'It is tested.'
    """
    stances = opts.get("stances", ())
    return blocks.debater(opts["model"], opts["stance"], opts.get("role"), stances=stances)


def create_debate_judge(
    opts: Config,
) -> Callable[[str, Iterable[blocks.Entry]], Awaitable[blocks.Verdict]]:
    """Return the default judge: `{model, stances, anonymizeTranscript, shuffleForJudge, seed}`.

    Raises what `blocks.judge` raises.

    >>> import asyncio
    >>> reply = '{"verdict": "Both.", "winner": null, "reasoning": "Equal."}'
    >>> decide = create_debate_judge({"model": lambda prompt: reply, "stances": ["Ship", "Wait"]})
    >>> said = [{"round": 1, "agent_name": "ann", "stance": "Ship", "text": "It is tested."}]
    >>> asyncio.run(decide("Do we ship?", said))["verdict"]
    'Both.'
    """
    return blocks.judge(opts["model"], opts["stances"], **_shown(opts), seed=opts.get("seed", 0))


create_judge = create_debate_judge


def create_debate_synthesize(opts: Config) -> Callable[..., Awaitable[Any]]:
    """Return the default synthesizer, `{model, outputSchema}`.

    Raises what `blocks.synthesizer` raises, whose calls it takes.

    >>> import asyncio
    >>> schema = {"type": "object", "properties": {"ship": {"type": "boolean"}}}
    >>> opts = {"model": lambda prompt: '{"ship": true}', "outputSchema": schema}
    >>> said = [{"round": 1, "agent_name": "ann", "stance": "Ship", "text": "It is tested."}]
    >>> verdict = {"verdict": "Ship.", "winner": "Ship", "reasoning": "It is tested."}
    >>> asyncio.run(create_debate_synthesize(opts)("Do we ship?", said, verdict))
    {'ship': True}
    """
    return blocks.synthesizer(opts["model"], opts["outputSchema"])


def create_debate_init_transcript(opts: Mapping[str, blocks.Transcript]) -> Callable[[], None]:
    """Return the step that clears `{transcript}` before a debate. Never raises.

    >>> said = create_debate_transcript()
    >>> _ = said.record(1, "ann", "Ship", "It is tested.")
    >>> create_debate_init_transcript({"transcript": said})()
    >>> len(said)
    0
    """
    return opts["transcript"].clear


def create_debate_record_argument(
    opts: Mapping[str, Any],
) -> Callable[[int, str], blocks.Entry]:
    """Return the step that records what a debater said: `{transcript, name, stance}`.

    It is called with the round, from 1, and the text, and raises what `Transcript.record` raises.

    >>> said = create_debate_transcript()
    >>> opts = {"transcript": said, "name": "ann", "stance": "Ship"}
    >>> create_debate_record_argument(opts)(1, "It is tested.")["text"]
    'It is tested.'
    """

    def record(number: int, text: str) -> blocks.Entry:
        said: blocks.Transcript = opts["transcript"]
        return said.record(number, agent_name=opts["name"], stance=opts["stance"], text=text)

    return record


def format_debate_transcript_for_judge(
    entries: Sequence[Mapping[str, Any]], opts: Config | None = None
) -> str:
    """Write entries, such as those of a raw result, as a judge is shown them.

    `opts` are `anonymizeTranscript`, `shuffleForJudge`, and a `random.Random` as `rng`. Pure but
    for what it draws. Raises UsageError `transcript.*` as `blocks.format_transcript_for_judge`.

    >>> entries = [{"round": 1, "agentName": "ann", "stance": "for", "text": "It is tested."}]
    >>> print(format_debate_transcript_for_judge(entries, {"rng": Random(1)}).strip())
    [for, round 1]
    | It is tested.
    """
    given = opts or {}
    rows = [{**row, "agent_name": row.get("agentName", row.get("agent_name"))} for row in entries]
    rng: Random | None = given.get("rng")
    return blocks.format_transcript_for_judge(rows, **_shown(given), rng=rng)  # type: ignore[arg-type]


def _shown(opts: Config) -> dict[str, bool]:
    return {
        "anonymize": opts.get("anonymizeTranscript", True),
        "shuffle": opts.get("shuffleForJudge", True),
    }
