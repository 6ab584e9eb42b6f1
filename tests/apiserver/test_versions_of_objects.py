# SPDX-License-Identifier: Apache-2.0
"""Resources with several versions share their objects: events, autoscalers, custom resources."""

from __future__ import annotations

from tests.apiserver.embedded_api import EmbeddedApi, names


def test_an_event_has_two_forms() -> None:
    cluster = EmbeddedApi()
    event = {
        "metadata": {"name": "e"},
        "regarding": {"kind": "Pod", "name": "web"},
        "note": "text",
        "reportingController": "me",
        "deprecatedCount": 3,
    }
    cluster.create("/apis/events.k8s.io/v1/namespaces/default/events", event)
    core = cluster.get("/api/v1/namespaces/default/events/e")
    assert core["apiVersion"] == "v1"
    assert (core["involvedObject"]["name"], core["message"], core["count"]) == ("web", "text", 3)
    assert core["reportingComponent"] == "me"
    modern = "/apis/events.k8s.io/v1/namespaces/default/events"
    assert cluster.get(f"{modern}/e")["note"] == "text"
    assert names(cluster.get(f"{modern}?fieldSelector=regarding.name%3Dweb")) == ["e"]
    core_list = "/api/v1/namespaces/default/events"
    assert names(cluster.get(f"{core_list}?fieldSelector=involvedObject.name%3Dweb")) == ["e"]


def test_an_autoscaler_of_v1_becomes_one_of_v2_and_comes_back() -> None:
    cluster = EmbeddedApi()
    base = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"maxReplicas": 5, "scaleTargetRef": target, "targetCPUUtilizationPercentage": 70}
    cluster.create(base.format("v1"), {"metadata": {"name": "h"}, "spec": spec})
    metrics = cluster.get(base.format("v2") + "/h")["spec"]["metrics"]
    assert metrics[0]["resource"]["target"] == {"type": "Utilization", "averageUtilization": 70}
    assert (
        cluster.get(base.format("v1") + "/h")["spec"] == {"minReplicas": 1, **spec}
        or cluster.get(base.format("v1") + "/h")["spec"] == spec
    )


def test_metrics_that_v1_has_no_field_for_survive_an_update_by_it() -> None:
    cluster = EmbeddedApi()
    base = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"
    memory = {
        "type": "Resource",
        "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 9}},
    }
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"maxReplicas": 5, "scaleTargetRef": target, "metrics": [memory]}
    cluster.create(base.format("v2"), {"metadata": {"name": "h"}, "spec": spec})
    seen = cluster.get(base.format("v1") + "/h")
    seen["spec"]["maxReplicas"] = 6
    cluster.update(base.format("v1") + "/h", seen)
    after = cluster.get(base.format("v2") + "/h")
    assert after["spec"]["metrics"] == [memory]
    assert after["spec"]["maxReplicas"] == 6
    assert "annotations" not in after["metadata"]
