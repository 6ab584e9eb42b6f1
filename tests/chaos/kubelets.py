# SPDX-License-Identifier: Apache-2.0
"""What kubelets and the pod garbage collector do in a cluster: pods that are asked to end do, and pods go with their node."""

from __future__ import annotations

import http.client
import time
from functools import partial
from typing import Final, NamedTuple

from tests.chaos.node_operator import NodeOperator, cpu_of
from tests.chaos.persistence import Persistent

from steersman.api.quantity import milli_value_of
from steersman.testing.control_plane import JsonObject, KubeClient, ServerRefusal, bound_to

_WATCH_SECONDS: Final = 1.0
_LOSSES: Final = (OSError, http.client.HTTPException, ServerRefusal)


class Overcommitment(NamedTuple):
    """A node that had more CPU given away than it has, at the moment of a binding; in thousandths."""

    #: Seconds since the epoch when the harness saw it.
    at: float
    node: str
    given: int
    has: int
    #: The pods on it by namespace/name, the last one to come at the end.
    pods: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.node}: {self.given}m of {self.has}m CPU"


class Kubelets:
    """Follows all pods with a watch, whatever happens to the server."""

    def __init__(self, watching: KubeClient, persistent: Persistent, nodes: NodeOperator) -> None:
        self._watching = watching
        self._do = persistent
        self._nodes = nodes
        #: Node and CPU request (in thousandths) of every pod that has a node, by namespace and name.
        self._bound: dict[tuple[str, str], tuple[str, int]] = {}
        self.overcommitted: list[Overcommitment] = []
        self._ending: set[tuple[str, str]] = set()
        self.orphans = 0

    def run(self) -> None:
        """Until the run ends, in a thread of its own."""
        version = ""
        while not self._do.ended.is_set():
            try:
                version = self._watch(version) if version else self._list()
            except _LOSSES:
                version = ""
                self._do.ended.wait(0.2)
            self._collect_orphans()

    def _list(self) -> str:
        document = self._watching.list_document("Pod")
        self._bound.clear()
        for pod in document["items"]:
            self._see(pod)
        return str(document["metadata"]["resourceVersion"])

    def _watch(self, version: str) -> str:
        """The version up to which all is known, "" when that is not known."""
        for kind, pod in self._watching.watch("Pod", resource_version=version, timeout=_WATCH_SECONDS):
            if kind == "ERROR":
                return ""
            version = pod["metadata"]["resourceVersion"]
            if kind == "DELETED":
                self._bound.pop(_key(pod), None)
                self._ending.discard(_key(pod))
            else:
                self._see(pod)
        return version

    def _see(self, pod: JsonObject) -> None:
        if bound_to(pod) and _key(pod) not in self._bound:
            self._bound[_key(pod)] = bound_to(pod), _cpu_request(pod)
            self._weigh(bound_to(pod))
        if pod["metadata"].get("deletionTimestamp") and _key(pod) not in self._ending:
            self._end(_key(pod))

    def _weigh(self, node: str) -> None:
        """What a kubelet would reject as OutOfcpu. A watch has the server's order: nothing that has gone is counted."""
        here = {key: cpu for key, (place, cpu) in self._bound.items() if place == node}
        given = sum(here.values())
        if given > cpu_of(node):
            pods = tuple("/".join(key) for key in here)
            self.overcommitted.append(Overcommitment(time.time(), node, given, cpu_of(node), pods))

    def _collect_orphans(self) -> None:
        for key, (node, _) in list(self._bound.items()):
            if node not in self._nodes.names and key not in self._ending:
                self.orphans += 1
                self._end(key)

    def _end(self, key: tuple[str, str]) -> None:
        self._ending.add(key)
        namespace, name = key
        self._do(partial(self._do.client.delete, "Pod", name, namespace))


def _key(pod: JsonObject) -> tuple[str, str]:
    return pod["metadata"]["namespace"], pod["metadata"]["name"]


def _cpu_request(pod: JsonObject) -> int:
    """In thousandths. Pods of a chaos run have plain containers only."""
    requests = (container.get("resources", {}).get("requests", {}) for container in pod["spec"]["containers"])
    return sum(milli_value_of(request["cpu"]) for request in requests if "cpu" in request)
