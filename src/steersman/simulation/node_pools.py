# SPDX-License-Identifier: Apache-2.0
"""Node pools: node templates with minimum and maximum counts, and prices.

Users write them as a document of kind NodePools. `plan nodes` searches over the number of nodes of
each pool; the autoscaler of a scenario adds and removes them. Labels and annotations of an existing
node name its pool (`pool_of`) and its price. A node without them is free, and belongs to the pool
of its instance type, or to the pool without a name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from os import PathLike
from typing import Any, Final, TypeAlias

import msgspec

from steersman import api
from steersman.api import (
    DocumentKind,
    DocumentPart,
    convert_document,
    find_unknown_fields,
    label_syntax,
    quantity_checks,
    schema_of,
)
from steersman.base import POOLS_VERSION, InputError
from steersman.cluster.kubelets import PRICE_PER_HOUR

POOL_LABEL: Final = "steersman.dev/pool"
PRICE_ANNOTATION: Final = PRICE_PER_HOUR
"""May also be a label, because some providers let users set labels only."""

POOL_LABELS: Final = (
    POOL_LABEL,
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "alpha.eksctl.io/nodegroup-name",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "karpenter.sh/nodepool",
    "node.kubernetes.io/instance-type",
)
"""Labels that name a node's pool; the first one present is used."""


def pool_of(node: api.Node) -> str:
    """Return the name of the node's pool, or ""."""
    return next(filter(None, map(node.metadata.labels.get, POOL_LABELS)), "")


def price_of(node: api.Node) -> float:
    """Return the hourly price of the node from its annotation, else its label, else 0. Raises
    `InputError`."""
    meta = node.metadata
    for where, texts in (("annotations", meta.annotations), ("labels", meta.labels)):
        text = texts.get(PRICE_ANNOTATION)
        if text is not None:
            return _price(text, node.metadata.name, f"metadata.{where}[{PRICE_ANNOTATION}]")
    return 0.0


def _price(text: str, node: str, field: str) -> float:
    try:
        price = float(text)
    except ValueError:
        price = -1.0
    if not math.isfinite(price) or price < 0:
        raise InputError(
            "is not a price", object=f"Node {node}", field=field, value=text, hint='write a number such as "0.40"'
        )
    return price


# -- pools -------------------------------------------------------------------------------------------------------------


POOLS_KIND: Final = "NodePools"
KUBELET_LABELS: Final = {"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"}
"""Labels that every kubelet gives to its node, unless the template has others."""
PODS_PER_NODE: Final = "110"
"""The kubelet's default `maxPods`, for templates without a number of pods."""

PoolsSource: TypeAlias = "str | PathLike[str] | Mapping[str, Any] | NodePools"
"""A file with a document of kind NodePools, the document as a dict, or loaded pools."""

_POOL_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_MAX_POOL_NAME: Final = 50
_POOLS: Final = DocumentKind(POOLS_VERSION, POOLS_KIND)


class NodePool(DocumentPart, frozen=True, kw_only=True):
    """Nodes that differ only in name and zone."""

    name: str
    #: Of one node.
    price_per_hour: float
    #: Minimum and maximum number of nodes; None for no limit.
    min: int = 0
    max: int | None = None
    #: Zones of the nodes, round robin.
    zones: tuple[str, ...] = ()
    #: Whether the provider may reclaim the nodes; see `PoolLimits.spot_share`.
    spot: bool = False
    #: Time from the request for a node to its arrival, for the autoscaler of a scenario.
    boot_seconds: float = 60.0
    #: Time for which a node must be unneeded before the autoscaler of a scenario removes it.
    scale_down_delay_seconds: float = 600.0
    #: Node template without a name: labels, annotations, taints, capacity and allocatable.
    template: api.Node

    def zone_of(self, number: int) -> str | None:
        """Return the zone of the node with this number, round robin; None for a pool without
        zones."""
        return self.zones[number % len(self.zones)] if self.zones else None

    def node_name(self, number: int) -> str:
        return f"{self.name}-{number}"

    def make_node(self, number: int, zone: str | None = None) -> api.Node:
        """Return the node `<pool>-<number>`, in the given zone or the next one round robin."""
        name, template = self.node_name(number), self.template
        own = {POOL_LABEL: self.name, api.HOSTNAME_LABEL: name}
        chosen_zone = zone or self.zone_of(number)
        if chosen_zone is not None:
            own[api.ZONE_LABEL] = chosen_zone
        metadata = api.ObjectMeta(
            name=name,
            labels={**KUBELET_LABELS, **template.metadata.labels, **own},
            annotations={**template.metadata.annotations, PRICE_ANNOTATION: str(self.price_per_hour)},
        )
        return api.Node(metadata=metadata, spec=template.spec, status=_status(template))

    def make_nodes(self, count: int, taken: Collection[str] = (), first: int = 0) -> Iterator[api.Node]:
        """Return `count` nodes in zones round robin from number `first`; skip names in `taken`."""
        number = first
        for turn in range(first, first + count):
            while self.node_name(number) in taken:
                number += 1
            yield self.make_node(number, self.zone_of(turn))
            number += 1


class PoolLimits(DocumentPart, frozen=True):
    """Limits of all pools together."""

    #: Maximum share of spot nodes in the allocatable CPU of all nodes; None for no limit.
    spot_share: float | None = None


class NodePools(DocumentPart, frozen=True):
    """A document of kind NodePools: pools by name, and limits for all of them; returned by
    `load_pools`."""

    pools: tuple[NodePool, ...]
    limits: PoolLimits = PoolLimits()
    api_version: str = POOLS_VERSION
    kind: str = POOLS_KIND

    def __getitem__(self, name: str) -> NodePool:
        """Return the pool with this name. Raises `KeyError`."""
        return {pool.name: pool for pool in self.pools}[name]

    def __contains__(self, name: object) -> bool:
        return any(pool.name == name for pool in self.pools)

    def __iter__(self) -> Iterator[NodePool]:
        return iter(self.pools)

    def __len__(self) -> int:
        return len(self.pools)


def load_pools(source: PoolsSource) -> NodePools:
    """Load the pools. Raises `InputError` with file, field, value and remedy."""
    if isinstance(source, NodePools):
        _check(source)
        return source
    return _POOLS.load(source, _read_pools)


def _status(template: api.Node) -> api.NodeStatus:
    """Complete capacity and allocatable from each other; the default number of pods is the
    kubelet's."""
    status = template.status
    allocatable = {"pods": PODS_PER_NODE, **(status.allocatable or status.capacity)}
    capacity = {**allocatable, **status.capacity}
    return msgspec.structs.replace(status, allocatable=allocatable, capacity=capacity)


def _read_pools(document: dict[str, Any]) -> NodePools:
    try:
        pools = convert_document(document, NodePools)
        _check_template_fields(document)
        _check(pools)
    except InputError as error:
        raise error.located(object=POOLS_KIND) from error
    return pools


def _check_template_fields(document: dict[str, Any]) -> None:
    """Check for misspelt fields, which would otherwise be ignored."""
    schema = schema_of(api.Node.API_VERSION, api.Node.KIND)
    assert schema is not None
    for index, pool in enumerate(document["pools"]):
        for field in find_unknown_fields(pool["template"], schema):
            raise InputError("is not a field of a Node", field=f"pools[{index}].template.{field.path}", hint=field.hint)


def _check(pools: NodePools) -> None:
    if not pools.pools:
        raise InputError("has no pool", field="pools", hint="write at least one")
    names = [pool.name for pool in pools.pools]
    for index, pool in enumerate(pools.pools):
        path = f"pools[{index}]"
        if pool.name in names[:index]:
            raise InputError("is the name of two pools", field=f"{path}.name", value=pool.name)
        try:
            _check_pool(pool)
        except InputError as error:
            raise error.beneath(path) from error
    share = pools.limits.spot_share
    if share is not None and not 0 <= share <= 1:
        raise InputError("is not a share", field="limits.spotShare", value=share, hint="write a number from 0 to 1")


def _check_pool(pool: NodePool) -> None:
    if not _POOL_NAME.fullmatch(pool.name) or len(pool.name) > _MAX_POOL_NAME:
        hint = f"use up to {_MAX_POOL_NAME} lower case letters, digits and '-': nodes are named after the pool"
        raise InputError("is not a valid name for a pool", field="name", value=pool.name, hint=hint)
    for field, number in (
        ("pricePerHour", pool.price_per_hour),
        ("bootSeconds", pool.boot_seconds),
        ("scaleDownDelaySeconds", pool.scale_down_delay_seconds),
    ):
        if not math.isfinite(number) or number < 0:
            raise InputError("must be a number from 0", field=field, value=number)
    if pool.min < 0:
        raise InputError("must not be negative", field="min", value=pool.min)
    if pool.max is not None and pool.max < pool.min:
        raise InputError(f"is less than min, which is {pool.min}", field="max", value=pool.max)
    _check_zones(pool)
    _check_template(pool.template)


def _check_zones(pool: NodePool) -> None:
    for index, zone in enumerate(pool.zones):
        if not zone or label_syntax.value_errors(zone):
            raise InputError(
                "is not a label value", field=f"zones[{index}]", value=zone, hint="use a name such as zone-a"
            )
        if zone in pool.zones[:index]:
            raise InputError("is there twice", field=f"zones[{index}]", value=zone)
    labelled = pool.template.metadata.labels.get(api.ZONE_LABEL)
    if pool.zones and labelled is not None:
        field = f"template.metadata.labels[{api.ZONE_LABEL}]"
        raise InputError("is said twice, here and by zones", field=field, value=labelled, hint="leave one of them out")


def _check_template(template: api.Node) -> None:
    if template.metadata.name:
        hint = "leave it out: nodes are named after the pool"
        raise InputError(
            "must not have a name", field="template.metadata.name", value=template.metadata.name, hint=hint
        )
    for key, value in template.metadata.labels.items():
        complaints = (*label_syntax.key_errors(key), *label_syntax.value_errors(value))
        if complaints:
            raise InputError(complaints[0], field=f"template.metadata.labels[{key}]", value=value)
    if not (template.status.allocatable or template.status.capacity):
        hint = 'write at least cpu and memory, such as {cpu: "8", memory: 32Gi}'
        raise InputError("is empty: nothing fits on such a node", field="template.status.allocatable", hint=hint)
    try:
        quantity_checks.check_quantities(template)
    except InputError as error:
        raise error.beneath("template") from error


# -- pools of a running scenario ---------------------------------------------------------------------------------------


class ClusterPools:
    """Pools by name, and the factory of their nodes."""

    def __init__(self, pools: Iterable[NodePool] = ()) -> None:
        self._pools = {pool.name: pool for pool in pools}
        #: Pool → minimum number of its next node.
        self._next: dict[str, int] = {}

    def __iter__(self) -> Iterator[NodePool]:
        return iter(self._pools.values())

    def __len__(self) -> int:
        return len(self._pools)

    def __getitem__(self, name: str) -> NodePool:
        return self._pools[name]

    def __contains__(self, name: object) -> bool:
        return name in self._pools

    def set_price(self, name: str, per_hour: float) -> None:
        """Set the price of the pool's future nodes."""
        if name in self._pools:
            self._pools[name] = msgspec.structs.replace(self._pools[name], price_per_hour=per_hour)

    def next_nodes(self, pool: NodePool, count: int, taken: Container[str], zone: str | None = None) -> list[api.Node]:
        """Return the nodes that `new_nodes` would return, without reserving names, for trials."""
        return [node for _, node in self._numbered(pool, count, taken, zone)]

    def new_nodes(self, pool: NodePool, count: int, taken: Container[str], zone: str | None = None) -> list[api.Node]:
        """Return `count` nodes with names that were never used in the pool and are not `taken`."""
        numbered = list(self._numbered(pool, count, taken, zone))
        if numbered:
            self._next[pool.name] = numbered[-1][0] + 1
        return [node for _, node in numbered]

    def _numbered(
        self, pool: NodePool, count: int, taken: Container[str], zone: str | None
    ) -> Iterator[tuple[int, api.Node]]:
        number = self._next.get(pool.name, 0)
        for _ in range(count):
            while pool.node_name(number) in taken:
                number += 1
            yield number, pool.make_node(number, zone)
            number += 1
