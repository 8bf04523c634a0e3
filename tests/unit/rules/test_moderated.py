"""The `moderated` format, driven by its rules alone (RULES.md §4; D 21 to D 28)."""

import pytest

from hansard.rules import steps
from hansard.rules.prompts import STRUCK
from hansard.rules.replay import NotDue, Replay
from support import (
    DEFAULTS,
    MEMO,
    Debate,
    Die,
    Fail,
    Reply,
    Setup,
    answered,
    argued,
    moderation,
    prompts,
    say,
    script,
    titles,
    walk,
)

FAIL = Fail("client_error")
GONE = {}.get
POSITIONS = DEFAULTS["judged"]["debaters"]
EVIDENCE = (("memo", MEMO, 1), ("late", "It was the cable.", 2))
MORE = moderation(recommend_another_round=True)
VERIFIED, INVENTED = argued(("memo", "failed twice")), argued(("memo", "failed thrice"))


def moderated(ends=None, **fields):
    return Debate(Setup("moderated", **({"evidence": EVIDENCE[:1]} | fields)), script(ends)).run()


def ranked(ends=None, **fields):
    usual = {"moderation": say(ranking=["wait", "ship", "drop"])}
    return moderated(usual | (ends or {}), positions=POSITIONS, **fields)


def decision(debate):
    found = debate.state.decision
    return found and (found["decision"], found["rule"])


def asked(debate):
    """The steps that were asked for, each once."""
    return [*dict.fromkeys(row["step"] for row in debate.record.all("call.started"))]


def turn(debate, step):
    return next(row.data for row in debate.state.turns if row.data["step"] == step)


def case(debate, step):
    return turn(debate, step)["case"]


def codes(debate):
    return [row["code"] for row in debate.record.all("turn.rejected")]


def shown(debate, call):
    return prompts(debate)[call]["user"]


# Schedule


ROUND = ("proposition.proposer", "critique.critic", "rebuttal.rebuttal", "moderation.moderator")


def test_one_proposition_is_framed_proposed_attacked_defended_and_moderated():
    debate = moderated()
    assert asked(debate) == ["r1.framing.framer", *(f"r1.{row}" for row in ROUND)]
    assert decision(debate) == ("not_upheld", "moderator_synthesis")
    assert debate.state.closed == {"outcome": "complete", "reason": "moderator_satisfied"}


@pytest.mark.parametrize(("upholds", "found"), [(True, "upheld"), (False, "not_upheld")])
def test_the_moderator_states_whether_it_upholds_the_proposition(upholds, found):
    debate = moderated({"moderation": say(upholds_proposition=upholds)})
    assert decision(debate) == (found, "moderator_synthesis")
    assert debate.state.verdict["upholds"] is upholds


@pytest.mark.parametrize(("wanted", "rounds"), [(0, 1), (1, 2), (2, 3), (3, 3)])
def test_rounds_go_on_as_far_as_the_moderator_wants_and_the_cap_allows(wanted, rounds):
    ends = {f"r{n}.moderation.moderator": MORE for n in range(1, wanted + 1)}
    debate = moderated(ends, max_rounds=3)
    assert asked(debate)[1:] == [f"r{n}.{row}" for n in range(1, rounds + 1) for row in ROUND]
    satisfied = "moderator_satisfied" if wanted < 3 else "max_rounds_exhausted"
    assert debate.state.closed["reason"] == satisfied
    assert debate.state.decision["rounds_run"] == rounds


def test_several_positions_are_proposed_at_once_and_taken_one_by_one():
    debate = Debate(Setup("moderated", positions=POSITIONS), script())
    at_once = []
    while (due := debate.due()) is not None:
        if isinstance(due, steps.Ask) and due.steps:
            at_once.append([step.id for step in due.steps])
        debate.do(due)
    pairs = [[f"r1.{p}-{n}.{s}"] for n in (1, 2, 3) for p, s in (CRITIQUE, REBUTTAL)]
    proposals = [f"r1.proposition.{seat}" for seat in ("ann", "bob", "cat")]
    assert at_once == [["r1.framing.framer"], proposals, *pairs, ["r1.moderation.moderator"]]


CRITIQUE, REBUTTAL = ("critique", "critic"), ("rebuttal", "rebuttal")


def test_without_critique_positions_are_only_proposed_and_ranked():
    debate = ranked(critique=False)
    assert asked(debate)[1:] == [
        *(f"r1.proposition.{seat}" for seat in ("ann", "bob", "cat")),
        "r1.moderation.moderator",
    ]
    assert decision(debate) == ("wait", "moderator_ranking")


def test_a_proposal_that_was_not_heard_is_neither_attacked_nor_defended():
    debate = ranked({"bob": FAIL, "moderation": say(ranking=["ship", "drop", "wait"])})
    assert not any("-2" in step for step in asked(debate))
    assert decision(debate) == ("ship", "moderator_ranking")


def test_an_attack_that_was_not_heard_is_not_answered():
    debate = moderated({"critique": FAIL})
    assert "r1.rebuttal.rebuttal" not in asked(debate)


def test_a_framing_that_was_not_heard_leaves_the_question_as_it_is():
    debate = moderated({"framing": FAIL})
    assert titles(shown(debate, "r1.proposition.proposer:1")) == ["question", "evidence memo"]
    assert decision(debate) == ("not_upheld", "moderator_synthesis")


# Views


FRAMED = ["question", "evidence memo", "framing, round 1"]
SPOKEN = [f"{phase}, round 1" for phase in ("proposition", "critique", "rebuttal", "moderation")]


def test_each_role_sees_what_came_before_it_and_nothing_else():
    debate = moderated({"moderation": MORE}, max_rounds=2, evidence=EVIDENCE)
    found = {call: titles(row["user"]) for call, row in prompts(debate).items()}
    for place, row in enumerate(ROUND):
        assert found[f"r1.{row}:1"] == [*FRAMED, *SPOKEN[:place]]
    again = [f"{phase}, round 2" for phase in ("proposition", "critique", "rebuttal")]
    for place, row in enumerate(ROUND):
        assert found[f"r2.{row}:1"] == [*FRAMED, *SPOKEN, "evidence late", *again[:place]]


def test_proposers_of_several_positions_do_not_see_each_others():
    found = {call: titles(row["user"]) for call, row in prompts(ranked()).items()}
    opening = ["question", "stance ship", "stance wait", "stance drop", *FRAMED[1:]]
    for seat in ("ann", "bob", "cat"):
        assert found[f"r1.proposition.{seat}:1"] == opening
    proposed = [f"proposition {row['label']}, round 1" for row in POSITIONS]
    assert found["r1.critique-2.critic:1"] == [
        *opening,
        *proposed,
        "critique ship, round 1",
        "rebuttal ship, round 1",
    ]
    assert found["r1.rebuttal-3.rebuttal:1"][-1] == "critique drop, round 1"


def test_each_is_told_whom_it_speaks_for_or_against():
    one, several = moderated(), ranked()
    assert shown(one, "r1.critique.critic:1").endswith(
        "<critic position=the proposition round=1>\n"
    )
    for call, own in [
        ("r1.proposition.bob:1", "<proposer position=wait round=1>\n"),
        ("r1.critique-3.critic:1", "<critic position=drop round=1>\n"),
        ("r1.rebuttal-1.rebuttal:1", "<rebuttal position=ship round=1>\n"),
        (
            "r1.moderation.moderator:1",
            "<moderator_ranking citations=there are none positions=ship, wait, drop round=1>\n",
        ),
    ]:
        assert shown(several, call).endswith(own)


def test_arguments_are_shown_point_by_point_and_quoted():
    text = shown(moderated({"proposition": say(thesis="T")}), "r1.critique.critic:1")
    assert "| thesis: T\n| supporting_arguments 1:\n|   argument: so\n|   citations: none\n" in text
    assert "| anticipated_objections: none\n" in text


# Citations


@pytest.mark.parametrize(
    ("citation", "finding"),
    [
        (("memo", "It failed twice"), "verified"),
        (("memo", "failed  twice,\nand"), "verified"),
        (("memo", MEMO), "verified"),
        (("memo", "it failed twice"), "not_found"),
        (("memo", "failed thrice"), "not_found"),
        (("Memo", "It failed twice"), "no_such_document"),
        (("memo ", "It failed twice"), "no_such_document"),
        (("late", "It was the cable."), "not_yet_visible"),
        (("late", "anything"), "not_yet_visible"),
    ],
)
@pytest.mark.parametrize(
    ("step", "arguments"),
    [
        ("r1.proposition.proposer", "supporting_arguments"),
        ("r1.critique.critic", "counter_arguments"),
        ("r1.rebuttal.rebuttal", "rebuttals"),
    ],
)
def test_every_citation_of_every_side_is_checked(citation, finding, step, arguments):
    row = answered(1, citation) if arguments == "rebuttals" else argued(citation)
    debate = moderated({step: say(**{arguments: [row]})}, max_rounds=2, evidence=EVIDENCE)
    found = case(debate, step)
    assert found["citations"] == [{"argument": 1, "citation": 1, "finding": finding}]
    assert found["struck"] == ([] if finding == "verified" else [1])
    assert found["arguments"] == 1


@pytest.mark.parametrize(
    ("play", "step", "most"),
    [
        (moderated, "proposition.proposer", 500),
        (moderated, "critique.critic", 500),
        (moderated, "rebuttal.rebuttal", 500),
        (ranked, f"proposition.{POSITIONS[0]['id']}", 166),
    ],
)
def test_a_reply_has_so_many_citations_shared_among_the_proposers_or_does_not_count(
    play, step, most
):
    point = {"argument": "so", "objection": 1, "answer": "so"}
    name = {"c": "counter_arguments", "p": "supporting_arguments", "r": "rebuttals"}[step[0]]
    keys = ("objection", "answer") if name == "rebuttals" else ("argument",)
    for more, expected in ((0, []), (1, ["schema"])):
        cited = [{"document": "memo", "quote": "failed"}] * (most + more)
        rows = [cited[begin : begin + 10] for begin in range(0, len(cited), 10)]
        points = [{key: point[key] for key in keys} | {"citations": row} for row in rows]
        debate = play({f"r1.{step}:1": say(**{name: points})})
        assert codes(debate) == expected
        for row in debate.record.all("turn.rejected"):
            assert (row["member"], row["keyword"]) == ("citations", "minItems")


def test_what_was_not_yet_visible_may_be_cited_once_it_is():
    ends = {
        "moderation": MORE,
        "proposition": say(supporting_arguments=[argued(("late", "cable"))]),
    }
    debate = moderated(ends, max_rounds=2, evidence=EVIDENCE)
    findings = [case(debate, f"r{n}.proposition.proposer")["citations"][0] for n in (1, 2)]
    assert [row["finding"] for row in findings] == ["not_yet_visible", "verified"]


def test_citations_of_two_documents_that_have_one_text_hold():
    evidence = (("memo", MEMO, 1), ("copy", MEMO, 1))
    cited = argued(("memo", "failed twice"), ("copy", "failed twice"))
    debate = moderated({"proposition": say(supporting_arguments=[cited])}, evidence=evidence)
    text = debate.record.all("evidence.admitted")[0]["text"]
    replay, found = Replay(debate.record.texts.get), []
    for event in debate.record.events:
        copied = event["type"] == "evidence.admitted"
        data = event["data"] | ({"text": text} if copied else {})
        found += replay.step({**event, "data": data})
    assert {row.field for row in found} == {"prompt"}, "its texts alone are others"


def test_one_citation_that_does_not_hold_strikes_its_argument_and_no_other():
    both = argued(("memo", "failed twice"), ("memo", "failed thrice"))
    debate = moderated({"proposition": say(supporting_arguments=[VERIFIED, both, argued()])})
    found = case(debate, "r1.proposition.proposer")
    assert [(row["argument"], row["citation"]) for row in found["citations"]] == [
        (1, 1),
        (2, 1),
        (2, 2),
    ]
    assert (found["arguments"], found["struck"]) == (3, [2])


def test_later_prompts_show_struck_arguments_as_struck():
    claims = {"proposition": say(supporting_arguments=[VERIFIED, INVENTED, argued()])}
    attacks = {"critique": say(counter_arguments=[INVENTED, VERIFIED])}
    answers = {"rebuttal": say(rebuttals=[answered(2), answered(2, ("memo", "nowhere"))])}
    debate = moderated(claims | attacks | answers)
    marked = [
        line for line in shown(debate, "r1.moderation.moderator:1").splitlines() if STRUCK in line
    ]
    assert marked == [
        f"| supporting_arguments 2{STRUCK}:",
        f"| counter_arguments 1{STRUCK}:",
        f"| rebuttals 2{STRUCK}:",
    ]
    assert STRUCK in shown(debate, "r1.critique.critic:1")


def test_the_moderator_is_told_what_came_of_every_citation_of_the_round():
    claims = {"proposition": say(supporting_arguments=[VERIFIED, INVENTED])}
    told = shown(moderated(claims), "r1.moderation.moderator:1")
    assert told.endswith(
        "<moderator citations=proposition, round 1, argument 1, citation 1: verified; "
        "proposition, round 1, argument 2, citation 1: not_found round=1>\n"
    )


def test_citations_are_told_by_the_titles_of_turns_and_never_by_who_speaks():
    ends = {
        "ann": say(supporting_arguments=[VERIFIED]),
        "critique-2": say(counter_arguments=[argued(), INVENTED]),
    }
    told = shown(ranked(ends), "r1.moderation.moderator:1").splitlines()[-1]
    assert told.startswith(
        "<moderator_ranking citations="
        "proposition ship, round 1, argument 1, citation 1: verified; "
        "critique wait, round 1, argument 2, citation 1: not_found "
    )


# Objections


def objections(attacks, rebuttals=(), concessions=(), **fields):
    rows = [{"objection": number, "reason": "so"} for number in concessions]
    ends = {
        "critique": say(counter_arguments=list(attacks)),
        "rebuttal": say(rebuttals=list(rebuttals), concessions=rows),
    }
    return moderated(ends, **fields)


@pytest.mark.parametrize(
    ("rebuttals", "concessions", "unanswered"),
    [
        ((), (), [1, 2, 4]),
        ((answered(1),), (), [2, 4]),
        ((answered(1), answered(4)), (2,), []),
        ((answered(3),), (), [1, 2, 4]),  # struck: it needs no answer
        ((), (4, 1), [2]),
        ((answered(2, ("memo", "invented")), answered(1)), (), [2, 4]),  # a struck answer is none
        ((answered(2), answered(2, ("memo", "invented"))), (), [1, 4]),
    ],
)
def test_objections_that_a_rebuttal_passes_over_are_named(rebuttals, concessions, unanswered):
    attacks = [argued(), VERIFIED, INVENTED, argued()]
    debate = objections(attacks, rebuttals, concessions)
    assert case(debate, "r1.rebuttal.rebuttal")["unanswered"] == unanswered


@pytest.mark.parametrize(
    ("rebuttals", "concessions"), [([answered(3)], ()), ((), (3,)), ((), (100,))]
)
def test_an_objection_that_does_not_exist_cannot_be_answered(rebuttals, concessions):
    debate = objections([argued(), argued()], rebuttals, concessions)
    assert codes(debate) == ["unknown_option"] * 3
    assert turn(debate, "r1.rebuttal.rebuttal")["reason"] == "invalid_reply"


@pytest.mark.parametrize("number", [0, 101, -1, "1", 1.0, True, None])
def test_the_number_of_an_objection_is_an_integer_from_1_to_100(number):
    assert codes(objections([argued()], [answered(number)])) == ["schema"] * 3


def test_each_position_has_its_own_objections():
    ends = {
        "critique-1": say(counter_arguments=[argued()]),
        "critique-3": say(counter_arguments=[argued()] * 3),
        "rebuttal-3": say(rebuttals=[answered(3)]),
    }
    debate = ranked(ends)
    assert case(debate, "r1.rebuttal-1.rebuttal")["unanswered"] == [1]
    assert case(debate, "r1.rebuttal-3.rebuttal")["unanswered"] == [1, 2]


# Weak critiques


WEAK = say(challenge_strength=4, thesis="It may be wrong.")


def test_a_weak_critique_is_sent_back_once_naming_its_rating_with_a_stronger_instruction():
    debate = moderated({"critique:1": WEAK, "critique": say(challenge_strength=7)})
    rejected = debate.record.all("turn.rejected")
    assert rejected == [
        {
            "step": "r1.critique.critic",
            "call": "r1.critique.critic:1",
            "code": "weak_critique",
            "member": None,
            "keyword": None,
            "rating": 4,
            "again": True,
        }
    ]
    first, again = (shown(debate, f"r1.critique.critic:{n}") for n in (1, 2))
    assert "critic_again" not in first
    assert again.startswith(first)
    end = again.removeprefix(first)
    assert end.startswith('[your critique that was sent back]\n| {"thesis": "It may be wrong."')
    assert end.endswith("\n<critic_again code=weak_critique rating=4>\n")
    assert case(debate, "r1.critique.critic")["rating"] == 7


def test_a_critique_is_sent_back_only_once_and_a_second_weak_one_counts():
    debate = moderated({"critique:1": WEAK, "critique": say(challenge_strength=2)})
    assert codes(debate) == ["weak_critique"]
    assert turn(debate, "r1.critique.critic")["call"] == "r1.critique.critic:2"
    assert case(debate, "r1.critique.critic")["rating"] == 2


@pytest.mark.parametrize("attempts", [1, 2])
@pytest.mark.parametrize("end", [FAIL, Fail("timeout"), Reply("?"), Reply("{}", finish="refusal")])
def test_a_weak_critique_counts_where_no_better_one_ever_comes(end, attempts):
    debate = moderated({"critique:1": WEAK, "critique": end}, attempts=attempts)
    found = turn(debate, "r1.critique.critic")
    assert (found["call"], found["case"]["rating"]) == ("r1.critique.critic:1", 4)
    calls = [row for row in debate.record.all("call.started") if "critique" in row["step"]]
    assert len(calls) == 1 + (1 if end == FAIL else attempts)  # sending back uses up no try
    assert "r1.rebuttal.rebuttal" in asked(debate)
    assert walk(debate.record.events, debate.record.texts.get) == []
    assert debate.state.turns[2].reply == debate.record.all("call.answered")[2]["reply"]


def test_a_weak_critique_survives_the_process_that_asked_for_it():
    debate = moderated({"critique:1": WEAK, "critique:2": Die(), "critique": FAIL})
    assert case(debate, "r1.critique.critic")["rating"] == 4
    assert shown(debate, "r1.critique.critic:3").endswith(
        "<critic_again code=weak_critique rating=4>\n"
    )


def test_each_critique_may_be_sent_back_once():
    debate = ranked({"critique:1": WEAK, "critique": say(challenge_strength=6)})
    assert [row["step"] for row in debate.record.all("turn.rejected")] == [
        f"r1.critique-{n}.critic" for n in (1, 2, 3)
    ]


@pytest.mark.parametrize("below", [1, 5, 6, 10])
def test_weak_is_what_the_spec_says(below):
    for rating in (1, 4, 5, 6, 9, 10):
        ends = {"critique": say(challenge_strength=rating)}
        debate = moderated(ends, require_critic_retry_below=below)
        assert codes(debate) == ["weak_critique"] * (rating < below)


@pytest.mark.parametrize("rating", [0, 11, -1, 7.0, 7.5, "7", True, None, [7]])
def test_a_rating_is_an_integer_from_1_to_10_and_anything_else_is_an_invalid_reply(rating):
    debate = moderated({"critique": say(challenge_strength=rating)})
    assert codes(debate) == ["schema"] * 3
    assert decision(debate) == ("escalate", "unchallenged")


def test_a_critique_that_is_gone_was_sent_back_only_as_one_can_be():
    debate = moderated({"critique:1": WEAK, "proposition:1": Reply("?")})
    for event in debate.record.events:
        if event["type"] != "turn.rejected":
            continue
        sent_back = event["data"]["code"] == "weak_critique"
        for rating in (1, 5, 6, 10, None):
            change = {"code": "weak_critique", "rating": rating, "again": True}
            wrong = {**event, "data": {**event["data"], **change}}
            events = [*debate.record.events[: event["seq"] - 1], wrong]
            if sent_back and rating and rating < 6:
                assert walk(events, GONE) == []
                continue
            with pytest.raises(NotDue) as caught:
                walk(events, GONE)
            assert caught.value.due == "turn.rejected with what can be said of its reply"


# Moderation


def test_a_moderation_is_counted_and_its_scores_stand_by_side():
    debate = moderated({"moderation": moderation(confidence="LOW")})
    found = debate.state.verdict
    assert [row["side"] for row in found["scores"]] == ["proposer", "critic", "rebuttal"]
    counted = [found[name] for name in ("resolved", "unresolved", "uncertainties", "confidence")]
    assert counted == [1, 2, 1, "LOW"]
    sides = [row["side"] for row in ranked().state.verdict["scores"]]
    assert sides == ["ship", "wait", "drop", "critic", "rebuttal"]
    sides = [row["side"] for row in ranked(critique=False).state.verdict["scores"]]
    assert sides == ["ship", "wait", "drop"]


def test_a_ranking_is_a_permutation_of_the_declared_positions():
    for labels, code in [
        (["wait", "wait", "drop"], "unknown_option"),
        (["wait", "ship", "do not drop"], "unknown_option"),
        (["wait", "ship"], "schema"),
        (["wait", "ship", "drop", "wait"], "schema"),
    ]:
        debate = ranked({"moderation:1": say(ranking=labels)})
        assert codes(debate) == [code]
    assert ranked().state.verdict["ranking"] == ["bob", "ann", "cat"]


@pytest.mark.parametrize("end", [FAIL, Reply("?"), Reply("{}"), Reply("so", finish="refusal")])
@pytest.mark.parametrize("step", ["r1.moderation.moderator", "r2.moderation.moderator"])
def test_a_moderator_who_cannot_be_heard_fails_the_debate_with_everything_kept(end, step):
    debate = moderated({step: end, "moderation": MORE}, max_rounds=2)
    assert debate.state.closed == {"outcome": "failed", "reason": "moderator_failed"}
    assert debate.state.decision is None
    assert len(debate.record.all("turn.recorded")) == 4 if step.startswith("r1") else 7


def test_without_any_proposal_nothing_is_moderated():
    for debate in (
        moderated({"proposer": FAIL}),
        ranked(dict.fromkeys(("ann", "bob", "cat"), FAIL)),
    ):
        assert debate.state.closed == {"outcome": "failed", "reason": "nobody_heard"}
        assert debate.state.decision is None
        assert not any("moderation" in step for step in asked(debate))


def test_a_position_that_was_never_proposed_cannot_come_first():
    debate = ranked({"bob": FAIL})
    assert debate.state.verdict["ranking"][0] == "bob"
    assert decision(debate) == ("escalate", "too_few_heard")


@pytest.mark.parametrize(
    "attack", [FAIL, Reply("?"), say(counter_arguments=[INVENTED]), say(counter_arguments=[])]
)
def test_what_nobody_challenged_is_not_upheld(attack):
    ends = {"critique": attack, "moderation": say(upholds_proposition=True)}
    assert decision(moderated(ends)) == ("escalate", "unchallenged")
    assert decision(ranked({"critique-2": attack})) == ("escalate", "unchallenged")
    assert decision(ranked({"critique-1": attack})) == ("wait", "moderator_ranking")


def test_one_argument_that_stands_is_a_challenge():
    debate = moderated({"critique": say(counter_arguments=[INVENTED, argued()])})
    assert decision(debate) == ("not_upheld", "moderator_synthesis")


STRUCK_CASE = say(supporting_arguments=[INVENTED, INVENTED])
UPHELD = say(upholds_proposition=True)


def test_what_rests_on_struck_arguments_alone_is_not_upheld():
    debate = moderated({"proposition": STRUCK_CASE, "moderation": UPHELD})
    assert decision(debate) == ("escalate", "unsupported")
    assert debate.state.decision["review"] == debate.state.spec["review"]
    assert walk(debate.record.events, debate.record.texts.get) == []
    assert decision(moderated({"proposition": STRUCK_CASE})) == (
        "not_upheld",
        "moderator_synthesis",
    )
    unchallenged = {"proposition": STRUCK_CASE, "critique": FAIL, "moderation": UPHELD}
    assert decision(moderated(unchallenged)) == ("escalate", "unchallenged")


@pytest.mark.parametrize("critique", [True, False])
def test_a_position_without_an_argument_that_stands_cannot_come_first(critique):
    found = [decision(ranked({who: STRUCK_CASE}, critique=critique)) for who in ("bob", "ann")]
    assert found == [("escalate", "unsupported"), ("wait", "moderator_ranking")]


def test_one_argument_that_stands_in_any_round_supports_a_position():
    one = say(supporting_arguments=[INVENTED, VERIFIED])
    assert decision(moderated({"proposition": one, "moderation": UPHELD}))[0] == "upheld"
    more = moderation(recommend_another_round=True, upholds_proposition=True)
    for round_ in (1, 2):
        ends = {f"r{round_}.proposition.proposer": STRUCK_CASE, "moderation": more}
        assert decision(moderated(ends, max_rounds=2))[0] == "upheld"
    both = {"proposition": STRUCK_CASE, "moderation": more}
    assert decision(moderated(both, max_rounds=2)) == ("escalate", "unsupported")


def test_a_challenge_of_an_earlier_round_still_stands():
    ends = {"r2.critique.critic": FAIL, "moderation": MORE}
    assert decision(moderated(ends, max_rounds=2)) == ("not_upheld", "moderator_synthesis")


# The check of neutrality


def test_a_neutrality_check_shows_the_sides_of_each_round_reversed():
    ends = {"moderation": MORE, "neutrality": say(upholds_proposition=True)}
    debate = moderated(ends, max_rounds=2, neutrality_check=True, evidence=EVIDENCE)
    assert asked(debate)[-1] == "r2.neutrality.moderator"
    first, second = ("rebuttal", "critique", "proposition"), (2,)
    assert titles(shown(debate, "r2.neutrality.moderator:1")) == [
        *("question", "evidence memo", "evidence late", "framing, round 1"),
        *(f"{phase}, round 1" for phase in first),
        "moderation, round 1",
        *(f"{phase}, round {n}" for n in second for phase in first),
    ]
    own = shown(debate, "r2.moderation.moderator:1").splitlines()[-1]
    assert shown(debate, "r2.neutrality.moderator:1").splitlines()[-1] == own


def test_nothing_rests_on_a_neutrality_check():
    for end in (say(upholds_proposition=True), FAIL, Reply("?")):
        debate = moderated({"neutrality": end}, neutrality_check=True)
        assert decision(debate) == ("not_upheld", "moderator_synthesis")
        assert debate.state.closed == {"outcome": "complete", "reason": "moderator_satisfied"}
    assert asked(moderated())[-1] == "r1.moderation.moderator"


# What a record may hold


def not_due(debate, change, step):
    """What was due instead of a step's turn with fields changed, every text gone."""
    events = []
    for event in debate.record.events:
        events.append(event)
        if (
            event["data"].get("step") == step
            and "call" in event["data"]
            and "round" in event["data"]
        ):
            break
    events[-1] = {**events[-1], "data": {**events[-1]["data"], **change}}
    try:
        return walk(events, GONE)
    except NotDue as error:
        return error.due


EMPTY = {"arguments": 1, "rating": None, "unanswered": [], "citations": [], "struck": []}
UNORDERED = (
    *({"struck": [2, 1]}, {"struck": [1, 1]}, {"struck": [1, 99]}),
    *({"unanswered": [2, 1]}, {"unanswered": [1, 1]}),
)


@pytest.mark.parametrize(
    ("step", "good", "bad"),
    [
        ("r1.framing.framer", {}, [{"case": EMPTY}, {"vote": "x"}]),
        ("r1.proposition.proposer", {"case": EMPTY}, [{"case": None}, {"vote": "x"}]),
        (
            "r1.proposition.proposer",
            {"case": EMPTY | {"arguments": 2, "struck": [1, 2], "unanswered": [1, 2]}},
            [{"case": EMPTY | {"arguments": 2} | lists} for lists in UNORDERED],
        ),
        (
            "r1.moderation.moderator",
            {"upholds": True},
            [
                *({"upholds": None}, {"confidence": None}, {"another_round": None}),
                {"ranking": ["proposer"]},
            ],
        ),
    ],
)
def test_a_turn_whose_reply_is_gone_has_the_form_that_a_reply_gives(step, good, bad):
    debate = moderated()
    assert not_due(debate, good, step) == []
    for change in bad:
        assert not_due(debate, change, step) == f"the turn {step} with what a reply can say"


def test_a_ranking_whose_reply_is_gone_is_a_permutation():
    step = "r1.moderation.moderator"
    assert not_due(ranked(), {"ranking": ["cat", "bob", "ann"]}, step) == []
    for change in ({"ranking": ["cat", "bob"]}, {"ranking": ["cat"] * 3}, {"upholds": True}):
        assert not_due(ranked(), change, step) == f"the turn {step} with what a reply can say"


CITED = {
    "proposition": say(supporting_arguments=[VERIFIED, INVENTED]),
    "critique": say(counter_arguments=[INVENTED, VERIFIED, argued()]),
    "rebuttal": say(rebuttals=[answered(2, ("memo", "failed twice"))]),
}


def without_memo(debate, **change):
    """Replay without the cited document and with a proposition's case changed."""
    gone = debate.record.all("evidence.admitted")[0]["text"]["sha256"]
    texts = {name: text for name, text in debate.record.texts.items() if name != gone}
    replay, found = Replay(texts.get), []
    for event in debate.record.events:
        data = event["data"]
        proposed = event["type"] == "turn.recorded" and data["phase"] == "proposition"
        altered = {**event, "data": {**data, **change}} if proposed else event
        found += [row.field for row in replay.step(altered)]
    return replay, found


def test_citations_of_a_document_that_is_gone_are_taken_as_recorded():
    debate = moderated(CITED)
    replay, found = without_memo(debate)
    assert (found, replay.unread) == ([], [])
    assert replay.uncited == [f"r1.{row}" for row in ROUND[:3]]
    recorded = case(debate, "r1.proposition.proposer")
    assert without_memo(debate, case=recorded | {"arguments": 3})[1] == ["arguments"]
    assert without_memo(debate, case=recorded | {"rating": 3})[1] == ["rating"]
    assert without_memo(debate, case=None)[1][0] == "case"
    for lists in UNORDERED:
        with pytest.raises(NotDue, match=r"r1\.proposition\.proposer with what a reply can say"):
            without_memo(debate, case=recorded | lists)


WANTED = "debater.registered for the seats of the terms, from framer to moderator"


def seated(debate, terms, *changes):
    """What was due when a debate is opened with other terms or seats."""
    events = [row for row in debate.record.events if row["type"].startswith("debate")][:-1]
    opened = events[0]["data"]
    events[0] = {**events[0], "data": opened | {"terms": opened["terms"] | terms}}
    for number, change in changes:
        events[number] = {**events[number], "data": {**events[number]["data"], **change}}
    try:
        walk(events, GONE)
    except NotDue as error:
        return error.due
    return None


STANCE = {"label": "ship", "text": {"sha256": "0" * 64}}


@pytest.mark.parametrize(
    ("terms", "change"),
    [
        ({}, (1, {"role": "proposer"})),
        ({}, (2, {"stance": STANCE})),
        ({}, (5, {"id": "upheld"})),
        ({"positions": ["ship"]}, (2, {"stance": STANCE})),
        ({"critique": False}, (1, {})),
    ],
)
def test_the_seats_are_those_of_the_terms(terms, change):
    debate = moderated()
    assert seated(debate, {}) is None
    assert seated(debate, terms, change) == WANTED


def test_positions_can_be_told_apart_from_each_other_and_from_roles():
    debate = ranked()
    assert seated(debate, {}) is None
    for label in ("ship", "critic"):
        change = (3, {"stance": {**STANCE, "label": label}})
        assert seated(debate, {"positions": ["ship", label, "drop"]}, change) == WANTED
