# SPDX-License-Identifier: Apache-2.0
"""One more node: a copy of the smallest sufficient node, else a node with exactly the needed
amounts.

A copy includes the objects that drivers publish about its model: the CSINode, and the
ResourceSlices of local devices.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, Final

import msgspec

from steersman import api
from steersman.api import codec
from steersman.explain.fixes.changes import Change, Document
from steersman.explain.fixes.container_changes import amount_text
from steersman.explain.fixes.fix import FixKind
from steersman.explain.fixes.node_changes import CORDONED, missing_labels
from steersman.explain.fixes.pod_changes import required_node_terms, untolerated
from steersman.framework import node_allocatable, pod_requests
from steersman.scheduler.plugins import required_features, volume_topologies
from steersman.simulation import Simulation

NEW_NODE: Final = "new-node"
_PODS: Final = "110"
_MAX_SHAPES: Final = 4
_AMPLE_FACTOR: Final = 1000
_AT_LEAST: Final = {"cpu": 10**6, "memory": 2**50, "ephemeral-storage": 2**50}

_replace = msgspec.structs.replace


def copied_nodes(simulation: Simulation, pod: api.Pod, count: int = 1) -> Iterator[Change]:
    """Yield `count` copies of each of the smallest existing nodes that are large enough for the
    pod, smallest first."""
    requests = pod_requests(pod)
    nodes = simulation.cluster.objects(api.Node)
    slices = _slices_by_node(simulation)
    models = (node for name, node in nodes.items() if name in slices or not pod.spec.resource_claims)
    fitting = [node for node in _shapes(map(_as_new, models)) if _is_large_enough(node, requests)]
    tolerated = [node for node in fitting if not untolerated(pod.spec, node)]
    names = list(islice(free_names(nodes), count))
    for node in sorted(tolerated, key=_size)[:_MAX_SHAPES]:
        model = node.metadata.name
        text = f"a copy of {model}: {_text(node)}" if count == 1 else f"copies of {model}: {_text(node)}"
        copies: list[Document] = []
        for name in names:
            copies += codec.to_dict(_renamed(node, name)), *_published(simulation, slices.get(model, ()), model, name)
        yield _created(text, *copies, count=count)


def exact_node(
    simulation: Simulation,
    pod: api.Pod,
    amounts: Mapping[str, int],
    own: Mapping[str, int] | None = None,
    others: int = 0,
) -> Change:
    """Return a node with exactly these amounts, and everything else that the pod requires. `own` is
    the pod's share if `others` are placed first."""
    name = free_name(simulation.cluster.objects(api.Node))
    texts: dict[str, Any] = {**_amount_texts(amounts), "pods": _PODS}
    features = tuple(sorted(required_features(pod.spec)))
    status = api.NodeStatus(capacity=texts, allocatable=texts, declared_features=features)
    node = api.Node(metadata=api.ObjectMeta(name=name, labels=_wanted_labels(simulation, pod, name)), status=status)
    labels = ", ".join(f"{key}={value}" for key, value in node.metadata.labels.items() if key != api.HOSTNAME_LABEL)
    needed = ", ".join(f"{amount} {resource}" for resource, amount in _amount_texts(own or {}).items())
    rest = f"{needed} of it for this pod, the rest for {others} that come first" if needed else ""
    text = ", ".join(filter(None, (_text(node), rest, labels and f"labelled {labels}")))
    return _created(text, codec.to_dict(node))


def _amount_texts(amounts: Mapping[str, int]) -> dict[str, str]:
    return {resource: amount_text(resource, number) for resource, number in amounts.items() if number}


def large_node(simulation: Simulation, pod: api.Pod) -> Change:
    """Return a node with plenty of everything, to find out which pods would go there."""
    plenty = {resource: number * _AMPLE_FACTOR for resource, number in pod_requests(pod).items()}
    return exact_node(
        simulation, pod, {name: max(plenty.get(name, 0), _AT_LEAST.get(name, 0)) for name in (*_AT_LEAST, *plenty)}
    )


def free_name(taken: Mapping[str, object]) -> str:
    """Return an unused node name."""
    return next(free_names(taken))


def free_names(taken: Mapping[str, object]) -> Iterator[str]:
    """Yield unused node names."""
    names = chain((NEW_NODE,), (f"{NEW_NODE}-{number}" for number in itertools.count()))
    return (name for name in names if name not in taken)


def _created(what: str, *documents: Document, count: int = 1) -> Change:
    """Return the change that adds nodes; `what` describes them, and is empty for a pod without
    requests."""
    summary = "add a node" if count == 1 else f"add {count} nodes"
    return Change(FixKind.ADD_NODE, f"{summary} ({what})" if what else summary, create=documents)


# -- copies ------------------------------------------------------------------------------------------------------------


def _as_new(node: api.Node) -> api.Node:
    """Return the node as newly registered: not cordoned, without taints and conditions set by
    controllers."""
    status = api.NodeStatus(
        capacity=node.status.capacity,
        allocatable=node.status.allocatable,
        declared_features=node.status.declared_features,
    )
    taints = tuple(taint for taint in node.spec.taints if taint.key != CORDONED)
    metadata = api.ObjectMeta(name=node.metadata.name, labels=node.metadata.labels)
    return api.Node(metadata=metadata, spec=api.NodeSpec(taints=taints), status=status)


def _shapes(nodes: Iterable[api.Node]) -> Iterator[api.Node]:
    """Return one node per combination of amounts, labels and taints."""
    seen: set[tuple[object, ...]] = set()
    for node in nodes:
        labels = frozenset(item for item in node.metadata.labels.items() if item[0] != api.HOSTNAME_LABEL)
        key = (tuple(node.status.allocatable.items()), labels, node.spec.taints, node.status.declared_features)
        if key not in seen:
            seen.add(key)
            yield node


def _is_large_enough(node: api.Node, requests: Mapping[str, int]) -> bool:
    offered = node_allocatable(node)
    return all(offered.get(resource, 0) >= number for resource, number in requests.items())


def _size(node: api.Node) -> tuple[int, int]:
    offered = node_allocatable(node)
    return offered.get("cpu", 0), offered.get("memory", 0)


def _renamed(node: api.Node, name: str) -> api.Node:
    labels = {
        **node.metadata.labels,
        **({api.HOSTNAME_LABEL: name} if api.HOSTNAME_LABEL in node.metadata.labels else {}),
    }
    return _replace(node, metadata=api.ObjectMeta(name=name, labels=labels))


def _slices_by_node(simulation: Simulation) -> dict[str, list[api.ResourceSlice]]:
    found: dict[str, list[api.ResourceSlice]] = {}
    for published in simulation.cluster.objects(api.ResourceSlice).values():
        if published.spec.node_name:
            found.setdefault(published.spec.node_name, []).append(published)
    return found


def _published(
    simulation: Simulation, slices: Iterable[api.ResourceSlice], model: str, name: str
) -> Iterator[Document]:
    """Return the objects that drivers publish about the model, for the new node."""
    known = simulation.cluster.find(api.CSINode, model)
    if known is not None:
        yield codec.to_dict(_replace(known, metadata=api.ObjectMeta(name=name)))
    for number, published in enumerate(slices):
        pool = _replace(published.spec.pool, name=name)
        spec = _replace(published.spec, pool=pool, node_name=name)
        metadata = api.ObjectMeta(name=f"{name}-{published.spec.driver}-{number}")
        yield codec.to_dict(_replace(published, metadata=metadata, spec=spec))


# -- made to measure ---------------------------------------------------------------------------------------------------


def _wanted_labels(simulation: Simulation, pod: api.Pod, name: str) -> dict[str, str]:
    """Return the labels that the pod's selector, affinity and volumes require, and new domains of
    its spread constraints."""
    labels = {api.HOSTNAME_LABEL: name, **pod.spec.node_selector}
    terms = [required_node_terms(pod.spec)[:1], *(_volume_terms(volume) for volume in _volumes(simulation, pod))]
    for term in (each for found in terms for each in found):
        bare = api.Node(metadata=api.ObjectMeta(name=name, labels=labels))
        labels = {**labels, **(missing_labels(term, bare) or {})}
    for volume in _volumes(simulation, pod):
        labels |= {topology.key: min(topology.values) for topology in volume_topologies(volume)}
    for constraint in pod.spec.topology_spread_constraints:
        labels.setdefault(constraint.topology_key, name)
    return labels


def _volume_terms(volume: api.PersistentVolume) -> tuple[api.NodeSelectorTerm, ...]:
    required = volume.spec.node_affinity.required if volume.spec.node_affinity is not None else None
    return () if required is None else required.node_selector_terms[:1]


def _volumes(simulation: Simulation, pod: api.Pod) -> Iterator[api.PersistentVolume]:
    """Yield the volumes of the pod's claims."""
    for source in (volume.persistent_volume_claim for volume in pod.spec.volumes):
        key = f"{pod.metadata.namespace}/{source.claim_name}" if source is not None else ""
        claim = simulation.cluster.find(api.PersistentVolumeClaim, key)
        volume = None if claim is None else simulation.cluster.find(api.PersistentVolume, claim.spec.volume_name)
        if volume is not None:
            yield volume


def _text(node: api.Node) -> str:
    amounts = [f"{amount} {resource}" for resource, amount in node.status.allocatable.items() if resource != "pods"]
    return ", ".join(amounts)
