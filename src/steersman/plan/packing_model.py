# SPDX-License-Identifier: Apache-2.0
"""Model of a simulation as a packing problem (`packing`): pod classes, amounts, allowed nodes.

Every constraint is enforced by the scheduler's filters too, so that no valid placement is excluded:

* resources and pod count (NodeResourcesFit), with daemon pods charged to every new node;
* labels, taints, names (NodeAffinity, TaintToleration, NodeUnschedulable, NodeName), by filters;
* host ports (NodePorts), and pods with anti-affinity to their like by hostname (InterPodAffinity).

Spreading, other affinities, volumes, devices and foreign plugins are ignored: they only add cost.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cache
from typing import Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from steersman import api
from steersman.framework import NodeInfo, PodInfo, PodTemplate
from steersman.plan.packing import FixedRoom, NodeKind, Packing, PodClass, PoolRange, SpotLimit
from steersman.scheduler.plugins import InterPodAffinity, NodePorts, NodeResourcesFit, TaintToleration
from steersman.scheduler.state import PlainNodeInfo
from steersman.simulation import NodePool, NodePools, NodeProbe, filters_by, pool_of, price_of

PASSING_TAINTS: Final = "node.kubernetes.io/"
"""Prefix of taints that controllers add and remove during a simulation."""

_UNLIMITED: Final = 1_000_000
"""The number of pods that fit if no dimension limits them."""
IntArray: TypeAlias = npt.NDArray[np.int64]
Dimension = Hashable
"""A resource, or an item of which a node can have one: a host port, an anti-affinity term."""
TemplateKey = tuple[PodTemplate, str, str]
"""Template, namespace, and the node to which a pod is pinned, or ""."""


class PackingModel(msgspec.Struct, frozen=True):
    """The packing, the class of each pod template, and templates that fit nowhere even alone."""

    packing: Packing
    probe: NodeProbe
    classes: dict[TemplateKey, int]
    #: Template whose pods fit nowhere even alone → reason.
    unplaceable: dict[TemplateKey, str]

    def class_of(self, pod: api.Pod) -> int | None:
        """Return the class of a pod by its template, or None."""
        return self.classes.get(template_key(self.probe.info(pod)))

    def why_no_node(self, pod: api.Pod) -> str | None:
        """Return the reason if such a pod fits on no node even alone, or None."""
        return self.unplaceable.get(template_key(self.probe.info(pod)))


class ExistingNode(msgspec.Struct, frozen=True):
    """An existing node with the pods that stay on it."""

    node: api.Node
    pods: tuple[api.Pod, ...]
    #: Whether it may be removed, so that its other pods need another place.
    is_removable: bool = False


class _Template(msgspec.Struct):
    """Pods that differ only in their names; the fields are valid for every model of a probe."""

    info: PodInfo
    amounts: Mapping[Dimension, int]
    #: Empty node of the probe → reasons against such pods.
    refusals: dict[str, tuple[str, ...]]
    #: Node labels and fields used by the pods' selectors.
    label_keys: tuple[str, ...]
    #: Node group → whether its labels and taints suit the pods.
    suits: dict[Hashable, bool] = msgspec.field(default_factory=dict)


class PackingModels:
    """Factory of packing models from a probe, with a cache of pod templates."""

    def __init__(self, probe: NodeProbe, pools: NodePools) -> None:
        self._probe = probe
        self._pools = pools
        self._templates: dict[TemplateKey, _Template] = {}

    def model(self, pods: Iterable[api.Pod], nodes: Sequence[ExistingNode] = ()) -> PackingModel:
        """Return the packing of `pods` on new nodes and the free room of `nodes`."""
        counts = Counter(self._known_template(self._probe.info(pod)) for pod in pods)
        templates = [self._templates[key] for key in counts]
        return _Modelling(self._probe, self._pools, nodes).model(templates, counts)

    def _known_template(self, info: PodInfo) -> TemplateKey:
        key = template_key(info)
        if key not in self._templates:
            refusals = {name: self._probe.refusals(info, node) for name, node in self._probe.empty_nodes.items()}
            keys = tuple(sorted(_label_keys(info.spec)))
            self._templates[key] = _Template(info, _amounts(self._probe, info), refusals, keys)
        return key


class _Modelling:
    """Construction of one model."""

    def __init__(self, probe: NodeProbe, pools: NodePools, nodes: Sequence[ExistingNode]) -> None:
        self._probe = probe
        self._pools = pools
        self._kept = [standing for standing in nodes if not standing.is_removable]
        self._removable = [standing for standing in nodes if standing.is_removable]
        self._infos = {standing.node.metadata.name: self._standing(standing) for standing in nodes}
        #: Label keys → groups of nodes with equal labels and taints.
        self._groups: dict[tuple[str, ...], dict[Hashable, list[str]]] = {}
        #: (label keys, groups) → names of the nodes of all these groups.
        self._members: dict[Hashable, frozenset[str]] = {}

    def model(self, templates: Sequence[_Template], counts: Mapping[TemplateKey, int]) -> PackingModel:
        dimensions = sorted({dimension for template in templates for dimension in template.amounts}, key=str)
        suits = [self._standing_that_suit(template) for template in templates]
        classes, class_of, unplaceable = self._classes(templates, counts, suits, dimensions)
        allowed = self._allowed(classes)
        packing = Packing(
            dimensions=tuple(map(str, dimensions)),
            classes=tuple(found.pod_class for found in classes),
            kinds=(*self._new_kinds(allowed, dimensions), *self._removable_kinds(allowed, dimensions)),
            rooms=tuple(self._rooms(classes, allowed, dimensions)),
            pools={pool.name: self._range(pool) for pool in self._pools},
            spot=self._spot_limit(),
        )
        return PackingModel(packing, self._probe, class_of, unplaceable)

    # -- classes -----------------------------------------------------------------------------------------------------

    def _classes(
        self,
        templates: Sequence[_Template],
        counts: Mapping[TemplateKey, int],
        suits: Sequence[frozenset[str]],
        dimensions: Sequence[Dimension],
    ) -> tuple[list[_Class], dict[TemplateKey, int], dict[TemplateKey, str]]:
        """Return sorted classes, the class of each template, and unplaceable templates."""
        merged: dict[_Places, list[_Template]] = defaultdict(list)
        unplaceable: dict[TemplateKey, str] = {}
        for template, standing in zip(templates, suits, strict=True):
            empty = frozenset(name for name, reasons in template.refusals.items() if not reasons)
            amounts = tuple(template.amounts.get(dimension, 0) for dimension in dimensions)
            if not empty and not any(_most(self._free(name, dimensions), amounts) for name in standing):
                unplaceable[template_key(template.info)] = _why_no_node(template)
            else:
                merged[amounts, empty, standing].append(template)
        classes, class_of = list[_Class](), dict[TemplateKey, int]()
        in_order = cache(sorted)
        for amounts, empty, standing in sorted(merged, key=lambda key: (key[0], in_order(key[1]), in_order(key[2]))):
            keys = [template_key(template.info) for template in merged[amounts, empty, standing]]
            class_of.update((key, len(classes)) for key in keys)
            count = sum(counts[key] for key in keys)
            classes.append(_Class(PodClass(amounts, count), empty, standing))
        return classes, class_of, unplaceable

    def _standing_that_suit(self, template: _Template) -> frozenset[str]:
        """Return the existing nodes whose labels and taints suit the pods, regardless of room."""
        groups = self._node_groups(template.label_keys)
        suiting = tuple(group for group, names in groups.items() if self._suits(template, group, self._infos[names[0]]))
        members = (template.label_keys, suiting)
        if members not in self._members:
            self._members[members] = frozenset(name for group in suiting for name in groups[group])
        return self._members[members]

    def _node_groups(self, keys: tuple[str, ...]) -> dict[Hashable, list[str]]:
        """Return the existing nodes, grouped by taints and the labels and name with these keys."""
        if keys not in self._groups:
            groups = self._groups[keys] = defaultdict(list)
            for name, info in self._infos.items():
                labels, spec = info.node.metadata.labels, info.node.spec
                seen_name = name if NAME_FIELD in keys else ""
                groups[tuple(map(labels.get, keys)), seen_name, spec.taints, spec.unschedulable].append(name)
        return self._groups[keys]

    def _suits(self, template: _Template, group: Hashable, node: NodeInfo) -> bool:
        if group not in template.suits:
            without = [NodeResourcesFit.name, NodePorts.name]
            if any(taint.key.startswith(PASSING_TAINTS) for taint in node.node.spec.taints):
                without.append(TaintToleration.name)
            template.suits[group] = not self._probe.refusals(template.info, node, without)
        return template.suits[group]

    # -- nodes -------------------------------------------------------------------------------------------------------

    def _allowed(self, classes: Sequence[_Class]) -> dict[str, frozenset[int]]:
        """Return the allowed classes by existing or probe node."""
        numbers: dict[frozenset[str], set[int]] = defaultdict(set)
        for index, found in enumerate(classes):
            for places in (found.empty, found.standing):
                numbers[places].add(index)
        found_in: dict[str, list[frozenset[str]]] = defaultdict(list)
        for places in numbers:
            for name in places:
                found_in[name].append(places)
        union = cache(lambda sets: frozenset[int]().union(*(numbers[places] for places in sets)))
        return {name: union(tuple(sets)) for name, sets in found_in.items()}

    def _new_kinds(self, allowed: Mapping[str, frozenset[int]], dimensions: Sequence[Dimension]) -> Iterable[NodeKind]:
        empty = self._probe.empty_nodes.items()
        return dict.fromkeys(self._kind(info, allowed.get(name), dimensions) for name, info in empty)

    def _removable_kinds(
        self, allowed: Mapping[str, frozenset[int]], dimensions: Sequence[Dimension]
    ) -> Iterable[NodeKind]:
        names = [standing.node.metadata.name for standing in self._removable]
        counts = Counter(
            self._kind(self._infos[name], allowed.get(name), dimensions, price_of(self._infos[name].node))
            for name in names
        )
        return [msgspec.structs.replace(kind, most=count) for kind, count in counts.items()]

    def _kind(
        self, info: NodeInfo, classes: frozenset[int] | None, dimensions: Sequence[Dimension], price: float = 0.0
    ) -> NodeKind:
        """Return the kind of a node with these classes; the default price is its pool's."""
        pool = self._pools[pool_of(info.node)]
        return NodeKind(
            pool=pool.name,
            price=price or pool.price_per_hour,
            capacity=tuple(_free(info, dimension) for dimension in dimensions),
            classes=classes or frozenset(),
            cpu=info.allocatable("cpu"),
            is_spot=pool.spot,
        )

    def _rooms(
        self, classes: Sequence[_Class], allowed: Mapping[str, frozenset[int]], dimensions: Sequence[Dimension]
    ) -> Iterable[FixedRoom]:
        groups: dict[frozenset[int], list[tuple[int, ...]]] = defaultdict(list)
        for standing in self._kept:
            name = standing.node.metadata.name
            if allowed.get(name):
                groups[allowed[name]].append(self._free(name, dimensions))
        for numbers, rooms in groups.items():
            free = np.array(rooms)
            most = {
                number: min(_sum_of_most(free, classes[number].pod_class.amounts), classes[number].pod_class.count)
                for number in sorted(numbers)
            }
            total = tuple(sum(amounts) for amounts in zip(*rooms, strict=True))
            yield FixedRoom(total, {number: count for number, count in most.items() if count})

    def _range(self, pool: NodePool) -> PoolRange:
        """Return the pool's range for new and removable nodes, given the nodes that stay."""
        kept = sum(pool_of(standing.node) == pool.name for standing in self._kept)
        most = None if pool.max is None else max(0, pool.max - kept)
        return PoolRange(max(0, pool.min - kept), most)

    def _spot_limit(self) -> SpotLimit | None:
        share = self._pools.limits.spot_share
        if share is None:
            return None
        spot_cpu = all_cpu = 0
        for standing in self._kept:
            cpu = self._infos[standing.node.metadata.name].allocatable("cpu")
            name = pool_of(standing.node)
            all_cpu += cpu
            spot_cpu += cpu if name in self._pools and self._pools[name].spot else 0
        return SpotLimit(share, spot_cpu, all_cpu)

    def _standing(self, standing: ExistingNode) -> PlainNodeInfo:
        return PlainNodeInfo(standing.node, [self._probe.info(pod) for pod in standing.pods])

    def _free(self, name: str, dimensions: Sequence[Dimension]) -> tuple[int, ...]:
        return tuple(_free(self._infos[name], dimension) for dimension in dimensions)


_Places = tuple[tuple[int, ...], frozenset[str], frozenset[str]]
"""Amounts, and the names of empty and of existing nodes on which a pod may run."""


class _Class(msgspec.Struct, frozen=True):
    pod_class: PodClass
    #: Names of empty nodes of the probe, and of existing nodes, on which the pods may run.
    empty: frozenset[str]
    standing: frozenset[str]


class OnePerNode(msgspec.Struct, frozen=True):
    """A dimension with capacity 1 per node: a host port, or an anti-affinity term."""

    what: Hashable

    def __str__(self) -> str:
        return f"one per node: {self.what}"


NAME_FIELD: Final = "metadata.name"


def template_key(pod: PodInfo) -> TemplateKey:
    """Return a key that is equal for pods with equal scheduling constraints."""
    return pod.template, pod.namespace, pod.pinned_to


def _amounts(probe: NodeProbe, pod: PodInfo) -> Mapping[Dimension, int]:
    amounts: dict[Dimension, int] = {}
    amounts.update(probe.checked_amounts(pod))
    profile = probe.profile_of(pod)
    if profile is not None and filters_by(profile, NodePorts.name):
        amounts.update({OnePerNode(port): 1 for port in pod.shape.host_ports})
    if profile is not None and filters_by(profile, InterPodAffinity.name):
        for term in pod.shape.required_anti_affinity:
            if term.topology_key == api.HOSTNAME_LABEL and term.matches(pod, {}):
                amounts[OnePerNode(term)] = 1
    return amounts


def _free(info: NodeInfo, dimension: Dimension) -> int:
    if isinstance(dimension, OnePerNode):
        if isinstance(dimension.what, tuple):
            return 0 if dimension.what in info.used_ports else 1
        # Anti-affinity only applies to nodes with the label.
        return 1 if api.HOSTNAME_LABEL in info.labels else info.allowed_pods
    if dimension == "pods":
        return max(0, info.allowed_pods - info.pod_count)
    resource = str(dimension)
    return max(0, info.allocatable(resource) - info.requested(resource))


def _most(room: Sequence[int], amounts: Sequence[int]) -> int:
    """Return the number of pods with these amounts that fit; `_UNLIMITED` without a limit."""
    return min((free // amount for free, amount in zip(room, amounts, strict=True) if amount), default=_UNLIMITED)


def _sum_of_most(rooms: IntArray, amounts: Sequence[int]) -> int:
    """Return the sum of `_most` over the rows of `rooms`."""
    wanted = np.array(amounts)
    limiting = wanted > 0
    if not limiting.any():
        return _UNLIMITED * len(rooms)
    return int((rooms[:, limiting] // wanted[limiting]).min(axis=1).sum())


def _label_keys(spec: api.PodSpec) -> set[str]:
    """Return the node labels and fields used by the pod's selectors."""
    keys = set(spec.node_selector)
    node_affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    required = node_affinity.required_during_scheduling_ignored_during_execution if node_affinity is not None else None
    for term in required.node_selector_terms if required is not None else ():
        keys.update(requirement.key for requirement in (*term.match_expressions, *term.match_fields))
    return keys


def _why_no_node(template: _Template) -> str:
    """Return the reasons of the empty nodes with their counts."""
    counts: dict[str, int] = defaultdict(int)
    for reasons in template.refusals.values():
        for reason in reasons:
            counts[reason] += 1
    reasons_text = ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items()))
    return f"no pool has a node for it, even without other pods: {reasons_text}"
