# SPDX-License-Identifier: Apache-2.0
"""Test tools for plugin authors and for Steersman's own tests: builders of objects and node infos.

    pod = make_pod("web-0").label("app", "web").req(cpu="1").anti_affinity("zone", {"app": "web"})
    node = make_node("n1").capacity(cpu="4").label("zone", "a").info(make_pod("web-1").label("app", "web"))
    MyPlugin(None, handle).filter(CycleState(), pod.info(), node)

`Harness` runs a whole scheduler with a plugin enabled; `check_plugin` compares its kernels and
promises with its methods. No other package imports this one.
"""

from steersman.testing.building import Builder
from steersman.testing.clusters import node_infos
from steersman.testing.devices import (
    DeviceClassBuilder,
    ResourceClaimBuilder,
    SliceBuilder,
    make_device,
    make_device_class,
    make_resource_claim,
    make_slice,
)
from steersman.testing.groups import (
    CompositePodGroupBuilder,
    PodGroupBuilder,
    make_composite_pod_group,
    make_pod_group,
)
from steersman.testing.harness import Harness, NotPlacedError
from steersman.testing.nodes import NodeBuilder, make_node
from steersman.testing.objects import (
    DisruptionBudgetBuilder,
    NamespaceBuilder,
    ReplicasBuilder,
    ReplicationControllerBuilder,
    ServiceBuilder,
    make_disruption_budget,
    make_namespace,
    make_replica_set,
    make_replication_controller,
    make_service,
    make_stateful_set,
)
from steersman.testing.plugin_check import PluginCheck, PluginCheckError, check_plugin
from steersman.testing.pods import PodBuilder, make_pod
from steersman.testing.selecting import (
    Expression,
    absent,
    exists,
    greater_than,
    is_in,
    label_selector,
    less_than,
    not_in,
)
from steersman.testing.storage import (
    ClaimBuilder,
    CSINodeBuilder,
    StorageCapacityBuilder,
    StorageClassBuilder,
    VolumeBuilder,
    make_claim,
    make_csi_node,
    make_storage_capacity,
    make_storage_class,
    make_volume,
)

__all__ = [
    "Builder",
    "CSINodeBuilder",
    "ClaimBuilder",
    "CompositePodGroupBuilder",
    "DeviceClassBuilder",
    "DisruptionBudgetBuilder",
    "Expression",
    "Harness",
    "NamespaceBuilder",
    "NodeBuilder",
    "NotPlacedError",
    "PluginCheck",
    "PluginCheckError",
    "PodBuilder",
    "PodGroupBuilder",
    "ReplicasBuilder",
    "ReplicationControllerBuilder",
    "ResourceClaimBuilder",
    "ServiceBuilder",
    "SliceBuilder",
    "StorageCapacityBuilder",
    "StorageClassBuilder",
    "VolumeBuilder",
    "absent",
    "check_plugin",
    "exists",
    "greater_than",
    "is_in",
    "label_selector",
    "less_than",
    "make_claim",
    "make_composite_pod_group",
    "make_csi_node",
    "make_device",
    "make_device_class",
    "make_disruption_budget",
    "make_namespace",
    "make_node",
    "make_pod",
    "make_pod_group",
    "make_replica_set",
    "make_replication_controller",
    "make_resource_claim",
    "make_service",
    "make_slice",
    "make_stateful_set",
    "make_storage_capacity",
    "make_storage_class",
    "make_volume",
    "node_infos",
    "not_in",
]
