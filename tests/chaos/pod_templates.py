# SPDX-License-Identifier: Apache-2.0
"""The pods of a chaos run: waves, each with labels, selectors, topology keys and resources that no other wave has.

Comes in: the number of a wave. Goes out: a `Wave`: its pods, what nodes need for them, and what it is called. `tenants`
creates and removes them. What is keyed by such names in a scheduler would grow with every wave if it were not freed.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from steersman import api
from steersman.testing import PodBuilder, is_in, make_pod, make_resource_claim
from steersman.testing.control_plane import JsonObject, manifest

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
POOL: Final = "chaos.example.com/pool"
SMALL: Final = "small"
"""Of the pool whose nodes are soon full, so that pods preempt."""
WAVE: Final = "wave"
PROBE: Final = "probe"
LOW, HIGH = "chaos-low", "chaos-high"
PRIORITIES: Final = {LOW: -10, HIGH: 1000}
DEDICATED: Final = "chaos.example.com/dedicated"
DEVICE_CLASS: Final = "chaos-gpu"
GATE: Final = "chaos.example.com/gate"


@dataclass(slots=True)
class Wave:
    """Pods of one template. `node_labels` and `node_resources` go to some nodes while the wave lives."""

    name: str
    namespace: str
    pods: list[JsonObject]
    claims: list[JsonObject] = field(default_factory=list)
    node_labels: dict[str, str] = field(default_factory=dict)
    node_resources: dict[str, str] = field(default_factory=dict)
    gated: bool = False

    @property
    def objects(self) -> list[JsonObject]:
        return [*self.claims, *self.pods]


@dataclass(frozen=True, slots=True)
class WaveMaker:
    """What a template is given: the number and the name of the wave, and chance."""

    number: int
    namespace: str
    size: int
    chance: random.Random

    @property
    def name(self) -> str:
        return f"w{self.number}"

    @property
    def labels(self) -> dict[str, str]:
        return {"app": f"app-{self.number}"}

    def pod(self, index: int) -> PodBuilder:
        own = {WAVE: self.name, "pod-template-hash": f"{self.number:x}-hash", **self.labels}
        cpu = self.chance.choice(("50m", "100m", "150m", "200m"))
        return make_pod(f"{self.name}-{index}").namespace(self.namespace).labels(own).req(cpu=cpu, memory="64Mi")

    def wave(self, shape: Callable[[PodBuilder], PodBuilder], priority: str = "", **fields: object) -> Wave:
        pods = [created(shape(self.pod(index)), priority) for index in range(self.size)]
        return Wave(self.name, self.namespace, pods, **fields)  # type: ignore[arg-type]


def created(pod: PodBuilder, priority: str = "") -> JsonObject:
    """What the API server is given; victims of preemption have nothing to wait for."""
    made = manifest(pod)
    made["spec"]["terminationGracePeriodSeconds"] = 1
    if priority:
        made["spec"]["priorityClassName"] = priority
    return made


def probe(number: int, namespace: str) -> JsonObject:
    """A pod that fits nearly everywhere: how long it takes is what latency means in a chaos run."""
    pod = make_pod(f"{PROBE}-{number}").namespace(namespace).label(PROBE, "true").req(cpu="10m", memory="16Mi")
    return created(pod, HIGH)


def make_wave(number: int, namespace: str, size: int, seed: int) -> Wave:
    """The same for the same seed and number."""
    template = TEMPLATES[number % len(TEMPLATES)]
    return template(WaveMaker(number, namespace, size, random.Random(f"{seed}/{number}")))


def plain(maker: WaveMaker) -> Wave:
    return maker.wave(lambda pod: pod)


def apart_from_each_other(maker: WaveMaker) -> Wave:
    return maker.wave(lambda pod: pod.anti_affinity(HOSTNAME, maker.labels))


def spread_over_zones(maker: WaveMaker) -> Wave:
    return maker.wave(lambda pod: pod.spread(ZONE, max_skew=2, selector=maker.labels))


def spread_by_template_hash(maker: WaveMaker) -> Wave:
    return maker.wave(
        lambda pod: pod.spread(HOSTNAME, when="ScheduleAnyway", selector=maker.labels, match_label_keys=(_HASH,))
    )


def near_each_other(maker: WaveMaker) -> Wave:
    return maker.wave(lambda pod: pod.pod_affinity(ZONE, maker.labels).anti_affinity(HOSTNAME, maker.labels, weight=50))


def own_topology_key(maker: WaveMaker) -> Wave:
    key = f"rack-{maker.number}.chaos.example.com/id"
    return maker.wave(
        lambda pod: pod.spread(key, max_skew=3, selector=maker.labels), node_labels={key: f"rack-{maker.number}"}
    )


def own_extended_resource(maker: WaveMaker) -> Wave:
    resource = f"chaos.example.com/res-{maker.number}"
    return maker.wave(lambda pod: pod.req(**{resource: "1"}), node_resources={resource: "4"})


def own_node_selector(maker: WaveMaker) -> Wave:
    key = f"chaos.example.com/only-{maker.number}"
    return maker.wave(lambda pod: pod.node_selector(key, "yes"), node_labels={key: "yes"})


def own_host_names(maker: WaveMaker) -> Wave:
    """Preferred, so that nodes that are gone do no harm."""
    names = [f"n{maker.chance.randrange(300)}" for _ in range(5)]
    return maker.wave(lambda pod: pod.preferred_node_affinity(20, is_in(HOSTNAME, *names)))


def tolerant(maker: WaveMaker) -> Wave:
    return maker.wave(lambda pod: pod.toleration(DEDICATED, effect="NoSchedule").toleration(f"own-{maker.number}", "x"))


def gated(maker: WaveMaker) -> Wave:
    return maker.wave(lambda pod: pod.gate(GATE), gated=True)


def with_volumes(maker: WaveMaker) -> Wave:
    volumes: tuple[JsonObject, ...] = (
        {"emptyDir": {}},
        {"configMap": {"name": f"settings-{maker.number}", "optional": True}},
    )
    wave = maker.wave(lambda pod: pod)
    for pod in wave.pods:
        pod["spec"]["volumes"] = [{"name": f"v{index}", **volume} for index, volume in enumerate(volumes)]
    return wave


def with_host_ports(maker: WaveMaker) -> Wave:
    port = 20_000 + maker.number % 10_000
    return maker.wave(lambda pod: pod.host_port(port))


def crowding(maker: WaveMaker) -> Wave:
    """Fills the small nodes with pods that others may push away."""
    return maker.wave(lambda pod: pod.req(cpu="400m").node_selector(POOL, SMALL), LOW)


def preempting(maker: WaveMaker) -> Wave:
    return maker.wave(lambda pod: pod.req(cpu="600m").node_selector(POOL, SMALL), HIGH)


def impossible(maker: WaveMaker) -> Wave:
    return maker.wave(lambda pod: pod.node_selector(f"chaos.example.com/nowhere-{maker.number}", "yes"))


def with_devices(maker: WaveMaker) -> Wave:
    """Three of the pods have a claim for a device each: there are few devices."""
    names = [f"{maker.name}-{index}" for index in range(min(3, maker.size))]
    claims = [
        manifest(make_resource_claim(name).namespace(maker.namespace).asks("gpu", DEVICE_CLASS)) for name in names
    ]
    wave = maker.wave(lambda pod: pod, claims=claims)
    for pod, name in zip(wave.pods, names, strict=False):
        pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": name}]
    return wave


def with_tolerated_spread(maker: WaveMaker) -> Wave:
    selector = api.LabelSelector(match_labels=maker.labels)
    return maker.wave(lambda pod: pod.spread(ZONE, max_skew=5, when="ScheduleAnyway", selector=selector))


_HASH: Final = "pod-template-hash"
TEMPLATES: Final[tuple[Callable[[WaveMaker], Wave], ...]] = (
    plain,
    apart_from_each_other,
    spread_over_zones,
    crowding,
    own_topology_key,
    own_extended_resource,
    preempting,
    spread_by_template_hash,
    near_each_other,
    own_node_selector,
    gated,
    tolerant,
    with_devices,
    own_host_names,
    with_volumes,
    with_host_ports,
    impossible,
    with_tolerated_spread,
)
