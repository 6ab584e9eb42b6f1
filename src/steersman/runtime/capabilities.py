"""Which extension points the registered plugins implement: what the configuration is expanded against."""

from __future__ import annotations

from steersman.config import IN_TREE_CAPABILITIES, Capabilities, ExtensionPoint
from steersman.runtime.registry import Registry


def capabilities_of(registry: Registry) -> Capabilities:
    """In-tree plugins as kube-scheduler has them, and whatever else is registered."""
    others = {
        name: frozenset(ExtensionPoint(point) for point in registry.points_of(name))
        for name in registry
        if name not in IN_TREE_CAPABILITIES
    }
    return {**IN_TREE_CAPABILITIES, **others}
