"""The functions of a Python file, by the names that a spec has for them."""

from __future__ import annotations

import inspect
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from hansard.errors import UsageError

if TYPE_CHECKING:
    from hansard.runtime.models.base import Model
    from hansard.runtime.models.callables import ModelFunction


def read_models(path: Path | str) -> dict[str, Model | ModelFunction]:
    r"""Return what a Python file has for seats, by name: what `run` takes as `models`.

    This runs the file. What it binds at its top level can be named, unless the name begins
    with `_`: functions, and objects that answer calls. What it only imports is left out. If it
    has an `__all__`, that says instead what can be named. Methods of a class of the file have
    names such as `Desk.ask`: static and class methods, and others where the file binds one
    object of that class, whose methods are also called by its own name (`desk.ask`).

    The file is run anew by each call. Its module has a name in `sys.modules` that no `import`
    finds, and its folder comes last in `sys.path` while it is run: it may import what
    stands beside it, which takes no package's place. Raises UsageError `input.unreadable`, and
    `models.file` where nothing in it can be named, or from what the file itself, or what it
    binds, raises.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "my_seats.py"
    ...     _ = file.write_text("def ask(request):\n    return 'Because.'\n")
    ...     sorted(read_models(file))
    ['ask']
    """
    module = _loaded(Path(path))
    try:
        found = _named(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # what would end the process, too: nothing was done yet
        raise UsageError(
            "models.file",
            f"{path} cannot be used: {type(error).__name__} came up while its names were looked at",
        ) from error
    if not found:
        raise UsageError("models.file", f"{path} has no function that a spec could name")
    return found


def _named(module: ModuleType) -> dict[str, Any]:
    """Return what a spec may name of a module, by each of its names."""
    from hansard.rules.own import name_of

    found: dict[str, Any] = {}
    recorded: dict[str, list[Any]] = {}
    for name, value in _offered(module):
        for known, own in _seats(name, value, module.__name__):
            found[known] = own
            recorded.setdefault(name_of(own), []).append(own)
    for known, owns in recorded.items():
        if all(own == owns[0] for own in owns):
            found.setdefault(known, owns[0])
    return found


def last_frame(error: BaseException, path: Path | str) -> traceback.FrameSummary | None:
    """Return where in a file an exception came up, or what it was raised from; None: elsewhere."""
    file, looked = os.path.realpath(path), set[int]()
    at: BaseException | None = error
    while at is not None and id(at) not in looked:
        looked.add(id(at))
        if isinstance(at, SyntaxError) and at.filename == file:
            return traceback.FrameSummary(file, at.lineno or 1, "<module>")
        frames = traceback.extract_tb(at.__traceback__)
        if found := [frame for frame in frames if frame.filename == file]:
            return found[-1]
        at = at.__cause__ or at.__context__
    return None


def _loaded(path: Path) -> ModuleType:
    """Return the module that a file is, after running it."""
    from hansard.api.files import read_file

    source, file = read_file(path), os.path.realpath(path)
    # Dataclasses and pydantic look for the module of their class under its name.
    name = f"hansard models {sha256(file.encode()).hexdigest()[:8]} {path.stem}"
    module = ModuleType(name)
    module.__file__ = file
    before, sys.modules[name] = sys.modules.get(name), module
    try:
        with _beside(os.path.dirname(file)):  # noqa: PTH120 - of a path that is text
            exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - the caller named the file so that it is run
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if before is None:
            sys.modules.pop(name, None)
        else:
            sys.modules[name] = before
        frame = last_frame(error, path)
        place = f" in line {frame.lineno}" if frame else ""
        raise UsageError(
            "models.file",
            f"{path} cannot be used: it raised {type(error).__name__}{place} while it was loaded",
        ) from error
    return module


@contextmanager
def _beside(folder: str) -> Iterator[None]:
    """Let modules in a folder be imported while the block runs, after all others."""
    if folder in sys.path:
        yield
        return
    sys.path.append(folder)
    try:
        yield
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


def _offered(module: ModuleType) -> Iterator[tuple[str, object]]:
    """Yield what a spec may name of a module."""
    listed = getattr(module, "__all__", None)
    for name, value in vars(module).items():
        is_own = name[0] != "_" and not _imported(value, module)
        if is_own if listed is None else name in listed:
            yield name, value


def _imported(value: object, module: ModuleType) -> bool:
    """Say whether another module has a function or a class under its own name."""
    home = getattr(value, "__module__", None)
    if home == module.__name__ or not (inspect.isroutine(value) or inspect.isclass(value)):
        return False
    found: object = sys.modules.get(str(home))
    for part in value.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is value


def _seats(name: str, value: object, home: str) -> Iterator[tuple[str, Any]]:
    """Yield what can sit in a seat of what a module binds to a name: itself, and its methods."""
    from hansard.rules.own import is_own

    if isinstance(value, ModuleType):
        return
    is_class = inspect.isclass(value)
    if not is_class and is_own(value):
        yield name, value
    classes = [value] if is_class else type(value).__mro__
    for each in classes:
        for attribute, member in vars(each).items() if each.__module__ == home else ():
            bound = isinstance(member, staticmethod | classmethod)
            if attribute[0] != "_" and (bound or (inspect.isfunction(member) and not is_class)):
                yield f"{name}.{attribute}", getattr(value, attribute)
