# SPDX-License-Identifier: Apache-2.0
"""The in-tree plugins: a module for each small plugin, a package for each large one.

Plugins do not import each other, except that NodeResourcesFit counts devices with
`dynamic_resources`. `in_tree` collects the classes; `steersman.config.plugins` declares them.
"""

from steersman.base import lazy_exports

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
        "node_resources.insufficient": "REASON_TOO_MANY_PODS checked_requests insufficient_resources",
        "node_unschedulable": "NodeUnschedulable",
        "priority_sort": "PrioritySort",
        "scheduling_gates": "SchedulingGates",
        "taint_toleration": "TaintToleration",
        "volume_binding": "CycleVolumes PodVolumes VOLUMES_STATE_KEY VolumeBinding",
        "volume_zone": "volume_topologies",
    },
)
