"""Two debates side by side."""

from collections import Counter

import pytest

from hansard.record import blob
from hansard.report.comparing import NONE, Debated, compare
from hansard.report.words import GONE
from hansard.rules.formats import FORMATS
from playing import play, script
from reporting import shown


def debated(format_, ends=None, **changes):
    bundle = play(format_, script(ends or {}), **changes)
    texts = {name: blob.unpack(file) for name, file in bundle.blobs.items()}
    result = shown(bundle)
    return Debated(result, result.display, texts.get, bundle.head.hash)


def differing(one, other):
    return {row.name: (row.one, row.other) for row in compare(one, other).differing}


@pytest.mark.parametrize("format_", FORMATS)
def test_a_debate_does_not_differ_from_itself(format_):
    one = debated(format_)
    assert compare(one, one).differing == ()


@pytest.mark.parametrize("format_", FORMATS)
def test_runs_of_one_spec_agree_although_salts_and_times_differ(format_):
    assert differing(debated(format_), debated(format_)) == {}


def test_votes_are_compared_phase_by_phase():
    one, other = (
        debated("consensus", {"critic": {"vote": vote}}) for vote in ("release", "revise")
    )
    assert any(name.startswith("Round 1, ") for name in differing(one, other))


def test_texts_are_compared_whole_and_shown_cut():
    long = "a" * 5000
    one, other = (debated("panel", question=f"{long}{end}?") for end in "xy")
    (row,) = (row for row in compare(one, other).rows if row.name == "Question")
    assert not row.same
    assert row.one == row.other
    assert len(row.one) < 500


def test_evidence_is_compared_by_its_words_and_not_by_its_size():
    one, other = (debated("panel", evidence=[{"id": "log", "text": text}]) for text in ("ab", "ba"))
    assert list(differing(one, other)) == ["log"]
    assert differing(debated("panel"), one)["log"][0] == NONE


def test_a_text_that_is_gone_is_no_other_text():
    one = debated("panel", context="Secret.")
    gone = one._replace(text=lambda name: None)
    assert differing(one, gone)["The context"] == ("Secret.", GONE)
    assert "The context" in differing(gone, gone)  # nobody knows whether they are the same


def test_the_file_is_inert_and_loads_nothing():
    hostile = "<script>alert(1)</script>\x1b[2K\u202e"
    one = debated("panel", question=hostile)
    page = compare(one, debated("panel")).to_html()
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "&lt;script&gt;" in page
    assert "default-src 'none'" in page
    assert one.head in page


def test_a_text_is_read_once_however_many_name_it():
    one, read = debated("panel", context="Alike.", evidence=[{"id": "a", "text": "x"}]), Counter()
    use, row = one.result.texts[-1], one.result.evidence[0]
    many = {
        "texts": [use.model_copy(update={"what": f"instructions {n}"}) for n in range(9)],
        "evidence": [row.model_copy(update={"id": f"d{n}"}) for n in range(9)],
    }

    def text_of(name):
        read[name] += 1
        return one.text(name)

    found = one._replace(result=one.result.model_copy(update=many), text=text_of)
    rows = {found.name for found in compare(found, one).rows}
    assert {"The instructions 8", "d8"} <= rows
    assert set(read.values()) == {1}
