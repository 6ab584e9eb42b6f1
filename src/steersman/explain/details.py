# SPDX-License-Identifier: Apache-2.0
"""What kube-scheduler's reasons leave out: how much is missing, which taint, which label, which port.

The reasons themselves stay as they are, word for word. Made from pod and node when an explanation is made; plugins that are not
known here have nothing to add.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from steersman.api import NodeSelectorTerm, Taint
from steersman.api.tolerations import NO_EXECUTE, NO_SCHEDULE, find_untolerated_taint
from steersman.explain.explanation import Shortage, Verdict
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status
from steersman.plugins.node_ports import ports_conflict
from steersman.plugins.node_resources.insufficient import REASON_TOO_MANY_PODS, insufficient_reason

_INSUFFICIENT: Final = insufficient_reason("")
_REJECTING: Final = frozenset((NO_SCHEDULE, NO_EXECUTE))


def verdict(status: Status, pod: PodInfo | None = None, node: NodeInfo | None = None) -> Verdict:
    """A plugin's objection, with what can be said of it for this pod and node."""
    if pod is None or node is None:
        return Verdict(status.plugin, status.code.label, status.reasons)
    detail = _DETAILS[status.plugin](pod, node) if status.plugin in _DETAILS else ""
    shortages = tuple(_shortages(status, pod, node)) if status.plugin == "NodeResourcesFit" else ()
    return Verdict(status.plugin, status.code.label, status.reasons, shortages, detail)


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
    """As kubectl shows it."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def _affinity(pod: PodInfo, node: NodeInfo) -> str:
    for key, value in pod.spec.node_selector.items():
        if node.labels.get(key) != value:
            has = f"has {key}={node.labels[key]}" if key in node.labels else f"has no {key}"
            return f"wants {key}={value}, {has}"
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    return "" if required is None else f"wants {' or '.join(map(_term_text, required.node_selector_terms))}"


def _term_text(term: NodeSelectorTerm) -> str:
    parts = (*term.match_expressions, *term.match_fields)
    return " and ".join(
        f"{part.key} {part.operator} {', '.join(part.values)}" if part.values else f"{part.key} {part.operator}"
        for part in parts
    )


def _ports(pod: PodInfo, node: NodeInfo) -> str:
    taken = [port for port in pod.shape.host_ports if ports_conflict([port], node.used_ports)]
    return ", ".join(f"{number}/{protocol} is taken" for _, protocol, number in taken)


_DETAILS: Final = {"TaintToleration": _taint, "NodeAffinity": _affinity, "NodePorts": _ports}
