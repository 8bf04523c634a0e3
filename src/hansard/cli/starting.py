"""`init` and `schema`: what somebody needs to write a debate of their own."""

from __future__ import annotations

import re
from contextlib import ExitStack, suppress
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path

import click
from rich.text import Text

import hansard
from hansard.api.exporting import output_folder
from hansard.cli.console import console, fields
from hansard.commands import path_word
from hansard.errors import UsageError
from hansard.examples import EXAMPLES
from hansard.installing import install_command
from hansard.private import Folder
from hansard.schemas import SCHEMAS, render

_HINT = re.compile(rb"pip install 'hansard\[(\w+)\]'")  # in the text of an example


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "format_",
    type=click.Choice(hansard.formats()),
    show_default="consensus",
    help=" ".join(
        (
            "The format of the debate.",
            *(f"In `{name}`, {what}." for name, what in hansard.formats().items()),
        )
    ),
)
@click.option(
    "--example",
    metavar="NAME",
    type=click.Choice(list(EXAMPLES)),
    help=" ".join(
        (
            "In place of a format, an example from practice.",
            *(f"In `{name}`, {row.about}." for name, row in EXAMPLES.items()),
        )
    ),
)
def init(folder: Path, format_: str | None, example: str | None) -> None:
    """Write an example debate, ready to run, into DIR.

    DIR gets a spec, evidence, scripted replies, and a JSON Schema with which editors
    complete the spec. With --format, the spec has a comment on each field; with
    --example, DIR has a README.md that says what to look at.

    Exit codes: 0 written; 2 DIR is not empty or cannot be written.
    """
    if format_ and example:
        raise UsageError("init.format_and_example", "give either --format or --example, not both")
    write_example(folder, EXAMPLES[example].folder if example else format_ or "consensus")
    spec = folder / "debate.yaml"
    rows = [("Written", f"{spec}, its evidence and its scripted replies")]
    if any(folder.rglob("*.pdf")) and find_spec("pypdfium2") is None:
        rows += [("First", f"{install_command('documents')}, because its evidence has a PDF")]
    then = f"edit {spec}: it says what each field means, and how to put a model in"
    if example:
        then = f"read {folder / 'README.md'}: it says what to look at, and how to get the page"
    console().print(fields([*rows, ("Next", f"hansard run {path_word(spec)}"), ("Then", then)]))


def write_example(folder: Path, name: str = "consensus") -> None:
    """Write the packaged example `name` into `folder`, with the schema that editors complete it by.

    Raises UsageError `output.exists`, `init.not_empty` or `init.failed`, before it writes a file.
    """
    try:
        with output_folder(folder, listed=True) as held, ExitStack() as made:
            if any(held.files()):
                raise UsageError("init.not_empty", f"{folder} is not empty; name a new folder")
            _copy(files("hansard.examples") / name, held, made)
            _write(held, "debate.schema.json", render("spec").encode(), made)
    except OSError as error:
        raise UsageError("init.failed", f"{folder} cannot be written: {error.strerror}") from None


def _copy(source: Traversable, target: Folder, made: ExitStack) -> None:
    for item in source.iterdir():
        if item.is_dir():
            inner = made.enter_context(target.inner(item.name))
            _undo_unless_whole(target, item.name, made)
            _copy(item, inner, made)
        else:
            _write(target, item.name, _HINT.sub(_installing, item.read_bytes()), made)


def _write(folder: Folder, name: str, data: bytes, made: ExitStack) -> None:
    folder.write(name, (data,))
    _undo_unless_whole(folder, name, made)


def _undo_unless_whole(folder: Folder, name: str, made: ExitStack) -> None:
    """Take what was made away again if not all of it can be."""

    def undo(kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            with suppress(OSError):
                folder.remove(name)

    made.push(undo)


def _installing(hint: re.Match[bytes]) -> bytes:
    return install_command(hint[1].decode()).encode()


@click.command()
@click.argument("name", required=False)
@click.option(
    "--all",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Write every schema into DIR, one file each.",
)
def schema(name: str | None, folder: Path | None) -> None:
    """Print the JSON Schema NAME, or list all names.

    The schemas describe what Hansard reads (`spec`, `script`), what it records (`event`,
    and one for each type of entry), and what it prints as JSON.

    Exit codes: 0 printed or written; 2 there is no such schema, or DIR cannot be written.
    """
    if folder is not None:
        if name is not None:
            raise UsageError("schema.name_and_all", "give either NAME or --all DIR, not both")
        _write_schemas(folder)
    elif name is None:
        console().print(Text("\n".join(SCHEMAS)))
    else:
        click.echo(render(name), nl=False)


def _write_schemas(folder: Path) -> None:
    try:
        with output_folder(folder) as held:
            for name in SCHEMAS:
                held.write(f"{name}.schema.json", (render(name).encode(),), replace=True)
    except OSError as error:
        raise UsageError("schema.failed", f"{folder} cannot be written: {error.strerror}") from None
