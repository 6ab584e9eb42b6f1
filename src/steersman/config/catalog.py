# SPDX-License-Identifier: Apache-2.0
"""The in-tree plugins of v1.36: which extension points each implements, and which are on by default.

Facts only. `defaults` merges the default list with a document, `effective_configuration` uses the capabilities to spread
MultiPoint plugins over extension points; the runtime passes the capabilities of what is really registered.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from steersman.config.configuration import ExtensionPoint as Point
from steersman.config.configuration import PluginEntry
from steersman.config.feature_gates import FeatureGates

Capabilities: TypeAlias = Mapping[str, frozenset[Point]]
"""Name of a registered plugin to the extension points that it implements."""

_FILTERS: Final = frozenset((Point.PRE_FILTER, Point.FILTER))
_SCORES: Final = frozenset((Point.PRE_SCORE, Point.SCORE))
_BINDS_LATE: Final = frozenset((Point.RESERVE, Point.PRE_BIND))

IN_TREE_CAPABILITIES: Final[Capabilities] = MappingProxyType(
    {
        "DefaultBinder": frozenset((Point.BIND,)),
        "DefaultPreemption": frozenset((Point.PRE_ENQUEUE, Point.POST_FILTER)),
        "DynamicResources": frozenset((Point.PRE_ENQUEUE, Point.POST_FILTER, Point.SCORE)) | _FILTERS | _BINDS_LATE,
        "GangScheduling": frozenset((Point.PRE_ENQUEUE, Point.PERMIT)),
        "ImageLocality": frozenset((Point.SCORE,)),
        "InterPodAffinity": _FILTERS | _SCORES,
        "NodeAffinity": _FILTERS | _SCORES,
        "NodeDeclaredFeatures": _FILTERS,
        "NodeName": frozenset((Point.FILTER,)),
        "NodePorts": _FILTERS,
        "NodeResourcesBalancedAllocation": _SCORES,
        "NodeResourcesFit": _FILTERS | _SCORES | {Point.PLACEMENT_SCORE},
        "NodeUnschedulable": frozenset((Point.FILTER,)),
        "NodeVolumeLimits": _FILTERS,
        "PodGroupPodsCount": frozenset((Point.PLACEMENT_SCORE,)),
        "PodTopologySpread": _FILTERS | _SCORES,
        "PrioritySort": frozenset((Point.QUEUE_SORT,)),
        "SchedulingGates": frozenset((Point.PRE_ENQUEUE,)),
        "TaintToleration": frozenset((Point.FILTER,)) | _SCORES,
        "TopologyPlacementGenerator": frozenset((Point.PLACEMENT_GENERATE,)),
        "VolumeBinding": _FILTERS | _SCORES | _BINDS_LATE,
        "VolumeRestrictions": _FILTERS,
        "VolumeZone": _FILTERS,
    }
)

REMOVED_PLUGINS: Final = frozenset(("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"))
"""Plugins of earlier versions that validation names as removed."""


def default_multi_point(gates: FeatureGates) -> tuple[PluginEntry, ...]:
    """The plugins of a profile that says nothing, in order."""
    return tuple(
        PluginEntry(name=name, weight=weight) for name, weight, gate in _DEFAULTS if gate is None or gates.enabled(gate)
    )


_DEFAULTS: Final[tuple[tuple[str, int, str | None], ...]] = (
    ("SchedulingGates", 0, None),
    ("PrioritySort", 0, None),
    ("NodeUnschedulable", 0, None),
    ("NodeName", 0, None),
    ("TaintToleration", 3, None),
    ("NodeAffinity", 2, None),
    ("NodePorts", 0, None),
    ("NodeResourcesFit", 1, None),
    ("VolumeRestrictions", 0, None),
    ("NodeVolumeLimits", 0, None),
    ("VolumeBinding", 0, None),
    ("VolumeZone", 0, None),
    ("PodTopologySpread", 2, None),
    ("InterPodAffinity", 2, None),
    # Before DefaultPreemption: giving up an idle claim is better than evicting a pod that works.
    ("DynamicResources", 2, "DynamicResourceAllocation"),
    ("DefaultPreemption", 0, None),
    ("NodeResourcesBalancedAllocation", 1, None),
    ("ImageLocality", 1, None),
    ("DefaultBinder", 0, None),
    ("NodeDeclaredFeatures", 0, "NodeDeclaredFeatures"),
    ("GangScheduling", 0, "GangScheduling"),
    ("TopologyPlacementGenerator", 0, "TopologyAwareWorkloadScheduling"),
    ("PodGroupPodsCount", 1, "TopologyAwareWorkloadScheduling"),
)
"""Name, weight, feature gate that must be on."""
