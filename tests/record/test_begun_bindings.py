# SPDX-License-Identifier: Apache-2.0
"""Bindings that no task waits for, over HTTP/2, are recorded and replayed: those that end well, and those that do not."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

from benchmarks.race.workloads import node, pod_manifest
from benchmarks.recording.stub_server import StubCluster, served
from tests.app.running import ALONE, UNSERVED
from tests.client.serving import run

from steersman.record import RecordReader, history, replay
from steersman.record.frames import CallEndBody, FrameKind
from steersman.record.recorded_run import body_of
from steersman.run.app import Control, RecordOptions, RunOptions, run as run_program

PODS = 60
REFUSED_EVERY = 7


async def recorded_run(folder: Path) -> set[str]:
    """Records a scheduler that binds all pods, some of them in a second attempt; the names of these."""
    bound: set[str] = set()
    refused: set[str] = set()
    done = asyncio.Event()

    def note_bound(name: str) -> None:
        bound.add(name)
        if len(bound) == PODS:
            done.set()

    def is_refused(name: str) -> bool:
        if name in refused or int(name.rpartition("-")[2]) % REFUSED_EVERY:
            return False
        refused.add(name)
        return True

    cluster = StubCluster([node(index) for index in range(5)], note_bound, is_refused)
    async with served(cluster, folder) as kubeconfig, asyncio.TaskGroup() as group:
        options = RunOptions(
            kubeconfig=str(kubeconfig), election=ALONE, serving=UNSERVED, record=RecordOptions(str(folder / "record"))
        )
        control = Control()
        program = group.create_task(run_program(options, control, {}))
        while not cluster.is_watched:
            await asyncio.sleep(0)
        for begin in range(0, PODS, 20):
            cluster.add_pods(_pod(index) for index in range(begin, begin + 20))
            while len(bound) < begin + 20:
                await asyncio.sleep(0)
        await done.wait()
        control.stop.set()
        assert await program == 0
    return refused


def _pod(index: int) -> dict[str, object]:
    pod = pod_manifest(f"p-{index}")
    pod["metadata"] |= {"namespace": "default", "uid": f"uid-{index}"}
    return {**pod, "status": {"phase": "Pending"}}


def test_bindings_without_a_waiting_task_are_replayed(tmp_path: Path) -> None:
    refused: set[str] = set()

    async def scenario() -> None:
        refused.update(await recorded_run(tmp_path))

    run(scenario())
    found = replay(tmp_path / "record")
    assert found.is_same, found
    assert found.recorded == found.same == PODS
    assert not found.notes
    reader = RecordReader(tmp_path / "record")
    ends = [frame for frame in reader.all_frames() if frame.kind == FrameKind.CALL_END]
    errors = Counter(body_of(frame, CallEndBody, tmp_path).error is not None for frame in ends)
    assert errors[False] > PODS // 2, "most bindings were one call"
    assert errors[True] > 0, "some of these ended badly, and went on in a task"
    assert len(refused) >= errors[True]
    assert [entry.event for entry in history(tmp_path / "record", "p-1").entries][-1] == "bound"
