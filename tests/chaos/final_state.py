# SPDX-License-Identifier: Apache-2.0
"""What a chaos run leaves behind: pods and nodes as the API server has them, and whether the leader believes the same."""

from __future__ import annotations

import http.client
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tests.chaos.fault_injection import FaultInjector
from tests.chaos.replicas import KUBE_SCHEDULER, Replica
from tests.e2e.faults.beliefs import believed, true

from steersman.kube.serving.scheduler_endpoints import CLEAN
from steersman.testing.control_plane import ControlPlane, JsonObject, ServerRefusal, bound_to, condition

SETTLE_SECONDS: Final = 90.0
_LOSSES: Final = (OSError, http.client.HTTPException, ServerRefusal)
_DUMP_SECONDS: Final = 2.0
#: What kube-scheduler logs after SIGUSR2 when its cache is not what its listers say.
_MISMATCH: Final = "Cache mismatch"
_DUMP: Final = "Dump of cached NodeInfo"


@dataclass(slots=True)
class FinalState:
    pods: list[JsonObject] = field(default_factory=list)
    nodes: list[JsonObject] = field(default_factory=list)
    #: Until every pod had a node or a reason; None if that did not come.
    settled_seconds: float | None = None
    #: Empty when the leader believes what is true, else what it gets wrong.
    wrong_beliefs: str = "nobody was asked"

    @property
    def undecided(self) -> list[str]:
        """Names of pods without a node and without a reason."""
        pods = (pod for pod in self.pods if not is_decided(pod))
        return [f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in pods]


def is_decided(pod: JsonObject) -> bool:
    if bound_to(pod):
        return True
    scheduled = condition(pod, "PodScheduled")
    return scheduled is not None and bool(scheduled.get("reason") and scheduled.get("message"))


def wait_for_final_state(
    plane: ControlPlane, injector: FaultInjector, token: str, tick: Callable[[], None]
) -> FinalState:
    """Ticks go on while it waits: replicas that end are started again."""
    began = time.monotonic()
    found = FinalState()
    while time.monotonic() - began < SETTLE_SECONDS:
        tick()
        try:
            found.pods, found.nodes = plane.admin.list("Pod"), plane.admin.list("Node")
            if found.undecided:
                continue
            if found.settled_seconds is None:
                found.settled_seconds = time.monotonic() - began
            found.wrong_beliefs = _wrong_beliefs(injector.leader, plane, token)
        except _LOSSES as error:
            found.wrong_beliefs = f"the leader could not be asked: {error}"
            continue
        if not found.wrong_beliefs:
            break
    return found


def _wrong_beliefs(leader: Replica, plane: ControlPlane, token: str) -> str:
    if leader.process.name == KUBE_SCHEDULER:
        return _kube_scheduler_says(leader)
    code, dump = leader.process.get("/debug/cache", token=token, timeout=30.0)
    if code != http.HTTPStatus.OK:
        return f"/debug/cache of {leader.name} answers {code}: {dump[:200]}"
    if not dump.startswith(CLEAN):
        return dump.partition("\n\n")[0][:500]
    beliefs, truth = believed(dump), true(plane.admin.list("Node"), plane.admin.list("Pod"))
    wrong = [node for node in beliefs.keys() | truth.keys() if beliefs.get(node) != truth.get(node)]
    return f"nodes with other pods than the server has: {', '.join(sorted(wrong)[:10])}" if wrong else ""


def _kube_scheduler_says(leader: Replica) -> str:
    """It compares its cache with its listers on SIGUSR2, and dumps it."""
    before = len(leader.process.log_text())
    leader.process.signal(signal.SIGUSR2)
    deadline = time.monotonic() + _DUMP_SECONDS
    while _DUMP not in (said := leader.process.log_text()[before:]):
        if time.monotonic() > deadline:
            return "it did not dump its cache"
        time.sleep(0.1)
    return _MISMATCH if _MISMATCH in said else ""
