"""What terminal and page say of alterations, in the same words.

`tests/golden/alterations.txt` has the first finding of cases of the conformance kit as
`hansard verify` prints it. After a change that is meant, `pytest tests/page/test_alterations.py
--rewrite` writes it anew.
"""

import io
import json
import subprocess
from pathlib import Path

from rich.console import Console

from hansard import read_trust, verify_export
from hansard.cli.verifying import _print_finding
from hansard.page.write import part
from hansard.page.write import script as page_script
from kit import ROWS, STORED, case

GOLDEN = Path(__file__).parents[1] / "golden" / "alterations.txt"
CODES = (
    *("5.prev", "6.order", "7.schema", "8.hash", "9.not_due", "9.speaker", "10.template"),
    *("11.prompt", "12.vote", "12.winner", "12.rating", "13.struck", "14.tally"),
    *("15.cost_micro_usd", "16.decision", "18.max_rounds", "19.head"),
)


def test_terminal_and_page_say_the_same_of_alterations(node, rewrite, tmp_path):
    firsts = {row.expected.code: name for name, row in reversed(ROWS.items())}
    trust = read_trust(STORED / "trust.json")
    found = {code: verify_export(case(firsts[code]).export, trust).findings[0] for code in CODES}
    out = io.StringIO()
    for row in found.values():
        _print_finding(Console(file=out, width=1000, highlight=False), row)
    if rewrite:
        GOLDEN.write_text(out.getvalue(), encoding="utf-8")
    assert GOLDEN.read_text(encoding="utf-8") == out.getvalue()
    scripts = {"figures.js": page_script("figures"), "altered.js": part("altered.js")}
    for name, text in scripts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    lines = "".join(row.model_dump_json() + "\n" for row in found.values())
    done = subprocess.run(
        [node, Path(__file__).parent / "altered.js", *(tmp_path / name for name in scripts)],
        input=lines, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    for (code, row), said in zip(found.items(), told, strict=True):
        place = f"entry {row.seq}" if row.seq else "the record"
        assert f"\n{place}  {code}  {said}\n" in out.getvalue()
