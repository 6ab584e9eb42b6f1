# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.recording [--simulate] [--rounds N] [--pods N] [--nodes N]`: what recording costs, see the package's
text."""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any, Final

from benchmarks.race.records import recorded_bytes
from benchmarks.race.workloads import node, pod_manifest
from benchmarks.recording.simulated import simulated_rounds
from benchmarks.recording.stub_server import StubCluster, served

CONFIG: Final = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {qps: 50000, burst: 50000}
"""
WAITING: Final = 200
"""So many pods wait at a time, as in a burst."""
AT_ONCE: Final = 16
"""So many come when as many are bound."""
TIMEOUT_SECONDS: Final = 120
"""Nobody waits longer for a round."""
REST_SECONDS: Final = 0.5
"""After a round: the record and the events are written."""
RECORDED, PLAIN = "recorded", "not recorded"
_NANOSECONDS: Final = 1e9


@dataclass(frozen=True)
class Cost:
    """What one round took, in µs per pod: CPU time of all threads, that of the record's thread, and time."""

    cpu: float
    recorder: float
    wall: float


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="steersman-recording-") as folder:
        if options.simulate:
            print("\n".join(_simulated(options, Path(folder))))
            return
        costs = asyncio.run(_rounds(options, Path(folder)))
        print("\n".join(_summary(costs)))
        print(recorded_bytes(Path(folder) / RECORDED / "record"))


async def _rounds(options: argparse.Namespace, folder: Path) -> dict[str, list[Cost]]:
    """Both schedulers live all the time, and work in turn, a second or so each: what else the machine does meets both."""
    costs: dict[str, list[Cost]] = {PLAIN: [], RECORDED: []}
    async with AsyncExitStack() as stack:
        running = {name: await stack.enter_async_context(_scheduler(options, folder, name)) for name in costs}
        for number in range(options.rounds + 1):
            # Who begins changes from round to round; the first one is for warming up.
            for name in sorted(running, reverse=number % 2 == 0):
                cost = await running[name].round(options.pods)
                if number:
                    costs[name].append(cost)
                    shown = f"{cost.cpu:.1f} µs of CPU per pod, {cost.recorder:.1f} of it in the record's thread"
                    print(f"round {number}, {name}: {shown}; {1e6 / cost.wall:.0f} pods per second", file=sys.stderr)
    return costs


@asynccontextmanager
async def _scheduler(options: argparse.Namespace, folder: Path, name: str) -> AsyncIterator[RunningScheduler]:
    own = folder / name
    own.mkdir()
    load = Load()
    cluster = load.cluster = StubCluster([node(index) for index in range(options.nodes)], load.bound)
    (own / "config.yaml").write_text(CONFIG)
    async with served(cluster, own) as kubeconfig:
        flags = [f"--kubeconfig={kubeconfig}", f"--config={own / 'config.yaml'}", "--secure-port=0"]
        flags += [f"--record={own / 'record'}"] if name == RECORDED else []
        with (own / "log").open("wb") as log:
            command = (sys.executable, "-m", "steersman", "run", *flags)
            process = await asyncio.create_subprocess_exec(*command, stderr=log, stdout=log)
            try:
                yield RunningScheduler(process.pid, load, own / "log")
            finally:
                process.terminate()
                await process.wait()


class RunningScheduler:
    """`steersman run` beside its server."""

    def __init__(self, pid: int, load: Load, log: Path) -> None:
        self._pid = pid
        self._load = load
        self._log = log

    async def round(self, pods: int) -> Cost:
        """Schedule this number of pods."""
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                return await self._round(pods)
        except TimeoutError:
            sys.exit(f"the scheduler stands still; its log: {self._log.read_text()[-2000:]}")

    async def _round(self, pods: int) -> Cost:
        cluster = self._load.cluster
        while cluster is None or not cluster.is_watched:
            await asyncio.sleep(0.05)
        before, began = _cpu_seconds(self._pid), time.perf_counter()
        await self._load.send(pods)
        wall = time.perf_counter() - began
        await asyncio.sleep(REST_SECONDS)
        used = {thread: seconds - before.get(thread, 0.0) for thread, seconds in _cpu_seconds(self._pid).items()}
        # The threads are: scheduling, which is the process itself, control, and that of the record, which is started last.
        recorder = used[max(used)] if len(used) > 2 else 0.0
        per_pod = 1e6 / pods
        return Cost(sum(used.values()) * per_pod, recorder * per_pod, wall * per_pod)


def _cpu_seconds(pid: int) -> dict[int, float]:
    """CPU time by thread."""
    found = Path(f"/proc/{pid}/task").iterdir()
    return {int(task.name): int((task / "schedstat").read_text().split()[0]) / _NANOSECONDS for task in found}


class Load:
    """Pods that come as others are bound."""

    def __init__(self) -> None:
        self.cluster: StubCluster | None = None
        self._names = count()
        self._coming: Iterator[dict[str, Any]] = iter(())
        self._left = 0
        self._done = asyncio.Event()

    async def send(self, pods: int) -> None:
        """Returns when all of them are bound."""
        self._left = pods
        self._done.clear()
        self._coming = (basic_pod(next(self._names)) for _ in range(pods))
        self._add(WAITING)
        await self._done.wait()

    def bound(self, name: str) -> None:
        self._left -= 1
        if not self._left:
            self._done.set()
        elif self._left % AT_ONCE == 0:
            self._add(AT_ONCE)

    def _add(self, pods: int) -> None:
        assert self.cluster is not None
        self.cluster.add_pods(islice(self._coming, pods))


def basic_pod(index: int) -> dict[str, Any]:
    """A pod of the basic workload, with what an API server adds to it."""
    pod = pod_manifest(f"basic-{index}")
    pod["metadata"] |= {
        "namespace": "race",
        "uid": f"6b1f0d2e-0000-4000-8000-{index:012}",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "managedFields": [_managed_fields()],
    }
    pod["spec"] |= {
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "tolerations": [
            {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for what in ("not-ready", "unreachable")
        ],
        "priority": 0,
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
    }
    pod["spec"]["containers"][0] |= {
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }
    return {**pod, "status": {"phase": "Pending", "qosClass": "Burstable"}}


def _managed_fields() -> dict[str, Any]:
    container: dict[str, Any] = {"f:image": {}, "f:imagePullPolicy": {}, "f:name": {}, "f:resources": {}}
    spec = {"f:containers": {'k:{"name":"main"}': container}, "f:restartPolicy": {}, "f:schedulerName": {}}
    return {
        "manager": "kube-controller-manager",
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": spec},
    }


def _summary(costs: dict[str, list[Cost]]) -> Iterator[str]:
    for name, field in (("CPU time", "cpu"), ("wall time", "wall")):
        plain, recorded = ([getattr(cost, field) for cost in costs[side]] for side in (PLAIN, RECORDED))
        ratios = [with_record / without for without, with_record in zip(plain, recorded, strict=True)]
        yield (
            f"{name} per pod: {statistics.median(plain):.1f} µs (least {min(plain):.1f}) without, "
            f"{statistics.median(recorded):.1f} µs (least {min(recorded):.1f}) with a record; "
            f"ratio in the median round {statistics.median(ratios):.3f}, of the least {min(recorded) / min(plain):.3f}"
        )


def _simulated(options: argparse.Namespace, folder: Path) -> Iterator[str]:
    costs = []
    for plain, recorded in simulated_rounds(options.rounds, options.pods, options.nodes, folder):
        costs.append((plain, recorded))
        print(
            f"round {len(costs)}: {plain:.1f} µs of CPU per pod without a record, {recorded:.1f} with", file=sys.stderr
        )
    without, with_record = zip(*costs, strict=True)
    ratio = statistics.median(recorded / plain for plain, recorded in costs)
    yield (
        f"CPU time per pod: {statistics.median(without):.1f} µs (least {min(without):.1f}) without, "
        f"{statistics.median(with_record):.1f} µs (least {min(with_record):.1f}) with a record; "
        f"ratio in the median round {ratio:.3f}, of the least {min(with_record) / min(without):.3f}"
    )
    yield recorded_bytes(folder / "record")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recording")
    parser.add_argument("--simulate", action="store_true", help="of simulations, instead of `steersman run`")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--pods", type=int, default=2000, help="in a round, of each scheduler")
    parser.add_argument("--nodes", type=int, default=1000)
    return parser.parse_args()


if __name__ == "__main__":
    main()
