"""The formats of debate: one small pure module each, found by its name.

A format says who speaks next (`due`), what a reply must be (`reply_schema`),
and which derived fact follows (`next_fact`). The engine knows none by name.
"""

from __future__ import annotations

from types import ModuleType

from hansard.debate.formats import consensus

FORMATS: dict[str, ModuleType] = {"consensus": consensus}
