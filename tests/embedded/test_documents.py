# SPDX-License-Identifier: Apache-2.0
"""A store that keeps documents holds every field that came with an object, whoever changes it."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given, strategies as st
from tests.embedded.stores import START

from steersman import api
from steersman.api import codec
from steersman.base.clock import ManualClock
from steersman.cluster.store import ADDED, DELETED, MODIFIED, KubeAdmission, Pods, Store
from steersman.cluster.store.documents import carried, document_of

_replace = msgspec.structs.replace

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default", "managedFields": [{"manager": "kubectl"}]},
    "spec": {
        "containers": [
            {"name": "main", "image": "nginx", "env": [{"name": "A", "value": "1"}]},
            {"name": "side", "image": "envoy", "livenessProbe": {"httpGet": {"port": 80}}},
        ],
        "hostAliases": [{"ip": "10.0.0.1"}],
    },
}


def _store() -> Store:
    return Store(ManualClock(START), admission=KubeAdmission(), keeps_documents=True)


def _created(store: Store) -> api.Pod:
    return store.create(codec.convert(POD, api.Pod), POD)


def test_fields_that_no_struct_has_survive_creation() -> None:
    store = _store()
    pod = _created(store)
    document = store.document(api.Pod, "default/web")
    assert document["metadata"]["managedFields"] == [{"manager": "kubectl"}]
    assert document["metadata"]["uid"] == pod.metadata.uid
    assert document["spec"]["hostAliases"] == [{"ip": "10.0.0.1"}]
    assert document["spec"]["containers"][1]["livenessProbe"] == {"httpGet": {"port": 80}}


def test_the_document_says_what_admission_added() -> None:
    store = _store()
    pod = _created(store)
    assert codec.convert(store.document(api.Pod, "default/web"), api.Pod) == pod


def test_a_binding_changes_the_document_as_well() -> None:
    store = _store()
    pod = _created(store)
    Pods(store).bind("default", "web", pod.metadata.uid, "n1")
    document = store.document(api.Pod, "default/web")
    assert document["spec"]["nodeName"] == "n1"
    assert document["spec"]["containers"][0]["env"] == [{"name": "A", "value": "1"}]
    assert document["status"]["conditions"][0]["type"] == "PodScheduled"


def test_what_was_given_is_never_changed() -> None:
    before = msgspec.json.encode(POD)
    store = _store()
    pod = _created(store)
    Pods(store).bind("default", "web", pod.metadata.uid, "n1")
    assert msgspec.json.encode(POD) == before


def test_a_changed_field_that_no_struct_has_is_a_new_version() -> None:
    store = _store()
    deployment = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 1, "unknownToUs": 1},
    }
    first = store.create(codec.convert(deployment, api.Deployment), deployment)
    changed = {**store.document(api.Deployment, "default/web")}
    changed["spec"] = {**changed["spec"], "unknownToUs": 2}
    second = store.update(codec.convert(changed, api.Deployment), changed)
    assert (first.metadata.generation, second.metadata.generation) == (1, 2)
    assert store.document(api.Deployment, "default/web")["metadata"]["generation"] == 2


def test_writing_the_same_document_again_writes_nothing() -> None:
    store = _store()
    _created(store)
    document = store.document(api.Pod, "default/web")
    store.update(codec.convert(document, api.Pod), document)
    assert store.resource_version == store.document(api.Pod, "default/web")["metadata"]["resourceVersion"]


def test_the_history_has_the_documents_of_every_write() -> None:
    store = _store()
    start = int(store.resource_version)
    pod = _created(store)
    Pods(store).bind("default", "web", pod.metadata.uid, "n1")
    store.delete(api.Pod, "default/web")
    commits = [commit for commit in store.commits_since(start) if commit.kind is api.Pod]
    assert [commit.type for commit in commits] == [ADDED, MODIFIED, DELETED]
    versions = [commit.document["metadata"]["resourceVersion"] for commit in commits if commit.document]
    assert versions == [str(commit.version) for commit in commits]
    assert commits[1].old_document == commits[0].document


def test_a_store_without_documents_makes_them_of_structs() -> None:
    store = Store(ManualClock(START))
    store.create(codec.convert(POD, api.Pod), POD)
    assert "hostAliases" not in store.document(api.Pod, "default/web")["spec"]
    assert store.document(api.Pod, "default/web")["spec"]["containers"][0]["image"] == "nginx"


_names = st.text("abc", min_size=1, max_size=2)
_containers = st.lists(
    st.builds(
        api.Container,
        name=_names,
        image=_names,
        resources=st.builds(api.ResourceRequirements, requests=st.dictionaries(_names, st.integers(0, 3), max_size=2)),
    ),
    max_size=3,
    unique_by=lambda container: container.name,
).map(tuple)
_pods = st.builds(
    api.Pod,
    metadata=st.builds(api.ObjectMeta, name=_names, labels=st.dictionaries(_names, _names, max_size=2)),
    spec=st.builds(api.PodSpec, containers=_containers, node_name=st.sampled_from(["", "n1"])),
    status=st.builds(
        api.PodStatus,
        conditions=st.lists(st.builds(api.Condition, type=_names, status=_names), max_size=3).map(tuple),
    ),
)


@given(old=_pods, new=_pods)
def test_a_carried_document_reads_as_the_new_struct(old: api.Pod, new: api.Pod) -> None:
    document = document_of(old)
    for container in document.get("spec", {}).get("containers", ()):
        container["tty"] = True
    changed = carried(document, old, new)
    assert codec.convert(changed, api.Pod) == new
    kept = {container.name for container in old.spec.containers}
    for container in changed.get("spec", {}).get("containers", ()):
        assert container.get("tty", False) is (container["name"] in kept)
