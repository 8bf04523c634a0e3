"""The table of figures in README.md, from results that `tools/bench --json` printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from bench_kit.measure import Figure

README = Path(__file__).parents[2] / "README.md"
BEGIN, END = "<!-- begin: tools/bench --readme -->\n", "<!-- end: tools/bench --readme -->\n"
HEAD = "| what | ours | beside | ratio | target |\n|---|--:|--:|--:|--:|\n"
# The figures that are shown, in this order, by number and words of their names.
SHOWN = (
    (16, "cpu beside loomflow, audited"),
    (16, "cpu beside AutoGen"),
    (16, "peak beside"),
    (8, ""),
    (17, "hansard.run"),
    (17, "list of"),
    (20, ""),
    (18, ""),
    (4, "verify beside orjson.loads"),
    (19, ""),
    (21, ""),
)


def table(figures: Iterable[Figure]) -> str:
    """Return the table of those figures that are shown and have a target."""
    known = [figure for figure in figures if figure.target]
    shown = (
        figure
        for number, words in SHOWN
        for figure in known
        if figure.number == number and words in figure.name
    )
    return HEAD + "".join(map(_row, shown))


def _row(figure: Figure) -> str:
    met = "" if figure.met else ", missed"
    ours, beside = f"{figure.ours:,.1f} {figure.unit}", f"{figure.floor:,.1f}"
    return f"| {figure.name} | {ours} | {beside} | {figure.ratio:.2f} | {figure.target}{met} |\n"


def parts(readme: str) -> Iterator[str]:
    """Yield what stands before the table, the table, and what stands after it."""
    before, _, rest = readme.partition(BEGIN)
    found, _, after = rest.partition(END)
    yield from (before, found, after)


def write(figures: Iterable[Figure]) -> None:
    """Put the table of these figures into README.md."""
    before, _, after = parts(README.read_text(encoding="utf-8"))
    README.write_text(f"{before}{BEGIN}{table(figures)}{END}{after}", encoding="utf-8")
