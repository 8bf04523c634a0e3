"""The page compares the words of two answers as Python does, however long a round of them is."""

import random
from itertools import combinations, count

from hansard.rules.similarity import MAX_COMPARED, likeness
from page.harness import ask

# Letters whose order differs between UTF-16 and code points, and beginnings of each other's words.
LETTERS = ["a", "aa", "ab", "B", "é", "\ufb01", "\U0001f600", "0", "'"]


def test_pairs_have_as_much_in_common_as_python_finds(node):
    draw, questions = random.Random(7), []
    for _ in range(300):
        known = ["".join(draw.choices(LETTERS, k=draw.randrange(1, 4))) for _ in range(8)]
        texts = [" ".join(draw.choices(known, k=draw.randrange(12))) for _ in range(4)]
        questions.append([*texts, ""])
    expected = [likeness(row, combinations(range(5), 2)) for row in questions]
    assert ask(node, questions, "likeness.js") == expected
    assert len({ppm for row in expected for ppm in row}) > 20


def test_a_round_of_the_longest_answers_takes_little_memory(node):
    """Each of 98 answers has 10,000 words of its own: as texts of their own they took 100 MB."""
    number = count(0x10000)
    texts = [" ".join(f"{next(number):x}" for _ in range(10_000)) for _ in range(98)]
    assert all(0.8 * MAX_COMPARED < len(text) <= MAX_COMPARED for text in texts)
    (found,) = ask(node, [texts], "likeness.js", options=["--max-old-space-size=64"])
    assert found == [0] * (98 * 97 // 2)
