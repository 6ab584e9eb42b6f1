# SPDX-License-Identifier: Apache-2.0
"""Every plugin of the default profile registers for the events that kube-scheduler's plugin registers for."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from tests.golden_files import golden

from steersman.base import ManualClock
from steersman.config import FeatureGates, default_configuration
from steersman.framework import ACTION_NAMES, ActionType, ClusterEvent, EventResource
from steersman.scheduler.assembly import SchedulerOptions
from steersman.scheduler.what_if import isolated_scheduler

GROUPS: Final = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True}
V1_37: Final = Path(__file__).parents[1] / "golden" / "1.37"
RECORDED: Final[Mapping[str, tuple[Path, FeatureGates]]] = {
    "1.36": (golden("plugin_events.json"), FeatureGates(version="1.36")),
    "1.37": (V1_37 / "plugin_events.json", FeatureGates(version="1.37")),
    "1.37 with pod groups": (V1_37 / "plugin_events_workload.json", FeatureGates(GROUPS, "1.37")),
}
#: Up to v1.36, the queue adds this to registrations for new nodes; recordings do not have it.
ADDED_BY_QUEUE: Final = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)
ACTIONS: Final = {name: ActionType(value) for value, name in ACTION_NAMES.items()}

Registrations = dict[tuple[str, bool], ActionType]
"""Actions by resource and by whether there is a hint."""


def merged(rows: Iterable[tuple[str, bool, ActionType]]) -> Registrations:
    found: Registrations = defaultdict(lambda: ActionType.NONE)
    for resource, has_hint, action in rows:
        found[resource, has_hint] |= action
    return dict(found)


def recorded(event: Mapping[str, Any]) -> tuple[str, bool, ActionType]:
    action = ActionType.NONE
    for name in event["actions"]:
        action |= ACTIONS[name]
    return event["resource"], event["hint"], action


@pytest.mark.parametrize("version", RECORDED)
def test_registrations_are_those_of_kube_scheduler(version: str) -> None:
    file, gates = RECORDED[version]
    expected = {one["plugin"]: merged(map(recorded, one["events"])) for one in json.loads(file.read_text("utf-8"))}
    profiles = isolated_scheduler(SchedulerOptions(default_configuration(gates), gates), ManualClock()).profiles
    ours: dict[str, list[tuple[str, bool, ActionType]]] = {name: [] for name in expected}
    for name, row in profiles["default-scheduler"].hints:
        if gates.version.minor > 36 or (row.event, row.hint) != (ADDED_BY_QUEUE, None):
            ours.setdefault(name, []).append((row.event.resource, row.hint is not None, row.event.action))
    assert {name: merged(rows) for name, rows in ours.items()} == expected
