# SPDX-License-Identifier: Apache-2.0
"""Resource quotas at admission, and what is counted."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.embedded.stores import admitting_store, raw, with_meta

from steersman import api
from steersman.cluster.store import Forbidden, Pods, Store
from steersman.cluster.store.admission.quotas import quota_ledger
from steersman.testing import make_claim, make_pod

_replace = msgspec.structs.replace


def _store(hard: dict[str, Any], **spec: Any) -> Store:
    store = admitting_store()
    meta = api.ObjectMeta(name="q", namespace="default")
    store.create(api.ResourceQuota(metadata=meta, spec=api.ResourceQuotaSpec(hard=hard, **spec)))
    return store


def _pod(name: str, requests: dict[str, Any] | None = None, **spec: Any) -> api.Pod:
    resources = api.ResourceRequirements(requests=requests or {"cpu": "1"})
    containers = (api.Container(name="main", resources=resources),)
    return api.Pod(metadata=api.ObjectMeta(name=name), spec=api.PodSpec(containers=containers, **spec))


def _used(store: Store) -> dict[str, Any]:
    return dict(quota_ledger(store).used("default/q") or {})


def test_a_pod_too_many_is_refused_in_upstreams_words() -> None:
    store = _store({"cpu": "3", "pods": "10"})
    for name in "abc":
        store.create(_pod(name))
    with pytest.raises(Forbidden) as refusal:
        store.create(_pod("d"))
    assert refusal.value.message == (
        'pods "d" is forbidden: exceeded quota: q, requested: cpu=1, used: cpu=3, limited: cpu=3'
    )
    assert _used(store) == {"cpu": "3", "pods": "3"}


def test_all_exceeded_resources_are_named() -> None:
    store = _store({"requests.cpu": "1", "pods": "0"})
    with pytest.raises(Forbidden) as refusal:
        store.create(_pod("a", {"cpu": "1500m"}))
    assert refusal.value.message.endswith(
        "exceeded quota: q, requested: pods=1,requests.cpu=1500m, used: pods=0,requests.cpu=0, "
        "limited: pods=0,requests.cpu=1"
    )


def test_deleted_and_finished_pods_make_room() -> None:
    store = _store({"pods": "1"})
    store.create(_pod("a"))
    store.delete(api.Pod, "default/a")
    second = store.create(_pod("b"))
    store.update_status(_replace(second, status=_replace(second.status, phase="Succeeded")))
    store.create(_pod("c"))
    assert _used(store) == {"pods": "1"}


def test_binding_changes_nothing() -> None:
    store = _store({"cpu": "4"})
    store.create(_pod("a"))
    Pods(store).bind("default", "a", "", "n1")
    assert _used(store) == {"cpu": "1"}
    store.delete(api.Pod, "default/a")
    assert _used(store) == {"cpu": "0"}


def test_what_was_there_before_the_quota_counts() -> None:
    store = admitting_store()
    store.create(_pod("a"))
    store.create(api.Service(metadata=api.ObjectMeta(name="web")))
    meta = api.ObjectMeta(name="q", namespace="default")
    hard: dict[str, Any] = {"cpu": "1", "services": "5", "count/services": "5"}
    store.create(api.ResourceQuota(metadata=meta, spec=api.ResourceQuotaSpec(hard=hard)))
    with pytest.raises(Forbidden):
        store.create(_pod("b"))
    assert _used(store) == {"cpu": "1", "services": "1", "count/services": "1"}


def test_a_container_has_to_say_what_a_quota_limits() -> None:
    store = _store({"limits.cpu": "3", "requests.memory": "1Gi"})
    with pytest.raises(Forbidden) as refusal:
        store.create(_pod("a"))
    assert refusal.value.message == (
        'pods "a" is forbidden: failed quota: q: must specify limits.cpu for: main; requests.memory for: main'
    )


def test_quotas_of_other_namespaces_do_not_count() -> None:
    store = _store({"pods": "0"})
    assert store.create(with_meta(_pod("a"), namespace="team"))


@pytest.mark.parametrize(
    ("scope", "spec", "is_counted"),
    [
        ("Terminating", {"active_deadline_seconds": 10}, True),
        ("Terminating", {}, False),
        ("NotTerminating", {}, True),
        ("BestEffort", {}, False),
        ("NotBestEffort", {}, True),
        ("PriorityClass", {"priority_class_name": "system-node-critical"}, True),
        ("PriorityClass", {}, False),
    ],
)
def test_scopes_say_which_pods_count(scope: str, spec: dict[str, Any], is_counted: bool) -> None:
    store = _store({"pods": "9"}, scopes=(scope,))
    store.create(_pod("a", **spec))
    assert _used(store) == {"pods": "1" if is_counted else "0"}


def test_a_quota_may_be_for_some_priority_classes() -> None:
    requirement = api.ScopedSelectorRequirement("PriorityClass", "In", ("system-node-critical",))
    store = _store({"pods": "0"}, scope_selector=api.ScopeSelector(match_expressions=(requirement,)))
    store.create(_pod("a", priority_class_name="system-cluster-critical"))
    with pytest.raises(Forbidden, match="exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0"):
        store.create(_pod("b", priority_class_name="system-node-critical"))


def test_objects_of_any_kind_can_be_counted() -> None:
    kind = api.custom_kind("example.com/v1", "Widget", "widgets")
    store = _store({"count/widgets.example.com": "1", "count/deployments.apps": "0"})
    store.create(kind(metadata=api.ObjectMeta(name="a")))
    with pytest.raises(Forbidden, match=r'widgets.example.com "b" is forbidden: exceeded quota: q'):
        store.create(kind(metadata=api.ObjectMeta(name="b")))
    with pytest.raises(Forbidden):
        store.create(api.Deployment(metadata=api.ObjectMeta(name="web")))


def test_storage_is_counted_by_class_and_when_it_grows() -> None:
    store = _store({"requests.storage": "3Gi", "fast.storageclass.storage.k8s.io/persistentvolumeclaims": "1"})
    resources = api.VolumeResourceRequirements(requests={"storage": "2Gi"})
    claim = raw(make_claim("data"))
    stored = store.create(_replace(claim, spec=_replace(claim.spec, resources=resources, storage_class_name="fast")))
    larger = api.VolumeResourceRequirements(requests={"storage": "4Gi"})
    with pytest.raises(Forbidden, match=r"requested: requests.storage=2Gi, used: requests.storage=2Gi"):
        store.update(_replace(stored, spec=_replace(stored.spec, resources=larger)))
    other = raw(make_claim("other"))
    other = _replace(other, spec=_replace(other.spec, storage_class_name="fast"))
    with pytest.raises(Forbidden, match=r"fast.storageclass.storage.k8s.io/persistentvolumeclaims=1"):
        store.create(other)


def test_extended_resources_are_counted_by_their_requests() -> None:
    store = _store({"requests.example.com/gpu": "1"})
    store.create(_pod("a", {"example.com/gpu": "1"}))
    with pytest.raises(Forbidden, match=r"requested: requests.example.com/gpu=1"):
        store.create(_pod("b", {"example.com/gpu": "1"}))


def test_pods_of_a_dump_are_counted_and_let_in() -> None:
    store = _store({"pods": "1"})
    for name in "ab":
        store.create(raw(make_pod(name).node("n1")))
    assert _used(store) == {"pods": "2"}
    with pytest.raises(Forbidden, match="used: pods=2"):
        store.create(_pod("c"))
