"""What a page says of a record's place in a register, and the checkpoint that it gives away."""

from dataclasses import replace
from pathlib import Path

from conformance_kit.debates import decided
from conformance_kit.exports import export
from conformance_kit.records import KEYS
from conformance_kit.registers import WITNESSES, cosigning, logged, register_of
from page.harness import paste

RECORD = decided()
REGISTER = replace(register_of(RECORD), change=cosigning(WITNESSES[0]))


def test_it_says_which_line_it_is_and_who_cosigned(show):
    said = show(logged(RECORD, REGISTER)).locator("#proof").inner_text()
    assert "line 4 of 5 in the register example.org/log; the opening is line 2" in said
    assert "only the register shows whether a later version exists" in said
    assert "cosigned by example.net/witness-1 at 2026-01-05T09:40:00.000000Z" in said
    assert "This page does not check that." in said


def test_the_checkpoint_is_given_away_as_it_is(show):
    page = show(logged(RECORD, REGISTER))
    with page.expect_download() as download:
        page.get_by_role("button", name="Keep this checkpoint").click()
    assert download.value.suggested_filename == "checkpoint-5.txt"
    assert Path(download.value.path()).read_bytes() == REGISTER.checkpoint()


def test_it_is_intact_once_both_keys_are_given(show):
    page = show(logged(RECORD, REGISTER))
    assert paste(page, "export", str(KEYS["export"].key)) == "Signed with this key."
    assert page.evaluate("document.documentElement.dataset.verdict") == "consistent"
    assert "of its register, too" in page.locator("#trust").inner_text()
    assert paste(page, "log", str(KEYS["log"].key)) == "Signed with this key."
    assert page.evaluate("document.documentElement.dataset.verdict") == "intact"


def test_a_record_without_proofs_has_no_place(show):
    page = show(export(RECORD))
    assert "register" not in page.locator("#proof").inner_text()
    assert page.locator("#log-key").count() == 0
    assert "Register not checked." in page.locator("#summary").inner_text()
