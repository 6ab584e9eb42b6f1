# SPDX-License-Identifier: Apache-2.0
"""Random nodes and pods, as chains of builder calls: small enough a vocabulary that they meet each other's constraints.

A `Call` prints as what it does, so that a failing example reads like code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from hypothesis import strategies as st

from steersman import api
from steersman.testing import (
    NodeBuilder,
    PodBuilder,
    absent,
    exists,
    greater_than,
    is_in,
    less_than,
    make_node,
    make_pod,
    not_in,
)

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
GPU = "example.com/gpu"
NAMESPACES = ("default", "shop")
NODE_NAMES = tuple(f"n{index}" for index in range(7))


class Call(NamedTuple):
    """One method of a builder with its arguments."""

    method: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = {}

    def __repr__(self) -> str:
        arguments = [*map(repr, self.args), *(f"{name}={value!r}" for name, value in self.kwargs.items())]
        return f"Call.{self.method}({', '.join(arguments)})"


Calls = tuple[Call, ...]


def call(method: str, *args: st.SearchStrategy[Any], **kwargs: st.SearchStrategy[Any]) -> st.SearchStrategy[Call]:
    return st.builds(Call, st.just(method), st.tuples(*args), st.fixed_dictionaries(kwargs))


def node_of(name: str, calls: Calls) -> api.Node:
    builder: NodeBuilder = make_node(name)
    for each in calls:
        builder = getattr(builder, each.method)(*each.args, **each.kwargs)
    return builder.obj()


def pod_of(name: str, calls: Calls) -> PodBuilder:
    builder: PodBuilder = make_pod(name)
    for each in calls:
        builder = getattr(builder, each.method)(*each.args, **each.kwargs)
    return builder


def chain(strategy: st.SearchStrategy[Call], most: int) -> st.SearchStrategy[Calls]:
    return st.lists(strategy, max_size=most).map(tuple)


def mostly(*weighted: tuple[int, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """One of the strategies, each as often as its weight says. (`one_of` treats all alike, repeated ones as one.)"""
    chances = [index for index, (weight, _) in enumerate(weighted) for _ in range(weight)]
    return st.sampled_from(chances).flatmap(lambda index: weighted[index][1])


def given(**kwargs: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Keyword arguments, each of which may be left out."""
    return st.fixed_dictionaries({}, optional=kwargs)


# -- nodes ---------------------------------------------------------------------------------------------------------------

names = st.sampled_from(NODE_NAMES)
hostnames = st.sampled_from([*NODE_NAMES[:4], "shared", "elsewhere"])
zones = st.sampled_from(["a", "b", "c"])
taint_keys = st.sampled_from(["dedicated", "gpu"])
effects = st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"])
images = st.sampled_from(["web:v1", "db:v2", "cache:latest"])

mild_node_calls = st.one_of(
    call("label", st.just(ZONE), zones),
    call("label", st.just("disk"), st.sampled_from(["ssd", "hdd"])),
    call("label", st.just("size"), st.sampled_from(["1", "5", "big"])),
    call("taint", taint_keys, st.sampled_from(["", "db"]), effect=st.just("PreferNoSchedule")),
    call("image", images, size=st.sampled_from([10**6, 3 * 10**8, 2 * 10**9])),
    call("capacity", cpu=st.sampled_from(["2500m", "16"]), memory=st.sampled_from(["2Gi", "64Gi"])),
    call("capacity", **{GPU: st.sampled_from([0, 1, 4])}),
)
harsh_node_calls = st.one_of(
    call("label", st.just(HOSTNAME), hostnames),
    call("taint", taint_keys, st.sampled_from(["", "db"]), effect=effects),
    call("unschedulable"),
    call("capacity", pods=st.sampled_from([0, 1])),
    call("capacity", cpu=st.just("1"), ephemeral_storage=st.sampled_from(["1Gi", "100Gi"])),
    call("declared_features", st.just("UserNamespacesSupport")),
)
SPACIOUS = Call("capacity", (), {"cpu": "8", "memory": "16Gi", "ephemeral_storage": "50Gi"})
odd_nodes: st.SearchStrategy[Calls] = st.builds(
    lambda mild, harsh: (SPACIOUS, *mild, *harsh), chain(mild_node_calls, 3), chain(harsh_node_calls, 3)
)
"""Hostname and zone may be missing; two nodes may share a hostname."""

usual_nodes: st.SearchStrategy[Calls] = st.builds(
    lambda zone, *calls: (SPACIOUS, Call("label", (ZONE, zone)), *(each for some in calls for each in some)),
    zones,
    chain(mild_node_calls, 2),
    chain(call("capacity", pods=st.sampled_from([2, 3, 4])), 1),
    chain(call("image", images, size=st.sampled_from([3 * 10**8, 2 * 10**9])), 1),
)
"""The hostname is added by the event: it is the node's own name."""

# -- pods ----------------------------------------------------------------------------------------------------------------

apps = st.sampled_from(["web", "db"])
topology_keys = st.sampled_from([HOSTNAME, ZONE, "disk"])
weights = st.sampled_from([1, 7, 100])
label_selecting = st.one_of(
    st.builds(lambda app: {"app": app}, apps),
    st.just({}),
    st.none(),
    st.sampled_from([exists("app"), absent("app"), is_in("app", "web", "db"), not_in("app", "web"), exists("tier")]),
)
namespace_selecting = st.sampled_from([None, {}, {"team": "a"}, exists("team"), absent("team")])
node_expressions = st.sampled_from(
    [
        is_in("disk", "ssd"),
        not_in("disk", "ssd"),
        exists("disk"),
        absent("disk"),
        greater_than("size", 2),
        less_than("size", 2),
        is_in(ZONE, "a", "b"),
    ]
)
node_name_fields = st.lists(names, min_size=1, max_size=2).map(lambda chosen: is_in("metadata.name", *chosen))
affinity_options = given(
    namespaces=st.sampled_from([(), ("shop",), ("default", "shop")]),
    namespace_selector=namespace_selecting,
)
spread_options = given(
    max_skew=st.sampled_from([1, 2]),
    min_domains=st.sampled_from([1, 3]),
    node_affinity_policy=st.sampled_from(["Honor", "Ignore"]),
    node_taints_policy=st.sampled_from(["Honor", "Ignore"]),
    match_label_keys=st.just(("tier",)),
)

identity_calls = st.one_of(
    call("label", st.just("tier"), st.sampled_from(["1", "2"])),
    call("namespace", st.sampled_from(NAMESPACES)),
)
identities: st.SearchStrategy[Calls] = st.builds(
    lambda app, calls: (Call("label", ("app", app)), *calls), apps, chain(identity_calls, 2)
)
demand_calls = st.one_of(
    call("req", cpu=st.sampled_from(["100m", "1", "5"]), memory=st.sampled_from(["64Mi", "1Gi"])),
    call("req", cpu=st.sampled_from(["100m", "2"])),
    call("req", ephemeral_storage=st.sampled_from(["1Gi", "40Gi"])),
    call("req", **{GPU: st.sampled_from([1, 2])}),
    call("init_req", cpu=st.just("3")),
    call("overhead", cpu=st.just("250m")),
    call("host_port", st.sampled_from([80, 443]), ip=st.sampled_from(["", "10.0.0.1"])),
    call("image", st.sampled_from(["web:v1", "db:v2", "cache"])),
)
tolerant_calls = st.one_of(
    call("toleration", taint_keys, st.sampled_from([None, "db"]), effect=st.one_of(st.just(""), effects)),
    call("toleration"),
    call("preferred_node_affinity", weights, node_expressions),
)
demanding_calls = st.one_of(
    call("node_selector", st.just("disk"), st.sampled_from(["ssd", "hdd"])),
    call("required_node_affinity", node_expressions),
    call("required_node_affinity", fields=st.tuples(node_name_fields)),
)


def affinity(method: str, *options: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[Call]:
    return st.builds(
        lambda key, selector, *kwargs: Call(
            method, (key, selector), {k: v for some in kwargs for k, v in some.items()}
        ),
        topology_keys,
        label_selecting,
        affinity_options,
        *options,
    )


def spread(when: str) -> st.SearchStrategy[Call]:
    return st.builds(
        lambda key, selector, kwargs: Call("spread", (key,), {"when": when, "selector": selector, **kwargs}),
        topology_keys,
        label_selecting,
        spread_options,
    )


weighted = st.fixed_dictionaries({"weight": weights})
soft_relation_calls = st.one_of(
    affinity("pod_affinity", weighted), affinity("anti_affinity", weighted), spread("ScheduleAnyway")
)
hard_relation_calls = st.one_of(affinity("pod_affinity"), affinity("anti_affinity"), spread("DoNotSchedule"))
owner_calls = call("owner", st.just("ReplicaSet"), st.sampled_from(["web", "db"]))


def _joined(*parts: Calls) -> Calls:
    return tuple(each for part in parts for each in part)


pods: st.SearchStrategy[Calls] = st.builds(
    _joined,
    identities,
    chain(demand_calls, 1),
    chain(mostly((3, soft_relation_calls), (1, hard_relation_calls)), 2),
    chain(call("pvc", st.sampled_from(["data", "logs"])), 1),
)
"""Pods that run."""

waiting_calls = st.one_of(
    call("priority", st.sampled_from([-1, 0, 5])),
    call("nominated", names),
    call("node", names),
)
waiting_pods: st.SearchStrategy[Calls] = st.builds(
    _joined,
    identities,
    chain(demand_calls, 1),
    chain(call("image", st.sampled_from(["web:v1", "db:v2", "cache"])), 1),
    chain(mostly((3, tolerant_calls), (1, demanding_calls)), 1),
    chain(mostly((2, soft_relation_calls), (1, hard_relation_calls)), 2),
    chain(mostly((3, owner_calls), (1, waiting_calls)), 1),
)
"""Pods that wait for a place."""

modest_pods: st.SearchStrategy[Calls] = st.builds(
    _joined,
    identities,
    chain(call("req", cpu=st.sampled_from(["1", "3", "5"]), memory=st.sampled_from(["1Gi", "9Gi"])), 1),
    chain(demand_calls, 1),
    chain(mostly((3, tolerant_calls), (1, demanding_calls)), 1),
    chain(call("priority", st.sampled_from([-1, 5])), 1),
    chain(mostly((1, call("nominated", names)), (3, owner_calls)), 1),
)
"""Pods that wait for a place, and do not mind other pods but for the room that these take."""

changes_of_pods: st.SearchStrategy[Calls] = chain(
    st.one_of(
        call("label", st.just("app"), apps),
        call("label", st.just("tier"), st.sampled_from(["1", "2"])),
        demand_calls,
        call("terminating"),
        call("annotation", st.just("note"), apps),
    ),
    2,
)
