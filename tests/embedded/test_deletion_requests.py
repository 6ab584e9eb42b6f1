# SPDX-License-Identifier: Apache-2.0
"""Deletions as clients of an API server ask for them."""

from __future__ import annotations

import msgspec
import pytest
from tests.embedded.stores import START, START_TEXT, bare_pod, clock_of, pod, raw, with_meta

from steersman import api
from steersman.base.clock import ManualClock
from steersman.cluster.store import Conflict, Forbidden, KubeAdmission, NotFound, Store, delete
from steersman.cluster.store.deletion import MAY_NOT_BE_DELETED, Propagation
from steersman.testing import make_pod, make_replica_set

WEB = "default/web"


def _store(awaited: frozenset[str] | None = None, *, keeps_documents: bool = False) -> Store:
    clock = ManualClock(START)
    return Store(clock, admission=KubeAdmission(), keeps_documents=keeps_documents, awaited_finalizers=awaited)


def _finalizers(store: Store, kind: type[api.Object] = api.ReplicaSet) -> tuple[str, ...]:
    return store.get(kind, WEB).metadata.finalizers


def _with_replica_set(*finalizers: str, awaited: frozenset[str] | None = None) -> Store:
    store = _store(awaited)
    store.create(with_meta(raw(make_replica_set("web")), finalizers=finalizers))
    return store


def test_an_object_without_finalizers_is_gone() -> None:
    store = _with_replica_set()
    last, is_gone = delete(store, api.ReplicaSet, WEB)
    assert is_gone
    assert last.metadata.name == "web"
    with pytest.raises(NotFound):
        delete(store, api.ReplicaSet, WEB)


def test_a_finalizer_leaves_the_object_marked() -> None:
    store = _with_replica_set("example.com/mine")
    marked, is_gone = delete(store, api.ReplicaSet, WEB)
    meta = marked.metadata
    assert not is_gone
    assert (meta.deletion_timestamp, meta.deletion_grace_period_seconds, meta.generation) == (START_TEXT, 0, 2)


def test_an_object_that_is_marked_keeps_its_deletion_time() -> None:
    store = _with_replica_set("example.com/mine")
    first, _ = delete(store, api.ReplicaSet, WEB)
    clock_of(store).advance(60)
    assert delete(store, api.ReplicaSet, WEB) == (first, False)


def test_the_update_that_removes_the_last_finalizer_removes_the_object() -> None:
    store = _with_replica_set("example.com/mine", "example.com/yours")
    marked, _ = delete(store, api.ReplicaSet, WEB)
    half = store.update(with_meta(marked, finalizers=("example.com/yours",)))
    assert store.find(api.ReplicaSet, WEB) is half
    store.update(with_meta(half, finalizers=()))
    assert store.find(api.ReplicaSet, WEB) is None


def test_the_update_of_a_document_that_removes_the_last_finalizer_removes_the_object() -> None:
    store = _store(keeps_documents=True)
    store.create(with_meta(bare_pod(), finalizers=("example.com/mine",)))
    marked, _ = delete(store, api.Pod, WEB)
    document = store.document(api.Pod, WEB)
    assert document["metadata"]["deletionGracePeriodSeconds"] == 0
    meta = {name: value for name, value in document["metadata"].items() if name != "finalizers"}
    store.update(with_meta(marked, finalizers=()), {**document, "metadata": meta})
    assert store.find(api.Pod, WEB) is None


def test_an_object_that_is_not_being_deleted_may_lose_its_finalizers() -> None:
    store = _with_replica_set("example.com/mine")
    store.update(with_meta(store.get(api.ReplicaSet, WEB), finalizers=()))
    assert store.find(api.ReplicaSet, WEB) is not None


def test_finalizers_that_are_not_awaited_do_not_delay_a_deletion() -> None:
    store = _with_replica_set("example.com/mine", awaited=frozenset({"orphan"}))
    assert delete(store, api.ReplicaSet, WEB)[1]


def test_an_object_with_awaited_and_other_finalizers_goes_when_the_awaited_ones_are_removed() -> None:
    store = _with_replica_set("example.com/mine", awaited=frozenset({"orphan"}))
    marked, is_gone = delete(store, api.ReplicaSet, WEB, propagation="Orphan")
    assert not is_gone
    store.update(with_meta(marked, finalizers=("example.com/mine",)))
    assert store.find(api.ReplicaSet, WEB) is None


@pytest.mark.parametrize(
    ("propagation", "expected"),
    [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")],
)
def test_the_garbage_collector_is_reported_by_a_finalizer(propagation: Propagation, expected: str) -> None:
    store = _with_replica_set()
    _, is_gone = delete(store, api.ReplicaSet, WEB, propagation=propagation)
    assert not is_gone
    assert _finalizers(store) == (expected,)


def test_another_propagation_changes_the_finalizer() -> None:
    store = _with_replica_set()
    delete(store, api.ReplicaSet, WEB, propagation="Foreground")
    delete(store, api.ReplicaSet, WEB, propagation="Orphan")
    assert _finalizers(store) == ("orphan",)
    assert delete(store, api.ReplicaSet, WEB, propagation="Background")[1]


def test_a_finalizer_of_the_object_says_what_becomes_of_dependents_by_default() -> None:
    store = _with_replica_set("foregroundDeletion")
    assert not delete(store, api.ReplicaSet, WEB)[1]
    assert _finalizers(store) == ("foregroundDeletion",)


@pytest.mark.parametrize("kind", [api.Job, api.ReplicationController])
def test_pods_of_jobs_and_replication_controllers_are_orphaned_by_default(kind: type[api.Object]) -> None:
    store = _store()
    store.create(kind(metadata=api.ObjectMeta(name="web")))
    delete(store, kind, WEB)
    assert _finalizers(store, kind) == ("orphan",)
    assert delete(store, kind, WEB, propagation="Background")[1]


# -- preconditions -------------------------------------------------------------------------------------------------------


def test_a_uid_must_match() -> None:
    store = _with_replica_set()
    uid = store.get(api.ReplicaSet, WEB).metadata.uid
    expected = (
        f'Operation cannot be fulfilled on ReplicaSet.apps "web": the UID in the precondition (other) does not match the UID '
        f"in record ({uid}). The object might have been deleted and then recreated"
    )
    with pytest.raises(Conflict) as refusal:
        delete(store, api.ReplicaSet, WEB, uid="other")
    assert refusal.value.message == expected


def test_a_resource_version_must_match() -> None:
    store = _store()
    version = store.create(bare_pod()).metadata.resource_version
    expected = (
        'Operation cannot be fulfilled on Pod "web": the ResourceVersion in the precondition (1) does not match the '
        f"ResourceVersion in record ({version}). The object might have been modified"
    )
    with pytest.raises(Conflict) as refusal:
        delete(store, api.Pod, WEB, resource_version="1")
    assert refusal.value.message == expected
    assert delete(store, api.Pod, WEB, resource_version=version)[1]


# -- pods ----------------------------------------------------------------------------------------------------------------


def test_a_running_pod_gets_its_own_grace_period_and_the_finalizer_in_one_write() -> None:
    store = _store()
    created = store.create(raw(make_pod("web").node("n1")))
    marked, is_gone = delete(store, api.Pod, WEB, propagation="Foreground")
    meta = marked.metadata
    assert not is_gone
    assert (meta.deletion_grace_period_seconds, meta.finalizers) == (30, ("foregroundDeletion",))
    assert int(meta.resource_version) == int(created.metadata.resource_version) + 1


def test_a_pod_that_has_terminated_waits_for_its_finalizers() -> None:
    store = _store()
    store.create(with_meta(raw(make_pod("web").node("n1")), finalizers=("example.com/mine",)))
    delete(store, api.Pod, WEB)
    store.delete(api.Pod, WEB)  # as the kubelet does
    assert pod(store).metadata.deletion_grace_period_seconds == 0
    store.update(with_meta(pod(store), finalizers=()))
    assert store.find(api.Pod, WEB) is None


def test_a_terminating_pod_without_finalizers_stays_until_its_kubelet_removes_it() -> None:
    store = _store()
    store.create(with_meta(raw(make_pod("web").node("n1")), finalizers=("example.com/mine",)))
    delete(store, api.Pod, WEB)
    store.update(with_meta(pod(store), finalizers=()))
    assert pod(store).metadata.deletion_grace_period_seconds == 30


# -- namespaces ----------------------------------------------------------------------------------------------------------


def _with_namespace() -> Store:
    store = _store()
    store.create(api.Namespace(metadata=api.ObjectMeta(name="team")))
    return store


def test_a_namespace_is_terminating_until_it_is_empty() -> None:
    store = _with_namespace()
    marked, is_gone = delete(store, api.Namespace, "team")
    assert not is_gone
    assert marked.status.phase == "Terminating"
    assert marked.spec.finalizers == ("kubernetes",)
    assert delete(store, api.Namespace, "team") == (marked, False)
    store.update(msgspec.structs.replace(marked, spec=api.NamespaceSpec()))
    assert store.find(api.Namespace, "team") is None


def test_nothing_is_created_in_a_terminating_namespace() -> None:
    store = _with_namespace()
    delete(store, api.Namespace, "team")
    expected = "unable to create new content in namespace team because it is being terminated"
    with pytest.raises(Forbidden, match=f'pods "web" is forbidden: {expected}'):
        store.create(with_meta(bare_pod(), namespace="team"))


def test_what_a_dump_has_in_a_terminating_namespace_is_loaded() -> None:
    store = _with_namespace()
    delete(store, api.Namespace, "team")
    assert store.create(with_meta(bare_pod(), namespace="team", creation_timestamp="2030-01-01T00:00:00Z"))


def test_some_namespaces_stay() -> None:
    store = _store()
    store.create(bare_pod())
    with pytest.raises(Forbidden, match=MAY_NOT_BE_DELETED):
        delete(store, api.Namespace, "default")


def test_the_precondition_of_a_namespace_fails_in_other_words() -> None:
    with pytest.raises(Conflict, match='namespaces "team": Precondition failed: UID in precondition: other'):
        delete(_with_namespace(), api.Namespace, "team", uid="other")
