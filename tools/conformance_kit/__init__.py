"""The cases of the conformance kit, and what every verifier must say of each.

The expected verdicts, codes and places are written here by hand, from schemas/FORMAT.md;
no verifier is asked. Unless a case is about the chain, the manifest or a signature, the
record is chained anew and signed with the genuine keys, so that what is left to find is
the one thing that was changed.
"""

from __future__ import annotations

from conformance_kit.accepted import good_cases
from conformance_kit.case import Case
from conformance_kit.ceilings import (
    ceiling_good_cases,
    in_hand_cases,
    overspent_cases,
    truncated_cases,
    unstated_cases,
    unstated_good_cases,
)
from conformance_kit.containers import container_cases, manifest_cases
from conformance_kit.deliverables import deliverable_good_cases, synthesis_cases, told_cases
from conformance_kit.judged import judged_good_cases
from conformance_kit.judged_defects import (
    judged_schedule_cases,
    judged_seat_cases,
    undeclared_cases,
    verdict_cases,
)
from conformance_kit.layouts import layout_cases, layout_good_cases
from conformance_kit.lines import blob_cases, chain_cases, line_cases, schema_cases
from conformance_kit.moderated import moderated_good_cases
from conformance_kit.moderated_defects import (
    argued_cases,
    moderated_outcome_cases,
    moderation_cases,
    weak_cases,
)
from conformance_kit.moderated_schedule import moderated_schedule_cases, moderated_seat_cases
from conformance_kit.panel import panel_good_cases
from conformance_kit.panel_defects import (
    measured_cases,
    panel_count_cases,
    panel_outcome_cases,
    panel_reply_cases,
)
from conformance_kit.panel_schedule import panel_schedule_cases, panel_seat_cases
from conformance_kit.records import Files, trust
from conformance_kit.rejected import rejection_cases, rejection_good_cases, told_again_cases
from conformance_kit.retries import retry_cases, retry_good_cases
from conformance_kit.rules import rule_cases, withheld_cases
from conformance_kit.schedule import call_cases, field_cases, schedule_cases, turn_cases
from conformance_kit.signatures import note_cases, policy_cases
from conformance_kit.tool_use import tool_cases, tool_good_cases
from conformance_kit.withheld import withheld_field_cases, withheld_good_cases, withheld_turn_cases


def cases() -> list[Case]:
    """Return all cases, by name."""
    groups = (
        good_cases,
        container_cases,
        manifest_cases,
        note_cases,
        policy_cases,
        line_cases,
        schema_cases,
        chain_cases,
        blob_cases,
        schedule_cases,
        call_cases,
        turn_cases,
        field_cases,
        rule_cases,
        withheld_cases,
        judged_good_cases,
        verdict_cases,
        judged_schedule_cases,
        undeclared_cases,
        judged_seat_cases,
        moderated_good_cases,
        moderation_cases,
        moderated_outcome_cases,
        argued_cases,
        weak_cases,
        moderated_schedule_cases,
        moderated_seat_cases,
        panel_good_cases,
        measured_cases,
        panel_count_cases,
        panel_outcome_cases,
        panel_reply_cases,
        panel_schedule_cases,
        panel_seat_cases,
        deliverable_good_cases,
        synthesis_cases,
        told_cases,
        tool_good_cases,
        tool_cases,
        ceiling_good_cases,
        overspent_cases,
        truncated_cases,
        unstated_good_cases,
        unstated_cases,
        in_hand_cases,
        retry_good_cases,
        retry_cases,
        rejection_good_cases,
        rejection_cases,
        told_again_cases,
        layout_good_cases,
        layout_cases,
        withheld_good_cases,
        withheld_turn_cases,
        withheld_field_cases,
    )
    found = sorted((case for group in groups for case in group()), key=lambda case: case.name)
    twice = {case.name for case in found if sum(case.name == row.name for row in found) > 1}
    if twice:
        raise ValueError(f"cases of one name: {sorted(twice)}")
    return found


def build() -> Files:
    """Return the files of the kit that are made, by their names below `tests/conformance/`."""
    files = {"trust.json": trust()}
    for case in cases():
        files |= {f"cases/{name}": body for name, body in case.files().items()}
    return files
