"""The pages of the examples from practice, in a browser."""

import pytest

from exporting import exported
from hansard.examples import EXAMPLES
from reporting import shown


@pytest.mark.parametrize("folder", [row.folder for row in EXAMPLES.values()])
def test_the_page_holds_and_leads_with_the_sentence(show, practice, folder):
    page = show(exported(practice[folder]))
    assert page.get_attribute("html", "data-verdict") == "consistent"
    assert page.inner_text("#lead") == shown(practice[folder]).sentence
    assert page.inner_text("#top").count("no model was asked") == 1


def test_the_contract_clause_shows_pages_and_the_quote_that_does_not_hold(show, practice):
    page = show(exported(practice["contract-clause"]))
    cited = page.inner_text("#entries")
    for number in (1, 2, 3):
        assert f"agreement, p. {number}, verified" in cited
    assert "citation 1: not found in the document" in page.inner_text("#checks")
    assert "PDF, 3 pages" in page.inner_text("#d1")
    assert page.get_by_role("button", name="Save agreement").count() == 1
