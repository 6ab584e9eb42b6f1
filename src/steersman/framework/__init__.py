# SPDX-License-Identifier: Apache-2.0
"""The plugin contract: everything that a plugin may import besides `steersman.api` and numpy.

A plugin derives from the base classes of its extension points (`plugin`), returns `Status` values
(`status`), reads pods and nodes through `PodInfo` and `NodeInfo`, registers the events that may help a
pod it rejected (`events`), and may have kernels that evaluate many nodes at once (`columns`).
"""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports
from steersman.framework.pods_to_activate import pods_to_activate as pods_to_activate

__all__: list[str]
if TYPE_CHECKING:
    from steersman.framework.columns import (
        MAX_RAW_SCORE as MAX_RAW_SCORE,
        AddedPods as AddedPods,
        CachesVerdicts as CachesVerdicts,
        ClusterFilterKernel as ClusterFilterKernel,
        ClusterScoreKernel as ClusterScoreKernel,
        ColumnarFilter as ColumnarFilter,
        ColumnarScore as ColumnarScore,
        Depends as Depends,
        Feasible as Feasible,
        FilterKernel as FilterKernel,
        GroupingFilterKernel as GroupingFilterKernel,
        GroupingScoreKernel as GroupingScoreKernel,
        KernelFault as KernelFault,
        NeedsPorts as NeedsPorts,
        NeedsResources as NeedsResources,
        Normalize as Normalize,
        PerPodFragment as PerPodFragment,
        RowFeature as RowFeature,
        ScoreKernel as ScoreKernel,
        StatusTable as StatusTable,
        ZeroScores as ZeroScores,
    )
    from steersman.framework.cycle_state import CycleState as CycleState, DeferredState as DeferredState
    from steersman.framework.device_classes import (
        DEVICE_CLASS_PREFIX as DEVICE_CLASS_PREFIX,
        DeviceClasses as DeviceClasses,
        may_be_devices as may_be_devices,
    )
    from steersman.framework.events import (
        ACTION_NAMES as ACTION_NAMES,
        ASSIGNED_POD_ADD as ASSIGNED_POD_ADD,
        ASSIGNED_POD_DELETE as ASSIGNED_POD_DELETE,
        ASSIGNED_POD_UPDATE as ASSIGNED_POD_UPDATE,
        DEFAULT_POD_EVENTS as DEFAULT_POD_EVENTS,
        FORCE_ACTIVATE as FORCE_ACTIVATE,
        NODE_ADD as NODE_ADD,
        NODE_DELETE as NODE_DELETE,
        POD_RESOURCES as POD_RESOURCES,
        UNSCHEDULABLE_TIMEOUT as UNSCHEDULABLE_TIMEOUT,
        ActionType as ActionType,
        ClusterEvent as ClusterEvent,
        ClusterEventWithHint as ClusterEventWithHint,
        EventResource as EventResource,
        HintFn as HintFn,
        PodEvents as PodEvents,
        QueueingHint as QueueingHint,
        node_update_events as node_update_events,
        refreshed as refreshed,
        split_by_role as split_by_role,
    )
    from steersman.framework.extender import (
        EXTENDER_PLUGIN as EXTENDER_PLUGIN,
        MAX_EXTENDER_PRIORITY as MAX_EXTENDER_PRIORITY,
        Extender as Extender,
        ExtenderError as ExtenderError,
        ExtenderFilterOutcome as ExtenderFilterOutcome,
        NodeVictims as NodeVictims,
        PodsOn as PodsOn,
    )
    from steersman.framework.go_integers import (
        MAX_INT64 as MAX_INT64,
        MIN_INT64 as MIN_INT64,
        int64 as int64,
        int64_of_float as int64_of_float,
        int64_quotient as int64_quotient,
    )
    from steersman.framework.go_math import go_log as go_log, go_round as go_round
    from steersman.framework.handle import (
        ClusterWhatIf as ClusterWhatIf,
        DevicesHandle as DevicesHandle,
        Gates as Gates,
        Handle as Handle,
        Nodes as Nodes,
        Objects as Objects,
        PermitHandle as PermitHandle,
        PlacedPod as PlacedPod,
        PodAccess as PodAccess,
        PodInPreBind as PodInPreBind,
        PostFilterHandle as PostFilterHandle,
        PreBindHandle as PreBindHandle,
        WaitingPod as WaitingPod,
        WhatIf as WhatIf,
    )
    from steersman.framework.hints import changed as changed, deleted as deleted, queue_if as queue_if
    from steersman.framework.node_info import ImageState as ImageState, NodeInfo as NodeInfo
    from steersman.framework.nodes_view import (
        ALL_ROWS as ALL_ROWS,
        AnyIntColumn as AnyIntColumn,
        BoolColumn as BoolColumn,
        Column as Column,
        DomainCounts as DomainCounts,
        Eligibility as Eligibility,
        IntColumn as IntColumn,
        LabelledPod as LabelledPod,
        MatchCounts as MatchCounts,
        NodesView as NodesView,
        PodMatcher as PodMatcher,
        ReasonColumn as ReasonColumn,
        Rows as Rows,
        ScalarT as ScalarT,
        TaintSets as TaintSets,
        TermKind as TermKind,
        Terms as Terms,
        TermTable as TermTable,
        Topology as Topology,
        WeighingMatcher as WeighingMatcher,
        is_weighing as is_weighing,
        label_keys_of as label_keys_of,
        weighing as weighing,
    )
    from steersman.framework.plugin import (
        MAX_NODE_SCORE as MAX_NODE_SCORE,
        MIN_NODE_SCORE as MIN_NODE_SCORE,
        BackgroundPlugin as BackgroundPlugin,
        BindPlugin as BindPlugin,
        ConcernsSomePods as ConcernsSomePods,
        EnqueueExtensions as EnqueueExtensions,
        FilterPlugin as FilterPlugin,
        NodeScore as NodeScore,
        NodeStatusReader as NodeStatusReader,
        PermitPlugin as PermitPlugin,
        PermitResult as PermitResult,
        Plugin as Plugin,
        PostBindPlugin as PostBindPlugin,
        PostFilterAnswer as PostFilterAnswer,
        PostFilterPlugin as PostFilterPlugin,
        PostFilterResult as PostFilterResult,
        PreBindPlugin as PreBindPlugin,
        PreEnqueuePlugin as PreEnqueuePlugin,
        PreFilterPlugin as PreFilterPlugin,
        PreFilterResult as PreFilterResult,
        PreScorePlugin as PreScorePlugin,
        QueuedPod as QueuedPod,
        QueueSortPlugin as QueueSortPlugin,
        RejectionAnswer as RejectionAnswer,
        ReservePlugin as ReservePlugin,
        ScorePlugin as ScorePlugin,
        StatusAnswer as StatusAnswer,
        TellsReleasedPods as TellsReleasedPods,
        default_normalize_score as default_normalize_score,
        invalid_score as invalid_score,
    )
    from steersman.framework.pod_groups import (
        GroupKey as GroupKey,
        GroupKind as GroupKind,
        Placement as Placement,
        PlacementFeasiblePlugin as PlacementFeasiblePlugin,
        PlacementGeneratePlugin as PlacementGeneratePlugin,
        PlacementProgress as PlacementProgress,
        PlacementScore as PlacementScore,
        PlacementScorePlugin as PlacementScorePlugin,
        PodGroupAssignments as PodGroupAssignments,
        PodGroupInfo as PodGroupInfo,
        PodGroupPostFilterPlugin as PodGroupPostFilterPlugin,
        PodGroupPostFilterResult as PodGroupPostFilterResult,
        PodGroups as PodGroups,
        PodGroupState as PodGroupState,
        ProposedAssignment as ProposedAssignment,
        ScheduleGroup as ScheduleGroup,
    )
    from steersman.framework.pod_info import (
        ANY_ADDRESS as ANY_ADDRESS,
        POD_SHAPES as POD_SHAPES,
        AffinityTerm as AffinityTerm,
        HostPort as HostPort,
        PodInfo as PodInfo,
        PodShape as PodShape,
        PodShapes as PodShapes,
        PodTemplate as PodTemplate,
        controller_of as controller_of,
        host_ports as host_ports,
        required_affinity_terms as required_affinity_terms,
        required_anti_affinity_terms as required_anti_affinity_terms,
    )
    from steersman.framework.pod_limits import (
        NO_LIMIT as NO_LIMIT,
        PodDemand as PodDemand,
        PodLimit as PodLimit,
        PodLimits as PodLimits,
        PodWeight as PodWeight,
        limits_by_node as limits_by_node,
    )
    from steersman.framework.pod_resources import (
        CORE_RESOURCES as CORE_RESOURCES,
        CPU as CPU,
        MEMORY as MEMORY,
        PODS as PODS,
        Amounts as Amounts,
        is_accounted as is_accounted,
        is_extended as is_extended,
        is_scalar as is_scalar,
        node_allocatable as node_allocatable,
        pod_requests as pod_requests,
        request_amounts as request_amounts,
        scoring_requests as scoring_requests,
    )
    from steersman.framework.pods_to_activate import take_pods_to_activate as take_pods_to_activate
    from steersman.framework.ports import (
        CLEARED as CLEARED,
        REASON_ERROR as REASON_ERROR,
        REASON_UNSCHEDULABLE as REASON_UNSCHEDULABLE,
        ApiWriter as ApiWriter,
        Binder as Binder,
        BindingBeginner as BindingBeginner,
        Failure as Failure,
        Nomination as Nomination,
        ResourceClaimWriter as ResourceClaimWriter,
        Spawn as Spawn,
        VolumeWriter as VolumeWriter,
    )
    from steersman.framework.postponement import CyclePostponed as CyclePostponed, SlicedWork as SlicedWork
    from steersman.framework.reading import (
        ApiReader as ApiReader,
        ApiReadError as ApiReadError,
        NoReader as NoReader,
        check_place as check_place,
        resource_text as resource_text,
    )
    from steersman.framework.significant_fields import IgnoredFields as IgnoredFields, field_getter as field_getter
    from steersman.framework.status import (
        SKIP as SKIP,
        Code as Code,
        CycleAborted as CycleAborted,
        Status as Status,
        error as error,
        fault as fault,
        fault_prefix as fault_prefix,
        is_skip as is_skip,
        unresolvable as unresolvable,
        unschedulable as unschedulable,
    )
    from steersman.framework.unusable_pods import (
        BrokenScoreKernel as BrokenScoreKernel,
        RefusedPodKernel as RefusedPodKernel,
    )
    from steersman.framework.watching import (
        WATCHED_KINDS as WATCHED_KINDS,
        EventSink as EventSink,
        change_event as change_event,
        event_resource as event_resource,
        events_of as events_of,
        is_custom as is_custom,
        with_custom as with_custom,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "columns": (
                "AddedPods CachesVerdicts ClusterFilterKernel ClusterScoreKernel "
                "ColumnarFilter ColumnarScore Depends Feasible FilterKernel GroupingFilterKernel "
                "GroupingScoreKernel KernelFault MAX_RAW_SCORE NeedsPorts NeedsResources "
                "Normalize PerPodFragment RowFeature ScoreKernel StatusTable ZeroScores"
            ),
            "cycle_state": "CycleState DeferredState",
            "device_classes": "DEVICE_CLASS_PREFIX DeviceClasses may_be_devices",
            "events": (
                "ACTION_NAMES ASSIGNED_POD_ADD ASSIGNED_POD_DELETE ASSIGNED_POD_UPDATE "
                "ActionType ClusterEvent ClusterEventWithHint DEFAULT_POD_EVENTS EventResource "
                "FORCE_ACTIVATE HintFn NODE_ADD NODE_DELETE POD_RESOURCES PodEvents QueueingHint "
                "UNSCHEDULABLE_TIMEOUT node_update_events refreshed split_by_role"
            ),
            "extender": (
                "EXTENDER_PLUGIN Extender ExtenderError ExtenderFilterOutcome MAX_EXTENDER_PRIORITY NodeVictims PodsOn"
            ),
            "go_integers": "MAX_INT64 MIN_INT64 int64 int64_of_float int64_quotient",
            "go_math": "go_log go_round",
            "handle": (
                "ClusterWhatIf DevicesHandle Gates Handle Nodes Objects PermitHandle PlacedPod "
                "PodAccess PodInPreBind PostFilterHandle PreBindHandle WaitingPod WhatIf"
            ),
            "hints": "changed deleted queue_if",
            "node_info": "ImageState NodeInfo",
            "nodes_view": (
                "ALL_ROWS AnyIntColumn BoolColumn Column DomainCounts Eligibility "
                "IntColumn LabelledPod MatchCounts NodesView PodMatcher ReasonColumn Rows ScalarT "
                "TaintSets TermKind TermTable Terms Topology WeighingMatcher is_weighing "
                "label_keys_of weighing"
            ),
            "plugin": (
                "BackgroundPlugin BindPlugin ConcernsSomePods EnqueueExtensions "
                "FilterPlugin MAX_NODE_SCORE MIN_NODE_SCORE NodeScore NodeStatusReader "
                "PermitPlugin PermitResult Plugin PostBindPlugin PostFilterAnswer "
                "PostFilterPlugin PostFilterResult PreBindPlugin PreEnqueuePlugin PreFilterPlugin "
                "PreFilterResult PreScorePlugin QueueSortPlugin QueuedPod RejectionAnswer "
                "ReservePlugin ScorePlugin StatusAnswer TellsReleasedPods default_normalize_score "
                "invalid_score"
            ),
            "pod_groups": (
                "GroupKey GroupKind Placement PlacementFeasiblePlugin PlacementGeneratePlugin "
                "PlacementProgress PlacementScore PlacementScorePlugin PodGroupAssignments "
                "PodGroupInfo PodGroupPostFilterPlugin PodGroupPostFilterResult PodGroupState "
                "PodGroups ProposedAssignment ScheduleGroup"
            ),
            "pod_info": (
                "ANY_ADDRESS AffinityTerm HostPort POD_SHAPES PodInfo PodShape PodShapes "
                "PodTemplate controller_of host_ports required_affinity_terms "
                "required_anti_affinity_terms"
            ),
            "pod_limits": "NO_LIMIT PodDemand PodLimit PodLimits PodWeight limits_by_node",
            "pod_resources": (
                "Amounts CORE_RESOURCES CPU MEMORY PODS is_accounted is_extended "
                "is_scalar node_allocatable pod_requests request_amounts scoring_requests"
            ),
            "pods_to_activate": "pods_to_activate take_pods_to_activate",
            "ports": (
                "ApiWriter Binder BindingBeginner CLEARED Failure Nomination REASON_ERROR "
                "REASON_UNSCHEDULABLE ResourceClaimWriter Spawn VolumeWriter"
            ),
            "postponement": "CyclePostponed SlicedWork",
            "reading": "ApiReadError ApiReader NoReader check_place resource_text",
            "significant_fields": "IgnoredFields field_getter",
            "status": ("Code CycleAborted SKIP Status error fault fault_prefix is_skip unresolvable unschedulable"),
            "unusable_pods": "BrokenScoreKernel RefusedPodKernel",
            "watching": ("EventSink WATCHED_KINDS change_event event_resource events_of is_custom with_custom"),
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
    "TellsReleasedPods",
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
