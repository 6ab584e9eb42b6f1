# SPDX-License-Identifier: Apache-2.0
"""A sandbox in this process and its clients in another: what each watch saw is replayed against what the store wrote."""

from __future__ import annotations

import asyncio
import gc
import resource
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import msgspec

from benchmarks.sandbox.clients import ClientReport, WatchedEvent
from steersman import api
from steersman.cluster.store import Commit
from steersman.sandbox import SandboxOptions, running_sandbox

TICK_SECONDS: Final = 0.01


class ScaleUp(msgspec.Struct, frozen=True):
    """Times in seconds. `differing` are the watches that did not see every write once and in order."""

    pods: int
    nodes: int
    seconds: float
    writes: int
    events: int
    differing: list[int]
    livez: list[float]
    longest_slice: float
    longest_collection: float
    megabytes: float

    def __str__(self) -> str:
        ordered = sorted(self.livez)
        return (
            f"{self.pods} pods on {self.nodes} nodes, {self.writes} writes: {self.seconds:.1f} s until all were available\n"
            f"watches: {self.events} events each, {len(self.differing)} of them lost or doubled any\n"
            f"/livez: median {1000 * ordered[len(ordered) // 2]:.0f} ms, longest {1000 * ordered[-1]:.0f} ms\n"
            f"longest slice of the loop {1000 * self.longest_slice:.0f} ms, "
            f"longest garbage collection {1000 * self.longest_collection:.0f} ms, {self.megabytes:.0f} MB"
        )


class _Pauses:
    """The longest time in which nobody else had a turn on the loop, and the longest garbage collection."""

    def __init__(self) -> None:
        self.longest_slice = 0.0
        self.longest_collection = 0.0
        self._began = 0.0

    async def watch_loop(self) -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(TICK_SECONDS)
            self.longest_slice = max(self.longest_slice, time.monotonic() - before - TICK_SECONDS)

    def on_collection(self, phase: str, _: dict[str, Any]) -> None:
        if phase == "start":
            self._began = time.monotonic()
        else:
            self.longest_collection = max(self.longest_collection, time.monotonic() - self._began)


async def scale_up(pods: int, nodes: int, watches: int = 3) -> ScaleUp:
    pauses, written = _Pauses(), list[tuple[int, type[api.Object], WatchedEvent]]()

    def note(commit: Commit) -> None:
        obj = commit.new or commit.old
        assert obj is not None, "a write has an object"
        event = (commit.type.value, obj.metadata.name, commit.version)
        written.append((commit.version, commit.kind, event))

    with TemporaryDirectory() as directory:
        kubeconfig = Path(directory) / "kubeconfig"
        async with running_sandbox(SandboxOptions(nodes=nodes, kubeconfig=kubeconfig)) as sandbox:
            sandbox.store.journal = note
            gc.callbacks.append(pauses.on_collection)
            watching = asyncio.create_task(pauses.watch_loop())
            report = await _clients(kubeconfig, pods, watches)
            watching.cancel()
            gc.callbacks.remove(pauses.on_collection)
    expected = [event for version, kind, event in written if kind is api.Pod and version > report.since]
    last = len(report.watches[0])
    return ScaleUp(
        pods=pods,
        nodes=nodes,
        seconds=report.seconds,
        writes=len(written),
        events=last,
        differing=[index for index, seen in enumerate(report.watches) if seen != expected[:last]],
        livez=report.livez,
        longest_slice=pauses.longest_slice,
        longest_collection=pauses.longest_collection,
        megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


async def _clients(kubeconfig: Path, pods: int, watches: int) -> ClientReport:
    command = [sys.executable, "-m", "benchmarks.sandbox.clients", str(kubeconfig), str(pods), str(watches)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    printed, _ = await process.communicate()
    assert process.returncode == 0, "the clients failed; what they say is above"
    return msgspec.json.decode(printed, type=ClientReport)
