# SPDX-License-Identifier: Apache-2.0
"""Which extension points the registered plugins implement: what the configuration is expanded against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from steersman.config import IN_TREE_CAPABILITIES, Capabilities, ExtensionPoint
from steersman.runtime.registry import Registry


def capabilities_of(registry: Registry) -> Capabilities:
    """In-tree plugins as kube-scheduler has them, and whatever else is registered."""
    return _Capabilities(registry)


class _Capabilities(Mapping[str, frozenset[ExtensionPoint]]):
    """Looked up one by one: a plugin of an installed package is imported when the configuration names it."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def __getitem__(self, name: str) -> frozenset[ExtensionPoint]:
        if name in IN_TREE_CAPABILITIES:
            return IN_TREE_CAPABILITIES[name]
        if name not in self._registry:
            raise KeyError(name)
        return frozenset(ExtensionPoint(point) for point in self._registry.points_of(name))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in IN_TREE_CAPABILITIES or name in self._registry)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*IN_TREE_CAPABILITIES, *self._registry]))

    def __len__(self) -> int:
        return len(list(self))
