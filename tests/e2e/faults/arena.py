# SPDX-License-Identifier: Apache-2.0
"""A control plane that tests may harm, and the judgement at the end of each: nothing lost, nothing done twice.

with arena.follower() as follower, Steersman(arena.plane, config=FAST) as steersman:
    ...harm...
    arena.judge(steersman, follower, pods=100)
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from tests.e2e.auditing import AuditLog
from tests.e2e.faults.beliefs import believed, true
from tests.e2e.faults.following import PodFollower, insistently

from steersman.kube.serving.scheduler_endpoints import CLEAN
from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import (
    ControlPlane,
    JsonObject,
    SchedulerProcess,
    bound_to,
    condition,
    manifest,
    wait_until,
)

SETTLE_SECONDS: Final = 90.0
OBSERVER: Final = "observer"
FAST: Final[dict[str, Any]] = {"clientConnection": {"qps": 5000, "burst": 5000}}
"""Limits that do not matter."""


@dataclass(frozen=True, slots=True)
class Arena:
    plane: ControlPlane
    audit: AuditLog
    #: Of somebody who may read the scheduler's endpoints.
    token: str

    def follower(self) -> PodFollower:
        return PodFollower(self.plane)

    def create_nodes(self, count: int, prefix: str = "n", cpu: str = "16") -> None:
        nodes = (make_node(f"{prefix}{index}").capacity(cpu=cpu, memory="64Gi", pods="110") for index in range(count))
        self.plane.admin.create_nodes(*map(manifest, nodes))

    def create_pods(self, count: int, prefix: str, cpu: str = "100m") -> None:
        """However often the server has to be asked."""
        pods = [manifest(make_pod(f"{prefix}-{index}").req(cpu=cpu)) for index in range(count)]
        create = insistently(self.plane.admin.create)
        self.plane.admin.path("Pod")
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(create, pods))

    def clear(self) -> None:
        """Without pods and nodes."""
        self.plane.admin.delete_all("Pod")
        self.plane.admin.delete_all("Node")
        wait_until(lambda: not self.plane.admin.list("Pod"), what="an empty cluster")

    def judge(self, steersman: SchedulerProcess, follower: PodFollower, pods: int) -> list[JsonObject]:
        """Every pod ends bound exactly once, or pending with a reason, and the scheduler believes what is true."""
        wait_until(lambda: all(map(_is_decided, self._pods(pods))), SETTLE_SECONDS, what="an end for every pod")
        wait_until(lambda: self._knows_the_truth(steersman), SETTLE_SECONDS, what="a scheduler that knows the truth")
        found = {f"{pod['metadata']['namespace']}/{pod['metadata']['name']}": pod for pod in self._pods(pods)}
        bindings = self._bindings()
        # Not equal: a server that is killed takes the last lines of its log with it.
        assert not [name for name, pod in found.items() if bindings[name] > bool(bound_to(pod))]
        wait_until(lambda: _has_seen(follower, found), what="a follower who has seen all")
        assert not {name: nodes for name, nodes in follower.nodes.items() if len(nodes) > 1}
        return [*found.values()]

    def all_bound(self, steersman: SchedulerProcess, follower: PodFollower, pods: int) -> None:
        """Waits for that, and judges."""

        def are_bound() -> bool:
            found = self.plane.admin.list("Pod")
            return len(found) == pods and all(map(bound_to, found))

        wait_until(are_bound, SETTLE_SECONDS, what="a node for every pod")
        self.judge(steersman, follower, pods)

    def _knows_the_truth(self, steersman: SchedulerProcess) -> bool:
        """It says so itself, and the API server agrees."""
        admin, dump = self.plane.admin, self.cache_of(steersman)
        return dump.startswith(CLEAN) and believed(dump) == true(admin.list("Node"), admin.list("Pod"))

    def _bindings(self) -> Counter[str]:
        """How often each pod, by namespace/name, was bound."""
        entries = (entry.object_ref for entry in self.audit.entries() if entry.granted)
        return Counter(f"{pod.namespace}/{pod.name}" for pod in entries)

    def _pods(self, expected: int) -> list[JsonObject]:
        pods = self.plane.admin.list("Pod")
        assert len(pods) == expected
        return pods

    def cache_of(self, steersman: SchedulerProcess) -> str:
        """What the scheduler believes, and in its first line whether that is true."""
        code, text = steersman.get("/debug/cache", token=self.token)
        assert code == 200, text
        return text


def _has_seen(follower: PodFollower, pods: dict[str, JsonObject]) -> bool:
    return all(follower.nodes.get(name, [])[-1:] == [bound_to(pod)] for name, pod in pods.items() if bound_to(pod))


def _is_decided(pod: JsonObject) -> bool:
    if bound_to(pod):
        return True
    scheduled = condition(pod, "PodScheduled")
    return scheduled is not None and bool(scheduled.get("reason") and scheduled.get("message"))
