# SPDX-License-Identifier: Apache-2.0
"""Entries in groups, such as the pods of each owner: a fork shares a group with its origin until one of them changes it.

A copy costs what one reference per group costs, however large the groups are, and the first change of a group what the copying
of that group costs.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

from steersman.graph_copy import GraphCopy, copied_attributes, copied_by, shallow

GroupT = TypeVar("GroupT", bound=Hashable)
KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")

_NO_GROUP: Final[Mapping[Any, Any]] = MappingProxyType({})


def _copied(copies: GraphCopy, original: GroupedDict[Any, Any, Any]) -> GroupedDict[Any, Any, Any]:
    """Has the same groups: from now on neither may change those that there are."""
    original._shared = set(original._groups)
    made: GroupedDict[Any, Any, Any] = copies.note(original, GroupedDict())
    made._groups, made._shared = original._groups.copy(), original._shared.copy()
    return made


@copied_by(_copied)
@copied_attributes(_groups=shallow)
class GroupedDict(Generic[GroupT, KeyT, ValueT]):
    """Dicts by what stands for a group, each in the order in which its keys came. Copies share keys and values."""

    __slots__ = ("_groups", "_shared")

    def __init__(self) -> None:
        #: None of them is empty.
        self._groups: dict[GroupT, dict[KeyT, ValueT]] = {}
        #: Groups whose dict a fork has too: it is replaced before it changes.
        self._shared: set[GroupT] = set()

    def of(self, group: GroupT) -> Mapping[KeyT, ValueT]:
        """The entries of a group, to be read at once: later changes may be in it, or not."""
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
        """Removes the entry, if there is one, and the group with its last entry."""
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
        """The group's dict, which nobody else has."""
        self._shared.discard(group)
        entries = self._groups[group] = self._groups[group].copy()
        return entries
