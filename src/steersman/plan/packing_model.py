# SPDX-License-Identifier: Apache-2.0
"""From a simulation to the packing problem of `packing`: which pods are alike, what they need, and where each may run.

Every constraint is one that the scheduler's own filters hold pods to in the end, so that no placement is ruled out:

* resources and the number of pods of a node (NodeResourcesFit), with daemon pods charged to every new node;
* labels, taints and names (NodeAffinity, TaintToleration, NodeUnschedulable, NodeName), asked of the filters themselves;
* a host port, once on a node (NodePorts); pods that keep apart from their like by hostname, one on a node (InterPodAffinity).

Spreading, other affinities, volumes, devices and plugins of others are left out: they can only make a plan dearer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from steersman import api
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo, PodTemplate
from steersman.plan.packing import FixedRoom, NodeKind, Packing, PodClass, PoolRange, SpotLimit
from steersman.plugins.inter_pod_affinity.plugin import InterPodAffinity
from steersman.plugins.node_ports import NodePorts
from steersman.plugins.node_resources.fit import NodeResourcesFit
from steersman.plugins.taint_toleration import TaintToleration
from steersman.sim.node_costs import pool_of, price_of
from steersman.sim.node_pools import HOSTNAME_LABEL, NodePool, NodePools
from steersman.sim.node_probe import NodeProbe, filters_by
from steersman.state.plain_node import PlainNodeInfo

PASSING_TAINTS: Final = "node.kubernetes.io/"
"""Taints that controllers set and take away while a simulation runs; they are no reason against a node for ever."""

Dimension = Hashable
"""A resource, or what there can be one of on a node: a host port, a term of anti-affinity."""
TemplateKey = tuple[PodTemplate, str, str]
"""Template, namespace, and the node that a pod is pinned to, if any."""


class PackingModel(msgspec.Struct, frozen=True):
    """The packing, the class that each template of pods belongs to, and templates that fit nowhere even alone."""

    packing: Packing
    probe: NodeProbe
    classes: dict[TemplateKey, int]
    #: Templates whose pods fit nowhere, even alone, and why.
    unplaceable: dict[TemplateKey, str]

    def class_of(self, pod: api.Pod) -> int | None:
        """The class of a pod, which may have another name than the pods of the model; None for one like none of them."""
        return self.classes.get(template_key(self.probe.info(pod)))

    def why_nowhere(self, pod: api.Pod) -> str | None:
        """Why such a pod fits on no node, even alone; None if it does."""
        return self.unplaceable.get(template_key(self.probe.info(pod)))


class StandingNode(msgspec.Struct, frozen=True):
    """An existing node with the pods that stay on it."""

    node: api.Node
    pods: tuple[api.Pod, ...]
    #: It may go: its other pods would have to find another place.
    is_removable: bool = False


class _Template(msgspec.Struct):
    """Pods that nothing but their names tells apart, and what was found out about them."""

    info: PodInfo
    count: int
    amounts: Mapping[Dimension, int]
    #: By empty node of the probe: why such pods can never run there.
    refusals: dict[str, tuple[str, ...]]


def packing_model(
    probe: NodeProbe, pools: NodePools, pods: Iterable[api.Pod], nodes: Sequence[StandingNode] = ()
) -> PackingModel:
    """The packing of `pods`, which need a place, on new nodes and on what is free on `nodes`."""
    return _Modelling(probe, pools, nodes).model(_templates(probe, pods))


class _Modelling:
    """One model in the making."""

    def __init__(self, probe: NodeProbe, pools: NodePools, nodes: Sequence[StandingNode]) -> None:
        self._probe = probe
        self._pools = pools
        self._kept = [standing for standing in nodes if not standing.is_removable]
        self._removable = [standing for standing in nodes if standing.is_removable]
        self._infos = {standing.node.metadata.name: self._standing(standing) for standing in nodes}

    def model(self, templates: Sequence[_Template]) -> PackingModel:
        dimensions = sorted({dimension for template in templates for dimension in template.amounts}, key=str)
        suits = [self._standing_that_suit(template) for template in templates]
        classes, class_of, unplaceable = self._classes(templates, suits, dimensions)
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
        self, templates: Sequence[_Template], suits: Sequence[frozenset[str]], dimensions: Sequence[Dimension]
    ) -> tuple[list[_Class], dict[TemplateKey, int], dict[TemplateKey, str]]:
        """Classes in an order that does not depend on that of the pods, the class of each template, templates without one."""
        merged: dict[_Places, list[_Template]] = defaultdict(list)
        unplaceable: dict[TemplateKey, str] = {}
        for template, standing in zip(templates, suits, strict=True):
            empty = frozenset(name for name, reasons in template.refusals.items() if not reasons)
            amounts = tuple(template.amounts.get(dimension, 0) for dimension in dimensions)
            if not empty and not any(_most(self._free(name, dimensions), amounts) for name in standing):
                unplaceable[template_key(template.info)] = _why_nowhere(template)
            else:
                merged[amounts, empty, standing].append(template)
        classes, class_of = list[_Class](), dict[TemplateKey, int]()
        for amounts, empty, standing in sorted(merged, key=lambda key: (key[0], sorted(key[1]), sorted(key[2]))):
            alike = merged[amounts, empty, standing]
            class_of.update((template_key(template.info), len(classes)) for template in alike)
            count = sum(template.count for template in alike)
            classes.append(_Class(PodClass(amounts, count), empty, standing))
        return classes, class_of, unplaceable

    def _standing_that_suit(self, template: _Template) -> frozenset[str]:
        """The existing nodes whose labels and taints suit the pods; room is another matter."""
        answers: dict[Hashable, bool] = {}
        suiting = set[str]()
        keys = sorted(_label_keys(template.info.spec))
        for name, info in self._infos.items():
            node = info.node
            group = (
                tuple(node.metadata.labels.get(key) for key in keys),
                name if NAME_FIELD in keys or template.info.spec.node_name else "",
                node.spec.taints,
                node.spec.unschedulable,
            )
            if group not in answers:
                without = [NodeResourcesFit.name, NodePorts.name]
                if any(taint.key.startswith(PASSING_TAINTS) for taint in node.spec.taints):
                    without.append(TaintToleration.name)
                answers[group] = not self._probe.refusals(template.info, info, without)
            if answers[group]:
                suiting.add(name)
        return frozenset(suiting)

    # -- nodes -------------------------------------------------------------------------------------------------------

    def _allowed(self, classes: Sequence[_Class]) -> dict[str, frozenset[int]]:
        """By node, existing or of the probe: the classes that may run there."""
        allowed: dict[str, set[int]] = defaultdict(set)
        for index, found in enumerate(classes):
            for name in (*found.empty, *found.standing):
                allowed[name].add(index)
        return {name: frozenset(numbers) for name, numbers in allowed.items()}

    def _new_kinds(self, allowed: Mapping[str, frozenset[int]], dimensions: Sequence[Dimension]) -> Iterable[NodeKind]:
        kinds: dict[NodeKind, None] = {}
        for name, info in self._probe.empty_nodes.items():
            pool = self._pools[pool_of(info.node)]
            kind = NodeKind(
                pool=pool.name,
                price=pool.price_per_hour,
                capacity=tuple(_free(info, dimension) for dimension in dimensions),
                classes=allowed.get(name, frozenset()),
                cpu=info.allocatable("cpu"),
                is_spot=pool.spot,
            )
            kinds[kind] = None
        return kinds

    def _removable_kinds(
        self, allowed: Mapping[str, frozenset[int]], dimensions: Sequence[Dimension]
    ) -> Iterable[NodeKind]:
        counts: dict[NodeKind, int] = defaultdict(int)
        for standing in self._removable:
            name = standing.node.metadata.name
            pool = self._pools[pool_of(standing.node)]
            kind = NodeKind(
                pool=pool.name,
                price=price_of(standing.node) or pool.price_per_hour,
                capacity=self._free(name, dimensions),
                classes=allowed.get(name, frozenset()),
                cpu=self._infos[name].allocatable("cpu"),
                is_spot=pool.spot,
            )
            counts[kind] += 1
        return [msgspec.structs.replace(kind, most=count) for kind, count in counts.items()]

    def _rooms(
        self, classes: Sequence[_Class], allowed: Mapping[str, frozenset[int]], dimensions: Sequence[Dimension]
    ) -> Iterable[FixedRoom]:
        groups: dict[frozenset[int], list[tuple[int, ...]]] = defaultdict(list)
        for standing in self._kept:
            name = standing.node.metadata.name
            if allowed.get(name):
                groups[allowed[name]].append(self._free(name, dimensions))
        for numbers, rooms in groups.items():
            most = {
                number: min(sum(_most(room, amounts) for room in rooms), classes[number].pod_class.count)
                for number in sorted(numbers)
                for amounts in (classes[number].pod_class.amounts,)
            }
            total = tuple(sum(amounts) for amounts in zip(*rooms, strict=True))
            yield FixedRoom(total, {number: count for number, count in most.items() if count})

    def _range(self, pool: NodePool) -> PoolRange:
        """For new nodes and those that may go: what the pool may have besides the nodes that stay."""
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

    def _standing(self, standing: StandingNode) -> PlainNodeInfo:
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
    """A dimension of which there can be one on a node: a host port, or a pod that keeps apart from its like."""

    what: Hashable

    def __str__(self) -> str:
        return f"one per node: {self.what}"


NAME_FIELD: Final = "metadata.name"


def _templates(probe: NodeProbe, pods: Iterable[api.Pod]) -> list[_Template]:
    found: dict[TemplateKey, _Template] = {}
    for pod in pods:
        info = probe.info(pod)
        key = template_key(info)
        if key not in found:
            refusals = {name: probe.refusals(info, node) for name, node in probe.empty_nodes.items()}
            found[key] = _Template(info, 0, _amounts(probe, info), refusals)
        found[key].count += 1
    return list(found.values())


def template_key(pod: PodInfo) -> TemplateKey:
    """Equal for pods that are placed alike."""
    return pod.template, pod.namespace, pod.pinned_to


def _amounts(probe: NodeProbe, pod: PodInfo) -> Mapping[Dimension, int]:
    amounts: dict[Dimension, int] = {}
    amounts.update(probe.checked_amounts(pod))
    profile = probe.profile_of(pod)
    if profile is not None and filters_by(profile, NodePorts.name):
        amounts.update({OnePerNode(port): 1 for port in pod.shape.host_ports})
    if profile is not None and filters_by(profile, InterPodAffinity.name):
        for term in pod.shape.required_anti_affinity:
            if term.topology_key == HOSTNAME_LABEL and term.matches(pod, {}):
                amounts[OnePerNode(term)] = 1
    return amounts


def _free(info: NodeInfo, dimension: Dimension) -> int:
    if isinstance(dimension, OnePerNode):
        if isinstance(dimension.what, tuple):
            return 0 if dimension.what in info.used_ports else 1
        # Pods keep apart only on nodes that have the label.
        return 1 if HOSTNAME_LABEL in info.labels else info.allowed_pods
    if dimension == "pods":
        return max(0, info.allowed_pods - info.pod_count)
    resource = str(dimension)
    return max(0, info.allocatable(resource) - info.requested(resource))


def _most(room: Sequence[int], amounts: Sequence[int]) -> int:
    """How many pods with these amounts the room has a place for; a million where nothing limits them."""
    return min((free // amount for free, amount in zip(room, amounts, strict=True) if amount), default=1_000_000)


def _label_keys(spec: api.PodSpec) -> set[str]:
    """The labels and fields of nodes that the pod's selectors look at."""
    keys = set(spec.node_selector)
    node_affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    required = node_affinity.required_during_scheduling_ignored_during_execution if node_affinity is not None else None
    for term in required.node_selector_terms if required is not None else ():
        keys.update(requirement.key for requirement in (*term.match_expressions, *term.match_fields))
    return keys


def _why_nowhere(template: _Template) -> str:
    """The reasons of the empty nodes, each once, with the number of pools' nodes that give it."""
    counts: dict[str, int] = defaultdict(int)
    for reasons in template.refusals.values():
        for reason in reasons:
            counts[reason] += 1
    told = ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items()))
    return f"no node of any pool would do, even alone: {told}"
