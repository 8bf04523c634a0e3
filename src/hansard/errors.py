"""Every error Hansard raises on purpose: one tree, each with a stable code.

Three branches matter to a caller: `UsageError` says that the caller asked for
something that cannot be done, `DataError` that bytes which were read are bad, and
`SeatError` that the caller's own function raised, which is its `__cause__`. Any
other exception that comes out of Hansard is a bug in Hansard. The message is one
sentence that says what is wrong, where, and what to do; it never holds a secret and
never a text written by a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from errno import EMFILE, ENFILE


def _again(kind: type[Exception], args: tuple[object, ...], said: dict[str, object]) -> Exception:
    error = kind.__new__(kind, *args)
    vars(error).update(said)
    return error


class HansardError(Exception):
    """Base of all errors raised on purpose.

    `code` is stable (`<area>.<defect>`); `str(error)` is one clear sentence.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[object, ...]:
        """Say how it is made again: a pool of processes waits for ever for an error it cannot."""
        return _again, (type(self), self.args, vars(self))


class UsageError(HansardError, ValueError):
    """You misused it: a spec, an argument or a call that cannot be honoured.

    A spec may hold several mistakes: `sentence` and `code` are those of the first,
    `others` the rest, and `str(error)` has a line for each.
    """

    def __init__(self, code: str, sentence: str, others: Sequence[UsageError] = ()) -> None:
        super().__init__(code, "\n".join([sentence, *map(str, others)]))
        self.sentence, self.others = sentence, tuple(others)


@contextmanager
def on_disk() -> Iterator[None]:
    """Say in a UsageError `system.temporary` that there is no disk for a temporary file."""
    try:
        yield
    except OSError as error:
        if error.errno in (EMFILE, ENFILE):  # there may be room
            raise
        raise UsageError(
            "system.temporary",
            f"no temporary file can be written ({error.strerror}): set TMPDIR to a folder that "
            "has room",
        ) from None


def together(errors: Iterable[UsageError]) -> UsageError:
    """Return one error that holds all mistakes of these, of which there is at least one."""
    first, *others = [
        UsageError(each.code, each.sentence) for row in errors for each in (row, *row.others)
    ]
    return UsageError(first.code, first.sentence, others)


class SeatError(HansardError):
    """Your own function raised: a callable in a seat (`seat.raised`) or a hook (`hook.raised`).

    `__cause__` is what it raised. `debate` is the id of the debate, which stays open;
    `seat` and `step` say whose call it was, and are None for a hook.
    """

    def __init__(
        self, code: str, message: str, debate: str, seat: str | None, step: str | None
    ) -> None:
        super().__init__(code, message)
        self.debate, self.seat, self.step = debate, seat, step


class SpecWarning(UserWarning):
    """A spec can be run, but may not give what you expect: said before any money is spent.

    `code` is stable; `str(warning)` is one sentence. Most codes are also those of notes on
    the debate, which say the same.
    """

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code

    __reduce__ = HansardError.__reduce__


class ToolWarning(UserWarning):
    """Your own tool raised: the model was told that it failed, and the debate goes on.

    `code` is `tool.failed`; `__cause__` is what it raised, of which the record holds
    the type alone.
    """

    code = "tool.failed"


class OutputWarning(UserWarning):
    """Your own class refuses the deliverable, which fits its schema: `output` is the JSON value.

    `code` is `output.refused`; `__cause__` is what the class raised.
    """

    code = "output.refused"


class DataError(HansardError):
    """The data is bad: bytes that were read are not what they must be.

    `found` is the name that is wrong, where one is.
    """

    def __init__(self, code: str, message: str, found: str | None = None) -> None:
        super().__init__(code, message)
        self.found = found


# Of a store as a whole: another time, or for another role, the record may be there.
_OF_ALL = frozenset({"store.busy", "store.full", "store.moved", "store.role", "store.unreachable"})


def is_of_all(error: HansardError) -> bool:
    """Say whether an error is of a store as a whole, and says nothing of the record that was read.

    Code that counts a record it cannot read as a bad one, or as missing, must let this one pass.
    """
    return error.code in _OF_ALL


class ForkError(DataError):
    """Two checkpoints of one register that cannot both be true: `notes` are both, as signed.

    Keep them: together they show that whoever holds the log key has kept two histories.
    """

    def __init__(self, code: str, message: str, notes: tuple[bytes, bytes]) -> None:
        super().__init__(code, message)
        self.notes = notes
