# SPDX-License-Identifier: Apache-2.0
"""Queueing hints of PodTopologySpread: requeue a pod when matching pods or domains changed."""

from __future__ import annotations

from collections.abc import Sequence

from steersman.api import Node, Pod
from steersman.framework import QueueingHint, changed, deleted, queue_if
from steersman.scheduler.plugins.pod_topology_spread.constraints import (
    DO_NOT_SCHEDULE,
    HONOR,
    ConstraintSource,
    SpreadConstraint,
    has_all_keys,
)


class SpreadHints:
    """The hint functions of the plugin. Constraints are looked up only for relevant events."""

    def __init__(self, source: ConstraintSource) -> None:
        self._source = source

    def after_pod_event(self, waiting: Pod, old: object, new: object) -> QueueingHint:
        """Queue if a pod that was added, deleted, relabelled or tolerates other taints may help."""
        if new is None:
            return self._after_pod_came_or_went(waiting, deleted(Pod, old))
        before, after = changed(Pod, old, new)
        if before is None:
            return self._after_pod_came_or_went(waiting, after)
        return self._after_pod_update(waiting, before, after)

    def after_node_event(self, waiting: Pod, old: object, new: object) -> QueueingHint:
        """Queue if a node that was added, deleted, relabelled or has other taints may help."""
        constraints = self._source.constraints(waiting, DO_NOT_SCHEDULE)
        if new is None:
            return queue_if(_has_domains(constraints, deleted(Node, old)))
        before, after = changed(Node, old, new)
        had_domains = before is not None and _has_domains(constraints, before)
        if had_domains != _has_domains(constraints, after):
            return QueueingHint.QUEUE
        return queue_if(before is not None and had_domains and _moved_or_tainted(constraints, before, after))

    def _after_pod_came_or_went(self, waiting: Pod, other: Pod) -> QueueingHint:
        if not _is_involved(other, waiting):
            return QueueingHint.SKIP
        constraints = self._source.constraints(waiting, DO_NOT_SCHEDULE)
        return queue_if(any(_matches(constraint, other) for constraint in constraints))

    def _after_pod_update(self, waiting: Pod, before: Pod, after: Pod) -> QueueingHint:
        if not _is_involved(after, waiting) or not _is_involved(before, waiting):
            return QueueingHint.SKIP
        constraints = self._source.constraints(waiting, DO_NOT_SCHEDULE)
        if after.metadata.uid == waiting.metadata.uid and _tolerations_matter(constraints, before, after):
            return QueueingHint.QUEUE
        return queue_if(any(_matches(c, before) != _matches(c, after) for c in constraints))


def _is_involved(other: Pod, waiting: Pod) -> bool:
    """Return whether it is the waiting pod, or one of its namespace that is bound or nominated."""
    if other.metadata.uid == waiting.metadata.uid:
        return True
    has_node = bool(other.spec.node_name or other.status.nominated_node_name)
    return has_node and other.metadata.namespace == waiting.metadata.namespace


def _tolerations_matter(constraints: Sequence[SpreadConstraint], before: Pod, after: Pod) -> bool:
    if before.spec.tolerations == after.spec.tolerations:
        return False
    return any(constraint.node_taints_policy == HONOR for constraint in constraints)


def _matches(constraint: SpreadConstraint, pod: Pod) -> bool:
    return constraint.selector.matches(pod.metadata.labels)


def _has_domains(constraints: Sequence[SpreadConstraint], node: Node) -> bool:
    return has_all_keys(node.metadata.labels, constraints)


def _moved_or_tainted(constraints: Sequence[SpreadConstraint], before: Node, after: Node) -> bool:
    """Return whether a node with all topology labels changed one of them, or its taints."""
    keys = [constraint.topology_key for constraint in constraints]
    return (
        any(before.metadata.labels[key] != after.metadata.labels[key] for key in keys)
        or before.spec.taints != after.spec.taints
    )
