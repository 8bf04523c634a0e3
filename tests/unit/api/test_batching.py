"""Many debates at once: which are opened, which are not, and what is never paid twice."""

from __future__ import annotations

import asyncio
import warnings
from pathlib import Path

import pytest
import yaml

import hansard
from hansard import Completion, DataError, SpecWarning, UsageError
from hansard.api.batches import alone
from hansard.api.rows import (
    LISTS,
    MOST_ROWS,
    NUMBERS,
    TEXTS,
    Mistakes,
    documents_of,
    planned,
)
from hansard.api.trust import template_lines
from hansard.rules.fields import Estimated
from hansard.rules.formats import SPECS
from hansard.runtime import session
from hansard.runtime.files import Files
from hansard.runtime.holding import Shared
from hansard.runtime.inputs import read_texts
from hansard.store import tampering
from instant import GUARD
from measuring import traced
from playing import PANEL

PRICE = {"python:ask": {"input": "1.00", "output": "1.00"}}  # micro-dollars a token
CALLS = 4  # of such a debate: two agents, their drafts and one revision


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def store():
    with hansard.open_store("sqlite:///hansard.db", create=True) as shelf:
        yield shelf


class Asked:
    """A model that notes which question it was asked; `wrong` are those at which it raises."""

    def __init__(self, *wrong, tokens=10):
        self.asked, self.wrong, self.tokens = [], set(wrong), tokens

    def __call__(self, request):
        question = next(
            q for q in ("Why?", "north", "south", "east", "west") if q in request.prompt
        )
        if question in self.wrong:
            raise KeyError(question)
        self.asked.append(question)
        return Completion("Because.", tokens_in=0, tokens_out=self.tokens)


def questions(*names):
    return {name: {"question": f"What of the {name}?"} for name in names}


def run(rows, store, *, template=PANEL, ask=None, name="one", **more):
    models = {"ask": ask or Asked()}
    return asyncio.run(
        hansard.run_batch(rows, name=name, template=template, store=store, models=models, **more)
    )


def states(batch):
    return {row.row: row.state for row in batch.rows}


def mistakes(call):
    with pytest.raises(UsageError) as caught:
        call()
    return [(row.code, row.sentence) for row in (caught.value, *caught.value.others)]


# What is read


def write(text, name="rows.csv"):
    Path(name).write_text(text, encoding="utf-8")
    return Path(name)


def test_columns_become_fields_of_the_spec(store):
    Path("a.txt").write_text("The memo.")
    template = write(
        "format: panel\nagents: 2\nrounds: 2\nmodel: python:ask\nlabels: [all]\n", "t.yaml"
    )
    rows = write(
        "\ufeffid,question,labels,rounds,evidence,owner\r\n"
        'north,"What of the north, then?",a; b,1,a.txt,Ann Lee\r\n'
        "\r\n"
        ",What of the south?,,,,\r\n"
    )
    batch = run(rows, store, template=template)
    assert states(batch) == {"north": "closed", "4": "closed"}
    north, south = (hansard.result(store, row.debate) for row in batch.rows)
    assert (north.question, south.question) == ("What of the north, then?", "What of the south?")
    assert north.labels == ("a", "b", "batch:one", "row:north")
    assert south.labels == ("all", "batch:one", "row:4")
    assert (north.owner.name, south.owner, north.max_rounds, south.max_rounds) == (
        "Ann Lee", None, 1, 2,
    )  # fmt: skip
    events = store.events(north.debate)
    documents = [row["data"] for row in events if row["type"] == "evidence.admitted"]
    assert [row["document"] for row in documents] == ["a"]
    assert store.text(north.debate, documents[0]["text"]["sha256"]) == "The memo."


def test_no_spec_says_itself_that_its_debate_is_a_row_of_a_batch(store):
    """Whoever wrote it would have answered that row, with models and options of their own."""
    spec = PANEL | {"labels": ["batch:one", "row:north"]}
    for parsed in (spec, hansard.PanelSpec(**spec)):
        with pytest.raises(UsageError) as caught:
            hansard.run_sync(parsed, models={"ask": Asked()}, store=store)
        assert caught.value.code == "batch.labels"
    stated = {"labels": ["row:north", "batch:one"]}
    with pytest.raises(UsageError, match="the label batch:one is reserved"):
        hansard.run_sync(PANEL, models={"ask": Asked()}, store=store, **stated)
    assert store.debates() == []
    result = hansard.run_sync(PANEL | {"labels": ["row:3"]}, models={"ask": Asked()}, store=store)
    assert result.labels == ("row:3",)


def test_every_column_is_a_field_of_a_format():
    fields = {name for spec in SPECS.values() for name in spec.model_fields}
    assert {*TEXTS, *NUMBERS, *LISTS} <= fields


def test_every_mistake_is_told_with_its_row_and_nothing_is_opened():
    rows = write(
        "id,question,rounds,evidence\n"
        "a b,Why?,1,\n"
        "x,Why?,one,\n"
        "x,Why?,1,\n"
        "y,Why?\n"
        "z,Why?,1,gone.txt\n"
        "w,,two,../secret\n"
        "v,Why?,1,gone.txt\n"
    )
    template = write("format: panel\nagents: 2\nmodel: python:ask\n", "t.yaml")
    found = mistakes(lambda: run(rows, "sqlite:///new.db", template=template))
    whole = "this must be a whole number, such as 2"
    assert found == [
        ("batch.id", "row 2: the name of a row has up to 60 letters, digits and ._:/@+=-"),
        ("batch.twice", "row 4: an earlier row has the name x, too; give each its own"),
        (
            "batch.cells",
            "row 5: this row has 2 cells, the heading has 4; put text with a comma into quotes",
        ),
        ("spec.invalid_value", f"rows 3 (x), 7 (w): rounds: {whole}"),
        ("spec.missing_field", "row 7 (w): t.yaml: question: this field is required"),
        ("spec.evidence_missing", "rows 6 (z), 8 (v): there is no file gone.txt"),
    ]
    assert not Path("new.db").exists()


@pytest.mark.parametrize("name", [1, None, b"north", ("a", "b")])
def test_a_name_that_is_no_text_is_refused(store, name):
    rows = {"north": {"question": "Why?"}, name: {"question": "Why?"}}
    (code, said), *others = mistakes(lambda: run(rows, store))
    assert (code, others, "the name of a row has up to" in said) == ("batch.id", [], True)


def test_a_row_names_only_files_that_its_template_may_name(store):
    Path("inner").mkdir()
    Path("secret.txt").write_text("The memo.")
    template = write("format: panel\nagents: 2\nmodel: python:ask\n", "inner/t.yaml")
    rows = write("question,evidence\nWhy?,../secret.txt\n")
    assert [code for code, _ in mistakes(lambda: run(rows, store, template=template))] == [
        "spec.file_outside"
    ]
    assert states(run(rows, store, template=template, allow=["."])) == {"2": "closed"}


@pytest.mark.parametrize(
    ("text", "code", "sentence"),
    [
        ("", "batch.column", "there is no heading; name the columns in row 1"),
        ("question\n\n", "batch.csv", "rows.csv has no row below its heading"),
        ('question\n"a\n', "batch.csv", "rows.csv, line 2: unexpected end of data"),
        ("id,id\na,b\n", "batch.column", "the column id is there twice; remove one"),
        ("qestion\na\n", "batch.column", "column 1 is 'qestion'; did you mean question?"),
        ("," * 10**6 + "\n", "batch.column",
         "row 1 names 1,000,001 columns; a spec has fewer fields: name those of it"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_table_is_refused(store, text, code, sentence):
    assert mistakes(lambda: run(write(text), store)) == [(code, sentence)]


LONG = "x" * 131_073
QUOTES = '"' + '""' * 70_000 + '"'  # that many characters, of which a quote is two


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (f"id,question\na,Why?\nb,{LONG}\n", "row 3: the cell of column question"),
        (f'id,question\n\na,"So\n""or"", so"\nb,"{LONG}"', "row 4: the cell of column question"),
        (f"id,context,question\na,{QUOTES},{LONG}\n", "row 2: the cell of column question"),
        (f'question,id\n"Why?\n{LONG}', "row 2: the cell of column question"),
        (f"id\na,{LONG}\n", "row 2: the cell of column 2"),
        (f"question,{LONG}\n", "row 1: the cell of column 2"),
    ],
    ids=["plain", "quoted", "doubled", "open", "beyond", "heading"],
)  # fmt: skip
def test_a_cell_that_is_too_long_is_told_with_its_row_and_column(store, text, place):
    said = "has more than 131,072 characters; give a shorter text, or close the quote"
    assert mistakes(lambda: run(write(text), store)) == [
        ("batch.csv", f"rows.csv, {place} {said} that it begins with")
    ]


def test_another_mistake_before_a_long_text_is_told_as_what_it_is(store):
    ((code, said),) = mistakes(lambda: run(write(f'id,question\na,"Why"? {LONG}\n'), store))
    assert (code, said.partition(": ")[0]) == ("batch.csv", "rows.csv, line 2")
    assert "expected after" in said


def test_documents_of_one_name_are_numbered_and_a_hundred_thousand_of_them_too():
    files = ["memo-2.txt", *["memo.txt"] * 100_000]  # in the square of that it would not end
    found = [row["id"] for row in documents_of(files)]
    assert found[:4] == ["memo-2", "memo", "memo-3", "memo-4"]
    assert found[-1] == "memo-100001"
    assert len({*found}) == len(found)


def test_a_file_has_at_most_so_many_rows(store):
    """One more is refused whole; of as many, what is wrong with each is told."""
    rows = "question,rounds\n" + "Why?,one\n" * MOST_ROWS
    (found,) = mistakes(lambda: run(write(rows), store))
    assert found[1].startswith("rows 2, 3, 4")
    assert mistakes(lambda: run(write(rows + "Why?,1\n"), store)) == [
        ("batch.csv", "rows.csv has more than 10,000 rows; split it")
    ]


def test_what_rows_state_together_is_bounded_their_template_counted_for_each(store):
    template = PANEL | {"context": [0] * 5_000}
    rows = questions(*map(str, range(300)))
    few, wrong = dict(list(rows.items())[:190]), Mistakes()
    assert len(planned(few, template, None, "one", wrong)) == len(few)
    assert not wrong
    ((code, said),) = mistakes(lambda: run(rows, store, template=template))
    assert (code, said.partition(":")[0]) == ("batch.size", "row 199")
    assert not store.debates()


def test_rows_of_one_template_share_its_texts_from_their_reading_on():
    """What is not in NFC is made anew for each: 45 rows on 4 MB took 775 MiB."""
    template = PANEL | {"evidence": [{"id": "memo", "text": "cafe\u0301 " * 100}]}
    first, second = planned(questions("a", "b"), template, None, "one", Mistakes())
    assert first.spec.evidence[0].text == "caf\u00e9 " * 100
    assert first.spec.evidence[0].text is second.spec.evidence[0].text


def test_what_cells_list_is_bounded_as_well(store):
    row = ";".join(["e"] * 1_000)
    rows = write("question,evidence\n" + f"Why?,{row}\n" * 400)
    ((code, said),) = mistakes(lambda: run(rows, store))
    assert (code, said.partition(": ")[0]) == ("batch.size", "rows.csv, row 335")


def test_columns_are_told_all_at_once(store):
    found = mistakes(lambda: run(write("question,zzzz,,question\na,b,c,d\n"), store))
    assert [sentence[:12] for _, sentence in found] == [
        "column 2 is ",
        "column 3 is ",
        "the column q",
    ]
    assert "a column can be id, question, " in found[0][1]


def test_specs_are_rows_by_their_paths(store):
    for place in ("a/x", "b/x"):
        Path(place).parent.mkdir()
        write("format: panel\nquestion: Why?\nagents: 2\nmodel: python:ask\n", f"{place}.yaml")
    batch = run(["a/x.yaml", Path("b/x.yaml").absolute(), PANEL], store, template=None)
    assert states(batch) == {"a/x": "closed", "b/x": "closed", "3": "closed"}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"name": "a b"}, "batch.name"),
        ({"name": "x" * 59}, "batch.name"),
        ({"name": "-x"}, "batch.name"),
        ({"jobs": 0}, "batch.jobs"),
        ({"rows": {}}, "batch.empty"),
        ({"rows": [PANEL]}, "batch.template"),
        ({"rows": "rows.csv", "template": None}, "batch.template"),
        ({"template": PANEL | {"labels": ["row:3"]}}, "batch.labels"),
        ({"template": PANEL | {"labels": [f"l{n}" for n in range(19)]}}, "batch.labels"),
        ({"budget_usd": "much"}, "batch.budget"),
        ({"budget_usd": "-1"}, "batch.budget"),
        ({"budget_usd": "NaN"}, "batch.budget"),
        ({"budget_usd": "1"}, "batch.unpriced"),
        ({"budget_usd": "1", "budget_over": "year", "template": PANEL | {"prices": PRICE}},
         "batch.budget_over"),
    ],
)  # fmt: skip
def test_what_cannot_be_run_is_refused(store, change, code):
    found = mistakes(lambda: run(**({"rows": questions("north"), "store": store} | change)))
    assert found[0][0] == code
    assert store.debates() == []


def test_what_is_to_be_known_of_many_rows_is_warned_of_once(store):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(questions("north", "south"), store)
    codes = [row.message.code for row in caught if isinstance(row.message, SpecWarning)]
    assert codes
    assert len(codes) == len(set(codes))


# Running


def test_as_many_run_at_once_as_were_asked_for(store):
    together, all_there, running, most = 3, asyncio.Event(), set(), []

    async def ask(request):
        running.add(request.collection_id)
        most.append(len(running))
        if len(running) == together:
            all_there.set()
        await asyncio.wait_for(all_there.wait(), GUARD)  # so many run at once, or none goes on
        return "Because."

    rows = {f"d{n}": {"name": f"d{n}"} for n in range(7)}
    run(rows, store, ask=ask, jobs=together, each=lambda row: running.discard(row.row))
    assert max(most) == together


def test_one_debate_that_fails_stops_no_other(store):
    ask = Asked("south")
    batch = run(questions("north", "south", "east"), store, ask=ask)
    assert states(batch) == {"north": "closed", "south": "open", "east": "closed"}
    south = batch.rows[1]
    assert (south.code, south.needs_a_look, batch.done) == ("seat.raised", True, False)
    assert f"debate {south.debate} stays open" in south.error
    assert len(ask.asked) == 2 * CALLS


def test_run_again_only_what_is_left_is_asked_for(store):
    first = run(questions("north", "south"), store, ask=Asked("south"))
    begun, again = [], Asked()
    second = run(questions("north", "south", "east"), store, ask=again, begun=begun.extend)
    assert begun == ["south", "east"]
    assert states(second) == dict.fromkeys(("north", "south", "east"), "closed")
    assert [row.debate for row in second.rows[:2]] == [row.debate for row in first.rows]
    assert sorted(again.asked) == ["east"] * CALLS + ["south"] * CALLS
    third = Asked()
    run(questions("north", "south", "east"), store, ask=third)
    assert third.asked == []


def test_rows_about_one_document_hold_one_copy_of_it(store, tmp_path):
    (tmp_path / "memo.md").write_text("so it is " * 20_000)
    asked = questions(*map(str, range(40)))
    rows = [(name, row | {"evidence": ["memo.md"]}) for name, row in asked.items()]
    rows.append(("bad", {"question": "Why?", "evidence": ["none.md"]}))

    def check(*some):
        ((code, _),) = mistakes(lambda: run(dict(some), store, folder=tmp_path))
        assert code == "spec.evidence_missing"

    check(rows[-1])  # what is made once
    few, many = (traced(lambda some=some: check(*some))[1] for some in (rows[-3:], rows))
    assert many < few + 20 * 180_000


def test_the_texts_that_rows_state_are_bounded_together_those_of_a_template_once(monkeypatch):
    """40 specs of 4 MB, with one sign that takes four bytes in each, took 841 MiB."""
    monkeypatch.setattr("hansard.api.rows.MOST_HELD", 200_000)
    specs = {name: PANEL | {"question": name * 80_000} for name in "abc"}
    wrong = Mistakes()
    assert [row.row for row in planned(specs, None, None, "one", wrong)] == ["a", "b"]
    ((code, said),) = mistakes(wrong.require_none)
    assert (code, said.partition(":")[0]) == ("batch.size", "row c")
    wrong, template = Mistakes(), PANEL | {"context": "a" * 80_000}
    assert len(planned(questions(*"abc"), template, None, "one", wrong)) == 3
    assert not wrong


def test_the_texts_of_all_rows_together_are_bounded(store, tmp_path, monkeypatch):
    """90 rows, each on another document of 2 MB, took 949 MiB; nothing is opened of more."""
    monkeypatch.setattr("hansard.api.batching.MOST_HELD", 200_000)
    for name in "abc":
        (tmp_path / f"{name}.md").write_text(name * 80_000)
    asked = {name: {"question": f"{name}?", "evidence": [f"{name}.md"]} for name in "abc"}
    ((code, said),) = mistakes(lambda: run(asked, store, folder=tmp_path))
    assert (code, said.partition(":")[0]) == ("batch.size", "row c")
    assert not store.debates()
    asked["c"] = {"question": "And c?", "evidence": ["b.md"]}
    assert len(run(asked, store, folder=tmp_path).rows) == 3


def test_rows_share_the_answer_that_their_gate_looks_at(tmp_path):
    template = PANEL | {"gate": {"answer": {"file": "answer.md"}}}
    (tmp_path / "answer.md").write_text("Because. " * 100)
    shared, files = Shared(), Files(tmp_path)
    rows = planned(questions("a", "b"), template, tmp_path, "one", Mistakes())
    one, two = (shared.among(read_texts(row.spec, files)).gate.answer.text for row in rows)
    assert one is two


@pytest.mark.parametrize(
    "lost",
    [
        "DELETE FROM projected WHERE place > 1",
        "DELETE FROM projected",
        "DELETE FROM projected_names",
        "UPDATE projected_names SET name = 'x' || name",
        "UPDATE projected_names SET kind = 'note'",
    ],
)
def test_a_row_is_not_asked_again_whose_place_in_the_lists_is_lost(store, lost):
    """As where somebody restored that one table from an older backup."""
    ask = Asked()
    first = run(questions("north", "south"), store, ask=ask)
    assert hansard.batch_report(store, "one") == first
    with store._recorder.transaction() as c:
        c.execute(lost, ())
    assert run(questions("north", "south"), store, ask=ask) == first
    assert len(ask.asked) == 2 * CALLS
    assert hansard.batch_report(store, "one") == first


def test_resuming_a_batch_opens_nothing(store):
    run(questions("north", "south"), store, ask=Asked("south"))
    again = Asked()
    batch = asyncio.run(hansard.resume_batch("one", store=store, models={"ask": again}))
    assert states(batch) == {"north": "closed", "south": "closed"}
    assert again.asked == ["south"] * CALLS
    with pytest.raises(UsageError) as caught:
        asyncio.run(hansard.resume_batch("two", store=store))
    assert caught.value.code == "batch.unknown"


def test_a_row_under_whose_name_another_question_was_asked_is_refused(store):
    run(questions("north"), store)
    other = {"north": {"question": "What of the south?"}, "east": {"question": "What of the east?"}}
    found = mistakes(lambda: run(other, store))
    assert [(code, sentence[:11]) for code, sentence in found] == [("batch.changed", "row north: ")]
    assert len(store.debates()) == 1
    assert states(run(other, store, name="two")) == {"north": "closed", "east": "closed"}


def test_no_row_is_answered_by_what_was_asked_about_another_document(store):
    """Rows without names are numbered: where one is taken out, the next has its number."""
    for name in ("north", "south", "east"):
        Path(f"{name}.txt").write_text(f"The memo of the {name}.")
    template = write(yaml.safe_dump(PANEL), "t.yaml")

    def asked(*names, **more):
        return run(write("evidence\n" + "".join(f"{n}.txt\n" for n in names)), store,
                   template=template, **more)  # fmt: skip

    assert states(asked("north", "south")) == {"2": "closed", "3": "closed"}
    again = Asked()
    found, _ = mistakes(lambda: asked("south", "east", "north", ask=again))
    assert found[0] == "batch.changed"
    assert "is about other documents" in found[1]
    assert again.asked == []
    assert states(asked("north", "south", "east", ask=again)) == dict.fromkeys("234", "closed")
    assert len(again.asked) == CALLS


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"context": "It rains."}, "another context, other rules,"),
        ({"rounds": 2}, "another context, other rules,"),
        ({"options": ["yes", "no"]}, "another context, other rules,"),
        ({"instructions": "Be brief."}, "another context, other rules,"),
        ({"personas": ["You are Ann.", "You are Bob."]}, "another context, other rules,"),
        ({"evidence": [{"id": "memo", "text": "It rains."}]}, "other documents"),
        ({"evidence": [{"id": "note", "text": "It is late."}]}, "other documents"),
    ],
)
def test_a_row_whose_debate_was_asked_something_else_is_refused(store, change, said):
    template = PANEL | {
        "context": "It is late.",
        "evidence": [{"id": "memo", "text": "It is late."}],
    }
    run(questions("north"), store, template=template)
    ask = {"ask": Asked(), "other": Asked()}
    (found,) = mistakes(lambda: asyncio.run(
        hansard.run_batch(questions("north"), name="one", template=template | change, store=store,
                          models=ask)
    ))  # fmt: skip
    assert found[0] == "batch.changed"
    assert said in found[1]
    assert len(store.debates()) == 1


def test_a_row_that_names_its_model_is_not_answered_by_another(store):
    rows = {name: {"question": "Why?", "model": f"python:{name}"} for name in ("ask", "other")}
    models = {"ask": Asked(), "other": Asked()}

    def asked(*names):
        given = {str(number): rows[name] for number, name in enumerate(names, 2)}
        return asyncio.run(
            hansard.run_batch(given, name="one", template=PANEL, store=store, models=models)
        )

    asked("ask", "other")
    (found,) = mistakes(lambda: asked("other"))
    assert found[0] == "batch.changed"
    assert states(asked("ask")) == {"2": "closed"}


def test_how_a_debate_that_has_ended_is_run_and_filed_may_change(store):
    run(questions("north"), store)
    change = {"attempts": 9, "limits": {"calls": 50}, "owner": "Ann Lee", "labels": ["wind"],
              "prices": PRICE}  # fmt: skip
    again = Asked()
    assert states(run(questions("north"), store, template=PANEL | change, ask=again)) == {
        "north": "closed"
    }
    assert again.asked == []


def test_what_was_erased_of_a_row_is_not_compared(store, tmp_path):
    keys = hansard.open_keyring(tmp_path / "keys")
    said = {"reason": "She asked for it.", "basis": "GDPR, Article 17", "asked_by": "Bob Roe",
            "signers": [keys.signer("reviewer")], "trust": keys.trust()}  # fmt: skip
    template = PANEL | {"evidence": [{"id": "memo", "text": "Ann Lee is ill."}]}
    (row,) = run(questions("north"), store, template=template).rows
    hansard.redact(row.debate, ["4.text"], store=store, **said)
    again = Asked()
    assert states(run(questions("north"), store, template=template, ask=again)) == {
        "north": "closed"
    }
    assert again.asked == []


@pytest.mark.parametrize(
    "change",
    [
        {"prices": {"python:ask": {"input": "0.000001", "output": "0.000001"}}},
        {"limits": {"cost_usd": "900"}},
        {"limits": {"cost_usd": "9", "calls": 90}},
        {"model": "python:other"},
        {"attempts": 9},
        {"settings": {"max_tokens": 1_000}},
        {"debater_instructions": "Be brief."},
    ],
)
def test_an_open_debate_that_was_opened_with_anything_else_is_not_gone_on_with(store, change):
    """It would be held to its own prices and ceilings, whatever the row and the budget say."""
    capped = PRICED | {"limits": {"cost_usd": "9"}}
    broken = {"ask": Asked("north"), "other": Asked("north")}
    template = (
        capped | {"prices": {change.get("model", "python:ask"): PRICE["python:ask"]}} | change
    )
    (opened,) = asyncio.run(
        hansard.run_batch(
            questions("north"), name="one", template=template, store=store, models=broken
        )
    ).rows
    assert opened.state == "open"
    ask = Asked()
    found = mistakes(lambda: run(questions("north"), store, template=capped, ask=ask))
    assert [code for code, _ in found] == ["batch.changed"]
    assert "`hansard resume" in found[0][1]
    assert ask.asked == []
    batch = asyncio.run(
        hansard.resume_batch("one", store=store, models={"ask": ask, "other": Asked()})
    )
    assert states(batch) == {"north": "closed"}
    assert states(run(questions("north"), store, template=capped)) == {"north": "closed"}


def test_an_open_debate_is_held_to_the_policy_that_is_given_now(store, tmp_path):
    keys = hansard.open_keyring(tmp_path / "keys")
    (tmp_path / "signed").write_bytes(
        hansard.approve_policy(keys.signer("approval"), template_lines(format="panel"))
    )
    policy = hansard.read_policy(tmp_path / "signed", keys.trust())
    run(questions("north"), store, ask=Asked("north"))
    found = mistakes(lambda: run(questions("north"), store, policy=policy))
    assert [code for code, _ in found] == ["batch.changed"]


@pytest.fixture
def approved(tmp_path):
    """A policy, whose keys are trusted, and what revokes it in the trust file."""
    keys = hansard.open_keyring(tmp_path / "keys")
    signed = hansard.approve_policy(keys.signer("approval"), template_lines(format="panel"))
    policy = hansard.read_policy(signed, keys.trust())
    file = hansard.TrustFile(keys.trust_file)
    given = {"policy": policy, "trust": keys.trust, "jobs": 1}
    return given, lambda *_: file.revoke_policy(policy, "2020-01-01")


def test_a_policy_that_is_revoked_while_a_batch_runs_opens_no_further_debate(store, approved):
    given, revoke = approved

    def ask(request):
        if "north" in request.prompt and request.call == "r0.draft.agent_1:1":
            revoke()
        return "Because."

    rows = run(questions("north", "south"), store, ask=ask, **given).rows
    assert [(row.state, row.code) for row in rows] == [
        ("closed", None),
        ("unopened", "policy.revoked"),
    ]
    assert len(store.debates()) == 1


def test_a_policy_that_is_revoked_puts_no_debate_into_the_queue(store, approved, monkeypatch):
    given, revoke = approved
    monkeypatch.setattr(type(store), "require_queue", lambda _: None)
    (row,) = run(questions("north"), store, queue=0, begun=revoke, **given).rows
    assert (row.state, row.code) == ("unopened", "policy.revoked")
    assert not store.debates()


def test_a_record_that_does_not_hold_is_told_and_not_run_again(store):
    (made,) = run(questions("north"), store).rows
    tampering.alter_line(Path("hansard.db"), made.debate, 5, b"r0.", b"r1.")
    hansard.rebuild_projection(store)
    again = Asked()
    batch = run(questions("north"), store, ask=again)
    (row,) = batch.rows
    assert (row.state, row.decision, row.code) == ("altered", None, "record.altered")
    assert again.asked == []
    run(questions("south"), store, name="other")
    assert states(hansard.batch_report(store, "other")) == {"south": "closed"}
    assert {row.name: row.counts for row in hansard.list_batches(store)} == {
        "one": {"altered": 1}, "other": {"closed": 1},
    }  # fmt: skip


def test_however_many_batches_there_are_the_rows_are_read_as_often(store, monkeypatch):
    """Else each batch would be looked for among all debates: 4,000 of them took 48 s."""
    kind, statements, often = type(store.projection._tables), [], []
    select = kind.select

    def noted(self, statement, **given):
        statements.append(statement)
        return select(self, statement, **given)

    for names in (["one"], ["two", "three"]):
        for name in names:
            run(questions("north", "south"), store, name=name)
        hansard.list_debates(store)  # makes their rows
        with monkeypatch.context() as patch:
            patch.setattr(kind, "select", noted)
            found = hansard.list_batches(store)
        often.append(len(statements))
    assert [row.name for row in found] == ["one", "three", "two"]
    assert [(dict(row.counts), row.cost_micro_usd) for row in found] == [({"closed": 2}, None)] * 3
    assert often[1] == 2 * often[0]


@pytest.mark.parametrize(
    "alter",
    [
        lambda debate: tampering.alter_line(
            Path("hansard.db"), debate, 1, b"row:north", b"row:elsew"
        ),
        lambda debate: tampering.alter_line(
            Path("hansard.db"), debate, 1, b"batch:one", b"batch:two"
        ),
        lambda debate: tampering.alter_line(Path("hansard.db"), debate, 1, b'"labels"', b'"label"'),
    ],
    ids=["its row", "its batch", "unreadable"],
)
def test_a_record_whose_opening_was_altered_is_told_and_not_run_again(store, alter):
    """Its row in the store's list still says which row of the batch it was."""
    (made,) = run(questions("north"), store).rows
    assert hansard.rebuild_projection(store) == 1
    alter(made.debate)
    again = Asked()
    for batch in (run(questions("north"), store, ask=again), hansard.batch_report(store, "one")):
        ((row, state),) = states(batch).items()
        assert (row, state in ("altered", "unreadable")) == ("north", True)
    assert again.asked == []


def test_a_row_of_the_list_alone_makes_no_debate_one_of_a_batch(store):
    run(questions("north"), store)
    run(questions("south"), store, name="two")
    assert hansard.rebuild_projection(store) == 2
    with store.projection._tables.transaction() as c:
        c.execute("UPDATE projected_names SET name = replace(name, 'two', 'one')", ())
    assert states(hansard.batch_report(store, "one")) == {"north": "closed"}


def test_a_batch_is_run_by_one_process_at_a_time(store):
    with (
        hansard.open_store("sqlite:///hansard.db", create=True) as other,
        alone(other, "batch", "one"),
    ):
        assert mistakes(lambda: run(questions("north"), store))[0][0] == "batch.running"
        assert states(run(questions("north"), store, name="two")) == {"north": "closed"}
    assert states(run(questions("north"), store)) == {"north": "closed"}


def test_two_batches_do_not_count_on_the_same_money_at_once(store):
    """Each would take what is left of the month for its own."""
    found = {}

    async def beside(_request):
        if found:
            return "Because."
        with hansard.open_store("sqlite:///hansard.db") as other:
            for name, over in (("two", "month"), ("three", "label:wind"), ("four", "batch")):
                found[over] = None
                found[over] = await outcome(other, name, over)
        return "Because."

    async def outcome(other, name, over):
        try:
            batch = await hansard.run_batch(
                questions("south"), store=other, name=name, template=PRICED,
                models={"ask": Asked()}, budget_usd="1", budget_over=over,
            )  # fmt: skip
        except UsageError as error:
            return error.code
        return states(batch)["south"]

    budget = {"template": PRICED, "budget_usd": "1", "budget_over": "month"}
    assert states(run(questions("north"), store, ask=beside, **budget)) == {"north": "closed"}
    assert found == dict.fromkeys(("month", "label:wind"), "batch.budget_running") | {
        "batch": "closed"
    }
    assert states(run(questions("south"), store, name="two", **budget)) == {"south": "closed"}


def test_a_batch_that_is_cancelled_is_gone_on_with(store):
    asked, answered, middle = [], [], asyncio.Event()

    async def ask(request):
        asked.append(request.prompt)
        if len(asked) >= 2 * CALLS:  # in the middle of what runs
            middle.set()
            await asyncio.Event().wait()
        return "Because."

    async def cancelled():
        task = asyncio.create_task(
            hansard.run_batch(
                questions("north", "south", "east", "west"),
                name="one", template=PANEL, store=store, jobs=2, models={"ask": ask},
            )
        )  # fmt: skip
        await middle.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    for debate in store.debates():
        answered += [row for row in store.events(debate) if row["type"] == "call.answered"]
    again = Asked()
    batch = run(questions("north", "south", "east", "west"), store, ask=again)
    assert set(states(batch).values()) == {"closed"}
    assert len(again.asked) == 4 * CALLS - len(answered)
    assert len(store.debates()) == 4
    for debate in store.debates():
        assert hansard.verify(store, debate).ok


# Money

PRICED = PANEL | {"prices": PRICE, "settings": {"max_tokens": 100}}


def most():
    """What such a debate may cost at the most, in micro-US-dollars."""
    found = hansard.estimate(PRICED | {"question": "What of the north?"})
    return found.most.cost_micro_usd


def dollars(micro):
    return f"{micro / 1_000_000:.6f}"


def test_what_does_not_fit_is_not_opened(store):
    each, ask = most(), Asked(tokens=25)  # a debate costs 100
    limit = each + 150
    batch = run(
        questions("north", "south", "east"),
        store, template=PRICED, ask=ask, budget_usd=dollars(limit),
    )  # fmt: skip
    assert states(batch) == {"north": "closed", "south": "closed", "east": "unopened"}
    east = batch.rows[2]
    assert (east.code, east.debate, batch.done) == ("batch.budget", None, False)
    assert ask.asked.count("south") == CALLS
    assert "east" not in ask.asked
    assert len(store.debates()) == 2


def test_what_needs_less_may_fit_behind_what_does_not(store):
    rows = questions("north", "south")
    rows["north"]["agents"] = 4
    batch = run(rows, store, template=PRICED, budget_usd=dollars(most()))
    assert states(batch) == {"north": "unopened", "south": "closed"}


def test_what_runs_is_reserved_at_the_upper_end(store):
    """Two fit one after the other, never at once: the second waits for what the first leaves."""
    running, together = set(), []

    async def ask(request):
        running.add(request.collection_id)
        together.append(len(running))
        await asyncio.sleep(0)  # the other would come in between
        return Completion("Because.", tokens_in=0, tokens_out=10)

    rows = {name: {"name": name, "question": "Why? north"} for name in ("a", "b")}
    batch = run(
        rows, store, template=PRICED, ask=ask, jobs=2, budget_usd=dollars(most() + 50),
        each=lambda row: running.discard(row.row),
    )  # fmt: skip
    assert states(batch) == {"a": "closed", "b": "closed"}
    assert max(together) == 1


def test_a_ceiling_is_the_upper_end_where_it_is_lower(store):
    ceiling = dollars(most() // 2)
    template = PRICED | {"limits": {"cost_usd": ceiling}}
    less = dollars(most() // 2 - 1)
    assert states(run(questions("north"), store, template=template, budget_usd=less)) == {
        "north": "unopened"
    }
    batch = run(questions("north"), store, template=template, budget_usd=ceiling)
    assert batch.rows[0].state != "unopened"


def test_earlier_debates_of_the_batch_count(store):
    limit = dollars(most() + 50)
    first = run(questions("north"), store, template=PRICED, ask=Asked(tokens=25), budget_usd=limit)
    assert (first.cost_micro_usd, states(first)) == (100, {"north": "closed"})
    again = run(questions("north", "south"), store, template=PRICED, budget_usd=limit)
    assert states(again) == {"north": "closed", "south": "unopened"}


def silent(_):
    """A model that does not say what it used."""
    return Completion("Because.")


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_reply_that_does_not_say_what_it_used_counts_as_what_was_reserved(store, jobs):
    """A server that states no usage was free: under a budget of two dollars, 40 debates ran."""
    rows = questions("north", "south", "east", "west")
    limit = dollars(2 * most())
    found = run(rows, store, template=PRICED, ask=silent, jobs=jobs, budget_usd=limit)
    assert list(states(found).values()).count("closed") == 2
    assert [row.cost_micro_usd for row in found.rows if row.debate] == [0, 0]
    spent = [row.charged_micro_usd for row in found.rows if row.debate]
    assert most() // 2 < min(spent)
    more = {"template": PRICED, "budget_over": "month", "name": "two", "ask": silent}
    less, enough = dollars(sum(spent) + most() - 1), dollars(sum(spent) + most())
    for budget, state in ((less, "unopened"), (enough, "closed")):
        again = run(questions("drift"), store, budget_usd=budget, **more)
        assert states(again) == {"drift": state}


def test_what_an_open_debate_may_have_cost_counts_once(store):
    def leaves(request):
        if request.speaker.endswith("2"):
            raise KeyError
        return silent(request)

    def resumed(name, **more):
        run(questions("north"), store, template=PRICED, ask=leaves, name=name)
        rows = questions("north", "south")
        return run(rows, store, template=PRICED, ask=silent, name=name, jobs=1, **more)

    north, _ = resumed("one").rows
    assert north.cost_micro_usd < most() // 2 < north.charged_micro_usd
    exactly = resumed("two", budget_usd=dollars(north.charged_micro_usd + most()))
    assert states(exactly) == {"north": "closed", "south": "closed"}
    less = resumed("three", budget_usd=dollars(north.charged_micro_usd + most() - 1))
    assert states(less) == {"north": "closed", "south": "unopened"}


@pytest.mark.parametrize(
    ("over", "state"), [("month", "unopened"), ("label:wind", "unopened"), ("label:sun", "closed")]
)
def test_a_budget_may_be_that_of_a_month_or_of_a_label(store, over, state):
    template = PRICED | {"labels": ["wind"]}
    run(questions("north"), store, template=template, ask=Asked(tokens=25))
    again = run(
        questions("south"), store, template=template, name="two",
        budget_usd=dollars(most() + 50), budget_over=over,
    )  # fmt: skip
    assert states(again) == {"south": state}


def test_a_cost_below_nothing_in_the_rows_of_a_store_is_no_money_to_spend(store):
    run(questions("north"), store, template=PRICED)
    assert hansard.rebuild_projection(store) == 1
    with store.projection._tables.transaction() as c:
        c.execute("UPDATE projected SET cost = -1000000000", ())
    with pytest.raises(DataError) as caught:
        run(questions("north", "south"), store, template=PRICED, budget_usd="0")
    assert caught.value.code == "store.corrupt"


def test_an_open_debate_goes_on_whatever_is_left(store):
    run(questions("north"), store, template=PRICED, ask=Asked("north"))
    batch = run(questions("north", "south"), store, template=PRICED, budget_usd="0")
    assert states(batch) == {"north": "closed", "south": "unopened"}


def test_an_open_debate_has_its_money_before_a_row_above_it_is_opened(store):
    run(questions("south"), store, template=PRICED, ask=Asked("south"))
    again = Asked(tokens=100)
    batch = run(
        questions("north", "south"), store, template=PRICED, ask=again, jobs=1,
        budget_usd=dollars(most() + most() // 2),
    )  # fmt: skip
    assert states(batch) == {"north": "unopened", "south": "closed"}
    assert "north" not in again.asked


def test_what_is_open_elsewhere_may_still_cost_its_most(store):
    run(questions("south"), store, template=PRICED, ask=Asked("south"), name="two")
    budget = {"budget_usd": dollars(2 * most() - 1), "budget_over": "month"}
    assert states(run(questions("north"), store, template=PRICED, **budget)) == {
        "north": "unopened"
    }
    asyncio.run(hansard.resume_batch("two", store=store, models={"ask": Asked()}))
    assert states(run(questions("north"), store, template=PRICED, **budget)) == {"north": "closed"}


def test_what_an_open_debate_has_cost_counts_once(store):
    def resumed(name, **more):
        run(questions("north"), store, template=PRICED, ask=Asked("north"), name=name)
        return run(questions("north", "south"), store, template=PRICED, name=name, **more)

    north = resumed("one").rows[0].cost_micro_usd
    exactly = resumed("two", budget_usd=dollars(north + most()))
    assert states(exactly) == {"north": "closed", "south": "closed"}
    less = resumed("three", budget_usd=dollars(north + most() - 1))
    assert states(less) == {"north": "closed", "south": "unopened"}


def test_what_is_reserved_for_an_open_debate_is_estimated_anew(store, monkeypatch):
    """Whoever opened it may have recorded an estimate of nothing."""
    with monkeypatch.context() as patched:
        patched.setattr(
            session, "expectation", lambda _: dict.fromkeys(Estimated.__annotations__, 0)
        )
        run(questions("north"), store, template=PRICED, ask=Asked("north"))
    running, together = set(), []

    async def ask(request):
        running.add(request.question)
        together.append(len(running))
        await asyncio.sleep(0)
        return Completion("Because.", tokens_in=0, tokens_out=10)

    batch = run(
        questions("north", "south"), store, template=PRICED, ask=ask, jobs=2,
        budget_usd=dollars(2 * most() - 1),
        each=lambda row: running.discard(f"What of the {row.row}?"),
    )  # fmt: skip
    assert states(batch) == {"north": "closed", "south": "closed"}
    assert max(together) == 1


def test_the_report_reads_the_records(store):
    made = run(questions("north", "south"), store, template=PRICED, ask=Asked("south"))
    found = hansard.batch_report(store, "one")
    assert [(row.row, row.state, row.decision) for row in found.rows] == [
        ("north", "closed", made.rows[0].decision), ("south", "open", None),
    ]  # fmt: skip
    assert found.rows[0].cost_micro_usd == 40
    assert found.cost_micro_usd == made.cost_micro_usd
    assert mistakes(lambda: hansard.batch_report(store, "two"))[0][0] == "batch.unknown"
    for name in ("one\udc80", "one\0"):
        assert mistakes(lambda: hansard.batch_report(store, name))[0][0] == "list.text"  # noqa: B023
