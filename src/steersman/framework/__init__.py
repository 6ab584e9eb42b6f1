# SPDX-License-Identifier: Apache-2.0
"""The plugin contract: everything that a plugin may import besides `steersman.api` and numpy.

A plugin derives from the base classes of its extension points (`plugin`), returns `Status` values
(`status`), reads pods and nodes through `PodInfo` and `NodeInfo`, registers the events that may
help a pod it rejected (`events`), and may have kernels that evaluate many nodes at once
(`columns`).
"""

from steersman.base import lazy_exports
from steersman.framework.pods_to_activate import pods_to_activate as pods_to_activate

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "columns": (
            "AddedPods CachesVerdicts ClusterFilterKernel ClusterScoreKernel ColumnarFilter "
            "ColumnarScore Depends Feasible FilterKernel GroupingFilterKernel "
            "GroupingScoreKernel KernelFault MAX_RAW_SCORE NeedsPorts NeedsResources "
            "Normalize PerPodFragment RowFeature ScoreKernel StatusTable ZeroScores"
        ),
        "cycle_state": "CycleState DeferredState",
        "device_classes": "DEVICE_CLASS_PREFIX DeviceClasses may_be_devices",
        "events": (
            "ACTION_NAMES ASSIGNED_POD_ADD ASSIGNED_POD_DELETE ASSIGNED_POD_UPDATE ActionType "
            "ClusterEvent ClusterEventWithHint DEFAULT_POD_EVENTS EventResource "
            "FORCE_ACTIVATE HintFn NODE_ADD NODE_DELETE POD_RESOURCES PodEvents QueueingHint "
            "UNSCHEDULABLE_TIMEOUT node_update_events refreshed split_by_role"
        ),
        "extender": (
            "EXTENDER_PLUGIN Extender ExtenderError ExtenderFilterOutcome MAX_EXTENDER_PRIORITY NodeVictims PodsOn"
        ),
        "go_integers": "MAX_INT64 MIN_INT64 int64 int64_of_float int64_quotient",
        "go_math": "go_log go_round",
        "handle": (
            "ClusterWhatIf DevicesHandle Gates Handle NodeAmounts Nodes Objects PermitHandle PlacedPod "
            "PodAccess PodInPreBind PostFilterHandle PreBindHandle WaitingPod WhatIf"
        ),
        "hints": "changed deleted queue_if",
        "node_info": "ImageState NodeInfo",
        "nodes_view": (
            "ALL_ROWS AnyIntColumn BoolColumn Column DomainCounts Eligibility IntColumn "
            "LabelledPod MatchCounts NodesView PodMatcher ReasonColumn Rows ScalarT TaintSets "
            "TermKind TermTable Terms Topology WeighingMatcher is_weighing label_keys_of "
            "weighing"
        ),
        "plugin": (
            "BackgroundPlugin BindPlugin ConcernsSomePods EnqueueExtensions FilterPlugin "
            "MAX_NODE_SCORE MIN_NODE_SCORE NodeScore NodeStatusReader PermitPlugin "
            "PermitResult Plugin PostBindPlugin PostFilterAnswer PostFilterPlugin "
            "PostFilterResult PreBindPlugin PreEnqueuePlugin PreFilterPlugin PreFilterResult "
            "PreScorePlugin QueueSortPlugin QueuedPod RejectionAnswer ReservePlugin "
            "ScorePlugin StatusAnswer UngatesPods default_normalize_score invalid_score"
        ),
        "pod_groups": (
            "GroupKey GroupKind Placement PlacementFeasiblePlugin PlacementGeneratePlugin "
            "PlacementProgress PlacementScore PlacementScorePlugin PodGroupAssignments "
            "PodGroupInfo PodGroupPostFilterPlugin PodGroupPostFilterResult PodGroupState "
            "HelpsGroups PodGroups PreFilteredMembers ProposedAssignment ScheduleGroup"
        ),
        "pod_info": (
            "ANY_ADDRESS AffinityTerm HostPort POD_SHAPES PodInfo PodShape PodShapes "
            "PodTemplate controller_of host_ports required_affinity_terms "
            "required_anti_affinity_terms"
        ),
        "pod_limits": "NO_LIMIT PodDemand PodLimit PodLimits PodWeight limits_by_node",
        "pod_resources": (
            "Amounts CORE_RESOURCES CPU MEMORY PODS is_accounted is_extended is_scalar "
            "node_allocatable pod_requests request_amounts scoring_requests"
        ),
        "pods_to_activate": "pods_to_activate take_pods_to_activate",
        "ports": (
            "ApiWriter Binder BindingBeginner CLEARED Failure Nomination REASON_ERROR "
            "REASON_UNSCHEDULABLE ResourceClaimWriter Spawn VolumeWriter"
        ),
        "postponement": "CyclePostponed SlicedWork",
        "reading": "ApiReadError ApiReader NoReader check_place resource_text",
        "significant_fields": "IgnoredFields field_getter",
        "status": "Code CycleAborted SKIP Status error fault fault_prefix is_skip unresolvable unschedulable",
        "unusable_pods": "BrokenScoreKernel RejectedPodKernel",
        "watching": (
            "EventSink GATED_KINDS WATCHED_KINDS change_event event_resource events_of is_custom is_of_plugin "
            "with_custom"
        ),
    },
)

PLUGIN_CONTRACT = (
    "MAX_NODE_SCORE",
    "MIN_NODE_SCORE",
    "SKIP",
    "ActionType",
    "ApiReadError",
    "ApiReader",
    "BackgroundPlugin",
    "BindPlugin",
    "ClusterEvent",
    "ClusterEventWithHint",
    "Code",
    "ConcernsSomePods",
    "CycleState",
    "Depends",
    "EnqueueExtensions",
    "EventResource",
    "FilterPlugin",
    "Handle",
    "HintFn",
    "NodeInfo",
    "NodeScore",
    "NodeStatusReader",
    "Nodes",
    "Objects",
    "PermitHandle",
    "PermitPlugin",
    "PermitResult",
    "Plugin",
    "PodAccess",
    "PodInfo",
    "PostBindPlugin",
    "PostFilterAnswer",
    "PostFilterHandle",
    "PostFilterPlugin",
    "PostFilterResult",
    "PreBindHandle",
    "PreBindPlugin",
    "PreEnqueuePlugin",
    "PreFilterPlugin",
    "PreFilterResult",
    "PreScorePlugin",
    "QueueSortPlugin",
    "QueuedPod",
    "QueueingHint",
    "RejectionAnswer",
    "ReservePlugin",
    "ScorePlugin",
    "Status",
    "StatusAnswer",
    "UngatesPods",
    "WaitingPod",
    "WhatIf",
    "changed",
    "default_normalize_score",
    "deleted",
    "pods_to_activate",
    "unresolvable",
    "unschedulable",
)
"""The names that plugin authors use; the other exports are for the scheduler."""
