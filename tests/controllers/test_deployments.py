# SPDX-License-Identifier: Apache-2.0
"""Deployments: rollouts of both kinds, scaling, history, pausing, deadlines, and what the status says meanwhile."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.controllers.world import World, with_ready, workload

from steersman import api
from steersman.cluster.controllers.pod_template import template_hash
from steersman.cluster.controllers.replica_set_revisions import POD_TEMPLATE_HASH

_replace = msgspec.structs.replace
_REVISION = "deployment.kubernetes.io/revision"


def _world(replicas: int = 4, start_seconds: float = 0.0, **spec: Any) -> World:
    world = World("deployment", "replicaset", start_seconds=start_seconds)
    world.create(workload("Deployment", replicas=replicas, **spec))
    world.pass_time(start_seconds + 2)
    return world


def _deployment(world: World) -> api.Deployment:
    return world.get(api.Deployment, "web")


def _sizes(world: World) -> dict[str, int]:
    """Replicas by image, of ReplicaSets."""
    return {
        rs.spec.template["spec"]["containers"][0]["image"]: rs.spec.replicas or 0 for rs in world.all(api.ReplicaSet)
    }


def _condition(world: World, kind: str) -> tuple[str, str, str]:
    (found,) = [c for c in _deployment(world).status.conditions if c.type == kind]
    return found.status, found.reason, found.message


def test_it_makes_a_replica_set_named_after_its_template() -> None:
    world = _world(3)
    (replica_set,) = world.all(api.ReplicaSet)
    digest = replica_set.metadata.labels[POD_TEMPLATE_HASH]
    assert replica_set.metadata.name == f"web-{digest}"
    assert digest == template_hash(_deployment(world).spec.template, None)
    assert replica_set.spec.selector == api.LabelSelector({"app": "web", POD_TEMPLATE_HASH: digest})
    assert replica_set.metadata.annotations == {
        _REVISION: "1",
        "deployment.kubernetes.io/desired-replicas": "3",
        "deployment.kubernetes.io/max-replicas": "4",
    }
    assert all(pod.metadata.labels[POD_TEMPLATE_HASH] == digest for pod in world.pods())
    assert _deployment(world).metadata.annotations == {_REVISION: "1"}
    assert world.messages("ScalingReplicaSet") == [f"Scaled up replica set web-{digest} from 0 to 3"]


def test_the_status_of_a_complete_rollout() -> None:
    world = _world(3)
    status = _deployment(world).status
    assert (status.replicas, status.updated_replicas, status.ready_replicas, status.available_replicas) == (3, 3, 3, 3)
    assert (status.unavailable_replicas, status.terminating_replicas, status.observed_generation) == (0, 0, 1)
    name = world.names(api.ReplicaSet)[0]
    assert _condition(world, "Available") == (
        "True",
        "MinimumReplicasAvailable",
        "Deployment has minimum availability.",
    )
    message = f'ReplicaSet "{name}" has successfully progressed.'
    assert _condition(world, "Progressing") == ("True", "NewReplicaSetAvailable", message)


def test_without_nodes_it_is_neither_available_nor_complete() -> None:
    world = World("deployment", "replicaset")
    world.schedules = False
    world.create(workload("Deployment", replicas=2))
    world.settle()
    assert _deployment(world).status.unavailable_replicas == 2
    assert _condition(world, "Available")[:2] == ("False", "MinimumReplicasUnavailable")
    assert _condition(world, "Progressing")[:2] == ("True", "ReplicaSetUpdated")


def test_a_rolling_update_keeps_within_surge_and_unavailability() -> None:
    world = _world(10, start_seconds=1.0, strategy={"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}})
    world.set_image(_deployment(world), "nginx:2")
    most = fewest = 10
    for _ in range(200):
        world.pass_time(0.5, step=0.5)
        active = [pod for pod in world.pods() if pod.metadata.deletion_timestamp is None]
        ready = [pod for pod in active if any(c.type == "Ready" and c.status == "True" for c in pod.status.conditions)]
        most, fewest = max(most, len(active)), min(fewest, len(ready))
    assert most == 13
    assert fewest >= 8
    assert _sizes(world) == {"nginx:1": 0, "nginx:2": 10}
    assert len(world.pods()) == 10


def test_the_defaults_of_a_rolling_update_are_a_quarter() -> None:
    world = _world(4, start_seconds=5.0)
    world.set_image(_deployment(world), "nginx:2")
    world.settle()
    assert _sizes(world) == {"nginx:1": 3, "nginx:2": 2}


def test_unhealthy_pods_of_old_templates_go_first() -> None:
    world = _world(4, start_seconds=5.0, strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 2}})
    bad = world.pods()[0]
    world.change_status(bad, conditions=with_ready(bad.status, ready=False))
    world.settle()
    world.set_image(_deployment(world), "nginx:2")
    world.settle()
    assert bad.metadata.name not in [p.metadata.name for p in world.pods() if p.metadata.deletion_timestamp is None]
    assert sum(_sizes(world).values()) == 4


def test_a_rollout_that_cannot_become_ready_stops_half_way() -> None:
    world = _world(4)
    world.schedules = False
    world.set_image(_deployment(world), "nginx:2")
    world.pass_time(120, step=10)
    assert _sizes(world) == {"nginx:1": 3, "nginx:2": 2}
    assert _condition(world, "Available")[0] == "True"


def test_recreate_waits_until_the_old_pods_are_gone() -> None:
    world = _world(2, strategy={"type": "Recreate"})
    world.set_image(_deployment(world), "nginx:2")
    world.settle()
    assert _sizes(world) == {"nginx:1": 0}
    assert all(pod.metadata.deletion_timestamp is not None for pod in world.pods())
    world.pass_time(40)
    assert _sizes(world) == {"nginx:1": 0, "nginx:2": 2}
    assert _deployment(world).status.available_replicas == 2


def test_scaling_goes_to_the_only_replica_set_that_has_replicas() -> None:
    world = _world(2)
    world.change_spec(_deployment(world), replicas=5)
    world.pass_time(2)
    assert len(world.pods()) == 5
    (replica_set,) = world.all(api.ReplicaSet)
    assert replica_set.metadata.annotations["deployment.kubernetes.io/desired-replicas"] == "5"


def test_scaling_amid_a_rollout_is_in_proportion() -> None:
    world = _world(10, strategy={"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}})
    world.schedules = False
    world.set_image(_deployment(world), "nginx:2")
    world.settle()
    assert _sizes(world) == {"nginx:1": 8, "nginx:2": 5}
    world.change_spec(_deployment(world), replicas=15)
    world.settle()
    assert _sizes(world) == {"nginx:1": 11, "nginx:2": 7}


def test_scaling_to_zero_takes_all() -> None:
    world = _world(3)
    world.change_spec(_deployment(world), replicas=0)
    world.pass_time(40)
    assert not world.pods()
    assert _condition(world, "Available")[0] == "True"


def test_an_old_template_again_is_a_new_revision_of_the_old_replica_set() -> None:
    world = _world(2)
    first = world.names(api.ReplicaSet)[0]
    world.set_image(_deployment(world), "nginx:2")
    world.pass_time(60)
    world.set_image(_deployment(world), "nginx:1")
    world.pass_time(60)
    annotations = world.get(api.ReplicaSet, first).metadata.annotations
    assert annotations[_REVISION] == "3"
    assert annotations["deployment.kubernetes.io/revision-history"] == "1"
    assert _deployment(world).metadata.annotations[_REVISION] == "3"
    assert _sizes(world) == {"nginx:1": 2, "nginx:2": 0}
    assert len(world.all(api.ReplicaSet)) == 2


def test_annotations_of_the_deployment_are_copied_except_those_about_itself() -> None:
    world = World("deployment", "replicaset")
    document = workload("Deployment", replicas=1)
    document["metadata"]["annotations"] = {
        "kubernetes.io/change-cause": "first",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
    }
    world.create(document)
    world.settle()
    annotations = world.all(api.ReplicaSet)[0].metadata.annotations
    assert annotations["kubernetes.io/change-cause"] == "first"
    assert "kubectl.kubernetes.io/last-applied-configuration" not in annotations


def test_old_replica_sets_beyond_the_limit_of_the_history_go() -> None:
    world = _world(1, revisionHistoryLimit=2)
    for number in range(2, 7):
        world.set_image(_deployment(world), f"nginx:{number}")
        world.pass_time(60)
    assert sorted(_sizes(world)) == ["nginx:4", "nginx:5", "nginx:6"]


def test_a_paused_deployment_does_not_roll_but_scales() -> None:
    world = _world(2)
    world.change_spec(_deployment(world), paused=True)
    world.settle()
    assert _condition(world, "Progressing") == ("Unknown", "DeploymentPaused", "Deployment is paused")
    world.set_image(_deployment(world), "nginx:2")
    world.change_spec(_deployment(world), replicas=3)
    world.pass_time(2)
    assert _sizes(world) == {"nginx:1": 3}
    world.change_spec(_deployment(world), paused=False)
    world.pass_time(60)
    assert _sizes(world) == {"nginx:1": 0, "nginx:2": 3}
    assert _condition(world, "Progressing")[1] == "NewReplicaSetAvailable"


def test_a_rollout_without_progress_exceeds_its_deadline() -> None:
    world = _world(2, progressDeadlineSeconds=60)
    world.schedules = False
    world.set_image(_deployment(world), "nginx:2")
    world.pass_time(59, step=5)
    assert _condition(world, "Progressing")[0] == "True"
    world.pass_time(5)
    name = next(rs.metadata.name for rs in world.all(api.ReplicaSet) if rs.metadata.annotations[_REVISION] == "2")
    message = f'ReplicaSet "{name}" has timed out progressing.'
    assert _condition(world, "Progressing") == ("False", "ProgressDeadlineExceeded", message)
    world.schedules = True
    world.pass_time(60)
    assert _condition(world, "Progressing")[1] == "NewReplicaSetAvailable"


def test_pods_must_be_ready_for_a_while_before_the_rollout_goes_on() -> None:
    world = _world(2, minReadySeconds=10, strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})
    world.pass_time(10)
    world.set_image(_deployment(world), "nginx:2")
    world.pass_time(9)
    assert _sizes(world) == {"nginx:1": 2, "nginx:2": 1}
    world.pass_time(3)
    assert _sizes(world) == {"nginx:1": 1, "nginx:2": 2}
    world.pass_time(60)
    assert _sizes(world) == {"nginx:1": 0, "nginx:2": 2}


def test_a_name_that_is_taken_leads_to_another_hash() -> None:
    world = World("deployment", "replicaset")
    world.create(workload("Deployment", replicas=1))
    taken = f"web-{template_hash(_deployment(world).spec.template, None)}"
    world.store.create(
        api.ReplicaSet(metadata=api.ObjectMeta(name=taken, namespace="default"), spec=api.ReplicaSetSpec(replicas=0))
    )
    world.pass_time(2)
    assert _deployment(world).status.collision_count == 1
    assert len(world.pods()) == 1


def test_selected_orphan_replica_sets_are_adopted() -> None:
    world = _world(2)
    (replica_set,) = world.all(api.ReplicaSet)
    world.store.update(_replace(replica_set, metadata=_replace(replica_set.metadata, owner_references=())))
    world.settle()
    (adopted,) = world.all(api.ReplicaSet)
    assert adopted.metadata.owner_references[0].name == "web"


def test_a_default_that_is_written_out_is_no_new_template() -> None:
    world = _world(2)
    template = _deployment(world).spec.template
    bare = {**template, "spec": {k: v for k, v in template["spec"].items() if k in ("containers", "restartPolicy")}}
    world.change_spec(_deployment(world), template=bare)
    world.settle()
    assert len(world.all(api.ReplicaSet)) == 1


def test_a_changed_environment_is_a_new_template() -> None:
    world = _world(2)
    template = _deployment(world).spec.template
    container = {**template["spec"]["containers"][0], "env": [{"name": "A", "value": "b"}]}
    world.change_spec(
        _deployment(world), template={**template, "spec": {**template["spec"], "containers": [container]}}
    )
    world.pass_time(60)
    assert len(world.all(api.ReplicaSet)) == 2


def test_one_that_selects_everything_is_told_so() -> None:
    world = World("deployment")
    world.create(workload("Deployment", selector={}))
    world.settle()
    told = "This deployment is selecting all pods. A non-empty selector is required."
    assert set(world.messages("SelectingAll")) == {told}
    assert _deployment(world).status.observed_generation == 1
    assert not world.all(api.ReplicaSet)


@pytest.mark.parametrize("replicas", [1, 7])
def test_a_restart_by_annotation_replaces_all_pods(replicas: int) -> None:
    world = _world(replicas)
    before = set(world.names())
    template = _deployment(world).spec.template
    annotated = {**template["metadata"], "annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}
    world.change_spec(_deployment(world), template={**template, "metadata": annotated})
    world.pass_time(90)
    assert len(world.pods()) == replicas
    assert before.isdisjoint(world.names())
