# SPDX-License-Identifier: Apache-2.0
"""The in-tree plugins: a module for each small plugin, a package for each large one.

Plugins do not import each other, except that NodeResourcesFit counts devices with
`dynamic_resources`. `in_tree` collects the classes; `steersman.config.plugins` declares them.
"""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports

__all__: list[str]
if TYPE_CHECKING:
    from steersman.scheduler.plugins.dynamic_resources import (
        CLAIMS_STATE_KEY as CLAIMS_STATE_KEY,
        CycleClaims as CycleClaims,
        DynamicResources as DynamicResources,
        claim_tracker_of as claim_tracker_of,
    )
    from steersman.scheduler.plugins.dynamic_resources.allocation import (
        DevicesInUse as DevicesInUse,
        Features as Features,
        NodeDevices as NodeDevices,
        PublishedDevices as PublishedDevices,
        Supply as Supply,
        allocation_of as allocation_of,
        find_devices as find_devices,
        prepare as prepare,
    )
    from steersman.scheduler.plugins.dynamic_resources.plugin import REASON_DEALLOCATED as REASON_DEALLOCATED
    from steersman.scheduler.plugins.inter_pod_affinity.filtering import (
        ERR_AFFINITY_RULES_NOT_MATCH as ERR_AFFINITY_RULES_NOT_MATCH,
    )
    from steersman.scheduler.plugins.inter_pod_affinity.plugin import InterPodAffinity as InterPodAffinity
    from steersman.scheduler.plugins.node_affinity import ERR_REASON_POD as ERR_REASON_POD, NodeAffinity as NodeAffinity
    from steersman.scheduler.plugins.node_declared_features import required_features as required_features
    from steersman.scheduler.plugins.node_name import NodeName as NodeName
    from steersman.scheduler.plugins.node_ports import (
        ERR_REASON as ERR_REASON,
        NodePorts as NodePorts,
        ports_conflict as ports_conflict,
    )
    from steersman.scheduler.plugins.node_resources.fit import NodeResourcesFit as NodeResourcesFit
    from steersman.scheduler.plugins.node_resources.insufficient import (
        REASON_TOO_MANY_PODS as REASON_TOO_MANY_PODS,
        checked_requests as checked_requests,
        insufficient_resources as insufficient_resources,
    )
    from steersman.scheduler.plugins.node_unschedulable import NodeUnschedulable as NodeUnschedulable
    from steersman.scheduler.plugins.priority_sort import PrioritySort as PrioritySort
    from steersman.scheduler.plugins.scheduling_gates import SchedulingGates as SchedulingGates
    from steersman.scheduler.plugins.taint_toleration import TaintToleration as TaintToleration
    from steersman.scheduler.plugins.volume_binding import (
        VOLUMES_STATE_KEY as VOLUMES_STATE_KEY,
        CycleVolumes as CycleVolumes,
        PodVolumes as PodVolumes,
        VolumeBinding as VolumeBinding,
    )
    from steersman.scheduler.plugins.volume_zone import volume_topologies as volume_topologies
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "dynamic_resources": "CLAIMS_STATE_KEY CycleClaims DynamicResources claim_tracker_of",
            "dynamic_resources.allocation": (
                "DevicesInUse Features NodeDevices PublishedDevices Supply allocation_of find_devices prepare"
            ),
            "dynamic_resources.plugin": "REASON_DEALLOCATED",
            "inter_pod_affinity.filtering": "ERR_AFFINITY_RULES_NOT_MATCH",
            "inter_pod_affinity.plugin": "InterPodAffinity",
            "node_affinity": "ERR_REASON_POD NodeAffinity",
            "node_declared_features": "required_features",
            "node_name": "NodeName",
            "node_ports": "ERR_REASON NodePorts ports_conflict",
            "node_resources.fit": "NodeResourcesFit",
            "node_resources.insufficient": ("REASON_TOO_MANY_PODS checked_requests insufficient_resources"),
            "node_unschedulable": "NodeUnschedulable",
            "priority_sort": "PrioritySort",
            "scheduling_gates": "SchedulingGates",
            "taint_toleration": "TaintToleration",
            "volume_binding": "CycleVolumes PodVolumes VOLUMES_STATE_KEY VolumeBinding",
            "volume_zone": "volume_topologies",
        },
    )
