"""Replies that a spec brings with it: files of them, and records that are answered from.

Ninety seats may name as many of them, or one in as many ways. So each is read once,
whatever names it, and those of one spec together take no more than the bounds below.
What was read last is kept: a batch or an evaluation asks for it hundreds of times.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import NamedTuple, cast

from hansard.errors import UsageError, together
from hansard.record.bundle import of_files
from hansard.record.keys import Trust
from hansard.runtime.files import Files
from hansard.runtime.holding import text_in, values_in
from hansard.runtime.inputs import validate
from hansard.runtime.models.recorded import RecordedModel
from hansard.runtime.models.scripted import Script, ScriptedModel
from hansard.runtime.notation import parse
from hansard.store.application import Store
from hansard.verify.envelope import files_of, require_export
from hansard.verify.findings import Verification
from hansard.verify.verifier import verify, verify_export

MOST_TEXT = 32 << 20  # bytes of memory, of the texts in all files of replies of a spec
MOST_VALUES = 250_000  # in all of them; each takes up to 260 bytes
MOST_RECORDED = 64 << 20  # bytes of what is answered from, in all records of a spec
_MOST_SCRIPTS = 4  # that are kept when their debate is over
_MOST_EXPORTS = 100  # likewise, within MOST_RECORDED: a debate has as many seats

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").fullmatch


class _Written(NamedTuple):
    """What a file of replies says, or what is wrong with it; and how much that is."""

    script: Script | UsageError
    values: int
    text: int  # bytes of memory


class _Said(NamedTuple):
    """What was found of an export, and its replies; or why they cannot be given again."""

    found: Verification
    model: RecordedModel | UsageError | None

    @property
    def size(self) -> int:
        """Bytes that are kept for it."""
        return self.model.size if isinstance(self.model, RecordedModel) else 0


# Each as it was read last. An error names the file of replies.
_written = dict[tuple[str, bool | str], _Written]()
_said = dict[bytes, _Said]()  # by the hash of the export


class Scripts:
    """The files of replies of one spec."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._read = dict[tuple[bytes, bool], _Written]()  # by the hash of its text

    def model(self, name: str) -> ScriptedModel:
        """Return the model that a file of replies describes; UsageError `spec.*`."""
        text, is_json = self._files.text(name, "script", "spec.unreadable"), name.endswith(".json")
        key = sha256(text.encode()).digest(), is_json
        found = self._read.get(key) or _script(text, name)
        if isinstance(found.script, UsageError):
            raise together([found.script])
        self._read[key] = found
        rows = self._read.values()
        if (
            sum(row.values for row in rows) > MOST_VALUES
            or sum(row.text for row in rows) > MOST_TEXT
        ):
            raise UsageError(
                "spec.file_size",
                f"the files of replies hold more than {MOST_VALUES:,} values together, or texts "
                f"that take more than {MOST_TEXT >> 20} MiB of memory",
            )
        return ScriptedModel(found.script)


def _script(text: str, name: str) -> _Written:
    """Return what a file of replies says, read once by whatever names."""
    is_json = name.endswith(".json")
    key = (text, name) if (text, name) in _written else (text, is_json)
    found = _written.pop(key, None) or _read_script(text, name)
    _written[text, name if isinstance(found.script, UsageError) else is_json] = found
    for old in [*_written][:-_MOST_SCRIPTS]:
        _written.pop(old, None)
    return found


def _read_script(text: str, name: str) -> _Written:
    try:
        script = validate(Script, parse(text, name), name, quoting=False)
    except UsageError as error:
        return _Written(together([error]), 0, 0)  # without the frames, which hold what was read
    return _Written(script, values_in(script), text_in(script, set()))


class Records:
    """The records that the seats of one spec answer from."""

    def __init__(self, files: Files, store: Store) -> None:
        self._files, self._store = files, store
        self._read = dict[str | bytes, RecordedModel]()  # by id, or by the hash of the export

    def model(self, name: str) -> RecordedModel:
        """Return the model that answers from a record: the store's, or an export's.

        A debate of the store is named by its whole id: by how an id begins, whoever wrote
        the spec could guess one that nobody told them, and read its texts. Raises DataError
        `record.altered` for a record that does not hold: nobody may have said what is in it.
        """
        told = f"the record of recorded:{name}"
        if _ID(name):
            bundle = self._store.bundle(self._store.find(name))
            verify(bundle).require_ok(told)
            key: str | bytes = name
            model = RecordedModel(bundle)
        elif name.endswith(".zip"):
            data = self._files.read(name, "export", "model.recorded")
            require_export(data, name)
            key = sha256(data).digest()
            said = _export(key, data)
            said.found.require_ok(told)
            if not isinstance(said.model, RecordedModel):
                raise together([cast(UsageError, said.model)])
            model = said.model
        else:
            raise UsageError(
                "model.recorded",
                f"recorded:{name} names no record; write the whole id of a debate, or FILE.zip",
            )
        self._read[key] = model
        if sum(row.size for row in self._read.values()) > MOST_RECORDED:
            raise UsageError(
                "model.recorded",
                f"the records that are answered from have more than {MOST_RECORDED:,} bytes of "
                "replies together",
            )
        return model


def _export(key: bytes, data: bytes) -> _Said:
    """Return what an export says, read once by whatever names."""
    found = _said.pop(key, None)
    if found is None:
        _make_room(len(data))  # before it is read: that takes several times its size
        found = _read_export(data)
    _make_room(found.size)
    _said[key] = found
    return found


def _make_room(size: int) -> None:
    """Forget the exports that were asked for longest ago, as far as there is no room for one."""
    for old in [*_said]:
        kept = tuple(_said.values())
        if len(kept) < _MOST_EXPORTS and sum(row.size for row in kept) + size <= MOST_RECORDED:
            break
        _said.pop(old, None)


def _read_export(data: bytes) -> _Said:
    export = files_of(data)
    bundle, found = of_files(export), verify_export(export, Trust())
    try:
        return _Said(found, RecordedModel(bundle) if found.ok else None)
    except UsageError as error:
        return _Said(found, together([error]))  # without the frames, which hold what was read
