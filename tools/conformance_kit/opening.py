"""What a debate says of itself in its opening: who asks, what was expected, where it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from conformance_kit.case import Case, bad, good, group
from conformance_kit.debates import decided, priced, voting
from conformance_kit.exports import export, files_of, seal, withholding
from conformance_kit.records import Record, derived

DEBATE = "11111111-1111-4111-8111-111111111111"
HEAD = derived("head").hex()
LAST_SEAT = 3  # the place of the last registration: two debaters
KNOWN = {
    "calls_least": 2,
    "calls_most": 8,
    "cost_least_micro_usd": 42,
    "cost_expected_micro_usd": 84,
    "cost_most_micro_usd": 84,
}
UNKNOWN = KNOWN | dict.fromkeys([name for name in KNOWN if name.startswith("cost")], None)


def name_of(record: Record) -> str:
    """Return the file of the name of who asks."""
    return f"blobs/{record.event(1)['data']['requester']['name']['sha256']}"


def origin(kind: str, **changes: Any) -> dict[str, Any]:
    """Return where a debate comes from."""
    return {"kind": kind, "debate": DEBATE, "head": HEAD, "seq": None} | changes


@cache
def stated() -> Record:
    """Twelve entries; the opening says who asks, who answers for the result, and more."""
    return voting(
        "stated",
        {"ann": "a", "ben": "a"},
        task_type="contract",
        requester={"name": "Zoë Ångström, counsel", "key": "example.org/reviewer"},
        owner="Bo Ek",
        labels=["q4", "Berlin", "pilot"],
        retention="seven-years",
    )


@group
def accepted() -> Iterator[Case]:
    """Openings that must be accepted."""
    whole = stated()
    yield good(
        "opening-says-who-asks",
        "The opening names who asks, with a key, who answers for the result, three labels in "
        "byte order, a task type and a retention class.",
        export(whole),
    )
    yield good(
        "opening-name-withheld",
        "The name of who asks is withheld from this recipient.",
        withholding(whole, name_of(whole)),
    )
    labels = [f"l{number:02}" for number in range(20)]
    yield good("opening-labels-twenty", "Twenty labels.", export(decided().data(1, labels=labels)))
    yield good(
        "opening-estimate",
        "What was expected, in calls and cost.",
        export(priced().data(1, estimate=KNOWN)),
    )
    yield good(
        "opening-estimate-without-prices",
        "No price is known, so no cost was expected.",
        export(decided().data(1, estimate=UNKNOWN)),
    )
    for kind in ("follow_up", "remand", "repeat", "evaluation"):
        yield good(
            f"opening-origin-{kind.replace('_', '-')}",
            "The opening names another debate and its head.",
            export(decided().data(1, origin=origin(kind))),
        )
    yield good(
        "opening-origin-branch",
        "The debate leaves another one at its entry 5.",
        export(decided().data(1, origin=origin("branch", seq=5))),
    )
    yield good(
        "opening-origin-evaluation-alone",
        "A trial goes back to no debate.",
        export(decided().data(1, origin=origin("evaluation", debate=None, head=None))),
    )


@group
def refused() -> Iterator[Case]:
    """Openings that do not agree with themselves."""
    base = decided()
    rows: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("labels-out-of-order", "Lower-case letters stand after upper-case ones.",
         {"labels": ["berlin", "Q4"]}),
        ("label-twice", "A label stands twice.", {"labels": ["q4", "q4"]}),
        ("fewest-above-most", "The fewest calls are more than the most.",
         {"estimate": UNKNOWN | {"calls_least": 9}}),
        ("one-cost-unknown", "One cost is unknown, the others are not.",
         {"estimate": KNOWN | {"cost_expected_micro_usd": None}}),
        ("least-above-expected", "The least cost is more than the expected one.",
         {"estimate": KNOWN | {"cost_least_micro_usd": 85, "cost_most_micro_usd": 86}}),
        ("expected-above-most", "The expected cost is more than the most.",
         {"estimate": KNOWN | {"cost_expected_micro_usd": 85}}),
        ("follow-up-of-nothing", "A follow-up names no debate.",
         {"origin": origin("follow_up", debate=None, head=None)}),
        ("follow-up-without-head", "A follow-up names a debate without its head.",
         {"origin": origin("follow_up", head=None)}),
        ("evaluation-without-head", "An evaluation names a debate without its head.",
         {"origin": origin("evaluation", head=None)}),
        ("evaluation-without-debate", "An evaluation names a head without its debate.",
         {"origin": origin("evaluation", debate=None)}),
        ("branch-from-nowhere", "A branch does not say at which entry it leaves.",
         {"origin": origin("branch")}),
        ("repeat-from-an-entry", "Only a branch leaves at an entry.",
         {"origin": origin("repeat", seq=5)}),
        ("repeat-of-itself", "A debate goes back to itself.",
         {"origin": origin("repeat", debate=base.event(1)["debate"])}),
    )  # fmt: skip
    for name, why, fields in rows:
        yield bad(f"opening-{name}", "9.not_due", 1, why, export(base.data(1, **fields)))
    yield bad(
        "opening-cost-without-price",
        "9.not_due",
        LAST_SEAT,
        "A cost was expected although no price is known.",
        export(base.data(1, estimate=KNOWN)),
    )
    yield bad(
        "opening-no-cost-with-price",
        "9.not_due",
        LAST_SEAT,
        "No cost was expected although each price is known.",
        export(priced().data(1, estimate=UNKNOWN)),
    )


@group
def misformed() -> Iterator[Case]:
    """Openings that have not the form."""
    base, whole = decided(), stated()
    requester = whole.event(1)["data"]["requester"]
    for name, why, record in (
        ("labels-21", "There are 21 labels.",
         base.data(1, labels=[f"l{number:02}" for number in range(21)])),
        ("label-null", "There are no labels, which is an empty list.", base.data(1, labels=None)),
        ("task-type-long", "The task type has 65 characters.", base.data(1, task_type="a" * 65)),
        ("key-with-plus", "A key's name has a plus sign.",
         whole.data(1, requester=requester | {"key": "example.org/rev+1"})),
        ("key-long", "A key's name has 129 characters.",
         whole.data(1, requester=requester | {"key": "a" * 129})),
        ("key-missing", "Who asks has no member `key`.",
         whole.data(1, requester={"name": requester["name"]})),
        ("name-in-clear", "The name of who asks stands in the entry.",
         base.data(1, requester={"name": "Ann", "key": None})),
        ("no-calls", "No call at all was expected.",
         base.data(1, estimate=UNKNOWN | {"calls_least": 0})),
        ("estimate-member-missing", "The estimate does not say what is to be expected.",
         base.data(1, estimate={key: value for key, value in UNKNOWN.items()
                                if key != "cost_expected_micro_usd"})),
        ("origin-kind", "There is no such kind of origin.", base.data(1, origin=origin("copy"))),
        ("origin-debate", "The other debate's id is no UUID.",
         base.data(1, origin=origin("follow_up", debate="other"))),
        ("origin-head", "The other debate's head is no hash.",
         base.data(1, origin=origin("follow_up", head=HEAD[:-1]))),
        ("origin-entry-0", "A branch leaves at entry 0.",
         base.data(1, origin=origin("branch", seq=0))),
    ):  # fmt: skip
        yield bad(f"opening-{name}", "7.schema", 1, why, export(record))
    files = files_of(whole)
    del files[name_of(whole)]
    yield bad("opening-name-gone", "8.missing", 1, "The name of who asks is gone.", seal(files))
