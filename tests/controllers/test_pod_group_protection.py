# SPDX-License-Identifier: Apache-2.0
"""Pod groups in use are not deleted."""

from __future__ import annotations

import msgspec
import pytest
from tests.controllers.batch_cluster import TestCluster
from tests.embedded.stores import raw

from steersman import api
from steersman.cluster.controllers.pod_group_protection import PodGroupProtection
from steersman.cluster.store import delete
from steersman.testing import make_pod

_replace = msgspec.structs.replace


def member(name: str, group: str = "gang") -> api.Pod:
    pod = raw(make_pod(name).node("n1"))
    return _replace(pod, spec=_replace(pod.spec, scheduling_group=api.PodSchedulingGroup(pod_group_name=group)))


@pytest.fixture
def cluster() -> TestCluster:
    found = TestCluster()
    PodGroupProtection(found.cluster)
    found.create(api.PodGroup(metadata=api.ObjectMeta(name="gang", namespace="default")))
    return found


def groups(cluster: TestCluster) -> list[str]:
    cluster.run()
    return cluster.names(api.PodGroup)


def test_a_group_is_deleted_with_its_last_pod(cluster: TestCluster) -> None:
    for name in ("a", "b"):
        cluster.create(member(name))
    delete(cluster.store, api.PodGroup, "default/gang")
    assert groups(cluster) == ["gang"]
    cluster.store.delete(api.Pod, "default/a")
    assert groups(cluster) == ["gang"]
    cluster.store.delete(api.Pod, "default/b")
    assert groups(cluster) == []


def test_finished_pods_do_not_use_their_group(cluster: TestCluster) -> None:
    pod = cluster.create(member("a"))
    delete(cluster.store, api.PodGroup, "default/gang")
    assert groups(cluster) == ["gang"]
    assert isinstance(pod, api.Pod)
    cluster.store.update_status(_replace(pod, status=_replace(pod.status, phase="Succeeded")))
    assert groups(cluster) == []


def test_pods_of_other_groups_do_not_matter(cluster: TestCluster) -> None:
    cluster.create(member("a", group="other"))
    delete(cluster.store, api.PodGroup, "default/gang")
    assert groups(cluster) == []
