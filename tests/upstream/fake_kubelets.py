# SPDX-License-Identifier: Apache-2.0
"""Kubelets without machines on a real API server: bound pods run and are ready at once, deleted pods end at once, or after
the time that a preStop hook sleeps.

Nodes are made ready once and send no heartbeats, so kube-controller-manager must be told to be patient with them. Extended
resources that somebody writes into a node's capacity become allocatable, as with a real kubelet: upstream's tests rely on it.
"""

from __future__ import annotations

import http.client
import itertools
import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from steersman.api import timestamps
from steersman.testing.control_plane import JsonObject, KubeClient, ServerRefusal

logger = logging.getLogger(__name__)

ZONES: Final = ("zone-a", "zone-b")
_CAPACITY: Final = {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110"}
_RUNNING: Final = ("PodScheduled", "PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")
"""Conditions of a pod that runs. PodScheduled too: of a pod that was created with its node, it is the kubelet that says so."""
_READY: Final = ("ContainersReady", "Ready")
_SYSTEM: Final = "kube-system"
_WATCH_SECONDS: Final = 240.0
_AGAIN_SECONDS: Final = 0.5
ENDED: Final = ("Succeeded", "Failed")


def node_manifest(number: int) -> JsonObject:
    """A node of one of two zones, ready."""
    name = f"node-{number}"
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/region": "region-1",
        "topology.kubernetes.io/zone": ZONES[number % len(ZONES)],
    }
    now = timestamps.render(time.time())
    times = {"lastHeartbeatTime": now, "lastTransitionTime": now}
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "a kubelet without a machine",
        **times,
    }
    addresses = [{"type": "InternalIP", "address": f"10.1.0.{number + 1}"}, {"type": "Hostname", "address": name}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {},
        "status": {
            "capacity": _CAPACITY,
            "allocatable": _CAPACITY,
            "conditions": [ready],
            "addresses": addresses,
            "nodeInfo": _node_info(name),
        },
    }


class FakeKubelets:
    """All kubelets of a cluster, from `with` to the end of the block: a thread for the pods and one for the nodes."""

    def __init__(self, client: KubeClient, nodes: int) -> None:
        self._client = client
        self._nodes = nodes
        self._stopping = threading.Event()
        self._addresses = itertools.count(2)
        #: Uids of pods that sleep before they end.
        self._sleeping: set[str] = set()

    def __enter__(self) -> FakeKubelets:
        nodes = [node_manifest(number) for number in range(self._nodes)]
        self._client.create_nodes(*nodes)
        self._client.wait_until(
            lambda: self._client.find("ServiceAccount", "default", _SYSTEM), what="service accounts"
        )
        for node in nodes:
            self._client.create(_system_pod_manifest(node["metadata"]["name"]))
        for kind, serve in (("Pod", self._serve_pod), ("Node", self._serve_node)):
            threading.Thread(target=self._follow, args=(kind, serve), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """The threads end with their watches, when the API server has ended; nobody waits for them."""
        self._stopping.set()

    def _follow(self, kind: str, serve: Callable[[JsonObject], None]) -> None:
        while not self._stopping.is_set():
            try:
                for what, obj in self._client.watch(kind, timeout=_WATCH_SECONDS):
                    if what in ("ADDED", "MODIFIED"):
                        _unless_gone(serve, obj)
            except (OSError, ValueError, KeyError, http.client.HTTPException, ServerRefusal) as error:
                # A watch that broke, or ended with 410: the next one begins with all objects there are.
                logger.debug("the watch of %s ended: %s", kind, error)
                self._stopping.wait(_AGAIN_SECONDS)

    def _serve_pod(self, pod: JsonObject) -> None:
        if not pod["spec"].get("nodeName"):
            return
        if "deletionTimestamp" in pod["metadata"]:
            self._stop(pod)
        elif pod["status"].get("phase") == "Pending":
            self._start(pod)

    def _serve_node(self, node: JsonObject) -> None:
        change = allocatable_change(node)
        if change:
            name = node["metadata"]["name"]
            self._client.patch("Node", name, {"status": {"allocatable": change}}, subresource="status")

    def _start(self, pod: JsonObject) -> None:
        number = next(self._addresses)
        address = f"10.2.{number // 250 % 250}.{number % 250 + 1}"
        now = timestamps.render(time.time())
        status = {
            "phase": "Running",
            "startTime": now,
            "hostIP": "10.1.0.1",
            "podIP": address,
            "podIPs": [{"ip": address}],
            "conditions": [{"type": kind, "status": "True", "lastTransitionTime": now} for kind in _RUNNING],
            "containerStatuses": [_container(found, {"running": {"startedAt": now}}) for found in _containers(pod)],
        }
        self._patch_status(pod, status)

    def _stop(self, pod: JsonObject) -> None:
        seconds = _pre_stop_seconds(pod)
        if not seconds or pod["status"].get("phase") in ENDED:
            self._end(pod)
        elif pod["metadata"]["uid"] not in self._sleeping:
            self._sleeping.add(pod["metadata"]["uid"])
            timer = threading.Timer(seconds, self._end_later, (pod,))
            timer.daemon = True
            timer.start()

    def _end_later(self, pod: JsonObject) -> None:
        try:
            self._end(pod)
        except (OSError, http.client.HTTPException, ServerRefusal) as error:
            # Somebody else removed the pod meanwhile, or the cluster has ended.
            logger.debug("%s was not ended: %s", pod["metadata"]["name"], error)

    def _end(self, pod: JsonObject) -> None:
        """A finalizer may hold the pod; then it is over all the same."""
        meta = pod["metadata"]
        if pod["status"].get("phase") not in ENDED:
            now = timestamps.render(time.time())
            state = {"terminated": {"exitCode": 137, "reason": "Error", "finishedAt": now}}
            conditions = [{"type": kind, "status": "False", "lastTransitionTime": now} for kind in _READY]
            containers = [_container(found, state) for found in _containers(pod)]
            self._patch_status(pod, {"phase": "Failed", "conditions": conditions, "containerStatuses": containers})
        if meta.get("deletionGracePeriodSeconds") != 0:
            self._client.delete("Pod", meta["name"], meta["namespace"], grace_seconds=0)

    def _patch_status(self, pod: JsonObject, status: JsonObject) -> None:
        meta = pod["metadata"]
        change = {"metadata": {"uid": meta["uid"]}, "status": status}
        self._client.patch("Pod", meta["name"], change, meta["namespace"], subresource="status", form="strategic")


def allocatable_change(node: JsonObject) -> dict[str, str | None]:
    """What to change in the allocatable resources so that extended ones are as the capacity says; None removes one."""
    capacity = _extended(node["status"].get("capacity", {}))
    allocatable = _extended(node["status"].get("allocatable", {}))
    gone: dict[str, str | None] = dict.fromkeys(name for name in allocatable if name not in capacity)
    return gone | {name: amount for name, amount in capacity.items() if allocatable.get(name) != amount}


def _extended(resources: dict[str, str]) -> dict[str, str]:
    return {name: amount for name, amount in resources.items() if "/" in name}


def _unless_gone(serve: Callable[[JsonObject], None], obj: JsonObject) -> None:
    """Somebody else may have removed or changed the object meanwhile; then its next event says what to do."""
    try:
        serve(obj)
    except ServerRefusal as error:
        if error.code not in (404, 409):
            raise


def _system_pod_manifest(node: str) -> JsonObject:
    """Before many specs upstream's suite waits, for a minute each, until pods with these three names run on every node."""
    name = f"kube-proxy-fluentd-elasticsearch-node-problem-detector-{node}"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": _SYSTEM},
        "spec": {
            "nodeName": node,
            "priorityClassName": "system-node-critical",
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "main", "image": "example.com/system:1"}],
        },
    }


def _pre_stop_seconds(pod: JsonObject) -> int:
    """How long the preStop hooks sleep, though no longer than the pod's grace period."""
    hooks = [found.get("lifecycle", {}).get("preStop", {}).get("sleep", {}) for found in _containers(pod)]
    longest = max(int(hook.get("seconds", 0)) for hook in hooks)
    return min(longest, int(pod["metadata"].get("deletionGracePeriodSeconds", 0)))


def _containers(pod: JsonObject) -> list[JsonObject]:
    found: list[JsonObject] = pod["spec"]["containers"]
    return found


def _container(container: JsonObject, state: dict[str, Any]) -> JsonObject:
    running = "running" in state
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": container["image"],
        "ready": running,
        "started": running,
        "restartCount": 0,
        "state": state,
    }


def _node_info(name: str) -> JsonObject:
    texts = ("machineID", "systemUUID", "bootID")
    versions = {"kernelVersion": "6", "osImage": "none", "containerRuntimeVersion": "none://1", "kubeProxyVersion": ""}
    system = {"kubeletVersion": "v1.36.4", "operatingSystem": "linux", "architecture": "amd64"}
    return {**dict.fromkeys(texts, name), **versions, **system}
