# SPDX-License-Identifier: Apache-2.0
"""GangScheduling: the members of a gang start together or not at all.

PreEnqueue gates members until their group, or the tree of groups that it belongs to, can reach its
counts. PlacementFeasible decides within the cycle of a group. Permit delays members until enough of
them have a node.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Final

from steersman import api
from steersman.base import CacheSpec, SharedMemo
from steersman.framework import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    Code,
    CycleState,
    EnqueueExtensions,
    EventResource,
    GroupKey,
    GroupKind,
    PermitHandle,
    PermitPlugin,
    PermitResult,
    PlacementFeasiblePlugin,
    PlacementProgress,
    PodGroupInfo,
    PodGroups,
    PodGroupState,
    PodInfo,
    PreEnqueuePlugin,
    QueueingHint,
    Status,
    changed,
    error,
    queue_if,
    unresolvable,
    unschedulable,
)

COMPOSITE_GATE: Final = "CompositePodGroup"
PERMIT_TIMEOUT_SECONDS: Final = 300.0
#: The API server limits the templates of a Workload to this depth, PodGroups included;
#: kube-scheduler does not find the root of a deeper tree.
MAX_TREE_DEPTH: Final = 4

WAITING_FOR_GROUP: Final = 'waiting for pods\'s pod group "{}" to appear in scheduling queue'
WAITING_FOR_MEMBERS: Final = "waiting for minCount pods from a gang to appear in scheduling queue"
WAITING_FOR_TREE: Final = 'waiting for composite pod group "{}" tree to meet quorum'
WAITING_FOR_QUORUM: Final = "waiting for minCount pods from a gang to be scheduled"
GROUP_NOT_FOUND: Final = "failed to get podGroup {namespace}/{name}: pod group object not found for pod group {key}"
NO_TREE: Final = "failed to build hierarchy snapshot: {}"
NO_POD_GROUP: Final = "pod group object not found in state for {}"
NO_COMPOSITE: Final = "composite pod group object not found in state for {}"
CYCLE: Final = "cycle detected in composite pod group hierarchy: {}"
TOO_FEW: Final = "minCount ({}) cannot be satisfied: {} scheduled, {} remaining"
NOT_YET: Final = "minCount ({}) is not yet satisfied: {} scheduled, {} remaining"

Count = Callable[[PodGroupState], int]
"""Number of members of a PodGroup that counts towards its quorum."""

READY_TREE = CacheSpec(
    name="quorum of the latest tree",
    attributes=("GangScheduling._is_ready",),
    contents="whether the tree of a composite group has enough members to be queued",
    key="root of the tree",
    invalidation="version of the groups and their members (`Memo`); shared by forks",
    limit="one tree",
    reference="`_is_tree_ready` of the root",
    checked_by="tests/plugins/test_gang_scheduling.py",
)


class GangScheduling(PreEnqueuePlugin, PermitPlugin, PlacementFeasiblePlugin, EnqueueExtensions):
    """Holds the members of a gang back until enough of them exist, fit and are reserved."""

    name = "GangScheduling"
    tolerates_placed_members = True

    def __init__(self, args: None, handle: PermitHandle) -> None:
        self._handle = handle
        self._has_composites = handle.gates.enabled(COMPOSITE_GATE)
        #: Whether the latest tree has enough members; PreEnqueue needs it for each member.
        self._is_ready: SharedMemo[bool] = SharedMemo()

    def concerns(self, pod: PodInfo) -> bool:
        return pod.spec.scheduling_group is not None

    # -- PreEnqueue -------------------------------------------------------------------------------

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        key, groups = _group_key(pod.pod), self._handle.pod_groups
        if key is None or groups is None:
            return None
        group = groups.pod_group(key.namespace, key.name)
        if group is None:
            missing = NO_TREE.format(NO_POD_GROUP.format(key)) if self._has_composites else None
            return unresolvable(missing or WAITING_FOR_GROUP.format(key.name))
        parent = self._parent(group)
        if parent is None:
            gang = group.spec.scheduling_policy.gang
            has_members = gang is None or groups.state(key.namespace, key.name).count >= gang.min_count
            return None if has_members else unresolvable(WAITING_FOR_MEMBERS)
        root = find_root(groups, parent)
        if isinstance(root, str):
            return unresolvable(NO_TREE.format(root))
        is_ready = self._is_ready.get((groups.version, root), lambda: _is_tree_ready(groups, root, _count))
        return None if is_ready else unresolvable(WAITING_FOR_TREE.format(root.name))

    # -- PlacementFeasible ------------------------------------------------------------------------

    def placement_feasible(self, state: CycleState, group: PodGroupInfo, progress: PlacementProgress) -> Status | None:
        wanted = 1 if group.group is None else min_count(group.group)
        if progress.scheduled >= wanted:
            return None
        if progress.remaining + progress.scheduled < wanted:
            return unschedulable(TOO_FEW.format(wanted, progress.scheduled, progress.remaining))
        return Status(Code.WAIT, (NOT_YET.format(wanted, progress.scheduled, progress.remaining),))

    # -- Permit -----------------------------------------------------------------------------------

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | PermitResult | None:
        key, groups = _group_key(pod.pod), self._handle.pod_groups
        if key is None or groups is None:
            return None
        group = groups.pod_group(key.namespace, key.name)
        if group is None:
            return error(
                NO_TREE.format(NO_POD_GROUP.format(key))
                if self._has_composites
                else GROUP_NOT_FOUND.format(namespace=key.namespace, name=key.name, key=key)
            )
        parent = self._parent(group)
        if parent is None:
            is_gang = group.spec.scheduling_policy.gang is not None
            return self._permit_tree(groups, key, WAITING_FOR_QUORUM) if is_gang else None
        root = find_root(groups, parent)
        if isinstance(root, str):
            return error(NO_TREE.format(root))
        return self._permit_tree(groups, root, WAITING_FOR_TREE.format(root.name))

    def _permit_tree(self, groups: PodGroups, root: GroupKey, message: str) -> PermitResult | None:
        """Allow all waiting members below the root once it has its quorum; until then, delay this
        member and activate those without a node."""
        if not _is_tree_ready(groups, root, _scheduled_count):
            for members in _leaves(groups, root):
                self._handle.pods.activate(members.unscheduled.values())
            return PermitResult(Status(Code.WAIT, (message,)), PERMIT_TIMEOUT_SECONDS)
        if any(True for _ in self._handle.pods.waiting_pods()):
            for uid in [uid for members in _leaves(groups, root) for uid in members.assumed]:
                waiting = self._handle.pods.waiting(uid)
                if waiting is not None:
                    waiting.allow(self.name)
        return None

    def _parent(self, group: api.PodGroup) -> GroupKey | None:
        return _parent_key(group) if self._has_composites else None

    # -- events -----------------------------------------------------------------------------------

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        added, updated = ActionType.ADD, ActionType.UPDATE
        events = (
            ClusterEventWithHint(ClusterEvent(EventResource.UNSCHEDULED_POD, added), self.after_pod_added),
            ClusterEventWithHint(ClusterEvent(EventResource.ASSIGNED_POD, added), self.after_pod_added),
            ClusterEventWithHint(ClusterEvent(EventResource.POD_GROUP, added), self.after_group_added),
            ClusterEventWithHint(ClusterEvent(EventResource.POD_GROUP, updated), self.after_group_updated),
        )
        if not self._has_composites:
            return events
        composite_added = ClusterEvent(EventResource.COMPOSITE_POD_GROUP, added)
        return (*events, ClusterEventWithHint(composite_added, self.after_composite_added))

    def after_pod_added(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        """Queue if the pod is a member of the same tree."""
        added = _group_key(changed(api.Pod, old, new)[1])
        return queue_if(added is not None and self._is_same_tree(waiting, added))

    def after_group_added(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        """Queue if the PodGroup belongs to the same tree."""
        group = changed(api.PodGroup, old, new)[1]
        key = GroupKey(GroupKind.POD_GROUP, group.metadata.namespace, group.metadata.name)
        return queue_if(self._is_same_tree(waiting, key))

    def after_composite_added(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        """Queue if the CompositePodGroup belongs to the same tree."""
        group = changed(api.CompositePodGroup, old, new)[1]
        key = GroupKey(GroupKind.COMPOSITE, group.metadata.namespace, group.metadata.name)
        return queue_if(self._is_same_tree(waiting, key))

    def after_group_updated(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        """Queue if the minCount of a gang in the same tree decreased."""
        before, now = changed(api.PodGroup, old, new)
        was = before.spec.scheduling_policy.gang if before is not None else None
        gang = now.spec.scheduling_policy.gang
        decreased = was is not None and gang is not None and gang.min_count < was.min_count
        return self.after_group_added(waiting, None, now) if decreased else QueueingHint.SKIP

    def helped_groups(self, event: ClusterEvent, old: object, new: object, /) -> Collection[GroupKey]:
        """Return the root of the tree that the pod or group belongs to (`HelpsGroups`)."""
        key, groups = _key_of(new), self._handle.pod_groups
        if key is None or groups is None:
            return ()
        root = groups.root(key) if self._has_composites else key
        return () if root is None else (root,)

    def _is_same_tree(self, waiting: api.Pod, other: GroupKey) -> bool:
        key, groups = _group_key(waiting), self._handle.pod_groups
        if key is None or groups is None:
            return False
        if not self._has_composites:
            return key == other
        root = groups.root(key)
        return root is not None and root == groups.root(other)


# -- groups and trees --------------------------------------------------------------------------------------------------


def min_count(group: api.AnyPodGroup) -> int:
    """Return how many members, or children of a composite group, the group needs at least."""
    gang = group.spec.scheduling_policy.gang
    if gang is None:
        return 1
    return gang.min_count if isinstance(gang, api.GangSchedulingPolicy) else gang.min_group_count


def find_root(groups: PodGroups, parent: GroupKey) -> GroupKey | str:
    """Return the root of the tree of a composite group, or why kube-scheduler finds none."""
    key = parent
    for _ in range(MAX_TREE_DEPTH - 1):
        group = groups.composite(key.namespace, key.name)
        if group is None:
            return NO_COMPOSITE.format(key)
        above = _parent_key(group)
        if above is None:
            return key
        key = above
    top = groups.composite(key.namespace, key.name)
    if top is not None and _parent_key(top) is None:
        return key
    return CYCLE.format(key) if _is_in_cycle(groups, key) else NO_COMPOSITE.format(parent)


def _is_in_cycle(groups: PodGroups, start: GroupKey) -> bool:
    """Return whether a composite group is its own ancestor."""
    seen, key = set[GroupKey](), start
    while key not in seen:
        seen.add(key)
        group = groups.composite(key.namespace, key.name)
        above = None if group is None else _parent_key(group)
        if above is None:
            return False
        key = above
    return key == start


def _tree(groups: PodGroups, root: GroupKey) -> Iterator[GroupKey]:
    """Yield the group and its descendants, parents first. The tree has no cycle, because its root
    has no parent."""
    waiting = [root]
    while waiting:
        key = waiting.pop()
        yield key
        if not _is_leaf(key):
            waiting += groups.children(key)


def _leaves(groups: PodGroups, root: GroupKey) -> Iterator[PodGroupState]:
    """Yield the members of each PodGroup of the tree."""
    return (groups.state(key.namespace, key.name) for key in _tree(groups, root) if _is_leaf(key))


def _is_tree_ready(groups: PodGroups, root: GroupKey, count: Count) -> bool:
    """Return whether enough children of the root, recursively, reach their counts."""
    if _is_leaf(root):
        return _has_quorum(groups, root, count)
    ready = set[GroupKey]()
    for key in reversed(list(_tree(groups, root))):
        if _is_leaf(key):
            is_ready = _has_quorum(groups, key, count)
        else:
            group = groups.group(key)
            successes = sum(child in ready for child in groups.children(key))
            is_ready = group is not None and successes >= min_count(group)
        if is_ready:
            ready.add(key)
    return root in ready


def _has_quorum(groups: PodGroups, key: GroupKey, count: Count) -> bool:
    group = groups.group(key)
    return group is not None and count(groups.state(key.namespace, key.name)) >= min_count(group)


def _count(members: PodGroupState) -> int:
    return members.count


def _scheduled_count(members: PodGroupState) -> int:
    return members.scheduled_count


def _key_of(obj: object) -> GroupKey | None:
    """Return the group of a pod, or the key of a group."""
    if isinstance(obj, api.Pod):
        return _group_key(obj)
    if not isinstance(obj, api.PodGroup | api.CompositePodGroup):
        return None
    kind = GroupKind.POD_GROUP if isinstance(obj, api.PodGroup) else GroupKind.COMPOSITE
    return GroupKey(kind, obj.metadata.namespace, obj.metadata.name)


def _is_leaf(key: GroupKey) -> bool:
    return key.kind is GroupKind.POD_GROUP


def _parent_key(group: api.AnyPodGroup) -> GroupKey | None:
    name = group.spec.parent_composite_pod_group_name
    return None if name is None else GroupKey(GroupKind.COMPOSITE, group.metadata.namespace, name)


def _group_key(pod: api.Pod) -> GroupKey | None:
    """Return the PodGroup that the pod names, or None."""
    group = pod.spec.scheduling_group
    if group is None or group.pod_group_name is None:
        return None
    return GroupKey(GroupKind.POD_GROUP, pod.metadata.namespace, group.pod_group_name)
