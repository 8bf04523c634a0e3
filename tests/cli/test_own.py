"""`--models`, `--question` and `--evidence`: functions, words and documents of the caller's own."""

import json
import os
import sys
from pathlib import Path

import pytest
import yaml

from cli_support import files, only_debate, process
from hansard import UsageError, open_store, read_models, read_record

SEATS = """
from dataclasses import dataclass


@dataclass
class Vote:
    stance: "str"
    rationale: "str"
    vote: "str"


def ask(request):
    print("asked")
    known = [document.id for document in request.evidence]
    return Vote(f"{request.question} {known}", "Because.", "ship")


class Desk:
    def ask(self, request):
        return Vote("At the desk.", "Because.", "wait")

    @staticmethod
    def nod(request):
        return Vote("So be it.", "Because.", "ship")


desk = Desk()
"""
TWO = [{"id": "ann"}, {"id": "bob"}]


def write(model="python:ask", seats=SEATS, **fields):
    """Write a spec whose seats are all of one model, and the file of functions."""
    spec = {
        "question": "Do we ship?",
        "options": ["ship", "wait"],
        "threshold": 2,
        "max_rounds": 1,
        "model": model,
        "debaters": TWO,
        **fields,
    }
    Path("debate.yaml").write_text(yaml.safe_dump({k: v for k, v in spec.items() if v is not None}))
    Path("seats.py").write_text(seats)
    return "debate.yaml"


def result(done):
    assert done.code == 0, done.err
    return json.loads(done.out)


@pytest.mark.parametrize(
    ("model", "decision"),
    [
        ("python:ask", "ship"),
        ("custom:ask", "ship"),
        ("python:Desk.ask", "wait"),  # as Python records `desk.ask`
        ("python:desk.ask", "wait"),
        ("python:Desk.nod", "ship"),
    ],
)
def test_a_spec_names_functions_of_the_file(hansard, model, decision):
    done = result(hansard("run", write(model), "--models", "seats.py", "--json"))
    assert (done["decision"], done["seats"][0]["model"]) == (decision, model)
    assert hansard("verify", only_debate()).code == 0


def test_what_the_file_prints_is_no_output(hansard):
    seats = f"print('loaded')\n{SEATS}"
    done = hansard("run", write(seats=seats), "--models", "seats.py", "--json")
    assert result(done)["status"] == "complete"
    assert "loaded\n" in done.err
    assert "asked\n" in done.err
    done = hansard("estimate", "debate.yaml", "--models", "seats.py", "--json")
    assert json.loads(done.out)
    assert done.err == "loaded\n"


def test_a_spec_alone_never_runs_code(hansard):
    write("python:seats.ask", seats="raise SystemExit(9)")
    for command in ("run", "estimate", "gate"):
        assert hansard(command, "debate.yaml").code in (0, 2, 3)
    done = hansard("run", "debate.yaml")
    assert done.code == 2
    assert "name the file of its function with --models FILE.py" in done.err
    assert done.err.endswith("[model.not_given]\n")


@pytest.mark.parametrize("command", ["run", "estimate", "gate"])
@pytest.mark.parametrize(
    ("seats", "model", "code", "words"),
    [
        (SEATS, "python:aks", "model.not_given", "(ask, Desk.nod, desk.ask, desk.nod, Desk.ask)"),
        (SEATS, "python:aks", "model.not_given", "; did you mean ask?"),
        (SEATS, "python:Vote", "model.not_given", "names none of the functions"),
        ("def ask(a, b): ...", "python:ask", "model.signature", "ask(a, b) cannot sit in a seat"),
        ("from os import system", "python:system", "models.file", "no function that a spec could"),
        ("import os", "python:os.system", "models.file", "no function that a spec could"),
        ("def _ask(request): ...", "python:_ask", "models.file", "no function"),
        ("__all__ = []\ndef ask(request): ...", "python:ask", "models.file", "no function"),
    ],
)
def test_what_is_not_there_is_refused_before_anything_runs(
    hansard, command, seats, model, code, words
):
    done = hansard(command, write(model, seats), "--models", "seats.py")
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert done.err.endswith(f"[{code}]\n")
    assert files() == ["debate.yaml", "seats.py"]


_MEMBER = """class Own:
    {fine}
    @property
    def {member}(self): raise {error}
    {call}
ask = Own()
"""
_ASKED = "def __call__(self, request): return 'x'"
_ANSWERS = "async def complete(self, request): return 'x'"
_ANSWERS_AT_ONCE = "def complete(self, request): return 'x'"
_SAYS = {
    "settings": ("settings", "RuntimeError", _ASKED, ""),
    "settings of what answers": ("settings", "RuntimeError", _ANSWERS, "price = None"),
    "price": ("price", "RuntimeError", _ANSWERS_AT_ONCE, ""),
    "price of what answers": ("price", "RuntimeError", _ANSWERS, ""),
    "piece": ("piece", "RuntimeError", _ASKED, ""),
    "signature": ("__signature__", "RuntimeError", _ASKED, ""),
    "an end of the process": ("settings", "SystemExit(0)", _ASKED, ""),
}


@pytest.mark.parametrize("command", ["run", "estimate", "gate"])
@pytest.mark.parametrize("case", _SAYS)
def test_what_an_object_says_of_itself_may_raise_anything(hansard, command, case):
    """It is the caller's own: no bug of ours, and never an end with nothing decided."""
    member, error, call, fine = _SAYS[case]
    seats = _MEMBER.format(fine=fine, member=member, error=error, call=call)
    done = hansard(command, write("python:ask", seats), "--models", "seats.py")
    assert (done.code, done.out) == (2, "")
    kind = error.partition("(")[0]
    assert f"python:ask cannot sit in a seat: what it says of itself raised {kind} (" in done.err
    assert "seats.py, line 4); nothing was asked [model.own]\n" in done.err


UNFIT = {
    "settings": "Settings.model_construct(max_tokens=-5)",
    "settings of a class below": "Below()",
    "price": "PriceSpec.model_construct(input='-1', output='2')",
}


@pytest.mark.parametrize("case", UNFIT)
def test_what_no_record_can_hold_of_an_object_is_refused_before_anything_is_asked(hansard, case):
    """It was recorded, and after all replies were paid for the record could not be read."""
    member = case.partition(" ")[0]
    seats = (
        "from hansard import Settings\nfrom hansard.rules.spec_parts import PriceSpec\n"
        "class Below(Settings):\n    max_tokens_more: int = 1\n"
        f"class Own:\n    price = None\n    {member} = {UNFIT[case]}\n    {_ANSWERS}\nask = Own()\n"
    )
    done = hansard("run", write("python:ask", seats), "--models", "seats.py")
    assert (done.code, done.out) == (2, "")
    assert f"no record can hold what a Own states as its `{member}` (" in done.err
    assert done.err.endswith("[model.own]\n")
    assert hansard("list").out == ""


ODD = {
    "no list": "__all__ = 5\ndef ask(request): ...",
    "no name": "globals()[''] = 1\ndef ask(request): ...",
    "no text for a name": "globals()[5] = 1\ndef ask(request): ...",
    "answers nothing": "class Q:\n def __getattribute__(s, n): raise KeyError(n)\nq = Q()",
    "no equal": "class A:\n def __call__(s, r): ...\n def __eq__(s, o): 1 / 0\na, b = A(), A()",
    "cancelled": "import asyncio\nraise asyncio.CancelledError",
    "not here": "import sys\ndel sys.modules[__name__]\nraise GeneratorExit",
    "an end of the process": "class Q:\n def __getattr__(s, n): raise SystemExit(0)\nq = Q()",
    "mute": "class Mute(Exception):\n def __str__(self): 1 / 0\nraise Mute",
}


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_file_is_told_of_as_one_that_cannot_be_used(hansard, odd):
    done = hansard("run", write(seats=ODD[odd]), "--models", "seats.py")
    assert (done.code, done.out) == (2, "")
    assert "seats.py cannot be used: " in done.err
    assert done.err.endswith("[models.file]\n")


@pytest.mark.parametrize(
    ("seats", "shown"),
    [
        (
            "def half():\n    return 1 / 0\nhalf()\n",
            '"seats.py", line 2, in half\n    return 1 / 0\nZeroDivisionError: division by zero\n',
        ),
        (
            "import json\njson.loads('no')\n",
            "line 2, in <module>\n    json.loads('no')\nJSONDecodeError: ",
        ),
        ("x = (\n", '  File "seats.py", line 1, in <module>\n    x = (\nSyntaxError: '),
        ("raise SystemExit\n", '  File "seats.py", line 1, in <module>\n'),
        ("raise ValueError('\x1b[31mred')\n", "ValueError: <U+001B>[31mred\n"),
        ("import nowhere_at_all\n", "ModuleNotFoundError: No module named 'nowhere_at_all'\n"),
        ("x = '\x00'\n", "cannot be used: it raised "),
    ],
)
def test_an_error_in_the_file_is_shown_where_it_is(hansard, seats, shown):
    done = hansard("run", write(seats=seats), "--models", "seats.py")
    assert (done.code, done.out) == (2, "")
    assert shown in done.err
    assert "\x1b" not in done.err
    assert done.err.endswith(" while it was loaded [models.file]\n")
    assert files() == ["debate.yaml", "seats.py"]


def test_a_file_that_is_none(hansard):
    for name in ("nowhere.py", "."):
        done = hansard("run", write(), "--models", name)
        assert (done.code, done.err.split("[")[-1]) == (2, "input.unreadable]\n")


def test_a_function_that_raises_is_shown_and_the_debate_goes_on_with_a_mended_one(hansard):
    seats = "def ask(request):\n    return {}[request.speaker]\n"
    done = hansard("run", write(seats=seats), "--models", "seats.py")
    assert (done.code, done.out) == (2, "")
    debate = only_debate()[:8]
    assert done.err.index("    return {}[request.speaker]\nKeyError: ")
    assert '  File "seats.py", line 2, in ask\n' in done.err
    assert f"with: hansard resume {debate} --models seats.py\n" in done.err
    assert done.err.endswith("[seat.raised]\n")
    assert "bug in Hansard" not in done.err
    assert hansard("resume", debate).err.endswith("[model.not_given]\n")
    Path("seats.py").write_text(SEATS)
    assert result(hansard("resume", debate, "--models", "seats.py", "--json"))["decision"] == "ship"


def test_the_last_line_in_the_file_is_shown_and_not_that_of_a_library(hansard):
    seats = "import json\nasync def ask(request):\n    return json.loads('no')\n"
    done = hansard("run", write(seats=seats), "--models", "seats.py")
    assert "  File \"seats.py\", line 3, in ask\n    return json.loads('no')\n" in done.err
    assert "decoder.py" not in done.err


def test_words_and_documents_of_the_caller_stand_in_place_of_the_specs(hansard, tmp_path):
    elsewhere = tmp_path.parent / f"{tmp_path.name}-else"
    elsewhere.mkdir()
    (elsewhere / ".hidden.md").write_text("The disk was full.")
    Path("log.md").write_text("Nothing else.")
    spec = write(evidence=[{"id": "memo", "text": "A memo."}], question=None)
    assert hansard("run", spec, "--models", "seats.py").err.endswith("[spec.missing_field]\n")
    options = ("--models", "seats.py", "--question", "And now?", "--json")
    found = result(hansard("run", spec, *options))
    assert (found["question"], [row["id"] for row in found["evidence"]]) == ("And now?", ["memo"])
    found = result(
        hansard(
            "run", spec, *options, "--evidence", elsewhere / ".hidden.md", "--evidence", "log.md"
        )
    )
    names = [row["id"] for row in found["evidence"]]
    assert names == ["hidden", "log"]
    with open_store("sqlite:///hansard.db") as store:
        record = read_record(store, found["debate"])
    texts = [record.text(row["sha256"]) for row in found["evidence"]]
    assert texts == ["The disk was full.", "Nothing else."]
    assert found["transcript"][0]["stance"] == f"And now? {names}"


@pytest.mark.parametrize(
    ("file", "code"),
    [("nowhere.md", "spec.evidence_missing"), ("{home}/export.key", "spec.file_keys")],
)
def test_a_document_that_cannot_be_admitted(hansard, home, file, code):
    home.mkdir()
    (home / "export.key").write_text("a secret")
    name = file.format(home=home)
    done = hansard("run", write(), "--models", "seats.py", "--evidence", name)
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith(f"[{code}]\n")
    assert "a secret" not in done.err


def test_the_file_may_import_what_stands_beside_it_which_takes_no_others_place(hansard, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "helper_of_mine.py").write_text("WORD = 'ship'")
    (mine / "colorsys.py").write_text("raise RuntimeError('this is not the real one')")
    (mine / "yaml.py").write_text(
        "import colorsys, helper_of_mine\n"
        "def ask(request):\n"
        "    return {'stance': 's', 'rationale': 'r', 'vote': helper_of_mine.WORD}\n"
    )
    before = list(sys.path)
    done = hansard("run", write(), "--models", "mine/yaml.py", "--json")
    assert result(done)["decision"] == "ship"
    assert sys.path == before
    assert sys.modules["yaml"] is yaml
    del sys.modules["helper_of_mine"]


def test_in_a_process_of_its_own():
    write()
    done = process("run", "debate.yaml", "--models", "seats.py", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["decision"] == "ship"


# What a file offers


def offered(text, name="seats.py"):
    Path(name).write_text(text)
    return sorted(read_models(name))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("from os import getcwd\n__all__ = ['getcwd']\ndef other(r): ...", ["getcwd"]),
        ("from functools import partial\nask = partial(print, 1)", ["ask", "print"]),
        (
            "def make():\n    def inner(r): ...\n    return inner\nask = make()\n",
            ["ask", "make", "make.inner"],
        ),
        (
            "def make():\n    def inner(r): ...\n    return inner\na = make()\nb = make()\n",
            ["a", "b", "make"],  # which one `make.inner` is, nobody can say
        ),
        (
            (
                "class Desk:\n    def ask(self, r): ...\n    def _own(self, r): ...\n"
                "a = Desk()\nb = Desk()\n"
            ),
            ["a.ask", "b.ask"],
        ),
        ("class Desk:\n    def __call__(self, r): ...\nask = Desk()\n", ["Desk", "ask"]),
        ("class Desk:\n    @classmethod\n    def ask(cls, r): ...\n", ["Desk.ask"]),
        (
            (
                "from hansard.adapters import openai_complete\n"
                "class client:\n    class responses: create = chat = None\n"
                "class chat:\n    class completions:\n        def create(**asked): ...\n"
                "client.chat = chat\nask = openai_complete(client, model='m')\n"
            ),
            ["ask", "openai_complete:m"],
        ),
    ],
)
def test_what_can_be_named(text, names):
    assert offered(text) == names


def test_each_call_runs_the_file_anew_and_a_failed_one_leaves_nothing(folder):
    assert offered("def ask(r): ...") == ["ask"]
    assert offered("def other(r): ...") == ["other"]
    assert offered("def ask(r): ...", "other.py") == ["ask"]
    kept = [name for name in sys.modules if name.startswith("hansard models ")]
    with pytest.raises(UsageError) as caught:
        offered("def late(r): ...\nraise OSError", "third.py")
    assert isinstance(caught.value.__cause__, OSError)
    with pytest.raises(UsageError):
        offered("1 / 0")
    assert [name for name in sys.modules if name.startswith("hansard models ")] == kept
    assert os.fspath(folder) not in sys.path


def test_functions_that_state_no_tokens_are_not_said_to_have_used_none(hansard):
    done = hansard("run", write(), "--models", "seats.py")
    assert "tokens not stated" in done.out
    assert "tokens 0 in" not in done.out
