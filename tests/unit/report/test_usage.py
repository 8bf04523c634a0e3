"""What a debate used, what the cache saved, what counts against ceilings, what went wrong."""

import pytest

from hansard.report.fold import fold
from hansard.report.notes import of_event
from hansard.report.reviews import Reader
from hansard.report.words import MISSES, REJECTIONS, dollars, rejection
from hansard.rules.state import DebateState, evolve
from hansard.runtime.models.base import Wire
from reporting import note_of, noted, of
from support import PRICE, SERVED, Debate, Fail, Reply, Setup, script, vote

SETTINGS = {"structured": "tool", "base_url": "http://127.0.0.1:8000/v1", "temperature": "0.7"}


def used(tokens_in=1000, cached=400, written=300, tokens_out=10):
    """A vote that says what it used."""
    return lambda _: vote(
        "release",
        tokens=(tokens_in, cached, tokens_out),
        more={"tokens_cache_write": written},
    )


def result(ends=None, usual=None, **setup):
    return of(Debate(Setup(**setup), script(ends or {}, usual or used())).run())


def test_each_seat_shows_what_it_used_and_what_the_cache_saved():
    found = result({"r1.proposal.critic:1": Fail("timeout")}, prices=True)
    planner, critic, _ = found.seats
    assert (planner.calls, planner.failed, critic.calls, critic.failed) == (1, 0, 2, 1)
    assert (planner.tokens_in, planner.tokens_cached, planner.tokens_cache_write) == (
        1000,
        400,
        300,
    )
    assert planner.cached_ppm == found.totals.cached_ppm == 400_000
    # 300 in at 2.50, 400 at 0.25, 300 at 3.125 and 10 out at 10, all per million, rounded up;
    # without the cache 1000 at 2.50 and 10 at 10.
    assert planner.cost_micro_usd == 1888
    assert planner.saved_micro_usd == 2600 - 1888
    assert found.totals.saved_micro_usd == 3 * (2600 - 1888)
    assert (found.totals.calls, found.totals.failed) == (4, 1)


def test_a_cache_that_was_only_written_to_cost_more():
    found = result(usual=used(cached=0, written=1000), prices=True)
    assert found.seats[0].saved_micro_usd == -625
    assert found.seats[0].cached_ppm == 0
    assert "| -0.000625 |" in found.to_markdown()
    assert dollars(-1_500_000) == "-1.500000"


class Looked(list):
    """A list that counts its rows as they are looked at."""

    rows = 0

    def __iter__(self):
        for row in super().__iter__():
            self.rows += 1
            yield row

    def __reversed__(self):
        for row in super().__reversed__():
            self.rows += 1
            yield row


def test_the_prices_of_an_opening_are_not_looked_through_for_each_reply():
    debate = Debate(Setup(prices=True), script({}, used())).run()
    first, *rest = debate.record.events
    others = [{**PRICE, "model": f"model-{number}"} for number in range(1000)]
    prices = Looked([*others, PRICE, {**PRICE, "output_micro_usd": 0}])
    first = {**first, "data": {**first["data"], "prices": prices}}
    texts = debate.record.texts
    found = fold([first, *rest], texts.get, lambda _: {}, Reader())
    assert len(found.answers) == 3
    assert {row.saved_micro_usd for row in found.used.values()} == {2600 - 1888}
    assert prices.rows == len(prices)


def test_of_several_prices_of_a_model_the_first_counts():
    debate = Debate(Setup(prices=True), script({}, used())).run()
    first, *_ = debate.record.events
    dear = {**PRICE, "output_micro_usd": 1}
    opened = {**first, "data": {**first["data"], "prices": [PRICE, dear]}}
    assert evolve(DebateState(), opened).prices == {PRICE["model"]: PRICE}


def test_what_nobody_said_is_unknown_and_not_nothing():
    silent = result(usual=used(cached=None, written=None))
    assert silent.totals.cached_ppm is None
    assert (silent.totals.cost_micro_usd, silent.totals.saved_micro_usd) == (None, None)
    assert silent.charged.cost_micro_usd is None
    assert silent.prices == ()
    report = silent.to_markdown()
    assert "| 1000 | 0 | 0 | 10 | unknown | unknown |" in report
    assert "Not known: the price of `python:test`." in report
    assert result(usual=lambda _: vote("release")).totals.cached_ppm is None, "no tokens are known"


def test_a_cache_that_claims_more_than_there_was_is_all_of_it():
    assert result(usual=used(tokens_in=10, cached=99)).totals.cached_ppm == 1_000_000


def test_a_seat_without_a_price_is_unknown_beside_one_that_has_one():
    seats = [{"id": "ann"}, {"id": "bob", "model": "python:other"}]
    found = result(prices=True, debaters=seats)
    ann, bob = found.seats
    assert (ann.cost_micro_usd, ann.saved_micro_usd) == (1888, 712)
    assert (bob.cost_micro_usd, bob.saved_micro_usd) == (None, None)
    assert found.totals.cost_micro_usd == 1888
    assert found.unpriced == ("python:other",)


def test_the_price_is_named_with_who_says_so():
    found = result(prices=True)
    assert found.prices == (PRICE,)
    assert (
        "| `python:test` | `spec` | 2.500000 | 0.250000 | 3.125000 | 10.000000 |"
        in found.to_markdown()
    )


def test_what_counts_against_a_ceiling_stands_beside_what_is_known():
    silent = {"r1.proposal.critic": lambda _: vote("release")}
    found = result(silent, prices=True, limits={"cost_usd": "1", "tokens": 100_000})
    reserved = 32 + 4096 * 10  # ten tokens written to the cache, at 3.125 each, and the reply
    assert found.totals.cost_micro_usd == 2 * 1888
    assert found.charged.cost_micro_usd == 2 * 1888 + reserved
    assert found.charged.tokens == 2 * 1010 + 10 + 4096
    tokens, cost = (message for _, message in noted(found, "charged"))
    assert tokens.startswith("6126 tokens count against the ceiling and 2020 tokens are known")
    assert cost.startswith(
        f"{dollars(2 * 1888 + reserved)} US dollars count against the ceiling and "
        f"{dollars(2 * 1888)} US dollars are known to be used"
    )
    assert (
        "Ceilings: 100000 tokens (6126 tokens counted as used), 1.000000 US dollars "
        f"({dollars(2 * 1888 + reserved)} US dollars counted as used)." in found.to_markdown()
    )


@pytest.mark.parametrize(
    "setup", [{"prices": True}, {"prices": True, "limits": {"calls": 100, "seconds": 60}}]
)
def test_without_a_ceiling_on_it_nothing_counts_against_one(setup):
    silent = {"r1.proposal.critic": lambda _: vote("release")}
    assert noted(result(silent, **setup), "charged") == []
    assert noted(result(prices=True, limits={"cost_usd": "1"}), "charged") == []


def test_a_call_that_failed_is_told_with_status_request_and_wait():
    wire = Wire(status=429, request_id="req-7")
    found = result({"r1.proposal.critic:1": Fail("rate_limited", wait_ms=12_500, wire=wire)})
    assert noted(found, "failed")[1][1] == (
        "Call r1.proposal.critic:1 failed: rate limited (HTTP 429, request req-7); "
        "retried after 12.5 s"
    )


def test_a_request_id_that_is_no_id_is_not_shown():
    wire = Wire(status=500, request_id="evil\x1b[2K id")
    found = result({"r1.proposal.critic": Fail("server_error", wire=wire)}, attempts=1)
    assert noted(found, "failed")[1][1] == (
        "Call r1.proposal.critic:1 failed: server error (HTTP 500); not retried"
    )


def test_what_was_not_sent_as_rendered_is_named_of_replies_and_failures():
    other = {"sent_as_rendered": False, "sent": "{}"}
    failing = Fail("server_error", wire=Wire(status=500, **other))

    def usual(_):
        return vote("release", more=other)

    found = result({"r1.proposal.critic:1": failing}, usual, model=SERVED)
    assert note_of(found, "sent_otherwise").message == (
        "The request that was sent differs from the rendered prompt in r1.proposal.planner:1, "
        "r1.proposal.critic:1, r1.proposal.operator:1 and 1 more; the record keeps what was sent"
    )
    failing = Fail("server_error", wire=Wire(sent_as_rendered=True))
    plain = result({"r1.proposal.critic:1": failing}, model=SERVED)
    assert noted(plain, "sent_otherwise") == []


def test_a_rejection_says_where_the_reply_misses_its_schema():
    found = result(
        {
            "r1.proposal.planner:1": Reply('{"stance": "s", "rationale": "r"}'),
            "r1.proposal.critic:1": Reply('{"stance": "s", "rationale": "r", "vote": "both"}'),
            "r1.proposal.operator:1": Reply("[]"),
        }
    )
    said = [message.partition("count: ")[2] for _, message in noted(found, "rejected")]
    assert said == [
        '"vote" is missing; retried',
        '"vote" is not one of the allowed options; retried',
        "the reply has the wrong type; retried",
    ]


def test_every_rejection_has_words():
    for code in REJECTIONS:
        assert rejection(code, None, None, 4) == REJECTIONS[code].replace("{rating}", "4")
    for keyword, words in MISSES.items():
        assert rejection("schema", "vote", keyword) == f'"vote" {words}'
    assert rejection("schema", "vote", "maxProperties") == (
        '"vote" does not match the schema (maxProperties)'
    )


def test_the_parameters_of_the_debate_and_of_its_seats_are_shown():
    seats = [{"id": "ann"}, {"id": "bob"}]
    model = {"model": "vllm:qwen", "settings": SETTINGS}
    found = result(layout="role-first", leading_call=True, debaters=seats, **model)
    assert (found.layout, found.leading_call) == ("role-first", True)
    assert found.seats[1].parameters["base_url"] == SETTINGS["base_url"]
    report = found.to_markdown()
    assert (
        "Prompts were laid out as `role-first`, in parallel phases with one call ahead of the "
        "others." in report
    )
    asked = "`temperature` `0.7`, `structured` `tool`, `base_url` `http://127.0.0.1:8000/v1`"
    assert f"Settings of `bob`: {asked}." in report
    plain = result().to_markdown()
    assert "Prompts were laid out as `shared-prefix`.\n" in plain
    assert "Settings of" not in plain


def test_a_debate_that_was_cut_short_names_what_was_paid_for():
    found = result(prices=True, limits={"calls": 2})
    assert note_of(found, "truncated").message.endswith(
        f"; paid for: 2 calls, 2020 tokens, {dollars(2 * 1888)} US dollars"
    )
    unpriced = result(limits={"calls": 2})
    assert note_of(unpriced, "truncated").message.endswith("2020 tokens, no known price")


def test_no_note_holds_what_a_server_wrote():
    wire = Wire(status=500, request_id="SECRET words", sent_as_rendered=False, sent="SECRET body")
    failing = script({"r1.proposal.critic:1": Fail("server_error", wire=wire)})
    debate = Debate(Setup(model=SERVED), failing)
    debate.run()
    events = [event for event in debate.record.events if event["type"] == "call.failed"]
    notes = [
        row for event in events for row in of_event(debate.state, event, lambda _: "SECRET", {})
    ]
    assert notes
    assert "SECRET" not in str(notes)
