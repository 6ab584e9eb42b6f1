# SPDX-License-Identifier: Apache-2.0
"""Details of objections about what a pod claims: devices that are taken, volumes beyond a limit, claims in use elsewhere.

Asked of the plugins that objected, which know their counts. Beside `cluster_details`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo
from steersman.plugins.dynamic_resources.filtering import DeviceShortfall
from steersman.plugins.dynamic_resources.plugin import DynamicResources
from steersman.plugins.node_volume_limits.plugin import NodeVolumeLimits
from steersman.plugins.volume_restrictions import STATE_KEY, ClaimConflicts, VolumeRestrictions, disks_conflict
from steersman.runtime.profile import Profile


class ClaimDetails:
    """Says more about objections to what one pod claims, node by node."""

    def __init__(self, pod: PodInfo, profile: Profile, state: CycleState) -> None:
        self._pod = pod
        self._profile = profile
        self._state = state
        #: By plugin.
        self.by_plugin: Mapping[str, Callable[[NodeInfo], str]] = {
            DynamicResources.name: self._devices,
            NodeVolumeLimits.name: self._limits,
            VolumeRestrictions.name: self._restrictions,
        }

    def _devices(self, node: NodeInfo) -> str:
        plugin = self._profile.plugins.get(DynamicResources.name)
        found = plugin.shortfall(self._state, self._pod, node) if isinstance(plugin, DynamicResources) else None
        return "" if found is None else _device_text(found)

    def _limits(self, node: NodeInfo) -> str:
        plugin = self._profile.plugins.get(NodeVolumeLimits.name)
        found = plugin.exceeded(self._pod, node) if isinstance(plugin, NodeVolumeLimits) else None
        if found is None:
            return ""
        return f"{found.driver} attaches {found.limit} at most; the node has {found.present}, the pod brings {found.coming}"

    def _restrictions(self, node: NodeInfo) -> str:
        in_the_way = next((other.key for other in node.pods if disks_conflict(self._pod.pod, (other.pod,))), "")
        if in_the_way:
            return f"pod {in_the_way} has the same disk here"
        conflicts = self._state.read(STATE_KEY, ClaimConflicts)
        claims = sorted(conflicts.exclusive) if conflicts is not None else []
        return f"claim {', '.join(claims)} is for one pod alone" if claims else ""


def _device_text(found: DeviceShortfall) -> str:
    name = found.claim.partition("/")[2]
    asks = f"claim {name}: request {found.request} asks {found.wants} of class {found.device_class}"
    if found.free >= found.wants:
        how = " and ".join(found.constraints) or "no other request of the pod"
        return f"{asks} with {how}; {found.free} are free, but not so"
    if not found.devices:
        return f"{asks}, there are no devices"
    if not found.matching:
        return f"{asks}, none of {found.devices} devices here matches"
    return f"{asks}, {found.free} of {found.matching} that match are free"
