"""The page looks for a quote as Python does, in linear time."""

import random

from page.harness import ask


def test_a_part_of_two_letters_is_found_where_python_finds_it(node):
    draw, questions = random.Random(7), []
    for _ in range(2_000):
        text = "".join(draw.choices("ab", k=200)) + "a" * draw.randrange(200)
        start = draw.randrange(150)
        part = text[start : start + draw.randrange(1, 130)]
        at = draw.randrange(len(part) + 1)
        changed = part[:at] + draw.choice(["", "", "a", "b"]) + part[at:]
        questions.append({"part": changed, "text": text})
    expected = [row["text"].find(row["part"]) for row in questions]
    assert ask(node, questions, "occurs.js") == expected
    assert 100 < expected.count(-1) < 1_500


def test_a_long_part_that_nearly_fits_everywhere_holds_nothing_up(node):
    """A search that begins anew at every place would take hours for these."""
    text, tail = "a" * 2_000_000, "a" * 500_000
    questions = [{"part": part, "text": text} for part in (f"ab{tail}", f"{tail}b{tail}", tail)]
    assert ask(node, questions, "occurs.js") == [-1, -1, 0]
