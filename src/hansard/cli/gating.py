"""`gate`: whether a question is worth a debate, before anything is spent."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path

import click

import hansard
from hansard.cli.console import console, fields, say_document
from hansard.cli.context import allow_option, next_step, open_store, store_option
from hansard.cli.own import models_of, models_option
from hansard.report.gating import rows
from hansard.report.safe import one_line

NOT_ADVISED = 3


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option("--downside", metavar="USD", help="What a wrong answer would cost.")
@click.option(
    "--confidence", metavar="X", help="A single model's own confidence in its answer, 0 to 1."
)
@click.option(
    "--answer",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="What a single model answers: whether it hedges is looked at.",
)
@click.option("--lookup", is_flag=True, help="The question is a factual lookup, not contested.")
@click.option(
    "--record", is_flag=True, help="Record the answer in the store, as a record of its own."
)
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON instead.")
@models_option
@allow_option
@store_option
def gate(
    spec: Path,
    downside: str | None,
    confidence: str | None,
    answer: Path | None,
    lookup: bool,
    record: bool,
    as_json: bool,
    models: Path | None,
    allow: tuple[str, ...],
) -> None:
    """Say whether the debate that SPEC describes is advised.

    A debate costs several times what a single answer costs. It is advised where
    the downside of a wrong answer is more than 50 times the cost of the debate;
    the `gate` of SPEC may ask otherwise. Each condition is printed, met or not,
    with its numbers. An option stands in place of what SPEC says. No model is
    called, and no key is needed.

    Nothing is recorded, but with --record: for a question that is not debated, so
    that `hansard outcome` can note later what came of it. The id of the record
    is then printed on standard error. A debate records its gate by itself.

    Exit codes: 0 a debate is advised; 2 the spec cannot be run; 3 none is advised.
    """
    with open_store(create=True) if record else nullcontext() as store:
        found = hansard.ask_gate(
            spec,
            downside=downside,
            confidence=confidence,
            answer=answer,
            contested=False if lookup else None,
            models=models_of(models),
            allow=allow,
            store=store,
        )
    if as_json:
        say_document(found)
    else:
        console().print(fields([(label, one_line(words, 1000)) for label, words in rows(found)]))
    if isinstance(found, hansard.GateRecord):
        step = next_step(f"outcome {found.debate[:8]} --label LABEL")
        told = [("Record", found.debate), ("Next", step)]
        console(stderr=True).print(fields(told))
    if not found.advised:
        sys.exit(NOT_ADVISED)
