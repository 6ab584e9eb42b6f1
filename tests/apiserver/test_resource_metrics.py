# SPDX-License-Identifier: Apache-2.0
"""The metrics API: running pods use what they request."""

from __future__ import annotations

import pytest
from tests.apiserver.embedded_api import PODS, EmbeddedApi, names, pod

METRICS = "/apis/metrics.k8s.io/v1beta1"
POD_METRICS = f"{METRICS}/namespaces/default/pods"


@pytest.fixture
def cluster() -> EmbeddedApi:
    """Two nodes, and pods of which `a` and `b` run on the first one."""
    made = EmbeddedApi()
    for name in ("n1", "n2"):
        made.create("/api/v1/nodes", {"metadata": {"name": name}})
    requests = {"cpu": "250m", "memory": "64Mi"}
    containers = [{"name": "app", "image": "i", "resources": {"requests": requests}}, {"name": "idle", "image": "i"}]
    for name, node in (("a", "n1"), ("b", "n1"), ("c", "n2"), ("d", "")):
        labels = {"metadata": {"name": name, "labels": {"app": name}}}
        made.create(PODS, {**pod(name, containers=containers, **({"nodeName": node} if node else {})), **labels})
    for name in "ab":
        made.patch(f"{PODS}/{name}/status", {"status": {"phase": "Running"}})
    return made


def test_a_running_pod_uses_what_its_containers_request(cluster: EmbeddedApi) -> None:
    listed = cluster.get(POD_METRICS)
    assert (listed["kind"], names(listed)) == ("PodMetricsList", ["a", "b"])
    used = [{"name": "app", "usage": {"cpu": "250m", "memory": "65536Ki"}}]
    assert listed["items"][0]["containers"] == [*used, {"name": "idle", "usage": {"cpu": "0m", "memory": "0Ki"}}]
    assert cluster.get(f"{POD_METRICS}/a")["kind"] == "PodMetrics"


def test_a_node_uses_the_sum_of_its_pods(cluster: EmbeddedApi) -> None:
    usage = {item["metadata"]["name"]: item["usage"] for item in cluster.get(f"{METRICS}/nodes")["items"]}
    assert usage == {"n1": {"cpu": "500m", "memory": "131072Ki"}, "n2": {"cpu": "0m", "memory": "0Ki"}}
    assert cluster.get(f"{METRICS}/nodes/n1")["usage"] == usage["n1"]


def test_metrics_are_selected_by_label_and_namespace(cluster: EmbeddedApi) -> None:
    assert names(cluster.get(f"{METRICS}/pods?labelSelector=app=b")) == ["b"]
    assert names(cluster.get(f"{METRICS}/namespaces/other/pods")) == []


@pytest.mark.parametrize("path", ["namespaces/default/pods/c", "namespaces/default/pods/none", "nodes/none"])
def test_what_does_not_run_has_no_metrics(cluster: EmbeddedApi, path: str) -> None:
    cluster.refusal(404, "GET", f"{METRICS}/{path}")


def test_the_group_is_discovered(cluster: EmbeddedApi) -> None:
    assert "metrics.k8s.io" in [group["name"] for group in cluster.get("/apis")["groups"]]
    cluster.refusal(405, "POST", POD_METRICS, {})


def test_annotations_say_what_the_containers_of_a_pod_use_together(cluster: EmbeddedApi) -> None:
    loads = {"steersman.dev/load-cpu": "0s=100m, 1m=600m", "steersman.dev/load-memory": "0s=8Mi"}
    cluster.patch(f"{PODS}/a", {"metadata": {"annotations": loads}})
    cluster.clock.advance(60)
    usage = {"cpu": "300m", "memory": "4096Ki"}
    containers = cluster.get(f"{POD_METRICS}/a")["containers"]
    assert containers == [{"name": "app", "usage": usage}, {"name": "idle", "usage": usage}]
    assert cluster.get(f"{METRICS}/nodes/n1")["usage"] == {"cpu": "850m", "memory": "73728Ki"}
