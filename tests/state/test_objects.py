# SPDX-License-Identifier: Apache-2.0
"""The store of objects other than nodes and pods."""

from __future__ import annotations

from steersman import api
from steersman.scheduler.state.objects import ObjectStore
from steersman.testing import make_namespace, make_service


def test_an_object_is_found_by_kind_and_key() -> None:
    store = ObjectStore()
    service = make_service("web").obj()
    store.put(service)
    assert store.get(api.Service, "default/web") is service
    assert store.get(api.ReplicaSet, "default/web") is None
    assert store.get(api.Service, "shop/web") is None


def test_cluster_scoped_objects_are_found_by_their_name() -> None:
    store = ObjectStore()
    namespace = make_namespace("shop").obj()
    store.put(namespace)
    assert store.get(api.Namespace, "shop") is namespace


def test_putting_an_object_replaces_the_one_of_that_name() -> None:
    store = ObjectStore()
    old = make_service("web").obj()
    new = make_service("web").selector({"app": "web"}).obj()
    assert store.put(old) is None
    assert store.put(new) is old
    assert list(store.list(api.Service)) == [new]
    assert list(store.list(api.Service, "default")) == [new]


def test_lists_are_by_kind_and_namespace() -> None:
    store = ObjectStore()
    here, there = make_service("web").obj(), make_service("web").namespace("shop").obj()
    store.put(here)
    store.put(there)
    store.put(make_namespace("shop").obj())
    assert list(store.list(api.Service)) == [here, there]
    assert list(store.list(api.Service, "shop")) == [there]
    assert list(store.list(api.Service, "nowhere")) == []


def test_a_removed_object_is_gone_from_everywhere() -> None:
    store = ObjectStore()
    service = make_service("web").obj()
    store.put(service)
    assert store.remove(make_service("web").obj()) is service
    assert store.get(api.Service, "default/web") is None
    assert list(store.list(api.Service)) == []
    assert list(store.list(api.Service, "default")) == []


def test_removing_an_unknown_object_changes_nothing() -> None:
    store = ObjectStore()
    assert store.remove(make_service("web").obj()) is None
    assert store.version(api.Service) == 0


def test_the_version_of_a_kind_grows_with_each_of_its_changes_only() -> None:
    store = ObjectStore()
    versions = [store.version(api.Service)]
    service = make_service("web").obj()
    for change in (store.put, store.put, store.remove):
        change(service)
        versions.append(store.version(api.Service))
    assert versions == sorted(set(versions))
    store.put(make_namespace("shop").obj())
    assert store.version(api.Service) == versions[-1]
