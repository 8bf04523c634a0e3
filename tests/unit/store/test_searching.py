"""Texts that are to be erased, looked for in the other debates of a store."""

from hypothesis import given
from hypothesis import strategies as st

from hansard.store.application import Store
from hansard.store.guard import id_of
from hansard.store.searching import Sought
from hansard.testing.filling import ONE, THREE, TWO, fill


def test_a_database_looks_for_no_more_than_the_ends_of_a_text(tmp_path, monkeypatch):
    """At each place it may compare all: 300,000 characters in 2,000,000 took it 15 s."""
    asked, select = [], Store._select

    def told(self, statement, *values):
        asked.extend(value for value in values if isinstance(value, bytes))
        return select(self, statement, *values)

    monkeypatch.setattr(Store, "_select", told)
    with Store.open(f"sqlite:///{tmp_path}/h.db", create=True) as store:
        fill(store, ONE)
        fill(store, TWO, "a" * 1_000)
        assert store.holding(ONE, ["a" * 500 + "b"]) == {}
        assert store.holding(ONE, ["a" * 500]) == {TWO: 1}
    assert set(map(len, asked)) == {64}


def test_of_texts_that_begin_alike_only_what_ends_alike_is_read(tmp_path, monkeypatch):
    """As replies do that begin with the same field."""
    read, select = [], Store._select

    def told(self, statement, *values):
        if statement.startswith("SELECT body"):
            read.append(id_of(values[0]))
        return select(self, statement, *values)

    monkeypatch.setattr(Store, "_select", told)
    with Store.open(f"sqlite:///{tmp_path}/h.db", create=True) as store:
        fill(store, ONE)
        fill(store, TWO, "a" * 100 + "b" * 100)
        assert store.holding(ONE, ["a" * 100 + "c" * 100]) == {}
        assert read == []
        assert store.holding(ONE, ["a" * 100 + "b" * 100]) == {TWO: 1}
    assert read == [TWO]


_LETTERS = st.text("ab", min_size=11, max_size=90).map(str.encode)


@given(st.lists(_LETTERS, min_size=1, max_size=5), st.binary(max_size=40), st.data())
def test_texts_are_found_wherever_they_stand_and_nothing_else_is(texts, before, data):
    text, cut = data.draw(st.sampled_from(texts)), data.draw(st.integers(0, 90))
    sought = Sought(texts)
    assert sought.is_in(before + text + before)
    for body in (before + text[cut:], text[:cut] + before, data.draw(_LETTERS), text[::-1], before):
        assert sought.is_in(body) == any(row in body for row in texts)


def test_each_text_of_the_others_is_read_once_however_many_are_looked_for(tmp_path, monkeypatch):
    """20 texts took a second for each 10 MB of the store, and 1,000 of them an hour for a GB."""
    asked, select = [], Store._select

    def told(self, statement, *values):
        asked.append(statement)
        return select(self, statement, *values)

    texts = [f"{number}: the seller bears all costs" for number in range(300)]
    with Store.open(f"sqlite:///{tmp_path}/h.db", create=True) as store:
        fill(store, ONE)
        fill(store, TWO, f"He says: {texts[250]}, and so on")
        fill(store, THREE, "1000 the seller bears all costs")
        monkeypatch.setattr(Store, "_select", told)
        assert store.holding(ONE, texts) == {TWO: 1}
    assert len(asked) == 5  # which others there are, and for each its texts, and that is all


def test_what_would_be_compared_too_often_counts_as_found():
    """In the letter a, as in each of these texts, each place may be that of each of them."""
    compared = []

    class Text(bytes):
        def __getitem__(self, part):
            compared.append(part.stop - part.start)
            return bytes(self)[part]

    texts = [b"a" * size + b"b" for size in range(20_000, 21_000)]
    assert Sought(texts).is_in(Text(b"a" * 1_000_000))
    assert sum(compared) < 20_000_000
    assert not Sought(texts).is_in(b"c" * 1_000_000)
