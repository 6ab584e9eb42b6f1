# SPDX-License-Identifier: Apache-2.0
"""PodGroups and CompositePodGroups as trees.

A group names its parent, so the tree is built from below: a parent has children before its object
exists. The depth is not limited and cycles are possible, because the API server cannot exclude
either; nothing here is recursive.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from steersman import api
from steersman.api import timestamps
from steersman.base import CacheSpec
from steersman.base.graph_copy import copied_attributes, shallow, two_levels
from steersman.framework import GroupKey, GroupKind, PodGroupInfo

GROUP_ROOTS = CacheSpec(
    name="roots of pod groups",
    attributes=("GroupHierarchy._roots",),
    contents="the root of each group, or None if an ancestor is missing or the groups form a cycle",
    key="group",
    invalidation="cleared when a group is added, removed or gets another parent",
    limit="the groups",
    reference="`GroupHierarchy.find_root`",
)


class _Child(NamedTuple):
    """A child group; children are in this order."""

    created: float
    name: str
    key: GroupKey


def key_of_group(group: api.AnyPodGroup) -> GroupKey:
    kind = GroupKind.COMPOSITE if isinstance(group, api.CompositePodGroup) else GroupKind.POD_GROUP
    return GroupKey(kind, group.metadata.namespace, group.metadata.name)


def group_of_pod(pod: api.Pod) -> GroupKey | None:
    """Return the PodGroup that the pod names, or None."""
    group = pod.spec.scheduling_group
    if group is None or group.pod_group_name is None:
        return None
    return GroupKey(GroupKind.POD_GROUP, pod.metadata.namespace, group.pod_group_name)


@copied_attributes(_groups=shallow, _children=two_levels, _roots=shallow)
class GroupHierarchy:
    """Group objects with their parents, children and roots."""

    def __init__(self, *, has_composites: bool = True) -> None:
        """Without `has_composites` every PodGroup is a root (gate CompositePodGroup)."""
        self.has_composites = has_composites
        self._groups: dict[GroupKey, api.AnyPodGroup] = {}
        #: Parent → its existing children in order; the parent may not exist. No empty values.
        self._children: dict[GroupKey, list[_Child]] = {}
        self._roots: dict[GroupKey, GroupKey | None] = {}

    def put(self, group: api.AnyPodGroup) -> None:
        """Add or replace a group."""
        key = key_of_group(group)
        if key.kind is GroupKind.COMPOSITE and not self.has_composites:
            return
        old = self._groups.get(key)
        if old is not None and self._position(old) == self._position(group):
            self._groups[key] = group
            return
        if old is not None:
            self.remove(key)
        self._groups[key] = group
        self._roots.clear()
        position = self._position(group)
        if position is not None:
            parent, child = position
            insort(self._children.setdefault(parent, []), child)

    def remove(self, key: GroupKey) -> api.AnyPodGroup | None:
        """Remove a group, and return it if it existed. Its children stay."""
        group = self._groups.pop(key, None)
        if group is None:
            return None
        self._roots.clear()
        position = self._position(group)
        if position is not None:
            parent, child = position
            siblings = self._children[parent]
            del siblings[bisect_left(siblings, child)]
            if not siblings:
                del self._children[parent]
        return group

    def get(self, key: GroupKey) -> api.AnyPodGroup | None:
        return self._groups.get(key)

    def keys(self) -> Iterator[GroupKey]:
        """Iterate over the existing groups, in no particular order."""
        return iter(self._groups)

    def children(self, key: GroupKey) -> list[GroupKey]:
        """Return the existing children, ordered by creation time and then by name."""
        return [child.key for child in self._children.get(key, ())]

    def root(self, key: GroupKey) -> GroupKey | None:
        """Return the root of the group's tree; None if an ancestor does not exist or the groups
        form a cycle."""
        try:
            return self._roots[key]
        except KeyError:
            pass
        path, root = self.find_root(key, self._roots)
        for one in path:
            self._roots[one] = root
        return root

    def find_root(
        self, key: GroupKey, known: dict[GroupKey, GroupKey | None] | None = None
    ) -> tuple[Sequence[GroupKey], GroupKey | None]:
        """Return the existing groups from this one up to its root, or up to one whose root is
        known, and the root."""
        known = known or {}
        path: dict[GroupKey, None] = {}
        current: GroupKey | None = key
        while current is not None:
            if current in known:
                return tuple(path), known[current]
            group = self._groups.get(current)
            if group is None or current in path:
                return tuple(path), None
            path[current] = None
            parent = self.parent_of(group)
            if parent is None:
                return tuple(path), current
            current = parent
        return tuple(path), None

    def parent_of(self, group: api.AnyPodGroup) -> GroupKey | None:
        """Return the parent that the group names."""
        name = group.spec.parent_composite_pod_group_name
        if name is None or not self.has_composites:
            return None
        return GroupKey(GroupKind.COMPOSITE, group.metadata.namespace, name)

    def walk(self, root: GroupKey) -> Iterator[GroupKey]:
        """Yield the group and all its descendants, parents first and children in order."""
        seen = {root}
        waiting = [root]
        while waiting:
            key = waiting.pop()
            yield key
            children = [child for child in self.children(key) if child not in seen]
            seen.update(children)
            waiting += reversed(children)

    def leaves(self, root: GroupKey) -> Iterator[GroupKey]:
        """Yield the PodGroups of the tree in the order of the tree."""
        return (key for key in self.walk(root) if key.kind is GroupKind.POD_GROUP)

    def tree(self, root: GroupKey) -> dict[GroupKey, PodGroupInfo]:
        """Return the nodes of a tree, the root first, without pods."""
        nodes: dict[GroupKey, PodGroupInfo] = {}
        for key in self.walk(root):
            group = self._groups.get(key)
            nodes[key] = PodGroupInfo(key, group)
            parent = None if group is None else self.parent_of(group)
            if parent in nodes and key != root:
                nodes[parent].children.append(nodes[key])
        return nodes

    def expected_children(self) -> dict[GroupKey, list[GroupKey]]:
        """Recompute the children of all groups."""
        found: dict[GroupKey, list[_Child]] = {}
        for group in self._groups.values():
            position = self._position(group)
            if position is not None:
                found.setdefault(position[0], []).append(position[1])
        return {parent: [child.key for child in sorted(children)] for parent, children in found.items()}

    def problems(self) -> Iterator[str]:
        """Yield differences from a recomputation."""
        children = {parent: self.children(parent) for parent in self._children}
        if children != self.expected_children():
            yield f"children of groups are {children}, not {self.expected_children()}"
        for key, root in self._roots.items():
            if self.find_root(key)[1] != root:
                yield f"the root of {key} is {root}, not {self.find_root(key)[1]}"

    def _position(self, group: api.AnyPodGroup) -> tuple[GroupKey, _Child] | None:
        """Return the parent of the group with its entry among the children."""
        parent = self.parent_of(group)
        if parent is None:
            return None
        created = group.metadata.creation_timestamp
        moment = timestamps.parse(created) if created else float("-inf")
        return parent, _Child(moment, group.metadata.name, key_of_group(group))
