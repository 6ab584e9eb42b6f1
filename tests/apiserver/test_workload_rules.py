# SPDX-License-Identifier: Apache-2.0
"""What the API server refuses and lets pass of workloads, Jobs and gated pods."""

from __future__ import annotations

from typing import Any

import pytest
from tests.apiserver.embedded_api import PODS, EmbeddedApi, pod

from steersman.cluster.store import Document

APPS = "/apis/apps/v1/namespaces/default"
BATCH = "/apis/batch/v1/namespaces/default"
TEMPLATE: Document = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "web", "image": "nginx:1"}]},
}
ONCE: Document = {"spec": {"restartPolicy": "Never", "containers": [{"name": "web", "image": "nginx:1"}]}}


@pytest.fixture
def cluster() -> EmbeddedApi:
    return EmbeddedApi(api_server_admission=True)


def workload(selected: str, **pod_spec: Any) -> Document:
    template = {**TEMPLATE, "spec": {**TEMPLATE["spec"], **pod_spec}}
    return {"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"app": selected}}, "template": template}}


def job(**spec: Any) -> Document:
    return {"metadata": {"name": "work"}, "spec": {"template": ONCE, **spec}}


@pytest.mark.parametrize("plural", ["deployments", "replicasets", "statefulsets", "daemonsets"])
def test_a_workload_whose_selector_does_not_match_its_template_is_refused(cluster: EmbeddedApi, plural: str) -> None:
    status = cluster.refusal(422, "POST", f"{APPS}/{plural}", workload("other"))
    assert status["details"]["causes"] == [
        {
            "reason": "FieldValueInvalid",
            "field": "spec.template.metadata.labels",
            "message": 'Invalid value: {"app":"web"}: `selector` does not match template `labels`',
        }
    ]


@pytest.mark.parametrize("plural", ["deployments", "replicasets", "statefulsets", "daemonsets"])
def test_pods_of_a_workload_that_end_by_themselves_are_refused(cluster: EmbeddedApi, plural: str) -> None:
    status = cluster.refusal(422, "POST", f"{APPS}/{plural}", workload("web", activeDeadlineSeconds=5))
    assert [cause["field"] for cause in status["details"]["causes"]] == ["spec.template.spec.activeDeadlineSeconds"]


def test_an_explicit_empty_text_is_the_default_of_an_immutable_field(cluster: EmbeddedApi) -> None:
    made = cluster.create(f"{APPS}/statefulsets", workload("web"))
    changed = {**made, "spec": {**made["spec"], "podManagementPolicy": "", "replicas": 2}}
    assert cluster.update(f"{APPS}/statefulsets/web", changed)["spec"]["podManagementPolicy"] == "OrderedReady"
    changed["spec"]["podManagementPolicy"] = "Parallel"
    changed["metadata"]["resourceVersion"] = ""
    status = cluster.refusal(422, "PUT", f"{APPS}/statefulsets/web", changed)
    assert "updates to statefulset spec for fields other than 'replicas'" in status["message"]


def test_an_indexed_job_may_raise_completions_and_parallelism_together(cluster: EmbeddedApi) -> None:
    cluster.create(f"{BATCH}/jobs", job(completionMode="Indexed", completions=2, parallelism=2))
    changed = cluster.patch(f"{BATCH}/jobs/work", {"spec": {"completions": 4, "parallelism": 4}})
    assert (changed["spec"]["completions"], changed["spec"]["parallelism"]) == (4, 4)
    merge = {"content-type": "application/merge-patch+json"}
    status = cluster.refusal(422, "PATCH", f"{BATCH}/jobs/work", {"spec": {"completions": 5}}, **merge)
    assert (
        "spec.completions: Invalid value: 5: can only be modified in tandem with spec.parallelism" in status["message"]
    )


def test_a_suspended_job_may_change_where_its_pods_run_and_what_they_request(cluster: EmbeddedApi) -> None:
    made = cluster.create(f"{BATCH}/jobs", job(suspend=True))
    pods = made["spec"]["template"]["spec"]
    moved = {**pods, "nodeSelector": {"zone": "a"}, "tolerations": [{"operator": "Exists"}]}
    moved["containers"] = [{**pods["containers"][0], "resources": {"requests": {"cpu": "2"}}}]
    made["spec"]["template"]["spec"] = moved
    changed = cluster.update(f"{BATCH}/jobs/work", made)
    assert changed["spec"]["template"]["spec"]["nodeSelector"] == {"zone": "a"}
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "other"
    status = cluster.refusal(422, "PUT", f"{BATCH}/jobs/work", changed)
    assert status["details"]["causes"][0]["field"] == "spec.template.spec"


def test_a_cron_job_with_a_wrong_schedule_or_time_zone_is_refused(cluster: EmbeddedApi) -> None:
    spec = {"schedule": "61 * * * *", "timeZone": "Mars/Olympus", "jobTemplate": {"spec": {"template": ONCE}}}
    status = cluster.refusal(422, "POST", f"{BATCH}/cronjobs", {"metadata": {"name": "tick"}, "spec": spec})
    assert [(cause["field"], cause["message"]) for cause in status["details"]["causes"]] == [
        ("spec.schedule", 'Invalid value: "61 * * * *": end of range (61) above maximum (59): 61'),
        ("spec.timeZone", 'Invalid value: "Mars/Olympus": unknown time zone Mars/Olympus'),
    ]


def test_a_gated_pod_with_a_node_selector_can_be_ungated(cluster: EmbeddedApi) -> None:
    made = cluster.create(
        PODS, pod("held", nodeSelector={"zone": "a"}, schedulingGates=[{"name": "kueue.x-k8s.io/admission"}])
    )
    made["spec"]["nodeSelector"]["flavor"] = "spot"
    made["spec"]["schedulingGates"] = []
    freed = cluster.update(f"{PODS}/held", made)
    assert freed["spec"]["nodeSelector"] == {"zone": "a", "flavor": "spot"}
    freed["spec"]["nodeSelector"]["more"] = "x"
    cluster.refusal(422, "PUT", f"{PODS}/held", freed)


def test_an_update_that_leaves_out_what_admission_filled_in_changes_nothing(cluster: EmbeddedApi) -> None:
    made = cluster.create(PODS, pod("web"))
    for name in ("tolerations", "priority", "preemptionPolicy"):
        del made["spec"][name]
    made["metadata"]["labels"] = {"a": "b"}
    assert cluster.update(f"{PODS}/web", made)["metadata"]["labels"] == {"a": "b"}


def test_a_pod_must_not_state_another_priority_than_its_class(cluster: EmbeddedApi) -> None:
    status = cluster.refusal(403, "POST", PODS, pod("web", priority=7))
    assert "the integer value of priority (7) must not be provided in pod spec" in status["message"]
    status = cluster.refusal(403, "POST", PODS, pod("web", runtimeClassName="missing"))
    assert 'RuntimeClass "missing" not found' in status["message"]
