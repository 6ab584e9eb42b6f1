# SPDX-License-Identifier: Apache-2.0
"""A replica of the scheduler under chaos: its proxy, its process, and the lives that the process has had.

Like a kubelet, the harness starts a process that has ended again, and asks `/livez`. Each request of a replica reaches the API
server with an `Audit-ID` that names replica, life and moment, so that the audit log tells who sent it, and when, even if the
server was paused in between. `chaos_run` calls `tick` from one thread: the kernel ends a process with the thread that began it.
"""

from __future__ import annotations

import http.client
import itertools
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.chaos.fault_schedule import LEASE_SECONDS, RENEW_DEADLINE_SECONDS, RETRY_SECONDS
from tests.e2e.faults import shifted_clock
from tests.e2e.faults.faults import Request
from tests.e2e.faults.proxy import FaultProxy

from steersman.testing.control_plane import ComponentError, ControlPlane, JsonObject, KubeScheduler, SchedulerProcess

STEERSMAN, KUBE_SCHEDULER = "steersman", "kube-scheduler"
LEASE_NAME: Final = "kube-scheduler"
CONFIG: Final[dict[str, Any]] = {
    "clientConnection": {"qps": 500, "burst": 1000},
    "podInitialBackoffSeconds": 1,
    "podMaxBackoffSeconds": 5,
    "leaderElection": {
        "leaderElect": True,
        "leaseDuration": f"{LEASE_SECONDS:g}s",
        "renewDeadline": f"{RENEW_DEADLINE_SECONDS:g}s",
        "retryPeriod": f"{RETRY_SECONDS:g}s",
        # The rules of the API server for kube-scheduler know only this name.
        "resourceName": LEASE_NAME,
        "resourceNamespace": "kube-system",
    },
}
RESTART_SECONDS: Final = 2.0
_SAMPLE_SECONDS: Final = 1.0
_PROBE_SECONDS: Final = 2.0
#: As long as a kubelet would wait; and as long as a process may take until it listens.
_PROBE_TIMEOUT_SECONDS: Final = 5.0
_START_SECONDS: Final = 15.0
#: Connections of a process that ends break before its end is noticed.
_END_SECONDS: Final = 0.5


@dataclass(slots=True)
class ProcessLife:
    """One process of a replica, from its start to its end. Times are seconds since the epoch."""

    replica: str
    number: int
    begin: float
    end: float | None = None
    exit_code: int | None = None
    #: The signal with which the harness ended it, if it did.
    ended_by: str = ""
    #: (time, bytes), once a second.
    memory: list[tuple[float, int]] = field(default_factory=list)


class Replica:
    """Replica `a` or `b`; the user `chaos-a` of the API server."""

    def __init__(self, name: str, plane: ControlPlane, scheduler: str) -> None:
        self.name = name
        self.user = f"chaos-{name}"
        self.lives: list[ProcessLife] = []
        self.unanswered_probes: list[float] = []
        #: When it last tried to write the lease: the leader is who did so last.
        self.lease_written = 0.0
        self.paused = False
        self._numbers = itertools.count()
        self._sampled = 0.0
        self.proxy = FaultProxy(plane, self.user, self._stamp)
        self._plane = plane
        self._scheduler = scheduler
        #: Where Steersman records what it is told and decides, one life after the other.
        self.record = plane.directory / f"record-{name}"
        self.process: SchedulerProcess

    @contextmanager
    def running(self) -> Iterator[None]:
        """The proxy listens, the process is started, and both end with the block."""
        with self.proxy:
            self.process = self._new_process()
            try:
                self.start()
                yield
            finally:
                self.process.__exit__()

    def _new_process(self) -> SchedulerProcess:
        if self._scheduler == KUBE_SCHEDULER:
            return KubeScheduler(self._plane, config=CONFIG, kubeconfig=self.proxy.kubeconfig, leader_elect=None)
        program = [sys.executable, str(Path(shifted_clock.__file__)), "run"]
        return SchedulerProcess(
            f"steersman-{self.name}",
            program,
            self._plane,
            config=CONFIG,
            kubeconfig=self.proxy.kubeconfig,
            leader_elect=None,
            flags=(f"--record={self.record}", f"--emulated-version={self._plane.binaries.version}"),
        )

    @property
    def life(self) -> ProcessLife:
        return self.lives[-1]

    @property
    def alive(self) -> bool:
        return self.process.running and not self.paused

    def start(self) -> None:
        self.lives.append(ProcessLife(self.name, len(self.lives) + 1, time.time()))
        self.process.start(wait=False)

    def tick(self) -> None:
        """Notices an end, begins a new life after a while, and looks at the memory."""
        now = time.time()
        if not self.process.running:
            if self.life.end is None:
                self.life.end, self.life.exit_code = now, self.process.exit_code
            elif now - self.life.end >= RESTART_SECONDS:
                self.start()
        elif now - self._sampled >= _SAMPLE_SECONDS:
            self._sampled = now
            self._sample(now)

    def _sample(self, now: float) -> None:
        try:
            self.life.memory.append((now, self.process.rss()))
        except (OSError, ComponentError):
            return  # it has ended meanwhile: the next tick notices

    # What chaos does to it.

    def kill(self) -> None:
        self.life.ended_by = "SIGKILL"
        self.process.kill()
        self.paused = False

    def terminate(self) -> None:
        if self.process.running:
            self.life.ended_by = "SIGTERM"
            self.process.signal(signal.SIGTERM)

    def pause(self) -> None:
        if self.process.running:
            self.process.pause()
            self.paused = True

    def resume(self) -> None:
        if self.process.running:
            self.process.resume()
        self.paused = False

    def jump_clock(self) -> bool:
        """False for kube-scheduler: the clock of a Go program cannot be set from outside."""
        if self._scheduler == STEERSMAN and self.process.running:
            self.process.signal(signal.SIGUSR1)
        return self._scheduler == STEERSMAN

    # What is asked of it.

    def probe_livez(self, ended: threading.Event) -> None:
        """Until the run ends, in a thread of its own."""
        while not ended.wait(_PROBE_SECONDS):
            life = self.life
            has_started = self.alive and time.time() - life.begin > _START_SECONDS
            if has_started and not self._answers():
                ended.wait(_END_SECONDS)
                if self.alive and self.life is life:
                    self.unanswered_probes.append(time.time())

    def _answers(self) -> bool:
        """Whatever it says: a leader that cannot renew its lease is right not to call itself healthy."""
        try:
            self.process.get("/livez", timeout=_PROBE_TIMEOUT_SECONDS)
        except (OSError, http.client.HTTPException):
            return False
        return True

    def _stamp(self, request: Request) -> Mapping[str, str]:
        """In the proxy's thread."""
        now = time.time()
        if "/leases" in request.path and request.method in ("POST", "PUT"):
            self.lease_written = now
        return {"Audit-ID": f"{self.name}.{self.life.number}.{next(self._numbers)}.{now:.6f}"}


def scheduler_rights(user: str) -> list[JsonObject]:
    """Bindings that give a user the rights that the API server's own rules give system:kube-scheduler."""
    cluster_roles = ("system:kube-scheduler", "system:volume-scheduler")
    roles = ("extension-apiserver-authentication-reader", "system::leader-locking-kube-scheduler")
    return [
        *(_role_binding("ClusterRoleBinding", "ClusterRole", role, user) for role in cluster_roles),
        *(_role_binding("RoleBinding", "Role", role, user) for role in roles),
    ]


def _role_binding(kind: str, role_kind: str, role: str, user: str) -> JsonObject:
    group = "rbac.authorization.k8s.io"
    metadata = {"name": f"{user}:{role}", **({"namespace": "kube-system"} if kind == "RoleBinding" else {})}
    return {
        "apiVersion": f"{group}/v1",
        "kind": kind,
        "metadata": metadata,
        "roleRef": {"apiGroup": group, "kind": role_kind, "name": role},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }
