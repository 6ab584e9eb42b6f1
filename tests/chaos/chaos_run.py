# SPDX-License-Identifier: Apache-2.0
"""One chaos run of one scheduler: starts everything, carries the schedule out, lets things settle, writes down what is there.

Comes in: a `FaultSchedule`. Goes out: a `RunRecord`, which `judgement` reads. The main thread is the conductor: it begins and
ends faults and starts processes; load and observers have threads of their own.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from tests.chaos.audit_trail import AuditedRequest, AuditTrail
from tests.chaos.fault_injection import FaultInjector, FaultRecord
from tests.chaos.fault_schedule import FaultSchedule, PlannedFault
from tests.chaos.final_state import FinalState, wait_for_final_state
from tests.chaos.hostile_objects import prepare
from tests.chaos.kubelets import Kubelets, Overcommitment
from tests.chaos.node_operator import NodeOperator
from tests.chaos.persistence import HarnessThread, Persistent
from tests.chaos.pod_templates import PRIORITIES
from tests.chaos.replicas import STEERSMAN, ProcessLife, Replica, scheduler_rights
from tests.chaos.tenants import Tenants
from tests.e2e.faults.arena import OBSERVER
from tests.e2e.faults.conftest import observer_token
from tests.e2e.faults.following import PodFollower
from tests.e2e.objects import priority_class

from steersman.base.errors import SteersmanError
from steersman.record import Replay, replay
from steersman.testing.control_plane import Binaries, ControlPlane, wait_until

REPLICAS: Final = ("a", "b")
_TICK_SECONDS: Final = 0.1
_PROGRESS_SECONDS: Final = 15.0
_READY_SECONDS: Final = 60.0
#: Faults that still have something to undo, at the end of the last part.
_UNDO_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class ChaosOptions:
    schedule: FaultSchedule
    scheduler: str
    nodes: int = 120
    rate: float = 8.0

    @property
    def lifetime(self) -> float:
        """Of a wave: short enough for many of them in a short run."""
        return min(90.0, self.schedule.parts.end / 5)


@dataclass(slots=True)
class RunRecord:
    """What happened. Times are seconds since the epoch; parts of the run are counted from `began`."""

    options: ChaosOptions
    began: float
    load_ended: float = 0.0
    faults: list[FaultRecord] = field(default_factory=list)
    lives: list[ProcessLife] = field(default_factory=list)
    unanswered_probes: dict[str, list[float]] = field(default_factory=dict)
    requests: list[AuditedRequest] = field(default_factory=list)
    final: FinalState = field(default_factory=FinalState)
    #: By namespace/name, the nodes that a watch of the harness has seen a pod on.
    nodes_seen: dict[str, list[str]] = field(default_factory=dict)
    #: The logs of the replicas, by name.
    logs: dict[str, str] = field(default_factory=dict)
    #: Of those that were asked to end after the judgement.
    last_exit_codes: dict[str, int | str] = field(default_factory=dict)
    #: What the records of the replicas lead to when they are replayed, by name; none of kube-scheduler.
    replays: dict[str, Replay] = field(default_factory=dict)
    orphans: int = 0
    overcommitted: list[Overcommitment] = field(default_factory=list)


@contextmanager
def control_plane(folder: Path, users: list[str]) -> Iterator[tuple[ControlPlane, AuditTrail]]:
    trail = AuditTrail(folder / "audit", users)
    flags = (*trail.flags, "--event-ttl=5m", "--delete-collection-workers=4")
    with ControlPlane(Binaries.find(), folder / "plane", extra_flags=flags) as plane:
        for user in users:
            plane.admin.create_many(scheduler_rights(user))
        for name, value in PRIORITIES.items():
            plane.admin.create(priority_class(name, value))
        yield plane, trail


def run_chaos(options: ChaosOptions, folder: Path) -> RunRecord:
    users = [f"chaos-{name}" for name in REPLICAS]
    with control_plane(folder, users) as (plane, trail), ExitStack() as stack:
        run = ChaosRun(options, plane, stack)
        record = run.conduct()
        record.requests = trail.requests()
        return record


class ChaosRun:
    """Everything that runs at once, from its construction to the end of `stack`."""

    def __init__(self, options: ChaosOptions, plane: ControlPlane, stack: ExitStack) -> None:
        self._options = options
        self._plane = plane
        self._ended = threading.Event()
        stack.callback(self._ended.set)
        token = observer_token(plane)
        seed = options.schedule.seed
        self._nodes = NodeOperator(self._persistent(stack), options.nodes, seed)
        self._tenants = Tenants(self._persistent(stack), self._nodes, options.rate, options.lifetime, seed)
        self._kubelets = Kubelets(stack.enter_context(plane.client("admin")), self._persistent(stack), self._nodes)
        self._replicas = [Replica(name, plane, options.scheduler) for name in REPLICAS]
        self._injector = FaultInjector(
            plane, self._replicas, self._tenants, self._nodes, self._persistent(stack), token
        )
        stack.callback(self._injector.close)
        self._threads: list[HarnessThread] = []
        self._stack = stack

    def _persistent(self, stack: ExitStack) -> Persistent:
        return Persistent(stack.enter_context(self._plane.client("admin")), self._ended)

    def conduct(self) -> RunRecord:
        self._nodes.create_all()
        prepare(self._plane.admin)
        follower = self._stack.enter_context(PodFollower(self._plane))
        for replica in self._replicas:
            self._stack.enter_context(replica.running())
        wait_until(lambda: any(replica.lease_written for replica in self._replicas), _READY_SECONDS, what="a leader")
        record = RunRecord(self._options, began=time.time())
        self._start_threads()
        self._follow_schedule(record)
        self._stop_load()
        record.load_ended = time.time()
        # A new one: tokens hold for an hour.
        token = self._persistent(self._stack)(partial(self._plane.admin.token, OBSERVER)) or ""
        record.final = wait_for_final_state(self._plane, self._injector, token, self._tick)
        self._write_down(record, follower)
        return record

    def _start_threads(self) -> None:
        stopped = self._tenants.stopped
        acts: dict[str, Callable[[], object]] = {
            "waves": self._tenants.run_waves,
            "probes": self._tenants.run_probes,
            "nodes": partial(self._nodes.run, stopped),
            "kubelets": self._kubelets.run,
            **{f"livez of {one.name}": partial(one.probe_livez, self._ended) for one in self._replicas},
        }
        self._threads = [HarnessThread(act, name) for name, act in acts.items()]

    def _tick(self) -> None:
        for replica in self._replicas:
            replica.tick()
        self._injector.check()
        for thread in self._threads:
            thread.check()
        time.sleep(_TICK_SECONDS)

    def _follow_schedule(self, record: RunRecord) -> None:
        schedule = self._options.schedule
        waiting = list(schedule.faults)
        in_force: list[tuple[PlannedFault, FaultRecord]] = []
        record.faults = self._injector.records
        shown = 0.0
        while (now := time.time() - record.began) < schedule.parts.end or in_force:
            for fault, begun in [entry for entry in in_force if now >= entry[0].end]:
                in_force.remove((fault, begun))
                self._injector.end(begun)
            while waiting and waiting[0].begin <= now:
                fault = waiting.pop(0)
                in_force.append((fault, self._injector.begin(fault, lenient=fault.begin < schedule.parts.rough)))
            if now - shown >= _PROGRESS_SECONDS:
                shown = now
                self._show_progress(now, [fault.kind.name for fault, _ in in_force])
            self._tick()

    def _show_progress(self, now: float, in_force: list[str]) -> None:
        lives = " ".join(f"{replica.name}:{len(replica.lives)}" for replica in self._replicas)
        faults = ", ".join(in_force) or "none"
        line = f"{self._options.scheduler}: {now:5.0f} s, {self._tenants.created} pods created, lives {lives}, faults: {faults}"
        print(line, file=sys.stderr, flush=True)

    def _stop_load(self) -> None:
        """Creation and deletion end; kubelets, observers and what faults have to undo go on."""
        self._tenants.stopped.set()
        deadline = time.monotonic() + _UNDO_SECONDS
        while self._injector.busy and time.monotonic() < deadline:
            self._tick()
        for thread in self._threads:
            if thread.name in ("waves", "probes", "nodes"):
                while thread.is_alive() and time.monotonic() < deadline:
                    self._tick()

    def _write_down(self, record: RunRecord, follower: PodFollower) -> None:
        for replica in self._replicas:
            record.last_exit_codes[replica.name] = _stopped(replica)
            record.lives += replica.lives
            record.unanswered_probes[replica.name] = replica.unanswered_probes
            record.logs[replica.name] = replica.process.log_text()
            if self._options.scheduler == STEERSMAN:
                record.replays[replica.name] = replay(replica.record)
        record.nodes_seen = dict(follower.nodes)
        record.orphans = self._kubelets.orphans
        record.overcommitted = self._kubelets.overcommitted


def _stopped(replica: Replica) -> int | str:
    """The exit code after SIGTERM, or what kept it from ending."""
    life = replica.life
    was_running = replica.process.running
    try:
        code = replica.process.stop()
    except SteersmanError as error:
        return str(error)
    if life.end is None:
        life.end, life.exit_code, life.ended_by = time.time(), code, "SIGTERM" if was_running else ""
    return code
