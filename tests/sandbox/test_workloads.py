# SPDX-License-Identifier: Apache-2.0
"""Workloads of a sandbox as kubectl and Helm use them: pods of controllers can be patched, and Jobs finish."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from tests.sandbox.sandbox_process import SandboxProcess

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
STRATEGIC_MERGE = "application/strategic-merge-patch+json"


def _template(**fields: object) -> dict[str, Any]:
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "nginx"}], **fields}}


def _wait_for(sandbox: SandboxProcess, path: str, is_reached: Any) -> Any:
    deadline = time.monotonic() + 60
    while True:
        _, document = sandbox.request("GET", path)
        if is_reached(document):
            return document
        assert time.monotonic() < deadline, document
        time.sleep(0.05)


def test_pods_of_a_deployment_can_be_labelled_and_jobs_complete(tmp_path: Path) -> None:
    with SandboxProcess(tmp_path, "--nodes", "1", "--no-web") as sandbox:
        spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": _template()}
        code, answer = sandbox.request("POST", DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": spec})
        assert code == 201, answer
        job = {"metadata": {"name": "migrate"}, "spec": {"template": _template(restartPolicy="Never")}}
        code, answer = sandbox.request("POST", JOBS, job)
        assert code == 201, answer

        pods = _wait_for(sandbox, f"{PODS}?labelSelector=pod-template-hash", lambda found: found["items"])
        name = pods["items"][0]["metadata"]["name"]
        patch = {"metadata": {"labels": {"checked": "yes"}, "annotations": {"note": "by hand"}}}
        code, patched = sandbox.request("PATCH", f"{PODS}/{name}", patch, **{"Content-Type": STRATEGIC_MERGE})
        assert code == 200, patched
        assert patched["metadata"]["labels"]["checked"] == "yes"

        done = _wait_for(sandbox, f"{JOBS}/migrate", lambda found: found["status"].get("succeeded"))
        assert [found["type"] for found in done["status"]["conditions"] if found["status"] == "True"][-1] == "Complete"


@pytest.mark.parametrize("policy", ["Never", "OnFailure"])
def test_a_bare_pod_that_is_not_restarted_succeeds(tmp_path: Path, policy: str) -> None:
    with SandboxProcess(tmp_path, "--nodes", "1", "--no-web") as sandbox:
        pod = {"metadata": {"name": "once"}, "spec": {**_template()["spec"], "restartPolicy": policy}}
        code, answer = sandbox.request("POST", PODS, pod)
        assert code == 201, answer
        _wait_for(sandbox, f"{PODS}/once", lambda found: found["status"].get("phase") == "Succeeded")
