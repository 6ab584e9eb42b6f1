# SPDX-License-Identifier: Apache-2.0
"""The in-tree plugins, in the order in which the default profile of their version runs them.

`defaults` merges the default profile with a document, `effective_configuration` expands MultiPoint
plugins to extension points, and the scheduler's registry finds the class by its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Final, TypeAlias

import msgspec

from steersman.config.configuration import ExtensionPoint as Point, PluginEntry
from steersman.config.feature_gates import FeatureGates
from steersman.config.plugins.arguments import PluginArgs
from steersman.config.plugins.default_preemption import DefaultPreemptionArgs
from steersman.config.plugins.dynamic_resources import DynamicResourcesArgs
from steersman.config.plugins.inter_pod_affinity import InterPodAffinityArgs
from steersman.config.plugins.node_affinity import NodeAffinityArgs
from steersman.config.plugins.node_resources import NodeResourcesBalancedAllocationArgs, NodeResourcesFitArgs
from steersman.config.plugins.pod_topology_spread import PodTopologySpreadArgs
from steersman.config.plugins.volume_binding import VolumeBindingArgs
from steersman.config.versions import DEFAULT_VERSION, V1_36, V1_37, KubernetesVersion

Capabilities: TypeAlias = Mapping[str, frozenset[Point]]
"""Extension points by name of a registered plugin."""

REMOVED_PLUGINS: Final = frozenset(("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"))
"""Plugins of earlier versions that validation reports as removed."""


class InTreePlugin(msgspec.Struct, frozen=True):
    """Declaration of an in-tree plugin."""

    name: str
    points: frozenset[Point]
    weight: int = 0
    """Score weight in the default profile; 0 for a plugin that does not score."""
    args: type[PluginArgs] | None = None
    gate: str | None = None
    """Feature gate without which the default profile omits the plugin."""
    first: KubernetesVersion = V1_36
    last: KubernetesVersion | None = None
    """The range of versions of the row; `last` is None if no later row replaces it."""


_FILTERS: Final = frozenset((Point.PRE_FILTER, Point.FILTER))
_SCORES: Final = frozenset((Point.PRE_SCORE, Point.SCORE))
_GATE: Final = frozenset((Point.PRE_ENQUEUE,))
_LATE: Final = frozenset((Point.RESERVE, Point.PRE_BIND))
_FIT_POINTS: Final = _FILTERS | _SCORES | {Point.PLACEMENT_SCORE}
_DEVICE_POINTS: Final = _GATE | _FILTERS | _LATE | {Point.POST_FILTER, Point.SCORE}
_PREEMPTION_POINTS: Final = _GATE | {Point.POST_FILTER}
_GROUP_PREEMPTION: Final = frozenset((Point.POD_GROUP_POST_FILTER,))
_DEVICES: Final = "DynamicResourceAllocation"
_PLACEMENT_GATE: Final = "TopologyAwareWorkloadScheduling"

_ROWS: Final = (
    InTreePlugin("SchedulingGates", _GATE),
    InTreePlugin("PrioritySort", frozenset((Point.QUEUE_SORT,))),
    InTreePlugin("NodeUnschedulable", frozenset((Point.FILTER,)), last=V1_36),
    InTreePlugin("NodeName", frozenset((Point.FILTER,)), last=V1_36),
    InTreePlugin("TaintToleration", _SCORES | {Point.FILTER}, weight=3, last=V1_36),
    InTreePlugin("NodeName", _FILTERS, first=V1_37),
    InTreePlugin("NodeUnschedulable", _FILTERS, first=V1_37),
    InTreePlugin("TaintToleration", _FILTERS | _SCORES, weight=3, first=V1_37),
    InTreePlugin("NodeAffinity", _FILTERS | _SCORES, weight=2, args=NodeAffinityArgs),
    InTreePlugin("NodePorts", _FILTERS),
    InTreePlugin(
        "DeferredPodScheduling",
        _FILTERS | {Point.PERMIT},
        gate="InPlacePodVerticalScalingSchedulerPreemption",
        first=V1_37,
    ),
    InTreePlugin("NodeResourcesFit", _FIT_POINTS, weight=1, args=NodeResourcesFitArgs),
    InTreePlugin("VolumeRestrictions", _FILTERS),
    InTreePlugin("NodeVolumeLimits", _FILTERS),
    InTreePlugin("VolumeBinding", _FILTERS | _SCORES | _LATE, args=VolumeBindingArgs),
    InTreePlugin("VolumeZone", _FILTERS),
    InTreePlugin("PodTopologySpread", _FILTERS | _SCORES, weight=2, args=PodTopologySpreadArgs),
    InTreePlugin("InterPodAffinity", _FILTERS | _SCORES, weight=2, args=InterPodAffinityArgs),
    # Before DefaultPreemption: deallocating an idle claim is better than evicting a running pod.
    InTreePlugin("DynamicResources", _DEVICE_POINTS, weight=2, args=DynamicResourcesArgs, gate=_DEVICES, last=V1_36),
    InTreePlugin(
        "DynamicResources",
        _DEVICE_POINTS | _GROUP_PREEMPTION,
        weight=2,
        args=DynamicResourcesArgs,
        gate=_DEVICES,
        first=V1_37,
    ),
    InTreePlugin("DefaultPreemption", _PREEMPTION_POINTS, args=DefaultPreemptionArgs, last=V1_36),
    InTreePlugin("DefaultPreemption", _PREEMPTION_POINTS | _GROUP_PREEMPTION, args=DefaultPreemptionArgs, first=V1_37),
    InTreePlugin("NodeResourcesBalancedAllocation", _SCORES, weight=1, args=NodeResourcesBalancedAllocationArgs),
    InTreePlugin("ImageLocality", frozenset((Point.SCORE,)), weight=1),
    InTreePlugin("DefaultBinder", frozenset((Point.BIND,))),
    InTreePlugin("NodeDeclaredFeatures", _FILTERS, gate="NodeDeclaredFeatures"),
    InTreePlugin("GangScheduling", _GATE | {Point.PERMIT}, gate="GangScheduling", last=V1_36),
    InTreePlugin("GangScheduling", _GATE | {Point.PERMIT}, gate="GenericWorkload", first=V1_37),
    InTreePlugin("TopologyPlacementGenerator", frozenset((Point.PLACEMENT_GENERATE,)), gate=_PLACEMENT_GATE),
    InTreePlugin("PodGroupPodsCount", frozenset((Point.PLACEMENT_SCORE,)), weight=1, gate=_PLACEMENT_GATE),
)

ARGS_TYPES: Final[Mapping[str, type[PluginArgs]]] = MappingProxyType(
    {plugin.name: plugin.args for plugin in sorted(_ROWS, key=lambda row: row.name) if plugin.args is not None}
)
"""Types of arguments by plugin name, for plugins with arguments."""


@cache
def in_tree_plugins(version: KubernetesVersion) -> tuple[InTreePlugin, ...]:
    """Return the plugins of a version in the order of the default profile."""
    return tuple(row for row in _ROWS if row.first <= version and (row.last is None or version <= row.last))


@cache
def in_tree_capabilities(version: KubernetesVersion) -> Capabilities:
    """Return the extension points of the in-tree plugins of a version, by name."""
    by_name = sorted(in_tree_plugins(version), key=lambda plugin: plugin.name)
    return MappingProxyType({plugin.name: plugin.points for plugin in by_name})


IN_TREE_PLUGINS: Final = in_tree_plugins(DEFAULT_VERSION)
IN_TREE_CAPABILITIES: Final = in_tree_capabilities(DEFAULT_VERSION)


def default_multi_point(gates: FeatureGates) -> tuple[PluginEntry, ...]:
    """Return the MultiPoint plugins of the default profile, in order."""
    return tuple(
        PluginEntry(name=plugin.name, weight=plugin.weight)
        for plugin in in_tree_plugins(gates.version)
        if plugin.gate is None or gates.enabled(plugin.gate)
    )
