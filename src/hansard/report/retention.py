"""How long the texts of debates are kept: what is shown of it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hansard.closed import Closed


class Class(Closed):
    """The debates of one class of retention, of which any text is left."""

    retention: str | None = Field(description="The class; null: the debates name none")
    days: int | None = Field(description="How long they are kept; null: the policy does not say")
    debates: int
    held: int = Field(description="Of these, under a hold: they are never due")
    due: tuple[str, ...] = Field(description="The ids of those that were kept long enough")
    next: str | None = Field(description="The day on which the next one is due; null: none is")


class Retention(Closed):
    """All debates by their class of retention."""

    report: Literal["hansard-retention/v1"] = Field(
        default="hansard-retention/v1", description="The form of this document"
    )
    not_counted: int = Field(default=0, description="Records of the store that do not hold")
    classes: tuple[Class, ...] = Field(description="By name; those without a class last")
