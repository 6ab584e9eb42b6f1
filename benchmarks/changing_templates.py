# SPDX-License-Identifier: Apache-2.0
"""Pods of which no two have the same template: each kind varies one thing that users write.

`matchLabelKeys: [pod-template-hash]` and operators that label every job do that in real life. A scheduler that keeps something
for every selector, topology key or resource that it has ever seen grows with them; `growth_by_templates` measures whether
this one does, and `tests/hostile` looks at what it keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from benchmarks.populations import HOSTNAME, ZONE
from steersman import api
from steersman.testing import (
    PodBuilder,
    is_in,
    make_claim,
    make_namespace,
    make_pod,
    make_replica_set,
    make_service,
    make_storage_class,
    make_volume,
    not_in,
)


class Variant(NamedTuple):
    """A pod, and the objects that come and go with it."""

    pod: PodBuilder
    objects: tuple[api.Object, ...] = ()
    #: A label that some node gets before the pod comes, and keeps until the pod has gone.
    node_label: tuple[str, str] | None = None
    #: A taint of some node, likewise.
    node_taint: str = ""
    #: An extended resource that some node offers, likewise.
    node_resource: str = ""


MakeVariant = Callable[[int], Variant]


def plain(index: int) -> PodBuilder:
    return make_pod(f"pod-{index}").label("app", "web").req(cpu="10m", memory="16Mi")


def required_anti_affinity(index: int) -> Variant:
    own = {"app": "web", "own": f"hash-{index}"}
    return Variant(plain(index).label("own", own["own"]).anti_affinity(HOSTNAME, own))


def preferred_anti_affinity(index: int) -> Variant:
    own = {"own": f"hash-{index}"}
    pod = plain(index).label("own", own["own"]).anti_affinity(HOSTNAME, own, weight=10)
    return Variant(pod.pod_affinity(ZONE, own, weight=5))


def required_affinity(index: int) -> Variant:
    own = {"own": f"hash-{index}"}
    return Variant(plain(index).label("own", own["own"]).pod_affinity(ZONE, own))


def excluding_selectors(index: int) -> Variant:
    """No label value leads to them: they speak of every pod but some."""
    return Variant(plain(index).anti_affinity(HOSTNAME, not_in("app", "web", f"hash-{index}")))


def label_keys(index: int) -> Variant:
    own = {f"example.com/own-{index}": "yes"}
    return Variant(plain(index).label(*next(iter(own.items()))).anti_affinity(HOSTNAME, own))


def topology_keys(index: int) -> Variant:
    pod = plain(index).anti_affinity(f"example.com/rack-{index}", {"app": "db"})
    return Variant(pod.anti_affinity(f"example.com/row-{index}", {"app": "db"}, weight=1))


def topology_keys_of_nodes(index: int) -> Variant:
    key = f"example.com/rack-{index}"
    return Variant(plain(index).anti_affinity(key, {"app": "db"}), node_label=(key, "a"))


def unknown_resources(index: int) -> Variant:
    return Variant(plain(index).req(cpu="10m", **{f"example.com/device-{index}": 1}))


def bound_with_unknown_resources(index: int) -> Variant:
    """A client that may create pods may also set the node name."""
    pod = plain(index).req(cpu="10m", **{f"example.com/device-{index}": 1})
    return Variant(pod.node(f"node-{index % 100}"))


def resources_of_nodes(index: int) -> Variant:
    name = f"example.com/device-{index}"
    return Variant(plain(index).req(cpu="10m", **{name: 1}), node_resource=name)


def hostnames(index: int) -> Variant:
    return Variant(plain(index).node_selector(HOSTNAME, f"node-{index}"))


def node_affinity(index: int) -> Variant:
    pod = plain(index).required_node_affinity(not_in("example.com/bad", f"v{index}"))
    return Variant(pod.preferred_node_affinity(10, is_in("disk", "ssd", f"v{index}")))


def node_label_keys(index: int) -> Variant:
    key = f"example.com/pool-{index}"
    return Variant(plain(index).node_selector(key, "yes"), node_label=(key, "yes"))


def spread_selectors(index: int) -> Variant:
    own = {"own": f"hash-{index}"}
    pod = plain(index).label("own", own["own"]).spread(ZONE, selector=own)
    return Variant(pod.spread(HOSTNAME, when="ScheduleAnyway", selector=own))


def match_label_keys(index: int) -> Variant:
    pod = plain(index).label("pod-template-hash", f"{index:x}")
    return Variant(pod.spread(ZONE, selector={"app": "web"}, match_label_keys=["pod-template-hash"]))


def labels(index: int) -> Variant:
    return Variant(plain(index).label("job", f"job-{index}").label(f"example.com/key-{index}", "x"))


def tolerations(index: int) -> Variant:
    return Variant(plain(index).toleration(f"example.com/taint-{index}"))


def taints(index: int) -> Variant:
    key = f"example.com/taint-{index}"
    return Variant(plain(index).toleration(key), node_taint=key)


def images(index: int) -> Variant:
    return Variant(plain(index).image(f"registry.example.com/team/app:{index}"))


def host_ports(index: int) -> Variant:
    return Variant(plain(index).host_port(1024 + index % 60_000))


def requests(index: int) -> Variant:
    return Variant(plain(index).req(cpu=f"{1 + index % 50_000}m", memory=f"{1 + index}Ki"))


def namespaces(index: int) -> Variant:
    name = f"team-{index}"
    pod = plain(index).namespace(name).anti_affinity(HOSTNAME, {"app": "db"}, namespace_selector={"team": name})
    return Variant(pod, (make_namespace(name).label("team", name).obj(),))


def priorities(index: int) -> Variant:
    return Variant(plain(index).priority(index))


def nominated(index: int) -> Variant:
    return Variant(plain(index).priority(index).nominated(f"node-{index % 1000}"))


def claims(index: int) -> Variant:
    claim = make_claim(f"claim-{index}").asks("1Gi").storage_class("local").bound(f"volume-{index}")
    volume = make_volume(f"volume-{index}").offers("1Gi").storage_class("local").claimed(claim)
    return Variant(plain(index).pvc(f"claim-{index}"), (claim.obj(), volume.on(is_in(ZONE, "zone-1")).obj()))


def missing_claims(index: int) -> Variant:
    return Variant(plain(index).pvc(f"claim-{index}"))


def missing_resource_claims(index: int) -> Variant:
    return Variant(plain(index).resource_claim(f"devices-{index}"))


def foreign_schedulers(index: int) -> Variant:
    return Variant(plain(index).scheduler(f"scheduler-{index}"))


def services(index: int) -> Variant:
    own = {"own": f"hash-{index}"}
    pod = plain(index).label("own", own["own"]).owner("ReplicaSet", f"set-{index}")
    return Variant(pod, (make_service(f"service-{index}").selector(own).obj(), _replica_set(index)))


def _replica_set(index: int) -> api.ReplicaSet:
    return make_replica_set(f"set-{index}").selector({"own": f"hash-{index}"}).obj()


#: What is there besides the nodes, for whichever kind.
COMMON_OBJECTS: tuple[api.Object, ...] = (
    make_storage_class("local").provisioner("kubernetes.io/no-provisioner").waits().obj(),
    make_service("web").selector({"app": "web"}).obj(),
)

KINDS: dict[str, MakeVariant] = {
    function.__name__.replace("_", "-"): function
    for function in (
        labels,
        requests,
        required_anti_affinity,
        preferred_anti_affinity,
        required_affinity,
        excluding_selectors,
        label_keys,
        topology_keys,
        topology_keys_of_nodes,
        unknown_resources,
        bound_with_unknown_resources,
        resources_of_nodes,
        hostnames,
        node_affinity,
        node_label_keys,
        spread_selectors,
        match_label_keys,
        tolerations,
        taints,
        images,
        host_ports,
        namespaces,
        priorities,
        nominated,
        claims,
        missing_claims,
        missing_resource_claims,
        foreign_schedulers,
        services,
    )
}
