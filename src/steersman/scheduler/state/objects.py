# SPDX-License-Identifier: Apache-2.0
"""Cluster objects other than nodes and pods, from the informers: implements
`framework.handle.Objects`.

Written by `ingest`. Readers cache results by the version of a kind, and can list the keys changed
since.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeVar, cast

from steersman.api import Object, key
from steersman.base import ChangeLog
from steersman.base.graph_copy import copied_attributes, two_levels

K = TypeVar("K")

#: Minimum number of changes of a kind that a reader may lag behind.
HISTORY = 1 << 12


_NONE: ChangeLog[str] = ChangeLog()


@copied_attributes(_by_kind=two_levels, _by_namespace=two_levels)
class ObjectStore:
    """Implements `framework.handle.Objects`."""

    def __init__(self) -> None:
        self._by_kind: dict[type[object], dict[str, Object]] = {}
        self._by_namespace: dict[tuple[type[object], str], dict[str, Object]] = {}
        #: Keys of changed objects by kind; a version is a position.
        self._changes: dict[type[object], ChangeLog[str]] = {}
        self.changes = 0

    def put(self, obj: Object) -> Object | None:
        """Add or replace an object, and return the previous one."""
        kind, name = type(obj), key(obj)
        objects = self._by_kind.setdefault(kind, {})
        old = objects.get(name)
        objects[name] = obj
        self._by_namespace.setdefault((kind, obj.metadata.namespace), {})[name] = obj
        self._changed(kind, name)
        return old

    def remove(self, obj: Object) -> Object | None:
        """Remove an object, and return the previous one or None."""
        kind, name = type(obj), key(obj)
        old = self._by_kind.get(kind, {}).pop(name, None)
        if old is not None:
            neighbours = self._by_namespace[kind, old.metadata.namespace]
            del neighbours[name]
            if not neighbours:
                del self._by_namespace[kind, old.metadata.namespace]
            self._changed(kind, name)
        return old

    def get(self, kind: type[K], name: str) -> K | None:
        return cast("K | None", self._by_kind.get(kind, {}).get(name))

    def list(self, kind: type[K], namespace: str | None = None) -> Collection[K]:
        if namespace is None:
            return cast("Collection[K]", self._by_kind.get(kind, {}).values())
        return cast("Collection[K]", self._by_namespace.get((kind, namespace), {}).values())

    def version(self, kind: type[object]) -> int:
        return self._changes.get(kind, _NONE).end

    def changed_since(self, kind: type[object], version: int) -> Collection[str] | None:
        return self._changes.get(kind, _NONE).since(version)

    def _changed(self, kind: type[object], name: str) -> None:
        self.changes += 1
        changes = self._changes.get(kind)
        if changes is None:
            changes = self._changes[kind] = ChangeLog(2 * HISTORY)
        changes.append(name)
