# SPDX-License-Identifier: Apache-2.0
"""Queueing hints of InterPodAffinity: when a pod rejected by affinity terms is requeued.

Hints see single events and not the cluster, so they requeue unless the event clearly cannot help.
Terms are unresolved: namespace selectors are matched with an empty set of labels.
"""

from __future__ import annotations

from collections.abc import Sequence

from steersman import api
from steersman.framework import (
    ActionType,
    AffinityTerm,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
    changed,
    deleted,
    queue_if,
    required_affinity_terms,
    required_anti_affinity_terms,
)
from steersman.scheduler.plugins.inter_pod_affinity.terms import NO_LABELS


def registered_events() -> tuple[ClusterEventWithHint, ...]:
    pod_actions = ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE
    node_actions = ActionType.ADD | ActionType.UPDATE_NODE_LABEL
    return (
        ClusterEventWithHint(ClusterEvent(EventResource.POD, pod_actions), after_pod_change),
        ClusterEventWithHint(ClusterEvent(EventResource.NODE, node_actions), after_node_change),
    )


def after_pod_change(waiting: api.Pod, old: object, new: object) -> QueueingHint:
    """Queue if a pod that was added, deleted or relabelled may help."""
    if new is None:
        return queue_if(_deletion_helps(waiting, deleted(api.Pod, old)))
    before, after = changed(api.Pod, old, new)
    if before is None:
        return queue_if(_has_node(after) and _matches_all(required_affinity_terms(waiting), after))
    return queue_if(_update_helps(waiting, before, after))


def after_node_change(waiting: api.Pod, old: object, new: object) -> QueueingHint:
    """Queue if a node that was added or relabelled may help."""
    before, after = changed(api.Node, old, new)
    if before is None:
        return queue_if(_new_node_helps(waiting, after))
    return queue_if(_relabelled_node_helps(waiting, before.metadata.labels, after.metadata.labels))


def _deletion_helps(waiting: api.Pod, gone: api.Pod) -> bool:
    """Return whether the deleted pod conflicted with the waiting one by anti-affinity of either."""
    return _has_node(gone) and (
        _matches_all(required_anti_affinity_terms(waiting), gone)
        or _matches_all(required_anti_affinity_terms(gone), waiting)
    )


def _update_helps(waiting: api.Pod, before: api.Pod, after: api.Pod) -> bool:
    """Return whether it is the waiting pod, newly matches affinity or no more anti-affinity."""
    if waiting.metadata.uid == after.metadata.uid:
        return True
    if not (_has_node(before) and _has_node(after)):
        return False
    near, apart = required_affinity_terms(waiting), required_anti_affinity_terms(waiting)
    return (not _matches_all(near, before) and _matches_all(near, after)) or (
        _matches_all(apart, before) and not _matches_all(apart, after)
    )


def _new_node_helps(waiting: api.Pod, node: api.Node) -> bool:
    """Return whether a new node may help. Nodes without the label satisfy anti-affinity."""
    if required_anti_affinity_terms(waiting):
        return True
    return any(term.topology_key in node.metadata.labels for term in required_affinity_terms(waiting))


def _relabelled_node_helps(waiting: api.Pod, before: dict[str, str], after: dict[str, str]) -> bool:
    """Return whether the node entered a domain of affinity or left one of anti-affinity."""
    near = [term.topology_key for term in required_affinity_terms(waiting)]
    apart = [term.topology_key for term in required_anti_affinity_terms(waiting)]
    return any(key in after and before.get(key) != after[key] for key in near) or any(
        key in before and after.get(key) != before[key] for key in apart
    )


def _has_node(pod: api.Pod) -> bool:
    """Return whether the pod has a node or is nominated to one; otherwise it does not affect other
    pods."""
    return bool(pod.spec.node_name or pod.status.nominated_node_name)


def _matches_all(terms: Sequence[AffinityTerm], pod: api.Pod) -> bool:
    meta = pod.metadata
    return bool(terms) and all(term.selects(meta.namespace, meta.labels, NO_LABELS) for term in terms)
