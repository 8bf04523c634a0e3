"""The formats of debate: one small pure module each, found by its name.

The engine knows none by name. A format is

- `TEMPLATES`: its prompt templates, each with the values that are filled in;
- `schemas(terms)`: what a reply must be, by role (FORMAT.md §6);
- `misfit(terms, seats)`: what is wrong with the seats at the table, if anything;
- `due(state)`: who speaks now, or the fact, or the comparison of texts, that
  is due before anybody does; or the reason why the debate has failed;
- `read(state, step, value, text_of)`: the clear fields of a reply that fits
  its schema, or the code that says why it does not count;
- `admits(state, step, data)`: whether a recorded turn whose reply is gone can
  be what such a reply gives;
- `template(state, step)`, `values(state, step)`: the speaker's instruction;
- `label(state, turn)`: the title of a turn in the transcript, and how its
  reply is shown; `retold(state, step)`: the transcript as one step is shown
  it, where that is another order or under other titles;
- `reason(state)`: why a debate that was decided stopped;
- `most_turns(terms, debaters)`: how many turns there can be, a synthesis aside;
- where texts are compared, `answer_of(value)`, `compared(state, what, answers)`,
  and `restated(state, what, data)` for when one of them is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from hansard.rules.fields import Role, Terms
from hansard.rules.formats import consensus, judged, moderated, panel

FORMATS: dict[str, ModuleType] = {
    "consensus": consensus,
    "judged": judged,
    "moderated": moderated,
    "panel": panel,
}


def most_turns(terms: Terms, roles: Sequence[Role]) -> int:
    """Return how many turns a debate can have whose seats have these roles."""
    turns: int = FORMATS[terms["format"]].most_turns(terms, roles.count("debater"))
    return turns + roles.count("synthesizer")
