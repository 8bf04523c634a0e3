"""Any debate, however its calls end: it closes, counts soundly, and replays (RULES.md §6, §14)."""

import json
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import altering
from derived import alterations, altered, value_of
from exporting import both, exported
from hansard.rules.fields import SENT_BACK
from hansard.rules.gate import is_low
from hansard.rules.replay import Difference, NotDue, Replay
from hansard.rules.similarity import normalised, words
from hansard.runtime.models.base import Wire
from hansard.verify.verifier import verify
from support import DEFAULTS, PRICE, Debate, Die, Fail, Reply, Setup, fold, own, say, vote, walk

GONE = {}
MANY = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
NAMES = ("ann", "b.o.b", "c:d", "r1.proposal.eve")
OPTIONS = ("release", "revise", "escalate")
STANCES = DEFAULTS["judged"]["debaters"]
NAMED = (STANCES[1]["stance"], "somebody")  # winners that are no labels
SHAPE = {"type": "object", "properties": {"answer": {"enum": ["so", "we should"]}}}
# What replies are made of: names of documents, quotes that hold and that do not, likely answers.
WORDS = ("so", "early", "late", "Text.", "Text. No text.", "we should", "we should not", "no\nway")
USES = [Reply("", tools=[("lookup", "{}")] * n) for n in (1, 2)]
ODD = (
    Reply(""),
    Reply("I agree with everybody."),
    Reply('{"vote":"release"}'),
    Reply('{"stance":"s","rationale":"r","vote":"release","vote":"revise"}'),
    Reply("[" * 40 + "]" * 40),
    vote("undeclared"),
    *(
        vote("release", finish=finish)
        for finish in ("length", "refusal", "content_filter", "tool_calls", "other")
    ),
    *map(Fail, ("rate_limited", "timeout", "server_error", "client_error", "unreachable")),
    *map(Fail, ("crashed", "no_reply")),
    *[Fail("client_error", wire=Wire(status)) for status in (400, 401, 404)],
)


def _consensus(draw):
    debaters = NAMES[: draw(st.integers(2, 4))]
    rule = draw(st.sampled_from(["threshold", "majority", "unanimity"]))
    return {
        "debaters": debaters,
        "options": OPTIONS[: draw(st.integers(2, 3))],
        "rule": rule,
        "threshold": draw(st.integers(1, len(debaters))),
        "max_rounds": draw(st.integers(1, 2)),
        "personas": {"ann": "You doubt."} if draw(st.booleans()) else {},
    }


def _judged(draw):
    return {
        "debaters": STANCES[: draw(st.integers(2, 3))],
        "max_rounds": draw(st.integers(1, 2)),
        "anonymize_transcript": draw(st.booleans()),
        "shuffle_for_judge": draw(st.booleans()),
        "seed": draw(st.integers(0, 3)),
        "judge": draw(st.sampled_from([{}, {"model": "custom:board"}, {"persona": "Strict."}])),
    }


def _moderated(draw):
    positions = STANCES[: draw(st.sampled_from([0, 0, 2, 3]))]
    critique = draw(st.booleans()) or not positions
    return {
        "positions": positions,
        "critique": critique,
        "max_rounds": draw(st.integers(1, 2)),
        "require_critic_retry_below": draw(st.integers(1, 10)),
        "require_cited_critique": critique and draw(st.booleans()),
        "neutrality_check": draw(st.booleans()),
    }


def _panel(draw):
    judge = draw(st.sampled_from([None, {}]))
    options = OPTIONS[: draw(st.sampled_from([0, 0, 2]))]
    how = ["synthesis", "pick"] if judge is not None else ["majority", "similar"]
    return {
        "debaters": NAMES[: draw(st.integers(2, 4))],
        "rounds": draw(st.integers(1, 2)),
        "judge": judge,
        "options": [option for option in options if option != "escalate"],
        "convergence_check": draw(st.booleans()),
        "convergence_similarity": draw(st.sampled_from(["0", "0.5", "1"])),
        "resolution": draw(st.sampled_from(how)),
        "fallback": draw(st.sampled_from(["escalate", "similar"])),
    }


def _baseline(draw):
    return {
        "draws": draw(st.integers(1, 5)),
        "options": draw(st.sampled_from([[], ["release", "revise"], list(OPTIONS)])),
    }


DRAWN = {
    "consensus": _consensus,
    "judged": _judged,
    "moderated": _moderated,
    "panel": _panel,
    "baseline": _baseline,
}
GATES = (
    None,
    None,
    {},
    {"answer": "Perhaps so.", "rule": "any", "confidence": "0.9"},
    {"answer": "So it is.", "downside": "2.51", "threshold": "0.05"},
    {"answer": "Perhaps so.", "confidence": "0.1", "rule": "all"},
)
LIMITS = st.one_of(
    st.builds(lambda n: {"calls": n}, st.integers(1, 12)),
    st.builds(lambda n: {"tokens": 1000 * n}, st.integers(1, 30)),
    st.builds(lambda n: {"seconds": n / 1000}, st.integers(1, 60)),
)


@st.composite
def setups(draw, policies=True, formats=tuple(DRAWN)):
    format_ = draw(st.sampled_from(formats))
    fields = DRAWN[format_](draw)
    last = fields.get("rounds", fields.get("max_rounds", 1))
    evidence = [("late", "Text.", last), ("early", "Text.", 1)]
    templates = own(format_)
    approved = [None, *[templates] * 8, templates | {"block": "0" * 64}]
    fields |= {
        "attempts": draw(st.integers(1, 3)),
        "model": draw(st.sampled_from(["python:test", "scripted:x.yaml"])),
        "evidence": evidence[: draw(st.integers(0, 2))],
        "approved": draw(st.sampled_from(approved)) if policies else None,
        "tools": draw(st.sampled_from([[], ["lookup"]])),
        "tool_rounds": draw(st.integers(1, 2)),
        "limits": {"cost_usd": None} | ({} if draw(st.integers(0, 4)) else draw(LIMITS)),
        "context": draw(st.sampled_from([None, "A small team."])),
        "instructions": draw(st.sampled_from([None, "Be brief."])),
        "output_schema": draw(st.sampled_from([None, None, SHAPE])),
        "gate": draw(st.sampled_from(GATES)),
    }
    if fields["model"] == "python:test" and draw(st.booleans()):
        fields["prices"] = (PRICE,)
    return Setup(format_, **fields)


def filled(draw, schema, pool):
    """Any value that fits a reply schema, made from a pool of words and low numbers."""
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    if schema["type"] == "object":
        keys = schema.get("required", schema["properties"])
        return {key: filled(draw, schema["properties"][key], pool) for key in keys}
    if schema["type"] == "array":
        least = schema["minItems"]
        names = schema["items"].get("enum")
        if names and draw(st.integers(0, 9)):
            return draw(st.permutations(names))
        most = min(least + 2, schema["maxItems"])
        return [filled(draw, schema["items"], pool) for _ in range(draw(st.integers(least, most)))]
    if schema["type"] == "integer":
        return draw(st.integers(schema["minimum"], min(schema["maximum"], 10)))
    return draw(st.booleans() if schema["type"] == "boolean" else st.sampled_from(pool))


def script(draw, setup):
    """How each call ends, drawn when it is asked: mostly with a turn.

    Some seats never have one, the others have one at last.
    """
    pool = draw(st.sampled_from([WORDS, WORDS, WORDS[5:7], WORDS[:1]]))
    mute = draw(st.sets(st.sampled_from(setup.seats))) if draw(st.booleans()) else ()
    gone = draw(st.sampled_from([Fail("no_reply"), Fail("unreachable"), *ODD[-3:-1]]))

    def valid(call):
        value = filled(draw, call.schema, pool)
        if setup.spec.format == "judged" and call.step.phase == "verdict":
            value["winner"] = draw(st.sampled_from([value["winner"], *NAMED]))
        text = value if isinstance(value, str) else json.dumps(value)
        return Reply(text, tokens=(1000, 400, 30))

    def ends(call):
        if call.step.speaker in mute:
            return gone
        if call.attempt > 6:
            return say()(call)
        if draw(st.integers(0, 3)):
            return valid(call)
        return draw(st.sampled_from([*USES * 5, *[Die()] * 5, *ODD]))

    return ends


@st.composite
def debates(draw, policies=True, formats=tuple(DRAWN)):
    setup = draw(setups(policies, formats))
    pick = lambda open_: open_[draw(st.integers(0, len(open_) - 1))]  # noqa: E731
    return Debate(setup, script(draw, setup), pick, tick=draw(st.sampled_from([1, 1000]))).run()


FAILED = ("nobody_heard", "seats_lost", "judge_failed", "moderator_failed", "prompt_refused")
TURNS = ("turn.recorded", "verdict.recorded", "synthesis.recorded", "turn.forfeited")


def most_turns(setup):
    """The caps of each format, from its description (RULES.md §1)."""
    spec, seats = setup.spec, setup.spec.table()
    many = len(setup.speakers)
    synthesis = seats[-1].role == "synthesizer"
    if spec.format == "consensus":
        return 4 * many * spec.max_rounds + synthesis
    if spec.format == "judged":
        return many * spec.max_rounds + 1 + synthesis
    if spec.format == "baseline":
        return spec.draws + synthesis
    if spec.format == "panel":
        return many * (spec.rounds + 1) + (spec.judge is not None) + synthesis
    each = max(1, len(spec.positions)) * (3 if spec.critique else 1) + 1
    return 1 + each * spec.max_rounds + spec.neutrality_check + synthesis


@MANY
@given(debates())
def test_it_closes_within_its_caps_and_every_call_ends_once(debate):
    record, spec = debate.record, debate.setup.spec
    assert record.events[-1]["type"] == "debate.closed"
    turns = record.all(*TURNS)
    assert len(turns) <= most_turns(debate.setup)
    assert len({row["step"] for row in turns}) == len(turns)
    failed, answered = record.all("call.failed"), record.all("call.answered")
    calls = [row["call"] for row in record.all("call.started")]
    assert len(set(calls)) == len(calls)
    assert Counter(row["call"] for row in answered + failed) == Counter(calls)
    free = [row["call"] for row in failed if row["error"] == "abandoned"]
    free += [row["call"] for row in record.all("turn.rejected") if row["code"] in SENT_BACK]
    free += {row["call"] for row in record.all("tool.called")}
    tried = Counter(call.rpartition(":")[0] for call in calls if call not in free)
    assert max(tried.values(), default=0) <= spec.attempts
    called = Counter((row["call"], row["number"]) for row in record.all("tool.called"))
    back = Counter((row["call"], row["number"]) for row in record.all("tool.returned"))
    assert called == back
    assert max(called.values(), default=1) == 1
    limits = debate.state.spec["limits"]
    total = debate.state.total()
    assert limits["calls"] is None or len(calls) <= limits["calls"]
    if limits["elapsed_ms"]:
        first = record.events[0]["at"]
        begun = [row["at"] for row in record.events if row["type"] == "call.started"]
        assert all(_milliseconds(first, at) < limits["elapsed_ms"] for at in begun)
    assert total.calls == len(calls)


@MANY
@given(debates())
def test_nobody_heard_is_no_decision_and_a_failed_debate_has_none(debate):
    record = debate.record
    decided, closed = record.all("decision.reached"), record.all("debate.closed")[0]
    assert (closed["outcome"] == "complete") is bool(decided)
    spoke = [row for row in record.all("turn.recorded") if row["phase"] != "framing"]
    assert spoke or not decided
    assert (closed["outcome"] == "failed") is (closed["reason"] in FAILED)


def _milliseconds(begin, end):
    """Between two times of one minute."""
    return int((float(end[17:26]) - float(begin[17:26])) * 1000 + 1e-6)


# Sound counting: what is found is found again, from the texts alone


def heard(debate, phase, round_=None):
    """What the turns of a phase say, by speaker; the last round where it is None."""
    replies = {row["call"]: row["reply"]["sha256"] for row in debate.record.all("call.answered")}
    rows = debate.record.all("turn.recorded", "verdict.recorded")
    rows = [row for row in rows if row["phase"].partition("-")[0] == phase]
    round_ = max((row["round"] for row in rows), default=0) if round_ is None else round_
    texts = debate.record.texts
    return {
        (row["phase"], row["speaker"]): texts[replies[row["call"]]]
        for row in rows
        if row["round"] == round_
    }


def _sound_consensus(debate, decision):
    held = dict.fromkeys(debate.setup.speakers)
    for row in debate.record.all("turn.recorded", "turn.forfeited"):
        held[row["speaker"]] = row.get("vote")
    counts = Counter(option for option in held.values() if option)
    spec = debate.setup.spec
    assert set(counts) <= set(spec.options)
    winners = [option for option, n in counts.items() if n >= spec.needed]
    if decision["rule"] == "max_rounds_exhausted":
        assert len(winners) != 1
        assert decision["decision"] == "escalate"
    else:
        assert winners == [decision["decision"]]
    assert decision["votes"] == counts[decision["decision"]]


def _sound_judged(debate, decision):
    spoke = {row["speaker"] for row in debate.record.all("turn.recorded")}
    verdicts = heard(debate, "verdict")
    if decision["rule"] == "too_few_heard":
        assert len(spoke) < 2 or debate.state.verdict["winner"] not in spoke
        return
    assert len(spoke) >= 2
    ((_, text),) = verdicts.items()
    seats = {row["label"]: row["id"] for row in STANCES}
    named = json.loads(text)["winner"]
    custom = debate.setup.spec.judge.model == "custom:board"
    words = {row["stance"]: row["label"] for row in debate.setup.spec.model_dump()["debaters"]}
    label = words.get(named) if custom and named not in seats else named
    if named is None:
        assert (decision["decision"], decision["rule"]) == ("synthesis", "judge_verdict")
    elif label not in seats:
        assert (decision["decision"], decision["rule"]) == ("undeclared", "judge_undeclared")
    else:
        assert (decision["decision"], decision["rule"]) == (label, "judge_verdict")
        assert seats[label] in spoke


def _sound_moderated(debate, decision):
    spec, record = debate.setup.spec, debate.record
    first = {row["speaker"] for row in record.all("turn.recorded") if row["phase"] == "proposition"}
    if decision["rule"] in ("too_few_heard", "unchallenged"):
        return
    verdict = [row for row in record.all("verdict.recorded") if row["phase"] == "moderation"][-1]
    (text,) = heard(debate, "moderation", verdict["round"]).values()
    said, attack, proposer = json.loads(text), "critique", "proposer"
    if spec.positions:
        upheld = said["ranking"][0]
        number = [row["label"] for row in STANCES].index(upheld)
        attack, proposer = f"critique-{number + 1}", STANCES[number]["id"]
    else:
        upheld = "upheld" if said["upholds_proposition"] else "not_upheld"
    assert proposer in first
    turns = record.all("turn.recorded")
    critiques = [row for row in turns if row["phase"] == attack]
    assert not spec.critique or max(map(_standing, critiques)) > 0
    cases = [row for row in turns if (row["phase"], row["speaker"]) == ("proposition", proposer)]
    supported = max(map(_standing, cases)) > 0 or upheld == "not_upheld"
    assert (decision["rule"] != "unsupported") is supported
    assert decision["decision"] == (upheld if supported else "escalate")


def _standing(turn):
    return turn["case"]["arguments"] - len(turn["case"]["struck"])


def _sound_panel(debate, decision):
    spec = debate.setup.spec
    last = decision["rounds_run"]
    drafts = {seat: text for (_, seat), text in heard(debate, "draft", last).items()}
    texts = {
        seat: json.loads(text)["answer"] if spec.options else text for seat, text in drafts.items()
    }
    if decision["rule"] == "too_few_heard":
        assert len(drafts) < 2 or debate.state.verdict["winner"] is not None
        return
    assert len(drafts) >= 2
    if decision["rule"] in ("majority_vote", "no_majority"):
        answers = {seat: normalised(text) for seat, text in texts.items()}
        if spec.options:
            answers = {seat: json.loads(text)["choice"] for seat, text in drafts.items()}
        (top, votes), *_ = Counter(answers.values()).most_common()
        assert (votes > len(debate.setup.speakers) / 2) == (decision["rule"] == "majority_vote")
        named = decision["decision"]
        assert decision["rule"] == "no_majority" or top == (
            named if spec.options else answers[named]
        )
    elif decision["rule"] == "most_similar":
        assert decision["decision"] in drafts
    elif decision["rule"] == "judge_pick":
        (text,) = heard(debate, "verdict").values()
        assert json.loads(text)["winner"] == decision["decision"]
    else:
        assert decision["rule"] == "judge_synthesis"
        assert heard(debate, "verdict")
    if debate.state.closed["reason"] == "converged":
        assert len(drafts) >= 2
        if spec.options:
            assert len({json.loads(text)["choice"] for text in drafts.values()}) == 1
        else:
            assert (
                len({"not" in words(text) or "no" in words(text) for text in texts.values()}) == 1
            )


def _sound_baseline(debate, decision):
    calls = [row for row in debate.record.all("call.started") if row["role"] == "debater"]
    first = [row["prompt"] for row in calls if row["attempt"] == 1]
    assert len(first) == debate.setup.spec.draws
    assert len(set(first)) == 1  # none rests on another's answer
    if not debate.setup.spec.options:
        assert (decision["decision"], decision["rule"]) == ("debater", "first_draw")
        return
    texts = heard(debate, "draw").values()
    ranked = Counter(json.loads(text)["choice"] for text in texts).most_common()
    alone = len(ranked) == 1 or ranked[0][1] > ranked[1][1]
    expected = (ranked[0][0], "plurality_vote") if alone else ("escalate", "no_plurality")
    assert (decision["decision"], decision["rule"]) == expected


SOUND = {
    "baseline": _sound_baseline,
    "consensus": _sound_consensus,
    "judged": _sound_judged,
    "moderated": _sound_moderated,
    "panel": _sound_panel,
}


@pytest.mark.parametrize("format_", DRAWN)
@MANY
@given(st.data())
def test_nothing_is_decided_without_the_valid_replies_that_its_rule_needs(format_, data):
    debate = data.draw(debates(policies=False, formats=(format_,)))
    decision = debate.state.decision
    if decision is None:
        assert debate.state.closed["outcome"] in ("truncated", "failed")
        return
    SOUND[debate.setup.spec.format](debate, decision)
    assert bool(decision["review"]) is (decision["decision"] in ("escalate", "undeclared"))
    assert decision["rounds_run"] <= debate.setup.spec.last_round


# Replay


@MANY
@given(debates())
def test_it_replays_without_a_difference_event_by_event(debate):
    with_texts, without = (
        Replay(text_of, debate.setup.approved) for text_of in (debate.record.texts.get, GONE.get)
    )
    for number, event in enumerate(debate.record.events, 1):
        assert with_texts.step(event) == without.step(event) == []
        if number % 7 == 0:
            assert with_texts.state == without.state == fold(debate.record.events[:number])
    assert with_texts.state == without.state == debate.state
    assert (with_texts.unread, with_texts.uncited, with_texts.uncompared) == ([], [], 0)
    gate = debate.state.spec["gate"]
    unread = gate and gate["answer"] and not is_low(gate["confidence_ppm"])
    assert (with_texts.ungated, without.ungated) == (False, bool(unread))
    read = debate.record.all("turn.recorded", "verdict.recorded")
    assert without.unread == [row["step"] for row in read]


@MANY
@given(debates(), st.data())
def test_texts_that_are_gone_leave_the_state_as_it_is(debate, data):
    texts = dict(debate.record.texts)
    for name in data.draw(st.sets(st.sampled_from(sorted(texts)))):
        del texts[name]
    replay = Replay(texts.get, debate.setup.approved)
    assert [row for event in debate.record.events for row in replay.step(event)] == []
    assert replay.state == debate.state


@pytest.mark.slow
@MANY
@given(debates(), st.data())
def test_from_every_prefix_another_process_can_end_it(debate, data):
    events = debate.record.events
    opening = 1 + len(debate.setup.seats) + len(debate.setup.spec.evidence)
    length = data.draw(st.integers(opening, len(events) - 1))
    while events[length]["type"] in ("turn.rejected", "tool.called"):
        length += 1  # what follows from a reply is stored together with it
    assume(events[length - 1]["type"] != "debate.closed")
    taken = debate.cut(length, script(data.draw, debate.setup)).run()
    assert taken.record.lines[:length] == debate.record.lines[:length]
    assert walk(taken.record.events, taken.record.texts.get, taken.setup.approved) == []


@MANY
@given(debates(), st.data())
def test_any_one_derived_field_that_is_altered_is_the_one_reported(debate, data):
    events = debate.record.events
    place, field = data.draw(st.sampled_from(list(alterations(events))))
    event = altered(events[place], field)
    found = walk(
        [*events[:place], event, *events[place + 1 :]],
        debate.record.texts.get,
        debate.setup.approved,
    )
    was, is_now = value_of(events[place], field), value_of(event, field)
    shown = field.rpartition(".")[2]
    assert found == [(place + 1, Difference(shown, expected=was, found=is_now))]


@MANY
@given(debates(), st.data())
def test_no_record_makes_the_walk_stumble(debate, data):
    """Events left out, doubled, moved, or given another event's values: NotDue at the worst."""
    events, texts = list(debate.record.events), dict(debate.record.texts)
    for name in data.draw(st.sets(st.sampled_from(sorted(texts)))):
        del texts[name]
    place = st.integers(0, len(events) - 1)
    for one, other in data.draw(st.lists(st.tuples(place, place), min_size=1, max_size=4)):
        event, donor = events[one], events[other]
        alike = event["type"] == donor["type"]  # else a value may not fit the other's form
        common = sorted(
            key
            for key in event["data"].keys() & donor["data"].keys()
            if alike or type(event["data"][key]) is type(donor["data"][key])
        )
        field = data.draw(st.sampled_from(["move", "double", *common]))
        if field == "move":
            events[one], events[other] = donor, event
        elif field == "double":
            events[one] = donor
        else:
            events[one] = {**event, "data": {**event["data"], field: donor["data"][field]}}
    try:
        walk(events, texts.get, debate.setup.approved)
    except NotDue as error:
        assert error.due  # noqa: PT017 - either outcome is right for some record


VOTES = st.sampled_from([*OPTIONS, None])


@MANY
@given(st.lists(st.tuples(VOTES, VOTES, VOTES), min_size=8, max_size=8), st.permutations(NAMES[:3]))
def test_the_order_of_debaters_does_not_matter_for_who_wins(votes, order):
    phases = ("proposal", "critique", "revision", "consensus")

    def ends(call):
        row = votes[(call.step.round - 1) * 4 + phases.index(call.step.phase)]
        option = row[NAMES.index(call.step.speaker)]
        return vote(option) if option else Fail("client_error")

    one, other = (
        Debate(Setup(debaters=debaters), ends).run().state for debaters in (NAMES[:3], order)
    )
    assert one.closed["outcome"] == other.closed["outcome"]
    if one.closed != other.closed:  # too few seats may be left before or at the end of a phase
        assert {one.closed["reason"], other.closed["reason"]} == {"nobody_heard", "seats_lost"}
    decisions = [  # the reviewer is a blob under a salt of its own
        {**state.decision, "review": None} if state.decision else None for state in (one, other)
    ]
    assert decisions[0] == decisions[1]


# Two verifiers


@settings(MANY, max_examples=40)
@given(debates(policies=False), st.data())
def test_two_verifiers_agree_on_any_record_whole_altered_or_with_texts_withheld(debate, data):
    bundle, events = debate.bundle(), debate.record.events
    place, field = data.draw(st.sampled_from([(-1, ""), *alterations(events)]))
    if place >= 0:
        bundle = altering.chained_anew(bundle, place + 1, altered(events[place], field))
    gone = data.draw(st.sets(st.sampled_from(sorted(bundle.blobs)), max_size=2))
    bundle = replace(bundle, blobs={k: v for k, v in bundle.blobs.items() if k not in gone})
    assert verify(bundle).ok is (place < 0 and not gone)
    both(exported(replace(bundle, head=None)))
