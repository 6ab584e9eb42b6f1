# SPDX-License-Identifier: Apache-2.0
"""Changes of nodes that answer an objection: uncordon, remove taints, add labels; and one more node.

As in `pod_changes`, an alternative is a tuple of changes that belong together.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from steersman import api
from steersman.api import codec
from steersman.fixes.changes import Change, Document
from steersman.fixes.fix import FixKind, ObjectName
from steersman.fixes.pod_changes import Alternative, meets, required_node_terms, taint_text, untolerated
from steersman.fixes.requests import amount_text
from steersman.framework.pod_resources import node_allocatable, pod_requests

HOSTNAME: Final = "kubernetes.io/hostname"
CORDONED: Final = "node.kubernetes.io/unschedulable"
NEW_NODE: Final = "new-node"
_MANAGED: Final = "node.kubernetes.io/"
"""Taints that controllers set and would set again."""
_PODS: Final = "110"
_MOST_SHAPES: Final = 4


def uncordon(node: api.Node) -> Change:
    """The node takes pods again; the taint goes with the field, as the node's controller sees to it in a cluster."""

    def edit(document: Document) -> None:
        spec = document.get("spec") or {}
        spec.pop("unschedulable", None)
        _drop_taints(spec, lambda taint: taint.get("key") == CORDONED)

    name = node.metadata.name
    return Change(
        FixKind.UNCORDON, f"uncordon node {name}", _name(node), edit, command=f"kubectl uncordon {shlex.quote(name)}"
    )


def remove_taints(spec: api.PodSpec, node: api.Node) -> Iterator[Alternative]:
    """All taints of the node that the pod does not tolerate, unless a controller would set them again."""
    taints = untolerated(spec, node)
    if taints and not any(taint.key.startswith(_MANAGED) for taint in taints):
        yield tuple(_removed_taint(node, taint) for taint in taints)


def _removed_taint(node: api.Node, taint: api.Taint) -> Change:
    def edit(document: Document) -> None:
        wanted = (taint.key, taint.effect)
        _drop_taints(document["spec"], lambda each: (each.get("key"), each.get("effect")) == wanted)

    name, text = node.metadata.name, taint_text(taint)
    command = f"kubectl taint nodes {shlex.quote(name)} {shlex.quote(f'{text}-')}"
    return Change(FixKind.NODE_TAINT, f"remove the taint {text} from node {name}", _name(node), edit, command=command)


def add_labels(spec: api.PodSpec, node: api.Node) -> Iterator[Alternative]:
    """The labels that the node lacks for the pod's selector and for one term of its node affinity."""
    missing = {key: value for key, value in spec.node_selector.items() if node.metadata.labels.get(key) != value}
    terms = required_node_terms(spec)
    if not terms or any(meets(term, node) for term in terms):
        if missing and HOSTNAME not in missing:
            yield tuple(_labelled(node, key, value) for key, value in missing.items())
        return
    for term in terms:
        wanted = _wanted_labels(term, node)
        if wanted is not None and HOSTNAME not in (*missing, *wanted):
            yield tuple(_labelled(node, key, value) for key, value in {**wanted, **missing}.items())


def _wanted_labels(term: api.NodeSelectorTerm, node: api.Node) -> dict[str, str] | None:
    """The labels that the term still wants of the node; None: labels alone do not do it."""
    if term.match_fields:
        return None
    wanted: dict[str, str] = {}
    for each in term.match_expressions:
        if meets(api.NodeSelectorTerm(match_expressions=(each,)), node):
            continue
        if each.operator not in ("In", "Exists"):
            return None
        wanted[each.key] = each.values[0] if each.values else "true"
    return wanted


def _labelled(node: api.Node, key: str, value: str) -> Change:
    def edit(document: Document) -> None:
        metadata = document.setdefault("metadata", {})
        metadata["labels"] = {**(metadata.get("labels") or {}), key: value}

    name, overwrites = node.metadata.name, key in node.metadata.labels
    had = f", which is {node.metadata.labels[key]} now" if overwrites else ""
    option = " --overwrite" if overwrites else ""
    command = f"kubectl label node {shlex.quote(name)} {shlex.quote(f'{key}={value}')}{option}"
    return Change(FixKind.NODE_LABEL, f"label node {name} with {key}={value}{had}", _name(node), edit, command=command)


# -- one more node -----------------------------------------------------------------------------------------------------


def add_node(pod: api.Pod, nodes: Iterable[api.Node]) -> Iterator[Change]:
    """One more node: copies of the smallest shapes there are that are large enough, then one made to measure."""
    nodes = list(nodes)
    asked = pod_requests(pod)
    names = {node.metadata.name for node in nodes}
    fitting = [node for node in _shapes(nodes) if _is_large_enough(node, asked) and not untolerated(pod.spec, node)]
    for node in sorted(fitting, key=_size)[:_MOST_SHAPES]:
        yield _created(_copied(node, _free_name(names)), f"a copy of {node.metadata.name}: {_text(node)}")
    made = _made_to_measure(pod, asked, _free_name(names))
    yield _created(made, _text(made))


def _created(node: api.Node, what: str) -> Change:
    return Change(FixKind.ADD_NODE, f"add a node ({what})", create=codec.to_dict(node))


def _shapes(nodes: Iterable[api.Node]) -> Iterator[api.Node]:
    """One node of every kind: same amounts, labels and taints."""
    seen: set[str] = set()
    for node in nodes:
        labels = {key: value for key, value in node.metadata.labels.items() if key != HOSTNAME}
        key = repr((node.status.allocatable, labels, node.spec.taints))
        if key not in seen:
            seen.add(key)
            yield node


def _is_large_enough(node: api.Node, asked: dict[str, int]) -> bool:
    offered = node_allocatable(node)
    return all(offered.get(resource, 0) >= number for resource, number in asked.items())


def _size(node: api.Node) -> tuple[int, int]:
    offered = node_allocatable(node)
    return offered.get("cpu", 0), offered.get("memory", 0)


def _copied(node: api.Node, name: str) -> api.Node:
    labels = {**node.metadata.labels, **({HOSTNAME: name} if HOSTNAME in node.metadata.labels else {})}
    status = api.NodeStatus(capacity=node.status.capacity, allocatable=node.status.allocatable)
    taints = tuple(taint for taint in node.spec.taints if taint.key != CORDONED)
    return api.Node(metadata=api.ObjectMeta(name=name, labels=labels), spec=api.NodeSpec(taints=taints), status=status)


def _made_to_measure(pod: api.Pod, asked: dict[str, int], name: str) -> api.Node:
    labels = {HOSTNAME: name, **pod.spec.node_selector}
    bare = api.Node(metadata=api.ObjectMeta(name=name, labels=labels))
    for term in required_node_terms(pod.spec)[:1]:
        labels = {**labels, **(_wanted_labels(term, bare) or {})}
    amounts: dict[str, Any] = {resource: amount_text(resource, number) for resource, number in asked.items() if number}
    amounts["pods"] = _PODS
    status = api.NodeStatus(capacity=amounts, allocatable=amounts)
    return msgspec.structs.replace(bare, metadata=api.ObjectMeta(name=name, labels=labels), status=status)


def _text(node: api.Node) -> str:
    amounts = [f"{amount} {resource}" for resource, amount in node.status.allocatable.items() if resource != "pods"]
    return ", ".join(amounts)


def _free_name(taken: set[str]) -> str:
    return next(name for name in (NEW_NODE, *(f"{NEW_NODE}-{n}" for n in range(len(taken)))) if name not in taken)


def _drop_taints(spec: Document, is_dropped: Any) -> None:
    taints = spec.get("taints") or []
    left = [taint for taint in taints if not is_dropped(taint)]
    if left:
        spec["taints"] = left
    else:
        spec.pop("taints", None)


def _name(node: api.Node) -> ObjectName:
    return ObjectName("Node", "", node.metadata.name)
