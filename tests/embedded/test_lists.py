# SPDX-License-Identifier: Apache-2.0
"""Lists: what is in them, in which order, and of which version they are."""

from __future__ import annotations

from tests.embedded.stores import make_store, relabel

from steersman import api
from steersman.api.selectors import from_labels
from steersman.testing import make_node, make_pod


def _names(objects: object) -> list[str]:
    assert isinstance(objects, list)
    return [api.key(obj) for obj in objects]


def test_a_list_has_all_objects_of_the_kind_in_the_order_of_their_keys() -> None:
    store = make_store(make_pod("b"), make_node("n1"), make_pod("a"), make_pod("c").namespace("alpha"))
    objects, version = store.list(api.Pod)
    assert _names(objects) == ["alpha/c", "default/a", "default/b"]
    assert version == store.resource_version


def test_a_list_of_a_kind_without_objects_is_empty() -> None:
    assert make_store().list(api.Node) == ([], "1")


def test_a_list_may_be_of_one_namespace() -> None:
    store = make_store(make_pod("a"), make_pod("b").namespace("other"))
    assert _names(store.list(api.Pod, namespace="other")[0]) == ["other/b"]


def test_a_list_may_be_of_some_labels() -> None:
    store = make_store(make_pod("a").label("app", "web"), make_pod("b").label("app", "db"), make_pod("c"))
    assert _names(store.list(api.Pod, selector=from_labels({"app": "web"}))[0]) == ["default/a"]


def test_the_view_of_a_kind_follows_the_store_in_the_order_of_creation() -> None:
    store = make_store(make_pod("b"))
    pods = store.objects(api.Pod)
    store.create(make_pod("a").obj())
    relabel(store, "b", app="web")
    assert list(pods) == ["default/b", "default/a"]
    assert pods["default/b"].metadata.labels == {"app": "web"}
