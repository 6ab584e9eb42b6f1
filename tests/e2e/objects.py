# SPDX-License-Identifier: Apache-2.0
"""Objects that have no builder, or that a real API server wants to be more complete than the builders make them."""

from __future__ import annotations

from steersman.testing import PodBuilder, ServiceBuilder, is_in
from steersman.testing.control_plane import JsonObject, KubeClient, manifest

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


def on(pod: PodBuilder, *nodes: str) -> PodBuilder:
    """May run on these nodes only, by their host names."""
    return pod.required_node_affinity(is_in(HOSTNAME, *nodes))


def priority_class(name: str, value: int, policy: str = "PreemptLowerPriority") -> JsonObject:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "preemptionPolicy": policy,
    }


def prioritised(pod: PodBuilder, class_name: str) -> JsonObject:
    """Priorities come from classes: admission refuses a bare number."""
    made = manifest(pod)
    made["spec"]["priorityClassName"] = class_name
    return made


def headless(service: ServiceBuilder) -> JsonObject:
    """A service without an address needs no port."""
    made = manifest(service)
    made["spec"]["clusterIP"] = "None"
    return made


def create_priority_classes(admin: KubeClient) -> None:
    admin.create_many([priority_class("high", 1000), priority_class("low", 10), priority_class("polite", 900, "Never")])
