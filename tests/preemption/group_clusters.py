# SPDX-License-Identifier: Apache-2.0
"""A cluster in which groups of pods preempt and are preempted: members are placed one after the other by the real
cycle, without topology."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.preemption.clusters import PreemptionCluster

from steersman import api
from steersman.config import FeatureGates
from steersman.framework import (
    Code,
    CycleState,
    GroupKey,
    GroupKind,
    PodGroupAssignments,
    PodGroupInfo,
    PodGroupPostFilterResult,
    PodInfo,
    ProposedAssignment,
    Status,
    unschedulable,
)
from steersman.scheduler.cycle.decision import Scheduled
from steersman.scheduler.preemption import GroupPreemptionReport
from steersman.testing import NodeBuilder, PodBuilder, make_node, make_pod

GATES = FeatureGates(
    {"GenericWorkload": True, "CompositePodGroup": True, "TopologyAwareWorkloadScheduling": True}, "1.37"
)
WITHOUT_HIERARCHIES = FeatureGates({"GenericWorkload": True}, "1.37")
TOO_FEW = "minCount cannot be satisfied"
#: The cycle of a group, of which these plugins are a part, is replaced by `GroupCluster.place`.
CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "plugins": {
                "multiPoint": {
                    "disabled": [
                        {"name": name} for name in ("GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount")
                    ]
                }
            }
        }
    ],
}


def node(name: str, cpu: str = "4") -> NodeBuilder:
    return make_node(name).capacity(cpu=cpu, memory="32Gi", pods=110)


def running(name: str, on: str, cpu: str = "1", priority: int = 0, group: str = "", second: int = 0) -> PodBuilder:
    pod = make_pod(name).req(cpu=cpu).priority(priority).node(on).phase("Running")
    pod = pod.started(f"2030-01-01T00:00:{second:02}Z")
    return pod.in_group(group) if group else pod


class GroupCluster(PreemptionCluster):
    """All nodes are examined and reports are detailed."""

    def __init__(
        self,
        nodes: Iterable[NodeBuilder],
        pods: Iterable[PodBuilder] = (),
        objects: Iterable[api.Object] = (),
        *,
        scalar: bool = False,
        gates: FeatureGates = GATES,
    ) -> None:
        super().__init__(nodes, pods, objects, CONFIGURATION, scalar=scalar, gates=gates)
        #: Number of simulations.
        self.simulations = 0

    def group(self, name: str, members: Sequence[PodBuilder]) -> PodGroupInfo:
        """Return the group with its pending members; it is found by name among both kinds."""
        groups = self.setting.cache.pod_groups
        assert groups is not None
        found = groups.pod_group("default", name) or groups.composite("default", name)
        kind = GroupKind.COMPOSITE if isinstance(found, api.CompositePodGroup) else GroupKind.POD_GROUP
        pods = [self.pending(member.in_group(name)) for member in members]
        if kind is GroupKind.POD_GROUP:
            return PodGroupInfo(GroupKey(kind, "default", name), found, [], pods)
        leaf = PodGroupInfo(GroupKey(GroupKind.POD_GROUP, "default", "leaf"), None, [], pods)
        return PodGroupInfo(GroupKey(kind, "default", name), found, [leaf])

    def place(self, members: Iterable[PodInfo], needed: int) -> tuple[PodGroupAssignments, Status]:
        """Place the members one after the other; nothing stays assumed."""
        self.simulations += 1
        decisions = [self.setting.decide(pod, post_filter=False) for pod in members]
        placed = [decision for decision in decisions if isinstance(decision, Scheduled)]
        for decision in reversed(placed):
            self.setting.undo(decision)
        made = tuple(ProposedAssignment(one.pod, one.node, one.state) for one in placed)
        status = Status(Code.SUCCESS) if len(placed) >= needed else unschedulable(TOO_FEW)
        return PodGroupAssignments(None, made), status

    def preempt_for(
        self, group: PodGroupInfo, needed: int | None = None
    ) -> tuple[PodGroupPostFilterResult | None, Status]:
        """Run PodGroupPostFilter; the group needs all of its members, or this number."""
        members = list(group.pods())
        count = len(members) if needed is None else needed
        return self.plugin.pod_group_post_filter(CycleState(), group, lambda: self.place(members, count))

    def report_for(self, group: PodGroupInfo, needed: int | None = None) -> GroupPreemptionReport:
        result, status = self.preempt_for(group, needed)
        assert result is not None, status
        assert isinstance(result.report, GroupPreemptionReport)
        return result.report

    def victims_for(self, group: PodGroupInfo, needed: int | None = None) -> list[str]:
        """Return the names of the evicted pods, sorted."""
        return sorted(pod.name for pod in self.report_for(group, needed).victims)
