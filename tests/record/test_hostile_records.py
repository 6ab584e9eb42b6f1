# SPDX-License-Identifier: Apache-2.0
"""Records that were changed by chance or on purpose: whatever they hold, the answer is an answer or an error for users."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from tests.app.running import cluster, running_program
from tests.client.dispatching import stored
from tests.client.following import until
from tests.client.serving import run
from tests.simulation.busy_clusters import busy_cluster

from steersman.base.errors import InputError, SteersmanError
from steersman.record import (
    Limits,
    RecordReader,
    decision_table,
    history,
    record_simulation,
    replay,
    segments as segments_module,
    simulation_at,
)
from steersman.record.expansion import MAX_COMMAS, expanded
from steersman.record.frames import Frame, FrameError, FrameKind, StepBody
from steersman.record.segments import MARKER, SegmentWriter, segment_files, segment_header
from steersman.run.app import RecordOptions
from steersman.simulation import Simulation
from steersman.testing import make_node, make_pod
from steersman.testing.conformance.record_extraction import extract

NEVER = 1e9
NO_JSON = [b"", b"{", b"[" * 5000, b'{"a":' * 3000, b"\xff\xfe", b"nul", b"[1e999]"]
FEW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@cache
def simulated() -> Path:
    """The record of a simulation in which some pods fit and one does not."""
    folder = Path(mkdtemp()) / "simulated"
    simulation = Simulation.load(make_node("n1").capacity(cpu="2", pods="10").obj(), seed=1)
    with simulation, record_simulation(simulation, folder):
        simulation.add(*(make_pod(f"p{index}").req(cpu="1").obj() for index in range(3)))
        simulation.run()
        simulation.patch("node/n1", {"status": {"allocatable": {"cpu": "8"}}})
        simulation.delete("pod/default/p0")
        simulation.run(until=60)
    return folder


@cache
def live() -> Path:
    """The record of a scheduler that has bound some pods, and preempted none."""
    folder = Path(mkdtemp()) / "live"

    async def scenario() -> None:
        server = cluster(nodes=2)
        async with running_program(server, record=RecordOptions(str(folder))) as program:
            for index in range(3):
                server.store.create(make_pod(f"p{index}").req(cpu="1").obj())
            server.store.create(make_pod("large").req(cpu="16").obj())
            await until(lambda: all(stored(server, f"p{index}").spec.node_name for index in range(3)))
            await until(lambda: stored(server, "large").status.conditions)
            assert await program.stopped() == 0

    run(scenario())
    return folder


RECORDS: dict[str, Callable[[], Path]] = {"simulated": simulated, "live": live}
records = st.sampled_from(sorted(RECORDS))


def use(directory: Path) -> None:
    """Asks everything of a record that can be asked. What is wrong with it is told as an error for users, or in a note."""
    for ask in (
        lambda: replay(directory),
        lambda: replay(directory, configuration=str(_other_configuration())),
        lambda: history(directory, "p1"),
        lambda: history(directory, "node/n1"),
        lambda: list(decision_table(directory).rows),
        lambda: simulation_at(directory, 0.05).close(),
        lambda: simulation_at(directory, NEVER),
        lambda: extract(directory, "p1"),
    ):
        problem = _problem(ask)
        assert problem is None or problem.strip(), "an error says what is wrong"


def _problem(ask: Callable[[], object]) -> str | None:
    """What a user is told of a record that cannot be used; anything else but an error for users goes on to the test."""
    try:
        ask()
    except SteersmanError as error:
        return str(error)
    return None


@cache
def _other_configuration() -> Path:
    file = Path(mkdtemp()) / "config.yaml"
    file.write_text("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n")
    return file


def copied(source: Path, target: Path) -> list[Path]:
    target.mkdir()
    for file in segment_files(source):
        (target / file.name).write_bytes(file.read_bytes())
    return segment_files(target)


# -- bytes -------------------------------------------------------------------------------------------------------------


@FEW
@given(records, st.data())
def test_bytes_that_were_changed_cut_or_added_are_noticed(name: str, data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        file = copied(RECORDS[name](), Path(folder) / "record")[0]
        content = bytearray(file.read_bytes())
        for _ in range(data.draw(st.integers(1, 3))):
            at = data.draw(st.integers(0, len(content) - 1))
            match data.draw(st.sampled_from(["flip", "cut", "insert", "number"])):
                case "flip":
                    content[at] ^= data.draw(st.integers(1, 255))
                case "cut":
                    del content[at : at + data.draw(st.integers(1, 400))]
                case "insert":
                    content[at:at] = data.draw(st.binary(min_size=1, max_size=40))
                case _:
                    content[at : at + 4] = struct.pack("<I", data.draw(st.sampled_from([0, 1, 2**31, 2**32 - 1])))
            content = content or bytearray(b"x")
        file.write_bytes(content)
        use(file.parent)
        with suppress(OSError):
            SegmentWriter(file.parent, Limits()).close()
        use(file.parent)


# -- frames with the right checksums -----------------------------------------------------------------------------------

odd_values = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 2**31, 2**63, -(2**70), 1e300, -1e300, 0.5]),
    st.sampled_from(["", "x", "\x00", "é" * 50, "attempt", "woken", "v1/Pod", "../../etc", "a" * 3000]),
    st.sampled_from([[], {}, [[]], [None], {"a": None}, {"metadata": 3}, [["x"]], {"kind": "Pod", "apiVersion": "v1"}]),
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _places(part, (*path, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _places(part, (*path, index))


def _changed(value: Any, path: tuple[Any, ...], odd: Any, *, removes: bool) -> Any:
    if not path:
        return odd
    inside = value
    for part in path[:-1]:
        inside = inside[part]
    if removes:
        del inside[path[-1]]
    else:
        inside[path[-1]] = odd
    return value


@FEW
@given(records, st.data())
def test_frames_that_say_something_else_are_answered_or_refused(name: str, data: st.DataObject) -> None:
    frames = list(_raw_frames(RECORDS[name]()))
    for _ in range(data.draw(st.integers(1, 3))):
        index = data.draw(st.integers(0, len(frames) - 1))
        frame = frames[index]
        if frame.body in NO_JSON:
            continue
        match data.draw(
            st.sampled_from(["value", "value", "value", "remove", "kind", "time", "drop", "double", "text"])
        ):
            case "value" | "remove" as how:
                body = msgspec.json.decode(frame.body)
                path = data.draw(st.sampled_from(list(_places(body))))
                odd = data.draw(odd_values)
                changed = _changed(body, path, odd, removes=how == "remove" and bool(path))
                frames[index] = frame._replace(body=msgspec.json.encode(changed))
            case "kind":
                frames[index] = frame._replace(kind=data.draw(st.sampled_from([*FrameKind, 200])))
            case "time":
                times = [float("nan"), float("inf"), -1e308, 1e308, 0.0, -1.0, 253402300800.0]
                frames[index] = frame._replace(time=data.draw(st.sampled_from(times)))
            case "drop":
                del frames[index]
                frames = frames or [frame]
            case "double":
                frames.insert(index, frame)
            case _:
                frames[index] = frame._replace(body=data.draw(st.sampled_from(NO_JSON)))
    with TemporaryDirectory() as folder:
        writer = SegmentWriter(Path(folder), Limits())
        writer.write([frame._replace(until=253402300799.0) for frame in frames])
        writer.close()
        use(Path(folder))


def _raw_frames(directory: Path) -> Iterator[Frame]:
    """The frames as they are in the files: many stimuli in one."""
    for path in segment_files(directory):
        with path.open("rb") as file:
            segments_module.read_header(file)
            offset = file.tell()
            while (head := segments_module.read_head(file, offset)) is not None:
                yield from segments_module.read_frames(file, head)
                offset = head.end


# -- what would take memory --------------------------------------------------------------------------------------------


def test_a_block_that_unpacks_to_more_than_it_says_is_left_out(tmp_path: Path) -> None:
    frame = Frame(FrameKind.DECISION, 1.0, (), b"0" * (32 << 20))
    block = segments_module.BlockBuilder()
    block.add(frame)
    whole = block.finished(0)
    marker, index, payload, _, *rest = segments_module._HEAD.unpack_from(whole)
    bomb = whole[len(whole) - payload :]
    assert len(bomb) < 1 << 16
    head = segments_module._HEAD.pack(marker, index, payload, 100, *rest)
    content = segment_header(1) + head + segments_module._checksum(head) + bomb
    (tmp_path / "00000001.segment").write_bytes(content)
    reader = RecordReader(tmp_path)
    assert list(reader.all_frames()) == []
    (problem,) = reader.problems
    assert problem.file.endswith("00000001.segment")
    assert problem.offset == len(segment_header(1))
    with pytest.raises(InputError, match="does not say how it began"):
        replay(tmp_path)


@pytest.mark.parametrize("lengths", [(2**32 - 1, 0, 0), (0, 2**32 - 1, 0), (0, 0, 2**32 - 1)])
def test_a_block_of_a_length_that_none_has_is_not_read(tmp_path: Path, lengths: tuple[int, int, int]) -> None:
    head = segments_module._HEAD.pack(MARKER, *lengths, 1, 0, 1.0, 1.0, b"\0" * 8)
    content = segment_header(1) + head + segments_module._checksum(head)
    (tmp_path / "00000001.segment").write_bytes(content)
    reader = RecordReader(tmp_path)
    assert list(reader.all_frames()) == []
    assert "no block begins here" in str(reader.problems[0])


@pytest.mark.parametrize("method", ["run", "advance"])
def test_a_step_that_goes_on_for_centuries_is_refused(tmp_path: Path, method: str) -> None:
    simulation = busy_cluster(2)
    with simulation, record_simulation(simulation, tmp_path / "record"):
        simulation.run(until=10)
    frames = [
        frame._replace(body=msgspec.json.encode(StepBody(method, (1e12,)))) if frame.kind == FrameKind.STEP else frame
        for frame in RecordReader(tmp_path / "record").all_frames()
    ]
    writer = SegmentWriter(tmp_path / "changed", Limits())
    writer.write(frames)
    writer.close()
    with pytest.raises(InputError, match=rf"step {method} of the record: until: is more than [\d,]+ seconds"):
        replay(tmp_path / "changed")


def test_a_record_is_decompressed_up_to_a_limit(tmp_path: Path) -> None:
    padding = b" " * (32 << 20)
    objects = [Frame(FrameKind.OBJECT, 1.0, (), b"{}" + padding) for _ in range(10)]
    run_frame = next(frame for frame in _raw_frames(simulated()) if frame.kind == FrameKind.RUN)
    writer = SegmentWriter(tmp_path, Limits())
    for frame in (run_frame, *objects):
        writer.write([frame])
    writer.close()
    with pytest.raises(InputError, match="is more than 500 times as large when it is decompressed"):
        replay(tmp_path)


@pytest.mark.parametrize(("kind", "limit"), MAX_COMMAS.items())
def test_a_frame_with_more_items_than_any_has_is_not_read(kind: FrameKind, limit: int) -> None:
    body = b"[" + b"1," * (limit + 1) + b"1]"
    with pytest.raises(FrameError, match="more items than any recorder puts into one"):
        list(expanded(Frame(kind, 1.0, (), body)))


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b"[1]",
        b'["nothing",1]',
        b'["tick",1]',
        b'["tick",1,"attempt",0,"decision"]',
        b'["tick",1e300,"attempt",0]',
        b'["at"]',
        b'["at",1,"call"]',
        b'["at",1,"all bound",[],"all bound",[]]',
        b'["call",1]',
        b'["given",1,{"kind":"Pod"}]',
    ],
)
def test_items_that_cannot_be_read_are_reported(body: bytes) -> None:
    with pytest.raises(FrameError, match="items cannot be read"):
        list(expanded(Frame(FrameKind.STIMULI, 1.0, (), body)))
