# SPDX-License-Identifier: Apache-2.0
"""`make_pod`: builder of pods for tests, with the terms of the scheduler.

    make_pod("web-0").label("app", "web").req(cpu="500m", memory="1Gi").spread("zone", selector={"app": "web"}).obj()

Every call that describes a container (`req`, `image`, `host_port`, `container` …) adds one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Self

import msgspec

from steersman import api
from steersman.framework import PodInfo, PodShapes
from steersman.testing.building import Builder, named, resource_list
from steersman.testing.selecting import (
    Expression,
    Selecting,
    label_selector,
    node_selector_term,
    pod_affinity_term,
    preferring_node,
    requiring_node,
    with_pod_term,
)


def make_pod(name: str = "pod") -> PodBuilder:
    return PodBuilder(named(api.Pod, name))


class PodBuilder(Builder[api.Pod]):
    """Builds a pod; `obj()` returns the API object, `info()` its `PodInfo`."""

    def info(self) -> PodInfo:
        return PodShapes().info(self.obj())

    # Containers and resources.

    def container(
        self,
        *,
        name: str = "",
        image: str = "",
        requests: Mapping[str, api.Quantity] | None = None,
        limits: Mapping[str, api.Quantity] | None = None,
        ports: Iterable[api.ContainerPort] = (),
    ) -> Self:
        containers = self._object.spec.containers
        resources = api.ResourceRequirements(requests=dict(requests or {}), limits=dict(limits or {}))
        added = api.Container(
            name=name or f"con{len(containers)}", image=image, resources=resources, ports=tuple(ports)
        )
        return self._spec(containers=(*containers, added))

    def req(self, **requests: api.Quantity) -> Self:
        """Add a container with these requests: `req(cpu="1", **{"example.com/gpu": 2})`."""
        return self.container(requests=resource_list(requests))

    def init_req(self, **requests: api.Quantity) -> Self:
        """Add an init container that ends before the pod starts."""
        return self._init_container(requests, None)

    def sidecar_req(self, **requests: api.Quantity) -> Self:
        """Add a sidecar: an init container that keeps running."""
        return self._init_container(requests, "Always")

    def pod_req(self, **requests: api.Quantity) -> Self:
        """Set pod-level requests."""
        return self._spec(resources=api.ResourceRequirements(requests=resource_list(requests)))

    def overhead(self, **amounts: api.Quantity) -> Self:
        return self._spec(overhead=resource_list(amounts))

    def image(self, image: str) -> Self:
        return self.container(image=image)

    def host_port(self, port: int, *, protocol: str = "TCP", ip: str = "") -> Self:
        return self.container(
            ports=[api.ContainerPort(host_port=port, container_port=port, protocol=protocol, host_ip=ip)]
        )

    def host_network(self) -> Self:
        return self._spec(host_network=True)

    def pvc(self, claim_name: str) -> Self:
        source = api.PersistentVolumeClaimVolumeSource(claim_name=claim_name)
        return self.volume(api.Volume(name=f"vol{len(self._object.spec.volumes)}", persistent_volume_claim=source))

    def resource_claim(self, name: str) -> Self:
        """Use the ResourceClaim with this name."""
        added = api.PodResourceClaim(name=name, resource_claim_name=name)
        return self._spec(resource_claims=(*self._object.spec.resource_claims, added))

    def volume(self, volume: api.Volume) -> Self:
        return self._spec(volumes=(*self._object.spec.volumes, volume))

    # Where the pod may run.

    def node(self, name: str) -> Self:
        """Set `spec.nodeName`: the pod is on this node, or must be scheduled to it."""
        return self._spec(node_name=name)

    def node_selector(self, key: str, value: str) -> Self:
        return self._spec(node_selector={**self._object.spec.node_selector, key: value})

    def toleration(
        self,
        key: str = "",
        value: str | None = None,
        *,
        effect: str = "",
        operator: str = "",
        seconds: int | None = None,
    ) -> Self:
        """Add a toleration. Without a value it matches any value, without a key every taint,
        without an effect every effect."""
        operator = operator or ("Exists" if value is None else "Equal")
        added = api.Toleration(key=key, operator=operator, value=value or "", effect=effect, toleration_seconds=seconds)
        return self._spec(tolerations=(*self._object.spec.tolerations, added))

    def required_node_affinity(self, *expressions: Expression, fields: Sequence[Expression] = ()) -> Self:
        """Add one term, whose expressions must all match; of several terms one must match."""
        term = node_selector_term(expressions, fields)
        return self._with_affinity(node_affinity=requiring_node(self._affinity.node_affinity, term))

    def preferred_node_affinity(self, weight: int, *expressions: Expression, fields: Sequence[Expression] = ()) -> Self:
        term = node_selector_term(expressions, fields)
        return self._with_affinity(node_affinity=preferring_node(self._affinity.node_affinity, term, weight))

    def pod_affinity(
        self,
        topology_key: str,
        selector: Selecting,
        *,
        required: bool = True,
        weight: int = 0,
        namespaces: Iterable[str] = (),
        namespace_selector: Selecting = None,
    ) -> Self:
        """Add affinity to pods with these labels: required, or preferred if there is a weight."""
        term = pod_affinity_term(topology_key, selector, namespaces, namespace_selector)
        affinity = self._affinity.pod_affinity or api.PodAffinity()
        return self._with_affinity(pod_affinity=with_pod_term(affinity, term, required, weight))

    def anti_affinity(
        self,
        topology_key: str,
        selector: Selecting,
        *,
        required: bool = True,
        weight: int = 0,
        namespaces: Iterable[str] = (),
        namespace_selector: Selecting = None,
    ) -> Self:
        """Add anti-affinity to pods with these labels, preferred if there is a weight."""
        term = pod_affinity_term(topology_key, selector, namespaces, namespace_selector)
        affinity = self._affinity.pod_anti_affinity or api.PodAntiAffinity()
        return self._with_affinity(pod_anti_affinity=with_pod_term(affinity, term, required, weight))

    def spread(
        self,
        topology_key: str,
        *,
        max_skew: int = 1,
        when: str = "DoNotSchedule",
        selector: Selecting = None,
        min_domains: int | None = None,
        node_affinity_policy: str | None = None,
        node_taints_policy: str | None = None,
        match_label_keys: Iterable[str] = (),
    ) -> Self:
        added = api.TopologySpreadConstraint(
            max_skew=max_skew,
            topology_key=topology_key,
            when_unsatisfiable=when,
            label_selector=label_selector(selector),
            min_domains=min_domains,
            node_affinity_policy=node_affinity_policy,
            node_taints_policy=node_taints_policy,
            match_label_keys=tuple(match_label_keys),
        )
        return self._spec(topology_spread_constraints=(*self._object.spec.topology_spread_constraints, added))

    # Its place in the queue and in its life.

    def priority(self, priority: int) -> Self:
        return self._spec(priority=priority)

    def in_group(self, name: str) -> Self:
        """Make the pod a member of a PodGroup."""
        return self._spec(scheduling_group=api.PodSchedulingGroup(pod_group_name=name))

    def preemption_policy(self, policy: str) -> Self:
        return self._spec(preemption_policy=policy)

    def gate(self, name: str) -> Self:
        return self._spec(scheduling_gates=(*self._object.spec.scheduling_gates, api.PodSchedulingGate(name=name)))

    def scheduler(self, name: str) -> Self:
        return self._spec(scheduler_name=name)

    # How it runs.

    def restart_policy(self, policy: str) -> Self:
        return self._spec(restart_policy=policy)

    def active_deadline(self, seconds: int) -> Self:
        return self._spec(active_deadline_seconds=seconds)

    def readiness_gate(self, condition: str) -> Self:
        gate = api.PodReadinessGate(condition_type=condition)
        return self._spec(readiness_gates=(*self._object.spec.readiness_gates, gate))

    def phase(self, phase: str) -> Self:
        return self._status(phase=phase)

    def started(self, timestamp: str) -> Self:
        return self._status(start_time=timestamp)

    def nominated(self, node_name: str) -> Self:
        """Nominate the pod to this node."""
        return self._status(nominated_node_name=node_name)

    def condition(self, kind: str, status: str, *, reason: str = "", message: str = "") -> Self:
        added = api.Condition(type=kind, status=status, reason=reason, message=message)
        return self._status(conditions=(*self._object.status.conditions, added))

    def _init_container(self, requests: Mapping[str, api.Quantity], restart_policy: str | None) -> Self:
        containers = self._object.spec.init_containers
        added = api.Container(
            name=f"init{len(containers)}",
            resources=api.ResourceRequirements(requests=resource_list(requests)),
            restart_policy=restart_policy,
        )
        return self._spec(init_containers=(*containers, added))

    @property
    def _affinity(self) -> api.Affinity:
        return self._object.spec.affinity or api.Affinity()

    def _with_affinity(self, **fields: object) -> Self:
        return self._spec(affinity=msgspec.structs.replace(self._affinity, **fields))
