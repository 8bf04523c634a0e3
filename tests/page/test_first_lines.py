"""What a reader sees first of debates of every format, however they ended, beside what happened.

`tests/golden/first_lines/` has a file for each format, with a part for each debate: what happened
as the entries say it, whether to act on it (where the signer is known), the first line of `show`,
the row of `list`, the head of the Markdown report, and the sentence that leads the page with what
the page says beside it. Every format has three of them that are made alike. After a change that is
meant, `pytest tests/page/test_first_lines.py --rewrite` writes them anew; read the difference as
somebody would who knows nothing else of the debate.
"""

import json
import subprocess
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

from formats import FORMATS
from hansard.cli.listing import _COLUMNS
from hansard.cli.summary import outcome
from hansard.page.write import script as page_script
from hansard.report.listing import entry
from hansard.rules.fields import Outcome
from hansard.runtime.models.base import Wire
from reporting import of
from support import DEFAULTS, Debate, Die, Fail, Reply, Setup, Stop, say, script, vote

GOLDEN = Path(__file__).parents[1] / "golden" / "first_lines"
REFUSED, AWAY, SLOW = Fail("client_error", wire=Wire(401)), Fail("unreachable"), Fail("timeout")
UNREADABLE = Reply("I would rather not say.")
SILENT = Fail("no_reply")
NOT_LISTED = {"Debate", "Held (UTC)", "Question", "Cost"}  # columns that say nothing of the end
SEATS = ("planner", "critic", "operator")
SPLIT = dict(zip(SEATS, ("release", "revise", "escalate"), strict=True))
STANCES = DEFAULTS["judged"]["debaters"]
OWN = {"model": "custom:board"}
MORE = {"synthesizer": True}
SHIP = {"verdict": say(winner="ship")}
OPTIONS = {"options": ["yes", "no", "later"]}
CHOICES = {f"{who}": say(choice=choice) for who, choice in zip(
    ("ann", "bob", "cat"), OPTIONS["options"], strict=True
)}  # fmt: skip


def split(call):
    return vote(SPLIT[call.step.speaker])


def agree(_):
    return vote("release")


DEBATES = {
    "consensus, disagreed": (Setup(), script(usual=split)),
    "consensus, disagreed, with a deliverable": (Setup(**MORE), script(
        {"synthesis": Reply('{"synthesis":"No."}')}, split)),
    "consensus, voted to escalate": (Setup(), script(usual=lambda _: vote("escalate"))),
    "consensus, no key": (Setup(model="openai:m"), script(usual=REFUSED)),
    "consensus, half heard": (Setup(), script({"operator": UNREADABLE}, split)),
    "consensus, one seat refused": (Setup(), script({"operator": REFUSED}, agree)),
    "consensus, too many seats refused": (
        Setup(model="openai:m"), script({"operator": REFUSED, "critic": REFUSED}, agree)),
    "consensus, unheard later": (Setup(), script({"critique": SLOW}, split)),
    "consensus, cut short": (Setup(limits={"calls": 4}), script(usual=split)),
    "consensus, stopped by a person": (
        Setup(), script({"r1.critique.critic": Stop("Ann Lee", "wrong question")}, split)),
    "consensus, a ceiling before the deliverable": (
        Setup(limits={"calls": 3}, **MORE), script(usual=agree)),
    "consensus, stopped before the deliverable": (Setup(**MORE), script(
        {"synthesis": Stop("Ann Lee", "enough")}, agree)),
    "consensus, a prompt refused": (Setup(approved={}), script()),
    "consensus, resumed": (Setup(), script({"r1.proposal.critic:1": Die()}, agree)),
    "judged, won": (Setup("judged"), script(SHIP)),
    "judged, several combined": (Setup("judged"), script({"verdict": say(winner=None)})),
    "judged, undeclared": (
        Setup("judged", attempts=1), script({"verdict": say(winner="postpone")})),
    "judged, undeclared by a function": (
        Setup("judged", judge=OWN, **MORE), script({"verdict": say(winner="postpone")})),
    "judged, named in words by a function": (
        Setup("judged", judge=OWN), script({"verdict": say(winner="Ship it now.")})),
    "judged, one stance heard": (Setup("judged"), script(
        {"bob": SILENT, "cat": SILENT})),
    "judged, the judge refused": (
        Setup("judged", judge={"model": "anthropic:m"}), script({"verdict": REFUSED})),
    "judged, the judge unreadable": (Setup("judged"), script({"verdict": UNREADABLE})),
    "judged, a dead endpoint": (Setup("judged", model="ollama:m"), script(usual=AWAY)),
    "judged, cut short": (Setup("judged", limits={"calls": 3}), script()),
    "moderated, upheld": (Setup("moderated"), script(
        {"moderation": say(upholds_proposition=True)})),
    "moderated, nothing cited": (
        Setup("moderated", evidence=(("memo", "It failed.", 1),)), script()),
    "moderated, unchallenged": (Setup("moderated"), script({"critique": UNREADABLE})),
    "moderated, nothing proposed": (Setup("moderated"), script({"proposition": SLOW})),
    "moderated, the moderator failed": (Setup("moderated"), script({"moderation": SLOW})),
    "moderated, positions ranked": (Setup("moderated", positions=STANCES), script()),
    "judged, stopped by a person": (Setup("judged"), script(
        {"verdict": Stop("Ann *Lee*", "<b>no</b>")})),
    "moderated, stopped by a person": (Setup("moderated"), script(
        {"critique": Stop("Ann Lee", "wrong question")})),
    "moderated, cut short": (
        Setup("moderated", limits={"calls": 2, "cost_usd": None}), script()),
    "panel, options disagree": (Setup("panel", **OPTIONS), script(CHOICES)),
    "panel, options agree": (Setup("panel", **OPTIONS), script()),
    "panel, judged": (Setup("panel", judge={}), script()),
    "panel, one draft left": (
        Setup("panel", model="google:m"), script({"ann": REFUSED, "bob": REFUSED})),
    "panel, one heard": (Setup("panel"), script({"ann": SILENT, "bob": SILENT})),
    "panel, stopped by a person": (Setup("panel"), script(
        {"r1.draft.bob": Stop("Ann Lee", "enough")})),
    "panel, resumed in vain": (Setup("panel"), script(
        {"r0.draft.bob:1": Die(), "r0.draft.bob:2": Stop("Ann Lee", "it hangs")})),
    "panel, cut short": (Setup("panel", limits={"calls": 4}), script()),
    "baseline, options agree": (Setup("baseline", **OPTIONS), script()),
    "baseline, a tie": (Setup("baseline", draws=4, **OPTIONS), script(
        {"draw-2": say(choice="no"), "draw-3": say(choice="no")})),
    "baseline, the first": (Setup("baseline"), script({"draw-1": SILENT})),
    "baseline, one": (Setup("baseline", draws=1), script()),
    "baseline, cut short": (
        Setup("baseline", limits={"calls": 2}, leading_call=True), script()),
}  # fmt: skip
for name in FORMATS:
    DEBATES |= {
        f"{name}, usual replies": (Setup(name), script()),
        f"{name}, no server": (Setup(name, model="openai:m"), script(usual=AWAY)),
        f"{name}, one call in vain": (
            Setup(name, limits={"calls": 1, "cost_usd": None}), script(usual=SLOW)),
    }  # fmt: skip


def happened(debate):
    """What the entries say of the end, and how much of the debate took place."""
    state, turns = debate.state, debate.record.all("turn.recorded", "turn.forfeited")
    end = "{outcome} ({reason})".format(**state.closed)
    decided = "{decision} ({rule})".format(**state.decision) if state.decision else "nothing"
    heard = sum("call" in row for row in turns)
    calls = f"{state.total().calls} calls, {len(state.failures)} failed"
    return f"{end}; decided: {decided}; {heard} of {len(turns)} turns heard; {calls}"


def report_head(result):
    """The first paragraph beneath the heading of the decision, and that the output is missing."""
    first, _, rest = result.to_markdown().partition("## Decision\n\n")[2].partition("\n\n")
    second = rest.partition("\n\n")[0]
    return f"{first} {second}" if second.startswith("**The output") else first


def missing(result):
    """What stands beneath the decision where nobody wrote the output."""
    return "".join(f" | {label}  {words}" for label, words in outcome(result) if label == "Output")


def heads(node, debates):
    """What the page shows first of each."""
    lines = "".join(
        json.dumps(
            {
                "events": row.record.events,
                "texts": [*row.record.texts.items()],
                "review": {**of(row).reviewed.model_dump(), "released": of(row).released},
            }
        )
        + "\n"
        for row in debates
    )
    with TemporaryDirectory() as folder:
        scripts = [Path(folder, f"{name}.js") for name in ("figures", "display")]
        for path in scripts:
            path.write_text(page_script(path.stem), encoding="utf-8")
        words = [node, Path(__file__).parent / "heads.js", *scripts]
        done = subprocess.run(words, input=lines, capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_what_is_seen_first_says_what_happened(node, rewrite):
    debates = {name: Debate(setup, ends).run() for name, (setup, ends) in DEBATES.items()}
    ended = {(row.setup.spec.format, row.state.closed["outcome"]) for row in debates.values()}
    assert ended == {*product(FORMATS, get_args(Outcome))}
    parts, files = [], {name: [] for name in FORMATS}
    for (name, debate), head in zip(debates.items(), heads(node, debates.values()), strict=True):
        result = of(debate)
        assert head["lead"] == result.sentence
        assert head["acting"] == f"{result.acting}."
        label, first = outcome(result)[0]
        columns = [row for row in _COLUMNS if row.title not in NOT_LISTED]
        cells = [f"{row.title} {row.cell(entry(result))}" for row in columns]
        parts.append(
            "\n".join(
                (
                    f"== {name}",
                    f"happened  {happened(debate)}",
                    f"act       {result.acting}",
                    f"show      {label}  {getattr(first, 'plain', first)}{missing(result)}",
                    f"list      {'  '.join(cells)}",
                    f"markdown  {report_head(result)}",
                    f"page      {' | '.join([head['lead'], *head['alerts']])}",
                )
            )
        )
        files[result.format].append(parts[-1])
    for format_, rows in files.items():
        text, path = "\n\n".join(rows) + "\n", GOLDEN / f"{format_}.txt"
        if rewrite:
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text
    for debate, part in zip(debates.values(), parts, strict=True):
        lines = dict(line.split(None, 1) for line in part.splitlines()[1:])
        shown = (lines["show"], lines["markdown"], lines["page"])
        if debate.state.closed["outcome"] == "failed":
            assert "Decision –" in lines["list"]
            assert all("failed" in line.lower() for line in (*shown, lines["list"]))
        if debate.state.decision is None:
            assert "none: " in lines["show"]
            assert "None: " in lines["markdown"]
            assert "Decision –" in lines["list"]
