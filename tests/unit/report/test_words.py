"""How a stance is shown on one line: in the words of whoever wrote it (RULES.md D 52)."""

import pytest

from hansard.report.words import HEAD, stance

OWN, NONE = "ship", "stance_12"


@pytest.mark.parametrize(
    ("label", "text", "shown"),
    [
        (NONE, "今すぐ\n公開する。", "今すぐ 公開する。"),
        (OWN, "Ship it now.", "Ship it now. (ship)"),
        (OWN, "ship", "ship"),
        ("stance_0", "So.", "So. (stance_0)"),
        ("my_stance_1", "So.", "So. (my_stance_1)"),
        (NONE, "a\x1b[2K\u202eb", "a<U+001B>[2K<U+202E>b"),
        (NONE, None, NONE),
        (OWN, None, OWN),
        (NONE, " \n\t", NONE),
        (NONE, "x" * HEAD, "x" * HEAD),
        (NONE, "x" * (HEAD + 1), "x" * (HEAD - 1) + "…"),
        (OWN, "x" * HEAD, "x" * (HEAD - 8) + "… (ship)"),
    ],
)
def test_a_stance_is_shown_in_its_words(label, text, shown):
    assert stance(label, text) == shown


def test_a_label_longer_than_the_line_is_whole():
    label = "x" * 64
    assert stance(label, "So it is.", 30) == f"… ({label})"
