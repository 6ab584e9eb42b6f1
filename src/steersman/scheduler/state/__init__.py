# SPDX-License-Identifier: Apache-2.0
"""The scheduler's state: cached nodes, pods and other objects, as columns. The only package that
owns arrays."""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports

__all__: list[str]
if TYPE_CHECKING:
    from steersman.scheduler.state.cache import Cache as Cache, PodRecord as PodRecord
    from steersman.scheduler.state.group_hierarchy import (
        GroupHierarchy as GroupHierarchy,
        group_of_pod as group_of_pod,
        key_of_group as key_of_group,
    )
    from steersman.scheduler.state.invariants import StateInvariantError as StateInvariantError
    from steersman.scheduler.state.node_differences import same_for_scheduling as same_for_scheduling
    from steersman.scheduler.state.node_table import NodeTable as NodeTable
    from steersman.scheduler.state.node_tree import Zone as Zone, zone_of as zone_of
    from steersman.scheduler.state.objects import ObjectStore as ObjectStore
    from steersman.scheduler.state.plain_node import PlainNodeInfo as PlainNodeInfo
    from steersman.scheduler.state.pod_groups import GroupMembers as GroupMembers, PodGroupTable as PodGroupTable
    from steersman.scheduler.state.pod_lifecycle import CachedPodState as CachedPodState
    from steersman.scheduler.state.row_info import LiveNodes as LiveNodes
else:
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
