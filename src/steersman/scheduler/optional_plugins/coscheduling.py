# SPDX-License-Identifier: Apache-2.0
"""Coscheduling for scheduler-plugins' `PodGroup`: the pods of a group get nodes together or not at
all.

    pod with the label ─► PreFilter: enough pods? ─► Permit: wait for the others ─► all are bound
                                                     └► PostFilter, timeout: reject all that wait

A pod belongs to the group that its label `scheduling.x-k8s.io/pod-group` names. Rejected members
are retried when a node is added or enlarged, or a pod of another group is deleted. Not implemented:
`minResources`, QueueSort by groups, and the status of a PodGroup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from steersman import api, framework as fw

LABEL = "scheduling.x-k8s.io/pod-group"


class PodGroupSpec(api.Struct, frozen=True):
    min_member: int = 1
    schedule_timeout_seconds: int | None = None


class PodGroup(api.Object, frozen=True):
    """The fields of scheduler-plugins' PodGroup that the plugin reads."""

    API_VERSION, KIND, PLURAL = "scheduling.x-k8s.io/v1alpha1", "PodGroup", "podgroups"

    spec: PodGroupSpec = PodGroupSpec()


class CoschedulingArgs(api.Struct, frozen=True):
    """The arguments in `pluginConfig`, with scheduler-plugins' names and defaults."""

    #: Timeout of Permit for groups without `scheduleTimeoutSeconds`.
    permit_waiting_time_seconds: float = 60.0
    #: Time for which members are rejected after one of their group was unschedulable.
    pod_group_backoff_seconds: float = 0.0


class Coscheduling(fw.PreFilterPlugin, fw.PostFilterPlugin, fw.ReservePlugin, fw.PermitPlugin, fw.EnqueueExtensions):
    name = "Coscheduling"
    kinds = (PodGroup,)
    args = CoschedulingArgs

    def __init__(self, args: CoschedulingArgs, handle: fw.PermitHandle) -> None:
        self._handle = handle
        self._permit_seconds = args.permit_waiting_time_seconds
        self._backoff_seconds = args.pod_group_backoff_seconds
        #: (namespace, group) → keys of the pods that came before their group had enough members.
        self._early: dict[tuple[str, str], set[str]] = {}
        #: (namespace, group) → end of its backoff.
        self._backoff_ends: dict[tuple[str, str], float] = {}

    # -- extension points ---------------------------------------------------------------------------------------------

    def pre_filter(self, pod: fw.PodInfo, nodes: Sequence[fw.NodeInfo]) -> fw.Status | None:
        if LABEL not in pod.labels:
            return fw.SKIP
        group = self._group(pod)
        if group is None:
            return fw.unresolvable(f"PodGroup {pod.labels[LABEL]} not found")
        if self._is_backing_off(_identity(pod)):
            return fw.unresolvable(f"podGroup {pod.namespace}/{pod.labels[LABEL]} failed recently")
        members = len(self._members(pod.pod))
        if members < group.spec.min_member:
            self._early.setdefault(_identity(pod), set()).add(pod.key)
            return fw.unresolvable(f"PodGroup has {members} pods, needs {group.spec.min_member}")
        return None

    def post_filter(self, pod: fw.PodInfo, statuses: fw.NodeStatusReader) -> fw.Status:
        """Reject the waiting members, after preemption found no node."""
        group = self._group(pod)
        if group is None:
            return fw.unschedulable()
        self._reject_others(pod)
        if self._backoff_seconds and len(self._members(pod.pod)) >= group.spec.min_member:
            self._backoff_ends[_identity(pod)] = self._handle.clock.monotonic() + self._backoff_seconds
        return fw.unschedulable(f"PodGroup {pod.labels[LABEL]} has to wait for a node for {pod.name}")

    def reserve(self, pod: fw.PodInfo, node_name: str) -> None:
        """Do nothing: the pod is counted on its node."""

    def unreserve(self, pod: fw.PodInfo, node_name: str) -> None:
        """Reject the waiting members too, so that they make room for another group."""
        if LABEL in pod.labels:
            self._reject_others(pod)

    def permit(self, state: fw.CycleState, pod: fw.PodInfo, node_name: str) -> fw.PermitResult | None:
        group = self._group(pod)
        if group is None:
            return None
        self._wake_early_members(state, pod)
        if self._placed(pod) < group.spec.min_member:
            return fw.PermitResult(fw.Status(fw.Code.WAIT), group.spec.schedule_timeout_seconds or self._permit_seconds)
        for waiting in self._waiting(pod):
            waiting.allow(self.name)
        return None

    # -- events -------------------------------------------------------------------------------------------------------

    def events_to_register(self) -> Iterable[fw.ClusterEventWithHint]:
        action = fw.ActionType
        more_room = action.ADD | action.UPDATE_NODE_ALLOCATABLE | action.UPDATE_NODE_LABEL | action.UPDATE_NODE_TAINT
        group = fw.ClusterEvent("scheduling.x-k8s.io/PodGroup", action.ADD | action.UPDATE)
        return (
            fw.ClusterEventWithHint(fw.ClusterEvent(fw.EventResource.ASSIGNED_POD, action.DELETE), _is_stranger),
            fw.ClusterEventWithHint(fw.ClusterEvent(fw.EventResource.NODE, more_room)),
            fw.ClusterEventWithHint(group, _is_group),
        )

    # -- the group ----------------------------------------------------------------------------------------------------

    def _group(self, pod: fw.PodInfo) -> PodGroup | None:
        name = pod.labels.get(LABEL)
        return None if name is None else self._handle.objects.get(PodGroup, f"{pod.namespace}/{name}")

    def _members(self, pod: api.Pod) -> list[api.Pod]:
        """Return all pods of the group that have not finished."""
        return [
            other for other in self._handle.pods.list(pod.metadata.namespace) if _group_name(other) == _group_name(pod)
        ]

    def _wake_early_members(self, state: fw.CycleState, pod: fw.PodInfo) -> None:
        """Activate members that were rejected before the group had enough pods."""
        for key in self._early.pop(_identity(pod), ()):
            member = self._handle.pods.get(key)
            if member is not None:
                fw.pods_to_activate(state).add(member)

    def _placed(self, pod: fw.PodInfo) -> int:
        """Return the number of members with a node: bound, being bound, or waiting; including this
        pod."""
        nodes = self._handle.nodes.all()
        return sum(_is_sibling(other, pod) for node in nodes for other in node.pods)

    def _is_backing_off(self, group: tuple[str, str]) -> bool:
        end = self._backoff_ends.get(group)
        if end is not None and end <= self._handle.clock.monotonic():
            del self._backoff_ends[group]
            return False
        return end is not None

    def _waiting(self, pod: fw.PodInfo) -> list[fw.WaitingPod]:
        return [waiting for waiting in self._handle.pods.waiting_pods() if _is_sibling(waiting.pod, pod)]

    def _reject_others(self, pod: fw.PodInfo) -> None:
        for waiting in self._waiting(pod):
            waiting.reject(self.name, f"PodGroup {pod.labels[LABEL]} has to wait for a node for {pod.name}")


def _identity(pod: fw.PodInfo) -> tuple[str, str]:
    return pod.namespace, pod.labels.get(LABEL, "")


def _is_sibling(other: fw.PodInfo, pod: fw.PodInfo) -> bool:
    return _identity(other) == _identity(pod)


def _group_name(pod: api.Pod) -> str:
    return pod.metadata.labels.get(LABEL, "")


def _is_stranger(waiting: api.Pod, old: object, new: object) -> fw.QueueingHint:
    """Queue unless the deleted pod was a member of the same group."""
    gone = fw.deleted(api.Pod, old)
    is_own = gone.metadata.namespace == waiting.metadata.namespace and _group_name(gone) == _group_name(waiting)
    return fw.QueueingHint.SKIP if is_own else fw.QueueingHint.QUEUE


def _is_group(waiting: api.Pod, old: object, new: object) -> fw.QueueingHint:
    _, group = fw.changed(PodGroup, old, new)
    is_own = api.key(group) == f"{waiting.metadata.namespace}/{_group_name(waiting)}"
    return fw.QueueingHint.QUEUE if is_own else fw.QueueingHint.SKIP
