"""Why a debate failed, seat by seat, and what is to be mended."""

import pytest

from hansard import vocabulary
from hansard.report.causes import causes
from hansard.report.words import ERRORS
from hansard.rules.model_names import SERVERS
from hansard.runtime.models.base import Wire
from hansard.runtime.models.provider_rows import PROVIDERS
from support import Debate, Fail, Reply, Setup, script


def told(ends, format_="consensus", **fields):
    debate = Debate(Setup(format_, **fields), script(ends)).run()
    return causes(debate.state, debate.state.closed["reason"])


def failed(status, error="client_error"):
    return {"proposal": Fail(error, wire=Wire(status))}


@pytest.mark.parametrize(
    ("model", "ends", "mend"),
    [
        ("openai:m", failed(401), "HTTP 401, it did not accept the key); check OPENAI_API_KEY"),
        ("anthropic:m", failed(403), "check what ANTHROPIC_API_KEY may be used for"),
        ("google:m", failed(402), "add credit to the account of GOOGLE_API_KEY or GEMINI_API_KEY"),
        ("bedrock:m", failed(401), "check the AWS credentials"),
        ("openai:m", failed(404), "check the model's name and the seat's `base_url`"),
        (
            "ollama:m",
            failed(None, "unreachable"),
            "check the network, and the seat's `base_url` or what its function asks",
        ),
        ("openai:m", failed(418), "check the seat's model and settings"),
        ("python:f", failed(401), "check the credentials"),
        ("scripted:s.yaml", failed(None, "no_reply"), "no reply to a call that it never made"),
    ],
)
def test_all_seats_of_one_model_are_named_with_what_to_mend(model, ends, mend):
    found = told(ends, model=model, attempts=1)
    assert found.startswith(f"planner, critic, operator ({model}): ")
    assert found.endswith(mend)


def test_a_server_that_a_seat_names_has_a_variable_of_its_own():
    settings = {"base_url": "http://my-llm.example:8443/v1"}
    debaters = [{"id": seat, "settings": settings} for seat in ("ann", "bob")]
    found = told(failed(401), model="openai:m", debaters=debaters)
    assert found.endswith("check HANSARD_KEY_MY__LLM_EXAMPLE_8443")


def test_seats_that_failed_otherwise_are_named_apart_with_what_is_wrong_with_each():
    last = {"ann": Fail("client_error", wire=Wire(401)), "bob": Reply(" "), "cat": Fail("timeout")}
    found = told(last, "panel", attempts=1, model="openai:m")
    assert [row.partition(" ")[0] for row in found.split(". ")] == ["ann", "bob", "cat"]
    assert "bob (openai:m): no valid reply came; read why its replies were rejected" in found


def test_seats_that_were_heard_at_last_are_not_to_blame():
    refused = Fail("client_error", wire=Wire(401))
    found = told({"proposal:1": Fail("timeout"), "critic": refused, "operator": refused})
    assert found.startswith("critic, operator (python:test): ")


def test_a_judge_is_to_blame_alone():
    ends = {"verdict": Fail("timeout"), "ann": Fail("no_reply")}
    found = told(ends, "judged", attempts=1)
    assert found == "judge (python:test): timeout; check the server, or raise `timeout_seconds`"


def test_every_way_to_fail_can_be_mended_and_every_provider_has_its_key():
    mends, keys = vocabulary.words("mends"), vocabulary.words("keys")
    assert mends.keys() >= ERRORS.keys()
    assert {*keys} == {*SERVERS, "other"}
    for name, row in PROVIDERS.items():
        if row.keys:
            words = keys[name].removeprefix("the Google Cloud credentials or ")
            assert words == " or ".join(row.keys)
