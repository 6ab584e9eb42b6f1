# SPDX-License-Identifier: Apache-2.0
"""Test tools for plugin authors and for Steersman's own tests: builders of objects and node infos.

    pod = make_pod("web-0").label("app", "web").req(cpu="1").anti_affinity("zone", {"app": "web"})
    node = make_node("n1").capacity(cpu="4").label("zone", "a").info(make_pod("web-1").label("app", "web"))
    MyPlugin(None, handle).filter(CycleState(), pod.info(), node)

`Harness` runs a whole scheduler with a plugin enabled; `check_plugin` compares its kernels and
promises with its methods. No other package imports this one.
"""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "building": "Builder",
        "devices": (
            "DeviceClassBuilder ResourceClaimBuilder SliceBuilder make_device "
            "make_device_class make_resource_claim make_slice"
        ),
        "groups": "CompositePodGroupBuilder PodGroupBuilder make_composite_pod_group make_pod_group",
        "harness": "Harness NotPlacedError",
        "nodes": "NodeBuilder make_node node_infos",
        "objects": (
            "DisruptionBudgetBuilder NamespaceBuilder ReplicasBuilder "
            "ReplicationControllerBuilder ServiceBuilder make_disruption_budget "
            "make_namespace make_replica_set make_replication_controller make_service "
            "make_stateful_set"
        ),
        "plugin_check": "PluginCheck PluginCheckError check_plugin",
        "pods": "PodBuilder make_pod",
        "selecting": "Expression absent exists greater_than is_in label_selector less_than not_in",
        "storage": (
            "CSINodeBuilder ClaimBuilder StorageCapacityBuilder StorageClassBuilder "
            "VolumeBuilder make_claim make_csi_node make_storage_capacity make_storage_class "
            "make_volume"
        ),
    },
)
