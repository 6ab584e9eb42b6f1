# SPDX-License-Identifier: Apache-2.0
"""Claims and volumes in use are not deleted."""

from __future__ import annotations

import msgspec
from tests.controllers.batch_cluster import TestCluster
from tests.embedded.stores import raw

from steersman import api
from steersman.cluster.controllers.volume_protection import VolumeProtection
from steersman.cluster.store import delete
from steersman.testing import make_claim, make_pod, make_volume


def _cluster() -> TestCluster:
    cluster = TestCluster()
    VolumeProtection(cluster.cluster)
    return cluster


def test_a_claim_stays_while_a_pod_uses_it() -> None:
    cluster = _cluster()
    cluster.create(raw(make_claim("data")))
    cluster.create(raw(make_pod("web").node("n1").pvc("data")))
    delete(cluster.store, api.PersistentVolumeClaim, "default/data")
    cluster.run()
    assert cluster.names(api.PersistentVolumeClaim) == ["data"]
    cluster.store.delete(api.Pod, "default/web")
    cluster.run()
    assert cluster.names(api.PersistentVolumeClaim) == []


def test_a_pod_that_runs_nowhere_uses_nothing() -> None:
    cluster = _cluster()
    cluster.create(raw(make_claim("data")))
    cluster.create(raw(make_pod("web").pvc("data")))
    delete(cluster.store, api.PersistentVolumeClaim, "default/data")
    cluster.run()
    assert cluster.names(api.PersistentVolumeClaim) == []


def test_a_volume_stays_while_it_is_bound() -> None:
    cluster = _cluster()
    volume = raw(make_volume("disk"))
    cluster.create(msgspec.structs.replace(volume, status=api.PersistentVolumeStatus(phase="Bound")))
    delete(cluster.store, api.PersistentVolume, "disk")
    cluster.run()
    marked = cluster.store.get(api.PersistentVolume, "disk")
    cluster.store.update_status(msgspec.structs.replace(marked, status=api.PersistentVolumeStatus(phase="Released")))
    cluster.run()
    assert cluster.names(api.PersistentVolume) == []
