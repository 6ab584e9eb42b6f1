# SPDX-License-Identifier: Apache-2.0
"""What is raced: pods that wait for a scheduler, on nodes that stay from run to run. Plain API objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

JsonObject = dict[str, Any]

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
ZONES: Final = 3
POOL: Final = "pool"
CROWDED: Final = "crowded"
GANG: Final = "gang"
"""Pod groups, which need v1.37 and its feature gates."""
GANG_SIZE: Final = 16
LOW, HIGH = "race-low", "race-high"
SERVED: Final = {"app": "served"}
"""Labels of pods behind the Service, which are spread by default."""
_IMAGE: Final = "pause:3.10"
_CROWDED_EVERY: Final = 5
"""One node in so many is in the pool that the preemption workload fills."""
_DEPLOYMENTS: Final = 20


@dataclass(frozen=True, slots=True)
class Workload:
    """`pods` makes the pods that wait; `before` those that are on nodes already, given the number of nodes."""

    name: str
    pod: Callable[[int], JsonObject]
    before: Callable[[int], Iterator[JsonObject]] = lambda nodes: iter(())
    #: More pods than this do not fit.
    most: Callable[[int], int] = lambda nodes: nodes * 10
    #: Makes the groups of the pods that wait, given their number.
    groups: Callable[[int], Iterator[JsonObject]] = lambda pods: iter(())


def node(index: int) -> JsonObject:
    labels = {HOSTNAME: node_name(index), ZONE: f"zone-{index % ZONES}", "disk": "ssd" if index % 2 else "hdd"}
    if index % _CROWDED_EVERY == 0:
        labels[POOL] = CROWDED
    capacity = {"cpu": "4", "memory": "32Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node_name(index), "labels": labels},
        "status": {"capacity": capacity, "allocatable": capacity, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def node_name(index: int) -> str:
    return f"node-{index:05}"


def priority_classes() -> list[JsonObject]:
    return [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
        for name, value in ((LOW, 1), (HIGH, 1000))
    ]


def service(namespace: str) -> JsonObject:
    """Without an address: what matters is whom it selects."""
    spec = {"clusterIP": "None", "selector": SERVED, "ports": [{"port": 80}]}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "served", "namespace": namespace},
        "spec": spec,
    }


def pod_manifest(
    name: str, labels: dict[str, str] | None = None, cpu: str = "100m", memory: str = "500Mi", **spec: object
) -> JsonObject:
    """A pod of one container, without a namespace; `spec` has further fields."""
    container = {"name": "main", "image": _IMAGE, "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0, **spec},
    }


def resident(index: int, nodes: int) -> JsonObject:
    """A pod that is on a node when the race begins."""
    labels = {"app": f"resident-{index % 100}"}
    return pod_manifest(f"resident-{index}", labels, "50m", "100Mi", nodeName=node_name(index % nodes))


def _selector(labels: dict[str, str]) -> JsonObject:
    return {"matchLabels": labels}


def _basic(index: int) -> JsonObject:
    return pod_manifest(f"basic-{index}")


def _spread(index: int) -> JsonObject:
    labels = {"app": "spread"}
    constraint = {
        "maxSkew": 5,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": _selector(labels),
    }
    return pod_manifest(f"spread-{index}", labels, topologySpreadConstraints=[constraint])


def _apart(index: int) -> JsonObject:
    labels = {"color": "green"}
    term = {"labelSelector": _selector(labels), "topologyKey": HOSTNAME}
    rules = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return pod_manifest(f"apart-{index}", labels, affinity=rules)


def _near(index: int) -> JsonObject:
    labels = {"color": "red"}
    term = {"labelSelector": _selector(labels), "topologyKey": HOSTNAME}
    rules = {
        "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]}
    }
    return pod_manifest(f"near-{index}", labels, affinity=rules)


def _picky(index: int) -> JsonObject:
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["zone-0", "zone-1"]}]}
    rules = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    return pod_manifest(f"picky-{index}", affinity=rules)


def _mixed(index: int) -> JsonObject:
    number = index % _DEPLOYMENTS
    labels = {"app": f"deployment-{number}"}
    spec: JsonObject = {}
    if number % 4 == 1:
        soft = {
            "maxSkew": 1,
            "topologyKey": ZONE,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": _selector(labels),
        }
        spec["topologySpreadConstraints"] = [soft]
    elif number % 4 == 2:
        spec["nodeSelector"] = {"disk": "ssd"}
    elif number % 4 == 3:
        term = {"labelSelector": _selector(labels), "topologyKey": HOSTNAME}
        preferred = [{"weight": 100, "podAffinityTerm": term}]
        spec["affinity"] = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    return pod_manifest(f"mixed-{index}", labels, f"{50 + 10 * number}m", f"{100 + 25 * number}Mi", **spec)


def _daemon(index: int) -> JsonObject:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node_name(index)]}]}
    rules = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    return pod_manifest(f"daemon-{index}", {"app": "daemon"}, affinity=rules)


def _preemptor(index: int) -> JsonObject:
    return pod_manifest(f"urgent-{index}", cpu="3", priorityClassName=HIGH, nodeSelector={POOL: CROWDED})


def _fillers(nodes: int) -> Iterator[JsonObject]:
    for index in range(0, nodes, _CROWDED_EVERY):
        for part in range(4):
            yield pod_manifest(f"filler-{index}-{part}", cpu="900m", priorityClassName=LOW, nodeName=node_name(index))


def _member(index: int) -> JsonObject:
    return pod_manifest(f"gang-{index}", schedulingGroup={"podGroupName": f"gang-{index // GANG_SIZE}"})


def _gangs(pods: int) -> Iterator[JsonObject]:
    """The last gang may be smaller."""
    for first in range(0, pods, GANG_SIZE):
        yield {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": f"gang-{first // GANG_SIZE}"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": min(GANG_SIZE, pods - first)}}},
        }


WORKLOADS: Final = {
    workload.name: workload
    for workload in (
        Workload("basic", _basic),
        Workload("zone spread", _spread),
        Workload("anti-affinity", _apart, most=lambda nodes: nodes),
        Workload("preferred affinity", _near),
        Workload("node affinity", _picky),
        Workload("preemption", _preemptor, _fillers, most=lambda nodes: nodes // _CROWDED_EVERY),
        Workload("20 deployments", _mixed),
        Workload("daemon set", _daemon, most=lambda nodes: nodes),
        Workload(GANG, _member, groups=_gangs),
    )
}
