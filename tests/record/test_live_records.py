# SPDX-License-Identifier: Apache-2.0
"""A scheduler of a cluster is recorded, and decides the same when it is replayed."""

from __future__ import annotations

import asyncio
import errno
import shutil
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.app.running import QUICK, cluster, running_program
from tests.client.api_server import ApiServer
from tests.client.dispatching import stored
from tests.client.following import until
from tests.client.serving import run, serve

from steersman import api
from steersman.base.errors import InputError
from steersman.config import API_VERSION, CONFIGURATION_KIND
from steersman.record import Differs, Limits, RecordReader, Replay, history, replay, simulation_at
from steersman.record.frames import FrameKind, WatchEventBody
from steersman.record.history import AFTER_GAP, FOUND
from steersman.record.items import TICK
from steersman.record.log import LogObserver, RecordLog
from steersman.record.recorded_run import body_of
from steersman.record.segments import BlockBuilder, SegmentWriter, segment_files
from steersman.run.app import RecordOptions
from steersman.scheduler.assembly.host_actions import HostAction
from steersman.testing import make_node, make_pod

PERMIT = """
from steersman import framework as fw

class Pairs(fw.PermitPlugin):
    name = "Pairs"

    def __init__(self, args, handle):
        self.handle = handle

    def permit(self, pod, node_name):
        if "pair" not in pod.labels:
            return None
        others = list(self.handle.pods.waiting_pods())
        for other in others:
            other.allow(self.name)
        return None if others else fw.PermitResult(fw.Status(fw.Code.WAIT), float(pod.labels["pair"]))
"""
EXTENDED = f"""
apiVersion: {API_VERSION}
kind: {CONFIGURATION_KIND}
extenders:
- {{urlPrefix: "%s", filterVerb: filter, prioritizeVerb: prioritize, weight: 5, nodeCacheCapable: true}}
"""


PACKED = f"""
apiVersion: {API_VERSION}
kind: {CONFIGURATION_KIND}
profiles:
- plugins: {{score: {{disabled: [{{name: "*"}}], enabled: [{{name: NodeResourcesFit, weight: 1}}]}}}}
  pluginConfig:
  - name: NodeResourcesFit
    args: {{scoringStrategy: {{type: MostAllocated, resources: [{{name: cpu, weight: 1}}]}}}}
"""
NOWHERE = """
from steersman.framework import FilterPlugin
from steersman.framework.status import unschedulable

class Nowhere(FilterPlugin):
    name = "Nowhere"

    def filter(self, pod, node):
        return unschedulable("nobody is welcome")
"""


def is_the_same(found: Replay) -> bool:
    return found.is_same and found.same == found.recorded > 0 and not found.notes


def scheduled(server: ApiServer, *names: str) -> bool:
    return all(stored(server, name).spec.node_name for name in names)


def recorded(directory: Path, scenario: Coroutine[Any, Any, None], plugins: tuple[Path, ...] = ()) -> Replay:
    run(scenario)
    return replay(directory, plugins=plugins)


async def a_busy_time(server: ApiServer) -> None:
    """Pods that fit, one that does not, one that has others go for it, and room that comes later."""
    for index in range(12):
        server.store.create(make_pod(f"small-{index}").req(cpu="1").obj())
    await until(lambda: scheduled(server, *(f"small-{index}" for index in range(12))))
    server.store.create(make_pod("large").req(cpu="16").obj())
    await until(lambda: stored(server, "large").status.conditions)
    server.store.create(make_pod("mighty").req(cpu="8").priority(1000).obj())
    await until(lambda: "default/mighty" in server.store.objects(api.Pod) and scheduled(server, "mighty"))
    server.store.create(make_node("big").capacity(cpu="32", memory="16Gi", pods="110").obj())
    await until(lambda: scheduled(server, "large"))


def test_a_busy_time_is_replayed_to_the_last_score(tmp_path: Path) -> None:
    async def scenario() -> None:
        server = cluster()
        async with running_program(server, record=RecordOptions(str(tmp_path))) as program:
            await a_busy_time(server)
            assert await program.stopped() == 0

    found = recorded(tmp_path, scenario())
    assert is_the_same(found), found
    assert found.recorded >= 14
    attempts = [entry.event for entry in history(tmp_path, "large").entries if entry.attempt]
    assert attempts[0] == "unschedulable"
    assert attempts[-1] == "scheduled"


def test_watched_objects_are_recorded_to_the_byte(tmp_path: Path) -> None:
    async def scenario() -> None:
        server = cluster(nodes=1)
        async with running_program(server, record=RecordOptions(str(tmp_path))):
            server.store.create(make_pod("web").annotation("of-no-use", "to a scheduler").obj())
            await until(lambda: scheduled(server, "web"))

    run(scenario())
    reader = RecordReader(tmp_path)
    events = [frame for frame in reader.frames("pod/default/web") if frame.kind == FrameKind.WATCH_EVENT]
    assert b"of-no-use" in bytes(body_of(events[0], WatchEventBody, tmp_path).object)


def test_pods_that_wait_for_permission_are_replayed(tmp_path: Path) -> None:
    plugin = tmp_path / "pairs.py"
    plugin.write_text(PERMIT)

    async def scenario() -> None:
        server = cluster()
        options = RecordOptions(str(tmp_path / "record"))
        async with running_program(server, plugin_files=(str(plugin),), record=options) as program:
            server.store.create(make_pod("one").label("pair", "30").obj())
            await until(lambda: "default/one" in server.store.objects(api.Pod))
            server.store.create(make_pod("two").label("pair", "30").obj())
            await until(lambda: scheduled(server, "one", "two"))
            server.store.create(make_pod("alone").label("pair", "0.05").obj())
            await until(lambda: stored(server, "alone").status.conditions)
            assert await program.stopped() == 0

    found = recorded(tmp_path / "record", scenario(), (plugin,))
    assert is_the_same(found), found
    with pytest.raises(InputError, match="is a file with plugins that the record names, and would be run"):
        replay(tmp_path / "record")
    with pytest.raises(InputError, match=r"pairs\.py: is a file with plugins"):
        simulation_at(tmp_path / "record", 0.1)
    assert replay(tmp_path / "record", trusts_record=True).is_same


def test_answers_of_extenders_are_replayed_without_asking_them(tmp_path: Path) -> None:
    async def answer(request: web.Request) -> web.Response:
        document = await request.json()
        names = document["NodeNames"] if "NodeNames" in document else document["nodenames"]
        if request.path.endswith("filter"):
            return web.json_response({"nodenames": names[1:]})
        return web.json_response([{"Host": name, "Score": index} for index, name in enumerate(names)])

    async def scenario() -> None:
        server, file = cluster(), tmp_path / "config.yaml"
        async with serve(answer) as address:
            file.write_text(EXTENDED % address)
            options = RecordOptions(str(tmp_path / "record"))
            async with running_program(server, config_file=str(file), record=options) as program:
                for index in range(6):
                    server.store.create(make_pod(f"p{index}").req(cpu="1").obj())
                await until(lambda: scheduled(server, *(f"p{index}" for index in range(6))))
                assert await program.stopped() == 0

    found = recorded(tmp_path / "record", scenario())
    assert is_the_same(found), found


def test_a_leader_that_loses_the_lease_and_its_successor_are_in_one_record(tmp_path: Path) -> None:
    async def scenario() -> None:
        server = cluster()
        for index in range(2):
            server.store.create(make_pod(f"p{index}").req(cpu="1").obj())
            async with running_program(server, QUICK, record=RecordOptions(str(tmp_path))) as program:
                await until(lambda index=index: scheduled(server, f"p{index}"))  # type: ignore[misc]
                assert await program.stopped() == 0

    found = recorded(tmp_path, scenario())
    assert is_the_same(found), found
    assert found.recorded == 2


def test_a_record_that_was_cut_off_is_compared_up_to_there(tmp_path: Path) -> None:
    copy = tmp_path / "copy"

    async def scenario() -> None:
        server = cluster()
        async with running_program(server, record=RecordOptions(str(tmp_path / "record"))) as program:
            server.store.create(make_pod("early").req(cpu="1").obj())
            await until(lambda: scheduled(server, "early"))
            await until(lambda: _has_decisions(tmp_path / "record"))
            shutil.copytree(tmp_path / "record", copy)
            assert await program.stopped() == 0
        for _ in range(2):  # what was cut off, and what the next process makes of it
            with segment_files(copy)[-1].open("ab") as file:
                file.write(b"BLK1 torn")
            async with running_program(server, record=RecordOptions(str(copy))) as program:
                name = f"late-{len(segment_files(copy))}"
                server.store.create(make_pod(name).req(cpu="1").obj())
                await until(lambda name=name: scheduled(server, name))  # type: ignore[misc]
                assert await program.stopped() == 0

    found = recorded(copy, scenario())
    assert found.is_same
    assert found.same == found.recorded == 3
    (note,) = found.notes
    assert "was ended without closing its record, or still runs: its last second is missing at most" in note


def test_a_record_whose_beginning_is_damaged_is_compared_from_the_next_process_on(tmp_path: Path) -> None:
    async def scenario() -> None:
        server = cluster()
        for index in range(2):
            server.store.create(make_pod(f"p{index}").req(cpu="1").obj())
            async with running_program(server, QUICK, record=RecordOptions(str(tmp_path))) as program:
                await until(lambda index=index: scheduled(server, f"p{index}"))  # type: ignore[misc]
                assert await program.stopped() == 0

    run(scenario())
    first = segment_files(tmp_path)[0]
    content = first.read_bytes()
    second_block = content.index(b"BLK1", content.index(b"BLK1") + 1)
    first.write_bytes(content[: second_block - 1] + bytes([content[second_block - 1] ^ 1]) + content[second_block:])
    found = replay(tmp_path)
    assert found.is_same
    assert (found.same, found.recorded, found.not_compared) == (1, 2, 1)


def test_another_configuration_decides_on_the_cluster_as_it_was(tmp_path: Path) -> None:
    packed = tmp_path / "packed.yaml"
    packed.write_text(PACKED)
    nowhere = tmp_path / "nowhere.py"
    nowhere.write_text(NOWHERE)

    async def scenario() -> None:
        server = cluster(nodes=2)
        async with running_program(server, record=RecordOptions(str(tmp_path / "record"))) as program:
            for index in range(6):
                server.store.create(make_pod(f"p{index}").req(cpu="1").obj())
                await until(lambda index=index: scheduled(server, f"p{index}"))  # type: ignore[misc]
            assert await program.stopped() == 0

    run(scenario())
    same = replay(tmp_path / "record", configuration=str(_default(tmp_path)))
    assert is_the_same(same), "nodes that are equally good count as the same"
    found = replay(tmp_path / "record", configuration=str(packed))
    differing = {difference.differs for difference in found.differences}
    assert differing == {Differs.NODE}
    assert found.same + len(found.differences) == found.recorded == 6
    refused = replay(tmp_path / "record", plugins=[nowhere])
    assert {difference.differs for difference in refused.differences} == {Differs.OUTCOME}
    assert refused.same == 0


def _default(folder: Path) -> Path:
    file = folder / "default.yaml"
    file.write_text(f"apiVersion: {API_VERSION}\nkind: {CONFIGURATION_KIND}\n")
    return file


def _has_decisions(directory: Path) -> bool:
    return any(frame.kind == FrameKind.DECISION for frame in RecordReader(directory).all_frames())


def test_a_disk_that_fails_is_reported_once_and_the_record_continues_with_a_gap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("steersman.record.log.RETRY_SECONDS", 0.0)
    write = SegmentWriter.write_block
    is_full = False

    def write_if_there_is_room(self: SegmentWriter, block: BlockBuilder) -> None:
        if is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, block)

    monkeypatch.setattr(SegmentWriter, "write_block", write_if_there_is_room)

    async def scenario() -> None:
        nonlocal is_full
        server = cluster()
        async with running_program(server, record=RecordOptions(str(tmp_path))) as program:
            server.store.create(make_pod("before").obj())
            await until(lambda: scheduled(server, "before") and _has_decisions(tmp_path))
            is_full = True
            await until(lambda: "not recorded any more" in caplog.text)
            server.store.create(make_pod("meanwhile").obj())
            await until(lambda: scheduled(server, "meanwhile"))
            is_full = False
            server.store.create(make_pod("after").obj())
            await until(lambda: scheduled(server, "after") and "recording continues" in caplog.text)
            server.store.create(make_pod("last").obj())
            await until(lambda: scheduled(server, "last"))
            assert await program.stopped() == 0

    found = recorded(tmp_path, scenario())
    assert caplog.text.count("not recorded any more") == 1
    assert "No space left on device" in caplog.text
    assert found.is_same
    assert found.same >= 1
    assert any("are missing" in note for note in found.notes)
    assert history(tmp_path, "last").entries
    (first, *_) = history(tmp_path, "meanwhile").entries
    assert (first.event, first.message) == (FOUND, AFTER_GAP)
    assert first.node.startswith("n"), "the snapshot says where the pod is"
    assert [entry.event for entry in history(tmp_path, "before").entries].count("added") == 1


def test_a_log_that_is_too_slow_pauses_instead_of_growing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steersman.record.log.MAX_WAITING_BYTES", 100)
    monkeypatch.setattr("steersman.record.log.BLOCK_BYTES", 1)
    failures: list[str] = []

    class Observer(LogObserver):
        def failed(self, reason: str) -> None:
            failures.append(reason)

    log = RecordLog(tmp_path, Limits(), Observer())

    def note_a_tick() -> None:
        noted = log.next_parts()
        noted.parts += (TICK, 1.0, HostAction.ATTEMPT, 0)
        noted.complete = len(noted.parts)

    for _ in range(3):
        note_a_tick()
    assert not log.is_paused
    note_a_tick()
    assert log.is_paused
    log.start()
    log.close()
    assert failures == ["the disk does not keep up"]


def test_the_cluster_of_a_moment_is_a_simulation(tmp_path: Path) -> None:
    async def scenario() -> None:
        server = cluster()
        async with running_program(server, record=RecordOptions(str(tmp_path))) as program:
            server.store.create(make_pod("small").req(cpu="1").obj())
            await until(lambda: scheduled(server, "small"))
            server.store.create(make_pod("large").req(cpu="16").obj())
            await until(lambda: stored(server, "large").status.conditions)
            await asyncio.sleep(0)
            assert await program.stopped() == 0

    run(scenario())
    last = max(frame.time for frame in RecordReader(tmp_path).all_frames())
    start = replay(tmp_path).start
    with simulation_at(tmp_path, last - start) as simulation:
        assert simulation.cluster.get(api.Pod, "default/small").spec.node_name
        result = simulation.run()
        assert "Insufficient cpu" in result.explain("large").message
