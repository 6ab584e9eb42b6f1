# SPDX-License-Identifier: Apache-2.0
"""Changes of nodes that answer an objection: uncordon, remove taints, add labels.

As in `pod_changes`, an alternative is a tuple of changes that belong together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from steersman import api
from steersman.explain.fixes.changes import Change, Document, set_or_remove
from steersman.explain.fixes.commands import kubectl
from steersman.explain.fixes.fix import FixKind, object_name
from steersman.explain.fixes.pod_changes import Alternative, meets, required_node_terms, untolerated
from steersman.scheduler.diagnosis import taint_text

CORDONED: Final = "node.kubernetes.io/unschedulable"
_MANAGED: Final = "node.kubernetes.io/"
"""Prefix of taints that controllers would set again."""


def uncordon(node: api.Node) -> Change:
    """Uncordon the node, with its taint, which the node controller removes in a cluster."""

    def edit(document: Document) -> None:
        spec = document.get("spec") or {}
        spec.pop("unschedulable", None)
        _drop_taints(spec, lambda taint: taint.get("key") == CORDONED)

    name = node.metadata.name
    return Change(FixKind.UNCORDON, f"uncordon node {name}", object_name(node), edit, command=kubectl("uncordon", name))


def remove_taints(spec: api.PodSpec, node: api.Node) -> Iterator[Alternative]:
    """Yield the removal of all untolerated taints, unless a controller would set them again."""
    taints = untolerated(spec, node)
    if taints and not any(taint.key.startswith(_MANAGED) for taint in taints):
        yield tuple(_removed_taint(node, taint) for taint in taints)


def _removed_taint(node: api.Node, taint: api.Taint) -> Change:
    def edit(document: Document) -> None:
        wanted = (taint.key, taint.effect)
        _drop_taints(document["spec"], lambda each: (each.get("key"), each.get("effect")) == wanted)

    name, text = node.metadata.name, taint_text(taint)
    command = kubectl("taint", "nodes", name, f"{text}-")
    return Change(
        FixKind.NODE_TAINT, f"remove the taint {text} from node {name}", object_name(node), edit, command=command
    )


def add_labels(spec: api.PodSpec, node: api.Node) -> Iterator[Alternative]:
    """Yield the missing labels for the pod's selector and for one term of its node affinity."""
    missing = {key: value for key, value in spec.node_selector.items() if node.metadata.labels.get(key) != value}
    terms = required_node_terms(spec)
    if not terms or any(meets(term, node) for term in terms):
        if missing and api.HOSTNAME_LABEL not in missing:
            yield tuple(_labelled(node, key, value) for key, value in missing.items())
        return
    for term in terms:
        wanted = missing_labels(term, node)
        if wanted is not None and api.HOSTNAME_LABEL not in (*missing, *wanted):
            yield tuple(_labelled(node, key, value) for key, value in {**wanted, **missing}.items())


def missing_labels(term: api.NodeSelectorTerm, node: api.Node) -> dict[str, str] | None:
    """Return the labels that the node lacks for the term; None if labels are not enough."""
    if term.match_fields:
        return None
    wanted: dict[str, str] = {}
    for each in term.match_expressions:
        if meets(api.NodeSelectorTerm(match_expressions=(each,)), node):
            continue
        value = _matching_value(each)
        if value is None:
            return None
        wanted[each.key] = value
    return wanted


def _matching_value(expression: api.NodeSelectorRequirement) -> str | None:
    """Return a value that meets the expression; None if only the absence of the label does."""
    first = expression.values[0] if expression.values else ""
    match expression.operator:
        case "In":
            return first
        case "Exists":
            return "true"
        case "Gt" | "Lt" if first.isdigit():
            return str(int(first) + (1 if expression.operator == "Gt" else -1))
        case _:
            return None


def _labelled(node: api.Node, key: str, value: str) -> Change:
    def edit(document: Document) -> None:
        metadata = document.setdefault("metadata", {})
        metadata["labels"] = {**(metadata.get("labels") or {}), key: value}

    name, overwrites = node.metadata.name, key in node.metadata.labels
    had = f", which is {node.metadata.labels[key]} now" if overwrites else ""
    options = ["--overwrite"] if overwrites else []
    command = kubectl("label", "node", name, f"{key}={value}", options=options)
    return Change(
        FixKind.NODE_LABEL, f"label node {name} with {key}={value}{had}", object_name(node), edit, command=command
    )


def _drop_taints(spec: Document, is_dropped: Callable[[Document], bool]) -> None:
    set_or_remove(spec, "taints", [taint for taint in spec.get("taints") or () if not is_dropped(taint)])
