# SPDX-License-Identifier: Apache-2.0
"""Pod Security admission of requests, in the words of a kube-apiserver v1.36.4."""

from __future__ import annotations

from typing import Any

import pytest
from tests.apiserver.embedded_api import EmbeddedApi, pod

from steersman.cluster.apiserver.requests import ApiAnswer

NAMESPACES = "/api/v1/namespaces"
PODS = f"{NAMESPACES}/guarded/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/guarded/deployments"
HOST_NETWORK = 'PodSecurity "baseline:latest": host namespaces (hostNetwork=true)'


@pytest.fixture
def cluster() -> EmbeddedApi:
    return EmbeddedApi()


def namespace(**labels: str) -> dict[str, Any]:
    named = {f"pod-security.kubernetes.io/{name}": value for name, value in labels.items()}
    return {"metadata": {"name": "guarded", "labels": named}}


def deployment(**spec: Any) -> dict[str, Any]:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": pod("web", **spec)["spec"]}
    return {"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": labels}, "template": template}}


def warnings(answer: ApiAnswer) -> list[str]:
    assert answer.code in (200, 201), answer.body
    return list(answer.warnings)


def test_a_pod_that_violates_the_enforced_level_is_forbidden(cluster: EmbeddedApi) -> None:
    cluster.create(NAMESPACES, namespace(enforce="baseline"))
    status = cluster.refusal(403, "POST", PODS, pod("p", hostNetwork=True))
    assert status["message"] == f'pods "p" is forbidden: violates {HOST_NETWORK}'
    assert status["details"] == {"name": "p", "kind": "pods"}
    cluster.create(PODS, pod("p"))


def test_a_workload_whose_pods_would_be_forbidden_is_stored_with_a_warning(cluster: EmbeddedApi) -> None:
    cluster.create(NAMESPACES, namespace(enforce="baseline"))
    answer = cluster.answer("POST", DEPLOYMENTS, deployment(hostNetwork=True))
    assert warnings(answer) == [f"would violate {HOST_NETWORK}"]


def test_a_pod_that_violates_only_the_warned_level_is_stored_with_a_warning(cluster: EmbeddedApi) -> None:
    cluster.create(NAMESPACES, namespace(enforce="privileged", warn="baseline"))
    answer = cluster.answer("POST", PODS, pod("p", hostNetwork=True))
    assert warnings(answer) == [f"would violate {HOST_NETWORK}"]


def test_a_stored_pod_may_be_labelled_but_not_get_another_image(cluster: EmbeddedApi) -> None:
    cluster.create(NAMESPACES, namespace())
    cluster.create(PODS, pod("p", hostNetwork=True))
    cluster.patch(f"{NAMESPACES}/guarded", namespace(enforce="baseline"))
    cluster.patch(f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}})
    image = {"spec": {"containers": [{"name": "app", "image": "other"}]}}
    kind = "application/strategic-merge-patch+json"
    status = cluster.refusal(403, "PATCH", f"{PODS}/p", image, **{"content-type": kind})
    assert status["message"] == f'pods "p" is forbidden: violates {HOST_NETWORK}'


def test_a_stricter_level_warns_about_the_pods_that_violate_it(cluster: EmbeddedApi) -> None:
    cluster.create(NAMESPACES, namespace())
    for name in ("b", "a", "c"):
        cluster.create(PODS, pod(name, hostNetwork=True))
    cluster.create(PODS, pod("d"))
    patch = {"content-type": "application/merge-patch+json"}
    found = warnings(cluster.answer("PATCH", f"{NAMESPACES}/guarded", namespace(enforce="baseline"), patch))
    assert found == [
        'existing pods in namespace "guarded" violate the new PodSecurity enforce level "baseline:latest"',
        "a (and 2 other pods): host namespaces",
    ]
    assert not warnings(cluster.answer("PATCH", f"{NAMESPACES}/guarded", namespace(enforce="privileged"), patch))
