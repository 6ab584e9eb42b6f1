# SPDX-License-Identifier: Apache-2.0
"""A dict of dicts, such as the pods of each owner, whose groups are shared by forks until they
change (copy-on-write).

A copy costs one reference per group, and the first change of a group the copying of that group.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

from steersman.base.graph_copy import GraphCopy, copied_attributes, copied_by, shallow

GroupT = TypeVar("GroupT", bound=Hashable)
KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")

_NO_GROUP: Final[Mapping[Any, Any]] = MappingProxyType({})


def _copied(copies: GraphCopy, original: GroupedDict[Any, Any, Any]) -> GroupedDict[Any, Any, Any]:
    """Return a copy with the same groups, marked as shared in both."""
    original._shared = set(original._groups)
    made: GroupedDict[Any, Any, Any] = copies.note(original, GroupedDict())
    made._groups, made._shared = original._groups.copy(), original._shared.copy()
    return made


@copied_by(_copied)
@copied_attributes(_groups=shallow)
class GroupedDict(Generic[GroupT, KeyT, ValueT]):
    """Dicts by group, each in the order in which its keys were added. Copies share keys and values."""

    __slots__ = ("_groups", "_shared")

    def __init__(self) -> None:
        #: Groups; no empty values.
        self._groups: dict[GroupT, dict[KeyT, ValueT]] = {}
        #: Groups shared with a fork, which are copied before they change.
        self._shared: set[GroupT] = set()

    def entries_of(self, group: GroupT) -> Mapping[KeyT, ValueT]:
        """Return the entries of a group. Later changes may or may not be visible in the result."""
        return self._groups.get(group, _NO_GROUP)

    def put(self, group: GroupT, key: KeyT, value: ValueT) -> None:
        entries = self._groups.get(group)
        if entries is None:
            self._groups[group] = {key: value}
            return
        if group in self._shared:
            entries = self._own(group)
        entries[key] = value

    def remove(self, group: GroupT, key: KeyT) -> None:
        """Remove the entry, if it exists, and the group with its last entry."""
        entries = self._groups.get(group)
        if entries is None or key not in entries:
            return
        if group in self._shared:
            entries = self._own(group)
        del entries[key]
        if not entries:
            del self._groups[group]

    def __contains__(self, group: object) -> bool:
        return group in self._groups

    def _own(self, group: GroupT) -> dict[KeyT, ValueT]:
        """Replace the group's dict by an own copy, and return it."""
        self._shared.discard(group)
        entries = self._groups[group] = self._groups[group].copy()
        return entries
