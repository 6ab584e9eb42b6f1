# SPDX-License-Identifier: Apache-2.0
"""Updates: optimistic concurrency, what a writer may change, and what counts as a change."""

from __future__ import annotations

import pytest
from tests.embedded.stores import bare_pod, make_store, pod, with_meta, with_spec, with_status

from steersman import api
from steersman.cluster.store import Conflict, NotFound
from steersman.testing import make_node, make_pod, make_replica_set


def test_an_update_replaces_the_object_under_a_new_version() -> None:
    store = make_store(make_pod("web"))
    before = pod(store)
    after = store.update(with_meta(before, labels={"app": "web"}))
    assert pod(store) is after
    assert after.metadata.labels == {"app": "web"}
    assert int(after.metadata.resource_version) == int(before.metadata.resource_version) + 1


def test_an_update_of_an_old_version_is_a_conflict() -> None:
    store = make_store(make_pod("web"))
    seen = pod(store)
    store.update(with_meta(seen, labels={"app": "web"}))
    with pytest.raises(Conflict, match="the object has been modified") as refusal:
        store.update(with_meta(seen, labels={"app": "other"}))
    assert refusal.value.code == 409
    assert pod(store).metadata.labels == {"app": "web"}


def test_an_update_without_a_version_always_wins() -> None:
    store = make_store(make_pod("web"))
    seen = pod(store)
    store.update(with_meta(seen, labels={"app": "web"}))
    store.update(with_meta(seen, labels={"app": "other"}, resource_version=""))
    assert pod(store).metadata.labels == {"app": "other"}


def test_an_object_that_was_recreated_is_another_one() -> None:
    store = make_store(make_pod("web"))
    seen = pod(store)
    store.delete(api.Pod, "default/web")
    store.create(bare_pod())
    with pytest.raises(Conflict, match="Precondition failed: UID in precondition"):
        store.update(with_meta(seen, resource_version=""))


def test_what_does_not_exist_cannot_be_updated() -> None:
    with pytest.raises(NotFound, match='pods "web" not found') as refusal:
        make_store().update(bare_pod())
    assert refusal.value.code == 404


def test_an_update_leaves_the_status_alone() -> None:
    store = make_store(make_pod("web").phase("Pending"))
    after = store.update(with_status(with_meta(pod(store), labels={"a": "b"}), phase="Running"))
    assert (after.status.phase, after.metadata.labels) == ("Pending", {"a": "b"})


def test_an_update_of_the_status_leaves_everything_else_alone() -> None:
    store = make_store(make_pod("web").phase("Pending"))
    after = store.update_status(with_status(with_spec(pod(store), node_name="n1"), phase="Running"))
    assert (after.status.phase, after.spec.node_name) == ("Running", "")


def test_a_replacement_writes_spec_and_status() -> None:
    store = make_store(make_pod("web"))
    after = store.replace(with_status(with_spec(pod(store), node_name="n1"), phase="Running"))
    assert (after.status.phase, after.spec.node_name) == ("Running", "n1")


def test_a_kind_without_status_can_be_updated() -> None:
    store = make_store()
    created = store.create(api.StorageClass(metadata=api.ObjectMeta(name="fast"), provisioner="a"))
    assert store.update(with_meta(created, labels={"a": "b"})).metadata.labels == {"a": "b"}


def test_an_update_that_changes_nothing_writes_nothing() -> None:
    store = make_store(make_pod("web").label("a", "b"))
    before, version = pod(store), store.resource_version
    assert store.update(with_meta(before, labels={"a": "b"}, resource_version="")) is before
    assert store.update_status(before) is before
    assert store.replace(before) is before
    assert store.resource_version == version


def test_a_change_of_the_spec_counts_as_a_generation() -> None:
    store = make_store(make_pod("web"))
    assert store.update(with_meta(pod(store), labels={"a": "b"})).metadata.generation == 1
    assert store.update(with_spec(pod(store), priority=5)).metadata.generation == 2
    assert store.update_status(with_status(pod(store), phase="Running")).metadata.generation == 2


def test_nodes_have_no_generation() -> None:
    store = make_store(make_node("n1"))
    node = store.get(api.Node, "n1")
    changed = store.update(api.Node(metadata=node.metadata, spec=api.NodeSpec(unschedulable=True)))
    assert changed.spec.unschedulable
    assert changed.metadata.generation == 0


def test_a_writer_cannot_change_what_the_server_keeps() -> None:
    store = make_store(make_replica_set("web"))
    before = store.get(api.ReplicaSet, "default/web")
    forged = with_meta(
        before, labels={"a": "b"}, generation=50, creation_timestamp="2000-01-01T00:00:00Z", deletion_timestamp="x"
    )
    after = store.update(forged).metadata
    assert (after.generation, after.creation_timestamp) == (1, before.metadata.creation_timestamp)
    assert after.deletion_timestamp is None
