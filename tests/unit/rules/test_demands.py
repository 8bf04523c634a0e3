"""What a policy demands of opening, seats and served models, at each bound (FORMAT.md §15)."""

import pytest

from gating import gate
from hansard.record import keys, note, policy
from hansard.rules import demands
from hansard.rules.demands import family

SIGNER = note.Signer("house/approval", keys.generate())
A, B, C = (letter * 64 for letter in "abc")


def read(*lines):
    text = "hansard-policy/v1\n" + "".join(f"{line}\n" for line in sorted(lines))
    return policy.parse(note.sign(text.encode(), SIGNER))


def opening(**changes):
    limits = dict.fromkeys(("calls", "tokens", "cost_micro_usd", "elapsed_ms"))
    said = dict.fromkeys(
        ("task_type", "retention", "requester", "owner", "instructions", "context", "gate")
    )
    terms = {"format": "judged", "max_rounds": 2}
    opened = {"terms": terms, "limits": limits, "schemas": [], "tools": [], "documents": 0, **said}
    return opened | changes


def seat(role="judge", model="openai:gpt-4o", **changes):
    return {
        "id": role,
        "role": role,
        "model": model,
        "persona": None,
        "instructions": None,
        "parameters": {"base_url": None},
        **changes,
    }


def breaches(found):
    return [(row.code, list(row.expected), row.found, row.gone) for row in found]


def limited(name, number):
    return opening(limits=opening()["limits"] | {name: number})


@pytest.mark.parametrize(
    ("line", "kept", "broken", "found"),
    [
        ("* max_calls 9", limited("calls", 9), limited("calls", 10), 10),
        ("* max_calls 9", limited("calls", 1), opening(), None),
        ("* max_tokens 9", limited("tokens", 9), limited("tokens", 10), 10),
        ("* max_cost_micro_usd 9", limited("cost_micro_usd", 9), limited("cost_micro_usd", 10), 10),
        ("* max_seconds 9", limited("elapsed_ms", 9000), limited("elapsed_ms", 9001), 10),
        ("* max_seconds 9", limited("elapsed_ms", 1), opening(), None),
        ("* max_rounds 2", opening(), opening(terms={"format": "judged", "max_rounds": 3}), 3),
        ("* max_rounds 1", opening(terms={"format": "baseline"}), opening(), 2),
        (
            "* min_challenge_strength 6",
            opening(terms={"format": "moderated", "min_challenge_strength": 6}),
            opening(terms={"format": "moderated", "min_challenge_strength": 5}),
            5,
        ),
        (
            "* cited_critique required",
            opening(terms={"format": "moderated", "require_cited_critique": True}),
            opening(terms={"format": "moderated", "require_cited_critique": False}),
            None,
        ),
        ("* evidence required", opening(documents=1), opening(), 0),
        ("* gate_factor 50", opening(gate=gate()), opening(gate=gate(factor=49)), 49),
        ("* gate_factor 50", opening(), opening(gate=gate(factor=51)), 51),
        ("* gate_rule any", opening(gate=gate(rule="any")), opening(gate=gate()), "downside"),
        ("judged gate_rule all", opening(), opening(gate=gate(rule="any")), "any"),
        ("* require gate", opening(gate=gate()), opening(), None),
        ("* require owner", opening(owner={"name": {"sha256": A}, "key": None}), opening(), None),
        (
            "* task_type contract",
            opening(task_type="contract"),
            opening(task_type="other"),
            "other",
        ),
        ("* task_type contract", opening(task_type="contract"), opening(), None),
        ("* retention long:9", opening(retention="long"), opening(retention="long:9"), "long:9"),
        (
            f"judged.judge schema {A}",
            opening(schemas=[{"role": "judge", "sha256": A}, {"role": "debater", "sha256": B}]),
            opening(schemas=[{"role": "judge", "sha256": B}]),
            B,
        ),
        (
            f"* tool {A}",
            opening(tools=[{"tool": "t", "sha256": A}]),
            opening(tools=[{"tool": "t", "sha256": B}]),
            B,
        ),
        ("* tool none", opening(), opening(tools=[{"tool": "t", "sha256": A}]), A),
    ],
)
def test_an_opening_at_the_bound_and_past_it(line, kept, broken, found):
    term, value = line.split()[1:]
    assert breaches(demands.of_opening(read(line), kept)) == []
    number = 10 if term in ("schema", "tool") else 18
    expected = [(f"{number}.{term}", [value], found, False)]
    assert breaches(demands.of_opening(read(line), broken)) == expected


def test_what_a_format_does_not_have_is_not_asked_of_it():
    for line in ("* cited_critique required", "* min_challenge_strength 6"):
        assert breaches(demands.of_opening(read(line), opening())) == []


def test_a_text_that_may_be_any():
    free = read("* tool any", "* schema any")
    opened = opening(tools=[{"tool": "t", "sha256": A}], schemas=[{"role": "judge", "sha256": B}])
    assert breaches(demands.of_opening(free, opened)) == []


TOLD = {"instructions": {"sha256": "i"}, "context": {"sha256": "c"}}
HASHES = {"p": A, "i": B, "c": C}


@pytest.mark.parametrize("role", ["judge", "moderator"])
def test_who_judges_is_told_nothing_unless_it_is_approved(role):
    told = seat(role, persona={"sha256": "p"})
    found = breaches(demands.of_seat(read(), opening(**TOLD), told, HASHES.get))
    terms = ["persona", "instructions", *(["context"] if role == "judge" else [])]
    assert found == [(f"10.{term}", ["none"], None, False) for term in terms]
    approved = read(f"* persona {A}", f"* instructions {B}", f"* context {C}")
    assert breaches(demands.of_seat(approved, opening(**TOLD), told, HASHES.get)) == []


def instructed(*rows):
    """Rows of a seat: a round and the name of a text."""
    return [{"round": number, "text": name and {"sha256": name}} for number, name in rows]


TWO = [f"* instructions {A}", f"* instructions {B}"]
NONE = "* instructions none"


@pytest.mark.parametrize(
    ("format_", "rows", "lines", "gone"),
    [
        ("judged", [(1, "p"), (2, "i")], TWO, None),
        ("judged", [(0, "p"), (2, "i")], TWO, None),
        ("judged", [(1, "p"), (2, "i")], TWO[:1], False),
        ("judged", [(1, "i"), (2, "p")], TWO[:1], False),
        ("judged", [(1, "p"), (2, None)], TWO, False),
        ("judged", [(1, "p"), (2, None)], [*TWO, NONE], None),
        ("judged", [(2, "p")], TWO, False),
        ("judged", [(2, "p")], [*TWO, NONE], None),
        ("panel", [(1, "p")], TWO, False),
        ("panel", [(0, "p")], TWO, None),
        ("judged", [(1, "p"), (2, "lost")], TWO, True),
        ("judged", [(1, "c"), (2, "lost")], TWO, False),
        ("judged", [(1, None), (2, "lost")], [NONE], False),
        ("judged", [(1, "lost")], ["* instructions any"], None),
    ],
)
def test_every_row_of_a_seats_own_instructions_is_compared(format_, rows, lines, gone):
    """And that there can be none: null, or a first row after the format's first round."""
    told = seat("debater", instructions=instructed(*rows))
    opened = opening(terms={"format": format_}, instructions={"sha256": "c"})
    found = breaches(demands.of_seat(read(*lines), opened, told, HASHES.get))
    values = [line.split()[-1] for line in lines]
    assert found == ([] if gone is None else [("10.instructions", values, None, gone)])


def test_others_may_be_told_anything_unless_the_policy_says_what():
    told = seat("debater", persona={"sha256": "p"})
    assert breaches(demands.of_seat(read(), opening(**TOLD), told, HASHES.get)) == []
    one = read(f"judged.debater persona {B}")
    assert breaches(demands.of_seat(one, opening(), told, HASHES.get)) == [
        ("10.persona", [B], None, False)
    ]
    assert breaches(demands.of_seat(one, opening(), seat("debater"), HASHES.get)) == [
        ("10.persona", [B], None, False)
    ]


def test_of_a_text_that_is_gone_nobody_can_tell_unless_there_must_be_none():
    told = seat("debater", persona={"sha256": "lost"})
    for values, gone in (([A], True), ([A, "none"], True), (["none"], False)):
        lines = [f"* persona {value}" for value in values]
        found = list(demands.of_seat(read(*lines), opening(), told, HASHES.get))
        assert [row.gone for row in found] == [gone]
    assert breaches(demands.of_seat(read("* persona any"), opening(), told, HASHES.get)) == []


@pytest.mark.parametrize(
    ("line", "model", "kept"),
    [
        ("* provider openai", "openai:gpt-4o", True),
        ("* provider openai", "openai2:gpt-4o", False),
        ("* model gpt-4o", "openai:gpt-4o", True),
        ("* model gpt-4", "openai:gpt-4o", False),
        ("* model gpt-4*", "openai:gpt-4o", True),
        ("* model *", "openai:gpt-4o", True),
        ("* model any", "openai:gpt-4o", False),
        ("* model llama:free", "openrouter:llama:free", True),
        ("* callable none", "python:mine", False),
        ("* callable none", "custom:mine", False),
        ("* callable none", "openai:mine", True),
        ("* callable any", "python:mine", True),
        ("* base_url default", "openai:gpt-4o", True),
        ("* base_url https://models.example", "openai:gpt-4o", False),
    ],
)
def test_which_model_may_sit_where(line, model, kept):
    found = list(demands.of_seat(read(line), opening(), seat(model=model), HASHES.get))
    assert [row.term for row in found] == ([] if kept else [line.split()[1]])


def test_a_server_of_ones_own():
    there = seat(parameters={"base_url": "https://models.example"})
    assert (
        breaches(
            demands.of_seat(read("* base_url https://models.example"), opening(), there, HASHES.get)
        )
        == []
    )


@pytest.mark.parametrize(
    ("kind", "one", "other", "same"),
    [
        ("model", "openai:gpt-4o", "openai:gpt-4o", True),
        ("model", "openai:gpt-4o", "openai:gpt-4", False),
        ("family", "openai:gpt-4o", "azure:gpt-3", True),
        ("family", "openai:gpt-4o", "anthropic:claude-3", False),
        ("family", "scripted:a", "scripted:a", False),
        ("model", "scripted:a", "scripted:a", True),
    ],
)
def test_who_judges_is_apart_from_those_who_are_judged(kind, one, other, same):
    seats = [seat("debater", one), seat("judge", other), seat("synthesizer", one)]
    found = list(demands.independence(read(f"* independent {kind}"), opening(), seats))
    assert [(place, row.found) for place, row in found] == ([(1, one)] if same else [])
    assert list(demands.independence(read(), opening(), seats)) == []


def test_a_critic_is_apart_from_the_proposers_alone():
    seats = [seat(role, "openai:gpt-4o") for role in ("proposer", "critic", "rebuttal")]
    policy_ = read("* independent model")
    assert [place for place, _ in demands.independence(policy_, opening(), seats)] == [1]
    assert list(demands.independence(policy_, opening(), seats[1:])) == []


def test_who_served_a_reply():
    for line, model, kept in (
        ("* served gpt-4o*", "gpt-4o-2024", True),
        ("* served gpt-4o*", "gpt-5", False),
        ("* served gpt-4o*", None, False),
        ("judged.debater served x", "gpt-5", True),
    ):
        found = list(demands.of_answer(read(line), opening(), seat(), model))
        assert not found if kept else found[0].code == "18.served"


def test_families():
    assert family("openai:gpt-4o") == "gpt"
    assert family("bedrock:us.anthropic.claude-3") == "claude"
    assert family("openai:4") == "openai:4"


PEOPLE = {
    "requester": {"name": {"sha256": A}, "key": "house/ann"},
    "owner": {"name": {"sha256": A}, "key": "house/bob"},
}


def said(kind, name=None):
    signature = name and {"key": f"{name}+00000000+A", "value": ""}
    return {"type": kind, "data": {"signature": signature}}


@pytest.mark.parametrize("gone", ["requester", "owner"])
def test_who_may_not_be_involved_must_be_known(gone):
    line = "* reviewer_may_be nobody_involved"
    expected = [("18.reviewer_may_be", ["nobody_involved"], None, False)]
    assert breaches(demands.of_opening(read(line), opening(**PEOPLE))) == []
    for person in (None, PEOPLE[gone] | {"key": None}):
        opened = opening(**PEOPLE | {gone: person})
        assert breaches(demands.of_opening(read(line), opened)) == expected
        assert breaches(demands.of_opening(read("* reviewer_may_be requester"), opened)) == []


@pytest.mark.parametrize("name", ["house/ann", "house/bob", "house/cat"])
@pytest.mark.parametrize("value", ["nobody_involved", "requester"])
def test_a_review_by_somebody_involved(name, value):
    policy_ = read(f"* reviewer_may_be {value}")
    forbidden = value == "nobody_involved" and name != "house/cat"
    found = demands.of_signature(policy_, opening(**PEOPLE), said("review.signed", name))
    expected = [("18.reviewer_may_be", [value], name, False)] if forbidden else []
    assert breaches(found) == expected
    noted = demands.of_signature(policy_, opening(**PEOPLE), said("outcome.noted", name))
    assert breaches(noted) == []
    assert breaches(demands.of_signature(policy_, opening(), said("review.signed", name))) == []


@pytest.mark.parametrize(
    ("kind", "what"),
    [("outcome.noted", "outcome"), ("hold.placed", "hold"), ("hold.lifted", "hold")],
)
def test_what_must_be_signed(kind, what):
    expected = [("18.signed", [what], None, False)]
    policy_ = read(f"* signed {what}")
    assert breaches(demands.of_signature(policy_, opening(), said(kind))) == expected
    assert breaches(demands.of_signature(policy_, opening(), said(kind, "house/ann"))) == []
    other = read(f"* signed {'hold' if what == 'outcome' else 'outcome'}")
    assert breaches(demands.of_signature(other, opening(), said(kind))) == []
