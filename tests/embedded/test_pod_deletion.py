# SPDX-License-Identifier: Apache-2.0
"""Deleting pods: at once, or after a grace period."""

from __future__ import annotations

import pytest
from tests.embedded.stores import clock_of, make_store, pod, raw, with_spec

from steersman import api
from steersman.cluster.store import Conflict, Pods, Store
from steersman.testing import PodBuilder, make_pod


def _store(builder: PodBuilder, own_period: int | None = None) -> Store:
    store = make_store()
    store.create(with_spec(raw(builder), termination_grace_period_seconds=own_period))
    return store


def _exists(store: Store) -> bool:
    return store.find(api.Pod, "default/web") is not None


def test_a_pod_goes_at_once_unless_asked_otherwise() -> None:
    store = _store(make_pod("web").node("n1"), own_period=30)
    Pods(store).delete("default/web")
    assert not _exists(store)


def test_a_grace_period_makes_a_running_pod_terminating() -> None:
    store = _store(make_pod("web").node("n1"))
    Pods(store).delete("default/web", grace_period_seconds=45)
    meta = pod(store).metadata
    assert meta.deletion_timestamp == "2031-01-01T00:00:45Z"
    assert meta.deletion_grace_period_seconds == 45
    assert meta.generation == 2


def test_the_grace_period_may_be_the_pods_own() -> None:
    store = _store(make_pod("web").node("n1"), own_period=30)
    Pods(store).delete("default/web", grace_period_seconds=None)
    assert pod(store).metadata.deletion_grace_period_seconds == 30


def test_a_pod_without_a_grace_period_of_its_own_goes_at_once() -> None:
    store = _store(make_pod("web").node("n1"))
    Pods(store).delete("default/web", grace_period_seconds=None)
    assert not _exists(store)


@pytest.mark.parametrize("builder", [make_pod("web"), make_pod("web").node("n1").phase("Succeeded")])
def test_a_pod_that_runs_nowhere_goes_at_once(builder: PodBuilder) -> None:
    store = _store(builder)
    Pods(store).delete("default/web", grace_period_seconds=30)
    assert not _exists(store)


def test_a_negative_grace_period_is_one_second() -> None:
    store = _store(make_pod("web").node("n1"))
    Pods(store).delete("default/web", grace_period_seconds=-5)
    assert pod(store).metadata.deletion_grace_period_seconds == 1


def test_the_grace_period_of_a_terminating_pod_can_be_shortened() -> None:
    store = _store(make_pod("web").node("n1"))
    Pods(store).delete("default/web", grace_period_seconds=60)
    clock_of(store).advance(10)
    Pods(store).delete("default/web", grace_period_seconds=20)
    meta = pod(store).metadata
    assert (meta.deletion_timestamp, meta.deletion_grace_period_seconds) == ("2031-01-01T00:00:20Z", 20)
    assert meta.generation == 2


def test_a_shortened_grace_period_does_not_end_in_the_past() -> None:
    store = _store(make_pod("web").node("n1"))
    Pods(store).delete("default/web", grace_period_seconds=60)
    clock_of(store).advance(40)
    Pods(store).delete("default/web", grace_period_seconds=20)
    meta = pod(store).metadata
    assert (meta.deletion_timestamp, meta.deletion_grace_period_seconds) == ("2031-01-01T00:00:40Z", 1)


@pytest.mark.parametrize("period", [60, 90, None])
def test_the_grace_period_of_a_terminating_pod_is_not_made_longer(period: int | None) -> None:
    store = _store(make_pod("web").node("n1"))
    Pods(store).delete("default/web", grace_period_seconds=60)
    before = pod(store)
    assert Pods(store).delete("default/web", grace_period_seconds=period) is before


def test_a_terminating_pod_can_be_deleted_at_once() -> None:
    store = _store(make_pod("web").node("n1"))
    Pods(store).delete("default/web", grace_period_seconds=60)
    Pods(store).delete("default/web")
    assert not _exists(store)


def test_a_terminating_pod_without_a_known_period_goes_at_once() -> None:
    store = _store(make_pod("web").node("n1").terminating())
    Pods(store).delete("default/web", grace_period_seconds=60)
    assert not _exists(store)


def test_a_deletion_may_be_meant_for_one_uid_only() -> None:
    store = _store(make_pod("web"))
    with pytest.raises(Conflict):
        Pods(store).delete("default/web", uid="another")
    assert _exists(store)
