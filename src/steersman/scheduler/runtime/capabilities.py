# SPDX-License-Identifier: Apache-2.0
"""The extension points that registered plugins implement, for expanding the configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from steersman.config import DEFAULT_GATES, Capabilities, ExtensionPoint, FeatureGates, in_tree_capabilities
from steersman.scheduler.runtime.registry import Registry


def capabilities_of(registry: Registry, gates: FeatureGates = DEFAULT_GATES) -> Capabilities:
    """Return the points of the in-tree plugins of the emulated version, and of every other
    registered plugin."""
    return _Capabilities(registry, in_tree_capabilities(gates.version))


class _Capabilities(Mapping[str, frozenset[ExtensionPoint]]):
    """Lazy lookup by name: a plugin of an installed package is imported when the configuration
    names it."""

    def __init__(self, registry: Registry, in_tree: Capabilities) -> None:
        self._registry = registry
        self._in_tree = in_tree

    def __getitem__(self, name: str) -> frozenset[ExtensionPoint]:
        if name in self._in_tree:
            return self._in_tree[name]
        if name not in self._registry:
            raise KeyError(name)
        return self._registry.points_of(name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self._in_tree or name in self._registry)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._in_tree, *self._registry]))

    def __len__(self) -> int:
        return len(list(self))
