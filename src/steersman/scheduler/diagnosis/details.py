# SPDX-License-Identifier: Apache-2.0
"""Details besides kube-scheduler's reasons: how much is missing, and which taint, label, port,
constraint, term or volume it is.

The reasons themselves are kube-scheduler's texts. Details come from the pod and the node, or, if
they depend on other nodes, from the counts of the plugin's PreFilter (`cluster_details`). Unknown
plugins have no details.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from steersman.api import NO_EXECUTE, NO_SCHEDULE, Taint, find_untolerated_taint
from steersman.framework import CycleState, NodeInfo, PodInfo, Status
from steersman.scheduler.diagnosis.cluster_details import ClusterDetails, term_text
from steersman.scheduler.diagnosis.explanation import Shortage, Verdict
from steersman.scheduler.plugins.node_ports import ports_conflict
from steersman.scheduler.plugins.node_resources.insufficient import REASON_TOO_MANY_PODS, insufficient_reason
from steersman.scheduler.runtime.profile import Profile

_INSUFFICIENT: Final = insufficient_reason("")
_REJECTING: Final = frozenset((NO_SCHEDULE, NO_EXECUTE))


class Details:
    """Adds details to the objections to one pod. `state` is the state of the cycle with the counts
    of PreFilter; None if PreFilter rejected the pod."""

    def __init__(self, pod: PodInfo, profile: Profile, state: CycleState | None) -> None:
        self._pod = pod
        self._cluster = ClusterDetails(pod, profile, state) if state is not None else None

    def verdict(self, status: Status, node: NodeInfo) -> Verdict:
        """Return a plugin's objection to a node."""
        shortages = tuple(_shortages(status, self._pod, node)) if status.plugin == "NodeResourcesFit" else ()
        return Verdict(status.plugin, status.code.label, status.reasons, shortages, self._detail(status, node))

    def _detail(self, status: Status, node: NodeInfo) -> str:
        if status.plugin in NODE_DETAILS:
            return NODE_DETAILS[status.plugin](self._pod, node)
        return self._cluster.details_of(status, node) if self._cluster is not None else ""


def rejection(status: Status) -> Verdict:
    """Return a plugin's objection to the pod as a whole."""
    return Verdict(status.plugin, status.code.label, status.reasons)


def _shortages(status: Status, pod: PodInfo, node: NodeInfo) -> Iterator[Shortage]:
    for reason in status.reasons:
        if reason == REASON_TOO_MANY_PODS:
            yield Shortage(reason, "pods", 1, node.allowed_pods - node.pod_count, node.allowed_pods)
        elif reason.startswith(_INSUFFICIENT):
            resource = reason.removeprefix(_INSUFFICIENT)
            offered = node.allocatable(resource)
            yield Shortage(reason, resource, pod.requests(resource), offered - node.requested(resource), offered)


def _taint(pod: PodInfo, node: NodeInfo) -> str:
    found = find_untolerated_taint(node.node.spec.taints, pod.spec.tolerations, _REJECTING)
    return "" if found is None else taint_text(found)


def taint_text(taint: Taint) -> str:
    """Return the taint as kubectl shows it."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def _affinity(pod: PodInfo, node: NodeInfo) -> str:
    for key, value in pod.spec.node_selector.items():
        if node.labels.get(key) != value:
            has = f"has {key}={node.labels[key]}" if key in node.labels else f"has no {key}"
            return f"wants {key}={value}, {has}"
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    return "" if required is None else f"wants {' or '.join(map(term_text, required.node_selector_terms))}"


def _ports(pod: PodInfo, node: NodeInfo) -> str:
    taken = [port for port in pod.shape.host_ports if ports_conflict([port], node.used_ports)]
    return ", ".join(f"{number}/{protocol} is taken" for _, protocol, number in taken)


NODE_DETAILS: Final = {"TaintToleration": _taint, "NodeAffinity": _affinity, "NodePorts": _ports}
