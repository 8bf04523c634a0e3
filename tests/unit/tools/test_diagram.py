import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

from hansard.runtime.inputs import parse_spec

ROOT = Path(__file__).parents[3]
TOOL = ROOT / "tools" / "diagram"


@pytest.fixture(scope="module")
def diagram():
    loader = SourceFileLoader("diagram", str(TOOL))
    module = module_from_spec(spec_from_loader("diagram", loader))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        patch.setitem(sys.modules, "diagram", module)
        loader.exec_module(module)
        yield module


@pytest.fixture
def page(tmp_path):
    copy = tmp_path / "RULES.md"
    copy.write_bytes((ROOT / "schemas" / "RULES.md").read_bytes())
    return copy


def drawing(diagram, **fields):
    rows = diagram.draw(parse_spec({"question": "Q?", "model": "python:m"} | fields, "spec"))
    return [" ".join(line.split()) for line in rows.splitlines()]


def test_the_page_of_rules_is_fresh():
    command = [sys.executable, str(TOOL), "--check"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def altered(page, old, new):
    text = page.read_text()
    assert old in text
    page.write_text(text.replace(old, new, 1))
    return text


def stale(diagram, page, capsys):
    """The formats that --check names."""
    found = diagram.main(["--check"], page)
    lines = capsys.readouterr().out.splitlines()
    assert found == bool(lines)
    return [line.split()[4] for line in lines]


@pytest.mark.parametrize(
    ("format_", "old", "new"),
    [
        ("consensus", "decides if votes_reached", "decides"),
        ("judged", "ship → wait", "wait → ship"),
    ],
)
def test_a_diagram_that_is_wrong_is_found_and_mended(diagram, page, capsys, format_, old, new):
    text = altered(page, old, new)
    assert stale(diagram, page, capsys) == [format_]
    diagram.main(["--write"], page)
    assert page.read_text() == text


@pytest.mark.parametrize(
    ("format_", "old", "new"),
    [
        ("judged", "{label: wait, ", "{label: hold, "),
        (
            "moderated",
            "```yaml\nformat: moderated",
            "```yaml\nneutrality_check: true\nformat: moderated",
        ),
        ("panel", "agents: 3", "agents: 2"),
    ],
)
def test_an_example_that_changed_makes_its_diagram_stale(diagram, page, capsys, format_, old, new):
    altered(page, old, new)
    assert stale(diagram, page, capsys) == [format_]
    diagram.main(["--write"], page)
    assert stale(diagram, page, capsys) == []


def test_an_example_without_a_diagram_is_found(diagram, page, capsys):
    altered(page, "<!-- diagram: panel -->", "")
    assert stale(diagram, page, capsys) == ["panel"]


def test_a_diagram_without_an_example_is_found(diagram, page, capsys):
    altered(page, "```yaml\nformat: panel", "```text\nformat: panel")
    assert stale(diagram, page, capsys) == ["panel"]


def test_everything_is_printed(diagram, page, capsys):
    assert diagram.main([], page) == 0
    printed = capsys.readouterr().out
    for rows in diagram.DIAGRAM.findall(page.read_text()):
        assert rows[2] in printed


def test_first_proposals_are_asked_for_at_once_and_later_ones_in_turn(diagram):
    debaters = [{"id": "a"}, {"id": "b"}]
    rows = drawing(diagram, debaters=debaters, options=["x", "y"], threshold=2, max_rounds=2)
    assert rows[0] == "round 1 proposal a, b at once decides if votes_reached"
    assert rows[1] == "critique a → b decides if votes_reached"
    assert rows[4] == "round 2 proposal a → b decides if votes_reached"
    assert rows[7:] == ["consensus a → b decides", "at most 16 turns"]


def test_a_judged_debate_is_argued_to_its_last_round(diagram):
    debaters = [{"stance": name} for name in ("a", "b", "c")]
    assert drawing(diagram, format="judged", debaters=debaters, max_rounds=1) == [
        "round 1 argument stance_1 → stance_2 → stance_3",
        "verdict judge decides",
        "at most 4 turns",
    ]


def test_positions_are_proposed_at_once_and_attacked_one_by_one(diagram):
    positions = [{"stance": "a"}, {"stance": "b"}]
    assert drawing(diagram, format="moderated", positions=positions, neutrality_check=True) == [
        "round 1 framing framer",
        "proposition stance_1, stance_2 at once",
        "critique-1 critic",
        "rebuttal-1 rebuttal",
        "critique-2 critic",
        "rebuttal-2 rebuttal",
        "moderation moderator",
        "neutrality moderator decides",
        "at most 9 turns",
    ]
    alone = drawing(diagram, format="moderated", positions=positions, critique=False, max_rounds=3)
    assert alone[3] == "round 2 proposition stance_1, stance_2 at once"
    assert alone[4] == "moderation moderator decides if moderator_satisfied"


def test_a_satisfied_moderator_may_leave_the_neutrality_check_to_come(diagram):
    rows = drawing(diagram, format="moderated", max_rounds=2, neutrality_check=True)
    assert rows[4] == "moderation moderator neutrality if moderator_satisfied"
    assert rows[8:10] == ["moderation moderator", "neutrality moderator decides"]


def test_a_panel_stops_where_it_converges(diagram):
    assert drawing(diagram, format="panel", agents=2, rounds=1, judge={}) == [
        "round 0 draft agent_1, agent_2 at once verdict if converged",
        "round 1 draft agent_1, agent_2 at once",
        "verdict judge decides",
        "at most 5 turns",
    ]
    assert drawing(diagram, format="panel", agents=2, rounds=1, convergence_check=False)[:2] == [
        "round 0 draft agent_1, agent_2 at once",
        "round 1 draft agent_1, agent_2 at once decides",
    ]
