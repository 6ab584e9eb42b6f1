# SPDX-License-Identifier: Apache-2.0
"""Details beside kube-scheduler's reasons: how much is missing, which taint, label or port; which constraint, term or volume.

The reasons themselves stay as they are, word for word. Made when an explanation is made, from pod and node; for what depends on
other nodes, from what the plugin's PreFilter has counted (`cluster_details`). Plugins that are not known here have nothing to
add.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from steersman.api import Taint
from steersman.api.tolerations import NO_EXECUTE, NO_SCHEDULE, find_untolerated_taint
from steersman.explain.cluster_details import ClusterDetails, term_text
from steersman.explain.explanation import Shortage, Verdict
from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status
from steersman.plugins.node_ports import ports_conflict
from steersman.plugins.node_resources.insufficient import REASON_TOO_MANY_PODS, insufficient_reason
from steersman.runtime.profile import Profile

_INSUFFICIENT: Final = insufficient_reason("")
_REJECTING: Final = frozenset((NO_SCHEDULE, NO_EXECUTE))


class Details:
    """Says more about the objections to one pod. `state` is the cycle's, with what PreFilter counted; None: it did not come to
    that."""

    def __init__(self, pod: PodInfo, profile: Profile, state: CycleState | None) -> None:
        self._pod = pod
        self._cluster = ClusterDetails(pod, profile, state) if state is not None else None

    def verdict(self, status: Status, node: NodeInfo) -> Verdict:
        """A plugin's objection to a node."""
        shortages = tuple(_shortages(status, self._pod, node)) if status.plugin == "NodeResourcesFit" else ()
        return Verdict(status.plugin, status.code.label, status.reasons, shortages, self._detail(status, node))

    def _detail(self, status: Status, node: NodeInfo) -> str:
        if status.plugin in _DETAILS:
            return _DETAILS[status.plugin](self._pod, node)
        return self._cluster.of(status, node) if self._cluster is not None else ""


def rejection(status: Status) -> Verdict:
    """A plugin's objection to the pod as a whole."""
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
    return "" if found is None else _taint_text(found)


def _taint_text(taint: Taint) -> str:
    """The taint as kubectl shows it."""
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


_DETAILS: Final = {"TaintToleration": _taint, "NodeAffinity": _affinity, "NodePorts": _ports}
