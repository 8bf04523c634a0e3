"""How fast a page is: figures that are printed, each beside its target.

A busy machine is no defect, so no time makes a test fail. `unit/page` bounds the page's bytes.
"""

import json
from statistics import median

import pytest

from exporting import exported
from support import Debate, Reply, Setup

VOTES = {"planner": "release", "critic": "revise", "operator": "escalate"}
WORDS = "The load test of this build left the question open, and nobody knows why. " * 5
ROUNDS = {1_000: 25, 10_000: 250}  # that make more entries than this
SECONDS = {1_000: 1, 10_000: 3}
STEP_MS = 100
SEARCH_MS = 100
# The page's own clock at the verdict, and once what was drawn is painted.
CLOCK = """new MutationObserver(() => {
  if (!document.documentElement.dataset.verdict || window.decided) return;
  window.decided = performance.now();
  requestAnimationFrame(() => setTimeout(() => { window.painted = performance.now(); }));
}).observe(document, { subtree: true, attributes: true, attributeFilter: ["data-verdict"] })"""
STEPS = """(places) => places.map((place) => {
  const slider = document.getElementById("slider"), begin = performance.now();
  slider.value = place;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  document.body.offsetHeight;
  return performance.now() - begin;
})"""

SEARCH = """(words) => Array.from(words, (_, end) => {
  const field = document.getElementById("words"), begin = performance.now();
  field.value = words.slice(0, end + 1);
  field.dispatchEvent(new Event("input", { bubbles: true }));
  document.body.offsetHeight;
  return performance.now() - begin;
})"""


@pytest.fixture
def tell(capsys):
    """Print past pytest's capture."""

    def line(text):
        with capsys.disabled():
            print(f"\n{text}", end="")

    return line


@pytest.fixture(params=ROUNDS)
def long_debate(request):
    """A debate of three whose votes stay split: how many entries it has at least, its export."""

    def reply(call):
        said = {"stance": WORDS, "rationale": WORDS, "vote": VOTES[call.step.speaker]}
        return Reply(json.dumps(said), tokens=(1000, 400, 30))

    setup = Setup(max_rounds=ROUNDS[request.param], prices=True)
    bundle = Debate(setup, reply, tick=1000).run().bundle()
    assert len(bundle.lines) > request.param
    return request.param, exported(bundle)


def test_a_long_debate(show, long_debate, tell):
    entries, files = long_debate
    page, url = show.new(files, viewport={"width": 1280, "height": 720})
    page.add_init_script(CLOCK)
    page.goto(url)
    show.decided(page)
    page.wait_for_function("window.painted")
    decided, painted = page.evaluate("[window.decided / 1000, window.painted / 1000]")
    last = int(page.get_attribute("#slider", "max"))
    places = [1 + (number * 7919) % last for number in range(20)]
    steps = page.evaluate(STEPS, places)
    assert page.get_attribute("html", "data-verdict") == "consistent"
    assert page.input_value("#slider") == str(places[-1])
    page.focus("#words")
    page.wait_for_function("page.index")
    keys = page.evaluate(SEARCH, "nobody knows why. The lo")
    tell(
        f"search of {last:,} entries: first key {keys[0]:.0f} ms, then {median(keys[1:]):.0f} ms, "
        f"at most {max(keys[1:]):.0f} ms (target {SEARCH_MS} ms)"
    )
    tell(
        f"page of {last:,} entries: verified {decided:.2f} s, painted {painted:.2f} s "
        f"(target {SECONDS[entries]} s); a step {median(steps):.0f} ms, "
        f"at most {max(steps):.0f} ms (target {STEP_MS} ms)"
    )
