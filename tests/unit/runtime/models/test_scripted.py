"""Scripted replies: the most specific entry, attempt by attempt."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from hansard.errors import UsageError
from hansard.runtime.files import Files
from hansard.runtime.models.base import ModelError, ToolCall
from hansard.runtime.notation import parse
from hansard.runtime.replies import Scripts
from hansard.runtime.seats import unasked
from playing import request as request_


def request(speaker="a", round_=1, phase="proposal", attempt=1):
    call = f"r{round_}.{phase}.{speaker}:{attempt}"
    return request_(call=call, round=round_, phase=phase, speaker=speaker)


@pytest.fixture
def model(tmp_path):
    def model(text):
        path = tmp_path / "replies.yaml"
        path.write_text(text)
        return Scripts(Files(tmp_path)).model(path.name)

    return model


def answer(model, **where):
    return asyncio.run(model.complete(request(**where)))


def test_the_most_specific_entry_is_taken(model):
    scripted = model(
        """
        replies:
          a:
            1: {proposal: one, "*": any phase of one}
            "*": {proposal: any proposal, "*": anything}
        """
    )
    assert answer(scripted).text == "one"
    assert answer(scripted, phase="critique").text == "any phase of one"
    assert answer(scripted, round_=2).text == "any proposal"
    assert answer(scripted, round_=2, phase="revision").text == "anything"


def test_the_replies_to_a_question_come_before_the_others(model):
    scripted = model(
        """
        replies:
          a: {1: {proposal: usual, critique: also usual}}
        questions:
          "Do we sign?":
            a: {"*": {proposal: to this question}}
            b: {1: {proposal: only here}}
        """
    )

    def asked(question, **where):
        asked = replace(request(**where), seen=SimpleNamespace(question=question))
        return asyncio.run(scripted.complete(asked)).text

    assert asked("Do we sign?") == "to this question"
    assert asked("Do we sign?", phase="critique") == "also usual"
    assert asked("Do we wait?") == "usual"
    assert asked("Do we sign?", speaker="b") == "only here"
    with pytest.raises(ModelError):
        asked("Do we wait?", speaker="b")
    assert [scripted.knows(seat) for seat in "abc"] == [True, True, False]
    with pytest.raises(UsageError, match="there is no phase"):
        model('replies: {}\nquestions: {"Why?": {a: {1: {porposal: x}}}}')


def test_what_is_not_scripted_is_no_reply(model):
    scripted = model("replies: {a: {2: {proposal: two}}}")
    for where in ({}, {"speaker": "b", "round_": 2}, {"round_": 2, "phase": "critique"}):
        with pytest.raises(ModelError) as caught:
            answer(scripted, **where)
        assert (caught.value.kind, caught.value.detail) == ("no_reply", "not-in-script")


def test_a_list_has_an_entry_an_attempt_and_the_last_one_repeats(model):
    scripted = model("replies: {a: {1: {proposal: [{error: timeout}, oops, {vote: release}]}}}")
    with pytest.raises(ModelError) as caught:
        answer(scripted)
    assert (caught.value.kind, caught.value.detail) == ("timeout", "scripted")
    assert answer(scripted, attempt=2).text == "oops"
    for attempt in (3, 4):
        assert json.loads(answer(scripted, attempt=attempt).text) == {"vote": "release"}


def test_a_mapping_is_sent_as_json_and_text_as_it_stands(model):
    scripted = model(
        """
        replies:
          a:
            1:
              proposal: {stance: "café", rationale: no, vote: yes}
              critique: "  not JSON\\n"
        """
    )
    assert answer(scripted).text == '{"stance": "café", "rationale": "no", "vote": "yes"}'
    assert answer(scripted, phase="critique").text == "  not JSON\n"


def test_tokens_finish_and_price_are_what_the_script_says(model):
    scripted = model(
        """
        price: {input: "2.50", output: "10"}
        replies:
          a:
            1:
              proposal: {reply: cut, tokens: {in: 100, cached: 40, out: 7}, finish: length}
              critique: {reply: whole, tokens: {in: 1, out: 2}}
              revision: whole
        """
    )
    cut = answer(scripted)
    assert (cut.text, cut.finish) == ("cut", "length")
    assert (cut.tokens_in, cut.tokens_cached, cut.tokens_out) == (100, 40, 7)
    whole = answer(scripted, phase="critique")
    assert (whole.finish, whole.tokens_cached) == ("stop", 0)
    silent = answer(scripted, phase="revision")
    assert (silent.tokens_in, silent.tokens_cached, silent.tokens_out) == (None, None, None)
    assert scripted.price.input == "2.50"


def test_rounds_from_0_and_phases_of_one_position(model):
    scripted = model("replies: {a: {0: {draft: first}, 1: {critique-2: second, critique: other}}}")
    assert answer(scripted, round_=0, phase="draft").text == "first"
    assert answer(scripted, phase="critique-2").text == "second"
    assert answer(scripted, phase="critique").text == "other"


def test_a_reply_may_ask_for_tools(model):
    scripted = model(
        """
        replies:
          a:
            1:
              proposal:
                - reply: let me see
                  tools: [{tool: look_up, arguments: {what: café}}, {tool: now}]
                - done
        """
    )
    first = answer(scripted)
    assert (first.text, first.finish) == ("let me see", "tool_calls")
    assert first.tool_calls == (ToolCall("look_up", '{"what": "café"}'), ToolCall("now", "{}"))
    then = answer(scripted, attempt=2)
    assert (then.text, then.finish, then.tool_calls) == ("done", "stop", ())


WRONG = {
    "replies: {a: {1: {proposal: []}}}": "spec.too_few",
    "replies: {a: {1: {proposal: {reply: x, mood: bad}}}}": "spec.unknown_field",
    "replies: {a: {1: {proposal: {reply: x, tokens: {in: -1, out: 0}}}}}": "spec.out_of_range",
    "replies: {a: {1: {proposal: {error: odd}}}}": "spec.invalid_value",
    "replies: {a: {1: {proposal: {error: abandoned}}}}": "spec.invalid_value",
    "replies: {a: {1: {proposal: {reply: x, finish: done}}}}": "spec.invalid_value",
    "replies: {a: {1: {proposal: 7}}}": "spec.invalid_value",
    "replies: {a: {1: {proposal: {reply: null}}}}": "spec.invalid_value",
    "replies: {a: [x]}": "spec.invalid_value",
    "replies: [x]": "spec.invalid_value",
    "price: {input: 1e9, output: '1'}\nreplies: {}": "spec.invalid_value",
    "{}": "spec.missing_field",
    "replies: {a: {first: {proposal: x}}}": "spec.script",
    "replies: {a: {1: {propose: x}}}": "spec.script",
    "replies: {a: {1: {critique-0: x}}}": "spec.script",
    "replies: {a: {1: {proposal: {reply: x, tools: [now]}}}}": "spec.invalid_value",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_mistake_in_a_script_is_refused(model, text):
    with pytest.raises(UsageError) as caught:
        model(text)
    assert caught.value.code == WRONG[text]
    assert str(caught.value).startswith("replies.yaml: ")


SECRET = "a-key-of-somebody-for-an-API-of-theirs"


@pytest.mark.parametrize(
    "text",
    [
        f"replies: {{{SECRET}: x}}",
        f"replies: {{{SECRET}: {{x: {{proposal: y}}}}}}",
        f"replies: {{a: {{{SECRET}: x}}}}",
        f"replies: {{a: {{{SECRET}: {{proposal: x}}}}}}",
        f"replies: {{a: {{1: {{{SECRET}: x}}}}}}",
        f"replies: {{a: {{1: {{proposal: [{{reply: x, {SECRET}: 1}}]}}}}}}",
        f"{SECRET}: x",
    ],
)
def test_no_error_quotes_a_key_that_may_be_a_secret(model, text):
    with pytest.raises(UsageError) as caught:
        model(text)
    assert SECRET[:8] not in str(caught.value)
    with pytest.raises(UsageError, match=r"1\.propsal|'propsal'|propsal: |unknown"):
        model(text.replace(SECRET, "propsal"))


@pytest.fixture
def parsed(monkeypatch):
    """The names of the scripts that are parsed."""
    found = []

    def noted(text, name):
        found.append(name)
        return parse(text, name)

    monkeypatch.setattr("hansard.runtime.replies.parse", noted)
    return found


def test_a_script_is_read_once_by_whatever_names(tmp_path, parsed):
    """One of 187 kB that each of 90 seats named in a way of its own took more than 150 s."""
    (tmp_path / "replies.yaml").write_text("replies: {ann: {1: {draft: So.}}}")
    for number in range(20):
        assert Scripts(Files(tmp_path)).model("./" * number + "replies.yaml").knows("ann")
    assert len(parsed) == 1


def test_a_script_that_is_wrong_is_read_once_by_each_name(tmp_path, parsed):
    """Each row of a batch would say the same, and take seconds for it."""
    (tmp_path / "replies.yaml").write_text("replies: {ann: {1: {draft: 0}}} # unlike any other")
    for name in ("replies.yaml", "./replies.yaml") * 3:
        with pytest.raises(UsageError) as caught:
            Scripts(Files(tmp_path)).model(name)
        assert str(caught.value).startswith(f"{name}: ")
    assert parsed == ["replies.yaml", "./replies.yaml"]


@pytest.mark.parametrize(
    ("size", "admitted"), [(4_100_000, 2), (10, 90)], ids=["large", "as many as have seats"]
)
def test_scripts_are_bounded_together_by_the_memory_that_their_texts_take(tmp_path, size, admitted):
    scripts = Scripts(Files(tmp_path))
    for number in range(admitted + (size > 10)):
        entry = f"{number}\U0001f600".ljust(size)
        text = json.dumps({"replies": {"ann": {"1": {"draft": entry}}}}, ensure_ascii=False)
        (tmp_path / f"{number}.json").write_text(text, encoding="utf-8")
    for _ in range(2):  # one that was counted is not counted again
        for number in range(admitted):
            assert scripts.model(f"{number}.json").knows("ann")
    if size > 10:
        with pytest.raises(UsageError, match="more than 32 MiB of memory") as caught:
            scripts.model(f"{admitted}.json")
        assert caught.value.code == "spec.file_size"


def test_scripts_are_bounded_together_by_their_values(tmp_path):
    scripts, entry = Scripts(Files(tmp_path)), '"a"'
    for number in range(2):
        rows = ",".join([entry] * (99_000 - number))
        (tmp_path / f"{number}.json").write_text(
            f'{{"replies":{{"ann":{{"1":{{"draft":[{rows}]}}}}}}}}'
        )
    assert scripts.model("0.json").knows("ann")
    with pytest.raises(UsageError, match="more than 250,000 values together") as caught:
        scripts.model("1.json")
    assert caught.value.code == "spec.file_size"


def test_the_scripts_of_an_estimate_are_bounded_together_as_well(tmp_path, monkeypatch):
    monkeypatch.setattr("hansard.runtime.replies.MOST_VALUES", 10)
    for name in ("ann", "bob"):
        (tmp_path / f"{name}.yaml").write_text(f"replies: {{{name}: {{1: {{draft: So.}}}}}}")
    asked = {name: f"scripted:{name}.yaml" for name in ("ann", "bob")}
    with pytest.raises(UsageError) as caught:
        unasked(asked, Files(tmp_path), None)
    assert caught.value.code == "spec.file_size"
