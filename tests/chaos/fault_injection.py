# SPDX-License-Identifier: Apache-2.0
"""Carries out one fault of the schedule: what begins it, and what ends it. Used by `chaos_run`.

Processes are touched in the thread of the caller; what needs the API server goes to threads of its own, since the server may
be away.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

from tests.chaos.fault_schedule import PlannedFault
from tests.chaos.hostile_clients import HostileClients
from tests.chaos.hostile_objects import HOSTILE_OBJECTS, create_hostile, remove_hostile
from tests.chaos.node_operator import NodeOperator
from tests.chaos.persistence import Persistent
from tests.chaos.replicas import Replica
from tests.chaos.tenants import Tenants
from tests.e2e.faults.faults import CutMidLine, Delay, Fault, LostAnswer, Refusal, Selection

from steersman.testing.control_plane import Component, ControlPlane

Undo: TypeAlias = Callable[[], None]
NODES_AT_ONCE: Final = 8
_THREADS: Final = 8
#: Pods, bindings, nodes; leases and events are elsewhere.
_CORE: Final = "/api/v1/"
_WATCHES: Final = Selection(method="GET", watches=True)


@dataclass(slots=True)
class FaultRecord:
    """A fault as it happened. Times are seconds since the epoch."""

    number: int
    kind: str
    target: str
    began: float
    ended: float | None = None


class FaultInjector:
    """`lenient` faults leave the lease alone: `chaos_run` says so for those of the lasting part."""

    def __init__(
        self,
        plane: ControlPlane,
        replicas: Sequence[Replica],
        tenants: Tenants,
        nodes: NodeOperator,
        persistent: Persistent,
        token: str,
    ) -> None:
        self._plane = plane
        self._replicas = replicas
        self._tenants = tenants
        self._nodes = nodes
        self._do = persistent
        self._token = token
        self._threads = ThreadPoolExecutor(_THREADS, "fault")
        self._futures: list[Future[None]] = []
        self._undo: dict[int, Undo] = {}
        #: Servers that a fault has taken away; others are started again when they end.
        self._taken_away: set[str] = set()
        self.records: list[FaultRecord] = []

    def begin(self, fault: PlannedFault, lenient: bool) -> FaultRecord:
        record = FaultRecord(fault.number, fault.kind.name, fault.kind.target, time.time())
        self.records.append(record)
        self._undo[fault.number] = self._carry_out(fault, record, lenient)
        return record

    def end(self, record: FaultRecord) -> None:
        self._undo.pop(record.number)()
        record.ended = time.time()

    def check(self) -> None:
        """Raises what went wrong in a thread; starts servers that ended by themselves, as a kubelet does."""
        for future in [future for future in self._futures if future.done()]:
            self._futures.remove(future)
            future.result()
        for server in (self._plane.etcd, self._plane.api_server):
            if not server.running and server.name not in self._taken_away:
                server.start(wait=False)

    @property
    def busy(self) -> bool:
        """Something of a fault is still under way."""
        return bool(self._futures)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def leader(self) -> Replica:
        """Who wrote the lease last."""
        return max(self._replicas, key=lambda replica: replica.lease_written)

    def _carry_out(self, fault: PlannedFault, record: FaultRecord, lenient: bool) -> Undo:
        name = fault.kind.name
        if name.startswith(("leader-", "standby-")):
            return self._harm_replica(name, record)
        if name.startswith(("api-server-", "etcd-")):
            return self._harm_server(name)
        if name in HOSTILE_OBJECTS:
            return self._create_hostile_objects(fault)
        if name == "clock-jump":
            record.target = self.leader.name if self.leader.jump_clock() else "not possible for a Go program"
            return _nothing
        if name == "nodes-deleted":
            deleted = self._later(partial(self._nodes.delete_some, NODES_AT_ONCE))
            return lambda: self._after(deleted, self._nodes.add_missing)
        if name == "namespace-deleted":
            self._later(self._tenants.delete_a_namespace)
            return _nothing
        if harm := self._proxy_faults(name, lenient):
            return self._suffer(harm)
        return self._send_hostile_clients(name)

    def _harm_replica(self, name: str, record: FaultRecord) -> Undo:
        leader = self.leader
        target = leader if name.startswith("leader-") else next(one for one in self._replicas if one is not leader)
        record.target = target.name
        if name.endswith("-killed"):
            target.kill()
        elif name.endswith("-terminated"):
            target.terminate()
        else:
            target.pause()
            return target.resume
        return _nothing

    def _harm_server(self, name: str) -> Undo:
        """Killed or away: its process ends, and starts again later. Paused or asleep: it hangs."""
        server = self._plane.etcd if name.startswith("etcd-") else self._plane.api_server
        if name.endswith(("-killed", "-away")):
            self._taken_away.add(server.name)
            server.kill()
            return partial(self._bring_back, server)
        server.pause()
        return server.resume

    def _bring_back(self, server: Component) -> None:
        self._taken_away.discard(server.name)
        server.start(wait=False)

    def _proxy_faults(self, name: str, lenient: bool) -> Callable[[], list[Fault]] | None:
        some = Selection(path=_CORE if lenient else "", watches=False)
        writes = Selection(method="POST", path=_CORE if lenient else "")
        faults: dict[str, Callable[[], list[Fault]]] = {
            "watches-cut": lambda: [CutMidLine(selection=_WATCHES, times=8)],
            "watches-expired": lambda: [
                CutMidLine(selection=_WATCHES, times=4),
                Refusal(selection=_WATCHES, code=410, reason="Expired", times=4),
            ],
            "refusals-429": lambda: [
                Refusal(selection=some, share=0.5, code=429, reason="TooManyRequests", retry_after=1)
            ],
            "refusals-500": lambda: [Refusal(selection=some, share=0.5, code=500, reason="InternalError")],
            "slow-answers": lambda: [Delay(selection=some, share=0.5, seconds=1.0)],
            "lost-answers": lambda: [LostAnswer(selection=writes, share=0.3)],
        }
        return faults.get(name)

    def _suffer(self, harm: Callable[[], list[Fault]]) -> Undo:
        """Each replica at its own proxy."""
        added = [(replica.proxy, replica.proxy.add(fault)) for replica in self._replicas for fault in harm()]

        def undo() -> None:
            for proxy, fault in added:
                proxy.remove(fault)

        return undo

    def _create_hostile_objects(self, fault: PlannedFault) -> Undo:
        objects = HOSTILE_OBJECTS[fault.kind.name](fault.number)
        created = self._later(partial(create_hostile, self._do, objects))
        return lambda: self._after(created, partial(remove_hostile, self._do, objects))

    def _send_hostile_clients(self, name: str) -> Undo:
        sent = [HostileClients(replica.process.url, self._token) for replica in self._replicas]
        for clients in sent:
            self._later(partial(clients.begin, name))

        def undo() -> None:
            for clients in sent:
                clients.end()

        return undo

    def _later(self, act: Callable[[], None]) -> Future[None]:
        future = self._threads.submit(act)
        self._futures.append(future)
        return future

    def _after(self, first: Future[None], act: Callable[[], None]) -> None:
        def wait_and_act() -> None:
            first.result()
            act()

        self._later(wait_and_act)


def _nothing() -> None:
    """What has happened cannot be taken back."""
