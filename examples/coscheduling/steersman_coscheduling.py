# SPDX-License-Identifier: Apache-2.0
"""Coscheduling as scheduler-plugins has it: the pods of a `PodGroup` get their nodes together, or none of them does.

A pod belongs to the group that its label `scheduling.x-k8s.io/pod-group` names. PreFilter rejects it until there are as many
pods as the group's `minMember`; Permit lets it wait until so many have a node; a member that fits nowhere sends others back.
They are tried again when a node comes, or when somebody else leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from steersman import api, framework as fw

LABEL = "scheduling.x-k8s.io/pod-group"


class PodGroupSpec(api.Struct, frozen=True):
    min_member: int = 1
    schedule_timeout_seconds: int | None = None


class PodGroup(api.Object, frozen=True):
    """As far as this plugin reads it."""

    API_VERSION, KIND, PLURAL = "scheduling.x-k8s.io/v1alpha1", "PodGroup", "podgroups"

    spec: PodGroupSpec = PodGroupSpec()


class CoschedulingArgs(api.Struct, frozen=True):
    """The arguments in `pluginConfig`."""

    permit_waiting_time_seconds: float = 60.0


class Coscheduling(fw.PreFilterPlugin, fw.PostFilterPlugin, fw.ReservePlugin, fw.PermitPlugin, fw.EnqueueExtensions):
    name = "Coscheduling"
    kinds = (PodGroup,)
    args = CoschedulingArgs

    def __init__(self, args: CoschedulingArgs, handle: fw.PermitHandle) -> None:
        self._handle = handle
        self._patience = args.permit_waiting_time_seconds
        #: By namespace and group: keys of the pods that came before their group had enough members.
        self._early: dict[tuple[str, str], set[str]] = {}

    # -- a pod on its way ---------------------------------------------------------------------------------------------

    def pre_filter(self, pod: fw.PodInfo, nodes: Sequence[fw.NodeInfo]) -> fw.Status | None:
        if LABEL not in pod.labels:
            return fw.SKIP
        group = self._group(pod)
        if group is None:
            return fw.unresolvable(f"PodGroup {pod.labels[LABEL]} not found")
        members = len(self._members(pod.pod))
        if members < group.spec.min_member:
            self._early.setdefault(_identity(pod), set()).add(pod.key)
            return fw.unresolvable(f"PodGroup has {members} pods, needs {group.spec.min_member}")
        return None

    def post_filter(self, pod: fw.PodInfo, statuses: fw.NodeStatusReader) -> fw.Status:
        """Runs after preemption found no room either."""
        if LABEL not in pod.labels:
            return fw.unschedulable()
        self._reject_others(pod)
        return fw.unschedulable(f"PodGroup {pod.labels[LABEL]} has to wait for a node for {pod.name}")

    def reserve(self, pod: fw.PodInfo, node_name: str) -> None:
        """The pod is counted on its node."""

    def unreserve(self, pod: fw.PodInfo, node_name: str) -> None:
        """Also when its time is over: the others make room for another group."""
        if LABEL in pod.labels:
            self._reject_others(pod)

    def permit(self, state: fw.CycleState, pod: fw.PodInfo, node_name: str) -> fw.PermitResult | None:
        group = self._group(pod)
        if group is None:
            return None
        self._wake_early_members(state, pod)
        if self._placed(pod) < group.spec.min_member:
            return fw.PermitResult(fw.Status(fw.Code.WAIT), group.spec.schedule_timeout_seconds or self._patience)
        for waiting in self._waiting(pod):
            waiting.allow(self.name)
        return None

    # -- waking -------------------------------------------------------------------------------------------------------

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
        """All pods of the group that have not ended, with a node or without."""
        return [
            other for other in self._handle.pods.list(pod.metadata.namespace) if _group_name(other) == _group_name(pod)
        ]

    def _wake_early_members(self, state: fw.CycleState, pod: fw.PodInfo) -> None:
        """No event tells them that the last member has come; it does so itself, when it has a node."""
        for key in self._early.pop(_identity(pod), ()):
            member = self._handle.pods.get(key)
            if member is not None:
                fw.pods_to_activate(state).add(member)

    def _placed(self, pod: fw.PodInfo) -> int:
        """Members that have a node, whether they run there, are being bound, or wait; with this one."""
        nodes = self._handle.nodes.all()
        return sum(_is_sibling(other, pod) for node in nodes for other in node.pods)

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
    """A member that gives its node back has not made room for its group."""
    gone = fw.deleted(api.Pod, old)
    is_own = gone.metadata.namespace == waiting.metadata.namespace and _group_name(gone) == _group_name(waiting)
    return fw.QueueingHint.SKIP if is_own else fw.QueueingHint.QUEUE


def _is_group(waiting: api.Pod, old: object, new: object) -> fw.QueueingHint:
    _, group = fw.changed(PodGroup, old, new)
    is_own = api.key(group) == f"{waiting.metadata.namespace}/{_group_name(waiting)}"
    return fw.QueueingHint.QUEUE if is_own else fw.QueueingHint.SKIP
