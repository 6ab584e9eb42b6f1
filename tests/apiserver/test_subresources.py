# SPDX-License-Identifier: Apache-2.0
"""Subresources over the API: scale, binding, eviction, tokens, and parts of pods that may change later."""

from __future__ import annotations

from typing import Any

import pytest
from tests.apiserver.embedded_api import PODS, EmbeddedApi, pod

from steersman.testing import make_node

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


@pytest.fixture
def cluster() -> EmbeddedApi:
    return EmbeddedApi()


def deployment(replicas: int) -> dict[str, object]:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def test_a_scale_shows_and_changes_the_replicas(cluster: EmbeddedApi) -> None:
    cluster.create(DEPLOYMENTS, deployment(3))
    scale = cluster.get(f"{DEPLOYMENTS}/web/scale")
    assert scale["kind"] == "Scale"
    assert scale["spec"] == {"replicas": 3}
    assert scale["status"]["selector"] == "app=web"
    scale["spec"]["replicas"] = 5
    assert cluster.update(f"{DEPLOYMENTS}/web/scale", scale)["spec"] == {"replicas": 5}
    cluster.refusal(409, "PUT", f"{DEPLOYMENTS}/web/scale", {**scale, "spec": {"replicas": 6}})
    assert cluster.patch(f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 7}})["spec"] == {"replicas": 7}
    assert cluster.get(f"{DEPLOYMENTS}/web")["spec"]["replicas"] == 7
    cluster.refusal(422, "PATCH", f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": -1}}, **MERGE)


MERGE = {"content-type": "application/merge-patch+json"}


def test_a_pod_is_bound_once(cluster: EmbeddedApi) -> None:
    cluster.store.create(make_node("n1").label("topology.kubernetes.io/zone", "z").obj())
    cluster.create(PODS, pod("web"))
    binding = {"kind": "Binding", "metadata": {"name": "web"}, "target": {"kind": "Node", "name": "n1"}}
    assert cluster.create(f"{PODS}/web/binding", binding)["status"] == "Success"
    bound = cluster.get(f"{PODS}/web")
    assert bound["spec"]["nodeName"] == "n1"
    assert bound["metadata"]["labels"]["topology.kubernetes.io/zone"] == "z"
    assert cluster.refusal(409, "POST", f"{PODS}/web/binding", binding)["reason"] == "Conflict"
    cluster.refusal(404, "POST", f"{PODS}/none/binding", {**binding, "metadata": {"name": "none"}})


def test_an_eviction_waits_for_the_budget(cluster: EmbeddedApi) -> None:
    cluster.create(PODS, {**pod("web", nodeName="n1"), "metadata": {"name": "web", "labels": {"app": "web"}}})
    cluster.patch(f"{PODS}/web/status", {"status": {"phase": "Running", "conditions": READY}})
    budget = {"metadata": {"name": "budget"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}}
    cluster.create(BUDGETS, budget)
    eviction = {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "web"}}
    answer = cluster.answer("POST", f"{PODS}/web/eviction", eviction)
    assert answer.code == 429
    assert answer.headers["Retry-After"] == "10"
    status = cluster.refusal(429, "POST", f"{PODS}/web/eviction", eviction)
    assert status["details"]["causes"][0]["reason"] == "DisruptionBudget"
    cluster.delete(f"{BUDGETS}/budget")
    assert cluster.create(f"{PODS}/web/eviction", eviction)["status"] == "Success"
    assert cluster.get(f"{PODS}/web")["metadata"]["deletionTimestamp"]


READY = [{"type": "Ready", "status": "True"}]


def test_a_service_account_gets_tokens_that_let_it_in(cluster: EmbeddedApi) -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    cluster.create(accounts, {"metadata": {"name": "robot"}})
    made = cluster.create(f"{accounts}/robot/token", {"spec": {"expirationSeconds": 600}})
    user = cluster.tokens.user(made["status"]["token"])
    assert user is not None
    assert user.name == "system:serviceaccount:default:robot"
    cluster.clock.advance(601)
    assert cluster.tokens.user(made["status"]["token"]) is None


def test_ephemeral_containers_are_added_as_far_as_objects_go(cluster: EmbeddedApi) -> None:
    cluster.create(PODS, pod("web"))
    debugger = [{"name": "debug", "image": "busybox"}]
    patch = {"spec": {"ephemeralContainers": debugger, "hostNetwork": True}}
    cluster.patch(f"{PODS}/web/ephemeralcontainers", patch, "application/strategic-merge-patch+json")
    found = cluster.get(f"{PODS}/web")["spec"]
    assert [container["name"] for container in found["ephemeralContainers"]] == ["debug"]
    assert "hostNetwork" not in found


ONE_CPU = {"requests": {"cpu": "1"}}


def test_a_resize_changes_resources_and_nothing_else(cluster: EmbeddedApi) -> None:
    cluster.create(PODS, pod("web", containers=[{"name": "app", "image": "nginx", "resources": ONE_CPU}]))
    resized = {"name": "app", "image": "other", "resources": {"requests": {"cpu": "2"}}}
    written = cluster.patch(
        f"{PODS}/web/resize", {"spec": {"containers": [resized]}}, "application/strategic-merge-patch+json"
    )
    assert written["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "2"}
    assert written["spec"]["containers"][0]["image"] == "nginx"


RESIZES: dict[str, dict[str, Any]] = {
    "Pod QOS Class may not change": {
        "containers": [{"name": "app", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}]
    },
    "resource requests cannot be removed": {
        "containers": [{"name": "app", "resources": {"requests": {"memory": "1Gi"}}}]
    },
    "containers may not be renamed or reordered": {"containers": [{"name": "other", "resources": ONE_CPU}]},
    "containers may not be added or removed": {"containers": [{"name": "app"}, {"name": "more", "image": "x"}]},
    "only cpu and memory resources are mutable": {
        "containers": [{"name": "app", "resources": {"requests": {"cpu": "1", "ephemeral-storage": "1Gi"}}}]
    },
}


@pytest.mark.parametrize("detail", RESIZES)
def test_a_resize_that_changes_more_than_amounts_is_refused(cluster: EmbeddedApi, detail: str) -> None:
    made = cluster.create(PODS, pod("web", containers=[{"name": "app", "image": "nginx", "resources": ONE_CPU}]))
    containers = [{**made["spec"]["containers"][0], **sent} for sent in RESIZES[detail]["containers"]]
    resized = {**made, "spec": {**made["spec"], "containers": containers}}
    status = cluster.refusal(422, "PUT", f"{PODS}/web/resize", resized)
    assert detail in status["message"]


def test_an_ephemeral_container_stays_as_it_was_added(cluster: EmbeddedApi) -> None:
    made = cluster.create(PODS, pod("web"))
    debugger = {"name": "debug", "image": "busybox"}
    url = f"{PODS}/web/ephemeralcontainers"
    made["spec"]["ephemeralContainers"] = [debugger]
    made = cluster.update(url, made)
    made["spec"]["ephemeralContainers"] = []
    status = cluster.refusal(422, "PUT", url, made)
    assert 'existing ephemeral containers "debug" may not be removed' in status["message"]
    made["spec"]["ephemeralContainers"] = [{**debugger, "image": "other"}]
    status = cluster.refusal(422, "PUT", url, made)
    assert 'existing ephemeral containers "debug" may not be changed' in status["message"]


@pytest.mark.parametrize("kind", ["selfsubjectaccessreviews", "subjectaccessreviews"])
def test_everybody_may_do_everything(cluster: EmbeddedApi, kind: str) -> None:
    url = f"/apis/authorization.k8s.io/v1/{kind}"
    assert cluster.create(url, {"spec": {"resourceAttributes": {"verb": "delete"}}})["status"]["allowed"]


def test_a_token_is_reviewed(cluster: EmbeddedApi) -> None:
    url = "/apis/authentication.k8s.io/v1/tokenreviews"
    assert cluster.create(url, {"spec": {"token": "a token"}})["status"]["authenticated"]
    assert not cluster.create(url, {"spec": {"token": "wrong"}})["status"]["authenticated"]


@pytest.mark.parametrize(("method", "name"), [("GET", "exec"), ("POST", "exec"), ("POST", "attach")])
def test_what_needs_containers_is_refused_with_a_sentence(cluster: EmbeddedApi, method: str, name: str) -> None:
    cluster.create("/api/v1/namespaces/default/pods", pod("web"))
    refusal = cluster.refusal(501, method, f"/api/v1/namespaces/default/pods/web/{name}")
    assert refusal["message"].endswith("is not possible in this cluster: its pods are simulated and run no containers")
