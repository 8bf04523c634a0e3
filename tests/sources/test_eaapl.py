"""The promises of EAAPL-MAG005 "Debate Agent", checked against `moderated`."""

import asyncio
import json
import uuid
from dataclasses import replace
from hashlib import sha256
from importlib.resources import files
from unittest.mock import patch

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from jsonschema import Draft202012Validator

import hansard
from hansard import UsageError
from hansard.errors import SeatError
from hansard.examples.sources import eaapl
from hansard.governance.approval import lines_for, sign
from hansard.record import policy as policies
from hansard.record.note import Signer
from hansard.rules import replies
from hansard.rules.formats import moderated
from hansard.runtime import session
from hansard.runtime.inputs import packaged_templates
from hansard.schemas import SCHEMAS
from hansard.sources import eaapl as source
from hansard.verify import verifier
from hansard.verify.checks import MAX_REPLY
from sources.played import PRICES, QUESTION, priced
from support import answered, argued

TERMS = "Payment is due within thirty days. Liability is capped at one year of fees."
CONTRACT = {"id": "contract", "text": TERMS}
PROPOSITION = {
    "thesis": "The clause is safe to sign.",
    "supporting_arguments": [
        argued(("contract", "capped at one year of fees"), words="It is capped.")
    ],
    "anticipated_objections": ["One year may be too little: it is what we insure."],
}
CRITIQUE = {
    "thesis": "The clause ruins us in the one case that counts.",
    "counter_arguments": [
        argued(("contract", "within thirty days"), words="One late payment ends it."),
        argued(words="Data loss is not capped by fees."),
    ],
    "challenge_strength": 8,
}
REBUTTAL = {
    "thesis": "Safe, but for data loss.",
    "rebuttals": [answered(1, ("contract", "thirty days"))],
    "concessions": [{"objection": 2, "reason": "It is not mentioned."}],
}
MODERATION = {
    "scores": {"proposer": 8, "critic": 7, "rebuttal": 6},
    "resolved_points": ["Late payment."],
    "unresolved_points": ["Data loss."],
    "recommend_another_round": False,
    "synthesis": "Sign with a data-loss clause.",
    "confidence": "MODERATE",
    "explicit_uncertainties": ["Nobody knows the size of a loss."],
    "upholds_proposition": False,
}
FRAMING = {
    "thesis": "The clause is safe.",
    "scope": "Clause 7 alone.",
    "criteria": ["It names the worst case."],
    "key_evidence": ["contract: the cap"],
}
CANNED = {
    "framing": FRAMING,
    "proposition": PROPOSITION,
    "critique": CRITIQUE,
    "rebuttal": REBUTTAL,
    "moderation": MODERATION,
}
MORE = {**MODERATION, "recommend_another_round": True}


@pytest.fixture
def review(play):
    """Run a contract review with canned replies, or others where `replies` say so."""

    def run(replies=None, **changes):
        spec = {"format": "moderated", "evidence": [CONTRACT], **changes}
        said = replies or {}
        return play({**said, **{key: CANNED[key] for key in CANNED.keys() - said.keys()}}, **spec)

    return run


# The roles and what each is told


def test_framer_proposer_critic_rebuttal_and_moderator_speak_in_that_order(review):
    debate = review()
    assert [row["role"] for row in debate.all("debater.registered")] == [
        "framer", "proposer", "critic", "rebuttal", "moderator",
    ]  # fmt: skip
    phases = ["framing", "proposition", "critique", "rebuttal", "moderation"]
    assert [row["phase"] for row in debate.turns] == phases
    assert debate.decision == ("not_upheld", "moderator_synthesis")


def test_each_role_may_have_a_model_of_its_own(review):
    roles = ("framer", "proposer", "critic", "rebuttal", "moderator")
    models = {role: lambda request: CANNED[request.phase] for role in roles}
    debate = review(
        model=None, models=models, **{role: {"model": f"python:{role}"} for role in roles}
    )
    seats = {row["role"]: row["model"] for row in debate.all("debater.registered")}
    assert seats == {role: f"python:{role}" for role in roles}


def test_framing_gives_thesis_scope_criteria_and_key_evidence_before_anybody_argues(review):
    debate = review()
    assert debate.asked[0].phase == "framing"
    assert debate.asked[0].reply_schema["required"] == [
        "thesis", "scope", "criteria", "key_evidence",
    ]  # fmt: skip
    assert "| thesis: The clause is safe." in debate.prompt("r1.proposition.proposer")


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (
            "r1.proposition.proposer",
            ["one clear thesis", "the most important first", "cite what you rest on",
             "Name the strongest objections that will come, and answer them before they do"],
        ),
        (
            "r1.critique.critic",
            ["Assume that it is wrong and work backward", "Never agree with its framing",
             "Tail risks first", 'no "while I acknowledge"', "Every objection is a direct claim",
             "evidence that was misread", "assumptions that nobody stated",
             "harm that comes even if the thesis is right",
             "Rate the strength of your own challenge from 1 to 10"],
        ),
        (
            "r1.rebuttal.rebuttal",
            ["one by one, by their number", "Answer each specifically", "concede that objection",
             "counter-evidence"],
        ),
        (
            "r1.moderation.moderator",
            ["no preferred outcome", "Weigh arguments, never positions", "logical validity",
             "quality of evidence", "completeness", "internal consistency",
             "Never ask which side sounds more reasonable or is closer to best practice",
             "which points are resolved and which are still contested",
             "whether one more round would help", "how confident you are",
             "name at least one uncertainty"],
        ),
    ],
)  # fmt: skip
def test_each_role_is_instructed_as_the_pattern_demands(review, step, words):
    told = " ".join(review().prompt(step).split())
    assert [part for part in words if part not in told] == []


def test_everybody_sees_what_the_pattern_lets_them_see(review):
    debate = review({"moderation": MORE}, max_rounds=2)
    thesis = {
        "proposal": "The clause is safe to sign.",
        "critique": "The clause ruins us in the one case that counts.",
        "rebuttal": "Safe, but for data loss.",
        "moderation": "Sign with a data-loss clause.",
    }

    def seen(step):
        return [debate.prompt(step).count(words) for words in thesis.values()]

    assert [seen(f"r1.{step}") for step in (
        "proposition.proposer", "critique.critic", "rebuttal.rebuttal", "moderation.moderator"
    )] == [[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]]  # fmt: skip
    assert [seen(f"r2.{step}") for step in (
        "proposition.proposer", "critique.critic", "rebuttal.rebuttal", "moderation.moderator"
    )] == [[1, 1, 1, 1], [2, 1, 1, 1], [2, 2, 1, 1], [2, 2, 2, 1]]  # fmt: skip
    for request in debate.asked:
        assert f"| {TERMS}" in request.prompt
        assert f"| {QUESTION}" in request.prompt


def test_the_moderator_must_state_scores_points_confidence_and_uncertainties(review):
    (schema,) = [row.reply_schema for row in review().asked if row.phase == "moderation"]
    parts = schema["properties"]
    assert schema["required"] == list(MODERATION)
    assert parts["confidence"]["enum"] == ["HIGH", "MODERATE", "LOW"]
    assert list(parts["scores"]["properties"]) == ["proposer", "critic", "rebuttal"]
    for name in ("resolved_points", "unresolved_points", "explicit_uncertainties"):
        assert parts[name]["type"] == "array"


def test_each_role_may_be_a_named_expert(review):
    counsel, officer = "You are a senior litigation partner.", "You are a chief risk officer."
    debate = review(proposer={"persona": counsel}, critic={"persona": officer})
    assert counsel in debate.prompt("r1.proposition.proposer")
    assert officer in debate.prompt("r1.critique.critic")
    assert officer not in debate.prompt("r1.proposition.proposer")


# Rounds


def test_one_round_is_the_default_and_two_add_a_second_cycle(review):
    assert review({"moderation": MORE}).opened["terms"]["max_rounds"] == 1
    debate = review({"moderation": MORE}, max_rounds=2)
    second = [row["phase"] for row in debate.turns if row["round"] == 2]
    assert second == ["proposition", "critique", "rebuttal", "moderation"]


def test_a_moderator_that_wants_no_more_ends_the_debate_early(review):
    debate = review(max_rounds=3)
    assert max(row["round"] for row in debate.turns) == 1
    assert debate.ending == ("complete", "moderator_satisfied")


def test_round_ceiling_a_moderator_that_always_wants_more_gets_two(review):
    """The pattern's own unit test of the round ceiling."""
    debate = review({"moderation": MORE}, max_rounds=2)
    assert [row["round"] for row in debate.all("verdict.recorded")] == [1, 2]
    assert debate.ending == ("complete", "max_rounds_exhausted")


def test_what_oscillates_returns_its_unresolved_points(review):
    debate = review({"moderation": MORE}, max_rounds=3)
    assert debate.one("decision.reached")["rounds_run"] == 3
    assert debate.result.source()["rounds"][-1]["moderatorEvaluation"]["unresolvedPoints"] == [
        "Data loss."
    ]
    assert "still_open" in debate.notes


def test_more_than_three_rounds_are_refused(review):
    with pytest.raises(UsageError, match="has at most 3; lower it") as caught:
        review(max_rounds=4)
    assert caught.value.code == "spec.max_rounds"


# The critic


def rated(number):
    return {**CRITIQUE, "challenge_strength": number}


def test_critic_retry_a_four_is_sent_back_with_a_stronger_instruction(review):
    """The pattern's own unit test of the retry logic."""
    debate = review({"critique:1": rated(4), "critique": rated(7)})
    row = debate.one("turn.rejected")
    assert (row["code"], row["rating"], row["again"]) == ("weak_critique", 4, True)
    again = debate.prompt("r1.critique.critic:2")
    assert "you rated it 4 of 10" in again
    assert "dangerously wrong" in again
    assert "dangerously wrong" not in debate.prompt("r1.critique.critic:1")
    (critique,) = [row for row in debate.all("turn.recorded") if row["phase"] == "critique"]
    assert critique["case"]["rating"] == 7


def test_it_is_sent_back_once_and_what_stays_weak_counts_but_is_marked(review):
    debate = review({"critique": rated(5)})
    assert [row.call for row in debate.asked if row.phase == "critique"] == [
        "r1.critique.critic:1", "r1.critique.critic:2",
    ]  # fmt: skip
    assert "weak_critique" in debate.notes
    assert debate.decision == ("not_upheld", "moderator_synthesis")


def test_the_cost_of_the_retry_is_counted(review):
    reply = {name: lambda r, name=name: priced(CANNED[name]) for name in CANNED}
    reply["critique:1"] = priced(rated(4))
    debate = review(reply, prices=PRICES)
    critic = debate.result.source()["rounds"][0]["tokenCost"]["critic"]
    assert critic == 2 * 1100


@pytest.mark.parametrize(("below", "calls"), [(6, 2), (4, 1)])
def test_the_thresholds_are_settings_that_start_at_six(review, below, calls):
    changes = {} if below == 6 else {"require_critic_retry_below": below}
    debate = review({"critique": rated(5)}, **changes)
    assert sum(row.phase == "critique" for row in debate.asked) == calls
    terms = debate.opened["terms"]
    assert (terms["require_critic_retry_below"], terms["min_challenge_strength"]) == (below, 6)


@pytest.mark.parametrize("number", [0, 11, 7.5, "7", None])
def test_a_rating_is_a_whole_number_from_one_to_ten(review, number):
    debate = review({"critique:1": rated(number)})
    assert debate.one("turn.rejected")["code"] == "schema"


@pytest.mark.parametrize(("first", "last", "flagged"), [(4, 9, True), (5, 9, False)])
def test_any_rating_below_five_flags_the_critics_prompt_for_review(review, first, last, flagged):
    debate = review({"critique:1": rated(first), "critique": rated(last)})
    assert ("prompt_review" in debate.notes) is flagged


def test_objections_the_rebuttal_passes_over_are_counted(review):
    debate = review({"rebuttal": {**REBUTTAL, "concessions": []}})
    (row,) = [row for row in debate.all("turn.recorded") if row["phase"] == "rebuttal"]
    assert row["case"]["unanswered"] == [2]
    assert "unanswered" in debate.notes


# Citations


def test_citation_fabrication_a_source_that_is_not_there_is_flagged(review):
    """The pattern's own integration test: the moderator is told, the reader too."""
    made_up = argued(("annex-9", "unlimited liability"), words="Annex 9 lifts the cap.")
    debate = review({"critique": {**CRITIQUE, "counter_arguments": [made_up, argued(words="x")]}})
    (row,) = [row for row in debate.all("turn.recorded") if row["phase"] == "critique"]
    assert row["case"]["citations"] == [
        {"argument": 1, "citation": 1, "finding": "no_such_document"}
    ]
    moderator = debate.prompt("r1.moderation.moderator")
    assert "critique, round 1, argument 1, citation 1: no_such_document" in moderator
    notes = {note.code: note.severity for note in debate.result.notes}
    assert notes["fabricated_citation"] == "critical"


def test_an_argument_that_rests_on_a_fabrication_is_discarded_and_shown_struck(review):
    made_up = argued(("contract", "liability is unlimited"), words="It is unlimited.")
    debate = review({"proposition": {**PROPOSITION, "supporting_arguments": [made_up, argued()]}})
    (row,) = [row for row in debate.all("turn.recorded") if row["phase"] == "proposition"]
    assert row["case"]["struck"] == [1]
    assert row["case"]["citations"][0]["finding"] == "not_found"
    assert "supporting_arguments 1 [STRUCK" in debate.prompt("r1.critique.critic")
    assert "uncited" in debate.notes


def test_a_rebuttals_citations_are_checked_as_well(review):
    claim = {**REBUTTAL, "rebuttals": [answered(1, ("contract", "sixty days"))]}
    debate = review({"rebuttal": claim})
    (row,) = [row for row in debate.all("turn.recorded") if row["phase"] == "rebuttal"]
    assert (row["case"]["struck"], row["case"]["unanswered"]) == ([1], [1])


# Money


def costing(replies=None, tokens_out=4000):
    """Agents whose token costs are known: 1,000 tokens in, at 0.0425 dollars a reply."""
    said = {**CANNED, **(replies or {})}
    return {name: lambda request, name=name: priced(said[name], 1000, tokens_out) for name in said}


def test_cost_ceiling_terminates_the_run_and_says_so(review):
    """The pattern's own unit test, with the standing of the last moderation kept."""
    debate = review(
        costing({"moderation": MORE}), prices=PRICES, max_rounds=3, limits={"cost_usd": "0.25"}
    )
    cut = debate.one("debate.truncated")
    assert cut["ceiling"] == "cost"
    assert cut["step"] == "r2.proposition.proposer"
    assert cut["spent"] == 5 * 42_500
    assert cut["spent"] + cut["reserved"] > 250_000
    assert debate.ending == ("truncated", "cost_ceiling")
    source = debate.result.source()
    assert source["status"] == "DEBATE_TRUNCATED"
    assert source["rounds"][0]["moderatorEvaluation"]["synthesis"] == MODERATION["synthesis"]
    assert "truncated" in debate.notes


def test_the_ceiling_is_half_a_dollar_where_prices_are_known(review):
    assert review(prices=PRICES).opened["limits"]["cost_micro_usd"] == 500_000
    assert (
        review(prices=PRICES, limits={"cost_usd": None}).opened["limits"]["cost_micro_usd"] is None
    )
    debate = review()
    assert debate.opened["limits"]["cost_micro_usd"] is None
    assert "no_ceiling" in debate.notes
    with pytest.raises(UsageError) as caught:
        review(limits={"cost_usd": "0.50"})
    assert caught.value.code == "spec.price_unknown"


def test_the_ceiling_is_tested_before_every_call_not_only_at_the_start_of_a_round(review):
    debate = review(costing(), prices=PRICES, limits={"cost_usd": "0.15"})
    assert debate.one("debate.truncated")["step"] == "r1.rebuttal.rebuttal"
    assert sum(row["cost_micro_usd"] for row in debate.all("call.answered")) <= 150_000


def test_spend_is_recorded_for_every_call_role_and_round(review):
    debate = review(costing({"moderation": MORE}, 100), prices=PRICES, max_rounds=2)
    assert [row["cost_micro_usd"] for row in debate.all("call.answered")] == [3500] * 9
    for round_ in debate.result.source()["rounds"]:
        assert round_["tokenCost"] == dict.fromkeys(
            ("proposer", "critic", "rebuttal", "moderator"), 1100
        )


# The record


def cited(argument, quote):
    return {
        "argument": argument,
        "document": "contract",
        "quote": quote,
        "finding": "verified",
    }


def test_the_round_record_has_the_patterns_own_keys(review):
    (record,) = review().result.source()["rounds"]
    assert uuid.UUID(record.pop("debateId")).version == 4
    assert record == {
        "roundNumber": 1,
        "question": QUESTION,
        "proposerPosition": {
            "thesis": PROPOSITION["thesis"],
            "supporting_arguments": ["It is capped."],
            "evidence_cited": [cited(1, "capped at one year of fees")],
        },
        "criticPosition": {
            "thesis": CRITIQUE["thesis"],
            "counter_arguments": ["One late payment ends it.", "Data loss is not capped by fees."],
            "evidence_cited": [cited(1, "within thirty days")],
            "challengeStrength": 8,
        },
        "rebuttalPosition": {
            "thesis": REBUTTAL["thesis"],
            "rebuttals": [
                {"objection": 1, "answer": "so", "evidence_cited": [cited(1, "thirty days")]}
            ],
            "concessions": REBUTTAL["concessions"],
        },
        "moderatorEvaluation": {
            "argumentQualityScore": MODERATION["scores"],
            "resolvedPoints": MODERATION["resolved_points"],
            "unresolvedPoints": MODERATION["unresolved_points"],
            "recommendAnotherRound": False,
            "synthesis": MODERATION["synthesis"],
            "confidenceLevel": "MODERATE",
            "explicitUncertainties": MODERATION["explicit_uncertainties"],
        },
        "tokenCost": {"proposer": 0, "critic": 0, "rebuttal": 0, "moderator": 0},
    }


def test_full_run_with_canned_replies_has_the_shape_of_a_debate_result(review):
    """The pattern's own integration test, against the published schema."""
    source = review().result.source()
    assert source["status"] == "COMPLETE"
    Draft202012Validator(SCHEMAS["source.moderated"]()).validate(json.loads(json.dumps(source)))


def test_end_to_end_a_contract_clause_comes_back_with_all_outputs_and_flags(review):
    """The pattern's own end-to-end test."""
    debate = review(costing(tokens_out=100), prices=PRICES)
    (record,) = debate.result.source()["rounds"]
    for part in ("proposerPosition", "criticPosition", "rebuttalPosition", "moderatorEvaluation"):
        assert record[part]
    moderation = record["moderatorEvaluation"]
    assert moderation["confidenceLevel"] in ("HIGH", "MODERATE", "LOW")
    assert len(moderation["explicitUncertainties"]) >= 1
    assert 0 < debate.result.totals.cost_micro_usd <= 500_000


def test_the_audit_trail_is_complete_and_cannot_be_changed(review, store):
    debate = review(costing(tokens_out=100), prices=PRICES)
    texts = {debate.text(row["reply"]) for row in debate.all("call.answered")}
    assert len(texts) == 5
    assert debate.text(debate.opened["question"]) == QUESTION
    replies = [json.loads(text) for text in texts]
    assert all(part in replies for part in CANNED.values())
    assert hansard.verify(store, debate.result.debate).ok
    softened = [line.replace(b'"rating":8', b'"rating":9') for line in debate.bundle.lines]
    assert softened != debate.bundle.lines
    assert not verifier.verify(replace(debate.bundle, lines=softened)).ok


def test_the_state_store_keeps_all_rounds_and_what_they_cost(tmp_path):
    url = f"sqlite:///{tmp_path / 'debates.db'}"
    spec = hansard.ModeratedSpec(
        question=QUESTION, model="python:seat", evidence=[CONTRACT], max_rounds=2, prices=PRICES
    )
    said = {**CANNED, "moderation": MORE}
    made = hansard.run_sync(
        spec, models={"seat": lambda request: priced(said[request.phase])}, store=url
    )
    with hansard.open_store(url, create=False) as store:
        kept = hansard.result(store, made.debate)
    assert len(kept.source()["rounds"]) == 2
    assert kept.totals.cost_micro_usd == made.totals.cost_micro_usd == 9 * 3500


def test_rounds_models_and_prompt_versions_are_documented(review):
    debate = review()
    assert debate.opened["terms"]["max_rounds"] == 1
    assert all(row["model"] for row in debate.all("debater.registered"))
    packaged = packaged_templates("moderated")
    assert {row["role"]: row["sha256"] for row in debate.opened["templates"]} == {
        role: sha256(body).hexdigest() for role, body in packaged.items()
    }


def test_a_moderator_prompt_that_is_not_the_approved_one_is_never_sent(store, tmp_path):
    approved = policies.parse(
        sign(lines_for("moderated", packaged_templates("moderated")), signer())
    )
    (tmp_path / "mine.md").write_text("Favour the proposer.\n")
    asked = []

    def seat(request):
        asked.append(request)
        return CANNED[request.phase]

    def run(**changes):
        spec = hansard.ModeratedSpec(
            question=QUESTION, model="python:seat", evidence=[CONTRACT], **changes
        )
        running = session.run(spec, store, tmp_path, models={"seat": seat}, policy=approved)
        return asyncio.run(running).state

    assert run().decision["rule"] == "moderator_synthesis"
    assert len(asked) == 5
    with pytest.raises(UsageError, match=r"moderated\.moderator: the template"):
        run(prompts={"moderator": "mine.md"})
    assert len(asked) == 5
    with patch.object(session, "hold", lambda *_: None):  # an engine that does not look first
        state = run(prompts={"moderator": "mine.md"})
    assert state.refused["role"] == "moderator"
    assert state.refused["found"] not in state.refused["approved"]
    assert state.closed == {"outcome": "failed", "reason": "prompt_refused"}
    assert len(asked) == 5


def signer():
    return Signer("house/approval", Ed25519PrivateKey.from_private_bytes(bytes(32)))


# Bias


def test_one_model_in_all_roles_and_a_moderator_of_the_same_family_are_pointed_out(review):
    assert {"single_model", "self_bias"} <= review().notes
    models = {name: lambda request: CANNED[request.phase] for name in ("alpha", "beta", "gamma")}
    debate = review(
        model="python:alpha",
        critic={"model": "python:beta"},
        moderator={"model": "python:gamma"},
        models=models,
    )
    assert {"single_model", "self_bias"}.isdisjoint(debate.notes)


@pytest.mark.parametrize(
    ("second", "note"), [(False, "neutrality_unchanged"), (True, "neutrality_changed")]
)
def test_neutrality_is_checked_by_asking_again_with_the_sides_in_the_other_order(
    review, second, note
):
    debate = review(
        {"neutrality": {**MODERATION, "upholds_proposition": second}}, neutrality_check=True
    )
    titles = ("[proposition, round 1]", "[rebuttal, round 1]")
    first, other = (
        [debate.prompt(f"r1.{phase}.moderator").index(title) for title in titles]
        for phase in ("moderation", "neutrality")
    )
    assert first == sorted(first)
    assert other == sorted(other, reverse=True)
    assert note in debate.notes
    assert debate.decision == ("not_upheld", "moderator_synthesis")


# Variants


POSITIONS = [
    {"id": "x", "stance": "Adopt technology X", "label": "adopt-x"},
    {"id": "y", "stance": "Adopt technology Y", "label": "adopt-y"},
    {"id": "z", "stance": "Defer the decision", "label": "defer"},
]


def test_three_positions_have_a_proposer_each_and_come_back_ranked(review):
    ranking = {"ranking": ["defer", "adopt-x", "adopt-y"]}
    replies = {
        "moderation": lambda request: {
            **{k: v for k, v in MODERATION.items() if k != "upholds_proposition"},
            "scores": dict.fromkeys(request.reply_schema["properties"]["scores"]["required"], 7),
            **ranking,
        }
    }
    debate = review(replies, positions=POSITIONS)
    proposers = [row["speaker"] for row in debate.turns if row["phase"] == "proposition"]
    assert proposers == ["x", "y", "z"]
    phases = [row["phase"] for row in debate.turns[4:-1]]
    assert phases == [f"{base}-{n}" for n in (1, 2, 3) for base in ("critique", "rebuttal")]
    assert debate.one("verdict.recorded")["ranking"] == ["z", "x", "y"]
    assert debate.decision == ("defer", "moderator_ranking")


def test_a_ranking_is_a_permutation_of_the_positions(review):
    def moderation(request):
        names = request.reply_schema["properties"]["scores"]["required"]
        first = request.call.endswith(":1")
        return {
            **{k: v for k, v in MODERATION.items() if k != "upholds_proposition"},
            "scores": dict.fromkeys(names, 7),
            "ranking": ["defer", "defer", "adopt-x"] if first else ["defer", "adopt-y", "adopt-x"],
        }

    debate = review({"moderation": moderation}, positions=POSITIONS, critique=False)
    assert debate.one("turn.rejected")["code"] == "unknown_option"
    assert debate.decision == ("defer", "moderator_ranking")
    assert not any("critique" in row["phase"] for row in debate.turns)


def test_evidence_introduced_later_changes_positions_and_the_change_is_shown(review):
    late = {"id": "audit", "text": "Two losses last year.", "from_round": 2}
    revised = {**PROPOSITION, "thesis": "The clause is not safe to sign."}
    debate = review(
        {"r2.proposition.proposer": revised, "moderation": MORE},
        evidence=[CONTRACT, late],
        max_rounds=2,
    )
    words = "| Two losses last year."
    assert [words in debate.prompt(f"r{n}.proposition.proposer") for n in (1, 2)] == [False, True]
    (change,) = [row for row in debate.result.drift if row.speaker == "proposer"]
    assert (change.before, change.after) == (PROPOSITION["thesis"], revised["thesis"])
    assert change.round_index == 2


def test_evidence_cited_before_it_was_introduced_does_not_count(review):
    late = {"id": "audit", "text": "Two losses last year.", "from_round": 2}
    early = {**CRITIQUE, "counter_arguments": [argued(("audit", "Two losses")), argued()]}
    debate = review(
        {"r1.critique.critic": early, "moderation": MORE}, evidence=[CONTRACT, late], max_rounds=2
    )
    (row,) = [row for row in debate.all("turn.recorded") if row["step"] == "r1.critique.critic"]
    assert row["case"]["citations"][0]["finding"] == "not_yet_visible"


# Inside an orchestration


def test_a_supervisor_calls_a_debate_on_a_contested_subtask():
    async def seat(request):
        return CANNED[request.phase]

    async def supervisor(tasks):
        spec = {"format": "moderated", "model": "python:seat", "evidence": [CONTRACT]}
        contested = [task for task in tasks if task.endswith("?")]
        results = await asyncio.gather(
            *(hansard.run({**spec, "question": task}, models={"seat": seat}) for task in contested)
        )
        return {result.question: result.decision for result in results}

    answers = asyncio.run(supervisor(["Count the pages.", "Is clause 7 safe?", "Is clause 9?"]))
    assert answers == {"Is clause 7 safe?": "not_upheld", "Is clause 9?": "not_upheld"}


def test_the_example_shows_which_tier_of_model_belongs_in_which_role():
    example = files("hansard.examples") / "moderated" / "debate.yaml"
    words = " ".join(example.read_text().split())
    for tier in (
        "# proposer a frontier model",
        "# critic a frontier model",
        "# rebuttal an efficient model",
        "# moderator a fast model of a family that neither proposer nor critic has",
    ):
        assert tier in words


def test_the_format_says_when_to_use_it_and_what_it_costs():
    words = " ".join(moderated.__doc__.split())
    for kind in ("contracts", "security", "architecture", "investment", "compliance"):
        assert kind in words
    assert "a wrong answer costs far more than a debate" in words
    assert "When not: as the default, or for a fact that can be looked up" in words
    assert "Cost: 1 + rounds x (positions x 3 + 1) calls" in words


# The pattern's own call


def agree(**outputs):
    """The five agents of the example, with outputs of their own where these say so."""
    said = {f"{name}_agent": eaapl.Scripted(*rows) for name, rows in outputs.items()}
    return {**eaapl.agents(), **said}


def last_of(agent):
    return eaapl.agents()[f"{agent}_agent"].outputs[-1]


def run_source(agents=None, **changes):
    config = {**eaapl.CONFIG, **changes}
    given = agree() if agents is None else agents
    return asyncio.run(source.run_debate(eaapl.QUESTION, eaapl.CONTEXT, config, **given))


def test_the_patterns_own_call_runs_with_its_own_agents():
    found = asyncio.run(eaapl.main())
    assert (found.status, len(found.rounds)) == ("COMPLETE", 1)
    Draft202012Validator(SCHEMAS["source.moderated"]()).validate(
        {"status": found.status, "rounds": found.rounds}
    )
    position = found.rounds[0]["criticPosition"]
    assert (position["challengeStrength"], position["evidence_cited"][0]["finding"]) == (
        7,
        "verified",
    )
    assert found.result.decision == "not_upheld"
    assert found.result.final == "Sign once data loss is capped too."


def test_each_agent_is_given_what_the_skeleton_gives_it():
    agents = agree(moderator=[{**last_of("moderator"), "recommendAnotherRound": True}])
    run_source(agents)
    asked = {name.removesuffix("_agent"): row.asked for name, row in agents.items()}
    assert [{*row} for row in asked["framing"]] == [{"question", "context"}]
    assert [{*row} for row in asked["proposer"]] == [
        {"question", "context", "proposition", "previousRounds"}
    ] * 2
    critic = {"question", "context", "proposerOutput", "previousRounds"}
    assert [{*row} for row in asked["critic"]] == [
        critic,
        critic | {"additionalInstruction"},
        critic,
    ]
    assert "you rated it 4 of 10" in asked["critic"][1]["additionalInstruction"]
    sides = {"question", "proposerOutput", "criticOutput"}
    assert [{*row} for row in asked["rebuttal"]] == [sides | {"context"}] * 2
    assert [{*row} for row in asked["moderator"]] == [sides | {"rebuttalOutput"}] * 2
    assert asked["proposer"][0]["context"] == eaapl.CONTEXT
    assert asked["proposer"][0]["proposition"] == last_of("framing")
    (before,) = asked["proposer"][1]["previousRounds"]
    assert (before["round"], {*before}) == (
        1,
        {"round", "proposerOutput", "criticOutput", "rebuttalOutput", "moderatorOutput"},
    )
    assert before["moderatorOutput"]["argumentQualityScore"] == {
        "proposer": 8, "critic": 7, "rebuttal": 6,
    }  # fmt: skip
    assert before["moderatorOutput"]["upholdsProposition"] is False


def test_what_rests_on_a_fabricated_quote_is_struck_and_the_others_keep_their_numbers():
    made_up = {"argument": 1, "quote": "within ninety days"}
    agents = agree(critic=[{**last_of("critic"), "evidence_cited": [made_up]}])
    found = run_source(agents)
    for name in ("rebuttal", "moderator"):
        shown = agents[f"{name}_agent"].asked[0]["criticOutput"]
        assert shown["counter_arguments"] == [source.STRUCK, "Data loss has no cap."]
        assert shown["evidence_cited"] == []
    cited = found.rounds[0]["criticPosition"]["evidence_cited"]
    assert cited == [{**made_up, "document": "context", "finding": "not_found"}]


@pytest.mark.parametrize("member", ["supporting_arguments", "evidence_cited"])
def test_a_text_in_the_place_of_a_list_is_sent_back(member):
    """Each of its characters was an argument of its own: 5 MB of text took 3.5 GB."""
    agents = agree(proposer=[{**last_of("proposer"), member: "I"}, last_of("proposer")])
    assert run_source(agents).status == "COMPLETE"
    first, again = agents["proposer_agent"].asked
    assert "additionalInstruction" in {*again} - {*first}


def test_a_text_that_is_too_long_for_a_reply_is_not_read(monkeypatch):
    """16 MB of JSON took 1.4 GB before it was refused."""
    read, lengths = replies.read, list[int]()
    monkeypatch.setattr(replies, "read", lambda text: (lengths.append(len(text)), read(text))[1])
    long = json.dumps({**last_of("proposer"), "thesis": "x" * MAX_REPLY})
    with pytest.raises(SeatError, match="a shorter one"):
        run_source(agree(framing=[json.dumps(last_of("framing"))], proposer=[long]))
    assert 0 < max(lengths) <= MAX_REPLY


def test_rebuttals_may_say_which_objection_they_answer_and_what_they_cite():
    answer = {"objection": 2, "answer": "It is.", "evidence_cited": ["capped at one year of fees"]}
    rebuttal = {"thesis": "Safe.", "rebuttals": [answer], "concessions": []}
    (record,) = run_source(agree(rebuttal=[rebuttal])).rounds
    (row,) = record["rebuttalPosition"]["rebuttals"]
    assert (row["objection"], row["evidence_cited"][0]["finding"]) == (2, "verified")


@pytest.mark.parametrize(
    ("ceiling", "calls", "status"),
    [
        (0.012, 2, "DEBATE_TRUNCATED"),
        (0.034, 4, "DEBATE_TRUNCATED"),
        (0.043, 5, "DEBATE_TRUNCATED"),
        (0.051, 6, "DEBATE_TRUNCATED"),
        (0.091, 10, "COMPLETE"),
        (0.50, 10, "COMPLETE"),
    ],
)
def test_the_costs_that_agents_state_end_the_debate_at_the_ceiling(ceiling, calls, status):
    """The framing is free, the critic is asked twice in round 1, and the moderator wants more."""
    agents = agree(moderator=[{**last_of("moderator"), "recommendAnotherRound": True}])
    found = run_source(agents, costCeilingUSD=ceiling)
    assert (sum(len(row.asked) for row in agents.values()), found.status) == (calls, status)


def test_agents_that_state_tokens_are_held_to_a_ceiling_that_every_verifier_checks(store):
    class Priced(eaapl.Scripted):
        async def invoke(self, inputs):
            text = json.dumps(await super().invoke(inputs))
            return hansard.Completion(text, tokens_in=1000, tokens_out=100)

    agents = {name: Priced(*row.outputs) for name, row in agree().items()}
    names = [f"python:{Priced.__qualname__.replace('<locals>.', '')}.invoke{n}" for n in NUMBERS]
    prices = dict.fromkeys(names, PRICES["python:seat"])
    given = {**agents, "store": store, "prices": prices, "limits": {"cost_usd": "0.50"}}
    found = asyncio.run(source.run_debate(eaapl.QUESTION, eaapl.CONTEXT, **given))
    assert found.status == "COMPLETE"
    assert found.rounds[0]["tokenCost"] == {
        "proposer": 1100, "critic": 2200, "rebuttal": 1100, "moderator": 1100,
    }  # fmt: skip
    assert found.result.totals.cost_micro_usd == 6 * 3500
    assert hansard.verify(store, found.result.debate).ok


NUMBERS = ("", "-2", "-3", "-4", "-5")


@pytest.mark.parametrize("form", [json.dumps, lambda said: f"Here it is:\n{said}"])
def test_an_agent_may_return_json_as_text_and_is_asked_again_where_it_is_none(form):
    class Texted(eaapl.Scripted):
        async def invoke(self, inputs):
            said = await super().invoke(inputs)
            return form(said) if len(self.asked) == 1 else said

    found = run_source({**agree(), "proposer_agent": Texted(last_of("proposer"))})
    rejected = 1 if form is json.dumps else 2
    assert (found.status, found.result.calls.rejected) == ("COMPLETE", rejected)


def test_what_an_agent_says_beside_is_kept_in_the_text_of_its_reply():
    names = ("framing", "proposer", "critic", "rebuttal", "moderator")
    more = {"sources_read": ["contract"], "thesis_note": {"of": "ours"}}
    said = {name: [{**last_of(name), **more}] for name in names}
    with hansard.open_store("sqlite:///:memory:") as store:
        ran = source.run_debate(
            eaapl.QUESTION, eaapl.CONTEXT, eaapl.CONFIG, store=store, **agree(**said)
        )
        found = asyncio.run(ran)
        record = hansard.read_record(store, found.result.debate)
        answered = [row["data"] for row in record.events if row["type"] == "call.answered"]
        texts = [json.loads(record.text(row["reply"]["sha256"])) for row in answered]
    assert [{name: text[name] for name in more} for text in texts] == [more] * len(names)
    assert found.rounds == [
        {**row, "debateId": found.rounds[0]["debateId"]}
        for row in run_source(agree(**{name: [last_of(name)] for name in names})).rounds
    ]


def test_a_debate_that_is_over_is_complete_whatever_it_cost():
    assert run_source(costCeilingUSD=0.051).status == "COMPLETE"


@pytest.mark.parametrize(
    "outputs",
    [
        {"critic": [{"thesis": "Weak."}, last_of("critic")]},
        {"critic": [{**last_of("critic"), "evidence_cited": ["a", "b", "c"]}, last_of("critic")]},
        {"rebuttal": [{**last_of("rebuttal"), "concessions": ["All."]}, last_of("rebuttal")]},
    ],
)
def test_an_output_that_is_not_what_the_record_asks_for_is_sent_back(outputs):
    found = run_source(agree(**outputs))
    assert found.status == "COMPLETE"
    assert found.result.calls.rejected >= 1


def test_a_moderator_that_says_nothing_of_the_proposition_is_a_mistake_of_its_function():
    said = {key: row for key, row in last_of("moderator").items() if key != "upholdsProposition"}
    with pytest.raises(hansard.SeatError) as caught:
        run_source(agree(moderator=[said]))
    assert caught.value.__cause__.code == "source.upholds"


def test_a_debate_left_open_is_resumed_with_the_same_agents(store):
    class Broken(eaapl.Scripted):
        async def invoke(self, inputs):
            raise KeyError("the bug")

    given = {"question": eaapl.QUESTION, "context": eaapl.CONTEXT, "store": store}
    with pytest.raises(hansard.SeatError) as caught:
        asyncio.run(source.run_debate(**given, **{**agree(), "rebuttal_agent": Broken()}))
    open_ = caught.value.debate
    names = [row.model.partition(":")[2] for row in hansard.result(store, open_).seats]
    mended = dict(zip(names, source.seats(*agree().values()).values(), strict=True))
    result = hansard.resume_sync(open_, models=mended, store=store)
    assert (result.decision, hansard.verify(store, open_).ok) == ("not_upheld", True)


def nobody():
    return last_of("critic")


@pytest.mark.parametrize(
    ("changes", "config", "code"),
    [
        ({"critic_agent": nobody}, {}, "model.signature"),
        ({"critic_agent": {"thesis": "t"}}, {}, "model.not_callable"),
        ({}, {"maxRound": 2}, "spec.unknown_field"),
        ({}, {"maxRounds": 4}, "spec.max_rounds"),
        ({}, {"costCeilingUSD": "half"}, "spec.invalid_value"),
        ({}, {"costCeilingUSD": "0.50"}, "spec.invalid_value"),
        ({}, {"maxRounds": "2"}, "spec.invalid_value"),
    ],
)
def test_a_call_that_cannot_be_kept_is_refused_before_anything_runs(changes, config, code):
    agents = agree()
    with pytest.raises(UsageError) as caught:
        run_source({**agents, **changes}, **config)
    assert caught.value.code == code
    assert not any(row.asked for row in agents.values())
