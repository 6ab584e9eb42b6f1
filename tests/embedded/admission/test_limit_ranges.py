# SPDX-License-Identifier: Apache-2.0
"""Limit ranges: defaults for containers and bounds for what is asked."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.embedded.stores import admitting_store, raw, with_meta

from steersman import api
from steersman.cluster.store import Forbidden, Store
from steersman.testing import make_claim, make_pod

_replace = msgspec.structs.replace


def _store(**item: Any) -> Store:
    store = admitting_store()
    limits = (api.LimitRangeItem(**{"type": "Container", **item}),)
    meta = api.ObjectMeta(name="limits", namespace="default")
    store.create(api.LimitRange(metadata=meta, spec=api.LimitRangeSpec(limits=limits)))
    return store


def _container(requests: dict[str, Any] | None = None, limits: dict[str, Any] | None = None) -> api.Pod:
    resources = api.ResourceRequirements(requests=requests or {}, limits=limits or {})
    spec = api.PodSpec(containers=(api.Container(name="main", resources=resources),))
    return api.Pod(metadata=api.ObjectMeta(name="web", namespace="default"), spec=spec)


def test_a_container_without_resources_gets_the_defaults() -> None:
    store = _store(default={"cpu": "500m"}, default_request={"cpu": "100m", "memory": "64Mi"})
    pod = store.create(_container())
    resources = pod.spec.containers[0].resources
    assert (resources.requests, resources.limits) == ({"cpu": "100m", "memory": "64Mi"}, {"cpu": "500m"})
    assert pod.metadata.annotations["kubernetes.io/limit-ranger"] == (
        "LimitRanger plugin set: cpu, memory request for container main; cpu limit for container main"
    )


def test_what_a_container_states_stays() -> None:
    store = _store(default={"cpu": "500m"}, default_request={"cpu": "100m"})
    pod = store.create(_container({"cpu": "1"}, {"cpu": "2"}))
    assert pod.spec.containers[0].resources.requests == {"cpu": "1"}
    assert pod.metadata.annotations == {}


def test_defaults_follow_from_the_bounds() -> None:
    store = _store(max={"cpu": "2"}, min={"memory": "64Mi"})
    (item,) = store.get(api.LimitRange, "default/limits").spec.limits
    assert item.default == {"cpu": "2"}
    assert item.default_request == {"cpu": "2", "memory": "64Mi"}


def test_replicas_go_on_sharing_what_they_share() -> None:
    store = _store(default_request={"cpu": "100m"})
    spec = _container().spec
    pods = [store.create(api.Pod(metadata=api.ObjectMeta(name=name), spec=spec)) for name in ("a", "b")]
    assert pods[0].spec is pods[1].spec
    other = store.create(api.Pod(metadata=api.ObjectMeta(name="c", namespace="team"), spec=spec))
    assert other.spec.containers[0].resources.requests == {}


def test_a_changed_range_counts_at_once() -> None:
    store = _store(default_request={"cpu": "100m"})
    spec = _container().spec
    store.create(api.Pod(metadata=api.ObjectMeta(name="a"), spec=spec))
    known = store.get(api.LimitRange, "default/limits")
    item = api.LimitRangeItem(type="Container", default_request={"cpu": "200m"})
    store.update(_replace(known, spec=api.LimitRangeSpec(limits=(item,))))
    pod = store.create(api.Pod(metadata=api.ObjectMeta(name="b"), spec=spec))
    assert pod.spec.containers[0].resources.requests == {"cpu": "200m"}


@pytest.mark.parametrize(
    ("item", "requests", "limits", "message"),
    [
        ({"min": {"cpu": "100m"}}, {"cpu": "50m"}, {}, "minimum cpu usage per Container is 100m, but request is 50m"),
        ({"max": {"cpu": "1"}}, {}, {"cpu": "2"}, "maximum cpu usage per Container is 1, but limit is 2"),
        (
            {"max_limit_request_ratio": {"cpu": "2"}},
            {"cpu": "100m"},
            {"cpu": "300m"},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
        ),
        (
            {"max_limit_request_ratio": {"cpu": "2"}},
            {"cpu": "100m"},
            {},
            "cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0",
        ),
        (
            {"type": "Pod", "max": {"memory": "1Gi"}},
            {"memory": "1Mi"},
            {},
            "maximum memory usage per Pod is 1Gi.  No limit is specified",
        ),
        (
            {"type": "Pod", "min": {"cpu": "1", "memory": "1Gi"}},
            {"cpu": "500m", "memory": "1Mi"},
            {},
            "[minimum cpu usage per Pod is 1, but request is 500m, minimum memory usage per Pod is 1Gi, but request is 1Mi]",
        ),
    ],
)
def test_bounds_are_kept(item: dict[str, Any], requests: dict[str, Any], limits: dict[str, Any], message: str) -> None:
    with pytest.raises(Forbidden) as refusal:
        _store(**item).create(_container(requests, limits))
    assert refusal.value.message == f'pods "web" is forbidden: {message}'


def test_claims_have_bounds_too() -> None:
    store = _store(type="PersistentVolumeClaim", max={"storage": "1Gi"})
    claim = raw(make_claim("data"))
    resources = api.VolumeResourceRequirements(requests={"storage": "2Gi"})
    claim = _replace(claim, spec=_replace(claim.spec, resources=resources))
    message = "maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi"
    with pytest.raises(Forbidden, match=message):
        store.create(claim)


def test_pods_of_a_dump_are_let_in_as_they_are() -> None:
    store = _store(min={"cpu": "1"})
    running = store.create(raw(make_pod("running").node("n1")))
    older = store.create(with_meta(raw(make_pod("older")), creation_timestamp="2030-01-01T00:00:00Z"))
    assert (running.spec.containers, older.spec.containers) == ((), ())
