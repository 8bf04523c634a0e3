"""Which models can be used here: what needs nobody, and the providers with what they lack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field

from hansard.closed import Closed
from hansard.runtime.models.provider_rows import PROVIDERS
from hansard.runtime.models.providers import survey

# What answers without a provider: how it is written, and where its replies come from.
_OWN = (
    ("scripted", "scripted:replies.yaml", "replies from a file"),
    ("recorded", "recorded:5f2c19ab", "replies of a debate's record, or an export"),
    ("python", "python:NAME", "your function: --models FILE.py, or Python"),
    ("custom", "custom:NAME", "the same, with no persona or instruction"),
)


class Available(Closed):
    """What can answer, and what it lacks here."""

    name: str
    usable: bool = Field(description="Nobody was asked whether a key is good or a server runs")
    missing: tuple[str, ...] = Field(description="Commands to run and variables to set")
    extra: str | None = Field(description="Of the package hansard; null: none is needed")
    example: str = Field(description="As `model:` in a spec")
    about: str = Field(description="Where its replies come from")


class AvailableModels(Closed):
    """Everything that can stand before the colon of a `model:`."""

    models: Literal["hansard-models/v1"] = Field(
        default="hansard-models/v1", description="The form of this list"
    )
    providers: tuple[Available, ...] = Field(
        description="What needs nobody first, then the providers"
    )


def available(environ: Mapping[str, str]) -> AvailableModels:
    """Return what can be used with the variables of `environ`, none of whose values it shows."""
    own = [
        Available(name=name, usable=True, missing=(), extra=None, example=example, about=about)
        for name, example, about in _OWN
    ]
    asked = [
        Available(
            name=row.name,
            usable=row.usable,
            missing=row.missing,
            extra=row.extra,
            example=row.example,
            about=_about(row.name),
        )
        for row in survey(environ)
    ]
    return AvailableModels(providers=(*own, *asked))


def _about(name: str) -> str:
    provider = PROVIDERS[name]
    host = urlsplit(provider.home or "").netloc
    place = provider.place or (host if provider.local else ".".join(host.split(".")[-2:]))
    return f"{place}, {'at' if provider.path else 'or'} {provider.variable}"
