# SPDX-License-Identifier: Apache-2.0
"""How a namespace is emptied."""

from __future__ import annotations

from tests.controllers.batch_cluster import TestCluster
from tests.embedded.stores import bare_pod, raw, with_meta

from steersman import api
from steersman.cluster.controllers.namespaces import NamespaceController
from steersman.cluster.store import delete
from steersman.testing import make_pod, make_replica_set

Widget = api.custom_kind("example.com/v1", "Widget", "widgets")


def _cluster() -> TestCluster:
    cluster = TestCluster()
    NamespaceController(cluster.cluster)
    cluster.create(api.Namespace(metadata=api.ObjectMeta(name="team")))
    return cluster


def _widget(*finalizers: str) -> api.Object:
    return Widget(metadata=api.ObjectMeta(name="one", namespace="team", finalizers=finalizers))


def _conditions(cluster: TestCluster) -> dict[str, api.Condition]:
    return {known.type: known for known in cluster.store.get(api.Namespace, "team").status.conditions}


def test_everything_in_it_goes_and_then_the_namespace() -> None:
    cluster = _cluster()
    cluster.create(with_meta(bare_pod(), namespace="team"))
    cluster.create(with_meta(raw(make_replica_set("web")), namespace="team"))
    cluster.create(_widget())
    cluster.create(bare_pod())
    delete(cluster.store, api.Namespace, "team")
    cluster.run()
    assert cluster.names(api.Namespace) == ["default"]
    assert (cluster.names(api.ReplicaSet), cluster.names(Widget)) == ([], [])
    assert list(cluster.store.objects(api.Pod)) == ["default/web"]


def test_an_empty_namespace_goes() -> None:
    cluster = _cluster()
    delete(cluster.store, api.Namespace, "team")
    cluster.run()
    assert cluster.names(api.Namespace) == []


def test_other_objects_wait_for_the_pods() -> None:
    cluster = _cluster()
    cluster.create(with_meta(raw(make_pod("web").node("n1")), namespace="team"))
    cluster.create(_widget())
    delete(cluster.store, api.Namespace, "team")
    cluster.run(5)
    assert cluster.names(Widget) == ["one"]
    assert cluster.store.get(api.Pod, "team/web").metadata.deletion_timestamp is not None
    cluster.store.delete(api.Pod, "team/web")
    cluster.run(5)
    assert (cluster.names(api.Namespace), cluster.names(Widget)) == ([], [])


def test_conditions_say_what_is_left() -> None:
    cluster = _cluster()
    cluster.create(_widget("example.com/mine"))
    delete(cluster.store, api.Namespace, "team")
    cluster.run()
    conditions = _conditions(cluster)
    assert {kind: condition.status for kind, condition in conditions.items()} == {
        "NamespaceDeletionDiscoveryFailure": "False",
        "NamespaceDeletionGroupVersionParsingFailure": "False",
        "NamespaceDeletionContentFailure": "False",
        "NamespaceContentRemaining": "True",
        "NamespaceFinalizersRemaining": "True",
    }
    assert conditions["NamespaceContentRemaining"].message == (
        "Some resources are remaining: widgets.example.com has 1 resource instances"
    )
    assert conditions["NamespaceFinalizersRemaining"].message == (
        "Some content in the namespace has finalizers remaining: example.com/mine in 1 resource instances"
    )
    cluster.store.update(with_meta(cluster.store.get(Widget, "team/one"), finalizers=()))
    cluster.run()
    assert cluster.names(api.Namespace) == []
