# SPDX-License-Identifier: Apache-2.0
"""Clusters in which the pod `wanted` is rejected by one plugin, for every plugin that rejects pods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from msgspec import structs

from steersman import api
from steersman.framework import FilterPlugin, Status, unschedulable
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo
from steersman.scheduler.diagnosis import CauseCode
from steersman.testing import (
    Builder,
    NodeBuilder,
    is_in,
    make_claim,
    make_csi_node,
    make_device_class,
    make_node,
    make_pod,
    make_resource_claim,
    make_slice,
    make_storage_class,
    make_volume,
)

ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"
DRIVER: Final = "disk.example.com"


class Rejection(NamedTuple):
    """A cluster, the plugin that decides, and what the cause is called and says."""

    plugin: str
    code: CauseCode
    #: Words of the sentence.
    says: tuple[str, ...]
    given: Sequence[Builder[Any] | api.Object]
    plugins: tuple[type, ...] = ()

    @property
    def objects(self) -> list[api.Object]:
        return [each.obj() if isinstance(each, Builder) else each for each in self.given]


class Moody(FilterPlugin):
    """A plugin of a user that wants no pod anywhere."""

    name = "Moody"

    def filter(self, pod: PodInfo, node: NodeInfo) -> Status | None:
        return unschedulable("not today")


def node(name: str, zone: str = "a", cpu: str = "4") -> NodeBuilder:
    made = make_node(name).capacity(cpu=cpu, memory="8Gi", pods="10").label(HOSTNAME, name)
    return made.label(ZONE, zone)


def _in_user_namespace_on_host_network() -> api.Pod:
    pod = make_pod("wanted").obj()
    return structs.replace(pod, spec=structs.replace(pod.spec, host_network=True, host_users=False))


def _bound_volume(zone: str) -> list[Builder[Any]]:
    claim = make_claim("data").storage_class("fast").asks("1Gi").bound("disk")
    volume = make_volume("disk").storage_class("fast").offers("1Gi").claimed(claim).on(is_in(ZONE, zone))
    return [make_storage_class("fast"), claim, volume.phase("Bound")]


def _zoned_volume() -> list[Builder[Any]]:
    claim = make_claim("data").storage_class("fast").asks("1Gi").bound("disk")
    volume = make_volume("disk").storage_class("fast").offers("1Gi").claimed(claim).label(ZONE, "b").phase("Bound")
    return [make_storage_class("fast"), claim, volume]


def _attached() -> list[Builder[Any]]:
    """A node that takes one volume of the driver, and has it."""
    made: list[Builder[Any]] = [
        make_csi_node("n1").driver(DRIVER, limit=1),
        make_storage_class("fast").provisioner(DRIVER),
    ]
    for name in ("old", "data"):
        claim = make_claim(name).storage_class("fast").asks("1Gi").bound(f"disk-{name}")
        volume = make_volume(f"disk-{name}").storage_class("fast").offers("1Gi").csi(DRIVER).claimed(claim)
        made += (claim, volume.phase("Bound"))
    return [*made, make_pod("other").pvc("old").node("n1").phase("Running")]


def _in_use() -> list[Builder[Any]]:
    claim = make_claim("data").modes("ReadWriteOncePod").storage_class("fast").asks("1Gi").bound("disk")
    volume = make_volume("disk").modes("ReadWriteOncePod").storage_class("fast").offers("1Gi").claimed(claim)
    return [
        make_storage_class("fast"),
        claim,
        volume.phase("Bound"),
        make_pod("other").pvc("data").node("n1").phase("Running"),
    ]


REJECTIONS: Final[dict[str, Rejection]] = {
    "resources": Rejection(
        "NodeResourcesFit",
        CauseCode.RESOURCES,
        ("The pod needs 6 cpu on one node", "2 nodes are too small, with at most 4"),
        [node("n1"), node("n2"), make_pod("wanted").req(cpu="6")],
    ),
    "fragmentation": Rejection(
        "NodeResourcesFit",
        CauseCode.FRAGMENTATION,
        ("The pod needs 3 cpu on one node", "none has more than 2 free", "4 are free in total, but fragmented"),
        [
            node("n1"),
            node("n2"),
            *(make_pod(f"on-{name}").req(cpu="2").node(name).phase("Running") for name in ("n1", "n2")),
            make_pod("wanted").req(cpu="3"),
        ],
    ),
    "pods": Rejection(
        "NodeResourcesFit",
        CauseCode.POD_LIMIT,
        ("1 node has no room for one more pod",),
        [
            make_node("n1").capacity(cpu="4", memory="8Gi", pods="1"),
            make_pod("other").node("n1").phase("Running"),
            make_pod("wanted"),
        ],
    ),
    "selector": Rejection(
        "NodeAffinity",
        CauseCode.NODE_AFFINITY,
        ("2 nodes would fit but for the pod's node selector or affinity, which wants disk=ssd",),
        [node("n1").label("disk", "hdd"), node("n2"), make_pod("wanted").node_selector("disk", "ssd")],
    ),
    "affinity": Rejection(
        "NodeAffinity",
        CauseCode.NODE_AFFINITY,
        ("wants disk In ssd, nvme",),
        [node("n1"), make_pod("wanted").required_node_affinity(is_in("disk", "ssd", "nvme"))],
    ),
    "taint": Rejection(
        "TaintToleration",
        CauseCode.TAINT,
        ("the taint dedicated=gpu:NoSchedule, which the pod does not tolerate",),
        [node("n1").taint("dedicated", "gpu"), make_pod("wanted")],
    ),
    "cordoned": Rejection(
        "NodeUnschedulable",
        CauseCode.CORDONED,
        ("1 node would fit but for being cordoned",),
        [node("n1").unschedulable(), make_pod("wanted")],
    ),
    "port": Rejection(
        "NodePorts",
        CauseCode.HOST_PORT,
        ("host ports: 80/TCP is taken",),
        [node("n1"), make_pod("other").host_port(80).node("n1").phase("Running"), make_pod("wanted").host_port(80)],
    ),
    "spread": Rejection(
        "PodTopologySpread",
        CauseCode.SPREAD,
        ("the spread constraint", f"{ZONE}=a has 1 pod with app=web, the least is 0", "maxSkew is 1"),
        [
            node("n1", "a"),
            node("n2", "b").unschedulable(),
            make_pod("other").label("app", "web").node("n1").phase("Running"),
            make_pod("wanted").label("app", "web").spread(ZONE, max_skew=1, selector={"app": "web"}),
        ],
    ),
    "anti-affinity": Rejection(
        "InterPodAffinity",
        CauseCode.POD_AFFINITY,
        ("affinity between pods", f"{HOSTNAME}=n1 has 1 pod with app=web"),
        [
            node("n1"),
            make_pod("other").label("app", "web").node("n1").phase("Running"),
            make_pod("wanted").label("app", "web").anti_affinity(HOSTNAME, {"app": "web"}),
        ],
    ),
    "pod affinity": Rejection(
        "InterPodAffinity",
        CauseCode.POD_AFFINITY,
        ("wants app=db", "no pods there"),
        [node("n1"), make_pod("wanted").pod_affinity(HOSTNAME, {"app": "db"})],
    ),
    "missing claim": Rejection(
        "VolumeRestrictions",
        CauseCode.VOLUMES,
        ("The pod fits on no node: ", 'persistentvolumeclaim "data" not found'),
        [node("n1"), make_pod("wanted").pvc("data")],
    ),
    "volume": Rejection(
        "VolumeBinding",
        CauseCode.VOLUMES,
        ("claim data: volume disk wants", f"{ZONE} In b, has {ZONE}=a"),
        [node("n1", "a"), *_bound_volume("b"), make_pod("wanted").pvc("data")],
    ),
    "volume zone": Rejection(
        "VolumeZone",
        CauseCode.VOLUMES,
        ("claim data: volume disk is in", f"{ZONE}=b"),
        [node("n1", "a"), *_zoned_volume(), make_pod("wanted").pvc("data")],
    ),
    "claim in use": Rejection(
        "VolumeRestrictions",
        CauseCode.VOLUMES,
        ("claim data can be used by one pod only",),
        [node("n1"), *_in_use(), make_pod("wanted").pvc("data")],
    ),
    "volume limit": Rejection(
        "NodeVolumeLimits",
        CauseCode.VOLUME_LIMIT,
        (f"{DRIVER} attaches at most 1; the node has 1, the pod adds 1",),
        [node("n1"), *_attached(), make_pod("wanted").pvc("data")],
    ),
    "devices": Rejection(
        "DynamicResources",
        CauseCode.DEVICES,
        ("claim gpu: request one asks 2 of class gpu.example.com, 1 of 1 that match are free",),
        [
            node("n1"),
            make_device_class("gpu.example.com"),
            make_slice("s1").on_node("n1").device("gpu-0"),
            make_resource_claim("gpu").asks("one", "gpu.example.com", count=2),
            make_pod("wanted").resource_claim("gpu"),
        ],
    ),
    "device constraint": Rejection(
        "DynamicResources",
        CauseCode.DEVICES,
        ("asks 2 of class gpu.example.com with the same driver.example.com/numa; 2 are free, but do not meet that",),
        [
            node("n1"),
            make_device_class("gpu.example.com"),
            make_slice("s1").on_node("n1").device("gpu-0", numa=0).device("gpu-1", numa=1),
            make_resource_claim("gpu").asks("one", "gpu.example.com", count=2).matching("driver.example.com/numa"),
            make_pod("wanted").resource_claim("gpu"),
        ],
    ),
    "node features": Rejection(
        "NodeDeclaredFeatures",
        CauseCode.NODE_FEATURES,
        ("node(s) didn't match Pod's required features",),
        [node("n1"), _in_user_namespace_on_host_network()],
    ),
    "plugin of a user": Rejection(
        "Moody",
        CauseCode.PLUGIN,
        ("Moody: not today",),
        [node("n1"), make_pod("wanted")],
        (Moody,),
    ),
    "gate": Rejection(
        "SchedulingGates",
        CauseCode.HELD_BACK,
        ("SchedulingGates holds the pod back", "example.com/wait", "Otherwise: the pod fits on 1 of 1 node"),
        [node("n1"), make_pod("wanted").gate("example.com/wait")],
    ),
    "other scheduler": Rejection(
        "",
        CauseCode.NO_PROFILE,
        ('No scheduler is responsible for the pod: no profile for scheduler name "night-shift"',),
        [node("n1"), make_pod("wanted").scheduler("night-shift")],
    ),
    "no nodes": Rejection("", CauseCode.NO_NODES, ("The cluster has no nodes",), [make_pod("wanted")]),
}
