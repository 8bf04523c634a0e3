"""What specs, results and files are made of: named fields and no others, frozen."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Closed(BaseModel):
    """The base of every class whose fields are checked.

    What checks them is made when a class is first used: to make all of them at once took up to
    two fifths of a command's start.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
