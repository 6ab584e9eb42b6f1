# SPDX-License-Identifier: Apache-2.0
"""Defaults of workloads and their templates: what kube-apiserver v1.36.4 made of the same manifests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.controllers.world import workload
from tests.embedded.stores import admitting_store

from steersman import api
from steersman.api import codec
from steersman.api.defaults.pod_template import with_template_defaults

_DUMP = Path(__file__).parents[2] / "simulation" / "data" / "dump_of_workloads.json"


def _web() -> dict[str, Any]:
    manifest = workload("Deployment", replicas=3)
    manifest["spec"]["template"]["spec"] = {
        "serviceAccountName": "default",
        "containers": [
            {
                "name": "main",
                "image": "nginx:2",
                "ports": [{"containerPort": 80}],
                "readinessProbe": {"httpGet": {"port": 80}},
                "resources": {"requests": {"cpu": "500m"}, "limits": {"memory": "128Mi"}},
                "env": [{"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            }
        ],
        "volumes": [
            {"name": "tmp"},
            {"name": "c", "configMap": {"name": "conf"}},
            {"name": "h", "hostPath": {"path": "/x"}},
            {"name": "p", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        ],
    }
    return manifest


def _db() -> dict[str, Any]:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    templates = [{"metadata": {"name": "data"}, "spec": claim}]
    return workload("StatefulSet", "db", "db", replicas=2, serviceName="db", volumeClaimTemplates=templates)


def _agent() -> dict[str, Any]:
    manifest = workload("DaemonSet", "agent", "agent")
    spec = manifest["spec"]["template"]["spec"]
    spec["hostNetwork"] = True
    spec["containers"][0]["ports"] = [{"containerPort": 9100}]
    return manifest


def _old() -> dict[str, Any]:
    return workload("ReplicationController", "old", "old", api_version="v1", replicas=1, selector={"app": "old"})


@pytest.mark.parametrize("manifest", [_web(), _db(), _agent(), _old()], ids=lambda manifest: str(manifest["kind"]))
def test_a_manifest_is_filled_in_as_by_a_kube_apiserver(manifest: dict[str, Any]) -> None:
    stored = admitting_store().create(codec.convert_object(manifest))
    items = json.loads(_DUMP.read_text(encoding="utf-8"))["items"]
    (real,) = [item for item in items if item["kind"] == manifest["kind"]]
    assert codec.to_dict(stored)["spec"] == real["spec"]


def test_filling_in_twice_changes_nothing() -> None:
    once = with_template_defaults(_web()["spec"]["template"])
    assert with_template_defaults(once) == once


def test_zeros_that_mean_something_stay() -> None:
    spec = with_template_defaults({"spec": {"terminationGracePeriodSeconds": 0}})["spec"]
    assert spec["terminationGracePeriodSeconds"] == 0


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1", "IfNotPresent"),
        ("host:5000/nginx", "Always"),
        ("host:5000/nginx:1", "IfNotPresent"),
        ("nginx@sha256:abc", "IfNotPresent"),
    ],
)
def test_only_the_latest_image_is_always_pulled(image: str, policy: str) -> None:
    template = with_template_defaults({"spec": {"containers": [{"image": image}]}})
    assert template["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_fields_of_a_wrong_type_are_passed_over() -> None:
    template = {"spec": {"containers": "none", "volumes": [7, {"name": "v", "secret": "s"}], "dnsPolicy": None}}
    assert with_template_defaults(template)["spec"]["containers"] == "none"


def test_a_job_gets_a_selector_and_labels_by_its_uid() -> None:
    manifest = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "once"},
        "spec": {"template": {"spec": {}}},
    }
    job = admitting_store().create(codec.convert_object(manifest))
    assert isinstance(job, api.Job)
    uid = job.metadata.uid
    assert job.spec.selector == api.LabelSelector({"batch.kubernetes.io/controller-uid": uid})
    assert job.spec.template["metadata"]["labels"] == {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": "once",
        "controller-uid": uid,
        "job-name": "once",
    }
    assert (job.spec.backoff_limit, job.spec.completion_mode, job.spec.suspend) == (6, "NonIndexed", False)
    assert (job.spec.pod_replacement_policy, job.spec.manual_selector) == ("TerminatingOrFailed", False)


def test_a_changed_template_of_a_daemon_set_is_counted() -> None:
    store = admitting_store()
    name = "deprecated.daemonset.template.generation"
    first = store.create(codec.convert(_agent(), api.DaemonSet))
    assert first.metadata.annotations[name] == "1"
    changed = _agent()
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:2"
    second = store.update(codec.convert(changed, api.DaemonSet))
    assert second.metadata.annotations[name] == "2"
    assert store.update(codec.convert(changed, api.DaemonSet)).metadata.annotations[name] == "2"
