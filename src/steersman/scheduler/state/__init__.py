# SPDX-License-Identifier: Apache-2.0
"""The scheduler's state: cached nodes, pods and other objects, as columns. The only package that
owns arrays."""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "cache": "Cache PodRecord",
        "group_hierarchy": "GroupHierarchy group_of_pod key_of_group",
        "invariants": "StateInvariantError",
        "node_differences": "same_for_scheduling",
        "node_table": "NodeTable",
        "node_tree": "Zone zone_of",
        "objects": "ObjectStore",
        "plain_node": "PlainNodeInfo",
        "pod_groups": "GroupMembers PodGroupTable",
        "pod_lifecycle": "CachedPodState",
        "row_info": "LiveNodes",
    },
)
