# SPDX-License-Identifier: Apache-2.0
"""Pods that a webhook has added to: fixes are about the template, and are tried with what the webhook would add again."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from tests.fixes.clusters import a_node, of_kind
from tests.fixes.test_fixes_of_live_clusters import Document, live_fixes

from steersman.api import codec
from steersman.explain.fixes import Fix, FixKind
from steersman.testing import make_node

SIDECAR: Document = {"name": "proxy", "image": "proxy:2", "resources": {"requests": {"cpu": "100m"}}}
POD = "web-h-x"


def a_container(name: str, cpu: str, **more: Any) -> Document:
    return {"name": name, "image": f"{name}:1", "resources": {"requests": {"cpu": cpu}}, **more}


def controlled_by(kind: str, name: str, uid: str) -> Document:
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": True}
    return {"ownerReferences": [reference]}


def a_deployment(template: Document, pod: Document) -> list[Document]:
    """A Deployment of one pod, whose spec is `pod`, while the templates say `template`."""
    labels, hashed = {"app": "web"}, {"app": "web", "pod-template-hash": "h"}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "uid": "d-1"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": deepcopy(template)},
        },
    }
    replica_set = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": "web-h",
            "namespace": "default",
            "uid": "r-1",
            "labels": hashed,
            "annotations": {"deployment.kubernetes.io/revision": "1"},
            **controlled_by("Deployment", "web", "d-1"),
        },
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": hashed},
            "template": {"metadata": {"labels": hashed}, "spec": deepcopy(template)},
        },
    }
    metadata = {"name": POD, "namespace": "default", "uid": "p-1", "labels": hashed}
    made = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**metadata, **controlled_by("ReplicaSet", "web-h", "r-1")},
        "spec": deepcopy(pod),
        "status": {"phase": "Pending"},
    }
    return [deployment, replica_set, made]


def patched_spec(fix: Fix) -> Document:
    [patch] = fix.patches
    found: Document = patch.merge_patch["spec"]["template"]["spec"]
    return found


def requests_in(fix: Fix, list_name: str = "containers") -> dict[str, str]:
    return {each["name"]: each["resources"]["requests"]["cpu"] for each in patched_spec(fix)[list_name]}


def test_pods_of_trials_carry_the_containers_that_a_webhook_adds() -> None:
    app = a_container("app", "6")
    fixes = live_fixes(a_deployment({"containers": [app]}, {"containers": [app, SIDECAR]}), a_node("n1"), pod=POD)
    assert requests_in(of_kind(fixes, FixKind.REQUESTS)) == {"app": "3900m"}, "of 4, without what the sidecar asks for"


def test_a_container_is_found_by_its_name() -> None:
    app, other = a_container("app", "6"), a_container("other", "3")
    documents = a_deployment({"containers": [app, other]}, {"containers": [SIDECAR, app, other]})
    node = make_node("n1").capacity(cpu="8", memory="16Gi", pods="20")
    fix = of_kind(live_fixes(documents, node, pod=POD), FixKind.REQUESTS)
    assert requests_in(fix) == {"app": "4900m", "other": "3"}
    assert "container app from 6 to 4900m" in fix.summary


def test_an_init_container_is_found_by_its_name() -> None:
    app, migrate = a_container("app", "1"), a_container("migrate", "6")
    template = {"containers": [app], "initContainers": [migrate]}
    injected = {"containers": [app], "initContainers": [{**SIDECAR, "restartPolicy": "Always"}, migrate]}
    fix = of_kind(live_fixes(a_deployment(template, injected), a_node("n1"), pod=POD), FixKind.REQUESTS)
    assert requests_in(fix, "initContainers") == {"migrate": "3900m"}


def test_a_container_that_the_template_lacks_is_not_changed() -> None:
    large = a_container("proxy", "5")
    app = a_container("app", "1")
    fixes = live_fixes(a_deployment({"containers": [app]}, {"containers": [app, large]}), a_node("n1"), pod=POD)
    assert [fix.kind for fix in fixes] == [FixKind.ADD_NODE]


def test_a_request_that_was_changed_in_the_pod_alone_is_not_lowered_in_the_template() -> None:
    documents = a_deployment({"containers": [a_container("app", "1")]}, {"containers": [a_container("app", "6")]})
    assert [fix.kind for fix in live_fixes(documents, a_node("n1"), pod=POD)] == [FixKind.ADD_NODE]


def test_a_host_port_is_found_in_the_container_of_its_name() -> None:
    ports = [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]
    app, other = a_container("app", "1", ports=ports), a_container("other", "1")
    documents = a_deployment({"containers": [other, app]}, {"containers": [SIDECAR, other, app]})
    taken = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "taken", "namespace": "default", "uid": "t-1"},
        "spec": {"nodeName": "n1", "containers": [a_container("taken", "1", ports=ports)]},
        "status": {"phase": "Running"},
    }
    fix = of_kind(live_fixes([*documents, taken], a_node("n1"), pod=POD), FixKind.HOST_PORT)
    changed = {each["name"]: each.get("ports") for each in patched_spec(fix)["containers"]}
    assert changed == {"other": None, "app": [{**ports[0], "hostPort": 81}]}


@pytest.mark.parametrize(
    "injected",
    [
        {"nodeSelector": {"disk": "ssd"}},
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
                        ]
                    }
                }
            }
        },
    ],
    ids=["nodeSelector", "affinity"],
)
def test_a_constraint_of_a_webhook_is_neither_dropped_nor_forgotten(injected: Document) -> None:
    app = a_container("app", "1")
    documents = a_deployment({"containers": [app]}, {"containers": [app], **injected})
    found = live_fixes([*documents, codec.to_dict(a_node("n1").obj())], pod=POD)
    assert {fix.kind for fix in found} == {FixKind.NODE_LABEL, FixKind.ADD_NODE}
    app = a_container("app", "6")
    documents = a_deployment({"containers": [app]}, {"containers": [app], **injected})
    nodes = a_node("n1"), make_node("n2").capacity(cpu="2", memory="16Gi", pods="20").label("disk", "ssd")
    fixes = live_fixes(documents, *nodes, pod=POD)
    assert requests_in(of_kind(fixes, FixKind.REQUESTS)) == {"app": "2"}, "n1 has room for 4, and no ssd"


def test_a_spread_constraint_is_found_by_its_topology() -> None:
    def spread(key: str) -> Document:
        selector = {"matchLabels": {"app": "web"}}
        return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}

    app = a_container("app", "1")
    own, foreign = spread("zone"), spread("kubernetes.io/hostname")
    documents = a_deployment(
        {"containers": [app], "topologySpreadConstraints": [own]},
        {"containers": [app], "topologySpreadConstraints": [foreign, own]},
    )
    placed = deepcopy(documents[2])
    placed["metadata"] = {"name": "old", "namespace": "default", "uid": "o-1", "labels": {"app": "web"}}
    placed["spec"].update(nodeName="n1", topologySpreadConstraints=[])
    placed["status"] = {"phase": "Running"}
    full = a_node("full", "100m").label("zone", "b")
    nodes = a_node("n1").label("zone", "a"), a_node("n2").label("zone", "a"), full
    fix = of_kind(live_fixes([*documents, placed], *nodes, pod=POD), FixKind.MAX_SKEW)
    assert patched_spec(fix)["topologySpreadConstraints"] == [{**own, "maxSkew": 2}]
    assert "(zone) from 1 to 2" in fix.summary
