# SPDX-License-Identifier: Apache-2.0
"""A replay that begins at any snapshot of a live scheduler decides what was decided."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace
from tests.app.running import cluster, running_program
from tests.client.api_server import ApiServer
from tests.client.following import until
from tests.client.serving import run
from tests.record.test_begun_bindings import recorded_run

from steersman import api
from steersman.base.clock import ManualClock
from steersman.base.errors import InputError
from steersman.cluster.store import NotFound
from steersman.record import RecordReader, replay
from steersman.record.frames import FrameKind, StateBody
from steersman.record.moment import KnownCluster
from steersman.record.recorded_run import body_of
from steersman.record.recorder import Recorder
from steersman.record.segments import segment_files
from steersman.run.app import RecordOptions
from steersman.scheduler.assembly import SchedulerOptions
from steersman.scheduler.assembly.saved_scheduler import SavedScheduler, restore_scheduler, save_scheduler
from steersman.scheduler.queue.queued_pod import Place
from steersman.scheduler.queue.saved_queue import SavedPod
from steersman.scheduler.state.node_table import RowLayout
from steersman.scheduler.what_if import isolated_scheduler
from steersman.testing import make_node, make_pod

SAMPLING = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 20
"""


def begins_segments_often(monkeypatch: pytest.MonkeyPatch, random: Random, share: float) -> None:
    """Have recorders begin a segment after this share of the stimuli, or as soon after it as the state can be told."""
    end = Recorder.end

    def end_and_ask(self: Recorder) -> None:
        end(self)
        if random.random() < share:
            self._log.wants_segment = self._log.wants_attention = True

    monkeypatch.setattr(Recorder, "end", end_and_ask)


async def churn(server: ApiServer, random: Random, steps: int) -> None:
    """Pods and nodes of all kinds come and go while pods are being bound."""
    store = server.store
    for step in range(steps):
        what, name = random.random(), f"p{step}"
        if what < 0.5:
            for replica in range(random.randint(1, 6)):
                store.create(make_pod(f"{name}-{replica}").req(cpu=random.choice(["1", "2"])).obj())
        elif what < 0.6:
            store.create(make_pod(name).req(cpu="64").obj())
        elif what < 0.7:
            store.create(make_pod(name).req(cpu="4").priority(random.randint(1, 3)).obj())
        elif what < 0.75:
            store.create(make_pod(name).gate("later").obj())
        elif what < 0.9:
            pods = list(store.objects(api.Pod).values())
            for pod in random.sample(pods, min(len(pods), 3)):
                delete(server, api.Pod, api.key(pod))
        elif what < 0.95:
            new = make_node(f"new-{step}").label("topology.kubernetes.io/zone", random.choice(["a", "b"]))
            store.create(new.capacity(cpu="8", memory="16Gi", pods="110").obj())
        else:
            delete(server, api.Node, random.choice(list(store.objects(api.Node))))
        await asyncio.sleep(0)
        if random.random() < 0.3:
            await until(lambda: not any(is_new(pod) for pod in store.objects(api.Pod).values()))


def is_new(pod: api.Pod) -> bool:
    """Whether the pod has not been tried yet."""
    return not (pod.spec.node_name or pod.status.conditions or pod.spec.scheduling_gates)


def delete(server: ApiServer, kind: type[api.Object], key: str) -> None:
    try:
        server.store.delete(kind, key)
    except NotFound:
        return


def record_churn(directory: Path, seed: int, monkeypatch: pytest.MonkeyPatch, configuration: str = "") -> None:
    random = Random(seed)
    begins_segments_often(monkeypatch, random, 0.1)
    file = directory.with_suffix(".yaml")
    file.write_text(configuration)

    async def scenario() -> None:
        server = cluster(nodes=random.randint(3, 8))
        config_file = str(file) if configuration else ""
        options = RecordOptions(str(directory))
        async with running_program(server, config_file=config_file, record=options) as program:
            await churn(server, random, 60)
            assert await program.stopped() == 0

    run(scenario())


def cut(directory: Path, segment: Path, target: Path) -> Path:
    """Copy a record without the segments before one."""
    target.mkdir()
    for path in segment_files(directory):
        if path.name >= segment.name:
            shutil.copy(path, target)
    return target


def states(directory: Path) -> list[StateBody]:
    frames = RecordReader(directory).all_frames()
    return [body_of(frame, StateBody, directory) for frame in frames if frame.kind == FrameKind.STATE]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("configuration", ["", SAMPLING], ids=["all nodes", "sampling"])
def test_a_replay_from_any_snapshot_makes_all_decisions_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, configuration: str
) -> None:
    whole = tmp_path / "record"
    record_churn(whole, seed, monkeypatch, configuration)
    assert replay(whole).is_same
    segments = segment_files(whole)
    assert len(segments) > 2
    for number, segment in enumerate(segments[1:]):
        found = replay(cut(whole, segment, tmp_path / f"cut-{number}"))
        assert found.is_same, (segment.name, found)
        assert found.not_compared == 0
        assert found.same == found.recorded


def test_snapshots_hold_every_part_of_the_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record_churn(tmp_path / "record", 5, monkeypatch)
    saved = [state.scheduler for state in states(tmp_path / "record")]
    pods = [pod for each in saved for pod in each.queue.pods]
    assert any(pod.place is Place.UNSCHEDULABLE for pod in pods)
    assert any(pod.gating_plugin for pod in pods)
    assert any(pod.attempts for pod in pods)
    assert len({each.random for each in saved}) > 1


def test_a_replay_begins_while_bindings_are_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begins_segments_often(monkeypatch, Random(0), 0.05)
    run(recorded_run(tmp_path))
    monkeypatch.undo()
    record = tmp_path / "record"
    under_way = [binding.is_under_way for state in states(record) for binding in state.scheduler.bindings]
    assert any(under_way)
    for number, segment in enumerate(segment_files(record)[1:]):
        found = replay(cut(record, segment, tmp_path / f"cut-{number}"))
        assert found.is_same, (segment.name, found)
        assert found.not_compared == 0


def test_pods_that_were_assumed_at_a_snapshot_have_their_node_in_the_cluster_of_that_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begins_segments_often(monkeypatch, Random(1), 0.1)
    run(recorded_run(tmp_path))
    assumed = 0
    for segment in segment_files(tmp_path / "record")[1:]:
        reader = RecordReader(cut(tmp_path / "record", segment, tmp_path / segment.stem))
        known = KnownCluster(reader)
        for frame in reader.all_frames():
            known.add(frame)
            if frame.kind == FrameKind.STATE:
                break
        nodes = {obj.metadata.uid: obj.spec.node_name for obj in known.objects_with_nodes() if isinstance(obj, api.Pod)}
        pods = body_of(frame, StateBody, tmp_path).scheduler.assumed
        assert all(nodes[pod.uid] == pod.node for pod in pods)
        assumed += len(pods)
    assert assumed


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda state: replace(state, random=(1, 2)), "state vector"),
        (lambda state: replace(state, rows=RowLayout((("n0", 0), ("n1", 0)), ())), "rows of nodes"),
        (lambda state: replace(state, queue=replace(state.queue, pods=(SavedPod("x/y", Place.ACTIVE, 0, 1),))), "x/y"),
    ],
    ids=["random numbers", "rows", "queue"],
)
def test_a_state_that_cannot_be_is_refused(
    tmp_path: Path, damage: Callable[[SavedScheduler], SavedScheduler], message: str
) -> None:
    scheduler = isolated_scheduler(SchedulerOptions(), ManualClock())
    saved = save_scheduler(scheduler)
    assert saved is not None
    with pytest.raises(InputError, match=message):
        restore_scheduler(isolated_scheduler(SchedulerOptions(), ManualClock()), damage(saved), (), lambda _: None)
