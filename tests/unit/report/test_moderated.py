"""The result of a moderated debate."""

import json
import re
from pathlib import Path

import pytest

from formats import EVIDENCE
from hansard import vocabulary
from hansard.cli.summary import say_ended
from hansard.report.formats.moderated.watch import soft
from hansard.runtime.models.base import Completion, ModelError
from playing import POSITIONS, weak
from reporting import note_of, noted, of, ran
from support import PAPER, argued, eventful

LATE = {"id": "late", "text": "It failed twice.", "from_round": 2}
FINDING = {
    "scores": {"proposer": 8, "critic": 7, "rebuttal": 6},
    "resolved_points": ["when it is due"],
    "unresolved_points": ["who pays", "in what\ncurrency"],
    "recommend_another_round": False,
    "synthesis": "Thirty days it is.",
    "confidence": "MODERATE",
    "explicit_uncertainties": ["holidays"],
    "upholds_proposition": True,
}
CLAIMS = [argued(("memo", "thirty  days"), words="It is due."), argued(("memo", "sixty days"))]
ENDS = {
    "framing": {"thesis": "It is due.", "scope": "This bill.", "key_evidence": ["memo"]},
    "proposition": {"thesis": "T", "supporting_arguments": CLAIMS, "anticipated_objections": ["x"]},
    "critique:1": weak(4),
    "critique:2": {
        "thesis": "No.",
        "counter_arguments": [argued(("none", "x")), argued(words="Nobody pays."), argued()],
        "challenge_strength": 7,
    },
    "rebuttal": {
        "rebuttals": [{"objection": 2, "answer": "They do.", "citations": []}],
        "concessions": [],
    },
    "moderation": FINDING,
}


@pytest.fixture(scope="module")
def result():
    return ran("moderated", ENDS)


def test_the_outcome_is_the_moderators(result):
    assert (result.status, result.reason) == ("complete", "moderator_satisfied")
    assert (result.decision, result.decision_rule) == ("upheld", "moderator_synthesis")
    found = result.moderation
    assert found.scores == {"proposer": 8, "critic": 7, "rebuttal": 6}
    assert (found.confidence, found.synthesis) == ("MODERATE", "Thirty days it is.")
    assert found.resolved_points == ("when it is due",)
    assert found.unresolved_points == ("who pays", "in what\ncurrency")
    assert (found.unresolved, found.explicit_uncertainties) == (2, ("holidays",))
    assert (found.upholds, found.ranking, found.recommend_another_round) == (True, (), False)
    assert not result.wants_more
    assert result.debater_ids == ("proposer", "critic", "rebuttal")


def test_the_framing_is_shown(result):
    framing = result.framing
    assert (framing.thesis, framing.scope) == ("It is due.", "This bill.")
    assert (framing.criteria, framing.key_evidence) == (("so",), ("memo",))


def test_citations_are_shown_with_what_was_found_and_what_was_struck(result):
    first, second = result.rounds[0].exchanges[0].proposition.supporting_arguments
    assert (first.number, first.text, first.struck, first.uncited) == (
        1,
        "It is due.",
        False,
        False,
    )
    (cited,) = first.citations
    assert (cited.document, cited.quote, cited.finding) == ("memo", "thirty  days", "verified")
    assert (second.citations[0].finding, second.struck) == ("not_found", True)
    critique = result.rounds[0].exchanges[0].critique
    marks = [(row.struck, row.uncited) for row in critique.counter_arguments]
    assert marks == [(True, False), (False, True), (False, True)]


def test_objections_without_an_answer_are_named(result):
    rebuttal = result.rounds[0].exchanges[0].rebuttal
    assert [(row.objection, row.text) for row in rebuttal.rebuttals] == [(2, "They do.")]
    assert rebuttal.unanswered == (3,)


def test_a_rebuttal_that_was_not_heard_answers_nothing():
    result = ran("moderated", {**ENDS, "rebuttal": ModelError("client_error")})
    rebuttal = result.rounds[0].exchanges[0].rebuttal
    assert (rebuttal.status, rebuttal.unanswered) == ("forfeited", (2, 3))


def test_first_ratings_stand_beside_the_last(result):
    critique = result.rounds[0].exchanges[0].critique
    assert (critique.challenge_strength, critique.first_rating) == (7, 4)
    assert (critique.weak, critique.prompt_review) == (False, True)


@pytest.mark.parametrize(
    ("first", "last", "shown", "is_weak", "review"),
    [
        (7, 7, (7, None), False, False),
        (5, 5, (5, 5), True, False),
        (5, 4, (4, 5), True, True),
        (4, 6, (6, 4), False, True),
    ],
)
def test_ratings_decide_what_is_weak_and_what_wants_a_review(first, last, shown, is_weak, review):
    ends = {"critique:1": weak(first), "critique:2": weak(last)}
    found = ran("moderated", ends).rounds[0].exchanges[0].critique
    assert (found.challenge_strength, found.first_rating) == shown
    assert (found.weak, found.prompt_review) == (is_weak, review)


def test_a_critique_below_a_higher_minimum_is_weak_though_it_was_not_sent_back():
    ends = {"critique": weak(6)}
    result = ran("moderated", ends, min_challenge_strength=8)
    assert result.rounds[0].exchanges[0].critique.weak
    assert noted(result, "prompt_review") == []
    assert "rates it 6 of 10, below the minimum of 8" in note_of(result, "weak_critique").message


def test_what_code_sees_is_noted_with_its_severity(result):
    fabricated = [note for note in result.notes if note.code == "fabricated_citation"]
    assert [note.severity for note in fabricated] == ["critical", "critical"]
    assert fabricated[0].message == (
        "proposer (round 1, proposition) gives citations that do not hold (argument 2, citation 1: "
        "not found in the document); argument 2 was struck"
    )
    assert note_of(result, "prompt_review").severity == "warning"
    assert [words for _, words in noted(result, "uncited")] == [
        "critic (round 1, critique) cites nothing for argument 2, 3",
        "rebuttal (round 1, rebuttal) cites nothing for argument 1",
    ]
    assert "leaves objection 3 unanswered" in note_of(result, "unanswered").message
    assert "the critic itself rates it too weak (4 of 10); retried" in (
        note_of(result, "rejected").message
    )
    assert note_of(result, "self_rated").severity == "info"


def test_a_second_round_shows_new_documents_and_changed_theses():
    ends = {
        **ENDS,
        "r1.moderation.moderator": {**FINDING, "recommend_another_round": True},
        "r2.proposition.proposer": {"thesis": "T2", "supporting_arguments": CLAIMS},
    }
    result = ran("moderated", ends, max_rounds=2, evidence=[EVIDENCE, LATE])
    assert [row.new_documents for row in result.rounds] == [("memo",), ("late",)]
    (moved,) = result.drift
    assert (moved.what, moved.speaker, moved.round_index) == ("thesis", "proposer", 2)
    assert (moved.before, moved.after, moved.towards) == ("T", "T2", ())
    assert [row.moderation.recommend_another_round for row in result.rounds] == [True, False]
    assert result.moderation == result.rounds[1].moderation


def test_a_moderator_that_always_wants_more_leaves_its_points_open():
    ends = {**ENDS, "moderation": {**FINDING, "recommend_another_round": True}}
    result = ran("moderated", ends, max_rounds=2)
    assert (result.rounds_run, result.reason, result.wants_more) == (
        2,
        "max_rounds_exhausted",
        True,
    )
    assert note_of(result, "still_open").message.endswith("points still open: 2")
    assert "open_point: in what currency\n" in result.to_report()


def test_a_debate_that_was_cut_short_gives_its_last_moderation():
    ends = {**ENDS, "moderation": {**FINDING, "recommend_another_round": True}}
    result = ran("moderated", ends, max_rounds=2, limits={"calls": 7})
    assert (result.status, result.reason, result.decision) == ("truncated", "calls_ceiling", None)
    assert result.moderation.synthesis == "Thirty days it is."
    assert not result.wants_more
    assert result.rounds[1].moderation is None
    assert result.rounds[1].exchanges[0].critique is None
    assert result.source()["status"] == "DEBATE_TRUNCATED"
    assert result.source()["rounds"][1]["criticPosition"] is None
    assert result.to_report().endswith("status: truncated\nstopped: calls_ceiling")


def test_a_debate_cut_short_before_any_moderation_says_so():
    result = ran("moderated", ENDS, limits={"calls": 2})
    assert (result.moderation, result.wants_more) == (None, False)
    assert "confidence: none\n" in result.to_report()


def test_a_critique_that_no_rewrite_came_of_counts_and_is_weak():
    result = ran("moderated", ENDS, limits={"calls": 3})
    critique = result.rounds[0].exchanges[0].critique
    assert (critique.status, critique.challenge_strength, critique.first_rating) == (
        "counted",
        4,
        4,
    )
    assert (critique.weak, critique.prompt_review) == (True, True)
    assert result.rounds[0].exchanges[0].rebuttal is None
    assert "counts but is weak: the critic itself rates it 4 of 10, below the minimum of 6" in (
        note_of(result, "weak_critique").message
    )
    assert "cut short before r1.critique.critic" in note_of(result, "truncated").message


def test_a_moderator_that_cannot_be_heard_fails_the_debate():
    result = ran("moderated", {**ENDS, "moderation": ModelError("client_error")})
    assert (result.status, result.reason) == ("failed", "moderator_failed")
    assert result.moderation is None
    assert result.rounds[0].moderation.status == "forfeited"
    assert note_of(result, "moderator_failed").severity == "critical"
    assert result.source()["status"] == "FAILED"
    assert result.source()["rounds"][0]["moderatorEvaluation"] is None


@pytest.mark.parametrize(
    ("upholds", "code"), [(True, "neutrality_unchanged"), (False, "neutrality_changed")]
)
def test_the_neutrality_check_says_whether_the_outcome_changed(upholds, code):
    ends = {**ENDS, "neutrality": {**FINDING, "upholds_proposition": upholds}}
    result = ran("moderated", ends, neutrality_check=True)
    assert result.neutrality.changed is (not upholds)
    assert result.neutrality.moderation.upholds is upholds
    assert result.moderation.upholds is True
    assert result.decision == "upheld"
    note_of(result, code)


def test_a_neutrality_check_that_was_not_heard_says_nothing():
    ends = {**ENDS, "neutrality": ModelError("client_error")}
    result = ran("moderated", ends, neutrality_check=True)
    assert result.neutrality.changed is None
    assert result.neutrality.moderation.status == "forfeited"


def test_several_positions_are_ranked_and_shown_one_by_one():
    finding = {
        **FINDING,
        "scores": dict.fromkeys(["build", "buy", "wait", "critic", "rebuttal"], 5),
    }
    del finding["upholds_proposition"]
    ends = {
        "moderation": {**finding, "ranking": ["wait", "build", "buy"]},
        "r1.critique-2.critic": ModelError("client_error"),
    }
    result = ran("moderated", ends, positions=POSITIONS)
    assert (result.decision, result.decision_rule) == ("wait", "moderator_ranking")
    assert result.argued_by == "p3"
    assert result.moderation.ranking == ("wait", "build", "buy")
    assert (result.moderation.upholds, result.moderation.scores["buy"]) == (None, 5)
    assert (result.positions[0].label, result.positions[0].text) == ("build", "We build.")
    exchanges = result.rounds[0].exchanges
    assert [row.position for row in exchanges] == ["build", "buy", "wait"]
    assert [row.proposition.speaker for row in exchanges] == ["p1", "p2", "p3"]
    assert [row.critique.status for row in exchanges] == ["counted", "forfeited", "counted"]
    assert [row.rebuttal is not None for row in exchanges] == [True, False, True]
    assert "ranking: [wait, build, buy]\n" in result.to_report()
    record = result.source()["rounds"][0]
    assert [row["position"] for row in record["positions"]] == ["We build.", "We buy.", "We wait."]
    assert record["proposerPosition"] == record["positions"][0]["proposerPosition"]
    assert record["moderatorEvaluation"]["ranking"] == ["We wait.", "We build.", "We buy."]
    scores = record["moderatorEvaluation"]["argumentQualityScore"]
    assert list(scores) == ["We build.", "We buy.", "We wait.", "critic", "rebuttal"]


def test_tokens_are_summed_by_role_and_round():
    case = {"thesis": "T", "supporting_arguments": CLAIMS, "anticipated_objections": []}

    def reply(request):
        return Completion(json.dumps(case), tokens_in=100, tokens_out=20)

    result = ran("moderated", {**ENDS, "proposition": reply})
    assert result.rounds[0].token_cost["proposer"] == 120
    assert result.source()["rounds"][0]["tokenCost"] == {
        "proposer": 120,
        "critic": 0,
        "rebuttal": 0,
        "moderator": 0,
    }


def test_the_text_report_is_a_line_a_signal(result):
    assert result.to_report() == (
        "debater_ids: [proposer, critic, rebuttal]\n"
        "rounds_run: 1\n"
        "max_rounds: 1\n"
        "phase_sequence: [framing, proposition, critique, rebuttal, moderation]\n"
        "speaker_schedule: [framer, proposer, critic, rebuttal, moderator]\n"
        "decision: upheld\n"
        "decision_rule: moderator_synthesis\n"
        "confidence: MODERATE\n"
        "scores: {proposer: 8, critic: 7, rebuttal: 6}\n"
        "synthesis: Thirty days it is.\n"
        "open_points: 2\n"
        "open_point: who pays\n"
        "open_point: in what currency\n"
        "uncertainty: holidays\n"
        "status: complete\n"
        "stopped: moderator_satisfied"
    )


def test_without_texts_the_findings_stay():
    debate = eventful("moderated")
    whole, bare = of(debate), of(debate, lambda _: None)
    assert bare.moderation.scores == whole.moderation.scores
    assert (bare.moderation.synthesis, bare.moderation.unresolved) == (None, 2)
    for one, other in zip(whole.rounds, bare.rounds, strict=True):
        for said, gone in zip(one.exchanges, other.exchanges, strict=True):
            assert gone.critique.challenge_strength == said.critique.challenge_strength
            assert gone.rebuttal.unanswered == said.rebuttal.unanswered
            pairs = zip(
                gone.critique.counter_arguments, said.critique.counter_arguments, strict=True
            )
            for lost, kept in pairs:
                assert (lost.struck, lost.uncited, lost.text) == (kept.struck, kept.uncited, None)
                assert [row.finding for row in lost.citations] == [
                    row.finding for row in kept.citations
                ]
    assert bare.framing.thesis is None
    assert bare.drift == ()
    assert {share.share_ppm for share in bare.shares} == {None}
    assert bare.source()["rounds"][0]["proposerPosition"]["thesis"] == "[text not available]"


def test_a_missing_ceiling_is_noted_only_where_a_price_is_not_known(result):
    assert note_of(result, "no_ceiling").severity == "warning"
    price = {"python:bot": {"input": "1", "output": "1"}}
    priced = ran("moderated", ENDS, prices=price, limits={"cost_usd": None})
    assert noted(priced, "no_ceiling") == []
    assert noted(ran("panel"), "no_ceiling") == []


# A critique that is none, whatever its critic says of it (RULES.md D 23)


@pytest.mark.parametrize(
    ("thesis", "phrase"),
    [
        ("This is generally reasonable, the font is small.", "generally reasonable"),
        ("Largely sound; see minor concerns.", "largely sound"),
        ("I mostly  AGREE.", "mostly agree"),
        ("It is not generally reasonable.", None),
        ("It isn't broadly sound, and mostly agree with nobody.", "mostly agree"),
        ("A reasonable reader, generally, objects.", None),
        ("Ungenerally reasonable.", None),
        ("", None),
        ("generally", None),
    ],
)
def test_a_phrase_that_concedes(thesis, phrase):
    assert soft(thesis) == phrase


def test_a_soft_critique_without_a_quote_stands_on_the_first_screen_beside_its_own_nine(capsys):
    critique = {
        "thesis": "This is generally reasonable, the font is small.",
        "counter_arguments": [argued()],
        "challenge_strength": 9,
    }
    result = ran("moderated", {"critique": critique})
    assert "own rating of it is 9 of 10" in note_of(result, "soft_critique").message
    assert "no quote of it was found" in note_of(result, "uncited_critique").message
    say_ended(result, aside=False)
    told = " ".join(capsys.readouterr().out.split())
    assert "it says “generally reasonable”" in told
    assert "no quote of it was found in the evidence" in told
    row = next(row for row in result.governance if row.code == "critic_rating")
    assert row.review
    assert "no measure" in row.found


def test_a_critique_that_cites_and_attacks_is_no_sham():
    critique = {"thesis": "It fails.", **weak(9)}
    result = ran("moderated", {"critique": critique})
    assert not {"soft_critique", "uncited_critique"} & {note.code for note in result.notes}


def test_a_critique_that_nobody_could_quote_for_is_not_called_uncited():
    result = ran("moderated", {}, evidence=[])
    assert "uncited_critique" not in {note.code for note in result.notes}


@pytest.mark.parametrize(("doubts", "noted"), [([], True), (["The price."], False)])
def test_high_confidence_without_a_doubt(doubts, noted):
    said = {"moderation": {"confidence": "HIGH", "explicit_uncertainties": doubts}}
    result = ran("moderated", said)
    assert ("no_uncertainty" in {note.code for note in result.notes}) is noted


def test_the_phrases_are_those_of_the_rules():
    rules = (Path(__file__).parents[3] / "schemas" / "RULES.md").read_text("utf-8")
    stated = re.search(r"right before them, one of (.+?)\. A rating of 9", rules)[1]
    assert re.findall("`(.+?)`", stated) == vocabulary.word("soft").split(", ")


# Documents that were files

PAGED = eventful("moderated")


def test_a_citation_shows_its_page_where_the_document_has_pages():
    result = of(PAGED)
    rows = result.rounds[0].exchanges[0]
    (holds,) = rows.proposition.supporting_arguments[0].citations
    (invented,) = rows.proposition.supporting_arguments[1].citations
    assert (holds.document, holds.finding, holds.page) == ("memo", "verified", 1)
    assert (invented.finding, invented.page) == ("not_found", None)
    second = rows.critique.counter_arguments[2].citations[0]
    assert (second.quote, second.finding, second.page) == ("nobody knows", "verified", 2)
    later = result.rounds[1].exchanges[0].critique.counter_arguments[0].citations[0]
    assert (later.document, later.finding, later.page) == ("later", "verified", None)
    report = result.to_markdown()
    assert "- memo, p. 2, found in the document: nobody knows" in report
    assert "- later, found in the document: x" in report


def test_a_document_shows_the_file_that_it_was_taken_from():
    result = of(PAGED)
    memo, later = result.evidence
    kept = PAGED.record.all("evidence.admitted")[0]["original"]["sha256"]
    assert memo.source.model_dump() == {
        "media_type": "application/pdf",
        "sha256": PAPER.sha256,
        "extractor": "extractor/1",
        "pages": 2,
        "original": kept,
    }
    assert later.source is None
    row = f"| `memo` | PDF, 2 pages, text taken by extractor/1, original kept | {PAPER.sha256} |"
    assert row in result.to_markdown()


def test_what_is_gone_of_a_file_is_said():
    names = PAGED.record.all("evidence.admitted")[0]
    gone = {names["text"]["sha256"], names["source"]["file"]["sha256"]}
    gone |= {names["original"]["sha256"]}
    texts = {name: text for name, text in PAGED.record.texts.items() if name not in gone}
    result = of(PAGED, texts.get)
    assert result.evidence[0].source.sha256 is None
    cited = result.rounds[0].exchanges[0].critique.counter_arguments[2].citations[0]
    assert (cited.finding, cited.page) == ("verified", None)
    said = [note.message for note in result.notes if note.code == "text_gone"]
    for what in ("document memo", "hash of the file of", "original of"):
        assert any(what in words for words in said), what
