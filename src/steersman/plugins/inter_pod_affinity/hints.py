# SPDX-License-Identifier: Apache-2.0
"""When a pod that was rejected for its affinities, or for those of others, is worth another attempt.

Hints see one event at a time and not the cluster, so they are generous, except where the event clearly cannot help. The
terms are read as they stand: a namespace selector is asked about a namespace without labels.
"""

from __future__ import annotations

from collections.abc import Sequence

from steersman import api
from steersman.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource, QueueingHint
from steersman.framework.hints import changed, deleted
from steersman.framework.pod_info import AffinityTerm, required_affinity_terms, required_anti_affinity_terms
from steersman.plugins.inter_pod_affinity.terms import NO_LABELS


def registered_events() -> tuple[ClusterEventWithHint, ...]:
    pod_actions = ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE
    node_actions = ActionType.ADD | ActionType.UPDATE_NODE_LABEL
    return (
        ClusterEventWithHint(ClusterEvent(EventResource.POD, pod_actions), after_pod_change),
        ClusterEventWithHint(ClusterEvent(EventResource.NODE, node_actions), after_node_change),
    )


def after_pod_change(waiting: api.Pod, old: object, new: object) -> QueueingHint:
    """A pod came, changed its labels or went."""
    if new is None:
        return _answer(_deletion_helps(waiting, deleted(api.Pod, old)))
    before, after = changed(api.Pod, old, new)
    if before is None:
        return _answer(_has_node(after) and _matches_all(required_affinity_terms(waiting), after))
    return _answer(_update_helps(waiting, before, after))


def after_node_change(waiting: api.Pod, old: object, new: object) -> QueueingHint:
    """A node came or changed its labels."""
    before, after = changed(api.Node, old, new)
    if before is None:
        return _answer(_new_node_helps(waiting, after))
    return _answer(_relabelled_node_helps(waiting, before.metadata.labels, after.metadata.labels))


def _deletion_helps(waiting: api.Pod, gone: api.Pod) -> bool:
    """The pod that went kept the waiting one away, by the anti-affinity of either."""
    return _has_node(gone) and (
        _matches_all(required_anti_affinity_terms(waiting), gone)
        or _matches_all(required_anti_affinity_terms(gone), waiting)
    )


def _update_helps(waiting: api.Pod, before: api.Pod, after: api.Pod) -> bool:
    """The pod began to match the affinity of the waiting one, ceased to match its anti-affinity, or is that pod."""
    if waiting.metadata.uid == after.metadata.uid:
        return True
    if not (_has_node(before) and _has_node(after)):
        return False
    near, apart = required_affinity_terms(waiting), required_anti_affinity_terms(waiting)
    return (not _matches_all(near, before) and _matches_all(near, after)) or (
        _matches_all(apart, before) and not _matches_all(apart, after)
    )


def _new_node_helps(waiting: api.Pod, node: api.Node) -> bool:
    """A node without the label of an anti-affinity term can always take the pod, so every new node may help there."""
    if required_anti_affinity_terms(waiting):
        return True
    return any(term.topology_key in node.metadata.labels for term in required_affinity_terms(waiting))


def _relabelled_node_helps(waiting: api.Pod, before: dict[str, str], after: dict[str, str]) -> bool:
    """The node moved to another domain, entered one of an affinity term, or left one of an anti-affinity term."""
    near = [term.topology_key for term in required_affinity_terms(waiting)]
    apart = [term.topology_key for term in required_anti_affinity_terms(waiting)]
    return any(key in after and before.get(key) != after[key] for key in near) or any(
        key in before and after.get(key) != before[key] for key in apart
    )


def _has_node(pod: api.Pod) -> bool:
    """Only a pod that has a node, or is about to get one, matters to others."""
    return bool(pod.spec.node_name or pod.status.nominated_node_name)


def _matches_all(terms: Sequence[AffinityTerm], pod: api.Pod) -> bool:
    meta = pod.metadata
    return bool(terms) and all(term.selects(meta.namespace, meta.labels, NO_LABELS) for term in terms)


def _answer(helps: bool) -> QueueingHint:
    return QueueingHint.QUEUE if helps else QueueingHint.SKIP
