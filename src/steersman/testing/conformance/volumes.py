# SPDX-License-Identifier: Apache-2.0
"""Volumes of placed pods in golden scenarios: reported, and reserved without binding."""

from __future__ import annotations

from typing import Any

from steersman.framework import CycleState, PodInfo
from steersman.scheduler.plugins import VOLUMES_STATE_KEY, CycleVolumes, PodVolumes, VolumeBinding
from steersman.scheduler.runtime import Profile


def chosen_volumes(profile: Profile, pod: PodInfo, node: str) -> dict[str, Any]:
    """Return the bound and provisioned volumes of the pod's claims, in the corpus' format."""
    plugin, state = profile.plugins.get(VolumeBinding.name), CycleState()
    if not isinstance(plugin, VolumeBinding) or plugin.reserve(state, pod, node) is not None:
        return {}
    plugin.unreserve(state, pod, node)
    cycle = state.read(VOLUMES_STATE_KEY, CycleVolumes)
    volumes = cycle.by_node[node] if cycle is not None else PodVolumes()
    return {
        "volumeBindings": {b.claim.metadata.name: b.volume.metadata.name for b in volumes.bindings},
        "volumeProvisions": sorted(provision.claim.metadata.name for provision in volumes.provisions),
    }


def reserve_volumes(profile: Profile, pod: PodInfo, node: str) -> None:
    """Reserve the pod's volumes for the profile."""
    plugin = profile.plugins.get(VolumeBinding.name)
    if isinstance(plugin, VolumeBinding):
        plugin.reserve(CycleState(), pod, node)
