# SPDX-License-Identifier: Apache-2.0
"""Volumes of placed pods in golden scenarios: reported, and then kept reserved, since no controller ever binds them."""

from __future__ import annotations

from typing import Any

from steersman.framework.cycle_state import CycleState
from steersman.framework.pod_info import PodInfo
from steersman.plugins.volume_binding import STATE_KEY, CycleVolumes, PodVolumes, VolumeBinding
from steersman.runtime.profile import Profile


def chosen_volumes(profile: Profile, pod: PodInfo, node: str) -> dict[str, Any]:
    """Which volumes the pod's unbound claims get on the node, and which are provisioned, in the corpus' format."""
    plugin, state = profile.plugins.get(VolumeBinding.name), CycleState()
    if not isinstance(plugin, VolumeBinding) or plugin.reserve(state, pod, node) is not None:
        return {}
    plugin.unreserve(state, pod, node)
    cycle = state.read(STATE_KEY, CycleVolumes)
    volumes = cycle.by_node[node] if cycle is not None else PodVolumes()
    return {
        "volumeBindings": {b.claim.metadata.name: b.volume.metadata.name for b in volumes.bindings},
        "volumeProvisions": sorted(provision.claim.metadata.name for provision in volumes.provisions),
    }


def reserve_volumes(profile: Profile, pod: PodInfo, node: str) -> None:
    """Later pods of the profile find the volumes taken."""
    plugin = profile.plugins.get(VolumeBinding.name)
    if isinstance(plugin, VolumeBinding):
        plugin.reserve(CycleState(), pod, node)
