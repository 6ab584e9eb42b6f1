# SPDX-License-Identifier: Apache-2.0
"""With the shipped admission policy, pods are Steersman's; those of kube-system and those that name a scheduler are not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.deploy.shipped import manifests
from tests.e2e.access.shipped_cluster import ShippedCluster, apply

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import KubeClient, bound_to, manifest, wait_until

STRICT = {"dryRun": "All", "fieldValidation": "Strict"}


@pytest.fixture
def admin(shipped_cluster: ShippedCluster) -> Iterator[KubeClient]:
    """One on whose cluster the policy is in force, until the end of the test."""
    admin, objects = shipped_cluster.plane.admin, manifests("admission")
    apply(admin, objects)
    try:
        wait_until(lambda: scheduler_of(admin, "default") == "steersman", what="the policy")
        yield admin
    finally:
        for kind, name in objects:
            admin.delete(kind, name)
        wait_until(lambda: scheduler_of(admin, "default") == "default-scheduler", what="the end of the policy")


def scheduler_of(admin: KubeClient, namespace: str, **spec: str) -> str:
    """Of a pod that is created there, and not kept."""
    pod = manifest(make_pod("web").namespace(namespace))
    pod["spec"] |= spec
    name: str = admin.create(pod, query=STRICT)["spec"]["schedulerName"]
    return name


def test_pods_outside_of_kube_system_are_given_to_steersman(admin: KubeClient) -> None:
    assert scheduler_of(admin, "default") == "steersman"


def test_kube_system_stays_with_kube_scheduler(admin: KubeClient) -> None:
    assert scheduler_of(admin, "kube-system") == "default-scheduler"


def test_a_pod_that_names_its_scheduler_keeps_it(admin: KubeClient) -> None:
    assert scheduler_of(admin, "default", schedulerName="night-shift") == "night-shift"


def test_a_pod_that_has_a_node_is_left_alone(admin: KubeClient) -> None:
    assert scheduler_of(admin, "default", nodeName="n1") == "default-scheduler"


def test_a_namespace_can_stay_with_kube_scheduler(admin: KubeClient) -> None:
    labels = {"steersman/scheduler-name": "default-scheduler"}
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "traditional", "labels": labels}})
    assert scheduler_of(admin, "traditional") == "default-scheduler"


def test_such_a_pod_is_scheduled_by_the_shipped_deployment(admin: KubeClient, shipped_cluster: ShippedCluster) -> None:
    admin.create_nodes(manifest(make_node("given").capacity(cpu="4", memory="8Gi", pods="20")))
    try:
        with shipped_cluster.steersman():
            admin.create(manifest(make_pod("given")))
            assert wait_until(lambda: bound_to(admin.get("Pod", "given")), what="a node") == "given"
    finally:
        admin.delete("Pod", "given")
        admin.delete("Node", "given")
