# SPDX-License-Identifier: Apache-2.0
"""The events for which the volume plugins register, as kube-scheduler's do."""

from __future__ import annotations

import json

import pytest
from tests.golden_files import golden
from tests.plugins.volume_binding.cluster import VolumeCluster

from steersman.framework.events import ACTION_NAMES, ActionType
from steersman.framework.plugin import EnqueueExtensions
from steersman.scheduler.plugins.node_volume_limits import NodeVolumeLimits
from steersman.scheduler.plugins.volume_restrictions import VolumeRestrictions
from steersman.scheduler.plugins.volume_zone import VolumeZone

CLUSTER = VolumeCluster()
PLUGINS: list[EnqueueExtensions] = [
    CLUSTER.plugin,
    VolumeZone(None, CLUSTER.handle),
    VolumeRestrictions(None, CLUSTER.handle),
    NodeVolumeLimits(None, CLUSTER.handle),
]


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.name)
def test_registered_events_are_upstreams(plugin: EnqueueExtensions) -> None:
    documents = json.loads(golden("plugin_events.json").read_text())
    expected = next(document["events"] for document in documents if document["plugin"] == plugin.name)
    wanted = {(e["resource"], frozenset(e["actions"]), e["hint"]) for e in expected}
    ours = {(row.event.resource, _names(row.event.action), row.hint is not None) for row in plugin.events_to_register()}
    assert ours == wanted


def _names(action: ActionType) -> frozenset[str]:
    """A registration for all updates is one name."""
    names = set[str]()
    if action & ActionType.UPDATE == ActionType.UPDATE:
        names.add(ACTION_NAMES[ActionType.UPDATE])
        action &= ~ActionType.UPDATE
    return frozenset(names | {ACTION_NAMES[single] for single in action})
