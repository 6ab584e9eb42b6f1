# SPDX-License-Identifier: Apache-2.0
"""The status of quotas."""

from __future__ import annotations

import msgspec
from tests.controllers.batch_cluster import TestCluster
from tests.embedded.stores import bare_pod

from steersman import api
from steersman.cluster.controllers.resource_quotas import ResourceQuotaController


def _cluster() -> TestCluster:
    cluster = TestCluster()
    ResourceQuotaController(cluster.cluster)
    meta = api.ObjectMeta(name="q", namespace="default")
    cluster.create(api.ResourceQuota(metadata=meta, spec=api.ResourceQuotaSpec(hard={"pods": 2})))
    cluster.run()
    return cluster


def _status(cluster: TestCluster) -> api.ResourceQuotaStatus:
    return cluster.store.get(api.ResourceQuota, "default/q").status


def test_the_status_says_what_is_used() -> None:
    cluster = _cluster()
    assert _status(cluster) == api.ResourceQuotaStatus(hard={"pods": "2"}, used={"pods": "0"})
    cluster.create(bare_pod())
    cluster.run()
    assert _status(cluster).used == {"pods": "1"}
    cluster.store.delete(api.Pod, "default/web")
    cluster.run()
    assert _status(cluster).used == {"pods": "0"}


def test_another_limit_is_taken_over() -> None:
    cluster = _cluster()
    quota = cluster.store.get(api.ResourceQuota, "default/q")
    cluster.store.update(msgspec.structs.replace(quota, spec=api.ResourceQuotaSpec(hard={"services": "1"})))
    cluster.run()
    assert _status(cluster) == api.ResourceQuotaStatus(hard={"services": "1"}, used={"services": "0"})
