"""The pages on which the quotes of a result stand."""

from types import SimpleNamespace

from hansard.report.formats.moderated import result
from hansard.rules.citations import Paged


def test_a_document_is_made_ready_for_its_pages_once_however_often_it_is_cited(monkeypatch):
    """4,500 quotes of a PDF of 2 MB took each report three minutes."""
    made = []
    monkeypatch.setattr(result, "Paged", lambda text: made.append(text) or Paged(text))
    texts = {"one": "Payment is due\fwithin 30 days.", "two": "No refund\fis given."}
    evidence = [
        {"document": name, "source": {"pages": 2}, "text": {"sha256": name}} for name in texts
    ]
    found = SimpleNamespace(
        state=SimpleNamespace(evidence=evidence),
        text=lambda blob: texts[blob["sha256"]],
        paged={},
    )
    for _ in range(10):
        assert result._page(found, "one", "within 30") == 2
        assert result._page(found, "two", "refund") == 1
    assert made == [*texts.values()]
