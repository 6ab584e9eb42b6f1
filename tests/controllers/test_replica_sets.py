# SPDX-License-Identifier: Apache-2.0
"""ReplicaSets and ReplicationControllers: as many pods as asked for, adoption and release, and the status."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.controllers.world import World, template, with_ready, workload

from steersman import api
from steersman.cluster.kubelets import RUN_SECONDS, check_annotations
from steersman.cluster.store import Forbidden
from steersman.testing import make_pod

_replace = msgspec.structs.replace


def _world(replicas: int = 3, **spec: Any) -> World:
    world = World("replicaset")
    world.create(workload("ReplicaSet", replicas=replicas, **spec))
    world.settle()
    return world


def test_it_makes_as_many_pods_as_requested() -> None:
    world = _world(3)
    pods = world.pods(app="web")
    assert len(pods) == 3
    assert all(pod.metadata.name.startswith("web-") and pod.metadata.generate_name == "web-" for pod in pods)
    owner = pods[0].metadata.owner_references[0]
    uid = world.get(api.ReplicaSet, "web").metadata.uid
    assert owner == api.OwnerReference("apps/v1", "ReplicaSet", "web", uid, controller=True, block_owner_deletion=True)


def test_pods_of_a_template_share_their_spec() -> None:
    world = World("replicaset")
    world.schedules = False
    world.create(workload("ReplicaSet", replicas=3))
    world.settle()
    first, *others = world.pods()
    assert all(other.spec is first.spec and other.metadata.labels is first.metadata.labels for other in others)


def test_in_stores_with_documents_pods_have_every_field_of_the_template() -> None:
    world = World("replicaset", keeps_documents=True)
    made = template(hostAliases=[{"ip": "10.0.0.1"}])
    world.create({**workload("ReplicaSet", replicas=1), "spec": {**workload("ReplicaSet")["spec"], "template": made}})
    world.settle()
    document = world.store.document(api.Pod, api.key(world.pods()[0]))
    assert document["spec"]["hostAliases"] == [{"ip": "10.0.0.1"}]
    assert document["spec"]["containers"][0]["terminationMessagePolicy"] == "File"
    assert document["spec"]["enableServiceLinks"] is True
    assert document["metadata"]["name"] == world.pods()[0].metadata.name
    assert document["status"]["phase"] == "Running"


def test_the_status_counts_replicas() -> None:
    world = _world(3)
    world.pass_time(2)
    status = world.get(api.ReplicaSet, "web").status
    assert status == api.ReplicaSetStatus(
        replicas=3,
        fully_labeled_replicas=3,
        ready_replicas=3,
        available_replicas=3,
        terminating_replicas=0,
        observed_generation=1,
    )


def test_a_pod_without_all_labels_of_the_template_is_not_fully_labeled() -> None:
    world = World("replicaset")
    document = workload("ReplicaSet", replicas=2)
    document["spec"]["template"]["metadata"]["labels"]["tier"] = "front"
    world.create(document)
    world.settle()
    world.change_labels(world.pods()[0], {"app": "web"})
    world.settle()
    status = world.get(api.ReplicaSet, "web").status
    assert (status.replicas, status.fully_labeled_replicas) == (2, 1)


def test_a_pod_that_ends_is_replaced() -> None:
    world = _world(2)
    world.change_status(world.pods()[0], phase="Failed")
    world.settle()
    assert [pod.status.phase for pod in world.pods()] == ["Failed", "Running", "Running"]
    assert world.get(api.ReplicaSet, "web").status.replicas == 2


def test_a_terminating_pod_is_replaced_at_once_and_counted_as_such() -> None:
    world = _world(2)
    world._pods.delete(api.key(world.pods()[0]), grace_period_seconds=None)
    world.timers.run_until(world.now)
    assert world.get(api.ReplicaSet, "web").status.terminating_replicas == 1
    assert len(world.pods()) == 3
    world.pass_time(40)
    assert len(world.pods()) == 2
    assert world.get(api.ReplicaSet, "web").status.terminating_replicas == 0


def test_it_deletes_surplus_pods() -> None:
    world = _world(5)
    world.change_spec(world.get(api.ReplicaSet, "web"), replicas=2)
    world.pass_time(40)
    assert len(world.pods()) == 2
    assert world.reasons("ReplicaSet/web").count("SuccessfulDelete") == 3
    assert world.messages("SuccessfulDelete")[0].startswith("Deleted pod: web-")


def test_pods_without_a_node_go_first() -> None:
    world = _world(2)
    world.schedules = False
    world.change_spec(world.get(api.ReplicaSet, "web"), replicas=3)
    world.settle()
    world.change_spec(world.get(api.ReplicaSet, "web"), replicas=2)
    world.settle()
    assert all(pod.spec.node_name for pod in world.pods())


def test_selected_orphan_pods_are_adopted() -> None:
    world = World("replicaset")
    world.store.create(make_pod("lonely").label("app", "web").obj())
    world.store.create(make_pod("other").label("app", "db").obj())
    world.create(workload("ReplicaSet", replicas=2))
    world.settle()
    assert len(world.pods(app="web")) == 2
    assert world.get(api.Pod, "lonely").metadata.owner_references[0].name == "web"
    assert not world.get(api.Pod, "other").metadata.owner_references


def test_a_pod_that_comes_later_is_adopted_too_and_is_one_too_many() -> None:
    world = _world(2)
    world.store.create(make_pod("late").label("app", "web").obj())
    world.pass_time(40)
    assert len(world.pods(app="web")) == 2


def test_a_pod_that_is_selected_no_more_is_released_and_replaced() -> None:
    world = _world(2)
    name = world.names()[0]
    world.change_labels(world.pods()[0], {"app": "debug"})
    world.settle()
    assert not world.get(api.Pod, name).metadata.owner_references
    assert len(world.pods(app="web")) == 2


def test_pods_of_others_are_left_alone() -> None:
    world = World("replicaset")
    other = api.OwnerReference("apps/v1", "ReplicaSet", "other", "u", controller=True)
    pod = make_pod("theirs").label("app", "web").obj()
    world.store.create(_replace(pod, metadata=_replace(pod.metadata, owner_references=(other,))))
    world.create(workload("ReplicaSet", replicas=1))
    world.settle()
    assert len(world.pods(app="web")) == 2


def test_pods_count_as_available_after_min_ready_seconds() -> None:
    world = _world(2, minReadySeconds=10)
    world.pass_time(9)
    status = world.get(api.ReplicaSet, "web").status
    assert (status.ready_replicas, status.available_replicas) == (2, 0)
    world.pass_time(2)
    assert world.get(api.ReplicaSet, "web").status.available_replicas == 2
    world.change_status(world.pods()[0], conditions=with_ready(world.pods()[0].status, ready=False))
    world.settle()
    status = world.get(api.ReplicaSet, "web").status
    assert (status.ready_replicas, status.available_replicas) == (1, 1)


def test_a_refused_creation_is_reported_in_the_status_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World("replicaset")
    create, quota = world.store.create, [2]

    def limited(obj: api.Object, document: dict[str, object] | None = None) -> api.Object:
        if isinstance(obj, api.Pod) and len(world.pods()) >= quota[0]:
            raise Forbidden(api.Pod, "web-", "exceeded quota: small")
        return create(obj, document)

    monkeypatch.setattr(world.store, "create", limited)
    world.create(workload("ReplicaSet", replicas=4))
    world.settle()
    status = world.get(api.ReplicaSet, "web").status
    assert len(world.pods()) == 2
    (condition,) = status.conditions
    assert (condition.type, condition.status, condition.reason) == ("ReplicaFailure", "True", "FailedCreate")
    assert condition.message == 'pods "web-" is forbidden: exceeded quota: small'
    assert world.messages("FailedCreate")[0] == f"Error creating: {condition.message}"
    quota[0] = 10
    world.pass_time(5)
    assert len(world.pods()) == 4
    assert not world.get(api.ReplicaSet, "web").status.conditions


def test_one_that_is_being_deleted_makes_no_pods() -> None:
    world = World("replicaset")
    document = workload("ReplicaSet", replicas=2)
    document["metadata"] |= {"deletionTimestamp": "2031-01-01T00:00:00Z", "finalizers": ["foregroundDeletion"]}
    world.create(document)
    world.settle()
    assert not world.pods()


def test_a_replication_controller_does_the_same_without_counting_terminating_pods() -> None:
    world = World("replicationcontroller")
    world.create({**workload("ReplicationController", api_version="v1", replicas=2, selector={"app": "web"})})
    world.settle()
    assert len(world.pods(app="web")) == 2
    status = world.get(api.ReplicationController, "web").status
    assert (status.replicas, status.ready_replicas, status.terminating_replicas) == (2, 2, None)


def test_one_without_a_template_is_passed_over() -> None:
    world = World("replicaset")
    world.store.create(api.ReplicaSet(metadata=api.ObjectMeta(name="bare"), spec=api.ReplicaSetSpec(replicas=2)))
    world.settle()
    assert not world.pods()


def test_a_template_that_cannot_be_read_is_reported() -> None:
    world = World("replicaset")
    document = workload("ReplicaSet", replicas=1)
    document["spec"]["template"]["spec"]["nodeSelector"] = "n1"
    world.create(document)
    world.settle()
    (condition,) = world.get(api.ReplicaSet, "web").status.conditions
    assert "template.spec.nodeSelector" in condition.message


def test_a_pod_that_the_host_refuses_is_reported() -> None:
    world = World("replicaset", check_pod=check_annotations)
    document = workload("ReplicaSet", replicas=1)
    document["spec"]["template"]["metadata"]["annotations"] = {RUN_SECONDS: "soon"}
    world.create(document)
    world.settle()
    (condition,) = world.get(api.ReplicaSet, "web").status.conditions
    assert "is not a number of seconds" in condition.message


def test_pods_that_violate_the_pod_security_level_of_their_namespace_are_not_created() -> None:
    world = World("replicaset")
    world.create(
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "default", "labels": {"pod-security.kubernetes.io/enforce": "baseline"}},
        }
    )
    replica_set = workload("ReplicaSet", replicas=1)
    replica_set["spec"]["template"]["spec"]["hostNetwork"] = True
    world.create(replica_set)
    world.settle()
    assert not world.pods()
    (condition,) = world.get(api.ReplicaSet, "web").status.conditions
    assert (
        'is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)' in condition.message
    )
    assert world.messages("FailedCreate")[0].startswith('Error creating: pods "web-')
