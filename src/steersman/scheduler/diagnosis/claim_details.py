# SPDX-License-Identifier: Apache-2.0
"""Details of objections to a pod's claims: allocated devices, volume limits, claims in use by other
pods.

They come from the rejecting plugins, which have the counts. `cluster_details` calls this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from steersman.framework import CycleState, NodeInfo, PodInfo
from steersman.scheduler.plugins.dynamic_resources.filtering import DeviceShortfall
from steersman.scheduler.plugins.dynamic_resources.plugin import DynamicResources
from steersman.scheduler.plugins.node_volume_limits.plugin import NodeVolumeLimits
from steersman.scheduler.plugins.volume_restrictions import (
    STATE_KEY,
    ClaimConflicts,
    VolumeRestrictions,
    disks_conflict,
)
from steersman.scheduler.runtime.profile import Profile


class ClaimDetails:
    """Adds details to objections to the claims of one pod, node by node."""

    def __init__(self, pod: PodInfo, profile: Profile, state: CycleState) -> None:
        self._pod = pod
        self._profile = profile
        self._state = state

    def _devices(self, node: NodeInfo) -> str:
        plugin = self._profile.plugins.get(DynamicResources.name)
        found = plugin.shortfall(self._state, self._pod, node) if isinstance(plugin, DynamicResources) else None
        return "" if found is None else _device_text(found)

    def _limits(self, node: NodeInfo) -> str:
        plugin = self._profile.plugins.get(NodeVolumeLimits.name)
        found = plugin.exceeded(self._pod, node) if isinstance(plugin, NodeVolumeLimits) else None
        if found is None:
            return ""
        return (
            f"{found.driver} attaches at most {found.limit}; the node has {found.present}, the pod adds {found.coming}"
        )

    def _restrictions(self, node: NodeInfo) -> str:
        in_the_way = next((other.key for other in node.pods if disks_conflict(self._pod.pod, (other.pod,))), "")
        if in_the_way:
            return f"pod {in_the_way} uses the same disk on the node"
        conflicts = self._state.read(STATE_KEY, ClaimConflicts)
        claims = sorted(conflicts.exclusive) if conflicts is not None else []
        return f"claim {', '.join(claims)} can be used by one pod only" if claims else ""

    BY_PLUGIN: ClassVar[Mapping[str, Callable[[ClaimDetails, NodeInfo], str]]] = {
        DynamicResources.name: _devices,
        NodeVolumeLimits.name: _limits,
        VolumeRestrictions.name: _restrictions,
    }


def _device_text(found: DeviceShortfall) -> str:
    name = found.claim.partition("/")[2]
    asks = f"claim {name}: request {found.request} asks {found.wants} of class {found.device_class}"
    if found.free >= found.wants:
        how = " and ".join(found.constraints) or "no other request of the pod"
        return f"{asks} with {how}; {found.free} are free, but do not meet that"
    if not found.devices:
        return f"{asks}, there are no devices"
    if not found.matching:
        return f"{asks}, none of the {found.devices} devices on the node matches"
    return f"{asks}, {found.free} of {found.matching} that match are free"
