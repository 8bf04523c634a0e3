"""The folders of a spec are those that its name and `allow` meant before it was read.

Who can write above such a folder can put a link in its place while the spec is read, or later.
"""

from __future__ import annotations

import asyncio

import pytest
import yaml

import hansard
from hansard import UsageError
from hansard.runtime import inputs
from hansard.runtime.files import read_own
from playing import PANEL

SPEC = PANEL | {
    "options": ["yes", "no"],
    "evidence": [{"id": "memo", "file": "memo.txt"}],
}
GOLDEN = [{"question": "Is it?", "label": "yes"}]
GATE = {"downside": 1, "answer": {"file": "memo.txt"}}
SECRET = "hunter2-the-secret"


def said(_):
    raise AssertionError("a model was asked")


VERBS = {
    "estimate": hansard.estimate,
    "run": lambda spec, **given: hansard.run_sync(spec, models={"ask": said}, **given),
    "debate": lambda spec, **given: hansard.Debate(spec, models={"ask": said}, **given).run_sync(),
    "gate": hansard.ask_gate,
    "evaluate": lambda spec, **given: hansard.evaluate_sync(
        GOLDEN, spec, models={"ask": said}, **given
    ),
    "batch": lambda spec, **given: asyncio.run(
        hansard.run_batch([spec], name="b", store="sqlite:///b.db", models={"ask": said}, **given)
    ),
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A stranger's folder, and a secret of the same name that a link in its place leads to."""
    monkeypatch.chdir(tmp_path)
    theirs, own = tmp_path / "theirs", tmp_path / "own"
    theirs.mkdir()
    own.mkdir()
    (theirs / "debate.yaml").write_text(yaml.safe_dump(SPEC))
    (own / "memo.txt").write_text(SECRET)
    read = inputs.parse_spec

    def swapped(*given):
        found = read(*given)
        if not theirs.is_symlink():
            theirs.rename(tmp_path / "was")
            theirs.symlink_to(own)
        return found

    monkeypatch.setattr(inputs, "parse_spec", swapped)
    return tmp_path


def refused(verb, spec, **given):
    with pytest.raises(UsageError) as caught:
        VERBS[verb](spec, **given)
    assert SECRET not in str(caught.value)
    return caught.value.code


@pytest.mark.parametrize("verb", VERBS)
def test_a_link_put_in_the_place_of_the_specs_folder_is_another_folder(place, verb):
    text = yaml.safe_dump(SPEC | ({"gate": GATE} if verb == "gate" else {}))
    (place / "theirs" / "debate.yaml").write_text(text)
    again = verb == "debate"  # it reads its spec for each run, with the folder that it has then
    code = "spec.unreadable" if again else "spec.file_outside"
    assert refused(verb, place / "theirs" / "debate.yaml") == code


@pytest.mark.parametrize("verb", VERBS)
def test_a_link_put_in_the_place_of_a_folder_that_was_given_is_another_folder(place, verb):
    spec = SPEC | ({"gate": GATE} if verb == "gate" else {})
    assert refused(verb, spec, folder=place / "theirs") == "spec.file_outside"


@pytest.mark.parametrize("verb", VERBS)
def test_a_link_put_in_the_place_of_an_allowed_folder_is_another_folder(place, verb):
    named = "../theirs/memo.txt"
    spec = SPEC | {"evidence": [{"id": "memo", "file": named}]}
    spec |= {"gate": GATE | {"answer": {"file": named}}} if verb == "gate" else {}
    (place / "empty").mkdir()
    given = {"folder": place / "empty", "allow": [place / "theirs"]}
    assert refused(verb, spec, **given) == "spec.file_outside"


def test_the_spec_is_read_in_the_folder_that_was_found(place, monkeypatch):
    """Else a stranger's spec could be read as if it lay in a folder of yours."""
    (place / "own" / "debate.yaml").write_text("format: panel")
    theirs = place / "theirs"
    theirs.rename(place / "was")
    theirs.symlink_to(place / "own")

    def swapped(path, *folder):
        theirs.unlink()
        theirs.symlink_to(place / "was")
        return read_own(path, *folder)

    monkeypatch.setattr("hansard.runtime.inputs.read_own", swapped)
    with pytest.raises(UsageError) as caught:
        hansard.estimate(theirs / "debate.yaml")
    assert caught.value.code == "spec.missing_field"
