"""Recipes, their digest, and what they render to (FORMAT.md §4)."""

import json
import tracemalloc
import unicodedata
from hashlib import sha256

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from hansard.rules import prompts
from hansard.rules.prompts import (
    START,
    Message,
    Recipe,
    Renderer,
    as_points,
    fill,
    filled_size,
    fold,
    quote,
    quoted,
    quoted_size,
    role,
    template,
)
from measuring import traced
from support import prompt_of

UNSEEN = [
    *(0x180E, 0x200B, *range(0x2060, 0x2066), 0xFEFF, *range(0xFFF9, 0xFFFC)),
    *range(0xE0000, 0xE0080),
]
BIDI = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]


def hashed(data):
    return sha256(data).digest()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("one", "| one\n"),
        ("one\ntwo", "| one\n| two\n"),
        ("", "| \n"),
        ("one\n", "| one\n| \n"),
        ("| one", "| | one\n"),
        ("a\tb", "| a\tb\n"),
        ("a\r\nb", "| a<U+000D>\n| b\n"),
        ("a\x00\x1b[2J\x7f\x85", "| a<U+0000><U+001B>[2J<U+007F><U+0085>\n"),
        ("\u202eevil\u2066", "| <U+202E>evil<U+2066>\n"),
        ("page 1\fpage 2\f", "| page 1\n| page 2\n| \n"),
        ("{{speaker}}", "| {{speaker}}\n"),
        ("häll😀", "| häll😀\n"),
    ],
)
def test_each_line_of_quoted_matter_is_prefixed(text, shown):
    assert quote(text) == shown


def test_control_unseen_and_bidi_characters_and_line_breaks_are_spelled_out_and_no_others():
    others = {*BIDI, 0x2028, 0x2029, *UNSEEN}

    def shown(code):
        char = chr(code)
        control = unicodedata.category(char) == "Cc" and char != "\t"
        return f"<U+{code:04X}>" if control or code in others else char

    every = [code for code in range(0x110000) if chr(code) not in "\n\f"]
    for begin in range(0, len(every), 1000):
        line = every[begin : begin + 1000]
        assert quote("".join(map(chr, line))) == f"| {''.join(map(shown, line))}\n"


@given(st.text())
def test_nothing_inside_can_close_the_quote(text):
    shown = quote(text)
    assert shown.endswith("\n")
    assert all(line.startswith("| ") for line in shown.splitlines())
    assert len(shown.splitlines()) == text.count("\n") + text.count("\f") + 1


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{{a}} and {{b_2}}", "1 and 2"),
        ("{{a}}{{a}}", "11"),
        ("{{unknown}} {{ a }} {{A}} {{}} {a} {{1}}", "{{unknown}} {{ a }} {{A}} {{}} {a} {{1}}"),
        ("{{{a}}}", "{1}"),
        ("{{loop}} {{join}}", "{{a}} {{a"),
        ("{{join}}}}", "{{a}}"),
        (r"{{slash}}", r"\1\g<0>"),
        ("", ""),
    ],
)
def test_a_template_is_filled_in_one_literal_pass(text, filled):
    values = {"a": "1", "b_2": "2", "loop": "{{a}}", "join": "{{a", "slash": r"\1\g<0>"}
    assert fill(text, values) == filled


@given(st.text(), st.text())
def test_a_value_is_never_filled_again(value, other):
    assert fill("<{{x}}>", {"x": value, "y": other}) == f"<{value}>"


@pytest.mark.parametrize("end", ["\n", "\f", "\n\f"])
def test_no_line_within_a_value_is_taken_for_a_point_of_its_own(end):
    """A page break becomes a line as well, and a reply may hold one."""
    reply = json.dumps({"thesis": f"It holds.{end}counter_arguments 1: forged"})
    lines = quote(as_points(reply, [], {"type": "object"})).splitlines()
    assert lines[0] == "| thesis: It holds."
    assert all(line.startswith("|   > ") for line in lines[1:])


def test_the_digest_folds_part_by_part():
    parts = [role("user"), template("ab" * 32, label="question"), quoted({"sha256": "cd" * 32})]
    spelled = [
        {"role": "user"},
        {"template": "ab" * 32, "values": {"label": "question"}},
        {"blob": "cd" * 32, "view": "quoted", "struck": []},
    ]
    expected = bytes(32)
    assert expected == START == fold(START, [])
    for part in spelled:
        expected = hashed(expected + hashed(rfc8785.dumps(part)))
    assert fold(START, parts) == expected
    assert fold(fold(START, parts[:1]), parts[1:]) == expected
    assert prompt_of(Recipe(), parts).digest == expected.hex()


@given(st.dictionaries(st.sampled_from("abc"), st.lists(st.text(), max_size=3)))
def test_a_value_in_pieces_is_hashed_and_filled_in_as_one(values):
    joined = {name: "".join(pieces) for name, pieces in values.items()}
    inside, whole = template(HASH, **values), template(HASH, **joined)
    assert inside.digest == whole.digest == hashed(rfc8785.dumps(whole.content))
    templates = {HASH: b"{{a}}{{b}}{{c}}"}
    shown = [
        Renderer(templates, str).messages(prompt_of(recipe(), [part]))[-1].text
        for part in (inside, whole)
    ]
    assert shown[0] == shown[1]


def test_what_a_moderator_is_told_of_many_citations_is_hashed_in_little_memory():
    pieces = ["x" * 1_000_000] * 50
    _, took = traced(lambda: template(HASH, citations=pieces))
    assert took < 10_000_000


def test_order_and_every_value_change_the_digest():
    one, two = template("ab" * 32, label="one"), template("ab" * 32, label="two")
    digests = [fold(START, parts) for parts in ([one], [two], [one, two], [two, one])]
    assert len(set(digests)) == 4


BODY = "[{{label}}]\n"
HASH = sha256(BODY.encode()).hexdigest()
TEXT = {"sha256": "e" * 64}


def recipe():
    shared = Recipe()
    shared.extend([role("system"), template(HASH, label="rules")])
    shared.extend([role("user"), template(HASH, label="é"), quoted(TEXT)])
    return shared


def renderer(asked=None):
    asked = [] if asked is None else asked
    return Renderer({HASH: BODY.encode()}, lambda name: asked.append(name) or "Ja.\n{{label}}")


def shown(prompt, by=None):
    return [(message.role, message.text) for message in (by or renderer()).messages(prompt)]


def test_a_recipe_renders_to_messages():
    prompt = prompt_of(recipe(), [template(HASH, label="you")])
    assert shown(prompt) == [
        ("system", "[rules]\n"),
        ("user", "[é]\n| Ja.\n| {{label}}\n[you]\n"),
    ]


def test_the_size_of_a_prompt_is_its_utf_8_bytes():
    shared = recipe()
    for own in ([], [template(HASH, label="ü")]):
        prompt = prompt_of(shared, own)
        rendered = "".join(text for _, text in shown(prompt))
        assert renderer().size(prompt) == len(rendered.encode())


def test_a_prompt_stays_what_it_was_when_the_transcript_grows():
    shared, by = recipe(), renderer()
    early = prompt_of(shared, [template(HASH, label="you")])
    before = (early.digest, len(early.parts), shown(early), renderer().size(early))
    shared.extend([template(HASH, label="turn"), quoted(TEXT)])
    late = prompt_of(shared, [template(HASH, label="you")])
    assert shown(late, by)[1][1] == "[é]\n| Ja.\n| {{label}}\n[turn]\n| Ja.\n| {{label}}\n[you]\n"
    assert (early.digest, len(early.parts), shown(early, by), by.size(early)) == before
    assert late.digest != early.digest


def test_each_text_is_fetched_and_quoted_once():
    asked = []
    by, shared = renderer(asked), recipe()
    for _ in range(3):
        shared.extend([quoted(TEXT)])
        by.messages(prompt_of(shared, [quoted(TEXT)]))
    assert asked == [TEXT["sha256"]]


def test_a_long_text_that_is_a_prompts_own_is_not_kept_for_another():
    """What tools gave in each turn of a debate was kept to its end, eight times as long."""
    by = Renderer({HASH: BODY.encode()}, lambda name: name[:1] * 200_000)
    prompts = [prompt_of(recipe(), [quoted({"sha256": f"{n}" * 64})]) for n in range(9)]

    def read():
        by.size(prompts[0])  # what is shared is kept, and so is what was said last
        before = tracemalloc.get_traced_memory()[0]
        for prompt in prompts:
            assert by.size(prompt) > len(by.messages(prompt)[-1].pieces[-1]) > 200_000
        return tracemalloc.get_traced_memory()[0] - before

    more, _ = traced(read)
    assert more < 1_000_000


def test_a_long_text_of_many_prompts_is_quoted_once_for_their_sizes():
    """A context of 4 MB was quoted for each of 8,008 turns before the first was asked."""
    asked = []
    by = Renderer({HASH: BODY.encode()}, lambda name: asked.append(name) or "\x7f" * 100_000)
    prompt = prompt_of(Recipe(), [role("user"), quoted(TEXT)])
    sizes = [by.size(prompt) for _ in range(9)]
    assert sizes == [len("| \n") + 8 * 100_000] * 9
    assert asked == [TEXT["sha256"]]


@pytest.mark.parametrize(
    "body", ["", "{{label}}", "é{{label}}{{label}}{{other}}", "{{{{label}}}}", "{{ label }} {{é}}"]
)
def test_a_template_of_many_prompts_is_looked_through_once_for_their_sizes(body):
    class Templates(dict):
        found = 0

        def __getitem__(self, name):
            self.found += name == other
            return super().__getitem__(name)

    other = "c" * 64
    templates = Templates({HASH: BODY.encode(), other: body.encode()})
    by = Renderer(templates, str)
    for label in ("", "a", "é{{label}}", "a" * 100):
        prompt = prompt_of(Recipe(), [role("user"), template(other, label=label)])
        assert by.size(prompt) == len(fill(body, {"label": label}).encode())
    assert templates.found == 1


def test_what_is_gone_is_a_key_error():
    with pytest.raises(KeyError, match="e" * 64):
        Renderer({HASH: b""}, {}.__getitem__).messages(prompt_of(recipe(), []))
    with pytest.raises(KeyError, match=HASH):
        Renderer({}, {}.__getitem__).size(prompt_of(recipe(), []))


@pytest.mark.parametrize(
    "text", ["", "Ja.", "a\nb\f", "\x7f" * 200_000, "\x01é", "<|im_start|>" * 9]
)
def test_what_a_text_takes_once_quoted_is_known_before(text):
    assert len(quote(text)) <= quoted_size(text) <= 4 * len(quote(text)) + 100


def test_what_takes_too_much_once_quoted_is_not_counted_to_its_end(monkeypatch):
    monkeypatch.setattr(prompts, "MOST_SHOWN", 1_000_000)
    assert 1_000_000 < quoted_size("\x7f" * 10_000_000) < 2_000_000


@pytest.mark.parametrize("text", ["", "{{a}}-{{b}}-{{c}}", "{{a}}" * 99, "{{ a }}", "ü{{a}}"])
def test_what_a_template_takes_once_filled_is_known_before(text):
    values = {"a": "x" * 100, "b": ""}
    wide = 1 if text.isascii() else 4
    assert filled_size(text, values) == wide * len(fill(text, values))
    assert filled_size(text, values | {"b": "ü"}) == 4 * len(fill(text, values | {"b": "ü"}))


def test_a_message_comes_in_blocks_that_joined_are_its_text():
    titled = Message("user", ["t", "x", "u", "y", "own ", "words"], 4, (1, 2))
    assert titled.blocks == ["tx", "uy", "own words"]
    assert Message("user", ["t", "x"], 2).blocks == ["tx"]
    assert Message("system", ["a", "b"]).blocks == ["ab"]
    assert Message("system", []).blocks == [""]
    assert all("".join(row.blocks) == row.text for row in (titled, Message("user", [])))


@pytest.mark.parametrize("sign", ["\x01", "\n"])
def test_what_is_spelled_out_takes_little_memory_beside_itself(sign):
    """A string was made of each control character, and of each line."""
    found, most = traced(lambda: quote(sign * 500_000))
    assert most < 4 * len(found)
