"""Objects of the cluster other than nodes and pods, as last seen: what `framework.handle.Objects` shows to plugins.

Written by `ingest`; a version per kind lets readers keep what they computed until something changes.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeVar, cast

from steersman.api import Object, key

K = TypeVar("K")


class ObjectStore:
    """Implements `framework.handle.Objects`."""

    def __init__(self) -> None:
        self._by_kind: dict[type[object], dict[str, Object]] = {}
        self._by_namespace: dict[tuple[type[object], str], dict[str, Object]] = {}
        self._versions: dict[type[object], int] = {}

    def put(self, obj: Object) -> Object | None:
        """Adds or replaces; the object that was there before."""
        kind, name = type(obj), key(obj)
        objects = self._by_kind.setdefault(kind, {})
        old = objects.get(name)
        objects[name] = obj
        self._by_namespace.setdefault((kind, obj.metadata.namespace), {})[name] = obj
        self._versions[kind] = self._versions.get(kind, 0) + 1
        return old

    def remove(self, obj: Object) -> Object | None:
        """The object that was there, or None."""
        kind, name = type(obj), key(obj)
        old = self._by_kind.get(kind, {}).pop(name, None)
        if old is not None:
            del self._by_namespace[kind, old.metadata.namespace][name]
            self._versions[kind] += 1
        return old

    def get(self, kind: type[K], name: str) -> K | None:
        return cast("K | None", self._by_kind.get(kind, {}).get(name))

    def list(self, kind: type[K], namespace: str | None = None) -> Collection[K]:
        if namespace is None:
            return cast("Collection[K]", self._by_kind.get(kind, {}).values())
        return cast("Collection[K]", self._by_namespace.get((kind, namespace), {}).values())

    def version(self, kind: type[object]) -> int:
        return self._versions.get(kind, 0)
