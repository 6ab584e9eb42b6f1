# SPDX-License-Identifier: Apache-2.0
"""Units of eviction: a pod, or all running pods of a group that is disrupted as one.

Without pod groups every pod is a unit (`SinglePods`). With the feature gate GenericWorkload the
unit of a pod is the highest of its groups with `disruptionMode.all` (`GroupedPods`); its pods may
be on several nodes. The priority of a victim is that of the root of its groups. Used by the dry
runs of single pods (`dry_run`) and of groups (`group_evaluator`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol

import msgspec

from steersman import api
from steersman.base import SteersmanError
from steersman.framework import GroupKey, GroupKind, NodeInfo, PlacedPod, PodGroups, PodInfo, PostFilterHandle
from steersman.scheduler.preemption.candidates import as_equals, start_time

COMPOSITE_GATE = "CompositePodGroup"
#: Groups above this level of a hierarchy are ignored, as upstream does.
MAX_TREE_DEPTH = 4
NODE_NOT_FOUND = 'failed to get node info for node "{0}" from snapshot: nodeinfo not found for node name "{0}"'


class UnknownNode(SteersmanError):
    """A member of a group runs on a node that does not exist."""


class Rank(IntEnum):
    """Importance of victims of equal priority."""

    POD = 1
    #: A pod of a group, or a whole group.
    GROUP = 2
    HIERARCHY = 3


class Victim(msgspec.Struct, frozen=True, eq=False):
    """Pods that are evicted together, with the node of each."""

    pods: tuple[PodInfo, ...]
    nodes: tuple[NodeInfo, ...]
    priority: int
    rank: Rank = Rank.POD

    def placed(self) -> Iterator[tuple[PodInfo, NodeInfo]]:
        """Yield the pods with their nodes."""
        return zip(self.pods, self.nodes, strict=True)

    def start(self, now: float) -> float:
        """Return the earliest start of the pods; `now` for those that have not started."""
        return min(start_time(pod, now) for pod in self.pods)


class Victims(Protocol):
    """How running pods are divided into units of eviction."""

    def victims_on(self, node: NodeInfo, below: int) -> Sequence[Victim]:
        """Return the units of lower priority with a pod on the node. Raises `UnknownNode`."""

    def priority(self, pod: PodInfo) -> int:
        """Return the priority of a running pod as a victim."""

    def by_importance(self, victims: Iterable[Victim], now: float) -> list[Victim]:
        """Return the victims, most important first."""


class SinglePods:
    """Every pod is a unit."""

    def victims_on(self, node: NodeInfo, below: int) -> Sequence[Victim]:
        where = (node,)
        return [Victim((pod,), where, pod.priority) for pod in node.pods if pod.priority < below]

    def priority(self, pod: PodInfo) -> int:
        return pod.priority

    def by_importance(self, victims: Iterable[Victim], now: float) -> list[Victim]:
        by_uid = {victim.pods[0].uid: victim for victim in victims}
        equals = (by_uid[pod.uid] for pod in as_equals(victim.pods[0] for victim in by_uid.values()))
        return sorted(equals, key=lambda victim: (-victim.priority, victim.start(now)))


class GroupFacts(NamedTuple):
    """What preemption needs to know about the group of a pod."""

    #: The highest of its groups with disruptionMode.all, if any.
    unit: GroupKey | None
    #: Priority of the root; None if the group does not exist.
    priority: int | None


class GroupedPods:
    """Pods of groups are evicted according to the disruption mode of their groups.

    Facts about groups are read once, so that an instance serves one decision.
    """

    def __init__(
        self,
        groups: PodGroups,
        placed: Callable[[str], PlacedPod | None],
        node: Callable[[str], NodeInfo | None],
        *,
        has_hierarchies: bool,
    ) -> None:
        """`placed` returns the running or assumed pod with a uid; `has_hierarchies` is the feature
        gate CompositePodGroup."""
        self._groups = groups
        self._placed = placed
        self._node = node
        self._has_hierarchies = has_hierarchies
        self._facts: dict[tuple[str, str], GroupFacts] = {}
        self._units: dict[GroupKey, Victim] = {}

    def victims_on(self, node: NodeInfo, below: int) -> Sequence[Victim]:
        return self.victims_on_all((node,), below)

    def victims_on_all(self, nodes: Iterable[NodeInfo], below: int) -> list[Victim]:
        """Return the units of lower priority with a pod on any of the nodes, each once."""
        found: list[Victim] = []
        seen: set[GroupKey] = set()
        for node in nodes:
            for pod in node.pods:
                facts = self._facts_of(pod.pod)
                priority = self._priority(pod, facts)
                if facts is None or facts.unit is None:
                    if priority < below:
                        rank = Rank.POD if facts is None else Rank.GROUP
                        found.append(Victim((pod,), (node,), priority, rank))
                elif facts.unit not in seen:
                    seen.add(facts.unit)
                    if priority < below:
                        found.append(self._unit(facts.unit, PlacedPod(pod, node.name), priority))
        return found

    def priority(self, pod: PodInfo) -> int:
        return self._priority(pod, self._facts_of(pod.pod))

    def by_importance(self, victims: Iterable[Victim], now: float) -> list[Victim]:
        return sorted(victims, key=lambda v: (-v.priority, -v.rank, -len(v.pods), v.start(now)))

    def _priority(self, pod: PodInfo, facts: GroupFacts | None) -> int:
        return pod.priority if facts is None or facts.priority is None else facts.priority

    def _facts_of(self, pod: api.Pod) -> GroupFacts | None:
        """Return the facts about the group of the pod, None if it names none."""
        group = pod.spec.scheduling_group
        if group is None:
            return None
        key = (pod.metadata.namespace, group.pod_group_name or "")
        facts = self._facts.get(key)
        if facts is None:
            facts = self._facts[key] = self._read_facts(*key)
        return facts

    def _read_facts(self, namespace: str, name: str) -> GroupFacts:
        unit: GroupKey | None = None
        priority: int | None = None
        for key, group in self._ancestry(namespace, name):
            priority = api.group_priority(group)
            if api.is_disrupted_as_one(group):
                unit = key
        return GroupFacts(unit, priority)

    def _ancestry(self, namespace: str, name: str) -> Iterator[tuple[GroupKey, api.PodGroup | api.CompositePodGroup]]:
        """Yield the existing groups from the PodGroup up, until one is missing or has been
        visited."""
        key = GroupKey(GroupKind.POD_GROUP, namespace, name)
        visited: set[GroupKey] = set()
        while len(visited) < MAX_TREE_DEPTH and key not in visited:
            visited.add(key)
            group = self._groups.group(key)
            if group is None:
                return
            yield key, group
            parent = group.spec.parent_composite_pod_group_name
            if not self._has_hierarchies or parent is None:
                return
            key = GroupKey(GroupKind.COMPOSITE, namespace, parent)

    def _unit(self, key: GroupKey, found: PlacedPod, priority: int) -> Victim:
        unit = self._units.get(key)
        if unit is None:
            rank = Rank.HIERARCHY if key.kind is GroupKind.COMPOSITE else Rank.GROUP
            members = list(self._members(key)) or [found]
            nodes = tuple(self._existing_node(member.node_name) for member in members)
            unit = self._units[key] = Victim(tuple(member.pod for member in members), nodes, priority, rank)
        return unit

    def _members(self, key: GroupKey) -> Iterator[PlacedPod]:
        """Yield the running and assumed pods of a group and its descendants."""
        for leaf in leaves(self._groups, key):
            state = self._groups.state(leaf.namespace, leaf.name)
            for members in (state.assigned, state.assumed):
                yield from filter(None, map(self._placed, members))

    def _existing_node(self, name: str) -> NodeInfo:
        node = self._node(name)
        if node is None:
            raise UnknownNode(NODE_NOT_FOUND.format(name))
        return node


def leaves(groups: PodGroups, root: GroupKey) -> Iterator[GroupKey]:
    """Yield the PodGroups of a tree, up to the maximum depth."""
    waiting = [(root, 1)]
    while waiting:
        key, depth = waiting.pop()
        if key.kind is GroupKind.POD_GROUP:
            yield key
        elif depth < MAX_TREE_DEPTH:
            waiting += [(child, depth + 1) for child in reversed(groups.children(key))]


def victims_of(handle: PostFilterHandle) -> Victims:
    """Return how the running pods of the cluster are divided into units, for one decision."""
    groups = handle.pod_groups
    return SINGLE_PODS if groups is None else grouped_pods(handle, groups)


def grouped_pods(handle: PostFilterHandle, groups: PodGroups) -> GroupedPods:
    """Return the units of the cluster with these groups, for one decision."""
    has_hierarchies = handle.gates.enabled(COMPOSITE_GATE)
    return GroupedPods(groups, handle.what_if.placed, handle.nodes.get, has_hierarchies=has_hierarchies)


SINGLE_PODS = SinglePods()
