# SPDX-License-Identifier: Apache-2.0
"""Horizontal pod autoscalers on load curves."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.controllers.batch_cluster import TestCluster
from tests.embedded.stores import raw, with_status

from steersman import api
from steersman.api import codec
from steersman.cluster.controllers.autoscaler import HorizontalAutoscaler
from steersman.testing import make_pod

_replace = msgspec.structs.replace


class ScaledWorld(TestCluster):
    """A Deployment whose pods are there as soon as it wants them; 1 cpu each."""

    def __init__(
        self,
        load: str = "",
        *,
        replicas: int = 2,
        request: str | None = "1",
        usage: str = "",
        keeps_documents: bool = False,
        **spec: Any,
    ) -> None:
        """`usage` is the load curve of each pod."""
        super().__init__(keeps_documents=keeps_documents)
        self._request, self._usage = request, usage
        HorizontalAutoscaler(self.cluster)
        selector = api.LabelSelector(match_labels={"app": "web"})
        deployment = api.DeploymentSpec(replicas=replicas, selector=selector)
        self.create(api.Deployment(metadata=api.ObjectMeta(name="web"), spec=deployment))
        self.store.subscribe(lambda *_: self._follow(), (api.Deployment,))
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        annotations = {"steersman.dev/load": load} if load else {}
        document = {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web", "namespace": "default", "annotations": annotations},
            "spec": {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 20, **_metrics(50), **spec},
        }
        self.store.create(codec.convert_object(document))
        self.run(1)

    def _follow(self) -> None:
        wanted, names = self.replicas, self.names(api.Pod)
        for number in range(len(names), wanted):
            self.add_pod(f"web-{number}")
        for name in names[wanted:]:
            self.store.delete(api.Pod, f"default/{name}")

    def add_pod(self, name: str, *, ready: bool = True) -> None:
        builder = make_pod(name).label("app", "web").node("n1").phase("Running")
        builder = builder.req(cpu=self._request) if self._request else builder.req(memory="1Mi")
        builder = builder.annotation("steersman.dev/load-cpu", self._usage) if self._usage else builder
        conditions = (api.Condition(type="Ready", status="True" if ready else "False"),)
        self.create(with_status(raw(builder), conditions=conditions))

    @property
    def replicas(self) -> int:
        return self.store.get(api.Deployment, "default/web").spec.replicas or 0

    @property
    def status(self) -> api.HorizontalPodAutoscalerStatus:
        return self.store.get(api.HorizontalPodAutoscaler, "default/web").status

    def condition(self, kind: str) -> tuple[str, str]:
        known = next(condition for condition in self.status.conditions if condition.type == kind)
        return known.status, known.reason


def _metrics(utilization: int) -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": utilization}
    return {"metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]}


def test_replicas_follow_the_load() -> None:
    world = ScaledWorld("0s=2")
    world.run(14)
    assert world.replicas == 2
    world.run(15)
    assert world.replicas == 4
    status = world.status
    assert (status.current_replicas, status.desired_replicas) == (2, 4)
    assert status.last_scale_time == "2031-01-01T00:00:15Z"
    (metric,) = status.current_metrics
    assert metric.resource is not None
    assert (metric.resource.current.average_utilization, metric.resource.current.average_value) == (100, "1")
    assert world.condition("AbleToScale") == ("True", "SucceededRescale")
    assert world.condition("ScalingActive") == ("True", "ValidMetricFound")
    assert world.condition("ScalingLimited") == ("False", "DesiredWithinRange")
    assert world.events[-1].message == (
        "New size: 4; reason: cpu resource utilization (percentage of request) above target"
    )


@pytest.mark.parametrize("load", ["910m", "1", "1090m"])
def test_a_tenth_is_tolerated(load: str) -> None:
    world = ScaledWorld(f"0s={load}")
    world.run(60)
    assert world.replicas == 2


def test_replicas_double_at_most() -> None:
    world = ScaledWorld("0s=10")
    world.run(15)
    assert world.replicas == 4
    assert world.condition("ScalingLimited") == ("True", "ScaleUpLimit")
    world.run(30)
    assert world.replicas == 8
    world.run(45)
    assert world.replicas == 16
    world.run(60)
    assert world.replicas == 20
    world.run(75)
    assert world.condition("ScalingLimited")[0] == "False"


def test_replicas_go_after_five_minutes_of_less_load() -> None:
    world = ScaledWorld("0s=2, 1m=500m")
    world.run(75)
    assert world.replicas == 4
    assert world.condition("AbleToScale") == ("True", "ScaleDownStabilized")
    world.run(340)
    assert world.replicas == 4
    world.run(375)
    assert world.replicas == 1
    assert world.events[-1].message == "New size: 1; reason: All metrics below target"


def test_a_behaviour_sets_windows_and_rates() -> None:
    policies = [{"type": "Pods", "value": 1, "periodSeconds": 60}]
    behavior = {
        "scaleUp": {"policies": policies},
        "scaleDown": {"stabilizationWindowSeconds": 0, "policies": policies},
    }
    world = ScaledWorld("0s=5, 150s=500m", behavior=behavior)
    world.run(30)
    assert world.replicas == 3
    assert world.condition("ScalingLimited") == ("True", "ScaleUpLimit")
    world.run(80)
    assert world.replicas == 4
    world.run(160)
    highest = world.replicas
    world.run(240)
    assert world.replicas == highest - 1


def test_scaling_down_may_be_disabled() -> None:
    behavior = {"scaleDown": {"stabilizationWindowSeconds": 0, "selectPolicy": "Disabled"}}
    world = ScaledWorld("0s=100m", behavior=behavior)
    world.run(60)
    assert world.replicas == 2


def test_pods_that_are_not_ready_are_not_made_twice() -> None:
    world = ScaledWorld("0s=2")
    world.add_pod("coming", ready=False)
    world.add_pod("too", ready=False)
    world.run(15)
    assert world.replicas == 2


def test_there_are_no_more_and_no_fewer_than_allowed() -> None:
    world = ScaledWorld(replicas=1, minReplicas=3)
    world.run(15)
    assert world.replicas == 3
    assert world.events[-1].message == "New size: 3; reason: Current number of replicas below Spec.MinReplicas"
    world = ScaledWorld(replicas=30)
    world.run(15)
    assert world.replicas == 20


def test_without_a_load_there_are_no_metrics() -> None:
    world = ScaledWorld()
    world.run(15)
    assert world.condition("ScalingActive") == ("False", "FailedGetResourceMetric")
    assert world.reasons == ["FailedGetResourceMetric", "FailedComputeMetricsReplicas"]
    assert "unable to get metrics for resource cpu" in world.events[0].message


def test_pods_without_requests_have_no_utilization() -> None:
    world = ScaledWorld("0s=1", request=None)
    world.run(15)
    assert (
        world.events[0].message
        == ("failed to get cpu utilization: missing request for cpu in container web-0 of Pod web-0")
        or "missing request for cpu in container" in world.events[0].message
    )


def test_a_target_that_is_not_there_is_reported() -> None:
    world = ScaledWorld("0s=1", scaleTargetRef={"apiVersion": "apps/v1", "kind": "Deployment", "name": "other"})
    world.run(15)
    assert world.condition("AbleToScale") == ("False", "FailedGetScale")
    assert world.events[-1].message == 'deployments.apps "other" not found'


def test_a_target_without_replicas_is_left_alone() -> None:
    world = ScaledWorld("0s=1", replicas=0)
    world.run(15)
    assert world.condition("ScalingActive") == ("False", "ScalingDisabled")
    assert world.replicas == 0


def test_an_amount_per_pod_may_be_the_target() -> None:
    target = {"type": "AverageValue", "averageValue": "250m"}
    metrics = [{"type": "Pods", "pods": {"metric": {"name": "requests"}, "target": target}}]
    world = ScaledWorld("0s=1", metrics=metrics)
    world.run(15)
    assert world.replicas == 4


def test_an_amount_for_all_may_be_the_target() -> None:
    target = {"type": "Value", "value": "100"}
    metrics = [{"type": "External", "external": {"metric": {"name": "queue"}, "target": target}}]
    world = ScaledWorld("0s=150", metrics=metrics)
    world.run(15)
    assert world.replicas == 3


def test_the_older_version_has_one_percentage() -> None:
    spec = api.HorizontalPodAutoscalerSpec(max_replicas=3, target_cpu_utilization_percentage=70)
    world = TestCluster()
    stored = world.create(api.HorizontalPodAutoscaler(metadata=api.ObjectMeta(name="web"), spec=spec))
    (metric,) = stored.spec.metrics
    assert metric.resource is not None
    assert metric.resource.target.average_utilization == 70


def test_a_sandbox_scales_by_the_usage_that_the_metrics_api_reports() -> None:
    world = ScaledWorld(keeps_documents=True, usage="0s=250m, 1m=750m")
    world.run(45)
    assert world.replicas == 2
    assert world.condition("ScalingActive") == ("True", "ValidMetricFound")
    (metric,) = world.status.current_metrics
    assert metric.resource is not None
    assert metric.resource.current.average_utilization == 25
    world.run(60)
    assert world.replicas == 3


def test_a_sandbox_does_not_scale_pods_that_have_no_load() -> None:
    world = ScaledWorld(keeps_documents=True)
    world.run(60)
    assert world.replicas == 2
    assert world.condition("ScalingActive") == ("False", "FailedGetResourceMetric")
    assert "its simulated pods have no load" in world.events[0].message
    assert "annotate them with steersman.dev/load-cpu" in world.events[0].message


def test_a_sandbox_names_the_container_without_a_request() -> None:
    world = ScaledWorld(keeps_documents=True, request=None)
    world.run(60)
    assert "failed to get cpu utilization: missing request for cpu in container" in world.events[0].message


def test_a_usage_that_is_no_load_curve_is_reported() -> None:
    world = ScaledWorld(keeps_documents=True, usage="much")
    world.run(15)
    assert world.condition("ScalingActive") == ("False", "FailedGetResourceMetric")
    assert "metadata.annotations[steersman.dev/load-cpu]" in world.events[0].message
