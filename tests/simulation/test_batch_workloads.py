# SPDX-License-Identifier: Apache-2.0
"""Jobs, schedules, autoscalers, quotas and deletions in simulations."""

from __future__ import annotations

from typing import Any

from tests.simulation.clusters import nodes

from steersman import api
from steersman.api import codec
from steersman.simulation import Simulation
from steersman.testing import make_pod

CONTAINERS = [{"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "500m"}}}]


def _object(kind: str, api_version: str, spec: dict[str, Any], name: str = "work", **meta: Any) -> api.Object:
    metadata = {"name": name, "namespace": "default", **meta}
    return codec.convert_object({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec})


def _template(seconds: int | None = 30) -> dict[str, Any]:
    annotations = {} if seconds is None else {"steersman.dev/run-seconds": str(seconds)}
    return {
        "metadata": {"annotations": annotations, "labels": {"app": "work"}},
        "spec": {"restartPolicy": "Never", "containers": CONTAINERS},
    }


def _deployment(replicas: int) -> api.Object:
    template = _template(None)
    template["spec"] = {"containers": CONTAINERS}
    selector = {"matchLabels": {"app": "work"}}
    return _object("Deployment", "apps/v1", {"replicas": replicas, "selector": selector, "template": template})


def test_a_job_runs_to_its_end() -> None:
    job = _object("Job", "batch/v1", {"parallelism": 2, "completions": 4, "template": _template()})
    simulation = Simulation.load(nodes("n1"), job)
    result = simulation.run()
    assert len(result.placements) == 4
    status = simulation.cluster.get(api.Job, "default/work").status
    assert (status.succeeded, status.conditions[-1].type) == (4, "Complete")
    assert 60 <= simulation.now < 70


def test_a_schedule_runs_as_long_as_the_simulation() -> None:
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": _template(10)}}}
    simulation = Simulation.load(nodes("n1"), _object("CronJob", "batch/v1", spec))
    assert any("CronJob made no job yet" in note for note in simulation.run().notes)
    result = simulation.run(until=150)
    assert len(simulation.cluster.objects(api.Job)) == 2
    assert not any("CronJob" in note and "no job" in note for note in result.notes)


def test_an_autoscaler_follows_a_load_to_its_end() -> None:
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "work"},
        "minReplicas": 1,
        "maxReplicas": 10,
    }
    load = {"steersman.dev/load": "0s=400m, 1m=2"}
    scaler = _object("HorizontalPodAutoscaler", "autoscaling/v2", spec, annotations=load)
    simulation = Simulation.load(nodes("n1", "n2"), _deployment(1), scaler)
    simulation.run()
    assert simulation.cluster.get(api.Deployment, "default/work").spec.replicas == 5
    assert simulation.now >= 60


def test_an_autoscaler_without_a_load_is_noted() -> None:
    spec = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "work"}, "maxReplicas": 10}
    scaler = _object("HorizontalPodAutoscaler", "autoscaling/v2", spec)
    result = Simulation.load(nodes("n1"), _deployment(1), scaler).run()
    assert any("steersman.dev/load" in note for note in result.notes)


def test_a_quota_keeps_replicas_from_being_made_and_is_named() -> None:
    quota = _object("ResourceQuota", "v1", {"hard": {"pods": "2"}}, name="small")
    result = Simulation.load(nodes("n1"), _deployment(3), quota).run()
    assert len(result.placements) == 2
    assert any("exceeded quota: small" in note for note in result.notes)


def test_what_is_deleted_takes_its_dependents_along() -> None:
    simulation = Simulation.load(nodes("n1"), _deployment(3))
    simulation.run()
    simulation.delete("deployment/work").run()
    assert list(simulation.cluster.objects(api.Pod)) == []
    assert list(simulation.cluster.objects(api.ReplicaSet)) == []


def test_replicas_of_a_deleted_node_are_made_again() -> None:
    simulation = Simulation.load(nodes("n1", "n2"), _deployment(2))
    simulation.run()
    result = simulation.delete("node/n1").run()
    assert {placement.node for placement in result.placements.values()} == {"n2"}
    assert len(result.placements) == 2


def test_a_namespace_is_emptied() -> None:
    spec = {"containers": CONTAINERS}
    pod = _object("Pod", "v1", spec, namespace="team")
    simulation = Simulation.load(nodes("n1"), pod)
    simulation.run()
    simulation.delete("namespace/team").run()
    assert list(simulation.cluster.objects(api.Pod)) == []
    assert "team" not in simulation.cluster.objects(api.Namespace)


def test_a_pod_that_a_quota_refuses_does_not_stop_the_others() -> None:
    quota = _object("ResourceQuota", "v1", {"hard": {"pods": "2"}}, name="small")
    pods = [make_pod(name).obj() for name in ("a", "b", "c", "d")]
    result = Simulation.load(nodes("n1"), quota, pods).run()
    assert sorted(result.placements) == ["default/a", "default/b"]
    assert [note for note in result.notes if "refused" in note] == [
        '2 objects were refused, and count nowhere, for example: pods "c" is forbidden: exceeded quota: small, '
        "requested: pods=1, used: pods=2, limited: pods=2"
    ]
