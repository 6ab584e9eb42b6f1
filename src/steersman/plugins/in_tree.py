# SPDX-License-Identifier: Apache-2.0
"""The in-tree plugins by name. Out-of-tree ones are added by `runtime.registry`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from steersman.plugins.default_binder import DefaultBinder
from steersman.plugins.dynamic_resources import DynamicResources
from steersman.plugins.image_locality import ImageLocality
from steersman.plugins.inter_pod_affinity import InterPodAffinity
from steersman.plugins.node_affinity import NodeAffinity
from steersman.plugins.node_declared_features import NodeDeclaredFeatures
from steersman.plugins.node_name import NodeName
from steersman.plugins.node_ports import NodePorts
from steersman.plugins.node_resources import NodeResourcesBalancedAllocation, NodeResourcesFit
from steersman.plugins.node_unschedulable import NodeUnschedulable
from steersman.plugins.node_volume_limits import NodeVolumeLimits
from steersman.plugins.pod_topology_spread import PodTopologySpread
from steersman.plugins.priority_sort import PrioritySort
from steersman.plugins.scheduling_gates import SchedulingGates
from steersman.plugins.taint_toleration import TaintToleration
from steersman.plugins.volume_binding import VolumeBinding
from steersman.plugins.volume_restrictions import VolumeRestrictions
from steersman.plugins.volume_zone import VolumeZone

#: Makes a plugin of its arguments and the handle.
Factory = Callable[..., Any]

IN_TREE: Mapping[str, Factory] = {
    plugin.name: plugin
    for plugin in (
        SchedulingGates,
        PrioritySort,
        NodeUnschedulable,
        NodeName,
        TaintToleration,
        NodeAffinity,
        NodePorts,
        NodeResourcesFit,
        VolumeRestrictions,
        NodeVolumeLimits,
        VolumeBinding,
        VolumeZone,
        PodTopologySpread,
        InterPodAffinity,
        DynamicResources,
        NodeResourcesBalancedAllocation,
        ImageLocality,
        DefaultBinder,
        NodeDeclaredFeatures,
    )
}
