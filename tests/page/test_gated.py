"""The page of a record in which only the gate was asked."""

import pytest

from kit import export_files

DESK = {"width": 1280, "height": 720}


@pytest.mark.parametrize(
    ("name", "head", "said"),
    [
        ("asked-alone", "No debate is advised", "the downside is not large enough, or not known"),
        ("asked-advised", "A debate is advised", "met: 5.000001 US dollars against 50 times 0.10"),
        ("asked-all", "No debate is advised", "Ann Lee (key example.org/reviewer)"),
        ("asked-hedges", "A debate is advised", "its answer says “perhaps”"),
        ("asked-withheld", "A debate is advised", "its answer is not available"),
        ("asked-noted", "No debate is advised", "An outcome is noted: wrong, unsigned"),
    ],
)
def test_the_first_screen_says_what_was_answered(show, name, head, said):
    page = show(export_files(name), viewport=DESK)
    assert page.inner_text("#summary h1") == "Shall we sign?"
    assert page.get_attribute("html", "data-verdict") == "consistent"
    for words in (head, said, "nothing was decided"):
        box = page.locator("#summary").get_by_text(words).first.bounding_box()
        assert box["y"] < 720, words
    assert page.locator("#summary .alert.bad").count() == 0
    assert "ask" in page.inner_text("#transcript .entry >> nth=0").lower()


def test_there_are_no_parts_of_a_debate(show):
    page = show(export_files("asked-noted"))
    assert page.locator("nav a").all_inner_texts() == ["Summary", "Checks", "Transcript", "Verify"]
    assert page.locator("#replay, #figures, #participants").count() == 0
    page.goto(page.url.partition("#")[0] + "#e2")
    assert page.locator("#e2[open]").count() == 1


def test_a_review_of_it_is_told(show):
    said = show(export_files("asked-rejected")).inner_text("#summary")
    assert "Review: " in said


@pytest.mark.parametrize(
    "name", ["asked-advised_fail", "asked-then-debate-opened_fail", "asked-question-gone_fail"]
)
def test_an_altered_one_is_not_to_be_relied_on(show, name):
    page = show(export_files(name))
    assert page.get_attribute("html", "data-verdict") == "altered"
    assert "Do not rely on this record" in page.inner_text("#summary .alert.bad")
