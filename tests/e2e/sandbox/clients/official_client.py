# SPDX-License-Identifier: Apache-2.0
"""`official_client.py KUBECONFIG`: the official Python client at work on a sandbox; prints what it saw as JSON.

Runs in the environment of requirements/clients.lock. `test_python_clients` judges what is printed.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException

DEADLINE_SECONDS = 120.0
LABELS = {"app": "official"}


def deployment(name: str, replicas: int) -> dict[str, Any]:
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


class PodInformer:
    """Lists once, then watches from where the list was, with bookmarks, and begins again where the last watch ended."""

    def __init__(self, core: Any) -> None:
        self._core = core
        listed = core.list_namespaced_pod("default", label_selector="app=official")
        self.pods: dict[str, str] = {pod.metadata.name: pod.status.phase for pod in listed.items}
        self.events: list[tuple[str, int]] = []
        self.bookmarks = 0
        self._version = listed.metadata.resource_version

    def watch_until(self, phases: dict[str, int]) -> None:
        """Until so many pods are in each phase; every watch lasts four seconds, and gets a bookmark after two."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while self.count() != phases:
            assert time.monotonic() < deadline, (self.count(), phases)
            self._watch_once()

    def _watch_once(self) -> None:
        stream = watch.Watch().stream(
            self._core.list_namespaced_pod,
            "default",
            label_selector="app=official",
            resource_version=self._version,
            allow_watch_bookmarks=True,
            timeout_seconds=4,
        )
        for event in stream:
            metadata = event["raw_object"]["metadata"]
            self._version = metadata["resourceVersion"]
            if event["type"] == "BOOKMARK":
                self.bookmarks += 1
                continue
            self.events.append((event["type"], int(metadata["resourceVersion"])))
            if event["type"] == "DELETED":
                self.pods.pop(metadata["name"])
            else:
                self.pods[metadata["name"]] = event["raw_object"]["status"]["phase"]

    def count(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for phase in self.pods.values():
            found[phase] = found.get(phase, 0) + 1
        return found


def refusal(core: Any) -> dict[str, Any]:
    """What the client is told about a pod without containers."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "empty"}, "spec": {"containers": []}}
    try:
        core.create_namespaced_pod("default", pod)
    except ApiException as error:
        return {"code": error.status, **json.loads(error.body)}
    raise AssertionError("the pod was accepted")


def idle_workloads(apps: Any) -> dict[str, Any]:
    """Objects with nothing to do, read by the models of the client, which insist on every required number."""
    pod = {"containers": [{"name": "c", "image": "x"}]}
    template: dict[str, Any] = {"metadata": {"labels": {"app": "idle"}}, "spec": pod}
    selector = {"matchLabels": {"app": "idle"}}
    meta = {"name": "idle"}
    absent = {**template, "spec": {**template["spec"], "nodeSelector": {"none": "such"}}}
    apps.create_namespaced_daemon_set("default", {"metadata": meta, "spec": {"selector": selector, "template": absent}})
    idle = {"replicas": 0, "selector": selector, "template": template}
    apps.create_namespaced_replica_set("default", {"metadata": meta, "spec": idle})
    apps.create_namespaced_stateful_set("default", {"metadata": meta, "spec": {**idle, "serviceName": "idle"}})
    policy = client.PolicyV1Api()
    budget = {"metadata": meta, "spec": {"minAvailable": 1, "selector": selector}}
    policy.create_namespaced_pod_disruption_budget("default", budget)
    read = (
        apps.read_namespaced_daemon_set_status,
        apps.read_namespaced_replica_set_status,
        apps.read_namespaced_stateful_set_status,
        policy.read_namespaced_pod_disruption_budget_status,
    )
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        statuses = [one("idle", "default").status for one in read]
        if all(status is not None and status.observed_generation == 1 for status in statuses):
            break
        assert time.monotonic() < deadline, statuses
    daemons, replicas, stateful, allowed = statuses
    return {
        "idle": [daemons.number_ready, replicas.replicas, stateful.replicas, allowed.current_healthy],
        "messages": [condition.message for condition in allowed.conditions],
    }


def main() -> None:
    config.load_kube_config(sys.argv[1])
    core, apps = client.CoreV1Api(), client.AppsV1Api()
    informer = PodInformer(core)
    apps.create_namespaced_deployment("default", deployment("official", 3))
    informer.watch_until({"Running": 3})
    apps.patch_namespaced_deployment("official", "default", {"spec": {"replicas": 5}})
    informer.watch_until({"Running": 5})
    scaled = apps.read_namespaced_deployment("official", "default")
    apps.delete_namespaced_deployment("official", "default", propagation_policy="Foreground")
    informer.watch_until({})
    seen = {
        "nodes": len(core.list_node().items),
        "replicas": scaled.spec.replicas,
        "events": informer.events,
        "bookmarks": informer.bookmarks,
        "left": len(core.list_namespaced_pod("default").items),
        "refusal": refusal(core),
        **idle_workloads(apps),
    }
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
